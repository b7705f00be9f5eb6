//! Copies and fills.
//!
//! A copy is checked when it is asked for: device memory must be allocated and hold all of the
//! range, and the two ends must be what the direction says. Host memory that the runtime does not
//! know is pageable; it is read or written when the stream gets there, unless the settings ask
//! for the opposite.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{Answer, Code, DevicePtr, Handle, kind};
use crate::api::hip;
use crate::log::Direction;
use crate::memory::{Block, Kind};
use crate::sim::sim;
use crate::stream::Stream;
use crate::streams;
use crate::work::{Copy, Fill, Side, Work, span};

hip! {
    Failed fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) {
        copy_now(std::ptr::null_mut(), rows(to, from, bytes, kind))
    }
    Failed fn hipMemcpyWithStream(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32, stream: Handle) {
        copy_now(stream, rows(to, from, bytes, kind))
    }
    Usable fn hipMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32, stream: Handle) {
        copy_later(stream, rows(to, from, bytes, kind))
    }
    Failed fn hipMemcpyHtoD(to: DevicePtr, from: *const c_void, bytes: usize) {
        copy_now(std::ptr::null_mut(), rows(to, from, bytes, kind::HOST_TO_DEVICE))
    }
    Failed fn hipMemcpyDtoH(to: *mut c_void, from: DevicePtr, bytes: usize) {
        copy_now(std::ptr::null_mut(), rows(to, from, bytes, kind::DEVICE_TO_HOST))
    }
    Failed fn hipMemcpyDtoD(to: DevicePtr, from: DevicePtr, bytes: usize) {
        copy_now(std::ptr::null_mut(), rows(to, from, bytes, kind::DEVICE_TO_DEVICE))
    }
    Usable fn hipMemcpyHtoDAsync(to: DevicePtr, from: *const c_void, bytes: usize, stream: Handle) {
        copy_later(stream, rows(to, from, bytes, kind::HOST_TO_DEVICE))
    }
    Usable fn hipMemcpyDtoHAsync(to: *mut c_void, from: DevicePtr, bytes: usize, stream: Handle) {
        copy_later(stream, rows(to, from, bytes, kind::DEVICE_TO_HOST))
    }
    Usable fn hipMemcpyDtoDAsync(to: DevicePtr, from: DevicePtr, bytes: usize, stream: Handle) {
        copy_later(stream, rows(to, from, bytes, kind::DEVICE_TO_DEVICE))
    }
    Failed fn hipMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize,
        width: usize, height: usize, kind: u32,
    ) {
        let ends = (side(to, to_pitch), side(from, from_pitch));
        copy_now(std::ptr::null_mut(), Wanted { to: ends.0, from: ends.1, width, rows: height, kind })
    }
    Usable fn hipMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize,
        width: usize, height: usize, kind: u32, stream: Handle,
    ) {
        let ends = (side(to, to_pitch), side(from, from_pitch));
        copy_later(stream, Wanted { to: ends.0, from: ends.1, width, rows: height, kind })
    }
    Failed fn hipMemset(to: *mut c_void, value: c_int, bytes: usize) {
        fill_now(Fill { to: side(to, bytes), width: bytes, rows: 1, value: value as u32 & 255, element: 1 })
    }
    Usable fn hipMemsetAsync(to: *mut c_void, value: c_int, bytes: usize, stream: Handle) {
        let fill = Fill { to: side(to, bytes), width: bytes, rows: 1, value: value as u32 & 255, element: 1 };
        fill_later(stream, fill)
    }
    Failed fn hipMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill_now(Fill { to: side(to, pitch), width, rows: height, value: value as u32 & 255, element: 1 })
    }
    Usable fn hipMemset2DAsync(
        to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: Handle,
    ) {
        let fill = Fill { to: side(to, pitch), width, rows: height, value: value as u32 & 255, element: 1 };
        fill_later(stream, fill)
    }
    Failed fn hipMemsetD8(to: DevicePtr, value: u8, count: usize) {
        fill_now(elements(to, u32::from(value), 1, count)?)
    }
    Usable fn hipMemsetD8Async(to: DevicePtr, value: u8, count: usize, stream: Handle) {
        fill_later(stream, elements(to, u32::from(value), 1, count)?)
    }
    Failed fn hipMemsetD16(to: DevicePtr, value: u16, count: usize) {
        fill_now(elements(to, u32::from(value), 2, count)?)
    }
    Usable fn hipMemsetD16Async(to: DevicePtr, value: u16, count: usize, stream: Handle) {
        fill_later(stream, elements(to, u32::from(value), 2, count)?)
    }
    Failed fn hipMemsetD32(to: DevicePtr, value: c_int, count: usize) {
        fill_now(elements(to, value as u32, 4, count)?)
    }
    Usable fn hipMemsetD32Async(to: DevicePtr, value: c_int, count: usize, stream: Handle) {
        fill_later(stream, elements(to, value as u32, 4, count)?)
    }
}

/// A copy as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) width: usize,
    pub(crate) rows: usize,
    pub(crate) kind: u32,
}

pub(crate) fn side(at: *const c_void, pitch: usize) -> Side {
    Side {
        address: at as usize,
        pitch,
    }
}

