//! Manifests: the TOML file by which a package says that a backend is there.
//!
//! ```toml
//! manifest_version = 1
//! [backend]
//! id = "example"                        # what users type: a-z, 0-9 and hyphens
//! name = "Example backend"
//! version = "1.4.0"                     # of the plugin, as in semantic versioning
//! license = "MIT"                       # an SPDX expression
//! abi = { major = 1, revision = 1 }     # what it was built against
//! library = { linux_x86_64 = "libvmafx_backend_example.so" }
//! # Optional:
//! needs = ["libexample.so.3", { library = "libother.so", name = "the Other runtime" }]
//! pci_vendors = ["10de"]                # only looked at where such a device is
//! priority = 50                         # takes the place of the library's own
//! ```
//!
//! What must stay true: parsing is total (any bytes give a manifest or an error that says what
//! is wrong, in bounded memory); an unknown key is noted and never an error, so that newer
//! packages work with older hosts; a manifest is a hint, and the library's own word is the
//! truth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::{Table, Value};

use super::record::{Reason, Stage, Verdict, one_line};
use crate::wire::{ABI_MAJOR, ABI_REVISION};

/// Newest `manifest_version` that is understood.
pub const MANIFEST_VERSION: i64 = 1;
/// Longest manifest, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 64 * 1024;
/// Longest identifier or other name, in bytes.
pub(super) const MAX_ID: usize = 64;
/// Longest text for people and longest path, in bytes.
const MAX_TEXT: usize = 1024;
/// Most entries of a list.
const MAX_ENTRIES: usize = 64;
/// Most unknown keys that are noted one by one.
const MAX_NOTES: usize = 16;

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// Identifier of the backend.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// Version of the plugin, as in semantic versioning.
    pub version: String,
    /// Its licence.
    pub license: String,
    /// Major number of the interface that it was built against.
    pub abi_major: u32,
    /// Revision of the interface that it was built against.
    pub abi_revision: u32,
    /// Its library by platform, such as `linux_x86_64`: a path, relative to the manifest's
    /// folder, or a bare name in the host's folder of plugins.
    pub library: BTreeMap<String, String>,
    /// Libraries whose absence means that it is not for this machine.
    pub needs: Vec<Need>,
    /// PCI vendors whose devices it is for; empty if it does not say.
    pub pci_vendors: Vec<u16>,
    /// Priority in place of the library's own.
    pub priority: Option<i32>,
    /// Unknown keys.
    pub notes: Vec<String>,
}

/// A library that a backend needs from someone else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// File name of the library, with or without the version at its end.
    pub library: String,
    /// What people call it, such as `the Example runtime`; empty if the manifest does not say.
    pub name: String,
}

impl Need {
    /// A library by its file name, and what people call it; an empty name for none.
    pub fn new(library: impl Into<String>, name: impl Into<String>) -> Self {
        Need {
            library: library.into(),
            name: name.into(),
        }
    }
}

/// Why some bytes are no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Too many bytes.
    #[error("it is longer than {MAX_MANIFEST_BYTES} bytes, which no manifest is")]
    TooLarge,
    /// Not UTF-8.
    #[error("it is not UTF-8 text (byte {at})")]
    NotText {
        /// Place of the first wrong byte.
        at: usize,
    },
    /// Not TOML.
    #[error("line {line} is not TOML: {message}")]
    NotToml {
        /// Line, from 1.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// Of a newer version.
    #[error("its `manifest_version` is {found}; this host reads versions up to {MANIFEST_VERSION}")]
    Version {
        /// Its `manifest_version`.
        found: i64,
    },
    /// A key is missing.
    #[error("it has no `{key}`")]
    Missing {
        /// Full name of the key.
        key: String,
    },
    /// A value is wrong.
    #[error("`{key}` is {found}; it must be {wanted}")]
    Value {
        /// Full name of the key.
        key: String,
        /// The value, shortened.
        found: String,
        /// What is allowed.
        wanted: &'static str,
    },
}

