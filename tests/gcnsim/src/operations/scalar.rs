//! Instructions over scalar registers.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::nonminimal_bool,
    clippy::double_comparisons,
    reason = "not less than is what the instruction says, and it holds for what is not a number"
)]

use crate::operations::vector::leading_signs;
use crate::wave::Kind;

/// What an instruction over scalar registers computes: from its operands and the condition bit to
/// the result and the condition bit, none where it stays as it is.
pub(crate) type Compute = fn([u64; 3], bool) -> (u64, Option<bool>);

/// What a comparison makes of its operands.
pub(crate) type Compare = fn(u64, u64) -> bool;

/// An instruction over scalar registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub(crate) compute: Compute,
    pub(crate) result: Kind,
    pub(crate) sources: &'static [Kind],
    /// Whether the result is an operand, the first, as well.
    pub(crate) accumulates: bool,
}

/// A table: name => (operands: their types) -> type of the result { result, condition }.
macro_rules! scalars {
    ($($($name:literal)|+ => $(+ $acc:ident)? ($($operand:ident: $type:ident),*; $condition:ident) -> $result:ident { $body:expr })*) => {
        /// The instruction of that name.
        pub(crate) fn find(name: &str) -> Option<Scalar> {
            match name {
                $($($name)|+ => Some(Scalar {
                    compute: |operands, $condition| {
                        let _ = $condition;
                        let mut operands = operands.into_iter();
                        $(let $operand = scalars!(@read $type, operands.next().unwrap_or(0));)*
                        let (result, condition) = $body;
                        let result: scalars!(@type $result) = result;
                        (scalars!(@write $result, result), condition)
                    },
                    result: scalars!(@kind $result),
                    sources: &[$(scalars!(@kind $type)),*],
                    accumulates: scalars!(@accumulates $($acc)?),
                }),)*
                _ => None,
            }
        }
    };
    (@accumulates) => { false };
    (@accumulates $acc:ident) => { true };
    (@type $type:ident) => { $type };
    (@read f32, $value:expr) => { f32::from_bits($value as u32) };
    (@read $type:ident, $value:expr) => { $value as $type };
    (@write f32, $value:expr) => { u64::from($value.to_bits()) };
    (@write i32, $value:expr) => { u64::from($value as u32) };
    (@write $type:ident, $value:expr) => { $value as u64 };
    (@kind u32) => { Kind::U32 };
    (@kind i32) => { Kind::I32 };
    (@kind f32) => { Kind::F32 };
    (@kind u64) => { Kind::U64 };
    (@kind i64) => { Kind::I64 };
}

