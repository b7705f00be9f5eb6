//! What a finished run leaves behind: report, chart, and the scores for people.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use vmafx_engine::{EngineError, Outcome, OutputFormat, Pooling, Precision};

use crate::args::ScoreArgs;
use crate::destination::{Destination, RunInput, note, print};
use crate::failure::{Class, Classify, Failure};
use crate::plan::{self, Plan};
use crate::plot::{self, Chart, Line, Panel, Table};
use crate::stream::Stream;

/// Where the results go.
pub(crate) struct Results {
    report: Option<(Destination, OutputFormat)>,
    plot: Option<(Destination, bool)>,
    stream: Option<Destination>,
    precision: Precision,
    /// Whether the scores for people are what standard output is for.
    plain: bool,
}

impl Results {
    /// Checks all destinations before anything is scored.
    ///
    /// # Errors
    /// Two results in one place, a place that cannot be written, a chart of unknown form.
    pub(crate) fn open(args: &ScoreArgs, inputs: &[RunInput<'_>]) -> Result<Self, Failure> {
        let page = match &args.plot {
            Some(path) => Some(is_page(path)?),
            None => None,
        };
        // Upstream's programs leave the report out in silence; scripts for them rely on it.
        if let (Some(name), None, false) = (args.form(), &args.output, args.upstream) {
            return Err(Failure::usage(format!(
                "`{name}` is the form of a report, but none is asked for: add `-o FILE`, or `-o -` \
                 for standard output"
            )));
        }
        let mut taken = Vec::new();
        let mut open = |name: Option<&OsStr>| {
            let Some(name) = name else { return Ok(None) };
            let destination = Destination::open(name, inputs)?;
            if taken.contains(&destination) {
                return Err(Failure::usage(format!("two outputs go to {destination}")));
            }
            taken.push(destination.clone());
            Ok(Some(destination))
        };
        let report = open(args.output.as_deref())?;
        let plot = open(args.plot.as_deref().map(Path::as_os_str))?;
        let stream = open(args.stream.as_deref())?;
        let plain = report.is_none() && !args.upstream && !taken.contains(&Destination::Standard);
        Ok(Results {
            report: report.map(|destination| (destination, args.format())),
            plot: plot.zip(page),
            stream,
            precision: args.precision,
            plain,
        })
    }

    /// Opens the stream of frames, if there is to be one.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub(crate) fn stream(&self) -> Result<Option<Stream>, Failure> {
        let destination = self.stream.as_ref();
        let stream = destination.map(|place| Stream::start(place, self.precision));
        stream.transpose()
    }

    /// Writes report and chart, then prints the scores.
    ///
    /// # Errors
    /// What cannot be written.
    pub(crate) fn deliver(
        &self,
        outcome: &Outcome,
        plan: &Plan,
        args: &ScoreArgs,
    ) -> Result<(), Failure> {
        let complete = outcome.provenance().frames.complete;
        if let Some((destination, format)) = &self.report {
            // The other forms have no place to say that frames are missing.
            let says_so = matches!(format, OutputFormat::Xml | OutputFormat::Json);
            if complete || says_so || args.allow_unequal {
                destination.write(|output| {
                    let written = outcome.write(*format, self.precision, output);
                    written.map_err(|error| failed(destination, error))
                })?;
            } else {
                note(&format!(
                    "vmafx: warning[no-report]: no report was written: {} cannot say that it is not \
                     complete\n",
                    format.name().to_uppercase()
                ));
            }
        }
        if let Some((destination, page)) = &self.plot {
            let chart = chart(outcome, plan);
            let text = match page {
                true => plot::html(
                    &chart,
                    &table(outcome, &chart, self.precision),
                    &footer(outcome),
                ),
                false => plot::svg(&chart),
            };
            let text = text.class(Class::Internal)?;
            destination.write(|output| {
                let written = output.write_all(text.as_bytes());
                written.map_err(|error| destination.failed(error))
            })?;
        }
        let quiet = args.quiet && args.output.is_some();
        if quiet {
            return Ok(());
        }
        let mut text = String::new();
        if !args.quiet {
            let frames = outcome.provenance().frames.read;
            let _ = writeln!(text, "{frames} frames, {:.2} fps", outcome.fps());
            note(&std::mem::take(&mut text));
        }
        match args.upstream && !args.no_prediction {
            true => upstream_scores(outcome, plan, self.precision, &mut text),
            false => scores(outcome, plan, self.precision, &mut text),
        }
        // Who takes the score of a part from standard output takes it for the whole.
        if self.plain && (complete || args.allow_unequal) {
            return print(&text);
        }
        note(&text);
        Ok(())
    }
}

