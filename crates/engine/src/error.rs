//! Everything that can go wrong between a request and a report.

use std::io;
use std::sync::Arc;

use vmafx_api::{ApiError, FrameFormat, FrameMemoryError, SampleError};
use vmafx_metrics::{OptionError, Refusal};
use vmafx_models::ModelError;

use crate::request::Input;

/// Class of an [`EngineError`], one for each exit code that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request contradicts itself or names something unknown.
    Usage,
    /// The frames are not what the context was made for.
    Input,
    /// A model asks for what is not there.
    Model,
    /// A feature cannot score these frames with these options.
    Feature,
    /// A backend or device is missing or failed, or none takes the work.
    Backend,
    /// The machine does not give what the run needs: memory, threads.
    Resource,
    /// The report could not be written.
    Output,
    /// A broken invariant of this library.
    Internal,
}

/// Why the engine did not do what it was asked. The first failure of a context is kept and is
/// the answer of every later call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No metric of that name is linked in.
    #[error("there is no feature `{name}`; the features are: {known}")]
    UnknownFeature {
        /// What was given.
        name: String,
        /// All features.
        known: String,
    },
    /// A feature option that cannot be set.
    #[error("feature `{spec}`: {source}")]
    Option {
        /// Name of the feature.
        spec: String,
        /// Which option and why.
        source: Box<OptionError>,
    },
    /// Text that is not `name` or `name=option=value:option=value`.
    #[error("feature `{spec}`: `{part}` is not option=value")]
    FeatureSyntax {
        /// The whole text of the feature.
        spec: String,
        /// The part that is not understood.
        part: String,
    },
    /// A request without features and models.
    #[error("nothing to score: no feature and no model is asked for")]
    NothingToScore,
    /// A number of the request outside its range.
    #[error("{name} {value} is outside {min} to {max}")]
    Range {
        /// Field of the request.
        name: &'static str,
        /// What was given.
        value: u64,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A name that a report cannot carry.
    #[error(
        "`{name}` cannot be a score name: names are letters, digits, `_`, `-` and `.`, begin \
         with a letter or `_`, and `frameNum` is taken"
    )]
    ScoreName {
        /// The name.
        name: String,
    },
    /// Two features or models that give a score of the same name.
    #[error("{first} and {second} both give a score `{name}`; give one of them another name")]
    ScoreNameTaken {
        /// The name.
        name: String,
        /// Who has it.
        first: String,
        /// Who wants it too.
        second: String,
    },
    /// A backend that is not there, by name or by the number of its device.
    #[error("there is no device `{name}`; the devices are: {known}")]
    UnknownDevice {
        /// What was given.
        name: String,
        /// All devices, and the backends that did not answer.
        known: String,
    },
    /// A backend that was asked for and names no device: nothing on this machine for it to
    /// drive, or a runtime that fails.
    #[error("there is no device `{name}` on this machine: {reason}")]
    NoDevice {
        /// What was given.
        name: String,
        /// What the backend says.
        reason: String,
    },
    /// The set-up was refused; nothing was scored.
    #[error("{}", list(.0))]
    Refused(Vec<SetupRefusal>),
    /// A backend of this program that breaks the rules of its description.
    #[error("a backend of this program cannot be used: {source}")]
    Backend {
        /// Which rule.
        source: ApiError,
    },
    /// A value of a backend's own feature that is not a finite number.
    #[error("frame {frame}: {device} gave {value} as score `{name}`, which is no finite number")]
    NotFinite {
        /// Number of the frame.
        frame: u64,
        /// The device.
        device: String,
        /// Name of the score.
        name: String,
        /// The value.
        value: f64,
    },
    /// A device refused a plan that it had agreed to.
    #[error("{device} could not be made ready: {source}")]
    Prepare {
        /// The device.
        device: String,
        /// Its answer.
        source: ApiError,
    },
    /// A device failed on a frame.
    #[error("frame {frame}: {device} failed: {source}")]
    Device {
        /// Number of the frame.
        frame: u64,
        /// The device.
        device: String,
        /// Its answer.
        source: ApiError,
    },
    /// A frame of another shape than the context's.
    #[error("frame {frame} of the {input} input is {found}, the context scores {expected}")]
    Format {
        /// Number of the frame.
        frame: u64,
        /// Which input.
        input: Input,
        /// Its shape.
        found: FrameFormat,
        /// The shape of the context.
        expected: FrameFormat,
    },
    /// A frame in memory that a device of the context does not read.
    #[error("frame {frame} of the {input} input: {device} does not take it: {source}")]
    Admission {
        /// Number of the frame.
        frame: u64,
        /// Which input.
        input: Input,
        /// The device.
        device: String,
        /// Its answer.
        source: ApiError,
    },
    /// No memory for a frame.
    #[error("{0}; fewer threads hold fewer frames")]
    FrameMemory(FrameMemoryError),
    /// An observer that would miss frames.
    #[error(
        "on_frame came after {submitted} submitted frames; it must come before the first, or it \
         would miss some"
    )]
    LateObserver {
        /// Frames submitted.
        submitted: u64,
    },
    /// A sample that the stated depth cannot hold.
    #[error("frame {frame} of the {input} input, {source}")]
    Sample {
        /// Number of the frame.
        frame: u64,
        /// Which input.
        input: Input,
        /// Where and what.
        source: SampleError,
    },
    /// A clip without frames.
    #[error("no frames were given, so there is no score")]
    NoFrames,
    /// The context was dropped before the clip ended.
    #[error("the run was stopped before its end")]
    Stopped,
    /// A worker thread could not be started.
    #[error(
        "the system gives {number} of {wanted} worker threads: {source}; ask for fewer, with \
         --threads on a command line"
    )]
    Thread {
        /// How many were started.
        number: usize,
        /// How many the context was to have.
        wanted: usize,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// A model did not take its features.
    #[error("frame {frame}: {source}")]
    Predict {
        /// Number of the frame.
        frame: u64,
        /// The model's reason.
        source: Box<ModelError>,
    },
    /// Scores that were moved to a temporary file do not come back.
    #[error("frame {frame}: the temporary file of scores cannot be read: {source}")]
    Unreadable {
        /// Number of the frame.
        frame: u64,
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// The report could not be written.
    #[error("writing the report failed: {source}")]
    Write {
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// Code that ran for a frame panicked.
    #[error("frame {frame}: internal error: {message}")]
    Panic {
        /// Number of the frame.
        frame: u64,
        /// What the panic said.
        message: String,
    },
    /// A metric's clip stage broke its contract.
    #[error("frame {frame}: score `{name}` was given twice or is not of this clip")]
    Emission {
        /// Number of the frame.
        frame: u64,
        /// Name of the score.
        name: String,
    },
}

impl EngineError {
    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            EngineError::UnknownFeature { .. }
            | EngineError::Option { .. }
            | EngineError::FeatureSyntax { .. }
            | EngineError::NothingToScore
            | EngineError::Range { .. }
            | EngineError::ScoreName { .. }
            | EngineError::ScoreNameTaken { .. }
            | EngineError::LateObserver { .. }
            | EngineError::Stopped => ErrorKind::Usage,
            EngineError::Refused(refusals) => refusals
                .first()
                .map_or(ErrorKind::Internal, SetupRefusal::kind),
            EngineError::UnknownDevice { .. }
            | EngineError::NoDevice { .. }
            | EngineError::Backend { .. }
            | EngineError::NotFinite { .. }
            | EngineError::Prepare { .. }
            | EngineError::Admission { .. }
            | EngineError::Device { .. } => ErrorKind::Backend,
            EngineError::Thread { .. } | EngineError::FrameMemory(_) => ErrorKind::Resource,
            EngineError::Format { .. } | EngineError::Sample { .. } | EngineError::NoFrames => {
                ErrorKind::Input
            }
            EngineError::Write { .. } | EngineError::Unreadable { .. } => ErrorKind::Output,
            EngineError::Panic { .. }
            | EngineError::Predict { .. }
            | EngineError::Emission { .. } => ErrorKind::Internal,
        }
    }
}

