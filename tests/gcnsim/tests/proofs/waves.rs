//! Exchanges between lanes, control flow whose lanes part, positions in grids, barriers.
//!
//! A wave is modelled here by the values of its lanes, of which the first `active` run: what an
//! exchange brings follows from the numbers of the lanes alone.

use vmafx_gcnsim::{Options, Program};

use crate::device::{Arguments, Buffer, launch, launch_grid, same};
use crate::operands;
use crate::toolchain::Target;

const SOURCE: &str = include_str!("kernels/waves.cpp");

/// Runs all kernels of the unit over `blocks` blocks.
pub(crate) fn check(
    target: Target,
    program: &Program,
    blocks: u32,
    options: &Options,
) -> Result<u64, String> {
    let mut values = 0;
    for threads in [64, 40] {
        values += exchanges(target, program, blocks, threads, options)?;
    }
    values += divergent(target, program, blocks, options)?;
    values += control(program, blocks, options)?;
    values += positions(program, options)?;
    values += running_sums(program, blocks, options)?;
    values += sizes(program, options)?;
    Ok(values)
}

/// The operands of the lanes of a wave that run.
struct Wave<'a> {
    /// Lanes that there are.
    lanes: usize,
    a: &'a [u32],
    b: &'a [u32],
}

impl Wave<'_> {
    fn is_active(&self, lane: usize) -> bool {
        lane < self.a.len()
    }

    /// What a lane reads from another one: nothing becomes 0.
    fn read(&self, lane: usize) -> u32 {
        self.a.get(lane).copied().unwrap_or(0)
    }

    /// The same, but a lane that finds nobody keeps what it has.
    fn read_or_keep(&self, lane: usize, from: Option<usize>) -> u32 {
        let from = from.filter(|&from| self.is_active(from));
        from.map_or(self.b[lane], |from| self.a[from])
    }

    fn votes(&self, vote: impl Fn(u32, u32) -> bool) -> u64 {
        let lanes = self.a.iter().zip(self.b).enumerate();
        lanes.fold(0, |votes, (lane, (&a, &b))| {
            votes | u64::from(vote(a, b)) << lane
        })
    }
}

/// One column: its name, and what a lane of a wave gets.
type Column = (&'static str, fn(&Wave<'_>, usize) -> u32);

/// A place in the lane's row of 16, if there is one.
fn row(lane: usize, at: isize) -> Option<usize> {
    (0..16).contains(&at).then(|| lane / 16 * 16 + at as usize)
}

/// The place of a lane in its row.
fn place(lane: usize) -> isize {
    (lane % 16) as isize
}

const EXTRA: u32 = 6;

const COMMON: [Column; 27] = [
    ("lane", |_, lane| lane as u32),
    ("exchange_1", |wave, lane| wave.read(lane ^ 1)),
    ("exchange_16", |wave, lane| wave.read(lane ^ 16)),
    ("gather", |wave, lane| {
        wave.read(wave.b[lane] as usize % wave.lanes)
    }),
    ("scatter", |wave, lane| wave.read(lane ^ 5)),
    ("first", |wave, _| wave.a[0]),
    ("third", |wave, _| wave.a[3]),
    ("chosen", |wave, _| wave.a[EXTRA as usize]),
    ("written", |wave, lane| match lane as u32 == EXTRA {
        true => 33,
        false => wave.a[lane],
    }),
    ("votes_low", |wave, _| wave.votes(|a, _| a & 1 != 0) as u32),
    ("votes_high", |wave, _| {
        (wave.votes(|a, _| a & 1 != 0) >> 32) as u32
    }),
    ("votes_count", |wave, _| {
        wave.votes(|a, b| a < b).count_ones()
    }),
    ("quad", |wave, lane| {
        wave.read_or_keep(lane, Some(lane / 4 * 4 + 3 - lane % 4))
    }),
    ("quad_broadcast", |wave, lane| {
        wave.read_or_keep(lane, Some(lane / 4 * 4 + 1))
    }),
    ("row_left", |wave, lane| {
        wave.read_or_keep(lane, row(lane, place(lane) + 3))
    }),
    ("row_right", |wave, lane| {
        wave.read_or_keep(lane, row(lane, place(lane) - 1))
    }),
    ("row_right_zero", |wave, lane| {
        row(lane, place(lane) - 8).map_or(0, |from| wave.read(from))
    }),
    ("row_rotate", |wave, lane| {
        wave.read_or_keep(lane, row(lane, (place(lane) + 11) % 16))
    }),
    ("row_mirror", |wave, lane| {
        wave.read_or_keep(lane, row(lane, 15 - place(lane)))
    }),
    ("row_half_mirror", |wave, lane| {
        wave.read_or_keep(lane, Some(lane ^ 7))
    }),
    ("row_masked", |wave, lane| {
        // Rows 0 and 2, of which the second and the fourth four lanes.
        let chosen = 0x5 >> (lane / 16) & 1 != 0 && 0xa >> (lane % 16 / 4) & 1 != 0;
        let from = row(lane, (place(lane) + 15) % 16);
        wave.read_or_keep(lane, from.filter(|_| chosen))
    }),
    ("row_sum", |wave, lane| {
        let other = row(lane, place(lane) - 1).map_or(0, |from| wave.read(from));
        wave.a[lane].wrapping_add(other)
    }),
    ("row_sum_mirror", |wave, lane| {
        let other = wave.read_or_keep(lane, row(lane, 15 - place(lane)));
        wave.b[lane].wrapping_sub(other)
    }),
    ("swizzle_exchange", |wave, lane| wave.read(lane ^ 1)),
    ("swizzle_reverse", |wave, lane| wave.read(lane ^ 31)),
    ("swizzle_broadcast", |wave, lane| wave.read(lane / 8 * 8)),
    ("swizzle_quad", |wave, lane| wave.read(lane ^ 2)),
];

