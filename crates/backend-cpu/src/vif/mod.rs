//! vif with vectors: the same integers as `vmafx_metrics::vif::reference`, which stays the
//! definition.
//!
//! A scale is worked through in bands of rows. A band goes down the columns strip by strip
//! ([`vertical`]) into rows of 16-bit planes, then along each row ([`horizontal`]); what the
//! textured pixels carry is added up from a queue ([`information`]). All multiplications under
//! a window are of signed 16-bit numbers in pairs: 32-bit numbers are filtered as two halves.
//! The next scale's images come out of the same strips.
//!
//! What must stay true: every sum equals the reference's, for any sample value, width, height
//! and level; nothing is read outside a row of a plane; nothing is allocated after `new`.

mod horizontal;
mod image;
mod information;
mod lines;
mod vertical;
mod window;

use vmafx_api::{FrameFormat, PlaneView, Samples};
use vmafx_metrics::vif::{Settings, Sums};

use crate::level::Vif;
use crate::vector::{Buffer, Simd, Work};
use image::{Image, STRIP, Sample, interleave};
use information::Queue;
use lines::Lines;
use vertical::{PLANES, Pairs, Place, Shifts};
use window::{Taps, Window, Window0, Window1, Window2, Window3};

/// Rows of a band, a multiple of [`vertical::STEP`].
const ROWS: usize = 16;

/// Pairs of rows under the windows of a band: it, and the largest radius on both sides.
const BAND_PAIRS: usize = (ROWS + 2 * Window0::RADIUS) / 2;

/// vif with the vectors of `S`, and its buffers.
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

impl<S: Simd> Vif for Vector<S> {
    fn sums(&mut self, pair: [&PlaneView<'_>; 2], depth: u32, settings: &Settings) -> Sums {
        self.scratch.sums(self.simd, pair, depth, settings)
    }
}

/// Buffers for frames of one format.
#[derive(Debug)]
struct Scratch {
    band: Band,
    /// Reference and distorted image of scales 1 to 3.
    halved: [[Buffer<u16>; 2]; 3],
}

/// Buffers for one band.
#[derive(Debug)]
struct Band {
    pairs: Box<[Pairs; 2]>,
    filtered: Lines<PLANES>,
    halved: Lines<2>,
    queue: Queue,
}

/// Elements from row to row of an image made by halving, so that whole groups can be stored.
fn stride(width: usize) -> usize {
    width.next_multiple_of(32) + 32
}

impl Scratch {
    fn new(format: &FrameFormat) -> Self {
        let (width, height) = (format.width() as usize, format.height() as usize);
        Scratch {
            band: Band {
                pairs: Box::new([[[0; STRIP]; BAND_PAIRS]; 2]),
                filtered: Lines::new(width, ROWS),
                halved: Lines::new(width, ROWS / 2),
                queue: Queue::new(),
            },
            halved: [1, 2, 3].map(|scale| {
                [(); 2].map(|()| Buffer::new(stride(width >> scale) * (height >> scale)))
            }),
        }
    }

