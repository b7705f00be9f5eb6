//! Devices as they are listed and opened: of every version of the runtime, with code of their own,
//! generic code or none, and over a caller's stream.

use std::ffi::{c_int, c_uint, c_void};

use vmafx_api::{Chroma, OpenRequest, Status};

use crate::simulated::{Machine, collect, expected, format, job, plan};

#[test]
fn devices_are_described_by_every_version() {
    for rocm in ["5.2", "5.7", "6.2", "6.4", "7.2"] {
        let Some(machine) = Machine::new(rocm, "gfx90a:sramecc+:xnack-") else {
            return;
        };
        machine.set("devices", "2");
        machine.set("name", "Card of a test");
        machine.set("memory", "12345678");
        machine.set("pci", "0001:0a:02.0");
        let devices = machine.backend.devices().unwrap();
        assert_eq!(devices.len(), 2, "{rocm}");
        assert_eq!(devices[0].name, "Card of a test", "{rocm}");
        assert_eq!(devices[1].isa, "gfx90a", "{rocm}");
        assert_eq!(devices[0].total_memory, 12_345_678, "{rocm}");
        assert_eq!(devices[0].pci, Some([1, 10, 2, 0]), "{rocm}");
        assert_eq!((&*devices[1].backend, devices[1].index), ("hip", 1));
    }
}

#[test]
fn a_machine_without_devices_says_so() {
    for rocm in ["5.2", "5.7", "6.4", "7.2"] {
        let Some(machine) = Machine::new(rocm, "gfx1100") else {
            return;
        };
        machine.set("devices", "0");
        let error = machine.backend.devices().unwrap_err();
        assert_eq!(error.status, Status::NOT_FOUND, "{rocm}: {error}");
        let wanted = format!("the HIP runtime of ROCm, version {rocm} (");
        assert!(error.message.starts_with(&wanted), "{error}");
        assert!(error.message.contains("shows no GPU"), "{error}");
        assert_eq!(machine.refusal().status, Status::NOT_FOUND);
    }
}

