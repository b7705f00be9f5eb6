//! The `vmafx` command: scores video quality, and says what it did.
//!
//! Reading order: [`args`] is the command line, [`run`] a scoring run from videos to report,
//! [`failure`] the exit codes. No score is computed here: that is the engine's work.
//!
//! What must stay true: standard output carries what was asked for and nothing else; the exit
//! code tells the truth; a failure is one line.

#![forbid(unsafe_code)]

mod args;
mod backends;
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

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use args::Action;
use failure::{Class, Failure};

fn main() -> ExitCode {
    if let Some(answer) = backends::answer_probe() {
        return answer;
    }
    let code = match guarded(|| args::parse(std::env::args_os()).and_then(act)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            destination::note(&format!("{failure}\n"));
            failure.class.code().into()
        }
    };
    vmafx_api::loader::quiesce();
    code
}

fn act(action: Action) -> Result<(), Failure> {
    match action {
        Action::Score(args) => run::score(&args),
        Action::Features(list) => list::features(list.json),
        Action::Models(list) => list::models(list.json),
        Action::Backends(list) => list::backends(list.explain, list.json),
        Action::Licences => list::licences(),
        Action::Version { upstream: false } => list::version(),
        Action::Version { upstream: true } => {
            destination::note(&format!("vmafx {}\n", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        Action::Completions { shell, name } => manual::completions(shell, name),
        Action::Man { topic, all } => manual::man(topic.as_deref(), all.as_deref()),
        Action::Help { topic } => manual::help(topic.as_deref()),
        Action::Print(text) => destination::print(&text),
    }
}

thread_local! {
    /// What the last panic of this thread said, and where.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes a panic in `action` a failure like any other: one line and its exit code, and nothing
/// half done stays behind, for the stack is unwound. A panic of another thread says nothing
/// here: whoever runs the thread (the engine for its workers) turns it into an error.
fn guarded(action: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    panic::set_hook(Box::new(|panic| PANIC.set(Some(panic.to_string()))));
    let result = panic::catch_unwind(AssertUnwindSafe(action));
    drop(panic::take_hook());
    result.unwrap_or_else(|_| {
        let text = PANIC.take().unwrap_or_default();
        let text = format!("{text}; please report this");
        Err(Failure::new(Class::Internal, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::Destination;

    #[test]
    fn a_panic_is_a_failure_that_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        std::fs::write(&path, "earlier").unwrap();
        let destination = Destination::open(path.as_os_str(), &[]).unwrap();
        let failure = guarded(|| {
            // A thread that panics does not end the program.
            let worker = std::thread::spawn(|| panic!("elsewhere")).join();
            assert!(worker.is_err());
            destination.write(|output| {
                let written = output.write_all(b"half");
                panic!("here, {written:?}")
            })
        });
        let failure = failure.unwrap_err();
        assert_eq!(failure.class, Class::Internal);
        let text = failure.to_string();
        assert!(
            text.contains("main.rs:") && text.contains("here, Ok(())"),
            "{text}"
        );
        assert!(
            !text.contains("elsewhere") && !text.contains('\n'),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "earlier");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
