//! The wavelet, a row of bands at a time.
//!
//! Every filter is two dot products of pairs of 16-bit numbers in 32-bit lanes. Numbers of 32
//! bits are held as two of 16, a signed high half and a low half less 2^15 (see [`split`]), and
//! filtered in two sums. What must stay true: a sum is exact modulo 2^32 in all bits that are
//! kept, and is rounded and cut as the scalar reference does it.

use std::ops::Range;

use vmafx_metrics::adm::steps::{HIGH, LOW};

use super::rows::{MARGIN, Plane};
use crate::psnr::Lane;
use crate::vector::{Buffer, Detail, Simd};

/// What is taken from a low half, and from an unsigned sample, to make it a signed number.
const SIGN: u16 = 1 << 15;

/// The two filters over columns of one row, each as one line or as split lines.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) low: [Buffer<i16>; 2],
    pub(super) high: [Buffer<i16>; 2],
}

impl Lines {
    /// Lines as long as the rows of the input.
    pub(super) fn new(width: usize) -> Self {
        let line = || Plane::line(width);
        Lines {
            low: [line(), line()],
            high: [line(), line()],
        }
    }

    /// Writes what the filter over rows reads beside the first and the last column.
    #[inline(always)]
    pub(super) fn extend(&mut self, width: usize) {
        for line in self.low.iter_mut().chain(&mut self.high) {
            line[MARGIN - 1] = line[MARGIN + 1];
            line[MARGIN + width] = line[MARGIN + width - 1];
            line[MARGIN + width + 1] = line[MARGIN + width - 2];
        }
    }
}

/// A filter in registers.
#[derive(Clone, Copy)]
struct Filter<S: Simd> {
    pairs: [S::Int; 2],
    /// Sum of the taps.
    gain: i32,
}

impl<S: Simd + Detail> Filter<S> {
    #[inline(always)]
    fn new(simd: S, taps: [i64; 4]) -> Self {
        let pair = |at: usize| simd.splat32(taps[at] as u16 as u32 | (taps[at + 1] as u32) << 16);
        Filter {
            pairs: [pair(0), pair(2)],
            gain: (taps[0] + taps[1] + taps[2] + taps[3]) as i32,
        }
    }

    #[inline(always)]
    fn low(simd: S) -> Self {
        Filter::new(simd, LOW)
    }

    #[inline(always)]
    fn high(simd: S) -> Self {
        Filter::new(simd, HIGH)
    }

    /// `start` and the filtered samples.
    #[inline(always)]
    fn sum(&self, simd: S, start: S::Int, [first, second]: [S::Int; 2]) -> S::Int {
        let sum = simd.dot16(start, first, self.pairs[0]);
        simd.dot16(sum, second, self.pairs[1])
    }

    /// Two registers of filtered samples, rounded and shifted right by 16, in one.
    #[inline(always)]
    fn rounded(&self, simd: S, [first, second]: [[S::Int; 2]; 2]) -> S::Int {
        let half = simd.splat32(1 << 15);
        let first = simd.shift_right_signed32::<16>(self.sum(simd, half, first));
        let second = simd.shift_right_signed32::<16>(self.sum(simd, half, second));
        simd.pack_in_order(first, second)
    }

    /// The filtered 32-bit numbers whose halves are given, shifted right by `SHIFT`, 15 or 16.
    ///
    /// With `n = 2^16 * high + low + 2^15` the sum over `n` is `2^16 * (sum over high + gain / 2)`
    /// and the sum over `low`; the gain is even.
    #[inline(always)]
    fn split_sum<const SHIFT: u32>(&self, simd: S, high: [S::Int; 2], low: [S::Int; 2]) -> S::Int {
        let high = self.sum(simd, simd.splat32((self.gain / 2) as u32), high);
        let low = self.sum(simd, simd.splat32(1 << (SHIFT - 1)), low);
        let low = simd.shift_right_signed32::<SHIFT>(low);
        match SHIFT {
            16 => simd.add32(high, low),
            _ => simd.add32(simd.add32(high, high), low),
        }
    }
}

/// The high half of 32-bit lanes as a signed number.
#[inline(always)]
fn high_half<S: Simd + Detail>(simd: S, v: S::Int) -> S::Int {
    simd.shift_right_signed32::<16>(v)
}

/// The low half of 32-bit lanes as a signed number, which is [`SIGN`] off.
#[inline(always)]
fn low_half<S: Simd + Detail>(simd: S, v: S::Int) -> S::Int {
    simd.shift_right_signed32::<16>(simd.shift_left32::<16>(v))
}

