//! What the simulator does wrong on request, and that a program can see it.

use crate::hip::{D2D, Gate, H2D, Hip, NON_BLOCKING, NOT_READY, call, ok};
use crate::probe::{Args, code_object};

fn word(at: usize) -> Args {
    Args {
        from: at as u64,
        to: at as u64,
        count: 1,
        at: 0,
    }
}

/// Long enough for a stream that runs to have run, on a machine that is not idle.
fn a_while() {
    std::thread::sleep(std::time::Duration::from_millis(60));
}

#[test]
fn work_that_is_held_back_begins_with_a_query_or_a_wait() {
    let hip = Hip::new();
    let (kernel, stream, event) = (
        hip.kernel("probe_add"),
        hip.stream(NON_BLOCKING),
        hip.event(),
    );
    let (at, side) = (hip.malloc(4), hip.stream(NON_BLOCKING));
    hip.write(at, &[0]);
    hip.set("unsubmitted", "hold");
    let launch = || {
        hip.launch(kernel, 1, 64, &word(at), stream);
        hip.record(event, stream);
        // Another stream's wait does not hand it over either.
        hip.wait(side, event);
        a_while();
        assert_eq!(call!(hip, hipEventQuery(event => usize)), NOT_READY);
    };
    launch();
    assert_eq!(hip.counts()["all_launches"], 0);
    while hip.query(stream) == NOT_READY {}
    assert_eq!(hip.counts()["all_launches"], 1);
    launch();
    ok!(hip, hipEventSynchronize(event => usize));
    launch();
    hip.synchronize(stream);
    // What a stream waits for is handed over with it.
    launch();
    hip.synchronize(side);
    launch();
    ok!(hip, hipDeviceSynchronize());
    assert_eq!(hip.read(at), [5]);
}

/// A reader on another stream waits for an event behind a write that was not handed over.
fn overtaken(submit: bool) -> u32 {
    let hip = Hip::new();
    let (writer, reader) = (hip.stream(NON_BLOCKING), hip.stream(NON_BLOCKING));
    let (at, copy, event) = (hip.malloc(4), hip.malloc(4), hip.event());
    let source = hip.pinned(4);
    // SAFETY: pinned memory of one word.
    unsafe { *(source as *mut u32) = 2 };
    hip.write(at, &[1]);
    hip.set("unsubmitted", "overtaken");
    hip.copy(at, source, 4, H2D, writer);
    hip.record(event, writer);
    if submit {
        hip.query(writer);
    }
    hip.wait(reader, event);
    hip.copy(copy, at, 4, D2D, reader);
    hip.synchronize(reader);
    hip.synchronize(writer);
    hip.read::<1>(copy)[0]
}

#[test]
fn work_that_is_not_handed_over_is_overtaken() {
    assert_eq!(overtaken(false), 1);
    assert_eq!(overtaken(true), 2);
}

#[test]
fn dispatches_are_lost_doubled_and_counted() {
    let hip = Hip::new();
    let (add, more) = (hip.kernel("probe_add"), hip.kernel("probe_more"));
    let (stream, at) = (hip.stream(NON_BLOCKING), hip.malloc(256));
    hip.write(at, &[0; 64]);
    hip.set("drop", "probe_add:2,probe_more:1:2");
    hip.set("double", "probe_add:4");
    let args = Args {
        count: 64,
        ..word(at)
    };
    for _ in 0..5 {
        hip.launch(add, 1, 64, &args, stream);
    }
    for _ in 0..3 {
        hip.launch(more, 1, 64, &Args { count: 100, ..args }, stream);
    }
    hip.synchronize(stream);
    assert_eq!(hip.read(at), [105; 64]);
    let counts = hip.counts();
    assert_eq!(counts["dropped_launches"], 3);
    assert_eq!(counts["doubled_launches"], 1);
    assert_eq!(counts["launches"]["probe_add"], 5);
    let log = hip.sim.query("log");
    let found = |line: &str| log.lines().any(|l| l.ends_with(line));
    assert!(
        found("launch probe_add #2 1x1x1 on stream 1, dropped"),
        "{log}"
    );
    assert!(
        found("launch probe_add #4 1x1x1 on stream 1, doubled"),
        "{log}"
    );
    assert!(found("launch probe_add #5 1x1x1 on stream 1"), "{log}");
    hip.set("drop", "every:2");
    hip.set("double", "");
    hip.set("clear_log", "");
    hip.write(at, &[0; 64]);
    for _ in 0..4 {
        hip.launch(add, 1, 64, &args, stream);
    }
    hip.synchronize(stream);
    assert_eq!(hip.read(at), [2; 64]);
}

