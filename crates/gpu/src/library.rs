//! A vendor's runtime library: found when it is needed, and its functions one by one.
//!
//! Nothing is linked to it, so a backend is loaded on any machine and says what is missing. A
//! function that every version has is required; any other may be absent, and what needs it is
//! then not offered.
//!
//! What must stay true: a library that was opened is never closed (its threads go on); one that
//! the application has loaded is taken before any that would have to be loaded, since objects of
//! one are not to be handed to another; a path from the environment is the only place that is
//! looked at, and no place at all in a process with rights that its caller lacks; nothing here
//! panics.

use std::ffi::{CStr, OsString, c_int, c_void};
use std::fmt::Write;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
use vmafx_api::{LogLevel, Status, log};

/// How a library is called and where it may be.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// What people call it, such as `the HIP runtime`.
    pub what: &'static str,
    /// Environment variable with the path of a library to take instead.
    pub variable: &'static str,
    /// File names for the dynamic linker, the best first.
    pub names: &'static [&'static str],
    /// A function by which a library is known to be one of these.
    pub mark: &'static str,
}

/// Why a library or a function of it is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// None of the names is installed.
    #[error("{what} is not installed: no {looked_for}")]
    NotInstalled {
        /// What people call it.
        what: &'static str,
        /// The names, as a list.
        looked_for: String,
    },
    /// There is one, but the dynamic linker does not take it.
    #[error("{what} cannot be loaded: {said}")]
    Refused {
        /// What people call it.
        what: &'static str,
        /// The linker's words, which name the file.
        said: String,
    },
    /// The environment variable names no absolute path.
    #[error("{variable} is `{value}`, which is no absolute path of a library")]
    NotAbsolute {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// A function that every version has is missing.
    #[error("{file} is no library of {what} that can be used: it has no function `{function}`")]
    NoFunction {
        /// What people call it.
        what: &'static str,
        /// Path of the library.
        file: String,
        /// Name of the function.
        function: &'static str,
    },
}

impl LibraryError {
    /// Its class: absence is none of the machine's faults, anything else is worth a warning.
    pub fn status(&self) -> Status {
        match self {
            LibraryError::NotInstalled { .. } => Status::NOT_FOUND,
            LibraryError::NotAbsolute { .. } => Status::INVALID,
            LibraryError::Refused { .. } | LibraryError::NoFunction { .. } => Status::DEVICE,
        }
    }
}

/// A library that was opened, for the life of the process.
#[derive(Debug)]
pub struct Library {
    what: &'static str,
    handle: ManuallyDrop<Handle>,
    file: PathBuf,
}

impl Library {
    /// Opens the library that the environment names, else the first that is loaded already, else
    /// the first that is installed.
    ///
    /// # Errors
    /// None is there, or the one that is there cannot be loaded.
    pub fn open(search: &Search) -> Result<Self, LibraryError> {
        let chosen = std::env::var_os(search.variable).filter(|value| !value.is_empty());
        Self::choose(search, chosen, is_elevated())
    }

    fn choose(
        search: &Search,
        chosen: Option<OsString>,
        elevated: bool,
    ) -> Result<Self, LibraryError> {
        if let Some(path) = chosen {
            if !elevated {
                return Self::named(search, Path::new(&path));
            }
            let line = format!(
                "{} is not heeded in a process with elevated rights",
                search.variable
            );
            log(LogLevel::WARNING, &line);
        }
        for name in search.names {
            if let Some(handle) = loaded(name) {
                return Self::known(search, handle, Path::new(name));
            }
        }
        let mut refused = None;
        for name in search.names {
            match load(name.as_ref()) {
                Ok(handle) => return Self::known(search, handle, Path::new(name)),
                Err(said) if is_absence(name, &said) => {}
                Err(said) => {
                    refused.get_or_insert(said);
                }
            }
        }
        Err(match refused {
            Some(said) => LibraryError::Refused {
                what: search.what,
                said,
            },
            None => LibraryError::NotInstalled {
                what: search.what,
                looked_for: search.names.join(", "),
            },
        })
    }

    /// The library that the environment names.
    fn named(search: &Search, path: &Path) -> Result<Self, LibraryError> {
        if !path.is_absolute() {
            return Err(LibraryError::NotAbsolute {
                variable: search.variable,
                value: one_line(&path.display().to_string()),
            });
        }
        Self::at(search, path).map_err(|error| match error {
            LibraryError::Refused { what, said } => LibraryError::Refused {
                what,
                said: format!("{} names it: {said}", search.variable),
            },
            other => other,
        })
    }

    /// Opens the library in this file, whatever the environment says.
    ///
    /// # Errors
    /// It cannot be loaded, or is another library.
    pub fn at(search: &Search, path: &Path) -> Result<Self, LibraryError> {
        let handle = load(path).map_err(|said| LibraryError::Refused {
            what: search.what,
            said,
        })?;
        Self::known(search, handle, path)
    }

