//! ADM with vectors.
//!
//! Each level goes through the picture once, a row of bands at a time: both pictures through the
//! wavelet, the energy of the original, decoupling, weighing, and then, one row behind, masking.
//! Rows stay in the nearest caches; only low bands are kept whole, for the next level.
//!
//! What must stay true: the sums are those of [`vmafx_metrics::adm::reference`], bit for bit,
//! for all settings and samples.

#![allow(
    clippy::needless_range_loop,
    reason = "bands are numbers in all of what one turn of a loop reads"
)]

mod energy;
mod first;
mod later;
mod masking;
mod rows;
mod wavelet;

#[cfg(test)]
mod tests;

use vmafx_api::{FrameFormat, PlaneView};
use vmafx_metrics::adm::steps::{
    Coarser, Finest, Shifts, half, neighbours, round_shift, row_shift, taps,
};
use vmafx_metrics::adm::{LEVELS, LevelSums, Settings, Sums};
use vmafx_metrics::mirror::{Pair, Plane as Luma};

use crate::level::Adm;
use crate::psnr::Lane;
use crate::vector::{Buffer, Detail, Element, Simd, Work};

use first::{Row, Weights};
use masking::Weighted;
use rows::{Part, Plane, inputs, parts};
use wavelet::Lines;

/// Rows whose details are kept.
const KEPT: usize = 3;

/// adm with the vectors of `S`, and its buffers.
pub(crate) struct Vector<S> {
    simd: S,
    scratch: Scratch,
}

impl<S: Simd> Vector<S> {
    /// For frames of `format`.
    ///
    /// # Panics
    /// On a processor without the instructions; the table of kernels is made only with them.
    pub(crate) fn new(format: &FrameFormat) -> Self {
        Vector {
            simd: S::in_use(),
            scratch: Scratch::new(format),
        }
    }
}

/// Buffers for frames of one format.
#[derive(Debug)]
struct Scratch {
    parts: [Part; LEVELS],
    lines: Lines,
    /// The low bands of the first level, of both pictures.
    words: [Plane<i16>; 2],
    /// Those of the second and third level, split.
    halves: [[[Plane<i16>; 2]; 2]; 2],
    first_details: [[Buffer<i16>; 3]; 2],
    details: [[Buffer<i32>; 3]; 2],
    decoupled: [[Buffer<i32>; 3]; 2],
    first_rows: [Row<u16>; KEPT],
    rows: [Row<i32>; KEPT],
    columns: Buffer<i32>,
}

impl Scratch {
    /// Buffers for frames of `format`.
    fn new(format: &FrameFormat) -> Self {
        fn bands<T: Element>(width: usize) -> [[Buffer<T>; 3]; 2] {
            [(); 2].map(|()| [(); 3].map(|()| Plane::line(width)))
        }
        let parts = parts(format);
        let [first, second, third, _] = parts.each_ref().map(|part| part.level.size);
        let plane = |size: vmafx_api::Size| Plane::new(size.width, size.height);
        Scratch {
            lines: Lines::new(format.plane_size(0).width),
            words: [plane(first), plane(first)],
            halves: [second, third].map(|size| [(); 2].map(|()| [plane(size), plane(size)])),
            first_details: bands(first.width),
            details: bands(second.width),
            decoupled: bands(second.width),
            first_rows: [(); KEPT].map(|()| Row::new(first.width)),
            rows: [(); KEPT].map(|()| Row::new(second.width)),
            columns: Plane::line(first.width),
            parts,
        }
    }
}

impl<S: Simd> Adm for Vector<S> {
    /// # Panics
    /// If the planes differ in size or sample type, or are not of the size of the buffers.
    fn sums(
        &mut self,
        [reference, distorted]: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &Settings,
    ) -> Sums {
        let (simd, scratch) = (self.simd, &mut self.scratch);
        let first = match Pair::new(reference, distorted) {
            Pair::U8(reference, distorted) => simd.run(FirstLevel {
                planes: [reference, distorted],
                depth,
                settings,
                scratch,
            }),
            Pair::U16(reference, distorted) => simd.run(FirstLevel {
                planes: [reference, distorted],
                depth,
                settings,
                scratch,
            }),
        };
        let [second, third, fourth] = simd.run(LaterLevels { settings, scratch });
        Sums {
            levels: [first, second, third, fourth],
        }
    }
}

struct FirstLevel<'a, T> {
    planes: [Luma<'a, T>; 2],
    depth: u32,
    settings: &'a Settings,
    scratch: &'a mut Scratch,
}

impl<T: Lane> Work for FirstLevel<'_, T> {
    type Output = LevelSums;

    #[inline(always)]
    fn run<S: Simd + Detail>(self, simd: S) -> LevelSums {
        let FirstLevel {
            planes,
            depth,
            settings,
            scratch,
        } = self;
        let part = &scratch.parts[0];
        let (width, height) = (planes[0].width(), planes[0].height());
        assert_eq!(part.level.size.width, width.div_ceil(2));
        assert_eq!(part.level.size.height, height.div_ceil(2));
        let factors = settings.sensitivity[0].fixed;
        let weights = Weights::new(factors, settings.gain_limit);
        let row_round = Shifts::of(0, &part.level).row;
        let mut sums = LevelSums::default();
        let wide = part.level.wide_rows();
        for y in part.rows.clone() {
            let wanted = wide.contains(&y) && !settings.skip_scale0;
            let columns = inputs(&part.columns, width);
            let [r0, r1, r2, r3] = taps(y, height);
            for side in 0..2 {
                let rows = [
                    planes[side].row(r0 as isize),
                    planes[side].row(r1 as isize),
                    planes[side].row(r2 as isize),
                    planes[side].row(r3 as isize),
                ];
                let lines = &mut scratch.lines;
                wavelet::down_luma(simd, rows, columns.clone(), depth, lines);
                lines.extend(width);
                let band = scratch.words[side].row_mut(y);
                let details = match wanted {
                    true => Some(&mut scratch.first_details[side]),
                    false => None,
                };
                wavelet::along_first(simd, lines, part.columns.clone(), band, details);
            }
            if !wanted {
                continue;
            }
            let [original, distorted] = &scratch.first_details;
            if part.level.rows.contains(&y) {
                let cubes = energy::cubes_first(simd, original, part);
                for (total, cubes) in sums.original.iter_mut().zip(cubes) {
                    *total += (cubes + half(row_round) as u64) >> row_round;
                }
            }
            first::decouple(
                simd,
                [original, distorted],
                part.level.wide_columns(),
                part,
                &weights,
                &mut scratch.first_rows[y % KEPT],
            );
            for y in complete(part, y) {
                let (rows, columns) = (&scratch.first_rows, &mut scratch.columns);
                mask::<S, Finest>(simd, y, rows, part, factors, settings, columns, &mut sums);
            }
        }
        sums
    }
}

