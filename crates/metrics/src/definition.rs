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

/// Options start with their full name as alias and leave no mark on score names; see
/// [`in_names`](OptionInfo::in_names).
impl OptionInfo {
    /// A switch.
    pub const fn switch(name: &'static str, default: bool, help: &'static str) -> Self {
        Self::new(name, OptionKind::Bool { default }, help)
    }

    /// A whole number, with its default, smallest and largest value.
    pub const fn whole(
        name: &'static str,
        (default, min, max): (i32, i32, i32),
        help: &'static str,
    ) -> Self {
        Self::new(name, OptionKind::Int { default, min, max }, help)
    }

    /// A number, with its default, smallest and largest value.
    pub const fn number(
        name: &'static str,
        (default, min, max): (f64, f64, f64),
        help: &'static str,
    ) -> Self {
        Self::new(name, OptionKind::Float { default, min, max }, help)
    }

    /// A word with its default.
    pub const fn word(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self::new(name, OptionKind::Text { default }, help)
    }

    const fn new(name: &'static str, kind: OptionKind, help: &'static str) -> Self {
        OptionInfo {
            name,
            alias: name,
            help,
            kind,
            in_name: false,
        }
    }

    /// The option with a short name, under which values other than the default become part of
    /// the score names.
    pub const fn in_names(self, alias: &'static str) -> Self {
        OptionInfo {
            alias,
            in_name: true,
            ..self
        }
    }
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

/// How close a value is to that of libvmaf's scalar code on the GNU C library, for any input.
/// Between our own implementations the distance is always zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exactness {
    /// Equal in every bit: integers and IEEE-754 arithmetic in the same order.
    Equal,
    /// Within this share of the value and equal at six decimals: a root, power, logarithm or
    /// exponential of the C library lies on the way, and [`math`](crate::math) may round a rare
    /// one to the other neighbour.
    Near(f64),
    /// Not comparable: libvmaf has no such score.
    NotUpstreams,
}

impl Exactness {
    /// Whether `value` is as close to upstream's as this says. NaN is not close to anything.
    ///
    /// ```
    /// use vmafx_metrics::Exactness;
    /// assert!(!Exactness::Equal.allows(60.0, 60.0f64.next_up()));
    /// assert!(Exactness::Near(1e-15).allows(60.0, 60.0f64.next_up()));
    /// ```
    pub fn allows(self, upstream: f64, value: f64) -> bool {
        match self {
            Exactness::Equal => upstream.to_bits() == value.to_bits(),
            Exactness::Near(share) => {
                (upstream - value).abs() <= share * upstream.abs()
                    && format!("{upstream:.6}") == format!("{value:.6}")
            }
            Exactness::NotUpstreams => false,
        }
    }
}

/// The planes that a metric reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Planes {
    /// Luma alone.
    Luma,
    /// Every plane of the layout; each has scores of its own.
    All,
}

/// The unchanging part of a metric's description.
#[derive(Debug)]
pub struct Definition {
    /// Name of the feature.
    pub name: &'static str,
    /// Number of this definition: raised when columns or their meaning change, so that a backend
    /// that was built with another one refuses the feature.
    pub version: u32,
    /// One line for lists.
    pub summary: &'static str,
    /// Paper, standard or upstream file that defines it.
    pub source: &'static str,
    /// Smallest width and height of a frame, in luma samples.
    pub min_size: (u32, u32),
    /// What it reads of a frame.
    pub planes: Planes,
    /// Its options.
    pub options: &'static [OptionInfo],
    /// Every score it can give under some option.
    pub outputs: &'static [Output],
    /// Every value over the whole clip that it can give under some option.
    pub aggregates: &'static [&'static str],
    /// Closeness to libvmaf.
    pub exactness: Exactness,
    /// Whether it must see every frame even when others are subsampled.
    pub every_frame: bool,
}

impl Definition {
    /// The formats that can be scored, for people. Layouts and depths are all those of
    /// [`FrameFormat`].
    pub fn limits(&self) -> String {
        let size = match self.min_size {
            (1, 1) => "any size".to_owned(),
            (width, height) => format!("{width}x{height} samples and more"),
        };
        let planes = match self.planes {
            Planes::Luma => "reads luma only",
            Planes::All => "reads every plane; 4:0:0 has luma scores only",
        };
        format!("{size}, any layout and depth; {planes}")
    }

    /// Whether frames of `format` are large enough.
    ///
    /// # Errors
    /// [`Refusal::TooSmall`] if they are not.
    pub fn check_size(&self, format: &FrameFormat) -> Result<(), Refusal> {
        let (width, height) = (format.width(), format.height());
        let (min_width, min_height) = self.min_size;
        if width >= min_width && height >= min_height {
            return Ok(());
        }
        Err(Refusal::TooSmall {
            feature: self.name,
            width,
            height,
            min_width,
            min_height,
        })
    }

    /// Whether `name`, a name of a report with or without options, is of this metric.
    pub fn gives(&self, name: &str) -> bool {
        let mut outputs = self.outputs.iter().map(|output| output.name);
        outputs.any(|output| name.starts_with(output)) || self.aggregates.contains(&name)
    }
}

/// A metric: description, limits and clip stage. The pixel part is in the metric's module.
pub trait Metric: Send + Sync {
    /// The unchanging part of the description.
    fn definition(&self) -> &'static Definition;

    /// Whether clips of `format` can be scored with `options`: the frames are large enough and
    /// the options go together.
    ///
    /// # Errors
    /// The limit that is not met.
    fn check(&self, format: &FrameFormat, _options: &Options) -> Result<(), Refusal> {
        self.definition().check_size(format)
    }

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

#[cfg(test)]
mod tests {
    use vmafx_api::Chroma;

    use super::*;

    fn definition(name: &str) -> &'static Definition {
        find(name).unwrap().definition()
    }

    #[test]
    fn limits_are_told_as_they_are_checked() {
        let limits = |name| definition(name).limits();
        assert_eq!(
            limits("vif"),
            "16x16 samples and more, any layout and depth; reads luma only"
        );
        assert_eq!(
            limits("psnr"),
            "any size, any layout and depth; reads every plane; 4:0:0 has luma scores only"
        );
        for metric in all() {
            let (width, height) = metric.definition().min_size;
            let check = |width, height| {
                let format = FrameFormat::new(width, height, Chroma::Yuv420, 8).unwrap();
                metric.check(&format, &Options::defaults(metric.definition()))
            };
            assert_eq!(check(width, height), Ok(()));
            if width > 1 {
                assert!(check(width - 1, height).is_err() && check(width, height - 1).is_err());
            }
        }
    }

    #[test]
    fn every_score_has_one_giver() {
        for name in [
            "integer_adm2_egl_1",
            "integer_aim",
            "VMAF_integer_feature_motion_sad_score",
            "integer_motion3_mmxv_18",
            "integer_vif_scale0_egl_1",
            "mse_cb",
            "apsnr_cr",
        ] {
            let givers = all().into_iter().filter(|m| m.definition().gives(name));
            assert_eq!(givers.count(), 1, "{name}");
        }
        assert!(!all().iter().any(|m| m.definition().gives("vmaf")));
    }
}
