//! What is generated, before the compilers of those who use it.

use std::path::{Path, PathBuf};
use std::process::Command;

const C: [&[&str]; 2] = [
    &["gcc", "-std=c99", "-x", "c"],
    &["clang", "-std=c99", "-x", "c"],
];
const CPP: [&[&str]; 2] = [
    &["g++", "-std=c++17", "-x", "c++"],
    &["clang++", "-std=c++17", "-x", "c++"],
];
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles `file` against `include` alone; what the compiler says is the error.
fn compile(compiler: &[&str], file: &Path) -> Result<(), String> {
    let output = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(STRICT)
        .arg("-fsyntax-only")
        .arg("-I")
        .arg(root().join("include"))
        .arg(file)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}; scripts/setup.sh brings it", compiler[0]));
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn source(name: &str, text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(name).tempfile();
    let file = file.expect("the folder of temporary files is writable");
    std::fs::write(file.path(), text).expect("a file just made is writable");
    file
}

#[test]
fn what_is_checked_in_is_current() {
    vmafx_codegen::check(&root()).unwrap();
}

#[test]
fn every_compiler_lays_the_wire_out_alike() {
    for compiler in C {
        compile(compiler, &root().join("tests/abi/layout.c")).unwrap();
    }
    for compiler in CPP {
        compile(compiler, &root().join("tests/abi/layout.cpp")).unwrap();
    }
}

#[test]
fn an_assert_that_does_not_hold_stops_the_compiler() {
    for (compilers, name) in [(C, "layout.c"), (CPP, "layout.cpp")] {
        let text = std::fs::read_to_string(root().join("tests/abi").join(name)).unwrap();
        let moved = text.replacen("struct_size) == 0", "struct_size) == 4", 1);
        assert_ne!(moved, text);
        let file = source(name, &moved);
        for compiler in compilers {
            compile(compiler, file.path()).unwrap_err();
        }
    }
}

#[test]
fn the_macros_of_the_header_work_in_both_languages() {
    let text = "#include <vmafx/plugin.h>\n\
        static const vmafx_plugin_text name = VMAFX_PLUGIN_TEXT(\"four\");\n\
        int answer(const vmafx_host *host);\n\
        int answer(const vmafx_host *host) {\n\
            vmafx_plugin_error error = VMAFX_PLUGIN_INIT(vmafx_plugin_error);\n\
            uint64_t kinds = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_MEMORY_KIND_HOST);\n\
            if (VMAFX_PLUGIN_HAS(vmafx_host, host, log)) kinds += 1;\n\
            return name.size == 4 && error.struct_size == sizeof error && error.subject[0] == 0\n\
                && kinds != 2 && VMAFX_PLUGIN_STATUS_INVALID - 1 == -2;\n\
        }\n\
        VMAFX_PLUGIN_EXPORT vmafx_plugin_status vmafx_plugin_entry_v1(\n\
            const vmafx_host *host, vmafx_plugin *plugin) {\n\
            const vmafx_plugin_entry again = vmafx_plugin_entry_v1;\n\
            return answer(host) ? again(host, plugin) : plugin ? VMAFX_PLUGIN_STATUS_OK\n\
                                                   : VMAFX_PLUGIN_STATUS_ABI;\n\
        }\n";
    let file = source("macros", text);
    for compiler in C.into_iter().chain(CPP) {
        compile(compiler, file.path()).unwrap();
    }
}

#[test]
fn the_cpp_classes_guard_negotiate_and_keep_to_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let sanitized: &[&str] = &[
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ];
    for (compiler, options) in [("g++", sanitized), ("clang++", &["-O1"])] {
        let program = folder.path().join(compiler);
        let built = Command::new(compiler)
            .args(["-std=c++17", "-Wshadow"])
            .args(STRICT)
            .args(options)
            .arg("-I")
            .arg(root().join("include"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guard.cpp"))
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap();
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let run = Command::new(&program).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success() && said == "0 failures\n",
            "{compiler}: {said}{run:?}"
        );
    }
}

/// A variable that the loader merges between libraries would give one plugin another's host.
#[test]
fn plugins_share_no_variable_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    for compiler in ["g++", "clang++"] {
        let library = folder.path().join(compiler);
        let built = Command::new(compiler)
            .args(["-std=c++17", "-fPIC", "-shared", "-I"])
            .arg(root().join("include"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guard.cpp"))
            .arg("-o")
            .arg(&library)
            .status()
            .unwrap();
        assert!(built.success());
        let symbols = Command::new("nm").arg("-D").arg(&library).output().unwrap();
        let symbols = String::from_utf8_lossy(&symbols.stdout);
        assert!(symbols.contains("vmafx_plugin_entry_v1"));
        let merged: Vec<_> = symbols
            .lines()
            .filter(|line| line.contains(" u ") && line.contains("vmafx"))
            .collect();
        assert!(merged.is_empty(), "{compiler}: {merged:?}");
    }
}
