//! What is handed to the kernels, byte for byte: the mirror of `kernels/args.h`.
//!
//! Addresses are those of the device; pitches are in bytes; sizes are in samples.

use bytemuck::{Pod, Zeroable};

/// A plane in the device's memory. An address of 0 means that there is no such frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Plane {
    /// Of the first sample.
    pub address: u64,
    /// Between the starts of two rows.
    pub pitch: u64,
}

/// One frame pair. Written for every frame, so that all other arguments stay as they are.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Job {
    /// Number of the launch, so that results of another one are known as such.
    pub sequence: u64,
    /// 0.
    pub reserved: u64,
    /// Planes of the reference.
    pub reference: [Plane; 3],
    /// Planes of the distorted frame.
    pub distorted: [Plane; 3],
    /// Luma of the reference one and two frames back.
    pub earlier: [Plane; 2],
}

/// Begins the arguments of every kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Frame {
    /// Address of the [`Job`].
    pub job: u64,
    /// Address of the result words.
    pub results: u64,
    /// Which word counts the blocks of this launch.
    pub counter: u32,
    /// Bits of a sample.
    pub depth: u32,
}

/// Word of the results that holds the sequence number of the job.
pub const SEQUENCE_WORD: usize = 0;
/// Word of the results that counts threads that met a sample beyond the depth.
pub const FAULT_WORD: usize = 1;
/// The first of the words that count blocks.
pub const COUNTER_WORD: usize = 2;

/// `vx_begin`: zeroes results and accumulators and copies the sequence number.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Begin {
    /// The frame.
    pub frame: Frame,
    /// Words from the start of the results on.
    pub words: u64,
}

/// `vx_psnr_u8`, `vx_psnr_u16`: sum of squared errors of one plane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Psnr {
    /// The frame.
    pub frame: Frame,
    /// Samples of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// 0 to 2.
    pub plane: u32,
    /// Word of the results.
    pub sum: u32,
}

/// `vx_motion_u8`, `vx_motion_u16`: sum of the absolute values of the blurred difference to an
/// earlier frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Motion {
    /// The frame.
    pub frame: Frame,
    /// Samples of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Which of [`Job::earlier`], 0 or 1.
    pub earlier: u32,
    /// Word of the results.
    pub sad: u32,
}
