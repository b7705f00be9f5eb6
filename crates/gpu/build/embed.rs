//! Part of the build scripts of the GPU backends: the device code that a plugin carries.
//!
//! `cargo xtask kernels` writes `<name>.table` and `<name>.zst`; they are looked for in the folder
//! that `VMAFX_KERNELS` names, else in `kernels` of the folder of build results, which is
//! `CARGO_TARGET_DIR`, else `target` of the workspace (as in `xtask/src/program.rs`). What is found
//! becomes the constant of `$OUT_DIR/objects.rs`. Without it the backend builds all the same, and
//! says so when it is asked for a device; code that is there and cannot be read ends the build.
//!
//! What must stay true: code that comes later is taken in by the next build, and a build that
//! changes nothing compiles nothing.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Embeds the code of the backend `name`.
pub(crate) fn embed(name: &str) -> Result<(), Box<dyn Error>> {
    let (folder, is_ours) = folder()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let mut carried = true;
    for file in [format!("{name}.table"), format!("{name}.zst")] {
        let from = folder.join(&file);
        match fs::read(&from) {
            Ok(bytes) => {
                println!("cargo::rerun-if-changed={}", from.display());
                write(&out.join(&file), &bytes)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => carried = false,
            Err(error) => return Err(format!("{}: {error}", from.display()).into()),
        }
    }
    if !carried {
        // What is not there has the script run, and the backend compiled, with every build; an
        // empty folder does so only once something comes into it. Without one, builds are longer.
        if is_ours {
            let _ = fs::create_dir(&folder);
        }
        println!("cargo::rerun-if-changed={}", folder.display());
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
    write(&out.join("objects.rs"), text.as_bytes())?;
    Ok(())
}

/// Where device code is, and whether it is in the folder of build results. Relative paths are
/// relative to the workspace.
fn folder() -> Result<(PathBuf, bool), Box<dyn Error>> {
    let set = |name: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        env::var_os(name).filter(|value| !value.is_empty())
    };
    let package = env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?;
    let workspace = Path::new(&package).join("../..");
    let (kernels, target) = (set("VMAFX_KERNELS"), set("CARGO_TARGET_DIR"));
    Ok(match (kernels, target) {
        (Some(kernels), _) => (workspace.join(kernels), false),
        (None, Some(target)) => (workspace.join(target).join("kernels"), true),
        (None, None) => (workspace.join("target/kernels"), true),
    })
}

/// Writes what is not there already.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(known) if known == bytes => Ok(()),
        _ => fs::write(path, bytes),
    }
}
