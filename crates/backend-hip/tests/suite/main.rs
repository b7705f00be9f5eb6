//! The backend over simulated devices of several versions of ROCm, over the runtime that Debian
//! ships, and without any.
//!
//! Needs the device code of `cargo xtask kernels`; without it the backend says so, and that is
//! all that is tested.

#![allow(clippy::unwrap_used)]
#![allow(
    unsafe_code,
    reason = "objects of the runtime are handed to the backend, as a caller would"
)]

mod absent;
mod devices;
mod scores;
mod simulated;
