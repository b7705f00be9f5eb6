//! Frames that a device already holds: how they are described, taken in, waited for and given
//! back.
//!
//! **Draft.** Everything here is outside the promise of this crate's version and of the wire
//! until it has carried frames of a real device: it may change in any release.
//!
//! The rules are: a device frame is never copied through host memory; the producer's write
//! comes before our read (acquire fence); our last read comes before the producer's next
//! write (release fence); a refusal names every field at fault.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abi_stable::std_types::RBox;
use abi_stable::type_level::downcasting::TD_Opaque;

use crate::author::FenceImpl;
use crate::describe;
use crate::error::ApiError;
use crate::facade::{self, Fence_TO};
use crate::format::FrameFormat;
use crate::guard::FenceGuard;
use crate::handle::{self, Device};
use crate::kinds::{FenceKind, MemoryKind, PixelFormat, Status};
use crate::sized::fill;
use crate::wire::{self, IMPORT_ALLOW_COPY};

/// One plane of a frame that its producer describes. Draft.
pub type ImportPlane = wire::ImportPlane;

/// A fence as the operating system or a runtime names it: a kind with a handle or descriptor.
/// A plain value; who owns what it names is said where one is handed over. Draft.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct NativeFence(pub(crate) wire::Fence);

impl NativeFence {
    /// No fence: there is nothing to wait for.
    pub fn none() -> Self {
        NativeFence(wire::Fence {
            kind: FenceKind::NONE,
            fd: -1,
            handle: 0,
            value: 0,
        })
    }

    /// A fence of `kind`; what is not used by that kind is -1 or 0.
    ///
    /// # Safety
    /// Descriptor and handle are of that kind and alive for as long as the value is used.
    pub unsafe fn new(kind: FenceKind, fd: i32, handle: u64, value: u64) -> Self {
        NativeFence(wire::Fence {
            kind,
            fd,
            handle,
            value,
        })
    }

    /// The host fence of that number. The number is checked where it is used, so none is unsound.
    pub fn host(handle: u64) -> Self {
        NativeFence(wire::Fence {
            kind: FenceKind::HOST,
            fd: -1,
            handle,
            value: 0,
        })
    }

    /// What it is.
    pub fn kind(&self) -> FenceKind {
        self.0.kind
    }

    /// Descriptor of a file, -1 for none.
    pub fn fd(&self) -> i32 {
        self.0.fd
    }

    /// Event, sync object or semaphore.
    pub fn handle(&self) -> u64 {
        self.0.handle
    }

    /// Point of a timeline.
    pub fn value(&self) -> u64 {
        self.0.value
    }
}

/// A frame that its producer describes. Draft.
#[derive(Clone, Debug)]
pub struct ImportDescriptor<'a> {
    memory: MemoryKind,
    format: FrameFormat,
    planes: &'a [ImportPlane],
    acquire: NativeFence,
    /// Whether a copy within the device is allowed where reading in place is not possible.
    pub allow_copy: bool,
}

impl<'a> ImportDescriptor<'a> {
    /// A frame of `format` in planes of `memory`, whose samples are there once `acquire` is
    /// signalled. The caller keeps descriptors and fence.
    ///
    /// # Safety
    /// Handles and descriptors are of the kinds stated. The memory stays valid, and its samples
    /// unchanged once `acquire` is signalled, until the frame made of it is released.
    pub unsafe fn new(
        memory: MemoryKind,
        format: FrameFormat,
        planes: &'a [ImportPlane],
        acquire: NativeFence,
    ) -> Self {
        ImportDescriptor {
            memory,
            format,
            planes,
            acquire,
            allow_copy: false,
        }
    }

    /// A description without planes, which names no memory and nothing to wait for: what a device
    /// says to it shows how it refuses.
    pub fn without_planes(memory: MemoryKind, format: FrameFormat) -> Self {
        ImportDescriptor {
            memory,
            format,
            planes: &[],
            acquire: NativeFence::none(),
            allow_copy: false,
        }
    }

