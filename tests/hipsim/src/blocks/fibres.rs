//! Threads of a block as fibres: who runs when, and what barriers and exchanges wait for.
//!
//! The groups of 32 lanes take turns: one goes on, from exchange to exchange, until its threads
//! wait at a barrier or have ended, as the waves of a GPU do; then the next. When the last has
//! got there the barrier lets go. A fibre stays on the
//! thread of the operating system that made it.

use std::cell::Cell;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use vmafx_gcnsim::mix;

use super::poison::Shared;
use super::{Error, Kernel, MAX_THREADS, Options, Order, fault};

/// Runs a kernel over a grid.
pub(super) fn run(
    name: &str,
    kernel: Kernel,
    grid: [u32; 3],
    args: &[u8],
    options: &Options,
    shared: &Shared,
) -> Result<(), Error> {
    let mut aligned = vec![0u128; args.len().div_ceil(16)];
    for (to, from) in aligned.iter_mut().zip(args.chunks(16)) {
        let mut bytes = [0; 16];
        bytes[..from.len()].copy_from_slice(from);
        *to = u128::from_ne_bytes(bytes);
    }
    let job = Job {
        name,
        kernel,
        args: &aligned,
        grid,
        options,
        shared,
        next: AtomicU64::new(0),
        failed: AtomicBool::new(false),
    };
    let workers = u64::from(options.workers.max(1)).min(job.blocks());
    if workers == 1 {
        return job.work();
    }
    std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| job.work());
        let workers: Vec<_> = (0..workers).map(spawn).collect();
        // A worker that panicked is an error of this engine: its panic goes on here.
        let joined = workers.into_iter().map(|w| {
            w.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    })
}

/// Where a thread is: what `vx_host.position` hands to the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    thread: u32,
    block: [u32; 3],
}

/// `vx_host.position`.
pub(super) extern "C" fn position() -> *const Position {
    CURRENT.get().cast()
}

/// `vx_host.barrier`.
pub(super) extern "C" fn barrier() {
    suspend(Request::Barrier);
}

/// `vx_host.exchange`.
pub(super) extern "C" fn exchange(value: u32, mask: u32) -> u32 {
    suspend(Request::Exchange { value, mask })
}

/// Where a thread goes on that met a fault.
pub(super) extern "C" fn faulted() -> ! {
    suspend(Request::Fault);
    // A faulted fibre is not resumed.
    std::process::abort();
}

/// If the calling thread is inside a fibre: notes where that fibre met a fault, and gives the
/// place on its stack where it may go on. Safe in a signal handler.
pub(super) fn note_fault(address: usize) -> Option<usize> {
    let current = CURRENT.get();
    // SAFETY: the lane of a running fibre outlives it, and only its own thread is here.
    let lane = unsafe { current.as_ref() }?;
    lane.fault.set(address);
    Some(lane.middle.get())
}

const GROUP: usize = 32;
const STACK_BYTES: usize = 60 * 1024;
/// Below each stack: an access there is a fault.
const GUARD_BYTES: usize = 4096;

thread_local! {
    /// The lane whose fibre runs on this thread.
    static CURRENT: Cell<*const Lane> = const { Cell::new(std::ptr::null()) };
}

enum Request {
    Barrier,
    Exchange { value: u32, mask: u32 },
    Fault,
}

#[inline(always)]
fn suspend(request: Request) -> u32 {
    // SAFETY: kernels call back only from inside a fibre, whose lane and yielder outlive it.
    unsafe { (*(*CURRENT.get()).yielder.get()).suspend(request) }
}

/// One thread of the block. The position is the first field: `position` hands it out.
#[repr(C)]
struct Lane {
    position: Cell<Position>,
    yielder: Cell<*const Yielder<u32, Request>>,
    /// An address in the middle of its stack.
    middle: Cell<usize>,
    fault: Cell<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Goes on with this answer.
    Ready(u32),
    Barrier,
    Exchange {
        value: u32,
        mask: u32,
    },
    Ended,
}

/// A launch, shared by its workers.
struct Job<'a> {
    name: &'a str,
    kernel: Kernel,
    args: &'a [u128],
    grid: [u32; 3],
    options: &'a Options,
    shared: &'a Shared,
    next: AtomicU64,
    failed: AtomicBool,
}

impl Job<'_> {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Runs blocks until none is left.
    fn work(&self) -> Result<(), Error> {
        fault::prepare_thread();
        let mut team = Team::new(self.kernel.threads)?;
        let blocks = self.blocks();
        while !self.failed.load(Ordering::Relaxed) {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= blocks {
                break;
            }
            let at = match self.options.order {
                Order::Reverse => blocks - 1 - at,
                _ => at,
            };
            let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
            let block = [at % x, at / x % y, at / x / y].map(|n| n as u32);
            if self.options.poison_shared {
                self.shared.poison();
            }
            let order = match self.options.order {
                Order::Alternating if at % 2 == 1 => Order::Reverse,
                Order::Alternating => Order::Forward,
                Order::Shuffled(seed) => Order::Shuffled(seed ^ at.wrapping_mul(0x9e37_79b9)),
                order => order,
            };
            let result = team.run(self, block, order);
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
                return result;
            }
        }
        Ok(())
    }
}

