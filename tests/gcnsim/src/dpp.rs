//! DPP: an operand that comes from other lanes of the wave.

use crate::text::Text;
use crate::wave::{Place, Source, Wave};

/// The register that the moved operand is put in: behind those of accumulation.
pub(crate) const MOVED: u16 = 1024;

/// How the lanes of the first operand are moved.
#[derive(Clone, Debug)]
pub(crate) struct Moves {
    pattern: Pattern,
    /// The first register of the operand.
    from: u16,
    /// Rows of 16 lanes that are written, a bit each.
    rows: u8,
    /// Groups of 4 lanes of a row that are written, a bit each.
    banks: u8,
    /// Whether a lane reads 0 from where no lane is; else it is not written.
    zero: bool,
    /// Whether lanes that are not active can be read.
    inactive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Quad([u8; 4]),
    /// Lanes of a row, so many further.
    Row(i8),
    RowRotate(u8),
    RowMirror,
    RowHalfMirror,
    /// Each row reads the last lane of the row before.
    Broadcast15,
    /// The upper half of the wave reads the last lane of the lower half.
    Broadcast31,
    /// Lanes of the wave, so many further; and whether round.
    Wave(i8, bool),
    /// One lane of each row.
    Share(u8),
    Xor(u8),
    /// A lane of each group of 8.
    Eight([u8; 8]),
}

impl Moves {
    /// Takes the modifiers of DPP; none where there are none.
    pub(crate) fn decode(text: &mut Text<'_>) -> Result<Option<Self>, String> {
        let row = |text: &mut Text<'_>, key| Ok::<_, String>(text.number(key)?.map(|n| n as u8));
        let mut pattern = None;
        if let Some(list) = text.list("quad_perm")? {
            pattern = Some(Pattern::Quad(list.try_into().map_err(|_| "quad_perm")?));
        } else if let Some(list) = text.list("dpp8")? {
            pattern = Some(Pattern::Eight(list.try_into().map_err(|_| "dpp8")?));
        } else if let Some(by) = row(text, "row_shl")? {
            pattern = Some(Pattern::Row(by as i8));
        } else if let Some(by) = row(text, "row_shr")? {
            pattern = Some(Pattern::Row(-(by as i8)));
        } else if let Some(by) = row(text, "row_ror")? {
            pattern = Some(Pattern::RowRotate(by));
        } else if let Some(lane) = row(text, "row_share")?.or(row(text, "row_newbcast")?) {
            pattern = Some(Pattern::Share(lane));
        } else if let Some(mask) = row(text, "row_xmask")? {
            pattern = Some(Pattern::Xor(mask));
        } else if let Some(lane) = row(text, "row_bcast")? {
            pattern = Some(match lane {
                15 => Pattern::Broadcast15,
                31 => Pattern::Broadcast31,
                _ => return Err(format!("modifier row_bcast:{lane}")),
            });
        } else if text.take("row_mirror").is_some() {
            pattern = Some(Pattern::RowMirror);
        } else if text.take("row_half_mirror").is_some() {
            pattern = Some(Pattern::RowHalfMirror);
        }
        for (key, by, round) in [
            ("wave_shl", 1, false),
            ("wave_rol", 1, true),
            ("wave_shr", -1, false),
            ("wave_ror", -1, true),
        ] {
            if text.take(key).is_some() {
                pattern = Some(Pattern::Wave(by, round));
            }
        }
        let Some(pattern) = pattern else {
            return Ok(None);
        };
        let rows = row(text, "row_mask")?.unwrap_or(15);
        let banks = row(text, "bank_mask")?.unwrap_or(15);
        // It is written as 0 or as 1, and means the same.
        let zero = text.take("bound_ctrl").is_some() || matches!(pattern, Pattern::Eight(_));
        Ok(Some(Self {
            pattern,
            from: 0,
            rows,
            banks,
            zero,
            inactive: text.number("fi")? == Some(1),
        }))
    }

