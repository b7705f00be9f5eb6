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

// Taps of the wavelet times 2^15.
static constexpr i32 ADM_LOW[4] = {15826, 27411, 7345, -4240};
static constexpr i32 ADM_HIGH[4] = {-4240, -7345, 27411, -15826};

// Shares of a weighted detail in the thresholds of its neighbours and of its own place.
#define ADM_FIRST_NEIGHBOUR_SHARE 4369
#define ADM_FIRST_OWN_SHARE 8738
#define ADM_NEIGHBOUR_SHARE 143165577
#define ADM_OWN_SHARE 286331153
// Squared cosine of one degree.
#define ADM_COSINE_SQUARED 0.9996954f

// Hides from the compiler where a number comes from. It would else replace the product of two
// signed numbers of 32 bits by one of mixed signs or of 64 bits: four instructions instead of one.
VX_INLINE i32 adm_signed(i32 x) {
#if defined(__AMDGCN__)
    asm("" : "+v"(x));
#else
    asm("" : "+r"(x));
#endif
    return x;
}

// Sums and products that may wrap.
VX_INLINE i32 adm_add(i32 a, i32 b) { return (i32)((u32)a + (u32)b); }
VX_INLINE i32 adm_sub(i32 a, i32 b) { return (i32)((u32)a - (u32)b); }
VX_INLINE u32 adm_abs(i32 x) { return x < 0 ? 0u - (u32)x : (u32)x; }
VX_INLINE i64 adm_wide(i32 a, i32 b) { return (i64)a * b; }
VX_INLINE u64 adm_wide(u32 a, u32 b) { return (u64)a * b; }
// Half of the unit that a right shift by `shift` leaves.
VX_INLINE u64 adm_half(u32 shift) { return (1ull << shift) >> 1; }
// The same where it is handed over as well: there it is an operand, elsewhere it is made at once
// and holds no register.
VX_INLINE u64 adm_half(u64 handed_over, u32 shift) {
#if defined(__NVPTX__)
    (void)shift;
    return handed_over;
#else
    (void)handed_over;
    return adm_half(shift);
#endif
}

// 2^30 / divisor, rounded down, for divisors from 2^14 to 2^15.
//
// The quotient is at most 2^16. The estimate is at most 2^-22 off, relatively, for a reciprocal
// with an error of one unit in the last place, and is then lowered by more than that, so it is
// the quotient or one less.
VX_INLINE u32 adm_reciprocal(u32 divisor) {
    u32 quotient = (u32)(adm_about_reciprocal((float)divisor) * 1073741312.0f);
    return quotient + ((1u << 30) - quotient * divisor >= divisor);
}

// The part of an original of `magnitude` that is still there, from 2^14 on: by a share in 15
// bits. `most` is the distorted detail in the direction of the original, 0 if it points away;
// `sign` the mask of the original's sign.
VX_INLINE u32 adm_large_share(u32 magnitude, i32 sign, u32 most) {
    u32 shift = 17 - (u32)__builtin_clz(magnitude);
    u32 leading = (magnitude + ((1u << shift) >> 1)) >> shift;
    // Twice the original is beyond a share of one, so that the quotient has 32 bits.
    u64 product = adm_wide(adm_reciprocal(leading), vx_min(most, 2 * magnitude));
    u32 share = ((u32)(product >> (14 + shift)) + 1) >> 1;
    return (u32)((adm_wide(vx_min(share, 1u << 15), magnitude) + (u32)(16384 + sign)) >> 15);
}

// `magnitude` times the gain, cut to whole, but at most `most`: with a whole gain and with another.
template <u32 LEVEL> VX_INLINE u32 adm_enhanced(u32 magnitude, u32 most, u32 gain) {
    if (LEVEL == 0) return vx_min(magnitude * gain, most);
    u64 product = adm_wide(magnitude, gain);
    return product >> 32 ? most : vx_min((u32)product, most);
}
VX_INLINE u32 adm_enhanced(u32 magnitude, u32 most, double gain) {
    double product = (double)magnitude * gain, end = (double)most;
    return (u32)(product < end ? product : end);
}

