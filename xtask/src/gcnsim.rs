//! `cargo xtask gcnsim`: every kernel of the code objects that ship, executed without the card
//! through the HIP plugin, and compared with the scalar reference.
//!
//! The runs themselves are children of the test program `gpu` (`tests/gpu/code_objects.rs`); here
//! is which targets they are for, and what is told of them. What must stay true: a value that
//! differs, a fault, and a kernel that was not run each fail the task; a target that was left out
//! is never reported as run.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Deserialize;
use vmafx_gcnsim::object::CodeObject;
use vmafx_tests::data::workspace_root;

use crate::{Failure, kernels, program};

mod choice;
mod occupancy;
mod report;

use choice::{Commit, Streams};

/// What to run.
pub(crate) struct Settings {
    /// Targets by name.
    pub(crate) targets: Vec<String>,
    /// All of them.
    pub(crate) all: bool,
    /// So many, of as many instruction streams.
    pub(crate) sample: usize,
    /// Every variant on every target.
    pub(crate) variants: bool,
    /// Rewrite the tables in `docs/measurements/amd-targets.md`.
    pub(crate) write: bool,
}

impl Settings {
    /// So many targets, each exactly and in one more variant.
    pub(crate) fn sample(count: usize) -> Self {
        Self {
            targets: Vec::new(),
            all: false,
            sample: count,
            variants: false,
            write: false,
        }
    }
}

/// How hardware differs that has leave to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// Estimates to the nearest number, waves from either end by turns.
    Exact,
    /// Estimates off by up to one unit in the last place.
    Ulp,
    /// Estimates off by up to what is documented.
    Documented,
    /// Waves in a random order.
    Shuffled,
    /// Blocks and waves from the last to the first.
    Reverse,
}

impl Variant {
    /// All but the exact one.
    const OTHERS: [Self; 4] = [Self::Ulp, Self::Documented, Self::Shuffled, Self::Reverse];

    /// The simulator's settings `estimates` and `order`.
    fn settings(self, seed: u64) -> String {
        match self {
            Self::Exact => "nearest/alternating".to_owned(),
            Self::Ulp => format!("ulp:{seed}/alternating"),
            Self::Documented => format!("documented:{seed}/alternating"),
            Self::Shuffled => format!("nearest/shuffled:{seed}"),
            Self::Reverse => "nearest/reverse".to_owned(),
        }
    }
}

/// Features of a device beside its processor, in the names that runtimes give: those whose memory
/// may be corrected and whose page faults may be replayed are told with the setting.
const FEATURES: [(&str, &str); 8] = [
    ("gfx906", ":sramecc+:xnack-"),
    ("gfx908", ":sramecc+:xnack-"),
    ("gfx90a", ":sramecc+:xnack-"),
    ("gfx942", ":sramecc+:xnack-"),
    ("gfx950", ":sramecc+:xnack-"),
    ("gfx1010", ":xnack-"),
    ("gfx1011", ":xnack-"),
    ("gfx1012", ":xnack-"),
];

/// Processors of families that have no object of their own, so that the plugin takes the family's.
const COVERED: [(&str, &str); 2] = [("gfx9-generic", "gfx906"), ("gfx10-1-generic", "gfx1013")];

/// The code object of a target.
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: &'static str,
    /// The processor that it is executed as.
    device: &'static str,
    /// Bytes of the file.
    pub(crate) bytes: usize,
    /// The instructions of all kernels.
    text: Vec<u8>,
    /// What it says of itself.
    pub(crate) object: CodeObject,
}

/// What a child answers for a run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Answer {
    run: String,
    failed: Option<String>,
    wall_seconds: f64,
    #[serde(default)]
    module: Option<Module>,
    /// By kernel; those of the module that never ran are there too.
    #[serde(default)]
    kernels: BTreeMap<String, Executed>,
    /// Spent executing, by all threads together.
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    frames: u64,
    #[serde(default)]
    pub(crate) values: u64,
    #[serde(default)]
    pub(crate) differing: u64,
    /// Instructions and pixels by kernel, where they were measured.
    #[serde(default)]
    pub(crate) per_pixel: BTreeMap<String, [u64; 2]>,
}

