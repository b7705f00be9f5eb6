//! Release fences: how a producer learns that its memory is its own again.
//!
//! A frame's fences are asked for while it is held, and can be waited for from then on; what they
//! stand for is only made when the frame is let go. Until then an event of the runtime is a
//! [`Unrecorded`] one, which has no way to be asked: runtimes take an event that was never recorded
//! for one that was reached.
//!
//! Whoever reads a frame holds it until its reads are complete ([`crate::slot`]), so nothing of the
//! device's reads it when the last reference goes. The event is recorded on a stream of its own,
//! on which nobody waits for a producer: giving memory back never waits for another frame's.
//!
//! What must stay true: the event is recorded before the host fence is signalled, so that whoever
//! is woken by the one may let a stream wait for the other; of a device that is lost no fence says
//! that the memory is free.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use vmafx_api::{ApiError, FenceImpl as _, FenceKind, FenceState, NativeFence, Status};
use vmafx_fences::{FenceError, HostFence};

use crate::card::Card;
use crate::resources::{Recorded, Unrecorded};
use crate::runtime::RuntimeError;

/// The fences of one frame.
#[derive(Debug)]
pub(crate) struct Release {
    card: Arc<Card>,
    handed: Arc<Handed>,
    asked: Mutex<Asked>,
}

/// What was asked for; each kind is one thing, whoever asks and how often.
#[derive(Debug, Default)]
struct Asked {
    host: Option<HostFence>,
    event: Option<Arc<ReleaseEvent>>,
}

