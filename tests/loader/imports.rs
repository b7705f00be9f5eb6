//! Frames that stay where their producer has them, through the plugin in Rust: its "device" reads
//! pointers into this process. Draft, as all that takes in frames of others.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use vmafx_api::{
    ApiError, Chroma, Device, DeviceFrame, Extractor, FenceKind, FenceState, Frame, FrameFormat,
    FrameJob, FramePair, HostFrame, ImportDescriptor, ImportPlane, MemoryKind, NativeFence,
    PlanRequest, Samples, Status, Value,
};

use crate::rig::{self, edge, frame};
use crate::workshop::{C, Workshop};
use crate::{Case, Checked, Child, checked, one};

pub(crate) const CASES: &[Case] = &[Case {
    name: "imports",
    set_up,
    child,
}];

fn set_up(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let rust = workshop.rust("edge_rust");
    std::fs::copy(&rust, room.join("one.so")).unwrap();
    std::fs::copy(&rust, room.join("other.so")).unwrap();
    std::fs::copy(workshop.outside(C[0], "c/edge.c"), room.join("c.so")).unwrap();
    one()
}

/// A producer's memory: luma with room behind every row, chroma without.
struct Producer {
    format: FrameFormat,
    planes: Vec<Vec<u16>>,
    strides: Vec<usize>,
}

impl Producer {
    /// The samples of a frame, which has words.
    fn new(frame: &HostFrame) -> Self {
        let view = frame.view();
        let (mut planes, mut strides) = (Vec::new(), Vec::new());
        for index in 0..frame.format().plane_count() {
            let plane = view.plane(index).unwrap();
            let Samples::U16(samples) = plane.samples() else {
                panic!("bytes")
            };
            let size = plane.size();
            let stride = size.width + if index == 0 { 11 } else { 0 };
            let mut memory = vec![0xffff; stride * size.height];
            for (row, samples) in memory
                .chunks_mut(stride)
                .zip(samples.chunks(plane.stride()))
            {
                row[..size.width].copy_from_slice(&samples[..size.width]);
            }
            planes.push(memory);
            strides.push(stride);
        }
        Producer {
            format: *frame.format(),
            planes,
            strides,
        }
    }

    fn planes(&self) -> Vec<ImportPlane> {
        let planes = self.planes.iter().zip(&self.strides);
        let plane = |(memory, stride): (&Vec<u16>, &usize)| ImportPlane {
            handle: memory.as_ptr() as u64,
            fd: -1,
            plane_index: 0,
            offset: 0,
            pitch: 2 * *stride as u64,
            modifier: 0,
            size: 2 * memory.len() as u64,
        };
        planes.map(plane).collect()
    }

    fn import(&self, device: &Device) -> Result<DeviceFrame, ApiError> {
        self.import_as(device, MemoryKind::DEVICE_POINTER, &self.planes())
    }

    fn import_as(
        &self,
        device: &Device,
        memory: MemoryKind,
        planes: &[ImportPlane],
    ) -> Result<DeviceFrame, ApiError> {
        // SAFETY: the planes are those of `self`, or are refused for what is wrong with them
        // before they are read; `self` outlives the frames (the tests drop them first).
        let descriptor =
            unsafe { ImportDescriptor::new(memory, self.format, planes, NativeFence::none()) };
        device.import(&descriptor)
    }
}

fn score(extractor: &Extractor, pair: FramePair) -> f64 {
    extractor.admits(&pair.reference).unwrap();
    extractor.admits(&pair.distorted).unwrap();
    let ticket = extractor
        .submit(&FrameJob::new(0, pair, Vec::new()))
        .unwrap();
    let mut values = [Value::default()];
    extractor.collect(ticket, &mut values).unwrap();
    values[0].as_score()
}

fn child(room: &Path, _: &str) {
    let device = rig::device(&room.join("one.so"));
    let counts = Counts::of(&room.join("one.so"));
    let format = FrameFormat::new(37, 19, Chroma::Yuv420, 10).unwrap();
    let extractor = device
        .prepare(&PlanRequest::new(format, &[edge(2)]))
        .unwrap();
    let clips = [frame(format, 0, false), frame(format, 0, true)];
    let producers = [Producer::new(&clips[0]), Producer::new(&clips[1])];
    let [reference, distorted] = clips.map(|frame| Arc::new(Frame::Host(frame)));
    let uploaded = score(
        &extractor,
        FramePair {
            reference,
            distorted,
        },
    );
    assert!(uploaded > 0.0);
    assert_eq!(counts.now(), [0, 0, 0]);

    // The plugin is given its own frames again, and reads the producer's memory.
    let import = |producer: &Producer| producer.import(&device).unwrap();
    let (reference, distorted) = (import(&producers[0]), import(&producers[1]));
    assert_eq!(
        (*reference.format(), reference.memory()),
        (format, MemoryKind::DEVICE_POINTER)
    );
    assert!(reference.device().is(&device));
    let fence = reference.release_fence(FenceKind::HOST).unwrap();
    assert_eq!(
        (fence.native().kind(), fence.native().fd()),
        (FenceKind::HOST, -1)
    );
    assert_eq!(fence.poll().unwrap(), FenceState::Pending);
    let waited = fence.wait(Duration::from_millis(1)).unwrap_err();
    assert_eq!(waited.status, Status::TIMEOUT, "{waited}");
    let pair = FramePair {
        reference: Arc::new(reference.into()),
        distorted: Arc::new(distorted.into()),
    };
    assert_eq!(
        score(&extractor, pair.clone()).to_bits(),
        uploaded.to_bits()
    );
    assert_eq!(counts.now(), [2, 0, 0]);

    // The frame is released once, when the last who has it lets go; then its fence is signalled.
    let kept = pair.reference.clone();
    drop(pair);
    assert_eq!(
        (counts.now(), fence.poll().unwrap()),
        ([2, 1, 0], FenceState::Pending)
    );
    drop(kept);
    assert_eq!(
        (counts.now(), fence.poll().unwrap()),
        ([2, 2, 0], FenceState::Signalled)
    );
    fence.wait(Duration::ZERO).unwrap();
    let exported = fence.export(FenceKind::SYNC_FILE).unwrap_err();
    assert_eq!(
        (exported.status, &*exported.subject),
        (Status::NOT_SUPPORTED, "kind")
    );
    drop(fence);
    assert_eq!(counts.now(), [2, 2, 1]);

    // The device closes after what was made of it, in whatever order the program lets go.
    let last = import(&producers[0]);
    drop((extractor, device));
    drop(last);
    assert_eq!(counts.now(), [3, 3, 1]);
    checked(Checked::Scored, "frames of others");

    refusals(room, &producers[0]);
    strangers(room, &producers[0]);
}

