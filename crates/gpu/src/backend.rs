//! A backend of a runtime: what HIP and CUDA share above the runtime itself.
//!
//! A [`Platform`] finds devices and opens their runtime; [`GpuBackend`] makes a backend of it.
//!
//! What must stay true: a machine without the runtime, or without a device, is no failure of
//! anything: it is told with its reason where someone asks, and nothing else happens.

use std::fmt;
use std::sync::Arc;

use vmafx_api::{
    ApiError, BackendImpl, BackendInfo, DeviceImpl, DeviceInfo, FenceKind, FenceKinds, OpenRequest,
    Status,
};

use crate::card::Card;
use crate::device::{GpuDevice, MEMORY};
use crate::objects::{ObjectError, ObjectTable};
use crate::runtime::{Fault, Runtime, StreamHandle};

/// A runtime with its devices.
///
/// # Safety
/// The stream of an [`Opened`] is one of its runtime, and whoever made the [`OpenRequest`] vouched
/// that it outlives the device.
pub unsafe trait Platform: fmt::Debug + Send + Sync + 'static {
    /// What the backend is.
    fn info(&self) -> BackendInfo;

    /// The kind of the runtime's own events.
    fn event_kind(&self) -> FenceKind;

    /// The devices present. Memory and fence kinds are filled in by the caller.
    ///
    /// # Errors
    /// [`Status::NOT_FOUND`] without the runtime or without any device, with what was looked
    /// for; anything else is a runtime that fails.
    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError>;

    /// Opens a device.
    ///
    /// # Errors
    /// A device that cannot be used, with the reason; an option that there is not.
    fn open(&self, request: &OpenRequest) -> Result<Opened, ApiError>;
}

/// An opened device.
#[derive(Debug)]
pub struct Opened {
    /// The device.
    pub runtime: Arc<dyn Runtime>,
    /// What it is.
    pub info: DeviceInfo,
    /// Its device code.
    pub object: Vec<u8>,
    /// The caller's stream, if one was given. It is one of the runtime and outlives the device,
    /// as whoever made the [`OpenRequest`] vouched for.
    pub stream: Option<StreamHandle>,
}

/// A backend of a platform.
#[derive(Debug)]
pub struct GpuBackend<P> {
    platform: P,
}

impl<P: Platform> GpuBackend<P> {
    /// The backend of `platform`.
    pub fn new(platform: P) -> Self {
        GpuBackend { platform }
    }

    /// A device with what this crate does with it.
    fn completed(&self, mut info: DeviceInfo) -> DeviceInfo {
        let fences = FenceKinds::of(&[FenceKind::NONE, self.platform.event_kind()]);
        info.memory_kinds = MEMORY;
        info.acquire_kinds = fences;
        info.acquire_on_device = FenceKinds::of(&[self.platform.event_kind()]);
        info
    }
}

impl<P: Platform> BackendImpl for GpuBackend<P> {
    fn info(&self) -> BackendInfo {
        self.platform.info()
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        let devices = self.platform.devices()?.into_iter();
        Ok(devices.map(|info| self.completed(info)).collect())
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn DeviceImpl>, ApiError> {
        let Opened {
            runtime,
            info,
            object,
            stream,
        } = self.platform.open(request)?;
        let subject = format!("device {}", request.index);
        // SAFETY: whoever gave the stream vouched for it (`OpenRequest::with_external`).
        let card = unsafe { Card::new(runtime, &object, stream) };
        let card = card.map_err(|error| {
            let fault = error.fault;
            let error = error.about(subject);
            match fault {
                Fault::BadModule => ApiError {
                    message: format!("its device code does not load: {}", error.message),
                    ..error
                },
                _ => error,
            }
        })?;
        let info = self.completed(info);
        let name = self.platform.info().name;
        Ok(Box::new(GpuDevice::new(
            card,
            info,
            name,
            self.platform.event_kind(),
        )))
    }
}

/// The device of that number.
///
/// # Errors
/// There is none.
pub fn device_at<T>(devices: &[T], index: u32) -> Result<&T, ApiError> {
    devices.get(index as usize).ok_or_else(|| {
        let count = devices.len();
        let message = format!("there is no device {index}; there are {count}, numbered from 0");
        ApiError::new(Status::NOT_FOUND, "index", message)
    })
}

/// The refusal of options, for a backend that has none.
///
/// # Errors
/// The first option that is given.
pub fn no_options(request: &OpenRequest, backend: &str) -> Result<(), ApiError> {
    match request.options.first() {
        Some(option) => {
            let message = format!("the backend `{backend}` has no options");
            Err(ApiError::new(Status::INVALID, &*option.name, message))
        }
        None => Ok(()),
    }
}

/// The device code that a plugin was built with.
///
/// # Errors
/// It was built without, or what it was built with is damaged.
pub fn carried(objects: Option<(&str, &'static [u8])>) -> Result<ObjectTable, ApiError> {
    let Some((table, packed)) = objects else {
        let message = "built without device code; run `cargo xtask kernels` and build again";
        return Err(ApiError::new(Status::NOT_SUPPORTED, CODE, message));
    };
    Ok(ObjectTable::parse(table, packed)?)
}

/// What failures of the carried code are about.
const CODE: &str = "device code";

impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        ApiError::new(Status::NOT_SUPPORTED, CODE, error.to_string())
    }
}
