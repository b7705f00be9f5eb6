//! What one pixel adds to vif: the information about the scene in the reference, and the part
//! of it that survives in the distorted image.
//!
//! What must stay true: variances are Q16 integers; only the gain and the two numbers made with
//! it are `f64`, in the order written, and are truncated back to integers; logarithms are
//! looked up. Sums are integers, so their order is free.

use std::sync::LazyLock;

use crate::math::log2;

/// Variance of the visual noise, 2.0 in Q16.
pub const NOISE: u32 = 2 << 16;

/// Units in one bit of a logarithm.
pub const LOG2_ONE: i64 = 2048;

/// `log2(i)` for `i` in 32768..65536, in units of 1/[`LOG2_ONE`].
///
/// The logarithm is rounded to single precision first, as libvmaf does: 38 entries depend on
/// it.
pub fn log2_table() -> &'static [u16; 32768] {
    static TABLE: LazyLock<Box<[u16; 32768]>> = LazyLock::new(|| {
        let mut table = Box::new([0; 32768]);
        for (i, entry) in table.iter_mut().enumerate() {
            let log = log2((32768 + i) as f64) as f32;
            *entry = (log * 2048.0 + 0.5) as u16;
        }
        table
    });
    &TABLE
}

/// `log2(v)` in units of 1/[`LOG2_ONE`], from the 16 leading bits of `v`, which must be at
/// least 32768.
#[inline]
fn log2_fixed(table: &[u16; 32768], v: u64) -> i64 {
    let shift = 48 - v.leading_zeros();
    i64::from(table[(v >> shift) as usize & 32767]) + LOG2_ONE * i64::from(shift)
}

/// Sums over the pixels of one scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaleSums {
    /// Information that survives in the distorted image, in 1/2048 bit.
    pub distorted_bits: i64,
    /// Information in the reference, in 1/2048 bit.
    pub reference_bits: i64,
    /// Distorted variance, Q16, of the pixels where the reference is flat.
    pub flat_variance: i64,
    /// Pixels where the reference varies less than the noise.
    pub flat_pixels: i64,
}

impl ScaleSums {
    /// Adds one pixel: filtered samples in Q16 and filtered products with 16 fractional bits
    /// too many.
    ///
    /// The reference's information is `log2(1 + s1 / n)`; with the distorted image modelled as
    /// `g * reference + v`, what survives is `log2(1 + g * g * s1 / (sv + n))` (Sheikh and
    /// Bovik 2006). Where the reference is flat, 1 stands for its information, and 1 less a
    /// share of the distorted variance for what survives.
    #[inline]
    pub(super) fn add(
        &mut self,
        [m1, m2]: [u64; 2],
        product: [u64; 3],
        gain_limit: f64,
        table: &[u16; 32768],
    ) {
        let covariance = |product: u64, means: u64| {
            let product = ((product + (1 << 15)) >> 16) as u32;
            product.wrapping_sub(((means + (1 << 31)) >> 32) as u32) as i32
        };
        let s1 = covariance(product[0], m1 * m1);
        let s2 = covariance(product[1], m2 * m2).max(0);
        let s12 = covariance(product[2], m1 * m2);
        if s1 < NOISE as i32 {
            self.flat_variance += i64::from(s2);
            self.flat_pixels += 1;
            return;
        }
        self.reference_bits += log2_fixed(table, u64::from(NOISE) + s1 as u64) - 17 * LOG2_ONE;
        if s12 > 0 && s2 > 0 {
            let [s1, s2, s12] = [s1, s2, s12].map(f64::from);
            let gain = s12 / (s1 + 65536.0 * 1.0e-10);
            let rest = ((s2 - gain * s12) as i32).max(0) as u64 + u64::from(NOISE);
            let gain = gain.min(gain_limit);
            let signal = (gain * gain * s1) as u64;
            self.distorted_bits += log2_fixed(table, signal + rest) - log2_fixed(table, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        let table = log2_table();
        assert_eq!([table[0], table[7232], table[32767]], [30720, 31309, 32768]);
        // Sum of libvmaf's table; without the step to single precision it is another.
        let sum: u64 = table.iter().map(|&v| u64::from(v)).sum();
        assert_eq!(sum, 1_044_032_097);
        for (v, expected) in [
            (1 << 17, 17 * 2048),
            (1 << 63, 63 * 2048),
            (40000 << 9, 49741),
        ] {
            assert_eq!(log2_fixed(table, v), expected);
        }
        assert_eq!(
            log2_fixed(table, (40000 << 9) + 511),
            49741,
            "16 bits are read"
        );
    }

    #[test]
    fn one_pixel_by_hand() {
        let table = log2_table();
        let add = |s1: u64, s2: u64, s12: u64, limit| {
            let mut sums = ScaleSums::default();
            // No mean, so the products are the covariances, with 16 more fractional bits.
            sums.add([0; 2], [s1 << 16, s2 << 16, s12 << 16], limit, table);
            sums
        };
        let bits = |distorted_bits, reference_bits| ScaleSums {
            distorted_bits,
            reference_bits,
            ..ScaleSums::default()
        };
        // Variance 6 over noise 2 is log2(1 + 3) = 2 bits. A gain of 1/2 with a rest of 1 leaves
        // log2((1.5 + 3) / 3) = 0.585 bit.
        let [one, two, three, six] = [1u64, 2, 3, 6].map(|v| v << 16);
        assert_eq!(add(six, one * 5 / 2, three, 100.0), bits(1198, 4096));
        // A gain of 3 without a rest: log2((54 + 2) / 2) = 4.807 bits, cut to a gain of 1, 2 bits.
        assert_eq!(add(six, 9 * six, 3 * six, 100.0), bits(9845, 4096));
        assert_eq!(add(six, 9 * six, 3 * six, 1.0), bits(4096, 4096));
        // No correlation, no distorted variance: nothing survives.
        assert_eq!(add(six, six, 0, 100.0), bits(0, 4096));
        assert_eq!(add(six, 0, three, 100.0), bits(0, 4096));
        // Just as much as the noise, and a little less.
        assert_eq!(add(two, 0, 0, 100.0), bits(0, 2048));
        let flat = ScaleSums {
            flat_variance: 3 << 16,
            flat_pixels: 1,
            ..ScaleSums::default()
        };
        assert_eq!(add(two - 1, three, one, 100.0), flat);
    }
}
