//! Decoupling and weighing on all levels but the first.
//!
//! Decoupling runs in `f64` lanes, in which all of it is exact but the test of the direction:
//! coefficients have 32 bits, a reciprocal 16 (or 31 for small originals, which then are of 14),
//! a share 15, and products of two of them fewer than 53. The test is left to the scalar step
//! where it is too close to call. Weighing runs in 64-bit integers.
//!
//! What must stay true: each rounding of the reference is one `floor` or one masked mantissa.

use std::ops::Range;

use vmafx_metrics::adm::steps::{
    COS_1_DEGREE_SQUARED, NEIGHBOUR_SHARE, OWN_SHARE, keeps_direction,
};

use super::first::Row;
use super::rows::{MARGIN, Part};
use crate::vector::{Buffer, Detail, Simd};

/// Bits of a mantissa behind its first 15.
const BEHIND_15: u64 = (1 << 38) - 1;
/// Bits of a mantissa behind its first 16.
const BEHIND_16: u64 = (1 << 37) - 1;

/// Takes a row of original and distorted details apart, over `columns`, into what is restored
/// and what was added.
#[inline(always)]
pub(super) fn decouple<S: Simd + Detail>(
    simd: S,
    details: [&[Buffer<i32>; 3]; 2],
    columns: Range<usize>,
    gain_limit: f64,
    parts: &mut [[Buffer<i32>; 3]; 2],
) {
    let lanes = S::LANES / 2;
    let from = MARGIN + columns.start / lanes * lanes;
    let to = MARGIN + columns.end.next_multiple_of(lanes);
    let [original, distorted] = details;
    let [restored, impairment] = parts;
    for band in original.iter().chain(distorted) {
        assert!(band.len() >= to);
    }
    for band in restored.iter().chain(&*impairment) {
        assert!(band.len() >= to);
    }
    let number = Numbers::new(simd, gain_limit);
    let o_from = [
        original[0].as_ptr(),
        original[1].as_ptr(),
        original[2].as_ptr(),
    ];
    let t_from = [
        distorted[0].as_ptr(),
        distorted[1].as_ptr(),
        distorted[2].as_ptr(),
    ];
    let r_to = [
        restored[0].as_mut_ptr(),
        restored[1].as_mut_ptr(),
        restored[2].as_mut_ptr(),
    ];
    let a_to = [
        impairment[0].as_mut_ptr(),
        impairment[1].as_mut_ptr(),
        impairment[2].as_mut_ptr(),
    ];
    let mut at = from;
    while at < to {
        // SAFETY: half a register from `at` on ends at `to` at the latest, and all rows reach
        // there.
        unsafe {
            let o = [
                simd.load_double(o_from[0].add(at)),
                simd.load_double(o_from[1].add(at)),
            ];
            let t = [
                simd.load_double(t_from[0].add(at)),
                simd.load_double(t_from[1].add(at)),
            ];
            let (mut same, unsure) = number.same_direction(simd, o, t);
            if simd.any(unsure) {
                let mut flags = [[0_i64; 8]; 2];
                simd.store(flags[0].as_mut_ptr(), same);
                simd.store(flags[1].as_mut_ptr(), unsure);
                decide(&mut flags, original, distorted, at);
                same = simd.load(flags[0].as_ptr());
            }
            // One after another, so that no band waits in memory.
            let r = number.restored(simd, o[0], t[0], same);
            simd.store_double(r_to[0].add(at), r);
            simd.store_double(a_to[0].add(at), simd.sub_double(t[0], r));
            let r = number.restored(simd, o[1], t[1], same);
            simd.store_double(r_to[1].add(at), r);
            simd.store_double(a_to[1].add(at), simd.sub_double(t[1], r));
            let o = simd.load_double(o_from[2].add(at));
            let t = simd.load_double(t_from[2].add(at));
            let r = number.restored(simd, o, t, same);
            simd.store_double(r_to[2].add(at), r);
            simd.store_double(a_to[2].add(at), simd.sub_double(t, r));
        }
        at += lanes;
    }
}

