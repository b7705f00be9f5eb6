//! From the traits that Rust authors write to the facade: conversion of arguments, and the guard
//! against panics *inside* each method, before any shim could see one.
//!
//! What must stay true: a method of an author is called by [`run`] and nowhere else.

use std::any::Any;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abi_stable::std_types::{RBox, ROption};
use abi_stable::type_level::downcasting::TD_Opaque;

use crate::author::{
    BackendImpl, DeviceFrameImpl, DeviceImpl, ExtractorImpl, FenceImpl, ImportImpl,
};
use crate::describe::{self, Described};
use crate::error::ApiError;
use crate::facade::{self, Device_TO, Extractor_TO, Import_TO};
use crate::import::{FenceState, ImportDescriptor, NativeFence};
use crate::info::{DeviceInfo, OpenRequest, PlanRequest, Ticket, Value};
use crate::job::{FrameRef, Job};
use crate::kinds::{FenceKind, Status};
use crate::sized::{fill, slice};
use crate::wire;

/// Runs an author's method; a failure or panic goes into `error`, and its class comes back.
pub(crate) fn run(
    error: &mut wire::Error,
    method: impl FnOnce() -> Result<Status, ApiError>,
) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(method)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(payload) => ApiError::new(Status::PANIC, "panic", panic_text(payload)),
    };
    error.code = failure.code;
    fill(&mut error.subject, &failure.subject);
    fill(&mut error.message, &failure.message);
    match failure.status.0 < 0 {
        true => failure.status,
        // An error is never an answer, whatever its author made of it.
        false => Status::INTERNAL,
    }
}

/// Runs an author's method that gives something; the class of a failure comes back in its stead.
fn give<T>(
    error: &mut wire::Error,
    method: impl FnOnce() -> Result<T, ApiError>,
) -> Result<T, Status> {
    let mut given = None;
    let status = run(error, || {
        given = Some(method()?);
        Ok(Status::OK)
    });
    given.ok_or(status)
}

/// As [`give`], of a method that cannot fail but by a panic.
fn ask<T>(method: impl FnOnce() -> T) -> Result<T, ApiError> {
    let mut error = wire::Error::empty();
    let given = give(&mut error, || Ok(method()));
    given.map_err(|status| ApiError::from_wire(status, &error))
}

/// Runs what has no answer; a panic ends there.
pub(crate) fn run_quietly(method: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(method)) {
        panic_text(payload);
    }
}

/// What a panic said. The payload itself is never dropped: it may be of any type, and one whose
/// destructor panics would end the process.
pub fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message").to_owned();
    std::mem::forget(payload);
    text
}

/// An author's object, whose destructor runs under the guard, too.
pub(crate) struct Guarded<T: ?Sized>(ManuallyDrop<Box<T>>);

impl<T: ?Sized> Guarded<T> {
    pub(crate) fn new(author: Box<T>) -> Self {
        Guarded(ManuallyDrop::new(author))
    }
}