    /// # Safety
    /// As [`new`](ImportDescriptor::new).
    pub(crate) unsafe fn from_wire(wire: &'a wire::ImportDescriptor) -> Result<Self, ApiError> {
        let planes = wire
            .planes
            .get(..wire.plane_count as usize)
            .ok_or_else(|| {
                let message = format!("{} planes, the most are 3", wire.plane_count);
                ApiError::new(Status::INVALID, "desc.plane_count", message)
            })?;
        if wire.flags & !IMPORT_ALLOW_COPY != 0 {
            let message = format!("{:#x} has unknown bits", wire.flags);
            return Err(ApiError::new(Status::INVALID, "desc.flags", message));
        }
        Ok(ImportDescriptor {
            memory: wire.memory,
            format: describe::format(&wire.format)?,
            planes,
            acquire: NativeFence(wire.acquire),
            allow_copy: wire.flags & IMPORT_ALLOW_COPY != 0,
        })
    }

    /// Kind of memory of all planes.
    pub fn memory(&self) -> MemoryKind {
        self.memory
    }

    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Layout of the producer's memory.
    pub fn pixel_format(&self) -> PixelFormat {
        PixelFormat(self.format.chroma() as u32)
    }

    /// The planes.
    pub fn planes(&self) -> &'a [ImportPlane] {
        self.planes
    }

    /// What to wait for before the first read.
    pub fn acquire(&self) -> &NativeFence {
        &self.acquire
    }
}

/// Whether a fence has been signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceState {
    /// Not yet.
    Pending,
    /// Yes; the work it stands for is complete.
    Signalled,
}

impl From<bool> for FenceState {
    /// Whether a fence has been signalled, in words.
    fn from(is_signalled: bool) -> Self {
        match is_signalled {
            true => FenceState::Signalled,
            false => FenceState::Pending,
        }
    }
}

/// A point in some queue's work that can be waited for. Draft.
pub struct Fence {
    object: facade::FenceObject,
}

impl Fence {
    /// A fence of this program.
    ///
    /// # Errors
    /// A panic of the author's, who is asked once what the fence is called.
    pub fn new(author: impl FenceImpl) -> Result<Self, ApiError> {
        let guard = FenceGuard::new(Box::new(author))?;
        Ok(Fence {
            object: Fence_TO::from_ptr(RBox::new(guard), TD_Opaque),
        })
    }

    /// What it is called; the fence owns what it names.
    pub fn native(&self) -> NativeFence {
        NativeFence(facade::Fence_TO::native(&self.object))
    }

    /// Looks without waiting.
    ///
    /// # Errors
    /// A fence whose work failed: that is an error, never [`FenceState::Signalled`].
    pub fn poll(&self) -> Result<FenceState, ApiError> {
        match handle::status(|error| self.object.poll(error))? {
            Status::PENDING => Ok(FenceState::Pending),
            status => handle::ok(status).map(|()| FenceState::Signalled),
        }
    }

    /// Waits on the host for at most `timeout`.
    ///
    /// # Errors
    /// [`Status::TIMEOUT`] when the time ran out, or the failure of the work it stands for.
    pub fn wait(&self, timeout: Duration) -> Result<(), ApiError> {
        handle::ok(handle::status(|error| {
            self.object.wait(nanoseconds(timeout), error)
        })?)
    }

