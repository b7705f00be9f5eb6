//! Contrast masking and the sums of the numerators.
//!
//! Source: Li et al. 2011, section III-C. What one part of the picture shows is hidden where the
//! other part is strong: each weighted coefficient is lowered by a threshold, the 3x3 mean of
//! the other part's weighted magnitudes over all three bands, before its cube is added up. The
//! quality term masks the restored part by the impairment, AIM the impairment by the restored
//! part.
//!
//! What must stay true: 32-bit results wrap where libvmaf's scalar code wraps; a row is rounded
//! once, after its sum.

use super::csf::Sensitivity;
use super::level::{Level, ceil_log2, neighbours, round_shift};

/// Share of a weighted coefficient in the threshold of a neighbour, 1/30, in units of 2^-32 on
/// all levels but the first.
pub const NEIGHBOUR_SHARE: i64 = 143_165_577;
/// Share in the threshold of its own place, 1/15.
pub const OWN_SHARE: i64 = 286_331_153;
/// The same on the first level, in units of 2^-12.
pub const FIRST_NEIGHBOUR_SHARE: i32 = 4369;
/// The same on the first level, in units of 2^-12.
pub const FIRST_OWN_SHARE: i32 = 8738;

/// The fixed-point formats of a level.
pub trait Precision {
    /// Weighs a coefficient of the masking part.
    fn weigh(factor: u32, band: usize, x: i32) -> i32;
    /// Share of a weighted coefficient in the threshold of each of its eight neighbours, 1/30.
    fn to_neighbour(weighed: i32) -> i32;
    /// Share of a weighted coefficient in the threshold of its own place, 1/15.
    fn to_own_place(weighed: i32) -> i32;
    /// Weighs a coefficient of the masked part.
    fn weigh_masked(factor: u32, x: i32) -> i32;
    /// Left shift that gives a threshold the unit of a weighted masked coefficient.
    fn threshold_shift(band: usize) -> u32;
    /// Right shift of a square.
    fn square_shift(band: usize) -> u32;
    /// Right shift of a cube in bands `width` wide, so that the sum of a row fits.
    fn cube_shift(band: usize, width: usize) -> u32;
    /// Bits behind the point of a cube before the shifts that depend on the size; `level` is 0
    /// to 3.
    fn fraction_bits(level: usize, band: usize) -> u32;
}

/// The first level: 16-bit coefficients, thresholds in 1/64 of their unit.
pub struct Finest;

impl Precision for Finest {
    fn weigh(factor: u32, band: usize, x: i32) -> i32 {
        // 65535 is libvmaf's; half of 2^17 would be 65536.
        let (half, shift) = [(16384, 15), (16384, 15), (65535, 17)][band];
        let product = factor as i32 * x;
        i32::from((product.wrapping_add(half) >> shift) as i16)
    }

    fn to_neighbour(weighed: i32) -> i32 {
        i32::from(((FIRST_NEIGHBOUR_SHARE * weighed.abs() + 2048) >> 12) as i16)
    }

    fn to_own_place(weighed: i32) -> i32 {
        i32::from(((FIRST_OWN_SHARE * weighed.abs() + 2048) >> 12) as i16)
    }

    fn weigh_masked(factor: u32, x: i32) -> i32 {
        factor as i32 * x
    }

    fn threshold_shift(band: usize) -> u32 {
        [10, 10, 12][band]
    }

    fn square_shift(band: usize) -> u32 {
        [29, 29, 30][band]
    }

    fn cube_shift(band: usize, width: usize) -> u32 {
        ceil_log2(width) - [4, 4, 3][band]
    }

    fn fraction_bits(_level: usize, band: usize) -> u32 {
        [52, 52, 57][band]
    }
}

/// The other levels: 32-bit coefficients, thresholds in their unit.
pub struct Coarser;

