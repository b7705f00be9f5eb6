//! The search: where manifests are looked for, and in which order.
//!
//! 1. `VMAFX_BACKEND_FILES`: replaces all that follows;
//! 2. `VMAFX_ADD_BACKEND_FILES`;
//! 3. what the application added;
//! 4. `vmafx/backends.d` in `$XDG_CONFIG_HOME`, in `$XDG_CONFIG_DIRS` and in the build's
//!    sysconfdir: settings of the user and the administrator;
//! 5. `vmafx/backends.d` in `$XDG_DATA_HOME`, in `$XDG_DATA_DIRS` and in the build's datadir:
//!    what packages install.
//!
//! 1 to 3 name manifests or folders. A folder gives its files that end in `.toml`, sorted by
//! the bytes of their names. An elevated process takes nothing from its environment and
//! nothing from a home folder: what remains of 4 and 5 is the build's own folders and the
//! defaults of the XDG base directory specification.
//!
//! What must stay true: the order does not depend on the file system or the locale; a folder
//! or manifest that is met twice is looked at once.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::record::{LoadRecord, Outcome, Place, Reason, Stage, Verdict, shown};

const FILES: &str = "VMAFX_BACKEND_FILES";
const ADD_FILES: &str = "VMAFX_ADD_BACKEND_FILES";
/// Variables that name folders of settings and data.
const FOLDERS: [&str; 5] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
];
/// Where manifests are below a folder of settings or data.
const BELOW: &str = "vmafx/backends.d";

/// Which places are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchFlags {
    /// What `VMAFX_BACKEND_FILES` and `VMAFX_ADD_BACKEND_FILES` name.
    pub environment: bool,
    /// The user's folders.
    pub user: bool,
    /// The system's folders.
    pub system: bool,
    /// Whether paths of the environment and the application may be relative to the working
    /// directory.
    pub allow_relative: bool,
}

impl Default for SearchFlags {
    /// Every place, absolute paths only.
    fn default() -> Self {
        SearchFlags {
            environment: true,
            user: true,
            system: true,
            allow_relative: false,
        }
    }
}

/// A file that may be a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) manifest: PathBuf,
}

/// One step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Candidate(Candidate),
    /// What was named and cannot be a candidate.
    Record(LoadRecord),
}

/// Everything that is found, in order.
pub(super) fn search(machine: &Machine, flags: SearchFlags, added: &[PathBuf]) -> Vec<Found> {
    let mut search = Search {
        machine,
        flags,
        found: Vec::new(),
        folders: BTreeSet::new(),
    };
    search.run(added);
    search.found
}

struct Search<'a> {
    machine: &'a Machine,
    flags: SearchFlags,
    found: Vec<Found>,
    /// Folders looked at so far, by device and inode.
    folders: BTreeSet<(u64, u64)>,
}