#[test]
fn freeing_waits_on_request() {
    let hip = Hip::new();
    let (stream, gate, at) = (hip.stream(NON_BLOCKING), Gate::default(), hip.malloc(4));
    hip.host(stream, &gate);
    ok!(hip, hipFree(at => usize));
    assert_eq!(hip.query(stream), NOT_READY);
    hip.set("free", "sync");
    let at = hip.malloc(4);
    let began = std::time::Instant::now();
    let hold = std::time::Duration::from_millis(30);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(hold);
            gate.open();
        });
        ok!(hip, hipFree(at => usize));
    });
    assert!(began.elapsed() >= hold);
    assert_eq!(hip.query(stream), 0);
}

#[test]
fn memory_that_is_freed_under_a_copy_is_told() {
    let hip = Hip::new();
    for pinned_goes in [true, false] {
        let (stream, gate) = (hip.stream(NON_BLOCKING), Gate::default());
        let (source, at) = (hip.pinned(4), hip.malloc(4));
        hip.host(stream, &gate);
        hip.copy(at, source, 4, H2D, stream);
        if pinned_goes {
            ok!(hip, hipHostFree(source => usize));
        } else {
            ok!(hip, hipFree(at => usize));
        }
        gate.open();
        assert_eq!(call!(hip, hipStreamSynchronize(stream => usize)), 700);
        hip.set("repair", "");
    }
    let freed = |text: &String| text.ends_with("was it freed?");
    assert!(hip.troubles().iter().all(freed) && hip.troubles().len() == 2);
}

#[test]
fn memory_ends() {
    let hip = Hip::new();
    hip.set("memory_limit", "1000");
    let first = hip.malloc(600);
    let mut at = 1usize;
    assert_eq!(
        call!(hip, hipMalloc(&mut at => *mut usize, 401 => usize)),
        2
    );
    assert_eq!(
        call!(hip, hipMallocAsync(&mut at => *mut usize, 401 => usize, 0 => usize)),
        2
    );
    assert_eq!(call!(hip, hipGetLastError()), 2);
    assert_eq!(call!(hip, hipGetLastError()), 0, "it is told once");
    hip.malloc(400);
    ok!(hip, hipFree(first => usize));
    hip.malloc(600);
    let (mut free, mut total) = (0usize, 0usize);
    ok!(hip, hipMemGetInfo(&mut free => *mut usize, &mut total => *mut usize));
    assert_eq!((total - free, total), (1000, 16 << 30));
    hip.set("pinned_limit", "100");
    assert_eq!(
        call!(hip, hipHostMalloc(&mut at => *mut usize, 101 => usize, 0 => u32)),
        2
    );
    hip.pinned(100);
}

#[test]
fn a_lost_device_answers_every_call_and_releases_still_release() {
    let hip = Hip::new();
    let (stream, at, event) = (hip.stream(NON_BLOCKING), hip.malloc(4), hip.event());
    hip.set("lost_after", "2:999");
    let memset = || call!(hip, hipMemsetAsync(at => usize, 1 => i32, 4 => usize, stream => usize));
    assert_eq!([memset(), memset(), memset(), memset()], [0, 0, 999, 999]);
    assert_eq!(call!(hip, hipStreamQuery(stream => usize)), 999);
    assert_eq!(call!(hip, hipStreamSynchronize(stream => usize)), 999);
    assert_eq!(call!(hip, hipEventDestroy(event => usize)), 999);
    assert_eq!(call!(hip, hipFree(at => usize)), 999);
    assert_eq!(call!(hip, hipStreamDestroy(stream => usize)), 999);
    let objects = hip.sim.json("objects");
    assert_eq!(
        (&objects["streams"], &objects["events"]),
        (&0.into(), &0.into())
    );
    assert_eq!(hip.sim.json("memory")["device"]["live"], 0);
    hip.set("repair", "");
    hip.malloc(4);
    hip.set("lose_device", "");
    assert_eq!(call!(hip, hipDeviceSynchronize()), 719);
}

