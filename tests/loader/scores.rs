//! The sound plugins score: in C, C++ and Rust, by every compiler, with the same bits, through
//! the engine and into its report.

use std::path::Path;

use vmafx_api::loader::Loader;
use vmafx_api::{FrameFormat, HostFrame, Samples};
use vmafx_engine::{Context, FeatureCatalog, OutputFormat, Precision, Request};

use crate::rig::{assert_loaded, format, frame, install, machine, probe};
use crate::workshop::{C, CPP, Workshop};
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
        let library = match id {
            &"edge-c" => workshop.outside(C[place], "c/edge.c"),
            &"edge-cpp" => workshop.outside(CPP[place - 2], "cpp/edge.cpp"),
            _ => workshop.rust("edge_rust"),
        };
        install(&room.join(name), "plugin", id, &library);
        if !name.contains("clang") {
            install(&room.join("all"), id, id, &library);
        }
    }
    let names = BACKENDS.iter().map(|(name, _)| *name);
    names.chain(["all"]).map(Child::new).collect()
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
        now.iter().zip(&before).map(|(a, b)| a.abs_diff(*b)).collect()
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
    let loaded = Loader::new(machine(&room.join(name))).with_probe(probe()).load();
    let ids: Vec<&str> = loaded.backends.iter().map(|backend| backend.id()).collect();
    if name == "all" {
        assert_eq!(ids, ["edge-c", "edge-cpp", "edge-rust"]);
    } else {
        assert_loaded(&loaded.records, "plugin");
    }
    let backends: Vec<_> = loaded.backends.iter().map(|loaded| loaded.backend.clone()).collect();
    // Three that describe the same feature alike do not stand in one another's way.
    let (catalog, warnings) = FeatureCatalog::new(&backends);
    assert_eq!(warnings, []);
    for id in ids {
        for format in [format(33, 17, 8), format(64, 9, 10), format(2, 2, 16), format(70, 41, 12)] {
            for threads in [1, 4] {
                let mut request = Request::default();
                let weight = WEIGHT.to_string();
                let weighted = [("w", weight.as_str())];
                request.features.push(catalog.feature("edge", []).unwrap());
                request.features.push(catalog.feature("edge", weighted).unwrap());
                if id == "edge-cpp" {
                    request.features.push(catalog.feature("edge_change", []).unwrap());
                }
                request.threads = threads;
                request.device = Some(id.to_owned());
                let mut context = Context::with_backends(format, request, &backends).unwrap();
                for t in 0..FRAMES {
                    context.submit(frame(format, t, false), frame(format, t, true)).unwrap();
                }
                let outcome = context.finish().unwrap();
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
                let mut report = Vec::new();
                outcome.write(OutputFormat::Json, Precision::default(), &mut report).unwrap();
                let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
                let first = &report["frames"][0]["metrics"]["edge_w_3"];
                let wanted = defined(format, 0, WEIGHT).0;
                assert!((first.as_f64().unwrap() - wanted).abs() < 1e-4, "{first} {wanted}");
                for feature in report["provenance"]["features"].as_array().unwrap() {
                    assert_eq!(feature["backend"], id);
                    assert_eq!(feature["backend_version"], "1.2.0");
                    let library = feature["library"].as_str().unwrap();
                    assert!(library.ends_with(".so"), "{library}");
                }
            }
        }
    }
    checked(Checked::Scored, name);
}