/// Whether the chart at `path` is an HTML page, not an SVG picture.
fn is_page(path: &Path) -> Result<bool, Failure> {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    match ending.as_ref().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(false),
        Some("html" | "htm") => Ok(true),
        _ => Err(Failure::usage(format!(
            "--plot {}: the file must end in .svg or .html",
            path.display()
        ))),
    }
}

/// A failure to write a report is that of its destination.
fn failed(destination: &Destination, error: EngineError) -> Failure {
    match error {
        EngineError::Write { source } => {
            destination.failed(std::io::Error::new(source.kind(), source.to_string()))
        }
        error => plan::engine(error),
    }
}

/// Names of the scores that people are told: those of models, and of the features that were
/// asked for.
fn told(outcome: &Outcome, plan: &Plan) -> Vec<String> {
    let models = outcome
        .provenance()
        .models
        .iter()
        .map(|model| model.name.clone());
    let features = outcome.provenance().features.iter();
    let every = outcome.provenance().models.is_empty() && plan.asked.is_empty();
    let features = features.filter(|f| every || plan.asked.contains(&f.name.as_str()));
    models
        .chain(features.flat_map(|feature| feature.scores.clone()))
        .collect()
}

fn mean(outcome: &Outcome, name: &str) -> f64 {
    outcome.pooled(name, Pooling::Mean, ..).unwrap_or(f64::NAN)
}

/// One line for each score, `NAME: VALUE`, and one for each pooling that was asked for.
fn scores(outcome: &Outcome, plan: &Plan, precision: Precision, text: &mut String) {
    for name in told(outcome, plan) {
        let value = precision.text(mean(outcome, &name));
        let _ = writeln!(text, "{name}: {value}");
        for pooling in &plan.request.extra_pooling {
            let value = outcome.pooled(&name, *pooling, ..).unwrap_or(f64::NAN);
            let _ = writeln!(text, "{name} {pooling}: {}", precision.text(value));
        }
        interval(outcome, &name, &format!("{name}_bagging"), precision, text);
    }
    for aggregate in outcome.aggregates() {
        let _ = writeln!(
            text,
            "{}: {}",
            aggregate.name,
            precision.text(aggregate.value)
        );
    }
}

/// The lines of upstream's tool: models by version or path, then collections.
fn upstream_scores(outcome: &Outcome, plan: &Plan, precision: Precision, text: &mut String) {
    let models = || plan.request.models.iter().zip(&plan.labels);
    for (model, label) in models() {
        let value = precision.text(mean(outcome, &model.name));
        let _ = writeln!(text, "{label}: {value}");
    }
    for (model, label) in models() {
        interval(outcome, &model.name, label, precision, text);
    }
}

/// The line of a collection, if `name` is one.
fn interval(outcome: &Outcome, name: &str, label: &str, precision: Precision, text: &mut String) {
    let ends = ["bagging", "ci_p95_lo", "ci_p95_hi", "stddev"];
    let values = ends.map(|end| outcome.pooled(&format!("{name}_{end}"), Pooling::Mean, ..));
    if let [Ok(bagging), Ok(low), Ok(high), Ok(deviation)] = values {
        let [bagging, low, high, deviation] =
            [bagging, low, high, deviation].map(|value| precision.text(value));
        let _ = writeln!(
            text,
            "{label}: {bagging}, ci.p95: [{low}, {high}], stddev: {deviation}"
        );
    }
}

