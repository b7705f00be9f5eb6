//! The command line: one clap definition, from which parsing, help, completions and manual pages
//! come.
//!
//! `score` has every option of Netflix's `vmaf` tool under the same name and meaning, so `-h` is
//! the height there. A program called `vmaf` has those options at its top level. What upstream
//! ignores (unknown options, `-c`, surplus words) is refused. Wherever the name of an option has
//! `-` or `_` between words, the other one is taken as well.

mod score;
mod upstream;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{
    ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};
use clap_complete::Shell;

use crate::failure::{CLASSES, Failure};

pub(crate) use score::{Addition, ScoreArgs};
pub(crate) use upstream::command as upstream_command;

/// Scores video quality: VMAF, PSNR and the features they are made of.
#[derive(Debug, Parser)]
#[command(
    name = "vmafx",
    disable_version_flag = true,
    disable_help_subcommand = true
)]
#[command(args_override_self = true, max_term_width = 100)]
struct Cli {
    /// Print the version, what was built in and the backends found.
    #[arg(short = 'V', short_alias = 'v', long)]
    version: bool,
    /// Same as `vmafx features`.
    #[arg(long, alias = "list_features", conflicts_with = "version")]
    list_features: bool,
    /// Same as `vmafx backends`.
    #[arg(long, conflicts_with_all = ["version", "list_features"])]
    backends: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Score a distorted video against its reference.
    Score(Box<ScoreArgs>),
    /// List the features, their options and limits, and which backend computes them.
    Features(ListArgs),
    /// List the models, what they were made for and the features they read.
    Models(ListArgs),
    /// List the backends and their devices.
    Backends(BackendsArgs),
    /// Print the version, what was built in and the backends found.
    #[command(skip)]
    Version {
        /// Whether the program answers as `vmaf`.
        upstream: bool,
    },
    /// Print the licences of this program and of the models in it.
    Licences,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
        /// The name that the program goes by.
        #[arg(default_value_t, value_enum)]
        name: Name,
    },
    /// Print a manual page in roff, or write all of them.
    Man {
        /// Subcommand whose page is wanted, or `vmaf`; without it the page of vmafx.
        topic: Option<String>,
        /// Write the pages of vmafx, all its subcommands and vmaf to this folder.
        #[arg(long, value_name = "FOLDER", conflicts_with = "topic")]
        all: Option<PathBuf>,
    },
    /// Explain a subcommand, `exit-codes`, or the syntax of `values`.
    Help {
        /// What to explain.
        topic: Option<String>,
    },
    /// Print text that clap has made: the answer to `--help`.
    #[command(skip)]
    Print(String),
}

/// A name that the program answers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// The command with its subcommands.
    #[default]
    Vmafx,
    /// The command line of Netflix's tool.
    Vmaf,
}

/// Options of lists.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `backends`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct BackendsArgs {
    /// Print JSON, of the form that docs/schemas/backends.schema.json describes.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say of each backend that was found, and of each file that was looked at, what became of it
    /// and why.
    #[arg(long)]
    pub(crate) explain: bool,
}

/// The whole command, for help, completions and manual pages.
pub(crate) fn command() -> Command {
    Cli::command().after_long_help(exit_codes())
}

/// The table of exit codes.
pub(crate) fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n   0  success\n");
    for (class, code, word, meaning) in CLASSES {
        debug_assert_eq!(class.code(), code);
        text.push_str(&format!("{code:>4}  {word}: {meaning}\n"));
    }
    text.push_str("A failed run prints one line to standard error: `vmafx: error[CLASS]: TEXT`.");
    text
}

