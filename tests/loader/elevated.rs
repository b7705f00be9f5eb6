//! A process with rights that its caller lacks: what others could have put in its way is neither
//! followed nor opened.
//!
//! Each library leaves a mark when its code runs, so that "not opened" is seen and not believed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use vmafx_api::loader::{Loader, Machine, Outcome, Reason, SearchFlags, Stage};

use crate::rig::{
    LIBRARIES, MANIFESTS, assert_loaded, assert_refused, install, machine, manifest, mode, record,
    write,
};
use crate::workshop::Workshop;
use crate::{Case, Checked, Child, checked};

pub(crate) const CASES: &[Case] = &[Case {
    name: "elevated",
    set_up,
    child,
}];

const ROOMS: [&str; 11] = [
    "trusted",
    "writable manifest",
    "group-writable library",
    "writable library",
    "writable folder",
    "writable parent",
    "link out",
    "relative library",
    "foreign",
    "user",
    "environment",
];

fn set_up(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let start = "OUTSIDE=__attribute__((constructor)) static void start(void) { leave_mark(); }";
    let library = workshop.bad("marking", &[start]);
    let bytes = fs::read(&library).unwrap();
    for name in ROOMS {
        let room = room.join(name);
        install(&room, "plugin", "edge-c", &library);
        let manifest_path = room.join(format!("{MANIFESTS}/plugin.toml"));
        let library_path = room.join(format!("{LIBRARIES}/plugin.so"));
        match name {
            "writable manifest" => mode(&manifest_path, 0o666),
            "group-writable library" => mode(&library_path, 0o664),
            "writable library" => mode(&library_path, 0o757),
            "writable folder" => mode(&room.join(LIBRARIES), 0o777),
            "writable parent" => mode(&room.join("usr/share"), 0o777),
            "link out" => {
                // The library is elsewhere, where others write.
                let out = write(&room, "var/plugin.so", &bytes);
                mode(&room.join("var"), 0o777);
                fs::remove_file(&library_path).unwrap();
                symlink(out, &library_path).unwrap();
            }
            "relative library" => {
                write(&room, &format!("{MANIFESTS}/lib/plugin.so"), &bytes);
                let text = manifest("edge-c", "lib/plugin.so", "");
                write(&room, &format!("{MANIFESTS}/plugin.toml"), text);
            }
            "user" | "environment" => {
                let folder = match name {
                    "user" => "users/u/.local/share/vmafx/backends.d",
                    _ => "srv/backends",
                };
                fs::remove_file(&manifest_path).unwrap();
                let text = manifest("edge-c", "plugin.so", "");
                write(&room, &format!("{folder}/plugin.toml"), text);
            }
            _ => {}
        }
    }
    let children = ROOMS
        .iter()
        .flat_map(|name| [format!("plain/{name}"), format!("elevated/{name}")]);
    let child = |argument: String| {
        let mark = room.join(argument.replace('/', " mark "));
        Child::new(argument).with("VMAFX_TEST_MARK", mark.to_str().unwrap())
    };
    children.map(child).collect()
}

/// The machine of a room, as a process sees it that some user started.
fn started(room: &Path, name: &str) -> Machine {
    let machine = machine(&room.join(name)).with_variable("HOME", "/users/u");
    match name {
        "environment" => machine.with_variable("VMAFX_BACKEND_FILES", "/srv/backends"),
        _ => machine,
    }
}

fn child(room: &Path, argument: &str) {
    let (process, name) = argument.split_once('/').unwrap();
    let mut machine = started(room, name);
    let mark = room.join(argument.replace('/', " mark "));
    if process == "plain" {
        // The same files: only the rights of the process make the difference.
        let loaded = Loader::new(machine).load();
        assert_loaded(&loaded.records, "plugin");
        assert!(mark.exists());
        return;
    }
    machine.elevated = true;
    let owner = machine.trusted_owner;
    if name == "foreign" {
        machine.trusted_owner = owner + 1;
    }
    let paths = match name {
        // What the application adds is not searched either.
        "user" => vec![room.join("user/users/u/.local/share/vmafx/backends.d")],
        _ => Vec::new(),
    };
    let mut loader = Loader::new(machine).with_search(SearchFlags::default());
    for path in &paths {
        loader = loader.with_path(path);
    }
    let loaded = loader.load();
    let refused = |why, words: &str| assert_refused(&loaded.records, "plugin", why, words);
    use Reason::{Elevated, ForeignOwner, RelativePath, WritableByOthers};
    use Stage::{Open, Search};
    match name {
        "trusted" => {
            assert_loaded(&loaded.records, "plugin");
            assert!(mark.exists());
            return;
        }
        "writable manifest" => refused((Search, WritableByOthers), "plugin.toml can be written"),
        "group-writable library" => refused((Open, WritableByOthers), "(mode 664)"),
        "writable library" => refused((Open, WritableByOthers), "(mode 757)"),
        "writable folder" => refused((Open, WritableByOthers), "usr/lib/vmafx can be written"),
        "writable parent" => refused((Search, WritableByOthers), "usr/share can be written"),
        "link out" => refused((Open, WritableByOthers), "var can be written"),
        "relative library" => refused((Open, RelativePath), "`lib/plugin.so` is a relative path"),
        "foreign" => refused(
            (Search, ForeignOwner),
            &format!("belongs to user {owner}, not to"),
        ),
        _ => {
            // One record for what is not followed, and none for what lies there.
            let ignored: Vec<_> = loaded.records.iter().map(|record| record.reason).collect();
            assert!(!ignored.is_empty() && ignored.iter().all(|&reason| reason == Elevated));
            assert!(
                loaded
                    .records
                    .iter()
                    .all(|record| record.outcome != Outcome::Loaded)
            );
            checked(Checked::Contained, name);
        }
    }
    assert!(
        loaded.backends.is_empty() && !mark.exists(),
        "{name} was opened"
    );
    if name == "writable manifest" {
        let line = record(&loaded.records, "plugin").to_string();
        assert!(
            line.contains("an elevated process loads what only its trusted user"),
            "{line}"
        );
    }
}
