//! What the cases share: a faked machine with manifests and libraries, and what was loaded from
//! it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vmafx_api::loader::{LoadRecord, Loader, Machine, Outcome, Probe, Reason, Stage, platform};
use vmafx_api::{
    Backend, Chroma, Device, Frame, FrameFormat, FramePair, HostFrame, OpenRequest, OptionSetting,
    OptionValue,
};

use crate::{Checked, checked, this_program};

/// Where packages have their manifests and the libraries that these name.
pub(crate) const MANIFESTS: &str = "usr/share/vmafx/backends.d";
pub(crate) const LIBRARIES: &str = "usr/lib/vmafx";

/// A manifest of the backend `id` in `library`; `more` are further lines.
pub(crate) fn manifest(id: &str, library: &str, more: &str) -> String {
    let platform = platform();
    format!(
        "manifest_version = 1\n\
         [backend]\n\
         id = \"{id}\"\n\
         name = \"{id}\"\n\
         version = \"1.2.0\"\n\
         license = \"Apache-2.0 OR MIT\"\n\
         abi = {{ major = 1, revision = 2 }}\n\
         library = {{ {platform} = \"{library}\" }}\n\
         {more}\n"
    )
}

/// Writes a file below `room`, with its folders, that nobody else can write.
pub(crate) fn write(room: &Path, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let place = room.join(path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, content).unwrap();
    mode(&place, 0o644);
    let folders = place.ancestors().skip(1);
    for folder in folders.take_while(|folder| folder.starts_with(room)) {
        mode(folder, 0o755);
    }
    place
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Installs a backend as a package does: a manifest `name.toml` and the library `name.so`, which
/// is a copy, and so a file of its own.
pub(crate) fn install(room: &Path, name: &str, id: &str, library: &Path) {
    let bytes = fs::read(library).unwrap();
    write(room, &format!("{LIBRARIES}/{name}.so"), bytes);
    let text = manifest(id, &format!("{name}.so"), "");
    write(room, &format!("{MANIFESTS}/{name}.toml"), text);
}

/// A machine whose files are in `room`.
pub(crate) fn machine(room: &Path) -> Machine {
    vmafx_tests::machine::machine(room).unwrap()
}

/// This program as the one that tries libraries.
pub(crate) fn probe() -> Probe {
    Probe::new(this_program(), ["probe"]).with_timeout(Duration::from_secs(60))
}

/// The record of the manifest `name.toml`.
pub(crate) fn record<'a>(records: &'a [LoadRecord], name: &str) -> &'a LoadRecord {
    let named = |record: &&LoadRecord| {
        let stem = record.manifest.as_deref().and_then(Path::file_stem);
        stem.is_some_and(|stem| stem == name)
    };
    let mut found = records.iter().filter(named);
    let record = found
        .next()
        .unwrap_or_else(|| panic!("{name} has no record: {records:#?}"));
    assert!(found.next().is_none(), "{name} has two records");
    record
}

/// Checks that `name` was refused for the reason that is said, in words that say it, with its
/// files named.
pub(crate) fn assert_refused(
    records: &[LoadRecord],
    name: &str,
    (stage, reason): (Stage, Reason),
    words: &str,
) {
    let record = record(records, name);
    assert_eq!(
        (record.outcome, record.stage, record.reason),
        (Outcome::Refused, stage, reason),
        "{name}: {record}"
    );
    assert!(
        record.line.contains(words),
        "{name}: `{words}` is not in {record}"
    );
    let line = record.to_string();
    assert!(!line.contains('\n') && record.is_failure(), "{line}");
    // The manifest is named by `record`; the library is, once it is known.
    let library = record.library.as_deref().and_then(Path::file_stem);
    assert!(library.is_none_or(|stem| stem == name), "{record:?}");
    checked(Checked::Contained, name);
}

/// Checks that `name` was loaded.
pub(crate) fn assert_loaded(records: &[LoadRecord], name: &str) {
    let record = record(records, name);
    assert_eq!(record.outcome, Outcome::Loaded, "{name}: {record}");
}

/// The backend of a library that is named by its path, tried first in a child.
pub(crate) fn backend(library: &Path) -> Backend {
    let loader = Loader::new(Machine::at("/")).with_probe(probe());
    let loaded = loader
        .load_library(library)
        .unwrap_or_else(|record| panic!("{record}"));
    assert_eq!(loaded.len(), 1);
    loaded[0].backend.clone()
}

/// Its first device.
pub(crate) fn device(library: &Path) -> Device {
    backend(library).open(&OpenRequest::new(0)).unwrap()
}

/// The feature `edge` with its option.
pub(crate) fn edge(weight: i32) -> vmafx_api::FeatureRequest {
    vmafx_api::FeatureRequest {
        feature: "edge".to_owned(),
        options: vec![OptionSetting::new("weight", OptionValue::Int(weight))],
        definition: 0,
    }
}

/// A feature without options.
pub(crate) fn plain(feature: &str) -> vmafx_api::FeatureRequest {
    vmafx_api::FeatureRequest {
        feature: feature.to_owned(),
        options: Vec::new(),
        definition: 0,
    }
}

pub(crate) fn format(width: u32, height: u32, depth: u32) -> FrameFormat {
    FrameFormat::new(width, height, Chroma::Yuv420, depth).unwrap()
}

/// Frame `t` of one of two textured clips.
pub(crate) fn frame(format: FrameFormat, t: u64, distorted: bool) -> HostFrame {
    let mut frame = HostFrame::new(format);
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (t << 8) ^ u64::from(distorted);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 & format.peak()
    };
    match format.sample_bytes() {
        1 => frame.bytes_mut().fill_with(|| next() as u8),
        _ => frame.words_mut().fill_with(|| next() as u16),
    }
    frame
}

/// Frame `t` of both clips.
pub(crate) fn pair(format: FrameFormat, t: u64) -> FramePair {
    let one = |distorted| std::sync::Arc::new(Frame::Host(frame(format, t, distorted)));
    FramePair {
        reference: one(false),
        distorted: one(true),
    }
}