impl<T: ?Sized> std::ops::Deref for Guarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: dropped here and nowhere else, and not used afterwards.
        run_quietly(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// A backend behind its guard.
pub(crate) struct BackendGuard {
    author: Guarded<dyn BackendImpl>,
    described: Described,
    /// The devices as they were when they were last counted.
    devices: Mutex<Option<Vec<DeviceInfo>>>,
}

impl BackendGuard {
    /// Asks the backend what it is.
    ///
    /// # Errors
    /// A panic.
    pub(crate) fn new(author: Box<dyn BackendImpl>) -> Result<Self, ApiError> {
        let author = Guarded::new(author);
        let info = ask(|| author.info())?;
        Ok(BackendGuard {
            author,
            described: describe::leaked(info),
            devices: Mutex::new(None),
        })
    }

    pub(crate) fn quiesce(&self) {
        run_quietly(|| self.author.quiesce());
    }

    /// Opens a device.
    ///
    /// # Safety
    /// The pointers of `descriptor` are valid for the call, its external objects as the backend
    /// expects them.
    pub(crate) unsafe fn open(
        &self,
        descriptor: &wire::DeviceDescriptor,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Result<DeviceGuard, Status> {
        give(error, || {
            describe::unused("descriptor", descriptor.flags | descriptor.reserved)?;
            let mut request = OpenRequest::new(descriptor.index);
            // SAFETY: the caller's promise.
            request.options =
                unsafe { describe::settings(descriptor.options, descriptor.option_count) }?;
            request.external = descriptor.external;
            let device = Guarded::new(self.author.open(&request)?);
            *info = describe::wire_device(&device.info());
            Ok(DeviceGuard {
                author: Arc::new(device),
            })
        })
    }
}

impl facade::GpuBackend for BackendGuard {
    fn info(&self) -> *const wire::BackendInfo {
        self.described.root()
    }

    fn device_count(&self, count: &mut u32, error: &mut wire::Error) -> Status {
        run(error, || {
            let devices = self.author.devices()?;
            *count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
            *self.devices.lock().unwrap_or_else(PoisonError::into_inner) = Some(devices);
            Ok(Status::OK)
        })
    }

    fn device_info(
        &self,
        index: u32,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
            let devices = match &mut *devices {
                Some(devices) => devices,
                none => none.insert(self.author.devices()?),
            };
            let device = devices.get(index as usize).ok_or_else(|| {
                let count = devices.len();
                let message = format!("{index} is not below {count}, the number of devices");
                ApiError::new(Status::NOT_FOUND, "index", message)
            })?;
            *info = describe::wire_device(device);
            Ok(Status::OK)
        })
    }

    unsafe fn device_open(
        &self,
        descriptor: &wire::DeviceDescriptor,
        device: &mut ROption<facade::DeviceObject>,
        info: &mut wire::DeviceInfo,
        error: &mut wire::Error,
    ) -> Status {
        // SAFETY: the caller's promise.
        match unsafe { self.open(descriptor, info, error) } {
            Ok(guard) => {
                *device = ROption::RSome(Device_TO::from_ptr(RBox::new(guard), TD_Opaque));
                Status::OK
            }
            Err(status) => status,
        }
    }

    unsafe fn query(&self, name: wire::Text, revision: u32) -> *const c_void {
        let mut found = std::ptr::null();
        run_quietly(|| {
            // SAFETY: the caller's promise.
            if let Ok(name) = unsafe { name.read("query") } {
                found = self.author.query(name, revision);
            }
        });
        found
    }
}

/// A device behind its guard. Clones are one device.
#[derive(Clone)]
pub(crate) struct DeviceGuard {
    author: Arc<Guarded<dyn DeviceImpl>>,
}

impl DeviceGuard {
    /// Makes a plan ready.
    ///
    /// # Safety
    /// The pointers of `plan` are valid for the call.
    pub(crate) unsafe fn extractor(
        &self,
        plan: &wire::PlanRequest,
        info: &mut wire::ExtractorInfo,
        error: &mut wire::Error,
    ) -> Result<ExtractorGuard, Status> {
        give(error, || {
            describe::unused("plan", plan.reserved)?;
            let format = describe::format(&plan.format)?;
            // SAFETY: the caller's promise.
            let wanted = unsafe { slice(plan.features, plan.feature_count, "plan.features") }?;
            // SAFETY: the caller's promise.
            let features = wanted
                .iter()
                .map(|feature| unsafe { describe::request(feature) });
            let features = features.collect::<Result<Vec<_>, _>>()?;
            let author = self.author.prepare(&PlanRequest::new(format, &features))?;
            let author = Guarded::new(author);
            let number = |name: &str, value: usize, most: u32| {
                let fits = u32::try_from(value).ok().filter(|&value| value <= most);
                fits.ok_or_else(|| {
                    let message = format!("the extractor asks for {value}, the most is {most}");
                    ApiError::new(Status::RANGE, name, message)
                })
            };
            info.columns = number("columns", author.columns(), u32::MAX)?;
            info.history = number("history", author.history(), wire::MAX_HISTORY)?;
            info.in_flight = number("in_flight", author.in_flight(), u32::MAX)?;
            info.memory_bytes = author.memory_bytes();
            Ok(ExtractorGuard {
                author,
                columns: info.columns as usize,
            })
        })
    }

    /// Runs a method of the device's import.
    fn import(
        &self,
        error: &mut wire::Error,
        method: impl FnOnce(&dyn ImportImpl) -> Result<Status, ApiError>,
    ) -> Status {
        run(error, || match self.author.import() {
            Some(import) => method(import),
            None => {
                let message = "the device takes in no frames of others";
                Err(ApiError::new(Status::NOT_SUPPORTED, "device", message))
            }
        })
    }
}

