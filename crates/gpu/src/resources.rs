//! Owners of a runtime's objects: what is made here is destroyed once, after its last use.
//!
//! What must stay true: every call runs with the device current; an object keeps the runtime it
//! came from; nothing here decides when work is complete, that is for [`crate::slot`].

use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::Arc;

use crate::runtime::{
    DeviceAddress, EventHandle, Extent, Fault, FunctionHandle, GraphHandle, ModuleHandle, Runtime,
    RuntimeError, StreamHandle, enter,
};

type Answer<T> = Result<T, RuntimeError>;

/// Runs `release` with the device current. A device that cannot be made current any more has
/// taken its objects with it.
fn released(runtime: &Arc<dyn Runtime>, release: impl FnOnce(&dyn Runtime)) {
    if let Ok(_current) = enter(runtime) {
        release(&**runtime);
    }
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    runtime: Arc<dyn Runtime>,
    handle: StreamHandle,
    /// Whether it was made here; a caller's own stream is left alone.
    owned: bool,
}

impl Stream {
    pub(crate) fn new(runtime: &Arc<dyn Runtime>) -> Answer<Self> {
        let _current = enter(runtime)?;
        Ok(Stream {
            runtime: runtime.clone(),
            handle: runtime.create_stream()?,
            owned: true,
        })
    }

    /// A stream of the caller's.
    ///
    /// # Safety
    /// It is one of this runtime and outlives the answer.
    pub(crate) unsafe fn borrowed(runtime: &Arc<dyn Runtime>, handle: StreamHandle) -> Self {
        Stream {
            runtime: runtime.clone(),
            handle,
            owned: false,
        }
    }

    pub(crate) fn wait(&self, event: &Event) -> Answer<()> {
        // SAFETY: both are alive and of one runtime; the wait holds no memory.
        unsafe { self.runtime.wait(self.handle, event.handle) }
    }

    /// Waits for an event that a caller made.
    ///
    /// # Safety
    /// It is an event of this runtime, alive for the call.
    pub(crate) unsafe fn wait_foreign(&self, event: EventHandle) -> Answer<()> {
        // SAFETY: the stream is alive; the caller vouches for the event.
        unsafe { self.runtime.wait(self.handle, event) }
    }

    pub(crate) fn submit(&self) -> Answer<()> {
        // SAFETY: the stream is alive.
        unsafe { self.runtime.submit(self.handle) }
    }

    pub(crate) fn synchronize(&self) -> Answer<()> {
        let _current = enter(&self.runtime)?;
        // SAFETY: the stream is alive.
        unsafe { self.runtime.synchronize(self.handle) }
    }

    /// Enqueues a launch.
    ///
    /// # Safety
    /// `arguments` are those of the kernel, and the memory that they name stays valid and free
    /// of conflicts until the work is complete.
    pub(crate) unsafe fn launch(&self, launch: &Launch) -> Answer<()> {
        let Launch {
            function,
            grid,
            threads,
            arguments,
            ..
        } = launch;
        // SAFETY: the stream is alive, the function's module as long as the plan; the rest is
        // the caller's promise.
        unsafe {
            self.runtime
                .launch(*function, *grid, *threads, arguments, self.handle)
        }
    }

    /// Enqueues a copy of rows to the device.
    ///
    /// # Safety
    /// `from` is readable, and `to` belongs to this work, until the copy is complete.
    pub(crate) unsafe fn upload(
        &self,
        to: (DeviceAddress, usize),
        from: (*const c_void, usize),
        extent: Extent,
    ) -> Answer<()> {
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { self.runtime.upload(to, from, extent, self.handle) }
    }

    /// Enqueues a copy to pinned memory.
    ///
    /// # Safety
    /// Both ends belong to this work until the copy is complete.
    pub(crate) unsafe fn download(
        &self,
        to: *mut c_void,
        from: DeviceAddress,
        bytes: usize,
    ) -> Answer<()> {
        // SAFETY: the stream is alive; the rest is the caller's promise.
        unsafe { self.runtime.download(to, from, bytes, self.handle) }
    }

    /// Records what `work` enqueues on this stream, and on streams that wait for it, as a graph.
    pub(crate) fn recorded(&self, work: impl FnOnce() -> Answer<()>) -> Answer<Graph> {
        // SAFETY: the stream is alive and its owner uses it for nothing else meanwhile.
        unsafe { self.runtime.begin_recording(self.handle) }?;
        let enqueued = work();
        // Recording ends in any case: a stream that records is of no use.
        // SAFETY: as above.
        let graph = unsafe { self.runtime.end_recording(self.handle) };
        let graph = graph.map(|handle| Graph {
            runtime: self.runtime.clone(),
            handle,
        });
        enqueued.and(graph)
    }

    /// Enqueues a graph.
    ///
    /// # Safety
    /// As for [`launch`](Stream::launch), for all of its work; the graph is not under way.
    pub(crate) unsafe fn launch_graph(&self, graph: &Graph) -> Answer<()> {
        // SAFETY: both are alive; the rest is the caller's promise.
        unsafe { self.runtime.launch_graph(graph.handle, self.handle) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: made here, destroyed once.
            released(&self.runtime, |runtime| unsafe {
                runtime.destroy_stream(self.handle);
            });
        }
    }
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    runtime: Arc<dyn Runtime>,
    handle: EventHandle,
}

impl Event {
    pub(crate) fn new(runtime: &Arc<dyn Runtime>) -> Answer<Self> {
        let _current = enter(runtime)?;
        Ok(Event {
            runtime: runtime.clone(),
            handle: runtime.create_event(false)?,
        })
    }

    pub(crate) fn record(&self, stream: &Stream) -> Answer<()> {
        // SAFETY: both are alive and of one runtime.
        unsafe { self.runtime.record(self.handle, stream.handle) }
    }

