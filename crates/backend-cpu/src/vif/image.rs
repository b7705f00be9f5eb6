//! Images that the kernel reads: rows reflected at top and bottom, and two rows brought together
//! lane by lane.

use crate::vector::{Element, Simd};

/// Columns whose pairs of rows are kept at a time, so that a band of them stays in the first
/// cache. A multiple of every [`group`].
pub(super) const STRIP: usize = 64;

/// Columns of one step: those of two registers of pairs, the even columns and the odd ones.
#[inline(always)]
pub(super) const fn group<S: Simd>() -> usize {
    2 * S::LANES
}

/// A sample as it is stored.
pub(super) trait Sample: Element {
    /// Whether samples are bytes, so that products have 16 bits.
    const BYTE: bool;

    /// Loads a [`group`] of samples as unsigned 16-bit lanes.
    ///
    /// # Safety
    /// A group of samples from `from` on must be readable.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> S::Int;
}

impl Sample for u8 {
    const BYTE: bool = true;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const u8) -> S::Int {
        // SAFETY: a group of bytes is half a register.
        unsafe { simd.load_widened8(from) }
    }
}

impl Sample for u16 {
    const BYTE: bool = false;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const u16) -> S::Int {
        // SAFETY: a group of 16-bit samples is a register.
        unsafe { simd.load(from) }
    }
}

/// A plane of samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image<'a, T> {
    pub(super) samples: &'a [T],
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) stride: usize,
}

impl<'a, T: Copy> Image<'a, T> {
    /// Columns `from..to` of row `y`. Rows outside are reflected once about the border row; what
    /// is still outside then is read for results that are dropped, and is the border row.
    #[inline(always)]
    fn row(&self, y: isize, from: usize, to: usize) -> &'a [T] {
        let last = self.height as isize - 1;
        let y = y.abs();
        let y = if y > last { 2 * last - y } else { y }.clamp(0, last) as usize;
        &self.samples[y * self.stride..][from..to]
    }
}

/// Brings rows `y` and `y + 1` together for the strip that begins at column `from`: a register
/// of the even columns of each group, then one of the odd, with row `y` in the low half of each
/// lane. Columns right of the image are zero up to the end of their group.
#[inline(always)]
pub(super) fn interleave<S: Simd, T: Sample + Default>(
    simd: S,
    image: &Image<'_, T>,
    y: isize,
    from: usize,
    out: &mut [u32; STRIP],
) {
    let to = image.width.min(from + STRIP);
    let upper = image.row(y, from, to);
    let lower = image.row(y + 1, from, to);
    // The next strip's part of these rows: too many rows for the processor to see it coming.
    for line in (0..STRIP * size_of::<T>()).step_by(64) {
        let ahead = STRIP + line / size_of::<T>();
        simd.prefetch(upper.as_ptr().wrapping_add(ahead));
        simd.prefetch(lower.as_ptr().wrapping_add(ahead));
    }
    let whole = upper.len() - upper.len() % group::<S>();
    let mut at = 0;
    while at < whole {
        // SAFETY: both rows have a group of samples from `at` on, as `whole` is a multiple of a
        // group and not beyond their length; `whole` is at most `STRIP`.
        unsafe {
            let pair = [upper.as_ptr().add(at), lower.as_ptr().add(at)];
            store_pairs(simd, pair, out.as_mut_ptr().add(at));
        }
        at += group::<S>();
    }
    if whole < upper.len() {
        let mut rest = [[T::default(); STRIP]; 2];
        let columns = upper.len() - whole;
        rest[0][..columns].copy_from_slice(&upper[whole..]);
        rest[1][..columns].copy_from_slice(&lower[whole..]);
        // SAFETY: a group is not wider than `STRIP`, a multiple of it, so `rest` has one, and so
        // has `out` behind `whole`, which is a multiple of a group below `STRIP`.
        unsafe {
            let pair = [rest[0].as_ptr(), rest[1].as_ptr()];
            store_pairs(simd, pair, out.as_mut_ptr().add(whole));
        }
    }
}

/// # Safety
/// A [`group`] must be readable from both pointers on and writable from `out` on.
#[inline(always)]
unsafe fn store_pairs<S: Simd, T: Sample>(simd: S, rows: [*const T; 2], out: *mut u32) {
    // SAFETY: the caller vouches for a group of samples of each row, and for a group of `out`,
    // which is two registers.
    unsafe {
        let (upper, lower) = (T::load(simd, rows[0]), T::load(simd, rows[1]));
        let even = simd.blend_odd16(upper, simd.shift_left32::<16>(lower));
        let odd = simd.blend_odd16(simd.shift_right32::<16>(upper), lower);
        simd.store(out, even);
        simd.store(out.add(S::LANES), odd);
    }
}
