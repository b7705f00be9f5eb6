//! The child: opens the plugin, runs the checks, and tells the parent of each.

use std::path::Path;
use std::process::ExitCode;

use vmafx_api::loader::{LoadRecord, LoadedBackend, Loader, Machine, Probe, SearchFlags};
use vmafx_conformance::{Candidate, ProcessState, Suite};

use super::{Arguments, Event, MARK, print};

pub(super) fn run(arguments: &Arguments, file: &Path, suite: &Suite) -> ExitCode {
    // Before the plugin is there: opening it may already change what it must not.
    let before = ProcessState::current();
    let (backends, record) = match load(arguments, file) {
        Ok(loaded) => loaded,
        Err(record) => {
            tell(&Event::Refused {
                line: record.to_string(),
                record: serde_json::to_value(&*record).unwrap_or_default(),
            });
            return ExitCode::SUCCESS;
        }
    };
    let candidates = backends.iter().map(|backend| {
        Candidate::loaded(backend, record.clone())
            .with_device(arguments.device)
            .with_grid(arguments.grid())
            .with_process(before.clone())
    });
    let candidates: Vec<_> = candidates.collect();
    tell(&Event::Loaded {
        backends: candidates.iter().map(Candidate::identity).collect(),
    });
    let wanted = |candidate: &&Candidate| match &arguments.backend {
        Some(id) => candidate.identity().id == *id,
        None => true,
    };
    // The parent starts a child for each backend that it wants.
    if let Some(candidate) = candidates.iter().find(wanted) {
        let mut told = false;
        suite.run_watched(candidate, |check, outcome| {
            let cells = candidate.cells().filter(|_| !told);
            told |= cells.is_some();
            let check = check.id.to_owned();
            tell(&match outcome {
                None => Event::Started { check },
                Some(outcome) => Event::Ended {
                    check,
                    outcome: outcome.clone(),
                    cells,
                },
            });
        });
    }
    tell(&Event::Finished);
    ExitCode::SUCCESS
}

type Loaded = (Vec<LoadedBackend>, Option<LoadRecord>);

/// Loads what `file` names: a manifest or a library.
fn load(arguments: &Arguments, file: &Path) -> Result<Loaded, Box<LoadRecord>> {
    // Nothing but this file: no folder is searched, no filter of the environment applies.
    let mut nowhere = SearchFlags::default();
    (nowhere.environment, nowhere.user, nowhere.system) = (false, false, false);
    nowhere.allow_relative = true;
    let mut loader = Loader::new(Machine::at("/")).with_search(nowhere);
    if let Ok(program) = std::env::current_exe() {
        loader =
            loader.with_probe(Probe::new(program, ["--probe"]).with_timeout(arguments.timeout()));
    }
    if file.extension().is_none_or(|extension| extension != "toml") {
        return Ok((loader.load_library(file)?, None));
    }
    let loaded = loader.with_path(file).load();
    let record = loaded.records.into_iter().next();
    match (loaded.backends.is_empty(), record) {
        (true, Some(record)) => Err(Box::new(record)),
        (_, record) => Ok((loaded.backends, record)),
    }
}

fn tell(event: &Event) {
    let event = serde_json::to_string(event).unwrap_or_default();
    // What the plugin wrote before may not have ended its line.
    print(&format!("\n{MARK}{event}\n"));
}
