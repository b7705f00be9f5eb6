//! `cargo xtask bench`: frames per second of the release program, alone or beside another
//! `vmaf` program that takes the same options.
//!
//! Whole processes are timed, the two programs in turn, so that a machine whose speed drifts
//! changes both; the ratio is taken pair by pair. Absolute figures of a shared machine mean
//! little.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use vmafx_api::HostFrame;
use vmafx_media::{SourceSpec, Y4mWriter, open};

use crate::{Failure, program};

/// What is timed: a name, a clip of the golden table, frames.
const CASES: [(&str, &str, u64); 2] = [
    ("1080p 8-bit", "tex1080_8_codec", 10),
    ("2160p 10-bit", "tex2160_10_codec", 3),
];

/// Times the release build of `vmafx`, and `peer` if given, `rounds` times each.
///
/// # Errors
/// A build or program that fails, clips that cannot be written.
pub(crate) fn run(peer: Option<&Path>, rounds: usize, threads: usize) -> Result<(), Failure> {
    let ours = program::release()?;
    let folder = program::target().join("bench");
    std::fs::create_dir_all(&folder)?;
    println!("{rounds} rounds, {threads} threads; median [minimum to maximum]");
    for (title, clip, frames) in CASES {
        let mut paths = Vec::new();
        for side in ["ref", "dis"] {
            let path = folder.join(format!("{clip}_{side}.y4m"));
            write_y4m(&format!("synth:{clip}/{side}"), &path)?;
            paths.push(path);
        }
        let [reference, distorted] = [&paths[0], &paths[1]];
        let time = |program: &Path, first: &[&str], threads: usize| -> Result<f64, Failure> {
            let start = Instant::now();
            let status = Command::new(program)
                .args(first)
                .arg("-r")
                .arg(reference)
                .arg("-d")
                .arg(distorted)
                .args([
                    "--threads",
                    &threads.to_string(),
                    "--json",
                    "-q",
                    "-o",
                    "/dev/null",
                ])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .map_err(|error| format!("bench: cannot run {}: {error}", program.display()))?;
            if !status.success() {
                return Err(format!("bench: {} failed ({status})", program.display()).into());
            }
            Ok(start.elapsed().as_secs_f64())
        };
        let mut own = Vec::new();
        let mut scalar = Vec::new();
        let mut vector = Vec::new();
        for _ in 0..rounds {
            own.push(time(&ours, &["score"], threads)?);
            if let Some(peer) = peer {
                // The peer counts helpers beside its main thread; 0 is one thread in all.
                let helpers = if threads == 1 { 0 } else { threads };
                scalar.push(time(peer, &["--cpumask", "-1"], helpers)?);
                vector.push(time(peer, &[], helpers)?);
            }
        }
        let rate = |times: &[f64]| Spread::of(times.iter().map(|t| frames as f64 / t));
        println!("{title}, {frames} frames");
        println!("  vmafx                {} frames/s", rate(&own));
        for (name, times) in [
            ("peer, scalar code", &scalar),
            ("peer, vector code", &vector),
        ] {
            if times.is_empty() {
                continue;
            }
            let ratio = Spread::of(times.iter().zip(&own).map(|(peer, own)| peer / own));
            println!("  {name:20} {} frames/s; vmafx/peer {ratio}", rate(times));
        }
    }
    Ok(())
}

/// Median and extremes.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        Spread {
            low: sorted[0],
            median,
            high: sorted[sorted.len() - 1],
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.2} [{:.2} to {:.2}]",
            self.median, self.low, self.high
        )
    }
}

/// Writes a source as a y4m file, unless it is there already.
fn write_y4m(source: &str, path: &Path) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let mut source = open(&SourceSpec::new(source))?;
    let partial = path.with_extension("partial");
    let name = partial.display().to_string();
    let file = File::create(&partial)?;
    let mut writer = Y4mWriter::new(name, file, source.format(), Some((25, 1)))?;
    let mut frame = HostFrame::new(source.format());
    while source.read(&mut frame)? {
        writer.write(&frame.view())?;
    }
    writer.finish()?;
    std::fs::rename(&partial, path)?;
    Ok(())
}
