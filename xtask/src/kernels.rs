//! `cargo xtask kernels`: the device code of every backend, in `target/kernels`.
//!
//! One compiler, no vendor's kit. Results:
//! - `<gfx>.hsaco`, `<sm>.ptx`: an object for each target (kernels/target.rs);
//! - `libvmafx_kernels_host.so`: the same kernels for the simulated device;
//! - `hip.table` and `hip.zst`, `cuda.table` and `cuda.zst`: what the plugins carry (pack.rs);
//! - `hip-targets.json`: the targets of AMD, the compiler and a digest of the sources. ROCm's
//!   release and commit are not in it, since nothing of ROCm takes part; nor is the commit of the
//!   sources, which whoever packages knows better than a build in an unpacked archive;
//! - `listing.json`, with `--check`: registers, memory and instructions of each kernel of AMD.
//!
//! `--check` reads every object of AMD again (object.rs, listing.rs) and compares what it found with
//! `kernels/golden.txt`, which `--bless` writes (golden.rs); `--report` prints it. PTX is checked
//! always, since that needs no tool.
//!
//! What must stay true: results are functions of sources, flags and compiler alone, so two builds
//! have the same bytes; and no other task needs the compiler.

mod allowed;
mod compile;
mod golden;
mod host;
mod listing;
mod object;
mod pack;
mod ptx;
mod report;
mod target;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::time::Instant;

use sha2::{Digest, Sha256};
use vmafx_gcnsim::compiler::{self, Toolchain};
use vmafx_tests::data::workspace_root;

use crate::Failure;
use allowed::Allowed;
use compile::{Build, file_error, write};
use golden::Golden;
use target::{Kind, Target};

/// What to build.
pub(crate) struct Settings {
    /// Names of targets; none means all.
    pub(crate) targets: Vec<String>,
    /// Check the objects of AMD, too.
    pub(crate) check: bool,
    /// Print what the check found of registers, memory and instructions.
    pub(crate) report: bool,
    /// Check, and write what was found as what is expected from now on; needs all targets.
    pub(crate) bless: bool,
}

/// Builds, and checks and reports if asked to.
///
/// # Errors
/// No compiler, a target that does not exist, sources that do not compile, findings, differences.
pub(crate) fn run(settings: &Settings) -> Result<(), Failure> {
    let begin = Instant::now();
    let targets = choose(&settings.targets)?;
    let toolchain = compiler::find(|name| std::env::var_os(name))?;
    println!("kernels: {}", toolchain.version);
    let output = crate::program::target().join("kernels");
    fs::create_dir_all(&output)?;
    let output = output.canonicalize()?;
    let build = Build {
        toolchain: &toolchain,
        root: workspace_root(),
        output: &output,
        flags: &[],
    };
    let done = build.run(&targets)?;
    let allowed = read(&workspace_root().join(allowed::PATH))?;
    let mut allowed = Allowed::parse(&String::from_utf8_lossy(&allowed))?;
    let mut findings = Vec::new();
    let mut results: Vec<String> = targets.iter().map(Target::output).collect();
    for &target in targets.iter().filter(|target| target.is_nvidia()) {
        let module = read(&output.join(target.output()))?;
        let module = String::from_utf8_lossy(&module);
        let found = ptx::findings(&module, &build.units(target)?, &mut allowed).into_iter();
        findings.extend(found.map(|finding| format!("{}: {finding}", target.output())));
    }
    let mut now = None;
    if settings.check || settings.report || settings.bless {
        let report = report::Report::read(&output, &targets, &mut allowed)?;
        findings.extend_from_slice(&report.findings);
        write(&output.join("listing.json"), report.json().as_bytes())?;
        let golden = Golden::of(&report, &toolchain.identity);
        if settings.report {
            print!("{golden}");
        }
        if settings.targets.is_empty() {
            findings.extend(allowed.unneeded());
        }
        now = Some(golden);
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    let differences = match &now {
        Some(now) if settings.bless && findings.is_empty() => bless(now)?,
        Some(now) if !settings.bless => compare(now, settings.targets.is_empty())?,
        _ => 0,
    };
    if !findings.is_empty() {
        let count = findings.len();
        let more = match differences {
            0 => String::new(),
            n => format!(", and {n} differences from {}", golden::PATH),
        };
        return Err(format!("kernels: {count} findings, which nothing accepts{more}").into());
    }
    if differences > 0 {
        return Err(format!(
            "kernels: {differences} differences from {}; if they are meant, `{}` accepts them: \
             commit the file with the kernels, for its diff is part of the review",
            golden::PATH,
            golden::ACCEPT
        )
        .into());
    }
    if settings.targets.is_empty() {
        results.extend(packs(&output, &targets)?);
        let path = output.join("hip-targets.json");
        write(&path, describe(&toolchain, &targets)?.as_bytes())?;
        results.push("hip-targets.json".to_owned());
    } else {
        println!("kernels: some targets only, so tables and hip-targets.json stay as they were");
    }
    for name in results {
        let bytes = read(&output.join(&name))?;
        println!("{:<26} {:>8} {}", name, bytes.len(), digest(&bytes));
    }
    println!(
        "kernels: {} compilations, {} new objects, {:.1} s; {}",
        done.compiled.len(),
        done.linked.len(),
        begin.elapsed().as_secs_f64(),
        output.display()
    );
    Ok(())
}

/// Prints how the kernels differ from those of the file and counts what must not differ.
fn compare(now: &Golden, is_whole: bool) -> Result<usize, String> {
    let path = workspace_root().join(golden::PATH);
    let text = fs::read_to_string(&path).map_err(|error| {
        let error = file_error(&path, &error);
        format!("{error}; `{}` writes it", golden::ACCEPT)
    })?;
    let comparison = Golden::parse(&text)?.compare(now, is_whole);
    for note in &comparison.notes {
        println!("note: {note}");
    }
    for difference in &comparison.differences {
        eprintln!("{difference}");
    }
    Ok(comparison.differences.len())
}

/// Writes the file. There is no difference afterwards.
fn bless(now: &Golden) -> Result<usize, String> {
    let path = workspace_root().join(golden::PATH);
    let text = now.text();
    if fs::read_to_string(&path).is_ok_and(|before| before == text) {
        println!("kernels: {} stays as it was", golden::PATH);
    } else {
        write(&path, text.as_bytes())?;
        println!("kernels: {} is new; review its diff", golden::PATH);
    }
    Ok(0)
}

/// The names of AMD's processors, then of the families, in the order of the tables.
pub(crate) fn of_amd() -> impl Iterator<Item = &'static str> {
    let targets = target::all().into_iter();
    let own = targets.filter(Target::is_amd);
    own.map(|target| target.name)
}

