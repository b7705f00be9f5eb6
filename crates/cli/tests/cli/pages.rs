//! Lists, help, manual pages, completions.

use std::process::{Command, Stdio};

use crate::harness::{Clips, run, run_line, vmaf};

/// UR-75: the list shows what runs, and everything listed runs.
#[test]
fn ur_75_listed_features_run() {
    let list: serde_json::Value =
        serde_json::from_str(&run_line("features --json").ok().stdout).unwrap();
    let list = list.as_array().unwrap();
    let names: Vec<_> = list.iter().map(|f| f["name"].as_str().unwrap()).collect();
    for name in ["adm", "motion", "psnr", "vif"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for feature in list {
        let name = feature["name"].as_str().unwrap();
        assert_eq!(feature["devices"][0], "cpu:0", "{name}");
        let synth = "synth:tex,size=256x192,frames=2";
        run_line(&format!("score {synth} {synth} -n --feature {name}")).ok();
        for option in feature["options"].as_array().unwrap() {
            let default = match &option["default"] {
                serde_json::Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let spec = format!("{name}={}={default}", option["name"].as_str().unwrap());
            run_line(&format!("score {synth} {synth} -n --feature {spec}")).ok();
        }
    }
    let text = run_line("features").ok().stdout;
    assert!(
        text.contains("adm_enhn_gain_limit (egl): number 1 to 100, default 100"),
        "{text}"
    );
    assert_eq!(run_line("--list-features").ok().stdout, text);
}

#[test]
fn listed_models_load() {
    let list: serde_json::Value =
        serde_json::from_str(&run_line("models --json").ok().stdout).unwrap();
    let models = list["built_in"].as_array().unwrap();
    assert_eq!(models.len(), 5);
    let synth = "synth:tex,size=64x48,frames=2";
    for model in models {
        let name = model["name"].as_str().unwrap();
        run_line(&format!("score {synth} {synth} -m version={name}")).ok();
    }
    let text = run_line("models").ok().stdout;
    assert!(
        text.contains("vmaf_4k_v0.6.1") && text.contains("3840x2160"),
        "{text}"
    );
}

/// UR-110: version, what is built in, backends and devices.
#[test]
fn ur_110_version_and_backends() {
    let version = run_line("--version").ok().stdout;
    for part in [
        env!("CARGO_PKG_VERSION"),
        "features adm, ",
        "models vmaf_v0.6.1, ",
        "backend cpu",
    ] {
        assert!(version.contains(part), "{part} in {version}");
    }
    assert_eq!(run_line("score --version").ok().stdout, version);
    let upstream = run(vmaf("--version")).ok();
    assert_eq!(upstream.stdout, "");
    assert!(upstream.stderr.contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(run(vmaf("-v")).ok().stderr, upstream.stderr);
    let list: serde_json::Value =
        serde_json::from_str(&run_line("backends --json").ok().stdout).unwrap();
    assert_eq!(list["backends"][0]["name"], "cpu");
    assert_eq!(list["backends"][0]["devices"][0]["name"], "cpu:0");
    assert_eq!(
        run_line("--backends").ok().stdout,
        run_line("backends").ok().stdout
    );
}

#[test]
fn licences() {
    let text = run_line("licences").ok().stdout;
    let first = text.lines().next().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let wanted = format!("vmafx {version}: (Apache-2.0 OR MIT) AND BSD-2-Clause-Patent");
    assert_eq!(first, wanted);
    assert!(text.contains("Copyright (c) 2020 Netflix, Inc."), "{text}");
}

#[test]
fn help_topics() {
    for topic in [
        "",
        "score",
        "features",
        "models",
        "backends",
        "man",
        "completions",
    ] {
        assert!(
            run_line(&format!("help {topic}"))
                .ok()
                .stdout
                .contains("Usage"),
            "{topic}"
        );
    }
    assert!(
        run_line("help values")
            .ok()
            .stdout
            .contains(r"path=C:\models\a.json")
    );
    let text = run_line("help nothing").fails("usage");
    assert!(text.contains("exit-codes"), "{text}");
}

#[test]
fn manual_pages() {
    let page = run_line("man").ok().stdout;
    assert!(
        page.contains(".TH vmafx 1") && page.contains("EXIT STATUS"),
        "{page}"
    );
    let page = run_line("man score").ok().stdout;
    for part in [
        ".TH vmafx-score 1",
        "frame_skip_ref",
        "aom_ctc",
        "EXIT STATUS",
        "internal:",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let clips = Clips::new();
    run_line(&format!("man --all {}", clips.text("pages"))).ok();
    for name in ["vmafx.1", "vmafx-score.1", "vmafx-features.1", "vmaf.1"] {
        assert!(clips.path("pages").join(name).is_file(), "{name}");
    }
    let page = run_line("man vmaf").ok().stdout;
    assert!(
        page.contains(".TH vmaf 1") && page.contains("frame_skip_ref"),
        "{page}"
    );
    assert!(!page.contains("vmafx score"), "{page}");
    run_line("man nothing").fails("usage");
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run_line(&format!("completions {shell}")).ok().stdout;
        assert!(script.contains("frame_skip_dist"), "{shell}");
        assert!(script.contains("licences"), "{shell}");
        let upstream = run_line(&format!("completions {shell} vmaf")).ok().stdout;
        assert!(upstream.contains("frame_skip_dist"), "{shell}");
        assert!(
            upstream.contains("vmaf") && !upstream.contains("licences"),
            "{shell}"
        );
        if shell == "bash" {
            let clips = Clips::new();
            let path = clips.write("vmafx.bash", script);
            let check = Command::new("bash")
                .args(["-n", &path])
                .stderr(Stdio::null())
                .status();
            assert!(check.is_ok_and(|status| status.success()));
        }
    }
}
