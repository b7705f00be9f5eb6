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
mod log;
#[allow(unsafe_code)]
mod machine;
mod manifest;
#[allow(unsafe_code)]
mod open;
mod pci;
#[allow(unsafe_code)]
mod probe;
mod record;
mod search;
mod security;
#[allow(unsafe_code)]
mod tables;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::handle::Backend;
use crate::kinds::LogLevel;
use crate::wire;

pub use log::{ABI_OLDEST, LogSink, set_log};
pub use machine::Machine;
pub use manifest::{MANIFEST_VERSION, MAX_MANIFEST_BYTES, Manifest, ManifestError, Need};
pub use open::quiesce;
pub use probe::{DEFAULT_TIMEOUT, Probe, answer_probe};
pub use record::{LoadRecord, Outcome, Place, Reason, Stage};
pub use search::SearchFlags;

use filter::Filters;
use open::{FileId, Opened, file_id};
use record::{Verdict, shown};
use search::{Candidate, Found};

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
        let mut loaded = Loaded::default();
        let filters = Filters::from_machine(&self.machine, &mut loaded.records);
        let mut run = Run {
            loader: self,
            filters,
            manifests: BTreeMap::new(),
            holders: BTreeMap::new(),
            backends: Vec::new(),
        };
        for found in search::search(&self.machine, self.flags, &self.paths) {
            let record = match found {
                Found::Candidate(candidate) => run.candidate(&candidate),
                Found::Record(record) => record,
            };
            loaded.records.push(record);
        }
        for id in &self.builtins {
            let record = run.builtin(id);
            if record.outcome == Outcome::Loaded {
                loaded.builtins.push(id.clone());
            }
            loaded.records.push(record);
        }
        loaded.backends = run.backends;
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
        let ending = security::trusted(&self.machine, library, Stage::Open)
            .and_then(|path| self.opened(&path));
        let ending = ending.map(|opened| {
            let backends = opened.backends.iter();
            backends
                .map(|backend| loaded_backend(backend, opened, library))
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
    let library = library
        .canonicalize()
        .map_err(|error| not_found(library, &error))?;
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
        .hint("the manifest and its library are of one package: install it again")
}

/// One run over the candidates.
struct Run<'a> {
    loader: &'a Loader,
    filters: Filters,
    /// Manifests met so far, by file.
    manifests: BTreeMap<FileId, PathBuf>,
    /// Who has an identifier.
    holders: BTreeMap<String, String>,
    backends: Vec<LoadedBackend>,
}