/// Splits 32-bit lanes of two registers, as left by interleaving, into high and low halves.
#[inline(always)]
fn split<S: Simd + Detail>(simd: S, [first, second]: [S::Int; 2]) -> [S::Int; 2] {
    let high = simd.pack_signed32(high_half(simd, first), high_half(simd, second));
    let low = simd.pack_signed32(low_half(simd, first), low_half(simd, second));
    [high, simd.xor(low, simd.splat16(SIGN))]
}

/// Pairs of four rows: the lower and the upper half of each group, two pairs each.
#[inline(always)]
fn interleave<S: Simd + Detail>(simd: S, rows: [S::Int; 4]) -> [[S::Int; 2]; 2] {
    [
        [
            simd.interleave_low16(rows[0], rows[1]),
            simd.interleave_low16(rows[2], rows[3]),
        ],
        [
            simd.interleave_high16(rows[0], rows[1]),
            simd.interleave_high16(rows[2], rows[3]),
        ],
    ]
}

/// A register of each of four rows.
///
/// # Safety
/// A register from `at` on must lie in all of them.
#[inline(always)]
unsafe fn four<S: Simd>(simd: S, rows: [&[i16]; 4], at: usize) -> [S::Int; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            simd.load(rows[0].as_ptr().add(at)),
            simd.load(rows[1].as_ptr().add(at)),
            simd.load(rows[2].as_ptr().add(at)),
            simd.load(rows[3].as_ptr().add(at)),
        ]
    }
}

/// Filters four rows of a luma plane over `columns`.
#[inline(always)]
pub(super) fn down_luma<S: Simd + Detail, T: Lane>(
    simd: S,
    rows: [&[T]; 4],
    columns: Range<usize>,
    depth: u32,
    lines: &mut Lines,
) {
    let (width, lanes) = (rows[0].len(), 2 * S::LANES);
    let [low, high] = [&mut lines.low[0], &mut lines.high[0]];
    assert!(rows.iter().all(|row| row.len() == width) && width >= lanes);
    assert!(low.len() >= MARGIN + width && high.len() >= MARGIN + width);
    let bytes = size_of::<T>() == 1;
    let (low_filter, high_filter) = (Filter::low(simd), Filter::high(simd));
    // Words are read less 2^15, and both less half of the range.
    let taken = if bytes { 0 } else { i32::from(SIGN) };
    let half = 1 << (depth - 1);
    let missing = low_filter.gain.wrapping_mul(taken - half);
    let start = [
        simd.splat32(missing.wrapping_add(half) as u32),
        simd.splat32(half as u32),
    ];
    let mut x = columns.start / lanes * lanes;
    while x < columns.end {
        let at = x.min(width - lanes);
        // SAFETY: `at + lanes <= width`, the length of all rows.
        let mut samples = unsafe {
            [
                T::load(simd, rows[0].as_ptr().add(at)),
                T::load(simd, rows[1].as_ptr().add(at)),
                T::load(simd, rows[2].as_ptr().add(at)),
                T::load(simd, rows[3].as_ptr().add(at)),
            ]
        };
        if !bytes {
            let sign = simd.splat16(SIGN);
            samples = [
                simd.xor(samples[0], sign),
                simd.xor(samples[1], sign),
                simd.xor(samples[2], sign),
                simd.xor(samples[3], sign),
            ];
        }
        let [first, second] = interleave(simd, samples);
        let sums = [
            [
                low_filter.sum(simd, start[0], first),
                low_filter.sum(simd, start[0], second),
            ],
            [
                high_filter.sum(simd, start[1], first),
                high_filter.sum(simd, start[1], second),
            ],
        ];
        for (sums, out) in sums.into_iter().zip([&mut *low, &mut *high]) {
            let [first, second] = if bytes {
                [
                    simd.shift_right_signed32::<8>(sums[0]),
                    simd.shift_right_signed32::<8>(sums[1]),
                ]
            } else {
                // Samples beyond the depth wrap at 16 bits.
                [
                    simd.shift_right_signed32::<16>(simd.shift_left32_by(sums[0], 16 - depth)),
                    simd.shift_right_signed32::<16>(simd.shift_left32_by(sums[1], 16 - depth)),
                ]
            };
            let packed = simd.pack_signed32(first, second);
            // SAFETY: as above, and the lines are `MARGIN` longer.
            unsafe { simd.store(out.as_mut_ptr().add(MARGIN + at), packed) };
        }
        x += lanes;
    }
}

