//! A simulated runtime of this test's own with the backend over it, and frames to score.

use std::sync::Arc;

use serde_json::Value as Json;
use tempfile::TempDir;
use vmafx_api::{
    ApiError, Backend, Chroma, Device, Extractor, FeatureRequest, Frame, FrameFormat, FrameJob,
    FramePair, HostFrame, OpenRequest, PlanRequest, Value,
};
use vmafx_backend_hip::Hip;
use vmafx_gpu::GpuBackend;
use vmafx_hipsim::install::{Simulator, install};
use vmafx_metrics::{Options, find, psnr};

pub(crate) struct Machine {
    pub(crate) backend: Backend,
    pub(crate) sim: Simulator,
    _folder: TempDir,
}

impl Machine {
    /// A machine with this version of ROCm and a device of this target; nothing if the backend
    /// was built without device code.
    pub(crate) fn new(rocm: &str, gfx: &str) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let file = install(folder.path(), rocm).unwrap();
        let sim = Simulator::open(&file).unwrap();
        assert!(sim.control("gfx", gfx));
        // SAFETY: the simulator's functions have the runtime's types.
        let hip = unsafe { Hip::with_library(&file) };
        let backend = Backend::new(GpuBackend::new(hip)).unwrap();
        let machine = Machine {
            backend,
            sim,
            _folder: folder,
        };
        match machine.backend.devices() {
            Err(error) if error.subject == "device code" => {
                let said = "built without device code; run `cargo xtask kernels` and build again";
                assert_eq!(error.message, said);
                eprintln!("not run: {error}");
                None
            }
            _ => Some(machine),
        }
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        assert!(self.sim.control(name, value), "{name}={value}");
    }

    pub(crate) fn counts(&self) -> Json {
        self.sim.json("counts")
    }

    pub(crate) fn device(&self) -> Device {
        self.backend.open(&OpenRequest::new(0)).unwrap()
    }

    /// The refusal of opening the first device.
    pub(crate) fn refusal(&self) -> ApiError {
        self.backend.open(&OpenRequest::new(0)).unwrap_err()
    }
}

/// The feature psnr with chroma and exact sums.
pub(crate) fn feature() -> FeatureRequest {
    options().request()
}

fn options() -> Options {
    Options::defaults(find("psnr").unwrap().definition())
}

pub(crate) fn plan(device: &Device, format: FrameFormat) -> Result<Extractor, ApiError> {
    device.prepare(&PlanRequest::new(format, &[feature()]))
}

pub(crate) fn format(width: u32, height: u32, chroma: Chroma, depth: u32) -> FrameFormat {
    FrameFormat::new(width, height, chroma, depth).unwrap()
}

/// Reproducible noise over the full range.
pub(crate) fn noise(format: FrameFormat, seed: u64) -> Arc<Frame> {
    let mut frame = HostFrame::new(format);
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as u32 & format.peak()
    };
    match format.depth() {
        8 => {
            let bytes = frame.bytes_mut().iter_mut();
            bytes.for_each(|sample| *sample = next() as u8);
        }
        _ => {
            let words = frame.words_mut().iter_mut();
            words.for_each(|sample| *sample = next() as u16);
        }
    }
    Arc::new(frame.into())
}

/// Job `index`, over two frames of noise.
pub(crate) fn job(format: FrameFormat, index: u64) -> FrameJob {
    let pair = FramePair {
        reference: noise(format, 2 * index + 1),
        distorted: noise(format, 2 * index + 2),
    };
    FrameJob::new(index, pair, Vec::new())
}

pub(crate) fn collect(plan: &Extractor, job: &FrameJob) -> Result<Vec<Value>, ApiError> {
    let ticket = plan.submit(job)?;
    let mut values = vec![Value::default(); plan.columns()];
    plan.collect(ticket, &mut values)?;
    Ok(values)
}

/// What the scalar reference makes of job `index`.
pub(crate) fn expected(format: FrameFormat, index: u64, columns: usize) -> Vec<Value> {
    let frames = [1, 2].map(|n| noise(format, 2 * index + n));
    let [a, b] = frames.each_ref().map(|frame| frame.host().unwrap());
    let mut sums = psnr::Sums::default();
    for plane in 0..format.plane_count() {
        sums.sse[plane] = psnr::reference(a.plane(plane).unwrap(), b.plane(plane).unwrap());
    }
    let settings = psnr::Settings::new(&options(), &format);
    let mut values = vec![Value::default(); columns];
    psnr::finish(&sums, &settings, &mut values);
    values
}
