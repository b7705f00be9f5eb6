//! Executes AMD code objects without a GPU.
//!
//! [`Program::load`] reads a code object: its ELF, metadata and kernel descriptors ([`object`]),
//! and the text of its instructions, which llvm-objdump writes ([`disassembly`]). Each instruction
//! is decoded once into an operation over the lanes of a wave. [`Program::launch`] runs a kernel
//! over a grid: blocks one after the other or spread over threads, the waves of a block in turns
//! from barrier to barrier.
//!
//! What it does as hardware does: waves of 32 and 64 lanes, exec masks, IEEE 754 arithmetic in
//! f32 and f64 with subnormals, 64-bit atomics, exchanges between lanes, scratch. Where it is
//! stricter:
//! - an access outside the [`Memory`] that is handed in, or outside the block's LDS, is an error;
//! - two waves that access the same word of LDS between the same two barriers, one of them
//!   writing, are an error ([`Fault`] names both instructions): on hardware their order is luck;
//! - where [`Options::exclusive`] asks for it, so are two waves of a launch that access the same
//!   byte of memory, one of them writing, unless both do so by atomics;
//! - registers and LDS hold poison before a kernel writes them, and LDS between blocks too;
//! - an instruction that is not known, or a mode that is not modelled, is an error with its text;
//!   none is passed over.
//!
//! And where hardware has leave to differ, so has this ([`Estimates`], [`Order`]): approximate
//! reciprocals and roots may be off by what their documentation allows, and waves run in any
//! order. Results must not depend on either.
//!
//! What it does not prove: missing waits (`s_waitcnt` and its kin do nothing, since every access
//! is complete at once), the order of atomics across blocks, occupancy, and the loader of
//! a real runtime.
#![allow(unsafe_code)] // kernels access memory by address; every block says why it holds

pub mod compiler;
pub mod disassembly;
pub mod object;
pub mod target;
pub mod tool;

mod access;
mod code;
mod decode;
mod dispatch;
mod dpp;
mod error;
mod lds;
mod meetings;
mod memory;
mod operations;
mod program;
mod share;
mod text;
mod wave;

pub use error::{Error, Fault, Site};
pub use memory::{Memory, Region};
pub use program::{Counts, Estimates, Options, Order, Program};

/// A number that looks drawn from another: the finaliser of SplitMix64.
#[must_use]
pub fn mix(seed: u64) -> u64 {
    let z = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
