//! The one device: which features it takes.

use vmafx_api::{
    ApiError, DeviceImpl, DeviceInfo, ExtractorImpl, FeatureRequest, FrameFormat, PlanRequest,
    Status, Support,
};
use vmafx_metrics::{Metric, Options, requested};

use crate::level::Level;
use crate::plan::{Plan, Task};

/// What the device says of itself at `level`.
pub(crate) fn describe(level: Level) -> DeviceInfo {
    let name = format!("{} processor", std::env::consts::ARCH);
    DeviceInfo::new(name, level.name())
}

/// The processor at one level.
#[derive(Debug)]
pub(crate) struct CpuDevice {
    level: Level,
}

impl CpuDevice {
    pub(crate) fn new(level: Level) -> Self {
        CpuDevice { level }
    }
}

impl DeviceImpl for CpuDevice {
    fn info(&self) -> DeviceInfo {
        describe(self.level)
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        admit(feature, format).map(|_| Support::host())
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        let tasks = plan.features.iter().map(|feature| {
            let (metric, options) = admit(feature, &plan.format)?;
            Task::new(metric, &options, &plan.format)
        });
        let tasks = tasks.collect::<Result<_, _>>()?;
        let kernels = self.level.kernels().ok_or_else(|| {
            let message = format!("this processor has no level `{}`", self.level);
            ApiError::new(Status::NOT_SUPPORTED, "level", message)
        })?;
        Ok(Box::new(Plan::new(plan.format, tasks, self.level, kernels)))
    }
}

/// The metric and options of a request that the device takes.
fn admit(
    feature: &FeatureRequest,
    format: &FrameFormat,
) -> Result<(&'static dyn Metric, Options), ApiError> {
    requested(feature, format, "CPU", |name| Task::METRICS.contains(&name))
}
