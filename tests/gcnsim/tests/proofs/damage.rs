//! Damaged code objects. A byte that changes in the code ends in an error or in another result,
//! unless the instruction says nothing to an interpreter; whatever else is damaged ends in an
//! answer too. Nothing here panics, hangs or takes the process along.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use vmafx_gcnsim::disassembly::Line;
use vmafx_gcnsim::object::CodeObject;
use vmafx_gcnsim::{Error, Options, Program, mix};

use crate::device::{Arguments, Buffer, launch};
use crate::operands;
use crate::toolchain::{Target, image, listing};

const KERNEL: &str = "mixed";
const COUNT: usize = 192;

/// What became of damaged bytes.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Not loaded.
    refused: u32,
    /// Stopped by a fault.
    faults: u32,
    /// Another result.
    differing: u32,
    /// The instruction does nothing here, before and after: it waits, or is a hint.
    says_nothing: u32,
    /// The instruction is another, and means the same.
    equal: u32,
    /// The instruction could as well be missing: without it the results are the same in all runs.
    superfluous: u32,
}

/// Changes every `step`th byte of the code, one at a time.
pub(crate) fn bytes(target: Target, step: usize) -> Result<Tally, String> {
    let whole_image = image("damage", target, &[])?;
    let image = &whole_image;
    let (start, size) = CodeObject::read(image)?.kernels[0].code;
    let text = listing(image)?;
    let before = lines(&text, start..start + size);
    let offset = place(image, &before[&start]).ok_or("the code is not in the file")?;
    let whole = Program::load(image).map_err(|error| error.to_string())?;
    let runs = runs();
    let wanted: Result<Vec<_>, _> = runs.iter().map(|how| run(&whole, how)).collect();
    let wanted = wanted.map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for at in (0..size as usize).step_by(step) {
        let mut image = image.to_vec();
        // Never 0, so that the byte does change.
        image[offset + at] ^= (mix(at as u64) % 255 + 1) as u8;
        let found = guarded(|| outcome(&image, &runs, &wanted));
        match found.map_err(|panic| format!("byte {at} of the code: {panic}"))? {
            Outcome::Refused => tally.refused += 1,
            Outcome::Fault => tally.faults += 1,
            Outcome::Differs => tally.differing += 1,
            Outcome::Same => {
                let text = listing(&image)?;
                let after = lines(&text, start..start + size);
                match changed(&before, &after) {
                    None => tally.says_nothing += 1,
                    Some((line, now)) if is_equal(line.text, now) => tally.equal += 1,
                    Some((line, now)) => {
                        let from = offset + (line.address - start) as usize;
                        let mut image = whole_image.to_vec();
                        for word in line.encoding.split_whitespace().enumerate() {
                            image[from + 4 * word.0..][..4].copy_from_slice(&NOTHING);
                        }
                        if !matches!(outcome(&image, &runs, &wanted), Outcome::Same) {
                            return Err(format!(
                                "{:#x} `{}` became `{now}`, and the results are the same",
                                line.address, line.text
                            ));
                        }
                        tally.superfluous += 1;
                    }
                }
            }
        }
    }
    Ok(tally)
}

enum Outcome {
    Refused,
    Fault,
    Differs,
    Same,
}

/// `s_nop 0`.
const NOTHING: [u8; 4] = 0xbf80_0000u32.to_le_bytes();

fn outcome(image: &[u8], runs: &[How], wanted: &[Vec<u32>]) -> Outcome {
    let Ok(program) = Program::load(image) else {
        return Outcome::Refused;
    };
    for (how, wanted) in runs.iter().zip(wanted) {
        match run(&program, how) {
            Ok(found) if found == *wanted => {}
            Ok(_) => return Outcome::Differs,
            Err(_) => return Outcome::Fault,
        }
    }
    Outcome::Same
}

/// Where in the file an instruction is: its first word is the first of its kind.
fn place(image: &[u8], line: &Line<'_>) -> Option<usize> {
    let words = line.encoding.split_whitespace();
    let words = words.map(|word| Some(u32::from_str_radix(word, 16).ok()?.to_le_bytes()));
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    image
        .windows(bytes.len())
        .position(|window| window == bytes)
}

