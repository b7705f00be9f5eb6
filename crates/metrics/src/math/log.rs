//! Natural, binary and decimal logarithm.
//!
//! x = 2^k * m with m in [1/sqrt 2, sqrt 2); F is m rounded to a multiple of 1/128. Then
//! ln x = k ln 2 + ln F + 2 atanh(s), s = (m - F) / (m + F), |s| < 2^-8.4 (P. T. P. Tang,
//! "Table-driven implementation of the logarithm function", ACM TOMS 16, 1990). ln F comes from
//! a table of 91 entries that the compiler computes from 2 atanh((F - 1) / (F + 1)); atanh is
//! its Taylor series, whose first term alone needs more than 53 bits. Where x is near 1, k and
//! ln F are zero, so the relative error stays small down to the last place beside 1.
//!
//! What must stay true: the error before the one final rounding is below 2^-69 of the result,
//! because [`pow`](super::pow) multiplies it by up to 745; `log10` is *not* a logarithm rounded
//! once but the written sequence of [`log10`], because reports are compared by their bits.

use super::double_double::{DoubleDouble, fast_two_sum, power_of_two, two_product, two_sum};

/// ln x, rounded to the nearest `f64`.
///
/// Error below 0.5001 ULP. Zero of either sign gives -inf, +inf gives +inf, negative numbers and
/// NaN give NaN. The method is written at the head of this file.
pub fn ln(x: f64) -> f64 {
    if let Some(special) = special(x) {
        return special;
    }
    let sum = ln_parts(x);
    sum.hi + sum.lo
}

/// log2 x, rounded to the nearest `f64`; exact for powers of two.
///
/// Error below 0.5001 ULP. Special values as for [`ln`]. It is k + (ln m) / ln 2 with the parts
/// of [`ln`].
pub fn log2(x: f64) -> f64 {
    if let Some(special) = special(x) {
        return special;
    }
    let sum = log2_parts(x);
    sum.hi + sum.lo
}

/// log2 x of an `f32`, rounded to the nearest `f32`; exact for powers of two.
///
/// Computed as [`log2`] and rounded once: error below 0.5001 ULP. Special values as for [`ln`].
pub fn log2f(x: f32) -> f32 {
    let x = f64::from(x);
    match special(x) {
        Some(special) => special as f32,
        None => log2_parts(x).narrowed(),
    }
}

/// log10 x, as the sum that fdlibm and the GNU C library 2.36 define, over our [`ln`].
///
/// With x = 2^k * m: y = k and m in [1, 2) where x >= 1; y = k + 1 and m in [1/2, 1) below. The
/// result is (y * lo + ln(m) / ln 10) + y * hi, with hi + lo = log10 2 and hi so short that
/// y * hi is exact, each operation rounded to `f64` in this order.
///
/// Published PSNR values are printed from this sequence, so it is the definition here; a correctly
/// rounded log10 differs from it in 1 to 4 of 100 results. Error below 2 ULP, exact for powers of
/// ten; special values as for [`ln`].
pub fn log10(x: f64) -> f64 {
    if let Some(special) = special(x) {
        return special;
    }
    let (k, significand) = decompose(x);
    let below_one = k < 0;
    let (y, m) = if below_one {
        (k + 1, 0.5 * significand)
    } else {
        (k, significand)
    };
    let y = f64::from(y);
    let z = y * LOG10_2_LO + INVERSE_LN_10 * ln(m);
    z + y * LOG10_2_HI
}

/// 1 / ln 10.
pub(super) const INVERSE_LN_10: f64 = f64::from_bits(0x3fdb_cb7b_1526_e50e);
/// log10 2, its leading 40 bits.
pub(super) const LOG10_2_HI: f64 = f64::from_bits(0x3fd3_4413_509f_6000);
/// log10 2 minus its leading 40 bits.
pub(super) const LOG10_2_LO: f64 = f64::from_bits(0x3d59_fef3_11f1_2b36);

/// The answer for NaN, negative numbers, zeros and +inf.
fn special(x: f64) -> Option<f64> {
    if x.is_nan() || x < 0.0 {
        Some(f64::NAN)
    } else if x == 0.0 {
        Some(f64::NEG_INFINITY)
    } else if x == f64::INFINITY {
        Some(f64::INFINITY)
    } else {
        None
    }
}

