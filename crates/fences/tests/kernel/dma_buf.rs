//! dma-bufs: their size and identity, the fences in them, access by the processor.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use vmafx_api::{ApiError, Status};
use vmafx_fences::dma_buf::{Access, DmaBuf};
use vmafx_fences::{FenceError, uapi};

use crate::rig::{LONG, Producer, SHORT, Vgem, udmabuf};

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_buffer_says_its_size_and_which_it_is() {
    let vgem = Vgem::open();
    let buffer = vgem.buffer(64, 33);
    let one = DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
    assert_eq!(one.size(), Ok(12288), "8448 bytes in whole pages");
    let again = DmaBuf::duplicate(vgem.again(&buffer).as_fd()).unwrap();
    assert_eq!(one.identity(), again.identity());
    let (file, memory) = udmabuf(3);
    let other = DmaBuf::duplicate(file.as_fd()).unwrap();
    assert_ne!(one.identity(), other.identity());
    assert_eq!(other.size(), Ok(3 * 4096));
    let error = DmaBuf::duplicate(memory.as_fd()).unwrap_err();
    assert!(
        matches!(error.cause(), FenceError::Mistaken { .. }),
        "{error}"
    );
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn readers_wait_for_writers_and_writers_for_both() {
    let vgem = Vgem::open();
    let buffer = vgem.buffer(64, 48);
    let bound = DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
    let pending = |access| !bound.fences(access).unwrap().is_signalled().unwrap();
    assert!(
        !pending(Access::Read) && !pending(Access::Write),
        "nothing is in it"
    );

    let write = vgem.attach(&buffer, true);
    assert!(pending(Access::Read) && pending(Access::Write));
    vgem.signal(write);
    assert!(!pending(Access::Read) && !pending(Access::Write));

    let read = vgem.attach(&buffer, false);
    assert!(!pending(Access::Read), "readers do not wait for readers");
    assert!(pending(Access::Write));
    vgem.signal(read);
    assert!(!pending(Access::Write));
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn access_begins_after_the_writer_within_a_bound() {
    let vgem = Vgem::open();
    let buffer = vgem.buffer(64, 48);
    let bound = DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
    bound.begin(Access::Read, SHORT).unwrap().end().unwrap();
    let read = vgem.attach(&buffer, false);
    bound.begin(Access::Read, SHORT).unwrap().end().unwrap();
    let late = bound.begin(Access::Write, SHORT).unwrap_err();
    assert_eq!(
        late.to_string(),
        format!("{bound}: not signalled within {SHORT:?}")
    );
    assert_eq!(ApiError::from(late).status, Status::TIMEOUT);
    vgem.signal(read);

    let write = vgem.attach(&buffer, true);
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let access = bound.begin(Access::Read, LONG).unwrap();
            assert!(
                written.load(Ordering::SeqCst),
                "began before the writer ended"
            );
            drop(access);
        });
        std::thread::sleep(SHORT);
        written.store(true, Ordering::SeqCst);
        vgem.signal(write);
    });
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_kernel_itself_blocks_access_by_the_processor() {
    let vgem = Vgem::open();
    let buffer = vgem.buffer(64, 48);
    let (other, _memory) = udmabuf(1);
    let other = DmaBuf::duplicate(other.as_fd()).unwrap();
    for through_fence in [false, true] {
        let write = vgem.attach(&buffer, true);
        let bound = DmaBuf::duplicate(buffer.file.as_fd()).unwrap();
        let blocked = match through_fence {
            false => &bound,
            true => {
                let fence = bound.fences(Access::Read).unwrap();
                other.add_fence(&fence, Access::Write).unwrap();
                &other
            }
        };
        let written = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut begin = uapi::DmaBufSync {
                    flags: u64::from(uapi::DMA_BUF_SYNC_READ),
                };
                // SAFETY: the struct holds no address.
                unsafe { uapi::DMA_BUF_IOCTL_SYNC.call(blocked.fd(), &mut begin) }.unwrap();
                assert!(written.load(Ordering::SeqCst), "the kernel did not wait");
            });
            std::thread::sleep(SHORT);
            written.store(true, Ordering::SeqCst);
            vgem.signal(write);
        });
        // What began has to end.
        let mut end = uapi::DmaBufSync {
            flags: u64::from(uapi::DMA_BUF_SYNC_READ | uapi::DMA_BUF_SYNC_END),
        };
        // SAFETY: as above.
        unsafe { uapi::DMA_BUF_IOCTL_SYNC.call(blocked.fd(), &mut end) }.unwrap();
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn fences_that_are_put_in_are_waited_for_by_others() {
    let vgem = Vgem::open();
    let source = vgem.buffer(64, 48);
    let target = vgem.buffer(64, 48);
    let (memory, _) = udmabuf(1);
    let from = DmaBuf::duplicate(source.file.as_fd()).unwrap();
    for to in [&target.file, &memory] {
        let to = DmaBuf::duplicate(to.as_fd()).unwrap();
        let write = vgem.attach(&source, true);
        let fence = from.fences(Access::Read).unwrap();
        // As a reader's: only writers wait.
        to.add_fence(&fence, Access::Read).unwrap();
        assert_eq!(to.fences(Access::Read).unwrap().is_signalled(), Ok(true));
        assert_eq!(to.fences(Access::Write).unwrap().is_signalled(), Ok(false));
        to.add_fence(&fence, Access::Write).unwrap();
        assert_eq!(to.fences(Access::Read).unwrap().is_signalled(), Ok(false));
        assert!(to.begin(Access::Read, SHORT).is_err());
        vgem.signal(write);
        to.begin(Access::Write, LONG).unwrap().end().unwrap();
        to.add_fence(
            &vmafx_fences::sync_file::SyncFile::signalled(),
            Access::Write,
        )
        .unwrap();
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn a_writer_that_fails_while_it_is_waited_for_is_told() {
    let (file, _memory) = udmabuf(1);
    let bound = DmaBuf::duplicate(file.as_fd()).unwrap();
    let producer = Producer::open();
    let (number, fence) = producer.sync_file("render");
    bound.add_fence(&fence, Access::Write).unwrap();
    let snapshot = bound.fences(Access::Read).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            producer.end(number, -5);
        });
        let failed = bound.begin(Access::Read, LONG).unwrap_err();
        let text = failed.to_string();
        assert!(text.starts_with(&format!("{bound}: ")), "{text}");
        assert!(text.contains("timeline render) ended with EIO"), "{text}");
    });
    assert!(snapshot.is_signalled().is_err());
    // The documented limit: what ended before it was asked for is gone, and how it ended.
    let after = bound.fences(Access::Read).unwrap();
    assert_eq!(
        after.is_signalled(),
        Ok(true),
        "the kernel keeps no fence that has ended"
    );
}