impl facade::Device for DeviceGuard {
    unsafe fn supports(
        &self,
        feature: &wire::FeatureRequest,
        format: &wire::Format,
        support: &mut wire::Support,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            // SAFETY: the caller's promise.
            let feature = unsafe { describe::request(feature) }?;
            let format = describe::format(format)?;
            *support = describe::wire_support(&self.author.supports(&feature, &format)?);
            Ok(Status::OK)
        })
    }

    unsafe fn prepare(
        &self,
        plan: &wire::PlanRequest,
        extractor: &mut ROption<facade::ExtractorObject>,
        info: &mut wire::ExtractorInfo,
        error: &mut wire::Error,
    ) -> Status {
        // SAFETY: the caller's promise.
        match unsafe { self.extractor(plan, info, error) } {
            Ok(guard) => {
                *extractor = ROption::RSome(Extractor_TO::from_ptr(RBox::new(guard), TD_Opaque));
                Status::OK
            }
            Err(status) => status,
        }
    }

    fn import(
        &self,
        import: &mut ROption<facade::ImportObject>,
        error: &mut wire::Error,
    ) -> Status {
        let status = self.import(error, |_| Ok(Status::OK));
        if status == Status::OK {
            *import = ROption::RSome(Import_TO::from_ptr(RBox::new(self.clone()), TD_Opaque));
        }
        status
    }
}

/// A device's frame as it crosses the boundary: the pointer is to one of these.
struct FrameBox {
    author: Guarded<dyn DeviceFrameImpl>,
}

/// The author's frame behind `frame`.
///
/// # Safety
/// `frame` is null or was made by [`facade::Import::frame_import`] of a [`DeviceGuard`] of this
/// library, and is alive for `'a`.
pub(crate) unsafe fn device_frame<'a>(
    frame: *mut wire::DeviceFrameObject,
) -> Option<&'a dyn DeviceFrameImpl> {
    // SAFETY: null, or a live `FrameBox` (caller).
    let frame = unsafe { frame.cast::<FrameBox>().as_ref() }?;
    Some(&*frame.author)
}

/// [`wire::Import::frame_release`].
///
/// # Safety
/// `frame` was made by [`facade::Import::frame_import`] of a [`DeviceGuard`] of this library and
/// is released once.
pub(crate) unsafe fn release_frame(frame: *mut wire::DeviceFrameObject) {
    // SAFETY: the caller's promise.
    let frame = unsafe { Box::from_raw(frame.cast::<FrameBox>()) };
    run_quietly(|| drop(frame));
}

/// [`wire::Import::frame_release_fence`].
///
/// # Safety
/// As [`device_frame`].
pub(crate) unsafe fn release_fence(
    frame: *mut wire::DeviceFrameObject,
    kind: FenceKind,
    fence: &mut wire::Fence,
    error: &mut wire::Error,
) -> Status {
    run(error, || {
        // SAFETY: the caller's promise.
        let frame = unsafe { device_frame(frame) };
        let missing = || ApiError::new(Status::INVALID, "frame", "no frame was given");
        *fence = frame.ok_or_else(missing)?.release_fence(kind)?.0;
        Ok(Status::OK)
    })
}

impl facade::Import for DeviceGuard {
    unsafe fn frame_import(
        &self,
        descriptor: &wire::ImportDescriptor,
        frame: &mut *mut wire::DeviceFrameObject,
        format: &mut wire::Format,
        error: &mut wire::Error,
    ) -> Status {
        self.import(error, |import| {
            // SAFETY: the caller's promise about handles and descriptors.
            let descriptor = unsafe { ImportDescriptor::from_wire(descriptor) }?;
            let author = Guarded::new(import.import(&descriptor)?);
            *format = describe::wire_format(&author.format());
            *frame = Box::into_raw(Box::new(FrameBox { author })).cast();
            Ok(Status::OK)
        })
    }

    unsafe fn frame_release(&self, frame: *mut wire::DeviceFrameObject) {
        // SAFETY: the caller's promise.
        unsafe { release_frame(frame) }
    }

    unsafe fn frame_release_fence(
        &self,
        frame: *mut wire::DeviceFrameObject,
        kind: FenceKind,
        fence: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        // SAFETY: the caller's promise.
        unsafe { release_fence(frame, kind, fence, error) }
    }

    unsafe fn fence_poll(&self, fence: &wire::Fence, error: &mut wire::Error) -> Status {
        self.import(error, |import| {
            Ok(import.fence_poll(&NativeFence(*fence))?.status())
        })
    }

    unsafe fn fence_wait(
        &self,
        fence: &wire::Fence,
        timeout_ns: u64,
        error: &mut wire::Error,
    ) -> Status {
        self.import(error, |import| {
            import.fence_wait(&NativeFence(*fence), Duration::from_nanos(timeout_ns))?;
            Ok(Status::OK)
        })
    }

    unsafe fn fence_export(
        &self,
        fence: &wire::Fence,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        self.import(error, |import| {
            *exported = import.fence_export(&NativeFence(*fence), kind)?.0;
            Ok(Status::OK)
        })
    }

    unsafe fn fence_destroy(&self, fence: &mut wire::Fence) {
        let fence = NativeFence(*fence);
        run_quietly(|| {
            if let Some(import) = self.author.import() {
                import.fence_destroy(fence);
            }
        });
    }
}

