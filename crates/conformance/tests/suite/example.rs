//! A backend that keeps every rule but the one that a test names.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, DeviceImpl, DeviceInfo, ExtractorImpl, FeatureDescription,
    FeatureRequest, FrameFormat, FrameRef, HostView, Job, KeptFrame, MemoryKind, MemoryKinds,
    OpenRequest, OptionDescription, OptionValue, PlanRequest, PlaneUse, Samples, Status, Support,
    Ticket, Value,
};
use vmafx_backend_cpu::{CpuBackend, Level};

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    VersionIsAWord,
    FeatureOfTheProgram,
    ScoreOfTheProgram,
    NoSummary,
    NoHelp,
    SmallestIsNothing,
    DevicesChangeNames,
    DeviceHasNoName,
    OpenedAsAnother,
    AnyDeviceOpens,
    UnknownDeviceIsInvalid,
    AnyDeviceOption,
    OpensOnce,
    SecondDeviceDiffers,
    OwnFeatureUnknown,
    AnyFeature,
    UnknownFeatureIsInvalid,
    AnyOption,
    AnyValue,
    AnyKind,
    AnySize,
    SupportedNotPrepared,
    NothingAdmitted,
    MemoryOfAnother,
    PreparesAnything,
    ColumnTooMany,
    HistoryWithoutEnd,
    InFlightWithoutEnd,
    MoreMemoryThanThereIs,
    PlansShareValues,
    LastPlanEndsAll,
    NotANumber,
    NotWritten,
    CountsCalls,
    RemembersLastFrame,
    DependsOnNumber,
    DependsOnSpareHistory,
    DependsOnPlan,
    DependsOnThread,
    OneCollector,
    SameFrameIsSpecial,
    ReadsChroma,
    OddSizesDiffer,
    OneUnitOff,
    OptionForgotten,
    OneJobAtATime,
    OneTicketForAll,
    FirstInFirstOut,
    CollectedTwice,
    AnyTicket,
    UnknownTicketPanics,
    UncollectedBreaksDevice,
    FramesKept,
    FramesKeptIfUncollected,
    NoSubject,
    NoReason,
}

/// State that all devices and plans share, where a defect wants it.
#[derive(Default)]
struct Shared {
    listed: AtomicUsize,
    open: AtomicUsize,
    opened: AtomicUsize,
    calls: AtomicU64,
    plans_dropped: AtomicUsize,
    last: Mutex<Vec<Value>>,
    broken: AtomicBool,
}

/// Two features of its own, and `psnr` and `vif` of the program.
pub(crate) struct Example {
    defect: Option<Defect>,
    shared: Arc<Shared>,
}

impl Example {
    pub(crate) fn new(defect: Option<Defect>) -> Self {
        Example {
            defect,
            shared: Arc::default(),
        }
    }
}

fn refuse<T>(status: Status, subject: &str, message: &str) -> Result<T, ApiError> {
    Err(ApiError::new(status, subject, message))
}

/// Bytes that the device says it has.
const MEMORY: u64 = 1 << 20;
/// Mean absolute difference of luma, scaled.
const GAP: &str = "gap";
/// Mean absolute difference of all planes of the reference to the frame before.
const FLICKER: &str = "flicker";
const OF_THE_PROGRAM: [&str; 2] = ["psnr", "vif"];

fn described() -> Vec<FeatureDescription> {
    let mut gap = FeatureDescription::new(GAP, "Mean absolute difference", "this file");
    gap.outputs.push("gap_largest".to_owned());
    gap.min_size = (4, 4);
    let whole = |name: &str| {
        OptionDescription::new(name, OptionValue::Int(0), (0.0, 3.0), "Added to the score.")
    };
    let switch = OptionDescription::new("double", OptionValue::Bool(false), (0.0, 0.0), "Twice.");
    let mut gain = OptionDescription::new(
        "gain",
        OptionValue::Float(1.0),
        (0.0, 8.0),
        "Scales the score.",
    );
    gain.alias = "g".to_owned();
    gain.in_names = true;
    gap.options = vec![gain, whole("offset"), switch];
    let mut flicker = FeatureDescription::new(FLICKER, "Change over time", "this file");
    flicker.planes = PlaneUse::ALL;
    flicker.every_frame = true;
    vec![gap, flicker]
}