impl Search<'_> {
    fn run(&mut self, added: &[PathBuf]) {
        let named = |name| {
            self.machine
                .variable(name)
                .filter(|_| self.flags.environment)
        };
        let (only, more) = (named(FILES), named(ADD_FILES));
        if self.machine.elevated {
            for (name, value) in [(FILES, only), (ADD_FILES, more)] {
                if value.is_some() {
                    self.ignored(Place::Environment, None, name);
                }
            }
            for path in added {
                self.ignored(Place::Application, Some(path), "a path of the application");
            }
            self.folders_ignored();
        } else {
            if let Some(list) = only {
                return self.list(Place::BackendFiles, list);
            }
            if let Some(list) = more {
                self.list(Place::AddBackendFiles, list);
            }
            for path in added {
                self.named(Place::Application, path, path);
            }
        }
        let machine = self.machine;
        let config = Family {
            home: ("XDG_CONFIG_HOME", ".config"),
            dirs: ("XDG_CONFIG_DIRS", "/etc/xdg"),
            build: &machine.sysconfdir,
            places: [Place::UserConfig, Place::SystemConfig],
        };
        let data = Family {
            home: ("XDG_DATA_HOME", ".local/share"),
            dirs: ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
            build: &machine.datadir,
            places: [Place::UserData, Place::SystemData],
        };
        self.family(&config);
        self.family(&data);
    }

    /// Searches the folders of settings, or those of data.
    fn family(&mut self, family: &Family<'_>) {
        let machine = self.machine;
        let variable = |name| machine.variable(name).filter(|_| !machine.elevated);
        let [user, system] = family.places;
        if self.flags.user && !machine.elevated {
            let (name, below_home) = family.home;
            match (variable(name), variable("HOME")) {
                (Some(folder), _) => self.base(user, name, Path::new(folder)),
                (None, Some(home)) => self.base(user, "HOME", &Path::new(home).join(below_home)),
                (None, None) => {}
            }
        }
        if self.flags.system {
            let (name, default) = family.dirs;
            let list = variable(name).unwrap_or(OsStr::new(default));
            for folder in split(list) {
                self.base(system, name, folder);
            }
            self.base(system, "the build", family.build);
        }
    }

    /// Searches below one base folder, which need not exist.
    fn base(&mut self, place: Place, name: &str, folder: &Path) {
        if !folder.is_absolute() {
            let line = format!("{name} is ignored: {} is a relative path", shown(folder));
            let verdict = Verdict::new(Stage::Search, Reason::RelativePath, line);
            let hint = "the XDG base directory specification wants absolute paths";
            return self.refuse(place, folder, verdict.hint(hint));
        }
        let folder = self.machine.inside(folder).join(BELOW);
        match self.folder(place, &folder) {
            Err(error) if !absent(&error) => {
                let line = format!("{} cannot be read: {error}", shown(&folder));
                let verdict = Verdict::new(Stage::Search, Reason::Unreadable, line);
                self.refuse(place, &folder, verdict);
            }
            _ => {}
        }
    }

    /// A list of manifests and folders from the environment.
    fn list(&mut self, place: Place, list: &OsStr) {
        for path in split(list) {
            let inside = match path.is_absolute() {
                true => self.machine.inside(path),
                false => path.to_path_buf(),
            };
            self.named(place, path, &inside);
        }
    }

    /// A manifest or folder that someone named, as it was written and as it is on this machine.
    fn named(&mut self, place: Place, written: &Path, real: &Path) {
        if !written.is_absolute() && !self.flags.allow_relative {
            let line = format!("{} is a relative path", shown(written));
            let hint = "write the whole path: it must not depend on the working directory";
            let verdict = Verdict::new(Stage::Search, Reason::RelativePath, line).hint(hint);
            return self.refuse(place, written, verdict);
        }
        let looked_at = match std::fs::metadata(real) {
            Ok(metadata) if metadata.is_dir() => self.folder(place, real),
            Ok(_) => {
                self.candidate(place, real.to_path_buf());
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = looked_at {
            let verdict = if absent(&error) {
                let line = format!("{} does not exist", shown(real));
                Verdict::new(Stage::Search, Reason::NotFound, line)
            } else {
                let line = format!("{} cannot be read: {error}", shown(real));
                Verdict::new(Stage::Search, Reason::Unreadable, line)
            };
            self.refuse(
                place,
                real,
                verdict.hint("name a manifest or a folder of manifests"),
            );
        }
    }

    /// The manifests of a folder, unless it was looked at before.
    fn folder(&mut self, place: Place, folder: &Path) -> io::Result<()> {
        let metadata = std::fs::metadata(folder)?;
        if self.folders.contains(&(metadata.dev(), metadata.ino())) {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            if name.as_bytes().ends_with(b".toml") {
                names.push(name);
            }
        }
        self.folders.insert((metadata.dev(), metadata.ino()));
        names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        for name in names {
            self.candidate(place, folder.join(name));
        }
        Ok(())
    }

    fn candidate(&mut self, place: Place, manifest: PathBuf) {
        self.found
            .push(Found::Candidate(Candidate { place, manifest }));
    }

    fn refuse(&mut self, place: Place, path: &Path, verdict: Verdict) {
        let mut record = LoadRecord::new(place);
        record.manifest = Some(path.to_path_buf());
        self.found.push(Found::Record(record.refuse(verdict)));
    }

    /// Tells that the folders of the environment are not searched, if it names some.
    fn folders_ignored(&mut self) {
        let named = FOLDERS
            .iter()
            .filter(|name| self.machine.variable(name).is_some());
        let named: Vec<_> = named.copied().collect();
        if named.is_empty() {
            return;
        }
        let line = format!(
            "folders that {} name are not searched: this process runs with elevated rights",
            named.join(", ")
        );
        let verdict = Verdict::new(Stage::Search, Reason::Elevated, line);
        let record = LoadRecord::new(Place::Environment).end(Outcome::Disabled, verdict);
        self.found.push(Found::Record(record));
    }

    fn ignored(&mut self, place: Place, path: Option<&Path>, what: &str) {
        let line = format!("{what} is ignored: this process runs with elevated rights");
        let verdict = Verdict::new(Stage::Search, Reason::Elevated, line)
            .hint("install the manifest in a folder of the system");
        let mut record = LoadRecord::new(place);
        record.manifest = path.map(Path::to_path_buf);
        self.found.push(Found::Record(record.refuse(verdict)));
    }
}

/// Folders of settings, or folders of data.
struct Family<'a> {
    /// Variable of the user's folder, and where it is below HOME.
    home: (&'static str, &'static str),
    /// Variable of the system's folders, and what they are when it is not set.
    dirs: (&'static str, &'static str),
    /// The build's own folder.
    build: &'a Path,
    /// The user's place and the system's.
    places: [Place; 2],
}

