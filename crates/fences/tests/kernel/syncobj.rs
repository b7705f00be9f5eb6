//! Syncobjs of virtio-gpu: binary and timelines, by handle and by descriptor.

use std::os::fd::AsFd;
use std::sync::Arc;

use vmafx_api::{ApiError, FenceImpl, FenceKind, FenceState, Status};
use vmafx_fences::sync_file::SyncFile;
use vmafx_fences::syncobj::{DrmNode, Syncobj, SyncobjFence};
use vmafx_fences::{Acquired, FenceError, acquire};

use crate::rig::{
    LONG, Producer, SHORT, Vgem, file_named, named, owned, udmabuf, virtio, virtio_node,
};

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_binary_object_waits_for_the_submission_and_for_the_work() {
    let vgem = Vgem::open();
    let object = Syncobj::create(&virtio_node(), false).unwrap();
    assert_eq!(object.is_signalled(0), Ok(false));
    assert!(object.sync_file(0).unwrap().is_none());
    let missing = object.wait_for(0, SHORT).unwrap_err();
    assert!(
        matches!(missing.cause(), FenceError::NotSubmitted { .. }),
        "{missing}"
    );
    assert!(
        missing.to_string().starts_with(&format!("{object}: ")),
        "{missing}"
    );
    assert_eq!(ApiError::from(missing).status, Status::TIMEOUT);

    let (number, file) = vgem.fence();
    object
        .import_sync_file(0, &SyncFile::from_fd(file).unwrap())
        .unwrap();
    assert_eq!(object.is_signalled(0), Ok(false));
    let late = object.wait_for(0, SHORT).unwrap_err();
    assert_eq!(
        late.to_string(),
        format!("{object}: not signalled within {SHORT:?}")
    );
    let out = object.sync_file(0).unwrap().unwrap();
    assert_eq!(out.is_signalled(), Ok(false));
    vgem.signal(number);
    assert_eq!(object.wait_for(0, LONG), Ok(()));
    assert_eq!(out.is_signalled(), Ok(true));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_host_signals_and_resets() {
    let node = virtio_node();
    let object = Syncobj::create(&node, false).unwrap();
    object.signal(0).unwrap();
    assert_eq!(object.wait_for(0, SHORT), Ok(()));
    object.reset().unwrap();
    assert_eq!(object.is_signalled(0), Ok(false));
    assert_eq!(
        Syncobj::create(&node, true).unwrap().is_signalled(0),
        Ok(true)
    );
    // Another thread signals what is waited for.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            object.signal(0).unwrap();
        });
        assert_eq!(object.wait_for(0, LONG), Ok(()));
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_timeline_is_waited_for_by_its_points() {
    let vgem = Vgem::open();
    let object = Syncobj::create(&virtio_node(), false).unwrap();
    assert_eq!(object.reached(), Ok(0));
    object.signal(3).unwrap();
    assert_eq!(object.reached(), Ok(3));
    assert_eq!(object.wait_for(2, SHORT), Ok(()));
    assert_eq!(object.wait_for(3, SHORT), Ok(()));
    let missing = object.wait_for(4, SHORT).unwrap_err();
    assert!(
        matches!(missing.cause(), FenceError::NotSubmitted { .. }),
        "{missing}"
    );

    let (number, file) = vgem.fence();
    object
        .import_sync_file(5, &SyncFile::from_fd(file).unwrap())
        .unwrap();
    for point in [4, 5] {
        assert_eq!(object.is_signalled(point), Ok(false), "{point}");
        let late = object.wait_for(point, SHORT).unwrap_err();
        assert!(
            matches!(late.cause(), FenceError::TimedOut { .. }),
            "{late}"
        );
    }
    assert_eq!(object.is_signalled(3), Ok(true));
    assert_eq!(object.reached(), Ok(3));
    assert_eq!(object.is_signalled(6), Ok(false));
    vgem.signal(number);
    assert_eq!(object.wait_for(5, LONG), Ok(()));
    assert_eq!(object.wait_for(4, LONG), Ok(()));
    assert_eq!(object.reached(), Ok(5));
    // -1 as a sync_file is a point that is reached.
    object.import_sync_file(9, &SyncFile::signalled()).unwrap();
    assert_eq!(object.reached(), Ok(9));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_wait_may_begin_before_the_submission() {
    let vgem = Vgem::open();
    let node = virtio_node();
    for point in [0, 7] {
        let object = Syncobj::create(&node, false).unwrap();
        let (number, file) = vgem.fence();
        let file = SyncFile::from_fd(file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(SHORT);
                object.import_sync_file(point, &file).unwrap();
                std::thread::sleep(SHORT);
                vgem.signal(number);
            });
            assert_eq!(object.wait_for(point, LONG), Ok(()));
            assert_eq!(file.is_signalled(), Ok(true), "after the submission only");
        });
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_failure_is_told_through_the_object() {
    let node = virtio_node();
    for point in [0, 2] {
        // Waited for while it fails, and looked at afterwards.
        let producer = Producer::open();
        let object = Syncobj::create(&node, false).unwrap();
        let (number, file) = producer.sync_file("encode");
        object.import_sync_file(point, &file).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(SHORT);
                producer.end(number, -5);
            });
            let text = object.wait_for(point, LONG).unwrap_err().to_string();
            assert!(text.starts_with(&format!("{object}: ")), "{text}");
            assert!(
                text.contains("timeline encode) ended with EIO"),
                "point {point}: {text}"
            );
        });
        let again = object.is_signalled(point).unwrap_err();
        assert!(
            matches!(again.cause(), FenceError::Failed { .. }),
            "point {point}: {again}"
        );
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn an_object_crosses_to_another_open_file() {
    let vgem = Vgem::open();
    let (here, there) = (virtio_node(), virtio_node());
    let object = Syncobj::create(&here, false).unwrap();
    let opaque = object.opaque_fd().unwrap();
    let same = Syncobj::from_opaque(&there, opaque.as_fd()).unwrap();
    let (number, file) = vgem.fence();
    object
        .import_sync_file(0, &SyncFile::from_fd(file).unwrap())
        .unwrap();
    // By its descriptor alone, as a producer's name for it.
    let fence = acquire(&named(FenceKind::DRM_SYNCOBJ, &opaque, 0, 0), SHORT).unwrap();
    let Acquired::Pending(fence) = fence else {
        panic!("it is pending");
    };
    drop((object, opaque));
    assert_eq!(same.is_signalled(0), Ok(false));
    vgem.signal(number);
    assert_eq!(same.wait_for(0, LONG), Ok(()));
    assert_eq!(fence.wait(LONG), Ok(()));

    // A point of a timeline, exported and taken in again.
    let timeline = Arc::new(Syncobj::create(&here, false).unwrap());
    let point = SyncobjFence::new(timeline.clone(), 4).unwrap();
    let exported = point.export(FenceKind::DRM_SYNCOBJ).unwrap();
    assert_eq!((exported.handle(), exported.value()), (0, 4));
    let taken = SyncobjFence::acquire(&exported).unwrap();
    drop(owned(exported));
    let none = point.export(FenceKind::SYNC_FILE).unwrap_err();
    assert_eq!(none.status, Status::NOT_SUPPORTED);
    assert_eq!(taken.poll(), Ok(FenceState::Pending));
    timeline.signal(4).unwrap();
    assert_eq!(taken.wait(LONG), Ok(()));
    let file = owned(point.export(FenceKind::SYNC_FILE).unwrap());
    assert_eq!(SyncFile::from_fd(file).unwrap().is_signalled(), Ok(true));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_handle_that_is_gone_is_refused_and_ours_stays() {
    let device = virtio();
    let node = DrmNode::duplicate(device.as_fd()).unwrap();
    let theirs = Syncobj::create(&node, false).unwrap();
    let name = named(FenceKind::DRM_SYNCOBJ, &device, theirs.handle(), 0);
    let ours = SyncobjFence::acquire(&name).unwrap();
    assert_ne!(ours.object().handle(), theirs.handle());
    assert_eq!(ours.native().handle(), u64::from(ours.object().handle()));
    let keep = Syncobj::from_handle(&node, theirs.handle()).unwrap();
    drop(theirs);
    let stale = SyncobjFence::acquire(&name).unwrap_err();
    let FenceError::Mistaken { call, .. } = stale.cause() else {
        panic!("{stale}");
    };
    assert_eq!(*call, "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD");
    assert!(
        stale
            .to_string()
            .contains(&format!("handle {}", name.handle())),
        "{stale}"
    );
    // The number is given out again, for a signalled object: ours is the old one.
    let other = Syncobj::create(&node, true).unwrap();
    assert_eq!(u64::from(other.handle()), name.handle());
    assert_eq!(ours.poll(), Ok(FenceState::Pending));
    keep.signal(0).unwrap();
    assert_eq!(ours.poll(), Ok(FenceState::Signalled));
    // SAFETY: it is refused.
    let wide = unsafe {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&device);
        vmafx_api::NativeFence::new(FenceKind::DRM_SYNCOBJ, fd, 1 << 32, 0)
    };
    assert!(SyncobjFence::acquire(&wide).is_err());
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn other_descriptors_are_refused_as_objects_and_as_nodes() {
    let vgem = Vgem::open();
    let (_, file) = vgem.fence();
    let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let (buffer, memory) = udmabuf(1);
    for other in [&file, &event, &buffer, &memory] {
        for handle in [0, 1] {
            let name = named(FenceKind::DRM_SYNCOBJ, other, handle, 0);
            let error = acquire(&name, LONG).unwrap_err();
            assert!(
                matches!(error.cause(), FenceError::Mistaken { .. }),
                "{error}"
            );
            assert_eq!(ApiError::from(error).status, Status::INVALID);
        }
    }
    let none = DrmNode::duplicate(vgem.fd()).unwrap_err();
    assert!(
        none.to_string().contains("the node's driver has none"),
        "{none}"
    );
    assert_eq!(ApiError::from(none).status, Status::NOT_SUPPORTED);
    assert!(acquire(&file_named(&virtio()), LONG).is_err());
    assert!(DrmNode::any().unwrap().has_timelines());
}
