//! The pass down the columns: a strip of a band of rows to filtered samples and products.
//!
//! Products are made of pairs of samples as they are needed, once for four rows. A product of
//! bytes has 16 bits and is filtered as it is; one of 16-bit samples is filtered in two halves.
//! What must stay true: rounding is that of the scalar reference, after the whole sum.

use super::image::{STRIP, Sample, group};
use super::lines::{Lines, Rows};
use super::window::{BIAS, SIGN, Taps, Window, widen};
use super::{BAND_PAIRS, ROWS};
use crate::vector::Simd;

/// Rows that are filtered at a time.
pub(super) const STEP: usize = 4;

/// Pairs of rows of one image in a strip.
pub(super) type Pairs = [[u32; STRIP]; BAND_PAIRS];

/// What is summed up under a window: 16-bit lanes made of the pairs of two images.
trait Term {
    /// What is to be added to the sum of what `of` returns.
    const BIAS: u32;

    fn of<S: Simd>(simd: S, x: S::Int, y: S::Int) -> S::Int;
}

/// Bytes of the first image.
struct Byte;
/// 16-bit samples of the first image.
struct Word;
/// Products, or the low halves of them.
struct Low;
/// The high halves of products.
struct High;

impl Term for Byte {
    const BIAS: u32 = 0;

    #[inline(always)]
    fn of<S: Simd>(_simd: S, x: S::Int, _y: S::Int) -> S::Int {
        x
    }
}

impl Term for Word {
    const BIAS: u32 = BIAS;

    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Int, _y: S::Int) -> S::Int {
        simd.xor(x, simd.splat16(SIGN))
    }
}

impl Term for Low {
    const BIAS: u32 = BIAS;

    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Int, y: S::Int) -> S::Int {
        simd.xor(simd.mul_low16(x, y), simd.splat16(SIGN))
    }
}

impl Term for High {
    const BIAS: u32 = BIAS;

    #[inline(always)]
    fn of<S: Simd>(simd: S, x: S::Int, y: S::Int) -> S::Int {
        simd.xor(simd.mul_high_unsigned16(x, y), simd.splat16(SIGN))
    }
}

/// Right shifts of filtered samples and of filtered products.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shifts {
    pub(super) mean: u32,
    pub(super) product: u32,
}

/// What is made of [`STEP`] rows of a group: its even columns, then its odd ones.
type Filtered<S> = [[<S as Simd>::Int; STEP]; 2];

/// Sums around [`STEP`] rows of a group, `x` and `y` being where it begins in the first pair.
/// That all of them grow at once hides how long one dot product takes.
///
/// # Safety
/// A group must be readable at `x` and at `y` in `W::PAIRS + 1` pairs of rows, which are
/// [`STRIP`] elements apart.
#[inline(always)]
unsafe fn sums<S: Simd, W: Window, T: Term>(
    simd: S,
    taps: &Taps<S>,
    [x, y]: [*const u32; 2],
    half: u32,
) -> Filtered<S> {
    let start = simd.splat32(T::BIAS.wrapping_add(half));
    let [mut first, mut second] = [[[start; 2]; 2]; 2];
    let mut pair = 0;
    while pair <= W::PAIRS {
        let mut side = 0;
        while side < 2 {
            // SAFETY: the caller vouches for two registers in each of `PAIRS + 1` pairs.
            let v = unsafe {
                let at = pair * STRIP + side * S::LANES;
                T::of(simd, simd.load(x.add(at)), simd.load(y.add(at)))
            };
            if pair < W::PAIRS {
                let [even, odd] = first[side];
                first[side] = [
                    simd.dot16(even, v, taps.even[pair]),
                    simd.dot16(odd, v, taps.odd[pair]),
                ];
                if W::WIDE && pair == W::RADIUS / 2 {
                    widen(simd, &mut first[side], v);
                }
            }
            if pair > 0 {
                let [even, odd] = second[side];
                second[side] = [
                    simd.dot16(even, v, taps.even[pair - 1]),
                    simd.dot16(odd, v, taps.odd[pair - 1]),
                ];
                if W::WIDE && pair - 1 == W::RADIUS / 2 {
                    widen(simd, &mut second[side], v);
                }
            }
            side += 1;
        }
        pair += 1;
    }
    [
        [first[0][0], first[0][1], second[0][0], second[0][1]],
        [first[1][0], first[1][1], second[1][0], second[1][1]],
    ]
}

