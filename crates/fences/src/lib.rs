//! Fences: points in some queue's work that can be looked at, waited for, exported and named.
//!
//! The vocabulary is that of [`vmafx_api::FenceImpl`]: *poll* looks without waiting, *wait* is
//! bounded, *export* makes a fence of another kind, *native* names the fence to the other side
//! of a boundary. [`acquire`] makes a fence of whatever a producer names. This crate holds the
//! kinds that belong to no GPU runtime; a runtime's own events are the backend's.
//!
//! Who waits for a producer's fence of each kind (acquire), and who signals one that a producer
//! waits for (release); `-` is refused with the reason ([`KINDS`]):
//!
//! | kind | module | acquire | release |
//! | --- | --- | --- | --- |
//! | no fence | - | host | - |
//! | host fence | host | host | host |
//! | CUDA event | backend | device | device |
//! | HIP event | backend | device | device |
//! | SYCL event | - | - | - |
//! | sync_file | sync_file | host | - |
//! | Metal shared event | - | - | - |
//! | Win32 shared fence | - | - | - |
//! | GL sync | - | - | - |
//! | Vulkan semaphore | - | - | - |
//! | DRM syncobj | syncobj | host | host |
//!
//! A dma-buf brings the fences that its users left in it ([`dma_buf`]): exported they are a
//! sync_file.
//!
//! What must stay true: a fence whose work failed answers with an error, never as signalled; no
//! wait is unbounded; a handle of a fence that is gone is refused, whoever has its number now; a
//! caller's descriptor stays the caller's.

#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(target_os = "linux")]
pub mod dma_buf;
mod error;
pub mod host;
#[cfg(target_os = "linux")]
pub mod sync_file;
#[cfg(target_os = "linux")]
pub mod syncobj;
#[cfg(target_os = "linux")]
pub mod uapi;

use std::fmt;
use std::time::{Duration, Instant};

use vmafx_api::{FenceImpl, FenceKind, FenceKinds, NativeFence};

pub use error::{Errno, FenceError};
pub use host::HostFence;

/// What became of a fence that a producer named.
pub enum Acquired {
    /// Its work is complete: nothing is left to wait for.
    Signalled,
    /// Not yet. The fence is our own, whatever the producer does with its.
    Pending(Box<dyn FenceImpl>),
}

impl fmt::Debug for Acquired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Acquired::Signalled => f.write_str("Signalled"),
            Acquired::Pending(fence) => write!(f, "Pending({:?})", fence.native()),
        }
    }
}

/// Makes a fence of what a producer named, and waits for it on the host for at most `within`;
/// zero looks once. The producer keeps what it named.
///
/// # Errors
/// [`FenceError::Refused`] for a kind that the host cannot wait for with the name alone,
/// [`FenceError::Mistaken`] and [`FenceError::Stale`] for names of something else or of nothing,
/// [`FenceError::Failed`] for a fence whose work failed. That the time ran out is no error but
/// [`Acquired::Pending`].
pub fn acquire(fence: &NativeFence, within: Duration) -> Result<Acquired, FenceError> {
    match fence.kind() {
        FenceKind::NONE => Ok(Acquired::Signalled),
        FenceKind::HOST => {
            let fence = HostFence::from_handle(fence.handle())?;
            let waited = fence.wait_for(within);
            settle(waited, fence)
        }
        #[cfg(target_os = "linux")]
        FenceKind::SYNC_FILE => {
            let fence = sync_file::SyncFile::acquire(fence)?;
            let waited = fence.wait_for(within);
            settle(waited, fence)
        }
        #[cfg(target_os = "linux")]
        FenceKind::DRM_SYNCOBJ => {
            let point = fence.value();
            let fence = syncobj::SyncobjFence::acquire(fence)?;
            let waited = fence.object().wait_for(point, within);
            settle(waited, fence)
        }
        kind => {
            let row = KINDS.iter().find(|row| row.kind == kind);
            let why = row.map_or("no fence of that number is known here", |row| row.refusal);
            Err(FenceError::refused(kind, why))
        }
    }
}

