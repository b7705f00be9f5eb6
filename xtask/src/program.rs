//! The release build of `vmafx`, for tasks that run it.

use std::path::PathBuf;
use std::process::Command;

use vmafx_tests::data::workspace_root;

use crate::Failure;

/// The folder of build results.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => workspace_root().join("target"),
    }
}

/// Builds `vmafx` in release mode and tells where it is.
///
/// # Errors
/// A failed build.
pub(crate) fn release() -> Result<PathBuf, Failure> {
    let build = Command::new("cargo")
        .args(["build", "--release", "--locked", "--package", "vmafx-cli"])
        .current_dir(workspace_root())
        .status()?;
    if !build.success() {
        return Err("the release build failed".into());
    }
    Ok(target().join("release/vmafx"))
}