impl Run<'_> {
    fn candidate(&mut self, candidate: &Candidate) -> LoadRecord {
        let mut record = LoadRecord::new(candidate.place);
        record.manifest = Some(candidate.manifest.clone());
        match self.try_candidate(candidate, &mut record) {
            Ok(()) => record,
            Err((outcome, verdict)) => record.end(outcome, verdict),
        }
    }

    fn try_candidate(
        &mut self,
        candidate: &Candidate,
        record: &mut LoadRecord,
    ) -> Result<(), (Outcome, Verdict)> {
        let machine = &self.loader.machine;
        let refused = |verdict| (Outcome::Refused, verdict);
        let path =
            security::trusted(machine, &candidate.manifest, Stage::Search).map_err(refused)?;
        let (manifest, file) = read_manifest(&path).map_err(refused)?;
        if let Some(first) = self.manifests.insert(file, candidate.manifest.clone()) {
            let line = format!("the same file as {}", shown(&first));
            self.manifests.insert(file, first);
            return Err((
                Outcome::Shadowed,
                Verdict::new(Stage::Search, Reason::SameFile, line),
            ));
        }
        let manifest = manifest.map_err(|error| refused(error.verdict()))?;
        record.backend = Some(manifest.id.clone());
        record.notes.clone_from(&manifest.notes);

        if let Some(verdict) = self.filters.verdict(&manifest.id) {
            return Err((Outcome::Disabled, verdict));
        }
        if let Some(holder) = self.holders.get(&manifest.id) {
            let line = format!("{holder} comes first");
            return Err((
                Outcome::Shadowed,
                Verdict::new(Stage::Filter, Reason::SameId, line),
            ));
        }
        let platform = platform();
        let Some(library) = manifest.library.get(&platform) else {
            let has: Vec<_> = manifest.library.keys().map(String::as_str).collect();
            let line = format!(
                "it has no library for {platform}, only for {}",
                has.join(", ")
            );
            let verdict = Verdict::new(Stage::Filter, Reason::OtherPlatform, line);
            return Err((Outcome::NotInstalled, verdict));
        };
        check_abi(&manifest).map_err(refused)?;
        if let Some(verdict) = pci::verdict(machine, &manifest.pci_vendors) {
            return Err((Outcome::NotInstalled, verdict));
        }

        let library = library_path(machine, &path, library).map_err(refused)?;
        record.library = Some(library.clone());
        library_id(&library).map_err(refused)?;
        let library = security::trusted(machine, &library, Stage::Open).map_err(refused)?;
        record.library = Some(library.clone());
        let opened = self
            .loader
            .opened(&library)
            .map_err(|verdict| perhaps_not_installed(&manifest, verdict))?;
        let backend = agreed_backend(&manifest, opened).map_err(refused)?;
        record.notes.extend(opened.notes.iter().cloned());

        let mut loaded = loaded_backend(backend, opened, &library);
        loaded.manifest = Some(candidate.manifest.clone());
        loaded.priority = manifest.priority.unwrap_or(loaded.priority);
        let (reason, hint) = match disagreements(&manifest, &loaded) {
            list if list.is_empty() => (Reason::Ok, None),
            list => {
                record.notes.extend(list);
                let hint = "its manifest says otherwise: tell whoever made the package";
                (Reason::ManifestDisagrees, Some(hint.to_owned()))
            }
        };
        record.outcome = Outcome::Loaded;
        record.stage = Stage::Layout;
        record.reason = reason;
        record.line = format!(
            "{} {}, revision {} of the interface, {}",
            loaded.backend.info().name,
            loaded.backend.info().version,
            loaded.abi_chosen,
            shown(&library)
        );
        record.hint = hint;
        self.holders
            .insert(manifest.id.clone(), shown(&candidate.manifest));
        self.backends.push(loaded);
        Ok(())
    }

    fn builtin(&mut self, id: &str) -> LoadRecord {
        let mut record = LoadRecord::new(Place::BuiltIn);
        record.backend = Some(id.to_owned());
        if let Some(verdict) = self.filters.verdict(id) {
            return record.end(Outcome::Disabled, verdict);
        }
        if let Some(holder) = self.holders.get(id) {
            let line = format!("{holder} comes first");
            let verdict = Verdict::new(Stage::Filter, Reason::SameId, line);
            return record.end(Outcome::Shadowed, verdict);
        }
        self.holders
            .insert(id.to_owned(), "the built-in backend".to_owned());
        let line = "built into this program";
        record.end(
            Outcome::Loaded,
            Verdict::new(Stage::Filter, Reason::Ok, line),
        )
    }
}

/// Reads the manifest at a resolved path.
fn read_manifest(path: &Path) -> Result<(Result<Manifest, ManifestError>, FileId), Verdict> {
    let unreadable = |error: std::io::Error| {
        let line = format!("{} cannot be read: {error}", shown(path));
        Verdict::new(Stage::Parse, Reason::Unreadable, line)
    };
    let file = file_id(path).map_err(unreadable)?;
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        // Opening a pipe would wait for its writer.
        let line = format!("{} is no file", shown(path));
        return Err(Verdict::new(Stage::Parse, Reason::Unreadable, line));
    }
    let mut bytes = Vec::new();
    let most = MAX_MANIFEST_BYTES as u64 + 1;
    let opened = File::open(path).map_err(unreadable)?;
    opened
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok((Manifest::parse(&bytes), file))
}

/// Refuses what cannot agree with this host, without opening it.
fn check_abi(manifest: &Manifest) -> Result<(), Verdict> {
    let hint = "install versions of vmafx and of the backend that go together";
    let (major, revision) = (manifest.abi_major, manifest.abi_revision);
    if major != wire::ABI_MAJOR {
        let ours = wire::ABI_MAJOR;
        let line =
            format!("it is built for major number {major} of the interface; this host has {ours}");
        return Err(Verdict::new(Stage::Negotiate, Reason::WrongMajor, line).hint(hint));
    }
    if revision < ABI_OLDEST {
        let line = format!(
            "it is built for revision {revision} of the interface; this host takes {ABI_OLDEST} and later"
        );
        return Err(Verdict::new(Stage::Negotiate, Reason::WrongRevision, line).hint(hint));
    }
    Ok(())
}