fn settle(waited: Result<(), FenceError>, fence: impl FenceImpl) -> Result<Acquired, FenceError> {
    match waited {
        Ok(()) => Ok(Acquired::Signalled),
        Err(error) => match error.cause() {
            FenceError::TimedOut { .. } | FenceError::NotSubmitted { .. } => {
                Ok(Acquired::Pending(Box::new(fence)))
            }
            _ => Err(error),
        },
    }
}

/// Who acts for a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A thread of this process.
    Host,
    /// The device, in the order of its queue.
    Device,
}

/// What is done with one kind of fence.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The kind.
    pub kind: FenceKind,
    /// Where it is implemented: a module of this crate, or `backend`.
    pub module: Option<&'static str>,
    /// Who waits for a producer's fence; None: it is refused.
    pub acquire: Option<Side>,
    /// Who signals a fence that a producer waits for; None: none is made.
    pub release: Option<Side>,
    /// Why [`acquire()`] refuses it, and what to do instead; empty if it does not.
    pub refusal: &'static str,
}

/// Every kind, in the order of their numbers.
pub const KINDS: [Rules; 11] = {
    use Side::{Device, Host};
    const LINUX: Option<Side> = if cfg!(target_os = "linux") {
        Some(Host)
    } else {
        None
    };
    const LINUX_ONLY: &str = if cfg!(target_os = "linux") {
        ""
    } else {
        "it is Linux's, and this is another system"
    };
    const EVENT: &str =
        "the runtime of its device waits for it: import on a device of the backend that made it";
    [
        row(FenceKind::NONE, None, Some(Host), None, ""),
        row(FenceKind::HOST, Some("host"), Some(Host), Some(Host), ""),
        row(
            FenceKind::CUDA_EVENT,
            Some("backend"),
            Some(Device),
            Some(Device),
            EVENT,
        ),
        row(
            FenceKind::HIP_EVENT,
            Some("backend"),
            Some(Device),
            Some(Device),
            EVENT,
        ),
        row(
            FenceKind::SYCL_EVENT,
            None,
            None,
            None,
            "no backend here runs on SYCL",
        ),
        // None is made for a producer: the kernel makes them of its drivers' work alone.
        row(
            FenceKind::SYNC_FILE,
            Some("sync_file"),
            LINUX,
            None,
            LINUX_ONLY,
        ),
        row(
            FenceKind::METAL_SHARED_EVENT,
            None,
            None,
            None,
            "no backend here runs on Metal",
        ),
        row(
            FenceKind::WIN32_SHARED,
            None,
            None,
            None,
            "fences of Windows are not taken in",
        ),
        row(
            FenceKind::GL_SYNC,
            None,
            None,
            None,
            "only the context that it is of can wait for it: wait there, or hand over a sync_file \
             made of it (EGL_ANDROID_native_fence_sync)",
        ),
        row(
            FenceKind::VULKAN_SEMAPHORE,
            None,
            None,
            None,
            "only the device that it is of can wait for it: wait there, or hand over a sync_file \
             exported from it (VK_KHR_external_semaphore_fd)",
        ),
        row(
            FenceKind::DRM_SYNCOBJ,
            Some("syncobj"),
            LINUX,
            LINUX,
            LINUX_ONLY,
        ),
    ]
};

const fn row(
    kind: FenceKind,
    module: Option<&'static str>,
    acquire: Option<Side>,
    release: Option<Side>,
    refusal: &'static str,
) -> Rules {
    Rules {
        kind,
        module,
        acquire,
        release,
        refusal,
    }
}

/// The kinds that a producer's work may be named by.
pub fn acquire_kinds() -> FenceKinds {
    kinds(|row| row.acquire)
}

/// The kinds that a producer may be told by.
pub fn release_kinds() -> FenceKinds {
    kinds(|row| row.release)
}

