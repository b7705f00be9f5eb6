//! From a request to everything a run needs: features, devices, score names, models, and what
//! the report will say of them. Nothing here looks at a frame.
//!
//! What must stay true: all that can be refused is refused here, and all refusals are told
//! together; the order of scores is libvmaf's (features in the order of their first request,
//! scores that wait for later frames behind the others, then models, then what collections add).

use vmafx_api::{Backend, FrameFormat};
use vmafx_metrics::{Clip, option_text};
use vmafx_models::{BoundFeature, catalog};

use crate::described;
use crate::error::{EngineError, SetupRefusal};
use crate::prediction::{ModelSpec, Predictor};
use crate::provenance::{FeatureRecord, ModelRecord, OptionRecord};
use crate::registration::{self, Registration};
use crate::request::{FeatureSpec, Request};
use crate::sequence::Stage;
use crate::warning::Warning;

/// Everything a run needs.
pub(crate) struct Setup {
    pub(crate) registration: Registration,
    pub(crate) stages: Vec<Stage>,
    pub(crate) predictors: Vec<Predictor>,
    /// Names of all scores, in report order.
    pub(crate) names: Vec<String>,
    pub(crate) features: Vec<FeatureRecord>,
    pub(crate) models: Vec<ModelRecord>,
    pub(crate) warnings: Vec<Warning>,
}

pub(crate) fn set_up(
    format: FrameFormat,
    request: &Request,
    backends: &[Backend],
) -> Result<Setup, EngineError> {
    if request.features.is_empty() && request.models.is_empty() {
        return Err(EngineError::NothingToScore);
    }
    let mut refusals = Vec::new();
    let mut warnings = warnings_of(&format, request);

    let mut models = Vec::new();
    for spec in &request.models {
        match spec.model.bind(&spec.overrides) {
            Ok(features) => models.push((spec, features)),
            Err(error) => refusals.push(SetupRefusal::Model(error)),
        }
    }
    let of_models = models.iter().flat_map(|(_, features)| features);
    let of_models = of_models.map(|feature| FeatureSpec {
        metric: feature.metric,
        options: feature.options.clone(),
    });
    let wanted = of_models.chain(request.features.iter().cloned());
    let mut features = Vec::new();
    let mut clips = Vec::new();
    for spec in registration::merge(wanted, &mut warnings) {
        match spec.metric.check(&format, &spec.options) {
            Ok(()) => {
                clips.push(spec.metric.clip(&format, &spec.options));
                features.push(spec);
            }
            Err(refusal) => refusals.push(SetupRefusal::Metric(refusal)),
        }
    }

    let mut names = Names::default();
    let columns = feature_columns(&mut names, &features, &clips)?;
    let predictors = predictors(&mut names, &models, &features, &mut refusals)?;
    let mut registration = registration::register(&format, features, backends, request, refusals)?;
    warnings.append(&mut registration.warnings);

    let features = registration.features.iter().zip(&clips);
    let features = features.map(|(feature, clip)| {
        let device = &registration.devices[feature.device];
        let (backend, info) = (device.backend().info(), device.info());
        let options = feature.spec.options.request().options;
        FeatureRecord {
            name: feature.spec.name().to_owned(),
            options: options
                .iter()
                .map(|option| OptionRecord::new(&option.name, option_text(&option.value)))
                .collect(),
            scores: clip
                .scores()
                .iter()
                .map(|score| score.name.clone())
                .collect(),
            backend: backend.id.clone(),
            backend_version: backend.version.clone(),
            device: info.index,
            device_name: info.name.clone(),
            isa: info.isa.clone(),
            library: backend.library.clone(),
        }
    });
    let features = features.collect();
    let stages = registration.features.iter().zip(clips).zip(columns);
    let stages = stages.map(|((feature, clip), columns)| Stage {
        clip,
        columns,
        values: feature.values.clone(),
        every_frame: feature.spec.metric.definition().every_frame,
        checked: described::is_described(feature.spec.metric)
            .then(|| registration::name(&registration.devices[feature.device])),
    });
    Ok(Setup {
        stages: stages.collect(),
        predictors,
        names: names.list.into_iter().map(|(name, _)| name).collect(),
        features,
        models: request.models.iter().map(ModelSpec::record).collect(),
        warnings,
        registration,
    })
}

