//! From the text of an instruction to what it does.

use crate::access::{Access, ScalarLoad};
use crate::dpp::Moves;
use crate::operations::lanes::Shape;
use crate::operations::scalar::{self, Scalar};
use crate::operations::{Operands, Run, carry, compare, division, lanes, packed, vector};
use crate::share::Share;
use crate::text::{Text, number};
use crate::wave::{Dest, EXEC, Kind, Part, Place, Source, VCC};

/// What differs between families of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// gfx9: halves of registers are chosen by SDWA, and results of 16 bits clear the upper half.
    pub(crate) gfx9: bool,
    /// Offsets of lanes are signed where a scalar base is added.
    pub(crate) signed_offsets: bool,
    /// All three numbers of a thread come in one register.
    pub(crate) packed_threads: bool,
    /// The numbers of a block come in the trap registers.
    pub(crate) blocks_in_ttmp: bool,
}

impl Family {
    /// The family of a target; none where it is not modelled.
    pub(crate) fn of(target: &str) -> Option<Self> {
        let name = target.split('-').next().unwrap_or(target);
        let number = name.strip_prefix("gfx")?;
        // The last two digits are minor version and stepping; the generic `gfx9-4` has none.
        let is_generic = target.ends_with("-generic");
        let major = if is_generic {
            number
        } else {
            number.get(..number.len().checked_sub(2)?)?
        };
        let major: u32 = major.parse().ok()?;
        let packed9 = [
            "gfx90a",
            "gfx940",
            "gfx941",
            "gfx942",
            "gfx950",
            "gfx9-4-generic",
        ];
        (9..=12).contains(&major).then_some(Self {
            gfx9: major == 9,
            signed_offsets: target.starts_with("gfx125"),
            packed_threads: major >= 11 || packed9.contains(&target),
            blocks_in_ttmp: major >= 12,
        })
    }
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Step<const W: usize> {
    Nothing,
    End,
    Barrier,
    /// Tells that the wave came to the barrier.
    Signal,
    /// Waits for all waves that tell so.
    Wait,
    Jump(When, usize),
    Lanes(Run<W>, Box<Operands>),
    /// The first source comes from other lanes.
    Moved(Box<Moves>, Run<W>, Box<Operands>),
    /// Two at once: both read before either writes. Told is whether the second reads what the
    /// first writes.
    Dual(Box<[(Run<W>, Operands); 2]>, bool),
    Scalar(Scalar, u8, [Source; 3]),
    Condition(scalar::Compare, Kind, [Source; 2]),
    /// The condition is a bit of an operand, or its opposite.
    Bit(bool, Kind, [Source; 2]),
    /// Saves exec and combines it with an operand; or combines it and saves the result.
    Exec(Combine, Saves, u8, Source),
    /// A hardware register that reads as 0.
    Zero(u8),
    ScalarLoad(ScalarLoad),
    Access(Box<Access>),
    Share(Box<Share>),
}

/// When a jump is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    Condition(bool),
    Vcc(bool),
    Exec(bool),
}

/// What an operand and exec make together.
pub(crate) type Combine = fn(u64, u64) -> u64;

/// What is saved of exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saves {
    Old,
    New,
}

/// What does nothing here: every access is complete at once, and time does not matter.
const NOTHING: [&str; 20] = [
    "s_nop",
    "v_nop",
    "s_clause",
    "s_delay_alu",
    "s_inst_prefetch",
    "s_set_inst_prefetch_distance",
    "s_sleep",
    "s_setprio",
    "s_code_end",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "buffer_inv",
    "buffer_wbl2",
    "buffer_wbinvl1",
    "buffer_wbinvl1_vol",
    "global_inv",
    "global_wb",
    "global_wbinv",
    "s_dcache_inv",
    "s_icache_inv",
];