    /// Waits on the host. Not to be called before the event was recorded: a runtime takes an
    /// unrecorded event for one that was reached.
    pub(crate) fn await_reached(&self) -> Answer<()> {
        // SAFETY: the event is alive.
        unsafe { self.runtime.await_event(self.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made here, destroyed once.
        released(&self.runtime, |runtime| unsafe {
            runtime.destroy_event(self.handle);
        });
    }
}

/// An event that nobody can wait for, because it was never recorded.
#[derive(Debug)]
pub(crate) struct Unrecorded(Event);

/// An event that was recorded once and will not be recorded again.
#[derive(Debug)]
pub(crate) struct Recorded(Event);

impl Unrecorded {
    pub(crate) fn new(runtime: &Arc<dyn Runtime>) -> Answer<Self> {
        Event::new(runtime).map(Unrecorded)
    }

    /// The runtime's number of it.
    pub(crate) fn number(&self) -> usize {
        self.0.handle.0
    }

    /// Moves it to the end of the stream's work so far.
    pub(crate) fn record(self, stream: &Stream) -> Answer<Recorded> {
        self.0.record(stream)?;
        Ok(Recorded(self.0))
    }
}

impl Recorded {
    /// Whether it has been reached. The device is current.
    pub(crate) fn reached(&self) -> Answer<bool> {
        // SAFETY: the event is alive.
        unsafe { self.0.runtime.reached(self.0.handle) }
    }
}

/// Memory of the device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    runtime: Arc<dyn Runtime>,
    address: DeviceAddress,
    bytes: usize,
}

impl DeviceMemory {
    pub(crate) fn new(runtime: &Arc<dyn Runtime>, bytes: usize) -> Answer<Self> {
        let _current = enter(runtime)?;
        Ok(DeviceMemory {
            runtime: runtime.clone(),
            address: runtime.allocate(bytes)?,
            bytes,
        })
    }

    pub(crate) fn address(&self) -> DeviceAddress {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated here, freed once; whoever drops it has waited for its work.
        released(&self.runtime, |runtime| unsafe {
            runtime.free(self.address);
        });
    }
}

/// Host memory that the device reaches by itself, aligned for `u64`.
pub(crate) struct PinnedMemory {
    runtime: Arc<dyn Runtime>,
    pointer: *mut c_void,
    bytes: usize,
}

// SAFETY: plain memory with one owner; the device's accesses to it are ordered by its owner.
unsafe impl Send for PinnedMemory {}
// SAFETY: shared references only give out the address and what nobody writes at that time.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Zeroed memory of `bytes`.
    pub(crate) fn new(runtime: &Arc<dyn Runtime>, bytes: usize) -> Answer<Self> {
        let _current = enter(runtime)?;
        let pointer = runtime.allocate_pinned(bytes)?;
        if !pointer.cast::<u64>().is_aligned() {
            // SAFETY: allocated above, freed once.
            unsafe { runtime.free_pinned(pointer) };
            return Err(RuntimeError {
                call: "pinned allocation",
                code: 0,
                name: format!("{pointer:p}, which is not aligned to 8 bytes"),
                fault: Fault::Other,
            });
        }
        // SAFETY: `bytes` bytes were allocated.
        unsafe { pointer.cast::<u8>().write_bytes(0, bytes) };
        Ok(PinnedMemory {
            runtime: runtime.clone(),
            pointer,
            bytes,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer
    }

    /// The bytes.
    ///
    /// # Safety
    /// No work of the device writes them while the answer is alive.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: allocated with that size and initialised; nobody writes (caller), and the
        // exclusive method below needs `&mut`.
        unsafe { std::slice::from_raw_parts(self.pointer.cast(), self.bytes) }
    }

    /// The bytes, to be written.
    ///
    /// # Safety
    /// No work of the device reads or writes them while the answer is alive.
    pub(crate) unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.bytes) }
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pinned bytes at {:p}", self.bytes, self.pointer)
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated here, freed once; whoever drops it has waited for its work.
        released(&self.runtime, |runtime| unsafe {
            runtime.free_pinned(self.pointer);
        });
    }
}

/// Loaded device code.
#[derive(Debug)]
pub(crate) struct Module {
    runtime: Arc<dyn Runtime>,
    handle: ModuleHandle,
}

impl Module {
    pub(crate) fn load(runtime: &Arc<dyn Runtime>, object: &[u8]) -> Answer<Self> {
        let _current = enter(runtime)?;
        Ok(Module {
            runtime: runtime.clone(),
            handle: runtime.load_module(object)?,
        })
    }

    pub(crate) fn function(&self, name: &str) -> Answer<FunctionHandle> {
        let _current = enter(&self.runtime)?;
        let Ok(name) = CString::new(name) else {
            return Err(RuntimeError::not_offered("a kernel whose name has a zero"));
        };
        // SAFETY: the module is alive.
        unsafe { self.runtime.function(self.handle, &name) }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded here, unloaded once, after the plans that hold it.
        released(&self.runtime, |runtime| unsafe {
            runtime.unload_module(self.handle);
        });
    }
}

/// Recorded work.
#[derive(Debug)]
pub(crate) struct Graph {
    runtime: Arc<dyn Runtime>,
    handle: GraphHandle,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made here, destroyed once; whoever drops it has waited for its work.
        released(&self.runtime, |runtime| unsafe {
            runtime.destroy_graph(self.handle);
        });
    }
}

/// One kernel launch, ready to be enqueued again and again.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Name of the kernel, for messages.
    pub(crate) kernel: &'static str,
    pub(crate) function: FunctionHandle,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) arguments: Vec<u8>,
}

impl Launch {
    /// How often the kernel's counter goes up.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}
