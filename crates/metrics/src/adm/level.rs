//! Sizes of the four wavelet levels, the part of a band that is scored, and the rounding
//! shifts that follow from them.
//!
//! What must stay true: a level is half as large as the one before, rounded up, and no side of
//! an input to the wavelet is below 5 (see [`MIN_SIZE`]), so that every index rule here stays
//! inside the band.

use std::ops::Range;

use vmafx_api::{FrameFormat, Size};

/// Wavelet levels, which the paper calls scales.
pub const LEVELS: usize = 4;

/// Smallest frame width and height.
///
/// A side of 33 gives inputs of 33, 17, 9 and 5 samples. A side of 32 ends with an input of 4,
/// for which libvmaf's table of the last two filter positions also covers the first one and
/// reads in front of the picture; still narrower frames make its shifts negative.
pub const MIN_SIZE: u32 = 33;

/// One wavelet level: the size of its bands and the region that is summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Size of each of the four bands.
    pub size: Size,
    /// Scored columns: all but a tenth at each side.
    pub columns: Range<usize>,
    /// Scored rows.
    pub rows: Range<usize>,
}

/// The levels of frames of `format`, the finest first.
pub fn levels(format: &FrameFormat) -> [Level; LEVELS] {
    let mut size = format.plane_size(0);
    [(); LEVELS].map(|()| {
        size = Size {
            width: size.width.div_ceil(2),
            height: size.height.div_ceil(2),
        };
        Level {
            size,
            columns: inner(size.width),
            rows: inner(size.height),
        }
    })
}

/// `0..n` without the tenth at each end: libvmaf's `(int)(n * 0.1 - 0.5)` in integers.
fn inner(n: usize) -> Range<usize> {
    let border = n.saturating_sub(5) / 10;
    border..n - border
}

impl Level {
    /// The scored columns and their neighbours.
    pub fn wide_columns(&self) -> Range<usize> {
        self.columns.start.saturating_sub(1)..(self.columns.end + 1).min(self.size.width)
    }

    /// The scored rows and their neighbours.
    pub fn wide_rows(&self) -> Range<usize> {
        self.rows.start.saturating_sub(1)..(self.rows.end + 1).min(self.size.height)
    }

    /// Number of scored coefficients in each band.
    pub fn area(&self) -> usize {
        self.columns.len() * self.rows.len()
    }

    /// The samples of row `y` of a band.
    pub(super) fn row<'a, T>(&self, band: &'a [T], y: usize) -> &'a [T] {
        &band[y * self.size.width..][..self.size.width]
    }
}

/// The two neighbours of `i` in `0..n`: the first sample mirrors about itself, the last one is
/// repeated.
pub fn neighbours(i: usize, n: usize) -> (usize, usize) {
    let before = if i == 0 { 1 } else { i - 1 };
    (before, (i + 1).min(n - 1))
}

/// The smallest `k` with `2^k >= n`, for `n >= 1`.
pub(super) fn ceil_log2(n: usize) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// Half of the unit that a right shift by `shift` leaves: 0 where nothing is shifted out.
pub fn half(shift: u32) -> i64 {
    (1 << shift) >> 1
}

/// `x / 2^shift`, rounded to nearest, halves upwards.
pub fn round_shift(x: i64, shift: u32) -> i64 {
    x.wrapping_add(half(shift)) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmafx_api::Chroma;

    #[test]
    fn borders_equal_the_floating_point_rule() {
        for n in 1..=16384 {
            let border = (n as f64 * 0.1 - 0.5) as usize;
            assert_eq!(inner(n), border..n - border, "{n}");
            // The region of decoupling and masking needs one more sample at each side.
            let wide = (n as f64 * 0.1 - 0.5 - 1.0) as usize;
            assert!(border.saturating_sub(1) >= wide, "{n}");
        }
    }

    #[test]
    fn logarithms_equal_floating_point() {
        for n in (1..=32768).chain((1 << 29) - 2..(1 << 29) + 3) {
            assert_eq!(f64::from(ceil_log2(n)), (n as f64).log2().ceil(), "{n}");
        }
    }

    #[test]
    fn levels_halve_upwards() {
        let format = FrameFormat::new(1920, 33, Chroma::Yuv420, 8).unwrap();
        let levels = levels(&format);
        let sizes = levels.clone().map(|l| (l.size.width, l.size.height));
        assert_eq!(sizes, [(960, 17), (480, 9), (240, 5), (120, 3)]);
        assert_eq!(
            (levels[0].columns.clone(), levels[0].rows.clone()),
            (95..865, 1..16)
        );
        assert_eq!(
            (levels[0].wide_columns(), levels[0].wide_rows()),
            (94..866, 0..17)
        );
        assert_eq!(
            (levels[3].rows.clone(), levels[3].wide_rows()),
            (0..3, 0..3)
        );
        assert_eq!(levels[0].area(), 770 * 15);
    }

    #[test]
    fn shifts_round_half_up() {
        let shifted = [5, 6, 7, -5, -6, -7].map(|x| round_shift(x, 2));
        assert_eq!(shifted, [1, 2, 2, -1, -1, -2]);
        assert_eq!(round_shift(7, 0), 7);
    }
}
