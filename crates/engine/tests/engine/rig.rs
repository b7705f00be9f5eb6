//! What the tests share: two small metrics, a backend that computes and misbehaves as told, and
//! clips.
//!
//! `probe` is the first luma sample of the reference minus that of the distorted frame, times
//! an option; `probe_next`, known one frame later, is the value of the next frame, and of the
//! last frame its own. `step` is how far the first sample of the reference moved since the frame
//! before; it sees every frame and adds up. A probe of [`NONE`] is not given at all.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::time::Duration;

use vmafx_api::{
    ApiError, Backend, BackendImpl, BackendInfo, Chroma, DeviceFrame, DeviceFrameImpl, DeviceImpl,
    DeviceInfo, ExtractorImpl, FeatureDescription, FeatureRequest, FenceKind, FenceState,
    FrameFormat, FramePool, FrameRef, HostFrame, ImportDescriptor, ImportImpl, Job, MemoryKind,
    MemoryKinds, NativeFence, OpenRequest, PlanRequest, Samples, Status, Support, Ticket, Value,
};
use vmafx_engine::{Context, EngineError, FeatureSpec, Outcome, OutputFormat, Precision, Request};
use vmafx_metrics::{
    Aggregate, Clip, Column, Definition, Emission, Entry, Exactness, Metric, OptionInfo, Options,
    Output, Planes, ScoreInfo,
};

/// A probe that counts as absent.
pub(crate) const NONE: f64 = -999.0;

pub(crate) struct Probe;
pub(crate) struct Step;

inventory::submit!(Entry(&Probe));
inventory::submit!(Entry(&Step));

const PROBE_OUTPUTS: &[Output] = &[
    Output {
        internal: "test_probe",
        name: "probe",
    },
    Output {
        internal: "test_probe_next",
        name: "probe_next",
    },
];
const STEP: Output = Output {
    internal: "test_step",
    name: "step",
};

static PROBE: Definition = Definition {
    name: "probe",
    version: 1,
    summary: "difference of the first samples",
    source: "this file",
    min_size: (16, 16),
    planes: Planes::Luma,
    options: &[
        OptionInfo::number("gain", (1.0, 0.0, 10.0), "factor").in_names("g"),
        OptionInfo {
            alias: "q",
            ..OptionInfo::switch("quiet", false, "nothing")
        },
    ],
    outputs: PROBE_OUTPUTS,
    aggregates: &[],
    exactness: Exactness::Equal,
    every_frame: false,
};

static STEP_DEFINITION: Definition = Definition {
    name: "step",
    version: 1,
    summary: "motion of the first sample",
    source: "this file",
    min_size: (1, 1),
    planes: Planes::Luma,
    options: &[],
    outputs: &[STEP],
    aggregates: &["steps"],
    exactness: Exactness::Equal,
    every_frame: true,
};

impl Metric for Probe {
    fn definition(&self) -> &'static Definition {
        &PROBE
    }

    fn columns(&self, _format: &FrameFormat, _options: &Options) -> Vec<Column> {
        vec![Column::Score(PROBE_OUTPUTS[0])]
    }

    fn clip(&self, _format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        Box::new(ProbeClip {
            scores: [0, 1].map(|i| ScoreInfo {
                name: options.score_name(&PROBE_OUTPUTS[i]),
                late: i == 1,
            }),
            last: None,
        })
    }
}

struct ProbeClip {
    scores: [ScoreInfo; 2],
    last: Option<(u64, f64)>,
}

impl Clip for ProbeClip {
    fn scores(&self) -> &[ScoreInfo] {
        &self.scores
    }

    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission)) {
        let value = values[0].as_score();
        if value == NONE {
            return;
        }
        emit(Emission {
            frame,
            score: 0,
            value,
        });
        if let Some((frame, _)) = self.last.replace((frame, value)) {
            emit(Emission {
                frame,
                score: 1,
                value,
            });
        }
    }

    fn finish(&mut self, emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate> {
        if let Some((frame, value)) = self.last.take() {
            emit(Emission {
                frame,
                score: 1,
                value,
            });
        }
        Vec::new()
    }
}

