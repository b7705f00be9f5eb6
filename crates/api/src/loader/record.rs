//! Load records: what became of each candidate, and why.
//!
//! Nothing is passed over in silence. Every manifest, library, built-in backend and ignored
//! setting that the loader met ends in one [`LoadRecord`]: how far it came, the outcome, a
//! reason that programs can compare, a line for people and a hint what to do.
//!
//! What must stay true: the words of [`Stage`], [`Outcome`], [`Reason`] and [`Place`] are part
//! of the reports and never change; a record prints as one line, whatever a file or a library
//! wrote into its names.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::describe::disturbs;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$item_doc:meta])* $item:ident = $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item_doc])* $item,)*
        }

        impl $name {
            /// Every word there is.
            pub const ALL: &'static [$name] = &[$($name::$item),*];

            /// The word itself.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$item => $text,)*
                }
            }

            /// Finds a word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|item| item.word() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
}

words! {
    /// Where a candidate was found, in the order of the search.
    Place {
        /// Named by `VMAFX_BACKEND_FILES`.
        BackendFiles = "backend-files";
        /// Named by `VMAFX_ADD_BACKEND_FILES`.
        AddBackendFiles = "add-backend-files";
        /// Added by the application.
        Application = "application";
        /// In the user's folder of settings.
        UserConfig = "user-config";
        /// In the administrator's folders of settings.
        SystemConfig = "system-config";
        /// In the user's folder of data.
        UserData = "user-data";
        /// In the folders that packages install to.
        SystemData = "system-data";
        /// Linked into the program.
        BuiltIn = "built-in";
        /// A library that the application loads by path, without a manifest.
        Explicit = "explicit";
        /// The environment: a setting and no candidate.
        Environment = "environment";
    }
}

words! {
    /// How far a candidate came: the step that decided its outcome.
    Stage {
        /// Looking for manifests.
        Search = "search";
        /// Reading a manifest.
        Parse = "parse";
        /// Filters, shadowing and hints of the manifest.
        Filter = "filter";
        /// Opening the library.
        Open = "open";
        /// Finding the entry.
        Symbol = "symbol";
        /// Agreeing on a revision with the entry.
        Negotiate = "negotiate";
        /// Checking what the plugin's tables say.
        Layout = "layout";
        /// Trying the library in a child process.
        Probe = "probe";
    }
}

words! {
    /// What became of a candidate.
    Outcome {
        /// It can be used.
        Loaded = "loaded";
        /// Another backend of the same identifier comes before it.
        Shadowed = "shadowed";
        /// A filter leaves it out.
        Disabled = "disabled";
        /// The machine lacks what it is for: information, no failure.
        NotInstalled = "not-installed";
        /// Something is wrong with it.
        Refused = "refused";
    }
}

