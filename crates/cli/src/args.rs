//! The command line: one clap definition, from which parsing, help, completions and manual pages
//! come.
//!
//! `score` has every option of Netflix's `vmaf` tool under the same name and meaning, so `-h` is
//! the height there. A program called `vmaf` has those options at its top level and lets long
//! options be shortened as `getopt_long` does for upstream's list. What upstream ignores
//! (unknown options, `-c`, surplus words) is refused.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use vmafx_api::Chroma;
use vmafx_engine::{OutputFormat, Pooling, Precision};

use crate::failure::{CLASSES, Failure};
use crate::presets::{self, Preset};
use crate::syntax::{self, FeatureArgument, ModelArgument, SyntaxError};

/// Scores video quality: VMAF, PSNR and the features they are made of.
#[derive(Debug, Parser)]
#[command(name = "vmafx", disable_version_flag = true, disable_help_subcommand = true)]
#[command(infer_long_args = true, args_override_self = true, max_term_width = 100)]
struct Cli {
    /// Print the version, what was built in and the backends found.
    #[arg(short = 'V', short_alias = 'v', long)]
    version: bool,
    /// Same as `vmafx features`.
    #[arg(long, conflicts_with = "version")]
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
    Backends(ListArgs),
    /// Print the version, what was built in and the backends found.
    #[command(skip)]
    Version {
        /// Whether the program answers as `vmaf`.
        upstream: bool,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print a manual page in roff, or write all of them.
    Man {
        /// Subcommand whose page is wanted; without it the page of vmafx.
        topic: Option<String>,
        /// Write the pages of vmafx and all its subcommands to this folder.
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

/// Options of lists.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `vmafx score`, and all options of a program called `vmaf`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ScoreArgs {
    /// Reference and distorted video: a .y4m file, raw planar samples, `-` for standard input,
    /// a FIFO, or `synth:...`.
    #[arg(value_names = ["REF", "DIST"], num_args = 0..=2)]
    videos: Vec<OsString>,

    /// Reference video, in place of REF.
    #[arg(short, long, value_name = "VIDEO", help_heading = "Input")]
    reference: Option<OsString>,
    /// Distorted video, in place of DIST.
    #[arg(short, long, value_name = "VIDEO", help_heading = "Input")]
    distorted: Option<OsString>,
    /// Width of raw video, in samples. Raw video needs width, height, pixel format and depth.
    #[arg(short, long, value_name = "SAMPLES", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned)]
    pub(crate) width: Option<u32>,
    /// Height of raw video, in rows.
    #[arg(short = 'h', long, value_name = "ROWS", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned)]
    pub(crate) height: Option<u32>,
    /// Chroma layout of raw video.
    #[arg(short, long = "pixel_format", alias = "pixel-format", help_heading = "Input")]
    #[arg(value_parser = chroma_parser())]
    pub(crate) pixel_format: Option<Chroma>,
    /// Bits of a sample of raw video, 8 to 16; above 8 a sample is two bytes, low byte first.
    #[arg(short, long, value_name = "BITS", help_heading = "Input")]
    #[arg(value_parser = bit_depth)]
    pub(crate) bitdepth: Option<u32>,
    /// Score at most this many frames; 0 = all.
    #[arg(long = "frame_cnt", alias = "frame-cnt", value_name = "FRAMES", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned)]
    pub(crate) frame_cnt: Option<u32>,
    /// Leave out the first frames of the reference, as if they were not there.
    #[arg(long = "frame_skip_ref", alias = "frame-skip-ref", value_name = "FRAMES", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned, default_value = "0", hide_default_value = true)]
    pub(crate) frame_skip_ref: u32,
    /// Leave out the first frames of the distorted video, as if they were not there.
    #[arg(long = "frame_skip_dist", alias = "frame-skip-dist", value_name = "FRAMES", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned, default_value = "0", hide_default_value = true)]
    pub(crate) frame_skip_dist: u32,
    /// Accept inputs of different length and score the frames that both have. Without this the
    /// exit code is that of a wrong input, and the report says that it is not complete.
    #[arg(long, help_heading = "Input")]
    pub(crate) allow_unequal: bool,
    /// Score interlaced y4m video as if its frames were progressive.
    #[arg(long, help_heading = "Input")]
    pub(crate) interlaced_as_frames: bool,

    /// Model: a name, or fields with colons between: version=NAME, path=FILE, name=REPORT_NAME,
    /// disable_clip, enable_transform, FEATURE.OPTION=VALUE. Repeatable. Without it:
    /// version=vmaf_v0.6.1. `vmafx help values` explains colons in paths.
    #[arg(short, long, value_name = "MODEL", help_heading = "Scoring")]
    #[arg(value_parser = ModelArgument::parse, action = clap::ArgAction::Append)]
    model: Vec<ModelArgument>,
    /// Feature to report besides those of the models: NAME or NAME=OPTION=VALUE:OPTION=VALUE.
    /// Repeatable. `vmafx features` lists names and options.
    #[arg(long, value_name = "FEATURE", help_heading = "Scoring")]
    #[arg(value_parser = FeatureArgument::parse, action = clap::ArgAction::Append)]
    feature: Vec<FeatureArgument>,
    /// Models and features of the Alliance for Open Media's common test conditions, v1.0 to
    /// v7.0.
    #[arg(long = "aom_ctc", alias = "aom-ctc", value_name = "VERSION", help_heading = "Scoring")]
    #[arg(value_parser = presets::aom_ctc, action = clap::ArgAction::Append)]
    aom_ctc: Vec<&'static Preset>,
    /// Models and features of Netflix's common test conditions, v1.0.
    #[arg(long = "nflx_ctc", alias = "nflx-ctc", value_name = "VERSION", help_heading = "Scoring")]
    #[arg(value_parser = presets::nflx_ctc, action = clap::ArgAction::Append)]
    nflx_ctc: Vec<&'static Preset>,
    /// Do not predict: report features only, those of the models given included.
    #[arg(short, long = "no_prediction", alias = "no-prediction", help_heading = "Scoring")]
    pub(crate) no_prediction: bool,
    /// Score every Nth frame; motion still sees every frame. Odd steps are safer: even ones may
    /// meet only the good frames of a coding pyramid.
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    #[arg(value_parser = syntax::unsigned, default_value = "1", hide_default_value = true)]
    pub(crate) subsample: u32,
    /// Worker threads; 0 = one. Without it: one for each core. Scores do not depend on it.
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    #[arg(value_parser = syntax::unsigned)]
    pub(crate) threads: Option<u32>,
    /// Look for a shift between the videos of up to this many frames and warn of it; 0 = do
    /// not look.
    #[arg(long, value_name = "FRAMES", help_heading = "Scoring")]
    #[arg(value_parser = syntax::unsigned, default_value = "5")]
    pub(crate) alignment_range: u32,
    /// Use only this backend, or this device of it: NAME or NAME:NUMBER.
    #[arg(long, value_name = "NAME", help_heading = "Scoring")]
    pub(crate) backend: Option<String>,
    /// Instruction sets to leave unused: the sum of 1 SSE2, 2 SSSE3, 4 SSE4.1, 8 AVX2,
    /// 16 AVX-512, 32 AVX-512 of Ice Lake; -1 = all. Scores do not depend on it.
    #[arg(long, value_name = "MASK", help_heading = "Scoring")]
    #[arg(value_parser = syntax::mask, default_value = "0", hide_default_value = true)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) cpumask: u32,
    /// Any value but 0 leaves GPU devices unused.
    #[arg(long, value_name = "MASK", help_heading = "Scoring")]
    #[arg(value_parser = syntax::mask, default_value = "0", hide_default_value = true)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) gpumask: u32,

    /// Write the report to this file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<OsString>,
    /// Write the report as XML. Without a format: by the ending of FILE (.json, .csv, .sub),
    /// else XML; called as `vmaf`, XML.
    #[arg(long, help_heading = "Output")]
    xml: bool,
    /// Write the report as JSON.
    #[arg(long, help_heading = "Output", overrides_with = "xml")]
    json: bool,
    /// Write the report as CSV.
    #[arg(long, help_heading = "Output", overrides_with_all = ["xml", "json"])]
    csv: bool,
    /// Write the report as subtitles of the MicroDVD form.
    #[arg(long, help_heading = "Output", overrides_with_all = ["xml", "json", "csv"])]
    sub: bool,
    /// Decimals of scores, 0 to 17, or `max`: as many significant digits as tell two scores
    /// apart (17).
    #[arg(long, value_name = "N|max", help_heading = "Output")]
    #[arg(value_parser = precision, default_value = "6")]
    pub(crate) precision: Precision,
    /// Poolings to report besides min, max, mean and harmonic_mean: median, p1, p5, p10, p20;
    /// commas between. The printed scores list them too.
    #[arg(long, value_name = "POOLING", value_delimiter = ',', help_heading = "Output")]
    #[arg(value_parser = pooling)]
    pub(crate) pool: Vec<Pooling>,
    /// Write the scores of each frame as soon as they are final, one JSON object a line, to
    /// standard output or to FILE.
    #[arg(long, value_name = "jsonl[=FILE]", help_heading = "Output")]
    #[arg(value_parser = stream)]
    pub(crate) stream: Option<OsString>,
    /// Draw the scores of each frame to FILE: .svg or .html.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
    /// Print no progress and no notes; print scores only where no -o takes them.
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print the version.
    #[arg(short, long, help_heading = "Output")]
    version: bool,
    /// Print this help.
    #[arg(long, action = clap::ArgAction::Help, help_heading = "Output")]
    help: Option<bool>,

    /// Models, features and presets in the order given.
    #[arg(skip)]
    pub(crate) additions: Vec<Addition>,
    /// Whether the program was called `vmaf`.
    #[arg(skip)]
    pub(crate) upstream: bool,
}

/// Something to compute, at its place on the command line.
#[derive(Clone, Debug)]
pub(crate) enum Addition {
    Model(ModelArgument),
    Feature(FeatureArgument),
    Preset(&'static Preset),
}

impl ScoreArgs {
    /// The two videos, reference first: by option, else by the next word.
    ///
    /// # Errors
    /// A video too few or too many.
    pub(crate) fn videos(&self) -> Result<[&OsStr; 2], Failure> {
        let mut words = self.videos.iter().map(OsString::as_os_str);
        let reference = self.reference.as_deref().or_else(|| words.next());
        let distorted = self.distorted.as_deref().or_else(|| words.next());
        let missing = |which| {
            let text = "video is missing: give REF and DIST, or -r REF -d DIST";
            Failure::usage(format!("the {which} {text}"))
        };
        if let Some(word) = words.next() {
            return Err(Failure::usage(format!(
                "unexpected argument `{}`: reference and distorted video are already given",
                word.to_string_lossy()
            )));
        }
        let reference = reference.ok_or_else(|| missing("reference"))?;
        let distorted = distorted.ok_or_else(|| missing("distorted"))?;
        Ok([reference, distorted])
    }

    /// Format of the report.
    pub(crate) fn format(&self) -> OutputFormat {
        let ending = self.output.as_ref().map(|name| name.to_string_lossy().to_lowercase());
        let ends = |end| !self.upstream && ending.as_ref().is_some_and(|name| name.ends_with(end));
        let flags = [self.json, self.csv, self.sub];
        match flags {
            _ if self.xml => OutputFormat::Xml,
            [true, _, _] => OutputFormat::Json,
            [_, true, _] => OutputFormat::Csv,
            [_, _, true] => OutputFormat::Sub,
            _ if ends(".json") => OutputFormat::Json,
            _ if ends(".csv") => OutputFormat::Csv,
            _ if ends(".sub") => OutputFormat::Sub,
            _ => OutputFormat::Xml,
        }
    }
}

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

/// The whole command, for help, completions and manual pages.
pub(crate) fn command() -> Command {
    Cli::command().after_long_help(exit_codes())
}

/// The command of a program called `vmaf`.
fn upstream_command() -> Command {
    ScoreArgs::augment_args(Command::new("vmaf"))
        .about("Scores a distorted video against its reference, with the options of Netflix's vmaf")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .infer_long_args(true)
        .args_override_self(true)
        .max_term_width(100)
        .after_long_help(exit_codes())
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
        true => (upstream_command(), expand(arguments, &upstream_command())),
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
        _ if cli.backends => Ok(Action::Backends(list)),
        Some(Action::Score(score)) => {
            let matches = matches.subcommand_matches("score");
            Ok(scoring(*score, matches.expect("`score` was matched"), false))
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
    let mut additions = Vec::new();
    collect(matches, "model", Addition::Model, &mut additions);
    collect(matches, "feature", Addition::Feature, &mut additions);
    collect(matches, "aom_ctc", Addition::Preset, &mut additions);
    collect(matches, "nflx_ctc", Addition::Preset, &mut additions);
    additions.sort_by_key(|(place, _)| *place);
    score.additions = additions.into_iter().map(|(_, addition)| addition).collect();
    score.upstream = upstream;
    Action::Score(Box::new(score))
}

fn collect<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    option: &str,
    wrap: fn(T) -> Addition,
    list: &mut Vec<(usize, Addition)>,
) {
    let places = matches.indices_of(option).into_iter().flatten();
    let values = matches.get_many::<T>(option).into_iter().flatten();
    list.extend(places.zip(values.cloned().map(wrap)));
}

/// Completes shortened long options as `getopt_long` does with upstream's list: our own options
/// do not make a short form ambiguous.
fn expand(arguments: Vec<OsString>, command: &Command) -> Vec<OsString> {
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

/// A clap error as one sentence: what is wrong, then the tips.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join(" ");
    let joined = joined.strip_prefix("error: ").unwrap_or(&joined);
    joined.replace(" tip: ", "; tip: ")
}

fn chroma_parser() -> impl clap::builder::TypedValueParser<Value = Chroma> {
    PossibleValuesParser::new(["420", "422", "444", "400"]).map(|code| match code.as_str() {
        "420" => Chroma::Yuv420,
        "422" => Chroma::Yuv422,
        "444" => Chroma::Yuv444,
        _ => Chroma::Yuv400,
    })
}

fn bit_depth(text: &str) -> Result<u32, SyntaxError> {
    match syntax::unsigned(text)? {
        depth @ 8..=16 => Ok(depth),
        _ => Err(SyntaxError::Choice("the depth is 8 to 16")),
    }
}

fn precision(text: &str) -> Result<Precision, SyntaxError> {
    let wanted = SyntaxError::Choice("the precision is 0 to 17, or max");
    text.parse().map_err(|_| wanted)
}

fn pooling(text: &str) -> Result<Pooling, vmafx_engine::ParsePoolingError> {
    text.parse()
}

/// Reads `jsonl` or `jsonl=FILE` and gives the file.
fn stream(text: &str) -> Result<OsString, SyntaxError> {
    match text.split_once('=') {
        None if text == "jsonl" => Ok("-".into()),
        Some(("jsonl", file)) if !file.is_empty() => Ok(file.into()),
        _ => Err(SyntaxError::Choice("the form is jsonl or jsonl=FILE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        upstream_command().debug_assert();
    }

    #[test]
    fn every_upstream_option_exists() {
        let command = upstream_command();
        for name in UPSTREAM {
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name));
            let arg = arg.unwrap_or_else(|| panic!("--{name}"));
            let short = match name {
                "reference" | "distorted" | "width" | "height" | "pixel_format" | "bitdepth"
                | "model" | "output" | "no_prediction" | "version" | "quiet" => name.chars().next(),
                _ => None,
            };
            assert_eq!(arg.get_short(), short, "{name}");
        }
    }

    #[test]
    fn both_ways_to_name_the_videos() {
        for line in ["vmafx score a b", "vmafx score -r a -d b", "vmafx score b -r a", "vmaf a b"] {
            assert_eq!(score(line).videos().unwrap(), ["a", "b"], "{line}");
        }
        let text = |line: &str| score(line).videos().unwrap_err().to_string();
        assert!(text("vmafx score a").contains("distorted video is missing"));
        assert!(text("vmaf -r a -d b c").contains("unexpected argument `c`"));
    }

    #[test]
    fn numbers_and_repetition_follow_getopt() {
        let args = score("vmaf -w 0x10 -h 010 -p444 -b10 -w 32 --cpumask -1 -nq a b --cpumask=0x30");
        assert_eq!((args.width, args.height), (Some(32), Some(8)));
        assert_eq!((args.pixel_format, args.bitdepth), (Some(Chroma::Yuv444), Some(10)));
        assert_eq!(args.cpumask, 48);
        assert!(args.no_prediction && args.quiet);
        assert!(score("vmafx score --gpumask -1 a b").gpumask == u32::MAX);
    }

    #[test]
    fn long_options_can_be_shortened() {
        let args = score("vmaf --ref a --di b --p 420 --b 8 --w 2 --he 2 --frame_c 3 --th 2 --o p.json");
        assert_eq!(args.videos().unwrap(), ["a", "b"]);
        assert_eq!((args.bitdepth, args.frame_cnt), (Some(8), Some(3)));
        assert_eq!((args.threads, args.pixel_format), (Some(2), Some(Chroma::Yuv420)));
        assert_eq!(args.output, Some("p.json".into()));
        assert!(error("vmaf a b --frame 3").contains("--frame"));
        assert_eq!(score("vmafx score a b --frame_c 3").frame_cnt, Some(3));
        assert_eq!(score("vmafx score a b --frame-cnt 3").frame_cnt, Some(3));
        // A value that looks like an option stays a value.
        assert_eq!(score("vmaf a b --output=--p").output, Some("--p".into()));
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
        assert_eq!(kinds.collect::<Vec<_>>(), ["psnr", "preset", "model", "vif"]);
    }

    #[test]
    fn errors_are_one_line() {
        for (line, part) in [
            ("vmafx score a b --bogus", "unexpected argument '--bogus'"),
            ("vmaf a b -c 1", "unexpected argument '-c'"),
            ("vmafx score a b -w 12px", "`12px` is not a whole number"),
            ("vmafx score a b -p 411", "possible values: 420, 422, 444, 400"),
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
            assert!(!text.contains('\n') && !text.contains("Usage"), "{line}: {text}");
        }
    }
}
