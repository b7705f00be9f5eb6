//! What is checked: a backend, and what is known of where it came from.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use vmafx_api::loader::{self, LoadRecord, LoadedBackend, one_line};
use vmafx_api::{Backend, BackendInfo, Device, DeviceInfo, FloatEnvironment, OpenRequest, Status};

use crate::cells::{CellsReport, DeviceMemory, Grid};
use crate::check::{Verdict, fail, skip};
use crate::process::ProcessState;

type Quiesce = Box<dyn Fn() + Send + Sync>;

/// A backend to check.
pub struct Candidate {
    pub(crate) backend: Backend,
    pub(crate) device: u32,
    /// What the loader said of the manifest, if one led to the backend.
    pub(crate) record: Option<LoadRecord>,
    /// The process before the plugin was there.
    pub(crate) before: ProcessState,
    pub(crate) quiesce: Option<Quiesce>,
    pub(crate) grid: Grid,
    pub(crate) memory: Option<Box<dyn DeviceMemory>>,
    /// What came of the cells, once they were compared.
    cells: Mutex<Option<CellsReport>>,
}

impl Candidate {
    /// A backend that is linked into this program. Its first device is checked.
    pub fn new(backend: Backend) -> Self {
        Candidate {
            backend,
            device: 0,
            record: None,
            before: ProcessState::current(),
            quiesce: None,
            grid: Grid::default(),
            memory: None,
            cells: Mutex::default(),
        }
    }

    /// A backend of a library, and the record of the manifest that led to it, if one did.
    pub fn loaded(loaded: &LoadedBackend, record: Option<LoadRecord>) -> Self {
        Candidate {
            record,
            ..Candidate::new(loaded.backend.clone()).with_quiesce(loader::quiesce)
        }
    }

    /// Says which device is checked.
    pub fn with_device(mut self, index: u32) -> Self {
        self.device = index;
        self
    }

    /// Says how the backend is told that the process ends.
    pub fn with_quiesce(mut self, quiesce: impl Fn() + Send + Sync + 'static) -> Self {
        self.quiesce = Some(Box::new(quiesce));
        self
    }

    /// Says what the process was like before the plugin was opened.
    pub fn with_process(mut self, before: ProcessState) -> Self {
        self.before = before;
        self
    }

    /// Says how much of the cells is compared.
    pub fn with_grid(mut self, grid: Grid) -> Self {
        self.grid = grid;
        self
    }

    /// Gives the device's memory, so that frames in it are compared, too.
    pub fn with_device_memory(mut self, memory: impl DeviceMemory + 'static) -> Self {
        self.memory = Some(Box::new(memory));
        self
    }

    /// What came of the cells, once they were compared.
    pub fn cells(&self) -> Option<CellsReport> {
        let cells = self.cells.lock();
        cells.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_cells(&self, report: CellsReport) {
        let cells = self.cells.lock();
        *cells.unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// Who it is.
    pub fn identity(&self) -> Identity {
        Identity::of(self.backend.info())
    }

    /// The devices present.
    pub(crate) fn devices(&self) -> Result<Vec<DeviceInfo>, crate::check::Ending> {
        let devices = self.backend.devices();
        let devices = match devices {
            Err(error) if error.status == Status::NOT_FOUND => {
                return skip(format!("no device of the backend is present: {error}"));
            }
            devices => devices?,
        };
        match devices.is_empty() {
            true => skip("no device of the backend is present"),
            false => Ok(devices),
        }
    }

    /// Opens the device that is checked.
    pub(crate) fn open(&self) -> Result<Device, crate::check::Ending> {
        let count = self.devices()?.len();
        match self.device as usize >= count {
            true => skip(format!(
                "device {} was asked for, the backend has {count}",
                self.device
            )),
            false => Ok(self.backend.open(&OpenRequest::new(self.device))?),
        }
    }

    /// Runs a check, and puts the floating-point environment of this thread back after one that
    /// ends with another: the next check must not suffer for it.
    pub(crate) fn watched(&self, check: fn(&Candidate) -> Verdict) -> Verdict {
        let before = FloatEnvironment::current();
        let verdict = check(self);
        if FloatEnvironment::current() == before {
            return verdict;
        }
        before.restore();
        match verdict {
            Err(ending) => Err(ending),
            Ok(()) => fail(
                "the floating-point environment of the calling thread changed; \
                 `float-environment` names the function",
            ),
        }
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("backend", &self.backend)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

/// Who a backend says it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Identity {
    /// Its identifier.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The library it came from; empty if it is part of the program.
    pub library: String,
}

impl Identity {
    /// What `info` says.
    pub fn of(info: &BackendInfo) -> Self {
        Identity {
            id: info.id.clone(),
            name: info.name.clone(),
            version: info.version.clone(),
            library: info.library.clone(),
        }
    }
}

/// One line.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = match self.library.is_empty() {
            true => "linked into this program".to_owned(),
            false => format!("from {}", self.library),
        };
        let text = format!(
            "backend `{}` {} ({}), {from}",
            self.id, self.version, self.name
        );
        f.write_str(&one_line(&text))
    }
}