/// An event that is recorded when its frame is let go.
#[derive(Debug)]
struct ReleaseEvent {
    /// The runtime's number of it.
    handle: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
enum State {
    /// The frame is held.
    Held(Unrecorded),
    Recorded(Recorded),
    /// The frame was let go, and the event could not be recorded.
    Failed(ApiError),
    /// Between two of the others, under the lock.
    Changing,
}

/// The fences that a device has handed out and that were not destroyed.
#[derive(Debug)]
pub(crate) struct Handed {
    /// The kind of the runtime's own events.
    event: FenceKind,
    /// By kind and number, with how often each was handed out.
    fences: Mutex<HashMap<(FenceKind, u64), (Known, u32)>>,
}

/// A fence of this device's.
#[derive(Clone, Debug)]
enum Known {
    Host(HostFence),
    Event(Arc<ReleaseEvent>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Release {
    pub(crate) fn new(card: &Arc<Card>, handed: &Arc<Handed>) -> Self {
        Release {
            card: card.clone(),
            handed: handed.clone(),
            asked: Mutex::default(),
        }
    }

    /// A fence of `kind`, which the caller gives back with [`Handed::destroy`].
    pub(crate) fn fence(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        let mut asked = lock(&self.asked);
        if kind == FenceKind::HOST {
            let fence = asked.host.get_or_insert_default();
            let known = Known::Host(fence.clone());
            return Ok(self.handed.hand_out(fence.native(), known));
        }
        if kind == self.handed.event {
            let event = match &asked.event {
                Some(event) => event.clone(),
                None => {
                    let _current = self.card.enter()?;
                    let failed = |error| self.card.failed_about(error, "kind");
                    // Made now, so that letting go of the frame makes nothing.
                    self.card.releases().map_err(failed)?;
                    let event = Unrecorded::new(self.card.runtime()).map_err(failed)?;
                    let event = Arc::new(ReleaseEvent::new(event));
                    asked.event.insert(event).clone()
                }
            };
            // SAFETY: the event is the runtime's, and lives until the fence is destroyed.
            let native = unsafe { NativeFence::new(kind, -1, event.handle as u64, 0) };
            return Ok(self.handed.hand_out(native, Known::Event(event)));
        }
        let own = self.handed.event;
        let message = match kind {
            FenceKind::NONE => "no fence is none".to_owned(),
            FenceKind::SYNC_FILE => format!(
                "a sync_file cannot be signalled: the device's queues are not the kernel's, and \
                 nothing of theirs signals a kernel fence; {own} and {} can be",
                FenceKind::HOST
            ),
            _ => format!(
                "{kind} cannot be signalled by this device; {own} and {} can be",
                FenceKind::HOST
            ),
        };
        let status = match kind {
            FenceKind::NONE => Status::INVALID,
            _ => Status::NOT_SUPPORTED,
        };
        Err(ApiError::new(status, "kind", message))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        let asked = std::mem::take(self.asked.get_mut().unwrap_or_else(PoisonError::into_inner));
        let entered = self.card.enter();
        if let Some(event) = asked.event {
            let recorded = |event: Unrecorded| {
                if let Err(error) = &entered {
                    return Err(error.clone());
                }
                let failed = |error: RuntimeError| self.card.failed_about(error, "fence");
                let stream = self.card.releases().map_err(failed)?;
                let recorded = event.record(stream).map_err(failed)?;
                stream.submit().map_err(failed)?;
                Ok(recorded)
            };
            event.settle(recorded);
        }
        if let Some(fence) = asked.host {
            // Nobody else settles it: only its number is known outside.
            let _ = match entered {
                Ok(_) => fence.signal(),
                Err(error) => fence.fail(error.to_string()),
            };
        }
    }
}

impl ReleaseEvent {
    fn new(event: Unrecorded) -> Self {
        ReleaseEvent {
            handle: event.number(),
            state: Mutex::new(State::Held(event)),
            changed: Condvar::new(),
        }
    }

    /// Records it, at the end of the frame.
    fn settle(&self, record: impl FnOnce(Unrecorded) -> Result<Recorded, ApiError>) {
        let mut state = lock(&self.state);
        if let State::Held(event) = std::mem::replace(&mut *state, State::Changing) {
            *state = match record(event) {
                Ok(event) => State::Recorded(event),
                Err(error) => State::Failed(error),
            };
        }
        drop(state);
        self.changed.notify_all();
    }

    fn poll(&self, card: &Card) -> Result<FenceState, ApiError> {
        let reached = match &*lock(&self.state) {
            State::Held(_) | State::Changing => return Ok(FenceState::Pending),
            State::Failed(error) => return Err(error.clone()),
            State::Recorded(event) => {
                let _current = card.enter()?;
                event.reached().map_err(|e| card.failed_about(e, "fence"))?
            }
        };
        Ok(reached.into())
    }

    fn wait(&self, card: &Card, timeout: Duration) -> Result<(), ApiError> {
        let begin = Instant::now();
        let mut state = lock(&self.state);
        // A bound past the end of time is no bound.
        let left = |begin: Instant| timeout.saturating_sub(begin.elapsed());
        while matches!(&*state, State::Held(_)) {
            let left = left(begin);
            if left.is_zero() {
                return Err(FenceError::TimedOut { timeout }.into());
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        let reached = || Ok::<_, ApiError>(self.poll(card)? == FenceState::Signalled);
        match vmafx_fences::wait_until(left(begin), reached)? {
            true => Ok(()),
            false => Err(FenceError::TimedOut { timeout }.into()),
        }
    }
}

impl Handed {
    pub(crate) fn new(event: FenceKind) -> Self {
        Handed {
            event,
            fences: Mutex::default(),
        }
    }

    fn hand_out(&self, native: NativeFence, known: Known) -> NativeFence {
        let mut fences = lock(&self.fences);
        let entry = fences.entry((native.kind(), native.handle()));
        entry.or_insert((known, 0)).1 += 1;
        native
    }

    fn find(&self, fence: &NativeFence) -> Option<Known> {
        let fences = lock(&self.fences);
        let found = fences.get(&(fence.kind(), fence.handle()));
        found.map(|(known, _)| known.clone())
    }

    /// What a fence that was handed out says; none for any other.
    pub(crate) fn poll(
        &self,
        card: &Card,
        fence: &NativeFence,
    ) -> Option<Result<FenceState, ApiError>> {
        Some(match self.find(fence)? {
            Known::Host(fence) => fence.poll(),
            Known::Event(event) => event.poll(card),
        })
    }

    /// Waits for a fence that was handed out; none for any other.
    pub(crate) fn wait(
        &self,
        card: &Card,
        fence: &NativeFence,
        timeout: Duration,
    ) -> Option<Result<(), ApiError>> {
        Some(match self.find(fence)? {
            Known::Host(fence) => fence.wait_for(timeout).map_err(ApiError::from),
            Known::Event(event) => event.wait(card, timeout),
        })
    }

    /// Takes back what [`Release::fence`] gave, once.
    pub(crate) fn destroy(&self, fence: &NativeFence) {
        let mut fences = lock(&self.fences);
        let mut gone = None;
        if let Entry::Occupied(mut entry) = fences.entry((fence.kind(), fence.handle())) {
            entry.get_mut().1 -= 1;
            if entry.get().1 == 0 {
                gone = Some(entry.remove());
            }
        }
        // An event goes outside the lock: destroying it is a call of the runtime.
        drop(fences);
        drop(gone);
    }
}
