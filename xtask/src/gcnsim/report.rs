//! What is told of runs: lines and findings for people, and the tables of
//! `docs/measurements/amd-targets.md`.
//!
//! What must stay true: whatever is wrong with a run, or with what it left out, is a finding; the
//! tables hold what this program measured or read, and nothing else of the document is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use vmafx_gcnsim::object::Kernel;

use super::choice::Streams;
use super::occupancy::{self, Limit};
use super::{Answer, Idle, Target};
use crate::Failure;

/// The document with the tables.
const DOCUMENT: &str = "docs/measurements/amd-targets.md";
/// What the tables lie between.
const MARKS: [&str; 2] = [
    "<!-- written by cargo xtask gcnsim --all --write -->",
    "<!-- end -->",
];

/// At most one in so many instructions of a kernel may never run: what the compiler cannot know to
/// be needless, and what no frame of a test's size takes. A kernel of which more is left is one
/// that was launched and not tested.
const MOST_IDLE: u64 = 4;

/// What the columns of [`line()`] are.
pub(super) const HEAD: &str = "run                                        kernels dispatches  instructions  M/s   values differing seconds";

/// An answer in a line.
pub(super) fn line(answer: &Answer) -> String {
    let ran = answer.kernels.values().filter(|one| one.dispatches > 0);
    let failed = if answer.failed.is_some() {
        "  FAILED"
    } else {
        ""
    };
    format!(
        "{:<42} {:>7} {:>10} {:>13} {:>4.1} {:>8} {:>9} {:>7.1}{failed}",
        answer.run,
        ran.count(),
        answer.dispatches(),
        answer.instructions(),
        per_second(answer) / 1e6,
        answer.values,
        answer.differing,
        answer.wall_seconds
    )
}

/// Instructions a second of one thread.
fn per_second(answer: &Answer) -> f64 {
    match answer.seconds > 0.0 {
        true => answer.instructions() as f64 / answer.seconds,
        false => 0.0,
    }
}

/// All answers in a line.
pub(super) fn sum(answers: &[Answer], time: Duration) -> String {
    let whole = whole(answers);
    format!("gcnsim: {whole} It took {:.0} s.", time.as_secs_f64())
}

fn whole(answers: &[Answer]) -> String {
    let total = |of: fn(&Answer) -> u64| answers.iter().map(of).sum::<u64>();
    let seconds: f64 = answers.iter().map(|answer| answer.seconds).sum();
    let instructions = total(Answer::instructions);
    let mut targets: Vec<_> = answers.iter().map(Answer::device).collect();
    targets.dedup();
    format!(
        "{} targets, {} runs, {} dispatches, {instructions} instructions of waves, {} frames, {} values, {} differing; {:.1} million instructions a second of a thread.",
        targets.len(),
        answers.len(),
        total(Answer::dispatches),
        total(|answer| answer.frames),
        total(|answer| answer.values),
        total(|answer| answer.differing),
        instructions as f64 / seconds.max(1e-9) / 1e6,
    )
}

/// What is wrong.
pub(super) fn findings(words: &[String], answers: &[Answer], targets: &[Target]) -> Vec<String> {
    let mut findings = Vec::new();
    for word in words {
        let Some(answer) = answers.iter().find(|answer| answer.run == *word) else {
            findings.push(format!("{word}: there is no answer"));
            continue;
        };
        let mut wrong = Vec::new();
        if let Some(why) = &answer.failed {
            wrong.push(why.clone());
        }
        if answer.differing > 0 && answer.failed.is_none() {
            wrong.push(format!("{} values differ", answer.differing));
        }
        if answer.values == 0 && answer.failed.is_none() {
            wrong.push("no value was compared".to_owned());
        }
        let target = targets.iter().find(|one| one.device == answer.device());
        match (&answer.module, target) {
            (Some(module), Some(target)) => {
                if (module.target.as_str(), module.bytes) != (target.name, target.bytes) {
                    wrong.push(format!(
                        "the plugin loaded {} bytes for {}, the object has {} for {}; were the kernels built again? build the plugin, too",
                        module.bytes, module.target, target.bytes, target.name
                    ));
                }
                if answer.failed.is_none() {
                    for kernel in &target.object.kernels {
                        let ran = answer.kernels.get(&kernel.name);
                        let Some(ran) = ran.filter(|ran| ran.dispatches > 0) else {
                            wrong.push(format!("{} was not run", kernel.name));
                            continue;
                        };
                        let Idle { count, of, first } = &ran.idle;
                        if count * MOST_IDLE > *of {
                            wrong.push(format!(
                                "{}: {count} of {of} instructions never ran, the first is {}",
                                kernel.name,
                                first.as_deref().unwrap_or_default()
                            ));
                        }
                    }
                }
            }
            _ if answer.failed.is_none() => wrong.push("the plugin loaded nothing".to_owned()),
            _ => {}
        }
        findings.extend(wrong.into_iter().map(|what| format!("{word}: {what}")));
    }
    findings
}

