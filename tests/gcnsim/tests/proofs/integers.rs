//! Integers of 8 to 128 bits, by the operations that Rust has for them.

use vmafx_gcnsim::Program;

use crate::columns::{Column, EXTRA, Position, compare};
use crate::operands;

const SOURCE: &str = include_str!("kernels/integers.cpp");

/// Compares all columns over this many operands.
pub(crate) fn check(program: &Program, count: usize, position: Position) -> Result<u64, String> {
    let (words, wide) = (operands::words(count, 1), operands::wide(count, 2));
    let never = |_| false;
    let mut values = compare(
        program,
        position,
        (SOURCE, "integers_32"),
        WORDS,
        &words,
        never,
    )?;
    values += compare(
        program,
        position,
        (SOURCE, "integers_16"),
        SHORTS,
        &words,
        never,
    )?;
    let never = |_| false;
    values += compare(
        program,
        position,
        (SOURCE, "integers_64"),
        WIDE,
        &wide,
        never,
    )?;
    values += compare(
        program,
        position,
        (SOURCE, "integers_128"),
        WIDEST,
        &wide,
        never,
    )?;
    Ok(values)
}

fn divisor(x: u32) -> u32 {
    if x == 0 { 7 } else { x }
}

fn divisor_signed(x: u32) -> i32 {
    match x as i32 {
        0 | -1 => 7,
        x => x,
    }
}

fn divisor_wide(x: u64) -> u64 {
    if x == 0 { 7 } else { x }
}

fn divisor_wide_signed(x: u64) -> i64 {
    match x as i64 {
        0 | -1 => 7,
        x => x,
    }
}

/// The lower 24 bits as a signed number.
fn low(x: u32) -> i32 {
    (x << 8) as i32 >> 8
}

fn bytes(x: u32) -> [u8; 4] {
    x.to_le_bytes()
}

/// Bytes of `a` above those of `b`, chosen by the numbers in `c`; above 7 come signs, 0 and 255.
fn permute(a: u32, b: u32, c: u32) -> u32 {
    let from = (u64::from(a) << 32 | u64::from(b)).to_le_bytes();
    let sign = |byte: usize| if from[byte] & 0x80 != 0 { 0xff } else { 0 };
    u32::from_le_bytes(bytes(c & 0x0f0f_0f0f).map(|at| match at {
        0..8 => from[usize::from(at)],
        8..12 => sign(usize::from(at - 8) * 2 + 1),
        12 => 0,
        _ => 0xff,
    }))
}

