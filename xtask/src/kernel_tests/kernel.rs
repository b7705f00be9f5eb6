//! The kernel of the guest: Debian's, as it ships, with the headers that its modules are built
//! with.
//!
//! It is fetched and unpacked, never installed. apt reads a configuration of its own, so that the
//! machine's package sources and lists stay as they are; what apt checks (signatures, sums) it
//! checks here, too. Which version is the current one, the metapackage says.
//!
//! What must stay true: image and headers are of one version; nothing is fetched while the cache
//! holds a whole set; what a run was with is printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Failure;

/// The suite: that of bookworm has neither udmabuf nor syncobj of virtio-gpu.
const SUITE: &str = "bookworm-backports";

/// The metapackage that depends on the current kernel.
const META: &str = "linux-image-amd64";

/// Where apt goes if the machine does not say where Debian's archive is.
const ARCHIVE: &str = "http://deb.debian.org/debian";

/// Signs the archive; of the package `debian-archive-keyring`.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The file that a whole cache has: the version.
const WHOLE: &str = "version";

/// Modules of the kernel, each after those that it needs, by their paths below `kernel/`.
const MODULES: [&str; 6] = [
    "drivers/gpu/drm/drm.ko.xz",
    "drivers/gpu/drm/drm_kms_helper.ko.xz",
    "drivers/gpu/drm/drm_shmem_helper.ko.xz",
    "drivers/gpu/drm/vgem/vgem.ko.xz",
    "drivers/virtio/virtio_dma_buf.ko.xz",
    "drivers/gpu/drm/virtio/virtio-gpu.ko.xz",
];

/// A kernel that is there.
#[derive(Debug)]
pub(super) struct Kernel {
    root: PathBuf,
    /// The version in the packages' names, such as `6.12.95+deb12`.
    pub(super) version: String,
}

impl Kernel {
    /// The image to boot.
    pub(super) fn image(&self) -> PathBuf {
        self.root
            .join(format!("boot/vmlinuz-{}-amd64", self.version))
    }

    /// Modules to load, in order.
    pub(super) fn modules(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let folder = self
            .root
            .join(format!("lib/modules/{}-amd64/kernel", self.version));
        MODULES.iter().map(move |module| folder.join(module))
    }

    /// The folder in which `make` builds modules.
    pub(super) fn headers(&self) -> PathBuf {
        let name = format!("linux-headers-{}-amd64", self.version);
        self.root.join("usr/src").join(name)
    }
}

