//! Who accessed a byte: of LDS since a barrier, and of memory in a launch, where
//! [`Options::exclusive`] asks for it.
//!
//! [`Options::exclusive`]: crate::Options::exclusive
//!
//! Blocks run one after the other here, so that one which takes what another wrote, or writes over
//! it, would often give the same result each time. On hardware nothing orders them, and a barrier
//! orders the waves of a block in LDS alone unless caches are told more. So each byte remembers
//! which waves read and wrote it; one that a wave writes and another accesses is an error. What
//! must stay true: waves that keep to bytes of their own, to bytes that none writes, and to atomics
//! are never refused; a meeting is told whichever of the two comes first.

use std::ops::Range;

use crate::memory::{Bytes, How, Region};

/// Words of a page.
const PAGE: usize = 1024;

/// The accesses of memory of a launch.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    /// By region, then by page.
    regions: Vec<Vec<Option<Box<[Word]>>>>,
}

/// Who accessed a word since it was new. Waves are told by their numbers plus 1; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Word {
    /// The first two waves that wrote each byte; there is a second one only where all wrote by
    /// atomics.
    writers: [[u32; 4]; 2],
    /// The first two waves that read it: whoever writes, one of them is another.
    readers: [[u32; 4]; 2],
    /// Whether a write was none by an atomic.
    plain: bool,
    /// The instructions by which either writer wrote last, and by which either reader read first.
    wrote: [u32; 2],
    read: [u32; 2],
}

/// Who accesses, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct By {
    pub(crate) wave: u32,
    /// The number of the instruction.
    pub(crate) instruction: u32,
    pub(crate) how: How,
}

/// Two waves met: where, the other wave and its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) at: u64,
    pub(crate) wave: u32,
    pub(crate) instruction: u32,
}

impl Meetings {
    /// Notes an access that lies in a region, which is the one of this number.
    #[inline]
    pub(crate) fn note(
        &mut self,
        by: &By,
        access: &Bytes,
        number: usize,
        region: &Region,
    ) -> Result<(), Met> {
        // What none can write, none meets in.
        if !region.writable {
            return Ok(());
        }
        if self.regions.len() <= number {
            self.regions.resize_with(number + 1, Vec::new);
        }
        let pages = &mut self.regions[number];
        let from = (access.at - region.start) as usize;
        let to = from + access.count as usize;
        let mut next = from;
        while next < to {
            let (page, word) = (next / 4 / PAGE, next / 4 % PAGE);
            if pages.len() <= page {
                pages.resize_with(page + 1, || None);
            }
            let words = pages[page].get_or_insert_with(|| vec![Word::default(); PAGE].into());
            let end = to.min((next & !3) + 4);
            let within = next % 4..next % 4 + (end - next);
            if let Some((byte, wave, instruction)) = words[word].meet(by, within) {
                return Err(Met {
                    at: region.start + (next & !3) as u64 + byte as u64,
                    wave,
                    instruction,
                });
            }
            next = end;
        }
        Ok(())
    }
}

impl Word {
    /// Notes an access of some bytes; answers the byte, the wave and the instruction that it must
    /// not meet.
    #[inline]
    pub(crate) fn meet(&mut self, by: &By, bytes: Range<usize>) -> Option<(usize, u32, u32)> {
        if bytes == (0..4) && self.is_mine(by) {
            return None;
        }
        let me = by.wave.wrapping_add(1);
        let ordered = by.how == How::Atomic && !self.plain;
        let is_other = |wave: u32| wave != 0 && wave != me;
        for byte in bytes {
            for (writers, wrote) in self.writers.iter().zip(self.wrote) {
                if is_other(writers[byte]) && !ordered {
                    return Some((byte, writers[byte].wrapping_sub(1), wrote));
                }
            }
            if by.how == How::Read {
                for (readers, read) in self.readers.iter_mut().zip(&mut self.read) {
                    if readers[byte] == me {
                        break;
                    }
                    if readers[byte] == 0 {
                        (readers[byte], *read) = (me, by.instruction);
                        break;
                    }
                }
                continue;
            }
            for (readers, read) in self.readers.iter().zip(self.read) {
                if is_other(readers[byte]) {
                    return Some((byte, readers[byte].wrapping_sub(1), read));
                }
            }
            for (writers, wrote) in self.writers.iter_mut().zip(&mut self.wrote) {
                if writers[byte] == 0 || writers[byte] == me {
                    (writers[byte], *wrote) = (me, by.instruction);
                    break;
                }
            }
        }
        self.plain |= by.how == How::Write;
        None
    }