    /// Looks for the mark of the library, and by it for the file.
    fn known(search: &Search, handle: Handle, name: &Path) -> Result<Self, LibraryError> {
        let mut library = Library {
            what: search.what,
            handle: ManuallyDrop::new(handle),
            file: name.to_owned(),
        };
        let mark = library.address(search.mark)?;
        if let Some(file) = file_of(mark) {
            library.file = file;
        }
        Ok(library)
    }

    /// Where the library was found, as far as the dynamic linker tells.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A function that every version has.
    ///
    /// # Safety
    /// `F` is the function's type, an `unsafe extern "C" fn`.
    ///
    /// # Errors
    /// It is missing.
    pub unsafe fn required<F: Copy>(&self, function: &'static str) -> Result<F, LibraryError> {
        // SAFETY: the caller's promise.
        unsafe { self.optional(function) }.ok_or_else(|| self.missing(function))
    }

    /// A function that not every version has.
    ///
    /// # Safety
    /// As for [`required`](Library::required).
    pub unsafe fn optional<F: Copy>(&self, function: &'static str) -> Option<F> {
        // SAFETY: the type is the caller's promise, an absent function is null and so none; what
        // is answered is used while the library is open, which is for good.
        let symbol = unsafe { self.handle.get::<Option<F>>(function) };
        symbol.ok().and_then(|symbol| *symbol)
    }

    fn address(&self, function: &'static str) -> Result<*const c_void, LibraryError> {
        // SAFETY: only the address is looked at.
        match unsafe { self.handle.get::<*const c_void>(function) } {
            Ok(symbol) => Ok(symbol.as_raw_ptr().cast_const()),
            Err(_) => Err(self.missing(function)),
        }
    }

    fn missing(&self, function: &'static str) -> LibraryError {
        LibraryError::NoFunction {
            what: self.what,
            file: one_line(&self.file.display().to_string()),
            function,
        }
    }
}

/// How libraries are opened: for good, and without giving their names to others.
const FLAGS: c_int = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;

/// The library of this name that the process has loaded.
fn loaded(name: &str) -> Option<Handle> {
    // SAFETY: nothing is loaded, so that nothing runs.
    unsafe { Handle::open(Some(name), FLAGS | libc::RTLD_NOLOAD) }.ok()
}

/// Opens a library, or says what the linker says.
fn load(name: &Path) -> Result<Handle, String> {
    // SAFETY: a vendor's runtime may be loaded into any program; its initialisers are its own.
    unsafe { Handle::open(Some(name), FLAGS) }.map_err(|error| match error {
        libloading::Error::DlOpen { source } => one_line(&source.to_string()),
        other => one_line(&other.to_string()),
    })
}

/// Whether the linker did not find `name` itself, rather than something that it needs.
fn is_absence(name: &str, said: &str) -> bool {
    // glibc and musl, as in the loader of plugins.
    said.contains("No such file or directory")
        && (said.starts_with(name) || said.contains(&format!("loading shared library {name}:")))
}

/// The file that the dynamic linker took a function from.
fn file_of(function: *const c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the room is one answer's; the call writes all of it where it does not answer 0.
    let found = unsafe { libc::dladdr(function, info.as_mut_ptr()) };
    // SAFETY: zero is a value of each field.
    let name = unsafe { info.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return None;
    }
    // SAFETY: a text of the linker's that stays while the library is open.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

/// Whether the process has rights that its caller lacks: what its environment says is then not
/// to be trusted.
pub fn is_elevated() -> bool {
    // SAFETY: reads the vector that the kernel gave this process; an absent key gives 0.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The environment variables among `names` that are set, as `; A=1, B=0`; nothing if none is.
pub fn settings(names: &[&str]) -> String {
    let mut text = String::new();
    for name in names {
        let Some(value) = std::env::var_os(name) else {
            continue;
        };
        text += if text.is_empty() { "; " } else { ", " };
        let value: String = value.to_string_lossy().chars().take(80).collect();
        // Writing to a text does not fail.
        let _ = write!(text, "{name}={}", one_line(&value));
    }
    text
}

/// A text without line breaks and other controls.
pub fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).collect()
}

/// Sizes of what a C function takes and, last, of what it answers: enough to see that two
/// declarations of it differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<usize>);

/// A pointer to a function.
pub trait Signature {
    /// Its shape.
    fn shape() -> Shape;
}

macro_rules! signatures {
    ($(($($argument:ident)*))*) => {$(
        signatures!(@one [$($argument)*] unsafe extern "C" fn($($argument),*) -> R);
        // As bindings wrap functions.
        signatures!(@one [$($argument)*] unsafe fn($($argument),*) -> R);
    )*};
    (@one [$($argument:ident)*] $function:ty) => {
        impl<R, $($argument),*> Signature for $function {
            fn shape() -> Shape {
                Shape(vec![$(size_of::<$argument>(),)* size_of::<R>()])
            }
        }
    };
}

signatures! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
    (A B C D E F G H I) (A B C D E F G H I J) (A B C D E F G H I J K)
}

/// The shape of a function, which may be named in place of its type.
pub fn shape_of<F: Signature>(_: F) -> Shape {
    F::shape()
}

