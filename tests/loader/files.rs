//! Files that are no plugin, and libraries that the dynamic linker cannot open.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use vmafx_api::loader::{Loader, Outcome, Reason, Stage};

use crate::rig::{
    LIBRARIES, MANIFESTS, assert_loaded, assert_refused, install, machine, manifest, record, write,
};
use crate::workshop::{C, Workshop, header, plugins, run};
use crate::{Case, Checked, Child, checked, one};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "files",
        set_up: files,
        child: files_child,
    },
    Case {
        name: "links",
        set_up: links,
        child: links_child,
    },
];

/// A change of a sound library's bytes.
type Change = fn(&mut Vec<u8>);

const CHANGED: [(&str, (Stage, Reason), &str, Change); 9] = {
    use Reason::*;
    use Stage::Open;
    [
        ("empty", (Open, NotElf), "is not an ELF file", Vec::clear),
        ("text", (Open, NotElf), "is not an ELF file", |b| {
            *b = b"#!/bin/sh\nexit 0\n".to_vec()
        }),
        ("head-alone", (Open, Truncated), "is cut short", |b| {
            b.truncate(19)
        }),
        ("header-alone", (Open, Truncated), "is cut short", |b| {
            b.truncate(64)
        }),
        ("half", (Open, Truncated), "is cut short", |b| {
            b.truncate(b.len() / 2)
        }),
        ("other-machine", (Open, OtherMachine), "is built for", |b| {
            b[18..20].copy_from_slice(&[8, 0])
        }),
        ("other-width", (Open, OtherMachine), "32-bit", |b| b[4] = 1),
        ("other-order", (Open, OtherMachine), "big-endian", |b| {
            b[5] = 2
        }),
        ("core-dump", (Open, NotALibrary), "is a core dump", |b| {
            b[16] = 4
        }),
    ]
};

/// A program in C and how it is linked, beside what it is.
type Built = (
    &'static str,
    (Stage, Reason),
    &'static str,
    &'static str,
    &'static [&'static str],
);

const BUILT: [Built; 7] = {
    use Reason::*;
    use Stage::{Open, Symbol};
    const NOTHING: &str = "int nothing(void);\nint nothing(void) { return 0; }\n";
    const PROGRAM: &str = "int main(void) { return 0; }\n";
    [
        (
            "program",
            (Open, NotALibrary),
            "is a program",
            PROGRAM,
            &["-no-pie"],
        ),
        (
            "movable-program",
            (Symbol, MissingSymbol),
            "does not export",
            PROGRAM,
            &["-fPIE", "-pie"],
        ),
        (
            "object-file",
            (Open, NotALibrary),
            "an object file that is not linked",
            NOTHING,
            &["-c"],
        ),
        (
            "no-entry",
            (Symbol, MissingSymbol),
            "does not export",
            NOTHING,
            &["-fPIC", "-shared"],
        ),
        (
            "hidden-entry",
            (Symbol, MissingSymbol),
            "does not export",
            "int vmafx_plugin_entry_v1(void) { return 0; }\n",
            &["-fPIC", "-shared", "-fvisibility=hidden"],
        ),
        (
            "other-major",
            (Symbol, WrongMajor),
            "speaks major number 2",
            "int vmafx_plugin_entry_v2(void) { return 0; }\n",
            &["-fPIC", "-shared"],
        ),
        (
            "undefined-symbol",
            (Open, OpenFailed),
            "undefined symbol: no_such_function",
            "int no_such_function(void);\nint vmafx_plugin_entry_v1(void) { return no_such_function(); }\n",
            &["-fPIC", "-shared"],
        ),
    ]
};

fn files(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let sound = workshop.outside(C[0], "c/edge.c");
    let bytes = fs::read(&sound).unwrap();
    for (name, _, _, change) in CHANGED {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        install(room, name, "edge-c", &sound);
        write(room, &format!("{LIBRARIES}/{name}.so"), bytes);
    }
    for (name, _, _, text, arguments) in BUILT {
        let library = workshop.of_text(name, text, arguments);
        install(room, name, "edge-c", &library);
    }
    let named = |name: &str| {
        let text = manifest("edge-c", &format!("{name}.so"), "");
        write(room, &format!("{MANIFESTS}/{name}.toml"), text);
        room.join(format!("{LIBRARIES}/{name}.so"))
    };
    fs::create_dir(named("folder")).unwrap();
    named("absent");
    symlink("nowhere.so", named("dangling")).unwrap();
    run(Command::new("mkfifo").arg(named("pipe")));

    // Without its table of sections a library is as good as before: the linker needs none.
    let mut bytes = bytes;
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    install(room, "zz-no-sections", "edge-c", &sound);
    write(room, &format!("{LIBRARIES}/zz-no-sections.so"), bytes);
    one()
}

