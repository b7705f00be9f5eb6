//! What the driver made of PTX, kept for the next process: compiling takes much longer than
//! reading a file.
//!
//! One file a key, below `$VMAFX_CACHE_DIR`, else `vmafx` in the user's folder of caches; a key is
//! the digest of the PTX, the driver and the device. A file begins with a mark and the digest of
//! the code behind it.
//!
//! What must stay true: code is taken only from a folder that nobody but this user can write to,
//! and only if its digest is right; whatever fails, the answer is to compile again; a process
//! with rights that its caller lacks neither reads nor writes; the folder does not grow for ever,
//! and nothing is removed from it but files that have a key's name.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use vmafx_gpu::library::is_elevated;

/// Environment variable with the folder of the cache.
pub(crate) const VARIABLE: &str = "VMAFX_CACHE_DIR";

/// Begins every file; another layout gets another mark.
const MARK: &[u8; 8] = b"vmafxcu1";
const HEAD: usize = MARK.len() + 32;
/// Longest code that is taken.
const MAX_BYTES: u64 = 1 << 26;
/// Most files that are left when one is written.
const MAX_FILES: usize = 32;
const SUFFIX: &str = "cubin";
/// Hexadecimal digits of a key.
const KEY_DIGITS: usize = 64;

/// The cache, for one device under one driver.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodeCache {
    /// Nothing if there is no place for it.
    folder: Option<PathBuf>,
    /// What code depends on, besides its PTX.
    target: String,
}

impl CodeCache {
    /// The cache in the place that the environment gives, for code of `target`.
    pub(crate) fn new(target: String) -> Self {
        let folder = match is_elevated() {
            true => None,
            false => place(|name| std::env::var_os(name).map(PathBuf::from)),
        };
        CodeCache { folder, target }
    }

    /// A cache that keeps nothing.
    pub(crate) fn none() -> Self {
        CodeCache::default()
    }

    /// The name of what is made of `ptx`.
    pub(crate) fn key(&self, ptx: &[u8]) -> String {
        let mut digest = Sha256::new();
        for part in [MARK.as_slice(), self.target.as_bytes(), ptx] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let bytes = digest.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The code that is kept under `key`.
    pub(crate) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let folder = self.folder.as_deref()?;
        is_place(folder).then_some(())?;
        let file = File::open(path(folder, key)).ok()?;
        let metadata = file.metadata().ok()?;
        (metadata.is_file() && is_ours(&metadata)).then_some(())?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        (bytes.len() > HEAD && bytes.starts_with(MARK)).then_some(())?;
        let code = bytes.split_off(HEAD);
        let digest = Sha256::digest(&code);
        (digest.as_slice() == &bytes[MARK.len()..]).then_some(code)
    }

    /// Keeps `code` under `key`, if that can be done.
    pub(crate) fn write(&self, key: &str, code: &[u8]) {
        // Failing is no more than compiling again.
        let _ = self.try_write(key, code);
    }

    fn try_write(&self, key: &str, code: &[u8]) -> std::io::Result<()> {
        let Some(folder) = self.folder.as_deref() else {
            return Ok(());
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        if !is_place(folder) {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        let mut draft = tempfile::Builder::new()
            .prefix(".draft-")
            .tempfile_in(folder)?;
        draft.write_all(MARK)?;
        draft.write_all(&Sha256::digest(code))?;
        draft.write_all(code)?;
        draft.persist(path(folder, key))?;
        prune(folder)
    }
}

fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(key).with_extension(SUFFIX)
}

/// The folder that `variable` gives; a relative path is none.
fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    let folder = match (set(VARIABLE), set("XDG_CACHE_HOME")) {
        (Some(folder), _) => folder,
        (None, Some(caches)) if caches.is_absolute() => caches.join("vmafx"),
        _ => set("HOME")?.join(".cache/vmafx"),
    };
    folder.is_absolute().then(|| folder.join("cuda"))
}

/// Whether only this user can have written it.
fn is_ours(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Whether it is a folder itself, not a link to one, that only this user can have filled.
fn is_place(folder: &Path) -> bool {
    let metadata = folder.symlink_metadata();
    metadata.is_ok_and(|metadata| metadata.is_dir() && is_ours(&metadata))
}

/// Whether a file is one of the cache's, by its name.
fn is_kept(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.split_once('.'));
    name.is_some_and(|(key, suffix)| {
        let digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        suffix == SUFFIX && key.len() == KEY_DIGITS && key.bytes().all(digit)
    })
}

