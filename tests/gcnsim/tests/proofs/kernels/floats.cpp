// Floating point and conversions. Conversions out of range saturate, NaN becomes 0: the build asks
// for it with -fno-strict-float-cast-overflow.
#include "proof.h"

VX_KERNEL(floats_32, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    float a = vx_at<float>(args.in[0])[i], b = vx_at<float>(args.in[1])[i];
    float c = vx_at<float>(args.in[2])[i];
    i32 power = (i32)bits(c) % 300;
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
#define PUTF(name, value) PUT(name, bits((float)(value)))
    PUTF(add, a + b);
    PUTF(sub, a - b);
    PUTF(mul, a * b);
    PUTF(div, a / b);
    PUTF(reciprocal, 1.0f / a);
    PUTF(root, __builtin_elementwise_sqrt(a));
    PUTF(reciprocal_root, 1.0f / __builtin_elementwise_sqrt(a));
    PUTF(fused, __builtin_elementwise_fma(a, b, c));
    PUTF(fused_negated, __builtin_elementwise_fma(-a, b, -c));
    PUTF(apart, a * b + c);
    PUTF(min, __builtin_fminf(a, b));
    PUTF(max, __builtin_fmaxf(a, b));
    PUTF(min3, __builtin_fminf(__builtin_fminf(a, b), c));
    PUTF(lesser, a < b ? a : b);
    PUTF(greater_, a > b ? a : b);
    PUTF(floor, __builtin_elementwise_floor(a));
    PUTF(ceil, __builtin_elementwise_ceil(a));
    PUTF(trunc, __builtin_elementwise_trunc(a));
    PUTF(round_even, __builtin_elementwise_roundeven(a));
    PUTF(rint, __builtin_elementwise_rint(a));
    PUTF(round, __builtin_elementwise_round(a));
    PUTF(fraction, __builtin_amdgcn_fractf(a));
    PUTF(scale, __builtin_amdgcn_ldexpf(a, power));
    PUTF(mantissa, __builtin_amdgcn_frexp_mantf(a));
    PUT(exponent, (u32)__builtin_amdgcn_frexp_expf(a));
    PUT(copy_sign, bits(__builtin_elementwise_copysign(a, b)));
    PUT(absolute, bits(__builtin_elementwise_abs(a)));
    PUT(negated, bits(-a));
    PUT(negated_absolute, bits(-__builtin_elementwise_abs(a)));
    PUTF(absolute_sum, __builtin_elementwise_abs(a) + __builtin_elementwise_abs(b));
    PUTF(twice, a * b * 2.0f);
    PUTF(clamped, __builtin_fminf(__builtin_fmaxf(a, 0.0f), 1.0f));
    PUTF(difference_squared, (a - b) * (a - b));
    PUT(less, a < b ? 1u : 0u);
    PUT(less_equal, a <= b ? 1u : 0u);
    PUT(equal, a == b ? 1u : 0u);
    PUT(not_equal, a != b ? 1u : 0u);
    PUT(greater, a > b ? 1u : 0u);
    PUT(greater_equal, a >= b ? 1u : 0u);
    PUT(not_less, !(a < b) ? 1u : 0u);
    PUT(not_greater_equal, !(a >= b) ? 1u : 0u);
    PUT(unordered, __builtin_isunordered(a, b) ? 1u : 0u);
    PUT(nan, __builtin_isnan(a) ? 1u : 0u);
    PUT(infinite, __builtin_isinf(a) ? 1u : 0u);
    PUT(finite, __builtin_isfinite(a) ? 1u : 0u);
    PUT(normal, __builtin_isnormal(a) ? 1u : 0u);
    PUT(class_, __builtin_amdgcn_classf(a, 0x155) ? 1u : 0u);
    PUT(to_i32, (u32)(i32)a);
    PUT(to_u32, (u32)a);
    PUT(to_i16, (u32)(i32)(i16)a);
    PUT(to_u16, (u32)(u16)a);
    PUT(to_i8, (u32)(i32)(i8)a);
    PUT(to_u8, (u32)(u8)a);
    PUTF(from_i32, (float)(i32)bits(a));
    PUTF(from_u32, (float)bits(a));
    PUTF(from_i16, (float)(i16)bits(a));
    PUTF(from_u16, (float)(u16)bits(a));
    PUTF(from_byte_0, (float)(bits(a) & 0xff));
    PUTF(from_byte_1, (float)(bits(a) >> 8 & 0xff));
    PUTF(from_byte_2, (float)(bits(a) >> 16 & 0xff));
    PUTF(from_byte_3, (float)(bits(a) >> 24));
    PUTF(polynomial, ((a * 3.5f + 0.25f) * a - 1.5f) * a + b);
    PUTF(constants, (a + 0.5f) * (b - 4.0f) / 3.0f);
}

