//! Global memory, LDS, scratch and atomics.

use vmafx_gcnsim::{Options, Program, mix};

use crate::columns::{BLOCK, Column, Position, compare};
use crate::device::{Arguments, Buffer, Word, launch, same};
use crate::operands;

const SOURCE: &str = include_str!("kernels/memory.cpp");

/// Runs all kernels of the unit over `blocks` blocks.
pub(crate) fn check(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    let mut values = widths(program, blocks, options)?;
    values += scratch(program, blocks, options)?;
    values += shared_widths(program, blocks)?;
    values += atomics(
        program,
        "32",
        blocks,
        options,
        operands::words(count(blocks), 21),
    )?;
    values += atomics(
        program,
        "64",
        blocks,
        options,
        operands::wide(count(blocks), 22),
    )?;
    values += tickets(program, blocks, options)?;
    Ok(values)
}

fn count(blocks: u32) -> usize {
    (blocks * BLOCK) as usize
}

fn widths(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    // Not a whole number of waves.
    let threads = count(blocks) - 5;
    let extra = 6000;
    let input: Vec<u8> = (0..threads as u64 * 64).map(|i| mix(i) as u8).collect();
    let far: Vec<u32> = (0..6001).map(|i| mix(i ^ 1 << 40) as u32).collect();
    let uniform: Vec<u64> = (0..=extra as u64).map(|i| mix(i ^ 1 << 41)).collect();
    let mut wanted = vec![0xcd; threads * 128];
    for (i, out) in wanted.chunks_exact_mut(128).enumerate() {
        let own = &input[i * 64..][..64];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &own[..40]);
        put(40, &own[40..43]);
        put(43, &own[46..47]);
        put(44, &i32::from(own[43] as i8).to_le_bytes());
        let signed = i16::from_le_bytes([own[44], own[45]]);
        put(48, &i32::from(signed).to_le_bytes());
        put(52, &[own[47], 0, 0, 0]);
        put(56, &[own[48], own[49], 0, 0]);
        put(60, &[own[50], own[51], own[54], own[55]]);
        put(64, &own[58..60]);
        put(66, &own[58..60]);
        put(69, &own[1..5]);
        put(75, &own[7..15]);
        put(85, &own[33..35]);
        put(88, &far[i + 5000].to_le_bytes());
        put(92, &far[extra - i].to_le_bytes());
        put(104, &[own[8], own[9], own[52], own[53]]);
        let sign = if own[61] & 0x80 == 0 { 0 } else { 0xff };
        put(108, &[own[61], sign, own[10], own[11]]);
        put(96, &uniform[extra].to_le_bytes());
        let block = i / BLOCK as usize + 1;
        put(112, &uniform[block * 2].to_le_bytes());
        put(120, &uniform[block * 2 + 1].to_le_bytes());
    }
    let (mut input, mut far) = (Buffer::new(&input), Buffer::new(&far));
    let (mut uniform, mut out) = (Buffer::new(&uniform), Buffer::<u8>::unwritten(wanted.len()));
    let arguments = Arguments::default()
        .buffer(&mut input)
        .buffer(&mut far)
        .buffer(&mut uniform)
        .buffer(&mut out)
        .number(threads as u32)
        .number(extra as u32);
    launch(program, "widths", blocks, BLOCK, &arguments, options).map_err(text)?;
    same("widths", out.words(), &wanted)
}

fn scratch(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    let [a, b, _] = operands::words(count(blocks) - 9, 20);
    let wanted: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| tables(a, b)).collect();
    let mut out = Buffer::<u64>::unwritten(a.len());
    let (mut a, mut b) = (Buffer::new(&a), Buffer::new(&b));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .address(0)
        .buffer(&mut out)
        .number(wanted.len() as u32)
        .number(0);
    launch(program, "scratch", blocks, BLOCK, &arguments, options).map_err(text)?;
    same("scratch", out.words(), &wanted)
}

