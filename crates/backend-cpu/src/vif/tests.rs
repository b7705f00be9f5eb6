//! vif at every level against the scalar reference, in the manner of dav1d's checkasm: every
//! width and height, every depth, adversarial content, rows that are apart and not aligned, and
//! what is between the rows must not matter.

use std::sync::atomic::{AtomicUsize, Ordering};

use vmafx_api::{Chroma, FrameFormat, PlaneView, Samples, Size};
use vmafx_metrics::vif::{MIN_SIZE, Scratch, Settings, Sums, reference};

use crate::level::{self, Level};

/// Set to 1 for every case of the grid, otherwise a fixed part of it is run.
const FULL_GRID: &str = "VMAFX_FULL_GRID";

/// One case in so many is run without [`FULL_GRID`].
const PART: u64 = 61;

const DEPTHS: [u32; 6] = [8, 9, 10, 12, 14, 16];

/// Reproducible numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }
}

/// Contents of a pair of images.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// Unrelated noise over the full range.
    Noise,
    /// Noise, and the same with small errors.
    Distorted,
    /// Soft slopes and weak noise, about as strong as the visual noise of the metric.
    Weak,
    /// The smallest and the largest sample, and the same with some inverted.
    Extremes,
    /// Two shades.
    Flat,
    /// Stripes, and the same moved.
    Stripes,
    /// A checkerboard, and one of other contrast.
    Checker,
    /// One sample on a flat image, and a weaker one.
    Impulse,
    /// Samples beyond the depth: what is read must be what the reference reads.
    Beyond,
}

const CONTENTS: [Content; 9] = [
    Content::Noise,
    Content::Distorted,
    Content::Weak,
    Content::Extremes,
    Content::Flat,
    Content::Stripes,
    Content::Checker,
    Content::Impulse,
    Content::Beyond,
];

impl Content {
    /// Samples of the reference and of the distorted image.
    fn pair(self, width: usize, height: usize, depth: u32, noise: &mut Noise) -> [Vec<u16>; 2] {
        let mut pair = [Vec::new(), Vec::new()];
        let peak = (1u32 << depth) - 1;
        let [a, b] = [noise.below(peak + 1), noise.below(peak + 1)];
        let place = noise.below((width * height) as u32) as usize;
        let period = 1 + noise.below(9);
        for at in 0..width * height {
            let (x, y) = ((at % width) as u32, (at / width) as u32);
            let random = noise.next();
            let step = (peak >> 7).max(1);
            let [r, d] = match self {
                Content::Noise => [random & peak, (random >> 15) & peak],
                Content::Distorted => {
                    let r = random & peak;
                    [r, (r + (random >> 20) % (8 * step)).min(peak)]
                }
                Content::Weak => {
                    let slope = (x + 2 * y) * step / 4;
                    let r = slope + (random & 7) * step;
                    [r.min(peak), (slope + (random >> 5 & 7) * step).min(peak)]
                }
                Content::Extremes => {
                    let r = if random & 1 == 1 { peak } else { 0 };
                    [r, if random & 6 == 6 { peak - r } else { r }]
                }
                Content::Flat => [a, b],
                Content::Stripes => {
                    let along = |v: u32| if (v / period) & 1 == 1 { a } else { b };
                    let v = if b & 1 == 1 { x } else { y };
                    [along(v), along(v + 1)]
                }
                Content::Checker => {
                    let odd = (x ^ y) & 1 == 1;
                    if odd { [peak, a] } else { [0, b] }
                }
                Content::Impulse => {
                    if at == place {
                        [peak - a, (peak - a) / 2]
                    } else {
                        [a, a]
                    }
                }
                Content::Beyond => [random & 0xffff, (random >> 15) & 0xffff],
            };
            pair[0].push(r as u16);
            pair[1].push(d as u16);
        }
        pair
    }
}

/// Rows of samples with others around them.
struct Guarded<T> {
    samples: Vec<T>,
    start: usize,
    stride: usize,
    size: Size,
}

impl<T: Copy> Guarded<T> {
    /// `front` samples in front of the first row, and `stride` from row to row, of which the
    /// last ends where the memory does.
    fn new(image: &[T], size: Size, front: usize, stride: usize, guard: T) -> Self {
        let mut samples = vec![guard; front + stride * (size.height - 1) + size.width];
        for (y, row) in image.chunks_exact(size.width).enumerate() {
            samples[front + y * stride..][..size.width].copy_from_slice(row);
        }
        Guarded {
            samples,
            start: front,
            stride,
            size,
        }
    }

    fn view<'a>(&'a self, wrap: fn(&'a [T]) -> Samples<'a>) -> PlaneView<'a> {
        PlaneView::new(wrap(&self.samples[self.start..]), self.size, self.stride).unwrap()
    }
}

