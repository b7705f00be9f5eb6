//! The kernels, run by the simulated device, against the scalar reference of the metric.

use vmafx_api::{Chroma, PlaneView, Samples, Size};
use vmafx_metrics::Metric;
use vmafx_metrics::vif::Scratch;

use super::*;
use crate::twin::simulated::{Guarded, run};

#[test]
fn chords_are_the_logarithms() {
    for (i, &entry) in log2_table().iter().enumerate() {
        let chord = CHORDS[i / CHORD];
        let rise = ((chord & 0xfff) * (i % CHORD) as u32) << 5;
        let value = (chord + rise) >> 20;
        assert_eq!(value + (15 << 11), u32::from(entry), "entry {i}");
    }
}

/// Numbers that look random, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }
}

/// How a pair of pictures looks.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Independent noise over the whole range.
    Noise,
    /// Black and white noise, mostly kept: variances as large as they get.
    Extremes,
    /// A slope, less steep and noisy in the second: like a picture.
    Slope,
    /// Half black, half white, across and down.
    Edges,
    /// White against almost white, negative rounded variances.
    Flat,
    /// The first again, with more contrast: gains above 1.
    Enhanced,
}

const KINDS: [Kind; 6] = [
    Kind::Noise,
    Kind::Extremes,
    Kind::Slope,
    Kind::Edges,
    Kind::Flat,
    Kind::Enhanced,
];

#[derive(Clone, Copy, Debug)]
struct Case {
    width: u32,
    height: u32,
    depth: u32,
    kind: Kind,
    options: &'static [(&'static str, &'static str)],
    seed: u64,
}

const OPTIONS: [&[(&str, &str)]; 4] = [
    &[],
    &[("vif_enhn_gain_limit", "1")],
    &[("vif_enhn_gain_limit", "1.25"), ("vif_skip_scale0", "true")],
    &[("vif_skip_scale0", "true")],
];

impl Case {
    /// A case of this size, all else drawn.
    fn drawn(width: u32, height: u32, seed: u64) -> Self {
        let mut noise = Noise(seed);
        noise.next();
        Case {
            width,
            height,
            depth: [8, 8, 10, 12, 16, 9, 13][noise.below(7) as usize],
            kind: KINDS[noise.below(6) as usize],
            options: OPTIONS[noise.below(4) as usize],
            seed: u64::from(noise.next()),
        }
    }

    fn format(&self) -> FrameFormat {
        FrameFormat::new(self.width, self.height, Chroma::Yuv400, self.depth).unwrap()
    }

    fn pictures(&self) -> [Vec<u16>; 2] {
        let peak = (1 << self.depth) - 1;
        let mut noise = Noise(self.seed);
        let (w, h) = (self.width, self.height);
        let places = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
        let pair = places.map(|(x, y)| {
            let (a, b) = (noise.below(peak + 1), noise.below(peak + 1));
            match self.kind {
                Kind::Noise => [a, b],
                Kind::Extremes => {
                    let first = peak * (a & 1);
                    [
                        first,
                        if b.is_multiple_of(8) {
                            peak - first
                        } else {
                            first
                        },
                    ]
                }
                Kind::Slope => {
                    let first = ((x + 2 * y) * (peak / 64)) & peak;
                    [first, (first * 3 + b / 8) / 4]
                }
                Kind::Edges => [peak * u32::from(2 * x > w), peak * u32::from(2 * y > h)],
                Kind::Flat => [peak, peak - (b & 1)],
                Kind::Enhanced => {
                    let first = peak / 2 + a / 16;
                    [first, peak / 4 + a / 8]
                }
            }
        });
        let pair: Vec<[u32; 2]> = pair.collect();
        [0, 1].map(|side| pair.iter().map(|both| both[side] as u16).collect())
    }

    fn twin(&self) -> Vif {
        let mut options = Options::defaults(vif::Vif.definition());
        for (name, text) in self.options {
            options.set_text(name, text).unwrap();
        }
        Vif::new(&options, &self.format())
    }

