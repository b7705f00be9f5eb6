//! Sums of the denominators: cubes of the original details, before the sensitivity weighs them.
//!
//! What must stay true: no sum overflows. On the first level a cube has at most 45 bits and a
//! row of them 15 more; on the others the shifts keep cubes, rows and totals below 2^63 + 2^32.

use super::level::{Level, ceil_log2, half};

/// Sums of the cubed magnitudes of `details` over the scored region of `level`, number `index`
/// from 0, in units of 2^-[`fraction`].
pub(super) fn cubes(details: &[Vec<i32>; 3], index: usize, level: &Level) -> [u64; 3] {
    let Shifts { square, cube, row } = Shifts::of(index, level);
    let [cube_half, row_half] = [cube, row].map(|shift| half(shift) as u64);
    details.each_ref().map(|band| match index {
        0 => sum(band, level, row, row_half, |m| m * m * m),
        _ => sum(band, level, row, row_half, |m| {
            // libvmaf adds a whole unit here, not a half.
            let squared = (m * m + (1 << square)) >> square;
            (squared * m + cube_half) >> cube
        }),
    })
}

fn sum(
    band: &[i32],
    level: &Level,
    row_shift: u32,
    row_half: u64,
    cube: impl Fn(u64) -> u64,
) -> u64 {
    let rows = level.rows.clone().map(|y| {
        let row = &level.row(band, y)[level.columns.clone()];
        let cubes = row.iter().map(|x| cube(u64::from(x.unsigned_abs())));
        (cubes.sum::<u64>() + row_half) >> row_shift
    });
    rows.sum()
}

/// Bits behind the point of a sum of [`cubes`].
pub(super) fn fraction(index: usize, level: &Level) -> u32 {
    let Shifts { cube, row, .. } = Shifts::of(index, level);
    [18, 32, 27, 23][index] - cube - row
}

/// Right shifts on the way to a sum.
pub struct Shifts {
    /// Of a square; none on the first level.
    pub square: u32,
    /// Of a cube; none on the first level.
    pub cube: u32,
    /// Of the sum of a row.
    pub row: u32,
}

impl Shifts {
    /// The shifts of `level`, number `index` from 0.
    pub fn of(index: usize, level: &Level) -> Self {
        match index {
            0 => Shifts {
                square: 0,
                cube: 0,
                row: ceil_log2(level.area()).saturating_sub(20),
            },
            _ => Shifts {
                square: [31, 30, 31][index - 1],
                cube: ceil_log2(level.columns.len()),
                row: ceil_log2(level.rows.len()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adm::level::levels;
    use vmafx_api::{Chroma, FrameFormat};

    #[test]
    fn equals_the_definition() {
        let format = FrameFormat::new(1283, 1611, Chroma::Yuv400, 8).unwrap();
        for (index, level) in levels(&format).iter().enumerate() {
            let band: Vec<i32> = (0..level.size.area() as u32)
                .map(|i| i.wrapping_mul(2_654_435_761) as i32 >> if index == 0 { 16 } else { 3 })
                .collect();
            let details = [band.clone(), band.clone(), band.clone()];
            let (w, h) = (level.size.width, level.size.height);
            let inner =
                |n: usize| (n as f64 * 0.1 - 0.5) as usize..n - (n as f64 * 0.1 - 0.5) as usize;
            let log = |n: usize| (n as f64).log2().ceil() as u32;
            let round =
                |x: u128, shift: u32| (x + if shift > 0 { 1 << (shift - 1) } else { 0 }) >> shift;
            let mut want = 0;
            for y in inner(h) {
                let mut row = 0;
                for x in inner(w) {
                    let m = u128::from(band[y * w + x].unsigned_abs());
                    row += match index {
                        0 => m * m * m,
                        _ => {
                            let q = [31, 30, 31][index - 1];
                            round(((m * m + (1 << q)) >> q) * m, log(inner(w).len()))
                        }
                    };
                }
                // The first level has fewer than 2^20 places here: its rows are not shifted.
                want += round(row, if index == 0 { 0 } else { log(inner(h).len()) });
            }
            assert_eq!(
                cubes(&details, index, level).map(u128::from),
                [want; 3],
                "level {index}"
            );
        }
    }

    #[test]
    fn large_frames_shift_rows() {
        let shift = |width, height| {
            let format = FrameFormat::new(width, height, Chroma::Yuv400, 8).unwrap();
            Shifts::of(0, &levels(&format)[0]).row
        };
        // Scored areas: 770 * 434, 1536 * 864, 3072 * 1728, 13108 * 13108.
        assert_eq!(shift(1920, 1080), 0);
        assert_eq!(shift(3840, 2160), 1);
        assert_eq!(shift(7680, 4320), 3);
        assert_eq!(shift(32768, 32768), 8);
    }

    #[test]
    fn the_largest_coefficients_fit() {
        let format = FrameFormat::new(2049, 33, Chroma::Yuv400, 8).unwrap();
        for (index, level) in levels(&format).iter().enumerate() {
            let worst = if index == 0 {
                i32::from(i16::MIN)
            } else {
                i32::MIN
            };
            let band = vec![worst; level.size.area()];
            let [sum, ..] = cubes(&[band.clone(), band.clone(), band], index, level);
            assert!(sum > 1 << 40);
        }
    }
}
