//! Whatever fails, fails as a value: with the call and its code, with nothing left behind, in a
//! process that goes on.

use std::path::{Path, PathBuf};

use vmafx_api::{ApiError, OpenRequest, Status};

use crate::bench::{Bench, Clip, FEATURES, RUNTIME, format, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "failures_are_values",
    children: &[
        child("calls", GRAPHS, 300),
        child("calls", NO_GRAPHS, 300),
        child("memory", GRAPHS, 120),
        child("memory", NO_GRAPHS, 120),
        child("lost", GRAPHS, 300),
        child("lost", NO_GRAPHS, 300),
        child("launches", GRAPHS, 120),
        child("launches", NO_GRAPHS, 120),
        child("modules", GRAPHS, 120),
        child("without hipGetDevicePropertiesR0600", GRAPHS, 60),
        child("without hipStreamGetDevice", GRAPHS, 60),
        child("without hipPointerGetAttributes", GRAPHS, 60),
        child("without hipStreamBeginCapture", GRAPHS, 60),
        child("without hipGraphInstantiate", GRAPHS, 60),
        child("without hipGraphUpload", GRAPHS, 60),
        child("without hipGraphLaunch", GRAPHS, 60),
        child("without hipMemcpy2DAsync", GRAPHS, 60),
    ],
    run,
};

fn run(room: &Path, what: &str) {
    if let Some(symbol) = what.strip_prefix("without ") {
        remove(symbol);
        return without(&Walk::open(room), symbol);
    }
    let path = Walk::open(room);
    match what {
        "calls" => calls(&path),
        "memory" => memory(&path),
        "lost" => lost(&path),
        "launches" => launches(&path),
        _ => modules(&path),
    }
}

/// From opening a device to its scores and back.
struct Walk {
    bench: Bench,
    clip: Clip,
}

impl Walk {
    fn open(room: &Path) -> Self {
        Walk {
            bench: Bench::open(room),
            clip: Clip::new(*shape(), &FEATURES, 3),
        }
    }

    /// All of it once.
    fn walk(&self) -> Result<(), ApiError> {
        let device = self.bench.device()?;
        let plan = plan(&device, *shape(), &FEATURES)?;
        self.clip.check(&plan, "the scores that came")
    }

    /// That all is well, and what is held then.
    fn works(&self, after: &str) -> String {
        self.walk()
            .unwrap_or_else(|error| panic!("after {after}: {error}"));
        self.bench.holdings()
    }
}

fn shape() -> &'static vmafx_api::FrameFormat {
    static SHAPE: std::sync::OnceLock<vmafx_api::FrameFormat> = std::sync::OnceLock::new();
    SHAPE.get_or_init(|| format(40, 36, 8))
}

/// What is called on the way, but for what gives back, asks for the current device, ends a
/// recording, or waits before memory goes: these fail where the device is lost.
const CALLS: [&str; 16] = [
    "hipMalloc",
    "hipHostMalloc",
    "hipStreamCreateWithFlags",
    "hipEventCreateWithFlags",
    "hipModuleLoadData",
    "hipModuleGetFunction",
    "hipMemcpyAsync",
    "hipModuleLaunchKernel",
    "hipStreamWaitEvent",
    "hipEventRecord",
    "hipEventSynchronize",
    "hipStreamQuery",
    "hipDeviceTotalMem",
    "hipStreamBeginCapture",
    "hipGraphInstantiate",
    "hipGraphLaunch",
];

