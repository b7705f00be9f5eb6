//! The kernels that a metric is made of: sums of differences, a filter, division and roots.

use vmafx_gcnsim::{Options, Program, mix};

use crate::device::{Arguments, Buffer, launch, launch_grid, same};
use crate::operands;

/// Samples of a row, rows, and samples between the starts of two rows.
pub(crate) type Size = (u32, u32, u32);

const TAPS: [f32; 9] = [
    0.0076, 0.036, 0.1096, 0.2134, 0.2666, 0.2134, 0.1096, 0.036, 0.0076,
];

/// Runs all kernels of the unit; `count` operands for division and roots.
pub(crate) fn check(program: &Program, count: usize, options: &Options) -> Result<u64, String> {
    let mut values = 0;
    for size in [(45, 37, 48), (16, 16, 16), (1, 1, 1), (33, 64, 40)] {
        values += sad(program, size, options)?;
        values += filter(program, size, options)?;
    }
    values += singles(program, count, options)?;
    values += doubles(program, count, options)?;
    Ok(values)
}

fn plane(count: u32, seed: u64) -> impl Iterator<Item = u64> {
    (0..u64::from(count)).map(move |i| mix(seed << 32 ^ i))
}

fn sad(program: &Program, (w, h, stride): Size, options: &Options) -> Result<u64, String> {
    let plane = |seed| {
        plane(stride * h, seed)
            .map(|x| x as u8)
            .collect::<Vec<u8>>()
    };
    let (a, b) = (plane(1), plane(2));
    let mut wanted = 5;
    for y in 0..h {
        for at in (y * stride) as usize..(y * stride + w) as usize {
            wanted += u64::from(a[at].abs_diff(b[at]));
        }
    }
    let (mut a, mut b, mut out) = (Buffer::new(&a), Buffer::new(&b), Buffer::new(&[5]));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .number(w)
        .number(h)
        .number(stride)
        .buffer(&mut out);
    let grid = [w.div_ceil(16), h.div_ceil(16), 1];
    launch_grid(program, "sad_u8", grid, [16, 16, 1], &arguments, options)
        .map_err(|error| error.to_string())?;
    same("sad_u8", out.words(), &[wanted])
}

fn filter(program: &Program, (w, h, stride): Size, options: &Options) -> Result<u64, String> {
    let source: Vec<f32> = plane(stride * h, 3)
        .map(|x| (x as i32) as f32 / 3e7)
        .collect();
    let clamp = |at: i32, n: u32| at.clamp(0, n as i32 - 1) as u32;
    let tap = |at: &dyn Fn(i32) -> f32| {
        let taps = TAPS.iter().zip(-4..);
        taps.fold(0f32, |sum, (tap, k)| sum + tap * at(k))
    };
    let across = |x: u32, y: u32| tap(&|k| source[(y * stride + clamp(x as i32 + k, w)) as usize]);
    let mut wanted = vec![0xcdcd_cdcd; (stride * h) as usize];
    for y in 0..h {
        for x in 0..w {
            let sum = tap(&|k| across(x, clamp(y as i32 + k, h)));
            wanted[(y * stride + x) as usize] = sum.to_bits();
        }
    }
    let bits =
        |values: &[f32]| Buffer::new(&values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    let (mut src, mut taps) = (bits(&source), bits(&TAPS));
    let mut out = Buffer::<u32>::unwritten(wanted.len());
    let arguments = Arguments::default()
        .buffer(&mut src)
        .buffer(&mut out)
        .buffer(&mut taps)
        .number(w)
        .number(h)
        .number(stride);
    let grid = [w.div_ceil(16), h.div_ceil(16), 1];
    launch_grid(
        program,
        "filter9_f32",
        grid,
        [16, 16, 1],
        &arguments,
        options,
    )
    .map_err(|error| error.to_string())?;
    same("filter9_f32", out.words(), &wanted)
}

/// Division and root in f32.
pub(crate) fn singles(program: &Program, count: usize, options: &Options) -> Result<u64, String> {
    let [a, b, _] = operands::reals_32(count, 11);
    let f = f32::from_bits;
    let quotients: Vec<u32> = (a.iter().zip(&b))
        .map(|(&a, &b)| nan_32((f(a) / f(b)).to_bits()))
        .collect();
    let roots: Vec<u32> = a.iter().map(|&a| nan_32(f(a).sqrt().to_bits())).collect();
    let (mut a, mut b) = (Buffer::new(&a), Buffer::new(&b));
    let (mut q, mut r) = (Buffer::unwritten(count), Buffer::unwritten(count));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .buffer(&mut q)
        .buffer(&mut r)
        .number(count as u32);
    let blocks = (count as u32).div_ceil(64);
    launch(program, "divsqrt_f32", blocks, 64, &arguments, options)
        .map_err(|error| error.to_string())?;
    let found = |buffer: &Buffer<u32>| {
        buffer
            .words()
            .iter()
            .map(|&x| nan_32(x))
            .collect::<Vec<_>>()
    };
    Ok(same("quotients in f32", &found(&q), &quotients)?
        + same("roots in f32", &found(&r), &roots)?)
}

/// Division and root in f64, and a ratio that has both.
pub(crate) fn doubles(program: &Program, count: usize, options: &Options) -> Result<u64, String> {
    let [a, b, _] = operands::reals_64(count, 12);
    let d = f64::from_bits;
    let each = |of: fn(f64, f64) -> f64| {
        let pairs = a.iter().zip(&b);
        pairs
            .map(|(&a, &b)| nan_64(of(d(a), d(b)).to_bits()))
            .collect::<Vec<u64>>()
    };
    let (quotients, roots) = (each(|a, b| a / b), each(|a, _| a.sqrt()));
    let ratios = each(|a, b| (2.0 * a * b + 1e-3) / (a * a + b * b + 1e-3) + (a * a + b).sqrt());
    let (mut a, mut b) = (Buffer::new(&a), Buffer::new(&b));
    let (mut q, mut r) = (Buffer::unwritten(count), Buffer::unwritten(count));
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .buffer(&mut q)
        .buffer(&mut r)
        .number(count as u32);
    let blocks = (count as u32).div_ceil(64);
    let failed = |error: vmafx_gcnsim::Error| error.to_string();
    launch(program, "divsqrt_f64", blocks, 64, &arguments, options).map_err(failed)?;
    let found = |buffer: &Buffer<u64>| {
        buffer
            .words()
            .iter()
            .map(|&x| nan_64(x))
            .collect::<Vec<_>>()
    };
    let mut values = same("quotients in f64", &found(&q), &quotients)?;
    values += same("roots in f64", &found(&r), &roots)?;
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .buffer(&mut q)
        .number(count as u32);
    launch(program, "ratio_f64", blocks, 64, &arguments, options).map_err(failed)?;
    values += same("ratios in f64", &found(&q), &ratios)?;
    Ok(values)
}

/// One NaN for all.
fn nan_32(bits: u32) -> u32 {
    if f32::from_bits(bits).is_nan() {
        0x7fc0_0000
    } else {
        bits
    }
}

/// One NaN for all.
fn nan_64(bits: u64) -> u64 {
    if f64::from_bits(bits).is_nan() {
        0x7ff8 << 48
    } else {
        bits
    }
}
