//! `cargo xtask bench`: the speed of the release program, alone, beside another `vmaf` program
//! that takes the same options, or with several threads beside one.
//!
//! Whole processes are timed, the programs in turn, so that a machine whose speed drifts changes
//! both; ratios are taken pair by pair. Programs of one thread are compared by the time of
//! processors that they use, which other work on the machine changes little; threads by the time
//! that passes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use vmafx_api::HostFrame;
use vmafx_media::{SourceSpec, Y4mWriter, open};

use crate::{Failure, program};

/// What is timed: a name, a clip of the golden table, how many of its frames. So many that the
/// start of a program counts little.
const CASES: [(&str, &str, u64); 2] = [
    ("1080p 8-bit", "tex1080_8_codec", 96),
    ("2160p 10-bit", "tex2160_10_codec", 24),
];

/// What is asked of the benchmark.
pub(crate) struct Settings<'a> {
    /// A program to compare with.
    pub(crate) peer: Option<&'a Path>,
    /// Whether the peer's scalar code is timed, too.
    pub(crate) scalar: bool,
    /// Whether both programs are kept from AVX-512.
    pub(crate) avx2: bool,
    pub(crate) rounds: usize,
    /// Threads to compare with one.
    pub(crate) threads: Option<usize>,
}

/// Times the release build of `vmafx`.
///
/// # Errors
/// A build or program that fails, clips that cannot be written.
pub(crate) fn run(settings: &Settings<'_>) -> Result<(), Failure> {
    let ours = program::release()?;
    println!(
        "{} rounds; median [minimum to maximum]; {}",
        settings.rounds,
        if settings.avx2 {
            "AVX2 only"
        } else {
            "every instruction set"
        },
    );
    for (title, clip, frames) in CASES {
        // Several threads make more room for frames once, which short clips would show.
        let frames = frames * if settings.threads.is_some() { 2 } else { 1 };
        println!("{title}, {frames} frames");
        let clip = Clip::new(clip, frames)?;
        match settings.threads {
            Some(threads) => clip.scale(&ours, settings, threads)?,
            None => clip.compare(&ours, settings)?,
        }
    }
    Ok(())
}

/// The two files of a case.
pub(crate) struct Clip {
    reference: PathBuf,
    distorted: PathBuf,
    frames: u64,
}

/// What a run took.
struct Cost {
    /// Seconds that passed.
    wall: f64,
    /// Seconds that processors worked for it.
    cpu: f64,
}

impl Clip {
    /// The first `frames` frames of a clip of the golden table, written to files once.
    pub(crate) fn new(name: &str, frames: u64) -> Result<Self, Failure> {
        let folder = program::target().join("bench");
        std::fs::create_dir_all(&folder)?;
        let written = |side: &str| -> Result<PathBuf, Failure> {
            let path = folder.join(format!("{name}_{frames}_{side}.y4m"));
            write_y4m(&format!("synth:{name}/{side},frames={frames}"), &path)?;
            Ok(path)
        };
        Ok(Clip {
            reference: written("ref")?,
            distorted: written("dis")?,
            frames,
        })
    }

    /// `vmafx` with one thread beside the peer.
    fn compare(&self, ours: &Path, settings: &Settings<'_>) -> Result<(), Failure> {
        // The peer counts helpers beside its main thread. Its masks switch sets off: 16 is
        // AVX-512, 32 that of Ice Lake.
        let vector = if settings.avx2 { "48" } else { "0" };
        let mut codes = vec![("peer, vector code", vector)];
        if settings.scalar {
            codes.push(("peer, scalar code", "-1"));
        }
        let mut own = Vec::new();
        let mut others = vec![Vec::new(); codes.len()];
        for _ in 0..settings.rounds {
            own.push(self.time(&mut [self.ours(ours, settings, 1)])?.cpu);
            for ((_, mask), times) in codes.iter().zip(&mut others) {
                if let Some(peer) = settings.peer {
                    let mut command = self.command(peer, &[], 0);
                    command.args(["--cpumask", mask]);
                    times.push(self.time(&mut [command])?.cpu);
                }
            }
        }
        let each = |times: &[f64]| Spread::of(times.iter().map(|t| 1e3 * t / self.frames as f64));
        println!("  vmafx                {} ms of CPU a frame", each(&own));
        if settings.peer.is_some() {
            for ((name, _), times) in codes.iter().zip(&others) {
                let ratio = Spread::of(times.iter().zip(&own).map(|(peer, own)| peer / own));
                println!("  {name:20} {} ms, {ratio} times as much", each(times));
            }
        }
        Ok(())
    }

    /// `vmafx` with `threads` threads beside one thread, and beside as many processes of one
    /// thread at once, which shows what the machine gives.
    fn scale(&self, ours: &Path, settings: &Settings<'_>, threads: usize) -> Result<(), Failure> {
        let (mut speedup, mut most, mut busy) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..settings.rounds {
            let one = self.time(&mut [self.ours(ours, settings, 1)])?;
            let all = self.time(&mut [self.ours(ours, settings, threads)])?;
            let mut apart: Vec<_> = (0..threads).map(|_| self.ours(ours, settings, 1)).collect();
            let apart = self.time(&mut apart)?;
            speedup.push(one.wall / all.wall);
            most.push(threads as f64 * one.wall / apart.wall);
            busy.push(all.cpu / all.wall);
        }
        let spread = |values: Vec<f64>| Spread::of(values.into_iter());
        println!(
            "  {threads} threads are {} times as fast as one",
            spread(speedup)
        );
        println!(
            "  {threads} processes of one thread do {} times the work of one",
            spread(most)
        );
        println!("  {threads} threads keep {} processors busy", spread(busy));
        Ok(())
    }

    fn ours(&self, program: &Path, settings: &Settings<'_>, threads: usize) -> Command {
        let mut command = self.command(program, &["score"], threads);
        if settings.avx2 {
            command.env("VMAFX_CPU_LEVEL", "avx2");
        }
        command
    }

    /// A run over the clip.
    pub(crate) fn command(&self, program: &Path, first: &[&str], threads: usize) -> Command {
        let mut command = Command::new(program);
        command
            .args(first)
            .arg("-r")
            .arg(&self.reference)
            .arg("-d")
            .arg(&self.distorted)
            .args(["--threads", &threads.to_string()])
            .args(["--json", "-q", "-o", "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs all commands at once to their ends.
    fn time(&self, commands: &mut [Command]) -> Result<Cost, Failure> {
        let (start, before) = (Instant::now(), processor_seconds()?);
        let started = commands.iter_mut().map(Command::spawn);
        let children: Vec<Child> = started.collect::<Result<_, _>>()?;
        let mut failure = None;
        for mut child in children {
            let status = child.wait()?;
            if !status.success() {
                failure = Some(format!("bench: a program failed ({status})"));
            }
        }
        let wall = start.elapsed().as_secs_f64();
        match failure {
            Some(failure) => Err(failure.into()),
            None => Ok(Cost {
                wall,
                cpu: processor_seconds()? - before,
            }),
        }
    }
}

/// Time of processors that the children that have ended used, to 10 milliseconds.
fn processor_seconds() -> Result<f64, Failure> {
    // Linux counts in hundredths of a second whatever its own clock is.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat")?;
    // The name in brackets may hold spaces. Fields 16 and 17 are the 14th and 15th behind it.
    let fields = text.rsplit_once(')').map(|(_, fields)| fields);
    let mut fields = fields.unwrap_or_default().split_ascii_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    match (ticks(), ticks()) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS),
        _ => Err("bench: /proc/self/stat has no times of children".into()),
    }
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
