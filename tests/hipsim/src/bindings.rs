//! What this crate says of HIP's interface against published bindings of HIP 7.

use std::mem::{offset_of, size_of};

use cubecl_hip_sys as hip;

use crate::abi;
use crate::api::array::*;
use crate::api::copy::*;
use crate::api::device::*;
use crate::api::event::*;
use crate::api::external::*;
use crate::api::graph::*;
use crate::api::launch::*;
use crate::api::memory::*;
use crate::api::pool::*;
use crate::api::stream::*;

/// Sizes of the arguments of a function, in their order, and of what it answers.
trait Shape {
    fn shape(self) -> Vec<usize>;
}

macro_rules! shapes {
    ($($($arg:ident)*;)*) => {$(
        impl<$($arg,)* R> Shape for unsafe extern "C" fn($($arg),*) -> R {
            fn shape(self) -> Vec<usize> {
                vec![$(size_of::<$arg>(),)* size_of::<R>()]
            }
        }
    )*};
}

shapes! {
    ; A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
    A B C D E F G H I; A B C D E F G H I J; A B C D E F G H I J K;
}

macro_rules! same_shapes {
    ($($name:ident($($arg:tt),*))*) => {$(
        let own = $name as unsafe extern "C" fn($($arg),*) -> _;
        let published = hip::$name as unsafe extern "C" fn($($arg),*) -> _;
        assert_eq!(own.shape(), published.shape(), stringify!($name));
    )*};
}

