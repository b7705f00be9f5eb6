//! What backends, features and devices say of themselves, and what is asked of them, in safe
//! types. [`describe`](crate::describe) turns them into those of the wire and back.

use std::fmt;

use crate::format::FrameFormat;
use crate::kinds::{FenceKinds, MemoryKind, MemoryKinds, OptionKind, PixelFormats, PlaneUse};

/// What a backend says of itself. Made by [`new`](BackendInfo::new), then changed field by field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackendInfo {
    /// The name users type, of `[a-z0-9-]`.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The backend's own version.
    pub version: String,
    /// The library file the code came from, filled in by the loader; empty if it is part of the
    /// program.
    pub library: String,
    /// Who is asked first: backends of higher priority before those of lower, those of one
    /// priority by identifier. The CPU, which takes everything, has 0; a faster backend has more.
    pub priority: i32,
    /// Features that the backend brings along, beyond those every host knows.
    pub features: Vec<FeatureDescription>,
}

impl BackendInfo {
    /// A backend of priority 0 without features of its own.
    pub fn new(id: impl Into<String>, name: impl Into<String>, version: impl Into<String>) -> Self {
        BackendInfo {
            id: id.into(),
            name: name.into(),
            version: version.into(),
            library: String::new(),
            priority: 0,
            features: Vec::new(),
        }
    }
}

/// A feature that a backend brings along: each of its values is a score of one frame, a finite
/// number.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeatureDescription {
    /// The name users type, of `[a-z0-9_]`.
    pub name: String,
    /// One line for lists.
    pub summary: String,
    /// Paper, standard or file that defines it.
    pub source: String,
    /// Smallest width and height of a frame, in luma samples.
    pub min_size: (u32, u32),
    /// What it reads of a frame.
    pub planes: PlaneUse,
    /// Whether it must see every frame even when others are subsampled.
    pub every_frame: bool,
    /// Its options.
    pub options: Vec<OptionDescription>,
    /// Names of its scores in reports, of `[A-Za-z0-9_]`, in the order of their values.
    pub outputs: Vec<String>,
}

impl FeatureDescription {
    /// A feature of one score that bears its name, reads luma of frames of any size, and has no
    /// options.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        let name = name.into();
        FeatureDescription {
            outputs: vec![name.clone()],
            name,
            summary: summary.into(),
            source: source.into(),
            min_size: (1, 1),
            planes: PlaneUse::LUMA,
            every_frame: false,
            options: Vec::new(),
        }
    }
}

/// An option of a feature that a backend brings along.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptionDescription {
    /// Full name.
    pub name: String,
    /// Short name that appears in score names; the full name if there is none.
    pub alias: String,
    /// One sentence for people.
    pub help: String,
    /// Value when not given; its kind is that of the option.
    pub default: OptionValue,
    /// Smallest value of a number.
    pub min: f64,
    /// Largest value of a number.
    pub max: f64,
    /// Whether a value other than the default becomes part of the score names.
    pub in_names: bool,
}

impl OptionDescription {
    /// An option with its default and, for numbers, the smallest and largest value.
    pub fn new(
        name: impl Into<String>,
        default: OptionValue,
        (min, max): (f64, f64),
        help: impl Into<String>,
    ) -> Self {
        let name = name.into();
        OptionDescription {
            alias: name.clone(),
            name,
            help: help.into(),
            default,
            min,
            max,
            in_names: false,
        }
    }
}

