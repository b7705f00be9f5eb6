//! What a backend is asked for: the features that it describes and those of this program.

use std::fmt;

use vmafx_api::{
    Chroma, Device, FeatureDescription, FeatureRequest, FrameFormat, OptionSetting, OptionValue,
    PlaneUse, Status,
};
use vmafx_metrics::{Column, Metric, OptionKind, Options, Planes};

use crate::candidate::Candidate;
use crate::check::{Ending, Verdict, skip};

/// Bits of a sample that are tried.
const DEPTHS: [u32; 4] = [8, 10, 12, 16];
/// Layouts that are tried.
const LAYOUTS: [Chroma; 4] = [
    Chroma::Yuv420,
    Chroma::Yuv444,
    Chroma::Yuv422,
    Chroma::Yuv400,
];

/// Bytes of a frame beyond which a format is not tried: a clip of them has to fit into memory.
const LARGEST_FRAME: usize = 32 << 20;

/// A feature, whoever defines it.
#[derive(Clone)]
pub(crate) struct Feature {
    pub(crate) name: String,
    pub(crate) min_size: (u32, u32),
    pub(crate) luma_only: bool,
    pub(crate) options: Vec<FeatureOption>,
    pub(crate) origin: Origin,
}

/// Who defines a feature.
#[derive(Clone)]
pub(crate) enum Origin {
    /// The backend; the names of its scores.
    Backend(Vec<String>),
    /// This program.
    Program(&'static dyn Metric),
}

/// An option of a feature.
#[derive(Clone, Debug)]
pub(crate) struct FeatureOption {
    pub(crate) name: String,
    pub(crate) default: OptionValue,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Feature {
    pub(crate) fn described(description: &FeatureDescription) -> Self {
        let options = description.options.iter().map(|option| FeatureOption {
            name: option.name.clone(),
            default: option.default.clone(),
            min: option.min,
            max: option.max,
        });
        Feature {
            name: description.name.clone(),
            min_size: description.min_size,
            luma_only: description.planes == PlaneUse::LUMA,
            options: options.collect(),
            origin: Origin::Backend(description.outputs.clone()),
        }
    }

    pub(crate) fn of_program(metric: &'static dyn Metric) -> Self {
        let definition = metric.definition();
        let options = definition.options.iter().map(|option| {
            let (default, min, max) = match option.kind {
                OptionKind::Bool { default } => (OptionValue::Bool(default), 0.0, 0.0),
                OptionKind::Int { default, min, max } => {
                    (OptionValue::Int(default), f64::from(min), f64::from(max))
                }
                OptionKind::Float { default, min, max } => (OptionValue::Float(default), min, max),
                OptionKind::Text { default } => (OptionValue::Text(default.to_owned()), 0.0, 0.0),
                // A kind that this suite does not know cannot be varied.
                _ => (OptionValue::Text(String::new()), 0.0, 0.0),
            };
            FeatureOption {
                name: option.name.to_owned(),
                default,
                min,
                max,
            }
        });
        Feature {
            name: definition.name.to_owned(),
            min_size: definition.min_size,
            luma_only: definition.planes == Planes::Luma,
            options: options.collect(),
            origin: Origin::Program(metric),
        }
    }

    /// The request that states every option at its default.
    pub(crate) fn request(&self) -> FeatureRequest {
        let settings = self.options.iter();
        FeatureRequest {
            feature: self.name.clone(),
            options: settings
                .map(|option| OptionSetting::new(&option.name, option.default.clone()))
                .collect(),
            definition: match self.origin {
                Origin::Program(metric) => metric.definition().version,
                _ => 0,
            },
        }
    }

    /// As [`request`](Feature::request) with one option at `value`.
    pub(crate) fn request_with(&self, option: &str, value: OptionValue) -> FeatureRequest {
        let mut request = self.request();
        for setting in request.options.iter_mut().filter(|s| s.name == option) {
            setting.value = value.clone();
        }
        request
    }

    /// The requests in which one option is not at its default.
    pub(crate) fn variations(&self) -> Vec<FeatureRequest> {
        let options = self.options.iter().flat_map(|option| {
            let values = option.variations().into_iter();
            values.map(|value| self.request_with(&option.name, value))
        });
        options.collect()
    }

    /// The values of one frame: name, and whether it is a score. `None` if the feature's
    /// definition does not take the request.
    pub(crate) fn columns(
        &self,
        format: &FrameFormat,
        request: &FeatureRequest,
    ) -> Option<Vec<(String, bool)>> {
        match &self.origin {
            Origin::Backend(outputs) => {
                Some(outputs.iter().map(|name| (name.clone(), true)).collect())
            }
            Origin::Program(metric) => {
                let options = Options::from_request(metric.definition(), request).ok()?;
                let columns = metric.columns(format, &options).into_iter();
                let named = columns.map(|column| match column {
                    Column::Score(output) => (output.name.to_owned(), true),
                    Column::Count(name) => (name.to_owned(), false),
                });
                Some(named.collect())
            }
        }
    }
}

impl FeatureOption {
    /// Values other than the default: ends and middle of the range, the other side of a switch.
    pub(crate) fn variations(&self) -> Vec<OptionValue> {
        // A range without end is tried up to here.
        const FAR: f64 = 1e6;
        let (min, max) = (self.min.max(-FAR), self.max.min(FAR));
        let middle = min + (max - min) * 0.375;
        let values = match &self.default {
            OptionValue::Bool(on) => vec![OptionValue::Bool(!on)],
            OptionValue::Int(_) => [min, middle.trunc(), max]
                .map(|number| OptionValue::Int(number as i32))
                .to_vec(),
            OptionValue::Float(_) => [min, middle, max].map(OptionValue::Float).to_vec(),
            // Which words there are, no description says.
            _ => Vec::new(),
        };
        let mut kept: Vec<OptionValue> = Vec::new();
        for value in values {
            if value != self.default && !kept.contains(&value) {
                kept.push(value);
            }
        }
        kept
    }

