// Instructions one by one, which the compiler seldom or never chooses for C++ alone.
#include "proof.h"

// An instruction with its operands in vector registers.
#define V1(name, T, a) ({ T r; __asm__(name " %0, %1" : "=v"(r) : "v"(a)); r; })
#define V2(name, T, a, b) ({ T r; __asm__(name " %0, %1, %2" : "=v"(r) : "v"(a), "v"(b)); r; })
#define V3(name, T, a, b, c)                                                                    \
    ({ T r; __asm__(name " %0, %1, %2, %3" : "=v"(r) : "v"(a), "v"(b), "v"(c)); r; })
// With its operands in scalar registers; the condition bit is mixed into the result.
#define MIX(result, condition) ((result) + (condition) * 0x9e3779b9u)
#define S1(name, T, a)                                                                          \
    ({ T r; u32 condition;                                                                      \
       __asm__("s_cmp_eq_u32 0, 1\n\t" name " %0, %2\n\ts_cselect_b32 %1, 1, 0"                 \
               : "=&s"(r), "=s"(condition) : "s"(a) : "scc");                                   \
       MIX(r, condition); })
#define S2(name, T, a, b)                                                                       \
    ({ T r; u32 condition;                                                                      \
       __asm__("s_cmp_eq_u32 0, 1\n\t" name " %0, %2, %3\n\ts_cselect_b32 %1, 1, 0"             \
               : "=&s"(r), "=s"(condition) : "s"(a), "s"(b) : "scc");                           \
       MIX(r, condition); })
// One that changes its first operand, after the condition bit was set.
#define CHANGE(name, T, a, operand)                                                             \
    ({ T r = a; u32 condition;                                                                  \
       __asm__("s_cmp_eq_u32 0, 0\n\t" name " %0, " operand "\n\ts_cselect_b32 %1, 1, 0"        \
               : "+s"(r), "=&s"(condition) : "s"(b) : "scc");                                   \
       MIX(r, condition); })
#define SCMP(name, a, b)                                                                        \
    ({ u32 r; __asm__("s_cmp_" name " %1, %2\n\ts_cselect_b32 %0, 1, 0"                         \
                      : "=s"(r) : "s"(a), "s"(b) : "scc"); r; })

#if WAVE == 64
#define MASK u64
#define MOVE "s_mov_b64 "
#define EXEC "exec"
#define VCC "vcc"
#else
#define MASK u32
#define MOVE "s_mov_b32 "
#define EXEC "exec_lo"
#define VCC "vcc_lo"
#endif
#if GENERATION == 9
#define TO_EXEC VCC ", "
#else
#define TO_EXEC
#endif
#define CMP(name, a, b)                                                                         \
    ({ u32 r; __asm__("v_cmp_" name " " VCC ", %1, %2\n\tv_cndmask_b32 %0, 0, 1, " VCC          \
                      : "=v"(r) : "v"(a), "v"(b) : "vcc"); r; })
// One that narrows the lanes that run, which are put back.
#define CMPX(name, a, b)                                                                        \
    ({ u32 r; MASK lanes;                                                                       \
       __asm__ volatile(MOVE "%1, " EXEC "\n\tv_mov_b32 %0, 0\n\t"                              \
                        "v_cmpx_" name " " TO_EXEC "%2, %3\n\tv_mov_b32 %0, 1\n\t"              \
                        MOVE EXEC ", %1"                                                        \
                        : "=&v"(r), "=&s"(lanes) : "v"(a), "v"(b) : "vcc"); r; })
// A bit for each condition.
#define CONDITIONS(OP, type, a, b, unequal)                                                     \
    (OP("lt_" type, a, b) | OP("eq_" type, a, b) << 1 | OP("le_" type, a, b) << 2 |             \
     OP("gt_" type, a, b) << 3 | OP(unequal "_" type, a, b) << 4 | OP("ge_" type, a, b) << 5)
#define UNORDERED(OP, type, a, b)                                                               \
    (OP("o_" type, a, b) | OP("u_" type, a, b) << 1 | OP("nge_" type, a, b) << 2 |              \
     OP("nlg_" type, a, b) << 3 | OP("ngt_" type, a, b) << 4 | OP("nle_" type, a, b) << 5 |     \
     OP("neq_" type, a, b) << 6 | OP("nlt_" type, a, b) << 7)

