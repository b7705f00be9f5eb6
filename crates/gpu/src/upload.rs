//! Frames of host memory on their way to the device, each copied once.
//!
//! A frame of pageable memory is staged in pinned memory on the caller's thread, so it can be
//! given back at once; one that is pinned already is copied from where it is. Copies have a
//! stream of their own and overlap with the kernels of other frames.
//!
//! What must stay true: the reference frame that a later frame looks back at is not copied again
//! (it is known by its identity, and kept so that no other frame can take that identity); every
//! copy ends with a number of its own, by which the device sees that it has arrived; neither
//! staging memory nor a kept frame is let go while a copy of it is under way.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vmafx_api::{ApiError, FrameFormat, FrameRef, HostView, KeptFrame, Samples, Status};

use crate::args::{Arrival, Plane};
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
    /// Numbers of copies, so that a frame that did not arrive is not taken for another.
    number: AtomicU64,
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

/// Bytes of the number that a copy ends with.
const NUMBER: usize = size_of::<u64>();

/// Memory for one frame.
#[derive(Debug)]
struct Buffers {
    memory: DeviceMemory,
    staging: Option<PinnedMemory>,
    /// Reached when the last copy into `memory` is complete.
    ready: Arc<Event>,
    /// Whether `ready` was ever recorded.
    used: bool,
    /// The number that the last copy ends with, behind the planes.
    number: u64,
}

