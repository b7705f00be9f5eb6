//! What goes wrong with fences, in words that name the fence, the call, the errno and the remedy.
//!
//! What must stay true: an error tells which fence it is about as soon as somebody knows
//! ([`FenceError::Of`]); none of them is an answer to "is it signalled?".

use std::fmt;
use std::time::Duration;

use vmafx_api::{ApiError, FenceKind, Status};

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
    /// The bound of a wait ran out, and nothing was there to be signalled.
    #[error("no work was submitted to it within {timeout:?}: nothing would ever signal it")]
    NotSubmitted {
        /// The bound.
        timeout: Duration,
    },
    /// Signalled or failed already.
    #[error("the fence is {state} already")]
    Settled {
        /// `signalled` or `failed`.
        state: &'static str,
    },
    /// A descriptor or handle of something else, or of nothing.
    #[error("this is no {what} ({call}: {errno}); {remedy}")]
    Mistaken {
        /// What it should have been.
        what: &'static str,
        /// How it was found out.
        call: &'static str,
        /// What the kernel said.
        errno: Errno,
        /// What to do.
        remedy: &'static str,
    },
    /// A call of the kernel failed that should not have.
    #[error("{call} failed: {errno}")]
    Kernel {
        /// The call.
        call: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// Not offered here.
    #[error("{what} is refused here: {why}")]
    Refused {
        /// Kind of fence, or what was asked of it.
        what: String,
        /// The reason, and what to do instead.
        why: String,
    },
    /// What happened to which fence.
    #[error("{fence}: {source}")]
    Of {
        /// The fence: its kind with its descriptor or handle.
        fence: String,
        /// What happened.
        source: Box<FenceError>,
    },
}

impl FenceError {
    /// What happened, without the name of the fence.
    pub fn cause(&self) -> &FenceError {
        match self {
            FenceError::Of { source, .. } => source.cause(),
            cause => cause,
        }
    }

    /// This error, of the fence named. One that has a name keeps it.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn of(self, fence: impl fmt::Display) -> FenceError {
        match self {
            FenceError::Of { .. } => self,
            cause => FenceError::Of {
                fence: fence.to_string(),
                source: Box::new(cause),
            },
        }
    }

    /// A kind that is not offered.
    pub(crate) fn refused(kind: FenceKind, why: impl Into<String>) -> FenceError {
        FenceError::Refused {
            what: kind.to_string(),
            why: why.into(),
        }
    }

    /// An export that no kernel or runtime offers.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn no_export(from: FenceKind, to: FenceKind) -> FenceError {
        FenceError::Refused {
            what: to.to_string(),
            why: format!("it cannot be made of a {from}"),
        }
    }
}

impl From<FenceError> for ApiError {
    fn from(error: FenceError) -> Self {
        let status = match error.cause() {
            FenceError::Stale { .. }
            | FenceError::Settled { .. }
            | FenceError::Mistaken { .. }
            | FenceError::Of { .. } => Status::INVALID,
            FenceError::Failed { .. } => Status::DEVICE,
            FenceError::TimedOut { .. } | FenceError::NotSubmitted { .. } => Status::TIMEOUT,
            FenceError::Kernel { errno, .. } => errno.status(),
            FenceError::Refused { .. } => Status::NOT_SUPPORTED,
        };
        ApiError::new(status, "fence", error.to_string())
    }
}

/// A number of the kernel's for what went wrong; positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// `ENOMEM` and its like are a lack of room, everything else is the device's.
    fn status(self) -> Status {
        match self.name() {
            "ENOMEM" | "EMFILE" | "ENFILE" | "ENOSPC" => Status::NO_MEMORY,
            _ => Status::DEVICE,
        }
    }

    /// Its constant in `errno.h` (Linux), or `errno` for one that no fence is known to end with.
    pub fn name(self) -> &'static str {
        let known = NAMES.iter().find(|(number, _)| *number == self.0);
        known.map_or("errno", |(_, name)| name)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::io::Error::from_raw_os_error(self.0);
        write!(f, "{}, {text}", self.name())
    }
}

/// From `asm-generic/errno-base.h` and `asm-generic/errno.h`.
const NAMES: [(i32, &str); 26] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (19, "ENODEV"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (28, "ENOSPC"),
    (29, "ESPIPE"),
    (34, "ERANGE"),
    (61, "ENODATA"),
    (62, "ETIME"),
    (71, "EPROTO"),
    (95, "EOPNOTSUPP"),
    (108, "ESHUTDOWN"),
    (110, "ETIMEDOUT"),
    (125, "ECANCELED"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_first_name_of_its_fence() {
        let late = FenceError::TimedOut {
            timeout: Duration::from_millis(50),
        };
        let named = late.clone().of("sync_file (fd 7)").of("another");
        assert_eq!(named.cause(), &late);
        assert_eq!(
            named.to_string(),
            "sync_file (fd 7): not signalled within 50ms"
        );
        assert_eq!(ApiError::from(named).status, Status::TIMEOUT);
    }

    #[test]
    fn numbers_of_the_kernel_have_their_names() {
        assert_eq!(
            Errno(125).to_string(),
            "ECANCELED, Operation canceled (os error 125)"
        );
        assert_eq!(Errno(4095).name(), "errno");
        let full = FenceError::Kernel {
            call: "fcntl",
            errno: Errno(24),
        };
        assert_eq!(ApiError::from(full).status, Status::NO_MEMORY);
    }
}
