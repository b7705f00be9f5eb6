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

impl<T> State<T> {
    /// Whether a job must wait for room.
    fn is_full(&self, limit: usize) -> bool {
        !self.closed && self.in_flight >= limit
    }
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

    /// Waits until there is room, or the queue is closed.
    pub(crate) fn wait_for_room(&self) {
        drop(self.room());
    }

    fn room(&self) -> MutexGuard<'_, State<T>> {
        self.room
            .wait_while(self.lock(), |state| state.is_full(self.limit))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, waiting for room. False if the queue is closed.
    pub(crate) fn push(&self, job: T) -> bool {
        let mut state = self.room();
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
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_frame_counts_until_it_is_done() {
        let queue = Queue::new(2);
        let full = || queue.lock().is_full(2);
        assert!(queue.push(0) && !full());
        assert!(queue.push(1) && full());
        // Taking a job makes no room: its result is still to come.
        assert_eq!((queue.pop(), queue.pop()), (Some(0), Some(1)));
        assert!(full());
        queue.done(1);
        assert!(!full());
        assert!(queue.push(2) && full());
        queue.close();
        assert!(
            !full() && !queue.push(3),
            "nobody waits on a closed queue, and it takes nothing"
        );
    }

    #[test]
    fn push_waits_until_a_frame_is_done() {
        const JOBS: usize = 200;
        let queue = Queue::new(2);
        let (told, pushed) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                for job in 0..JOBS {
                    assert!(queue.push(job));
                    told.send(job).unwrap();
                }
            });
            for job in 0..2 {
                assert_eq!(pushed.recv(), Ok(job));
            }
            for job in 0..JOBS {
                assert_eq!(queue.pop(), Some(job));
                assert!(queue.lock().in_flight <= 2);
                if job + 2 < JOBS {
                    assert_eq!(pushed.try_recv(), Err(mpsc::TryRecvError::Empty));
                    queue.done(1);
                    assert_eq!(pushed.recv(), Ok(job + 2));
                }
            }
        });
    }

    /// Whether the others wait already or come later, closing lets them go.
    #[test]
    fn closing_lets_everybody_go() {
        for _ in 0..200 {
            let queue = Queue::new(1);
            let (told, taken) = mpsc::channel();
            thread::scope(|scope| {
                let queue = &queue;
                scope.spawn(move || {
                    while queue.pop().is_some() {
                        told.send(()).unwrap();
                    }
                });
                assert!(queue.push(()));
                taken.recv().unwrap();
                let submitter = scope.spawn(|| queue.push(()));
                let waiter = scope.spawn(|| queue.settle());
                thread::yield_now();
                queue.close();
                assert!(!submitter.join().unwrap());
                waiter.join().unwrap();
                assert!(taken.recv().is_err(), "no job came after the first");
            });
        }
    }
}
