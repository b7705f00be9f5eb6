//! The parent: a child for each backend, another one after each that dies, and the report.

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::{Value, json};
use vmafx_api::loader::one_line;
use vmafx_conformance::{Check, CheckResult, Identity, Outcome, Report, Suite};

use super::watching::{End, Watched};
use super::{Arguments, Event, FAILED, NOT_LOADED, PROCESS_ENDS, USAGE, print, wrong};

/// Children of one backend that may die before the rest of its checks is given up.
const MOST_DEATHS: usize = 4;

pub(super) fn run(arguments: &Arguments, file: &Path, suite: &Suite, ends: bool) -> ExitCode {
    let mut run = Run {
        arguments,
        file,
        suite,
        ends,
    };
    match run.all() {
        Ok(reports) => {
            let passed = reports.iter().all(Report::passed);
            if arguments.json {
                print_json(&json!({
                    "file": file.to_string_lossy(),
                    "passed": passed,
                    "reports": reports,
                }));
            }
            match passed {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(FAILED),
            }
        }
        Err(Stop::NotLoaded { record, line }) => {
            match arguments.json {
                true => print_json(&json!({
                    "file": file.to_string_lossy(),
                    "passed": false,
                    "reason": line,
                    "record": record,
                })),
                false => print(&format!("{line}\n")),
            }
            ExitCode::from(NOT_LOADED)
        }
        Err(Stop::NoBackend { wanted, has }) => {
            let file = one_line(&file.to_string_lossy());
            wrong(&format!(
                "{file} has no backend `{wanted}`; it has {}",
                has.join(", ")
            ))
        }
        Err(Stop::NoChild(error)) => {
            eprintln!("vmafx-plugin-check: no child process could be started: {error}");
            ExitCode::from(USAGE)
        }
    }
}

fn print_json(value: &Value) {
    print(&format!("{value:#}\n"));
}

/// Why there is no report.
enum Stop {
    NotLoaded { record: Value, line: String },
    NoBackend { wanted: String, has: Vec<String> },
    NoChild(std::io::Error),
}

struct Run<'a> {
    arguments: &'a Arguments,
    file: &'a Path,
    suite: &'a Suite,
    ends: bool,
}

