//! Installed backends: found, explained, used, and told of when they cannot be used. Each test
//! fakes a machine by the folders that the environment names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::*;

/// A machine of its own: two folders of packages and none of settings.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for packages in ["local", "system"] {
            fs::create_dir_all(folder.path().join(packages).join("vmafx/backends.d")).unwrap();
        }
        Machine { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Installs a manifest of backend `id` for the current interface, with more `keys`.
    fn install(&self, packages: &str, id: &str, library: &Path, keys: &str) -> PathBuf {
        let keys = format!("abi = {{ major = 1, revision = 2 }}\n{keys}");
        self.install_for(packages, id, library, &keys)
    }

    /// Installs a manifest with all `keys` but the first ones.
    fn install_for(&self, packages: &str, id: &str, library: &Path, keys: &str) -> PathBuf {
        let manifest = self
            .path(packages)
            .join(format!("vmafx/backends.d/{id}.toml"));
        let text = format!(
            "manifest_version = 1\n[backend]\nid = \"{id}\"\nname = \"Of a test\"\n\
             version = \"1.2.0\"\nlicense = \"Apache-2.0 OR MIT\"\n\
             library = {{ {}_{} = \"{}\" }}\n{keys}\n",
            std::env::consts::OS,
            std::env::consts::ARCH,
            library.display()
        );
        fs::write(&manifest, text).unwrap();
        manifest
    }

    /// The command on this machine.
    fn vmafx(&self, arguments: &str) -> Command {
        let mut command = vmafx(arguments);
        let both = std::env::join_paths([self.path("local"), self.path("system")]).unwrap();
        command
            .env_remove("VMAFX_BACKEND_FILES")
            .env("XDG_DATA_DIRS", both)
            .env("XDG_DATA_HOME", self.path("nothing"))
            .env("XDG_CONFIG_HOME", self.path("nothing"))
            .env("XDG_CONFIG_DIRS", self.path("nothing"));
        command
    }
}

/// Compiles a plugin of `tests/plugins` with the headers and nothing else of the tree.
fn compile(compiler: &str, source: &str, folder: &Path, arguments: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join("tests/plugins").join(source);
    let copy = folder.join(source.file_name().unwrap());
    fs::copy(&source, &copy).unwrap();
    let library = folder.join(format!("{compiler}.so"));
    let output = Command::new(compiler)
        .args([
            "-O1", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra", "-Werror", "-I",
        ])
        .arg(root.join("include"))
        .arg("-o")
        .arg(&library)
        .arg(&copy)
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}: {errors}");
    library
}

/// The CPU backend as a plugin, built with the command.
fn cpu_library() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_vmafx")).parent().unwrap();
    folder.join("deps/libvmafx_backend_cpu.so")
}

/// A report without what depends on time and machine.
fn scores(report: &Path) -> String {
    let mut report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let fields = report.as_object_mut().unwrap();
    assert!(fields.remove("fps").is_some() && fields.remove("provenance").is_some());
    report.to_string()
}

fn provenance(report: &Path) -> Value {
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    report["provenance"].clone()
}

/// The plugin and what is linked in give the same report, but for where the code came from.
#[test]
fn the_cpu_as_a_plugin_gives_the_same_report() {
    let machine = Machine::new();
    let packaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backend-cpu/cpu.toml");
    let text = fs::read_to_string(packaged).unwrap();
    let library = cpu_library();
    let name = format!("\"{}\"", library.file_name().unwrap().to_str().unwrap());
    assert!(text.contains(&name), "{text}");
    let manifest = machine.path("cpu.toml");
    let text = text.replace(&name, &format!("\"{}\"", library.display()));
    fs::write(&manifest, text).unwrap();
    let (linked, loaded) = (machine.path("linked.json"), machine.path("loaded.json"));
    let line = |report: &Path| {
        format!(
            "score synth:tex177_10_codec/ref synth:tex177_10_codec/dis --feature psnr -q --json -o {}",
            report.display()
        )
    };
    run(vmafx(&line(&linked))).ok();
    let mut command = vmafx(&line(&loaded));
    command.env("VMAFX_BACKEND_FILES", manifest);
    run(command).ok();
    assert_eq!(scores(&linked), scores(&loaded));
    let library = |report: &Path| provenance(report)["features"][0]["library"].clone();
    assert_eq!(library(&linked), "");
    assert_eq!(
        library(&loaded),
        cpu_library().canonicalize().unwrap().to_str().unwrap()
    );
    // The packaged manifest tells the truth.
    let warnings = |report: &Path| provenance(report)["warnings"].clone();
    assert_eq!(warnings(&linked), warnings(&loaded));
}

