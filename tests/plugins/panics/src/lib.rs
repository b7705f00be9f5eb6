//! A plugin in Rust that panics where it is told to: in the method that the environment variable
//! `VMAFX_TEST_FAIL_IN` names, each time it is called.
//!
//! What must stay true: without the variable every method answers, so that a failure is the
//! panic's and nothing else's.

use std::time::Duration;

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, DeviceFrameImpl, DeviceImpl, DeviceInfo, ExtractorImpl,
    FeatureDescription, FeatureRequest, FenceKind, FenceState, FrameFormat, FrameRef,
    ImportDescriptor, ImportImpl, Job, NativeFence, OpenRequest, PlanRequest, Status, Support,
    Ticket, Value, export_backend,
};

export_backend!(Panics::new(), version: "1.0.0", license: "Apache-2.0 OR MIT");

/// Panics if `method` is the one.
fn here(method: &str) {
    if std::env::var("VMAFX_TEST_FAIL_IN").is_ok_and(|name| name == method) {
        panic!("told to fail in {method}");
    }
}

struct Panics;

impl Panics {
    fn new() -> Self {
        here("new");
        Panics
    }
}

impl BackendImpl for Panics {
    fn info(&self) -> BackendInfo {
        here("info");
        let mut info = BackendInfo::new("fails", "Fails where it is told to", "1.0.0");
        info.features.push(FeatureDescription::new(
            "nothing",
            "Always 1",
            "tests/plugins",
        ));
        info
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        here("devices");
        Ok(vec![DeviceInfo::new("A device", "portable")])
    }

    fn open(&self, _: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        here("open");
        Ok(Box::new(Device))
    }

    fn quiesce(&self) {
        here("quiesce");
    }
}

struct Device;

impl DeviceImpl for Device {
    fn info(&self) -> DeviceInfo {
        here("describe");
        DeviceInfo::new("A device", "portable")
    }

    fn supports(&self, _: &FeatureRequest, _: &FrameFormat) -> Result<Support, ApiError> {
        here("supports");
        Ok(Support::host())
    }

    fn prepare(&self, _: &PlanRequest<'_>) -> Result<Box<dyn ExtractorImpl>, ApiError> {
        here("prepare");
        Ok(Box::new(Extractor))
    }

    fn import(&self) -> Option<&dyn ImportImpl> {
        here("import");
        Some(self)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        here("device_drop");
    }
}

struct Extractor;

impl ExtractorImpl for Extractor {
    fn columns(&self) -> usize {
        here("columns");
        1
    }

    fn history(&self) -> usize {
        here("history");
        0
    }

    fn in_flight(&self) -> usize {
        here("in_flight");
        1
    }

    fn admits(&self, _: &FrameRef<'_>) -> Result<(), ApiError> {
        here("admits");
        Ok(())
    }

    fn submit(&self, _: &Job<'_>) -> Result<Ticket, ApiError> {
        here("submit");
        Ok(Ticket(7))
    }

    fn collect(&self, _: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        here("collect");
        values.fill(Value::score(1.0));
        Ok(())
    }

    fn repeats(&self) -> u64 {
        here("repeats");
        2
    }
}

impl Drop for Extractor {
    fn drop(&mut self) {
        here("extractor_drop");
    }
}

impl ImportImpl for Device {
    fn import(&self, frame: &ImportDescriptor<'_>) -> Result<Box<dyn DeviceFrameImpl>, ApiError> {
        here("frame_import");
        Ok(Box::new(Frame(*frame.format())))
    }

    fn fence_poll(&self, _: &NativeFence) -> Result<FenceState, ApiError> {
        here("fence_poll");
        Ok(FenceState::Signalled)
    }

    fn fence_wait(&self, _: &NativeFence, _: Duration) -> Result<(), ApiError> {
        here("fence_wait");
        Ok(())
    }

    fn fence_export(&self, fence: &NativeFence, kind: FenceKind) -> Result<NativeFence, ApiError> {
        here("fence_export");
        match kind {
            FenceKind::NONE => Ok(*fence),
            kind => Err(ApiError::new(
                Status::NOT_SUPPORTED,
                "kind",
                kind.to_string(),
            )),
        }
    }

    fn fence_destroy(&self, _: NativeFence) {
        here("fence_destroy");
    }
}

#[derive(Debug)]
struct Frame(FrameFormat);

impl DeviceFrameImpl for Frame {
    fn format(&self) -> FrameFormat {
        here("frame_format");
        self.0
    }

    fn release_fence(&self, _: FenceKind) -> Result<NativeFence, ApiError> {
        here("release_fence");
        Ok(NativeFence::none())
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        here("frame_drop");
    }
}