impl Run<'_> {
    /// The reports of every backend that is asked for.
    fn all(&mut self) -> Result<Vec<Report>, Stop> {
        let first = self.arguments.backend.clone();
        let (report, backends) = self.backend(first.as_deref())?;
        let mut reports = vec![report];
        if first.is_none() {
            for backend in &backends[1..] {
                reports.push(self.backend(Some(&backend.id))?.0);
            }
        }
        Ok(reports)
    }

    /// The report of one backend, the plugin's first if none is named, and the backends that
    /// there are.
    fn backend(&self, id: Option<&str>) -> Result<(Report, Vec<Identity>), Stop> {
        let mut waiting = self.suite.checks().to_vec();
        let (mut child, backends) = self.start(id, &waiting)?;
        let found = backends
            .iter()
            .find(|backend| id.is_none_or(|id| backend.id == id));
        let Some(identity) = found else {
            return Err(Stop::NoBackend {
                wanted: id.unwrap_or_default().to_owned(),
                has: backends.into_iter().map(|backend| backend.id).collect(),
            });
        };
        let mut told = Told::new(self.arguments.json, identity.clone());
        let mut deaths = 0;
        loop {
            let Death { during, how } = match watch(&mut child, &mut told, &mut waiting) {
                Ok(end) => {
                    self.tell_end(&mut told, end);
                    break;
                }
                Err(death) => death,
            };
            deaths += 1;
            let check = during.unwrap_or(&PROCESS_ENDS);
            let name = &told.report.backend.id;
            let reason = format!("`{name}` {how} during this check");
            told.result(check, Outcome::failed(&reason));
            if during.is_none() {
                // All checks were through, or the child died between two of them.
                break;
            }
            waiting.retain(|waits| !std::ptr::eq(*waits, check));
            drop(child);
            let again = match deaths < MOST_DEATHS {
                true => self.start(id, &waiting).ok(),
                false => None,
            };
            let Some((next, _)) = again else {
                let ends = self.ends.then_some(&PROCESS_ENDS);
                for check in std::mem::take(&mut waiting).into_iter().chain(ends) {
                    let reason = format!("the plugin died or hung in {deaths} checks before");
                    told.result(check, Outcome::skipped(&reason));
                }
                break;
            };
            child = next;
        }
        told.finish();
        Ok((told.report, backends))
    }

    fn tell_end(&self, told: &mut Told, end: End) {
        if !self.ends {
            return;
        }
        let outcome = match end {
            End::Well => Outcome::Passed,
            End::Badly(how) => Outcome::failed(&format!(
                "the plugin {how} when the process ended; let `quiesce` join its threads, and do \
                 nothing in destructors that needs them"
            )),
        };
        told.result(&PROCESS_ENDS, outcome);
    }

    /// Starts a child with the checks that wait, and waits until it has loaded the plugin.
    fn start(
        &self,
        id: Option<&str>,
        checks: &[&'static Check],
    ) -> Result<(Watched, Vec<Identity>), Stop> {
        let program = std::env::current_exe().map_err(Stop::NoChild)?;
        let mut command = Command::new(program);
        command.arg("--child");
        command.args(["--device", &self.arguments.device.to_string()]);
        command.args(["--timeout", &self.arguments.timeout().as_secs().to_string()]);
        command.args(self.arguments.full.then_some("--full"));
        command.args(id.into_iter().flat_map(|id| ["--backend", id]));
        // A child without checks to name would run them all.
        let ids = checks.iter().map(|check| check.id);
        let ids = ids.chain(checks.is_empty().then_some(PROCESS_ENDS.id));
        command.args(ids.flat_map(|id| ["--check", id]));
        command.arg("--").arg(self.file);
        let timeout = self.arguments.timeout();
        // The child's own child has as long, and tells more of what went wrong.
        let loading = Watched::start(&mut command, timeout);
        let mut child = loading.map_err(Stop::NoChild)?;
        match child.next_within(2 * timeout) {
            Ok(Event::Loaded { backends }) => Ok((child, backends)),
            Ok(Event::Refused { record, line }) => Err(Stop::NotLoaded { record, line }),
            Ok(event) => Err(Stop::NotLoaded {
                record: Value::Null,
                line: format!("the child process answered with {event:?} before it had loaded"),
            }),
            Err(end) => {
                let how = match end {
                    End::Well => "ended the process".to_owned(),
                    End::Badly(how) => how,
                };
                let file = one_line(&self.file.to_string_lossy());
                Err(Stop::NotLoaded {
                    record: Value::Null,
                    line: format!("{file}: the plugin {how} when it was opened"),
                })
            }
        }
    }
}

/// A child that ended before its checks did.
struct Death {
    during: Option<&'static Check>,
    how: String,
}

/// Takes the events of a child until it ends.
fn watch(
    child: &mut Watched,
    told: &mut Told,
    waiting: &mut Vec<&'static Check>,
) -> Result<End, Death> {
    let mut running: Option<&'static Check> = None;
    loop {
        match child.next() {
            Ok(Event::Started { check }) => {
                running = waiting.iter().copied().find(|waits| waits.id == check);
            }
            Ok(Event::Ended {
                check,
                outcome,
                cells,
            }) => {
                if cells.is_some() {
                    told.report.cells = cells;
                }
                if let Some(check) = running.take_if(|running| running.id == check) {
                    waiting.retain(|waits| !std::ptr::eq(*waits, check));
                    told.result(check, outcome);
                }
            }
            Ok(Event::Finished) => return Ok(child.end()),
            Ok(Event::Loaded { .. } | Event::Refused { .. }) => {}
            Err(end) => {
                let how = match end {
                    End::Well => "ended the process with status 0".to_owned(),
                    End::Badly(how) => how,
                };
                return Err(Death {
                    during: running.or_else(|| waiting.first().copied()),
                    how,
                });
            }
        }
    }
}

/// The report as it grows; people see each line when it is there.
struct Told {
    report: Report,
    quiet: bool,
}

impl Told {
    fn new(quiet: bool, identity: Identity) -> Self {
        let told = Told {
            report: Report::new(identity),
            quiet,
        };
        told.line(&told.report.backend);
        told
    }

    fn result(&mut self, check: &'static Check, outcome: Outcome) {
        let result = CheckResult::new(check, outcome);
        self.line(&result);
        self.report.results.push(result);
    }

    fn finish(&self) {
        if let Some(cells) = &self.report.cells {
            self.line(cells);
        }
        self.line(&self.report.counts());
    }

    fn line(&self, line: &dyn std::fmt::Display) {
        if !self.quiet {
            print(&format!("{line}\n"));
        }
    }
}
