//! What an extractor is given: frames that are lent for the length of a call.
//!
//! What must stay true: a lent frame is checked before anyone reads it, and nobody can hold one
//! longer than the call without [keeping](FrameRef::keep) it.

use std::fmt;
use std::marker::PhantomData;

use crate::author::DeviceFrameImpl;
use crate::error::ApiError;
use crate::format::FrameFormat;
use crate::frame::{HostView, PlaneView, Samples};
use crate::guard;
use crate::kinds::{MemoryKind, Status};
use crate::wire::{self, MAX_HISTORY};
use crate::{describe, sized};

/// A frame that the host lends.
#[derive(Clone, Copy)]
pub struct FrameRef<'a> {
    raw: wire::Frame,
    format: FrameFormat,
    view: Option<HostView<'a>>,
    lent: PhantomData<&'a wire::Frame>,
}

// SAFETY: the samples behind the pointers do not change while the frame is lent, `retain` and
// `release` may be called from any thread, and a device frame is Sync (the contract of
// `wire::Frame` and the bounds of `DeviceFrameImpl`).
unsafe impl Send for FrameRef<'_> {}
// SAFETY: as above; the struct itself has no interior mutability.
unsafe impl Sync for FrameRef<'_> {}

impl<'a> FrameRef<'a> {
    /// Takes the frame at `frame` as lent for `'a`.
    ///
    /// # Errors
    /// A frame that contradicts itself, by the name `subject`.
    ///
    /// # Safety
    /// `frame` is null or keeps the contract of [`wire::Frame`] for `'a`.
    pub(crate) unsafe fn new(
        frame: *const wire::Frame,
        subject: &'static str,
    ) -> Result<Self, ApiError> {
        let named = |error: ApiError| {
            let subject = format!("{subject}.{}", error.subject);
            ApiError::new(error.status, subject, error.message)
        };
        // SAFETY: null or readable for `struct_size` bytes (caller).
        let raw = unsafe { sized::read(frame) }.map_err(named)?;
        let format = describe::format(&raw.format).map_err(named)?;
        let view = match raw.memory {
            // SAFETY: the planes are readable as they say (caller).
            MemoryKind::HOST => Some(unsafe { host_view(&raw, format) }.map_err(named)?),
            _ => None,
        };
        Ok(FrameRef {
            raw,
            format,
            view,
            lent: PhantomData,
        })
    }

    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Where the samples are.
    pub fn memory(&self) -> MemoryKind {
        self.raw.memory
    }

    /// A view of the samples, if they are in host memory.
    pub fn host(&self) -> Option<&HostView<'a>> {
        self.view.as_ref()
    }

    /// The device's own frame, if it was made by [`ImportImpl`](crate::ImportImpl) of this
    /// backend. Draft.
    pub fn device(&self) -> Option<&'a dyn DeviceFrameImpl> {
        // SAFETY: a host passes the frames of a backend to that backend alone (contract of
        // `wire::Frame::device_frame`), and keeps them while they are lent.
        unsafe { guard::device_frame(self.raw.device_frame) }
    }

    /// A number that two frames share only if they are the same frame, as long as either is lent
    /// or [kept](FrameRef::keep); 0 if the host does not say.
    pub fn identity(&self) -> usize {
        self.raw.object.addr()
    }

    /// The frame for longer than the call: its samples stay as they are until the answer is
    /// dropped.
    ///
    /// # Errors
    /// A host whose frames cannot be kept.
    pub fn keep(&self) -> Result<KeptFrame, ApiError> {
        let (Some(retain), Some(release)) = (self.raw.retain, self.raw.release) else {
            let message = "the host lends it for the call only";
            return Err(ApiError::new(Status::NOT_SUPPORTED, "frame", message));
        };
        // SAFETY: the frame is lent, so its object is alive (contract of `wire::Frame`).
        unsafe { retain(self.raw.object) };
        Ok(KeptFrame {
            frame: FrameRef {
                raw: self.raw,
                format: self.format,
                // SAFETY: only the lifetime changes. The samples stay until `release`, which comes
                // with the drop of the struct that holds the view; `get` hands it out for no
                // longer than that struct is borrowed.
                view: unsafe {
                    std::mem::transmute::<Option<HostView<'a>>, Option<HostView<'static>>>(
                        self.view,
                    )
                },
                lent: PhantomData,
            },
            release,
        })
    }
}

impl fmt::Debug for FrameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame of {} in {}", self.format, self.raw.memory)
    }
}