/// The kernel in `folder`, fetched first if it is not there.
///
/// # Errors
/// What apt or dpkg says, and what to do.
pub(super) fn ready(folder: &Path) -> Result<Kernel, Failure> {
    if let Some(kernel) = cached(folder) {
        println!("kernel-tests: kernel {}, fetched before", kernel.version);
        return Ok(kernel);
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    let start = Instant::now();
    let apt = Apt::configured(&folder.join("apt"))?;
    apt.run("apt-get", &["--quiet", "--quiet", "update"])?;
    let relations = apt.run("apt-cache", &["depends", META])?;
    let version = version(&relations)?;
    let packages = packages(&version);
    let names: Vec<_> = packages.iter().map(String::as_str).collect();
    apt.run(
        "apt-get",
        &[&["--quiet", "--quiet", "download"], &names[..]].concat(),
    )?;
    let took = start.elapsed().as_secs_f64();
    println!("kernel-tests: kernel {version} of {SUITE} fetched in {took:.1} s");

    let start = Instant::now();
    let kernel = Kernel {
        root: folder.join("root"),
        version,
    };
    fs::create_dir_all(&kernel.root)?;
    for (at, package) in packages.iter().enumerate() {
        let file = apt.package(package)?;
        // Of the image, only what is used: the rest is a thousand drivers.
        let only: Vec<_> = match at {
            0 => [kernel.image()]
                .into_iter()
                .chain(kernel.modules())
                .collect(),
            _ => Vec::new(),
        };
        unpack(&file, &kernel.root, &only)?;
    }
    relocate(&kernel)?;
    fs::remove_dir_all(folder.join("apt"))?;
    fs::write(folder.join(WHOLE), &kernel.version)?;
    println!(
        "kernel-tests: kernel unpacked in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    cached(folder).ok_or_else(|| "kernel-tests: what was unpacked is not whole".into())
}

/// The kernel that a whole cache holds.
fn cached(folder: &Path) -> Option<Kernel> {
    let version = fs::read_to_string(folder.join(WHOLE)).ok()?;
    let kernel = Kernel {
        root: folder.join("root"),
        version,
    };
    let mut files = kernel.modules().chain([kernel.image()]);
    let whole = files.all(|file| file.is_file()) && kernel.headers().join("Makefile").is_file();
    whole.then_some(kernel)
}

/// The version of the kernel that the metapackage depends on.
fn version(relations: &str) -> Result<String, Failure> {
    let image = relations
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "));
    let version = image.and_then(|name| {
        name.strip_prefix("linux-image-")?
            .strip_suffix("-amd64")
            .filter(|version| !version.is_empty())
    });
    version.map(str::to_owned).ok_or_else(|| {
        format!("kernel-tests: {META} of {SUITE} names no kernel: `{relations}`").into()
    })
}

/// The packages of a version, the image first.
fn packages(version: &str) -> [String; 4] {
    [
        format!("linux-image-{version}-amd64"),
        format!("linux-headers-{version}-amd64"),
        format!("linux-headers-{version}-common"),
        format!("linux-kbuild-{version}"),
    ]
}

/// Unpacks a package below `root`; if `only` names files there, no others.
fn unpack(package: &Path, root: &Path, only: &[PathBuf]) -> Result<(), Failure> {
    let mut archive = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!("kernel-tests: dpkg-deb cannot be run: {error}; it is of Debian's `dpkg`")
        })?;
    let pipe = archive.stdout.take().ok_or("dpkg-deb has no output")?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--file=-", "--no-same-owner", "--directory"])
        .arg(root)
        .stdin(pipe);
    for file in only {
        tar.arg(Path::new(".").join(file.strip_prefix(root)?));
    }
    let status = tar.status()?;
    // tar may stop reading at the last file that it was asked for.
    let ended = archive.wait()?;
    let whole = ended.success() || !only.is_empty();
    match status.success() && whole {
        true => Ok(()),
        false => {
            let package = package.display();
            Err(format!("kernel-tests: unpacking {package} failed ({status}, {ended})").into())
        }
    }
}

/// The headers' makefile names the folder that they are installed in; here they are in another.
fn relocate(kernel: &Kernel) -> Result<(), Failure> {
    let makefile = kernel.headers().join("Makefile");
    let text = fs::read_to_string(&makefile)?;
    let here = kernel.root.canonicalize()?.join("usr/src");
    let installed = "include /usr/src/";
    if !text.contains(installed) {
        let makefile = makefile.display();
        return Err(format!("kernel-tests: {makefile} is not what was expected: `{text}`").into());
    }
    let moved = text.replace(installed, &format!("include {}/", here.display()));
    Ok(fs::write(&makefile, moved)?)
}

/// apt with lists and packages in a folder of its own.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Writes the configuration.
    fn configured(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        for part in ["state/lists/partial", "cache/archives/partial", "none"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let sources = ["sources.list.d/debian.sources", "sources.list"]
            .iter()
            .filter_map(|name| fs::read_to_string(Path::new("/etc/apt").join(name)).ok())
            .find_map(|text| archive(&text))
            .unwrap_or_else(|| ARCHIVE.to_owned());
        fs::write(
            folder.join("sources.list"),
            format!("deb [arch=amd64 signed-by={KEYRING}] {sources} {SUITE} main\n"),
        )?;
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("apt.conf"), configuration(&folder))?;
        Ok(Self { folder })
    }

    /// Runs one of apt's programs; what it printed.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("APT_CONFIG", self.folder.join("apt.conf"))
            .env("LC_ALL", "C")
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| {
            format!(
                "kernel-tests: {program} cannot be run: {error}; the guest's kernel is a package \
                 of Debian and fetched with apt"
            )
        })?;
        let errors = String::from_utf8_lossy(&output.stderr);
        // apt takes a list that it could not fetch for no failure.
        let failed = errors.lines().any(|line| {
            line.starts_with("E: ") || line.starts_with("W: Failed") || line.starts_with("Err:")
        });
        match output.status.success() && !failed {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!(
                "kernel-tests: `{program} {}` failed ({}):\n{}\nThe kernel is fetched once, from \
                 Debian's {SUITE}; this needs a network, and {KEYRING} of the package \
                 debian-archive-keyring",
                arguments.join(" "),
                output.status,
                errors.trim_end()
            )
            .into()),
        }
    }

    /// The file of a package that was downloaded.
    fn package(&self, name: &str) -> Result<PathBuf, Failure> {
        let start = format!("{name}_");
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            if file.starts_with(&start) && file.ends_with(".deb") {
                return Ok(path);
            }
        }
        Err(format!("kernel-tests: apt has not left {name} in its folder").into())
    }
}

