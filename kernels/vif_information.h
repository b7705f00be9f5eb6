// What one pixel adds to vif. Defined by crates/metrics/src/vif/information.rs; equal in every
// bit.
//
// Logarithms come from a table of chords rather than from one of values: 1 KiB instead of 64, so
// that it lies in shared memory.
#pragma once
#include "vx.h"

// Chords of log2: one for each 128 of the 16-bit mantissas from 32768 to 65535.
#define VIF_CHORDS 256
// Variance of the visual noise, 2.0 in Q16.
#define VIF_NOISE 131072

// Sums over the pixels of a thread. 32 bits hold what some hundred pixels add; `variance`, that
// of the flat pixels, takes up to 31 bits a pixel.
struct VifSums {
    u32 distorted_bits;
    u32 reference_bits;
    u32 flat_pixels;
    u64 variance;
};

// log2(v) in 1/2048, plus 1023, from the upper half of the bits of the integer `v` >= 32768 as a
// double: the exponent and the leading bits of the mantissa. A chord is its value at the left end
// in 1/2^20 of a unit, and in its low 12 bits also its slope, in 1/2^15 of a unit.
template <typename Chords> VX_INLINE u32 vif_log2(Chords chords, double v) {
    u32 bits = (u32)(__builtin_bit_cast(u64, v) >> 32);
    u32 chord = chords[bits >> 12 & 255];
    return (bits >> 20) * 2048 + ((chord + (chord & 4095) * (bits & 0xfe0)) >> 20);
}

// `v` < 2^53, without a conversion: those of 64 bits are slow.
VX_INLINE double vif_double(u32 v) {
    return __builtin_bit_cast(double, (u64)0x43300000 << 32 | v) - 4503599627370496.0;
}

// The integer part of `v` in 0..2^52.
VX_INLINE double vif_trunc(double v) {
#if defined(__AMDGCN__) || defined(__NVPTX__)
    return __builtin_trunc(v);
#else
    // Without a C library.
    return (double)(i64)v;
#endif
}

// Adds a pixel: filtered samples in Q16 (`m1` and `m2`, as Q32 of the 8-bit range) and rounded
// filtered products.
template <typename Chords>
VX_INLINE void vif_add(VifSums &sums, u32 m1, u32 m2, u32 xx, u32 yy, u32 xy, double gain_limit,
                       Chords chords) {
    const u64 half = (u64)1 << 31;
    i32 s1 = (i32)(xx - (u32)(((u64)m1 * m1 + half) >> 32));
    i32 s2 = vx_max((i32)(yy - (u32)(((u64)m2 * m2 + half) >> 32)), 0);
    i32 s12 = (i32)(xy - (u32)(((u64)m1 * m2 + half) >> 32));
    if (s1 < VIF_NOISE) {
        sums.variance += (u32)s2;
        sums.flat_pixels += 1;
        return;
    }
    double v1 = vif_double((u32)s1);
    sums.reference_bits += vif_log2(chords, v1 + (double)VIF_NOISE) - (1023 + 17) * 2048;
    if (s12 > 0 && s2 > 0) {
        double v2 = vif_double((u32)s2), v12 = vif_double((u32)s12);
        double gain = v12 / (v1 + 65536.0 * 1.0e-10);
        double left = v2 - gain * v12;
        double rest = vif_trunc(left > 0.0 ? left : 0.0) + (double)VIF_NOISE;
        gain = gain < gain_limit ? gain : gain_limit;
        double signal = vif_trunc(gain * gain * v1);
        sums.distorted_bits += vif_log2(chords, signal + rest) - vif_log2(chords, rest);
    }
}