#[test]
fn functions_take_what_the_published_ones_take() {
    same_shapes! {
        hipArrayCreate(_, _)
        hipArrayDestroy(_)
        hipArrayGetDescriptor(_, _)
        hipArrayGetInfo(_, _, _, _)
        hipCtxGetDevice(_)
        hipDestroyExternalMemory(_)
        hipDeviceCanAccessPeer(_, _, _)
        hipDeviceGet(_, _)
        hipDeviceGetAttribute(_, _, _)
        hipDeviceGetByPCIBusId(_, _)
        hipDeviceGetDefaultMemPool(_, _)
        hipDeviceGetMemPool(_, _)
        hipDeviceGetName(_, _, _)
        hipDeviceGetPCIBusId(_, _, _)
        hipDeviceGetStreamPriorityRange(_, _)
        hipDeviceGetUuid(_, _)
        hipDeviceSynchronize()
        hipDeviceTotalMem(_, _)
        hipDriverGetVersion(_)
        hipDrvGetErrorName(_, _)
        hipDrvGetErrorString(_, _)
        hipEventCreate(_)
        hipEventCreateWithFlags(_, _)
        hipEventDestroy(_)
        hipEventElapsedTime(_, _, _)
        hipEventQuery(_)
        hipEventRecord(_, _)
        hipEventRecordWithFlags(_, _, _)
        hipEventSynchronize(_)
        hipExtMallocWithFlags(_, _, _)
        hipExternalMemoryGetMappedBuffer(_, _, _)
        hipFree(_)
        hipFreeArray(_)
        hipFreeAsync(_, _)
        hipFuncGetAttribute(_, _, _)
        hipGetDevice(_)
        hipGetDeviceCount(_)
        hipGetDevicePropertiesR0600(_, _)
        hipGetProcAddress(_, _, _, _, _)
        hipGraphCreate(_, _)
        hipGraphDestroy(_)
        hipGraphExecDestroy(_)
        hipGraphGetNodes(_, _, _)
        hipGraphInstantiate(_, _, _, _, _)
        hipGraphInstantiateWithFlags(_, _, _)
        hipGraphLaunch(_, _)
        hipGraphUpload(_, _)
        hipHostAlloc(_, _, _)
        hipHostFree(_)
        hipHostGetDevicePointer(_, _, _)
        hipHostGetFlags(_, _)
        hipHostMalloc(_, _, _)
        hipHostRegister(_, _, _)
        hipHostUnregister(_)
        hipImportExternalMemory(_, _)
        hipInit(_)
        hipLaunchHostFunc(_, _, _)
        hipMalloc(_, _)
        hipMallocArray(_, _, _, _, _)
        hipMallocAsync(_, _, _)
        hipMallocFromPoolAsync(_, _, _, _)
        hipMallocManaged(_, _, _)
        hipMallocPitch(_, _, _, _)
        hipMemGetAddressRange(_, _, _)
        hipMemGetInfo(_, _)
        hipMemPoolCreate(_, _)
        hipMemPoolDestroy(_)
        hipMemPoolGetAttribute(_, _, _)
        hipMemPoolSetAttribute(_, _, _)
        hipMemPoolTrimTo(_, _)
        hipMemcpy(_, _, _, _)
        hipMemcpy2D(_, _, _, _, _, _, _)
        hipMemcpy2DAsync(_, _, _, _, _, _, _, _)
        hipMemcpy2DFromArray(_, _, _, _, _, _, _, _)
        hipMemcpy2DFromArrayAsync(_, _, _, _, _, _, _, _, _)
        hipMemcpy2DToArray(_, _, _, _, _, _, _, _)
        hipMemcpy2DToArrayAsync(_, _, _, _, _, _, _, _, _)
        hipMemcpyAsync(_, _, _, _, _)
        hipMemcpyDtoD(_, _, _)
        hipMemcpyDtoDAsync(_, _, _, _)
        hipMemcpyDtoH(_, _, _)
        hipMemcpyDtoHAsync(_, _, _, _)
        hipMemcpyHtoD(_, _, _)
        hipMemcpyHtoDAsync(_, _, _, _)
        hipMemcpyParam2D(_)
        hipMemcpyParam2DAsync(_, _)
        hipMemcpyWithStream(_, _, _, _, _)
        hipMemset(_, _, _)
        hipMemset2D(_, _, _, _, _)
        hipMemset2DAsync(_, _, _, _, _, _)
        hipMemsetAsync(_, _, _, _)
        hipMemsetD16(_, _, _)
        hipMemsetD16Async(_, _, _, _)
        hipMemsetD32(_, _, _)
        hipMemsetD32Async(_, _, _, _)
        hipMemsetD8(_, _, _)
        hipMemsetD8Async(_, _, _, _)
        hipModuleGetFunction(_, _, _)
        hipModuleLaunchKernel(_, _, _, _, _, _, _, _, _, _, _)
        hipModuleLoad(_, _)
        hipModuleLoadData(_, _)
        hipModuleLoadDataEx(_, _, _, _, _)
        hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(_, _, _, _)
        hipModuleUnload(_)
        hipPointerGetAttribute(_, _, _)
        hipPointerGetAttributes(_, _)
        hipRuntimeGetVersion(_)
        hipSetDevice(_)
        hipSetDeviceFlags(_)
        hipStreamAddCallback(_, _, _, _)
        hipStreamBeginCapture(_, _)
        hipStreamCreate(_)
        hipStreamCreateWithFlags(_, _)
        hipStreamCreateWithPriority(_, _, _)
        hipStreamDestroy(_)
        hipStreamEndCapture(_, _)
        hipStreamGetCaptureInfo(_, _, _)
        hipStreamGetDevice(_, _)
        hipStreamGetFlags(_, _)
        hipStreamGetPriority(_, _)
        hipStreamIsCapturing(_, _)
        hipStreamQuery(_)
        hipStreamSynchronize(_)
        hipStreamWaitEvent(_, _, _)
        hipGetLastError()
        hipPeekAtLastError()
        hipGetErrorName(_)
        hipGetErrorString(_)
    }
}

macro_rules! same_offsets {
    ($own:ty, $published:ty: $($field:ident = $name:ident),*) => {
        $(assert_eq!(offset_of!($own, $field), offset_of!($published, $name), stringify!($name));)*
    };
}

