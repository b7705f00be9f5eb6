//! Pictures for the checks of the kernels.

use super::{Case, PlaneView, Samples, Size};

/// What a pair of pictures shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Samples of all values, two unlike pictures.
    Noise,
    /// Only the smallest and the largest sample, at random.
    Binary,
    /// Ramps with weak noise, and the same with less contrast and other noise.
    Photo,
    /// The same ramps at full contrast, the other picture a little darker.
    Contrast,
    /// One picture black, the other white.
    Flat,
    /// The same picture twice.
    Same,
    /// Vertical stripes, a sample wide.
    Stripes,
    /// Horizontal stripes of one and two rows.
    Rows,
    /// A checkerboard and its negative.
    Checker,
    /// White samples in black, far apart.
    Impulses,
    /// Noise beyond the largest sample that the depth allows, where the type does.
    BeyondDepth,
}

pub(crate) const CONTENTS: [Content; 11] = [
    Content::Noise,
    Content::Binary,
    Content::Photo,
    Content::Contrast,
    Content::Flat,
    Content::Same,
    Content::Stripes,
    Content::Rows,
    Content::Checker,
    Content::Impulses,
    Content::BeyondDepth,
];

fn hash(x: usize, y: usize, seed: u32) -> u32 {
    let mut v = (x as u32)
        .wrapping_mul(0x9E37_79B1)
        .wrapping_add((y as u32).wrapping_mul(0x85EB_CA77))
        .wrapping_add(seed.wrapping_mul(0xC2B2_AE3D));
    v ^= v >> 15;
    v = v.wrapping_mul(0x2C1B_3C6D);
    v ^= v >> 12;
    v = v.wrapping_mul(0x297A_2D39);
    v ^ v >> 15
}

fn sample(case: &Case, second: bool, x: usize, y: usize) -> u16 {
    let peak = (1_u32 << case.depth) - 1;
    let seed = case.seed.wrapping_mul(2);
    let noise = hash(x, y, seed + u32::from(second));
    let on = |lit: bool| if lit { peak } else { 0 };
    let ramp = (x * 3 + y * 5) as u32 % 97 * 2;
    let fine = hash(x, y, seed + 7) & ((1 << (case.depth - 8)) - 1);
    let eight_bits = |v: u32| (v << (case.depth - 8) | fine).min(peak);
    let value = match case.content {
        Content::Noise => noise >> (32 - case.depth),
        Content::Binary => on(noise >> 31 == 1),
        Content::Photo if second => eight_bits((3 * ramp + 40) / 4 + (noise >> 28)),
        Content::Photo => eight_bits(ramp + (noise >> 27)),
        Content::Contrast => {
            let wave = hash(x / 5, y / 3, seed) >> 24;
            eight_bits(if second { wave * 9 / 10 } else { wave })
        }
        Content::Flat => on(second),
        Content::Same => hash(x, y, seed) >> (32 - case.depth),
        Content::Stripes => on((x + usize::from(second)).is_multiple_of(2)),
        Content::Rows => on((y / 2 * 3 + y + usize::from(second)).is_multiple_of(3)),
        Content::Checker => on((x + y) % 2 == usize::from(second)),
        Content::Impulses => {
            on(hash(x, y, seed + 3).is_multiple_of(61) && (!second || !noise.is_multiple_of(3)))
        }
        Content::BeyondDepth => noise >> 16,
    };
    value as u16
}

/// A plane in memory of its own.
#[derive(Debug)]
pub(crate) struct Picture {
    bytes: Vec<u8>,
    words: Vec<u16>,
    size: Size,
    stride: usize,
    start: usize,
}

impl Picture {
    pub(super) fn new(case: &Case, second: bool, padding: usize, guard: u16) -> Self {
        let stride = case.width + padding;
        // Whole rows of guards in front and behind, where there are guards at all.
        let start = if padding > 0 { stride + padding } else { 0 };
        let mut words = vec![guard; start + stride * (case.height - 1) + case.width + start];
        for y in 0..case.height {
            let row = &mut words[start + y * stride..][..case.width];
            for (x, out) in row.iter_mut().enumerate() {
                *out = sample(case, second, x, y);
            }
        }
        let mut bytes = Vec::new();
        if case.depth == 8 {
            bytes = words.drain(..).map(|word| word as u8).collect();
        }
        Picture {
            bytes,
            words,
            size: Size {
                width: case.width,
                height: case.height,
            },
            stride,
            start,
        }
    }

    pub(crate) fn view(&self) -> PlaneView<'_> {
        let samples = if self.words.is_empty() {
            Samples::U8(&self.bytes[self.start..])
        } else {
            Samples::U16(&self.words[self.start..])
        };
        PlaneView::new(samples, self.size, self.stride).unwrap()
    }
}
