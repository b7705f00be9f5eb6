//! Whole runs over faked machines, up to the point where a library would be opened: what opens
//! is a library, and those are in `tests/plugins`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

/// A machine over a temporary folder.
struct Rig {
    folder: tempfile::TempDir,
    machine: Machine,
}

const PACKAGES: &str = "usr/share/vmafx/backends.d";

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let mut machine = Machine::at(&root);
        machine.trusted_owner = fs::metadata(&root).unwrap().uid();
        Rig { folder, machine }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.machine.root.join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn manifest(&self, path: &str, id: &str, change: impl FnOnce(&mut Manifest)) {
        self.write(path, manifest(id, change));
    }

    fn set(&mut self, name: &str, value: &str) {
        self.machine = self.machine.clone().with_variable(name, value);
    }

    fn loader(&self) -> Loader {
        assert!(self.folder.path().exists());
        Loader::new(self.machine.clone())
    }

    /// Runs the loader: identifier or file name, outcome, stage and reason of each record.
    fn told(&self, loader: &Loader) -> Vec<String> {
        let loaded = loader.load();
        assert!(loaded.backends.is_empty());
        let told = |record: &LoadRecord| {
            let line = record.to_string();
            assert!(!line.contains('\n') && !record.line.is_empty(), "{line}");
            let path = record.manifest.as_deref().unwrap_or(Path::new("-"));
            let file = path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy();
            let subject = record.backend.as_deref().unwrap_or(&file);
            format!(
                "{subject}: {} {} {}",
                record.outcome, record.stage, record.reason
            )
        };
        loaded.records.iter().map(told).collect()
    }
}

fn manifest(id: &str, change: impl FnOnce(&mut Manifest)) -> String {
    let mut manifest = Manifest::new(id, id, "1.0.0", "MIT");
    let library = format!("lib{id}.so");
    manifest.library.insert(platform(), library);
    change(&mut manifest);
    manifest.to_toml()
}

