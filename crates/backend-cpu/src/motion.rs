//! Motion with vectors.
//!
//! Differences of rows are made once and kept for the five rows that read them, and both passes
//! run in 16-bit lanes. Between them a number may need 17 bits: what is beyond 16 goes to a
//! second row, which is zero but at strong edges that move, and is filtered only there. Rows that
//! see a difference beyond 14 bits, of deep samples, take `f64` lanes, in which every number here
//! is exact. What must stay true: each pass rounds once, after its whole sum, halves upwards.

use vmafx_api::{FrameFormat, PlaneView};
use vmafx_metrics::mirror::{Pair, Plane, mirror};
use vmafx_metrics::motion::{Sums, TAPS};

use crate::level::Motion;
use crate::psnr::Lane;
use crate::vector::{Buffer, Detail, Simd, Work};

const ROWS: usize = TAPS.len();
const RADIUS: usize = ROWS / 2;

/// Elements in front of the first and behind the last column of a row, a register or more.
const MARGIN: usize = 64;

/// Differences from which on the sum of two does not fit 16 bits.
const LARGE: u32 = 1 << 14;

/// Ones for the lanes in front of a border, zeros for those behind.
static INSIDE: [i32; 32] = {
    let mut mask = [0; 32];
    let mut lane = 0;
    while lane < 16 {
        mask[lane] = -1;
        lane += 1;
    }
    mask
};

/// motion with the vectors of `S`, and its buffers.
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

/// Buffers for frames of one format.
#[derive(Debug)]
struct Scratch {
    /// Differences of rows, row `y` in place `y % ROWS`.
    differences: [Buffer<i16>; ROWS],
    /// The largest magnitude of each.
    largest: [u32; ROWS],
    /// A row after the vertical pass, cut to 16 bits.
    line: Buffer<i16>,
    /// What was cut off.
    excess: Buffer<i16>,
    /// Which registers of that are not zero.
    exceeds: Vec<bool>,
    /// A row after the vertical pass for large differences, and a row of those.
    wide: [Buffer<i32>; ROWS + 1],
}

impl Scratch {
    /// Buffers for frames of `format`.
    fn new(format: &FrameFormat) -> Self {
        let len = format.plane_size(0).width + 2 * MARGIN;
        Scratch {
            differences: std::array::from_fn(|_| Buffer::new(len)),
            largest: [0; ROWS],
            line: Buffer::new(len),
            excess: Buffer::new(len),
            exceeds: vec![false; len],
            wide: std::array::from_fn(|_| Buffer::new(len)),
        }
    }
}

impl<S: Simd> Motion for Vector<S> {
    /// # Panics
    /// If the planes differ in size or sample type, or are larger than the buffers allow.
    fn sums(&mut self, [previous, current]: [&PlaneView<'_>; 2], depth: u32) -> Sums {
        let scratch = &mut self.scratch;
        let sad = match Pair::new(previous, current) {
            Pair::U8(previous, current) => self.simd.run(BlurredSad {
                previous,
                current,
                depth,
                scratch,
            }),
            Pair::U16(previous, current) => self.simd.run(BlurredSad {
                previous,
                current,
                depth,
                scratch,
            }),
        };
        Sums { sad }
    }
}

struct BlurredSad<'a, T> {
    previous: Plane<'a, T>,
    current: Plane<'a, T>,
    depth: u32,
    scratch: &'a mut Scratch,
}

impl<T: Lane> Work for BlurredSad<'_, T> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd + Detail>(self, simd: S) -> u64 {
        let BlurredSad {
            previous,
            current,
            depth,
            scratch,
        } = self;
        let (width, height) = (previous.width(), previous.height());
        assert!(scratch.line.len() >= width + 2 * MARGIN);
        // Then the excess has 16 bits.
        let limit = LARGE.min(1 << depth);
        let mut sad = 0;
        let mut known = 0;
        for center in 0..height {
            while known < height.min(center + RADIUS + 1) {
                let (p, c) = (previous.row(known as isize), current.row(known as isize));
                let place = known % ROWS;
                scratch.largest[place] = subtract(simd, p, c, &mut scratch.differences[place]);
                known += 1;
            }
            let rows: [usize; ROWS] = std::array::from_fn(|row| {
                mirror((center + row) as isize - RADIUS as isize, height)
            });
            let largest = rows.map(|row| scratch.largest[row % ROWS]);
            let largest = largest.into_iter().max().unwrap_or(0);
            if largest == 0 {
                continue;
            }
            if largest < limit {
                sad += blur(simd, rows, scratch, width, depth, largest);
                continue;
            }
            let (line, differences) = scratch.wide.split_first_mut().expect("six rows");
            for (row, out) in rows.iter().zip(differences.iter_mut()) {
                let (p, c) = (previous.row(*row as isize), current.row(*row as isize));
                for ((out, &p), &c) in out[MARGIN..].iter_mut().zip(p).zip(c) {
                    let [p, c]: [u32; 2] = [p.into(), c.into()];
                    *out = p as i32 - c as i32;
                }
            }
            down_wide(simd, differences, line, width, depth);
            extend(line, width);
            sad += along_wide(simd, line, width);
        }
        sad
    }
}

