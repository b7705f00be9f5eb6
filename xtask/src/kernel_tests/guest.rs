//! The machine that the tests run in: what its first file system holds, and the emulator that runs
//! it.
//!
//! The emulator translates every instruction: hardware virtualisation is not asked for, because
//! where it is there it may not boot a stock kernel. What programs print comes over a virtual
//! console of its own, the kernel's log goes to a file.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vmafx_guest::{PLAN, Plan, Run, Said};

use super::archive::Archive;
use super::libraries::{Libraries, configured, needed};
use super::programs::{Program, Programs, file_name};
use super::results::Ended;
use crate::Failure;

/// The emulator, of Debian's package `qemu-system-x86`.
pub(super) const EMULATOR: &str = "qemu-system-x86_64";

/// Folders that file systems are mounted on.
const FOLDERS: [&str; 5] = ["/dev", "/proc", "/sys", "/tmp", "/modules"];

/// Memory of the guest in MiB, beside its archive, which it holds twice for a while.
const MEMORY: u64 = 240;

/// The archive that the guest starts from.
///
/// # Errors
/// A file that cannot be read, a library that is missing, a first program that needs one.
pub(super) fn pack(modules: &[PathBuf], programs: &Programs) -> Result<Vec<u8>, Failure> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.folder(folder)?;
    }
    if needed(std::slice::from_ref(&programs.init), &[], &[])? != Libraries::default() {
        let init = programs.init.display();
        return Err(format!("kernel-tests: {init} is not static").into());
    }
    archive.file("/init", read(&programs.init)?, true)?;
    let mut plan = Plan::default();
    for module in modules {
        let path = format!("/modules/{}", file_name(module));
        archive.file(&path, read(module)?, false)?;
        plan.modules.push(path);
    }
    let system = configured(Path::new("/etc/ld.so.conf"));
    for program in &programs.list {
        plan.programs.push(add(&mut archive, program, &system)?);
    }
    archive.file(PLAN, serde_json::to_vec_pretty(&plan)?, false)?;
    Ok(archive.bytes())
}

/// Adds a program with its files, its loader and its libraries, each at the path that it has here.
fn add(archive: &mut Archive, program: &Program, system: &[PathBuf]) -> Result<Run, Failure> {
    let path = format!("/programs/{}/{}", program.name, file_name(&program.file));
    archive.file(&path, read(&program.file)?, true)?;
    let mut objects = vec![program.file.clone()];
    for (here, there) in &program.files {
        let bytes = read(here)?;
        if bytes.starts_with(b"\x7fELF") {
            objects.push(here.clone());
        }
        archive.file(there, bytes, true)?;
    }
    let libraries = needed(&objects, &program.search, system)?;
    for file in libraries.loaders.iter().chain(&libraries.files) {
        let there = file.to_str().ok_or("a library's path is no text")?;
        if !archive.holds(there) {
            archive.file(there, read(file)?, true)?;
        }
    }
    let mut environment = program.environment.clone();
    environment.push(("TMPDIR".to_owned(), "/tmp".to_owned()));
    // The guest's loader has no list of folders, and `$ORIGIN` is another folder there.
    let folders: Vec<_> = libraries
        .folders()
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    if !folders.is_empty() {
        let own = environment
            .iter_mut()
            .find(|(name, _)| name == "LD_LIBRARY_PATH");
        match own {
            Some((_, value)) => *value = format!("{value}:{}", folders.join(":")),
            None => environment.push(("LD_LIBRARY_PATH".to_owned(), folders.join(":"))),
        }
    }
    Ok(Run {
        name: program.name.clone(),
        path,
        arguments: program.arguments.clone(),
        environment,
    })
}

/// A run of the guest.
pub(super) struct Ran {
    /// What came over the console for results.
    pub(super) lines: Vec<String>,
    /// How the emulator ended.
    pub(super) ended: Ended,
    /// What the emulator itself said.
    pub(super) errors: String,
    /// Until the first program spoke.
    pub(super) boot: Duration,
    /// From then on.
    pub(super) tests: Duration,
}

/// Boots the guest and passes on what it prints until it ends, or `limit` does.
///
/// # Errors
/// An emulator that cannot be run.
pub(super) fn run(
    image: &Path,
    archive: &Path,
    log: &Path,
    limit: Duration,
) -> Result<Ran, Failure> {
    let errors = log.with_extension("errors");
    let memory = MEMORY + 2 * fs::metadata(archive)?.len().div_ceil(1 << 20);
    let mut command = Command::new(EMULATOR);
    command
        .args(["-M", "pc", "-accel", "tcg", "-cpu", "max", "-smp", "1"])
        .args(["-m", &memory.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .arg("-no-reboot")
        .args(["-device", "virtio-gpu-pci"])
        .args(["-serial", &format!("file:{}", log.display())])
        .args([
            "-device",
            "virtio-serial-pci",
            "-chardev",
            "stdio,id=results",
        ])
        .args(["-device", "virtconsole,chardev=results"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x4"])
        .arg("-kernel")
        .arg(image)
        .arg("-initrd")
        .arg(archive)
        .args(["-append", "console=ttyS0 quiet oops=panic panic=-1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors)?);
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        format!("kernel-tests: {EMULATOR} cannot be run: {error}; scripts/setup.sh installs it")
    })?;
    let output = child.stdout.take().ok_or("the emulator has no output")?;
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        let mut boot = None;
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches('\r').to_owned();
            println!("{line}");
            if boot.is_none() && Said::parse(&line).is_ok() {
                boot = Some(begin.elapsed());
            }
            lines.push(line);
        }
        (lines, boot)
    });
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break match status.code() {
                Some(code) => Ended::Status(code),
                None => Ended::Otherwise(format!("signal {}", status.signal().unwrap_or(0))),
            };
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break Ended::Limit(limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (lines, boot) = reader
        .join()
        .map_err(|_| "the reader of results panicked")?;
    let whole = begin.elapsed();
    let boot = boot.unwrap_or(whole);
    Ok(Ran {
        lines,
        ended,
        errors: fs::read_to_string(&errors).unwrap_or_default(),
        boot,
        tests: whole.saturating_sub(boot),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| format!("kernel-tests: {}: {error}", path.display()).into())
}
