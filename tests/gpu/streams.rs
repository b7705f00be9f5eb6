//! What runs on which stream, what waits for what, and how often a frame is copied.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::Arc;

use vmafx_api::{
    FenceKind, Frame, FrameFormat, ImportDescriptor, ImportPlane, MemoryKind, NativeFence,
};
use vmafx_conformance::MemoryLayout;
use vmafx_engine::{Context, FeatureSpec, Request};
use vmafx_metrics::find;

use crate::bench::{Bench, Clip, FEATURES, Memory, format, picture, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const DEFAULT_STREAM: Case = Case {
    name: "no_work_on_the_default_stream",
    children: &[
        child("with graphs", GRAPHS, 120),
        child("without graphs", NO_GRAPHS, 120),
    ],
    run: counted,
};

pub(crate) const HELD_BACK: Case = Case {
    name: "a_batch_that_is_held_back_is_submitted",
    children: &[
        child("hold", GRAPHS, 60),
        child("overtaken", GRAPHS, 60),
        child("hold", NO_GRAPHS, 60),
        child("overtaken", NO_GRAPHS, 60),
    ],
    run: held_back,
};

pub(crate) const WAITS: Case = Case {
    name: "streams_wait_for_what_they_read",
    children: &[
        child("with graphs", GRAPHS, 300),
        child("without graphs", NO_GRAPHS, 300),
    ],
    run: waits,
};

const FRAMES: u64 = 10;

/// A whole run of the engine, and one over frames that are on the device, by the simulator's log.
fn counted(room: &Path, how: &str) {
    let bench = Bench::open(room);
    let format = format(96, 80, 10);
    let clip = Clip::new(format, &FEATURES, FRAMES);
    let mut request = Request::default();
    request.features = FEATURES
        .map(|name| FeatureSpec::new(find(name).unwrap()))
        .into();
    request.threads = 2;
    request.device = Some("hip".to_owned());
    let backends = [bench.backend().clone()];
    let mut context = Context::with_backends(format, request, &backends).unwrap();
    // What is brought to the device once, when the plan is made.
    let tables = copies(&bench, "H2D");
    assert!(tables.len() <= 1, "{tables:?}");
    bench.set("clear_log", "");
    for t in 0..FRAMES {
        let [reference, distorted] = [false, true].map(|side| picture(format, t, side));
        context.submit(reference, distorted).unwrap();
    }
    context.finish().unwrap();
    let up = copies(&bench, "H2D");
    // Each plane of each frame once, in rows of 256 bytes, with the number by which its arrival is
    // seen, though motion looks back; and the job.
    let planes: u64 = (0..3)
        .map(|plane| {
            let size = format.plane_size(plane);
            ((size.width * 2).next_multiple_of(256) * size.height) as u64
        })
        .sum();
    let frame = planes + 8;
    let frames = up.iter().filter(|&&bytes| bytes == frame).count() as u64;
    let jobs = up.iter().filter(|&&bytes| bytes < 1024).count() as u64;
    assert_eq!(
        (frames, jobs, up.len() as u64),
        (2 * FRAMES, FRAMES, 3 * FRAMES),
        "{how}: {up:?}"
    );
    one_read_back(&bench, how, format);

    // Of frames on the device nothing is copied at all.
    let memory = Memory::of(&bench);
    let device = bench.device().unwrap();
    let placed = clip.placed(&device, &memory, MemoryLayout::PACKED);
    let plan = plan(&device, format, &FEATURES).unwrap();
    bench.set("clear_log", "");
    placed.check(&plan, "frames on the device").unwrap();
    let up = copies(&bench, "H2D");
    assert_eq!(up.len() as u64, FRAMES, "{how}: {up:?}");
    assert!(up.iter().all(|&bytes| bytes < 1024), "{how}: {up:?}");
    one_read_back(&bench, how, format);
    let launches = bench.counts()["all_launches"].as_u64().unwrap();
    println!(
        "{FIGURE}{how}: {FRAMES} frames: 0 on the default stream, 1 job and 1 read-back a frame, \
         each host frame brought once, frames on the device never; {} launches a frame",
        launches / FRAMES
    );
}

/// What every run keeps to.
fn one_read_back(bench: &Bench, how: &str, format: FrameFormat) {
    let counts = bench.counts();
    assert_eq!(counts["default_stream"], 0, "{how}: {counts:#}");
    let log = bench.sim.query("log");
    assert!(!log.contains("on the default stream"), "{how}: {log}");
    let down = copies(bench, "D2H");
    assert_eq!(down.len() as u64, FRAMES, "{how}: {down:?}");
    let luma = format.plane_size(0).area() as u64;
    assert!(
        down.iter().all(|&bytes| bytes < luma / 4),
        "{how}: {down:?}"
    );
    for direction in ["D2D", "H2H"] {
        assert_eq!(copies(bench, direction).len(), 0, "{how}: {direction}");
    }
    assert_eq!(counts["pageable_copies"], 0, "{how}");
    assert_eq!(bench.troubles(), Vec::<String>::new(), "{how}");
}

/// Bytes of each copy in the log of that direction.
fn copies(bench: &Bench, direction: &str) -> Vec<u64> {
    let log = bench.sim.json("log_json");
    let all = log.as_array().unwrap().iter();
    let all = all.filter(|entry| entry["direction"] == direction);
    all.map(|entry| entry["bytes"].as_u64().unwrap()).collect()
}

/// The runtime keeps what it was not asked about, and lets others overtake it.
fn held_back(room: &Path, mode: &str) {
    let bench = Bench::open(room);
    let memory = Memory::of(&bench);
    bench.set("unsubmitted", mode);
    for depth in [8, 10] {
        let format = format(72, 52, depth);
        let clip = Clip::new(format, &FEATURES, 12);
        let device = bench.device().unwrap();
        let plan = plan(&device, format, &FEATURES).unwrap();
        for turn in 0..3 {
            clip.check(&plan, &format!("{mode}, turn {turn}")).unwrap();
        }
        let placed = clip.placed(&device, &memory, MemoryLayout::PACKED);
        placed
            .check(&plan, &format!("{mode}, on the device"))
            .unwrap();
    }
    // Nothing had to be computed again for it.
    assert_eq!(bench.lines(), Vec::<String>::new());
    assert_eq!(bench.troubles(), Vec::<String>::new());
}

/// Streams are slow by turns and at random.
fn waits(room: &Path, how: &str) {
    let bench = Bench::open(room);
    let format = format(72, 52, 8);
    let clip = Clip::new(format, &FEATURES, 12);
    let device = bench.device().unwrap();
    for seed in 1..=8 {
        bench.set("delay_random", &format!("{seed}:1500"));
        let plan = plan(&device, format, &FEATURES).unwrap();
        let case = format!("{how}, random delays of seed {seed}");
        clip.check(&plan, &case).unwrap();
    }
    bench.set("delay_random", "");

    // Each stream that there is, far behind the others.
    bench.set("clear_log", "");
    let plan = plan(&device, format, &FEATURES).unwrap();
    clip.check(&plan, how).unwrap();
    let log = bench.sim.json("log_json");
    let streams = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["stream"].as_u64());
    let streams: std::collections::BTreeSet<u64> = streams.flatten().collect();
    for stream in &streams {
        bench.set("delay_stream", &format!("{stream}=2500"));
        clip.check(&plan, &format!("{how}, stream {stream} is slow"))
            .unwrap();
    }
    bench.set("delay_stream", "");

    behind_a_producer(&bench, &clip, format);
    assert_eq!(bench.lines(), Vec::<String>::new());
    assert_eq!(bench.troubles(), Vec::<String>::new());
    println!(
        "{FIGURE}{how}: 8 seeds, {} slow streams, a slow producer",
        streams.len()
    );
}

