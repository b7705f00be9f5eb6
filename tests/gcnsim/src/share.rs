//! Instructions of LDS, and the exchanges between lanes that go through its crossbar.

use crate::Fault;
use crate::access::{Type, get, put};
use crate::dispatch::Context;
use crate::lds;
use crate::memory::{Atomic, atomic};
use crate::text::Text;
use crate::wave::{State, Wave};

/// An instruction whose name begins with `ds_`.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    what: What,
    address: u16,
    /// The first register of each piece of data.
    data: [u16; 2],
    dest: Option<u16>,
    /// Offsets in bytes, one for each piece.
    offsets: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Read(Type),
    Write(Type),
    Atomic(Atomic),
    /// Each lane reads from the lane that it names.
    Pull,
    /// Each lane writes to the lane that it names.
    Push,
    /// Lanes of groups, by a pattern of the instruction.
    Swizzle(Swizzle),
}

/// Where a lane reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swizzle {
    /// Within 32 lanes, by masks over a lane's number: and, or, exclusive or.
    Masks(u8, u8, u8),
    /// Within 4 lanes, a number for each.
    Quad([u8; 4]),
    /// Within 32 lanes, that many lanes further, round.
    Rotate(i8),
}

impl Share {
    /// Reads an instruction of LDS; none where it is another.
    pub(crate) fn decode(text: &mut Text<'_>) -> Option<Result<Self, String>> {
        let rest = text.name.strip_prefix("ds_")?;
        let exchange = match rest {
            "bpermute_b32" => Some(What::Pull),
            "permute_b32" => Some(What::Push),
            _ => None,
        };
        if let Some(what) = exchange {
            return Some(Self::exchange(text, what));
        }
        if rest == "swizzle_b32" {
            return Some(Self::swizzle(text));
        }
        let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| rest.strip_prefix(p));
        if let Some(name) = prefixed(["read", "load"]) {
            return Self::plain(text, name, true);
        }
        if let Some(name) = prefixed(["write", "store"])
            && !name.starts_with("xchg")
        {
            return Self::plain(text, name, false);
        }
        let (name, returns) = match rest.contains("_rtn_") {
            true => (rest.replacen("_rtn", "", 1), true),
            false => (rest.to_owned(), false),
        };
        let atomic = atomic(&name)?;
        Some(Self::atomic(
            text,
            atomic,
            returns,
            name.starts_with("cmpst_"),
        ))
    }

    /// `name` is what stands behind `read` or `write`: `_b32`, `2_b64`, `_2addr_stride64_b32`.
    fn plain(text: &mut Text<'_>, name: &str, reads: bool) -> Option<Result<Self, String>> {
        let two = ["2st64", "_2addr_stride64", "2", "_2addr"];
        let (pieces, name) = match two.iter().find_map(|p| Some((p, name.strip_prefix(p)?))) {
            Some((prefix, rest)) => (if prefix.contains("64") { 64 } else { 1 }, rest),
            None => (0, name),
        };
        let of = Type::named(name.strip_prefix('_')?)?;
        Some((|| {
            let offsets = match pieces {
                0 => vec![text.number("offset")?.unwrap_or(0) as u64],
                stride => {
                    let unit = stride * of.bytes as u64;
                    let first = text.number("offset0")?.unwrap_or(0) as u64;
                    let second = text.number("offset1")?.unwrap_or(0) as u64;
                    vec![first * unit, second * unit]
                }
            };
            let words = of.registers() as u16;
            let count = offsets.len() as u16;
            let registers = |at: usize, expected: u16| {
                let (first, found) = text.vectors(at)?;
                match found == expected {
                    true => Ok(first),
                    false => Err(format!("{found} registers for {expected} words")),
                }
            };
            let (address, data) = match reads {
                true => {
                    let first = registers(0, words * count)?;
                    (registers(1, 1)?, [first, first + words])
                }
                false if count == 2 => (
                    registers(0, 1)?,
                    [registers(1, words)?, registers(2, words)?],
                ),
                false => (registers(0, 1)?, [registers(1, words)?; 2]),
            };
            Ok(Self {
                what: if reads {
                    What::Read(of)
                } else {
                    What::Write(of)
                },
                address,
                data,
                dest: None,
                offsets,
            })
        })())
    }

    /// `compared_first` is whether the number to compare with stands before the data.
    fn atomic(
        text: &mut Text<'_>,
        atomic: Atomic,
        returns: bool,
        compared_first: bool,
    ) -> Result<Self, String> {
        let first = usize::from(returns);
        let data = text.vectors(first + 1)?.0;
        let second = match atomic.compares {
            true => text.vectors(first + 2)?.0,
            false => data,
        };
        Ok(Self {
            what: What::Atomic(atomic),
            address: text.vectors(first)?.0,
            data: if compared_first {
                [second, data]
            } else {
                [data, second]
            },
            dest: if returns {
                Some(text.vectors(0)?.0)
            } else {
                None
            },
            offsets: vec![text.number("offset")?.unwrap_or(0) as u64],
        })
    }

    fn exchange(text: &mut Text<'_>, what: What) -> Result<Self, String> {
        Ok(Self {
            what,
            dest: Some(text.vectors(0)?.0),
            address: text.vectors(1)?.0,
            data: [text.vectors(2)?.0; 2],
            offsets: vec![text.number("offset")?.unwrap_or(0) as u64],
        })
    }

    fn swizzle(text: &mut Text<'_>) -> Result<Self, String> {
        let pattern = text.take("offset").ok_or("no pattern")?;
        let swizzle = Swizzle::parse(pattern).ok_or_else(|| format!("pattern {pattern}"))?;
        let data = text.vectors(1)?.0;
        Ok(Self {
            what: What::Swizzle(swizzle),
            dest: Some(text.vectors(0)?.0),
            address: data,
            data: [data; 2],
            offsets: Vec::new(),
        })
    }

    /// The vector registers that it names: the first and how many.
    pub(crate) fn registers(&self) -> Vec<(u16, u16)> {
        let words = match self.what {
            What::Read(of) | What::Write(of) => of.registers(),
            What::Atomic(atomic) => atomic.bytes / 4,
            _ => 1,
        } as u16;
        let mut all = vec![(self.address, 1)];
        let pieces = match self.what {
            What::Atomic(_) => 2,
            _ => self.offsets.len().max(1),
        };
        all.extend(self.data[..pieces].iter().map(|data| (*data, words)));
        all.extend(self.dest.map(|dest| (dest, words)));
        all
    }

    /// Runs it for every active lane.
    pub(crate) fn run<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        match self.what {
            What::Pull | What::Push => return self.exchanged(wave, context),
            What::Swizzle(swizzle) => {
                let from = |lane| swizzle.source(lane);
                self.moved(wave, from);
                return Ok(());
            }
            _ => {}
        }
        if wave.state == State::Signalled {
            let what = "an access of LDS between the signal of a barrier and its wait";
            return Err(Fault::Unmodelled(what.to_owned()));
        }
        let mut lanes = wave.exec();
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let by = lds::Access {
                wave: wave.number,
                epoch: wave.epoch,
                instruction: context.instruction,
                lane: lane as u32,
            };
            let base = wave.v[usize::from(self.address)][lane];
            for (offset, data) in self.offsets.iter().zip(self.data) {
                // A base below 0 is one: addresses have 32 bits.
                let at = base.wrapping_add(*offset as u32);
                let done = self.one(wave, context, &by, at.into(), data);
                done.map_err(|refused| context.refusal(refused))?;
            }
        }
        Ok(())
    }

    fn one<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        context: &mut Context<'_>,
        by: &lds::Access,
        at: u64,
        data: u16,
    ) -> Result<(), lds::Refused> {
        let (lane, first) = (by.lane as usize, usize::from(data));
        match &self.what {
            What::Read(of) => {
                let words = context.lds.read(by, at, of.bytes)?;
                for (i, word) in words.iter().enumerate().take(of.registers()) {
                    let register = &mut wave.v[first + i][lane];
                    *register = of.loaded(*word, *register);
                }
            }
            What::Write(of) => {
                let mut words = [0; 4];
                for (i, word) in words.iter_mut().enumerate().take(of.registers()) {
                    *word = of.stored(wave.v[first + i][lane]);
                }
                context.lds.write(by, at, of.bytes, &words)?;
            }
            What::Atomic(atomic) => {
                let value = get(wave, data, atomic.bytes, lane);
                let compared = get(wave, self.data[1], atomic.bytes, lane);
                let make = |old| (atomic.change)(old, value, compared);
                let old = context.lds.change(by, at, atomic.bytes, make)?;
                if let Some(dest) = self.dest {
                    put(wave, dest, atomic.bytes, lane, old);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn exchanged<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        context: &Context<'_>,
    ) -> Result<(), Fault> {
        if W == 64 && !context.whole_wave_exchanges {
            let what = "an exchange of a wave of 64 lanes, which this family makes in halves";
            return Err(Fault::Unmodelled(what.to_owned()));
        }
        let offset = self.offsets.first().copied().unwrap_or(0) as u32;
        let places = wave.v[usize::from(self.address)];
        let place = |lane: usize| (places[lane].wrapping_add(offset) >> 2) as usize % W;
        if matches!(self.what, What::Pull) {
            self.moved(wave, place);
            return Ok(());
        }
        let (data, exec) = (wave.v[usize::from(self.data[0])], wave.exec());
        let mut pushed = [0; W];
        for lane in (0..W).filter(|lane| exec >> lane & 1 != 0) {
            pushed[place(lane)] = data[lane];
        }
        wave.write(self.dest.unwrap_or_default(), &pushed);
        Ok(())
    }

    /// Each lane gets the data of another, 0 from one that is not active.
    fn moved<const W: usize>(&self, wave: &mut Wave<W>, from: impl Fn(usize) -> usize) {
        let (data, exec) = (wave.v[usize::from(self.data[0])], wave.exec());
        let moved = std::array::from_fn(|lane| match from(lane) {
            from if exec >> from & 1 != 0 => data[from],
            _ => 0,
        });
        wave.write(self.dest.unwrap_or_default(), &moved);
    }
}

impl Swizzle {
    /// Reads a number, or what the disassembler makes of one: `swizzle(SWAP,16)`,
    /// `swizzle(BROADCAST,32,5)`, `swizzle(REVERSE,4)`, `swizzle(QUAD_PERM,0,1,2,3)`,
    /// `swizzle(BITMASK_PERM,"00p11")`.
    fn parse(text: &str) -> Option<Self> {
        if let Some(number) = crate::text::number(text) {
            return Self::of(number as u16);
        }
        let inner = text.strip_prefix("swizzle(")?.strip_suffix(')')?;
        let mut parts = inner.split(',').map(str::trim);
        let name = parts.next()?;
        if name == "BITMASK_PERM" {
            return Self::bits(parts.next()?.trim_matches('"'));
        }
        let numbers: Option<Vec<u8>> = parts.map(|part| part.parse().ok()).collect();
        Some(match (name, &numbers?[..]) {
            ("QUAD_PERM", &[a, b, c, d]) => Self::Quad([a, b, c, d]),
            ("SWAP", &[lanes]) => Self::Masks(31, 0, lanes),
            ("REVERSE", &[lanes]) => Self::Masks(31, 0, lanes.checked_sub(1)?),
            ("BROADCAST", &[lanes, lane]) => Self::Masks(32u8.checked_sub(lanes)?, lane, 0),
            ("ROTATE", &[0, by]) => Self::Rotate(by as i8),
            ("ROTATE", &[1, by]) => Self::Rotate(-(by as i8)),
            _ => return None,
        })
    }

    fn of(number: u16) -> Option<Self> {
        let bits = |from: u32| (number >> from & 31) as u8;
        match number >> 15 {
            0 => Some(Self::Masks(bits(0), bits(5), bits(10))),
            _ if number & 0xff00 == 0x8000 => {
                let two = |from: u32| (number >> from & 3) as u8;
                Some(Self::Quad([two(0), two(2), two(4), two(6)]))
            }
            _ => None,
        }
    }

    /// A letter a bit, the highest first: 0, 1, p as it is, i inverted.
    fn bits(text: &str) -> Option<Self> {
        let (mut and, mut or, mut xor) = (0, 0, 0);
        for (at, letter) in text.chars().rev().enumerate() {
            let bit = 1u8.checked_shl(at as u32)?;
            match letter {
                '0' => {}
                '1' => or |= bit,
                'p' => and |= bit,
                'i' => (and, xor) = (and | bit, xor | bit),
                _ => return None,
            }
        }
        Some(Self::Masks(and, or, xor))
    }

    fn source(self, lane: usize) -> usize {
        match self {
            Self::Masks(and, or, xor) => {
                let within = lane as u8 & 31;
                lane & !31 | usize::from((within & and | or) ^ xor)
            }
            Self::Quad(choice) => lane & !3 | usize::from(choice[lane & 3] & 3),
            Self::Rotate(by) => lane & !31 | (lane as i32 + i32::from(by)) as usize & 31,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        let from = |text, lane| Swizzle::parse(text).unwrap().source(lane);
        assert_eq!(from("swizzle(SWAP,16)", 35), 51);
        assert_eq!(from("swizzle(REVERSE,4)", 36), 39);
        assert_eq!(from("swizzle(BROADCAST,8,3)", 45), 43);
        assert_eq!(from("swizzle(QUAD_PERM,3,2,1,0)", 5), 6);
        assert_eq!(from("swizzle(BITMASK_PERM,\"01pip\")", 31), 0b01101);
        assert_eq!(from("0x801b", 4), 7);
        assert_eq!(Swizzle::parse("swizzle(FFT,3)"), None);
    }
}
