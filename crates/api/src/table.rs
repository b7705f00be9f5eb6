//! The host's side of a loaded library: a table of C functions becomes facade objects.
//!
//! What must stay true: an object is dropped once, after everything that was made of it; a
//! function that comes back with another floating-point environment is told and undone, because
//! scores depend on it.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use abi_stable::std_types::{RBox, ROption};
use abi_stable::type_level::downcasting::TD_Opaque;

use crate::author::not_in_host_memory;
use crate::error::ApiError;
use crate::facade::{self, Device_TO, Extractor_TO, Import_TO};
use crate::float_environment::watch;
use crate::kinds::{FenceKind, MemoryKind, Status};
use crate::sized::{self, fill};
use crate::wire;

/// The required functions of a table by name, with whether each is there.
fn required(table: &wire::Backend) -> [(&'static str, bool); 9] {
    [
        ("device_count", table.device_count.is_some()),
        ("device_info", table.device_info.is_some()),
        ("device_open", table.device_open.is_some()),
        ("device_close", table.device_close.is_some()),
        ("device_supports", table.device_supports.is_some()),
        ("device_prepare", table.device_prepare.is_some()),
        ("extractor_destroy", table.extractor_destroy.is_some()),
        ("extractor_submit", table.extractor_submit.is_some()),
        ("extractor_collect", table.extractor_collect.is_some()),
    ]
}

/// A backend's table as this host knows it.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    functions: &'static wire::Backend,
    import: Option<&'static wire::Import>,
}

// SAFETY: the tables are never changed; the backend's object may be used from any thread
// (contract of `wire::Backend`).
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// Reads the table at `table`. What it points to is kept for the life of the process.
    ///
    /// # Errors
    /// A size that is no revision's, a reserved field in use, a required function that is null.
    ///
    /// # Safety
    /// `table` is null or keeps the contract of [`wire::Backend`].
    pub(crate) unsafe fn read(table: *const wire::Backend) -> Result<Self, ApiError> {
        // SAFETY: null or readable (caller).
        let functions = unsafe { sized::read(table) }?;
        if functions.reserved != 0 {
            let message = format!("{:#x}, which no revision defines", functions.reserved);
            return Err(ApiError::new(Status::ABI, "reserved", message));
        }
        let missing = required(&functions);
        let missing: Vec<_> = missing
            .iter()
            .filter(|(_, there)| !there)
            .map(|(name, _)| *name)
            .collect();
        if !missing.is_empty() {
            let message = format!("required functions are null: {}", missing.join(", "));
            return Err(ApiError::new(Status::ABI, "table", message));
        }
        // The draft number comes second, so it can be read of any draft.
        // SAFETY: null or readable for its first two fields at least (caller).
        let draft = unsafe { functions.import.as_ref() }.map(|import| import.draft);
        let import = match draft {
            // SAFETY: of this draft, so it is as this side knows it (caller).
            Some(wire::DRAFT) => Some(unsafe { sized::read(functions.import) }?),
            _ => None,
        };
        let all = import.filter(|import| {
            import.frame_import.is_some()
                && import.frame_release.is_some()
                && import.frame_release_fence.is_some()
                && import.fence_poll.is_some()
                && import.fence_wait.is_some()
                && import.fence_export.is_some()
                && import.fence_destroy.is_some()
        });
        Ok(Table {
            functions: Box::leak(Box::new(functions)),
            import: all.map(|import| &*Box::leak(Box::new(import))),
        })
    }
}

/// Calls a function of the library.
fn call(error: &mut wire::Error, function: impl FnOnce(*mut wire::Error) -> Status) -> Status {
    let (status, changed) = watch(|| function(&raw mut *error));
    if changed {
        fill(&mut error.subject, "floating-point environment");
        fill(&mut error.message, "the library changed it during a call");
        return Status::INTERNAL;
    }
    status
}

/// The answer to a call of a function that the table does not have.
fn not_offered(error: &mut wire::Error, function: &str) -> Status {
    fill(&mut error.subject, function);
    fill(
        &mut error.message,
        "the library does not offer this function",
    );
    Status::NOT_SUPPORTED
}

/// The answer of a library that says OK and hands out nothing.
fn nothing(error: &mut wire::Error, function: &str) -> Status {
    fill(&mut error.subject, function);
    fill(
        &mut error.message,
        "the library answered OK and handed out a null object",
    );
    Status::INTERNAL
}

impl facade::GpuBackend for Table {
    fn info(&self) -> *const wire::BackendInfo {
        self.functions.info
    }