/// What a device says of itself. Made by [`new`](DeviceInfo::new), then changed field by field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Identifier of the backend, filled in by the host.
    pub backend: String,
    /// Number of the device within its backend, filled in by the host.
    pub index: u32,
    /// A name for people.
    pub name: String,
    /// Instruction set in use, such as `portable` or `gfx1100`.
    pub isa: String,
    /// Bytes of memory; 0 if unknown.
    pub total_memory: u64,
    /// Kinds of memory whose frames the device reads.
    pub memory_kinds: MemoryKinds,
    /// Kinds of fence that are waited for before the first read.
    pub acquire_kinds: FenceKinds,
    /// Those of [`acquire_kinds`](DeviceInfo::acquire_kinds) that the device waits for itself;
    /// for the others the host waits.
    pub acquire_on_device: FenceKinds,
    /// Kinds of fence that can be signalled after the last read.
    pub release_kinds: FenceKinds,
    /// Those of [`release_kinds`](DeviceInfo::release_kinds) that the device signals itself.
    pub release_on_device: FenceKinds,
    /// PCI domain, bus, device and function, if known.
    pub pci: Option<[u32; 4]>,
}

impl DeviceInfo {
    /// A device of unknown memory that reads frames in host memory and knows no fences.
    pub fn new(name: impl Into<String>, isa: impl Into<String>) -> Self {
        DeviceInfo {
            backend: String::new(),
            index: 0,
            name: name.into(),
            isa: isa.into(),
            total_memory: 0,
            memory_kinds: MemoryKinds::of(&[MemoryKind::HOST]),
            acquire_kinds: FenceKinds::default(),
            acquire_on_device: FenceKinds::default(),
            release_kinds: FenceKinds::default(),
            release_on_device: FenceKinds::default(),
            pci: None,
        }
    }
}

/// A value of an option.
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

impl OptionValue {
    /// Its kind on the wire.
    pub const fn kind(&self) -> OptionKind {
        match self {
            OptionValue::Bool(_) => OptionKind::SWITCH,
            OptionValue::Int(_) => OptionKind::WHOLE,
            OptionValue::Float(_) => OptionKind::NUMBER,
            OptionValue::Text(_) => OptionKind::TEXT,
        }
    }
}

/// One option with its value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionSetting {
    /// Full name of the option.
    pub name: String,
    /// Its value.
    pub value: OptionValue,
}

impl OptionSetting {
    /// The option `name` set to `value`.
    pub fn new(name: impl Into<String>, value: OptionValue) -> Self {
        OptionSetting {
            name: name.into(),
            value,
        }
    }
}

/// Which device to open, and how.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OpenRequest {
    /// Number of the device within its backend.
    pub index: u32,
    /// Options of the backend. A name that it does not know is refused.
    pub options: Vec<OptionSetting>,
    pub(crate) external: [usize; 2],
}

impl OpenRequest {
    /// Device `index` with every option at its default.
    pub fn new(index: u32) -> Self {
        OpenRequest {
            index,
            ..OpenRequest::default()
        }
    }

    /// Objects of the backend's runtime that the device is to use, such as a context and a
    /// stream; what each is, the backend's documentation says.
    ///
    /// # Safety
    /// They are what the backend expects, and outlive the device.
    pub unsafe fn with_external(mut self, external: [usize; 2]) -> Self {
        self.external = external;
        self
    }

    /// The caller's objects; 0 for none.
    pub fn external(&self) -> [usize; 2] {
        self.external
    }
}

/// A feature with every option stated.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRequest {
    /// Name of the feature, such as `vif`.
    pub feature: String,
    /// All options of the feature, defaults included.
    pub options: Vec<OptionSetting>,
    /// Number of the definition that the host knows, raised when values get another meaning: who
    /// has another one refuses. 0 for a feature that the backend describes itself.
    pub definition: u32,
}

/// How a device can read a feature's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Support {
    /// Kinds of memory whose frames are read in place or uploaded.
    pub memory_kinds: MemoryKinds,
    /// Layouts that are read in place.
    pub pixel_formats: PixelFormats,
}

impl Support {
    /// Planar frames in host memory.
    pub const fn host() -> Self {
        Support {
            memory_kinds: MemoryKinds::of(&[MemoryKind::HOST]),
            pixel_formats: PixelFormats::PLANAR,
        }
    }
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
