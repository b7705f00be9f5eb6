//! A Linux dma-buf as far as fences go: the ones that its users left in it, its size, its
//! identity, and access by the processor.
//!
//! Drivers order their work on a buffer by the fences in it, unasked: *implicit* fences. Exported
//! they are a [`SyncFile`], a snapshot of what was there at that moment.
//!
//! What must stay true: whoever begins to read has waited for every writer, within a bound;
//! `DMA_BUF_IOCTL_SYNC` alone would wait without one. No number of a producer's stands for the
//! size: [`DmaBuf::size`] asks the buffer.

#![allow(unsafe_code)]

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::descriptor;
use crate::error::{Errno, FenceError};
use crate::sync_file::SyncFile;
use crate::uapi::{self, DmaBufSync, DmaBufSyncFile};

/// A dma-buf by a descriptor of our own, closed on drop.
pub struct DmaBuf {
    file: OwnedFd,
    known_as: RawFd,
}

/// What is meant to be done with the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading, which comes after all writing.
    Read,
    /// Writing, which comes after all reading, too.
    Write,
}

/// Which buffer it is, whatever descriptors it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Number of the file system.
    pub device: u64,
    /// Number of the buffer on it.
    pub inode: u64,
}

impl DmaBuf {
    /// The buffer of a descriptor that the caller keeps.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor that is closed or of something else.
    ///
    /// # Safety
    /// `fd` is not closed by another thread during the call.
    pub unsafe fn acquire(fd: RawFd) -> Result<Self, FenceError> {
        descriptor::duplicate_raw(fd, WHAT, REMEDY)
            .and_then(|file| DmaBuf::checked(file, fd))
            .map_err(|error| error.of(Name(fd)))
    }

    /// The buffer of a descriptor that is borrowed for the call.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor of something else.
    pub fn duplicate(fd: BorrowedFd<'_>) -> Result<Self, FenceError> {
        let known_as = descriptor::number(&fd);
        descriptor::duplicate(fd)
            .and_then(|file| DmaBuf::checked(file, known_as))
            .map_err(|error| error.of(Name(known_as)))
    }

    fn checked(file: OwnedFd, known_as: RawFd) -> Result<Self, FenceError> {
        let mistaken = |errno| FenceError::Mistaken {
            what: WHAT,
            call: "fstatfs",
            errno,
            remedy: REMEDY,
        };
        let system = rustix::fs::fstatfs(&file).map_err(|errno| mistaken(errno.into()))?;
        // Every file has a size to seek to; only dma-bufs live on their file system.
        match u64::try_from(system.f_type) {
            Ok(uapi::DMA_BUF_MAGIC) => Ok(DmaBuf { file, known_as }),
            _ => Err(mistaken(Errno(22))),
        }
    }