impl Manifest {
    /// A manifest of a backend that is built against this revision of the interface; the
    /// libraries are still to be named.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        version: impl Into<String>,
        license: impl Into<String>,
    ) -> Self {
        Manifest {
            id: id.into(),
            name: name.into(),
            version: version.into(),
            license: license.into(),
            abi_major: ABI_MAJOR,
            abi_revision: ABI_REVISION,
            library: BTreeMap::new(),
            needs: Vec::new(),
            pci_vendors: Vec::new(),
            priority: None,
            notes: Vec::new(),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|error| ManifestError::NotText {
            at: error.valid_up_to(),
        })?;
        let mut file = Keys::of("", text.parse().map_err(|error| not_toml(text, &error))?);

        // The version comes first: a newer one may have none of the keys below.
        let version = file.required("manifest_version", "a whole number from 1", whole)?;
        if version > MANIFEST_VERSION {
            return Err(ManifestError::Version { found: version });
        }
        if version < 1 {
            return Err(wrong(
                "manifest_version",
                &version.into(),
                "a whole number from 1",
            ));
        }

        let backend = file.required("backend", "a table", table)?;
        let mut backend = Keys::of("backend.", backend);
        let id = backend.required("id", "1 to 64 of a-z, 0-9 and hyphens", |value| {
            value.as_str().filter(|id| is_id(id)).map(str::to_owned)
        })?;
        let name = backend.required("name", TEXT, text_of)?;
        let version = backend.required("version", "a version such as 1.4.0", |value| {
            let text = text_of(value)?;
            semver::Version::parse(&text).ok().map(|_| text)
        })?;
        let license = backend.required("license", TEXT, text_of)?;

        let abi = backend.required("abi", "a table of `major` and `revision`", table)?;
        let mut abi = Keys::of("backend.abi.", abi);
        let abi_major = abi.required("major", "a whole number from 1", number)?;
        let abi_revision = abi.required("revision", "a whole number from 1", number)?;

        let library = backend.required("library", LIBRARY, |value| {
            let libraries = value.as_table()?;
            if libraries.is_empty() || libraries.len() > MAX_ENTRIES {
                return None;
            }
            let entry = |(platform, path): (&String, &Value)| {
                let known = !platform.is_empty() && platform.len() <= MAX_ID;
                known.then(|| Some((platform.clone(), text_of(path)?)))?
            };
            libraries.iter().map(entry).collect::<Option<_>>()
        })?;
        let needs = backend.list(
            "needs",
            "names of libraries, or tables of `library` and `name`",
            need,
        )?;
        let pci_vendors =
            backend.list("pci_vendors", "texts of four hexadecimal digits", vendor)?;
        let priority = backend.optional("priority", "a whole number within 32 bits", |value| {
            value.as_integer()?.try_into().ok()
        })?;

        let mut notes = Vec::new();
        for keys in [file, backend, abi] {
            keys.note_rest(&mut notes);
        }
        Ok(Manifest {
            id,
            name,
            version,
            license,
            abi_major,
            abi_revision,
            library,
            needs,
            pci_vendors,
            priority,
            notes,
        })
    }

    /// The manifest as the text of a file, which [`parse`](Manifest::parse) reads if the values
    /// are within their limits.
    pub fn to_toml(&self) -> String {
        let entry = |(name, value): (&str, Value)| (name.to_owned(), value);
        let abi = [("major", self.abi_major), ("revision", self.abi_revision)];
        let mut backend: Table = [
            ("id", Value::from(self.id.as_str())),
            ("name", self.name.as_str().into()),
            ("version", self.version.as_str().into()),
            ("license", self.license.as_str().into()),
            (
                "abi",
                abi.map(|(name, n)| entry((name, i64::from(n).into())))
                    .into_iter()
                    .collect::<Table>()
                    .into(),
            ),
            (
                "library",
                self.library
                    .iter()
                    .map(|(k, v)| entry((k, v.as_str().into())))
                    .collect::<Table>()
                    .into(),
            ),
        ]
        .into_iter()
        .map(entry)
        .collect();
        if !self.needs.is_empty() {
            let needs = self.needs.iter().map(|need| match need.name.as_str() {
                "" => Value::from(need.library.as_str()),
                name => [
                    ("library", need.library.as_str().into()),
                    ("name", name.into()),
                ]
                .map(entry)
                .into_iter()
                .collect::<Table>()
                .into(),
            });
            backend.insert("needs".to_owned(), needs.collect::<Vec<Value>>().into());
        }
        if !self.pci_vendors.is_empty() {
            let vendors = self.pci_vendors.iter().map(|v| format!("{v:04x}").into());
            backend.insert(
                "pci_vendors".to_owned(),
                vendors.collect::<Vec<Value>>().into(),
            );
        }
        if let Some(priority) = self.priority {
            backend.insert("priority".to_owned(), i64::from(priority).into());
        }
        let mut file = Table::new();
        file.insert("manifest_version".to_owned(), MANIFEST_VERSION.into());
        file.insert("backend".to_owned(), backend.into());
        file.to_string()
    }
}

