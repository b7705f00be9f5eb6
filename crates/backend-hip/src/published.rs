//! The runtime's types, numbers and functions as declared here, beside published bindings of the
//! newest ROCm. The layout of ROCm 5's properties is in none of them.

use std::mem::offset_of;

use cubecl_hip_sys as sys;
use vmafx_gpu::library::{Shape, shape_of};

use crate::functions::{self, Functions, PointerAttributes};

macro_rules! published {
    ($($function:ident($($argument:tt),*);)*) => {
        vec![$((
            stringify!($function),
            shape_of(sys::$function as unsafe extern "C" fn($(published!(@any $argument)),*) -> _),
        )),*]
    };
    (@any $argument:tt) => { _ };
}

#[test]
fn functions_are_declared_as_published() {
    let published: Vec<(&str, Shape)> = published! {
        hipInit(_);
        hipRuntimeGetVersion(_);
        hipGetErrorName(_);
        hipGetLastError();
        hipGetDeviceCount(_);
        hipDeviceTotalMem(_, _);
        hipDeviceGetAttribute(_, _, _);
        hipGetDevice(_);
        hipSetDevice(_);
        hipMalloc(_, _);
        hipFree(_);
        hipHostMalloc(_, _, _);
        hipHostFree(_);
        hipMemGetInfo(_, _);
        hipStreamCreateWithFlags(_, _);
        hipStreamDestroy(_);
        hipStreamQuery(_);
        hipStreamSynchronize(_);
        hipStreamWaitEvent(_, _, _);
        hipEventCreateWithFlags(_, _);
        hipEventDestroy(_);
        hipEventRecord(_, _);
        hipEventQuery(_);
        hipEventSynchronize(_);
        hipEventElapsedTime(_, _, _);
        hipMemcpyAsync(_, _, _, _, _);
        hipMemcpy2DAsync(_, _, _, _, _, _, _, _);
        hipModuleLoadData(_, _);
        hipModuleUnload(_);
        hipModuleGetFunction(_, _, _);
        hipModuleLaunchKernel(_, _, _, _, _, _, _, _, _, _, _);
        hipGetDevicePropertiesR0600(_, _);
        hipStreamGetDevice(_, _);
        hipPointerGetAttributes(_, _);
        hipStreamBeginCapture(_, _);
        hipStreamEndCapture(_, _);
        hipGraphDestroy(_);
        hipGraphInstantiate(_, _, _, _, _);
        hipGraphUpload(_, _);
        hipGraphLaunch(_, _);
        hipGraphExecDestroy(_);
    };
    let mut ours = Functions::shapes();
    // The name of ROCm 5, with the signature of its successor.
    let properties = |name| ours.iter().find(|(known, _)| *known == name).cloned();
    let (new, old) = (
        properties("hipGetDevicePropertiesR0600").unwrap(),
        properties("hipGetDeviceProperties").unwrap(),
    );
    assert_eq!(new.1, old.1);
    ours.retain(|(name, _)| *name != old.0);
    assert_eq!(ours, published);
}

