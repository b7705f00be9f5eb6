//! `cargo xtask stage DIR`: the backends of this repository as plugins under a prefix, as packages
//! lay them out: `DIR/lib/vmafx/*.so` and `DIR/share/vmafx/backends.d/*.toml`.
//!
//! The manifests name their libraries relative to themselves, so the tree may be moved; packages
//! take the manifests as they are in the source tree, which name libraries of the system's folder.
//!
//! What must stay true: a GPU backend without device code, which is of no use, is not staged unless
//! that is asked for.

use std::fs;
use std::path::{Path, PathBuf};
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

/// Names of the device code of GPU backends.
const DEVICE_CODE: [&str; 2] = ["hip", "cuda"];

/// Builds and stages every backend; `bare` GPU backends may lack their device code.
///
/// # Errors
/// Device code that is not there, a build that fails, files that cannot be written, a manifest
/// that does not name its library.
pub(crate) fn run(prefix: &Path, bare: bool) -> Result<(), Failure> {
    if !bare {
        let missing = missing(&crate::program::kernels());
        if let Some(file) = missing.first() {
            return Err(format!(
                "stage: there is no {}, so that GPU backends would be staged without device code \
                 and could use no device; run `cargo xtask kernels` first, set VMAFX_KERNELS, or \
                 pass --without-device-code",
                file.display()
            )
            .into());
        }
    }
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

/// The files of device code that are not in this folder.
fn missing(folder: &Path) -> Vec<PathBuf> {
    let files = DEVICE_CODE.iter().flat_map(|name| {
        ["table", "zst"].map(|extension| folder.join(format!("{name}.{extension}")))
    });
    files.filter(|file| !file.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_code_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["hip.table", "hip.zst", "cuda.zst"] {
            fs::write(folder.path().join(name), "code").unwrap();
        }
        assert_eq!(missing(folder.path()), [folder.path().join("cuda.table")]);
        fs::write(folder.path().join("cuda.table"), "code").unwrap();
        assert_eq!(missing(folder.path()), [] as [&Path; 0]);
    }
}
