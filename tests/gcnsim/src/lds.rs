//! LDS, the memory that the waves of a block share, and who accessed it since the last barrier.
//!
//! Waves run one after the other here, so a barrier that is missing would not always show in
//! results. Each byte therefore remembers which waves read and wrote it since the barrier that
//! they passed last; a byte that one wave writes and another accesses between the same two
//! barriers is an error. What must stay true: a program whose waves are ordered by barriers alone
//! is never refused. Atomics are in order among each other.

use crate::Fault;
use crate::meetings::{By, Met, Word};
use crate::memory::{How, bytes_of, words_of};

/// The LDS of a block.
#[derive(Debug)]
pub(crate) struct Lds {
    bytes: Vec<u8>,
    words: Vec<Since>,
}

/// Who accessed a word since a barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    /// Barriers that had been passed.
    epoch: u32,
    word: Word,
}

/// Who accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) wave: u32,
    pub(crate) epoch: u32,
    /// The number of the instruction.
    pub(crate) instruction: u32,
    pub(crate) lane: u32,
}

/// Why an access fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Fault(Fault),
    /// Where is the offset of the word.
    Met(Met),
}

impl Lds {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            bytes: vec![0; size],
            words: vec![Since::default(); size.div_ceil(4)],
        }
    }

    /// Makes it that of a block that begins.
    pub(crate) fn start(&mut self, poison: u8) {
        self.bytes.fill(poison);
        self.words.fill(Since::default());
    }

    /// Reads up to 16 bytes.
    pub(crate) fn read(&mut self, by: &Access, at: u64, count: usize) -> Result<[u32; 4], Refused> {
        let at = self.check(by, at, count, How::Read)?;
        Ok(words_of(&self.bytes[at..at + count]))
    }

    /// Writes up to 16 bytes.
    pub(crate) fn write(
        &mut self,
        by: &Access,
        at: u64,
        count: usize,
        words: &[u32; 4],
    ) -> Result<(), Refused> {
        let at = self.check(by, at, count, How::Write)?;
        bytes_of(words, &mut self.bytes[at..at + count]);
        Ok(())
    }

    /// Changes 4 or 8 bytes; answers what was there.
    pub(crate) fn change(
        &mut self,
        by: &Access,
        at: u64,
        count: usize,
        make: impl FnOnce(u64) -> u64,
    ) -> Result<u64, Refused> {
        if !at.is_multiple_of(count as u64) {
            return Err(Refused::Fault(Fault::Misaligned {
                lane: by.lane,
                at,
                bytes: count as u32,
            }));
        }
        let at = self.check(by, at, count, How::Atomic)?;
        let mut whole = [0; 8];
        whole[..count].copy_from_slice(&self.bytes[at..at + count]);
        let old = u64::from_le_bytes(whole);
        self.bytes[at..at + count].copy_from_slice(&make(old).to_le_bytes()[..count]);
        Ok(old)
    }

    #[inline]
    fn check(&mut self, by: &Access, at: u64, count: usize, how: How) -> Result<usize, Refused> {
        if at.saturating_add(count as u64) > self.bytes.len() as u64 {
            return Err(Refused::Fault(Fault::Lds {
                lane: by.lane,
                at,
                bytes: count as u32,
                size: self.bytes.len() as u32,
            }));
        }
        let (from, to) = (at as usize, at as usize + count);
        let noted = By {
            wave: by.wave,
            instruction: by.instruction,
            how,
        };
        let mut next = from;
        while next < to {
            let (number, end) = (next / 4, to.min((next & !3) + 4));
            let since = &mut self.words[number];
            if since.epoch != by.epoch {
                (since.epoch, since.word) = (by.epoch, Word::default());
            }
            let within = next % 4..next % 4 + (end - next);
            if let Some((_, wave, instruction)) = since.word.meet(&noted, within) {
                return Err(Refused::Met(Met {
                    at: 4 * number as u64,
                    wave,
                    instruction,
                }));
            }
            next = end;
        }
        Ok(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(wave: u32, epoch: u32, instruction: u32) -> Access {
        Access {
            wave,
            epoch,
            instruction,
            lane: 0,
        }
    }

    #[test]
    fn waves_that_meet_between_barriers_are_told() {
        let mut lds = Lds::new(16);
        lds.start(0xa5);
        let word = [7; 4];
        lds.write(&by(0, 1, 10), 4, 4, &word).unwrap();
        assert_eq!(lds.read(&by(0, 1, 11), 4, 4).unwrap()[0], 7);
        let met = |wave, instruction| {
            Refused::Met(Met {
                at: 4,
                wave,
                instruction,
            })
        };
        assert_eq!(lds.read(&by(1, 1, 12), 4, 4), Err(met(0, 10)));
        assert_eq!(lds.write(&by(1, 1, 12), 7, 1, &word), Err(met(0, 10)));
        // Behind a barrier it is in order, and then a write meets the reader.
        lds.read(&by(1, 2, 13), 4, 4).unwrap();
        assert_eq!(lds.write(&by(0, 2, 14), 4, 1, &word), Err(met(1, 13)));
        lds.write(&by(0, 3, 14), 4, 1, &word).unwrap();
        // Bytes beside each other do not meet.
        lds.write(&by(1, 3, 15), 5, 1, &word).unwrap();
        assert_eq!(lds.read(&by(0, 4, 16), 0, 4).unwrap()[0], 0xa5a5_a5a5);
    }

    #[test]
    fn atomics_meet_only_what_is_none() {
        let mut lds = Lds::new(8);
        let add = |old| old + 1;
        lds.change(&by(0, 1, 1), 0, 8, add).unwrap();
        assert_eq!(lds.change(&by(1, 1, 2), 0, 8, add).unwrap(), 1);
        assert!(lds.read(&by(0, 1, 3), 0, 4).is_err());
        assert_eq!(lds.read(&by(0, 2, 3), 0, 4).unwrap()[0], 2);
        assert!(lds.change(&by(1, 2, 4), 0, 4, add).is_err());
        // One's own atomic makes a plain write no atomic.
        lds.write(&by(0, 5, 5), 0, 4, &[0; 4]).unwrap();
        lds.change(&by(0, 5, 6), 0, 4, add).unwrap();
        let met = |wave, instruction| {
            Refused::Met(Met {
                at: 0,
                wave,
                instruction,
            })
        };
        assert_eq!(lds.change(&by(1, 5, 7), 0, 4, add), Err(met(0, 6)));
        // The last of several atomics may not read what the others made.
        lds.change(&by(0, 6, 8), 0, 4, add).unwrap();
        lds.change(&by(1, 6, 9), 0, 4, add).unwrap();
        assert_eq!(lds.read(&by(1, 6, 10), 0, 4), Err(met(0, 8)));
        assert_eq!(lds.read(&by(0, 6, 11), 0, 4), Err(met(1, 9)));
        assert!(matches!(
            lds.change(&by(0, 3, 4), 2, 4, add),
            Err(Refused::Fault(Fault::Misaligned { at: 2, .. }))
        ));
    }

    #[test]
    fn the_end_is_the_end() {
        let mut lds = Lds::new(6);
        lds.write(&by(0, 1, 1), 4, 2, &[0; 4]).unwrap();
        assert!(lds.write(&by(0, 1, 1), 4, 4, &[0; 4]).is_err());
        assert!(lds.read(&by(0, 1, 1), u64::MAX - 1, 4).is_err());
    }
}
