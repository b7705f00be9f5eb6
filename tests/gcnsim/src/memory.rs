//! Memory by address: what kernels may access, and how.
//!
//! Accesses are relaxed atomics of the widest size that their alignment allows, so that blocks on
//! several threads that meet in a byte have some order, as on hardware, and nothing worse.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::Fault;

/// Memory that kernels may access.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: Vec<Region>,
}

/// A piece of memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Address of its first byte.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Whether kernels may write there.
    pub writable: bool,
}

impl Memory {
    /// Memory that consists of these pieces, which do not overlap.
    ///
    /// # Safety
    /// For as long as a launch with this memory runs, each piece is memory of this process that
    /// may be read, and written where it is writable, and nothing in Rust holds a reference into
    /// what is written.
    #[must_use]
    pub unsafe fn new(mut regions: Vec<Region>) -> Self {
        regions.retain(|region| region.len > 0);
        regions.sort_unstable_by_key(|region| region.start);
        Self { regions }
    }

    /// The same memory and more.
    ///
    /// # Safety
    /// As for [`new`](Self::new).
    #[must_use]
    pub unsafe fn with(&self, more: &[Region]) -> Self {
        let mut regions = self.regions.clone();
        regions.extend_from_slice(more);
        // SAFETY: promised by the caller, for the old pieces and the new.
        unsafe { Self::new(regions) }
    }

    /// Whether all of it lies in one piece. `hint` is where the last access was.
    #[inline]
    pub(crate) fn holds(&self, access: &Bytes, hint: &mut usize) -> bool {
        let within = |region: &Region| {
            let at = access.at.wrapping_sub(region.start);
            at < region.len
                && access.count <= region.len - at
                && (region.writable || !access.writes())
        };
        if self.regions.get(*hint).is_some_and(within) {
            return true;
        }
        let after = self
            .regions
            .partition_point(|region| region.start <= access.at);
        let found = after.checked_sub(1).filter(|&at| within(&self.regions[at]));
        *hint = found.unwrap_or(*hint);
        found.is_some()
    }

    /// The piece of this number, in the order of addresses.
    pub(crate) fn region(&self, number: usize) -> &Region {
        &self.regions[number]
    }

    /// Why an access is refused.
    pub(crate) fn fault(&self, access: &Bytes, lane: usize) -> Fault {
        let end = access.at.saturating_add(access.count);
        let after = self
            .regions
            .partition_point(|region| region.start <= access.at);
        let before = after.checked_sub(1).map(|at| self.regions[at]);
        let next = self.regions.get(after).copied();
        let from_next = next.map(|next| (next.start.saturating_sub(end), next));
        let where_ = match (before, from_next) {
            (Some(region), _) if access.at - region.start < region.len && !region.writable => {
                "which kernels may only read".to_owned()
            }
            (Some(region), _) if access.at - region.start < region.len => {
                let (over, len) = (end - (region.start + region.len), region.len);
                format!("{over} of them behind the end of an allocation of {len} bytes")
            }
            (before, from_next) => {
                let from_end = before.map(|r| (access.at - (r.start + r.len), r));
                match (from_end, from_next) {
                    (Some((past, region)), next) if next.is_none_or(|(to, _)| past <= to) => {
                        format!("{past} bytes behind an allocation of {} bytes", region.len)
                    }
                    (_, Some((to, region))) => {
                        format!("{to} bytes before an allocation of {} bytes", region.len)
                    }
                    _ => "where no memory is".to_owned(),
                }
            }
        };
        Fault::Memory {
            lane: lane as u32,
            at: access.at,
            bytes: access.count as u32,
            write: access.writes(),
            where_,
        }
    }
}

/// Bytes that are accessed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) at: u64,
    pub(crate) count: u64,
    pub(crate) how: How,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Read,
    Write,
    /// Reads and writes in one step.
    Atomic,
}

impl Bytes {
    pub(crate) fn writes(&self) -> bool {
        self.how != How::Read
    }

    pub(crate) fn touch(&self, range: &Range<u64>) -> bool {
        self.at < range.end && range.start < self.at.saturating_add(self.count)
    }
}

