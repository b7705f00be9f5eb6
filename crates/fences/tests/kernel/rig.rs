//! The producers of the tests: buffers and fences of vgem, buffers of udmabuf, nodes of
//! virtio-gpu, fences of the module `vmafx_fence`.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

use vmafx_api::{FenceKind, NativeFence};
use vmafx_fences::sync_file::SyncFile;
use vmafx_fences::syncobj::DrmNode;

/// Bound of waits that succeed.
pub(crate) const LONG: Duration = Duration::from_secs(60);
/// Bound of waits that do not.
pub(crate) const SHORT: Duration = Duration::from_millis(30);

/// A fence of that kind under the caller's names.
pub(crate) fn named(kind: FenceKind, fd: &impl AsFd, handle: u32, value: u64) -> NativeFence {
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: the tests keep what they name, or mean it to be refused.
    unsafe { NativeFence::new(kind, fd, u64::from(handle), value) }
}

/// A sync_file as its producer names it.
pub(crate) fn file_named(fd: &impl AsFd) -> NativeFence {
    named(FenceKind::SYNC_FILE, fd, 0, 0)
}

/// Takes a descriptor over that was exported for this test.
pub(crate) fn owned(fence: NativeFence) -> OwnedFd {
    assert!(fence.fd() >= 0, "{fence:?}");
    // SAFETY: exported fences are the receiver's, and this is the receiver.
    unsafe { OwnedFd::from_raw_fd(fence.fd()) }
}

