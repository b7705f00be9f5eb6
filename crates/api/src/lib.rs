//! The stable core of vmafx: the words that every other crate shares.
//!
//! A *frame* ([`HostFrame`], [`FrameView`]) has a [`FrameFormat`] and up to three planes.
//! A *backend* ([`GpuBackend`]) lists devices; a [`Device`] says which features it can compute
//! for which frames and turns a [`PlanRequest`] into an [`Extractor`]; the extractor takes one
//! [`FrameJob`] after another and answers each with one [`Value`] per column of the plan.
//!
//! ```text
//! GpuBackend::open ──> Device::supports   (per feature: yes, or the reason)
//!                      Device::prepare ──> Extractor::submit ──> Extractor::collect
//!                      Device::import  ──> Import::import ──> DeviceFrame
//! ```
//!
//! | object | threads |
//! | --- | --- |
//! | [`GpuBackend`], [`Device`], [`Import`], [`Fence`] | any thread, any number at once |
//! | [`Extractor`] | any thread, any number of jobs at once; a ticket is collected once |
//! | [`HostFrame`] | filled by one owner, then shared read-only |
//!
//! What must stay true: this crate depends on no other crate of the workspace, knows no metric
//! and no vendor, and its version is its own.

#![forbid(unsafe_code)]

mod backend;
mod error;
mod format;
mod frame;
mod import;

pub use backend::{
    BackendInfo, BuiltinBackend, Device, DeviceInfo, Extractor, FeatureRequest, FrameJob,
    FramePair, GpuBackend, OptionSetting, OptionValue, PlanRequest, Ticket, Value,
};
pub use error::{ApiError, Status};
pub use format::{Chroma, FormatError, FrameFormat, MAX_DIMENSION, PLANE_NAMES, Size};
pub use frame::{
    FramePool, FrameView, HostFrame, HostView, PlaneError, PlaneView, SampleError, Samples,
};
pub use import::{
    DeviceFrame, Fence, FenceKind, FenceKinds, FenceState, Import, ImportDescriptor, ImportPlane,
    MemoryKind, MemoryKinds,
};