impl<const W: usize> Step<W> {
    /// Reads an instruction. The target of a jump is its distance in words, from
    /// the instruction behind, as it stands.
    ///
    /// # Errors
    /// What of it is not known.
    pub(crate) fn decode(text: &str, family: &Family) -> Result<Self, String> {
        if let Some((first, second)) = text.split_once(" :: ") {
            return Self::dual(first, second, family);
        }
        let mut text = Text::parse(text);
        if NOTHING.contains(&text.name) || text.name.starts_with("s_wait") {
            return Ok(Self::Nothing);
        }
        let step = match text.name.as_bytes().first() {
            Some(b's') if !text.name.starts_with("scratch_") => Self::scalar(&mut text)?,
            Some(b'v') => Self::vector(&mut text, family)?,
            _ => match Share::decode(&mut text) {
                Some(share) => Self::Share(Box::new(share?)),
                None => {
                    let access = Access::decode(&mut text, family.signed_offsets);
                    Self::Access(Box::new(access.ok_or("mnemonic")??))
                }
            },
        };
        text.finish()?;
        Ok(step)
    }

    fn scalar(text: &mut Text<'_>) -> Result<Self, String> {
        let jump = |when| {
            let distance = number(text.operand(0)?).ok_or("no distance")?;
            // 16 bits with a sign, which are told without.
            Ok(Self::Jump(when, distance as u16 as i16 as usize))
        };
        let barrier = |step| match text.operand(0)? {
            "-1" | "0xffff" => Ok(step),
            other => Err(format!("barrier {other}")),
        };
        match text.name {
            "s_endpgm" => return Ok(Self::End),
            "s_barrier" => return Ok(Self::Barrier),
            "s_barrier_signal" => return barrier(Self::Signal),
            "s_barrier_wait" => return barrier(Self::Wait),
            "s_branch" => return jump(When::Always),
            "s_cbranch_scc0" => return jump(When::Condition(false)),
            "s_cbranch_scc1" => return jump(When::Condition(true)),
            "s_cbranch_vccz" => return jump(When::Vcc(false)),
            "s_cbranch_vccnz" => return jump(When::Vcc(true)),
            "s_cbranch_execz" => return jump(When::Exec(false)),
            "s_cbranch_execnz" => return jump(When::Exec(true)),
            "s_sendmsg" => {
                return match text.operand(0)? {
                    "sendmsg(MSG_DEALLOC_VGPRS)" => Ok(Self::Nothing),
                    other => Err(format!("message {other}")),
                };
            }
            // Where a block stands in its cluster: there are no clusters.
            "s_getreg_b32" if text.operand(1)? == "hwreg(HW_REG_IB_STS2, 6, 4)" => {
                return Ok(Self::Zero(text.scalar(0)?));
            }
            // How faults are replayed: there are none that are.
            "s_setreg_imm32_b32" if text.operands == ["hwreg(HW_REG_WAVE_MODE, 25, 1)", "1"] => {
                return Ok(Self::Nothing);
            }
            // Where scratch is: it is where it is.
            "s_setreg_b32"
                if ["hwreg(HW_REG_FLAT_SCR_LO)", "hwreg(HW_REG_FLAT_SCR_HI)"]
                    .contains(&text.operand(0)?) =>
            {
                return Ok(Self::Nothing);
            }
            _ => {}
        }
        if let Some(load) = ScalarLoad::decode(text) {
            return Ok(Self::ScalarLoad(load?));
        }
        let pair = |kind| Ok::<_, String>([text.source(0, kind)?, text.source(1, kind)?]);
        if let Some(what) = text.name.strip_prefix("s_cmpk_") {
            let (compare, kind) = scalar::find_comparison(what).ok_or("comparison")?;
            let [a, mut b] = pair(kind)?;
            // The constant has 16 bits, with a sign if the comparison has one.
            if let (Kind::I32, Place::Literal(value)) = (kind, &mut b.place) {
                *value = *value as u16 as i16 as u64;
            }
            return Ok(Self::Condition(compare, kind, [a, b]));
        }
        if let Some(what) = text.name.strip_prefix("s_cmp_") {
            let (compare, kind) = scalar::find_comparison(what).ok_or("comparison")?;
            return Ok(Self::Condition(compare, kind, pair(kind)?));
        }
        if let Some(what) = text.name.strip_prefix("s_bitcmp") {
            let (set, kind) = match what {
                "0_b32" => (false, Kind::U32),
                "1_b32" => (true, Kind::U32),
                "0_b64" => (false, Kind::U64),
                "1_b64" => (true, Kind::U64),
                _ => return Err("mnemonic".to_owned()),
            };
            let sources = [text.source(0, kind)?, text.source(1, Kind::U32)?];
            return Ok(Self::Bit(set, kind, sources));
        }
        if let Some((combine, saves, kind)) = exec_operation::<W>(text.name) {
            return Ok(Self::Exec(
                combine,
                saves,
                text.scalar(0)?,
                text.source(1, kind)?,
            ));
        }
        let scalar = scalar::find(text.name).ok_or("mnemonic")?;
        let dest = text.scalar(0)?;
        let mut sources = [crate::operations::NONE; 3];
        let mut at = usize::from(!scalar.accumulates);
        for (source, kind) in sources.iter_mut().zip(scalar.sources) {
            *source = text.source(at, *kind)?;
            at += 1;
        }
        match text.operands.len() == at {
            true => Ok(Self::Scalar(scalar, dest, sources)),
            false => Err(format!("{} operands", text.operands.len())),
        }
    }

