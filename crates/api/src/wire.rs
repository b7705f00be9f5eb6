//! The wire: every struct and function that crosses the boundary between a host and a plugin.
//!
//! A plugin is a shared library with one exported symbol, [`ENTRY_SYMBOL`], of type
//! [`PluginEntry`]. The host calls it once with what it offers ([`Host`]); the plugin answers
//! with what it is ([`Plugin`]) and the tables of its backends ([`Backend`]). From then on the
//! host calls functions of the tables. `include/vmafx/plugin.h` is generated from this file,
//! its comments included, so they speak of C as much as of Rust.
//!
//! What must stay true:
//! - A struct that starts with `struct_size` grows at its end, and nowhere else. Whoever writes
//!   one sets `struct_size` to the size it was compiled with; whoever reads one takes no more
//!   than both sides know, and zero for the rest. A struct without `struct_size` never changes.
//! - Every field and function has a revision (`r1`, `r2` …), raised once a release: `cargo xtask
//!   abi` compares the layout with `abi/plugin.lock` and accepts appends only. What is marked
//!   *draft* is outside that promise: two sides use it only if their [`DRAFT`] numbers are equal.
//! - A null function is one that is not offered. Fields and bits that no revision defines are
//!   zero, and readers refuse others. Whoever talks to an older side says nothing that the
//!   revision of [`Plugin::abi_chosen`] does not define.
//! - The functions of a table may be called from any thread, several at once, those of one
//!   extractor among them; what ends an object (`device_close`, `extractor_destroy`,
//!   `frame_release`, `fence_destroy`) comes once, after all its other calls have returned. No
//!   thread owns a device: each function sets what its runtime keeps for a thread.
//! - A call succeeds with OK and nothing else, but for [`Import::fence_poll`], which may be
//!   PENDING. After PANIC the device that the call was for, or the backend, is only closed.
//! - Text and arrays that a plugin hands out in [`Plugin`], [`BackendInfo`], [`FeatureInfo`],
//!   [`OptionInfo`] and [`OutputInfo`] live as long as the process; everything that is passed to
//!   a function is valid until that function returns, and no longer.
//! - No function lets a panic or an exception out, calls `exit`, changes the locale, the working
//!   directory, signal handlers or the floating-point environment, or calls back into the host
//!   but for [`Host::log`], [`Frame::retain`] and [`Frame::release`].

use std::ffi::{c_char, c_void};

use abi_stable::StableAbi;

use crate::kinds::{
    FenceKind, FenceKinds, LogLevel, MemoryKind, MemoryKinds, OptionKind, PixelFormat,
    PixelFormats, PlaneUse, Status,
};

/// Major number of the wire. Another major has another entry symbol.
pub const ABI_MAJOR: u32 = 1;
/// Newest revision of the wire that this header knows.
pub const ABI_REVISION: u32 = 2;
/// Number of the draft parts. Raised whenever one of them changes.
pub const DRAFT: u32 = 1;
/// The one symbol of a plugin, of type [`PluginEntry`].
pub const ENTRY_SYMBOL: &str = "vmafx_plugin_entry_v1";

/// Bytes of [`Error::subject`], the final zero included.
pub const SUBJECT_CAPACITY: usize = 128;
/// Bytes of [`Error::message`], the final zero included.
pub const MESSAGE_CAPACITY: usize = 2048;
/// Bytes of [`DeviceInfo::name`], the final zero included.
pub const NAME_CAPACITY: usize = 256;
/// Bytes of [`DeviceInfo::isa`], the final zero included.
pub const ISA_CAPACITY: usize = 64;
/// Most earlier frames that an extractor may ask for.
pub const MAX_HISTORY: u32 = 16;
/// Most scores that a feature may have.
pub const MAX_OUTPUTS: u32 = 64;

/// Flag of [`FeatureInfo::flags`]: the feature must see every frame of the clip, even when
/// only every n-th is scored.
pub const FEATURE_EVERY_FRAME: u32 = 1;

