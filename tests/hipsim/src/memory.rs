//! The device's memory, and the host's memory that the runtime knows.
//!
//! Every allocation is a mapping of its own between pages that cannot be accessed, with its end
//! as near to the page behind it as its alignment allows: a kernel that reads or writes past the
//! end meets a fault. Fresh memory holds the poison byte. What lies between an allocation and its
//! pages holds a canary, which is looked at when the memory is freed. Freed memory stays mapped
//! without access for a while, so that a late access is a fault and not somebody else's data.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::abi::{Answer, Code};
use crate::settings::Settings;

/// What an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Device,
    /// `hipHostMalloc`.
    Pinned,
    /// The caller's own memory, `hipHostRegister`.
    Registered,
    Managed,
    /// A mapping of external memory.
    External,
}

/// An allocation.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) size: usize,
    pub(crate) kind: Kind,
    pub(crate) device: u32,
    pub(crate) flags: u32,
    /// Handle of the pool that it is from; 0 for none.
    pub(crate) pool: usize,
    /// Whether it has been handed to `hipFreeAsync`.
    pub(crate) leaving: AtomicBool,
    /// Copies under way in it.
    users: AtomicU32,
    /// Kernels under way that were told of it; changed under the lock of the table.
    kernels: AtomicU32,
    /// The mapping, guard pages included; empty where the memory is not the simulator's.
    mapping: (usize, usize),
}

impl Block {
    /// Whether a device pointer may point here.
    pub(crate) fn on_device(&self) -> bool {
        matches!(self.kind, Kind::Device | Kind::External | Kind::Managed)
    }
}

/// Keeps an allocation from being unmapped while a copy runs in it.
#[derive(Debug)]
pub(crate) struct InUse(Arc<Block>);

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Ordering::Release);
    }
}

/// What a kernel may access, which stays mapped until this goes. A kernel is not told to use all
/// of it, so memory that is freed meanwhile is no mistake: freeing it waits.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    memory: &'a Memory,
    blocks: Vec<Arc<Block>>,
}

impl Reach<'_> {
    pub(crate) fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }
}

impl Drop for Reach<'_> {
    fn drop(&mut self) {
        let inner = self.memory.lock();
        for block in &self.blocks {
            block.kernels.fetch_sub(1, Ordering::Relaxed);
        }
        drop(inner);
        self.memory.kernel_ended.notify_all();
    }
}

/// What an allocation is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) size: usize,
    pub(crate) kind: Kind,
    pub(crate) device: u32,
    pub(crate) flags: u32,
    pub(crate) pool: usize,
}

/// All allocations.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    inner: Mutex<Inner>,
    kernel_ended: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    blocks: BTreeMap<usize, Arc<Block>>,
    quarantine: VecDeque<(usize, usize)>,
    sums: BTreeMap<Kind, Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    live: u64,
    bytes: u64,
    most: u64,
    ever: u64,
}

const PAGE: usize = 4096;
const CANARY: u8 = 0xee;
/// Freed mappings that stay without access.
const QUARANTINE: usize = 512;

impl Memory {
    /// Allocates; the memory holds the poison byte.
    pub(crate) fn allocate(&self, wish: &Wish, settings: &Settings) -> Answer<usize> {
        let host = wish.kind == Kind::Pinned;
        let mut inner = self.lock();
        let used: u64 = inner
            .sums
            .iter()
            .filter(|(kind, _)| (**kind == Kind::Pinned) == host)
            .filter(|(kind, _)| !matches!(kind, Kind::Registered | Kind::External))
            .map(|(_, sum)| sum.bytes)
            .sum();
        let limit = match (host, settings.memory_limit, settings.pinned_limit) {
            (true, _, 0) => u64::MAX,
            (true, _, limit) => limit,
            (false, 0, _) => settings.memory,
            (false, limit, _) => limit.min(settings.memory),
        };
        if used.saturating_add(wish.size as u64) > limit {
            return Err(Code::OUT_OF_MEMORY);
        }
        let alignment = if host { 64 } else { settings.alignment };
        let (start, mapping) = map(wish.size, alignment).ok_or(Code::OUT_OF_MEMORY)?;
        // SAFETY: the mapping is new, and `map` made everything between its guard pages
        // accessible.
        unsafe {
            let data = (mapping.0 + PAGE) as *mut u8;
            data.write_bytes(CANARY, mapping.1 - 2 * PAGE);
            (start as *mut u8).write_bytes(settings.poison, wish.size);
        }
        inner.insert(start, wish, mapping);
        Ok(start)
    }

