//! The operations that turn a reference picture into a distorted one, on samples of the clip's
//! depth. Edges replicate; shifts of negative numbers round down.

use vmafx_api::Size;

use super::scene::hash_row;
use super::spec::Distortion;

/// One plane while it is worked on.
pub(super) struct PlaneBuffer {
    pub(super) size: Size,
    /// Rows without padding.
    pub(super) samples: Vec<i32>,
    /// Result of an operation that reads neighbours; swapped with `samples`.
    next: Vec<i32>,
}

/// What an operation needs to know of its picture.
#[derive(Clone, Copy)]
pub(super) struct PictureParameters {
    pub(super) depth: u32,
    pub(super) seed: u32,
    /// Last argument of the per-sample hash: picture and plane.
    pub(super) salt: u32,
}

impl PlaneBuffer {
    pub(super) fn new() -> Self {
        PlaneBuffer {
            size: Size {
                width: 0,
                height: 0,
            },
            samples: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Makes room for a plane of `size`.
    pub(super) fn resize(&mut self, size: Size) {
        self.size = size;
        self.samples.resize(size.area(), 0);
    }

    pub(super) fn apply(&mut self, operation: Distortion, picture: PictureParameters) {
        let peak = (1i32 << picture.depth) - 1;
        let scale = picture.depth - 8;
        match operation {
            Distortion::Blur(times) => {
                for _ in 0..times {
                    self.blur();
                }
            }
            Distortion::Sharp(amount) => self.sharpen(amount as i32, peak),
            Distortion::Noise(amount) => {
                let amount = (amount as i32) << scale;
                let seed = picture.seed.wrapping_add(555);
                let rows = self.samples.chunks_exact_mut(self.size.width);
                for (y, row) in (0..).zip(rows) {
                    for (v, hash) in hash_row(seed, y, picture.salt, row) {
                        let g = (hash & 0xFF) as i32 - 128;
                        *v = (*v + ((g * amount) >> 7)).clamp(0, peak);
                    }
                }
            }
            Distortion::Block(side, step) => {
                self.quantise(side as usize, (step as i32) << scale, peak);
            }
            Distortion::Shift(dx, dy) => self.shift(dx as isize, dy as isize),
            Distortion::Band(bits) => {
                let shift = bits as u32 + scale;
                self.samples
                    .iter_mut()
                    .for_each(|v| *v = (*v >> shift) << shift);
            }
            Distortion::Add(levels) => {
                let levels = (levels as i32) << scale;
                let add = |v: &mut i32| *v = (*v + levels).clamp(0, peak);
                self.samples.iter_mut().for_each(add);
            }
            Distortion::Gain(factor) => {
                let middle = 1 << (picture.depth - 1);
                let factor = factor as i32;
                for v in &mut self.samples {
                    *v = ((((*v - middle) * factor) >> 4) + middle).clamp(0, peak);
                }
            }
        }
    }

    /// 3x3 binomial filter, rows first, rounded once.
    fn blur(&mut self) {
        let Size { width, height } = self.size;
        self.next.resize(self.size.area(), 0);
        let rows = self
            .samples
            .chunks_exact(width)
            .zip(self.next.chunks_exact_mut(width));
        for (row, sums) in rows {
            each_with_neighbours(row, |x, left, v, right| sums[x] = left + 2 * v + right);
        }
        let sums = &self.next;
        for (y, row) in self.samples.chunks_exact_mut(width).enumerate() {
            let line = |y: usize| &sums[y * width..(y + 1) * width];
            let (above, here, below) = (
                line(y.saturating_sub(1)),
                line(y),
                line((y + 1).min(height - 1)),
            );
            for (((v, a), b), c) in row.iter_mut().zip(above).zip(here).zip(below) {
                *v = (a + 2 * b + c + 8) >> 4;
            }
        }
    }

    fn sharpen(&mut self, amount: i32, peak: i32) {
        let Size { width, height } = self.size;
        self.next.resize(self.size.area(), 0);
        let samples = &self.samples;
        for (y, out) in self.next.chunks_exact_mut(width).enumerate() {
            let line = |y: usize| &samples[y * width..(y + 1) * width];
            let (above, below) = (line(y.saturating_sub(1)), line((y + 1).min(height - 1)));
            each_with_neighbours(line(y), |x, left, v, right| {
                let d = 4 * v - left - right - above[x] - below[x];
                out[x] = (v + ((d * amount) >> 4)).clamp(0, peak);
            });
        }
        std::mem::swap(&mut self.samples, &mut self.next);
    }

    /// Replaces each block by its mean and its deviations in steps of `step`.
    fn quantise(&mut self, side: usize, step: i32, peak: i32) {
        let Size { width, height } = self.size;
        for top in (0..height).step_by(side) {
            let rows = top..height.min(top + side);
            for left in (0..width).step_by(side) {
                let columns = left..width.min(left + side);
                let of_row = |y: usize| y * width + columns.start..y * width + columns.end;
                let sum: i64 = rows
                    .clone()
                    .flat_map(|y| &self.samples[of_row(y)])
                    .map(|&v| i64::from(v))
                    .sum();
                let mean = (sum / (rows.len() * columns.len()) as i64) as i32;
                for y in rows.clone() {
                    for v in &mut self.samples[of_row(y)] {
                        let steps = (*v - mean + (step >> 1)).div_euclid(step);
                        *v = (mean + steps * step).clamp(0, peak);
                    }
                }
            }
        }
    }

    fn shift(&mut self, dx: isize, dy: isize) {
        let Size { width, height } = self.size;
        self.next.resize(self.size.area(), 0);
        let from = |at: usize, by: isize, most: usize| {
            (at as isize - by).clamp(0, most as isize - 1) as usize
        };
        for (y, out) in self.next.chunks_exact_mut(width).enumerate() {
            let row = &self.samples[from(y, dy, height) * width..][..width];
            for (x, v) in out.iter_mut().enumerate() {
                *v = row[from(x, dx, width)];
            }
        }
        std::mem::swap(&mut self.samples, &mut self.next);
    }
}

/// Calls `each` with the place of every sample of `row`, its left neighbour, itself and its right
/// neighbour.
fn each_with_neighbours(row: &[i32], mut each: impl FnMut(usize, i32, i32, i32)) {
    let last = row.len() - 1;
    if last == 0 {
        return each(0, row[0], row[0], row[0]);
    }
    each(0, row[0], row[0], row[1]);
    for (x, v) in row.windows(3).enumerate() {
        each(x + 1, v[0], v[1], v[2]);
    }
    each(last, row[last - 1], row[last], row[last]);
}
