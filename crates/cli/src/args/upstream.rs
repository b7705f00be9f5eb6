//! The command line of a program called `vmaf`: the options of `score`, with upstream's long
//! options shortened as `getopt_long` lets them be. Nothing else is: a short form of ours would
//! change its meaning with the next option that begins so.

use std::ffi::OsString;

use clap::{Args, Command};

use super::{ScoreArgs, exit_codes};

/// Long options of upstream's tool.
const UPSTREAM: [&str; 25] = [
    "reference",
    "distorted",
    "width",
    "height",
    "pixel_format",
    "bitdepth",
    "model",
    "output",
    "xml",
    "json",
    "csv",
    "sub",
    "threads",
    "feature",
    "subsample",
    "cpumask",
    "gpumask",
    "aom_ctc",
    "nflx_ctc",
    "frame_cnt",
    "frame_skip_ref",
    "frame_skip_dist",
    "no_prediction",
    "version",
    "quiet",
];

/// The command of a program called `vmaf`.
pub(crate) fn command() -> Command {
    ScoreArgs::augment_args(Command::new("vmaf"))
        .about("Scores a distorted video against its reference, with the options of Netflix's vmaf")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
        .max_term_width(100)
        .after_long_help(exit_codes())
}

/// Completes shortened long options as `getopt_long` does with upstream's list: our own options
/// do not make a short form ambiguous.
pub(super) fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    let command = command();
    let valued = |found: &dyn Fn(&clap::Arg) -> bool| {
        let arg = command.get_arguments().find(|arg| found(arg));
        arg.is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut expanded = Vec::with_capacity(arguments.len());
    let mut is_value = true; // as is the program's name
    let mut options_end = false;
    for argument in arguments {
        let text = match argument.to_str() {
            Some(text) if !is_value && !options_end => text,
            _ => {
                is_value = false;
                expanded.push(argument);
                continue;
            }
        };
        if let Some(long) = text.strip_prefix("--") {
            options_end = long.is_empty();
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let mut fits = UPSTREAM.iter().filter(|full| full.starts_with(name));
            let full = match (fits.next(), fits.next()) {
                _ if options_end || UPSTREAM.contains(&name) => name,
                (Some(only), None) => only,
                _ => name,
            };
            is_value = value.is_none() && valued(&|arg| arg.get_long() == Some(full));
            let value = value.map_or(String::new(), |value| format!("={value}"));
            expanded.push(format!("--{full}{value}").into());
            continue;
        }
        if let Some(letters) = text.strip_prefix('-') {
            let value = letters.find(|c| valued(&|arg| arg.get_short() == Some(c)));
            is_value = value.is_some_and(|at| at + 1 == letters.len());
        }
        expanded.push(argument);
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_upstream_option_exists() {
        let command = command();
        for name in UPSTREAM {
            let arg = command
                .get_arguments()
                .find(|arg| arg.get_long() == Some(name));
            let arg = arg.unwrap_or_else(|| panic!("--{name}"));
            let short = match name {
                "reference" | "distorted" | "width" | "height" | "pixel_format" | "bitdepth"
                | "model" | "output" | "no_prediction" | "version" | "quiet" => name.chars().next(),
                _ => None,
            };
            assert_eq!(arg.get_short(), short, "{name}");
        }
    }
}
