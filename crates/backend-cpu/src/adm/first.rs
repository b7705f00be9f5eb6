//! Decoupling and weighing on the first level, in 16-bit lanes.
//!
//! Below 2^14 no division is needed: the share of the original is a quotient rounded to 15 bits,
//! and its product with an original below 2^14 rounds back to the distorted coefficient, so the
//! restored one is the distorted coefficient held between zero and the original (or, where the
//! direction is kept, the original times the largest gain). [`restored`] is asked for the rest:
//! blocks with larger coefficients, which natural pictures do not have, and with a direction too
//! close to one degree for single precision.
//!
//! What must stay true: in a block that is not left to the scalar steps no 16-bit lane wraps
//! that does not wrap in them.

use std::ops::Range;

use vmafx_metrics::adm::steps::{
    COS_1_DEGREE_SQUARED, FIRST_NEIGHBOUR_SHARE, FIRST_OWN_SHARE, Finest, Precision,
    keeps_direction, restored,
};

use super::rows::{MARGIN, Part, Plane};
use crate::vector::{Buffer, Detail, Element, Simd};

/// What of one row is kept until the rows around it are there.
#[derive(Debug)]
pub(super) struct Row<T> {
    /// Magnitudes of the restored part and of the impairment, zero where they are not scored.
    pub(super) magnitudes: [[Buffer<T>; 3]; 2],
    /// What each place adds to the thresholds of its neighbours, for either part.
    pub(super) spread: [Buffer<i32>; 2],
    /// What it adds to the threshold of its own place beyond that.
    pub(super) own: [Buffer<i32>; 2],
}

impl<T: Element> Row<T> {
    pub(super) fn new(width: usize) -> Self {
        let band = || Plane::<T>::line(width);
        let line = || Plane::<i32>::line(width);
        Row {
            magnitudes: [[band(), band(), band()], [band(), band(), band()]],
            spread: [line(), line()],
            own: [line(), line()],
        }
    }
}

/// The largest gain of details that kept their direction.
#[derive(Clone, Copy, Debug)]
enum Gain {
    /// A whole number, and the largest coefficient whose product with it has 16 bits.
    Whole(i16, i16),
    Other(f64),
}

/// What the first level of a clip is weighed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    factors: [u32; 3],
    gain_limit: f64,
    gain: Gain,
    /// Magnitudes from here on are left to the scalar steps.
    large: u16,
}

/// Shares in units of 2^-12 as a whole part and a rest in units of 2^-15.
const NEIGHBOUR_REST: i32 = (FIRST_NEIGHBOUR_SHARE - 4096) * 8;
const OWN_REST: i32 = (FIRST_OWN_SHARE - 2 * 4096) * 8;

impl Weights {
    pub(super) fn new(factors: [u32; 3], gain_limit: f64) -> Self {
        // Twice the largest weighted magnitude and a fifteenth of that must have 15 bits.
        const LARGEST_WEIGHTED: u32 = 15359;
        let largest = LARGEST_WEIGHTED * 32768 / factors[0].max(factors[1]).max(1);
        let whole = gain_limit as i16;
        Weights {
            factors,
            gain_limit,
            gain: match f64::from(whole) == gain_limit {
                true => Gain::Whole(whole, i16::MAX / whole.max(1)),
                false => Gain::Other(gain_limit),
            },
            large: largest.min(1 << 14) as u16,
        }
    }
}

/// The weights in registers.
struct Registers<S: Simd> {
    factor: [S::Int; 2],
    diagonal: S::Int,
    diagonal_top: S::Int,
    neighbour: S::Int,
    own: S::Int,
}

