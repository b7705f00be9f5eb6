//! Finding the compiler, its linker and its disassembler.
//!
//! `VMAFX_CLANG` with `VMAFX_LLD` is taken alone when it is set; else Debian's names are tried,
//! then zig, which carries both. The version is checked before anything is compiled: older ones
//! lack targets or refuse the attributes of a kernel with a message that leads nowhere.

use std::ffi::OsString;
use std::process::Command;

/// The first version that knows every target.
const OLDEST: u32 = 22;

/// What to do when there is none.
const ADVICE: &str = "install clang-22 and lld-22 (Debian 12's security suite has them; \
                      scripts/setup.sh does it), or put zig 0.17 or newer on the PATH, or name \
                      clang and ld.lld of LLVM 22 or newer in VMAFX_CLANG and VMAFX_LLD";

/// A program with the arguments that come first.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: OsString,
    first: Option<&'static str>,
}

impl Program {
    fn new(path: impl Into<OsString>, first: Option<&'static str>) -> Self {
        Self {
            path: path.into(),
            first,
        }
    }

    /// A command that starts it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(self.first);
        command
    }

    /// Its name for people.
    pub(crate) fn name(&self) -> String {
        let path = self.path.display();
        match self.first {
            Some(first) => format!("{path} {first}"),
            None => path.to_string(),
        }
    }

    /// What it answers to `--version`, if it is there and new enough.
    fn version(&self) -> Result<String, String> {
        let name = self.name();
        let output = self
            .command()
            .arg("--version")
            .output()
            .map_err(|error| format!("{name}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let major = major(&text)
            .filter(|_| output.status.success())
            .ok_or_else(|| format!("{name}: no version in what it answers to --version"))?;
        match major >= OLDEST {
            true => Ok(text),
            false => Err(format!("{name}: version {major}, needed is {OLDEST}")),
        }
    }
}

/// Compiler and linker.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    /// The compiler.
    pub(crate) clang: Program,
    /// The linker.
    pub(crate) lld: Program,
    /// The first line of the compiler's version.
    pub(crate) version: String,
    /// All that compiler and linker say of themselves: another text, and everything is made anew.
    pub(crate) identity: String,
}

/// Finds compiler and linker; `variable` reads the environment.
///
/// # Errors
/// What was tried, why each is not it, and what to install.
pub(crate) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Toolchain, String> {
    let candidates = match (variable("VMAFX_CLANG"), variable("VMAFX_LLD")) {
        (Some(clang), Some(lld)) => vec![(Program::new(clang, None), Program::new(lld, None))],
        (None, None) => vec![
            (
                Program::new("clang-22", None),
                Program::new("ld.lld-22", None),
            ),
            (
                Program::new("zig", Some("clang")),
                Program::new("zig", Some("ld.lld")),
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

/// Finds the disassembler: `VMAFX_OBJDUMP`, then the usual names.
///
/// # Errors
/// What was tried and what to install.
pub(crate) fn objdump(variable: impl Fn(&str) -> Option<OsString>) -> Result<Program, String> {
    let candidates = match variable("VMAFX_OBJDUMP") {
        Some(path) => vec![path],
        None => vec!["llvm-objdump-22".into(), "llvm-objdump".into()],
    };
    let mut tried = Vec::new();
    for path in candidates {
        let program = Program::new(path, None);
        match program.version() {
            Ok(_) => return Ok(program),
            Err(reason) => tried.push(reason),
        }
    }
    Err(format!(
        "no disassembler to check the listings with:\n  {}\ninstall llvm-22, or name \
         llvm-objdump of LLVM 22 or newer in VMAFX_OBJDUMP",
        tried.join("\n  ")
    ))
}

/// The number after the first `version ` or `LLD `.
fn major(text: &str) -> Option<u32> {
    ["version ", "LLD "].iter().find_map(|before| {
        let (_, after) = text.split_once(before)?;
        let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(
            major("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x86"),
            Some(22)
        );
        assert_eq!(
            major("Debian LLD 19.1.7 (compatible with GNU linkers)"),
            Some(19)
        );
        assert_eq!(major("gcc (Debian) 12.2.0"), None);
    }

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
        assert!(
            objdump(set)
                .unwrap_err()
                .contains("/nowhere/VMAFX_OBJDUMP: ")
        );
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
