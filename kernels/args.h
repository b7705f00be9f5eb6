// What host code hands to the kernels.
//
// Generated from crates/gpu/src/args.rs; do not edit. Run `cargo xtask codegen`.
//
// Addresses are those of the device; pitches are in bytes; sizes are in samples.
#pragma once
#include "vx.h"

// A plane in the device's memory, read in place: any address and pitch that are multiples of the
// sample size. An address of 0 means that there is no such frame.
struct VxPlane {
    // Of the first sample.
    u64 address;
    // Between the starts of two rows, less than 2^32.
    u64 pitch;
};
static_assert(sizeof(VxPlane) == 16, "another layout than the host's");

// What shows that a frame of host memory has arrived: the last bytes of its copy.
struct VxArrival {
    // Of a number (u64) behind the frame's planes; 0 if the frame was on the device already.
    u64 address;
    // The number that the frame's copy writes there.
    u64 number;
};
static_assert(sizeof(VxArrival) == 16, "another layout than the host's");

// One frame pair. Written for every frame, so that all other arguments stay as they are.
struct VxJob {
    // Number of the launch, so that results of another one are known as such.
    u64 sequence;
    // 0.
    u64 reserved;
    // Of the reference, the distorted frame and the earlier ones. The sequence number of the
    // results is 0 unless all have arrived.
    VxArrival arrivals[4];
    // Planes of the reference.
    VxPlane reference[3];
    // Planes of the distorted frame.
    VxPlane distorted[3];
    // Luma of the reference one and two frames back.
    VxPlane earlier[2];
};
static_assert(sizeof(VxJob) == 208, "another layout than the host's");

// Begins the arguments of every kernel.
struct VxFrame {
    // Address of the VxJob.
    u64 job;
    // Address of the result words of the frame (u64). Word 0 is the sequence number of the job,
    // word 1 counts threads that met a sample beyond the depth; then come a word a launch and the
    // sums.
    u64 results;
    // Which word counts the blocks of this launch.
    u32 counter;
    // Bits of a sample, 8 to 16.
    u32 depth;
};
static_assert(sizeof(VxFrame) == 24, "another layout than the host's");

// Word of the results that holds the sequence number of the job.
#define VX_SEQUENCE_WORD 0

// Word of the results that counts threads that met a sample beyond the depth.
#define VX_FAULT_WORD 1

// The first of the words that count blocks.
#define VX_COUNTER_WORD 2

// `vx_begin`: zeroes results and accumulators and copies the sequence number; launched before all
// others.
struct VxBeginArgs {
    // The frame.
    VxFrame frame;
    // u64 words from the start of the results on, all zeroed.
    u64 words;
};
static_assert(sizeof(VxBeginArgs) == 32, "another layout than the host's");

// `vx_psnr_u8`, `vx_psnr_u16`: sum of squared errors of one plane into one word.
struct VxPsnrArgs {
    // The frame.
    VxFrame frame;
    // Samples of a row.
    u32 width;
    // Rows.
    u32 height;
    // 0 to 2.
    u32 plane;
    // Word of the results.
    u32 sum;
};
static_assert(sizeof(VxPsnrArgs) == 40, "another layout than the host's");

// `vx_vif_scale0_u8`, `_u12`, `_u16`, `vx_vif_scale1` to `3`: one scale of vif, and the images of
// the next one.
struct VxVifArgs {
    // The frame.
    VxFrame frame;
    // Reference and distorted image of the scale; unused at scale 0, which reads the job's luma.
    VxPlane image[2];
    // Where the images of the next scale go (u16): address and pitch are multiples of 8, and a
    // row has room for a multiple of 4 samples. Unused at scale 3.
    VxPlane next[2];
    // Address of 256 u32: chords of log2, see vif_information.h.
    u64 chords;
    // Largest gain that counts as information.
    double gain_limit;
    // Samples of a row, at this scale.
    u32 width;
    // Rows, at this scale.
    u32 height;
    // First of four words of the results: bits in the distorted image, bits in the reference,
    // variance of the flat pixels, flat pixels.
    u32 sums;
    // 0: only the images of the next scale are made.
    u32 score;
};
static_assert(sizeof(VxVifArgs) == 120, "another layout than the host's");

