//! What comes out: cuts, threads, subsampling, warnings, known values.

use crate::harness::{Clips, csv, json, run_line};

const REF: &str = "synth:tex,size=64x48,frames=9,cut=5";
const DIS: &str = "synth:tex,size=64x48,frames=9,cut=5,dist=blur:1+noise:3";

/// UR-29: skipping and counting equal cutting the files beforehand, motion included.
#[test]
fn ur_29_skips_equal_cut_files() {
    let clips = Clips::new();
    let reference = clips.make("r.y4m", REF, 0..9);
    let distorted = clips.make("d.y4m", DIS, 0..9);
    for (skip_ref, skip_dist, count) in [(0, 0, 4), (3, 3, 4), (2, 4, 5), (5, 0, 2), (8, 8, 1)] {
        let cut_ref = clips.make("cr.y4m", REF, skip_ref..skip_ref + count);
        let cut_dist = clips.make("cd.y4m", DIS, skip_dist..skip_dist + count);
        let options = format!(
            "--frame_skip_ref {skip_ref} --frame_skip_dist {skip_dist} --frame_cnt {count}"
        );
        let wanted = csv(&cut_ref, &cut_dist, "--feature psnr");
        let got = csv(&reference, &distorted, &format!("{options} --feature psnr"));
        assert_eq!(got, wanted, "{options}");
        assert_eq!(got.lines().count() as u64, count + 1);
    }
    // Without a count, to the end of both.
    let whole = csv(
        &reference,
        &distorted,
        "--frame_skip_ref 0x2 --frame_skip_dist 02",
    );
    let cut = csv(
        &clips.make("cr.y4m", REF, 2..9),
        &clips.make("cd.y4m", DIS, 2..9),
        "",
    );
    assert_eq!(whole, cut);
    let text = run_line(&format!(
        "score {reference} {distorted} --frame_skip_ref 10"
    ));
    let text = text.fails("input");
    assert!(text.contains("9") && text.contains("10"), "{text}");
}

/// UR-58 and UR-31: no score depends on threads or on the run.
#[test]
fn ur_31_ur_58_threads_change_nothing() {
    let report = |options: &str| {
        let mut report = json(
            REF,
            DIS,
            &format!("{options} --precision max --feature psnr"),
        );
        report["fps"] = serde_json::Value::Null;
        report
    };
    let wanted = report("--threads 1");
    for options in [
        "",
        "--threads 0",
        "--threads 2",
        "--threads 3",
        "--threads 7",
    ] {
        assert_eq!(report(options), wanted, "{options}");
    }
}

/// UR-55: frames are left out, motion is not; even steps are warned of.
#[test]
fn ur_55_subsampling() {
    let rows = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let all = rows(csv(REF, DIS, ""));
    for step in [2, 3, 4, 20] {
        let some = rows(csv(REF, DIS, &format!("--subsample {step}")));
        let wanted: Vec<_> = all[1..].iter().step_by(step).collect();
        assert_eq!(some[1..].iter().collect::<Vec<_>>(), wanted, "step {step}");
    }
    let warns = |step| {
        let run = run_line(&format!("score {REF} {DIS} --subsample {step}")).ok();
        run.stderr.contains("warning[even-subsample]")
    };
    assert!(warns(2) && !warns(3) && !warns(1) && !warns(0));
    let report = json(REF, DIS, "--subsample 3");
    let counts = &report["provenance"]["frames"];
    assert_eq!((&counts["read"], &counts["scored"]), (&9.into(), &3.into()));
}

/// UR-32: a shift between the videos is told, with its size, and nothing is shifted.
#[test]
fn ur_32_misalignment_is_told() {
    let long = "synth:tex,size=128x96,frames=16,px=5,py=3";
    let clips = Clips::new();
    let reference = clips.make("r.y4m", long, 0..12);
    let late = clips.make("d.y4m", long, 2..14);
    let run = run_line(&format!("score {reference} {late}")).ok();
    assert!(run.stderr.contains("warning[misaligned]"), "{}", run.stderr);
    assert!(run.stderr.contains("2 frames"), "{}", run.stderr);
    let run = run_line(&format!("score {reference} {late} --alignment_range 0"));
    assert_eq!(run.code, Some(1));
    let run = run_line(&format!("score {reference} {late} --alignment-range 0")).ok();
    assert!(!run.stderr.contains("misaligned"), "{}", run.stderr);
    let run = run_line(&format!("score {reference} {reference}")).ok();
    assert!(!run.stderr.contains("misaligned"), "{}", run.stderr);
}

/// UR-35, UR-41, UR-42: identical videos.
#[test]
fn ur_35_ur_41_ur_42_identical_videos() {
    for (depth, cap) in [(8, 60.0), (10, 72.0), (12, 84.0), (16, 108.0)] {
        let synth = format!("synth:tex,size=64x48,depth={depth},frames=2");
        let report = json(&synth, &synth, "--feature psnr");
        let pooled = &report["pooled_metrics"];
        for plane in ["psnr_y", "psnr_cb", "psnr_cr"] {
            assert_eq!(pooled[plane]["mean"], cap, "{depth} bits, {plane}");
        }
        // The first frame has no motion.
        assert_eq!(report["frames"][0]["metrics"]["integer_motion2"], 0.0);
    }
    let still = "synth:tex,size=64x48,frames=2,hold=2";
    let report = json(still, still, "");
    // As upstream: not 100, because nothing moves.
    let score = report["pooled_metrics"]["vmaf"]["mean"].as_f64().unwrap();
    assert!((97.428..97.429).contains(&score), "{score}");
}

/// UR-78: the screen that a model was made for is told and compared.
#[test]
fn ur_78_viewing_is_told() {
    let small = "synth:tex,size=854x480,frames=1";
    let run = run_line(&format!("score {small} {small}")).ok();
    assert!(run.stderr.contains("made for 1920x1080"), "{}", run.stderr);
    assert!(run.stderr.contains("warning[model-size]"), "{}", run.stderr);
    let full = "synth:flat,size=1920x1080,frames=1";
    let run = run_line(&format!("score {full} {full}")).ok();
    assert!(!run.stderr.contains("model-size"), "{}", run.stderr);
    let run = run_line(&format!("score {full} {full} -m version=vmaf_4k_v0.6.1")).ok();
    assert!(run.stderr.contains("warning[model-size]"), "{}", run.stderr);
}

/// PQ and HLG are told.
#[test]
fn high_dynamic_range_is_told() {
    let clips = Clips::new();
    let bytes = crate::harness::frames(REF, 0..2, true);
    let tagged = String::from_utf8_lossy(&bytes[..20]).into_owned();
    assert!(tagged.starts_with("YUV4MPEG2 W64 H48"));
    let mut hdr = b"YUV4MPEG2 XCOLORTRC=smpte2084".to_vec();
    hdr.extend_from_slice(&bytes[9..]);
    let hdr = clips.write("hdr.y4m", hdr);
    let run = run_line(&format!("score {hdr} {hdr}")).ok();
    assert!(
        run.stderr.contains("standard dynamic range"),
        "{}",
        run.stderr
    );
}

/// UR-36: depths that a metric is not defined for are refused at the start.
#[test]
fn ur_36_depths() {
    let synth = "synth:tex,size=64x48,depth=9,frames=2";
    let run = run_line(&format!("score {synth} {synth} -n --feature psnr"));
    if run.code != Some(0) {
        let text = run.fails("model");
        assert!(text.contains("psnr") && text.contains('9'), "{text}");
    }
}
