//! Fences of a real kernel: what its drivers hand out, hold back, fail and forget.
//!
//! Run by `cargo xtask kernel-tests` in a machine with vgem (dma-bufs whose fences are signalled by
//! hand), udmabuf, virtio-gpu (syncobjs) and the module `vmafx_fence` (fences that fail). On a
//! machine without them every test here fails: none is ever counted as passed for want of a
//! device.
//!
//! What must stay true: every wait that shall succeed has a bound that no slow machine reaches,
//! every wait that shall not is short, and which happened is asserted, never how fast.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]
#![allow(unsafe_code)]

mod dma_buf;
mod producers;
mod rig;
mod rounds;
mod slow;
mod sync_file;
mod syncobj;