impl Metric for Step {
    fn definition(&self) -> &'static Definition {
        &STEP_DEFINITION
    }

    fn columns(&self, _format: &FrameFormat, _options: &Options) -> Vec<Column> {
        vec![Column::Count("step")]
    }

    fn history(&self, _options: &Options) -> usize {
        1
    }

    fn clip(&self, _format: &FrameFormat, _options: &Options) -> Box<dyn Clip> {
        Box::new(StepClip {
            scores: [ScoreInfo {
                name: "step".to_owned(),
                late: false,
            }],
            total: 0,
        })
    }
}

struct StepClip {
    scores: [ScoreInfo; 1],
    total: u64,
}

impl Clip for StepClip {
    fn scores(&self) -> &[ScoreInfo] {
        &self.scores
    }

    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission)) {
        let value = values[0].as_count();
        self.total += value;
        emit(Emission {
            frame,
            score: 0,
            value: value as f64,
        });
    }

    fn finish(&mut self, _emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate> {
        vec![Aggregate {
            name: "steps".to_owned(),
            value: self.total as f64,
        }]
    }
}

/// How a [`Fake`] behaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    /// Features that it does not take, with the reason.
    pub(crate) refuses: Vec<(&'static str, &'static str)>,
    /// Frames on which it fails.
    pub(crate) fails: Vec<u64>,
    /// Frame on which it panics.
    pub(crate) panics: Option<u64>,
    /// Frame whose probe has another value, by number.
    pub(crate) values: Vec<(u64, f64)>,
    /// Whether each frame takes another time.
    pub(crate) jitter: bool,
    /// Whether the runtime is out of order.
    pub(crate) silent: bool,
    /// Whether there is no runtime on this machine.
    pub(crate) absent: bool,
    /// Values a frame that the plan says it gives, if that is a lie.
    pub(crate) lies: Option<usize>,
    /// Where it comes among backends.
    pub(crate) priority: i32,
    /// Whether its device is counted and does not open.
    pub(crate) gone: bool,
    /// Where its device reads frames, if not in host memory.
    pub(crate) reads: Option<MemoryKind>,
    /// Features that it brings along.
    pub(crate) describes: Vec<FeatureDescription>,
    /// Frames that its device wants in flight, if several.
    pub(crate) in_flight: Option<usize>,
    /// Frames that it says it computed again.
    pub(crate) repeats: u64,
    /// Frames on which it fails when they are collected.
    pub(crate) fails_late: Vec<u64>,
    /// What is on the devices that share it.
    pub(crate) traffic: Arc<Traffic>,
    /// Who is told of every frame whose work begins.
    pub(crate) started: Option<mpsc::Sender<u64>>,
    /// Counts how often it is asked for its devices or to open one.
    pub(crate) asked: Arc<AtomicUsize>,
}

/// What devices are given and asked for, and when they answer.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Whether [`Traffic::hold`] is in force.
    held: bool,
    /// Frames that devices must have been given before the first answer.
    wanted: usize,
    /// Frames given to devices that want several in flight.
    pub(crate) submitted: usize,
    /// Those of them that were not collected.
    pub(crate) on_device: usize,
    pub(crate) most_on_device: usize,
}

impl Traffic {
    /// Longest that anybody waits, which only a run that does not go on does.
    pub(crate) const LIMIT: Duration = Duration::from_secs(20);

    /// Traffic in which no device answers before it was given `wanted` frames.
    pub(crate) fn wanting(wanted: usize) -> Arc<Self> {
        let traffic = Traffic::default();
        traffic.lock().wanted = wanted;
        Arc::new(traffic)
    }