/// Reads up to 16 bytes, which fill words from the lowest.
///
/// # Safety
/// The bytes are memory that may be read, as [`Memory::new`] has it.
pub(crate) unsafe fn load(at: u64, count: usize) -> [u32; 4] {
    let mut words = [0; 4];
    let byte = |at: u64| {
        // SAFETY: one of the bytes that the caller vouches for; nothing holds a reference to it.
        unsafe { AtomicU8::from_ptr(at as *mut u8) }.load(Ordering::Relaxed)
    };
    if count.is_multiple_of(4) && at.is_multiple_of(4) {
        for (word, at) in words.iter_mut().zip((at..).step_by(4)).take(count / 4) {
            // SAFETY: as above, and the address is a multiple of 4.
            *word = unsafe { AtomicU32::from_ptr(at as *mut u32) }.load(Ordering::Relaxed);
        }
    } else if count == 2 && at.is_multiple_of(2) {
        // SAFETY: as above, and the address is a multiple of 2.
        words[0] =
            u32::from(unsafe { AtomicU16::from_ptr(at as *mut u16) }.load(Ordering::Relaxed));
    } else {
        let bytes: [u8; 16] = std::array::from_fn(|i| match i < count {
            true => byte(at + i as u64),
            false => 0,
        });
        words = words_of(&bytes);
    }
    words
}

/// Words of up to 16 bytes, filled from the lowest.
pub(crate) fn words_of(bytes: &[u8]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
        let mut whole = [0; 4];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_le_bytes(whole);
    }
    words
}

/// Writes as many bytes of words as there is room for, the lowest first.
pub(crate) fn bytes_of(words: &[u32; 4], room: &mut [u8]) {
    for (bytes, word) in room.chunks_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
}

/// Writes up to 16 bytes of words.
///
/// # Safety
/// The bytes are memory that may be written, as [`Memory::new`] has it.
pub(crate) unsafe fn store(at: u64, count: usize, words: &[u32; 4]) {
    if count.is_multiple_of(4) && at.is_multiple_of(4) {
        for (word, at) in words.iter().zip((at..).step_by(4)).take(count / 4) {
            // SAFETY: bytes that the caller vouches for, at a multiple of 4.
            unsafe { AtomicU32::from_ptr(at as *mut u32) }.store(*word, Ordering::Relaxed);
        }
    } else if count == 2 && at.is_multiple_of(2) {
        // SAFETY: as above, at a multiple of 2.
        unsafe { AtomicU16::from_ptr(at as *mut u16) }.store(words[0] as u16, Ordering::Relaxed);
    } else {
        let mut bytes = [0; 16];
        bytes_of(words, &mut bytes);
        for (byte, at) in bytes.iter().zip(at..).take(count) {
            // SAFETY: as above.
            unsafe { AtomicU8::from_ptr(at as *mut u8) }.store(*byte, Ordering::Relaxed);
        }
    }
}

/// What an atomic instruction makes of what is there, its data, and what it compares with.
pub(crate) type Change = fn(u64, u64, u64) -> u64;

/// An atomic instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) change: Change,
    /// 4 or 8.
    pub(crate) bytes: usize,
    /// Whether it has a second number, which it compares with.
    pub(crate) compares: bool,
}

/// The atomic of this name, which is what stands behind `global_atomic_` or `ds_`, without `_rtn`.
pub(crate) fn atomic(name: &str) -> Option<Atomic> {
    // Older families name sign and width before and behind, newer ones a type.
    let (name, of_type) = match name.strip_suffix("_x2") {
        Some(name) => (name, "u64"),
        None => match name.rsplit_once('_') {
            Some((name, of_type)) => (name, of_type),
            None => (name, "u32"),
        },
    };
    let (name, of_type) = match (name, of_type.ends_with("64")) {
        ("smin" | "smax", true) => (&name[1..], "i64"),
        ("smin" | "smax", false) => (&name[1..], "i32"),
        ("umin" | "umax", _) => (&name[1..], of_type),
        _ => (name, of_type),
    };
    if !["u32", "i32", "b32", "u64", "i64", "b64"].contains(&of_type) {
        return None;
    }
    let change: Change = match (name, of_type) {
        ("add", _) => |old, data, _| old.wrapping_add(data),
        ("sub", _) => |old, data, _| old.wrapping_sub(data),
        ("rsub", _) => |old, data, _| data.wrapping_sub(old),
        ("and", _) => |old, data, _| old & data,
        ("or", _) => |old, data, _| old | data,
        ("xor", _) => |old, data, _| old ^ data,
        ("swap" | "wrxchg" | "storexchg", _) => |_, data, _| data,
        ("cmpswap" | "cmpst" | "cmpstore", _) => {
            |old, data, compared| if old == compared { data } else { old }
        }
        ("min", "u32" | "u64") => |old, data, _| old.min(data),
        ("max", "u32" | "u64") => |old, data, _| old.max(data),
        ("min", "i32") => |old, data, _| {
            if (old as i32) <= data as i32 {
                old
            } else {
                data
            }
        },
        ("max", "i32") => |old, data, _| if old as i32 >= data as i32 { old } else { data },
        ("min", "i64") => |old, data, _| {
            if (old as i64) <= data as i64 {
                old
            } else {
                data
            }
        },
        ("max", "i64") => |old, data, _| if old as i64 >= data as i64 { old } else { data },
        _ => return None,
    };
    Some(Atomic {
        change,
        bytes: if of_type.ends_with("64") { 8 } else { 4 },
        compares: ["cmpswap", "cmpst", "cmpstore"].contains(&name),
    })
}

