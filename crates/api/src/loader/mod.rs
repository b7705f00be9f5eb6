//! The loader: finds the backends that are installed, and says of each why it is there or not.
//!
//! ```text
//! search ─> parse ─> filter ─> open (probe) ─> symbol ─> negotiate ─> layout ─> loaded
//!    └────────┴────────┴────────┴────────────────┴─────────┴────────────┴─────> LoadRecord
//! ```
//!
//! [`Loader::load`] goes through the manifests that it finds in the order of the search
//! ([`SearchFlags`]); each ends in one [`LoadRecord`]. The first that loads has its identifier:
//! later ones are shadowed by it, and so is a built-in backend, which comes last. One that is
//! refused shadows nothing: a broken package takes no working backend away.
//!
//! ```no_run
//! use vmafx_api::loader::{Loader, Probe};
//!
//! let program = std::env::current_exe()?;
//! let loaded = Loader::from_process()
//!     .with_builtins(["cpu"])
//!     .with_probe(Probe::new(program, ["probe"]))
//!     .load();
//! for record in &loaded.records {
//!     println!("{record}");
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! What must stay true: no candidate is passed over without a record; nothing but a manifest
//! leads to a library (but for [`Loader::load_library`], which names one); no file, however
//! wrong, ends the process here, if it is probed first; a library is never unloaded, and its
//! entry runs once in a process, however many loaders there are.

#[cfg(not(target_os = "linux"))]
compile_error!("the feature `host` of vmafx-api is written for Linux");

mod elf;
mod filter;
#[allow(unsafe_code)]
mod host;
#[allow(unsafe_code)]
mod machine;
mod manifest;
#[allow(unsafe_code)]
mod open;
mod pci;
#[allow(unsafe_code)]
mod probe;
mod record;
mod run;
mod search;
mod security;
#[allow(unsafe_code)]
mod tables;

use std::path::{Path, PathBuf};

use crate::handle::Backend;
use crate::kinds::LogLevel;

pub use host::{ABI_OLDEST, LogSink, set_log};
pub use machine::{Machine, locale, signal_handlers};
pub use manifest::{MANIFEST_VERSION, MAX_MANIFEST_BYTES, Manifest, ManifestError, Need};
pub use open::quiesce;
pub use probe::{DEFAULT_TIMEOUT, Probe, answer_probe, signal_name};
pub use record::{LoadRecord, Outcome, Place, Reason, Stage, one_line};
pub use search::SearchFlags;

use open::{FileId, Opened, file_id};
use record::{Verdict, shown};

/// This platform as manifests name it, such as `linux_x86_64`.
pub fn platform() -> String {
    format!("{}_{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Finds and loads backends.
#[derive(Clone, Debug)]
pub struct Loader {
    machine: Machine,
    flags: SearchFlags,
    paths: Vec<PathBuf>,
    builtins: Vec<String>,
    probe: Option<Probe>,
}

/// What [`Loader::load`] found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// One record for each candidate and each ignored setting, in the order of the search.
    pub records: Vec<LoadRecord>,
    /// The backends that can be used, in the order of the search.
    pub backends: Vec<LoadedBackend>,
    /// Identifiers of the built-in backends that are neither shadowed nor disabled.
    pub builtins: Vec<String>,
}

/// A backend of a loaded library, and where it came from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedBackend {
    /// The backend. Loading the same library again gives the same one.
    pub backend: Backend,
    /// Version of the plugin that the backend came with.
    pub plugin_version: String,
    /// Licence of the plugin.
    pub license: String,
    /// The manifest that led to it, if one did.
    pub manifest: Option<PathBuf>,
    /// The library.
    pub library: PathBuf,
    /// Revision of the wire that both sides use.
    pub abi_chosen: u32,
    /// Priority: the manifest's, else the library's.
    pub priority: i32,
}

impl LoadedBackend {
    fn new(backend: &Backend, opened: &Opened, library: &Path) -> Self {
        LoadedBackend {
            backend: backend.clone(),
            plugin_version: opened.version.clone(),
            license: opened.license.clone(),
            manifest: None,
            library: library.to_path_buf(),
            abi_chosen: opened.abi_chosen,
            priority: backend.info().priority,
        }
    }

    /// Identifier of the backend.
    pub fn id(&self) -> &str {
        &self.backend.info().id
    }
}

