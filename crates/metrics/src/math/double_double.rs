//! Numbers of about 106 bits as unevaluated sums of two `f64`, for the functions of this module.
//!
//! The error-free steps are Knuth's and Dekker's (T. J. Dekker, "A floating-point technique for
//! extending the available precision", Numer. Math. 18, 1971): the rounding error of one `+` or
//! `*` is itself an `f64`, and a few more operations yield it. No fused multiply-add is used, so
//! that hardware with and without one computes the same bits.
//!
//! What must stay true: the operations happen one by one in the order written (no contraction, no
//! reassociation); operands of products stay below 2^996, where Dekker's split cannot overflow;
//! every function is `const`, because the tables are computed by the compiler.

/// The value `hi + lo`; in normal form `|lo|` is at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DoubleDouble {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

/// `a + b` without error, for any order of magnitudes (Knuth's TwoSum).
pub(super) const fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let hi = a + b;
    let from_b = hi - a;
    let from_a = hi - from_b;
    DoubleDouble {
        hi,
        lo: (a - from_a) + (b - from_b),
    }
}

/// `a + b` without error where `a` is zero or `|a| >= |b|` (Dekker's FastTwoSum).
pub(super) const fn fast_two_sum(a: f64, b: f64) -> DoubleDouble {
    let hi = a + b;
    DoubleDouble {
        hi,
        lo: b - (hi - a),
    }
}

/// `a * b` without error, as long as nothing under- or overflows (Dekker's product).
pub(super) const fn two_product(a: f64, b: f64) -> DoubleDouble {
    let hi = a * b;
    let (a_hi, a_lo) = split(a);
    let (b_hi, b_lo) = split(b);
    let lo = ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    DoubleDouble { hi, lo }
}

/// Two halves of at most 26 bits each whose sum is `a` (Veltkamp's split).
const fn split(a: f64) -> (f64, f64) {
    let shifted = 134_217_729.0 * a; // 2^27 + 1
    let hi = shifted - (shifted - a);
    (hi, a - hi)
}

/// The integer nearest to `x`, half to even, for |x| below 2^51: at 1.5 * 2^52 the last place is 1.
pub(super) const fn nearest_integer(x: f64) -> f64 {
    (x + 6_755_399_441_055_744.0) - 6_755_399_441_055_744.0
}

impl DoubleDouble {
    pub(super) const fn new(value: f64) -> Self {
        Self { hi: value, lo: 0.0 }
    }

    /// Sum with a relative error of at most 3 * 2^-106.
    pub(super) const fn plus(self, other: Self) -> Self {
        let high = two_sum(self.hi, other.hi);
        let low = two_sum(self.lo, other.lo);
        let sum = fast_two_sum(high.hi, high.lo + low.hi);
        fast_two_sum(sum.hi, sum.lo + low.lo)
    }

    /// Product with a relative error of at most 7 * 2^-106.
    pub(super) const fn times(self, other: Self) -> Self {
        let product = two_product(self.hi, other.hi);
        fast_two_sum(
            product.hi,
            product.lo + (self.hi * other.lo + self.lo * other.hi),
        )
    }

    /// Quotient with a relative error of at most 15 * 2^-106: long division, three digits.
    pub(super) const fn over(self, other: Self) -> Self {
        let first = self.hi / other.hi;
        let rest = self.plus(other.times(Self::new(-first)));
        let second = rest.hi / other.hi;
        let rest = rest.plus(other.times(Self::new(-second)));
        let third = rest.hi / other.hi;
        fast_two_sum(first, second).plus(Self::new(third))
    }

    /// Exact unless it over- or underflows.
    pub(super) const fn times_power_of_two(self, exponent: i32) -> Self {
        let factor = power_of_two(exponent);
        Self {
            hi: self.hi * factor,
            lo: self.lo * factor,
        }
    }

    /// The nearest `f64` of `self * 2^exponent`, rounded once also where that is subnormal; for
    /// a value in normal form between 1/2 and 2, and an exponent of at least -1900.
    pub(super) const fn scaled(self, exponent: i32) -> f64 {
        let mut rounded = self.hi;
        if exponent < -1021 && self.hi < power_of_two(-1022 - exponent) {
            // The last place of the result is 2^-1074, whatever its magnitude. Between `anchor`
            // and twice that, the last place is the same one before scaling: adding rounds there.
            let anchor = power_of_two(-1022 - exponent);
            let sum = two_sum(anchor, self.hi);
            rounded = (sum.hi + (sum.lo + self.lo)) - anchor;
        }
        // Two steps, since 2^exponent need not be an `f64` where the result is one.
        let half = exponent / 2;
        rounded * power_of_two(half) * power_of_two(exponent - half)
    }

    /// The nearest `f32`.
    ///
    /// Rounding to `f64` first would round twice where `hi` happens to lie halfway between two
    /// `f32`. So `hi` is first moved to the odd one of the two `f64` around the value, which no
    /// rounding to `f32` mistakes for a halfway case. A `lo` below 2^-60 of `hi` is error of the
    /// evaluation, not value: then `hi` is exact, and halfway cases are real and go to even.
    pub(super) const fn narrowed(self) -> f32 {
        let Self { hi, lo } = fast_two_sum(self.hi, self.lo);
        let bits = hi.to_bits();
        let significant = lo.abs() > hi.abs() * power_of_two(-60);
        if !significant || bits & 1 == 1 {
            return hi as f32;
        }
        let away_from_zero = (lo > 0.0) == (hi > 0.0);
        let odd = if away_from_zero { bits + 1 } else { bits - 1 };
        f64::from_bits(odd) as f32
    }
}

/// 2^exponent for exponents of normal numbers, -1022 to 1023.
pub(super) const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