    /// Its descriptor, for calls that borrow it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Its bytes, as the exporter rounded them.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn size(&self) -> Result<u64, FenceError> {
        // Seeks back, for the position is that of every duplicate.
        let end = rustix::fs::seek(&self.file, rustix::fs::SeekFrom::End(0));
        let back = rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(0));
        end.and_then(|end| back.map(|_| end))
            .map_err(|errno| self.failed("lseek", errno.into()))
    }

    /// Which buffer it is.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn identity(&self) -> Result<Identity, FenceError> {
        let stat = rustix::fs::fstat(&self.file);
        let stat = stat.map_err(|errno| self.failed("fstat", errno.into()))?;
        Ok(Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// What has to be waited for before `access`: the writers, and before writing the readers,
    /// too. Signalled if there are none. The kernel keeps no fence that has ended: work that failed
    /// before this call leaves no trace, where the producer's own fence would tell.
    ///
    /// # Errors
    /// [`FenceError::Kernel`]: `ENOTTY` before Linux 6.0.
    pub fn fences(&self, access: Access) -> Result<SyncFile, FenceError> {
        let mut argument = DmaBufSyncFile {
            flags: access.flags(),
            fd: -1,
        };
        let request = &uapi::DMA_BUF_IOCTL_EXPORT_SYNC_FILE;
        // SAFETY: the struct holds no address.
        unsafe { request.call(self.fd(), &mut argument) }
            .map_err(|errno| self.failed(request.name, errno))?;
        SyncFile::from_fd(descriptor::taken(argument.fd))
    }

    /// Makes others wait for `fence`: readers for one of a writer, writers for every one.
    ///
    /// # Errors
    /// [`FenceError::Kernel`]: `ENOTTY` before Linux 6.0.
    pub fn add_fence(&self, fence: &SyncFile, access: Access) -> Result<(), FenceError> {
        let Some(fd) = fence.fd() else {
            return Ok(());
        };
        let mut argument = DmaBufSyncFile {
            flags: access.flags(),
            fd: descriptor::number(&fd),
        };
        let request = &uapi::DMA_BUF_IOCTL_IMPORT_SYNC_FILE;
        // SAFETY: the struct holds no address.
        unsafe { request.call(self.fd(), &mut argument) }
            .map_err(|errno| self.failed(request.name, errno))
    }

    /// Begins access by the processor, to what is mapped of the buffer, once everything that it
    /// comes after is done. Work that is queued while this is asked may be waited for longer.
    ///
    /// # Errors
    /// [`FenceError::TimedOut`], [`FenceError::Failed`], [`FenceError::Kernel`].
    pub fn begin(&self, access: Access, within: Duration) -> Result<CpuAccess<'_>, FenceError> {
        self.fences(access)?
            .wait_for(within)
            .map_err(|error| error.cause().clone().of(self))?;
        self.sync(access.flags())?;
        Ok(CpuAccess {
            buffer: self,
            access,
            ended: false,
        })
    }

    fn sync(&self, flags: u32) -> Result<(), FenceError> {
        let mut argument = DmaBufSync {
            flags: u64::from(flags),
        };
        let request = &uapi::DMA_BUF_IOCTL_SYNC;
        // SAFETY: the struct holds no address.
        unsafe { request.call(self.fd(), &mut argument) }
            .map_err(|errno| self.failed(request.name, errno))
    }

    fn failed(&self, call: &'static str, errno: Errno) -> FenceError {
        FenceError::Kernel { call, errno }.of(self)
    }
}

impl Access {
    fn flags(self) -> u32 {
        match self {
            Access::Read => uapi::DMA_BUF_SYNC_READ,
            Access::Write => uapi::DMA_BUF_SYNC_READ | uapi::DMA_BUF_SYNC_WRITE,
        }
    }
}

/// Access by the processor, which ends on drop.
#[must_use = "the access ends when this is dropped"]
#[derive(Debug)]
pub struct CpuAccess<'a> {
    buffer: &'a DmaBuf,
    access: Access,
    ended: bool,
}

impl CpuAccess<'_> {
    /// Ends the access, and tells what a drop would not.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn end(mut self) -> Result<(), FenceError> {
        self.ended = true;
        self.finish()
    }

    fn finish(&self) -> Result<(), FenceError> {
        self.buffer
            .sync(self.access.flags() | uapi::DMA_BUF_SYNC_END)
    }
}

impl Drop for CpuAccess<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // Caches are in order or the exporter's driver failed, about which `end` tells.
            let _ = self.finish();
        }
    }
}

const WHAT: &str = "dma-buf";
const REMEDY: &str = "give the open descriptor that a driver exported as one";

struct Name(RawFd);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dma-buf (fd {})", self.0)
    }
}

impl fmt::Display for DmaBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Name(self.known_as).fmt(f)
    }
}

impl fmt::Debug for DmaBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DmaBuf({:?} of fd {})", self.file, self.known_as)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn descriptors_of_other_things_are_refused_by_name() {
        let memory = rustix::fs::memfd_create("frame", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memory, 1 << 16).unwrap();
        let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let (end, _other) = rustix::pipe::pipe().unwrap();
        let null: OwnedFd = File::open("/dev/null").unwrap().into();
        for other in [memory, event, end, null] {
            let error = DmaBuf::duplicate(other.as_fd()).unwrap_err();
            assert!(
                matches!(error.cause(), FenceError::Mistaken { what: WHAT, .. }),
                "{error}"
            );
            let named = format!("dma-buf (fd {})", descriptor::number(&other));
            assert!(error.to_string().starts_with(&named), "{error}");
        }
        // SAFETY: no thread can close what is no descriptor.
        let none = unsafe { DmaBuf::acquire(-1) }.unwrap_err();
        assert!(
            none.to_string()
                .starts_with("dma-buf (fd -1): this is no dma-buf")
        );
    }

    #[test]
    fn writing_comes_after_reading_too() {
        assert_eq!(Access::Read.flags(), 1);
        assert_eq!(Access::Write.flags(), 3);
    }
}