const WORDS: &[Column<u32>] = &[
    ("add", |a, b, _| a.wrapping_add(b)),
    ("sub", |a, b, _| a.wrapping_sub(b)),
    ("mul", |a, b, _| a.wrapping_mul(b)),
    ("mul_high_unsigned", |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    }),
    ("mul_high_signed", |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    }),
    ("div_unsigned", |a, b, _| a / divisor(b)),
    ("div_signed", |a, b, _| {
        (a as i32 / divisor_signed(b)) as u32
    }),
    ("mod_unsigned", |a, b, _| a % divisor(b)),
    ("mod_signed", |a, b, _| {
        (a as i32 % divisor_signed(b)) as u32
    }),
    ("div_by_constant", |a, _, _| a / 24),
    ("mod_by_constant_signed", |a, _, _| (a as i32 % 24) as u32),
    ("shift_left", |a, b, _| a << (b & 31)),
    ("shift_right", |a, b, _| a >> (b & 31)),
    ("shift_right_signed", |a, b, _| {
        (a as i32 >> (b & 31)) as u32
    }),
    ("rotate", |a, b, _| a.rotate_left(b & 31)),
    ("funnel", |a, b, c| {
        ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32
    }),
    ("and_", |a, b, _| a & b),
    ("or_", |a, b, _| a | b),
    ("xor_", |a, b, _| a ^ b),
    ("and_not", |a, b, _| a & !b),
    ("not_", |a, _, _| !a),
    ("xnor", |a, b, _| !(a ^ b)),
    ("or3", |a, b, c| a | b | c),
    ("xor3", |a, b, c| a ^ b ^ c),
    ("and_or", |a, b, c| a & b | c),
    ("select_bits", |a, b, c| a & b | !a & c),
    ("majority", |a, b, c| a & b | b & c | a & c),
    ("shift_or", |a, b, _| a << 7 | b),
    ("shift_add", |a, b, _| (a << 3).wrapping_add(b)),
    ("add_shift", |a, b, _| a.wrapping_add(b) << 5),
    ("add_shift_variable", |a, b, c| {
        a.wrapping_add(b) << (c & 31)
    }),
    ("xor_add", |a, b, c| (a ^ b).wrapping_add(c)),
    ("add3", |a, b, c| a.wrapping_add(b).wrapping_add(c)),
    ("mad_24", |a, b, c| {
        (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)
    }),
    ("mad_24_signed", |a, b, c| {
        (low(a).wrapping_mul(low(b)) as u32).wrapping_add(c)
    }),
    ("mul_24_high_signed", |a, b, _| {
        ((i64::from(low(a)) * i64::from(low(b))) >> 32) as u32
    }),
    ("mul_24_high", |a, b, _| {
        ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32
    }),
    ("mul_24_signed", |a, b, _| {
        low(a).wrapping_mul(low(b)) as u32
    }),
    ("mad", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    ("count_bits", |a, _, c| a.count_ones().wrapping_add(c)),
    ("leading_zeros", |a, _, _| a.leading_zeros()),
    ("trailing_zeros", |_, b, _| b.trailing_zeros()),
    ("leading_signs", |a, _, _| {
        (a ^ (a as i32 >> 31) as u32).leading_zeros() - 1
    }),
    ("reverse_bits", |a, _, _| a.reverse_bits()),
    ("reverse_bytes", |a, _, _| a.swap_bytes()),
    ("permute_bytes", permute),
    ("align_bytes", |a, b, c| {
        ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32
    }),
    ("min_unsigned", |a, b, _| a.min(b)),
    ("max_unsigned", |a, b, _| a.max(b)),
    ("min_signed", |a, b, _| (a as i32).min(b as i32) as u32),
    ("max_signed", |a, b, _| (a as i32).max(b as i32) as u32),
    ("min3_unsigned", |a, b, c| a.min(b).min(c)),
    ("max3_signed", |a, b, c| {
        (a as i32).max(b as i32).max(c as i32) as u32
    }),
    ("max3_unsigned", |a, b, c| a.max(b).max(c)),
    ("median_signed", |a, b, c| {
        let mut all = [a as i32, b as i32, c as i32];
        all.sort_unstable();
        all[1] as u32
    }),
    ("median_unsigned", |a, b, c| {
        let mut all = [a, b, c];
        all.sort_unstable();
        all[1]
    }),
    ("min_max_signed", |a, b, c| {
        (a as i32).min(b as i32).max(c as i32) as u32
    }),
    ("max_min_signed", |a, b, c| {
        (a as i32).max(b as i32).min(c as i32) as u32
    }),
    ("clamp", |a, _, _| (a as i32).clamp(-300, 70000) as u32),
    ("add_saturating", |a, b, _| a.saturating_add(b)),
    ("sub_saturating", |a, b, _| a.saturating_sub(b)),
    ("add_saturating_signed", |a, b, _| {
        (a as i32).saturating_add(b as i32) as u32
    }),
    ("sub_saturating_signed", |a, b, _| {
        (a as i32).saturating_sub(b as i32) as u32
    }),
    ("absolute", |a, _, _| (a as i32).unsigned_abs()),
    ("difference", |a, b, _| a.abs_diff(b)),
    ("difference_add", |a, b, c| a.abs_diff(b).wrapping_add(c)),
    ("field", |a, _, _| a >> 5 & 0x3ff),
    ("field_signed", |a, _, _| ((a << 9) as i32 >> 19) as u32),
    ("field_variable", |a, b, c| {
        a >> (b & 31) & ((1 << (c & 31)) - 1)
    }),
    ("sum_of_byte_differences", |a, b, c| {
        let differences = bytes(a).into_iter().zip(bytes(b));
        differences.fold(c, |sum, (a, b)| sum.wrapping_add(a.abs_diff(b).into()))
    }),
    ("less", |a, b, c| if a < b { c } else { 11 }),
    ("less_equal_signed", |a, b, c| {
        if a as i32 <= b as i32 { c } else { 12 }
    }),
    (
        "less_signed",
        |a, b, c| {
            if (a as i32) < b as i32 { c } else { 17 }
        },
    ),
    ("greater", |a, b, c| if a > b { c } else { 18 }),
    ("less_equal", |a, b, c| if a <= b { c } else { 19 }),
    ("greater_equal_signed", |a, b, c| {
        if a as i32 >= b as i32 { c } else { 20 }
    }),
    (
        "greater_signed",
        |a, b, c| {
            if a as i32 > b as i32 { 13 } else { c }
        },
    ),
    ("greater_equal", |a, b, c| if a >= b { 14 } else { c }),
    ("equal", |a, b, c| if a & 3 == b & 3 { c } else { 15 }),
    ("not_equal", |a, b, c| if a & 3 != b & 3 { c } else { 16 }),
    (
        "both",
        |a, b, c| {
            if a < b && a as i32 > c as i32 { a } else { c }
        },
    ),
    (
        "either",
        |a, b, c| {
            if a < b || a as i32 > c as i32 { a } else { c }
        },
    ),
    ("uniform_divide", |a, _, _| a / EXTRA),
    ("uniform_multiply", |a, b, _| {
        a.wrapping_mul(EXTRA).wrapping_add(b)
    }),
    ("sign_byte", |a, _, _| a as i8 as u32),
    ("sign_short", |a, _, _| a as i16 as u32),
    ("high_short", |a, _, _| a >> 16),
    ("second_byte", |a, _, _| a >> 8 & 0xff),
];

