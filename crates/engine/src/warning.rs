//! What a user should know although the run goes on.

use std::fmt;

use crate::request::Input;

/// Something that does not stop a run but may make its scores mean less than they seem to.
/// Set-up warnings are there before the first frame; all of them are in the report.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// An even step of subsampling.
    EvenSubsample {
        /// The step.
        subsample: u32,
    },
    /// A second request for a feature whose scores exist already, with other options that do
    /// not change the scores' names.
    OptionsIgnored {
        /// Name of the feature.
        feature: String,
        /// Options in force.
        kept: String,
        /// Options without effect.
        ignored: String,
    },
    /// A device that would have come first does not take a feature.
    Fallback {
        /// Name of the feature.
        feature: String,
        /// The device passed over.
        from: String,
        /// The device in use.
        to: String,
        /// Why.
        reason: String,
    },
    /// A backend did not list its devices, for another reason than that there are none.
    BackendUnavailable {
        /// Name of the backend.
        backend: String,
        /// Why.
        reason: String,
    },
    /// A backend describes a feature of a name that is another's.
    FeatureTaken {
        /// Name of the feature.
        feature: String,
        /// Name of the backend.
        backend: String,
    },
    /// Frames of another size than the model was trained for.
    ModelSize {
        /// Name of the model.
        model: String,
        /// What it assumes of the viewer.
        assumes: String,
        /// Frame width.
        width: u32,
        /// Frame height.
        height: u32,
    },
    /// One clip fits the other far better some frames later.
    Misaligned {
        /// Frames by which the distorted clip is late; negative if it is early.
        distorted_late_by: i32,
        /// Gain in PSNR of small pictures of both clips, in dB.
        gain_db: f64,
    },
    /// One input ended while the other went on.
    EndedEarly {
        /// The shorter input.
        input: Input,
        /// Frame pairs that were scored or skipped.
        frames: u64,
    },
    /// No temporary file for the scores of a long clip, which therefore stay in memory.
    ScoresInMemory {
        /// The system's reason.
        reason: String,
    },
    /// A device lost work on frames, and computed them again. Their scores are right.
    Repeated {
        /// The device, as `backend:number`.
        device: String,
        /// How many frames.
        frames: u64,
    },
    /// A statement of the caller, such as a conversion that was made before.
    Note(String),
}

impl Warning {
    /// A word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Warning::EvenSubsample { .. } => "even-subsample",
            Warning::OptionsIgnored { .. } => "options-ignored",
            Warning::Fallback { .. } => "fallback",
            Warning::BackendUnavailable { .. } => "backend-unavailable",
            Warning::FeatureTaken { .. } => "feature-taken",
            Warning::ModelSize { .. } => "model-size",
            Warning::Misaligned { .. } => "misaligned",
            Warning::EndedEarly { .. } => "ended-early",
            Warning::ScoresInMemory { .. } => "scores-in-memory",
            Warning::Repeated { .. } => "frames-repeated",
            Warning::Note(_) => "note",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::EvenSubsample { subsample } => write!(
                f,
                "one frame in {subsample} is scored: an even step tends to meet the same \
                 places of a coding pyramid; an odd one such as {} is safer",
                subsample + 1
            ),
            Warning::OptionsIgnored {
                feature,
                kept,
                ignored,
            } => write!(
                f,
                "feature {feature} is asked for twice under the same score names; {kept} stays \
                 in force, {ignored} has no effect"
            ),
            Warning::Fallback {
                feature,
                from,
                to,
                reason,
            } => {
                write!(f, "feature {feature} runs on {to}, not on {from}: {reason}")
            }
            Warning::BackendUnavailable { backend, reason } => {
                write!(f, "backend {backend} cannot be used: {reason}")
            }
            Warning::FeatureTaken { feature, backend } => write!(
                f,
                "the feature {feature} of backend {backend} is not used: another feature has \
                 that name"
            ),
            Warning::ModelSize {
                model,
                assumes,
                width,
                height,
            } => write!(
                f,
                "model {model} assumes {assumes}, the frames are {width}x{height}; nothing is \
                 scaled"
            ),
            Warning::Misaligned {
                distorted_late_by,
                gain_db,
            } => {
                let late = match distorted_late_by {
                    1.. => Input::Distorted,
                    _ => Input::Reference,
                };
                let (count, left_out) = match distorted_late_by.unsigned_abs() {
                    1 => ("1 frame".to_owned(), "first frame".to_owned()),
                    n => (format!("{n} frames"), format!("first {n} frames")),
                };
                write!(
                    f,
                    "the clips look misaligned: the {late} input seems {count} late (shifted \
                     back, both agree {gain_db:.1} dB better); nothing was shifted: leave out \
                     its {left_out} if that is not meant"
                )
            }
            Warning::EndedEarly { input, frames } => {
                write!(
                    f,
                    "the {input} input ended after {frames} frames, the other one did not"
                )
            }
            Warning::ScoresInMemory { reason } => write!(
                f,
                "there is no temporary file for scores, so memory grows with the clip: {reason}"
            ),
            Warning::Repeated { device, frames } => {
                let were = match frames {
                    1 => "frame was",
                    _ => "frames were",
                };
                write!(
                    f,
                    "{frames} {were} computed again because {device} lost work"
                )
            }
            Warning::Note(text) => f.write_str(text),
        }
    }
}
