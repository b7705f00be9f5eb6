//! How a metric describes itself.

use vmafx_api::FrameFormat;

use crate::{Clip, Options, Refusal};

/// Kind, default and range of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptionKind {
    /// `true` or `false`.
    Bool {
        /// Value when not given.
        default: bool,
    },
    /// A whole number.
    Int {
        /// Value when not given.
        default: i32,
        /// Smallest.
        min: i32,
        /// Largest.
        max: i32,
    },
    /// A number.
    Float {
        /// Value when not given.
        default: f64,
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// A word.
    Text {
        /// Value when not given.
        default: &'static str,
    },
}

/// One option of a metric. Names, aliases, defaults and ranges are libvmaf's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionInfo {
    /// Full name.
    pub name: &'static str,
    /// Short name that appears in score names.
    pub alias: &'static str,
    /// One sentence for people.
    pub help: &'static str,
    /// Kind, default and range.
    pub kind: OptionKind,
    /// Whether a value other than the default becomes part of the score names.
    pub in_name: bool,
}

/// One score that a metric can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name that model files use.
    pub internal: &'static str,
    /// The name in reports.
    pub name: &'static str,
}

/// One value that a backend returns for each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// A score, passed as `f64`.
    Score(Output),
    /// An exact count for the clip stage, passed as `u64`; the name is for people only.
    Count(&'static str),
}

/// How close a value must be to libvmaf's scalar code. Between our own implementations the
/// distance is always zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exactness {
    /// Every bit.
    Equal,
    /// A root, power or logarithm of upstream's C library lies on the way: at most two units
    /// in the last place of the type that upstream computes it in.
    Libm,
}

/// The unchanging part of a metric's description.
#[derive(Debug)]
pub struct Definition {
    /// Name of the feature.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, standard or upstream file that defines it.
    pub source: &'static str,
    /// Limits of size, depth and layout, in words.
    pub limits: &'static str,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Every score it can give under some option.
    pub outputs: &'static [Output],
    /// Closeness to libvmaf.
    pub exactness: Exactness,
    /// Whether it must see every frame even when others are subsampled.
    pub every_frame: bool,
}

/// A metric: description, limits and clip stage. The pixel part is in the metric's module.
pub trait Metric: Send + Sync {
    /// The unchanging part of the description.
    fn definition(&self) -> &'static Definition;

    /// Whether clips of `format` can be scored with `options`.
    ///
    /// # Errors
    /// The limit that is not met.
    fn check(&self, format: &FrameFormat, options: &Options) -> Result<(), Refusal>;

    /// What a backend returns for each frame, in order.
    fn columns(&self, format: &FrameFormat, options: &Options) -> Vec<Column>;

    /// How many earlier frames the pixel part reads.
    fn history(&self, _options: &Options) -> usize {
        0
    }

    /// The stage that turns columns of frames in order into scores.
    fn clip(&self, format: &FrameFormat, options: &Options) -> Box<dyn Clip>;
}

/// A metric linked into this program; metrics register themselves with
/// `inventory::submit!(Entry(&MyMetric))`.
pub struct Entry(pub &'static dyn Metric);

inventory::collect!(Entry);

/// All metrics, sorted by name.
pub fn all() -> Vec<&'static dyn Metric> {
    let mut list: Vec<_> = inventory::iter::<Entry>().map(|entry| entry.0).collect();
    list.sort_by_key(|metric| metric.definition().name);
    list
}

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static dyn Metric> {
    inventory::iter::<Entry>()
        .map(|entry| entry.0)
        .find(|metric| metric.definition().name == name)
}

/// The metric that gives the score with that internal name, and the score.
pub fn providing(internal: &str) -> Option<(&'static dyn Metric, Output)> {
    all().into_iter().find_map(|metric| {
        let outputs = metric.definition().outputs;
        let output = outputs.iter().find(|output| output.internal == internal)?;
        Some((metric, *output))
    })
}
