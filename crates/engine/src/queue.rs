//! The bounded queue between the caller and the workers.
//!
//! What must stay true: the bound counts a frame from its submission until its result has been
//! taken in frame order, so neither frames nor results can pile up; nobody waits on a queue
//! that is closed.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct State<T> {
    jobs: VecDeque<T>,
    in_flight: usize,
    closed: bool,
}

/// Jobs in the order of their submission, a bounded number at a time.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    limit: usize,
    /// A job came, or the queue was closed.
    work: Condvar,
    /// A frame is done, or the queue was closed.
    room: Condvar,
}

impl<T> Queue<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Queue {
            state: Mutex::new(State {
                jobs: VecDeque::with_capacity(limit),
                in_flight: 0,
                closed: false,
            }),
            limit,
            work: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Adds a job, waiting for room. False if the queue is closed.
    pub(crate) fn push(&self, job: T) -> bool {
        let full = |state: &mut State<T>| !state.closed && state.in_flight >= self.limit;
        let mut state = self
            .room
            .wait_while(self.lock(), full)
            .unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return false;
        }
        state.in_flight += 1;
        state.jobs.push_back(job);
        drop(state);
        self.work.notify_one();
        true
    }

    /// The next job, waiting for one. `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let idle = |state: &mut State<T>| !state.closed && state.jobs.is_empty();
        let mut state = self
            .work
            .wait_while(self.lock(), idle)
            .unwrap_or_else(PoisonError::into_inner);
        state.jobs.pop_front()
    }

    /// Counts `frames` results that were taken in.
    pub(crate) fn done(&self, frames: usize) {
        let mut state = self.lock();
        state.in_flight = state.in_flight.saturating_sub(frames);
        drop(state);
        self.room.notify_all();
    }

    /// Waits until all submitted frames are done, or the queue is closed.
    pub(crate) fn settle(&self) {
        let busy = |state: &mut State<T>| !state.closed && state.in_flight > 0;
        let state = self.room.wait_while(self.lock(), busy);
        drop(state.unwrap_or_else(PoisonError::into_inner));
    }

    /// Drops the jobs that wait and lets everybody go.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
        self.work.notify_all();
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn push_waits_until_a_frame_is_done() {
        let queue = Queue::new(2);
        let pushed = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..4 {
                    assert!(queue.push(i));
                    pushed.fetch_add(1, Ordering::SeqCst);
                }
            });
            // Taking a job makes no room: its result is still to come.
            assert_eq!(queue.pop(), Some(0));
            assert_eq!(queue.pop(), Some(1));
            thread::sleep(Duration::from_millis(30));
            assert_eq!(pushed.load(Ordering::SeqCst), 2);
            queue.done(1);
            assert_eq!(queue.pop(), Some(2));
            queue.done(1);
            assert_eq!(queue.pop(), Some(3));
        });
    }

    #[test]
    fn closing_lets_everybody_go() {
        let queue = Queue::new(1);
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut taken = 0;
                while queue.pop().is_some() {
                    taken += 1;
                }
                taken
            });
            assert!(queue.push(()));
            let submitter = scope.spawn(|| queue.push(()));
            let waiter = scope.spawn(|| queue.settle());
            thread::sleep(Duration::from_millis(20));
            queue.close();
            assert!(!submitter.join().unwrap());
            waiter.join().unwrap();
            assert_eq!(worker.join().unwrap(), 1);
        });
    }
}
