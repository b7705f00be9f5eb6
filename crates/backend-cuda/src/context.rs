//! An opened device: the driver's functions as a [`Runtime`].
//!
//! What must stay true: the context is pushed and popped in pairs, so that whatever a caller had
//! current stays below it; a context of the driver's own (the primary one) is retained once and
//! released once.

use std::ffi::{CStr, c_uint, c_void};
use std::sync::Arc;

use vmafx_gpu::runtime::{
    DeviceAddress, EventHandle, Extent, FunctionHandle, GraphHandle, ModuleHandle, StreamHandle,
};
use vmafx_gpu::{Runtime, RuntimeError};

use crate::cache::CodeCache;
use crate::driver::{self, DeviceNumber, Driver, SUCCESS};
use crate::module;

/// A device with its context.
#[derive(Debug)]
pub(crate) struct Context {
    driver: Arc<Driver>,
    context: usize,
    /// The device whose primary context it is; nothing if it is the caller's.
    primary: Option<DeviceNumber>,
    cache: CodeCache,
}

impl Context {
    /// The primary context of a device.
    pub(crate) fn primary(
        driver: Arc<Driver>,
        device: DeviceNumber,
        cache: CodeCache,
    ) -> Result<Self, RuntimeError> {
        let mut context = 0;
        // SAFETY: the room is one handle's.
        let code = unsafe { (driver.functions.retain)(&mut context, device) };
        driver.check("cuDevicePrimaryCtxRetain", code)?;
        Ok(Context {
            driver,
            context,
            primary: Some(device),
            cache,
        })
    }

    /// A caller's context.
    ///
    /// # Safety
    /// It is a context of this driver and outlives the answer.
    pub(crate) unsafe fn borrowed(driver: Arc<Driver>, context: usize, cache: CodeCache) -> Self {
        Context {
            driver,
            context,
            primary: None,
            cache,
        }
    }

    fn check(&self, call: &'static str, code: driver::Code) -> Result<(), RuntimeError> {
        self.driver.check(call, code)
    }

    /// The functions that graphs need, if all are there.
    fn graphs(&self) -> Option<Graphs> {
        let functions = &self.driver.functions;
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
    begin: unsafe extern "C" fn(usize, std::ffi::c_int) -> driver::Code,
    end: unsafe extern "C" fn(usize, *mut usize) -> driver::Code,
    instantiate: unsafe extern "C" fn(*mut usize, usize, u64) -> driver::Code,
    launch: unsafe extern "C" fn(usize, usize) -> driver::Code,
    destroy: unsafe extern "C" fn(usize) -> driver::Code,
    destroy_exec: unsafe extern "C" fn(usize) -> driver::Code,
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(device) = self.primary {
            // SAFETY: retained in `primary`, released once. That it fails where the process ends
            // is nobody's concern.
            let _ = unsafe { (self.driver.functions.release)(device) };
        }
    }
}

/// Makes something by a function that writes its handle.
macro_rules! made {
    ($self:ident, $call:literal, $function:ident($($argument:expr),*) -> $first:ident) => {{
        let mut $first = 0;
        // SAFETY: the room is one handle's; the device is current (`Runtime`).
        let code = unsafe { ($self.driver.functions.$function)(&mut $first, $($argument),*) };
        $self.check($call, code).map(|()| $first)
    }};
}

// SAFETY: memory and handles are what the driver answered with success.
unsafe impl Runtime for Context {
    fn make_current(&self) -> Result<usize, RuntimeError> {
        // SAFETY: the context is alive: retained, or a caller's that outlives this.
        let code = unsafe { (self.driver.functions.push)(self.context) };
        // The driver keeps what was current in a stack of the thread's.
        self.check("cuCtxPushCurrent", code).map(|()| 0)
    }

