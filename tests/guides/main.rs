//! The guides: what they show is what is there.
//!
//! Listings are the files of `examples/`, tables are the code's own words, and the compilers'
//! commands are run as they are written. The three examples must give the same numbers.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use vmafx_api::loader::{Loader, Machine, Outcome, Place, Reason, SearchFlags, Stage};
use vmafx_api::{
    Backend, Chroma, FeatureRequest, Frame, FrameFormat, FrameJob, FramePair, HostFrame,
    OpenRequest, OptionSetting, OptionValue, PlanRequest, Status, Value,
};
use vmafx_engine::FeatureCatalog;
use vmafx_tests::data::workspace_root;

/// The example in Rust, compiled into this program.
#[allow(unreachable_pub)]
#[path = "../../examples/plugin-rust/src/lib.rs"]
mod example;

const AUTHORS: &str = "docs/plugin-author-guide.md";
const PACKAGERS: &str = "docs/packager-guide.md";

fn read(path: &str) -> String {
    let text = fs::read_to_string(workspace_root().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A listing of a guide: the comment before it and its lines.
struct Listing {
    comment: String,
    text: String,
}

fn listings(guide: &str) -> Vec<Listing> {
    let text = read(guide);
    let mut listings = Vec::new();
    let (mut comment, mut open) = (String::new(), None::<String>);
    for line in text.lines() {
        match (&mut open, line) {
            (Some(_), "```") => listings.push(Listing {
                comment: std::mem::take(&mut comment),
                text: open.take().unwrap_or_default(),
            }),
            (Some(text), line) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, line) if line.starts_with("```") => open = Some(String::new()),
            (None, line) => line.trim().clone_into(&mut comment),
        }
    }
    assert!(open.is_none(), "{guide}: a listing does not end");
    listings
}

/// The file that a comment such as `<!-- all of FILE -->` names.
fn named<'a>(listing: &'a Listing, how: &str) -> Option<&'a str> {
    let rest = listing.comment.strip_prefix("<!-- ")?;
    rest.strip_prefix(how)?.strip_suffix(" -->")
}

#[test]
fn listings_are_the_files() {
    let mut whole = Vec::new();
    for listing in listings(AUTHORS) {
        if let Some(file) = named(&listing, "all of ") {
            assert_eq!(listing.text, read(file), "{AUTHORS} shows another {file}");
            whole.push(file.to_owned());
        } else if let Some(file) = named(&listing, "from ") {
            let found = read(file).contains(&listing.text);
            assert!(found, "{file} has no such lines:\n{}", listing.text);
        }
    }
    assert_eq!(
        whole,
        [
            "examples/plugin-rust/src/lib.rs",
            "examples/plugin-rust/example-rust.toml",
            "examples/plugin-cpp/example.cpp",
            "examples/plugin-cpp/example-cpp.toml",
        ]
    );
}

/// First and last cell of each row of the table that follows `heading`.
fn table(guide: &str, heading: &str) -> Vec<(String, String)> {
    let text = read(guide);
    let (_, rest) = text.split_once(heading).expect(heading);
    let lines = rest.lines().skip_while(|line| !line.starts_with("| "));
    let rows = lines.take_while(|line| line.starts_with("| ")).skip(2);
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells[0].trim_matches('`').to_owned();
        (name, cells[cells.len() - 1].to_owned())
    })
    .collect()
}

/// The comments of a list of `source` that begins with `begin`, by the names that `name` finds.
fn comments(
    source: &str,
    begin: &str,
    name: impl Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let text = read(source);
    let (_, rest) = text.split_once(begin).expect(begin);
    let mut comment = Vec::new();
    let mut found = Vec::new();
    for line in rest.lines().map(str::trim).take_while(|line| *line != "}") {
        match line.strip_prefix("///") {
            Some(part) => comment.push(part.trim().to_owned()),
            None => found.extend(name(line).map(|name| (name, comment.join(" ")))),
        }
        if !line.starts_with("///") {
            comment.clear();
        }
    }
    found
}

