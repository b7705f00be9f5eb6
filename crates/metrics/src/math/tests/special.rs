//! NaN, infinities, zeros, the ends of the ranges, and results that are exact.

use super::{CBRT, CBRTF, EXP, EXPF, LN, LOG2, LOG2F};
use crate::math::double_double::{DoubleDouble, power_of_two};
use crate::math::{cbrt, cbrtf, log2, log2f, log10, pow, powf};

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
fn halfway_cases_are_decided_by_the_low_part() {
    let half = 1.0 + power_of_two(-24); // between the f32 1 and 1 + 2^-23
    let odd_half = half + power_of_two(-23);
    let up = 1.0 + f32::EPSILON;
    let (tiny, noise) = (power_of_two(-55), power_of_two(-61));
    for (hi, lo, expected) in [
        (half, tiny, up),
        (half, -tiny, 1.0),
        (half, noise, 1.0),
        (half, 0.0, 1.0),
        (odd_half, tiny, 1.0 + 2.0 * f32::EPSILON),
        (odd_half, -tiny, up),
        (odd_half, -noise, 1.0 + 2.0 * f32::EPSILON),
        (-half, -tiny, -up),
        (-half, tiny, -1.0),
    ] {
        assert_eq!(
            DoubleDouble { hi, lo }.narrowed(),
            expected,
            "{hi:e} {lo:e}"
        );
    }
    // The same below the normal range, where the last place of an f32 is 2^-149.
    for (lo, expected) in [(tiny, 1.0 + power_of_two(-22)), (-tiny, 1.0), (0.0, 1.0)] {
        let subnormal = DoubleDouble {
            hi: 1.0 + power_of_two(-23),
            lo,
        }
        .times_power_of_two(-127);
        assert_eq!(
            f64::from(subnormal.narrowed()),
            expected * power_of_two(-127)
        );
    }

    // 1/2, 3/2 and 5/2 times the least positive f64.
    let unit = f64::from_bits(1);
    let tiny = power_of_two(-53);
    for (hi, lo, exponent, expected) in [
        (0.5, 0.0, -1074, 0.0),
        (1.5, 0.0, -1074, 2.0 * unit),
        (1.5, tiny, -1074, 2.0 * unit),
        (1.5, -tiny, -1074, unit),
        (1.25, 0.0, -1073, 2.0 * unit),
        (1.25, tiny, -1073, 3.0 * unit),
        (1.25, -tiny, -1073, 2.0 * unit),
    ] {
        assert_eq!(
            DoubleDouble { hi, lo }.scaled(exponent),
            expected,
            "{hi} {lo:e}"
        );
    }
    // Halfway between the largest subnormal and the least normal number.
    let below_two = 2.0 - f64::EPSILON;
    let largest_subnormal = f64::MIN_POSITIVE - unit;
    assert_eq!(
        DoubleDouble {
            hi: below_two,
            lo: -tiny
        }
        .scaled(-1023),
        largest_subnormal
    );
    assert_eq!(
        DoubleDouble {
            hi: below_two,
            lo: 0.0
        }
        .scaled(-1023),
        f64::MIN_POSITIVE
    );
}
