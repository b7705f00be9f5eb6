//! Dispatches that get lost or run twice.

use std::path::Path;

use vmafx_api::Status;

use crate::bench::{Bench, Clip, FEATURES, format, plan};
use crate::{Case, FIGURE, GRAPHS, NO_GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "a_dropped_dispatch_is_computed_again",
    children: &[
        child("with graphs", GRAPHS, 300),
        child("without graphs", NO_GRAPHS, 300),
    ],
    run,
};

fn run(room: &Path, how: &str) {
    let bench = Bench::open(room);
    let mut repeats = 0;
    let mut seen = Vec::new();
    // Kernels are of 8-bit samples or of wider ones.
    for depth in [8, 10] {
        let format = format(72, 52, depth);
        let clip = Clip::new(format, &FEATURES, 4);
        let device = bench.device().unwrap();
        let plan = plan(&device, format, &FEATURES).unwrap();
        bench.set("clear_log", "");
        clip.check(&plan, how).unwrap();
        assert_eq!(bench.lines(), Vec::<String>::new());
        let kernels = bench.kernels();
        for kernel in &kernels {
            for (setting, rule) in [("drop", "1"), ("drop", "2:2"), ("double", "1")] {
                bench.set("clear_log", "");
                bench.set(setting, &format!("{kernel}:{rule}"));
                let case = format!("{how}, {depth} bits, {setting} of {kernel} {rule}");
                let before = plan.repeats();
                clip.check(&plan, &case).unwrap();
                bench.set(setting, "");
                let lines = bench.lines();
                repeats += lines.len();
                // Each is counted, and told.
                let counted = plan.repeats() - before;
                assert_eq!(counted, lines.len() as u64, "{case}: {lines:#?}");
                // To begin twice changes nothing.
                let harmless = kernel == "vx_begin" && setting == "double";
                assert!(!lines.is_empty() || harmless, "{case}: nothing was told");
                let blamed = lines.iter().all(|line| {
                    line.contains(" is computed again: ") && line.contains(kernel.as_str())
                });
                assert!(blamed || kernel == "vx_begin", "{case}: {lines:#?}");
                let fate = bench.counts()[&*format!("{}_launches", fated(setting))].clone();
                assert!(fate.as_u64().unwrap() > 0, "{case}");
            }

            bench.set("clear_log", "");
            bench.set("drop", &format!("{kernel}:1:1000000"));
            let error = clip.scored(&plan).unwrap_err();
            bench.set("drop", "");
            let told = format!("{how}, {depth} bits, {kernel} never runs: {error}");
            assert_eq!(error.status, Status::DEVICE, "{told}");
            assert_eq!(error.subject, "dispatch", "{told}");
            assert!(error.message.contains(kernel.as_str()), "{told}");
            assert!(error.message.contains("after 3 repetitions"), "{told}");
            if kernel != "vx_begin" {
                assert!(error.message.contains(" ran 0 of "), "{told}");
            }
            bench.lines();
            // The plan itself is as good as before.
            clip.check(&plan, &told).unwrap();
            assert_eq!(bench.lines(), Vec::<String>::new());
        }
        seen.extend(kernels);
    }
    // One in every few of all launches.
    let format = format(72, 52, 8);
    let clip = Clip::new(format, &FEATURES, 12);
    let device = bench.device().unwrap();
    let plan = plan(&device, format, &FEATURES).unwrap();
    bench.set("drop", "every:37");
    clip.check(&plan, "every 37th launch is lost").unwrap();
    bench.set("drop", "");
    repeats += bench.lines().len();
    seen.sort_unstable();
    seen.dedup();
    println!(
        "{FIGURE}{how}: dispatches of {} kernels lost and doubled, {repeats} frames computed again",
        seen.len()
    );
}

fn fated(setting: &str) -> &str {
    match setting {
        "drop" => "dropped",
        _ => "doubled",
    }
}
