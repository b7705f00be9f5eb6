//! Options: upstream's list, values, models and presets, exit codes.

use crate::harness::{Clips, csv, json, run, run_line, vmaf, vmafx, with};

const REF: &str = "synth:tex,size=64x48,frames=3";
const DIS: &str = "synth:tex,size=64x48,frames=3,dist=blur:1+noise:3";

/// Every option of upstream's tool with a value of the right form.
const UPSTREAM: &[(&str, Option<&str>)] = &[
    ("--width", Some("64")),
    ("--height", Some("48")),
    ("--pixel_format", Some("420")),
    ("--bitdepth", Some("8")),
    ("--model", Some("version=vmaf_v0.6.1")),
    ("--output", Some("-")),
    ("--xml", None),
    ("--json", None),
    ("--csv", None),
    ("--sub", None),
    ("--threads", Some("2")),
    ("--feature", Some("psnr")),
    ("--subsample", Some("1")),
    ("--cpumask", Some("-1")),
    ("--gpumask", Some("1")),
    ("--frame_cnt", Some("2")),
    ("--frame_skip_ref", Some("0")),
    ("--frame_skip_dist", Some("0")),
    ("--no_prediction", None),
    ("--quiet", None),
];

#[test]
fn every_upstream_option_is_taken_under_both_names() {
    let clips = Clips::new();
    let (reference, distorted) = (
        clips.make("r.yuv", REF, 0..3),
        clips.make("d.yuv", DIS, 0..3),
    );
    let videos = ["--reference", &reference, "--distorted", &distorted];
    let options = UPSTREAM
        .iter()
        .flat_map(|(name, value)| [Some(*name), *value]);
    let options: Vec<_> = videos.into_iter().chain(options.flatten()).collect();
    let ours = run(with(vmafx("score"), &options)).ok();
    let theirs = run(with(vmaf(""), &options)).ok();
    // --sub is the last format. The features of the model come first, for it is given first.
    let wanted = run_line(&format!(
        "score {REF} {DIS} -n -m vmaf_v0.6.1 --feature psnr --sub -o - --frame_cnt 2"
    ));
    let wanted = wanted.ok().stdout;
    let names = wanted.lines().next().unwrap().split('|');
    let names: Vec<_> = names
        .map(|field| field.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        names.join(" "),
        "{0}{1}frame integer_adm2 integer_aim integer_adm3 integer_adm_scale0 integer_adm_scale1 \
         integer_adm_scale2 integer_adm_scale3 VMAF_integer_feature_motion_sad_score \
         integer_vif_scale0 integer_vif_scale1 integer_vif_scale2 integer_vif_scale3 psnr_y \
         psnr_cb psnr_cr integer_motion2 integer_motion3 "
    );
    assert_eq!(ours.stdout, wanted);
    assert_eq!(theirs.stdout, wanted);
    assert_eq!(wanted.lines().count(), 2);

    let short = format!("-r {reference} -d {distorted} -w 64 -h 48 -p 420 -b 8 -nq --feature psnr");
    let short = run(with(vmaf(&short), ["--csv", "-o", "-"])).ok();
    assert!(
        short
            .stdout
            .starts_with("Frame,psnr_y,psnr_cb,psnr_cr,\n0,"),
        "{}",
        short.stdout
    );
}

#[test]
fn help_names_every_option() {
    let help = run_line("score --help").ok().stdout;
    for (name, _) in UPSTREAM.iter().chain(&[
        ("--reference", None),
        ("--distorted", None),
        ("--aom_ctc", None),
        ("--nflx_ctc", None),
        ("--version", None),
        ("--precision", None),
        ("--pool", None),
        ("--stream", None),
        ("--plot", None),
        ("--backend", None),
        ("--allow-unequal", None),
        ("--interlaced-as-frames", None),
        ("--alignment-range", None),
        ("--note", None),
    ]) {
        assert!(help.contains(name), "{name} in {help}");
    }
    assert_eq!(
        run(vmaf("--help")).ok().stdout.lines().next(),
        help.lines().next().map(|_| {
            "Scores a distorted video against its reference, with the options of Netflix's vmaf"
        })
    );
    assert!(run_line("--help").ok().stdout.contains("Exit codes:"));
}

