//! The vector operations that the kernels are written in, once for all instruction sets.
//!
//! A kernel is generic over [`Simd`] and is entered through [`Simd::run`], which compiles it
//! with the instructions of the level. What must stay true: a value of a type that implements
//! `Simd` exists only where the processor has every instruction of it ([`Simd::detect`] is the
//! only way to one), so that all operations on registers are safe to call; every operation gives
//! the same bits at each level, lane by lane, whatever the number of lanes.
//!
//! A kernel and all it calls must be `#[inline(always)]`, closures are to be left out of inner
//! loops: what is not inlined is compiled without the instructions of the level, and slow.

mod avx2;
mod avx512;
mod buffer;
mod detail;
#[cfg(test)]
mod tests;

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;
pub(crate) use buffer::Buffer;
pub(crate) use detail::Detail;

/// A type whose every bit pattern is a value and which has no padding.
pub(crate) trait Element: Copy + sealed::Sealed {}

mod sealed {
    pub(crate) trait Sealed {}
}

macro_rules! elements {
    ($($name:ty)*) => {$(
        impl sealed::Sealed for $name {}
        impl Element for $name {}
    )*};
}
elements!(u8 i8 u16 i16 u32 i32 u64 i64);

/// Work to do with the vectors of any level.
pub(crate) trait Work {
    /// What comes of it.
    type Output;

    /// Does it; must be `#[inline(always)]`.
    fn run<S: Simd + Detail>(self, simd: S) -> Self::Output;
}

/// Entries of a table for [`Simd::lookup`].
pub(crate) const LOOKUP: usize = 1 << 15;

/// Bytes behind the entries of such a table.
pub(crate) const LOOKUP_MARGIN: usize = 3;