struct LaterLevels<'a> {
    settings: &'a Settings,
    scratch: &'a mut Scratch,
}

impl Work for LaterLevels<'_> {
    type Output = [LevelSums; 3];

    #[inline(always)]
    fn run<S: Simd + Detail>(self, simd: S) -> [LevelSums; 3] {
        let LaterLevels { settings, scratch } = self;
        let mut levels = [LevelSums::default(); 3];
        for index in 1..LEVELS {
            levels[index - 1] = later_level(simd, index, settings, scratch);
        }
        levels
    }
}

#[inline(always)]
fn later_level<S: Simd + Detail>(
    simd: S,
    index: usize,
    settings: &Settings,
    scratch: &mut Scratch,
) -> LevelSums {
    let part = &scratch.parts[index];
    let source = scratch.parts[index - 1].level.size;
    let factors = settings.sensitivity[index].fixed;
    let shifts = Shifts::of(index, &part.level);
    let mut sums = LevelSums::default();
    let wide = part.level.wide_rows();
    let columns = inputs(&part.columns, source.width);
    for y in part.rows.clone() {
        let wanted = wide.contains(&y);
        let rows = taps(y, source.height);
        for side in 0..2 {
            let lines = &mut scratch.lines;
            let details = match wanted {
                true => Some(&mut scratch.details[side]),
                false => None,
            };
            if index == 1 {
                let words = &scratch.words[side];
                let rows = rows.map(|y| words.row(y));
                wavelet::down_words(simd, rows, columns.clone(), lines);
            } else {
                let [high, low] = &scratch.halves[index - 2][side];
                let rows = [rows.map(|y| high.row(y)), rows.map(|y| low.row(y))];
                wavelet::down_split(simd, rows, columns.clone(), lines);
            }
            lines.extend(source.width);
            let band = match index {
                3 => None,
                _ => {
                    let [high, low] = &mut scratch.halves[index - 1][side];
                    Some([high.row_mut(y), low.row_mut(y)])
                }
            };
            let columns = part.columns.clone();
            match index {
                2 => wavelet::along_later::<S, 16>(simd, lines, columns, band, details),
                _ => wavelet::along_later::<S, 15>(simd, lines, columns, band, details),
            }
        }
        if !wanted {
            continue;
        }
        let [original, distorted] = &scratch.details;
        if part.level.rows.contains(&y) {
            let cubes = energy::cubes_later(simd, original, part, &shifts);
            for (total, cubes) in sums.original.iter_mut().zip(cubes) {
                *total += (cubes + half(shifts.row) as u64) >> shifts.row;
            }
        }
        let columns = part.level.wide_columns();
        let decoupled = &mut scratch.decoupled;
        later::decouple(
            simd,
            [original, distorted],
            columns.clone(),
            settings.gain_limit,
            decoupled,
        );
        let row = &mut scratch.rows[y % KEPT];
        later::weigh(simd, decoupled, columns, part, factors, row);
        for y in complete(part, y) {
            let (rows, columns) = (&scratch.rows, &mut scratch.columns);
            mask::<S, Coarser>(simd, y, rows, part, factors, settings, columns, &mut sums);
        }
    }
    sums
}

/// The scored rows whose neighbours are all there when row `y` is, and were not before.
#[inline(always)]
fn complete(part: &Part, y: usize) -> std::ops::Range<usize> {
    let last = y + 1 == part.level.size.height;
    let end = if last { y + 1 } else { y };
    let rows = &part.level.rows;
    y.saturating_sub(1).max(rows.start)..end.min(rows.end)
}

/// Adds row `y` to the sums of both parts.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one call for each kind of level")]
fn mask<S: Simd + Detail, W: Weighted>(
    simd: S,
    y: usize,
    rows: &[Row<W::Magnitude>; KEPT],
    part: &Part,
    factors: [u32; 3],
    settings: &Settings,
    columns: &mut Buffer<i32>,
    sums: &mut LevelSums,
) {
    let (above, below) = neighbours(y, part.level.size.height);
    let rows = [&rows[above % KEPT], &rows[y % KEPT], &rows[below % KEPT]];
    let shift = row_shift(&part.level);
    let totals = [&mut sums.restored, &mut sums.impairment];
    for (which, totals) in totals.into_iter().enumerate() {
        if which == 1 && settings.skip_aim {
            break;
        }
        let cubes = masking::masked_cubes::<S, W>(simd, which, rows, part, factors, columns);
        for (total, cubes) in totals.iter_mut().zip(cubes) {
            *total = total.wrapping_add(round_shift(cubes, shift));
        }
    }
}
