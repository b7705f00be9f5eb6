//! Writes what is generated from the wire of `vmafx-api` and from the arguments of the kernels.
//!
//! It exists so that the C header, the C++ header and the asserts of the layout say the same as
//! `crates/api/src/wire.rs` and `kinds.rs`, and `kernels/args.h` the same as
//! `crates/gpu/src/args.rs`. What must stay true: it reads the source and does not link
//! `vmafx-api`, so it builds and runs even when the asserts it wrote no longer hold.

#![forbid(unsafe_code)]

mod cpp_header;
mod facade;
mod header;
mod kernel_args;
mod layout;
mod names;
mod source;

use std::path::{Path, PathBuf};

pub use facade::{Method, Trait, facade};
use source::Source;

/// The licence, as the first line of a generated C file.
const LICENSE: &str = "/* SPDX-License-Identifier: Apache-2.0 OR MIT */";
/// What the second line says.
const GENERATED: &str =
    "Generated from crates/api/src/wire.rs and kinds.rs; do not edit. Run `cargo xtask codegen`.";

/// Why nothing could be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A source file is not what this crate knows to read.
    #[error("{file}:{line}: {reason}")]
    Parse {
        /// Name of the file.
        file: &'static str,
        /// Line of it, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A struct of the wire without named fields.
    #[error("wire.rs: struct {name} has no named fields; every struct of the wire has")]
    Unnamed {
        /// The struct.
        name: String,
    },
    /// A field of a type that the wire does not allow.
    #[error(
        "wire.rs: {field} is of type `{type_}`; allowed are fixed-width integers, `f64`, `usize`, \
         `c_char`, pointers, `Option<unsafe extern \"C\" fn …>`, arrays and types of the wire"
    )]
    Type {
        /// The field, as `Struct.field`.
        field: String,
        /// Its type.
        type_: String,
    },
    /// The writer of the header failed.
    #[error("cbindgen: {0}")]
    Cbindgen(String),
    /// Checked-in files differ from what the source gives.
    #[error("{} not current: run `cargo xtask codegen`", .paths.join(", "))]
    Stale {
        /// The files.
        paths: Vec<&'static str>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Its path from the root of the repository.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// Generates every file from the sources below `root`, the root of the repository.
///
/// # Errors
/// A source that cannot be read or is not understood.
pub fn generate(root: &Path) -> Result<Vec<Generated>, Error> {
    let read = |name: &str| {
        let path = root.join(name);
        std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })
    };
    let wire = read("crates/api/src/wire.rs")?;
    let kinds = read("crates/api/src/kinds.rs")?;
    let arguments = read("crates/gpu/src/args.rs")?;
    let source = Source::read(&wire, &kinds)?;
    let layouts = layout::measure(&source)?;
    let file = |path, text| Generated { path, text };
    Ok(vec![
        file("include/vmafx/plugin.h", header::plugin_h(&source)?),
        file("include/vmafx/plugin.hpp", cpp_header::plugin_hpp(&source)),
        file("tests/abi/layout.c", layout::c(&layouts)),
        file("tests/abi/layout.cpp", layout::cpp(&layouts)),
        file("crates/api/src/layout.rs", layout::rust(&source, &layouts)),
        file("kernels/args.h", kernel_args::args_h(&arguments)?),
    ])
}

/// Rewrites the files that are not current and names them.
///
/// # Errors
/// Those of [`generate`], or a file that cannot be written.
pub fn write(root: &Path) -> Result<Vec<&'static str>, Error> {
    let stale = stale(root)?;
    for file in &stale {
        let path = root.join(file.path);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, &file.text))
            .map_err(|source| Error::File { path, source })?;
    }
    Ok(stale.iter().map(|file| file.path).collect())
}

/// Compares the files with what the sources give.
///
/// # Errors
/// Those of [`generate`], or [`Error::Stale`].
pub fn check(root: &Path) -> Result<(), Error> {
    let paths: Vec<_> = stale(root)?.iter().map(|file| file.path).collect();
    match paths.is_empty() {
        true => Ok(()),
        false => Err(Error::Stale { paths }),
    }
}

fn stale(root: &Path) -> Result<Vec<Generated>, Error> {
    let mut files = generate(root)?;
    files.retain(|file| {
        std::fs::read_to_string(root.join(file.path))
            .ok()
            .as_deref()
            != Some(&file.text)
    });
    Ok(files)
}
