//! Plugins that load well and then answer wrongly: in `bad.c`, by the defect that is stated here.

use std::path::{Path, PathBuf};

use vmafx_api::loader::{Loader, Machine};
use vmafx_api::{
    ApiError, Backend, Device, Extractor, FrameJob, ImportDescriptor, MemoryKind, OpenRequest,
    PlanRequest, Status, Value,
};
use vmafx_engine::{Context, EngineError, ErrorKind, FeatureCatalog, Request, Warning};

use crate::processes::unguarded;
use crate::rig::{self, edge, format, frame, pair};
use crate::workshop::Workshop;
use crate::{Case, Checked, Child, Ends, checked};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "calls",
        set_up: calls,
        child: calls_child,
    },
    Case {
        name: "scores that are none",
        set_up: scores,
        child: scores_child,
    },
    Case {
        name: "calls that crash",
        set_up: crashes,
        child: crashes_child,
    },
];

/// A name, what the compiler is told, the status that the host's caller gets, and what is in the
/// error.
type Bad = (&'static str, &'static [&'static str], Status, &'static str);

const INTERNAL: Status = Status::INTERNAL;
const OPEN: &str = "DEFECT=table.device_open = say_open;";
const PREPARE: &str = "DEFECT=table.device_prepare = say_prepare;";
const ODD_PREPARE: &str = "DEFECT=table.device_prepare = odd_prepare;";
const SUBMIT: &str = "DEFECT=table.extractor_submit = odd_submit;";
const COLLECT: &str = "DEFECT=table.extractor_collect = odd_collect;";

/// An error text that fills its room, without an end and not in UTF-8.
const GARBLED: &str = "SUBMIT=memset(error->subject, 0xff, sizeof error->subject);\
    memset(error->message, 0xfe, sizeof error->message); (void)job; return -6";
const GROWN: &str = "SUBMIT=error->struct_size = UINT32_MAX; (void)job; return -6";

const CALLS: [Bad; 27] = [
    (
        "endless-devices",
        &["DEFECT=table.device_count = many_devices; table.device_info = any_device;"],
        Status::RANGE,
        "4294967295 devices",
    ),
    (
        "contrary-device",
        &["DEFECT=table.device_info = contrary_device;"],
        Status::INVALID,
        "sync_file is not within none",
    ),
    (
        "open-nothing",
        &[OPEN],
        INTERNAL,
        "device_open: the library answered OK and handed out a null",
    ),
    (
        "open-pending",
        &[OPEN, "STATUS=1"],
        INTERNAL,
        "the backend answered pending, which is no answer",
    ),
    (
        "open-42",
        &[OPEN, "STATUS=42"],
        INTERNAL,
        "the backend answered status 42, which is no answer",
    ),
    (
        "open-mute",
        &[OPEN, "STATUS=-6"],
        Status::DEVICE,
        "backend: the backend gave no reason",
    ),
    (
        "open-4711",
        &[OPEN, "STATUS=-4711"],
        Status(-4711),
        "(status -4711)",
    ),
    (
        "open-lowest",
        &[OPEN, "STATUS=INT32_MIN"],
        Status(i32::MIN),
        "(status -2147483648)",
    ),
    (
        "open-panic",
        &[OPEN, "STATUS=VMAFX_PLUGIN_STATUS_PANIC"],
        Status::PANIC,
        "the backend gave no reason (panic)",
    ),
    (
        "prepare-nothing",
        &[PREPARE],
        INTERNAL,
        "device_prepare: the library answered OK and handed",
    ),
    (
        "prepare-99",
        &[PREPARE, "STATUS=99"],
        INTERNAL,
        "the backend answered status 99, which is no answer",
    ),
    (
        "history-17",
        &[ODD_PREPARE, "HISTORY=17"],
        Status::RANGE,
        "17 earlier frames, the most are 16",
    ),
    (
        "history-endless",
        &[ODD_PREPARE, "HISTORY=UINT32_MAX"],
        Status::RANGE,
        "4294967295 earlier frames",
    ),
    (
        "columns-0",
        &[ODD_PREPARE, "COLUMNS=0"],
        INTERNAL,
        "answers with 0 values a frame",
    ),
    (
        "columns-2",
        &[ODD_PREPARE, "COLUMNS=2"],
        INTERNAL,
        "answers with 2 values a frame",
    ),
    (
        "columns-endless",
        &[ODD_PREPARE, "COLUMNS=UINT32_MAX"],
        INTERNAL,
        "answers with 4294967295 values a frame",
    ),
    (
        "submit-garbled",
        &[SUBMIT, GARBLED],
        Status::DEVICE,
        "\u{fffd}\u{fffd}",
    ),
    (
        "submit-grown-error",
        &[SUBMIT, GROWN],
        Status::DEVICE,
        "the backend gave no reason",
    ),
    (
        "submit-busy",
        &[SUBMIT, "SUBMIT=(void)job; return -5"],
        Status::BUSY,
        "no reason (busy)",
    ),
    (
        "submit-pending",
        &[SUBMIT, "SUBMIT=(void)job; return 1"],
        INTERNAL,
        "the backend answered pending, which is no answer",
    ),
    (
        "collect-pending",
        &[COLLECT, "COLLECTED=1"],
        INTERNAL,
        "the backend answered pending, which is no answer",
    ),
    (
        "submit-float",
        &[SUBMIT, "SUBMIT=flush_subnormals()"],
        INTERNAL,
        "floating-point environment: the library changed it",
    ),
    (
        "submit-panic",
        &[
            SUBMIT,
            "SUBMIT=return fail(error, -13, \"here\", \"a C panic\")",
        ],
        Status::PANIC,
        "here: a C panic",
    ),
    (
        "collect-float",
        &[COLLECT, "SCORE=(flush_subnormals(), 1.0)"],
        INTERNAL,
        "floating-point environment: the library changed it",
    ),
    (
        "other-ticket",
        &[
            "DEFECT=table.extractor_submit = odd_submit;",
            "SUBMIT=*ticket = 12345; return OK",
        ],
        Status::NOT_FOUND,
        "there is no such ticket",
    ),
    (
        "import-nothing",
        &["DEFECT=offer_import();"],
        INTERNAL,
        "frame_import: the library answered OK and handed out a null",
    ),
    (
        "import-half",
        &["DEFECT=offer_import(); import.fence_poll = NULL;"],
        Status::NOT_SUPPORTED,
        "the device takes in no frames of others",
    ),
];

fn calls(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, defines, ..) in CALLS {
        place(room, name, &workshop.bad(name, defines));
    }
    let garbled = workshop.bad(
        "garbled-device",
        &["DEFECT=table.device_info = garbled_device;"],
    );
    place(room, "garbled-device", &garbled);
    let taken = workshop.bad("taken-name", &["DEFECT=SET_TEXT(feature.name, \"psnr\");"]);
    place(room, "taken-name", &taken);
    // Only a host that was built for development looks at the environment after each call.
    let seen = |name: &&str| cfg!(debug_assertions) || !name.ends_with("-float");
    let names = CALLS.iter().map(|(name, ..)| *name).filter(seen);
    let mut children: Vec<_> = names.map(Child::new).collect();
    children.extend(["garbled-device", "taken-name"].map(Child::new));
    children
}

