//! 256-bit registers.

use std::arch::asm;
use std::arch::x86_64::*;

use super::{Element, LOOKUP, LOOKUP_MARGIN, Simd, Work};

/// AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// For every set of true lanes their numbers, a byte each, in order; then zeros.
static COMPACTED: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut to) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask][to] = lane as u8;
                to += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

#[target_feature(enable = "avx2,popcnt")]
fn with_avx2<W: Work>(simd: Avx2, work: W) -> W::Output {
    work.run(simd)
}

/// Four bytes from `table` on at each index, written out because emulators (QEMU 7.2 is one) take
/// an index in register 4 for none: there scores would be wrong without a word.
///
/// # Safety
/// Four bytes must be readable at each index, and the processor must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather(table: *const u8, index: __m256i) -> __m256i {
    let mut words = _mm256_setzero_si256();
    // SAFETY: the instruction reads the bytes that the caller promises and nothing else.
    unsafe {
        asm!(
            "vpgatherdd {words}, [{table} + ymm5], {mask}",
            words = inout(ymm_reg) words,
            mask = inout(ymm_reg) _mm256_set1_epi32(-1) => _,
            table = in(reg) table,
            in("ymm5") index,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    words
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

impl Avx2 {
    /// The true lanes as bits.
    #[inline(always)]
    fn bits(self, mask: __m256i) -> usize {
        // SAFETY: `self` was made by `detect`, so the processor has the instructions.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)) as usize }
    }
}

impl Simd for Avx2 {
    const BYTES: usize = 32;
    type Int = __m256i;
    type Double = __m256d;
    type Mask = __m256i;

    fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        all.then_some(Avx2(()))
    }

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: `self` was made by `detect`, which asked for the features of `with_avx2`.
        unsafe { with_avx2(self, work) }
    }

    #[inline(always)]
    unsafe fn load<T: Element>(self, from: *const T) -> __m256i {
        // SAFETY: the caller passes 32 readable bytes; `self` stands for the instruction.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn load_widened8(self, from: *const u8) -> __m256i {
        // SAFETY: the caller passes 16 readable bytes; `self` stands for the instructions.
        unsafe { _mm256_cvtepu8_epi16(_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn load_widened16(self, from: *const u16) -> __m256i {
        // SAFETY: the caller passes 16 readable bytes; `self` stands for the instructions.
        unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store<T: Element>(self, to: *mut T, v: __m256i) {
        // SAFETY: the caller passes 32 writable bytes; `self` stands for the instruction.
        unsafe { _mm256_storeu_si256(to.cast(), v) }
    }
    #[inline(always)]
    unsafe fn store_narrowed32(self, to: *mut u16, v: __m256i) {
        // SAFETY: the caller passes 16 writable bytes; `self` stands for the instructions.
        unsafe {
            let low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
            let packed = _mm256_packus_epi32(low, low);
            let packed = _mm256_permute4x64_epi64::<0b10_00_10_00>(packed);
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(packed));
        }
    }
    #[inline(always)]
    unsafe fn load_double(self, from: *const i32) -> __m256d {
        // SAFETY: the caller passes 16 readable bytes; `self` stands for the instructions.
        unsafe { _mm256_cvtepi32_pd(_mm_loadu_si128(from.cast())) }
    }

    registers! {
        fn zero() -> __m256i = _mm256_setzero_si256();
        fn splat8(v: u8) -> __m256i = _mm256_set1_epi8(v as i8);
        fn splat16(v: u16) -> __m256i = _mm256_set1_epi16(v as i16);
        fn splat32(v: u32) -> __m256i = _mm256_set1_epi32(v as i32);
        fn splat64(v: u64) -> __m256i = _mm256_set1_epi64x(v as i64);

        fn lanes32() -> __m256i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

        fn and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        fn or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        fn xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn and_not(a: __m256i, b: __m256i) -> __m256i = _mm256_andnot_si256(b, a);

        fn add16(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi16(a, b);
        fn add32(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn add64(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi64(a, b);
        fn sub16(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi16(a, b);
        fn sub32(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
        fn sub64(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi64(a, b);
        fn abs16(a: __m256i) -> __m256i = _mm256_abs_epi16(a);
        fn abs32(a: __m256i) -> __m256i = _mm256_abs_epi32(a);
        fn max_signed16(a: __m256i, b: __m256i) -> __m256i = _mm256_max_epi16(a, b);
        fn min_signed16(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epi16(a, b);
        fn max_unsigned16(a: __m256i, b: __m256i) -> __m256i = _mm256_max_epu16(a, b);
        fn min_unsigned16(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epu16(a, b);
        fn max_signed32(a: __m256i, b: __m256i) -> __m256i = _mm256_max_epi32(a, b);
        fn min_signed32(a: __m256i, b: __m256i) -> __m256i = _mm256_min_epi32(a, b);

        fn mul_low16(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi16(a, b);
        fn mul_high_unsigned16(a: __m256i, b: __m256i) -> __m256i = _mm256_mulhi_epu16(a, b);
        fn mul_high_signed16(a: __m256i, b: __m256i) -> __m256i = _mm256_mulhi_epi16(a, b);
        fn mul_low32(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
        fn mul_even_unsigned32(a: __m256i, b: __m256i) -> __m256i = _mm256_mul_epu32(a, b);
        fn mul_even_signed32(a: __m256i, b: __m256i) -> __m256i = _mm256_mul_epi32(a, b);
        fn dot16(sum: __m256i, a: __m256i, b: __m256i) -> __m256i = {
            _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
        };
        fn distance8(a: __m256i, b: __m256i) -> __m256i = _mm256_sad_epu8(a, b);

        fn shift_left16<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_sll_epi16(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_left32<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_sll_epi32(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_left64<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_sll_epi64(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_right16<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_srl_epi16(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_right32<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_srl_epi32(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_right64<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_srl_epi64(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_right_signed16<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_sra_epi16(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_right_signed32<const N: u32>(v: __m256i) -> __m256i = {
            _mm256_sra_epi32(v, _mm_cvtsi32_si128(N as i32))
        };
        fn shift_left32_by(v: __m256i, count: u32) -> __m256i = {
            _mm256_sll_epi32(v, _mm_cvtsi32_si128(count as i32))
        };
        fn shift_right32_by(v: __m256i, count: u32) -> __m256i = {
            _mm256_srl_epi32(v, _mm_cvtsi32_si128(count as i32))
        };

        fn blend_odd16(even: __m256i, odd: __m256i) -> __m256i = {
            _mm256_blend_epi16::<0xaa>(even, odd)
        };
        fn blend_odd32(even: __m256i, odd: __m256i) -> __m256i = {
            _mm256_blend_epi32::<0xaa>(even, odd)
        };

        fn greater_signed32(a: __m256i, b: __m256i) -> __m256i = _mm256_cmpgt_epi32(a, b);
        fn keep32(mask: __m256i, v: __m256i) -> __m256i = _mm256_and_si256(mask, v);
        fn drop32(mask: __m256i, v: __m256i) -> __m256i = _mm256_andnot_si256(mask, v);

        fn sum_signed32(v: __m256i) -> i64 = {
            let [low, high] = [_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v)];
            let [low, high] = [_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high)];
            Avx2(()).sum64(_mm256_add_epi64(low, high))
        };
        fn sum64(v: __m256i) -> i64 = {
            let [low, high] = [_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v)];
            let v = _mm_add_epi64(low, high);
            _mm_cvtsi128_si64(v).wrapping_add(_mm_extract_epi64::<1>(v))
        };

        fn splat_double(v: f64) -> __m256d = _mm256_set1_pd(v);
        fn add_double(a: __m256d, b: __m256d) -> __m256d = _mm256_add_pd(a, b);
        fn sub_double(a: __m256d, b: __m256d) -> __m256d = _mm256_sub_pd(a, b);
        fn mul_double(a: __m256d, b: __m256d) -> __m256d = _mm256_mul_pd(a, b);
        fn div_double(a: __m256d, b: __m256d) -> __m256d = _mm256_div_pd(a, b);
        fn min_double(a: __m256d, b: __m256d) -> __m256d = _mm256_min_pd(a, b);
        fn max_double(a: __m256d, b: __m256d) -> __m256d = _mm256_max_pd(a, b);
        fn truncate(v: __m256d) -> __m256d = {
            _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(v)
        };
        fn add_integer(a: __m256d, b: __m256d) -> __m256d = _mm256_add_pd(Avx2(()).truncate(a), b);
        fn high_words(a: __m256d, b: __m256d) -> __m256i = {
            let [a, b] = [_mm256_castpd_ps(a), _mm256_castpd_ps(b)];
            _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b))
        };
    }

    #[inline(always)]
    fn lookup(self, table: &[u8; LOOKUP + LOOKUP_MARGIN], v: __m256i) -> __m256i {
        let index = self.and(v, self.splat32(LOOKUP as u32 - 1));
        // SAFETY: four bytes from an index below `LOOKUP` on lie in the table with its margin;
        // `self` stands for the instruction.
        let words = unsafe { gather(table.as_ptr(), index) };
        self.and(words, self.splat32(0xff))
    }

    #[inline(always)]
    fn count(self, mask: __m256i) -> usize {
        self.bits(mask).count_ones() as usize
    }

    #[inline(always)]
    fn compact32(self, mask: __m256i, v: __m256i) -> __m256i {
        let lanes = &COMPACTED[self.bits(mask) & 255];
        // SAFETY: eight bytes are read of an array of eight; `self` stands for the instructions.
        unsafe {
            let lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(lanes.as_ptr().cast()));
            _mm256_permutevar8x32_epi32(v, lanes)
        }
    }
}