/// UTF-8 text of `size` bytes without a final zero. `data` may be null if `size` is 0.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Text {
    /// First byte.
    pub data: *const c_char,
    /// Number of bytes.
    pub size: usize,
}

/// A backend's own state, made by the plugin.
#[derive(Debug, StableAbi)]
#[repr(C)]
pub struct BackendObject {
    _opaque: [u8; 0],
}

/// An open device, made by [`Backend::device_open`].
#[derive(Debug, StableAbi)]
#[repr(C)]
pub struct DeviceObject {
    _opaque: [u8; 0],
}

/// A plan made ready, made by [`Backend::device_prepare`].
#[derive(Debug, StableAbi)]
#[repr(C)]
pub struct ExtractorObject {
    _opaque: [u8; 0],
}

/// The host's own object behind a [`Frame`].
#[derive(Debug, StableAbi)]
#[repr(C)]
pub struct FrameObject {
    _opaque: [u8; 0],
}

/// A frame in memory of a device, made by [`Import::frame_import`].
#[derive(Debug, StableAbi)]
#[repr(C)]
pub struct DeviceFrameObject {
    _opaque: [u8; 0],
}

/// Why a call failed, in words. The caller provides it, zeroed, with `struct_size` set; a null
/// pointer says that it does not want to know. The callee fills it in when it returns a
/// negative status, as UTF-8 that ends with a zero byte.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Error {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The number that the device's runtime gives the failure; 0 for none.
    pub code: i64,
    /// The argument or object at fault, such as `vif` or `desc.plane[1].pitch`.
    pub subject: [c_char; SUBJECT_CAPACITY],
    /// One sentence for people: the value, the limit, what to do.
    pub message: [c_char; MESSAGE_CAPACITY],
}

/// Shape of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, StableAbi)]
#[repr(C)]
pub struct Format {
    /// Luma samples in a row, 1 to 32768.
    pub width: u32,
    /// Luma rows, 1 to 32768.
    pub height: u32,
    /// Layout of the samples. Chroma sizes round up.
    pub pixel_format: PixelFormat,
    /// Bits of a sample, 8 to 16. Samples of 8 bits are bytes, deeper ones are 16-bit words in
    /// the machine's byte order with the value in the low bits.
    pub depth: u32,
    /// Zero; for what the samples mean, such as their colours.
    pub reserved: [u32; 4],
}

/// A plane in host memory.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Plane {
    /// First sample of the first row, aligned to its size.
    pub data: *const c_void,
    /// Bytes from row to row, a multiple of the size of a sample.
    pub stride_bytes: u64,
    /// Samples in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// A frame that the host lends for the length of a call. Nobody changes its samples. Who needs
/// it for longer copies this struct and calls `retain` before the call returns, and `release`
/// once for every `retain`, from any thread and holding no lock: the last `release` of a device's
/// frame calls [`Import::frame_release`].
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Frame {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Where the samples are.
    pub memory: MemoryKind,
    /// Shape of the frame; its layout is planar.
    pub format: Format,
    /// Planes in host memory: as many as the layout has; all zero if `memory` is of another
    /// kind.
    pub planes: [Plane; 3],
    /// The device's frame if `memory` is not the host's and the frame was made by this
    /// backend, else null.
    pub device_frame: *mut DeviceFrameObject,
    /// For `retain` and `release`.
    pub object: *const FrameObject,
    /// Keeps the samples.
    pub retain: Option<unsafe extern "C" fn(object: *const FrameObject)>,
    /// Gives the samples back.
    pub release: Option<unsafe extern "C" fn(object: *const FrameObject)>,
}

/// A reference frame and what is scored against it.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct FramePair {
    /// The original.
    pub reference: *const Frame,
    /// What is scored.
    pub distorted: *const Frame,
}

