//! Release fences: a producer is never told that its memory is free while a frame may be read,
//! and always told once it is.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vmafx_api::{
    Device, DeviceFrame, Fence, FenceKind, FenceState, Frame, FrameJob, FramePair,
    ImportDescriptor, ImportPlane, MemoryKind, NativeFence, Status,
};

use crate::bench::{Bench, FEATURES, format, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "memory_is_given_back_after_the_last_read_and_not_before",
    children: &[
        child("with graphs", GRAPHS, 300),
        child("without graphs", NO_GRAPHS, 300),
    ],
    run,
};

const KINDS: [FenceKind; 2] = [FenceKind::HOST, FenceKind::HIP_EVENT];
const SHORT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);
/// Frames of which each is given back while others are under way.
const ROUNDS: usize = 200;

fn run(room: &Path, how: &str) {
    let bench = Bench::open(room);
    // The runtime says of an event that was never recorded that it was reached.
    bench.set("unrecorded", "complete");
    let device = bench.device().unwrap();
    let picture = Picture::new(&bench);

    // Held, then let go: of each kind, twice each, one of them destroyed early.
    // The device's stream of releases comes with the first event.
    drop(
        picture
            .import(&device)
            .release_fence(FenceKind::HIP_EVENT)
            .unwrap(),
    );
    let before = bench.holdings();
    let frame = picture.import(&device);
    let fences = KINDS.map(|kind| {
        drop(frame.release_fence(kind).unwrap());
        [kind; 2].map(|kind| frame.release_fence(kind).unwrap())
    });
    for fence in fences.iter().flatten() {
        assert_eq!(fence.poll().unwrap(), FenceState::Pending, "{fence:?}");
        let error = fence.wait(SHORT).unwrap_err();
        assert_eq!(error.status, Status::TIMEOUT, "{fence:?}: {error}");
    }
    for [first, second] in &fences {
        assert_eq!(first.native().handle(), second.native().handle());
    }
    let waits = std::thread::scope(|scope| {
        let all = fences.iter().flatten();
        let waits: Vec<_> = all.map(|fence| scope.spawn(|| fence.wait(LONG))).collect();
        drop(frame);
        waits
            .into_iter()
            .map(|wait| wait.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(waits.iter().all(Result::is_ok), "{waits:?}");
    for fence in fences.iter().flatten() {
        assert_eq!(fence.poll().unwrap(), FenceState::Signalled, "{fence:?}");
        fence.wait(Duration::ZERO).unwrap();
    }
    drop(fences);
    assert_eq!(bench.holdings(), before, "fences and frame are gone");

    refusals(&device, &picture);
    let early = under_way(&bench, &device, &picture);
    lost(&bench, &device, &picture);
    println!("{FIGURE}{how}: {ROUNDS} frames given back while scored, {early} before their reads");
    assert_eq!(bench.lines(), Vec::<String>::new());
    assert_eq!(bench.troubles(), Vec::<String>::new());
}

/// Frames that are scored while their fences are looked at: how many were told to be free before
/// the reads of them were complete.
fn under_way(bench: &Bench, device: &Device, picture: &Picture) -> usize {
    let plan = plan(device, picture.format(), &FEATURES).unwrap();
    let columns = plan.columns();
    bench.set("delay_random", "7:300");
    let mut early = 0;
    for round in 0..ROUNDS {
        let kind = KINDS[round % KINDS.len()];
        let (reference, distorted) = (picture.import(device), picture.import(device));
        let fence = reference.release_fence(kind).unwrap();
        let pair = FramePair {
            reference: Arc::new(Frame::from(reference)),
            distorted: Arc::new(Frame::from(distorted)),
        };
        // The caller lets go of its frames as soon as they are submitted.
        let ticket = plan.submit(&FrameJob::new(0, pair, Vec::new())).unwrap();
        early += usize::from(fence.poll().unwrap() == FenceState::Signalled);
        let mut values = vec![vmafx_api::Value::score(0.0); columns];
        plan.collect(ticket, &mut values).unwrap();
        fence.wait(LONG).unwrap();
    }
    bench.set("delay_random", "");
    assert_eq!(early, 0, "told to be free while it was read");
    early
}

fn refusals(device: &Device, picture: &Picture) {
    let frame = picture.import(device);
    for (kind, status, says) in [
        (FenceKind::NONE, Status::INVALID, "no fence is none"),
        (
            FenceKind::SYNC_FILE,
            Status::NOT_SUPPORTED,
            "nothing of theirs signals a kernel fence",
        ),
        (
            FenceKind::CUDA_EVENT,
            Status::NOT_SUPPORTED,
            "HIP event and host fence can be",
        ),
        (
            FenceKind::DRM_SYNCOBJ,
            Status::NOT_SUPPORTED,
            "DRM syncobj cannot be signalled",
        ),
    ] {
        let error = frame.release_fence(kind).unwrap_err();
        assert_eq!(
            (error.status, error.subject.as_str()),
            (status, "kind"),
            "{error}"
        );
        assert!(error.message.contains(says), "{error}");
    }
}

/// Of a device that is lost nothing says that memory is free.
fn lost(bench: &Bench, device: &Device, picture: &Picture) {
    let frame = picture.import(device);
    let fences: [Fence; 2] = KINDS.map(|kind| frame.release_fence(kind).unwrap());
    let plan = plan(device, picture.format(), &["psnr"]).unwrap();
    let pair = FramePair {
        reference: Arc::new(Frame::from(picture.import(device))),
        distorted: Arc::new(Frame::from(frame)),
    };
    bench.set("lost_after", "0");
    // The call that finds it out, and lets go of the frames.
    let error = plan
        .submit(&FrameJob::new(0, pair, Vec::new()))
        .unwrap_err();
    assert_eq!(error.status, Status::DEVICE, "{error}");
    for fence in &fences {
        let error = fence.wait(LONG).unwrap_err();
        assert_eq!(error.status, Status::DEVICE, "{fence:?}: {error}");
    }
    drop(fences);
    bench.set("repair", "");
}

/// Planes in the device's memory.
struct Picture<'a> {
    bench: &'a Bench,
    planes: Vec<ImportPlane>,
}

impl<'a> Picture<'a> {
    fn new(bench: &'a Bench) -> Self {
        let mut planes = Vec::new();
        let mut picture = Picture {
            bench,
            planes: Vec::new(),
        };
        for index in 0..3 {
            let size = picture.format().plane_size(index);
            let bytes = size.width * size.height;
            let mut memory: *mut c_void = std::ptr::null_mut();
            // SAFETY: HIP's functions of these names have these types.
            unsafe {
                let library = bench.sim.library();
                let allocate = library
                    .get::<unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int>(b"hipMalloc\0");
                assert_eq!(allocate.unwrap()(&mut memory, bytes), 0);
                let fill = library.get::<unsafe extern "C" fn(*mut c_void, c_int, usize) -> c_int>(
                    b"hipMemset\0",
                );
                assert_eq!(fill.unwrap()(memory, 7 + index as c_int, bytes), 0);
            }
            planes.push(ImportPlane {
                handle: memory as u64,
                fd: -1,
                plane_index: 0,
                offset: 0,
                pitch: size.width as u64,
                modifier: 0,
                size: bytes as u64,
            });
        }
        bench.set("clear_log", "");
        picture.planes = planes;
        picture
    }

    fn format(&self) -> vmafx_api::FrameFormat {
        format(72, 52, 8)
    }

    fn import(&self, device: &Device) -> DeviceFrame {
        let (kind, fence) = (MemoryKind::DEVICE_POINTER, NativeFence::none());
        // SAFETY: planes of that format that nobody writes and that stay until this goes.
        unsafe {
            device.import(&ImportDescriptor::new(
                kind,
                self.format(),
                &self.planes,
                fence,
            ))
        }
        .unwrap()
    }
}

impl Drop for Picture<'_> {
    fn drop(&mut self) {
        for plane in &self.planes {
            // SAFETY: HIP's function of this name has this type; the frames of it are gone.
            unsafe {
                let library = self.bench.sim.library();
                let free = library.get::<unsafe extern "C" fn(*mut c_void) -> c_int>(b"hipFree\0");
                free.unwrap()(plane.handle as *mut c_void);
            }
        }
    }
}
