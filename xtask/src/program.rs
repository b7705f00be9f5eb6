//! The release build of `vmafx`, for tasks that run it.

use std::path::PathBuf;
use std::process::Command;

use vmafx_tests::data::workspace_root;

use crate::Failure;

/// The folder of build results. A relative one is relative to the workspace, where builds run.
pub(crate) fn target() -> PathBuf {
    let folder = set("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    workspace_root().join(folder)
}

/// The folder from which GPU backends take in device code, as their build scripts find it
/// (`crates/gpu/build/embed.rs`).
pub(crate) fn kernels() -> PathBuf {
    match set("VMAFX_KERNELS") {
        Some(folder) => workspace_root().join(folder),
        None => target().join("kernels"),
    }
}

fn set(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
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
