//! The guest's first file system: a cpio archive in the "newc" format, as
//! `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel describes it.
//!
//! What must stay true: every folder is before what is in it, because the kernel makes no folders
//! by itself; the same contents make the same bytes.

use std::collections::BTreeMap;

use crate::Failure;

/// Files and folders by their paths.
#[derive(Default)]
pub(super) struct Archive {
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    Folder,
    File { bytes: Vec<u8>, runs: bool },
}

impl Archive {
    /// Adds a folder and those above it. Paths are absolute.
    ///
    /// # Errors
    /// A path that cannot be in an archive, or is a file already.
    pub(super) fn folder(&mut self, path: &str) -> Result<(), Failure> {
        let path = checked(path)?;
        for (at, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let above = path[..at].to_owned();
            match self.entries.entry(above).or_insert(Entry::Folder) {
                Entry::Folder => {}
                Entry::File { .. } => {
                    return Err(format!("/{} is a file, not a folder", &path[..at]).into());
                }
            }
        }
        Ok(())
    }

    /// Adds a file and the folders above it; `runs` makes it a program. The same file may be
    /// added twice.
    ///
    /// # Errors
    /// As [`folder`](Self::folder); another file of that path.
    pub(super) fn file(&mut self, path: &str, bytes: Vec<u8>, runs: bool) -> Result<(), Failure> {
        let inner = checked(path)?;
        if let Some((above, _)) = inner.rsplit_once('/') {
            self.folder(&format!("/{above}"))?;
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(format!("{path} is longer than the archive's format can tell").into());
        }
        let new = Entry::File { bytes, runs };
        match self.entries.get_mut(inner) {
            None => {
                self.entries.insert(inner.to_owned(), new);
                Ok(())
            }
            Some(old) => match (old, new) {
                (Entry::File { bytes: old, runs }, Entry::File { bytes, runs: new })
                    if *old == bytes =>
                {
                    *runs |= new;
                    Ok(())
                }
                _ => Err(format!("two different things would be {path} in the guest").into()),
            },
        }
    }

    /// Whether there is something of this path.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_start_matches('/'))
    }

    /// The archive.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // A path sorts after the paths that it begins with.
        for (at, (path, entry)) in self.entries.iter().enumerate() {
            let (mode, links, bytes): (u32, u32, &[u8]) = match entry {
                Entry::Folder => (0o040755, 2, &[]),
                Entry::File { bytes, runs: true } => (0o100755, 1, bytes),
                Entry::File { bytes, runs: false } => (0o100644, 1, bytes),
            };
            member(&mut out, at as u32 + 1, mode, links, path, bytes);
        }
        member(&mut out, 0, 0, 1, "TRAILER!!!", &[]);
        out
    }
}

/// The path as the archive has it, without the leading slash.
fn checked(path: &str) -> Result<&str, Failure> {
    let inner = path.strip_prefix('/').unwrap_or_default();
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    match inner.split('/').all(plain) && inner != "TRAILER!!!" {
        true => Ok(inner),
        false => Err(format!("`{path}` is no plain absolute path").into()),
    }
}

/// One member: a header of 13 numbers in hexadecimal, the path, the contents, the latter two
/// filled up to multiples of four bytes.
fn member(out: &mut Vec<u8>, number: u32, mode: u32, links: u32, path: &str, bytes: &[u8]) {
    let name = path.len() as u32 + 1;
    let header = [
        number,
        mode,
        0, // user
        0, // group
        links,
        0, // time
        bytes.len() as u32,
        0, // device
        0,
        0, // device that the file is
        0,
        name,
        0, // checksum, of the other format
    ];
    out.extend_from_slice(b"070701");
    for field in header {
        out.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    fill(out);
    out.extend_from_slice(bytes);
    fill(out);
}

fn fill(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn sample() -> Archive {
        let mut archive = Archive::default();
        archive.folder("/dev").unwrap();
        archive.file("/init", b"ELF".to_vec(), true).unwrap();
        archive.file("/a/b/c", b"1234".to_vec(), false).unwrap();
        archive.file("/a/b", vec![], false).unwrap_err();
        archive
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let mut archive = Archive::default();
        archive.file("/d/f", b"hello".to_vec(), true).unwrap();
        let folder = "070701\
            00000001\
            000041ed\
            00000000\
            00000000\
            00000002\
            00000000\
            00000000\
            00000000\
            00000000\
            00000000\
            00000000\
            00000002\
            00000000d\0";
        let file = "070701\
            00000002\
            000081ed\
            00000000\
            00000000\
            00000001\
            00000000\
            00000005\
            00000000\
            00000000\
            00000000\
            00000000\
            00000004\
            00000000d/f\0\0\0hello\0\0\0";
        let trailer = "070701\
            00000000\
            00000000\
            00000000\
            00000000\
            00000001\
            00000000\
            00000000\
            00000000\
            00000000\
            00000000\
            00000000\
            0000000b\
            00000000TRAILER!!!\0\0\0\0";
        let want = format!("{folder}{file}{trailer}");
        assert_eq!(String::from_utf8(archive.bytes()).unwrap(), want);
    }

    #[test]
    fn the_machines_own_cpio_reads_it() {
        let mut command = Command::new("cpio");
        command
            .args(["--list", "--verbose", "--quiet", "--numeric-uid-gid"])
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            println!("not compared: there is no cpio");
            return;
        };
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&sample().bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = text
            .lines()
            .map(|line| {
                let words: Vec<_> = line.split_whitespace().collect();
                let (size, path) = (words[4], words[words.len() - 1]);
                format!("{} {size} {path}", words[0])
            })
            .collect();
        assert_eq!(
            lines,
            [
                "drwxr-xr-x 0 a",
                "drwxr-xr-x 0 a/b",
                "-rw-r--r-- 4 a/b/c",
                "drwxr-xr-x 0 dev",
                "-rwxr-xr-x 3 init",
            ]
        );
    }

    #[test]
    fn a_path_is_one_thing() {
        let mut archive = sample();
        assert!(archive.holds("/a/b") && !archive.holds("/b"));
        archive.file("/init", b"ELF".to_vec(), false).unwrap();
        for (path, bytes) in [("/init", "other"), ("/dev", ""), ("/init/x", "")] {
            let error = archive.file(path, bytes.into(), false).unwrap_err();
            assert!(error.to_string().contains("/init") || path == "/dev");
        }
        for path in [
            "",
            "/",
            "init",
            "/a//b",
            "/a/",
            "/a/../b",
            "/./a",
            "/a\0",
            "/TRAILER!!!",
        ] {
            archive.folder(path).unwrap_err();
        }
        assert_eq!(archive.bytes(), sample().bytes());
    }
}
