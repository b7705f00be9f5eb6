//! How fast the interpreter is: instructions of waves a second, by kernel, on one core and on all.
//!
//! `cargo run --release -p vmafx-gcnsim --example speed [TARGET]... [--save FOLDER]` compiles the
//! kernels that a metric is made of, runs each over 256x256 samples and prints the median of seven
//! runs: on one core by the processor's time, on all by the clock. The code objects that were run
//! are saved on demand, so that something else can be timed on the very same instructions.
#![allow(unsafe_code, reason = "kernels access the buffers of this program")]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use vmafx_gcnsim::{Counts, Options, Program, mix};

#[path = "../tests/proofs/device.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod device;
#[path = "../tests/proofs/toolchain.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod toolchain;

use device::{Arguments, Buffer, launch_grid};
use toolchain::Target;

/// Samples of a row, and rows.
const SIDE: u32 = 256;
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let mut targets = Vec::new();
    let mut folder = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--save" => folder = words.next(),
            _ => targets.push(word),
        }
    }
    if targets.is_empty() {
        targets = vec!["gfx90a".to_owned(), "gfx1100".to_owned()];
    }
    for name in targets {
        if let Err(reason) = measure(&name, folder.as_deref().map(Path::new)) {
            eprintln!("{name}: {reason}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(name: &str, folder: Option<&Path>) -> Result<(), String> {
    let mut all = Target::all();
    let target = all
        .find(|target| target.0 == name)
        .ok_or("no such target")?;
    let image = toolchain::image("frames", target, &[])?;
    if let Some(folder) = folder {
        let path = folder.join(format!("{name}.hsaco"));
        std::fs::write(&path, &image).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let program = Program::load(&image).map_err(|error| error.to_string())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    for kernel in [sad, filter, divisions, ratios] {
        let mut rates = Vec::new();
        for workers in [1, cores] {
            let options = Options {
                workers,
                ..Options::default()
            };
            let mut runs = Vec::new();
            for _ in 0..ROUNDS {
                runs.push(kernel(&program, &options)?);
            }
            runs.sort_by_key(|(_, _, time)| *time);
            rates.push(runs.swap_remove(ROUNDS / 2));
        }
        let rate = |(_, counts, time): &(&str, Counts, Duration)| {
            counts.instructions as f64 / time.as_secs_f64() / 1e6
        };
        let (name_of_kernel, counts, time) = &rates[0];
        println!(
            "{name} {name_of_kernel}: {} instructions of {} waves, {:.4} s: {:.2} million a second \
             on one core, {:.2} on {cores}",
            counts.instructions,
            counts.waves,
            time.as_secs_f64(),
            rate(&rates[0]),
            rate(&rates[1])
        );
    }
    Ok(())
}

/// Name, counts and time of a run.
type Run = Result<(&'static str, Counts, Duration), String>;

fn timed(
    program: &Program,
    name: &'static str,
    (grid, threads): ([u32; 3], [u32; 3]),
    arguments: &Arguments,
    options: &Options,
) -> Run {
    // Blocks that are not spread run on this thread.
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    };
    let (start, spent_before) = (Instant::now(), spent());
    let counts = launch_grid(program, name, grid, threads, arguments, options);
    let time = match options.workers {
        1 => spent() - spent_before,
        _ => start.elapsed(),
    };
    Ok((name, counts.map_err(|error| error.to_string())?, time))
}

/// Blocks of 16x16 over the whole frame.
const TILES: ([u32; 3], [u32; 3]) = ([SIDE / 16, SIDE / 16, 1], [16, 16, 1]);
/// Blocks of 64 threads over all samples.
const ROWS: ([u32; 3], [u32; 3]) = ([SIDE * SIDE / 64, 1, 1], [64, 1, 1]);

fn samples<T: device::Word>(seed: u64, of: fn(u64) -> T) -> Buffer<T> {
    let all: Vec<T> = (0..u64::from(SIDE * SIDE))
        .map(|i| of(mix(seed << 32 ^ i)))
        .collect();
    Buffer::new(&all)
}

/// A positive number of ordinary size.
fn double(random: u64) -> u64 {
    ((random >> 11) as f64 / 2f64.powi(46)).to_bits()
}

fn sad(program: &Program, options: &Options) -> Run {
    let (mut a, mut b) = (samples(1, |x| x as u8), samples(2, |x| x as u8));
    let mut out = Buffer::new(&[0u64]);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .number(SIDE)
        .number(SIDE)
        .number(SIDE)
        .buffer(&mut out);
    timed(program, "sad_u8", TILES, &arguments, options)
}

fn filter(program: &Program, options: &Options) -> Run {
    let mut source = samples(3, |x| (x as i32 as f32 / 3e7).to_bits());
    let mut taps = Buffer::new(&[0.1f32.to_bits(); 9]);
    let mut out = samples(4, |_| 0u32);
    let arguments = Arguments::default()
        .buffer(&mut source)
        .buffer(&mut out)
        .buffer(&mut taps)
        .number(SIDE)
        .number(SIDE)
        .number(SIDE);
    timed(program, "filter9_f32", TILES, &arguments, options)
}

fn divisions(program: &Program, options: &Options) -> Run {
    let (mut a, mut b) = (samples(5, |x| x as u32), samples(6, |x| x as u32));
    let (mut q, mut r) = (samples(7, |_| 0u32), samples(8, |_| 0u32));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .buffer(&mut q)
        .buffer(&mut r)
        .number(SIDE * SIDE);
    timed(program, "divsqrt_f32", ROWS, &arguments, options)
}

fn ratios(program: &Program, options: &Options) -> Run {
    let (mut a, mut b) = (samples(9, double), samples(10, double));
    let mut q = samples(11, |_| 0u64);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .buffer(&mut q)
        .number(SIDE * SIDE);
    timed(program, "ratio_f64", ROWS, &arguments, options)
}