#[test]
fn a_failed_launch_is_told_by_what_follows() {
    let hip = Hip::new();
    let (kernel, stream, at) = (
        hip.kernel("probe_add"),
        hip.stream(NON_BLOCKING),
        hip.malloc(4),
    );
    hip.write(at, &[0]);
    hip.set("fail_launch", "probe_add:2");
    for _ in 0..3 {
        // Launching itself may be told already: it is behind a failed launch.
        let code = hip.try_launch(kernel, 1, 64, &word(at), stream);
        assert!(code == 0 || code == 719, "{code}");
    }
    assert_eq!(call!(hip, hipStreamSynchronize(stream => usize)), 719);
    assert_eq!(call!(hip, hipPeekAtLastError()), 719);
    assert_eq!(hip.sim.query("failure"), "719");
    hip.set("repair", "");
    assert_eq!(hip.read(at), [1], "what came after it did not run");
}

#[test]
fn a_fault_ends_the_process_on_request_of_the_environment() {
    let name = "misbehaviour::a_fault_ends_the_process_on_request_of_the_environment";
    if in_child() {
        let hip = Hip::new();
        let (kernel, stream) = (hip.kernel("probe_add"), hip.stream(NON_BLOCKING));
        hip.launch(kernel, 1, 64, &word(0x10), stream);
        call!(hip, hipStreamSynchronize(stream => usize));
        return;
    }
    let ended = child(name, "1");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&ended.status),
        Some(libc::SIGABRT)
    );
    let text = String::from_utf8_lossy(&ended.stderr);
    assert!(
        text.contains("thread 0: memory access fault at address 0x10"),
        "{text}"
    );
    assert!(child(name, "0").status.success());
}

const CHILD: &str = "HIPSIM_SUITE_CHILD";

fn in_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one test of this program in a process of its own.
fn child(name: &str, abort_on_fault: &str) -> std::process::Output {
    std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", name])
        .env(CHILD, "1")
        .env("VMAFX_HIPSIM_ABORT_ON_FAULT", abort_on_fault)
        .output()
        .expect("a child process")
}

#[test]
fn calls_fail_by_name_and_number() {
    let hip = Hip::new();
    hip.set("fail", "hipMalloc:2:2, hipStreamCreateWithFlags:1:999:2");
    let mut at = 0usize;
    let malloc = |at: &mut usize| call!(hip, hipMalloc(at => *mut usize, 4 => usize));
    assert_eq!(
        [malloc(&mut at), malloc(&mut at), malloc(&mut at)],
        [0, 2, 0]
    );
    let mut stream = 0usize;
    let create = |to: &mut usize| call!(hip, hipStreamCreateWithFlags(to => *mut usize, 1 => u32));
    assert_eq!(
        [
            create(&mut stream),
            create(&mut stream),
            create(&mut stream)
        ],
        [999, 999, 0]
    );
    hip.set("refuse_modules", "209");
    assert_eq!(hip.load(&code_object(crate::hip::TARGET)), Err(209));
    hip.set("refuse_modules", "");
    hip.load(&code_object(crate::hip::TARGET)).unwrap();
}

#[test]
fn an_unrecorded_event_can_read_pending() {
    let hip = Hip::new();
    let event = hip.event();
    hip.set("unrecorded", "pending");
    assert_eq!(call!(hip, hipEventQuery(event => usize)), NOT_READY);
}

