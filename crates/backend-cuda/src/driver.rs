//! The functions of `libcuda.so.1`, their numbers, and what an answer means.
//!
//! Names bear the suffix under which the driver exports what today's headers declare. Handles are
//! plain numbers, a null pointer is 0. Types and numbers are those of `cuda.h`; a test compares
//! them with published bindings.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use vmafx_gpu::library::{Library, LibraryError, Search, one_line};
use vmafx_gpu::{Fault, RuntimeError};

/// Where the driver is.
pub(crate) const SEARCH: Search = Search {
    what: "the NVIDIA driver",
    variable: "VMAFX_CUDA_LIBRARY",
    names: &["libcuda.so.1"],
    mark: "cuInit",
};

/// `CUresult`.
pub(crate) type Code = c_int;
/// `CUdevice`.
pub(crate) type DeviceNumber = c_int;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const OUT_OF_MEMORY: Code = 2;
pub(crate) const DEINITIALIZED: Code = 4;
pub(crate) const STUB_LIBRARY: Code = 34;
pub(crate) const NO_DEVICE: Code = 100;
pub(crate) const INVALID_IMAGE: Code = 200;
pub(crate) const NO_BINARY_FOR_GPU: Code = 209;
pub(crate) const ECC_UNCORRECTABLE: Code = 214;
pub(crate) const INVALID_PTX: Code = 218;
pub(crate) const NVLINK_UNCORRECTABLE: Code = 220;
pub(crate) const JIT_COMPILER_NOT_FOUND: Code = 221;
pub(crate) const UNSUPPORTED_PTX_VERSION: Code = 222;
pub(crate) const JIT_COMPILATION_DISABLED: Code = 223;
pub(crate) const CONTAINED: Code = 226;
pub(crate) const INVALID_SOURCE: Code = 300;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const ILLEGAL_ADDRESS: Code = 700;
pub(crate) const LAUNCH_TIMEOUT: Code = 702;
pub(crate) const CONTEXT_IS_DESTROYED: Code = 709;
pub(crate) const ASSERT: Code = 710;
pub(crate) const HARDWARE_STACK_ERROR: Code = 714;
pub(crate) const ILLEGAL_INSTRUCTION: Code = 715;
pub(crate) const MISALIGNED_ADDRESS: Code = 716;
pub(crate) const INVALID_ADDRESS_SPACE: Code = 717;
pub(crate) const INVALID_PC: Code = 718;
pub(crate) const LAUNCH_FAILED: Code = 719;
pub(crate) const NOT_SUPPORTED: Code = 801;
pub(crate) const SYSTEM_NOT_READY: Code = 802;
pub(crate) const SYSTEM_DRIVER_MISMATCH: Code = 803;
pub(crate) const STREAM_CAPTURE_UNSUPPORTED: Code = 900;