    /// Whoever submits waits, until [`release`](Traffic::release).
    pub(crate) fn hold(&self) {
        self.lock().held = true;
    }

    pub(crate) fn release(&self) {
        self.change(|counts| counts.held = false);
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `holds`, but not for ever.
    fn wait(&self, holds: impl Fn(&Counts) -> bool) -> Result<(), ApiError> {
        let waiting = |counts: &mut Counts| !holds(counts);
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), Traffic::LIMIT, waiting)
            .unwrap();
        match waited.1.timed_out() {
            true => Err(ApiError::new(Status::TIMEOUT, "device", "nobody goes on")),
            false => Ok(()),
        }
    }

    /// A frame comes to a device that wants `in_flight` frames, or to one that works at once.
    fn submit(&self, in_flight: Option<usize>) -> Result<(), ApiError> {
        self.wait(|counts| !counts.held)?;
        match in_flight {
            Some(_) => self.change(|counts| {
                counts.submitted += 1;
                counts.on_device += 1;
                counts.most_on_device = counts.most_on_device.max(counts.on_device);
            }),
            // One that works at once is another's excuse to be idle.
            None => self.wait(|counts| counts.submitted >= counts.wanted)?,
        }
        Ok(())
    }

    fn collect(&self, in_flight: Option<usize>) -> Result<(), ApiError> {
        if in_flight.is_some() {
            let waited = self.wait(|counts| counts.submitted >= counts.wanted);
            self.change(|counts| counts.on_device -= 1);
            waited?;
        }
        Ok(())
    }
}

/// A backend that behaves as told.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    info: BackendInfo,
    behaviour: Behaviour,
}

impl Fake {
    pub(crate) fn named(id: &str, behaviour: Behaviour) -> Backend {
        let mut info = BackendInfo::new(id, "a fake", "7.0");
        info.priority = behaviour.priority;
        info.features.clone_from(&behaviour.describes);
        Backend::new(Fake { info, behaviour }).unwrap()
    }
}

/// A list of one backend that behaves as told.
pub(crate) fn fake(behaviour: Behaviour) -> Vec<Backend> {
    vec![Fake::named("fake", behaviour)]
}

impl BackendImpl for Fake {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        self.behaviour.asked.fetch_add(1, Ordering::SeqCst);
        if self.behaviour.absent {
            let message = "no libfake.so.1 in the library path";
            return Err(ApiError::new(Status::NOT_FOUND, "fake runtime", message));
        }
        match self.behaviour.silent {
            true => Err(ApiError::new(
                Status::DEVICE,
                "runtime",
                "no driver is loaded",
            )),
            false => Ok(vec![DeviceImpl::info(self)]),
        }
    }

    fn open(&self, _request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        self.behaviour.asked.fetch_add(1, Ordering::SeqCst);
        match self.behaviour.gone {
            true => Err(ApiError::new(
                Status::NOT_FOUND,
                "index",
                "it was unplugged",
            )),
            false => Ok(Box::new(self.clone())),
        }
    }
}

impl DeviceImpl for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo::new("fake processor", "f1")
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        _format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        let name = feature.feature.as_str();
        let Behaviour {
            refuses, describes, ..
        } = &self.behaviour;
        let refused = refuses.iter().find(|(refused, _)| *refused == name);
        let described = describes.iter().any(|described| described.name == name);
        match refused {
            Some((_, reason)) => Err(ApiError::new(Status::NOT_SUPPORTED, name, *reason)),
            None if described || ["probe", "step"].contains(&name) => {
                let mut support = Support::host();
                if let Some(kind) = self.behaviour.reads {
                    support.memory_kinds = MemoryKinds::of(&[kind]);
                }
                Ok(support)
            }
            None => Err(ApiError::new(
                Status::NOT_FOUND,
                name,
                "not a feature of the fake",
            )),
        }
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        let features = plan.features.iter().map(|feature| {
            let metric = vmafx_metrics::find(&feature.feature);
            metric.map(|metric| Options::from_request(metric.definition(), feature).unwrap())
        });
        Ok(Box::new(FakePlan {
            features: features.collect(),
            behaviour: self.behaviour.clone(),
            results: Mutex::default(),
        }))
    }

    fn import(&self) -> Option<&dyn ImportImpl> {
        Some(self)
    }
}

