//! A child's machine: the HIP plugin, loaded from its manifest, over a simulator of its own; clips
//! to score and what the CPU makes of them.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value as Json;
use vmafx_api::loader::{LoadRecord, LoadedBackend, Loader, Machine, Probe, set_log};
use vmafx_api::{
    ApiError, Backend, Chroma, Device, DeviceFrame, Extractor, FeatureRequest, Frame, FrameFormat,
    FrameJob, FramePair, HostFrame, ImportDescriptor, ImportPlane, LogLevel, MemoryKind,
    NativeFence, OpenRequest, PlanRequest, Samples, Status, Value,
};
use vmafx_backend_cpu::CpuBackend;
use vmafx_conformance::{DeviceMemory, MemoryLayout};
use vmafx_hipsim::install::Simulator;
use vmafx_metrics::{Options, find};

/// Names the HIP runtime that the plugin opens.
pub(crate) const RUNTIME: &str = "VMAFX_HIP_LIBRARY";
/// Names the folder of device code and of the kernels that the simulator runs.
pub(crate) const KERNELS: &str = "VMAFX_KERNELS";
/// Every feature that has kernels.
pub(crate) const FEATURES: [&str; 5] = ["vif", "adm", "motion", "motion_v2", "psnr"];

/// The machine.
pub(crate) struct Bench {
    pub(crate) sim: Arc<Simulator>,
    pub(crate) loaded: LoadedBackend,
    pub(crate) record: LoadRecord,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    /// Opens the simulator and loads the plugin of the folder.
    pub(crate) fn open(room: &Path) -> Self {
        let runtime = PathBuf::from(std::env::var_os(RUNTIME).unwrap());
        let sim = Arc::new(Simulator::open(&runtime).unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        set_log(Some(Arc::new(move |level, origin, line| {
            let line = format!("{level} of {origin}: {line}");
            eprintln!("{line}");
            if level <= LogLevel::WARNING {
                kept.lock().unwrap().push(line);
            }
        })));
        let probe = Probe::new(std::env::current_exe().unwrap(), ["probe"]);
        let loader = Loader::new(machine(room)).with_probe(probe.with_timeout(LONG));
        let mut found = loader.load();
        let place = found.backends.iter().position(|one| one.id() == "hip");
        let place = place.unwrap_or_else(|| panic!("{:#?}", found.records));
        let is_hip = |record: &&LoadRecord| record.backend.as_deref() == Some("hip");
        Bench {
            record: found.records.iter().find(is_hip).unwrap().clone(),
            loaded: found.backends.swap_remove(place),
            sim,
            lines,
        }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.loaded.backend
    }

    /// Opens the device.
    pub(crate) fn device(&self) -> Result<Device, ApiError> {
        self.backend().open(&OpenRequest::new(0))
    }

    /// Changes a setting of the simulator, or does what it is told.
    pub(crate) fn set(&self, name: &str, value: &str) {
        assert!(self.sim.control(name, value), "{name}={value}");
    }

    /// What the device did since its log was emptied.
    pub(crate) fn counts(&self) -> Json {
        self.sim.json("counts")
    }

    /// What the simulator found wrong with the use of it.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let troubles = self.counts()["troubles"].clone();
        serde_json::from_value(troubles).unwrap()
    }

    /// Names of the kernels that ran since the log was emptied.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let counts = self.counts();
        counts["launches"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    }

    /// Waits until nothing is under way on the device, also on one that is lost.
    pub(crate) fn come_to_rest(&self) {
        // SAFETY: HIP's function of this name has this type.
        unsafe {
            let wait = self
                .sim
                .library()
                .get::<unsafe extern "C" fn() -> c_int>(b"hipDeviceSynchronize\0");
            wait.unwrap()();
        }
    }

    /// What the plugin holds of the runtime: bytes and objects, in one text to compare.
    pub(crate) fn holdings(&self) -> String {
        let memory = self.sim.json("memory");
        let live = |kind: &str| format!("{}={}", kind, memory[kind]["bytes"]);
        format!(
            "{} {} {}",
            live("device"),
            live("pinned"),
            self.sim.query("objects")
        )
    }

