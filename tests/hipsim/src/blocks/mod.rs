//! The blocks engine: kernels of the host library, run block by block.
//!
//! [`Kernels`] opens `libvmafx_kernels_host.so`, which holds every kernel of this repository
//! compiled for the host, and runs one over a grid as a GPU would: each thread of a block is a
//! fibre of one thread of the operating system, and barriers and exchanges are where fibres take
//! turns. Nothing else of the simulator is needed to test a kernel:
//!
//! ```no_run
//! use vmafx_hipsim::blocks::{Kernels, Options};
//! # #[repr(C)] struct Args { from: u64, to: u64 }
//! # fn bytes(a: &Args) -> &[u8] { &[] }
//! # let args = Args { from: 0, to: 0 };
//! let kernels = Kernels::find()?;
//! kernels.launch("vx_psnr_u8", [4, 240, 1], bytes(&args), &Options::default())?;
//! # Ok::<(), vmafx_hipsim::blocks::Error>(())
//! ```
//!
//! What it does as hardware does, and where it is stricter:
//! - A barrier lets go once every thread of the block that still runs has reached one: threads
//!   that ended do not hold it up.
//! - An exchange needs all 32 lanes of its group. Hardware gives whatever a missing lane holds;
//!   here that is an error ([`Error::Stuck`]), as is a block of which some threads wait at a
//!   barrier while others wait in an exchange that nobody completes.
//! - Shared memory is filled with [`POISON`] before every block. The kernels' shared variables
//!   are the thread-local storage of the library, so that storage of the calling thread is what
//!   is filled.
//! - Blocks run one after the other from the last to the first or the other way round, lanes
//!   likewise ([`Order`]), so a barrier that is missing shows in at least one of the two.
//! - An access outside mapped memory, or one that runs over the stack of a fibre, ends the launch
//!   with [`Error::Fault`] and leaves the process alive (on x86-64 and aarch64).
//!
//! A thread that loops for ever hangs the launch, as it would hang a GPU.
//!
//! Each [`Kernels`] is a private copy of the library, because the library calls back through a
//! variable of its own: two engines in one process (the one linked into a test and the one inside
//! a plugin's runtime) would otherwise take each other's calls.

mod fault;
mod fibres;
mod library;
mod poison;

use std::path::PathBuf;

pub(crate) use library::FILE;
pub use library::{Kernel, Kernels};
pub use vmafx_gcnsim::Order;

/// What shared memory holds before a block: large, negative and odd in every type.
pub const POISON: u8 = 0xa5;

/// The most threads of a block.
pub const MAX_THREADS: u32 = 1024;

/// How a launch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// In which order blocks run and the threads of each take turns.
    pub order: Order,
    /// Threads of the operating system over which the blocks are spread; 0 counts as 1.
    pub workers: u32,
    /// Whether shared memory is filled with [`POISON`] before each block.
    pub poison_shared: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            order: Order::Alternating,
            workers: 1,
            poison_shared: true,
        }
    }
}

/// Why a kernel did not run to its end.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No library of kernels.
    #[error(
        "{path}: no kernels for the host ({reason}); run `cargo xtask kernels` or set VMAFX_KERNELS to the folder that holds libvmafx_kernels_host.so"
    )]
    NoLibrary {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The library has no such kernel.
    #[error("{kernel}: no such kernel in the host library; were the kernels built again?")]
    NoKernel {
        /// The name asked for.
        kernel: String,
    },
    /// The arguments do not have the size that the kernel takes.
    #[error("{kernel}: arguments of {given} bytes where the kernel takes {taken}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Bytes handed in.
        given: usize,
        /// Bytes of the kernel's structure.
        taken: usize,
    },
    /// A grid without blocks, or one larger than a GPU takes.
    #[error("{kernel}: a grid of {grid:?} blocks; each side is 1 to 65535, the first to 2^31 - 1")]
    Grid {
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
    },
    /// A kernel with an impossible number of threads.
    #[error("{kernel}: blocks of {threads} threads; 1 to 1024 are possible")]
    Threads {
        /// The kernel.
        kernel: String,
        /// Threads of a block.
        threads: u32,
    },
    /// An exchange whose partner is not there, or threads that wait for each other for ever.
    #[error("{kernel}, block {block:?}: thread {thread} waits for ever: {reason}")]
    Stuck {
        /// The kernel.
        kernel: String,
        /// The block.
        block: [u32; 3],
        /// One of the threads that wait.
        thread: u32,
        /// What it waits for.
        reason: String,
    },
    /// An access outside mapped memory, or over the end of a fibre's stack.
    #[error(
        "{kernel}, block {block:?}, thread {thread}: memory access fault at address {address:#x}"
    )]
    Fault {
        /// The kernel.
        kernel: String,
        /// The block.
        block: [u32; 3],
        /// The thread.
        thread: u32,
        /// Where it read or wrote.
        address: usize,
    },
    /// The system gave no memory for stacks.
    #[error("no memory for the stacks of {threads} threads: {reason}")]
    NoStacks {
        /// Threads of the block.
        threads: u32,
        /// What the system said.
        reason: String,
    },
}