impl<S: Simd + Detail> Registers<S> {
    #[inline(always)]
    fn new(simd: S, weights: &Weights) -> Self {
        let [h, v, d] = weights.factors;
        Registers {
            // A factor is one and a signed rest in units of 2^-15.
            factor: [
                simd.splat16(h as u16 ^ 0x8000),
                simd.splat16(v as u16 ^ 0x8000),
            ],
            diagonal: simd.splat16(d as u16),
            // What the product with it as a signed number lacks in units of 2^-16.
            diagonal_top: simd.splat16(if d >= 0x8000 { u16::MAX } else { 0 }),
            neighbour: simd.splat16(NEIGHBOUR_REST as u16),
            own: simd.splat16(OWN_REST as u16),
        }
    }

    /// Magnitude of the weighted horizontal or vertical detail.
    #[inline(always)]
    fn straight(&self, simd: S, band: usize, x: S::Int) -> S::Int {
        simd.abs16(simd.add16(x, simd.mul_round16(x, self.factor[band])))
    }

    /// Magnitude of the weighted diagonal detail: `(factor * x + 65535) >> 17`.
    #[inline(always)]
    fn slanted(&self, simd: S, x: S::Int) -> S::Int {
        let high = simd.mul_high_signed16(x, self.diagonal);
        let high = simd.add16(high, simd.and(x, self.diagonal_top));
        let low = simd.mul_low16(x, self.diagonal);
        // Adding 65535 carries if there is any low bit.
        let carry = simd.min_unsigned16(low, simd.splat16(1));
        simd.abs16(simd.shift_right_signed16::<1>(simd.add16(high, carry)))
    }

    /// Share in the thresholds of neighbours, and how much larger that in its own place is.
    #[inline(always)]
    fn shares(&self, simd: S, weighed: S::Int) -> [S::Int; 2] {
        let neighbour = simd.mul_round16(weighed, self.neighbour);
        let own = simd.mul_round16(weighed, self.own);
        [
            simd.add16(weighed, neighbour),
            simd.add16(weighed, simd.sub16(own, neighbour)),
        ]
    }

    /// The sums of [`shares`](Registers::shares) over three bands, below 2^16.
    #[inline(always)]
    fn all_shares(&self, simd: S, [h, v, d]: [S::Int; 3]) -> [S::Int; 2] {
        let h = self.shares(simd, self.straight(simd, 0, h));
        let v = self.shares(simd, self.straight(simd, 1, v));
        let d = self.shares(simd, self.slanted(simd, d));
        [
            simd.add16(simd.add16(h[0], v[0]), d[0]),
            simd.add16(simd.add16(h[1], v[1]), d[1]),
        ]
    }
}