type Fibre = Coroutine<u32, Request, (), LaneStack>;

/// The threads of the block that runs, on the stacks that a worker holds.
struct Team {
    lanes: Box<[Lane]>,
    states: Vec<State>,
    fibres: Vec<Fibre>,
    turns: Turns,
    stacks: Option<Stacks>,
}

impl Team {
    fn new(threads: u32) -> Result<Self, Error> {
        let threads = threads as usize;
        let stacks = Stacks::take(threads)?;
        let lane = |i| Lane {
            position: Cell::default(),
            yielder: Cell::new(std::ptr::null()),
            middle: Cell::new(stacks.lane(i).base - STACK_BYTES / 2),
            fault: Cell::new(0),
        };
        Ok(Self {
            lanes: (0..threads).map(lane).collect(),
            states: Vec::with_capacity(threads),
            fibres: Vec::with_capacity(threads),
            turns: Turns::new(threads),
            stacks: Some(stacks),
        })
    }

    fn run(&mut self, job: &Job<'_>, block: [u32; 3], mut order: Order) -> Result<(), Error> {
        self.begin(job, block);
        self.turns.arrange(&mut order);
        let mut result = Ok(());
        loop {
            if let Err(lane) = self.reach_barriers(&mut order) {
                result = Err(Error::Fault {
                    kernel: job.name.to_owned(),
                    block,
                    thread: lane as u32,
                    address: self.lanes[lane].fault.get(),
                });
                break;
            }
            match self.pass_barrier() {
                Ok(true) => {}
                Ok(false) => break,
                Err((lane, reason)) => {
                    result = Err(Error::Stuck {
                        kernel: job.name.to_owned(),
                        block,
                        thread: lane as u32,
                        reason: reason.to_owned(),
                    });
                    break;
                }
            }
        }
        if result.is_err() {
            for fibre in &mut self.fibres {
                // SAFETY: the frames of a kernel own nothing that must be dropped, and no fibre
                // is resumed after this.
                unsafe { fibre.force_reset() };
            }
        }
        self.fibres.clear();
        result
    }

    fn begin(&mut self, job: &Job<'_>, block: [u32; 3]) {
        let entry = job.kernel.entry;
        let args = job.args.as_ptr().cast::<c_void>();
        self.states.clear();
        self.states.resize(self.lanes.len(), State::Ready(0));
        for (i, lane) in self.lanes.iter().enumerate() {
            lane.position.set(Position {
                thread: i as u32,
                block,
            });
            let lane: *const Lane = lane;
            let stacks = self
                .stacks
                .as_ref()
                .expect("held until the team is dropped");
            let body = move |yielder: &Yielder<u32, Request>, _| {
                // SAFETY: the lanes outlive the fibres, which `run` clears before it returns.
                unsafe { (*lane).yielder.set(yielder) };
                // SAFETY: `entry` is a kernel and `args` points to a structure of its size
                // (`Kernels::launch`); both outlive the launch.
                unsafe { entry(args) };
            };
            self.fibres.push(Fibre::with_stack(stacks.lane(i), body));
        }
    }

    /// Lets the groups go on one after the other, each until its threads have ended, wait at a
    /// barrier or wait for an exchange that cannot be. Gives the thread that met a fault.
    fn reach_barriers(&mut self, order: &mut Order) -> Result<(), usize> {
        for at in 0..self.turns.groups.len() {
            let start = self.turns.groups[at] * GROUP;
            loop {
                self.turn(start)?;
                if !self.answer(start) {
                    break;
                }
                if let Order::Shuffled(seed) = order {
                    shuffle(&mut self.turns.lanes, seed);
                }
            }
        }
        if matches!(order, Order::Shuffled(_)) {
            self.turns.arrange(order);
        }
        Ok(())
    }

    /// Lets every thread of a group that can go on do so.
    fn turn(&mut self, start: usize) -> Result<(), usize> {
        let end = self.states.len().min(start + GROUP);
        let (lanes, states) = (&self.lanes[start..end], &mut self.states[start..end]);
        let fibres = &mut self.fibres[start..end];
        for &i in &self.turns.lanes {
            let Some(&State::Ready(answer)) = states.get(i) else {
                continue;
            };
            CURRENT.set(&raw const lanes[i]);
            let result = fibres[i].resume(answer);
            CURRENT.set(std::ptr::null());
            states[i] = match result {
                CoroutineResult::Return(()) => State::Ended,
                CoroutineResult::Yield(Request::Barrier) => State::Barrier,
                CoroutineResult::Yield(Request::Exchange { value, mask }) => {
                    State::Exchange { value, mask }
                }
                CoroutineResult::Yield(Request::Fault) => return Err(start + i),
            };
        }
        Ok(())
    }

