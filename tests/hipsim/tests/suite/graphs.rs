//! Capture and graphs.

use crate::hip::{D2D, D2H, DEFAULT_STREAM, Gate, H2D, Hip, NON_BLOCKING, NOT_READY, call, ok};
use crate::probe::Args;

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

fn begin(hip: &Hip, stream: usize, mode: u32) {
    ok!(hip, hipStreamBeginCapture(stream => usize, mode => u32));
}

fn end(hip: &Hip, stream: usize) -> Result<usize, u32> {
    let mut graph = 1usize;
    match call!(hip, hipStreamEndCapture(stream => usize, &mut graph => *mut usize)) {
        0 => Ok(graph),
        code => {
            assert_eq!(graph, 0);
            Err(code)
        }
    }
}

fn instantiate(hip: &Hip, graph: usize) -> usize {
    let mut exec = 0usize;
    ok!(hip, hipGraphInstantiate(
        &mut exec => *mut usize, graph => usize, 0 => usize, 0 => usize, 0 => usize,
    ));
    ok!(hip, hipGraphDestroy(graph => usize));
    exec
}

fn launch(hip: &Hip, exec: usize, stream: usize) {
    ok!(hip, hipGraphLaunch(exec => usize, stream => usize));
}

fn words(at: usize, by: u32) -> Args {
    Args {
        to: at as u64,
        count: by,
        ..Args::default()
    }
}

#[test]
fn a_graph_runs_when_it_is_launched_and_as_often() {
    let hip = Hip::new();
    let (kernel, stream) = (hip.kernel("probe_more"), hip.stream(NON_BLOCKING));
    let (at, source, result) = (hip.malloc(256), hip.pinned(256), hip.pinned(256));
    let fill = |value: u32| {
        // SAFETY: pinned memory of 64 words.
        unsafe { std::slice::from_raw_parts_mut(source as *mut u32, 64) }.fill(value);
    };
    // SAFETY: as above; the device is idle.
    let first = || unsafe { *(result as *const u32) };
    hip.write(at, &[0; 64]);
    begin(&hip, stream, THREAD_LOCAL);
    hip.copy(at, source, 256, H2D, stream);
    hip.launch(kernel, 1, 64, &words(at, 5), stream);
    hip.launch(kernel, 1, 64, &words(at, 1), stream);
    hip.copy(result, at, 256, D2H, stream);
    let mut status = 9u32;
    ok!(hip, hipStreamIsCapturing(stream => usize, &mut status => *mut u32));
    assert_eq!(status, 1);
    let graph = end(&hip, stream).unwrap();
    let mut nodes = 0usize;
    ok!(hip, hipGraphGetNodes(graph => usize, 0 => usize, &mut nodes => *mut usize));
    assert_eq!(nodes, 4);
    assert_eq!(hip.read::<1>(at), [0], "nothing ran while it was captured");
    let exec = instantiate(&hip, graph);
    // What the nodes read is read when they run.
    for value in [10, 20] {
        fill(value);
        launch(&hip, exec, stream);
        hip.synchronize(stream);
        assert_eq!(first(), value + 6);
    }
    let counts = hip.counts();
    assert_eq!(counts["launches"]["probe_more"], 4);
    assert_eq!(counts["graph_launches"], 2);
    // A launch that is under way outlives its handle.
    let gate = Gate::default();
    hip.host(stream, &gate);
    launch(&hip, exec, stream);
    ok!(hip, hipGraphExecDestroy(exec => usize));
    fill(30);
    gate.open();
    hip.synchronize(stream);
    assert_eq!(first(), 36);
    assert_eq!(
        call!(hip, hipGraphLaunch(exec => usize, stream => usize)),
        400
    );
}