#if GENERATION == 12
#define MAX3F "v_max3_num_f32"
#define MIN3F "v_min3_num_f32"
#else
#define MAX3F "v_max3_f32"
#define MIN3F "v_min3_f32"
#endif
#if GENERATION >= 11
#define FLOOR "v_cvt_floor_i32_f32"
#define AND_NOT "s_and_not1_b"
#define OR_NOT "s_or_not1_b"
#define PACK_HL(a, b) S2("s_pack_hl_b32_b16", u32, a, b)
#define MIN_MAX(a, b, c) V3("v_minmax_u32", u32, a, b, c)
#define MAX_MIN(a, b, c) V3("v_maxmin_u32", u32, a, b, c)
#define MAX_MIN_SIGNED(a, b, c) V3("v_maxmin_i32", u32, a, b, c)
#else
#define FLOOR "v_cvt_flr_i32_f32"
#define AND_NOT "s_andn2_b"
#define OR_NOT "s_orn2_b"
#define PACK_HL(a, b) (a >> 16 | b << 16)
#define MIN_MAX(a, b, c) vx_max(vx_min(a, b), c)
#define MAX_MIN(a, b, c) vx_min(vx_max(a, b), c)
#define MAX_MIN_SIGNED(a, b, c) (u32) vx_min(vx_max((i32)a, (i32)b), (i32)c)
#endif

VX_KERNEL(vector_32, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    u32 c = vx_at<u32>(args.in[2])[i];
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUT(max3_unsigned, V3("v_max3_u32", u32, a, b, c));
    PUT(max3_signed, V3("v_max3_i32", u32, a, b, c));
    PUT(min3_unsigned, V3("v_min3_u32", u32, a, b, c));
    PUT(min3_signed, V3("v_min3_i32", u32, a, b, c));
    PUT(min_max, MIN_MAX(a, b, c));
    PUT(max_min, MAX_MIN(a, b, c));
    PUT(max_min_signed, MAX_MIN_SIGNED(a, b, c));
    PUT(add_shift, V3("v_add_lshl_u32", u32, a, b, c));
    PUT(xnor, V2("v_xnor_b32", u32, a, b));
    PUT(mask, V2("v_bfm_b32", u32, a, b));
    PUT(field, V3("v_bfe_u32", u32, a, b, c));
    PUT(field_signed, V3("v_bfe_i32", u32, a, b, c));
    PUT(difference, V3("v_sad_u32", u32, a, b, c));
    PUT(differences_16, V3("v_sad_u16", u32, a, b, c));
    PUT(pair_shift_right, V2("v_pk_lshrrev_b16", u32, a, b));
    PUT(pair_add_signed, V2("v_pk_add_i16", u32, a, b));
    PUT(pair_sub, V2("v_pk_sub_u16", u32, a, b));
    PUT(pair_max, V2("v_pk_max_u16", u32, a, b));
    PUT(pair_min_signed, V2("v_pk_min_i16", u32, a, b));
    PUT(pair_mad_signed, V3("v_pk_mad_i16", u32, a, b, c));
    PUT(compare_signed, CONDITIONS(CMP, "i32", a, b, "ne"));
    PUT(compare_unsigned, CONDITIONS(CMP, "u32", a, b, "ne"));
    PUT(narrow_signed, CONDITIONS(CMPX, "i32", a, b, "ne"));
    PUT(narrow_unsigned, CONDITIONS(CMPX, "u32", a, b, "ne"));
#if GENERATION == 9
    u32 kept;
    __asm__("v_accvgpr_write_b32 %0, %1" : "=a"(kept) : "v"(a));
    __asm__("v_accvgpr_read_b32 %0, %1" : "=v"(a) : "a"(kept));
#endif
    PUT(accumulation, a);
}

