//! Where a report or chart goes.
//!
//! What must stay true: a file is replaced in one step, so it holds either the report of a run
//! that ended well or what it held before; a file that cannot be written is refused before the
//! first frame is scored; an input is never overwritten. FIFOs, devices and open descriptors
//! (`-`, `/dev/stdout`, `/dev/fd/3`) cannot be replaced and are written directly; whatever file
//! stands behind a descriptor keeps what it holds.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure};

/// A place to write to. Two are equal if they are the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Standard,
    /// Standard error.
    Error,
    /// Another open descriptor, by its path in the system's folder of descriptors.
    Descriptor(PathBuf),
    /// A regular file, or none yet.
    Replaced(PathBuf),
    /// A FIFO or device, or a file whose folder takes no new files.
    Direct(PathBuf),
}

/// A file that the run reads, which no output may take the place of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunInput<'a> {
    /// Where it is.
    pub(crate) path: &'a Path,
    /// What it is, such as `the reference video`.
    pub(crate) what: &'static str,
}

/// Why a destination cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DestinationError {
    #[error("cannot write {place}: {source}")]
    Write { place: String, source: io::Error },
    #[error("cannot write {}: it is a folder", .0.display())]
    Folder(PathBuf),
    #[error("cannot write {}: it is {input}", path.display())]
    Input { path: PathBuf, input: &'static str },
}

impl Destination {
    /// The destination that `name` means; `-` is standard output. Checks that it can be written.
    ///
    /// # Errors
    /// A folder, a missing folder, lack of permission, one of the `inputs` under whatever name.
    pub(crate) fn open(name: &OsStr, inputs: &[RunInput<'_>]) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(Destination::Standard);
        }
        let opened = Destination::examine(Path::new(name), inputs);
        opened.map_err(|error| Failure::new(Class::Output, error))
    }

    fn examine(path: &Path, inputs: &[RunInput<'_>]) -> Result<Self, DestinationError> {
        let refused = |path: &Path, source: io::Error| DestinationError::Write {
            place: path.display().to_string(),
            source,
        };
        let path = match follow(path).map_err(|source| refused(path, source))? {
            Followed::Open(1) => return Ok(Destination::Standard),
            Followed::Open(2) => return Ok(Destination::Error),
            Followed::Open(0) => {
                let source = io::Error::other("standard input is for reading");
                return Err(refused(path, source));
            }
            Followed::Open(number) => {
                let path = Path::new("/dev/fd").join(number.to_string());
                let opened = OpenOptions::new().append(true).open(&path);
                opened.map_err(|source| refused(&path, source))?;
                return Ok(Destination::Descriptor(path));
            }
            Followed::File(path) => path,
        };
        for input in inputs {
            let is_same = same_file::is_same_file(input.path, &path).unwrap_or(false);
            if is_same && input.path.is_file() {
                let input = input.what;
                return Err(DestinationError::Input { path, input });
            }
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(DestinationError::Folder(path)),
            Ok(metadata) if !metadata.is_file() => return Ok(Destination::Direct(path)),
            _ => {}
        }
        let draft = Draft::create(&path);
        match draft {
            Ok(_) if writable(&path) => Ok(Destination::Replaced(path)),
            Err(_) if path.exists() && writable(&path) => Ok(Destination::Direct(path)),
            Ok(_) => Err(refused(&path, io::ErrorKind::PermissionDenied.into())),
            Err(source) => Err(refused(&path, source)),
        }
    }

    /// Opens the destination for lines that follow one another while the run goes on. A file is
    /// emptied.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub(crate) fn stream(&self) -> Result<Box<dyn Write + Send>, Failure> {
        let open = || -> io::Result<Box<dyn Write + Send>> {
            Ok(match self {
                Destination::Standard => Box::new(io::stdout()),
                Destination::Error => Box::new(io::stderr()),
                Destination::Descriptor(path) => {
                    Box::new(OpenOptions::new().append(true).open(path)?)
                }
                Destination::Replaced(path) | Destination::Direct(path) => {
                    Box::new(File::create(path)?)
                }
            })
        };
        open().map_err(|source| self.failed(source))
    }

    /// Writes what `content` writes, all of it or nothing where that is possible.
    ///
    /// # Errors
    /// What `content` answers, or a failure of the file.
    pub(crate) fn write(
        &self,
        content: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let failed = |source| self.failed(source);
        let Destination::Replaced(path) = self else {
            let mut output = BufWriter::new(self.stream()?);
            let written = content(&mut output).and_then(|()| output.flush().map_err(failed));
            // What is left in the buffer of a failed report is not written either.
            let _ = output.into_parts();
            return written;
        };
        let draft = Draft::create(path).map_err(failed)?;
        let mut output = BufWriter::new(&draft.file);
        content(&mut output)?;
        output.flush().map_err(failed)?;
        drop(output);
        draft.replace(path).map_err(failed)
    }

    /// The failure to write here for `source`.
    pub(crate) fn failed(&self, source: io::Error) -> Failure {
        let place = self.to_string();
        Failure::new(Class::Output, DestinationError::Write { place, source })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Standard => f.write_str("standard output"),
            Destination::Error => f.write_str("standard error"),
            Destination::Descriptor(path)
            | Destination::Replaced(path)
            | Destination::Direct(path) => path.display().fmt(f),
        }
    }
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    /// An open descriptor of this process.
    Open(u32),
    /// A file, or none yet, in a folder without symbolic links in its path.
    File(PathBuf),
}

