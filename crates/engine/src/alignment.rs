//! Looks for a constant shift between the two clips, the most frequent cause of scores that
//! nobody can explain. It only warns: frames are always paired by number.
//!
//! Both clips are reduced to small luma pictures. For every shift up to the range the squared
//! error between the shifted clips is summed, and at the end a shift is reported if it makes
//! the error much smaller *and* the reference moves enough to explain the error without a
//! shift. A still clip, a coding error or noise therefore never look like a shift.
//!
//! What must stay true: integer sums, so the warning does not depend on the machine or on the
//! number of threads; a few kilobytes of memory whatever the length of the clip.

use std::collections::VecDeque;

use vmafx_api::{HostView, Samples};
use vmafx_metrics::math;

use crate::warning::Warning;

/// Largest range in which a shift is looked for, in frames.
pub const MAX_ALIGNMENT_RANGE: u32 = 60;

const WIDTH: usize = 64;
const HEIGHT: usize = 36;
/// Values are 8-bit luma times this.
const SCALE: u64 = 16;
/// Rows of a cell that are read: enough for its mean, a fraction of a large frame.
const CELL_ROWS: usize = 4;

/// A shift must have been seen on as many frame pairs.
const MIN_PAIRS: u64 = 5;
/// A shift must make the clips agree by as much better.
const MIN_GAIN_DB: f64 = 6.0;
/// Mean squared error, in 8-bit steps, below which the unshifted clips agree well enough.
const MIN_ERROR: f64 = 0.1;
/// Errors below this are as good as none; keeps the gain finite.
const NO_ERROR: f64 = 0.001;

/// A luma plane reduced to at most 64x36 cell means.
#[derive(Clone, Debug)]
pub(crate) struct Thumbnail(Vec<u16>);

impl Thumbnail {
    pub(crate) fn new(view: &HostView<'_>) -> Self {
        let luma = view.luma();
        let (size, stride) = (luma.size(), luma.stride());
        let (columns, rows) = (size.width.min(WIDTH), size.height.min(HEIGHT));
        let peak = u64::from(view.format().peak());
        let mut cells = Vec::with_capacity(columns * rows);
        let mut sums = [0u64; WIDTH];
        for row in 0..rows {
            let (top, bottom) = (row * size.height / rows, (row + 1) * size.height / rows);
            let step = (bottom - top).div_ceil(CELL_ROWS);
            sums.fill(0);
            for y in (top..bottom).step_by(step) {
                for (column, sum) in sums.iter_mut().enumerate().take(columns) {
                    let left = y * stride + column * size.width / columns;
                    let right = y * stride + (column + 1) * size.width / columns;
                    *sum += match luma.samples() {
                        Samples::U8(s) => s[left..right].iter().map(|&v| u64::from(v)).sum::<u64>(),
                        Samples::U16(s) => s[left..right].iter().map(|&v| u64::from(v)).sum(),
                    };
                }
            }
            let read = (bottom - top).div_ceil(step) as u64;
            for (column, sum) in sums.iter().enumerate().take(columns) {
                let width = (column + 1) * size.width / columns - column * size.width / columns;
                let mean = sum * 255 * SCALE / (read * width as u64 * peak);
                cells.push(mean as u16);
            }
        }
        Thumbnail(cells)
    }

    fn squared_error(&self, other: &Thumbnail) -> u64 {
        let pairs = self.0.iter().zip(&other.0);
        pairs.map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum()
    }
}

/// Sum of squared errors over pairs of thumbnails.
#[derive(Clone, Copy, Debug, Default)]
struct Sse {
    sum: u64,
    pairs: u64,
}

impl Sse {
    fn add(&mut self, a: &Thumbnail, b: &Thumbnail) {
        self.sum += a.squared_error(b);
        self.pairs += 1;
    }

    /// Mean squared error, in 8-bit steps.
    fn mean(&self, cells: usize) -> f64 {
        self.sum as f64 / (self.pairs as f64 * cells as f64 * (SCALE * SCALE) as f64)
    }
}

/// The search over one clip.
#[derive(Debug)]
pub(crate) struct Alignment {
    /// The latest pairs, newest first.
    recent: VecDeque<[Thumbnail; 2]>,
    range: usize,
    unshifted: Sse,
    /// `[0][k]`: the distorted clip is `k + 1` frames late; `[1][k]`: the reference is.
    shifted: [Vec<Sse>; 2],
    /// `[k]`: the reference against itself `k + 1` frames earlier.
    motion: Vec<Sse>,
}

impl Alignment {
    pub(crate) fn new(range: u32) -> Self {
        let range = range as usize;
        let errors = vec![Sse::default(); range];
        Alignment {
            recent: VecDeque::with_capacity(range),
            range,
            unshifted: Sse::default(),
            shifted: [errors.clone(), errors.clone()],
            motion: errors,
        }
    }

    /// Takes the next frame: reference, then distorted.
    pub(crate) fn push(&mut self, pair: [Thumbnail; 2]) {
        let [reference, distorted] = &pair;
        self.unshifted.add(reference, distorted);
        for (k, [earlier_reference, earlier_distorted]) in self.recent.iter().enumerate() {
            self.shifted[0][k].add(earlier_reference, distorted);
            self.shifted[1][k].add(reference, earlier_distorted);
            self.motion[k].add(reference, earlier_reference);
        }
        self.recent.truncate(self.range - 1);
        self.recent.push_front(pair);
    }

