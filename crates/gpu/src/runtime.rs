//! The one seam between this crate and a GPU's runtime.
//!
//! A [`Runtime`] is one opened device of one runtime. Handles and addresses are the runtime's
//! own, as plain numbers; the types of the module `resources` own them and are the only
//! callers of the `unsafe` methods.
//!
//! What must stay true: work goes to a stream that is named, never to a default stream; a method
//! that a runtime cannot offer answers [`Fault::NotSupported`], it never aborts; failures name
//! the call and the runtime's own code.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use vmafx_api::{ApiError, Status};

/// Address in a device's memory; 0 is no address.
pub type DeviceAddress = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);
    )*};
}

handles! {
    /// A queue of work that runs in order, beside other queues.
    StreamHandle;
    /// A point in a stream's work.
    EventHandle;
    /// Loaded device code.
    ModuleHandle;
    /// A kernel of a module.
    FunctionHandle;
    /// A recorded sequence of work, ready to launch.
    GraphHandle;
}

/// Rows to copy: `rows` rows of `width` bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of a row.
    pub width: usize,
    /// Number of rows.
    pub rows: usize,
}

impl Extent {
    /// Bytes of all rows, if they touch one another at both ends of a copy.
    pub fn in_one_piece(self, to_pitch: usize, from_pitch: usize) -> Option<usize> {
        let Extent { width, rows } = self;
        let touching = rows <= 1 || (to_pitch == width && from_pitch == width);
        touching.then_some(width * rows)
    }
}

/// One device, opened through its runtime.
///
/// Unless said otherwise, methods need the device to be current on the calling thread: see
/// [`enter`]. They may be called from any thread at once.
///
/// # Safety
/// Whoever implements it vouches that memory is as large as was asked for, exclusive and, in the case
/// of pinned memory, writable by the host; that handles are those of the objects made; and that the
/// methods do what they say and no more.
///
/// # Safety of the `unsafe` methods
/// Handles and addresses are of this runtime, alive, and not destroyed while the call or the work
/// it enqueues uses them; memory that enqueued work reads or writes stays valid, and is not used
/// in conflict, until that work is complete.
pub unsafe trait Runtime: Send + Sync + fmt::Debug + 'static {
    /// Makes the device current on this thread; returns what was current, for
    /// [`restore`](Runtime::restore).
    ///
    /// # Errors
    /// A device that cannot be made current.
    fn make_current(&self) -> Result<usize, RuntimeError>;

    /// Makes `previous` current again on this thread.
    fn restore(&self, previous: usize);

    /// Allocates `bytes` of device memory, aligned to 256 bytes at least.
    ///
    /// # Errors
    /// [`Fault::OutOfMemory`].
    fn allocate(&self, bytes: usize) -> Result<DeviceAddress, RuntimeError>;

    /// Frees device memory. May wait for the device.
    ///
    /// # Safety
    /// See the trait; the memory is not used by any work.
    unsafe fn free(&self, memory: DeviceAddress);

    /// Allocates `bytes` of host memory that the device copies from and to without staging.
    ///
    /// # Errors
    /// [`Fault::OutOfMemory`].
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut c_void, RuntimeError>;

    /// Frees memory of [`allocate_pinned`](Runtime::allocate_pinned).
    ///
    /// # Safety
    /// See the trait; the memory is not used by any work.
    unsafe fn free_pinned(&self, memory: *mut c_void);

    /// Whether the host memory at `memory` can be copied from without staging. Looks at the address
    /// alone, which may be any.
    fn is_pinned(&self, memory: *const c_void) -> bool;

    /// Bytes of device memory that are free, and all there are.
    ///
    /// # Errors
    /// A runtime that does not answer.
    fn memory(&self) -> Result<(u64, u64), RuntimeError>;

    /// Makes a stream that does not synchronise with the default stream.
    ///
    /// # Errors
    /// What the runtime refuses.
    fn create_stream(&self) -> Result<StreamHandle, RuntimeError>;

    /// Destroys a stream; its work goes on to its end.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn destroy_stream(&self, stream: StreamHandle);

    /// Hands what was enqueued over to the device, where the runtime might still hold it back.
    /// To be called after the last enqueueing of a unit of work.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// A failure of earlier work.
    unsafe fn submit(&self, stream: StreamHandle) -> Result<(), RuntimeError>;

    /// Waits on the host until all work of the stream is complete.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// A failure of earlier work.
    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<(), RuntimeError>;

    /// Makes an event; one that is `timed` can be asked for times and costs more.
    ///
    /// # Errors
    /// What the runtime refuses.
    fn create_event(&self, timed: bool) -> Result<EventHandle, RuntimeError>;

    /// Destroys an event.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn destroy_event(&self, event: EventHandle);

    /// Moves the event to the end of the stream's work so far.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), RuntimeError>;

    /// Makes later work of `stream` wait for the event, on the device. The event may be one that
    /// a caller made.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), RuntimeError>;

    /// Whether the event has been reached.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// A failure of the work before it.
    unsafe fn reached(&self, event: EventHandle) -> Result<bool, RuntimeError>;

    /// Waits on the host until the event is reached, without occupying a processor.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// A failure of the work before it.
    unsafe fn await_event(&self, event: EventHandle) -> Result<(), RuntimeError>;

    /// Milliseconds between two timed events that have been reached.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// Events that are not timed or not reached.
    unsafe fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f32, RuntimeError>;

    /// Enqueues a copy of rows from host memory to device memory; pitches are in bytes. Host
    /// memory that is not pinned may be read before the call returns.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn upload(
        &self,
        to: (DeviceAddress, usize),
        from: (*const c_void, usize),
        extent: Extent,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError>;

    /// Enqueues a copy of `bytes` from device memory to pinned host memory.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn download(
        &self,
        to: *mut c_void,
        from: DeviceAddress,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError>;

    /// Loads device code: a code object or PTX, as the runtime takes it.
    ///
    /// # Errors
    /// [`Fault::BadModule`] with the runtime's words.
    fn load_module(&self, object: &[u8]) -> Result<ModuleHandle, RuntimeError>;

    /// Unloads device code.
    ///
    /// # Safety
    /// See the trait; no kernel of it is running or recorded.
    unsafe fn unload_module(&self, module: ModuleHandle);

    /// The kernel `name` of a module.
    ///
    /// # Safety
    /// See the trait.
    ///
    /// # Errors
    /// No such kernel.
    unsafe fn function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle, RuntimeError>;

    /// Enqueues a kernel of `grid` blocks of `threads` threads in a row. `arguments` are the
    /// bytes of its one parameter, read before the call returns.
    ///
    /// # Safety
    /// See the trait; the kernel takes one parameter of that size, and what it does with it is
    /// sound.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn launch(
        &self,
        function: FunctionHandle,
        grid: [u32; 3],
        threads: u32,
        arguments: &[u8],
        stream: StreamHandle,
    ) -> Result<(), RuntimeError>;

    /// Whether work can be recorded into graphs.
    fn has_graphs(&self) -> bool {
        false
    }

    /// Begins to record what is enqueued on `stream`, and on streams that wait for it, instead
    /// of running it.
    ///
    /// # Safety
    /// See the trait; nothing else is done with these streams until
    /// [`end_recording`](Runtime::end_recording).
    ///
    /// # Errors
    /// [`Fault::NotSupported`].
    unsafe fn begin_recording(&self, _stream: StreamHandle) -> Result<(), RuntimeError> {
        Err(RuntimeError::not_offered("graphs"))
    }

    /// Ends recording and makes a graph of it.
    ///
    /// # Safety
    /// As [`begin_recording`](Runtime::begin_recording).
    ///
    /// # Errors
    /// Work that cannot be recorded.
    unsafe fn end_recording(&self, _stream: StreamHandle) -> Result<GraphHandle, RuntimeError> {
        Err(RuntimeError::not_offered("graphs"))
    }

    /// Enqueues a graph.
    ///
    /// # Safety
    /// See the trait; what the recorded work uses is alive, and no other launch of the graph is
    /// under way.
    ///
    /// # Errors
    /// What the runtime refuses.
    unsafe fn launch_graph(
        &self,
        _graph: GraphHandle,
        _stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        Err(RuntimeError::not_offered("graphs"))
    }

    /// Destroys a graph.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn destroy_graph(&self, _graph: GraphHandle) {}
}

