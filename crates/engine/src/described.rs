//! The features of a run: those of this program and those that its backends describe.
//!
//! What a backend describes becomes a [`Metric`] like any other, whose columns are its scores.
//! Descriptions are kept for the life of the process, as the library that they came from is;
//! equal ones are kept once.
//!
//! What must stay true: nobody takes the name of a feature of this program, or of another
//! backend's unless both describe the same; who tries is told of.

use std::sync::{Mutex, PoisonError};

use vmafx_api::{
    Backend, FeatureDescription, FrameFormat, OptionDescription, OptionValue, PlaneUse,
};
use vmafx_metrics::{
    Clip, Column, Definition, Exactness, Metric, OptionInfo, Options, Output, PassThrough, Planes,
};

use crate::error::EngineError;
use crate::request::FeatureSpec;
use crate::warning::Warning;

/// The features that can be asked for.
#[derive(Clone)]
pub struct FeatureCatalog {
    metrics: Vec<&'static dyn Metric>,
}

impl FeatureCatalog {
    /// The features of this program.
    pub fn builtin() -> Self {
        FeatureCatalog {
            metrics: vmafx_metrics::all(),
        }
    }

    /// The features of this program and of `backends`, of which those that come first win; and
    /// the descriptions that are not used, with the reason.
    pub fn new(backends: &[Backend]) -> (Self, Vec<Warning>) {
        let mut catalog = FeatureCatalog::builtin();
        let mut warnings = Vec::new();
        for backend in backends {
            for feature in &backend.info().features {
                let metric = intern(feature);
                let name = feature.name.as_str();
                let known = catalog.find(name).map(Metric::definition);
                match known {
                    None => catalog.metrics.push(metric),
                    Some(known) if std::ptr::eq(known, metric.definition()) => {}
                    Some(_) => warnings.push(Warning::FeatureTaken {
                        feature: name.to_owned(),
                        backend: backend.info().id.clone(),
                    }),
                }
            }
        }
        catalog
            .metrics
            .sort_by_key(|metric| metric.definition().name);
        (catalog, warnings)
    }

    /// All of them, sorted by name.
    pub fn metrics(&self) -> &[&'static dyn Metric] {
        &self.metrics
    }

    /// The feature of that name.
    pub fn find(&self, name: &str) -> Option<&'static dyn Metric> {
        let mut metrics = self.metrics.iter().copied();
        metrics.find(|metric| metric.definition().name == name)
    }

    /// The feature called `name` with options set, each by full name or alias and as text; of an
    /// option given twice the last counts.
    ///
    /// # Errors
    /// An unknown feature or option, a value out of range.
    pub fn feature<'a>(
        &self,
        name: &str,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<FeatureSpec, EngineError> {
        let metric = self.find(name).ok_or_else(|| {
            let names = self.metrics.iter().map(|metric| metric.definition().name);
            EngineError::UnknownFeature {
                name: name.to_owned(),
                known: names.collect::<Vec<_>>().join(", "),
            }
        })?;
        let mut feature = FeatureSpec::new(metric);
        for (option, value) in options {
            let set = feature.options.set_text(option, value);
            set.map_err(|source| EngineError::Option {
                spec: name.to_owned(),
                source: Box::new(source),
            })?;
        }
        Ok(feature)
    }
}

/// Whether `backend` is to be asked for `feature`: of a feature that backends describe, those
/// that describe the same; of one of this program, any.
pub(crate) fn concerns(backend: &Backend, feature: &FeatureSpec) -> bool {
    let definition = feature.metric.definition();
    let of_program = vmafx_metrics::find(definition.name);
    of_program.is_some()
        || backend.info().features.iter().any(|described| {
            described.name == definition.name
                && std::ptr::eq(intern(described).definition(), definition)
        })
}

/// Whether the values of `metric` come from a backend's own code, so that they are checked.
pub(crate) fn is_described(metric: &dyn Metric) -> bool {
    metric.definition().exactness == Exactness::NotUpstreams
}

