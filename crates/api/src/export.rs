//! From the traits that Rust authors write to the table of C functions: what
//! [`export_backend!`](crate::export_backend) puts behind a plugin's symbol.
//!
//! What must stay true: a function here only converts pointers and calls the guard, so that
//! nothing in it can panic.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::OnceLock;

use crate::author::BackendImpl;
use crate::describe;
use crate::error::ApiError;
use crate::facade::{Device as _, Extractor as _, GpuBackend as _, Import as _};
use crate::guard::{self, BackendGuard, DeviceGuard, ExtractorGuard};
use crate::kinds::{FenceKind, LogLevel, Status};
use crate::sized::{self, Extensible, fill};
use crate::wire::{self, ABI_REVISION, DRAFT, Text};

/// Makes a plugin of a backend: emits the one symbol that a host looks for. `$make` is an
/// expression of a type that implements [`BackendImpl`](crate::BackendImpl); the version and
/// licence (an SPDX expression) are the plugin's own. Once in a library of crate type `cdylib`.
///
/// ```
/// # use vmafx_api::{ApiError, BackendImpl, BackendInfo, DeviceImpl, DeviceInfo, OpenRequest};
/// # struct Example;
/// # impl BackendImpl for Example {
/// #     fn info(&self) -> BackendInfo { BackendInfo::new("example", "An example", "0.1.0") }
/// #     fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> { Ok(Vec::new()) }
/// #     fn open(&self, _: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
/// #         Err(ApiError::new(vmafx_api::Status::NOT_FOUND, "index", "there is no device"))
/// #     }
/// # }
/// vmafx_api::export_backend!(Example, version: "0.1.0", license: "Apache-2.0 OR MIT");
/// ```
#[macro_export]
macro_rules! export_backend {
    ($make:expr, version: $version:expr, license: $license:expr $(,)?) => {
        #[allow(unsafe_code)]
        const _: () = {
            static EXPORTED: $crate::export::Exported = $crate::export::Exported::new();

            unsafe extern "C" fn quiesce() {
                EXPORTED.quiesce();
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn vmafx_plugin_entry_v1(
                host: *const $crate::wire::Host,
                plugin: *mut $crate::wire::Plugin,
            ) -> $crate::Status {
                let make = || -> ::std::boxed::Box<dyn $crate::BackendImpl> {
                    ::std::boxed::Box::new($make)
                };
                // SAFETY: the caller keeps the contract of `wire::PluginEntry`.
                unsafe { EXPORTED.enter(host, plugin, make, $version, $license, quiesce) }
            }
        };
    };
}

/// A plugin's own state: its backend and its table, made by the first call of the entry.
#[doc(hidden)]
pub struct Exported {
    state: OnceLock<Result<State, ApiError>>,
}

struct State {
    guard: &'static BackendGuard,
    tables: [*const wire::Backend; 1],
}

// SAFETY: the pointers lead to what `make` leaked and nobody changes.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl Exported {
    #[allow(clippy::new_without_default, missing_docs)]
    pub const fn new() -> Self {
        Exported {
            state: OnceLock::new(),
        }
    }

    /// The body of the entry.
    ///
    /// # Safety
    /// `host` and `plugin` keep the contract of [`wire::PluginEntry`].
    #[allow(missing_docs)]
    pub unsafe fn enter(
        &'static self,
        host: *const wire::Host,
        plugin: *mut wire::Plugin,
        make: impl FnOnce() -> Box<dyn BackendImpl>,
        version: &'static str,
        license: &'static str,
        quiesce: unsafe extern "C" fn(),
    ) -> Status {
        let mut error = wire::Error::empty();
        // SAFETY: null or readable (caller).
        let host = match unsafe { sized::read(host) } {
            Ok(host) => host,
            Err(refusal) => return refusal.status,
        };
        let status = guard::run(&mut error, || {
            describe::unused("host", host.reserved)?;
            let chosen = host.abi_max.min(ABI_REVISION);
            if chosen < host.abi_min || chosen == 0 {
                let message = format!(
                    "the host takes {} to {}, the plugin has {ABI_REVISION}",
                    host.abi_min, host.abi_max
                );
                return Err(ApiError::new(Status::ABI, "revision", message));
            }
            let _ = LOG.set(HostLog(host.log, host.log_context));
            let state = self.state.get_or_init(|| State::new(make()));
            let state = state.as_ref().map_err(ApiError::clone)?;
            let answer = wire::Plugin {
                abi_chosen: chosen,
                version: Text::new(version),
                license: Text::new(license),
                backends: state.tables.as_ptr(),
                backend_count: state.tables.len(),
                quiesce: Some(quiesce),
                ..wire::Plugin::empty()
            };
            // SAFETY: null or writable (caller).
            unsafe { sized::write(plugin, &answer) }?;
            Ok(Status::OK)
        });
        // The entry has no room for a reason, the log has.
        if let (true, Some(log)) = (status.0 < 0, host.log) {
            let reason = ApiError::from_wire(status, &error).to_string();
            // SAFETY: the context is the host's own, the text lives for the call (contract of
            // `wire::Host::log`).
            unsafe { log(host.log_context, LogLevel::ERROR, Text::new(&reason)) }
        }
        status
    }

    #[allow(missing_docs)]
    pub fn quiesce(&self) {
        if let Some(Ok(state)) = self.state.get() {
            state.guard.quiesce();
        }
    }
}