    fn device_count(&self, count: &mut u32, error: &mut wire::Error) -> Status {
        match self.functions.device_count {
            // SAFETY: the object is the table's own, the others are references of this side.
            Some(function) => call(error, |error| unsafe {
                function(self.functions.object, count, error)
            }),
            None => not_offered(error, "device_count"),
        }
    }

    fn device_info(
        &self,
        index: u32,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status {
        match self.functions.device_info {
            // SAFETY: the object is the table's own, the others are references of this side.
            Some(function) => call(error, |error| unsafe {
                function(self.functions.object, index, info, error)
            }),
            None => not_offered(error, "device_info"),
        }
    }

    unsafe fn device_open(
        &self,
        descriptor: &wire::DeviceDescriptor,
        device: &mut ROption<facade::DeviceObject>,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status {
        let Some(function) = self.functions.device_open else {
            return not_offered(error, "device_open");
        };
        let mut object = null_mut();
        // SAFETY: the object is the table's own, the descriptor the caller's promise, the others
        // are references of this side.
        let status = call(error, |error| unsafe {
            function(
                self.functions.object,
                descriptor,
                &raw mut object,
                info,
                error,
            )
        });
        if status == Status::OK {
            if object.is_null() {
                return nothing(error, "device_open");
            }
            let device_object = TableDevice(Arc::new(OpenDevice {
                table: *self,
                object,
            }));
            *device = ROption::RSome(Device_TO::from_ptr(RBox::new(device_object), TD_Opaque));
        }
        status
    }

    unsafe fn query(&self, name: wire::Text, revision: u32) -> *const c_void {
        match self.functions.query {
            Some(function) => {
                // SAFETY: the object is the table's own, the text the caller's promise.
                let (found, _) =
                    watch(|| unsafe { function(self.functions.object, name, revision) });
                found
            }
            None => null(),
        }
    }
}

/// A device that the library opened; closed when the last user goes.
struct OpenDevice {
    table: Table,
    object: *mut wire::DeviceObject,
}

// SAFETY: a device may be used from any thread (contract of `wire::Backend`).
unsafe impl Send for OpenDevice {}
// SAFETY: from several at once (same contract).
unsafe impl Sync for OpenDevice {}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        if let Some(close) = self.table.functions.device_close {
            // SAFETY: opened by this table and closed once; extractors and frames of the device
            // hold an Arc of this, so there are none left.
            watch(|| unsafe { close(self.object) });
        }
    }
}

#[derive(Clone)]
struct TableDevice(Arc<OpenDevice>);

impl facade::Device for TableDevice {
    unsafe fn supports(
        &self,
        feature: &wire::FeatureRequest,
        format: &wire::Format,
        support: &mut wire::Support,
        error: &mut wire::Error,
    ) -> Status {
        match self.0.table.functions.device_supports {
            // SAFETY: the device is open, the request the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.0.object, feature, format, support, error)
            }),
            None => not_offered(error, "device_supports"),
        }
    }

    unsafe fn prepare(
        &self,
        plan: &wire::PlanRequest,
        extractor: &mut ROption<facade::ExtractorObject>,
        info: &mut wire::ExtractorInfo,
        error: &mut wire::Error,
    ) -> Status {
        let Some(function) = self.0.table.functions.device_prepare else {
            return not_offered(error, "device_prepare");
        };
        let mut object = null_mut();
        // SAFETY: the device is open, the plan the caller's promise.
        let status = call(error, |error| unsafe {
            function(self.0.object, plan, &raw mut object, info, error)
        });
        if status == Status::OK {
            if object.is_null() {
                return nothing(error, "device_prepare");
            }
            let made = TableExtractor {
                object,
                device: self.0.clone(),
            };
            *extractor = ROption::RSome(Extractor_TO::from_ptr(RBox::new(made), TD_Opaque));
        }
        status
    }

    fn import(
        &self,
        import: &mut ROption<facade::ImportObject>,
        error: &mut wire::Error,
    ) -> Status {
        let Some(functions) = self.0.table.import else {
            fill(&mut error.subject, "device");
            fill(
                &mut error.message,
                "the device takes in no frames of others",
            );
            return Status::NOT_SUPPORTED;
        };
        let object = TableImport {
            functions,
            device: self.0.clone(),
        };
        *import = ROption::RSome(Import_TO::from_ptr(RBox::new(object), TD_Opaque));
        Status::OK
    }
}

struct TableExtractor {
    object: *mut wire::ExtractorObject,
    /// Closed after the extractor is destroyed.
    device: Arc<OpenDevice>,
}

// SAFETY: an extractor may be used from any thread (contract of `wire::Backend`).
unsafe impl Send for TableExtractor {}
// SAFETY: from several at once (contract of `extractor_submit`).
unsafe impl Sync for TableExtractor {}

