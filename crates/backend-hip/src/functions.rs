//! The functions of `libamdhip64.so`, their numbers, and what an answer means.
//!
//! One set of declarations serves ROCm 5 to 10: what differs between them is asked of the version.
//! Handles are plain numbers, a null pointer is 0. Types and numbers are those of
//! `hip_runtime_api.h`; a test compares them with published bindings.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use vmafx_gpu::library::{Library, LibraryError, Search, one_line};
use vmafx_gpu::{Fault, RuntimeError};

/// Where the runtime is. ROCm 10 still has the name of 7.
pub(crate) const SEARCH: Search = Search {
    what: "the HIP runtime of ROCm",
    variable: "VMAFX_HIP_LIBRARY",
    names: &[
        "libamdhip64.so.7",
        "libamdhip64.so.6",
        "libamdhip64.so.5",
        "libamdhip64.so",
    ],
    mark: "hipInit",
};

/// `hipError_t`.
pub(crate) type Code = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const DEINITIALIZED: Code = 4;
pub(crate) const INVALID_DEVICE_FUNCTION: Code = 98;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_DEVICE: Code = 101;
pub(crate) const INVALID_IMAGE: Code = 200;
pub(crate) const NO_BINARY_FOR_GPU: Code = 209;
pub(crate) const ECC_NOT_CORRECTABLE: Code = 214;
pub(crate) const INVALID_KERNEL_FILE: Code = 218;
pub(crate) const INVALID_SOURCE: Code = 300;
pub(crate) const SHARED_OBJECT_SYMBOL_NOT_FOUND: Code = 302;
pub(crate) const SHARED_OBJECT_INIT_FAILED: Code = 303;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const ILLEGAL_ADDRESS: Code = 700;
pub(crate) const LAUNCH_TIME_OUT: Code = 702;
pub(crate) const CONTEXT_IS_DESTROYED: Code = 709;
pub(crate) const ASSERT: Code = 710;
pub(crate) const LAUNCH_FAILURE: Code = 719;
pub(crate) const NOT_SUPPORTED: Code = 801;
pub(crate) const STREAM_CAPTURE_UNSUPPORTED: Code = 900;

/// `hipStreamNonBlocking`.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `hipEventBlockingSync`.
pub(crate) const EVENT_BLOCKING_SYNC: c_uint = 1;
/// `hipEventDisableTiming`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `hipHostMallocPortable`.
pub(crate) const HOST_MALLOC_PORTABLE: c_uint = 1;
/// `hipMemcpyHostToDevice`.
pub(crate) const HOST_TO_DEVICE: c_int = 1;
/// `hipMemcpyDeviceToHost`.
pub(crate) const DEVICE_TO_HOST: c_int = 2;
/// `hipStreamCaptureModeThreadLocal`: calls of other threads do not disturb a recording.
pub(crate) const CAPTURE_THREAD_LOCAL: c_int = 1;
/// `hipMemoryTypeHost` from ROCm 6 on.
pub(crate) const MEMORY_TYPE_HOST: c_int = 1;
/// `hipMemoryTypeHost` of ROCm 5.
pub(crate) const MEMORY_TYPE_HOST_5: c_int = 0;
/// `hipDeviceAttributePciBusId`.
pub(crate) const ATTRIBUTE_PCI_BUS: c_int = 67;
/// `hipDeviceAttributePciDeviceId`.
pub(crate) const ATTRIBUTE_PCI_DEVICE: c_int = 68;
/// `hipDeviceAttributePciDomainID`.
pub(crate) const ATTRIBUTE_PCI_DOMAIN: c_int = 69;

/// Bytes that are given for the properties of a device, of any version.
pub(crate) const PROPERTIES_BYTES: usize = 4096;
/// Where `gcnArchName` is in the properties that ROCm 6 introduced.
pub(crate) const ARCHITECTURE_AT: usize = 1160;
/// Where it is in those of ROCm 5.
pub(crate) const ARCHITECTURE_AT_5: usize = 396;
/// Bytes of a text in the properties; the name is at the beginning.
pub(crate) const TEXT_BYTES: usize = 256;

/// `hipPointerAttribute_t`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct PointerAttributes {
    pub(crate) kind: c_int,
    pub(crate) device: c_int,
    pub(crate) device_pointer: *mut c_void,
    pub(crate) host_pointer: *mut c_void,
    pub(crate) is_managed: c_int,
    pub(crate) flags: c_uint,
}