struct FakePlan {
    /// The options of a feature of this file, `None` for one that the fake describes.
    features: Vec<Option<Options>>,
    behaviour: Behaviour,
    results: Mutex<std::collections::HashMap<u64, Vec<Value>>>,
}

/// A frame that is nowhere.
#[derive(Debug)]
struct Nowhere(FrameFormat);

impl DeviceFrameImpl for Nowhere {
    fn format(&self) -> FrameFormat {
        self.0
    }

    fn release_fence(&self, _kind: FenceKind) -> Result<NativeFence, ApiError> {
        Ok(NativeFence::none())
    }
}

impl ImportImpl for Fake {
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError> {
        Ok(Box::new(Nowhere(*frame.format())))
    }

    fn fence_poll(&self, _fence: &NativeFence) -> Result<FenceState, ApiError> {
        Ok(FenceState::Signalled)
    }

    fn fence_wait(&self, _fence: &NativeFence, _timeout: Duration) -> Result<(), ApiError> {
        Ok(())
    }

    fn fence_export(&self, fence: &NativeFence, _: FenceKind) -> Result<NativeFence, ApiError> {
        Ok(*fence)
    }

    fn fence_destroy(&self, _fence: NativeFence) {}
}

/// A frame of `other:0`, in memory that no fake reads.
pub(crate) fn elsewhere(format: FrameFormat) -> DeviceFrame {
    let device = Fake::named("other", Behaviour::default());
    let device = device.open(&OpenRequest::new(0)).unwrap();
    let descriptor = ImportDescriptor::without_planes(MemoryKind::DMA_BUF, format);
    device.import(&descriptor).unwrap()
}

fn first_sample(frame: &FrameRef<'_>) -> i64 {
    match frame.host().unwrap().luma().samples() {
        Samples::U8(samples) => i64::from(samples[0]),
        Samples::U16(samples) => i64::from(samples[0]),
    }
}

impl ExtractorImpl for FakePlan {
    fn history(&self) -> usize {
        let steps = |options: &Options| options.definition().name == "step";
        usize::from(self.features.iter().flatten().any(steps))
    }

    fn in_flight(&self) -> usize {
        self.behaviour.in_flight.unwrap_or(1)
    }

    fn columns(&self) -> usize {
        self.behaviour.lies.unwrap_or(self.features.len())
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let Behaviour {
            started,
            fails,
            panics,
            values,
            jitter,
            in_flight,
            traffic,
            ..
        } = &self.behaviour;
        let index = job.index();
        if let Some(started) = started {
            let _ = started.send(index);
        }
        traffic.submit(*in_flight)?;
        if *jitter {
            let pause = index.wrapping_mul(2654435761) % 7;
            std::thread::sleep(Duration::from_micros(300 * pause));
        }
        if fails.contains(&index) {
            traffic.collect(*in_flight)?;
            return Err(ApiError::new(
                Status::DEVICE,
                "launch",
                "the device was lost",
            ));
        }
        assert_ne!(Some(index), *panics, "the backend's own bug");
        let reference = first_sample(&job.pair().reference);
        let result = self.features.iter().map(|options| {
            let name = options.as_ref().map(|options| options.definition().name);
            match name {
                Some("step") => {
                    assert_eq!(job.earlier(1).is_some(), index > 0);
                    let earlier = job.earlier(1);
                    let moved = earlier.map_or(0, |e| reference - first_sample(&e.reference));
                    Value::count(moved.unsigned_abs())
                }
                _ => {
                    let told = values.iter().find(|(frame, _)| *frame == index);
                    let difference = reference - first_sample(&job.pair().distorted);
                    let gain = options
                        .as_ref()
                        .map_or(1.0, |options| options.float("gain"));
                    let value = difference as f64 * gain;
                    Value::score(told.map_or(value, |(_, value)| *value))
                }
            }
        });
        let result = result.collect();
        self.results.lock().unwrap().insert(index, result);
        Ok(Ticket(index))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        let Behaviour {
            in_flight,
            traffic,
            fails_late,
            ..
        } = &self.behaviour;
        traffic.collect(*in_flight)?;
        if fails_late.contains(&ticket.0) {
            return Err(ApiError::new(Status::DEVICE, "device", "it was reset"));
        }
        let result = self.results.lock().unwrap().remove(&ticket.0);
        values.copy_from_slice(&result.expect("every ticket is collected once"));
        Ok(())
    }

