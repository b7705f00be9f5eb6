//! What programs hold: a [`Backend`], its [`Device`]s, their [`Extractor`]s. The same types for
//! a backend that is part of the program and for one that was loaded from a library, and the
//! same path: every call crosses as structs of the [`wire`](crate::wire).
//!
//! What must stay true: after a panic nothing of that device is called but its end.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;

use abi_stable::std_types::{RBox, ROption};
use abi_stable::type_level::downcasting::TD_Opaque;

use crate::author::{BackendImpl, BuiltinBackend};
use crate::describe::{self, WireRequest};
use crate::error::ApiError;
use crate::facade::{self, GpuBackend_TO};
use crate::format::FrameFormat;
use crate::frame::Frame;
use crate::guard::BackendGuard;
use crate::import::{DeviceFrame, ImportDescriptor, Importer};
use crate::info::{
    BackendInfo, DeviceInfo, FeatureRequest, OpenRequest, PlanRequest, Support, Ticket, Value,
};
use crate::kinds::{MemoryKind, Status};
use crate::table::Table;
use crate::wire::{self, MAX_HISTORY};

/// A reference frame and its distorted twin. A clone shares the frames: whoever has one keeps
/// them alive, and as long as it does their buffers are not used for other frames.
#[derive(Clone, Debug)]
pub struct FramePair {
    /// The original.
    pub reference: Arc<Frame>,
    /// What is scored against it.
    pub distorted: Arc<Frame>,
}

/// One frame to score. The job owns its frames, and nobody changes them any more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrameJob {
    /// Number of the frame in the scored clip, from 0.
    pub index: u64,
    /// The frame itself.
    pub pair: FramePair,
    /// Earlier frames, the nearest first: at least as many as [`Extractor::history`] asks for,
    /// fewer only at the start of the clip. There are more when others look further back; those
    /// past [`MAX_HISTORY`] are not passed on.
    pub earlier: Vec<FramePair>,
}

impl FrameJob {
    /// Frame `index` with the frames before it, the nearest first.
    pub fn new(index: u64, pair: FramePair, earlier: Vec<FramePair>) -> Self {
        FrameJob {
            index,
            pair,
            earlier,
        }
    }
}

/// Makes a call and turns a failure into an error.
pub(crate) fn status(call: impl FnOnce(&mut wire::Error) -> Status) -> Result<Status, ApiError> {
    let mut error = wire::Error::empty();
    let status = call(&mut error);
    match status.0 < 0 {
        true => Err(ApiError::from_wire(status, &error)),
        false => Ok(status),
    }
}

/// Nothing, if `status` is OK: of any other answer nobody could say what it means.
pub(crate) fn ok(status: Status) -> Result<(), ApiError> {
    match status {
        Status::OK => Ok(()),
        other => {
            let message = format!("the backend answered {other}, which is no answer to this call");
            Err(ApiError::new(Status::INTERNAL, "status", message))
        }
    }
}

/// What a panic of an object said, after one.
#[derive(Clone, Default)]
struct Poison(Arc<OnceLock<String>>);

impl Poison {
    /// Makes a call unless there was a panic before; a panic is kept.
    fn status(
        &self,
        name: impl FnOnce() -> String,
        call: impl FnOnce(&mut wire::Error) -> Status,
    ) -> Result<Status, ApiError> {
        if let Some(panic) = self.0.get() {
            let message = format!("an earlier call panicked, open the device again: {panic}");
            return Err(ApiError::new(Status::PANIC, name(), message));
        }
        let result = status(call);
        if let Err(error) = &result
            && error.status == Status::PANIC
        {
            let _ = self.0.set(error.message.clone());
        }
        result
    }
}

/// A family of devices behind one runtime. Clones are one backend.
#[derive(Clone)]
pub struct Backend {
    object: Arc<facade::BackendObject>,
    info: Arc<BackendInfo>,
    poison: Poison,
}

impl Backend {
    /// A backend that is part of this program. Its description is kept for the life of the
    /// process: make one and clone it.
    ///
    /// # Errors
    /// A description that breaks the rules of [`BackendInfo`], a panic.
    pub fn new(author: impl BackendImpl) -> Result<Self, ApiError> {
        Backend::boxed(Box::new(author))
    }

    fn boxed(author: Box<dyn BackendImpl>) -> Result<Self, ApiError> {
        let guard = BackendGuard::new(author)?;
        let object = GpuBackend_TO::from_ptr(RBox::new(guard), TD_Opaque);
        // SAFETY: a guard's description was made on this side and lives as long as the process.
        unsafe { Backend::from_object(object, String::new()) }
    }

