//! `cargo xtask models --from DIR`: writes the built-in models from upstream's JSON files.
//!
//! `DIR` is the `model` folder of a libvmaf source tree; the copy in the crates package
//! `libvmaf-sys` does too, although it lacks one file (see [`derived`]). The result must not
//! depend on which: the figures are the same.

use std::fs;
use std::path::Path;

use vmafx_models::{ModelSet, catalog};
use vmafx_tests::data::workspace_root;

use crate::Failure;

/// What stands above the figures; the readers skip it.
const NOTICE: &str = "\
# VMAF model. The figures are Netflix's: Copyright (c) 2020 Netflix, Inc.
# SPDX-License-Identifier: BSD-2-Clause-Patent
# Only the form is ours: written by `cargo xtask models`, described in crates/models/src/native.rs.
";

/// Rewrites `crates/models/data/*.model`.
///
/// # Errors
/// A file that cannot be read, understood or written.
pub(crate) fn run(dir: &Path) -> Result<(), Failure> {
    for name in catalog::builtin_names() {
        let text = match name {
            "vmaf_4k_v0.6.1neg" if !dir.join(format!("{name}.json")).exists() => derived(dir)?,
            _ => native(dir, name)?,
        };
        let (format, figures) = text.split_once('\n').ok_or("a model of one line")?;
        let path = workspace_root().join(format!("crates/models/data/{name}.model"));
        fs::write(&path, format!("{format}\n{NOTICE}{figures}"))?;
        println!("{name}: {} bytes", fs::metadata(&path)?.len());
    }
    Ok(())
}

fn native(dir: &Path, name: &str) -> Result<String, Failure> {
    let set = catalog::load(&dir.join(format!("{name}.json")))?;
    let text = set.to_native();
    // The bytes that ship must give the figures that were read.
    let again = ModelSet::from_native(text.as_bytes())?;
    if again.to_native() != text || again.figures_sha256() != set.figures_sha256() {
        return Err(format!("{name}: reading back gave other figures").into());
    }
    Ok(text)
}

/// The 4K model without enhancement gain, for packages that lack its file: upstream's is the 4K
/// model with the feature options of `vmaf_v0.6.1neg`.
fn derived(dir: &Path) -> Result<String, Failure> {
    let neg = native(dir, "vmaf_v0.6.1neg")?;
    let mut features = neg.lines().filter(|line| line.starts_with("feature "));
    let mut text = String::new();
    for line in native(dir, "vmaf_4k_v0.6.1")?.lines() {
        let line = match line.starts_with("feature ") {
            true => features
                .next()
                .ok_or("the 4K model has more features than the other")?,
            false => line,
        };
        text.push_str(line);
        text.push('\n');
    }
    Ok(text)
}
