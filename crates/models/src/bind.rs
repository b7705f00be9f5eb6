//! From the feature names of a model file to metrics that can be run.

use std::fmt;

use vmafx_metrics::{Metric, Options, Output, all, providing};

use crate::{ModelError, ModelSet};

/// A feature of a model with the metric that computes it.
#[derive(Clone)]
pub struct BoundFeature {
    /// The metric.
    pub metric: &'static dyn Metric,
    /// Its options: the file's, then the overrides, the rest at their defaults.
    pub options: Options,
    /// Which of the metric's scores the model reads.
    pub output: Output,
    /// That score's name in reports, options included.
    pub score_name: String,
}

impl fmt::Debug for BoundFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BoundFeature({} of {})",
            self.score_name,
            self.metric.definition().name
        )
    }
}

/// `METRIC.OPTION=VALUE`: an option for every feature that a model reads from that metric, over
/// what its file says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Override {
    /// Name of the metric.
    pub metric: String,
    /// Name or alias of the option.
    pub option: String,
    /// Its value as text.
    pub value: String,
}

impl Override {
    /// Reads `METRIC.OPTION=VALUE`.
    ///
    /// # Errors
    /// The text, if it is not of that form.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let parts = text.split_once('=').and_then(|(name, value)| {
            let (metric, option) = name.split_once('.')?;
            (!metric.is_empty() && !option.is_empty()).then_some((metric, option, value))
        });
        let (metric, option, value) = parts.ok_or_else(|| ModelError::OverrideSyntax {
            text: text.to_owned(),
        })?;
        Ok(Override {
            metric: metric.to_owned(),
            option: option.to_owned(),
            value: value.to_owned(),
        })
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}={}", self.metric, self.option, self.value)
    }
}

impl ModelSet {
    /// The metrics of this model's features, in the order of [`ModelSet::features`].
    ///
    /// # Errors
    /// Every feature that no linked metric gives, an option that its metric refuses, an override
    /// that meets no feature.
    pub fn bind(&self, overrides: &[Override]) -> Result<Vec<BoundFeature>, ModelError> {
        let mut bound = Vec::new();
        let mut missing = Vec::new();
        for feature in self.features() {
            let Some((metric, output)) = providing(&feature.name) else {
                missing.push(feature.name.as_str());
                continue;
            };
            let definition = metric.definition();
            let mut options = Options::defaults(definition);
            let given = feature.options.iter().map(|(name, value)| (name, value));
            let over = overrides
                .iter()
                .filter(|over| over.metric == definition.name);
            let over = over.map(|over| (&over.option, &over.value));
            for (name, value) in given.chain(over) {
                options
                    .set_text(name, value)
                    .map_err(|source| ModelError::Option {
                        model: self.name().to_owned(),
                        feature: feature.name.clone(),
                        source: Box::new(source),
                    })?;
            }
            let score_name = options.score_name(&output);
            bound.push(BoundFeature {
                metric,
                options,
                output,
                score_name,
            });
        }
        if !missing.is_empty() {
            return Err(ModelError::NoMetric {
                model: self.name().to_owned(),
                features: missing.join(", "),
                metrics: names(all().into_iter()),
            });
        }
        let unused = |over: &&Override| {
            !bound
                .iter()
                .any(|feature| feature.metric.definition().name == over.metric)
        };
        if let Some(over) = overrides.iter().find(unused) {
            return Err(ModelError::OverrideUnused {
                text: over.to_string(),
                model: self.name().to_owned(),
                metrics: names(bound.iter().map(|feature| feature.metric)),
            });
        }
        Ok(bound)
    }
}

/// Names of metrics, each once, as a list for people.
fn names(metrics: impl Iterator<Item = &'static dyn Metric>) -> String {
    let mut names: Vec<_> = metrics.map(|metric| metric.definition().name).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
