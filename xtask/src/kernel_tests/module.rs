//! The module of the guest that makes fences which fail, `tests/guest/module`, built against the
//! headers of the guest's kernel.
//!
//! What must stay true: the source tree stays clean; a module of another kernel is never loaded,
//! because the folder of the build is that kernel's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::kernel::Kernel;
use super::programs::file_name;
use crate::Failure;

/// Builds the modules of `source`, one of each C file, in `folder`; the files to load.
///
/// # Errors
/// A folder without sources, what the compiler says.
pub(super) fn build(
    kernel: &Kernel,
    source: &Path,
    folder: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let start = Instant::now();
    let folder = folder.join(&kernel.version);
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let mut names = Vec::new();
    let entries = fs::read_dir(source)
        .map_err(|error| format!("kernel-tests: {}: {error}", source.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = file_name(&path);
        update(&folder.join(&name), &fs::read(&path)?)?;
        names.extend(name.strip_suffix(".c").map(str::to_owned));
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("kernel-tests: {} has no module", source.display()).into());
    }

    let mut command = Command::new("make");
    command
        .arg("--directory")
        .arg(kernel.headers())
        .arg(format!("M={}", folder.display()))
        // The kernel's own compiler has a version in its name, and its debug information wants a
        // program that is not there.
        .args(["CC=gcc", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("kernel-tests: make cannot be run: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "kernel-tests: {command:?} failed ({})\n{text}{errors}",
            output.status
        )
        .into());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    if let Some(warning) = errors.lines().find(|line| line.contains("warning:")) {
        return Err(format!("kernel-tests: the module has a warning: {warning}").into());
    }
    println!(
        "kernel-tests: {} built in {:.1} s",
        names.join(", "),
        start.elapsed().as_secs_f64()
    );
    Ok(names
        .iter()
        .map(|name| folder.join(format!("{name}.ko")))
        .collect())
}

/// Writes a file if it is not what it should be: what has not changed is not built again.
fn update(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    match fs::read(path) {
        Ok(old) if old == bytes => Ok(()),
        _ => Ok(fs::write(path, bytes)?),
    }
}
