//! The plugin boundary from both sides: plugins in C, C++ and Rust that keep the rules, and
//! plugins that break one each.
//!
//! Every case runs in a child process of its own, which is this program again: a plugin that
//! crashes, hangs or leaves something behind in its process does so there, and a machine that is
//! faked for one case is not seen by another. What a case needs is built before, once
//! ([`workshop`]). The sources of the plugins are in `tests/plugins`.
//!
//! What must stay true: a child that does not end as its case says fails the case, whatever it
//! printed; the figures at the end are of what was checked in this run.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]
#![allow(unsafe_code)]

mod answers;
mod calls;
mod elevated;
mod files;
mod guards;
mod imports;
mod manifests;
mod processes;
mod revisions;
mod rig;
mod scores;
mod workshop;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};

use workshop::Workshop;

/// Names the file in which every process of this program leaves a line.
const PROCESSES: &str = "VMAFX_TEST_PROCESSES";
/// Longest life of a child.
const CHILD_SECONDS: u32 = 60;

/// What one case is.
struct Case {
    name: &'static str,
    /// Builds what the children need, in an empty folder, and says which children there are.
    set_up: fn(&Workshop, &Path) -> Vec<Child>,
    /// What each does, with the folder and its argument.
    child: fn(&Path, &str),
}

/// One child process of a case.
struct Child {
    argument: String,
    environment: Vec<(&'static str, String)>,
    ends: Ends,
}

/// How a child ends.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Well,
    BySignal(i32),
    /// By a signal or a status that is not that of a panic here: who stops an exception that
    /// nobody stops is the compiler's business.
    Badly,
}

impl Ends {
    fn fits(self, status: ExitStatus) -> bool {
        match self {
            Ends::Well => status.success(),
            Ends::BySignal(signal) => status.signal() == Some(signal),
            Ends::Badly => !status.success() && status.code() != Some(PANICKED),
        }
    }
}

/// Status of a process whose main function panics.
const PANICKED: i32 = 101;

impl Child {
    fn new(argument: impl Into<String>) -> Self {
        Child {
            argument: argument.into(),
            environment: Vec::new(),
            ends: Ends::Well,
        }
    }

    fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((variable, value.into()));
        self
    }

    fn that_ends(mut self, ends: Ends) -> Self {
        self.ends = ends;
        self
    }
}

/// The child that has no argument.
fn one() -> Vec<Child> {
    vec![Child::new("")]
}

fn cases() -> Vec<&'static Case> {
    [
        answers::CASES,
        calls::CASES,
        elevated::CASES,
        files::CASES,
        guards::CASES,
        imports::CASES,
        manifests::CASES,
        processes::CASES,
        revisions::CASES,
        scores::CASES,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the children say was checked: the words of [`checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Checked {
    /// A bad plugin that was contained.
    Contained,
    /// A panic or an exception that a guard stopped.
    Guarded,
    /// A plugin built against the header of a release.
    OldHeader,
    /// A plugin built against a header that is not there yet.
    NewHeader,
    /// A sound plugin that gave the right scores.
    Scored,
}

const WORDS: [(Checked, &str); 5] = [
    (Checked::Contained, "contained"),
    (Checked::Guarded, "guarded"),
    (Checked::OldHeader, "old header"),
    (Checked::NewHeader, "new header"),
    (Checked::Scored, "scored"),
];

/// In a child: tells that `subject` was checked.
fn checked(what: Checked, subject: &str) {
    let word = WORDS.iter().find(|(known, _)| *known == what).unwrap().1;
    println!("checked: {word}: {subject}");
}

/// What was checked so far.
type Tally = Arc<Mutex<BTreeSet<(Checked, String)>>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["probe", library] => {
            sign_in();
            vmafx_api::loader::answer_probe(Path::new(library))
        }
        ["child", case, room, argument] => {
            sign_in();
            bound_this_process();
            let cases = cases();
            let case = cases.iter().find(|known| known.name == *case).unwrap();
            (case.child)(Path::new(room), argument);
            ExitCode::SUCCESS
        }
        _ => run(),
    }
}

fn run() -> ExitCode {
    let workshop = Arc::new(Workshop::open());
    let tally = Tally::default();
    let trials = cases().into_iter().map(|case| {
        let (workshop, tally) = (workshop.clone(), tally.clone());
        Trial::test(case.name, move || run_case(case, &workshop, &tally))
    });
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    let tally = tally.lock().unwrap();
    let count = |what| tally.iter().filter(|(kind, _)| *kind == what).count();
    let processes = fs::read_to_string(workshop.processes()).unwrap_or_default();
    let figures = [
        ("bad plugins contained", count(Checked::Contained), 155),
        ("panics and exceptions stopped", count(Checked::Guarded), 85),
        ("child processes", processes.lines().count(), 290),
        (
            "old-header plugins loaded",
            count(Checked::OldHeader),
            workshop::C.len() * revisions::frozen().len(),
        ),
        ("newer-header plugins loaded", count(Checked::NewHeader), 3),
        ("sound plugins scored", count(Checked::Scored), 12),
    ];
    let mut enough = true;
    for (what, count, least) in figures {
        println!("{what}: {count}");
        // Some of the cases give some of the figures.
        if conclusion.num_filtered_out == 0 && conclusion.num_passed > 0 && count < least {
            println!("that is fewer than {least}: a case does not check what it did");
            enough = false;
        }
    }
    match enough {
        true => conclusion.exit_code(),
        false => ExitCode::FAILURE,
    }
}

fn run_case(case: &Case, workshop: &Workshop, tally: &Tally) -> Result<(), Failed> {
    let room = workshop.room(case.name).canonicalize().unwrap();
    for child in (case.set_up)(workshop, &room) {
        let output = Command::new(this_program())
            .args(["child", case.name])
            .arg(&room)
            .arg(&child.argument)
            .env_clear()
            .env(PROCESSES, workshop.processes())
            .envs(child.environment.iter().map(|(name, value)| (name, value)))
            .output()?;
        let (said, cried) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        if !child.ends.fits(output.status) {
            let (argument, status, ends) = (&child.argument, output.status, child.ends);
            return Err(
                format!("child `{argument}`: {status}, not {ends:?}\n{said}\n{cried}").into(),
            );
        }
        let mut tally = tally.lock().unwrap();
        if !matches!(child.ends, Ends::Well) {
            let subject = format!("{} {}", case.name, child.argument);
            tally.insert((Checked::Contained, subject));
        }
        for line in said.lines() {
            let checked = line
                .strip_prefix("checked: ")
                .and_then(|line| line.split_once(": "));
            if let Some((word, subject)) = checked {
                let (what, _) = WORDS.iter().find(|(_, known)| *known == word).unwrap();
                tally.insert((*what, subject.to_owned()));
            }
        }
    }
    Ok(())
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Leaves the line of this process.
fn sign_in() {
    if let Some(path) = std::env::var_os(PROCESSES) {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        writeln!(file, "{}", std::process::id()).unwrap();
    }
}

/// Ends this process when it hangs; when it crashes, it leaves no dump.
fn bound_this_process() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `alarm` sets a timer of this process; `none` lives through the call of `setrlimit`,
    // which changes a limit of it.
    unsafe {
        libc::alarm(CHILD_SECONDS);
        assert_eq!(libc::setrlimit(libc::RLIMIT_CORE, &none), 0);
    }
}
