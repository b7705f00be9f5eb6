// What host code hands to the kernels. Mirrored by crates/gpu/src/args.rs.
//
// Addresses are those of the device; pitches are in bytes; sizes are in samples.
#pragma once
#include "vx.h"

// A plane in the device's memory, read in place: any address and pitch that are multiples of the
// sample size. An address of 0 means that there is no such frame.
struct VxPlane {
    u64 address;
    u64 pitch;
};

// One frame pair. Written for every frame, so that all other arguments stay as they are.
struct VxJob {
    u64 sequence;
    u64 reserved;
    VxPlane reference[3];
    VxPlane distorted[3];
    // Luma of the reference one and two frames back.
    VxPlane earlier[2];
};

// Begins the arguments of every kernel.
struct VxFrame {
    // VxJob.
    u64 job;
    // The result words of the frame (u64). Word 0 is the sequence number of the job, word 1
    // counts threads that met a sample beyond the depth; then come a word a launch and the sums.
    u64 results;
    // Which word counts the blocks of this launch.
    u32 counter;
    // Bits of a sample, 8 to 16.
    u32 depth;
};

// Word of the results that counts threads that met a sample beyond the depth.
#define VX_FAULT_WORD 1

// Zeroes results and accumulators and copies the sequence number: launched before all others.
struct VxBeginArgs {
    VxFrame frame;
    // u64 words from the start of the results on, all zeroed.
    u64 words;
};

// psnr: sum of squared errors of one plane into one word.
struct VxPsnrArgs {
    VxFrame frame;
    u32 width;
    u32 height;
    // 0 to 2.
    u32 plane;
    // Word of the results.
    u32 sum;
};

// motion: sum of the absolute values of the blurred difference to an earlier frame.
struct VxMotionArgs {
    VxFrame frame;
    u32 width;
    u32 height;
    // Which of VxJob::earlier, 0 or 1.
    u32 earlier;
    // Word of the results.
    u32 sad;
};

// vif: one scale, and the images of the next one.
struct VxVifArgs {
    VxFrame frame;
    // Reference and distorted image of the scale; at scale 0 they are the job's luma planes.
    VxPlane image[2];
    // Where the images of the next scale go (u16): address and pitch are multiples of 8, and a
    // row has room for a multiple of 4 samples. Unused at scale 3.
    VxPlane next[2];
    // 256 u32: chords of log2, see vif_information.h.
    u64 chords;
    double gain_limit;
    // Of this scale.
    u32 width;
    u32 height;
    // First of the four words of the results: bits in the distorted image, bits in the reference,
    // variance of the flat pixels, flat pixels.
    u32 sums;
    // 0: only the images of the next scale are made.
    u32 score;
};

// adm: one wavelet level of both pictures, with the sums of its rows.
struct VxAdmLevelArgs {
    VxFrame frame;
    // Low bands of the level before, of the reference and of the distorted frame: addresses of
    // column -1 of row 0, on 16 bytes. The first level reads the planes.
    u64 source[2];
    // Low bands to be written, likewise; 0 on the last level.
    u64 low[2];
    // How often an enhanced detail counts at most.
    double gain_limit;
    // Halves of the units that the filters over columns and over rows round to, but on the first
    // level.
    u64 vertical_half;
    u64 horizontal_half;
    // Halves of the units that squares and cubes are rounded to, of straight details and of
    // diagonal ones, and those of the original, where squares get a whole unit.
    u64 square_half[2];
    u64 cube_half[2];
    u64 energy_cube_half;
    u64 energy_square_unit;
    // Bytes between rows, a multiple of 16.
    u32 source_pitch;
    u32 low_pitch;
    u32 source_width;
    u32 source_height;
    // Of the bands.
    u32 width;
    u32 height;
    // Bands are made in these columns and rows, first and one behind the last.
    u32 columns[2];
    u32 rows[2];
    // The sums are those of these.
    u32 scored_columns[2];
    u32 scored_rows[2];
    // Columns that a block takes, a multiple of 16.
    u32 strip;
    // gain_limit if it is a whole number, else 0.
    u32 whole_gain;
    // Weights of the details: horizontal, vertical, diagonal.
    u32 factors[3];
    // Right shift after the filter over rows.
    u32 horizontal_shift;
    // Taps of the wavelet; the first level has them as constants.
    i32 low_taps[4];
    i32 high_taps[4];
    // Right shifts of cubes: straight details, diagonal ones.
    u32 cube_shift[2];
    // Right shifts of squares and cubes of the original; 0 on the first level.
    u32 energy_square_shift;
    u32 energy_cube_shift;
    // Whether there are any sums, and those of the impairment.
    u32 scored;
    u32 with_impairment;
    u32 reserved;
    // The accumulators, counted in words from the results: nine rows of words, one for each
    // scored row: restored, impairment, original, three bands each.
    u32 accumulators;
};

// adm: rounds the sums of rows and adds them up.
struct VxAdmRowsArgs {
    VxFrame frame;
    // For each level: its accumulators and its scored rows.
    u32 accumulators[4];
    u32 rows[4];
    // Right shifts of the sum of a row.
    u32 masked_shift[4];
    u32 energy_shift[4];
    // Result words: nine for each level, in the order of the accumulators.
    u32 sums;
    u32 reserved;
};