/// Follows symbolic links up to an open descriptor. The system would go on to the file behind
/// it, which is not for us to replace.
fn follow(path: &Path) -> io::Result<Followed> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            break;
        };
        let parent = match parent.as_os_str().is_empty() {
            true => Path::new("."),
            false => parent,
        };
        let folder = fs::canonicalize(parent)?;
        if let Some(number) = descriptor(&folder, name) {
            return Ok(Followed::Open(number));
        }
        path = folder.join(name);
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(Followed::File(path)),
        }
    }
    // A root, `..`, or links without end.
    fs::canonicalize(path).map(Followed::File)
}

/// The descriptor that `name` in `folder` stands for.
fn descriptor(folder: &Path, name: &OsStr) -> Option<u32> {
    let named = match (folder.to_str()?, name.to_str()?) {
        ("/dev", "stdin") => "0",
        ("/dev", "stdout") => "1",
        ("/dev", "stderr") => "2",
        ("/dev/fd", number) => number,
        (folder, number) => {
            // Linux: the folder of the process, or of one of its threads.
            let process = folder.strip_prefix("/proc/")?.strip_suffix("/fd")?;
            let process = process.split('/').next()?;
            (process == std::process::id().to_string()).then_some(number)?
        }
    };
    named.parse().ok()
}

/// The failure of standard output.
pub(crate) fn standard(source: io::Error) -> Failure {
    Destination::Standard.failed(source)
}

/// Prints to standard output.
///
/// # Errors
/// A closed pipe, a full disk.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let written = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    written.map_err(standard)
}

/// Prints to standard error. Where that is closed nobody is there to be told.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn writable(path: &Path) -> bool {
    let opened = OpenOptions::new().append(true).open(path);
    opened.is_ok() || opened.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// A file beside its target, removed unless it has replaced it.
struct Draft {
    path: PathBuf,
    file: File,
    placed: bool,
}

impl Draft {
    fn create(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let process = std::process::id();
        let mut attempt = 0;
        loop {
            let mut draft = std::ffi::OsString::from(".");
            draft.push(name);
            draft.push(format!(".{process}-{attempt}"));
            let path = target.with_file_name(draft);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Draft {
                        path,
                        file,
                        placed: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn replace(mut self, target: &Path) -> io::Result<()> {
        if let Ok(metadata) = fs::metadata(target) {
            self.file.set_permissions(metadata.permissions())?;
        }
        fs::rename(&self.path, target)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let list = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = list
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_whole_or_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        fs::write(&path, "old").unwrap();
        let destination = Destination::open(path.as_os_str(), &[]).unwrap();
        let failed = destination.write(|output| {
            output.write_all(b"half").unwrap();
            Err(Failure::new(Class::Internal, "stop"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(files(folder.path()), ["report"]);
        destination
            .write(|output| output.write_all(b"new").map_err(standard))
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(files(folder.path()), ["report"]);
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| {
            let error = Destination::open(path.as_os_str(), &[]).unwrap_err();
            assert_eq!(error.class, Class::Output);
            error.to_string()
        };
        assert!(refused(folder.path()).contains("is a folder"));
        assert!(refused(&folder.path().join("no/such")).contains("No such file"));
        let input = folder.path().join("a.y4m");
        fs::write(&input, "x").unwrap();
        let link = folder.path().join("b.y4m");
        fs::hard_link(&input, &link).unwrap();
        for output in [&input, &link] {
            let inputs = [RunInput {
                path: &input,
                what: "the distorted video",
            }];
            let error = Destination::open(output.as_os_str(), &inputs).unwrap_err();
            assert!(error.to_string().contains("it is the distorted video"));
        }
        assert_eq!(files(folder.path()), ["a.y4m", "b.y4m"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("report"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        let destination = Destination::open(link.as_os_str(), &[]).unwrap();
        destination
            .write(|output| output.write_all(b"new").map_err(standard))
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        let null = Destination::open(OsStr::new("/dev/null"), &[]).unwrap();
        assert_eq!(null, Destination::Direct("/dev/null".into()));
        // A link to a file that is not there yet stays a link, too.
        symlink("later", folder.path().join("next")).unwrap();
        let next = folder.path().join("next");
        let later = fs::canonicalize(folder.path()).unwrap().join("later");
        let destination = Destination::open(next.as_os_str(), &[]).unwrap();
        assert_eq!(destination, Destination::Replaced(later));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn descriptors_are_not_files() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("out");
        symlink("/dev/stdout", &link).unwrap();
        let process = std::process::id();
        for (path, wanted) in [
            ("/dev/stdout", 1),
            ("/dev/../dev/stderr", 2),
            ("/dev/fd/1", 1),
            ("/proc/self/fd/7", 7),
            ("/proc/thread-self/fd/1", 1),
            (&format!("/proc/{process}/fd/2"), 2),
            (link.to_str().unwrap(), 1),
        ] {
            let followed = follow(Path::new(path)).unwrap();
            assert_eq!(followed, Followed::Open(wanted), "{path}");
        }
        // Where they are no links.
        let number = |name| descriptor(Path::new("/dev"), OsStr::new(name));
        let numbers = ["stdin", "stdout", "stderr", "null"].map(number);
        assert_eq!(numbers, [Some(0), Some(1), Some(2), None]);
        let file = follow(Path::new("/proc/self/fd/../status")).unwrap();
        assert!(matches!(file, Followed::File(_)), "{file:?}");
        symlink("ring", folder.path().join("ring")).unwrap();
        assert!(follow(&folder.path().join("ring")).is_err());
    }
}
