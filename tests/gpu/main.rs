//! The HIP plugin end to end without a GPU: the shipped library, loaded by its manifest, over a
//! simulated runtime (`tests/hipsim`) that misbehaves as real ones do.
//!
//! Every case runs in child processes, which are this program again: each has a plugin and a
//! simulator of its own ([`bench`]), a limit of time, and settings that no other case sees. What
//! is right is what the CPU backend computes, bit for bit.
//!
//! With the word `gcnsim` the program runs none of the cases but code objects, instruction by
//! instruction, for `cargo xtask gcnsim` ([`code_objects`]).
//!
//! What must stay true: a child that hangs fails its case; lines that begin with [`FIGURE`] are
//! shown whether a case passes or not. Without the device code of `cargo xtask kernels` there is
//! nothing to test, and every case is reported as ignored.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]
#![allow(
    unsafe_code,
    reason = "frames are placed in the simulated device's memory"
)]

mod absence;
mod bench;
mod cells;
mod code_objects;
mod command;
mod dispatches;
mod failures;
mod packages;
mod releases;
mod rounds;
mod scores;
mod streams;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};
use vmafx_hipsim::install::install;

use packages::Packages;

/// What a line of a child begins with that is to be shown.
const FIGURE: &str = "figure: ";

/// Threads of the simulator's streams come and go; so that what a child holds is what it uses,
/// glibc keeps neither stacks nor heaps for them.
const TUNABLES: &str = "glibc.malloc.arena_max=1:glibc.pthread.stack_cache_size=0";

/// What one case is.
struct Case {
    name: &'static str,
    children: &'static [Child<'static>],
    /// What each child does, with its folder and its argument.
    run: fn(&Path, &str),
}

/// One child process of a case.
struct Child<'a> {
    argument: &'a str,
    /// Version of ROCm that it sees.
    rocm: &'static str,
    /// Longest life.
    seconds: u32,
}

/// From this version on launches are recorded into graphs.
const GRAPHS: &str = "7.2";
/// A version whose graphs are not used.
const NO_GRAPHS: &str = "5.7";

const fn child<'a>(argument: &'a str, rocm: &'static str, seconds: u32) -> Child<'a> {
    Child {
        argument,
        rocm,
        seconds,
    }
}

fn cases() -> Vec<&'static Case> {
    vec![
        &cells::CASE,
        &rounds::CASE,
        &failures::CASE,
        &dispatches::CASE,
        &streams::DEFAULT_STREAM,
        &streams::HELD_BACK,
        &streams::WAITS,
        &releases::CASE,
        &scores::CASE,
        &absence::CASE,
    ]
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["probe", library] => vmafx_api::loader::answer_probe(Path::new(library)),
        ["child", seconds, case, room, argument] => {
            bound_this_process(seconds.parse().unwrap());
            let room = Path::new(room);
            match cases().iter().find(|known| known.name == *case) {
                Some(case) => (case.run)(room, argument),
                None if *case == code_objects::WORD => code_objects::score(room, argument),
                None => bench::tell_of_device_code(room),
            }
            ExitCode::SUCCESS
        }
        [code_objects::WORD, runs @ ..] => code_objects::run(runs),
        _ => run(),
    }
}

fn run() -> ExitCode {
    let arguments = Arguments::from_args();
    let packages = match arguments.list {
        true => None,
        false => Some(Arc::new(Packages::build())),
    };
    let missing = packages
        .as_ref()
        .and_then(|packages| missing_device_code(packages));
    if let Some(reason) = &missing {
        println!("not run: {reason}");
    }
    let trials = cases().into_iter().map(|case| {
        let packages = packages.clone();
        let run = move || run_case(case, packages.as_ref().ok_or("nothing was built")?);
        Trial::test(case.name, run).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Why the plugin has no code for any device, if so.
fn missing_device_code(packages: &Packages) -> Option<String> {
    let said = run_child("device code", &child("", GRAPHS, 60), packages);
    let said = said.unwrap_or_else(|failed| panic!("{}", failed.message().unwrap_or_default()));
    let reason = said.lines().find_map(|line| line.strip_prefix("missing: "));
    reason.map(str::to_owned)
}

/// Runs the children of a case, some of them beside each other.
fn run_case(case: &Case, packages: &Packages) -> Result<(), Failed> {
    let beside = thread::available_parallelism().map_or(1, usize::from);
    for some in case.children.chunks(beside) {
        let said: Vec<_> = thread::scope(|scope| {
            let run = |child| scope.spawn(move || run_child(case.name, child, packages));
            let running: Vec<_> = some.iter().map(run).collect();
            let ended = running.into_iter().map(|child| child.join().unwrap());
            ended.collect()
        });
        for said in said {
            for line in said?.lines() {
                if let Some(figure) = line.strip_prefix(FIGURE) {
                    println!("{}: {figure}", case.name);
                }
            }
        }
    }
    Ok(())
}

/// Runs a child to its end; answers what it printed.
fn run_child(case: &str, child: &Child<'_>, packages: &Packages) -> Result<String, Failed> {
    let Child {
        argument,
        rocm,
        seconds,
    } = child;
    let room = packages.room(&format!("{case}-{argument}-{rocm}"));
    let runtime = install(&room, rocm)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["child", &seconds.to_string(), case])
        .arg(&room)
        .arg(argument)
        .env_clear()
        .env("GLIBC_TUNABLES", TUNABLES)
        .env(bench::RUNTIME, runtime);
    if let Some(folder) = std::env::var_os(bench::KERNELS) {
        command.env(bench::KERNELS, folder);
    }
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    let cried = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = cried.lines().collect();
    let last = lines[lines.len().saturating_sub(60)..].join("\n");
    let status = output.status;
    Err(format!("child `{argument}`, ROCm {rocm}: {status}\n{said}\n{last}").into())
}

/// Ends this process when it hangs; when it crashes, it leaves no dump.
fn bound_this_process(seconds: u32) {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `alarm` sets a timer of this process; `none` lives through the call of `setrlimit`,
    // which changes a limit of it.
    unsafe {
        libc::alarm(seconds);
        assert_eq!(libc::setrlimit(libc::RLIMIT_CORE, &none), 0);
    }
}
