//! From options to what the engine is asked for: features, models, device.

use std::num::NonZeroU32;
use std::sync::Arc;

use vmafx_api::GpuBackend;
use vmafx_backend_cpu::{self as cpu, CpuBackend};
use vmafx_engine::{EngineError, ErrorKind, FeatureSpec, ModelSpec, Request, builtin_backends};
use vmafx_metrics::OptionError;
use vmafx_models::{ModelError, Scoring, catalog};

use crate::args::{Addition, ScoreArgs};
use crate::failure::{Class, Classify, Failure};
use crate::syntax::{FeatureArgument, ModelArgument, ModelSource};

/// Features and models of a run.
pub(crate) struct Plan {
    pub(crate) request: Request,
    pub(crate) backends: Vec<Arc<dyn GpuBackend>>,
    /// Names that the user knows the models by: name or path.
    pub(crate) labels: Vec<String>,
    /// Metrics that were asked for by name.
    pub(crate) asked: Vec<&'static str>,
    /// What a user should know.
    pub(crate) notes: Vec<String>,
}

/// Why a feature or model cannot be had.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    #[error("there is no feature `{name}`; the features are: {known}")]
    Feature { name: String, known: String },
    #[error("--feature {name}: {source}")]
    Option {
        name: String,
        source: Box<OptionError>,
    },
    #[error("model {model}: {source}")]
    Model { model: String, source: ModelError },
}

impl Plan {
    /// What `args` ask for.
    ///
    /// # Errors
    /// Unknown features, options, models; values out of range; two models of one name; a
    /// preset with metrics that do not exist; nothing to compute.
    pub(crate) fn new(args: &ScoreArgs) -> Result<Self, Failure> {
        let mut models = Vec::new();
        let mut features = Vec::new();
        for addition in &args.additions {
            match addition {
                Addition::Model(model) => models.push(model.clone()),
                Addition::Feature(feature) => features.push(feature.clone()),
                Addition::Preset(preset) => {
                    let known = |name: &str| vmafx_metrics::find(name).is_some();
                    features.extend(preset.features(known).class(Class::Model)?);
                    models.extend(preset.models());
                }
            }
        }
        if models.is_empty() && !args.no_prediction {
            models.push(ModelArgument::named("vmaf_v0.6.1", "vmaf"));
        }
        if models.is_empty() && features.is_empty() {
            return Err(Failure::usage(
                "nothing to compute: --no_prediction needs --feature or --model",
            ));
        }
        for (place, model) in models.iter().enumerate() {
            if models[..place].iter().any(|other| other.name == model.name) {
                return Err(Failure::usage(format!(
                    "two models are named `{}`; give each its own name= in --model",
                    model.name
                )));
            }
        }

        let mut request = Request::default();
        let mut notes = Vec::new();
        for model in &models {
            let spec = load(model).class(Class::Model)?;
            if model.enable_transform && !spec.model.has_transform() {
                notes.push(format!(
                    "model {} has no score transform: enable_transform has no effect",
                    model.source
                ));
            }
            if args.no_prediction {
                request.features.extend(features_of(model, &spec)?);
            } else {
                request.models.push(spec);
            }
        }
        let mut asked = Vec::new();
        for feature in &features {
            let spec = resolve(feature).class(Class::Model)?;
            asked.push(spec.name());
            request.features.push(spec);
        }
        request.subsample = NonZeroU32::new(args.subsample).unwrap_or(NonZeroU32::MIN);
        request.threads = args.threads.map_or(0, |threads| threads.max(1) as usize);
        request.alignment_range = args.alignment_range;
        request.extra_pooling = args.pool.clone();
        request.device = args.backend.clone();
        request.options = options(args);
        let labels = models
            .iter()
            .map(|model| model.source.to_string())
            .collect();
        let backends = backends(args)?;
        Ok(Plan {
            request,
            backends,
            labels,
            asked,
            notes,
        })
    }
}

fn load(model: &ModelArgument) -> Result<ModelSpec, PlanError> {
    let loaded = match &model.source {
        ModelSource::Named(name) => catalog::find(name, &catalog::folders()),
        ModelSource::Path(path) => catalog::load(path),
    };
    let loaded = loaded.map_err(|source| refused(model, source))?;
    let mut spec = ModelSpec::new(&model.name, Arc::new(loaded));
    spec.scoring = Scoring {
        enable_transform: model.enable_transform,
        disable_clip: model.disable_clip,
    };
    spec.overrides = model.overrides.clone();
    Ok(spec)
}

