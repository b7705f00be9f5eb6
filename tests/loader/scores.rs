//! The sound plugins score: in C, C++ and Rust, by every compiler, with the same bits, through
//! the engine and into its report.

use std::fs;
use std::path::Path;

use vmafx_api::loader::{LoadedBackend, Loader, Reason};
use vmafx_api::{Backend, FrameFormat, HostFrame, Samples};
// Registers the CPU.
use vmafx_backend_cpu as _;
use vmafx_engine::{Context, FeatureCatalog, Outcome, OutputFormat, Precision, Request};

use crate::rig::{LIBRARIES, MANIFESTS, format, frame, machine, probe, record, write};
use crate::workshop::{C, CPP, Workshop, plugins};
use crate::{Case, Checked, Child, checked};

pub(crate) const CASES: &[Case] = &[Case {
    name: "scores",
    set_up,
    child,
}];

const BACKENDS: [(&str, &str); 5] = [
    ("edge-c by gcc", "edge-c"),
    ("edge-c by clang", "edge-c"),
    ("edge-cpp by g++", "edge-cpp"),
    ("edge-cpp by clang++", "edge-cpp"),
    ("edge-rust", "edge-rust"),
];

fn set_up(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for ((name, id), place) in BACKENDS.iter().zip(0..) {
        let library = match *id {
            "edge-c" => workshop.outside(C[place], "c/edge.c"),
            "edge-cpp" => workshop.outside(CPP[place - 2], "cpp/edge.cpp"),
            _ => workshop.rust("edge_rust"),
        };
        publish(&room.join(name), id, &library);
        if !name.contains("clang") {
            publish(&room.join("all"), id, &library);
        }
    }
    let names = BACKENDS.iter().map(|(name, _)| *name);
    names.chain(["all"]).map(Child::new).collect()
}

/// Installs a plugin as its package does, with the manifest that is beside its source.
fn publish(room: &Path, id: &str, library: &Path) {
    let language = id.strip_prefix("edge-").unwrap();
    let text = fs::read_to_string(plugins().join(language).join(format!("{id}.toml"))).unwrap();
    write(room, &format!("{MANIFESTS}/{id}.toml"), text);
    let bytes = fs::read(library).unwrap();
    write(room, &format!("{LIBRARIES}/{}", library_name(id)), bytes);
}

fn library_name(id: &str) -> String {
    format!("libvmafx_{}.so", id.replace('-', "_"))
}

/// Absolute difference of neighbours in a row.
fn gradients(frame: &HostFrame) -> Vec<u64> {
    let view = frame.view();
    let luma = view.luma();
    let (size, stride) = (luma.size(), luma.stride());
    let at = |place: usize| match luma.samples() {
        Samples::U8(samples) => u64::from(samples[place]),
        Samples::U16(samples) => u64::from(samples[place]),
    };
    let rows = 0..size.height;
    rows.flat_map(|y| {
        (1..size.width).map(move |x| {
            let place = y * stride + x;
            at(place).abs_diff(at(place - 1))
        })
    })
    .collect()
}

/// What `edge` and `edge_change` of a frame are, by their definitions.
fn defined(format: FrameFormat, t: u64, weight: u64) -> (f64, f64) {
    let gradients = |t, distorted| gradients(&frame(format, t, distorted));
    let mean = |a: &[u64], b: &[u64], weight: u64| {
        let sum: u64 = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum();
        (weight * sum) as f64 / a.len() as f64
    };
    let (reference, distorted) = (gradients(t, false), gradients(t, true));
    let changes = |now: &[u64], distorted: bool| -> Vec<u64> {
        let before = gradients(t - 1, distorted);
        now.iter()
            .zip(&before)
            .map(|(a, b)| a.abs_diff(*b))
            .collect()
    };
    let change = match t {
        0 => 0.0,
        _ => mean(&changes(&reference, false), &changes(&distorted, true), 1),
    };
    (mean(&reference, &distorted, weight), change)
}

const FRAMES: u64 = 5;
const WEIGHT: u64 = 3;

