//! Descriptors that callers keep: what is made of one owns a duplicate.
//!
//! What must stay true: a descriptor of a caller's is never closed here, and a duplicate never
//! outlives what it was made for or an `exec`.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Errno, FenceError};

/// A duplicate of a descriptor that crossed a boundary as a number.
///
/// # Errors
/// A number that is no open descriptor: [`FenceError::Mistaken`] as a `what`.
pub(crate) fn duplicate_raw(
    fd: RawFd,
    what: &'static str,
    remedy: &'static str,
) -> Result<OwnedFd, FenceError> {
    const BAD: Errno = Errno(9);
    let mistaken = |errno| FenceError::Mistaken {
        what,
        call: "fcntl(F_DUPFD_CLOEXEC)",
        errno,
        remedy,
    };
    if fd < 0 {
        return Err(mistaken(BAD));
    }
    // SAFETY: not -1, and it stays open: contract of `NativeFence::new`, whence such numbers are.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    duplicate(fd).map_err(|error| match error {
        FenceError::Kernel { errno: BAD, .. } => mistaken(BAD),
        error => error,
    })
}

/// A duplicate that is closed in programs that this one starts.
///
/// # Errors
/// [`FenceError::Kernel`]: no descriptor is left, mostly.
pub(crate) fn duplicate(fd: BorrowedFd<'_>) -> Result<OwnedFd, FenceError> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0).map_err(|errno| FenceError::Kernel {
        call: "fcntl(F_DUPFD_CLOEXEC)",
        errno: errno.into(),
    })
}

/// A descriptor that the kernel has just made for this process.
pub(crate) fn taken(fd: RawFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: a successful call of the kernel's returned it, so nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Waits with poll(2) until `fd` is readable, for at most `left`.
///
/// # Errors
/// [`FenceError::Kernel`].
pub(crate) fn readable(fd: &OwnedFd, left: Duration) -> Result<(), FenceError> {
    let begin = Instant::now();
    loop {
        let now = left.saturating_sub(begin.elapsed());
        // poll's bound cannot be everything that a Duration can; 68 years are enough.
        let bound = Timespec {
            tv_sec: i64::try_from(now.as_secs()).map_or(i64::from(i32::MAX), |seconds| {
                seconds.min(i64::from(i32::MAX))
            }),
            tv_nsec: i64::from(now.subsec_nanos()) as _,
        };
        let mut polled = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut polled, Some(&bound)) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                return Err(FenceError::Kernel {
                    call: "poll",
                    errno: errno.into(),
                });
            }
        }
    }
}

/// The number of a descriptor, for messages.
pub(crate) fn number(fd: &impl AsFd) -> RawFd {
    use std::os::fd::AsRawFd;
    fd.as_fd().as_raw_fd()
}
