//! Compiles the kernels of these tests, as the shipped ones are compiled.
//!
//! An object is made once in a run, whoever asks for it first. A missing compiler fails the test
//! that needs it, and says what to install.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use vmafx_gcnsim::disassembly;
use vmafx_gcnsim::object::CodeObject;
use vmafx_gcnsim::tool::Tool;
use vmafx_gcnsim::{Error, Program};

/// What the kernels are shipped for, and the families that share an object.
const NAMES: [&str; 31] = [
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1010",
    "gfx1011",
    "gfx1012",
    "gfx1030",
    "gfx1031",
    "gfx1032",
    "gfx1033",
    "gfx1034",
    "gfx1035",
    "gfx1036",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1103",
    "gfx1150",
    "gfx1151",
    "gfx1152",
    "gfx1153",
    "gfx1200",
    "gfx1201",
    "gfx1250",
    "gfx9-generic",
    "gfx9-4-generic",
    "gfx10-1-generic",
    "gfx10-3-generic",
    "gfx11-generic",
    "gfx12-generic",
];

/// One target of each generation of instructions.
pub(crate) const FAMILIES: [&str; 10] = [
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200",
    "gfx1250",
];

const FLAGS: [&str; 17] = [
    "-std=c++17",
    "-O3",
    "-ffreestanding",
    "-nostdinc",
    "-fno-exceptions",
    "-fno-rtti",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-fast-math",
    "-fdenormal-fp-math=ieee",
    // Conversions that are out of range saturate, in Rust too.
    "-fno-strict-float-cast-overflow",
    "-fvisibility=hidden",
    "-fno-ident",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-nogpulib",
];

/// A machine that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target(pub(crate) &'static str);

impl Target {
    /// All of them.
    pub(crate) fn all() -> [Self; 31] {
        NAMES.map(Self)
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
    decode(&image(unit, target, &[])?).map_err(|error| error.to_string())
}

/// As [`Program::load`], but the disassembler is looked for once.
///
/// # Errors
/// As there.
pub(crate) fn decode(image: &[u8]) -> Result<Program, Error> {
    let object = CodeObject::read(image).map_err(Error::Object)?;
    let listing = listing(image).map_err(Error::Object)?;
    Program::decode(object, &listing)
}

/// The listing of an object.
///
/// # Errors
/// What the disassembler says.
pub(crate) fn listing(image: &[u8]) -> Result<String, String> {
    static OBJDUMP: LazyLock<Result<Tool, String>> =
        LazyLock::new(|| disassembly::objdump(|name| std::env::var_os(name)));
    disassembly::listing(OBJDUMP.as_ref().map_err(Clone::clone)?, image)
}

fn compile(unit: &str, target: Target, more: More) -> Result<Arc<[u8]>, String> {
    static TOOLS: LazyLock<Result<[Tool; 2], String>> = LazyLock::new(tools);
    let [clang, lld] = TOOLS.as_ref().map_err(Clone::clone)?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (object, linked) = (folder.path().join("o"), folder.path().join("hsaco"));
    let version = match target.0.ends_with("-generic") {
        true => 6,
        false => 5,
    };
    let mut command = clang.command();
    command
        .args(FLAGS)
        .arg("--target=amdgcn-amd-amdhsa")
        .arg(format!("-mcpu={}", target.0))
        .arg(format!("-mcode-object-version={version}"))
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
    let mut command = lld.command();
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

/// Compiler and linker: those that are named in `VMAFX_CLANG` and `VMAFX_LLD`, else Debian's.
fn tools() -> Result<[Tool; 2], String> {
    let named = |variable, usual: &str| match std::env::var_os(variable) {
        Some(path) => Tool::new(path, None),
        None => Tool::new(usual, None),
    };
    let tools = [
        named("VMAFX_CLANG", "clang-22"),
        named("VMAFX_LLD", "ld.lld-22"),
    ];
    for tool in &tools {
        tool.version().map_err(|reason| {
            format!(
                "{reason}\ninstall clang-22 and lld-22 (Debian 12's security suite has them; \
                 scripts/setup.sh does it), or name those of LLVM 22 or newer in VMAFX_CLANG and \
                 VMAFX_LLD"
            )
        })?;
    }
    Ok(tools)
}
