//! The scores of all listed frames, one column a score, and how callers read them.

use std::io;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{EngineError, ScoreError};
use crate::pooling::Pooling;
use crate::table::Table;

/// How far a run has come.
#[derive(Clone, Debug)]
pub(crate) enum Progress {
    Running,
    /// All frames of the clip have their scores.
    Ended {
        frames: u64,
    },
    Failed(EngineError),
}

/// All scores of a run.
#[derive(Debug)]
pub(crate) struct FeatureStore {
    /// In report order.
    names: Arc<[String]>,
    /// A column a score, a row a listed frame.
    table: Table,
    subsample: u32,
    pub(crate) progress: Progress,
}

impl FeatureStore {
    pub(crate) fn new(names: Vec<String>, subsample: u32) -> Self {
        FeatureStore {
            table: Table::new(names.len()),
            names: names.into(),
            subsample,
            progress: Progress::Running,
        }
    }

    pub(crate) fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    /// Place of `frame` among the listed frames, `None` if it is not listed.
    pub(crate) fn place(&self, frame: u64) -> Option<u64> {
        let step = u64::from(self.subsample);
        frame.is_multiple_of(step).then_some(frame / step)
    }

    /// Number of the frame at `place`.
    pub(crate) fn frame(&self, place: u64) -> u64 {
        place * u64::from(self.subsample)
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Copies all scores of the frame at `place` to `row`, in report order.
    pub(crate) fn row(&self, place: u64, row: &mut Vec<Option<f64>>) -> io::Result<()> {
        row.clear();
        for score in 0..self.names.len() {
            row.push(self.table.get(score, place)?);
        }
        Ok(())
    }

    /// Writes the score of the frame at `place`; false if it has one or is finished.
    pub(crate) fn set(&mut self, score: usize, place: u64, value: f64) -> bool {
        self.table.set(score, place, value)
    }

    /// Notes that the listed frames before `place` are finished.
    pub(crate) fn close(&mut self, place: u64) {
        self.table.close(place);
    }

    /// A copy of one score of all frames at `places`, which is pooled without the lock; or the
    /// first of them that does not have it.
    pub(crate) fn column(
        &self,
        score: usize,
        places: Range<u64>,
    ) -> io::Result<Result<Vec<f64>, u64>> {
        let mut values = Vec::new();
        for (place, value) in places.clone().zip(self.table.column(score, places)) {
            match value? {
                Some(value) => values.push(value),
                None => return Ok(Err(place)),
            }
        }
        Ok(Ok(values))
    }

    fn find(&self, name: &str) -> Result<usize, ScoreError> {
        self.names
            .iter()
            .position(|n| n == name)
            .ok_or_else(|| ScoreError::Unknown {
                name: name.to_owned(),
                known: self.names.join(", "),
            })
    }

    /// Why a score that is not there is not there.
    fn absent(&self, score: usize, frame: u64) -> ScoreError {
        let name = self.names[score].clone();
        match &self.progress {
            Progress::Running => ScoreError::Pending { name, frame },
            Progress::Failed(error) => ScoreError::Failed(Box::new(error.clone())),
            Progress::Ended { frames } if frame >= *frames => ScoreError::NoSuchFrame {
                frame,
                frames: *frames,
            },
            Progress::Ended { .. } => ScoreError::NotGiven { name, frame },
        }
    }
}

/// Reads scores of a context while it runs and afterwards, from any thread, without disturbing
/// it. Clones read the same run.
#[derive(Clone, Debug)]
pub struct Scores {
    store: Arc<RwLock<FeatureStore>>,
}

impl Scores {
    pub(crate) fn new(store: FeatureStore) -> Self {
        Scores {
            store: Arc::new(RwLock::new(store)),
        }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, FeatureStore> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, FeatureStore> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of all scores of the run, in report order.
    pub fn names(&self) -> Vec<String> {
        self.read().names.to_vec()
    }

    /// One score of one frame.
    ///
    /// # Errors
    /// [`ScoreError::Pending`] as long as the score may change with later frames; a name or
    /// frame that does not exist; the failure of the run.
    pub fn score(&self, name: &str, frame: u64) -> Result<f64, ScoreError> {
        let store = self.read();
        let score = store.find(name)?;
        let place = store.place(frame).ok_or(ScoreError::Skipped {
            frame,
            subsample: store.subsample,
        })?;
        let value = store.table.get(score, place).map_err(unreadable)?;
        value.ok_or_else(|| store.absent(score, frame))
    }

    /// One score pooled over the listed frames of a range of frame numbers, such as `0..48` or,
    /// once the run has ended, `..`.
    ///
    /// # Errors
    /// As [`score`](Scores::score), for the first frame of the range that has no score. A range
    /// without an end is pending until the run has ended.
    pub fn pooled(
        &self,
        name: &str,
        pooling: Pooling,
        range: impl RangeBounds<u64>,
    ) -> Result<f64, ScoreError> {
        let store = self.read();
        let score = store.find(name)?;
        let first = match range.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match (range.end_bound(), &store.progress) {
            (Bound::Included(&last), _) => last.saturating_add(1),
            (Bound::Excluded(&end), _) => end,
            (Bound::Unbounded, Progress::Ended { frames }) => *frames,
            (Bound::Unbounded, _) => return Err(store.absent(score, first)),
        };
        let step = u64::from(store.subsample);
        let places = first.div_ceil(step)..end.div_ceil(step);
        if places.is_empty() {
            return Err(ScoreError::EmptyRange { first, end });
        }
        let column = store.column(score, places).map_err(unreadable)?;
        let column = column.map_err(|place| store.absent(score, store.frame(place)))?;
        drop(store);
        let pooled = pooling.pool(column.into_iter());
        pooled.ok_or(ScoreError::EmptyRange { first, end })
    }
}

fn unreadable(error: io::Error) -> ScoreError {
    ScoreError::Unreadable {
        source: Arc::new(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(subsample: u32) -> FeatureStore {
        FeatureStore::new(vec!["a".to_owned(), "b".to_owned()], subsample)
    }

    #[test]
    fn answers_name_their_reason() {
        let scores = Scores::new(store(3));
        scores.write().set(0, 0, 4.0);
        scores.write().set(0, 1, 8.0);
        assert_eq!(scores.score("a", 3).unwrap(), 8.0);
        assert!(matches!(
            scores.score("b", 3),
            Err(ScoreError::Pending { frame: 3, .. })
        ));
        assert!(matches!(
            scores.score("a", 4),
            Err(ScoreError::Skipped { subsample: 3, .. })
        ));
        assert_eq!(
            scores.score("c", 0).unwrap_err().to_string(),
            "there is no score `c`; the scores are: a, b"
        );
        assert_eq!(scores.pooled("a", Pooling::Mean, 0..6).unwrap(), 6.0);
        assert_eq!(scores.pooled("a", Pooling::Min, 1..=3).unwrap(), 8.0);
        assert!(matches!(
            scores.pooled("a", Pooling::Mean, 0..7),
            Err(ScoreError::Pending { frame: 6, .. })
        ));
        assert!(matches!(
            scores.pooled("a", Pooling::Mean, ..),
            Err(ScoreError::Pending { .. })
        ));
        assert!(matches!(
            scores.pooled("a", Pooling::Mean, 4..6),
            Err(ScoreError::EmptyRange { first: 4, end: 6 })
        ));
        scores.write().progress = Progress::Ended { frames: 5 };
        assert_eq!(scores.pooled("a", Pooling::Mean, ..).unwrap(), 6.0);
        assert!(matches!(
            scores.score("b", 3),
            Err(ScoreError::NotGiven { .. })
        ));
        assert!(matches!(
            scores.score("a", 6),
            Err(ScoreError::NoSuchFrame {
                frame: 6,
                frames: 5
            })
        ));
        scores.write().progress = Progress::Failed(EngineError::NoFrames);
        assert_eq!(scores.score("a", 0).unwrap(), 4.0);
        assert!(matches!(scores.score("b", 0), Err(ScoreError::Failed(_))));
    }
}