/// Filters four rows of the low band of the first level, without a shift, to split lines.
#[inline(always)]
pub(super) fn down_words<S: Simd + Detail>(
    simd: S,
    rows: [&[i16]; 4],
    columns: Range<usize>,
    lines: &mut Lines,
) {
    let lanes = 2 * S::LANES;
    let from = MARGIN + columns.start / lanes * lanes;
    let to = MARGIN + columns.end.next_multiple_of(lanes);
    assert!(rows.iter().all(|row| row.len() >= to));
    let (low_filter, high_filter) = (Filter::low(simd), Filter::high(simd));
    for out in lines.low.iter().chain(&lines.high) {
        assert!(out.len() >= to);
    }
    let mut at = from;
    while at < to {
        // SAFETY: a register from `at` on ends at `to` at the latest, and all rows reach there.
        let samples = unsafe { four(simd, rows, at) };
        let [first, second] = interleave(simd, samples);
        for (filter, out) in [(low_filter, &mut lines.low), (high_filter, &mut lines.high)] {
            let sums = [
                filter.sum(simd, simd.zero(), first),
                filter.sum(simd, simd.zero(), second),
            ];
            let [high, low] = split(simd, sums);
            // SAFETY: as above, for the lines.
            unsafe {
                simd.store(out[0].as_mut_ptr().add(at), high);
                simd.store(out[1].as_mut_ptr().add(at), low);
            }
        }
        at += lanes;
    }
}

/// Filters four rows of a split low band to split lines, with a shift by 16.
#[inline(always)]
pub(super) fn down_split<S: Simd + Detail>(
    simd: S,
    rows: [[&[i16]; 4]; 2],
    columns: Range<usize>,
    lines: &mut Lines,
) {
    let lanes = 2 * S::LANES;
    let from = MARGIN + columns.start / lanes * lanes;
    let to = MARGIN + columns.end.next_multiple_of(lanes);
    assert!(rows.iter().flatten().all(|row| row.len() >= to));
    for out in lines.low.iter().chain(&lines.high) {
        assert!(out.len() >= to);
    }
    let (low_filter, high_filter) = (Filter::low(simd), Filter::high(simd));
    let mut at = from;
    while at < to {
        // SAFETY: a register from `at` on ends at `to` at the latest, and all rows reach there.
        let halves = unsafe {
            [
                interleave(simd, four(simd, rows[0], at)),
                interleave(simd, four(simd, rows[1], at)),
            ]
        };
        for (filter, out) in [(low_filter, &mut lines.low), (high_filter, &mut lines.high)] {
            let sums = [
                filter.split_sum::<16>(simd, halves[0][0], halves[1][0]),
                filter.split_sum::<16>(simd, halves[0][1], halves[1][1]),
            ];
            let [high, low] = split(simd, sums);
            // SAFETY: as above, for the lines.
            unsafe {
                simd.store(out[0].as_mut_ptr().add(at), high);
                simd.store(out[1].as_mut_ptr().add(at), low);
            }
        }
        at += lanes;
    }
}

/// The samples that outputs from the one on read whose first input follows `line[at - 1]`.
///
/// # Safety
/// A register that starts in front of `at` or behind it must lie in the line.
#[inline(always)]
unsafe fn pairs<S: Simd>(simd: S, line: &[i16], at: usize) -> [S::Int; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        [
            simd.load(line.as_ptr().add(at - 1)),
            simd.load(line.as_ptr().add(at + 1)),
        ]
    }
}

