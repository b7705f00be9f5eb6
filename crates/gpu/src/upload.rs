//! Frames of host memory on their way to the device, each copied once.
//!
//! A frame of pageable memory is staged in pinned memory on the caller's thread, so it can be
//! given back at once; one that is pinned already is copied from where it is. Copies have a
//! stream of their own and overlap with the kernels of other frames.
//!
//! What must stay true: the reference frame that a later frame looks back at is not copied again
//! (it is known by its identity, and kept so that no other frame can take that identity);
//! staging memory is not written while a copy of it is under way.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vmafx_api::{ApiError, FrameFormat, FrameRef, HostView, KeptFrame, Samples, Status};

use crate::args::Plane;
use crate::card::Card;
use crate::resources::{DeviceMemory, Event, PinnedMemory, Stream};
use crate::runtime::{Extent, Runtime, enter};

/// Rows begin at multiples of this many bytes.
const PITCH: usize = 256;

/// The copies of one plan.
#[derive(Debug)]
pub(crate) struct Uploads {
    card: Arc<Card>,
    shape: Arc<Shape>,
    stream: Stream,
    /// Reference frames that a later frame may look back at, the newest last.
    recent: Mutex<VecDeque<Arc<Upload>>>,
    /// How many of them are remembered.
    remembered: usize,
    free: Arc<Mutex<Vec<Buffers>>>,
}

