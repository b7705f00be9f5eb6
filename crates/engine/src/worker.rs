//! What workers do with frame pairs. A worker keeps no state from frame to frame; a frame that is
//! on a device belongs to no worker, and whoever is free goes on with it.
//!
//! A frame has two halves. [`start`] checks its samples and submits it to the plans *ahead*: those
//! of devices that want several frames submitted before the first is collected
//! ([`in_flight`](vmafx_api::Extractor::in_flight) above 1). [`finish`] collects them, and then
//! submits to and collects the other plans, whose work is done while somebody waits for it, as
//! that of a CPU is. Between the two the frame lies in the [queue](crate::queue), and its worker
//! starts further ones: a device has the next frames while the CPU works on the oldest.
//!
//! How much is under way, with `W` workers and `N` frames wanted by the plan that wants most:
//!
//! - A worker starts a frame as long as fewer than `N` are on the devices, and goes on with the
//!   oldest of them otherwise, or where no frame waits to be started. So tickets are at most
//!   `N - 1` and one for each worker that submits, of which there are at most `N`: uploads are
//!   copied by several workers at once, and a device's memory does not depend on `W`.
//! - Frames in work, tickets or not, are at most `N - 1 + W`: a worker that does the CPU's part
//!   has collected the device's.
//! - Without a plan ahead (`N` is 1) nothing lies between the halves: a worker is through with a
//!   frame before it takes the next, and `W` frames are in work.
//! - Where every plan is one ahead, workers do no more than submit and wait, so there are no
//!   more than `N` of them, however many are asked for.
//!
//! What must stay true: samples are checked before a device sees them; every ticket is collected,
//! come what may, so that no extractor keeps a frame; a frame is let go as soon as nobody reads it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vmafx_api::{Frame, FrameJob, Ticket, Value, panic_text};

use crate::alignment::Thumbnail;
use crate::error::EngineError;
use crate::provenance::RepeatRecord;
use crate::registration::Plan;
use crate::request::Input;

/// Most frames that are submitted ahead, whatever a plan wants.
const MOST_AHEAD: usize = 64;

/// One frame pair to work on.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) frame: FrameJob,
    /// Whether subsampling lists the frame.
    pub(crate) listed: bool,
}

/// Buffers of one length each, recycled.
#[derive(Debug)]
pub(crate) struct Buffers<T> {
    len: usize,
    free: Mutex<Vec<Vec<T>>>,
}

/// Buffers for the values of one frame each.
pub(crate) type ValueBuffers = Buffers<Value>;

impl<T: Clone + Default> Buffers<T> {
    pub(crate) fn new(len: usize) -> Self {
        Buffers {
            len,
            free: Mutex::default(),
        }
    }

    /// A new buffer of default values, or one that was given back, as it is.
    pub(crate) fn take(&self) -> Vec<T> {
        let free = self.lock().pop();
        free.unwrap_or_else(|| vec![T::default(); self.len])
    }

    pub(crate) fn give_back(&self, buffer: Vec<T>) {
        self.lock().push(buffer);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
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

/// A frame between its halves.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) frame: u64,
    listed: bool,
    /// The frames themselves, if a plan is still to be given them.
    job: Option<FrameJob>,
    thumbnails: Option<[Thumbnail; 2]>,
    /// A place for each plan.
    tickets: Vec<Option<Ticket>>,
    /// Why it will have no result.
    failure: Option<EngineError>,
}

impl Started {
    /// Whether others than its worker are at work on it.
    pub(crate) fn is_on_a_device(&self) -> bool {
        self.failure.is_none() && self.tickets.iter().any(Option::is_some)
    }
}

/// The work of a run: its plans, and what frames need on their way.
pub(crate) struct Work {
    plans: Vec<Plan>,
    thumbnails: bool,
    ahead: usize,
    values: Arc<ValueBuffers>,
    tickets: Buffers<Option<Ticket>>,
}

impl Work {
    /// `thumbnails` says whether small pictures of the frames are wanted.
    pub(crate) fn new(plans: Vec<Plan>, thumbnails: bool, values: Arc<ValueBuffers>) -> Self {
        let wanted = plans.iter().map(|plan| plan.extractor.in_flight()).max();
        Work {
            ahead: wanted.unwrap_or(1).clamp(1, MOST_AHEAD),
            tickets: Buffers::new(plans.len()),
            plans,
            thumbnails,
            values,
        }
    }

    pub(crate) fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Frames that are wanted on the devices; 1 if no plan is one ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.ahead
    }

    /// How many of `wanted` workers have something to do.
    pub(crate) fn workers(&self, wanted: usize) -> usize {
        match self.plans.iter().all(is_ahead) {
            true => wanted.min(self.ahead),
            false => wanted,
        }
    }