/// What `scratch` does.
fn tables(a: u32, b: u32) -> u64 {
    let mut words: [u32; 131] = std::array::from_fn(|k| (k as u32).wrapping_mul(0x0101_0101));
    let mut bytes: [u8; 203] = std::array::from_fn(|k| k as u8 ^ a as u8);
    let mut wide: [u64; 71] = std::array::from_fn(|k| u64::from(b) * (k as u64 + 1));
    let mut x = a;
    for k in 0..50 {
        let at = x as usize % words.len();
        words[at] = words[at].wrapping_add(x ^ b);
        let byte = bytes[(x >> 8) as usize % bytes.len()].wrapping_add(k as u8);
        bytes[(x >> 3) as usize % bytes.len()] = byte;
        wide[x as usize % wide.len()] ^= u64::from(x) << (k & 31);
        let word = words[(at + k) % words.len()];
        x = x
            .wrapping_mul(1_664_525)
            .wrapping_add(word)
            .wrapping_add(bytes[k].into());
    }
    let mut sum = u64::from(x);
    for word in words {
        sum = sum.wrapping_mul(31).wrapping_add(word.into());
    }
    for byte in bytes {
        sum = sum.wrapping_mul(33).wrapping_add(byte as i8 as u64);
    }
    wide.iter()
        .zip(0..)
        .fold(sum, |sum, (wide, k)| sum ^ wide.wrapping_add(k))
}

/// The columns are compared by a thread's own operands, so what comes from another thread is
/// looked up by its number, which is the third operand.
fn shared_widths(program: &Program, blocks: u32) -> Result<u64, String> {
    let [a, b, _] = operands::words(count(blocks), 23);
    let own = (0..count(blocks) as u32).collect();
    OPERANDS.set(Some([a.clone(), b.clone()]));
    compare(
        program,
        Position::Thread,
        (SOURCE, "shared_widths"),
        SHARED,
        &[a, b, own],
        |_| false,
    )
}

std::thread_local! {
    static OPERANDS: std::cell::Cell<Option<[Vec<u32>; 2]>> = const { std::cell::Cell::new(None) };
}

/// The operands of thread `thread` of the block in which thread `i` of the grid is.
fn of(i: u32, thread: u32) -> (u32, u32) {
    let operands = OPERANDS.take().expect("set before the comparison");
    let at = (i / BLOCK * BLOCK + thread % BLOCK) as usize;
    let found = (operands[0][at], operands[1][at]);
    OPERANDS.set(Some(operands));
    found
}

/// The thread whose words thread `i` reads.
fn other(i: u32) -> u32 {
    (i % BLOCK * 29 + 11) % BLOCK
}

const SHARED: &[Column<u32>] = &[
    ("byte", |_, _, i| of(i, other(i)).0 & 0xff),
    ("byte_signed", |_, _, i| {
        (of(i, other(i)).1 >> 16) as i8 as u32
    }),
    ("halves", |_, _, i| {
        of(i, other(i)).1 & 0xffff | of(i, other(i) + 1).0 & 0xffff_0000
    }),
    ("half_signed", |_, _, i| of(i, other(i)).1 as i16 as u32),
    ("two_words", |_, _, i| {
        let (a, b) = of(i, other(i));
        a.wrapping_add(b).wrapping_mul(3).wrapping_add(a ^ b)
    }),
    ("far_word", |_, _, i| {
        let (a, b) = of(i, other(i));
        a & b
    }),
    ("wide", |_, _, i| {
        let (a, b) = of(i, other(i));
        a.wrapping_sub(b)
    }),
    ("wide_pair", |_, _, i| {
        let (a, b) = of(i, other(i));
        b ^ ((u64::from(a) << 32 | u64::from(b)) >> 13) as u32
    }),
    ("pair", |_, _, i| {
        let (a, b) = of(i, other(i) / 2 * 2);
        a.wrapping_mul(3 + 1).wrapping_add(b.wrapping_mul(5 + 7))
    }),
    ("four", |_, _, i| {
        let (a, b) = of(i, other(i));
        a ^ b.wrapping_mul(3) ^ (!a).wrapping_mul(5) ^ (!b).wrapping_mul(7)
    }),
    ("three", |_, _, i| {
        let (a, b) = of(i, other(i));
        a ^ b.wrapping_mul(3) ^ a.wrapping_sub(b).wrapping_mul(5)
    }),
    ("across", |_, _, i| {
        let word = |at: u32| {
            let (a, b) = of(i, at);
            if at < BLOCK { a.wrapping_add(b) } else { a ^ b }
        };
        let first = other(i) / 2 * 2 + 1;
        word(first + 1).wrapping_add(word(first).wrapping_mul(9))
    }),
];

/// What the references of the atomics need of an integer.
trait Atomic: Word + Ord + std::ops::BitAnd<Output = Self> + std::ops::BitOr<Output = Self> {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn times(self, factor: u8) -> Self;
    fn of(number: u32) -> Self;
    fn from_random(random: u64) -> Self;
    /// Whether it is less as a signed number.
    fn signed_less(self, other: Self) -> bool;
}