words! {
    /// Why, for programs.
    Reason {
        /// Nothing is wrong.
        Ok = "ok";
        /// It works, yet its manifest says something else about it: a mistake of the package.
        ManifestDisagrees = "manifest-disagrees";
        /// Another backend of this identifier was found first.
        SameId = "same-id";
        /// The manifest was met before under another path.
        SameFile = "same-file";
        /// `VMAFX_BACKENDS_DISABLE` names it.
        FilterDisable = "filter-disable";
        /// `VMAFX_BACKENDS_SELECT` does not name it.
        FilterSelect = "filter-select";
        /// A pattern of a filter cannot match any identifier.
        BadPattern = "bad-pattern";
        /// The manifest has no library for this platform.
        OtherPlatform = "other-platform";
        /// The machine has no PCI device of the vendors that the manifest names.
        NoDevice = "no-device";
        /// A file or folder that was named does not exist.
        NotFound = "not-found";
        /// A file or folder cannot be read.
        Unreadable = "unreadable";
        /// A relative path where only absolute ones are allowed.
        RelativePath = "relative-path";
        /// The process runs with elevated rights and does not follow its caller's settings.
        Elevated = "elevated";
        /// In an elevated process: the file belongs to someone else.
        ForeignOwner = "foreign-owner";
        /// In an elevated process: others can write the file.
        WritableByOthers = "writable-by-others";
        /// The manifest is larger than a manifest may be.
        TooLarge = "too-large";
        /// The manifest is not UTF-8 text.
        NotText = "not-text";
        /// The manifest is not TOML.
        NotToml = "not-toml";
        /// The manifest is of a newer version.
        ManifestVersion = "manifest-version";
        /// The manifest lacks a key.
        MissingKey = "missing-key";
        /// A value of the manifest is wrong.
        BadValue = "bad-value";
        /// The library's file does not exist.
        LibraryNotFound = "library-not-found";
        /// The file is no ELF file.
        NotElf = "not-elf";
        /// The file ends before what its headers say is in it.
        Truncated = "truncated";
        /// The library is for another kind of machine.
        OtherMachine = "other-machine";
        /// An ELF file that is no shared library.
        NotALibrary = "not-a-library";
        /// A library that it is linked against is not there.
        MissingDependency = "missing-dependency";
        /// The dynamic linker refuses it.
        OpenFailed = "open-failed";
        /// It changed the floating-point environment.
        FloatEnvironment = "float-environment";
        /// It does not export the entry.
        MissingSymbol = "missing-symbol";
        /// It is built for another major number of the interface.
        WrongMajor = "wrong-major";
        /// It shares no revision of the interface with this host.
        WrongRevision = "wrong-revision";
        /// Its entry answered with a failure.
        EntryFailed = "entry-failed";
        /// Its entry wrote past the end of the host's struct.
        WroteBeyond = "wrote-beyond";
        /// It offers no backend.
        NoBackend = "no-backend";
        /// A struct is shorter or longer than it can be.
        StructSize = "struct-size";
        /// A reserved field is not zero.
        NonzeroReserved = "nonzero-reserved";
        /// A required function is missing.
        NullFunction = "null-function";
        /// A required pointer is null or not aligned.
        BadPointer = "bad-pointer";
        /// A function lies in no loaded library.
        StrayFunction = "stray-function";
        /// A text is not UTF-8, too long, or not of the form it must have.
        BadText = "bad-text";
        /// What a backend says of itself breaks a rule.
        BadDescription = "bad-description";
        /// Two backends of one plugin have the same identifier.
        DuplicateId = "duplicate-id";
        /// The manifest promises a backend that the library does not have.
        OtherBackend = "other-backend";
        /// The child process was ended by a signal.
        Crashed = "crashed";
        /// The child process did not end in time.
        TimedOut = "timed-out";
        /// The plugin ended the child process.
        Exited = "exited";
        /// The child process could not be started, or gave no verdict that can be read.
        ProbeFailed = "probe-failed";
    }
}

/// What became of one candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LoadRecord {
    /// Identifier of the backend, once it is known.
    pub backend: Option<String>,
    /// Where the candidate was found.
    pub place: Place,
    /// Its manifest, or the file or folder that was named in its stead.
    #[serde(serialize_with = "lossy")]
    pub manifest: Option<PathBuf>,
    /// Its library, once it is known.
    #[serde(serialize_with = "lossy")]
    pub library: Option<PathBuf>,
    /// The step that decided the outcome.
    pub stage: Stage,
    /// The outcome.
    pub outcome: Outcome,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people: one line.
    pub line: String,
    /// What to do about it: one line.
    pub hint: Option<String>,
    /// Smaller things that were noticed, such as unknown keys of the manifest: a line each.
    pub notes: Vec<String>,
}

impl LoadRecord {
    pub(super) fn new(place: Place) -> Self {
        LoadRecord {
            backend: None,
            place,
            manifest: None,
            library: None,
            stage: Stage::Search,
            outcome: Outcome::Refused,
            reason: Reason::Ok,
            line: String::new(),
            hint: None,
            notes: Vec::new(),
        }
    }

    /// Whether something is wrong that its user, packager or author should put right.
    pub fn is_failure(&self) -> bool {
        self.outcome == Outcome::Refused || self.reason == Reason::ManifestDisagrees
    }

