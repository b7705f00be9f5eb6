//! A plugin in Rust that serves `edge`, a feature of its own: the mean difference of the
//! horizontal gradients of luma.
//!
//! ```text
//! edge = weight · Σ | |r[x] − r[x−1]| − |d[x] − d[x−1]| | / ((width − 1) · height)
//! ```
//!
//! The sum is a whole number below 2^53 and there is one division, so that this plugin, `edge.c`
//! and `edge.cpp` give the same bits. This one also reads frames that stay where their producer
//! has them (`import`).

mod import;

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, DeviceImpl, DeviceInfo, ExtractorImpl, FeatureDescription,
    FeatureRequest, FenceKind, FenceKinds, FrameFormat, FrameRef, HostView, ImportImpl, Job,
    MemoryKind, MemoryKinds, OpenRequest, OptionDescription, OptionValue, PixelFormats,
    PlanRequest, PlaneView, Samples, Status, Support, Ticket, Value, export_backend,
};

use import::{Imported, Importer};

export_backend!(Edge, version: "1.2.0", license: "Apache-2.0 OR MIT");

const FEATURE: &str = "edge";
const MEMORY: MemoryKinds = MemoryKinds::of(&[MemoryKind::HOST, MemoryKind::DEVICE_POINTER]);

struct Edge;

impl BackendImpl for Edge {
    fn info(&self) -> BackendInfo {
        let mut weight = OptionDescription::new(
            "weight",
            OptionValue::Int(1),
            (1.0, 16.0),
            "Factor of the score.",
        );
        weight.alias = "w".to_owned();
        weight.in_names = true;
        let mut feature = FeatureDescription::new(
            FEATURE,
            "Mean difference of horizontal gradients",
            "tests/plugins",
        );
        feature.min_size = (2, 1);
        feature.options.push(weight);
        let mut info = BackendInfo::new("edge-rust", "Edges, in Rust", "1.2.0");
        info.features.push(feature);
        info
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        Ok(vec![device_info()])
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        if request.index != 0 {
            let message = format!("{} is not below 1, the number of devices", request.index);
            return Err(ApiError::new(Status::NOT_FOUND, "index", message));
        }
        match request.options.first() {
            None => Ok(Box::new(Scorer { import: Importer })),
            Some(option) => {
                let message = "there is no such option here";
                Err(ApiError::new(Status::INVALID, &option.name, message))
            }
        }
    }
}

fn device_info() -> DeviceInfo {
    let mut info = DeviceInfo::new("The thread that asks", "portable");
    info.memory_kinds = MEMORY;
    info.release_kinds = FenceKinds::of(&[FenceKind::HOST]);
    info
}

struct Scorer {
    import: Importer,
}

impl DeviceImpl for Scorer {
    fn info(&self) -> DeviceInfo {
        device_info()
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        weight(feature, format)?;
        let mut support = Support::host();
        support.memory_kinds = MEMORY;
        support.pixel_formats = PixelFormats::PLANAR;
        Ok(support)
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        let weights = plan.features.iter();
        let weights = weights.map(|feature| weight(feature, &plan.format));
        Ok(Box::new(Edges {
            weights: weights.collect::<Result<_, _>>()?,
            next: AtomicU64::new(0),
            done: Mutex::default(),
        }))
    }

    fn import(&self) -> Option<&dyn ImportImpl> {
        Some(&self.import)
    }
}

/// The one option of the feature.
fn weight(feature: &FeatureRequest, format: &FrameFormat) -> Result<u64, ApiError> {
    if feature.feature != FEATURE {
        let message = format!("`{FEATURE}` is computed here and nothing else");
        return Err(ApiError::new(Status::NOT_FOUND, &feature.feature, message));
    }
    match feature.options.as_slice() {
        [option] => match (option.name.as_str(), &option.value) {
            ("weight", &OptionValue::Int(_)) if format.width() < 2 => {
                let message = "a gradient takes two samples";
                Err(ApiError::new(Status::RANGE, "width", message))
            }
            ("weight", &OptionValue::Int(weight @ 1..=16)) => Ok(u64::from(weight.unsigned_abs())),
            (name, value) => {
                let message = format!("{value:?} is not a whole number of 1 to 16");
                Err(ApiError::new(Status::RANGE, name, message))
            }
        },
        options => {
            let message = format!("{} options, there is one, `weight`", options.len());
            Err(ApiError::new(Status::INVALID, FEATURE, message))
        }
    }
}

struct Edges {
    weights: Vec<u64>,
    next: AtomicU64,
    /// Sum and number of differences of each job that was not collected yet.
    done: Mutex<HashMap<u64, (u64, u64)>>,
}

impl ExtractorImpl for Edges {
    fn columns(&self) -> usize {
        self.weights.len()
    }

    fn admits(&self, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        view(frame).map(drop)
    }

    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError> {
        let pair = job.pair();
        let (reference, distorted) = (view(&pair.reference)?, view(&pair.distorted)?);
        let result = differences(reference.luma(), distorted.luma());
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.insert(ticket, result);
        Ok(Ticket(ticket))
    }

    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let (sum, count) = done.remove(&ticket.0).ok_or_else(|| {
            let message = format!("no such ticket: {}", ticket.0);
            ApiError::new(Status::NOT_FOUND, "ticket", message)
        })?;
        for (value, weight) in values.iter_mut().zip(&self.weights) {
            *value = Value::score((weight * sum) as f64 / count as f64);
        }
        Ok(())
    }
}

/// The samples of a frame, in host memory or where their producer has them.
fn view<'a>(frame: &FrameRef<'a>) -> Result<HostView<'a>, ApiError> {
    if let Some(view) = frame.host() {
        return Ok(*view);
    }
    let memory = frame.memory();
    let own = frame.device().and_then(|frame| {
        let frame: &dyn Any = frame;
        frame.downcast_ref::<Imported>()
    });
    own.map(Imported::view).ok_or_else(|| {
        let message = format!("the samples are in {memory}, and this backend did not import them");
        ApiError::new(Status::NOT_SUPPORTED, "frame", message)
    })
}

/// Sum of the differences of the gradients, and their number.
fn differences(reference: &PlaneView<'_>, distorted: &PlaneView<'_>) -> (u64, u64) {
    let size = reference.size();
    let sample = |plane: &PlaneView<'_>, x: usize, y: usize| {
        let place = y * plane.stride() + x;
        match plane.samples() {
            Samples::U8(samples) => u64::from(samples[place]),
            Samples::U16(samples) => u64::from(samples[place]),
        }
    };
    let gradient = |plane, x, y| sample(plane, x, y).abs_diff(sample(plane, x - 1, y));
    let mut sum = 0;
    for y in 0..size.height {
        for x in 1..size.width {
            sum += gradient(reference, x, y).abs_diff(gradient(distorted, x, y));
        }
    }
    (sum, (size.width as u64 - 1) * size.height as u64)
}
