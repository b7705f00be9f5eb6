//! Who accessed a byte of memory in a launch, where [`Options::exclusive`] asks for it.
//!
//! [`Options::exclusive`]: crate::Options::exclusive
//!
//! Blocks run one after the other here, so that one which takes what another wrote, or writes over
//! it, would often give the same result each time. On hardware nothing orders them, and a barrier
//! orders the waves of a block in LDS alone unless caches are told more. So each byte remembers
//! which waves read and wrote it; one that a wave writes and another accesses is an error. What
//! must stay true: waves that keep to bytes of their own, to bytes that none writes, and to atomics
//! are never refused; a meeting is told whichever of the two comes first.

use crate::memory::{Bytes, Region};

/// Words of a page.
const PAGE: usize = 1024;

/// The accesses of a launch.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    /// By region, then by page.
    regions: Vec<Vec<Option<Box<[Word]>>>>,
}

/// Who accessed a word. Waves are numbers from 1 on, counted through all blocks; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
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
    pub(crate) atomic: bool,
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
            if end - next == 4 && !access.write && words[word].is_mine(by) {
                next = end;
                continue;
            }
            for byte in next..end {
                if let Some((wave, instruction)) = words[word].meet(by, byte % 4, access.write) {
                    return Err(Met {
                        at: region.start + byte as u64,
                        wave,
                        instruction,
                    });
                }
            }
            next = end;
        }
        Ok(())
    }
}

impl Word {
    /// Most accesses read whole words that none has written: whether this is one, noted if it is
    /// the first or by the same wave.
    #[inline]
    fn is_mine(&mut self, by: &By) -> bool {
        let [first, _] = &mut self.readers;
        if self.writers[0] != [0; 4] {
            return false;
        }
        if *first == [0; 4] {
            (*first, self.read[0]) = ([by.wave; 4], by.instruction);
        }
        *first == [by.wave; 4]
    }

    /// Notes an access of a byte; the other wave and its instruction if both meet.
    #[inline]
    fn meet(&mut self, by: &By, byte: usize, write: bool) -> Option<(u32, u32)> {
        let me = by.wave;
        for (writers, wrote) in self.writers.iter().zip(self.wrote) {
            let writer = writers[byte];
            if writer != 0 && writer != me && (self.plain || !by.atomic) {
                return Some((writer, wrote));
            }
        }
        if !write {
            for (readers, read) in self.readers.iter_mut().zip(&mut self.read) {
                if readers[byte] == me {
                    break;
                }
                if readers[byte] == 0 {
                    (readers[byte], *read) = (me, by.instruction);
                    break;
                }
            }
            return None;
        }
        for (readers, read) in self.readers.iter().zip(self.read) {
            if readers[byte] != 0 && readers[byte] != me {
                return Some((readers[byte], read));
            }
        }
        for (writers, wrote) in self.writers.iter_mut().zip(&mut self.wrote) {
            if writers[byte] == 0 || writers[byte] == me {
                (writers[byte], *wrote) = (me, by.instruction);
                break;
            }
        }
        self.plain |= !by.atomic;
        None
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
        let by = By {
            wave,
            instruction: 100 * wave,
            atomic: how == "atomic",
        };
        let write = how != "read";
        meetings.note(&by, &Bytes { at, count, write }, 1, &REGION)
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
            atomic: false,
        };
        let bytes = Bytes {
            at: 0x1002,
            count: 4,
            write: false,
        };
        all.note(&by, &bytes, 7, &region).unwrap();
        assert!(all.regions.is_empty());
    }
}
