//! Opens the clips that golden files speak of: synthetic ones by name, real ones from the data
//! folder, unpacked into a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use md5::{Digest, Md5};
use tempfile::TempDir;
use vmafx_api::HostFrame;
use vmafx_media::{Source, SourceSpec, open};
use vmafx_tests::data;

/// Real pairs: golden name, reference file, distorted file, scaling of the distorted file.
pub(crate) const REAL: [(&str, &str, &str, &str); 6] = [
    (
        "bbb270_8_x264crf23",
        "bbb270_8_ref.y4m.xz",
        "bbb270_8_x264crf23.y4m.xz",
        "",
    ),
    (
        "bbb270_8_x264crf35",
        "bbb270_8_ref.y4m.xz",
        "bbb270_8_x264crf35.y4m.xz",
        "",
    ),
    (
        "bbb270_8_x264crf45",
        "bbb270_8_ref.y4m.xz",
        "bbb270_8_x264crf45.y4m.xz",
        "",
    ),
    (
        "bbb270_10_x265crf32",
        "bbb270_10_ref.y4m.xz",
        "bbb270_10_x265crf32.y4m.xz",
        "",
    ),
    (
        "bbb720_x264crf35",
        "bbb720_src.mp4",
        "bbb720_x264crf35.mp4",
        "",
    ),
    (
        "bbb360up_x264crf28",
        "bbb720_src.mp4",
        "bbb360_x264crf28.mp4",
        "scale=1280:720:flags=bicubic",
    ),
];

/// A clip pair, ready to read.
pub(crate) struct Pair {
    pub(crate) sources: [Box<dyn Source>; 2],
    /// Keeps unpacked files alive.
    _folder: Option<TempDir>,
}

/// The pair of a golden file, or why it must be skipped.
pub(crate) fn pair(name: &str) -> Result<Pair, String> {
    let Some(&(_, reference, distorted, scaling)) = REAL.iter().find(|real| real.0 == name) else {
        let sources = ["ref", "dis"].map(|side| {
            let spec = SourceSpec::new(format!("synth:{name}/{side}"));
            open(&spec).unwrap_or_else(|error| panic!("{name}/{side}: {error}"))
        });
        return Ok(Pair {
            sources,
            _folder: None,
        });
    };
    let packed = data::find("golden/clips")?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sources = [(reference, ""), (distorted, scaling)].map(|(file, scaling)| {
        let path = unpack(&packed.join(file), scaling, folder.path());
        let spec = SourceSpec::new(path.to_str().expect("a UTF-8 path"));
        open(&spec).unwrap_or_else(|error| panic!("{file}: {error}"))
    });
    Ok(Pair {
        sources,
        _folder: Some(folder),
    })
}

/// Decodes `packed` into a y4m file in `folder`.
pub(crate) fn unpack(packed: &Path, scaling: &str, folder: &Path) -> PathBuf {
    let name = packed.file_name().expect("a file name").to_string_lossy();
    let path = folder.join(format!("{name}.y4m"));
    let mut command = if name.ends_with(".xz") {
        let mut xz = Command::new("xz");
        xz.arg("-dc").arg(packed);
        xz
    } else {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-v", "error", "-nostdin", "-i"]).arg(packed);
        if !scaling.is_empty() {
            ffmpeg.args(["-vf", scaling]);
        }
        ffmpeg.args(["-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", "-"]);
        ffmpeg
    };
    let file = std::fs::File::create(&path).expect("a writable temporary folder");
    let status = command.stdin(Stdio::null()).stdout(file).status();
    let status = status.unwrap_or_else(|error| {
        panic!("cannot run {command:?}: {error}; scripts/setup.sh installs what is missing")
    });
    assert!(status.success(), "{command:?}: {status}");
    path
}

/// MD5 of all samples of a clip, as raw files hold them.
#[derive(Default)]
pub(crate) struct Samples(Md5);

impl Samples {
    pub(crate) fn add(&mut self, frame: &mut HostFrame) {
        if frame.format().depth() > 8 {
            let words = frame.words_mut().iter();
            let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
            self.0.update(bytes);
        } else {
            self.0.update(frame.bytes_mut());
        }
    }

    pub(crate) fn hex(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