    /// A backend of the library at the path `library`.
    ///
    /// # Errors
    /// A table or description that breaks the rules of the wire.
    ///
    /// # Safety
    /// `table` is null or keeps the contract of [`wire::Backend`].
    pub unsafe fn from_table(
        table: *const wire::Backend,
        library: impl Into<String>,
    ) -> Result<Self, ApiError> {
        // SAFETY: the caller's promise.
        let table = unsafe { Table::read(table) }?;
        let object = GpuBackend_TO::from_ptr(RBox::new(table), TD_Opaque);
        // SAFETY: the caller's promise, of the table's description.
        unsafe { Backend::from_object(object, library.into()) }
    }

    /// # Safety
    /// The object's description keeps the contract of [`wire::BackendInfo`].
    unsafe fn from_object(
        object: facade::BackendObject,
        library: String,
    ) -> Result<Self, ApiError> {
        // SAFETY: the caller's promise.
        let mut info = unsafe { describe::backend(object.info()) }?;
        info.library = library;
        Ok(Backend {
            object: Arc::new(object),
            info: Arc::new(info),
            poison: Poison::default(),
        })
    }

    /// The backends that are part of this program, in the order of their identifiers. Made once
    /// in a process.
    ///
    /// # Errors
    /// The first of them whose description breaks the rules.
    pub fn builtin() -> Result<Vec<Backend>, ApiError> {
        static ALL: OnceLock<Result<Vec<Backend>, ApiError>> = OnceLock::new();
        let make = || {
            let made = inventory::iter::<BuiltinBackend>();
            let made = made.map(|entry| Backend::boxed((entry.0)()));
            let mut made = made.collect::<Result<Vec<_>, _>>()?;
            made.sort_by(|a, b| a.info.id.cmp(&b.info.id));
            Ok(made)
        };
        ALL.get_or_init(make).clone()
    }

    /// The same backend with another priority, such as one that its package states.
    pub fn with_priority(&self, priority: i32) -> Self {
        let mut info = (*self.info).clone();
        info.priority = priority;
        Backend {
            object: self.object.clone(),
            info: Arc::new(info),
            poison: self.poison.clone(),
        }
    }

    /// What the backend is.
    pub fn info(&self) -> &BackendInfo {
        &self.info
    }

    /// The devices present, which may be none.
    ///
    /// # Errors
    /// [`Status::NOT_FOUND`] with the reason why there is none on this machine, which is no
    /// failure of anything; a runtime that does not answer, a device that contradicts itself.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        const MAX_DEVICES: u32 = 1024;
        let mut count = 0;
        self.call(|error| self.object.device_count(&mut count, error))?;
        if count > MAX_DEVICES {
            let message = format!("{count} devices, the most are {MAX_DEVICES}");
            return Err(ApiError::new(Status::RANGE, &self.info.id, message));
        }
        (0..count).map(|index| self.device(index)).collect()
    }

    fn device(&self, index: u32) -> Result<DeviceInfo, ApiError> {
        let mut info = wire::DeviceInfo::empty();
        self.call(|error| self.object.device_info(index, &mut info, error))?;
        describe::device(&self.info.id, index, &info)
    }

    /// Opens a device.
    ///
    /// # Errors
    /// No such device, an option that the backend does not have, or a device that cannot be
    /// used, with the reason.
    pub fn open(&self, request: &OpenRequest) -> Result<Device, ApiError> {
        let options = describe::wire_settings(&request.options);
        let descriptor = wire::DeviceDescriptor {
            index: request.index,
            external: request.external(),
            options: options.as_ptr(),
            option_count: options.len(),
            ..wire::DeviceDescriptor::empty()
        };
        let mut info = wire::DeviceInfo::empty();
        let mut opened = ROption::RNone;
        self.call(|error| {
            // SAFETY: `request` and `options` outlive the call; whoever gave external objects
            // vouched for them.
            unsafe {
                self.object
                    .device_open(&descriptor, &mut opened, &mut info, error)
            }
        })?;
        let object = opened.into_option().ok_or_else(|| missing("device"))?;
        Ok(Device {
            inner: Arc::new(DeviceInner {
                object,
                info: describe::device(&self.info.id, request.index, &info)?,
                poison: Poison::default(),
                backend: self.clone(),
            }),
        })
    }

    /// An experiment of the backend's own: a table by name and revision, or null. Both sides must
    /// know what they speak of; nothing of it is a part of any promise.
    pub fn query(&self, name: &str, revision: u32) -> *const std::ffi::c_void {
        // SAFETY: the text lives for the call.
        unsafe { self.object.query(wire::Text::new(name), revision) }
    }

    fn call(&self, call: impl FnOnce(&mut wire::Error) -> Status) -> Result<(), ApiError> {
        ok(self.poison.status(|| self.info.id.clone(), call)?)
    }

    /// Whether both are the same backend of the same image.
    pub fn is(&self, other: &Backend) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&self.info).finish()
    }
}

