//! What the suites of the kernel tests take for granted, asked of the machine itself: a suite that
//! fails because a device is absent should not have to say so.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_devices_of_the_suites_are_there() {
    for device in [
        "/dev/dri/card0",
        "/dev/dri/card1",
        "/dev/udmabuf",
        "/dev/dma_heap/system",
        "/dev/vmafx_fence",
    ] {
        let kind = fs::metadata(device).map(|data| data.file_type());
        let kind = kind.unwrap_or_else(|error| panic!("{device}: {error}"));
        assert!(kind.is_char_device(), "{device}");
    }
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn the_first_card_is_vgem_and_the_second_virtio_gpu() {
    let link = |path: &str| {
        let path = Path::new("/sys/class/drm").join(path);
        let target = fs::read_link(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        target.to_string_lossy().into_owned()
    };
    let card = link("card0");
    assert!(card.ends_with("/vgem/drm/card0"), "{card}");
    let driver = link("card1/device/virtio0/driver");
    assert!(driver.ends_with("/virtio_gpu"), "{driver}");
}

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn no_dma_buf_is_there_at_the_beginning() {
    let list = fs::read_to_string(vmafx_guest::BUFFERS).unwrap();
    assert_eq!(vmafx_guest::buffers(&list), Some(0), "{list}");
}
