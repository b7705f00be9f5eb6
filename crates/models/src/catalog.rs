//! Models by name: the built-in ones, and files in search folders.
//!
//! A built-in model wins over a file of the same name, so that a report that says
//! `vmaf_v0.6.1` means the same figures on every machine; a file is reached by [`load`]ing its
//! path, and its hash is in the report. Names may be written with `.json` behind them.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{MAX_BYTES, ModelError, ModelSet, Origin};

/// The models of this program and their files; `cargo xtask models` writes these.
const BUILT_IN: [(&str, &[u8]); 5] = [
    ("vmaf_v0.6.1", include_bytes!("../data/vmaf_v0.6.1.model")),
    (
        "vmaf_v0.6.1neg",
        include_bytes!("../data/vmaf_v0.6.1neg.model"),
    ),
    (
        "vmaf_4k_v0.6.1",
        include_bytes!("../data/vmaf_4k_v0.6.1.model"),
    ),
    (
        "vmaf_4k_v0.6.1neg",
        include_bytes!("../data/vmaf_4k_v0.6.1neg.model"),
    ),
    (
        "vmaf_b_v0.6.3",
        include_bytes!("../data/vmaf_b_v0.6.3.model"),
    ),
];

/// Names of the built-in models.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The model called `name`: built in, or the first file `name.json` or `name.model` in
/// `folders`, in their order; each folder is looked at before its subfolders (one level, sorted
/// by name, as upstream's model folder has them).
///
/// # Errors
/// No such model, with every place looked at; a name that is a path or of a pickle file; what is
/// wrong with the file found.
pub fn find(name: &str, folders: &[PathBuf]) -> Result<ModelSet, ModelError> {
    refuse_pickle(name)?;
    if name.contains(['/', '\\']) {
        return Err(ModelError::NotAName {
            name: name.to_owned(),
        });
    }
    let stem = name
        .strip_suffix(".json")
        .or_else(|| name.strip_suffix(".model"))
        .unwrap_or(name);
    if let Some((name, bytes)) = BUILT_IN.iter().find(|(name, _)| *name == stem) {
        return Ok(ModelSet::from_native(bytes)?.found(name, Origin::BuiltIn));
    }
    for folder in folders {
        for place in std::iter::once(folder.clone()).chain(subfolders(folder)) {
            for extension in ["json", "model"] {
                let path = place.join(format!("{stem}.{extension}"));
                if path.is_file() {
                    return load(&path);
                }
            }
        }
    }
    let list = |mut list: Vec<String>| match list.pop() {
        Some(last) if list.is_empty() => last,
        Some(last) => format!("{} or {last}", list.join(", ")),
        None => "any folder, as none is searched".to_owned(),
    };
    Err(ModelError::NotFound {
        name: stem.to_owned(),
        builtin: builtin_names().collect::<Vec<_>>().join(", "),
        folders: list(
            folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect(),
        ),
    })
}

/// The model in the file `path`, JSON or our own format. Its name is the file's without folder
/// and extension.
///
/// # Errors
/// A file that cannot be read, is a pickle, or has something wrong inside.
pub fn load(path: &Path) -> Result<ModelSet, ModelError> {
    refuse_pickle(&path.to_string_lossy())?;
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|source| ModelError::File {
            path: path.to_owned(),
            source: Arc::new(source),
        })?;
    let set = ModelSet::from_bytes(&bytes).map_err(|source| ModelError::InFile {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let name = path
        .file_stem()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    Ok(set.found(&name, Origin::File(path.to_owned())))
}

/// The folders where models are looked for, in order: those of `VMAFX_MODEL_PATH` (separated as
/// in `PATH`), `vmafx/model` in the data folders of the XDG base directory specification, and
/// the folders where libvmaf's models usually are, `/usr/local/share/model` and
/// `/usr/share/model`.
pub fn folders() -> Vec<PathBuf> {
    folders_from(|variable| std::env::var_os(variable))
}

fn folders_from(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // An empty text counts as absent, as the specification has it.
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(list) = variable("VMAFX_MODEL_PATH") {
        folders.extend(std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()));
    }
    let home = || Some(PathBuf::from(variable("HOME")?).join(".local/share"));
    let own = variable("XDG_DATA_HOME").map(PathBuf::from).or_else(home);
    let shared = variable("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let data = own.into_iter().chain(std::env::split_paths(&shared));
    // Relative folders are to be ignored, as the specification has it.
    folders.extend(
        data.filter(|path| path.is_absolute())
            .map(|path| path.join("vmafx/model")),
    );
    folders.extend(["/usr/local/share/model", "/usr/share/model"].map(PathBuf::from));
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// Folders of `folder`, sorted; none if it cannot be read.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut list: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    list.sort();
    list
}

fn refuse_pickle(name: &str) -> Result<(), ModelError> {
    let lower = name.to_ascii_lowercase();
    if lower.ends_with(".pkl") || lower.ends_with(".pkl.model") {
        return Err(ModelError::Pickle {
            name: name.to_owned(),
        });
    }
    Ok(())
}

/// The screen and seat that a model was trained for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewing {
    /// Width of the picture on that screen, in samples.
    pub width: u32,
    /// Height of it.
    pub height: u32,
    /// Distance of the viewer, in tenths of the screen's height.
    pub distance_tenths: u32,
    /// Whether the score is for a phone: a small screen at a distance of the viewer's choice.
    pub phone: bool,
}