/// Where the lines of this plugin go.
struct HostLog(
    Option<unsafe extern "C" fn(context: *mut c_void, level: LogLevel, text: Text)>,
    *mut c_void,
);

// SAFETY: the log may be called from any thread (contract of `wire::Host::log`).
unsafe impl Send for HostLog {}
// SAFETY: as above.
unsafe impl Sync for HostLog {}

static LOG: OnceLock<HostLog> = OnceLock::new();

/// Writes a line to the host's log, from any thread. In a backend that is part of its program
/// there is no host, and the line is dropped.
pub fn log(level: LogLevel, line: &str) {
    if let Some(HostLog(Some(log), context)) = LOG.get() {
        // SAFETY: the context is the host's own and lives as long as the process; the text lives
        // for the call (contract of `wire::Host`).
        unsafe { log(*context, level, Text::new(line)) }
    }
}

impl State {
    fn new(author: Box<dyn BackendImpl>) -> Result<Self, ApiError> {
        let guard: &'static BackendGuard = Box::leak(Box::new(BackendGuard::new(author)?));
        let table = wire::Backend {
            object: (&raw const *guard).cast_mut().cast(),
            info: guard.info(),
            import: &raw const IMPORT,
            device_count: Some(device_count),
            device_info: Some(device_info),
            device_open: Some(device_open),
            device_close: Some(device_close),
            device_supports: Some(device_supports),
            device_prepare: Some(device_prepare),
            extractor_destroy: Some(extractor_destroy),
            extractor_admits: Some(extractor_admits),
            extractor_submit: Some(extractor_submit),
            extractor_collect: Some(extractor_collect),
            query: Some(query),
            extractor_repeats: Some(extractor_repeats),
            ..wire::Backend::empty()
        };
        Ok(State {
            guard,
            tables: [Box::leak(Box::new(table))],
        })
    }
}

static IMPORT: wire::Import = wire::Import {
    struct_size: size_of::<wire::Import>() as u32,
    draft: DRAFT,
    frame_import: Some(frame_import),
    frame_release: Some(frame_release),
    frame_release_fence: Some(frame_release_fence),
    fence_poll: Some(fence_poll),
    fence_wait: Some(fence_wait),
    fence_export: Some(fence_export),
    fence_destroy: Some(fence_destroy),
};

/// Runs `function` with an error struct of this side and hands the caller what was written.
///
/// # Safety
/// `error` is null or keeps the contract of [`wire::Error`].
unsafe fn with_error(
    error: *mut wire::Error,
    function: impl FnOnce(&mut wire::Error) -> Status,
) -> Status {
    let mut own = wire::Error::empty();
    let status = function(&mut own);
    if status.0 < 0 && !error.is_null() {
        // SAFETY: not null, so writable (caller). A struct of a wrong size is left alone.
        let _ = unsafe { sized::write(error, &own) };
    }
    status
}

/// Runs `function` with a struct of this side for the caller's `out`, and copies it there.
///
/// # Safety
/// `out` and `error` are null or keep the contracts of their types.
unsafe fn with_out<T: Extensible>(
    out: *mut T,
    error: *mut wire::Error,
    function: impl FnOnce(&mut T, &mut wire::Error) -> Status,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe {
        with_error(error, |error| {
            let mut own = T::empty();
            let status = function(&mut own, error);
            match status {
                Status::OK => guard::run(error, || sized::write(out, &own).map(|()| Status::OK)),
                status => status,
            }
        })
    }
}