fn missing(what: &str) -> ApiError {
    ApiError::new(
        Status::INTERNAL,
        what,
        "the backend answered OK and handed out nothing",
    )
}

/// One processor that scores frames. Clones are one open device, which is closed with the last
/// of them and of what was made from it.
#[derive(Clone)]
pub struct Device {
    inner: Arc<DeviceInner>,
}

struct DeviceInner {
    object: facade::DeviceObject,
    info: DeviceInfo,
    poison: Poison,
    backend: Backend,
}

impl Device {
    /// What the device is.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// The backend that it belongs to.
    pub fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    /// Whether both are the same open device.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Makes a call unless the device is poisoned; a panic poisons it.
    pub(crate) fn status(
        &self,
        call: impl FnOnce(&mut wire::Error) -> Status,
    ) -> Result<Status, ApiError> {
        self.inner.poison.status(|| self.name(), call)
    }

    /// As [`status`](Device::status), of a call that answers OK and nothing else.
    pub(crate) fn call(
        &self,
        call: impl FnOnce(&mut wire::Error) -> Status,
    ) -> Result<(), ApiError> {
        ok(self.status(call)?)
    }

    /// `backend:number`.
    fn name(&self) -> String {
        format!("{}:{}", self.inner.info.backend, self.inner.info.index)
    }

    /// Whether the device computes `feature` for frames of `format`, and how it reads them.
    ///
    /// # Errors
    /// The reason why not.
    pub fn supports(
        &self,
        feature: &FeatureRequest,
        format: &FrameFormat,
    ) -> Result<Support, ApiError> {
        let request = WireRequest::new(feature);
        let mut support = wire::Support::empty();
        self.call(|error| {
            let (feature, format) = (request.wire(feature), describe::wire_format(format));
            // SAFETY: `feature` and `request` outlive the call.
            unsafe {
                self.inner
                    .object
                    .supports(&feature, &format, &mut support, error)
            }
        })?;
        describe::support(&support)
    }

    /// Makes an extractor for all features of `plan`.
    ///
    /// # Errors
    /// A feature that [`supports`](Device::supports) refuses, lack of memory, an extractor that
    /// asks for more earlier frames than [`MAX_HISTORY`].
    pub fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Extractor, ApiError> {
        let requests: Vec<_> = plan.features.iter().map(WireRequest::new).collect();
        let features = plan.features.iter().zip(&requests);
        let features: Vec<_> = features
            .map(|(feature, request)| request.wire(feature))
            .collect();
        let wire = wire::PlanRequest {
            format: describe::wire_format(&plan.format),
            features: features.as_ptr(),
            feature_count: features.len(),
            ..wire::PlanRequest::empty()
        };
        let mut info = wire::ExtractorInfo::empty();
        let mut made = ROption::RNone;
        self.call(|error| {
            // SAFETY: `plan`, `requests` and `features` outlive the call.
            unsafe {
                self.inner
                    .object
                    .prepare(&wire, &mut made, &mut info, error)
            }
        })?;
        let object = made.into_option().ok_or_else(|| missing("extractor"))?;
        if info.history > MAX_HISTORY {
            let message = format!(
                "{} earlier frames, the most are {MAX_HISTORY}",
                info.history
            );
            return Err(ApiError::new(Status::RANGE, "history", message));
        }
        Ok(Extractor {
            object,
            info,
            device: self.clone(),
        })
    }

    /// Makes a frame of a producer's memory. Nothing is copied through the host. Draft.
    ///
    /// # Errors
    /// A device that takes in no frames of others; every field at fault, the first of them as
    /// the subject; [`Status::BUSY`] when only the acquire fence is not yet signalled.
    pub fn import(&self, descriptor: &ImportDescriptor<'_>) -> Result<DeviceFrame, ApiError> {
        let mut import = ROption::RNone;
        self.call(|error| self.inner.object.import(&mut import, error))?;
        let object = import.into_option().ok_or_else(|| missing("import"))?;
        let importer = Arc::new(Importer {
            object,
            device: self.clone(),
        });
        DeviceFrame::import(&importer, descriptor)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.inner.info).finish()
    }
}

/// A plan made ready on one device.
pub struct Extractor {
    object: facade::ExtractorObject,
    info: wire::ExtractorInfo,
    /// Closed after the extractor is gone: fields are dropped in their order.
    device: Device,
}

impl Extractor {
    /// The device that it runs on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many earlier frames a job must carry.
    pub fn history(&self) -> usize {
        self.info.history as usize
    }

    /// Values of one frame: the columns of each feature, features in the plan's order.
    pub fn columns(&self) -> usize {
        self.info.columns as usize
    }

    /// How many jobs the device wants submitted before the first is collected, at least one.
    pub fn in_flight(&self) -> usize {
        self.info.in_flight.max(1) as usize
    }

    /// Bytes of the device's memory that the plan holds; 0 if unknown.
    pub fn memory_bytes(&self) -> u64 {
        self.info.memory_bytes
    }

