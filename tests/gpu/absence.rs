//! A machine without a GPU, without a runtime, without a plugin's file: told in a line where it
//! matters, and nothing else changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command::{Installed, ended, simulated};
use crate::packages::COMMAND;
use crate::{Case, FIGURE, GRAPHS, child};

pub(crate) const CASE: Case = Case {
    name: "without_a_gpu",
    children: &[child("", GRAPHS, 120)],
    run,
};

/// The runtime that Debian ships, version 5.2.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";
/// Exit status where a backend is at fault.
const BACKEND: i32 = 5;

fn run(room: &Path, _: &str) {
    let machine = Installed::at(room);
    let (absent, simulated) = (machine.path("nothing/libamdhip64.so"), simulated());
    reasons(&machine, &absent, &simulated);
    the_cpu_says_nothing(&machine, &simulated);
    plugins_are_apart(&machine, &absent);
    nothing_is_linked(&machine);
}

/// Asking for the device ends with one line; the list of backends tells the same as a fact.
fn reasons(machine: &Installed, absent: &Path, simulated: &Path) {
    let mut cases = vec![
        (absent, "", "the HIP runtime of ROCm cannot be loaded: "),
        (simulated, "0", "version 7.2 ("),
    ];
    let debian = Path::new(DEBIAN);
    match debian.exists() && !Path::new("/dev/kfd").exists() {
        true => cases.push((debian, "", "version 5.2 (")),
        false => println!("{FIGURE}not run with Debian's runtime: no {DEBIAN}, or a GPU is there"),
    }
    for (runtime, devices, part) in cases {
        let with = |arguments: &str| {
            let mut command = machine.vmafx(arguments, runtime);
            if !devices.is_empty() {
                command.env("VMAFX_HIPSIM_DEVICES", devices);
            }
            ended(&mut command)
        };
        let scored = with(&format!("{} --backend hip", score()));
        assert_eq!(scored.code, Some(BACKEND), "{}", scored.stderr);
        assert_eq!(scored.stdout, "");
        assert_eq!(scored.stderr.lines().count(), 1, "{}", scored.stderr);
        let said = scored.stderr.trim();
        assert!(said.starts_with("vmafx: error[backend]: "), "{said}");
        assert!(said.contains(part), "{part}: {said}");
        if runtime != absent {
            assert!(said.contains("shows no GPU"), "{said}");
        }
        println!("{FIGURE}{said}");

        let explained = with("backends --explain").well();
        let lines: Vec<_> = explained.stdout.lines().collect();
        let hip = lines
            .iter()
            .filter(|line| line.trim_start().starts_with("hip"));
        let hip: Vec<_> = hip.collect();
        assert!(!hip.is_empty(), "{}", explained.stdout);
        assert!(hip[0].starts_with("hip: loaded: "), "{}", hip[0]);
        assert!(explained.stdout.contains(part), "{}", explained.stdout);
        assert_eq!(explained.stderr, "");
    }
}

fn score() -> &'static str {
    "score synth:tex177_8_codec/ref synth:tex177_8_codec/dis --frame_cnt 2 --feature psnr \
     --no_prediction -q"
}

/// A report of the CPU without anything about what is not there.
fn report(machine: &Installed, runtime: &Path, more: &str) -> Value {
    let file = machine.path("report.json");
    let line = format!("{} {more} --json -o {}", score(), file.display());
    let mut command = machine.vmafx(&line, runtime);
    // The runtimes are there, or not, as on any machine: a variable that names none is a mistake
    // that is worth a warning.
    command
        .env_remove("VMAFX_CUDA_LIBRARY")
        .env("VMAFX_HIPSIM_DEVICES", "0");
    let ended = ended(&mut command).well();
    assert_eq!((&*ended.stdout, &*ended.stderr), ("", ""));
    let mut report: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert!(report.as_object_mut().unwrap().remove("fps").is_some());
    report
}

/// A run that asks for no backend has no word about a GPU that is not there.
fn the_cpu_says_nothing(machine: &Installed, simulated: &Path) {
    let report = report(machine, simulated, "");
    let provenance = &report["provenance"];
    assert_eq!(provenance["warnings"], Value::Array(Vec::new()));
    if !Path::new("/dev/nvidiactl").exists() {
        assert_eq!(provenance["features"][0]["backend"], "cpu");
    }
}

/// A plugin's file that goes takes nothing away from the others.
fn plugins_are_apart(machine: &Installed, absent: &Path) {
    let explain = || {
        let explained = machine.run("backends --explain", absent).well();
        let of = |id: &str| {
            let lines = explained.stdout.lines();
            let lines = lines.filter(|line| line.trim_start().starts_with(id));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        (of("hip"), of("cuda"), of("cpu"))
    };
    let whole = explain();
    for lines in [&whole.0, &whole.1, &whole.2] {
        assert!(lines[0].contains(": loaded: "), "{lines:?}");
    }
    let scored = report(machine, absent, "--backend cpu");
    let aside = machine.path("aside");
    for (plugin, file) in [
        ("hip", machine.library("hip")),
        ("cuda", machine.library("cuda")),
        ("hip", machine.manifest("hip")),
        ("cuda", machine.manifest("cuda")),
    ] {
        fs::rename(&file, &aside).unwrap();
        let now = explain();
        let named = file.extension().unwrap() == "so";
        let (gone, other, was) = match plugin {
            "hip" => (&now.0, &now.1, &whole.1),
            _ => (&now.1, &now.0, &whole.0),
        };
        assert_eq!(other, was, "without {}", file.display());
        assert_eq!(now.2, whole.2, "without {}", file.display());
        // A manifest without its library is told of; without a manifest there is no plugin.
        match named {
            true => assert!(
                gone[0].contains("no-such-file") || gone[0].contains("refused"),
                "{gone:?}"
            ),
            false => assert_eq!(gone.len(), 0, "{gone:?}"),
        }
        assert_eq!(report(machine, absent, "--backend cpu"), scored);
        fs::rename(&aside, &file).unwrap();
    }
    assert_eq!(explain(), whole);
}

/// Neither the command nor a plugin needs a vendor's library, nor anything that such a one needs.
fn nothing_is_linked(machine: &Installed) {
    let files: [PathBuf; 3] = [
        machine.path(COMMAND),
        machine.library("hip"),
        machine.library("cuda"),
    ];
    for file in files {
        let linked = ended(Command::new("ldd").arg(&file)).well().stdout;
        let names: Vec<&str> = linked
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        for name in &names {
            let base = name.rsplit('/').next().unwrap();
            let known = [
                "linux-vdso.so",
                "libc.so",
                "libm.so",
                "libgcc_s.so",
                "ld-linux",
                "libpthread.so",
                "libdl.so",
                "librt.so",
            ];
            assert!(
                known.iter().any(|known| base.starts_with(known)),
                "{}: {names:?}",
                file.display()
            );
        }
        println!(
            "{FIGURE}{} needs {}",
            file.file_name().unwrap().display(),
            names.join(", ")
        );
    }
}
