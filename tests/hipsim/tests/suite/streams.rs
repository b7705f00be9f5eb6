//! Streams, events and the default stream: asynchronous, ordered by what orders them, and by
//! nothing else.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use crate::hip::{D2D, D2H, DEFAULT_STREAM, Gate, H2D, Hip, NON_BLOCKING, NOT_READY, call, ok};
use crate::probe::Args;

/// Adds 1 to a word of the device.
fn add(to: usize) -> Args {
    Args {
        from: to as u64,
        to: to as u64,
        count: 1,
        at: 0,
    }
}

#[test]
fn a_launch_behind_a_held_stream_is_pending() {
    let hip = Hip::new();
    let kernel = hip.kernel("probe_add");
    let word = hip.malloc(4);
    hip.write(word, &[41]);
    let (gate, stream, event) = (Gate::default(), hip.stream(NON_BLOCKING), hip.event());
    hip.host(stream, &gate);
    hip.launch(kernel, 1, 64, &add(word), stream);
    hip.record(event, stream);
    assert_eq!(hip.query(stream), NOT_READY);
    assert_eq!(call!(hip, hipEventQuery(event => usize)), NOT_READY);
    assert_eq!(
        hip.read(word),
        [41],
        "another stream sees that it did not run"
    );
    gate.open();
    ok!(hip, hipEventSynchronize(event => usize));
    assert_eq!(hip.query(stream), 0);
    assert_eq!(hip.read(word), [42]);
    assert_eq!(hip.troubles(), [""; 0]);
}

#[test]
fn work_of_one_stream_runs_in_order() {
    let hip = Hip::new();
    let kernel = hip.kernel("probe_add");
    let word = hip.malloc(4);
    hip.write(word, &[0]);
    let stream = hip.stream(NON_BLOCKING);
    hip.set("delay_random", "3:300");
    for _ in 0..20 {
        hip.launch(kernel, 1, 64, &add(word), stream);
    }
    hip.synchronize(stream);
    assert_eq!(hip.read(word), [20]);
}

/// Copies a word that a delayed stream writes, through another stream: with the event between,
/// and without.
fn reader_behind_writer(with_event: bool) -> u32 {
    let hip = Hip::new();
    let (word, copy, source) = (hip.malloc(4), hip.malloc(4), hip.pinned(4));
    hip.write(word, &[1]);
    // SAFETY: pinned memory of one word.
    unsafe { *(source as *mut u32) = 2 };
    let (writer, reader) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (gate, event) = (Gate::default(), hip.event());
    hip.host(writer, &gate);
    hip.copy(word, source, 4, H2D, writer);
    hip.record(event, writer);
    if with_event {
        hip.wait(reader, event);
    }
    hip.copy(copy, word, 4, D2D, reader);
    if with_event {
        let deadline = Instant::now() + Duration::from_millis(60);
        while Instant::now() < deadline {
            assert_eq!(hip.query(reader), NOT_READY);
            std::thread::sleep(Duration::from_millis(1));
        }
        // The event may be destroyed or recorded again: the wait is for what it was.
        hip.record(event, reader);
        ok!(hip, hipEventDestroy(event => usize));
        gate.open();
        hip.synchronize(reader);
    } else {
        hip.synchronize(reader);
        gate.open();
        hip.synchronize(writer);
    }
    hip.read::<1>(copy)[0]
}

#[test]
fn an_event_orders_two_streams() {
    assert_eq!(reader_behind_writer(true), 2);
}

#[test]
fn a_missing_wait_reads_what_was_there_before() {
    assert_eq!(reader_behind_writer(false), 1);
}

#[test]
fn the_default_stream_waits_for_blocking_streams_and_for_no_others() {
    let hip = Hip::new();
    for (flags, waits) in [(0, true), (NON_BLOCKING, false)] {
        let (gate, stream, word) = (Gate::default(), hip.stream(flags), hip.malloc(4));
        hip.host(stream, &gate);
        ok!(hip, hipMemsetAsync(word => usize, 7 => i32, 4 => usize, DEFAULT_STREAM => usize));
        if waits {
            assert_eq!(hip.query(DEFAULT_STREAM), NOT_READY);
            assert_ne!(hip.read(word), [0x0707_0707]);
        } else {
            hip.synchronize(DEFAULT_STREAM);
            assert_eq!(hip.read(word), [0x0707_0707]);
        }
        // The other way round.
        gate.open();
        hip.synchronize(stream);
        hip.synchronize(DEFAULT_STREAM);
        let gate = Gate::default();
        hip.host(DEFAULT_STREAM, &gate);
        ok!(hip, hipMemsetAsync(word => usize, 9 => i32, 4 => usize, stream => usize));
        if waits {
            assert_eq!(hip.query(stream), NOT_READY);
        } else {
            hip.synchronize(stream);
            assert_eq!(hip.read(word), [0x0909_0909]);
        }
        gate.open();
        hip.synchronize(stream);
        hip.synchronize(DEFAULT_STREAM);
        ok!(hip, hipStreamDestroy(stream => usize));
    }
    assert_eq!(hip.counts()["default_stream"], 4);
}