#[test]
fn words_of_records_are_those_of_the_guide() {
    let record = "crates/api/src/loader/record.rs";
    let lists: [(&str, &str, Vec<&str>); 4] = [
        (
            "Outcome",
            "### Outcomes",
            Outcome::ALL.iter().map(|word| word.word()).collect(),
        ),
        (
            "Stage",
            "### Stages",
            Stage::ALL.iter().map(|word| word.word()).collect(),
        ),
        (
            "Reason",
            "### Reasons",
            Reason::ALL.iter().map(|word| word.word()).collect(),
        ),
        (
            "Place",
            "### Places",
            Place::ALL.iter().map(|word| word.word()).collect(),
        ),
    ];
    for (name, heading, words) in lists {
        let of_source = comments(record, &format!("\n    {name} {{\n"), |line| {
            Some(line.split('"').nth(1)?.to_owned())
        });
        let told: Vec<_> = of_source.iter().map(|(word, _)| word).collect();
        assert_eq!(
            told, words,
            "the test does not read {record} as it is written"
        );
        let wanted: Vec<_> = of_source
            .iter()
            .map(|(word, comment)| format!("| `{word}` | {comment} |"))
            .collect();
        let same = table(PACKAGERS, heading) == of_source;
        assert!(
            same,
            "{PACKAGERS}, {heading}, must have the rows\n{}",
            wanted.join("\n")
        );
    }
}

#[test]
fn statuses_are_those_of_the_guide() {
    let of_source = comments(
        "crates/api/src/kinds.rs",
        "Status(i32) as \"status\" {",
        |line| Some(line.split_once(" = ")?.0.to_owned()),
    );
    let names: Vec<_> = of_source.iter().map(|(name, _)| name.as_str()).collect();
    let known: Vec<_> = Status::NAMED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, known);
    assert_eq!(table(AUTHORS, "### Errors"), of_source);
    let page = read(AUTHORS);
    for (name, status) in Status::NAMED {
        let row = format!("| `{name}` | {} |", status.0);
        assert!(page.contains(&row), "{AUTHORS} lacks {row}");
    }
}

/// A folder beside one that looks like a clone of this repository, with copies of the files.
fn outside(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(workspace_root()).unwrap();
    std::os::unix::fs::symlink(root, around.path().join("vmafx")).unwrap();
    let folder = around.path().join("my-backend");
    fs::create_dir(&folder).unwrap();
    for file in files {
        let name = Path::new(file).file_name().unwrap();
        fs::write(folder.join(name), read(file)).unwrap();
    }
    (around, folder)
}

/// The command of the author's guide that calls `compiler`.
fn command(compiler: &str) -> String {
    let listings = listings(AUTHORS);
    let lines = listings.iter().flat_map(|listing| listing.text.lines());
    let mut calls = lines.filter(|line| line.split(' ').next() == Some(compiler));
    let call = calls.next();
    call.unwrap_or_else(|| panic!("{AUTHORS} does not call {compiler}"))
        .to_owned()
}

/// Builds an example as the guide says, and loads it by its manifest.
fn built(compiler: &str, language: &str, source: &str) -> Backend {
    let manifest = format!("example-{language}.toml");
    let of = |file: &str| format!("examples/plugin-{language}/{file}");
    let (_around, folder) = outside(&[&of(source), &of(&manifest)]);
    let line = command(compiler);
    let made = Command::new("sh")
        .args(["-c", &line])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success() && said.is_empty(), "{line}\n{said}");

    let mut nowhere_else = SearchFlags::default();
    nowhere_else.user = false;
    nowhere_else.system = false;
    let loader = Loader::new(Machine::at("/")).with_search(nowhere_else);
    let loaded = loader.with_path(folder.join(manifest)).load();
    assert_eq!(loaded.records.len(), 1);
    let record = &loaded.records[0];
    assert_eq!(
        (record.outcome, record.reason),
        (Outcome::Loaded, Reason::Ok),
        "{record}"
    );
    loaded.backends[0].backend.clone()
}