#[test]
fn structures_lie_as_the_published_ones() {
    assert_eq!(
        size_of::<abi::PointerAttributes>(),
        size_of::<hip::hipPointerAttribute_t>()
    );
    same_offsets!(abi::PointerAttributes, hip::hipPointerAttribute_t:
        kind = type_, device = device, device_pointer = devicePointer, host_pointer = hostPointer,
        is_managed = isManaged, allocation_flags = allocationFlags);
    same_offsets!(abi::ExternalMemoryHandleDesc, hip::hipExternalMemoryHandleDesc_st:
        kind = type_, handle = handle, size = size, flags = flags);
    same_offsets!(abi::ExternalMemoryBufferDesc, hip::hipExternalMemoryBufferDesc_st:
        offset = offset, size = size, flags = flags);
    assert_eq!(
        size_of::<abi::ArrayDescriptor>(),
        size_of::<hip::HIP_ARRAY_DESCRIPTOR>()
    );
    same_offsets!(abi::ArrayDescriptor, hip::HIP_ARRAY_DESCRIPTOR:
        width = Width, height = Height, format = Format, channels = NumChannels);
    assert_eq!(
        size_of::<abi::ChannelFormat>(),
        size_of::<hip::hipChannelFormatDesc>()
    );
    same_offsets!(abi::ChannelFormat, hip::hipChannelFormatDesc: bits = x, kind = f);
    assert_eq!(size_of::<abi::HipExtent>(), size_of::<hip::hipExtent>());
    assert_eq!(size_of::<abi::Uuid>(), size_of::<hip::hipUUID>());
    assert_eq!(size_of::<abi::Memcpy2D>(), size_of::<hip::hip_Memcpy2D>());
    let to = offset_of!(abi::Memcpy2D, to);
    let from = [
        offset_of!(abi::Memcpy2DFrom, y),
        offset_of!(abi::Memcpy2DFrom, kind),
        offset_of!(abi::Memcpy2DFrom, host),
        offset_of!(abi::Memcpy2DFrom, device),
        offset_of!(abi::Memcpy2DFrom, array),
        offset_of!(abi::Memcpy2DFrom, pitch),
        to,
        to + offset_of!(abi::Memcpy2DTo, kind),
        to + offset_of!(abi::Memcpy2DTo, pitch),
        offset_of!(abi::Memcpy2D, width),
        offset_of!(abi::Memcpy2D, height),
    ];
    type Published = hip::hip_Memcpy2D;
    let published = [
        offset_of!(Published, srcY),
        offset_of!(Published, srcMemoryType),
        offset_of!(Published, srcHost),
        offset_of!(Published, srcDevice),
        offset_of!(Published, srcArray),
        offset_of!(Published, srcPitch),
        offset_of!(Published, dstXInBytes),
        offset_of!(Published, dstMemoryType),
        offset_of!(Published, dstPitch),
        offset_of!(Published, WidthInBytes),
        offset_of!(Published, Height),
    ];
    assert_eq!(from, published);
}

#[test]
fn properties_lie_as_the_published_ones() {
    use abi::properties_r0600 as own;
    type Published = hip::hipDeviceProp_tR0600;
    let ours = [
        own::SIZE,
        own::NAME,
        own::UUID,
        own::TOTAL_MEMORY,
        own::SHARED_PER_BLOCK,
        own::WARP_SIZE,
        own::MAX_THREADS_PER_BLOCK,
        own::MAJOR,
        own::MINOR,
        own::MULTIPROCESSORS,
        own::INTEGRATED,
        own::PCI_BUS,
        own::PCI_DEVICE,
        own::PCI_DOMAIN,
        own::ASYNC_ENGINES,
        own::GCN_ARCH_NAME,
    ];
    let published = [
        size_of::<Published>(),
        offset_of!(Published, name),
        offset_of!(Published, uuid),
        offset_of!(Published, totalGlobalMem),
        offset_of!(Published, sharedMemPerBlock),
        offset_of!(Published, warpSize),
        offset_of!(Published, maxThreadsPerBlock),
        offset_of!(Published, major),
        offset_of!(Published, minor),
        offset_of!(Published, multiProcessorCount),
        offset_of!(Published, integrated),
        offset_of!(Published, pciBusID),
        offset_of!(Published, pciDeviceID),
        offset_of!(Published, pciDomainID),
        offset_of!(Published, asyncEngineCount),
        offset_of!(Published, gcnArchName),
    ];
    assert_eq!(ours, published);
}

macro_rules! same_numbers {
    ($($own:expr => $published:ident,)*) => {
        $(assert_eq!($own as u32, hip::$published as u32, stringify!($published));)*
    };
}

