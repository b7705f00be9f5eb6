//! A wave: its registers, and how lanes of each type are read and written.

use crate::mix;
use crate::program::Estimates;
use crate::text::ACCUMULATION;

/// Numbers of scalar registers beside the general ones, as encodings have them.
pub(crate) const VCC: u8 = 106;
pub(crate) const TTMP: u8 = 108;
pub(crate) const M0: u8 = 125;
/// What no encoding has a number for: a register whose writes are lost and that reads as 0.
pub(crate) const NULL: u8 = 124;
pub(crate) const EXEC: u8 = 126;
const SCALARS: usize = 128;

/// The registers of a wave of `W` lanes.
#[derive(Debug)]
pub(crate) struct Wave<const W: usize> {
    s: [u32; SCALARS],
    /// Vector registers, each a value a lane; behind them those of accumulation, and one for an
    /// operand that was moved between lanes.
    pub(crate) v: Vec<[u32; W]>,
    exec: u64,
    /// `exec` with all bits of a lane's word.
    mask: [u32; W],
    pub(crate) scc: bool,
    /// The next instruction.
    pub(crate) at: usize,
    pub(crate) executed: u64,
    pub(crate) number: u32,
    /// Its number among those of all blocks, from 1 on.
    pub(crate) of_all: u32,
    pub(crate) state: State,
    /// Barriers that it has passed.
    pub(crate) epoch: u32,
    /// Memory of each lane, one lane's after the other's.
    pub(crate) scratch: Vec<u8>,
    /// Where in the list of regions the last access was.
    pub(crate) region: usize,
    pub(crate) estimates: Estimates,
    draws: u64,
}

/// What a wave does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runs,
    /// It has told that it came to the barrier, and has not waited there yet.
    Signalled,
    Waits,
    Ended,
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Vector(u16),
    Scalar(u8),
    Literal(u64),
    Scc,
}

/// Which part of a register is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    #[default]
    Whole,
    Byte(u8),
    Word(u8),
}

/// An operand that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) place: Place,
    pub(crate) part: Part,
    /// Whether a part is signed.
    pub(crate) signed: bool,
    pub(crate) negated: bool,
    pub(crate) absolute: bool,
}

impl Source {
    pub(crate) fn of(place: Place) -> Self {
        Self {
            place,
            part: Part::Whole,
            signed: false,
            negated: false,
            absolute: false,
        }
    }
}

/// A vector operand that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dest {
    /// The register.
    pub(crate) at: u16,
    pub(crate) part: Part,
    /// Whether the rest of the register stays; else it becomes 0.
    pub(crate) keeps: bool,
    /// Results of floating point are limited to 0 to 1.
    pub(crate) clamp: bool,
}

impl<const W: usize> Wave<W> {
    /// A wave whose registers nobody has written.
    pub(crate) fn new(vectors: usize, scratch: usize) -> Self {
        Self {
            s: [0; SCALARS],
            v: vec![[0; W]; vectors],
            exec: 0,
            mask: [0; W],
            scc: false,
            at: 0,
            executed: 0,
            number: 0,
            of_all: 0,
            state: State::Runs,
            epoch: 1,
            scratch: vec![0; scratch * W],
            region: 0,
            estimates: Estimates::Nearest,
            draws: 0,
        }
    }

    /// Makes it a fresh wave of `lanes` lanes.
    /// `used` is how many vector registers the kernel names, general ones and those of
    /// accumulation.
    pub(crate) fn start(
        &mut self,
        number: u32,
        lanes: u32,
        poison: u8,
        seed: u64,
        used: &[usize; 2],
    ) {
        let word = u32::from_ne_bytes([poison; 4]);
        self.s = [word; SCALARS];
        self.s[usize::from(NULL)] = 0;
        for (base, count) in [0, ACCUMULATION.into()].into_iter().zip(used) {
            if *count > 0 {
                self.v[base..][..*count].fill([word; W]);
            }
        }
        self.scratch.fill(poison);
        self.set_exec(u64::MAX >> (64 - lanes));
        self.scc = poison & 1 != 0;
        (self.at, self.executed, self.number) = (0, 0, number);
        (self.state, self.epoch, self.draws) = (State::Runs, 1, mix(seed ^ u64::from(number)));
    }

    pub(crate) fn exec(&self) -> u64 {
        self.exec
    }

    pub(crate) fn set_exec(&mut self, exec: u64) {
        self.exec = exec & all::<W>();
        for (lane, mask) in self.mask.iter_mut().enumerate() {
            *mask = 0u32.wrapping_sub((self.exec >> lane & 1) as u32);
        }
    }

    pub(crate) fn scalar(&self, at: u8) -> u32 {
        match at {
            EXEC => self.exec as u32,
            127 => (self.exec >> 32) as u32,
            _ => self.s[usize::from(at)],
        }
    }