#[test]
fn answers_have_the_published_numbers() {
    let pairs = [
        (functions::SUCCESS, sys::hipError_t_hipSuccess),
        (
            functions::OUT_OF_MEMORY,
            sys::hipError_t_hipErrorOutOfMemory,
        ),
        (
            functions::DEINITIALIZED,
            sys::hipError_t_hipErrorDeinitialized,
        ),
        (
            functions::INVALID_DEVICE_FUNCTION,
            sys::hipError_t_hipErrorInvalidDeviceFunction,
        ),
        (functions::NO_DEVICE, sys::hipError_t_hipErrorNoDevice),
        (
            functions::INVALID_DEVICE,
            sys::hipError_t_hipErrorInvalidDevice,
        ),
        (
            functions::INVALID_IMAGE,
            sys::hipError_t_hipErrorInvalidImage,
        ),
        (
            functions::NO_BINARY_FOR_GPU,
            sys::hipError_t_hipErrorNoBinaryForGpu,
        ),
        (
            functions::ECC_NOT_CORRECTABLE,
            sys::hipError_t_hipErrorECCNotCorrectable,
        ),
        (
            functions::INVALID_KERNEL_FILE,
            sys::hipError_t_hipErrorInvalidKernelFile,
        ),
        (
            functions::INVALID_SOURCE,
            sys::hipError_t_hipErrorInvalidSource,
        ),
        (
            functions::SHARED_OBJECT_SYMBOL_NOT_FOUND,
            sys::hipError_t_hipErrorSharedObjectSymbolNotFound,
        ),
        (
            functions::SHARED_OBJECT_INIT_FAILED,
            sys::hipError_t_hipErrorSharedObjectInitFailed,
        ),
        (functions::NOT_READY, sys::hipError_t_hipErrorNotReady),
        (
            functions::ILLEGAL_ADDRESS,
            sys::hipError_t_hipErrorIllegalAddress,
        ),
        (
            functions::LAUNCH_TIME_OUT,
            sys::hipError_t_hipErrorLaunchTimeOut,
        ),
        (
            functions::CONTEXT_IS_DESTROYED,
            sys::hipError_t_hipErrorContextIsDestroyed,
        ),
        (functions::ASSERT, sys::hipError_t_hipErrorAssert),
        (
            functions::LAUNCH_FAILURE,
            sys::hipError_t_hipErrorLaunchFailure,
        ),
        (
            functions::NOT_SUPPORTED,
            sys::hipError_t_hipErrorNotSupported,
        ),
        (
            functions::STREAM_CAPTURE_UNSUPPORTED,
            sys::hipError_t_hipErrorStreamCaptureUnsupported,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs as i32);
    }
}

#[test]
fn other_numbers_are_the_published_ones() {
    let pairs = [
        (functions::STREAM_NON_BLOCKING, sys::hipStreamNonBlocking),
        (functions::EVENT_BLOCKING_SYNC, sys::hipEventBlockingSync),
        (functions::EVENT_DISABLE_TIMING, sys::hipEventDisableTiming),
        (functions::HOST_MALLOC_PORTABLE, sys::hipHostMallocPortable),
        (
            functions::HOST_TO_DEVICE as u32,
            sys::hipMemcpyKind_hipMemcpyHostToDevice,
        ),
        (
            functions::DEVICE_TO_HOST as u32,
            sys::hipMemcpyKind_hipMemcpyDeviceToHost,
        ),
        (
            functions::CAPTURE_THREAD_LOCAL as u32,
            sys::hipStreamCaptureMode_hipStreamCaptureModeThreadLocal,
        ),
        (
            functions::MEMORY_TYPE_HOST as u32,
            sys::hipMemoryType_hipMemoryTypeHost,
        ),
        (
            functions::ATTRIBUTE_PCI_BUS as u32,
            sys::hipDeviceAttribute_t_hipDeviceAttributePciBusId,
        ),
        (
            functions::ATTRIBUTE_PCI_DEVICE as u32,
            sys::hipDeviceAttribute_t_hipDeviceAttributePciDeviceId,
        ),
        (
            functions::ATTRIBUTE_PCI_DOMAIN as u32,
            sys::hipDeviceAttribute_t_hipDeviceAttributePciDomainID,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn structures_are_laid_out_as_published() {
    assert_eq!(
        offset_of!(sys::hipDeviceProp_tR0600, gcnArchName),
        functions::ARCHITECTURE_AT
    );
    assert_eq!(offset_of!(sys::hipDeviceProp_tR0600, name), 0);
    assert_eq!(size_of::<sys::hipDeviceProp_tR0600>(), 1472);
    const { assert!(functions::PROPERTIES_BYTES >= 2 * 1472) };

    assert_eq!(
        size_of::<PointerAttributes>(),
        size_of::<sys::hipPointerAttribute_t>()
    );
    assert_eq!(
        offset_of!(PointerAttributes, kind),
        offset_of!(sys::hipPointerAttribute_t, type_)
    );
    assert_eq!(
        offset_of!(PointerAttributes, is_managed),
        offset_of!(sys::hipPointerAttribute_t, isManaged)
    );
    assert_eq!(
        offset_of!(PointerAttributes, host_pointer),
        offset_of!(sys::hipPointerAttribute_t, hostPointer)
    );
}
