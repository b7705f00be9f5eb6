//! Time of each kernel at each level, by hand:
//!
//! ```text
//! cargo test --release -p vmafx-backend-cpu -- --ignored --nocapture speed
//! ```
//!
//! `VMAFX_SPEED_CLIP` names two raw 4:2:0 files and their format, as in
//! `ref.yuv,dis.yuv,1920,1080,8`; without it both pictures are synthetic. `VMAFX_SPEED_ONLY`
//! names one kernel, to count its instructions with another program.

use std::hint::black_box;

use vmafx_api::{Chroma, FrameFormat, HostFrame};
use vmafx_metrics::{Options, adm, find};

use crate::level::Level;

/// Rounds over all frames; the fastest counts.
const ROUNDS: usize = 5;

/// Length of a round at least.
const ROUND_MS: f64 = 150.0;

fn frames() -> [Vec<HostFrame>; 2] {
    let Ok(clip) = std::env::var("VMAFX_SPEED_CLIP") else {
        let format = FrameFormat::new(1920, 1080, Chroma::Yuv420, 8).unwrap();
        return [3, 5].map(|divisor| {
            let mut frame = HostFrame::new(format);
            let samples = frame.bytes_mut().iter_mut().enumerate();
            samples.for_each(|(i, s)| *s = ((i % 1920 + i / 1920 * 7) / divisor % 200) as u8);
            vec![frame]
        });
    };
    let fields: Vec<&str> = clip.split(',').collect();
    let number = |at: usize| fields[at].parse::<u32>().unwrap();
    let format = FrameFormat::new(number(2), number(3), Chroma::Yuv420, number(4)).unwrap();
    [0, 1].map(|side| {
        let bytes = std::fs::read(fields[side]).unwrap();
        let size = if number(4) > 8 { 2 } else { 1 };
        let samples = (0..3).map(|plane| format.plane_size(plane).area());
        let frames = bytes.chunks_exact(samples.sum::<usize>() * size);
        let frames = frames.map(|bytes| {
            let mut frame = HostFrame::new(format);
            if size == 1 {
                frame.bytes_mut().copy_from_slice(bytes);
            } else {
                let words = frame.words_mut().iter_mut().zip(bytes.chunks_exact(2));
                words.for_each(|(word, b)| *word = u16::from_le_bytes([b[0], b[1]]));
            }
            frame
        });
        frames.take(5).collect()
    })
}

/// Seconds that this thread has run, which other programs do not add to.
fn cpu_seconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = statistics.split(' ').next().unwrap();
    nanoseconds.parse::<f64>().unwrap() / 1e9
}

/// Milliseconds a frame of `run`, which is given the number of a frame.
fn measure(name: &str, frames: usize, mut run: impl FnMut(usize)) {
    if std::env::var("VMAFX_SPEED_ONLY").is_ok_and(|only| !name.starts_with(&only)) {
        return;
    }
    let mut round = |times: usize| {
        let start = cpu_seconds();
        (0..times).for_each(|_| (0..frames).for_each(&mut run));
        (cpu_seconds() - start) * 1000.0 / (times * frames) as f64
    };
    // The clock moves once in some milliseconds.
    let times = (ROUND_MS / round(1).max(0.1) / frames as f64) as usize + 1;
    let fastest = (0..ROUNDS)
        .map(|_| round(times))
        .fold(f64::INFINITY, f64::min);
    let all = frames * (1 + ROUNDS * times);
    println!("{name:24} {fastest:8.3} ms, {all} frames");
}

#[test]
#[ignore = "measures, by hand"]
fn speed() {
    let [x, y] = frames();
    let format = *x[0].format();
    let (count, depth) = (x.len(), format.depth());
    let options = Options::defaults(find("adm").unwrap().definition());
    let settings = adm::Settings::new(&options).unwrap();
    for level in Level::ALL.iter().filter(|level| **level > Level::Portable) {
        let Some(kernels) = level.kernels() else {
            continue;
        };
        let mut adm = (kernels.adm)(&format);
        measure(&format!("adm {level}"), count, |i| {
            let (x, y) = (x[i].view(), y[i].view());
            black_box(adm.sums([x.luma(), y.luma()], depth, &settings));
        });
        let mut motion = (kernels.motion)(&format);
        measure(&format!("motion {level}"), count, |i| {
            let (x, y) = (x[i].view(), x[(i + 1) % count].view());
            black_box(motion.sums([x.luma(), y.luma()], depth));
        });
        measure(&format!("psnr {level}"), count, |i| {
            let (x, y) = (x[i].view(), y[i].view());
            black_box((kernels.psnr)(x.luma(), y.luma()));
        });
    }
}