/// The same for filtered products, rounded.
///
/// # Safety
/// As for [`sums`].
#[inline(always)]
unsafe fn products<S: Simd, W: Window, T: Sample>(
    simd: S,
    taps: &Taps<S>,
    pairs: [*const u32; 2],
    shift: u32,
) -> Filtered<S> {
    // SAFETY: the caller's promise is that of `sums`.
    unsafe {
        if T::BYTE {
            return sums::<S, W, Low>(simd, taps, pairs, 0);
        }
        let mut low = sums::<S, W, Low>(simd, taps, pairs, (1 << shift) >> 1);
        let high = sums::<S, W, High>(simd, taps, pairs, 0);
        let mut i = 0;
        while i < 2 * STEP {
            let (low, high) = (&mut low[i / STEP][i % STEP], high[i / STEP][i % STEP]);
            let high = simd.shift_left32_by(high, 16 - shift);
            *low = simd.add32(high, simd.shift_right32_by(*low, shift));
            i += 1;
        }
        low
    }
}

/// The same for filtered samples, rounded.
///
/// # Safety
/// As for [`sums`].
#[inline(always)]
unsafe fn means<S: Simd, W: Window, T: Sample>(
    simd: S,
    taps: &Taps<S>,
    pairs: *const u32,
    shift: u32,
) -> Filtered<S> {
    let half = (1 << shift) >> 1;
    // SAFETY: the caller's promise is that of `sums`.
    let mut out = unsafe {
        if T::BYTE {
            sums::<S, W, Byte>(simd, taps, [pairs; 2], half)
        } else {
            sums::<S, W, Word>(simd, taps, [pairs; 2], half)
        }
    };
    let mut i = 0;
    while i < 2 * STEP {
        let out = &mut out[i / STEP][i % STEP];
        *out = simd.shift_right32_by(*out, shift);
        i += 1;
    }
    out
}

/// The low halves of even and odd columns, in order of columns and with the sign flipped.
#[inline(always)]
fn low_halves<S: Simd>(simd: S, even: S::Int, odd: S::Int) -> S::Int {
    let both = simd.blend_odd16(even, simd.shift_left32::<16>(odd));
    simd.xor(both, simd.splat16(SIGN))
}

/// The high halves of even and odd columns, in order of columns and with the sign flipped.
#[inline(always)]
fn high_halves<S: Simd>(simd: S, even: S::Int, odd: S::Int) -> S::Int {
    let both = simd.blend_odd16(simd.shift_right32::<16>(even), odd);
    simd.xor(both, simd.splat16(SIGN))
}

/// Where a strip lies: its first column, its width, and the rows of the band.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) from: usize,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Planes of a filtered row: both means, then low and high halves of the squares of the
/// reference, those of the distorted image, and the products of the two.
pub(super) const PLANES: usize = 8;

/// Filters the rows of a strip: means and products, `pairs` being those of both images from
/// `W::RADIUS` rows above the band on.
#[inline(always)]
pub(super) fn filter_strip<S: Simd, W: Window, T: Sample>(
    simd: S,
    pairs: &[Pairs; 2],
    place: Place,
    shifts: Shifts,
    lines: &mut Lines<PLANES>,
) {
    assert!(
        place.rows <= ROWS && place.columns <= STRIP,
        "a strip of a band"
    );
    let taps = Taps::<S>::new::<W>(simd);
    let mut y = 0;
    while y < place.rows {
        let out = lines.rows(y, STEP);
        let mut at = 0;
        while at < place.columns {
            let start = y / 2 * STRIP + at;
            let column = place.from + at;
            // SAFETY: `y` is a multiple of `STEP` below `ROWS`, so that with the largest radius
            // `BAND_PAIRS` holds `W::PAIRS + 1` from pair `y / 2` on; `at` is a multiple of a
            // group below `STRIP`, itself a multiple of it, so that two registers lie behind it; `Rows` allows
            // whole groups of columns.
            unsafe {
                let x = pairs[0].as_ptr().cast::<u32>().add(start);
                let y = pairs[1].as_ptr().cast::<u32>().add(start);
                for (plane, pairs) in [(0, x), (1, y)] {
                    let means = means::<S, W, T>(simd, &taps, pairs, shifts.mean);
                    put(simd, out, [plane, column], &means, low_halves);
                }
                for (plane, a, b) in [(2, x, x), (4, y, y), (6, x, y)] {
                    let products = products::<S, W, T>(simd, &taps, [a, b], shifts.product);
                    put(simd, out, [plane, column], &products, low_halves);
                    put(simd, out, [plane + 1, column], &products, high_halves);
                }
            }
            at += group::<S>();
        }
        y += STEP;
    }
}

