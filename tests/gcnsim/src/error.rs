//! What can go wrong, with the place in the kernel where it did.

use std::fmt;

/// Why a code object cannot be run, or a kernel did not run to its end.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no code object as the ABI has it, or the disassembler does not take it.
    #[error("{0}")]
    Object(String),
    /// Instructions that this interpreter does not have. All of a kernel are counted.
    #[error(
        "{kernel}: {count} instructions that are not known, first at {address:#x}: `{text}` ({reason})"
    )]
    Unknown {
        /// The kernel.
        kernel: String,
        /// Where the first of them is.
        address: u64,
        /// Its text.
        text: String,
        /// What of it is not known.
        reason: String,
        /// How many there are.
        count: usize,
    },
    /// A kernel that asks for something of the machine that is not modelled.
    #[error("{kernel}: {what}")]
    Unmodelled {
        /// The kernel.
        kernel: String,
        /// What it asks for.
        what: String,
    },
    /// No kernel of that name.
    #[error("the code object has no kernel `{0}`")]
    NoKernel(String),
    /// A launch that does not fit the kernel.
    #[error("{kernel}: {what}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        what: String,
    },
    /// A wave that did what it must not.
    #[error("{site}: {fault}")]
    Fault {
        /// Where.
        site: Box<Site>,
        /// What.
        fault: Fault,
    },
}

/// A place in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel.
    pub kernel: String,
    /// The block of the grid.
    pub block: [u32; 3],
    /// The wave of the block.
    pub wave: u32,
    /// The address of the instruction.
    pub address: u64,
    /// The text of the instruction.
    pub text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {:#x} `{}`, block {:?}, wave {}",
            self.kernel, self.address, self.text, self.block, self.wave
        )
    }
}

/// What a wave did.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An access of memory that is not there.
    #[error(
        "lane {lane} {verb} {bytes} bytes at {at:#x}, {where_}",
        verb = if *.write { "writes" } else { "reads" }
    )]
    Memory {
        /// The lane, 0 for a scalar access.
        lane: u32,
        /// The address.
        at: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Whether it writes.
        write: bool,
        /// How it lies to the nearest memory.
        where_: String,
    },
    /// An access that is not a multiple of its size, where it must be.
    #[error("lane {lane} accesses {bytes} bytes at {at:#x}, which is not a multiple of {bytes}")]
    Misaligned {
        /// The lane.
        lane: u32,
        /// The address.
        at: u64,
        /// Bytes of the access.
        bytes: u32,
    },
    /// An access past the end of LDS.
    #[error("lane {lane} accesses {bytes} bytes at {at:#x} of LDS, which has {size:#x}")]
    Lds {
        /// The lane.
        lane: u32,
        /// The offset.
        at: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes of the block's LDS.
        size: u32,
    },
    /// An access past the end of a thread's scratch.
    #[error("lane {lane} accesses {bytes} bytes at {at:#x} of scratch, which has {size:#x}")]
    Scratch {
        /// The lane.
        lane: u32,
        /// The offset.
        at: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes of a thread's scratch.
        size: u32,
    },
    /// Two waves meet in a word of LDS without a barrier between them.
    #[error(
        "no barrier between it and wave {wave} at {address:#x} `{text}`: both access the word at {at:#x} of LDS, and one writes"
    )]
    Race {
        /// Offset of the word in LDS.
        at: u64,
        /// The other wave.
        wave: u32,
        /// The address of its instruction.
        address: u64,
        /// The text of its instruction.
        text: String,
    },
    /// Two waves of a launch meet in a byte of memory, and nothing orders them.
    #[error(
        "wave {wave} of block {block:?} at {address:#x} `{text}` accesses the byte at {at:#x} in the same launch, too, one of both writes, and nothing orders them"
    )]
    Meeting {
        /// The address of the byte.
        at: u64,
        /// The block of the other wave.
        block: [u32; 3],
        /// The other wave.
        wave: u32,
        /// The address of its instruction.
        address: u64,
        /// The text of its instruction.
        text: String,
    },
    /// A jump to where no instruction is.
    #[error("jumps to {to:#x}, where the kernel has no instruction")]
    Jump {
        /// The target.
        to: u64,
    },
    /// More instructions than a launch may take.
    #[error("the wave has executed {0} instructions and has not ended")]
    Endless(u64),
    /// Something of an instruction that is only known when it runs, and not modelled.
    #[error("{0}")]
    Unmodelled(String),
}