impl BackendImpl for Example {
    fn info(&self) -> BackendInfo {
        let mut info = BackendInfo::new("example", "An example", "1.2.3");
        info.features = described();
        let gap = &mut info.features[0];
        match self.defect {
            Some(Defect::VersionIsAWord) => info.version = "newest".to_owned(),
            Some(Defect::FeatureOfTheProgram) => gap.name = "vif".to_owned(),
            Some(Defect::ScoreOfTheProgram) => gap.outputs[1] = "psnr_y".to_owned(),
            Some(Defect::NoSummary) => gap.summary.clear(),
            Some(Defect::NoHelp) => gap.options[1].help.clear(),
            Some(Defect::SmallestIsNothing) => gap.min_size = (0, 4),
            _ => {}
        }
        info
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        let mut name = "an example".to_owned();
        let listed = self.shared.listed.fetch_add(1, Ordering::Relaxed);
        match self.defect {
            Some(Defect::DevicesChangeNames) => name = format!("example {listed}"),
            Some(Defect::DeviceHasNoName) => name.clear(),
            _ => {}
        }
        Ok(vec![DeviceInfo::new(name, "none")])
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        let defect = self.defect;
        if request.index != 0 && defect != Some(Defect::AnyDeviceOpens) {
            let status = match defect {
                Some(Defect::UnknownDeviceIsInvalid) => Status::INVALID,
                _ => Status::NOT_FOUND,
            };
            return refuse(status, "index", "there is one device, number 0");
        }
        if let (Some(option), true) = (
            request.options.first(),
            defect != Some(Defect::AnyDeviceOption),
        ) {
            return refuse(Status::INVALID, &option.name, "the device has no options");
        }
        if self.shared.open.fetch_add(1, Ordering::Relaxed) > 0 && defect == Some(Defect::OpensOnce)
        {
            self.shared.open.fetch_sub(1, Ordering::Relaxed);
            return refuse(Status::BUSY, "index", "the device is in use");
        }
        let cpu = CpuBackend::with_level(Level::Portable).unwrap();
        Ok(Box::new(ExampleDevice {
            defect,
            number: self.shared.opened.fetch_add(1, Ordering::Relaxed),
            shared: self.shared.clone(),
            cpu: cpu.open(&OpenRequest::new(0)).unwrap(),
        }))
    }
}

struct ExampleDevice {
    defect: Option<Defect>,
    number: usize,
    shared: Arc<Shared>,
    cpu: Box<dyn DeviceImpl>,
}

