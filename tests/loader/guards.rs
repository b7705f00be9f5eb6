//! Panics in Rust and exceptions in C++: the guards of both languages turn each into an answer,
//! wherever it comes from, and the device that answered so is not called again.

use std::path::Path;

use vmafx_api::loader::{Loader, Machine, Reason, Stage, quiesce};
use vmafx_api::{
    ApiError, Backend, Device, FenceKind, FrameJob, ImportDescriptor, MemoryKind, OpenRequest,
    PlanRequest, Status, Value,
};

use crate::rig::{format, pair, plain};
use crate::workshop::{CPP, Workshop, header};
use crate::{Case, Checked, Child, checked};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "panics in Rust",
        set_up: panics,
        child,
    },
    Case {
        name: "exceptions in C++",
        set_up: exceptions,
        child,
    },
];

const FAIL_IN: &str = "VMAFX_TEST_FAIL_IN";
const THROW: &str = "VMAFX_TEST_THROW";

/// A method, and the step of [`life`] at which its failure is seen; none where nobody is asked.
const RUST: [(&str, &str); 27] = [
    ("", ""),
    ("new", "load"),
    ("info", "load"),
    ("devices", "devices"),
    ("open", "open"),
    ("describe", "open"),
    ("supports", "supports"),
    ("prepare", "prepare"),
    ("columns", "prepare"),
    ("history", "prepare"),
    ("in_flight", "prepare"),
    ("admits", "admits"),
    ("submit", "submit"),
    ("collect", "collect"),
    ("repeats", ""),
    ("import", "import"),
    ("frame_import", "import"),
    ("frame_format", "import"),
    ("release_fence", "release fence"),
    ("fence_poll", "poll"),
    ("fence_wait", "wait"),
    ("fence_export", "export"),
    ("fence_destroy", ""),
    ("frame_drop", ""),
    ("extractor_drop", ""),
    ("device_drop", ""),
    ("quiesce", ""),
];

const CPLUSPLUS: [(&str, &str); 17] = [
    ("", ""),
    ("new", "load"),
    ("info", "load"),
    ("devices", "devices"),
    ("device_info", "devices"),
    ("open", "open"),
    ("describe", "open"),
    ("supports", "supports"),
    ("prepare", "prepare"),
    ("columns", "prepare"),
    ("history", "prepare"),
    ("in_flight", "prepare"),
    ("admits", "admits"),
    ("submit", "submit"),
    ("collect", "collect"),
    ("repeats", ""),
    ("quiesce", ""),
];

/// What is thrown, and what the host's caller is told.
const THROWN: [(&str, Status, &str); 4] = [
    ("exception", Status::PANIC, "told to fail in"),
    ("error", Status::BUSY, "told to fail in"),
    ("memory", Status::NO_MEMORY, "memory ran out"),
    (
        "number",
        Status::PANIC,
        "an exception that is no std::exception",
    ),
];

fn panics(workshop: &Workshop, room: &Path) -> Vec<Child> {
    std::fs::copy(workshop.rust("panics"), room.join("plugin.so")).unwrap();
    let methods = RUST.iter().map(|(method, _)| *method);
    let child = |method: &str| Child::new(format!("rust/panic/{method}")).with(FAIL_IN, method);
    methods.map(child).collect()
}

fn exceptions(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let library = workshop.library("fails-cpp", CPP[0], "bad/fails.cpp", &header(), &[]);
    std::fs::copy(library, room.join("plugin.so")).unwrap();
    let mut children = Vec::new();
    for (kind, ..) in THROWN {
        for (method, _) in CPLUSPLUS {
            let child = Child::new(format!("cpp/{kind}/{method}"));
            children.push(child.with(FAIL_IN, method).with(THROW, kind));
        }
    }
    children
}