const WIDE: &[Column<u64>] = &[
    ("add", |a, b, _| a.wrapping_add(b)),
    ("sub", |a, b, _| a.wrapping_sub(b)),
    ("add3", |a, b, c| a.wrapping_add(b).wrapping_add(c)),
    ("mul", |a, b, _| a.wrapping_mul(b)),
    ("mul_add_32", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    }),
    ("mul_add_32_signed", |a, b, c| {
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
    }),
    ("mul_high_unsigned", |a, b, _| {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }),
    ("mul_high_signed", |a, b, _| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    }),
    ("div_unsigned", |a, b, _| a / divisor_wide(b)),
    ("div_signed", |a, b, _| {
        (a as i64 / divisor_wide_signed(b)) as u64
    }),
    ("mod_unsigned", |a, b, _| a % divisor_wide(b)),
    ("mod_signed", |a, b, _| {
        (a as i64 % divisor_wide_signed(b)) as u64
    }),
    ("div_by_constant", |a, _, _| a / 1_000_003),
    ("shift_left", |a, b, _| a << (b & 63)),
    ("shift_right", |a, b, _| a >> (b & 63)),
    ("shift_right_signed", |a, b, _| {
        (a as i64 >> (b & 63)) as u64
    }),
    ("shift_add", |a, b, _| (a << 3).wrapping_add(b)),
    ("and_", |a, b, _| a & b),
    ("or_", |a, b, _| a | b),
    ("xor_", |a, b, _| a ^ b),
    ("not_", |a, _, _| !a),
    ("count_bits", |a, _, _| a.count_ones().into()),
    ("leading_zeros", |a, _, _| a.leading_zeros().into()),
    ("trailing_zeros", |a, _, _| a.trailing_zeros().into()),
    ("reverse_bits", |a, _, _| a.reverse_bits()),
    ("reverse_bytes", |a, _, _| a.swap_bytes()),
    ("min_unsigned", |a, b, _| a.min(b)),
    ("max_unsigned", |a, b, _| a.max(b)),
    ("min_signed", |a, b, _| (a as i64).min(b as i64) as u64),
    ("max_signed", |a, b, _| (a as i64).max(b as i64) as u64),
    ("add_saturating", |a, b, _| a.saturating_add(b)),
    ("sub_saturating_signed", |a, b, _| {
        (a as i64).saturating_sub(b as i64) as u64
    }),
    ("absolute", |a, _, _| (a as i64).unsigned_abs()),
    ("less", |a, b, c| if a < b { c } else { 21 }),
    ("less_equal_signed", |a, b, c| {
        if a as i64 <= b as i64 { c } else { 22 }
    }),
    ("greater", |a, b, c| if a > b { c } else { 23 }),
    ("less_equal", |a, b, c| if a <= b { c } else { 27 }),
    ("greater_equal", |a, b, c| if a >= b { c } else { 28 }),
    (
        "greater_signed",
        |a, b, c| {
            if a as i64 > b as i64 { c } else { 29 }
        },
    ),
    (
        "less_signed",
        |a, b, c| {
            if (a as i64) < b as i64 { c } else { 30 }
        },
    ),
    ("greater_equal_signed", |a, b, c| {
        if a as i64 >= b as i64 { c } else { 24 }
    }),
    ("equal", |a, b, c| if a & 7 == b & 7 { c } else { 25 }),
    ("not_equal", |a, b, c| if a != b { c } else { 26 }),
];

