//! The command `vmafx` of a child's folder, with the plugins that are installed there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench::{KERNELS, RUNTIME};
use crate::packages::{COMMAND, LIBRARIES, MANIFESTS, PLUGINS, library};

/// The machine of the command.
pub(crate) struct Installed {
    room: PathBuf,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Asserts success.
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }
}

impl Installed {
    /// Points the manifests of the folder at its libraries: the folder of the system's libraries,
    /// which their bare names are looked for in, is not ours to write to.
    pub(crate) fn at(room: &Path) -> Self {
        for plugin in PLUGINS {
            let manifest = room.join(MANIFESTS).join(format!("{plugin}.toml"));
            let text = fs::read_to_string(&manifest).unwrap();
            let (bare, full) = (library(plugin), room.join(LIBRARIES).join(library(plugin)));
            let text = text.replace(&bare, full.to_str().unwrap());
            fs::write(manifest, text).unwrap();
        }
        Installed {
            room: room.to_owned(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.room.join(name)
    }

    pub(crate) fn library(&self, plugin: &str) -> PathBuf {
        self.path(LIBRARIES).join(library(plugin))
    }

    pub(crate) fn manifest(&self, plugin: &str) -> PathBuf {
        self.path(MANIFESTS).join(format!("{plugin}.toml"))
    }

    /// The command with arguments, split at blanks, over the HIP runtime `runtime`.
    pub(crate) fn vmafx(&self, arguments: &str, runtime: &Path) -> Command {
        let mut command = Command::new(self.path(COMMAND));
        let nothing = self.path("nothing");
        command
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .env_clear()
            .env("XDG_DATA_DIRS", self.path("usr/share"))
            .env("XDG_DATA_HOME", &nothing)
            .env("XDG_CONFIG_HOME", &nothing)
            .env("XDG_CONFIG_DIRS", &nothing)
            // No driver of CUDA either, whatever this machine has.
            .env("VMAFX_CUDA_LIBRARY", nothing.join("libcuda.so.1"))
            .env(RUNTIME, runtime);
        if let Some(folder) = std::env::var_os(KERNELS) {
            command.env(KERNELS, folder);
        }
        command
    }

    /// The same, run to its end.
    pub(crate) fn run(&self, arguments: &str, runtime: &Path) -> Ended {
        ended(&mut self.vmafx(arguments, runtime))
    }
}

/// Runs a command to its end.
pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The simulated runtime of this child.
pub(crate) fn simulated() -> PathBuf {
    PathBuf::from(std::env::var_os(RUNTIME).unwrap())
}
