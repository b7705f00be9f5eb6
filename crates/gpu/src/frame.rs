//! Frames that are in the device's memory already, read where they are.
//!
//! Planar frames behind device pointers are taken in, with nothing to wait for or with an event
//! of the device's runtime; every other kind of memory or fence is refused by name.
//!
//! Fences that tell the producer when its memory is free again: [`crate::release`].
//!
//! What must stay true: the wait for the producer's fence is enqueued, on the library's stream,
//! before [`import`](Importer::import) returns, so the producer may destroy the fence then; all
//! fields at fault are told, the first of them as the subject. One stream waits for all producers:
//! frames are to be taken in in the order in which their fences are signalled.

use std::sync::Arc;
use std::time::Duration;

use vmafx_api::{
    ApiError, DeviceFrameImpl, FenceKind, FenceState, FrameFormat, ImportDescriptor, ImportImpl,
    MemoryKind, NativeFence, Status,
};

use crate::args::Plane;
use crate::card::Card;
use crate::release::{Handed, Release};
use crate::resources::Event;
use crate::runtime::{EventHandle, Fault, RuntimeError};

/// A frame in the device's memory that its producer described.
#[derive(Debug)]
pub(crate) struct GpuFrame {
    card: Arc<Card>,
    format: FrameFormat,
    planes: [Plane; 3],
    /// Reached when the producer's work is complete.
    ready: Option<Arc<Event>>,
    release: Release,
}

impl GpuFrame {
    pub(crate) fn is_of(&self, card: &Arc<Card>) -> bool {
        Arc::ptr_eq(&self.card, card)
    }

    pub(crate) fn planes(&self) -> [Plane; 3] {
        self.planes
    }

    pub(crate) fn ready(&self) -> Option<Arc<Event>> {
        self.ready.clone()
    }
}

impl DeviceFrameImpl for GpuFrame {
    fn format(&self) -> FrameFormat {
        self.format
    }

    fn release_fence(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        self.release.fence(kind)
    }
}

/// The device's way to take in frames.
#[derive(Debug)]
pub(crate) struct Importer {
    card: Arc<Card>,
    /// The kind of the runtime's own events.
    event: FenceKind,
    handed: Arc<Handed>,
}

impl Importer {
    pub(crate) fn new(card: Arc<Card>, event: FenceKind) -> Self {
        Importer {
            card,
            event,
            handed: Arc::new(Handed::new(event)),
        }
    }

    /// Whether a fence is one that this device can wait for.
    fn own_event(&self, fence: &NativeFence, subject: &str) -> Result<EventHandle, ApiError> {
        if fence.kind() != self.event {
            let message = format!(
                "{} is not waited for; {} and no fence are",
                fence.kind(),
                self.event
            );
            return Err(ApiError::new(
                Status::NOT_SUPPORTED,
                format!("{subject}.kind"),
                message,
            ));
        }
        match usize::try_from(fence.handle()) {
            Ok(handle) if handle != 0 => Ok(EventHandle(handle)),
            _ => Err(ApiError::new(
                Status::INVALID,
                format!("{subject}.handle"),
                format!("{} has no handle", fence.kind()),
            )),
        }
    }
}

/// Every refusal of a description, in the order of the checks.
#[derive(Default)]
struct Refusals(Vec<ApiError>);

impl Refusals {
    fn add(&mut self, status: Status, subject: impl Into<String>, message: String) {
        self.0.push(ApiError::new(status, subject, message));
    }

    /// The first refusal, with the others in its text.
    fn answer(self) -> Result<(), ApiError> {
        let mut refusals = self.0.into_iter();
        let Some(mut first) = refusals.next() else {
            return Ok(());
        };
        for other in refusals {
            first.message += &format!("; {}: {}", other.subject, other.message);
        }
        Err(first)
    }
}

