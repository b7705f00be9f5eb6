//! Planes that a filter can read beyond their borders: reflected about the border sample,
//! which is not repeated (row −1 is row 1, row `n` is row `n − 2`).
//!
//! Rows reflect by index ([`Plane::row`]), columns by a margin written around a row
//! ([`extend`]), so that the inner loop of every filter runs over plain slices. One reflection
//! must do: a filter of radius `r` needs more than `r` samples in each direction, and each
//! metric's smallest size says so.

use vmafx_api::{PlaneView, Samples};

/// A sample type: `u8` at depth 8, `u16` at depths 9 to 16 and in scaled images.
pub trait Sample: Copy + Into<u32> + Send + Sync {}

impl Sample for u8 {}
impl Sample for u16 {}

/// Reflects `index` into `0..len`.
///
/// # Panics
/// With an index outside `-(len - 1)..=2 * (len - 1)`, which one reflection cannot bring in.
#[inline]
pub fn mirror(index: isize, len: usize) -> usize {
    let last = len as isize - 1;
    let inside = if index < 0 {
        -index
    } else if index > last {
        2 * last - index
    } else {
        index
    };
    assert!(
        (0..=last).contains(&inside),
        "index {index} is more than one reflection away from {len} samples"
    );
    inside as usize
}

/// Fills the first and last `radius` elements of `row` with the reflection of what is between.
///
/// # Panics
/// With `radius` or fewer elements between the margins.
#[inline]
pub fn extend<T: Copy>(row: &mut [T], radius: usize) {
    let last = row.len() - 1 - radius;
    assert!(
        last - radius >= radius,
        "a margin of {radius} around {} samples",
        last + 1 - radius
    );
    for distance in 1..=radius {
        row[radius - distance] = row[radius + distance];
        row[last + distance] = row[last - distance];
    }
}

/// A plane of one sample type, reflected at its top and bottom.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a, T> {
    samples: &'a [T],
    width: usize,
    height: usize,
    stride: usize,
}

impl<'a, T: Copy> Plane<'a, T> {
    /// A plane without padding: `height` rows of `width` samples.
    ///
    /// # Panics
    /// With another number of samples.
    pub fn packed(samples: &'a [T], width: usize, height: usize) -> Self {
        assert_eq!(
            samples.len(),
            width * height,
            "a packed plane has no padding"
        );
        Plane {
            samples,
            width,
            height,
            stride: width,
        }
    }

    fn of(view: &PlaneView<'_>, samples: &'a [T]) -> Self {
        Plane {
            samples,
            width: view.size().width,
            height: view.size().height,
            stride: view.stride(),
        }
    }

    /// Samples of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Row `y`, which may lie above or below the plane by less than its height.
    #[inline]
    pub fn row(&self, y: isize) -> &'a [T] {
        let start = mirror(y, self.height) * self.stride;
        &self.samples[start..start + self.width]
    }
}

/// Two planes of equal size and sample type.
#[derive(Clone, Copy, Debug)]
pub enum Pair<'a> {
    /// Depth 8.
    U8(Plane<'a, u8>, Plane<'a, u8>),
    /// Depths 9 to 16.
    U16(Plane<'a, u16>, Plane<'a, u16>),
}

impl<'a> Pair<'a> {
    /// Pairs the planes that two views show.
    ///
    /// # Panics
    /// If size or sample type differ; views of two frames of one format never do.
    pub fn new(a: &PlaneView<'a>, b: &PlaneView<'a>) -> Self {
        assert_eq!(a.size(), b.size(), "planes of a pair have one size");
        match (a.samples(), b.samples()) {
            (Samples::U8(x), Samples::U8(y)) => Pair::U8(Plane::of(a, x), Plane::of(b, y)),
            (Samples::U16(x), Samples::U16(y)) => Pair::U16(Plane::of(a, x), Plane::of(b, y)),
            _ => panic!("planes of a pair have one sample type"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use vmafx_api::{Chroma, FrameFormat, HostFrame, Size};

    use super::*;

    /// A luma frame whose `i`-th sample is `sample(i)`.
    pub(crate) fn luma(
        width: u32,
        height: u32,
        depth: u32,
        sample: impl Fn(usize) -> u16,
    ) -> HostFrame {
        let format = FrameFormat::new(width, height, Chroma::Yuv400, depth).unwrap();
        let mut frame = HostFrame::new(format);
        if depth == 8 {
            let bytes = frame.bytes_mut().iter_mut().enumerate();
            bytes.for_each(|(i, s)| *s = sample(i) as u8);
        } else {
            let words = frame.words_mut().iter_mut().enumerate();
            words.for_each(|(i, s)| *s = sample(i));
        }
        frame
    }

    /// The samples of a luma frame, widened.
    pub(crate) fn samples(frame: &HostFrame) -> Vec<i128> {
        match frame.view().luma().samples() {
            Samples::U8(s) => s.iter().map(|&s| s.into()).collect(),
            Samples::U16(s) => s.iter().map(|&s| s.into()).collect(),
        }
    }

    #[test]
    fn reflection_leaves_the_border_out() {
        let line: Vec<usize> = (-3..=6).map(|i| mirror(i, 4)).collect();
        assert_eq!(line, [3, 2, 1, 0, 1, 2, 3, 2, 1, 0]);
        assert_eq!(mirror(0, 1), 0);
        let mut row = [9, 9, 9, 10, 11, 12, 13, 9, 9, 9];
        extend(&mut row, 3);
        assert_eq!(row, [13, 12, 11, 10, 11, 12, 13, 12, 11, 10]);
    }

    #[test]
    #[should_panic(expected = "index -4 is more than one reflection away from 4 samples")]
    fn second_reflection_is_refused() {
        mirror(-4, 4);
    }

    #[test]
    #[should_panic(expected = "a margin of 3 around 3 samples")]
    fn too_wide_margin_is_refused() {
        extend(&mut [0; 9], 3);
    }

    #[test]
    fn rows_honour_the_stride() {
        let samples = [1u8, 2, 99, 3, 4, 99, 5, 6];
        let size = Size {
            width: 2,
            height: 3,
        };
        let view = PlaneView::new(Samples::U8(&samples), size, 3).unwrap();
        let Pair::U8(plane, _) = Pair::new(&view, &view) else {
            panic!("bytes in, bytes out")
        };
        let rows: Vec<_> = (-2..=4).map(|y| plane.row(y).to_vec()).collect();
        let expected = [[5, 6], [3, 4], [1, 2], [3, 4], [5, 6], [3, 4], [1, 2]];
        assert_eq!(rows, expected);
    }
}
