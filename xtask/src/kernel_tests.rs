//! `cargo xtask kernel-tests`: the suites that need a kernel's own fences and buffers, in a small
//! machine of their own.
//!
//! No kernel of a build machine makes dma-bufs and fences that can be held back, let alone ones
//! that fail. A stock kernel of Debian does, in an emulated machine without a disk: `vgem` has
//! fences that are signalled by hand, `udmabuf` makes dma-bufs, `virtio-gpu` has syncobjs, and a
//! module of this repository (`tests/guest/module`) makes fences that fail. In order:
//!
//! 1. [`kernel`] fetches the kernel with its headers (once),
//! 2. [`module`] builds the module,
//! 3. [`programs`] builds what runs there; [`libraries`] finds what it needs,
//! 4. [`archive`] packs it, [`guest`] boots it and passes on what it prints,
//! 5. [`results`] judges.
//!
//! What must stay true: nothing is skipped, and nothing that is missing passes. Everything is kept
//! under `target/kernel-tests`; the machine itself is not changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vmafx_tests::data::workspace_root;

use crate::{Failure, program};

mod archive;
mod guest;
mod kernel;
mod libraries;
mod module;
mod programs;
mod results;

use results::{Expected, Summary};

/// How long a run of the guest may take: a machine that does ten other things is slow.
const LIMIT: Duration = Duration::from_secs(300);

/// Lines of the kernel's log that are shown of a run that failed.
const LOG_LINES: usize = 40;

/// What else is run, and the package that has it.
const TOOLS: [(&str, &str, &str); 4] = [
    (guest::EMULATOR, "--version", "qemu-system-x86"),
    ("make", "--version", "make"),
    ("gcc", "--version", "gcc"),
    ("x86_64-linux-gnu-ld", "--version", "binutils"),
];

/// What to run.
#[derive(Default)]
pub(crate) struct Settings {
    /// Tests whose names have this, and other programs.
    pub(crate) filter: Option<String>,
    /// Leave the guest's archive, to be looked into.
    pub(crate) keep: bool,
}

/// Runs the guest.
///
/// # Errors
/// What is missing and how to get it, what does not build, every test that fails, a guest that
/// does not end as it should.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return Err("kernel-tests: the guest's programs are built on Linux on x86-64".into());
    }
    tools()?;
    let folder = program::target().join("kernel-tests");
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let kernel = kernel::ready(&folder.join("kernel"))?;
    let source = workspace_root().join("tests/guest/module");
    let own = module::build(&kernel, &source, &folder.join("module"))?;
    let programs = programs::programs(settings.filter.as_deref(), &folder)?;
    let modules: Vec<_> = kernel.modules().chain(own).collect();
    let archive = folder.join("guest.cpio");
    fs::write(&archive, guest::pack(&modules, &programs)?)?;
    let expected: Vec<_> = programs
        .list
        .iter()
        .map(|program| Expected {
            name: program.name.clone(),
            output: program.output.clone(),
        })
        .collect();

    let log = folder.join("console.log");
    let begin = Instant::now();
    let ran = guest::run(&kernel.image(), &archive, &log, LIMIT)?;
    let size = fs::metadata(&archive)?.len() as f64 / f64::from(1 << 20);
    match settings.keep {
        true => println!(
            "kernel-tests: kept {} and {}",
            archive.display(),
            log.display()
        ),
        false => fs::remove_file(&archive)?,
    }
    println!(
        "kernel-tests: {size:.1} MiB booted in {:.1} s, tests took {:.1} s, all {:.1} s",
        ran.boot.as_secs_f64(),
        ran.tests.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    match results::judge(&ran.lines, &ran.ended, &expected) {
        Ok(summary) => {
            print(&summary);
            Ok(())
        }
        Err(wrong) => Err(format!(
            "kernel-tests: failed:\n{wrong}\n{}the last of the kernel's log, {}:\n{}",
            ran.errors,
            log.display(),
            tail(&log)
        )
        .into()),
    }
}

fn print(summary: &Summary) {
    println!("kernel-tests: on kernel {}:", summary.kernel);
    for (name, count) in &summary.programs {
        println!("kernel-tests: {name}: {count} passed");
    }
}

/// Asks for every program that is not there at once.
fn tools() -> Result<(), Failure> {
    let absent = |(program, option, _): &&(&str, &str, &str)| {
        let mut command = Command::new(program);
        command
            .arg(option)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.status().is_err()
    };
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(absent)
        .map(|(program, _, package)| format!("{program} (of {package})"))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "kernel-tests: not installed: {}; scripts/setup.sh installs them",
            missing.join(", ")
        )
        .into()),
    }
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}
