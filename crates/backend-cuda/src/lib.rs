//! The CUDA backend: NVIDIA GPUs through the driver API.
//!
//! ```text
//! export_backend! -> GpuBackend (vmafx-gpu) -> Cuda (devices, which code) -> Context (Runtime)
//!                                                \-> Driver (functions of libcuda.so.1)
//! ```
//!
//! Everything above the driver is in `vmafx-gpu`; here is what is NVIDIA's: how the driver is
//! found and called, which of the carried PTX a device takes, and a cache of what the driver
//! compiles of it.
//!
//! The objects that a caller may hand over with
//! [`OpenRequest::with_external`](vmafx_api::OpenRequest::with_external) are a `CUcontext` and a
//! `CUstream` of it, or 0 for a stream of our own.
//!
//! What must stay true: nothing is linked to the driver; a machine without it is told of, never
//! failed on.

#![allow(
    unsafe_code,
    reason = "the driver's functions are outside the compiler's sight"
)]

mod cache;
mod context;
mod driver;
mod module;
mod platform;
#[cfg(test)]
mod published;

pub use platform::Cuda;

/// Identifier of this backend.
pub const ID: &str = "cuda";

#[cfg(feature = "plugin")]
vmafx_api::export_backend!(
    vmafx_gpu::GpuBackend::new(Cuda::new()),
    version: env!("CARGO_PKG_VERSION"),
    license: env!("CARGO_PKG_LICENSE"),
);
