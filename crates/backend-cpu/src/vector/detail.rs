//! The operations that `adm`, `motion` and `psnr` need beside those of [`Simd`].
//!
//! What must stay true is what [the module above](super) says of all operations.

use std::arch::x86_64::*;

use super::{Avx2, Avx512, Simd};

/// More operations of one level.
pub(crate) trait Detail: Simd {
    /// Stores the integers that the lanes hold, all of them in the range of `i32`, in order.
    ///
    /// # Safety
    /// Half of [`BYTES`](Simd::BYTES) bytes from `to` on must be writable.
    unsafe fn store_double(self, to: *mut i32, v: Self::Double);

    /// `(a * b + 2^14) >> 15` of signed numbers, the low 16 bits.
    fn mul_round16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Sums of the two products of the signed 16-bit lanes in each 32-bit lane.
    fn mul_pairs(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Pairs of 16-bit lanes of `a` and `b` from the lower half of each 128-bit group.
    fn interleave_low16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The same from the upper halves.
    fn interleave_high16(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Narrows signed 32-bit lanes to 16 bits; what does not fit becomes the nearest number that
    /// does. Undoes the order of [`interleave_low16`](Detail::interleave_low16) and
    /// [`interleave_high16`](Detail::interleave_high16).
    fn pack_signed32(self, low: Self::Int, high: Self::Int) -> Self::Int;
    /// The same, the lanes of `first` before those of `second`.
    fn pack_in_order(self, first: Self::Int, second: Self::Int) -> Self::Int;
    /// The first half of the unsigned 16-bit lanes, widened to 32 bits, in order.
    fn widen_first16(self, v: Self::Int) -> Self::Int;
    /// The second half of the unsigned 16-bit lanes, widened to 32 bits, in order.
    fn widen_second16(self, v: Self::Int) -> Self::Int;
    /// Shifts in the sign, by a count that is the same for all lanes.
    fn shift_right_signed32_by(self, v: Self::Int, count: u32) -> Self::Int;
    /// Shifts in zeros, by a count that is the same for all lanes; 64 or more leaves zero.
    fn shift_right64_by(self, v: Self::Int, count: u32) -> Self::Int;
    /// Bits of `a` where `mask` has ones, of `b` where it has zeros.
    fn choose(self, mask: Self::Int, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Whether any bit is set.
    fn any(self, v: Self::Int) -> bool;

    /// The nearest `f32` of each signed 32-bit lane.
    fn single(self, v: Self::Int) -> Self::Int;
    /// Products of `f32` lanes.
    fn mul_single(self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Ones in the 32-bit lanes where `a >= b` as `f32`.
    fn at_least_single(self, a: Self::Int, b: Self::Int) -> Self::Int;

    /// The bits of all lanes.
    fn bits(self, v: Self::Double) -> Self::Int;
    /// The lanes of which these are the bits.
    fn as_double(self, v: Self::Int) -> Self::Double;
    /// Rounds to integers, downwards.
    fn floor(self, v: Self::Double) -> Self::Double;
    /// The sum of the lanes, which is exact.
    fn sum_double(self, v: Self::Double) -> f64;
    /// Ones in the 64-bit lanes where `a >= b`.
    fn at_least_double(self, a: Self::Double, b: Self::Double) -> Self::Int;
}

macro_rules! registers {
    ($(fn $name:ident ($($arg:ident: $kind:ty),*) -> $out:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name (self $(, $arg: $kind)*) -> $out {
            // SAFETY: `self` was made by `detect`, so the processor has the instructions.
            unsafe { $body }
        }
    )*};
}

impl Detail for Avx2 {
    #[inline(always)]
    unsafe fn store_double(self, to: *mut i32, v: __m256d) {
        // SAFETY: the caller passes 16 writable bytes; `self` stands for the instructions.
        unsafe { _mm_storeu_si128(to.cast(), _mm256_cvttpd_epi32(v)) }
    }

    registers! {
        fn mul_round16(a: __m256i, b: __m256i) -> __m256i = _mm256_mulhrs_epi16(a, b);
        fn mul_pairs(a: __m256i, b: __m256i) -> __m256i = _mm256_madd_epi16(a, b);
        fn interleave_low16(a: __m256i, b: __m256i) -> __m256i = _mm256_unpacklo_epi16(a, b);
        fn interleave_high16(a: __m256i, b: __m256i) -> __m256i = _mm256_unpackhi_epi16(a, b);
        fn pack_signed32(low: __m256i, high: __m256i) -> __m256i = _mm256_packs_epi32(low, high);
        fn pack_in_order(first: __m256i, second: __m256i) -> __m256i = {
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(first, second))
        };
        fn widen_first16(v: __m256i) -> __m256i = {
            _mm256_cvtepu16_epi32(_mm256_castsi256_si128(v))
        };
        fn widen_second16(v: __m256i) -> __m256i = {
            _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(v))
        };
        fn shift_right_signed32_by(v: __m256i, count: u32) -> __m256i = {
            _mm256_srav_epi32(v, _mm256_set1_epi32(count as i32))
        };
        fn shift_right64_by(v: __m256i, count: u32) -> __m256i = {
            _mm256_srlv_epi64(v, _mm256_set1_epi64x(i64::from(count)))
        };
        fn choose(mask: __m256i, a: __m256i, b: __m256i) -> __m256i = {
            _mm256_blendv_epi8(b, a, mask)
        };
        fn any(v: __m256i) -> bool = _mm256_testz_si256(v, v) == 0;

        fn single(v: __m256i) -> __m256i = _mm256_castps_si256(_mm256_cvtepi32_ps(v));
        fn mul_single(a: __m256i, b: __m256i) -> __m256i = {
            let [a, b] = [_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)];
            _mm256_castps_si256(_mm256_mul_ps(a, b))
        };
        fn at_least_single(a: __m256i, b: __m256i) -> __m256i = {
            let [a, b] = [_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)];
            _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(a, b))
        };