/// ln x before rounding, for a positive finite x.
pub(super) fn ln_parts(x: f64) -> DoubleDouble {
    let (k, m) = centred(x);
    let ln_m = ln_near_one(m);
    let k = f64::from(k);
    let sum = two_sum(k * LN_2_HI, ln_m.hi);
    fast_two_sum(sum.hi, sum.lo + (k * LN_2_LO + ln_m.lo))
}

/// log2 x before rounding, for a positive finite x.
fn log2_parts(x: f64) -> DoubleDouble {
    let (k, m) = centred(x);
    let log2_m = ln_near_one(m).times(INVERSE_LN_2);
    let sum = two_sum(f64::from(k), log2_m.hi);
    fast_two_sum(sum.hi, sum.lo + log2_m.lo)
}

/// ln m for m in [1/sqrt 2, sqrt 2).
fn ln_near_one(m: f64) -> DoubleDouble {
    let nearest = (m * 128.0 + 0.5) as usize;
    let f = nearest as f64 / 128.0;

    // s = (m - F) / (m + F) in two parts; m - F is exact.
    let difference = m - f;
    let sum = two_sum(m, f);
    let s = difference / sum.hi;
    let product = two_product(s, sum.hi);
    let s_lo = ((difference - product.hi) - product.lo - s * sum.lo) / sum.hi;

    // 2 atanh(s + s_lo) = 2 s + tail, to 2^-70 of it.
    let z = s * s;
    let series = 2.0 / 3.0 + z * (2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0)));
    let tail = s * z * series + 2.0 * s_lo * (1.0 + z);

    let ln_f = LN_OF_128THS[nearest - FIRST_128TH];
    let leading = fast_two_sum(ln_f.hi, 2.0 * s);
    fast_two_sum(leading.hi, leading.lo + (ln_f.lo + tail))
}

/// k and m with x = 2^k * m and m in [1/sqrt 2, sqrt 2), for a positive finite x.
fn centred(x: f64) -> (i32, f64) {
    let (k, m) = decompose(x);
    if m < std::f64::consts::SQRT_2 {
        (k, m)
    } else {
        (k + 1, 0.5 * m)
    }
}

/// k and m with x = 2^k * m and m in [1, 2), for a positive finite x.
pub(super) fn decompose(x: f64) -> (i32, f64) {
    let (normal, shift) = if x < f64::MIN_POSITIVE {
        (x * power_of_two(54), 54)
    } else {
        (x, 0)
    };
    let bits = normal.to_bits();
    let k = (bits >> 52) as i32 - 1023 - shift;
    (
        k,
        f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000),
    )
}

/// ln 2.
pub(super) const LN_2: DoubleDouble = ln_of_ratio(2.0, 1.0);
/// The leading 42 bits of ln 2, so that its product with an exponent is exact.
const LN_2_HI: f64 = f64::from_bits(LN_2.hi.to_bits() & !0x7ff);
/// ln 2 minus its leading 42 bits.
const LN_2_LO: f64 = (LN_2.hi - LN_2_HI) + LN_2.lo;
/// 1 / ln 2.
pub(super) const INVERSE_LN_2: DoubleDouble = DoubleDouble::new(1.0).over(LN_2);

/// 128 / sqrt 2 rounded, the first index that [`ln_near_one`] looks up.
pub(super) const FIRST_128TH: usize = 91;
/// 128 * sqrt 2 rounded, the last one.
const LAST_128TH: usize = 181;

/// ln(i / 128) for i from [`FIRST_128TH`] to [`LAST_128TH`].
pub(super) static LN_OF_128THS: [DoubleDouble; LAST_128TH - FIRST_128TH + 1] = {
    let mut table = [DoubleDouble::new(0.0); LAST_128TH - FIRST_128TH + 1];
    let mut i = 0;
    while i < table.len() {
        table[i] = ln_of_ratio((i + FIRST_128TH) as f64, 128.0);
        i += 1;
    }
    table
};

/// ln(p / q) for short numbers with a ratio between 1/2 and 2, to about 2^-104 of it: the Taylor
/// series of 2 atanh((p - q) / (p + q)), summed from its smallest term.
pub(super) const fn ln_of_ratio(p: f64, q: f64) -> DoubleDouble {
    let z = DoubleDouble::new(p - q).over(DoubleDouble::new(p + q));
    let square = z.times(z);
    let mut sum = DoubleDouble::new(0.0);
    let mut odd = 71.0; // (1/3)^72 is below 2^-114
    while odd > 0.0 {
        sum = sum
            .times(square)
            .plus(DoubleDouble::new(2.0).over(DoubleDouble::new(odd)));
        odd -= 2.0;
    }
    sum.times(z)
}
