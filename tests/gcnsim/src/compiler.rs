//! Finding the compiler and its linker.
//!
//! `VMAFX_CLANG` with `VMAFX_LLD` is taken alone when it is set; else Debian's names are tried,
//! then zig, which carries both.

use std::ffi::OsString;

use crate::tool::Tool;

/// What to do when there is none.
const ADVICE: &str = "install clang-22 and lld-22 (Debian 12's security suite has them; \
                      scripts/setup.sh does it), or put zig 0.17 or newer on the PATH, or name \
                      clang and ld.lld of LLVM 22 or newer in VMAFX_CLANG and VMAFX_LLD";

/// Compiler and linker.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The compiler.
    pub clang: Tool,
    /// The linker.
    pub lld: Tool,
    /// The first line of the compiler's version.
    pub version: String,
    /// All that compiler and linker say of themselves: another text, and everything is made anew.
    pub identity: String,
}

/// Finds compiler and linker; `variable` reads the environment.
///
/// # Errors
/// What was tried, why each is not it, and what to install.
pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Toolchain, String> {
    let candidates = match (variable("VMAFX_CLANG"), variable("VMAFX_LLD")) {
        (Some(clang), Some(lld)) => vec![(Tool::new(clang, None), Tool::new(lld, None))],
        (None, None) => vec![
            (Tool::new("clang-22", None), Tool::new("ld.lld-22", None)),
            (
                Tool::new("zig", Some("clang")),
                Tool::new("zig", Some("ld.lld")),
            ),
        ],
        _ => return Err("VMAFX_CLANG and VMAFX_LLD belong together: set both or none".to_owned()),
    };
    let mut tried = Vec::new();
    for (clang, lld) in candidates {
        match (clang.version(), lld.version()) {
            (Ok(version), Ok(linker)) => {
                let first = version.lines().next().unwrap_or_default().trim().to_owned();
                // Only the version counts, not the folder that some of them also name.
                let linker = linker.lines().next().unwrap_or_default();
                return Ok(Toolchain {
                    identity: format!("{first}\n{linker}"),
                    version: first,
                    clang,
                    lld,
                });
            }
            (clang, lld) => tried.extend([clang, lld].into_iter().filter_map(Result::err)),
        }
    }
    Err(format!(
        "no compiler for the kernels:\n  {}\n{ADVICE}",
        tried.join("\n  ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_there_says_what_was_tried_and_what_to_do() {
        let set = |name: &str| Some(OsString::from(format!("/nowhere/{name}")));
        let failure = find(set).unwrap_err();
        for part in [
            "/nowhere/VMAFX_CLANG: ",
            "/nowhere/VMAFX_LLD: ",
            "clang-22 and lld-22",
        ] {
            assert!(failure.contains(part), "{failure}");
        }
        let one = |name: &str| (name == "VMAFX_LLD").then(|| OsString::from("ld.lld"));
        assert!(find(one).unwrap_err().contains("set both or none"));
    }

    #[test]
    fn too_old_is_refused_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clang");
        std::fs::write(&path, "#!/bin/sh\necho clang version 21.1.0\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let failure = find(|_| Some(path.clone().into_os_string())).unwrap_err();
        assert!(failure.contains("version 21, needed is 22"), "{failure}");
    }
}