impl Coarser {
    fn share(factor: i64, weighed: i32) -> i32 {
        // libvmaf holds 2^31 in 32 signed bits: what should round to nearest subtracts a half.
        let product = factor * i64::from(weighed.wrapping_abs());
        ((product - (1 << 31)) >> 32) as i32
    }
}

impl Precision for Coarser {
    fn weigh(factor: u32, _band: usize, x: i32) -> i32 {
        round_shift(i64::from(factor) * i64::from(x), 28) as i32
    }

    fn to_neighbour(weighed: i32) -> i32 {
        Self::share(NEIGHBOUR_SHARE, weighed)
    }

    fn to_own_place(weighed: i32) -> i32 {
        Self::share(OWN_SHARE, weighed)
    }

    fn weigh_masked(factor: u32, x: i32) -> i32 {
        Self::weigh(factor, 0, x)
    }

    fn threshold_shift(_band: usize) -> u32 {
        0
    }

    fn square_shift(_band: usize) -> u32 {
        30
    }

    fn cube_shift(_band: usize, width: usize) -> u32 {
        ceil_log2(width)
    }

    fn fraction_bits(level: usize, _band: usize) -> u32 {
        [45, 39, 36][level - 1]
    }
}

/// Buffers of [`masked_cubes`].
pub(super) struct Buffers {
    /// A band: what each place adds to the threshold of its neighbours.
    spread: Vec<i32>,
    /// A row of sums of three spread rows, one more at each side.
    columns: Vec<i32>,
    /// A row of thresholds.
    thresholds: Vec<i32>,
}

impl Buffers {
    /// Buffers for bands as large as those of `level`.
    pub(super) fn new(level: &Level) -> Self {
        Buffers {
            spread: vec![0; level.size.area()],
            columns: vec![0; level.size.width + 2],
            thresholds: vec![0; level.size.width],
        }
    }
}

/// Sums of the cubes of `part` as far as it is not masked by `masker`, in units of
/// 2^-[`fraction`].
pub(super) fn masked_cubes<P: Precision>(
    part: &[Vec<i32>; 3],
    masker: &[Vec<i32>; 3],
    sensitivity: &Sensitivity,
    level: &Level,
    buffers: &mut Buffers,
) -> [i64; 3] {
    let (width, height) = (level.size.width, level.size.height);
    let factors = sensitivity.fixed;
    let weigh = |band: usize, x| P::weigh(factors[band], band, x);

    let wide = level.wide_columns();
    for y in level.wide_rows() {
        let spread = &mut buffers.spread[y * width..][..width][wide.clone()];
        spread.fill(0);
        for (band, masker) in masker.iter().enumerate() {
            let row = &level.row(masker, y)[wide.clone()];
            for (sum, &x) in spread.iter_mut().zip(row) {
                *sum = sum.wrapping_add(P::to_neighbour(weigh(band, x)));
            }
        }
    }

    let mut totals = [0_i64; 3];
    let row_shift = row_shift(level);
    let scored = level.columns.clone();
    for y in level.rows.clone() {
        let (above, below) = neighbours(y, height);
        let spread = |y| &level.row(&buffers.spread, y)[wide.clone()];
        let rows = spread(above).iter().zip(spread(y)).zip(spread(below));
        // Column x of the band is at x + 1, so that the two neighbours of a column at the edge
        // have a place.
        let columns = &mut buffers.columns;
        for (sum, ((a, b), c)) in columns[wide.start + 1..].iter_mut().zip(rows) {
            *sum = a.wrapping_add(*b).wrapping_add(*c);
        }
        columns[0] = columns[2];
        columns[width + 1] = columns[width];

        let thresholds = &mut buffers.thresholds[scored.clone()];
        let centres = &spread(y)[scored.start - wide.start..];
        let squares = columns[scored.start..].windows(3).zip(centres);
        for (threshold, (three, centre)) in thresholds.iter_mut().zip(squares) {
            let sum = three[0].wrapping_add(three[1]).wrapping_add(three[2]);
            *threshold = sum.wrapping_sub(*centre);
        }
        for (band, masker) in masker.iter().enumerate() {
            let row = &level.row(masker, y)[scored.clone()];
            for (threshold, &x) in thresholds.iter_mut().zip(row) {
                *threshold = threshold.wrapping_add(P::to_own_place(weigh(band, x)));
            }
        }

        for (band, part) in part.iter().enumerate() {
            let row = &level.row(part, y)[scored.clone()];
            let cube_shift = P::cube_shift(band, width);
            let mut sum = 0_i64;
            for (&threshold, &x) in thresholds.iter().zip(row) {
                let threshold = threshold << P::threshold_shift(band);
                let weighed = P::weigh_masked(factors[band], x).wrapping_abs();
                let seen = i64::from(weighed.wrapping_sub(threshold).max(0));
                let square = i64::from(round_shift(seen * seen, P::square_shift(band)) as i32);
                sum = sum.wrapping_add(round_shift(square * seen, cube_shift));
            }
            totals[band] = totals[band].wrapping_add(round_shift(sum, row_shift));
        }
    }
    totals
}