impl Loaded {
    /// The backend named `id`, if its library was loaded.
    pub fn backend(&self, id: &str) -> Option<&LoadedBackend> {
        self.backends.iter().find(|backend| backend.id() == id)
    }

    /// Why there is no backend `id`: the records of that name, or of manifests whose file is
    /// named so and that could not be read far enough to know.
    pub fn why_not(&self, id: &str) -> impl Iterator<Item = &LoadRecord> {
        self.records.iter().filter(move |record| {
            let stem = record.manifest.as_deref().and_then(Path::file_stem);
            let named = match &record.backend {
                Some(backend) => backend == id,
                None => stem.is_some_and(|stem| stem == id),
            };
            named && record.outcome != Outcome::Loaded
        })
    }
}

impl Loader {
    /// A loader for this process and machine.
    pub fn from_process() -> Self {
        Loader::new(Machine::from_process())
    }

    /// A loader for a machine of one's own making.
    pub fn new(machine: Machine) -> Self {
        Loader {
            machine,
            flags: SearchFlags::default(),
            paths: Vec::new(),
            builtins: Vec::new(),
            probe: None,
        }
    }

    /// Says which places are searched.
    pub fn with_search(mut self, flags: SearchFlags) -> Self {
        self.flags = flags;
        self
    }

    /// Adds a manifest or a folder of manifests, searched before those of the system.
    pub fn with_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Names the backends that are linked into the program.
    pub fn with_builtins<S: Into<String>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
        self.builtins.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Tries each library in a child process first.
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Searches, loads, and tells of everything it met.
    pub fn load(&self) -> Loaded {
        let loaded = run::run(self);
        for record in &loaded.records {
            tell(record);
        }
        loaded
    }

    /// Loads a library that is named by its path, without a manifest: for tests and for the
    /// check of a plugin. Gives all its backends.
    ///
    /// # Errors
    /// The record that says what is wrong.
    pub fn load_library(&self, library: &Path) -> Result<Vec<LoadedBackend>, Box<LoadRecord>> {
        let mut record = LoadRecord::new(Place::Explicit);
        record.library = Some(library.to_path_buf());
        let ending = library_id(library)
            .and_then(|_| security::trusted(&self.machine, library, Stage::Open))
            .and_then(|path| self.opened(&path));
        let ending = ending.map(|opened| {
            let backends = opened.backends.iter();
            backends
                .map(|backend| LoadedBackend::new(backend, opened, library))
                .collect()
        });
        ending.map_err(|verdict| {
            let record = record.refuse(verdict);
            tell(&record);
            Box::new(record)
        })
    }

    /// Opens a library whose path is resolved.
    fn opened(&self, path: &Path) -> Result<&'static Opened, Verdict> {
        let file = library_id(path)?;
        let elf = elf::inspect(path)?;
        if let Some(probe) = &self.probe
            && !open::is_known(file)
        {
            probe::probe(probe, path, file)?;
        }
        open::open(path, file, &elf)
    }
}

/// Opens a library without a loader: the child's side of a probe.
fn open_explicit(library: &Path) -> Result<&'static Opened, Verdict> {
    // Whoever may start this program with rights of its own must not have it run any file.
    let machine = Machine::from_process();
    library_id(library)?;
    let library = security::trusted(&machine, library, Stage::Open)?;
    let file = library_id(&library)?;
    let elf = elf::inspect(&library)?;
    open::open(&library, file, &elf)
}

fn library_id(path: &Path) -> Result<FileId, Verdict> {
    file_id(path).map_err(|error| not_found(path, &error))
}

fn not_found(library: &Path, error: &std::io::Error) -> Verdict {
    let line = match error.kind() {
        std::io::ErrorKind::NotFound => format!("{} does not exist", shown(library)),
        _ => format!("{} cannot be read: {error}", shown(library)),
    };
    Verdict::new(Stage::Open, Reason::LibraryNotFound, line)
}

/// Writes a record to the log.
fn tell(record: &LoadRecord) {
    let level = match record.outcome {
        _ if record.is_failure() => LogLevel::WARNING,
        Outcome::Loaded | Outcome::NotInstalled => LogLevel::INFO,
        _ => LogLevel::DEBUG,
    };
    host::log(level, "loader", &record.to_string());
    for note in &record.notes {
        let subject = record.subject();
        host::log(LogLevel::DEBUG, "loader", &format!("{subject}: {note}"));
    }
}