/// The paths of a list with colons between them.
fn split(list: &OsStr) -> impl Iterator<Item = &Path> {
    let parts = list.as_bytes().split(|&byte| byte == b':');
    parts
        .filter(|part| !part.is_empty())
        .map(|part| Path::new(OsStr::from_bytes(part)))
}

fn absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine with an empty manifest at each path.
    fn machine(manifests: &[&str]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for path in manifests {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let machine = Machine::at(root.path()).with_variable("HOME", "/people/u");
        (root, machine)
    }

    /// What is found, as places and paths below the root, or as reasons.
    fn found(machine: &Machine, flags: SearchFlags, added: &[PathBuf]) -> Vec<String> {
        let told = |found: Found| match found {
            Found::Candidate(candidate) => {
                let path = candidate.manifest.strip_prefix(&machine.root).unwrap();
                format!("{} {}", candidate.place, path.display())
            }
            Found::Record(record) => {
                assert_eq!(record.stage, Stage::Search);
                record.reason.to_string()
            }
        };
        search(machine, flags, added)
            .into_iter()
            .map(told)
            .collect()
    }

    const EVERYWHERE: [&str; 9] = [
        "usr/share/vmafx/backends.d/s.toml",
        "usr/local/share/vmafx/backends.d/l.toml",
        "people/u/.local/share/vmafx/backends.d/d.toml",
        "etc/vmafx/backends.d/e.toml",
        "etc/xdg/vmafx/backends.d/x.toml",
        "people/u/.config/vmafx/backends.d/c.toml",
        "app/a.toml",
        "more/m.toml",
        "only/o.toml",
    ];

    #[test]
    fn places_come_in_their_order() {
        let (root, machine) = machine(&EVERYWHERE);
        let added = [root.path().join("app")];
        let machine = machine.with_variable(ADD_FILES, "/more/m.toml");
        let all = [
            "add-backend-files more/m.toml",
            "application app/a.toml",
            "user-config people/u/.config/vmafx/backends.d/c.toml",
            "system-config etc/xdg/vmafx/backends.d/x.toml",
            "system-config etc/vmafx/backends.d/e.toml",
            "user-data people/u/.local/share/vmafx/backends.d/d.toml",
            "system-data usr/local/share/vmafx/backends.d/l.toml",
            "system-data usr/share/vmafx/backends.d/s.toml",
        ];
        let flags = SearchFlags::default();
        assert_eq!(found(&machine, flags, &added), all);

        let no_user = SearchFlags {
            user: false,
            ..flags
        };
        let without = |part: &str| {
            all.into_iter()
                .filter(|f| !f.starts_with(part))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&machine, no_user, &added), without("user"));
        let no_system = SearchFlags {
            system: false,
            ..flags
        };
        assert_eq!(found(&machine, no_system, &added), without("system"));
        let no_environment = SearchFlags {
            environment: false,
            ..flags
        };
        assert_eq!(found(&machine, no_environment, &added), without("add"));

        let machine = machine.with_variable(FILES, "/only:/app/a.toml");
        assert_eq!(
            found(&machine, flags, &added),
            ["backend-files only/o.toml", "backend-files app/a.toml"]
        );
    }

    #[test]
    fn variables_take_the_place_of_defaults() {
        let paths = [
            "c/vmafx/backends.d/1.toml",
            "d1/vmafx/backends.d/2.toml",
            "d2/vmafx/backends.d/3.toml",
        ];
        let (_root, machine) = machine(&paths);
        let machine = machine
            .with_variable("XDG_CONFIG_HOME", "/c")
            .with_variable("XDG_DATA_HOME", "relative")
            .with_variable("XDG_DATA_DIRS", "/d2::/d1:/d2/");
        assert_eq!(
            found(&machine, SearchFlags::default(), &[]),
            [
                "user-config c/vmafx/backends.d/1.toml",
                "relative-path",
                "system-data d2/vmafx/backends.d/3.toml",
                "system-data d1/vmafx/backends.d/2.toml",
            ]
        );
    }

    #[test]
    fn files_are_sorted_by_bytes_and_others_passed_over() {
        let names = [
            "b.toml", "a.toml", "B.toml", "é.toml", "10.toml", "9.toml", "x.so", "toml",
        ];
        let paths = names.map(|name| format!("f/{name}"));
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let (_root, machine) = machine(&paths);
        let machine = machine.with_variable(FILES, "/f:/f/");
        let expected = ["10.toml", "9.toml", "B.toml", "a.toml", "b.toml", "é.toml"];
        assert_eq!(
            found(&machine, SearchFlags::default(), &[]),
            expected.map(|name| format!("backend-files f/{name}"))
        );
    }

    #[test]
    fn what_is_named_and_wrong_is_told() {
        let (_root, machine) = machine(&["a.toml"]);
        let machine = machine.with_variable(FILES, "/none.toml:here.toml:/a.toml/b.toml");
        assert_eq!(
            found(&machine, SearchFlags::default(), &[]),
            ["not-found", "relative-path", "not-found"]
        );
        let relative = SearchFlags {
            allow_relative: true,
            ..SearchFlags::default()
        };
        assert_eq!(found(&machine, relative, &[]), ["not-found"; 3]);
    }

    #[test]
    fn an_elevated_process_takes_nothing_from_its_caller() {
        let (root, mut machine) = machine(&EVERYWHERE);
        machine.elevated = true;
        let machine = machine
            .with_variable(FILES, "/only")
            .with_variable(ADD_FILES, "/more")
            .with_variable("XDG_CONFIG_HOME", "/people/u/.config")
            .with_variable("XDG_CONFIG_DIRS", "/people/u/.config")
            .with_variable("XDG_DATA_DIRS", "/people/u/.local/share");
        let flags = SearchFlags {
            allow_relative: true,
            ..SearchFlags::default()
        };
        assert_eq!(
            found(&machine, flags, &[root.path().join("app")]),
            [
                "elevated",
                "elevated",
                "elevated",
                "elevated",
                "system-config etc/xdg/vmafx/backends.d/x.toml",
                "system-config etc/vmafx/backends.d/e.toml",
                "system-data usr/local/share/vmafx/backends.d/l.toml",
                "system-data usr/share/vmafx/backends.d/s.toml",
            ]
        );
    }
}