impl Viewing {
    /// Whether frames of this size look like pictures for that screen: one side, long or short,
    /// is within a tenth of it. Letterboxed and upright pictures fit, other resolutions do not.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        let near = |size: u32, ideal: u32| size.abs_diff(ideal) <= ideal / 10;
        near(width.max(height), self.width) || near(width.min(height), self.height)
    }
}

impl fmt::Display for Viewing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Viewing {
            width,
            height,
            distance_tenths: tenths,
            ..
        } = self;
        if self.phone {
            return write!(f, "{width}x{height} pictures on the screen of a phone");
        }
        write!(
            f,
            "{width}x{height} pictures seen from {}.{} screen heights",
            tenths / 10,
            tenths % 10
        )
    }
}

/// What the model called `name` (a built-in model, or the name of one of upstream's files)
/// assumes about the screen; `None` for names that are not known.
pub fn viewing(name: &str, enable_transform: bool) -> Option<Viewing> {
    let seen = |height: u32, distance_tenths| Viewing {
        width: height / 9 * 16,
        height,
        distance_tenths,
        phone: false,
    };
    // Upstream names its later models by distance and height: 3d0h = 3.0 screen heights.
    if let Some(rest) = name.strip_prefix("vmaf_v1.0.16_") {
        return match rest.strip_prefix("hfr_").unwrap_or(rest) {
            "3d0h" => Some(seen(1080, 30)),
            "5d0h" => Some(seen(1080, 50)),
            "3d0h_2160" => Some(seen(2160, 30)),
            "1d5h_2160" => Some(seen(2160, 15)),
            _ => None,
        };
    }
    match name
        .strip_prefix("vmaf_float_")
        .or_else(|| name.strip_prefix("vmaf_"))?
    {
        "v0.6.1" | "v0.6.1neg" | "v0.6.1mfz" | "b_v0.6.3" | "rb_v0.6.2" | "rb_v0.6.3" => {
            Some(Viewing {
                phone: enable_transform,
                ..seen(1080, 30)
            })
        }
        "v0.6.0" => Some(seen(1080, 30)),
        "4k_v0.6.1" | "4k_v0.6.1neg" | "4k_rb_v0.6.2" => Some(seen(2160, 15)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(variables: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name);
        folders_from(|name| value(name).map(|(_, value)| value.into()))
            .iter()
            .map(|folder| folder.display().to_string())
            .collect()
    }

    #[test]
    fn folders_follow_the_environment() {
        let upstream = ["/usr/local/share/model", "/usr/share/model"];
        let shared = ["/usr/local/share/vmafx/model", "/usr/share/vmafx/model"];
        assert_eq!(listed(&[]), [shared, upstream].concat());
        let all = [
            ("VMAFX_MODEL_PATH", "/a::b:/a"),
            ("HOME", "/h/u"),
            ("XDG_DATA_HOME", ""),
            ("XDG_DATA_DIRS", "/opt/share:relative"),
        ];
        let expected = [
            "/a",
            "b",
            "/h/u/.local/share/vmafx/model",
            "/opt/share/vmafx/model",
        ];
        assert_eq!(listed(&all), [&expected[..], &upstream].concat());
        let own = [("HOME", "/h/u"), ("XDG_DATA_HOME", "/data")];
        let expected = ["/data/vmafx/model"];
        assert_eq!(listed(&own), [&expected[..], &shared, &upstream].concat());
    }
}
