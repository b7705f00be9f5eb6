//! The traits that the author of a backend implements: plain, safe Rust.
//!
//! A backend lists devices, a device makes extractors, an extractor takes jobs and answers with
//! values. [`export_backend!`](crate::export_backend) makes a plugin of a backend,
//! [`BuiltinBackend`] links it into a program; either way every method runs under a guard that
//! turns a panic into [`Status::PANIC`](crate::Status::PANIC), after which the device is not
//! called again.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::time::Duration;

use crate::error::ApiError;
use crate::format::FrameFormat;
use crate::import::{FenceState, ImportDescriptor, NativeFence};
use crate::info::{
    BackendInfo, DeviceInfo, FeatureRequest, OpenRequest, PlanRequest, Support, Ticket, Value,
};
use crate::job::{FrameRef, Job};
use crate::kinds::{FenceKind, MemoryKind};

/// A family of devices behind one runtime. The CPU is one, too.
pub trait BackendImpl: Send + Sync + 'static {
    /// What the backend is. Asked once, before anything else; must not touch a device.
    fn info(&self) -> BackendInfo;

    /// The devices present, which may be none.
    ///
    /// # Errors
    /// [`Status::NOT_FOUND`](crate::Status::NOT_FOUND) with the reason why there is none on this
    /// machine, such as a runtime that is not installed: users who ask are told, nobody is
    /// warned. Anything else is a runtime that fails.
    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError>;

    /// Opens a device.
    ///
    /// # Errors
    /// No such device, an option that the backend does not have, or a device that cannot be
    /// used, with the reason.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError>;

    /// An experiment of the backend's own, by name and revision; null for none. Outside every
    /// promise: see [`Backend::query`](crate::Backend::query).
    fn query(&self, _name: &str, _revision: u32) -> *const c_void {
        std::ptr::null()
    }

    /// Joins the backend's threads and releases its devices before the process ends. May be
    /// called more than once.
    fn quiesce(&self) {}
}

/// One processor that scores frames.
pub trait DeviceImpl: Send + Sync + 'static {
    /// What the device is, as it was opened.
    fn info(&self) -> DeviceInfo;

    /// Whether the device computes `feature` for frames of `format`, and how it reads them.
    ///
    /// # Errors
    /// The reason why not: [`Status::NOT_FOUND`](crate::Status::NOT_FOUND) for a feature that it
    /// does not know, which is nothing to tell a user of; anything else is told where another
    /// device takes the feature.
    fn supports(&self, feature: &FeatureRequest, format: &FrameFormat)
    -> Result<Support, ApiError>;

    /// Makes an extractor for all features of `plan`.
    ///
    /// # Errors
    /// A feature that [`supports`](DeviceImpl::supports) refuses, or lack of memory.
    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError>;

    /// The device's way to take in frames that it does not own, if it has one. Draft.
    fn import(&self) -> Option<&dyn ImportImpl> {
        None
    }
}

/// A plan made ready on one device.
pub trait ExtractorImpl: Send + Sync + 'static {
    /// Values of one frame: the columns of each feature, features in the plan's order.
    fn columns(&self) -> usize;

    /// How many earlier frames a job must carry, at most
    /// [`MAX_HISTORY`](crate::wire::MAX_HISTORY).
    fn history(&self) -> usize {
        0
    }

    /// How many jobs the device wants submitted before the first is collected.
    fn in_flight(&self) -> usize {
        1
    }

    /// Bytes of the device's memory that the plan holds; 0 if unknown.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Whether the extractor can read `frame` where it is. Asked for every frame before it is
    /// accepted into the run, so that [`submit`](ExtractorImpl::submit) never sees another one.
    /// If not written: frames in host memory are read and no others.
    ///
    /// # Errors
    /// The reason why not, with the kind of memory.
    fn admits(&self, frame: &FrameRef<'_>) -> Result<(), ApiError> {
        match frame.memory() {
            MemoryKind::HOST => Ok(()),
            memory => Err(not_in_host_memory(memory)),
        }
    }

    /// Starts the work on one frame. Jobs may come in any order and from any thread. Work that
    /// goes on after the call [keeps](FrameRef::keep) the frames it reads.
    ///
    /// # Errors
    /// What the device refuses or what failed on it.
    fn submit(&self, job: &Job<'_>) -> Result<Ticket, ApiError>;

    /// Waits for a job and writes its values; there are as many as
    /// [`columns`](ExtractorImpl::columns).
    ///
    /// # Errors
    /// An unknown ticket, a failure of the device.
    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError>;

    /// How many frames were computed again since the extractor was made, because work on them was
    /// lost on the device. Their values are right all the same; users are told of them.
    fn repeats(&self) -> u64 {
        0
    }
}