// `vx_motion_u8`, `vx_motion_u16`: sum of the absolute values of the blurred difference to an
// earlier frame.
struct VxMotionArgs {
    // The frame.
    VxFrame frame;
    // Samples of a row.
    u32 width;
    // Rows.
    u32 height;
    // Which of VxJob::earlier, 0 or 1.
    u32 earlier;
    // Word of the results.
    u32 sad;
};
static_assert(sizeof(VxMotionArgs) == 40, "another layout than the host's");

// `vx_adm_first_u8`, `vx_adm_first_u16`, `vx_adm_second`, `vx_adm_later`: one level of adm.
struct VxAdmLevelArgs {
    // The frame.
    VxFrame frame;
    // Low bands of the level before, of the reference and of the distorted frame: addresses of
    // column -1 of row 0, on 16 bytes. 0 on the first level, which reads the planes.
    u64 source[2];
    // Low bands to be written, likewise; 0 on the last level.
    u64 low[2];
    // How often an enhanced detail counts at most.
    double gain_limit;
    // Half of the unit that the filter over columns rounds to; unused on the first level.
    u64 vertical_half;
    // The same over rows.
    u64 horizontal_half;
    // Halves of the units that squares are rounded to: straight details, diagonal ones.
    u64 square_half[2];
    // The same for cubes.
    u64 cube_half[2];
    // The same for cubes of the original.
    u64 energy_cube_half;
    // What is added to a square of the original before its shift: a whole unit.
    u64 energy_square_unit;
    // Bytes between rows of the low bands of the level before, a multiple of 16.
    u32 source_pitch;
    // Of those that are written.
    u32 low_pitch;
    // Samples of a row of what is analysed.
    u32 source_width;
    // Rows of it.
    u32 source_height;
    // Columns of the bands.
    u32 width;
    // Rows of them.
    u32 height;
    // Columns that are made: the first and one behind the last.
    u32 columns[2];
    // Rows likewise.
    u32 rows[2];
    // Columns that are scored.
    u32 scored_columns[2];
    // Rows likewise.
    u32 scored_rows[2];
    // Columns that a block takes, a multiple of 16.
    u32 strip;
    // The limit of gain if it is a whole number, else 0.
    u32 whole_gain;
    // Weights of the details: horizontal, vertical, diagonal.
    u32 factors[3];
    // Right shift after the filter over rows.
    u32 horizontal_shift;
    // Taps of the low pass.
    i32 low_taps[4];
    // Taps of the high pass.
    i32 high_taps[4];
    // Right shifts of cubes: straight details, diagonal ones.
    u32 cube_shift[2];
    // Right shift of a square of the original; 0 on the first level.
    u32 energy_square_shift;
    // Right shift of a cube of it; 0 on the first level.
    u32 energy_cube_shift;
    // Whether there are any sums.
    u32 scored;
    // Whether there are those of the impairment.
    u32 with_impairment;
    // 0.
    u32 reserved;
    // Number of the first accumulator, counted in words from the results: nine rows of words, one
    // for each scored row: restored, impairment, original, three bands each.
    u32 accumulators;
};
static_assert(sizeof(VxAdmLevelArgs) == 272, "another layout than the host's");

// `vx_adm_rows`: rounds and adds up the sums of the rows.
struct VxAdmRowsArgs {
    // The frame.
    VxFrame frame;
    // Number of the first accumulator of each level.
    u32 accumulators[4];
    // Scored rows of each level.
    u32 rows[4];
    // Right shift of a row's sum of masked cubes.
    u32 masked_shift[4];
    // Right shift of a row's sum of the original's cubes.
    u32 energy_shift[4];
    // Word of the results: nine for each level from there on, in the order of the accumulators.
    u32 sums;
    // 0.
    u32 reserved;
};
static_assert(sizeof(VxAdmRowsArgs) == 96, "another layout than the host's");