/// Makes the device of `runtime` current on this thread until the answer is dropped.
///
/// # Errors
/// A device that cannot be made current.
pub fn enter(runtime: &Arc<dyn Runtime>) -> Result<Current<'_>, RuntimeError> {
    Ok(Current {
        previous: runtime.make_current()?,
        runtime: &**runtime,
        thread: PhantomData,
    })
}

/// A device that is current on this thread.
#[derive(Debug)]
pub struct Current<'a> {
    runtime: &'a dyn Runtime,
    previous: usize,
    /// What is current belongs to the thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        self.runtime.restore(self.previous);
    }
}

/// Class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Device or pinned memory ran out.
    OutOfMemory,
    /// The runtime or the device does not offer it.
    NotSupported,
    /// Device code that the device cannot run.
    BadModule,
    /// The device is gone or its state is lost: nothing of it works from now on.
    DeviceLost,
    /// Anything else.
    Other,
}

/// A call of the runtime that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} answered {name} ({code})")]
pub struct RuntimeError {
    /// Name of the function.
    pub call: &'static str,
    /// The runtime's number.
    pub code: i32,
    /// The runtime's name for it, or its words.
    pub name: String,
    /// Class of the failure.
    pub fault: Fault,
}

impl RuntimeError {
    /// The refusal of a thing that the runtime does not have.
    pub fn not_offered(thing: &'static str) -> Self {
        RuntimeError {
            call: thing,
            code: 0,
            name: "not offered by this runtime".to_owned(),
            fault: Fault::NotSupported,
        }
    }

    /// The failure as a backend reports it, about `subject`.
    pub fn about(&self, subject: impl Into<String>) -> ApiError {
        let status = match self.fault {
            Fault::OutOfMemory => Status::NO_MEMORY,
            Fault::NotSupported | Fault::BadModule => Status::NOT_SUPPORTED,
            Fault::DeviceLost | Fault::Other => Status::DEVICE,
        };
        ApiError::new(status, subject, self.to_string()).with_code(self.code.into())
    }
}

impl From<RuntimeError> for ApiError {
    fn from(error: RuntimeError) -> Self {
        error.about("device")
    }
}