    /// Scores the luma planes of one frame pair, as `vmafx_metrics::vif::reference` does.
    ///
    /// # Panics
    /// If the planes differ in size or sample type, or the buffers were made for another size.
    fn sums<S: Simd>(
        &mut self,
        simd: S,
        [x, y]: [&PlaneView<'_>; 2],
        depth: u32,
        settings: &Settings,
    ) -> Sums {
        assert_eq!(x.size(), y.size(), "planes of a pair have one size");
        let size = x.size();
        match (x.samples(), y.samples()) {
            (Samples::U8(a), Samples::U8(b)) => simd.run(Frame {
                images: [(a, x.stride()), (b, y.stride())].map(|(samples, stride)| Image {
                    samples,
                    width: size.width,
                    height: size.height,
                    stride,
                }),
                depth,
                settings,
                scratch: self,
            }),
            (Samples::U16(a), Samples::U16(b)) => simd.run(Frame {
                images: [(a, x.stride()), (b, y.stride())].map(|(samples, stride)| Image {
                    samples,
                    width: size.width,
                    height: size.height,
                    stride,
                }),
                depth,
                settings,
                scratch: self,
            }),
            _ => panic!("planes of a pair have one sample type"),
        }
    }
}

/// One frame to be scored.
struct Frame<'a, T> {
    images: [Image<'a, T>; 2],
    depth: u32,
    settings: &'a Settings,
    scratch: &'a mut Scratch,
}

impl<T: Sample + Default> Work for Frame<'_, T> {
    type Output = Sums;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Sums {
        let Scratch { band, halved } = self.scratch;
        let [one, two, three] = halved;
        let settings = self.settings;
        let first = Shifts {
            mean: self.depth,
            product: 2 * (self.depth - 8),
        };
        let later = Shifts {
            mean: 16,
            product: 16,
        };
        let mut sums = Sums::default();
        let gain_limit = settings.gain_limit;
        let (width, height) = (self.images[0].width, self.images[0].height);
        let counted = !settings.skip_scale0;
        let size = |scale: usize| (width >> scale, height >> scale);
        let image = |samples, (width, height)| Image {
            samples,
            width,
            height,
            stride: stride(width),
        };
        band.queue.start(gain_limit);
        band.scale::<S, Window0, Window1, T>(simd, self.images, first, counted, Some(one));
        if counted {
            sums.scales[0] = band.queue.finish(simd, area(size(0)));
        }
        let images = one.each_ref().map(|samples| image(&**samples, size(1)));
        band.queue.start(gain_limit);
        band.scale::<S, Window1, Window2, u16>(simd, images, later, true, Some(two));
        sums.scales[1] = band.queue.finish(simd, area(size(1)));
        let images = two.each_ref().map(|samples| image(&**samples, size(2)));
        band.queue.start(gain_limit);
        band.scale::<S, Window2, Window3, u16>(simd, images, later, true, Some(three));
        sums.scales[2] = band.queue.finish(simd, area(size(2)));
        let images = three.each_ref().map(|samples| image(&**samples, size(3)));
        band.queue.start(gain_limit);
        band.scale::<S, Window3, Window3, u16>(simd, images, later, true, None);
        sums.scales[3] = band.queue.finish(simd, area(size(3)));
        sums
    }
}

fn area((width, height): (usize, usize)) -> u64 {
    (width * height) as u64
}

impl Band {
    /// Works through one scale: queues its pixels if `counted`, makes the next scale's images
    /// with the window `N` if there is a place for them.
    #[inline(always)]
    fn scale<S: Simd, W: Window, N: Window, T: Sample + Default>(
        &mut self,
        simd: S,
        images: [Image<'_, T>; 2],
        shifts: Shifts,
        counted: bool,
        mut next: Option<&mut [Buffer<u16>; 2]>,
    ) {
        let (width, height) = (images[0].width, images[0].height);
        self.filtered.narrow(width);
        self.halved.narrow(width);
        for top in (0..height).step_by(ROWS) {
            let rows = ROWS.min(height - top);
            for from in (0..width).step_by(STRIP) {
                let place = Place {
                    from,
                    columns: STRIP.min(width - from),
                    rows,
                };
                let above = top as isize - W::RADIUS as isize;
                let used = (rows.next_multiple_of(vertical::STEP) + 2 * W::RADIUS) / 2;
                for (image, pairs) in images.iter().zip(&mut *self.pairs) {
                    for (pair, out) in pairs[..used].iter_mut().enumerate() {
                        interleave(simd, image, above + 2 * pair as isize, from, out);
                    }
                }
                if counted {
                    let out = &mut self.filtered;
                    vertical::filter_strip::<S, W, T>(simd, &self.pairs, place, shifts, out);
                }
                if next.is_some() {
                    let (radius, out) = (W::RADIUS, &mut self.halved);
                    vertical::halve_strip::<S, N, T>(
                        simd,
                        &self.pairs,
                        place,
                        radius,
                        shifts.mean,
                        out,
                    );
                }
            }
            if counted {
                for row in 0..rows {
                    self.filtered.reflect::<W>(row);
                    let (lines, queue) = (&mut self.filtered, &mut self.queue);
                    horizontal::filter_row::<S, W>(simd, lines, row, width, queue);
                }
            }
            if let Some(next) = &mut next {
                // An odd last row is filtered but has no place.
                let out_rows = (rows / 2).min(height / 2 - top / 2);
                let taps = Taps::<S>::new::<N>(simd);
                let stride = stride(width / 2);
                for row in 0..out_rows {
                    self.halved.reflect::<N>(row);
                    for (image, out) in next.iter_mut().enumerate() {
                        let rows = self.halved.rows(row, 1);
                        let out = &mut out[(top / 2 + row) * stride..][..stride];
                        // SAFETY: one row was asked for, of two images; `out` has `stride(width / 2)`
                        // elements, more than half of `width` rounded up to a group.
                        unsafe {
                            let (from, to) = (rows.at(0, image), out.as_mut_ptr());
                            horizontal::halve_row::<S, N>(simd, &taps, from, width, to);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
