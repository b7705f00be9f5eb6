//! A vmafx backend in Rust that brings along one feature: `mad`, the mean absolute difference of
//! luma, in steps of 8 bits. Its option `floor` says up to how many steps a difference counts as
//! none.
//!
//! The sum is a whole number and is rounded once, so that the score does not depend on the compiler
//! or the processor.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, DeviceImpl, DeviceInfo, ExtractorImpl, FeatureDescription,
    FeatureRequest, FrameFormat, FrameRef, Job, OpenRequest, OptionDescription, OptionValue,
    PlanRequest, PlaneView, Samples, Status, Support, Ticket, Value, export_backend,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

export_backend!(Example, version: VERSION, license: "Apache-2.0 OR MIT");

/// The backend: what it is, and its devices.
pub struct Example;

impl BackendImpl for Example {
    fn info(&self) -> BackendInfo {
        let help = "Differences of up to this many 8-bit steps count as none.";
        let mut floor = OptionDescription::new("floor", OptionValue::Int(0), (0.0, 255.0), help);
        floor.in_names = true;

        let summary = "Mean absolute difference of luma, in 8-bit steps";
        let source = "vmafx, docs/plugin-author-guide.md";
        let mut mad = FeatureDescription::new("mad", summary, source);
        mad.options = vec![floor];

        let mut info = BackendInfo::new("example-rust", "An example in Rust", VERSION);
        info.features = vec![mad];
        info
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        Ok(vec![Processor.info()])
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        if request.index != 0 {
            let message = format!(
                "device {} is asked for, there is device 0 alone",
                request.index
            );
            return Err(ApiError::new(Status::NOT_FOUND, "index", message));
        }
        if let Some(option) = request.options.first() {
            let message = "this backend has no options";
            return Err(ApiError::new(Status::INVALID, &option.name, message));
        }
        Ok(Box::new(Processor))
    }
}

/// Its one device, which is the thread that calls.
struct Processor;

impl DeviceImpl for Processor {
    fn info(&self) -> DeviceInfo {
        DeviceInfo::new("the calling thread", "portable")
    }

    fn supports(&self, feature: &FeatureRequest, _: &FrameFormat) -> Result<Support, ApiError> {
        floor_of(feature)?;
        Ok(Support::host())
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        let floors = plan.features.iter().map(floor_of);
        let floors = floors.collect::<Result<_, _>>()?;
        let done = Mutex::default();
        Ok(Box::new(Scorer { floors, done }))
    }
}

/// The value of `floor` in a request for `mad`.
fn floor_of(request: &FeatureRequest) -> Result<u64, ApiError> {
    if request.feature != "mad" {
        let message = "this backend computes `mad` alone";
        return Err(ApiError::new(Status::NOT_FOUND, &request.feature, message));
    }
    let [option] = request.options.as_slice() else {
        let message = "the one option of `mad` is `floor`";
        return Err(ApiError::new(Status::INVALID, "mad", message));
    };
    match (option.name.as_str(), &option.value) {
        ("floor", OptionValue::Int(floor @ 0..=255)) => Ok(u64::from(floor.unsigned_abs())),
        ("floor", value) => {
            let message = format!("{value:?} is no whole number from 0 to 255");
            Err(ApiError::new(Status::RANGE, "floor", message))
        }
        (name, _) => {
            let message = "`mad` has no such option";
            Err(ApiError::new(Status::INVALID, name, message))
        }
    }
}

/// A plan made ready: one value for each feature of the plan.
struct Scorer {
    floors: Vec<u64>,
    done: Mutex<Done>,
}

/// What was computed and not collected yet.
#[derive(Default)]
struct Done {
    next: u64,
    scores: HashMap<u64, Vec<f64>>,
}

impl ExtractorImpl for Scorer {
    fn columns(&self) -> usize {
        self.floors.len()
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let pair = job.pair();
        let (reference, distorted) = (luma(&pair.reference)?, luma(&pair.distorted)?);
        let step = 1 << (pair.reference.format().depth() - 8);
        let score = |floor| mad(reference, distorted, floor * step) / step as f64;
        let scores = self.floors.iter().map(score).collect();
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = done.next;
        done.next += 1;
        done.scores.insert(ticket, scores);
        Ok(Ticket(ticket))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let scores = done.scores.remove(&ticket.0).ok_or_else(|| {
            let message = format!("there is no job {}", ticket.0);
            ApiError::new(Status::NOT_FOUND, "ticket", message)
        })?;
        for (value, score) in values.iter_mut().zip(scores) {
            *value = Value::score(score);
        }
        Ok(())
    }
}

fn luma<'a>(frame: &'a FrameRef<'_>) -> Result<&'a PlaneView<'a>, ApiError> {
    let view = frame.host().ok_or_else(|| {
        let message = format!("the samples are in {}", frame.memory());
        ApiError::new(Status::NOT_SUPPORTED, "frame", message)
    })?;
    Ok(view.luma())
}

/// The mean of all differences above `floor`, in steps of the samples.
fn mad(reference: &PlaneView<'_>, distorted: &PlaneView<'_>, floor: u64) -> f64 {
    let size = reference.size();
    let mut sum = 0;
    for y in 0..size.height {
        for x in 0..size.width {
            let difference = sample(reference, x, y).abs_diff(sample(distorted, x, y));
            sum += if difference > floor { difference } else { 0 };
        }
    }
    sum as f64 / size.area() as f64
}

fn sample(plane: &PlaneView<'_>, x: usize, y: usize) -> u64 {
    let place = y * plane.stride() + x;
    match plane.samples() {
        Samples::U8(samples) => u64::from(samples[place]),
        Samples::U16(samples) => u64::from(samples[place]),
    }
}
