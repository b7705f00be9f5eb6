//! x to the power of y in `f32`, with the rounding of the GNU C library.
//!
//! ADM takes cube roots by `powf(x, 1/3)`, and its published values carry the library's rounding,
//! which is correct in all but one of 1700 cases. To agree in those too, this function makes the
//! same error by the same means: 2^(y * log2 x) in `f64`, both functions by a small table and a
//! polynomial of the same degree, fitted over the same interval.
//!
//! - log2: m in [179/256, 358/256) and sixteen values F; log2 m = log2 F + p(m / F - 1) with p of
//!   degree 5 and the least relative error over [-0.0287, 0.02926].
//! - 2^t: thirty-two values 2^(j/32) and a polynomial q of degree 3 with q(0) = 1 and the least
//!   relative error over [-1/64, 1/64].
//!
//! Degrees, steps and intervals are facts about that library. The coefficients are the solutions
//! of these two approximation problems, found in 250 bits by linear programming over Chebyshev
//! points of the interval; a test shows that they are solutions, by the alternation of the error.
//! The tables come from the compiler. Over all 2 139 095 039 positive `f32`, 31 results for
//! y = 1/3 differ from the library's, each by one unit in the last place.
//!
//! What must stay true: a change that makes this function more accurate makes scores differ.

use super::double_double::{nearest_integer, power_of_two};
use super::exp::POWERS_OF_64TH_ROOT;
use super::log::{INVERSE_LN_2, decompose, ln_of_ratio};
use super::pow::{Special, sign_or_special};

/// x^y of `f32`.
///
/// Error below 0.502 ULP for |y| <= 1, and below 0.502 + 0.0026 |log2 x^y| ULP for all y;
/// subnormal results are rounded once. Special values as for [`pow`](super::pow). The method is
/// written at the head of this file.
pub fn powf(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    match sign_or_special(x, y) {
        Err(Special(value)) => value as f32,
        Ok(sign) => (sign * exp2_approximation(y * log2_approximation(x.abs()))) as f32,
    }
}

/// log2 x with a relative error of up to 2^-32, for a positive finite x.
fn log2_approximation(x: f64) -> f64 {
    let (mut k, mut m) = decompose(x);
    if m >= 2.0 * LOG2_START {
        k += 1;
        m *= 0.5;
    }
    // Steps of 1/32 below 1, of 1/16 above.
    let position = if m < 1.0 {
        (m - LOG2_START) * 32.0
    } else {
        9.625 + (m - 1.0) * 16.0
    };
    let (inverse, log2_f) = LOG2_OF_CENTRES[position as usize];
    let r = m * inverse - 1.0;
    let p = &LOG2_COEFFICIENTS;
    let square = r * r;
    let low = (log2_f + f64::from(k)) + p[0] * r;
    let middle = low + square * (p[1] + p[2] * r);
    middle + square * square * (p[3] + p[4] * r)
}

/// 2^t with a relative error of up to 2^-33, infinity and zero beyond what an `f32` holds.
fn exp2_approximation(t: f64) -> f64 {
    if t > 129.0 {
        return f64::INFINITY;
    }
    if t < -151.0 {
        return 0.0;
    }
    let steps = nearest_integer(t * 32.0);
    let index = steps as i32;
    let r = t - steps / 32.0;
    let q = &EXP2_COEFFICIENTS;
    let polynomial = (1.0 + q[0] * r) + r * r * (q[1] + q[2] * r);
    let base = POWERS_OF_64TH_ROOT[(2 * (index & 31)) as usize].hi;
    base * polynomial * power_of_two(index >> 5)
}

/// Coefficients of r, r^2, ... r^5 for log2(1 + r).
pub(super) const LOG2_COEFFICIENTS: [f64; 5] = [
    f64::from_bits(0x3ff7_1547_652a_b5f8),
    f64::from_bits(0xbfe7_1547_48bd_d615),
    f64::from_bits(0x3fde_c70a_6e8e_0993),
    f64::from_bits(0xbfd7_1969_b49f_df3b),
    f64::from_bits(0x3fd2_760b_1f68_4058),
];

/// Coefficients of r, r^2, r^3 for 2^r.
pub(super) const EXP2_COEFFICIENTS: [f64; 3] = [
    f64::from_bits(0x3fe6_2e42_ff0c_52bb),
    f64::from_bits(0x3fce_bfce_50fa_ce2a),
    f64::from_bits(0x3fac_6af8_4bac_5c80),
];

/// The least m that [`log2_approximation`] looks up.
const LOG2_START: f64 = 179.0 / 256.0;

/// 1 / F and log2 F of the sixteen steps.
static LOG2_OF_CENTRES: [(f64, f64); 16] = {
    let mut table = [(1.0, 0.0); 16];
    let mut i = 0;
    while i < 16 {
        // F * 512 is in the middle of the step, with two exceptions: F = 1 where the step holds 1,
        // so that the relative error is small around the zero of log2; and the step above that,
        // where log2 m is so much smaller at the near end that F moves towards it, until the
        // relative errors of both ends are equal.
        let f = match i {
            0..9 => 366.0 + 16.0 * i as f64,
            9 => 512.0,
            10 => 539.3526,
            _ => 540.0 + 32.0 * (i as f64 - 10.0),
        };
        table[i] = (512.0 / f, ln_of_ratio(f, 512.0).times(INVERSE_LN_2).hi);
        i += 1;
    }
    table
};