impl ManifestError {
    pub(super) fn verdict(&self) -> Verdict {
        let reason = match self {
            ManifestError::TooLarge => Reason::TooLarge,
            ManifestError::NotText { .. } => Reason::NotText,
            ManifestError::NotToml { .. } => Reason::NotToml,
            ManifestError::Version { .. } => Reason::ManifestVersion,
            ManifestError::Missing { .. } => Reason::MissingKey,
            ManifestError::Value { .. } => Reason::BadValue,
        };
        let hint = match reason {
            Reason::ManifestVersion => "update vmafx, or install an older package of the backend",
            Reason::TooLarge | Reason::NotText => {
                "name the manifest (a .toml file), not the library"
            }
            _ => "the manifest is the package's: tell whoever made the package",
        };
        Verdict::new(
            Stage::Parse,
            reason,
            format!("the manifest is refused: {self}"),
        )
        .hint(hint)
    }
}

/// Whether `text` can be the identifier of a backend.
pub(super) fn is_id(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= MAX_ID && text.bytes().all(letter)
}

const TEXT: &str = "a text of 1 to 1024 bytes on one line";
const LIBRARY: &str = "a table of 1 to 64 paths by platform, such as linux_x86_64";

/// A table whose known keys are taken out one after another.
struct Keys {
    prefix: &'static str,
    table: Table,
}

impl Keys {
    fn of(prefix: &'static str, table: Table) -> Self {
        Keys { prefix, table }
    }

    fn optional<T>(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ManifestError> {
        let Some(value) = self.table.remove(key) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(wrong(&format!("{}{key}", self.prefix), &value, wanted)),
        }
    }

