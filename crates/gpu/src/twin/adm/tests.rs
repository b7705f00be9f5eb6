//! The kernels, run by the simulated device, against the scalar reference of the metric.

use vmafx_api::{Chroma, PlaneView, Samples, Size};
use vmafx_metrics::Metric;
use vmafx_metrics::adm::Scratch;
use vmafx_metrics::adm::steps::{COS_1_DEGREE_SQUARED, keeps_direction};

use super::*;
use crate::twin::simulated::{Guarded, run};

fn options(texts: &[(&str, &str)]) -> Options {
    let mut options = Options::defaults(adm::Adm.definition());
    for (name, text) in texts {
        options.set_text(name, text).unwrap();
    }
    options
}

fn hash(x: usize, y: usize, seed: u32) -> u32 {
    let mut v = (x as u32)
        .wrapping_mul(0x9E37_79B1)
        .wrapping_add((y as u32).wrapping_mul(0x85EB_CA77))
        .wrapping_add(seed.wrapping_mul(0xC2B2_AE3D));
    v ^= v >> 15;
    v = v.wrapping_mul(0x2C1B_3C6D);
    v ^ v >> 12
}

/// Kinds of pictures.
const KINDS: usize = 9;

/// Pictures that reach the ends of the arithmetic, and one like a natural one.
fn picture(kind: usize, depth: u32, seed: u32, distorted: bool, x: usize, y: usize) -> u16 {
    let peak = (1_u32 << depth) - 1;
    let side = u32::from(distorted);
    let noise = hash(x, y, seed + side) >> (32 - depth);
    let on = |lit: bool| if lit { peak } else { 0 };
    let sample = match kind {
        0 => noise,
        1 => on(hash(x, y, seed + side) >> 31 == 1),
        2 => on((x + usize::from(distorted)).is_multiple_of(2)),
        3 => on((y / 2 + usize::from(distorted)).is_multiple_of(2)),
        4 => on((x / 4 + y / 4) % 2 == usize::from(distorted)),
        5 => on(distorted),
        6 => on(true),
        // The second a scaled copy of the first: directions stay, gains are large.
        7 => (hash(x / 3, y / 2, seed) >> (33 - depth)) >> (side * (seed % 3)),
        // A slope with little noise, distorted in every eighth place.
        _ => {
            let slope = ((x * 3 + y * 5) as u32 % 97) << (depth - 8);
            slope + (hash(x, y, seed) >> (36 - depth)) + side * (hash(x, y, seed + 9) >> 29 & 1)
        }
    };
    sample.min(peak) as u16
}

/// A picture pair with options; the seed also says how the planes lie in memory.
#[derive(Debug)]
struct Case<'a> {
    size: (usize, usize),
    depth: u32,
    kind: usize,
    seed: u32,
    options: &'a [(&'a str, &'a str)],
    /// Blocks that are wanted.
    blocks: usize,
}

/// The samples of one of the pictures, those of 16 bits if they shall lie beyond the depth.
fn samples(case: &Case<'_>, distorted: bool, depth: u32) -> Vec<u16> {
    let (width, height) = case.size;
    let place = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let sample = |(x, y)| picture(case.kind, depth, case.seed, distorted, x, y);
    place.map(sample).collect()
}

/// The planes in memory: aligned as a copy made here, tight, or odd, at either end of a mapping.
fn guarded(case: &Case<'_>, pictures: &[Vec<u16>; 2]) -> [Guarded; 2] {
    let (width, seed) = (case.size.0, case.seed as usize);
    let sample = if case.depth > 8 { 2 } else { 1 };
    let bytes = width * sample;
    let (pitch, odd) = match seed % 3 {
        0 => (bytes.next_multiple_of(64) + 64, 0),
        1 => (bytes, seed % 7 * sample),
        _ => (bytes + 3 * sample, seed % 5 * sample),
    };
    [0, 1].map(|side| {
        let rows = pictures[side].chunks(width).map(|row| match sample {
            1 => row.iter().map(|&s| s as u8).collect(),
            _ => row.iter().flat_map(|s| s.to_ne_bytes()).collect(),
        });
        let rows: Vec<Vec<u8>> = rows.collect();
        // A plane at the end of its memory is aligned only by chance.
        let at_end = seed % 3 > 0 && (seed + side).is_multiple_of(2);
        let pitch = pitch + side * (seed % 3) * sample;
        Guarded::new(rows.iter().map(Vec::as_slice), pitch, at_end, odd)
    })
}

