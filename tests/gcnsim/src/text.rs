//! The text of an instruction, taken apart.
//!
//! What is not taken is told: an operand or a modifier that a decoder does not ask for makes the
//! instruction unknown.

use crate::wave::{EXEC, Kind, M0, NULL, Part, Place, Source, TTMP, VCC};

/// The first register of accumulation, in the numbers of vector registers.
pub(crate) const ACCUMULATION: u16 = 512;

/// An instruction, or a half of a dual one.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    /// Its mnemonic without the suffix of its encoding.
    pub(crate) name: &'a str,
    /// Its operands.
    pub(crate) operands: Vec<&'a str>,
    /// What follows the last operand: names with values, and flags, which have none.
    modifiers: Vec<(&'a str, &'a str)>,
}

impl<'a> Text<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let text = text.trim();
        let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let mut name = mnemonic;
        for suffix in ["_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp"] {
            if let Some(bare) = name.strip_suffix(suffix) {
                name = bare;
                break;
            }
        }
        let (mut operands, mut modifiers) = (Vec::new(), Vec::new());
        for part in split(rest, |c| c == ',') {
            let parts = split(part.trim(), char::is_whitespace).into_iter();
            let mut parts = parts.filter(|part| !part.is_empty());
            operands.extend(parts.next());
            modifiers.extend(parts.map(|part| part.split_once(':').unwrap_or((part, ""))));
        }
        // An instruction without operands may have modifiers alone.
        if let [only] = operands[..]
            && let Some((key, value)) = only.split_once(':')
            && !only.contains('[')
        {
            operands.clear();
            modifiers.insert(0, (key, value));
        }
        Self {
            name,
            operands,
            modifiers,
        }
    }

    /// Takes a modifier: its value, which is empty for a flag.
    pub(crate) fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.modifiers.iter().position(|(known, _)| *known == key)?;
        Some(self.modifiers.remove(at).1)
    }

    /// Takes a modifier that is a number.
    pub(crate) fn number(&mut self, key: &str) -> Result<Option<i64>, String> {
        let taken = self.take(key);
        let read = |text: &str| number(text).ok_or_else(|| format!("{key}:{text} is no number"));
        taken.map(read).transpose()
    }

    /// Takes a modifier that is a list of bits, the first operand's first.
    pub(crate) fn list(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(text) = self.take(key) else {
            return Ok(None);
        };
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let numbers = inner.map(|inner| inner.split(',').map(|n| n.trim().parse().ok()).collect());
        let numbers: Option<Vec<u8>> = numbers.flatten();
        numbers
            .map(Some)
            .ok_or_else(|| format!("{key}:{text} is no list"))
    }

    /// That nothing is left which means something.
    pub(crate) fn finish(&self) -> Result<(), String> {
        match self.modifiers.first() {
            None => Ok(()),
            Some((key, "")) => Err(format!("modifier {key}")),
            Some((key, value)) => Err(format!("modifier {key}:{value}")),
        }
    }

    /// The operand with this number.
    pub(crate) fn operand(&self, at: usize) -> Result<&'a str, String> {
        let operand = self.operands.get(at).copied();
        operand.ok_or_else(|| format!("no operand {at}"))
    }

    /// Reads the operand with this number.
    pub(crate) fn source(&self, at: usize, kind: Kind) -> Result<Source, String> {
        let text = self.operand(at)?;
        source(text, kind).ok_or_else(|| format!("operand {text}"))
    }

    /// The vector registers of an operand: the first, and how many.
    pub(crate) fn vectors(&self, at: usize) -> Result<(u16, u16), String> {
        let text = self.operand(at)?;
        vectors(text).ok_or_else(|| format!("operand {text} is no vector register"))
    }

    /// The scalar register of an operand, the first if there are more.
    pub(crate) fn scalar(&self, at: usize) -> Result<u8, String> {
        let text = self.operand(at)?;
        scalar(text).ok_or_else(|| format!("operand {text} is no scalar register"))
    }
}

/// Parts between separators that are not within brackets.
fn split(text: &str, separates: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            c if depth == 0 && separates(c) => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A number, decimal or hexadecimal.
pub(crate) fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|n| n as i64),
        None => text.parse().ok(),
    }
}

/// The registers of `v5`, `v[4:7]`, `a1`.
pub(crate) fn vectors(text: &str) -> Option<(u16, u16)> {
    let (first, from) = match text.as_bytes().first()? {
        b'v' => (0, &text[1..]),
        b'a' => (ACCUMULATION, &text[1..]),
        _ => return None,
    };
    let (low, high) = range(from)?;
    (high < 512).then_some((first + low, high - low + 1))
}

/// `5` or `[4:7]`.
fn range(text: &str) -> Option<(u16, u16)> {
    let Some(list) = text.strip_prefix('[') else {
        let number = text.parse().ok()?;
        return Some((number, number));
    };
    let list = list.strip_suffix(']')?;
    let (low, high) = list.split_once(':').unwrap_or((list, list));
    let (low, high): (u16, u16) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high && high - low < 32).then_some((low, high))
}

/// The number of the scalar register, the first if there are more.
pub(crate) fn scalar(text: &str) -> Option<u8> {
    let named = match text {
        "vcc" | "vcc_lo" => Some(VCC),
        "vcc_hi" => Some(VCC + 1),
        "exec" | "exec_lo" => Some(EXEC),
        "exec_hi" => Some(EXEC + 1),
        "m0" => Some(M0),
        "null" => Some(NULL),
        _ => None,
    };
    if named.is_some() {
        return named;
    }
    let (first, from, most) = match text.strip_prefix("ttmp") {
        Some(from) => (TTMP, from, 15),
        None => (0, text.strip_prefix('s')?, 105),
    };
    let (low, high) = range(from)?;
    (high <= most).then_some(first + low as u8)
}