    fn required<T>(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ManifestError> {
        self.optional(key, wanted, read)?
            .ok_or_else(|| ManifestError::Missing {
                key: format!("{}{key}", self.prefix),
            })
    }

    fn list<T>(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<T>, ManifestError> {
        let list = self.optional(key, wanted, |value| {
            let entries = value.as_array()?;
            if entries.len() > MAX_ENTRIES {
                return None;
            }
            entries.iter().map(read).collect::<Option<Vec<T>>>()
        })?;
        Ok(list.unwrap_or_default())
    }

    fn note_rest(self, notes: &mut Vec<String>) {
        for key in self.table.keys() {
            if notes.len() == MAX_NOTES {
                notes.push("more unknown keys".to_owned());
            }
            if notes.len() > MAX_NOTES {
                return;
            }
            let key = shortened(key);
            notes.push(format!(
                "unknown key `{}{key}` in the manifest",
                self.prefix
            ));
        }
    }
}

fn whole(value: &Value) -> Option<i64> {
    value.as_integer()
}

fn number(value: &Value) -> Option<u32> {
    value.as_integer()?.try_into().ok().filter(|&n| n > 0)
}

fn table(value: &Value) -> Option<Table> {
    value.as_table().cloned()
}

fn text_of(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= MAX_TEXT;
    (fits && !text.contains(char::is_control)).then(|| text.to_owned())
}

fn need(value: &Value) -> Option<Need> {
    let (library, name) = match value {
        Value::Table(table) => {
            let name = table.get("name").map_or(Some(String::new()), text_of)?;
            (table.get("library")?, name)
        }
        value => (value, String::new()),
    };
    let library = text_of(library)?;
    (!library.contains('/')).then_some(Need { library, name })
}

fn vendor(value: &Value) -> Option<u16> {
    let text = value.as_str()?;
    let digits = text.len() == 4 && text.bytes().all(|b| b.is_ascii_hexdigit());
    digits.then(|| u16::from_str_radix(text, 16).ok())?
}

fn wrong(key: &str, value: &Value, wanted: &'static str) -> ManifestError {
    let found = match value {
        Value::String(text) => format!("`{}`", shortened(text)),
        other => shortened(&other.to_string()),
    };
    ManifestError::Value {
        key: key.to_owned(),
        found,
        wanted,
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_ID).collect();
    if short.len() < text.len() {
        let _ = write!(short, "…");
    }
    one_line(&short)
}

fn not_toml(text: &str, error: &toml::de::Error) -> ManifestError {
    let at = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.as_bytes()[..at].iter();
    ManifestError::NotToml {
        line: 1 + before.filter(|&&byte| byte == b'\n').count(),
        message: shortened_message(error.message()),
    }
}

fn shortened_message(message: &str) -> String {
    one_line(&message.replace('\n', ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
manifest_version = 1
[backend]
id = "hip"
name = "AMD HIP backend"
version = "1.4.0"
license = "MIT"
abi = { major = 1, revision = 3 }
library = { linux_x86_64 = "libvmafx_backend_hip.so" }
needs = ["libamdhip64.so", { library = "libx.so.2", name = "the X runtime" }]
pci_vendors = ["1002", "10DE"]
priority = 50
"#;

    fn reason(text: &str) -> (Reason, String) {
        let error = Manifest::parse(text.as_bytes()).unwrap_err();
        (error.verdict().reason, error.to_string())
    }

    #[test]
    fn a_manifest_is_read_and_written() {
        let manifest = Manifest::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(
            (manifest.id.as_str(), manifest.version.as_str()),
            ("hip", "1.4.0")
        );
        assert_eq!((manifest.abi_major, manifest.abi_revision), (1, 3));
        assert_eq!(manifest.library["linux_x86_64"], "libvmafx_backend_hip.so");
        assert_eq!(manifest.needs[0].library, "libamdhip64.so");
        assert_eq!(manifest.needs[1].name, "the X runtime");
        assert_eq!(manifest.pci_vendors, [0x1002, 0x10de]);
        assert_eq!(manifest.priority, Some(50));
        assert!(manifest.notes.is_empty());
        assert_eq!(Manifest::parse(manifest.to_toml().as_bytes()), Ok(manifest));
    }

    #[test]
    fn unknown_keys_are_noted_and_no_error() {
        let text = GOOD.replace("revision = 3", "revision = 3, flavour = 1");
        let text = format!("shape = \"round\"\n{text}colour = \"red\"\n");
        let notes = Manifest::parse(text.as_bytes()).unwrap().notes;
        assert_eq!(notes.len(), 3);
        assert_eq!(notes[0], "unknown key `shape` in the manifest");
        assert_eq!(notes[1], "unknown key `backend.colour` in the manifest");
        assert_eq!(
            notes[2],
            "unknown key `backend.abi.flavour` in the manifest"
        );
        let many: String = (0..100).map(|n| format!("k{n} = 1\n")).collect();
        let notes = Manifest::parse(format!("{GOOD}{many}").as_bytes())
            .unwrap()
            .notes;
        assert_eq!(notes.len(), MAX_NOTES + 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let swapped = |from: &str, to: &str| {
            assert!(GOOD.contains(from), "{from}");
            reason(&GOOD.replacen(from, to, 1))
        };
        for (from, to, wanted, words) in [
            (
                "manifest_version = 1",
                "manifest_version = 2",
                Reason::ManifestVersion,
                "is 2",
            ),
            (
                "manifest_version = 1",
                "manifest_version = 0",
                Reason::BadValue,
                "`manifest_version` is 0",
            ),
            (
                "manifest_version = 1",
                "",
                Reason::MissingKey,
                "no `manifest_version`",
            ),
            (
                "id = \"hip\"",
                "id = \"HIP\"",
                Reason::BadValue,
                "`backend.id` is `HIP`",
            ),
            (
                "id = \"hip\"",
                "id = \"\"",
                Reason::BadValue,
                "`backend.id`",
            ),
            (
                "id = \"hip\"",
                "id = 3",
                Reason::BadValue,
                "`backend.id` is 3",
            ),
            (
                "\"1.4.0\"",
                "\"1.4\"",
                Reason::BadValue,
                "`backend.version` is `1.4`",
            ),
            (
                "license = \"MIT\"",
                "",
                Reason::MissingKey,
                "no `backend.license`",
            ),
            (
                "revision = 3",
                "revision = -3",
                Reason::BadValue,
                "`backend.abi.revision` is -3",
            ),
            (
                "[backend]",
                "[backends]",
                Reason::MissingKey,
                "no `backend`",
            ),
            (
                "\"libvmafx_backend_hip.so\"",
                "7",
                Reason::BadValue,
                "`backend.library`",
            ),
            (
                "\"libamdhip64.so\"",
                "\"/usr/lib/x.so\"",
                Reason::BadValue,
                "`backend.needs`",
            ),
            (
                "\"1002\"",
                "\"0x1002\"",
                Reason::BadValue,
                "`backend.pci_vendors`",
            ),
            (
                "priority = 50",
                "priority = 3000000000",
                Reason::BadValue,
                "`backend.priority`",
            ),
            (
                "id = \"hip\"",
                "id = \"hip",
                Reason::NotToml,
                "line 4 is not TOML",
            ),
            (
                "id = \"hip\"",
                "id = \"a\\nb\"",
                Reason::BadValue,
                "`a\\u{a}b`",
            ),
        ] {
            let (reason, text) = swapped(from, to);
            assert_eq!(reason, wanted, "{to}: {text}");
            assert!(text.contains(words), "{to}: {text}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let error = Manifest::parse(b"\x7fELF\x02\xff").unwrap_err();
        assert_eq!(error, ManifestError::NotText { at: 5 });
        let long = vec![b'#'; MAX_MANIFEST_BYTES + 1];
        assert_eq!(Manifest::parse(&long), Err(ManifestError::TooLarge));
        let deep = format!("a = {}", "[".repeat(60_000));
        assert_eq!(reason(&deep).0, Reason::NotToml);
    }
}