    /// What each device computed again so far, of those that did.
    pub(crate) fn repeats(&self) -> Vec<RepeatRecord> {
        let mut repeats: Vec<RepeatRecord> = Vec::new();
        for plan in &self.plans {
            let frames = plan.extractor.repeats();
            match repeats.iter_mut().find(|of| of.device == plan.device) {
                _ if frames == 0 => {}
                Some(of) => of.frames = of.frames.saturating_add(frames),
                None => repeats.push(RepeatRecord {
                    device: plan.device.clone(),
                    frames,
                }),
            }
        }
        repeats
    }

    /// The first half of the work on a frame.
    pub(crate) fn start(&self, job: Job) -> Started {
        let Job { frame: job, listed } = job;
        let frame = job.index;
        let mut started = Started {
            frame,
            listed,
            job: None,
            thumbnails: None,
            tickets: self.tickets.take(),
            failure: None,
        };
        let checked = caught(frame, || look(&job, self.thumbnails)).and_then(|looked| looked);
        match checked {
            Ok(thumbnails) => started.thumbnails = thumbnails,
            Err(error) => {
                started.failure = Some(error);
                return started;
            }
        }
        self.submit(&mut started, &job, true);
        let later = |plan: &Plan| plan.sees(listed) && !is_ahead(plan);
        if started.failure.is_none() && self.plans.iter().any(later) {
            started.job = Some(job);
        }
        started
    }

    /// The second half of the work on a frame. Calls `left` as soon as nothing of it is on the
    /// devices of plans ahead.
    pub(crate) fn finish(
        &self,
        mut started: Started,
        left: impl FnOnce(),
    ) -> Result<FrameResult, EngineError> {
        let mut values = self.values.take();
        self.collect(&mut started, &mut values);
        left();
        if let Some(job) = started.job.take()
            && started.failure.is_none()
        {
            // All are started before the first is waited for: devices work side by side.
            self.submit(&mut started, &job, false);
            self.collect(&mut started, &mut values);
        }
        self.tickets.give_back(started.tickets);
        match started.failure {
            Some(error) => {
                self.values.give_back(values);
                Err(error)
            }
            None => Ok(FrameResult {
                values,
                thumbnails: started.thumbnails,
            }),
        }
    }

    /// Collects the tickets of a frame that nobody wants any more.
    pub(crate) fn abandon(&self, mut started: Started) {
        started.job = None;
        // Whatever comes of it changes nothing.
        let _ = self.finish(started, || ());
    }

    /// Submits a frame to the plans that are `ahead`, or to those that are not, up to the first
    /// that fails.
    fn submit(&self, started: &mut Started, job: &FrameJob, ahead: bool) {
        let frame = started.frame;
        for (plan, place) in self.plans.iter().zip(&mut started.tickets) {
            if !plan.sees(started.listed) || is_ahead(plan) != ahead {
                continue;
            }
            let submitted = caught(frame, || plan.extractor.submit(job));
            match submitted.and_then(|answer| answer.map_err(|source| plan.failed(frame, source))) {
                Ok(ticket) => *place = Some(ticket),
                Err(error) => {
                    started.failure = Some(error);
                    return;
                }
            }
        }
    }

    /// Collects all tickets of a frame. A failure that it has stays.
    fn collect(&self, started: &mut Started, values: &mut [Value]) {
        let frame = started.frame;
        for (plan, place) in self.plans.iter().zip(&mut started.tickets) {
            let Some(ticket) = place.take() else { continue };
            let values = &mut values[plan.values.clone()];
            let collected = caught(frame, || plan.extractor.collect(ticket, values));
            let collected =
                collected.and_then(|answer| answer.map_err(|source| plan.failed(frame, source)));
            if let Err(error) = collected {
                started.failure.get_or_insert(error);
            }
        }
    }
}

/// Whether a plan wants further frames before it is asked for the first.
fn is_ahead(plan: &Plan) -> bool {
    plan.extractor.in_flight() > 1
}

/// Checks the samples of a pair and makes its small pictures, if they are wanted.
fn look(job: &FrameJob, thumbnails: bool) -> Result<Option<[Thumbnail; 2]>, EngineError> {
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
    Ok(match (thumbnails, pair.map(Frame::host)) {
        (true, [Some(reference), Some(distorted)]) => {
            Some([reference, distorted].map(|view| Thumbnail::new(&view)))
        }
        _ => None,
    })
}

/// Runs `work` for a frame; a panic becomes an error.
pub(crate) fn caught<R>(frame: u64, work: impl FnOnce() -> R) -> Result<R, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| EngineError::Panic {
        frame,
        message: panic_text(payload),
    })
}
