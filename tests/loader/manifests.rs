//! Manifests that say otherwise than their library, several for one backend, and hints that
//! spare a library the opening.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use vmafx_api::loader::{Loader, Outcome, Place, Reason, Stage, set_log};

use crate::rig::{
    LIBRARIES, MANIFESTS, assert_loaded, assert_refused, install, machine, manifest, record, write,
};
use crate::workshop::{C, Workshop};
use crate::{Case, Checked, Child, checked};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "manifests that disagree",
        set_up: disagreeing,
        child: disagreeing_child,
    },
    Case {
        name: "several of one id",
        set_up: several,
        child: several_child,
    },
    Case {
        name: "libraries that are not opened",
        set_up: unopened,
        child: unopened_child,
    },
];

/// Replaces a line of a manifest that `install` wrote.
fn edit(room: &Path, name: &str, from: &str, to: &str) {
    let path = room.join(format!("{MANIFESTS}/{name}.toml"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// A library that leaves a mark when its code runs.
fn marking(workshop: &Workshop) -> std::path::PathBuf {
    let start = "OUTSIDE=__attribute__((constructor)) static void start(void) { leave_mark(); }";
    workshop.bad("marking", &[start])
}

/// One child for each of the names, each with a place for the mark.
fn marked(room: &Path, arguments: &[&str]) -> Vec<Child> {
    let child = |argument: &&str| {
        let mark = room.join(format!("mark {argument}"));
        Child::new(*argument).with("VMAFX_TEST_MARK", mark.to_str().unwrap())
    };
    arguments.iter().map(child).collect()
}

fn disagreeing(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let sound = workshop.outside(C[0], "c/edge.c");
    for (name, from, to) in [
        ("id", "id = \"edge-c\"", "id = \"edge-d\""),
        ("version", "version = \"1.2.0\"", "version = \"1.3.0\""),
        (
            "license",
            "license = \"Apache-2.0 OR MIT\"",
            "license = \"GPL-2.0-only\"",
        ),
    ] {
        let room = room.join(name);
        install(&room, name, "edge-c", &sound);
        edit(&room, name, from, to);
    }
    ["id", "version", "license"]
        .into_iter()
        .map(Child::new)
        .collect()
}

fn disagreeing_child(room: &Path, argument: &str) {
    let loaded = Loader::new(machine(&room.join(argument))).load();
    let record = record(&loaded.records, argument);
    let hint = record.hint.as_deref().unwrap_or_default();
    let words = match argument {
        "id" => {
            let why = (Stage::Layout, Reason::OtherBackend);
            let words = "the manifest promises backend `edge-d`";
            assert_refused(&loaded.records, argument, why, words);
            assert!(record.line.ends_with("/id.so has edge-c"), "{record}");
            assert!(loaded.backends.is_empty());
            return;
        }
        "version" => "the manifest says version `1.3.0`, the library `1.2.0`",
        _ => "the manifest says licence `GPL-2.0-only`, the library `Apache-2.0 OR MIT`",
    };
    assert_eq!(hint, format!("{words}: tell whoever made the package"));
    // The library is right: it works, and the packager is told.
    assert_eq!(
        (record.outcome, record.reason),
        (Outcome::Loaded, Reason::ManifestDisagrees)
    );
    assert!(record.is_failure() && loaded.backends.len() == 1);
    checked(Checked::Contained, argument);
}

fn several(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let sound = workshop.outside(C[0], "c/edge.c");
    let bad = workshop.bad("fails", &["DEFECT=return VMAFX_PLUGIN_STATUS_BUSY;"]);
    install(room, "10-bad", "edge-c", &bad);
    install(room, "20-first", "edge-c", &sound);
    install(room, "30-second", "edge-c", &sound);
    // The administrator's folder comes before that of the packages.
    let text = manifest("edge-c", "20-first.so", "");
    write(room, "etc/vmafx/backends.d/site.toml", text);
    symlink(
        room.join(format!("{MANIFESTS}/30-second.toml")),
        room.join(format!("{MANIFESTS}/40-same.toml")),
    )
    .unwrap();
    // Two names of one file.
    let second = room.join(format!("{LIBRARIES}/20-first.so"));
    symlink(&second, room.join(format!("{LIBRARIES}/symbolic.so"))).unwrap();
    fs::hard_link(&second, room.join(format!("{LIBRARIES}/hard.so"))).unwrap();
    vec![Child::new("search"), Child::new("one file")]
}

fn several_child(room: &Path, argument: &str) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = lines.clone();
    set_log(Some(Arc::new(move |_, origin: &str, line: &str| {
        kept.lock().unwrap().push(format!("{origin}: {line}"));
    })));
    let ready = || {
        let lines = lines.lock().unwrap();
        lines
            .iter()
            .filter(|line| line.ends_with(": edge.c is ready"))
            .count()
    };
    if argument == "one file" {
        let loader = Loader::new(machine(room));
        let load = |name: &str| {
            let path = room.join(format!("{LIBRARIES}/{name}.so"));
            let loaded = loader.load_library(&path).unwrap();
            loaded[0].backend.clone()
        };
        let first = load("20-first");
        for name in ["20-first", "symbolic", "hard"] {
            assert!(load(name).is(&first), "{name} is another backend");
        }
        // One file, one entry; a copy is a plugin of its own.
        assert_eq!(ready(), 1);
        assert!(!load("30-second").is(&first));
        assert_eq!(ready(), 2);
        return;
    }
    let loader = Loader::new(machine(room)).with_builtins(["edge-c"]);
    let loaded = loader.load();
    let told = |record: &vmafx_api::loader::LoadRecord| {
        let path = record.manifest.as_deref().and_then(Path::file_stem);
        let name = path.map_or("-".into(), |stem| stem.to_string_lossy());
        format!(
            "{name}: {} {} {}",
            record.place, record.outcome, record.reason
        )
    };
    let told: Vec<_> = loaded.records.iter().map(told).collect();
    assert_eq!(
        told,
        [
            "site: system-config loaded ok",
            "10-bad: system-data shadowed same-id",
            "20-first: system-data shadowed same-id",
            "30-second: system-data shadowed same-id",
            "40-same: system-data shadowed same-file",
            "-: built-in shadowed same-id",
        ]
    );
    assert_eq!((loaded.backends.len(), loaded.builtins.len()), (1, 0));
    assert!(
        record(&loaded.records, "30-second")
            .line
            .ends_with("/site.toml comes first")
    );
    assert_eq!(loaded.records[0].place, Place::SystemConfig);
    checked(Checked::Contained, "duplicate id");
    // What is shadowed is not opened.
    assert_eq!(ready(), 1);

    fs::remove_file(room.join("etc/vmafx/backends.d/site.toml")).unwrap();
    let again = loader.load();
    let why = (Stage::Negotiate, Reason::EntryFailed);
    assert_refused(&again.records, "10-bad", why, "failed: busy");
    assert_loaded(&again.records, "20-first");
    assert_eq!(record(&again.records, "30-second").reason, Reason::SameId);
    // It was opened before: its entry does not run again.
    assert!(again.backends[0].backend.is(&loaded.backends[0].backend));
}

fn unopened(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let library = marking(workshop);
    for (name, change) in [
        ("opened", ""),
        ("major", "abi = { major = 2, revision = 1 }"),
        ("device", "pci_vendors = [\"10de\"]"),
        ("disabled", ""),
        ("platform", "library = { plan9_vax = \"platform.so\" }"),
        ("version", "manifest_version = 2"),
    ] {
        let room = room.join(name);
        install(&room, name, "edge-c", &library);
        let text = fs::read_to_string(room.join(format!("{MANIFESTS}/{name}.toml"))).unwrap();
        let key = change.split(" = ").next().unwrap_or_default();
        let old = text
            .lines()
            .find(|line| !key.is_empty() && line.starts_with(key));
        match old {
            Some(old) => edit(&room, name, old, change),
            None => edit(&room, name, "[backend]", &format!("[backend]\n{change}")),
        }
        fs::create_dir_all(room.join("sys/bus/pci/devices")).unwrap();
    }
    marked(
        room,
        &[
            "opened", "major", "device", "disabled", "platform", "version",
        ],
    )
}

fn unopened_child(room: &Path, argument: &str) {
    let mut machine = machine(&room.join(argument));
    if argument == "disabled" {
        machine = machine.with_variable("VMAFX_BACKENDS_DISABLE", "edge-*");
    }
    let loaded = Loader::new(machine.clone()).load();
    let record = record(&loaded.records, argument);
    let wanted = match argument {
        "opened" => (Outcome::Loaded, Stage::Layout, Reason::Ok),
        "major" => (Outcome::Refused, Stage::Negotiate, Reason::WrongMajor),
        "device" => (Outcome::NotInstalled, Stage::Filter, Reason::NoDevice),
        "disabled" => (Outcome::Disabled, Stage::Filter, Reason::FilterDisable),
        "platform" => (Outcome::NotInstalled, Stage::Filter, Reason::OtherPlatform),
        _ => (Outcome::Refused, Stage::Parse, Reason::ManifestVersion),
    };
    assert_eq!(
        (record.outcome, record.stage, record.reason),
        wanted,
        "{record}"
    );
    let mark = || room.join(format!("mark {argument}")).exists();
    assert_eq!(mark(), argument == "opened");
    if matches!(argument, "major" | "version") {
        checked(Checked::Contained, argument);
    }
    if argument == "device" {
        let machine = machine.with_variable("VMAFX_BACKENDS_IGNORE_PCI", "1");
        assert_eq!(Loader::new(machine).load().backends.len(), 1);
        assert!(mark());
    }
}