/// An extractor behind its guard.
pub(crate) struct ExtractorGuard {
    author: Guarded<dyn ExtractorImpl>,
    columns: usize,
}

impl ExtractorGuard {
    /// [`wire::Backend::extractor_admits`].
    ///
    /// # Safety
    /// `frame` is null or a frame that is valid for the call.
    pub(crate) unsafe fn admits(
        &self,
        frame: *const wire::Frame,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            // SAFETY: the caller's promise.
            let frame = unsafe { FrameRef::new(frame, "frame") }?;
            self.author.admits(&frame)?;
            Ok(Status::OK)
        })
    }

    /// [`wire::Backend::extractor_submit`].
    ///
    /// # Safety
    /// `job` is null or a job that is valid for the call.
    pub(crate) unsafe fn submit(
        &self,
        job: *const wire::Job,
        ticket: &mut u64,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            // SAFETY: the caller's promise.
            let job = unsafe { Job::new(job) }?;
            *ticket = self.author.submit(&job)?.0;
            Ok(Status::OK)
        })
    }
}

impl facade::Extractor for ExtractorGuard {
    unsafe fn admits(&self, frame: &wire::Frame, error: &mut wire::Error) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.admits(frame, error) }
    }

    unsafe fn submit(&self, job: &wire::Job, ticket: &mut u64, error: &mut wire::Error) -> Status {
        // SAFETY: the caller's promise.
        unsafe { self.submit(job, ticket, error) }
    }

    unsafe fn collect(
        &self,
        ticket: u64,
        values: *mut u64,
        count: usize,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            if count != self.columns || (values.is_null() && count > 0) {
                let message = format!(
                    "{count} values at {values:p}, the plan has {}",
                    self.columns
                );
                return Err(ApiError::new(Status::INVALID, "values", message));
            }
            let values: &mut [Value] = match count {
                0 => &mut [],
                // SAFETY: not null, room for `count` numbers (caller), and `Value` is a
                // transparent u64.
                _ => unsafe { std::slice::from_raw_parts_mut(values.cast(), count) },
            };
            self.author.collect(Ticket(ticket), values)?;
            Ok(Status::OK)
        })
    }

    fn repeats(&self) -> u64 {
        let mut repeats = 0;
        run_quietly(|| repeats = self.author.repeats());
        repeats
    }
}

/// A fence behind its guard.
pub(crate) struct FenceGuard {
    author: Guarded<dyn FenceImpl>,
    native: wire::Fence,
}

impl FenceGuard {
    /// Asks the fence what it is called.
    ///
    /// # Errors
    /// A panic.
    pub(crate) fn new(author: Box<dyn FenceImpl>) -> Result<Self, ApiError> {
        let author = Guarded::new(author);
        let native = ask(|| author.native().0)?;
        Ok(FenceGuard { author, native })
    }
}

impl facade::Fence for FenceGuard {
    fn native(&self) -> wire::Fence {
        self.native
    }

    fn poll(&self, error: &mut wire::Error) -> Status {
        run(error, || Ok(self.author.poll()?.status()))
    }

    fn wait(&self, timeout_ns: u64, error: &mut wire::Error) -> Status {
        run(error, || {
            self.author.wait(Duration::from_nanos(timeout_ns))?;
            Ok(Status::OK)
        })
    }

    fn export(
        &self,
        kind: FenceKind,
        exported: &mut wire::Fence,
        error: &mut wire::Error,
    ) -> Status {
        run(error, || {
            *exported = self.author.export(kind)?.0;
            Ok(Status::OK)
        })
    }
}

impl FenceState {
    fn status(self) -> Status {
        match self {
            FenceState::Signalled => Status::OK,
            FenceState::Pending => Status::PENDING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    trait Author: Send {}
    impl Author for Bomb {}

    #[test]
    fn whatever_a_panic_carries_stays_behind_the_guard() {
        let mut error = wire::Error::empty();
        let status = run(&mut error, || std::panic::panic_any(Bomb));
        assert_eq!(status, Status::PANIC);
        let text = crate::sized::text_of(&error.message);
        assert_eq!(text, "a panic without a message");
        run_quietly(|| std::panic::panic_any(Bomb));
        drop(Guarded::<dyn Author>::new(Box::new(Bomb)));
    }

    #[test]
    fn an_error_is_never_an_answer() {
        for status in [Status::OK, Status::PENDING, Status(42)] {
            let mut error = wire::Error::empty();
            let failed = || Err(ApiError::new(status, "here", "no").with_code(7));
            assert_eq!(run(&mut error, failed), Status::INTERNAL);
            assert_eq!(error.code, 7);
        }
    }
}
