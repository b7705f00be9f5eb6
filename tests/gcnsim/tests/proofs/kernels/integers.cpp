// Integers of 8 to 128 bits.
#include "proof.h"

typedef __int128 i128;
typedef unsigned __int128 u128;
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));

// Divisors without the two cases that C++ does not define.
VX_INLINE u32 divisor(u32 x) { return x ? x : 7; }
VX_INLINE i32 divisor(i32 x) { return x == 0 || x == -1 ? 7 : x; }
VX_INLINE u64 divisor(u64 x) { return x ? x : 7; }
VX_INLINE i64 divisor(i64 x) { return x == 0 || x == -1 ? 7 : x; }

VX_KERNEL(integers_32, BLOCK, Args) {
    u32 i = POSITION();
    if (i >= args.n) return;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    u32 c = vx_at<u32>(args.in[2])[i];
    i32 sa = (i32)a, sb = (i32)b, sc = (i32)c;
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUT(add, a + b);
    PUT(sub, a - b);
    PUT(mul, a * b);
    PUT(mul_high_unsigned, (u32)((u64)a * b >> 32));
    PUT(mul_high_signed, (u32)((i64)sa * sb >> 32));
    PUT(div_unsigned, a / divisor(b));
    PUT(div_signed, (u32)(sa / divisor(sb)));
    PUT(mod_unsigned, a % divisor(b));
    PUT(mod_signed, (u32)(sa % divisor(sb)));
    PUT(div_by_constant, a / 24);
    PUT(mod_by_constant_signed, (u32)(sa % 24));
    PUT(shift_left, a << (b & 31));
    PUT(shift_right, a >> (b & 31));
    PUT(shift_right_signed, (u32)(sa >> (b & 31)));
    PUT(rotate, __builtin_rotateleft32(a, b));
    PUT(funnel, (u32)(((u64)a << 32 | b) >> (c & 31)));
    PUT(and_, a & b);
    PUT(or_, a | b);
    PUT(xor_, a ^ b);
    PUT(and_not, a & ~b);
    PUT(not_, ~a);
    PUT(xnor, ~(a ^ b));
    PUT(or3, a | b | c);
    PUT(xor3, a ^ b ^ c);
    PUT(and_or, (a & b) | c);
    PUT(select_bits, (a & b) | (~a & c));
    PUT(majority, (a & b) | (b & c) | (a & c));
    PUT(shift_or, (a << 7) | b);
    PUT(shift_add, (a << 3) + b);
    PUT(add_shift, (a + b) << 5);
    PUT(add_shift_variable, (a + b) << (c & 31));
    PUT(xor_add, (a ^ b) + c);
    PUT(add3, a + b + c);
    PUT(mad_24, (a & 0xffffff) * (b & 0xffffff) + c);
    PUT(mad_24_signed, (u32)((i32)(a << 8) >> 8) * (u32)((i32)(b << 8) >> 8) + c);
    PUT(mul_24_high_signed, (u32)((i64)((i32)(a << 8) >> 8) * ((i32)(b << 8) >> 8) >> 32));
    PUT(mul_24_high, (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32));
    PUT(mul_24_signed, (u32)((i32)(a << 8) >> 8) * (u32)((i32)(b << 8) >> 8));
    PUT(mad, a * b + c);
    PUT(count_bits, (u32)__builtin_popcount(a) + c);
    PUT(leading_zeros, a ? (u32)__builtin_clz(a) : 32);
    PUT(trailing_zeros, b ? (u32)__builtin_ctz(b) : 32);
    PUT(leading_signs, (u32)__builtin_clrsb(sa));
    PUT(reverse_bits, __builtin_bitreverse32(a));
    PUT(reverse_bytes, __builtin_bswap32(a));
    PUT(permute_bytes, __builtin_amdgcn_perm(a, b, c & 0x0f0f0f0f));
    PUT(align_bytes, __builtin_amdgcn_alignbyte(a, b, c & 3));
    PUT(min_unsigned, vx_min(a, b));
    PUT(max_unsigned, vx_max(a, b));
    PUT(min_signed, (u32)vx_min(sa, sb));
    PUT(max_signed, (u32)vx_max(sa, sb));
    PUT(min3_unsigned, vx_min(vx_min(a, b), c));
    PUT(max3_signed, (u32)vx_max(vx_max(sa, sb), sc));
    PUT(max3_unsigned, vx_max(vx_max(a, b), c));
    PUT(median_signed, (u32)vx_max(vx_min(sa, sb), vx_min(vx_max(sa, sb), sc)));
    PUT(median_unsigned, vx_max(vx_min(a, b), vx_min(vx_max(a, b), c)));
    PUT(min_max_signed, (u32)vx_max(vx_min(sa, sb), sc));
    PUT(max_min_signed, (u32)vx_min(vx_max(sa, sb), sc));
    PUT(clamp, (u32)vx_max(-300, vx_min(sa, 70000)));
    PUT(add_saturating, __builtin_elementwise_add_sat(a, b));
    PUT(sub_saturating, __builtin_elementwise_sub_sat(a, b));
    PUT(add_saturating_signed, (u32)__builtin_elementwise_add_sat(sa, sb));
    PUT(sub_saturating_signed, (u32)__builtin_elementwise_sub_sat(sa, sb));
    PUT(absolute, (u32)(sa < 0 ? 0u - a : a));
    PUT(difference, a > b ? a - b : b - a);
    PUT(difference_add, (a > b ? a - b : b - a) + c);
    PUT(field, a >> 5 & 0x3ff);
    PUT(field_signed, (u32)((i32)(a << 9) >> 19));
    PUT(field_variable, a >> (b & 31) & ((1u << (c & 31)) - 1));
    PUT(sum_of_byte_differences, __builtin_amdgcn_sad_u8(a, b, c));
    PUT(less, a < b ? c : 11);
    PUT(less_equal_signed, sa <= sb ? c : 12);
    PUT(less_signed, sa < sb ? c : 17);
    PUT(greater, a > b ? c : 18);
    PUT(less_equal, a <= b ? c : 19);
    PUT(greater_equal_signed, sa >= sb ? c : 20);
    PUT(greater_signed, sa > sb ? 13 : c);
    PUT(greater_equal, a >= b ? 14 : c);
    PUT(equal, (a & 3) == (b & 3) ? c : 15);
    PUT(not_equal, (a & 3) != (b & 3) ? c : 16);
    PUT(both, a < b && sa > sc ? a : c);
    PUT(either, a < b || sa > sc ? a : c);
    PUT(uniform_divide, a / divisor(args.extra));
    PUT(uniform_multiply, a * args.extra + b);
    PUT(sign_byte, (u32)(i32)(i8)a);
    PUT(sign_short, (u32)(i32)(i16)a);
    PUT(high_short, a >> 16);
    PUT(second_byte, a >> 8 & 0xff);
}