const GENERATION_9: [Column; 5] = [
    ("row_broadcast_15", |wave, lane| {
        let from = (lane / 16).checked_sub(1).map(|row| row * 16 + 15);
        wave.read_or_keep(lane, from)
    }),
    ("row_broadcast_31", |wave, lane| {
        wave.read_or_keep(lane, (lane >= 32).then_some(31))
    }),
    ("wave_right", |wave, lane| {
        wave.read_or_keep(lane, lane.checked_sub(1))
    }),
    ("wave_left", |wave, lane| {
        wave.read_or_keep(lane, Some(lane + 1))
    }),
    ("wave_rotate", |wave, lane| {
        wave.read_or_keep(lane, Some((lane + 63) % 64))
    }),
];

const GENERATION_10: [Column; 5] = [
    ("row_share", |wave, lane| {
        wave.read_or_keep(lane, row(lane, 7))
    }),
    ("row_exchange", |wave, lane| {
        wave.read_or_keep(lane, Some(lane ^ 3))
    }),
    ("eight", |wave, lane| {
        wave.read(lane / 8 * 8 + (0xfa_c688 >> (3 * (lane % 8)) & 7))
    }),
    ("rows", |wave, lane| {
        let chosen = 0xfedc_ba98_7654_3210 ^ u64::from(EXTRA) << 32;
        let from = (chosen >> (4 * (lane % 16)) & 15) as isize;
        wave.read_or_keep(lane, row(lane, from))
    }),
    ("rows_across", |wave, lane| {
        let from = (0x89ab_cdef_0123_4567u64 >> (4 * (lane % 16)) & 15) as isize;
        wave.read_or_keep(lane, row(lane ^ 16, from))
    }),
];

fn exchanges(
    target: Target,
    program: &Program,
    blocks: u32,
    threads: u32,
    options: &Options,
) -> Result<u64, String> {
    let mut columns = COMMON.to_vec();
    match target.generation() {
        9 => columns.extend(GENERATION_9),
        _ => columns.extend(GENERATION_10),
    }
    for (name, _) in &columns {
        if !SOURCE.contains(&format!("PUT({name},")) {
            return Err(format!("exchanges have no `{name}`"));
        }
    }
    let kernel = format!("exchanges_{threads}");
    let count = (blocks * threads) as usize;
    let [a, b, _] = operands::words(count, 31);
    let mut wanted = vec![0; columns.len() * count];
    let lanes = target.wave() as usize;
    each_wave(&a, &b, threads as usize, lanes, |start, wave| {
        for (k, (_, column)) in columns.iter().enumerate() {
            for lane in 0..wave.a.len() {
                wanted[k * count + start + lane] = column(wave, lane);
            }
        }
    });
    let found = run(
        program,
        &kernel,
        (blocks, threads),
        [&a, &b],
        EXTRA,
        options,
        wanted.len(),
    )?;
    let mut values = 0;
    for (k, (name, _)) in columns.iter().enumerate() {
        let at = k * count..(k + 1) * count;
        values += same(
            &format!("{kernel}: {name}"),
            &found[at.clone()],
            &wanted[at],
        )?;
    }
    Ok(values)
}

