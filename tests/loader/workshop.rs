//! Where the plugins are built: each library once, by the compilers that authors use.
//!
//! What must stay true: one test program at a time uses the folder, and it starts empty, so that
//! no test ever sees a library of an earlier source.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use vmafx_tests::data::workspace_root;

/// Compilers and what each is called with.
pub(crate) const C: [&[&str]; 2] = [&["gcc", "-std=c99"], &["clang", "-std=c99"]];
pub(crate) const CPP: [&[&str]; 2] = [&["g++", "-std=c++17"], &["clang++", "-std=c++17"]];
const LIBRARY: [&str; 7] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-O1",
    "-fPIC",
    "-shared",
];

/// The folder of the libraries, and those that are there.
pub(crate) struct Workshop {
    folder: PathBuf,
    built: Mutex<HashMap<String, Arc<OnceLock<PathBuf>>>>,
    rust: OnceLock<PathBuf>,
    /// Held for as long as the folder is used.
    _lock: File,
}

impl Workshop {
    /// Takes the folder and empties it.
    pub(crate) fn open() -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::create_dir_all(place).expect("the folder for tests can be made");
        let lock = File::create(place.join("loader.lock")).expect("a file can be made");
        lock.lock().expect("files can be locked");
        let folder = place.join("loader");
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("what an earlier run left can be removed");
        }
        fs::create_dir(&folder).expect("a folder can be made");
        Workshop {
            folder,
            built: Mutex::default(),
            rust: OnceLock::new(),
            _lock: lock,
        }
    }

    /// An empty folder for one case.
    pub(crate) fn room(&self, name: &str) -> PathBuf {
        let room = self.folder.join("rooms").join(name.replace('/', "-"));
        fs::create_dir_all(&room).expect("a folder can be made");
        room
    }

    /// The file in which every process of the tests leaves a line.
    pub(crate) fn processes(&self) -> PathBuf {
        self.folder.join("processes")
    }

    /// The library of a sound plugin, `edge.c` or `edge.cpp`, as an author outside this
    /// repository builds it: from a copy, against `include` alone.
    pub(crate) fn outside(&self, compiler: &'static [&'static str], source: &str) -> PathBuf {
        let name = format!("{}-{source}", compiler[0]);
        self.once(&name, |library| {
            let elsewhere = tempfile::tempdir().expect("a folder of temporary files can be made");
            let copy = elsewhere
                .path()
                .join(Path::new(source).file_name().expect("a file"));
            fs::copy(plugins().join(source), &copy).expect("the source can be copied");
            run(compile(compiler, &header(), library).arg(&copy));
        })
    }

    /// `bad.c` with what `defines` says, such as `DEFECT=plugin->abi_chosen = 2;`.
    pub(crate) fn bad(&self, name: &str, defines: &[&str]) -> PathBuf {
        self.once(&format!("bad-{name}"), |library| {
            let mut command = compile(C[0], &header(), library);
            for define in defines {
                command.arg(format!("-D{define}"));
            }
            command.arg("-I").arg(plugins().join("c"));
            run(command.arg(plugins().join("bad/bad.c")).arg("-lm"));
        })
    }

    /// A library of a source below `tests/plugins`, with further arguments.
    pub(crate) fn library(
        &self,
        name: &str,
        compiler: &[&str],
        source: &str,
        include: &Path,
        arguments: &[&str],
    ) -> PathBuf {
        self.once(name, |library| {
            let mut command = compile(compiler, include, library);
            run(command.arg(plugins().join(source)).args(arguments));
        })
    }

    /// A library of the text of a C program.
    pub(crate) fn of_text(&self, name: &str, text: &str, arguments: &[&str]) -> PathBuf {
        self.once(name, |library| {
            let source = library.with_extension("c");
            fs::write(&source, text).expect("a file can be written");
            let mut command = Command::new(C[0][0]);
            command.args(&C[0][1..]).arg("-o").arg(library);
            run(command.arg(&source).args(arguments));
        })
    }

    /// A library of the Rust plugins: `edge_rust` or `panics`.
    pub(crate) fn rust(&self, name: &str) -> PathBuf {
        let folder = self.rust.get_or_init(|| {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            // The folder of this program's own build: its dependencies are there.
            let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
            let target = target.expect("the folder for tests is one of the build's");
            let mut command = Command::new(cargo);
            command.args(["build", "--quiet", "--locked"]);
            command.args(["-p", "vmafx-test-edge", "-p", "vmafx-test-panics"]);
            command.arg("--target-dir").arg(target);
            run(command.current_dir(workspace_root()));
            target.join("debug")
        });
        let library = folder.join(format!("lib{name}.so"));
        assert!(library.exists(), "{} was not built", library.display());
        library
    }

    fn once(&self, name: &str, build: impl FnOnce(&Path)) -> PathBuf {
        let mut built = self.built.lock().expect("no test ends while it holds this");
        let slot = built.entry(name.to_owned()).or_default().clone();
        drop(built);
        slot.get_or_init(|| {
            let library = self
                .folder
                .join(format!("{}.so", name.replace(['/', '.'], "-")));
            build(&library);
            library
        })
        .clone()
    }
}

/// The folder of the plugins' sources.
pub(crate) fn plugins() -> PathBuf {
    workspace_root().join("tests/plugins")
}

/// The folder of today's headers.
pub(crate) fn header() -> PathBuf {
    workspace_root().join("include")
}

fn compile(compiler: &[&str], include: &Path, library: &Path) -> Command {
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(LIBRARY);
    command.arg("-I").arg(include).arg("-o").arg(library);
    command
}

/// Runs a compiler.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("{program}: {error}; scripts/setup.sh brings it")
    });
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
