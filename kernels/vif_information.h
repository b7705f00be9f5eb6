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

// Sums over the pixels of a thread. 32 bits hold what a hundred pixels add to them.
struct VifSums {
    // Logarithms of what the distorted image and its noise hold, and of the noise alone.
    u32 all, rest;
    // Logarithms of the reference and its noise, where it is not flat, and how often.
    u32 reference, varied;
    // Distorted variance where the reference is flat, and how often.
    u64 flat_variance;
    u32 flat;
};

// The quotient of two positive numbers, far from the ends of the range; correctly rounded. The
// steps that a compiler takes for `a / b` in that range, without the branch out of it.
VX_INLINE double vif_divide(double a, double b) {
#if defined(__NVPTX__)
    double r = __nvvm_rcp_approx_ftz_d(b);
    double e = __builtin_fma(-b, r, 1.0);
    r = __builtin_fma(r, __builtin_fma(e, e, e), r);
    r = __builtin_fma(r, __builtin_fma(-b, r, 1.0), r);
    double q = a * r;
    return __builtin_fma(r, __builtin_fma(-b, q, a), q);
#else
    return a / b;
#endif
}

// The integer part of `v` < 2^52, 0 if `v` is negative.
VX_INLINE double vif_whole(double v) {
    u64 bits = __builtin_bit_cast(u64, v);
    // Without the upper half of its bits any number is less than 1.
    u32 upper = (u32)vx_max((i32)(bits >> 32), 0);
    v = __builtin_bit_cast(double, (u64)upper << 32 | (u32)bits);
#if defined(__AMDGCN__) || defined(__NVPTX__)
    return __builtin_trunc(v);
#else
    // Without a C library.
    return (double)(i64)v;
#endif
}

// log2(v) in 1/2048, plus 1023, of an integer `v` >= 32768: from the upper half of its bits as a
// double, which are the exponent and the leading bits of the mantissa. A chord is its value at the
// left end in 1/2^20 of a unit, and in its low 12 bits also its slope, in 1/2^15 of a unit.
template <typename Chords> VX_INLINE u32 vif_log2(Chords chords, double v) {
    u32 bits = (u32)(__builtin_bit_cast(u64, v) >> 32);
    u32 chord = chords[bits >> 12 & 255];
    return ((chord + (chord & 4095) * (bits & 0xfe0)) >> 20) + (bits >> 20) * 2048;
}

// Adds a pixel whose reference varies by `s1`, and the distorted image by `s2` >= 0, with
// covariance `s12`. Nothing branches, so that no pixel waits for another; one that is not
// `varied` adds nothing.
template <typename Chords>
VX_INLINE void vif_varied(VifSums &sums, bool varied, i32 s1, i32 s2, i32 s12, double gain_limit,
                          Chords chords) {
    // Without correlation `all` equals `rest`.
    s12 = varied && s2 > 0 ? vx_max(s12, 0) : 0;
    double v1 = s1, v2 = s2, v12 = s12;
    u32 reference = vif_log2(chords, v1 + (double)VIF_NOISE);
    double gain = vif_divide(v12, v1 + 65536.0 * 1.0e-10);
    double rest = vif_whole(v2 - gain * v12) + (double)VIF_NOISE;
    gain = gain < gain_limit ? gain : gain_limit;
    double all = vif_whole(gain * gain * v1) + rest;
    sums.reference += varied ? reference : 0;
    sums.varied += varied;
    sums.all += vif_log2(chords, all);
    sums.rest += vif_log2(chords, rest);
}