/// Everything that apt writes goes below `folder`; the rest (proxies, say) is the machine's.
fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "Dir::State \"{folder}/state\";\n\
         Dir::State::status \"{folder}/status\";\n\
         Dir::Cache \"{folder}/cache\";\n\
         Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
         Dir::Etc::sourceparts \"{folder}/none\";\n\
         Dir::Etc::preferences \"{folder}/none/preferences\";\n\
         Dir::Etc::preferencesparts \"{folder}/none\";\n\
         APT::Sandbox::User \"root\";\n"
    )
}

/// The first address of an archive in a file of package sources, in either of apt's formats.
fn archive(sources: &str) -> Option<String> {
    sources.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = match words.next()? {
            "URIs:" => words.next(),
            "deb" => words.find(|word| word.contains("://")),
            _ => None,
        }?;
        // Security updates are another archive.
        (address.trim_end_matches('/').ends_with("/debian")).then(|| address.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metapackage_tells_the_version() {
        let told = "linux-image-amd64\n  Depends: linux-image-6.12.95+deb12-amd64\n";
        assert_eq!(version(told).unwrap(), "6.12.95+deb12");
        for other in ["", "linux-image-amd64\n", "  Depends: linux-image-amd64\n"] {
            let error = version(other).unwrap_err().to_string();
            assert!(error.contains("names no kernel"), "{error}");
        }
        assert_eq!(packages("6.1")[3], "linux-kbuild-6.1");
    }

    #[test]
    fn the_machines_own_archive_is_asked() {
        let sources = "Types: deb\n# URIs: http://old/debian\nURIs: http://near/debian\n";
        assert_eq!(archive(sources).as_deref(), Some("http://near/debian"));
        let sources = "# deb http://x/debian a\ndeb http://y/debian-security a\n\
                       deb [arch=amd64] https://z/debian/ bookworm main\n";
        assert_eq!(archive(sources).as_deref(), Some("https://z/debian/"));
        assert_eq!(archive("deb\n\nURIs:\n"), None);
    }

    #[test]
    fn a_cache_that_is_not_whole_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(cached(folder.path()).is_none());
        fs::write(folder.path().join(WHOLE), "6.1").unwrap();
        let kernel = Kernel {
            root: folder.path().join("root"),
            version: "6.1".to_owned(),
        };
        let headers = kernel.headers().join("Makefile");
        let files: Vec<_> = kernel
            .modules()
            .chain([kernel.image(), headers.clone()])
            .collect();
        for file in files {
            assert!(cached(folder.path()).is_none());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "include /usr/src/linux-headers-6.1-common/Makefile\n").unwrap();
        }
        assert_eq!(cached(folder.path()).unwrap().version, "6.1");

        relocate(&kernel).unwrap();
        let text = fs::read_to_string(headers).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let here = root.join("root/usr/src/linux-headers-6.1-common/Makefile");
        assert_eq!(text, format!("include {}\n", here.display()));
        relocate(&kernel).unwrap_err();
    }

    #[test]
    fn an_apt_that_fails_says_which_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let apt = Apt::configured(&folder.path().join("apt")).unwrap();
        let error = apt.run("apt-cache", &["depends", META]).unwrap_err();
        let error = error.to_string();
        let command = format!("`apt-cache depends {META}` failed");
        assert!(error.contains(&command), "{error}");
        assert!(error.contains("needs a network"), "{error}");
        let error = apt.run("apt-none", &[]).unwrap_err().to_string();
        assert!(error.contains("apt-none cannot be run"), "{error}");
    }
}
