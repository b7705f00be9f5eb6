//! Comparisons: a bit a lane into scalar registers, exec, or both.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    clippy::double_comparisons,
    reason = "not less than is what the instruction says, and it holds for what is not a number"
)]

use super::{Operands, Run};
use crate::wave::{Kind, Lane, Wave};

/// What runs `v_cmp_<what>_<type>`, and the types of its operands; `what` is as in `lt_u32`.
/// The result goes to [`Operands::scalar`], and to exec as well where [`Operands::number`] is 1.
pub(crate) fn find<const W: usize>(what: &str) -> Option<(Run<W>, &'static [Kind])> {
    /// One comparison of one type.
    macro_rules! of {
        ($type:ty, $is:expr) => {{
            fn run<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
                let a = <$type as Lane>::read(wave, operands.source(0));
                let b = <$type as Lane>::read(wave, operands.source(1));
                let is: fn($type, $type) -> bool = $is;
                let bits = wave.bits(|lane| is(a[lane], b[lane]));
                set(wave, operands, bits);
            }
            Some((
                run::<W> as Run<W>,
                &[<$type as Lane>::KIND, <$type as Lane>::KIND] as &'static [Kind],
            ))
        }};
    }
    macro_rules! integers {
        ($name:expr, $type:ty, $as:ty) => {
            match $name {
                "eq" => of!($type, |a, b| a as $as == b as $as),
                "ne" | "lg" => of!($type, |a, b| a as $as != b as $as),
                "lt" => of!($type, |a, b| (a as $as) < b as $as),
                "le" => of!($type, |a, b| a as $as <= b as $as),
                "gt" => of!($type, |a, b| a as $as > b as $as),
                "ge" => of!($type, |a, b| a as $as >= b as $as),
                "t" | "tru" => of!($type, |_, _| true),
                "f" => of!($type, |_, _| false),
                _ => None,
            }
        };
    }
    macro_rules! floats {
        ($name:expr, $type:ty) => {
            match $name {
                "eq" => of!($type, |a, b| a == b),
                "neq" => of!($type, |a, b| a != b),
                "lg" => of!($type, |a, b| a < b || a > b),
                "nlg" => of!($type, |a, b| !(a < b || a > b)),
                "lt" => of!($type, |a, b| a < b),
                "nlt" => of!($type, |a, b| !(a < b)),
                "le" => of!($type, |a, b| a <= b),
                "nle" => of!($type, |a, b| !(a <= b)),
                "gt" => of!($type, |a, b| a > b),
                "ngt" => of!($type, |a, b| !(a > b)),
                "ge" => of!($type, |a, b| a >= b),
                "nge" => of!($type, |a, b| !(a >= b)),
                "o" => of!($type, |a, b| !a.is_nan() && !b.is_nan()),
                "u" => of!($type, |a, b| a.is_nan() || b.is_nan()),
                "tru" | "t" => of!($type, |_, _| true),
                "f" => of!($type, |_, _| false),
                _ => None,
            }
        };
    }
    let (name, of_type) = what.rsplit_once('_')?;
    match of_type {
        "f32" if name == "class" => Some((class::<W>, &[Kind::F32, Kind::U32])),
        "f64" if name == "class" => Some((class64::<W>, &[Kind::F64, Kind::U32])),
        "u16" => integers!(name, u16, u16),
        "i16" => integers!(name, u16, i16),
        "u32" => integers!(name, u32, u32),
        "i32" => integers!(name, i32, i32),
        "u64" => integers!(name, u64, u64),
        "i64" => integers!(name, i64, i64),
        "f32" => floats!(name, f32),
        "f64" => floats!(name, f64),
        _ => None,
    }
}

fn set<const W: usize>(wave: &mut Wave<W>, operands: &Operands, bits: u64) {
    wave.set_lane_mask(operands.scalar, bits);
    if operands.number == 1 {
        wave.set_exec(bits);
    }
}

/// The bit of a number's class: signalling and quiet NaN, then the negative ones from infinity to
/// 0, then the positive ones from 0 to infinity.
fn class_of(is_nan: bool, is_quiet: bool, order: u32, negative: bool) -> u32 {
    match (is_nan, negative) {
        (true, _) => 1 << u32::from(is_quiet),
        (_, true) => 1 << (5 - order),
        (_, false) => 1 << (6 + order),
    }
}

/// 0, subnormal, normal, infinite.
fn order(is_zero: bool, is_normal: bool, is_infinite: bool) -> u32 {
    match (is_zero, is_normal, is_infinite) {
        (true, ..) => 0,
        (_, true, _) => 2,
        (_, _, true) => 3,
        _ => 1,
    }
}

fn class<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let (a, asked) = (operands.source(0), operands.source(1));
    let (a, asked) = (f32::read(wave, a), u32::read(wave, asked));
    let bits = wave.bits(|lane| {
        let a = a[lane];
        let order = order(a == 0.0, a.is_normal(), a.is_infinite());
        let quiet = a.to_bits() >> 22 & 1 != 0;
        asked[lane] & class_of(a.is_nan(), quiet, order, a.is_sign_negative()) != 0
    });
    set(wave, operands, bits);
}

fn class64<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let (a, asked) = (operands.source(0), operands.source(1));
    let (a, asked) = (f64::read(wave, a), u32::read(wave, asked));
    let bits = wave.bits(|lane| {
        let a = a[lane];
        let order = order(a == 0.0, a.is_normal(), a.is_infinite());
        let quiet = a.to_bits() >> 51 & 1 != 0;
        asked[lane] & class_of(a.is_nan(), quiet, order, a.is_sign_negative()) != 0
    });
    set(wave, operands, bits);
}