/// Right shift of the sum of a row.
pub fn row_shift(level: &Level) -> u32 {
    ceil_log2(level.size.height)
}

/// Bits behind the point of a sum of [`masked_cubes`]: `index` is the number of `level`, 0 to 3.
pub(super) fn fraction<P: Precision>(index: usize, band: usize, level: &Level) -> u32 {
    P::fraction_bits(index, band) - P::cube_shift(band, level.size.width) - row_shift(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adm::level::levels;
    use vmafx_api::{Chroma, FrameFormat};

    /// The sums as the definition has them: nine places, three bands, one place after another.
    fn by_definition(
        first: bool,
        part: &[Vec<i32>; 3],
        masker: &[Vec<i32>; 3],
        fixed: [u32; 3],
        level: &Level,
    ) -> [i64; 3] {
        let (w, h) = (level.size.width, level.size.height);
        let border = |n: usize| (n as f64 * 0.1 - 0.5) as usize;
        let log = |n: usize| (n as f64).log2().ceil() as u32;
        let mirrored = |i: usize, offset: usize, n: usize| match i + offset {
            0 => 1,
            at if at > n => n - 1,
            at => at - 1,
        };
        let round = |x: i64, s: u32| (x + if s > 0 { 1 << (s - 1) } else { 0 }) >> s;
        let weigh = |band: usize, x: i32| match (first, band) {
            (true, 2) => i32::from(((i64::from(fixed[2]) * i64::from(x) + 65535) >> 17) as i16),
            (true, _) => i32::from(round(i64::from(fixed[band]) * i64::from(x), 15) as i16),
            (false, _) => round(i64::from(fixed[band]) * i64::from(x), 28) as i32,
        };
        let share = |weighed: i32, in_16: i64, in_32: i64| {
            let magnitude = i64::from(weighed).abs();
            match first {
                true => i32::from(round(in_16 * magnitude, 12) as i16),
                false => ((in_32 * magnitude - (1 << 31)) >> 32) as i32,
            }
        };
        let mut totals = [0_i64; 3];
        for y in border(h)..h - border(h) {
            let mut sums = [0_i64; 3];
            for x in border(w)..w - border(w) {
                let mut threshold = 0_i32;
                for (band, masker) in masker.iter().enumerate() {
                    for (dy, dx) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dy, dx))) {
                        let at = mirrored(y, dy, h) * w + mirrored(x, dx, w);
                        let weighed = weigh(band, masker[at]);
                        threshold = threshold.wrapping_add(match (dy, dx) {
                            (1, 1) => share(weighed, 8738, 286_331_153),
                            _ => share(weighed, 4369, 143_165_577),
                        });
                    }
                }
                for band in 0..3 {
                    let (weighed, threshold, q, c) = match first {
                        true => (
                            fixed[band] as i32 * part[band][y * w + x],
                            threshold << [10, 10, 12][band],
                            [29, 29, 30][band],
                            log(w) - [4, 4, 3][band],
                        ),
                        false => (weigh(band, part[band][y * w + x]), threshold, 30, log(w)),
                    };
                    let seen = i64::from(weighed.wrapping_abs().wrapping_sub(threshold).max(0));
                    let square = i64::from(round(seen * seen, q) as i32);
                    sums[band] = sums[band].wrapping_add(round(square * seen, c));
                }
            }
            for band in 0..3 {
                totals[band] = totals[band].wrapping_add(round(sums[band], log(h)));
            }
        }
        totals
    }

    fn noise(level: &Level, seed: u32, bits: u32) -> [Vec<i32>; 3] {
        [1, 2, 3].map(|band| {
            let mut state = seed.wrapping_mul(31).wrapping_add(band);
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state as i32 >> (32 - bits)
            };
            (0..level.size.area()).map(next).collect()
        })
    }

    #[test]
    fn equals_the_definition_at_every_size() {
        let sensitivity = |fixed| Sensitivity {
            fixed,
            factor: [0.0; 3],
            cubed: [0.0; 3],
        };
        let usual = [36453, 36453, 49417];
        let extreme = [65535, 1, 65535];
        let (usual_later, extreme_later) = ([137_373_792, 137_373_792, 61_414_028], [u32::MAX; 3]);
        for (width, height) in [(33, 33), (34, 61), (60, 47), (131, 73), (201, 40)] {
            let format = FrameFormat::new(width, height, Chroma::Yuv400, 8).unwrap();
            let levels = levels(&format);
            let mut buffers = Buffers::new(&levels[0]);
            for (index, level) in levels.iter().enumerate() {
                for bits in [4, 11, 16, 24, 32] {
                    let first = index == 0;
                    if first && bits > 16 {
                        continue;
                    }
                    let (part, masker) = (noise(level, bits, bits), noise(level, 7, bits - 2));
                    for (fixed, fixed_later) in [(usual, usual_later), (extreme, extreme_later)] {
                        let (fixed, got) = if first {
                            let s = sensitivity(fixed);
                            let run = masked_cubes::<Finest>;
                            (fixed, run(&part, &masker, &s, level, &mut buffers))
                        } else {
                            let s = sensitivity(fixed_later);
                            let run = masked_cubes::<Coarser>;
                            (fixed_later, run(&part, &masker, &s, level, &mut buffers))
                        };
                        let want = by_definition(first, &part, &masker, fixed, level);
                        assert_eq!(got, want, "{width}x{height} level {index} {bits} bits");
                    }
                }
            }
        }
    }

    #[test]
    fn sixteen_bit_values_wrap() {
        // 65535 * 32767 / 2^15 is 65533, which is -3 in 16 bits.
        assert_eq!(Finest::weigh(65535, 0, 32767), -3);
        // 4369 * 30720 / 2^12 rounds to 32768.
        assert_eq!(Finest::to_neighbour(30719), 32766);
        assert_eq!(Finest::to_neighbour(-30720), -32768);
        assert_eq!(Finest::to_own_place(15360), -32768);
        // Diagonal halves are rounded down: 65536 and 3 * 65536 in units of 2^-17.
        assert_eq!(
            (Finest::weigh(32768, 2, 2), Finest::weigh(32768, 2, 6)),
            (0, 1)
        );
        assert_eq!(Finest::weigh(32768, 2, 3), 1);
    }

    #[test]
    fn later_shares_of_nothing_are_below_zero() {
        assert_eq!(
            (Coarser::to_neighbour(0), Coarser::to_own_place(0)),
            (-1, -1)
        );
        assert_eq!(
            (Coarser::to_neighbour(300), Coarser::to_own_place(-300)),
            (9, 19)
        );
        assert_eq!(Coarser::to_neighbour(i32::MIN), -71_582_789);
    }
}