/// One frame to score.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Job {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Number of `earlier` frames.
    pub earlier_count: u32,
    /// Number of the frame in the scored clip, from 0.
    pub index: u64,
    /// The frame itself.
    pub pair: FramePair,
    /// Earlier frames, the nearest first: at least as many as [`ExtractorInfo::history`], fewer
    /// only at the start of the clip.
    pub earlier: *const FramePair,
}

/// Value of an option; `kind` says which field counts.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct OptionValue {
    /// Kind of the value.
    pub kind: OptionKind,
    /// Zero.
    pub reserved: u32,
    /// A switch (0 or 1) or a whole number.
    pub whole: i64,
    /// A number.
    pub number: f64,
    /// A word or a path.
    pub text: Text,
}

/// One option with its value in force.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct OptionSetting {
    /// Full name of the option.
    pub name: Text,
    /// Its value.
    pub value: OptionValue,
}

/// A feature with every option stated, defaults included.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct FeatureRequest {
    /// Name of the feature.
    pub feature: Text,
    /// Its options.
    pub options: *const OptionSetting,
    /// Number of options.
    pub option_count: usize,
    /// Number of the definition that the host knows, raised when values get another meaning: who
    /// has another one refuses. 0 for a feature that the backend describes itself.
    pub definition: u32,
    /// Zero.
    pub reserved: u32,
}

/// How a device can read a feature's frames.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Support {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Kinds of memory whose frames are read in place or uploaded.
    pub memory_kinds: MemoryKinds,
    /// Layouts that are read in place.
    pub pixel_formats: PixelFormats,
}

/// What an extractor is to compute for every frame it is given.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct PlanRequest {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Shape of every frame of the clip.
    pub format: Format,
    /// Features, in the order of their values.
    pub features: *const FeatureRequest,
    /// Number of features.
    pub feature_count: usize,
}

/// What a device says of a plan that it made ready.
#[derive(Clone, Copy, Debug, Default, StableAbi)]
#[repr(C)]
pub struct ExtractorInfo {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Values of one frame: those of each feature, features in the plan's order.
    pub columns: u32,
    /// How many earlier frames a job must carry, at most [`MAX_HISTORY`].
    pub history: u32,
    /// How many jobs the device wants submitted before the first is collected, to be busy all
    /// the time; 0 and 1 say that one is enough.
    pub in_flight: u32,
    /// Bytes of the device's memory that the plan holds; 0 if unknown.
    pub memory_bytes: u64,
}

/// One option of a feature that a backend describes.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct OptionInfo {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// 1 if a value other than the default becomes part of the score names, else 0.
    pub in_names: u32,
    /// Full name.
    pub name: Text,
    /// Short name that appears in score names; empty for none.
    pub alias: Text,
    /// One sentence for people.
    pub help: Text,
    /// Value when not given; its kind is that of the option.
    pub default_value: OptionValue,
    /// Smallest value of a number, whole or not.
    pub min: f64,
    /// Largest value of a number, whole or not. A whole number lies within 32 bits.
    pub max: f64,
}

/// One score of a feature that a backend describes.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct OutputInfo {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The name in reports, of letters, digits and underscores.
    pub name: Text,
}

/// A feature that a backend brings along. Its values are scores of single frames, finite
/// `double`s; how they are pooled is the host's business.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct FeatureInfo {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// [`FEATURE_EVERY_FRAME`] or 0.
    pub flags: u32,
    /// The name users type, of lower-case letters, digits and underscores.
    pub name: Text,
    /// One line for lists.
    pub summary: Text,
    /// Paper, standard or file that defines it.
    pub source: Text,
    /// Smallest width of a frame, in luma samples.
    pub min_width: u32,
    /// Smallest height of a frame, in luma rows.
    pub min_height: u32,
    /// What it reads of a frame.
    pub planes: PlaneUse,
    /// Zero.
    pub reserved: u32,
    /// Its options.
    pub options: *const *const OptionInfo,
    /// Number of options.
    pub option_count: usize,
    /// Its scores, in the order of their values.
    pub outputs: *const *const OutputInfo,
    /// Number of scores, 1 to [`MAX_OUTPUTS`].
    pub output_count: usize,
}

