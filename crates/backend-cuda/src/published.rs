//! The driver's types, numbers and functions as declared here, beside published bindings.

use cudarc::driver::sys;
use vmafx_gpu::library::{Shape, shape_of};

use crate::driver::{self, Copy2d, Functions};

macro_rules! published {
    ($($function:ident($($argument:tt),*);)*) => {
        vec![$((
            stringify!($function),
            shape_of(sys::$function as unsafe fn($(published!(@any $argument)),*) -> _),
        )),*]
    };
    (@any $argument:tt) => { _ };
}

#[test]
fn functions_are_declared_as_published() {
    let published: Vec<(&str, Shape)> = published! {
        cuInit(_);
        cuDriverGetVersion(_);
        cuGetErrorName(_, _);
        cuDeviceGetCount(_);
        cuDeviceGet(_, _);
        cuDeviceGetName(_, _, _);
        cuDeviceTotalMem_v2(_, _);
        cuDeviceGetAttribute(_, _, _);
        cuDevicePrimaryCtxRetain(_, _);
        cuDevicePrimaryCtxRelease_v2(_);
        cuCtxPushCurrent_v2(_);
        cuCtxPopCurrent_v2(_);
        cuCtxGetDevice(_);
        cuMemAlloc_v2(_, _);
        cuMemFree_v2(_);
        cuMemHostAlloc(_, _, _);
        cuMemFreeHost(_);
        cuMemGetInfo_v2(_, _);
        cuStreamCreate(_, _);
        cuStreamDestroy_v2(_);
        cuStreamSynchronize(_);
        cuStreamWaitEvent(_, _, _);
        cuEventCreate(_, _);
        cuEventDestroy_v2(_);
        cuEventRecord(_, _);
        cuEventQuery(_);
        cuEventSynchronize(_);
        cuEventElapsedTime(_, _, _);
        cuMemcpyHtoDAsync_v2(_, _, _, _);
        cuMemcpy2DAsync_v2(_, _);
        cuMemcpyDtoHAsync_v2(_, _, _, _);
        cuModuleLoadDataEx(_, _, _, _, _);
        cuModuleUnload(_);
        cuModuleGetFunction(_, _, _);
        cuLaunchKernel(_, _, _, _, _, _, _, _, _, _, _);
        cuFuncLoad(_);
        cuStreamGetCtx(_, _);
        cuPointerGetAttributes(_, _, _, _);
        cuLinkCreate_v2(_, _, _, _);
        cuLinkAddData_v2(_, _, _, _, _, _, _, _);
        cuLinkComplete(_, _, _);
        cuLinkDestroy(_);
        cuStreamBeginCapture_v2(_, _);
        cuStreamEndCapture(_, _);
        cuGraphDestroy(_);
        cuGraphInstantiateWithFlags(_, _, _);
        cuGraphUpload(_, _);
        cuGraphLaunch(_, _);
        cuGraphExecDestroy(_);
    };
    assert_eq!(Functions::shapes(), published);
}

#[test]
fn answers_have_the_published_numbers() {
    use sys::cudaError_enum as published;
    let pairs = [
        (driver::SUCCESS, published::CUDA_SUCCESS),
        (driver::OUT_OF_MEMORY, published::CUDA_ERROR_OUT_OF_MEMORY),
        (driver::DEINITIALIZED, published::CUDA_ERROR_DEINITIALIZED),
        (driver::STUB_LIBRARY, published::CUDA_ERROR_STUB_LIBRARY),
        (driver::NO_DEVICE, published::CUDA_ERROR_NO_DEVICE),
        (driver::INVALID_IMAGE, published::CUDA_ERROR_INVALID_IMAGE),
        (
            driver::NO_BINARY_FOR_GPU,
            published::CUDA_ERROR_NO_BINARY_FOR_GPU,
        ),
        (
            driver::ECC_UNCORRECTABLE,
            published::CUDA_ERROR_ECC_UNCORRECTABLE,
        ),
        (driver::INVALID_PTX, published::CUDA_ERROR_INVALID_PTX),
        (
            driver::NVLINK_UNCORRECTABLE,
            published::CUDA_ERROR_NVLINK_UNCORRECTABLE,
        ),
        (
            driver::JIT_COMPILER_NOT_FOUND,
            published::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        ),
        (
            driver::UNSUPPORTED_PTX_VERSION,
            published::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        ),
        (
            driver::JIT_COMPILATION_DISABLED,
            published::CUDA_ERROR_JIT_COMPILATION_DISABLED,
        ),
        (driver::CONTAINED, published::CUDA_ERROR_CONTAINED),
        (driver::INVALID_SOURCE, published::CUDA_ERROR_INVALID_SOURCE),
        (driver::NOT_READY, published::CUDA_ERROR_NOT_READY),
        (
            driver::ILLEGAL_ADDRESS,
            published::CUDA_ERROR_ILLEGAL_ADDRESS,
        ),
        (driver::LAUNCH_TIMEOUT, published::CUDA_ERROR_LAUNCH_TIMEOUT),
        (
            driver::CONTEXT_IS_DESTROYED,
            published::CUDA_ERROR_CONTEXT_IS_DESTROYED,
        ),
        (driver::ASSERT, published::CUDA_ERROR_ASSERT),
        (
            driver::HARDWARE_STACK_ERROR,
            published::CUDA_ERROR_HARDWARE_STACK_ERROR,
        ),
        (
            driver::ILLEGAL_INSTRUCTION,
            published::CUDA_ERROR_ILLEGAL_INSTRUCTION,
        ),
        (
            driver::MISALIGNED_ADDRESS,
            published::CUDA_ERROR_MISALIGNED_ADDRESS,
        ),
        (
            driver::INVALID_ADDRESS_SPACE,
            published::CUDA_ERROR_INVALID_ADDRESS_SPACE,
        ),
        (driver::INVALID_PC, published::CUDA_ERROR_INVALID_PC),
        (driver::LAUNCH_FAILED, published::CUDA_ERROR_LAUNCH_FAILED),
        (driver::NOT_SUPPORTED, published::CUDA_ERROR_NOT_SUPPORTED),
        (
            driver::SYSTEM_NOT_READY,
            published::CUDA_ERROR_SYSTEM_NOT_READY,
        ),
        (
            driver::SYSTEM_DRIVER_MISMATCH,
            published::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        ),
        (
            driver::STREAM_CAPTURE_UNSUPPORTED,
            published::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs as i32, "{theirs:?}");
    }
}

