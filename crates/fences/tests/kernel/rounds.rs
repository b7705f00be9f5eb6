//! A thousand rounds of everything, after which as many files are open as before.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use vmafx_api::{FenceImpl, FenceKind};
use vmafx_fences::dma_buf::{Access, DmaBuf};
use vmafx_fences::sync_file::SyncFile;
use vmafx_fences::syncobj::{Syncobj, SyncobjFence};
use vmafx_fences::{HostFence, acquire};

use crate::rig::{LONG, Producer, Vgem, file_named, named, open_files, owned, udmabuf, virtio};

const ROUNDS: usize = 1000;

fn leaves_nothing_open(mut round: impl FnMut(usize)) {
    // The first may open what stays open.
    round(0);
    let before = open_files();
    for number in 1..=ROUNDS {
        round(number);
    }
    let after = open_files();
    println!("{ROUNDS} rounds: {before} files open before, {after} after");
    assert_eq!(after, before);
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn of_sync_files() {
    let producer = Producer::open();
    leaves_nothing_open(|round| {
        let (number, file) = producer.fence("decode");
        let name = file_named(&file);
        let pending = acquire(&name, Duration::ZERO).unwrap();
        let fence = SyncFile::acquire(&name).unwrap();
        let (other, two) = producer.sync_file("other");
        let both = fence.merge(&two).unwrap();
        drop(owned(both.export(FenceKind::SYNC_FILE).unwrap()));
        drop(owned(fence.export(FenceKind::DRM_SYNCOBJ).unwrap()));
        assert!(both.wait_for(Duration::ZERO).is_err());
        // Every other one fails.
        let error = -5 * (round % 2) as i32;
        producer.end(number, error);
        producer.end(other, 0);
        assert_eq!(both.wait_for(LONG).is_ok(), error == 0);
        assert_eq!(fence.merge(&two).is_ok(), error == 0);
        drop(pending);
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn of_dma_bufs() {
    let vgem = Vgem::open();
    let (memory, _sealed) = udmabuf(1);
    leaves_nothing_open(|_| {
        let buffer = vgem.buffer(16, 16);
        let write = vgem.attach(&buffer, true);
        let bound = DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
        let other = DmaBuf::duplicate(memory.as_fd()).unwrap();
        let fence = bound.fences(Access::Read).unwrap();
        other.add_fence(&fence, Access::Write).unwrap();
        assert!(other.begin(Access::Read, Duration::ZERO).is_err());
        vgem.signal(write);
        other.begin(Access::Write, LONG).unwrap().end().unwrap();
        drop(bound.begin(Access::Read, LONG).unwrap());
        vgem.close(buffer);
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn of_syncobjs() {
    let producer = Producer::open();
    let device = virtio();
    let node = vmafx_fences::syncobj::DrmNode::duplicate(device.as_fd()).unwrap();
    let lowest = || Syncobj::create(&node, false).unwrap().handle();
    let before = lowest();
    for point in [0, 3] {
        leaves_nothing_open(|_| {
            let theirs = Syncobj::create(&node, false).unwrap();
            let name = named(FenceKind::DRM_SYNCOBJ, &device, theirs.handle(), point);
            let ours = SyncobjFence::acquire(&name).unwrap();
            assert!(ours.wait(Duration::ZERO).is_err());
            let (number, file) = producer.sync_file("decode");
            theirs.import_sync_file(point, &file).unwrap();
            let opaque = owned(ours.export(FenceKind::DRM_SYNCOBJ).unwrap());
            let copy = Syncobj::from_opaque(&node, opaque.as_fd()).unwrap();
            drop(owned(ours.export(FenceKind::SYNC_FILE).unwrap()));
            assert!(ours.wait(Duration::ZERO).is_err());
            producer.end(number, 0);
            ours.wait(LONG).unwrap();
            assert!(
                SyncobjFence::new(Arc::new(copy), point)
                    .unwrap()
                    .poll()
                    .is_ok()
            );
            drop(acquire(&named(FenceKind::DRM_SYNCOBJ, &opaque, 0, point), LONG).unwrap());
        });
    }
    assert_eq!(lowest(), before, "handles that were not dropped");
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn of_refusals_and_of_host_fences() {
    let (buffer, memory) = udmabuf(1);
    leaves_nothing_open(|_| {
        for other in [&buffer, &memory] {
            assert!(SyncFile::acquire(&file_named(other)).is_err());
            for handle in [0, 1] {
                let name = named(FenceKind::DRM_SYNCOBJ, other, handle, 1);
                assert!(SyncobjFence::acquire(&name).is_err());
            }
        }
        assert!(DmaBuf::duplicate(memory.as_fd()).is_err());
        let fence = HostFence::new();
        let ours = acquire(&fence.native(), Duration::ZERO).unwrap();
        fence.signal().unwrap();
        drop(ours);
    });
}
