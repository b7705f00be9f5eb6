//! Instructions over pairs: two numbers of 16 bits in a register, or two of 32 in two.
//!
//! `op_sel` says which half of each operand makes the lower result, `op_sel_hi` which makes the
//! upper one. [`Operands::number`] holds them: bits 0 to 2 and 3 to 5; 6 to 8 and 9 to 11 negate
//! the operands of the lower and the upper result.

use super::{Operands, Run};
use crate::wave::{Lane, Place, Source, Wave};

/// What runs a packed instruction, how many operands it reads, and whether its numbers have 32
/// bits.
pub(crate) fn find<const W: usize>(name: &str) -> Option<(Run<W>, usize, bool)> {
    macro_rules! of {
        ($of:ident, $operands:literal, $wide:literal, $compute:expr) => {{
            fn run<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
                $of(wave, operands, $compute)
            }
            Some((run::<W> as Run<W>, $operands, $wide))
        }};
    }
    match name {
        "v_pk_mov_b32" => Some((moved::<W>, 2, true)),
        "v_pk_add_f32" => of!(floats, 2, true, |a, b, _| a + b),
        "v_pk_mul_f32" => of!(floats, 2, true, |a, b, _| a * b),
        "v_pk_fma_f32" => of!(floats, 3, true, |a, b, c| a.mul_add(b, c)),
        "v_pk_add_u16" | "v_pk_add_i16" => of!(halves, 2, false, |a, b, _| a.wrapping_add(b)),
        "v_pk_sub_u16" | "v_pk_sub_i16" => of!(halves, 2, false, |a, b, _| a.wrapping_sub(b)),
        "v_pk_add_u16 clamp" => of!(halves, 2, false, |a, b, _| a.saturating_add(b)),
        "v_pk_sub_u16 clamp" => of!(halves, 2, false, |a, b, _| a.saturating_sub(b)),
        "v_pk_add_i16 clamp" => of!(
            halves,
            2,
            false,
            |a, b, _| (a as i16).saturating_add(b as i16) as u16
        ),
        "v_pk_sub_i16 clamp" => of!(
            halves,
            2,
            false,
            |a, b, _| (a as i16).saturating_sub(b as i16) as u16
        ),
        "v_pk_mul_lo_u16" => of!(halves, 2, false, |a, b, _| a.wrapping_mul(b)),
        "v_pk_mad_u16" | "v_pk_mad_i16" => {
            of!(halves, 3, false, |a, b, c| a
                .wrapping_mul(b)
                .wrapping_add(c))
        }
        "v_pk_min_u16" => of!(halves, 2, false, |a, b, _| a.min(b)),
        "v_pk_max_u16" => of!(halves, 2, false, |a, b, _| a.max(b)),
        "v_pk_min_i16" => of!(halves, 2, false, |a, b, _| (a as i16).min(b as i16) as u16),
        "v_pk_max_i16" => of!(halves, 2, false, |a, b, _| (a as i16).max(b as i16) as u16),
        "v_pk_lshlrev_b16" => of!(halves, 2, false, |a, b, _| b << (a & 15)),
        "v_pk_lshrrev_b16" => of!(halves, 2, false, |a, b, _| b >> (a & 15)),
        "v_pk_ashrrev_i16" => of!(halves, 2, false, |a, b, _| (b as i16 >> (a & 15)) as u16),
        _ => None,
    }
}

/// Of the lower (0) or the upper (1) result: which half of operand `at`, and whether it is negated.
fn choice(operands: &Operands, result: usize, at: usize) -> (bool, bool) {
    let bit = |from: usize| operands.number >> (from + 3 * result + at) & 1 != 0;
    (bit(0), bit(6))
}

fn halves<const W: usize>(
    wave: &mut Wave<W>,
    operands: &Operands,
    compute: fn(u16, u16, u16) -> u16,
) {
    let words: [[u32; W]; 3] = std::array::from_fn(|at| wave.words(operands.source(at)));
    let half = |result: usize, at: usize, lane: usize| match choice(operands, result, at).0 {
        true => (words[at][lane] >> 16) as u16,
        false => words[at][lane] as u16,
    };
    let results = std::array::from_fn(|lane| {
        let of = |result| {
            let [a, b, c] = std::array::from_fn(|at| half(result, at, lane));
            u32::from(compute(a, b, c))
        };
        of(0) | of(1) << 16
    });
    u32::write(wave, &operands.dest, &results);
}

/// One half of a pair of 32 bits. Scalar pairs and constants: a constant is both halves of itself.
fn word_of<const W: usize>(wave: &Wave<W>, from: &Source, upper: bool) -> [u32; W] {
    match from.place {
        Place::Literal(value) => [value as u32; W],
        _ => {
            let pairs = u64::read(wave, from);
            pairs.map(|pair| (pair >> (32 * u32::from(upper))) as u32)
        }
    }
}

fn floats<const W: usize>(
    wave: &mut Wave<W>,
    operands: &Operands,
    compute: fn(f32, f32, f32) -> f32,
) {
    let result = |result: usize| -> [f32; W] {
        let operand = |at: usize| -> [f32; W] {
            let (upper, negated) = choice(operands, result, at);
            let words = word_of(wave, operands.source(at), upper);
            words.map(|word| f32::from_bits(word ^ u32::from(negated) << 31))
        };
        let [a, b, c] = std::array::from_fn(operand);
        std::array::from_fn(|lane| compute(a[lane], b[lane], c[lane]))
    };
    let (low, high) = (result(0), result(1));
    wave.write(operands.dest.at, &low.map(f32::to_bits));
    wave.write(operands.dest.at + 1, &high.map(f32::to_bits));
}

/// The lower result from the first operand, the upper one from the second.
fn moved<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let low = word_of(wave, operands.source(0), choice(operands, 0, 0).0);
    let high = word_of(wave, operands.source(1), choice(operands, 0, 1).0);
    wave.write(operands.dest.at, &low);
    wave.write(operands.dest.at + 1, &high);
}
