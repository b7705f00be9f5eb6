//! Two-dimensional wavelet analysis with the four-tap Daubechies filters (db2), in integers.
//!
//! Each level filters columns, then rows, and keeps every second output. Source: Li et al.
//! 2011, section III; taps, shifts and the border rule are those of libvmaf's
//! `integer_adm.c`.
//!
//! What must stay true: the sums are exact in `i64`, and a result is cut to 16 bits on the
//! first level and to 32 on the others, as wide as libvmaf stores it.

use vmafx_api::Size;

use super::level::round_shift;

/// Low-pass taps times 2^15.
pub const LOW: [i64; 4] = [15826, 27411, 7345, -4240];
/// High-pass taps times 2^15.
pub const HIGH: [i64; 4] = [-4240, -7345, 27411, -15826];

/// What is analysed: the luma plane, or the low band of the level before.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, S> {
    samples: &'a [S],
    size: Size,
    stride: usize,
    zero: i64,
}

impl<'a, S: Copy + Into<i64>> Source<'a, S> {
    /// Rows of `samples` are `stride` apart; `zero` is the value that counts as zero, the middle
    /// of the range for a luma plane.
    pub(super) fn new(samples: &'a [S], size: Size, stride: usize, zero: i64) -> Self {
        Source {
            samples,
            size,
            stride,
            zero,
        }
    }
}

/// Rounding of one level.
#[derive(Clone, Copy)]
pub struct Rounding {
    /// Right shift after the filter over columns.
    pub vertical: u32,
    /// Right shift after the filter over rows.
    pub horizontal: u32,
    /// Bits that a result is stored with; what does not fit wraps.
    pub bits: u32,
}

impl Rounding {
    /// The rounding of level `level` of frames of `depth` bits.
    pub fn of(level: usize, depth: u32) -> Self {
        let (vertical, horizontal, bits) =
            [(depth, 16, 16), (0, 15, 32), (16, 16, 32), (16, 15, 32)][level];
        Rounding {
            vertical,
            horizontal,
            bits,
        }
    }

    fn store(self, sum: i64, shift: u32) -> i32 {
        let unused = i64::BITS - self.bits;
        (round_shift(sum, shift) << unused >> unused) as i32
    }
}

/// The four bands of one level, dense, and two buffers as long as a row of the source.
pub(super) struct Bands {
    pub(super) low: Vec<i32>,
    /// Details: horizontal (high-passed over columns), vertical (over rows), diagonal (both).
    pub(super) details: [Vec<i32>; 3],
    pub(super) lines: [Vec<i32>; 2],
}

impl Bands {
    /// Splits `source`; each side of a band is half of the source's, rounded up.
    pub(super) fn analyse<S: Copy + Into<i64>>(
        &mut self,
        source: Source<'_, S>,
        rounding: Rounding,
    ) {
        let Size { width, height } = source.size;
        let half_width = width.div_ceil(2);
        let [low, high] = self.lines.each_mut().map(|line| &mut line[..width]);
        for y in 0..height.div_ceil(2) {
            let rows = taps(y, height).map(|row| &source.samples[row * source.stride..][..width]);
            for x in 0..width {
                let column = rows.map(|row| row[x].into() - source.zero);
                low[x] = rounding.store(dot(LOW, column), rounding.vertical);
                high[x] = rounding.store(dot(HIGH, column), rounding.vertical);
            }
            let out = y * half_width..(y + 1) * half_width;
            let [h, v, d] = self.details.each_mut().map(|band| &mut band[out.clone()]);
            let a = &mut self.low[out];
            let filter = |taps, line| rounding.store(dot(taps, line), rounding.horizontal);
            for x in 0..half_width {
                let places = taps(x, width);
                let from_low = places.map(|at| i64::from(low[at]));
                let from_high = places.map(|at| i64::from(high[at]));
                a[x] = filter(LOW, from_low);
                v[x] = filter(HIGH, from_low);
                h[x] = filter(LOW, from_high);
                d[x] = filter(HIGH, from_high);
            }
        }
    }
}