/// Calls a function of the simulated runtime, which has to succeed.
macro_rules! call {
    ($bench:expr, $name:literal as fn($($kind:ty),*): $($argument:expr),*) => {{
        // SAFETY: HIP's function of that name has this type; the memory and the handles outlive
        // the work.
        let code = unsafe {
            let function = $bench.sim.library()
                .get::<unsafe extern "C" fn($($kind),*) -> c_int>($name)
                .unwrap();
            function($($argument),*)
        };
        assert_eq!(code, 0, "{:?}", $name);
    }};
}

/// Frames that a producer's stream writes late, behind an event.
fn behind_a_producer(bench: &Bench, clip: &Clip, format: FrameFormat) {
    let device = bench.device().unwrap();
    let plan = plan(&device, format, &FEATURES).unwrap();
    let mut stream: *mut c_void = std::ptr::null_mut();
    call!(bench, b"hipStreamCreateWithFlags\0" as fn(*mut *mut c_void, u32): &mut stream, 1);
    let stream = stream as usize;
    let mut taken = Vec::new();
    bench.set("clear_log", "");
    let mut produce = |frame: &Frame| {
        let view = frame.host().unwrap();
        let mut planes = Vec::new();
        for index in 0..format.plane_count() {
            let plane = view.plane(index).unwrap();
            let (width, height) = (plane.size().width, plane.size().height);
            let vmafx_api::Samples::U8(samples) = plane.samples() else {
                panic!("samples of 8 bits");
            };
            let (mut memory, mut pinned) = (std::ptr::null_mut(), std::ptr::null_mut());
            let bytes = width * height;
            call!(bench, b"hipMalloc\0" as fn(*mut *mut c_void, usize): &mut memory, bytes);
            call!(bench, b"hipHostMalloc\0" as fn(*mut *mut c_void, usize, u32): &mut pinned, bytes, 0);
            for y in 0..height {
                let row = &samples[y * plane.stride()..][..width];
                // SAFETY: the pinned memory has room for all rows.
                unsafe {
                    let to = pinned.cast::<u8>().add(y * width);
                    to.copy_from_nonoverlapping(row.as_ptr(), width);
                }
            }
            call!(
                bench,
                b"hipMemcpyAsync\0" as fn(*mut c_void, *const c_void, usize, c_int, usize):
                    memory, pinned.cast_const(), bytes, 1, stream
            );
            taken.push((memory as usize, pinned as usize));
            planes.push(ImportPlane {
                handle: memory as u64,
                fd: -1,
                plane_index: 0,
                offset: 0,
                pitch: width as u64,
                modifier: 0,
                size: bytes as u64,
            });
        }
        let mut event: usize = 0;
        call!(bench, b"hipEventCreateWithFlags\0" as fn(*mut usize, u32): &mut event, 2);
        call!(bench, b"hipEventRecord\0" as fn(usize, usize): event, stream);
        // SAFETY: an event of the runtime, and planes of that format that are written once, before
        // it, and freed after the frame.
        let frame = unsafe {
            let fence = NativeFence::new(FenceKind::HIP_EVENT, -1, event as u64, 0);
            let kind = MemoryKind::DEVICE_POINTER;
            device.import(&ImportDescriptor::new(kind, format, &planes, fence))
        };
        // The event is the producer's, and may go.
        call!(bench, b"hipEventDestroy\0" as fn(usize): event);
        Arc::new(Frame::from(frame.unwrap()))
    };
    bench.set("delay_us", "700");
    let produced = clip.with_frames(&mut produce);
    produced.check(&plan, "a slow producer").unwrap();
    bench.set("delay_us", "0");
    drop((produced, plan));
    call!(bench, b"hipStreamDestroy\0" as fn(usize): stream);
    for (memory, pinned) in taken {
        call!(bench, b"hipFree\0" as fn(usize): memory);
        call!(bench, b"hipHostFree\0" as fn(usize): pinned);
    }
}