// The sum of products of two vectors, as the definition rounds it.
VX_INLINE float adm_product(i32 a0, i32 a1, i32 b0, i32 b1) {
    return (float)(i64)((u64)adm_wide(a0, b0) + (u64)adm_wide(a1, b1));
}

// Whether the horizontal and the vertical detail of original and distorted picture, as vectors,
// are within one degree of one another.
//
// The definition compares in double precision. In single precision either side is less than 2^-21
// of the right one off, whatever the angle, so it decides but for the few that are closer.
template <u32 LEVEL>
VX_INLINE bool adm_keeps_direction(const i32 (&o)[3], const i32 (&t)[3], float cosine_squared) {
    float dot, original, distorted;
    if (LEVEL == 0) {
        // Details have 16 bits and their products 30.
        dot = (float)(i32)((u32)o[0] * (u32)t[0] + (u32)o[1] * (u32)t[1]);
        original = (float)(i32)((u32)o[0] * (u32)o[0] + (u32)o[1] * (u32)o[1]);
        distorted = (float)(i32)((u32)t[0] * (u32)t[0] + (u32)t[1] * (u32)t[1]);
    } else {
        float o0 = (float)o[0], o1 = (float)o[1], t0 = (float)t[0], t1 = (float)t[1];
        dot = o0 * t0 + o1 * t1;
        original = o0 * o0 + o1 * o1;
        distorted = t0 * t0 + t1 * t1;
    }
    float left = dot * dot, right = cosine_squared * original * distorted, gap = left - right;
    bool same = gap >= 0.0f && dot >= 0.0f;
    if ((gap < 0.0f ? -gap : gap) < right * (1.0f / 262144.0f)) {
        double exact = (double)adm_product(o[0], o[1], t[0], t[1]);
        double other = (double)cosine_squared * (double)adm_product(o[0], o[1], o[0], o[1]) *
                       (double)adm_product(t[0], t[1], t[0], t[1]);
        same = exact >= 0.0 && exact * exact >= other;
    }
    return same;
}

// The weighted detail of the masking side on the first level, from the product of the weight and
// the magnitude, which is below 2^31.
VX_INLINE u32 adm_first_weighed(u32 product, i32 sign, u32 band) {
    // 65535 is the definition's; half of 2^17 would be 65536.
    if (band == 2) return (product + 65535 - (u32)sign) >> 17;
    return adm_abs((i16)((product + 16384 + (u32)sign) >> 15));
}
VX_INLINE i32 adm_first_share(u32 share, u32 weighed) {
    return (i16)((share * weighed + 2048) >> 12);
}

// The weighted detail on the other levels, of both sides.
VX_INLINE u32 adm_later_weighed(u32 factor, u32 magnitude, i32 sign) {
    u64 product = adm_wide(factor, magnitude) + (u32)((1 << 27) + sign);
    return adm_abs((i32)(product >> 28));
}
VX_INLINE i32 adm_later_share(u32 share, u32 weighed) {
    return (i32)((adm_wide((i32)share, (i32)weighed) - (1ll << 31)) >> 32);
}

// The cube of what is seen of a weighted magnitude above its threshold.
template <u32 LEVEL, u32 BAND> VX_INLINE u64 adm_seen_cube(u32 magnitude, i32 threshold,
                                                           u64 square_half, u32 cube_shift,
                                                           u64 cube_half) {
    constexpr u32 threshold_shift = LEVEL > 0 ? 0 : BAND == 2 ? 12 : 10;
    constexpr u32 square_shift = LEVEL == 0 && BAND < 2 ? 29 : 30;
    i32 seen = adm_signed(vx_max((i32)(magnitude - ((u32)threshold << threshold_shift)), 0));
    i32 square = adm_signed(
        (i32)((adm_wide(seen, seen) + (i64)adm_half(square_half, square_shift)) >> square_shift));
    return (u64)((adm_wide(square, seen) + (i64)adm_half(cube_half, cube_shift)) >> cube_shift);
}
