//! Types, numbers and names of the HIP runtime's C interface: the part that the simulator offers.
//!
//! A test compares sizes, offsets and numbers with published bindings of HIP 7. Where ROCm 5
//! differs, the item says so.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `hipError_t`, never success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

/// What a function answers: success, or a code.
pub(crate) type Answer<T = ()> = Result<T, Code>;

macro_rules! codes {
    ($($name:ident = $value:literal $hip:ident $text:literal;)*) => {
        #[allow(dead_code)] // some are here for their names and texts
        impl Code {
            $(pub(crate) const $name: Self = Self($value);)*
        }
        /// Number, name and text of each code.
        pub(crate) const CODES: &[(u32, &std::ffi::CStr, &std::ffi::CStr)] = &[
            $(($value, c_str(concat!(stringify!($hip), "\0")), c_str(concat!($text, "\0"))),)*
        ];
    };
}

codes! {
    SUCCESS = 0 hipSuccess "no error";
    INVALID_VALUE = 1 hipErrorInvalidValue "invalid argument";
    OUT_OF_MEMORY = 2 hipErrorOutOfMemory "out of memory";
    NOT_INITIALIZED = 3 hipErrorNotInitialized "initialization error";
    INVALID_CONFIGURATION = 9 hipErrorInvalidConfiguration "invalid configuration argument";
    INVALID_PITCH = 12 hipErrorInvalidPitchValue "invalid pitch argument";
    INVALID_DEVICE_POINTER = 17 hipErrorInvalidDevicePointer "invalid device pointer";
    INVALID_DIRECTION = 21 hipErrorInvalidMemcpyDirection "invalid copy direction for memcpy";
    INVALID_DEVICE_FUNCTION = 98 hipErrorInvalidDeviceFunction "invalid device function";
    NO_DEVICE = 100 hipErrorNoDevice "no ROCm-capable device is detected";
    INVALID_DEVICE = 101 hipErrorInvalidDevice "invalid device ordinal";
    INVALID_IMAGE = 200 hipErrorInvalidImage "device kernel image is invalid";
    INVALID_CONTEXT = 201 hipErrorInvalidContext "invalid device context";
    NO_BINARY = 209 hipErrorNoBinaryForGpu "no kernel image is available for execution on the device";
    INVALID_KERNEL_FILE = 218 hipErrorInvalidKernelFile "invalid kernel file";
    FILE_NOT_FOUND = 301 hipErrorFileNotFound "file not found";
    INVALID_HANDLE = 400 hipErrorInvalidHandle "invalid resource handle";
    ILLEGAL_STATE = 401 hipErrorIllegalState "the operation cannot be performed in the present state";
    NOT_FOUND = 500 hipErrorNotFound "named symbol not found";
    NOT_READY = 600 hipErrorNotReady "device not ready";
    ILLEGAL_ADDRESS = 700 hipErrorIllegalAddress "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701 hipErrorLaunchOutOfResources "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702 hipErrorLaunchTimeOut "the launch timed out and was terminated";
    CONTEXT_DESTROYED = 709 hipErrorContextIsDestroyed "context is destroyed";
    ALREADY_REGISTERED = 712 hipErrorHostMemoryAlreadyRegistered "part or all of the requested memory range is already mapped";
    NOT_REGISTERED = 713 hipErrorHostMemoryNotRegistered "pointer does not correspond to a registered memory region";
    LAUNCH_FAILURE = 719 hipErrorLaunchFailure "unspecified launch failure";
    NOT_SUPPORTED = 801 hipErrorNotSupported "operation not supported";
    CAPTURE_UNSUPPORTED = 900 hipErrorStreamCaptureUnsupported "operation not permitted when stream is capturing";
    CAPTURE_INVALIDATED = 901 hipErrorStreamCaptureInvalidated "operation failed due to a previous error during capture";
    CAPTURE_MERGE = 902 hipErrorStreamCaptureMerge "operation would result in a merge of separate capture sequences";
    CAPTURE_UNMATCHED = 903 hipErrorStreamCaptureUnmatched "capture was not ended in the same stream as it began";
    CAPTURE_UNJOINED = 904 hipErrorStreamCaptureUnjoined "capturing stream has unjoined work";
    CAPTURE_ISOLATION = 905 hipErrorStreamCaptureIsolation "dependency created on uncaptured work in another stream";
    CAPTURE_IMPLICIT = 906 hipErrorStreamCaptureImplicit "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907 hipErrorCapturedEvent "operation not permitted on an event last recorded in a capturing stream";
    CAPTURE_WRONG_THREAD = 908 hipErrorStreamCaptureWrongThread "attempt to terminate a thread-local capture sequence from another thread";
    UNKNOWN = 999 hipErrorUnknown "unknown error";
}