    /// Values that the option cannot have, and what is wrong with them.
    pub(crate) fn impossible(&self) -> Vec<(OptionValue, String)> {
        let limits = format!("{} to {}", self.min, self.max);
        let outside = |value: &dyn fmt::Display| format!("{value} is outside {limits}");
        let mut values = Vec::new();
        match &self.default {
            OptionValue::Int(_) => {
                // The range is one of whole numbers within 32 bits.
                let below = (self.min as i32).checked_sub(1);
                let above = (self.max as i32).checked_add(1);
                for number in [below, above].into_iter().flatten() {
                    values.push((OptionValue::Int(number), outside(&number)));
                }
            }
            OptionValue::Float(_) => {
                let (below, above) = (self.min.next_down(), self.max.next_up());
                for number in [below, above, f64::NAN] {
                    if number.is_finite() || number.is_nan() {
                        values.push((OptionValue::Float(number), outside(&number)));
                    }
                }
            }
            _ => {}
        }
        let other = match &self.default {
            OptionValue::Text(_) => OptionValue::Bool(true),
            _ => OptionValue::Text("x".to_owned()),
        };
        let wrong = format!("a {} is no {}", other.kind(), self.default.kind());
        values.push((other, wrong));
        values
    }
}

/// A feature with a format that the device takes for it in host memory.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) feature: Feature,
    pub(crate) format: FrameFormat,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at {}", self.feature.name, self.format)
    }
}

/// The device that is checked, with the features that can be tried on it.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) cases: Vec<Case>,
}

impl Bench {
    /// Opens the device and looks for what it can be asked.
    ///
    /// # Errors
    /// Nothing can be tried, and why.
    pub(crate) fn open(candidate: &Candidate) -> Result<Self, Ending> {
        let device = candidate.open()?;
        let features = features(candidate, &device)?;
        if features.is_empty() {
            return skip(
                "the backend describes no feature, and its device knows none of this program",
            );
        }
        let cases = features.into_iter().filter_map(|feature| {
            let format = first_format(&device, &feature)?;
            Some(Case { feature, format })
        });
        let cases: Vec<_> = cases.collect();
        match cases.is_empty() {
            true => skip("the device reads no feature's frames in host memory"),
            false => Ok(Bench { device, cases }),
        }
    }

    /// Runs `body` for each case; a failure that does not name the case is given its name.
    pub(crate) fn each(&self, body: impl Fn(&Case) -> Verdict) -> Verdict {
        self.cases
            .iter()
            .try_for_each(|case| named(case, body(case)))
    }
}

/// A failure with the name of its case, if it does not have it.
pub(crate) fn named(case: &Case, verdict: Verdict) -> Verdict {
    verdict.map_err(|ending| match ending {
        Ending::Failed(reason) if !reason.contains(&format!("`{}`", case.feature.name)) => {
            Ending::Failed(format!("{case}: {reason}"))
        }
        other => other,
    })
}

/// The features that the backend describes, and those of this program that the device knows.
///
/// # Errors
/// A device that fails when it is asked.
pub(crate) fn features(candidate: &Candidate, device: &Device) -> Result<Vec<Feature>, Ending> {
    let described = candidate.backend.info().features.iter();
    // Nobody takes the name of a feature of this program: `own-feature-names` tells who tries.
    let described = described.filter(|feature| vmafx_metrics::find(&feature.name).is_none());
    let mut features: Vec<_> = described.map(Feature::described).collect();
    for metric in vmafx_metrics::all() {
        let feature = Feature::of_program(metric);
        let asked = some_formats(feature.min_size).find_map(|format| {
            let answer = device.supports(&feature.request(), &format);
            match answer {
                Ok(_) => Some(Ok(true)),
                Err(error) if error.status == Status::NOT_FOUND => Some(Ok(false)),
                Err(error) if is_defect(error.status) => Some(Err(error)),
                // Known, but not at this format.
                Err(_) => None,
            }
        });
        if asked.transpose()?.unwrap_or(true) {
            features.push(feature);
        }
    }
    Ok(features)
}