/// Changes 4 or 8 bytes in one step; answers what was there.
///
/// # Safety
/// As for [`store`], and the address is a multiple of the size.
pub(crate) unsafe fn change(at: u64, atomic: &Atomic, data: u64, compared: u64) -> u64 {
    const RELAXED: Ordering = Ordering::Relaxed;
    let make = |old| (atomic.change)(old, data, compared);
    if atomic.bytes == 4 {
        // SAFETY: promised by the caller.
        let word = unsafe { AtomicU32::from_ptr(at as *mut u32) };
        let old = word.fetch_update(RELAXED, RELAXED, |old| Some(make(old.into()) as u32));
        u64::from(old.unwrap_or_default())
    } else {
        // SAFETY: promised by the caller.
        let word = unsafe { AtomicU64::from_ptr(at as *mut u64) };
        let old = word.fetch_update(RELAXED, RELAXED, |old| Some(make(old)));
        old.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, old: u64, data: u64) -> (u64, usize) {
        let atomic = atomic(name).unwrap();
        ((atomic.change)(old, data, 7), atomic.bytes)
    }

    #[test]
    fn atomics_have_their_widths_and_signs() {
        let minus = u64::from(u32::MAX);
        assert_eq!(made("add_x2", u64::MAX, 2), (1, 8));
        assert_eq!(made("add_u64", 1, 2), (3, 8));
        assert_eq!(made("smin", minus, 1), (minus, 4));
        assert_eq!(made("umin", minus, 1), (1, 4));
        assert_eq!(made("min_i32", 1, minus), (minus, 4));
        assert_eq!(made("max_u32", 1, minus), (minus, 4));
        assert_eq!(made("smax_x2", u64::MAX, 1), (1, 8));
        assert_eq!(made("max_u64", u64::MAX, 1), (u64::MAX, 8));
        assert_eq!(made("cmpswap_b64", 7, 1), (1, 8));
        assert_eq!(made("cmpst_b32", 8, 1), (8, 4));
        assert!(atomic("add_f32").is_none());
    }

    #[test]
    fn faults_say_how_far_off_they_are() {
        let region = |start, len, writable| Region {
            start,
            len,
            writable,
        };
        let all = vec![region(0x1000, 0x10, true), region(0x2000, 8, false)];
        // SAFETY: nothing is accessed.
        let memory = unsafe { Memory::new(all) };
        let says = |at, count, write| {
            let how = if write { How::Write } else { How::Read };
            let access = Bytes { at, count, how };
            match memory.holds(&access, &mut 0) {
                true => String::new(),
                false => memory.fault(&access, 3).to_string(),
            }
        };
        assert_eq!(says(0x1000, 16, true), "");
        assert_eq!(says(0x2000, 8, false), "");
        let over = says(0x100c, 8, true);
        assert!(
            over.contains("lane 3 writes 8 bytes at 0x100c, 4 of them behind"),
            "{over}"
        );
        assert!(says(0x1014, 4, false).contains("4 bytes behind an allocation of 16 bytes"));
        assert!(says(0x1ff8, 4, false).contains("4 bytes before an allocation of 8 bytes"));
        assert!(says(0x2000, 4, true).contains("may only read"));
    }
}
