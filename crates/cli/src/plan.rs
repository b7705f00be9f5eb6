//! From options to what the engine is asked for: features, models, device.

use std::num::NonZeroU32;
use std::sync::Arc;

use vmafx_api::{Backend, OptionSetting, OptionValue};
use vmafx_backend_cpu as cpu;
use vmafx_engine::{
    BackendOption, EngineError, ErrorKind, FeatureCatalog, FeatureSpec, ModelSpec, Request, Warning,
};
use vmafx_models::{ModelError, Scoring, catalog};

use crate::args::{Addition, ScoreArgs};
use crate::backends::Backends;
use crate::failure::{Class, Classify, Failure};
use crate::syntax::{ModelArgument, ModelSource};

/// Features and models of a run.
pub(crate) struct Plan {
    pub(crate) request: Request,
    pub(crate) backends: Vec<Backend>,
    /// Names that the user knows the models by: name or path.
    pub(crate) labels: Vec<String>,
    /// Metrics that were asked for by name.
    pub(crate) asked: Vec<&'static str>,
    /// What a user should know.
    pub(crate) notes: Vec<String>,
    /// What a user should know of the backends.
    pub(crate) warnings: Vec<Warning>,
}

/// Why a model cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("model {model}: {source}")]
struct PlanError {
    model: String,
    source: ModelError,
}