fn files_child(room: &Path, _: &str) {
    let loaded = Loader::new(machine(room)).load();
    for (name, why, words, _) in CHANGED {
        assert_refused(&loaded.records, name, why, words);
    }
    for (name, why, words, ..) in BUILT {
        assert_refused(&loaded.records, name, why, words);
    }
    let open = |reason| (Stage::Open, reason);
    assert_refused(
        &loaded.records,
        "folder",
        open(Reason::NotElf),
        "is no file",
    );
    assert_refused(&loaded.records, "pipe", open(Reason::NotElf), "is no file");
    assert_refused(
        &loaded.records,
        "absent",
        open(Reason::LibraryNotFound),
        "does not exist",
    );
    assert_refused(
        &loaded.records,
        "dangling",
        open(Reason::LibraryNotFound),
        "does not exist",
    );
    assert_loaded(&loaded.records, "zz-no-sections");
    let hint = record(&loaded.records, "other-major").hint.as_deref();
    assert_eq!(
        hint,
        Some("update vmafx, or install an older package of the backend")
    );
}

/// Libraries that need `libfar.so`, which was there when they were linked.
fn links(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let far = "int far_away(void);\nint far_away(void) { return 1; }\n";
    let near = "int far_away(void);\nint nearby(void);\nint nearby(void) { return far_away(); }\n";
    let shared = ["-fPIC", "-shared"];
    let folder = room.join("linked");
    fs::create_dir_all(&folder).unwrap();
    let place = |name: &str, text: &str, more: &[&str]| {
        let arguments: Vec<&str> = shared.iter().chain(more).copied().collect();
        fs::copy(workshop.of_text(name, text, &arguments), folder.join(name)).unwrap();
    };
    let search = format!("-L{}", folder.display());
    place("libfar.so", far, &["-Wl,-soname,libfar.so"]);
    place(
        "libnear.so",
        near,
        &[
            "-Wl,-soname,libnear.so",
            &search,
            "-Wl,--no-as-needed",
            "-lfar",
        ],
    );
    let plugin = |name: &str, library: &str| {
        let outside = format!("int {library}(void);");
        let path = room.join(format!("{name}.so"));
        let mut command = Command::new(C[0][0]);
        command
            .args(&C[0][1..])
            .args(shared)
            .arg("-I")
            .arg(header());
        command.arg("-I").arg(plugins().join("c"));
        command.arg(format!("-DOUTSIDE={outside}"));
        command.arg(format!("-DDEFECT=if ({library}() != 1) return -1;"));
        command
            .arg(plugins().join("bad/bad.c"))
            .arg("-o")
            .arg(&path);
        let (from, short) = match library {
            "far_away" => (&search, "-lfar"),
            _ => (&search, "-lnear"),
        };
        command
            .arg(from)
            .arg(short)
            .args(["-Wl,--allow-shlib-undefined", "-lm"]);
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
        run(&mut command);
        install(room, name, "edge-c", &path);
    };
    plugin("needs-far", "far_away");
    plugin("needs-near", "nearby");
    let library = room.join(format!("{LIBRARIES}/needs-far.so"));
    fs::copy(library, room.join(format!("{LIBRARIES}/told.so"))).unwrap();
    let needs = "needs = [{ library = \"libfar.so\", name = \"the Far runtime\" }]";
    let text = manifest("edge-c", "told.so", needs);
    write(room, &format!("{MANIFESTS}/told.toml"), text);
    fs::remove_file(folder.join("libfar.so")).unwrap();
    one()
}

fn links_child(room: &Path, _: &str) {
    let loaded = Loader::new(machine(room)).load();
    let missing = (Stage::Open, Reason::MissingDependency);
    for name in ["needs-far", "needs-near"] {
        assert_refused(
            &loaded.records,
            name,
            missing,
            "needs libfar.so, which is not installed",
        );
        let hint = record(&loaded.records, name).hint.as_deref();
        assert_eq!(hint, Some("install the package that has libfar.so"));
    }
    let told = record(&loaded.records, "told");
    assert_eq!(
        (told.outcome, told.reason),
        (Outcome::NotInstalled, Reason::MissingDependency)
    );
    assert_eq!(told.line, "the Far runtime (libfar.so) is not installed");
    assert!(!told.is_failure());
    checked(Checked::Contained, "told");

    // Nothing is remembered of a library that was never open: once the other one is there, it
    // can be used.
    let folder = room.join("linked");
    let near = folder.join("libnear.so");
    fs::copy(&near, folder.join("libfar.so")).unwrap();
    let again = Loader::new(machine(room)).load();
    let record = record(&again.records, "needs-far");
    assert_eq!(record.reason, Reason::OpenFailed, "{record}");
}
