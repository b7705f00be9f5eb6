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

/// Sums around the columns of the group that begins at `at`.
///
/// # Safety
/// A group and `W::RADIUS` elements on each side of it must be readable.
#[inline(always)]
unsafe fn sums<S: Simd, W: Window>(
    simd: S,
    taps: &Taps<S>,
    at: *const u16,
    half: u32,
) -> Columns<S> {
    let mut sums = [simd.splat32(BIAS.wrapping_add(half)); 2];
    let mut pair = 0;
    while pair < W::PAIRS {
        // SAFETY: the register ends `2 * pair - RADIUS`, at most `RADIUS`, behind the group.
        let v = unsafe { simd.load(at.sub(W::RADIUS).add(2 * pair)) };
        sums[0] = simd.dot16(sums[0], v, taps.even[pair]);
        sums[1] = simd.dot16(sums[1], v, taps.odd[pair]);
        if W::WIDE && pair == W::RADIUS / 2 {
            widen(simd, &mut sums, v);
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
    [low, high]: [*const u16; 2],
) -> Columns<S> {
    // SAFETY: the caller's promise is that of `sums`.
    let (low, high) = unsafe {
        (
            sums::<S, W>(simd, taps, low, 1 << 15),
            sums::<S, W>(simd, taps, high, 0),
        )
    };
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
    let mut planes = [std::ptr::null::<u16>(); PLANES];
    for (plane, start) in planes.iter_mut().enumerate() {
        *start = lines.at(row, plane).cast_const();
    }
    let mut flat = [simd.zero(); 2];
    let mut at = 0;
    while at < width {
        let mut p = planes;
        for start in &mut p {
            *start = start.wrapping_add(at);
        }
        let mut s1;
        let mut s2;
        let mut s12;
        // SAFETY: `Lines::at` allows a margin, which is wider than any radius, on both sides of
        // the columns of whole groups.
        unsafe {
            let m1 = sums::<S, W>(simd, &taps, p[0], 0);
            let m2 = sums::<S, W>(simd, &taps, p[1], 0);
            s1 = product::<S, W>(simd, &taps, [p[2], p[3]]);
            s2 = product::<S, W>(simd, &taps, [p[4], p[5]]);
            s12 = product::<S, W>(simd, &taps, [p[6], p[7]]);
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
/// `from` must be a pointer that [`Lines::at`] returned for lines of `width` columns; at `to`
/// half of `width` rounded up to a group must be writable.
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
        // SAFETY: `Lines::at` allows a margin, which is wider than any radius, on both sides of
        // the columns of whole groups; half a group is stored for each.
        unsafe {
            let sums = sums::<S, W>(simd, taps, from.add(at), 1 << 15);
            let samples = simd.shift_right32::<16>(sums[0]);
            simd.store_narrowed32(to.add(at / 2), samples);
        }
        at += group::<S>();
    }
}
