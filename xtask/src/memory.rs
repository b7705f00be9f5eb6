//! `cargo xtask memory`: peak memory of the release program over a short and a long clip, which
//! must not differ by more than a few percent.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Failure, program};

/// Largest growth allowed from the short clip to the long one.
const LIMIT: f64 = 0.05;

/// Scores clips of 352x288 with `frames` and ten times `frames` frames.
///
/// # Errors
/// A failed run, or growth beyond the limit.
pub(crate) fn run(frames: u64) -> Result<(), Failure> {
    let program = program::release()?;
    let mut peaks = Vec::new();
    for frames in [frames, 10 * frames] {
        let base = format!("synth:flat,size=352x288,frames={frames},level=30000");
        let mut child = Command::new(&program)
            .args(["score", &base, &format!("{base},dist=noise:4")])
            .args(["--threads", "2", "-q", "--json", "-o", "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
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
        if !exit.success() {
            return Err(format!("memory: the run of {frames} frames failed ({exit})").into());
        }
        println!("{frames:6} frames: peak {peak} KiB");
        peaks.push(peak as f64);
    }
    let growth = peaks[1] / peaks[0] - 1.0;
    println!("growth {:.1} %", 100.0 * growth);
    match growth <= LIMIT {
        true => Ok(()),
        false => Err(format!("memory: growth is above {:.0} %", 100.0 * LIMIT).into()),
    }
}

/// Peak resident memory in KiB of a process, out of its `/proc` status.
fn high_water_mark(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
