//! Compiles the kernels of these tests, as the shipped ones are compiled.
//!
//! An object is made once in a run, whoever asks for it first. A missing compiler fails the test
//! that needs it, and says what to install.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use vmafx_gcnsim::compiler::{self, Toolchain};
use vmafx_gcnsim::target::{self, FAMILIES, PROCESSORS};
use vmafx_gcnsim::{Program, disassembly};

/// One target of each generation of instructions.
pub(crate) const GENERATIONS: [&str; 10] = [
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200",
    "gfx1250",
];

/// A machine that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target(pub(crate) &'static str);

impl Target {
    /// All that kernels are shipped for.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        PROCESSORS.into_iter().chain(FAMILIES).map(Self)
    }

    /// 9 to 12.
    pub(crate) fn generation(self) -> u32 {
        match self.0.as_bytes() {
            [b'g', b'f', b'x', b'1', unit, ..] => 10 + u32::from(unit - b'0'),
            _ => 9,
        }
    }

    /// Lanes of a wave.
    pub(crate) fn wave(self) -> u32 {
        match self.generation() {
            9 => 64,
            _ => 32,
        }
    }
}

/// Flags beyond the usual ones.
pub(crate) type More = &'static [&'static str];

/// The object of a unit.
///
/// # Errors
/// Why there is none.
pub(crate) fn image(unit: &'static str, target: Target, more: More) -> Result<Arc<[u8]>, String> {
    type Made = Arc<OnceLock<Result<Arc<[u8]>, String>>>;
    static MADE: Mutex<BTreeMap<(&str, Target, More), Made>> = Mutex::new(BTreeMap::new());
    let made = {
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry((unit, target, more)).or_default())
    };
    made.get_or_init(|| compile(unit, target, more)).clone()
}

/// A unit that is ready to run.
///
/// # Errors
/// Why it is not.
pub(crate) fn program(unit: &'static str, target: Target) -> Result<Program, String> {
    Program::load(&image(unit, target, &[])?).map_err(|error| error.to_string())
}

/// The listing of an object.
///
/// # Errors
/// What the disassembler says.
pub(crate) fn listing(image: &[u8]) -> Result<String, String> {
    disassembly::listing(disassembly::objdump()?, image)
}

fn compile(unit: &str, target: Target, more: More) -> Result<Arc<[u8]>, String> {
    static TOOLS: LazyLock<Result<Toolchain, String>> =
        LazyLock::new(|| compiler::find(|name| std::env::var_os(name)));
    let tools = TOOLS.as_ref().map_err(Clone::clone)?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (object, linked) = (folder.path().join("o"), folder.path().join("hsaco"));
    let mut command = tools.clang.command();
    command
        .args(target::flags(target.0))
        // Conversions that are out of range saturate, in Rust too.
        .arg("-fno-strict-float-cast-overflow")
        .arg(format!("-DWAVE={}", target.wave()))
        .arg(format!("-DGENERATION={}", target.generation()))
        .args(more)
        .arg("-I")
        .arg(here.join("../../kernels"))
        .arg("-c")
        .arg(here.join(format!("tests/proofs/kernels/{unit}.cpp")))
        .arg("-o")
        .arg(&object);
    run(&mut command)?;
    let mut command = tools.lld.command();
    command
        .args(["-shared", "--no-undefined", "-s", "-o"])
        .args([&linked, &object]);
    run(&mut command)?;
    let image = std::fs::read(&linked).map_err(|error| error.to_string())?;
    Ok(image.into())
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{name}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
