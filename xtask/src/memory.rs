//! `cargo xtask memory`: peak memory of the release program, over a short and a long clip, which
//! must not differ by more than a few percent, and over large frames, alone or beside another
//! `vmaf` program that takes the same options.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bench::Clip;
use crate::{Failure, program};

/// Largest growth allowed from the short clip to the long one.
const LIMIT: f64 = 0.05;

/// Scores clips of 352x288 with `frames` and ten times `frames` frames, then a clip of
/// 3840x2160 with one and two threads.
///
/// # Errors
/// A failed run, or growth beyond the limit.
pub(crate) fn run(peer: Option<&Path>, frames: u64) -> Result<(), Failure> {
    let ours = program::release()?;
    let mut peaks = Vec::new();
    for frames in [frames, 10 * frames] {
        let base = format!("synth:flat,size=352x288,frames={frames},level=30000");
        let mut command = Command::new(&ours);
        command
            .args(["score", &base, &format!("{base},dist=noise:4")])
            .args(["--threads", "2", "-q", "--json", "-o", "/dev/null"]);
        let peak = peak(&mut command)?;
        println!("352x288, {frames:6} frames, 2 threads: peak {peak} KiB");
        peaks.push(peak as f64);
    }
    let growth = peaks[1] / peaks[0] - 1.0;
    println!("growth {:.1} %", 100.0 * growth);
    if growth > LIMIT {
        return Err(format!("memory: growth is above {:.0} %", 100.0 * LIMIT).into());
    }

    let clip = Clip::new("tex2160_10_codec", 12)?;
    for threads in [1, 2] {
        let own = peak(&mut clip.command(&ours, &["score"], threads))?;
        print!("3840x2160 10-bit, {threads} threads: peak {own} KiB");
        if let Some(peer) = peer {
            // The peer counts helpers beside its main thread.
            let helpers = if threads == 1 { 0 } else { threads };
            let other = peak(&mut clip.command(peer, &[], helpers))?;
            let share = own as f64 / other as f64;
            print!("; peer {other} KiB, {share:.2} of it");
        }
        println!();
    }
    Ok(())
}

/// Peak resident memory in KiB of a run.
fn peak(command: &mut Command) -> Result<u64, Failure> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The kernel keeps the peak; it is gone with the process, so it is read until then.
    let exit = loop {
        if let Ok(text) = std::fs::read_to_string(&status) {
            peak = peak.max(high_water_mark(&text).unwrap_or(0));
        }
        if let Some(exit) = child.try_wait()? {
            break exit;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    match exit.success() {
        true => Ok(peak),
        false => Err(format!("memory: {command:?} failed ({exit})").into()),
    }
}

/// Peak resident memory in KiB of a process, out of its `/proc` status.
fn high_water_mark(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
