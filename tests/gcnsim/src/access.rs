//! Loads, stores and atomics of global memory and of scratch.

use std::ops::Range;

use crate::Fault;
use crate::dispatch::Context;
use crate::memory::{Atomic, Bytes, How, atomic, bytes_of, change, load, store, words_of};
use crate::text::{Text, number};
use crate::wave::{NULL, Wave};

/// Bytes of one access of a lane, and where they go in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    pub(crate) half: Half,
}

/// Which half of a register is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// The whole of it.
    Both,
    /// The lower one; the upper one stays.
    Low,
    /// The upper one; the lower one stays.
    High,
}

impl Type {
    /// The type of this name, old or new: `dwordx2` and `b64`, `ubyte` and `u8`, `short_d16_hi` and
    /// `d16_hi_b16`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (name, half) = if let Some(name) = name.strip_prefix("d16_hi_") {
            (name, Half::High)
        } else if let Some(name) = name.strip_prefix("d16_") {
            (name, Half::Low)
        } else if let Some(name) = name.strip_suffix("_d16_hi") {
            (name, Half::High)
        } else if let Some(name) = name.strip_suffix("_d16") {
            (name, Half::Low)
        } else {
            (name, Half::Both)
        };
        let (bytes, signed) = match name {
            "ubyte" | "byte" | "u8" | "b8" => (1, false),
            "sbyte" | "i8" => (1, true),
            "ushort" | "short" | "u16" | "b16" => (2, false),
            "sshort" | "i16" => (2, true),
            "dword" | "b32" => (4, false),
            "dwordx2" | "b64" => (8, false),
            "dwordx3" | "b96" => (12, false),
            "dwordx4" | "b128" => (16, false),
            _ => return None,
        };
        (half == Half::Both || bytes <= 2).then_some(Self {
            bytes,
            signed,
            half,
        })
    }

    /// Registers of a lane.
    pub(crate) fn registers(&self) -> usize {
        self.bytes.div_ceil(4)
    }

    /// What a register becomes that held `old`, when `word` was loaded.
    pub(crate) fn loaded(&self, word: u32, old: u32) -> u32 {
        let word = match (self.signed, self.bytes) {
            (true, 1) => word as u8 as i8 as u32,
            (true, 2) => word as u16 as i16 as u32,
            _ => word,
        };
        match self.half {
            Half::Both => word,
            Half::Low => old & 0xffff_0000 | word & 0xffff,
            Half::High => old & 0xffff | word << 16,
        }
    }

    /// What is stored of a register.
    pub(crate) fn stored(&self, word: u32) -> u32 {
        match self.half {
            Half::High => word >> 16,
            _ => word,
        }
    }
}

/// An access of global memory or of scratch.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    space: Space,
    what: What,
    /// The result's register.
    dest: Option<u16>,
    /// The data's register.
    data: u16,
    address: Option<u16>,
    base: Option<u8>,
    offset: i64,
    /// What the offset of a lane is multiplied with.
    scale: u64,
    /// Whether the offset of a lane is signed.
    signed: bool,
    /// The buffer's descriptor.
    buffer: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Global,
    Scratch,
    /// Scratch through a buffer's descriptor, on older families.
    Buffer,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Load(Type),
    Store(Type),
    Atomic(Atomic),
}

/// The third and fourth word of the descriptor that scratch has here.
pub(crate) const SCRATCH_BUFFER: [u32; 2] = [0x5c2a_7c40, 0x5c2a_7c41];

impl Access {
    /// Reads an instruction of global memory or scratch; none where it is another.
    pub(crate) fn decode(
        text: &mut Text<'_>,
        signed_offsets: bool,
    ) -> Option<Result<Self, String>> {
        let (space, rest) = if let Some(rest) = text.name.strip_prefix("global_") {
            (Space::Global, rest)
        } else if let Some(rest) = text.name.strip_prefix("scratch_") {
            (Space::Scratch, rest)
        } else {
            (Space::Buffer, text.name.strip_prefix("buffer_")?)
        };
        let what = if let Some(name) = rest.strip_prefix("load_") {
            What::Load(Type::named(name)?)
        } else if let Some(name) = rest.strip_prefix("store_") {
            What::Store(Type::named(name)?)
        } else {
            What::Atomic(atomic(rest.strip_prefix("atomic_")?)?)
        };
        if space != Space::Global && matches!(what, What::Atomic(_)) {
            return None;
        }
        Some(Self::operands(text, space, what, signed_offsets))
    }