/// Inputs of output `i` of a signal of `n` samples, `n >= 5`: mirrored about the first sample,
/// mirrored with repetition behind the last.
pub fn taps(i: usize, n: usize) -> [usize; 4] {
    if i == 0 {
        return [1, 0, 1, 2];
    }
    [2 * i - 1, 2 * i, 2 * i + 1, 2 * i + 2].map(|at| if at < n { at } else { 2 * n - 1 - at })
}

fn dot(taps: [i64; 4], samples: [i64; 4]) -> i64 {
    let [a, b, c, d] = samples;
    taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The band at (`y`, `x`) from the definition: taps over an endless mirrored signal.
    fn coefficient(
        source: &Source<'_, u16>,
        rounding: Rounding,
        [vertical, horizontal]: [[i64; 4]; 2],
        (y, x): (usize, usize),
    ) -> i128 {
        let mirrored = |i: i128, n: usize| {
            let n = n as i128;
            usize::try_from(if i < 0 {
                -i
            } else if i < n {
                i
            } else {
                2 * n - i - 1
            })
            .unwrap()
        };
        let filter = |taps: [i64; 4], at: usize, shift: u32, input: &dyn Fn(i128) -> i128| {
            let sum = (0..4).map(|k| i128::from(taps[k]) * input((2 * at + k) as i128 - 1));
            (sum.sum::<i128>() + if shift > 0 { 1 << (shift - 1) } else { 0 }) >> shift
        };
        filter(horizontal, x, rounding.horizontal, &|column| {
            filter(vertical, y, rounding.vertical, &|row| {
                let row = mirrored(row, source.size.height);
                let column = mirrored(column, source.size.width);
                i128::from(source.samples[row * source.stride + column]) - i128::from(source.zero)
            })
        })
    }

    #[test]
    fn equals_the_definition_at_every_size() {
        let mut state = 1_u32;
        for (width, height) in (5..14).flat_map(|w| (5..14).map(move |h| (w, h))) {
            for (level, depth) in [(0, 8), (0, 16), (1, 12), (2, 12), (3, 12)] {
                let size = Size { width, height };
                let stride = width + 3;
                let samples: Vec<u16> = (0..stride * height)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (state >> (32 - depth)) as u16
                    })
                    .collect();
                let source = Source::new(&samples, size, stride, 1 << (depth - 1));
                let rounding = Rounding::of(level, depth);
                let area = width.div_ceil(2) * height.div_ceil(2);
                let mut bands = Bands {
                    low: vec![0; area],
                    details: [vec![0; area], vec![0; area], vec![0; area]],
                    lines: [vec![0; width], vec![0; width]],
                };
                bands.analyse(source, rounding);
                let [h, v, d] = &bands.details;
                let filters = [[LOW, LOW], [HIGH, LOW], [LOW, HIGH], [HIGH, HIGH]];
                for (band, filters) in [&bands.low, h, v, d].into_iter().zip(filters) {
                    for (i, &got) in band.iter().enumerate() {
                        let place = (i / width.div_ceil(2), i % width.div_ceil(2));
                        let want = coefficient(&source, rounding, filters, place);
                        assert_eq!(i128::from(got), want, "{size:?} level {level} {place:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn taps_are_those_of_daubechies() {
        // (1 + sqrt 3, 3 + sqrt 3, 3 - sqrt 3, 1 - sqrt 3) / (4 sqrt 2), times 2^15.
        let root = 3.0_f64.sqrt();
        let exact = [1.0 + root, 3.0 + root, 3.0 - root, 1.0 - root];
        let taps = exact.map(|tap| (tap / 32.0_f64.sqrt() * 32768.0).round() as i64);
        assert_eq!(LOW, taps);
        assert_eq!(HIGH, [taps[3], -taps[2], taps[1], -taps[0]]);
        assert_eq!(
            (LOW.iter().sum::<i64>(), HIGH.iter().sum::<i64>()),
            (46342, 0)
        );
    }

    #[test]
    fn the_first_level_wraps_at_16_bits() {
        let rounding = Rounding::of(0, 8);
        assert_eq!(rounding.store(32767 << 8, 8), 32767);
        assert_eq!(rounding.store(32768 << 8, 8), -32768);
        assert_eq!(
            Rounding::of(1, 8).store(i64::from(i32::MAX) + 1, 0),
            i32::MIN
        );
    }
}