/// Reads the command line; the first argument is the name the program was called by.
///
/// # Errors
/// Whatever the command line gets wrong.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Action, Failure> {
    let arguments: Vec<OsString> = arguments.collect();
    let called = arguments.first().map(PathBuf::from);
    let upstream = called.is_some_and(|name| name.file_stem() == Some(OsStr::new("vmaf")));
    let (command, arguments) = match upstream {
        true => (upstream::command(), upstream::expand(arguments)),
        false => (command(), arguments),
    };
    let matches = match command.try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {
            return Ok(Action::Print(error.to_string()));
        }
        Err(error) => return Err(Failure::usage(sentence(&error))),
    };
    if upstream {
        let score = ScoreArgs::from_arg_matches(&matches);
        let score = score.map_err(|error| Failure::usage(sentence(&error)))?;
        return Ok(scoring(score, &matches, true));
    }
    let cli = Cli::from_arg_matches(&matches);
    let cli = cli.map_err(|error| Failure::usage(sentence(&error)))?;
    let list = ListArgs { json: false };
    match cli.action {
        _ if cli.version => Ok(Action::Version { upstream: false }),
        _ if cli.list_features => Ok(Action::Features(list)),
        _ if cli.backends => Ok(Action::Backends(BackendsArgs::default())),
        Some(Action::Score(score)) => {
            let matches = matches.subcommand_matches("score");
            Ok(scoring(
                *score,
                matches.expect("`score` was matched"),
                false,
            ))
        }
        Some(action) => Ok(action),
        None => Err(Failure::usage(
            "nothing to do: `vmafx score REF DIST` scores two videos, `vmafx --help` lists the rest",
        )),
    }
}

fn scoring(mut score: ScoreArgs, matches: &ArgMatches, upstream: bool) -> Action {
    if score.version {
        return Action::Version { upstream };
    }
    score.additions = score::additions(matches);
    score.upstream = upstream;
    Action::Score(Box::new(score))
}

