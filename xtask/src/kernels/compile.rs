//! From sources to one object a target, doing only what is not current.
//!
//! A unit is a file `kernels/*.cpp`; each is compiled once a target, then the units of a target
//! become one object. Beside each result lies a stamp: a digest of compiler and flags, and the
//! digest of every file that the compiler read. What must stay true: a result is taken as it is
//! only if all of that is as it was, whatever the clocks of files say; and the bytes depend on
//! nothing else, neither on folders nor on the order of the work.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vmafx_gcnsim::compiler::Toolchain;

use super::target::{Kind, Target};
use super::{digest, host, ptx};

/// The unit that only the host has.
const HOST_UNIT: &str = "host";

/// What is compiled, and to where.
pub(crate) struct Build<'a> {
    /// Compiler and linker.
    pub(crate) toolchain: &'a Toolchain,
    /// The folder that holds `kernels/`.
    pub(crate) root: &'a Path,
    /// The folder of the results.
    pub(crate) output: &'a Path,
    /// More flags, the last to be seen.
    pub(crate) flags: &'a [String],
}

/// What was not current, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Units that were compiled, as `target/unit`.
    pub(crate) compiled: Vec<String>,
    /// Targets whose object is new.
    pub(crate) linked: Vec<String>,
}

impl Build<'_> {
    /// Brings the objects of `targets` up to date.
    ///
    /// # Errors
    /// What compiler or linker say; a file that cannot be read or written.
    pub(crate) fn run(&self, targets: &[Target]) -> Result<Done, String> {
        // One process at a time, so that no stamp tells of another's result.
        let lock = self.output.join("work/lock");
        fs::create_dir_all(self.output.join("work")).map_err(|e| file_error(&lock, &e))?;
        let lock_file = fs::File::create(&lock).map_err(|e| file_error(&lock, &e))?;
        lock_file.lock().map_err(|e| file_error(&lock, &e))?;
        let units = units(self.root)?;
        let sources = Sources::read(self.root)?;
        let mut jobs = Vec::new();
        for &target in targets {
            let folder = self.work(target);
            fs::create_dir_all(&folder).map_err(|e| file_error(&folder, &e))?;
            for unit in &units {
                if unit != HOST_UNIT || target.kind == Kind::Host {
                    jobs.push((target, unit.as_str()));
                }
            }
        }
        let compiled = in_parallel(&jobs, |&(target, unit)| {
            let new = self.compile(&sources, target, unit)?;
            Ok(new.then(|| format!("{}/{unit}", target.name)))
        })?;
        // PTX is told the sizes of blocks, which the host's library knows.
        let (first, rest): (Vec<Target>, Vec<Target>) =
            targets.iter().partition(|target| !target.is_nvidia());
        let mut linked = Vec::new();
        for group in [first, rest] {
            linked.extend(in_parallel(&group, |&target| {
                let objects = jobs
                    .iter()
                    .filter(|(to, _)| *to == target)
                    .map(|(_, unit)| self.work(target).join(target.unit_output(unit)));
                let new = self.link(target, &objects.collect::<Vec<_>>())?;
                Ok(new.then(|| target.name.to_owned()))
            })?);
        }
        Ok(Done { compiled, linked })
    }

    /// What the compiler made of each unit for a target that has been built.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn units(&self, target: Target) -> Result<Vec<String>, String> {
        let units = units(self.root)?.into_iter();
        units
            .filter(|unit| unit != HOST_UNIT)
            .map(|unit| {
                let path = self.work(target).join(target.unit_output(&unit));
                fs::read_to_string(&path).map_err(|e| file_error(&path, &e))
            })
            .collect()
    }

    fn work(&self, target: Target) -> PathBuf {
        self.output.join("work").join(target.name)
    }

    /// Compiles one unit if it is not current, and tells whether it did.
    fn compile(&self, sources: &Sources, target: Target, unit: &str) -> Result<bool, String> {
        let folder = self.work(target);
        let object = folder.join(target.unit_output(unit));
        let stamp = folder.join(format!("{unit}.stamp"));
        let mut flags = target.flags();
        flags.extend_from_slice(self.flags);
        let key = digest(format!("{}\n{}", self.toolchain.identity, flags.join("\n")).as_bytes());
        let before = fs::read_to_string(&stamp).unwrap_or_default();
        if object.exists() && is_current(&before, &key, |path| sources.digest(path)) {
            return Ok(false);
        }
        // Whatever interrupts this leaves no stamp.
        let _ = fs::remove_file(&stamp);
        let (new, list) = (draft(&object), draft(&folder.join(format!("{unit}.d"))));
        let mut command = self.toolchain.clang.command();
        command
            .current_dir(self.root)
            .args(&flags)
            .args(["-MD", "-MT", "unit", "-MF"])
            .arg(&list)
            .arg(format!("kernels/{unit}.cpp"))
            .arg("-o")
            .arg(&new);
        run(&mut command, &format!("{unit}.cpp for {}", target.name))?;
        let read = fs::read_to_string(&list).map_err(|e| file_error(&list, &e))?;
        let _ = fs::remove_file(&list);
        if target.is_nvidia() {
            let ptx = object.with_extension("ptx");
            let mut command = self.toolchain.clang.command();
            command.args(target.ptx_flags()).args(self.flags);
            command.arg(&new).arg("-o").arg(&ptx);
            run(&mut command, &format!("{unit}.ll for {}", target.name))?;
        }
        fs::rename(&new, &object).map_err(|e| file_error(&object, &e))?;
        let mut text = format!("{key}\n");
        for path in dependencies(&read) {
            let digest = sources
                .digest(&path)
                .ok_or_else(|| format!("kernels: {path} went away while it was compiled"))?;
            text.push_str(&format!("{digest} {path}\n"));
        }
        write(&stamp, text.as_bytes())?;
        Ok(true)
    }

    /// Makes the units of a target one object if it is not current, and tells whether it did.
    fn link(&self, target: Target, objects: &[PathBuf]) -> Result<bool, String> {
        let result = self.output.join(target.output());
        let stamp = self.work(target).join("object.stamp");
        let mut key = format!(
            "{}\n{}\n",
            self.toolchain.identity,
            target.link_flags().join(" ")
        );
        for object in objects {
            let bytes = fs::read(object).map_err(|e| file_error(object, &e))?;
            key.push_str(&digest(&bytes));
        }
        let threads = match target.is_nvidia() {
            true => {
                let host = self.output.join("libvmafx_kernels_host.so");
                let bytes = fs::read(&host).map_err(|e| file_error(&host, &e))?;
                let threads = host::kernels(&bytes)?;
                key.push_str(&format!("{threads:?}"));
                threads
            }
            false => BTreeMap::new(),
        };
        let key = digest(key.as_bytes());
        if result.exists() && fs::read_to_string(&stamp).is_ok_and(|before| before == key) {
            return Ok(false);
        }
        let _ = fs::remove_file(&stamp);
        if target.is_nvidia() {
            let mut modules = Vec::new();
            for object in objects {
                let ptx = object.with_extension("ptx");
                modules.push(fs::read_to_string(&ptx).map_err(|e| file_error(&ptx, &e))?);
            }
            let module = ptx::merge(&modules, &threads)
                .map_err(|reason| format!("{}: {reason}", target.output()))?;
            write(&result, module.as_bytes())?;
        } else {
            let draft = draft(&result);
            let mut command = self.toolchain.lld.command();
            command
                .args(target.link_flags())
                .args(objects)
                .arg("-o")
                .arg(&draft);
            run(&mut command, &target.output())?;
            fs::rename(&draft, &result).map_err(|e| file_error(&result, &e))?;
        }
        write(&stamp, key.as_bytes())?;
        Ok(true)
    }
}

