//! Rows between the two passes: 16-bit lanes with the sign flipped, and margins into which the
//! row is reflected.

use super::window::Window;
use crate::vector::{Buffer, Simd};

/// Elements in front of and behind a row: more than the radius of any window, and a cache line.
const MARGIN: usize = 32;

/// `rows` rows of `PLANES` planes.
#[derive(Debug)]
pub(super) struct Lines<const PLANES: usize> {
    samples: Buffer<u16>,
    width: usize,
    rows: usize,
    stride: usize,
}

impl<const PLANES: usize> Lines<PLANES> {
    pub(super) fn new(width: usize, rows: usize) -> Self {
        let stride = MARGIN + width.next_multiple_of(MARGIN) + MARGIN;
        Lines {
            samples: Buffer::new(stride * PLANES * rows),
            width,
            rows,
            stride,
        }
    }

    /// Takes rows of `width` columns from now on, no more than the lines were made for.
    pub(super) fn narrow(&mut self, width: usize) {
        assert!(
            width.next_multiple_of(MARGIN) + 2 * MARGIN <= self.stride,
            "narrower rows"
        );
        self.width = width;
    }

    /// The planes of `count` rows from `row` on.
    #[inline(always)]
    pub(super) fn rows(&mut self, row: usize, count: usize) -> Rows<PLANES> {
        assert!(row + count <= self.rows, "rows of the lines");
        let start = row * PLANES * self.stride + MARGIN;
        Rows {
            start: self.samples[start..].as_mut_ptr(),
            stride: self.stride,
        }
    }

    /// Reflects the row into the margins of all its planes.
    #[inline(always)]
    pub(super) fn reflect<W: Window>(&mut self, row: usize) {
        let (width, stride) = (self.width, self.stride);
        for plane in 0..PLANES {
            let start = (row * PLANES + plane) * stride;
            let line = &mut self.samples[start..start + stride];
            // The windows of small scales reach no further than an image is wide, others are
            // only padded with zero taps.
            let reach = W::RADIUS.min(width - 1);
            for distance in 1..=reach {
                line[MARGIN - distance] = line[MARGIN + distance];
                line[MARGIN + width - 1 + distance] = line[MARGIN + width - 1 - distance];
            }
        }
    }
}

/// Where rows begin. A margin in front of each, and as much as the width rounded up to
/// [`group`](super::image::group) and a margin behind, may be read and written as long as the
/// lines are not used otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<const PLANES: usize> {
    start: *mut u16,
    stride: usize,
}

impl<const PLANES: usize> Rows<PLANES> {
    /// The first column of a plane of a row.
    ///
    /// # Safety
    /// `row` must be below the count that the rows were taken with, `plane` below `PLANES`.
    #[inline(always)]
    pub(super) unsafe fn at(self, row: usize, plane: usize) -> *mut u16 {
        // SAFETY: within the lines, as the caller says and `Lines::rows` has checked.
        unsafe { self.start.add((row * PLANES + plane) * self.stride) }
    }
}

/// Two sets of registers of 32-bit lanes, the even columns and the odd ones.
pub(super) type Columns<S> = [<S as Simd>::Int; 2];
