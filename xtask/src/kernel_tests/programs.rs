//! What runs in the guest: the suites of fences, linked statically, and the release program, which
//! needs its loader and its libraries there.
//!
//! A program is a file of this machine with what it needs beside it. To run another, add it to
//! [`programs`]: a plugin or a library that is opened at run time is one of its `files`.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use cargo_metadata::Message;
use vmafx_tests::data::workspace_root;

use super::results::Output;
use crate::{Failure, program};

/// The target of static programs. It is named, so that what cargo builds for itself is not static.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The guest's first program.
const INIT: &str = "vmafx-guest-init";

/// Suites that are linked statically: name, package, test target.
const SUITES: [(&str, &str, &str); 2] = [
    ("machine", "vmafx-guest", "machine"),
    ("fences", "vmafx-fences", "kernel"),
];

/// What the release program scores in the guest and here: the numbers are the same.
const SCORE: [&str; 8] = [
    "score",
    "synth:tex,size=64x48,depth=8,frames=3,seed=4",
    "synth:tex,size=64x48,depth=8,frames=3,seed=4,dist=blur:1+noise:6",
    "--feature",
    "psnr",
    "--precision",
    "max",
    "-q",
];

/// A program of the guest.
pub(super) struct Program {
    /// Its name, for people and for the filter.
    pub(super) name: String,
    /// Its file here.
    pub(super) file: PathBuf,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// Its environment in the guest, beside the folders of its libraries.
    pub(super) environment: Vec<(String, String)>,
    /// What else it needs: files here, and their paths there. Libraries among them bring in what
    /// they need.
    pub(super) files: Vec<(PathBuf, String)>,
    /// Folders of libraries that the loader would be told of here.
    pub(super) search: Vec<PathBuf>,
    /// What it has to print.
    pub(super) output: Output,
}

/// The programs of the guest.
pub(super) struct Programs {
    /// The first one, which runs the others.
    pub(super) init: PathBuf,
    /// The others, in order.
    pub(super) list: Vec<Program>,
}

/// Builds the programs. A filter is for the tests of the suites; of the other programs it leaves
/// those whose names have it.
///
/// # Errors
/// A build that fails, a program that fails here.
pub(super) fn programs(filter: Option<&str>) -> Result<Programs, Failure> {
    let start = Instant::now();
    let built = static_programs()?;
    println!(
        "kernel-tests: static programs built in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    let find = |name: &str| -> Result<PathBuf, Failure> {
        let file = built.iter().find(|(target, _)| target == name);
        let (_, file) =
            file.ok_or_else(|| format!("kernel-tests: cargo has not built `{name}`"))?;
        Ok(file.clone())
    };
    let mut list = Vec::new();
    for (name, _, test) in SUITES {
        list.push(suite(name, find(test)?, filter));
    }
    if filter.is_none_or(|filter| "score".contains(filter)) {
        list.push(score()?);
    }
    Ok(Programs {
        init: find(INIT)?,
        list,
    })
}

fn suite(name: &str, file: PathBuf, filter: Option<&str>) -> Program {
    let options = [
        "--include-ignored",
        "--test-threads=1",
        "--color=never",
        "--show-output",
    ];
    // What takes the kernel seconds runs when it is asked for.
    let slow = filter.is_none().then_some("--skip=slow::");
    Program {
        name: name.to_owned(),
        file,
        arguments: options
            .into_iter()
            .chain(slow)
            .chain(filter)
            .map(str::to_owned)
            .collect(),
        environment: Vec::new(),
        files: Vec::new(),
        search: Vec::new(),
        output: Output::Tests {
            filtered: filter.is_some(),
        },
    }
}

/// The release program; what it prints here it has to print there.
fn score() -> Result<Program, Failure> {
    let file = program::release()?;
    let output = Command::new(&file)
        .args(SCORE)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("kernel-tests: {}: {error}", file.display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("kernel-tests: vmafx {} fails: {errors}", SCORE.join(" ")).into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(Program {
        name: "score".to_owned(),
        file,
        arguments: SCORE.map(str::to_owned).to_vec(),
        environment: Vec::new(),
        files: Vec::new(),
        search: Vec::new(),
        output: Output::Exactly(text.lines().map(str::to_owned).collect()),
    })
}

/// Builds the first program and the suites; names of targets, and their files.
fn static_programs() -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--locked", "--no-run", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics");
    for (_, package, test) in SUITES {
        command.args(["--package", package, "--test", test]);
    }
    command
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(workspace_root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child
        .stdout
        .take()
        .ok_or("kernel-tests: cargo has no output")?;
    let mut built = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(file) = artifact.executable
        {
            built.push((artifact.target.name, file.into_std_path_buf()));
        }
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(built),
        false => Err(format!("kernel-tests: the suites were not built ({status})").into()),
    }
}

/// The name of a file, as text.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