/// A missing dependency, another major number and a shadowed plugin, a line each.
#[test]
fn each_candidate_is_explained_in_a_line() {
    let machine = Machine::new();
    let edge = compile("gcc", "c/edge.c", machine.folder.path(), &[]);
    machine.install("local", "edge-c", &edge, "");
    machine.install("system", "edge-c", &edge, "");
    machine.install_for("local", "old", &edge, "abi = { major = 9, revision = 1 }");

    let absent = machine.path("libabsent.so");
    let stub = machine.path("stub.c");
    fs::write(&stub, "int absent(void) { return 0; }\n").unwrap();
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libabsent.so", "-o"])
        .args([&absent, &stub])
        .status();
    assert!(built.unwrap().success());
    let needs = machine.path("needs");
    fs::create_dir(&needs).unwrap();
    let needs = compile(
        "gcc",
        "c/edge.c",
        &needs,
        &["-Wl,--no-as-needed", absent.to_str().unwrap()],
    );
    fs::remove_file(&absent).unwrap();
    machine.install("system", "runtime", &needs, "");
    let vendor = "needs = [{ library = \"libabsent.so\", name = \"the vendor's runtime\" }]";
    machine.install("system", "vendor", &needs, vendor);

    let text = run(machine.vmafx("backends --explain")).ok().stdout;
    let lines: Vec<_> = text.lines().collect();
    let expected = [
        (
            "edge-c: loaded: Edges, in C 1.2.0, revision 2 of the interface, ",
            "gcc.so",
        ),
        ("old: refused (wrong-major at ", "9"),
        ("edge-c: shadowed (same-id at filter): ", "comes first"),
        (
            "runtime: refused (missing-dependency at open): ",
            "libabsent.so",
        ),
        (
            "vendor: not-installed (missing-dependency at open): ",
            "the vendor's runtime",
        ),
        ("cpu: loaded: ", "built into this program"),
    ];
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (line, (begin, part)) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(begin) && line.contains(part),
            "{line}\n{text}"
        );
    }

    let list = run(machine.vmafx("backends --explain --json")).ok().stdout;
    let list: Value = serde_json::from_str(&list).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let schema = fs::read(folder.join("backends.schema.json")).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<_> = validator
        .iter_errors(&list)
        .map(|e| e.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?}\n{list:#}");
    assert_eq!(list["records"].as_array().unwrap().len(), expected.len());
    assert_eq!(list["records"][3]["reason"], "missing-dependency");
    assert_eq!(list["backends"][0]["features"][0], "edge");
    // The schema is one that refuses.
    let mut wrong = list.clone();
    wrong["records"][0]["outcome"] = "vanished".into();
    assert!(!validator.is_valid(&wrong));

    // Asked for by name, a backend that did not load ends the run with its record; a broken one
    // that nobody asked for is in the report.
    let report = machine.path("report.json");
    let score =
        "score synth:tex177_8_codec/ref synth:tex177_8_codec/dis --feature psnr --no-prediction -q";
    for (name, part) in [
        ("runtime", "runtime: refused (missing-dependency at open): "),
        ("vendor:0", "the vendor's runtime"),
        ("old", "wrong-major"),
    ] {
        let error = run(machine.vmafx(&format!("{score} --backend {name}"))).fails("backend");
        assert!(
            error.starts_with(&format!("--backend {name} was not loaded: ")),
            "{error}"
        );
        assert!(error.contains(part), "{error}");
    }
    let line = format!("{score} --json -o {}", report.display());
    run(machine.vmafx(&line)).ok();
    let warnings = provenance(&report)["warnings"].clone();
    let codes: Vec<_> = warnings
        .as_array()
        .unwrap()
        .iter()
        .map(|w| &w["code"])
        .collect();
    assert_eq!(codes, ["backend-unavailable"; 2], "{warnings:#}");
    assert!(
        warnings[1]["text"]
            .as_str()
            .unwrap()
            .contains("libabsent.so")
    );
    run(machine.vmafx(&format!("{line} --backend cpu"))).ok();
    assert_eq!(provenance(&report)["warnings"].as_array().unwrap().len(), 0);
}

