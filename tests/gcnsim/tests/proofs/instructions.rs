//! Instructions that compiled C++ seldom has, one by one. Those of the scalar unit set a condition
//! bit, which is part of what is compared.

use std::cmp::Ordering;

use vmafx_gcnsim::Program;

use crate::columns::{Column, Position, compare};
use crate::floats::{d, f, max, min};
use crate::integers::{low_half, pair};
use crate::operands;

const SOURCE: &str = include_str!("kernels/instructions.cpp");

/// Compares all columns over this many operands.
pub(crate) fn check(program: &Program, count: usize) -> Result<u64, String> {
    let (words, wide) = (operands::words(count, 51), operands::wide(count, 52));
    let (singles, doubles) = (operands::reals_32(count, 53), operands::reals_64(count, 54));
    let (thread, block) = (Position::Thread, Position::Block);
    let never = |_| false;
    let mut values = compare(
        program,
        thread,
        (SOURCE, "vector_32"),
        VECTOR,
        &words,
        never,
    )?;
    values += compare(program, block, (SOURCE, "scalar_32"), SCALAR, &words, never)?;
    let kernel = (SOURCE, "vector_floats");
    values += compare(program, thread, kernel, FLOATS, &singles, |x| f(x).is_nan())?;
    let kernel = (SOURCE, "vector_64");
    values += compare(program, thread, kernel, VECTOR_WIDE, &wide, |x| {
        d(x).is_nan()
    })?;
    values += compare(program, thread, kernel, VECTOR_WIDE, &doubles, |x| {
        d(x).is_nan()
    })?;
    let never = |_| false;
    values += compare(
        program,
        block,
        (SOURCE, "scalar_64"),
        SCALAR_WIDE,
        &wide,
        never,
    )?;
    Ok(values)
}

/// A result with the condition bit mixed in.
fn mix(result: u32, condition: bool) -> u32 {
    result.wrapping_add(if condition { 0x9e37_79b9 } else { 0 })
}

fn mix_wide(result: u64, condition: bool) -> u64 {
    result.wrapping_add(if condition { 0x9e37_79b9 } else { 0 })
}

/// Most set the bit where the result is not 0.
fn not_zero(result: u32) -> u32 {
    mix(result, result != 0)
}

fn wide_not_zero(result: u64) -> u64 {
    mix_wide(result, result != 0)
}

/// Less, equal, less or equal, greater, unequal, greater or equal: a bit each.
fn conditions(order: Option<Ordering>) -> u32 {
    match order {
        Some(Ordering::Less) => 0b01_0101,
        Some(Ordering::Equal) => 0b10_0110,
        Some(Ordering::Greater) => 0b11_1000,
        None => 0,
    }
}

/// Ordered or not, and the opposites of what orders: not greater or equal, not unequal, not
/// greater, not less or equal, not equal, not less.
fn unordered(order: Option<Ordering>) -> u32 {
    let is = conditions(order);
    let not = |bit: u32| u32::from(is >> bit & 1 == 0);
    let ordered = u32::from(order.is_some());
    ordered
        | (1 - ordered) << 1
        | not(5) << 2
        | not(4) << 3
        | not(3) << 4
        | not(2) << 5
        | not(1) << 6
        | not(0) << 7
}

fn signed(a: u32, b: u32) -> u32 {
    conditions(Some((a as i32).cmp(&(b as i32))))
}

fn unsigned(a: u32, b: u32) -> u32 {
    conditions(Some(a.cmp(&b)))
}

/// So many bits from a place on, with the sign of the highest of them.
fn field_signed(a: i64, from: u32, bits: u32, all: u32) -> i64 {
    match bits {
        0 => 0,
        // Beyond the top there are signs.
        _ if from + bits >= all => a >> from,
        _ => a << (64 - from - bits) >> (64 - bits),
    }
}

fn low(a: u32, bits: u32) -> u32 {
    a & ((1 << bits) - 1)
}

