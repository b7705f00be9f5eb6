//! Values known from elsewhere, exact cases, special values, and agreement with the platform.

use proptest::prelude::*;

use super::double_double::{DoubleDouble, power_of_two};
use super::{cbrt, cbrtf, exp, expf, ln, log2, log2f, log10, pow, powf};

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

type Function = (&'static str, fn(f64) -> f64);
const LN: Function = ("ln", ln);
const LOG2: Function = ("log2", log2);
const EXP: Function = ("exp", exp);
const CBRT: Function = ("cbrt", cbrt);

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

type SingleFunction = (&'static str, fn(f32) -> f32);
const LOG2F: SingleFunction = ("log2f", log2f);
const EXPF: SingleFunction = ("expf", expf);
const CBRTF: SingleFunction = ("cbrtf", cbrtf);

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
const LIBRARY_ROOTS: [(u32, u32); 8] = [
    (0x3f11_62ab, 0x3f53_ffb8),
    (0x2e88_21dd, 0x39cf_66fe),
    (0x3545_cd29, 0x3c13_fc0c),
    (0x1d7f_42b6, 0x3421_1d4a),
    (0x3453_3b84, 0x3bbe_93ad),
    (0x6940_bd65, 0x4d68_e3d3),
    (0x63cc_d46f, 0x4b95_b791),
    (0x76b4_82b0, 0x51e3_db3a),
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

#[test]
fn special_values() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    for (function, x, expected) in [
        (LN, 0.0, -INF),
        (LN, -0.0, -INF),
        (LN, -1.0, NAN),
        (LN, -INF, NAN),
        (LN, INF, INF),
        (LN, NAN, NAN),
        (LN, 1.0, 0.0),
        (LN, f64::from_bits(1), -744.4400719213812),
        (LN, f64::MAX, 709.782712893384),
        (LOG2, 0.0, -INF),
        (LOG2, -0.0, -INF),
        (LOG2, -1e-300, NAN),
        (LOG2, INF, INF),
        (LOG2, NAN, NAN),
        (LOG2, f64::MAX, 1024.0),
        (("log10", log10), 0.0, -INF),
        (("log10", log10), -2.0, NAN),
        (("log10", log10), INF, INF),
        (("log10", log10), NAN, NAN),
        (("log10", log10), 1.0, 0.0),
        (("log10", log10), f64::from_bits(1), -323.3062153431158),
        (EXP, 0.0, 1.0),
        (EXP, -0.0, 1.0),
        (EXP, 1e-300, 1.0),
        (EXP, INF, INF),
        (EXP, -INF, 0.0),
        (EXP, NAN, NAN),
        (EXP, 709.782712893384, f64::from_bits(0x7fef_ffff_ffff_ff2a)),
        (EXP, 709.7827128933841, INF),
        (EXP, 1e300, INF),
        (
            EXP,
            -708.3964185322641,
            f64::from_bits(0x0010_0000_0000_007c),
        ),
        (
            EXP,
            -708.3964185322642,
            f64::from_bits(0x000f_ffff_ffff_fe7c),
        ),
        (EXP, -745.1332191019411, f64::from_bits(1)),
        (EXP, -745.1332191019412, 0.0),
        (EXP, -1e300, 0.0),
        (CBRT, 0.0, 0.0),
        (CBRT, -0.0, -0.0),
        (CBRT, INF, INF),
        (CBRT, -INF, -INF),
        (CBRT, NAN, NAN),
        (CBRT, -8.0, -2.0),
        (CBRT, f64::from_bits(1), 1.7031839360032603e-108),
    ] {
        let (name, function) = function;
        assert_eq!(
            function(x).to_bits(),
            expected.to_bits(),
            "{name}({x:e}) = {:e}",
            function(x)
        );
    }
    for (function, x, expected) in [
        (LOG2F, 0.0, f32::NEG_INFINITY),
        (LOG2F, -1.0, f32::NAN),
        (LOG2F, f32::INFINITY, f32::INFINITY),
        (LOG2F, f32::from_bits(1), -149.0),
        (EXPF, f32::NAN, f32::NAN),
        (EXPF, f32::NEG_INFINITY, 0.0),
        (EXPF, 88.72283, f32::from_bits(0x7f7f_ff84)),
        (EXPF, 88.72284, f32::INFINITY),
        (EXPF, -103.97207, f32::from_bits(1)),
        (EXPF, -103.97209, 0.0),
        (CBRTF, -0.0, -0.0),
        (CBRTF, f32::NEG_INFINITY, f32::NEG_INFINITY),
        (CBRTF, f32::NAN, f32::NAN),
        (CBRTF, -27.0, -3.0),
    ] {
        let (name, function) = function;
        assert_eq!(
            function(x).to_bits(),
            expected.to_bits(),
            "{name}({x:e}) = {:e}",
            function(x)
        );
    }
}

#[test]
fn special_powers() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const MAX: f64 = f64::MAX;
    for (x, y, expected) in [
        (NAN, 0.0, 1.0),
        (NAN, -0.0, 1.0),
        (1.0, NAN, 1.0),
        (1.0, INF, 1.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-1.0, INF, 1.0),
        (-1.0, -INF, 1.0),
        (-1.0, MAX, 1.0),
        (-1.0, 3.0, -1.0),
        (-1.0, 0.5, NAN),
        (0.5, INF, 0.0),
        (-0.5, -INF, INF),
        (2.0, INF, INF),
        (-2.0, -INF, 0.0),
        (0.0, 3.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 4.0, 0.0),
        (-0.0, 2.5, 0.0),
        (0.0, -3.0, INF),
        (-0.0, -3.0, -INF),
        (-0.0, -4.0, INF),
        (-0.0, -0.5, INF),
        (0.0, -INF, INF),
        (-0.0, INF, 0.0),
        (INF, 1e-300, INF),
        (INF, -1e-300, 0.0),
        (-INF, 3.0, -INF),
        (-INF, 2.0, INF),
        (-INF, 0.5, INF),
        (-INF, -3.0, -0.0),
        (-INF, -2.0, 0.0),
        (-8.0, 1.0 / 3.0, NAN),
        (-2.0, 3.0, -8.0),
        (-2.0, -2.0, 0.25),
        (2.0, 1024.0, INF),
        (-2.0, 1025.0, -INF),
        (2.0, -1076.0, 0.0),
        (-2.0, -1077.0, -0.0),
        (0.9, MAX, 0.0),
        (1.1, MAX, INF),
        (1.1, -MAX, 0.0),
        (3.0, 1e-300, 1.0),
    ] {
        assert_eq!(
            pow(x, y).to_bits(),
            expected.to_bits(),
            "pow({x:e}, {y:e}) = {:e}",
            pow(x, y)
        );
        // The same holds in single precision, where these arguments are no less special.
        if x.abs() != MAX && y.abs() != MAX && (y.abs() > 1e-40 || y == 0.0) {
            let (x, y, expected) = (x as f32, y as f32, expected as f32);
            let result = powf(x, y);
            assert_eq!(
                result.to_bits(),
                expected.to_bits(),
                "powf({x:e}, {y:e}) = {result:e}"
            );
        }
    }
}

#[test]
fn exact_results_come_out_exact() {
    for k in -1074..=1023 {
        let power = if k < -1022 {
            f64::from_bits(1 << (k + 1074))
        } else {
            power_of_two(k)
        };
        assert_eq!(log2(power), f64::from(k));
        assert_eq!(pow(2.0, f64::from(k)), power);
        assert_eq!(pow(0.5, f64::from(-k)), power);
    }
    for k in -307_i16..=308 {
        let power: f64 = format!("1e{k}").parse().unwrap();
        assert_eq!(log10(power), f64::from(k));
    }
    for k in -149_i16..=127 {
        let power = pow(2.0, f64::from(k)) as f32;
        assert_eq!(log2f(power), f32::from(k));
        assert_eq!(powf(2.0, f32::from(k)), power);
    }
    for n in 1..=208_063_u64 {
        assert_eq!(cbrt((n * n * n) as f64), n as f64);
    }
    for n in -255_i32..=255 {
        assert_eq!(cbrtf((n * n * n) as f32), n as f32);
        assert_eq!(powf(n as f32, 3.0), (n * n * n) as f32);
    }
    for (base, largest) in [(3_u64, 33), (5, 22), (7, 18), (10, 22), (13, 14)] {
        for exponent in 0..=largest {
            let exact = (0..exponent).fold(1.0, |product, _| product * base as f64);
            assert_eq!(pow(base as f64, f64::from(exponent)), exact);
            if base != 10 && exponent > 0 {
                assert_eq!(pow(exact, 1.0 / f64::from(exponent)).round(), base as f64);
            }
        }
    }
}

#[test]
fn powers_of_two_table() {
    // 2^(j/64), squared six times, is 2^j.
    for (j, entry) in super::exp::POWERS_OF_64TH_ROOT.iter().enumerate() {
        let power = (0..6).fold(*entry, |power, _| power.times(power));
        let error = power.plus(DoubleDouble::new(-power_of_two(j as i32)));
        assert!(
            error.hi.abs() <= power_of_two(j as i32 - 94),
            "{j}: {error:?}"
        );
    }
}

#[test]
fn logarithm_table() {
    // The exponential of an entry is the argument again; its series knows nothing of logarithms.
    for (i, entry) in super::log::LN_OF_128THS.iter().enumerate() {
        let argument = DoubleDouble::new((i + super::log::FIRST_128TH) as f64 / 128.0);
        let magnitude = DoubleDouble {
            hi: entry.hi.abs(),
            lo: entry.lo * entry.hi.signum(),
        };
        let power = super::exp::exp_series(magnitude);
        let back = if entry.hi < 0.0 {
            DoubleDouble::new(1.0).over(power)
        } else {
            power
        };
        let error = back.plus(DoubleDouble::new(-1.0).times(argument));
        assert!(error.hi.abs() <= power_of_two(-98), "{i}: {error:?}");
    }
}

#[test]
fn log10_constants() {
    use super::log::{INVERSE_LN_10, LN_2, LOG10_2_HI, LOG10_2_LO};
    let ln_10 = LN_2
        .times(DoubleDouble::new(3.0))
        .plus(super::log::ln_of_ratio(5.0, 4.0));
    assert_eq!(DoubleDouble::new(1.0).over(ln_10).hi, INVERSE_LN_10);
    let log10_2 = LN_2.over(ln_10);
    assert_eq!(f64::from_bits(log10_2.hi.to_bits() & !0x1fff), LOG10_2_HI);
    assert_eq!(log10_2.plus(DoubleDouble::new(-LOG10_2_HI)).hi, LOG10_2_LO);
}

#[test]
fn powf_polynomials_are_the_best_of_their_degree() {
    // A polynomial is the best exactly when its error takes its extreme value with alternating
    // sign once more often than it has coefficients (Chebyshev).
    let [a1, a2, a3, a4, a5] = super::powf::LOG2_COEFFICIENTS;
    let relative_error = |r: f64| {
        // 1 + r exact, so that the error is that of the polynomial alone.
        let r = (1.0 + r) - 1.0;
        r * (a1 + r * (a2 + r * (a3 + r * (a4 + r * a5)))) / log2(1.0 + r) - 1.0
    };
    let steps = (0..=20_000).map(|i| -0.0287 + (0.02926 + 0.0287) * f64::from(i) / 20_000.0);
    let extremes = extremes(steps.filter(|r| r.abs() > 1e-4).map(relative_error));
    assert_eq!(extremes.len(), 6);
    for (index, extreme) in extremes.iter().enumerate() {
        let sign = if index % 2 == 0 { -1.0 } else { 1.0 };
        let ratio = extreme * sign / extremes[0].abs();
        assert!((ratio - 1.0).abs() < 1e-3, "{extremes:?}");
    }
    assert!((extremes[0].abs() * power_of_two(33) - 1.828).abs() < 0.001);

    // All terms of q vanish at 0, so the alternation skips a sign there: - + (0) + -.
    let [b1, b2, b3] = super::powf::EXP2_COEFFICIENTS;
    let relative_error = |r: f64| (1.0 + r * (b1 + r * (b2 + r * b3))) / pow(2.0, r) - 1.0;
    let end = relative_error(1.0 / 64.0);
    let steps = |from: i32, to: i32| (from..=to).map(|i| relative_error(f64::from(i) / 64e4));
    let left = steps(-10_000, 0).fold(0.0, f64::max);
    let right = steps(0, 10_000).fold(0.0, f64::max);
    for extreme in [relative_error(-1.0 / 64.0), -left, -right] {
        assert!((extreme / end - 1.0).abs() < 1e-4, "{extreme:e} {end:e}");
    }
    assert!((-end * power_of_two(34) - 1.69).abs() < 0.001);
}

/// The largest magnitudes, with sign, between the changes of sign.
fn extremes(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut extremes: Vec<f64> = Vec::new();
    for value in values {
        match extremes.last_mut() {
            Some(last) if (*last > 0.0) == (value > 0.0) => {
                if value.abs() > last.abs() {
                    *last = value;
                }
            }
            _ => extremes.push(value),
        }
    }
    extremes
}

/// How many `f64` lie from `a` to `b` of the same sign.
fn distance(a: f64, b: f64) -> u64 {
    a.to_bits().abs_diff(b.to_bits())
}

#[test]
fn platform_is_within_one_unit() {
    let mut state = 1_u64;
    let mut random = || {
        // A linear congruential generator (Knuth, MMIX); its upper bits are random enough here.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 * power_of_two(-53)
    };
    let mut worst = [0; 10];
    for _ in 0..200_000 {
        let positive = f64::from_bits(((random() * 2046.0 + 1.0) * power_of_two(52)) as u64);
        let single = f32::from_bits(((random() * 254.0 + 1.0) * power_of_two(23)) as u32);
        let exponent = 1450.0 * random() - 743.0;
        let single_exponent = (190.0 * random() - 103.0) as f32;
        let power = 1400.0 * (random() - 0.5) / positive.ln();
        let single_power = (160.0 * (random() - 0.5)) as f32 / single.ln();
        let single_distance = |a: f32, b: f32| u64::from(a.to_bits().abs_diff(b.to_bits()));
        let distances = [
            distance(ln(positive), positive.ln()),
            distance(log2(positive), positive.log2()),
            distance(log10(positive), positive.log10()),
            distance(exp(exponent), exponent.exp()),
            distance(pow(positive, power), positive.powf(power)),
            distance(cbrt(positive), positive.cbrt()),
            single_distance(log2f(single), single.log2()),
            single_distance(expf(single_exponent), single_exponent.exp()),
            single_distance(powf(single, single_power), single.powf(single_power)),
            single_distance(cbrtf(single), single.cbrt()),
        ];
        for (worst, distance) in worst.iter_mut().zip(distances) {
            *worst = distance.max(*worst);
        }
        // In `f32`, correct rounding can be had from the `f64` functions.
        assert_eq!(log2f(single), log2(f64::from(single)) as f32);
        assert_eq!(
            expf(single_exponent),
            exp(f64::from(single_exponent)) as f32
        );
        assert_eq!(cbrtf(single), cbrt(f64::from(single)) as f32);
    }
    assert!(worst.iter().all(|distance| *distance <= 1), "{worst:?}");
}

fn positive() -> impl Strategy<Value = f64> {
    (1..f64::MAX.to_bits()).prop_map(f64::from_bits)
}

proptest! {
    #[test]
    fn neighbours_stay_in_order(x in positive(), t in -745.0..709.0, y in 0.01..50.0) {
        let next = x.next_up();
        prop_assert!(ln(x) <= ln(next));
        prop_assert!(log2(x) <= log2(next));
        prop_assert!(cbrt(x) <= cbrt(next));
        prop_assert!(pow(x, y) <= pow(next, y));
        prop_assert!(exp(t) <= exp(t.next_up()));
    }

    #[test]
    fn inverse_functions_lead_back(x in positive(), t in -700.0..700.0, y in 0.5..2.0) {
        let root = cbrt(x);
        prop_assert!((root * root * root / x - 1.0).abs() < 4.0 * f64::EPSILON || x < 1e-305);
        prop_assert!((ln(exp(t)) - t).abs() <= f64::EPSILON * t.abs().max(1.0));
        prop_assert!((log2(exp(y)) / ln(exp(y)) - std::f64::consts::LOG2_E).abs() < 1e-15);
        prop_assert!((pow(pow(x, 1.0 / 64.0), 64.0) / x - 1.0).abs() < 1e-13 || x < 1e-305);
    }

    #[test]
    fn powers_agree_with_arithmetic(x in positive(), small in 1e-100..1e100_f64) {
        prop_assert_eq!(pow(x, 1.0), x);
        prop_assert!(distance(pow(x, 0.5), x.sqrt()) <= 1);
        prop_assert!(distance(pow(small, -1.0), 1.0 / small) <= 1);
        prop_assert!(distance(pow(small, 2.0), small * small) <= 1);
        prop_assert_eq!(pow(-small, 3.0), -pow(small, 3.0));
        prop_assert_eq!(cbrt(-x), -cbrt(x));
        prop_assert_eq!(powf(small as f32, 1.0), small as f32);
    }
}