/// A feature of a plugin in C++, by two compilers, and of one in C: the same scores, and those
/// of its definition.
#[test]
fn a_feature_of_a_plugin_is_scored() {
    let machine = Machine::new();
    let folder = machine.folder.path();
    let strict = ["-Wpedantic", "-std=c++17"];
    let plugins = [
        (
            "edge-c",
            compile("clang", "c/edge.c", folder, &["-std=c99", "-Wpedantic"]),
        ),
        ("edge-cpp", compile("g++", "cpp/edge.cpp", folder, &strict)),
        (
            "edge-cpp",
            compile("clang++", "cpp/edge.cpp", folder, &strict),
        ),
    ];
    // Two frames of 4x2; the sums of the differences of gradients are 3 + 6 and 0 of 6 each.
    let raw = |name: &str, frames: [[u8; 8]; 2]| {
        let path = machine.path(name);
        fs::write(&path, frames.concat()).unwrap();
        path
    };
    let reference = raw("ref.yuv", [[1, 2, 4, 4, 9, 9, 9, 9], [5; 8]]);
    let distorted = raw("dis.yuv", [[1, 2, 2, 3, 9, 7, 9, 7], [8; 8]]);
    for (id, library) in &plugins {
        let manifest = machine.install("system", id, library, "");
        let report = machine.path("report.csv");
        let mut command = machine.vmafx(&format!(
            "score {} {} -w 4 -h 2 -p 400 -b 8 --no-prediction --feature edge=w=3 \
             --backend {id} -q --csv -o {}",
            reference.display(),
            distorted.display(),
            report.display()
        ));
        command.arg("--alignment-range=0");
        run(command).ok();
        let text = fs::read_to_string(&report).unwrap();
        let rows: Vec<_> = text.lines().collect();
        assert_eq!(rows[0], "Frame,edge_w_3,", "{id}: {text}");
        assert_eq!(rows[1..3], ["0,4.500000,", "1,0.000000,"], "{id}: {text}");
        let features = run(machine.vmafx("features")).ok().stdout;
        assert!(
            features.contains("edge: Mean difference of horizontal gradients"),
            "{features}"
        );
        assert!(
            features.contains(&format!("runs on     {id}:0")),
            "{features}"
        );
        let error = run(machine.vmafx(&format!(
            "score {} {} -w 4 -h 2 -p 400 -b 8 --no-prediction --feature edge=w=17",
            reference.display(),
            distorted.display()
        )));
        let error = error.fails("model");
        assert!(error.contains("17") && error.contains("16"), "{error}");
        fs::remove_file(manifest).unwrap();
    }
}

/// A machine without a backend's runtime is told of it where it is asked, and warned nowhere.
#[test]
fn a_backend_without_a_device_is_information() {
    let machine = Machine::new();
    let edge = compile("gcc", "c/edge.c", machine.folder.path(), &["-DEDGE_ABSENT"]);
    machine.install("local", "edge-c", &edge, "");
    let why = "no libedge.so.1 in the library path";
    let explained = run(machine.vmafx("backends --explain")).ok().stdout;
    let lines: Vec<_> = explained.lines().collect();
    assert!(lines[0].starts_with("edge-c: loaded: "), "{explained}");
    assert_eq!(lines[1], format!("  no device: {why}"), "{explained}");
    let listed = run(machine.vmafx("backends")).ok().stdout;
    assert!(
        listed.contains(&format!("\n  no device: {why}\n")),
        "{listed}"
    );
    let list = run(machine.vmafx("backends --json")).ok().stdout;
    let list: Value = serde_json::from_str(&list).unwrap();
    let own = |name: &str| {
        let mut backends = list["backends"].as_array().unwrap().iter();
        let found = backends.find(|backend| backend["name"] == name);
        found.unwrap().clone()
    };
    assert_eq!(own("edge-c")["absent"], why);
    assert_eq!(own("edge-c")["error"], Value::Null);
    assert_eq!(own("cpu")["absent"], Value::Null);

    let report = machine.path("report.json");
    let score = format!(
        "score synth:tex177_8_codec/ref synth:tex177_8_codec/dis --feature psnr \
         --no-prediction --json -o {}",
        report.display()
    );
    let done = run(machine.vmafx(&score)).ok();
    assert!(!done.stderr.contains("warning"), "{}", done.stderr);
    assert_eq!(provenance(&report)["warnings"], serde_json::json!([]));
    let error = run(machine.vmafx(&format!("{score} --backend edge-c"))).fails("backend");
    assert_eq!(
        error.trim_end(),
        format!("there is no device `edge-c` on this machine: {why}")
    );
}

/// Filters act on identifiers, those of built-in backends among them.
#[test]
fn filters_leave_backends_out() {
    let machine = Machine::new();
    let score =
        "score synth:tex177_8_codec/ref synth:tex177_8_codec/dis --feature psnr --no-prediction -q";
    let mut command = machine.vmafx(score);
    command.env("VMAFX_BACKENDS_DISABLE", "c*");
    let error = run(command).fails("backend");
    assert!(
        error.contains("psnr") && error.contains("there is no device"),
        "{error}"
    );
    let mut command = machine.vmafx(&format!("{score} --backend cpu"));
    command.env("VMAFX_BACKENDS_SELECT", "hip");
    let error = run(command).fails("backend");
    assert!(error.contains("cpu: disabled (filter-select"), "{error}");
}

/// The dynamic linker puts words of its own for those behind a `$`: what was looked at would not
/// be what is opened.
#[test]
fn paths_that_the_linker_would_change_are_refused() {
    let machine = Machine::new();
    let folder = machine.path("$LIB");
    fs::create_dir(&folder).unwrap();
    let library = compile("gcc", "c/edge.c", &folder, &[]);
    machine.install("system", "edge-c", &library, "");
    let text = run(machine.vmafx("backends --explain")).ok().stdout;
    let line = text.lines().next().unwrap();
    assert!(
        line.starts_with("edge-c: refused (open-failed at open): "),
        "{text}"
    );
    assert!(line.contains("has a `$` in it"), "{text}");
}
