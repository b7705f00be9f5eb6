//! Producers that go away while their fences are waited for, or never keep their word.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use vmafx_api::{FenceImpl, FenceKind, Status};
use vmafx_fences::dma_buf::{Access, DmaBuf};
use vmafx_fences::sync_file::SyncFile;
use vmafx_fences::syncobj::{Syncobj, SyncobjFence};

use crate::rig::{LONG, Producer, SHORT, Vgem, file_named, named, udmabuf, virtio, virtio_node};

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_producer_that_closes_its_device_ends_the_wait_with_an_error() {
    let producer = Producer::open();
    let (_, file) = producer.fence("decode");
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(SHORT);
            drop(producer);
        });
        let failed = fence.wait(LONG).unwrap_err();
        assert_eq!(failed.status, Status::DEVICE);
        assert!(failed.message.contains("ended with ECANCELED"), "{failed}");
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_producer_that_dies_ends_every_wait_with_an_error() {
    let producer = Producer::open();
    let (_, file) = producer.fence("decode");
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    let object = Syncobj::create(&virtio_node(), false).unwrap();
    object.import_sync_file(3, &fence).unwrap();
    let object = SyncobjFence::new(Arc::new(object), 3).unwrap();
    let (memory, _sealed) = udmabuf(1);
    let bound = DmaBuf::duplicate(memory.as_fd()).unwrap();
    bound.add_fence(&fence, Access::Write).unwrap();
    let implicit = bound.fences(Access::Read).unwrap();
    let process = Child::with_all_open_files();
    // From here on the device is open in the other process alone.
    drop(producer);
    let fences: [&dyn FenceImpl; 3] = [&fence, &object, &implicit];
    for fence in fences {
        assert_eq!(
            fence.wait(SHORT).unwrap_err().status,
            Status::TIMEOUT,
            "it lives"
        );
    }
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(SHORT);
            process.kill();
        });
        for fence in fences {
            let failed = fence.wait(LONG).unwrap_err();
            assert_eq!(failed.status, Status::DEVICE, "{failed}");
            assert!(failed.message.contains("ended with ECANCELED"), "{failed}");
        }
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_producer_that_never_signals_is_named_when_the_bound_is_over() {
    let producer = Producer::open();
    let (_, file) = producer.fence("decode");
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    let late = fence.wait(SHORT).unwrap_err();
    assert_eq!(late.status, Status::TIMEOUT);
    assert!(late.message.starts_with("sync_file (fd "), "{late}");

    // One that dies before it submitted anything leaves an object that nothing will signal.
    let device: OwnedFd = virtio().into();
    let node = vmafx_fences::syncobj::DrmNode::duplicate(device.as_fd()).unwrap();
    for point in [0, 6] {
        let theirs = Syncobj::create(&node, false).unwrap();
        let name = named(FenceKind::DRM_SYNCOBJ, &device, theirs.handle(), point);
        let ours = SyncobjFence::acquire(&name).unwrap();
        drop(theirs);
        let late = ours.wait(SHORT).unwrap_err();
        assert_eq!(late.status, Status::TIMEOUT);
        assert!(late.message.contains("no work was submitted"), "{late}");
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn vgem_reports_success_for_a_producer_that_goes_away() {
    // A driver's word is all there is: this one calls its fences done when its file is closed.
    let vgem = Vgem::open();
    let (_, file) = vgem.fence();
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    assert_eq!(fence.is_signalled(), Ok(false));
    drop(vgem);
    assert_eq!(fence.wait_for(LONG), Ok(()));
}

/// A process that does nothing but keep what was open when it began.
struct Child(libc::pid_t);

impl Child {
    fn with_all_open_files() -> Self {
        // SAFETY: the child calls nothing but pause(2), which is safe after a fork of threads.
        match unsafe { libc::fork() } {
            -1 => panic!("{}", std::io::Error::last_os_error()),
            0 => loop {
                // SAFETY: it takes nothing.
                unsafe { libc::pause() };
            },
            child => Child(child),
        }
    }

    fn kill(self) {
        drop(self);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our child, which nobody has waited for.
        let killed = unsafe { libc::kill(self.0, libc::SIGKILL) };
        // SAFETY: as above; no status is asked for.
        let waited = unsafe { libc::waitpid(self.0, std::ptr::null_mut(), 0) };
        assert_eq!((killed, waited), (0, self.0));
    }
}
