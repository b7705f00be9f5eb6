//! Arrays: images in an order of the device's own. Here their rows lie one after the other, at a
//! pitch that no copy of a whole plane matches by accident.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use crate::abi::{
    Answer, ArrayDescriptor, ChannelFormat, Code, Handle, HipExtent, Memcpy2D, array_format,
    memory_type, memory_type_of,
};
use crate::api::copy::{Wanted, copy_later, copy_now};
use crate::api::{In, Out, hip};
use crate::memory::{Kind, Wish};
use crate::sim::{current_device, sim};
use crate::work::Side;

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    at: usize,
    pitch: usize,
    format: u32,
    channels: u32,
    /// Bytes of an element.
    element: usize,
    /// Elements.
    width: usize,
    /// Rows; 0 for an array of one dimension.
    height: usize,
    flags: u32,
}

hip! {
    Usable fn hipMallocArray(
        array: Out<Handle>,
        format: In<ChannelFormat>,
        width: usize,
        height: usize,
        flags: c_uint,
    ) {
        let (format, channels) = format_of(&format.get()?)?;
        create(array, ArrayDescriptor { width, height, format, channels }, flags)
    }
    Usable fn hipArrayCreate(array: Out<Handle>, description: In<ArrayDescriptor>) {
        create(array, description.get()?, 0)
    }
    Failed fn hipFreeArray(array: Handle) {
        destroy(array)
    }
    Failed fn hipArrayDestroy(array: Handle) {
        destroy(array)
    }
    Usable fn hipArrayGetDescriptor(description: Out<ArrayDescriptor>, array: Handle) {
        let array = sim().arrays.get(array)?;
        let Array { width, height, format, channels, .. } = *array;
        description.set(ArrayDescriptor { width, height, format, channels })
    }
    Usable fn hipArrayGetInfo(
        format: *mut ChannelFormat,
        extent: *mut HipExtent,
        flags: *mut c_uint,
        array: Handle,
    ) {
        let array = sim().arrays.get(array)?;
        if !format.is_null() {
            Out(format).set(channels_of(&array))?;
        }
        if !extent.is_null() {
            Out(extent).set(HipExtent { width: array.width, height: array.height, depth: 0 })?;
        }
        if !flags.is_null() {
            Out(flags).set(array.flags)?;
        }
        Ok(())
    }
    Failed fn hipMemcpy2DToArray(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize,
        width: usize, height: usize, kind: u32,
    ) {
        let to = sim().arrays.get(to)?.part(x, y, width, height)?;
        let from = Side { address: from as usize, pitch };
        copy_now(std::ptr::null_mut(), Wanted { to, from, width, rows: height, kind })
    }
    Usable fn hipMemcpy2DToArrayAsync(
        to: Handle, x: usize, y: usize, from: *const c_void, pitch: usize,
        width: usize, height: usize, kind: u32, stream: Handle,
    ) {
        let to = sim().arrays.get(to)?.part(x, y, width, height)?;
        let from = Side { address: from as usize, pitch };
        copy_later(stream, Wanted { to, from, width, rows: height, kind })
    }
    Failed fn hipMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, from: Handle, x: usize, y: usize,
        width: usize, height: usize, kind: u32,
    ) {
        let from = sim().arrays.get(from)?.part(x, y, width, height)?;
        let to = Side { address: to as usize, pitch };
        copy_now(std::ptr::null_mut(), Wanted { to, from, width, rows: height, kind })
    }
    Usable fn hipMemcpy2DFromArrayAsync(
        to: *mut c_void, pitch: usize, from: Handle, x: usize, y: usize,
        width: usize, height: usize, kind: u32, stream: Handle,
    ) {
        let from = sim().arrays.get(from)?.part(x, y, width, height)?;
        let to = Side { address: to as usize, pitch };
        copy_later(stream, Wanted { to, from, width, rows: height, kind })
    }
    Failed fn hipMemcpyParam2D(copy: In<Memcpy2D>) {
        copy_now(std::ptr::null_mut(), wanted(&copy.get()?)?)
    }
    Usable fn hipMemcpyParam2DAsync(copy: In<Memcpy2D>, stream: Handle) {
        copy_later(stream, wanted(&copy.get()?)?)
    }
}

impl Array {
    /// A rectangle: `x` and `width` are in bytes.
    fn part(&self, x: usize, y: usize, width: usize, height: usize) -> Answer<Side> {
        let row = self.width * self.element;
        let fits =
            |at: usize, n: usize, all: usize| at.checked_add(n).is_some_and(|end| end <= all);
        if !fits(x, width, row) || !fits(y, height, self.height.max(1)) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(Side {
            address: self.at + y * self.pitch + x,
            pitch: self.pitch,
        })
    }
}