#[test]
fn pageable_memory_is_read_late_unless_asked_otherwise() {
    let late = |pageable: &str| {
        let hip = Hip::new();
        hip.set("pageable", pageable);
        let (stream, at, gate) = (hip.stream(NON_BLOCKING), hip.malloc(4), Gate::default());
        let source = std::cell::Cell::new(1u32);
        hip.host(stream, &gate);
        if pageable == "sync" {
            // The call does not return before the copy is done.
            gate.open();
        }
        hip.copy(at, source.as_ptr() as usize, 4, H2D, stream);
        source.set(2);
        gate.open();
        hip.synchronize(stream);
        hip.read::<1>(at)[0]
    };
    assert_eq!(late("async"), 2);
    assert_eq!(late("sync"), 1);
}

#[test]
fn the_log_as_an_array() {
    let hip = Hip::new();
    let (stream, at) = (hip.stream(NON_BLOCKING), hip.malloc(8));
    ok!(hip, hipMemsetAsync(at => usize, 1 => i32, 8 => usize, stream => usize));
    hip.copy(at, at + 4, 4, D2D, stream);
    hip.synchronize(stream);
    let expected = serde_json::json!([
        { "event": "fill", "bytes": 8, "at": 0, "stream": 1, "device": 0, "graph": false },
        {
            "event": "copy", "direction": "D2D", "bytes": 4, "pageable": false,
            "at": 1, "stream": 1, "device": 0, "graph": false,
        },
    ]);
    assert_eq!(hip.sim.json("log_json"), expected);
    hip.set("log_limit", "1");
    ok!(hip, hipMemsetAsync(at => usize, 1 => i32, 8 => usize, stream => usize));
    hip.synchronize(stream);
    assert_eq!(hip.sim.query("log"), "2 fill 8 bytes on stream 1\n");
    assert!(!hip.sim.control("nonsense", "1") && !hip.sim.control("devices", "many"));
    assert_eq!(hip.sim.query("nonsense"), "");
}

#[test]
fn a_thousand_rounds_leave_nothing_behind() {
    // Other tests of a process map memory and begin threads meanwhile.
    if !in_child() {
        let output = child("misbehaviour::a_thousand_rounds_leave_nothing_behind", "0");
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let hip = Hip::new();
    hip.set("log_limit", "10");
    let image = code_object(crate::hip::TARGET);
    let round = || {
        let (stream, event, at) = (hip.stream(NON_BLOCKING), hip.event(), hip.malloc(5000));
        let module = hip.load(&image).unwrap();
        let kernel = hip.function(module, "probe_add").unwrap();
        ok!(hip, hipStreamBeginCapture(stream => usize, 1 => u32));
        hip.launch(kernel, 1, 64, &word(at), stream);
        let (mut graph, mut exec) = (0usize, 0usize);
        ok!(hip, hipStreamEndCapture(stream => usize, &mut graph => *mut usize));
        ok!(hip, hipGraphInstantiateWithFlags(
            &mut exec => *mut usize, graph => usize, 0 => u64,
        ));
        ok!(hip, hipGraphLaunch(exec => usize, stream => usize));
        hip.record(event, stream);
        hip.synchronize(stream);
        ok!(hip, hipGraphExecDestroy(exec => usize));
        ok!(hip, hipGraphDestroy(graph => usize));
        ok!(hip, hipFree(at => usize));
        ok!(hip, hipEventDestroy(event => usize));
        ok!(hip, hipModuleUnload(module => usize));
        ok!(hip, hipStreamDestroy(stream => usize));
    };
    let state = || {
        let lines = |file| std::fs::read_to_string(file).unwrap().lines().count();
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        (hip.sim.query("objects"), lines("/proc/self/maps"), threads)
    };
    (0..600).for_each(|_| round());
    let (objects, maps, threads) = state();
    (0..400).for_each(|_| round());
    let after = state();
    assert_eq!(after.0, objects);
    assert_eq!(hip.sim.json("memory")["device"]["live"], 0);
    // Threads of streams that were destroyed are on their way out.
    assert!(after.1 < maps + 60, "{maps} mappings, then {}", after.1);
    assert!(
        after.2 < threads + 20,
        "{threads} threads, then {}",
        after.2
    );
}
