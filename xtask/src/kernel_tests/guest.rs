//! The machine that the tests run in: what its first file system holds, and the emulator that runs
//! it.
//!
//! The emulator translates every instruction: hardware virtualisation is not asked for, because
//! where it is there it may not boot a stock kernel. What programs print comes over a virtual
//! console of its own, the kernel's log goes to a file.

use std::fs;
use std::io::{BufRead as _, BufReader};
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

/// Boots the guest and passes on what it prints until it ends, or `limit` does. The kernel's log
/// goes to `log`.
///
/// # Errors
/// An emulator that cannot be run.
pub(super) fn run(
    image: &Path,
    archive: &Path,
    log: &Path,
    limit: Duration,
) -> Result<Ran, Failure> {
    let memory = MEMORY + 2 * fs::metadata(archive)?.len().div_ceil(1 << 20);
    let mut command = Command::new(EMULATOR);
    command
        .args(["-M", "pc", "-accel", "tcg", "-cpu", "max", "-smp", "1"])
        .args(["-m", &memory.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .arg("-no-reboot")
        .args(["-device", "virtio-gpu-pci"])
        .args(["-serial", &format!("file:{}", log.display())])
        .args(["-device", "virtio-serial-pci"])
        .args(["-chardev", "stdio,id=results"])
        .args(["-device", "virtconsole,chardev=results"])
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x4"])
        .arg("-kernel")
        .arg(image)
        .arg("-initrd")
        .arg(archive)
        .args(["-append", "console=ttyS0 quiet oops=panic panic=-1"]);
    watch(command, limit)
}

/// Runs the emulator to its end, or to that of `limit`.
fn watch(mut command: Command, limit: Duration) -> Result<Ran, Failure> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().map_err(|error| {
        let program = command.get_program().display();
        format!("kernel-tests: {program} cannot be run: {error}; scripts/setup.sh installs it")
    })?;
    let output = child.stdout.take().ok_or("the emulator has no output")?;
    let errors = child.stderr.take().ok_or("the emulator has no errors")?;
    let output = std::thread::spawn(move || {
        let mut lines = Vec::new();
        let mut boot = None;
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            println!("{line}");
            if boot.is_none() && Said::parse(&line).is_ok() {
                boot = Some(begin.elapsed());
            }
            lines.push(line);
        }
        (lines, boot)
    });
    let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break match status.code() {
                Some(code) => Ended::Status(code),
                None => Ended::Otherwise(status.to_string()),
            };
        }
        if begin.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break Ended::Limit(limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let panicked = |_| "a reader of the emulator panicked";
    let (lines, boot) = output.join().map_err(panicked)?;
    let errors = errors.join().map_err(panicked)?;
    let whole = begin.elapsed();
    let boot = boot.unwrap_or(whole);
    Ok(Ran {
        lines,
        ended,
        errors,
        boot,
        tests: whole.saturating_sub(boot),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| format!("kernel-tests: {}: {error}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_tests::results::Output;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn what_the_emulator_does_is_told() {
        let long = Duration::from_secs(60);
        let text = "echo BIOS; echo KERNEL-TESTS kernel 6.1; echo bad >&2; exit 33";
        let ran = watch(shell(text), long).unwrap();
        assert_eq!(ran.lines, ["BIOS", "KERNEL-TESTS kernel 6.1"]);
        assert_eq!(
            (ran.ended, ran.errors.as_str()),
            (Ended::Status(33), "bad\n")
        );
        let ran = watch(shell("kill -9 $$"), long).unwrap();
        let killed = Ended::Otherwise("signal: 9 (SIGKILL)".to_owned());
        assert_eq!((ran.ended, ran.lines), (killed, vec![]));
        let hangs = shell("echo KERNEL-TESTS begin x; exec sleep 600");
        let ran = watch(hangs, Duration::from_secs(1)).unwrap();
        assert_eq!(ran.ended, Ended::Limit(1));
        assert_eq!(ran.lines, ["KERNEL-TESTS begin x"]);
        let error = watch(Command::new("qemu-none"), long).err().unwrap();
        assert!(error.to_string().contains("qemu-none cannot be run"));
    }

    #[test]
    fn a_dynamic_program_comes_with_its_loader_and_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let extra = folder.path().join("data");
        fs::write(&extra, "data").unwrap();
        let program = Program {
            name: "shell".to_owned(),
            file: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".to_owned()],
            environment: vec![("LD_LIBRARY_PATH".to_owned(), "/own".to_owned())],
            files: vec![(extra, "/own/data".to_owned())],
            search: Vec::new(),
            output: Output::Tests { filtered: false },
        };
        let mut archive = Archive::default();
        let run = add(&mut archive, &program, &[]).unwrap();
        assert_eq!(run.path, "/programs/shell/sh");
        assert!(archive.holds("/programs/shell/sh") && archive.holds("/own/data"));
        assert!(archive.holds("/lib64/ld-linux-x86-64.so.2"));
        let (_, value) = &run.environment[0];
        let folders: Vec<_> = value.split(':').collect();
        assert_eq!(folders[0], "/own");
        assert!(
            folders[1..]
                .iter()
                .any(|f| archive.holds(&format!("{f}/libc.so.6")))
        );

        let dynamic = Programs {
            init: PathBuf::from("/bin/sh"),
            list: Vec::new(),
        };
        let error = pack(&[], &dynamic).unwrap_err().to_string();
        assert!(error.contains("/bin/sh is not static"), "{error}");
    }
}
