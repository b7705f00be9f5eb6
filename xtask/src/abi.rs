//! `cargo xtask abi`: the plugin interface only grows.
//!
//! `abi/plugin.lock` lists what libraries rely on; `abi/headers/rN` holds the headers of every
//! released revision, as they were. The task compares both with the tree. What must stay true:
//! it never writes a lock that breaks a rule, and never changes a frozen header.

mod lock;
mod reflection;
mod rules;

use std::collections::HashSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use vmafx_tests::data::workspace_root;

use crate::Failure;
use lock::Lock;

const LOCK: &str = "abi/plugin.lock";
const HEADERS: [&str; 2] = ["plugin.h", "plugin.hpp"];
/// In the form of the `sha256sum` program.
const SUMS: &str = "SHA256SUMS";
/// Most lines printed of a lock that is not current.
const SHOWN: usize = 20;

/// What to do after the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing: the tree has to agree with the lock.
    Check,
    /// Append to the lock what is new.
    Bless,
    /// Bless, then keep the headers of the current revision for ever.
    Freeze,
}

/// Compares the interface with its lock, and the frozen headers with their sums.
///
/// # Errors
/// A breach of a rule, a lock that is not current, a frozen header that was changed. Every
/// finding is printed before.
pub(crate) fn run(action: Action) -> Result<(), Failure> {
    let root = workspace_root();
    let released = frozen(root)?;
    vmafx_codegen::check(root)?;
    let old = match std::fs::read_to_string(root.join(LOCK)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{LOCK}: {error}").into()),
    };
    let changelog = std::fs::read_to_string(root.join("CHANGELOG.md"))?;
    let now = compare(root, &old, &changelog, released)?;
    let text = now.to_string();
    if action == Action::Check && text != old {
        let known: HashSet<&str> = old.lines().collect();
        let new: Vec<&str> = text.lines().filter(|line| !known.contains(line)).collect();
        for line in new.iter().take(SHOWN) {
            println!("not in the lock: {line}");
        }
        if new.len() > SHOWN {
            println!("and {} more", new.len() - SHOWN);
        }
        return Err(format!("{LOCK} is not current: run `cargo xtask abi --bless`").into());
    }
    if action != Action::Check {
        write(root, Path::new(LOCK), &text)?;
    }
    if action == Action::Freeze {
        freeze(root, now.numbers.revision)?;
        let now = compare(root, &text, &changelog, frozen(root)?)?;
        write(root, Path::new(LOCK), &now.to_string())?;
    }
    println!(
        "abi: {} items, revision {}, {} released",
        now.lines.len(),
        now.numbers.revision,
        frozen(root)?
    );
    Ok(())
}

/// The lock of the tree as it is, if it breaks no rule.
fn compare(root: &Path, old: &str, changelog: &str, released: u32) -> Result<Lock, Failure> {
    let now = Lock::parse(old).carry_over(reflection::now(root, released)?);
    let findings = rules::findings(old, &now.to_string(), changelog);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(now),
        1 => Err("abi: 1 finding; nothing was written".into()),
        n => Err(format!("abi: {n} findings; nothing was written").into()),
    }
}

/// The newest revision whose headers are frozen, 0 if there is none. Every frozen header is
/// compared with its sum.
fn frozen(root: &Path) -> Result<u32, Failure> {
    let mut revision = 0;
    loop {
        let relative = folder(revision + 1);
        let folder = root.join(&relative);
        if !folder.exists() {
            break;
        }
        let sums = std::fs::read_to_string(folder.join(SUMS))
            .map_err(|error| format!("{}: {error}", relative.join(SUMS).display()))?;
        if sums != self::sums(&folder)? {
            return Err(format!(
                "{}: a frozen header is not what {SUMS} says; it is never edited: restore it",
                relative.display()
            )
            .into());
        }
        revision += 1;
    }
    Ok(revision)
}

/// Keeps the headers of `revision`.
fn freeze(root: &Path, revision: u32) -> Result<(), Failure> {
    let folder = folder(revision);
    for name in HEADERS {
        let text = std::fs::read_to_string(root.join("include/vmafx").join(name))?;
        let kept = folder.join(name);
        match std::fs::read_to_string(root.join(&kept)) {
            Ok(before) if before == text => {}
            Ok(_) => {
                return Err(format!(
                    "{}: is frozen and differs from include/vmafx/{name}; raise ABI_REVISION",
                    kept.display()
                )
                .into());
            }
            Err(_) => write(root, &kept, &text)?,
        }
    }
    write(root, &folder.join(SUMS), &sums(&root.join(&folder))?)
}

fn folder(revision: u32) -> PathBuf {
    PathBuf::from(format!("abi/headers/r{revision}"))
}

fn sums(folder: &Path) -> Result<String, Failure> {
    let mut sums = String::new();
    for name in HEADERS {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for byte in Sha256::digest(&bytes) {
            write!(sums, "{byte:02x}")?;
        }
        writeln!(sums, "  {name}")?;
    }
    Ok(sums)
}

fn write(root: &Path, name: &Path, text: &str) -> Result<(), Failure> {
    let path = root.join(name);
    if std::fs::read_to_string(&path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", name.display()))?;
    println!("{}: written", name.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_headers_are_checked_and_never_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let include = root.path().join("include/vmafx");
        std::fs::create_dir_all(&include).unwrap();
        for name in HEADERS {
            std::fs::write(include.join(name), "one\n").unwrap();
        }
        assert_eq!(frozen(root.path()).unwrap(), 0);
        freeze(root.path(), 1).unwrap();
        freeze(root.path(), 1).unwrap();
        assert_eq!(frozen(root.path()).unwrap(), 1);
        std::fs::write(include.join("plugin.h"), "two\n").unwrap();
        let refusal = freeze(root.path(), 1).unwrap_err().to_string();
        assert!(refusal.contains("raise ABI_REVISION"), "{refusal}");
        freeze(root.path(), 2).unwrap();
        assert_eq!(frozen(root.path()).unwrap(), 2);
        std::fs::write(root.path().join(folder(1)).join("plugin.h"), "two\n").unwrap();
        let refusal = frozen(root.path()).unwrap_err().to_string();
        assert!(
            refusal.contains("abi/headers/r1: a frozen header"),
            "{refusal}"
        );
    }
}