    /// The warnings that the plugin wrote to the host's log, which is emptied.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

const LONG: Duration = Duration::from_secs(60);

/// A machine whose files are in `room`.
pub(crate) fn machine(room: &Path) -> Machine {
    vmafx_tests::machine::machine(room).unwrap()
}

/// Prints why the plugin has no device code, if it has none.
pub(crate) fn tell_of_device_code(room: &Path) {
    let bench = Bench::open(room);
    match bench.backend().devices() {
        Err(error) if error.subject == "device code" => println!("missing: {error}"),
        answer => assert_eq!(answer.unwrap().len(), 1),
    }
}

/// The CPU, opened once.
pub(crate) fn cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(|| {
        let backend = Backend::new(CpuBackend::new()).unwrap();
        backend.open(&OpenRequest::new(0)).unwrap()
    })
}

/// A plan of features at their defaults.
pub(crate) fn plan(
    device: &Device,
    format: FrameFormat,
    features: &[&str],
) -> Result<Extractor, ApiError> {
    let request = |name: &&str| -> FeatureRequest {
        let metric = find(name).unwrap();
        Options::defaults(metric.definition()).request()
    };
    let requests: Vec<_> = features.iter().map(request).collect();
    device.prepare(&PlanRequest::new(format, &requests))
}

pub(crate) fn format(width: u32, height: u32, depth: u32) -> FrameFormat {
    FrameFormat::new(width, height, Chroma::Yuv420, depth).unwrap()
}

/// Frames of one format that show different things, and what the CPU makes of them.
pub(crate) struct Clip {
    pairs: Vec<FramePair>,
    expected: Vec<Vec<Value>>,
}

impl Clip {
    /// `frames` frames of `format`, scored for `features`.
    pub(crate) fn new(format: FrameFormat, features: &[&str], frames: u64) -> Self {
        let plan = plan(cpu(), format, features).unwrap();
        Self::of(frames, &plan, |t, distorted| picture(format, t, distorted))
    }

    /// `frames` frames that `make` makes, the distorted ones where it is told so, and what `plan`
    /// makes of them.
    pub(crate) fn of(frames: u64, plan: &Extractor, make: impl Fn(u64, bool) -> HostFrame) -> Self {
        let one = |t, distorted| Arc::new(Frame::from(make(t, distorted)));
        let pairs = (0..frames).map(|t| FramePair {
            reference: one(t, false),
            distorted: one(t, true),
        });
        let mut clip = Clip {
            pairs: pairs.collect(),
            expected: Vec::new(),
        };
        clip.expected = clip.scored(plan).unwrap();
        clip
    }

    /// What is right, by frame and column.
    pub(crate) fn expected(&self) -> &[Vec<Value>] {
        &self.expected
    }

    /// The same clip with frames in the memory of a device.
    pub(crate) fn placed(&self, device: &Device, memory: &Memory, layout: MemoryLayout) -> Self {
        self.with_frames(|frame| match frame {
            Frame::Host(host) => {
                let placed = memory.place(device, host, layout).unwrap();
                Arc::new(Frame::from(placed))
            }
            _ => panic!("the frame is elsewhere"),
        })
    }

    /// The same clip with other frames of the same samples.
    pub(crate) fn with_frames(&self, mut make: impl FnMut(&Frame) -> Arc<Frame>) -> Self {
        let pairs = self.pairs.iter().map(|pair| FramePair {
            reference: make(&pair.reference),
            distorted: make(&pair.distorted),
        });
        Clip {
            pairs: pairs.collect(),
            expected: self.expected.clone(),
        }
    }

    fn job(&self, t: usize, history: usize) -> FrameJob {
        let earlier = self.pairs[..t].iter().rev().take(history);
        FrameJob::new(t as u64, self.pairs[t].clone(), earlier.cloned().collect())
    }