#[test]
fn each_candidate_ends_in_a_record_with_its_reason() {
    let mut rig = Rig::new();
    let at = |name: &str| format!("{PACKAGES}/{name}.toml");
    rig.manifest(&at("01"), "absent", |_| {});
    rig.manifest(&at("02"), "text", |m| {
        m.library = [(platform(), "./notes.txt".into())].into()
    });
    rig.write(&format!("{PACKAGES}/notes.txt"), "just text");
    rig.manifest(&at("03"), "elsewhere", |m| {
        m.library = [("plan9_vax".into(), "x.so".into())].into()
    });
    rig.manifest(&at("04"), "newer", |m| m.abi_major = 2);
    rig.manifest(&at("05"), "gpu", |m| m.pci_vendors = vec![0xabcd]);
    rig.manifest(&at("06"), "off", |_| {});
    rig.write(&at("07"), "manifest_version = 9");
    rig.write(&at("08"), b"\x7fELF\xff\xff");
    symlink(rig.path(&at("01")), rig.path(&at("09"))).unwrap();
    fs::create_dir(rig.path(&at("10"))).unwrap();
    symlink("nowhere", rig.path(&at("11"))).unwrap();
    fs::create_dir_all(rig.path("sys/bus/pci/devices/0000:00:00.0")).unwrap();
    rig.set("VMAFX_BACKENDS_DISABLE", "off,Bad");
    assert_eq!(
        rig.told(&rig.loader().with_builtins(["cpu", "off"])),
        [
            "-: refused filter bad-pattern",
            "absent: refused open library-not-found",
            "text: refused open not-elf",
            "elsewhere: not-installed filter other-platform",
            "newer: refused negotiate wrong-major",
            "gpu: not-installed filter no-device",
            "off: disabled filter filter-disable",
            "07.toml: refused parse manifest-version",
            "08.toml: refused parse not-text",
            "09.toml: shadowed search same-file",
            "10.toml: refused parse unreadable",
            "11.toml: refused search unreadable",
            "cpu: loaded filter ok",
            "off: disabled filter filter-disable",
        ]
    );
    let loaded = rig.loader().with_builtins(["cpu", "off"]).load();
    assert_eq!(loaded.builtins, ["cpu"]);
    let lines = |id| {
        loaded
            .why_not(id)
            .map(|record| record.line.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines("elsewhere"),
        [format!(
            "it has no library for {}, only for plan9_vax",
            platform()
        )]
    );
    assert_eq!(lines("cpu"), [""; 0]);
    // A manifest that cannot be read is found by the name of its file.
    assert!(lines("07")[0].contains("is 9;"), "{:?}", lines("07"));
}

#[test]
fn libraries_are_where_their_manifest_says_and_nowhere_else() {
    let mut rig = Rig::new();
    let at = |library: &str| {
        let manifest = rig.path("etc/vmafx/backends.d/a.toml");
        library_path(&rig.machine, &manifest, library)
            .map(|path| {
                path.strip_prefix(&rig.machine.root)
                    .unwrap()
                    .display()
                    .to_string()
            })
            .map_err(|verdict| verdict.reason)
    };
    assert_eq!(at("liba.so").as_deref(), Ok("usr/lib/vmafx/liba.so"));
    assert_eq!(at("/opt/a/liba.so").as_deref(), Ok("opt/a/liba.so"));
    assert_eq!(
        at("./liba.so").as_deref(),
        Ok("etc/vmafx/backends.d/./liba.so")
    );
    assert_eq!(
        at("lib/a.so").as_deref(),
        Ok("etc/vmafx/backends.d/lib/a.so")
    );
    assert_eq!(at("..").as_deref(), Ok("etc/vmafx/backends.d/.."));
    rig.machine.elevated = true;
    let at = |library: &str| {
        let manifest = rig.path("etc/vmafx/backends.d/a.toml");
        library_path(&rig.machine, &manifest, library).map_err(|verdict| verdict.reason)
    };
    assert_eq!(at("lib/a.so"), Err(Reason::RelativePath));
    assert!(at("liba.so").is_ok() && at("/opt/liba.so").is_ok());
}

#[test]
fn an_elevated_process_refuses_what_others_can_change() {
    let mut rig = Rig::new();
    rig.manifest(&format!("{PACKAGES}/a.toml"), "a", |_| {});
    rig.manifest(&format!("{PACKAGES}/b.toml"), "b", |_| {});
    rig.write("usr/lib/vmafx/liba.so", "no library");
    rig.write("usr/lib/vmafx/libb.so", "no library");
    let mode = |path: &str, mode| {
        fs::set_permissions(rig.path(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for folder in [
        "usr",
        "usr/share",
        "usr/share/vmafx",
        PACKAGES,
        "usr/lib",
        "usr/lib/vmafx",
    ] {
        mode(folder, 0o755);
    }
    mode(&format!("{PACKAGES}/a.toml"), 0o644);
    mode(&format!("{PACKAGES}/b.toml"), 0o666);
    mode("usr/lib/vmafx/liba.so", 0o777);
    let plain = ["a: refused open not-elf", "b: refused open not-elf"];
    assert_eq!(rig.told(&rig.loader()), plain);
    rig.machine.elevated = true;
    assert_eq!(
        rig.told(&rig.loader()),
        [
            "a: refused open writable-by-others",
            "b.toml: refused search writable-by-others"
        ]
    );
    rig.machine.trusted_owner += 1;
    assert_eq!(
        rig.told(&rig.loader()),
        [
            "a.toml: refused search foreign-owner",
            "b.toml: refused search foreign-owner"
        ]
    );
}

#[test]
fn a_missing_library_that_the_manifest_names_is_information() {
    let text = manifest("a", |m| {
        m.needs = vec![
            Need::new("librun.so", "the Run runtime"),
            Need::new("libm2.so.2", ""),
        ];
    });
    let manifest = Manifest::parse(text.as_bytes()).unwrap();
    let told = |missing: Option<&str>| {
        let mut verdict = Verdict::new(Stage::Open, Reason::MissingDependency, "linker's words");
        verdict.missing = missing.map(str::to_owned);
        let (outcome, verdict) = perhaps_not_installed(&manifest, verdict);
        format!("{outcome}: {}", verdict.line)
    };
    assert_eq!(
        told(Some("librun.so.6")),
        "not-installed: the Run runtime (librun.so.6) is not installed"
    );
    assert_eq!(
        told(Some("libm2.so.2")),
        "not-installed: libm2.so.2 is not installed"
    );
    assert_eq!(told(Some("librun2.so")), "refused: linker's words");
    assert_eq!(told(Some("librun.so6")), "refused: linker's words");
    assert_eq!(told(None), "refused: linker's words");
}

#[test]
fn a_record_serializes_as_words() {
    let rig = Rig::new();
    rig.manifest(&format!("{PACKAGES}/a.toml"), "a", |_| {});
    let loaded = rig.loader().load();
    let value = toml::Value::try_from(&loaded.records[0]).unwrap();
    let text = |key: &str| {
        value
            .get(key)
            .and_then(toml::Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    assert_eq!(
        ["backend", "place", "stage", "outcome", "reason"].map(text),
        ["a", "system-data", "open", "refused", "library-not-found"]
    );
    assert!(text("library").ends_with("usr/lib/vmafx/liba.so"));
}

#[test]
fn a_library_named_by_path_ends_in_a_record_too() {
    let rig = Rig::new();
    rig.write("a.so", "no library");
    let record = rig.loader().load_library(&rig.path("a.so")).unwrap_err();
    assert_eq!(
        (record.place, record.reason),
        (Place::Explicit, Reason::NotElf)
    );
    let record = rig.loader().load_library(&rig.path("b.so")).unwrap_err();
    assert_eq!(record.reason, Reason::LibraryNotFound);
}
