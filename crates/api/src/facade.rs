//! What the engine holds of every backend, whatever language it was written in: one object type
//! a role.
//!
//! The methods are those of the tables in [`wire`], with an object in place of each
//! opaque pointer. Two modules implement them: `guard`, over the traits that Rust authors write,
//! and `table`, over the table of a loaded library. The handles ([`Backend`](crate::Backend),
//! [`Device`](crate::Device) and the rest) are the safe way to them.
//!
//! What must stay true: no method lets a panic out, because the object's shim would end the
//! process; methods are only added, after the last, with a default body.

// The macro writes `unsafe` blocks and local impls of its own, without comments.
#![allow(
    unsafe_code,
    non_local_definitions,
    missing_docs,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

use std::ffi::c_void;

use abi_stable::sabi_trait;
use abi_stable::std_types::{RBox, ROption};

use crate::kinds::{FenceKind, Status};
use crate::wire;

/// A backend.
pub type BackendObject = GpuBackend_TO<RBox<()>>;
/// An open device.
pub type DeviceObject = Device_TO<RBox<()>>;
/// A plan made ready.
pub type ExtractorObject = Extractor_TO<RBox<()>>;
/// A device's way to take in frames.
pub type ImportObject = Import_TO<RBox<()>>;
/// A fence.
pub type FenceObject = Fence_TO<RBox<()>>;

/// The functions of [`wire::Backend`] that concern the backend itself.
#[sabi_trait]
pub trait GpuBackend: Send + Sync + 'static {
    /// What the backend is; what the pointers lead to lives as long as the object.
    fn info(&self) -> *const wire::BackendInfo;
    /// [`wire::Backend::device_count`].
    fn device_count(&self, count: &mut u32, error: &mut wire::Error) -> Status;
    /// [`wire::Backend::device_info`].
    fn device_info(
        &self,
        index: u32,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Backend::device_open`]; the pointers of `descriptor` are valid for the call.
    unsafe fn device_open(
        &self,
        descriptor: &wire::DeviceDescriptor,
        device: &mut ROption<DeviceObject>,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Backend::query`]; the text is valid for the call.
    #[sabi(last_prefix_field)]
    unsafe fn query(&self, name: wire::Text, revision: u32) -> *const c_void;
}

/// The functions of [`wire::Backend`] that concern an open device.
#[sabi_trait]
pub trait Device: Send + Sync + 'static {
    /// [`wire::Backend::device_supports`]; the pointers are valid for the call.
    unsafe fn supports(
        &self,
        feature: &wire::FeatureRequest,
        format: &wire::Format,
        support: &mut wire::Support,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Backend::device_prepare`]; the pointers are valid for the call.
    unsafe fn prepare(
        &self,
        plan: &wire::PlanRequest,
        extractor: &mut ROption<ExtractorObject>,
        info: &mut wire::ExtractorInfo,
        error: &mut wire::Error,
    ) -> Status;
    /// The device's way to take in frames; NOT_SUPPORTED if it has none. Draft.
    #[sabi(last_prefix_field)]
    fn import(&self, import: &mut ROption<ImportObject>, error: &mut wire::Error) -> Status;
}

/// The functions of [`wire::Backend`] that concern an extractor.
#[sabi_trait]
pub trait Extractor: Send + Sync + 'static {
    /// [`wire::Backend::extractor_admits`]; the frame is valid for the call.
    unsafe fn admits(&self, frame: &wire::Frame, error: &mut wire::Error) -> Status;
    /// [`wire::Backend::extractor_submit`]; the pointers are valid for the call.
    unsafe fn submit(&self, job: &wire::Job, ticket: &mut u64, error: &mut wire::Error) -> Status;
    /// [`wire::Backend::extractor_collect`]; `values` has room for `count` values.
    #[sabi(last_prefix_field)]
    unsafe fn collect(
        &self,
        ticket: u64,
        values: *mut u64,
        count: usize,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Backend::extractor_repeats`].
    fn repeats(&self) -> u64 {
        0
    }
}

/// The functions of [`wire::Import`], for one device. Draft.
#[sabi_trait]
pub trait Import: Send + Sync + 'static {
    /// [`wire::Import::frame_import`]; handles and descriptors are alive until the frame is
    /// released.
    unsafe fn frame_import(
        &self,
        descriptor: &wire::ImportDescriptor,
        frame: &mut *mut wire::DeviceFrameObject,
        format: &mut wire::Format,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Import::frame_release`], once for a frame of this device.
    unsafe fn frame_release(&self, frame: *mut wire::DeviceFrameObject);
    /// [`wire::Import::frame_release_fence`], for a frame of this device.
    unsafe fn frame_release_fence(
        &self,
        frame: *mut wire::DeviceFrameObject,
        kind: FenceKind,
        fence: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Import::fence_poll`], for a fence of this device.
    unsafe fn fence_poll(&self, fence: &wire::Fence, error: &mut wire::Error) -> Status;
    /// [`wire::Import::fence_wait`], for a fence of this device.
    unsafe fn fence_wait(
        &self,
        fence: &wire::Fence,
        timeout_ns: u64,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Import::fence_export`], for a fence of this device.
    unsafe fn fence_export(
        &self,
        fence: &wire::Fence,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status;
    /// [`wire::Import::fence_destroy`], once for a fence of this device.
    #[sabi(last_prefix_field)]
    unsafe fn fence_destroy(&self, fence: &mut wire::Fence);
}

/// A point in some queue's work. Draft.
#[sabi_trait]
pub trait Fence: Send + Sync + 'static {
    /// What crosses the boundary; the object owns what it names.
    fn native(&self) -> wire::Fence;
    /// OK, PENDING, or the failure of the work it stands for.
    fn poll(&self, error: &mut wire::Error) -> Status;
    /// Waits on the host for at most `timeout_ns`.
    fn wait(&self, timeout_ns: u64, error: &mut wire::Error) -> Status;
    /// Makes a fence of `kind` that is signalled when this one is; the caller owns it.
    #[sabi(last_prefix_field)]
    fn export(
        &self,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status;
}