/// Each call of each of these functions fails in turn.
fn calls(path: &Walk) {
    let before = path.works("nothing");
    let mut failed = 0;
    for call in CALLS {
        let code = match call {
            "hipMalloc" | "hipHostMalloc" => 2,
            "hipModuleLoadData" => 209,
            _ => 999,
        };
        for nth in 1.. {
            assert!(nth < 1000, "{call} fails without end");
            path.bench.set("fail", &format!("{call}:{nth}:{code}"));
            let walked = path.walk();
            path.bench.set("fail", "");
            let how = format!("{call} failed for the {nth}th time");
            let Err(error) = walked else {
                let graphs = call.contains("Graph") || call.contains("Capture");
                assert!(nth > 1 || graphs, "{call} is not called");
                break;
            };
            failed += 1;
            assert_eq!(error.code, code, "{how}: {error}");
            let wanted = match code {
                2 => Status::NO_MEMORY,
                209 => Status::NOT_SUPPORTED,
                _ => Status::DEVICE,
            };
            assert_eq!(error.status, wanted, "{how}: {error}");
            let told = format!("{call} answered ");
            assert!(error.message.contains(&told), "{how}: {error}");
            assert_eq!(path.bench.holdings(), before, "{how}");
        }
        assert_eq!(path.works(call), before);
    }
    assert_eq!(path.bench.troubles(), Vec::<String>::new());
    // Where work cannot be recorded, it goes on without.
    path.bench.set("clear_log", "");
    path.bench.set("fail", "hipStreamBeginCapture:1:801:1000");
    assert_eq!(path.works("a refusal to record"), before);
    path.bench.set("fail", "");
    assert_eq!(path.bench.counts()["graph_launches"], 0);
    assert!(failed > 100, "{failed} calls failed");
    println!("{FIGURE}{failed} calls failed in turn, each told with its code; nothing was left");
}

/// Memory runs out at every size of it, down to none.
fn memory(path: &Walk) {
    let before = path.works("nothing");
    let most = |kind: &str| {
        let memory = path.bench.sim.json("memory");
        memory[kind]["most_bytes"].as_u64().unwrap()
    };
    let mut refused = 0;
    for (setting, kind, call) in [
        ("memory_limit", "device", "hipMalloc"),
        ("pinned_limit", "pinned", "hipHostMalloc"),
    ] {
        let most = most(kind);
        let limits = (0..24).map(|step| (most * step / 24).max(1));
        for limit in limits.chain([most - 1]) {
            path.bench.set(setting, &limit.to_string());
            let error = path
                .walk()
                .expect_err("less memory than it takes is enough");
            path.bench.set(setting, "0");
            let how = format!("{limit} bytes of {most} ({kind}): {error}");
            assert_eq!((error.status, error.code), (Status::NO_MEMORY, 2), "{how}");
            assert!(
                error.message.contains(&format!("{call} answered ")),
                "{how}"
            );
            assert_eq!(path.bench.holdings(), before, "{how}");
            refused += 1;
        }
        path.bench.set(setting, &most.to_string());
        path.works("enough memory");
        path.bench.set(setting, "0");
    }
    println!("{FIGURE}{refused} limits of memory met; nothing was left");
}

/// The device goes away at each call.
fn lost(path: &Walk) {
    path.works("nothing");
    let calls = || path.bench.sim.query("calls").parse::<u64>().unwrap();
    let start = calls();
    path.works("nothing");
    let all = calls() - start;
    let (mut met, mut ended_well) = (0, 0);
    for after in (0..60).chain((60..all).step_by(3)) {
        let code = [719, 700, 709][(after % 3) as usize];
        path.bench.set("lost_after", &format!("{after}:{code}"));
        let walked = path.walk();
        path.bench.come_to_rest();
        path.bench.set("repair", "");
        match walked {
            // Only what gives things back came after.
            Ok(()) => ended_well += 1,
            Err(error) => {
                met += 1;
                let how = format!("lost after {after} calls: {error}");
                assert_eq!(error.code, code, "{how}");
                assert!(error.message.contains(" answered hipError"), "{how}");
            }
        }
        // A device that is opened afterwards is a new one.
        if after % 8 == 0 {
            path.works("the device came back");
        }
    }
    path.works("all of it");
    assert!(met > 60 && met > ended_well, "{met} {ended_well}");
    println!(
        "{FIGURE}the device was lost at {met} different calls of {all}, and told of each time"
    );
}

