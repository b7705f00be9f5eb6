//! x to the power of y, through the logarithm and the exponential in twice the precision.
//!
//! |x|^y = exp(y * ln|x|). An error in the product is an error of the result relative to it, and
//! the product is up to 745, so [`ln_parts`] carries 16 bits more than an `f64`.
//!
//! What must stay true: special values are those of C99 annex F.9.4.4; results that an `f64` holds
//! exactly come out exact. Results exactly halfway between two `f64` (small integer powers of x
//! with few bits, such as (2^27 + 1)^2) may go to either neighbour.

use super::double_double::{fast_two_sum, power_of_two, two_product};
use super::exp::exp_rounded;
use super::log::ln_parts;

/// x^y, rounded to the nearest `f64`, also where the result is subnormal.
///
/// Error below 0.504 ULP, and below 0.5002 ULP where the result is between 2^-32 and 2^32.
/// Special values are those of C99: x^0 and 1^y are 1 even for NaN; a negative x has a power only
/// for integer y, otherwise the result is NaN; zeros and infinities of x keep their sign for odd
/// y.
pub fn pow(x: f64, y: f64) -> f64 {
    let sign = match sign_or_special(x, y) {
        Err(Special(value)) => return value,
        Ok(sign) => sign,
    };
    let ln = ln_parts(x.abs());
    let product = two_product(y, ln.hi);
    sign * exp_rounded(fast_two_sum(product.hi, product.lo + y * ln.lo))
}

/// A power that is 0, 1, infinity or NaN.
pub(super) struct Special(pub(super) f64);

/// The sign of x^y, or x^y itself where it follows from the kind of numbers that x and y are.
pub(super) fn sign_or_special(x: f64, y: f64) -> Result<f64, Special> {
    if y == 0.0 || x == 1.0 {
        return Err(Special(1.0));
    }
    if x.is_nan() || y.is_nan() {
        return Err(Special(f64::NAN));
    }
    let magnitude = x.abs();
    // Beyond 2^64 the result is 0, 1 or infinity, as |ln x| is 0 or at least 2^-53.
    if y.abs() >= power_of_two(64) {
        return Err(Special(if magnitude == 1.0 {
            1.0
        } else if (magnitude > 1.0) == (y > 0.0) {
            f64::INFINITY
        } else {
            0.0
        }));
    }
    let parity = parity(y);
    let sign = if x.is_sign_negative() && parity == Parity::Odd {
        -1.0
    } else {
        1.0
    };
    if magnitude == 0.0 || magnitude == f64::INFINITY {
        let large = (magnitude > 0.0) == (y > 0.0);
        return Err(Special(sign * if large { f64::INFINITY } else { 0.0 }));
    }
    if x < 0.0 && parity == Parity::Fraction {
        return Err(Special(f64::NAN));
    }
    Ok(sign)
}

#[derive(Clone, Copy, PartialEq)]
enum Parity {
    Even,
    Odd,
    Fraction,
}

fn parity(y: f64) -> Parity {
    if y.abs() >= power_of_two(53) {
        return Parity::Even;
    }
    let integer = y as i64;
    if integer as f64 != y {
        Parity::Fraction
    } else if integer & 1 == 0 {
        Parity::Even
    } else {
        Parity::Odd
    }
}
