//! Streams: queues of work, each emptied in order by a thread of its own.
//!
//! What must stay true: the caller never runs the work; work of one stream is ordered by nothing
//! but its own queue, the points it waits for, and the default stream's rules.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::capture::{Exec, Membership};
use crate::log::Place;
use crate::settings::Unsubmitted;
use crate::sim::sim;
use crate::work::Work;

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// In the order of creation; 0 is the default stream of a device.
    pub(crate) number: u32,
    pub(crate) device: u32,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// Whether the default stream and this one wait for each other.
    pub(crate) blocking: bool,
    /// Set while the stream is part of a capture.
    pub(crate) capture: Mutex<Option<Membership>>,
    /// Runs part of a graph: what it is given is never held back.
    internal: bool,
    queue: Mutex<Queue>,
    /// Told when there is something new to do.
    wake: Condvar,
    /// Told when something is done.
    done: Condvar,
    worker: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Items ever enqueued; the number of the last one.
    enqueued: u64,
    /// Items up to this one may run.
    submitted: u64,
    /// Items up to this one have run.
    done: u64,
    /// What the thread waits for at this moment.
    waits_for: Option<Point>,
    closing: bool,
}

/// What a stream can be told to do.
#[derive(Debug)]
pub(crate) enum Item {
    Work(Work, Place),
    /// Wait until another stream has come so far.
    Wait(Point),
    /// Note the time.
    Mark(Arc<OnceLock<Instant>>),
    Graph(Arc<Exec>, Place),
}

/// A place in the work of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) stream: Arc<Stream>,
    number: u64,
}

impl Point {
    pub(crate) fn reached(&self) -> bool {
        self.stream.lock().done >= self.number
    }

    fn is_submitted(&self) -> bool {
        self.stream.lock().submitted >= self.number
    }

    /// Blocks until the stream has come so far.
    pub(crate) fn wait(&self) {
        let mut queue = self.stream.lock();
        while queue.done < self.number {
            let woken = self.stream.done.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands over the work before this point and the work that it waits for, and blocks until
    /// the point is reached.
    pub(crate) fn synchronize(&self) {
        self.stream.submit(true);
        self.wait();
    }
}

impl Stream {
    pub(crate) fn new(number: u32, device: u32, flags: u32, priority: i32) -> Arc<Self> {
        Arc::new(Self {
            number,
            device,
            flags,
            priority,
            blocking: flags & crate::abi::STREAM_NON_BLOCKING == 0,
            capture: Mutex::new(None),
            internal: false,
            queue: Mutex::default(),
            wake: Condvar::new(),
            done: Condvar::new(),
            worker: AtomicBool::new(false),
        })
    }

    /// A stream that runs part of a graph.
    pub(crate) fn internal(device: u32) -> Arc<Self> {
        let mut stream = Self::new(u32::MAX, device, crate::abi::STREAM_NON_BLOCKING, 0);
        Arc::get_mut(&mut stream).expect("just made").internal = true;
        stream
    }

    /// Appends an item. Does not look at the default stream's rules: see `streams::enqueue`.
    pub(crate) fn push(self: &Arc<Self>, item: Item) -> Point {
        let mode = sim().settings().unsubmitted;
        if let Item::Wait(point) = &item
            && mode == Unsubmitted::Overtaken
            && !point.is_submitted()
        {
            // The runtime takes an event that it has not yet handed over for one that is
            // complete.
            return self.tail();
        }
        if !self.worker.swap(true, Ordering::AcqRel) {
            let stream = self.clone();
            let name = format!("hipsim-{}", self.number as i32);
            let spawned = std::thread::Builder::new()
                .name(name)
                .stack_size(256 * 1024)
                .spawn(move || stream.work());
            if let Err(error) = spawned {
                eprintln!("hipsim: no thread for a stream: {error}");
                std::process::abort();
            }
        }
        let mut queue = self.lock();
        queue.items.push_back(item);
        queue.enqueued += 1;
        if mode == Unsubmitted::Off || self.internal {
            queue.submitted = queue.enqueued;
            self.wake.notify_all();
        }
        Point {
            stream: self.clone(),
            number: queue.enqueued,
        }
    }

    /// The end of the work so far.
    pub(crate) fn tail(self: &Arc<Self>) -> Point {
        Point {
            stream: self.clone(),
            number: self.lock().enqueued,
        }
    }

    pub(crate) fn idle(&self) -> bool {
        let queue = self.lock();
        queue.done == queue.enqueued
    }

    /// Lets everything enqueued so far run; `deep` also what it waits for in other streams.
    pub(crate) fn submit(&self, deep: bool) {
        let mut others = Vec::new();
        {
            let mut queue = self.lock();
            queue.submitted = queue.enqueued;
            self.wake.notify_all();
            if deep {
                let waits = |item: &Item| match item {
                    Item::Wait(point) => Some(point.clone()),
                    _ => None,
                };
                others.extend(queue.waits_for.clone());
                others.extend(queue.items.iter().filter_map(waits));
            }
        }
        for point in others {
            if !point.is_submitted() {
                point.stream.submit(true);
            }
        }
    }

    /// Lets the thread end once the work is done.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.submitted = queue.enqueued;
        queue.closing = true;
        self.wake.notify_all();
    }

    fn work(self: Arc<Self>) {
        loop {
            let item = {
                let mut queue = self.lock();
                loop {
                    if queue.done < queue.submitted
                        && let Some(item) = queue.items.pop_front()
                    {
                        if let Item::Wait(point) = &item {
                            queue.waits_for = Some(point.clone());
                        }
                        break item;
                    }
                    if queue.closing && queue.items.is_empty() {
                        return;
                    }
                    let woken = self.wake.wait(queue);
                    queue = woken.unwrap_or_else(PoisonError::into_inner);
                }
            };
            match item {
                Item::Work(work, place) => work.run(&place),
                Item::Wait(point) => point.wait(),
                Item::Mark(time) => {
                    let _ = time.set(Instant::now());
                }
                Item::Graph(exec, place) => exec.run(&place),
            }
            let mut queue = self.lock();
            queue.done += 1;
            queue.waits_for = None;
            self.done.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
