//! The stage between the columns of single frames and the scores of a report.

use vmafx_api::Value;

/// A score that a clip stage emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreInfo {
    /// Name in the report, options included.
    pub name: String,
    /// Whether it is known only after later frames; reports list such scores behind the
    /// others of their frame, as libvmaf does.
    pub late: bool,
}

/// One score of one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Number of the frame.
    pub frame: u64,
    /// Place in [`Clip::scores`].
    pub score: usize,
    /// The value.
    pub value: f64,
}

/// A value over the whole clip, such as `apsnr_y`.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Name in the report.
    pub name: String,
    /// The value.
    pub value: f64,
}

/// Consumes the columns of frames in order and emits scores. One instance serves one clip.
pub trait Clip: Send {
    /// The scores it emits, in report order.
    fn scores(&self) -> &[ScoreInfo];

    /// Takes the columns of the next frame. Frame numbers rise; they have gaps only where the
    /// metric may be subsampled.
    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission));

    /// Ends the clip: emits what was waiting for later frames.
    fn finish(&mut self, emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate>;
}

/// The stage of a metric whose columns are its scores.
#[derive(Debug)]
pub struct PassThrough {
    scores: Vec<ScoreInfo>,
}

impl PassThrough {
    /// A stage that emits each column under the name given.
    pub fn new(names: Vec<String>) -> Self {
        let scores = names
            .into_iter()
            .map(|name| ScoreInfo { name, late: false })
            .collect();
        PassThrough { scores }
    }
}

impl Clip for PassThrough {
    fn scores(&self) -> &[ScoreInfo] {
        &self.scores
    }

    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission)) {
        for (score, value) in values.iter().enumerate() {
            emit(Emission {
                frame,
                score,
                value: value.as_score(),
            });
        }
    }

    fn finish(&mut self, _emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate> {
        Vec::new()
    }
}