const fn c_str(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// `hipStream_t` and the other handles: never looked through, only looked up.
pub(crate) type Handle = *mut c_void;
/// `hipDeviceptr_t`.
pub(crate) type DevicePtr = *mut c_void;
/// `hipHostFn_t`.
pub(crate) type HostFn = unsafe extern "C" fn(*mut c_void);
/// `hipStreamCallback_t`.
pub(crate) type StreamCallback = unsafe extern "C" fn(Handle, u32, *mut c_void);

/// `hipStreamLegacy`, the default stream by another name.
pub(crate) const STREAM_LEGACY: usize = 1;
/// `hipStreamPerThread`.
pub(crate) const STREAM_PER_THREAD: usize = 2;

pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;

/// `hipMemcpyKind`.
pub(crate) mod kind {
    pub(crate) const HOST_TO_HOST: u32 = 0;
    pub(crate) const HOST_TO_DEVICE: u32 = 1;
    pub(crate) const DEVICE_TO_HOST: u32 = 2;
    pub(crate) const DEVICE_TO_DEVICE: u32 = 3;
    pub(crate) const DEFAULT: u32 = 4;
    pub(crate) const DEVICE_TO_DEVICE_NO_CU: u32 = 1024;
}

/// `hipStreamCaptureMode`.
pub(crate) mod capture_mode {
    pub(crate) const GLOBAL: u32 = 0;
    pub(crate) const THREAD_LOCAL: u32 = 1;
    pub(crate) const RELAXED: u32 = 2;
}

/// `hipMemoryType` from ROCm 6 on. ROCm 5 counts from the host at 0 and knows no unregistered
/// memory: see [`memory_type_of`].
pub(crate) mod memory_type {
    pub(crate) const UNREGISTERED: u32 = 0;
    pub(crate) const HOST: u32 = 1;
    pub(crate) const DEVICE: u32 = 2;
    pub(crate) const MANAGED: u32 = 3;
    pub(crate) const ARRAY: u32 = 10;
    pub(crate) const UNIFIED: u32 = 11;
}

/// A `hipMemoryType` as this major version of ROCm writes it.
pub(crate) fn memory_type_of(kind: u32, rocm: u32) -> u32 {
    match (rocm, kind) {
        (..=5, memory_type::HOST) => 0,
        (..=5, memory_type::DEVICE) => 1,
        (..=5, memory_type::ARRAY) => 2,
        (..=5, memory_type::UNIFIED) => 3,
        (..=5, memory_type::MANAGED) => 4,
        _ => kind,
    }
}

/// `hipPointerAttribute_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerAttributes {
    pub(crate) kind: u32,
    pub(crate) device: c_int,
    pub(crate) device_pointer: *mut c_void,
    pub(crate) host_pointer: *mut c_void,
    pub(crate) is_managed: c_int,
    pub(crate) allocation_flags: c_uint,
}

/// `hipUUID`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uuid {
    pub(crate) bytes: [c_char; 16],
}

/// `hipExternalMemoryHandleDesc`, the part that ROCm 5 and later have in common.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ExternalMemoryHandleDesc {
    pub(crate) kind: u32,
    pub(crate) handle: ExternalMemoryHandle,
    pub(crate) size: u64,
    pub(crate) flags: c_uint,
}

/// The union in [`ExternalMemoryHandleDesc`].
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union ExternalMemoryHandle {
    pub(crate) fd: c_int,
    pub(crate) win32: [*mut c_void; 2],
}

/// `hipExternalMemoryHandleTypeOpaqueFd`.
pub(crate) const EXTERNAL_OPAQUE_FD: u32 = 1;

/// `hipExternalMemoryBufferDesc`, the part that ROCm 5 and later have in common.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExternalMemoryBufferDesc {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) flags: c_uint,
}

/// `HIP_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayDescriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) format: u32,
    pub(crate) channels: c_uint,
}

/// `hipArray_Format`.
pub(crate) mod array_format {
    pub(crate) const U8: u32 = 1;
    pub(crate) const U16: u32 = 2;
    pub(crate) const U32: u32 = 3;
    pub(crate) const I8: u32 = 8;
    pub(crate) const I16: u32 = 9;
    pub(crate) const I32: u32 = 10;
    pub(crate) const HALF: u32 = 16;
    pub(crate) const FLOAT: u32 = 32;
}

/// `hipChannelFormatDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelFormat {
    pub(crate) bits: [c_int; 4],
    pub(crate) kind: u32,
}

/// `hipExtent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct HipExtent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `hip_Memcpy2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memcpy2D {
    pub(crate) from: Memcpy2DFrom,
    pub(crate) to: Memcpy2DTo,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// The source of a [`Memcpy2D`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memcpy2DFrom {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: u32,
    pub(crate) host: *const c_void,
    pub(crate) device: DevicePtr,
    pub(crate) array: Handle,
    pub(crate) pitch: usize,
}