#[test]
fn branches_fork_and_join_by_events() {
    let hip = Hip::new();
    let kernel = hip.kernel("probe_more");
    let (first, second) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (fork, join) = (hip.event(), hip.event());
    let (a, b, note) = (hip.malloc(256), hip.malloc(256), hip.malloc(256));
    let gate = Gate::default();
    hip.write(a, &[1; 64]);
    let start = Gate::default();
    begin(&hip, first, GLOBAL);
    hip.host(first, &start);
    hip.launch(kernel, 1, 64, &words(a, 1), first);
    hip.record(fork, first);
    hip.wait(second, fork);
    // The second branch reads what came before the fork, and waits at the gate.
    hip.host(second, &gate);
    hip.copy(b, a, 256, D2D, second);
    hip.launch(kernel, 1, 64, &words(b, 100), second);
    hip.record(join, second);
    // The first goes on meanwhile.
    hip.copy(note, a, 256, D2D, first);
    hip.wait(first, join);
    hip.launch(kernel, 1, 64, &words(b, 1000), first);
    let exec = end(&hip, first).unwrap();
    let exec = instantiate(&hip, exec);
    let mut status = 9u32;
    ok!(hip, hipStreamIsCapturing(second => usize, &mut status => *mut u32));
    assert_eq!(status, 0, "the joined stream is free again");
    launch(&hip, exec, first);
    // Neither branch goes before what it comes from.
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(hip.read::<1>(note), [0xfbfb_fbfb]);
    start.open();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while hip.read::<1>(note) != [2] {
        assert!(
            std::time::Instant::now() < deadline,
            "a branch waits for the other"
        );
    }
    assert_eq!(hip.query(first), NOT_READY);
    assert_eq!(
        hip.query(second),
        0,
        "a stream that was captured does not run the graph"
    );
    gate.open();
    hip.synchronize(first);
    assert_eq!(hip.read::<1>(b), [1102]);
}

#[test]
fn a_capture_that_was_not_joined_is_refused() {
    let hip = Hip::new();
    let kernel = hip.kernel("probe_more");
    let (first, second) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (fork, at) = (hip.event(), hip.malloc(256));
    begin(&hip, first, RELAXED);
    hip.launch(kernel, 1, 64, &words(at, 1), first);
    hip.record(fork, first);
    hip.wait(second, fork);
    hip.launch(kernel, 1, 64, &words(at, 1), second);
    let mut graph = 0usize;
    let code = call!(hip, hipStreamEndCapture(second => usize, &mut graph => *mut usize));
    assert_eq!(code, 903, "it began elsewhere");
    assert_eq!(end(&hip, first), Err(904));
    // Both streams are as before.
    hip.synchronize(first);
    hip.synchronize(second);
    assert_eq!(hip.counts()["all_launches"], 0);
}

#[test]
fn what_a_capture_forbids() {
    let hip = Hip::new();
    let stream = hip.stream(NON_BLOCKING);
    let event = hip.event();
    let spoil = |mode: u32, call: &dyn Fn() -> u32| {
        begin(&hip, stream, mode);
        let code = call();
        (code, end(&hip, stream).err())
    };
    let malloc = || {
        let mut at = 0usize;
        call!(hip, hipMalloc(&mut at => *mut usize, 4 => usize))
    };
    assert_eq!(spoil(GLOBAL, &malloc), (900, Some(901)));
    assert_eq!(spoil(RELAXED, &malloc), (0, None));
    let elsewhere = || std::thread::scope(|s| s.spawn(malloc).join().unwrap());
    assert_eq!(
        spoil(GLOBAL, &elsewhere),
        (900, Some(901)),
        "for every thread"
    );
    assert_eq!(
        spoil(THREAD_LOCAL, &elsewhere),
        (0, None),
        "for its own thread"
    );
    assert_eq!(spoil(RELAXED, &|| hip.query(stream)), (900, Some(901)));
    let at = hip.pinned(4);
    let default_stream =
        || call!(hip, hipMemsetAsync(at => usize, 0 => i32, 4 => usize, DEFAULT_STREAM => usize));
    assert_eq!(spoil(THREAD_LOCAL, &default_stream), (906, Some(901)));
    // An event that was recorded outside cannot be waited for inside.
    let outside = hip.stream(NON_BLOCKING);
    hip.record(event, outside);
    let wait = || call!(hip, hipStreamWaitEvent(stream => usize, event => usize, 0 => u32));
    assert_eq!(spoil(THREAD_LOCAL, &wait), (905, Some(901)));
    // An event that was recorded inside is no time.
    let inside = || {
        hip.record(event, stream);
        call!(hip, hipEventQuery(event => usize))
    };
    assert_eq!(spoil(THREAD_LOCAL, &inside), (907, Some(901)));
    let code = call!(hip, hipStreamBeginCapture(DEFAULT_STREAM => usize, RELAXED => u32));
    assert_eq!(code, 900);
}
