//! Measures a GPU backend on the machine's own GPU, and checks every value on the way.
//!
//! Frames are eight different pairs of a synthetic clip, in the device's memory, in pinned or in
//! pageable host memory; the features are those of `vmaf_v0.6.1`. Each workload runs several
//! times after a warm-up; the first sixteen frames must give the bits of the CPU backend.
//!
//! What must stay true: what is timed is what an application does (submit and collect, several
//! frames in flight); a value that differs ends the program with an error.

#![allow(unsafe_code, reason = "frames are placed in a device's memory")]

use std::collections::VecDeque;
use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use vmafx_api::{
    Backend, Chroma, Device, Extractor, FeatureRequest, Frame, FrameFormat, FrameJob, FramePair,
    HostFrame, ImportDescriptor, ImportPlane, MemoryKind, NativeFence, OpenRequest, PlanRequest,
    Samples, Value,
};
use vmafx_backend_cpu::CpuBackend;
use vmafx_backend_cuda::Cuda;
use vmafx_gpu::runtime::{Extent, enter};
use vmafx_gpu::{GpuBackend, Platform, Runtime};
use vmafx_media::{SourceSpec, open};
use vmafx_metrics::{Options, find};

type Failure = Box<dyn Error>;

/// Pairs that take turns.
const PAIRS: usize = 8;
/// Frames that are compared with the CPU.
const CHECKED: u64 = 16;

#[derive(Parser)]
#[command(about = "Measure a GPU backend and check its values against the CPU")]
struct Arguments {
    /// Runs of each workload.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Seconds of each run, at least.
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Workloads whose name contains this; all if empty.
    #[arg(long, default_value = "")]
    only: String,
    /// Features to compute.
    #[arg(long, value_delimiter = ',', default_value = "vif,adm,motion")]
    features: Vec<String>,
    /// Frames in flight; what the device wants if 0.
    #[arg(long, default_value_t = 0)]
    in_flight: usize,
    /// Frames to run once, without timing: for profilers.
    #[arg(long, default_value_t = 0)]
    frames: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Device,
    Pinned,
    Pageable,
}

const WORKLOADS: [(&str, u32, u32, u32, Place); 7] = [
    (
        "1920x1080 8-bit, on the device",
        1920,
        1080,
        8,
        Place::Device,
    ),
    (
        "3840x2160 10-bit, on the device",
        3840,
        2160,
        10,
        Place::Device,
    ),
    ("576x324 8-bit, on the device", 576, 324, 8, Place::Device),
    ("3840x2160 10-bit, pinned", 3840, 2160, 10, Place::Pinned),
    ("1920x1080 8-bit, pinned", 1920, 1080, 8, Place::Pinned),
    (
        "3840x2160 10-bit, pageable",
        3840,
        2160,
        10,
        Place::Pageable,
    ),
    ("1920x1080 8-bit, pageable", 1920, 1080, 8, Place::Pageable),
];

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let platform = Cuda::new();
    let opened = platform.open(&OpenRequest::new(0))?;
    println!("{} ({})", opened.info.name, opened.info.isa);
    let runtime = opened.runtime;
    let begin = Instant::now();
    let backend = Backend::new(GpuBackend::new(Cuda::new()))?;
    let device = backend.open(&OpenRequest::new(0))?;
    println!("opened in {:.2} s", begin.elapsed().as_secs_f64());
    link(&runtime)?;
    for (name, width, height, depth, place) in WORKLOADS {
        if name.contains(&arguments.only) {
            let format = FrameFormat::new(width, height, Chroma::Yuv420, depth)?;
            measure(&arguments, name, format, place, &device, &runtime)?;
        }
    }
    Ok(())
}

/// The rate of copies from pinned memory.
fn link(runtime: &Arc<dyn Runtime>) -> Result<(), Failure> {
    const BYTES: usize = 256 << 20;
    let _current = enter(runtime)?;
    let stream = runtime.create_stream()?;
    let (memory, pinned) = (runtime.allocate(BYTES)?, runtime.allocate_pinned(BYTES)?);
    let mut best = f64::MAX;
    for _ in 0..6 {
        let begin = Instant::now();
        let extent = Extent {
            width: BYTES,
            rows: 1,
        };
        // SAFETY: both ends are as large and are freed behind the synchronisation.
        unsafe {
            runtime.upload(
                (memory, BYTES),
                (pinned.cast_const(), BYTES),
                extent,
                stream,
            )?;
            runtime.synchronize(stream)?;
        }
        best = best.min(begin.elapsed().as_secs_f64());
    }
    println!(
        "link: {:.2} GB/s from pinned memory",
        BYTES as f64 / best / 1e9
    );
    // SAFETY: nothing uses them any more.
    unsafe {
        runtime.free(memory);
        runtime.free_pinned(pinned);
        runtime.destroy_stream(stream);
    }
    Ok(())
}