/// The refusal of a frame that is elsewhere by an extractor that reads host memory.
pub(crate) fn not_in_host_memory(memory: MemoryKind) -> ApiError {
    ApiError::new(
        crate::Status::NOT_SUPPORTED,
        "frame",
        format!("the samples are in {memory}; host memory is read and no other"),
    )
}

/// How a device takes in frames that it does not own. Draft.
pub trait ImportImpl: Send + Sync {
    /// Makes a frame of the producer's memory. Nothing is copied through the host.
    ///
    /// # Errors
    /// Every field at fault, the first of them as the subject;
    /// [`Status::BUSY`](crate::Status::BUSY) when only the acquire fence is not yet signalled.
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError>;

    /// Looks at a fence of this device without waiting.
    ///
    /// # Errors
    /// A fence that is not of this device, or whose work failed: that is an error, never
    /// [`FenceState::Signalled`].
    fn fence_poll(&self, fence: &NativeFence) -> Result<FenceState, ApiError>;

    /// Waits on the host for at most `timeout`.
    ///
    /// # Errors
    /// [`Status::TIMEOUT`](crate::Status::TIMEOUT) when the time ran out; as
    /// [`fence_poll`](ImportImpl::fence_poll).
    fn fence_wait(&self, fence: &NativeFence, timeout: Duration) -> Result<(), ApiError>;

    /// Makes a fence of `kind` that is signalled when `fence` is.
    ///
    /// # Errors
    /// A kind that cannot be made of it.
    fn fence_export(&self, fence: &NativeFence, kind: FenceKind) -> Result<NativeFence, ApiError>;

    /// Drops a fence that the device made. Called once for each.
    fn fence_destroy(&self, fence: NativeFence);
}

/// A frame in memory of a device. Draft.
pub trait DeviceFrameImpl: Any + Send + Sync + fmt::Debug {
    /// Shape that an extractor sees.
    fn format(&self) -> FrameFormat;

    /// A fence of `kind` that is signalled after the last read of the frame. The caller drops
    /// it with [`ImportImpl::fence_destroy`].
    ///
    /// # Errors
    /// A kind that the device cannot signal.
    fn release_fence(&self, kind: FenceKind) -> Result<NativeFence, ApiError>;
}

/// A point in some queue's work that can be waited for. Draft.
pub trait FenceImpl: Send + Sync + 'static {
    /// What crosses the boundary; the object owns what it names.
    fn native(&self) -> NativeFence;

    /// Looks without waiting.
    ///
    /// # Errors
    /// A fence whose work failed: that is an error, never [`FenceState::Signalled`].
    fn poll(&self) -> Result<FenceState, ApiError>;

    /// Waits on the host for at most `timeout`.
    ///
    /// # Errors
    /// [`Status::TIMEOUT`](crate::Status::TIMEOUT) when the time ran out, or the failure of
    /// the work it stands for.
    fn wait(&self, timeout: Duration) -> Result<(), ApiError>;

    /// Makes a fence of `kind` that is signalled when this one is; the caller owns it.
    ///
    /// # Errors
    /// A kind that cannot be made of it.
    fn export(&self, kind: FenceKind) -> Result<NativeFence, ApiError>;
}

/// A backend that is part of this program. Backends register themselves with
/// `inventory::submit!(BuiltinBackend(make))`; a loaded library has its own list.
pub struct BuiltinBackend(pub fn() -> Box<dyn BackendImpl>);

inventory::collect!(BuiltinBackend);
