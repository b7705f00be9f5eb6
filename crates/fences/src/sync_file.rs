//! A Linux sync_file: a descriptor of one fence of the kernel's, or of several.
//!
//! Poll(2) says when its work has ended, and nothing about how: a fence that ended with an error
//! is as readable as any other. `SYNC_IOC_FILE_INFO` tells, of each fence in the file.
//! -1 is a sync_file that is signalled already, as Vulkan and EGL export them.
//!
//! What must stay true: a file is called signalled only when the kernel reported success for
//! every fence that it listed in it.

#![allow(unsafe_code)]

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use vmafx_api::{ApiError, FenceImpl, FenceKind, FenceState, NativeFence};

use crate::descriptor;
use crate::error::{Errno, FenceError};
use crate::syncobj::{DrmNode, Syncobj};
use crate::uapi::{self, SyncFenceInfo, SyncFileInfo, SyncMergeData};

/// A sync_file of our own, closed on drop.
pub struct SyncFile {
    /// None: signalled, without a file.
    file: Option<OwnedFd>,
    /// The number that the caller knows it by.
    known_as: RawFd,
    /// What it was merged of, for the kernel leaves out what a merge does not have to wait for,
    /// and how that ended; empty for one that was not merged here.
    parts: Vec<SyncFile>,
}

/// How far a fence has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its work has not ended.
    Pending,
    /// Its work succeeded.
    Signalled,
    /// Its work ended with an error.
    Failed(Errno),
}

/// One of the fences in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The driver that made it.
    pub driver: String,
    /// The timeline that it is on, as the driver calls it.
    pub timeline: String,
    /// How far it has come.
    pub progress: Progress,
}

impl SyncFile {
    /// The sync_file that `fence` names, whose descriptor the caller keeps; -1 is signalled.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor that is closed or of something else,
    /// [`FenceError::Refused`] for another kind.
    pub fn acquire(fence: &NativeFence) -> Result<Self, FenceError> {
        if fence.kind() != FenceKind::SYNC_FILE {
            return Err(FenceError::refused(
                fence.kind(),
                "a sync_file is asked for",
            ));
        }
        if fence.fd() == -1 {
            return Ok(SyncFile::signalled());
        }
        let known_as = fence.fd();
        descriptor::duplicate_raw(known_as, WHAT, REMEDY)
            .and_then(|file| SyncFile::checked(file, known_as))
            .map_err(|error| error.of(Name(known_as)))
    }

    /// Takes the descriptor over.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor of something else, which is closed.
    pub fn from_fd(file: OwnedFd) -> Result<Self, FenceError> {
        let known_as = descriptor::number(&file);
        SyncFile::checked(file, known_as).map_err(|error| error.of(Name(known_as)))
    }

    fn checked(file: OwnedFd, known_as: RawFd) -> Result<Self, FenceError> {
        // The one call that nothing else answers; poll would take any pipe for a fence.
        let asked = file_info(file.as_fd(), &mut SyncFileInfo::default());
        asked.map_err(|errno| FenceError::Mistaken {
            what: WHAT,
            call: uapi::SYNC_IOC_FILE_INFO.name,
            errno,
            remedy: REMEDY,
        })?;
        Ok(SyncFile {
            file: Some(file),
            known_as,
            parts: Vec::new(),
        })
    }

    /// One that is signalled, without a file.
    pub fn signalled() -> Self {
        SyncFile {
            file: None,
            known_as: -1,
            parts: Vec::new(),
        }
    }

