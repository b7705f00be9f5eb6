//! What a worker does with one frame pair: check the samples, run every plan, and answer with
//! the columns. A worker keeps no state from frame to frame.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use vmafx_api::{FrameJob, FramePair, FrameView, HostFrame, Value};

use crate::alignment::Thumbnail;
use crate::error::EngineError;
use crate::registration::Plan;
use crate::request::Input;

/// A frame that the engine keeps alive until its last reader is done. Frames of devices will be
/// a second kind.
#[derive(Debug)]
pub(crate) enum Frame {
    Host(HostFrame),
}

impl Frame {
    fn view(&self) -> FrameView<'_> {
        match self {
            Frame::Host(frame) => FrameView::Host(frame.view()),
        }
    }

    fn check(&self, frame: u64, input: Input) -> Result<(), EngineError> {
        match self {
            Frame::Host(host) => host.check_samples().map_err(|source| EngineError::Sample {
                frame,
                input,
                source,
            }),
        }
    }

    fn thumbnail(&self) -> Option<Thumbnail> {
        match self {
            Frame::Host(frame) => Some(Thumbnail::new(&frame.view())),
        }
    }
}

/// A reference frame and its distorted twin.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) reference: Frame,
    pub(crate) distorted: Frame,
}

impl Pair {
    fn view(&self) -> FramePair<'_> {
        FramePair {
            reference: self.reference.view(),
            distorted: self.distorted.view(),
        }
    }
}

/// One frame pair to work on.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) frame: u64,
    pub(crate) pair: Arc<Pair>,
    /// Earlier pairs, the nearest first.
    pub(crate) earlier: Vec<Arc<Pair>>,
    /// Whether subsampling lists the frame.
    pub(crate) listed: bool,
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
    let frame = job.frame;
    caught(frame, || score(plans, thumbnails, job, values)).and_then(|result| result)
}

fn score(
    plans: &[Plan],
    thumbnails: bool,
    job: Job,
    mut values: Vec<Value>,
) -> Result<FrameResult, EngineError> {
    let Job {
        frame,
        pair,
        earlier,
        listed,
    } = job;
    pair.reference.check(frame, Input::Reference)?;
    pair.distorted.check(frame, Input::Distorted)?;
    let thumbnails = match thumbnails {
        true => pair
            .reference
            .thumbnail()
            .zip(pair.distorted.thumbnail())
            .map(<[_; 2]>::from),
        false => None,
    };
    let earlier: Vec<_> = earlier.iter().map(|pair| pair.view()).collect();
    // All plans are started before the first is waited for: devices work side by side. The
    // frames must outlive every started job, so all tickets are collected, come what may.
    let mut started = Vec::with_capacity(plans.len());
    let mut failure = None;
    for plan in plans.iter().filter(|plan| listed || plan.every_frame) {
        let history = plan.extractor.history().min(earlier.len());
        let job = FrameJob {
            index: frame,
            pair: pair.view(),
            earlier: &earlier[..history],
        };
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
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let payload: &(dyn Any + Send) = &*payload;
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        EngineError::Panic {
            frame,
            message: text.unwrap_or("a panic without a message").to_owned(),
        }
    })
}