impl Plan {
    /// What `args` ask for.
    ///
    /// # Errors
    /// Unknown features, options, models; values out of range; two models of one name; a
    /// preset with metrics that do not exist; nothing to compute.
    pub(crate) fn new(args: &ScoreArgs) -> Result<Self, Failure> {
        let (backends, mut warnings) = backends(args)?;
        let (catalog, taken) = FeatureCatalog::new(&backends);
        warnings.extend(taken);
        let mut models = Vec::new();
        let mut features = Vec::new();
        for addition in &args.additions {
            match addition {
                Addition::Model(model) => models.push(model.clone()),
                Addition::Feature(feature) => features.push(feature.clone()),
                Addition::Preset(preset) => {
                    let known = |name: &str| catalog.find(name).is_some();
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
            let options = feature.options.iter();
            let options = options.map(|(option, value)| (option.as_str(), value.as_str()));
            let spec = catalog
                .feature(&feature.name, options)
                .class(Class::Model)?;
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
        if args.cpumask != 0 {
            request.backend_options.push(BackendOption {
                backend: cpu::ID.to_owned(),
                // The bits of the mask, whatever the sign.
                setting: OptionSetting::new(
                    cpu::MASK_OPTION,
                    OptionValue::Int(args.cpumask as i32),
                ),
            });
        }
        Ok(Plan {
            request,
            backends,
            labels,
            asked,
            notes,
            warnings,
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
    PlanError { model, source }
}

/// The backends that may be used, only the CPU's if `--gpumask` switches GPU devices off; and what
/// the report says of those that are installed and cannot be used.
fn backends(args: &ScoreArgs) -> Result<(Vec<Backend>, Vec<Warning>), Failure> {
    let found = Backends::find()?;
    let warnings = match &args.backend {
        Some(wanted) => {
            found.check_wanted(wanted)?;
            Vec::new()
        }
        None => found.warnings().collect(),
    };
    let mut all = found.all;
    if args.gpumask != 0 {
        let (mask, wanted) = (args.gpumask, args.backend.as_deref().unwrap_or(cpu::ID));
        if wanted.split(':').next() != Some(cpu::ID) {
            return Err(Failure::usage(format!(
                "--gpumask {mask} leaves GPU devices unused, --backend {wanted} asks for one"
            )));
        }
        all.retain(|backend| backend.info().id == cpu::ID);
    }
    Ok((all, warnings))
}

/// Options that shaped the run and are not at their defaults, for the report, each by the name
/// that `--help` shows. Threads are not among them: no score, and no report, depends on them.
/// Neither are videos, models and features, of which the report says more, and those that only
/// choose where and how results are written.
fn options(args: &ScoreArgs) -> Vec<(String, String)> {
    let defaults = Request::default();
    let number = |value: Option<u32>, default| {
        let value = value.filter(|&value| value != default);
        value.map(|value| value.to_string())
    };
    let switch = |on: bool| on.then(|| "true".to_owned());
    let presets = args.additions.iter().filter_map(|addition| match addition {
        Addition::Preset(preset) => Some((preset.family, Some(preset.version.to_owned()))),
        _ => None,
    });
    let pools: Vec<_> = args.pool.iter().map(|pooling| pooling.name()).collect();
    let chroma = args.pixel_format.map(|chroma| chroma.code().to_string());
    let given = [
        ("width", number(args.width, 0)),
        ("height", number(args.height, 0)),
        ("pixel_format", chroma),
        ("bitdepth", number(args.bitdepth, 0)),
        ("frame_cnt", number(args.frame_cnt, 0)),
        ("frame_skip_ref", number(Some(args.frame_skip_ref), 0)),
        ("frame_skip_dist", number(Some(args.frame_skip_dist), 0)),
        ("allow-unequal", switch(args.allow_unequal)),
        ("interlaced-as-frames", switch(args.interlaced_as_frames)),
        ("no_prediction", switch(args.no_prediction)),
        (
            "subsample",
            number(Some(args.subsample.max(1)), defaults.subsample.get()),
        ),
        (
            "alignment-range",
            number(Some(args.alignment_range), defaults.alignment_range),
        ),
        ("backend", args.backend.clone()),
        ("cpumask", number(Some(args.cpumask), 0)),
        ("gpumask", number(Some(args.gpumask), 0)),
        ("pool", (!pools.is_empty()).then(|| pools.join(","))),
    ];
    let all = presets.chain(given);
    all.filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The class of an engine's error.
pub(crate) fn class_of(error: &EngineError) -> Class {
    match error.kind() {
        ErrorKind::Usage => Class::Usage,
        ErrorKind::Input => Class::Input,
        ErrorKind::Model | ErrorKind::Feature => Class::Model,
        ErrorKind::Backend | ErrorKind::Resource => Class::Backend,
        ErrorKind::Output => Class::Output,
        _ => Class::Internal,
    }
}

/// Turns an engine's error into a failure of its class.
pub(crate) fn engine(error: EngineError) -> Failure {
    Failure::new(class_of(&error), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{self, Action};

    fn plan(line: &str) -> (ScoreArgs, Plan) {
        let arguments = line.split_whitespace().map(Into::into);
        let Ok(Action::Score(args)) = args::parse(arguments) else {
            panic!("{line}");
        };
        let plan = Plan::new(&args).unwrap();
        (*args, plan)
    }

    /// UR-47: the command has no defaults of its own, but for the model.
    #[test]
    fn ur_47_defaults_are_the_engines() {
        let (_, plan) = plan("vmafx score a b --feature psnr --feature vif");
        let mut request = plan.request;
        for feature in std::mem::take(&mut request.features) {
            let library = FeatureSpec::parse(feature.name()).unwrap();
            assert_eq!(format!("{feature:?}"), format!("{library:?}"));
        }
        let model = request.models.pop().unwrap();
        assert_eq!(model.name, "vmaf");
        assert_eq!(model.scoring, Scoring::default());
        assert!(model.overrides.is_empty());
        assert_eq!(format!("{request:?}"), format!("{:?}", Request::default()));
    }

    /// Every option is told in the report by its name, or there is a reason why not.
    #[test]
    fn options_of_the_report_have_the_names_of_the_command_line() {
        let line = "vmafx score a b --width 64 --height 48 --pixel_format 422 --bitdepth 10 \
                    --frame_cnt 0x10 --frame_skip_ref 1 --frame_skip_dist 2 --allow_unequal \
                    --interlaced-as-frames --no-prediction --subsample 3 --alignment_range 7 \
                    --backend cpu --cpumask -1 --gpumask 1 --pool p5 --pool median --feature psnr";
        let (_, plan) = plan(line);
        let options = plan.request.options;
        let value = |name: &str| {
            let option = options.iter().find(|option| option.0 == name);
            option.map_or("", |option| option.1.as_str())
        };
        assert_eq!((value("frame_cnt"), value("pixel_format")), ("16", "422"));
        assert_eq!(
            (value("pool"), value("cpumask")),
            ("p5,median", "4294967295")
        );
        assert_eq!(
            (value("alignment-range"), value("no_prediction")),
            ("7", "true")
        );
        // Presets cannot be had yet.
        let elsewhere = [
            "reference",
            "distorted",
            "model",
            "feature",
            "note",
            "aom_ctc",
            "nflx_ctc",
        ];
        let writing = [
            "output",
            "xml",
            "json",
            "csv",
            "sub",
            "precision",
            "stream",
            "plot",
            "quiet",
        ];
        let others = ["threads", "version", "help"];
        let command = args::command();
        let score = command.find_subcommand("score").unwrap();
        let mut names: Vec<_> = score
            .get_arguments()
            .filter_map(|arg| arg.get_long())
            .collect();
        names.retain(|name| {
            let left_out = [&elsewhere[..], &writing, &others].concat();
            !left_out.contains(name)
        });
        names.sort_unstable();
        let mut told: Vec<_> = options.iter().map(|option| option.0.as_str()).collect();
        told.sort_unstable();
        assert_eq!(told, names);
    }
}