/// Sets the first flags where the second are set, for the details from `at` on.
#[cold]
#[inline(never)]
fn decide(
    [same, unsure]: &mut [[i64; 8]; 2],
    original: &[Buffer<i32>; 3],
    distorted: &[Buffer<i32>; 3],
    at: usize,
) {
    for (lane, same) in same.iter_mut().enumerate() {
        if unsure[lane] != 0 {
            let o = [original[0][at + lane], original[1][at + lane]];
            let t = [distorted[0][at + lane], distorted[1][at + lane]];
            *same = -i64::from(keeps_direction(o, t));
        }
    }
}

/// Constants in registers.
struct Numbers<S: Simd> {
    gain_limit: S::Double,
    sign: S::Int,
    one: S::Double,
    half: S::Double,
    unit: S::Double,
    share_unit: S::Double,
    reciprocal_unit: S::Double,
}

impl<S: Simd + Detail> Numbers<S> {
    #[inline(always)]
    fn new(simd: S, gain_limit: f64) -> Self {
        Numbers {
            gain_limit: simd.splat_double(gain_limit),
            sign: simd.splat64(1 << 63),
            one: simd.splat_double(1.0),
            half: simd.splat_double(0.5),
            unit: simd.splat_double(f64::from(1 << 15)),
            share_unit: simd.splat_double(1.0 / f64::from(1 << 15)),
            reciprocal_unit: simd.splat_double(f64::from(1 << 30)),
        }
    }

    #[inline(always)]
    fn abs(&self, simd: S, v: S::Double) -> S::Double {
        simd.as_double(simd.and_not(simd.bits(v), self.sign))
    }

    /// Where two vectors are within one degree of one another, and where it is too close to
    /// call: roundings to single precision move either side by less than a part in 2^22.
    #[inline(always)]
    fn same_direction(&self, simd: S, o: [S::Double; 2], t: [S::Double; 2]) -> (S::Int, S::Int) {
        let dot = product(simd, o, t);
        let o_square = product(simd, o, o);
        let t_square = product(simd, t, t);
        let left = simd.mul_double(dot, self.abs(simd, dot));
        let cosine = simd.splat_double(f64::from(COS_1_DEGREE_SQUARED));
        let right = simd.mul_double(simd.mul_double(o_square, cosine), t_square);
        let step = 1.0 / f64::from(1 << 21);
        let above = simd.mul_double(right, simd.splat_double(1.0 + step));
        let below = simd.mul_double(right, simd.splat_double(1.0 - step));
        let same = simd.at_least_double(left, above);
        let perhaps = simd.at_least_double(left, below);
        // Beyond this a sum of products may wrap.
        let large = simd.splat_double((1_u64 << 62) as f64);
        let wraps = simd.at_least_double(simd.max_double(o_square, t_square), large);
        (same, simd.or(simd.xor(same, perhaps), wraps))
    }

    /// The part of `o` that is still in `t`.
    #[inline(always)]
    fn restored(&self, simd: S, o: S::Double, t: S::Double, same: S::Int) -> S::Double {
        let sign = simd.and(simd.bits(o), self.sign);
        let t = simd.as_double(simd.xor(simd.bits(t), sign));
        // Nothing is like one here: the product with it is nothing.
        let magnitude = simd.max_double(self.abs(simd, o), self.one);
        let rounded = simd.add64(simd.bits(magnitude), simd.splat64(BEHIND_15 / 2 + 1));
        let rounded = simd.as_double(simd.and_not(rounded, simd.splat64(BEHIND_15)));
        let reciprocal = simd.div_double(self.reciprocal_unit, rounded);
        // Of small originals a whole number, of the others the first 16 bits: the larger one,
        // since both are rounded down.
        let cut = simd.and_not(simd.bits(reciprocal), simd.splat64(BEHIND_16));
        let reciprocal = simd.max_double(simd.floor(reciprocal), simd.as_double(cut));
        let quotient = simd.mul_double(reciprocal, simd.mul_double(t, self.share_unit));
        let share = simd.floor(simd.add_double(quotient, self.half));
        let share = simd.max_double(share, simd.splat_double(0.0));
        let share = simd.min_double(share, self.unit);
        let weakened = simd.mul_double(share, simd.mul_double(o, self.share_unit));
        let weakened = simd.floor(simd.add_double(weakened, self.half));
        let weakened = self.abs(simd, weakened);
        let bounded = simd.min_double(simd.mul_double(weakened, self.gain_limit), t);
        let bounded = simd.max_double(simd.floor(bounded), simd.splat_double(0.0));
        let r = simd.choose(same, simd.bits(bounded), simd.bits(weakened));
        simd.as_double(simd.xor(r, sign))
    }
}