/// A frame on the device, or on its way there.
#[derive(Debug)]
pub(crate) struct Upload {
    filled: OnceLock<Result<Buffers, ApiError>>,
    /// The frame, while its identity or its samples are needed.
    kept: Option<KeptFrame>,
    /// Whether the copies read the kept frame itself.
    pinned: bool,
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
            number: AtomicU64::new(0),
        })
    }

    /// Bytes of device memory for one frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        self.shape.bytes + NUMBER
    }

    /// Brings `frame` to the device, or finds it there. `again` says whether a later frame may
    /// ask for it.
    pub(crate) fn bring(&self, frame: &FrameRef<'_>, again: bool) -> Result<Arc<Upload>, ApiError> {
        let _current = self.card.enter()?;
        let identity = match self.remembered {
            0 => 0,
            _ => frame.identity(),
        };
        let known = find(&lock(&self.recent), identity).cloned();
        let upload = match known {
            Some(known) => known,
            None => self.new_upload(frame, identity, again),
        };
        match upload.filled.get_or_init(|| self.fill(frame, &upload)) {
            Ok(_) => Ok(upload),
            Err(error) => {
                // The next frame tries again.
                lock(&self.recent).retain(|other| !Arc::ptr_eq(other, &upload));
                Err(error.clone())
            }
        }
    }

    /// An upload that is still to be filled, remembered if it is asked for again. Of two workers
    /// that come with one frame at once, the second gets the first's.
    fn new_upload(&self, frame: &FrameRef<'_>, identity: usize, again: bool) -> Arc<Upload> {
        let remember = identity != 0 && again;
        let pinned = self.is_pinned(frame);
        // A host whose frames cannot be kept has them staged, and copied each time.
        let kept = match remember || pinned {
            true => frame.keep().ok(),
            false => None,
        };
        let remember = remember && kept.is_some();
        let upload = Arc::new(Upload {
            filled: OnceLock::new(),
            pinned: pinned && kept.is_some(),
            kept,
            shape: self.shape.clone(),
            free: self.free.clone(),
            runtime: self.card.runtime().clone(),
        });
        if !remember {
            return upload;
        }
        let mut recent = lock(&self.recent);
        if let Some(known) = find(&recent, identity) {
            return known.clone();
        }
        recent.push_back(upload.clone());
        let forgotten = match recent.len() > self.remembered {
            true => recent.pop_front(),
            false => None,
        };
        drop(recent);
        // Outside of the lock: its copy may be waited for.
        drop(forgotten);
        upload
    }

    /// Whether every plane lies, from its first byte to its last, in memory that the device copies
    /// from by itself.
    fn is_pinned(&self, frame: &FrameRef<'_>) -> bool {
        let runtime = self.card.runtime();
        let sample = self.shape.format.sample_bytes();
        frame.host().is_some_and(|view| {
            self.shape.planes.iter().enumerate().all(|(index, shape)| {
                view.plane(index).is_some_and(|plane| {
                    let first = start(plane.samples());
                    let rows = (shape.extent.rows - 1) * plane.stride() * sample;
                    let last = first.wrapping_byte_add(rows + shape.extent.width - 1);
                    runtime.is_pinned(first) && runtime.is_pinned(last)
                })
            })
        })
    }

    fn fill(&self, frame: &FrameRef<'_>, upload: &Upload) -> Result<Buffers, ApiError> {
        let view = frame.host().ok_or_else(|| {
            let message = format!("the samples are in {}", frame.memory());
            ApiError::new(Status::INTERNAL, "frame", message)
        })?;
        let card = &self.card;
        let failed = |error| card.failed(error);
        let recycled = lock(&self.free).pop();
        let mut buffers = match recycled {
            Some(buffers) => buffers,
            None => Buffers {
                memory: DeviceMemory::new(card.runtime(), self.shape.bytes + NUMBER)
                    .map_err(failed)?,
                staging: None,
                ready: Arc::new(Event::new(card.runtime()).map_err(failed)?),
                used: false,
                number: 0,
            },
        };
        if buffers.used {
            buffers.ready.await_reached().map_err(failed)?;
        }
        if let Err(error) = self.enqueue(view, upload.pinned, &mut buffers) {
            // What was enqueued before the failure still reads and writes.
            let _ = self.stream.synchronize();
            return Err(error);
        }
        Ok(buffers)
    }

    /// Enqueues the copies of a frame into buffers of which no copy is under way; `pinned` says
    /// that they read the frame itself, which is kept as long.
    fn enqueue(
        &self,
        view: &HostView<'_>,
        pinned: bool,
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
        // From 1: memory that nobody wrote reads as 0.
        buffers.number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let number = buffers.number.to_ne_bytes();
        let staged = match pinned {
            true => NUMBER,
            false => self.shape.bytes + NUMBER,
        };
        // The last bytes of the staging memory are the number's.
        let staging = match &mut buffers.staging {
            Some(staging) if staging.len() >= staged => staging,
            room => room.insert(PinnedMemory::new(card.runtime(), staged).map_err(failed)?),
        };
        let from = staging.len() - NUMBER;
        // SAFETY: the last copy from it was waited for.
        let bytes = unsafe { staging.bytes_mut() };
        bytes[from..].copy_from_slice(&number);
        if pinned {
            for (shape, from, stride) in sources {
                let to = (memory + shape.offset as u64, shape.pitch);
                // SAFETY: the view's rows are readable while the upload keeps the frame, and it
                // waits for the copy before it lets go of it. The buffers are its own.
                unsafe { self.stream.upload(to, (from, stride), shape.extent) }.map_err(failed)?;
            }
            let to = (memory + self.shape.bytes as u64, NUMBER);
            let from = staging.pointer().wrapping_byte_add(from).cast_const();
            let extent = Extent {
                width: NUMBER,
                rows: 1,
            };
            // SAFETY: the staging memory is not written before `ready` is reached, and both
            // belong to this upload.
            unsafe { self.stream.upload(to, (from, NUMBER), extent) }.map_err(failed)?;
        } else {
            {
                // SAFETY: the last copy from it was waited for.
                let bytes = &mut unsafe { staging.bytes_mut() }[..self.shape.bytes];
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
                width: self.shape.bytes + NUMBER,
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

    /// What shows that the frame has arrived.
    pub(crate) fn arrival(&self) -> Arrival {
        self.buffers()
            .map_or(Arrival::default(), |buffers| Arrival {
                address: buffers.memory.address() + self.shape.bytes as u64,
                number: buffers.number,
            })
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

/// The remembered frame of that identity; 0 is nobody's.
fn find(recent: &VecDeque<Arc<Upload>>, identity: usize) -> Option<&Arc<Upload>> {
    recent.iter().find(|upload| {
        let kept = upload.kept.as_ref();
        identity != 0 && kept.is_some_and(|kept| kept.get().identity() == identity)
    })
}

/// The address of the first sample.
fn start(samples: Samples<'_>) -> *const c_void {
    match samples {
        Samples::U8(samples) => samples.as_ptr().cast(),
        Samples::U16(samples) => samples.as_ptr().cast(),
    }
}
