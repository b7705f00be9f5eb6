//! The parts of divisions and roots: estimates, and the steps around their refinement.
//!
//! `v_div_scale`, `v_div_fmas` and `v_div_fixup` are as in the ISA documents: the first keeps
//! operands away from the ends of the range and tells by a bit a lane whether the second has to
//! scale back, the third puts in what the refinement cannot make.

use super::{Operands, Run};
use crate::operations::vector::{scale32, scale64};
use crate::wave::{Kind, Lane, VCC, Wave};

/// What an approximate instruction comes near to, and of which operands hardware makes just that.
pub(crate) type Estimate<T> = (fn(T) -> T, fn(T) -> bool);

/// Reciprocal, reciprocal root and root.
///
/// No refinement makes the nearest reciprocal of a number just below a power of two (P. Markstein,
/// "Computation of elementary functions on the IBM RISC System/6000 processor", 1990): of all pairs
/// of numbers the compiler's division fails for one of each of the divisors with the significands
/// 0x7fffff and 0x7ffffd, if their estimate is one unit off. Hardware whose divisions are right is
/// exact there.
pub(crate) const SINGLES: [Estimate<f32>; 3] = [
    (|a| 1.0 / a, |a| a.to_bits() & 0x7f_ffff >= 0x7f_fffd),
    (|a| (1.0 / f64::from(a).sqrt()) as f32, |_| false),
    (f32::sqrt, |_| false),
];

/// The same. Two refinements leave 2^-96, which is too much for the last few dozen below a power of two.
const DOUBLES: [Estimate<f64>; 3] = [
    (
        |a| 1.0 / a,
        |a| a.to_bits() | 63 == a.to_bits() | ((1 << 52) - 1),
    ),
    (|a| 1.0 / a.sqrt(), |_| false),
    (f64::sqrt, |_| false),
];

/// Instructions that are approximate on hardware, and their operand's type.
pub(crate) fn find_estimate<const W: usize>(name: &str) -> Option<(Run<W>, Kind)> {
    macro_rules! estimate {
        ($type:ty, $estimate:ident, $estimates:ident, $which:literal) => {{
            fn run<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
                let (exact, is_exact) = $estimates[$which];
                let a = <$type as Lane>::read(wave, operands.source(0));
                let results: [$type; W] = a.map(|a| match is_exact(a) {
                    true => exact(a),
                    false => wave.$estimate(exact(a)),
                });
                <$type as Lane>::write(wave, &operands.dest, &results);
            }
            (run::<W> as Run<W>, <$type as Lane>::KIND)
        }};
    }
    Some(match name {
        "v_rcp_f32" | "v_rcp_iflag_f32" => estimate!(f32, estimate32, SINGLES, 0),
        "v_rsq_f32" => estimate!(f32, estimate32, SINGLES, 1),
        "v_sqrt_f32" => estimate!(f32, estimate32, SINGLES, 2),
        "v_rcp_f64" => estimate!(f64, estimate64, DOUBLES, 0),
        "v_rsq_f64" => estimate!(f64, estimate64, DOUBLES, 1),
        "v_sqrt_f64" => estimate!(f64, estimate64, DOUBLES, 2),
        _ => return None,
    })
}

/// The steps of a division. Those that scale write a bit a lane to [`Operands::scalar`].
pub(crate) fn find<const W: usize>(name: &str) -> Option<(Run<W>, Kind)> {
    Some(match name {
        "v_div_scale_f32" => (scaled::<f32, W>, Kind::F32),
        "v_div_scale_f64" => (scaled::<f64, W>, Kind::F64),
        "v_div_fmas_f32" => (refined::<f32, W>, Kind::F32),
        "v_div_fmas_f64" => (refined::<f64, W>, Kind::F64),
        "v_div_fixup_f32" => (fixed::<f32, W>, Kind::F32),
        "v_div_fixup_f64" => (fixed::<f64, W>, Kind::F64),
        _ => return None,
    })
}

/// A type of numbers that is divided.
trait Number: Lane + PartialEq + PartialOrd {
    /// The power of two that scales.
    const SCALE: i32;
    /// The difference of exponents from which the quotient may overflow, or its refinement
    /// underflow.
    const BIG: i32;
    /// The biased exponent from which the reciprocal is subnormal.
    const HUGE: i32;
    /// The difference of exponents below which the quotient is subnormal.
    const SMALL: i32;
    /// The biased exponent up to which a numerator loses bits in the refinement.
    const TINY: i32;
    /// The biased exponent of 1.
    const ONE: i32;
    /// The difference of exponents below which the quotient is 0.
    const ZERO: i32;
    fn exponent(self) -> i32;
    fn times_two_to(self, power: i32) -> Self;
    fn fused(self, b: Self, c: Self) -> Self;
    /// `self` times `b` plus `c`, times a power of two, rounded once.
    fn fused_and_scaled(self, b: Self, c: Self, power: i32) -> Self;
    fn is_negative(self) -> bool;
    fn special(self) -> (bool, bool, bool);
    fn made(negative: bool, magnitude: Magnitude<Self>) -> Self;
}