/// One reason why a set-up is refused.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupRefusal {
    /// The metric is not defined for these frames or options.
    #[error("{0}")]
    Metric(Refusal),
    /// A model whose features this version does not have, or not with its options.
    #[error("{0}")]
    Model(ModelError),
    /// A model reads a score that its feature does not give with its options.
    #[error("model `{model}` reads {score}, which its feature does not give with these options")]
    ModelInput {
        /// Name of the model.
        model: String,
        /// Name of the score.
        score: String,
    },
    /// No device takes the feature.
    #[error("feature `{feature}` runs on no device: {reasons}")]
    NoDevice {
        /// Name of the feature.
        feature: String,
        /// Each device with its reason.
        reasons: String,
    },
    /// The device that was asked for does not take the feature.
    #[error("feature `{feature}` does not run on `{device}`, which was asked for: {reason}")]
    NamedDevice {
        /// Name of the feature.
        feature: String,
        /// The device.
        device: String,
        /// Its reason.
        reason: String,
    },
}

impl SetupRefusal {
    fn kind(&self) -> ErrorKind {
        match self {
            SetupRefusal::Metric(_) => ErrorKind::Feature,
            SetupRefusal::Model(_) | SetupRefusal::ModelInput { .. } => ErrorKind::Model,
            SetupRefusal::NoDevice { .. } | SetupRefusal::NamedDevice { .. } => ErrorKind::Backend,
        }
    }
}