#[inline(always)]
fn product<S: Simd>(simd: S, a: [S::Double; 2], b: [S::Double; 2]) -> S::Double {
    simd.add_double(simd.mul_double(a[0], b[0]), simd.mul_double(a[1], b[1]))
}

/// Weighs a row of both parts over `columns`.
#[inline(always)]
pub(super) fn weigh<S: Simd + Detail>(
    simd: S,
    parts: &[[Buffer<i32>; 3]; 2],
    columns: Range<usize>,
    part: &Part,
    factors: [u32; 3],
    row: &mut Row<i32>,
) {
    let lanes = S::LANES;
    let from = MARGIN + columns.start / lanes * lanes;
    let to = MARGIN + columns.end.next_multiple_of(lanes);
    assert!(parts.iter().flatten().all(|band| band.len() >= to));
    for band in row.magnitudes.iter().flatten() {
        assert!(band.len() >= to);
    }
    for line in row.spread.iter().chain(&row.own) {
        assert!(line.len() >= to);
    }
    assert!(part.scored.len() >= to);
    for which in 0..2 {
        let mut at = from;
        while at < to {
            let (mut spread, mut own) = (simd.zero(), simd.zero());
            for band in 0..3 {
                // SAFETY: a register from `at` on ends at `to` at the latest, and all rows reach
                // there.
                unsafe {
                    let x = simd.load(parts[which][band].as_ptr().add(at));
                    let weighed = simd.abs32(weighed(simd, factors[band], x));
                    let out = row.magnitudes[which][band].as_mut_ptr().add(at);
                    let scored = simd.load(part.scored.as_ptr().add(at));
                    simd.store(out, simd.and(weighed, scored));
                    spread = simd.add32(spread, share(simd, NEIGHBOUR_SHARE, weighed));
                    own = simd.add32(own, share(simd, OWN_SHARE, weighed));
                }
            }
            // SAFETY: as above.
            unsafe {
                simd.store(row.spread[which].as_mut_ptr().add(at), spread);
                let own = simd.sub32(own, spread);
                simd.store(row.own[which].as_mut_ptr().add(at), own);
            }
            at += lanes;
        }
    }
}

/// `(factor * x + 2^27) >> 28`, the low 32 bits.
#[inline(always)]
fn weighed<S: Simd + Detail>(simd: S, factor: u32, x: S::Int) -> S::Int {
    let signed = simd.splat64(u64::from(factor));
    let half = simd.splat64(1 << 27);
    let even = simd.add64(simd.mul_even_signed32(x, signed), half);
    let odd = simd.shift_right64::<32>(x);
    let odd = simd.add64(simd.mul_even_signed32(odd, signed), half);
    let even = simd.shift_right64::<28>(even);
    let weighed = simd.blend_odd32(even, simd.shift_left64::<4>(odd));
    // A factor from 2^31 on was taken as 2^32 less.
    let top = simd.splat32(if factor >> 31 == 1 { u32::MAX } else { 0 });
    simd.add32(weighed, simd.and(simd.shift_left32::<4>(x), top))
}

/// `(factor * weighed - 2^31) >> 32`.
#[inline(always)]
fn share<S: Simd + Detail>(simd: S, factor: i64, weighed: S::Int) -> S::Int {
    let factor = simd.splat64(factor as u64);
    let half = simd.splat64(1 << 31);
    let even = simd.sub64(simd.mul_even_signed32(weighed, factor), half);
    let odd = simd.shift_right64::<32>(weighed);
    let odd = simd.sub64(simd.mul_even_signed32(odd, factor), half);
    simd.blend_odd32(simd.shift_right64::<32>(even), odd)
}