impl Drop for ExampleDevice {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ExampleDevice {
    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Whether an own feature takes a request.
    fn admit(&self, request: &FeatureRequest, format: &FrameFormat) -> Result<(), ApiError> {
        let described = described();
        let Some(feature) = described.iter().find(|f| f.name == request.feature) else {
            let status = match self.has(Defect::UnknownFeatureIsInvalid) {
                true => Status::INVALID,
                false => Status::NOT_FOUND,
            };
            let subject = match self.has(Defect::NoSubject) {
                true => "",
                false => "feature",
            };
            let message = match self.has(Defect::NoReason) {
                true => "",
                false => "there is no such feature here",
            };
            return refuse(status, subject, message);
        };
        if self.has(Defect::OwnFeatureUnknown) && feature.name == FLICKER {
            return refuse(Status::NOT_FOUND, FLICKER, "it is not finished");
        }
        for setting in &request.options {
            let name = &setting.name;
            let Some(option) = feature.options.iter().find(|o| o.name == *name) else {
                match self.has(Defect::AnyOption) {
                    true => continue,
                    false => return refuse(Status::INVALID, name, "there is no such option"),
                }
            };
            if setting.value.kind() != option.default.kind() && !self.has(Defect::AnyKind) {
                return refuse(Status::INVALID, name, "the value is of another kind");
            }
            let number = match setting.value {
                OptionValue::Int(number) => f64::from(number),
                OptionValue::Float(number) => number,
                _ => continue,
            };
            let range = option.min..=option.max;
            if !range.contains(&number) && !self.has(Defect::AnyValue) {
                return refuse(Status::RANGE, name, "the value is outside its range");
            }
        }
        let small = format.width() < feature.min_size.0 || format.height() < feature.min_size.1;
        match small && !self.has(Defect::AnySize) {
            true => refuse(
                Status::NOT_SUPPORTED,
                &feature.name,
                "the frame is too small",
            ),
            false => Ok(()),
        }
    }
}

impl DeviceImpl for ExampleDevice {
    fn info(&self) -> DeviceInfo {
        let name = match self.defect {
            Some(Defect::OpenedAsAnother) => "another example",
            Some(Defect::DeviceHasNoName) => "",
            _ => "an example",
        };
        let mut info = DeviceInfo::new(name, "none");
        info.total_memory = MEMORY;
        info
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        let mut support = Support::host();
        if self.has(Defect::MemoryOfAnother) {
            support.memory_kinds = MemoryKinds::of(&[MemoryKind::HOST, MemoryKind::DMA_BUF]);
        }
        if self.has(Defect::AnyFeature) {
            return Ok(support);
        }
        if !OF_THE_PROGRAM.contains(&&*feature.feature) {
            return self.admit(feature, format).map(|()| support);
        }
        match self.cpu.supports(feature, format) {
            Err(_) if self.has(Defect::AnySize) => Ok(support),
            Err(error) => Err(error),
            Ok(_) => Ok(support),
        }
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        if self.has(Defect::SupportedNotPrepared) && plan.format.depth() == 16 {
            return refuse(Status::NOT_SUPPORTED, "format", "16 bits are not finished");
        }
        let mut tasks = Vec::new();
        for feature in plan.features {
            if OF_THE_PROGRAM.contains(&&*feature.feature) {
                let mut feature = feature.clone();
                if self.has(Defect::OptionForgotten) {
                    feature.options.clear();
                }
                let alone = PlanRequest::new(plan.format, std::slice::from_ref(&feature));
                tasks.push(Task::Cpu(self.cpu.prepare(&alone)?));
                continue;
            }
            match self.admit(feature, &plan.format) {
                Err(_) if self.has(Defect::PreparesAnything) => {}
                Err(error) => return Err(error),
                Ok(()) => {}
            }
            tasks.push(match &*feature.feature {
                GAP => Task::Gap(Settings::of(feature)),
                _ => Task::Flicker,
            });
        }
        Ok(Box::new(ExamplePlan {
            defect: self.defect,
            device: self.number,
            shared: self.shared.clone(),
            made_on: std::thread::current().id(),
            format: plan.format,
            tasks,
            state: Mutex::default(),
        }))
    }
}

enum Task {
    Gap(Settings),
    Flicker,
    Cpu(Box<dyn ExtractorImpl>),
}

struct Settings {
    gain: f64,
    offset: i32,
    double: bool,
}

impl Settings {
    fn of(request: &FeatureRequest) -> Self {
        let mut settings = Settings {
            gain: 1.0,
            offset: 0,
            double: false,
        };
        for option in &request.options {
            match (&*option.name, &option.value) {
                ("gain", OptionValue::Float(gain)) => settings.gain = *gain,
                ("offset", OptionValue::Int(offset)) => settings.offset = *offset,
                ("double", OptionValue::Bool(double)) => settings.double = *double,
                _ => {}
            }
        }
        settings
    }
}

#[derive(Default)]
struct State {
    next: u64,
    done: HashMap<u64, Vec<Value>>,
    order: VecDeque<u64>,
    last: Vec<Value>,
    kept: Vec<KeptFrame>,
}

struct ExamplePlan {
    defect: Option<Defect>,
    device: usize,
    shared: Arc<Shared>,
    made_on: ThreadId,
    format: FrameFormat,
    tasks: Vec<Task>,
    state: Mutex<State>,
}

impl Drop for ExamplePlan {
    fn drop(&mut self) {
        self.shared.plans_dropped.fetch_add(1, Ordering::Relaxed);
        let state = self.state.get_mut().unwrap();
        let uncollected = !state.done.is_empty();
        if uncollected && self.defect == Some(Defect::UncollectedBreaksDevice) {
            self.shared.broken.store(true, Ordering::Relaxed);
        }
        if self.defect == Some(Defect::FramesKept)
            || uncollected && self.defect == Some(Defect::FramesKeptIfUncollected)
        {
            state.kept.drain(..).for_each(std::mem::forget);
        }
    }
}

/// Sum and largest of the absolute differences of planes, and the number of samples.
fn difference(first: &HostView<'_>, second: &HostView<'_>, planes: usize) -> (u64, u32, usize) {
    fn fold<T: Copy + Into<u32>>((sum, most): (u64, u32), a: &[T], b: &[T]) -> (u64, u32) {
        let differences = a.iter().zip(b).map(|(&a, &b)| a.into().abs_diff(b.into()));
        differences.fold((sum, most), |(sum, most), difference| {
            (sum + u64::from(difference), most.max(difference))
        })
    }
    let (mut sums, mut count) = ((0, 0), 0);
    for plane in 0..planes {
        let (Some(a), Some(b)) = (first.plane(plane), second.plane(plane)) else {
            break;
        };
        count += a.size().area();
        sums = match (a.samples(), b.samples()) {
            (Samples::U8(a), Samples::U8(b)) => fold(sums, a, b),
            (Samples::U16(a), Samples::U16(b)) => fold(sums, a, b),
            _ => sums,
        };
    }
    (sums.0, sums.1, count)
}

impl ExamplePlan {
    fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    fn gap(&self, settings: &Settings, pair: [&HostView<'_>; 2]) -> Vec<Value> {
        let planes = if self.has(Defect::ReadsChroma) { 3 } else { 1 };
        let (sum, most, count) = difference(pair[0], pair[1], planes);
        let mut score = sum as f64 / count as f64 * settings.gain + f64::from(settings.offset);
        if settings.double {
            score *= 2.0;
        }
        if self.has(Defect::NotANumber) && sum == 0 {
            score = f64::NAN;
        }
        if self.has(Defect::OddSizesDiffer) && self.format.width() % 2 == 1 {
            score = f64::INFINITY;
        }
        let address = |view: &HostView<'_>| match view.luma().samples() {
            Samples::U8(samples) => samples.as_ptr().addr(),
            Samples::U16(samples) => samples.as_ptr().addr(),
        };
        if self.has(Defect::SameFrameIsSpecial) && address(pair[0]) == address(pair[1]) {
            score -= 1.0;
        }
        vec![Value::score(score), Value::score(f64::from(most))]
    }

