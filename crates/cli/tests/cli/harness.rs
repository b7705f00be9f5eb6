//! Running the command and making clips for it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vmafx_api::HostFrame;
use vmafx_media::{SourceSpec, open};

/// Longest time that a command may take before it counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How a command ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    line: String,
}

impl Run {
    /// Asserts success.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.line, self.stderr);
        self
    }

    /// Asserts a failure of `class`, and that its message is one line on standard error, with
    /// nothing on standard output. Gives the message.
    pub(crate) fn fails(self, class: &str) -> String {
        let codes = [
            ("usage", 1),
            ("input", 2),
            ("model", 3),
            ("output", 4),
            ("backend", 5),
        ];
        let wanted = codes.iter().find(|(word, _)| *word == class).unwrap().1;
        assert_eq!(self.code, Some(wanted), "{}\n{}", self.line, self.stderr);
        assert_eq!(self.stdout, "", "{}", self.line);
        let errors: Vec<_> = self
            .stderr
            .lines()
            .filter(|l| l.contains("error["))
            .collect();
        let [error] = errors[..] else {
            panic!("{}\n{}", self.line, self.stderr);
        };
        let text = error.strip_prefix(&format!("vmafx: error[{class}]: "));
        text.unwrap_or_else(|| panic!("{}\n{error}", self.line))
            .to_owned()
    }
}

/// The command, with `arguments` split at blanks.
pub(crate) fn vmafx(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmafx"));
    command.args(arguments.split_whitespace());
    clean(command)
}

/// The command under the name `vmaf`.
pub(crate) fn vmaf(arguments: &str) -> Command {
    static LINK: OnceLock<TempDir> = OnceLock::new();
    let folder = LINK.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(upstream_name());
        #[cfg(unix)]
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_vmafx"), link).unwrap();
        #[cfg(not(unix))]
        fs::copy(env!("CARGO_BIN_EXE_vmafx"), link).unwrap();
        folder
    });
    let mut command = Command::new(folder.path().join(upstream_name()));
    command.args(arguments.split_whitespace());
    clean(command)
}

fn upstream_name() -> &'static str {
    if cfg!(windows) { "vmaf.exe" } else { "vmaf" }
}

/// The command without what the machine has installed or the environment asks for.
fn clean(mut command: Command) -> Command {
    static NOTHING: OnceLock<TempDir> = OnceLock::new();
    let nothing = NOTHING.get_or_init(|| tempfile::tempdir().unwrap());
    command.stdin(Stdio::null());
    command
        .env_remove("VMAFX_MODEL_PATH")
        .env_remove("VMAFX_CPU_LEVEL")
        .env_remove("VMAFX_BACKENDS_DISABLE")
        .env_remove("VMAFX_BACKENDS_SELECT")
        .env("VMAFX_BACKEND_FILES", nothing.path());
    command
}

/// Tells, past the capture of the test harness, that a part of a test could not run here.
pub(crate) fn skipped(what: &str, why: &str) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let _ = writeln!(std::io::stderr(), "skipped {count}: {what}: {why}");
}

/// Runs `command` to its end.
pub(crate) fn run(mut command: Command) -> Run {
    let line = format!("{command:?}");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = reader(child.stdout.take().unwrap());
    let stderr = reader(child.stderr.take().unwrap());
    let status = wait(&mut child, &line);
    Run {
        code: status.code(),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
        line,
    }
}

/// Runs `vmafx ARGUMENTS`.
pub(crate) fn run_line(arguments: &str) -> Run {
    run(vmafx(arguments))
}

fn reader(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("output is UTF-8")
    })
}

pub(crate) fn wait(child: &mut Child, line: &str) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            panic!("hangs: {line}");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// A folder of clips.
pub(crate) struct Clips(TempDir);

impl Clips {
    pub(crate) fn new() -> Self {
        Clips(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path as text for a command line.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.text(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes frames `range` of the synthetic clip `synth`, as y4m if the name ends so, else
    /// raw.
    pub(crate) fn make(&self, name: &str, synth: &str, range: std::ops::Range<u64>) -> String {
        let y4m = name.ends_with(".y4m");
        let bytes = frames(synth, range, y4m);
        self.write(name, bytes)
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let list = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = list
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// Bytes of frames `range` of a synthetic clip.
pub(crate) fn frames(synth: &str, range: std::ops::Range<u64>, y4m: bool) -> Vec<u8> {
    let mut source = open(&SourceSpec::new(synth)).unwrap();
    let format = source.format();
    let mut frame = HostFrame::new(format);
    let mut bytes = Vec::new();
    if y4m {
        let depth = match (format.chroma().code(), format.depth()) {
            (400, 8) => "mono".to_owned(),
            (400, depth) => format!("mono{depth}"),
            (chroma, 8) => format!("{chroma}"),
            (chroma, depth) => format!("{chroma}p{depth}"),
        };
        let (width, height) = (format.width(), format.height());
        writeln!(bytes, "YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C{depth}").unwrap();
    }
    source.skip(range.start).unwrap();
    for _ in range {
        assert!(source.read(&mut frame).unwrap(), "{synth} is long enough");
        if y4m {
            bytes.extend_from_slice(b"FRAME\n");
        }
        match format.depth() {
            8 => bytes.extend_from_slice(frame.bytes_mut()),
            _ => bytes.extend(frame.words_mut().iter().flat_map(|word| word.to_le_bytes())),
        }
    }
    bytes
}

/// Feeds `bytes` to a path (a FIFO) or stream from another thread.
pub(crate) fn feed(mut target: impl Write + Send + 'static, bytes: Vec<u8>) {
    thread::spawn(move || {
        // The command may have seen enough before the end.
        let _ = target.write_all(&bytes);
    });
}

/// Makes a FIFO and feeds `bytes` to it as soon as it is opened.
#[cfg(unix)]
pub(crate) fn fifo(path: &Path, bytes: Vec<u8>) {
    make_fifo(path);
    let path = path.to_owned();
    thread::spawn(move || {
        let mut file = File::options().write(true).open(path).unwrap();
        let _ = file.write_all(&bytes);
    });
}

#[cfg(unix)]
pub(crate) fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Adds arguments that may hold blanks.
pub(crate) fn with<I: AsRef<OsStr>>(
    mut command: Command,
    arguments: impl IntoIterator<Item = I>,
) -> Command {
    command.args(arguments);
    command
}

/// Runs `vmafx score REFERENCE DISTORTED OPTIONS --csv -o -` and gives the CSV.
pub(crate) fn csv(reference: &str, distorted: &str, options: &str) -> String {
    let command = with(vmafx("score"), [reference, distorted]);
    let options = format!("{options} --csv -o -");
    run(with(command, options.split_whitespace())).ok().stdout
}

/// Runs `vmafx score REFERENCE DISTORTED OPTIONS --json -o -` and parses the JSON.
pub(crate) fn json(reference: &str, distorted: &str, options: &str) -> serde_json::Value {
    let command = with(vmafx("score"), [reference, distorted]);
    let options = format!("{options} --json -o -");
    let run = run(with(command, options.split_whitespace())).ok();
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}
