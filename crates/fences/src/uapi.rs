//! The kernel's interface to fences: numbers and layouts of the ioctls that this crate uses,
//! declared here because no header of them can be relied on where a program is built.
//!
//! From `linux/sync_file.h`, `linux/dma-buf.h` and `drm/drm.h`; names are theirs.
//!
//! What must stay true: each struct has the size that its ioctl's number carries (checked
//! below). The kernel takes the shorter form of a struct that grew since, so nothing here follows
//! such growth unless its new field is used.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};

use crate::error::Errno;

/// One ioctl: its number, the struct it takes and its name.
#[derive(Debug)]
pub struct Request<T> {
    /// Name of its macro in the header.
    pub name: &'static str,
    opcode: Opcode,
    argument: PhantomData<fn(T)>,
}

impl<T> Request<T> {
    const fn new(name: &'static str, opcode: Opcode) -> Self {
        Request {
            name,
            opcode,
            argument: PhantomData,
        }
    }

    /// Makes the call, again for as long as a signal interrupts it.
    ///
    /// # Errors
    /// What the kernel said.
    ///
    /// # Safety
    /// Every address in `argument` is valid for what the ioctl reads and writes there.
    pub unsafe fn call(&self, fd: BorrowedFd<'_>, argument: &mut T) -> Result<(), Errno> {
        loop {
            let call = Call {
                opcode: self.opcode,
                argument: &mut *argument,
            };
            // SAFETY: number and struct belong together (tests below); addresses in it: contract.
            match unsafe { rustix::ioctl::ioctl(fd, call) } {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Self {
        Errno(errno.raw_os_error())
    }
}

struct Call<'a, T> {
    opcode: Opcode,
    argument: &'a mut T,
}

// SAFETY: the address is that of a struct that is borrowed for as long as the call lives, and the
// number says that the kernel reads and writes no more than that struct.
unsafe impl<T> Ioctl for Call<'_, T> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.argument).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident($direction:ident, $group:literal, $number:literal)
        of $argument:ty, $value:literal;)*) => {
        $($(#[$doc])*
        pub const $name: Request<$argument> = Request::new(
            stringify!($name),
            opcode::$direction::<$argument>($group, $number),
        );)*

        /// Name, number and the number that the headers' macros make.
        #[cfg(test)]
        const NUMBERS: &[(&str, Opcode, u32)] = &[$((stringify!($name), $name.opcode, $value)),*];
    };
}

requests! {
    /// Makes one sync_file of two.
    SYNC_IOC_MERGE(read_write, b'>', 3) of SyncMergeData, 0xc030_3e03;
    /// State of a sync_file and of the fences in it.
    SYNC_IOC_FILE_INFO(read_write, b'>', 4) of SyncFileInfo, 0xc038_3e04;
    /// Begins or ends access by the processor; waits for the buffer's fences.
    DMA_BUF_IOCTL_SYNC(write, b'b', 0) of DmaBufSync, 0x4008_6200;
    /// The buffer's fences as a sync_file.
    DMA_BUF_IOCTL_EXPORT_SYNC_FILE(read_write, b'b', 2) of DmaBufSyncFile, 0xc008_6202;
    /// Adds a sync_file to the buffer's fences.
    DMA_BUF_IOCTL_IMPORT_SYNC_FILE(write, b'b', 3) of DmaBufSyncFile, 0x4008_6203;
    /// What a driver can do.
    DRM_IOCTL_GET_CAP(read_write, b'd', 0x0c) of DrmGetCap, 0xc010_640c;
    /// Makes a syncobj.
    DRM_IOCTL_SYNCOBJ_CREATE(read_write, b'd', 0xbf) of DrmSyncobjCreate, 0xc008_64bf;
    /// Drops a handle of a syncobj.
    DRM_IOCTL_SYNCOBJ_DESTROY(read_write, b'd', 0xc0) of DrmSyncobjDestroy, 0xc008_64c0;
    /// A syncobj, or the fence in it, as a descriptor.
    DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD(read_write, b'd', 0xc1) of DrmSyncobjHandle, 0xc010_64c1;
    /// A descriptor as a syncobj, or as the fence in one.
    DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE(read_write, b'd', 0xc2) of DrmSyncobjHandle, 0xc010_64c2;
    /// Waits for binary syncobjs.
    DRM_IOCTL_SYNCOBJ_WAIT(read_write, b'd', 0xc3) of DrmSyncobjWait, 0xc020_64c3;
    /// Takes the fences out of syncobjs.
    DRM_IOCTL_SYNCOBJ_RESET(read_write, b'd', 0xc4) of DrmSyncobjArray, 0xc010_64c4;
    /// Puts signalled fences into syncobjs.
    DRM_IOCTL_SYNCOBJ_SIGNAL(read_write, b'd', 0xc5) of DrmSyncobjArray, 0xc010_64c5;
    /// Waits for points of timelines.
    DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT(read_write, b'd', 0xca) of DrmSyncobjTimelineWait, 0xc028_64ca;
    /// The points that timelines have reached.
    DRM_IOCTL_SYNCOBJ_QUERY(read_write, b'd', 0xcb) of DrmSyncobjTimelineArray, 0xc018_64cb;
    /// Puts the fence of one syncobj's point into another.
    DRM_IOCTL_SYNCOBJ_TRANSFER(read_write, b'd', 0xcc) of DrmSyncobjTransfer, 0xc020_64cc;
    /// Signals points of timelines.
    DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL(read_write, b'd', 0xcd) of DrmSyncobjTimelineArray, 0xc018_64cd;
}