/// Each kernel fails on the device.
fn launches(path: &Walk) {
    path.bench.set("clear_log", "");
    path.works("nothing");
    let kernels = path.bench.kernels();
    assert!(kernels.len() > 5, "{kernels:?}");
    for kernel in &kernels {
        path.bench.set("clear_log", "");
        path.bench.set("fail_launch", &format!("{kernel}:1"));
        {
            let device = path.bench.device().unwrap();
            let made = plan(&device, *shape(), &FEATURES).unwrap();
            let error = path.clip.check(&made, kernel).unwrap_err();
            path.bench.set("fail_launch", "");
            let how = format!("{kernel}: {error}");
            assert_eq!((error.status, error.code), (Status::DEVICE, 719), "{how}");
            let told = "the device is lost since hip";
            assert!(error.message.starts_with(told), "{how}");
            assert!(
                error.message.contains("hipErrorLaunchFailure (719)"),
                "{how}"
            );
            // It stays lost, for every plan of it.
            let again = path.clip.check(&made, kernel).unwrap_err();
            assert_eq!((again.status, again.code), (Status::DEVICE, 719), "{again}");
            let other = plan(&device, *shape(), &FEATURES).unwrap_err();
            assert_eq!((other.status, other.code), (Status::DEVICE, 719), "{other}");
        }
        path.bench.come_to_rest();
        path.bench.set("repair", "");
        path.works(kernel);
    }
    let count = kernels.len();
    println!("{FIGURE}{count} kernels failed on the device, and were told of");
}

/// Device code that the runtime does not take, and devices that there is none for.
fn modules(path: &Walk) {
    let before = path.works("nothing");
    for (code, name) in [
        (209, "hipErrorNoBinaryForGpu"),
        (200, "hipErrorInvalidImage"),
        (218, "hipErrorInvalidKernelFile"),
    ] {
        path.bench.set("refuse_modules", &code.to_string());
        let error = path.walk().unwrap_err();
        path.bench.set("refuse_modules", "");
        assert_eq!(
            (error.status, error.code),
            (Status::NOT_SUPPORTED, code),
            "{error}"
        );
        let wanted =
            format!("its device code does not load: hipModuleLoadData answered {name} ({code})");
        assert_eq!(error.message, wanted);
        assert_eq!(error.subject, "device 0");
        assert_eq!(path.works(name), before);
    }

    path.bench.set("gfx", "gfx803");
    let devices = path.bench.backend().devices().unwrap();
    let name = &devices[0].name;
    assert!(
        name.ends_with("(unusable: no code object for gfx803)"),
        "{name}"
    );
    let error = path.walk().unwrap_err();
    assert_eq!(error.status, Status::NOT_SUPPORTED, "{error}");
    assert!(error.message.contains("is gfx803"), "{error}");
    path.bench.set("gfx", "gfx1100");
    let error = path.bench.backend().open(&OpenRequest::new(3)).unwrap_err();
    assert_eq!(error.status, Status::NOT_FOUND, "{error}");
    assert_eq!(path.works("a device of another kind"), before);
    println!("{FIGURE}modules refused with 3 codes; a device without code listed as unusable");
}

/// A runtime that lacks a function.
fn without(path: &Walk, symbol: &str) {
    if symbol != "hipMemcpy2DAsync" {
        path.works("a missing function");
        path.works("a missing function");
        let graphs = path.bench.counts()["graph_launches"].as_u64().unwrap();
        let needs_graphs = [
            "hipStreamBeginCapture",
            "hipGraphInstantiate",
            "hipGraphLaunch",
        ];
        assert_eq!(
            graphs == 0,
            needs_graphs.contains(&symbol),
            "{graphs} graphs ran"
        );
        return;
    }
    let error = path.walk().unwrap_err();
    assert_eq!(error.status, Status::DEVICE, "{error}");
    let wanted = "that can be used: it has no function `hipMemcpy2DAsync`";
    assert!(error.message.contains(wanted), "{error}");
}

/// Takes a function out of the runtime's file, which is this child's own: its entry in the table
/// of names is overwritten, so that the dynamic linker does not find it.
fn remove(symbol: &str) {
    let file = PathBuf::from(std::env::var_os(RUNTIME).unwrap());
    let mut bytes = std::fs::read(&file).unwrap();
    let entry = [b"\0", symbol.as_bytes(), b"\0"].concat();
    let at = bytes.windows(entry.len()).position(|part| part == entry);
    bytes[at.unwrap() + 1] = b'-';
    std::fs::write(&file, bytes).unwrap();
}