    /// Takes up memory that somebody else mapped, and unmaps; such memory is not poisoned.
    pub(crate) fn adopt(&self, start: usize, wish: &Wish) -> Answer {
        let mut inner = self.lock();
        let end = start.checked_add(wish.size).ok_or(Code::INVALID_VALUE)?;
        let before = inner.blocks.range(..end).next_back();
        if before.is_some_and(|(_, block)| block.start + block.size > start) {
            return Err(Code::ALREADY_REGISTERED);
        }
        inner.insert(start, wish, (0, 0));
        Ok(())
    }

    /// The allocation that holds this address.
    pub(crate) fn find(&self, address: usize) -> Option<Arc<Block>> {
        let inner = self.lock();
        let (_, block) = inner.blocks.range(..=address).next_back()?;
        (address - block.start < block.size.max(1)).then(|| block.clone())
    }

    /// The allocation that holds all of a range.
    pub(crate) fn find_range(&self, address: usize, bytes: usize) -> Option<Arc<Block>> {
        let block = self.find(address)?;
        (bytes <= block.size - (address - block.start)).then_some(block)
    }

    /// As [`find_range`](Self::find_range), and keeps it mapped.
    pub(crate) fn hold_range(&self, address: usize, bytes: usize) -> Option<InUse> {
        let inner = self.lock();
        let (_, block) = inner.blocks.range(..=address).next_back()?;
        let at = address - block.start;
        (at <= block.size && bytes <= block.size - at).then(|| {
            block.users.fetch_add(1, Ordering::Acquire);
            InUse(block.clone())
        })
    }

    /// What a kernel on a device may access: the memory of the device and the host's that the
    /// runtime knows.
    pub(crate) fn reach(&self, device: u32) -> Reach<'_> {
        let inner = self.lock();
        let blocks = inner.blocks.values();
        let reached = blocks.filter(|b| b.size > 0 && (!b.on_device() || b.device == device));
        let blocks: Vec<_> = reached.cloned().collect();
        for block in &blocks {
            block.kernels.fetch_add(1, Ordering::Relaxed);
        }
        Reach {
            memory: self,
            blocks,
        }
    }

    /// Frees the allocation that starts here, which must be of one of these kinds. Answers what
    /// was wrong with how the memory was used.
    pub(crate) fn free(&self, start: usize, kinds: &[Kind]) -> Answer<Vec<String>> {
        let block = {
            let mut inner = self.lock();
            let block = inner.blocks.get(&start).ok_or(Code::INVALID_VALUE)?;
            if !kinds.contains(&block.kind) {
                return Err(Code::INVALID_VALUE);
            }
            let block = block.clone();
            inner.blocks.remove(&start);
            let sum = inner.sums.entry(block.kind).or_default();
            sum.live -= 1;
            sum.bytes -= block.size as u64;
            block
        };
        let mut wrong = Vec::new();
        if block.users.load(Ordering::Acquire) > 0 {
            wrong.push(format!(
                "memory at {start:#x} was freed while a copy ran in it"
            ));
            while block.users.load(Ordering::Acquire) > 0 {
                std::thread::yield_now();
            }
        }
        let mut inner = self.lock();
        while block.kernels.load(Ordering::Relaxed) > 0 {
            let ended = self.kernel_ended.wait(inner);
            inner = ended.unwrap_or_else(PoisonError::into_inner);
        }
        drop(inner);
        let (from, length) = block.mapping;
        if length > 0 {
            if let Some(at) = broken_canary(&block) {
                let (size, at) = (block.size, at as isize - start as isize);
                wrong.push(format!(
                    "byte {at} of an allocation of {size} bytes was written"
                ));
            }
            close(from, length);
            let mut inner = self.lock();
            inner.quarantine.push_back((from, length));
            if inner.quarantine.len() > QUARANTINE
                && let Some((from, length)) = inner.quarantine.pop_front()
            {
                // SAFETY: the mapping is this simulator's and nobody holds a block in it.
                unsafe { libc::munmap(from as *mut c_void, length) };
            }
        }
        Ok(wrong)
    }

    /// Bytes of device memory in use.
    pub(crate) fn used(&self) -> u64 {
        let inner = self.lock();
        let of = |kind| inner.sums.get(&kind).map_or(0, |s: &Sum| s.bytes);
        of(Kind::Device) + of(Kind::Managed)
    }

    /// Bytes in use of a pool.
    pub(crate) fn used_of_pool(&self, pool: usize) -> u64 {
        let inner = self.lock();
        let of_pool = inner.blocks.values().filter(|b| b.pool == pool);
        of_pool.map(|b| b.size as u64).sum()
    }

    /// The sums of each kind.
    pub(crate) fn json(&self) -> Value {
        let inner = self.lock();
        let mut all = serde_json::Map::new();
        for kind in [
            Kind::Device,
            Kind::Pinned,
            Kind::Registered,
            Kind::Managed,
            Kind::External,
        ] {
            let s = inner.sums.get(&kind).copied().unwrap_or_default();
            let value = json!({
                "live": s.live, "bytes": s.bytes, "most_bytes": s.most, "ever": s.ever,
            });
            all.insert(format!("{kind:?}").to_lowercase(), value);
        }
        all.into()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn insert(&mut self, start: usize, wish: &Wish, mapping: (usize, usize)) {
        let block = Block {
            start,
            size: wish.size,
            kind: wish.kind,
            device: wish.device,
            flags: wish.flags,
            pool: wish.pool,
            leaving: AtomicBool::new(false),
            users: AtomicU32::new(0),
            kernels: AtomicU32::new(0),
            mapping,
        };
        self.blocks.insert(start, Arc::new(block));
        let sum = self.sums.entry(wish.kind).or_default();
        sum.live += 1;
        sum.ever += 1;
        sum.bytes += wish.size as u64;
        sum.most = sum.most.max(sum.bytes);
    }
}