    /// The values of all frames, as many of them in flight as the plan wants.
    pub(crate) fn scored(&self, plan: &Extractor) -> Result<Vec<Vec<Value>>, ApiError> {
        let mut waiting = VecDeque::new();
        let mut values = Vec::new();
        for t in 0..self.pairs.len() {
            if waiting.len() == plan.in_flight().max(1) {
                values.push(collect(plan, waiting.pop_front().unwrap())?);
            }
            waiting.push_back(plan.submit(&self.job(t, plan.history()))?);
        }
        for ticket in waiting {
            values.push(collect(plan, ticket)?);
        }
        Ok(values)
    }

    /// The values of one frame, with nothing else in flight.
    pub(crate) fn frame(&self, plan: &Extractor, t: usize) -> Result<Vec<Value>, ApiError> {
        collect(plan, plan.submit(&self.job(t, plan.history()))?)
    }

    /// Scores all frames and checks every value. `how` is told of one that is wrong.
    pub(crate) fn check(&self, plan: &Extractor, how: &str) -> Result<(), ApiError> {
        let values = self.scored(plan)?;
        for (t, (values, expected)) in values.iter().zip(&self.expected).enumerate() {
            let wrong = values.iter().zip(expected).position(|(a, b)| a != b);
            if let Some(column) = wrong {
                let (found, wanted) = (values[column], expected[column]);
                panic!("{how}: column {column} of frame {t} is {found:?}, the CPU has {wanted:?}");
            }
        }
        assert_eq!(values.len(), self.expected.len(), "{how}");
        Ok(())
    }
}

fn collect(plan: &Extractor, ticket: vmafx_api::Ticket) -> Result<Vec<Value>, ApiError> {
    let mut values = vec![Value::default(); plan.columns()];
    plan.collect(ticket, &mut values)?;
    Ok(values)
}

/// Blocks over a slope with noise, moved from frame to frame; the distorted one has fewer levels.
pub(crate) fn picture(format: FrameFormat, t: u64, distorted: bool) -> HostFrame {
    let peak = u64::from(format.peak());
    let mut noise = 0x9e37_79b9_7f4a_7c15 ^ (t << 20) ^ u64::from(distorted);
    frame_of(format, |plane, x, y| {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = x + 3 * t;
        let scene = (x / 9 + y / 7 + plane) % 3 * peak / 6 + (x * 5 + y * 3) % 128 * peak / 256;
        let step = if distorted { peak / 24 + 1 } else { 1 };
        (scene / step * step + (noise >> 40) % (peak / 20 + 1)).min(peak)
    })
}

/// A frame of the samples that `sample` has for a plane, a column and a row, row by row.
pub(crate) fn frame_of(
    format: FrameFormat,
    mut sample: impl FnMut(u64, u64, u64) -> u64,
) -> HostFrame {
    let mut samples = Vec::with_capacity(format.frame_samples());
    for plane in 0..format.plane_count() {
        let size = format.plane_size(plane);
        for y in 0..size.height as u64 {
            samples.extend((0..size.width as u64).map(|x| sample(plane as u64, x, y)));
        }
    }
    let mut frame = HostFrame::new(format);
    match format.sample_bytes() {
        1 => (frame.bytes_mut().iter_mut().zip(samples)).for_each(|(to, s)| *to = s as u8),
        _ => (frame.words_mut().iter_mut().zip(samples)).for_each(|(to, s)| *to = s as u16),
    }
    frame
}

/// Memory of the simulated device for frames, freed when this goes.
pub(crate) struct Memory {
    sim: Arc<Simulator>,
    /// For copies; the default stream is nobody's.
    stream: usize,
    taken: Mutex<Vec<usize>>,
}

/// `hipStreamNonBlocking`.
pub(crate) const NON_BLOCKING: u32 = 1;

impl Memory {
    pub(crate) fn of(bench: &Bench) -> Self {
        let mut stream = 0;
        // SAFETY: HIP's function of this name has this type; the room is one handle's.
        unsafe {
            let create = bench
                .sim
                .library()
                .get::<unsafe extern "C" fn(*mut usize, u32) -> c_int>(
                    b"hipStreamCreateWithFlags\0",
                );
            assert_eq!(create.unwrap()(&mut stream, NON_BLOCKING), 0);
        }
        Memory {
            sim: bench.sim.clone(),
            stream,
            taken: Mutex::default(),
        }
    }

