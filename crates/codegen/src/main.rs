//! `cargo run --package vmafx-codegen`: what `cargo xtask codegen` does, for a tree in which the
//! asserts of the layout stop everything that needs `vmafx-api`. `--check` compares only.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let outcome = match &arguments[..] {
        [] => vmafx_codegen::write(&root),
        [check] if check == "--check" => vmafx_codegen::check(&root).map(|()| Vec::new()),
        _ => {
            eprintln!("usage: vmafx-codegen [--check]");
            return ExitCode::FAILURE;
        }
    };
    match outcome {
        Ok(paths) => {
            for path in paths {
                println!("{path}: written");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("vmafx-codegen: {error}");
            ExitCode::FAILURE
        }
    }
}