/// A feature that a backend describes.
struct Described(&'static Definition);

impl Metric for Described {
    fn definition(&self) -> &'static Definition {
        self.0
    }

    fn columns(&self, _format: &FrameFormat, _options: &Options) -> Vec<Column> {
        self.0.outputs.iter().copied().map(Column::Score).collect()
    }

    fn clip(&self, _format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        let names = self
            .0
            .outputs
            .iter()
            .map(|output| options.score_name(output));
        Box::new(PassThrough::new(names.collect()))
    }
}

/// The metric of a description: the same one for equal descriptions.
fn intern(description: &FeatureDescription) -> &'static dyn Metric {
    static ALL: Mutex<Vec<(FeatureDescription, &'static Described)>> = Mutex::new(Vec::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, metric)) = all.iter().find(|(known, _)| known == description) {
        return *metric;
    }
    let metric: &'static Described = Box::leak(Box::new(Described(definition(description))));
    all.push((description.clone(), metric));
    metric
}

fn definition(description: &FeatureDescription) -> &'static Definition {
    let outputs = description.outputs.iter().map(|name| Output {
        internal: keep(name),
        name: keep(name),
    });
    Box::leak(Box::new(Definition {
        name: keep(&description.name),
        version: 0,
        summary: keep(&description.summary),
        source: keep(&description.source),
        min_size: description.min_size,
        planes: match description.planes {
            PlaneUse::LUMA => Planes::Luma,
            _ => Planes::All,
        },
        options: description
            .options
            .iter()
            .map(option)
            .collect::<Vec<_>>()
            .leak(),
        outputs: outputs.collect::<Vec<_>>().leak(),
        aggregates: &[],
        exactness: Exactness::NotUpstreams,
        every_frame: description.every_frame,
    }))
}

fn option(description: &OptionDescription) -> OptionInfo {
    let (name, help) = (keep(&description.name), keep(&description.help));
    let (min, max) = (description.min, description.max);
    let info = match &description.default {
        OptionValue::Bool(default) => OptionInfo::switch(name, *default, help),
        // The limits of a whole number are whole and of 32 bits: `api` checks descriptions.
        OptionValue::Int(default) => {
            OptionInfo::whole(name, (*default, min as i32, max as i32), help)
        }
        OptionValue::Float(default) => OptionInfo::number(name, (*default, min, max), help),
        OptionValue::Text(default) => OptionInfo::word(name, keep(default), help),
        // No other kind passes the check of descriptions.
        _ => OptionInfo::switch(name, false, help),
    };
    OptionInfo {
        alias: keep(&description.alias),
        in_name: description.in_names,
        ..info
    }
}

fn keep(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[cfg(test)]
mod tests {
    use vmafx_metrics::OptionKind;

    use super::*;

    #[test]
    fn equal_descriptions_are_kept_once() {
        let mut feature = FeatureDescription::new("kept", "once", "here");
        let pointer =
            |feature: &FeatureDescription| std::ptr::from_ref(intern(feature).definition());
        let first = pointer(&feature);
        assert_eq!(pointer(&feature.clone()), first);
        feature.outputs.push("kept_more".to_owned());
        assert_ne!(pointer(&feature), first);
    }

    #[test]
    fn options_keep_kind_range_and_default() {
        let mut whole = OptionDescription::new("radius", OptionValue::Int(3), (-4.0, 9.0), "Rows.");
        whole.alias = "r".to_owned();
        whole.in_names = true;
        let info = option(&whole);
        assert_eq!(
            info.kind,
            OptionKind::Int {
                default: 3,
                min: -4,
                max: 9
            }
        );
        assert_eq!((info.alias, info.in_name, info.help), ("r", true, "Rows."));
        let word = OptionDescription::new(
            "mode",
            OptionValue::Text("fast".to_owned()),
            (0.0, 0.0),
            "A word.",
        );
        assert_eq!(option(&word).kind, OptionKind::Text { default: "fast" });
    }
}