/// Writes `previous - current`, wrapped, and returns the largest magnitude.
#[inline(always)]
fn subtract<S: Simd + Detail, T: Lane>(
    simd: S,
    previous: &[T],
    current: &[T],
    out: &mut [i16],
) -> u32 {
    let (width, lanes) = (previous.len(), 2 * S::LANES);
    assert!(current.len() == width && out.len() >= MARGIN + width);
    if width < lanes {
        let mut largest = 0;
        for ((out, &p), &c) in out[MARGIN..].iter_mut().zip(previous).zip(current) {
            let [p, c]: [u32; 2] = [p.into(), c.into()];
            *out = p.wrapping_sub(c) as i16;
            largest = largest.max(p.abs_diff(c));
        }
        return largest;
    }
    let mut largest = simd.zero();
    let mut x = 0;
    loop {
        // SAFETY: a register of samples from `x` on lies in both rows, as `x + lanes <= width`,
        // and `MARGIN` further on in the row of differences.
        unsafe {
            let p = T::load(simd, previous.as_ptr().add(x));
            let c = T::load(simd, current.as_ptr().add(x));
            let difference = simd.sub16(p, c);
            simd.store(out.as_mut_ptr().add(MARGIN + x), difference);
            // Bytes cannot wrap.
            let magnitude = if size_of::<T>() == 1 {
                simd.abs16(difference)
            } else {
                simd.sub16(simd.max_unsigned16(p, c), simd.min_unsigned16(p, c))
            };
            largest = simd.max_unsigned16(largest, magnitude);
        }
        if x + lanes == width {
            break;
        }
        x = (x + lanes).min(width - lanes);
    }
    let mut all = [0_u16; 32];
    // SAFETY: the array is as long as the widest register.
    unsafe { simd.store(all.as_mut_ptr(), largest) };
    u32::from(all.into_iter().max().unwrap_or(0))
}

/// Both passes over the row in the middle of `rows`.
#[inline(always)]
fn blur<S: Simd + Detail>(
    simd: S,
    rows: [usize; ROWS],
    scratch: &mut Scratch,
    width: usize,
    depth: u32,
    largest: u32,
) -> u64 {
    let Scratch {
        differences,
        line,
        excess,
        exceeds,
        ..
    } = scratch;
    let rows = [
        &*differences[rows[0] % ROWS],
        &*differences[rows[1] % ROWS],
        &*differences[rows[2] % ROWS],
        &*differences[rows[3] % ROWS],
        &*differences[rows[4] % ROWS],
    ];
    // Below half of the range the sum of all has 16 bits.
    let any = if largest < 1 << (depth - 1) {
        down::<S, false>(simd, rows, [line, excess], exceeds, width, depth)
    } else {
        down::<S, true>(simd, rows, [line, excess], exceeds, width, depth)
    };
    extend(line, width);
    if !any {
        return along::<S, false>(simd, [line, excess], exceeds, width);
    }
    extend(excess, width);
    let sad = along::<S, true>(simd, [line, excess], exceeds, width);
    // The row is left as it was found.
    excess.fill(0);
    sad
}

