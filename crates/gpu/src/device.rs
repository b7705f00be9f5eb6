//! An open device: which features it takes, and the plans that it makes.

use std::sync::Arc;

use vmafx_api::{
    ApiError, DeviceImpl, DeviceInfo, ExtractorImpl, FeatureRequest, FenceKind, FrameFormat,
    ImportImpl, MemoryKind, MemoryKinds, PixelFormats, PlanRequest, Support,
};
use vmafx_metrics::requested;

use crate::card::Card;
use crate::frame::Importer;
use crate::plan::{Plan, Task};
use crate::twin;

/// Kinds of memory whose frames are read.
pub(crate) const MEMORY: MemoryKinds =
    MemoryKinds::of(&[MemoryKind::HOST, MemoryKind::DEVICE_POINTER]);

/// An open device.
#[derive(Debug)]
pub(crate) struct GpuDevice {
    card: Arc<Card>,
    info: DeviceInfo,
    /// Name of the backend, for messages.
    backend: String,
    importer: Importer,
}

impl GpuDevice {
    pub(crate) fn new(card: Card, info: DeviceInfo, backend: String, event: FenceKind) -> Self {
        let card = Arc::new(card);
        GpuDevice {
            importer: Importer::new(card.clone(), event),
            card,
            info,
            backend,
        }
    }

    fn task(&self, feature: &FeatureRequest, format: &FrameFormat) -> Result<Task, ApiError> {
        let has = |name: &str| twin::NAMES.contains(&name);
        let (metric, options) = requested(feature, format, &self.backend, has)?;
        Ok(Task {
            twin: twin::twin(metric, &options, format)?,
            columns: metric.columns(format, &options).len(),
        })
    }
}

impl DeviceImpl for GpuDevice {
    fn info(&self) -> DeviceInfo {
        self.info.clone()
    }

    fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        self.task(feature, format)?;
        let mut support = Support::host();
        support.memory_kinds = MEMORY;
        support.pixel_formats = PixelFormats::PLANAR;
        Ok(support)
    }

    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        let tasks = plan.features.iter();
        let tasks = tasks.map(|feature| self.task(feature, &plan.format));
        let tasks = tasks.collect::<Result<_, _>>()?;
        Ok(Box::new(Plan::new(&self.card, plan.format, tasks)?))
    }

    fn import(&self) -> Option<&dyn ImportImpl> {
        Some(&self.importer)
    }
}
