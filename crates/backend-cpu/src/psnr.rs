//! Squared errors with vectors.
//!
//! A block of a row is summed in 32-bit lanes where its samples are small enough, as they are
//! up to 12 bits, and is summed once more in 64-bit lanes where they are not. What must stay
//! true: the sum is exact, so its order is free.

use vmafx_api::PlaneView;
use vmafx_metrics::mirror::{Pair, Plane, Sample};

use crate::vector::{Detail, Element, Simd, Work};

/// Registers of a block.
const BLOCK: usize = 32;

/// Bits of a difference whose squares a lane can add up over a block: a dot product adds two.
const SMALL: u16 = 1 << 12;
const _: () = assert!((SMALL as u64 - 1).pow(2) * 2 * (BLOCK as u64) < 1 << 31);

/// A sample that a register of 16-bit lanes can be filled with.
pub(crate) trait Lane: Sample + Element + Default {
    /// Loads `2 * LANES` samples as unsigned 16-bit lanes.
    ///
    /// # Safety
    /// As many samples from `from` on must be readable.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> S::Int;
}

impl Lane for u8 {
    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const u8) -> S::Int {
        // SAFETY: as many bytes as there are 16-bit lanes are half a register.
        unsafe { simd.load_widened8(from) }
    }
}

impl Lane for u16 {
    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const u16) -> S::Int {
        // SAFETY: as many words as there are 16-bit lanes are a register.
        unsafe { simd.load(from) }
    }
}

/// The sum of squared errors of one plane.
///
/// # Panics
/// If the planes differ in size or sample type.
/// On a processor without the instructions; the table of kernels is made only with them.
pub(crate) fn squared_error<S: Simd>(reference: &PlaneView<'_>, distorted: &PlaneView<'_>) -> u64 {
    let simd = S::in_use();
    match Pair::new(reference, distorted) {
        Pair::U8(a, b) => simd.run(Planes { a, b }),
        Pair::U16(a, b) => simd.run(Planes { a, b }),
    }
}

struct Planes<'a, T> {
    a: Plane<'a, T>,
    b: Plane<'a, T>,
}

impl<T: Lane> Work for Planes<'_, T> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd + Detail>(self, simd: S) -> u64 {
        let mut sum = simd.zero();
        for y in 0..self.a.height() as isize {
            sum = row(simd, sum, self.a.row(y), self.b.row(y));
        }
        simd.sum64(sum) as u64
    }
}

/// Adds the squared errors of a row to the 64-bit lanes of `sum`.
#[inline(always)]
fn row<S: Simd + Detail, T: Lane>(simd: S, mut sum: S::Int, a: &[T], b: &[T]) -> S::Int {
    let lanes = 2 * S::LANES;
    let whole = a.len() / lanes * lanes;
    let mut x = 0;
    while x < whole {
        let block = (whole - x).min(BLOCK * lanes);
        sum = add_block(simd, sum, &a[x..x + block], &b[x..x + block]);
        x += block;
    }
    if x < a.len() {
        let mut rest = [[T::default(); 64]; 2];
        rest[0][..a.len() - x].copy_from_slice(&a[x..]);
        rest[1][..b.len() - x].copy_from_slice(&b[x..]);
        sum = add_block(simd, sum, &rest[0][..lanes], &rest[1][..lanes]);
    }
    sum
}

/// Adds the squared errors of at most a block of whole registers.
#[inline(always)]
fn add_block<S: Simd + Detail, T: Lane>(simd: S, sum: S::Int, a: &[T], b: &[T]) -> S::Int {
    let lanes = 2 * S::LANES;
    assert_eq!(a.len(), b.len());
    let (mut squares, mut seen) = (simd.zero(), simd.zero());
    let mut x = 0;
    while x + lanes <= a.len() {
        // SAFETY: a register of samples from `x` on lies in both slices, of one length.
        let [a, b] = unsafe {
            [
                T::load(simd, a.as_ptr().add(x)),
                T::load(simd, b.as_ptr().add(x)),
            ]
        };
        seen = simd.or(seen, simd.or(a, b));
        let error = simd.sub16(a, b);
        squares = simd.dot16(squares, error, error);
        x += lanes;
    }
    let large = simd.and(seen, simd.splat16(!(SMALL - 1)));
    if size_of::<T>() > 1 && simd.any(large) {
        return add_large(simd, sum, a, b);
    }
    add_lanes(simd, sum, squares)
}

/// The same for samples of any size.
#[inline(always)]
fn add_large<S: Simd + Detail, T: Lane>(simd: S, mut sum: S::Int, a: &[T], b: &[T]) -> S::Int {
    let lanes = 2 * S::LANES;
    let mut x = 0;
    while x + lanes <= a.len().min(b.len()) {
        // SAFETY: a register of samples from `x` on lies in both slices.
        let [a, b] = unsafe {
            [
                T::load(simd, a.as_ptr().add(x)),
                T::load(simd, b.as_ptr().add(x)),
            ]
        };
        let error = simd.sub16(simd.max_unsigned16(a, b), simd.min_unsigned16(a, b));
        let low = simd.mul_low16(error, error);
        let high = simd.mul_high_unsigned16(error, error);
        sum = add_lanes(simd, sum, simd.interleave_low16(low, high));
        sum = add_lanes(simd, sum, simd.interleave_high16(low, high));
        x += lanes;
    }
    sum
}

/// Adds unsigned 32-bit lanes to 64-bit lanes.
#[inline(always)]
fn add_lanes<S: Simd>(simd: S, sum: S::Int, lanes: S::Int) -> S::Int {
    let even = simd.blend_odd32(lanes, simd.zero());
    simd.add64(simd.add64(sum, even), simd.shift_right64::<32>(lanes))
}
