//! The pixel part of vif: local means and products of two images in four scales.
//!
//! A window is a separable Gaussian whose taps add up to 65536, applied down the columns and
//! then along the rows, borders reflected. What must stay true: each pass rounds as written,
//! whatever the order of its taps, and variances come out in Q16 of the 8-bit sample range at
//! every depth.

use std::array::from_fn;

use vmafx_api::{FrameFormat, PlaneView};

use super::Settings;
use super::information::{ScaleSums, log2_table};
use crate::mirror::{Pair, Plane, Sample, extend};

/// Taps of the windows in Q16, scale 0 first: Gaussians of 17, 9, 5 and 3 samples with a
/// standard deviation of a fifth of that. The window of scale `k > 0` also is the low-pass
/// filter in front of the halving that makes that scale.
pub const TAPS: [&[u32]; 4] = [
    &[
        489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640,
        935, 489,
    ],
    &[1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244],
    &[3571, 16004, 26386, 16004, 3571],
    &[10904, 43728, 10904],
];

/// Sums of one frame, scale 0 first; scale 0 is zero where it is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// One element a scale.
    pub scales: [ScaleSums; 4],
}

/// Buffers for frames of one format.
#[derive(Debug)]
pub struct Scratch {
    /// Reference and distorted image of scales 1 to 3.
    halved: [[Vec<u16>; 2]; 3],
    lines: Lines,
}

/// Buffers for one row.
#[derive(Debug)]
struct Lines {
    /// Filtered samples of both images.
    means: [Vec<u64>; 2],
    /// Filtered squares of both images, and filtered products of the two.
    products: [Vec<u64>; 3],
    /// A row after the vertical pass, with margins.
    extended: Vec<u32>,
}

impl Scratch {
    /// Buffers for frames of `format`.
    pub fn new(format: &FrameFormat) -> Self {
        let (width, height) = (format.width() as usize, format.height() as usize);
        Scratch {
            halved: [1, 2, 3].map(|scale| {
                let area = (width >> scale) * (height >> scale);
                [vec![0; area], vec![0; area]]
            }),
            lines: Lines {
                means: from_fn(|_| vec![0; width]),
                products: from_fn(|_| vec![0; width]),
                extended: vec![0; width + TAPS[0].len() - 1],
            },
        }
    }
}

/// Scores the luma planes of one frame pair of `depth` bits, at least 16x16 samples large.
///
/// # Panics
/// If the planes differ in size or sample type, or `scratch` was made for another size.
pub fn reference(
    reference: &PlaneView<'_>,
    distorted: &PlaneView<'_>,
    depth: u32,
    settings: &Settings,
    scratch: &mut Scratch,
) -> Sums {
    match Pair::new(reference, distorted) {
        Pair::U8(x, y) => all_scales([x, y], depth, settings, scratch),
        Pair::U16(x, y) => all_scales([x, y], depth, settings, scratch),
    }
}

