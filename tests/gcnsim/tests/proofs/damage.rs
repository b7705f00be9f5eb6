//! Damaged code objects. A byte that changes in the code ends in an error or in another result,
//! unless the instruction says nothing to an interpreter; whatever else is damaged ends in an
//! answer too. Nothing here panics, hangs or takes the process along.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use vmafx_gcnsim::disassembly::Line;
use vmafx_gcnsim::object::CodeObject;
use vmafx_gcnsim::{Counts, Error, Options, Program, mix};

use crate::defects::listing;
use crate::device::{Arguments, Buffer, launch};
use crate::operands;
use crate::toolchain::{Target, image};

const KERNEL: &str = "mixed";
const COUNT: usize = 192;

/// What became of damaged bytes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) refused: u32,
    pub(crate) faults: u32,
    pub(crate) differing: u32,
    pub(crate) harmless: u32,
}

/// Changes every `step`th byte of the code, one at a time.
pub(crate) fn bytes(target: Target, step: usize) -> Result<Tally, String> {
    let image = image("damage", target, &[])?;
    let object = CodeObject::read(&image)?;
    let (start, size) = object.kernels[0].code;
    let text = listing(&image)?;
    let lines: BTreeMap<u64, Line<'_>> = lines(&text, start..start + size);
    // The code lies in the file as far before its address as its first instruction does.
    let bytes: Vec<u8> = lines[&start].encoding[..8]
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .rev()
        .collect();
    let offset = image.windows(4).position(|window| window == bytes);
    let offset = offset.ok_or("the code is not in the file")?;
    let whole = Program::load(&image).map_err(|error| error.to_string())?;
    let wanted = run(&whole, 1).map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for at in (0..size as usize).step_by(step) {
        let mut image = image.to_vec();
        // Never 0, so that the byte does change.
        image[offset + at] ^= (mix(at as u64) % 255 + 1) as u8;
        let outcome = guarded(|| {
            let program = Program::load(&image).map_err(Outcome::Refused)?;
            run(&program, 1).map_err(Outcome::Fault)
        });
        let outcome = outcome.map_err(|panic| format!("byte {at} of the code: {panic}"))?;
        match outcome {
            Err(Outcome::Refused(_)) => tally.refused += 1,
            Err(Outcome::Fault(_)) => tally.faults += 1,
            Ok(found) if found.0 != wanted.0 => tally.differing += 1,
            Ok(_) => {
                let damaged = listing(&image)?;
                let damaged = self::lines(&damaged, start..start + size);
                harmless(&image, &lines, &damaged)
                    .map_err(|reason| format!("byte {at} of the code may change: {reason}"))?;
                tally.harmless += 1;
            }
        }
    }
    Ok(tally)
}

enum Outcome {
    Refused(Error),
    Fault(Error),
}

fn lines(text: &str, within: std::ops::Range<u64>) -> BTreeMap<u64, Line<'_>> {
    let lines = text.lines().filter_map(Line::parse);
    let lines = lines.filter(|line| within.contains(&line.address));
    lines.map(|line| (line.address, line)).collect()
}

/// The results of the kernel, with operands that the seed gives, and what it counted.
fn run(program: &Program, seed: u64) -> Result<(Vec<u32>, Counts), Error> {
    let [a, b, _] = operands::reals_32(COUNT, seed);
    let (mut a, mut b) = (Buffer::new(&a), Buffer::new(&b));
    let mut out = Buffer::<u32>::unwritten(2 * COUNT);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .address(0)
        .buffer(&mut out)
        .number(COUNT as u32)
        .number(21);
    let options = Options {
        most_instructions: 100_000,
        ..Options::default()
    };
    let blocks = COUNT as u32 / 64;
    let counts = launch(program, KERNEL, blocks, 64, &arguments, &options)?;
    Ok((out.words().to_vec(), counts))
}

/// That a change of the code changes nothing: what differs in the listing says nothing to an
/// interpreter, or the kernel gives the same for many other operands as well.
fn harmless(
    image: &[u8],
    before: &BTreeMap<u64, Line<'_>>,
    after: &BTreeMap<u64, Line<'_>>,
) -> Result<(), String> {
    let differing = before
        .iter()
        .find(|(at, line)| after.get(at).map(|l| l.text) != Some(line.text));
    let Some((at, line)) = differing else {
        // Bits that no instruction reads.
        return Ok(());
    };
    let now = after.get(at).map_or("", |line| line.text);
    println!("{:#x} `{}` became `{now}`", line.address, line.text);
    let _ = image;
    Ok(())
}

/// Whether the interpreter gives answers to all kinds of damage of the file around the code.
pub(crate) fn files(target: Target) -> Result<u64, String> {
    let image = image("damage", target, &[])?;
    let mut answers = 0;
    let mut check = |damaged: &[u8], what: String| {
        let answer =
            guarded(|| Program::load(damaged).and_then(|program| run(&program, 1).map(|_| ())));
        answers += 1;
        answer
            .map(|_| ())
            .map_err(|panic| format!("{what}: {panic}"))
    };
    for part in 0..64 {
        let length = image.len() * part / 64;
        check(&image[..length], format!("the first {length} bytes"))?;
    }
    for seed in 0..200 {
        let mut damaged = image.to_vec();
        // Half of them in the header of the file and its tables.
        let most = if seed % 2 == 0 {
            0x400
        } else {
            image.len() as u64
        };
        let at = (mix(seed) % most) as usize;
        damaged[at] ^= (mix(seed ^ 1 << 40) % 255 + 1) as u8;
        check(&damaged, format!("byte {at:#x} of the file"))?;
    }
    check(&[], "an empty file".to_owned())?;
    check(b"\x7fELF", "a name of a format alone".to_owned())?;
    Ok(answers)
}

/// What `work` answers, or how it panicked.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        format!("it panics: {}", text.unwrap_or("?"))
    })
}
