//! What the textured pixels carry: variances and covariance to bits, as sums.
//!
//! Pixels wait in a queue until there are enough, so that those where the reference is flat
//! cost nothing here. What must stay true: the gain and all that is made with it are `f64`
//! operations in the order of the scalar reference, one rounding each; logarithms are those of
//! its table.

use std::sync::LazyLock;

use vmafx_metrics::vif::{NOISE, ScaleSums, log2_table};

use crate::vector::{Buffer, LOOKUP, LOOKUP_MARGIN, Simd};

/// Pixels that are worked off together.
const BLOCK: usize = 256;

/// Lanes of the widest register: what is stored beyond the end of the queue, twice at most.
const WIDEST: usize = 16;

/// What log2 of 1 + i / 32768 is above `i / 32768`, in units of 1/2048, each rounded down to
/// the units of the scalar reference's table: less than a byte, where the table has two.
fn log2_excess() -> &'static [u8; LOOKUP + LOOKUP_MARGIN] {
    static TABLE: LazyLock<Box<[u8; LOOKUP + LOOKUP_MARGIN]>> = LazyLock::new(|| {
        let mut excess = Box::new([0; LOOKUP + LOOKUP_MARGIN]);
        for (i, (out, log)) in excess.iter_mut().zip(log2_table()).enumerate() {
            let linear = 15 * 2048 + i / 16;
            *out = u8::try_from(usize::from(*log) - linear).expect("at most 0.0861 bit");
        }
        excess
    });
    &TABLE
}

/// Textured pixels of one scale, and sums over them.
#[derive(Debug)]
pub(super) struct Queue {
    /// Both variances and the covariance, Q16.
    pixels: [Buffer<i32>; 3],
    len: usize,
    pushed: u64,
    gain_limit: f64,
    sums: ScaleSums,
    excess: &'static [u8; LOOKUP + LOOKUP_MARGIN],
}

impl Queue {
    pub(super) fn new() -> Self {
        Queue {
            pixels: [(); 3].map(|()| Buffer::new(BLOCK + 3 * WIDEST)),
            len: 0,
            pushed: 0,
            gain_limit: 0.0,
            sums: ScaleSums::default(),
            excess: log2_excess(),
        }
    }

    /// Begins a scale.
    pub(super) fn start(&mut self, gain_limit: f64) {
        self.len = 0;
        self.pushed = 0;
        self.gain_limit = gain_limit;
        self.sums = ScaleSums::default();
    }

    /// Adds variance where the reference is flat.
    pub(super) fn add_flat(&mut self, variance: i64) {
        self.sums.flat_variance += variance;
    }

    /// Queues the pixels of one register where `textured` is true. To be called no more than
    /// twice between calls of [`work`](Queue::work).
    #[inline(always)]
    pub(super) fn push<S: Simd>(&mut self, simd: S, textured: S::Mask, pixels: [S::Int; 3]) {
        assert!(self.len <= BLOCK + WIDEST, "room for a register");
        let mut quantity = 0;
        while quantity < 3 {
            let packed = simd.compact32(textured, pixels[quantity]);
            // SAFETY: the queue has room for `WIDEST` behind `BLOCK + WIDEST`, and no register
            // has more lanes.
            unsafe { simd.store(self.pixels[quantity].as_mut_ptr().add(self.len), packed) };
            quantity += 1;
        }
        self.len += simd.count(textured);
    }

    /// Works off a block if there is one.
    #[inline(always)]
    pub(super) fn work<S: Simd>(&mut self, simd: S) {
        if self.len >= BLOCK {
            self.block(simd);
            self.len -= BLOCK;
            self.pushed += BLOCK as u64;
            for pixels in &mut self.pixels {
                pixels.copy_within(BLOCK..BLOCK + 2 * WIDEST, 0);
            }
        }
    }

    /// Ends a scale of `area` pixels.
    #[inline(always)]
    pub(super) fn finish<S: Simd>(&mut self, simd: S, area: u64) -> ScaleSums {
        self.work(simd);
        for pixels in &mut self.pixels {
            // A pixel of zeros adds nothing to any sum.
            pixels[self.len..].fill(0);
        }
        self.block(simd);
        self.pushed += self.len as u64;
        self.sums.flat_pixels = (area - self.pushed) as i64;
        self.sums
    }

    /// Adds the first [`BLOCK`] pixels to the sums.
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S) {
        let [s1, s2, s12] = self.pixels.each_ref().map(|pixels| pixels.as_ptr());
        let mut reference = simd.zero();
        let mut distorted = simd.zero();
        let mut at = 0;
        while at < BLOCK {
            let half = S::LANES / 2;
            // SAFETY: each array has `BLOCK` elements and more, and `BLOCK` is a multiple of
            // the lanes of any level.
            let [a, b] = unsafe {
                [
                    self.pixel(simd, [s1.add(at), s2.add(at), s12.add(at)]),
                    self.pixel(
                        simd,
                        [s1.add(at + half), s2.add(at + half), s12.add(at + half)],
                    ),
                ]
            };
            let mut logs = [simd.zero(); 3];
            let mut which = 0;
            while which < 3 {
                // Exponent and fraction of the `f64`, down to 1/2^20.
                let high = simd.high_words(a[which], b[which]);
                let excess = simd.lookup(self.excess, simd.shift_right32::<5>(high));
                logs[which] = simd.add32(simd.shift_right32::<9>(high), excess);
                which += 1;
            }
            reference = simd.add32(reference, logs[0]);
            // 17 bits is the noise alone; 1023 is the bias of the exponent.
            reference = simd.sub32(reference, simd.splat32((1023 + 17) << 11));
            distorted = simd.add32(distorted, simd.sub32(logs[1], logs[2]));
            at += S::LANES;
        }
        self.sums.reference_bits += simd.sum_signed32(reference);
        self.sums.distorted_bits += simd.sum_signed32(distorted);
    }

    /// Numbers whose logarithms half a register of pixels needs: reference and noise; signal,
    /// rest and noise; rest and noise. Only their integer parts count.
    ///
    /// # Safety
    /// Half a register must be readable at each pointer.
    #[inline(always)]
    unsafe fn pixel<S: Simd>(&self, simd: S, pixels: [*const i32; 3]) -> [S::Double; 3] {
        // SAFETY: the caller's promise.
        let (s1, s2, s12) = unsafe {
            (
                simd.load_double(pixels[0]),
                simd.load_double(pixels[1]),
                simd.load_double(pixels[2]),
            )
        };
        let zero = simd.splat_double(0.0);
        let noise = simd.splat_double(NOISE.into());
        let gain = simd.div_double(
            s12,
            simd.add_double(s1, simd.splat_double(65536.0 * 1.0e-10)),
        );
        let rest = simd.sub_double(s2, simd.mul_double(gain, s12));
        let rest = simd.truncate(simd.max_double(rest, zero));
        let rest = simd.add_double(rest, noise);
        let gain = simd.min_double(gain, simd.splat_double(self.gain_limit));
        let signal = simd.mul_double(simd.mul_double(gain, gain), s1);
        [
            simd.add_double(s1, noise),
            simd.add_integer(signal, rest),
            rest,
        ]
    }
}
