//! Results of frames, in frame order: clip stages, store, models, observer.
//!
//! Workers deliver results in any order; everything that looks from frame to frame happens
//! here, one frame after another, under one lock. What must stay true: the outcome is that of a
//! serial run, errors included: the first failure in frame order is the run's failure, however
//! early a later frame may have failed.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use vmafx_api::Value;
use vmafx_metrics::{Aggregate, Clip, Emission};

use crate::alignment::Alignment;
use crate::error::EngineError;
use crate::prediction::Predictor;
use crate::store::{FeatureStore, Progress, Scores};
use crate::warning::Warning;
use crate::worker::{FrameResult, ValueBuffers};

/// All scores of one frame, when the last of them is final.
#[derive(Clone, Copy, Debug)]
pub struct FrameScores<'a> {
    frame: u64,
    names: &'a [String],
    values: &'a [Option<f64>],
}

impl<'a> FrameScores<'a> {
    /// Number of the frame.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// Names and values in report order, without those that the frame does not have.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let pairs = self.names.iter().zip(self.values);
        pairs.filter_map(|(name, value)| Some((name.as_str(), (*value)?)))
    }

    /// The score of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }
}

/// Who is told of every finished frame.
pub(crate) type Observer = Box<dyn FnMut(&FrameScores<'_>) + Send>;

/// The clip stage of one feature.
pub(crate) struct Stage {
    pub(crate) clip: Box<dyn Clip>,
    /// Column of each of the stage's scores.
    pub(crate) columns: Vec<usize>,
    /// Its columns among the values of a frame.
    pub(crate) values: Range<usize>,
    pub(crate) every_frame: bool,
    /// The device, if the scores are a backend's own and have to be finite.
    pub(crate) checked: Option<String>,
}

impl Stage {
    /// The first value that is not a finite number, as an error.
    fn check(&self, frame: u64, values: &[Value]) -> Result<(), EngineError> {
        let Some(device) = &self.checked else {
            return Ok(());
        };
        let mut scores = values.iter().zip(self.clip.scores());
        match scores.find(|(value, _)| !value.as_score().is_finite()) {
            Some((value, score)) => Err(EngineError::NotFinite {
                frame,
                device: device.clone(),
                name: score.name.clone(),
                value: value.as_score(),
            }),
            None => Ok(()),
        }
    }
}

/// What is known only at the end of a clip.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) misaligned: Option<Warning>,
    pub(crate) frames: u64,
}

pub(crate) struct Sequencer {
    /// The frame whose result comes next.
    next: u64,
    /// Results of `next` and the frames behind it, as far as they are there.
    waiting: VecDeque<Option<Result<FrameResult, EngineError>>>,
    stages: Vec<Stage>,
    predictors: Vec<Predictor>,
    scores: Scores,
    /// For each listed frame that is not finished: feature scores still to come.
    open: VecDeque<usize>,
    /// Place of the first of them among the listed frames.
    first_open: u64,
    /// Scores of a frame that come from features.
    feature_scores: usize,
    alignment: Option<Alignment>,
    pub(crate) observer: Option<Observer>,
    /// Where buffers of values go when they have been read.
    buffers: Arc<ValueBuffers>,
    /// Scores of the frame being closed.
    row: Vec<Option<f64>>,
    failed: bool,
}

