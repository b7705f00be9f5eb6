//! The runtime as a program sees it: functions looked up by their names in a copy of the library
//! that is this test's own, so that tests can run at the same time.

use std::ffi::{CString, c_void};

use tempfile::TempDir;
use vmafx_hipsim::install::{Simulator, install};

use crate::probe::{Args, code_object, folder};

pub(crate) const H2D: u32 = 1;
pub(crate) const D2H: u32 = 2;
pub(crate) const D2D: u32 = 3;
pub(crate) const NON_BLOCKING: u32 = 1;
pub(crate) const NOT_READY: u32 = 600;
pub(crate) const DEFAULT_STREAM: usize = 0;
pub(crate) const TARGET: &str = "gfx1036";

/// A copy of the runtime.
pub(crate) struct Hip {
    pub(crate) sim: Simulator,
    _folder: TempDir,
}

/// Calls a function of the runtime by its name; all arguments are numbers or pointers.
macro_rules! call {
    ($hip:expr, $name:ident($($arg:expr => $kind:ty),* $(,)?)) => {{
        // SAFETY: the types are those of HIP's function, and each test keeps what it hands over
        // alive until the work is done.
        unsafe {
            let function = $hip
                .sim
                .library()
                .get::<unsafe extern "C" fn($($kind),*) -> u32>(stringify!($name))
                .expect(stringify!($name));
            function($($arg),*)
        }
    }};
}
pub(crate) use call;

/// Asserts that a call succeeds.
macro_rules! ok {
    ($hip:expr, $name:ident($($arg:expr => $kind:ty),* $(,)?)) => {
        assert_eq!($crate::hip::call!($hip, $name($($arg => $kind),*)), 0, stringify!($name))
    };
}
pub(crate) use ok;

impl Hip {
    /// Of the newest version, with the kernels of `probe.cpp` and a device that they are for.
    pub(crate) fn new() -> Self {
        Self::of("7.2")
    }

    pub(crate) fn of(rocm: &str) -> Self {
        let own = TempDir::new().expect("a folder");
        let path = install(own.path(), rocm).expect("a copy of the library");
        let sim = Simulator::open(&path).expect("the simulator");
        let hip = Self { sim, _folder: own };
        hip.set("kernels", folder().to_str().expect("a path of UTF-8"));
        hip.set("gfx", TARGET);
        hip
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        assert!(self.sim.control(name, value), "{name}={value}");
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        // SAFETY: only looked at.
        unsafe { self.sim.library().get::<*const c_void>(name).is_ok() }
    }

    pub(crate) fn counts(&self) -> serde_json::Value {
        self.sim.json("counts")
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        serde_json::from_value(self.counts()["troubles"].clone()).expect("texts")
    }

    pub(crate) fn malloc(&self, bytes: usize) -> usize {
        let mut at = 0;
        ok!(self, hipMalloc(&mut at => *mut usize, bytes => usize));
        at
    }

    pub(crate) fn pinned(&self, bytes: usize) -> usize {
        let mut at = 0;
        ok!(self, hipHostMalloc(&mut at => *mut usize, bytes => usize, 0 => u32));
        at
    }

    pub(crate) fn stream(&self, flags: u32) -> usize {
        let mut stream = 0;
        ok!(self, hipStreamCreateWithFlags(&mut stream => *mut usize, flags => u32));
        stream
    }

    pub(crate) fn event(&self) -> usize {
        let mut event = 0;
        ok!(self, hipEventCreateWithFlags(&mut event => *mut usize, 0 => u32));
        event
    }

    pub(crate) fn record(&self, event: usize, stream: usize) {
        ok!(self, hipEventRecord(event => usize, stream => usize));
    }

    pub(crate) fn wait(&self, stream: usize, event: usize) {
        ok!(self, hipStreamWaitEvent(stream => usize, event => usize, 0 => u32));
    }

    pub(crate) fn synchronize(&self, stream: usize) {
        ok!(self, hipStreamSynchronize(stream => usize));
    }