fn child(room: &Path, name: &str) {
    let loader = Loader::new(machine(&room.join(name))).with_probe(probe());
    let loaded = loader.load();
    let ids: Vec<&str> = loaded.backends.iter().map(LoadedBackend::id).collect();
    match name {
        "all" => assert_eq!(ids, ["edge-c", "edge-cpp", "edge-rust"]),
        _ => assert_eq!(ids.len(), 1),
    }
    for id in &ids {
        // The manifest and the library that packages have agree.
        let record = record(&loaded.records, id);
        assert_eq!(
            (record.reason, record.notes.len()),
            (Reason::Ok, 0),
            "{record}"
        );
    }
    let backends = loaded.backends.iter().map(|loaded| loaded.backend.clone());
    let backends: Vec<_> = backends.collect();
    for id in ids {
        for format in [
            format(33, 17, 8),
            format(64, 9, 10),
            format(2, 2, 16),
            format(70, 41, 12),
        ] {
            for threads in [1, 4] {
                one_run(&backends, id, format, threads);
            }
        }
    }
    if name == "all" {
        beside_the_cpu(backends);
    }
    checked(Checked::Scored, name);
}

/// A request for `edge`, as it is and weighted.
fn request(catalog: &FeatureCatalog) -> Request {
    let mut request = Request::default();
    let weight = WEIGHT.to_string();
    for options in [&[][..], &[("w", weight.as_str())]] {
        let feature = catalog.feature("edge", options.iter().copied());
        request.features.push(feature.unwrap());
    }
    request
}

fn scored(mut context: Context) -> Outcome {
    let format = *context.format();
    for t in 0..FRAMES {
        let (reference, distorted) = (frame(format, t, false), frame(format, t, true));
        context.submit(reference, distorted).unwrap();
    }
    context.finish().unwrap()
}

fn report(outcome: &Outcome) -> serde_json::Value {
    let mut report = Vec::new();
    let precision = Precision::default();
    outcome
        .write(OutputFormat::Json, precision, &mut report)
        .unwrap();
    serde_json::from_slice(&report).unwrap()
}

/// The scores of one backend, bit for bit, and what the report says of them.
fn one_run(backends: &[Backend], id: &str, format: FrameFormat, threads: usize) {
    // Three that describe the same feature alike do not stand in one another's way.
    let (catalog, warnings) = FeatureCatalog::new(backends);
    assert_eq!(warnings, []);
    let mut request = request(&catalog);
    if id == "edge-cpp" {
        let change = catalog.feature("edge_change", []);
        request.features.push(change.unwrap());
    }
    request.threads = threads;
    request.device = Some(id.to_owned());
    let outcome = scored(Context::with_backends(format, request, backends).unwrap());
    assert_eq!(outcome.warnings(), []);
    for t in 0..FRAMES {
        let (plain, change) = defined(format, t, 1);
        let (weighted, _) = defined(format, t, WEIGHT);
        let score = |name: &str| outcome.score(name, t).unwrap().to_bits();
        assert_eq!(score("edge"), plain.to_bits(), "{id} {format} {t}");
        assert_eq!(score("edge_w_3"), weighted.to_bits(), "{id} {format} {t}");
        if id == "edge-cpp" {
            assert_eq!(score("edge_change"), change.to_bits(), "{format} {t}");
        }
    }
    let report = report(&outcome);
    let first = report["frames"][0]["metrics"]["edge_w_3"].as_f64().unwrap();
    let wanted = defined(format, 0, WEIGHT).0;
    assert!((first - wanted).abs() < 1e-4, "{first} {wanted}");
    for feature in report["provenance"]["features"].as_array().unwrap() {
        assert_eq!(feature["backend"], id);
        assert_eq!(feature["backend_version"], "1.2.0");
        let library = format!("/{}", library_name(id));
        assert!(feature["library"].as_str().unwrap().ends_with(&library));
    }
}

/// One report with a feature of this program and one of a plugin; which plugin, their order says.
fn beside_the_cpu(mut backends: Vec<Backend>) {
    backends.extend(Backend::builtin().unwrap());
    let (catalog, _) = FeatureCatalog::new(&backends);
    let mut request = request(&catalog);
    request.features.push(catalog.feature("psnr", []).unwrap());
    let format = format(48, 32, 8);
    let report = report(&scored(
        Context::with_backends(format, request, &backends).unwrap(),
    ));
    let features = report["provenance"]["features"].as_array().unwrap();
    let who = features
        .iter()
        .map(|feature| (&feature["name"], &feature["backend"]));
    let who: Vec<String> = who
        .map(|(feature, backend)| format!("{feature}: {backend}"))
        .collect();
    assert_eq!(
        who,
        [
            "\"edge\": \"edge-c\"",
            "\"edge\": \"edge-c\"",
            "\"psnr\": \"cpu\""
        ]
    );
    assert!(report["frames"][4]["metrics"]["psnr_y"].as_f64().unwrap() > 0.0);
}