#[test]
fn generic_code_serves_where_the_runtime_loads_it() {
    // There is no code for gfx906 but that of its family.
    let Some(machine) = Machine::new("6.4", "gfx906") else {
        return;
    };
    let format = format(40, 24, Chroma::Yuv420, 8);
    let made = plan(&machine.device(), format).unwrap();
    let values = collect(&made, &job(format, 0)).unwrap();
    assert_eq!(values, expected(format, 0, made.columns()));

    let machine = Machine::new("6.2", "gfx906").unwrap();
    let name = machine.backend.devices().unwrap().remove(0).name;
    assert!(
        name.ends_with("(unusable: no code object for gfx906)"),
        "{name}"
    );
    let error = machine.refusal();
    assert_eq!(error.status, Status::NOT_SUPPORTED);
    for part in [
        "gfx906",
        "gfx1100",
        "gfx9-generic",
        "need version 6.3 of the runtime, this is 6.2",
    ] {
        assert!(error.message.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_device_without_code_is_listed_and_refused() {
    let Some(machine) = Machine::new("7.2", "gfx803") else {
        return;
    };
    let device = machine.backend.devices().unwrap().remove(0);
    assert_eq!(device.isa, "gfx803");
    assert!(device.name.contains("unusable"), "{}", device.name);
    let error = machine.refusal();
    assert_eq!(error.status, Status::NOT_SUPPORTED);
    assert!(!error.message.contains("need version"), "{error}");
}

#[test]
fn what_is_not_there_is_refused() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    let error = machine.backend.open(&OpenRequest::new(1)).unwrap_err();
    assert_eq!(error.status, Status::NOT_FOUND);
    assert_eq!(
        error.message,
        "there is no device 1; there are 1, numbered from 0"
    );
    let mut request = OpenRequest::new(0);
    request.options.push(vmafx_api::OptionSetting::new(
        "speed",
        vmafx_api::OptionValue::Int(1),
    ));
    let error = machine.backend.open(&request).unwrap_err();
    assert_eq!((error.status, &*error.subject), (Status::INVALID, "speed"));
}

/// A function of the simulated runtime.
macro_rules! call {
    ($machine:ident, $name:literal as fn($($kind:ty),*): $($argument:expr),*) => {{
        // SAFETY: HIP's function of that name has this type.
        let code = unsafe {
            let function = $machine.sim.library()
                .get::<unsafe extern "C" fn($($kind),*) -> c_int>($name)
                .unwrap();
            function($($argument),*)
        };
        assert_eq!(code, 0, $name);
    }};
}

#[test]
fn a_callers_stream_is_used() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    machine.set("devices", "2");
    let open = |index, external| {
        // SAFETY: streams of this runtime, which outlive the device; others are refused.
        let request = unsafe { OpenRequest::new(index).with_external(external) };
        machine.backend.open(&request)
    };
    let mut stream: *mut c_void = std::ptr::null_mut();
    call!(machine, "hipSetDevice" as fn(c_int): 1);
    call!(
        machine,
        "hipStreamCreateWithFlags" as fn(*mut *mut c_void, c_uint): &mut stream, 1
    );
    call!(machine, "hipSetDevice" as fn(c_int): 0);
    let stream = stream as usize;

    let refused = |index, external, subject: &str| {
        let error = open(index, external).unwrap_err();
        assert_eq!(
            (error.status, &*error.subject),
            (Status::INVALID, subject),
            "{error}"
        );
        error.message
    };
    refused(1, [stream, 7], "external[1]");
    refused(1, [0, 7], "external[1]");
    refused(1, [1, 0], "external[0]");
    refused(1, [2, 0], "external[0]");
    let said = refused(0, [stream, 0], "external[0]");
    assert_eq!(said, "the stream is of device 1, not 0");

    let format = format(40, 24, Chroma::Yuv420, 8);
    {
        let device = open(1, [stream, 0]).unwrap();
        let made = plan(&device, format).unwrap();
        let values = collect(&made, &job(format, 0)).unwrap();
        assert_eq!(values, expected(format, 0, made.columns()));
    }
    // What was current is so again, and the stream is still the caller's.
    let mut current = 7;
    call!(machine, "hipGetDevice" as fn(*mut c_int): &mut current);
    assert_eq!(current, 0);
    call!(machine, "hipStreamSynchronize" as fn(usize): stream);
    call!(machine, "hipStreamDestroy" as fn(usize): stream);
}

#[test]
fn the_threads_last_error_is_left_alone() {
    let Some(machine) = Machine::new("7.2", "gfx1100") else {
        return;
    };
    // Whose own call succeeded finds nothing.
    let last = || {
        let library = machine.sim.library();
        // SAFETY: the function has this type, and takes nothing.
        unsafe {
            let last = library.get::<unsafe extern "C" fn() -> c_int>("hipPeekAtLastError");
            last.unwrap()()
        }
    };
    machine.set("refuse_modules", "209");
    assert_eq!(machine.refusal().code, 209);
    assert_eq!(last(), 0);
    machine.set("refuse_modules", "");

    // Nor of what nobody is told of.
    let left = || {
        let objects = machine.sim.json("objects");
        let live = objects.as_object().unwrap().values();
        let live: u64 = live.map(|count| count.as_u64().unwrap()).sum();
        let memory = machine.sim.json("memory");
        let pieces = |kind: &str| memory[kind]["live"].as_u64().unwrap();
        live + pieces("device") + pieces("pinned")
    };
    let mut before = left();
    for call in [
        "hipFree",
        "hipHostFree",
        "hipEventDestroy",
        "hipStreamDestroy",
        "hipModuleUnload",
        "hipGraphDestroy",
        "hipGraphUpload",
        "hipGraphExecDestroy",
    ] {
        let format = format(32, 32, Chroma::Yuv420, 8);
        machine.set("fail", &format!("{call}:1:999"));
        let device = machine.device();
        let made = plan(&device, format).unwrap();
        collect(&made, &job(format, 0)).unwrap();
        drop(made);
        drop(device);
        assert_eq!(last(), 0, "{call}");
        machine.set("fail", "");
        // What was not given back is still there, so that the call did fail.
        let stays = left();
        assert!(stays > before || call == "hipGraphUpload", "{call}");
        before = stays;
    }
}
