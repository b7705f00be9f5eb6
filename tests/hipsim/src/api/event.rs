//! Events.

use std::ffi::c_uint;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use crate::abi::{Answer, Code, EVENT_DISABLE_TIMING, Handle};
use crate::api::{Out, hip};
use crate::capture::Capture;
use crate::sim::{lock, sim};
use crate::stream::{Item, Point};
use crate::streams;

/// An event: the point at which it was last recorded.
#[derive(Debug)]
pub(crate) struct HipEvent {
    flags: u32,
    state: Mutex<State>,
}

#[derive(Clone, Debug)]
enum State {
    Fresh,
    Recorded {
        point: Point,
        time: Arc<OnceLock<Instant>>,
    },
    Captured {
        capture: Arc<Capture>,
        after: Vec<usize>,
    },
}

hip! {
    Usable fn hipEventCreate(event: Out<Handle>) {
        create(event, 0)
    }
    Usable fn hipEventCreateWithFlags(event: Out<Handle>, flags: c_uint) {
        create(event, flags)
    }
    Usable fn hipEventRecord(event: Handle, stream: Handle) {
        record(event, stream)
    }
    Usable fn hipEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        record(event, stream)
    }
    /// Does not hand work over: only a stream's query or a wait does.
    Usable fn hipEventQuery(event: Handle) {
        let event = sim().events.get(event)?;
        let state = lock(&event.state).clone();
        match state {
            State::Fresh if sim().settings().unrecorded_pending => Err(Code::NOT_READY),
            State::Fresh => Ok(()),
            State::Recorded { point, .. } if point.reached() => Ok(()),
            State::Recorded { .. } => Err(Code::NOT_READY),
            State::Captured { capture, .. } => {
                capture.invalidate();
                Err(Code::CAPTURED_EVENT)
            }
        }
    }
    Failed fn hipEventSynchronize(event: Handle) {
        let event = sim().events.get(event)?;
        let state = lock(&event.state).clone();
        match state {
            State::Fresh => Ok(()),
            State::Recorded { point, .. } => {
                point.synchronize();
                Ok(())
            }
            State::Captured { capture, .. } => {
                capture.invalidate();
                Err(Code::CAPTURED_EVENT)
            }
        }
    }
    Usable fn hipEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        milliseconds.check()?;
        let (start, end) = (sim().events.get(start)?, sim().events.get(end)?);
        let (start, end) = (start.time()?, end.time()?);
        let between = match end.checked_duration_since(start) {
            Some(after) => after.as_secs_f32(),
            None => -start.duration_since(end).as_secs_f32(),
        };
        milliseconds.set(between * 1e3)
    }
    /// Waits that were enqueued for the event stay.
    Failed fn hipEventDestroy(event: Handle) {
        sim().events.remove(event).map(|_| ())
    }
}

impl HipEvent {
    /// Where it was recorded; none where it never was, or in a capture.
    pub(crate) fn point(&self) -> Option<Point> {
        match &*lock(&self.state) {
            State::Recorded { point, .. } => Some(point.clone()),
            _ => None,
        }
    }

    /// The capture in which it was recorded, while that goes on.
    pub(crate) fn captured(&self) -> Option<(Arc<Capture>, Vec<usize>)> {
        match &*lock(&self.state) {
            State::Captured { capture, after } => {
                let captures = lock(&sim().captures);
                let goes_on = captures.iter().any(|c| Arc::ptr_eq(c, capture));
                goes_on.then(|| (capture.clone(), after.clone()))
            }
            _ => None,
        }
    }

    fn time(&self) -> Answer<Instant> {
        if self.flags & EVENT_DISABLE_TIMING != 0 {
            return Err(Code::INVALID_HANDLE);
        }
        match &*lock(&self.state) {
            State::Recorded { time, .. } => time.get().copied().ok_or(Code::NOT_READY),
            _ => Err(Code::INVALID_HANDLE),
        }
    }
}

fn create(to: Out<Handle>, flags: c_uint) -> Answer {
    to.check()?;
    let event = HipEvent {
        flags,
        state: Mutex::new(State::Fresh),
    };
    to.set(sim().events.add(Arc::new(event)))
}

fn record(event: Handle, stream: Handle) -> Answer {
    let (event, stream) = (sim().events.get(event)?, streams::find(stream)?);
    streams::on_current_device(&stream)?;
    let captured = lock(&stream.capture).clone();
    let state = match captured {
        Some(own) if own.capture.is_invalid() => return Err(Code::CAPTURE_INVALIDATED),
        Some(own) => State::Captured {
            capture: own.capture,
            after: own.after,
        },
        None => {
            streams::follow_default_stream(&stream)?;
            let time = Arc::new(OnceLock::new());
            let point = stream.push(Item::Mark(time.clone()));
            State::Recorded { point, time }
        }
    };
    *lock(&event.state) = state;
    Ok(())
}