fn place(room: &Path, name: &str, library: &Path) -> PathBuf {
    let path = room.join(format!("{name}.so"));
    std::fs::copy(library, &path).unwrap();
    path
}

/// A backend that is opened in this process: the children of these cases are there to crash.
fn opened(room: &Path, name: &str) -> Backend {
    let path = room.join(format!("{name}.so"));
    let loaded = Loader::new(Machine::at("/")).load_library(&path);
    loaded.unwrap_or_else(|record| panic!("{record}"))[0]
        .backend
        .clone()
}

/// The first failure on the way from a backend to a score, and the device if there was one.
fn way(backend: &Backend) -> (Option<Device>, Result<f64, ApiError>) {
    let device = match backend
        .devices()
        .and_then(|_| backend.open(&OpenRequest::new(0)))
    {
        Ok(device) => device,
        Err(error) => return (None, Err(error)),
    };
    let score = score(&device);
    (Some(device), score)
}

fn score(device: &Device) -> Result<f64, ApiError> {
    let format = format(16, 8, 8);
    device.supports(&edge(1), &format)?;
    match device.import(&ImportDescriptor::without_planes(
        MemoryKind::DMA_BUF,
        format,
    )) {
        Err(error) if error.message.contains("takes in no frames") => {}
        Err(error) => return Err(error),
        Ok(frame) => panic!("{frame:?} of nothing"),
    }
    let extractor = device.prepare(&PlanRequest::new(format, &[edge(1)]))?;
    let job = FrameJob::new(0, pair(format, 0), Vec::new());
    collected(&extractor, &job)
}

fn collected(extractor: &Extractor, job: &FrameJob) -> Result<f64, ApiError> {
    extractor.admits(&job.pair.reference)?;
    let ticket = extractor.submit(job)?;
    let mut values = vec![Value::default(); extractor.columns().min(8)];
    extractor.collect(ticket, &mut values)?;
    Ok(values.first().map_or(0.0, |value| value.as_score()))
}

