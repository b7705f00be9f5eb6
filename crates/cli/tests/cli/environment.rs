//! `docs/environment.md`: exit codes, environment variables, the temporary file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::harness::{run, run_line, vmafx};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/environment.md")).unwrap()
}

/// Cells of the rows of the table under `heading`.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = page();
    let (_, section) = page.split_once(&format!("## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(2);
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

#[test]
fn exit_codes_are_those_of_the_page() {
    let told = run_line("help exit-codes").ok().stdout;
    let told = told.lines().filter(|line| line.starts_with(' '));
    let told: Vec<_> = told
        .map(|line| {
            let (code, rest) = line.trim().split_once("  ").unwrap();
            let (word, meaning) = rest.split_once(": ").unwrap_or((rest, ""));
            [code, word, meaning].map(str::to_owned)
        })
        .collect();
    let table = table("Exit codes");
    assert_eq!(table.len(), told.len());
    for (row, told) in table.iter().zip(&told) {
        assert_eq!(row[..2], told[..2]);
        assert!(told[2].is_empty() || row[2] == told[2], "{row:?}\n{told:?}");
    }
}

/// Adds the names of variables that the sources below `folder` contain in quotes.
fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let quoted = text.split('"').filter(|part| {
                let capital = |c: char| c.is_ascii_uppercase() || c == '_';
                // What `plugin.h` defines begins as variables do.
                let of_header = part.starts_with("VMAFX_PLUGIN_");
                part.starts_with("VMAFX_") && !of_header && part.chars().all(capital)
            });
            names.extend(quoted.map(str::to_owned));
        }
    }
}

#[test]
fn variables_are_those_of_the_page() {
    let mut used = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        for sources in ["src", "build"].map(|name| folder.join(name)) {
            if sources.is_dir() {
                collect(&sources, &mut used);
            }
        }
    }
    collect(&root().join("tests/src"), &mut used);
    let told = table("Environment variables").into_iter();
    let told = told.flat_map(|row| {
        let names = row[0]
            .split(", ")
            .map(|name| name.trim_matches('`').to_owned());
        names.collect::<Vec<_>>()
    });
    let told: BTreeSet<_> = told.filter(|name| name.starts_with("VMAFX_")).collect();
    assert_eq!(used, told);
}

#[test]
fn folders_of_models() {
    let mut command = vmafx("models --json");
    command
        .env("VMAFX_MODEL_PATH", "/a:/b")
        .env("XDG_DATA_HOME", "/c");
    command.env("XDG_DATA_DIRS", "/d:/e");
    let list: serde_json::Value = serde_json::from_str(&run(command).ok().stdout).unwrap();
    assert_eq!(
        list["folders"],
        serde_json::json!([
            "/a",
            "/b",
            "/c/vmafx/model",
            "/d/vmafx/model",
            "/e/vmafx/model",
            "/usr/local/share/model",
            "/usr/share/model"
        ])
    );
}

/// Without a temporary file a long clip is scored all the same, and says what that costs.
#[cfg(unix)]
#[test]
fn no_place_for_temporary_files() {
    let synth = "synth:tex,size=16x16,frames=1400";
    let line = format!("score {synth} {synth},dist=noise:3 -n --feature psnr --csv -o -");
    let report = |folder: Option<&str>| {
        let mut command = vmafx(&line);
        match folder {
            Some(folder) => command.env("TMPDIR", folder),
            None => command.env_remove("TMPDIR"),
        };
        run(command).ok()
    };
    let (with, without) = (report(None), report(Some("/nonexistent")));
    assert_eq!(with.stdout.lines().count(), 1401);
    assert_eq!(with.stdout, without.stdout);
    assert!(!with.stderr.contains("scores-in-memory"), "{}", with.stderr);
    assert!(
        without.stderr.contains("warning[scores-in-memory]"),
        "{}",
        without.stderr
    );
}