/// A number without its sign.
enum Magnitude<T> {
    Zero,
    Infinite,
    Nan,
    Of(T),
}

macro_rules! number {
    ($type:ty, $mantissa:literal, $mask:literal, $scale:path, $fused:path, $constants:tt) => {
        impl Number for $type {
            const SCALE: i32 = $constants.0;
            const BIG: i32 = $constants.1;
            const HUGE: i32 = $constants.2;
            const SMALL: i32 = $constants.3;
            const TINY: i32 = $constants.4;
            const ONE: i32 = $constants.5;
            const ZERO: i32 = $constants.6;
            fn exponent(self) -> i32 {
                (self.to_bits() >> $mantissa & $mask) as i32
            }
            fn times_two_to(self, power: i32) -> Self {
                $scale(self, power)
            }
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn fused_and_scaled(self, b: Self, c: Self, power: i32) -> Self {
                $fused(self, b, c, power)
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn special(self) -> (bool, bool, bool) {
                (self == 0.0, self.is_infinite(), self.is_nan())
            }
            fn made(negative: bool, magnitude: Magnitude<Self>) -> Self {
                let magnitude = match magnitude {
                    Magnitude::Zero => 0.0,
                    Magnitude::Infinite => Self::INFINITY,
                    Magnitude::Nan => return Self::NAN,
                    Magnitude::Of(value) => value.abs(),
                };
                if negative { -magnitude } else { magnitude }
            }
        }
    };
}
number!(
    f32,
    23,
    0xff,
    scale32,
    fused32,
    (64, 96, 253, -124, 23, 127, -150)
);
number!(
    f64,
    52,
    0x7ff,
    scale64,
    fused64,
    (128, 768, 2045, -1020, 53, 1023, -1075)
);

fn fused32(a: f32, b: f32, c: f32, power: i32) -> f32 {
    // The product is exact in f64. The sum is rounded to odd there, of which the one rounding to
    // f32 makes what it would make of the exact sum.
    let (sum, rest) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    let odd = match rest != 0.0 && sum.is_finite() && sum.to_bits() & 1 == 0 {
        true if (rest > 0.0) == (sum > 0.0) => f64::from_bits(sum.to_bits() + 1),
        true => f64::from_bits(sum.to_bits() - 1),
        false => sum,
    };
    scale64(odd, power) as f32
}

fn fused64(a: f64, b: f64, c: f64, power: i32) -> f64 {
    let sum = a.mul_add(b, c);
    let scaled = scale64(sum, power);
    if !sum.is_finite() || scaled.abs() > f64::MIN_POSITIVE {
        return scaled;
    }
    // A subnormal result, or what was rounded up from one, was rounded twice, which is wrong where the first rounding made a tie.
    let left = sum - scale64(scaled, -power);
    let tie = scale64(1.0, -1075 - power);
    if left.abs() != tie {
        return scaled;
    }
    let product = a * b;
    let rest = sign_of_sum([product, a.mul_add(b, -product), c, -sum]);
    let bits = scaled.to_bits();
    match (rest == 0.0, (rest > 0.0) == (left > 0.0)) {
        (true, _) => scaled,
        // The exact sum is farther from 0 along `left` than the tie, or nearer.
        (_, true) if (left > 0.0) == (sum > 0.0) => f64::from_bits(bits + 1),
        (_, true) => f64::from_bits(bits - 1),
        (_, false) => scaled,
    }
}

/// The sum rounded, and what is missing.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// A number with the sign of the exact sum (Shewchuk's expansions).
fn sign_of_sum(terms: [f64; 4]) -> f64 {
    let mut parts = [0.0; 4];
    for (count, term) in terms.into_iter().enumerate() {
        let mut sum = term;
        for part in &mut parts[..count] {
            (sum, *part) = two_sum(sum, *part);
        }
        parts[count] = sum;
    }
    parts.into_iter().rfind(|part| *part != 0.0).unwrap_or(0.0)
}

/// The first operand, which is the second (the denominator) or the third (the numerator), away
/// from the ends of the range.
fn scaled<T: Number, const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let [a, denominator, numerator] = three::<T, W>(wave, operands);
    let both: [(T, bool); W] = std::array::from_fn(|lane| {
        let (a, b, c) = (a[lane], denominator[lane], numerator[lane]);
        let (up, down) = (a.times_two_to(T::SCALE), a.times_two_to(-T::SCALE));
        let apart = c.exponent() - b.exponent();
        if b.special().0 || c.special().0 {
            return (T::made(false, Magnitude::Nan), false);
        }
        if apart >= T::BIG {
            // Near overflow: the denominator alone grows.
            return (if a == b { up } else { a }, true);
        }
        if b.exponent() == 0 {
            return (up, false);
        }
        match (b.exponent() >= T::HUGE, apart < T::SMALL) {
            (true, true) => (if a == b { down } else { a }, true),
            (true, false) => (down, false),
            (false, true) => (if a == c { up } else { a }, true),
            (false, false) if c.exponent() <= T::TINY => (up, false),
            (false, false) => (a, false),
        }
    });
    let bits = wave.bits(|lane| both[lane].1);
    T::write(wave, &operands.dest, &both.map(|(value, _)| value));
    wave.set_lane_mask(operands.scalar, bits);
}

