//! The traits a backend implements, and the plain data that crosses them.

use std::fmt;
use std::sync::Arc;

use crate::error::ApiError;
use crate::format::FrameFormat;
use crate::frame::Frame;
use crate::import::Import;
use crate::kinds::{FenceKinds, MemoryKinds};

/// What a backend says of itself. Made by [`new`](BackendInfo::new), then changed field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackendInfo {
    /// The name users type, of `[a-z0-9-]`.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The backend's own version.
    pub version: String,
    /// The library file the code came from; empty if it is part of the program.
    pub library: String,
    /// Who is asked first: backends of higher priority before those of lower, those of one
    /// priority by identifier. The CPU, which takes everything, has 0; a faster backend has more.
    pub priority: i32,
}

impl BackendInfo {
    /// A backend that is part of the program, of priority 0.
    pub fn new(id: impl Into<String>, name: impl Into<String>, version: impl Into<String>) -> Self {
        BackendInfo {
            id: id.into(),
            name: name.into(),
            version: version.into(),
            library: String::new(),
            priority: 0,
        }
    }
}

/// What a device says of itself. Made by [`new`](DeviceInfo::new), then changed field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Identifier of the backend.
    pub backend: String,
    /// Number of the device within its backend.
    pub index: u32,
    /// A name for people.
    pub name: String,
    /// Instruction set in use, such as `portable` or `gfx1100`.
    pub isa: String,
    /// Bytes of memory; 0 if unknown.
    pub total_memory: u64,
    /// Kinds of memory whose frames the device reads.
    pub memory_kinds: MemoryKinds,
    /// Kinds of fence that it waits for before it reads.
    pub acquire_kinds: FenceKinds,
    /// Kinds of fence that it can signal after its last read.
    pub release_kinds: FenceKinds,
}

impl DeviceInfo {
    /// A device of unknown memory that reads no frames yet and knows no fences.
    pub fn new(
        backend: impl Into<String>,
        index: u32,
        name: impl Into<String>,
        isa: impl Into<String>,
    ) -> Self {
        DeviceInfo {
            backend: backend.into(),
            index,
            name: name.into(),
            isa: isa.into(),
            total_memory: 0,
            memory_kinds: MemoryKinds::default(),
            acquire_kinds: FenceKinds::default(),
            release_kinds: FenceKinds::default(),
        }
    }
}

/// A value of a feature option.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i32),
    /// A number.
    Float(f64),
    /// A word or a path.
    Text(String),
}

/// One option with its value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSetting {
    /// Full name of the option.
    pub name: String,
    /// Its value.
    pub value: OptionValue,
}

/// A feature with every option stated.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRequest {
    /// Name of the feature, such as `vif`.
    pub feature: String,
    /// All options of the feature, defaults included.
    pub options: Vec<OptionSetting>,
}

/// What an extractor is to compute for every frame it is given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanRequest<'a> {
    /// Shape of every frame of the clip.
    pub format: FrameFormat,
    /// Features, in the order of their values.
    pub features: &'a [FeatureRequest],
}

impl<'a> PlanRequest<'a> {
    /// A plan of `features` over frames of `format`.
    pub fn new(format: FrameFormat, features: &'a [FeatureRequest]) -> Self {
        PlanRequest { format, features }
    }
}

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
    /// fewer only at the start of the clip. There are more when others look further back.
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

/// One number that an extractor returns: an `f64` score, or an exact unsigned count where a
/// sum over frames must not round.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Value(u64);

impl Value {
    /// Wraps a score.
    pub fn score(score: f64) -> Self {
        Value(score.to_bits())
    }

    /// Wraps a count.
    pub fn count(count: u64) -> Self {
        Value(count)
    }

    /// Reads a score.
    pub fn as_score(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// Reads a count.
    pub fn as_count(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({:#x} = {})", self.0, self.as_score())
    }
}

/// Names a submitted job until its values are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// A plan made ready on one device.
///
/// Work that goes on after [`submit`](Extractor::submit) keeps clones of the frames it reads, and
/// drops them when the ticket is collected or the extractor goes.
pub trait Extractor: Send + Sync {
    /// How many earlier frames a job must carry.
    fn history(&self) -> usize;

    /// Values of one frame: the columns of each feature, features in the plan's order.
    fn columns(&self) -> usize;

    /// Whether the extractor can read `frame` where it is. Asked for every frame before it is
    /// accepted into the run, so that [`submit`](Extractor::submit) never sees another one.
    ///
    /// # Errors
    /// The reason why not, with the kind of memory and the device that the frame belongs to.
    fn admits(&self, frame: &Frame) -> Result<(), ApiError>;

    /// Starts the work on one frame. Jobs may come in any order and from any thread.
    ///
    /// # Errors
    /// What the device refuses or what failed on it.
    fn submit(&self, job: &FrameJob) -> Result<Ticket, ApiError>;

    /// Waits for a job and writes its values.
    ///
    /// # Errors
    /// An unknown ticket, a slice of another length than [`columns`](Extractor::columns), a
    /// failure of the device.
    fn collect(&self, ticket: Ticket, values: &mut [Value]) -> Result<(), ApiError>;
}

/// One processor that scores frames.
pub trait Device: Send + Sync {
    /// What the device is.
    fn info(&self) -> &DeviceInfo;

    /// Whether the device computes `feature` for frames of `format`. Where a frame may be is said
    /// by [`DeviceInfo::memory_kinds`] and, frame by frame, by [`Extractor::admits`].
    ///
    /// # Errors
    /// The reason why not.
    fn supports(&self, feature: &FeatureRequest, format: &FrameFormat) -> Result<(), ApiError>;

    /// Makes an extractor for all features of `plan`.
    ///
    /// # Errors
    /// A feature that [`supports`](Device::supports) refuses, or lack of memory.
    fn prepare(&self, plan: &PlanRequest<'_>) -> Result<Box<dyn Extractor>, ApiError>;

    /// The device's way to take in frames that it does not own, if it has one. Draft, as all of
    /// [`Import`].
    fn import(&self) -> Option<&dyn Import>;
}

/// A family of devices behind one runtime. The CPU is one, too.
pub trait GpuBackend: Send + Sync {
    /// What the backend is.
    fn info(&self) -> &BackendInfo;

    /// The devices present, which may be none.
    ///
    /// # Errors
    /// A runtime that does not answer.
    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError>;

    /// Opens device `index`.
    ///
    /// # Errors
    /// No such device, or one that cannot be used, with the reason.
    fn open(&self, index: u32) -> Result<Arc<dyn Device>, ApiError>;
}

/// A backend that is part of this program. Backends register themselves with
/// `inventory::submit!(BuiltinBackend(make))`; a loaded library has its own list.
pub struct BuiltinBackend(pub fn() -> Arc<dyn GpuBackend>);

inventory::collect!(BuiltinBackend);

impl BuiltinBackend {
    /// Makes all of them, in no particular order.
    pub fn all() -> impl Iterator<Item = Arc<dyn GpuBackend>> {
        inventory::iter::<BuiltinBackend>().map(|entry| (entry.0)())
    }
}
