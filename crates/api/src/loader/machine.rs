//! What the loader takes from the process and the machine, in one value.
//!
//! The loader reads no environment variable, user id or directory constant itself: it asks the
//! [`Machine`] it was given. A test makes one over a temporary folder and so fakes a whole
//! system, an elevated process included.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Where the build was told that settings, data and libraries of the system are. A packager
/// sets `VMAFX_SYSCONFDIR`, `VMAFX_DATADIR` and `VMAFX_LIBDIR` when compiling.
const SYSCONFDIR: &str = default(option_env!("VMAFX_SYSCONFDIR"), "/etc");
const DATADIR: &str = default(option_env!("VMAFX_DATADIR"), "/usr/share");
const LIBDIR: &str = default(option_env!("VMAFX_LIBDIR"), "/usr/lib");

/// A machine and the process on it, as the loader sees them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Machine {
    /// Folder that stands for `/`: put before every absolute path that comes from the
    /// environment, the build or a manifest. Paths that the application gives are taken as
    /// they are.
    pub root: PathBuf,
    /// Environment variables.
    pub environment: BTreeMap<OsString, OsString>,
    /// Whether the process has rights that its caller lacks (`AT_SECURE`: set-user-id,
    /// set-group-id or file capabilities).
    pub elevated: bool,
    /// User whose files an elevated process trusts.
    pub trusted_owner: u32,
    /// Folder of the system's settings.
    pub sysconfdir: PathBuf,
    /// Folder of the system's data.
    pub datadir: PathBuf,
    /// Folder of the system's libraries.
    pub libdir: PathBuf,
}

impl Machine {
    /// The machine and process that this is.
    pub fn from_process() -> Self {
        // SAFETY: `getauxval` reads the vector that the kernel gave this process; every key is
        // allowed, and one that is absent gives 0.
        let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
        Machine {
            environment: std::env::vars_os().collect(),
            elevated: secure != 0,
            ..Machine::at("/")
        }
    }

    /// A machine whose files are below `root`, with an empty environment and a plain process.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Machine {
            root: root.into(),
            environment: BTreeMap::new(),
            elevated: false,
            trusted_owner: 0,
            sysconfdir: PathBuf::from(SYSCONFDIR),
            datadir: PathBuf::from(DATADIR),
            libdir: PathBuf::from(LIBDIR),
        }
    }

    /// Sets an environment variable.
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// The value of a variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.environment.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// An absolute path of this machine as a path of the real one.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        let mut real = self.root.clone();
        let names = path.components();
        real.extend(names.filter(|name| !matches!(name, Component::RootDir)));
        real
    }
}

/// The locale of this process, every category of it, in the words of the C library. A plugin
/// leaves it as it is.
pub fn locale() -> String {
    // SAFETY: with a null name nothing is changed; what is answered is null or a text that stays
    // until somebody changes the locale, which neither this crate nor a plugin may (`wire`).
    unsafe {
        let name = libc::setlocale(libc::LC_ALL, std::ptr::null());
        match name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}

/// What the process does at each signal that has a handler: its number and the handler's address,
/// 1 if it is ignored. A plugin leaves them as they are.
pub fn signal_handlers() -> BTreeMap<i32, usize> {
    let mut handlers = BTreeMap::new();
    for signal in 1..=libc::SIGRTMAX() {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: nothing is set, because no action is given; the room is one action's. Numbers
        // that the C library keeps for itself are refused.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: zero is a value of each field, and the call may have written others.
        let handler = unsafe { action.assume_init() }.sa_sigaction;
        if asked == 0 && handler != libc::SIG_DFL {
            handlers.insert(signal, handler);
        }
    }
    handlers
}

const fn default(given: Option<&'static str>, usual: &'static str) -> &'static str {
    match given {
        Some(path) => path,
        None => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_lie_below_the_root() {
        let machine = Machine::at("/tmp/fake");
        assert_eq!(
            machine.inside(Path::new("/etc/x")),
            Path::new("/tmp/fake/etc/x")
        );
        let real = Machine::at("/");
        assert_eq!(real.inside(Path::new("/etc/x")), Path::new("/etc/x"));
    }

    #[test]
    fn a_program_starts_in_the_locale_of_the_standard() {
        assert_eq!(locale(), "C");
    }

    #[test]
    fn handlers_are_those_that_are_set() {
        // What the standard library sets before `main`: overflows of the stack are caught, and
        // writing to a closed pipe is an error.
        let handlers = signal_handlers();
        assert!(handlers[&libc::SIGSEGV] > 1, "{handlers:?}");
        assert_eq!(handlers[&libc::SIGPIPE], libc::SIG_IGN);
        assert!(!handlers.contains_key(&libc::SIGUSR2));
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let machine = Machine::at("/")
            .with_variable("A", "")
            .with_variable("B", "b");
        assert_eq!(machine.variable("A"), None);
        assert_eq!(machine.variable("B"), Some(OsStr::new("b")));
        assert_eq!(machine.variable("C"), None);
    }
}