fn by_reference(case: &Case<'_>, pictures: &[Vec<u16>; 2], twin: &Adm) -> Sums {
    let (width, height) = case.size;
    let size = Size { width, height };
    let bytes = pictures
        .each_ref()
        .map(|p| p.iter().map(|&s| s as u8).collect::<Vec<_>>());
    let [first, second] = [0, 1].map(|side| {
        let samples = match case.depth {
            8 => Samples::U8(&bytes[side]),
            _ => Samples::U16(&pictures[side]),
        };
        PlaneView::new(samples, size, width).unwrap()
    });
    let mut scratch = Scratch::new(&twin.format);
    adm::reference(&first, &second, case.depth, &twin.settings, &mut scratch)
}

fn twin(case: &Case<'_>) -> Adm {
    let (width, height) = (case.size.0 as u32, case.size.1 as u32);
    let format = FrameFormat::new(width, height, Chroma::Yuv400, case.depth).unwrap();
    let mut twin = Adm::new(&options(case.options), &format).unwrap();
    twin.blocks = case.blocks;
    twin
}

fn check(case: &Case<'_>) {
    check_twin(case, &mut twin(case));
}

fn check_twin(case: &Case<'_>, twin: &mut Adm) {
    let pictures = [false, true].map(|side| samples(case, side, case.depth));
    let planes = guarded(case, &pictures);
    let words = run(twin, case.depth, planes.each_ref().map(Guarded::plane));
    assert_eq!(words[args::FAULT_WORD], 0, "{case:?}");
    let want = by_reference(case, &pictures, twin);
    assert_eq!(twin.sums(&words), want, "{case:?}");
}

const OPTIONS: [&[(&str, &str)]; 9] = [
    &[],
    &[("egl", "1")],
    &[("egl", "1.3")],
    &[("adm_skip_aim", "true")],
    &[("ssz", "true")],
    // Weights beyond the fixed point of the finest level.
    &[("csf", "1"), ("scf", "3.7"), ("scfd", "50")],
    &[
        ("csf", "1"),
        ("egl", "1.0625"),
        ("scf", "31"),
        ("scfd", "7"),
    ],
    &[("csf", "2"), ("nvd", "5")],
    &[("csf", "3"), ("nvd", "5"), ("rdh", "720"), ("egl", "2")],
];

/// One of all combinations, drawn by `number`.
fn drawn(size: (usize, usize), number: u32) -> Case<'static> {
    let draw = |which: u32, among: usize| hash(number as usize, 0, which) as usize % among;
    Case {
        size,
        depth: [8, 10, 12, 16][draw(1, 4)],
        kind: draw(2, KINDS),
        seed: hash(number as usize, 0, 3) >> 8,
        options: OPTIONS[draw(4, OPTIONS.len())],
        blocks: [1, 9, BLOCKS][draw(5, 3)],
    }
}

/// Every width with three heights, and the reverse.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    (33..=200_usize).flat_map(|side| {
        let others = [33, 34 + side % 5, 33 + side * 7 % 168];
        let both = move |other| [(side, other), (other, side)];
        others.into_iter().flat_map(both)
    })
}

#[test]
fn sums_are_those_of_the_reference() {
    let full = std::env::var_os("VMAFX_FULL_GRID").is_some();
    for (number, size) in sizes().enumerate() {
        let number = number as u32;
        if full {
            (0..8).for_each(|more| check(&drawn(size, number * 8 + more)));
        } else if hash(number as usize, 1, 0).is_multiple_of(12) {
            check(&drawn(size, number));
        }
    }
}

#[test]
fn every_option_at_every_depth() {
    for (at, options) in OPTIONS.into_iter().enumerate() {
        for (more, depth) in [8, 10, 12, 16].into_iter().enumerate() {
            check(&Case {
                size: (61 + 3 * at, 47 + 5 * more),
                depth,
                kind: (at * 4 + more) % KINDS,
                seed: at as u32,
                options,
                blocks: BLOCKS,
            });
        }
    }
}