/// Where the planes of a frame lie in its buffers.
#[derive(Debug)]
struct Shape {
    format: FrameFormat,
    planes: Vec<PlaneShape>,
    bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct PlaneShape {
    offset: usize,
    pitch: usize,
    extent: Extent,
}

/// Memory for one frame.
#[derive(Debug)]
struct Buffers {
    memory: DeviceMemory,
    staging: Option<PinnedMemory>,
    /// Reached when the last copy into `memory` is complete.
    ready: Arc<Event>,
    /// Whether `ready` was ever recorded.
    used: bool,
}

/// A frame on the device, or on its way there.
#[derive(Debug)]
pub(crate) struct Upload {
    filled: OnceLock<Result<Buffers, ApiError>>,
    /// The frame, while its identity or its samples are needed.
    kept: Option<KeptFrame>,
    shape: Arc<Shape>,
    free: Arc<Mutex<Vec<Buffers>>>,
    runtime: Arc<dyn Runtime>,
}

impl Buffers {
    /// Waits until no copy into them is under way.
    fn settle(&self, runtime: &Arc<dyn Runtime>) {
        if let (true, Ok(_current)) = (self.used, enter(runtime)) {
            // A failure is the device's end, and with it that of the copy.
            let _ = self.ready.await_reached();
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(Ok(buffers)) = self.filled.take() {
            // A frame that never came to its kernels may still be on its way.
            buffers.settle(&self.runtime);
            lock(&self.free).push(buffers);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Uploads {
    /// Uploads of the first `planes` planes of frames of `format`, of which the last
    /// `remembered` reference frames are found again.
    pub(crate) fn new(
        card: &Arc<Card>,
        format: &FrameFormat,
        planes: usize,
        remembered: usize,
    ) -> Result<Self, ApiError> {
        let mut bytes = 0;
        let planes = (0..planes.min(format.plane_count())).map(|plane| {
            let size = format.plane_size(plane);
            let width = size.width * format.sample_bytes();
            let shape = PlaneShape {
                offset: bytes,
                pitch: width.next_multiple_of(PITCH),
                extent: Extent {
                    width,
                    rows: size.height,
                },
            };
            bytes += shape.pitch * size.height;
            shape
        });
        let planes = planes.collect();
        let stream = Stream::new(card.runtime()).map_err(|error| card.failed(error))?;
        Ok(Uploads {
            card: card.clone(),
            shape: Arc::new(Shape {
                format: *format,
                planes,
                bytes,
            }),
            stream,
            recent: Mutex::default(),
            remembered,
            free: Arc::default(),
        })
    }

    /// Bytes of device memory for one frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.shape.bytes
    }

    /// Brings `frame` to the device, or finds it there. `again` says whether a later frame may
    /// ask for it.
    pub(crate) fn bring(&self, frame: &FrameRef<'_>, again: bool) -> Result<Arc<Upload>, ApiError> {
        let identity = frame.identity();
        let remember = self.remembered > 0 && identity != 0;
        let upload = {
            let mut recent = lock(&self.recent);
            let same = |upload: &&Arc<Upload>| {
                let kept = upload.kept.as_ref();
                remember && kept.is_some_and(|kept| kept.get().identity() == identity)
            };
            if let Some(found) = recent.iter().find(same) {
                found.clone()
            } else {
                let pinned = self.is_pinned(frame);
                let kept = match (remember && again) || pinned {
                    true => Some(frame.keep()),
                    false => None,
                };
                // A host whose frames cannot be kept has them copied each time.
                let kept = kept.and_then(Result::ok);
                let upload = Arc::new(Upload {
                    filled: OnceLock::new(),
                    kept,
                    shape: self.shape.clone(),
                    free: self.free.clone(),
                    runtime: self.card.runtime().clone(),
                });
                if remember && again && upload.kept.is_some() {
                    recent.push_back(upload.clone());
                    if recent.len() > self.remembered {
                        recent.pop_front();
                    }
                }
                upload
            }
        };
        let filled = upload.filled.get_or_init(|| self.fill(frame, &upload));
        match filled {
            Ok(_) => Ok(upload),
            Err(error) => {
                // The next frame tries again.
                lock(&self.recent).retain(|other| !Arc::ptr_eq(other, &upload));
                Err(error.clone())
            }
        }
    }

    /// Whether every plane lies in memory that the device copies from by itself.
    fn is_pinned(&self, frame: &FrameRef<'_>) -> bool {
        let planes = 0..self.shape.planes.len();
        frame.host().is_some_and(|view| {
            planes.into_iter().all(|plane| {
                view.plane(plane)
                    .is_some_and(|plane| self.card.runtime().is_pinned(start(plane.samples())))
            })
        })
    }

    fn fill(&self, frame: &FrameRef<'_>, upload: &Upload) -> Result<Buffers, ApiError> {
        let view = frame.host().ok_or_else(|| {
            let message = format!("the samples are in {}", frame.memory());
            ApiError::new(Status::INTERNAL, "frame", message)
        })?;
        let card = &self.card;
        let _current = card.enter()?;
        let failed = |error| card.failed(error);
        let recycled = lock(&self.free).pop();
        let mut buffers = match recycled {
            Some(buffers) => buffers,
            None => Buffers {
                memory: DeviceMemory::new(card.runtime(), self.shape.bytes).map_err(failed)?,
                staging: None,
                ready: Arc::new(Event::new(card.runtime()).map_err(failed)?),
                used: false,
            },
        };
        if buffers.used {
            buffers.ready.await_reached().map_err(failed)?;
        }
        let kept = upload.kept.is_some() && self.is_pinned(frame);
        if let Err(error) = self.enqueue(view, kept, &mut buffers) {
            // What was enqueued before the failure still reads and writes.
            let _ = self.stream.synchronize();
            return Err(error);
        }
        Ok(buffers)
    }

    /// Enqueues the copies of a frame into buffers of which no copy is under way; `kept` says
    /// that its samples stay where they are until then.
    fn enqueue(
        &self,
        view: &HostView<'_>,
        kept: bool,
        buffers: &mut Buffers,
    ) -> Result<(), ApiError> {
        let card = &self.card;
        let failed = |error| card.failed(error);
        let sources = self.shape.planes.iter().enumerate().map(|(index, shape)| {
            let plane = view.plane(index).ok_or_else(|| {
                let message = format!("plane {index} is missing");
                ApiError::new(Status::INTERNAL, "frame", message)
            })?;
            let stride = plane.stride() * self.shape.format.sample_bytes();
            Ok((*shape, start(plane.samples()), stride))
        });
        let sources = sources.collect::<Result<Vec<_>, ApiError>>()?;
        let memory = buffers.memory.address();
        if kept {
            for (shape, from, stride) in sources {
                let to = (memory + shape.offset as u64, shape.pitch);
                // SAFETY: the view's rows are readable while the frame is kept, which is as long
                // as the upload lives: until the frame's work has been collected. The buffers
                // belong to this upload alone.
                unsafe { self.stream.upload(to, (from, stride), shape.extent) }.map_err(failed)?;
            }
        } else {
            let staging = match &mut buffers.staging {
                Some(staging) => staging,
                empty => empty
                    .insert(PinnedMemory::new(card.runtime(), self.shape.bytes).map_err(failed)?),
            };
            {
                // SAFETY: the last copy from it was waited for above.
                let bytes = unsafe { staging.bytes_mut() };
                for (shape, from, stride) in sources {
                    let rows = bytes[shape.offset..].chunks_mut(shape.pitch);
                    for (y, row) in rows.take(shape.extent.rows).enumerate() {
                        let row = &mut row[..shape.extent.width];
                        // SAFETY: the view has `rows` rows of `width` bytes, `stride` apart, and
                        // is lent for the call; staging is other memory.
                        unsafe {
                            let from = from.cast::<u8>().add(y * stride);
                            row.as_mut_ptr().copy_from_nonoverlapping(from, row.len());
                        }
                    }
                }
            }
            let extent = Extent {
                width: self.shape.bytes,
                rows: 1,
            };
            let (to, from) = (
                (memory, extent.width),
                (staging.pointer().cast_const(), extent.width),
            );
            // SAFETY: the staging memory is not written before `ready` is reached, and both
            // belong to this upload.
            unsafe { self.stream.upload(to, from, extent) }.map_err(failed)?;
        }
        buffers.ready.record(&self.stream).map_err(failed)?;
        buffers.used = true;
        self.stream.submit().map_err(failed)
    }
}

impl Upload {
    fn buffers(&self) -> Option<&Buffers> {
        self.filled.get().and_then(|filled| filled.as_ref().ok())
    }

    /// What must be reached before the planes are read.
    pub(crate) fn ready(&self) -> Option<Arc<Event>> {
        self.buffers().map(|buffers| buffers.ready.clone())
    }

    /// The planes on the device; those that are not brought there are empty.
    pub(crate) fn planes(&self) -> [Plane; 3] {
        let mut planes = [Plane::default(); 3];
        if let Some(buffers) = self.buffers() {
            for (plane, shape) in planes.iter_mut().zip(&self.shape.planes) {
                *plane = Plane {
                    address: buffers.memory.address() + shape.offset as u64,
                    pitch: shape.pitch as u64,
                };
            }
        }
        planes
    }
}

/// The address of the first sample.
fn start(samples: Samples<'_>) -> *const c_void {
    match samples {
        Samples::U8(samples) => samples.as_ptr().cast(),
        Samples::U16(samples) => samples.as_ptr().cast(),
    }
}
