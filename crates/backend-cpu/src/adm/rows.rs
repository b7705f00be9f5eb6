//! Where rows lie in memory, and which rows and columns of each level are needed.
//!
//! A tenth of every band at each side is not scored, and a level reads no more of the one before
//! than its own share needs, so the outer tenth of the picture is hardly read at all. What must
//! stay true: what a row holds outside of the columns that were asked for is unspecified, and
//! no result depends on it.

use std::ops::Range;

use vmafx_api::FrameFormat;
use vmafx_metrics::adm::{LEVELS, Level, levels};

use crate::vector::{Buffer, Element};

/// Elements in front of column 0 of every row: a register of the smallest elements.
pub(super) const MARGIN: usize = 64;

/// Elements that a row of `width` takes: behind the last column there is room for the outputs
/// of two registers, and for twice as many inputs.
const fn row_len(width: usize) -> usize {
    MARGIN + width.next_multiple_of(MARGIN) + 3 * MARGIN
}

/// Rows of one size.
#[derive(Debug)]
pub(super) struct Plane<T> {
    elements: Buffer<T>,
    stride: usize,
}

impl<T: Element> Plane<T> {
    pub(super) fn new(width: usize, height: usize) -> Self {
        let stride = row_len(width);
        Plane {
            elements: Buffer::new(stride * height),
            stride,
        }
    }

    /// A single row.
    pub(super) fn line(width: usize) -> Buffer<T> {
        Buffer::new(row_len(width))
    }

    /// Row `y` with its margins; column 0 is at [`MARGIN`].
    #[inline(always)]
    pub(super) fn row(&self, y: usize) -> &[T] {
        &self.elements[y * self.stride..][..self.stride]
    }

    #[inline(always)]
    pub(super) fn row_mut(&mut self, y: usize) -> &mut [T] {
        &mut self.elements[y * self.stride..][..self.stride]
    }
}

/// One level: its regions and what masks the columns that are not scored.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) level: Level,
    /// Rows of bands that this level or the next one reads.
    pub(super) rows: Range<usize>,
    /// Columns of bands that this level or the next one reads.
    pub(super) columns: Range<usize>,
    /// Ones in the scored columns.
    pub(super) scored: Buffer<i32>,
    /// The same in 16 bits.
    pub(super) scored16: Buffer<i16>,
}

/// Inputs of the wavelet that outputs `range` are made of, of a signal of `n` samples.
pub(super) fn inputs(range: &Range<usize>, n: usize) -> Range<usize> {
    (2 * range.start).saturating_sub(1)..(2 * range.end + 1).min(n)
}

/// The levels of frames of `format`.
pub(super) fn parts(format: &FrameFormat) -> [Part; LEVELS] {
    let levels = levels(format);
    let mut regions = levels
        .each_ref()
        .map(|level| [level.wide_rows(), level.wide_columns()]);
    for index in (1..LEVELS).rev() {
        let size = levels[index - 1].size;
        for (axis, n) in [size.height, size.width].into_iter().enumerate() {
            let inputs = inputs(&regions[index][axis], n);
            let own = &mut regions[index - 1][axis];
            *own = own.start.min(inputs.start)..own.end.max(inputs.end);
        }
    }
    let mut regions = regions.into_iter();
    levels.map(|level| {
        let [rows, columns] = regions.next().expect("a region for each level");
        let scored = MARGIN + level.columns.start..MARGIN + level.columns.end;
        let mut mask = Plane::line(level.size.width);
        mask[scored.clone()].fill(-1);
        let mut mask16 = Plane::line(level.size.width);
        mask16[scored].fill(-1);
        Part {
            level,
            rows,
            columns,
            scored: mask,
            scored16: mask16,
        }
    })
}