    fn operands(
        text: &mut Text<'_>,
        space: Space,
        what: What,
        signed_offsets: bool,
    ) -> Result<Self, String> {
        // How caches are used makes no difference here.
        for hint in ["glc", "slc", "dlc", "sc0", "sc1", "nt", "scope", "th", "nv"] {
            text.take(hint);
        }
        let offset = text.number("offset")?.unwrap_or(0);
        let (bytes, returns) = match what {
            What::Load(of) => (of.bytes, true),
            What::Store(of) => (of.bytes, false),
            What::Atomic(atomic) => (atomic.bytes, text.operands.len() == 4),
        };
        let scale = match text.take("scale_offset") {
            Some(_) => bytes as u64,
            None => 1,
        };
        let (data_at, address_at) = match (space, what) {
            (Space::Buffer, _) => (0, 1),
            (_, What::Load(_)) => (0, 1),
            (_, What::Store(_)) => (1, 0),
            (_, What::Atomic(_)) => (1 + usize::from(returns), usize::from(returns)),
        };
        let registers = |at: usize, count: usize| {
            let (first, found) = text.vectors(at)?;
            match usize::from(found) == count {
                true => Ok(first),
                false => Err(format!("{found} registers for {count} words")),
            }
        };
        let words = bytes.div_ceil(4);
        let data = match what {
            What::Atomic(Atomic { compares: true, .. }) => registers(data_at, 2 * words)?,
            _ => registers(data_at, words)?,
        };
        let dest = match what {
            What::Load(_) => Some(data),
            What::Atomic(_) if returns => Some(registers(0, words)?),
            _ => None,
        };
        let mut access = Self {
            space,
            what,
            dest,
            data,
            address: None,
            base: None,
            offset,
            scale,
            signed: signed_offsets,
            buffer: 0,
        };
        let last = text.operands.len() - 1;
        let of_lane = match text.operand(address_at)? {
            "off" => None,
            _ => {
                let base = text.operand(last)?;
                let wide = space == Space::Global && ["off", "null"].contains(&base);
                Some(registers(address_at, 1 + usize::from(wide))?)
            }
        };
        access.address = of_lane;
        if space == Space::Buffer {
            access.buffer = text.scalar(2)?;
            let soffset = text.operand(3)?;
            match number(soffset) {
                Some(number) => access.offset += number,
                None => access.base = Some(text.scalar(3)?),
            }
            return match text.take("offen").is_some() == of_lane.is_some() {
                true => Ok(access),
                false => Err("an index".to_owned()),
            };
        }
        if !["off", "null"].contains(&text.operand(last)?) {
            access.base = Some(text.scalar(last)?);
        }
        if space == Space::Global && of_lane.is_none() {
            return Err("no address".to_owned());
        }
        Ok(access)
    }

    /// The vector registers that it names: the first and how many.
    pub(crate) fn registers(&self) -> Vec<(u16, u16)> {
        let words = match self.what {
            What::Load(of) | What::Store(of) => of.registers(),
            What::Atomic(atomic) => atomic.bytes / 4 * (1 + usize::from(atomic.compares)),
        };
        let mut all = vec![(self.data, words as u16)];
        all.extend(self.dest.map(|dest| (dest, 1)));
        let wide = self.space == Space::Global && self.base.is_none();
        all.extend(self.address.map(|at| (at, 1 + u16::from(wide))));
        all
    }