    /// What the record is about: the backend, else the file.
    pub fn subject(&self) -> String {
        let path = self.manifest.as_deref().or(self.library.as_deref());
        match (&self.backend, path) {
            (Some(id), _) => one_line(id),
            (None, Some(path)) => shown(path),
            (None, None) => self.place.to_string(),
        }
    }

    pub(super) fn end(mut self, outcome: Outcome, verdict: Verdict) -> Self {
        self.outcome = outcome;
        self.stage = verdict.stage;
        self.reason = verdict.reason;
        self.line = one_line(&verdict.line);
        self.hint = verdict.hint.as_deref().map(one_line);
        self
    }

    pub(super) fn refuse(self, verdict: Verdict) -> Self {
        self.end(Outcome::Refused, verdict)
    }
}

/// One line: `hip: refused (missing-symbol at symbol): …; …`.
impl fmt::Display for LoadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject();
        let (outcome, reason, stage) = (self.outcome, self.reason, self.stage);
        match reason {
            Reason::Ok => write!(f, "{subject}: {outcome}: {}", self.line)?,
            _ => write!(
                f,
                "{subject}: {outcome} ({reason} at {stage}): {}",
                self.line
            )?,
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// How one step of the loader ends for a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) stage: Stage,
    pub(super) reason: Reason,
    pub(super) line: String,
    pub(super) hint: Option<String>,
    /// The library that is not there, if that is the reason.
    pub(super) missing: Option<String>,
}

impl Verdict {
    pub(super) fn new(stage: Stage, reason: Reason, line: impl Into<String>) -> Self {
        Verdict {
            stage,
            reason,
            line: line.into(),
            hint: None,
            missing: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A path for people, on one line.
pub(super) fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Longest line of a record, in characters.
const LONGEST_LINE: usize = 1024;

/// `text` on one line: without control characters and what turns the direction of writing, and
/// not without end. For words of a plugin that are shown to people.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(LONGEST_LINE));
    for (place, letter) in text.trim_end().chars().enumerate() {
        if place == LONGEST_LINE {
            line.push('…');
            break;
        }
        if disturbs(letter) {
            // Writing to a `String` cannot fail.
            let _ = write!(line, "{}", letter.escape_unicode());
        } else {
            line.push(letter);
        }
    }
    line
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref()
        .map(Path::to_string_lossy)
        .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kebab_case_unique_and_found_again() {
        fn check<T: Copy + PartialEq + fmt::Debug>(
            all: &[T],
            word: fn(T) -> &'static str,
            find: fn(&str) -> Option<T>,
        ) {
            for (place, &item) in all.iter().enumerate() {
                let text = word(item);
                assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
                assert_eq!(find(text), Some(item));
                assert!(all[..place].iter().all(|&other| word(other) != text));
            }
            assert_eq!(find("no-such-word"), None);
        }
        check(Place::ALL, Place::word, Place::from_word);
        check(Stage::ALL, Stage::word, Stage::from_word);
        check(Outcome::ALL, Outcome::word, Outcome::from_word);
        check(Reason::ALL, Reason::word, Reason::from_word);
    }

    #[test]
    fn a_record_is_one_line_whatever_the_names_hold() {
        let mut record = LoadRecord::new(Place::UserData);
        record.manifest = Some(PathBuf::from("/a/b\n\u{1b}[31mc\u{202e}.toml"));
        let verdict = Verdict::new(Stage::Parse, Reason::NotToml, "line 1:\nno").hint("mend it");
        let record = record.refuse(verdict);
        assert_eq!(
            record.to_string(),
            "/a/b\\u{a}\\u{1b}[31mc\\u{202e}.toml: refused (not-toml at parse): \
             line 1:\\u{a}no; mend it"
        );
        assert!(record.is_failure());
        assert_eq!(
            one_line(&"x".repeat(5000)).chars().count(),
            LONGEST_LINE + 1
        );
    }
}