impl ImportImpl for Importer {
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError> {
        let format = *frame.format();
        let mut refusals = Refusals::default();
        if frame.planes().len() != format.plane_count() {
            let (given, wanted) = (frame.planes().len(), format.plane_count());
            let message = format!("{given} planes, {format} has {wanted}");
            refusals.add(Status::INVALID, "desc.plane_count", message);
        }
        if frame.memory() != MemoryKind::DEVICE_POINTER {
            let message = format!(
                "{} is not read; {} is, and no frame is copied through the host",
                frame.memory(),
                MemoryKind::DEVICE_POINTER
            );
            refusals.add(Status::NOT_SUPPORTED, "desc.memory", message);
        }
        let mut planes = [Plane::default(); 3];
        let sample = format.sample_bytes() as u64;
        let described = frame.planes().iter().zip(&mut planes).enumerate();
        for (index, (plane, slot)) in described.take(format.plane_count()) {
            let subject = |field: &str| format!("desc.plane[{index}].{field}");
            let size = format.plane_size(index);
            let (row, rows) = (size.width as u64 * sample, size.height as u64);
            if plane.handle == 0 {
                let message = "no address".to_owned();
                refusals.add(Status::INVALID, subject("handle"), message);
            }
            if plane.modifier != 0 {
                let message = format!("{:#x}: memory is read as rows", plane.modifier);
                refusals.add(Status::NOT_SUPPORTED, subject("modifier"), message);
            }
            let address = plane.handle.checked_add(plane.offset);
            if plane.pitch < row {
                let message = format!("{} bytes, a row has {row}", plane.pitch);
                refusals.add(Status::INVALID, subject("pitch"), message);
            }
            if plane.pitch > u64::from(u32::MAX) {
                let message = format!("{} bytes, the most are {}", plane.pitch, u32::MAX);
                refusals.add(Status::RANGE, subject("pitch"), message);
            }
            if !plane.pitch.is_multiple_of(sample) {
                let message = format!("{} bytes are not whole samples", plane.pitch);
                refusals.add(Status::INVALID, subject("pitch"), message);
            }
            if address.is_some_and(|address| !address.is_multiple_of(sample)) {
                let message = format!("{} is not at a whole sample", plane.offset);
                refusals.add(Status::INVALID, subject("offset"), message);
            }
            let span = (plane.pitch.checked_mul(rows - 1)).and_then(|span| span.checked_add(row));
            let end = span.and_then(|span| plane.offset.checked_add(span));
            let whole = address
                .zip(span)
                .and_then(|(at, span)| at.checked_add(span));
            match (end, whole) {
                (Some(end), Some(_)) if plane.size != 0 && end > plane.size => {
                    let message = format!(
                        "{rows} rows of {} bytes from {} need {end} bytes, there are {}",
                        plane.pitch, plane.offset, plane.size
                    );
                    refusals.add(Status::RANGE, subject("size"), message);
                }
                (Some(_), Some(_)) => {}
                _ => {
                    let message = format!(
                        "{rows} rows of {} bytes from {} go past the last address",
                        plane.pitch, plane.offset
                    );
                    refusals.add(Status::RANGE, subject("size"), message);
                }
            }
            *slot = Plane {
                address: address.unwrap_or(0),
                pitch: plane.pitch,
            };
        }
        let acquire = match frame.acquire().kind() {
            FenceKind::NONE => None,
            _ => match self.own_event(frame.acquire(), "desc.acquire") {
                Ok(event) => Some(event),
                Err(refusal) => {
                    refusals.0.push(refusal);
                    None
                }
            },
        };
        refusals.answer()?;
        let ready = match acquire {
            Some(event) => Some(self.follow(event)?),
            None => None,
        };
        Ok(Box::new(GpuFrame {
            card: self.card.clone(),
            format,
            planes,
            ready,
            release: Release::new(&self.card, &self.handed),
        }))
    }

    fn fence_poll(&self, fence: &NativeFence) -> Result<FenceState, ApiError> {
        if fence.kind() == FenceKind::NONE {
            return Ok(FenceState::Signalled);
        }
        if let Some(answer) = self.handed.poll(&self.card, fence) {
            return answer;
        }
        let event = self.own_event(fence, "fence")?;
        let _current = self.card.enter()?;
        // SAFETY: whoever made the fence vouches for its handle.
        let reached = unsafe { self.card.runtime().reached(event) };
        let reached = reached.map_err(|error| self.card.failed_about(error, "fence"))?;
        Ok(reached.into())
    }

    fn fence_wait(&self, fence: &NativeFence, timeout: Duration) -> Result<(), ApiError> {
        if let Some(answer) = self.handed.wait(&self.card, fence, timeout) {
            return answer;
        }
        let reached = || Ok::<_, ApiError>(self.fence_poll(fence)? == FenceState::Signalled);
        match vmafx_fences::wait_until(timeout, reached)? {
            true => Ok(()),
            false => Err(vmafx_fences::FenceError::TimedOut { timeout }.into()),
        }
    }

    fn fence_export(&self, fence: &NativeFence, kind: FenceKind) -> Result<NativeFence, ApiError> {
        let message = format!("{} cannot be made of {}", kind, fence.kind());
        Err(ApiError::new(Status::NOT_SUPPORTED, "kind", message))
    }

    fn fence_destroy(&self, fence: NativeFence) {
        self.handed.destroy(&fence);
    }
}

impl Importer {
    /// An event of our own behind the producer's.
    fn follow(&self, event: EventHandle) -> Result<Arc<Event>, ApiError> {
        let card = &self.card;
        let failed = |error: RuntimeError| match error.fault {
            // What a stream cannot wait for is not an event of this device.
            Fault::Other => {
                let refusal = error.about("desc.acquire.handle");
                ApiError {
                    status: Status::INVALID,
                    ..refusal
                }
            }
            _ => card.failed_about(error, "desc.acquire.handle"),
        };
        let _current = card.enter()?;
        let ready = Event::new(card.runtime()).map_err(failed)?;
        // SAFETY: whoever made the descriptor vouches for the handle during the call.
        unsafe { card.library().wait_foreign(event) }.map_err(failed)?;
        ready.record(card.library()).map_err(failed)?;
        card.library().submit().map_err(failed)?;
        Ok(Arc::new(ready))
    }
}
