//! The HIP backend: AMD GPUs through the HIP runtime of ROCm.
//!
//! ```text
//! export_backend! -> GpuBackend (vmafx-gpu) -> Hip (devices, which code) -> Device (Runtime)
//!                                                \-> Library (functions of libamdhip64.so)
//! ```
//!
//! Everything above the runtime is in `vmafx-gpu`; here is what is AMD's: how the runtime of any
//! ROCm from 5 on is found and called, and which of the carried code objects a device takes.
//!
//! The object that a caller may hand over with
//! [`OpenRequest::with_external`](vmafx_api::OpenRequest::with_external) is a `hipStream_t` of the
//! device; the second is 0.
//!
//! Such a stream is nothing to another copy of the runtime. So a runtime that the process has
//! loaded already is taken before any other that is installed, under whichever name it goes; only
//! a path in `VMAFX_HIP_LIBRARY` comes before it, and whoever sets that and hands over streams
//! names the application's own.
//!
//! What must stay true: nothing is linked to the runtime; a machine without it is told of, never
//! failed on.

#![allow(
    unsafe_code,
    reason = "the runtime's functions are outside the compiler's sight"
)]

mod device;
mod functions;
mod platform;
#[cfg(test)]
mod published;
mod target;

pub use platform::Hip;

/// Identifier of this backend.
pub const ID: &str = "hip";

#[cfg(feature = "plugin")]
vmafx_api::export_backend!(
    vmafx_gpu::GpuBackend::new(Hip::new()),
    version: env!("CARGO_PKG_VERSION"),
    license: env!("CARGO_PKG_LICENSE"),
);