impl Drop for TableExtractor {
    fn drop(&mut self) {
        if let Some(destroy) = self.device.table.functions.extractor_destroy {
            // SAFETY: made by this table and destroyed once, before its device is closed.
            watch(|| unsafe { destroy(self.object) });
        }
    }
}

impl facade::Extractor for TableExtractor {
    unsafe fn admits(&self, frame: &wire::Frame, error: &mut wire::Error) -> Status {
        match self.device.table.functions.extractor_admits {
            // SAFETY: the extractor is alive, the frame the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.object, frame, error)
            }),
            None if frame.memory == MemoryKind::HOST => Status::OK,
            None => {
                let refusal = not_in_host_memory(frame.memory);
                fill(&mut error.subject, &refusal.subject);
                fill(&mut error.message, &refusal.message);
                refusal.status
            }
        }
    }

    unsafe fn submit(&self, job: &wire::Job, ticket: &mut u64, error: &mut wire::Error) -> Status {
        match self.device.table.functions.extractor_submit {
            // SAFETY: the extractor is alive, the job the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.object, job, ticket, error)
            }),
            None => not_offered(error, "extractor_submit"),
        }
    }

    unsafe fn collect(
        &self,
        ticket: u64,
        values: *mut u64,
        count: usize,
        error: &mut wire::Error,
    ) -> Status {
        match self.device.table.functions.extractor_collect {
            // SAFETY: the extractor is alive, the room the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.object, ticket, values, count, error)
            }),
            None => not_offered(error, "extractor_collect"),
        }
    }

    fn repeats(&self) -> u64 {
        match self.device.table.functions.extractor_repeats {
            // SAFETY: the extractor is alive.
            Some(function) => watch(|| unsafe { function(self.object) }).0,
            None => 0,
        }
    }
}

struct TableImport {
    functions: &'static wire::Import,
    device: Arc<OpenDevice>,
}

impl facade::Import for TableImport {
    unsafe fn frame_import(
        &self,
        descriptor: &wire::ImportDescriptor,
        frame: &mut *mut wire::DeviceFrameObject,
        format: &mut wire::Format,
        error: &mut wire::Error,
    ) -> Status {
        let Some(function) = self.functions.frame_import else {
            return not_offered(error, "frame_import");
        };
        // SAFETY: the device is open, the descriptor the caller's promise.
        let status = call(error, |error| unsafe {
            function(self.device.object, descriptor, frame, format, error)
        });
        match status == Status::OK && frame.is_null() {
            true => nothing(error, "frame_import"),
            false => status,
        }
    }

    unsafe fn frame_release(&self, frame: *mut wire::DeviceFrameObject) {
        if let Some(function) = self.functions.frame_release {
            // SAFETY: a frame of this device, released once (caller).
            watch(|| unsafe { function(frame) });
        }
    }

    unsafe fn frame_release_fence(
        &self,
        frame: *mut wire::DeviceFrameObject,
        kind: FenceKind,
        fence: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        match self.functions.frame_release_fence {
            // SAFETY: a live frame of this device (caller).
            Some(function) => call(error, |error| unsafe {
                function(frame, kind, fence, error)
            }),
            None => not_offered(error, "frame_release_fence"),
        }
    }

    unsafe fn fence_poll(&self, fence: &wire::Fence, error: &mut wire::Error) -> Status {
        match self.functions.fence_poll {
            // SAFETY: the device is open, the fence the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.device.object, fence, error)
            }),
            None => not_offered(error, "fence_poll"),
        }
    }

    unsafe fn fence_wait(
        &self,
        fence: &wire::Fence,
        timeout_ns: u64,
        error: &mut wire::Error,
    ) -> Status {
        match self.functions.fence_wait {
            // SAFETY: the device is open, the fence the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.device.object, fence, timeout_ns, error)
            }),
            None => not_offered(error, "fence_wait"),
        }
    }

    unsafe fn fence_export(
        &self,
        fence: &wire::Fence,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        match self.functions.fence_export {
            // SAFETY: the device is open, the fence the caller's promise.
            Some(function) => call(error, |error| unsafe {
                function(self.device.object, fence, kind, exported, error)
            }),
            None => not_offered(error, "fence_export"),
        }
    }

    unsafe fn fence_destroy(&self, fence: &mut wire::Fence) {
        if let Some(function) = self.functions.fence_destroy {
            // SAFETY: a fence of this device, destroyed once (caller).
            watch(|| unsafe { function(self.device.object, fence) });
        }
    }
}