fn each_wave(
    a: &[u32],
    b: &[u32],
    threads: usize,
    lanes: usize,
    mut each: impl FnMut(usize, &Wave<'_>),
) {
    for block in (0..a.len()).step_by(threads) {
        for first in (0..threads).step_by(lanes) {
            let at = block + first..block + threads.min(first + lanes);
            let (a, b) = (&a[at.clone()], &b[at.clone()]);
            each(at.start, &Wave { lanes, a, b });
        }
    }
}

/// Runs a kernel with two operands a thread; returns `values` words.
fn run(
    program: &Program,
    kernel: &str,
    (blocks, threads): (u32, u32),
    [a, b]: [&[u32]; 2],
    extra: u32,
    options: &Options,
    values: usize,
) -> Result<Vec<u32>, String> {
    let count = a.len() as u32;
    let (mut a, mut b) = (Buffer::new(a), Buffer::new(b));
    let mut out = Buffer::<u32>::unwritten(values);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .address(0)
        .buffer(&mut out)
        .number(count)
        .number(extra);
    launch(program, kernel, blocks, threads, &arguments, options)
        .map_err(|error| error.to_string())?;
    Ok(out.words().to_vec())
}

fn divergent(
    target: Target,
    program: &Program,
    blocks: u32,
    options: &Options,
) -> Result<u64, String> {
    let count = (blocks * 64) as usize;
    let [a, b, _] = operands::words(count, 32);
    let mut wanted = vec![0; 6 * count];
    each_wave(&a, &b, 64, target.wave() as usize, |start, wave| {
        let lanes = 0..wave.a.len();
        let odd = |lane: &usize| wave.a[*lane] & 1 != 0;
        let second = |lane: &usize| !odd(lane) && wave.b[*lane] & 2 != 0;
        let first_odd = lanes.clone().find(odd).map_or(0, |lane| wave.a[lane]);
        let odd_votes = lanes
            .clone()
            .filter(|l| odd(l) && wave.b[*l] & 1 != 0)
            .count();
        let first_second = lanes.clone().find(second).map_or(0, |lane| wave.b[lane]);
        let second_votes = lanes.clone().filter(second).count();
        let alike = |key: u32| wave.b.iter().filter(|&&b| b % 5 == key).count();
        let mut order: Vec<u32> = Vec::new();
        for b in wave.b {
            if !order.contains(&(b % 5)) {
                order.push(b % 5);
            }
        }
        for lane in lanes.clone() {
            let key = wave.b[lane] % 5;
            let round = order.iter().position(|&k| k == key).map_or(0, |at| at + 1);
            let from = lane ^ 3;
            let gathered = if odd(&from) { wave.a[from] | 2 } else { 0 };
            let from = row(lane, place(lane) - 2).filter(odd);
            let shifted = from.map_or(wave.b[lane], |from| wave.a[from]);
            let results = match (odd(&lane), second(&lane)) {
                (true, _) => [first_odd, odd_votes as u32, gathered, shifted],
                (_, true) => [!first_second, (second_votes as u32) << 8, 0, 0],
                _ => [0; 4],
            };
            let rest = [alike(key) as u32, round as u32];
            for (k, result) in results.into_iter().chain(rest).enumerate() {
                wanted[k * count + start + lane] = result;
            }
        }
    });
    let kernel = "divergent_exchanges";
    let found = run(
        program,
        kernel,
        (blocks, 64),
        [&a, &b],
        0,
        options,
        wanted.len(),
    )?;
    let mut values = 0;
    let names = ["first", "votes", "gathered", "shifted", "alike", "rounds"];
    for (k, name) in names.iter().enumerate() {
        let at = k * count..(k + 1) * count;
        values += same(
            &format!("{kernel}: {name}"),
            &found[at.clone()],
            &wanted[at],
        )?;
    }
    Ok(values)
}

fn control(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    let count = (blocks * 64 - 7) as usize;
    let extra = 9;
    let [a, b, _] = operands::words(count, 33);
    let mut wanted = vec![0; 6 * count];
    for i in 0..count {
        let results = paths(&a, i, b[i], extra);
        for (k, result) in results.into_iter().enumerate() {
            wanted[k * count + i] = result;
        }
    }
    let found = run(
        program,
        "control",
        (blocks, 64),
        [&a, &b],
        extra,
        options,
        wanted.len(),
    )?;
    let mut values = 0;
    let names = [
        "collatz", "divisor", "nested", "chosen", "walked", "uniform",
    ];
    for (k, name) in names.iter().enumerate() {
        let at = k * count..(k + 1) * count;
        values += same(&format!("control: {name}"), &found[at.clone()], &wanted[at])?;
    }
    Ok(values)
}

/// What `control` does.
fn paths(all: &[u32], i: usize, b: u32, extra: u32) -> [u32; 6] {
    let a = all[i];
    let (mut steps, mut x) = (0, (a & 0xffff) + 1);
    while x != 1 {
        x = if x & 1 != 0 { 3 * x + 1 } else { x / 2 };
        steps += 1;
    }
    let (mut divisor, mut rest) = (a | 1, b | 1);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let mut nested = 0u32;
    if a & 1 != 0 {
        nested = match b & 3 {
            1 | 3 => a.wrapping_mul(3),
            2 => a.wrapping_mul(5),
            _ => all[b as usize % all.len()],
        };
        if a & 2 != 0 {
            nested ^= b;
        }
    } else if b & 4 != 0 {
        for k in (0..b >> 3 & 15).filter(|&k| k != a >> 1 & 7) {
            if k == a >> 4 & 15 {
                break;
            }
            nested = nested.wrapping_add(k.wrapping_mul(a));
        }
    }
    let chosen = match a % 11 {
        0 => b.wrapping_add(1),
        1 => b.wrapping_mul(b),
        2 | 3 => a ^ b,
        5 => b % 77,
        7 => a.wrapping_sub(b) / 3,
        8 => (0..b % 9).fold(0, |chosen: u32, k| chosen * 7 + k),
        _ => 42,
    };
    let table = [a, b, a.wrapping_add(b), a.wrapping_sub(b)];
    let walked = (0..8).fold(0u32, |walked, k| {
        walked
            .wrapping_mul(3)
            .wrapping_add(table[(a >> k & 3) as usize])
    });
    let uniform = (0..extra).fold(0u32, |uniform, k| {
        uniform
            .wrapping_mul(5)
            .wrapping_add(if k & 1 != 0 { a } else { b })
    });
    [steps, divisor, nested, chosen, walked, uniform]
}

/// Positions of threads and blocks in two and three dimensions.
fn positions(program: &Program, options: &Options) -> Result<u64, String> {
    let (grid, block) = ([3, 2, 4], [8, 4, 2]);
    let mut wanted = Vec::new();
    for (bz, by, bx) in coordinates(grid) {
        for (z, y, x) in coordinates(block) {
            wanted.push(x | y << 4 | z << 8 | bx << 12 | by << 20 | bz << 26);
        }
    }
    let mut values = placed(program, "positions", grid, block, &wanted, options)?;
    let (grid, block) = ([5, 3, 1], [10, 7, 1]);
    let mut wanted = Vec::new();
    for (_, by, bx) in coordinates(grid) {
        for (_, y, x) in coordinates(block) {
            wanted.push(x | y << 8 | bx << 16 | by << 24);
        }
    }
    values += placed(program, "positions_flat", grid, block, &wanted, options)?;
    Ok(values)
}

fn coordinates([x, y, z]: [u32; 3]) -> impl Iterator<Item = (u32, u32, u32)> {
    let rows = (0..z).flat_map(move |z| (0..y).map(move |y| (z, y)));
    rows.flat_map(move |(z, y)| (0..x).map(move |x| (z, y, x)))
}

fn placed(
    program: &Program,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    wanted: &[u32],
    options: &Options,
) -> Result<u64, String> {
    let mut out = Buffer::<u32>::unwritten(wanted.len());
    let arguments = Arguments::default()
        .address(0)
        .address(0)
        .address(0)
        .buffer(&mut out)
        .number(grid[0])
        .number(grid[1]);
    launch_grid(program, kernel, grid, block, &arguments, options)
        .map_err(|error| error.to_string())?;
    same(kernel, out.words(), wanted)
}

/// The size of a block, which the launch fills in unasked.
fn sizes(program: &Program, options: &Options) -> Result<u64, String> {
    let mut values = 0;
    for threads in [64, 48, 256] {
        let count = 3 * threads;
        let mut out = Buffer::<u32>::unwritten(count as usize);
        let arguments = Arguments::default()
            .address(0)
            .address(0)
            .address(0)
            .buffer(&mut out)
            .number(0)
            .number(0);
        launch(program, "sizes", 3, threads, &arguments, options)
            .map_err(|error| error.to_string())?;
        let wanted: Vec<u32> = (0..count).map(|i| threads * 1000 + i).collect();
        values += same("sizes", out.words(), &wanted)?;
    }
    Ok(values)
}

fn running_sums(program: &Program, blocks: u32, options: &Options) -> Result<u64, String> {
    let count = (blocks * 256) as usize;
    let [a, _, _] = operands::words(count, 34);
    let mut wanted = vec![0; 2 * count];
    for (block, words) in a.chunks_exact(256).enumerate() {
        let total: u64 = words.iter().map(|&word| u64::from(word)).sum();
        let mut sum = 0;
        for (t, &word) in words.iter().enumerate() {
            sum += u64::from(word);
            wanted[block * 256 + t] = sum;
            wanted[count + block * 256 + t] = total - sum;
        }
    }
    let (mut a, mut out) = (Buffer::new(&a), Buffer::<u64>::unwritten(wanted.len()));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .address(0)
        .address(0)
        .buffer(&mut out)
        .number(count as u32)
        .number(0);
    launch(program, "running_sums", blocks, 256, &arguments, options)
        .map_err(|error| error.to_string())?;
    same("running_sums", out.words(), &wanted)
}
