//! The library of kernels compiled for the host: opened as a private copy, its functions looked
//! up by the names and sizes beside them.

use std::collections::HashMap;
use std::ffi::c_void;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::poison::Shared;
use super::{Error, MAX_THREADS, Options, fibres};

/// Name of the library.
pub(crate) const FILE: &str = "libvmafx_kernels_host.so";

/// A private copy of the library of kernels.
#[derive(Debug)]
pub struct Kernels {
    library: Library,
    shared: Shared,
    found: Mutex<HashMap<String, Kernel>>,
}

/// One kernel of the library.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of the structure that it takes.
    pub args: u32,
    pub(super) entry: unsafe extern "C" fn(*const c_void),
}

/// What the library calls, as in `kernels/vx.h`.
#[repr(C)]
struct HostFunctions {
    position: extern "C" fn() -> *const fibres::Position,
    barrier: extern "C" fn(),
    exchange: extern "C" fn(u32, u32) -> u32,
}

impl Kernels {
    /// The kernels of the folder that `VMAFX_KERNELS` names, else of the workspace's
    /// `target/kernels`. Opened once a process.
    ///
    /// # Errors
    /// [`Error::NoLibrary`].
    pub fn find() -> Result<&'static Self, Error> {
        static FOUND: OnceLock<Result<Kernels, Error>> = OnceLock::new();
        FOUND
            .get_or_init(|| Self::open(&folder().join(FILE)))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The kernels of a library.
    ///
    /// # Errors
    /// [`Error::NoLibrary`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::NoLibrary {
            path: path.to_owned(),
            reason,
        };
        let bytes = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
        let copy = private_copy(&bytes).map_err(|e| fail(e.to_string()))?;
        // SAFETY: the library of this repository's kernels runs nothing when it is loaded: it is
        // freestanding code without constructors.
        let library = unsafe { Library::open(Some(&copy), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|e| fail(e.to_string()))?;
        // SAFETY: `vx_host` is a variable of the type that HostFunctions mirrors (kernels/vx.h),
        // and no kernel of this private copy runs before it is written.
        let host = unsafe {
            let host = library
                .get::<*mut HostFunctions>(b"vx_host\0")
                .map_err(|e| fail(e.to_string()))?;
            (*host).write(HostFunctions {
                position: fibres::position,
                barrier: fibres::barrier,
                exchange: fibres::exchange,
            });
            (*host).cast_const().cast::<c_void>()
        };
        super::fault::install();
        Ok(Self {
            shared: Shared::of(host),
            library,
            found: Mutex::default(),
        })
    }

    /// A kernel by its name.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Threads`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = found.get(name) {
            return Ok(*kernel);
        }
        let missing = || Error::NoKernel {
            kernel: name.to_owned(),
        };
        let number = |suffix: &str| -> Result<u32, Error> {
            // SAFETY: VX_KERNEL makes both names constants of type u32, which live as long as
            // the library.
            unsafe {
                let at = self.library.get::<*const u32>(format!("{name}{suffix}"));
                at.map(|at| **at).map_err(|_| missing())
            }
        };
        let (threads, args) = (number("_threads")?, number("_args")?);
        if threads == 0 || threads > MAX_THREADS {
            return Err(Error::Threads {
                kernel: name.to_owned(),
                threads,
            });
        }
        // SAFETY: VX_KERNEL makes `name` a function from a pointer to its arguments; `self` keeps
        // the library, and a `Kernel` runs through `self.launch` alone.
        let entry = unsafe {
            let entry = self
                .library
                .get::<unsafe extern "C" fn(*const c_void)>(name);
            *entry.map_err(|_| missing())?
        };
        let kernel = Kernel {
            threads,
            args,
            entry,
        };
        found.insert(name.to_owned(), kernel);
        Ok(kernel)
    }

    /// Runs a kernel over a grid and returns when its last block has ended. `args` are the bytes
    /// of the structure that it takes.
    ///
    /// Addresses in `args` are addresses of this process. A kernel that reads or writes where it
    /// should not does that here as well: memory with guard pages around it turns that into
    /// [`Error::Fault`].
    ///
    /// # Errors
    /// Each of [`Error`] but `NoLibrary`.
    pub fn launch(
        &self,
        name: &str,
        grid: [u32; 3],
        args: &[u8],
        options: &Options,
    ) -> Result<(), Error> {
        let kernel = self.kernel(name)?;
        if args.len() != kernel.args as usize {
            return Err(Error::ArgumentSize {
                kernel: name.to_owned(),
                given: args.len(),
                taken: kernel.args as usize,
            });
        }
        if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1].max(grid[2]) > 65535 {
            return Err(Error::Grid {
                kernel: name.to_owned(),
                grid,
            });
        }
        fibres::run(name, kernel, grid, args, options, &self.shared)
    }
}

/// Where the kernels are.
fn folder() -> PathBuf {
    std::env::var_os("VMAFX_KERNELS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels"),
        PathBuf::from,
    )
}

/// A path under which the loader sees a library of its own. The descriptor stays open for as long
/// as the process lives: the loader tells libraries apart by their paths.
fn private_copy(bytes: &[u8]) -> std::io::Result<PathBuf> {
    // SAFETY: the name is a C string; the descriptor that comes back is owned by nobody else.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"vmafx-kernels".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        std::fs::File::from_raw_fd(fd)
    };
    file.write_all(bytes)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let _ = file.into_raw_fd();
    Ok(path)
}
