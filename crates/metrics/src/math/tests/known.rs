//! Values from an independent evaluation in high precision, and the bits of one C library where
//! these are the definition.

use super::{CBRT, CBRTF, EXP, EXPF, Function, LN, LOG2, LOG2F, SingleFunction};
use crate::math::double_double::{DoubleDouble, power_of_two};
use crate::math::{log10, pow, powf};

/// (x, y, result) as bits. The true result is within 0.0002 ULP of the middle between two `f64`,
/// so that most errors of the evaluation show; it was rounded from 240 bits of MPFR.
const HARD_POWERS: [(u64, u64, u64); 6] = [
    (
        0x404e_d195_8020_515e,
        0x4016_8868_d0d2_ea48,
        0x4206_86e5_7e5e_1e6c,
    ),
    (
        0x4040_85b2_6685_acdf,
        0xc00d_89a2_a617_49ac,
        0x3ec4_a5b8_c11f_6f2e,
    ),
    (
        0x3fec_3479_3295_084e,
        0x4003_3333_3333_3333,
        0x3fe7_a2c8_df0b_6c2e,
    ),
    (
        0x3fe3_e8c2_9279_7893,
        0x4003_3333_3333_3333,
        0x3fd4_7d89_ffbd_d1b0,
    ),
    (
        0x3bae_92c7_7c21_6ef1,
        0xc028_9ca7_36bb_5a3d,
        0x7448_821c_668a_b99f,
    ),
    (
        0x17ee_ef91_c08f_9b0a,
        0x3ff9_cda9_c186_26b6,
        0x0000_0373_1c1b_aeb3,
    ),
];

/// (function, x, result) of the same kind.
const HARD_VALUES: [(Function, u64, u64); 18] = [
    (LN, 0x59df_a144_22db_7cf0, 0x4071_fa4f_a914_a885),
    (LN, 0x76b6_f4c5_b7fc_7a55, 0x4082_fc76_a26a_9187),
    (LN, 0x3ffc_4a0b_e06d_fe9c, 0x3fe2_3c90_18ec_c472),
    (LN, 0x3fe7_6729_2fab_8612, 0xbfd4_061b_ef8c_2a7b),
    (LN, 0x3ff1_9e3a_0573_a522, 0x3fb8_a982_9492_2da0),
    (LN, 0x3ff0_f23d_e6e6_7f16, 0x3fad_6b2b_6a9c_c64a),
    (LOG2, 0x566a_b2ee_241a_e9bd, 0x4076_7bd1_c284_a0b5),
    (LOG2, 0x0131_a900_6f34_22e3, 0xc08f_5edc_4f5e_0a9b),
    (LOG2, 0x3ff4_2d62_8226_98fa, 0x3fd5_6b12_3f48_46fe),
    (LOG2, 0x3fff_3b9d_f274_ebd4, 0x3fee_e13a_5be8_0855),
    (EXP, 0x407b_e683_50f5_68d0, 0x6830_53e5_3d02_45fc),
    (EXP, 0x406f_0705_a822_d09c, 0x5651_3517_21dc_8509),
    (EXP, 0xbf53_4dc1_89f6_73e6, 0x3fef_f65a_93b7_e919),
    (EXP, 0xc01c_b1ee_d6d6_9fe2, 0x3f49_1d4f_5791_6010),
    (EXP, 0xc086_72b8_cd40_3f22, 0x0000_0032_5b40_f29c),
    (EXP, 0xc086_6f25_01a6_0ebf, 0x0000_004e_c049_e11c),
    (CBRT, 0x7c1e_bc2b_494b_460a, 0x53ff_929a_1877_aef1),
    (CBRT, 0x0331_b683_589a_f15d, 0x2bb0_8d3e_934f_8531),
];

/// (function, x, result), the true result within 0.00002 ULP of the middle between two `f32`.
const HARD_SINGLE_VALUES: [(SingleFunction, u32, u32); 9] = [
    (LOG2F, 0x3b2d_9642, 0xc108_f7bf),
    (LOG2F, 0x37a3_68fe, 0xc17a_5cc3),
    (LOG2F, 0x55e9_fd90, 0x4233_7b31),
    (EXPF, 0x4232_2bd1, 0x5f99_7433),
    (EXPF, 0xc2a7_40f0, 0x0323_5e52),
    (EXPF, 0x41c2_a897, 0x5109_9438),
    (CBRTF, 0x6584_4961, 0x4c23_0ce9),
    (CBRTF, 0x6718_5b38, 0x4caa_e93a),
    (CBRTF, 0x03f3_08de, 0x2b9e_8002),
];

/// (x, log10 x) of the GNU C library 2.36 on x86-64, where the correctly rounded result is another.
const LIBRARY_LOG10: [(u64, u64); 8] = [
    (0x40b6_6744_fbec_fd55, 0x400e_1184_ab56_f3f8),
    (0x4065_f3d4_2a76_d8f5, 0x4001_f4e2_be82_a77e),
    (0x405f_2bf8_4cf5_361d, 0x4000_c43d_f292_06cc),
    (0x4078_1da4_2375_c0d4, 0x4004_b0fd_b406_2914),
    (0x3ff9_e68f_d96d_2dc5, 0x3fca_c6c0_267c_57f8),
    (0x4011_1a61_0755_96c7, 0x3fe4_3143_0217_3e96),
    (0x4075_ae73_512d_d0bf, 0x4004_5258_b3ae_0241),
    (0x40bd_285c_d6c6_e381, 0x400e_fbe3_9cf2_16d6),
];