/// The refusal of an argument that is null.
fn null_argument(error: &mut wire::Error, name: &str) -> Status {
    fill(&mut error.subject, name);
    fill(&mut error.message, "a null pointer");
    Status::INVALID
}

/// Reads the caller's struct, or goes on with the refusal of it.
macro_rules! read_or_return {
    ($from:expr, $error:expr) => {
        match sized::read($from) {
            Ok(value) => value,
            Err(refusal) => return guard::run($error, || Err(refusal)),
        }
    };
}

/// A reference to the object behind a pointer of the caller, or the refusal of null.
macro_rules! object_or_return {
    ($pointer:expr, $type:ty, $name:literal, $error:expr) => {
        match $pointer.cast::<$type>().as_ref() {
            Some(object) => object,
            None => return null_argument($error, $name),
        }
    };
}

// The functions of the table. Their arguments keep the contract of `wire::Backend` and
// `wire::Import`: objects are those that functions of this file handed out and are alive,
// structs are null or readable, rooms null or writable. That is the clause of each block.

unsafe extern "C" fn device_count(
    object: *mut wire::BackendObject,
    count: *mut u32,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let backend = object_or_return!(object, BackendGuard, "object", error);
            match count.as_mut() {
                Some(count) => backend.device_count(count, error),
                None => null_argument(error, "count"),
            }
        })
    }
}

unsafe extern "C" fn device_info(
    object: *mut wire::BackendObject,
    index: u32,
    info: *mut wire::DeviceInfo,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_out(info, error, |info, error| {
            let backend = object_or_return!(object, BackendGuard, "object", error);
            backend.device_info(index, info, error)
        })
    }
}

unsafe extern "C" fn device_open(
    object: *mut wire::BackendObject,
    descriptor: *const wire::DeviceDescriptor,
    device: *mut *mut wire::DeviceObject,
    info: *mut wire::DeviceInfo,
    error: *mut wire::Error,
) -> Status {
    let mut opened = None;
    // SAFETY: the contract of the table.
    unsafe {
        let status = with_out(info, error, |info, error| {
            let backend = object_or_return!(object, BackendGuard, "object", error);
            if device.is_null() {
                return null_argument(error, "device");
            }
            let descriptor = read_or_return!(descriptor, error);
            match backend.open(&descriptor, info, error) {
                Ok(guard) => {
                    opened = Some(guard);
                    Status::OK
                }
                Err(status) => status,
            }
        });
        // Handed out only if `info` could be written, too.
        if let (Status::OK, Some(guard)) = (status, opened) {
            device.write(Box::into_raw(Box::new(guard)).cast());
        }
        status
    }
}

unsafe extern "C" fn device_close(device: *mut wire::DeviceObject) {
    if device.is_null() {
        return;
    }
    // SAFETY: the contract of the table; closed once.
    let device = unsafe { Box::from_raw(device.cast::<DeviceGuard>()) };
    guard::run_quietly(|| drop(device));
}

unsafe extern "C" fn device_supports(
    device: *mut wire::DeviceObject,
    feature: *const wire::FeatureRequest,
    format: *const wire::Format,
    support: *mut wire::Support,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_out(support, error, |support, error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            let feature = object_or_return!(feature, wire::FeatureRequest, "feature", error);
            let format = object_or_return!(format, wire::Format, "format", error);
            device.supports(feature, format, support, error)
        })
    }
}

unsafe extern "C" fn device_prepare(
    device: *mut wire::DeviceObject,
    plan: *const wire::PlanRequest,
    extractor: *mut *mut wire::ExtractorObject,
    info: *mut wire::ExtractorInfo,
    error: *mut wire::Error,
) -> Status {
    let mut made = None;
    // SAFETY: the contract of the table.
    unsafe {
        let status = with_out(info, error, |info, error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            if extractor.is_null() {
                return null_argument(error, "extractor");
            }
            let plan = read_or_return!(plan, error);
            match device.extractor(&plan, info, error) {
                Ok(guard) => {
                    made = Some(guard);
                    Status::OK
                }
                Err(status) => status,
            }
        });
        // Handed out only if `info` could be written, too.
        if let (Status::OK, Some(guard)) = (status, made) {
            extractor.write(Box::into_raw(Box::new(guard)).cast());
        }
        status
    }
}

unsafe extern "C" fn extractor_destroy(extractor: *mut wire::ExtractorObject) {
    if extractor.is_null() {
        return;
    }
    // SAFETY: the contract of the table; destroyed once.
    let extractor = unsafe { Box::from_raw(extractor.cast::<ExtractorGuard>()) };
    guard::run_quietly(|| drop(extractor));
}