const VECTOR: &[Column<u32>] = &[
    ("max3_unsigned", |a, b, c| a.max(b).max(c)),
    ("max3_signed", |a, b, c| {
        (a as i32).max(b as i32).max(c as i32) as u32
    }),
    ("min3_unsigned", |a, b, c| a.min(b).min(c)),
    ("min3_signed", |a, b, c| {
        (a as i32).min(b as i32).min(c as i32) as u32
    }),
    ("min_max", |a, b, c| a.min(b).max(c)),
    ("max_min", |a, b, c| a.max(b).min(c)),
    ("max_min_signed", |a, b, c| {
        (a as i32).max(b as i32).min(c as i32) as u32
    }),
    ("add_shift", |a, b, c| a.wrapping_add(b) << (c & 31)),
    ("xnor", |a, b, _| !(a ^ b)),
    ("mask", |a, b, _| low(u32::MAX, a & 31) << (b & 31)),
    ("field", |a, b, c| low(a >> (b & 31), c & 31)),
    ("field_signed", |a, b, c| {
        field_signed((a as i32).into(), b & 31, c & 31, 32) as u32
    }),
    ("difference", |a, b, c| a.abs_diff(b).wrapping_add(c)),
    ("differences_16", |a, b, c| {
        let differences = (a >> 16).abs_diff(b >> 16) + low_half(a).abs_diff(low_half(b));
        differences.wrapping_add(c)
    }),
    ("pair_shift_right", |a, b, _| {
        pair(a, b, |a, b| b >> (a & 15))
    }),
    ("pair_add_signed", |a, b, _| pair(a, b, u16::wrapping_add)),
    ("pair_sub", |a, b, _| pair(a, b, u16::wrapping_sub)),
    ("pair_max", |a, b, _| pair(a, b, u16::max)),
    ("pair_min_signed", |a, b, _| {
        pair(a, b, |a, b| (a as i16).min(b as i16) as u16)
    }),
    ("pair_mad_signed", |a, b, c| {
        pair(pair(a, b, u16::wrapping_mul), c, u16::wrapping_add)
    }),
    ("compare_signed", |a, b, _| signed(a, b)),
    ("compare_unsigned", |a, b, _| unsigned(a, b)),
    ("narrow_signed", |a, b, _| signed(a, b)),
    ("narrow_unsigned", |a, b, _| unsigned(a, b)),
    ("accumulation", |a, _, _| a),
];

const FLOATS: &[Column<u32>] = &[
    ("max3", |a, b, c| max(max(f(a), f(b)), f(c)).to_bits()),
    ("min3", |a, b, c| min(min(f(a), f(b)), f(c)).to_bits()),
    ("subtract_from", |a, b, _| (f(b) - f(a)).to_bits()),
    ("twice", |a, b, _| (f(a) * f(b) * 2.0).to_bits()),
    ("floor", |a, _, _| f(a).floor() as i32 as u32),
    ("compare", |a, b, _| conditions(f(a).partial_cmp(&f(b)))),
    ("compare_unordered", |a, b, _| {
        unordered(f(a).partial_cmp(&f(b)))
    }),
    ("narrow", |a, b, _| conditions(f(a).partial_cmp(&f(b)))),
    ("narrow_unordered", |a, b, _| {
        unordered(f(a).partial_cmp(&f(b)))
    }),
    ("pair_sum_low", |a, _, c| (f(a) + f(c)).to_bits()),
    ("pair_sum_high", |a, b, _| (f(b) + f(a)).to_bits()),
    ("pair_product_low", |a, _, c| (f(a) * f(c)).to_bits()),
    ("pair_product_high", |a, b, _| (f(b) * f(a)).to_bits()),
    ("pair_fused_low", |a, _, c| {
        f(a).mul_add(f(c), f(a) + f(c)).to_bits()
    }),
    ("pair_fused_high", |a, b, _| {
        f(b).mul_add(f(a), f(b) + f(a)).to_bits()
    }),
];

const VECTOR_WIDE: &[Column<u64>] = &[
    ("compare_signed", |a, b, _| {
        conditions(Some((a as i64).cmp(&(b as i64)))).into()
    }),
    ("compare_unsigned", |a, b, _| {
        conditions(Some(a.cmp(&b))).into()
    }),
    ("narrow_signed", |a, b, _| {
        conditions(Some((a as i64).cmp(&(b as i64)))).into()
    }),
    ("narrow_unsigned", |a, b, _| {
        conditions(Some(a.cmp(&b))).into()
    }),
    ("compare", |a, b, _| {
        conditions(d(a).partial_cmp(&d(b))).into()
    }),
    ("compare_unordered", |a, b, _| {
        unordered(d(a).partial_cmp(&d(b))).into()
    }),
    ("narrow", |a, b, _| {
        conditions(d(a).partial_cmp(&d(b))).into()
    }),
    ("narrow_unordered", |a, b, _| {
        unordered(d(a).partial_cmp(&d(b))).into()
    }),
    ("root", |a, _, _| d(a).sqrt().to_bits()),
];

/// A sum of `a` times a power of two; the bit is the carry.
fn shifted_sum(a: u32, b: u32, by: u32) -> u32 {
    let sum = (u64::from(a) << by) + u64::from(b);
    mix(sum as u32, sum > u32::MAX.into())
}

/// The result of signed arithmetic; the bit tells that it does not fit.
fn overflowing((result, overflows): (i32, bool)) -> u32 {
    mix(result as u32, overflows)
}