    /// The values of a job, with what a defect adds to the first.
    fn values(&self, job: &Job<'_>) -> Result<Vec<Value>, ApiError> {
        fn host<'a>(frame: &FrameRef<'a>) -> Option<HostView<'a>> {
            frame.host().copied()
        }
        let pair = job.pair();
        let (Some(first), Some(second)) = (host(&pair.reference), host(&pair.distorted)) else {
            return refuse(Status::NOT_SUPPORTED, "job", "host frames only");
        };
        let mut values = Vec::new();
        for task in &self.tasks {
            match task {
                Task::Gap(settings) => values.extend(self.gap(settings, [&first, &second])),
                Task::Flicker => {
                    let earlier = job.earlier(1).and_then(|pair| host(&pair.reference));
                    let changed = earlier.map(|earlier| difference(&first, &earlier, 3));
                    let (sum, _, count) = changed.unwrap_or((0, 0, 1));
                    values.push(Value::score(sum as f64 / count as f64));
                }
                Task::Cpu(extractor) => {
                    let mut part = vec![Value::default(); extractor.columns()];
                    extractor.collect(extractor.submit(job)?, &mut part)?;
                    if self.has(Defect::OneUnitOff) && self.format.depth() == 12 {
                        part[0] = Value::count(part[0].as_count() ^ 1);
                    }
                    values.extend(part);
                }
            }
        }
        let added = match self.defect {
            Some(Defect::SecondDeviceDiffers) => self.device as f64,
            Some(Defect::CountsCalls) => self.shared.calls.fetch_add(1, Ordering::Relaxed) as f64,
            Some(Defect::DependsOnNumber) => job.index() as f64,
            Some(Defect::DependsOnSpareHistory) => f64::from(u8::from(job.earlier(2).is_some())),
            Some(Defect::DependsOnPlan) => self.tasks.len() as f64,
            Some(Defect::DependsOnThread) => {
                f64::from(u8::from(std::thread::current().id() != self.made_on))
            }
            Some(Defect::RemembersLastFrame) => {
                let last = self.state.lock().unwrap().last.first().copied();
                last.map_or(0.0, |last| last.as_score().fract())
            }
            _ => 0.0,
        };
        if added != 0.0 {
            values[0] = Value::score(values[0].as_score() + added);
        }
        Ok(values)
    }
}

