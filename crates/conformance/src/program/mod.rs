//! The command line, and what a child tells its parent.
//!
//! What must stay true: standard output carries the report and nothing else; the exit code is 0
//! if every required check passed, 1 if one failed, 2 for a wrong command line, 3 for a plugin
//! that could not be loaded.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::{Deserialize, Serialize};
use vmafx_api::loader::answer_probe;
use vmafx_conformance::{CellsReport, Check, Grid, Identity, Outcome, Severity, Suite};

mod child;
mod parent;
mod watching;

/// A required check failed.
const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// The plugin could not be loaded.
const NOT_LOADED: u8 = 3;

/// Checks a vmafx plugin: what it says of itself, what it refuses, what it computes and what it
/// leaves behind.
///
/// The plugin runs in child processes. Exit code: 0 if every required check passed, 1 if one
/// failed, 2 if the command line is wrong, 3 if the plugin could not be loaded.
#[derive(Parser)]
#[command(
    name = "vmafx-plugin-check",
    version,
    override_usage = "vmafx-plugin-check [OPTIONS] <FILE>\n       vmafx-plugin-check --list [--json]"
)]
struct Arguments {
    /// A manifest (.toml), or a library.
    #[arg(value_name = "FILE", required_unless_present_any = ["list", "probe"])]
    file: Option<PathBuf>,

    /// Check this backend alone; all of the plugin without it.
    #[arg(long, value_name = "ID")]
    backend: Option<String>,

    /// Check this device of each backend.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    device: u32,

    /// Run this check alone; may be given more than once.
    #[arg(long, value_name = "CHECK")]
    check: Vec<String>,

    /// Longest time that loading and each check may take; 60 if not given, 3600 with --full.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,

    /// Compare every cell at every size, depth and layout, with jobs in order and in disorder.
    #[arg(long)]
    full: bool,

    /// Print the report as JSON.
    #[arg(long)]
    json: bool,

    /// List the checks with what each proves.
    #[arg(long)]
    list: bool,

    /// Run the checks in this process and tell the parent.
    #[arg(long, hide = true)]
    child: bool,

    /// Open this library and say what came of it.
    #[arg(long, hide = true, value_name = "LIBRARY")]
    probe: Option<PathBuf>,
}

impl Arguments {
    fn grid(&self) -> Grid {
        match self.full {
            true => Grid::Full,
            false => Grid::Short,
        }
    }

    fn timeout(&self) -> Duration {
        let usual = if self.full { 3600 } else { 60 };
        Duration::from_secs(self.timeout.unwrap_or(usual))
    }

    /// The checks that are asked for: of the suite, and whether the end of the process is one.
    fn suite(&self) -> Result<(Suite, bool), String> {
        if self.check.is_empty() {
            return Ok((Suite::all(), true));
        }
        let inside = self.check.iter().filter(|id| *id != PROCESS_ENDS.id);
        let suite = Suite::only(inside).map_err(|error| error.to_string())?;
        Ok((suite, self.check.iter().any(|id| id == PROCESS_ENDS.id)))
    }
}

/// The one check that the plugin's own process cannot make.
static PROCESS_ENDS: Check = Check::from_outside(
    "process-ends",
    "The process ends by itself, and well, when the plugin is no longer used.",
);

/// What a child tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    /// The plugin could not be loaded: the loader's record, as JSON and as a line.
    Refused {
        record: serde_json::Value,
        line: String,
    },
    /// It was, with these backends.
    Loaded { backends: Vec<Identity> },
    /// A check begins.
    Started { check: String },
    /// A check has ended; if it compared the cells, with what came of them.
    Ended {
        check: String,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cells: Option<CellsReport>,
    },
    /// All checks have ended, and so will the process.
    Finished,
}

/// Starts the line of an event on the child's standard output, which the plugin may write to,
/// too.
const MARK: &str = "@vmafx-plugin-check ";

pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(library) = &arguments.probe {
        return answer_probe(library);
    }
    if arguments.list {
        return list(arguments.json);
    }
    match (&arguments.file, arguments.suite()) {
        (Some(file), Ok((suite, _))) if arguments.child => child::run(&arguments, file, &suite),
        (Some(file), Ok((suite, ends))) => parent::run(&arguments, file, &suite, ends),
        (None, Ok(_)) => wrong("no file was given"),
        (_, Err(error)) => wrong(&error),
    }
}

fn wrong(reason: &str) -> ExitCode {
    eprintln!("vmafx-plugin-check: {reason}");
    ExitCode::from(USAGE)
}

fn list(json: bool) -> ExitCode {
    let suite = Suite::all();
    let checks = suite.checks().iter().copied().chain([&PROCESS_ENDS]);
    let mut text = String::new();
    if json {
        let checks = checks.map(|check| {
            serde_json::json!({
                "id": check.id, "proves": check.proves, "severity": check.severity,
            })
        });
        text = serde_json::json!({ "checks": checks.collect::<Vec<_>>() }).to_string();
        text.push('\n');
    } else {
        for check in checks {
            let advice = match check.severity {
                Severity::Required => "",
                Severity::Advised => " (advice)",
            };
            text.push_str(&format!("{}{advice}\n    {}\n", check.id, check.proves));
        }
    }
    print(&text);
    ExitCode::SUCCESS
}

/// Writes to standard output. That its reader has gone changes no verdict.
fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