    pub(crate) fn set_scalar(&mut self, at: u8, value: u32) {
        match at {
            NULL => {}
            EXEC => self.set_exec(self.exec >> 32 << 32 | u64::from(value)),
            127 => self.set_exec(self.exec & 0xffff_ffff | u64::from(value) << 32),
            _ => self.s[usize::from(at)] = value,
        }
    }

    /// Two scalar registers; the second of `null` is `null`.
    pub(crate) fn scalar_pair(&self, at: u8) -> u64 {
        let high = match at {
            NULL => 0,
            _ => self.scalar(at + 1),
        };
        u64::from(self.scalar(at)) | u64::from(high) << 32
    }

    pub(crate) fn set_scalar_pair(&mut self, at: u8, value: u64) {
        if at == EXEC {
            self.set_exec(value);
        } else if at != NULL {
            self.set_scalar(at, value as u32);
            self.set_scalar(at + 1, (value >> 32) as u32);
        }
    }

    /// A bit a lane, from as many registers as a wave needs.
    pub(crate) fn lane_mask(&self, at: u8) -> u64 {
        match W {
            32 => u64::from(self.scalar(at)),
            _ => self.scalar_pair(at),
        }
    }

    pub(crate) fn set_lane_mask(&mut self, at: u8, bits: u64) {
        match W {
            32 => self.set_scalar(at, bits as u32),
            _ => self.set_scalar_pair(at, bits),
        }
    }

    /// A scalar operand of 32 bits.
    pub(crate) fn word(&self, from: &Source) -> u32 {
        match from.place {
            Place::Scalar(at) => self.scalar(at),
            Place::Literal(value) => value as u32,
            Place::Scc => u32::from(self.scc),
            // A scalar in a vector register is that of the first lane.
            Place::Vector(at) => self.v[usize::from(at)][self.first_lane()],
        }
    }

    /// A scalar operand of 64 bits.
    pub(crate) fn pair(&self, from: &Source) -> u64 {
        match from.place {
            Place::Scalar(at) => self.scalar_pair(at),
            Place::Literal(value) => value,
            Place::Scc => u64::from(self.scc),
            Place::Vector(at) => {
                let at = usize::from(at);
                let lane = self.first_lane();
                u64::from(self.v[at][lane]) | u64::from(self.v[at + 1][lane]) << 32
            }
        }
    }

    pub(crate) fn first_lane(&self) -> usize {
        match self.exec {
            0 => 0,
            exec => exec.trailing_zeros() as usize,
        }
    }

    /// 32 bits of each lane, with what the operand says of part and sign.
    #[inline]
    pub(crate) fn words(&self, from: &Source) -> [u32; W] {
        let mut words = match from.place {
            Place::Vector(at) => self.v[usize::from(at)],
            Place::Scalar(at) => [self.scalar(at); W],
            Place::Literal(value) => [value as u32; W],
            Place::Scc => [u32::from(self.scc); W],
        };
        if from.part != Part::Whole {
            let (shift, bits) = from.part.place();
            for word in &mut words {
                let part = *word << (32 - shift - bits);
                *word = match from.signed {
                    true => (part as i32 >> (32 - bits)) as u32,
                    false => part >> (32 - bits),
                };
            }
        }
        words
    }

    #[inline]
    fn pairs(&self, from: &Source) -> [u64; W] {
        match from.place {
            Place::Vector(at) => {
                let (low, high) = (&self.v[usize::from(at)], &self.v[usize::from(at) + 1]);
                std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
            }
            _ => [self.pair(from); W],
        }
    }

    /// Writes the lanes that are active.
    #[inline]
    pub(crate) fn write(&mut self, at: u16, values: &[u32; W]) {
        let to = &mut self.v[usize::from(at)];
        for lane in 0..W {
            to[lane] = to[lane] & !self.mask[lane] | values[lane] & self.mask[lane];
        }
    }

    /// The lanes that are active, of a comparison's results.
    #[inline]
    pub(crate) fn bits(&self, is: impl Fn(usize) -> bool) -> u64 {
        let mut bits = 0;
        for lane in 0..W {
            bits |= u64::from(is(lane)) << lane;
        }
        bits & self.exec
    }

    /// An estimate of what `exact` is.
    pub(crate) fn estimate32(&mut self, exact: f32) -> f32 {
        match self.estimates {
            Estimates::Nearest => exact,
            _ if !exact.is_normal() => exact,
            Estimates::Ulp(_) | Estimates::Documented(_) => {
                let off = (self.draw() % 3) as i32 - 1;
                f32::from_bits(exact.to_bits().wrapping_add_signed(off))
            }
        }
    }

