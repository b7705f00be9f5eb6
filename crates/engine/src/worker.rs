//! What a worker does with one frame pair: check the samples, run every plan, and answer with
//! the columns. A worker keeps no state from frame to frame.
//!
//! A worker collects its frame before it takes the next, so a device has as many frames under
//! way as there are workers. Deeper queues of a device will attach between submit and collect: a
//! job owns its frames, so a worker may hold several tickets and collect the oldest.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vmafx_api::{Frame, FrameJob, Value, panic_text};

use crate::alignment::Thumbnail;
use crate::error::EngineError;
use crate::registration::Plan;
use crate::request::Input;

/// One frame pair to work on.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) frame: FrameJob,
    /// Whether subsampling lists the frame.
    pub(crate) listed: bool,
}

/// Buffers for the values of one frame each, recycled.
#[derive(Debug)]
pub(crate) struct ValueBuffers {
    /// Values of one frame.
    values: usize,
    free: Mutex<Vec<Vec<Value>>>,
}

impl ValueBuffers {
    pub(crate) fn new(values: usize) -> Self {
        ValueBuffers {
            values,
            free: Mutex::default(),
        }
    }

    pub(crate) fn take(&self) -> Vec<Value> {
        let free = self.lock().pop();
        free.unwrap_or_else(|| vec![Value::default(); self.values])
    }

    pub(crate) fn give_back(&self, buffer: Vec<Value>) {
        self.lock().push(buffer);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<Value>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a frame.
#[derive(Debug)]
pub(crate) struct FrameResult {
    /// Columns of all plans; those of plans that skip the frame are unspecified.
    pub(crate) values: Vec<Value>,
    pub(crate) thumbnails: Option<[Thumbnail; 2]>,
}

/// Does all the work on one frame. `values` has room for the columns of all plans. A panic of
/// a backend becomes an error of the frame.
pub(crate) fn run(
    plans: &[Plan],
    thumbnails: bool,
    job: Job,
    values: Vec<Value>,
) -> Result<FrameResult, EngineError> {
    let frame = job.frame.index;
    caught(frame, || score(plans, thumbnails, job, values)).and_then(|result| result)
}

fn score(
    plans: &[Plan],
    thumbnails: bool,
    job: Job,
    mut values: Vec<Value>,
) -> Result<FrameResult, EngineError> {
    let Job { frame: job, listed } = job;
    let frame = job.index;
    let pair = [&*job.pair.reference, &*job.pair.distorted];
    for (side, input) in pair.into_iter().zip([Input::Reference, Input::Distorted]) {
        // The samples of a device's frame are for the device to check.
        if let Frame::Host(host) = side {
            host.check_samples().map_err(|source| EngineError::Sample {
                frame,
                input,
                source,
            })?;
        }
    }
    let thumbnails = match (thumbnails, pair.map(Frame::host)) {
        (true, [Some(reference), Some(distorted)]) => {
            Some([reference, distorted].map(|view| Thumbnail::new(&view)))
        }
        _ => None,
    };
    // All plans are started before the first is waited for: devices work side by side. All
    // tickets are collected, come what may, so that no extractor keeps a job's frames.
    let mut started = Vec::with_capacity(plans.len());
    let mut failure = None;
    for plan in plans.iter().filter(|plan| listed || plan.every_frame) {
        let submitted = caught(frame, || plan.extractor.submit(&job));
        match submitted.and_then(|answer| answer.map_err(|source| plan.failed(frame, source))) {
            Ok(ticket) => started.push((plan, ticket)),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    for (plan, ticket) in started {
        let values = &mut values[plan.values.clone()];
        let collected = caught(frame, || plan.extractor.collect(ticket, values));
        let collected =
            collected.and_then(|answer| answer.map_err(|source| plan.failed(frame, source)));
        failure = failure.or(collected.err());
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(FrameResult { values, thumbnails }),
    }
}

/// Runs `work` for a frame; a panic becomes an error.
pub(crate) fn caught<R>(frame: u64, work: impl FnOnce() -> R) -> Result<R, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| EngineError::Panic {
        frame,
        message: panic_text(payload),
    })
}
