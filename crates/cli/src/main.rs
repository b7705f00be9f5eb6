//! The `vmafx` command: scores video quality, and says what it did.
//!
//! Reading order: [`args`] is the command line, [`run`] a scoring run from videos to report,
//! [`failure`] the exit codes. No score is computed here: that is the engine's work.
//!
//! What must stay true: standard output carries what was asked for and nothing else; the exit
//! code tells the truth; a failure is one line.

#![forbid(unsafe_code)]

mod args;
mod destination;
mod failure;
mod inputs;
mod list;
mod manual;
mod plan;
mod plot;
mod presets;
mod progress;
mod report;
mod run;
mod stream;
mod syntax;

use std::process::ExitCode;

use args::Action;
use failure::{Class, Failure};

fn main() -> ExitCode {
    report_panics();
    match args::parse(std::env::args_os()).and_then(act) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            destination::note(&format!("{failure}\n"));
            failure.class.code().into()
        }
    }
}

fn act(action: Action) -> Result<(), Failure> {
    match action {
        Action::Score(args) => run::score(&args),
        Action::Features(list) => list::features(list.json),
        Action::Models(list) => list::models(list.json),
        Action::Backends(list) => list::backends(list.json),
        Action::Version { upstream: false } => list::version(),
        Action::Version { upstream: true } => {
            destination::note(&format!("vmafx {}\n", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        Action::Completions { shell } => manual::completions(shell),
        Action::Man { topic, all } => manual::man(topic.as_deref(), all.as_deref()),
        Action::Help { topic } => manual::help(topic.as_deref()),
        Action::Print(text) => destination::print(&text),
    }
}

/// Makes a panic end the program like any other failure: one line and its exit code.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let failure = Failure::new(Class::Internal, format!("{panic}; please report this"));
        destination::note(&format!("{failure}\n"));
        std::process::exit(Class::Internal.code().into());
    }));
}