/// Takes a row of original and distorted details apart, over `columns`.
#[inline(always)]
pub(super) fn decouple<S: Simd + Detail>(
    simd: S,
    details: [&[Buffer<i16>; 3]; 2],
    columns: Range<usize>,
    part: &Part,
    weights: &Weights,
    row: &mut Row<u16>,
) {
    let lanes = 2 * S::LANES;
    let from = MARGIN + columns.start / lanes * lanes;
    let to = MARGIN + columns.end.next_multiple_of(lanes);
    let [original, distorted] = details;
    for band in original.iter().chain(distorted) {
        assert!(band.len() >= to);
    }
    for band in row.magnitudes.iter().flatten() {
        assert!(band.len() >= to);
    }
    for line in row.spread.iter().chain(&row.own) {
        assert!(line.len() >= to);
    }
    assert!(part.scored16.len() >= to);
    let registers = Registers::new(simd, weights);
    let largest = simd.splat16(weights.large - 1);
    let cosine = simd.splat32(COS_1_DEGREE_SQUARED.to_bits());
    // Wider than all roundings in single precision together.
    let above = simd.splat32((1.0 + 1.0 / f32::from(1_u16 << 15) / 16.0).to_bits());
    let below = simd.splat32((1.0 - 1.0 / f32::from(1_u16 << 15) / 16.0).to_bits());
    let sign = simd.splat32(1 << 31);
    let mut at = from;
    while at < to {
        // SAFETY: a register from `at` on ends at `to` at the latest, and all rows reach there.
        let (o, t, scored) = unsafe {
            (
                [
                    simd.load(original[0].as_ptr().add(at)),
                    simd.load(original[1].as_ptr().add(at)),
                    simd.load(original[2].as_ptr().add(at)),
                ],
                [
                    simd.load(distorted[0].as_ptr().add(at)),
                    simd.load(distorted[1].as_ptr().add(at)),
                    simd.load(distorted[2].as_ptr().add(at)),
                ],
                simd.load(part.scored16.as_ptr().add(at)),
            )
        };
        let mut magnitude = simd.max_unsigned16(simd.abs16(o[0]), simd.abs16(t[0]));
        magnitude = simd.max_unsigned16(magnitude, simd.abs16(o[1]));
        magnitude = simd.max_unsigned16(magnitude, simd.abs16(t[1]));
        magnitude = simd.max_unsigned16(magnitude, simd.abs16(o[2]));
        magnitude = simd.max_unsigned16(magnitude, simd.abs16(t[2]));
        let mut unsure = simd.xor(simd.max_unsigned16(magnitude, largest), largest);

        let o_pairs = [
            simd.interleave_low16(o[0], o[1]),
            simd.interleave_high16(o[0], o[1]),
        ];
        let t_pairs = [
            simd.interleave_low16(t[0], t[1]),
            simd.interleave_high16(t[0], t[1]),
        ];
        let mut same = [simd.zero(); 2];
        for half in 0..2 {
            let dot = simd.single(simd.mul_pairs(o_pairs[half], t_pairs[half]));
            let o_square = simd.single(simd.mul_pairs(o_pairs[half], o_pairs[half]));
            let t_square = simd.single(simd.mul_pairs(t_pairs[half], t_pairs[half]));
            let left = simd.mul_single(dot, simd.and_not(dot, sign));
            let right = simd.mul_single(simd.mul_single(o_square, cosine), t_square);
            same[half] = simd.at_least_single(left, simd.mul_single(right, above));
            let perhaps = simd.at_least_single(left, simd.mul_single(right, below));
            unsure = simd.or(unsure, simd.xor(perhaps, same[half]));
        }
        if simd.any(unsure) {
            let columns = columns.start.max(at - MARGIN)..columns.end.min(at - MARGIN + lanes);
            decouple_scalar([original, distorted], columns, part, weights, row);
            at += lanes;
            continue;
        }
        let same = simd.pack_signed32(same[0], same[1]);

        let limits = [
            limit(simd, weights.gain, o[0], same),
            limit(simd, weights.gain, o[1], same),
            limit(simd, weights.gain, o[2], same),
        ];
        let r = [
            between(simd, t[0], limits[0]),
            between(simd, t[1], limits[1]),
            between(simd, t[2], limits[2]),
        ];
        let a = [
            simd.sub16(t[0], r[0]),
            simd.sub16(t[1], r[1]),
            simd.sub16(t[2], r[2]),
        ];
        for (which, x) in [r, a].into_iter().enumerate() {
            let [spread, own] = registers.all_shares(simd, x);
            // SAFETY: as above.
            unsafe {
                for band in 0..3 {
                    let out = row.magnitudes[which][band].as_mut_ptr().add(at);
                    simd.store(out, simd.and(simd.abs16(x[band]), scored));
                }
                let out = row.spread[which].as_mut_ptr().add(at);
                simd.store(out, simd.widen_first16(spread));
                simd.store(out.add(S::LANES), simd.widen_second16(spread));
                let out = row.own[which].as_mut_ptr().add(at);
                simd.store(out, simd.widen_first16(own));
                simd.store(out.add(S::LANES), simd.widen_second16(own));
            }
        }
        at += lanes;
    }
}

