//! Instructions that know of lanes: choices by a bit a lane, counts of lanes below, and moves
//! between lanes and scalar registers.

use super::{Operands, Run, division};
use crate::wave::{Kind, Lane, Wave};

/// What such an instruction reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One result a lane; sources of these types.
    Lanes(&'static [Kind]),
    /// Two sources and scalar registers with a bit a lane, VCC where none are named.
    Choice(Kind),
    /// One scalar result.
    Scalar(&'static [Kind]),
    /// One lane of a register, which is a source as well.
    Lane,
}

/// What runs an instruction that knows of lanes.
pub(crate) fn find<const W: usize>(name: &str) -> Option<(Run<W>, Shape)> {
    const TWO: &[Kind] = &[Kind::U32; 2];
    Some(match name {
        "v_cndmask_b32" => (choose::<u32, W>, Shape::Choice(Kind::U32)),
        "v_cndmask_b16" => (choose::<u16, W>, Shape::Choice(Kind::U16)),
        "v_mbcnt_lo_u32_b32" => (below::<W, 0>, Shape::Lanes(TWO)),
        "v_mbcnt_hi_u32_b32" => (below::<W, 32>, Shape::Lanes(TWO)),
        "v_bitop3_b32" => (truth_table::<u32, W>, Shape::Lanes(&[Kind::U32; 3])),
        "v_bitop3_b16" => (truth_table::<u16, W>, Shape::Lanes(&[Kind::U16; 3])),
        "v_bitop2_b32" => (truth_table::<u32, W>, Shape::Lanes(TWO)),
        "v_readfirstlane_b32" => (first::<W>, Shape::Scalar(&[Kind::U32])),
        "v_readlane_b32" => (one::<W>, Shape::Scalar(TWO)),
        "v_writelane_b32" => (put::<W>, Shape::Lane),
        "v_s_rcp_f32" => (estimate::<W, 0>, Shape::Scalar(&[Kind::F32])),
        "v_s_rsq_f32" => (estimate::<W, 1>, Shape::Scalar(&[Kind::F32])),
        "v_s_sqrt_f32" => (estimate::<W, 2>, Shape::Scalar(&[Kind::F32])),
        "v_permlane16_b32" => (in_rows::<W, 0>, Shape::Lanes(&[Kind::U32; 3])),
        "v_permlanex16_b32" => (in_rows::<W, 16>, Shape::Lanes(&[Kind::U32; 3])),
        _ => return None,
    })
}

fn choose<T: Lane, const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let a = T::read(wave, operands.source(0));
    let b = T::read(wave, operands.source(1));
    let bits = wave.lane_mask(operands.bits);
    let chosen = std::array::from_fn(|lane| {
        if bits >> lane & 1 != 0 {
            b[lane]
        } else {
            a[lane]
        }
    });
    T::write(wave, &operands.dest, &chosen);
}

/// Bits of a word that belong to lanes below, counted and added.
fn below<const W: usize, const FIRST: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let bits = u32::read(wave, operands.source(0));
    let plus = u32::read(wave, operands.source(1));
    let counts = std::array::from_fn(|lane| {
        let lanes = lane.saturating_sub(FIRST).min(32);
        let below = ((1u64 << lanes) - 1) as u32;
        (bits[lane] & below).count_ones().wrapping_add(plus[lane])
    });
    u32::write(wave, &operands.dest, &counts);
}

/// Any function of up to three bits, by its table.
fn truth_table<T: Lane + Into<u32> + TryFrom<u32>, const W: usize>(
    wave: &mut Wave<W>,
    operands: &Operands,
) {
    let read = |at: usize| T::read(wave, operands.source(at)).map(Into::<u32>::into);
    let (a, b, c) = (read(0), read(1), read(2));
    let results = std::array::from_fn(|lane| {
        let (a, b, c) = (a[lane], b[lane], c[lane]);
        let mut result = 0;
        for row in 0..8u32 {
            if operands.number >> row & 1 != 0 {
                let of = |word: u32, bit: u32| if row >> bit & 1 != 0 { word } else { !word };
                result |= of(a, 2) & of(b, 1) & of(c, 0);
            }
        }
        let kept = if T::KIND == Kind::U16 {
            result & 0xffff
        } else {
            result
        };
        T::try_from(kept).unwrap_or_default()
    });
    T::write(wave, &operands.dest, &results);
}

fn first<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let word = wave.word(operands.source(0));
    wave.set_scalar(operands.scalar, word);
}

/// The estimate of [`division::find_estimate`] with this number, of a scalar.
fn estimate<const W: usize, const WHICH: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let a = f32::read(wave, operands.source(0))[0];
    let (exact, is_exact) = division::SINGLES[WHICH];
    let estimate = match is_exact(a) {
        true => exact(a),
        false => wave.estimate32(exact(a)),
    };
    wave.set_scalar(operands.scalar, estimate.to_bits());
}

fn one<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let lane = wave.word(operands.source(1)) as usize % W;
    let word = u32::read(wave, operands.source(0))[lane];
    wave.set_scalar(operands.scalar, word);
}

fn put<const W: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let word = wave.word(operands.source(0));
    let lane = wave.word(operands.source(1)) as usize % W;
    // Whether the lane is active does not matter.
    wave.v[usize::from(operands.dest.at)][lane] = word;
}

/// Lanes of rows of 16 by four bits each of two words, from the own row or the one beside it.
fn in_rows<const W: usize, const OTHER: usize>(wave: &mut Wave<W>, operands: &Operands) {
    let values = u32::read(wave, operands.source(0));
    let low = wave.word(operands.source(1));
    let high = wave.word(operands.source(2));
    let choices = u64::from(low) | u64::from(high) << 32;
    let (exec, old) = (wave.exec(), wave.v[usize::from(operands.dest.at)]);
    let (reads_inactive, bounded) = (operands.number & 1 != 0, operands.number & 2 != 0);
    let moved = std::array::from_fn(|lane| {
        let chosen = (choices >> (4 * (lane % 16)) & 15) as usize;
        let from = (lane & !15 ^ OTHER) | chosen;
        match exec >> from & 1 != 0 || reads_inactive {
            true => values[from],
            false if bounded => 0,
            false => old[lane],
        }
    });
    u32::write(wave, &operands.dest, &moved);
}
