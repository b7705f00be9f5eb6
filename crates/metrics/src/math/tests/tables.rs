//! Tables and coefficients, each checked by a way that did not make it.

use crate::math::double_double::{DoubleDouble, power_of_two};
use crate::math::{exp, log, log2, pow, powf};

#[test]
fn powers_of_two_table() {
    // 2^(j/64), squared six times, is 2^j.
    for (j, entry) in exp::POWERS_OF_64TH_ROOT.iter().enumerate() {
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
    for (i, entry) in log::LN_OF_128THS.iter().enumerate() {
        let argument = DoubleDouble::new((i + log::FIRST_128TH) as f64 / 128.0);
        let magnitude = DoubleDouble {
            hi: entry.hi.abs(),
            lo: entry.lo * entry.hi.signum(),
        };
        let power = exp::exp_series(magnitude);
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
    use crate::math::log::{INVERSE_LN_10, LN_2, LOG10_2_HI, LOG10_2_LO};
    let ln_10 = LN_2
        .times(DoubleDouble::new(3.0))
        .plus(log::ln_of_ratio(5.0, 4.0));
    assert_eq!(DoubleDouble::new(1.0).over(ln_10).hi, INVERSE_LN_10);
    let log10_2 = LN_2.over(ln_10);
    assert_eq!(f64::from_bits(log10_2.hi.to_bits() & !0x1fff), LOG10_2_HI);
    assert_eq!(log10_2.plus(DoubleDouble::new(-LOG10_2_HI)).hi, LOG10_2_LO);
}

#[test]
fn powf_polynomials_are_the_best_of_their_degree() {
    // A polynomial is the best exactly when its error takes its extreme value with alternating
    // sign once more often than it has coefficients (Chebyshev).
    let [a1, a2, a3, a4, a5] = powf::LOG2_COEFFICIENTS;
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
    let [b1, b2, b3] = powf::EXP2_COEFFICIENTS;
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