    fn vector(text: &mut Text<'_>, family: &Family) -> Result<Self, String> {
        let moves = Moves::decode(text)?;
        if moves.is_some() && text.name.starts_with("v_cmpx") {
            return Err("a moved operand of what writes exec".to_owned());
        }
        let (run, mut operands) = vector_operands::<W>(text, family)?;
        let Some(mut moves) = moves else {
            return Ok(Self::Lanes(run, Box::new(operands)));
        };
        let first = operands.sources.first_mut().ok_or("nothing to move")?;
        moves.take(first)?;
        Ok(Self::Moved(Box::new(moves), run, Box::new(operands)))
    }

    fn dual(first: &str, second: &str, family: &Family) -> Result<Self, String> {
        let half = |text: &str| {
            let bare = text.trim().strip_prefix("v_dual_").ok_or("mnemonic")?;
            let single = format!("v_{bare}");
            let mut text = Text::parse(&single);
            let half = vector_operands::<W>(&mut text, family)?;
            text.finish()?;
            Ok::<_, String>(half)
        };
        let (first, second) = (half(first)?, half(second)?);
        let written = first.1.dest.at..first.1.dest.at + 2;
        // An operand of two registers may begin before those.
        let reads = second.1.sources.iter().any(|source| match source.place {
            Place::Vector(at) => written.contains(&at) || written.contains(&(at + 1)),
            _ => false,
        });
        Ok(Self::Dual(Box::new([first, second]), reads))
    }

    /// The vector registers that it names: the first and how many.
    pub(crate) fn registers(&self) -> Vec<(u16, u16)> {
        match self {
            Self::Lanes(_, operands) | Self::Moved(_, _, operands) => operands.registers.clone(),
            Self::Dual(halves, _) => {
                let halves = halves.iter().map(|(_, operands)| &operands.registers[..]);
                halves.collect::<Vec<_>>().concat()
            }
            Self::Access(access) => access.registers(),
            Self::Share(share) => share.registers(),
            _ => Vec::new(),
        }
    }
}

impl Operands {
    /// Reads one more source.
    fn add(&mut self, source: Source, kind: Kind) {
        self.sources.push(source);
        if let Place::Vector(at) = source.place {
            self.registers.push((at, kind.registers()));
        }
    }
}

/// Instructions that combine exec with an operand: what they make of (operand, exec).
fn exec_operation<const W: usize>(name: &str) -> Option<(Combine, Saves, Kind)> {
    let (name, kind) = match name.strip_suffix("_b64") {
        Some(name) => (name, Kind::U64),
        None => (name.strip_suffix("_b32")?, Kind::U32),
    };
    if kind.registers() as usize * 32 != W {
        return None;
    }
    let (name, saves) = match name.strip_suffix("_saveexec") {
        Some(name) => (name, Saves::Old),
        None => (name.strip_suffix("_wrexec")?, Saves::New),
    };
    let combine: Combine = match name {
        "s_and" => |a, exec| a & exec,
        "s_or" => |a, exec| a | exec,
        "s_xor" => |a, exec| a ^ exec,
        "s_andn1" | "s_and_not0" => |a, exec| !a & exec,
        "s_andn2" | "s_and_not1" => |a, exec| a & !exec,
        "s_orn1" | "s_or_not0" => |a, exec| !a | exec,
        "s_orn2" | "s_or_not1" => |a, exec| a | !exec,
        "s_nand" => |a, exec| !(a & exec),
        "s_nor" => |a, exec| !(a | exec),
        "s_xnor" => |a, exec| !(a ^ exec),
        _ => return None,
    };
    Some((combine, saves, kind))
}