/// A clap error as one sentence: what is wrong, then the tips.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        // Nobody wants `-- --bogus`.
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"));
    let joined = lines.collect::<Vec<_>>().join(" ");
    let joined = joined.strip_prefix("error: ").unwrap_or(&joined);
    joined.replace(" tip: ", "; tip: ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmafx_api::Chroma;
    use vmafx_engine::OutputFormat;

    fn parsed(line: &str) -> Result<Action, Failure> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn score(line: &str) -> ScoreArgs {
        match parsed(line) {
            Ok(Action::Score(score)) => *score,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn error(line: &str) -> String {
        parsed(line).unwrap_err().to_string()
    }

    #[test]
    fn definition_is_sound() {
        command().debug_assert();
        upstream::command().debug_assert();
    }

    #[test]
    fn both_ways_to_name_the_videos() {
        for line in [
            "vmafx score a b",
            "vmafx score -r a -d b",
            "vmafx score b -r a",
            "vmaf a b",
        ] {
            assert_eq!(score(line).videos().unwrap(), ["a", "b"], "{line}");
        }
        let text = |line: &str| score(line).videos().unwrap_err().to_string();
        assert!(text("vmafx score a").contains("distorted video is missing"));
        assert!(text("vmaf -r a -d b c").contains("unexpected argument `c`"));
    }

    #[test]
    fn numbers_and_repetition_follow_getopt() {
        let args =
            score("vmaf -w 0x10 -h 010 -p444 -b10 -w 32 --cpumask -1 -nq a b --cpumask=0x30");
        assert_eq!((args.width, args.height), (Some(32), Some(8)));
        assert_eq!(
            (args.pixel_format, args.bitdepth),
            (Some(Chroma::Yuv444), Some(10))
        );
        assert_eq!(args.cpumask, 48);
        assert!(args.no_prediction && args.quiet);
        assert!(score("vmafx score --gpumask -1 a b").gpumask == u32::MAX);
    }

    #[test]
    fn long_options_can_be_shortened() {
        let args =
            score("vmaf --ref a --di b --p 420 --b 8 --w 2 --he 2 --frame_c 3 --th 2 --o p.json");
        assert_eq!(args.videos().unwrap(), ["a", "b"]);
        assert_eq!((args.bitdepth, args.frame_cnt), (Some(8), Some(3)));
        assert_eq!(
            (args.threads, args.pixel_format),
            (Some(2), Some(Chroma::Yuv420))
        );
        assert_eq!(args.output, Some("p.json".into()));
        // Too short to tell, and what only this program knows.
        for line in [
            "vmaf a b --frame 3",
            "vmaf a b --precis 3",
            "vmafx score a b --frame_c 3",
            "vmafx --list",
        ] {
            assert!(error(line).contains("unexpected argument '--"), "{line}");
        }
        // A value that looks like an option stays a value.
        assert_eq!(score("vmaf a b --output=--p").output, Some("--p".into()));
    }

    #[test]
    fn words_of_an_option_are_joined_either_way() {
        let mut command = command();
        command.build();
        let all = command.get_subcommands().chain([&command]);
        let mut joined = 0;
        for arg in all.flat_map(|command| command.get_arguments()) {
            let Some(name) = arg.get_long().filter(|name| name.contains(['-', '_'])) else {
                continue;
            };
            let swap = |c| match c {
                '-' => '_',
                '_' => '-',
                c => c,
            };
            let other: String = name.chars().map(swap).collect();
            let aliases = arg.get_all_aliases().unwrap_or_default();
            assert!(aliases.contains(&other.as_str()), "--{name}: {aliases:?}");
            joined += 1;
        }
        assert!(joined > 10);
        let args = score("vmafx score a b --alignment_range 3 --frame-cnt 3 --allow_unequal");
        assert_eq!((args.alignment_range, args.frame_cnt), (3, Some(3)));
        assert!(args.allow_unequal);
    }

    #[test]
    fn last_format_wins() {
        for (line, format) in [
            ("vmafx score a b", OutputFormat::Xml),
            ("vmafx score a b --json --xml", OutputFormat::Xml),
            ("vmafx score a b --xml --json", OutputFormat::Json),
            ("vmafx score a b --sub --csv", OutputFormat::Csv),
            ("vmafx score a b --csv --sub", OutputFormat::Sub),
            ("vmafx score a b -o r.JSON", OutputFormat::Json),
            ("vmafx score a b -o r.csv --xml", OutputFormat::Xml),
            ("vmaf a b -o r.json", OutputFormat::Xml),
        ] {
            assert_eq!(score(line).format(), format, "{line}");
        }
    }

    #[test]
    fn additions_keep_their_order() {
        let args = score("vmaf a b --feature psnr --nflx_ctc v1.0 --model version=x --feature vif");
        let kinds = args.additions.iter().map(|a| match a {
            Addition::Model(_) => "model",
            Addition::Feature(feature) => feature.name.as_str(),
            Addition::Preset(_) => "preset",
        });
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            ["psnr", "preset", "model", "vif"]
        );
    }

    #[test]
    fn errors_are_one_line() {
        for (line, part) in [
            ("vmafx score a b --bogus", "unexpected argument '--bogus'"),
            ("vmaf a b -c 1", "unexpected argument '-c'"),
            ("vmafx score a b -w 12px", "`12px` is not a whole number"),
            (
                "vmafx score a b -p 411",
                "possible values: 420, 422, 444, 400",
            ),
            ("vmafx score a b -b 7", "the depth is 8 to 16"),
            ("vmafx score a b --aom_ctc v9.0", "the versions are"),
            ("vmafx score a b --model", "a value is required"),
            ("vmafx score a b --stream csv", "the form is jsonl"),
            ("vmafx score a b --precision 18", "0 to 17, or max"),
            ("vmafx", "nothing to do"),
            ("vmafx frobnicate", "unrecognized subcommand 'frobnicate'"),
        ] {
            let text = error(line);
            assert!(text.starts_with("vmafx: error[usage]: "), "{line}: {text}");
            assert!(text.contains(part), "{line}: {text}");
            assert!(
                !text.contains('\n') && !text.contains("Usage"),
                "{line}: {text}"
            );
        }
    }
}
