//! `cargo xtask ci`: every check, in order, the same at home and on the build machine.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use vmafx_tests::data::workspace_root;

use crate::{Failure, abi, codegen, emulate, gcnsim, kernel_tests, kernels, tidy};

/// Version of cargo-deny that is built where none is installed.
const CARGO_DENY: &str = "0.19.9";

/// Targets whose code objects are executed: others at another commit.
const GCNSIM_TARGETS: usize = 3;

/// One command with its arguments and the environment it needs.
struct Step {
    name: &'static str,
    command: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const STEPS: [Step; 7] = [
    Step {
        name: "fmt",
        command: &["cargo", "fmt", "--all", "--check"],
        environment: &[],
    },
    Step {
        name: "clippy",
        command: &[
            "cargo",
            "clippy",
            "--locked",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
    },
    Step {
        name: "fuzz targets",
        command: &[
            "cargo",
            "check",
            "--locked",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target-dir",
            "target/fuzz",
        ],
        environment: &[],
    },
    Step {
        name: "example plugin",
        command: &[
            "cargo",
            "check",
            "--locked",
            "--manifest-path",
            "examples/plugin-rust/Cargo.toml",
            "--target-dir",
            "target/examples",
        ],
        environment: &[],
    },
    Step {
        name: "doc",
        command: &["cargo", "doc", "--locked", "--workspace", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Step {
        name: "test",
        command: &["cargo", "test", "--locked", "--workspace"],
        environment: &[],
    },
    Step {
        name: "release build",
        command: &["cargo", "build", "--locked", "--release"],
        environment: &[],
    },
];

/// Runs every step; the first that fails ends it.
///
/// # Errors
/// The name of the step that failed, or a program that is not there.
pub(crate) fn run() -> Result<(), Failure> {
    let begin = Instant::now();
    announce("tidy");
    tidy::run()?;
    announce("codegen");
    codegen::run(true)?;
    announce("abi");
    abi::run(abi::Action::Check)?;
    announce("deny");
    deny()?;
    // Before what embeds or runs device code.
    announce("kernels");
    let start = Instant::now();
    kernels::run(&kernels::Settings {
        targets: Vec::new(),
        check: true,
        report: false,
        bless: false,
    })?;
    println!("ci: kernels took {} s", start.elapsed().as_secs());
    for step in &STEPS {
        announce(step.name);
        let start = Instant::now();
        let (program, arguments) = step.command.split_first().ok_or("an empty step")?;
        let status = Command::new(program)
            .args(arguments)
            .envs(step.environment.iter().copied())
            .current_dir(workspace_root())
            .status()
            .map_err(|error| format!("{}: cannot run {program}: {error}", step.name))?;
        if !status.success() {
            return Err(format!(
                "step {} failed ({status}); run `{}` to see it alone",
                step.name,
                step.command.join(" ")
            )
            .into());
        }
        println!("ci: {} took {} s", step.name, start.elapsed().as_secs());
    }
    announce("kernel-tests");
    let start = Instant::now();
    kernel_tests::run(&kernel_tests::Settings::default())?;
    println!("ci: kernel-tests took {} s", start.elapsed().as_secs());
    announce("gcnsim");
    let start = Instant::now();
    gcnsim::run(&gcnsim::Settings::sample(GCNSIM_TARGETS))?;
    println!("ci: gcnsim took {} s", start.elapsed().as_secs());
    announce("emulated processors");
    let start = Instant::now();
    emulate::run()?;
    println!(
        "ci: emulated processors took {} s",
        start.elapsed().as_secs()
    );
    if let Some(level) = std::env::var_os("VMAFX_MAX_LEVEL") {
        let level = level.display();
        println!("ci: VMAFX_MAX_LEVEL is set: nothing was tested above `{level}`");
    }
    println!("ci: all steps passed in {} s", begin.elapsed().as_secs());
    Ok(())
}

/// Checks licences, bans and sources of all dependencies with cargo-deny, which is built into
/// `target/tools` where it is not installed. (Its advisories need a network and are left out.)
fn deny() -> Result<(), Failure> {
    let arguments = ["--locked", "check", "bans", "licenses", "sources"];
    let installed = Command::new("cargo-deny").arg("--version").output();
    let program = match installed {
        Ok(output) if output.status.success() => PathBuf::from("cargo-deny"),
        _ => install_deny()?,
    };
    let status = Command::new(&program)
        .args(arguments)
        .current_dir(workspace_root())
        .status()
        .map_err(|error| format!("deny: cannot run {}: {error}", program.display()))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("step deny failed ({status}); see deny.toml").into()),
    }
}

fn install_deny() -> Result<PathBuf, Failure> {
    let root = workspace_root().join("target/tools");
    let program = root.join("bin/cargo-deny");
    if program.exists() {
        return Ok(program);
    }
    println!("ci: building cargo-deny {CARGO_DENY} (once)");
    let status = Command::new("cargo")
        .args([
            "install",
            "--quiet",
            "--locked",
            "cargo-deny",
            "--version",
            CARGO_DENY,
        ])
        .arg("--root")
        .arg(&root)
        .arg("--target-dir")
        .arg(root.join("build"))
        .status()?;
    if !status.success() {
        return Err(format!(
            "deny: `cargo install cargo-deny --version {CARGO_DENY}` failed ({status})"
        )
        .into());
    }
    std::fs::remove_dir_all(root.join("build"))?;
    Ok(program)
}

fn announce(name: &str) {
    println!("ci: {name}");
}
