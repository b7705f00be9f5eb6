//! The library under the runtime's own file names, one for each version of ROCm.
//!
//! [`install`] writes a copy of `libvmafx_hipsim.so` as `libamdhip64.so.5`, `.6` or `.7`. A copy
//! is a library of its own to the loader, with a state of its own. Its version is stamped into
//! it, and names that this version does not export are really missing: their entries in the table
//! of names are overwritten, so that `dlsym` finds nothing.
//!
//! [`Simulator`] is a test's hold on a copy that a plugin has loaded, or will load.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::{Object, ObjectSection};
use serde_json::Value;

/// What ROCm 5 does not export of what the simulator offers.
const NOT_IN_5: [&str; 2] = ["hipGetDevicePropertiesR0600", "hipGetProcAddress"];

const MARK: &[u8; 18] = b"VMAFX-HIPSIM-ROCM=";
const STAMP_BYTES: usize = MARK.len() + 14;

/// The version of ROCm that a copy is stamped with: behind the mark, empty in the original.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
static vmafx_hipsim_stamp: [u8; STAMP_BYTES] = {
    let mut stamp = [0; STAMP_BYTES];
    let mut at = 0;
    while at < MARK.len() {
        stamp[at] = MARK[at];
        at += 1;
    }
    stamp
};

/// The version that this copy is stamped with.
pub(crate) fn stamped_version() -> Option<&'static str> {
    // Where the variable really is: its contents are not those that were compiled.
    let stamp: &'static [u8; STAMP_BYTES] = std::hint::black_box(&vmafx_hipsim_stamp);
    let version = CStr::from_bytes_until_nul(&stamp[MARK.len()..])
        .ok()?
        .to_str()
        .ok()?;
    (!version.is_empty()).then_some(version)
}

/// Where cargo put the library: beside the program that runs, or beside the programs of tests.
///
/// # Errors
/// There is none in either place.
pub fn library() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join("libvmafx_hipsim.so"),
        folder.join("deps/libvmafx_hipsim.so"),
        folder.join("../libvmafx_hipsim.so"),
    ];
    let found = places.iter().find(|path| path.is_file());
    found.cloned().ok_or_else(|| {
        let text = format!("{}: run `cargo build -p vmafx-hipsim`", places[0].display());
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Writes a copy for a version of ROCm (`5.2`, `5.7`, `6.2`, `6.4`, `7.2`) into a folder, as
/// `libamdhip64.so.` and the major version. Answers the path of the copy.
///
/// # Errors
/// Files that cannot be read or written, and a library that is not the simulator's.
pub fn install(folder: &Path, rocm: &str) -> io::Result<PathBuf> {
    let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
    let mut bytes = std::fs::read(library()?)?;
    if rocm.len() >= STAMP_BYTES - MARK.len() {
        return Err(bad("a version of ROCm that is too long"));
    }
    let file = object::File::parse(&*bytes).map_err(|e| bad(&e.to_string()))?;
    let names = file.section_by_name(".dynstr").and_then(|s| s.file_range());
    let (start, length) = names.ok_or_else(|| bad("a library without names"))?;
    let names = start as usize..(start + length) as usize;
    if rocm.starts_with('5') {
        for name in NOT_IN_5 {
            let entry = [b"\0", name.as_bytes(), b"\0"].concat();
            let at = find(&bytes[names.clone()], &entry).ok_or_else(|| bad(name))?;
            bytes[names.start + at + 1] = b'-';
        }
    }
    let stamp = [&MARK[..], &[0; STAMP_BYTES - MARK.len()]].concat();
    let at = find(&bytes, &stamp).ok_or_else(|| bad("a library without the stamp"))?;
    let at = at + MARK.len();
    bytes[at..at + rocm.len()].copy_from_slice(rocm.as_bytes());
    let major = rocm.split('.').next().unwrap_or(rocm);
    let path = folder.join(format!("libamdhip64.so.{major}"));
    std::fs::write(&path, bytes)?;
    Ok(path)
}

fn find(all: &[u8], part: &[u8]) -> Option<usize> {
    all.windows(part.len()).position(|window| window == part)
}

/// The address of a function of this library by its name.
pub(crate) fn own_symbol(name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    let own = stamped_version as *const c_void;
    // SAFETY: the structure is whole, the address one of this library, and the path that comes
    // back is that of a library that is loaded and stays loaded while its code runs.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own, &mut info) == 0 {
            return None;
        }
        let library = libc::dlopen(info.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        let found = libc::dlsym(library, name.as_ptr());
        libc::dlclose(library);
        (!found.is_null()).then_some(found)
    }
}

/// A hold on a copy of the simulator in this process.
#[derive(Debug)]
pub struct Simulator {
    library: Library,
    control: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    query: unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> usize,
}

impl Simulator {
    /// Loads the copy at a path. Whoever loads the same path gets the same simulator.
    ///
    /// # Errors
    /// A library that does not load or is no simulator.
    pub fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: the simulator runs nothing when it is loaded.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }?;
        // SAFETY: the names have these types in `control`, and `library` keeps them.
        let (control, query) = unsafe {
            (
                *library.get(b"vmafx_hipsim_control\0")?,
                *library.get(b"vmafx_hipsim_query\0")?,
            )
        };
        Ok(Self {
            library,
            control,
            query,
        })
    }

    /// The library itself, for its functions.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Changes a setting or does what [`control`](crate::control) lists; false where it refuses.
    pub fn control(&self, name: &str, value: &str) -> bool {
        let (Ok(name), Ok(value)) = (CString::new(name), CString::new(value)) else {
            return false;
        };
        // SAFETY: two C strings.
        unsafe { (self.control)(name.as_ptr(), value.as_ptr()) == 0 }
    }

    /// What [`control`](crate::control) lists, as text; empty for an unknown name.
    pub fn query(&self, name: &str) -> String {
        let Ok(name) = CString::new(name) else {
            return String::new();
        };
        let mut text = vec![0u8; 4096];
        loop {
            // SAFETY: a C string, and a buffer of its length.
            let bytes =
                unsafe { (self.query)(name.as_ptr(), text.as_mut_ptr().cast(), text.len()) };
            if bytes <= text.len() {
                text.truncate(bytes.saturating_sub(1));
                return String::from_utf8_lossy(&text).into_owned();
            }
            // The log may have grown meanwhile.
            text.resize(bytes + 4096, 0);
        }
    }

    /// As [`query`](Self::query), read as JSON; null where it is none.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.query(name)).unwrap_or(Value::Null)
    }
}