fn kinds(side: impl Fn(&Rules) -> Option<Side>) -> FenceKinds {
    let offered = KINDS.iter().filter(|row| side(row).is_some());
    FenceKinds(offered.fold(0, |bits, row| bits | 1 << row.kind.0))
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
#[allow(unsafe_code)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_kinds_is_the_documented_one() {
        let named: Vec<_> = FenceKind::NAMED.iter().map(|(_, kind)| *kind).collect();
        let listed: Vec<_> = KINDS.iter().map(|row| row.kind).collect();
        assert_eq!(listed, named);
        let side = |side: Option<Side>| match side {
            None => "-",
            Some(Side::Host) => "host",
            Some(Side::Device) => "device",
        };
        let rows = KINDS.iter().map(|row| {
            let (module, acquire) = (row.module.unwrap_or("-"), side(row.acquire));
            format!(
                "//! | {} | {module} | {acquire} | {} |",
                row.kind,
                side(row.release)
            )
        });
        let text = include_str!("lib.rs");
        let documented = text.lines().filter(|line| line.starts_with("//! | "));
        let documented: Vec<_> = documented.skip(2).map(str::to_owned).collect();
        if cfg!(target_os = "linux") {
            assert_eq!(rows.collect::<Vec<_>>(), documented);
        }
    }

    #[test]
    fn masks_are_of_what_the_table_offers() {
        assert!(!acquire_kinds().contains(FenceKind::GL_SYNC));
        assert!(
            !release_kinds().contains(FenceKind::SYNC_FILE),
            "none can be made"
        );
        assert!(acquire_kinds().includes(release_kinds()));
        for row in KINDS {
            let here = acquire_kinds().contains(row.kind);
            assert_eq!(here, row.acquire.is_some(), "{}", row.kind);
            let refused = row.acquire != Some(Side::Host);
            assert_eq!(row.refusal.is_empty(), !refused, "{}", row.kind);
        }
    }

    #[test]
    fn a_producers_fence_is_signalled_pending_or_an_error() {
        let none = acquire(&NativeFence::none(), Duration::ZERO).unwrap();
        assert!(matches!(none, Acquired::Signalled));

        let producer = HostFence::new();
        let Acquired::Pending(fence) = acquire(&producer.native(), Duration::ZERO).unwrap() else {
            panic!("not signalled yet");
        };
        producer.signal().unwrap();
        assert_eq!(fence.wait(Duration::ZERO), Ok(()));
        let now = acquire(&producer.native(), Duration::ZERO).unwrap();
        assert!(matches!(now, Acquired::Signalled));

        let lost = HostFence::new();
        lost.fail("the device is lost").unwrap();
        let failed = acquire(&lost.native(), Duration::ZERO).unwrap_err();
        assert!(matches!(failed, FenceError::Failed { .. }), "{failed}");
        let gone = lost.native();
        drop(lost);
        let stale = acquire(&gone, Duration::ZERO).unwrap_err();
        assert!(matches!(stale, FenceError::Stale { .. }), "{stale}");
    }

    #[test]
    fn kinds_that_the_host_cannot_wait_for_are_refused_with_the_reason() {
        let mut refused = Vec::new();
        for (_, kind) in FenceKind::NAMED {
            // SAFETY: nothing is done with a handle of 1 but to refuse it.
            let fence = unsafe { NativeFence::new(*kind, -1, 1, 0) };
            if let Err(FenceError::Refused { what, why }) = acquire(&fence, Duration::ZERO) {
                assert!(!why.is_empty());
                refused.push(what);
            }
        }
        assert_eq!(
            refused,
            [
                "CUDA event",
                "HIP event",
                "SYCL event",
                "Metal shared event",
                "Win32 shared fence",
                "GL sync",
                "Vulkan semaphore"
            ]
        );
        // SAFETY: as above.
        let unknown = unsafe { NativeFence::new(FenceKind(77), -1, 1, 0) };
        assert_eq!(
            acquire(&unknown, Duration::ZERO).unwrap_err().to_string(),
            "fence kind 77 is refused here: no fence of that number is known here"
        );
    }

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
