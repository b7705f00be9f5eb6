//! The kernels of `probe.cpp`, compiled once for the host and for the targets that a test asks
//! for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use vmafx_hipsim::blocks::Kernels;

/// What every kernel of `probe.cpp` takes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Args {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) count: u32,
    pub(crate) at: u32,
}

impl Args {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the structure has no padding.
        unsafe { std::slice::from_raw_parts((&raw const *self).cast(), size_of::<Self>()) }
    }
}

/// The kernels compiled for the host.
pub(crate) fn kernels() -> &'static Kernels {
    static OPEN: OnceLock<Kernels> = OnceLock::new();
    OPEN.get_or_init(|| {
        Kernels::open(&folder().join("libvmafx_kernels_host.so")).expect("kernels for the host")
    })
}

/// Where the compiled kernels lie, named as `cargo xtask kernels` names its own.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("probe");
        std::fs::create_dir_all(&folder).expect("a folder");
        let host = folder.join("host.cpp");
        let head = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/vx.h");
        let variable = "__attribute__((visibility(\"default\"))) vx_host_functions vx_host;";
        std::fs::write(&host, format!("#include {head:?}\n{variable}\n")).expect("a file");
        let flags = ["-fPIC", "-shared", "-nostdlib", "-mno-fma"];
        let flags = &flags[..flags.len() - usize::from(cfg!(not(target_arch = "x86_64")))];
        let to = folder.join("libvmafx_kernels_host.so");
        clang(flags, &[&source(), &host], &to);
        folder
    })
}

/// The code object for a target.
pub(crate) fn code_object(target: &str) -> Vec<u8> {
    static MADE: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().expect("a lock");
    made.entry(target.to_owned())
        .or_insert_with(|| object(target, &source(), &folder().join(format!("{target}.hsaco"))))
        .clone()
}

/// A code object of one kernel without arguments, for any target.
pub(crate) fn smallest_object(target: &str) -> Vec<u8> {
    let source = folder().join("smallest.cpp");
    let kernel =
        "extern \"C\" __attribute__((amdgpu_kernel, visibility(\"protected\"))) void k() {}";
    std::fs::write(&source, kernel).expect("a file");
    object(
        target,
        &source,
        &folder().join(format!("{target}-smallest.hsaco")),
    )
}

fn object(target: &str, source: &Path, to: &Path) -> Vec<u8> {
    let version = if target.ends_with("-generic") { 6 } else { 5 };
    let flags = [
        "--target=amdgcn-amd-amdhsa",
        &format!("-mcpu={target}"),
        &format!("-mcode-object-version={version}"),
        "-nogpulib",
        "-nogpuinc",
    ];
    clang(&flags, &[source], to);
    std::fs::read(to).expect("a code object")
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/probe.cpp")
}

fn clang(flags: &[&str], sources: &[&Path], to: &Path) {
    // Another test or another run may read `to` at this moment.
    let id = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let made = to.with_extension(id);
    let clang = std::env::var("VMAFX_CLANG").unwrap_or_else(|_| "clang-22".to_owned());
    let status = Command::new(&clang)
        .args(["-std=c++17", "-O2", "-ffreestanding", "-fno-exceptions"])
        .args(["-fno-rtti", "-fvisibility=hidden", "-Wall", "-Wextra"])
        .args(flags)
        .args(sources)
        .arg("-o")
        .arg(&made)
        .status();
    let status = status.unwrap_or_else(|e| {
        panic!("{clang}: {e}; these tests compile kernels: install clang-22 or set VMAFX_CLANG")
    });
    assert!(status.success(), "{clang} {sources:?}");
    std::fs::rename(made, to).expect("a file made");
}
