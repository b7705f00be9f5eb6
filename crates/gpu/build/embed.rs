//! Part of the build scripts of the GPU backends: the device code that a plugin carries.
//!
//! `cargo xtask kernels` writes `<name>.table` and `<name>.zst`; they are looked for in the folder
//! that `VMAFX_KERNELS` names, else in `target/kernels` of the workspace. What is found becomes
//! the constant of `$OUT_DIR/objects.rs`. Without it the backend builds all the same, and says so
//! when it is asked for a device.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Embeds the code of the backend `name`.
pub(crate) fn embed(name: &str) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=VMAFX_KERNELS");
    let folder = match env::var_os("VMAFX_KERNELS").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let package = env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?;
            Path::new(&package).join("../../target/kernels")
        }
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let mut carried = true;
    for file in [format!("{name}.table"), format!("{name}.zst")] {
        let from = folder.join(&file);
        // A file that is not there is looked for again with each build.
        println!("cargo::rerun-if-changed={}", from.display());
        match fs::read(&from) {
            Ok(bytes) => fs::write(out.join(&file), bytes)?,
            Err(_) => carried = false,
        }
    }
    let value = match carried {
        true => format!(
            "Some((include_str!(\"{name}.table\"), include_bytes!(\"{name}.zst\").as_slice()))"
        ),
        false => "None".to_owned(),
    };
    let text = format!(
        "/// Table and stream of the device code; nothing if it was not there to be built in.\n\
         pub(crate) const OBJECTS: Option<(&str, &[u8])> = {value};\n"
    );
    fs::write(out.join("objects.rs"), text)?;
    Ok(())
}