scalars! {
    // Moves.
    "s_mov_b32" => (a: u32; scc) -> u32 { (a, None) }
    "s_mov_b64" => (a: u64; scc) -> u64 { (a, None) }
    "s_cmov_b32" => + acc (a: u32, b: u32; scc) -> u32 { (if scc { b } else { a }, None) }
    "s_cmov_b64" => + acc (a: u64, b: u64; scc) -> u64 { (if scc { b } else { a }, None) }
    "s_cselect_b32" => (a: u32, b: u32; scc) -> u32 { (if scc { a } else { b }, None) }
    "s_cselect_b64" => (a: u64, b: u64; scc) -> u64 { (if scc { a } else { b }, None) }
    "s_sext_i32_i8" => (a: u32; scc) -> i32 { (i32::from(a as u8 as i8), None) }
    "s_sext_i32_i16" => (a: u32; scc) -> i32 { (i32::from(a as u16 as i16), None) }

    // Bits.
    "s_not_b32" => (a: u32; scc) -> u32 { (!a, Some(!a != 0)) }
    "s_not_b64" => (a: u64; scc) -> u64 { (!a, Some(!a != 0)) }
    "s_and_b32" => (a: u32, b: u32; scc) -> u32 { (a & b, Some(a & b != 0)) }
    "s_and_b64" => (a: u64, b: u64; scc) -> u64 { (a & b, Some(a & b != 0)) }
    "s_or_b32" => (a: u32, b: u32; scc) -> u32 { (a | b, Some(a | b != 0)) }
    "s_or_b64" => (a: u64, b: u64; scc) -> u64 { (a | b, Some(a | b != 0)) }
    "s_xor_b32" => (a: u32, b: u32; scc) -> u32 { (a ^ b, Some(a ^ b != 0)) }
    "s_xor_b64" => (a: u64, b: u64; scc) -> u64 { (a ^ b, Some(a ^ b != 0)) }
    "s_andn2_b32" | "s_and_not1_b32" => (a: u32, b: u32; scc) -> u32 { (a & !b, Some(a & !b != 0)) }
    "s_andn2_b64" | "s_and_not1_b64" => (a: u64, b: u64; scc) -> u64 { (a & !b, Some(a & !b != 0)) }
    "s_orn2_b32" | "s_or_not1_b32" => (a: u32, b: u32; scc) -> u32 { (a | !b, Some(a | !b != 0)) }
    "s_orn2_b64" | "s_or_not1_b64" => (a: u64, b: u64; scc) -> u64 { (a | !b, Some(a | !b != 0)) }
    "s_nand_b32" => (a: u32, b: u32; scc) -> u32 { (!(a & b), Some(!(a & b) != 0)) }
    "s_nand_b64" => (a: u64, b: u64; scc) -> u64 { (!(a & b), Some(!(a & b) != 0)) }
    "s_nor_b32" => (a: u32, b: u32; scc) -> u32 { (!(a | b), Some(!(a | b) != 0)) }
    "s_nor_b64" => (a: u64, b: u64; scc) -> u64 { (!(a | b), Some(!(a | b) != 0)) }
    "s_xnor_b32" => (a: u32, b: u32; scc) -> u32 { (!(a ^ b), Some(!(a ^ b) != 0)) }
    "s_xnor_b64" => (a: u64, b: u64; scc) -> u64 { (!(a ^ b), Some(!(a ^ b) != 0)) }
    "s_brev_b32" => (a: u32; scc) -> u32 { (a.reverse_bits(), None) }
    "s_brev_b64" => (a: u64; scc) -> u64 { (a.reverse_bits(), None) }
    "s_bcnt0_i32_b32" => (a: u32; scc) -> u32 { (a.count_zeros(), Some(a.count_zeros() != 0)) }
    "s_bcnt1_i32_b32" => (a: u32; scc) -> u32 { (a.count_ones(), Some(a != 0)) }
    "s_bcnt0_i32_b64" => (a: u64; scc) -> u32 { (a.count_zeros(), Some(a.count_zeros() != 0)) }
    "s_bcnt1_i32_b64" => (a: u64; scc) -> u32 { (a.count_ones(), Some(a != 0)) }
    "s_ff1_i32_b32" | "s_ctz_i32_b32" => (a: u32; scc) -> u32 { (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None) }
    "s_ff1_i32_b64" | "s_ctz_i32_b64" => (a: u64; scc) -> u32 { (if a == 0 { u32::MAX } else { a.trailing_zeros() }, None) }
    "s_flbit_i32_b32" | "s_clz_i32_u32" => (a: u32; scc) -> u32 { (if a == 0 { u32::MAX } else { a.leading_zeros() }, None) }
    "s_flbit_i32_b64" | "s_clz_i32_u64" => (a: u64; scc) -> u32 { (if a == 0 { u32::MAX } else { a.leading_zeros() }, None) }
    "s_flbit_i32" | "s_cls_i32" => (a: i32; scc) -> u32 { (leading_signs(a), None) }
    "s_bitset0_b32" => + acc (a: u32, b: u32; scc) -> u32 { (a & !(1 << (b & 31)), None) }
    "s_bitset1_b32" => + acc (a: u32, b: u32; scc) -> u32 { (a | 1 << (b & 31), None) }
    "s_bfm_b32" => (a: u32, b: u32; scc) -> u32 { (((1 << (a & 31)) - 1) << (b & 31), None) }
    "s_bfm_b64" => (a: u32, b: u32; scc) -> u64 { (((1u64 << (a & 63)) - 1) << (b & 63), None) }
    "s_bfe_u32" => (a: u32, b: u32; scc) -> u32 { nonzero(field(u64::from(a), b, 32) as u32) }
    "s_bfe_i32" => (a: i32, b: u32; scc) -> i32 { { let value = signed_field(i64::from(a), b, 32) as i32; (value, Some(value != 0)) } }
    "s_bfe_u64" => (a: u64, b: u32; scc) -> u64 { { let value = field(a, b, 64); (value, Some(value != 0)) } }
    "s_bfe_i64" => (a: i64, b: u32; scc) -> i64 { { let value = signed_field(a, b, 64); (value, Some(value != 0)) } }
    "s_pack_ll_b32_b16" => (a: u32, b: u32; scc) -> u32 { (a & 0xffff | b << 16, None) }
    "s_pack_lh_b32_b16" => (a: u32, b: u32; scc) -> u32 { (a & 0xffff | b & 0xffff_0000, None) }
    "s_pack_hl_b32_b16" => (a: u32, b: u32; scc) -> u32 { (a >> 16 | b << 16, None) }
    "s_pack_hh_b32_b16" => (a: u32, b: u32; scc) -> u32 { (a >> 16 | b & 0xffff_0000, None) }

    // Shifts.
    "s_lshl_b32" => (a: u32, b: u32; scc) -> u32 { nonzero(a << (b & 31)) }
    "s_lshr_b32" => (a: u32, b: u32; scc) -> u32 { nonzero(a >> (b & 31)) }
    "s_ashr_i32" => (a: i32, b: u32; scc) -> u32 { nonzero((a >> (b & 31)) as u32) }
    "s_lshl_b64" => (a: u64, b: u32; scc) -> u64 { (a << (b & 63), Some(a << (b & 63) != 0)) }
    "s_lshr_b64" => (a: u64, b: u32; scc) -> u64 { (a >> (b & 63), Some(a >> (b & 63) != 0)) }
    "s_ashr_i64" => (a: i64, b: u32; scc) -> i64 { (a >> (b & 63), Some(a >> (b & 63) != 0)) }
    "s_lshl1_add_u32" => (a: u32, b: u32; scc) -> u32 { shifted_sum(a, b, 1) }
    "s_lshl2_add_u32" => (a: u32, b: u32; scc) -> u32 { shifted_sum(a, b, 2) }
    "s_lshl3_add_u32" => (a: u32, b: u32; scc) -> u32 { shifted_sum(a, b, 3) }
    "s_lshl4_add_u32" => (a: u32, b: u32; scc) -> u32 { shifted_sum(a, b, 4) }

    // Arithmetic. The condition is the carry of unsigned sums, the overflow of signed ones.
    "s_add_u32" | "s_add_co_u32" => (a: u32, b: u32; scc) -> u32 { sum(a, b, false) }
    "s_addc_u32" | "s_add_co_ci_u32" => (a: u32, b: u32; scc) -> u32 { sum(a, b, scc) }
    "s_sub_u32" | "s_sub_co_u32" => (a: u32, b: u32; scc) -> u32 { (a.wrapping_sub(b), Some(a < b)) }
    "s_subb_u32" | "s_sub_co_ci_u32" => (a: u32, b: u32; scc) -> u32 { (a.wrapping_sub(b).wrapping_sub(u32::from(scc)), Some(u64::from(a) < u64::from(b) + u64::from(scc))) }
    "s_add_i32" | "s_add_co_i32" => (a: i32, b: i32; scc) -> i32 { { let (sum, over) = a.overflowing_add(b); (sum, Some(over)) } }
    "s_sub_i32" | "s_sub_co_i32" => (a: i32, b: i32; scc) -> i32 { { let (difference, over) = a.overflowing_sub(b); (difference, Some(over)) } }
    "s_addk_i32" | "s_addk_co_i32" => + acc (a: i32, b: i32; scc) -> i32 { { let (sum, over) = a.overflowing_add(i32::from(b as i16)); (sum, Some(over)) } }
    "s_mulk_i32" => + acc (a: i32, b: i32; scc) -> i32 { (a.wrapping_mul(i32::from(b as i16)), None) }
    "s_movk_i32" => (a: i32; scc) -> i32 { (i32::from(a as i16), None) }
    "s_mul_i32" => (a: i32, b: i32; scc) -> i32 { (a.wrapping_mul(b), None) }
    "s_mul_hi_u32" => (a: u32, b: u32; scc) -> u32 { (((u64::from(a) * u64::from(b)) >> 32) as u32, None) }
    "s_mul_hi_i32" => (a: i32, b: i32; scc) -> i32 { (((i64::from(a) * i64::from(b)) >> 32) as i32, None) }
    "s_mul_u64" => (a: u64, b: u64; scc) -> u64 { (a.wrapping_mul(b), None) }
    "s_add_u64" | "s_add_nc_u64" => (a: u64, b: u64; scc) -> u64 { (a.wrapping_add(b), None) }
    "s_sub_u64" | "s_sub_nc_u64" => (a: u64, b: u64; scc) -> u64 { (a.wrapping_sub(b), None) }
    "s_abs_i32" => (a: i32; scc) -> u32 { nonzero(a.unsigned_abs()) }
    "s_absdiff_i32" => (a: i32, b: i32; scc) -> u32 { nonzero(a.wrapping_sub(b).unsigned_abs()) }
    "s_min_i32" => (a: i32, b: i32; scc) -> i32 { (a.min(b), Some(a < b)) }
    "s_max_i32" => (a: i32, b: i32; scc) -> i32 { (a.max(b), Some(a > b)) }
    "s_min_u32" => (a: u32, b: u32; scc) -> u32 { (a.min(b), Some(a < b)) }
    "s_max_u32" => (a: u32, b: u32; scc) -> u32 { (a.max(b), Some(a > b)) }

    // Floating point, where scalar units have it.
    "s_add_f32" => (a: f32, b: f32; scc) -> f32 { (a + b, None) }
    "s_sub_f32" => (a: f32, b: f32; scc) -> f32 { (a - b, None) }
    "s_mul_f32" => (a: f32, b: f32; scc) -> f32 { (a * b, None) }
    "s_fmac_f32" => + acc (c: f32, a: f32, b: f32; scc) -> f32 { (a.mul_add(b, c), None) }
    "s_fmaak_f32" | "s_fmamk_f32" => (a: f32, b: f32, c: f32; scc) -> f32 { (a.mul_add(b, c), None) }
    "s_cvt_f32_i32" => (a: i32; scc) -> f32 { (a as f32, None) }
    "s_cvt_f32_u32" => (a: u32; scc) -> f32 { (a as f32, None) }
    "s_cvt_i32_f32" => (a: f32; scc) -> i32 { (a as i32, None) }
    "s_cvt_u32_f32" => (a: f32; scc) -> u32 { (a as u32, None) }
    "s_trunc_f32" => (a: f32; scc) -> f32 { (a.trunc(), None) }
    "s_floor_f32" => (a: f32; scc) -> f32 { (a.floor(), None) }
    "s_ceil_f32" => (a: f32; scc) -> f32 { (a.ceil(), None) }
    "s_rndne_f32" => (a: f32; scc) -> f32 { (a.round_ties_even(), None) }
}