fn create(to: Out<Handle>, description: ArrayDescriptor, flags: u32) -> Answer {
    to.check()?;
    crate::capture::forbid_unsafe_calls()?;
    let ArrayDescriptor {
        width,
        height,
        format,
        channels,
    } = description;
    let sample = match format {
        array_format::U8 | array_format::I8 => 1,
        array_format::U16 | array_format::I16 | array_format::HALF => 2,
        array_format::U32 | array_format::I32 | array_format::FLOAT => 4,
        _ => return Err(Code::INVALID_VALUE),
    };
    if width == 0 || !matches!(channels, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    let element = sample * channels as usize;
    let row = width
        .checked_mul(element)
        .and_then(|n| n.checked_add(192 + 255));
    let pitch = row.ok_or(Code::INVALID_VALUE)? / 256 * 256 + 64;
    let size = pitch
        .checked_mul(height.max(1))
        .ok_or(Code::INVALID_VALUE)?;
    let wish = Wish {
        size,
        kind: Kind::Device,
        device: current_device(),
        flags,
        pool: 0,
    };
    let at = sim().memory.allocate(&wish, &sim().settings())?;
    to.set(sim().arrays.add(Arc::new(Array {
        at,
        pitch,
        format,
        channels,
        element,
        width,
        height,
        flags,
    })))
}

fn destroy(array: Handle) -> Answer {
    let array = sim().arrays.remove(array)?;
    crate::api::memory::free(array.at as *mut c_void, &[Kind::Device])
}

/// Bits of each channel and the kind of number, as a format and a number of channels.
fn format_of(format: &ChannelFormat) -> Answer<(u32, u32)> {
    let bits = format.bits[0];
    let channels = format.bits.iter().filter(|&&b| b != 0).count();
    if format.bits[..channels].iter().any(|&b| b != bits) {
        return Err(Code::INVALID_VALUE);
    }
    let known = FORMATS
        .iter()
        .find(|(_, b, kind)| *b == bits && *kind == format.kind);
    let (format, ..) = known.ok_or(Code::INVALID_VALUE)?;
    Ok((*format, channels as u32))
}

fn channels_of(array: &Array) -> ChannelFormat {
    let known = FORMATS.iter().find(|(format, ..)| *format == array.format);
    let (_, size, kind) = known.copied().unwrap_or((0, 0, 3));
    let mut bits = [0; 4];
    bits[..array.channels as usize].fill(size);
    ChannelFormat { bits, kind }
}

/// Format, bits, and `hipChannelFormatKind` (signed 0, unsigned 1, float 2).
const FORMATS: [(u32, i32, u32); 8] = [
    (array_format::U8, 8, 1),
    (array_format::U16, 16, 1),
    (array_format::U32, 32, 1),
    (array_format::I8, 8, 0),
    (array_format::I16, 16, 0),
    (array_format::I32, 32, 0),
    (array_format::HALF, 16, 2),
    (array_format::FLOAT, 32, 2),
];

fn wanted(copy: &Memcpy2D) -> Answer<Wanted> {
    let rocm = sim().settings().rocm.major;
    let (width, rows) = (copy.width, copy.height);
    let end =
        |kind: u32, host: usize, device: usize, array: Handle, pitch: usize, x: usize, y: usize| {
            let is = |which| kind == memory_type_of(which, rocm);
            if is(memory_type::ARRAY) {
                return Ok((sim().arrays.get(array)?.part(x, y, width, rows)?, true));
            }
            let on_device = is(memory_type::DEVICE) || is(memory_type::UNIFIED);
            if !on_device && !is(memory_type::HOST) {
                return Err(Code::INVALID_VALUE);
            }
            let base = if on_device { device } else { host };
            let pitch = if pitch == 0 { x + width } else { pitch };
            let offset = y.checked_mul(pitch).and_then(|n| n.checked_add(x));
            let address = offset
                .and_then(|n| base.checked_add(n))
                .ok_or(Code::INVALID_VALUE)?;
            Ok((Side { address, pitch }, on_device))
        };
    let (f, t) = (&copy.from, &copy.to);
    let (from, from_device) = end(
        f.kind,
        f.host as usize,
        f.device as usize,
        f.array,
        f.pitch,
        f.x,
        f.y,
    )?;
    let (to, to_device) = end(
        t.kind,
        t.host as usize,
        t.device as usize,
        t.array,
        t.pitch,
        t.x,
        t.y,
    )?;
    let kind = u32::from(from_device) * 2 + u32::from(to_device);
    Ok(Wanted {
        to,
        from,
        width,
        rows,
        kind,
    })
}