#[test]
fn numbers_are_the_published_ones() {
    use abi::{Code, array_format, attribute, capture_mode, kind, memory_type};
    same_numbers! {
        Code::INVALID_VALUE.0 => hipError_t_hipErrorInvalidValue,
        Code::OUT_OF_MEMORY.0 => hipError_t_hipErrorOutOfMemory,
        Code::INVALID_PITCH.0 => hipError_t_hipErrorInvalidPitchValue,
        Code::INVALID_DIRECTION.0 => hipError_t_hipErrorInvalidMemcpyDirection,
        Code::INVALID_DEVICE_FUNCTION.0 => hipError_t_hipErrorInvalidDeviceFunction,
        Code::NO_DEVICE.0 => hipError_t_hipErrorNoDevice,
        Code::INVALID_DEVICE.0 => hipError_t_hipErrorInvalidDevice,
        Code::INVALID_IMAGE.0 => hipError_t_hipErrorInvalidImage,
        Code::NO_BINARY.0 => hipError_t_hipErrorNoBinaryForGpu,
        Code::FILE_NOT_FOUND.0 => hipError_t_hipErrorFileNotFound,
        Code::INVALID_HANDLE.0 => hipError_t_hipErrorInvalidHandle,
        Code::ILLEGAL_STATE.0 => hipError_t_hipErrorIllegalState,
        Code::NOT_FOUND.0 => hipError_t_hipErrorNotFound,
        Code::NOT_READY.0 => hipError_t_hipErrorNotReady,
        Code::ILLEGAL_ADDRESS.0 => hipError_t_hipErrorIllegalAddress,
        Code::LAUNCH_OUT_OF_RESOURCES.0 => hipError_t_hipErrorLaunchOutOfResources,
        Code::ALREADY_REGISTERED.0 => hipError_t_hipErrorHostMemoryAlreadyRegistered,
        Code::NOT_REGISTERED.0 => hipError_t_hipErrorHostMemoryNotRegistered,
        Code::LAUNCH_FAILURE.0 => hipError_t_hipErrorLaunchFailure,
        Code::NOT_SUPPORTED.0 => hipError_t_hipErrorNotSupported,
        Code::CAPTURE_UNSUPPORTED.0 => hipError_t_hipErrorStreamCaptureUnsupported,
        Code::CAPTURE_INVALIDATED.0 => hipError_t_hipErrorStreamCaptureInvalidated,
        Code::CAPTURE_MERGE.0 => hipError_t_hipErrorStreamCaptureMerge,
        Code::CAPTURE_UNMATCHED.0 => hipError_t_hipErrorStreamCaptureUnmatched,
        Code::CAPTURE_UNJOINED.0 => hipError_t_hipErrorStreamCaptureUnjoined,
        Code::CAPTURE_ISOLATION.0 => hipError_t_hipErrorStreamCaptureIsolation,
        Code::CAPTURE_IMPLICIT.0 => hipError_t_hipErrorStreamCaptureImplicit,
        Code::CAPTURED_EVENT.0 => hipError_t_hipErrorCapturedEvent,
        Code::CAPTURE_WRONG_THREAD.0 => hipError_t_hipErrorStreamCaptureWrongThread,
        Code::UNKNOWN.0 => hipError_t_hipErrorUnknown,
        abi::STREAM_NON_BLOCKING => hipStreamNonBlocking,
        abi::EVENT_DISABLE_TIMING => hipEventDisableTiming,
        abi::EXTERNAL_OPAQUE_FD => hipExternalMemoryHandleType_enum_hipExternalMemoryHandleTypeOpaqueFd,
        kind::HOST_TO_HOST => hipMemcpyKind_hipMemcpyHostToHost,
        kind::HOST_TO_DEVICE => hipMemcpyKind_hipMemcpyHostToDevice,
        kind::DEVICE_TO_HOST => hipMemcpyKind_hipMemcpyDeviceToHost,
        kind::DEVICE_TO_DEVICE => hipMemcpyKind_hipMemcpyDeviceToDevice,
        kind::DEFAULT => hipMemcpyKind_hipMemcpyDefault,
        kind::DEVICE_TO_DEVICE_NO_CU => hipMemcpyKind_hipMemcpyDeviceToDeviceNoCU,
        capture_mode::GLOBAL => hipStreamCaptureMode_hipStreamCaptureModeGlobal,
        capture_mode::THREAD_LOCAL => hipStreamCaptureMode_hipStreamCaptureModeThreadLocal,
        capture_mode::RELAXED => hipStreamCaptureMode_hipStreamCaptureModeRelaxed,
        memory_type::UNREGISTERED => hipMemoryType_hipMemoryTypeUnregistered,
        memory_type::HOST => hipMemoryType_hipMemoryTypeHost,
        memory_type::DEVICE => hipMemoryType_hipMemoryTypeDevice,
        memory_type::MANAGED => hipMemoryType_hipMemoryTypeManaged,
        memory_type::ARRAY => hipMemoryType_hipMemoryTypeArray,
        memory_type::UNIFIED => hipMemoryType_hipMemoryTypeUnified,
        array_format::U8 => hipArray_Format_HIP_AD_FORMAT_UNSIGNED_INT8,
        array_format::U16 => hipArray_Format_HIP_AD_FORMAT_UNSIGNED_INT16,
        array_format::U32 => hipArray_Format_HIP_AD_FORMAT_UNSIGNED_INT32,
        array_format::I8 => hipArray_Format_HIP_AD_FORMAT_SIGNED_INT8,
        array_format::I16 => hipArray_Format_HIP_AD_FORMAT_SIGNED_INT16,
        array_format::I32 => hipArray_Format_HIP_AD_FORMAT_SIGNED_INT32,
        array_format::HALF => hipArray_Format_HIP_AD_FORMAT_HALF,
        array_format::FLOAT => hipArray_Format_HIP_AD_FORMAT_FLOAT,
        attribute::ASYNC_ENGINES => hipDeviceAttribute_t_hipDeviceAttributeAsyncEngineCount,
        attribute::CAN_MAP_HOST_MEMORY => hipDeviceAttribute_t_hipDeviceAttributeCanMapHostMemory,
        attribute::CLOCK_RATE => hipDeviceAttribute_t_hipDeviceAttributeClockRate,
        attribute::CONCURRENT_KERNELS => hipDeviceAttribute_t_hipDeviceAttributeConcurrentKernels,
        attribute::COOPERATIVE_LAUNCH => hipDeviceAttribute_t_hipDeviceAttributeCooperativeLaunch,
        attribute::INTEGRATED => hipDeviceAttribute_t_hipDeviceAttributeIntegrated,
        attribute::L2_BYTES => hipDeviceAttribute_t_hipDeviceAttributeL2CacheSize,
        attribute::MAJOR => hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMajor,
        attribute::MANAGED_MEMORY => hipDeviceAttribute_t_hipDeviceAttributeManagedMemory,
        attribute::MAX_BLOCK_X => hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimX,
        attribute::MAX_BLOCK_Z => hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimZ,
        attribute::MAX_GRID_X => hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimX,
        attribute::MAX_GRID_Y => hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimY,
        attribute::MAX_GRID_Z => hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimZ,
        attribute::MAX_THREADS_PER_BLOCK => hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerBlock,
        attribute::BUS_WIDTH => hipDeviceAttribute_t_hipDeviceAttributeMemoryBusWidth,
        attribute::MEMORY_CLOCK_RATE => hipDeviceAttribute_t_hipDeviceAttributeMemoryClockRate,
        attribute::MINOR => hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMinor,
        attribute::MULTIPROCESSORS => hipDeviceAttribute_t_hipDeviceAttributeMultiprocessorCount,
        attribute::PCI_BUS => hipDeviceAttribute_t_hipDeviceAttributePciBusId,
        attribute::PCI_DEVICE => hipDeviceAttribute_t_hipDeviceAttributePciDeviceId,
        attribute::PCI_DOMAIN => hipDeviceAttribute_t_hipDeviceAttributePciDomainID,
        attribute::MAX_SHARED_PER_BLOCK => hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerBlock,
        attribute::UNIFIED_ADDRESSING => hipDeviceAttribute_t_hipDeviceAttributeUnifiedAddressing,
        attribute::WARP_SIZE => hipDeviceAttribute_t_hipDeviceAttributeWarpSize,
        attribute::MEMORY_POOLS => hipDeviceAttribute_t_hipDeviceAttributeMemoryPoolsSupported,
        attribute::HOST_REGISTER => hipDeviceAttribute_t_hipDeviceAttributeHostRegisterSupported,
    }
}