/// Rewrites the tables.
pub(super) fn write(
    root: &Path,
    targets: &[Target],
    streams: &Streams,
    answers: &[Answer],
) -> Result<(), Failure> {
    let path = root.join(DOCUMENT);
    let with_path = |error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(with_path)?;
    let tables = tables(targets, streams, answers);
    let text = between(&text, &tables).ok_or_else(|| {
        let [begin, end] = MARKS;
        format!("{DOCUMENT}: no `{begin}` before an `{end}`")
    })?;
    std::fs::write(&path, text).map_err(with_path)?;
    println!("gcnsim: wrote {DOCUMENT}");
    Ok(())
}

/// The text with the tables between the marks.
fn between(text: &str, tables: &str) -> Option<String> {
    let [begin, end] = MARKS;
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{tables}\n{end}{after}"))
}

fn tables(targets: &[Target], streams: &Streams, answers: &[Answer]) -> String {
    let first = |names: &[&'static str]| {
        let target = targets.iter().find(|target| target.name == names[0]);
        target.expect("a stream is made of targets")
    };
    let heads: Vec<(Vec<&'static str>, &Target)> = streams
        .names()
        .map(|names| (names.clone(), first(&names)))
        .collect();
    let mut text = format!("{}\n\n### Targets\n\n", whole(answers));
    text += &objects(targets, streams, answers);
    text += "\n### Instructions a pixel\n\n";
    text += &by_kernel(&heads, &[], |target, kernel| {
        let of_target = answers.iter().filter(|one| one.device() == target.device);
        let mut measured = of_target.filter_map(|one| one.per_pixel.get(&kernel.name));
        let lanes = kernel.wave as f64;
        let measured = measured.next();
        measured.map_or("-".to_owned(), |[instructions, pixels]| {
            let lanes = *instructions as f64 * lanes / (*pixels).max(1) as f64;
            match lanes < 10.0 {
                true => format!("{lanes:.2}"),
                false => format!("{lanes:.0}"),
            }
        })
    });
    text += "\n### Registers and LDS\n\n";
    text += &by_kernel(&heads, &[("LDS", |kernel| kernel.lds)], |_, kernel| {
        format!("{} / {}", kernel.vgprs, kernel.sgprs)
    });
    text += "\n### Occupancy\n\n";
    text += &by_kernel(
        &heads,
        &[("threads", |kernel| kernel.threads)],
        |target, kernel| {
            let bound = occupancy::bound(target.name, kernel);
            let by = match bound.by {
                Limit::Waves => "",
                Limit::Registers => " R",
                Limit::Lds => " L",
                Limit::Blocks => " B",
            };
            format!("{}{by}", bound.waves)
        },
    );
    text
}

/// A row for each target.
fn objects(targets: &[Target], streams: &Streams, answers: &[Answer]) -> String {
    let mut text = String::from(
        "| target | instructions as | object, bytes | wave | kernels | runs | dispatches | instructions executed | values | differing |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let heads: BTreeMap<&str, &str> = streams
        .names()
        .flat_map(|names| names.clone().into_iter().map(move |name| (name, names[0])))
        .collect();
    for target in targets {
        let own: Vec<_> = answers
            .iter()
            .filter(|answer| answer.device() == target.device)
            .collect();
        let total = |of: fn(&Answer) -> u64| own.iter().map(|one| of(one)).sum::<u64>();
        let head = heads.get(target.name).copied().unwrap_or_default();
        let wave = target.object.kernels.first().map_or(0, |one| one.wave);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {wave} | {} | {} | {} | {} | {} | {} |",
            target.name,
            if head == target.name { "" } else { head },
            target.bytes,
            target.object.kernels.len(),
            own.len(),
            total(Answer::dispatches),
            total(Answer::instructions),
            total(|answer| answer.values),
            total(|answer| answer.differing),
        );
    }
    text
}

/// What is told of a kernel once for all targets, with its title.
type Common = (&'static str, fn(&Kernel) -> u64);

/// A row for each kernel and a column for each stream.
fn by_kernel(
    heads: &[(Vec<&'static str>, &Target)],
    common: &[Common],
    cell: impl Fn(&Target, &Kernel) -> String,
) -> String {
    let mut text = String::from("| kernel |");
    for (title, _) in common {
        let _ = write!(text, " {title} |");
    }
    for (names, _) in heads {
        let _ = write!(text, " {} |", named(names));
    }
    let columns = 1 + common.len() + heads.len();
    let _ = writeln!(text, "\n|{}", " --- |".repeat(columns));
    let kernels = heads.iter().flat_map(|(_, target)| &target.object.kernels);
    let mut names: Vec<_> = kernels.map(|kernel| kernel.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let _ = write!(text, "| `{name}` |");
        let of = |target: &'_ Target| -> Option<Kernel> {
            let mut kernels = target.object.kernels.iter();
            kernels.find(|kernel| kernel.name == name).cloned()
        };
        for (_, read) in common {
            let values = heads.iter().filter_map(|(_, target)| of(target));
            let values: BTreeSet<u64> = values.map(|kernel| read(&kernel)).collect();
            let values: Vec<_> = values.iter().map(u64::to_string).collect();
            let _ = write!(text, " {} |", values.join(" or "));
        }
        for (_, target) in heads {
            let kernel = of(target);
            let cell = kernel.map_or("-".to_owned(), |kernel| cell(target, &kernel));
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text
}

/// The first name in full, and what the others have of their own.
fn named(names: &[&str]) -> String {
    let mut text = names[0].to_owned();
    for name in &names[1..] {
        text += ", ";
        text += name.trim_start_matches("gfx");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Executed;
    use super::super::choice::tests::targets;
    use super::*;

    fn answer(run: &str) -> Answer {
        let json = serde_json::json!({
            "run": run, "failed": null, "wall_seconds": 2.0, "seconds": 0.5,
            "module": { "target": "gfx942", "bytes": 1 },
            "kernels": { "vx_a": { "dispatches": 2, "instructions": 3_000_000 } },
            "frames": 1, "values": 7, "differing": 0,
            "per_pixel": { "vx_a": [300, 1200] },
        });
        serde_json::from_value(json).unwrap()
    }

    fn objects() -> Vec<Target> {
        let mut targets = targets(&[("gfx942", 1), ("gfx1100", 2), ("gfx1101", 2)]);
        for target in &mut targets {
            target.object.kernels.push(Kernel {
                name: "vx_a".to_owned(),
                wave: 64,
                threads: 64,
                vgprs: 100,
                sgprs: 20,
                ..Kernel::default()
            });
        }
        targets
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let run = "gfx942:xnack-/nearest/alternating";
        let words = [run.to_owned()];
        let found = |change: &dyn Fn(&mut Answer)| {
            let mut answer = answer(run);
            change(&mut answer);
            findings(&words, &[answer], &objects()).join("; ")
        };
        assert_eq!(found(&|_| ()), "");
        assert!(found(&|answer| answer.differing = 1).contains("1 values differ"));
        assert!(found(&|answer| answer.values = 0).contains("no value"));
        assert!(found(&|answer| answer.failed = Some("it fell".to_owned())).contains("it fell"));
        assert!(found(&|answer| answer.module = None).contains("loaded nothing"));
        assert!(found(&|answer| answer.module.as_mut().unwrap().bytes = 9).contains("9 bytes"));
        assert!(found(&|answer| answer.kernels.clear()).contains("vx_a was not run"));
        let idle = |answer: &mut Answer| {
            answer
                .kernels
                .insert("vx_a".to_owned(), Executed::default());
        };
        assert!(found(&idle).contains("vx_a was not run"));
        let mostly_idle = |count| {
            move |answer: &mut Answer| {
                let ran = answer.kernels.get_mut("vx_a").unwrap();
                ran.idle = Idle {
                    count,
                    of: 8,
                    first: Some("0x40 `s_nop 0`".to_owned()),
                };
            }
        };
        assert_eq!(found(&mostly_idle(2)), "");
        let says = "vx_a: 3 of 8 instructions never ran, the first is 0x40 `s_nop 0`";
        assert!(found(&mostly_idle(3)).contains(says));
        let none = findings(&words, &[], &objects());
        assert_eq!(none, [format!("{run}: there is no answer")]);
    }

    #[test]
    fn tables_hold_what_was_measured_and_go_between_the_marks() {
        let targets = objects();
        let answers = [
            answer("gfx942:xnack-/nearest/alternating/measured"),
            answer("gfx942:xnack-/nearest/reverse"),
        ];
        let tables = tables(&targets, &Streams::of(&targets), &answers);
        for row in [
            "1 targets, 2 runs, 4 dispatches, 6000000 instructions of waves, 2 frames, 14 values, 0 differing; 6.0 million",
            "| gfx942 |  | 1 | 64 | 1 | 2 | 4 | 6000000 | 14 | 0 |",
            "| gfx1101 | gfx1100 | 1 | 64 | 1 | 0 | 0 | 0 | 0 | 0 |",
            "| kernel | gfx942 | gfx1100, 1101 |",
            // 300 instructions of 64 lanes over 1200 pixels.
            "| `vx_a` | 16 | - |",
            "| kernel | LDS | gfx942 | gfx1100, 1101 |",
            "| `vx_a` | 0 | 100 / 20 | 100 / 20 |",
            "| `vx_a` | 64 | 4 R | 12 R |",
        ] {
            assert!(tables.contains(row), "{row}\n{tables}");
        }
        let [begin, end] = MARKS;
        let text = between(&format!("a {begin} old {end} b"), "new").unwrap();
        assert_eq!(text, format!("a {begin}\n\nnew\n{end} b"));
        assert_eq!(between(begin, "new"), None);
    }
}