/// The target of a [`Memcpy2D`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memcpy2DTo {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: u32,
    pub(crate) host: *mut c_void,
    pub(crate) device: DevicePtr,
    pub(crate) array: Handle,
    pub(crate) pitch: usize,
}

/// `HIP_LAUNCH_PARAM_*`, the keys of the `extra` list of a launch.
pub(crate) mod launch_param {
    pub(crate) const END: usize = 3;
    pub(crate) const BUFFER_POINTER: usize = 1;
    pub(crate) const BUFFER_SIZE: usize = 2;
}

/// `hipDeviceAttribute_t`.
pub(crate) mod attribute {
    pub(crate) const ASYNC_ENGINES: u32 = 2;
    pub(crate) const CAN_MAP_HOST_MEMORY: u32 = 3;
    pub(crate) const CLOCK_RATE: u32 = 5;
    pub(crate) const CONCURRENT_KERNELS: u32 = 8;
    pub(crate) const COOPERATIVE_LAUNCH: u32 = 10;
    pub(crate) const INTEGRATED: u32 = 16;
    pub(crate) const L2_BYTES: u32 = 19;
    pub(crate) const MAJOR: u32 = 23;
    pub(crate) const MANAGED_MEMORY: u32 = 24;
    pub(crate) const MAX_BLOCK_X: u32 = 26;
    pub(crate) const MAX_BLOCK_Z: u32 = 28;
    pub(crate) const MAX_GRID_X: u32 = 29;
    pub(crate) const MAX_GRID_Y: u32 = 30;
    pub(crate) const MAX_GRID_Z: u32 = 31;
    pub(crate) const MAX_THREADS_PER_BLOCK: u32 = 56;
    pub(crate) const BUS_WIDTH: u32 = 59;
    pub(crate) const MEMORY_CLOCK_RATE: u32 = 60;
    pub(crate) const MINOR: u32 = 61;
    pub(crate) const MULTIPROCESSORS: u32 = 63;
    pub(crate) const PCI_BUS: u32 = 67;
    pub(crate) const PCI_DEVICE: u32 = 68;
    pub(crate) const PCI_DOMAIN: u32 = 69;
    pub(crate) const MAX_SHARED_PER_BLOCK: u32 = 74;
    pub(crate) const UNIFIED_ADDRESSING: u32 = 85;
    pub(crate) const WARP_SIZE: u32 = 87;
    pub(crate) const MEMORY_POOLS: u32 = 88;
    pub(crate) const HOST_REGISTER: u32 = 90;
}

/// Offsets of what the simulator fills in of `hipDeviceProp_tR0600`, and its size.
pub(crate) mod properties_r0600 {
    pub(crate) const SIZE: usize = 1472;
    pub(crate) const NAME: usize = 0;
    pub(crate) const UUID: usize = 256;
    pub(crate) const TOTAL_MEMORY: usize = 288;
    pub(crate) const SHARED_PER_BLOCK: usize = 296;
    pub(crate) const WARP_SIZE: usize = 308;
    pub(crate) const MAX_THREADS_PER_BLOCK: usize = 320;
    pub(crate) const MAJOR: usize = 360;
    pub(crate) const MINOR: usize = 364;
    pub(crate) const MULTIPROCESSORS: usize = 388;
    pub(crate) const INTEGRATED: usize = 396;
    pub(crate) const PCI_BUS: usize = 584;
    pub(crate) const PCI_DEVICE: usize = 588;
    pub(crate) const PCI_DOMAIN: usize = 592;
    pub(crate) const ASYNC_ENGINES: usize = 600;
    pub(crate) const GCN_ARCH_NAME: usize = 1160;
}

/// The same of the layout of ROCm 5, which `hipGetDeviceProperties` writes in every version.
pub(crate) mod properties_r5 {
    pub(crate) const SIZE: usize = 792;
    pub(crate) const NAME: usize = 0;
    pub(crate) const TOTAL_MEMORY: usize = 256;
    pub(crate) const SHARED_PER_BLOCK: usize = 264;
    pub(crate) const WARP_SIZE: usize = 276;
    pub(crate) const MAX_THREADS_PER_BLOCK: usize = 280;
    pub(crate) const MAJOR: usize = 328;
    pub(crate) const MINOR: usize = 332;
    pub(crate) const MULTIPROCESSORS: usize = 336;
    pub(crate) const PCI_DOMAIN: usize = 364;
    pub(crate) const PCI_BUS: usize = 368;
    pub(crate) const PCI_DEVICE: usize = 372;
    pub(crate) const GCN_ARCH_NAME: usize = 396;
}
