//! `vmafx-plugin-check` over libraries: the CPU backend's, and one in C that breaks a rule where
//! it is told to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The library of the CPU backend, which is built with this test: its crate is a dependency.
fn cpu_library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let library = own.with_file_name("libvmafx_backend_cpu.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// The plugin in C, compiled once.
fn c_library() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("plugin.so");
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let compiled = Command::new(std::env::var_os("CC").unwrap_or("cc".into()))
            .args([
                "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I",
            ])
            .arg(own.join("../../include"))
            .arg("-o")
            .arg(&library)
            .arg(own.join("tests/plugin.c"))
            .args(["-lm", "-lpthread"])
            .output()
            .expect("a C compiler, which linking needs, too");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        (folder, library)
    };
    &BUILT.get_or_init(build).1
}

struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run<'a>(defect: &str, arguments: impl IntoIterator<Item = &'a str>, file: &Path) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_vmafx-plugin-check"))
        .env("DEFECT", defect)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Answer {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

#[test]
fn plugins_that_keep_the_rules_pass() {
    for (file, id, version, counts) in [
        (
            cpu_library().as_path(),
            "cpu",
            env!("CARGO_PKG_VERSION"),
            "39 passed, 0 failed, 5 skipped",
        ),
        (
            c_library(),
            "gap-one",
            "0.1.0",
            "37 passed, 0 failed, 7 skipped",
        ),
    ] {
        let answer = run("", [], file);
        println!("{}", answer.out);
        assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
        let first = answer.out.lines().next().unwrap();
        assert!(
            first.starts_with(&format!("backend `{id}` {version} (")),
            "{first}"
        );
        assert_eq!(answer.out.lines().last(), Some(counts), "{}", answer.out);
    }
}

/// Each defect of the plugin in C, the check that has to find it, and a part of the reason.
const FOUND: [(&str, &str, &str); 17] = [
    (
        "writes",
        "frames-unchanged",
        "sample 0 of the distorted frame 0",
    ),
    ("keeps", "frames-given-back", "is still held 1 times"),
    (
        "float-in-open",
        "float-environment",
        "`device_open` changes",
    ),
    (
        "float-in-submit",
        "float-environment",
        "`extractor_submit` changes",
    ),
    (
        "locale",
        "process-untouched",
        "the locale was `C`, is `C.UTF-8`",
    ),
    ("directory", "process-untouched", "the working directory"),
    (
        "variable",
        "process-untouched",
        "the environment's VMAFX_LEFT_BEHIND",
    ),
    ("mask", "process-untouched", "the file mode mask"),
    (
        "signal",
        "process-untouched",
        "SIGSEGV's handling was `a handler at ",
    ),
    ("silent", "refusals-explained", "names no subject"),
    (
        "crash",
        "values-finite",
        "`gap-one` crashed with SIGSEGV during this check",
    ),
    (
        "exit",
        "values-finite",
        "`gap-one` ended the process with status 0 during this check",
    ),
    (
        "hang",
        "values-finite",
        "`gap-one` did not answer within 2 s and was stopped",
    ),
    (
        "abort-at-exit",
        "process-ends",
        "crashed with SIGABRT when the process ended",
    ),
    (
        "no-device",
        "values-finite",
        "no device of the backend is present",
    ),
    (
        "thread",
        "threads-ended",
        "after `quiesce`; join every thread there",
    ),
    ("thread-joined", "threads-ended", ""),
];

#[test]
fn each_defect_is_found_in_a_library() {
    for (defect, check, part) in FOUND {
        // A plan has to be made for its thread to be started, or to be left behind.
        let uses = ["--check", "values-repeat"];
        let timeout = if defect == "hang" { "2" } else { "60" };
        let mut arguments = vec!["--timeout", timeout, "--check", check];
        if ["process-ends", "threads-ended"].contains(&check) {
            arguments.extend(uses);
        }
        let answer = run(defect, arguments, c_library());
        let line = answer.out.lines().find(|line| line[6..].starts_with(check));
        let line = line.unwrap_or_else(|| panic!("{defect}: {}{}", answer.out, answer.err));
        let (word, code) = match defect {
            "no-device" => ("skip", 0),
            "thread" => ("warn", 0),
            "thread-joined" => ("pass", 0),
            _ => ("FAIL", 1),
        };
        assert!(
            line.starts_with(word) && line.contains(part),
            "{defect}: {line}"
        );
        assert_eq!(answer.code, Some(code), "{defect}: {}", answer.out);
    }
}

#[test]
fn after_a_crash_the_other_checks_run() {
    let checks = [
        "version-semantic",
        "values-finite",
        "unknown-feature-refused",
        "process-ends",
    ];
    let arguments = checks.iter().flat_map(|check| ["--check", check]);
    let answer = run("crash", arguments, c_library());
    let words: Vec<_> = answer.out.lines().skip(1).collect();
    assert_eq!(
        words,
        [
            "pass  version-semantic",
            "pass  unknown-feature-refused",
            "FAIL  values-finite: `gap-one` crashed with SIGSEGV during this check",
            "pass  process-ends",
            "3 passed, 1 failed, 0 skipped",
        ]
    );
    let all = run("crash", [], c_library()).out;
    assert_eq!(all.matches("crashed with SIGSEGV").count(), 4, "{all}");
    assert_eq!(
        all.matches("died or hung in 4 checks before").count(),
        24,
        "{all}"
    );
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let c = c_library();
    for (defect, file, part) in [
        (
            "",
            Path::new("/no/such/plugin.so"),
            "refused (library-not-found at open): /no/such/plugin.so does not exist",
        ),
        (
            "",
            Path::new("/no/such/plugin.toml"),
            "refused (not-found at search): ",
        ),
        (
            "",
            Path::new(env!("CARGO_BIN_EXE_vmafx-plugin-check")),
            "it is no plugin of vmafx; export the entry",
        ),
        ("crash-in-entry", c, "refused (crashed at probe): "),
        ("hang-in-entry", c, "refused (timed-out at probe): "),
    ] {
        let timeout = if defect == "hang-in-entry" { "2" } else { "60" };
        let answer = run(defect, ["--timeout", timeout], file);
        assert_eq!(answer.code, Some(3), "{}{}", answer.out, answer.err);
        assert!(answer.out.contains(part), "{}", answer.out);
        assert_eq!(answer.out.lines().count(), 1, "{}", answer.out);
    }
    let json = run("crash-in-entry", ["--json"], c).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["record"]["reason"], "crashed");
    assert_eq!(json["passed"], false);
}