/// Enqueues a copy.
pub(crate) fn copy_later(stream: Handle, wanted: Wanted) -> Answer {
    let stream = streams::find(stream)?;
    let Some(copy) = plan(&wanted)? else {
        return Ok(());
    };
    let point = streams::enqueue(&stream, Work::Copy(copy))?;
    match point {
        Some(point) if copy.pageable && sim().settings().pageable_sync => {
            point.synchronize();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Copies before it returns.
pub(crate) fn copy_now(stream: Handle, wanted: Wanted) -> Answer {
    let stream = streams::find(stream)?;
    match plan(&wanted)? {
        Some(copy) => streams::run(&stream, Work::Copy(copy)),
        None => Ok(()),
    }
}

fn fill_later(stream: Handle, fill: Fill) -> Answer {
    let stream = streams::find(stream)?;
    let Some(fill) = checked(fill)? else {
        return Ok(());
    };
    streams::enqueue(&stream, Work::Fill(fill)).map(|_| ())
}

fn fill_now(fill: Fill) -> Answer {
    let stream: Arc<Stream> = streams::find(std::ptr::null_mut())?;
    match checked(fill)? {
        Some(fill) => streams::run(&stream, Work::Fill(fill)),
        None => Ok(()),
    }
}

fn rows(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) -> Wanted {
    Wanted {
        to: side(to, bytes),
        from: side(from, bytes),
        width: bytes,
        rows: 1,
        kind,
    }
}

fn elements(to: DevicePtr, value: u32, element: usize, count: usize) -> Answer<Fill> {
    let width = count.checked_mul(element).ok_or(Code::INVALID_VALUE)?;
    Ok(Fill {
        to: side(to, width),
        width,
        rows: 1,
        value,
        element,
    })
}

fn plan(wanted: &Wanted) -> Answer<Option<Copy>> {
    let Wanted {
        to,
        from,
        width,
        rows,
        kind,
    } = *wanted;
    if width == 0 || rows == 0 {
        return Ok(None);
    }
    let (to_block, from_block) = (end(to, width, rows)?, end(from, width, rows)?);
    let device = |block: &Option<Arc<Block>>| block.as_ref().is_some_and(|b| b.on_device());
    let is = (device(&from_block), device(&to_block));
    let direction = match kind {
        kind::DEFAULT => match is {
            (false, false) => Direction::HostToHost,
            (false, true) => Direction::HostToDevice,
            (true, false) => Direction::DeviceToHost,
            (true, true) => Direction::DeviceToDevice,
        },
        kind::HOST_TO_HOST => Direction::HostToHost,
        kind::HOST_TO_DEVICE => Direction::HostToDevice,
        kind::DEVICE_TO_HOST => Direction::DeviceToHost,
        kind::DEVICE_TO_DEVICE | kind::DEVICE_TO_DEVICE_NO_CU => Direction::DeviceToDevice,
        _ => return Err(Code::INVALID_DIRECTION),
    };
    let (from_device, to_device) = match direction {
        Direction::HostToHost => (false, false),
        Direction::HostToDevice => (false, true),
        Direction::DeviceToHost => (true, false),
        Direction::DeviceToDevice => (true, true),
    };
    for (block, on_device) in [(&from_block, from_device), (&to_block, to_device)] {
        match block {
            // Pinned memory has an address on the device too; device memory has none on the host.
            Some(block) if !on_device && matches!(block.kind, Kind::Device | Kind::External) => {
                return Err(Code::INVALID_DIRECTION);
            }
            None if on_device => {
                sim().trouble("a copy names device memory that is not allocated".to_owned());
                return Err(Code::INVALID_VALUE);
            }
            _ => {}
        }
    }
    Ok(Some(Copy {
        to,
        from,
        width,
        rows,
        direction,
        pageable: from_block.is_none() || to_block.is_none(),
    }))
}

/// The allocation that one end lies in; none for pageable memory.
fn end(side: Side, width: usize, rows: usize) -> Answer<Option<Arc<Block>>> {
    if side.address == 0 {
        return Err(Code::INVALID_VALUE);
    }
    if rows > 1 && side.pitch < width {
        return Err(Code::INVALID_PITCH);
    }
    let bytes = span(side.pitch, width, rows).ok_or(Code::INVALID_VALUE)?;
    let Some(block) = sim().memory.find(side.address) else {
        return Ok(None);
    };
    let whole = sim().memory.find_range(side.address, bytes).is_some();
    if !whole || block.leaving.load(Ordering::Acquire) {
        let (at, size) = (side.address - block.start, block.size);
        let state = if whole { "freed" } else { "too small" };
        sim().trouble(format!(
            "a range of {bytes} bytes at byte {at} of an allocation of {size} bytes, which is {state}"
        ));
        return Err(Code::INVALID_VALUE);
    }
    Ok(Some(block))
}

fn checked(fill: Fill) -> Answer<Option<Fill>> {
    if fill.width == 0 || fill.rows == 0 {
        return Ok(None);
    }
    if end(fill.to, fill.width, fill.rows)?.is_none() {
        sim().trouble("a fill names memory that is not allocated".to_owned());
        return Err(Code::INVALID_VALUE);
    }
    Ok(Some(fill))
}
