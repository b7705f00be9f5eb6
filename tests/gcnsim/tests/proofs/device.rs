//! Memory and launches, so that a test reads as what it checks.

use vmafx_gcnsim::{Counts, Error, Memory, Options, Program, Region};

/// A plain type that kernels read and write.
pub(crate) trait Word: Copy + Default + PartialEq + std::fmt::LowerHex {}
impl Word for u8 {}
impl Word for u32 {}
impl Word for u64 {}

/// Memory of the device. Nothing else of the device is near it: an access outside is nearest to the
/// buffer that was meant.
pub(crate) struct Buffer<T> {
    /// What it holds, between as much as keeps others away.
    words: Vec<T>,
}

/// Bytes on each side of a buffer.
const APART: usize = 4096;

impl<T: Word> Buffer<T> {
    const MARGIN: usize = APART / size_of::<T>();

    /// A buffer that holds these.
    pub(crate) fn new(words: &[T]) -> Self {
        let margin = [T::default()].repeat(Self::MARGIN);
        Self {
            words: [&margin, words, &margin].concat(),
        }
    }

    /// A buffer of `count` words, each of which holds a byte that no result looks like.
    pub(crate) fn unwritten(count: usize) -> Self {
        let mut buffer = Self::new(&vec![T::default(); count]);
        let words = &mut buffer.words[Self::MARGIN..][..count];
        let bytes = size_of_val(words);
        // SAFETY: the slice has that many bytes, and every pattern of bits is an integer.
        unsafe { words.as_mut_ptr().cast::<u8>().write_bytes(0xcd, bytes) };
        buffer
    }

    /// Where it lies. Kernels write through this address.
    pub(crate) fn region(&mut self) -> Region {
        let count = self.words.len() - 2 * Self::MARGIN;
        let words = &mut self.words[Self::MARGIN..][..count];
        Region {
            start: words.as_mut_ptr() as u64,
            len: size_of_val(words) as u64,
            writable: true,
        }
    }

    /// What it holds.
    pub(crate) fn words(&self) -> &[T] {
        &self.words[Self::MARGIN..self.words.len() - Self::MARGIN]
    }
}

/// Arguments as C++ lays them out one after the other.
#[derive(Default)]
pub(crate) struct Arguments {
    bytes: Vec<u8>,
    regions: Vec<Region>,
}

impl Arguments {
    /// The address of a buffer, which the launch may access.
    pub(crate) fn buffer<T: Word>(self, buffer: &mut Buffer<T>) -> Self {
        let region = buffer.region();
        let mut with = self.address(region.start);
        with.regions.push(region);
        with
    }

    /// An address.
    pub(crate) fn address(mut self, address: u64) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.extend(address.to_le_bytes());
        self
    }

    /// A number.
    pub(crate) fn number(mut self, number: u32) -> Self {
        self.bytes.extend(number.to_le_bytes());
        self
    }
}

/// Runs a kernel whose block has one dimension.
pub(crate) fn launch(
    program: &Program,
    kernel: &str,
    blocks: u32,
    threads: u32,
    arguments: &Arguments,
    options: &Options,
) -> Result<Counts, Error> {
    let grid = [blocks, 1, 1];
    launch_grid(program, kernel, grid, [threads, 1, 1], arguments, options)
}

/// Runs a kernel.
pub(crate) fn launch_grid(
    program: &Program,
    kernel: &str,
    grid: [u32; 3],
    threads: [u32; 3],
    arguments: &Arguments,
    options: &Options,
) -> Result<Counts, Error> {
    // SAFETY: the regions are the buffers whose addresses were taken; they live in the caller,
    // which holds no reference into them until this returns.
    let memory = unsafe { Memory::new(arguments.regions.clone()) };
    program.launch(kernel, grid, threads, &arguments.bytes, &memory, options)
}

/// Compares two lists; the error names what differs first.
pub(crate) fn same<T: Word>(what: &str, found: &[T], wanted: &[T]) -> Result<u64, String> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} and not {}", found.len(), wanted.len()));
    }
    let differing = || (0..found.len()).filter(|&i| found[i] != wanted[i]);
    match differing().next() {
        None => Ok(found.len() as u64),
        Some(i) => Err(format!(
            "{what}: [{i}] is {:#x} and not {:#x}; {} of {} differ",
            found[i],
            wanted[i],
            differing().count(),
            found.len()
        )),
    }
}