/// Reads an operand.
pub(crate) fn source(text: &str, kind: Kind) -> Option<Source> {
    if let Some(value) = constant(text, kind) {
        return Some(Source::of(Place::Literal(value)));
    }
    let within = |text: &'_ str, before: &str, after: char| -> Option<String> {
        Some(text.strip_prefix(before)?.strip_suffix(after)?.to_owned())
    };
    let (mut text, mut negated, mut absolute, mut signed) = (text.to_owned(), false, false, false);
    if let Some(inner) = within(&text, "neg(", ')').or(text.strip_prefix('-').map(str::to_owned)) {
        (text, negated) = (inner, true);
    }
    if let Some(inner) = within(&text, "|", '|').or(within(&text, "abs(", ')')) {
        (text, absolute) = (inner, true);
    }
    if let Some(inner) = within(&text, "sext(", ')') {
        (text, signed) = (inner, true);
    }
    let mut part = Part::Whole;
    for (suffix, half) in [(".l", 0), (".h", 1)] {
        if let Some(whole) = text.strip_suffix(suffix) {
            (text, part) = (whole.to_owned(), Part::Word(half));
            break;
        }
    }
    let place = if text == "src_scc" || text == "scc" {
        Place::Scc
    } else if let Some((first, _)) = vectors(&text) {
        Place::Vector(first)
    } else {
        match constant(&text, kind) {
            Some(value) => Place::Literal(value),
            None => Place::Scalar(scalar(&text)?),
        }
    };
    Some(Source {
        place,
        part,
        signed,
        negated,
        absolute,
    })
}

/// A number among the operands, as bits of `kind`.
fn constant(text: &str, kind: Kind) -> Option<u64> {
    // A literal of 64 bits, where it could be taken for one of 32.
    if let Some(inner) = text.strip_prefix("lit64(") {
        let digits = inner.strip_suffix(')')?.strip_prefix("0x")?;
        return u64::from_str_radix(digits, 16).ok();
    }
    let first = text.trim_start_matches('-').as_bytes().first()?;
    if !first.is_ascii_digit() {
        return None;
    }
    let wide = kind.registers() == 2;
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        return Some(match kind {
            _ if bits > u64::from(u32::MAX) => bits,
            // A literal of 32 bits is the upper half of a number of 64.
            Kind::F64 => bits << 32,
            Kind::I64 => bits as u32 as i32 as u64,
            _ => bits,
        });
    }
    if text.contains('.') || text.contains("e") {
        return match wide {
            true => text.parse::<f64>().ok().map(f64::to_bits),
            false => text.parse::<f32>().ok().map(|n| u64::from(n.to_bits())),
        };
    }
    // Small integers are constants of the encoding, sign-extended whatever they are used as.
    text.parse::<i64>().ok().map(|n| n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_come_apart() {
        let mut text = Text::parse("v_add_u32_sdwa v1, v2, sext(v3) dst_sel:DWORD src1_sel:WORD_1");
        assert_eq!(text.name, "v_add_u32");
        assert_eq!(text.operands, ["v1", "v2", "sext(v3)"]);
        assert_eq!(text.take("src1_sel"), Some("WORD_1"));
        assert_eq!(text.finish(), Err("modifier dst_sel:DWORD".to_owned()));
        let mut text = Text::parse("ds_read2_b32 v[0:1], v2 offset0:1 offset1:0x2");
        assert_eq!(text.number("offset0"), Ok(Some(1)));
        assert_eq!(text.number("offset1"), Ok(Some(2)));
        assert_eq!(text.vectors(0), Ok((0, 2)));
        let text = Text::parse("s_getreg_b32 s1, hwreg(HW_REG_IB_STS2, 6, 4)");
        assert_eq!(text.operands, ["s1", "hwreg(HW_REG_IB_STS2, 6, 4)"]);
        assert_eq!(Text::parse("s_endpgm").operands, [""; 0]);
    }

    #[test]
    fn numbers_are_what_their_use_makes_of_them() {
        let literal = |text, kind| match source(text, kind).unwrap().place {
            Place::Literal(value) => value,
            place => panic!("{place:?}"),
        };
        assert_eq!(literal("1.0", Kind::F32), 0x3f80_0000);
        assert_eq!(literal("-4.0", Kind::F64), (-4.0f64).to_bits());
        assert_eq!(literal("0x41f00000", Kind::F64), 0x41f0_0000_0000_0000);
        assert_eq!(literal("0xfffffff0", Kind::I64), 0xffff_ffff_ffff_fff0);
        assert_eq!(literal("0xfffffff0", Kind::U64), 0xffff_fff0);
        assert_eq!(literal("-1", Kind::U64), u64::MAX);
        assert_eq!(literal("lit64(0x3ff)", Kind::F64), 0x3ff);
    }

    #[test]
    fn registers_have_their_numbers() {
        assert_eq!(vectors("v[4:7]"), Some((4, 4)));
        assert_eq!(vectors("a3"), Some((ACCUMULATION + 3, 1)));
        assert_eq!(scalar("s[100:101]"), Some(100));
        assert_eq!(scalar("vcc"), Some(106));
        assert_eq!(scalar("ttmp9"), Some(117));
        assert_eq!(scalar("s106"), None);
        let source = source("-|v7.h|", Kind::U16).unwrap();
        assert_eq!(source.place, Place::Vector(7));
        assert_eq!(
            (source.part, source.negated, source.absolute),
            (Part::Word(1), true, true)
        );
    }
}
