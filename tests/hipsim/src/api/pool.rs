//! Memory pools. A pool hands memory out when it is asked, and takes it back when the stream gets
//! there; it holds nothing back, so that late use of freed memory is a fault.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use crate::abi::{Answer, Code, Handle};
use crate::api::device::device_of;
use crate::api::{Out, hip};
use crate::memory::{Kind, Wish};
use crate::sim::{lock, sim};
use crate::stream::Stream;
use crate::streams;

/// A pool.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: u32,
    /// Values of `hipMemPoolAttr` that were set.
    attributes: Mutex<HashMap<u32, u64>>,
    most: Mutex<u64>,
}

hip! {
    Usable fn hipDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) {
        pool.set(default_of(device_of(device)?))
    }
    Usable fn hipDeviceGetMemPool(pool: Out<Handle>, device: c_int) {
        pool.set(default_of(device_of(device)?))
    }
    /// The properties of HIP begin with the kind of allocation, the kind of handles and the
    /// location (kind and device).
    Usable fn hipMemPoolCreate(pool: Out<Handle>, properties: *const c_int) {
        pool.check()?;
        if properties.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the structure is larger than four numbers; see `api`.
        let device = device_of(unsafe { *properties.add(3) })?;
        let made = Pool { device, ..Pool::default() };
        pool.set(sim().pools.add(Arc::new(made)))
    }
    Failed fn hipMemPoolDestroy(pool: Handle) {
        sim().pools.remove(pool).map(|_| ())
    }
    Usable fn hipMallocFromPoolAsync(
        to: Out<*mut c_void>,
        bytes: usize,
        pool: Handle,
        stream: Handle,
    ) {
        to.check()?;
        sim().pools.get(pool)?;
        let stream = streams::find(stream)?;
        to.set(allocate(bytes, pool, &stream)?)
    }
    Usable fn hipMemPoolTrimTo(pool: Handle, _bytes: usize) {
        sim().pools.get(pool).map(|_| ())
    }
    Usable fn hipMemPoolSetAttribute(pool: Handle, which: u32, value: *mut c_void) {
        let pool = sim().pools.get(pool)?;
        if value.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the reuse attributes are ints, all others 64-bit; see `api`.
        let value = unsafe {
            match which {
                1..=3 => u64::from(value.cast::<u32>().read_unaligned()),
                4..=8 => value.cast::<u64>().read_unaligned(),
                _ => return Err(Code::INVALID_VALUE),
            }
        };
        lock(&pool.attributes).insert(which, value);
        Ok(())
    }
    Usable fn hipMemPoolGetAttribute(handle: Handle, which: u32, value: *mut c_void) {
        let pool = sim().pools.get(handle)?;
        let used = sim().memory.used_of_pool(handle as usize);
        let set = lock(&pool.attributes).get(&which).copied();
        match which {
            1..=3 => Out(value.cast::<u32>()).set(set.unwrap_or(1) as u32),
            4 => Out(value.cast::<u64>()).set(set.unwrap_or(0)),
            5 | 7 => Out(value.cast::<u64>()).set(used),
            6 | 8 => Out(value.cast::<u64>()).set(*lock(&pool.most)),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// The default pool of a device.
pub(crate) fn default_of(device: u32) -> Handle {
    static MADE: OnceLock<Mutex<HashMap<u32, usize>>> = OnceLock::new();
    let mut made = lock(MADE.get_or_init(Mutex::default));
    let new = || {
        let pool = Pool {
            device,
            ..Pool::default()
        };
        sim().pools.add(Arc::new(pool)) as usize
    };
    *made.entry(device).or_insert_with(new) as Handle
}

/// Memory of a pool, for use in the order of a stream.
pub(crate) fn allocate(bytes: usize, pool: Handle, stream: &Stream) -> Answer<*mut c_void> {
    crate::capture::forbid_on(stream)?;
    if bytes == 0 {
        return Ok(std::ptr::null_mut());
    }
    let wish = Wish {
        size: bytes,
        kind: Kind::Device,
        device: sim().pools.get(pool)?.device,
        flags: 0,
        pool: pool as usize,
    };
    let at = sim().memory.allocate(&wish, &sim().settings())?;
    let used = sim().memory.used_of_pool(pool as usize);
    let known = sim().pools.get(pool)?;
    let mut most = lock(&known.most);
    *most = used.max(*most);
    Ok(at as *mut c_void)
}