/// The module that the plugin loaded.
#[derive(Clone, Debug, Deserialize)]
struct Module {
    target: String,
    bytes: usize,
}

/// What a kernel executed.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Executed {
    pub(crate) dispatches: u64,
    pub(crate) instructions: u64,
    #[serde(default)]
    pub(crate) idle: Idle,
}

/// Instructions of a kernel that no wave came to.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Idle {
    /// How many.
    #[serde(rename = "idle")]
    pub(crate) count: u64,
    /// How many there are.
    pub(crate) of: u64,
    /// The first of them: address and text.
    pub(crate) first: Option<String>,
}

/// Runs, prints a table, and fails if anything is wrong.
///
/// # Errors
/// No device code, a target that does not exist, a build that fails, whatever is wrong with a run.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    if settings.write && !(settings.all && settings.targets.is_empty()) {
        return Err("gcnsim: tables are written of all targets: --all --write".into());
    }
    let begin = Instant::now();
    let targets = read(&program::kernels())?;
    let streams = Streams::of(&targets);
    let commit = Commit::current(workspace_root());
    println!(
        "gcnsim: {} targets, {} instruction streams; {}",
        targets.len(),
        streams.count(),
        commit.told()
    );
    let chosen = chosen(settings, &targets, &streams, &commit)?;
    let words = words(settings, &chosen, &streams, &commit);
    let names: Vec<_> = chosen.iter().map(|target| target.name).collect();
    println!("gcnsim: {}", names.join(", "));
    let answers = execute(&words)?;
    let wrong = report::findings(&words, &answers, &targets);
    println!("{}", report::sum(&answers, begin.elapsed()));
    for finding in &wrong {
        eprintln!("{finding}");
    }
    if !wrong.is_empty() {
        return Err(format!("gcnsim: {} findings", wrong.len()).into());
    }
    if settings.write {
        report::write(workspace_root(), &targets, &streams, &answers)?;
    }
    Ok(())
}

/// The objects of all processors, and those of families whose instructions no processor's object
/// holds.
fn read(folder: &Path) -> Result<Vec<Target>, Failure> {
    let mut targets: Vec<Target> = Vec::new();
    for name in kernels::of_amd() {
        let path = folder.join(format!("{name}.hsaco"));
        let bytes = std::fs::read(&path).map_err(|error| {
            let path = path.display();
            format!("{path}: {error}; run `cargo xtask kernels`, which compiles the device code")
        })?;
        let with_name = |reason| format!("{}: {reason}", path.display());
        let text = choice::text(&bytes).map_err(with_name)?;
        let mut device = name;
        if name.ends_with("-generic") {
            if let Some(same) = targets.iter().find(|target| target.text == text) {
                println!("gcnsim: {name} has the instructions of {}", same.name);
                continue;
            }
            let covered = COVERED.iter().find(|(family, _)| *family == name);
            let none = "its instructions are no processor's own, and which it covers is not known";
            device = covered.ok_or_else(|| with_name(none.to_owned()))?.1;
        }
        targets.push(Target {
            name,
            device,
            bytes: bytes.len(),
            text,
            object: CodeObject::read(&bytes).map_err(with_name)?,
        });
    }
    Ok(targets)
}

fn chosen<'a>(
    settings: &Settings,
    targets: &'a [Target],
    streams: &Streams,
    commit: &Commit,
) -> Result<Vec<&'a Target>, Failure> {
    if settings.all {
        return Ok(targets.iter().collect());
    }
    if settings.targets.is_empty() {
        let sample = streams.sample(settings.sample, commit);
        return Ok(sample.into_iter().map(|at| &targets[at]).collect());
    }
    let mut chosen = Vec::new();
    for name in &settings.targets {
        let target = targets.iter().find(|target| target.name == name);
        chosen.push(target.ok_or_else(|| {
            let known: Vec<_> = targets.iter().map(|target| target.name).collect();
            format!(
                "there is no target `{name}`; there are {}",
                known.join(", ")
            )
        })?);
    }
    Ok(chosen)
}