/// The two operands of 128 bits.
fn widest(low: u64, high: u64, c: u64) -> (u128, u128) {
    let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
    let b = join(c >> (low & 63), c ^ high);
    (join(high, low), if b == 0 { 7 } else { b })
}

fn signed(low: u64, high: u64, c: u64) -> (i128, i128) {
    let (a, b) = widest(low, high, c);
    (a as i128, if b as i128 == -1 { 7 } else { b as i128 })
}

/// The lower and the upper half of an operation.
macro_rules! halves {
    ($($name:literal: $operands:ident, |$a:ident, $b:ident, $c:ident| $value:expr;)*) => {
        [$(
            ($name, |low, high, $c| { let ($a, $b) = $operands(low, high, $c); let _ = ($b, $c); $value as u64 }),
            ($name, |low, high, $c| { let ($a, $b) = $operands(low, high, $c); let _ = ($b, $c); ($value >> 64) as u64 }),
        )*]
    };
}

const WIDEST: &[Column<u64>] = &halves! {
    "add": widest, |a, b, c| a.wrapping_add(b);
    "sub": widest, |a, b, c| a.wrapping_sub(b);
    "mul": widest, |a, b, c| a.wrapping_mul(b);
    "div_unsigned": widest, |a, b, c| (a / b);
    "mod_unsigned": widest, |a, b, c| (a % b);
    "div_signed": signed, |a, b, c| (a / b);
    "mod_signed": signed, |a, b, c| (a % b);
    "div_by_64": widest, |a, b, c| (a / u128::from(c | 1));
    "shift_left": widest, |a, b, c| (a << (c & 127));
    "shift_right": widest, |a, b, c| (a >> (c & 127));
    "shift_right_signed": signed, |a, b, c| (a >> (c & 127));
    "less": widest, |a, b, c| a.min(b);
    "less_signed": signed, |a, b, c| a.min(b);
};

/// The lower 16 bits.
pub(crate) fn low_half(a: u32) -> u32 {
    a & 0xffff
}

/// Each half of a pair by itself.
pub(crate) fn pair(a: u32, b: u32, operation: fn(u16, u16) -> u16) -> u32 {
    let low = operation(a as u16, b as u16);
    u32::from(low) | u32::from(operation((a >> 16) as u16, (b >> 16) as u16)) << 16
}

