//! `cargo xtask emulate`: the tests of the CPU backend, and the release program, on processors
//! that this machine is not, by `qemu-x86_64`.
//!
//! A processor with AVX2 and no AVX-512 must take the AVX2 kernels, an older one the portable
//! code, and neither may meet an instruction that it does not have: the emulator ends a program
//! that tries. What must stay true: each run asserts the level in use, the program's scores are
//! those of this machine, and nothing is skipped.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use cargo_metadata::Message;
use serde_json::Value;
use vmafx_tests::data::workspace_root;

use crate::{Failure, program};

/// The emulator of one program, of Debian's package `qemu-user`.
const EMULATOR: &str = "qemu-x86_64";

/// Processors by the emulator's names, less what it says it cannot do, and the level that each
/// must use. Sandy Bridge has AVX without AVX2, Nehalem neither.
const PROCESSORS: [(&str, &str); 3] = [
    ("Haswell-noTSX,-pcid,-x2apic,-tsc-deadline,-invpcid", "avx2"),
    ("SandyBridge,-x2apic,-tsc-deadline", "portable"),
    ("Nehalem", "portable"),
];

/// Clips that the program scores, each beside itself with a distortion.
const CLIPS: [&str; 3] = [
    "synth:tex,size=179x121,depth=8,frames=3,seed=4",
    "synth:tex,size=258x98,depth=10,chroma=422,frames=3,seed=5",
    "synth:rand,size=66x131,depth=16,chroma=444,frames=3,seed=6",
];

/// Tests that take long and run no kernel.
const LEFT_OUT: [&str; 1] = ["below_2_to_14_a_share_gives_back_the_distorted_coefficient"];

/// Runs the tests on every processor of the list.
///
/// # Errors
/// A machine without the emulator, a failed test.
pub(crate) fn run() -> Result<(), Failure> {
    if cfg!(not(target_arch = "x86_64")) {
        println!("emulate: nothing to do, this machine's programs have no levels");
        return Ok(());
    }
    let tests = build()?;
    let vmafx = program::release()?;
    for (processor, level) in PROCESSORS {
        let start = Instant::now();
        let emulated = |program: &Path| {
            let mut command = Command::new(EMULATOR);
            command.args(["-cpu", processor]).arg(program);
            command
        };
        let mut command = emulated(&tests);
        for test in LEFT_OUT {
            command.args(["--skip", test]);
        }
        command
            .arg("--nocapture")
            .env("VMAFX_MAX_LEVEL", level)
            .env_remove("VMAFX_FULL_GRID")
            .current_dir(workspace_root().join("crates/backend-cpu"));
        let text = output(&mut command)?;
        for clip in CLIPS {
            let native = score(&mut Command::new(&vmafx), clip)?;
            let other = score(&mut emulated(&vmafx), clip)?;
            let in_use = &other["provenance"]["features"][0]["isa"];
            if in_use != level {
                return Err(format!("emulate: {processor} uses {in_use}, not {level}").into());
            }
            for part in ["frames", "pooled_metrics", "aggregate_metrics"] {
                if native[part].is_null() || native[part] != other[part] {
                    return Err(format!("emulate: {part} of {clip} differ on {processor}").into());
                }
            }
        }
        let model = processor.split(',').next().unwrap_or(processor);
        println!(
            "{model}: uses {level}, equal scores, {} s",
            start.elapsed().as_secs()
        );
        // Portable code is the reference, there is nothing to compare it with.
        let compared = |line: &&str| line.contains(" comparisons ") && level != "portable";
        text.lines()
            .filter(compared)
            .for_each(|line| println!("  {line}"));
    }
    Ok(())
}

/// The report of a run over `clip`.
fn score(program: &mut Command, clip: &str) -> Result<Value, Failure> {
    let distorted = format!("{clip},dist=blur:1+noise:6");
    let psnr = "psnr=enable_mse=true";
    program
        .args(["score", clip, &distorted, "--feature", psnr])
        .args(["--precision", "max", "--threads", "2", "--json", "-q"])
        .args(["-o", "/dev/stdout"]);
    Ok(serde_json::from_str(&output(program)?)?)
}

/// Standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .env_remove("VMAFX_CPU_LEVEL")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            let program = command.get_program().display();
            format!("emulate: cannot run {program}: {error}; scripts/setup.sh installs {EMULATOR}")
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        return Err(format!("emulate: {command:?} failed ({status})\n{text}\n{errors}").into());
    }
    Ok(text)
}

/// Builds the backend's unit tests and tells where they are.
fn build() -> Result<PathBuf, Failure> {
    let mut child = Command::new("cargo")
        .args(["test", "--locked", "--package", "vmafx-backend-cpu"])
        .args([
            "--lib",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(workspace_root())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("emulate: cargo has no output")?;
    let mut tests = None;
    for message in Message::parse_stream(BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message? {
            tests = artifact.executable.or(tests);
        }
    }
    let status = child.wait()?;
    match tests {
        Some(tests) if status.success() => Ok(tests.into_std_path_buf()),
        _ => Err(format!("emulate: the tests were not built ({status})").into()),
    }
}