/// The targets with these names, in the order of the tables, and the host, whose library knows
/// the kernels.
fn choose(names: &[String]) -> Result<Vec<Target>, String> {
    let all = target::all();
    if names.is_empty() {
        return Ok(all);
    }
    for name in names {
        if !all.iter().any(|target| target.name == name) {
            let known: Vec<_> = all.iter().map(|target| target.name).collect();
            return Err(format!(
                "there is no target `{name}`; there are {}",
                known.join(", ")
            ));
        }
    }
    let chosen =
        |target: &Target| target.kind == Kind::Host || names.iter().any(|name| target.name == name);
    Ok(all.into_iter().filter(chosen).collect())
}

/// Writes the tables and streams of the plugins and names them.
fn packs(output: &Path, targets: &[Target]) -> Result<Vec<String>, String> {
    let mut written = Vec::new();
    for plugin in ["hip", "cuda"] {
        let belongs = |target: &&Target| match plugin {
            "hip" => target.is_amd(),
            _ => target.is_nvidia(),
        };
        let mut objects = Vec::new();
        for target in targets.iter().filter(belongs) {
            objects.push((target.name, read(&output.join(target.output()))?));
        }
        let pack = pack::pack(&objects).map_err(|reason| format!("{plugin}.zst: {reason}"))?;
        for (extension, bytes) in [("table", pack.table.as_bytes()), ("zst", &pack.packed)] {
            let name = format!("{plugin}.{extension}");
            write(&output.join(&name), bytes)?;
            written.push(name);
        }
    }
    Ok(written)
}

/// The text of `hip-targets.json`.
fn describe(toolchain: &Toolchain, targets: &[Target]) -> Result<String, String> {
    let names = |kind| {
        let of_kind = targets.iter().filter(|target| target.kind == kind);
        let mut names: Vec<_> = of_kind.map(|target| target.name).collect();
        names.sort_unstable();
        names
    };
    let version = |kind| {
        let mut versions = targets.iter().filter(|target| target.kind == kind);
        versions.next().and_then(Target::code_object_version)
    };
    let value = serde_json::json!({
        "targets": names(Kind::Amd),
        "generic_targets": names(Kind::AmdGeneric),
        "code_object_version": version(Kind::Amd),
        "generic_code_object_version": version(Kind::AmdGeneric),
        "compiler": toolchain.version,
        "sources_sha256": compile::source_digest(workspace_root())?,
    });
    Ok(format!("{value:#}\n"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| file_error(path, &error))
}

/// SHA-256 in hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