    /// Whether the extractor can read `frame` where it is. Asked for every frame before it is
    /// accepted into a run.
    ///
    /// # Errors
    /// The reason why not, with the kind of memory and the device that the frame belongs to.
    pub fn admits(&self, frame: &Arc<Frame>) -> Result<(), ApiError> {
        let wire = self.lend(frame);
        let admitted = self.device.call(|error| {
            // SAFETY: `frame` outlives the call.
            unsafe { self.object.admits(&wire, error) }
        });
        admitted.map_err(|mut error| {
            if let Frame::Device(frame) = &**frame {
                let owner = frame.device().info();
                error.message = format!(
                    "{}; the frame is of {}:{}",
                    error.message, owner.backend, owner.index
                );
            }
            error
        })
    }

    /// Starts the work on one frame. Jobs may come in any order and from any thread.
    ///
    /// # Errors
    /// What the device refuses or what failed on it.
    pub fn submit(&self, job: &FrameJob) -> Result<Ticket, ApiError> {
        let lend = |pair: &FramePair| [self.lend(&pair.reference), self.lend(&pair.distorted)];
        let point = |pair: &[wire::Frame; 2]| wire::FramePair {
            reference: &raw const pair[0],
            distorted: &raw const pair[1],
        };
        let earlier = &job.earlier[..job.earlier.len().min(MAX_HISTORY as usize)];
        let (pair, earlier) = (
            lend(&job.pair),
            earlier.iter().map(lend).collect::<Vec<_>>(),
        );
        let earlier: Vec<_> = earlier.iter().map(point).collect();
        let wire = wire::Job {
            earlier_count: earlier.len() as u32,
            index: job.index,
            pair: point(&pair),
            earlier: earlier.as_ptr(),
            ..wire::Job::empty()
        };
        let mut ticket = 0;
        self.device.call(|error| {
            // SAFETY: `job` and the structs made of it outlive the call.
            unsafe { self.object.submit(&wire, &mut ticket, error) }
        })?;
        Ok(Ticket(ticket))
    }

    /// Waits for a job and writes its values.
    ///
    /// # Errors
    /// An unknown ticket, a slice of another length than [`columns`](Extractor::columns), a
    /// failure of the device.
    pub fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError> {
        if values.len() != self.columns() {
            let message = format!("{} values, the plan has {}", values.len(), self.columns());
            return Err(ApiError::new(Status::INVALID, "values", message));
        }
        // What is not written must not look like a score.
        values.fill(Value::score(f64::NAN));
        self.device.call(|error| {
            let (room, count) = (values.as_mut_ptr().cast(), values.len());
            // SAFETY: `Value` is a transparent u64, and there are `count`.
            unsafe { self.object.collect(ticket.0, room, count, error) }
        })
    }

    /// How many frames were computed again since the extractor was made, because work on them was
    /// lost on the device; 0 of a backend that does not count them, and after a panic.
    pub fn repeats(&self) -> u64 {
        match self.device.inner.poison.0.get() {
            Some(_) => 0,
            None => self.object.repeats(),
        }
    }

    /// `frame` as it crosses the boundary; it borrows from the frame.
    fn lend(&self, frame: &Arc<Frame>) -> wire::Frame {
        let mut wire = wire::Frame {
            memory: frame.memory(),
            format: describe::wire_format(frame.format()),
            object: Arc::as_ptr(frame).cast(),
            retain: Some(retain),
            release: Some(release),
            ..wire::Frame::empty()
        };
        match &**frame {
            Frame::Device(frame) if frame.device().backend().is(self.device.backend()) => {
                wire.device_frame = frame.object();
            }
            Frame::Device(_) => {}
            Frame::Host(host) => {
                let view = host.view();
                for (index, plane) in wire.planes.iter_mut().enumerate() {
                    let Some(view) = view.plane(index) else { break };
                    *plane = view.lend();
                }
            }
        }
        debug_assert!(frame.memory() != MemoryKind::NONE);
        wire
    }
}

impl fmt::Debug for Extractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extractor")
            .field("info", &self.info)
            .field("device", &self.device)
            .finish()
    }
}

/// [`wire::Frame::retain`] of a [`Frame`].
unsafe extern "C" fn retain(object: *const wire::FrameObject) {
    // SAFETY: `lend` made it of an Arc that is alive while the frame is lent or retained
    // (contract of `wire::Frame`).
    unsafe { Arc::increment_strong_count(object.cast::<Frame>()) }
}

/// [`wire::Frame::release`] of a [`Frame`].
unsafe extern "C" fn release(object: *const wire::FrameObject) {
    // SAFETY: as `retain`, of which one call is undone here.
    unsafe { Arc::decrement_strong_count(object.cast::<Frame>()) }
}
