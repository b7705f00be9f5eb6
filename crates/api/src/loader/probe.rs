//! Trying a library in a short-lived child process before this process opens it.
//!
//! A plugin that crashes, hangs or ends the process in its entry does so in the child, once,
//! and its record says what happened. The application names the program (usually itself) and
//! the arguments that make it call [`answer_probe`] with the library's path, which the loader
//! appends.
//!
//! What must stay true: the child is waited for no longer than the bound, then killed; a child
//! that ended without a verdict has failed, whatever its exit status says; what it prints is
//! bounded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::open::FileId;
use super::record::{Reason, Stage, Verdict, one_line, shown};

/// How long a child may take unless the application says otherwise. Opening a vendor's runtime
/// for the first time takes seconds.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// Starts the child's verdict, on a line of its own.
const MARK: &str = "vmafx-probe-verdict";
/// Bytes kept of what a child prints.
const KEPT: usize = 16 * 1024;

/// How libraries are tried in a child process.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Probe {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments; the library's path is appended.
    pub arguments: Vec<OsString>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Probe {
    /// Tries libraries by `program` with `arguments` and the library's path, for no longer than
    /// [`DEFAULT_TIMEOUT`].
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Probe {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets how long the child may take.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// What a child says of `library`: nothing if it opens, else what is wrong. A file that was
/// tried before is not tried again.
pub(super) fn probe(probe: &Probe, library: &Path, file: FileId) -> Result<(), Verdict> {
    static TRIED: Mutex<BTreeMap<FileId, Result<(), Verdict>>> = Mutex::new(BTreeMap::new());
    let tried = || TRIED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(ending) = tried().get(&file) {
        return ending.clone();
    }
    let ending = run(probe, library);
    // That a child could not be started says nothing of the library.
    if !matches!(&ending, Err(verdict) if verdict.reason == Reason::ProbeFailed) {
        tried().insert(file, ending.clone());
    }
    ending
}

/// The child's side: opens the library as the loader would and prints the verdict. The program
/// that [`Probe`] names calls this and returns what it gives.
pub fn answer_probe(library: &Path) -> ExitCode {
    // A crash here is expected: it need not leave a core dump.
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct lives through the call, which changes a limit of this process.
    // That it may fail changes nothing but the dump.
    let _ = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    let verdict = match super::open_explicit(library) {
        Ok(_) => format!("\n{MARK}\tok\n"),
        Err(verdict) => {
            let field = |text: Option<&str>| text.map(one_line).unwrap_or_default();
            format!(
                "\n{MARK}\trefused\t{}\t{}\t{}\t{}\t{}\n",
                verdict.stage,
                verdict.reason,
                field(Some(&verdict.line)),
                field(verdict.hint.as_deref()),
                field(verdict.missing.as_deref())
            )
        }
    };
    // As a host ends, so that a plugin that counts on it is not met in the middle of its threads.
    super::quiesce();
    let mut out = std::io::stdout();
    match out.write_all(verdict.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(probe: &Probe, library: &Path) -> Result<(), Verdict> {
    let failed = |line: String| {
        Verdict::new(Stage::Probe, Reason::ProbeFailed, line)
            .hint("the library was not opened, because it could not be tried first")
    };
    let program = shown(&probe.program);
    let deadline = Instant::now() + probe.timeout;
    let mut command = Command::new(&probe.program);
    command
        .args(&probe.arguments)
        .arg(library)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // So that what it starts can be ended with it.
        .process_group(0);
    // SAFETY: between fork and exec only `prctl` is called, which may be called there.
    unsafe {
        command.pre_exec(|| {
            // Whoever waits may be killed; the child must not go on without it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("{program} could not be started: {error}")))?;
    let drained = [
        child.stdout.take().map(drain).transpose(),
        child.stderr.take().map(drain).transpose(),
    ];
    let [Ok(out), Ok(err)] = drained else {
        end_all(&mut child);
        return Err(failed(
            "the system gives no thread to listen to it".to_owned(),
        ));
    };
    let end = |output: Option<Receiver<Vec<u8>>>| {
        output.map_or(Ok(Vec::new()), |output| until(&output, deadline))
    };

    // Both ends close when the child is gone, so that this waits and does not poll.
    let output = end(out).and_then(|out| Ok((out, end(err)?)));
    let status = wait(&mut child, deadline);
    let named = shown(library);
    match (output, status) {
        (Ok((out, err)), Ok(Some(status))) => judge(&named, &out, &err, status),
        (_, Err(error)) => Err(failed(format!(
            "{program} could not be waited for: {error}"
        ))),
        _ => {
            // It may have ended by itself in the meantime, which is too late all the same.
            end_all(&mut child);
            let seconds = probe.timeout.as_secs_f64();
            let line = format!(
                "{named} did not answer within {seconds} s when it was tried in a child process"
            );
            Err(Verdict::new(Stage::Probe, Reason::TimedOut, line).hint(PUT_AWAY))
        }
    }
}

/// Ends the child and what it started.
fn end_all(child: &mut Child) {
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: sends a signal to the group that the child was made the leader of; it has not
        // been waited for, so its number is nobody else's.
        let _ = unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let _ = child.kill();
    let _ = child.wait();
}

const PUT_AWAY: &str = "tell the author of the plugin; it was not opened here";

fn judge(named: &str, out: &[u8], err: &[u8], status: ExitStatus) -> Result<(), Verdict> {
    let out = String::from_utf8_lossy(out);
    let verdict = out
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(MARK)?.strip_prefix('\t'));
    // A verdict is only believed of a child that then ended as it should: what crashes while
    // the process ends is no plugin to have.
    if let (Some(verdict), Some(0)) = (verdict, status.code()) {
        let mut fields = verdict.split('\t');
        return match fields.next() {
            Some("ok") => Ok(()),
            _ => Err(refusal(fields, verdict)),
        };
    }
    let said = String::from_utf8_lossy(err);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    let hint = match last {
        Some(last) => format!("its last words: {}; {PUT_AWAY}", one_line(last)),
        None => PUT_AWAY.to_owned(),
    };
    let (reason, what) = match (status.signal(), status.code()) {
        (Some(signal), _) => (
            Reason::Crashed,
            format!("crashed with {}", signal_name(signal)),
        ),
        (None, code) => {
            let code = code.map_or("?".to_owned(), |code| code.to_string());
            (
                Reason::Exited,
                format!("ended the process with status {code}"),
            )
        }
    };
    let line = format!("{named} {what} when it was tried in a child process");
    Err(Verdict::new(Stage::Probe, reason, line).hint(hint))
}

/// The refusal that a child printed.
fn refusal<'a>(mut fields: impl Iterator<Item = &'a str>, whole: &str) -> Verdict {
    let stage = fields.next().and_then(Stage::from_word);
    let reason = fields.next().and_then(Reason::from_word);
    let mut field = || fields.next().filter(|text| !text.is_empty());
    let (Some(stage), Some(reason), Some(line)) = (stage, reason, field()) else {
        let line = format!("the child process answered `{}`", one_line(whole));
        return Verdict::new(Stage::Probe, Reason::ProbeFailed, line);
    };
    let mut verdict = Verdict::new(stage, reason, line);
    verdict.hint = field().map(str::to_owned);
    verdict.missing = field().map(str::to_owned);
    verdict
}

/// Reads all that comes, in a thread, and gives the end of it.
fn drain(mut from: impl Read + Send + 'static) -> std::io::Result<Receiver<Vec<u8>>> {
    let (give, take) = channel();
    // The thread is not joined: a child of the child may hold the other end open for longer
    // than anyone wants to wait.
    let listen = move || {
        let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => kept.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            if kept.len() > 2 * KEPT {
                kept.drain(..kept.len() - KEPT);
            }
        }
        // Nobody listens any more once the time is up.
        let _ = give.send(kept);
    };
    std::thread::Builder::new().spawn(listen)?;
    Ok(take)
}

fn until(output: &Receiver<Vec<u8>>, deadline: Instant) -> Result<Vec<u8>, RecvTimeoutError> {
    output.recv_timeout(deadline.saturating_duration_since(Instant::now()))
}

/// The status of a child that has closed its output or overrun its time.
fn wait(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(100);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) => {}
            // Where SIGCHLD is ignored nobody learns how it ended: what it said must do.
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                return Ok(Some(ExitStatus::from_raw(0)));
            }
            Err(error) => return Err(error),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

/// The name of a signal that ended a process, else its number.
pub fn signal_name(signal: i32) -> String {
    let known = [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGTERM, "SIGTERM"),
    ];
    let known = known.iter().find(|(number, _)| *number == signal);
    known.map_or_else(
        || format!("signal {signal}"),
        |(_, name)| (*name).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell script as the child.
    fn told(script: &str, timeout: Duration) -> Result<(), (Reason, String)> {
        let probe = Probe::new("/bin/sh", ["-c", script]).with_timeout(timeout);
        let ending = run(&probe, Path::new("/x.so"));
        ending.map_err(|verdict| (verdict.reason, verdict.to_line()))
    }

    impl Verdict {
        fn to_line(&self) -> String {
            format!(
                "{}; {}",
                self.line,
                self.hint.as_deref().unwrap_or_default()
            )
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_child_is_believed_only_if_it_answers() {
        assert_eq!(
            told("printf 'noise\nvmafx-probe-verdict\tok\n'", LONG),
            Ok(())
        );
        // The library's path is the last argument, which a shell calls `$0`.
        assert_eq!(
            told("[ $0 = /x.so ] && printf 'vmafx-probe-verdict\tok\n'", LONG),
            Ok(())
        );
        let (reason, text) = told("exit 0", LONG).unwrap_err();
        assert_eq!(reason, Reason::Exited);
        assert!(
            text.starts_with("/x.so ended the process with status 0 when"),
            "{text}"
        );
        let (reason, text) = told("echo bad >&2; kill -SEGV $$", LONG).unwrap_err();
        assert_eq!(reason, Reason::Crashed);
        assert!(text.contains("crashed with SIGSEGV"), "{text}");
        assert!(text.contains("its last words: bad;"), "{text}");
        let after = "printf 'vmafx-probe-verdict\tok\n'; kill -ABRT $$";
        assert_eq!(told(after, LONG).unwrap_err().0, Reason::Crashed);
        assert_eq!(
            told("yes | head -c 300000; exit 3", LONG).unwrap_err().0,
            Reason::Exited
        );
    }

    #[test]
    fn a_refusal_arrives_whole() {
        let text = "printf 'vmafx-probe-verdict\trefused\tlayout\tnull-function\tline\thint\t\n'";
        let probe = Probe::new("/bin/sh", ["-c", text]);
        let verdict = run(&probe, Path::new("/x.so")).unwrap_err();
        let wanted = Verdict::new(Stage::Layout, Reason::NullFunction, "line").hint("hint");
        assert_eq!(verdict, wanted);
        let garbled = "printf 'vmafx-probe-verdict\trefused\tlayout\tno-such\tline\n'";
        assert_eq!(told(garbled, LONG).unwrap_err().0, Reason::ProbeFailed);
    }

    #[test]
    fn a_child_that_hangs_is_killed() {
        let (reason, text) = told("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert_eq!(reason, Reason::TimedOut);
        assert!(text.contains("within 0.05 s"), "{text}");
        // One that closes its output and hangs is no better.
        let silent = "exec >/dev/null 2>&1; exec sleep 600";
        assert_eq!(
            told(silent, Duration::from_millis(50)).unwrap_err().0,
            Reason::TimedOut
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let probe = Probe::new("/no/such/program", [""; 0]);
        let verdict = run(&probe, Path::new("/x.so")).unwrap_err();
        assert_eq!(verdict.reason, Reason::ProbeFailed);
        assert!(
            verdict
                .line
                .contains("/no/such/program could not be started")
        );
    }
}
