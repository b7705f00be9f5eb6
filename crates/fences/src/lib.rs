//! Fences: points in some queue's work that can be looked at, waited for, exported and named.
//!
//! The vocabulary is that of [`vmafx_api::FenceImpl`]: *poll* looks without waiting, *wait* is
//! bounded, *export* makes a fence of another kind, *native* names the fence to the other side
//! of a boundary. This crate holds the kinds that belong to no GPU runtime; a runtime's own
//! events are the backend's.
//!
//! | kind | module | acquire | release |
//! | --- | --- | --- | --- |
//! | host fence | [`host`] | the host waits | the host signals |
//!
//! What must stay true: a fence whose work failed answers with an error, never as signalled; no
//! wait is unbounded; a handle of a fence that is gone is refused, whoever has its number now.

#![forbid(unsafe_code)]

pub mod host;

use std::time::{Duration, Instant};

use vmafx_api::{ApiError, Status};

pub use host::HostFence;

/// Why a fence cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// A number that names no live host fence.
    #[error("{handle:#x} is not a live host fence: it was destroyed, or never made")]
    Stale {
        /// The number.
        handle: u64,
    },
    /// The work that the fence stands for failed.
    #[error("the work behind the fence failed: {reason}")]
    Failed {
        /// What failed.
        reason: String,
    },
    /// The bound of a wait ran out.
    #[error("not signalled within {timeout:?}")]
    TimedOut {
        /// The bound.
        timeout: Duration,
    },
    /// Signalled or failed already.
    #[error("the fence is {state} already")]
    Settled {
        /// `signalled` or `failed`.
        state: &'static str,
    },
}

impl From<FenceError> for ApiError {
    fn from(error: FenceError) -> Self {
        let status = match error {
            FenceError::Stale { .. } | FenceError::Settled { .. } => Status::INVALID,
            FenceError::Failed { .. } => Status::DEVICE,
            FenceError::TimedOut { .. } => Status::TIMEOUT,
        };
        ApiError::new(status, "fence", error.to_string())
    }
}

/// Asks `reached` until it says yes or `timeout` is over, for fences that can only be looked at.
/// Pauses grow from microseconds to a millisecond. Returns the last answer.
///
/// # Errors
/// The first error of `reached`.
pub fn wait_until<E>(
    timeout: Duration,
    mut reached: impl FnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    const LONGEST: Duration = Duration::from_millis(1);
    let begin = Instant::now();
    let mut pause = Duration::from_micros(2);
    loop {
        if reached()? {
            return Ok(true);
        }
        let left = timeout.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_ends_with_the_answer_the_bound_or_the_error() {
        let mut asked = 0;
        let third = wait_until(Duration::from_secs(60), || {
            asked += 1;
            Ok::<_, ()>(asked == 3)
        });
        assert_eq!((third, asked), (Ok(true), 3));

        let mut asked = 0;
        let never = wait_until(Duration::ZERO, || {
            asked += 1;
            Ok::<_, ()>(false)
        });
        assert_eq!((never, asked), (Ok(false), 1), "a bound of zero looks once");

        let mut asked = 0;
        let never = wait_until(Duration::from_millis(3), || {
            asked += 1;
            Ok::<_, ()>(false)
        });
        assert_eq!(never, Ok(false));
        assert!(asked > 1);
        assert_eq!(wait_until(Duration::MAX, || Err("gone")), Err("gone"));
    }
}
