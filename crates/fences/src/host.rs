//! The host fence: a flag that is set once, by the host or by a device's callback on the host.
//!
//! It crosses boundaries as a number that names an entry of this process; the number is never
//! given out again, so a stale one is refused instead of meaning another fence.
//!
//! What must stay true: signalling happens before every wait that it ends returns, and after
//! everything the signaller did before.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use vmafx_api::{ApiError, FenceImpl, FenceKind, FenceState, NativeFence, Status};

use crate::FenceError;

/// A host fence. Clones are one fence, which ends with the last of them.
#[derive(Clone)]
pub struct HostFence {
    flag: Arc<Flag>,
}

struct Flag {
    handle: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Debug)]
enum State {
    Pending,
    Signalled,
    Failed(String),
}

fn registry() -> &'static Mutex<HashMap<u64, Weak<Flag>>> {
    static LIVE: OnceLock<Mutex<HashMap<u64, Weak<Flag>>>> = OnceLock::new();
    LIVE.get_or_init(Mutex::default)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostFence {
    /// A fence that is not signalled.
    pub fn new() -> Self {
        // Odd steps of a large prime: numbers that an address or a counter is unlikely to be.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let handle = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let flag = Arc::new(Flag {
            handle,
            state: Mutex::new(State::Pending),
            changed: Condvar::new(),
        });
        lock(registry()).insert(handle, Arc::downgrade(&flag));
        HostFence { flag }
    }

    /// The fence that `handle` names.
    ///
    /// # Errors
    /// [`FenceError::Stale`] for the number of a fence that is gone, or of none.
    pub fn from_handle(handle: u64) -> Result<Self, FenceError> {
        let flag = lock(registry()).get(&handle).and_then(Weak::upgrade);
        match flag {
            Some(flag) => Ok(HostFence { flag }),
            None => Err(FenceError::Stale { handle }),
        }
    }

    /// The number that names it in this process.
    pub fn handle(&self) -> u64 {
        self.flag.handle
    }

    /// Sets the flag.
    ///
    /// # Errors
    /// [`FenceError::Settled`] if it is set or failed already.
    pub fn signal(&self) -> Result<(), FenceError> {
        self.settle(State::Signalled)
    }

    /// Ends the fence without success: waits answer with `reason` as an error.
    ///
    /// # Errors
    /// [`FenceError::Settled`] if it is set or failed already.
    pub fn fail(&self, reason: impl Into<String>) -> Result<(), FenceError> {
        self.settle(State::Failed(reason.into()))
    }

    fn settle(&self, to: State) -> Result<(), FenceError> {
        let mut state = lock(&self.flag.state);
        match &*state {
            State::Pending => *state = to,
            State::Signalled => return Err(FenceError::Settled { state: "signalled" }),
            State::Failed(_) => return Err(FenceError::Settled { state: "failed" }),
        }
        self.flag.changed.notify_all();
        Ok(())
    }

    /// Whether the flag is set, without waiting.
    ///
    /// # Errors
    /// [`FenceError::Failed`].
    pub fn is_signalled(&self) -> Result<bool, FenceError> {
        answer(&lock(&self.flag.state))
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// [`FenceError::TimedOut`], [`FenceError::Failed`].
    pub fn wait_for(&self, timeout: Duration) -> Result<(), FenceError> {
        // A bound past the end of time is no bound.
        let deadline = Instant::now().checked_add(timeout);
        let mut state = lock(&self.flag.state);
        while !answer(&state)? {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(FenceError::TimedOut { timeout });
            }
            let changed = &self.flag.changed;
            state = match left {
                Some(left) => {
                    let waited = changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        Ok(())
    }
}

fn answer(state: &State) -> Result<bool, FenceError> {
    match state {
        State::Pending => Ok(false),
        State::Signalled => Ok(true),
        State::Failed(reason) => Err(FenceError::Failed {
            reason: reason.clone(),
        }),
    }
}

impl Default for HostFence {
    fn default() -> Self {
        HostFence::new()
    }
}

impl fmt::Debug for HostFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.flag.state).clone();
        write!(f, "HostFence({:#x}, {state:?})", self.flag.handle)
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        lock(registry()).remove(&self.handle);
    }
}

impl FenceImpl for HostFence {
    fn native(&self) -> NativeFence {
        NativeFence::host(self.flag.handle)
    }

    fn poll(&self) -> Result<FenceState, ApiError> {
        Ok(self.is_signalled()?.into())
    }

    fn wait(&self, timeout: Duration) -> Result<(), ApiError> {
        Ok(self.wait_for(timeout)?)
    }