/// The features that a model reads.
fn features_of(model: &ModelArgument, spec: &ModelSpec) -> Result<Vec<FeatureSpec>, Failure> {
    let bound = spec.model.bind(&spec.overrides);
    let bound = bound
        .map_err(|source| refused(model, source))
        .class(Class::Model)?;
    let features = bound.into_iter().map(|feature| FeatureSpec {
        metric: feature.metric,
        options: feature.options,
    });
    Ok(features.collect())
}

fn refused(model: &ModelArgument, source: ModelError) -> PlanError {
    let model = model.source.to_string();
    PlanError::Model { model, source }
}

fn resolve(feature: &FeatureArgument) -> Result<FeatureSpec, PlanError> {
    let name = &feature.name;
    let metric = vmafx_metrics::find(name).ok_or_else(|| {
        let all = vmafx_metrics::all();
        let known: Vec<_> = all.iter().map(|metric| metric.definition().name).collect();
        PlanError::Feature {
            name: name.clone(),
            known: known.join(", "),
        }
    })?;
    let mut spec = FeatureSpec::new(metric);
    for (option, value) in &feature.options {
        let set = spec.options.set_text(option, value);
        set.map_err(|source| PlanError::Option {
            name: name.clone(),
            source: Box::new(source),
        })?;
    }
    Ok(spec)
}

/// The backends that may be used: those of this program, the CPU's without the instruction sets
/// that `--cpumask` switches off, and no other if `--gpumask` switches GPU devices off.
fn backends(args: &ScoreArgs) -> Result<Vec<Arc<dyn GpuBackend>>, Failure> {
    let mut backends = builtin_backends();
    if args.cpumask != 0 {
        for backend in backends
            .iter_mut()
            .filter(|backend| backend.info().id == cpu::ID)
        {
            *backend = Arc::new(CpuBackend::new(args.cpumask));
        }
    }
    if args.gpumask != 0 {
        let (mask, wanted) = (args.gpumask, args.backend.as_deref().unwrap_or(cpu::ID));
        if wanted.split(':').next() != Some(cpu::ID) {
            return Err(Failure::usage(format!(
                "--gpumask {mask} leaves GPU devices unused, --backend {wanted} asks for one"
            )));
        }
        backends.retain(|backend| backend.info().id == cpu::ID);
    }
    Ok(backends)
}

/// Options that shaped the run, for the report. Threads are not among them: no score, and no
/// report, depends on them.
fn options(args: &ScoreArgs) -> Vec<(String, String)> {
    let number =
        |name: &str, value: u32| (value != 0).then(|| (name.to_owned(), value.to_string()));
    let switch = |name: &str, on: bool| on.then(|| (name.to_owned(), "true".to_owned()));
    let step = if args.subsample > 1 {
        args.subsample
    } else {
        0
    };
    let range = (args.alignment_range != 5).then(|| args.alignment_range.to_string());
    let presets = args.additions.iter().filter_map(|addition| match addition {
        Addition::Preset(preset) => Some((preset.family.to_owned(), preset.version.to_owned())),
        _ => None,
    });
    let given = [
        number("frame_cnt", args.frame_cnt.unwrap_or(0)),
        number("frame_skip_ref", args.frame_skip_ref),
        number("frame_skip_dist", args.frame_skip_dist),
        number("subsample", step),
        range.map(|range| ("alignment-range".to_owned(), range)),
        switch("no_prediction", args.no_prediction),
        switch("allow-unequal", args.allow_unequal),
        switch("interlaced-as-frames", args.interlaced_as_frames),
        number("cpumask", args.cpumask),
        number("gpumask", args.gpumask),
        args.backend
            .clone()
            .map(|name| ("backend".to_owned(), name)),
    ];
    presets.chain(given.into_iter().flatten()).collect()
}

/// The class of an engine's error.
pub(crate) fn class_of(error: &EngineError) -> Class {
    match error.kind() {
        _ if matches!(error, EngineError::UnknownDevice { .. }) => Class::Backend,
        ErrorKind::Usage => Class::Usage,
        ErrorKind::Input => Class::Input,
        ErrorKind::Model | ErrorKind::Feature => Class::Model,
        ErrorKind::Backend => Class::Backend,
        ErrorKind::Output => Class::Output,
        _ => Class::Internal,
    }
}

/// Turns an engine's error into a failure of its class.
pub(crate) fn engine(error: EngineError) -> Failure {
    Failure::new(class_of(&error), error)
}