fn lines(text: &str, within: std::ops::Range<u64>) -> BTreeMap<u64, Line<'_>> {
    let lines = text.lines().filter_map(Line::parse);
    let lines = lines.filter(|line| within.contains(&line.address));
    lines.map(|line| (line.address, line)).collect()
}

/// How a kernel is run: the seed of its operands, rounds of its loop, poison.
type How = (u64, u32, u8);

/// Rounds that take each path around the unrolled loop, with what registers may hold by accident.
fn runs() -> Vec<How> {
    let rounds = [21, 0, 1, 7, 8, 64];
    let with = |poison| {
        rounds
            .into_iter()
            .map(move |rounds| (u64::from(rounds), rounds, poison))
    };
    with(0xa5).chain(with(0)).chain(with(0xff)).collect()
}

fn run(program: &Program, &(seed, rounds, poison): &How) -> Result<Vec<u32>, Error> {
    let [a, b, _] = operands::reals_32(COUNT, seed);
    let (mut a, mut b) = (Buffer::new(&a), Buffer::new(&b));
    let mut out = Buffer::<u32>::unwritten(2 * COUNT);
    let arguments = Arguments::default()
        .buffer(&mut a)
        .buffer(&mut b)
        .address(0)
        .buffer(&mut out)
        .number(COUNT as u32)
        .number(rounds);
    let options = Options {
        most_instructions: 100_000,
        poison,
        ..Options::default()
    };
    launch(program, KERNEL, COUNT as u32 / 64, 64, &arguments, &options)?;
    Ok(out.words().to_vec())
}

/// Whether two instructions that differ mean the same.
fn is_equal(before: &str, now: &str) -> bool {
    // The crossbar's addresses wrap at 64 lanes of 4 bytes, those of 32 lanes too.
    if let Some(offset) = now
        .strip_prefix(before)
        .and_then(|rest| rest.strip_prefix(" offset:"))
    {
        let wraps = offset
            .parse()
            .is_ok_and(|offset: u32| offset.is_multiple_of(256));
        return before.starts_with("ds_bpermute") && wraps;
    }
    // The carry goes elsewhere, and nobody takes it or it is 0: the lower half of an address moves
    // within a buffer, and no buffer crosses 4 GiB.
    let without_carry = |text: &str| {
        let mut operands: Vec<String> = text.split(", ").map(str::to_owned).collect();
        let carries = ["v_add_co", "v_addc_co", "v_mad_u64_u32"];
        let carries = carries.iter().any(|name| text.starts_with(name));
        (carries && operands.len() > 3).then(|| operands.remove(1))?;
        Some(operands)
    };
    without_carry(before).is_some_and(|operands| without_carry(now) == Some(operands))
}

/// The first instruction that became another and what it became, unless it does nothing here
/// before and after.
fn changed<'a>(
    before: &BTreeMap<u64, Line<'a>>,
    after: &BTreeMap<u64, Line<'a>>,
) -> Option<(Line<'a>, &'a str)> {
    let nothing = ["s_wait", "s_delay_alu", "s_clause", "s_nop", "s_endpgm"];
    let meaning = |line: &Line<'_>| match nothing.iter().find(|name| line.text.starts_with(**name))
    {
        Some(&"s_endpgm") => "ends".to_owned(),
        Some(_) => "does nothing".to_owned(),
        None => line.text.to_owned(),
    };
    let (at, line) = before
        .iter()
        .find(|(at, line)| after.get(at).map(meaning) != Some(meaning(line)))?;
    let now = after.get(at).map_or("nothing", |line| line.text);
    Some((*line, now))
}

/// Whether the interpreter gives answers to all kinds of damage of the file around the code.
pub(crate) fn files(target: Target) -> Result<u64, String> {
    let image = image("damage", target, &[])?;
    let mut answers = 0;
    let mut check = |damaged: &[u8], what: String| {
        let answer = guarded(|| {
            Program::load(damaged).and_then(|program| run(&program, &(1, 21, 0xa5)).map(|_| ()))
        });
        answers += 1;
        answer
            .map(|_| ())
            .map_err(|panic| format!("{what}: {panic}"))
    };
    for part in 0..32 {
        let length = image.len() * part / 32;
        check(&image[..length], format!("the first {length} bytes"))?;
    }
    for seed in 0..100 {
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
