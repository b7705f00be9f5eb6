//! One frame under way: its memory, its streams, and the accounts of its dispatches.
//!
//! ```text
//! job in -> begin -> fork -> a branch a twin -> join -> results out -> done
//! ```
//!
//! The whole of it is recorded once, as a graph where the runtime has graphs: what changes from
//! frame to frame is the job block alone. One copy in, one copy out.
//!
//! What must stay true: results are believed only if they bear the job's sequence number and
//! every kernel counted as many blocks as were launched; nothing is freed or written while the
//! device may use it.

use std::sync::Arc;

use vmafx_api::KeptFrame;

use crate::args::{self, COUNTER_WORD, FAULT_WORD, SEQUENCE_WORD};
use crate::card::Card;
use crate::resources::{DeviceMemory, Event, Graph, Launch, PinnedMemory, Stream};
use crate::runtime::{DeviceAddress, Extent, Fault, RuntimeError, enter};
use crate::twin::{Arena, Layout};
use crate::upload::Upload;

type Answer<T> = Result<T, RuntimeError>;

/// A frame that the work reads, held until the work is complete.
#[derive(Debug)]
pub(crate) enum Held {
    /// A frame that was uploaded.
    Uploaded(Arc<Upload>),
    /// A frame that was on the device already.
    OnDevice(Box<KeptFrame>),
}

/// Memory and streams for one frame.
#[derive(Debug)]
pub(crate) struct Slot {
    graph: Option<Graph>,
    main: Stream,
    /// Of all twins but the first, which runs on the main stream.
    branches: Vec<Branch>,
    forked: Event,
    done: Event,
    /// Whether `done` is ahead: it was recorded and not waited for since.
    under_way: bool,
    begin: Launch,
    /// The first twin's.
    launches: Vec<Launch>,
    /// Blocks of each launch, in the order of the counters, with the kernels' names.
    expected: Vec<(&'static str, u64)>,
    arena: DeviceMemory,
    /// The job, then the result words.
    pinned: PinnedMemory,
    /// The result words, read back.
    words: Vec<u64>,
    job: args::Job,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Branch {
    stream: Stream,
    joined: Event,
    launches: Vec<Launch>,
}

/// What becomes of work that is enqueued.
#[derive(Clone, Copy, Debug)]
enum Batches {
    /// It runs, and is handed over before another stream waits for it.
    Submitted,
    /// It becomes part of a graph, which the runtime hands over as a whole.
    Recorded,
}

/// A dispatch that is not in the results as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The results are of another launch.
    Sequence { found: u64, expected: u64 },
    /// The copy of a frame did not arrive before its kernels ran.
    Upload,
    /// A kernel ran another number of blocks than were launched.
    Blocks {
        kernel: &'static str,
        ran: u64,
        launched: u64,
    },
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lost::Sequence { found, expected } => {
                write!(
                    f,
                    "the results bear the number {found}, not {expected}: vx_begin or a copy \
                     beside it was lost"
                )
            }
            Lost::Upload => f.write_str("the copy of a frame did not arrive"),
            Lost::Blocks {
                kernel,
                ran,
                launched,
            } => write!(f, "{kernel} ran {ran} of {launched} blocks"),
        }
    }
}

const JOB_BYTES: usize = size_of::<args::Job>();
const WORD: usize = size_of::<u64>();

impl Slot {
    /// A slot for `branches`, the launches of each twin; `prepare` makes them for its arena and
    /// numbers their counters.
    pub(crate) fn new(
        card: &Card,
        layout: &Layout,
        tables: DeviceAddress,
        prepare: impl FnOnce(&Arena<'_>) -> Answer<(Launch, Vec<Vec<Launch>>)>,
    ) -> Answer<Self> {
        let runtime = card.runtime();
        let memory = DeviceMemory::new(runtime, layout.arena_bytes())?;
        let arena = Arena {
            layout,
            base: memory.address(),
            tables,
        };
        let (begin, mut twins) = prepare(&arena)?;
        let expected = twins.iter().flatten();
        let expected = expected
            .map(|launch| (launch.kernel, launch.blocks()))
            .collect();
        let result_words = layout.result_words();
        let pinned = PinnedMemory::new(runtime, JOB_BYTES + result_words * WORD)?;
        let rest = twins.split_off(1.min(twins.len()));
        let branch = |launches| {
            Ok(Branch {
                stream: Stream::new(runtime)?,
                joined: Event::new(runtime)?,
                launches,
            })
        };
        let mut slot = Slot {
            graph: None,
            main: Stream::new(runtime)?,
            branches: rest.into_iter().map(branch).collect::<Answer<_>>()?,
            forked: Event::new(runtime)?,
            done: Event::new(runtime)?,
            under_way: false,
            begin,
            launches: twins.pop().unwrap_or_default(),
            expected,
            arena: memory,
            pinned,
            words: vec![0; result_words],
            job: args::Job::default(),
            held: Vec::new(),
        };
        if runtime.has_graphs() {
            let _current = enter(runtime)?;
            match slot.main.recorded(|| slot.enqueue(Batches::Recorded)) {
                Ok(graph) => slot.graph = Some(graph),
                Err(error) if error.fault == Fault::NotSupported => {}
                Err(error) => return Err(error),
            }
        }
        Ok(slot)
    }

    /// Starts the work on a frame: `job` but for its sequence number, which is `sequence`, after
    /// the events of `after`. `held` is kept until [`release`](Slot::release). The device is
    /// current.
    pub(crate) fn start<'a>(
        &mut self,
        sequence: u64,
        job: args::Job,
        after: impl IntoIterator<Item = &'a Event>,
        held: Vec<Held>,
    ) -> Answer<()> {
        self.job = job;
        self.held = held;
        for event in after {
            self.main.wait(event)?;
        }
        self.run(sequence)
    }