/// Digest of all sources: their names and bytes.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn source_digest(root: &Path) -> Result<String, String> {
    let mut text = String::new();
    for (path, digest) in Sources::read(root)?.0 {
        text.push_str(&format!("{digest} {path}\n"));
    }
    Ok(digest(text.as_bytes()))
}

/// Writes a file that nobody sees half.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let draft = draft(path);
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|error| file_error(path, &error))
}

/// A name beside `path` that no other process takes.
fn draft(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    PathBuf::from(name)
}

pub(crate) fn file_error(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The digests of all sources, taken before anything is compiled: a file that changes meanwhile
/// differs from its stamp at the next run.
struct Sources(BTreeMap<String, String>);

impl Sources {
    fn read(root: &Path) -> Result<Self, String> {
        let mut digests = BTreeMap::new();
        for name in names(root)? {
            if name.ends_with(".cpp") || name.ends_with(".h") {
                let path = root.join("kernels").join(&name);
                let bytes = fs::read(&path).map_err(|e| file_error(&path, &e))?;
                digests.insert(format!("kernels/{name}"), digest(&bytes));
            }
        }
        Ok(Self(digests))
    }

    /// `None` when there is no such source.
    fn digest(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }
}

/// Names of the units, sorted.
fn units(root: &Path) -> Result<Vec<String>, String> {
    let mut units = Vec::new();
    for name in names(root)? {
        if let Some(unit) = name.strip_suffix(".cpp") {
            units.push(unit.to_owned());
        }
    }
    units.sort();
    match units.is_empty() {
        true => Err(format!("{}/kernels: no *.cpp", root.display())),
        false => Ok(units),
    }
}

fn names(root: &Path) -> Result<Vec<String>, String> {
    let folder = root.join("kernels");
    let entries = fs::read_dir(&folder).map_err(|e| file_error(&folder, &e))?;
    entries
        .map(|entry| {
            let entry = entry.map_err(|e| file_error(&folder, &e))?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        })
        .collect()
}

/// Whether what `stamp` tells of is still so.
fn is_current(stamp: &str, key: &str, digest: impl Fn(&str) -> Option<String>) -> bool {
    let mut lines = stamp.lines();
    lines.next() == Some(key)
        && lines.clone().count() > 0
        && lines.all(|line| {
            line.split_once(' ')
                .is_some_and(|(before, path)| digest(path).as_deref() == Some(before))
        })
}

/// The files that a compiler's dependency list names: a rule of make, of which only a space within
/// a name and a line that goes on are written with a backslash.
fn dependencies(list: &str) -> Vec<String> {
    let list = list.replace("\\\n", " ");
    let list = list.split_once(':').map_or("", |(_target, files)| files);
    let (mut files, mut name, mut escaped) = (Vec::new(), String::new(), false);
    for c in list.chars().chain([' ']) {
        match c {
            '\\' if !escaped => escaped = true,
            c if c.is_whitespace() && !escaped => {
                if !name.is_empty() {
                    files.push(std::mem::take(&mut name));
                }
            }
            c => {
                name.push(c);
                escaped = false;
            }
        }
    }
    files.sort();
    files.dedup();
    files
}

fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{what}: {}: {error}", command.get_program().display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{what}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

/// Runs `work` for each job on all cores. The first failure, in the order of the jobs, ends it;
/// what the jobs return is sorted.
pub(crate) fn in_parallel<J: Sync, R: Send + Ord>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<Option<R>, String> + Sync,
) -> Result<Vec<R>, String> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new((Vec::new(), BTreeMap::new()));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores.min(jobs.len()) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let result = work(job);
                    let mut results = results.lock().unwrap_or_else(|held| held.into_inner());
                    match result {
                        Ok(result) => results.0.extend(result),
                        Err(failure) => {
                            failed.store(true, Ordering::Relaxed);
                            results.1.insert(at, failure);
                        }
                    }
                }
            });
        }
    });
    let (mut done, failures) = results
        .into_inner()
        .unwrap_or_else(|held| held.into_inner());
    match failures.into_values().next() {
        Some(failure) => Err(failure),
        None => {
            done.sort();
            Ok(done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_list_is_read_as_make_reads_it() {
        let list =
            "unit: kernels/psnr.cpp kernels/account.h \\\n  kernels/a\\ b.h \\\n kernels/vx.h\n";
        assert_eq!(
            dependencies(list),
            [
                "kernels/a b.h",
                "kernels/account.h",
                "kernels/psnr.cpp",
                "kernels/vx.h"
            ]
        );
    }

    #[test]
    fn a_stamp_holds_for_its_key_and_every_file() {
        let digests = |path: &str| match path {
            "a.h" => Some("1".to_owned()),
            "b c.h" => Some("2".to_owned()),
            _ => None,
        };
        let stamp = "key\n1 a.h\n2 b c.h\n";
        assert!(is_current(stamp, "key", digests));
        assert!(!is_current(stamp, "other", digests));
        assert!(!is_current("key\n1 a.h\n3 b c.h\n", "key", digests));
        assert!(!is_current("key\n1 a.h\n1 gone.h\n", "key", digests));
        assert!(!is_current("key\n", "key", digests));
        assert!(!is_current("", "key", digests));
    }

    #[test]
    fn the_first_failure_is_told() {
        let jobs: Vec<u32> = (0..100).collect();
        let odd = |&job: &u32| Ok((job % 2 == 1).then_some(job));
        assert_eq!(in_parallel(&jobs, odd).unwrap().len(), 50);
        let failing = |&job: &u32| match job {
            0 => Err(format!("job {job}")),
            _ => Ok(Some(job)),
        };
        assert_eq!(in_parallel(&jobs, failing).unwrap_err(), "job 0");
    }
}