/// Goes through everything that a host asks of a plugin, and gives the first step that fails.
fn life(backend: &Backend, import: bool) -> Result<(), (&'static str, ApiError, Option<Device>)> {
    let format = format(16, 8, 8);
    let feature = [plain("nothing")];
    backend
        .devices()
        .map_err(|error| ("devices", error, None))?;
    let device = backend
        .open(&OpenRequest::new(0))
        .map_err(|error| ("open", error, None))?;
    let failed = |step| {
        let device = device.clone();
        move |error| (step, error, Some(device.clone()))
    };
    device
        .supports(&feature[0], &format)
        .map_err(failed("supports"))?;
    let plan = PlanRequest::new(format, &feature);
    let extractor = device.prepare(&plan).map_err(failed("prepare"))?;
    assert_eq!(
        (
            extractor.columns(),
            extractor.history(),
            extractor.in_flight()
        ),
        (1, 0, 1)
    );
    let job = FrameJob::new(0, pair(format, 0), Vec::new());
    extractor
        .admits(&job.pair.reference)
        .map_err(failed("admits"))?;
    let ticket = extractor.submit(&job).map_err(failed("submit"))?;
    let mut values = [Value::default()];
    extractor
        .collect(ticket, &mut values)
        .map_err(failed("collect"))?;
    assert_eq!(values[0].as_score(), 1.0);
    // A count that cannot be told is none.
    let fails = std::env::var(FAIL_IN).is_ok_and(|method| method == "repeats");
    assert_eq!(extractor.repeats(), if fails { 0 } else { 2 });
    if import {
        let nothing = ImportDescriptor::without_planes(MemoryKind::DEVICE_POINTER, format);
        let frame = device.import(&nothing).map_err(failed("import"))?;
        let fence = frame
            .release_fence(FenceKind::HOST)
            .map_err(failed("release fence"))?;
        fence.poll().map_err(failed("poll"))?;
        fence
            .wait(std::time::Duration::ZERO)
            .map_err(failed("wait"))?;
        fence.export(FenceKind::NONE).map_err(failed("export"))?;
    }
    drop((extractor, device));
    quiesce();
    quiesce();
    Ok(())
}

fn child(room: &Path, argument: &str) {
    let mut words = argument.split('/');
    let (language, kind) = (words.next().unwrap(), words.next().unwrap());
    let method = words.next().unwrap();
    let (table, status, text) = match language {
        "rust" => (&RUST[..], Status::PANIC, "told to fail in"),
        _ => {
            let (_, status, text) = THROWN.iter().find(|(known, ..)| *known == kind).unwrap();
            (&CPLUSPLUS[..], *status, *text)
        }
    };
    let step = table.iter().find(|(known, _)| *known == method).unwrap().1;
    let path = room.join("plugin.so");
    let loaded = Loader::new(Machine::at("/")).load_library(&path);
    let backend = match loaded {
        Ok(loaded) => loaded[0].backend.clone(),
        Err(record) => {
            assert_eq!(step, "load", "{record}");
            assert_eq!(
                (record.stage, record.reason),
                (Stage::Negotiate, Reason::EntryFailed)
            );
            let wanted = format!("{} failed: {status}", path.display());
            assert!(record.line.ends_with(&wanted), "{record}");
            return checked(Checked::Guarded, argument);
        }
    };
    let (failed, error, device) = match life(&backend, language == "rust") {
        Ok(()) => {
            assert_eq!(step, "", "nothing failed");
            return checked(
                if method.is_empty() {
                    Checked::Scored
                } else {
                    Checked::Guarded
                },
                argument,
            );
        }
        Err(failure) => failure,
    };
    assert_eq!(failed, step, "{error}");
    assert_eq!(error.status, status, "{error}");
    assert!(error.message.contains(text), "{error}");
    if text == "told to fail in" {
        assert!(error.message.ends_with(method), "{error}");
    }
    if let Some(device) = device {
        // What was not thrown on purpose poisons the device; a refusal does not.
        let again = device.prepare(&PlanRequest::new(format(16, 8, 8), &[plain("nothing")]));
        match status {
            Status::PANIC => {
                let again = again.unwrap_err();
                let words = "an earlier call panicked, open the device again: ";
                assert!(again.message.starts_with(words), "{again}");
            }
            _ => assert_eq!(again.is_ok(), failed != "prepare"),
        }
        let other = backend.open(&OpenRequest::new(0)).unwrap();
        let asked = other.supports(&plain("nothing"), &format(16, 8, 8));
        assert_eq!(asked.is_ok(), failed != "supports");
    }
    checked(Checked::Guarded, argument);
}