VX_KERNEL(floats_64, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    double a = vx_at<double>(args.in[0])[i], b = vx_at<double>(args.in[1])[i];
    double c = vx_at<double>(args.in[2])[i];
    i32 power = (i32)(bits(c) >> 20) % 2200;
    VX_GLOBAL u64 *out = vx_at<u64>(args.out);
    u32 slot = 0;
#define PUTD(name, value) PUT(name, bits((double)(value)))
    PUTD(add, a + b);
    PUTD(sub, a - b);
    PUTD(mul, a * b);
    PUTD(div, a / b);
    PUTD(reciprocal, 1.0 / a);
    PUTD(root, __builtin_elementwise_sqrt(a));
    PUTD(fused, __builtin_elementwise_fma(a, b, c));
    PUTD(fused_negated, __builtin_elementwise_fma(-a, b, -c));
    PUTD(apart, a * b + c);
    PUTD(min, __builtin_fmin(a, b));
    PUTD(max, __builtin_fmax(a, b));
    PUTD(lesser, a < b ? a : b);
    PUTD(floor, __builtin_elementwise_floor(a));
    PUTD(ceil, __builtin_elementwise_ceil(a));
    PUTD(trunc, __builtin_elementwise_trunc(a));
    PUTD(round_even, __builtin_elementwise_roundeven(a));
    PUTD(rint, __builtin_elementwise_rint(a));
    PUTD(fraction, __builtin_amdgcn_fract(a));
    PUTD(scale, __builtin_amdgcn_ldexp(a, power));
    PUTD(mantissa, __builtin_amdgcn_frexp_mant(a));
    PUT(exponent, (u64)(u32)__builtin_amdgcn_frexp_exp(a));
    PUT(copy_sign, bits(__builtin_elementwise_copysign(a, b)));
    PUT(absolute, bits(__builtin_elementwise_abs(a)));
    PUT(negated, bits(-a));
    PUTD(absolute_sum, __builtin_elementwise_abs(a) - __builtin_elementwise_abs(b));
    PUT(less, a < b ? 1 : 0);
    PUT(less_equal, a <= b ? 1 : 0);
    PUT(equal, a == b ? 1 : 0);
    PUT(not_equal, a != b ? 1 : 0);
    PUT(greater, a > b ? 1 : 0);
    PUT(not_less, !(a < b) ? 1 : 0);
    PUT(unordered, __builtin_isunordered(a, b) ? 1 : 0);
    PUT(nan, __builtin_isnan(a) ? 1 : 0);
    PUT(infinite, __builtin_isinf(a) ? 1 : 0);
    PUT(finite, __builtin_isfinite(a) ? 1 : 0);
    PUT(to_i32, (u64)(u32)(i32)a);
    PUT(to_u32, (u64)(u32)a);
    PUT(to_i64, (u64)(i64)a);
    PUT(to_u64, (u64)a);
    PUT(to_f32, (u64)bits((float)a));
    PUTD(from_i32, (double)(i32)bits(a));
    PUTD(from_u32, (double)(u32)bits(a));
    PUTD(from_i64, (double)(i64)bits(a));
    PUTD(from_u64, (double)bits(a));
    PUTD(from_f32, (double)real((u32)bits(a)));
    PUT(f32_to_i64, (u64)(i64)real((u32)bits(a)));
    PUT(f32_to_u64, (u64)real((u32)bits(a)));
    PUT(f32_from_i64, (u64)bits((float)(i64)bits(a)));
    PUT(f32_from_u64, (u64)bits((float)bits(a)));
    PUTD(ratio, (2.0 * a * b + 0.001) / (a * a + b * b + 0.001));
    PUTD(constants, (a + 0.5) * (b - 4.0) / 3.0);
    PUTD(clamped, __builtin_fmin(__builtin_fmax(a, 0.0), 100.0));
}

// Half precision: what there is of it in one operation.
VX_KERNEL(floats_16, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    u32 wa = vx_at<u32>(args.in[0])[i], wb = vx_at<u32>(args.in[1])[i];
    _Float16 a = __builtin_bit_cast(_Float16, (u16)wa), b = __builtin_bit_cast(_Float16, (u16)wb);
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
#define PUTH(name, value) PUT(name, __builtin_bit_cast(u16, (_Float16)(value)))
    PUTH(add, a + b);
    PUTH(sub, a - b);
    PUTH(mul, a * b);
    PUTH(from_f32, real(wa));
    PUT(to_f32, bits((float)a));
    PUT(less, a < b ? 1u : 0u);
    PUT(negated, (u32)__builtin_bit_cast(u16, -a));
}
