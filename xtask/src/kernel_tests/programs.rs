//! What runs in the guest: the suites of fences, linked statically; and the release program, which
//! needs its loader and its libraries there, on the CPU and with the HIP plugin over the simulated
//! runtime.
//!
//! A program is a file of this machine with what it needs beside it. To run another, add it to
//! [`programs`]: a plugin or a library that is opened at run time is one of its `files`.

use std::fs;
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

/// What takes the kernel seconds runs when it is asked for: tests of modules of this name.
const SKIP: &str = "--skip=slow::";

/// The kernels that the simulated runtime runs, in the folder of device code.
const HOST_KERNELS: &str = "libvmafx_kernels_host.so";

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
/// those whose names have it. What has to be written is written to `folder`.
///
/// # Errors
/// A build that fails, a program that fails here.
pub(super) fn programs(filter: Option<&str>, folder: &Path) -> Result<Programs, Failure> {
    let start = Instant::now();
    let built = static_programs()?;
    let mut list = Vec::new();
    for (name, _, test) in SUITES {
        list.push(suite(name, find(&built, test)?, filter));
    }
    if filter.is_none() {
        println!("kernel-tests: left out: {SKIP}; `--filter slow::` runs them");
    }
    let chosen = |name: &str| filter.is_none_or(|filter| name.contains(filter));
    if chosen("score") || chosen("hip") {
        let score = score()?;
        let hip = chosen("hip").then(|| hip(&score, folder)).transpose()?;
        list.extend(chosen("score").then_some(score));
        list.extend(hip);
    }
    println!(
        "kernel-tests: programs built in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    Ok(Programs {
        init: find(&built, INIT)?,
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
    let slow = filter.is_none().then_some(SKIP);
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

/// The same over the HIP plugin and the simulated runtime, whose kernels are those for the host:
/// the plugin and what it opens by name come with the program.
fn hip(score: &Program, folder: &Path) -> Result<Program, Failure> {
    const PLACE: &str = "/programs/hip";
    let mut build = Command::new("cargo");
    build
        .args(["build", "--locked", "--lib"])
        .args(["--package", "vmafx-backend-hip"])
        .args(["--package", "vmafx-hipsim"]);
    let built = artifacts(build)?;
    let kernels = program::kernels().join(HOST_KERNELS);
    if !kernels.is_file() {
        let kernels = kernels.display();
        return Err(format!(
            "kernel-tests: there is no {kernels}, the kernels of the simulated runtime; run \
             `cargo xtask kernels`"
        )
        .into());
    }
    let plugin = find(&built, "vmafx_backend_hip")?;
    let manifest = folder.join("hip.toml");
    let text = fs::read_to_string(workspace_root().join("crates/backend-hip/hip.toml"))?;
    let bare = "\"libvmafx_backend_hip.so\"";
    if !text.contains(bare) {
        return Err(format!("kernel-tests: the manifest of hip does not name {bare}").into());
    }
    let placed = format!("\"{PLACE}/libvmafx_backend_hip.so\"");
    fs::write(&manifest, text.replace(bare, &placed))?;
    let beside = |name: &str| format!("{PLACE}/{name}");
    let variable = |name: &str, value: &str| (name.to_owned(), beside(value));
    let backend = ["--backend", "hip"].map(str::to_owned);
    Ok(Program {
        name: "hip".to_owned(),
        file: score.file.clone(),
        arguments: score.arguments.iter().cloned().chain(backend).collect(),
        environment: vec![
            variable("VMAFX_BACKEND_FILES", "hip.toml"),
            variable("VMAFX_HIP_LIBRARY", "libamdhip64.so"),
            variable("VMAFX_KERNELS", "kernels"),
        ],
        files: vec![
            (manifest, beside("hip.toml")),
            (plugin, beside("libvmafx_backend_hip.so")),
            (find(&built, "vmafx_hipsim")?, beside("libamdhip64.so")),
            (kernels, beside(&format!("kernels/{HOST_KERNELS}"))),
        ],
        search: Vec::new(),
        output: score.output.clone(),
    })
}

/// What cargo built: the name of the target, and its file.
type Artifact = (String, PathBuf);

fn find(built: &[Artifact], target: &str) -> Result<PathBuf, Failure> {
    let file = built.iter().find(|(name, _)| name == target);
    let (_, file) = file.ok_or_else(|| format!("kernel-tests: cargo has not built `{target}`"))?;
    Ok(file.clone())
}

/// Builds the first program and the suites.
fn static_programs() -> Result<Vec<Artifact>, Failure> {
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--no-run", "--target", TARGET]);
    for (_, package, test) in SUITES {
        command.args(["--package", package, "--test", test]);
    }
    command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    artifacts(command)
}

/// Runs cargo; the programs and the libraries that it built.
fn artifacts(mut command: Command) -> Result<Vec<Artifact>, Failure> {
    command
        .arg("--message-format=json-render-diagnostics")
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
        if let Message::CompilerArtifact(artifact) = message? {
            let libraries = artifact.filenames.into_iter();
            let libraries = libraries.filter(|file| file.extension() == Some("so"));
            let files = artifact.executable.into_iter().chain(libraries);
            let name = &artifact.target.name;
            built.extend(files.map(|file| (name.clone(), file.into_std_path_buf())));
        }
    }
    let status = child.wait()?;
    match status.success() {
        true => Ok(built),
        false => Err(format!("kernel-tests: {command:?} failed ({status})").into()),
    }
}

/// The name of a file, as text.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