impl ExtractorImpl for ExamplePlan {
    fn columns(&self) -> usize {
        let tasks = self.tasks.iter().map(|task| match task {
            Task::Gap(_) => 2,
            Task::Flicker => 1,
            Task::Cpu(extractor) => extractor.columns(),
        });
        tasks.sum::<usize>() + usize::from(self.has(Defect::ColumnTooMany))
    }

    fn history(&self) -> usize {
        match self.has(Defect::HistoryWithoutEnd) {
            true => 1000,
            false => 1,
        }
    }

    fn in_flight(&self) -> usize {
        match self.has(Defect::InFlightWithoutEnd) {
            true => 1_000_000,
            false => 2,
        }
    }

    fn memory_bytes(&self) -> u64 {
        match self.has(Defect::MoreMemoryThanThereIs) {
            true => MEMORY + 1,
            false => 4096,
        }
    }

    fn admits(&self, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        match frame.memory() == MemoryKind::HOST && !self.has(Defect::NothingAdmitted) {
            true => Ok(()),
            false => refuse(Status::NOT_SUPPORTED, "frame", "it is elsewhere"),
        }
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        if self.shared.broken.load(Ordering::Relaxed) {
            return refuse(
                Status::DEVICE,
                "device",
                "a plan left it in the middle of a job",
            );
        }
        let dropped = self.shared.plans_dropped.load(Ordering::Relaxed);
        if self.has(Defect::LastPlanEndsAll) && dropped > 1 {
            return refuse(Status::DEVICE, "device", "its queue is gone");
        }
        let values = self.values(job)?;
        let mut state = self.state.lock().unwrap();
        if self.has(Defect::OneJobAtATime) && !state.done.is_empty() {
            return refuse(Status::BUSY, "job", "another one is under way");
        }
        let ticket = state.next;
        if !self.has(Defect::OneTicketForAll) {
            state.next += 1;
        }
        state.last.clone_from(&values);
        *self.shared.last.lock().unwrap() = values.clone();
        state.kept.push(job.pair().reference.keep()?);
        state.done.insert(ticket, values);
        state.order.push_back(ticket);
        Ok(Ticket(ticket))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        if self.has(Defect::OneCollector) && std::thread::current().id() != self.made_on {
            return refuse(Status::DEVICE, "thread", "it has no context of the device");
        }
        let mut state = self.state.lock().unwrap();
        let known = state.done.contains_key(&ticket.0);
        if !known && self.has(Defect::UnknownTicketPanics) {
            drop(state);
            panic!("no such ticket");
        }
        if self.has(Defect::FirstInFirstOut) && known && state.order.front() != Some(&ticket.0) {
            return refuse(Status::INVALID, "ticket", "another job comes first");
        }
        let done = match (known, self.defect) {
            (true, Some(Defect::CollectedTwice)) => state.done.get(&ticket.0).cloned(),
            (true, _) => state.done.remove(&ticket.0),
            (false, Some(Defect::AnyTicket)) => Some(state.last.clone()),
            (false, _) => None,
        };
        state.order.retain(|&waiting| waiting != ticket.0);
        let Some(mut done) = done else {
            return refuse(Status::NOT_FOUND, "ticket", "it is of no job");
        };
        if self.has(Defect::PlansShareValues) {
            done = self.shared.last.lock().unwrap().clone();
        }
        if self.has(Defect::NotWritten) {
            done.pop();
        }
        for (value, done) in values.iter_mut().zip(done) {
            *value = done;
        }
        Ok(())
    }
}
