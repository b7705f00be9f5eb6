//! External memory: a file descriptor of a dma-buf or a memfd, mapped into the process.
//!
//! The descriptor stays the caller's. The mapping lives from `hipExternalMemoryGetMappedBuffer`
//! until `hipFree`, whatever becomes of the imported object.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};

use crate::abi::{
    Answer, Code, EXTERNAL_OPAQUE_FD, ExternalMemoryBufferDesc, ExternalMemoryHandleDesc, Handle,
};
use crate::api::{In, Out, hip};
use crate::memory::{Kind, Wish};
use crate::sim::{current_device, lock, sim};
use crate::streams;

/// An imported object.
#[derive(Debug)]
pub(crate) struct External {
    mapping: Arc<Mapping>,
}

/// Mapped pages, unmapped with the last who holds them.
#[derive(Debug)]
struct Mapping {
    at: usize,
    size: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `import` and nobody holds it any more.
        unsafe { libc::munmap(self.at as *mut c_void, self.size) };
    }
}

/// Mapped buffers by their addresses.
static MAPPED: Mutex<Option<HashMap<usize, Arc<Mapping>>>> = Mutex::new(None);

hip! {
    Usable fn hipImportExternalMemory(
        memory: Out<Handle>,
        description: In<ExternalMemoryHandleDesc>,
    ) {
        memory.check()?;
        let description = description.get()?;
        if description.kind != EXTERNAL_OPAQUE_FD || description.size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the kind says that the union holds a descriptor.
        let fd = unsafe { description.handle.fd };
        let mapping = import(fd, description.size)?;
        memory.set(sim().externals.add(Arc::new(External { mapping: Arc::new(mapping) })))
    }
    Usable fn hipExternalMemoryGetMappedBuffer(
        to: Out<*mut c_void>,
        memory: Handle,
        description: In<ExternalMemoryBufferDesc>,
    ) {
        to.check()?;
        let (memory, description) = (sim().externals.get(memory)?, description.get()?);
        let (offset, size) = (description.offset as usize, description.size as usize);
        let end = offset.checked_add(size).ok_or(Code::INVALID_VALUE)?;
        if size == 0 || end > memory.mapping.size || description.flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let at = memory.mapping.at + offset;
        let wish = Wish { size, kind: Kind::External, device: current_device(), flags: 0, pool: 0 };
        sim().memory.adopt(at, &wish).map_err(|_| Code::INVALID_VALUE)?;
        lock(&MAPPED).get_or_insert_default().insert(at, memory.mapping.clone());
        to.set(at as *mut c_void)
    }
    Failed fn hipDestroyExternalMemory(memory: Handle) {
        if sim().settings().free_waits {
            streams::synchronize_device(current_device());
        }
        sim().externals.remove(memory).map(|_| ())
    }
}

/// Takes a mapped buffer away.
pub(crate) fn unmap(at: usize) -> Answer {
    sim().memory.free(at, &[Kind::External])?;
    lock(&MAPPED).get_or_insert_default().remove(&at);
    Ok(())
}

fn import(fd: c_int, size: u64) -> Answer<Mapping> {
    // SAFETY: asks where the file ends; dma-bufs answer that too.
    let end = unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
    let end = u64::try_from(end).map_err(|_| Code::INVALID_VALUE)?;
    let size = usize::try_from(size).map_err(|_| Code::INVALID_VALUE)?;
    if size as u64 > end && !sim().settings().external_any {
        return Err(Code::INVALID_VALUE);
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let null = std::ptr::null_mut();
    // SAFETY: a new mapping of somebody's file touches nothing that exists; that the file does
    // not shrink is for its owner to keep.
    let at = unsafe { libc::mmap(null, size, access, libc::MAP_SHARED, fd, 0) };
    if at == libc::MAP_FAILED {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Mapping {
        at: at as usize,
        size,
    })
}
