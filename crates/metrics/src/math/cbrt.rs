//! Cube root.
//!
//! x = 2^(3q) * m with m in [1, 8). A third of the bits of m is a first guess within 3.2 %, two
//! steps of Halley's method (cubic convergence) bring it within 2^-46, and one step of Newton's
//! method with the cube in twice the precision within 2^-90, before the one final rounding.
//!
//! What must stay true: the cube root of a cube is exact; f(-x) = -f(x).

use super::double_double::{DoubleDouble, fast_two_sum, power_of_two, two_product};
use super::log::decompose;

/// Cube root of x, rounded to the nearest `f64`.
///
/// Error below 0.5001 ULP. Zeros and infinities are their own cube roots; NaN gives NaN.
pub fn cbrt(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x == 0.0 || x.is_infinite() {
        return x;
    }
    let root = cbrt_parts(x);
    root.hi + root.lo
}

/// Cube root of an `f32`, rounded to the nearest `f32`.
///
/// Computed as [`cbrt`] and rounded once: error below 0.5001 ULP. Special values as for [`cbrt`].
pub fn cbrtf(x: f32) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    if x == 0.0 || x.is_infinite() {
        return x;
    }
    cbrt_parts(f64::from(x)).narrowed()
}

/// The cube root before rounding, for a finite x that is not zero.
pub(super) fn cbrt_parts(x: f64) -> DoubleDouble {
    let (exponent, significand) = decompose(x.abs());
    let q = exponent.div_euclid(3);
    let m = significand * power_of_two(exponent - 3 * q);

    let mut root = f64::from_bits(m.to_bits() / 3 + FIRST_GUESS);
    let mut step = 0;
    while step < 2 {
        let cube = root * root * root;
        root *= (cube + 2.0 * m) / (2.0 * cube + m);
        step += 1;
    }

    let square = two_product(root, root);
    let cube = two_product(square.hi, root);
    let rest = (m - cube.hi) - (cube.lo + square.lo * root);
    let correction = rest / (3.0 * square.hi);

    let scale = if x < 0.0 {
        -power_of_two(q)
    } else {
        power_of_two(q)
    };
    fast_two_sum(scale * root, scale * correction)
}

/// Two thirds of the exponent bias, less 0.0337 to balance the error of taking the bits for a
/// logarithm: the guess is off by -3.16 % to +3.16 % over [1, 8).
const FIRST_GUESS: u64 = 0x2a9f_7600_0000_0000;