    /// Takes the place of an operand.
    pub(crate) fn take(&mut self, source: &mut Source) -> Result<(), String> {
        let Place::Vector(at) = source.place else {
            return Err("an operand that has no lanes".to_owned());
        };
        self.from = at;
        source.place = Place::Vector(MOVED);
        Ok(())
    }

    /// Puts the moved operand in its register; answers the lanes that are written.
    pub(crate) fn run<const W: usize>(&self, wave: &mut Wave<W>) -> u64 {
        let exec = wave.exec();
        let mut written = exec;
        let from = usize::from(self.from);
        // The operand may have 64 bits.
        for word in 0..2.min(wave.v.len() - from) {
            let values = wave.v[from + word];
            let mut moved = [0; W];
            for (lane, value) in moved.iter_mut().enumerate() {
                let source = self.pattern.source::<W>(lane);
                let readable = source.filter(|at| self.inactive || exec >> at & 1 != 0);
                let masked =
                    self.rows >> (lane / 16) & 1 == 0 || self.banks >> (lane / 4 % 4) & 1 == 0;
                match readable {
                    Some(at) if !masked => *value = values[at],
                    None if self.zero && !masked => {}
                    _ => written &= !(1 << lane),
                }
            }
            wave.v[usize::from(MOVED) + word] = moved;
        }
        written
    }
}

impl Pattern {
    fn source<const W: usize>(self, lane: usize) -> Option<usize> {
        let (row, within) = (lane & !15, lane & 15);
        let further = |by: i32| {
            let at = within as i32 + by;
            (0..16).contains(&at).then(|| row + at as usize)
        };
        match self {
            Self::Quad(choice) => Some(lane & !3 | usize::from(choice[lane & 3] & 3)),
            Self::Row(by) => further(i32::from(by)),
            Self::RowRotate(by) => Some(row | (within + 16 - usize::from(by & 15)) & 15),
            Self::RowMirror => Some(row | (15 - within)),
            Self::RowHalfMirror => Some(row | within & 8 | (7 - (within & 7))),
            Self::Broadcast15 => row.checked_sub(1),
            Self::Broadcast31 => (lane >= 32).then_some(31),
            Self::Wave(by, true) => {
                Some((lane as i32 + i32::from(by)).rem_euclid(W as i32) as usize)
            }
            Self::Wave(by, false) => {
                let at = lane as i32 + i32::from(by);
                (0..W as i32).contains(&at).then_some(at as usize)
            }
            Self::Share(at) => Some(row | usize::from(at & 15)),
            Self::Xor(mask) => Some(row | within ^ usize::from(mask & 15)),
            Self::Eight(choice) => Some(lane & !7 | usize::from(choice[lane & 7] & 7)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_the_lanes_that_they_name() {
        let of = |pattern: Pattern, lane| pattern.source::<64>(lane);
        assert_eq!(of(Pattern::Quad([1, 0, 3, 2]), 6), Some(7));
        assert_eq!(of(Pattern::Row(-1), 17), Some(16));
        assert_eq!(of(Pattern::Row(-1), 16), None);
        assert_eq!(of(Pattern::Row(3), 14), None);
        assert_eq!(of(Pattern::RowRotate(1), 16), Some(31));
        assert_eq!(of(Pattern::RowMirror, 18), Some(29));
        assert_eq!(of(Pattern::RowHalfMirror, 25), Some(30));
        assert_eq!(of(Pattern::Broadcast15, 20), Some(15));
        assert_eq!(of(Pattern::Broadcast15, 3), None);
        assert_eq!(of(Pattern::Broadcast31, 40), Some(31));
        assert_eq!(of(Pattern::Wave(-1, true), 0), Some(63));
        assert_eq!(of(Pattern::Share(5), 33), Some(37));
        assert_eq!(of(Pattern::Xor(3), 33), Some(34));
        assert_eq!(of(Pattern::Eight([7, 6, 5, 4, 3, 2, 1, 0]), 9), Some(14));
    }
}