/// Warnings that need no more than the request.
fn warnings_of(format: &FrameFormat, request: &Request) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let subsample = request.subsample.get();
    if subsample.is_multiple_of(2) {
        warnings.push(Warning::EvenSubsample { subsample });
    }
    for spec in &request.models {
        let viewing = catalog::viewing(spec.model.name(), spec.scoring.enable_transform);
        let (width, height) = (format.width(), format.height());
        if let Some(viewing) = viewing.filter(|viewing| !viewing.fits(width, height)) {
            warnings.push(Warning::ModelSize {
                model: spec.name.clone(),
                assumes: viewing.to_string(),
                width,
                height,
            });
        }
    }
    warnings
}

/// Score names with who gives them, in report order.
#[derive(Default)]
struct Names {
    list: Vec<(String, String)>,
}

impl Names {
    /// Adds a name; returns its column.
    fn add(&mut self, name: &str, owner: &str) -> Result<usize, EngineError> {
        if !is_key(name) {
            return Err(EngineError::ScoreName {
                name: name.to_owned(),
            });
        }
        if let Some((_, first)) = self.list.iter().find(|(n, _)| n == name) {
            return Err(EngineError::ScoreNameTaken {
                name: name.to_owned(),
                first: first.clone(),
                second: owner.to_owned(),
            });
        }
        self.list.push((name.to_owned(), owner.to_owned()));
        Ok(self.list.len() - 1)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|(n, _)| n == name)
    }
}

/// Whether every report format can carry `name` as it is: an XML name without colon, which also
/// has no separator of CSV and SUB.
fn is_key(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let other = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name != "frameNum" && name.starts_with(first) && name.chars().all(other)
}

/// Columns of the scores of each feature: first those known with their frame, then the late.
fn feature_columns(
    names: &mut Names,
    features: &[FeatureSpec],
    clips: &[Box<dyn Clip>],
) -> Result<Vec<Vec<usize>>, EngineError> {
    let mut columns: Vec<_> = clips
        .iter()
        .map(|clip| vec![0; clip.scores().len()])
        .collect();
    for late in [false, true] {
        for ((columns, clip), spec) in columns.iter_mut().zip(clips).zip(features) {
            let owner = format!("feature {}", spec.name());
            for (column, score) in columns.iter_mut().zip(clip.scores()) {
                if score.late == late {
                    *column = names.add(&score.name, &owner)?;
                }
            }
        }
    }
    Ok(columns)
}

/// The models with their columns. Scores of all models come first, then what collections add.
fn predictors(
    names: &mut Names,
    models: &[(&ModelSpec, Vec<BoundFeature>)],
    features: &[FeatureSpec],
    refusals: &mut Vec<SetupRefusal>,
) -> Result<Vec<Predictor>, EngineError> {
    let mut predictors = Vec::with_capacity(models.len());
    let feature_names = names.list.len();
    for (spec, bound) in models {
        let mut inputs = Vec::with_capacity(bound.len());
        for feature in bound {
            let column = names.find(&feature.score_name);
            match column.filter(|&column| column < feature_names) {
                Some(column) => inputs.push(column),
                None if gives(features, feature) => refusals.push(SetupRefusal::ModelInput {
                    model: spec.name.clone(),
                    score: feature.score_name.clone(),
                }),
                // The feature was refused; that is reason enough.
                None => {}
            }
        }
        let owner = format!("model {}", spec.name);
        let outputs = vec![names.add(&spec.name, &owner)?];
        predictors.push(Predictor {
            spec: (*spec).clone(),
            inputs,
            outputs,
        });
    }
    for predictor in &mut predictors {
        let spec = &predictor.spec;
        let owner = format!("model {}", spec.name);
        for name in spec.model.score_names(&spec.name).iter().skip(1) {
            predictor.outputs.push(names.add(name, &owner)?);
        }
    }
    Ok(predictors)
}

/// Whether the metric of `bound`, with its options, is among the features.
fn gives(features: &[FeatureSpec], bound: &BoundFeature) -> bool {
    let metric = bound.metric.definition().name;
    features.iter().any(|spec| {
        spec.name() == metric && spec.options.score_name(&bound.output) == bound.score_name
    })
}
