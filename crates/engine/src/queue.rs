//! The bounded queue between the caller and the workers, and the frames that are on devices.
//!
//! A job is submitted, started by some worker and, if that leaves it on a device, parked until a
//! worker goes on with it; [`worker`](crate::worker) says by what rule.
//!
//! What must stay true: the bound counts a frame from its submission until its result has been
//! taken in frame order, so neither frames nor results can pile up; nobody waits on a queue
//! that is closed; what was parked is handed out, closed or not.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How much may be under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Frames from their submission until their results are taken.
    pub(crate) frames: usize,
    /// Frames on devices from which on no further one is started.
    pub(crate) ahead: usize,
    /// Frames that are being started at once.
    pub(crate) starting: usize,
}

impl Limits {
    /// Those of `workers` workers with `ahead` frames wanted on devices; 1 if nothing is ahead.
    pub(crate) fn new(workers: usize, ahead: usize) -> Self {
        let in_work = ahead - 1 + workers;
        Limits {
            // One that waits and, where several are at work, one whose turn has not come.
            frames: in_work + 1 + usize::from(workers > 1),
            ahead,
            starting: match ahead {
                1 => usize::MAX,
                _ => ahead,
            },
        }
    }
}

/// What a worker does next.
#[derive(Debug, PartialEq)]
pub(crate) enum Step<J, S> {
    /// Starts a job, and says so with [`Queue::started`].
    Start(J),
    /// Goes on with a frame that was parked, and says so with [`Queue::left`] when it is on no
    /// device any more.
    Finish(S),
    /// The same, of a frame that nobody wants any more.
    Abandon(S),
}

#[derive(Debug)]
struct State<J, S> {
    jobs: VecDeque<J>,
    /// Frames on devices that no worker waits for, by number.
    parked: VecDeque<(u64, S)>,
    /// Jobs handed out and not yet started.
    starting: usize,
    /// Frames parked and frames taken from there that have not left.
    on_devices: usize,
    in_flight: usize,
    closed: bool,
}

impl<J, S> State<J, S> {
    /// Whether a job must wait for room.
    fn is_full(&self, limits: &Limits) -> bool {
        !self.closed && self.in_flight >= limits.frames
    }

    fn may_start(&self, limits: &Limits) -> bool {
        let room = self.on_devices < limits.ahead && self.starting < limits.starting;
        room && !self.jobs.is_empty()
    }

    /// Whether a worker has something to do.
    fn has_step(&self, limits: &Limits) -> bool {
        self.may_start(limits) || !self.parked.is_empty()
    }
}

/// Jobs in the order of their submission, a bounded number at a time.
#[derive(Debug)]
pub(crate) struct Queue<J, S> {
    state: Mutex<State<J, S>>,
    limits: Limits,
    /// There is a step, or the queue was closed.
    work: Condvar,
    /// A frame is done, or the queue was closed.
    room: Condvar,
}