/// Removes the oldest files beyond [`MAX_FILES`].
fn prune(folder: &Path) -> std::io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        if is_kept(&entry.file_name()) {
            let modified = entry.metadata().and_then(|data| data.modified());
            files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
        }
    }
    files.sort();
    let surplus = files.len().saturating_sub(MAX_FILES);
    for (_, path) in &files[..surplus] {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn cache(folder: &Path) -> CodeCache {
        CodeCache {
            folder: Some(folder.join("a/b")),
            target: "driver 1, sm_90".to_owned(),
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn code_comes_back_as_it_was_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        let key = cache.key(b"ptx");
        assert_eq!(cache.read(&key), None);
        cache.write(&key, b"code");
        assert_eq!(cache.read(&key).as_deref(), Some(&b"code"[..]));
        assert_eq!(mode(&folder.path().join("a")), 0o700);
        assert_eq!(mode(&folder.path().join("a/b")), 0o700);
        let file = folder.path().join("a/b").join(format!("{key}.cubin"));
        assert_eq!(mode(&file), 0o600);
        assert_eq!(fs::metadata(&file).unwrap().len(), 40 + 4);
        // Nothing else is left behind.
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 1);
        cache.write(&key, b"other");
        assert_eq!(cache.read(&key).as_deref(), Some(&b"other"[..]));
    }

    #[test]
    fn a_key_is_of_all_that_the_code_depends_on() {
        let one = CodeCache {
            folder: None,
            target: "ab".to_owned(),
        };
        let mut other = one.clone();
        other.target = "a".to_owned();
        assert_eq!(one.key(b"c").len(), 64);
        assert_ne!(one.key(b"c"), one.key(b"d"));
        assert_ne!(one.key(b"c"), other.key(b"c"));
        assert_ne!(one.key(b"c"), other.key(b"bc"), "parts do not run together");
        one.write("k", b"code");
        assert_eq!(one.read("k"), None);
    }

    #[test]
    fn damage_is_no_code() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.write("k", b"code of some length");
        let file = folder.path().join("a/b/k.cubin");
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&file, bytes).unwrap();
            assert_eq!(cache.read("k"), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(cache.read("k"), None, "{at} bytes");
        }
        fs::write(&file, &whole).unwrap();
        assert!(cache.read("k").is_some());
    }

    #[test]
    fn what_others_can_write_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.write("k", b"code");
        let (place, file) = (folder.path().join("a/b"), folder.path().join("a/b/k.cubin"));
        let allow = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        allow(&file, 0o620);
        assert_eq!(cache.read("k"), None);
        allow(&file, 0o600);
        assert!(cache.read("k").is_some());
        allow(&place, 0o702);
        assert_eq!(cache.read("k"), None);
        cache.write("l", b"code");
        allow(&place, 0o700);
        assert_eq!(cache.read("l"), None);
    }

    #[test]
    fn a_link_is_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        cache.write("k", b"code");
        let (place, moved) = (folder.path().join("a/b"), folder.path().join("moved"));
        fs::rename(&place, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &place).unwrap();
        assert_eq!(cache.read("k"), None);
        cache.write("l", b"code");
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_cannot_be_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a file").unwrap();
        let cache = cache(folder.path());
        cache.write("k", b"code");
        assert_eq!(cache.read("k"), None);
    }

    #[test]
    fn the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path());
        let (old, place) = (cache.key(b"old"), folder.path().join("a/b"));
        cache.write(&old, b"code");
        // What has another name is not the cache's, whatever its age.
        let others = [
            "note.txt".to_owned(),
            "mine.cubin".to_owned(),
            format!("{}.cubin", &old[1..]),
            format!("{}.cubin", old.replace(|c: char| c.is_ascii_digit(), "A")),
            format!("{old}.cubin.cubin"),
            old.clone(),
        ];
        for name in &others {
            fs::write(place.join(name), "not ours").unwrap();
        }
        for entry in place.read_dir().unwrap() {
            let file = File::options().append(true).open(entry.unwrap().path());
            file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let keys = (0..MAX_FILES).map(|number| cache.key(&number.to_le_bytes()));
        let keys: Vec<_> = keys.collect();
        for key in &keys {
            assert!(cache.read(&old).is_some(), "{key}");
            cache.write(key, b"code");
        }
        assert_eq!(cache.read(&old), None);
        for key in &keys {
            assert!(cache.read(key).is_some(), "{key}");
        }
        for name in &others {
            assert!(place.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn the_place_is_the_users() {
        let at = |set: &[(&str, &str)]| {
            let set: Vec<_> = set.to_vec();
            place(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| PathBuf::from(value))
            })
        };
        let own = ("VMAFX_CACHE_DIR", "/c");
        let (caches, home) = (("XDG_CACHE_HOME", "/x"), ("HOME", "/h"));
        assert_eq!(at(&[own, caches, home]), Some("/c/cuda".into()));
        assert_eq!(at(&[caches, home]), Some("/x/vmafx/cuda".into()));
        assert_eq!(at(&[home]), Some("/h/.cache/vmafx/cuda".into()));
        assert_eq!(
            at(&[("XDG_CACHE_HOME", "x"), home]),
            Some("/h/.cache/vmafx/cuda".into())
        );
        assert_eq!(at(&[("VMAFX_CACHE_DIR", "c"), home]), None);
        assert_eq!(at(&[("VMAFX_CACHE_DIR", ""), home]), at(&[home]));
        assert_eq!(at(&[]), None);
    }
}