const SHORTS: &[Column<u32>] = &[
    ("add", |a, b, _| (a as u16).wrapping_add(b as u16).into()),
    ("sub", |a, b, _| (a as u16).wrapping_sub(b as u16).into()),
    ("mul", |a, b, _| (a as u16).wrapping_mul(b as u16).into()),
    ("mad", |a, b, c| {
        let product = (a as u16).wrapping_mul(b as u16);
        product.wrapping_add(c as u16).into()
    }),
    ("shift_left", |a, b, _| ((a as u16) << (b & 15)).into()),
    ("shift_right", |a, b, _| ((a as u16) >> (b & 15)).into()),
    ("shift_right_signed", |a, b, _| {
        ((a as i16 >> (b & 15)) as u16).into()
    }),
    ("min_unsigned", |a, b, _| (a as u16).min(b as u16).into()),
    ("max_unsigned", |a, b, _| (a as u16).max(b as u16).into()),
    ("min_signed", |a, b, _| {
        ((a as i16).min(b as i16) as u16).into()
    }),
    ("max_signed", |a, b, _| {
        ((a as i16).max(b as i16) as u16).into()
    }),
    ("min3", |a, b, c| {
        (a as u16).min(b as u16).min(c as u16).into()
    }),
    ("add_saturating", |a, b, _| {
        (a as u16).saturating_add(b as u16).into()
    }),
    ("sub_saturating", |a, b, _| {
        (a as u16).saturating_sub(b as u16).into()
    }),
    ("add_saturating_signed", |a, b, _| {
        ((a as i16).saturating_add(b as i16) as u16).into()
    }),
    ("sub_saturating_signed", |a, b, _| {
        ((a as i16).saturating_sub(b as i16) as u16).into()
    }),
    ("absolute", |a, _, _| (a as i16).unsigned_abs().into()),
    ("less", |a, b, c| if (a as u16) < b as u16 { c } else { 31 }),
    (
        "less_signed",
        |a, b, c| {
            if (a as i16) < b as i16 { c } else { 32 }
        },
    ),
    ("equal", |a, b, c| if a & 3 == b & 3 { c } else { 33 }),
    ("extend", |a, b, _| a.wrapping_add(b) as i16 as u32),
    ("high_parts", |a, b, _| (a >> 16) + (b >> 16)),
    ("high_signed", |a, b, _| {
        ((a as i32 >> 16) - (b as i32 >> 16)) as u32
    }),
    ("pack", |a, b, _| a & 0xffff | b << 16),
    ("pack_high", |a, b, _| a >> 16 | b & 0xffff_0000),
    ("bytes_add", |a, b, _| {
        (a as u8).wrapping_add(b as u8).into()
    }),
    ("bytes_sub", |a, b, _| {
        (a as u8).wrapping_sub(b as u8).into()
    }),
    ("bytes_mul", |a, b, _| {
        (a as u8).wrapping_mul(b as u8).into()
    }),
    ("bytes_mad_wide", |a, b, c| {
        u32::from(a as u8) * u32::from(b as u8) + u32::from(c as u8)
    }),
    ("bytes_max", |a, b, _| (a as u8).max(b as u8).into()),
    ("bytes_min_signed", |a, b, _| {
        ((a as i8).min(b as i8) as u8).into()
    }),
    ("bytes_sum", |a, _, _| bytes(a).map(u32::from).iter().sum()),
    ("bytes_difference", |a, b, _| {
        (a as u8).abs_diff(b as u8).into()
    }),
    ("pair_add", |a, b, _| pair(a, b, u16::wrapping_add)),
    ("pair_sub", |a, b, _| pair(a, b, u16::wrapping_sub)),
    ("pair_mul", |a, b, _| pair(a, b, u16::wrapping_mul)),
    ("pair_mad", |a, b, c| {
        pair(pair(a, b, u16::wrapping_mul), c, u16::wrapping_add)
    }),
    ("pair_min", |a, b, _| pair(a, b, u16::min)),
    ("pair_max_signed", |a, b, _| {
        pair(a, b, |a, b| (a as i16).max(b as i16) as u16)
    }),
    ("pair_shift_left", |a, b, _| {
        pair(a, b, |a, b| a << (b & 15))
    }),
    ("pair_shift_right_signed", |a, b, _| {
        pair(a, b, |a, b| (a as i16 >> (b & 15)) as u16)
    }),
    ("pair_add_saturating", |a, b, _| {
        pair(a, b, u16::saturating_add)
    }),
    ("pair_sub_saturating_signed", |a, b, _| {
        pair(a, b, |a, b| (a as i16).saturating_sub(b as i16) as u16)
    }),
    ("pair_swapped", |a, b, _| {
        pair(a, b.rotate_left(16), u16::wrapping_add)
    }),
    ("pair_broadcast", |a, b, _| {
        pair(a, b & 0xffff | b << 16, u16::wrapping_mul)
    }),
];
