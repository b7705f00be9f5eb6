//! Floating point and conversions, by what Rust has for them.
//!
//! Rust's `as` saturates and makes 0 of NaN, which is what the kernels are compiled for. Minima and
//! maxima order zeros by their sign, as the hardware does.

use vmafx_gcnsim::Program;

use crate::columns::{Column, Position, compare};
use crate::operands;

const SOURCE: &str = include_str!("kernels/floats.cpp");

/// Compares all columns over this many operands.
pub(crate) fn check(program: &Program, count: usize, position: Position) -> Result<u64, String> {
    let singles = operands::reals_32(count, 3);
    let single = |x| f(x).is_nan();
    let mut values = compare(
        program,
        position,
        (SOURCE, "floats_32"),
        SINGLES,
        &singles,
        single,
    )?;
    let doubles = operands::reals_64(count, 4);
    let double = |x| d(x).is_nan();
    values += compare(
        program,
        position,
        (SOURCE, "floats_64"),
        DOUBLES,
        &doubles,
        double,
    )?;
    Ok(values)
}

pub(crate) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

pub(crate) fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// One of two by a comparison, if neither is NaN.
macro_rules! extreme {
    ($a:expr, $b:expr, $than:tt) => {{
        let (a, b) = ($a, $b);
        match (a.is_nan(), b.is_nan()) {
            (true, _) => b,
            (_, true) => a,
            // Zeros by their signs.
            _ if a == b => if a.is_sign_negative() == (0 $than 1) { a } else { b },
            _ => if a $than b { a } else { b },
        }
    }};
}

pub(crate) fn min(a: f32, b: f32) -> f32 {
    extreme!(a, b, <)
}

pub(crate) fn max(a: f32, b: f32) -> f32 {
    extreme!(a, b, >)
}

/// What is behind the point, which rounding must not make 1.
fn fraction(a: f32) -> f32 {
    let fraction = a - a.floor();
    if fraction == 1.0 {
        1.0f32.next_down()
    } else {
        fraction
    }
}

/// `a` times a power of two, rounded once.
fn scale_32(a: f32, power: i32) -> f32 {
    // f64 holds every such product.
    (f64::from(a) * 2f64.powi(power)) as f32
}

/// `a` times a power of two, rounded once.
fn scale_64(a: f64, power: i32) -> f64 {
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    let (mantissa, exponent) = split(a);
    let exponent = exponent + power;
    if exponent > 1024 {
        return f64::INFINITY.copysign(a);
    }
    if exponent < -1080 {
        return 0f64.copysign(a);
    }
    // The first step is exact, the second one rounds.
    let first = exponent.clamp(-1021, 1023);
    mantissa * 2f64.powi(first) * 2f64.powi(exponent - first)
}