/// Reads the operands of an instruction over lanes.
fn vector_operands<const W: usize>(
    text: &mut Text<'_>,
    family: &Family,
) -> Result<(Run<W>, Operands), String> {
    let mut selection = Selection::take(text)?;
    let clamps = text.take("clamp").is_some();
    let name = match clamps {
        true => format!("{} clamp", text.name),
        false => text.name.to_owned(),
    };
    if let Some(what) = text.name.strip_prefix("v_cmp") {
        return comparison(text, what, &selection);
    }
    let number = text.number("bitop3")?.unwrap_or(0) as u32;
    let mut operands = Operands {
        number,
        ..Operands::default()
    };
    let mut reader = Reader {
        text,
        selection: &mut selection,
        at: 0,
    };
    let saturates_not = || match clamps {
        true => Err("modifier clamp".to_owned()),
        false => Ok(()),
    };
    if let Some((run, shape)) = lanes::find::<W>(reader.text.name) {
        saturates_not()?;
        reader.lanes(&mut operands, shape, family)?;
        return reader.end(run, operands);
    }
    if let Some((run, carries)) = carry::find::<W>(reader.text.name) {
        saturates_not()?;
        reader.dest(&mut operands, Kind::U32, family)?;
        operands.scalar = reader.scalar()?;
        reader.sources(&mut operands, &[Kind::U32; 2])?;
        operands.bits = reader.bits(carries)?;
        return reader.end(run, operands);
    }
    if let Some(run) = carry::find_wide::<W>(reader.text.name) {
        saturates_not()?;
        reader.dest(&mut operands, Kind::U64, family)?;
        operands.scalar = reader.scalar()?;
        let third = match reader.text.name.contains("i64") {
            true => [Kind::I32, Kind::I32, Kind::I64],
            false => [Kind::U32, Kind::U32, Kind::U64],
        };
        reader.sources(&mut operands, &third)?;
        return reader.end(run, operands);
    }
    if let Some((run, kind)) = division::find::<W>(reader.text.name) {
        reader.dest(&mut operands, kind, family)?;
        operands.dest.clamp = clamps;
        if reader.text.name.starts_with("v_div_scale") {
            saturates_not()?;
            operands.scalar = reader.scalar()?;
        }
        reader.sources(&mut operands, &[kind; 3])?;
        return reader.end(run, operands);
    }
    if let Some((run, kind)) = division::find_estimate::<W>(reader.text.name) {
        reader.dest(&mut operands, kind, family)?;
        operands.dest.clamp = clamps;
        reader.sources(&mut operands, &[kind])?;
        return reader.end(run, operands);
    }
    if let Some((run, count, wide)) = packed::find::<W>(&name) {
        let kind = if wide { Kind::U64 } else { Kind::U32 };
        operands.number = reader.selection.packed(count)?;
        reader.dest(&mut operands, kind, family)?;
        reader.sources(&mut operands, &vec![kind; count])?;
        return reader.end(run, operands);
    }
    let accumulating = vector::find_accumulating::<W>(reader.text.name);
    let accumulates = accumulating.is_some();
    let found = accumulating.or_else(|| vector::find::<W>(&name));
    let (operation, is_clamped) = match found {
        Some(operation) => (operation, false),
        // Floating point is limited where it is written.
        None => (
            vector::find::<W>(reader.text.name).ok_or("mnemonic")?,
            clamps,
        ),
    };
    let is_float = [Kind::F32, Kind::F64].contains(&operation.result);
    if is_clamped && !is_float {
        return Err("modifier clamp".to_owned());
    }
    reader.dest(&mut operands, operation.result, family)?;
    operands.dest.clamp = is_clamped || accumulates && clamps;
    let read = operation.sources.len() - usize::from(accumulates);
    reader.sources(&mut operands, &operation.sources[..read])?;
    if accumulates {
        let old = Place::Vector(operands.dest.at);
        operands.add(Source::of(old), operation.result);
    }
    reader.end(operation.run, operands)
}

