//! The pass along the rows: filtered lines to variances and covariance, a row at a time, and to
//! the next scale's samples.
//!
//! What must stay true: a mean is a Q16 number of 32 bits, the sum itself; a product is the sum
//! over its low halves, rounded, plus the sum over its high halves; variances wrap as those of
//! the scalar reference do.

use vmafx_metrics::vif::NOISE;

use super::image::group;
use super::information::Queue;
use super::lines::{Columns, Lines};
use super::vertical::PLANES;
use super::window::{BIAS, Taps, Window, widen};
use crate::vector::Simd;

/// Sums around the columns of the group that begins at each of `N` places in lines, and `half`
/// of each. That all of them grow at once hides how long one dot product takes.
///
/// # Safety
/// A group and `W::RADIUS` elements on each side of it must be readable.
#[inline(always)]
unsafe fn sums<S: Simd, W: Window, const N: usize>(
    simd: S,
    taps: &Taps<S>,
    at: [*const u16; N],
    half: [u32; N],
) -> [Columns<S>; N] {
    let mut sums = [[simd.zero(); 2]; N];
    let mut line = 0;
    while line < N {
        sums[line] = [simd.splat32(BIAS.wrapping_add(half[line])); 2];
        line += 1;
    }
    let mut pair = 0;
    while pair < W::PAIRS {
        let mut line = 0;
        while line < N {
            // SAFETY: the register ends `2 * pair - RADIUS`, at most `RADIUS`, behind the group.
            let v = unsafe { simd.load(at[line].sub(W::RADIUS).add(2 * pair)) };
            let [even, odd] = sums[line];
            sums[line] = [
                simd.dot16(even, v, taps.even[pair]),
                simd.dot16(odd, v, taps.odd[pair]),
            ];
            if W::WIDE && pair == W::RADIUS / 2 {
                widen(simd, &mut sums[line], v);
            }
            line += 1;
        }
        pair += 1;
    }
    sums
}

/// The upper halves of the rounded 64-bit products.
#[inline(always)]
fn mul_means<S: Simd>(simd: S, a: S::Int, b: S::Int) -> S::Int {
    let half = simd.splat64(1 << 31);
    let even = simd.add64(simd.mul_even_unsigned32(a, b), half);
    let [a, b] = [simd.shift_right64::<32>(a), simd.shift_right64::<32>(b)];
    let odd = simd.add64(simd.mul_even_unsigned32(a, b), half);
    simd.blend_odd32(simd.shift_right64::<32>(even), odd)
}

/// A filtered product from its halves.
///
/// # Safety
/// As for [`sums`], for each pointer.
#[inline(always)]
unsafe fn product<S: Simd, W: Window>(
    simd: S,
    taps: &Taps<S>,
    halves: [*const u16; 2],
) -> Columns<S> {
    // SAFETY: the caller's promise is that of `sums`.
    let [low, high] = unsafe { sums::<S, W, 2>(simd, taps, halves, [1 << 15, 0]) };
    [
        simd.add32(high[0], simd.shift_right32::<16>(low[0])),
        simd.add32(high[1], simd.shift_right32::<16>(low[1])),
    ]
}

/// Filters row `row` and queues what each pixel carries.
#[inline(always)]
pub(super) fn filter_row<S: Simd, W: Window>(
    simd: S,
    lines: &mut Lines<PLANES>,
    row: usize,
    width: usize,
    queue: &mut Queue,
) {
    let taps = Taps::<S>::new::<W>(simd);
    let limit = simd.splat32(NOISE - 1);
    let planes = lines.rows(row, 1);
    let mut flat = [simd.zero(); 2];
    let mut at = 0;
    while at < width {
        let mut s1;
        let mut s2;
        let mut s12;
        // SAFETY: `Rows` allows a margin, which is wider than any radius, on both sides of the
        // columns of whole groups, in each of the `PLANES`.
        unsafe {
            let p = |plane| planes.at(0, plane).cast_const().add(at);
            let [m1, m2] = sums::<S, W, 2>(simd, &taps, [p(0), p(1)], [0; 2]);
            s1 = product::<S, W>(simd, &taps, [p(2), p(3)]);
            s2 = product::<S, W>(simd, &taps, [p(4), p(5)]);
            s12 = product::<S, W>(simd, &taps, [p(6), p(7)]);
            let mut side = 0;
            while side < 2 {
                let (a, b) = (m1[side], m2[side]);
                s1[side] = simd.sub32(s1[side], mul_means(simd, a, a));
                s2[side] = simd.sub32(s2[side], mul_means(simd, b, b));
                s12[side] = simd.sub32(s12[side], mul_means(simd, a, b));
                side += 1;
            }
        }
        if width - at < group::<S>() {
            let mut side = 0;
            while side < 2 {
                let columns = simd.splat32((width - at + 1 - side) as u32 / 2);
                let present = simd.greater_signed32(columns, simd.lanes32());
                s1[side] = simd.keep32(present, s1[side]);
                s2[side] = simd.keep32(present, s2[side]);
                side += 1;
            }
        }
        let mut side = 0;
        while side < 2 {
            let s2 = simd.max_signed32(s2[side], simd.zero());
            let textured = simd.greater_signed32(s1[side], limit);
            let rest = simd.drop32(textured, s2);
            flat[0] = simd.add64(flat[0], simd.and(rest, simd.splat64(u32::MAX.into())));
            flat[1] = simd.add64(flat[1], simd.shift_right64::<32>(rest));
            // Nothing survives without distorted variance or with a negative covariance.
            let distorted = simd.greater_signed32(s2, simd.zero());
            let s12 = simd.keep32(distorted, simd.max_signed32(s12[side], simd.zero()));
            queue.push(simd, textured, [s1[side], s2, s12]);
            side += 1;
        }
        queue.work(simd);
        at += group::<S>();
    }
    let flat = simd.sum64(simd.add64(flat[0], flat[1]));
    queue.add_flat(flat);
}

/// Filters a row of one image and stores the even columns, as many as half a group for each
/// whole or partial group of the row.
///
/// # Safety
/// `from` must be a pointer that [`Rows::at`](super::lines::Rows::at) returned for lines of
/// `width` columns; at `to` half of `width` rounded up to a group must be writable.
#[inline(always)]
pub(super) unsafe fn halve_row<S: Simd, W: Window>(
    simd: S,
    taps: &Taps<S>,
    from: *const u16,
    width: usize,
    to: *mut u16,
) {
    let mut at = 0;
    while at < width {
        // SAFETY: `Rows` allows a margin, which is wider than any radius, on both sides of
        // the columns of whole groups; half a group is stored for each.
        unsafe {
            let [sums] = sums::<S, W, 1>(simd, taps, [from.add(at)], [1 << 15]);
            let samples = simd.shift_right32::<16>(sums[0]);
            simd.store_narrowed32(to.add(at / 2), samples);
        }
        at += group::<S>();
    }
}
