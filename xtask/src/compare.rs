//! `cargo xtask compare`: fresh random clips through the release program and through another
//! `vmaf` program's scalar code, every printed digit compared.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use vmafx_api::HostFrame;
use vmafx_media::{SourceSpec, open};

use crate::{Failure, program};

/// Distortions that the clips take in turn.
const DISTORTIONS: [&str; 7] = [
    "blur:1+block:8:12+noise:3",
    "noise:12",
    "blur:3",
    "sharp:4+gain:18",
    "block:16:40",
    "shift:1:1",
    "add:6",
];

/// What is asked of both programs.
const SCORES: [&str; 10] = [
    "--model",
    "version=vmaf_v0.6.1",
    "--model",
    "version=vmaf_v0.6.1neg:name=neg",
    "--model",
    "version=vmaf_4k_v0.6.1:name=uhd",
    "--model",
    "version=vmaf_b_v0.6.3:name=bootstrap",
    "--feature",
    "psnr=enable_mse=true:enable_apsnr=true",
];

/// Compares `clips` random clips; the seed makes them.
///
/// # Errors
/// A program that fails, or the number of values that differ.
pub(crate) fn run(peer: &Path, clips: u64, seed: u64) -> Result<(), Failure> {
    let ours = program::release()?;
    let folder = program::target().join("compare");
    std::fs::create_dir_all(&folder)?;
    let mut random = Random(seed);
    let (mut compared, mut different) = (0, 0);
    for clip in 0..clips {
        let depth = [8, 10, 12, 16][random.below(4) as usize];
        let chroma = [420, 422, 444][random.below(3) as usize];
        // The peer drops the last chroma column and row of odd sizes.
        let even = |size: u64| if chroma == 444 { size } else { (size + 1) & !1 };
        let (width, height) = (even(33 + random.below(668)), even(33 + random.below(668)));
        let scene = ["tex", "tex", "grad", "rand"][random.below(4) as usize];
        let seed = 1 + random.below(1 << 30);
        let distortion = DISTORTIONS[random.below(DISTORTIONS.len() as u64) as usize];
        let base = format!(
            "synth:{scene},size={width}x{height},depth={depth},chroma={chroma},frames=4,seed={seed}"
        );
        let reference = folder.join("reference.yuv");
        let distorted = folder.join("distorted.yuv");
        write_raw(&base, &reference)?;
        write_raw(&format!("{base},dist={distortion}"), &distorted)?;
        let score = |program: &Path, first: &[&str], report: &str| -> Result<Value, Failure> {
            let report = folder.join(report);
            let status = Command::new(program)
                .args(first)
                .arg("--reference")
                .arg(&reference)
                .arg("--distorted")
                .arg(&distorted)
                .args([
                    "--width",
                    &width.to_string(),
                    "--height",
                    &height.to_string(),
                ])
                .args([
                    "--pixel_format",
                    &chroma.to_string(),
                    "--bitdepth",
                    &depth.to_string(),
                ])
                .args(SCORES)
                .args(["--json", "-q", "-o"])
                .arg(&report)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .status()
                .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
            if !status.success() {
                return Err(format!("compare: {} failed ({status})", program.display()).into());
            }
            Ok(serde_json::from_slice(&std::fs::read(report)?)?)
        };
        let own = score(&ours, &["score"], "own.json")?;
        let other = score(peer, &["--cpumask", "-1"], "peer.json")?;
        let (mut here, mut off) = (0, 0);
        for part in ["frames", "pooled_metrics", "aggregate_metrics"] {
            walk(part, &own[part], &other[part], &mut |place, equal| {
                here += 1;
                if !equal {
                    off += 1;
                    println!("  {place} differs");
                }
            });
        }
        println!("{clip:3}: {base},dist={distortion}: {here} values, {off} different");
        compared += here;
        different += off;
    }
    println!("{clips} clips, {compared} printed values compared, {different} different");
    match different {
        0 => Ok(()),
        n => Err(format!("compare: {n} values differ").into()),
    }
}

/// Visits the values of the peer's document beside ours; a missing one differs.
fn walk(place: &str, ours: &Value, peer: &Value, visit: &mut dyn FnMut(&str, bool)) {
    match peer {
        Value::Object(members) => {
            for (name, member) in members {
                walk(&format!("{place}.{name}"), &ours[name], member, visit);
            }
            if ours.as_object().map(|o| o.len()) != Some(members.len()) {
                visit(place, false);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(&format!("{place}[{at}]"), &ours[at], item, visit);
            }
        }
        // Six decimals each: equal numbers are equal digits.
        leaf => visit(place, leaf == ours),
    }
}

/// The generator of the golden clips' hash would do; this is Marsaglia's xorshift of 64 bits.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

fn write_raw(source: &str, path: &Path) -> Result<(), Failure> {
    let mut source = open(&SourceSpec::new(source))?;
    let mut frame = HostFrame::new(source.format());
    let mut file = BufWriter::new(File::create(path)?);
    while source.read(&mut frame)? {
        if cfg!(target_endian = "big") {
            frame
                .words_mut()
                .iter_mut()
                .for_each(|word| *word = word.to_le());
        }
        file.write_all(frame.bytes_mut())?;
    }
    file.flush()?;
    Ok(())
}