/// The vertical pass: the difference rows around a row to one row of 8 fractional bits and what
/// exceeds 16 bits there, if `EXCESS` is set. Returns whether anything does.
#[inline(always)]
fn down<S: Simd + Detail, const EXCESS: bool>(
    simd: S,
    rows: [&[i16]; ROWS],
    [line, excess]: [&mut [i16]; 2],
    exceeds: &mut [bool],
    width: usize,
    depth: u32,
) -> bool {
    let outer = pair(simd, TAPS[0], TAPS[1]);
    let center = pair(simd, TAPS[2], 1 << (depth - 1).min(14));
    // The rounding constant is a product of two numbers of 16 bits.
    let half = simd.splat16(1 << (depth - 1 - (depth - 1).min(14)));
    let lanes = 2 * S::LANES;
    let end = MARGIN + width.next_multiple_of(lanes);
    assert!(line.len() >= end && rows.iter().all(|row| row.len() >= end));
    assert!(excess.len() >= end && exceeds.len() * lanes >= end - MARGIN);
    let offset = simd.splat32(1 << 15);
    let beyond = simd.splat32(!0xffff);
    let row = [
        rows[0].as_ptr(),
        rows[1].as_ptr(),
        rows[2].as_ptr(),
        rows[3].as_ptr(),
        rows[4].as_ptr(),
    ];
    let mut any = false;
    let mut x = MARGIN;
    while x < end {
        // SAFETY: `x` is below `end`, both at whole registers from `MARGIN`, and all rows reach
        // to `end`.
        unsafe {
            let ends = simd.add16(simd.load(row[0].add(x)), simd.load(row[4].add(x)));
            let sides = simd.add16(simd.load(row[1].add(x)), simd.load(row[3].add(x)));
            let middle = simd.load(row[2].add(x));
            let low = simd.mul_pairs(simd.interleave_low16(ends, sides), outer);
            let low = simd.dot16(low, simd.interleave_low16(middle, half), center);
            let high = simd.mul_pairs(simd.interleave_high16(ends, sides), outer);
            let high = simd.dot16(high, simd.interleave_high16(middle, half), center);
            let low = simd.shift_right_signed32_by(low, depth);
            let high = simd.shift_right_signed32_by(high, depth);
            simd.store(line.as_mut_ptr().add(x), simd.pack_signed32(low, high));
            if EXCESS {
                let sum = simd.or(simd.add32(low, offset), simd.add32(high, offset));
                let more = simd.any(simd.and(sum, beyond));
                exceeds[(x - MARGIN) / lanes] = more;
                if more {
                    any = true;
                    let low = simd.sub32(low, clamp(simd, low));
                    let high = simd.sub32(high, clamp(simd, high));
                    simd.store(excess.as_mut_ptr().add(x), simd.pack_signed32(low, high));
                }
            }
        }
        x += lanes;
    }
    any
}

/// The nearest number of 16 bits.
#[inline(always)]
fn clamp<S: Simd>(simd: S, v: S::Int) -> S::Int {
    let v = simd.min_signed32(v, simd.splat32(i16::MAX as u32));
    simd.max_signed32(v, simd.splat32(i16::MIN as u32))
}

#[inline(always)]
fn pair<S: Simd>(simd: S, low: i32, high: i32) -> S::Int {
    simd.splat32(low as u16 as u32 | (high as u32) << 16)
}

/// Reflects a row into its margins.
#[inline(always)]
fn extend<T: Copy>(line: &mut [T], width: usize) {
    let (first, last) = (MARGIN, MARGIN + width - 1);
    for distance in 1..=RADIUS {
        line[first - distance] = line[first + distance];
        line[last + distance] = line[last - distance];
    }
}

/// The horizontal pass, and the sum of magnitudes. The second of `lines` is read only if `EXCESS`
/// is set, and only where it or a neighbour is not zero.
#[inline(always)]
fn along<S: Simd + Detail, const EXCESS: bool>(
    simd: S,
    lines: [&[i16]; 2],
    exceeds: &[bool],
    width: usize,
) -> u64 {
    let lanes = 2 * S::LANES;
    let registers = width.div_ceil(lanes);
    assert!(lines.iter().all(|line| line.len() >= width + 2 * MARGIN) && lanes <= MARGIN);
    let exceeds = &exceeds[..registers];
    let half = simd.splat32(1 << 15);
    let mut totals = [simd.zero(); 2];
    for register in 0..registers {
        let x = register * lanes;
        // SAFETY: `x` is below `width`, so a register that starts at most `RADIUS` in front of
        // it or behind it ends in a row with margins of a register or more.
        let mut sums = unsafe {
            [
                window(simd, half, lines[0], MARGIN - RADIUS + x),
                window(simd, half, lines[0], MARGIN - RADIUS + x + 1),
            ]
        };
        let near = EXCESS && {
            let around = register.saturating_sub(1)..(register + 2).min(registers);
            exceeds[around].contains(&true)
        };
        if near {
            for (odd, sum) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                let more =
                    unsafe { window(simd, simd.zero(), lines[1], MARGIN - RADIUS + x + odd) };
                // The sum of both may have 33 bits.
                let low = simd.splat32(0xffff);
                let carry = simd.add32(simd.and(*sum, low), simd.and(more, low));
                let carry = simd.shift_right32::<16>(carry);
                let sum16 = simd.shift_right_signed32::<16>(*sum);
                let more16 = simd.shift_right_signed32::<16>(more);
                *sum = simd.add32(simd.add32(sum16, more16), carry);
            }
        } else {
            sums = [
                simd.shift_right_signed32::<16>(sums[0]),
                simd.shift_right_signed32::<16>(sums[1]),
            ];
        }
        sums = [simd.abs32(sums[0]), simd.abs32(sums[1])];
        let rest = width - x;
        if rest < lanes {
            for (odd, sum) in sums.iter_mut().enumerate() {
                let inside = (rest + 1 - odd) / 2;
                // SAFETY: at most 16 lanes are inside, and a register of 16 lanes or fewer from
                // there on lies in the array of 32.
                let mask = unsafe { simd.load(INSIDE.as_ptr().add(16 - inside)) };
                *sum = simd.and(*sum, mask);
            }
        }
        totals = [
            simd.add32(totals[0], sums[0]),
            simd.add32(totals[1], sums[1]),
        ];
    }
    // A result has 16 bits, and a row at most 2^11 registers.
    (simd.sum_signed32(totals[0]) + simd.sum_signed32(totals[1])) as u64
}