    fn export(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        let message = format!("{kind} cannot be made of {}", FenceKind::HOST);
        Err(ApiError::new(Status::NOT_SUPPORTED, "kind", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_signal_ends_every_wait() {
        let fence = HostFence::new();
        assert_eq!(fence.is_signalled(), Ok(false));
        assert_eq!(
            fence.wait_for(Duration::from_millis(1)),
            Err(FenceError::TimedOut {
                timeout: Duration::from_millis(1)
            })
        );
        let wrote = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for timeout in [LONG, Duration::MAX] {
                let (fence, wrote) = (fence.clone(), &wrote);
                scope.spawn(move || {
                    assert_eq!(fence.wait_for(timeout), Ok(()));
                    assert_eq!(wrote.load(Ordering::Relaxed), 7);
                });
            }
            wrote.store(7, Ordering::Relaxed);
            fence.signal().unwrap();
        });
        assert_eq!(fence.wait_for(Duration::ZERO), Ok(()));
        assert_eq!(
            fence.signal(),
            Err(FenceError::Settled { state: "signalled" })
        );
    }

    #[test]
    fn a_failure_is_never_signalled() {
        let fence = HostFence::new();
        fence.fail("the device is lost").unwrap();
        let failed = FenceError::Failed {
            reason: "the device is lost".to_owned(),
        };
        assert_eq!(fence.is_signalled(), Err(failed.clone()));
        assert_eq!(fence.wait_for(LONG), Err(failed));
        assert_eq!(fence.signal(), Err(FenceError::Settled { state: "failed" }));
        let error = FenceImpl::poll(&fence).unwrap_err();
        assert_eq!(error.status, Status::DEVICE);
    }

    #[test]
    fn handles_die_with_their_fence() {
        let fence = HostFence::new();
        let handle = fence.handle();
        let same = HostFence::from_handle(handle).unwrap();
        drop(fence);
        same.signal().unwrap();
        assert_eq!(
            HostFence::from_handle(handle).unwrap().is_signalled(),
            Ok(true)
        );
        assert_eq!(same.native().handle(), handle);
        assert_eq!(same.native().kind(), FenceKind::HOST);
        drop(same);
        let other = HostFence::new();
        assert_ne!(other.handle(), handle);
        assert_eq!(
            HostFence::from_handle(handle).unwrap_err(),
            FenceError::Stale { handle }
        );
        assert!(HostFence::from_handle(0).is_err());
    }

    /// Many threads settle, wait for, look up and drop the same fences at once.
    #[test]
    fn one_end_wins_whoever_waits_and_whatever_is_dropped() {
        const ROUNDS: u64 = 300;
        const EACH: usize = 3;
        let mut gone: Vec<u64> = Vec::new();
        for round in 0..ROUNDS {
            let fence = HostFence::new();
            let handle = fence.handle();
            assert!(!gone.contains(&handle), "a number is given out once");
            let written = AtomicU64::new(0);
            let start = std::sync::Barrier::new(4 * EACH);
            let (mut ends, mut answers) = (Vec::new(), Vec::new());
            std::thread::scope(|scope| {
                let (start, written, gone) = (&start, &written, &gone);
                let mut settling = Vec::new();
                let mut waiting = Vec::new();
                for place in 0..EACH {
                    let mine = fence.clone();
                    settling.push(scope.spawn(move || {
                        start.wait();
                        written.fetch_add(1, Ordering::Relaxed);
                        match (round as usize + place) % 2 {
                            0 => mine.signal(),
                            _ => mine.fail(format!("{handle:#x} failed")),
                        }
                    }));
                    let mine = fence.clone();
                    waiting.push(scope.spawn(move || {
                        start.wait();
                        let answer = mine.wait_for(LONG);
                        let seen = written.load(Ordering::Relaxed);
                        assert!(seen > 0, "ended before what came before it");
                        answer
                    }));
                    let dropped = fence.clone();
                    scope.spawn(move || {
                        start.wait();
                        drop(dropped);
                    });
                    scope.spawn(move || {
                        start.wait();
                        for &old in gone.iter().rev().take(32) {
                            let found = HostFence::from_handle(old).map(|fence| fence.handle());
                            assert_eq!(found, Err(FenceError::Stale { handle: old }));
                        }
                        if let Ok(found) = HostFence::from_handle(handle) {
                            assert_eq!(found.handle(), handle);
                        }
                    });
                }
                // The last one may be anybody's.
                drop(fence);
                ends.extend(settling.into_iter().map(|thread| thread.join().unwrap()));
                answers.extend(waiting.into_iter().map(|thread| thread.join().unwrap()));
            });
            let won = ends.iter().filter(|end| end.is_ok()).count();
            assert_eq!(won, 1, "{ends:?}");
            assert!(answers.iter().all(|answer| *answer == answers[0]));
            match &answers[0] {
                Ok(()) => {}
                Err(FenceError::Failed { reason }) => {
                    assert_eq!(*reason, format!("{handle:#x} failed"), "of this fence");
                }
                Err(other) => panic!("{other}"),
            }
            let stale = HostFence::from_handle(handle).unwrap_err();
            assert_eq!(stale, FenceError::Stale { handle });
            gone.push(handle);
        }
    }

    #[test]
    fn a_stale_number_stays_stale_when_its_place_is_taken() {
        let first = HostFence::new();
        let old = first.handle();
        drop(first);
        // As many live ones as fill every place that the table had, several times over.
        let live: Vec<_> = (0..5000).map(|_| HostFence::new()).collect();
        let numbers: std::collections::HashSet<_> = live.iter().map(HostFence::handle).collect();
        assert_eq!(numbers.len(), live.len());
        assert!(!numbers.contains(&old) && !numbers.contains(&0));
        let stale = HostFence::from_handle(old).unwrap_err();
        assert_eq!(stale, FenceError::Stale { handle: old });
        live[17].signal().unwrap();
        for (place, fence) in live.iter().enumerate() {
            let found = HostFence::from_handle(fence.handle()).unwrap();
            assert_eq!(found.is_signalled(), Ok(place == 17));
        }
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        let error = HostFence::new().export(FenceKind::SYNC_FILE).unwrap_err();
        assert_eq!(error.status, Status::NOT_SUPPORTED);
        assert_eq!(error.message, "sync_file cannot be made of host fence");
    }
}
