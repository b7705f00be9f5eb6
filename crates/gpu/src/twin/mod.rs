//! Twins: the pixel part of each metric on the device.
//!
//! A [`Twin`] says what memory it needs ([`Layout`]), which kernels run over it
//! ([`Twin::launches`]), and how its sums become columns ([`Twin::finish`], which calls the
//! metric's own finish). It knows no stream, no event and no runtime.
//!
//! What must stay true: limits, constants and tables come from `vmafx-metrics`; the sums equal
//! those of the metric's scalar reference in every bit.

mod adm;
mod motion;
mod psnr;
#[cfg(test)]
mod simulated;
mod vif;

use bytemuck::{NoUninit, Pod};
use vmafx_api::{ApiError, FrameFormat, Status, Value};
use vmafx_metrics::{Metric, Options};

use crate::args;
use crate::runtime::DeviceAddress;

/// Alignment of everything in an arena, in bytes.
const ALIGNMENT: usize = 256;

/// The pixel part of one feature with its options, for frames of one format.
pub(crate) trait Twin: Send + Sync {
    /// Numbers of planes that are read, from 0.
    fn planes(&self) -> usize;

    /// How many frames back it reads the reference's luma; 0 for not at all.
    fn history(&self) -> usize {
        0
    }

    /// Reserves memory, before everything below. May be called again; the last call counts.
    fn lay_out(&mut self, layout: &mut Layout);

    /// The kernels of one frame, in the order in which they run.
    fn launches(&self, arena: &Arena<'_>) -> Vec<KernelCall>;

    /// Turns the result words of a frame into its columns. `compared` says whether the earlier
    /// frame that [`history`](Twin::history) asks for was there.
    fn finish(&self, words: &[u64], compared: bool, values: &mut [Value]);
}

/// A kernel with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct KernelCall {
    pub(crate) kernel: &'static str,
    /// Blocks in each dimension.
    pub(crate) grid: [u32; 3],
    /// Threads of a block: what the kernel was compiled for.
    pub(crate) threads: u32,
    /// The argument structure. It begins with [`args::Frame`], which is filled in by
    /// [`calls`].
    pub(crate) arguments: Vec<u8>,
}

impl KernelCall {
    /// A call of `kernel`; `arguments` begin with an [`args::Frame`] of any content.
    pub(crate) fn new<A: NoUninit>(
        kernel: &'static str,
        grid: [usize; 3],
        threads: u32,
        arguments: A,
    ) -> Self {
        KernelCall {
            kernel,
            // A frame has at most 32768 rows and columns.
            grid: grid.map(|n| n as u32),
            threads,
            arguments: bytemuck::bytes_of(&arguments).to_vec(),
        }
    }
}

/// A part of every slot's arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region {
    offset: usize,
}

/// Words of the results, or accumulators behind them: all are zero when a frame begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Number of the first; kernels add to `results + first`.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Words {
    /// These words among all result words. Not for accumulators, which are not read back.
    pub(crate) fn of<'a>(&self, words: &'a [u64]) -> &'a [u64] {
        &words[self.first as usize..][..self.count as usize]
    }
}

/// Data that is the same for all slots and frames, such as a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    offset: usize,
}

/// What the twins of a plan reserve. Result words come in two passes: first those that are read
/// back, then the accumulators behind them.
#[derive(Debug)]
pub(crate) struct Layout {
    words: u32,
    accumulators: Vec<u32>,
    arena: usize,
    tables: Vec<u8>,
}

/// Accumulators that were reserved: their place is known once all words are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accumulators {
    index: usize,
}

impl Layout {
    /// A layout whose first `words` result words are taken.
    fn new(words: u32) -> Self {
        Layout {
            words,
            accumulators: Vec::new(),
            arena: 0,
            tables: Vec::new(),
        }
    }