/// What a backend says of itself.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct BackendInfo {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Who is asked first: backends of higher priority before those of lower, those of one
    /// priority by identifier. The CPU, which takes everything, has 0.
    pub priority: i32,
    /// The name users type, of lower-case letters, digits and hyphens.
    pub id: Text,
    /// A name for people.
    pub name: Text,
    /// The backend's own version, as in semantic versioning.
    pub version: Text,
    /// Features that the backend brings along.
    pub features: *const *const FeatureInfo,
    /// Number of features.
    pub feature_count: usize,
}

/// What a device says of itself.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct DeviceInfo {
    /// Size of the caller's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Kinds of memory whose frames the device reads.
    pub memory_kinds: MemoryKinds,
    /// Kinds of fence that are waited for before the first read.
    pub acquire_kinds: FenceKinds,
    /// Those of `acquire_kinds` that the device waits for itself; for the others the host waits.
    pub acquire_on_device: FenceKinds,
    /// Kinds of fence that can be signalled after the last read.
    pub release_kinds: FenceKinds,
    /// Those of `release_kinds` that the device signals itself.
    pub release_on_device: FenceKinds,
    /// Bytes of memory; 0 if unknown.
    pub total_memory: u64,
    /// PCI domain, bus, device and function; all bits set if unknown.
    pub pci: [u32; 4],
    /// A name for people.
    pub name: [c_char; NAME_CAPACITY],
    /// Instruction set in use, such as `portable` or the name of a GPU target.
    pub isa: [c_char; ISA_CAPACITY],
}

/// Which device to open, and how.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct DeviceDescriptor {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Number of the device, below the answer of [`Backend::device_count`].
    pub index: u32,
    /// Zero.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Objects of the backend's runtime that the caller owns, such as a stream or a context,
    /// and that outlive the device; 0 for none.
    pub external: [usize; 2],
    /// Options of the backend. A name that it does not know is refused.
    pub options: *const OptionSetting,
    /// Number of options.
    pub option_count: usize,
}

/// A fence as it crosses the boundary. Draft.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Fence {
    /// What it is.
    pub kind: FenceKind,
    /// Descriptor of a sync_file or DRM file, else -1.
    pub fd: i32,
    /// Event, sync object or semaphore, by kind.
    pub handle: u64,
    /// Point of a timeline.
    pub value: u64,
}

/// One plane of a frame that its producer describes. Draft.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct ImportPlane {
    /// Pointer, array or texture, by memory kind.
    pub handle: u64,
    /// File descriptor of the memory, -1 if it has none. The caller keeps it.
    pub fd: i32,
    /// Plane within the object.
    pub plane_index: u32,
    /// Bytes from the object's start to the first row.
    pub offset: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// DRM format modifier; 0 is linear.
    pub modifier: u64,
    /// Bytes of the object as the producer states them; 0 if not stated.
    pub size: u64,
}

/// A frame that its producer describes. Its memory stays as it is until the release. Draft.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct ImportDescriptor {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Kind of memory of all planes.
    pub memory: MemoryKind,
    /// Shape of the frame and layout of the producer's memory.
    pub format: Format,
    /// Number of planes.
    pub plane_count: u32,
    /// [`IMPORT_ALLOW_COPY`] or 0.
    pub flags: u32,
    /// The planes.
    pub planes: [ImportPlane; 3],
    /// What to wait for before the first read, borrowed for the call.
    pub acquire: Fence,
}

/// Flag of [`ImportDescriptor::flags`]: a copy within the device is allowed where reading in
/// place is not possible. Draft.
pub const IMPORT_ALLOW_COPY: u32 = 1;