    /// The descriptor, for calls that borrow it; None for one that is signalled without a file.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(OwnedFd::as_fd)
    }

    /// The descriptor; None for one that is signalled without a file.
    pub fn into_fd(self) -> Option<OwnedFd> {
        self.file
    }

    /// The fences in it and how far each has come. Fences that succeeded long ago may be missing.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn components(&self) -> Result<Vec<Component>, FenceError> {
        Ok(self.info()?.1)
    }

    /// Looks without waiting.
    ///
    /// # Errors
    /// [`FenceError::Failed`], also while other fences of the file are pending.
    pub fn is_signalled(&self) -> Result<bool, FenceError> {
        let mut signalled = true;
        for part in &self.parts {
            signalled &= part.is_signalled()?;
        }
        let (progress, components) = self.info()?;
        let several = components.len();
        for (place, component) in components.iter().enumerate() {
            if let Progress::Failed(errno) = component.progress {
                let Component {
                    driver, timeline, ..
                } = component;
                let reason = format!(
                    "fence {} of {several} (driver {driver}, timeline {timeline}) ended with {errno}",
                    place + 1
                );
                return Err(FenceError::Failed { reason }.of(self));
            }
        }
        match progress {
            Progress::Pending => Ok(false),
            Progress::Signalled => Ok(signalled),
            Progress::Failed(errno) => {
                let reason = format!("it ended with {errno}");
                Err(FenceError::Failed { reason }.of(self))
            }
        }
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// [`FenceError::TimedOut`], [`FenceError::Failed`].
    pub fn wait_for(&self, timeout: Duration) -> Result<(), FenceError> {
        let begin = Instant::now();
        while !self.is_signalled()? {
            if begin.elapsed() >= timeout {
                return Err(FenceError::TimedOut { timeout }.of(self));
            }
            let files = self.parts.iter().chain([self]);
            for file in files.filter_map(|part| part.file.as_ref()) {
                let left = timeout.saturating_sub(begin.elapsed());
                descriptor::readable(file, left).map_err(|error| error.of(self))?;
            }
        }
        Ok(())
    }

    /// One that is signalled once both are, and fails if one of them does. Others to whom its
    /// descriptor is given may not hear of a failure: of two fences of one timeline the kernel
    /// keeps the later.
    ///
    /// # Errors
    /// [`FenceError::Failed`] if one of them has failed already.
    pub fn merge(&self, other: &SyncFile) -> Result<SyncFile, FenceError> {
        let merged = match (&self.file, &other.file) {
            (None, None) => return Ok(SyncFile::signalled()),
            (Some(_), None) => return self.again(),
            (None, Some(_)) => return other.again(),
            (Some(one), Some(two)) => {
                let mut data = SyncMergeData {
                    fd2: descriptor::number(two),
                    ..SyncMergeData::default()
                };
                data.name[..5].copy_from_slice(b"vmafx");
                // SAFETY: the struct holds no address.
                unsafe { uapi::SYNC_IOC_MERGE.call(one.as_fd(), &mut data) }
                    .map_err(|errno| kernel(uapi::SYNC_IOC_MERGE.name, errno).of(self))?;
                SyncFile {
                    file: Some(descriptor::taken(data.fence)),
                    known_as: data.fence,
                    parts: vec![self.again()?, other.again()?],
                }
            }
        };
        // What has failed by now the descriptor does not tell of.
        merged.is_signalled()?;
        Ok(merged)
    }

    /// Another of the same fences.
    fn again(&self) -> Result<SyncFile, FenceError> {
        Ok(SyncFile {
            file: self.fd().map(descriptor::duplicate).transpose()?,
            known_as: self.known_as,
            parts: self
                .parts
                .iter()
                .map(SyncFile::again)
                .collect::<Result<_, _>>()?,
        })
    }

    fn info(&self) -> Result<(Progress, Vec<Component>), FenceError> {
        let Some(file) = &self.file else {
            return Ok((Progress::Signalled, Vec::new()));
        };
        self.list(file.as_fd())
            .map_err(|errno| kernel(uapi::SYNC_IOC_FILE_INFO.name, errno).of(self))
    }

    fn list(&self, file: BorrowedFd<'_>) -> Result<(Progress, Vec<Component>), Errno> {
        let mut count = SyncFileInfo::default();
        file_info(file, &mut count)?;
        let mut fences = vec![SyncFenceInfo::default(); count.num_fences as usize];
        let mut info = SyncFileInfo {
            num_fences: count.num_fences,
            sync_fence_info: fences.as_mut_ptr() as u64,
            ..SyncFileInfo::default()
        };
        file_info(file, &mut info)?;
        fences.truncate(info.num_fences as usize);
        let component = |fence: &SyncFenceInfo| Component {
            driver: uapi::text(&fence.driver_name),
            timeline: uapi::text(&fence.obj_name),
            progress: progress(fence.status),
        };
        Ok((
            progress(info.status),
            fences.iter().map(component).collect(),
        ))
    }

    /// The same fence as a syncobj, of whichever DRM driver is there.
    fn as_syncobj(&self) -> Result<NativeFence, FenceError> {
        let object = Syncobj::create(&DrmNode::any()?, false)?;
        object.import_sync_file(0, self)?;
        Ok(given_away(
            FenceKind::DRM_SYNCOBJ,
            Some(object.opaque_fd()?),
        ))
    }
}

const WHAT: &str = "sync_file";
const REMEDY: &str = "give the open descriptor that a driver exported as one, or -1 for signalled";

fn progress(status: i32) -> Progress {
    match status {
        ..0 => Progress::Failed(Errno(status.saturating_neg())),
        0 => Progress::Pending,
        1.. => Progress::Signalled,
    }
}

fn kernel(call: &'static str, errno: Errno) -> FenceError {
    FenceError::Kernel { call, errno }
}

/// `info.sync_fence_info` has room for `info.num_fences`; this module alone fills them in.
fn file_info(file: BorrowedFd<'_>, info: &mut SyncFileInfo) -> Result<(), Errno> {
    // SAFETY: the address has room for the number of fences stated, which is 0 if there is none.
    unsafe { uapi::SYNC_IOC_FILE_INFO.call(file, info) }
}