/// The open files of this process.
pub(crate) fn open_files() -> usize {
    // One of them is the folder's, in both of the counts that are compared.
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Makes the call; what the kernel said.
fn control<T>(fd: BorrowedFd<'_>, number: u32, argument: &mut T) -> Result<(), i32> {
    // SAFETY: each caller gives the struct of that number, whose addresses are valid.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), number as _, argument as *mut T) };
    match answer {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        _ => Ok(()),
    }
}

/// vgem's node, and fences on its buffers.
pub(crate) struct Vgem(File);

/// A buffer of vgem's.
pub(crate) struct Buffer {
    handle: u32,
    pub(crate) file: OwnedFd,
}

#[repr(C)]
#[derive(Default)]
struct CreateDumb {
    height: u32,
    width: u32,
    bpp: u32,
    flags: u32,
    handle: u32,
    pitch: u32,
    size: u64,
}

impl Vgem {
    pub(crate) fn open() -> Self {
        Vgem(node("vgem"))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// A buffer of `width` x `height` samples of four bytes.
    pub(crate) fn buffer(&self, width: u32, height: u32) -> Buffer {
        let mut dumb = CreateDumb {
            height,
            width,
            bpp: 32,
            ..CreateDumb::default()
        };
        control(self.0.as_fd(), 0xc020_64b2, &mut dumb).unwrap();
        let file = self.export(dumb.handle);
        Buffer {
            handle: dumb.handle,
            file,
        }
    }

    /// Another descriptor of the buffer.
    pub(crate) fn again(&self, buffer: &Buffer) -> OwnedFd {
        self.export(buffer.handle)
    }

    fn export(&self, handle: u32) -> OwnedFd {
        let flags = (libc::O_CLOEXEC | libc::O_RDWR) as u32;
        // drm_prime_handle: handle, flags, fd.
        let mut prime = [handle, flags, u32::MAX];
        control(self.0.as_fd(), 0xc00c_642d, &mut prime).unwrap();
        // SAFETY: the kernel has just made it for us.
        unsafe { OwnedFd::from_raw_fd(prime[2] as RawFd) }
    }

    /// Gives the buffer back.
    pub(crate) fn close(&self, buffer: Buffer) {
        // drm_gem_close: handle, pad.
        control(self.0.as_fd(), 0x4008_6409, &mut [buffer.handle, 0]).unwrap();
    }

    /// Adds a pending fence to the buffer: of a writer, or of a reader.
    pub(crate) fn attach(&self, buffer: &Buffer, write: bool) -> u32 {
        // drm_vgem_fence_attach: handle, flags (1: write), out_fence, pad.
        let mut fence = [buffer.handle, u32::from(write), 0, 0];
        control(self.0.as_fd(), 0xc010_6441, &mut fence).unwrap();
        fence[2]
    }

    pub(crate) fn signal(&self, fence: u32) {
        self.try_signal(fence).unwrap();
    }

    pub(crate) fn try_signal(&self, fence: u32) -> Result<(), i32> {
        // drm_vgem_fence_signal: fence, flags.
        control(self.0.as_fd(), 0x4008_6442, &mut [fence, 0])
    }

    /// A pending fence as a sync_file, with its number. It is on a buffer of its own.
    pub(crate) fn fence(&self) -> (u32, OwnedFd) {
        let buffer = self.buffer(16, 16);
        let number = self.attach(&buffer, true);
        let bound = vmafx_fences::dma_buf::DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
        let file = bound.fences(vmafx_fences::dma_buf::Access::Read).unwrap();
        self.close(buffer);
        (number, file.into_fd().unwrap())
    }
}

/// A fresh open file of virtio-gpu's node.
pub(crate) fn virtio() -> File {
    node("virtio_gpu")
}

/// As what the crate takes it for.
pub(crate) fn virtio_node() -> DrmNode {
    DrmNode::from_fd(virtio().into()).unwrap()
}

#[repr(C)]
struct Version {
    numbers: [i32; 3],
    name_len: usize,
    name: *mut u8,
    date_len: usize,
    date: *mut u8,
    desc_len: usize,
    desc: *mut u8,
}

/// The primary node of that driver.
fn node(driver: &str) -> File {
    let mut paths: Vec<PathBuf> = std::fs::read_dir("/dev/dri")
        .expect("the kernel tests run in their guest: cargo xtask kernel-tests")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("card"))
        .collect();
    paths.sort();
    for path in &paths {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let mut name = [0; 32];
        let mut version = Version {
            numbers: [0; 3],
            name_len: name.len(),
            name: name.as_mut_ptr(),
            date_len: 0,
            date: std::ptr::null_mut(),
            desc_len: 0,
            desc: std::ptr::null_mut(),
        };
        control(file.as_fd(), 0xc040_6400, &mut version).unwrap();
        if &name[..version.name_len.min(name.len())] == driver.as_bytes() {
            return file;
        }
    }
    panic!("{driver} has no node among {paths:?}");
}

/// A dma-buf in memory of this process.
pub(crate) fn udmabuf(pages: u64) -> (OwnedFd, OwnedFd) {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("frame", flags).unwrap();
    ftruncate(&memory, pages * 4096).unwrap();
    fcntl_add_seals(&memory, SealFlags::SHRINK).unwrap();
    let device = File::options()
        .read(true)
        .write(true)
        .open("/dev/udmabuf")
        .unwrap();
    // udmabuf_create: memfd and flags (1: close on exec), offset, size.
    let first = memory.as_raw_fd() as u64 | 1 << 32;
    let mut create = [first, 0, pages * 4096];
    // SAFETY: the struct holds no address; the answer is the descriptor.
    let fd = unsafe { libc::ioctl(device.as_raw_fd(), 0x4018_7542, &mut create) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just made it for us.
    (unsafe { OwnedFd::from_raw_fd(fd) }, memory)
}

/// An open file of `vmafx_fence`: a producer whose work ends as the test decides.
pub(crate) struct Producer(File);

#[repr(C)]
struct Create {
    timeline: [u8; 24],
    number: u64,
    fd: i32,
    pad: u32,
}

#[repr(C)]
struct Signal {
    number: u64,
    error: i32,
    pad: u32,
}

impl Producer {
    pub(crate) fn open() -> Self {
        let file = File::options()
            .read(true)
            .write(true)
            .open("/dev/vmafx_fence");
        Producer(file.expect("the module vmafx_fence is loaded"))
    }

    /// A pending fence on a timeline of that name: its number and its sync_file.
    pub(crate) fn fence(&self, timeline: &str) -> (u64, OwnedFd) {
        let mut create = Create {
            timeline: [0; 24],
            number: 0,
            fd: -1,
            pad: 0,
        };
        create.timeline[..timeline.len()].copy_from_slice(timeline.as_bytes());
        control(self.0.as_fd(), 0xc028_b640, &mut create).unwrap();
        // SAFETY: the kernel has just made it for us.
        (create.number, unsafe { OwnedFd::from_raw_fd(create.fd) })
    }

    /// As [`fence`](Producer::fence), as what the crate makes of it.
    pub(crate) fn sync_file(&self, timeline: &str) -> (u64, SyncFile) {
        let (number, file) = self.fence(timeline);
        (number, SyncFile::from_fd(file).unwrap())
    }

    /// Ends a fence: with 0 for success, or with -errno.
    pub(crate) fn end(&self, number: u64, error: i32) {
        let mut signal = Signal {
            number,
            error,
            pad: 0,
        };
        control(self.0.as_fd(), 0x4010_b641, &mut signal).unwrap();
    }
}