vmafx_gpu::function_table! {
    /// Functions of the runtime.
    pub(crate) struct Functions {
        required {
            init: "hipInit" = fn(c_uint) -> Code;
            version: "hipRuntimeGetVersion" = fn(*mut c_int) -> Code;
            error_name: "hipGetErrorName" = fn(Code) -> *const c_char;
            last_error: "hipGetLastError" = fn() -> Code;
            device_count: "hipGetDeviceCount" = fn(*mut c_int) -> Code;
            device_memory: "hipDeviceTotalMem" = fn(*mut usize, c_int) -> Code;
            device_attribute: "hipDeviceGetAttribute" = fn(*mut c_int, c_int, c_int) -> Code;
            current: "hipGetDevice" = fn(*mut c_int) -> Code;
            make_current: "hipSetDevice" = fn(c_int) -> Code;
            allocate: "hipMalloc" = fn(*mut *mut c_void, usize) -> Code;
            free: "hipFree" = fn(*mut c_void) -> Code;
            allocate_host: "hipHostMalloc" = fn(*mut *mut c_void, usize, c_uint) -> Code;
            free_host: "hipHostFree" = fn(*mut c_void) -> Code;
            memory: "hipMemGetInfo" = fn(*mut usize, *mut usize) -> Code;
            stream_create: "hipStreamCreateWithFlags" = fn(*mut usize, c_uint) -> Code;
            stream_destroy: "hipStreamDestroy" = fn(usize) -> Code;
            stream_query: "hipStreamQuery" = fn(usize) -> Code;
            stream_synchronize: "hipStreamSynchronize" = fn(usize) -> Code;
            stream_wait: "hipStreamWaitEvent" = fn(usize, usize, c_uint) -> Code;
            event_create: "hipEventCreateWithFlags" = fn(*mut usize, c_uint) -> Code;
            event_destroy: "hipEventDestroy" = fn(usize) -> Code;
            event_record: "hipEventRecord" = fn(usize, usize) -> Code;
            event_query: "hipEventQuery" = fn(usize) -> Code;
            event_synchronize: "hipEventSynchronize" = fn(usize) -> Code;
            event_elapsed: "hipEventElapsedTime" = fn(*mut f32, usize, usize) -> Code;
            copy: "hipMemcpyAsync" =
                fn(*mut c_void, *const c_void, usize, c_int, usize) -> Code;
            copy_rows: "hipMemcpy2DAsync" = fn(
                *mut c_void, usize,
                *const c_void, usize,
                usize, usize,
                c_int,
                usize,
            ) -> Code;
            module_load: "hipModuleLoadData" = fn(*mut usize, *const c_void) -> Code;
            module_unload: "hipModuleUnload" = fn(usize) -> Code;
            module_function: "hipModuleGetFunction" = fn(*mut usize, usize, *const c_char) -> Code;
            launch: "hipModuleLaunchKernel" = fn(
                usize,
                c_uint, c_uint, c_uint,
                c_uint, c_uint, c_uint,
                c_uint,
                usize,
                *mut *mut c_void,
                *mut *mut c_void,
            ) -> Code;
        }
        optional {
            properties: "hipGetDevicePropertiesR0600" = fn(*mut c_void, c_int) -> Code;
            properties_5: "hipGetDeviceProperties" = fn(*mut c_void, c_int) -> Code;
            stream_device: "hipStreamGetDevice" = fn(usize, *mut c_int) -> Code;
            pointer_attributes: "hipPointerGetAttributes" =
                fn(*mut PointerAttributes, *const c_void) -> Code;
            capture_begin: "hipStreamBeginCapture" = fn(usize, c_int) -> Code;
            capture_end: "hipStreamEndCapture" = fn(usize, *mut usize) -> Code;
            graph_destroy: "hipGraphDestroy" = fn(usize) -> Code;
            graph_instantiate: "hipGraphInstantiate" =
                fn(*mut usize, usize, *mut usize, *mut c_char, usize) -> Code;
            graph_upload: "hipGraphUpload" = fn(usize, usize) -> Code;
            graph_launch: "hipGraphLaunch" = fn(usize, usize) -> Code;
            graph_exec_destroy: "hipGraphExecDestroy" = fn(usize) -> Code;
        }
    }
}

