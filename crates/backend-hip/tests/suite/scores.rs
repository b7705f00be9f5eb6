//! Scores over simulated devices: equal to the scalar reference, whatever the version of ROCm;
//! failures of the device are values.

use vmafx_api::{Chroma, Status};

use crate::simulated::{Machine, collect, expected, format, job, plan};

/// ROCm of each major version, with a target that it knows.
const VERSIONS: [(&str, &str); 4] = [
    ("5.7", "gfx1030"),
    ("6.2", "gfx90a:sramecc+:xnack-"),
    ("6.4", "gfx1036"),
    ("7.2", "gfx1201"),
];

#[test]
fn sums_are_those_of_the_scalar_reference() {
    for (rocm, gfx) in VERSIONS {
        let Some(machine) = Machine::new(rocm, gfx) else {
            return;
        };
        let device = machine.device();
        for format in [
            format(65, 35, Chroma::Yuv420, 8),
            format(64, 32, Chroma::Yuv444, 10),
            format(33, 17, Chroma::Yuv400, 16),
        ] {
            let plan = plan(&device, format).unwrap();
            // All at once, then one that takes a slot again.
            let jobs: Vec<_> = (0..4).map(|index| job(format, index)).collect();
            let tickets = jobs.iter().map(|job| plan.submit(job).unwrap());
            let tickets: Vec<_> = tickets.collect();
            for (index, ticket) in tickets.into_iter().enumerate() {
                let mut values = vec![Default::default(); plan.columns()];
                plan.collect(ticket, &mut values).unwrap();
                let wanted = expected(format, index as u64, plan.columns());
                assert_eq!(values, wanted, "ROCm {rocm}, {format}, frame {index}");
            }
            let values = collect(&plan, &job(format, 9)).unwrap();
            assert_eq!(values, expected(format, 9, plan.columns()));
            // Recorded as graphs, one a slot, where the runtime's are finished.
            let graphs = machine.sim.json("objects")["execs"].as_u64().unwrap();
            assert_eq!(graphs, if rocm < "6" { 0 } else { 4 }, "ROCm {rocm}");
        }
        let counts = machine.counts();
        assert_eq!(counts["troubles"].as_array().unwrap().len(), 0, "{counts}");
    }
}

#[test]
fn nothing_runs_on_a_default_stream() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    let format = format(32, 32, Chroma::Yuv420, 8);
    let device = machine.device();
    let plan = plan(&device, format).unwrap();
    collect(&plan, &job(format, 0)).unwrap();
    let counts = machine.counts();
    assert_eq!(counts["default_stream"], 0, "{counts:#}");
}

#[test]
fn all_that_was_made_is_destroyed() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    let format = format(32, 32, Chroma::Yuv420, 8);
    for _ in 0..3 {
        let device = machine.device();
        let plan = plan(&device, format).unwrap();
        collect(&plan, &job(format, 0)).unwrap();
    }
    let objects = machine.sim.json("objects");
    assert_eq!(objects.as_object().unwrap().len(), 8);
    for (name, live) in objects.as_object().unwrap() {
        assert_eq!(live, 0, "{name}");
    }
    let memory = machine.sim.json("memory");
    for kind in ["device", "pinned"] {
        assert_eq!(memory[kind]["live"], 0, "{kind}");
        assert!(memory[kind]["ever"].as_u64().unwrap() >= 9, "{kind}");
    }
}

#[test]
fn a_lost_dispatch_is_computed_again() {
    let Some(machine) = Machine::new("6.4", "gfx1100") else {
        return;
    };
    let format = format(32, 32, Chroma::Yuv420, 8);
    let device = machine.device();
    let plan = plan(&device, format).unwrap();
    machine.set("drop", "vx_psnr_u8:1:2");
    let values = collect(&plan, &job(format, 0)).unwrap();
    assert_eq!(values, expected(format, 0, plan.columns()));
    // Three planes, twice.
    assert_eq!(machine.counts()["launches"]["vx_psnr_u8"], 6);
}

#[test]
fn failures_of_the_device_are_values() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    let format = format(32, 32, Chroma::Yuv420, 8);

    machine.set("refuse_modules", "209");
    let error = machine.refusal();
    assert_eq!((error.status, error.code), (Status::NOT_SUPPORTED, 209));
    assert!(
        error
            .message
            .contains("hipModuleLoadData answered hipErrorNoBinaryForGpu (209)"),
        "{error}"
    );
    machine.set("refuse_modules", "");

    machine.set("memory_limit", "1000");
    let device = machine.device();
    let made = plan(&device, format).and_then(|plan| collect(&plan, &job(format, 0)));
    let error = made.unwrap_err();
    assert_eq!(
        (error.status, error.code),
        (Status::NO_MEMORY, 2),
        "{error}"
    );
    assert!(error.message.contains("hipMalloc"), "{error}");
    machine.set("memory_limit", "0");
    // Nothing of it stays.
    let made = plan(&device, format).unwrap();
    let values = collect(&made, &job(format, 0)).unwrap();
    assert_eq!(values, expected(format, 0, made.columns()));

    machine.set("clear_log", "");
    machine.set("fail_launch", "vx_psnr_u8:1");
    let error = collect(&made, &job(format, 1)).unwrap_err();
    assert_eq!((error.status, error.code), (Status::DEVICE, 719), "{error}");
    assert!(error.message.contains("is lost"), "{error}");
    // It stays lost, and is not asked again.
    machine.set("fail_launch", "");
    let again = collect(&made, &job(format, 2)).unwrap_err();
    assert_eq!((again.status, again.code), (Status::DEVICE, 719), "{again}");
    drop(made);
    drop(device);

    machine.set("repair", "");
    let device = machine.device();
    let made = plan(&device, format).unwrap();
    machine.set("lose_device", "700");
    let error = collect(&made, &job(format, 3)).unwrap_err();
    assert_eq!((error.status, error.code), (Status::DEVICE, 700), "{error}");
}
