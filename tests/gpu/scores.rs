//! The command's report over the plugin, beside that of the CPU.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{Installed, simulated};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "scores_equal_the_cpu",
    children: &[
        child("tex177_8_codec", GRAPHS, 300),
        child("tex352_10_420", GRAPHS, 300),
        child("tex177_8_codec", NO_GRAPHS, 300),
    ],
    run,
};

const FRAMES: usize = 12;
const MODELS: [&str; 2] = ["vmaf_v0.6.1:name=vmaf", "vmaf_v0.6.1neg:name=neg"];

fn run(room: &Path, clip: &str) {
    let machine = Installed::at(room);
    let report = |backend: &str, threads: u32| {
        let file = machine.path(&format!("{backend}-{threads}.json"));
        let models = MODELS.map(|model| format!("--model version={model}"));
        let line = format!(
            "score synth:{clip}/ref synth:{clip}/dis --frame_cnt {FRAMES} {} --feature psnr \
             --feature motion_v2 --threads {threads} --backend {backend} --precision max -q --json \
             -o {}",
            models.join(" "),
            file.display()
        );
        machine.run(&line, &simulated()).well();
        serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap()
    };
    let (cpu, of_cpu) = apart(report("cpu", 1), "cpu");
    assert_eq!(cpu["frames"].as_array().unwrap().len(), FRAMES);
    let mut scores = 0;
    for frame in cpu["frames"].as_array().unwrap() {
        scores += frame["metrics"].as_object().unwrap().len();
    }
    for model in ["vmaf", "neg"] {
        let score = &cpu["frames"][0]["metrics"][model];
        assert!(score.is_f64(), "{model}: {score}");
    }
    for threads in [1, 3] {
        let (hip, of_hip) = apart(report("hip", threads), "hip");
        assert_eq!(hip, cpu, "{clip}, {threads} threads");
        assert_eq!(of_hip, of_cpu, "{clip}, {threads} threads");
    }
    println!(
        "{FIGURE}{clip}: {scores} scores of {FRAMES} frames and their pools equal in every digit, 1 and 3 threads"
    );
}

/// A report without what tells of time and machine, and the features that it tells of. All of
/// them were computed by `backend`.
fn apart(mut report: Value, backend: &str) -> (Value, Vec<String>) {
    let fields = report.as_object_mut().unwrap();
    assert!(fields.remove("fps").is_some());
    let provenance = fields.remove("provenance").unwrap();
    let features = provenance["features"].as_array().unwrap();
    let features = features.iter().map(|feature| {
        assert_eq!(feature["backend"], backend, "{feature}");
        let library = feature["library"].as_str().unwrap();
        let named = library.ends_with("/libvmafx_backend_hip.so");
        assert_eq!(named, backend == "hip", "{library}");
        feature["name"].to_string()
    });
    let features = features.collect();
    // That the models are for larger pictures is all there is to say.
    for warning in provenance["warnings"].as_array().unwrap() {
        assert_eq!(warning["code"], "model-size", "{warning}");
    }
    (report, features)
}
