//! CPU time a frame of one feature at every level, over two frames in memory.
//!
//! `cargo bench -p vmafx-backend-cpu -- [feature] [level] [depth]`; a clip of the user's own
//! instead of generated samples: `VMAFX_BENCH_REFERENCE` and `VMAFX_BENCH_DISTORTED` name raw
//! 4:2:0 files of 1920x1080 in 8 bits, or 3840x2160 in 10 bits, whose first frame is read.
//! `VMAFX_BENCH_ROUNDS` is how often a frame is scored. The time is that of the thread, so that
//! other work on the machine counts little; the median of all rounds is given, and the least.

use std::env;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use vmafx_api::{
    Backend, Chroma, Frame, FrameFormat, FrameJob, FramePair, HostFrame, OpenRequest, PlanRequest,
    Value,
};
use vmafx_backend_cpu::{CpuBackend, Level};
use vmafx_metrics::{Options, find};

/// Time that this thread has had a processor.
fn thread_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// A texture of waves and noise; the distorted image has less of both.
fn texture(format: FrameFormat, distorted: bool) -> HostFrame {
    let mut frame = HostFrame::new(format);
    let (width, peak) = (format.width() as usize, f64::from(format.peak()));
    let mut state = 1u64;
    let mut sample = |at: usize| {
        let (x, y) = ((at % width) as f64, (at / width) as f64);
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let noise = (state >> 48) as f64 / 65536.0 - 0.5;
        let waves = (x / 7.0).sin() * (y / 11.0).cos() + (x * y / 9000.0).sin();
        let v = if distorted {
            0.18 * waves + 0.04 * noise
        } else {
            0.2 * waves + 0.08 * noise
        };
        ((0.5 + v) * peak) as u16
    };
    match format.depth() {
        8 => {
            let samples = frame.bytes_mut().iter_mut().enumerate();
            samples.for_each(|(at, s)| *s = sample(at) as u8);
        }
        _ => {
            let samples = frame.words_mut().iter_mut().enumerate();
            samples.for_each(|(at, s)| *s = sample(at));
        }
    }
    frame
}

/// The first frame of a raw file.
fn first_frame(format: FrameFormat, path: &str) -> HostFrame {
    let mut frame = HostFrame::new(format);
    let mut file = File::open(path).expect("the clip opens");
    match format.depth() {
        8 => file
            .read_exact(frame.bytes_mut())
            .expect("a frame of 8 bits"),
        _ => {
            let mut bytes = vec![0; 2 * frame.words_mut().len()];
            file.read_exact(&mut bytes).expect("a frame of 16 bits");
            for (word, bytes) in frame.words_mut().iter_mut().zip(bytes.chunks_exact(2)) {
                *word = u16::from_le_bytes([bytes[0], bytes[1]]);
            }
        }
    }
    frame
}

fn main() {
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let feature = words.first().map_or("vif", String::as_str);
    let metric = find(feature).expect("the name of a metric");
    let request = Options::defaults(metric.definition()).request();
    let rounds = env::var("VMAFX_BENCH_ROUNDS").map_or(9, |n| n.parse().expect("a number"));
    for (width, height, depth) in [(1920, 1080, 8), (3840, 2160, 10)] {
        if words.get(2).is_some_and(|only| *only != depth.to_string()) {
            continue;
        }
        let format = FrameFormat::new(width, height, Chroma::Yuv420, depth).expect("a size");
        let frame = |variable: &str, distorted: bool| match env::var(variable) {
            Ok(path) => first_frame(format, &path),
            Err(_) => texture(format, distorted),
        };
        let x = frame("VMAFX_BENCH_REFERENCE", false);
        let y = frame("VMAFX_BENCH_DISTORTED", true);
        let [x, y] = [x, y].map(|frame| Arc::new(Frame::from(frame)));
        let pair = FramePair {
            reference: x.clone(),
            distorted: y.clone(),
        };
        // Metrics that look back see the other image as the earlier frame.
        let earlier = FramePair {
            reference: y,
            distorted: x,
        };
        for &level in Level::ALL {
            if words.get(1).is_some_and(|only| *only != level.name()) {
                continue;
            }
            let Ok(backend) = CpuBackend::with_level(level) else {
                println!("{level}: skipped, this processor does not have it");
                continue;
            };
            let backend = Backend::new(backend).expect("a description of its own");
            let device = backend.open(&OpenRequest::new(0)).expect("device 0");
            let plan = device.prepare(&PlanRequest::new(format, std::slice::from_ref(&request)));
            let plan = plan.expect("the format is taken");
            let mut values = vec![Value::default(); plan.columns()];
            let job = FrameJob::new(4, pair.clone(), vec![earlier.clone(); plan.history()]);
            let mut times = Vec::new();
            for _ in 0..rounds {
                let start = thread_ms();
                let ticket = plan.submit(&job).expect("a frame");
                times.push(thread_ms() - start);
                plan.collect(ticket, &mut values).expect("its values");
            }
            times.sort_by(f64::total_cmp);
            let (median, least) = (times[times.len() / 2], times[0]);
            let pixel = median * 1e6 / (f64::from(width) * f64::from(height));
            println!(
                "{feature} {width}x{height} {depth}-bit {level}: median {median:.2} ms, least \
                 {least:.2} ms, {pixel:.2} ns a pixel"
            );
        }
    }
}