/// `CU_STREAM_NON_BLOCKING`.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_BLOCKING_SYNC`.
pub(crate) const EVENT_BLOCKING_SYNC: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEMHOSTALLOC_PORTABLE`.
pub(crate) const MEMHOSTALLOC_PORTABLE: c_uint = 1;
/// `CU_MEMORYTYPE_HOST`.
pub(crate) const MEMORYTYPE_HOST: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub(crate) const MEMORYTYPE_DEVICE: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
pub(crate) const POINTER_MEMORY_TYPE: c_int = 2;
/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: calls of other threads do not disturb a recording.
pub(crate) const CAPTURE_THREAD_LOCAL: c_int = 1;
/// `CU_JIT_ERROR_LOG_BUFFER`.
pub(crate) const JIT_ERROR_LOG_BUFFER: c_int = 5;
/// `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
pub(crate) const JIT_ERROR_LOG_BUFFER_SIZE: c_int = 6;
/// `CU_JIT_INPUT_PTX`.
pub(crate) const JIT_INPUT_PTX: c_int = 1;
/// `CU_DEVICE_ATTRIBUTE_PCI_BUS_ID`.
pub(crate) const ATTRIBUTE_PCI_BUS: c_int = 33;
/// `CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID`.
pub(crate) const ATTRIBUTE_PCI_DEVICE: c_int = 34;
/// `CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID`.
pub(crate) const ATTRIBUTE_PCI_DOMAIN: c_int = 50;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`.
pub(crate) const ATTRIBUTE_CAPABILITY_MAJOR: c_int = 75;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`.
pub(crate) const ATTRIBUTE_CAPABILITY_MINOR: c_int = 76;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Copy2d {
    pub(crate) src_x: usize,
    pub(crate) src_y: usize,
    pub(crate) src_type: c_uint,
    pub(crate) src_host: usize,
    pub(crate) src_device: u64,
    pub(crate) src_array: usize,
    pub(crate) src_pitch: usize,
    pub(crate) dst_x: usize,
    pub(crate) dst_y: usize,
    pub(crate) dst_type: c_uint,
    pub(crate) dst_host: usize,
    pub(crate) dst_device: u64,
    pub(crate) dst_array: usize,
    pub(crate) dst_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

vmafx_gpu::function_table! {
    /// Functions of the driver.
    pub(crate) struct Functions {
        required {
            init: "cuInit" = fn(c_uint) -> Code;
            driver_version: "cuDriverGetVersion" = fn(*mut c_int) -> Code;
            error_name: "cuGetErrorName" = fn(Code, *mut *const c_char) -> Code;
            device_count: "cuDeviceGetCount" = fn(*mut c_int) -> Code;
            device: "cuDeviceGet" = fn(*mut DeviceNumber, c_int) -> Code;
            device_name: "cuDeviceGetName" = fn(*mut c_char, c_int, DeviceNumber) -> Code;
            device_memory: "cuDeviceTotalMem_v2" = fn(*mut usize, DeviceNumber) -> Code;
            device_attribute: "cuDeviceGetAttribute" = fn(*mut c_int, c_int, DeviceNumber) -> Code;
            retain: "cuDevicePrimaryCtxRetain" = fn(*mut usize, DeviceNumber) -> Code;
            release: "cuDevicePrimaryCtxRelease_v2" = fn(DeviceNumber) -> Code;
            push: "cuCtxPushCurrent_v2" = fn(usize) -> Code;
            pop: "cuCtxPopCurrent_v2" = fn(*mut usize) -> Code;
            context_device: "cuCtxGetDevice" = fn(*mut DeviceNumber) -> Code;
            allocate: "cuMemAlloc_v2" = fn(*mut u64, usize) -> Code;
            free: "cuMemFree_v2" = fn(u64) -> Code;
            allocate_host: "cuMemHostAlloc" = fn(*mut *mut c_void, usize, c_uint) -> Code;
            free_host: "cuMemFreeHost" = fn(*mut c_void) -> Code;
            memory: "cuMemGetInfo_v2" = fn(*mut usize, *mut usize) -> Code;
            stream_create: "cuStreamCreate" = fn(*mut usize, c_uint) -> Code;
            stream_destroy: "cuStreamDestroy_v2" = fn(usize) -> Code;
            stream_synchronize: "cuStreamSynchronize" = fn(usize) -> Code;
            stream_wait: "cuStreamWaitEvent" = fn(usize, usize, c_uint) -> Code;
            event_create: "cuEventCreate" = fn(*mut usize, c_uint) -> Code;
            event_destroy: "cuEventDestroy_v2" = fn(usize) -> Code;
            event_record: "cuEventRecord" = fn(usize, usize) -> Code;
            event_query: "cuEventQuery" = fn(usize) -> Code;
            event_synchronize: "cuEventSynchronize" = fn(usize) -> Code;
            event_elapsed: "cuEventElapsedTime" = fn(*mut f32, usize, usize) -> Code;
            upload: "cuMemcpyHtoDAsync_v2" = fn(u64, *const c_void, usize, usize) -> Code;
            upload_rows: "cuMemcpy2DAsync_v2" = fn(*const Copy2d, usize) -> Code;
            download: "cuMemcpyDtoHAsync_v2" = fn(*mut c_void, u64, usize, usize) -> Code;
            module_load: "cuModuleLoadDataEx" =
                fn(*mut usize, *const c_void, c_uint, *mut c_int, *mut *mut c_void) -> Code;
            module_unload: "cuModuleUnload" = fn(usize) -> Code;
            module_function: "cuModuleGetFunction" = fn(*mut usize, usize, *const c_char) -> Code;
            launch: "cuLaunchKernel" = fn(
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
            function_load: "cuFuncLoad" = fn(usize) -> Code;
            stream_context: "cuStreamGetCtx" = fn(usize, *mut usize) -> Code;
            pointer_attributes: "cuPointerGetAttributes" = fn(c_uint, *mut c_int, *mut *mut c_void, u64) -> Code;
            link_create: "cuLinkCreate_v2" =
                fn(c_uint, *mut c_int, *mut *mut c_void, *mut usize) -> Code;
            link_add: "cuLinkAddData_v2" = fn(
                usize,
                c_int,
                *mut c_void,
                usize,
                *const c_char,
                c_uint,
                *mut c_int,
                *mut *mut c_void,
            ) -> Code;
            link_complete: "cuLinkComplete" = fn(usize, *mut *mut c_void, *mut usize) -> Code;
            link_destroy: "cuLinkDestroy" = fn(usize) -> Code;
            capture_begin: "cuStreamBeginCapture_v2" = fn(usize, c_int) -> Code;
            capture_end: "cuStreamEndCapture" = fn(usize, *mut usize) -> Code;
            graph_destroy: "cuGraphDestroy" = fn(usize) -> Code;
            graph_instantiate: "cuGraphInstantiateWithFlags" = fn(*mut usize, usize, u64) -> Code;
            graph_upload: "cuGraphUpload" = fn(usize, usize) -> Code;
            graph_launch: "cuGraphLaunch" = fn(usize, usize) -> Code;
            graph_exec_destroy: "cuGraphExecDestroy" = fn(usize) -> Code;
        }
    }
}

/// The driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) functions: Functions,
    pub(crate) library: Library,
}

impl Driver {
    /// Opens `file`, or finds the driver; [`Functions::init`] is still to be called.
    ///
    /// # Safety
    /// The functions of `file` are of the driver's types.
    pub(crate) unsafe fn find(file: Option<&Path>) -> Result<Self, LibraryError> {
        let library = match file {
            Some(file) => Library::at(&SEARCH, file),
            None => Library::open(&SEARCH),
        }?;
        Ok(Driver {
            // SAFETY: these are the driver's functions as `cuda.h` declares them; a file is the
            // caller's promise, and what the environment names is that of whoever runs the process.
            functions: unsafe { Functions::resolve(&library) }?,
            library,
        })
    }

    /// The driver's name for a code.
    pub(crate) fn name(&self, code: Code) -> String {
        let mut name = std::ptr::null();
        // SAFETY: the room is one pointer's.
        let answer = unsafe { (self.functions.error_name)(code, &mut name) };
        if answer != SUCCESS || name.is_null() {
            return "an unknown error".to_owned();
        }
        // SAFETY: a text of the driver's that stays.
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
        RuntimeError {
            call,
            code,
            name: self.name(code),
            fault: fault(code),
        }
    }
}

/// Class of a failure. What the driver documents as leaving the context, or the process, of no
/// use is the device's end.
pub(crate) fn fault(code: Code) -> Fault {
    match code {
        OUT_OF_MEMORY => Fault::OutOfMemory,
        NOT_SUPPORTED | STREAM_CAPTURE_UNSUPPORTED => Fault::NotSupported,
        INVALID_IMAGE
        | NO_BINARY_FOR_GPU
        | INVALID_PTX
        | JIT_COMPILER_NOT_FOUND
        | UNSUPPORTED_PTX_VERSION
        | JIT_COMPILATION_DISABLED
        | INVALID_SOURCE => Fault::BadModule,
        DEINITIALIZED
        | ECC_UNCORRECTABLE
        | NVLINK_UNCORRECTABLE
        | CONTAINED
        | ILLEGAL_ADDRESS
        | LAUNCH_TIMEOUT
        | CONTEXT_IS_DESTROYED
        | ASSERT
        | HARDWARE_STACK_ERROR
        | ILLEGAL_INSTRUCTION
        | MISALIGNED_ADDRESS
        | INVALID_ADDRESS_SPACE
        | INVALID_PC
        | LAUNCH_FAILED => Fault::DeviceLost,
        _ => Fault::Other,
    }
}