/// A mantissa of 0.5 to 1, and the power of two that it is to be multiplied with.
fn split(a: f64) -> (f64, i32) {
    if a == 0.0 || !a.is_finite() {
        return (a, 0);
    }
    let (a, less) = match a.abs() < f64::MIN_POSITIVE {
        true => (a * 2f64.powi(54), 54),
        false => (a, 0),
    };
    let exponent = (a.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    let mantissa = a.to_bits() & !(0x7ff << 52) | 1022 << 52;
    (f64::from_bits(mantissa), exponent - less)
}

/// Whether a number is of one of the ten classes of the hardware: signalling and quiet NaN,
/// negative infinity, normal, subnormal, zero, and the positive ones the other way round.
fn is_of(a: f32, classes: u32) -> bool {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    let class = match (a.classify(), a.is_sign_negative()) {
        (Nan, _) => u32::from(a.to_bits() >> 22 & 1 != 0),
        (Infinite, true) => 2,
        (Normal, true) => 3,
        (Subnormal, true) => 4,
        (Zero, true) => 5,
        (Zero, false) => 6,
        (Subnormal, false) => 7,
        (Normal, false) => 8,
        (Infinite, false) => 9,
    };
    classes >> class & 1 != 0
}

const SINGLES: &[Column<u32>] = &[
    ("add", |a, b, _| (f(a) + f(b)).to_bits()),
    ("sub", |a, b, _| (f(a) - f(b)).to_bits()),
    ("mul", |a, b, _| (f(a) * f(b)).to_bits()),
    ("div", |a, b, _| (f(a) / f(b)).to_bits()),
    ("reciprocal", |a, _, _| (1.0 / f(a)).to_bits()),
    ("root", |a, _, _| f(a).sqrt().to_bits()),
    ("reciprocal_root", |a, _, _| (1.0 / f(a).sqrt()).to_bits()),
    ("fused", |a, b, c| f(a).mul_add(f(b), f(c)).to_bits()),
    ("fused_negated", |a, b, c| {
        (-f(a)).mul_add(f(b), -f(c)).to_bits()
    }),
    ("apart", |a, b, c| (f(a) * f(b) + f(c)).to_bits()),
    ("min", |a, b, _| min(f(a), f(b)).to_bits()),
    ("max", |a, b, _| max(f(a), f(b)).to_bits()),
    ("min3", |a, b, c| min(min(f(a), f(b)), f(c)).to_bits()),
    ("lesser", |a, b, _| if f(a) < f(b) { a } else { b }),
    ("greater_", |a, b, _| if f(a) > f(b) { a } else { b }),
    ("floor", |a, _, _| f(a).floor().to_bits()),
    ("ceil", |a, _, _| f(a).ceil().to_bits()),
    ("trunc", |a, _, _| f(a).trunc().to_bits()),
    ("round_even", |a, _, _| f(a).round_ties_even().to_bits()),
    ("rint", |a, _, _| f(a).round_ties_even().to_bits()),
    ("round", |a, _, _| f(a).round().to_bits()),
    ("fraction", |a, _, _| fraction(f(a)).to_bits()),
    ("scale", |a, _, c| scale_32(f(a), c as i32 % 300).to_bits()),
    ("mantissa", |a, _, _| {
        (split(f(a).into()).0 as f32).to_bits()
    }),
    ("exponent", |a, _, _| split(f(a).into()).1 as u32),
    ("copy_sign", |a, b, _| a & 0x7fff_ffff | b & 0x8000_0000),
    ("absolute", |a, _, _| a & 0x7fff_ffff),
    ("negated", |a, _, _| a ^ 0x8000_0000),
    ("negated_absolute", |a, _, _| a | 0x8000_0000),
    ("absolute_sum", |a, b, _| {
        (f(a).abs() + f(b).abs()).to_bits()
    }),
    ("twice", |a, b, _| (f(a) * f(b) * 2.0).to_bits()),
    ("clamped", |a, _, _| min(max(f(a), 0.0), 1.0).to_bits()),
    ("pair_sum", |a, b, c| {
        ((f(a) + f(b)) * (f(b) + f(c))).to_bits()
    }),
    ("difference_squared", |a, b, _| {
        ((f(a) - f(b)) * (f(a) - f(b))).to_bits()
    }),
    ("less", |a, b, _| (f(a) < f(b)).into()),
    ("less_equal", |a, b, _| (f(a) <= f(b)).into()),
    ("equal", |a, b, _| (f(a) == f(b)).into()),
    ("not_equal", |a, b, _| (f(a) != f(b)).into()),
    ("greater", |a, b, _| (f(a) > f(b)).into()),
    ("greater_equal", |a, b, _| (f(a) >= f(b)).into()),
    ("not_less", |a, b, _| {
        (f(a) >= f(b) || f(a).is_nan() || f(b).is_nan()).into()
    }),
    ("not_greater_equal", |a, b, _| {
        (f(a) < f(b) || f(a).is_nan() || f(b).is_nan()).into()
    }),
    ("unordered", |a, b, _| {
        (f(a).is_nan() || f(b).is_nan()).into()
    }),
    ("nan", |a, _, _| f(a).is_nan().into()),
    ("infinite", |a, _, _| f(a).is_infinite().into()),
    ("finite", |a, _, _| f(a).is_finite().into()),
    ("normal", |a, _, _| f(a).is_normal().into()),
    ("class_", |a, _, _| is_of(f(a), 0x155).into()),
    ("to_i32", |a, _, _| f(a) as i32 as u32),
    ("to_u32", |a, _, _| f(a) as u32),
    ("to_i16", |a, _, _| f(a) as i16 as u32),
    ("to_u16", |a, _, _| (f(a) as u16).into()),
    ("to_i8", |a, _, _| f(a) as i8 as u32),
    ("to_u8", |a, _, _| (f(a) as u8).into()),
    ("from_i32", |a, _, _| (a as i32 as f32).to_bits()),
    ("from_u32", |a, _, _| (a as f32).to_bits()),
    ("from_i16", |a, _, _| f32::from(a as i16).to_bits()),
    ("from_u16", |a, _, _| f32::from(a as u16).to_bits()),
    ("from_byte_0", |a, _, _| f32::from(a as u8).to_bits()),
    ("from_byte_1", |a, _, _| f32::from((a >> 8) as u8).to_bits()),
    ("from_byte_2", |a, _, _| {
        f32::from((a >> 16) as u8).to_bits()
    }),
    ("from_byte_3", |a, _, _| {
        f32::from((a >> 24) as u8).to_bits()
    }),
    ("polynomial", |a, b, _| {
        (((f(a) * 3.5 + 0.25) * f(a) - 1.5) * f(a) + f(b)).to_bits()
    }),
    ("constants", |a, b, _| {
        ((f(a) + 0.5) * (f(b) - 4.0) / 3.0).to_bits()
    }),
];

const DOUBLES: &[Column<u64>] = &[
    ("add", |a, b, _| (d(a) + d(b)).to_bits()),
    ("sub", |a, b, _| (d(a) - d(b)).to_bits()),
    ("mul", |a, b, _| (d(a) * d(b)).to_bits()),
    ("div", |a, b, _| (d(a) / d(b)).to_bits()),
    ("reciprocal", |a, _, _| (1.0 / d(a)).to_bits()),
    ("root", |a, _, _| d(a).sqrt().to_bits()),
    ("fused", |a, b, c| d(a).mul_add(d(b), d(c)).to_bits()),
    ("fused_negated", |a, b, c| {
        (-d(a)).mul_add(d(b), -d(c)).to_bits()
    }),
    ("apart", |a, b, c| (d(a) * d(b) + d(c)).to_bits()),
    ("min", |a, b, _| extreme!(d(a), d(b), <).to_bits()),
    ("max", |a, b, _| extreme!(d(a), d(b), >).to_bits()),
    ("lesser", |a, b, _| if d(a) < d(b) { a } else { b }),
    ("floor", |a, _, _| d(a).floor().to_bits()),
    ("ceil", |a, _, _| d(a).ceil().to_bits()),
    ("trunc", |a, _, _| d(a).trunc().to_bits()),
    ("round_even", |a, _, _| d(a).round_ties_even().to_bits()),
    ("rint", |a, _, _| d(a).round_ties_even().to_bits()),
    ("fraction", |a, _, _| {
        let fraction = d(a) - d(a).floor();
        match fraction == 1.0 {
            true => 1f64.next_down().to_bits(),
            false => fraction.to_bits(),
        }
    }),
    ("scale", |a, _, c| {
        scale_64(d(a), (c >> 20) as i32 % 2200).to_bits()
    }),
    ("mantissa", |a, _, _| split(d(a)).0.to_bits()),
    ("exponent", |a, _, _| (split(d(a)).1 as u32).into()),
    ("copy_sign", |a, b, _| a & !(1 << 63) | b & 1 << 63),
    ("absolute", |a, _, _| a & !(1 << 63)),
    ("negated", |a, _, _| a ^ 1 << 63),
    ("absolute_sum", |a, b, _| {
        (d(a).abs() - d(b).abs()).to_bits()
    }),
    ("less", |a, b, _| (d(a) < d(b)).into()),
    ("less_equal", |a, b, _| (d(a) <= d(b)).into()),
    ("equal", |a, b, _| (d(a) == d(b)).into()),
    ("not_equal", |a, b, _| (d(a) != d(b)).into()),
    ("greater", |a, b, _| (d(a) > d(b)).into()),
    ("greater_equal", |a, b, _| (d(a) >= d(b)).into()),
    ("not_less", |a, b, _| {
        (d(a) >= d(b) || d(a).is_nan() || d(b).is_nan()).into()
    }),
    ("unordered", |a, b, _| {
        (d(a).is_nan() || d(b).is_nan()).into()
    }),
    ("nan", |a, _, _| d(a).is_nan().into()),
    ("infinite", |a, _, _| d(a).is_infinite().into()),
    ("finite", |a, _, _| d(a).is_finite().into()),
    ("to_i32", |a, _, _| (d(a) as i32 as u32).into()),
    ("to_u32", |a, _, _| (d(a) as u32).into()),
    ("to_i64", |a, _, _| d(a) as i64 as u64),
    ("to_u64", |a, _, _| d(a) as u64),
    ("to_f32", |a, _, _| (d(a) as f32).to_bits().into()),
    ("from_i32", |a, _, _| f64::from(a as i32).to_bits()),
    ("from_u32", |a, _, _| f64::from(a as u32).to_bits()),
    ("from_i64", |a, _, _| (a as i64 as f64).to_bits()),
    ("from_u64", |a, _, _| (a as f64).to_bits()),
    ("from_f32", |a, _, _| f64::from(f(a as u32)).to_bits()),
    ("f32_to_i64", |a, _, _| f(a as u32) as i64 as u64),
    ("f32_to_u64", |a, _, _| f(a as u32) as u64),
    ("f32_from_i64", |a, _, _| (a as i64 as f32).to_bits().into()),
    ("f32_from_u64", |a, _, _| (a as f32).to_bits().into()),
    ("ratio", |a, b, _| {
        let (a, b) = (d(a), d(b));
        ((2.0 * a * b + 0.001) / (a * a + b * b + 0.001)).to_bits()
    }),
    ("constants", |a, b, _| {
        ((d(a) + 0.5) * (d(b) - 4.0) / 3.0).to_bits()
    }),
    ("clamped", |a, _, _| {
        let least = extreme!(d(a), 0f64, >);
        extreme!(least, 100f64, <).to_bits()
    }),
];