fn calls_child(room: &Path, name: &str) {
    let backend = opened(room, name);
    let (device, result) = match name {
        "garbled-device" => return garbled_device(&backend),
        "taken-name" => return taken_name(&backend),
        "import-half" => {
            let device = backend.open(&OpenRequest::new(0)).unwrap();
            let nothing = ImportDescriptor::without_planes(MemoryKind::DMA_BUF, format(16, 8, 8));
            let refused = device.import(&nothing).map(|_| 0.0);
            (Some(device), refused)
        }
        name if name.starts_with("columns") => return columns(&backend, name),
        _ => way(&backend),
    };
    let (_, _, status, words) = CALLS.iter().find(|(known, ..)| *known == name).unwrap();
    let error = result.expect_err("the defect is not seen");
    assert_eq!(error.status, *status, "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(
        !error.subject.is_empty() && error.message.len() <= 3 * 2048,
        "{error}"
    );
    if let (Some(device), Status::PANIC) = (&device, error.status) {
        let again = device.supports(&edge(1), &format(16, 8, 8)).unwrap_err();
        assert_eq!(again.status, Status::PANIC);
        assert!(
            again.message.contains("an earlier call panicked"),
            "{again}"
        );
        let other = backend.open(&OpenRequest::new(0)).unwrap();
        other.supports(&edge(1), &format(16, 8, 8)).unwrap();
    }
    let half = std::hint::black_box(f64::MIN_POSITIVE) / std::hint::black_box(2.0);
    assert!(half > 0.0, "subnormal numbers are off");
    checked(Checked::Contained, name);
}

/// Texts of a device are shown as far as they are text.
fn garbled_device(backend: &Backend) {
    let devices = backend.devices().unwrap();
    let info = &devices[0];
    assert!(
        info.name.chars().all(|letter| letter == '\u{fffd}'),
        "{}",
        info.name
    );
    assert!(!info.isa.is_empty() && info.isa.chars().all(|letter| letter == '\u{fffd}'));
    checked(Checked::Contained, "garbled-device");
}

/// A feature of this program keeps its name, and whoever wanted it is told of.
fn taken_name(backend: &Backend) {
    let (catalog, warnings) = FeatureCatalog::new(std::slice::from_ref(backend));
    let taken = Warning::FeatureTaken {
        feature: "psnr".to_owned(),
        backend: "edge-c".to_owned(),
    };
    assert_eq!(warnings, [taken]);
    let psnr = catalog.find("psnr").unwrap().definition();
    assert_ne!(psnr.summary, "Mean difference of horizontal gradients");
    checked(Checked::Contained, "taken-name");
}

/// An engine's context over one backend, for its feature `edge`.
fn context(backend: &Backend) -> Result<Context, EngineError> {
    let backends = std::slice::from_ref(backend);
    let (catalog, warnings) = FeatureCatalog::new(backends);
    assert_eq!(warnings, []);
    let mut request = Request::default();
    request.features.push(catalog.feature("edge", []).unwrap());
    request.threads = 2;
    Context::with_backends(format(16, 8, 8), request, backends)
}

/// Another number of values than the feature has scores.
fn columns(backend: &Backend, name: &str) {
    let (_, _, status, words) = CALLS.iter().find(|(known, ..)| *known == name).unwrap();
    match context(backend).map(|_| ()) {
        Err(EngineError::Prepare { device, source }) => {
            assert_eq!((device.as_str(), source.status), ("edge-c:0", *status));
            assert!(source.message.contains(words), "{source}");
        }
        other => panic!("{other:?}"),
    }
    checked(Checked::Contained, name);
}

const NO_SCORES: [(&str, &str, &str); 4] = [
    ("nan", "SCORE=NAN", "NaN"),
    ("infinite", "SCORE=INFINITY", "inf"),
    ("minus-infinite", "SCORE=-INFINITY", "-inf"),
    ("signalling-nan", "SCORE=__builtin_nans(\"1\")", "NaN"),
];

fn scores(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, score, _) in NO_SCORES {
        place(room, name, &workshop.bad(name, &[COLLECT, score]));
    }
    NO_SCORES
        .iter()
        .map(|(name, ..)| Child::new(*name))
        .collect()
}

fn scores_child(room: &Path, name: &str) {
    let mut context = context(&opened(room, name)).unwrap();
    let format = *context.format();
    let mut submitted = Ok(());
    for t in 0..3 {
        submitted = submitted.and(context.submit(frame(format, t, false), frame(format, t, true)));
    }
    let error = match submitted {
        Ok(()) => context.finish().map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    let words = NO_SCORES
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap()
        .2;
    let wanted =
        format!("frame 0: edge-c:0 gave {words} as score `edge`, which is no finite number");
    assert_eq!(error.to_string(), wanted);
    assert_eq!(error.kind(), ErrorKind::Backend);
    checked(Checked::Contained, name);
}

fn crashes(workshop: &Workshop, room: &Path) -> Vec<Child> {
    place(room, "unguarded", &unguarded(workshop, 1));
    let crash = workshop.bad(
        "call-crashes",
        &[SUBMIT, "SUBMIT=*(volatile int *)(uintptr_t)8 = 1"],
    );
    place(room, "segfault", &crash);
    vec![
        Child::new("unguarded").that_ends(Ends::Badly),
        Child::new("segfault").that_ends(Ends::BySignal(libc::SIGSEGV)),
    ]
}

/// Nothing can hold a crash of a call but a process around it: this child is that process.
fn crashes_child(room: &Path, name: &str) {
    let (_, result) = way(&rig::backend(&room.join(format!("{name}.so"))));
    panic!("it was survived: {result:?}");
}
