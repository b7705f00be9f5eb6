//! Which stream a handle means, and what the default stream orders.
//!
//! The default stream waits for all work of the blocking streams of its device, and they wait for
//! its work. Streams made non-blocking have no part in that: work of theirs that relies on the
//! default stream is racing here, as it is on a device.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{Answer, Code, Handle, STREAM_LEGACY, STREAM_PER_THREAD};
use crate::capture;
use crate::log::Place;
use crate::sim::{current_device, lock, sim};
use crate::stream::{Item, Point, Stream};
use crate::work::Work;

/// Makes a stream of the calling thread's device.
pub(crate) fn create(flags: u32, priority: i32) -> Arc<Stream> {
    let number = sim().stream_numbers.fetch_add(1, Ordering::Relaxed);
    Stream::new(number, current_device(), flags, priority)
}

/// The stream that a handle means.
pub(crate) fn find(handle: Handle) -> Answer<Arc<Stream>> {
    match handle as usize {
        0 | STREAM_LEGACY => Ok(default_stream(current_device())),
        STREAM_PER_THREAD => Ok(per_thread()),
        _ => sim().streams.get(handle),
    }
}

/// The default stream of a device.
pub(crate) fn default_stream(device: u32) -> Arc<Stream> {
    let mut defaults = lock(&sim().defaults);
    let new = || Stream::new(0, device, 0, 0);
    defaults.entry(device).or_insert_with(new).clone()
}

/// Enqueues work, or records it where the stream captures. The point behind it, unless recorded.
pub(crate) fn enqueue(stream: &Arc<Stream>, work: Work) -> Answer<Option<Point>> {
    let Some(work) = capture::record(stream, work)? else {
        return Ok(None);
    };
    follow_default_stream(stream)?;
    Ok(Some(stream.push(Item::Work(work, place(stream)))))
}

/// As [`enqueue`], and waits.
pub(crate) fn run(stream: &Arc<Stream>, work: Work) -> Answer {
    capture::forbid_on(stream)?;
    capture::forbid_unsafe_calls()?;
    if let Some(point) = enqueue(stream, work)? {
        point.synchronize();
    }
    match sim().failure() {
        Some(code) => Err(code),
        None => Ok(()),
    }
}

/// Where work of a stream runs, for the log.
pub(crate) fn place(stream: &Stream) -> Place {
    Place {
        stream: stream.number,
        device: stream.device,
        graph: false,
    }
}

/// Makes what is enqueued next on a stream wait as the default stream's rules ask.
pub(crate) fn follow_default_stream(stream: &Arc<Stream>) -> Answer {
    if !stream.blocking {
        return Ok(());
    }
    if stream.number == 0 {
        sim().log.count_default_stream();
        capture::forbid_default_stream()?;
        for other in blocking_streams(stream.device) {
            wait_unless_idle(stream, &other);
        }
    } else {
        wait_unless_idle(stream, &default_stream(stream.device));
    }
    Ok(())
}

/// Waits for all work of a stream, and for what the default stream's rules add to it.
pub(crate) fn synchronize(stream: &Arc<Stream>) {
    stream.tail().synchronize();
    if stream.number == 0 {
        for other in blocking_streams(stream.device) {
            other.tail().synchronize();
        }
    }
}

/// Waits for all work of a device.
pub(crate) fn synchronize_device(device: u32) {
    for stream in of_device(device) {
        stream.tail().synchronize();
    }
}

/// Whether all work of a stream is done; hands it over.
pub(crate) fn query(stream: &Arc<Stream>) -> bool {
    stream.submit(false);
    if stream.number != 0 {
        return stream.idle();
    }
    let others = blocking_streams(stream.device);
    others.iter().for_each(|other| other.submit(false));
    stream.idle() && others.iter().all(|other| other.idle())
}

/// All streams of a device, its default stream among them.
pub(crate) fn of_device(device: u32) -> Vec<Arc<Stream>> {
    let mut all = sim().streams.all();
    all.retain(|stream| stream.device == device);
    all.push(default_stream(device));
    all
}

fn blocking_streams(device: u32) -> Vec<Arc<Stream>> {
    let mut all = sim().streams.all();
    all.retain(|stream| stream.device == device && stream.blocking);
    all
}

fn wait_unless_idle(stream: &Arc<Stream>, other: &Arc<Stream>) {
    if !other.idle() {
        other.submit(false);
        stream.push(Item::Wait(other.tail()));
    }
}

/// The calling thread's own default stream, which is a blocking stream.
fn per_thread() -> Arc<Stream> {
    thread_local! {
        static OWN: RefCell<HashMap<u32, Arc<Stream>>> = RefCell::default();
    }
    OWN.with_borrow_mut(|own| {
        let stream = own.entry(current_device()).or_insert_with(|| {
            let stream = create(0, 0);
            sim().streams.add(stream.clone());
            stream
        });
        stream.clone()
    })
}

/// The code where the stream of a handle is on another device than the thread.
pub(crate) fn on_current_device(stream: &Stream) -> Answer {
    if stream.device == current_device() {
        Ok(())
    } else {
        Err(Code::INVALID_HANDLE)
    }
}
