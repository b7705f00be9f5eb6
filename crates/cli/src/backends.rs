//! The backends of this run: those built into the program and those installed on the machine.
//!
//! Each library is tried in a child process first, which is this program again
//! ([`PROBE_COMMAND`]), unless [`PROBE_VARIABLE`] is `0`.
//!
//! What must stay true: a backend that is installed and cannot be used is told of, and one that
//! was asked for by name and is not there ends the run with its record.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use vmafx_api::loader::{self, Loaded, Loader, Outcome, Probe};
use vmafx_api::{Backend, LogLevel};
use vmafx_engine::Warning;

use crate::destination::note;
use crate::failure::{Class, Classify, Failure};

/// First argument of the child process that tries a library; its path is the second. For this
/// program alone, so no help tells of it.
const PROBE_COMMAND: &str = "probe-backend";

/// Set to `0`, libraries are opened without being tried first.
pub(crate) const PROBE_VARIABLE: &str = "VMAFX_BACKENDS_PROBE";

/// The answer of the child process, if this is one.
pub(crate) fn answer_probe() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let is_probe = arguments.next().is_some_and(|first| first == PROBE_COMMAND);
    let library = arguments.next().filter(|_| is_probe)?;
    Some(loader::answer_probe(Path::new(&library)))
}

/// The backends that can be used, and what became of the others.
pub(crate) struct Backends {
    pub(crate) all: Vec<Backend>,
    pub(crate) loaded: Loaded,
}

impl Backends {
    /// Finds them.
    ///
    /// # Errors
    /// A built-in backend that breaks the rules.
    pub(crate) fn find() -> Result<Self, Failure> {
        loader::set_log(Some(Arc::new(|level, origin, line| {
            // The loader's own lines are in its records.
            if origin != "loader" && level <= LogLevel::WARNING {
                note(&format!("vmafx: {level} of {origin}: {line}\n"));
            }
        })));
        let builtins = Backend::builtin().class(Class::Internal)?;
        let ids = builtins.iter().map(|backend| backend.info().id.as_str());
        let mut loader = Loader::from_process().with_builtins(ids);
        let unprobed = std::env::var_os(PROBE_VARIABLE).is_some_and(|value| value == "0");
        if !unprobed {
            match std::env::current_exe() {
                Ok(program) => loader = loader.with_probe(Probe::new(program, [PROBE_COMMAND])),
                Err(error) => note(&format!(
                    "vmafx: warning: backends are opened without being tried first, because this \
                     program does not find itself: {error}\n"
                )),
            }
        }
        let loaded = loader.load();
        let installed = loaded.backends.iter();
        let installed = installed.map(|found| found.backend.with_priority(found.priority));
        let kept = builtins
            .iter()
            .filter(|backend| loaded.builtins.contains(&backend.info().id));
        Ok(Backends {
            all: installed.chain(kept.cloned()).collect(),
            loaded,
        })
    }

    /// Whether `wanted`, a backend or one of its devices, is of a backend that did not load.
    ///
    /// # Errors
    /// Its records, if it is.
    pub(crate) fn check_wanted(&self, wanted: &str) -> Result<(), Failure> {
        let id = wanted.split_once(':').map_or(wanted, |(id, _)| id);
        if self.all.iter().any(|backend| backend.info().id == id) {
            return Ok(());
        }
        let why: Vec<_> = self.loaded.why_not(id).map(ToString::to_string).collect();
        match why.is_empty() {
            // The engine tells of all devices there are.
            true => Ok(()),
            false => Err(Failure::new(
                Class::Backend,
                format!("--backend {wanted} was not loaded: {}", why.join("; ")),
            )),
        }
    }

    /// What the report of a run that may use any backend says of those that cannot be used.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = Warning> {
        let failed = self
            .loaded
            .records
            .iter()
            .filter(|record| record.is_failure());
        failed.map(|record| match record.outcome {
            Outcome::Loaded => Warning::Note(record.to_string()),
            _ => Warning::BackendUnavailable {
                backend: record.subject(),
                reason: record.line.clone(),
            },
        })
    }
}