/// The word of each run. Each target runs exactly, and in one more variant, which another commit
/// changes, or in all of them.
fn words(
    settings: &Settings,
    chosen: &[&Target],
    streams: &Streams,
    commit: &Commit,
) -> Vec<String> {
    let seed = commit.number() % 1_000_000;
    let mut words = Vec::new();
    for (at, target) in chosen.iter().enumerate() {
        let features = FEATURES.iter().find(|(name, _)| *name == target.device);
        let features = features.map_or("", |(_, features)| features);
        let word = |variant: Variant| {
            let settings = variant.settings(seed);
            format!("{}{features}/{settings}", target.device)
        };
        let mut exact = word(Variant::Exact);
        if settings.write && streams.is_first(target.name) {
            exact.push_str("/measured");
        }
        words.push(exact);
        match settings.variants {
            true => words.extend(Variant::OTHERS.map(word)),
            false => {
                let turn = (commit.number() as usize).wrapping_add(at) % Variant::OTHERS.len();
                words.push(word(Variant::OTHERS[turn]));
            }
        }
    }
    words
}

/// Starts the test program and prints a line for each answer as it comes.
fn execute(words: &[String]) -> Result<Vec<Answer>, Failure> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--quiet", "--locked", "--package", "vmafx-tests"])
        .args(["--test", "gpu", "--", "gcnsim"])
        .args(words)
        .current_dir(workspace_root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("gcnsim: cargo has no output")?;
    println!("{}", report::HEAD);
    let mut answers = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line?;
        match line.strip_prefix("code object: ") {
            Some(json) => {
                let answer: Answer = serde_json::from_str(json)?;
                println!("{}", report::line(&answer));
                answers.push(answer);
            }
            None => println!("{line}"),
        }
    }
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("gcnsim: {command:?} failed ({status})").into());
    }
    let place = |answer: &Answer| words.iter().position(|word| *word == answer.run);
    answers.sort_by_key(place);
    Ok(answers)
}

impl Answer {
    /// Name of the processor.
    pub(crate) fn device(&self) -> &str {
        let device = self.run.split('/').next().unwrap_or_default();
        device.split(':').next().unwrap_or_default()
    }

    pub(crate) fn dispatches(&self) -> u64 {
        self.kernels.values().map(|one| one.dispatches).sum()
    }

    pub(crate) fn instructions(&self) -> u64 {
        self.kernels.values().map(|one| one.instructions).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variants: bool, write: bool) -> Settings {
        Settings {
            targets: Vec::new(),
            all: true,
            sample: 3,
            variants,
            write,
        }
    }

    #[test]
    fn each_target_runs_exactly_and_in_another_variant_or_in_all() {
        let targets = choice::tests::targets(&[("gfx942", 1), ("gfx1100", 2), ("gfx1101", 2)]);
        let streams = Streams::of(&targets);
        let commit = Commit::of(Some("0000000000000005ffff".to_owned()));
        let chosen: Vec<_> = targets.iter().collect();
        let runs = words(&settings(false, true), &chosen, &streams, &commit);
        assert_eq!(
            runs,
            [
                "gfx942:sramecc+:xnack-/nearest/alternating/measured",
                "gfx942:sramecc+:xnack-/documented:5/alternating",
                "gfx1100/nearest/alternating/measured",
                "gfx1100/nearest/shuffled:5",
                "gfx1101/nearest/alternating",
                "gfx1101/nearest/reverse",
            ]
        );
        let runs = words(&settings(true, false), &chosen[2..], &streams, &commit);
        assert_eq!(
            runs,
            [
                "gfx1101/nearest/alternating",
                "gfx1101/ulp:5/alternating",
                "gfx1101/documented:5/alternating",
                "gfx1101/nearest/shuffled:5",
                "gfx1101/nearest/reverse",
            ]
        );
    }
}
