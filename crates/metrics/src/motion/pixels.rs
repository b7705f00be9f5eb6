//! The pixel part of motion: the sum of absolute differences between two blurred luma planes.
//!
//! Blur is linear, so the difference is taken first and blurred once. What must stay true: the
//! vertical pass rounds to the 8-bit range with 8 fractional bits before the horizontal pass
//! begins, signed, halves towards plus infinity.

use vmafx_api::{FrameFormat, PlaneView};

use crate::mirror::{Pair, Plane, Sample, extend};

/// Taps of the Gaussian window in Q16.
pub const TAPS: [i32; 5] = [3571, 16004, 26386, 16004, 3571];

const RADIUS: usize = TAPS.len() / 2;

/// What the pixels of one frame add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Sum of absolute blurred differences, with 8 fractional bits over the 8-bit range.
    pub sad: u64,
}

/// Buffers for frames of one format.
#[derive(Debug)]
pub struct Scratch {
    /// Differences after the vertical pass, before rounding.
    line: Vec<i64>,
    /// The same, rounded, with margins.
    extended: Vec<i32>,
}

impl Scratch {
    /// Buffers for frames of `format`.
    pub fn new(format: &FrameFormat) -> Self {
        let width = format.width() as usize;
        Scratch {
            line: vec![0; width],
            extended: vec![0; width + 2 * RADIUS],
        }
    }
}

/// Compares the luma planes of two frames of the reference clip, of `depth` bits and at least
/// 3x3 samples large.
///
/// # Panics
/// If the planes differ in size or sample type, or `scratch` was made for another width.
pub fn reference(
    previous: &PlaneView<'_>,
    current: &PlaneView<'_>,
    depth: u32,
    scratch: &mut Scratch,
) -> Sums {
    match Pair::new(previous, current) {
        Pair::U8(p, c) => blurred_sad(p, c, depth, scratch),
        Pair::U16(p, c) => blurred_sad(p, c, depth, scratch),
    }
}