        fn bits(v: __m256d) -> __m256i = _mm256_castpd_si256(v);
        fn as_double(v: __m256i) -> __m256d = _mm256_castsi256_pd(v);
        fn floor(v: __m256d) -> __m256d = {
            _mm256_round_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(v)
        };
        fn sum_double(v: __m256d) -> f64 = {
            let [low, high] = [_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v)];
            let v = _mm_add_pd(low, high);
            _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)))
        };
        fn at_least_double(a: __m256d, b: __m256d) -> __m256i = {
            _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_GE_OQ>(a, b))
        };
    }
}

impl<const VNNI: bool> Detail for Avx512<VNNI> {
    #[inline(always)]
    unsafe fn store_double(self, to: *mut i32, v: __m512d) {
        // SAFETY: the caller passes 32 writable bytes; `self` stands for the instructions.
        unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvttpd_epi32(v)) }
    }

    registers! {
        fn mul_round16(a: __m512i, b: __m512i) -> __m512i = _mm512_mulhrs_epi16(a, b);
        fn mul_pairs(a: __m512i, b: __m512i) -> __m512i = _mm512_madd_epi16(a, b);
        fn interleave_low16(a: __m512i, b: __m512i) -> __m512i = _mm512_unpacklo_epi16(a, b);
        fn interleave_high16(a: __m512i, b: __m512i) -> __m512i = _mm512_unpackhi_epi16(a, b);
        fn pack_signed32(low: __m512i, high: __m512i) -> __m512i = _mm512_packs_epi32(low, high);
        fn pack_in_order(first: __m512i, second: __m512i) -> __m512i = {
            let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
            _mm512_permutexvar_epi64(order, _mm512_packs_epi32(first, second))
        };
        fn widen_first16(v: __m512i) -> __m512i = {
            _mm512_cvtepu16_epi32(_mm512_castsi512_si256(v))
        };
        fn widen_second16(v: __m512i) -> __m512i = {
            _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(v))
        };
        fn shift_right_signed32_by(v: __m512i, count: u32) -> __m512i = {
            _mm512_srav_epi32(v, _mm512_set1_epi32(count as i32))
        };
        fn shift_right64_by(v: __m512i, count: u32) -> __m512i = {
            _mm512_srlv_epi64(v, _mm512_set1_epi64(i64::from(count)))
        };
        fn choose(mask: __m512i, a: __m512i, b: __m512i) -> __m512i = {
            _mm512_ternarylogic_epi32::<0xca>(mask, a, b)
        };
        fn any(v: __m512i) -> bool = _mm512_test_epi32_mask(v, v) != 0;

        fn single(v: __m512i) -> __m512i = _mm512_castps_si512(_mm512_cvtepi32_ps(v));
        fn mul_single(a: __m512i, b: __m512i) -> __m512i = {
            let [a, b] = [_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)];
            _mm512_castps_si512(_mm512_mul_ps(a, b))
        };
        fn at_least_single(a: __m512i, b: __m512i) -> __m512i = {
            let [a, b] = [_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)];
            let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b);
            _mm512_maskz_set1_epi32(mask, -1)
        };

        fn bits(v: __m512d) -> __m512i = _mm512_castpd_si512(v);
        fn as_double(v: __m512i) -> __m512d = _mm512_castsi512_pd(v);
        fn floor(v: __m512d) -> __m512d = {
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(v)
        };
        fn sum_double(v: __m512d) -> f64 = _mm512_reduce_add_pd(v);
        fn at_least_double(a: __m512d, b: __m512d) -> __m512i = {
            let mask = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b);
            _mm512_maskz_set1_epi64(mask, -1)
        };
    }
}