/// A description that the device cannot take says which field it is.
fn refusals(room: &Path, producer: &Producer) {
    let device = rig::device(&room.join("one.so"));
    let refused = |memory, planes: &[ImportPlane]| {
        let error = producer.import_as(&device, memory, planes).unwrap_err();
        (error.status, error.subject)
    };
    let planes = producer.planes();
    let changed = |change: fn(&mut ImportPlane)| {
        let mut planes = planes.clone();
        change(&mut planes[1]);
        refused(MemoryKind::DEVICE_POINTER, &planes)
    };
    let plane = || (Status::INVALID, "desc.plane[1]".to_owned());
    let dma_buf = refused(MemoryKind::DMA_BUF, &planes);
    assert_eq!(dma_buf, (Status::NOT_SUPPORTED, "desc.memory".to_owned()));
    let count = refused(MemoryKind::DEVICE_POINTER, &planes[..2]);
    assert_eq!(count, (Status::INVALID, "desc.plane_count".to_owned()));
    let four = refused(MemoryKind::DEVICE_POINTER, &[planes[0]; 4]);
    assert_eq!(four, (Status::INVALID, "desc.plane_count".to_owned()));
    assert_eq!(changed(|plane| plane.pitch = 4), plane());
    assert_eq!(changed(|plane| plane.handle = 0), plane());
    assert_eq!(changed(|plane| plane.modifier = 1), plane());
    let counts = Counts::of(&room.join("one.so")).now();
    assert_eq!(counts[0], counts[1], "a refused frame is a frame");
}

/// A frame of one backend is no frame of another: not of another language, and not of the same
/// code in another library.
fn strangers(room: &Path, producer: &Producer) {
    let device = rig::device(&room.join("one.so"));
    let frame = Arc::new(Frame::Device(producer.import(&device).unwrap()));
    for (library, words) in [
        ("other.so", "and this backend did not import them"),
        ("c.so", "host memory is read and no other"),
    ] {
        let other = rig::device(&room.join(library));
        let extractor = other
            .prepare(&PlanRequest::new(producer.format, &[edge(1)]))
            .unwrap();
        let error = extractor.admits(&frame).unwrap_err();
        assert_eq!(error.status, Status::NOT_SUPPORTED, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(
            error.message.ends_with("the frame is of edge-rust:0"),
            "{error}"
        );
    }
    // Whoever submits it unasked is refused as well, where the code can tell.
    let other = rig::device(&room.join("other.so"));
    let extractor = other
        .prepare(&PlanRequest::new(producer.format, &[edge(1)]))
        .unwrap();
    let pair = FramePair {
        reference: frame.clone(),
        distorted: frame.clone(),
    };
    let error = extractor
        .submit(&FrameJob::new(0, pair, Vec::new()))
        .unwrap_err();
    assert_eq!(error.status, Status::NOT_SUPPORTED, "{error}");
    // A device of the same backend takes it: the frame is the backend's.
    let twin = device
        .backend()
        .open(&vmafx_api::OpenRequest::new(0))
        .unwrap();
    let extractor = twin
        .prepare(&PlanRequest::new(producer.format, &[edge(1)]))
        .unwrap();
    extractor.admits(&frame).unwrap();
    checked(Checked::Contained, "frames of another backend");
}

/// The plugin's own counts of frames imported, frames released and fences destroyed.
struct Counts {
    function: unsafe extern "C" fn(u32) -> u64,
}

impl Counts {
    fn of(library: &Path) -> Self {
        // SAFETY: the library is open already, so that nothing of it runs; it stays open.
        let library = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_LOCAL) }.unwrap();
        // SAFETY: the symbol is of this type in `tests/plugins/rust`.
        let function = *unsafe { library.get(b"edge_rust_count\0") }.unwrap();
        Counts { function }
    }

    fn now(&self) -> [u64; 3] {
        // SAFETY: the function takes any number, and its library is never closed.
        [0, 1, 2].map(|which| unsafe { (self.function)(which) })
    }
}
