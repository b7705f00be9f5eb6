//! The options of a scoring run.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args};
use vmafx_api::Chroma;
use vmafx_engine::{OutputFormat, Pooling, Precision, Request};

use crate::failure::Failure;
use crate::presets::{self, Preset};
use crate::syntax::{self, FeatureArgument, ModelArgument, SyntaxError};

/// Options of `vmafx score`, and all options of a program called `vmaf`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ScoreArgs {
    /// Reference video: a .y4m file, a file of raw planar samples, `-` for standard input, a
    /// FIFO, or `synth:...`.
    #[arg(value_name = "REF")]
    first: Option<OsString>,
    /// Distorted video, likewise.
    #[arg(value_name = "DIST")]
    second: Option<OsString>,

    /// Reference video, in place of REF.
    #[arg(short, long, value_name = "VIDEO", help_heading = "Input")]
    reference: Option<OsString>,
    /// Distorted video, in place of DIST.
    #[arg(short, long, value_name = "VIDEO", help_heading = "Input")]
    distorted: Option<OsString>,
    /// Width of raw video, in samples. Raw video needs width, height, pixel format and depth.
    #[arg(short, long, value_name = "SAMPLES", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true)]
    pub(crate) width: Option<u32>,
    /// Height of raw video, in rows.
    #[arg(short = 'h', long, value_name = "ROWS", help_heading = "Input")]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true)]
    pub(crate) height: Option<u32>,
    /// Chroma layout of raw video.
    #[arg(
        short,
        long = "pixel_format",
        alias = "pixel-format",
        value_name = "LAYOUT"
    )]
    #[arg(help_heading = "Input")]
    #[arg(value_parser = chroma_parser())]
    pub(crate) pixel_format: Option<Chroma>,
    /// Bits of a sample of raw video, 8 to 16; above 8 a sample is two bytes, low byte first.
    #[arg(short, long, value_name = "BITS", help_heading = "Input")]
    #[arg(value_parser = bit_depth)]
    pub(crate) bitdepth: Option<u32>,
    /// Score at most this many frames; 0 = all.
    #[arg(
        long = "frame_cnt",
        alias = "frame-cnt",
        value_name = "FRAMES",
        help_heading = "Input"
    )]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true)]
    pub(crate) frame_cnt: Option<u32>,
    /// Leave out the first frames of the reference, as if they were not there.
    #[arg(
        long = "frame_skip_ref",
        alias = "frame-skip-ref",
        value_name = "FRAMES",
        help_heading = "Input"
    )]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true, default_value = "0", hide_default_value = true)]
    pub(crate) frame_skip_ref: u32,
    /// Leave out the first frames of the distorted video, as if they were not there.
    #[arg(
        long = "frame_skip_dist",
        alias = "frame-skip-dist",
        value_name = "FRAMES",
        help_heading = "Input"
    )]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true, default_value = "0", hide_default_value = true)]
    pub(crate) frame_skip_dist: u32,
    /// Accept inputs of different length and score the frames that both have. Without this the
    /// exit code is that of a wrong input, and the report says that it is not complete.
    #[arg(long, alias = "allow_unequal", help_heading = "Input")]
    pub(crate) allow_unequal: bool,
    /// Score interlaced y4m video as if its frames were progressive.
    #[arg(long, alias = "interlaced_as_frames", help_heading = "Input")]
    pub(crate) interlaced_as_frames: bool,
    /// Write this remark into the report, such as what was done to a video before. A program
    /// that scales or converts and then calls this one should say so here. Repeatable.
    #[arg(long, value_name = "TEXT", help_heading = "Input")]
    #[arg(action = clap::ArgAction::Append)]
    pub(crate) note: Vec<String>,

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
    #[arg(
        long = "aom_ctc",
        alias = "aom-ctc",
        value_name = "VERSION",
        help_heading = "Scoring"
    )]
    #[arg(value_parser = presets::aom_ctc, action = clap::ArgAction::Append)]
    aom_ctc: Vec<&'static Preset>,
    /// Models and features of Netflix's common test conditions, v1.0.
    #[arg(
        long = "nflx_ctc",
        alias = "nflx-ctc",
        value_name = "VERSION",
        help_heading = "Scoring"
    )]
    #[arg(value_parser = presets::nflx_ctc, action = clap::ArgAction::Append)]
    nflx_ctc: Vec<&'static Preset>,
    /// Do not predict: report features only, those of the models given included.
    #[arg(
        short,
        long = "no_prediction",
        alias = "no-prediction",
        help_heading = "Scoring"
    )]
    pub(crate) no_prediction: bool,
    /// Score every Nth frame; motion still sees every frame. Odd steps are safer: even ones may
    /// meet only the good frames of a coding pyramid.
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true, default_value = "1", hide_default_value = true)]
    pub(crate) subsample: u32,
    /// Worker threads; 0 = one. Without it: one for each core. Scores do not depend on it.
    #[arg(long, value_name = "N", help_heading = "Scoring")]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    /// Look for a shift between the videos of up to this many frames and warn of it; 0 = do
    /// not look.
    #[arg(
        long,
        alias = "alignment_range",
        value_name = "FRAMES",
        help_heading = "Scoring"
    )]
    #[arg(value_parser = syntax::unsigned, allow_negative_numbers = true)]
    #[arg(default_value_t = Request::default().alignment_range)]
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
    #[arg(
        long,
        value_name = "POOLING",
        value_delimiter = ',',
        help_heading = "Output"
    )]
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
    pub(super) version: bool,
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
        let words = [self.first.as_deref(), self.second.as_deref()];
        let mut words = words.into_iter().flatten();
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

    /// The option that states the format of the report, if one does.
    pub(crate) fn form(&self) -> Option<&'static str> {
        let forms = [
            ("--xml", self.xml),
            ("--json", self.json),
            ("--csv", self.csv),
            ("--sub", self.sub),
        ];
        let given = forms.into_iter().find(|(_, given)| *given);
        given.map(|(name, _)| name)
    }

    /// Format of the report.
    pub(crate) fn format(&self) -> OutputFormat {
        let ending = self
            .output
            .as_ref()
            .map(|name| name.to_string_lossy().to_lowercase());
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

/// Models, features and presets in the order of the command line, which is the order of the
/// report.
pub(super) fn additions(matches: &ArgMatches) -> Vec<Addition> {
    let mut list = Vec::new();
    collect(matches, "model", Addition::Model, &mut list);
    collect(matches, "feature", Addition::Feature, &mut list);
    collect(matches, "aom_ctc", Addition::Preset, &mut list);
    collect(matches, "nflx_ctc", Addition::Preset, &mut list);
    list.sort_by_key(|(place, _)| *place);
    list.into_iter().map(|(_, addition)| addition).collect()
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

fn chroma_parser() -> impl TypedValueParser<Value = Chroma> {
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