impl<J, S> Queue<J, S> {
    pub(crate) fn new(limits: Limits) -> Self {
        Queue {
            state: Mutex::new(State {
                jobs: VecDeque::with_capacity(limits.frames),
                parked: VecDeque::with_capacity(limits.frames),
                starting: 0,
                on_devices: 0,
                in_flight: 0,
                closed: false,
            }),
            limits,
            work: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Waits until there is room, or the queue is closed.
    pub(crate) fn wait_for_room(&self) {
        drop(self.room());
    }

    fn room(&self) -> MutexGuard<'_, State<J, S>> {
        self.room
            .wait_while(self.lock(), |state| state.is_full(&self.limits))
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, waiting for room. False if the queue is closed.
    pub(crate) fn push(&self, job: J) -> bool {
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

    /// What to do next, waiting for something. `None` once the queue is closed and nothing is
    /// parked.
    pub(crate) fn next(&self) -> Option<Step<J, S>> {
        let idle = |state: &mut State<J, S>| !state.closed && !state.has_step(&self.limits);
        let mut state = self
            .work
            .wait_while(self.lock(), idle)
            .unwrap_or_else(PoisonError::into_inner);
        if state.may_start(&self.limits) {
            state.starting += 1;
            return state.jobs.pop_front().map(Step::Start);
        }
        let (_, parked) = state.parked.pop_front()?;
        Some(match state.closed {
            true => Step::Abandon(parked),
            false => Step::Finish(parked),
        })
    }

    /// Says that a job has been started, and parks it if it is on a device now.
    pub(crate) fn started(&self, parked: Option<(u64, S)>) {
        let mut state = self.lock();
        state.starting = state.starting.saturating_sub(1);
        if let Some((frame, parked)) = parked {
            state.on_devices += 1;
            let behind = |(other, _): &(u64, S)| *other < frame;
            let place = state.parked.partition_point(behind);
            state.parked.insert(place, (frame, parked));
        }
        self.tell(state);
    }

    /// Says that a frame that was parked is on no device any more.
    pub(crate) fn left(&self) {
        let mut state = self.lock();
        state.on_devices = state.on_devices.saturating_sub(1);
        self.tell(state);
    }

    /// Wakes a worker, if there is something to do.
    fn tell(&self, state: MutexGuard<'_, State<J, S>>) {
        let step = state.has_step(&self.limits);
        drop(state);
        if step {
            self.work.notify_one();
        }
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
        let busy = |state: &mut State<J, S>| !state.closed && state.in_flight > 0;
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

    fn lock(&self) -> MutexGuard<'_, State<J, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Room for `frames` frames, nothing ahead.
    fn queue<T>(frames: usize) -> Queue<T, ()> {
        Queue::new(Limits {
            frames,
            ..Limits::new(1, 1)
        })
    }

    /// A queue for frames by number, with `ahead` wanted on devices.
    fn ahead(workers: usize, ahead: usize) -> Queue<u64, u64> {
        let queue = Queue::new(Limits::new(workers, ahead));
        for frame in 0..queue.limits.frames as u64 {
            assert!(queue.push(frame));
        }
        queue
    }

    /// Without devices a worker and what waits behind it are all there is.
    #[test]
    fn limits_grow_with_what_is_wanted_ahead() {
        let frames = |workers, ahead| Limits::new(workers, ahead).frames;
        assert_eq!([frames(1, 1), frames(2, 1), frames(16, 1)], [2, 4, 18]);
        assert_eq!([frames(1, 8), frames(2, 8), frames(16, 8)], [9, 11, 25]);
    }

    #[test]
    fn the_oldest_is_finished_once_enough_are_ahead() {
        let queue = ahead(1, 3);
        for frame in 0..3 {
            assert_eq!(queue.next(), Some(Step::Start(frame)));
        }
        for frame in [2, 0, 1] {
            queue.started(Some((frame, frame)));
        }
        assert_eq!(
            queue.next(),
            Some(Step::Finish(0)),
            "the oldest, however late"
        );
        assert_eq!(queue.next(), Some(Step::Finish(1)), "none has left");
        queue.left();
        assert_eq!(queue.next(), Some(Step::Start(3)));
        queue.started(None);
        assert_eq!(queue.next(), Some(Step::Finish(2)), "no job waits");
    }

    #[test]
    fn no_more_are_started_at_once_than_are_wanted() {
        let queue = ahead(8, 2);
        assert_eq!(queue.next(), Some(Step::Start(0)));
        assert_eq!(queue.next(), Some(Step::Start(1)));
        thread::scope(|scope| {
            let (told, waits) = mpsc::channel();
            let queue = &queue;
            scope.spawn(move || told.send(queue.next()).unwrap());
            let early = waits.recv_timeout(Duration::from_millis(20));
            assert_eq!(early, Err(mpsc::RecvTimeoutError::Timeout));
            queue.started(None);
            assert_eq!(waits.recv(), Ok(Some(Step::Start(2))));
        });
    }

    /// A closed queue has no jobs any more, but whoever parks late finds all that was parked.
    #[test]
    fn what_is_parked_outlives_the_end() {
        let queue = ahead(2, 4);
        for frame in 0..2 {
            assert_eq!(queue.next(), Some(Step::Start(frame)));
        }
        queue.started(Some((0, 0)));
        queue.close();
        assert_eq!(queue.next(), Some(Step::Abandon(0)));
        assert_eq!(queue.next(), None);
        queue.started(Some((1, 1)));
        assert_eq!(queue.next(), Some(Step::Abandon(1)));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn a_frame_counts_until_it_is_done() {
        let queue = queue(2);
        let full = || queue.lock().is_full(&queue.limits);
        assert!(queue.push(0) && !full());
        assert!(queue.push(1) && full());
        // Taking a job makes no room: its result is still to come.
        assert_eq!(
            (queue.next(), queue.next()),
            (Some(Step::Start(0)), Some(Step::Start(1)))
        );
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
        let queue = queue(2);
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
                assert_eq!(queue.next(), Some(Step::Start(job)));
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
            let queue = queue(1);
            let (told, taken) = mpsc::channel();
            thread::scope(|scope| {
                let queue = &queue;
                scope.spawn(move || {
                    while queue.next().is_some() {
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
