//! What is handed to the kernels, byte for byte; `kernels/args.h` is generated from it.
//!
//! Addresses are those of the device; pitches are in bytes; sizes are in samples.

use bytemuck::{Pod, Zeroable};

/// A plane in the device's memory, read in place: any address and pitch that are multiples of the
/// sample size. An address of 0 means that there is no such frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Plane {
    /// Of the first sample.
    pub address: u64,
    /// Between the starts of two rows, less than 2^32.
    pub pitch: u64,
}

/// What shows that a frame of host memory has arrived: the last bytes of its copy.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Arrival {
    /// Of a number (u64) behind the frame's planes; 0 if the frame was on the device already.
    pub address: u64,
    /// The number that the frame's copy writes there.
    pub number: u64,
}

/// One frame pair. Written for every frame, so that all other arguments stay as they are.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Job {
    /// Number of the launch, so that results of another one are known as such.
    pub sequence: u64,
    /// 0.
    pub reserved: u64,
    /// Of the reference, the distorted frame and the earlier ones. The sequence number of the
    /// results is 0 unless all have arrived.
    pub arrivals: [Arrival; 4],
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
    /// Address of the result words of the frame (u64). Word 0 is the sequence number of the job,
    /// word 1 counts threads that met a sample beyond the depth; then come a word a launch and the
    /// sums.
    pub results: u64,
    /// Which word counts the blocks of this launch.
    pub counter: u32,
    /// Bits of a sample, 8 to 16.
    pub depth: u32,
}

/// Word of the results that holds the sequence number of the job.
pub const SEQUENCE_WORD: usize = 0;
/// Word of the results that counts threads that met a sample beyond the depth.
pub const FAULT_WORD: usize = 1;
/// The first of the words that count blocks.
pub const COUNTER_WORD: usize = 2;

/// `vx_begin`: zeroes results and accumulators and copies the sequence number; launched before all
/// others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Begin {
    /// The frame.
    pub frame: Frame,
    /// u64 words from the start of the results on, all zeroed.
    pub words: u64,
}

/// `vx_psnr_u8`, `vx_psnr_u16`: sum of squared errors of one plane into one word.
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

/// `vx_vif_scale0_u8`, `_u12`, `_u16`, `vx_vif_scale1` to `3`: one scale of vif, and the images of
/// the next one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Vif {
    /// The frame.
    pub frame: Frame,
    /// Reference and distorted image of the scale; unused at scale 0, which reads the job's luma.
    pub image: [Plane; 2],
    /// Where the images of the next scale go (u16): address and pitch are multiples of 8, and a
    /// row has room for a multiple of 4 samples. Unused at scale 3.
    pub next: [Plane; 2],
    /// Address of 256 u32: chords of log2, see vif_information.h.
    pub chords: u64,
    /// Largest gain that counts as information.
    pub gain_limit: f64,
    /// Samples of a row, at this scale.
    pub width: u32,
    /// Rows, at this scale.
    pub height: u32,
    /// First of four words of the results: bits in the distorted image, bits in the reference,
    /// variance of the flat pixels, flat pixels.
    pub sums: u32,
    /// 0: only the images of the next scale are made.
    pub score: u32,
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

/// `vx_adm_first_u8`, `vx_adm_first_u16`, `vx_adm_second`, `vx_adm_later`: one level of adm.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct AdmLevel {
    /// The frame.
    pub frame: Frame,
    /// Low bands of the level before, of the reference and of the distorted frame: addresses of
    /// column -1 of row 0, on 16 bytes. 0 on the first level, which reads the planes.
    pub source: [u64; 2],
    /// Low bands to be written, likewise; 0 on the last level.
    pub low: [u64; 2],
    /// How often an enhanced detail counts at most.
    pub gain_limit: f64,
    /// Half of the unit that the filter over columns rounds to; unused on the first level.
    pub vertical_half: u64,
    /// The same over rows.
    pub horizontal_half: u64,
    /// Halves of the units that squares are rounded to: straight details, diagonal ones.
    pub square_half: [u64; 2],
    /// The same for cubes.
    pub cube_half: [u64; 2],
    /// The same for cubes of the original.
    pub energy_cube_half: u64,
    /// What is added to a square of the original before its shift: a whole unit.
    pub energy_square_unit: u64,
    /// Bytes between rows of the low bands of the level before, a multiple of 16.
    pub source_pitch: u32,
    /// Of those that are written.
    pub low_pitch: u32,
    /// Samples of a row of what is analysed.
    pub source_width: u32,
    /// Rows of it.
    pub source_height: u32,
    /// Columns of the bands.
    pub width: u32,
    /// Rows of them.
    pub height: u32,
    /// Columns that are made: the first and one behind the last.
    pub columns: [u32; 2],
    /// Rows likewise.
    pub rows: [u32; 2],
    /// Columns that are scored.
    pub scored_columns: [u32; 2],
    /// Rows likewise.
    pub scored_rows: [u32; 2],
    /// Columns that a block takes, a multiple of 16.
    pub strip: u32,
    /// The limit of gain if it is a whole number, else 0.
    pub whole_gain: u32,
    /// Weights of the details: horizontal, vertical, diagonal.
    pub factors: [u32; 3],
    /// Right shift after the filter over rows.
    pub horizontal_shift: u32,
    /// Taps of the low pass.
    pub low_taps: [i32; 4],
    /// Taps of the high pass.
    pub high_taps: [i32; 4],
    /// Right shifts of cubes: straight details, diagonal ones.
    pub cube_shift: [u32; 2],
    /// Right shift of a square of the original; 0 on the first level.
    pub energy_square_shift: u32,
    /// Right shift of a cube of it; 0 on the first level.
    pub energy_cube_shift: u32,
    /// Whether there are any sums.
    pub scored: u32,
    /// Whether there are those of the impairment.
    pub with_impairment: u32,
    /// 0.
    pub reserved: u32,
    /// Number of the first accumulator, counted in words from the results: nine rows of words, one
    /// for each scored row: restored, impairment, original, three bands each.
    pub accumulators: u32,
}

/// `vx_adm_rows`: rounds and adds up the sums of the rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct AdmRows {
    /// The frame.
    pub frame: Frame,
    /// Number of the first accumulator of each level.
    pub accumulators: [u32; 4],
    /// Scored rows of each level.
    pub rows: [u32; 4],
    /// Right shift of a row's sum of masked cubes.
    pub masked_shift: [u32; 4],
    /// Right shift of a row's sum of the original's cubes.
    pub energy_shift: [u32; 4],
    /// Word of the results: nine for each level from there on, in the order of the accumulators.
    pub sums: u32,
    /// 0.
    pub reserved: u32,
}