    /// A copy of `bytes` in the device's memory.
    fn copy(&self, bytes: &[u8]) -> usize {
        const TO_DEVICE: c_int = 1;
        let mut memory: *mut c_void = std::ptr::null_mut();
        let library = self.sim.library();
        // SAFETY: HIP's functions of these names have these types; the memory has room for the
        // bytes, and the copy is complete when the call returns.
        unsafe {
            let allocate = library
                .get::<unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int>(b"hipMalloc\0")
                .unwrap();
            let copy = library
                .get::<unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, usize) -> c_int>(
                    b"hipMemcpyWithStream\0",
                )
                .unwrap();
            assert_eq!(allocate(&mut memory, bytes.len()), 0);
            assert_eq!(
                copy(
                    memory,
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    TO_DEVICE,
                    self.stream
                ),
                0
            );
        }
        self.taken.lock().unwrap().push(memory as usize);
        memory as usize
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: HIP's function of this name has this type; the stream is done.
        unsafe {
            let destroy = self
                .sim
                .library()
                .get::<unsafe extern "C" fn(usize) -> c_int>(b"hipStreamDestroy\0");
            destroy.unwrap()(self.stream);
        }
        for memory in self.taken.lock().unwrap().drain(..) {
            // SAFETY: HIP's function of this name has this type; the frames that lay here are gone.
            unsafe {
                let free = self
                    .sim
                    .library()
                    .get::<unsafe extern "C" fn(usize) -> c_int>(b"hipFree\0");
                free.unwrap()(memory);
            }
        }
    }
}

impl DeviceMemory for Memory {
    fn place(
        &self,
        device: &Device,
        frame: &HostFrame,
        layout: MemoryLayout,
    ) -> Result<DeviceFrame, ApiError> {
        let format = *frame.format();
        let bytes = format.sample_bytes();
        let view = frame.view();
        let mut planes = Vec::new();
        for index in 0..format.plane_count() {
            let plane = view.plane(index).ok_or_else(|| {
                ApiError::new(Status::INTERNAL, "frame", format!("no plane {index}"))
            })?;
            let (width, height) = (plane.size().width, plane.size().height);
            let (offset, pitch) = (layout.offset, width + layout.padding);
            // What lies between rows is noise within the depth.
            let noise = |at: usize| ((at * 2_654_435_761) >> 7) as u32 & format.peak();
            let mut stored: Vec<u32> = (0..offset + pitch * height).map(noise).collect();
            for y in 0..height {
                let from = y * plane.stride();
                let to = &mut stored[offset + y * pitch..][..width];
                match plane.samples() {
                    Samples::U8(all) => to
                        .iter_mut()
                        .zip(&all[from..])
                        .for_each(|(to, &sample)| *to = u32::from(sample)),
                    Samples::U16(all) => to
                        .iter_mut()
                        .zip(&all[from..])
                        .for_each(|(to, &sample)| *to = u32::from(sample)),
                }
            }
            // Nothing is there behind the last row.
            stored.truncate(offset + pitch * (height - 1) + width);
            let stored: Vec<u8> = match bytes {
                1 => stored.iter().map(|&sample| sample as u8).collect(),
                _ => stored
                    .iter()
                    .flat_map(|&sample| (sample as u16).to_ne_bytes())
                    .collect(),
            };
            planes.push(ImportPlane {
                handle: self.copy(&stored) as u64,
                fd: -1,
                plane_index: 0,
                offset: (offset * bytes) as u64,
                pitch: (pitch * bytes) as u64,
                modifier: 0,
                size: stored.len() as u64,
            });
        }
        let (kind, fence) = (MemoryKind::DEVICE_POINTER, NativeFence::none());
        // SAFETY: planes of that format in memory that nobody writes again and that stays until
        // this goes, which whoever places frames lets outlive them.
        let descriptor = unsafe { ImportDescriptor::new(kind, format, &planes, fence) };
        device.import(&descriptor)
    }
}
