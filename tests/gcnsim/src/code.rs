//! A kernel whose instructions are decoded.

use std::collections::BTreeMap;

use crate::Error;
use crate::decode::{Family, Step};
use crate::disassembly::Line;
use crate::dpp::MOVED;
use crate::object::{FLOAT_MODE_IEEE, Kernel};
use crate::text::ACCUMULATION;

/// A decoded kernel for waves of `W` lanes.
#[derive(Debug)]
pub(crate) struct Code<const W: usize> {
    pub(crate) steps: Vec<Step<W>>,
    /// Of each instruction: its address and text.
    pub(crate) lines: Vec<(u64, String)>,
    /// Vector registers, those of accumulation and of DPP included.
    pub(crate) vectors: usize,
    /// How many general ones are used, and how many of accumulation.
    pub(crate) used: [usize; 2],
}

impl<const W: usize> Code<W> {
    /// Decodes a kernel; `listing` are the instructions of its object by address.
    pub(crate) fn decode(
        kernel: &Kernel,
        listing: &BTreeMap<u64, Line<'_>>,
        family: &Family,
    ) -> Result<Self, Error> {
        let (first, size) = kernel.code;
        let lines: Vec<&Line<'_>> = listing
            .range(first..first.saturating_add(size))
            .map(|(_, line)| line)
            .collect();
        let unmodelled = |what: String| Error::Unmodelled {
            kernel: kernel.name.clone(),
            what,
        };
        if kernel.descriptor.float_mode() != FLOAT_MODE_IEEE {
            let mode = kernel.descriptor.float_mode() >> 12;
            return Err(unmodelled(format!(
                "floating-point mode {mode:#x}, which is not to nearest with subnormals"
            )));
        }
        if lines.first().is_none_or(|line| line.address != first) {
            let what = format!("no instruction at its entry, {first:#x}");
            return Err(unmodelled(what));
        }
        let mut next = first;
        for line in &lines {
            if line.address != next {
                let what = format!("no instruction at {next:#x}, but at {:#x}", line.address);
                return Err(unmodelled(what));
            }
            next += 4 * line.encoding.split_whitespace().count() as u64;
        }
        if next != first.saturating_add(size) {
            let what = format!("instructions up to {next:#x} of code of {size} bytes");
            return Err(unmodelled(what));
        }
        let places: BTreeMap<u64, usize> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| (line.address, at))
            .collect();
        let mut unknown: Option<Error> = None;
        let mut count = 0;
        let mut steps = Vec::with_capacity(lines.len());
        for line in &lines {
            let step = Step::decode(line.text, family)
                .and_then(|step| resolve(step, line.address, &places))
                .and_then(|step| within(step, kernel));
            let step = step.unwrap_or_else(|reason| {
                count += 1;
                unknown.get_or_insert_with(|| Error::Unknown {
                    kernel: kernel.name.clone(),
                    address: line.address,
                    text: line.text.to_owned(),
                    reason,
                    count: 0,
                });
                Step::Nothing
            });
            steps.push(step);
        }
        if let Some(Error::Unknown {
            kernel,
            address,
            text,
            reason,
            ..
        }) = unknown
        {
            return Err(Error::Unknown {
                kernel,
                address,
                text,
                reason,
                count,
            });
        }
        if !matches!(
            steps.last(),
            Some(Step::End | Step::Nothing | Step::Jump(..))
        ) {
            return Err(unmodelled("an end that is none".to_owned()));
        }
        // What follows the last instruction is outside the kernel.
        steps.push(Step::Jump(crate::decode::When::Always, usize::MAX));
        let end = next;
        let mut lines: Vec<(u64, String)> = lines
            .iter()
            .map(|line| (line.address, line.text.to_owned()))
            .collect();
        lines.push((end, "(the end of the kernel)".to_owned()));
        let mut used = [0; 2];
        for (from, registers) in steps.iter().flat_map(Step::registers) {
            let end = usize::from(from + registers);
            let (kind, base) = match from {
                ACCUMULATION.. => (1, ACCUMULATION),
                _ => (0, 0),
            };
            used[kind] = used[kind].max(end - usize::from(base));
        }
        used[0] = used[0].max(3);
        let moves = steps.iter().any(|step| matches!(step, Step::Moved(..)));
        let vectors = match (moves, used[1]) {
            (true, _) => usize::from(MOVED) + 2,
            (false, 0) => used[0],
            (false, accumulation) => usize::from(ACCUMULATION) + accumulation,
        };
        Ok(Self {
            steps,
            lines,
            vectors,
            used,
        })
    }
}

/// A jump's target as the number of an instruction.
fn resolve<const W: usize>(
    step: Step<W>,
    address: u64,
    places: &BTreeMap<u64, usize>,
) -> Result<Step<W>, String> {
    let Step::Jump(when, distance) = step else {
        return Ok(step);
    };
    let to = address
        .wrapping_add(4)
        .wrapping_add_signed(4 * distance as i64);
    match places.get(&to) {
        Some(at) => Ok(Step::Jump(when, *at)),
        None => Err(format!(
            "jumps to {to:#x}, where the kernel has no instruction"
        )),
    }
}

/// That an instruction names only registers that the kernel was given.
fn within<const W: usize>(step: Step<W>, kernel: &Kernel) -> Result<Step<W>, String> {
    for (from, count) in step.registers() {
        let end = u64::from(from + count);
        let (given, kind, end) = match from {
            ACCUMULATION.. => (kernel.agprs, "accumulation", end - u64::from(ACCUMULATION)),
            _ => (kernel.vgprs, "vector", end),
        };
        if end > given {
            return Err(format!(
                "{kind} register {} of a kernel that has {given}",
                end - 1
            ));
        }
    }
    Ok(step)
}
