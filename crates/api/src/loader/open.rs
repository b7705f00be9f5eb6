//! Opening a library, calling its entry, and remembering for good what came of it.
//!
//! What must stay true:
//! - a library is opened with `NOW | LOCAL | NODELETE` and never closed: a missing symbol shows
//!   here and not in mid-run, and what it left behind (threads, thread-local destructors,
//!   tables) stays valid;
//! - an entry runs once in the life of the process, under one lock, never beside another one;
//! - one file is one plugin, by whatever path it is named: it is told by device and inode, and
//!   by the linker's handle;
//! - the floating-point environment of the calling thread is the same before and after.
//!
//! Entries that break a rule each are in `tests/plugins`, as libraries, with what is said of them
//! in `tests/loader`.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::mem::{MaybeUninit, size_of};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::elf::{self, Elf};
use super::host::{ABI_OLDEST, host_for};
use super::record::{Reason, Stage, Verdict, one_line, shown};
use super::tables::{self, PluginTables, check_function};
use crate::float_environment::watch;
use crate::handle::Backend;
use crate::kinds::Status;
use crate::wire::{ABI_REVISION, ENTRY_SYMBOL, Plugin, PluginEntry};

/// A library whose plugin keeps the rules.
#[derive(Debug)]
pub(super) struct Opened {
    /// The path by which it was opened first.
    pub(super) path: PathBuf,
    pub(super) abi_chosen: u32,
    pub(super) version: String,
    pub(super) license: String,
    pub(super) backends: Vec<Backend>,
    pub(super) notes: Vec<String>,
    quiesce: Option<unsafe extern "C" fn()>,
}

/// What came of a library: it stays so for the life of the process.
type Ending = Result<&'static Opened, Verdict>;

/// Device and inode of a file.
pub(super) type FileId = (u64, u64);

struct Registry {
    by_file: BTreeMap<FileId, Ending>,
    by_handle: BTreeMap<usize, Ending>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    by_file: BTreeMap::new(),
    by_handle: BTreeMap::new(),
});

fn registry() -> MutexGuard<'static, Registry> {
    // What is inside is written in single steps: a panic leaves nothing half done.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the plugin at an absolute path, or gives what came of it before.
pub(super) fn open(path: &Path, file: FileId, elf: &Elf) -> Ending {
    let mut registry = registry();
    if let Some(ending) = registry.by_file.get(&file) {
        return ending.clone();
    }
    // What fails up to here has run no code of the library's own, or the linker has put it
    // away again: it may be tried anew.
    let (library, float_changed) = dlopen(path, elf)?;
    let handle = library.into_raw();
    let ending = match registry.by_handle.get(&handle.addr()) {
        Some(ending) => ending.clone(),
        // SAFETY: the handle is the one that `dlopen` gave, and no other owner closes it.
        None => unsafe { enter(path, handle, float_changed) },
    };
    registry.by_handle.insert(handle.addr(), ending.clone());
    registry.by_file.insert(file, ending.clone());
    ending
}

/// Whether it is known what comes of the file.
pub(super) fn is_known(file: FileId) -> bool {
    registry().by_file.contains_key(&file)
}

/// Device and inode of the file at `path`.
pub(super) fn file_id(path: &Path) -> std::io::Result<FileId> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Joins the threads of every plugin and lets it release its devices. For the end of a process,
/// when no object of a plugin is used any more; may be called more than once.
pub fn quiesce() {
    let registry = registry();
    for opened in registry.by_handle.values().flatten() {
        if let Some(quiesce) = opened.quiesce {
            // SAFETY: the function is the plugin's, lies in a loaded library (`tables::check`)
            // that is never closed, and may be called at any time and again (`wire`).
            watch(|| unsafe { quiesce() });
        }
    }
}

