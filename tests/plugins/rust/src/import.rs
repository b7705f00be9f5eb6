//! Frames that stay where their producer has them.
//!
//! The "device" of this plugin is the processor, and its pointers are pointers into the memory of
//! the process: so a test can be the producer and see that nothing is copied, that the plugin is
//! given its own frame again, and that the release fence is signalled by the release and not
//! before.
//!
//! What must stay true: a frame's memory is read while the frame is alive and never after.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vmafx_api::{
    ApiError, DeviceFrameImpl, FenceKind, FenceState, FrameFormat, HostView, ImportDescriptor,
    ImportImpl, MemoryKind, NativeFence, PlaneView, Samples, Status,
};

/// What became of the frames: read by the tests through [`edge_rust_count`].
static IMPORTED: AtomicU64 = AtomicU64::new(0);
static RELEASED: AtomicU64 = AtomicU64::new(0);
static DESTROYED_FENCES: AtomicU64 = AtomicU64::new(0);

/// Number of frames imported (0), of frames released (1), of fences destroyed (2).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn edge_rust_count(which: u32) -> u64 {
    let counter = match which {
        0 => &IMPORTED,
        1 => &RELEASED,
        _ => &DESTROYED_FENCES,
    };
    counter.load(Ordering::SeqCst)
}

/// Whether each frame that has a fence was released, by the fence's handle.
fn fences() -> MutexGuard<'static, HashMap<u64, bool>> {
    static FENCES: LazyLock<Mutex<HashMap<u64, bool>>> = LazyLock::new(Mutex::default);
    FENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Importer;

impl ImportImpl for Importer {
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError> {
        let refuse =
            |status, subject: String, message: String| Err(ApiError::new(status, subject, message));
        if frame.memory() != MemoryKind::DEVICE_POINTER {
            let message = format!("{}; pointers are taken and nothing else", frame.memory());
            return refuse(Status::NOT_SUPPORTED, "desc.memory".to_owned(), message);
        }
        if frame.acquire().kind() != FenceKind::NONE {
            let message = format!("{}; the samples must be there", frame.acquire().kind());
            return refuse(Status::NOT_SUPPORTED, "desc.acquire".to_owned(), message);
        }
        let format = *frame.format();
        if frame.planes().len() != format.plane_count() {
            let message = format!("{}, {format} has another number", frame.planes().len());
            return refuse(Status::INVALID, "desc.plane_count".to_owned(), message);
        }
        let mut planes = [(0, 0); 3];
        for (index, (plane, own)) in frame.planes().iter().zip(&mut planes).enumerate() {
            let sample = format.sample_bytes() as u64;
            let row = format.plane_size(index).width as u64 * sample;
            let fits = plane.pitch >= row && plane.pitch % sample == 0;
            if !fits || plane.handle == 0 || plane.handle % sample != 0 || plane.modifier != 0 {
                let subject = format!("desc.plane[{index}]");
                let message = format!(
                    "rows of {row} bytes, {} apart, at {:#x}, modifier {}",
                    plane.pitch, plane.handle, plane.modifier
                );
                return refuse(Status::INVALID, subject, message);
            }
            *own = (plane.handle + plane.offset, (plane.pitch / sample) as usize);
        }
        IMPORTED.fetch_add(1, Ordering::SeqCst);
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Ok(Box::new(Imported {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            format,
            planes,
        }))
    }

    fn fence_poll(&self, fence: &NativeFence) -> Result<FenceState, ApiError> {
        match fences().get(&fence.handle()) {
            Some(true) => Ok(FenceState::Signalled),
            Some(false) => Ok(FenceState::Pending),
            None => Err(ApiError::new(
                Status::INVALID,
                "fence",
                "not of this device",
            )),
        }
    }

    fn fence_wait(&self, fence: &NativeFence, timeout: Duration) -> Result<(), ApiError> {
        match self.fence_poll(fence)? {
            FenceState::Signalled => Ok(()),
            FenceState::Pending => {
                let message = format!("not signalled within {timeout:?}");
                Err(ApiError::new(Status::TIMEOUT, "fence", message))
            }
        }
    }

    fn fence_export(&self, _: &NativeFence, kind: FenceKind) -> Result<NativeFence, ApiError> {
        let message = format!("no {kind} can be made of a fence of this device");
        Err(ApiError::new(Status::NOT_SUPPORTED, "kind", message))
    }

    fn fence_destroy(&self, fence: NativeFence) {
        if fences().remove(&fence.handle()).is_some() {
            DESTROYED_FENCES.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A producer's frame: where its planes are, and the samples from row to row.
#[derive(Debug)]
pub(crate) struct Imported {
    id: u64,
    format: FrameFormat,
    planes: [(u64, usize); 3],
}

impl Imported {
    /// The producer's own samples.
    pub(crate) fn view(&self) -> HostView<'_> {
        let mut views = Vec::with_capacity(3);
        for index in 0..self.format.plane_count() {
            let size = self.format.plane_size(index);
            let (address, stride) = self.planes[index];
            let count = (size.height - 1) * stride + size.width;
            let (bytes, words) = (
                address as usize as *const u8,
                address as usize as *const u16,
            );
            let samples = match self.format.sample_bytes() {
                // SAFETY: whoever made the descriptor promised that its planes are readable as
                // it says and unchanged until the frame is released, and `self` is not dropped
                // while the view borrows it.
                1 => Samples::U8(unsafe { std::slice::from_raw_parts(bytes, count) }),
                // SAFETY: as above; the address is even (`import`).
                _ => Samples::U16(unsafe { std::slice::from_raw_parts(words, count) }),
            };
            views.push(PlaneView::new(samples, size, stride).expect("planes were checked"));
        }
        HostView::new(self.format, &views).expect("there is a view for each plane")
    }
}

impl DeviceFrameImpl for Imported {
    fn format(&self) -> FrameFormat {
        self.format
    }

    fn release_fence(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        if kind != FenceKind::HOST {
            let message = format!("{kind}; a host fence is signalled and nothing else");
            return Err(ApiError::new(Status::NOT_SUPPORTED, "kind", message));
        }
        fences().insert(self.id, false);
        // SAFETY: the handle is the key of an entry that `fence_destroy` takes away.
        Ok(unsafe { NativeFence::new(FenceKind::HOST, -1, self.id, 0) })
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        RELEASED.fetch_add(1, Ordering::SeqCst);
        if let Some(released) = fences().get_mut(&self.id) {
            *released = true;
        }
    }
}
