//! Runs a twin's kernels on the simulated device, over planes that nobody may read beside.
//!
//! What must stay true: each sample that a kernel may read is mapped, and at least one end of a
//! plane borders on memory that must not be touched.

use std::sync::LazyLock;

use vmafx_hipsim::blocks::{Kernels, Options};

use super::{ALIGNMENT, Arena, Layout, Twin, calls};
use crate::args;

/// The kernels for the host, from `cargo xtask kernels`.
static KERNELS: LazyLock<&'static Kernels> = LazyLock::new(|| Kernels::find().unwrap());

/// Content of memory that nobody wrote.
const POISON: u64 = 0xa5a5_a5a5_a5a5_a5a5;
/// Words behind an arena that must stay as they are.
const BEHIND: usize = 32;

/// Runs all launches of `twin` over two luma planes and gives the result words. Each block is
/// accounted for, and nothing behind the arena is written.
pub(super) fn run(
    twin: &mut (dyn Twin + 'static),
    depth: u32,
    planes: [args::Plane; 2],
) -> Vec<u64> {
    let layout = Layout::of(&mut [&mut *twin]);
    // As aligned as an arena is.
    let words = layout.arena_bytes() / 8;
    let mut memory = vec![POISON; ALIGNMENT / 8 + words + BEHIND];
    let first = (memory.as_ptr() as usize).wrapping_neg() % ALIGNMENT / 8;
    let memory = &mut memory[first..];
    let mut tables = vec![0_u64; layout.tables().len() / 8];
    bytemuck::cast_slice_mut(&mut tables).copy_from_slice(layout.tables());
    let arena = Arena {
        layout: &layout,
        base: memory.as_mut_ptr() as u64,
        tables: tables.as_ptr() as u64,
    };
    let mut job = args::Job {
        sequence: 77,
        ..args::Job::default()
    };
    [job.reference[0], job.distorted[0]] = planes;
    let job = bytemuck::bytes_of(&job);
    bytemuck::cast_slice_mut(memory)[..job.len()].copy_from_slice(job);

    let (begin, calls) = calls([&*twin], &arena, depth);
    let calls = calls.concat();
    for call in [&begin].into_iter().chain(&calls) {
        assert_eq!(KERNELS.kernel(call.kernel).unwrap().threads, call.threads);
        let options = Options::default();
        let done = KERNELS.launch(call.kernel, call.grid, &call.arguments, &options);
        done.unwrap();
    }

    assert!(memory[words..].iter().all(|&word| word == POISON));
    let results = memory[Layout::words_offset() / 8..][..layout.result_words()].to_vec();
    assert_eq!(results[args::SEQUENCE_WORD], 77);
    for (call, &blocks) in calls.iter().zip(&results[args::COUNTER_WORD..]) {
        let expected = call.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        assert_eq!(blocks, expected, "{}", call.kernel);
    }
    results
}

/// A plane that can be read, with pages on both sides that cannot be touched.
pub(super) struct Guarded {
    map: *mut libc::c_void,
    bytes: usize,
    plane: args::Plane,
}

const PAGE: usize = 4096;

impl Guarded {
    /// Rows of bytes that start `pitch` apart. With `at_end` the last row ends `odd` bytes in
    /// front of a guard, else the first one starts as far behind one. Bytes between rows are 255.
    pub(super) fn new<'a>(
        rows: impl ExactSizeIterator<Item = &'a [u8]>,
        pitch: usize,
        at_end: bool,
        odd: usize,
    ) -> Self {
        let used = rows.len() * pitch;
        let inner = (used + odd).next_multiple_of(PAGE);
        let bytes = inner + 2 * PAGE;
        // SAFETY: new memory of no one else.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(map, libc::MAP_FAILED);
        // SAFETY: the pages between the first and the last of the mapping, which are used through
        // this slice alone while it lives.
        let memory = unsafe {
            let start = map.byte_add(PAGE);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(start, inner, access), 0);
            std::slice::from_raw_parts_mut(start.cast::<u8>(), inner)
        };
        memory.fill(0xff);
        let mut at = odd;
        for (number, row) in rows.enumerate() {
            if number == 0 && at_end {
                // The padding of the last row is beyond the guard.
                at = inner - odd - (used - pitch + row.len());
            }
            memory[at + number * pitch..][..row.len()].copy_from_slice(row);
        }
        let plane = args::Plane {
            address: memory[at..].as_ptr() as u64,
            pitch: pitch as u64,
        };
        // SAFETY: the same pages; the slice is not used any more.
        let guarded = unsafe { libc::mprotect(map.byte_add(PAGE), inner, libc::PROT_READ) };
        assert_eq!(guarded, 0);
        Guarded { map, bytes, plane }
    }

    pub(super) fn plane(&self) -> args::Plane {
        self.plane
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and no kernel runs.
        unsafe { libc::munmap(self.map, self.bytes) };
    }
}