pub(crate) fn is_defect(status: Status) -> bool {
    matches!(status, Status::PANIC | Status::INTERNAL | Status::DEVICE)
}

/// Formats in which a feature is looked for, the likeliest first.
fn some_formats((width, height): (u32, u32)) -> impl Iterator<Item = FrameFormat> {
    let sizes = [(80, 56), (640, 360)];
    crossed(sizes.map(|(w, h)| (width.max(w), height.max(h))).to_vec())
}

/// Depths and layouts crossed.
pub(crate) fn kinds() -> impl Iterator<Item = (Chroma, u32)> + Clone {
    let kinds = DEPTHS.map(|depth| LAYOUTS.map(|chroma| (chroma, depth)));
    kinds.into_iter().flatten()
}

/// Sizes, depths and layouts crossed.
fn crossed(sizes: Vec<(u32, u32)>) -> impl Iterator<Item = FrameFormat> {
    let kinds = kinds();
    sizes.into_iter().flat_map(move |(width, height)| {
        let formats = kinds
            .clone()
            .map(move |(chroma, depth)| FrameFormat::new(width, height, chroma, depth).ok());
        let formats = formats.flatten();
        formats.filter(|format| format.frame_bytes() <= LARGEST_FRAME)
    })
}

fn first_format(device: &Device, feature: &Feature) -> Option<FrameFormat> {
    let request = feature.request();
    some_formats(feature.min_size).find(|format| takes(device, &request, format))
}

/// Whether the device takes the feature for host frames of `format`.
pub(crate) fn takes(device: &Device, request: &FeatureRequest, format: &FrameFormat) -> bool {
    let support = device.supports(request, format);
    support.is_ok_and(|support| support.memory_kinds.contains(vmafx_api::MemoryKind::HOST))
}

/// Frame sizes from the smallest on, odd ones among them, and such that do not fill blocks.
pub(crate) fn sizes((width, height): (u32, u32)) -> Vec<(u32, u32)> {
    let mut sizes = vec![
        (width, height),
        (width.saturating_add(1), height),
        (width, height.saturating_add(1)),
        (width.saturating_add(3), height.saturating_add(5)),
        (width.max(67), height.max(35)),
        (width.max(257), height.max(33)),
        (width.max(36), height.max(131)),
    ];
    sizes.dedup();
    sizes
}

/// Every format that is tried of a feature.
pub(crate) fn grid(feature: &Feature) -> impl Iterator<Item = FrameFormat> {
    crossed(sizes(feature.min_size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(default: OptionValue, min: f64, max: f64) -> FeatureOption {
        FeatureOption {
            name: "x".to_owned(),
            default,
            min,
            max,
        }
    }

    #[test]
    fn options_vary_within_their_range_and_not_beyond() {
        let whole = option(OptionValue::Int(0), 0.0, 8.0);
        assert_eq!(
            whole.variations(),
            [OptionValue::Int(3), OptionValue::Int(8)]
        );
        let values: Vec<_> = whole
            .impossible()
            .into_iter()
            .map(|(value, _)| value)
            .collect();
        let text = OptionValue::Text("x".to_owned());
        assert_eq!(values, [OptionValue::Int(-1), OptionValue::Int(9), text]);
        let every = option(
            OptionValue::Int(1),
            f64::from(i32::MIN),
            f64::from(i32::MAX),
        );
        assert_eq!(
            every.impossible().len(),
            1,
            "only another kind is impossible"
        );
        let number = option(OptionValue::Float(1.0), 1.0, f64::MAX);
        let last = number.variations().pop();
        assert_eq!(last, Some(OptionValue::Float(1e6)));
        let outside = number.impossible();
        assert_eq!(outside[0].0, OptionValue::Float(1f64.next_down()));
        assert!(matches!(outside[1].0, OptionValue::Float(nan) if nan.is_nan()));
    }

    #[test]
    fn sizes_that_cannot_be_are_not_tried() {
        let count = |size| crossed(sizes(size)).count();
        assert_eq!(count((1, 1)), 7 * 16);
        assert_eq!(count((0, 0)), 5 * 16 - 16);
        assert_eq!(count((u32::MAX, u32::MAX)), 0);
        assert_eq!(
            count((32768, 32768)),
            0,
            "such frames are too large to hold"
        );
    }
}
