//! `vmafx-guest-init`: the first program of the machine of the kernel tests. It mounts what the
//! kernel offers, loads modules, runs the programs of the plan, and ends the machine.
//!
//! It is linked statically, because nothing else is there. What must stay true: it says that all
//! went well only after everything did. If it dies the kernel panics, which the other side takes
//! for a failure.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("vmafx-guest-init runs as the first program of a Linux machine");
    std::process::exit(1);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, Write as _};
    use std::os::unix::fs::FileExt as _;
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use rustix::mount::{MountFlags, mount};
    use rustix::system::{RebootCommand, finit_module, reboot};
    use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};

    use vmafx_guest::{BUFFERS, Ending, PLAN, Plan, Run, Said, buffers, complaints};

    type Failure = Box<dyn std::error::Error>;

    /// Type, place.
    const MOUNTS: [(&str, &str); 5] = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("debugfs", "/sys/kernel/debug"),
        ("tmpfs", "/tmp"),
    ];

    /// Where results go: a line to the other side that the kernel does not write to.
    const RESULTS: &str = "/dev/hvc0";

    /// `finit_module`'s `MODULE_INIT_COMPRESSED_FILE` (`include/uapi/linux/module.h`).
    const COMPRESSED: i32 = 4;

    /// How long the kernel may take to let go of what a program had.
    const RELEASE: Duration = Duration::from_secs(2);

    pub(crate) fn main() {
        let (ending, mut results) = match begin() {
            Ok(mut results) => {
                let failed = run(&mut results).unwrap_or_else(|failure| {
                    say(&mut results, &Said::Fault(failure.to_string()));
                    true
                });
                say(&mut results, &Said::Over(i32::from(failed)));
                let ending = match failed {
                    true => Ending::Failed,
                    false => Ending::Passed,
                };
                (ending, Some(results))
            }
            // To the kernel's console, the only place there is.
            Err(failure) => {
                eprintln!("vmafx-guest-init: {failure}");
                (Ending::Failed, None)
            }
        };
        if let Some(results) = &mut results {
            let _ = results.flush();
            let _ = tcdrain(&*results);
        }
        // What the emulator has taken it still has to hand on.
        sleep(Duration::from_millis(100));
        if let Err(error) = end(ending) {
            eprintln!("vmafx-guest-init: the exit device: {error}");
        }
        sleep(Duration::from_secs(5));
        let _ = reboot(RebootCommand::PowerOff);
    }

    /// Mounts what there is and opens the line for results.
    fn begin() -> Result<File, Failure> {
        for (kind, place) in MOUNTS {
            mount(kind, place, kind, MountFlags::empty(), None)
                .map_err(|error| format!("{kind} cannot be mounted at {place}: {error}"))?;
        }
        let results = OpenOptions::new().read(true).write(true).open(RESULTS);
        let results = results.map_err(|error| format!("{RESULTS}: {error}"))?;
        // No carriage returns in what programs print.
        let mut terminal = tcgetattr(&results)?;
        terminal.make_raw();
        tcsetattr(&results, OptionalActions::Now, &terminal)?;
        Ok(results)
    }

    /// Follows the plan; tells whether something failed.
    fn run(results: &mut File) -> Result<bool, Failure> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        say(results, &Said::Kernel(release.trim().to_owned()));
        let text = fs::read_to_string(PLAN).map_err(|error| format!("{PLAN}: {error}"))?;
        let plan: Plan = serde_json::from_str(&text).map_err(|error| format!("{PLAN}: {error}"))?;
        let mut held = complaints(tainted()?);
        for module in &plan.modules {
            let flags = match module.ends_with(".ko") {
                true => 0,
                false => COMPRESSED,
            };
            let file = File::open(module).map_err(|error| format!("{module}: {error}"))?;
            finit_module(&file, c"", flags)
                .map_err(|error| format!("{module} cannot be loaded: {error}"))?;
        }
        let mut failed = complained(&mut held, "while modules were loaded", results)?;
        for program in &plan.programs {
            let name = &program.name;
            let before = count()?.0;
            say(results, &Said::Begin(name.clone()));
            let status = execute(program, results);
            failed |= status != "exit status: 0";
            say(results, &Said::End(name.clone(), status));
            let (after, list) = released(before)?;
            if after > before {
                let text = format!("{name} left {} dma-bufs behind", after - before);
                say(results, &Said::Fault(text));
                results.write_all(list.as_bytes())?;
                failed = true;
            }
            failed |= complained(&mut held, &format!("during {name}"), results)?;
        }
        Ok(failed)
    }

    /// Tells what the kernel holds against itself and did not before.
    fn complained(
        held: &mut Vec<&'static str>,
        when: &str,
        results: &mut File,
    ) -> Result<bool, Failure> {
        let now = complaints(tainted()?);
        let new: Vec<_> = now.iter().filter(|text| !held.contains(text)).collect();
        for text in &new {
            say(results, &Said::Fault(format!("the kernel {text} {when}")));
        }
        let any = !new.is_empty();
        *held = now;
        Ok(any)
    }

    /// Runs a program to its end; how it ended.
    fn execute(program: &Run, results: &File) -> String {
        let line = || results.try_clone().map(Stdio::from);
        let status = line().and_then(|out| {
            Command::new(&program.path)
                .args(&program.arguments)
                .env_clear()
                .envs(program.environment.iter().cloned())
                .current_dir("/tmp")
                .stdin(Stdio::null())
                .stdout(out)
                .stderr(line()?)
                .status()
        });
        match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("cannot be run: {error}"),
        }
    }

    /// The number of dma-bufs after what a program had has been let go, with the kernel's list.
    fn released(before: u64) -> Result<(u64, String), Failure> {
        let begin = Instant::now();
        loop {
            let counted = count()?;
            if counted.0 <= before || begin.elapsed() > RELEASE {
                return Ok(counted);
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn count() -> Result<(u64, String), Failure> {
        let list = fs::read_to_string(BUFFERS).map_err(|error| format!("{BUFFERS}: {error}"))?;
        let count = buffers(&list).ok_or_else(|| format!("{BUFFERS} has no sum"))?;
        Ok((count, list))
    }

    fn tainted() -> Result<u64, Failure> {
        let text = fs::read_to_string("/proc/sys/kernel/tainted")?;
        Ok(text.trim().parse()?)
    }

    /// A line that cannot be written is missed by the other side, which is a failure there.
    fn say(results: &mut File, said: &Said) {
        let _ = writeln!(results, "{said}");
    }

    fn end(ending: Ending) -> io::Result<()> {
        let port = OpenOptions::new().write(true).open("/dev/port")?;
        port.write_at(&[ending.byte()], Ending::PORT).map(|_| ())
    }
}
