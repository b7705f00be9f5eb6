//! Thresholds, and sums of cubes of what is above them.
//!
//! What must stay true: 32-bit lanes wrap as the reference wraps. A cube may be negative where a
//! square wrapped; it is shifted as an unsigned number with an offset that is taken off the sum.

use vmafx_metrics::adm::steps::{Coarser, Finest, Precision, half};

use super::first::Row;
use super::rows::{MARGIN, Part};
use crate::vector::{Buffer, Detail, Element, Simd};

/// Added to each cube, whose magnitude is at most as large.
const OFFSET: u64 = 1 << 62;

/// Weighted magnitudes of a level in 32-bit lanes.
pub(super) trait Weighted: Precision {
    /// How magnitudes are held.
    type Magnitude: Element;

    /// Loads a register of them.
    ///
    /// # Safety
    /// As many magnitudes as there are 32-bit lanes must be readable from `from` on.
    unsafe fn load<S: Simd>(simd: S, from: *const Self::Magnitude, factor: S::Int) -> S::Int;
}

impl Weighted for Finest {
    type Magnitude = u16;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const u16, factor: S::Int) -> S::Int {
        // SAFETY: as many words as there are 32-bit lanes are half a register.
        let magnitude = unsafe { simd.load_widened16(from) };
        simd.mul_low32(magnitude, factor)
    }
}

impl Weighted for Coarser {
    type Magnitude = i32;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const i32, _factor: S::Int) -> S::Int {
        // SAFETY: the caller passes a register.
        unsafe { simd.load(from) }
    }
}

/// Sums over a row of the cubes of part `which` as far as the other part, in the `rows` above,
/// here and below, does not mask it; before the shift of rows.
#[inline(always)]
pub(super) fn masked_cubes<S: Simd + Detail, W: Weighted>(
    simd: S,
    which: usize,
    rows: [&Row<W::Magnitude>; 3],
    part: &Part,
    factors: [u32; 3],
    columns: &mut Buffer<i32>,
) -> [i64; 3] {
    let lanes = S::LANES;
    let masker = 1 - which;
    let width = part.level.size.width;

    let wide = part.level.wide_columns();
    let from = MARGIN + wide.start / lanes * lanes;
    let to = MARGIN + wide.end.next_multiple_of(lanes);
    let spread = [
        &*rows[0].spread[masker],
        &*rows[1].spread[masker],
        &*rows[2].spread[masker],
    ];
    assert!(spread.iter().all(|row| row.len() >= to) && columns.len() >= to + lanes);
    let mut at = from;
    while at < to {
        // SAFETY: a register from `at` on ends at `to` at the latest, and all rows reach there.
        unsafe {
            let sum = simd.add32(
                simd.load(spread[0].as_ptr().add(at)),
                simd.load(spread[1].as_ptr().add(at)),
            );
            let sum = simd.add32(sum, simd.load(spread[2].as_ptr().add(at)));
            simd.store(columns.as_mut_ptr().add(at), sum);
        }
        at += lanes;
    }
    columns[MARGIN - 1] = columns[MARGIN + 1];
    columns[MARGIN + width] = match wide.end == width {
        true => columns[MARGIN + width - 1],
        false => columns[MARGIN + width],
    };

    let scored = part.level.columns.clone();
    let from = MARGIN + scored.start / lanes * lanes;
    let to = MARGIN + scored.end.next_multiple_of(lanes);
    let own = &*rows[1].own[masker];
    let magnitudes = &rows[1].magnitudes[which];
    assert!(columns.len() > to && own.len() >= to && part.scored.len() >= to);
    assert!(magnitudes.iter().all(|band| band.len() >= to));
    let mut sums = [simd.zero(); 3];
    let bands = [
        Band::new::<W>(simd, 0, width, factors),
        Band::new::<W>(simd, 1, width, factors),
        Band::new::<W>(simd, 2, width, factors),
    ];
    let magnitudes = [
        magnitudes[0].as_ptr(),
        magnitudes[1].as_ptr(),
        magnitudes[2].as_ptr(),
    ];
    let [columns, own, inside] = [columns.as_ptr(), own.as_ptr(), part.scored.as_ptr()];
    let mut at = from;
    while at < to {
        // SAFETY: as above; the neighbours on both sides lie in the row with its margins.
        unsafe {
            let sum = simd.add32(simd.load(columns.add(at - 1)), simd.load(columns.add(at)));
            let sum = simd.add32(sum, simd.load(columns.add(at + 1)));
            let sum = simd.add32(sum, simd.load(own.add(at)));
            let threshold = simd.and(sum, simd.load(inside.add(at)));
            // One after another, so that the shifts are known to the compiler.
            let weighed = W::load(simd, magnitudes[0].add(at), bands[0].factor);
            sums[0] = bands[0].add::<W, 0>(simd, sums[0], threshold, weighed);
            let weighed = W::load(simd, magnitudes[1].add(at), bands[1].factor);
            sums[1] = bands[1].add::<W, 1>(simd, sums[1], threshold, weighed);
            let weighed = W::load(simd, magnitudes[2].add(at), bands[2].factor);
            sums[2] = bands[2].add::<W, 2>(simd, sums[2], threshold, weighed);
        }
        at += lanes;
    }
    let count = (to - from) as u64;
    let mut totals = [0; 3];
    for band in 0..3 {
        let offset = count.wrapping_mul(OFFSET >> W::cube_shift(band, width));
        totals[band] = simd.sum64(sums[band]).wrapping_sub(offset as i64);
    }
    totals
}

/// What the cubes of one band are made with.
struct Band<S: Simd> {
    factor: S::Int,
    square_half: S::Int,
    /// Half of a unit and the offset.
    cube_half: S::Int,
    cube_shift: u32,
}

impl<S: Simd + Detail> Band<S> {
    #[inline(always)]
    fn new<W: Weighted>(simd: S, band: usize, width: usize, factors: [u32; 3]) -> Self {
        let cube_shift = W::cube_shift(band, width);
        Band {
            factor: simd.splat32(factors[band]),
            square_half: simd.splat64(half(W::square_shift(band)) as u64),
            cube_half: simd.splat64(half(cube_shift) as u64 + OFFSET),
            cube_shift,
        }
    }

    /// Adds the cubes of what of `weighed` is above `threshold`.
    #[inline(always)]
    fn add<W: Weighted, const BAND: usize>(
        &self,
        simd: S,
        sum: S::Int,
        threshold: S::Int,
        weighed: S::Int,
    ) -> S::Int {
        let threshold = simd.shift_left32_by(threshold, W::threshold_shift(BAND));
        let seen = simd.max_signed32(simd.sub32(weighed, threshold), simd.zero());
        let odd = simd.shift_right64::<32>(seen);
        let sum = simd.add64(sum, self.cubes::<W, BAND>(simd, seen));
        simd.add64(sum, self.cubes::<W, BAND>(simd, odd))
    }

    /// The cubes of the even lanes, rounded twice.
    #[inline(always)]
    fn cubes<W: Weighted, const BAND: usize>(&self, simd: S, seen: S::Int) -> S::Int {
        let square = simd.add64(simd.mul_even_signed32(seen, seen), self.square_half);
        let square = simd.shift_right64_by(square, W::square_shift(BAND));
        let cube = simd.add64(simd.mul_even_signed32(square, seen), self.cube_half);
        simd.shift_right64_by(cube, self.cube_shift)
    }
}
