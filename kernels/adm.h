// The arithmetic of adm on one coefficient, as crates/metrics/src/adm defines it.
//
// Details are taken as magnitude and sign, the sign being a mask (0 or all ones): so the three
// clamps of decoupling become two, and a product with a weight serves the masking and the masked
// side. What rounds halves upwards on signed numbers then rounds by the sign: `(x + half) >> s`
// of a negative `x` is `-((|x| + half - 1) >> s)`.
//
// What must stay true: results equal those of the reference in every bit for all samples within
// the depth. Others may give anything, but nothing here is used as an address.
#pragma once
#include "vx.h"

#if defined(__AMDGCN__)
VX_INLINE float adm_about_reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
#elif defined(__NVPTX__)
VX_INLINE float adm_about_reciprocal(float x) { return __nvvm_rcp_approx_ftz_f(x); }
#else
VX_INLINE float adm_about_reciprocal(float x) { return 1.0f / x; }
#endif

// Products and sums that may wrap.
VX_INLINE i32 adm_mul(i32 a, i32 b) { return (i32)((u32)a * (u32)b); }
VX_INLINE i32 adm_add(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
VX_INLINE i32 adm_sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
VX_INLINE u32 adm_abs(i32 x) { return x < 0 ? 0u - (u32)x : (u32)x; }
VX_INLINE i64 adm_wide(i32 a, i32 b) { return (i64)a * b; }
VX_INLINE u64 adm_wide(u32 a, u32 b) { return (u64)a * b; }
VX_INLINE u64 adm_half(u32 shift) { return (1ull << shift) >> 1; }

// 2^30 / divisor, rounded down, for divisors from 2^14 to 2^15.
//
// The quotient is at most 2^16. The estimate is at most 2^-22 off, relatively, for a reciprocal
// with an error of one unit in the last place, and is then lowered by more than that, so it is
// the quotient or one less.
VX_INLINE u32 adm_reciprocal(u32 divisor) {
    u32 quotient = (u32)(adm_about_reciprocal((float)divisor) * 1073741312.0f);
    return quotient + ((1u << 30) - quotient * divisor >= divisor);
}

// The largest gain of details that kept their direction.
struct AdmGain {
    double limit;
    // The limit as a whole number, else 0. The same in all threads.
    u32 whole;
};

// `magnitude` times the gain, cut to whole, but at most `most`.
VX_INLINE u32 adm_enhanced(u32 magnitude, u32 most, const AdmGain &gain) {
    if (gain.whole) {
        u64 product = adm_wide(magnitude, gain.whole);
        return product < most ? (u32)product : most;
    }
    double product = (double)magnitude * gain.limit, end = (double)most;
    return (u32)(product < end ? product : end);
}

// The part of an original of `magnitude` that is still there, from 2^14 on: by a share in 15
// bits. `toward` is the distorted detail in the direction of the original, 0 if it points away;
// `sign` the mask of the original's sign.
VX_INLINE u32 adm_large_share(u32 magnitude, i32 sign, u32 toward) {
    u32 shift = 17 - (u32)__builtin_clz(magnitude | 1 << 14);
    u32 leading = (magnitude + ((1u << shift) >> 1)) >> shift;
    // Twice the original is beyond a share of one, so that the quotient has 32 bits.
    u64 product = adm_wide(adm_reciprocal(leading), vx_min(toward, 2 * magnitude));
    u32 share = (u32)((product + (1ull << (14 + shift))) >> (15 + shift));
    return (u32)((adm_wide(vx_min(share, 1u << 15), magnitude) + (u32)(16384 + sign)) >> 15);
}

// The restored part of an original of `magnitude`, in its direction.
VX_INLINE u32 adm_restored(u32 magnitude, i32 sign, i32 toward, bool same, const AdmGain &gain) {
    u32 most = (u32)vx_max(toward, 0);
    // Below 2^14 the rounded share times the original rounds back to the distorted detail.
    u32 restored = magnitude < 1 << 14 ? vx_min(most, magnitude)
                                       : adm_large_share(magnitude, sign, most);
    return same ? adm_enhanced(restored, most, gain) : restored;
}

// Whether the vectors with these products (of one with the other, and of each with itself) are
// within one degree of one another.
//
// The definition compares in double precision. Single precision is off by less than 2^-22, so it
// decides but for the few that are closer.
VX_INLINE bool adm_keeps_direction(float dot, float original, float distorted, float cosine_squared) {
    float left = dot * dot, right = cosine_squared * original * distorted;
    float gap = left - right;
    bool same = gap >= 0.0f;
    if ((gap < 0.0f ? -gap : gap) < right * (1.0f / 1048576.0f)) {
        double exact = (double)dot;
        same = exact * exact >= (double)cosine_squared * (double)original * (double)distorted;
    }
    return dot >= 0.0f && same;
}

// The weighted detail of the masking side on the first level, from the product of the weight and
// the magnitude, which is below 2^31.
VX_INLINE u32 adm_first_weighed(u32 product, i32 sign, u32 band) {
    // 65535 is the definition's; half of 2^17 would be 65536.
    if (band == 2) return (product + 65535 - (u32)sign) >> 17;
    return adm_abs((i16)((product + 16384 + (u32)sign) >> 15));
}
VX_INLINE i32 adm_first_share(u32 share, u32 weighed) { return (i16)((share * weighed + 2048) >> 12); }
VX_INLINE u64 adm_first_cube(u32 magnitude) { return adm_wide(magnitude * magnitude, magnitude); }

// The weighted detail on the other levels, of both sides.
VX_INLINE u32 adm_later_weighed(u32 factor, u32 magnitude, i32 sign) {
    u64 product = adm_wide(factor, magnitude) + (u32)((1 << 27) + sign);
    return adm_abs((i32)(product >> 28));
}
VX_INLINE i32 adm_later_share(u32 share, u32 weighed) {
    return (i32)((adm_wide((i32)share, (i32)weighed) - (1ll << 31)) >> 32);
}
VX_INLINE u64 adm_later_cube(u32 magnitude, u32 square_shift, u32 cube_shift) {
    // A whole unit, where a half would round.
    u64 square = (adm_wide(magnitude, magnitude) + (1ull << square_shift)) >> square_shift;
    return (square * magnitude + adm_half(cube_shift)) >> cube_shift;
}

// The cube of what is seen of a weighted magnitude above its threshold.
VX_INLINE u64 adm_seen_cube(u32 magnitude, i32 threshold, u32 threshold_shift, u32 square_shift, u32 cube_shift) {
    i32 seen = vx_max((i32)(magnitude - ((u32)threshold << threshold_shift)), 0);
    i32 square = (i32)((adm_wide(seen, seen) + (i64)adm_half(square_shift)) >> square_shift);
    return (u64)((adm_wide(square, seen) + (i64)adm_half(cube_shift)) >> cube_shift);
}
