//! What a run of the guest is worth: its lines and how the emulator ended, judged together.
//!
//! A guest that panics, and one that is switched off, end the emulator with status 0; one that
//! hangs does not end it. So a run is good if and only if the emulator ended with the status that
//! nothing else has, the first program said that nothing failed, and every program began, ended
//! well and said what it should. What must stay true: anything that is missing is a failure.

use std::fmt::Write as _;

use vmafx_guest::{FAILED, PASSED, Said};

/// How the emulator ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a status.
    Status(i32),
    /// By a signal, or in another way.
    Otherwise(String),
    /// Not in so many seconds.
    Limit(u64),
}

/// A program of the plan and what it has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// Its name.
    pub(super) name: String,
    /// How its output is read.
    pub(super) output: Output,
}

/// How a program's output is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// As that of Rust's test programs. With a filter a program may have nothing to do, if
    /// another has.
    Tests {
        /// Whether a filter is set.
        filtered: bool,
    },
    /// It is this, line for line.
    Exactly(Vec<String>),
}

/// What a good run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The kernel's release.
    pub(super) kernel: String,
    /// Of each program, its name and how many tests passed, or how many lines were right.
    pub(super) programs: Vec<(String, u64)>,
}

/// Judges a run by its lines and its end.
///
/// # Errors
/// Everything that is wrong, one to a line.
pub(super) fn judge(
    lines: &[String],
    ended: &Ended,
    expected: &[Expected],
) -> Result<Summary, String> {
    let mut wrong = Vec::new();
    let heard = Heard::new(lines, &mut wrong);
    match ended {
        Ended::Status(PASSED) => {}
        Ended::Status(FAILED) => wrong.push("the guest says that something failed".to_owned()),
        Ended::Status(0) => wrong.push(
            "the guest panicked or was switched off: the emulator ended with status 0, which \
             is not how a run ends"
                .to_owned(),
        ),
        Ended::Status(status) => wrong.push(format!("the emulator ended with status {status}")),
        Ended::Otherwise(text) => wrong.push(format!("the emulator ended: {text}")),
        Ended::Limit(seconds) => {
            wrong.push(format!(
                "the guest had not ended after {seconds} s, the limit"
            ));
        }
    }
    match heard.over {
        Some(0) => {}
        Some(code) => wrong.push(format!("the guest's own sum of it is rc={code}")),
        None => wrong.push("the guest has not come to its last line".to_owned()),
    }
    if heard.kernel.is_empty() {
        wrong.push("the guest has not said which kernel it is".to_owned());
    }
    let mut summary = Summary {
        kernel: heard.kernel,
        programs: Vec::new(),
    };
    for one in expected {
        let mut sections = heard.sections.iter().filter(|s| s.name == one.name);
        let (Some(section), None) = (sections.next(), sections.next()) else {
            wrong.push(format!("{} was not run once", one.name));
            continue;
        };
        match section.status.as_deref() {
            Some("exit status: 0") => {}
            Some(status) => wrong.push(format!("{}: {status}", one.name)),
            None => wrong.push(format!("{} has not ended", one.name)),
        }
        match said(&section.lines, &one.output) {
            Ok(count) => summary.programs.push((one.name.clone(), count)),
            Err(text) => wrong.push(format!("{}: {text}", one.name)),
        }
    }
    for section in &heard.sections {
        if expected.iter().all(|one| one.name != section.name) {
            wrong.push(format!("{} is not of the plan", section.name));
        }
    }
    if wrong.is_empty() && summary.programs.iter().all(|(_, count)| *count == 0) {
        wrong.push("no test was run".to_owned());
    }
    match wrong.is_empty() {
        true => Ok(summary),
        false => Err(wrong.join("\n")),
    }
}

/// The lines, taken apart.
#[derive(Default)]
struct Heard<'a> {
    kernel: String,
    over: Option<i32>,
    sections: Vec<Section<'a>>,
}

struct Section<'a> {
    name: String,
    lines: Vec<&'a str>,
    status: Option<String>,
}

impl<'a> Heard<'a> {
    fn new(lines: &'a [String], wrong: &mut Vec<String>) -> Self {
        let mut heard = Self::default();
        for line in lines {
            let (text, said) = match Said::parse(line) {
                Ok((before, said)) => (before, Some(said)),
                Err(line) => (line, None),
            };
            let open = heard.sections.last_mut().filter(|s| s.status.is_none());
            if let (Some(section), false) = (open, text.is_empty() && said.is_some()) {
                section.lines.push(text);
            }
            match said {
                None => {}
                Some(Said::Kernel(release)) => heard.kernel = release,
                Some(Said::Begin(name)) => heard.sections.push(Section {
                    name,
                    lines: Vec::new(),
                    status: None,
                }),
                Some(Said::End(name, status)) => {
                    let open = heard.sections.last_mut().filter(|s| s.name == name);
                    match open.filter(|section| section.status.is_none()) {
                        Some(section) => section.status = Some(status),
                        None => wrong.push(format!("{name} ended and had not begun")),
                    }
                }
                Some(Said::Fault(text)) => wrong.push(text),
                Some(Said::Over(code)) => heard.over = Some(code),
            }
        }
        heard
    }
}

