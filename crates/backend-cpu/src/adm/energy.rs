//! Sums of cubes of the original details.

use std::ops::Range;

use vmafx_metrics::adm::steps::{Shifts, half};

use super::rows::{MARGIN, Part};
use crate::vector::{Buffer, Detail, Simd};

fn registers(columns: &Range<usize>, lanes: usize) -> Range<usize> {
    MARGIN + columns.start / lanes * lanes..MARGIN + columns.end.next_multiple_of(lanes)
}

/// The sums over a row of the first level.
#[inline(always)]
pub(super) fn cubes_first<S: Simd + Detail>(
    simd: S,
    details: &[Buffer<i16>; 3],
    part: &Part,
) -> [u64; 3] {
    let lanes = 2 * S::LANES;
    let Range { start, end } = registers(&part.level.columns, lanes);
    assert!(part.scored16.len() >= end && details.iter().all(|band| band.len() >= end));
    let mut totals = [0; 3];
    for (total, band) in totals.iter_mut().zip(details) {
        let mut sum = simd.zero();
        let mut at = start;
        while at < end {
            // SAFETY: a register from `at` on ends at `end` at the latest, and the rows reach
            // there.
            let x = unsafe {
                let scored = simd.load(part.scored16.as_ptr().add(at));
                simd.and(simd.load(band.as_ptr().add(at)), scored)
            };
            let m = simd.abs16(x);
            let low = simd.mul_low16(m, m);
            let high = simd.mul_high_unsigned16(m, m);
            let zero = simd.zero();
            for (square, m) in [
                (
                    simd.interleave_low16(low, high),
                    simd.interleave_low16(m, zero),
                ),
                (
                    simd.interleave_high16(low, high),
                    simd.interleave_high16(m, zero),
                ),
            ] {
                let even = simd.mul_even_unsigned32(square, m);
                let square = simd.shift_right64::<32>(square);
                let odd = simd.mul_even_unsigned32(square, simd.shift_right64::<32>(m));
                sum = simd.add64(simd.add64(sum, even), odd);
            }
            at += lanes;
        }
        *total = simd.sum64(sum) as u64;
    }
    totals
}

/// The sums over a row of another level, before the shift of rows.
#[inline(always)]
pub(super) fn cubes_later<S: Simd + Detail>(
    simd: S,
    details: &[Buffer<i32>; 3],
    part: &Part,
    shifts: &Shifts,
) -> [u64; 3] {
    let lanes = S::LANES;
    let Range { start, end } = registers(&part.level.columns, lanes);
    assert!(part.scored.len() >= end && details.iter().all(|band| band.len() >= end));
    let mut totals = [0; 3];
    for (total, band) in totals.iter_mut().zip(details) {
        let (mut sum, mut seen) = (simd.zero(), simd.zero());
        let mut at = start;
        while at < end {
            // SAFETY: a register from `at` on ends at `end` at the latest, and the rows reach
            // there.
            let x = unsafe {
                let scored = simd.load(part.scored.as_ptr().add(at));
                simd.and(simd.load(band.as_ptr().add(at)), scored)
            };
            let m = simd.abs32(x);
            seen = simd.or(seen, m);
            sum = add_cubes(simd, sum, m, shifts);
            sum = add_cubes(simd, sum, simd.shift_right64::<32>(m), shifts);
            at += lanes;
        }
        // The square of 2^31 needs more than 32 bits after its shift.
        *total = match simd.any(simd.and(seen, simd.splat32(1 << 31))) {
            false => simd.sum64(sum) as u64,
            true => cubes_scalar(&band[MARGIN..][part.level.columns.clone()], shifts),
        };
    }
    totals
}

#[inline(always)]
fn add_cubes<S: Simd + Detail>(simd: S, sum: S::Int, m: S::Int, shifts: &Shifts) -> S::Int {
    let square = simd.mul_even_unsigned32(m, m);
    // A whole unit, not a half: see the reference.
    let square = simd.add64(square, simd.splat64(1 << shifts.square));
    let square = simd.shift_right64_by(square, shifts.square);
    let cube = simd.mul_even_unsigned32(square, m);
    let cube = simd.add64(cube, simd.splat64(half(shifts.cube) as u64));
    simd.add64(sum, simd.shift_right64_by(cube, shifts.cube))
}

#[cold]
#[inline(never)]
fn cubes_scalar(row: &[i32], shifts: &Shifts) -> u64 {
    let cubes = row.iter().map(|x| {
        let m = u64::from(x.unsigned_abs());
        let square = (m * m + (1 << shifts.square)) >> shifts.square;
        (square * m + half(shifts.cube) as u64) >> shifts.cube
    });
    cubes.sum()
}