fn dlopen(path: &Path, elf: &Elf) -> Result<(Library, bool), Verdict> {
    // The path must be absolute, or the linker would search for it.
    debug_assert!(path.is_absolute());
    if path.as_os_str().as_encoded_bytes().contains(&b'$') {
        let line = format!("the path {} has a `$` in it", shown(path));
        let hint = "the dynamic linker would put a word of its own there and open another file; \
                    move the library";
        return Err(Verdict::new(Stage::Open, Reason::OpenFailed, line).hint(hint));
    }
    let flags = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;
    // SAFETY: opening runs the library's initialisers. That they keep to the rules of `wire`
    // is the plugin's promise, as with any library that a program links; what they do to the
    // floating-point environment is seen and undone.
    let (opened, float_changed) = watch(|| unsafe { Library::open(Some(path), flags) });
    let library = opened.map_err(|error| refused_by_linker(path, &error, elf))?;
    Ok((library, float_changed))
}

/// Words for what the dynamic linker says.
fn refused_by_linker(path: &Path, error: &libloading::Error, elf: &Elf) -> Verdict {
    let said = match error {
        libloading::Error::DlOpen { source } => source.to_string(),
        other => other.to_string(),
    };
    match missing_library(&said, &elf.needed) {
        Some(missing) => {
            let line = format!("{} needs {missing}, which is not installed", shown(path));
            let hint = format!("install the package that has {missing}");
            let mut verdict = Verdict::new(Stage::Open, Reason::MissingDependency, line).hint(hint);
            verdict.missing = Some(missing);
            verdict
        }
        None => {
            let line = format!("the dynamic linker refuses {}: {said}", shown(path));
            Verdict::new(Stage::Open, Reason::OpenFailed, line)
        }
    }
}

/// The library that the linker says it cannot find, directly needed or further away.
fn missing_library(said: &str, needed: &[String]) -> Option<String> {
    // glibc: `NAME: cannot open shared object file: No such file or directory`;
    // musl: `Error loading shared library NAME: No such file or directory (needed by PATH)`.
    let (before, _) = said.split_once(": No such file or directory")?;
    let name = match before.strip_prefix("Error loading shared library ") {
        Some(name) => name,
        None => before.strip_suffix(": cannot open shared object file")?,
    };
    let name = name.rsplit(": ").next().unwrap_or(name).trim();
    // The name as the file has it, in case the linker adds to it.
    let listed = needed.iter().find(|needed| name.ends_with(needed.as_str()));
    let name = listed.map_or(name, String::as_str);
    (!name.is_empty()).then(|| one_line(name))
}

/// Calls the entry of a library that was just opened, and checks its answer.
///
/// # Safety
/// `handle` is an open library that is never closed, and its entry was not called before.
unsafe fn enter(path: &Path, handle: *mut c_void, float_changed: bool) -> Ending {
    if float_changed {
        return Err(float_verdict(path, Stage::Open));
    }
    // SAFETY: the handle is open by the caller's word; the library that it gives is turned back
    // into a handle before it could be closed.
    let library = unsafe { Library::from_raw(handle) };
    // SAFETY: the symbol is the wire's, whose type is `PluginEntry`.
    let symbol = unsafe { library.get::<PluginEntry>(ENTRY_SYMBOL) };
    let entry = symbol.map(|symbol| *symbol);
    let _kept_open = library.into_raw();
    let Ok(entry) = entry else {
        return Err(elf::no_entry(path, &[]));
    };
    check_function(entry as *const c_void, &format!("`{ENTRY_SYMBOL}`"))?;
    // SAFETY: the symbol's type is the wire's, it lies in a loaded library, and the caller says
    // that it was not called before.
    let opened = unsafe { negotiate(path, entry)? };
    Ok(Box::leak(Box::new(opened)))
}

/// The host's struct, and room behind it in which a plugin that does not heed `struct_size`
/// leaves its mark.
#[repr(C)]
struct Answer {
    plugin: Plugin,
    beyond: [u8; BEYOND],
}

const BEYOND: usize = 1024;