/// The number of tests that passed or lines that are right.
fn said(lines: &[&str], output: &Output) -> Result<u64, String> {
    match output {
        Output::Tests { filtered } => {
            let result = |line: &&str| line.strip_prefix("test result: ").map(str::to_owned);
            let results: Vec<_> = lines.iter().filter_map(result).collect();
            let [result] = results.as_slice() else {
                return Err(format!("{} results of tests, not one", results.len()));
            };
            let passed = result
                .strip_prefix("ok. ")
                .and_then(|rest| rest.split_once(" passed; 0 failed; 0 ignored;"))
                .and_then(|(count, _)| count.parse().ok())
                .ok_or_else(|| format!("tests failed or were left out: {result}"))?;
            match passed == 0 && !filtered {
                true => Err("no test was run".to_owned()),
                false => Ok(passed),
            }
        }
        Output::Exactly(wanted) => {
            if wanted.is_empty() {
                return Err("nothing to compare with".to_owned());
            }
            if lines != wanted {
                let mut text = "its output is another:".to_owned();
                let _ = write!(text, "\n  wanted {wanted:?}\n  got    {lines:?}");
                return Err(text);
            }
            Ok(wanted.len() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
KERNEL-TESTS kernel 6.12.95+deb12-amd64
KERNEL-TESTS begin fences

running 2 tests
test merge ... ok
test wait ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s

KERNEL-TESTS end fences: exit status: 0
KERNEL-TESTS begin score
vmaf: 99.5
KERNEL-TESTS end score: exit status: 0
KERNEL-TESTS over rc=0";

    fn expected(filtered: bool) -> [Expected; 2] {
        let one = |name: &str, output| Expected {
            name: name.to_owned(),
            output,
        };
        [
            one("fences", Output::Tests { filtered }),
            one("score", Output::Exactly(vec!["vmaf: 99.5".to_owned()])),
        ]
    }

    fn run(text: &str, ended: &Ended) -> Result<Summary, String> {
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        judge(&lines, ended, &expected(false))
    }

    fn red(text: &str, ended: &Ended, why: &str) {
        let error = run(text, ended).unwrap_err();
        assert!(error.lines().any(|line| line.contains(why)), "{error}");
    }

    #[test]
    fn a_good_run_is_summed_up() {
        let summary = run(GOOD, &Ended::Status(PASSED)).unwrap();
        assert_eq!(summary.kernel, "6.12.95+deb12-amd64");
        let programs = [("fences".to_owned(), 2), ("score".to_owned(), 1)];
        assert_eq!(summary.programs, programs);
    }

    #[test]
    fn every_other_end_of_the_emulator_is_red() {
        red(GOOD, &Ended::Status(0), "panicked or was switched off");
        red(GOOD, &Ended::Status(FAILED), "something failed");
        red(GOOD, &Ended::Status(1), "ended with status 1");
        let signal = Ended::Otherwise("signal: 9 (SIGKILL)".to_owned());
        red(GOOD, &signal, "SIGKILL");
        red(GOOD, &Ended::Limit(300), "after 300 s");
    }

    #[test]
    fn a_line_that_is_missing_or_bad_is_red() {
        let passed = Ended::Status(PASSED);
        for (from, to, why) in [
            ("KERNEL-TESTS over rc=0", "", "last line"),
            ("over rc=0", "over rc=1", "rc=1"),
            ("KERNEL-TESTS kernel", "", "which kernel"),
            ("begin fences", "", "fences ended and had not begun"),
            ("begin fences", "", "fences was not run once"),
            (
                "KERNEL-TESTS end fences: exit status: 0\n",
                "",
                "fences has not ended",
            ),
            (
                "fences: exit status: 0",
                "fences: signal: 6 (SIGABRT)",
                "SIGABRT",
            ),
            (
                "score: exit status: 0",
                "score: cannot be run: x",
                "cannot be run",
            ),
            ("ok. 2 passed", "ok. 0 passed", "fences: no test was run"),
            ("2 passed; 0 failed", "1 passed; 1 failed", "left out"),
            ("0 ignored", "1 ignored", "left out"),
            ("test result: ok", "test result: FAILED", "FAILED"),
            ("test result", "result", "0 results of tests"),
            (
                "\n\nKERNEL-TESTS end",
                "\ntest result: ok. 2\nKERNEL-TESTS end",
                "2 results",
            ),
            ("99.5\n", "99.4\n", "got    [\"vmaf: 99.4\"]"),
            ("vmaf: 99.5\n", "", "got    []"),
            (
                "over rc",
                "fault fences left 1 dma-bufs\nKERNEL-TESTS over rc",
                "left 1 dma-bufs",
            ),
            ("begin score", "begin other", "other is not of the plan"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            red(&GOOD.replacen(from, to, 1), &passed, why);
        }
        red("", &passed, "fences was not run once");
        red(
            &GOOD.replace("score", "fences"),
            &passed,
            "score was not run once",
        );
    }

    #[test]
    fn a_program_that_dies_within_a_line_has_still_ended() {
        let text = GOOD.replace(
            "test wait ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; \
             0 filtered out; finished in 0.50s\n\nKERNEL-TESTS end fences: exit status: 0",
            "test wait ... KERNEL-TESTS end fences: signal: 11 (SIGSEGV)",
        );
        assert_ne!(text, GOOD);
        red(
            &text,
            &Ended::Status(FAILED),
            "fences: signal: 11 (SIGSEGV)",
        );
        red(&text, &Ended::Status(FAILED), "0 results of tests");
    }

    #[test]
    fn with_a_filter_one_test_has_to_run_somewhere() {
        let none = GOOD.replace("ok. 2 passed", "ok. 0 passed");
        let lines: Vec<_> = none.lines().map(str::to_owned).collect();
        let passed = Ended::Status(PASSED);
        assert!(judge(&lines, &passed, &expected(true)).is_ok());
        let alone = &expected(true)[..1];
        let lines = &lines[..lines.len() - 4];
        let over = [lines, &["KERNEL-TESTS over rc=0".to_owned()]].concat();
        let error = judge(&over, &passed, alone).unwrap_err();
        assert_eq!(error, "no test was run");
    }
}