VX_KERNEL(vector_floats, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    float a = vx_at<float>(args.in[0])[i], b = vx_at<float>(args.in[1])[i];
    float c = vx_at<float>(args.in[2])[i];
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0;
    PUTF(max3, V3(MAX3F, float, a, b, c));
    PUTF(min3, V3(MIN3F, float, a, b, c));
    PUTF(subtract_from, V2("v_subrev_f32", float, a, b));
    PUTF(twice, V2("v_mul_f32", float, a, b) * 2.0f);
    PUT(floor, V1(FLOOR, u32, a));
    PUT(compare, CONDITIONS(CMP, "f32", a, b, "lg"));
    PUT(compare_unordered, UNORDERED(CMP, "f32", a, b));
    PUT(narrow, CONDITIONS(CMPX, "f32", a, b, "lg"));
    PUT(narrow_unordered, UNORDERED(CMPX, "f32", a, b));
#if __gfx90a__ || __gfx942__ || __gfx950__ || __gfx1250__
    typedef float f32x2 __attribute__((ext_vector_type(2)));
    f32x2 ab = {a, b}, ca = {c, a};
    f32x2 sum = V2("v_pk_add_f32", f32x2, ab, ca), product = V2("v_pk_mul_f32", f32x2, ab, ca);
    f32x2 fused = V3("v_pk_fma_f32", f32x2, ab, ca, sum);
#else
    float sum[2] = {a + c, b + a}, product[2] = {a * c, b * a};
    float fused[2] = {__builtin_elementwise_fma(a, c, sum[0]),
                      __builtin_elementwise_fma(b, a, sum[1])};
#endif
    PUTF(pair_sum_low, sum[0]);
    PUTF(pair_sum_high, sum[1]);
    PUTF(pair_product_low, product[0]);
    PUTF(pair_product_high, product[1]);
    PUTF(pair_fused_low, fused[0]);
    PUTF(pair_fused_high, fused[1]);
}

VX_KERNEL(vector_64, BLOCK, Args) {
    u32 i = GLOBAL_ID();
    if (i >= args.n) return;
    u64 a = vx_at<u64>(args.in[0])[i], b = vx_at<u64>(args.in[1])[i];
    VX_GLOBAL u64 *out = vx_at<u64>(args.out);
    u32 slot = 0;
    PUT(compare_signed, (u64)CONDITIONS(CMP, "i64", a, b, "ne"));
    PUT(compare_unsigned, (u64)CONDITIONS(CMP, "u64", a, b, "ne"));
    PUT(narrow_signed, (u64)CONDITIONS(CMPX, "i64", a, b, "ne"));
    PUT(narrow_unsigned, (u64)CONDITIONS(CMPX, "u64", a, b, "ne"));
    PUT(compare, (u64)CONDITIONS(CMP, "f64", a, b, "lg"));
    PUT(compare_unordered, (u64)UNORDERED(CMP, "f64", a, b));
    PUT(narrow, (u64)CONDITIONS(CMPX, "f64", a, b, "lg"));
    PUT(narrow_unordered, (u64)UNORDERED(CMPX, "f64", a, b));
    PUTD(root, V1("v_sqrt_f64", double, real(a)));
}