#[test]
fn a_synchronous_copy_is_on_the_default_stream_and_counted() {
    let hip = Hip::new();
    let word = hip.malloc(4);
    assert_eq!(hip.counts()["default_stream"], 0);
    let value = 5u32;
    ok!(hip, hipMemcpy(word => usize, &value => *const u32, 4 => usize, H2D => u32));
    assert_eq!(hip.read(word), [5]);
    assert_eq!(hip.counts()["default_stream"], 1);
    let event = hip.event();
    hip.record(event, DEFAULT_STREAM);
    hip.wait(DEFAULT_STREAM, event);
    assert_eq!(hip.counts()["default_stream"], 3, "events and waits too");
}

#[test]
fn times_of_events() {
    let hip = Hip::new();
    let (stream, start, end) = (hip.stream(NON_BLOCKING), hip.event(), hip.event());
    let mut ms = 0f32;
    let elapsed = |ms: &mut f32| call!(hip, hipEventElapsedTime(ms => *mut f32, start => usize, end => usize));
    assert_eq!(elapsed(&mut ms), 400, "never recorded");
    hip.record(start, stream);
    hip.synchronize(stream);
    let gate = Gate::default();
    hip.host(stream, &gate);
    hip.record(end, stream);
    assert_eq!(elapsed(&mut ms), NOT_READY);
    std::thread::sleep(Duration::from_millis(2));
    gate.open();
    hip.synchronize(stream);
    assert_eq!(elapsed(&mut ms), 0);
    assert!(ms > 1.9, "{ms}");
    // An event that was never recorded is complete and holds nobody up.
    let fresh = hip.event();
    assert_eq!(call!(hip, hipEventQuery(fresh => usize)), 0);
    hip.wait(stream, fresh);
    hip.synchronize(stream);
}

#[test]
fn freed_in_the_order_of_a_stream() {
    let hip = Hip::new();
    let (stream, gate) = (hip.stream(NON_BLOCKING), Gate::default());
    let mut at = 0usize;
    ok!(hip, hipMallocAsync(&mut at => *mut usize, 64 => usize, stream => usize));
    hip.host(stream, &gate);
    let mut out = [0u8; 64];
    hip.copy(out.as_mut_ptr() as usize, at, 64, D2H, stream);
    ok!(hip, hipFreeAsync(at => usize, stream => usize));
    assert_eq!(hip.sim.json("memory")["device"]["live"], 1);
    assert_eq!(
        call!(hip, hipFreeAsync(at => usize, stream => usize)),
        1,
        "freed twice"
    );
    gate.open();
    hip.synchronize(stream);
    assert_eq!(out, [251; 64], "fresh memory is poisoned");
    assert_eq!(hip.sim.json("memory")["device"]["live"], 0);
    assert_eq!(hip.troubles().len(), 1);
}

#[test]
fn callbacks_run_on_the_stream() {
    unsafe extern "C" fn note(stream: usize, status: u32, data: *mut c_void) {
        // SAFETY: the test's own pair.
        unsafe { *data.cast::<(usize, u32)>() = (stream, status) };
    }
    let hip = Hip::new();
    let (stream, mut noted) = (hip.stream(NON_BLOCKING), (0usize, 9u32));
    ok!(hip, hipStreamAddCallback(
        stream => usize, note => unsafe extern "C" fn(usize, u32, *mut c_void),
        &mut noted => *mut (usize, u32), 0 => u32,
    ));
    hip.synchronize(stream);
    assert_eq!(noted, (stream, 0));
}

#[test]
fn handles_are_never_taken_for_others() {
    let hip = Hip::new();
    let stream = hip.stream(NON_BLOCKING);
    ok!(hip, hipStreamDestroy(stream => usize));
    assert_eq!(call!(hip, hipStreamDestroy(stream => usize)), 400);
    assert_eq!(call!(hip, hipStreamSynchronize(0xdead_0000 => usize)), 400);
    assert_ne!(hip.stream(NON_BLOCKING), stream);
    let troubles = hip.troubles();
    assert!(
        troubles[0].contains("Stream was destroyed before"),
        "{troubles:?}"
    );
    assert!(troubles[1].contains("never existed"), "{troubles:?}");
}