/// A comparison, `s_cmp_<what>_<type>`, which only sets the condition bit.
pub(crate) fn find_comparison(what: &str) -> Option<(Compare, Kind)> {
    macro_rules! integers {
        ($name:expr, $type:ty) => {
            match $name {
                "eq" => |a, b| a as $type == b as $type,
                "lg" => |a, b| a as $type != b as $type,
                "gt" => |a, b| a as $type > b as $type,
                "ge" => |a, b| a as $type >= b as $type,
                "lt" => |a, b| (a as $type) < b as $type,
                "le" => |a, b| a as $type <= b as $type,
                _ => return None,
            }
        };
    }
    fn number(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    let (name, of_type) = what.rsplit_once('_')?;
    Some(match of_type {
        "u32" => (integers!(name, u32), Kind::U32),
        "i32" => (integers!(name, i32), Kind::I32),
        "u64" => (integers!(name, u64), Kind::U64),
        "f32" => (
            match name {
                "eq" => |a, b| number(a) == number(b),
                "neq" => |a, b| number(a) != number(b),
                "lt" => |a, b| number(a) < number(b),
                "le" => |a, b| number(a) <= number(b),
                "gt" => |a, b| number(a) > number(b),
                "ge" => |a, b| number(a) >= number(b),
                "lg" => |a, b| number(a) < number(b) || number(a) > number(b),
                "nlt" => |a, b| !(number(a) < number(b)),
                "nle" => |a, b| !(number(a) <= number(b)),
                "ngt" => |a, b| !(number(a) > number(b)),
                "nge" => |a, b| !(number(a) >= number(b)),
                "nlg" => |a, b| !(number(a) < number(b) || number(a) > number(b)),
                "o" => |a, b| !number(a).is_nan() && !number(b).is_nan(),
                "u" => |a, b| number(a).is_nan() || number(b).is_nan(),
                _ => return None,
            },
            Kind::F32,
        ),
        _ => return None,
    })
}

fn nonzero(value: u32) -> (u32, Option<bool>) {
    (value, Some(value != 0))
}

fn sum(a: u32, b: u32, carry: bool) -> (u32, Option<bool>) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    (sum as u32, Some(sum >> 32 != 0))
}

fn shifted_sum(a: u32, b: u32, by: u32) -> (u32, Option<bool>) {
    let sum = (u64::from(a) << by) + u64::from(b);
    (sum as u32, Some(sum >> 32 != 0))
}

/// Bits from the offset in the low bits of `which`, as many as it says in bits 16 to 22.
fn field(a: u64, which: u32, bits: u32) -> u64 {
    let (from, count) = (which & (bits - 1), which >> 16 & 0x7f);
    match count {
        0 => 0,
        64.. => a >> from,
        _ => a >> from & ((1 << count) - 1),
    }
}

fn signed_field(a: i64, which: u32, bits: u32) -> i64 {
    let (from, count) = (which & (bits - 1), which >> 16 & 0x7f);
    match count {
        0 => 0,
        _ if from + count >= bits => a >> from,
        _ => a << (64 - from - count) >> (64 - count),
    }
}