/// Stores halves of [`STEP`] rows of a group.
///
/// # Safety
/// There must be [`STEP`] rows that have a group at the column.
#[inline(always)]
unsafe fn put<S: Simd>(
    simd: S,
    rows: Rows<PLANES>,
    [plane, column]: [usize; 2],
    [even, odd]: &Filtered<S>,
    halves: impl Fn(S, S::Int, S::Int) -> S::Int,
) {
    let mut row = 0;
    while row < STEP {
        // SAFETY: the caller's promise; a group of 16-bit samples is a register.
        unsafe {
            let out = rows.at(row, plane).add(column);
            simd.store(out, halves(simd, even[row], odd[row]));
        }
        row += 1;
    }
}

/// Filters the even rows of a strip with the window of the next scale, `pairs` being those of
/// both images from `radius` rows above the band on.
#[inline(always)]
pub(super) fn halve_strip<S: Simd, W: Window, T: Sample>(
    simd: S,
    pairs: &[Pairs; 2],
    place: Place,
    radius: usize,
    shift: u32,
    lines: &mut Lines<2>,
) {
    assert!(
        place.rows <= ROWS && place.columns <= STRIP,
        "a strip of a band"
    );
    assert!(radius >= W::RADIUS, "rows above the band");
    let taps = Taps::<S>::new::<W>(simd);
    let ahead = (radius - W::RADIUS) / 2;
    let half = (1 << shift) >> 1;
    for (image, pairs) in pairs.iter().enumerate() {
        for y in (0..place.rows).step_by(STEP) {
            let out = lines.rows(y / 2, 2);
            let mut at = 0;
            while at < place.columns {
                // SAFETY: `y` is a multiple of `STEP` below `ROWS`, so that `BAND_PAIRS` holds
                // `W::PAIRS + 1` from pair `y / 2 + ahead` on; `at` is a multiple of a group
                // below `STRIP`, itself a multiple of it, so that two registers lie behind it;
                // `Rows` allows whole groups of columns.
                unsafe {
                    let start = (y / 2 + ahead) * STRIP + at;
                    let first = pairs.as_ptr().cast::<u32>().add(start);
                    let even = even_means::<S, W, T>(simd, &taps, first, half, shift);
                    let odd = first.add(S::LANES);
                    let odd = even_means::<S, W, T>(simd, &taps, odd, half, shift);
                    let column = place.from + at;
                    simd.store(
                        out.at(0, image).add(column),
                        low_halves(simd, even[0], odd[0]),
                    );
                    simd.store(
                        out.at(1, image).add(column),
                        low_halves(simd, even[1], odd[1]),
                    );
                }
                at += group::<S>();
            }
        }
    }
}

/// The rounded sums around the even ones of [`STEP`] rows.
///
/// # Safety
/// A register must be readable at `x` in `W::PAIRS + 1` pairs of rows, [`STRIP`] elements apart.
#[inline(always)]
unsafe fn even_means<S: Simd, W: Window, T: Sample>(
    simd: S,
    taps: &Taps<S>,
    x: *const u32,
    half: u32,
    shift: u32,
) -> [S::Int; 2] {
    let bias = if T::BYTE { Byte::BIAS } else { Word::BIAS };
    let start = simd.splat32(bias.wrapping_add(half));
    let [mut first, mut second] = [[start; 2]; 2];
    let mut pair = 0;
    while pair <= W::PAIRS {
        // SAFETY: the caller vouches for `PAIRS + 1` pairs.
        let v = unsafe { simd.load(x.add(pair * STRIP)) };
        let v = if T::BYTE { v } else { Word::of(simd, v, v) };
        if pair < W::PAIRS {
            first[0] = simd.dot16(first[0], v, taps.even[pair]);
            if W::WIDE && pair == W::RADIUS / 2 {
                widen(simd, &mut first, v);
            }
        }
        if pair > 0 {
            second[0] = simd.dot16(second[0], v, taps.even[pair - 1]);
            if W::WIDE && pair - 1 == W::RADIUS / 2 {
                widen(simd, &mut second, v);
            }
        }
        pair += 1;
    }
    [
        simd.shift_right32_by(first[0], shift),
        simd.shift_right32_by(second[0], shift),
    ]
}