#[test]
fn halves_are_rounded_as_the_reference_does() {
    // Weights that are powers of two leave exact halves behind.
    for seed in 0..4 {
        let case = Case {
            size: (77, 64),
            depth: 8 + 2 * seed,
            kind: 0,
            seed,
            options: &[],
            blocks: BLOCKS,
        };
        let mut twin = twin(&case);
        for (level, sensitivity) in twin.settings.sensitivity.iter_mut().enumerate() {
            sensitivity.fixed = match level {
                0 => [16384, 8192, 32768],
                _ => [1 << 26, 1 << 24, 1 << 27],
            };
        }
        check_twin(&case, &mut twin);
    }
}

#[test]
fn blocks_meet_without_a_seam() {
    // Several blocks in both directions, on the coarser levels too; wide ones and narrow ones.
    // In the last, a low band ends where its rows do.
    let cases = [
        ((531, 301), 0, 0, 24),
        ((531, 301), 1, 8, BLOCKS),
        ((62, 131), 2, 4, 1),
    ];
    for (size, seed, kind, blocks) in cases {
        check(&Case {
            size,
            depth: 8 + 2 * seed,
            kind,
            seed,
            options: &[],
            blocks,
        });
    }
}

#[test]
fn samples_beyond_the_depth_are_told() {
    for kind in [0, 1, 7] {
        let case = Case {
            size: (83, 71),
            depth: 10,
            kind,
            seed: 2,
            options: &[],
            blocks: BLOCKS,
        };
        let pictures = [false, true].map(|side| samples(&case, side, 16));
        let planes = guarded(&case, &pictures);
        let planes = planes.each_ref().map(Guarded::plane);
        let words = run(&mut twin(&case), case.depth, planes);
        assert!(words[args::FAULT_WORD] > 0);
    }
}

/// Why the kernels need no division: an estimate that is wrong by a unit in the last place, or by
/// two, gives the reciprocal or one less.
#[test]
fn an_estimate_and_one_correction_are_the_reciprocal() {
    for divisor in 1 << 14..=1 << 15_u32 {
        let exact = (1.0 / divisor as f32).to_bits();
        for estimate in exact - 2..=exact + 2 {
            let quotient = (f32::from_bits(estimate) * 1_073_741_312.0) as u32;
            let more = (1 << 30) - quotient * divisor >= divisor;
            assert_eq!(quotient + u32::from(more), (1 << 30) / divisor);
        }
    }
}

/// Why the kernels compare directions in single precision: what is closer than 2^-18 is left to
/// the steps of the reference, and the rest it decides.
#[test]
fn single_precision_decides_on_directions_that_are_not_close() {
    let mut decided = [0; 2];
    for number in 0..200_000_usize {
        let draw = |which| hash(number, 7, which);
        let length = f64::from(1 << (draw(0) % 30)) * (1.0 + f64::from(draw(1)) / 4e9);
        let angle = f64::from(draw(2)) / 6e8;
        // Most within a hundredth of one degree, either side.
        let turn =
            (1.0 + (f64::from(draw(3)) / 2e9 - 1.0) / f64::from(1 << (draw(4) % 16))).to_radians();
        let other = length * (f64::from(draw(5)) / 4e9 + 0.1);
        let at = |angle: f64, length: f64| {
            [(angle.cos() * length) as i32, (angle.sin() * length) as i32]
        };
        let (o, t) = (at(angle, length), at(angle + turn, other));
        let product =
            |a: [i32; 2], b: [i32; 2]| a[0] as f32 * b[0] as f32 + a[1] as f32 * b[1] as f32;
        let (dot, right) = (
            product(o, t),
            COS_1_DEGREE_SQUARED * product(o, o) * product(t, t),
        );
        let gap = dot * dot - right;
        if gap.abs() >= right * (1.0 / 262_144.0) {
            let same = gap >= 0.0 && dot >= 0.0;
            assert_eq!(same, keeps_direction(o, t), "{o:?} {t:?}");
            decided[usize::from(same)] += 1;
        }
    }
    assert!(decided.iter().all(|&count| count > 20_000), "{decided:?}");
}