    fn address<const W: usize>(&self, wave: &Wave<W>, lane: usize) -> u64 {
        let of_lane = |at: u16| wave.v[usize::from(at)][lane];
        let base = match (self.base, self.space) {
            (Some(base), Space::Global) => wave.scalar_pair(base),
            (Some(base), _) => u64::from(wave.scalar(base)),
            (None, _) => 0,
        };
        let moved = match self.address {
            Some(at) if self.space == Space::Global && self.base.is_none() => {
                get(wave, at, 8, lane)
            }
            Some(at) if self.signed => i64::from(of_lane(at) as i32) as u64,
            Some(at) => u64::from(of_lane(at)),
            None => 0,
        };
        let moved = moved.wrapping_mul(self.scale).wrapping_add(base);
        let at = moved.wrapping_add_signed(self.offset);
        match self.space {
            Space::Global => at,
            _ => at & 0xffff_ffff,
        }
    }

    /// Runs it for every active lane.
    pub(crate) fn run<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        if self.space == Space::Buffer {
            let words = [0, 1, 2, 3].map(|word| wave.scalar(self.buffer + word));
            if words[..2] != [0; 2] || words[2..] != SCRATCH_BUFFER {
                return Err(Fault::Unmodelled("a buffer that is not scratch".to_owned()));
            }
        }
        let (count, how) = match self.what {
            What::Load(of) => (of.bytes, How::Read),
            What::Store(of) => (of.bytes, How::Write),
            What::Atomic(atomic) => (atomic.bytes, How::Atomic),
        };
        let mut meetings = context.meetings();
        let mut lanes = wave.exec();
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let at = self.address(wave, lane);
            if how == How::Atomic && !at.is_multiple_of(count as u64) {
                return Err(Fault::Misaligned {
                    lane: lane as u32,
                    at,
                    bytes: count as u32,
                });
            }
            if self.space == Space::Global {
                let access = Bytes {
                    at,
                    count: count as u64,
                    how,
                };
                context.access(meetings.as_deref_mut(), wave, lane, &access)?;
            }
            match self.what {
                What::Load(of) => self.load(wave, &of, lane, at)?,
                What::Store(of) => self.store(wave, &of, lane, at)?,
                What::Atomic(atomic) => self.change(wave, &atomic, lane, at),
            }
        }
        Ok(())
    }

    /// `at` is an address that was looked at, or a place in scratch.
    fn load<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        of: &Type,
        lane: usize,
        at: u64,
    ) -> Result<(), Fault> {
        let words = match self.space {
            // SAFETY: the memory holds these bytes.
            Space::Global => unsafe { load(at, of.bytes) },
            _ => words_of(&wave.scratch[scratch(wave, lane, at, of.bytes)?]),
        };
        for (i, word) in words.iter().enumerate().take(of.registers()) {
            let register = &mut wave.v[usize::from(self.data) + i][lane];
            *register = of.loaded(*word, *register);
        }
        Ok(())
    }

    /// As for [`load`](Self::load).
    fn store<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        of: &Type,
        lane: usize,
        at: u64,
    ) -> Result<(), Fault> {
        let mut words = [0; 4];
        for (i, word) in words.iter_mut().enumerate().take(of.registers()) {
            *word = of.stored(wave.v[usize::from(self.data) + i][lane]);
        }
        match self.space {
            // SAFETY: the memory holds these bytes, writable.
            Space::Global => unsafe { store(at, of.bytes, &words) },
            _ => {
                let place = scratch(wave, lane, at, of.bytes)?;
                bytes_of(&words, &mut wave.scratch[place]);
            }
        }
        Ok(())
    }

    /// As for [`load`](Self::load), and the address is a multiple of the size.
    fn change<const W: usize>(&self, wave: &mut Wave<W>, atomic: &Atomic, lane: usize, at: u64) {
        let data = get(wave, self.data, atomic.bytes, lane);
        // What it compares with stands behind.
        let compared = match atomic.compares {
            true => get(
                wave,
                self.data + (atomic.bytes / 4) as u16,
                atomic.bytes,
                lane,
            ),
            false => 0,
        };
        // SAFETY: the memory holds these bytes, writable, at a multiple of their size.
        let old = unsafe { change(at, atomic, data, compared) };
        if let Some(dest) = self.dest {
            put(wave, dest, atomic.bytes, lane, old);
        }
    }
}

