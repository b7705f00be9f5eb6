//! An opened device: the runtime's functions as a [`Runtime`].
//!
//! What must stay true: what was current on a thread is current again afterwards; the thread's
//! last error is not ours; a code object lives as long as its module, since runtimes read from it
//! later.

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vmafx_gpu::runtime::{
    DeviceAddress, EventHandle, Extent, FunctionHandle, GraphHandle, ModuleHandle, StreamHandle,
};
use vmafx_gpu::{Runtime, RuntimeError};

use crate::functions::{self, Code, Hip, PointerAttributes, SUCCESS, Version};

/// Before it the header calls graphs unfinished.
const GRAPHS_SINCE: Version = Version::new(6, 0);

/// A device of the runtime.
#[derive(Debug)]
pub(crate) struct Device {
    hip: Arc<Hip>,
    index: c_int,
    /// Code objects by their modules.
    objects: Mutex<HashMap<usize, Vec<u8>>>,
}

impl Device {
    pub(crate) fn new(hip: Arc<Hip>, index: c_int) -> Self {
        Device {
            hip,
            index,
            objects: Mutex::default(),
        }
    }

    fn check(&self, call: &'static str, code: Code) -> Result<(), RuntimeError> {
        self.hip.check(call, code)
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<usize, Vec<u8>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The functions that graphs need, if all are there and to be trusted.
    fn graphs(&self) -> Option<Graphs> {
        if self.hip.version < GRAPHS_SINCE {
            return None;
        }
        let functions = &self.hip.functions;
        Some(Graphs {
            begin: functions.capture_begin?,
            end: functions.capture_end?,
            instantiate: functions.graph_instantiate?,
            launch: functions.graph_launch?,
            destroy: functions.graph_destroy?,
            destroy_exec: functions.graph_exec_destroy?,
        })
    }

    fn needed_graphs(&self) -> Result<Graphs, RuntimeError> {
        self.graphs()
            .ok_or_else(|| RuntimeError::not_offered("graphs"))
    }
}

struct Graphs {
    begin: unsafe extern "C" fn(usize, c_int) -> Code,
    end: unsafe extern "C" fn(usize, *mut usize) -> Code,
    instantiate:
        unsafe extern "C" fn(*mut usize, usize, *mut usize, *mut std::ffi::c_char, usize) -> Code,
    launch: unsafe extern "C" fn(usize, usize) -> Code,
    destroy: unsafe extern "C" fn(usize) -> Code,
    destroy_exec: unsafe extern "C" fn(usize) -> Code,
}

/// Makes something by a function that writes its handle.
macro_rules! made {
    ($self:ident, $call:literal, $function:ident($($argument:expr),*) -> $first:ident) => {{
        let mut $first = 0;
        // SAFETY: the room is one handle's; the device is current (`Runtime`).
        let code = unsafe { ($self.hip.functions.$function)(&mut $first, $($argument),*) };
        $self.check($call, code).map(|()| $first)
    }};
}

// SAFETY: memory and handles are what the HIP runtime answered with success.
unsafe impl Runtime for Device {
    fn make_current(&self) -> Result<usize, RuntimeError> {
        let mut previous = 0;
        // SAFETY: the room is one number's.
        let code = unsafe { (self.hip.functions.current)(&mut previous) };
        self.check("hipGetDevice", code)?;
        if previous != self.index {
            // SAFETY: takes a number.
            let code = unsafe { (self.hip.functions.make_current)(self.index) };
            self.check("hipSetDevice", code)?;
        }
        Ok(usize::try_from(previous).unwrap_or(0))
    }

    fn restore(&self, previous: usize) {
        let previous = c_int::try_from(previous).unwrap_or(0);
        if previous != self.index {
            // SAFETY: takes a number, of a device that was current before.
            self.hip
                .ignore(unsafe { (self.hip.functions.make_current)(previous) });
        }
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceAddress, RuntimeError> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: the room is one pointer's.
        let code = unsafe { (self.hip.functions.allocate)(&mut memory, bytes.max(1)) };
        self.check("hipMalloc", code)
            .map(|()| memory as DeviceAddress)
    }