VX_KERNEL(integers_64, BLOCK, Args) {
    u32 i = POSITION();
    if (i >= args.n) return;
    u64 a = vx_at<u64>(args.in[0])[i], b = vx_at<u64>(args.in[1])[i];
    u64 c = vx_at<u64>(args.in[2])[i];
    i64 sa = (i64)a, sb = (i64)b;
    VX_GLOBAL u64 *out = vx_at<u64>(args.out);
    u32 slot = 0;
    PUT(add, a + b);
    PUT(sub, a - b);
    PUT(add3, a + b + c);
    PUT(mul, a * b);
    PUT(mul_add_32, (u64)(u32)a * (u32)b + c);
    PUT(mul_add_32_signed, (u64)((i64)(i32)a * (i32)b) + c);
    PUT(mul_high_unsigned, (u64)((u128)a * b >> 64));
    PUT(mul_high_signed, (u64)((i128)sa * sb >> 64));
    PUT(div_unsigned, a / divisor(b));
    PUT(div_signed, (u64)(sa / divisor(sb)));
    PUT(mod_unsigned, a % divisor(b));
    PUT(mod_signed, (u64)(sa % divisor(sb)));
    PUT(div_by_constant, a / 1000003);
    PUT(shift_left, a << (b & 63));
    PUT(shift_right, a >> (b & 63));
    PUT(shift_right_signed, (u64)(sa >> (b & 63)));
    PUT(shift_add, (a << 3) + b);
    PUT(and_, a & b);
    PUT(or_, a | b);
    PUT(xor_, a ^ b);
    PUT(not_, ~a);
    PUT(count_bits, (u64)__builtin_popcountll(a));
    PUT(leading_zeros, a ? (u64)__builtin_clzll(a) : 64);
    PUT(trailing_zeros, a ? (u64)__builtin_ctzll(a) : 64);
    PUT(reverse_bits, __builtin_bitreverse64(a));
    PUT(reverse_bytes, __builtin_bswap64(a));
    PUT(min_unsigned, vx_min(a, b));
    PUT(max_unsigned, vx_max(a, b));
    PUT(min_signed, (u64)vx_min(sa, sb));
    PUT(max_signed, (u64)vx_max(sa, sb));
    PUT(add_saturating, __builtin_elementwise_add_sat(a, b));
    PUT(sub_saturating_signed, (u64)__builtin_elementwise_sub_sat(sa, sb));
    PUT(absolute, sa < 0 ? 0 - a : a);
    PUT(less, a < b ? c : 21);
    PUT(less_equal_signed, sa <= sb ? c : 22);
    PUT(greater, a > b ? c : 23);
    PUT(less_equal, a <= b ? c : 27);
    PUT(greater_equal, a >= b ? c : 28);
    PUT(greater_signed, sa > sb ? c : 29);
    PUT(less_signed, sa < sb ? c : 30);
    PUT(greater_equal_signed, sa >= sb ? c : 24);
    PUT(equal, (a & 7) == (b & 7) ? c : 25);
    PUT(not_equal, a != b ? c : 26);
}

