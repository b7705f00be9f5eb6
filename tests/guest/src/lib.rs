//! The machine of the kernel tests: a stock kernel without a disk, whose first program is
//! `vmafx-guest-init`.
//!
//! `cargo xtask kernel-tests` packs everything that runs there into one archive, with a [`Plan`]
//! of what to load and to run at [`PLAN`]. The first program follows the plan and says how it goes
//! in lines of [`Said`], between the lines that the programs themselves print. Both sides of the
//! conversation are here, so that they cannot drift apart.
//!
//! `module/` holds the source of the kernel module that makes fences which fail; `machine/` asks
//! the machine whether it has what the suites take for granted.
//!
//! What must stay true: every program that began has an end with its status, or the machine has
//! not come to its last line.

#![forbid(unsafe_code)]

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where the plan is in the archive.
pub const PLAN: &str = "/plan.json";

/// Where the kernel tells of every dma-buf.
pub const BUFFERS: &str = "/sys/kernel/debug/dma_buf/bufinfo";

/// The exit status of the emulator after [`Ending::Passed`].
pub const PASSED: i32 = 33;

/// The exit status of the emulator after [`Ending::Failed`].
pub const FAILED: i32 = 35;

/// What to do, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Modules by their paths, each after those that it needs.
    pub modules: Vec<String>,
    /// Programs, run one after the other.
    pub programs: Vec<Run>,
}

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Name, for people.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
}

/// How the first program ends the machine: by a byte for the emulator's exit device, which makes
/// an exit status of it that nothing else has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything ran and succeeded.
    Passed,
    /// Something failed.
    Failed,
}

impl Ending {
    /// Port of the exit device.
    pub const PORT: u64 = 0xf4;

    /// The byte; a byte `v` makes the exit status `2 v + 1`.
    pub fn byte(self) -> u8 {
        let status = match self {
            Self::Passed => PASSED,
            Self::Failed => FAILED,
        };
        (status / 2) as u8
    }
}

/// A line of the first program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The machine is up; the kernel's release.
    Kernel(String),
    /// What the named program prints comes next.
    Begin(String),
    /// The named program ended, with this status.
    End(String, String),
    /// Something is wrong with the machine, or with what a program left behind.
    Fault(String),
    /// All is over; 0 if nothing failed.
    Over(i32),
}

impl Said {
    const MARK: &'static str = "KERNEL-TESTS ";

    /// The text before the mark and what was said, of a line that has the mark. A program that
    /// dies within a line leaves its beginning there.
    ///
    /// # Errors
    /// The text before the mark, or all of it, where there is no mark or nothing known after it.
    pub fn parse(line: &str) -> Result<(&str, Self), &str> {
        let at = line.find(Self::MARK).ok_or(line)?;
        let (before, said) = line.split_at(at);
        let said = said.trim_start_matches(Self::MARK);
        let (word, rest) = said.split_once(' ').ok_or(line)?;
        let said = match word {
            "kernel" => Self::Kernel(rest.to_owned()),
            "begin" => Self::Begin(rest.to_owned()),
            "end" => {
                let (name, status) = rest.split_once(": ").ok_or(line)?;
                Self::End(name.to_owned(), status.to_owned())
            }
            "fault" => Self::Fault(rest.to_owned()),
            "over" => {
                let code = rest.strip_prefix("rc=").ok_or(line)?;
                Self::Over(code.parse().map_err(|_| line)?)
            }
            _ => return Err(line),
        };
        Ok((before, said))
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::MARK)?;
        match self {
            Self::Kernel(release) => write!(f, "kernel {release}"),
            Self::Begin(name) => write!(f, "begin {name}"),
            Self::End(name, status) => write!(f, "end {name}: {status}"),
            Self::Fault(text) => write!(f, "fault {text}"),
            Self::Over(code) => write!(f, "over rc={code}"),
        }
    }
}

/// The number of dma-bufs in the kernel's list of them, from its last line.
pub fn buffers(list: &str) -> Option<u64> {
    let total = list
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("Total "))?;
    total.split(' ').next()?.parse().ok()
}

/// What the kernel holds against itself in `/proc/sys/kernel/tainted`: it died and went on, found
/// a bad page, or warned. Modules of one's own taint, too, and are no fault.
pub fn complaints(tainted: u64) -> Vec<&'static str> {
    let bits = [
        (5, "found a bad page"),
        (7, "oopsed"),
        (9, "warned"),
        (14, "locked up"),
    ];
    let held = bits.iter().filter(|(bit, _)| tainted >> bit & 1 == 1);
    held.map(|(_, text)| *text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for said in [
            Said::Kernel("6.12.95+deb12-amd64".to_owned()),
            Said::Begin("fences".to_owned()),
            Said::End("fences".to_owned(), "signal: 11 (SIGSEGV)".to_owned()),
            Said::Fault("fences left 2 dma-bufs: a, b".to_owned()),
            Said::Over(0),
            Said::Over(1),
        ] {
            let line = said.to_string();
            assert_eq!(Said::parse(&line), Ok(("", said.clone())));
            let line = format!("test merge ... {line}");
            assert_eq!(Said::parse(&line), Ok(("test merge ... ", said)));
        }
        for line in [
            "",
            "test merge ... ok",
            "KERNEL-TESTS ",
            "KERNEL-TESTS over",
            "KERNEL-TESTS over rc=",
            "KERNEL-TESTS over rc=x",
            "KERNEL-TESTS over 0",
            "KERNEL-TESTS end fences",
            "KERNEL-TESTS began fences",
        ] {
            assert_eq!(Said::parse(line), Err(line));
        }
    }

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let plan = Plan {
            modules: vec!["/modules/vgem.ko.xz".to_owned()],
            programs: vec![Run {
                name: "fences".to_owned(),
                path: "/fences/kernel".to_owned(),
                arguments: vec!["two words\nand a line".to_owned()],
                environment: vec![("A".to_owned(), "b=c".to_owned())],
            }],
        };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn the_exit_device_makes_the_two_statuses() {
        let status = |ending: Ending| i32::from(ending.byte()) * 2 + 1;
        assert_eq!(status(Ending::Passed), PASSED);
        assert_eq!(status(Ending::Failed), FAILED);
    }

    #[test]
    fn dma_bufs_are_counted_by_the_kernels_own_sum() {
        let list = "\nDma-buf Objects:\nsize    flags\n00008192  00080002\n\nTotal 1 objects, 8192 bytes\n";
        assert_eq!(buffers(list), Some(1));
        assert_eq!(buffers("Total 12 objects, 0 bytes"), Some(12));
        assert_eq!(buffers("Dma-buf Objects:\n"), None);
    }

    #[test]
    fn a_module_of_ones_own_is_no_complaint_and_a_warning_is() {
        assert_eq!(complaints(1 << 12 | 1 << 13), [""; 0]);
        assert_eq!(complaints(1 << 12 | 1 << 9), ["warned"]);
        assert_eq!(complaints(1 << 5 | 1 << 7), ["found a bad page", "oopsed"]);
    }
}
