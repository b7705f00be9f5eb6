//! What a report says of its own making: who scored what, with which code, on which device.
//!
//! What must stay true: everything here but [`Provenance::repeats`] and its warning, which tell
//! what a device lost, is the same for every number of threads; a reader
//! can rely on [`SCHEMA_VERSION`]: fields are added, never renamed or given another meaning,
//! without a new number.

use serde::Serialize;
use vmafx_api::FrameFormat;

use crate::request::{Input, InputInfo, Request};
use crate::warning::Warning;

/// Version of the report's own part: score keys and the fields below.
pub const SCHEMA_VERSION: u32 = 1;

/// How the scores of a report came to be.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Provenance {
    /// [`SCHEMA_VERSION`].
    pub schema: u32,
    /// Version of this library.
    pub vmafx: String,
    /// The inputs: reference, then distorted.
    pub inputs: [InputRecord; 2],
    /// Shape of every frame, such as `352x288 4:2:0 8-bit`.
    pub format: String,
    /// How many frames.
    pub frames: FrameCounts,
    /// The models.
    pub models: Vec<ModelRecord>,
    /// The features, in the order of their first request.
    pub features: Vec<FeatureRecord>,
    /// Devices that computed frames again because they lost work on them; usually none.
    pub repeats: Vec<RepeatRecord>,
    /// Options of the run.
    pub options: Vec<OptionRecord>,
    /// What a user should know.
    pub warnings: Vec<WarningRecord>,
}

impl Provenance {
    pub(crate) fn new(
        request: &Request,
        format: &FrameFormat,
        read: u64,
        models: Vec<ModelRecord>,
        features: Vec<FeatureRecord>,
        repeats: Vec<RepeatRecord>,
        warnings: &[Warning],
    ) -> Self {
        let subsample = request.subsample.get();
        let scored = read.div_ceil(subsample.into());
        let [reference, distorted] = &request.inputs;
        let input = |role: Input, info: &InputInfo| InputRecord {
            role: role.to_string(),
            name: info.name.clone(),
            format: info.format.clone(),
            skipped: info.skipped,
        };
        let options = request.options.iter();
        Provenance {
            schema: SCHEMA_VERSION,
            vmafx: env!("CARGO_PKG_VERSION").to_owned(),
            inputs: [
                input(Input::Reference, reference),
                input(Input::Distorted, distorted),
            ],
            format: format.to_string(),
            frames: FrameCounts {
                read,
                scored,
                skipped: read - scored,
                subsample,
                complete: !warnings
                    .iter()
                    .any(|w| matches!(w, Warning::EndedEarly { .. })),
            },
            models,
            features,
            repeats,
            options: options
                .map(|(name, value)| OptionRecord::new(name, value))
                .collect(),
            warnings: warnings
                .iter()
                .map(|warning| WarningRecord {
                    code: warning.code().to_owned(),
                    text: warning.to_string(),
                })
                .collect(),
        }
    }
}

/// One input.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct InputRecord {
    /// `reference` or `distorted`.
    pub role: String,
    /// Path or other name.
    pub name: String,
    /// The format that was assumed, and from where.
    pub format: String,
    /// Frames left out at the start.
    pub skipped: u64,
}

/// Counts of frame pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FrameCounts {
    /// Pairs given to the engine.
    pub read: u64,
    /// Pairs with scores in the report.
    pub scored: u64,
    /// Pairs that subsampling left out.
    pub skipped: u64,
    /// The step of subsampling; 1 = every frame.
    pub subsample: u32,
    /// Whether both clips were scored to the end, or as far as the caller wanted; false if one
    /// ended before the other.
    pub complete: bool,
}

/// One model.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ModelRecord {
    /// Name in the report.
    pub name: String,
    /// The model's own name.
    pub model: String,
    /// Where it came from: `built-in` or a path.
    pub source: String,
    /// SHA-256 of the model file, in hexadecimal.
    pub sha256: String,
    /// SHA-256 of its figures, the same for every format and layout of the file.
    pub figures_sha256: String,
    /// Changes to the model and to its features' options.
    pub options: Vec<OptionRecord>,
}

/// One feature and where it ran.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FeatureRecord {
    /// Name of the metric.
    pub name: String,
    /// All options in force.
    pub options: Vec<OptionRecord>,
    /// Names of its scores in the report.
    pub scores: Vec<String>,
    /// Identifier of the backend.
    pub backend: String,
    /// Version of the backend.
    pub backend_version: String,
    /// Number of the device within the backend.
    pub device: u32,
    /// Name of the device.
    pub device_name: String,
    /// Instruction set in use.
    pub isa: String,
    /// Library file of the backend; empty if it is part of the program.
    pub library: String,
}

/// A device that lost work and did it again. The scores are not touched by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepeatRecord {
    /// The device, as `backend:number`.
    pub device: String,
    /// Frames that were computed again, once for each time and plan.
    pub frames: u64,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OptionRecord {
    /// Name.
    pub name: String,
    /// Value, as text.
    pub value: String,
}

impl OptionRecord {
    /// An option and its value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        OptionRecord {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WarningRecord {
    /// A word for machines.
    pub code: String,
    /// A sentence for people.
    pub text: String,
}