    /// As [`estimate32`](Self::estimate32).
    pub(crate) fn estimate64(&mut self, exact: f64) -> f64 {
        let most: u64 = match self.estimates {
            Estimates::Nearest => return exact,
            Estimates::Ulp(_) => 1,
            Estimates::Documented(_) => 1 << 29,
        };
        if !exact.is_normal() {
            return exact;
        }
        let off = (self.draw() % (2 * most + 1)) as i64 - most as i64;
        f64::from_bits(exact.to_bits().wrapping_add_signed(off))
    }

    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.draws)
    }
}

impl Part {
    /// Its first bit and its bits.
    fn place(self) -> (u32, u32) {
        match self {
            Self::Whole => (0, 32),
            Self::Byte(n) => (8 * u32::from(n), 8),
            Self::Word(n) => (16 * u32::from(n), 16),
        }
    }
}

/// All lanes of a wave.
pub(crate) fn all<const W: usize>() -> u64 {
    u64::MAX >> (64 - W)
}

/// What a lane of an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    U16,
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
}

impl Kind {
    /// Registers of a lane.
    pub(crate) fn registers(self) -> u16 {
        match self {
            Self::U64 | Self::I64 | Self::F64 => 2,
            _ => 1,
        }
    }
}

/// A type of lanes.
pub(crate) trait Lane: Copy + Default {
    const KIND: Kind;
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [Self; W];
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[Self; W]);
}

impl Lane for u32 {
    const KIND: Kind = Kind::U32;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [u32; W] {
        let mut words = wave.words(from);
        if from.absolute || from.negated {
            let (and, xor) = sign(from);
            words.iter_mut().for_each(|word| *word = *word & and ^ xor);
        }
        words
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[u32; W]) {
        if to.part == Part::Whole {
            return wave.write(to.at, values);
        }
        let (shift, bits) = to.part.place();
        let part = u32::MAX >> (32 - bits) << shift;
        let old = &wave.v[usize::from(to.at)];
        let kept = if to.keeps { !part } else { 0 };
        let merged = std::array::from_fn(|lane| old[lane] & kept | values[lane] << shift & part);
        wave.write(to.at, &merged);
    }
}

/// What the modifiers of an operand do to its word: and, exclusive or.
fn sign(from: &Source) -> (u32, u32) {
    let and = if from.absolute {
        u32::MAX >> 1
    } else {
        u32::MAX
    };
    (and, u32::from(from.negated) << 31)
}

impl Lane for i32 {
    const KIND: Kind = Kind::I32;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [i32; W] {
        wave.words(from).map(|word| word as i32)
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[i32; W]) {
        u32::write(wave, to, &values.map(|value| value as u32));
    }
}

impl Lane for u16 {
    const KIND: Kind = Kind::U16;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [u16; W] {
        wave.words(from).map(|word| word as u16)
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[u16; W]) {
        u32::write(wave, to, &values.map(u32::from));
    }
}

impl Lane for f32 {
    const KIND: Kind = Kind::F32;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [f32; W] {
        u32::read(wave, from).map(f32::from_bits)
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[f32; W]) {
        let mut values = *values;
        if to.clamp {
            // Not a number becomes 0.
            let clamp = |value: f32| if value > 0.0 { value.min(1.0) } else { 0.0 };
            values.iter_mut().for_each(|value| *value = clamp(*value));
        }
        u32::write(wave, to, &values.map(f32::to_bits));
    }
}

impl Lane for u64 {
    const KIND: Kind = Kind::U64;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [u64; W] {
        let mut pairs = wave.pairs(from);
        if from.absolute || from.negated {
            let (and, xor) = sign(from);
            let (and, xor) = (u64::from(and) << 32 | 0xffff_ffff, u64::from(xor) << 32);
            pairs.iter_mut().for_each(|pair| *pair = *pair & and ^ xor);
        }
        pairs
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[u64; W]) {
        wave.write(to.at, &values.map(|value| value as u32));
        wave.write(to.at + 1, &values.map(|value| (value >> 32) as u32));
    }
}

impl Lane for i64 {
    const KIND: Kind = Kind::I64;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [i64; W] {
        wave.pairs(from).map(|pair| pair as i64)
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[i64; W]) {
        u64::write(wave, to, &values.map(|value| value as u64));
    }
}

impl Lane for f64 {
    const KIND: Kind = Kind::F64;
    #[inline]
    fn read<const W: usize>(wave: &Wave<W>, from: &Source) -> [f64; W] {
        u64::read(wave, from).map(f64::from_bits)
    }
    #[inline]
    fn write<const W: usize>(wave: &mut Wave<W>, to: &Dest, values: &[f64; W]) {
        let mut values = *values;
        if to.clamp {
            let clamp = |value: f64| if value > 0.0 { value.min(1.0) } else { 0.0 };
            values.iter_mut().for_each(|value| *value = clamp(*value));
        }
        u64::write(wave, to, &values.map(f64::to_bits));
    }
}