/// Adds the products of every second window of taps, from `at` on, to `sum`.
///
/// # Safety
/// A register that starts up to four samples behind `at` must lie in the line.
#[inline(always)]
unsafe fn window<S: Simd + Detail>(simd: S, sum: S::Int, line: &[i16], at: usize) -> S::Int {
    // SAFETY: the caller's promise.
    unsafe {
        let from = line.as_ptr().add(at);
        let sum = simd.dot16(sum, simd.load(from), pair(simd, TAPS[0], TAPS[1]));
        let sum = simd.dot16(sum, simd.load(from.add(2)), pair(simd, TAPS[2], TAPS[3]));
        simd.dot16(sum, simd.load(from.add(4)), pair(simd, TAPS[4], 0))
    }
}

/// The vertical pass of large differences.
#[inline(always)]
fn down_wide<S: Simd + Detail>(
    simd: S,
    rows: &[Buffer<i32>],
    line: &mut [i32],
    width: usize,
    depth: u32,
) {
    let lanes = S::LANES / 2;
    let end = MARGIN + width.next_multiple_of(lanes);
    assert!(line.len() >= end && rows.iter().all(|row| row.len() >= end));
    let scale = simd.splat_double(1.0 / f64::from(1 << depth));
    let half = simd.splat_double(0.5);
    let mut x = MARGIN;
    while x < end {
        let mut sum = simd.splat_double(0.0);
        for (row, tap) in rows.iter().zip(TAPS) {
            // SAFETY: `x` is below `end`, both at whole halves of registers from `MARGIN`, and
            // all rows reach to `end`.
            let difference = unsafe { simd.load_double(row.as_ptr().add(x)) };
            let tap = simd.splat_double(f64::from(tap));
            sum = simd.add_double(sum, simd.mul_double(difference, tap));
        }
        let rounded = simd.floor(simd.add_double(simd.mul_double(sum, scale), half));
        // SAFETY: as above.
        unsafe { simd.store_double(line.as_mut_ptr().add(x), rounded) };
        x += lanes;
    }
}

/// The horizontal pass of large differences, and the sum of magnitudes.
#[inline(always)]
fn along_wide<S: Simd + Detail>(simd: S, line: &[i32], width: usize) -> u64 {
    let lanes = S::LANES / 2;
    assert!(line.len() >= width + 2 * MARGIN);
    let scale = simd.splat_double(1.0 / f64::from(1 << 16));
    let half = simd.splat_double(0.5);
    let zero = simd.splat_double(0.0);
    let mut total = zero;
    let mut x = 0;
    while x + lanes <= width {
        let mut sum = zero;
        for (column, tap) in TAPS.iter().enumerate() {
            // SAFETY: half a register that starts at most `RADIUS` in front of `x` or behind it
            // lies in the row with its margins.
            let samples =
                unsafe { simd.load_double(line.as_ptr().add(MARGIN - RADIUS + x + column)) };
            let tap = simd.splat_double(f64::from(*tap));
            sum = simd.add_double(sum, simd.mul_double(samples, tap));
        }
        let rounded = simd.floor(simd.add_double(simd.mul_double(sum, scale), half));
        let magnitude = simd.max_double(rounded, simd.sub_double(zero, rounded));
        total = simd.add_double(total, magnitude);
        x += lanes;
    }
    let mut sad = simd.sum_double(total) as u64;
    for at in x..width {
        let window = &line[MARGIN - RADIUS + at..][..ROWS];
        let taps = TAPS.iter().zip(window);
        let sum: i64 = taps.map(|(&tap, &d)| i64::from(tap) * i64::from(d)).sum();
        sad += ((sum + (1 << 15)) >> 16).unsigned_abs();
    }
    sad
}
