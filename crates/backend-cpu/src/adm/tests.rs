//! Rows of numbers that no picture is known to give, against the scalar steps.

use vmafx_api::{Chroma, FrameFormat};
use vmafx_metrics::adm::steps::{
    Coarser, Finest, Precision, Shifts, half, keeps_direction, restored, round_shift,
};

use super::first::{self, Row, Weights};
use super::masking::{Weighted, masked_cubes};
use super::rows::{MARGIN, Part, Plane, parts};
use super::{energy, later};
use crate::level::{self, Level};
use crate::vector::{Avx2, Avx512, Buffer, Detail, Element, Simd, Work};

fn each_level<W: Work<Output = ()> + Clone>(work: W) {
    fn run<S: Simd, W: Work<Output = ()>>(work: W) {
        S::detect().unwrap().run(work);
    }
    for level in level::tested() {
        match level {
            Level::Portable => {}
            Level::Avx2 => run::<Avx2, W>(work.clone()),
            Level::Avx512 => run::<Avx512<false>, W>(work.clone()),
            Level::Avx512Vnni => run::<Avx512<true>, W>(work.clone()),
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number of any length, often at an end of the range or next to a power of two.
    fn number(&mut self, bits: u32) -> i32 {
        let random = self.next();
        let v = (random as i32) >> ((random >> 32) as u32 % bits);
        let v = v >> (32 - bits);
        match random >> 40 & 15 {
            0 => i32::MIN >> (32 - bits),
            1 => i32::MAX >> (32 - bits),
            2 => 1 << ((random >> 48) as u32 % (bits - 1)),
            3 => -1 << ((random >> 48) as u32 % (bits - 1)),
            4 => 0,
            _ => v,
        }
    }

    /// Three bands of each side; vectors of the other side are often nearly parallel.
    fn details<T: Element + TryFrom<i32>>(
        &mut self,
        width: usize,
        bits: u32,
    ) -> [[Buffer<T>; 3]; 2] {
        let mut bands = [(); 2].map(|()| [(); 3].map(|()| Plane::<T>::line(width)));
        for x in 0..width {
            // Whole registers without anything that is left to the scalar steps.
            let bits = if x / 64 % 2 == 0 { bits } else { bits.min(13) };
            let [least, most] = [i32::MIN, i32::MAX].map(|end| f64::from(end >> (32 - bits)));
            let o = [0; 3].map(|_| self.number(bits));
            let mut t = [0; 3].map(|_| self.number(bits));
            let kind = self.next() % 8;
            if kind < 4 {
                // Turned by about one degree, or exactly parallel.
                let turn = [0.017_455_06, -0.017_455_06, 0.0, 0.017_455][kind as usize];
                let scale = (self.next() % 2048) as f64 / 1024.0;
                let [h, v] = [f64::from(o[0]), f64::from(o[1])];
                t[0] = ((h - v * turn) * scale).clamp(least, most) as i32;
                t[1] = ((v + h * turn) * scale).clamp(least, most) as i32;
            }
            for band in 0..3 {
                for (side, value) in [o, t].into_iter().enumerate() {
                    let value = T::try_from(value[band]);
                    bands[side][band][MARGIN + x] = value.unwrap_or_else(|_| unreachable!());
                }
            }
        }
        bands
    }
}

fn part(width: u32, index: usize) -> Part {
    let format = FrameFormat::new(width, 33, Chroma::Yuv400, 8).unwrap();
    parts(&format).into_iter().nth(index).unwrap()
}

/// What the scalar steps make of the details of one place: both parts.
fn apart<T: Copy + Into<i32>>(
    details: &[[Buffer<T>; 3]; 2],
    at: usize,
    gain_limit: f64,
) -> [[i32; 3]; 2]
where
    Buffer<T>: std::ops::Deref<Target = [T]>,
{
    let [o, t] = [0, 1].map(|side| [0, 1, 2].map(|band: usize| details[side][band][at].into()));
    let same = keeps_direction([o[0], o[1]], [t[0], t[1]]);
    let r = [0, 1, 2].map(|band: usize| restored(o[band], t[band], same, gain_limit));
    [r, [0, 1, 2].map(|band| t[band] - r[band])]
}

/// Compares a row with what the scalar steps make of the same place.
fn compare<P: Precision, T: Copy + Into<i64>>(
    row: &Row<T>,
    at: usize,
    scored: bool,
    parts: [[i32; 3]; 2],
    magnitude: impl Fn(usize, i32) -> i64,
    factors: [u32; 3],
) where
    Buffer<T>: std::ops::Deref<Target = [T]>,
{
    for (which, x) in parts.into_iter().enumerate() {
        let (mut spread, mut own) = (0_i32, 0_i32);
        for band in 0..3 {
            let weighed = P::weigh(factors[band], band, x[band]);
            spread = spread.wrapping_add(P::to_neighbour(weighed));
            own = own.wrapping_add(P::to_own_place(weighed));
            let want = if scored { magnitude(band, x[band]) } else { 0 };
            let got: i64 = row.magnitudes[which][band][at].into();
            assert_eq!(got, want, "part {which} band {band} of {parts:?}");
        }
        assert_eq!(row.spread[which][at], spread, "part {which} of {parts:?}");
        assert_eq!(
            row.own[which][at],
            own.wrapping_sub(spread),
            "part {which} of {parts:?}"
        );
    }
}

#[derive(Clone, Copy)]
struct FirstRows(f64);

impl Work for FirstRows {
    type Output = ();

    fn run<S: Simd + Detail>(self, simd: S) {
        let FirstRows(gain_limit) = self;
        let mut random = Random(11);
        for (width, factors) in [
            (33, [36453, 36453, 49417]),
            (131, [65535, 65535, 65535]),
            (200, [1, 14342, 0]),
            (1021, [32768, 32767, 32769]),
        ] {
            let part = part(width, 0);
            let details = random.details::<i16>(part.level.size.width, 16);
            let mut row = Row::new(part.level.size.width);
            let weights = Weights::new(factors, gain_limit);
            let columns = part.level.wide_columns();
            let sides = [&details[0], &details[1]];
            first::decouple(simd, sides, columns.clone(), &part, &weights, &mut row);
            for x in columns {
                let at = MARGIN + x;
                let parts = apart(&details, at, gain_limit);
                let magnitude = |_, x: i32| i64::from(x.unsigned_abs());
                let scored = part.level.columns.contains(&x);
                compare::<Finest, u16>(&row, at, scored, parts, magnitude, factors);
            }
            let cubes = details[0].each_ref().map(|band| {
                let band = &band[MARGIN..][part.level.columns.clone()];
                band.iter()
                    .map(|x| u64::from(x.unsigned_abs()).pow(3))
                    .sum::<u64>()
            });
            assert_eq!(energy::cubes_first(simd, &details[0], &part), cubes);
        }
    }
}

#[test]
fn rows_of_the_first_level() {
    for gain_limit in [100.0, 1.0, 1.2, 99.9, 7.0] {
        each_level(FirstRows(gain_limit));
    }
}

#[derive(Clone, Copy)]
struct LaterRows(f64, usize);

impl Work for LaterRows {
    type Output = ();

    fn run<S: Simd + Detail>(self, simd: S) {
        let LaterRows(gain_limit, index) = self;
        let mut random = Random(7 + index as u64);
        for (width, factors) in [
            (66, [137_373_792, 137_373_792, 61_414_028]),
            (262, [u32::MAX; 3]),
            (400, [1, 1 << 31, 0]),
            (8001, [(1 << 31) - 1, 137_373_792, 1 << 30]),
        ] {
            let part = part(width, index);
            let details = random.details::<i32>(part.level.size.width, 32);
            let mut decoupled =
                [(); 2].map(|()| [(); 3].map(|()| Plane::<i32>::line(part.level.size.width)));
            let mut row = Row::new(part.level.size.width);
            let columns = part.level.wide_columns();
            let sides = [&details[0], &details[1]];
            later::decouple(simd, sides, columns.clone(), gain_limit, &mut decoupled);
            later::weigh(simd, &decoupled, columns.clone(), &part, factors, &mut row);
            for x in columns {
                let at = MARGIN + x;
                let parts = apart(&details, at, gain_limit);
                for which in 0..2 {
                    let got = [0, 1, 2].map(|band: usize| decoupled[which][band][at]);
                    assert_eq!(
                        got,
                        parts[which],
                        "part {which} of {:?}",
                        [0, 1, 2].map(|band: usize| (details[0][band][at], details[1][band][at]))
                    );
                }
                let magnitude = |band: usize, x| {
                    i64::from(Coarser::weigh(factors[band], band, x).wrapping_abs())
                };
                let scored = part.level.columns.contains(&x);
                compare::<Coarser, i32>(&row, at, scored, parts, magnitude, factors);
            }
            let shifts = Shifts::of(index, &part.level);
            let cubes = details[0].each_ref().map(|band| {
                let band = band[MARGIN..][part.level.columns.clone()].iter();
                let cubes = band.map(|x| {
                    let m = u64::from(x.unsigned_abs());
                    let square = (m * m + (1 << shifts.square)) >> shifts.square;
                    (square * m + half(shifts.cube) as u64) >> shifts.cube
                });
                cubes.sum::<u64>()
            });
            assert_eq!(
                energy::cubes_later(simd, &details[0], &part, &shifts),
                cubes
            );
        }
    }
}

#[test]
fn rows_of_the_other_levels() {
    for gain_limit in [100.0, 1.0, 1.2, 99.9] {
        for index in 1..4 {
            each_level(LaterRows(gain_limit, index));
        }
    }
}

#[derive(Clone, Copy)]
struct Masking;

impl Masking {
    /// Masked cubes of three rows of any numbers.
    fn check<S: Simd + Detail, W: Weighted>(
        simd: S,
        part: &Part,
        factors: [u32; 3],
        random: &mut Random,
        magnitude: fn(&mut Random) -> W::Magnitude,
        weighed: fn(W::Magnitude, u32) -> i32,
    ) {
        let width = part.level.size.width;
        let rows = [(); 3].map(|()| {
            let mut row = Row::<W::Magnitude>::new(width);
            for at in MARGIN..MARGIN + width {
                for which in 0..2 {
                    row.spread[which][at] = random.number(32) >> (random.next() % 31);
                    row.own[which][at] = random.number(32) >> (random.next() % 31);
                    if part.scored[at] != 0 {
                        for band in 0..3 {
                            row.magnitudes[which][band][at] = magnitude(random);
                        }
                    }
                }
            }
            row
        });
        let mut columns = Plane::line(width);
        for which in 0..2 {
            let three = rows.each_ref();
            let got = masked_cubes::<S, W>(simd, which, three, part, factors, &mut columns);
            let mut want = [0_i64; 3];
            for x in part.level.columns.clone() {
                let near = [if x == 0 { 1 } else { x - 1 }, x, (x + 1).min(width - 1)];
                let masker = 1 - which;
                let mut threshold = rows[1].own[masker][MARGIN + x];
                for row in &rows {
                    for x in near {
                        threshold = threshold.wrapping_add(row.spread[masker][MARGIN + x]);
                    }
                }
                for band in 0..3 {
                    let magnitude = rows[1].magnitudes[which][band][MARGIN + x];
                    let weighed = weighed(magnitude, factors[band]);
                    let threshold = threshold << W::threshold_shift(band);
                    let seen = i64::from(weighed.wrapping_sub(threshold).max(0));
                    let square = round_shift(seen * seen, W::square_shift(band));
                    let cube = i64::from(square as i32) * seen;
                    let cube = round_shift(cube, W::cube_shift(band, width));
                    want[band] = want[band].wrapping_add(cube);
                }
            }
            assert_eq!(got, want, "{width} columns, part {which}");
        }
    }
}

impl Work for Masking {
    type Output = ();

    fn run<S: Simd + Detail>(self, simd: S) {
        let mut random = Random(5);
        for width in [33, 34, 57, 66, 131, 501, 4001] {
            let factors = [36453, 65535, 49417];
            let magnitude = |random: &mut Random| (random.number(17).unsigned_abs() >> 1) as u16;
            let weighed = |magnitude: u16, factor: u32| (u32::from(magnitude) * factor) as i32;
            let first = part(width, 0);
            Self::check::<S, Finest>(simd, &first, factors, &mut random, magnitude, weighed);
            for index in 1..4 {
                let part = part(width, index);
                let magnitude = |random: &mut Random| random.number(32).wrapping_abs();
                let weighed = |magnitude, _| magnitude;
                Self::check::<S, Coarser>(simd, &part, [0; 3], &mut random, magnitude, weighed);
            }
        }
    }
}

#[test]
fn masked_cubes_of_any_numbers() {
    each_level(Masking);
}
