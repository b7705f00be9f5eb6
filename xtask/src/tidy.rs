//! `cargo xtask tidy`: the house rules that a compiler does not check.
//!
//! Each rule is a function from text or metadata to findings, so a test can plant a defect.

use std::path::PathBuf;
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};
use vmafx_tests::data::workspace_root;

use crate::Failure;

/// Which crates of the workspace a crate may depend on. A crate that is not listed is a
/// finding: decide its place first.
const DEPENDENCIES: [(&str, &[&str]); 20] = [
    ("vmafx-api", &[]),
    ("vmafx-metrics", &["vmafx-api"]),
    ("vmafx-models", &["vmafx-api", "vmafx-metrics"]),
    ("vmafx-media", &["vmafx-api"]),
    (
        "vmafx-engine",
        &["vmafx-api", "vmafx-metrics", "vmafx-models"],
    ),
    ("vmafx-backend-cpu", &["vmafx-api", "vmafx-metrics"]),
    ("vmafx-fences", &["vmafx-api"]),
    ("vmafx-gpu", &["vmafx-api", "vmafx-metrics", "vmafx-fences"]),
    ("vmafx-backend-hip", &["vmafx-api", "vmafx-gpu"]),
    ("vmafx-backend-cuda", &["vmafx-api", "vmafx-gpu"]),
    (
        "vmafx-conformance",
        &["vmafx-api", "vmafx-metrics", "vmafx-backend-cpu"],
    ),
    // No runtime of a GPU, which comes as a plugin.
    (
        "vmafx-cli",
        &[
            "vmafx-api",
            "vmafx-metrics",
            "vmafx-models",
            "vmafx-media",
            "vmafx-engine",
            "vmafx-backend-cpu",
        ],
    ),
    ("vmafx-codegen", &[]),
    ("vmafx-tests", &ANY),
    ("vmafx-test-edge", &["vmafx-api"]),
    ("vmafx-test-panics", &["vmafx-api"]),
    ("vmafx-gcnsim", &[]),
    ("vmafx-guest", &[]),
    ("vmafx-hipsim", &["vmafx-gcnsim"]),
    ("xtask", &ANY),
];

/// For what tests and measures everything.
const ANY: [&str; 17] = [
    "vmafx-api",
    "vmafx-metrics",
    "vmafx-models",
    "vmafx-media",
    "vmafx-engine",
    "vmafx-backend-cpu",
    "vmafx-fences",
    "vmafx-gpu",
    "vmafx-backend-hip",
    "vmafx-backend-cuda",
    "vmafx-conformance",
    "vmafx-cli",
    "vmafx-codegen",
    "vmafx-tests",
    "vmafx-gcnsim",
    "vmafx-guest",
    "vmafx-hipsim",
];

/// Crates that ship the models' figures, which have their own licence.
const CARRIES_MODELS: [&str; 2] = ["vmafx-models", "vmafx-cli"];

/// Folders in which `unsafe` may occur (each block with its reason).
const MAY_BE_UNSAFE: [&str; 8] = [
    "crates/api/",
    "crates/gpu/",
    "crates/backend-",
    "crates/fences/",
    "crates/capi/",
    "crates/libvmaf-compat/",
    "examples/",
    "tests/",
];

/// Folders that must not know a vendor, and the words that would show it.
const VENDOR_FREE: [&str; 3] = ["crates/engine/", "crates/metrics/", "crates/models/"];
const VENDOR_WORDS: [&str; 6] = ["hip", "cuda", "vulkan", "amd", "nvidia", "rocm"];

/// Folders whose numbers reach a score: no mathematics but our own.
const OWN_MATH: [&str; 4] = [
    "crates/metrics/src/",
    "crates/models/src/",
    "crates/engine/src/",
    "crates/backend-",
];
const FOREIGN_MATH: [&str; 23] = [
    "ln", "ln_1p", "log", "log2", "log10", "exp", "exp2", "exp_m1", "powf", "powi", "cbrt", "sin",
    "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "mul_add", "hypot",
];

