//! Plugins that do something to their process: hang, crash, end it, change how it computes.
//!
//! They are tried in a child process first, as programs do, and that is where it happens.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use vmafx_api::loader::{Loader, Reason, Stage};

use crate::rig::{self, assert_loaded, assert_refused, install, machine};
use crate::workshop::{C, CPP, Workshop, header, plugins, run};
use crate::{Case, Child, one};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "crashes",
        set_up: crashes,
        child: crashes_child,
    },
    Case {
        name: "hangs",
        set_up: hangs,
        child: hangs_child,
    },
    Case {
        name: "float environment",
        set_up: float_environment,
        child: float_environment_child,
    },
];

const AT_START: &str = "__attribute__((constructor)) static void at_start(void)";
const AT_END: &str = "__attribute__((destructor)) static void at_end(void)";

/// A name, what runs when the library is opened or closed, what its entry does, and what comes
/// of it.
type Bad = (
    &'static str,
    (&'static str, &'static str),
    &'static str,
    Reason,
    &'static str,
);

const NULL_WRITE: &str = "*(volatile int *)(uintptr_t)8 = 1;";

const CRASHES: [Bad; 8] = {
    use Reason::{Crashed, Exited};
    const NO: (&str, &str) = ("", "");
    [
        // A signal that is raised and no fault is one that Rust's handler lets pass.
        (
            "null-write",
            NO,
            NULL_WRITE,
            Crashed,
            "crashed with SIGSEGV",
        ),
        (
            "trap",
            NO,
            "__builtin_trap();",
            Crashed,
            "crashed with SIGILL",
        ),
        ("abort", NO, "abort();", Crashed, "crashed with SIGABRT"),
        (
            "exit-0",
            NO,
            "exit(0);",
            Exited,
            "ended the process with status 0",
        ),
        (
            "quick-exit-3",
            NO,
            "_exit(3);",
            Exited,
            "ended the process with status 3",
        ),
        (
            "start-null-write",
            (AT_START, NULL_WRITE),
            "",
            Crashed,
            "crashed with SIGSEGV",
        ),
        (
            "start-exit",
            (AT_START, "_exit(0);"),
            "",
            Exited,
            "ended the process with status 0",
        ),
        (
            "end-abort",
            (AT_END, "abort();"),
            "",
            Crashed,
            "crashed with SIGABRT",
        ),
    ]
};

fn crashes(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, (when, what), defect, ..) in CRASHES {
        let mut defines = vec![format!("DEFECT={defect}")];
        if !when.is_empty() {
            defines.push(format!("OUTSIDE={when} {{ {what} }}"));
        }
        let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
        install(room, name, "edge-c", &workshop.bad(name, &defines));
    }
    // A variable where the function should be.
    let text = "int vmafx_plugin_entry_v1[4] = {1, 2, 3, 4};\n";
    let library = workshop.of_text("no-function", text, &["-fPIC", "-shared"]);
    install(room, "no-function", "edge-c", &library);
    install(room, "unguarded-entry", "edge-c", &unguarded(workshop, 0));
    let noisy = "for (int i = 0; i < 20000; ++i) puts(\"vmafx-probe-verdict\\trefused\\tnoise\");\
                 fputs(\"no line end\", stdout); fflush(stdout);";
    let noisy = workshop.bad("zz-noisy", &[&format!("DEFECT={noisy}")]);
    install(room, "zz-noisy", "edge-c", &noisy);
    one()
}

/// A plugin in C++ whose exceptions nobody stops, in its entry (0) or when a job is submitted (1).
pub(crate) fn unguarded(workshop: &Workshop, place: u32) -> std::path::PathBuf {
    let object = workshop.room("unguarded").join(format!("edge-{place}.o"));
    let mut command = Command::new(C[0][0]);
    command
        .args(&C[0][1..])
        .args(["-c", "-fPIC", "-Dvmafx_plugin_entry_v1=sound_entry", "-I"]);
    run(command
        .arg(header())
        .arg(plugins().join("c/edge.c"))
        .arg("-o")
        .arg(&object));
    let place = format!("-DWHERE={place}");
    let arguments = [place.as_str(), object.to_str().unwrap()];
    let name = format!("unguarded{place}");
    workshop.library(&name, CPP[0], "bad/unguarded.cpp", &header(), &arguments)
}