/// 4 or 8 bytes of a lane.
pub(crate) fn get<const W: usize>(wave: &Wave<W>, at: u16, bytes: usize, lane: usize) -> u64 {
    let at = usize::from(at);
    let high = match bytes {
        8 => u64::from(wave.v[at + 1][lane]) << 32,
        _ => 0,
    };
    u64::from(wave.v[at][lane]) | high
}

/// Writes 4 or 8 bytes of a lane.
pub(crate) fn put<const W: usize>(
    wave: &mut Wave<W>,
    at: u16,
    bytes: usize,
    lane: usize,
    value: u64,
) {
    let at = usize::from(at);
    wave.v[at][lane] = value as u32;
    if bytes == 8 {
        wave.v[at + 1][lane] = (value >> 32) as u32;
    }
}

/// Where a lane's bytes are in the scratch of its wave.
fn scratch<const W: usize>(
    wave: &Wave<W>,
    lane: usize,
    at: u64,
    count: usize,
) -> Result<Range<usize>, Fault> {
    let size = wave.scratch.len() / W;
    let from = lane * size + at as usize;
    match at + count as u64 <= size as u64 {
        true => Ok(from..from + count),
        false => Err(Fault::Scratch {
            lane: lane as u32,
            at,
            bytes: count as u32,
            size: size as u32,
        }),
    }
}

/// A load into scalar registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarLoad {
    of: Type,
    dest: u8,
    base: u8,
    moved: Option<u8>,
    /// What `moved` is multiplied with.
    scale: u64,
    offset: i64,
}

impl ScalarLoad {
    /// Reads `s_load_...`; none where it is another.
    pub(crate) fn decode(text: &mut Text<'_>) -> Option<Result<Self, String>> {
        let name = text.name.strip_prefix("s_load_")?;
        let of = match name {
            "dwordx8" | "b256" => wide(32),
            "dwordx16" | "b512" => wide(64),
            _ => Type::named(name)?,
        };
        Some(Self::operands(text, of))
    }

    fn operands(text: &mut Text<'_>, of: Type) -> Result<Self, String> {
        for hint in ["glc", "dlc", "scope", "th", "nv"] {
            text.take(hint);
        }
        let mut offset = text.number("offset")?.unwrap_or(0);
        let scale = match text.take("scale_offset") {
            Some(_) => of.bytes as u64,
            None => 1,
        };
        let mut moved = None;
        if let Ok(operand) = text.operand(2) {
            match number(operand) {
                Some(number) => offset += number,
                None => moved = Some(text.scalar(2)?).filter(|at| *at != NULL),
            }
        }
        Ok(Self {
            of,
            dest: text.scalar(0)?,
            base: text.scalar(1)?,
            moved,
            scale,
            offset,
        })
    }

    pub(crate) fn run<const W: usize>(
        &self,
        wave: &mut Wave<W>,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let moved = self
            .moved
            .map_or(0, |at| u64::from(wave.scalar(at)) * self.scale);
        let at = wave.scalar_pair(self.base).wrapping_add(moved);
        let at = at.wrapping_add_signed(self.offset);
        let access = Bytes {
            at,
            count: self.of.bytes as u64,
            how: How::Read,
        };
        let unit = self.of.bytes.min(4) as u64;
        if !at.is_multiple_of(unit) {
            return Err(Fault::Misaligned {
                lane: 0,
                at,
                bytes: unit as u32,
            });
        }
        let mut meetings = context.meetings();
        context.access(meetings.as_deref_mut(), wave, 0, &access)?;
        for from in (0..self.of.bytes).step_by(16) {
            let count = (self.of.bytes - from).min(16);
            // SAFETY: the memory holds these bytes.
            let words = unsafe { load(at + from as u64, count) };
            for (i, word) in words.iter().enumerate().take(count.div_ceil(4)) {
                let to = self.dest + (from / 4 + i) as u8;
                wave.set_scalar(to, self.of.loaded(*word, 0));
            }
        }
        Ok(())
    }
}

fn wide(bytes: usize) -> Type {
    Type {
        bytes,
        signed: false,
        half: Half::Both,
    }
}
