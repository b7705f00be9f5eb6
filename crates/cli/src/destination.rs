//! Where a report or chart goes.
//!
//! What must stay true: a file is replaced in one step, so it holds either the report of a run
//! that ended well or what it held before; a file that cannot be written is refused before the
//! first frame is scored; an input is never overwritten. FIFOs, devices and standard output
//! cannot be replaced and are written directly.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure};

/// A place to write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output.
    Standard,
    /// A regular file, or none yet.
    Replaced(PathBuf),
    /// A FIFO or device, or a file whose folder takes no new files.
    Direct(PathBuf),
}

/// Why a destination cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DestinationError {
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write standard output: {0}")]
    Standard(io::Error),
    #[error("cannot write {}: it is a folder", .0.display())]
    Folder(PathBuf),
    #[error("cannot write {}: it is the {input} video", path.display())]
    Input { path: PathBuf, input: &'static str },
}

impl Destination {
    /// The destination that `name` means; `-` is standard output. Checks that it can be written.
    ///
    /// # Errors
    /// A folder, a missing folder, lack of permission, one of the `inputs` (reference first).
    pub(crate) fn open(name: &OsStr, inputs: [&OsStr; 2]) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(Destination::Standard);
        }
        let opened = Destination::examine(PathBuf::from(name), inputs);
        opened.map_err(|error| Failure::new(Class::Output, error))
    }

    fn examine(path: PathBuf, inputs: [&OsStr; 2]) -> Result<Self, DestinationError> {
        // A report through a symbolic link replaces the file, not the link.
        let path = fs::canonicalize(&path).unwrap_or(path);
        for (input, which) in inputs.into_iter().zip(["reference", "distorted"]) {
            if fs::canonicalize(input).is_ok_and(|input| input == path && input.is_file()) {
                return Err(DestinationError::Input { path, input: which });
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
            Ok(_) => {
                let source = io::ErrorKind::PermissionDenied.into();
                Err(DestinationError::Write { path, source })
            }
            Err(source) => Err(DestinationError::Write { path, source }),
        }
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
        match self {
            Destination::Standard => {
                let mut output = BufWriter::new(io::stdout().lock());
                content(&mut output)?;
                output.flush().map_err(failed)
            }
            Destination::Direct(path) => {
                let file = OpenOptions::new().write(true).truncate(true).open(path);
                let mut output = BufWriter::new(file.map_err(failed)?);
                content(&mut output)?;
                output.flush().map_err(failed)
            }
            Destination::Replaced(path) => {
                let draft = Draft::create(path).map_err(failed)?;
                let mut output = BufWriter::new(&draft.file);
                content(&mut output)?;
                output.flush().map_err(failed)?;
                drop(output);
                draft.replace(path).map_err(failed)
            }
        }
    }

    /// The failure to write here for `source`.
    pub(crate) fn failed(&self, source: io::Error) -> Failure {
        match self {
            Destination::Standard => standard(source),
            Destination::Replaced(path) | Destination::Direct(path) => {
                let path = path.clone();
                Failure::new(Class::Output, DestinationError::Write { path, source })
            }
        }
    }
}

/// The failure of standard output.
pub(crate) fn standard(source: io::Error) -> Failure {
    Failure::new(Class::Output, DestinationError::Standard(source))
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

    const NO_INPUTS: fn() -> [&'static OsStr; 2] = || [OsStr::new(""), OsStr::new("")];

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
        let destination = Destination::open(path.as_os_str(), NO_INPUTS()).unwrap();
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
            let error = Destination::open(path.as_os_str(), NO_INPUTS()).unwrap_err();
            assert_eq!(error.class, Class::Output);
            error.to_string()
        };
        assert!(refused(folder.path()).contains("is a folder"));
        assert!(refused(&folder.path().join("no/such")).contains("No such file"));
        let input = folder.path().join("a.y4m");
        fs::write(&input, "x").unwrap();
        let error = Destination::open(input.as_os_str(), ["".as_ref(), input.as_os_str()]);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("it is the distorted video")
        );
        assert_eq!(files(folder.path()), ["a.y4m"]);
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
        let destination = Destination::open(link.as_os_str(), NO_INPUTS()).unwrap();
        destination
            .write(|output| output.write_all(b"new").map_err(standard))
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        let null = Destination::open(OsStr::new("/dev/null"), NO_INPUTS()).unwrap();
        assert_eq!(null, Destination::Direct("/dev/null".into()));
    }
}