fn crashes_child(room: &Path, _: &str) {
    let loaded = Loader::new(machine(room)).with_probe(rig::probe()).load();
    for (name, _, _, reason, words) in CRASHES {
        assert_refused(&loaded.records, name, (Stage::Probe, reason), words);
    }
    let crashed = (Stage::Probe, Reason::Crashed);
    assert_refused(&loaded.records, "no-function", crashed, "crashed with SIG");
    assert_refused(
        &loaded.records,
        "unguarded-entry",
        crashed,
        "crashed with SIGABRT",
    );
    let record = rig::record(&loaded.records, "unguarded-entry");
    let hint = record.hint.as_deref().unwrap_or_default();
    assert!(hint.starts_with("its last words: "), "{record}");
    assert_loaded(&loaded.records, "zz-noisy");
}

const HANGS: [(&str, &str, &str); 4] = [
    ("entry", "", "for (;;) pause();"),
    ("busy-entry", "", "for (;;) getpid();"),
    ("start", AT_START, "for (;;) pause();"),
    ("end", AT_END, "for (;;) pause();"),
];

fn hangs(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, when, what) in HANGS {
        let define = match when {
            "" => format!("DEFECT={what}"),
            when => format!("OUTSIDE={when} {{ {what} }}"),
        };
        let name = format!("hangs-{name}");
        install(room, &name, "edge-c", &workshop.bad(&name, &[&define]));
    }
    let sound = workshop.outside(C[0], "c/edge.c");
    install(&room.join("sound"), "sound", "edge-c", &sound);
    one()
}

fn hangs_child(room: &Path, _: &str) {
    // Whoever hangs, hangs for longer than any bound.
    let probe = rig::probe().with_timeout(Duration::from_millis(300));
    let loaded = Loader::new(machine(room)).with_probe(probe).load();
    for (name, ..) in HANGS {
        let name = format!("hangs-{name}");
        let why = (Stage::Probe, Reason::TimedOut);
        assert_refused(&loaded.records, &name, why, "did not answer within 0.3 s");
    }
    let sound = Loader::new(machine(&room.join("sound"))).with_probe(rig::probe());
    assert_loaded(&sound.load().records, "sound");
}

fn float_environment(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let start = format!("OUTSIDE={AT_START} {{ flush_subnormals(); }}");
    install(
        room,
        "start",
        "edge-c",
        &workshop.bad("float-start", &[&start]),
    );
    let entry = workshop.bad("float-entry", &["DEFECT=flush_subnormals();"]);
    install(room, "entry", "edge-c", &entry);
    // The start-up code itself that compilers add for `-ffast-math`, some of them to libraries.
    let start = Command::new(C[0][0])
        .arg("-print-file-name=crtfastmath.o")
        .output()
        .unwrap();
    let start = String::from_utf8(start.stdout).unwrap();
    let sound = "c/edge.c";
    let library = workshop.library("fast-math", C[0], sound, &header(), &[start.trim()]);
    install(room, "fast-math", "edge-c", &library);
    vec![Child::new("opened here"), Child::new("tried first")]
}

fn float_environment_child(room: &Path, argument: &str) {
    let loader = match argument {
        "tried first" => Loader::new(machine(room)).with_probe(rig::probe()),
        _ => Loader::new(machine(room)),
    };
    let loaded = loader.load();
    let refused = |name, stage, words| {
        assert_refused(
            &loaded.records,
            name,
            (stage, Reason::FloatEnvironment),
            words,
        );
    };
    refused("start", Stage::Open, "when it is opened");
    refused("entry", Stage::Negotiate, "in its entry");
    refused("fast-math", Stage::Open, "when it is opened");
    assert!(
        black_box(f64::MIN_POSITIVE) / black_box(2.0) > 0.0,
        "it was not undone"
    );
}
