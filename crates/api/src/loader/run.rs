//! One run of the loader: each candidate that the search finds, through every step.
//!
//! What must stay true: a step either goes on or ends the candidate with an outcome and a
//! verdict; the first backend that loads has its identifier, and one that does not load takes
//! nothing away from those that follow.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::filter::Filters;
use super::host::ABI_OLDEST;
use super::machine::Machine;
use super::manifest::{MAX_MANIFEST_BYTES, Manifest, ManifestError, Need};
use super::open::{FileId, Opened, file_id};
use super::record::{LoadRecord, Outcome, Place, Reason, Stage, Verdict, one_line, shown};
use super::search::{Candidate, Found, search};
use super::{Loaded, LoadedBackend, Loader, library_id, pci, platform, security};
use crate::handle::Backend;
use crate::wire::ABI_MAJOR;

/// Goes through all that the search finds, and the built-in backends after that.
pub(super) fn run(loader: &Loader) -> Loaded {
    let mut records = Vec::new();
    let mut run = Run {
        loader,
        filters: Filters::from_machine(&loader.machine, &mut records),
        manifests: BTreeMap::new(),
        holders: BTreeMap::new(),
        backends: Vec::new(),
    };
    for found in search(&loader.machine, loader.flags, &loader.paths) {
        records.push(match found {
            Found::Candidate(candidate) => run.candidate(&candidate),
            Found::Record(record) => record,
        });
    }
    let mut builtins = Vec::new();
    for id in &loader.builtins {
        let record = run.builtin(id);
        if record.outcome == Outcome::Loaded {
            builtins.push(id.clone());
        }
        records.push(record);
    }
    Loaded {
        records,
        backends: run.backends,
        builtins,
    }
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
        library_id(&library).map_err(|verdict| refused(verdict.hint(SAME_PACKAGE)))?;
        let library = security::trusted(machine, &library, Stage::Open).map_err(refused)?;
        record.library = Some(library.clone());
        let opened = self
            .loader
            .opened(&library)
            .map_err(|verdict| perhaps_not_installed(&manifest, verdict))?;
        let backend = agreed_backend(&manifest, opened).map_err(refused)?;
        record.notes.extend(opened.notes.iter().cloned());

        let mut loaded = LoadedBackend::new(backend, opened, &library);
        loaded.manifest = Some(candidate.manifest.clone());
        loaded.priority = manifest.priority.unwrap_or(loaded.priority);
        let (reason, hint) = match disagreements(&manifest, &loaded) {
            list if list.is_empty() => (Reason::Ok, None),
            list => {
                let hint = format!("{}: tell whoever made the package", list.join("; "));
                (Reason::ManifestDisagrees, Some(hint))
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
    if major != ABI_MAJOR {
        let line = format!(
            "it is built for major number {major} of the interface; this host has {ABI_MAJOR}"
        );
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
            list.push(one_line(&line));
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

const SAME_PACKAGE: &str = "the manifest and its library are of one package: install it again";

#[cfg(test)]
mod tests;
