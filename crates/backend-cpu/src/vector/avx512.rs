//! 512-bit registers, with or without the dot products of VNNI.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Element, LOOKUP, LOOKUP_MARGIN, Simd, Work};

/// AVX-512 F and BW, and with `VNNI` the instructions of that name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512<const VNNI: bool>(());

/// Odd lanes of 16 bits.
const ODD16: __mmask32 = 0xaaaa_aaaa;
/// Odd lanes of 32 bits.
const ODD32: __mmask16 = 0xaaaa;

#[target_feature(enable = "avx512f,avx512bw,avx2,popcnt")]
fn plain<W: Work>(simd: Avx512<false>, work: W) -> W::Output {
    work.run(simd)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx2,popcnt")]
fn with_vnni<W: Work>(simd: Avx512<true>, work: W) -> W::Output {
    work.run(simd)
}

/// `vpdpwssd` by name: compilers that tune for no particular processor take the intrinsic apart
/// into a multiplication and an addition.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dot16_vnni(mut sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the instruction reads and writes registers alone, and the function has its feature.
    unsafe {
        asm!(
            "vpdpwssd {sum}, {a}, {b}",
            sum = inout(zmm_reg) sum,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

macro_rules! registers {
    ($(fn $name:ident $(<const $n:ident: u32>)? ($($arg:ident: $kind:ty),*) -> $out:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name $(<const $n: u32>)? (self $(, $arg: $kind)*) -> $out {
            // SAFETY: `self` was made by `detect`, so the processor has the instructions.
            unsafe { $body }
        }
    )*};
}

impl<const VNNI: bool> Simd for Avx512<VNNI> {
    const BYTES: usize = 64;
    type Int = __m512i;
    type Double = __m512d;
    type Mask = __mmask16;

    fn detect() -> Option<Self> {
        let plain = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt");
        let all = plain && (!VNNI || is_x86_feature_detected!("avx512vnni"));
        all.then_some(Avx512(()))
    }

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        if VNNI {
            // SAFETY: `self` was made by `detect`, which asked for the features of `with_vnni`.
            unsafe { with_vnni(Avx512(()), work) }
        } else {
            // SAFETY: `self` was made by `detect`, which asked for the features of `plain`.
            unsafe { plain(Avx512(()), work) }
        }
    }

    #[inline(always)]
    unsafe fn load<T: Element>(self, from: *const T) -> __m512i {
        // SAFETY: the caller passes 64 readable bytes; `self` stands for the instruction.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn load_widened8(self, from: *const u8) -> __m512i {
        // SAFETY: the caller passes 32 readable bytes; `self` stands for the instructions.
        unsafe { _mm512_cvtepu8_epi16(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn load_widened16(self, from: *const u16) -> __m512i {
        // SAFETY: the caller passes 32 readable bytes; `self` stands for the instructions.
        unsafe { _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store<T: Element>(self, to: *mut T, v: __m512i) {
        // SAFETY: the caller passes 64 writable bytes; `self` stands for the instruction.
        unsafe { _mm512_storeu_si512(to.cast(), v) }
    }
    #[inline(always)]
    unsafe fn store_narrowed32(self, to: *mut u16, v: __m512i) {
        // SAFETY: the caller passes 32 writable bytes; `self` stands for the instructions.
        unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(v)) }
    }
    #[inline(always)]
    unsafe fn load_double(self, from: *const i32) -> __m512d {
        // SAFETY: the caller passes 32 readable bytes; `self` stands for the instructions.
        unsafe { _mm512_cvtepi32_pd(_mm256_loadu_si256(from.cast())) }
    }

    registers! {
        fn zero() -> __m512i = _mm512_setzero_si512();
        fn splat8(v: u8) -> __m512i = _mm512_set1_epi8(v as i8);
        fn splat16(v: u16) -> __m512i = _mm512_set1_epi16(v as i16);
        fn splat32(v: u32) -> __m512i = _mm512_set1_epi32(v as i32);
        fn splat64(v: u64) -> __m512i = _mm512_set1_epi64(v as i64);

        fn lanes32() -> __m512i = {
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        };

        fn and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        fn or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        fn xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn and_not(a: __m512i, b: __m512i) -> __m512i = _mm512_andnot_si512(b, a);

        fn add16(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi16(a, b);
        fn add32(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn add64(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi64(a, b);
        fn sub16(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi16(a, b);
        fn sub32(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        fn sub64(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi64(a, b);
        fn abs16(a: __m512i) -> __m512i = _mm512_abs_epi16(a);
        fn abs32(a: __m512i) -> __m512i = _mm512_abs_epi32(a);
        fn max_signed16(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epi16(a, b);
        fn min_signed16(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epi16(a, b);
        fn max_unsigned16(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epu16(a, b);
        fn min_unsigned16(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epu16(a, b);
        fn max_signed32(a: __m512i, b: __m512i) -> __m512i = _mm512_max_epi32(a, b);
        fn min_signed32(a: __m512i, b: __m512i) -> __m512i = _mm512_min_epi32(a, b);

        fn mul_low16(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi16(a, b);
        fn mul_high_unsigned16(a: __m512i, b: __m512i) -> __m512i = _mm512_mulhi_epu16(a, b);
        fn mul_high_signed16(a: __m512i, b: __m512i) -> __m512i = _mm512_mulhi_epi16(a, b);
        fn mul_low32(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        fn mul_even_unsigned32(a: __m512i, b: __m512i) -> __m512i = _mm512_mul_epu32(a, b);
        fn mul_even_signed32(a: __m512i, b: __m512i) -> __m512i = _mm512_mul_epi32(a, b);
        fn dot16(sum: __m512i, a: __m512i, b: __m512i) -> __m512i = {
            if VNNI {
                dot16_vnni(sum, a, b)
            } else {
                _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
            }
        };
        fn distance8(a: __m512i, b: __m512i) -> __m512i = _mm512_sad_epu8(a, b);

        fn shift_left16<const N: u32>(v: __m512i) -> __m512i = _mm512_slli_epi16::<N>(v);
        fn shift_left32<const N: u32>(v: __m512i) -> __m512i = _mm512_slli_epi32::<N>(v);
        fn shift_left64<const N: u32>(v: __m512i) -> __m512i = _mm512_slli_epi64::<N>(v);
        fn shift_right16<const N: u32>(v: __m512i) -> __m512i = _mm512_srli_epi16::<N>(v);
        fn shift_right32<const N: u32>(v: __m512i) -> __m512i = _mm512_srli_epi32::<N>(v);
        fn shift_right64<const N: u32>(v: __m512i) -> __m512i = _mm512_srli_epi64::<N>(v);
        fn shift_right_signed16<const N: u32>(v: __m512i) -> __m512i = _mm512_srai_epi16::<N>(v);
        fn shift_right_signed32<const N: u32>(v: __m512i) -> __m512i = _mm512_srai_epi32::<N>(v);
        fn shift_left32_by(v: __m512i, count: u32) -> __m512i = {
            _mm512_sll_epi32(v, _mm_cvtsi32_si128(count as i32))
        };
        fn shift_right32_by(v: __m512i, count: u32) -> __m512i = {
            _mm512_srl_epi32(v, _mm_cvtsi32_si128(count as i32))
        };

        fn blend_odd16(even: __m512i, odd: __m512i) -> __m512i = {
            _mm512_mask_blend_epi16(ODD16, even, odd)
        };
        fn blend_odd32(even: __m512i, odd: __m512i) -> __m512i = {
            _mm512_mask_blend_epi32(ODD32, even, odd)
        };

        fn greater_signed32(a: __m512i, b: __m512i) -> __mmask16 = _mm512_cmpgt_epi32_mask(a, b);
        fn keep32(mask: __mmask16, v: __m512i) -> __m512i = _mm512_maskz_mov_epi32(mask, v);
        fn drop32(mask: __mmask16, v: __m512i) -> __m512i = _mm512_maskz_mov_epi32(!mask, v);
        fn compact32(mask: __mmask16, v: __m512i) -> __m512i = _mm512_maskz_compress_epi32(mask, v);

        fn sum_signed32(v: __m512i) -> i64 = {
            let [low, high] = [_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v)];
            let [low, high] = [_mm512_cvtepi32_epi64(low), _mm512_cvtepi32_epi64(high)];
            _mm512_reduce_add_epi64(_mm512_add_epi64(low, high))
        };
        fn sum64(v: __m512i) -> i64 = _mm512_reduce_add_epi64(v);

        fn splat_double(v: f64) -> __m512d = _mm512_set1_pd(v);
        fn add_double(a: __m512d, b: __m512d) -> __m512d = _mm512_add_pd(a, b);
        fn sub_double(a: __m512d, b: __m512d) -> __m512d = _mm512_sub_pd(a, b);
        fn mul_double(a: __m512d, b: __m512d) -> __m512d = _mm512_mul_pd(a, b);
        fn div_double(a: __m512d, b: __m512d) -> __m512d = _mm512_div_pd(a, b);
        fn min_double(a: __m512d, b: __m512d) -> __m512d = _mm512_min_pd(a, b);
        fn max_double(a: __m512d, b: __m512d) -> __m512d = _mm512_max_pd(a, b);
        fn truncate(v: __m512d) -> __m512d = {
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(v)
        };
        fn add_integer(a: __m512d, b: __m512d) -> __m512d = {
            _mm512_add_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a, b)
        };
        fn high_words(a: __m512d, b: __m512d) -> __m512i = {
            let [a, b] = [_mm512_castpd_ps(a), _mm512_castpd_ps(b)];
            _mm512_castps_si512(_mm512_shuffle_ps::<0b11_01_11_01>(a, b))
        };
    }

    #[inline(always)]
    fn lookup(self, table: &[u8; LOOKUP + LOOKUP_MARGIN], v: __m512i) -> __m512i {
        let index = self.and(v, self.splat32(LOOKUP as u32 - 1));
        // SAFETY: four bytes from an index below `LOOKUP` on lie in the table with its margin;
        // `self` stands for the instruction.
        let words = unsafe { _mm512_i32gather_epi32::<1>(index, table.as_ptr().cast()) };
        self.and(words, self.splat32(0xff))
    }

    #[inline(always)]
    fn count(self, mask: __mmask16) -> usize {
        mask.count_ones() as usize
    }
}