/// Longest source file, in lines: past that a file is more than one room.
const MAX_LINES: usize = 750;

/// Checks every rule.
///
/// # Errors
/// The number of findings, each printed before.
pub(crate) fn run() -> Result<(), Failure> {
    let mut findings = dependencies()?;
    for path in tracked_files()? {
        let Ok(text) = std::fs::read_to_string(workspace_root().join(&path)) else {
            continue;
        };
        findings.extend(file(&path.to_string_lossy(), &text));
    }
    let architecture = std::fs::read_to_string(workspace_root().join("ARCHITECTURE.md"))?;
    for folder in members()? {
        if !architecture.contains(&format!("`{folder}`")) {
            findings.push(format!(
                "ARCHITECTURE.md: `{folder}` is not in the crate map"
            ));
        }
    }
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("tidy: {n} findings").into()),
    }
}

/// Files that git tracks or would track.
fn tracked_files() -> Result<Vec<PathBuf>, Failure> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(workspace_root())
        .output()?;
    if !output.status.success() {
        return Err("tidy: `git ls-files` failed; run it in a checkout".into());
    }
    let list = String::from_utf8(output.stdout)?;
    Ok(list.lines().map(PathBuf::from).collect())
}

fn members() -> Result<Vec<String>, Failure> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.clone();
    let folder = |path: &cargo_metadata::camino::Utf8Path| {
        let parent = path.parent().unwrap_or(path);
        parent.strip_prefix(&root).unwrap_or(parent).to_string()
    };
    Ok(metadata
        .packages
        .iter()
        .map(|p| folder(&p.manifest_path))
        .collect())
}

fn dependencies() -> Result<Vec<String>, Failure> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut findings = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = DEPENDENCIES.iter().find(|(n, _)| *n == name) else {
            findings.push(format!(
                "{name}: not in the table of xtask/src/tidy.rs; place it first"
            ));
            continue;
        };
        let ours = |n: &str| DEPENDENCIES.iter().any(|(known, _)| *known == n);
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            let development = dependency.kind == DependencyKind::Development;
            if ours(to) && !development && !allowed.contains(&to) {
                findings.push(format!("{name}: must not depend on {to}"));
            }
        }
        let manifest = std::fs::read_to_string(&package.manifest_path)?;
        if !manifest.contains("[lints]\nworkspace = true") {
            findings.push(format!("{name}: Cargo.toml lacks the workspace's lints"));
        }
        let license = package.license.as_deref().unwrap_or_default();
        let wanted = match CARRIES_MODELS.contains(&name) {
            true => "(Apache-2.0 OR MIT) AND BSD-2-Clause-Patent",
            false => "Apache-2.0 OR MIT",
        };
        if license != wanted {
            findings.push(format!(
                "{name}: the licence is `{license}`, not `{wanted}`"
            ));
        }
        if package
            .description
            .as_deref()
            .unwrap_or_default()
            .is_empty()
        {
            findings.push(format!("{name}: Cargo.toml lacks a description"));
        }
    }
    Ok(findings)
}