    /// Makes a fence of `kind` that is signalled when this one is; the caller owns what comes
    /// back.
    ///
    /// # Errors
    /// A kind that cannot be made of it.
    pub fn export(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        let mut exported = NativeFence::none();
        handle::ok(handle::status(|error| {
            self.object.export(kind, &mut exported.0, error)
        })?)?;
        Ok(exported)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fence").field(&self.native()).finish()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A device and its way to take in frames.
pub(crate) struct Importer {
    pub(crate) object: facade::ImportObject,
    /// Closed after everything that was made of it.
    pub(crate) device: Device,
}

impl Importer {
    /// Makes a call about a fence unless the device is poisoned; a panic poisons it.
    fn call(
        &self,
        error: &mut wire::Error,
        call: impl FnOnce(&facade::ImportObject, &mut wire::Error) -> Status,
    ) -> Status {
        match self.device.status(|error| call(&self.object, error)) {
            Ok(status) => status,
            Err(failure) => {
                fill(&mut error.subject, &failure.subject);
                fill(&mut error.message, &failure.message);
                failure.status
            }
        }
    }
}

/// A frame in memory of a device. Dropping it gives the producer its memory back as soon as the
/// device has read it for the last time. Draft.
pub struct DeviceFrame {
    object: *mut wire::DeviceFrameObject,
    format: FrameFormat,
    memory: MemoryKind,
    importer: Arc<Importer>,
}

// SAFETY: a device's frame may be used from any thread at once, as its device (contract of
// `wire::Import`).
unsafe impl Send for DeviceFrame {}
// SAFETY: as above.
unsafe impl Sync for DeviceFrame {}

impl DeviceFrame {
    pub(crate) fn import(
        importer: &Arc<Importer>,
        descriptor: &ImportDescriptor<'_>,
    ) -> Result<Self, ApiError> {
        let mut wire = wire::ImportDescriptor {
            memory: descriptor.memory,
            format: describe::wire_format(&descriptor.format),
            plane_count: descriptor.planes.len() as u32,
            flags: if descriptor.allow_copy {
                IMPORT_ALLOW_COPY
            } else {
                0
            },
            acquire: descriptor.acquire.0,
            ..wire::ImportDescriptor::empty()
        };
        let room = wire
            .planes
            .get_mut(..descriptor.planes.len())
            .ok_or_else(|| {
                let message = format!("{} planes, the most are 3", descriptor.planes.len());
                ApiError::new(Status::INVALID, "desc.plane_count", message)
            })?;
        room.copy_from_slice(descriptor.planes);
        let (mut object, mut format) = (std::ptr::null_mut(), wire.format);
        importer.device.call(|error| {
            // SAFETY: whoever made the descriptor vouches for its handles.
            unsafe {
                importer
                    .object
                    .frame_import(&wire, &mut object, &mut format, error)
            }
        })?;
        let mut frame = DeviceFrame {
            object,
            format: descriptor.format,
            memory: descriptor.memory,
            importer: importer.clone(),
        };
        frame.format = describe::format(&format)?;
        Ok(frame)
    }

    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Where it is.
    pub fn memory(&self) -> MemoryKind {
        self.memory
    }

    /// The device whose frame it is.
    pub fn device(&self) -> &Device {
        &self.importer.device
    }

    pub(crate) fn object(&self) -> *mut wire::DeviceFrameObject {
        self.object
    }

    /// A fence of `kind` that is signalled after the last read of the frame.
    ///
    /// # Errors
    /// A kind that the device cannot signal.
    pub fn release_fence(&self, kind: FenceKind) -> Result<Fence, ApiError> {
        let mut native = NativeFence::none();
        self.importer.device.call(|error| {
            let import = &self.importer.object;
            // SAFETY: the frame is alive and of this device.
            unsafe { import.frame_release_fence(self.object, kind, &mut native.0, error) }
        })?;
        let fence = DeviceFence {
            native,
            importer: self.importer.clone(),
        };
        Ok(Fence {
            object: Fence_TO::from_ptr(RBox::new(fence), TD_Opaque),
        })
    }
}

impl Drop for DeviceFrame {
    fn drop(&mut self) {
        // SAFETY: made by `frame_import` of this device and released once.
        unsafe { self.importer.object.frame_release(self.object) }
    }
}

impl fmt::Debug for DeviceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device().info();
        write!(
            f,
            "frame of {} in {} of {}:{}",
            self.format, self.memory, device.backend, device.index
        )
    }
}

/// A fence that a device made.
struct DeviceFence {
    native: NativeFence,
    importer: Arc<Importer>,
}

impl facade::Fence for DeviceFence {
    fn native(&self) -> wire::Fence {
        self.native.0
    }

    fn poll(&self, error: &mut wire::Error) -> Status {
        self.importer.call(error, |import, error| {
            // SAFETY: a live fence of this device.
            unsafe { import.fence_poll(&self.native.0, error) }
        })
    }

    fn wait(&self, timeout_ns: u64, error: &mut wire::Error) -> Status {
        self.importer.call(error, |import, error| {
            // SAFETY: a live fence of this device.
            unsafe { import.fence_wait(&self.native.0, timeout_ns, error) }
        })
    }

    fn export(
        &self,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        self.importer.call(error, |import, error| {
            // SAFETY: a live fence of this device.
            unsafe { import.fence_export(&self.native.0, kind, exported, error) }
        })
    }
}

impl Drop for DeviceFence {
    fn drop(&mut self) {
        let mut native = self.native.0;
        // SAFETY: made by this device and destroyed once.
        unsafe { self.importer.object.fence_destroy(&mut native) }
    }
}