/// The operations of one level.
///
/// Integer registers have no lane width of their own; the number in a name is the width in bits
/// of the lanes that an operation sees. Integer arithmetic wraps. Floating-point operations are
/// those of IEEE 754 and are never fused.
#[allow(
    dead_code,
    reason = "one set of operations, each as wide as the registers, for all kernels"
)]
pub(crate) trait Simd: Copy + Send + Sync + 'static {
    /// Bytes of a register.
    const BYTES: usize;
    /// 32-bit lanes of a register.
    const LANES: usize = Self::BYTES / 4;

    /// A register of integers.
    type Int: Copy;
    /// A register of `f64`, half as many as there are 32-bit lanes.
    type Double: Copy;
    /// A truth value for each 32-bit lane.
    type Mask: Copy;

    /// The level, if this processor has all instructions of it.
    fn detect() -> Option<Self>;
    /// The level, in a function that the table of kernels lists for it.
    ///
    /// # Panics
    /// On a processor without the instructions; the table is made only with them.
    fn in_use() -> Self {
        Self::detect().expect("a level that is in use is one that the processor has")
    }
    /// Does the work with the instructions of the level.
    fn run<W: Work>(self, work: W) -> W::Output;

    /// Loads a register.
    ///
    /// # Safety
    /// [`BYTES`](Simd::BYTES) bytes from `from` on must be readable.
    unsafe fn load<T: Element>(self, from: *const T) -> Self::Int;
    /// Loads half a register of bytes and widens them to unsigned 16-bit lanes, in order.
    ///
    /// # Safety
    /// Half of [`BYTES`](Simd::BYTES) bytes from `from` on must be readable.
    unsafe fn load_widened8(self, from: *const u8) -> Self::Int;
    /// Loads half a register of 16-bit numbers and widens them to unsigned 32-bit lanes, in
    /// order.
    ///
    /// # Safety
    /// Half of [`BYTES`](Simd::BYTES) bytes from `from` on must be readable.
    unsafe fn load_widened16(self, from: *const u16) -> Self::Int;
    /// Stores a register.
    ///
    /// # Safety
    /// [`BYTES`](Simd::BYTES) bytes from `to` on must be writable.
    unsafe fn store<T: Element>(self, to: *mut T, v: Self::Int);
    /// Stores the low half of every 32-bit lane, in order.
    ///
    /// # Safety
    /// Half of [`BYTES`](Simd::BYTES) bytes from `to` on must be writable.
    unsafe fn store_narrowed32(self, to: *mut u16, v: Self::Int);
    /// Loads half a register of integers as `f64`, in order.
    ///
    /// # Safety
    /// Half of [`BYTES`](Simd::BYTES) bytes from `from` on must be readable.
    unsafe fn load_double(self, from: *const i32) -> Self::Double;

    /// Asks for the cache line of an address, which need not be readable.
    #[inline(always)]
    fn prefetch<T: Element>(self, from: *const T) {
        // SAFETY: a prefetch reads nothing that the program sees and never faults; every x86-64
        // processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) };
    }

    fn zero(self) -> Self::Int;
    fn splat8(self, v: u8) -> Self::Int;
    fn splat16(self, v: u16) -> Self::Int;
    fn splat32(self, v: u32) -> Self::Int;
    fn splat64(self, v: u64) -> Self::Int;
    /// The number of each lane.
    fn lanes32(self) -> Self::Int;

    fn and(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn or(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn xor(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// `a & !b`.
    fn and_not(self, a: Self::Int, b: Self::Int) -> Self::Int;

    fn add16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn add32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn add64(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn sub64(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn abs16(self, a: Self::Int) -> Self::Int;
    fn abs32(self, a: Self::Int) -> Self::Int;
    fn max_signed16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn min_signed16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max_unsigned16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn min_unsigned16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn max_signed32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn min_signed32(self, a: Self::Int, b: Self::Int) -> Self::Int;

    /// Low halves of the products.
    fn mul_low16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// High halves of the unsigned products.
    fn mul_high_unsigned16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// High halves of the signed products.
    fn mul_high_signed16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn mul_low32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// 64-bit products of the unsigned low halves of 64-bit lanes.
    fn mul_even_unsigned32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// 64-bit products of the signed low halves of 64-bit lanes.
    fn mul_even_signed32(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Adds to each 32-bit lane the two products of the signed 16-bit lanes in it.
    fn dot16(self, sum: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Sums of eight absolute differences of bytes, in 64-bit lanes.
    fn distance8(self, a: Self::Int, b: Self::Int) -> Self::Int;

    fn shift_left16<const N: u32>(self, v: Self::Int) -> Self::Int;
    fn shift_left32<const N: u32>(self, v: Self::Int) -> Self::Int;
    fn shift_left64<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts in zeros.
    fn shift_right16<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts in zeros.
    fn shift_right32<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts in zeros.
    fn shift_right64<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts in the sign.
    fn shift_right_signed16<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts in the sign.
    fn shift_right_signed32<const N: u32>(self, v: Self::Int) -> Self::Int;
    /// Shifts by a count that is the same for all lanes; 32 or more leaves zero.
    fn shift_left32_by(self, v: Self::Int, count: u32) -> Self::Int;
    /// Shifts in zeros, by a count that is the same for all lanes; 32 or more leaves zero.
    fn shift_right32_by(self, v: Self::Int, count: u32) -> Self::Int;

    /// The even 16-bit lanes of one register and the odd lanes of another.
    fn blend_odd16(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    /// The even 32-bit lanes of one register and the odd lanes of another.
    fn blend_odd32(self, even: Self::Int, odd: Self::Int) -> Self::Int;
    /// `table[v & (LOOKUP - 1)]` for each 32-bit lane.
    fn lookup(self, table: &[u8; LOOKUP + LOOKUP_MARGIN], v: Self::Int) -> Self::Int;

    /// Where `a > b` as signed numbers.
    fn greater_signed32(self, a: Self::Int, b: Self::Int) -> Self::Mask;
    /// `v` where the mask is true, zero elsewhere.
    fn keep32(self, mask: Self::Mask, v: Self::Int) -> Self::Int;
    /// `v` where the mask is false, zero elsewhere.
    fn drop32(self, mask: Self::Mask, v: Self::Int) -> Self::Int;
    /// The number of true lanes.
    fn count(self, mask: Self::Mask) -> usize;
    /// The lanes where the mask is true, brought to the front in order. What follows them is
    /// unspecified.
    fn compact32(self, mask: Self::Mask, v: Self::Int) -> Self::Int;

    /// The sum of the lanes as signed numbers.
    fn sum_signed32(self, v: Self::Int) -> i64;
    /// The wrapped sum of the lanes.
    fn sum64(self, v: Self::Int) -> i64;

    fn splat_double(self, v: f64) -> Self::Double;
    fn add_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    fn sub_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    fn mul_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    fn div_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// The smaller; `b` where they compare equal or not at all.
    fn min_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// The larger; `b` where they compare equal or not at all.
    fn max_double(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// Rounds to integers, towards zero.
    fn truncate(self, v: Self::Double) -> Self::Double;
    /// A number whose integer part is that of `a + b`, exactly, for `a` of 0 or more and an
    /// integer `b` of 0 or more with a sum below 2^53. The fraction is unspecified.
    fn add_integer(self, a: Self::Double, b: Self::Double) -> Self::Double;
    /// The upper halves of the 64 bits of all lanes of `a` and `b`, in unspecified order that is
    /// the same in every call.
    fn high_words(self, a: Self::Double, b: Self::Double) -> Self::Int;
}