/// UR-71: the table of exit codes, one line each.
#[test]
fn ur_71_exit_codes_tell_the_class() {
    let clips = Clips::new();
    let damaged = clips.write(
        "damaged.y4m",
        "YUV4MPEG2 W64 H48 F25:1 Ip C420\nFRAME\nshort",
    );
    let pair = format!("{REF} {DIS}");
    for (class, line, part) in [
        ("usage", format!("score {pair} --bogus"), "'--bogus'"),
        ("usage", format!("score {pair} -c 1"), "'-c'"),
        ("usage", format!("score {pair} extra"), "'extra'"),
        (
            "usage",
            format!("score {REF}"),
            "distorted video is missing",
        ),
        (
            "usage",
            format!("score {pair} --threads two"),
            "`two` is not a whole number",
        ),
        (
            "usage",
            format!("score {pair} -w 64"),
            "--height, --pixel_format, --bitdepth",
        ),
        ("usage", format!("score {pair} -n"), "nothing to compute"),
        (
            "usage",
            format!("score {pair} -m version=a:b"),
            "`b` is not key=value",
        ),
        ("usage", format!("score {pair} --aom_ctc v0.9"), "v1.0"),
        (
            "usage",
            format!("score {pair} --plot a.png"),
            ".svg or .html",
        ),
        (
            "usage",
            format!("score {pair} --stream jsonl -o -"),
            "two outputs go to standard output",
        ),
        (
            "usage",
            format!("score {pair} --backend hip --gpumask 1"),
            "--gpumask 1",
        ),
        (
            "input",
            format!("score {REF} /dev/null/a.y4m"),
            "/dev/null/a.y4m",
        ),
        (
            "input",
            format!("score {REF} {damaged}"),
            "damaged.y4m ends within frame 0",
        ),
        (
            "input",
            format!("score {REF} synth:tex,size=66x48,frames=3"),
            "66x48",
        ),
        (
            "model",
            format!("score {pair} -m version=vmaf_v9"),
            "vmaf_v9",
        ),
        (
            "model",
            format!("score {pair} -m path=/dev/null/model.json"),
            "/dev/null/model.json",
        ),
        (
            "model",
            format!("score {pair} --feature ssim"),
            "there is no feature `ssim`",
        ),
        (
            "model",
            format!("score {pair} --feature psnr=bogus=1"),
            "no option `bogus`",
        ),
        (
            "model",
            format!("score {pair} --feature psnr=min_sse=-1"),
            "-1 is outside 0",
        ),
        (
            "model",
            format!("score {pair} --feature psnr=enable_mse=1"),
            "`true` or `false`",
        ),
        (
            "model",
            format!("score {pair} -m vmaf_v0.6.1:cambi.topk=1"),
            "cambi",
        ),
        (
            "output",
            format!("score {pair} -o /dev/null/report.json"),
            "/dev/null/report.json",
        ),
        (
            "output",
            format!("score {pair} -o {}", clips.text("")),
            "is a folder",
        ),
        ("backend", format!("score {pair} --backend hip"), "hip"),
    ] {
        let text = run_line(&line).fails(class);
        assert!(text.contains(part), "{line}\n{text}");
    }
    let codes = run_line("help exit-codes").ok().stdout;
    for code in [
        "   0  success",
        "   1  usage",
        "   2  input",
        "   3  model",
        "   4  output",
    ] {
        assert!(codes.contains(code), "{codes}");
    }
    assert!(
        codes.contains("   5  backend") && codes.contains("  70  internal"),
        "{codes}"
    );
}

