//! The libraries that a program needs, found as the dynamic loader finds them: `ld.so(8)`.
//!
//! Only files are read and nothing is executed. The search is that of glibc: the object's own
//! `RPATH` and those of the objects that brought it in, if it has no `RUNPATH`; the folders of
//! `LD_LIBRARY_PATH`; its `RUNPATH`; the folders of `/etc/ld.so.conf`; the system's. A file of
//! another architecture is passed over.
//!
//! What must stay true: a library that is not found is an error that names who needs it, never
//! left for the guest to find out.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB, FileHeader64, PT_LOAD,
};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};

use crate::Failure;

/// Where glibc looks at last, on Debian and on others.
const SYSTEM: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// What is needed beside the objects that were asked about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Libraries {
    /// The loaders that the objects name.
    pub(super) loaders: BTreeSet<PathBuf>,
    /// Libraries where they were found, in the order in which they were.
    pub(super) files: Vec<PathBuf>,
}

impl Libraries {
    /// Folders of the libraries, each once.
    pub(super) fn folders(&self) -> Vec<&Path> {
        let mut folders = Vec::new();
        for folder in self.files.iter().filter_map(|file| file.parent()) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }
}

/// The libraries that `objects` need, and those that these need. `extra` is what is in
/// `LD_LIBRARY_PATH`, `configured` the folders of `/etc/ld.so.conf`.
///
/// # Errors
/// A file that cannot be read or is no object of this architecture, a library that is not there.
pub(super) fn needed(
    objects: &[PathBuf],
    extra: &[PathBuf],
    configured: &[PathBuf],
) -> Result<Libraries, Failure> {
    let mut found = Libraries::default();
    let mut known = BTreeSet::new();
    let mut queue = VecDeque::new();
    for path in objects {
        let object = Object::read(path)?;
        known.extend(object.name.clone());
        queue.push_back((path.clone(), object, Vec::new()));
    }
    while let Some((path, object, above)) = queue.pop_front() {
        found
            .loaders
            .extend(object.loader.clone().map(PathBuf::from));
        // The object's own folders first, then those of whoever brought it in.
        let own = match object.runpath.is_empty() {
            true => expanded(&object.rpath, &path)?,
            false => Vec::new(),
        };
        let inherited: Vec<_> = own.into_iter().chain(above).collect();
        let mut folders = match object.runpath.is_empty() {
            true => inherited.clone(),
            false => Vec::new(),
        };
        folders.extend_from_slice(extra);
        folders.extend(expanded(&object.runpath, &path)?);
        folders.extend_from_slice(configured);
        folders.extend(SYSTEM.iter().map(PathBuf::from));
        for name in &object.needed {
            if !known.insert(name.clone()) {
                continue;
            }
            let candidates: Vec<_> = match name.contains('/') {
                true => vec![PathBuf::from(name)],
                false => folders.iter().map(|folder| folder.join(name)).collect(),
            };
            let usable = candidates
                .into_iter()
                .find_map(|path| Some((Object::read(&path).ok()?, path)));
            let (library, place) = usable.ok_or_else(|| {
                let folders: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
                format!(
                    "{} needs {name}, which is in none of {}",
                    path.display(),
                    folders.join(", ")
                )
            })?;
            known.extend(library.name.clone());
            found.files.push(place.clone());
            queue.push_back((place, library, inherited.clone()));
        }
    }
    // The C library names the loader, too.
    let loaders = &found.loaders;
    let is_loader = |file: &PathBuf| {
        loaders
            .iter()
            .any(|one| one.file_name() == file.file_name())
    };
    found.files.retain(|file| !is_loader(file));
    Ok(found)
}

/// The folders of `/etc/ld.so.conf` or another such file, with the files that it includes. A file
/// that is not there names none.
pub(super) fn configured(file: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include") {
            Some(pattern) => {
                for file in matching(file.parent().unwrap_or(file), pattern.trim()) {
                    folders.extend(configured(&file));
                }
            }
            None if line.starts_with('/') => folders.push(PathBuf::from(line)),
            None => {}
        }
    }
    folders
}