/// The rules of one file; `path` is relative to the root.
fn file(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let within = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let is_rust = path.ends_with(".rs");
    // This file has to spell what it looks for.
    let is_self = path == "xtask/src/tidy.rs";
    if is_rust && !text.starts_with("//!") {
        findings.push(format!(
            "{path}: does not start with a `//!` that says what it is"
        ));
    }
    let lines = text.lines().count();
    if is_rust && lines > MAX_LINES {
        findings.push(format!(
            "{path}: {lines} lines; past {MAX_LINES} it is more than one room"
        ));
    }
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    if is_rust && is_root && !within(&MAY_BE_UNSAFE) && !text.contains("#![forbid(unsafe_code)]") {
        findings.push(format!("{path}: lacks `#![forbid(unsafe_code)]`"));
    }
    let mut in_tests = path.contains("/tests");
    let mut before = "";
    for (at, line) in text.lines().enumerate() {
        let at = at + 1;
        // A test module within the file is its last item.
        in_tests |= before.trim() == "#[cfg(test)]" && line.trim_end().ends_with('{');
        before = line;
        if is_self {
            continue;
        }
        if is_rust && within(&VENDOR_FREE) {
            for word in words(line)
                .iter()
                .filter(|word| VENDOR_WORDS.contains(&word.as_str()))
            {
                findings.push(format!("{path}:{at}: vendor word `{word}`"));
            }
        }
        let counts = path.contains("/src/") && within(&OWN_MATH);
        if is_rust && counts && !in_tests && !line.trim_start().starts_with("//") {
            for name in FOREIGN_MATH {
                let calls = [".", "f64::", "f32::"].map(|before| format!("{before}{name}("));
                if calls.iter().any(|call| line.contains(call)) {
                    findings.push(format!(
                        "{path}:{at}: `{name}` is another's; use metrics::math"
                    ));
                }
            }
        }
        if is_rust && (line.contains("todo!(") || line.contains("unimplemented!(")) {
            findings.push(format!("{path}:{at}: unfinished"));
        }
        let prose = is_rust
            || [".md", ".toml", ".sh"]
                .iter()
                .any(|end| path.ends_with(end));
        if prose && (line.contains("/home/") || line.contains("/root/")) {
            findings.push(format!("{path}:{at}: a path of one machine"));
        }
        if prose && !path.ends_with(".md") && line.ends_with(' ') {
            findings.push(format!("{path}:{at}: trailing space"));
        }
    }
    findings
}

/// Words of a line, split at everything that is no letter and before each capital that follows
/// a small letter.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut small = false;
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || small && c.is_ascii_uppercase() {
            words.push(std::mem::take(&mut word));
        }
        small = c.is_ascii_lowercase();
        if c.is_ascii_alphabetic() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str, part: &str) {
        let findings = file(path, text);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains(part), "{findings:?}");
    }

    #[test]
    fn planted_defects_are_found() {
        one(
            "crates/engine/src/a.rs",
            "//! x\n// the CUDA way\n",
            "vendor word `cuda`",
        );
        one(
            "crates/engine/src/a.rs",
            "//! x\nstruct HipDevice;\n",
            "vendor word `hip`",
        );
        one(
            "crates/engine/src/a.rs",
            "//! x\n#[cfg(test)]\nmod tests;\nlet y = f64::ln(x);\n",
            "`ln`",
        );
        one(
            "crates/metrics/src/a.rs",
            "//! x\nlet y = x.ln();\n",
            "`ln`",
        );
        one("crates/metrics/src/a.rs", "fn f() {}\n", "does not start");
        one("crates/engine/src/lib.rs", "//! x\n", "forbid(unsafe_code)");
        one("crates/cli/src/a.rs", "//! x\ntodo!()\n", "unfinished");
        one("docs/a.md", "see /home/me\n", "one machine");
        one(
            "crates/cli/src/a.rs",
            "//! x\nfn f() {} \n",
            "trailing space",
        );
        one(
            "crates/cli/src/a.rs",
            &("//! x\n".to_owned() + &"\n".repeat(MAX_LINES)),
            "751 lines",
        );
    }

    #[test]
    fn what_is_right_passes() {
        assert_eq!(
            file("crates/metrics/src/a.rs", "//! ship\n"),
            Vec::<String>::new()
        );
        let tested = "//! x\n#[cfg(test)]\nmod tests {\n1f64.ln();\n}\n";
        assert_eq!(
            file("crates/metrics/src/a.rs", tested),
            Vec::<String>::new()
        );
        assert_eq!(
            file("crates/gpu/src/lib.rs", "//! x\n"),
            Vec::<String>::new()
        );
    }
}
