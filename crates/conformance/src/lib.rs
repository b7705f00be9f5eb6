//! The suite that every backend passes, whoever wrote it and in whatever language.
//!
//! A [`Suite`] is a list of named [`Check`]s. It runs over a [`Candidate`], which is a
//! [`Backend`](vmafx_api::Backend) handle: linked into this program or loaded from a library,
//! the path is the same. The answer is a [`Report`] for people and, through serde, for programs.
//!
//! ```
//! use vmafx_api::Backend;
//! use vmafx_backend_cpu::CpuBackend;
//! use vmafx_conformance::{Candidate, Suite};
//!
//! let candidate = Candidate::new(Backend::new(CpuBackend::new())?);
//! let suite = Suite::only(["devices-listed-alike", "unknown-feature-refused"])?;
//! let report = suite.run(&candidate);
//! assert!(report.passed(), "{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The program `vmafx-plugin-check` runs the same suite over a manifest or a library, in child
//! processes, so that a plugin that crashes or hangs is named with the check that was running.
//!
//! What a host's handles make impossible is not checked, because no host of ours does it: rows
//! that are not packed, a room for values of another size than the plan's, a device that is
//! closed before its extractors. What the loader refuses (tables, identifiers, ranges of
//! options) never gets here. Frames in a device's memory are compared where a caller can place
//! some there ([`DeviceMemory`]).
//!
//! One check compares the [cells](CELLS): each feature of this program that the device offers,
//! with each set of options that a kernel sees, against the CPU backend. How much it compared is
//! in [`Report::cells`].
//!
//! What must stay true: every check can fail, and a test plants the defect that it finds; a
//! check depends on no other and leaves nothing behind; a reason names the thing, the value, the
//! limit and what to do.

#![forbid(unsafe_code)]

mod candidate;
mod cells;
mod check;
mod checks;
mod clip;
mod feature;
mod process;
mod report;
mod scoring;

pub use candidate::{Candidate, Identity};
pub use cells::{
    CELLS, Cell, CellResult, CellState, CellsReport, DeviceMemory, Grid, MemoryLayout, OptionTexts,
};
pub use check::{Check, ConformanceError, Severity, Suite};
pub use process::ProcessState;
pub use report::{CheckResult, Counts, Outcome, Report};
