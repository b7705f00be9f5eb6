//! The exponential function, and the step from a logarithm of 106 bits back to a number.
//!
//! x = (64 e + j) * (ln 2) / 64 + r with integers e, 0 <= j < 64, and |r| <= (ln 2) / 128. Then
//! exp x = 2^e * 2^(j/64) * exp r (P. T. P. Tang, "Table-driven implementation of the exponential
//! function", ACM TOMS 15, 1989). 2^(j/64) comes from a table that the compiler computes from
//! the Taylor series; exp r is its Taylor series, where r itself has more than 53 bits and the
//! terms from the square on are small enough for one `f64`.
//!
//! What must stay true: the error before the one final rounding is below 2^-67 of the result.

use super::double_double::{DoubleDouble, fast_two_sum, nearest_integer, two_product, two_sum};
use super::log::{INVERSE_LN_2, LN_2};

/// e^x, rounded to the nearest `f64`, also where the result is subnormal.
///
/// Error below 0.5001 ULP. +inf from 709.79 on, +0 below -745.14; +inf gives +inf, -inf gives
/// +0, NaN gives NaN. The method is written at the head of this file.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    exp_rounded(DoubleDouble::new(x))
}

/// e^x of an `f32`, rounded to the nearest `f32`, also where the result is subnormal.
///
/// Computed as [`exp`] and rounded once: error below 0.5001 ULP. +inf from 88.73 on, +0 below
/// -103.98; special values as for [`exp`].
pub fn expf(x: f32) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    let x = f64::from(x);
    if x > 89.0 {
        f32::INFINITY
    } else if x < -104.0 {
        0.0
    } else {
        let (significand, exponent) = exp_parts(DoubleDouble::new(x));
        significand.times_power_of_two(exponent).narrowed()
    }
}

/// e^x as the nearest `f64`, for an x that is no NaN.
pub(super) fn exp_rounded(x: DoubleDouble) -> f64 {
    if x.hi > 710.0 {
        f64::INFINITY
    } else if x.hi < -746.0 {
        0.0
    } else {
        let (significand, exponent) = exp_parts(x);
        significand.scaled(exponent)
    }
}

/// A significand near [1, 2) and an exponent e with e^x = significand * 2^e, before rounding, for
/// |x| < 750.
pub(super) fn exp_parts(x: DoubleDouble) -> (DoubleDouble, i32) {
    let steps = nearest_integer(x.hi * STEPS_PER_UNIT);
    let index = steps as i32;

    // r and r_lo: both products but the last are exact, and so is the first difference.
    let difference = two_sum(x.hi - steps * STEP_HI, -(steps * STEP_MIDDLE));
    let r = difference.hi;
    let r_lo = difference.lo + (x.lo - steps * STEP_LO);

    // e^r - 1 = r + r_lo + square * series, to 2^-68 of e^r.
    let rounded = r + r_lo;
    let square = rounded * rounded;
    let series = 1.0 / 720.0 + rounded * (1.0 / 5040.0);
    let series = 1.0 / 24.0 + rounded * (1.0 / 120.0 + rounded * series);
    let series = 1.0 / 2.0 + rounded * (1.0 / 6.0 + rounded * series);
    let growth = fast_two_sum(r, r_lo + square * series);

    let base = POWERS_OF_64TH_ROOT[(index & 63) as usize];
    let product = two_product(base.hi, growth.hi);
    let sum = fast_two_sum(base.hi, product.hi);
    let low = sum.lo + (product.lo + (base.lo + (base.hi * growth.lo + base.lo * growth.hi)));
    (fast_two_sum(sum.hi, low), index >> 6)
}

/// 64 / ln 2.
const STEPS_PER_UNIT: f64 = 64.0 * INVERSE_LN_2.hi;
/// (ln 2) / 64 in three parts; the first two have 36 bits, so that their products with the number
/// of steps, which has 17, are exact.
const STEP_HI: f64 = leading_36_bits(LN_2.hi) / 64.0;
const STEP_MIDDLE: f64 = leading_36_bits(LN_2.hi - leading_36_bits(LN_2.hi) + LN_2.lo) / 64.0;
const STEP_LO: f64 = ((LN_2.hi / 64.0 - STEP_HI) - STEP_MIDDLE) + LN_2.lo / 64.0;

const fn leading_36_bits(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0x1_ffff)
}

/// 2^(j/64) for j from 0 to 63.
pub(super) static POWERS_OF_64TH_ROOT: [DoubleDouble; 64] = {
    let mut table = [DoubleDouble::new(1.0); 64];
    let mut j = 0;
    while j < 64 {
        table[j] = exp_series(LN_2.times(DoubleDouble::new(j as f64 / 64.0)));
        j += 1;
    }
    table
};

/// e^x for 0 <= x < ln 2 to about 2^-104 of it: the Taylor series, summed from its smallest term.
pub(super) const fn exp_series(x: DoubleDouble) -> DoubleDouble {
    let mut sum = DoubleDouble::new(1.0);
    let mut n = 30.0; // (ln 2)^31 / 31! is below 2^-128
    while n > 0.0 {
        sum = sum
            .times(x)
            .over(DoubleDouble::new(n))
            .plus(DoubleDouble::new(1.0));
        n -= 1.0;
    }
    sum
}