fn blurred_sad<T: Sample>(
    previous: Plane<'_, T>,
    current: Plane<'_, T>,
    depth: u32,
    scratch: &mut Scratch,
) -> Sums {
    let width = previous.width();
    let line = &mut scratch.line[..width];
    let extended = &mut scratch.extended[..width + 2 * RADIUS];
    let mut sad = 0;
    for center in 0..previous.height() {
        line.fill(0);
        for (row, tap) in (center as isize - RADIUS as isize..).zip(TAPS) {
            let samples = previous.row(row).iter().zip(current.row(row));
            for (sum, (&p, &c)) in line.iter_mut().zip(samples) {
                let (p, c): (u32, u32) = (p.into(), c.into());
                *sum += i64::from(tap) * i64::from(p as i32 - c as i32);
            }
        }
        for (out, &sum) in extended[RADIUS..].iter_mut().zip(&*line) {
            *out = ((sum + (1 << (depth - 1))) >> depth) as i32;
        }
        extend(extended, RADIUS);
        for window in extended.windows(TAPS.len()) {
            let taps = TAPS.iter().zip(window);
            let sum: i64 = taps.map(|(&tap, &d)| i64::from(tap) * i64::from(d)).sum();
            sad += ((sum + (1 << 15)) >> 16).unsigned_abs();
        }
    }
    Sums { sad }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use vmafx_api::HostFrame;

    use super::*;
    use crate::mirror::mirror;
    use crate::mirror::tests::{luma, samples};

    fn sad(previous: &HostFrame, current: &HostFrame) -> u64 {
        let mut scratch = Scratch::new(previous.format());
        let depth = previous.format().depth();
        reference(
            previous.view().luma(),
            current.view().luma(),
            depth,
            &mut scratch,
        )
        .sad
    }

    #[test]
    fn constant_difference() {
        // The taps add up to 65536, so every pixel differs by 3 << 8 at 8 bits and, at the same
        // share of the range, at any depth.
        for depth in 8..=16 {
            let step = |n: u16| move |_| n << (depth - 8);
            let frames = [luma(7, 5, depth, step(10)), luma(7, 5, depth, step(13))];
            assert_eq!(sad(&frames[0], &frames[1]), 35 * (3 << 8), "{depth} bits");
            assert_eq!(sad(&frames[1], &frames[0]), 35 * (3 << 8), "{depth} bits");
        }
    }

    #[test]
    fn one_lit_sample() {
        // By hand. Of 100 in the middle of 3x3 the middle row gets (26386 + 2 * 3571) / 65536,
        // as rows -1 and 3 are the middle row again, and the other two 2 * 16004 / 65536; then
        // the columns likewise.
        let black = luma(3, 3, 8, |_| 0);
        let lit = luma(3, 3, 8, |i| if i == 4 { 100 } else { 0 });
        let row = |v: i64| {
            let [middle, side] = [33528, 32008].map(|w| ((w * v + 32768) >> 16).unsigned_abs());
            middle + 2 * side
        };
        // 33528 * 100 / 256 = 13096.9 and 32008 * 100 / 256 = 12503.1.
        assert_eq!(sad(&lit, &black), row(13097) + 2 * row(12503));
        assert_eq!(sad(&black, &lit), row(-13097) + 2 * row(-12503));
        // Of 16: 2095.5 and 2000.5. Halves round up, not away from zero, so order matters.
        let lit = luma(3, 3, 8, |i| if i == 4 { 16 } else { 0 });
        assert_eq!(sad(&lit, &black), row(2096) + 2 * row(2001));
        assert_eq!(sad(&black, &lit), row(-2095) + 2 * row(-2000));
    }

    /// The same from a two-dimensional view: each pixel sums its 25 neighbours, column by
    /// column.
    fn direct(previous: &HostFrame, current: &HostFrame) -> u64 {
        let format = previous.format();
        let (width, height) = (format.width() as usize, format.height() as usize);
        let (previous, current) = (samples(previous), samples(current));
        let rounded = |v: i128, bits: u32| (v * 2 + (1 << bits)).div_euclid(2 << bits);
        let mut sum = 0;
        for i in 0..width * height {
            let (x, y) = ((i % width) as isize, (i / width) as isize);
            let mut across = 0;
            for (column, weight) in (x - 2..).zip(TAPS) {
                let mut down = 0;
                for (row, tap) in (y - 2..).zip(TAPS) {
                    let i = mirror(row, height) * width + mirror(column, width);
                    down += i128::from(tap) * (previous[i] - current[i]);
                }
                across += i128::from(weight) * rounded(down, format.depth());
            }
            sum += rounded(across, 16).unsigned_abs();
        }
        u64::try_from(sum).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn equals_direct_sum(
            width in 3u32..41,
            height in 3u32..41,
            depth in 8u32..=16,
            noise in proptest::collection::vec(any::<u16>(), 2 * 40 * 40),
            mask in prop_oneof![Just(0xffff), Just(0x8000), Just(0x0003), any::<u16>()],
        ) {
            let peak = ((1u32 << depth) - 1) as u16;
            let (first, second) = noise.split_at(40 * 40);
            let previous = luma(width, height, depth, |i| (first[i] & mask) >> (16 - depth) & peak);
            let current = luma(width, height, depth, |i| (second[i] | !mask) >> (16 - depth));
            prop_assert_eq!(sad(&previous, &current), direct(&previous, &current));
        }
    }

    #[test]
    fn samples_beyond_the_depth_do_not_overflow() {
        let frames = [luma(40, 3, 9, |_| 0), luma(40, 3, 9, |_| u16::MAX)];
        assert_eq!(sad(&frames[0], &frames[1]), 120 * 65535 * 128);
        let frames = [luma(40, 3, 16, |_| 0), luma(40, 3, 16, |_| u16::MAX)];
        assert_eq!(sad(&frames[0], &frames[1]), 120 * 65535);
    }
}