const SCALAR: &[Column<u32>] = &[
    ("and_", |a, b, _| not_zero(a & b)),
    ("or_", |a, b, _| not_zero(a | b)),
    ("xor_", |a, b, _| not_zero(a ^ b)),
    ("nand", |a, b, _| not_zero(!(a & b))),
    ("nor", |a, b, _| not_zero(!(a | b))),
    ("xnor", |a, b, _| not_zero(!(a ^ b))),
    ("and_not", |a, b, _| not_zero(a & !b)),
    ("or_not", |a, b, _| not_zero(a | !b)),
    ("not_", |a, _, _| not_zero(!a)),
    ("shift_left", |a, b, _| not_zero(a << (b & 31))),
    ("shift_right", |a, b, _| not_zero(a >> (b & 31))),
    ("shift_right_signed", |a, b, _| {
        not_zero((a as i32 >> (b & 31)) as u32)
    }),
    ("shift_1_add", |a, b, _| shifted_sum(a, b, 1)),
    ("shift_2_add", |a, b, _| shifted_sum(a, b, 2)),
    ("shift_3_add", |a, b, _| shifted_sum(a, b, 3)),
    ("shift_4_add", |a, b, _| shifted_sum(a, b, 4)),
    ("add", |a, b, _| shifted_sum(a, b, 0)),
    ("sub", |a, b, _| mix(a.wrapping_sub(b), a < b)),
    ("add_signed", |a, b, _| {
        overflowing((a as i32).overflowing_add(b as i32))
    }),
    ("sub_signed", |a, b, _| {
        overflowing((a as i32).overflowing_sub(b as i32))
    }),
    ("mul_high", |a, b, _| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    }),
    ("mul_high_signed", |a, b, _| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    }),
    ("absolute", |a, _, _| not_zero((a as i32).unsigned_abs())),
    ("difference", |a, b, _| {
        not_zero((a as i32).wrapping_sub(b as i32).unsigned_abs())
    }),
    ("field", |a, b, _| not_zero(low(a >> (b & 31), b >> 8 & 31))),
    ("field_signed", |a, b, _| {
        not_zero(field_signed((a as i32).into(), b & 31, b >> 8 & 31, 32) as u32)
    }),
    ("mask", |a, b, _| low(u32::MAX, a & 31) << (b & 31)),
    ("zeros", |a, _, _| not_zero(a.count_zeros())),
    ("ones", |a, _, _| not_zero(a.count_ones())),
    ("pack_low_low", |a, b, _| low_half(a) | b << 16),
    ("pack_low_high", |a, b, _| low_half(a) | b & 0xffff_0000),
    ("pack_high_low", |a, b, _| a >> 16 | b << 16),
    ("pack_high_high", |a, b, _| a >> 16 | b & 0xffff_0000),
    ("move_if", |_, b, _| mix(b, true)),
    ("clear_bit", |a, b, _| mix(a & !(1 << (b & 31)), true)),
    ("set_bit", |a, b, _| mix(a | 1 << (b & 31), true)),
    ("add_constant", |a, _, _| {
        overflowing((a as i32).overflowing_add(-0x1234))
    }),
    ("mul_constant", |a, _, _| {
        mix((a as i32).wrapping_mul(-0x1234) as u32, true)
    }),
    ("compare_signed", |a, b, _| signed(a, b)),
    ("compare_unsigned", |a, b, _| unsigned(a, b)),
];

/// The lower word of `b`, and in it a place and a number of bits.
fn shape(b: u64) -> (u32, u32) {
    (b as u32 & 63, b as u32 >> 8 & 63)
}

const SCALAR_WIDE: &[Column<u64>] = &[
    ("and_", |a, b, _| wide_not_zero(a & b)),
    ("or_", |a, b, _| wide_not_zero(a | b)),
    ("xor_", |a, b, _| wide_not_zero(a ^ b)),
    ("nand", |a, b, _| wide_not_zero(!(a & b))),
    ("nor", |a, b, _| wide_not_zero(!(a | b))),
    ("xnor", |a, b, _| wide_not_zero(!(a ^ b))),
    ("and_not", |a, b, _| wide_not_zero(a & !b)),
    ("or_not", |a, b, _| wide_not_zero(a | !b)),
    ("not_", |a, _, _| wide_not_zero(!a)),
    ("shift_left", |a, b, _| wide_not_zero(a << (b & 63))),
    ("shift_right", |a, b, _| wide_not_zero(a >> (b & 63))),
    ("shift_right_signed", |a, b, _| {
        wide_not_zero((a as i64 >> (b & 63)) as u64)
    }),
    ("field", |a, b, _| {
        let (from, bits) = shape(b);
        wide_not_zero(a >> from & ((1 << bits) - 1))
    }),
    ("field_signed", |a, b, _| {
        let (from, bits) = shape(b);
        wide_not_zero(field_signed(a as i64, from, bits, 64) as u64)
    }),
    ("mask", |a, b, _| ((1 << (a & 63)) - 1) << (b & 63)),
    ("zeros", |a, _, _| not_zero(a.count_zeros()).into()),
    ("ones", |a, _, _| not_zero(a.count_ones()).into()),
    ("reverse", |a, _, _| a.reverse_bits()),
    ("move_if", |_, b, _| mix_wide(b, true)),
    ("equal", |a, b, _| if a == b { 1 } else { 2 }),
];