    /// What `twins` reserve, behind the words that each frame has and a counter for each of their
    /// launches.
    pub(crate) fn of(twins: &mut [&mut (dyn Twin + 'static)]) -> Self {
        // How many counters there are is known once the launches are, which need the layout: a
        // trial gives the number.
        let mut trial = Layout::new(0);
        twins.iter_mut().for_each(|twin| twin.lay_out(&mut trial));
        let arena = Arena {
            layout: &trial,
            base: 0,
            tables: 0,
        };
        let counters = twins.iter().map(|twin| twin.launches(&arena).len());
        let mut layout = Layout::new((args::COUNTER_WORD + counters.sum::<usize>()) as u32);
        twins.iter_mut().for_each(|twin| twin.lay_out(&mut layout));
        layout
    }

    /// Reserves `count` words that are read back.
    pub(crate) fn words(&mut self, count: usize) -> Words {
        let first = self.words;
        self.words += count as u32;
        Words {
            first,
            count: count as u32,
        }
    }

    /// Reserves `count` words that are zeroed with each frame but not read back.
    pub(crate) fn accumulators(&mut self, count: usize) -> Accumulators {
        self.accumulators.push(count as u32);
        Accumulators {
            index: self.accumulators.len() - 1,
        }
    }

    /// Reserves `bytes` of memory of any content.
    pub(crate) fn buffer(&mut self, bytes: usize) -> Region {
        let offset = self.arena;
        self.arena += bytes.next_multiple_of(ALIGNMENT);
        Region { offset }
    }

    /// Makes `content` known to the device, once for all slots.
    pub(crate) fn table<T: Pod>(&mut self, content: &[T]) -> Table {
        let offset = self.tables.len();
        self.tables.extend_from_slice(bytemuck::cast_slice(content));
        let padded = self.tables.len().next_multiple_of(ALIGNMENT);
        self.tables.resize(padded, 0);
        Table { offset }
    }

    /// Words that are read back.
    pub(crate) fn result_words(&self) -> usize {
        self.words as usize
    }

    /// Words that are zeroed.
    pub(crate) fn zeroed_words(&self) -> usize {
        (self.words + self.accumulators.iter().sum::<u32>()) as usize
    }

    /// Bytes of one slot's arena: job, words, buffers.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.buffers_offset() + self.arena
    }

    pub(crate) fn tables(&self) -> &[u8] {
        &self.tables
    }

    /// Where the result words begin in an arena; the job lies in front of them.
    pub(crate) fn words_offset() -> usize {
        size_of::<args::Job>().next_multiple_of(ALIGNMENT)
    }

    fn buffers_offset(&self) -> usize {
        Self::words_offset() + (self.zeroed_words() * size_of::<u64>()).next_multiple_of(ALIGNMENT)
    }
}

/// One slot's memory, as its kernels see it.
#[derive(Debug)]
pub(crate) struct Arena<'a> {
    pub(crate) layout: &'a Layout,
    /// Of the arena.
    pub(crate) base: DeviceAddress,
    /// Of the tables.
    pub(crate) tables: DeviceAddress,
}

impl Arena<'_> {
    pub(crate) fn job(&self) -> DeviceAddress {
        self.base
    }

    pub(crate) fn results(&self) -> DeviceAddress {
        self.base + Layout::words_offset() as u64
    }

    pub(crate) fn buffer(&self, region: Region) -> DeviceAddress {
        self.base + (self.layout.buffers_offset() + region.offset) as u64
    }

    pub(crate) fn table(&self, table: Table) -> DeviceAddress {
        self.tables + table.offset as u64
    }

    /// Number of the first of some accumulators, counted from the results as [`Words::first`].
    pub(crate) fn accumulators(&self, accumulators: Accumulators) -> u32 {
        let before = &self.layout.accumulators[..accumulators.index];
        self.layout.words + before.iter().sum::<u32>()
    }
}

/// Threads of the kernel `vx_begin`, as in `kernels/begin.cpp`.
const BEGIN_THREADS: u32 = 512;

/// All kernels of one frame with complete arguments: `vx_begin`, then those of each twin, whose
/// counters are numbered in that order. Samples have `depth` bits.
pub(crate) fn calls<'a>(
    twins: impl IntoIterator<Item = &'a dyn Twin>,
    arena: &Arena<'_>,
    depth: u32,
) -> (KernelCall, Vec<Vec<KernelCall>>) {
    let mut frame = args::Frame {
        job: arena.job(),
        results: arena.results(),
        counter: 0,
        depth,
    };
    let begin = args::Begin {
        frame,
        words: arena.layout.zeroed_words() as u64,
    };
    let begin = KernelCall::new("vx_begin", [1, 1, 1], BEGIN_THREADS, begin);
    frame.counter = args::COUNTER_WORD as u32;
    let twins = twins.into_iter().map(|twin| {
        let mut calls = twin.launches(arena);
        for call in &mut calls {
            let head = bytemuck::bytes_of(&frame);
            call.arguments[..head.len()].copy_from_slice(head);
            frame.counter += 1;
        }
        calls
    });
    (begin, twins.collect())
}

/// Features that have a twin, sorted.
pub(crate) const NAMES: [&str; 5] = ["adm", "motion", "motion_v2", "psnr", "vif"];

/// The twin of a metric whose limits are met.
///
/// # Errors
/// Options that the metric refuses.
pub(crate) fn twin(
    metric: &dyn Metric,
    options: &Options,
    format: &FrameFormat,
) -> Result<Box<dyn Twin>, ApiError> {
    let name = metric.definition().name;
    match name {
        "adm" => Ok(Box::new(adm::Adm::new(options, format)?)),
        "motion" | "motion_v2" => Ok(Box::new(motion::Motion::new(options, format))),
        "psnr" => Ok(Box::new(psnr::Psnr::new(options, format))),
        "vif" => Ok(Box::new(vif::Vif::new(options, format))),
        _ => Err(ApiError::new(
            Status::NOT_FOUND,
            name,
            "no twin of that name",
        )),
    }
}

/// The kernel of a pair for 8-bit and for deeper samples.
pub(crate) fn by_sample(format: &FrameFormat, names: [&'static str; 2]) -> &'static str {
    names[usize::from(format.depth() > 8)]
}
