//! A machine whose files are in a folder, for tests of what is installed.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use vmafx_api::loader::Machine;

/// The machine whose root is `room`.
///
/// # Errors
/// No such folder.
pub fn machine(room: &Path) -> io::Result<Machine> {
    let mut machine = Machine::at(room);
    machine.sysconfdir = "/etc".into();
    machine.datadir = "/usr/share".into();
    machine.libdir = "/usr/lib".into();
    machine.trusted_owner = std::fs::metadata(room)?.uid();
    Ok(machine)
}
