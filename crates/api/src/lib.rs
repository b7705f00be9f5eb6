//! The stable core of vmafx: the words that every other crate shares, and the boundary between
//! a host and its backends.
//!
//! A *frame* ([`Frame`], [`HostFrame`]) has a [`FrameFormat`] and up to three planes.
//! A *backend* lists devices; a *device* says which features it can compute for which frames and
//! turns a [`PlanRequest`] into an *extractor*, which takes one job after another and answers
//! each with one [`Value`] per column of the plan.
//!
//! ```text
//!  what an author writes        what crosses            what a program holds
//!  BackendImpl, DeviceImpl,                             Backend ─ devices, open
//!  ExtractorImpl (safe Rust) ── guard ─┐                Device ── supports, prepare, import
//!                                      ├─ facade ────── Extractor ─ admits, submit, collect
//!  plugin.h, plugin.hpp      ── table ─┘ (wire structs)
//!  (C, C++)
//! ```
//!
//! A backend is part of the program ([`BuiltinBackend`]) or comes from a shared library
//! ([`export_backend!`]); its program cannot tell. Either way each call crosses as plain
//! structs of the [`wire`], and each method of an author runs under a guard against panics.
//!
//! | object | threads |
//! | --- | --- |
//! | [`Backend`], [`Device`], [`Fence`], their authors' traits | any thread, any number at once |
//! | [`Extractor`] | any thread, any number of jobs at once; a ticket is collected once |
//! | [`HostFrame`] | filled by one owner, then shared read-only as a [`Frame`] |
//! | [`FrameRef`], [`Job`] | lent for the length of a call; [`FrameRef::keep`] for longer |
//!
//! The version is this crate's own: 1.x for as long as the wire's major is 1. What takes in
//! frames of devices ([`ImportDescriptor`], [`ImportImpl`], [`DeviceFrame`], [`Frame::Device`],
//! [`Fence`]) is a *draft* outside that promise: it has not yet carried a frame of a real device.
//!
//! What must stay true: this crate depends on no other crate of the workspace and knows no
//! metric and no vendor but as a number's name; a struct that will grow is `#[non_exhaustive]`
//! and has a constructor.

mod author;
#[allow(unsafe_code)]
mod describe;
mod error;
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod export;
pub mod facade;
#[allow(unsafe_code)]
mod float_environment;
mod format;
mod frame;
#[allow(unsafe_code)]
mod guard;
#[allow(unsafe_code)]
mod handle;
#[allow(unsafe_code)]
mod import;
#[allow(unsafe_code)]
mod info;
#[allow(unsafe_code)]
mod job;
mod kinds;
#[doc(hidden)]
pub mod layout;
#[cfg(feature = "host")]
pub mod loader;
#[allow(unsafe_code)]
mod sized;
#[allow(unsafe_code)]
mod table;
pub mod wire;

pub use author::{
    BackendImpl, BuiltinBackend, DeviceFrameImpl, DeviceImpl, ExtractorImpl, FenceImpl, ImportImpl,
};
pub use error::ApiError;
pub use export::log;
pub use float_environment::FloatEnvironment;
pub use format::{Chroma, FormatError, FrameFormat, MAX_DIMENSION, PLANE_NAMES, Size};
pub use frame::{
    Frame, FrameMemoryError, FramePool, HostFrame, HostView, PlaneError, PlaneView, SampleError,
    Samples,
};
pub use guard::panic_text;
pub use handle::{Backend, Device, Extractor, FrameJob, FramePair};
pub use import::{DeviceFrame, Fence, FenceState, ImportDescriptor, ImportPlane, NativeFence};
pub use info::{
    BackendInfo, DeviceInfo, FeatureDescription, FeatureRequest, OpenRequest, OptionDescription,
    OptionSetting, OptionValue, PlanRequest, Support, Ticket, Value,
};
pub use job::{FrameRef, Job, KeptFrame, PairRef};
pub use kinds::{
    FenceKind, FenceKinds, LogLevel, MemoryKind, MemoryKinds, OptionKind, PixelFormat,
    PixelFormats, PlaneUse, Status,
};