fn list(refusals: &[SetupRefusal]) -> String {
    let texts: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Why a score cannot be told.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// Not yet final: the same call answers once later frames have been scored.
    #[error("`{name}` of frame {frame} is not final yet; try again later")]
    Pending {
        /// Name of the score.
        name: String,
        /// Number of the frame.
        frame: u64,
    },
    /// No feature or model of the context gives a score of that name.
    #[error("there is no score `{name}`; the scores are: {known}")]
    Unknown {
        /// What was given.
        name: String,
        /// All scores.
        known: String,
    },
    /// A frame that subsampling leaves out.
    #[error("frame {frame} is not scored: only one frame in {subsample} is")]
    Skipped {
        /// Number of the frame.
        frame: u64,
        /// The step.
        subsample: u32,
    },
    /// A frame behind the end of the clip.
    #[error("there is no frame {frame}: the clip has {frames} frames")]
    NoSuchFrame {
        /// Number of the frame.
        frame: u64,
        /// Frames of the clip.
        frames: u64,
    },
    /// The clip has ended and the feature gave no such score for the frame.
    #[error("frame {frame} has no score `{name}`")]
    NotGiven {
        /// Name of the score.
        name: String,
        /// Number of the frame.
        frame: u64,
    },
    /// Scores that were moved to a temporary file do not come back.
    #[error("the temporary file of scores cannot be read: {source}")]
    Unreadable {
        /// The system's reason.
        source: Arc<io::Error>,
    },
    /// A range without a scored frame in it.
    #[error("no scored frame lies in {first}..{end}")]
    EmptyRange {
        /// First frame of the range.
        first: u64,
        /// The frame behind its last.
        end: u64,
    },
    /// The run failed before the score was known.
    #[error("the run failed: {0}")]
    Failed(Box<EngineError>),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the machine refuses is no defect and says what to do.
    #[test]
    fn shortages_are_of_their_own_class() {
        let error = EngineError::Thread {
            number: 3,
            wanted: 64,
            source: Arc::new(io::Error::from(io::ErrorKind::WouldBlock)),
        };
        assert_eq!(error.kind(), ErrorKind::Resource);
        let text = error.to_string();
        assert!(
            text.starts_with("the system gives 3 of 64 worker threads: ")
                && text.ends_with("; ask for fewer, with --threads on a command line"),
            "{text}"
        );
    }
}
