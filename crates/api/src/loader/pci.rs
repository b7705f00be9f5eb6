//! The PCI hint of a manifest: is there a device that the backend could use at all?
//!
//! Only a hint: it saves opening a library and its vendor's runtime on a machine without such a
//! device. Where the kernel tells nothing about PCI, the library is opened.

use std::path::Path;

use super::machine::Machine;
use super::record::{Reason, Stage, Verdict};

const IGNORE: &str = "VMAFX_BACKENDS_IGNORE_PCI";
const DEVICES: &str = "/sys/bus/pci/devices";

/// Why a backend for devices of `vendors` need not be opened, if so.
pub(super) fn verdict(machine: &Machine, vendors: &[u16]) -> Option<Verdict> {
    let ignored = machine.variable(IGNORE).is_some_and(|value| value == "1");
    if vendors.is_empty() || ignored {
        return None;
    }
    let present = std::fs::read_dir(machine.inside(Path::new(DEVICES))).ok()?;
    for device in present.flatten() {
        let text = std::fs::read_to_string(device.path().join("vendor"));
        let text = text.unwrap_or_default();
        let digits = text.trim().trim_start_matches("0x");
        if u16::from_str_radix(digits, 16).is_ok_and(|vendor| vendors.contains(&vendor)) {
            return None;
        }
    }
    let list: Vec<_> = vendors
        .iter()
        .map(|vendor| format!("{vendor:04x}"))
        .collect();
    let line = format!(
        "this machine has no PCI device of vendor {}",
        list.join(" or ")
    );
    let hint = format!("{IGNORE}=1 opens the library all the same");
    Some(Verdict::new(Stage::Filter, Reason::NoDevice, line).hint(hint))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_device_of_the_vendor_must_be_there() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        assert_eq!(verdict(&machine, &[0x10de]), None, "no sysfs tells nothing");

        let device = root.path().join("sys/bus/pci/devices/0000:03:00.0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("vendor"), "0x1002\n").unwrap();
        assert_eq!(verdict(&machine, &[]), None);
        assert_eq!(verdict(&machine, &[0x10de, 0x1002]), None);
        let told = verdict(&machine, &[0x10de, 0x8086]).unwrap();
        assert_eq!(told.reason, Reason::NoDevice);
        assert_eq!(
            told.line,
            "this machine has no PCI device of vendor 10de or 8086"
        );
        assert_eq!(
            verdict(&machine.with_variable(IGNORE, "1"), &[0x10de]),
            None
        );
    }
}