/// A version of ROCm's, such as 6.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Version {
    pub(crate) const fn new(major: u32, minor: u32) -> Self {
        Version { major, minor }
    }

    /// Of a number such as 60443484, which is 6.4 with a patch behind it.
    pub(crate) fn of(number: c_int) -> Self {
        let number = u32::try_from(number).unwrap_or(0);
        Version::new(number / 10_000_000, number / 100_000 % 100)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The runtime.
#[derive(Debug)]
pub(crate) struct Hip {
    pub(crate) functions: Functions,
    pub(crate) version: Version,
    pub(crate) library: Library,
}

impl Hip {
    /// Opens `file`, or finds the runtime; [`Functions::init`] is still to be called.
    ///
    /// # Safety
    /// The functions of `file` are of the runtime's types.
    pub(crate) unsafe fn find(file: Option<&Path>) -> Result<Self, LibraryError> {
        let library = match file {
            Some(file) => Library::at(&SEARCH, file),
            None => Library::open(&SEARCH),
        }?;
        // SAFETY: these are the runtime's functions as its header declares them, the same from
        // ROCm 5 on; a file is the caller's promise, and what the environment names is that of
        // whoever runs the process.
        let functions = unsafe { Functions::resolve(&library) }?;
        let mut number = 0;
        // SAFETY: the room is one number's. Where it fails, the version is 0 and nothing that is
        // new is used.
        let code = unsafe { (functions.version)(&mut number) };
        let hip = Hip {
            functions,
            version: Version::of(number),
            library,
        };
        hip.ignore(code);
        Ok(hip)
    }

    /// The runtime's name for a code.
    pub(crate) fn name(&self, code: Code) -> String {
        // SAFETY: takes a number.
        let name = unsafe { (self.functions.error_name)(code) };
        if name.is_null() {
            return "an unknown error".to_owned();
        }
        // SAFETY: a text of the runtime's that stays.
        one_line(&unsafe { CStr::from_ptr(name) }.to_string_lossy())
    }

    /// What `code` means for the caller of `call`.
    pub(crate) fn check(&self, call: &'static str, code: Code) -> Result<(), RuntimeError> {
        match code {
            SUCCESS => Ok(()),
            code => Err(self.failure(call, code)),
        }
    }

    pub(crate) fn failure(&self, call: &'static str, code: Code) -> RuntimeError {
        self.forget();
        RuntimeError {
            call,
            code,
            name: self.name(code),
            fault: fault(code),
        }
    }

    /// Passes on a code that is no failure of ours, or that nobody is told of.
    pub(crate) fn ignore(&self, code: Code) -> Code {
        if code != SUCCESS {
            self.forget();
        }
        code
    }

    /// Takes back the thread's last error: it is told by value, and whoever else uses the runtime
    /// on this thread is not to find it.
    pub(crate) fn forget(&self) {
        // SAFETY: takes nothing.
        let _ = unsafe { (self.functions.last_error)() };
    }
}

/// Class of a failure. What leaves the device's state of no use is its end.
pub(crate) fn fault(code: Code) -> Fault {
    match code {
        OUT_OF_MEMORY => Fault::OutOfMemory,
        NOT_SUPPORTED | STREAM_CAPTURE_UNSUPPORTED => Fault::NotSupported,
        INVALID_DEVICE_FUNCTION
        | INVALID_IMAGE
        | NO_BINARY_FOR_GPU
        | INVALID_KERNEL_FILE
        | INVALID_SOURCE
        | SHARED_OBJECT_SYMBOL_NOT_FOUND
        | SHARED_OBJECT_INIT_FAILED => Fault::BadModule,
        DEINITIALIZED | ECC_NOT_CORRECTABLE | ILLEGAL_ADDRESS | LAUNCH_TIME_OUT
        | CONTEXT_IS_DESTROYED | ASSERT | LAUNCH_FAILURE => Fault::DeviceLost,
        _ => Fault::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_their_numbers() {
        assert_eq!(Version::of(50_221_153), Version::new(5, 2));
        assert_eq!(Version::of(60_443_484), Version::new(6, 4));
        assert_eq!(Version::of(70_253_211), Version::new(7, 2));
        assert_eq!(Version::of(71_460_850), Version::new(7, 14));
        assert_eq!(Version::of(-1), Version::new(0, 0));
        assert!(Version::new(6, 10) > Version::new(6, 3));
    }

    #[test]
    fn failures_have_classes() {
        assert_eq!(fault(OUT_OF_MEMORY), Fault::OutOfMemory);
        assert_eq!(fault(NO_BINARY_FOR_GPU), Fault::BadModule);
        assert_eq!(fault(LAUNCH_FAILURE), Fault::DeviceLost);
        assert_eq!(fault(NOT_SUPPORTED), Fault::NotSupported);
        assert_eq!(fault(1), Fault::Other);
    }
}