impl fmt::Debug for Sequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequencer")
            .field("next", &self.next)
            .field("waiting", &self.waiting.len())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl Sequencer {
    pub(crate) fn new(
        stages: Vec<Stage>,
        predictors: Vec<Predictor>,
        scores: Scores,
        alignment: Option<Alignment>,
        buffers: Arc<ValueBuffers>,
    ) -> Self {
        Sequencer {
            next: 0,
            waiting: VecDeque::new(),
            feature_scores: stages.iter().map(|stage| stage.columns.len()).sum(),
            stages,
            predictors,
            scores,
            open: VecDeque::new(),
            first_open: 0,
            alignment,
            observer: None,
            buffers,
            row: Vec::new(),
            failed: false,
        }
    }

    /// Takes the result of one frame and works off all that have become next in order. Returns
    /// how many frames that were.
    ///
    /// # Errors
    /// The run's failure, when the frame at fault is next. After it nothing is taken any more.
    pub(crate) fn deliver(
        &mut self,
        frame: u64,
        result: Result<FrameResult, EngineError>,
    ) -> Result<usize, EngineError> {
        if self.failed || frame < self.next {
            return Ok(0);
        }
        let place = (frame - self.next) as usize;
        if self.waiting.len() <= place {
            self.waiting.resize_with(place + 1, || None);
        }
        self.waiting[place] = Some(result);
        let mut taken = 0;
        while let Some(Some(_)) = self.waiting.front() {
            let result = self.waiting.pop_front().flatten();
            let frame = self.next;
            self.next += 1;
            taken += 1;
            let done = result.map(|result| result.and_then(|result| self.take(frame, result)));
            if let Some(Err(error)) = done {
                return Err(self.fail(error));
            }
        }
        Ok(taken)
    }

    /// Makes `error` the failure of the run, unless it has one.
    pub(crate) fn fail(&mut self, error: EngineError) -> EngineError {
        self.failed = true;
        self.waiting.clear();
        let mut store = self.scores.write();
        if let Progress::Failed(first) = &store.progress {
            return first.clone();
        }
        store.progress = Progress::Failed(error.clone());
        error
    }

    /// Ends the clip.
    pub(crate) fn finish(&mut self) -> Result<Ending, EngineError> {
        let last = self.next.saturating_sub(1);
        let mut aggregates = Vec::new();
        let mut emissions = Vec::new();
        for stage in 0..self.stages.len() {
            let clip = &mut self.stages[stage].clip;
            aggregates.extend(clip.finish(&mut |emission| emissions.push(emission)));
            self.keep(stage, last, &mut emissions)?;
        }
        while !self.open.is_empty() {
            self.close_first()?;
        }
        self.scores.write().progress = Progress::Ended { frames: self.next };
        Ok(Ending {
            aggregates,
            misaligned: self.alignment.as_ref().and_then(Alignment::finish),
            frames: self.next,
        })
    }

    /// Takes the columns of the next frame.
    fn take(&mut self, frame: u64, result: FrameResult) -> Result<(), EngineError> {
        if let (Some(alignment), Some(pair)) = (&mut self.alignment, result.thumbnails) {
            alignment.push(pair);
        }
        let listed = self.scores.read().place(frame).is_some();
        if listed {
            self.open.push_back(self.feature_scores);
        }
        let mut emissions = Vec::with_capacity(self.feature_scores);
        for number in 0..self.stages.len() {
            let stage = &mut self.stages[number];
            if listed || stage.every_frame {
                let values = &result.values[stage.values.clone()];
                stage.check(frame, values)?;
                stage
                    .clip
                    .push(frame, values, &mut |emission| emissions.push(emission));
                self.keep(number, frame, &mut emissions)?;
            }
        }
        self.buffers.give_back(result.values);
        while self.open.front() == Some(&0) {
            self.close_first()?;
        }
        Ok(())
    }

    /// Stores what a stage emitted; scores of frames that are not listed are dropped.
    fn keep(
        &mut self,
        stage: usize,
        current: u64,
        emissions: &mut Vec<Emission>,
    ) -> Result<(), EngineError> {
        let columns = &self.stages[stage].columns;
        let mut store = self.scores.write();
        for Emission {
            frame,
            score,
            value,
        } in emissions.drain(..)
        {
            let misplaced = |store: &FeatureStore| EngineError::Emission {
                frame,
                name: match columns.get(score) {
                    Some(&column) => store.names()[column].clone(),
                    None => format!("number {score}"),
                },
            };
            let Some(&column) = columns.get(score) else {
                return Err(misplaced(&store));
            };
            if frame > current {
                return Err(misplaced(&store));
            }
            let Some(place) = store.place(frame) else {
                continue;
            };
            let open = place.checked_sub(self.first_open);
            let open = open.and_then(|place| self.open.get_mut(place as usize));
            match open {
                Some(missing) if store.set(column, place, value) => *missing -= 1,
                _ => return Err(misplaced(&store)),
            }
        }
        Ok(())
    }

    /// Evaluates the models on the first open frame and tells the observer, both on a copy of its
    /// scores: readers of the store wait for neither.
    fn close_first(&mut self) -> Result<(), EngineError> {
        let place = self.first_open;
        self.open.pop_front();
        self.first_open += 1;
        let (frame, names) = {
            let store = self.scores.read();
            let frame = store.frame(place);
            let copied = store.row(place, &mut self.row);
            copied.map_err(|source| EngineError::Unreadable {
                frame,
                source: Arc::new(source),
            })?;
            (frame, store.names().clone())
        };
        for predictor in &self.predictors {
            predictor.run(frame, &mut self.row)?;
        }
        let mut store = self.scores.write();
        for &column in self.predictors.iter().flat_map(|p| &p.outputs) {
            if let Some(value) = self.row[column] {
                store.set(column, place, value);
            }
        }
        store.close(self.first_open);
        drop(store);
        if let Some(observer) = &mut self.observer {
            observer(&FrameScores {
                frame,
                names: &names,
                values: &self.row,
            });
        }
        Ok(())
    }
}
