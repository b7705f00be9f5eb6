//! sync_files of vgem and of the module: pending, signalled, failed, merged, and what is none.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use vmafx_api::{ApiError, FenceImpl, FenceKind, FenceState, Status};
use vmafx_fences::sync_file::{Component, Progress, SyncFile};
use vmafx_fences::syncobj::{Syncobj, SyncobjFence};
use vmafx_fences::{Acquired, Errno, FenceError, acquire, uapi};

use crate::rig::{LONG, Producer, SHORT, Vgem, file_named, owned, virtio_node};

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_fence_of_a_driver_is_pending_then_signalled() {
    let vgem = Vgem::open();
    let (number, file) = vgem.fence();
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    assert_eq!(fence.poll(), Ok(FenceState::Pending));
    let parts = fence.components().unwrap();
    assert_eq!((parts.len(), &*parts[0].driver), (1, "vgem"), "{parts:?}");
    assert_eq!(parts[0].progress, Progress::Pending);
    for timeout in [std::time::Duration::ZERO, SHORT] {
        let late = fence.wait_for(timeout).unwrap_err();
        let name = format!("sync_file (fd {})", file.as_raw_fd());
        assert_eq!(
            late.to_string(),
            format!("{name}: not signalled within {timeout:?}")
        );
        assert_eq!(ApiError::from(late).status, Status::TIMEOUT);
    }
    vgem.signal(number);
    assert_eq!(fence.poll(), Ok(FenceState::Signalled));
    assert_eq!(fence.wait_for(SHORT), Ok(()));
    assert_eq!(fence.components().unwrap()[0].progress, Progress::Signalled);
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_wait_ends_with_the_signal_and_not_before() {
    let vgem = Vgem::open();
    let (number, file) = vgem.fence();
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let fence = SyncFile::acquire(&file_named(&file)).unwrap();
            let written = &written;
            scope.spawn(move || {
                fence.wait_for(LONG).unwrap();
                assert!(written.load(Ordering::SeqCst), "ended before the work");
            });
        }
        std::thread::sleep(SHORT);
        written.store(true, Ordering::SeqCst);
        vgem.signal(number);
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn an_error_is_told_and_never_signalled() {
    for (error, name) in [(-5, "EIO"), (-110, "ETIMEDOUT"), (-125, "ECANCELED")] {
        let producer = Producer::open();
        let (number, file) = producer.fence("encode");
        let before = SyncFile::acquire(&file_named(&file)).unwrap();
        match name {
            // What a producer does that goes away.
            "ECANCELED" => drop(producer),
            _ => producer.end(number, error),
        }
        assert_eq!(
            readiness(&file),
            libc::POLLIN,
            "all that poll tells is that it ended"
        );
        let after = SyncFile::acquire(&file_named(&file)).unwrap();
        for fence in [before, after] {
            let failed = fence.wait_for(LONG).unwrap_err();
            let text = failed.to_string();
            let told = format!("(driver vmafx_fence, timeline encode) ended with {name}, ");
            assert!(text.contains(&told), "{text}");
            assert!(matches!(failed.cause(), FenceError::Failed { .. }));
            assert_eq!(fence.poll().unwrap_err().status, Status::DEVICE);
            assert_eq!(fence.wait(LONG).unwrap_err().status, Status::DEVICE);
            let parts = fence.components().unwrap();
            assert_eq!(parts[0].progress, Progress::Failed(Errno(-error)));
        }
        let refused = acquire(&file_named(&file), LONG).unwrap_err();
        assert!(
            matches!(refused.cause(), FenceError::Failed { .. }),
            "{refused}"
        );
    }
}

/// What poll(2) says of a descriptor now.
fn readiness(file: &OwnedFd) -> i16 {
    let mut polled = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN | libc::POLLERR,
        revents: 0,
    };
    // SAFETY: one struct, as said.
    let ready = unsafe { libc::poll(&mut polled, 1, 0) };
    assert_eq!(ready, 1);
    polled.revents
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn what_is_merged_waits_for_both() {
    let producer = Producer::open();
    for order in [[0, 1], [1, 0]] {
        let other = Producer::open();
        let (first, one) = producer.sync_file("luma");
        let (second, two) = other.sync_file("chroma");
        let both = one.merge(&two).unwrap();
        assert_eq!(both.components().unwrap().len(), 2);
        assert_eq!(both.is_signalled(), Ok(false));
        let end = |which| match which {
            0 => producer.end(first, 0),
            _ => other.end(second, 0),
        };
        end(order[0]);
        assert_eq!(both.is_signalled(), Ok(false), "after one");
        assert!(both.wait_for(SHORT).is_err());
        end(order[1]);
        assert_eq!(both.wait_for(LONG), Ok(()));
        assert_eq!(both.is_signalled(), Ok(true));
    }
    // With one that is signalled without a file, and with oneself.
    let (number, one) = producer.sync_file("luma");
    let with_none = SyncFile::signalled().merge(&one).unwrap();
    let with_itself = one.merge(&one).unwrap();
    assert_eq!(with_none.is_signalled(), Ok(false));
    producer.end(number, 0);
    assert_eq!(with_none.is_signalled(), Ok(true));
    assert_eq!(with_itself.is_signalled(), Ok(true));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn what_is_merged_fails_with_the_one_that_failed() {
    let (good, bad) = (Producer::open(), Producer::open());
    let (fine, one) = good.sync_file("luma");
    let (lost, two) = bad.sync_file("chroma");
    let both = one.merge(&two).unwrap();
    bad.end(lost, -5);
    // At once, although the other is pending: its end changes nothing.
    for ended in [false, true] {
        if ended {
            good.end(fine, 0);
        }
        let text = both.wait_for(LONG).unwrap_err().to_string();
        assert!(
            text.contains("(driver vmafx_fence, timeline chroma) ended with EIO"),
            "{text}"
        );
    }
    let mut parts = both.components().unwrap();
    parts.sort_by(|a, b| a.timeline.cmp(&b.timeline));
    let part = |timeline: &str, progress| Component {
        driver: "vmafx_fence".to_owned(),
        timeline: timeline.to_owned(),
        progress,
    };
    let expected = [
        part("chroma", Progress::Failed(Errno(5))),
        part("luma", Progress::Signalled),
    ];
    assert_eq!(parts, expected);
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_failure_from_before_the_merge_is_not_lost() {
    let (good, bad) = (Producer::open(), Producer::open());
    let (_pending, one) = good.sync_file("luma");
    let (lost, two) = bad.sync_file("chroma");
    bad.end(lost, -110);
    for (one, two) in [(&one, &two), (&two, &one), (&two, &two)] {
        let text = one.merge(two).unwrap_err().to_string();
        assert!(
            text.contains("timeline chroma) ended with ETIMEDOUT"),
            "{text}"
        );
    }
    // Why the crate looks itself: the kernel leaves out what has ended, however it did.
    let (done, three) = good.sync_file("luma");
    good.end(done, 0);
    let mut data = uapi::SyncMergeData {
        fd2: two.fd().unwrap().as_raw_fd(),
        ..uapi::SyncMergeData::default()
    };
    // SAFETY: the struct holds no address.
    unsafe { uapi::SYNC_IOC_MERGE.call(three.fd().unwrap(), &mut data) }.unwrap();
    // SAFETY: nothing else has the descriptor.
    let merged = unsafe { vmafx_api::NativeFence::new(FenceKind::SYNC_FILE, data.fence, 0, 0) };
    let merged = SyncFile::from_fd(owned(merged)).unwrap();
    assert_eq!(
        merged.is_signalled(),
        Ok(true),
        "the kernel forgot the failure"
    );
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn of_two_fences_of_one_timeline_both_are_asked() {
    let producer = Producer::open();
    let (first, one) = producer.sync_file("decode");
    let (second, two) = producer.sync_file("decode");
    for (one, two) in [(&one, &two), (&two, &one)] {
        let both = one.merge(two).unwrap();
        assert_eq!(
            both.components().unwrap().len(),
            1,
            "the kernel keeps the later"
        );
    }
    let both = one.merge(&two).unwrap();
    let (_, gone) = Producer::open().sync_file("other");
    assert!(both.merge(&gone).is_err(), "its producer is gone");
    producer.end(second, 0);
    assert_eq!(both.is_signalled(), Ok(false), "the first is pending");
    assert!(both.wait_for(SHORT).is_err());
    producer.end(first, -5);
    let text = both.wait_for(LONG).unwrap_err().to_string();
    assert!(text.contains("ended with EIO"), "{text}");
    let refused = both.export(FenceKind::SYNC_FILE).unwrap_err();
    assert_eq!(
        refused.status,
        Status::DEVICE,
        "it would be signalled for others"
    );
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn other_descriptors_of_the_kernel_are_refused() {
    let vgem = Vgem::open();
    let buffer = vgem.buffer(16, 16);
    let object = Syncobj::create(&virtio_node(), true).unwrap();
    let (_, memory) = crate::rig::udmabuf(1);
    let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let device = crate::rig::virtio().into();
    let others = [
        ("dma-buf", vgem.again(&buffer)),
        ("syncobj", object.opaque_fd().unwrap()),
        ("memfd", memory),
        ("eventfd", event),
        ("node", device),
    ];
    for (what, other) in others {
        let error = acquire(&file_named(&other), LONG).unwrap_err();
        let FenceError::Mistaken { call, errno, .. } = error.cause() else {
            panic!("{what}: {error}");
        };
        assert_eq!(*call, "SYNC_IOC_FILE_INFO", "{what}");
        assert!(
            ["ENOTTY", "EINVAL"].contains(&errno.name()),
            "{what}: {errno}"
        );
        assert!(
            rustix::io::fcntl_getfd(&other).is_ok(),
            "{what} is still open"
        );
        let number = other.as_raw_fd();
        drop(other);
        // SAFETY: no thread opens a file here, so that the number is of none.
        let closed = unsafe { vmafx_api::NativeFence::new(FenceKind::SYNC_FILE, number, 0, 0) };
        let error = acquire(&closed, LONG).unwrap_err();
        assert!(error.to_string().contains("EBADF"), "{what}: {error}");
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_producers_descriptor_is_its_own() {
    let vgem = Vgem::open();
    let (number, file) = vgem.fence();
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    drop(SyncFile::acquire(&file_named(&file)).unwrap());
    assert!(
        rustix::io::fcntl_getfd(&file).is_ok(),
        "dropping ours closed the producer's"
    );

    // The producer closes it while we wait, and the number is given to something else.
    let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    // SAFETY: the number is of an open file, which this closes, and both are this test's.
    let given = unsafe { libc::dup2(event.as_raw_fd(), file.as_raw_fd()) };
    assert_eq!(given, file.as_raw_fd());
    assert!(
        SyncFile::acquire(&file_named(&file)).is_err(),
        "an eventfd now"
    );
    assert_eq!(fence.is_signalled(), Ok(false));
    assert!(matches!(
        fence.wait_for(SHORT).unwrap_err().cause(),
        FenceError::TimedOut { .. }
    ));
    vgem.signal(number);
    assert_eq!(fence.wait_for(LONG), Ok(()));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn it_is_exported_as_itself_and_as_a_syncobj() {
    let vgem = Vgem::open();
    let (number, file) = vgem.fence();
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    let same = owned(fence.export(FenceKind::SYNC_FILE).unwrap());
    let same = SyncFile::from_fd(same).unwrap();
    let exported = fence.export(FenceKind::DRM_SYNCOBJ).unwrap();
    let object = SyncobjFence::acquire(&exported).unwrap();
    drop(owned(exported));
    drop(fence);
    assert_eq!(same.poll(), Ok(FenceState::Pending));
    assert_eq!(object.poll(), Ok(FenceState::Pending));
    vgem.signal(number);
    assert_eq!(same.wait(LONG), Ok(()));
    assert_eq!(object.wait(LONG), Ok(()));
    let refused = same.export(FenceKind::GL_SYNC).unwrap_err();
    assert_eq!(refused.status, Status::NOT_SUPPORTED);
    // One without a file is one with a signalled fence there.
    let exported = SyncFile::signalled()
        .export(FenceKind::DRM_SYNCOBJ)
        .unwrap();
    let object = SyncobjFence::acquire(&exported).unwrap();
    drop(owned(exported));
    assert_eq!(object.poll(), Ok(FenceState::Signalled));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn thirty_two_pending_fences_are_waited_for() {
    const FENCES: usize = 32;
    let producer = Producer::open();
    let made: Vec<_> = (0..FENCES).map(|_| producer.fence("decode")).collect();
    let samples: Vec<_> = made.iter().map(|_| AtomicBool::new(false)).collect();
    let mut pending = Vec::new();
    for (_, file) in &made {
        let fence = acquire(&file_named(file), std::time::Duration::ZERO).unwrap();
        if let Acquired::Pending(fence) = fence {
            pending.push(fence);
        }
    }
    assert_eq!(pending.len(), FENCES, "pending when they were taken in");
    let mut bad = 0;
    std::thread::scope(|scope| {
        let (made, samples) = (&made, &samples);
        scope.spawn(move || {
            std::thread::sleep(SHORT);
            // Not in the order in which they are waited for.
            for place in (0..FENCES).map(|place| place * 5 % FENCES) {
                samples[place].store(true, Ordering::Relaxed);
                producer.end(made[place].0, 0);
            }
        });
        for (place, fence) in pending.iter().enumerate() {
            fence.wait(LONG).unwrap();
            bad += usize::from(!samples[place].load(Ordering::Relaxed));
        }
    });
    println!(
        "{} pending when taken in, {FENCES} waited for, {bad} bad",
        pending.len()
    );
    assert_eq!(bad, 0, "read before they were written");
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn descriptors_of_ours_close_on_exec() {
    let vgem = Vgem::open();
    let (_, file) = vgem.fence();
    let fence = SyncFile::acquire(&file_named(&file)).unwrap();
    let both = fence
        .merge(&SyncFile::acquire(&file_named(&file)).unwrap())
        .unwrap();
    for ours in [&fence, &both] {
        let flags = rustix::io::fcntl_getfd(ours.fd().unwrap().as_fd()).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}