    fn repeats(&self) -> u64 {
        self.behaviour.repeats
    }
}

pub(crate) fn format(width: u32, height: u32, depth: u32) -> FrameFormat {
    FrameFormat::new(width, height, Chroma::Yuv420, depth).unwrap()
}

/// A request for features, on `threads` threads.
pub(crate) fn request(features: &[&str], threads: usize) -> Request {
    let mut request = Request::default();
    request.features = features
        .iter()
        .map(|text| FeatureSpec::parse(text).unwrap())
        .collect();
    request.threads = threads;
    request
}

/// Frame `t` of a moving, textured clip; the distorted one is blockier and noisy.
pub(crate) fn frame(pool: &FramePool, t: u64, distorted: bool) -> HostFrame {
    let mut frame = pool.acquire().unwrap();
    let format = *frame.format();
    let scale = 1u64 << (format.depth() - 8);
    let mut start = 0;
    for plane in 0..format.plane_count() {
        let size = format.plane_size(plane);
        for y in 0..size.height {
            for x in 0..size.width {
                let (mut u, mut v) = (x as u64 + 3 * t, y as u64 + 2 * t + 7 * plane as u64);
                if distorted {
                    (u, v) = (u & !3, v & !3);
                }
                let hash = (u / 5 * 7919 + v / 3 * 104_729).wrapping_mul(0x9e37_79b9) >> 7;
                let noise = if distorted { (hash ^ u ^ v) % 9 } else { 0 };
                let value = (16 + (u * 3 + v * 2) % 128 + hash % 80 - noise) * scale;
                let place = start + y * size.width + x;
                match format.depth() {
                    8 => frame.bytes_mut()[place] = value as u8,
                    _ => frame.words_mut()[place] = value as u16,
                }
            }
        }
        start += size.area();
    }
    frame
}

/// Submits frames `0..frames` of the textured clip.
pub(crate) fn feed(context: &mut Context, frames: u64) -> Result<(), EngineError> {
    let pool = FramePool::new(*context.format());
    for t in 0..frames {
        context.submit(frame(&pool, t, false), frame(&pool, t, true))?;
    }
    Ok(())
}

/// Frames whose first luma samples are given: reference, then distorted.
pub(crate) fn feed_samples(context: &mut Context, samples: &[(u8, u8)]) -> Result<(), EngineError> {
    for &(reference, distorted) in samples {
        let (mut x, mut y) = (context.frame().unwrap(), context.frame().unwrap());
        x.bytes_mut()[0] = reference;
        y.bytes_mut()[0] = distorted;
        context.submit(x, y)?;
    }
    Ok(())
}

/// The whole report, without the figure that depends on time.
pub(crate) fn report(outcome: &Outcome, format: OutputFormat, precision: Precision) -> String {
    let mut bytes = Vec::new();
    outcome.write(format, precision, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let timeless = |line: &&str| !line.contains("fps");
    let lines: Vec<_> = text.lines().filter(timeless).collect();
    lines.join("\n") + "\n"
}