/// The sums of a pair at one level; rows lie apart, filled with `guard`.
fn sums_at(
    level: Level,
    images: &[Vec<u16>; 2],
    format: &FrameFormat,
    settings: &Settings,
    [front, gap, guard]: [usize; 3],
) -> Sums {
    let (width, height) = (format.width() as usize, format.height() as usize);
    let size = Size { width, height };
    let depth = format.depth();
    let mut vif = (level.kernels().unwrap().vif)(format);
    // Planes of a pair need not lie alike.
    let place = [[front, width + gap], [gap, width + front]];
    if depth == 8 {
        let narrow = images
            .each_ref()
            .map(|image| image.iter().map(|&s| s as u8).collect::<Vec<_>>());
        let [x, y] = [0, 1].map(|i| {
            let [front, stride] = place[i];
            Guarded::new(&narrow[i], size, front, stride, guard as u8)
        });
        vif.sums(
            [&x.view(Samples::U8), &y.view(Samples::U8)],
            depth,
            settings,
        )
    } else {
        let [x, y] = [0, 1].map(|i| {
            let [front, stride] = place[i];
            Guarded::new(&images[i], size, front, stride, guard as u16)
        });
        let pair = [&x.view(Samples::U16), &y.view(Samples::U16)];
        vif.sums(pair, depth, settings)
    }
}

/// Compares all levels in one case; returns the number of comparisons.
fn compare(
    levels: &[Level],
    (width, height): (u32, u32),
    depth: u32,
    content: Content,
    seed: u64,
) -> usize {
    let mut noise = Noise(seed);
    let format = FrameFormat::new(width, height, Chroma::Yuv400, depth).unwrap();
    let images = content.pair(width as usize, height as usize, depth, &mut noise);
    let settings = Settings {
        debug: false,
        gain_limit: [100.0, 1.0, 1.2][noise.below(3) as usize],
        skip_scale0: noise.below(8) == 0,
    };
    let expected = sums_at(Level::Portable, &images, &format, &settings, [0; 3]);
    let place = [noise.below(40) as usize, noise.below(40) as usize];
    for &level in levels {
        for guard in [0, 0xffff] {
            let place = [place[0], place[1], guard];
            let sums = sums_at(level, &images, &format, &settings, place);
            assert_eq!(
                sums, expected,
                "{level}, {width}x{height}, {depth} bits, {content:?}, {settings:?}"
            );
        }
    }
    levels.len()
}

#[test]
fn every_size_depth_and_content() {
    let levels = level::tested();
    let full = std::env::var(FULL_GRID).is_ok_and(|text| text == "1");
    let mut cases = Vec::new();
    for long in MIN_SIZE..=200 {
        for short in [MIN_SIZE, 33, 50] {
            for depth in DEPTHS {
                for content in CONTENTS {
                    cases.push(((long, short), depth, content));
                    cases.push(((short, long), depth, content));
                }
            }
        }
    }
    let chosen = |seed: &u64| full || Noise(*seed).below(PART as u32) == 0;
    let seeds: Vec<u64> = (0..cases.len() as u64).filter(chosen).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (size, depth, content) = cases[seed as usize];
                    let compared = compare(&levels, size, depth, content, seed);
                    done.fetch_add(compared, Ordering::Relaxed);
                }
            });
        }
    });
    let done = done.into_inner();
    assert_eq!(done, seeds.len() * levels.len());
    println!("vif: {done} comparisons at {levels:?}, 0 differ");
}

/// Wider than any block of pixels, and a scratch that held another frame.
#[test]
fn large_frames_and_used_buffers() {
    for level in level::tested() {
        for (width, height, depth) in [(1934, 61, 8), (1279, 98, 10), (450, 301, 16)] {
            let format = FrameFormat::new(width, height, Chroma::Yuv400, depth).unwrap();
            let (w, h) = (width as usize, height as usize);
            let size = Size {
                width: w,
                height: h,
            };
            let settings = Settings {
                debug: false,
                gain_limit: 100.0,
                skip_scale0: false,
            };
            let mut vif = (level.kernels().unwrap().vif)(&format);
            let mut scratch = Scratch::new(&format);
            for (seed, content) in (7..).zip([Content::Noise, Content::Weak, Content::Distorted]) {
                let pair = content.pair(w, h, depth, &mut Noise(seed));
                let bytes = pair.each_ref().map(|image| {
                    let bytes = image.iter().map(|&s| s as u8);
                    bytes.collect::<Vec<_>>()
                });
                let [x, y] = [0, 1].map(|i| {
                    let samples = match depth {
                        8 => Samples::U8(&bytes[i]),
                        _ => Samples::U16(&pair[i]),
                    };
                    PlaneView::new(samples, size, w).unwrap()
                });
                let expected = reference(&x, &y, depth, &settings, &mut scratch);
                let sums = vif.sums([&x, &y], depth, &settings);
                assert_eq!(sums, expected, "{level}, {width}x{height}, {content:?}");
            }
        }
    }
}