VX_KERNEL(integers_128, BLOCK, Args) {
    u32 i = POSITION();
    if (i >= args.n) return;
    u64 low = vx_at<u64>(args.in[0])[i], high = vx_at<u64>(args.in[1])[i];
    u64 c = vx_at<u64>(args.in[2])[i];
    u128 a = (u128)high << 64 | low, b = (u128)(c >> (low & 63)) << 64 | (c ^ high);
    b = b ? b : 7;
    i128 sa = (i128)a, sb = (i128)b;
    sb = sb == -1 ? 7 : sb;
    VX_GLOBAL u64 *out = vx_at<u64>(args.out);
    u32 slot = 0;
#define PUT2(name, value)                                                                       \
    do {                                                                                        \
        u128 wide = (u128)(value);                                                              \
        PUT(name, (u64)wide);                                                                   \
        PUT(name, (u64)(wide >> 64));                                                           \
    } while (0)
    PUT2(add, a + b);
    PUT2(sub, a - b);
    PUT2(mul, a * b);
    PUT2(div_unsigned, a / b);
    PUT2(mod_unsigned, a % b);
    PUT2(div_signed, sa / sb);
    PUT2(mod_signed, sa % sb);
    PUT2(div_by_64, a / (c | 1));
    PUT2(shift_left, a << (c & 127));
    PUT2(shift_right, a >> (c & 127));
    PUT2(shift_right_signed, sa >> (c & 127));
    PUT2(less, a < b ? a : b);
    PUT2(less_signed, sa < sb ? sa : sb);
}