    pub(crate) fn query(&self, stream: usize) -> u32 {
        call!(self, hipStreamQuery(stream => usize))
    }

    pub(crate) fn copy(&self, to: usize, from: usize, bytes: usize, kind: u32, stream: usize) {
        ok!(self, hipMemcpyAsync(to => usize, from => usize, bytes => usize, kind => u32, stream => usize));
    }

    /// The device's words at an address, read back through a stream of its own.
    pub(crate) fn read<const N: usize>(&self, from: usize) -> [u32; N] {
        let mut words = [0u32; N];
        let stream = self.stream(NON_BLOCKING);
        self.copy(words.as_mut_ptr() as usize, from, N * 4, D2H, stream);
        self.synchronize(stream);
        ok!(self, hipStreamDestroy(stream => usize));
        words
    }

    /// Writes words to the device through a stream of its own.
    pub(crate) fn write(&self, to: usize, words: &[u32]) {
        let stream = self.stream(NON_BLOCKING);
        self.copy(to, words.as_ptr() as usize, words.len() * 4, H2D, stream);
        self.synchronize(stream);
        ok!(self, hipStreamDestroy(stream => usize));
    }

    pub(crate) fn load(&self, image: &[u8]) -> Result<usize, u32> {
        let mut module = 0;
        match call!(self, hipModuleLoadData(&mut module => *mut usize, image.as_ptr() => *const u8))
        {
            0 => Ok(module),
            code => Err(code),
        }
    }

    /// A kernel of a module that is loaded for it.
    pub(crate) fn kernel(&self, name: &str) -> usize {
        let module = self.load(&code_object(TARGET)).expect("a module");
        self.function(module, name).expect(name)
    }

    pub(crate) fn function(&self, module: usize, name: &str) -> Result<usize, u32> {
        let (mut function, name) = (0, CString::new(name).expect("a name"));
        let code = call!(self, hipModuleGetFunction(
            &mut function => *mut usize, module => usize, name.as_ptr() => *const std::ffi::c_char,
        ));
        if code == 0 { Ok(function) } else { Err(code) }
    }

    pub(crate) fn try_launch(
        &self,
        kernel: usize,
        blocks: u32,
        threads: u32,
        args: &Args,
        stream: usize,
    ) -> u32 {
        let mut args = *args;
        let mut params = [&raw mut args];
        call!(self, hipModuleLaunchKernel(
            kernel => usize, blocks => u32, 1 => u32, 1 => u32, threads => u32, 1 => u32, 1 => u32,
            0 => u32, stream => usize, params.as_mut_ptr() => *mut *mut Args, 0 => usize,
        ))
    }

    pub(crate) fn launch(
        &self,
        kernel: usize,
        blocks: u32,
        threads: u32,
        args: &Args,
        stream: usize,
    ) {
        assert_eq!(self.try_launch(kernel, blocks, threads, args, stream), 0);
    }

    pub(crate) fn host(&self, stream: usize, gate: &Gate) {
        let data = (&raw const *gate) as usize;
        ok!(self, hipLaunchHostFunc(stream => usize, Gate::pass => unsafe extern "C" fn(*mut c_void), data => usize));
    }
}

/// Holds a stream until it is opened.
#[derive(Default)]
pub(crate) struct Gate {
    open: std::sync::Mutex<bool>,
    opened: std::sync::Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.open.lock().expect("a lock") = true;
        self.opened.notify_all();
    }

    unsafe extern "C" fn pass(gate: *mut c_void) {
        // SAFETY: the test keeps the gate until its stream is done.
        let gate = unsafe { &*gate.cast::<Self>() };
        let mut open = gate.open.lock().expect("a lock");
        while !*open {
            open = gate.opened.wait(open).expect("a lock");
        }
    }
}

/// A C string at an offset of a structure.
pub(crate) fn text_at(bytes: &[u8], at: usize) -> &str {
    let text = std::ffi::CStr::from_bytes_until_nul(&bytes[at..]).expect("a C string");
    text.to_str().expect("UTF-8")
}
