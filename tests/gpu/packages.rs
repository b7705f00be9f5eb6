//! The command and the plugins as packages bring them: built by cargo, installed in a folder of
//! each child's own.
//!
//! What must stay true: what is tested are the files that ship, not parts of this program; one
//! test program at a time uses the folder, and it starts empty.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use vmafx_tests::data::workspace_root;

/// Where manifests and libraries lie below the folder of a child.
pub(crate) const MANIFESTS: &str = "usr/share/vmafx/backends.d";
pub(crate) const LIBRARIES: &str = "usr/lib/vmafx";
/// Where the command lies there.
pub(crate) const COMMAND: &str = "usr/bin/vmafx";
/// The plugins, by the name of their crate and manifest.
pub(crate) const PLUGINS: [&str; 2] = ["hip", "cuda"];

/// What was built.
pub(crate) struct Packages {
    built: PathBuf,
    folder: PathBuf,
    /// Held for as long as the folder is used.
    _lock: File,
}

impl Packages {
    /// Builds all of it, in a folder of its own: a backend is built with other features here, and
    /// its library bears the same name.
    pub(crate) fn build() -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(place).unwrap();
        let lock = File::create(place.join("gpu.lock")).unwrap();
        lock.lock().unwrap();
        let folder = place.join("gpu");
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir(&folder).unwrap();
        let target = place.join("packages");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--locked", "-p", "vmafx-cli"]);
        for plugin in PLUGINS {
            command.args(["-p", &format!("vmafx-backend-{plugin}")]);
        }
        command.arg("--target-dir").arg(&target);
        let status = command.current_dir(workspace_root()).status().unwrap();
        assert!(status.success(), "{command:?}: {status}");
        Packages {
            built: target.join("debug"),
            folder,
            _lock: lock,
        }
    }

    /// A folder of that name with everything installed.
    pub(crate) fn room(&self, name: &str) -> PathBuf {
        let room = self.folder.join(name.replace([' ', '/'], "-"));
        fs::create_dir_all(&room).unwrap();
        let room = room.canonicalize().unwrap();
        for plugin in PLUGINS {
            let crate_folder = workspace_root().join(format!("crates/backend-{plugin}"));
            let manifest = format!("{plugin}.toml");
            self.place(
                &crate_folder.join(&manifest),
                &room.join(MANIFESTS).join(&manifest),
                0o644,
            );
            let library = library(plugin);
            self.place(
                &self.built.join(&library),
                &room.join(LIBRARIES).join(&library),
                0o644,
            );
        }
        self.place(&self.built.join("vmafx"), &room.join(COMMAND), 0o755);
        room
    }

    fn place(&self, from: &Path, to: &Path, mode: u32) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        fs::set_permissions(to, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// File name of a plugin's library.
pub(crate) fn library(plugin: &str) -> String {
    format!("libvmafx_backend_{plugin}.so")
}
