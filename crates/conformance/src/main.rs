//! `vmafx-plugin-check`: runs the conformance suite over a plugin.
//!
//! `program::parent` is what a user starts: it starts itself again as `program::child`, which
//! opens the plugin and runs the checks, and says of a child that dies or hangs which check was
//! running. What must stay true: this process opens no plugin but as a child.

#![forbid(unsafe_code)]

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