VX_KERNEL(integers_16, BLOCK, Args) {
    u32 i = POSITION();
    if (i >= args.n) return;
    u32 wa = vx_at<u32>(args.in[0])[i], wb = vx_at<u32>(args.in[1])[i];
    u32 wc = vx_at<u32>(args.in[2])[i];
    u16 a = (u16)wa, b = (u16)wb, c = (u16)wc;
    i16 sa = (i16)wa, sb = (i16)wb;
    u8 la = (u8)wa, lb = (u8)wb, lc = (u8)wc;
    u16x2 pa = __builtin_bit_cast(u16x2, wa), pb = __builtin_bit_cast(u16x2, wb);
    u16x2 pc = __builtin_bit_cast(u16x2, wc);
    i16x2 qa = __builtin_bit_cast(i16x2, wa), qb = __builtin_bit_cast(i16x2, wb);
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
#define PAIR(value) __builtin_bit_cast(u32, value)
    PUT(add, (u16)(a + b));
    PUT(sub, (u16)(a - b));
    PUT(mul, (u16)((u32)a * b));
    PUT(mad, (u16)((u32)a * b + c));
    PUT(shift_left, (u16)(a << (b & 15)));
    PUT(shift_right, (u16)(a >> (b & 15)));
    PUT(shift_right_signed, (u16)(sa >> (b & 15)));
    PUT(min_unsigned, vx_min(a, b));
    PUT(max_unsigned, vx_max(a, b));
    PUT(min_signed, (u16)vx_min(sa, sb));
    PUT(max_signed, (u16)vx_max(sa, sb));
    PUT(min3, vx_min(vx_min(a, b), c));
    PUT(add_saturating, __builtin_elementwise_add_sat(a, b));
    PUT(sub_saturating, __builtin_elementwise_sub_sat(a, b));
    PUT(add_saturating_signed, (u16)__builtin_elementwise_add_sat(sa, sb));
    PUT(sub_saturating_signed, (u16)__builtin_elementwise_sub_sat(sa, sb));
    PUT(absolute, (u16)(sa < 0 ? -sa : sa));
    PUT(less, a < b ? wc : 31);
    PUT(less_signed, sa < sb ? wc : 32);
    PUT(equal, (u16)(a & 3) == (u16)(b & 3) ? wc : 33);
    PUT(extend, (u32)(i32)(i16)(a + b));
    PUT(high_parts, (wa >> 16) + (wb >> 16));
    PUT(high_signed, (u32)(((i32)wa >> 16) - ((i32)wb >> 16)));
    PUT(pack, (wa & 0xffff) | wb << 16);
    PUT(pack_high, wa >> 16 | (wb & 0xffff0000));
    PUT(bytes_add, (u8)(la + lb));
    PUT(bytes_sub, (u8)(la - lb));
    PUT(bytes_mul, (u8)(la * lb));
    PUT(bytes_mad_wide, (u32)la * lb + lc);
    PUT(bytes_max, vx_max(la, lb));
    PUT(bytes_min_signed, (u8)vx_min((i8)la, (i8)lb));
    PUT(bytes_sum, (wa & 0xff) + (wa >> 8 & 0xff) + (wa >> 16 & 0xff) + (wa >> 24));
    PUT(bytes_difference, (u32)(la > lb ? la - lb : lb - la));
    PUT(pair_add, PAIR(pa + pb));
    PUT(pair_sub, PAIR(pa - pb));
    PUT(pair_mul, PAIR(pa * pb));
    PUT(pair_mad, PAIR(pa * pb + pc));
    PUT(pair_min, PAIR(__builtin_elementwise_min(pa, pb)));
    PUT(pair_max_signed, PAIR(__builtin_elementwise_max(qa, qb)));
    PUT(pair_shift_left, PAIR(pa << (pb & (u16)15)));
    PUT(pair_shift_right_signed, PAIR(qa >> (qb & (i16)15)));
    PUT(pair_add_saturating, PAIR(__builtin_elementwise_add_sat(pa, pb)));
    PUT(pair_sub_saturating_signed, PAIR(__builtin_elementwise_sub_sat(qa, qb)));
    PUT(pair_swapped, PAIR(pa + pb.yx));
    PUT(pair_broadcast, PAIR(pa * pb.xx));
}