    fn restore(&self, _previous: usize) {
        let mut popped = 0;
        // SAFETY: the room is one handle's; what is popped was pushed by `make_current`.
        let _ = unsafe { (self.driver.functions.pop)(&mut popped) };
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceAddress, RuntimeError> {
        made!(self, "cuMemAlloc", allocate(bytes.max(1)) -> address)
    }

    unsafe fn free(&self, memory: DeviceAddress) {
        // SAFETY: the caller's promise.
        let _ = unsafe { (self.driver.functions.free)(memory) };
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut c_void, RuntimeError> {
        let mut memory = std::ptr::null_mut();
        let flags = driver::MEMHOSTALLOC_PORTABLE;
        // SAFETY: the room is one pointer's.
        let code =
            unsafe { (self.driver.functions.allocate_host)(&mut memory, bytes.max(1), flags) };
        self.check("cuMemHostAlloc", code).map(|()| memory)
    }

    unsafe fn free_pinned(&self, memory: *mut c_void) {
        // SAFETY: the caller's promise.
        let _ = unsafe { (self.driver.functions.free_host)(memory) };
    }

    fn is_pinned(&self, memory: *const c_void) -> bool {
        // In the plural: of memory that it does not know, this one says so without an error.
        let Some(attributes) = self.driver.functions.pointer_attributes else {
            return false;
        };
        let mut kind: c_uint = 0;
        let mut which = driver::POINTER_MEMORY_TYPE;
        let mut room = (&raw mut kind).cast();
        // SAFETY: one attribute, of one number of this size; the address is only looked up.
        let code = unsafe { attributes(1, &mut which, &mut room, memory as u64) };
        code == SUCCESS && kind == driver::MEMORYTYPE_HOST
    }

    fn memory(&self) -> Result<(u64, u64), RuntimeError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: each room is one number's.
        let code = unsafe { (self.driver.functions.memory)(&mut free, &mut total) };
        self.check("cuMemGetInfo", code)?;
        Ok((free as u64, total as u64))
    }

    fn create_stream(&self) -> Result<StreamHandle, RuntimeError> {
        let flags = driver::STREAM_NON_BLOCKING;
        made!(self, "cuStreamCreate", stream_create(flags) -> stream).map(StreamHandle)
    }

    unsafe fn destroy_stream(&self, stream: StreamHandle) {
        // SAFETY: the caller's promise.
        let _ = unsafe { (self.driver.functions.stream_destroy)(stream.0) };
    }

    unsafe fn submit(&self, _stream: StreamHandle) -> Result<(), RuntimeError> {
        // On Linux the driver holds nothing back.
        Ok(())
    }

    unsafe fn synchronize(&self, stream: StreamHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.functions.stream_synchronize)(stream.0) };
        self.check("cuStreamSynchronize", code)
    }

    fn create_event(&self, timed: bool) -> Result<EventHandle, RuntimeError> {
        let flags = match timed {
            true => driver::EVENT_BLOCKING_SYNC,
            false => driver::EVENT_BLOCKING_SYNC | driver::EVENT_DISABLE_TIMING,
        };
        made!(self, "cuEventCreate", event_create(flags) -> event).map(EventHandle)
    }

    unsafe fn destroy_event(&self, event: EventHandle) {
        // SAFETY: the caller's promise.
        let _ = unsafe { (self.driver.functions.event_destroy)(event.0) };
    }

    unsafe fn record(&self, event: EventHandle, stream: StreamHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.functions.event_record)(event.0, stream.0) };
        self.check("cuEventRecord", code)
    }

    unsafe fn wait(&self, stream: StreamHandle, event: EventHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.functions.stream_wait)(stream.0, event.0, 0) };
        self.check("cuStreamWaitEvent", code)
    }

    unsafe fn reached(&self, event: EventHandle) -> Result<bool, RuntimeError> {
        // SAFETY: the caller's promise.
        match unsafe { (self.driver.functions.event_query)(event.0) } {
            driver::NOT_READY => Ok(false),
            code => self.check("cuEventQuery", code).map(|()| true),
        }
    }

    unsafe fn await_event(&self, event: EventHandle) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.functions.event_synchronize)(event.0) };
        self.check("cuEventSynchronize", code)
    }

    unsafe fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f32, RuntimeError> {
        let mut milliseconds = 0.0;
        // SAFETY: the room is one number's; the rest is the caller's promise.
        let code =
            unsafe { (self.driver.functions.event_elapsed)(&mut milliseconds, start.0, end.0) };
        self.check("cuEventElapsedTime", code)
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
        if width == 0 || rows == 0 {
            return Ok(());
        }
        if let Some(bytes) = extent.in_one_piece(to.1, from.1) {
            // SAFETY: the caller's promise; rows that touch are one piece.
            let code = unsafe { (self.driver.functions.upload)(to.0, from.0, bytes, stream.0) };
            return self.check("cuMemcpyHtoDAsync", code);
        }
        let copy = driver::Copy2d {
            src_type: driver::MEMORYTYPE_HOST,
            src_host: from.0 as usize,
            src_pitch: from.1,
            dst_type: driver::MEMORYTYPE_DEVICE,
            dst_device: to.0,
            dst_pitch: to.1,
            width,
            height: rows,
            ..driver::Copy2d::default()
        };
        // SAFETY: the description lives through the call; the rest is the caller's promise.
        let code = unsafe { (self.driver.functions.upload_rows)(&copy, stream.0) };
        self.check("cuMemcpy2DAsync", code)
    }

    unsafe fn download(
        &self,
        to: *mut c_void,
        from: DeviceAddress,
        bytes: usize,
        stream: StreamHandle,
    ) -> Result<(), RuntimeError> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.driver.functions.download)(to, from, bytes, stream.0) };
        self.check("cuMemcpyDtoHAsync", code)
    }

    fn load_module(&self, object: &[u8]) -> Result<ModuleHandle, RuntimeError> {
        module::load(&self.driver, &self.cache, object).map(ModuleHandle)
    }

    unsafe fn unload_module(&self, module: ModuleHandle) {
        // SAFETY: the caller's promise.
        let _ = unsafe { (self.driver.functions.module_unload)(module.0) };
    }

    unsafe fn function(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle, RuntimeError> {
        let function = made!(
            self,
            "cuModuleGetFunction",
            module_function(module.0, name.as_ptr()) -> function
        )?;
        if let Some(load) = self.driver.functions.function_load {
            // A driver that loads late would do it at the first launch, in a recording perhaps.
            // SAFETY: the function was just looked up.
            let code = unsafe { load(function) };
            self.check("cuFuncLoad", code)?;
        }
        Ok(FunctionHandle(function))
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
            (self.driver.functions.launch)(
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
        self.check("cuLaunchKernel", code)
    }

    fn has_graphs(&self) -> bool {
        self.graphs().is_some()
    }

    unsafe fn begin_recording(&self, stream: StreamHandle) -> Result<(), RuntimeError> {
        let graphs = self.needed_graphs()?;
        // SAFETY: the caller's promise.
        let code = unsafe { (graphs.begin)(stream.0, driver::CAPTURE_THREAD_LOCAL) };
        self.check("cuStreamBeginCapture", code)
    }

    unsafe fn end_recording(&self, stream: StreamHandle) -> Result<GraphHandle, RuntimeError> {
        let graphs = self.needed_graphs()?;
        let (mut graph, mut exec) = (0, 0);
        // SAFETY: the room is one handle's; the rest is the caller's promise.
        let code = unsafe { (graphs.end)(stream.0, &mut graph) };
        self.check("cuStreamEndCapture", code)?;
        // SAFETY: the graph was just made; the room is one handle's.
        let code = unsafe { (graphs.instantiate)(&mut exec, graph, 0) };
        // SAFETY: the graph was just made and is not used again: what is launched is a copy.
        let _ = unsafe { (graphs.destroy)(graph) };
        self.check("cuGraphInstantiateWithFlags", code)?;
        if let Some(upload) = self.driver.functions.graph_upload {
            // The first launch would do it; a failure is told there.
            // SAFETY: the graph was just made, the stream is the caller's promise.
            let _ = unsafe { upload(exec, stream.0) };
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
        self.check("cuGraphLaunch", code)
    }

    unsafe fn destroy_graph(&self, graph: GraphHandle) {
        if let Some(graphs) = self.graphs() {
            // SAFETY: the caller's promise.
            let _ = unsafe { (graphs.destroy_exec)(graph.0) };
        }
    }
}
