//! What hardware is free to do must not show: estimates of reciprocals and roots, the order of
//! waves, blocks on several cores. And each of these freedoms is taken.

use vmafx_gcnsim::{Estimates, Options, Order};

use crate::device::{Arguments, Buffer, launch, same};
use crate::toolchain::{Target, program};
use crate::{BLOCKS, frames, memory, operands, waves};

const COUNT: usize = 2000;

/// All freedoms on one target.
pub(crate) fn check(target: Target) -> Result<u64, String> {
    let units = ["frames", "memory", "waves"].map(|unit| program(unit, target));
    let [frames, memory, waves] = units;
    let (frames, memory, waves) = (frames?, memory?, waves?);
    let mut values = 0;
    for estimates in estimates() {
        let options = Options {
            estimates,
            ..Options::default()
        };
        let failed = |reason| format!("{estimates:?}: {reason}");
        values += frames::singles(&frames, COUNT, &options).map_err(failed)?;
        values += frames::doubles(&frames, COUNT, &options).map_err(failed)?;
    }
    values += raw(target)?;
    for (order, workers) in [
        (Order::Forward, 1),
        (Order::Reverse, 1),
        (Order::Shuffled(1), 1),
        (Order::Shuffled(2), 2),
        (Order::Alternating, 3),
    ] {
        let options = Options {
            order,
            workers,
            // None of these kernels hands data over within a launch.
            exclusive: true,
            ..Options::default()
        };
        let failed = |reason| format!("{order:?}, {workers} workers: {reason}");
        values += frames::check(&frames, 500, &options).map_err(failed)?;
        values += memory::check(&memory, BLOCKS, &options).map_err(failed)?;
        values += waves::check(target, &waves, BLOCKS, &options).map_err(failed)?;
    }
    counts(target)?;
    Ok(values)
}

fn estimates() -> [Estimates; 4] {
    [
        Estimates::Ulp(1),
        Estimates::Ulp(2),
        Estimates::Documented(3),
        Estimates::Documented(4),
    ]
}

/// Estimates by themselves are off by as much as they may be, and some of them are.
fn raw(target: Target) -> Result<u64, String> {
    let program = program("frames", target)?;
    // Neither they nor what they are made of is subnormal.
    let normal = |bits: &u32| (0x2000_0000..0x5f00_0000).contains(bits);
    let singles: Vec<u32> = operands::reals_32(4 * COUNT, 41)[0]
        .iter()
        .copied()
        .filter(normal)
        .collect();
    let normal = |bits: &u64| (0x2000 << 48..0x5f00 << 48).contains(bits);
    let doubles: Vec<u64> = operands::reals_64(4 * COUNT, 42)[0]
        .iter()
        .copied()
        .filter(normal)
        .collect();
    let mut values = 0;
    for estimates in [Estimates::Nearest].into_iter().chain(estimates()) {
        let options = Options {
            estimates,
            ..Options::default()
        };
        let (most_32, most_64) = match estimates {
            Estimates::Nearest => (0, 0),
            Estimates::Ulp(_) => (1, 1),
            Estimates::Documented(_) => (1, 1 << 29),
        };
        let count = singles.len();
        let mut a = Buffer::new(&singles);
        let mut out = [0; 3].map(|_| Buffer::<u32>::unwritten(count));
        let [x, y, z] = &mut out;
        let arguments = Arguments::default()
            .buffer(&mut a)
            .buffer(x)
            .buffer(y)
            .buffer(z);
        let arguments = arguments.number(count as u32);
        let blocks = (count as u32).div_ceil(64);
        launch(&program, "estimates_f32", blocks, 64, &arguments, &options)
            .map_err(|error| error.to_string())?;
        let exact: [fn(f64) -> f64; 3] = [|a| 1.0 / a, |a| 1.0 / a.sqrt(), f64::sqrt];
        for (name, (found, exact)) in ["rcp", "rsq", "sqrt"].iter().zip(out.iter().zip(exact)) {
            let off = found.words().iter().zip(&singles).map(|(&found, &a)| {
                let exact = exact(f32::from_bits(a).into()) as f32;
                found.abs_diff(exact.to_bits()).into()
            });
            values += bounded(&format!("{name} in f32, {estimates:?}"), off, most_32, 0)?;
        }
        let count = doubles.len();
        let mut a = Buffer::new(&doubles);
        let mut out = [0; 2].map(|_| Buffer::<u64>::unwritten(count));
        let [x, y] = &mut out;
        let arguments = Arguments::default().buffer(&mut a).buffer(x).buffer(y);
        let arguments = arguments.number(count as u32);
        let blocks = (count as u32).div_ceil(64);
        launch(&program, "estimates_f64", blocks, 64, &arguments, &options)
            .map_err(|error| error.to_string())?;
        // The reference of a root's reciprocal is rounded twice.
        for (name, found, exact, slack) in [
            ("rcp", &out[0], (|a| 1.0 / a) as fn(f64) -> f64, 0),
            ("rsq", &out[1], |a| 1.0 / a.sqrt(), 1),
        ] {
            let off = found
                .words()
                .iter()
                .zip(&doubles)
                .map(|(&found, &a)| found.abs_diff(exact(f64::from_bits(a)).to_bits()));
            values += bounded(
                &format!("{name} in f64, {estimates:?}"),
                off,
                most_64,
                slack,
            )?;
        }
    }
    Ok(values)
}

/// That no number is larger than `most`, and that some come near. `slack` is the error of the
/// reference.
fn bounded(
    what: &str,
    off: impl Iterator<Item = u64>,
    most: u64,
    slack: u64,
) -> Result<u64, String> {
    let (mut largest, mut count) = (0, 0);
    for off in off {
        largest = off.max(largest);
        count += 1;
    }
    match largest <= most + slack && largest * 10 >= most * 9 {
        true => Ok(count),
        false => Err(format!(
            "{what}: off by up to {largest} units, allowed are {most}"
        )),
    }
}

/// What a launch did is counted alike, whoever did it.
fn counts(target: Target) -> Result<(), String> {
    let program = program("waves", target)?;
    let of = |workers, order| {
        let input: Vec<u32> = (0..256 * 8).collect();
        let (mut a, mut out) = (
            Buffer::new(&input),
            Buffer::<u64>::unwritten(2 * input.len()),
        );
        let arguments = Arguments::default()
            .buffer(&mut a)
            .address(0)
            .address(0)
            .buffer(&mut out)
            .number(input.len() as u32)
            .number(0);
        let options = Options {
            workers,
            order,
            ..Options::default()
        };
        let counts = launch(&program, "running_sums", 8, 256, &arguments, &options);
        let counts = counts.map_err(|error| error.to_string())?;
        Ok::<_, String>((counts, out.words().to_vec()))
    };
    let (once, memory) = of(1, Order::Forward)?;
    if (once.blocks, once.waves) != (8, 8 * 256 / u64::from(target.wave())) {
        return Err(format!("{once:?}"));
    }
    for (workers, order) in [
        (2, Order::Forward),
        (2, Order::Shuffled(5)),
        (9, Order::Reverse),
    ] {
        let (counts, found) = of(workers, order)?;
        if counts != once {
            return Err(format!(
                "{workers} workers, {order:?}: {counts:?} and not {once:?}"
            ));
        }
        same("running_sums", &found, &memory)?;
    }
    Ok(())
}
