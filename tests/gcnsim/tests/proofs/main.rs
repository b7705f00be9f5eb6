//! The interpreter against Rust: kernels compiled here for every target, run, and compared with
//! references bit for bit; kernels that are wrong, code that is damaged, and the freedom that
//! hardware has.
//!
//! One case a target and a unit of kernels. What must stay true: a case that cannot run (no
//! compiler, an instruction that is not known) fails, and says what is missing.
#![allow(clippy::unwrap_used, reason = "in a test a panic is the finding")]
#![allow(unsafe_code, reason = "kernels access the buffers of the tests")]

mod columns;
mod damage;
mod defects;
mod device;
mod floats;
mod frames;
mod freedom;
mod instructions;
mod integers;
mod memory;
mod operands;
mod toolchain;
mod waves;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use libtest_mimic::{Arguments, Failed, Trial};
use vmafx_gcnsim::{Options, Program};

use columns::Position;
use toolchain::{GENERATIONS, Target, image, program};

/// Values that were compared and equal.
static VALUES: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, cases());
    println!("figure: {} values compared", VALUES.load(Ordering::Relaxed));
    conclusion.exit_code()
}

/// What runs the kernels of a unit on a target and compares them; returns the number of values.
type Check = fn(Target, &Program) -> Result<u64, String>;

/// Operands of each column.
const OPERANDS: usize = 1000;
/// Operands of division and root, on one target of each family.
const MANY_OPERANDS: usize = 100_000;
/// Blocks of the kernels that are about threads.
const BLOCKS: u32 = 5;

/// Targets whose code is damaged: one of each size of waves.
const DAMAGED: [&str; 2] = ["gfx90a", "gfx1100"];

const UNITS: [(&str, Check); 5] = [
    ("frames", |target, program| {
        let count = match GENERATIONS.contains(&target.0) {
            true => MANY_OPERANDS,
            false => OPERANDS,
        };
        frames::check(program, count, &Options::default())
    }),
    ("integers", |_, program| {
        integers::check(program, OPERANDS, Position::Thread)
    }),
    ("floats", |_, program| {
        floats::check(program, OPERANDS, Position::Thread)
    }),
    ("memory", |_, program| {
        memory::check(program, BLOCKS, &Options::default())
    }),
    ("waves", |target, program| {
        waves::check(target, program, BLOCKS, &Options::default())
    }),
];

fn cases() -> Vec<Trial> {
    let mut cases = Vec::new();
    for target in Target::all() {
        for (unit, check) in UNITS {
            cases.push(case(format!("{}::{unit}", target.0), move || {
                let program = program(unit, target)?;
                match program.object().target == target.0 {
                    true => check(target, &program),
                    false => Err(format!("it is for {}", program.object().target)),
                }
            }));
        }
    }
    for target in GENERATIONS.map(Target) {
        let name = |check| format!("{}::{check}", target.0);
        cases.push(case(name("uniform"), move || uniform(target)));
        cases.push(case(name("instructions"), move || single(target)));
        cases.push(case(name("defects"), move || defects::check(target)));
        cases.push(case(name("freedom"), move || freedom::check(target)));
    }
    for target in DAMAGED.map(Target) {
        cases.push(case(format!("{}::damaged_code", target.0), move || {
            let tally = damage::bytes(target, 5)?;
            println!(
                "figure: {}, single bytes of code changed: {tally:?}",
                target.0
            );
            Ok(0)
        }));
        cases.push(case(format!("{}::damaged_files", target.0), move || {
            damage::files(target)
        }));
    }
    cases
}

/// The arithmetic of the units, by scalar instructions.
fn uniform(target: Target) -> Result<u64, String> {
    let program = |unit| {
        let image = image(unit, target, &["-DUNIFORM"])?;
        Program::load(&image).map_err(|error| error.to_string())
    };
    let values = integers::check(&program("integers")?, OPERANDS / 2, Position::Block)?;
    Ok(values + floats::check(&program("floats")?, OPERANDS / 2, Position::Block)?)
}

/// Instructions that the units have not.
fn single(target: Target) -> Result<u64, String> {
    instructions::check(&program("instructions", target)?, OPERANDS)
}

/// A case that compares values and returns how many.
fn case(name: String, check: impl FnOnce() -> Result<u64, String> + Send + 'static) -> Trial {
    Trial::test(name, move || match check() {
        Ok(values) => {
            VALUES.fetch_add(values, Ordering::Relaxed);
            Ok(())
        }
        Err(reason) => Err(Failed::from(reason)),
    })
}