/// UR-68: `-c`, which upstream takes and drops, is refused; a mask that contradicts another
/// option is refused, too.
#[test]
fn ur_68_every_accepted_option_acts() {
    run(vmaf(&format!("-r {REF} -d {DIS} -c 1"))).fails("usage");
    let error = run(vmafx(&format!("score {REF} {DIS} --json"))).fails("usage");
    assert!(
        error.contains("`--json` is the form of a report"),
        "{error}"
    );
    let report = json(REF, DIS, "--cpumask -1 --gpumask 3");
    let options = report["provenance"]["options"].as_array().unwrap();
    let names: Vec<_> = options
        .iter()
        .map(|option| option["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["cpumask", "gpumask"]);
    // One spelling each, that of the help, whichever was typed.
    let typed = "--alignment_range 3 --frame-cnt 2 --pool p5,median --threads 2 --no-prediction \
                 --allow_unequal -m vmaf_v0.6.1";
    let options = &json(REF, DIS, typed)["provenance"]["options"];
    let options: Vec<_> = options
        .as_array()
        .unwrap()
        .iter()
        .map(|option| {
            let text = |key: &str| option[key].as_str().unwrap().to_owned();
            format!("{}={}", text("name"), text("value"))
        })
        .collect();
    assert_eq!(
        options,
        [
            "frame_cnt=2",
            "allow-unequal=true",
            "no_prediction=true",
            "alignment-range=3",
            "pool=p5,median"
        ]
    );
    let feature = &report["provenance"]["features"][0];
    assert_eq!(
        (&feature["backend"], &feature["isa"]),
        (&"cpu".into(), &"portable".into())
    );
    let clip = run_line(&format!(
        "score {REF} {DIS} -m vmaf_4k_v0.6.1:enable_transform"
    ))
    .ok();
    assert!(
        clip.stderr.contains("enable_transform has no effect"),
        "{}",
        clip.stderr
    );
}

/// UR-63: colons in paths.
#[test]
fn ur_63_paths_with_colons() {
    let text = run_line(&format!(
        "score {REF} {DIS} --model path=C:\\x\\y.json:name=a"
    ));
    let text = text.fails("model");
    assert!(text.contains(r"C:\x\y.json"), "{text}");
    let text = run_line(&format!("score {REF} {DIS} --model path=C:y.json:name=a"));
    let text = text.fails("usage");
    assert!(
        text.contains("read as path=`C`, `y.json`, name=`a`"),
        "{text}"
    );
    let quoted = with(
        vmafx("score"),
        [REF, DIS, "--model", "path=\"/no:such = file\":name=a"],
    );
    let text = run(quoted).fails("model");
    assert!(text.contains("/no:such = file"), "{text}");
}

#[test]
fn models_are_named_and_overridden() {
    let both = "-m version=vmaf_v0.6.1:name=a -m version=vmaf_v0.6.1neg:name=b";
    let report = json(REF, DIS, both);
    let metrics = report["frames"][0]["metrics"].as_object().unwrap();
    let keys: Vec<_> = metrics.keys().map(String::as_str).collect();
    assert_eq!(keys[keys.len() - 2..], ["a", "b"]);
    let text = run_line(&format!(
        "score {REF} {DIS} -m vmaf_v0.6.1 -m vmaf_4k_v0.6.1"
    ));
    assert!(text.fails("usage").contains("two models are named `vmaf`"));

    // The override makes the plain model the NEG one, but for its own SVM, which is the same.
    let gain = "version=vmaf_v0.6.1:vif.vif_enhn_gain_limit=1.0:adm.adm_enhn_gain_limit=1";
    let sharp = "synth:tex,size=64x48,frames=3,dist=sharp:4";
    let forced = json(REF, sharp, &format!("-m {gain}"));
    let neg = json(REF, sharp, "-m version=vmaf_v0.6.1neg");
    let plain = json(REF, sharp, "");
    assert_eq!(
        forced["pooled_metrics"]["vmaf"],
        neg["pooled_metrics"]["vmaf"]
    );
    assert_ne!(
        forced["pooled_metrics"]["vmaf"],
        plain["pooled_metrics"]["vmaf"]
    );
    assert!(forced["frames"][0]["metrics"]["integer_vif_scale0_egl_1"].is_number());
}

#[test]
fn phone_score_and_open_range() {
    let blurred = "synth:tex,size=64x48,frames=3,dist=blur:2";
    let mean = |options: &str| {
        json(REF, blurred, options)["pooled_metrics"]["vmaf"]["mean"]
            .as_f64()
            .unwrap()
    };
    let plain = mean("");
    assert!(mean("-m version=vmaf_v0.6.1:enable_transform") > plain + 1.0);
    assert_eq!(mean("-m version=vmaf_v0.6.1:enable_transform=false"), plain);
    let sharp = "synth:tex,size=64x48,frames=3,dist=sharp:4+gain:20";
    let highest = |options: &str| {
        json(REF, sharp, options)["pooled_metrics"]["vmaf"]["max"]
            .as_f64()
            .unwrap()
    };
    assert_eq!(highest(""), 100.0);
    assert!(highest("-m version=vmaf_v0.6.1:disable_clip") > 110.0);
}

#[test]
fn no_prediction_keeps_the_models_features() {
    let names = csv(REF, DIS, "-n -m version=vmaf_v0.6.1 --feature psnr");
    let names = names.lines().next().unwrap();
    assert!(
        names.starts_with("Frame,integer_adm2,") && names.contains("psnr_y"),
        "{names}"
    );
    assert!(
        names.contains("integer_motion2") && !names.contains("vmaf,"),
        "{names}"
    );
    assert_eq!(
        csv(REF, DIS, "-n --feature psnr").lines().next(),
        Some("Frame,psnr_y,psnr_cb,psnr_cr,")
    );
}

/// Presets with metrics that this version lacks are refused by name, with all of them.
#[test]
fn presets_name_what_is_missing() {
    for (option, part) in [
        (
            "--aom_ctc v1.0",
            "--aom_ctc v1.0 needs ciede, float_ssim, float_ms_ssim, psnr_hvs, which",
        ),
        (
            "--aom_ctc v7.0",
            "psnr_hvs, cambi, which this build does not have",
        ),
        (
            "--nflx_ctc v1.0",
            "--nflx_ctc v1.0 needs float_ssim, cambi, which",
        ),
    ] {
        let text = run_line(&format!("score {REF} {DIS} {option}")).fails("model");
        assert!(text.contains(part), "{text}");
    }
    let text = run_line(&format!("score {REF} {DIS} --aom_ctc proposed")).fails("usage");
    assert!(text.contains("withdrawn"), "{text}");
}

#[test]
fn feature_options_by_name_and_alias() {
    let report = json(REF, DIS, "-n --feature motion=mbf=0.5:motion_max_val=12");
    let metrics = report["frames"][1]["metrics"].as_object().unwrap();
    assert!(
        metrics.contains_key("integer_motion3_mbf_0.5_mmxv_12"),
        "{metrics:?}"
    );
    let report = json(
        REF,
        DIS,
        "-n --feature psnr=enable_apsnr=true:enable_mse=true",
    );
    assert!(report["aggregate_metrics"]["apsnr_y"].is_number());
    assert!(report["frames"][0]["metrics"]["mse_cb"].is_number());
}