/// Calls an entry and checks its answer.
///
/// # Safety
/// `entry` keeps the contract of [`PluginEntry`], as far as that can be known, and was not
/// called before.
unsafe fn negotiate(path: &Path, entry: PluginEntry) -> Result<Opened, Verdict> {
    let named = shown(path);
    let host = host_for(named.clone());
    // SAFETY: an `Answer` is numbers, pointers and optional functions, for which zero is a value.
    let mut answer = unsafe { MaybeUninit::<Answer>::zeroed().assume_init() };
    let size = size_of::<Plugin>() as u32;
    answer.plugin.struct_size = size;
    let plugin = (&raw mut answer).cast::<Plugin>();
    // SAFETY: `host` lives for good and `plugin` through the call; the registry's lock is held,
    // so that no other entry runs, and the caller says that this one did not run before.
    let (status, float_changed) = watch(|| unsafe { entry(host, plugin) });

    let refuse = |reason, line: String| Verdict::new(Stage::Negotiate, reason, line);
    if float_changed {
        return Err(float_verdict(path, Stage::Negotiate));
    }
    if answer.beyond.iter().any(|&byte| byte != 0) || answer.plugin.struct_size != size {
        let line = format!("the entry of {named} wrote more than the {size} bytes it was given");
        let hint = "an entry writes no more than `vmafx_plugin.struct_size` says";
        return Err(refuse(Reason::WroteBeyond, line).hint(hint));
    }
    let plugin = answer.plugin;
    let offered = format!("this host takes {ABI_OLDEST} to {ABI_REVISION}");
    match status {
        Status::OK if (ABI_OLDEST..=ABI_REVISION).contains(&plugin.abi_chosen) => {}
        Status::OK => {
            let chosen = plugin.abi_chosen;
            let line = format!("{named} chose revision {chosen} of the interface; {offered}");
            let hint = "an entry chooses the smaller of `vmafx_host.abi_max` and its own";
            return Err(refuse(Reason::WrongRevision, line).hint(hint));
        }
        Status::ABI => {
            let line =
                format!("{named} takes no revision of the interface that this host has; {offered}");
            let hint = "install versions of vmafx and of the backend that go together";
            return Err(refuse(Reason::WrongRevision, line).hint(hint));
        }
        status => {
            let line = format!("the entry of {named} failed: {status}");
            return Err(refuse(Reason::EntryFailed, line).hint("its log may say why"));
        }
    }
    // SAFETY: the entry answered OK, so what it wrote is as `wire` promises.
    let PluginTables {
        version,
        license,
        backends,
        notes,
    } = unsafe { tables::check(&plugin, path)? };
    Ok(Opened {
        path: path.to_path_buf(),
        abi_chosen: plugin.abi_chosen,
        version,
        license,
        backends,
        notes,
        quiesce: plugin.quiesce,
    })
}

fn float_verdict(path: &Path, stage: Stage) -> Verdict {
    let named = shown(path);
    let when = match stage {
        Stage::Open => "when it is opened",
        _ => "in its entry",
    };
    let line = format!("{named} changes the floating-point environment {when}; scores would shift");
    Verdict::new(stage, Reason::FloatEnvironment, line)
        .hint("link it without fast-math start-up code (`-ffast-math`, `-Ofast`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_library_is_found_in_the_linkers_words() {
        let needed = ["libamdhip64.so.6".to_owned(), "libc.so.6".to_owned()];
        for (said, wanted) in [
            (
                "libamdhip64.so.6: cannot open shared object file: No such file or directory",
                Some("libamdhip64.so.6"),
            ),
            (
                "libfar.so: cannot open shared object file: No such file or directory",
                Some("libfar.so"),
            ),
            (
                "Error loading shared library libfar.so.1: No such file or directory (needed by /x.so)",
                Some("libfar.so.1"),
            ),
            ("/x.so: undefined symbol: hipInit", None),
            (
                "/x.so: cannot open shared object file: Permission denied",
                None,
            ),
        ] {
            assert_eq!(missing_library(said, &needed).as_deref(), wanted, "{said}");
        }
    }
}