/// Access for reading.
pub const DMA_BUF_SYNC_READ: u32 = 1;
/// Access for writing.
pub const DMA_BUF_SYNC_WRITE: u32 = 2;
/// The access ends; without it, it begins.
pub const DMA_BUF_SYNC_END: u32 = 4;
/// File system that every dma-buf lives on (`linux/magic.h`).
pub const DMA_BUF_MAGIC: u64 = 0x444d_4142;
/// The driver has syncobjs.
pub const DRM_CAP_SYNCOBJ: u64 = 0x13;
/// Its syncobjs may be timelines.
pub const DRM_CAP_SYNCOBJ_TIMELINE: u64 = 0x14;
/// Made with a signalled fence in it.
pub const DRM_SYNCOBJ_CREATE_SIGNALED: u32 = 1;
/// The descriptor is a sync_file, put into the syncobj of the handle given.
pub const DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE: u32 = 1;
/// The descriptor shall be a sync_file of the fence in the syncobj.
pub const DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE: u32 = 1;
/// Waits for a fence to be there, too.
pub const DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT: u32 = 2;
/// Waits for the fence to be there and no longer.
pub const DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE: u32 = 4;

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        #[repr(C)]
        #[allow(missing_docs)] // the kernel's own names
        pub struct $name {
            $(pub $field: $type,)*
        })*
    };
}

layouts! {
    /// `sync_merge_data`.
    SyncMergeData { name: [u8; 32], fd2: i32, fence: i32, flags: u32, pad: u32, }
    /// `sync_file_info`; `sync_fence_info` is the address of an array of [`SyncFenceInfo`].
    SyncFileInfo {
        name: [u8; 32], status: i32, flags: u32, num_fences: u32, pad: u32, sync_fence_info: u64,
    }
    /// `sync_fence_info`.
    SyncFenceInfo {
        obj_name: [u8; 32], driver_name: [u8; 32], status: i32, flags: u32, timestamp_ns: u64,
    }
    /// `dma_buf_sync`.
    DmaBufSync { flags: u64, }
    /// `dma_buf_export_sync_file` and `dma_buf_import_sync_file`.
    DmaBufSyncFile { flags: u32, fd: i32, }
    /// `drm_get_cap`.
    DrmGetCap { capability: u64, value: u64, }
    /// `drm_syncobj_create`.
    DrmSyncobjCreate { handle: u32, flags: u32, }
    /// `drm_syncobj_destroy`.
    DrmSyncobjDestroy { handle: u32, pad: u32, }
    /// `drm_syncobj_handle`, as before Linux 6.16.
    DrmSyncobjHandle { handle: u32, flags: u32, fd: i32, pad: u32, }
    /// `drm_syncobj_wait`, as before Linux 6.6; the bound is a point of the monotonic clock.
    DrmSyncobjWait {
        handles: u64, timeout_nsec: i64, count_handles: u32, flags: u32, first_signaled: u32,
        pad: u32,
    }
    /// `drm_syncobj_timeline_wait`, as before Linux 6.6.
    DrmSyncobjTimelineWait {
        handles: u64, points: u64, timeout_nsec: i64, count_handles: u32, flags: u32,
        first_signaled: u32, pad: u32,
    }
    /// `drm_syncobj_array`.
    DrmSyncobjArray { handles: u64, count_handles: u32, pad: u32, }
    /// `drm_syncobj_timeline_array`.
    DrmSyncobjTimelineArray { handles: u64, points: u64, count_handles: u32, flags: u32, }
    /// `drm_syncobj_transfer`.
    DrmSyncobjTransfer {
        src_handle: u32, dst_handle: u32, src_point: u64, dst_point: u64, flags: u32, pad: u32,
    }
}

/// The text in a field of fixed size, up to its first zero.
pub(crate) fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn numbers_are_those_of_the_headers() {
        for (name, made, documented) in NUMBERS {
            assert_eq!(*made as u32, *documented, "{name}: {made:#x}");
        }
        assert_eq!(NUMBERS.len(), 17);
    }

    #[test]
    fn fields_are_where_the_kernel_reads_them() {
        assert_eq!(offset_of!(SyncMergeData, fence), 36);
        assert_eq!(offset_of!(SyncFileInfo, status), 32);
        assert_eq!(offset_of!(SyncFileInfo, num_fences), 40);
        assert_eq!(offset_of!(SyncFileInfo, sync_fence_info), 48);
        assert_eq!(size_of::<SyncFenceInfo>(), 80);
        assert_eq!(offset_of!(SyncFenceInfo, status), 64);
        assert_eq!(offset_of!(SyncFenceInfo, timestamp_ns), 72);
        assert_eq!(offset_of!(DmaBufSyncFile, fd), 4);
        assert_eq!(offset_of!(DrmSyncobjHandle, fd), 8);
        assert_eq!(offset_of!(DrmSyncobjWait, timeout_nsec), 8);
        assert_eq!(offset_of!(DrmSyncobjWait, flags), 20);
        assert_eq!(offset_of!(DrmSyncobjTimelineWait, timeout_nsec), 16);
        assert_eq!(offset_of!(DrmSyncobjTimelineWait, flags), 28);
        assert_eq!(offset_of!(DrmSyncobjTimelineArray, count_handles), 16);
        assert_eq!(offset_of!(DrmSyncobjTransfer, dst_point), 16);
    }

    #[test]
    fn text_ends_at_the_first_zero_or_with_its_field() {
        assert_eq!(text(b"vgem\0\0rest"), "vgem");
        assert_eq!(text(b"full"), "full");
        assert_eq!(text(b""), "");
    }
}