fn requests(names: &[String]) -> Result<Vec<FeatureRequest>, Failure> {
    let request = |name: &String| {
        let metric = find(name).ok_or_else(|| format!("no feature {name}"))?;
        Ok(Options::defaults(metric.definition()).request())
    };
    names.iter().map(request).collect()
}

fn measure(
    arguments: &Arguments,
    name: &str,
    format: FrameFormat,
    place: Place,
    device: &Device,
    runtime: &Arc<dyn Runtime>,
) -> Result<(), Failure> {
    let features = requests(&arguments.features)?;
    let plan = PlanRequest::new(format, &features);
    let expected = expected(&plan)?;
    let pairs = clip(format)?
        .into_iter()
        .map(|[reference, distorted]| {
            Ok(FramePair {
                reference: placed(reference, place, device, runtime)?,
                distorted: placed(distorted, place, device, runtime)?,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let extractor = device.prepare(&plan)?;
    let depth = match arguments.in_flight {
        0 => extractor.in_flight(),
        wanted => wanted,
    };
    // Checked, and warm.
    let mut values = Vec::new();
    run(
        &extractor,
        &pairs,
        depth,
        CHECKED.max(arguments.frames),
        &mut values,
    )?;
    let columns = extractor.columns();
    for (frame, expected) in expected.chunks(columns).enumerate() {
        let found = &values[frame * columns..][..columns];
        if found != expected {
            let message = format!("{name}: frame {frame}: {found:?}, the CPU has {expected:?}");
            return Err(message.into());
        }
    }
    if arguments.frames > 0 {
        return Ok(());
    }
    let begin = Instant::now();
    run(&extractor, &pairs, depth, 64, &mut values)?;
    let rate = 64.0 / begin.elapsed().as_secs_f64();
    let frames = ((rate * arguments.seconds) as u64).max(64);
    let mut rates = Vec::new();
    let mut host = Duration::ZERO;
    for _ in 0..arguments.runs {
        let begin = Instant::now();
        host = run(&extractor, &pairs, depth, frames, &mut values)?;
        rates.push(frames as f64 / begin.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let median = rates[rates.len() / 2];
    let bytes = read_bytes(&format);
    println!(
        "{name}: {median:.0} frames/s [{:.0} to {:.0}], {:.1} us, {:.1} us of it the host's; \
         {depth} in flight, {:.1} GB/s of frames, {} MB a plan, {} values equal",
        rates[0],
        rates[rates.len() - 1],
        1e6 / median,
        1e6 * host.as_secs_f64() / frames as f64,
        2.0 * bytes as f64 * median / 1e9,
        extractor.memory_bytes() >> 20,
        expected.len(),
    );
    Ok(())
}

/// Bytes of a luma plane, which is what the features read.
fn read_bytes(format: &FrameFormat) -> usize {
    format.plane_size(0).area() * format.sample_bytes()
}

/// Runs `frames` frames; the values go to `values`. Returns the time spent in submit.
fn run(
    extractor: &Extractor,
    pairs: &[FramePair],
    depth: usize,
    frames: u64,
    values: &mut Vec<Value>,
) -> Result<Duration, Failure> {
    let columns = extractor.columns();
    values.clear();
    values.resize(columns * frames as usize, Value::default());
    let mut room = values.chunks_mut(columns);
    let mut waiting = VecDeque::with_capacity(depth);
    let mut submitting = Duration::ZERO;
    for index in 0..frames {
        let at = |index: u64| pairs[(index % pairs.len() as u64) as usize].clone();
        let back = (extractor.history() as u64).min(index);
        let earlier = (1..=back).map(|back| at(index - back)).collect();
        let job = FrameJob::new(index, at(index), earlier);
        let begin = Instant::now();
        waiting.push_back(extractor.submit(&job)?);
        submitting += begin.elapsed();
        if waiting.len() == depth {
            let ticket = waiting.pop_front().ok_or("nothing waits")?;
            extractor.collect(ticket, room.next().ok_or("no room")?)?;
        }
    }
    for ticket in waiting {
        extractor.collect(ticket, room.next().ok_or("no room")?)?;
    }
    Ok(submitting)
}

/// The pairs in host memory.
fn clip(format: FrameFormat) -> Result<Vec<[HostFrame; 2]>, Failure> {
    let (width, height, depth) = (format.width(), format.height(), format.depth());
    let clip = match depth {
        8 => "tex1080_8_codec",
        _ => "tex2160_10_codec",
    };
    let read = |side: &str| -> Result<Vec<HostFrame>, Failure> {
        let spec = format!("synth:{clip}/{side},size={width}x{height},frames={PAIRS}");
        let mut source = open(&SourceSpec::new(spec))?;
        let frames = (0..PAIRS).map(|_| {
            let mut frame = HostFrame::new(format);
            source.read(&mut frame)?;
            Ok(frame)
        });
        frames.collect()
    };
    let pairs = read("ref")?.into_iter().zip(read("dis")?);
    Ok(pairs
        .map(|(reference, distorted)| [reference, distorted])
        .collect())
}

/// The values of the first frames by the CPU backend.
fn expected(plan: &PlanRequest<'_>) -> Result<Vec<Value>, Failure> {
    let cpu = Backend::new(CpuBackend::new())?;
    let extractor = cpu.open(&OpenRequest::new(0))?.prepare(plan)?;
    let pairs = clip(plan.format)?
        .into_iter()
        .map(|[reference, distorted]| FramePair {
            reference: Arc::new(reference.into()),
            distorted: Arc::new(distorted.into()),
        });
    let mut values = Vec::new();
    run(
        &extractor,
        &pairs.collect::<Vec<_>>(),
        1,
        CHECKED,
        &mut values,
    )?;
    Ok(values)
}

/// The frame in memory of another kind. Memory of the device is never freed, nor is pinned memory:
/// the program ends before it is short of them.
fn placed(
    mut frame: HostFrame,
    place: Place,
    device: &Device,
    runtime: &Arc<dyn Runtime>,
) -> Result<Arc<Frame>, Failure> {
    match place {
        Place::Pageable => Ok(Arc::new(frame.into())),
        Place::Pinned => {
            let _current = enter(runtime)?;
            pin(frame.bytes_mut())?;
            let frame = Arc::new(Frame::from(frame));
            std::mem::forget(frame.clone());
            Ok(frame)
        }
        Place::Device => {
            let format = *frame.format();
            let _current = enter(runtime)?;
            let stream = runtime.create_stream()?;
            let mut planes = Vec::new();
            for plane in 0..format.plane_count() {
                let view = frame.view();
                let view = view.plane(plane).ok_or("a plane is missing")?;
                let from: *const c_void = match view.samples() {
                    Samples::U8(samples) => samples.as_ptr().cast(),
                    Samples::U16(samples) => samples.as_ptr().cast(),
                };
                let extent = Extent {
                    width: view.size().width * format.sample_bytes(),
                    rows: view.size().height,
                };
                let pitch = extent.width.next_multiple_of(256);
                let memory = runtime.allocate(pitch * extent.rows)?;
                // SAFETY: the plane is as large, and the copy is complete before it goes.
                unsafe {
                    runtime.upload((memory, pitch), (from, extent.width), extent, stream)?;
                    runtime.synchronize(stream)?;
                }
                planes.push(ImportPlane {
                    handle: memory,
                    pitch: pitch as u64,
                    size: (pitch * extent.rows) as u64,
                    fd: -1,
                    plane_index: 0,
                    offset: 0,
                    modifier: 0,
                });
            }
            // SAFETY: the stream is idle.
            unsafe { runtime.destroy_stream(stream) };
            // SAFETY: planes of that format in memory that is never freed or written again.
            let descriptor = unsafe {
                ImportDescriptor::new(
                    MemoryKind::DEVICE_POINTER,
                    format,
                    &planes,
                    NativeFence::none(),
                )
            };
            Ok(Arc::new(device.import(&descriptor)?.into()))
        }
    }
}

/// Makes host memory known to the CUDA driver, for good.
fn pin(bytes: &mut [u8]) -> Result<(), Failure> {
    type Register = unsafe extern "C" fn(*mut c_void, usize, u32) -> i32;
    // SAFETY: the driver is loaded already; its initialisation is its own affair.
    let driver = std::mem::ManuallyDrop::new(unsafe { libloading::Library::new("libcuda.so.1") }?);
    // SAFETY: the driver API's signature.
    let register = unsafe { driver.get::<Register>(b"cuMemHostRegister_v2") }?;
    // SAFETY: the memory is alive for as long as the program measures with it.
    match unsafe { register(bytes.as_mut_ptr().cast(), bytes.len(), 0) } {
        0 => Ok(()),
        code => Err(format!("cuMemHostRegister answered {code}").into()),
    }
}