/// Maps `size` bytes between guard pages: where they start, and the mapping.
fn map(size: usize, alignment: usize) -> Option<(usize, (usize, usize))> {
    let aligned = size.checked_next_multiple_of(alignment)?;
    let data = aligned.checked_next_multiple_of(PAGE)?;
    let length = data.checked_add(2 * PAGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let null = std::ptr::null_mut();
    // SAFETY: a new mapping touches nothing that exists.
    let from = unsafe { libc::mmap(null, length, libc::PROT_NONE, flags, -1, 0) };
    if from == libc::MAP_FAILED {
        return None;
    }
    let from = from as usize;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range is part of the mapping just made.
    if unsafe { libc::mprotect((from + PAGE) as *mut c_void, data, access) } != 0 {
        // SAFETY: as above; nobody knows the mapping yet.
        unsafe { libc::munmap(from as *mut c_void, length) };
        return None;
    }
    Some((from + PAGE + data - aligned, (from, length)))
}

/// Takes the pages of a mapping away and lets nobody access it.
fn close(from: usize, length: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the range is a mapping of this simulator, whose block was taken out of the table.
    unsafe { libc::mmap(from as *mut c_void, length, libc::PROT_NONE, flags, -1, 0) };
}

/// The first byte beside a block that is not the canary.
fn broken_canary(block: &Block) -> Option<usize> {
    let (from, length) = block.mapping;
    let (first, last) = (from + PAGE, from + length - PAGE);
    let end = block.start + block.size;
    // SAFETY: both ranges lie between the guard pages of a mapping that is still there.
    let (front, back) = unsafe {
        (
            std::slice::from_raw_parts(first as *const u8, block.start - first),
            std::slice::from_raw_parts(end as *const u8, last - end),
        )
    };
    let in_front = front.iter().position(|&b| b != CANARY).map(|at| first + at);
    in_front.or_else(|| back.iter().position(|&b| b != CANARY).map(|at| end + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_may_reach_is_freed_when_it_has_ended() {
        let (memory, settings) = (Memory::default(), Settings::from_environment(None));
        let allocate = |kind, device| {
            let wish = Wish {
                size: 64,
                kind,
                device,
                flags: 0,
                pool: 0,
            };
            memory.allocate(&wish, &settings).expect("memory")
        };
        let (own, pinned) = (allocate(Kind::Device, 0), allocate(Kind::Pinned, 1));
        allocate(Kind::Device, 1);
        let reach = memory.reach(0);
        let mut starts: Vec<_> = reach.blocks().iter().map(|block| block.start).collect();
        starts.sort_unstable();
        let mut expected = [own, pinned];
        expected.sort_unstable();
        assert_eq!(starts, expected);
        std::thread::scope(|scope| {
            let free = scope.spawn(|| memory.free(own, &[Kind::Device]));
            while memory.find(own).is_some() {
                std::thread::yield_now();
            }
            // SAFETY: what is freed stays mapped as long as the kernel runs.
            unsafe { (own as *mut u8).write(1) };
            assert!(!free.is_finished());
            drop(reach);
            assert_eq!(free.join().expect("a thread"), Ok(Vec::new()));
        });
    }
}