#[test]
fn other_numbers_are_the_published_ones() {
    use sys::CUdevice_attribute_enum as attribute;
    use sys::CUjit_option_enum as option;
    let pairs = [
        (
            driver::STREAM_NON_BLOCKING,
            sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32,
        ),
        (
            driver::EVENT_BLOCKING_SYNC,
            sys::CUevent_flags_enum::CU_EVENT_BLOCKING_SYNC as u32,
        ),
        (
            driver::EVENT_DISABLE_TIMING,
            sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32,
        ),
        (driver::MEMHOSTALLOC_PORTABLE, sys::CU_MEMHOSTALLOC_PORTABLE),
        (
            driver::MEMORYTYPE_HOST,
            sys::CUmemorytype_enum::CU_MEMORYTYPE_HOST as u32,
        ),
        (
            driver::MEMORYTYPE_DEVICE,
            sys::CUmemorytype_enum::CU_MEMORYTYPE_DEVICE as u32,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs);
    }
    let pairs = [
        (
            driver::POINTER_MEMORY_TYPE,
            sys::CUpointer_attribute_enum::CU_POINTER_ATTRIBUTE_MEMORY_TYPE as i32,
        ),
        (
            driver::CAPTURE_THREAD_LOCAL,
            sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as i32,
        ),
        (
            driver::JIT_ERROR_LOG_BUFFER,
            option::CU_JIT_ERROR_LOG_BUFFER as i32,
        ),
        (
            driver::JIT_ERROR_LOG_BUFFER_SIZE,
            option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as i32,
        ),
        (
            driver::JIT_INPUT_PTX,
            sys::CUjitInputType_enum::CU_JIT_INPUT_PTX as i32,
        ),
        (
            driver::ATTRIBUTE_PCI_BUS,
            attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID as i32,
        ),
        (
            driver::ATTRIBUTE_PCI_DEVICE,
            attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID as i32,
        ),
        (
            driver::ATTRIBUTE_PCI_DOMAIN,
            attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID as i32,
        ),
        (
            driver::ATTRIBUTE_CAPABILITY_MAJOR,
            attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as i32,
        ),
        (
            driver::ATTRIBUTE_CAPABILITY_MINOR,
            attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as i32,
        ),
    ];
    for (ours, theirs) in pairs {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn the_copy_is_laid_out_as_published() {
    macro_rules! offsets {
        ($($ours:ident $theirs:ident),*) => {$(
            assert_eq!(
                std::mem::offset_of!(Copy2d, $ours),
                std::mem::offset_of!(sys::CUDA_MEMCPY2D_st, $theirs),
                stringify!($ours)
            );
        )*};
    }
    assert_eq!(size_of::<Copy2d>(), size_of::<sys::CUDA_MEMCPY2D_st>());
    offsets!(
        src_x srcXInBytes, src_y srcY, src_type srcMemoryType, src_host srcHost,
        src_device srcDevice, src_array srcArray, src_pitch srcPitch,
        dst_x dstXInBytes, dst_y dstY, dst_type dstMemoryType, dst_host dstHost,
        dst_device dstDevice, dst_array dstArray, dst_pitch dstPitch,
        width WidthInBytes, height Height
    );
}
