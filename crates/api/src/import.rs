//! Frames that a device already holds: how they are described, taken in, waited for and given
//! back.
//!
//! **Draft.** Everything here is outside the promise of this crate's version until the plugin
//! wire uses it: it may change in any release. In particular a descriptor carries raw handles
//! in public fields, and nothing yet makes the caller answer for them: with the wire a
//! descriptor is made by an `unsafe` constructor whose caller vouches that handles and file
//! descriptors are alive until the frame is released. Until then no device of this workspace
//! imports anything.
//!
//! The rules are: a device frame is never copied through host memory; the producer's write
//! comes before our read (acquire fence); our last read comes before the producer's next
//! write (release fence); a refusal names every field at fault.

use std::fmt;
use std::time::Duration;

use crate::error::ApiError;
use crate::format::FrameFormat;
use crate::kinds::{FenceKind, MemoryKind};

/// One plane of a frame that its producer describes. Draft: the handles are taken at their word,
/// so with the plugin wire an `unsafe` constructor replaces the public fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportPlane {
    /// Pointer, array or texture, by memory kind.
    pub handle: u64,
    /// File descriptor of the memory, -1 if it has none. The caller keeps it.
    pub fd: i32,
    /// Plane within the object.
    pub plane_index: u32,
    /// Bytes from the object's start to the first row.
    pub offset: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// DRM format modifier; 0 is linear.
    pub modifier: u64,
    /// Bytes of the object as the producer states them; 0 if not stated.
    pub size: u64,
}

/// A frame that its producer describes. Draft, as [`ImportPlane`].
pub struct ImportDescriptor<'a> {
    /// Kind of memory of all planes.
    pub memory: MemoryKind,
    /// Shape of the frame.
    pub format: FrameFormat,
    /// Planes, as many as the layout has.
    pub planes: &'a [ImportPlane],
    /// What to wait for before the first read, borrowed for the call; `None` if the samples are
    /// there already.
    pub acquire: Option<&'a dyn Fence>,
    /// Whether a copy within the device is allowed where reading in place is not possible.
    pub allow_copy: bool,
}

/// Whether a fence has been signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceState {
    /// Not yet.
    Pending,
    /// Yes; the work it stands for is complete.
    Signalled,
}

/// A point in some queue's work that can be waited for. Draft.
pub trait Fence: Send + Sync {
    /// What it is.
    fn kind(&self) -> FenceKind;

    /// Looks without waiting.
    ///
    /// # Errors
    /// A fence whose work failed: that is an error, never [`FenceState::Signalled`].
    fn poll(&self) -> Result<FenceState, ApiError>;

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// [`Status::TIMEOUT`](crate::Status::TIMEOUT) when the time ran out, or the failure of
    /// the work it stands for.
    fn wait(&self, timeout: Duration) -> Result<(), ApiError>;
}

/// A frame in memory of a device. Draft.
pub trait DeviceFrame: Send + Sync + fmt::Debug {
    /// Shape of the frame.
    fn format(&self) -> &FrameFormat;

    /// Where it is.
    fn memory(&self) -> MemoryKind;

    /// Identifier and index of the device whose frame it is.
    fn device(&self) -> (&str, u32);

    /// The backend's own object, for the backend that made it.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// The door through which a device takes in frames of others. Draft.
pub trait Import: Send + Sync {
    /// Makes a frame of the producer's memory. Nothing is copied through the host.
    ///
    /// # Errors
    /// Every field at fault, the first of them as the subject;
    /// [`Status::BUSY`](crate::Status::BUSY) when only the acquire fence is not yet signalled.
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrame>, ApiError>;
}