/// The last step of the refinement, and back to the range of the quotient where VCC says so.
fn refined<T: Number, const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let [a, b, c] = three::<T, W>(wave, operands);
    let scales = wave.lane_mask(VCC);
    let results = std::array::from_fn(|lane| {
        if scales >> lane & 1 == 0 {
            return a[lane].fused(b[lane], c[lane]);
        }
        let power = if c[lane].exponent() > T::ONE {
            T::SCALE
        } else {
            -T::SCALE
        };
        a[lane].fused_and_scaled(b[lane], c[lane], power)
    });
    T::write(wave, &operands.dest, &results);
}

/// The quotient with its sign, and what no refinement makes: 0, infinity, NaN.
fn fixed<T: Number, const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let [quotient, denominator, numerator] = three::<T, W>(wave, operands);
    let results = std::array::from_fn(|lane| {
        let (q, b, c) = (quotient[lane], denominator[lane], numerator[lane]);
        let ((b_zero, b_infinite, b_nan), (c_zero, c_infinite, c_nan)) = (b.special(), c.special());
        let negative = b.is_negative() != c.is_negative();
        let magnitude = if b_nan || c_nan || b_zero && c_zero || b_infinite && c_infinite {
            Magnitude::Nan
        } else if b_zero || c_infinite {
            Magnitude::Infinite
        } else if b_infinite || c_zero || c.exponent() - b.exponent() < T::ZERO {
            Magnitude::Zero
        } else if q.special().2 {
            Magnitude::Infinite
        } else {
            Magnitude::Of(q)
        };
        T::made(negative, magnitude)
    });
    T::write(wave, &operands.dest, &results);
}

fn three<T: Lane, const W: usize>(wave: &Wave<W>, operands: &Operands) -> [[T; W]; 3] {
    std::array::from_fn(|at| T::read(wave, operands.source(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scaled_sum_is_rounded_once() {
        // 2^53 + 1 is a tie of the sum, and what is left of it decides a tie of the result.
        let (a, c) = (2f64.powi(-60), 1.0 + 2f64.powi(-52));
        let power = -1074 + 51;
        assert_eq!(scale64(a.mul_add(1.0, c), power).to_bits() & 3, 0);
        assert_eq!(fused64(a, 1.0, c, power).to_bits(), (1 << 51) + 1);
        assert_eq!(fused64(-a, 1.0, c, power).to_bits(), 1 << 51);
        assert_eq!(
            fused64(-a, 1.0, -c, power).to_bits() & !(1 << 63),
            (1 << 51) + 1
        );
        assert_eq!(
            fused64(0.0, 1.0, 1.0 + 2f64.powi(-51) + 2f64.powi(-52), power).to_bits(),
            (1 << 51) + 2
        );
        assert_eq!(
            fused64(-a, 1.0, 1.0 + 2f64.powi(-51) + 2f64.powi(-52), power).to_bits(),
            (1 << 51) + 1
        );
        // Just below the tie between the largest subnormal and the least normal number.
        let below = 1.0 - 2f64.powi(-53);
        let least = 2f64.powi(-1022);
        assert_eq!(fused64(-a * a, 1.0, below, -1022), least.next_down());
        assert_eq!(fused64(a * a, 1.0, below, -1022), least);
        assert_eq!(fused64(a, 1.0, 0.5, -1074), f64::from_bits(1));
        assert_eq!(fused64(-a, 1.0, 0.5, -1074), 0.0);
        assert_eq!(
            fused32(2f32.powi(-30), 1.0, 1.0 + 2f32.powi(-23), -127 - 22),
            f32::from_bits(1 << 22 >> 22)
        );
    }

    #[test]
    fn exact_sums_have_their_sign() {
        assert_eq!(
            sign_of_sum([1.0, 2f64.powi(-80), -1.0, 0.0]),
            2f64.powi(-80)
        );
        assert!(sign_of_sum([1e300, -1.0, -1e300, 0.5]) < 0.0);
        assert_eq!(sign_of_sum([3.0, -1.0, -1.0, -1.0]), 0.0);
    }
}