/// The largest restored coefficient for an original `o`, with its sign.
#[inline(always)]
fn limit<S: Simd + Detail>(simd: S, gain: Gain, o: S::Int, same: S::Int) -> S::Int {
    let enhanced = match gain {
        Gain::Whole(1, _) => return o,
        Gain::Whole(gain, largest) => {
            // Larger products are beyond all distorted coefficients, and so is this one.
            let o = simd.min_signed16(o, simd.splat16(largest as u16));
            let o = simd.max_signed16(o, simd.splat16(-largest as u16));
            simd.mul_low16(o, simd.splat16(gain as u16))
        }
        Gain::Other(gain) => {
            let mut lanes = [0_i16; 32];
            // SAFETY: the array is as long as the widest register.
            unsafe { simd.store(lanes.as_mut_ptr(), o) };
            for lane in &mut lanes {
                *lane = (f64::from(*lane) * gain) as i16;
            }
            // SAFETY: as above.
            unsafe { simd.load(lanes.as_ptr()) }
        }
    };
    simd.choose(same, enhanced, o)
}

/// `t`, or the nearest number between zero and `limit`.
#[inline(always)]
fn between<S: Simd>(simd: S, t: S::Int, limit: S::Int) -> S::Int {
    let t = simd.max_signed16(t, simd.min_signed16(limit, simd.zero()));
    simd.min_signed16(t, simd.max_signed16(limit, simd.zero()))
}

/// The same by the steps of the reference.
#[cold]
#[inline(never)]
fn decouple_scalar(
    [original, distorted]: [&[Buffer<i16>; 3]; 2],
    columns: Range<usize>,
    part: &Part,
    weights: &Weights,
    row: &mut Row<u16>,
) {
    for x in columns {
        let at = MARGIN + x;
        let [o, t] = [original, distorted]
            .map(|bands| [0, 1, 2].map(|band: usize| i32::from(bands[band][at])));
        let same = keeps_direction([o[0], o[1]], [t[0], t[1]]);
        let r = [0, 1, 2].map(|band| restored(o[band], t[band], same, weights.gain_limit));
        let a = [0, 1, 2].map(|band| t[band] - r[band]);
        for (which, x) in [r, a].into_iter().enumerate() {
            let (mut spread, mut own) = (0, 0);
            for band in 0..3 {
                let scored = part.scored16[at] != 0;
                let magnitude = x[band].unsigned_abs() as u16;
                row.magnitudes[which][band][at] = if scored { magnitude } else { 0 };
                let weighed = Finest::weigh(weights.factors[band], band, x[band]);
                spread += Finest::to_neighbour(weighed);
                own += Finest::to_own_place(weighed);
            }
            row.spread[which][at] = spread;
            row.own[which][at] = own - spread;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why the vectors need no division.
    #[test]
    fn below_2_to_14_a_share_gives_back_the_distorted_coefficient() {
        for o in 0..1 << 14 {
            // Every distorted coefficient of small originals, some of the others.
            let step = 1 + o / 97;
            let inner = (0..=o).step_by(step as usize);
            for t in inner.chain([-3, o - 1, o, o + 1, 2 * o, (1 << 14) - 1]) {
                let t = t.max(-16383);
                let want = t.clamp(0, o);
                assert_eq!(restored(o, t, false, 100.0), want, "{t} of {o}");
                assert_eq!(restored(-o, -t, false, 100.0), -want, "{t} of {o}");
                for gain in [1.0, 1.37, 100.0] {
                    let limit = (f64::from(o) * gain) as i32;
                    assert_eq!(restored(o, t, true, gain), t.clamp(0, limit), "{t} of {o}");
                }
            }
        }
    }

    #[test]
    fn shares_are_those_of_the_reference() {
        assert_eq!((NEIGHBOUR_REST, OWN_REST), (2184, 4368));
        let weights = Weights::new([36453, 36453, 49417], 100.0);
        assert_eq!(weights.large, 13806);
        assert_eq!(Weights::new([0; 3], 1.0).large, 1 << 14);
        for factor in [0, 1, 30000, 36453, 65535] {
            let large = Weights::new([factor, factor, 65535], 1.0).large;
            let weighed = Finest::weigh(factor, 0, i32::from(large) - 1);
            assert!((0..=15359).contains(&weighed));
            assert!(Finest::to_own_place(weighed) >= 0);
        }
    }
}
