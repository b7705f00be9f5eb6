//! A simulated GPU under the HIP runtime's names.
//!
//! The library `libvmafx_hipsim.so` exports the functions of `libamdhip64.so` that a plugin
//! needs, and a plugin loads it in that library's place. What is simulated is what goes wrong on
//! a real device: streams are threads that run behind the caller's back, events order them and
//! nothing else does, memory of the device is not the host's and holds rubbish when it is fresh,
//! modules must be made for the device. Kernels run as the functions of the same name in the
//! library of kernels for the host, block by block ([`blocks`]), or as the instructions of the code
//! object that was loaded ([`vmafx_gcnsim`]), or as both, compared.
//!
//! - [`blocks`]: the engine for kernels alone, without a runtime;
//! - [`install`]: copies of the library for each version of ROCm, and a test's hold on one;
//! - [`settings`]: the device, the version and the misbehaviours, by environment or at run time;
//! - [`control`]: the functions behind [`install::Simulator`], for tests in other languages.
//!
//! What is not simulated: time (a device here is as fast as its host), more than one process on a
//! device, textures, peer access, external semaphores, managed memory that moves, and graphs made
//! node by node.
#![allow(unsafe_code)] // the HIP runtime is a C interface; every block says why it holds

pub mod blocks;
pub mod control;
pub mod install;
pub mod settings;

mod abi;
mod api;
#[cfg(test)]
mod bindings;
mod capture;
mod code_object;
mod engine;
mod log;
mod memory;
mod sim;
mod stream;
mod streams;
mod work;
