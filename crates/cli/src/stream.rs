//! Scores of finished frames, one JSON object a line, while the run goes on:
//! `{"frameNum":0,"metrics":{"psnr_y":31.2,...}}`, with the keys and numbers of the JSON report.
//!
//! What must stay true: a line is written in one piece and flushed, and a reader that goes away
//! ends the run with an error instead of going unnoticed.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use vmafx_engine::{FrameScores, Precision};

use crate::destination::Destination;
use crate::failure::Failure;

/// A stream of frames that has been started. Clones write to the same place.
#[derive(Clone)]
pub(crate) struct Stream {
    state: Arc<Mutex<State>>,
    destination: Destination,
    precision: Precision,
}

struct State {
    output: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Stream {
    /// Opens `destination`.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub(crate) fn start(destination: &Destination, precision: Precision) -> Result<Self, Failure> {
        let state = State {
            output: destination.stream()?,
            failed: None,
        };
        Ok(Stream {
            state: Arc::new(Mutex::new(state)),
            destination: destination.clone(),
            precision,
        })
    }

    /// Writes the scores of a frame, unless an earlier line could not be written.
    pub(crate) fn send(&self, scores: &FrameScores<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_none() {
            let line = line(scores, self.precision);
            let sent = state.output.write_all(line.as_bytes());
            state.failed = sent.and_then(|()| state.output.flush()).err();
        }
    }

    /// Whether all lines so far could be written.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            // A second look must find the failure, too.
            Some(source) => {
                let again = match source.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Err(self.destination.failed(again))
            }
            None => Ok(()),
        }
    }
}

fn line(scores: &FrameScores<'_>, precision: Precision) -> String {
    let mut line = format!("{{\"frameNum\":{},\"metrics\":{{", scores.frame());
    let mut comma = "";
    for (name, value) in scores.iter() {
        // Score names are words: the engine refuses others.
        let _ = write!(line, "{comma}\"{name}\":{}", precision.json(value));
        comma = ",";
    }
    line.push_str("}}\n");
    line
}