/// The chart: models in one panel, then each feature that was asked for in its own.
fn chart(outcome: &Outcome, plan: &Plan) -> Chart {
    let provenance = outcome.provenance();
    let names = told(outcome, plan);
    let (models, features) = names.split_at(provenance.models.len());
    let mut panels = Vec::new();
    if !models.is_empty() {
        let lines = models.iter().map(|name| line(outcome, name)).collect();
        panels.push(Panel { lines, model: true });
    }
    for name in features {
        panels.push(Panel {
            lines: vec![line(outcome, name)],
            model: false,
        });
    }
    let title = match models.is_empty() {
        true => names.join(", "),
        false => models.join(", "),
    };
    let [reference, distorted] = &provenance.inputs;
    let counts = provenance.frames;
    let mut subtitle = format!(
        "{} against {}, {}, {} frames",
        file_name(&distorted.name),
        file_name(&reference.name),
        provenance.format,
        counts.read
    );
    if counts.subsample > 1 {
        let _ = write!(subtitle, ", 1 frame in {} scored", counts.subsample);
    }
    if !counts.complete {
        subtitle.push_str(" (not complete: the videos differ in length)");
    }
    let title = match title.chars().count() > 90 {
        true => "Scores per frame".to_owned(),
        false => format!("{title} per frame"),
    };
    Chart {
        title,
        subtitle,
        panels,
    }
}

fn file_name(path: &str) -> &str {
    match path.starts_with("synth:") {
        true => path,
        false => path.rsplit(['/', '\\']).next().unwrap_or(path),
    }
}

fn line(outcome: &Outcome, name: &str) -> Line {
    let score = |name: &str, frame| outcome.score(name, frame).unwrap_or(f64::NAN);
    let points: Vec<_> = outcome
        .frames()
        .map(|frame| (frame, score(name, frame)))
        .collect();
    let ends = ["lo", "hi"].map(|end| format!("{name}_ci_p95_{end}"));
    let names = outcome.names();
    let band = match ends.iter().all(|end| names.contains(end)) {
        true => outcome
            .frames()
            .map(|frame| (score(&ends[0], frame), score(&ends[1], frame)))
            .collect(),
        false => Vec::new(),
    };
    Line {
        name: name.to_owned(),
        points,
        band,
        mean: mean(outcome, name),
    }
}

fn table(outcome: &Outcome, chart: &Chart, precision: Precision) -> Table {
    let columns = [
        Pooling::Mean,
        Pooling::HarmonicMean,
        Pooling::Median,
        Pooling::P5,
        Pooling::Min,
        Pooling::Max,
    ];
    let lines = chart.panels.iter().flat_map(|panel| &panel.lines);
    let rows = lines.map(|line| {
        let pooled = columns.map(|pooling| {
            let value = outcome.pooled(&line.name, pooling, ..);
            precision.text(value.unwrap_or(f64::NAN))
        });
        (line.name.clone(), pooled.to_vec())
    });
    Table {
        columns: columns
            .map(|pooling| pooling.name().replace('_', " "))
            .to_vec(),
        rows: rows.collect(),
    }
}

fn footer(outcome: &Outcome) -> String {
    let provenance = outcome.provenance();
    let [reference, distorted] = &provenance.inputs;
    let models = provenance
        .models
        .iter()
        .map(|m| format!("{} ({})", m.model, &m.sha256[..12]));
    let mut text = format!(
        "vmafx {}. Reference {}: {}. Distorted {}: {}.",
        provenance.vmafx, reference.name, reference.format, distorted.name, distorted.format
    );
    let models: Vec<_> = models.collect();
    if !models.is_empty() {
        let _ = write!(text, " Models: {}.", models.join(", "));
    }
    for warning in &provenance.warnings {
        let _ = write!(text, " Warning: {}.", warning.text);
    }
    text
}