    /// The shift that the whole clip suggests, if any.
    pub(crate) fn finish(&self) -> Option<Warning> {
        let cells = self.recent.front()?[0].0.len();
        let unshifted = self.unshifted.mean(cells);
        if unshifted < MIN_ERROR {
            return None;
        }
        let candidates = [(1, &self.shifted[0]), (-1, &self.shifted[1])];
        let (shift, error) = candidates
            .into_iter()
            .flat_map(|(sign, errors)| {
                errors
                    .iter()
                    .zip(&self.motion)
                    .enumerate()
                    .filter(|(_, (error, motion))| {
                        error.pairs >= MIN_PAIRS && motion.mean(cells) * 4.0 >= unshifted
                    })
                    .map(move |(k, (error, _))| (sign * (k as i32 + 1), error.mean(cells)))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        let gain_db = 10.0 * math::log10(unshifted / error.max(NO_ERROR));
        (gain_db >= MIN_GAIN_DB).then_some(Warning::Misaligned {
            distorted_late_by: shift,
            gain_db,
        })
    }
}

#[cfg(test)]
mod tests {
    use vmafx_api::{Chroma, FrameFormat, HostFrame};

    use super::*;

    /// A bright square that wanders over a gradient.
    fn frame(format: FrameFormat, at: i64, noise: u64) -> Thumbnail {
        let (width, height) = (i64::from(format.width()), i64::from(format.height()));
        let mut frame = HostFrame::new(format);
        let peak = i64::from(format.peak());
        let mut seed = (at as u64).wrapping_mul(31);
        for y in 0..height {
            for x in 0..width {
                seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let (dx, dy) = (
                    x - (at * 9).rem_euclid(width),
                    y - (at * 5).rem_euclid(height),
                );
                let inside = dx.abs() < width / 6 && dy.abs() < height / 6;
                let base = if inside {
                    peak * 9 / 10
                } else {
                    peak * (x + y) / (3 * (width + height))
                };
                let jitter = (seed >> 33) as i64 % (noise as i64 * peak / 255 + 1);
                let value = (base - jitter).clamp(0, peak);
                let place = (y * width + x) as usize;
                match format.depth() {
                    8 => frame.bytes_mut()[place] = value as u8,
                    _ => frame.words_mut()[place] = value as u16,
                }
            }
        }
        Thumbnail::new(&frame.view())
    }

    fn search(
        depth: u32,
        frames: i64,
        reference: impl Fn(i64) -> i64,
        late: i64,
    ) -> Option<Warning> {
        let format = FrameFormat::new(130, 70, Chroma::Yuv400, depth).unwrap();
        let mut alignment = Alignment::new(5);
        for t in 0..frames {
            let original = frame(format, reference(t), 0);
            alignment.push([original, frame(format, reference(t - late), 40)]);
        }
        alignment.finish()
    }

    #[test]
    fn a_shift_is_found_with_its_direction() {
        for depth in [8, 10] {
            for late in [-5, -2, -1, 1, 3, 5] {
                match search(depth, 24, |t| t, late) {
                    Some(Warning::Misaligned {
                        distorted_late_by,
                        gain_db,
                    }) => {
                        assert_eq!(i64::from(distorted_late_by), late);
                        assert!(gain_db > 6.0);
                    }
                    other => panic!("late by {late}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn no_shift_no_warning() {
        assert_eq!(search(8, 24, |t| t, 0), None, "moving and noisy");
        assert_eq!(search(8, 24, |_| 3, 2), None, "still");
        assert_eq!(search(8, 24, |t| t, 7), None, "beyond the range");
        assert_eq!(search(8, 5, |t| t, 1), None, "too short to tell");
        assert_eq!(search(8, 0, |t| t, 1), None, "empty");
    }

    /// Without the broken first frame a shifted clip would look better.
    #[test]
    fn one_broken_frame_is_no_shift() {
        let format = FrameFormat::new(130, 70, Chroma::Yuv400, 8).unwrap();
        let mut alignment = Alignment::new(5);
        for t in 0..20 {
            let distorted = if t == 0 { 55 } else { 3 };
            alignment.push([frame(format, 3, 0), frame(format, distorted, 0)]);
        }
        assert_eq!(alignment.finish(), None);
    }

    #[test]
    fn means_do_not_depend_on_the_depth() {
        for (width, height) in [(1, 1), (3, 200), (200, 3), (1920, 1080)] {
            for depth in [8, 12, 16] {
                let format = FrameFormat::new(width, height, Chroma::Yuv400, depth).unwrap();
                let mut frame = HostFrame::new(format);
                match depth {
                    8 => frame.bytes_mut().fill(255),
                    _ => frame.words_mut().fill(format.peak() as u16),
                }
                let cells = Thumbnail::new(&frame.view()).0;
                assert_eq!(
                    cells.len(),
                    width.min(64) as usize * height.min(36) as usize
                );
                assert!(cells.iter().all(|&cell| cell == 4080), "{format}");
            }
        }
    }
}