/// (x, x^(1/3)) of the same library's powf, where the correctly rounded result is the one below.
const LIBRARY_ROOTS: [(u32, u32); 11] = [
    (0x3f11_62ab, 0x3f53_ffb8),
    (0x2e88_21dd, 0x39cf_66fe),
    (0x3545_cd29, 0x3c13_fc0c),
    (0x1d7f_42b6, 0x3421_1d4a),
    (0x3453_3b84, 0x3bbe_93ad),
    (0x6940_bd65, 0x4d68_e3d3),
    (0x63cc_d46f, 0x4b95_b791),
    (0x76b4_82b0, 0x51e3_db3a),
    // In the step above 1, where a centre in the middle would round otherwise.
    (0x0084_921c, 0x2a81_8175),
    (0x0104_54cd, 0x2aa3_1192),
    (0x0183_2bb5, 0x2acc_d9ea),
];

#[test]
fn hard_values_are_correctly_rounded() {
    for ((name, function), x, expected) in HARD_VALUES {
        let x = f64::from_bits(x);
        assert_eq!(function(x).to_bits(), expected, "{name}({x:e})");
    }
    for (x, y, expected) in HARD_POWERS {
        let (x, y) = (f64::from_bits(x), f64::from_bits(y));
        assert_eq!(pow(x, y).to_bits(), expected, "pow({x:e}, {y:e})");
    }
    for ((name, function), x, expected) in HARD_SINGLE_VALUES {
        let x = f32::from_bits(x);
        assert_eq!(function(x).to_bits(), expected, "{name}({x:e})");
    }
}

/// (x, high, low) of the result to 106 bits, from 300 bits of MPFR.
const LN_PARTS: [(f64, u64, u64); 8] = [
    (1e-310, 0xc086_4e69_394d_9508, 0xbd03_5918_fe61_c196),
    (0.7072, 0xbfd6_2c1a_1784_0101, 0x3c7c_a2ed_fb29_918c),
    (0.99, 0xbf84_9545_3e6f_d4bc, 0x3c20_04be_c099_ed61),
    (1.0039, 0x3f6f_e2fc_3cf4_b407, 0xbbed_26af_7658_9b4a),
    (1.0117, 0x3f87_d28f_eace_aae7, 0xbc2f_7a36_8889_3818),
    (1.4139, 0x3fd6_2aa0_ec4f_4482, 0x3c74_b037_5834_8320),
    (3.3e17, 0x4044_2b3f_4b02_b0a3, 0xbceb_3ae7_531d_c6a9),
    (1e300, 0x4085_9634_47f8_7fb5, 0x3d1a_bccc_0710_fcd4),
];
const EXP_PARTS: [(f64, u64, u64); 7] = [
    (-600.3, 0x09ce_e9dd_bdcc_6108, 0x0634_c4ed_1fd2_d300),
    (-1.7, 0x3fc7_622c_78a9_8a07, 0xbc59_0b64_3ea7_ca94),
    (-0.0054, 0x3fef_d3e1_e695_1beb, 0xbc73_587b_5d24_51a9),
    (0.00541, 0x3ff0_1638_2b35_5e17, 0xbc99_91ab_81b3_5330),
    (0.5, 0x3ffa_6129_8e1e_069c, 0xbc8b_4690_082a_4906),
    (88.7, 0x47ef_4705_bbff_ae5c, 0xc461_5587_b1bf_5d2c),
    (709.1, 0x7fe0_2af6_6c76_3005, 0xfc7c_2f1c_a82c_25ec),
];
const CBRT_PARTS: [(f64, u64, u64); 4] = [
    (1.0001, 0x3ff0_0022_f38c_dfb1, 0x3c99_4f86_c5e4_f161),
    (1.7, 0x3ff3_1881_d4da_7529, 0xbc8d_79c6_3dd1_4974),
    (3.7, 0x3ff8_bf33_eb6b_7486, 0x3c9d_2947_b5e4_bc2d),
    (7.9999, 0x3fff_fff7_4307_4ec9, 0x3c90_a92e_ea66_a24b),
];

#[test]
fn parts_are_as_exact_as_promised() {
    let near = |parts: DoubleDouble, (x, hi, lo): (f64, u64, u64), bits: i32| {
        let exact = DoubleDouble {
            hi: f64::from_bits(hi),
            lo: f64::from_bits(lo),
        };
        let error = (parts.hi - exact.hi) + (parts.lo - exact.lo);
        assert!(
            error.abs() <= exact.hi.abs() * power_of_two(-bits),
            "{x:e}: {parts:?} {exact:?}"
        );
    };
    for case in LN_PARTS {
        near(crate::math::log::ln_parts(case.0), case, 70);
    }
    for case in EXP_PARTS {
        let (significand, exponent) = crate::math::exp::exp_parts(DoubleDouble::new(case.0));
        near(significand.times_power_of_two(exponent), case, 68);
    }
    for case in CBRT_PARTS {
        near(crate::math::cbrt::cbrt_parts(case.0), case, 90);
    }
}

#[test]
fn log10_and_cube_roots_round_as_the_published_scores() {
    for (x, expected) in LIBRARY_LOG10 {
        let x = f64::from_bits(x);
        assert_eq!(log10(x).to_bits(), expected, "log10({x:e})");
    }
    for (x, expected) in LIBRARY_ROOTS {
        let x = f32::from_bits(x);
        assert_eq!(powf(x, 1.0 / 3.0).to_bits(), expected, "powf({x:e}, 1/3)");
    }
}
