//! The stable core of vmafx: the words that every other crate shares.
//!
//! A *frame* ([`Frame`], [`HostFrame`]) has a [`FrameFormat`] and up to three planes.
//! A *backend* ([`GpuBackend`]) lists devices; a [`Device`] says which features it can compute
//! for which frames and turns a [`PlanRequest`] into an [`Extractor`]; the extractor takes one
//! [`FrameJob`] after another and answers each with one [`Value`] per column of the plan.
//!
//! ```text
//! GpuBackend::open ──> Device::supports   (per feature: yes, or the reason)
//!                      Device::prepare ──> Extractor::admits, submit ──> Extractor::collect
//!                      Device::import  ──> Import::import ──> DeviceFrame
//! ```
//!
//! | object | threads |
//! | --- | --- |
//! | [`GpuBackend`], [`Device`], [`Import`], [`Fence`] | any thread, any number at once |
//! | [`Extractor`] | any thread, any number of jobs at once; a ticket is collected once |
//! | [`HostFrame`] | filled by one owner, then shared read-only as a [`Frame`] |
//!
//! The version is this crate's own. It is an alpha of 1.0 and not frozen before backends are
//! loaded from libraries, because only they show whether these traits fit a wire; until then
//! any release may change any item. What takes in frames of devices ([`Import`],
//! [`ImportDescriptor`], [`ImportPlane`], [`DeviceFrame`], [`Frame::Device`], [`Fence`] and the
//! kinds of memory and fences) is a *draft* on top of that: it has not yet carried a frame.
//!
//! What must stay true: this crate depends on no other crate of the workspace and knows no
//! metric and no vendor; a struct that will grow is `#[non_exhaustive]` and has a constructor.

#![forbid(unsafe_code)]

mod backend;
mod error;
mod format;
mod frame;
mod import;
mod kinds;
pub mod wire;

pub use backend::{
    BackendInfo, BuiltinBackend, Device, DeviceInfo, Extractor, FeatureRequest, FrameJob,
    FramePair, GpuBackend, OptionSetting, OptionValue, PlanRequest, Ticket, Value,
};
pub use error::ApiError;
pub use format::{Chroma, FormatError, FrameFormat, MAX_DIMENSION, PLANE_NAMES, Size};
pub use frame::{
    Frame, FrameMemoryError, FramePool, HostFrame, HostView, PlaneError, PlaneView, SampleError,
    Samples,
};
pub use import::{DeviceFrame, Fence, FenceState, Import, ImportDescriptor, ImportPlane};
pub use kinds::{
    FenceKind, FenceKinds, LogLevel, MemoryKind, MemoryKinds, OptionKind, PixelFormat,
    PixelFormats, PlaneUse, Status,
};
