//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::{
    Answer, Code, Handle, HostFn, STREAM_LEGACY, STREAM_NON_BLOCKING, STREAM_PER_THREAD,
    StreamCallback,
};
use crate::api::{Out, hip};
use crate::capture;
use crate::sim::{lock, sim};
use crate::stream::Item;
use crate::streams;
use crate::work::{HostCall, Work};

hip! {
    Usable fn hipStreamCreate(stream: Out<Handle>) {
        create(stream, 0, 0)
    }
    Usable fn hipStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) {
        create(stream, flags, 0)
    }
    Usable fn hipStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) {
        create(stream, flags, priority.clamp(-1, 1))
    }
    Usable fn hipDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.set(1)?;
        greatest.set(-1)
    }
    /// Work that is under way goes on to its end.
    Failed fn hipStreamDestroy(stream: Handle) {
        if matches!(stream as usize, 0 | STREAM_LEGACY | STREAM_PER_THREAD) {
            return Err(Code::INVALID_HANDLE);
        }
        let stream = sim().streams.remove(stream)?;
        if let Some(own) = &*lock(&stream.capture) {
            own.capture.invalidate();
        }
        stream.close();
        Ok(())
    }
    Failed fn hipStreamSynchronize(stream: Handle) {
        let stream = streams::find(stream)?;
        capture::forbid_on(&stream)?;
        if stream.number == 0 {
            capture::forbid_default_stream()?;
        }
        streams::synchronize(&stream);
        Ok(())
    }
    Usable fn hipStreamQuery(stream: Handle) {
        let stream = streams::find(stream)?;
        capture::forbid_on(&stream)?;
        if streams::query(&stream) { Ok(()) } else { Err(Code::NOT_READY) }
    }
    Usable fn hipStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let (stream, event) = (streams::find(stream)?, sim().events.get(event)?);
        if let Some((capture, after)) = event.captured() {
            return capture.join(&stream, &after);
        }
        if let Some(own) = &*lock(&stream.capture) {
            // A captured stream cannot wait for work that is not captured.
            if event.point().is_some() {
                own.capture.invalidate();
                return Err(Code::CAPTURE_ISOLATION);
            }
            return Ok(());
        }
        // An event that was never recorded holds nobody up.
        if let Some(point) = event.point() {
            streams::follow_default_stream(&stream)?;
            stream.push(Item::Wait(point));
        }
        Ok(())
    }
    Usable fn hipStreamGetFlags(stream: Handle, flags: Out<c_uint>) {
        flags.set(streams::find(stream)?.flags)
    }
    Usable fn hipStreamGetPriority(stream: Handle, priority: Out<c_int>) {
        priority.set(streams::find(stream)?.priority)
    }
    Usable fn hipStreamGetDevice(stream: Handle, device: Out<c_int>) {
        device.set(streams::find(stream)?.device as c_int)
    }
    Usable fn hipLaunchHostFunc(stream: Handle, function: Option<HostFn>, data: *mut c_void) {
        let function = function.ok_or(Code::INVALID_VALUE)?;
        let call = HostCall { function, data: data as usize };
        streams::enqueue(&streams::find(stream)?, Work::Host(call)).map(|_| ())
    }
    Usable fn hipStreamAddCallback(
        stream: Handle,
        callback: Option<StreamCallback>,
        data: *mut c_void,
        flags: c_uint,
    ) {
        let callback = callback.ok_or(Code::INVALID_VALUE)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let found = streams::find(stream)?;
        capture::forbid_on(&found)?;
        let both = Box::new((callback, stream as usize, data as usize));
        let call = HostCall { function: run_callback, data: Box::into_raw(both) as usize };
        streams::enqueue(&found, Work::Host(call)).map(|_| ())
    }
}

fn create(to: Out<Handle>, flags: c_uint, priority: c_int) -> Answer {
    to.check()?;
    if flags & !STREAM_NON_BLOCKING != 0 {
        return Err(Code::INVALID_VALUE);
    }
    let stream = streams::create(flags, priority);
    to.set(sim().streams.add(stream))
}

unsafe extern "C" fn run_callback(both: *mut c_void) {
    // SAFETY: hipStreamAddCallback made the box, and its work runs once: a stream that captures
    // takes no callback.
    let both = unsafe { Box::from_raw(both.cast::<(StreamCallback, usize, usize)>()) };
    let (callback, stream, data) = *both;
    let code = sim().failure().map_or(0, |code| code.0);
    // SAFETY: the caller of hipStreamAddCallback vouches for the callback and its data.
    unsafe { callback(stream as Handle, code, data as *mut c_void) };
}