unsafe extern "C" fn extractor_admits(
    extractor: *mut wire::ExtractorObject,
    frame: *const wire::Frame,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let extractor = object_or_return!(extractor, ExtractorGuard, "extractor", error);
            extractor.admits(frame, error)
        })
    }
}

unsafe extern "C" fn extractor_submit(
    extractor: *mut wire::ExtractorObject,
    job: *const wire::Job,
    ticket: *mut u64,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let extractor = object_or_return!(extractor, ExtractorGuard, "extractor", error);
            match ticket.as_mut() {
                Some(ticket) => extractor.submit(job, ticket, error),
                None => null_argument(error, "ticket"),
            }
        })
    }
}

unsafe extern "C" fn extractor_collect(
    extractor: *mut wire::ExtractorObject,
    ticket: u64,
    values: *mut u64,
    count: usize,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let extractor = object_or_return!(extractor, ExtractorGuard, "extractor", error);
            extractor.collect(ticket, values, count, error)
        })
    }
}

unsafe extern "C" fn extractor_repeats(extractor: *mut wire::ExtractorObject) -> u64 {
    // SAFETY: the contract of the table.
    let extractor = unsafe { extractor.cast::<ExtractorGuard>().as_ref() };
    extractor.map_or(0, ExtractorGuard::repeats)
}

unsafe extern "C" fn query(
    object: *mut wire::BackendObject,
    name: Text,
    revision: u32,
) -> *const c_void {
    // SAFETY: the contract of the table.
    unsafe {
        match object.cast::<BackendGuard>().as_ref() {
            Some(backend) => backend.query(name, revision),
            None => null(),
        }
    }
}

unsafe extern "C" fn frame_import(
    device: *mut wire::DeviceObject,
    descriptor: *const wire::ImportDescriptor,
    frame: *mut *mut wire::DeviceFrameObject,
    format: *mut wire::Format,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table. A frame carries its device with it, because
    // `frame_release` is given no other.
    unsafe {
        with_error(error, |error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            let descriptor = read_or_return!(descriptor, error);
            match (frame.as_mut(), format.as_mut()) {
                (Some(frame), Some(format)) => {
                    device.frame_import(&descriptor, frame, format, error)
                }
                _ => null_argument(error, "frame"),
            }
        })
    }
}

unsafe extern "C" fn frame_release(frame: *mut wire::DeviceFrameObject) {
    if !frame.is_null() {
        // SAFETY: the contract of the table; released once.
        unsafe { guard::release_frame(frame) }
    }
}

unsafe extern "C" fn frame_release_fence(
    frame: *mut wire::DeviceFrameObject,
    kind: FenceKind,
    fence: *mut wire::Fence,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| match fence.as_mut() {
            Some(fence) => guard::release_fence(frame, kind, fence, error),
            None => null_argument(error, "fence"),
        })
    }
}

unsafe extern "C" fn fence_poll(
    device: *mut wire::DeviceObject,
    fence: *const wire::Fence,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            let fence = object_or_return!(fence, wire::Fence, "fence", error);
            device.fence_poll(fence, error)
        })
    }
}

unsafe extern "C" fn fence_wait(
    device: *mut wire::DeviceObject,
    fence: *const wire::Fence,
    timeout_ns: u64,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            let fence = object_or_return!(fence, wire::Fence, "fence", error);
            device.fence_wait(fence, timeout_ns, error)
        })
    }
}

unsafe extern "C" fn fence_export(
    device: *mut wire::DeviceObject,
    fence: *const wire::Fence,
    kind: FenceKind,
    exported: *mut wire::Fence,
    error: *mut wire::Error,
) -> Status {
    // SAFETY: the contract of the table.
    unsafe {
        with_error(error, |error| {
            let device = object_or_return!(device, DeviceGuard, "device", error);
            let fence = object_or_return!(fence, wire::Fence, "fence", error);
            match exported.as_mut() {
                Some(exported) => device.fence_export(fence, kind, exported, error),
                None => null_argument(error, "exported"),
            }
        })
    }
}

unsafe extern "C" fn fence_destroy(device: *mut wire::DeviceObject, fence: *mut wire::Fence) {
    // SAFETY: the contract of the table; destroyed once.
    unsafe {
        if let (Some(device), Some(fence)) = (device.cast::<DeviceGuard>().as_ref(), fence.as_mut())
        {
            device.fence_destroy(fence);
        }
    }
}