fn all_scales<T: Sample>(
    images: [Plane<'_, T>; 2],
    depth: u32,
    settings: &Settings,
    scratch: &mut Scratch,
) -> Sums {
    let Scratch { halved, lines } = scratch;
    let (width, height) = (images[0].width(), images[0].height());
    let mut sums = Sums::default();
    if !settings.skip_scale0 {
        sums.scales[0] = statistics(images, 0, depth, settings.gain_limit, lines);
    }
    for (image, out) in images.into_iter().zip(&mut halved[0]) {
        halve(image, 0, depth, lines, out);
    }
    for scale in 1..4 {
        let (made, next) = halved.split_at_mut(scale);
        let images = made[scale - 1].each_ref();
        let images = images.map(|s| Plane::packed(s, width >> scale, height >> scale));
        sums.scales[scale] = statistics(images, scale, depth, settings.gain_limit, lines);
        if let Some(next) = next.first_mut() {
            for (image, out) in images.into_iter().zip(next) {
                halve(image, scale, depth, lines, out);
            }
        }
    }
    sums
}

/// Filters both images and their products with the window of `scale`; sums what each pixel
/// carries.
fn statistics<T: Sample>(
    [x, y]: [Plane<'_, T>; 2],
    scale: usize,
    depth: u32,
    gain_limit: f64,
    lines: &mut Lines,
) -> ScaleSums {
    let (taps, width) = (TAPS[scale], x.width());
    let product_shift = if scale == 0 { 2 * (depth - 8) } else { 16 };
    let table = log2_table();
    let extended = &mut lines.extended[..width + taps.len() - 1];
    let [m1, m2] = lines.means.each_mut().map(|line| &mut line[..width]);
    let [xx, yy, xy] = lines.products.each_mut().map(|line| &mut line[..width]);
    let mut sums = ScaleSums::default();
    for center in 0..x.height() {
        for (line, image) in [(&mut *m1, x), (&mut *m2, y)] {
            filter_samples(line, image, center, taps);
            round_down(line, mean_shift(scale, depth), u16::MAX.into(), extended);
            filter_row(line, extended, taps);
        }
        for (line, a, b) in [(&mut *xx, x, x), (&mut *yy, y, y), (&mut *xy, x, y)] {
            filter_products(line, a, b, center, taps);
            round_down(line, product_shift, u32::MAX, extended);
            filter_row(line, extended, taps);
        }
        for j in 0..width {
            sums.add([m1[j], m2[j]], [xx[j], yy[j], xy[j]], gain_limit, table);
        }
    }
    sums
}

/// Makes the image of scale `scale + 1`: filters with that scale's window and keeps every
/// second sample of every second row.
fn halve<T: Sample>(
    image: Plane<'_, T>,
    scale: usize,
    depth: u32,
    lines: &mut Lines,
    out: &mut [u16],
) {
    let (taps, width) = (TAPS[scale + 1], image.width());
    let extended = &mut lines.extended[..width + taps.len() - 1];
    let line = &mut lines.means[0][..width];
    for (row, out) in out.chunks_exact_mut(width / 2).enumerate() {
        filter_samples(line, image, 2 * row, taps);
        round_down(line, mean_shift(scale, depth), u16::MAX.into(), extended);
        for (j, out) in out.iter_mut().enumerate() {
            let window = extended[2 * j..].iter().zip(taps);
            let sum: u32 = window.map(|(&s, &tap)| tap * s).sum();
            *out = ((sum + (1 << 15)) >> 16) as u16;
        }
    }
}

/// Right shift of vertically filtered samples: it leaves 8 fractional bits over the 8-bit range
/// at scale 0, which later scales keep.
fn mean_shift(scale: usize, depth: u32) -> u32 {
    if scale == 0 { depth } else { 16 }
}

/// The rows under a vertical window around `center`, each with its tap.
fn window(center: usize, taps: &'static [u32]) -> impl Iterator<Item = (isize, u64)> {
    let first = center as isize - (taps.len() / 2) as isize;
    (first..).zip(taps.iter().map(|&tap| u64::from(tap)))
}

/// Filters `image` vertically around row `center`.
fn filter_samples<T: Sample>(
    line: &mut [u64],
    image: Plane<'_, T>,
    center: usize,
    taps: &'static [u32],
) {
    line.fill(0);
    for (row, tap) in window(center, taps) {
        for (sum, &s) in line.iter_mut().zip(image.row(row)) {
            let s: u32 = s.into();
            *sum += tap * u64::from(s);
        }
    }
}

/// Filters the product of two images vertically around row `center`.
fn filter_products<T: Sample>(
    line: &mut [u64],
    a: Plane<'_, T>,
    b: Plane<'_, T>,
    center: usize,
    taps: &'static [u32],
) {
    line.fill(0);
    for (row, tap) in window(center, taps) {
        for ((sum, &s), &t) in line.iter_mut().zip(a.row(row)).zip(b.row(row)) {
            let (s, t): (u32, u32) = (s.into(), t.into());
            *sum += tap * u64::from(s * t);
        }
    }
}

/// Divides a vertically filtered row by `2^shift`, halves up, and writes it with margins.
///
/// `mask` is wide enough for every sample of the depth; it only cuts what samples beyond the
/// depth make.
fn round_down(line: &[u64], shift: u32, mask: u32, extended: &mut [u32]) {
    let radius = (extended.len() - line.len()) / 2;
    let half = (1 << shift) >> 1;
    for (out, &sum) in extended[radius..].iter_mut().zip(line) {
        *out = ((sum + half) >> shift) as u32 & mask;
    }
    extend(extended, radius);
}

/// Filters a row with margins horizontally.
fn filter_row(line: &mut [u64], extended: &[u32], taps: &[u32]) {
    for (sum, window) in line.iter_mut().zip(extended.windows(taps.len())) {
        let taps = window.iter().zip(taps);
        *sum = taps.map(|(&s, &tap)| u64::from(s) * u64::from(tap)).sum();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vmafx_api::HostFrame;

    use super::*;
    use crate::mirror::mirror;
    use crate::mirror::tests::{luma, samples};

    const PLAIN: Settings = Settings {
        debug: false,
        gain_limit: 100.0,
        skip_scale0: false,
    };

    fn sums(x: &HostFrame, y: &HostFrame, settings: &Settings) -> Sums {
        let mut scratch = Scratch::new(x.format());
        let depth = x.format().depth();
        let (x, y) = (x.view(), y.view());
        let first = reference(x.luma(), y.luma(), depth, settings, &mut scratch);
        let again = reference(x.luma(), y.luma(), depth, settings, &mut scratch);
        assert_eq!(first, again, "nothing is left in the buffers");
        first
    }

    #[test]
    fn windows_keep_the_mean() {
        for taps in TAPS {
            assert_eq!(taps.iter().sum::<u32>(), 1 << 16);
            assert!(taps.iter().eq(taps.iter().rev()));
        }
    }

    #[test]
    fn flat_images() {
        for depth in 8..=16 {
            let shade = |v: u16| luma(33, 19, depth, move |_| v << (depth - 8));
            let sums = sums(&shade(200), &shade(90), &PLAIN);
            for (scale, area) in [33 * 19, 16 * 9, 8 * 4, 4 * 2].into_iter().enumerate() {
                let expected = ScaleSums {
                    flat_pixels: area,
                    ..ScaleSums::default()
                };
                assert_eq!(sums.scales[scale], expected, "scale {scale}, {depth} bits");
            }
        }
    }

    /// An image for the formulation below.
    struct Image {
        width: usize,
        height: usize,
        samples: Vec<i128>,
    }

    impl Image {
        /// The weighted sum around a pixel, of `value(index)`, columns first, rounded twice.
        fn around(
            &self,
            (x, y): (usize, usize),
            taps: &[u32],
            shifts: [u32; 2],
            value: impl Fn(usize) -> i128,
        ) -> i128 {
            let rounded = |v: i128, shift: u32| (v + (1 << shift) / 2) >> shift;
            let radius = (taps.len() / 2) as isize;
            let mut across = 0;
            for (column, &weight) in (x as isize - radius..).zip(taps) {
                let mut down = 0;
                for (row, &tap) in (y as isize - radius..).zip(taps) {
                    let at = mirror(row, self.height) * self.width + mirror(column, self.width);
                    down += i128::from(tap) * value(at);
                }
                across += i128::from(weight) * rounded(down, shifts[0]);
            }
            rounded(across, shifts[1])
        }

        fn halve(&self, taps: &[u32], shift: u32) -> Image {
            let (width, height) = (self.width / 2, self.height / 2);
            let places = (0..width * height).map(|i| (i % width * 2, i / width * 2));
            let samples = places
                .map(|place| self.around(place, taps, [shift, 16], |at| self.samples[at]))
                .collect();
            Image {
                width,
                height,
                samples,
            }
        }
    }

    /// The same from a two-dimensional view, with every logarithm computed.
    fn direct(x: &HostFrame, y: &HostFrame, gain_limit: f64) -> Sums {
        let depth = x.format().depth();
        let [mut x, mut y] = [x, y].map(|frame| Image {
            width: frame.format().width() as usize,
            height: frame.format().height() as usize,
            samples: samples(frame),
        });
        let log2 = |v: i128| {
            let exponent = 127 - v.leading_zeros() as i32;
            let leading = (v >> (exponent - 15)) as f64;
            let log = f64::from(leading.log2() as f32);
            (log * 2048.0).round() as i64 + 2048 * i64::from(exponent - 15)
        };
        let mut sums = Sums::default();
        for (scale, sums) in sums.scales.iter_mut().enumerate() {
            let taps = TAPS[scale];
            let shift = if scale == 0 { depth } else { 16 };
            let product_shift = if scale == 0 { 2 * depth - 16 } else { 16 };
            for place in (0..x.samples.len()).map(|i| (i % x.width, i / x.width)) {
                let mean =
                    |image: &Image| image.around(place, taps, [shift, 0], |at| image.samples[at]);
                let covariance = |a: &Image, b: &Image| {
                    let product = |at| a.samples[at] * b.samples[at];
                    let product = a.around(place, taps, [product_shift, 16], product);
                    product - ((mean(a) * mean(b) + (1 << 31)) >> 32)
                };
                let (s1, s2) = (covariance(&x, &x), covariance(&y, &y).max(0));
                let s12 = covariance(&x, &y);
                if s1 < 131072 {
                    sums.flat_pixels += 1;
                    sums.flat_variance += s2 as i64;
                    continue;
                }
                sums.reference_bits += log2(131072 + s1) - log2(131072);
                if s12 > 0 && s2 > 0 {
                    let gain = s12 as f64 / (s1 as f64 + 6.5536e-6);
                    let rest = 131072 + ((s2 as f64 - gain * s12 as f64) as i128).max(0);
                    let gain = gain.min(gain_limit);
                    let all = (gain * gain * s1 as f64) as i128 + rest;
                    sums.distorted_bits += log2(all) - log2(rest);
                }
            }
            if scale < 3 {
                [x, y] = [x, y].map(|image| image.halve(TAPS[scale + 1], shift));
            }
        }
        sums
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn equals_direct_sums(
            width in prop_oneof![Just(16u32), 16u32..41],
            height in prop_oneof![Just(16u32), 16u32..41],
            depth in 8u32..=16,
            noise in proptest::collection::vec(any::<u16>(), 40 * 40),
            mask in prop_oneof![Just(0xffff), Just(0x8000), Just(0x0300), any::<u16>()],
            gain in prop_oneof![Just(100.0), 1.0..2.0],
        ) {
            let x = luma(width, height, depth, |i| (noise[i] & mask) >> (16 - depth));
            let y = luma(width, height, depth, |i| {
                let (high, low) = (noise[i] / 2, noise[1599 - i] & !mask);
                (high | low) >> (16 - depth)
            });
            let limited = Settings { gain_limit: gain, ..PLAIN };
            let expected = direct(&x, &y, gain);
            prop_assert_eq!(sums(&x, &y, &limited), expected);
            let skipping = Settings { skip_scale0: true, ..limited };
            let skipped = sums(&x, &y, &skipping);
            prop_assert_eq!(skipped.scales[0], ScaleSums::default());
            prop_assert_eq!(&skipped.scales[1..], &expected.scales[1..]);
            // As large as variances get.
            let z = luma(width, height, depth, |i| (u16::MAX * (noise[i] & 1)) >> (16 - depth));
            prop_assert_eq!(sums(&z, &x, &limited), direct(&z, &x, gain));
        }
    }

    #[test]
    fn samples_beyond_the_depth_do_not_overflow() {
        for depth in 9..=16 {
            let noise = |i: usize| (i as u16).wrapping_mul(40503) | 0x4000;
            let (x, y) = (
                luma(37, 31, depth, noise),
                luma(37, 31, depth, |i| !noise(i)),
            );
            sums(&x, &y, &PLAIN);
            sums(&luma(37, 31, depth, |_| u16::MAX), &x, &PLAIN);
        }
    }
}
