//! Operands: where arithmetic has its edges, each with each, then random ones.

use vmafx_gcnsim::mix;

const EDGES_32: [u32; 20] = [
    0,
    1,
    2,
    3,
    31,
    32,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x00ff_ffff,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];

const EDGES_64: [u64; 16] = [
    0,
    1,
    7,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_ffff_fffe,
    0x0123_4567_89ab_cdef,
    63,
    64,
];

/// Zeros, subnormals, the ends of the range, halves and their neighbours, limits of integers.
const EDGES_F32: [f32; 24] = [
    0.0,
    f32::from_bits(1),
    f32::from_bits(0x007f_ffff),
    f32::MIN_POSITIVE,
    1.5e-30,
    0.25,
    0.5,
    f32::from_bits(0x3eff_ffff),
    f32::from_bits(0x3f7f_ffff),
    1.0,
    f32::from_bits(0x3f80_0001),
    1.5,
    2.5,
    3.0,
    8_388_607.5,
    8_388_608.0,
    16_777_217.0,
    2_147_483_648.0,
    4_294_967_040.0,
    9.3e18,
    1.9e19,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
];

const EDGES_F64: [f64; 24] = [
    0.0,
    f64::from_bits(1),
    f64::from_bits(0x000f_ffff_ffff_ffff),
    f64::MIN_POSITIVE,
    1e-160,
    1e-40,
    0.5,
    0.499_999_999_999_999_94,
    0.999_999_999_999_999_9,
    1.0,
    1.000_000_000_000_000_2,
    1.5,
    2.5,
    2_147_483_647.5,
    2_147_483_648.0,
    4_294_967_295.5,
    4_503_599_627_370_497.5,
    9.223_372_036_854_775e18,
    1.844_674_407_370_955_2e19,
    3.5e38,
    1e154,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

/// Three columns of `count` integers of all lengths.
pub(crate) fn words(count: usize, seed: u64) -> [Vec<u32>; 3] {
    columns(count, seed, &EDGES_32, |random| {
        (random as u32) >> (random >> 32 & 15).saturating_sub(7)
    })
}

/// Three columns of `count` integers of all lengths.
pub(crate) fn wide(count: usize, seed: u64) -> [Vec<u64>; 3] {
    columns(count, seed, &EDGES_64, |random| {
        random >> (mix(random) & 127).saturating_sub(64)
    })
}

/// Three columns of `count` numbers: random bits, and random numbers about 1. NaNs are quiet: what
/// becomes of others is left to the hardware.
pub(crate) fn reals_32(count: usize, seed: u64) -> [Vec<u32>; 3] {
    let edges = EDGES_F32.map(f32::to_bits);
    let edges: Vec<u32> = edges.iter().flat_map(|&e| [e, e | 1 << 31]).collect();
    columns(count, seed, &edges, |random| {
        let bits = random as u32;
        match random >> 32 & 3 {
            0 => bits & 0x807f_ffff | (118 + (bits >> 23) % 20) << 23,
            _ => quiet_32(bits),
        }
    })
}

/// Three columns of `count` numbers, likewise.
pub(crate) fn reals_64(count: usize, seed: u64) -> [Vec<u64>; 3] {
    let edges = EDGES_F64.map(f64::to_bits);
    let edges: Vec<u64> = edges.iter().flat_map(|&e| [e, e | 1 << 63]).collect();
    columns(count, seed, &edges, |random| match mix(random) & 3 {
        0 => random & 0x800f_ffff_ffff_ffff | (1003 + (random >> 52) % 70) << 52,
        _ => match f64::from_bits(random).is_nan() {
            true => random | 1 << 51,
            false => random,
        },
    })
}

/// A NaN that does not signal, or the number itself.
fn quiet_32(bits: u32) -> u32 {
    match f32::from_bits(bits).is_nan() {
        true => bits | 1 << 22,
        false => bits,
    }
}

/// The edges against each other, as many as fit into two thirds of the columns, in an order that
/// the seed gives; then what `draw` makes of random numbers.
fn columns<T: Copy>(count: usize, seed: u64, edges: &[T], draw: impl Fn(u64) -> T) -> [Vec<T>; 3] {
    let random = |column: u64, i: usize| mix(mix(seed ^ column << 40) ^ i as u64);
    let pairs = edges.len() * edges.len();
    let crossed = pairs.min(count * 2 / 3);
    [0, 1, 2].map(|column| {
        let of = |i: usize| {
            // An odd step visits each pair once.
            let pair = (i * 977 + seed as usize) % pairs;
            match (i < crossed, column) {
                (true, 0) => edges[pair % edges.len()],
                (true, 1) => edges[pair / edges.len()],
                (true, _) if !i.is_multiple_of(3) => {
                    edges[random(column, i) as usize % edges.len()]
                }
                _ => draw(random(column, i)),
            }
        };
        (0..count).map(of).collect()
    })
}