    /// Most accesses are of whole words that no other wave has touched, or that two have read:
    /// whether this is one, which then is noted.
    #[inline]
    fn is_mine(&mut self, by: &By) -> bool {
        const NONE: [u32; 4] = [0; 4];
        let me = [by.wave.wrapping_add(1); 4];
        let [writer, other] = self.writers;
        if other != NONE || (writer != NONE && writer != me) {
            return false;
        }
        let [first, second] = self.readers;
        if by.how == How::Read {
            if first == NONE {
                (self.readers[0], self.read[0]) = (me, by.instruction);
            }
            let two = !first.contains(&0) && !second.contains(&0);
            return first == NONE || first == me || second == me || two;
        }
        if (first != NONE && first != me) || second != NONE {
            return false;
        }
        (self.writers[0], self.wrote[0]) = (me, by.instruction);
        self.plain |= by.how == How::Write;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGION: Region = Region {
        start: 0x1002,
        len: 0x4000,
        writable: true,
    };

    /// An access by a wave, whose instruction has a hundred times its number.
    fn access(
        meetings: &mut Meetings,
        wave: u32,
        (at, count): (u64, u64),
        how: &str,
    ) -> Result<(), Met> {
        let how = match how {
            "read" => How::Read,
            "write" => How::Write,
            _ => How::Atomic,
        };
        let by = By {
            wave,
            instruction: 100 * wave,
            how,
        };
        meetings.note(&by, &Bytes { at, count, how }, 1, &REGION)
    }

    fn met(at: u64, wave: u32) -> Result<(), Met> {
        Err(Met {
            at,
            wave,
            instruction: 100 * wave,
        })
    }

    #[test]
    fn waves_that_meet_are_told_whoever_comes_first() {
        let all = &mut Meetings::default();
        access(all, 1, (0x1002, 16), "write").unwrap();
        access(all, 1, (0x1004, 4), "read").unwrap();
        assert_eq!(access(all, 2, (0x1011, 1), "read"), met(0x1011, 1));
        assert_eq!(access(all, 2, (0x1000 + 17, 8), "write"), met(0x1011, 1));
        // Bytes beside each other do not meet, and none does where all read.
        access(all, 2, (0x1012, 2), "write").unwrap();
        access(all, 3, (0x1014, 2), "write").unwrap();
        for wave in 1..6 {
            access(all, wave, (0x3000, 4), "read").unwrap();
        }
        assert_eq!(access(all, 1, (0x3003, 1), "write"), met(0x3003, 2));
        assert_eq!(access(all, 2, (0x3003, 1), "write"), met(0x3003, 1));
        assert_eq!(access(all, 5, (0x3000, 4), "write"), met(0x3000, 1));
        // A byte of one's own that one reads and writes, on another page.
        access(all, 7, (0x4ffe, 4), "read").unwrap();
        access(all, 7, (0x4ffe, 4), "write").unwrap();
        assert_eq!(access(all, 6, (0x5001, 1), "read"), met(0x5001, 7));
    }

    #[test]
    fn atomics_meet_only_what_is_none() {
        let all = &mut Meetings::default();
        access(all, 1, (0x1008, 8), "atomic").unwrap();
        access(all, 2, (0x1008, 8), "atomic").unwrap();
        assert_eq!(access(all, 1, (0x1008, 8), "read"), met(0x1008, 2));
        assert_eq!(access(all, 1, (0x100c, 4), "write"), met(0x100c, 2));
        assert_eq!(access(all, 2, (0x1008, 8), "read"), met(0x1008, 1));
        access(all, 3, (0x1010, 8), "read").unwrap();
        assert_eq!(access(all, 2, (0x1010, 8), "atomic"), met(0x1010, 3));
        // One's own atomic makes a plain write no atomic.
        access(all, 4, (0x1018, 8), "write").unwrap();
        access(all, 4, (0x1018, 8), "atomic").unwrap();
        assert_eq!(access(all, 5, (0x1018, 8), "atomic"), met(0x1018, 4));
    }

    #[test]
    fn none_meets_where_none_can_write() {
        let all = &mut Meetings::default();
        let region = Region {
            writable: false,
            ..REGION
        };
        let by = By {
            wave: 1,
            instruction: 0,
            how: How::Read,
        };
        let bytes = Bytes {
            at: 0x1002,
            count: 4,
            how: How::Read,
        };
        all.note(&by, &bytes, 7, &region).unwrap();
        assert!(all.regions.is_empty());
    }
}
