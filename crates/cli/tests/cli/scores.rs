//! What comes out: cuts, threads, subsampling, warnings, known values.

use std::process::Stdio;

use crate::harness::{Clips, csv, json, run, run_line, vmafx, wait};

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

/// Where no feature reads chroma the chroma is passed over, in files and in streams: scores and
/// what the report says of the clip are the same.
#[test]
fn chroma_changes_no_score_of_luma() {
    let clips = Clips::new();
    let part = |report: &serde_json::Value, names: &[&str]| {
        let frames = report["frames"].as_array().unwrap().iter();
        let scores = frames.map(|frame| {
            names
                .iter()
                .map(|name| frame["metrics"][*name].clone())
                .collect()
        });
        (
            scores.collect::<Vec<Vec<_>>>(),
            report["provenance"]["format"].clone(),
        )
    };
    let names = [
        "vmaf",
        "integer_vif_scale0",
        "integer_adm2",
        "integer_motion2",
    ];
    for layout in ["420", "422", "444"] {
        let [reference, distorted] = [("r.y4m", REF), ("d.y4m", DIS)]
            .map(|(name, spec)| clips.make(name, &format!("{spec},chroma={layout}"), 0..9));
        let luma = json(&reference, &distorted, "--precision max");
        let all = json(&reference, &distorted, "--precision max --feature psnr");
        assert!(luma["frames"][0]["metrics"]["psnr_cb"].is_null());
        assert!(all["frames"][0]["metrics"]["psnr_cb"].is_number());
        let (scores, format) = part(&luma, &names);
        assert!(scores.iter().flatten().all(serde_json::Value::is_number));
        assert!(format.as_str().unwrap().contains("4:"), "{format}");
        assert_eq!((scores, format), part(&all, &names));
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
    for range in ["--alignment-range 0", "--alignment_range=1"] {
        let run = run_line(&format!("score {reference} {late} {range}")).ok();
        assert!(!run.stderr.contains("misaligned"), "{}", run.stderr);
    }
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

/// UR-09 and UR-77: full-range content at sizes that fill no vector, with the instructions of
/// this processor, with none of them, and with the level that every processor has.
#[test]
fn ur_09_ur_77_instructions_change_nothing() {
    for (size, depth) in [("130x70", 8), ("67x51", 10), ("98x66", 16)] {
        let shape = format!("size={size},depth={depth},frames=2");
        for (reference, distorted) in [
            (
                format!("synth:checker,k=1,{shape}"),
                format!("synth:checker,k=3,{shape}"),
            ),
            (
                format!("synth:checker,k=8,{shape}"),
                format!("synth:checker,k=8,{shape},dist=shift:1:1+noise:128"),
            ),
            (
                format!("synth:rand,{shape}"),
                format!("synth:rand,{shape},seed=9"),
            ),
        ] {
            let options = "--precision max --feature psnr";
            let fastest = csv(&reference, &distorted, options);
            let masked = csv(&reference, &distorted, &format!("{options} --cpumask -1"));
            assert_eq!(fastest, masked, "{reference}");
            let line = format!("score {reference} {distorted} {options} --csv -o -");
            let mut command = vmafx(&line);
            command.env("VMAFX_CPU_LEVEL", "portable");
            assert_eq!(run(command).ok().stdout, fastest, "{reference}");
        }
    }
    let mut command = vmafx(&format!("score {REF} {DIS}"));
    command.env("VMAFX_CPU_LEVEL", "mmx");
    let text = run(command).fails("backend");
    assert!(
        text.contains("no CPU level `mmx`; the levels are: portable"),
        "{text}"
    );
}

/// UR-38: no finite input gives a score that is not a number.
#[test]
fn ur_38_extremes_have_scores() {
    let scenes = [
        "black",
        "flat,level=0",
        "flat,level=65535",
        "flat,level=33000",
        "checker,k=1",
        "checker,k=9",
        "rand",
        "rand,seed=5",
        "tex",
    ];
    let distortions = [
        "",
        ",dist=noise:1",
        ",dist=noise:128",
        ",dist=add:255",
        ",dist=add:-255",
    ];
    let mut turn = 0;
    for reference in scenes {
        for distorted in scenes {
            // Each depth, length and distortion meets each scene.
            turn += 1;
            let depth = [8, 10, 12, 16][turn % 4];
            let shape = format!("size=66x50,depth={depth},frames={}", 1 + turn % 2);
            let dist = distortions[turn % 5];
            let (reference, distorted) = (
                format!("synth:{reference},{shape}"),
                format!("synth:{distorted},{shape}{dist}"),
            );
            let text = csv(&reference, &distorted, "--feature psnr --precision max");
            let (_, rows) = text.split_once('\n').unwrap();
            for value in rows.split([',', '\n']).filter(|value| !value.is_empty()) {
                let number: f64 = value.parse().unwrap_or(f64::NAN);
                assert!(number.is_finite(), "{reference} {distorted}: {text}");
            }
        }
    }
}

/// UR-51: the planes have scores of their own, and VMAF looks at luma only.
#[test]
fn ur_51_planes_are_apart() {
    let clips = Clips::new();
    let reference = clips.make("r.yuv", REF, 0..2);
    let mut bytes = std::fs::read(&reference).unwrap();
    let (luma, chroma) = (64 * 48, 32 * 24);
    for frame in bytes.chunks_mut(luma + 2 * chroma) {
        frame[luma..luma + chroma]
            .iter_mut()
            .for_each(|sample| *sample ^= 0x40);
        frame[luma + chroma..]
            .iter_mut()
            .for_each(|sample| *sample ^= 1);
    }
    let distorted = clips.write("d.yuv", bytes);
    let raw = "-w 64 -h 48 -p 420 -b 8 --feature psnr";
    let [damaged, whole] = [&distorted, &reference]
        .map(|video| json(&reference, video, raw)["pooled_metrics"].clone());
    assert_eq!(damaged["vmaf"], whole["vmaf"]);
    let psnr = ["psnr_y", "psnr_cb", "psnr_cr"].map(|name| damaged[name]["mean"].as_f64().unwrap());
    // 64 and 1 away everywhere: 20 log10(255 / 64) and 20 log10(255).
    assert_eq!(psnr, [60.0, 12.007204, 48.130804]);
}

/// UR-54: frames that subsampling leaves out are given back, with several threads as well.
#[cfg(target_os = "linux")]
#[test]
fn ur_54_memory_is_flat() {
    use std::io::{BufRead, BufReader, Write};
    const FEW: usize = 240;
    const MANY: usize = 3000;
    // Repeated, it would be 60 MB if every frame were kept.
    let bytes = crate::harness::frames("synth:tex,size=96x96,frames=1", 0..1, true);
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let still = format!("synth:flat,size=96x96,frames={MANY}");
    let mut command = vmafx(&format!(
        "score - {still} --subsample 3 --threads 2 --stream jsonl -q"
    ));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (go_on, wait_for) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        input.write_all(&bytes[..header]).unwrap();
        for number in 0..MANY {
            // The last frame is held back until the second measurement.
            if number == FEW || number == MANY - 1 {
                wait_for.recv().unwrap();
            }
            input.write_all(&bytes[header..]).unwrap();
        }
    });
    let status = format!("/proc/{}/status", child.id());
    let peak = || -> u64 {
        let text = std::fs::read_to_string(&status).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Frames that look ahead leave the last lines pending.
    let mut read = |count: usize| (0..count).for_each(|_| drop(lines.next().unwrap().unwrap()));
    read(FEW / 3 - 2);
    let early = peak();
    go_on.send(()).unwrap();
    read((MANY - FEW) / 3);
    let late = peak();
    go_on.send(()).unwrap();
    assert_eq!(lines.count(), 2);
    writer.join().unwrap();
    assert_eq!(wait(&mut child, "memory").code(), Some(0));
    assert!(
        late < early + 4096,
        "{early} kB after {FEW} frames, {late} kB after {MANY}"
    );
}