    /// The sums of the kernels, and how many threads met a sample beyond the depth. Pitches and
    /// addresses are odd, in samples, and either end of a plane borders on a guard.
    fn by_kernels(&self, pictures: &[Vec<u16>; 2]) -> (vif::Sums, u64) {
        let mut noise = Noise(!self.seed);
        let size = if self.depth == 8 { 1 } else { 2 };
        let planes = pictures.each_ref().map(|picture| {
            let bytes: Vec<u8> = match size {
                1 => picture.iter().map(|&s| s as u8).collect(),
                _ => picture.iter().flat_map(|s| s.to_ne_bytes()).collect(),
            };
            let row = self.width as usize * size;
            let [padding, odd] = [noise.below(9), noise.below(4)].map(|n| n as usize * size);
            let at_end = noise.below(2) == 0;
            Guarded::new(bytes.chunks_exact(row), row + padding, at_end, odd)
        });
        let mut twin = self.twin();
        let words = run(&mut twin, self.depth, planes.each_ref().map(Guarded::plane));
        (twin.sums(&words), words[args::FAULT_WORD])
    }

    fn by_reference(&self, pictures: &[Vec<u16>; 2]) -> vif::Sums {
        let size = Size {
            width: self.width as usize,
            height: self.height as usize,
        };
        let bytes = pictures.each_ref().map(|picture| {
            let bytes = picture.iter().map(|&s| s as u8);
            bytes.collect::<Vec<_>>()
        });
        let [x, y] = [0, 1].map(|side| {
            let samples = match self.depth {
                8 => Samples::U8(&bytes[side]),
                _ => Samples::U16(&pictures[side]),
            };
            PlaneView::new(samples, size, size.width).unwrap()
        });
        let mut scratch = Scratch::new(&self.format());
        vif::reference(&x, &y, self.depth, &self.twin().settings, &mut scratch)
    }

    fn check(&self) {
        let pictures = self.pictures();
        let expected = self.by_reference(&pictures);
        assert_eq!(self.by_kernels(&pictures), (expected, 0), "{self:?}");
    }
}

/// Every width with three heights and every height with three widths with `VMAFX_FULL_GRID=1`,
/// else some of them.
#[test]
fn sums_are_those_of_the_reference() {
    let full = std::env::var("VMAFX_FULL_GRID").is_ok_and(|text| text == "1");
    let mut noise = Noise(5);
    for side in 16..=200 {
        for other in [16, 17 + noise.below(100), 118 + noise.below(83)] {
            for (width, height) in [(side, other), (other, side)] {
                let drawn = noise.next();
                let cases = match (full, drawn.is_multiple_of(16)) {
                    (true, _) => 4,
                    (false, drawn) => u64::from(drawn),
                };
                for case in 0..cases {
                    Case::drawn(width, height, u64::from(drawn) << 2 | case).check();
                }
            }
        }
    }
}

#[test]
fn every_kind_at_every_depth() {
    for depth in 8..=16 {
        for (number, kind) in KINDS.into_iter().enumerate() {
            // More than one tile at scale 1, and edges of tiles that do not fall on pictures'.
            let (width, height) = if number % 3 == 0 { (243, 37) } else { (35, 67) };
            let case = Case {
                width,
                height,
                depth,
                kind,
                options: OPTIONS[(depth as usize + number) % 2],
                seed: u64::from(depth),
            };
            case.check();
        }
    }
}

#[test]
fn samples_beyond_the_depth_are_told() {
    for depth in [9, 10, 12, 15] {
        let case = Case {
            depth,
            kind: Kind::Noise,
            ..Case::drawn(131, 45, 3)
        };
        // Corners, and the edge between two tiles.
        for (x, y) in [(0, 0), (130, 44), (111, 15), (112, 16), (130, 0)] {
            let mut pictures = case.pictures();
            let sample = &mut pictures[(x as usize + y) % 2][y * 131 + x as usize];
            *sample |= 1 << depth;
            assert_ne!(case.by_kernels(&pictures).1, 0, "{x}, {y}, {depth} bits");
        }
        let all = vec![u16::MAX; 131 * 45];
        assert_ne!(case.by_kernels(&[all.clone(), all]).1, 0);
    }
}