/// `mad` of one frame by `backend`, with each floor.
fn mad(backend: &Backend, pair: &FramePair, floors: &[i32]) -> Vec<f64> {
    let request = |floor: &i32| FeatureRequest {
        feature: "mad".to_owned(),
        options: vec![OptionSetting::new("floor", OptionValue::Int(*floor))],
        definition: 0,
    };
    let features: Vec<_> = floors.iter().map(request).collect();
    let device = backend.open(&OpenRequest::new(0)).unwrap();
    let format = *pair.reference.format();
    for feature in &features {
        device.supports(feature, &format).unwrap();
    }
    let extractor = device
        .prepare(&PlanRequest::new(format, &features))
        .unwrap();
    extractor.admits(&pair.reference).unwrap();
    let ticket = extractor
        .submit(&FrameJob::new(0, pair.clone(), Vec::new()))
        .unwrap();
    let mut values = vec![Value::default(); floors.len()];
    extractor.collect(ticket, &mut values).unwrap();
    assert_eq!(
        extractor
            .collect(ticket, &mut values.clone())
            .unwrap_err()
            .status,
        Status::NOT_FOUND
    );
    values.into_iter().map(Value::as_score).collect()
}

/// Two frames of six luma samples that differ by 0, 2, 3, 0, 1 and 20 steps of 8 bits.
fn pair(depth: u32) -> FramePair {
    let format = FrameFormat::new(3, 2, Chroma::Yuv400, depth).unwrap();
    let frame = |samples: [u16; 6]| {
        let mut frame = HostFrame::new(format);
        let deep = samples.map(|sample| sample << (depth - 8));
        match depth {
            8 => frame
                .bytes_mut()
                .copy_from_slice(&samples.map(|sample| sample as u8)),
            _ => frame.words_mut().copy_from_slice(&deep),
        }
        Arc::new(Frame::from(frame))
    };
    FramePair {
        reference: frame([10, 10, 10, 10, 10, 30]),
        distorted: frame([10, 12, 13, 10, 9, 10]),
    }
}

#[test]
fn the_examples_give_the_same_numbers() {
    let backends = [
        Backend::new(example::Example).unwrap(),
        built("g++", "cpp", "example.cpp"),
        built("gcc", "c", "example.c"),
    ];
    for depth in [8, 10, 16] {
        for backend in &backends {
            let found = mad(backend, &pair(depth), &[0, 2, 255]);
            let id = &backend.info().id;
            assert_eq!(found, [26.0 / 6.0, 23.0 / 6.0, 0.0], "{id} at {depth} bits");
        }
    }
    for backend in &backends {
        let id = &backend.info().id;
        let device = backend.open(&OpenRequest::new(0)).unwrap();
        let refusal = |feature: &str, name: &str, value: i32| {
            let options = vec![OptionSetting::new(name, OptionValue::Int(value))];
            let feature = feature.to_owned();
            let request = FeatureRequest {
                feature,
                options,
                definition: 0,
            };
            device
                .supports(&request, pair(8).reference.format())
                .unwrap_err()
                .status
        };
        assert_eq!(refusal("vif", "floor", 0), Status::NOT_FOUND, "{id}");
        assert_eq!(refusal("mad", "ceiling", 0), Status::INVALID, "{id}");
        assert_eq!(refusal("mad", "floor", 256), Status::RANGE, "{id}");
        assert_eq!(refusal("mad", "floor", -1), Status::RANGE, "{id}");
        assert_eq!(
            backend.open(&OpenRequest::new(1)).unwrap_err().status,
            Status::NOT_FOUND,
            "{id}"
        );
    }
    // Described alike, it is one feature that three backends serve.
    let (catalog, warnings) = FeatureCatalog::new(&backends);
    assert!(
        warnings.is_empty() && catalog.find("mad").is_some(),
        "{warnings:?}"
    );
}

/// The manifest that the packager's guide shows has every key there is.
#[test]
fn the_manifest_of_the_guide_is_one() {
    let listings = listings(PACKAGERS);
    let shown = listings
        .iter()
        .find(|listing| listing.text.starts_with("manifest_version"));
    let shown = &shown.expect("the guide shows a manifest").text;
    let manifest = vmafx_api::loader::Manifest::parse(shown.as_bytes()).unwrap();
    assert!(manifest.notes.is_empty(), "{:?}", manifest.notes);
    assert_eq!((manifest.needs.len(), manifest.priority), (2, Some(50)));
    let page = read(PACKAGERS);
    for line in shown.lines().filter_map(|line| line.split_once(" = ")) {
        let key = line.0.trim();
        let told =
            page.contains(&format!("| `backend.{key}")) || page.contains(&format!("| `{key}`"));
        assert!(told, "{PACKAGERS} does not explain `{key}`");
    }
}