/// Files of `folder/*.suffix` in order; `ldconfig` itself includes by such patterns.
fn matching(base: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = base.join(pattern);
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name()) else {
        return Vec::new();
    };
    let name = name.to_string_lossy();
    let Some((start, end)) = name.split_once('*') else {
        return vec![pattern.clone()];
    };
    let mut files: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.as_ref().ok()?.file_name().into_string().ok()?;
            let fits = name.len() >= start.len() + end.len();
            (fits && name.starts_with(start) && name.ends_with(end)).then(|| folder.join(name))
        })
        .collect();
    files.sort();
    files
}

/// Folders of a search path with the object's own folder put in.
fn expanded(path: &str, object: &Path) -> Result<Vec<PathBuf>, Failure> {
    let origin = object.canonicalize()?;
    let origin = origin.parent().unwrap_or(&origin).to_string_lossy();
    let mut folders = Vec::new();
    for folder in path.split(':').filter(|folder| !folder.is_empty()) {
        let plain = folder
            .replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin);
        if plain.contains('$') {
            let object = object.display();
            return Err(format!("{object}: what `{folder}` in its search path is").into());
        }
        folders.push(PathBuf::from(plain));
    }
    Ok(folders)
}

/// What an object says to the loader.
#[derive(Debug, Default)]
struct Object {
    loader: Option<String>,
    name: Option<String>,
    needed: Vec<String>,
    rpath: String,
    runpath: String,
}

impl Object {
    fn read(path: &Path) -> Result<Self, Failure> {
        let told = |reason: String| format!("{}: {reason}", path.display());
        let bytes = fs::read(path).map_err(|error| told(error.to_string()))?;
        Self::parse(&bytes).map_err(|error| told(error.to_string()).into())
    }

    fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let header = FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        if header.e_machine.get(endian) != object::elf::EM_X86_64 {
            return Err("of another architecture".into());
        }
        let segments = header.program_headers(endian, bytes)?;
        let mut object = Self::default();
        for segment in segments {
            if let Some(loader) = segment.interpreter(endian, bytes)? {
                object.loader = Some(String::from_utf8(loader.to_vec())?);
            }
        }
        let Some(entries) = segments
            .iter()
            .find_map(|segment| segment.dynamic(endian, bytes).transpose())
            .transpose()?
        else {
            return Ok(object);
        };
        let value = |tag| {
            let entry = entries.iter().find(|entry| entry.tag(endian) == tag);
            entry.map(|entry| entry.d_val(endian))
        };
        let (Some(start), Some(size)) = (value(DT_STRTAB), value(DT_STRSZ)) else {
            return Err("without names of what it needs".into());
        };
        let loads = segments.iter().filter(|s| s.p_type(endian) == PT_LOAD);
        let names = loads
            .filter_map(|segment| segment.data_range(endian, bytes, start, size).ok()?)
            .next()
            .ok_or("its names are outside of it")?;
        let name = |at: u64| -> Result<String, Failure> {
            let at = usize::try_from(at)?;
            let rest = names.get(at..).ok_or("a name is outside of its names")?;
            let end = rest.iter().position(|byte| *byte == 0);
            Ok(String::from_utf8(
                rest[..end.unwrap_or(rest.len())].to_vec(),
            )?)
        };
        for entry in entries {
            let value = entry.d_val(endian);
            match entry.tag(endian) {
                DT_NEEDED => object.needed.push(name(value)?),
                DT_SONAME => object.name = Some(name(value)?),
                DT_RPATH => object.rpath = name(value)?,
                DT_RUNPATH => object.runpath = name(value)?,
                object::elf::DT_NULL => break,
                _ => {}
            }
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A library or program of C that needs others.
    struct Build<'a> {
        folder: &'a Path,
    }

    impl Build<'_> {
        fn object(&self, name: &str, options: &[&str]) -> PathBuf {
            let path = self.folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let source = self.folder.join("empty.c");
            fs::write(&source, "int main(void) { return 0; }\n").unwrap();
            let file_name = path.file_name().unwrap().to_str().unwrap();
            let mut command = Command::new("gcc");
            if file_name.contains(".so") {
                command.args(["-shared", "-fPIC"]);
                command.arg(format!("-Wl,-soname,{file_name}"));
            }
            command.args(["-nostdlib", "-Wl,--no-as-needed"]);
            command.arg("-o").arg(&path).arg(&source).args(options);
            command.arg("-Wl,--unresolved-symbols=ignore-all,-e,main");
            assert!(command.status().unwrap().success(), "{command:?}");
            path
        }