    unsafe fn free(&self, memory: DeviceAddress) {
        // SAFETY: the caller's promise.
        self.hip
            .ignore(unsafe { (self.hip.functions.free)(address(memory)) });
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut c_void, RuntimeError> {
        let mut memory = std::ptr::null_mut();
        let flags = functions::HOST_MALLOC_PORTABLE;
        // SAFETY: the room is one pointer's.
        let code = unsafe { (self.hip.functions.allocate_host)(&mut memory, bytes.max(1), flags) };
        self.check("hipHostMalloc", code).map(|()| memory)
    }

    unsafe fn free_pinned(&self, memory: *mut c_void) {
        // SAFETY: the caller's promise.
        self.hip
            .ignore(unsafe { (self.hip.functions.free_host)(memory) });
    }

    fn is_pinned(&self, memory: *const c_void) -> bool {
        let Some(ask) = self.hip.functions.pointer_attributes else {
            return false;
        };
        let mut attributes = PointerAttributes {
            kind: c_int::MIN,
            device: 0,
            device_pointer: std::ptr::null_mut(),
            host_pointer: std::ptr::null_mut(),
            is_managed: 0,
            flags: 0,
        };
        // SAFETY: the room is one answer's; the address is only looked up.
        let code = unsafe { ask(&mut attributes, memory) };
        if self.hip.ignore(code) != SUCCESS {
            // Memory that the runtime does not know.
            return false;
        }
        let host = match self.hip.version.major {
            ..6 => functions::MEMORY_TYPE_HOST_5,
            6.. => functions::MEMORY_TYPE_HOST,
        };
        attributes.kind == host && attributes.is_managed == 0
    }

    fn memory(&self) -> Result<(u64, u64), RuntimeError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: each room is one number's.
        let code = unsafe { (self.hip.functions.memory)(&mut free, &mut total) };
        self.check("hipMemGetInfo", code)?;
        Ok((free as u64, total as u64))
    }

    fn create_stream(&self) -> Result<StreamHandle, RuntimeError> {
        let flags = functions::STREAM_NON_BLOCKING;
        made!(self, "hipStreamCreateWithFlags", stream_create(flags) -> stream).map(StreamHandle)
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) {
        // SAFETY: the caller's promise.
        self.hip
            .ignore(unsafe { (self.hip.functions.stream_destroy)(stream.0) });
    }