macro_rules! atomic {
    ($word:ty, $signed:ty) => {
        impl Atomic for $word {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            fn times(self, factor: u8) -> Self {
                self.wrapping_mul(factor.into())
            }
            fn of(number: u32) -> Self {
                number.into()
            }
            fn from_random(random: u64) -> Self {
                random as Self
            }
            fn signed_less(self, other: Self) -> bool {
                (self as $signed) < other as $signed
            }
        }
    };
}
atomic!(u32, i32);
atomic!(u64, i64);

/// What all threads do to the nine words that they share.
fn meet<T: Atomic>(words: &mut [T], a: T, b: T) {
    let high = T::of(0).sub(T::of(0x100_0000));
    words[0] = words[0].add(a);
    words[1] = words[1].sub(b);
    words[2] = words[2] & (a | high);
    words[3] = words[3] | a & b;
    words[4] = words[4].xor(a);
    words[5] = words[5].min(a);
    words[6] = words[6].max(b);
    words[7] = if a.signed_less(words[7]) { a } else { words[7] };
    words[8] = if words[8].signed_less(b) { b } else { words[8] };
}

/// What a thread does to its own word; returns the digest of what it saw.
fn alone<T: Atomic>(own: &mut T, a: T, b: T) -> T {
    let steps: [fn(T, T, T) -> T; 10] = [
        |own, _, b| own.add(b),
        |own, a, _| own.sub(a),
        |own, a, b| own & a.xor(b),
        |own, a, _| own | a,
        |own, _, b| own.xor(b.add(T::of(5))),
        |own, _, b| own.min(b),
        |own, a, _| own.max(a),
        |own, _, b| if b.signed_less(own) { b } else { own },
        |own, a, _| if own.signed_less(a) { a } else { own },
        |_, a, b| a.add(b),
    ];
    let mut before = T::of(0);
    for step in steps {
        before = before.times(3).add(*own);
        *own = step(*own, a, b);
    }
    let seen = *own;
    if a.add(b).add(b & T::of(1)) == seen {
        *own = a.times(5);
    }
    before.times(3).add(seen)
}

fn atomics<T: Atomic>(
    program: &Program,
    name: &str,
    blocks: u32,
    options: &Options,
    operands: [Vec<T>; 3],
) -> Result<u64, String> {
    let [a, b, _] = operands;
    let count = a.len();
    let mut values = 0;
    for shared in [false, true] {
        let start: Vec<T> = (0..9 + 2 * count as u64 + 9 * u64::from(blocks))
            .map(|i| T::from_random(mix(i ^ 5 << 40)))
            .collect();
        let mut wanted = start.clone();
        for i in 0..count {
            let mut own = start[9 + i];
            wanted[9 + count + i] = alone(&mut own, a[i], b[i]);
            wanted[9 + i] = own;
        }
        if shared {
            for block in 0..blocks as usize {
                let mut words = start[..9].to_vec();
                for i in block * BLOCK as usize..(block + 1) * BLOCK as usize {
                    meet(&mut words, a[i], b[i]);
                }
                wanted[9 + 2 * count + 9 * block..][..9].copy_from_slice(&words);
            }
        } else {
            let words = &mut wanted[..9];
            a.iter().zip(&b).for_each(|(&a, &b)| meet(words, a, b));
        }
        let kernel = format!(
            "{}_atomics_{name}",
            if shared { "shared" } else { "global" }
        );
        let (mut a, mut b, mut out) = (Buffer::new(&a), Buffer::new(&b), Buffer::new(&start));
        let arguments = Arguments::default()
            .buffer(&mut a)
            .buffer(&mut b)
            .address(0)
            .buffer(&mut out)
            .number(count as u32)
            .number(0);
        launch(program, &kernel, blocks, BLOCK, &arguments, options).map_err(text)?;
        values += same(&kernel, out.words(), &wanted)?;
    }
    Ok(values)
}

fn tickets(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    let [a, _, _] = operands::words(count(blocks) - 3, 24);
    let most = a.iter().copied().max().unwrap_or(0);
    let mut out = Buffer::new(&vec![0; a.len() + 2]);
    let mut wanted = vec![a.len() as u32];
    wanted.extend(0..a.len() as u32);
    wanted.push(most);
    let mut a = Buffer::new(&a);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .address(0)
        .address(0)
        .buffer(&mut out)
        .number(wanted.len() as u32 - 2)
        .number(0);
    launch(program, "tickets", blocks, BLOCK, &arguments, options).map_err(text)?;
    let mut found = out.words().to_vec();
    let last = found.len() - 1;
    found[1..last].sort_unstable();
    same("tickets", &found, &wanted)
}

fn text(error: vmafx_gcnsim::Error) -> String {
    error.to_string()
}
