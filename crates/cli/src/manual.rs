//! Help topics, manual pages and completions, all from the one clap definition.

use std::fs;
use std::io::Write;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::args::{self, Name};
use crate::destination::print;
use crate::failure::{CLASSES, Class, Classify, Failure};

/// The syntax of option values.
const VALUES: &str = "\
Values of options

Whole numbers may be written as in C: 16, 0x10 or 020.

Models: --model FIELD:FIELD:...
  version=NAME        a model that is built in or in a search folder (`vmafx models`)
  path=FILE           a model file
  name=NAME           its name in the report, vmaf if not given
  disable_clip        do not limit scores to the model's range
  enable_transform    apply the model's score transform (the score for phones)
  FEATURE.OPTION=N    set an option of a feature that the model reads
A single word is short for version=WORD.

Features: --feature NAME or --feature NAME=OPTION=VALUE:OPTION=VALUE

Colons end a field. They belong to the value where
  - a / or \\ follows, as in path=C:\\models\\a.json,
  - they are written \\:, as in path=a\\:b.json, or
  - the value is quoted, as in path=\"a:b.json\" (either kind of quote; your shell may want
    quotes around that).

Videos: a .y4m file; a file of raw planar samples with --width, --height, --pixel_format and
--bitdepth; - or /dev/stdin for one of the two; FIFOs; synth: and a synthetic clip, such as
synth:tex,size=640x360,frames=48.
";

/// Explains `topic`, or everything.
///
/// # Errors
/// An unknown topic, a closed standard output.
pub(crate) fn help(topic: Option<&str>) -> Result<(), Failure> {
    let text = match topic {
        None => args::command().render_long_help().to_string(),
        Some("exit-codes") => args::exit_codes() + "\n",
        Some("values") => VALUES.to_owned(),
        Some(name) => find(name)?.render_long_help().to_string(),
    };
    print(&text)
}

/// Prints the page of `topic`, or writes all pages to a folder.
///
/// # Errors
/// An unknown topic; a folder that cannot be written.
pub(crate) fn man(topic: Option<&str>, folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else {
        let command = match topic {
            None => built(),
            Some(name) => find(name)?,
        };
        let (_, text) = page(command)?;
        return print(&text);
    };
    fs::create_dir_all(folder).class(Class::Output)?;
    let command = built();
    let subcommands = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set())
        .cloned();
    for command in subcommands.chain([command.clone(), args::upstream_command()]) {
        let (name, text) = page(command)?;
        let written = fs::write(folder.join(&name), text);
        written.map_err(|error| {
            let path = folder.join(&name);
            Failure::new(
                Class::Output,
                format!("cannot write {}: {error}", path.display()),
            )
        })?;
    }
    Ok(())
}

/// Prints the completion script of `shell` for the command called `name`.
///
/// # Errors
/// A closed standard output.
pub(crate) fn completions(shell: Shell, name: Name) -> Result<(), Failure> {
    let mut script = Vec::new();
    let (mut command, name) = match name {
        Name::Vmafx => (args::command(), "vmafx"),
        Name::Vmaf => (args::upstream_command(), "vmaf"),
    };
    clap_complete::generate(shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// The command with the full names of its subcommands, `vmafx-score` and so on.
fn built() -> Command {
    let mut command = args::command();
    command.build();
    command
}

fn find(name: &str) -> Result<Command, Failure> {
    if name == "vmaf" {
        return Ok(args::upstream_command());
    }
    let command = built();
    let found = command.get_subcommands().find(|c| c.get_name() == name);
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = command.get_subcommands().map(|c| c.get_name()).collect();
        Failure::usage(format!(
            "there is no topic `{name}`; the topics are: {}, vmaf, exit-codes, values",
            names.join(", ")
        ))
    })
}

/// File name and text of a manual page. The exit codes are on every page.
fn page(command: Command) -> Result<(String, String), Failure> {
    let mut text = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    // The exit codes have a section of their own here.
    let man = Man::new(command.after_long_help(None).version(version))
        .source(format!("vmafx {version}"))
        .manual("vmafx manual");
    man.render(&mut text).class(Class::Internal)?;
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    let success = (0, "success", "what was asked for has been done");
    let failures = CLASSES.map(|(_, code, word, meaning)| (code, word, meaning));
    for (code, word, meaning) in std::iter::once(success).chain(failures) {
        section.control("TP", []);
        section.text([bold(code.to_string())]);
        section.text([roman(format!("{word}: {meaning}"))]);
    }
    section.control("PP", []);
    section.text([roman(
        "A failed run prints one line to standard error: \"vmafx: error[CLASS]: TEXT\".",
    )]);
    section.control("SH", ["VALUES"]);
    section.control("nf", []);
    for line in VALUES.lines().skip(2) {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section.to_writer(&mut text).class(Class::Internal)?;
    text.flush().class(Class::Internal)?;
    Ok((
        man.get_filename(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}