/// `what` is what stands behind `v_cmp`.
fn comparison<const W: usize>(
    text: &mut Text<'_>,
    what: &str,
    selection: &Selection<'_>,
) -> Result<(Run<W>, Operands), String> {
    let (what, to_exec) = match what.strip_prefix("x_") {
        Some(what) => (what, true),
        None => (what.strip_prefix('_').ok_or("mnemonic")?, false),
    };
    let (run, kinds) = compare::find::<W>(what).ok_or("comparison")?;
    let has_dest = text.operands.len() == 3;
    if !has_dest && !to_exec {
        return Err(format!("{} operands", text.operands.len()));
    }
    let mut operands = Operands {
        scalar: if has_dest { text.scalar(0)? } else { EXEC },
        number: u32::from(to_exec),
        ..Operands::default()
    };
    for (at, kind) in kinds.iter().enumerate() {
        let mut source = text.source(at + usize::from(has_dest), *kind)?;
        selection.apply(&mut source, at, *kind)?;
        operands.add(source, *kind);
    }
    selection.finish()?;
    Ok((run, operands))
}

/// Which parts of registers an instruction takes, by SDWA or by op_sel.
#[derive(Debug, Default)]
struct Selection<'a> {
    sources: [Option<&'a str>; 2],
    dest: Option<(&'a str, &'a str)>,
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
    negated: [Vec<u8>; 2],
    /// The halves stand beside the registers, so the list repeats them.
    named: bool,
    /// Whether an operand asked for its half.
    asked: std::cell::Cell<bool>,
}

impl<'a> Selection<'a> {
    fn take(text: &mut Text<'a>) -> Result<Self, String> {
        let sources = [text.take("src0_sel"), text.take("src1_sel")];
        let dest = text.take("dst_sel");
        let unused = text.take("dst_unused").unwrap_or("UNUSED_PAD");
        let named = text.operands.iter().any(|operand| {
            let operand = operand.trim_end_matches(['|', ')']);
            operand.ends_with(".l") || operand.ends_with(".h")
        });
        Ok(Self {
            sources,
            dest: dest.map(|dest| (dest, unused)),
            low: text.list("op_sel")?,
            high: text.list("op_sel_hi")?,
            negated: [
                text.list("neg_lo")?.unwrap_or_default(),
                text.list("neg_hi")?.unwrap_or_default(),
            ],
            named,
            asked: std::cell::Cell::new(false),
        })
    }

    /// That no list is left which nobody asked for.
    fn finish(&self) -> Result<(), String> {
        let given = self.low.is_some()
            || self.high.is_some()
            || self.negated.iter().any(|list| !list.is_empty());
        match given && !self.asked.get() && !self.named {
            true => Err("modifier op_sel".to_owned()),
            false => Ok(()),
        }
    }

    fn apply(&self, source: &mut Source, at: usize, kind: Kind) -> Result<(), String> {
        if let Some(part) = self.sources.get(at).copied().flatten() {
            source.part = part_named(part)?;
        }
        self.asked.set(self.asked.get() || kind == Kind::U16);
        if kind == Kind::U16
            && !self.named
            && let Some(half) = self.low.as_ref().and_then(|list| list.get(at))
        {
            source.part = Part::Word(*half);
        }
        Ok(())
    }

    /// As [`packed`] has it.
    fn packed(&self, operands: usize) -> Result<u32, String> {
        self.asked.set(true);
        let mut number = 0;
        for at in 0..operands {
            let of = |list: &Option<Vec<u8>>, default: u8| {
                let bit = list
                    .as_ref()
                    .map_or(Some(default), |list| list.get(at).copied());
                bit.filter(|bit| *bit <= 1)
                    .ok_or("a list that is too short")
            };
            number |= u32::from(of(&self.low, 0)?) << at;
            number |= u32::from(of(&self.high, 1)?) << (3 + at);
            for (result, negated) in self.negated.iter().enumerate() {
                let bit = negated.get(at).copied().unwrap_or(0);
                number |= u32::from(bit) << (6 + 3 * result + at);
            }
        }
        Ok(number)
    }
}