/// Filters the lines of the first level over rows: `columns` of the low band, and of the details
/// if they are wanted.
#[inline(always)]
pub(super) fn along_first<S: Simd + Detail>(
    simd: S,
    lines: &Lines,
    columns: Range<usize>,
    band: &mut [i16],
    details: Option<&mut [Buffer<i16>; 3]>,
) {
    let lanes = S::LANES;
    let from = columns.start / (2 * lanes) * (2 * lanes);
    let to = columns.end.next_multiple_of(2 * lanes);
    let [low, high] = [&*lines.low[0], &*lines.high[0]];
    // The last register starts at output `to - lanes` and covers twice as many inputs.
    let inputs = MARGIN + 2 * to + 1;
    assert!(low.len() >= inputs && high.len() >= inputs && band.len() >= MARGIN + to);
    let (low_filter, high_filter) = (Filter::low(simd), Filter::high(simd));
    let Some([h, v, d]) = details else {
        let mut x = from;
        while x < to {
            // SAFETY: inputs of `2 * lanes` outputs from `x` on end before `inputs`, and the
            // band has room up to `to`.
            unsafe {
                let at = MARGIN + 2 * x;
                let low = [pairs(simd, low, at), pairs(simd, low, at + 2 * lanes)];
                simd.store(
                    band.as_mut_ptr().add(MARGIN + x),
                    low_filter.rounded(simd, low),
                );
            }
            x += 2 * lanes;
        }
        return;
    };
    assert!([&*h, &*v, &*d].iter().all(|band| band.len() >= MARGIN + to));
    let mut x = from;
    while x < to {
        // SAFETY: as above, and so have the details.
        unsafe {
            let at = MARGIN + 2 * x;
            let low = [pairs(simd, low, at), pairs(simd, low, at + 2 * lanes)];
            simd.store(
                band.as_mut_ptr().add(MARGIN + x),
                low_filter.rounded(simd, low),
            );
            simd.store(
                v.as_mut_ptr().add(MARGIN + x),
                high_filter.rounded(simd, low),
            );
            let high = [pairs(simd, high, at), pairs(simd, high, at + 2 * lanes)];
            simd.store(
                h.as_mut_ptr().add(MARGIN + x),
                low_filter.rounded(simd, high),
            );
            simd.store(
                d.as_mut_ptr().add(MARGIN + x),
                high_filter.rounded(simd, high),
            );
        }
        x += 2 * lanes;
    }
}

/// Filters split lines over rows, with a shift by `SHIFT`: `columns` of the low band, split, if
/// there is a level that reads it, and of the details if they are wanted.
#[inline(always)]
pub(super) fn along_later<S: Simd + Detail, const SHIFT: u32>(
    simd: S,
    lines: &Lines,
    columns: Range<usize>,
    band: Option<[&mut [i16]; 2]>,
    details: Option<&mut [Buffer<i32>; 3]>,
) {
    let lanes = S::LANES;
    let from = columns.start / (2 * lanes) * (2 * lanes);
    let to = columns.end.next_multiple_of(2 * lanes);
    let inputs = MARGIN + 2 * to + 1;
    let all = lines.low.iter().chain(&lines.high);
    assert!(all.into_iter().all(|line| line.len() >= inputs));
    if let Some([high_band, low_band]) = band {
        assert!(high_band.len() >= MARGIN + to && low_band.len() >= MARGIN + to);
        let filter = Filter::low(simd);
        let mut x = from;
        while x < to {
            // SAFETY: inputs of `2 * lanes` outputs from `x` on end before `inputs`, and the
            // band has room up to `to`.
            unsafe {
                let mut sums = [simd.zero(); 2];
                for (part, sum) in sums.iter_mut().enumerate() {
                    let at = MARGIN + 2 * (x + part * lanes);
                    let high = pairs(simd, &lines.low[0], at);
                    let low = pairs(simd, &lines.low[1], at);
                    *sum = filter.split_sum::<SHIFT>(simd, high, low);
                }
                let high = simd.pack_in_order(high_half(simd, sums[0]), high_half(simd, sums[1]));
                let low = simd.pack_in_order(low_half(simd, sums[0]), low_half(simd, sums[1]));
                let low = simd.xor(low, simd.splat16(SIGN));
                simd.store(high_band.as_mut_ptr().add(MARGIN + x), high);
                simd.store(low_band.as_mut_ptr().add(MARGIN + x), low);
            }
            x += 2 * lanes;
        }
    }
    let Some([h, v, d]) = details else {
        return;
    };
    assert!([&*h, &*v, &*d].iter().all(|band| band.len() >= MARGIN + to));
    let (low_filter, high_filter) = (Filter::low(simd), Filter::high(simd));
    let mut x = from;
    while x < to {
        // SAFETY: as above, and so have the details.
        unsafe {
            let at = MARGIN + 2 * x;
            let high = pairs(simd, &lines.low[0], at);
            let low = pairs(simd, &lines.low[1], at);
            let sum = high_filter.split_sum::<SHIFT>(simd, high, low);
            simd.store(v.as_mut_ptr().add(MARGIN + x), sum);
            let high = pairs(simd, &lines.high[0], at);
            let low = pairs(simd, &lines.high[1], at);
            let sum = low_filter.split_sum::<SHIFT>(simd, high, low);
            simd.store(h.as_mut_ptr().add(MARGIN + x), sum);
            let sum = high_filter.split_sum::<SHIFT>(simd, high, low);
            simd.store(d.as_mut_ptr().add(MARGIN + x), sum);
        }
        x += lanes;
    }
}
