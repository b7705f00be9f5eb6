//! What takes the kernel seconds. Left out unless it is asked for by name.

use vmafx_fences::sync_file::SyncFile;

use crate::rig::{LONG, Vgem};

#[test]
#[ignore = "run by cargo xtask kernel-tests"]
fn vgem_gives_up_after_ten_seconds_and_calls_it_success() {
    let vgem = Vgem::open();
    let (number, file) = vgem.fence();
    let fence = SyncFile::from_fd(file).unwrap();
    assert_eq!(fence.wait_for(LONG), Ok(()));
    assert_eq!(vgem.try_signal(number), Err(libc::ETIMEDOUT));
}