/// How a device takes in frames that it does not own. Draft: the host uses it only if `draft`
/// is the host's own [`DRAFT`].
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Import {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// The writer's [`DRAFT`].
    pub draft: u32,
    /// Makes a frame of the producer's memory. Nothing is copied through the host. Writes the
    /// frame and the shape that an extractor will see.
    pub frame_import: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            descriptor: *const ImportDescriptor,
            frame: *mut *mut DeviceFrameObject,
            format: *mut Format,
            error: *mut Error,
        ) -> Status,
    >,
    /// Drops the host's reference. The release fences tell when the device has read it last.
    pub frame_release: Option<unsafe extern "C" fn(frame: *mut DeviceFrameObject)>,
    /// A fence of `kind` that is signalled after the last read.
    pub frame_release_fence: Option<
        unsafe extern "C" fn(
            frame: *mut DeviceFrameObject,
            kind: FenceKind,
            fence: *mut Fence,
            error: *mut Error,
        ) -> Status,
    >,
    /// OK if the fence is signalled, PENDING if not; a negative status if its work failed.
    pub fence_poll: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            fence: *const Fence,
            error: *mut Error,
        ) -> Status,
    >,
    /// Waits on the host for at most `timeout_ns`; TIMEOUT when the time ran out.
    pub fence_wait: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            fence: *const Fence,
            timeout_ns: u64,
            error: *mut Error,
        ) -> Status,
    >,
    /// Makes a fence of `kind` that is signalled when `fence` is.
    pub fence_export: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            fence: *const Fence,
            kind: FenceKind,
            exported: *mut Fence,
            error: *mut Error,
        ) -> Status,
    >,
    /// Drops a fence that a function of this table made, once.
    pub fence_destroy: Option<unsafe extern "C" fn(device: *mut DeviceObject, fence: *mut Fence)>,
}