/// Declares a table of a library's functions: those of every version, then those that may be
/// missing. `resolve` fills it in from a [`Library`]; in tests, `shapes` tells what is declared.
#[macro_export]
macro_rules! function_table {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $Table:ident {
            required {$(
                $field:ident: $symbol:literal = fn($($argument:ty),* $(,)?) -> $result:ty;
            )*}
            optional {$(
                $maybe:ident: $name:literal = fn($($given:ty),* $(,)?) -> $answer:ty;
            )*}
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        $visibility struct $Table {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
            $(pub(crate) $maybe: Option<unsafe extern "C" fn($($given),*) -> $answer>,)*
        }

        impl $Table {
            /// Looks up every function.
            ///
            /// # Safety
            /// The library's functions are of the types declared here.
            pub(crate) unsafe fn resolve(
                library: &$crate::library::Library,
            ) -> Result<Self, $crate::library::LibraryError> {
                Ok($Table {
                    // SAFETY: the caller's promise.
                    $($field: unsafe { library.required($symbol) }?,)*
                    // SAFETY: the caller's promise.
                    $($maybe: unsafe { library.optional($name) },)*
                })
            }

            /// Every function that is declared, with its shape.
            #[cfg(test)]
            pub(crate) fn shapes() -> Vec<(&'static str, $crate::library::Shape)> {
                use $crate::library::Signature;
                vec![
                    $(($symbol, <unsafe extern "C" fn($($argument),*) -> $result>::shape()),)*
                    $(($name, <unsafe extern "C" fn($($given),*) -> $answer>::shape()),)*
                ]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search {
        what: "the C library",
        variable: "TEST_LIBRARY",
        names: &["libvmafx-none.so.3", "libc.so.6"],
        mark: "strlen",
    };

    crate::function_table! {
        struct Table {
            required {
                length: "strlen" = fn(*const std::ffi::c_char) -> usize;
            }
            optional {
                none: "vmafx_no_such_function" = fn(u32, *mut c_void) -> i32;
            }
        }
    }

    #[test]
    fn the_first_that_is_installed_is_taken() {
        let library = Library::choose(&SEARCH, None, false).unwrap();
        assert!(library.file().ends_with("libc.so.6"), "{library:?}");
        assert!(library.file().is_absolute(), "{library:?}");
        // SAFETY: the types are those of the C library.
        let table = unsafe { Table::resolve(&library) }.unwrap();
        // SAFETY: a text of C.
        assert_eq!(unsafe { (table.length)(c"four".as_ptr()) }, 4);
        assert!(table.none.is_none());
        let shapes = Table::shapes();
        assert_eq!(shapes[0], ("strlen", Shape(vec![8, 8])));
        assert_eq!(shapes[1].1, Shape(vec![4, 8, 4]));
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = Search {
            names: &["libvmafx-none.so.3", "libvmafx-none.so"],
            ..SEARCH
        };
        let said = Library::choose(&none, None, false).unwrap_err();
        let wanted = "the C library is not installed: no libvmafx-none.so.3, libvmafx-none.so";
        assert_eq!(
            (&*said.to_string(), said.status()),
            (wanted, Status::NOT_FOUND)
        );

        let unmarked = Search {
            mark: "vmafx_no_such_function",
            ..SEARCH
        };
        let said = Library::choose(&unmarked, None, false).unwrap_err();
        assert!(
            matches!(&said, LibraryError::NoFunction { file, function, .. }
                if file.contains("libc.so.6") && *function == "vmafx_no_such_function"),
            "{said}"
        );
        assert_eq!(said.status(), Status::DEVICE);
    }

    #[test]
    fn a_path_of_the_environment_is_the_only_place() {
        let at = |path: &str, elevated| Library::choose(&SEARCH, Some(path.into()), elevated);
        let said = at("/no/such/lib.so", false).unwrap_err();
        assert_eq!(said.status(), Status::DEVICE);
        let said = said.to_string();
        assert!(
            said.starts_with("the C library cannot be loaded: TEST_LIBRARY names it: ")
                && said.contains("/no/such/lib.so"),
            "{said}"
        );
        let said = at("libc.so.6", false).unwrap_err();
        assert!(
            matches!(said, LibraryError::NotAbsolute { .. }),
            "a bare name is none: {said}"
        );
        assert_eq!(said.status(), Status::INVALID);
        // With elevated rights it is as if nobody had set it.
        assert!(at("/no/such/lib.so", true).is_ok());
    }

    #[test]
    fn absence_is_told_from_damage() {
        let name = "libamdhip64.so.6";
        let glibc = "libamdhip64.so.6: cannot open shared object file: No such file or directory";
        assert!(is_absence(name, glibc));
        let musl = "Error loading shared library libamdhip64.so.6: No such file or directory";
        assert!(is_absence(name, musl));
        let deeper = "libhsa.so.1: cannot open shared object file: No such file or directory";
        assert!(!is_absence(name, deeper));
        assert!(!is_absence(name, "libamdhip64.so.6: file too short"));
    }
}
