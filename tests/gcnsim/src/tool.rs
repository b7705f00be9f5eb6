//! Programs of LLVM that are run: found by name, checked for their version.
//!
//! The version is checked before anything else: older ones lack targets, or fail with a message
//! that leads nowhere.

use std::ffi::OsString;
use std::process::Command;

/// The first version that knows every target.
pub const OLDEST: u32 = 22;

/// A program with the arguments that come first.
#[derive(Clone, Debug)]
pub struct Tool {
    path: OsString,
    first: Option<&'static str>,
}

impl Tool {
    /// A program by its name or path, such as `zig` with `clang` as its first argument.
    pub fn new(path: impl Into<OsString>, first: Option<&'static str>) -> Self {
        Self {
            path: path.into(),
            first,
        }
    }

    /// A command that starts it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(self.first);
        command
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> String {
        let path = self.path.display();
        match self.first {
            Some(first) => format!("{path} {first}"),
            None => path.to_string(),
        }
    }

    /// What it answers to `--version`.
    ///
    /// # Errors
    /// It is not there, says no version, or is older than [`OLDEST`].
    pub fn version(&self) -> Result<String, String> {
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
}
