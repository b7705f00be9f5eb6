//! `cargo xtask stage DIR`: the backends of this repository as plugins under a prefix, as packages
//! lay them out: `DIR/lib/vmafx/*.so` and `DIR/share/vmafx/backends.d/*.toml`.
//!
//! The manifests name their libraries relative to themselves, so the tree may be moved; packages
//! take the manifests as they are in the source tree, which name libraries of the system's folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use vmafx_tests::data::workspace_root;

use crate::Failure;

/// Crate, library without prefix and suffix, manifest.
const BACKENDS: [(&str, &str, &str); 3] = [
    (
        "vmafx-backend-cpu",
        "vmafx_backend_cpu",
        "crates/backend-cpu/cpu.toml",
    ),
    (
        "vmafx-backend-hip",
        "vmafx_backend_hip",
        "crates/backend-hip/hip.toml",
    ),
    (
        "vmafx-backend-cuda",
        "vmafx_backend_cuda",
        "crates/backend-cuda/cuda.toml",
    ),
];

/// Builds and stages every backend.
///
/// # Errors
/// A build that fails, files that cannot be written, a manifest that does not name its library.
pub(crate) fn run(prefix: &Path) -> Result<(), Failure> {
    let (libraries, manifests) = (
        prefix.join("lib/vmafx"),
        prefix.join("share/vmafx/backends.d"),
    );
    fs::create_dir_all(&libraries)?;
    fs::create_dir_all(&manifests)?;
    for (package, name, manifest) in BACKENDS {
        let status = Command::new("cargo")
            .args(["build", "--locked", "--release", "--package", package])
            .current_dir(workspace_root())
            .status()?;
        if !status.success() {
            return Err(format!("stage: building {package} failed ({status})").into());
        }
        let library = format!("lib{name}.so");
        let built = crate::program::target().join("release").join(&library);
        // A new file takes the place of one that a process has open.
        let draft = libraries.join(format!(".{library}"));
        fs::copy(&built, &draft)
            .map_err(|error| format!("stage: {} cannot be copied: {error}", built.display()))?;
        fs::rename(&draft, libraries.join(&library))?;

        let text = fs::read_to_string(workspace_root().join(manifest))?;
        let named = format!("\"{library}\"");
        if !text.contains(&named) {
            return Err(format!("stage: {manifest} does not name {library}").into());
        }
        let text = text.replace(&named, &format!("\"../../../lib/vmafx/{library}\""));
        let path = manifests.join(Path::new(manifest).file_name().unwrap_or_default());
        fs::write(&path, text)?;
        println!("{}", path.display());
    }
    Ok(())
}