        fn link(&self, options: &[&str], libraries: &[&Path]) -> Vec<String> {
            let libraries = libraries.iter().map(|path| path.display().to_string());
            options
                .iter()
                .map(|option| (*option).to_owned())
                .chain(libraries)
                .collect()
        }
    }

    fn strs(list: &[String]) -> Vec<&str> {
        list.iter().map(String::as_str).collect()
    }

    #[test]
    fn each_way_to_a_library_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let build = Build { folder: &root };
        let far = build.object("far/libfar.so.1", &[]);
        // Found by the RPATH of the program that brings it in.
        let near = build.object("near/libnear.so", &strs(&build.link(&[], &[&far])));
        let extra = build.object("extra/libextra.so", &[]);
        let set = build.object("set/libset.so", &[]);
        let options = [
            "-Wl,--disable-new-dtags",
            "-Wl,-rpath,$ORIGIN/near:$ORIGIN/far",
        ];
        let libraries = [near.as_path(), &extra, &set];
        let program = build.object("program", &strs(&build.link(&options, &libraries)));
        let found = needed(
            std::slice::from_ref(&program),
            &[root.join("extra")],
            &[root.join("set")],
        )
        .unwrap();
        assert_eq!(
            found.files,
            [near.clone(), extra.clone(), set.clone(), far.clone()]
        );
        assert_eq!(
            found.loaders,
            BTreeSet::from([PathBuf::from("/lib64/ld-linux-x86-64.so.2")])
        );
        let folders = ["near", "extra", "set", "far"].map(|name| root.join(name));
        assert_eq!(found.folders(), folders.iter().collect::<Vec<_>>());

        // A RUNPATH is for the object's own needs alone, and takes the RPATH's place.
        let options = [
            "-Wl,--enable-new-dtags",
            "-Wl,-rpath,${ORIGIN}/near:${ORIGIN}/far",
        ];
        let program = build.object("other", &strs(&build.link(&options, &[&near])));
        let error = needed(&[program], &[], &[]).unwrap_err().to_string();
        let who = format!("{} needs libfar.so.1", near.display());
        assert!(error.starts_with(&who), "{error}");
    }

    #[test]
    fn what_is_not_for_this_machine_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let build = Build { folder: &root };
        let good = build.object("good/libone.so", &[]);
        let program = build.object("program", &strs(&build.link(&[], &[&good])));
        let bad = root.join("bad");
        fs::create_dir(&bad).unwrap();
        let mut bytes = fs::read(&good).unwrap();
        bytes[18] = 183; // the machine, now of Arm
        fs::write(bad.join("libone.so"), &bytes).unwrap();
        let search = [bad.clone(), root.join("good")];
        let program = [program];
        assert_eq!(needed(&program, &search, &[]).unwrap().files, [good]);
        let error = needed(&program, &[bad], &[]).unwrap_err().to_string();
        assert!(error.contains("needs libone.so, which is in none of"));

        let text = root.join("text");
        fs::write(&text, "text").unwrap();
        let error = needed(&[text], &[], &[]).unwrap_err().to_string();
        assert!(error.contains("text: "), "{error}");
    }

    #[test]
    fn a_library_that_is_there_already_is_not_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let build = Build { folder: &root };
        let stand_in = build.object("hidden/libruntime.so.7", &[]);
        let plugin = build.object("libplugin.so", &strs(&build.link(&[], &[&stand_in])));
        let alone = needed(std::slice::from_ref(&plugin), &[], &[]);
        assert!(alone.unwrap_err().to_string().contains("libruntime.so.7"));
        let both = needed(&[stand_in, plugin], &[], &[]).unwrap();
        assert_eq!(both, Libraries::default());
    }

    #[test]
    fn the_configuration_includes_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("conf.d")).unwrap();
        fs::write(
            root.join("ld.so.conf"),
            "include conf.d/*.conf\n/last # a word\n",
        )
        .unwrap();
        fs::write(root.join("conf.d/b.conf"), "# none\n/second\n").unwrap();
        fs::write(root.join("conf.d/a.conf"), "/first\n").unwrap();
        fs::write(root.join("conf.d/a.conf.old"), "/never\n").unwrap();
        let folders = ["/first", "/second", "/last"].map(PathBuf::from);
        assert_eq!(configured(&root.join("ld.so.conf")), folders);
        assert_eq!(configured(&root.join("none")), [] as [PathBuf; 0]);
    }
}