    /// Answers the exchange of a group of which every lane takes part.
    fn answer(&mut self, start: usize) -> bool {
        let Some(group) = self.states.get_mut(start..start + GROUP) else {
            return false;
        };
        let mut values = [0; GROUP];
        let mut masks = [0; GROUP];
        for (lane, state) in group.iter().enumerate() {
            match *state {
                State::Exchange { value, mask } if (mask as usize) < GROUP => {
                    values[lane] = value;
                    masks[lane] = mask as usize;
                }
                _ => return false,
            }
        }
        for (lane, state) in group.iter_mut().enumerate() {
            *state = State::Ready(values[lane ^ masks[lane]]);
        }
        true
    }

    /// Lets the barrier go. False once all threads have ended.
    fn pass_barrier(&mut self) -> Result<bool, (usize, &'static str)> {
        let exchanging = |s: &State| matches!(s, State::Exchange { .. });
        if let Some(lane) = self.states.iter().position(exchanging) {
            let reason = "it exchanges values, and its mask is above 31 or a lane of its group of 32 ended, waits at a barrier or does not exist";
            return Err((lane, reason));
        }
        let mut alive = false;
        for state in &mut self.states {
            if *state == State::Barrier {
                *state = State::Ready(0);
                alive = true;
            }
        }
        Ok(alive)
    }
}

/// In which order groups, and the lanes of each, take turns.
struct Turns {
    groups: Vec<usize>,
    lanes: [usize; GROUP],
}

impl Turns {
    fn new(threads: usize) -> Self {
        Self {
            groups: (0..threads.div_ceil(GROUP)).collect(),
            lanes: std::array::from_fn(|i| i),
        }
    }

    fn arrange(&mut self, order: &mut Order) {
        if let Order::Shuffled(seed) = order {
            shuffle(&mut self.groups, seed);
            shuffle(&mut self.lanes, seed);
            return;
        }
        self.groups.sort_unstable();
        self.lanes.sort_unstable();
        if *order == Order::Reverse {
            self.groups.reverse();
            self.lanes.reverse();
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(stacks) = self.stacks.take() {
            stacks.give_back();
        }
    }
}

/// A permutation by splitmix64.
fn shuffle(turns: &mut [usize], seed: &mut u64) {
    for i in (1..turns.len()).rev() {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        turns.swap(i, (mix(*seed) % (i as u64 + 1)) as usize);
    }
}

/// Stacks for the threads of one block, each above a guard page.
struct Stacks {
    start: usize,
    /// Stacks whose guard page is in place.
    guarded: usize,
}

static POOL: Mutex<Vec<Stacks>> = Mutex::new(Vec::new());

impl Stacks {
    const LANE: usize = GUARD_BYTES + STACK_BYTES;
    const BYTES: usize = MAX_THREADS as usize * Self::LANE;

    /// From the pool, or new.
    fn take(threads: usize) -> Result<Self, Error> {
        let fail = || Error::NoStacks {
            threads: threads as u32,
            reason: std::io::Error::last_os_error().to_string(),
        };
        let pooled = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut stacks = match pooled {
            Some(stacks) => stacks,
            None => {
                // SAFETY: a new mapping touches nothing that exists.
                let start = unsafe {
                    libc::mmap(
                        std::ptr::null_mut(),
                        Self::BYTES,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                        -1,
                        0,
                    )
                };
                if start == libc::MAP_FAILED {
                    return Err(fail());
                }
                Self {
                    start: start as usize,
                    guarded: 0,
                }
            }
        };
        while stacks.guarded < threads {
            let page = (stacks.start + stacks.guarded * Self::LANE) as *mut c_void;
            // SAFETY: the page is part of this mapping and of no stack.
            if unsafe { libc::mprotect(page, GUARD_BYTES, libc::PROT_NONE) } != 0 {
                stacks.give_back();
                return Err(fail());
            }
            stacks.guarded += 1;
        }
        Ok(stacks)
    }

    fn give_back(self) {
        POOL.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
    }

    /// The stack of a thread. Each starts a little lower than the one before, so that the tops
    /// of the stacks do not fall on the same lines of the cache.
    fn lane(&self, i: usize) -> LaneStack {
        let limit = self.start + i * Self::LANE;
        LaneStack {
            base: limit + Self::LANE - i % 32 * 192,
            limit,
        }
    }
}

struct LaneStack {
    base: usize,
    limit: usize,
}

// SAFETY: the stack lies in the mapping of a `Stacks`, above its guard page (`Stacks::take`), is
// larger than the least size, and one team at a time holds it.
unsafe impl Stack for LaneStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.base).expect("a mapping is not at 0")
    }

    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.limit).expect("a mapping is not at 0")
    }
}
