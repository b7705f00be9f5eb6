//! A GPU backend of vmafx without its runtime.
//!
//! ```text
//! GpuBackend -> GpuDevice -> Plan -> Slot (one frame in flight) -> Runtime
//!  (Platform)    (Card)       |  \-> Uploads (frames of host memory)
//!                             \-> Twin (launches and finish of one feature)
//! ```
//!
//! HIP, CUDA and whatever else runs the kernels implement [`Runtime`] and [`Platform`]; nothing
//! here names one. Kernels take pointer and pitch and read a frame where it is; the host waits
//! once a frame, for one small block of results.
//!
//! What must stay true: results are believed only if every dispatch is accounted for; a frame on
//! the device is never copied; no work goes to a default stream; the sums that the kernels make
//! and the scores that are made of them are those of `vmafx-metrics`.

#![allow(
    unsafe_code,
    reason = "the runtime's objects and the device's memory are outside the compiler's sight"
)]

pub mod args;
mod backend;
mod card;
mod device;
mod frame;
pub mod library;
mod objects;
mod plan;
mod release;
mod resources;
pub mod runtime;
mod slot;
mod twin;
mod upload;

pub use backend::{GpuBackend, Opened, Platform, carried, device_at, no_options};
pub use objects::{ObjectError, ObjectTable};
pub use runtime::{Fault, Runtime, RuntimeError};
