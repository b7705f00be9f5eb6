//! The outcome of a run and its reports.
//!
//! Keys, their order, white space and number format are libvmaf's (`output.c`), so a program
//! that reads libvmaf's reports reads ours; JSON and XML carry the [`Provenance`] in addition,
//! behind everything else. Where libvmaf's text cannot be parsed ours differs: a CSV row keeps
//! an empty cell for a score that the frame lacks.
//!
//! What must stay true: a report is streamed frame by frame; it does not depend on the locale;
//! every byte but the `fps` figure is the same for the same input, options and version.

mod json;
mod number;
mod table;
mod xml;

use std::io::{self, BufWriter, Write};
use std::ops::RangeBounds;
use std::str::FromStr;
use std::sync::Arc;

use vmafx_api::FrameFormat;
use vmafx_metrics::Aggregate;

use crate::error::{EngineError, ScoreError};
use crate::pooling::Pooling;
use crate::provenance::Provenance;
use crate::store::Scores;
use crate::warning::Warning;

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputFormat {
    /// libvmaf's XML, with provenance.
    #[default]
    Xml,
    /// libvmaf's JSON, with provenance. Scores that are not numbers are `null`.
    Json,
    /// One row a frame.
    Csv,
    /// A MicroDVD subtitle a frame.
    Sub,
}

impl OutputFormat {
    /// All forms.
    pub const ALL: [OutputFormat; 4] = [
        OutputFormat::Xml,
        OutputFormat::Json,
        OutputFormat::Csv,
        OutputFormat::Sub,
    ];

    /// Its name, which is also the usual file extension.
    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Xml => "xml",
            OutputFormat::Json => "json",
            OutputFormat::Csv => "csv",
            OutputFormat::Sub => "sub",
        }
    }
}

/// How scores are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// So many decimals. libvmaf's reports have 6; from 6 on a score whose fraction is too
    /// small to show a digit gets 16 decimals, as there.
    Digits(u8),
    /// 17 significant digits, from which every bit can be read back.
    Max,
}

impl Default for Precision {
    fn default() -> Self {
        Precision::Digits(6)
    }
}

impl Precision {
    /// A score as XML, CSV and SUB reports write it; infinities and NaN as C's `printf` does.
    pub fn text(self, score: f64) -> String {
        number::score(score, self)
    }

    /// A score as JSON reports write it: `null` if it is infinite or NaN.
    pub fn json(self, score: f64) -> String {
        number::json_score(score, self)
    }
}

/// A word that is no precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("precision `{0}` is neither a number of decimals from 0 to 17 nor `max`")]
pub struct ParsePrecisionError(pub String);

impl FromStr for Precision {
    type Err = ParsePrecisionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            _ if text == "max" => Ok(Precision::Max),
            Ok(digits @ 0..=17) => Ok(Precision::Digits(digits)),
            _ => Err(ParsePrecisionError(text.to_owned())),
        }
    }
}

/// Scores, pooled scores and provenance of a finished run.
#[derive(Debug)]
pub struct Outcome {
    pub(crate) format: FrameFormat,
    pub(crate) scores: Scores,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) provenance: Provenance,
    pub(crate) extra_pooling: Vec<Pooling>,
    pub(crate) seconds: f64,
}

impl Outcome {
    /// Names of all scores, in report order.
    pub fn names(&self) -> Vec<String> {
        self.scores.names()
    }

    /// Numbers of the scored frames.
    pub fn frames(&self) -> impl Iterator<Item = u64> + use<> {
        let counts = self.provenance.frames;
        (0..counts.read).step_by(counts.subsample as usize)
    }

    /// A reader of the scores that outlives this value.
    pub fn scores(&self) -> Scores {
        self.scores.clone()
    }

    /// See [`Scores::score`].
    ///
    /// # Errors
    /// A name or frame that does not exist.
    pub fn score(&self, name: &str, frame: u64) -> Result<f64, ScoreError> {
        self.scores.score(name, frame)
    }

    /// See [`Scores::pooled`].
    ///
    /// # Errors
    /// A name that does not exist, a range without frames or beyond the clip.
    pub fn pooled(
        &self,
        name: &str,
        pooling: Pooling,
        range: impl RangeBounds<u64>,
    ) -> Result<f64, ScoreError> {
        self.scores.pooled(name, pooling, range)
    }

    /// Values over the whole clip that are not poolings, such as `apsnr_y`.
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// How the scores came to be.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// What a user should know.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Frame pairs a second, from the first one submitted to the last score, by the wall clock.
    /// (libvmaf counts processor time, so its figure falls with every thread.) Infinite if no
    /// time passed.
    pub fn fps(&self) -> f64 {
        self.provenance.frames.read as f64 / self.seconds
    }

    /// Writes the whole report, and flushes.
    ///
    /// # Errors
    /// The writer's failure. What has been written until then is not a report.
    pub fn write(
        &self,
        format: OutputFormat,
        precision: Precision,
        out: &mut dyn Write,
    ) -> Result<(), EngineError> {
        let mut out = BufWriter::new(out);
        let written = match format {
            OutputFormat::Xml => xml::write(self, precision, &mut out),
            OutputFormat::Json => json::write(self, precision, &mut out),
            OutputFormat::Csv => table::write_csv(self, precision, &mut out),
            OutputFormat::Sub => table::write_sub(self, precision, &mut out),
        };
        written
            .and_then(|()| out.flush())
            .map_err(|source| EngineError::Write {
                source: Arc::new(source),
            })
    }

    /// Calls `row` for every frame with a score: its number, and its scores in report order.
    fn rows(&self, mut row: impl FnMut(u64, &[Option<f64>]) -> io::Result<()>) -> io::Result<()> {
        let store = self.scores.read();
        let places = 0..self.provenance.frames.scored;
        store.table().visit_rows(places, |place, values| {
            if values.iter().any(Option::is_some) {
                row(store.frame(place), values)?;
            }
            Ok(())
        })
    }

    /// Every score that all listed frames have, with its poolings; none for the others.
    fn pools(
        &self,
        mut metric: impl FnMut(&str, &[(Pooling, f64)]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut methods = Pooling::UPSTREAM.to_vec();
        for extra in &self.extra_pooling {
            if !methods.contains(extra) {
                methods.push(*extra);
            }
        }
        let store = self.scores.read();
        for (score, name) in store.names().iter().enumerate() {
            let column = store.column(score, 0..self.provenance.frames.scored)?;
            let column = column.unwrap_or_default();
            let pooled = methods.iter().filter_map(|&pooling| {
                let value = pooling.pool(column.iter().copied())?;
                Some((pooling, value))
            });
            metric(name, &pooled.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}
