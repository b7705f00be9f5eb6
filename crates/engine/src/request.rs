//! What a caller asks for: features, models, how frames are chosen, where work may run.

use std::fmt;
use std::num::NonZeroU32;

use vmafx_api::{FrameFormat, MemoryKind, OptionSetting};
use vmafx_metrics::{Metric, Options, Planes};

use crate::described::FeatureCatalog;
use crate::error::EngineError;
use crate::pooling::Pooling;
use crate::prediction::ModelSpec;

/// Everything a [`Context`](crate::Context) is made from. Start from `Request::default()`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Features whose scores are reported, besides those that models read.
    pub features: Vec<FeatureSpec>,
    /// Models, in report order.
    pub models: Vec<ModelSpec>,
    /// Frames whose number is a multiple of this are scored and listed. Default 1.
    pub subsample: NonZeroU32,
    /// Worker threads; 0 = one for each core. Where devices compute everything there are no more
    /// than they want frames in flight. Scores do not depend on it. Default 0.
    pub threads: usize,
    /// Only this device may be used: `backend` or `backend:number`. Default: any.
    pub device: Option<String>,
    /// Where the frames to be submitted are: a feature goes to a device that reads them there.
    /// Default: host memory.
    pub memory: MemoryKind,
    /// Options of backends, given to every device of theirs that is opened. Default: none.
    pub backend_options: Vec<BackendOption>,
    /// Frames up to which a shift between the clips is looked for, in host frames only; 0 = not
    /// at all, at most [`MAX_ALIGNMENT_RANGE`](crate::MAX_ALIGNMENT_RANGE). Default 5.
    pub alignment_range: u32,
    /// Poolings that the report lists behind upstream's four. Default: none.
    pub extra_pooling: Vec<Pooling>,
    /// Shape of the clips in reports, where the frames submitted are only a part of theirs, such
    /// as the luma (see [`reads_chroma`](Request::reads_chroma)). Default: that of the frames.
    pub clip_format: Option<FrameFormat>,
    /// What the inputs are, for the provenance: reference, then distorted.
    pub inputs: [InputInfo; 2],
    /// Options of the caller that shaped the run, for the provenance: name and value.
    pub options: Vec<(String, String)>,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            features: Vec::new(),
            models: Vec::new(),
            subsample: NonZeroU32::MIN,
            threads: 0,
            device: None,
            memory: MemoryKind::HOST,
            backend_options: Vec::new(),
            alignment_range: 5,
            extra_pooling: Vec::new(),
            clip_format: None,
            inputs: Default::default(),
            options: Vec::new(),
        }
    }
}

impl Request {
    /// Whether a feature reads more than luma. If none does, a context for the luma of the clips,
    /// 4:0:0 frames, gives the same scores from less memory.
    pub fn reads_chroma(&self) -> bool {
        let beyond_luma = |metric: &dyn Metric| metric.definition().planes != Planes::Luma;
        let by_model = |spec: &ModelSpec| match spec.model.bind(&spec.overrides) {
            Ok(features) => features.iter().any(|feature| beyond_luma(feature.metric)),
            // The context will say what is wrong with it.
            Err(_) => true,
        };
        let mut features = self.features.iter();
        features.any(|feature| beyond_luma(feature.metric)) || self.models.iter().any(by_model)
    }
}

/// An option of a backend.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendOption {
    /// Identifier of the backend.
    pub backend: String,
    /// The option and its value.
    pub setting: OptionSetting,
}

/// One of the two clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The original.
    Reference,
    /// What is scored against it.
    Distorted,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Input::Reference => "reference",
            Input::Distorted => "distorted",
        })
    }
}

/// What the caller knows of one input. Text for the provenance; nothing is computed from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputInfo {
    /// Path or other name.
    pub name: String,
    /// The format that was assumed and where it was read from, such as
    /// `352x288 4:2:0 8-bit (y4m header)`.
    pub format: String,
    /// Frames left out at the start.
    pub skipped: u64,
}

/// A feature with its options.
#[derive(Clone)]
pub struct FeatureSpec {
    /// The metric.
    pub metric: &'static dyn Metric,
    /// Its options, each with a value.
    pub options: Options,
}

impl FeatureSpec {
    /// A metric with every option at its default.
    pub fn new(metric: &'static dyn Metric) -> Self {
        let options = Options::defaults(metric.definition());
        FeatureSpec { metric, options }
    }

    /// Reads `name` or `name=option=value:option=value`, of a feature of this program: short text
    /// without quotes or escapes, so no value holds a colon. Programs that take such text from
    /// users have a grammar of their own.
    ///
    /// # Errors
    /// Those of [`FeatureCatalog::feature`]; text of another form, such as an empty option or
    /// value.
    pub fn parse(spec: &str) -> Result<Self, EngineError> {
        let (name, list) = match spec.split_once('=') {
            Some((name, list)) => (name, Some(list)),
            None => (spec, None),
        };
        let mut options = Vec::new();
        for part in list.into_iter().flat_map(|list| list.split(':')) {
            let option = part.split_once('=');
            let option = option.filter(|(name, value)| !name.is_empty() && !value.is_empty());
            options.push(option.ok_or_else(|| EngineError::FeatureSyntax {
                spec: spec.to_owned(),
                part: part.to_owned(),
            })?);
        }
        FeatureCatalog::builtin().feature(name, options)
    }

    /// Name of the metric.
    pub fn name(&self) -> &'static str {
        self.metric.definition().name
    }
}

impl fmt::Debug for FeatureSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeatureSpec")
            .field("metric", &self.name())
            .field("options", &self.options)
            .finish()
    }
}