    unsafe fn submit(&self, stream: StreamHandle) -> Result<(), RuntimeError> {
        // The runtime gathers commands; asking hands them over. Without it other streams, which
        // wait for these, have been seen to overtake them.
        // SAFETY: the caller's promise.
        match unsafe { (self.hip.functions.stream_query)(stream.0) } {
            code @ functions::NOT_READY => {
                self.hip.ignore(code);
                Ok(())
            }
            code => self.check("hipStreamQuery", code),
        }
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.hip.functions.stream_synchronize)(stream.0) };
        self.check("hipStreamSynchronize", code)
    }

    fn create_event(&self, timed: bool) -> Result<EventHandle, RuntimeError> {
        let flags = match timed {
            true => functions::EVENT_BLOCKING_SYNC,
            false => functions::EVENT_BLOCKING_SYNC | functions::EVENT_DISABLE_TIMING,
        };
        made!(self, "hipEventCreateWithFlags", event_create(flags) -> event).map(EventHandle)
    }

    unsafe fn destroy_event(&self, event: EventHandle) {
        // SAFETY: the caller's promise.
        self.hip
            .ignore(unsafe { (self.hip.functions.event_destroy)(event.0) });
    }

    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.hip.functions.event_record)(event.0, stream.0) };
        self.check("hipEventRecord", code)
    }

    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.hip.functions.stream_wait)(stream.0, event.0, 0) };
        self.check("hipStreamWaitEvent", code)
    }

    unsafe fn reached(&self, event: EventHandle) -> Result<bool, RuntimeError> {
        // SAFETY: the caller's promise.
        match unsafe { (self.hip.functions.event_query)(event.0) } {
            code @ functions::NOT_READY => {
                self.hip.ignore(code);
                Ok(false)
            }
            code => self.check("hipEventQuery", code).map(|()| true),
        }
    }

    unsafe fn await_event(&self, event: EventHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.hip.functions.event_synchronize)(event.0) };
        self.check("hipEventSynchronize", code)
    }

    unsafe fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f32, RuntimeError> {
        let mut milliseconds = 0.0;
        // SAFETY: the room is one number's; the rest is the caller's promise.
        let code = unsafe { (self.hip.functions.event_elapsed)(&mut milliseconds, start.0, end.0) };
        self.check("hipEventElapsedTime", code)
            .map(|()| milliseconds)
    }

    unsafe fn upload(
        &self,
        to: (DeviceAddress, usize),
        from: (*const c_void, usize),
        extent: Extent,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        let Extent { width, rows } = extent;
        let kind = functions::HOST_TO_DEVICE;
        if width == 0 || rows == 0 {
            return Ok(());
        }
        if let Some(bytes) = extent.in_one_piece(to.1, from.1) {
            // SAFETY: the caller's promise; rows that touch are one piece.
            let code =
                unsafe { (self.hip.functions.copy)(address(to.0), from.0, bytes, kind, stream.0) };
            return self.check("hipMemcpyAsync", code);
        }
        // SAFETY: the caller's promise.
        let code = unsafe {
            (self.hip.functions.copy_rows)(
                address(to.0),
                to.1,
                from.0,
                from.1,
                width,
                rows,
                kind,
                stream.0,
            )
        };
        self.check("hipMemcpy2DAsync", code)
    }

    unsafe fn download(
        &self,
        to: *mut c_void,
        from: DeviceAddress,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        let kind = functions::DEVICE_TO_HOST;
        // SAFETY: the caller's promise.
        let code = unsafe { (self.hip.functions.copy)(to, address(from), bytes, kind, stream.0) };
        self.check("hipMemcpyAsync", code)
    }

    fn load_module(&self, object: &[u8]) -> Result<ModuleHandle, RuntimeError> {
        let object = object.to_vec();
        let image = object.as_ptr().cast();
        let module = made!(self, "hipModuleLoadData", module_load(image) -> module)?;
        self.objects().insert(module, object);
        Ok(ModuleHandle(module))
    }

    unsafe fn unload_module(&self, module: ModuleHandle) {
        // SAFETY: the caller's promise.
        self.hip
            .ignore(unsafe { (self.hip.functions.module_unload)(module.0) });
        self.objects().remove(&module.0);
    }

    unsafe fn function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle, RuntimeError> {
        made!(
            self,
            "hipModuleGetFunction",
            module_function(module.0, name.as_ptr()) -> function
        )
        .map(FunctionHandle)
    }

    unsafe fn launch(
        &self,
        function: FunctionHandle,
        [x, y, z]: [u32; 3],
        threads: u32,
        arguments: &[u8],
        stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        let mut parameters = [arguments.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the parameter is read, not written, before the call returns; the rest is the
        // caller's promise.
        let code = unsafe {
            (self.hip.functions.launch)(
                function.0,
                x,
                y,
                z,
                threads,
                1,
                1,
                0,
                stream.0,
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("hipModuleLaunchKernel", code)
    }

    fn has_graphs(&self) -> bool {
        self.graphs().is_some()
    }

    unsafe fn begin_recording(&self, stream: StreamHandle) -> Result<(), RuntimeError> {
        let graphs = self.needed_graphs()?;
        // SAFETY: the caller's promise.
        let code = unsafe { (graphs.begin)(stream.0, functions::CAPTURE_THREAD_LOCAL) };
        self.check("hipStreamBeginCapture", code)
    }

    unsafe fn end_recording(&self, stream: StreamHandle) -> Result<GraphHandle, RuntimeError> {
        let graphs = self.needed_graphs()?;
        let (mut graph, mut exec) = (0, 0);
        // SAFETY: the room is one handle's; the rest is the caller's promise.
        let code = unsafe { (graphs.end)(stream.0, &mut graph) };
        self.check("hipStreamEndCapture", code)?;
        let none = std::ptr::null_mut();
        // SAFETY: the graph was just made; the room is one handle's; neither node nor words are
        // asked for.
        let code = unsafe { (graphs.instantiate)(&mut exec, graph, none, none.cast(), 0) };
        // SAFETY: the graph was just made and is not used again: what is launched is a copy.
        self.hip.ignore(unsafe { (graphs.destroy)(graph) });
        self.check("hipGraphInstantiate", code)?;
        if let Some(upload) = self.hip.functions.graph_upload {
            // The first launch would do it; a failure is told there.
            // SAFETY: the graph was just made, the stream is the caller's promise.
            self.hip.ignore(unsafe { upload(exec, stream.0) });
        }
        Ok(GraphHandle(exec))
    }

    unsafe fn launch_graph(
        &self,
        graph: GraphHandle,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        let graphs = self.needed_graphs()?;
        // SAFETY: the caller's promise.
        let code = unsafe { (graphs.launch)(graph.0, stream.0) };
        self.check("hipGraphLaunch", code)
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) {
        if let Some(graphs) = self.graphs() {
            // SAFETY: the caller's promise.
            self.hip.ignore(unsafe { (graphs.destroy_exec)(graph.0) });
        }
    }
}

/// The runtime takes addresses of the device as pointers.
fn address(memory: DeviceAddress) -> *mut c_void {
    std::ptr::without_provenance_mut(memory as usize)
}
