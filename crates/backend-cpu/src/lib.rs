//! The CPU backend: every metric over frames in host memory.
//!
//! A plan holds its settings and a pool of buffers; frames may be submitted from any number of
//! threads at once, each takes a set of buffers and gives it back, and after the first frames
//! nothing is allocated. The pixel work is done in [`submit`](vmafx_api::Extractor::submit), on
//! the caller's thread, by the functions of the [`Level`] in force.
//!
//! What must stay true: no metric is defined here (limits, constants and the way from sums to
//! scores are in `vmafx-metrics`), and every level gives the bits of the scalar reference.

#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "vectors of memory are read and written through pointers"
)]
mod adm;
mod device;
mod level;
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "vectors of memory are read and written through pointers"
)]
mod motion;
mod plan;
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "vectors of memory are read and written through pointers"
)]
mod psnr;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "instructions that not every processor has")]
mod vector;
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "vectors of memory are read and written through pointers"
)]
mod vif;

use std::sync::Arc;

use vmafx_api::{ApiError, BackendInfo, BuiltinBackend, Device, DeviceInfo, GpuBackend, Status};

pub use level::{LEVEL_VARIABLE, Level, LevelError};

use device::CpuDevice;

/// Identifier of this backend.
pub const ID: &str = "cpu";

inventory::submit!(BuiltinBackend(builtin));

fn builtin() -> Arc<dyn GpuBackend> {
    Arc::new(CpuBackend::new(0))
}

/// The processor of the machine as a backend with one device.
#[derive(Debug)]
pub struct CpuBackend {
    info: BackendInfo,
    level: Result<Level, LevelError>,
}

impl CpuBackend {
    /// A backend that leaves out the instruction sets of `mask`, whose bits are those of
    /// libvmaf's `--cpumask` (see [`Level::strongest`]), and those that the environment variable
    /// [`LEVEL_VARIABLE`] excludes.
    pub fn new(mask: u32) -> Self {
        let limit = std::env::var_os(LEVEL_VARIABLE);
        let limit = limit.filter(|text| !text.is_empty());
        let limit = limit.map(|text| text.to_string_lossy().parse()).transpose();
        CpuBackend {
            info: BackendInfo::new(ID, "CPU", env!("CARGO_PKG_VERSION")),
            level: limit.map(|limit| Level::strongest(mask, limit)),
        }
    }

    /// A backend of exactly this level.
    ///
    /// # Errors
    /// A level that this processor does not have.
    pub fn with_level(level: Level) -> Result<Self, LevelError> {
        if !level.is_available() {
            return Err(LevelError::NotAvailable { level });
        }
        Ok(CpuBackend {
            level: Ok(level),
            ..CpuBackend::new(0)
        })
    }

    fn level(&self) -> Result<Level, ApiError> {
        self.level
            .clone()
            .map_err(|error| ApiError::new(Status::INVALID, LEVEL_VARIABLE, error.to_string()))
    }
}

impl GpuBackend for CpuBackend {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        Ok(vec![device::describe(self.level()?)])
    }

    fn open(&self, index: u32) -> Result<Arc<dyn Device>, ApiError> {
        if index != 0 {
            let message = format!("the CPU backend has one device, number 0, not {index}");
            return Err(ApiError::new(Status::NOT_FOUND, "index", message));
        }
        Ok(Arc::new(CpuDevice::new(self.level()?)))
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod exactness;
#[cfg(test)]
mod tests;