/// The view of the planes of a frame in host memory.
///
/// # Safety
/// The planes' memory is readable as they say, and unchanged, for `'a`.
unsafe fn host_view<'a>(
    frame: &wire::Frame,
    format: FrameFormat,
) -> Result<HostView<'a>, ApiError> {
    let sample = format.sample_bytes();
    let mut views = [None; 3];
    for (index, view) in views.iter_mut().enumerate().take(format.plane_count()) {
        let plane = &frame.planes[index];
        let size = format.plane_size(index);
        let fault =
            |message: String| ApiError::new(Status::INVALID, format!("planes[{index}]"), message);
        if (plane.width as usize, plane.height as usize) != (size.width, size.height) {
            return Err(fault(format!(
                "{}x{} samples, {format} has {}x{}",
                plane.width, plane.height, size.width, size.height
            )));
        }
        let stride = usize::try_from(plane.stride_bytes).unwrap_or(usize::MAX);
        let span = stride
            .checked_mul(size.height - 1)
            .and_then(|rows| rows.checked_add(size.width * sample))
            .filter(|&span| span <= isize::MAX as usize);
        let aligned = stride.is_multiple_of(sample) && plane.data.addr().is_multiple_of(sample);
        let (Some(span), true, false) = (span, aligned, plane.data.is_null()) else {
            return Err(fault(format!(
                "data at {:p} with rows {stride} bytes apart is not a plane of {sample}-byte samples",
                plane.data
            )));
        };
        let count = span / sample;
        let samples = match sample {
            // SAFETY: not null, and `span` bytes are readable and unchanged (caller).
            1 => Samples::U8(unsafe { std::slice::from_raw_parts(plane.data.cast(), count) }),
            // SAFETY: also aligned to two bytes (checked).
            _ => Samples::U16(unsafe { std::slice::from_raw_parts(plane.data.cast(), count) }),
        };
        let made = PlaneView::new(samples, size, stride / sample);
        *view = Some(made.map_err(|error| fault(error.to_string()))?);
    }
    HostView::from_planes(format, views).ok_or_else(|| {
        ApiError::new(
            Status::INTERNAL,
            "planes",
            "the planes do not fit the format",
        )
    })
}

/// A frame that outlives the call it was lent for. The host keeps its samples until the last of
/// these is dropped.
#[derive(Debug)]
pub struct KeptFrame {
    frame: FrameRef<'static>,
    release: unsafe extern "C" fn(object: *const wire::FrameObject),
}

impl KeptFrame {
    /// The frame.
    pub fn get(&self) -> FrameRef<'_> {
        self.frame
    }
}

impl Drop for KeptFrame {
    fn drop(&mut self) {
        // SAFETY: one `retain` was called for this value and this is its one `release`.
        unsafe { (self.release)(self.frame.raw.object) }
    }
}

/// A reference frame and what is scored against it, lent.
#[derive(Clone, Copy, Debug)]
pub struct PairRef<'a> {
    /// The original.
    pub reference: FrameRef<'a>,
    /// What is scored.
    pub distorted: FrameRef<'a>,
}

impl PairRef<'_> {
    /// # Safety
    /// As [`FrameRef::new`], for both.
    unsafe fn new(pair: &wire::FramePair, subjects: [&'static str; 2]) -> Result<Self, ApiError> {
        Ok(PairRef {
            // SAFETY: the caller's promise.
            reference: unsafe { FrameRef::new(pair.reference, subjects[0]) }?,
            // SAFETY: the caller's promise.
            distorted: unsafe { FrameRef::new(pair.distorted, subjects[1]) }?,
        })
    }
}

/// One frame to score, with the frames before it.
#[derive(Debug)]
pub struct Job<'a> {
    index: u64,
    pair: PairRef<'a>,
    earlier: [Option<PairRef<'a>>; MAX_HISTORY as usize],
}

impl<'a> Job<'a> {
    /// Takes the job at `job` as lent for `'a`.
    ///
    /// # Errors
    /// A job that contradicts itself.
    ///
    /// # Safety
    /// `job` is null or keeps the contract of [`wire::Job`] for `'a`.
    pub(crate) unsafe fn new(job: *const wire::Job) -> Result<Self, ApiError> {
        // SAFETY: null or readable for `struct_size` bytes (caller).
        let job = unsafe { sized::read(job) }?;
        // SAFETY: the pair is valid for 'a (caller).
        let pair = unsafe { PairRef::new(&job.pair, ["job.reference", "job.distorted"]) }?;
        let mut earlier = [None; MAX_HISTORY as usize];
        if job.earlier_count > MAX_HISTORY {
            let message = format!(
                "{} earlier frames, the most are {MAX_HISTORY}",
                job.earlier_count
            );
            return Err(ApiError::new(Status::RANGE, "job.earlier_count", message));
        }
        // SAFETY: `earlier_count` pairs are readable (caller).
        let pairs =
            unsafe { sized::slice(job.earlier, job.earlier_count as usize, "job.earlier") }?;
        for (slot, pair) in earlier.iter_mut().zip(pairs) {
            // SAFETY: each pair is valid for 'a (caller).
            *slot = Some(unsafe {
                PairRef::new(pair, ["job.earlier.reference", "job.earlier.distorted"])
            }?);
        }
        Ok(Job {
            index: job.index,
            pair,
            earlier,
        })
    }

    /// Number of the frame in the scored clip, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The frame itself.
    pub fn pair(&self) -> &PairRef<'a> {
        &self.pair
    }

    /// The frames before this one, the latest first, of which an extractor reads `history`: as
    /// many as that, or all from the clip's begin on.
    ///
    /// Each that was not given is an error.
    pub fn look_back(
        &self,
        history: usize,
    ) -> impl Iterator<Item = Result<&PairRef<'a>, ApiError>> {
        let wanted = (history as u64).min(self.index) as usize;
        (1..=wanted).map(move |back| {
            self.earlier(back).ok_or_else(|| {
                let message = format!(
                    "frame {} needs {wanted} earlier frames, {} were given",
                    self.index,
                    back - 1
                );
                ApiError::new(Status::INVALID, "job.earlier", message)
            })
        })
    }

    /// The frame `back` before this one, from 1; `None` where the clip begins later, or where
    /// nobody asked for it.
    pub fn earlier(&self, back: usize) -> Option<&PairRef<'a>> {
        self.earlier.get(back.checked_sub(1)?)?.as_ref()
    }
}