#[test]
fn a_manifest_is_compared_with_its_library() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("cpu.toml");
    let library = cpu_library();
    let write = |version: &str| {
        let text = format!(
            "manifest_version = 1\n[backend]\nid = \"cpu\"\nname = \"CPU\"\n\
             version = \"{version}\"\nlicense = \"Apache-2.0 OR MIT\"\n\
             abi = {{ major = 1, revision = 2 }}\n\
             library = {{ {} = \"{}\" }}\n",
            vmafx_api::loader::platform(),
            library.display()
        );
        std::fs::write(&manifest, text).unwrap();
    };
    let check = ["--check", "manifest-agrees"];
    write(env!("CARGO_PKG_VERSION"));
    let answer = run("", check, &manifest);
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    assert!(
        answer.out.contains("pass  manifest-agrees"),
        "{}",
        answer.out
    );
    write("9.9.9");
    let answer = run("", check, &manifest);
    assert_eq!(answer.code, Some(1), "{}{}", answer.out, answer.err);
    let part =
        "the manifest says version `9.9.9`, the library `0.1.0`: tell whoever made the package";
    assert!(answer.out.contains(part), "{}", answer.out);
}

#[test]
fn every_backend_is_checked_or_the_one_that_is_named() {
    let check = ["--check", "version-semantic", "--json"];
    let ids = |answer: &Answer| {
        let json: Value = serde_json::from_str(&answer.out).unwrap();
        let reports = json["reports"].as_array().unwrap().clone();
        let ids = reports
            .iter()
            .map(|report| report["backend"]["id"].to_string());
        ids.collect::<Vec<_>>()
    };
    let both = run("two", check, c_library());
    assert_eq!(ids(&both), ["\"gap-one\"", "\"gap-two\""]);
    let one = run(
        "two",
        check.into_iter().chain(["--backend", "gap-two"]),
        c_library(),
    );
    assert_eq!(ids(&one), ["\"gap-two\""]);
    let none = run("two", ["--backend", "gap-three"], c_library());
    assert_eq!((none.code, &*none.out), (Some(2), ""));
    assert!(
        none.err
            .contains("has no backend `gap-three`; it has gap-one, gap-two"),
        "{}",
        none.err
    );
}

#[test]
fn the_report_is_json_whatever_the_plugin_prints() {
    let answer = run("prints", ["--json"], c_library());
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    assert!(answer.err.contains("progress: a frame"));
    let report = &json["reports"][0];
    assert_eq!(
        (&json["passed"], &report["counts"]["failed"]),
        (&true.into(), &0.into())
    );
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 44);
    for check in checks {
        let passed = check["outcome"] == "passed";
        assert_eq!(passed, check["reason"].is_null(), "{check}");
        assert!(check["proves"].as_str().unwrap().ends_with('.'), "{check}");
    }
}

#[test]
fn the_command_line_is_checked() {
    let program = || Command::new(env!("CARGO_BIN_EXE_vmafx-plugin-check"));
    let list = program().arg("--list").output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("values-finite\n    Every score"), "{list}");
    assert!(list.contains("threads-ended (advice)\n"), "{list}");
    for arguments in [
        &[][..],
        &["--check", "no-such", "x.so"],
        &["--timeout", "0", "x.so"],
    ] {
        let output = program().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