/// A backend: what it is, and its functions. The plugin owns the table, which lives as long as
/// the process. `object` and devices may be used from any thread at once. The host closes a
/// device when all that was made of it is gone.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Backend {
    /// Size of the writer's struct.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// First argument of the functions of the backend itself; may be null.
    pub object: *mut BackendObject,
    /// What the backend is.
    pub info: *const BackendInfo,
    /// How its devices take in frames of others; null if they do not. Draft.
    pub import: *const Import,
    /// Counts the devices present, which may be none. NOT_FOUND says why there is none on this
    /// machine, such as a runtime that is not installed: users who ask are told, nobody is warned.
    /// Required.
    pub device_count: Option<
        unsafe extern "C" fn(
            object: *mut BackendObject,
            count: *mut u32,
            error: *mut Error,
        ) -> Status,
    >,
    /// Describes device `index` without opening it. Required.
    pub device_info: Option<
        unsafe extern "C" fn(
            object: *mut BackendObject,
            index: u32,
            info: *mut DeviceInfo,
            error: *mut Error,
        ) -> Status,
    >,
    /// Opens a device, and describes it as it was opened. Required.
    pub device_open: Option<
        unsafe extern "C" fn(
            object: *mut BackendObject,
            descriptor: *const DeviceDescriptor,
            device: *mut *mut DeviceObject,
            info: *mut DeviceInfo,
            error: *mut Error,
        ) -> Status,
    >,
    /// Closes a device. Required.
    pub device_close: Option<unsafe extern "C" fn(device: *mut DeviceObject)>,
    /// Whether the device computes a feature for frames of a format, and if so how. NOT_FOUND
    /// says that it knows no such feature, which is nothing to tell a user of. Required.
    pub device_supports: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            feature: *const FeatureRequest,
            format: *const Format,
            support: *mut Support,
            error: *mut Error,
        ) -> Status,
    >,
    /// Makes a plan ready. Required.
    pub device_prepare: Option<
        unsafe extern "C" fn(
            device: *mut DeviceObject,
            plan: *const PlanRequest,
            extractor: *mut *mut ExtractorObject,
            info: *mut ExtractorInfo,
            error: *mut Error,
        ) -> Status,
    >,
    /// Drops a plan. Work under way is waited for. Required.
    pub extractor_destroy: Option<unsafe extern "C" fn(extractor: *mut ExtractorObject)>,
    /// Whether the extractor can read a frame where it is. Asked for every frame before it is
    /// accepted into a run. If null, frames in host memory are read and no others.
    pub extractor_admits: Option<
        unsafe extern "C" fn(
            extractor: *mut ExtractorObject,
            frame: *const Frame,
            error: *mut Error,
        ) -> Status,
    >,
    /// Starts the work on one frame and names it by a ticket. Jobs come in any order. Required.
    pub extractor_submit: Option<
        unsafe extern "C" fn(
            extractor: *mut ExtractorObject,
            job: *const Job,
            ticket: *mut u64,
            error: *mut Error,
        ) -> Status,
    >,
    /// Waits for a job and writes its values: each is the bits of a `double`, or an unsigned
    /// count where the feature's definition says so. `count` is [`ExtractorInfo::columns`].
    /// Whatever comes back, the ticket is spent, and refused if it comes again. Tickets that are
    /// never collected end with the extractor. Required.
    pub extractor_collect: Option<
        unsafe extern "C" fn(
            extractor: *mut ExtractorObject,
            ticket: u64,
            values: *mut u64,
            count: usize,
            error: *mut Error,
        ) -> Status,
    >,
    /// Experiments, outside every promise: a table of the plugin's own by name and revision, or
    /// null.
    pub query: Option<
        unsafe extern "C" fn(
            object: *mut BackendObject,
            name: Text,
            revision: u32,
        ) -> *const c_void,
    >,
    /// Counts the frames that the extractor computed again since it was made, because work on
    /// them was lost on the device. Their values are right all the same; the host tells users of
    /// them. Null says that none ever is. Came with revision 2.
    pub extractor_repeats: Option<unsafe extern "C" fn(extractor: *mut ExtractorObject) -> u64>,
}

/// What a plugin says of itself. The host provides it, zeroed, with `struct_size` set.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Plugin {
    /// Size of the host's struct.
    pub struct_size: u32,
    /// The revision that both sides use: the smaller of [`Host::abi_max`] and the plugin's own.
    pub abi_chosen: u32,
    /// The plugin's own version, as in semantic versioning.
    pub version: Text,
    /// Its licence, as an SPDX expression.
    pub license: Text,
    /// Tables of its backends.
    pub backends: *const *const Backend,
    /// Number of backends.
    pub backend_count: usize,
    /// Joins the plugin's threads and releases its devices before the process ends. May be
    /// called more than once. Null if there is nothing to do.
    pub quiesce: Option<unsafe extern "C" fn()>,
}

/// What the host offers. It lives as long as the process.
#[derive(Clone, Copy, Debug, StableAbi)]
#[repr(C)]
pub struct Host {
    /// Size of the host's struct.
    pub struct_size: u32,
    /// Oldest revision that the host takes.
    pub abi_min: u32,
    /// Newest revision that the host knows.
    pub abi_max: u32,
    /// Zero.
    pub reserved: u32,
    /// Name and version of the host, for people.
    pub version: Text,
    /// First argument of `log`.
    pub log_context: *mut c_void,
    /// Takes a line of the log, from any thread. May be null.
    pub log: Option<unsafe extern "C" fn(context: *mut c_void, level: LogLevel, text: Text)>,
}

/// The plugin's entry. Called once, under the loader's lock, never again and never in parallel
/// with another plugin's. It must not touch a device: what it finds is told by
/// [`Backend::device_count`]. Answers OK, or ABI if it shares no revision with the host.
pub type PluginEntry = unsafe extern "C" fn(host: *const Host, plugin: *mut Plugin) -> Status;