/// Where the library is that a manifest names: a bare name in the host's folder of plugins,
/// else a path, relative to the manifest's folder.
fn library_path(machine: &Machine, manifest: &Path, library: &str) -> Result<PathBuf, Verdict> {
    let path = Path::new(library);
    if path.is_absolute() {
        return Ok(machine.inside(path));
    }
    let mut names = path.components();
    let bare = matches!(
        (names.next(), names.next()),
        (Some(Component::Normal(_)), None)
    );
    if bare && !library.contains('/') {
        return Ok(machine.inside(&machine.libdir).join("vmafx").join(path));
    }
    if machine.elevated {
        let line = format!("its library `{}` is a relative path", shown(path));
        return Err(Verdict::new(Stage::Open, Reason::RelativePath, line)
            .hint("an elevated process takes bare names and absolute paths"));
    }
    let folder = manifest.parent().unwrap_or(Path::new("/"));
    Ok(folder.join(path))
}

/// A missing library of someone else's that the manifest names is no failure.
fn perhaps_not_installed(manifest: &Manifest, verdict: Verdict) -> (Outcome, Verdict) {
    let need = verdict.missing.as_deref().and_then(|missing| {
        let named = |need: &&Need| {
            let version = missing.strip_prefix(need.library.as_str());
            version.is_some_and(|version| version.is_empty() || version.starts_with('.'))
        };
        Some((missing, manifest.needs.iter().find(named)?))
    });
    let Some((missing, need)) = need else {
        return (Outcome::Refused, verdict);
    };
    let line = match need.name.as_str() {
        "" => format!("{missing} is not installed"),
        name => format!("{name} ({missing}) is not installed"),
    };
    let verdict = Verdict::new(verdict.stage, verdict.reason, line).hint(format!(
        "install the package that has {missing} to use this backend"
    ));
    (Outcome::NotInstalled, verdict)
}

/// The library's backend of the manifest's identifier.
fn agreed_backend<'a>(manifest: &Manifest, opened: &'a Opened) -> Result<&'a Backend, Verdict> {
    let found = opened
        .backends
        .iter()
        .find(|backend| backend.info().id == manifest.id);
    found.ok_or_else(|| {
        let has: Vec<_> = opened
            .backends
            .iter()
            .map(|backend| backend.info().id.as_str())
            .collect();
        let line = format!(
            "the manifest promises backend `{}`; {} has {}",
            manifest.id,
            shown(&opened.path),
            has.join(", ")
        );
        Verdict::new(Stage::Layout, Reason::OtherBackend, line)
            .hint("the manifest is the package's: tell whoever made the package")
    })
}

/// What the manifest says that the library says otherwise. The library is right.
fn disagreements(manifest: &Manifest, loaded: &LoadedBackend) -> Vec<String> {
    let mut list = Vec::new();
    let mut compare = |what: &str, told: &str, is: &str| {
        if told != is {
            let line = format!("the manifest says {what} `{told}`, the library `{is}`");
            list.push(record::one_line(&line));
        }
    };
    compare("version", &manifest.version, &loaded.plugin_version);
    compare("licence", &manifest.license, &loaded.license);
    if loaded.abi_chosen > manifest.abi_revision {
        list.push(format!(
            "the manifest says revision {} of the interface, the library takes {}",
            manifest.abi_revision, loaded.abi_chosen
        ));
    }
    list
}

fn loaded_backend(backend: &Backend, opened: &Opened, library: &Path) -> LoadedBackend {
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

/// Writes a record to the log.
fn tell(record: &LoadRecord) {
    let level = match record.outcome {
        _ if record.is_failure() => LogLevel::WARNING,
        Outcome::Loaded | Outcome::NotInstalled => LogLevel::INFO,
        _ => LogLevel::DEBUG,
    };
    log::log(level, "loader", &record.to_string());
    for note in &record.notes {
        let subject = record.subject();
        log::log(LogLevel::DEBUG, "loader", &format!("{subject}: {note}"));
    }
}

#[cfg(test)]
mod tests;