// Of a block's operands. Shapes of fields: offset in the lowest bits, width from bit 16 on.
VX_KERNEL(scalar_32, BLOCK, Args) {
    u32 i = vx_block_x();
    if (i >= args.n) return;
    u32 a = vx_at<u32>(args.in[0])[i], b = vx_at<u32>(args.in[1])[i];
    VX_GLOBAL u32 *out = vx_at<u32>(args.out);
    u32 slot = 0, shape = (b & 31) | (b >> 8 & 31) << 16;
    PUT(and_, S2("s_and_b32", u32, a, b));
    PUT(or_, S2("s_or_b32", u32, a, b));
    PUT(xor_, S2("s_xor_b32", u32, a, b));
    PUT(nand, S2("s_nand_b32", u32, a, b));
    PUT(nor, S2("s_nor_b32", u32, a, b));
    PUT(xnor, S2("s_xnor_b32", u32, a, b));
    PUT(and_not, S2(AND_NOT "32", u32, a, b));
    PUT(or_not, S2(OR_NOT "32", u32, a, b));
    PUT(not_, S1("s_not_b32", u32, a));
    PUT(shift_left, S2("s_lshl_b32", u32, a, b));
    PUT(shift_right, S2("s_lshr_b32", u32, a, b));
    PUT(shift_right_signed, S2("s_ashr_i32", u32, a, b));
    PUT(shift_1_add, S2("s_lshl1_add_u32", u32, a, b));
    PUT(shift_2_add, S2("s_lshl2_add_u32", u32, a, b));
    PUT(shift_3_add, S2("s_lshl3_add_u32", u32, a, b));
    PUT(shift_4_add, S2("s_lshl4_add_u32", u32, a, b));
    PUT(add, S2("s_add_u32", u32, a, b));
    PUT(sub, S2("s_sub_u32", u32, a, b));
    PUT(add_signed, S2("s_add_i32", u32, a, b));
    PUT(sub_signed, S2("s_sub_i32", u32, a, b));
    PUT(mul_high, S2("s_mul_hi_u32", u32, a, b));
    PUT(mul_high_signed, S2("s_mul_hi_i32", u32, a, b));
    PUT(absolute, S1("s_abs_i32", u32, a));
    PUT(difference, S2("s_absdiff_i32", u32, a, b));
    PUT(field, S2("s_bfe_u32", u32, a, shape));
    PUT(field_signed, S2("s_bfe_i32", u32, a, shape));
    PUT(mask, S2("s_bfm_b32", u32, a, b));
    PUT(zeros, S1("s_bcnt0_i32_b32", u32, a));
    PUT(ones, S1("s_bcnt1_i32_b32", u32, a));
    PUT(pack_low_low, S2("s_pack_ll_b32_b16", u32, a, b));
    PUT(pack_low_high, S2("s_pack_lh_b32_b16", u32, a, b));
    PUT(pack_high_low, PACK_HL(a, b));
    PUT(pack_high_high, S2("s_pack_hh_b32_b16", u32, a, b));
    PUT(move_if, CHANGE("s_cmov_b32", u32, a, "%2"));
    PUT(clear_bit, CHANGE("s_bitset0_b32", u32, a, "%2"));
    PUT(set_bit, CHANGE("s_bitset1_b32", u32, a, "%2"));
    PUT(add_constant, CHANGE("s_addk_i32", u32, a, "-0x1234"));
    PUT(mul_constant, CHANGE("s_mulk_i32", u32, a, "-0x1234"));
    PUT(compare_signed, CONDITIONS(SCMP, "i32", a, b, "lg"));
    PUT(compare_unsigned, CONDITIONS(SCMP, "u32", a, b, "lg"));
}

VX_KERNEL(scalar_64, BLOCK, Args) {
    u32 i = vx_block_x();
    if (i >= args.n) return;
    u64 a = vx_at<u64>(args.in[0])[i], b = vx_at<u64>(args.in[1])[i];
    VX_GLOBAL u64 *out = vx_at<u64>(args.out);
    u32 slot = 0, low = (u32)b, shape = (low & 63) | (low >> 8 & 63) << 16;
    PUT(and_, S2("s_and_b64", u64, a, b));
    PUT(or_, S2("s_or_b64", u64, a, b));
    PUT(xor_, S2("s_xor_b64", u64, a, b));
    PUT(nand, S2("s_nand_b64", u64, a, b));
    PUT(nor, S2("s_nor_b64", u64, a, b));
    PUT(xnor, S2("s_xnor_b64", u64, a, b));
    PUT(and_not, S2(AND_NOT "64", u64, a, b));
    PUT(or_not, S2(OR_NOT "64", u64, a, b));
    PUT(not_, S1("s_not_b64", u64, a));
    PUT(shift_left, S2("s_lshl_b64", u64, a, low));
    PUT(shift_right, S2("s_lshr_b64", u64, a, low));
    PUT(shift_right_signed, S2("s_ashr_i64", u64, a, low));
    PUT(field, S2("s_bfe_u64", u64, a, shape));
    PUT(field_signed, S2("s_bfe_i64", u64, a, shape));
    PUT(mask, S2("s_bfm_b64", u64, (u32)a, low));
    PUT(zeros, (u64)S1("s_bcnt0_i32_b64", u32, a));
    PUT(ones, (u64)S1("s_bcnt1_i32_b64", u32, a));
    PUT(reverse, S1("s_brev_b64", u64, a));
    PUT(move_if, CHANGE("s_cmov_b64", u64, a, "%2"));
    PUT(equal, (u64)(SCMP("eq_u64", a, b) | SCMP("lg_u64", a, b) << 1));
}
