//! Models: which columns they read, and their scores of one frame.

use std::sync::Arc;

use vmafx_models::{ModelSet, Origin, Override, Scoring};

use crate::error::EngineError;
use crate::provenance::{ModelRecord, OptionRecord};

/// A model with its name in the report.
#[derive(Clone, Debug)]
pub struct ModelSpec {
    /// Name of its score.
    pub name: String,
    /// The model.
    pub model: Arc<ModelSet>,
    /// Changes to transform and clip.
    pub scoring: Scoring,
    /// Changes to the options of its features.
    pub overrides: Vec<Override>,
}

impl ModelSpec {
    /// A model as its file says it.
    pub fn new(name: impl Into<String>, model: Arc<ModelSet>) -> Self {
        ModelSpec {
            name: name.into(),
            model,
            scoring: Scoring::default(),
            overrides: Vec::new(),
        }
    }

    /// What the report says of it.
    pub(crate) fn record(&self) -> ModelRecord {
        let mut options = Vec::new();
        if self.scoring.enable_transform {
            options.push(OptionRecord::new("enable_transform", "true"));
        }
        if self.scoring.disable_clip {
            options.push(OptionRecord::new("disable_clip", "true"));
        }
        options.extend(self.overrides.iter().map(|change| {
            let name = format!("{}.{}", change.metric, change.option);
            OptionRecord::new(name, &change.value)
        }));
        ModelRecord {
            name: self.name.clone(),
            model: self.model.name().to_owned(),
            source: match self.model.origin() {
                Origin::BuiltIn => "built-in".to_owned(),
                Origin::File(path) => path.display().to_string(),
                _ => "bytes of the caller".to_owned(),
            },
            sha256: self.model.sha256().to_owned(),
            figures_sha256: self.model.figures_sha256(),
            options,
        }
    }
}

/// A model with the columns it reads and writes.
#[derive(Debug)]
pub(crate) struct Predictor {
    pub(crate) spec: ModelSpec,
    /// Column of each feature, in the model's order.
    pub(crate) inputs: Vec<usize>,
    /// Column of each score, in the order of [`ModelSet::score_names`].
    pub(crate) outputs: Vec<usize>,
}

impl Predictor {
    /// Adds the model's scores to `row`, the scores of `frame`; none if it lacks a feature.
    pub(crate) fn run(&self, frame: u64, row: &mut [Option<f64>]) -> Result<(), EngineError> {
        let inputs: Option<Vec<_>> = self.inputs.iter().map(|&column| row[column]).collect();
        let Some(inputs) = inputs else {
            return Ok(());
        };
        let prediction = self.spec.model.predict(&inputs, self.spec.scoring);
        let prediction = prediction.map_err(|source| EngineError::Predict {
            frame,
            source: Box::new(source),
        })?;
        for (&column, value) in self.outputs.iter().zip(prediction.values()) {
            row[column] = Some(value);
        }
        Ok(())
    }
}