fn part_named(name: &str) -> Result<Part, String> {
    match name {
        "DWORD" => Ok(Part::Whole),
        "BYTE_0" => Ok(Part::Byte(0)),
        "BYTE_1" => Ok(Part::Byte(1)),
        "BYTE_2" => Ok(Part::Byte(2)),
        "BYTE_3" => Ok(Part::Byte(3)),
        "WORD_0" => Ok(Part::Word(0)),
        "WORD_1" => Ok(Part::Word(1)),
        other => Err(format!("part {other}")),
    }
}

/// Reads operands one after the other.
struct Reader<'t, 'a> {
    text: &'t mut Text<'a>,
    selection: &'t mut Selection<'a>,
    at: usize,
}

impl Reader<'_, '_> {
    fn dest(&mut self, operands: &mut Operands, kind: Kind, family: &Family) -> Result<(), String> {
        let text = self.text.operand(self.at)?;
        self.at += 1;
        let halves = [(".l", 0), (".h", 1)];
        let half = halves
            .iter()
            .find_map(|(suffix, half)| Some((text.strip_suffix(suffix)?, *half)));
        let register = half.map_or(text, |(register, _)| register);
        let (at, count) = crate::text::vectors(register)
            .ok_or_else(|| format!("result {text} is no vector register"))?;
        if count != kind.registers() {
            return Err(format!("result {text} of {count} registers"));
        }
        let mut dest = Dest {
            at,
            ..Dest::default()
        };
        if let Some((part, unused)) = self.selection.dest {
            dest.part = part_named(part)?;
            dest.keeps = match unused {
                "UNUSED_PAD" => false,
                "UNUSED_PRESERVE" => true,
                other => return Err(format!("dst_unused:{other}")),
            };
        } else if let Some((_, half)) = half {
            (dest.part, dest.keeps) = (Part::Word(half), true);
        } else if kind == Kind::U16 {
            let count = self.text.operands.len() - 1;
            let half = self.selection.low.as_ref().and_then(|list| list.get(count));
            dest.part = Part::Word(half.copied().unwrap_or(0));
            dest.keeps = half.is_some() || !family.gfx9;
        }
        operands.registers.push((at, count));
        operands.dest = dest;
        Ok(())
    }

    fn sources(&mut self, operands: &mut Operands, kinds: &[Kind]) -> Result<(), String> {
        for (place, kind) in kinds.iter().enumerate() {
            let mut source = self.text.source(self.at, *kind)?;
            self.selection.apply(&mut source, place, *kind)?;
            operands.add(source, *kind);
            self.at += 1;
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<u8, String> {
        self.at += 1;
        self.text.scalar(self.at - 1)
    }

    /// Scalar registers with a bit a lane; VCC where none are named.
    fn bits(&mut self, reads: bool) -> Result<u8, String> {
        match reads && self.at < self.text.operands.len() {
            true => self.scalar(),
            false => Ok(VCC),
        }
    }

    fn lanes(
        &mut self,
        operands: &mut Operands,
        shape: Shape,
        family: &Family,
    ) -> Result<(), String> {
        match shape {
            Shape::Lanes(kinds) => {
                self.dest(operands, kinds[0], family)?;
                self.sources(operands, kinds)?;
                // Exchanges in rows have two flags where others have halves.
                if self.text.name.starts_with("v_permlane") {
                    let flags = self.selection.low.take().unwrap_or_default();
                    let flags = flags
                        .iter()
                        .enumerate()
                        .map(|(at, flag)| u32::from(*flag) << at);
                    operands.number = flags.sum();
                }
            }
            Shape::Choice(kind) => {
                self.dest(operands, kind, family)?;
                self.sources(operands, &[kind; 2])?;
                operands.bits = self.bits(true)?;
            }
            Shape::Scalar(kinds) => {
                operands.scalar = self.scalar()?;
                self.sources(operands, kinds)?;
            }
            Shape::Lane => {
                self.dest(operands, Kind::U32, family)?;
                self.sources(operands, &[Kind::U32; 2])?;
            }
        }
        Ok(())
    }

    /// That no operand is left.
    fn end<const W: usize>(
        &self,
        run: Run<W>,
        operands: Operands,
    ) -> Result<(Run<W>, Operands), String> {
        self.selection.finish()?;
        match self.at == self.text.operands.len() {
            true => Ok((run, operands)),
            false => Err(format!("{} operands", self.text.operands.len())),
        }
    }
}