/// A fence whose descriptor is the receiver's from now on.
pub(crate) fn given_away(kind: FenceKind, fd: Option<OwnedFd>) -> NativeFence {
    use std::os::fd::IntoRawFd;
    let fd = fd.map_or(-1, OwnedFd::into_raw_fd);
    // SAFETY: an open descriptor of that kind, or -1; it is nobody's but the receiver's.
    unsafe { NativeFence::new(kind, fd, 0, 0) }
}

struct Name(RawFd);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sync_file (fd {})", self.0)
    }
}

impl fmt::Display for SyncFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Name(self.known_as).fmt(f)
    }
}

impl fmt::Debug for SyncFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SyncFile({:?} of fd {})", self.file, self.known_as)
    }
}

impl FenceImpl for SyncFile {
    fn native(&self) -> NativeFence {
        let fd = self.file.as_ref().map_or(-1, descriptor::number);
        // SAFETY: a sync_file that lives for as long as this object, or -1.
        unsafe { NativeFence::new(FenceKind::SYNC_FILE, fd, 0, 0) }
    }

    fn poll(&self) -> Result<FenceState, ApiError> {
        Ok(self.is_signalled()?.into())
    }

    fn wait(&self, timeout: Duration) -> Result<(), ApiError> {
        Ok(self.wait_for(timeout)?)
    }

    fn export(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        match kind {
            FenceKind::SYNC_FILE => {
                // What has failed is not handed on, for a merged file may not tell of it.
                self.is_signalled()?;
                let file = self.fd().map(descriptor::duplicate).transpose()?;
                Ok(given_away(kind, file))
            }
            FenceKind::DRM_SYNCOBJ => Ok(self.as_syncobj()?),
            other => Err(FenceError::no_export(FenceKind::SYNC_FILE, other).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use vmafx_api::Status;

    fn named(fd: RawFd) -> NativeFence {
        // SAFETY: nothing is done with the number but what the kernel refuses.
        unsafe { NativeFence::new(FenceKind::SYNC_FILE, fd, 0, 0) }
    }

    #[test]
    fn minus_one_is_signalled() {
        let fence = SyncFile::acquire(&named(-1)).unwrap();
        assert_eq!(fence.is_signalled(), Ok(true));
        assert_eq!(fence.wait_for(Duration::ZERO), Ok(()));
        assert_eq!(fence.components(), Ok(Vec::new()));
        assert_eq!(fence.native().fd(), -1);
        assert_eq!(fence.export(FenceKind::SYNC_FILE).unwrap().fd(), -1);
        let both = fence.merge(&SyncFile::signalled()).unwrap();
        assert!(both.into_fd().is_none());
    }

    #[test]
    fn descriptors_of_other_things_are_refused_by_name() {
        let memory = rustix::fs::memfd_create("frame", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let (end, _other) = rustix::pipe::pipe().unwrap();
        let null: OwnedFd = File::open("/dev/null").unwrap().into();
        let own: OwnedFd = File::open("/proc/self/exe").unwrap().into();
        for other in [memory, event, end, null, own] {
            let fd = descriptor::number(&other);
            let error = SyncFile::acquire(&named(fd)).unwrap_err();
            let FenceError::Mistaken { what, call, .. } = error.cause() else {
                panic!("{error}");
            };
            assert_eq!((*what, *call), ("sync_file", "SYNC_IOC_FILE_INFO"));
            let text = error.to_string();
            assert!(text.starts_with(&format!("sync_file (fd {fd})")), "{text}");
            assert_eq!(ApiError::from(error).status, Status::INVALID);
            assert!(rustix::io::fcntl_getfd(&other).is_ok(), "still open");
            assert!(SyncFile::from_fd(other).is_err());
        }
    }

    #[test]
    fn numbers_of_no_descriptor_are_refused_by_name() {
        // Above what this process opens, so that no other test's descriptor has the number.
        let far = rustix::io::fcntl_dupfd_cloexec(File::open("/dev/null").unwrap(), 900).unwrap();
        let closed = descriptor::number(&far);
        drop(far);
        for fd in [closed, -2, i32::MIN] {
            let error = SyncFile::acquire(&named(fd)).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "sync_file (fd {fd}): this is no sync_file (fcntl(F_DUPFD_CLOEXEC): EBADF, \
                     Bad file descriptor (os error 9)); {REMEDY}"
                )
            );
        }
        let other = SyncFile::acquire(&NativeFence::host(3)).unwrap_err();
        assert_eq!(
            other.to_string(),
            "host fence is refused here: a sync_file is asked for"
        );
    }

    #[test]
    fn an_error_of_the_kernel_is_never_success() {
        assert_eq!(progress(0), Progress::Pending);
        assert_eq!(progress(1), Progress::Signalled);
        for errno in [5, 110, 125] {
            assert_eq!(progress(-errno), Progress::Failed(Errno(errno)));
        }
        assert_eq!(progress(i32::MIN), Progress::Failed(Errno(i32::MAX)));
    }
}
