//! Memory: allocating, freeing, registering, asking.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use crate::abi::{Answer, Code, DevicePtr, Handle, PointerAttributes, memory_type, memory_type_of};
use crate::api::{Out, hip, pool};
use crate::capture;
use crate::memory::{Kind, Wish};
use crate::sim::{current_device, sim};
use crate::streams;
use crate::work::Work;

hip! {
    Usable fn hipMalloc(to: Out<*mut c_void>, bytes: usize) {
        to.check()?;
        capture::forbid_unsafe_calls()?;
        to.set(allocate(bytes, Kind::Device, 0)?)
    }
    Usable fn hipExtMallocWithFlags(to: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        to.check()?;
        capture::forbid_unsafe_calls()?;
        to.set(allocate(bytes, Kind::Device, flags)?)
    }
    Usable fn hipMallocManaged(to: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        to.check()?;
        capture::forbid_unsafe_calls()?;
        to.set(allocate(bytes, Kind::Managed, flags)?)
    }
    Usable fn hipMallocPitch(to: Out<*mut c_void>, pitch: Out<usize>, width: usize, rows: usize) {
        to.check()?;
        pitch.check()?;
        capture::forbid_unsafe_calls()?;
        let row = width.checked_next_multiple_of(PITCH).ok_or(Code::INVALID_VALUE)?;
        let bytes = row.checked_mul(rows).ok_or(Code::INVALID_VALUE)?;
        to.set(allocate(bytes, Kind::Device, 0)?)?;
        pitch.set(row)
    }
    Failed fn hipFree(at: *mut c_void) {
        if at.is_null() {
            return Ok(());
        }
        capture::forbid_unsafe_calls()?;
        free(at, &[Kind::Device, Kind::Managed, Kind::External])
    }
    Usable fn hipHostMalloc(to: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        to.check()?;
        capture::forbid_unsafe_calls()?;
        to.set(allocate(bytes, Kind::Pinned, flags)?)
    }
    Usable fn hipHostAlloc(to: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        to.check()?;
        capture::forbid_unsafe_calls()?;
        to.set(allocate(bytes, Kind::Pinned, flags)?)
    }
    Failed fn hipHostFree(at: *mut c_void) {
        if at.is_null() {
            return Ok(());
        }
        capture::forbid_unsafe_calls()?;
        free(at, &[Kind::Pinned])
    }
    Usable fn hipHostRegister(at: *mut c_void, bytes: usize, flags: c_uint) {
        if at.is_null() || bytes == 0 || flags & !15 != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let wish = Wish { size: bytes, kind: Kind::Registered, device: current_device(), flags, pool: 0 };
        sim().memory.adopt(at as usize, &wish)
    }
    Failed fn hipHostUnregister(at: *mut c_void) {
        let freed = sim().memory.free(at as usize, &[Kind::Registered]);
        freed.map(|_| ()).map_err(|_| Code::NOT_REGISTERED)
    }
    Usable fn hipHostGetDevicePointer(to: Out<*mut c_void>, at: *mut c_void, _flags: c_uint) {
        let block = sim().memory.find(at as usize).ok_or(Code::INVALID_VALUE)?;
        match block.kind {
            Kind::Pinned | Kind::Registered | Kind::Managed => to.set(at),
            Kind::Device | Kind::External => Err(Code::INVALID_VALUE),
        }
    }
    Usable fn hipHostGetFlags(flags: Out<c_uint>, at: *mut c_void) {
        let block = sim().memory.find(at as usize).ok_or(Code::INVALID_VALUE)?;
        flags.set(block.flags)
    }
    Usable fn hipMallocAsync(to: Out<*mut c_void>, bytes: usize, stream: Handle) {
        to.check()?;
        let stream = streams::find(stream)?;
        to.set(pool::allocate(bytes, pool::default_of(stream.device), &stream)?)
    }
    Failed fn hipFreeAsync(at: *mut c_void, stream: Handle) {
        if at.is_null() {
            return Ok(());
        }
        let stream = streams::find(stream)?;
        let block = sim().memory.find(at as usize).filter(|b| b.start == at as usize);
        let block = block.filter(|b| b.kind == Kind::Device).ok_or(Code::INVALID_VALUE)?;
        if block.leaving.swap(true, Ordering::AcqRel) {
            sim().trouble(format!("memory at {at:p} was freed twice"));
            return Err(Code::INVALID_VALUE);
        }
        streams::enqueue(&stream, Work::Free(block.start)).map(|_| ())
    }
    Usable fn hipPointerGetAttributes(attributes: Out<PointerAttributes>, at: *const c_void) {
        attributes.check()?;
        attributes.set(attributes_of(at)?)
    }
    Usable fn hipPointerGetAttribute(value: *mut c_void, which: u32, at: DevicePtr) {
        let all = attributes_of(at)?;
        let block = sim().memory.find(at as usize).ok_or(Code::INVALID_VALUE)?;
        match which {
            2 => Out(value.cast::<u32>()).set(all.kind),
            3 => Out(value.cast::<*mut c_void>()).set(all.device_pointer),
            4 => Out(value.cast::<*mut c_void>()).set(all.host_pointer),
            8 => Out(value.cast::<bool>()).set(all.is_managed != 0),
            9 => Out(value.cast::<c_int>()).set(all.device),
            11 => Out(value.cast::<*mut c_void>()).set(block.start as *mut c_void),
            12 => Out(value.cast::<usize>()).set(block.size),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// Pitch of memory that the runtime lays out.
pub(crate) const PITCH: usize = 256;

fn allocate(bytes: usize, kind: Kind, flags: u32) -> Answer<*mut c_void> {
    if bytes == 0 {
        return Ok(std::ptr::null_mut());
    }
    let wish = Wish {
        size: bytes,
        kind,
        device: current_device(),
        flags,
        pool: 0,
    };
    let at = sim().memory.allocate(&wish, &sim().settings())?;
    Ok(at as *mut c_void)
}

/// Frees memory at once, or once the device is idle where the settings ask for that.
pub(crate) fn free(at: *mut c_void, kinds: &[Kind]) -> Answer {
    if sim().settings().free_waits {
        streams::synchronize_device(current_device());
    }
    let block = sim()
        .memory
        .find(at as usize)
        .filter(|b| b.start == at as usize);
    match block {
        Some(block) if block.kind == Kind::External && kinds.contains(&Kind::External) => {
            crate::api::external::unmap(block.start)
        }
        Some(block) if kinds.contains(&block.kind) && !block.leaving.load(Ordering::Acquire) => {
            let wrong = sim().memory.free(block.start, kinds)?;
            wrong.into_iter().for_each(|text| sim().trouble(text));
            Ok(())
        }
        _ => {
            sim().trouble(format!("memory at {at:p} was freed that is not allocated"));
            Err(Code::INVALID_VALUE)
        }
    }
}

fn attributes_of(at: *const c_void) -> Answer<PointerAttributes> {
    let settings = sim().settings();
    let Some(block) = sim().memory.find(at as usize) else {
        // ROCm 5 knows no unregistered memory.
        if settings.rocm.major < 6 {
            return Err(Code::INVALID_VALUE);
        }
        return Ok(PointerAttributes {
            kind: memory_type::UNREGISTERED,
            device: -2,
            device_pointer: std::ptr::null_mut(),
            host_pointer: at.cast_mut(),
            is_managed: 0,
            allocation_flags: 0,
        });
    };
    let (kind, host) = match block.kind {
        Kind::Device | Kind::External => (memory_type::DEVICE, false),
        Kind::Pinned | Kind::Registered => (memory_type::HOST, true),
        Kind::Managed => (memory_type::MANAGED, true),
    };
    Ok(PointerAttributes {
        kind: memory_type_of(kind, settings.rocm.major),
        device: block.device as c_int,
        device_pointer: at.cast_mut(),
        host_pointer: if host {
            at.cast_mut()
        } else {
            std::ptr::null_mut()
        },
        is_managed: c_int::from(block.kind == Kind::Managed),
        allocation_flags: block.flags,
    })
}
