//! The CPU backend: every metric over frames in host memory.
//!
//! A plan holds its settings and a pool of buffers; frames may be submitted from any number of
//! threads at once, each takes a set of buffers and gives it back, and after the first frames
//! nothing is allocated. The pixel work is done in [`submit`](vmafx_api::ExtractorImpl::submit), on
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

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, BuiltinBackend, DeviceImpl, DeviceInfo, OpenRequest,
    OptionValue, Status,
};

pub use level::{LEVEL_VARIABLE, Level, LevelError};

use device::CpuDevice;

/// Identifier of this backend.
pub const ID: &str = "cpu";

/// Option of the device: a whole number whose bits switch off instruction sets, as those of
/// libvmaf's `--cpumask` (see [`Level::strongest`]).
pub const MASK_OPTION: &str = "cpumask";

inventory::submit!(BuiltinBackend(|| Box::new(CpuBackend::new())));

#[cfg(feature = "plugin")]
vmafx_api::export_backend!(
    CpuBackend::new(),
    version: env!("CARGO_PKG_VERSION"),
    license: env!("CARGO_PKG_LICENSE"),
);

/// The processor of the machine as a backend with one device.
#[derive(Debug)]
pub struct CpuBackend {
    limit: Limit,
}

#[derive(Debug)]
enum Limit {
    /// What the environment variable says; nothing if it is not set.
    Variable(Result<Option<Level>, LevelError>),
    /// This level and no other.
    Exactly(Level),
}

impl CpuBackend {
    /// A backend that leaves out the instruction sets that the environment variable
    /// [`LEVEL_VARIABLE`] excludes.
    pub fn new() -> Self {
        let limit = std::env::var_os(LEVEL_VARIABLE);
        let limit = limit.filter(|text| !text.is_empty());
        let limit = limit.map(|text| text.to_string_lossy().parse()).transpose();
        CpuBackend {
            limit: Limit::Variable(limit),
        }
    }

    /// A backend of exactly this level.
    ///
    /// # Errors
    /// A level that this processor does not have.
    pub fn with_level(level: Level) -> Result<Self, LevelError> {
        match level.is_available() {
            true => Ok(CpuBackend {
                limit: Limit::Exactly(level),
            }),
            false => Err(LevelError::NotAvailable { level }),
        }
    }

    /// The level without the instruction sets of `mask`.
    fn level(&self, mask: u32) -> Result<Level, ApiError> {
        match &self.limit {
            Limit::Exactly(level) => Ok(*level),
            Limit::Variable(Ok(limit)) => Ok(Level::strongest(mask, *limit)),
            Limit::Variable(Err(error)) => {
                let message = error.to_string();
                Err(ApiError::new(Status::INVALID, LEVEL_VARIABLE, message))
            }
        }
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        CpuBackend::new()
    }
}

impl BackendImpl for CpuBackend {
    fn info(&self) -> BackendInfo {
        BackendInfo::new(ID, "CPU", env!("CARGO_PKG_VERSION"))
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        Ok(vec![device::describe(self.level(0)?)])
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        if request.index != 0 {
            let message = format!(
                "the CPU backend has one device, number 0, not {}",
                request.index
            );
            return Err(ApiError::new(Status::NOT_FOUND, "index", message));
        }
        let mut mask = 0;
        for option in &request.options {
            match (&*option.name, &option.value) {
                // The bits of the mask, whatever the sign.
                (MASK_OPTION, OptionValue::Int(bits)) => mask = *bits as u32,
                (MASK_OPTION, other) => {
                    let message = format!("{} is not a whole number", other.kind());
                    return Err(ApiError::new(Status::INVALID, MASK_OPTION, message));
                }
                (name, _) => {
                    let message = format!("the CPU's only option is {MASK_OPTION}");
                    return Err(ApiError::new(Status::INVALID, name, message));
                }
            }
        }
        Ok(Box::new(CpuDevice::new(self.level(mask)?)))
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod exactness;
#[cfg(test)]
mod tests;