    /// Runs the frame of [`start`](Slot::start) again, under a new number. The device is current.
    pub(crate) fn run(&mut self, sequence: u64) -> Answer<()> {
        self.job.sequence = sequence;
        {
            // SAFETY: no work of this slot is under way: `start` comes after `release`, and a
            // repetition after `check`.
            let bytes = unsafe { self.pinned.bytes_mut() };
            bytes[..JOB_BYTES].copy_from_slice(bytemuck::bytes_of(&self.job));
            bytes[JOB_BYTES..].fill(0);
        }
        // From here on the device may use the slot's memory, whatever fails.
        self.under_way = true;
        match &self.graph {
            // SAFETY: the arena, the tables and the pinned memory live as long as the slot, which
            // waits for `done` before it goes; frames are held; the graph's last launch is
            // complete, because the slot was released.
            Some(graph) => unsafe { self.main.launch_graph(graph) }?,
            None => self.enqueue(Batches::Submitted)?,
        }
        self.done.record(&self.main)?;
        self.main.submit()
    }

    /// Enqueues the work of one frame.
    fn enqueue(&self, batches: Batches) -> Answer<()> {
        // An event that the runtime still holds back may pass for one that was reached.
        let hand_over = |stream: &Stream| match batches {
            Batches::Submitted => stream.submit(),
            Batches::Recorded => Ok(()),
        };
        let to = (self.arena.address(), JOB_BYTES);
        let from = (self.pinned.pointer().cast_const(), JOB_BYTES);
        let extent = Extent {
            width: JOB_BYTES,
            rows: 1,
        };
        // SAFETY: both ends belong to this slot, which writes neither before `done` is reached.
        unsafe { self.main.upload(to, from, extent) }?;
        // SAFETY: arguments were made by the kernels' twins for this arena, which lives until
        // `done` is reached, as do the frames of the job.
        unsafe { self.main.launch(&self.begin) }?;
        if !self.branches.is_empty() {
            self.forked.record(&self.main)?;
            hand_over(&self.main)?;
        }
        for branch in &self.branches {
            branch.stream.wait(&self.forked)?;
            for launch in &branch.launches {
                // SAFETY: as above.
                unsafe { branch.stream.launch(launch) }?;
            }
            branch.joined.record(&branch.stream)?;
            hand_over(&branch.stream)?;
        }
        for launch in &self.launches {
            // SAFETY: as above.
            unsafe { self.main.launch(launch) }?;
        }
        for branch in &self.branches {
            self.main.wait(&branch.joined)?;
        }
        let to = self.pinned.pointer().wrapping_byte_add(JOB_BYTES);
        let from = self.arena.address() + Layout::words_offset() as u64;
        // SAFETY: the pinned memory has room for the words behind the job; nobody reads it
        // before `done` is reached.
        unsafe { self.main.download(to, from, self.words.len() * WORD) }
    }

    /// Waits until the work of [`start`](Slot::start) is complete and reads its results. The
    /// device is current.
    pub(crate) fn finish(&mut self) -> Answer<()> {
        if self.under_way {
            self.done.await_reached()?;
            self.under_way = false;
            // SAFETY: the copy that writes them is complete.
            let bytes = unsafe { self.pinned.bytes() };
            let words = bytes[JOB_BYTES..].chunks_exact(WORD).zip(&mut self.words);
            for (bytes, word) in words {
                *word = bytemuck::pod_read_unaligned(bytes);
            }
        }
        Ok(())
    }

    /// The result words of the last launch that was waited for.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether the [`words`](Slot::words) are the results of the last launch, of all of it, and
    /// of it alone.
    pub(crate) fn check(&self) -> Result<(), Lost> {
        let words = &self.words;
        let (found, expected) = (words[SEQUENCE_WORD], self.job.sequence);
        // What `vx_begin` leaves when a frame has not arrived; the words are zeroed before a launch,
        // too, but then its counters are.
        if found == 0 && words[COUNTER_WORD..].iter().any(|&ran| ran != 0) {
            return Err(Lost::Upload);
        }
        if found != expected {
            return Err(Lost::Sequence { found, expected });
        }
        for (&(kernel, launched), &ran) in self.expected.iter().zip(&words[COUNTER_WORD..]) {
            if ran != launched {
                return Err(Lost::Blocks {
                    kernel,
                    ran,
                    launched,
                });
            }
        }
        Ok(())
    }

    /// Whether a kernel met a sample beyond the depth.
    pub(crate) fn met_beyond_depth(&self) -> bool {
        self.words[FAULT_WORD] != 0
    }

    /// Lets go of the frames.
    pub(crate) fn release(&mut self) {
        self.held.clear();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.under_way {
            // Where enqueueing broke off, the main stream may not wait for the branches. A
            // failure here has been told at collect, or is of a device that is gone.
            for branch in &self.branches {
                let _ = branch.stream.synchronize();
            }
            let _ = self.main.synchronize();
        }
    }
}
