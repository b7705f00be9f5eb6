//! Scores of finished frames, one JSON object a line, while the run goes on:
//! `{"frameNum":0,"metrics":{"psnr_y":31.2,...}}`, with the keys and numbers of the JSON report.
//!
//! What must stay true: a line is written in one piece and flushed, and a reader that goes away
//! ends the run with an error instead of going unnoticed.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use vmafx_engine::{Context, FrameScores, Precision};

use crate::destination::DestinationError;
use crate::failure::{Class, Failure};

/// A stream of frames that has been started.
pub(crate) struct Stream {
    failed: Arc<Mutex<Option<io::Error>>>,
    path: Option<PathBuf>,
}

impl Stream {
    /// Opens `name` (`-` is standard output) and has the context write to it.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub(crate) fn start(
        name: &OsStr,
        context: &mut Context,
        precision: Precision,
    ) -> Result<Self, Failure> {
        let (path, mut output): (Option<PathBuf>, Box<dyn Write + Send>) = match name {
            name if name == "-" => (None, Box::new(io::stdout())),
            name => {
                let path = PathBuf::from(name);
                let file = File::create(&path).map_err(|source| written(Some(&path), source))?;
                (Some(path), Box::new(file))
            }
        };
        let failed = Arc::new(Mutex::new(None));
        let shared = failed.clone();
        context.on_frame(move |scores| {
            let mut failed = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.is_none() {
                let line = line(scores, precision);
                let sent = output
                    .write_all(line.as_bytes())
                    .and_then(|()| output.flush());
                *failed = sent.err();
            }
        });
        Ok(Stream { failed, path })
    }

    /// Whether all lines so far could be written.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.take() {
            Some(source) => Err(written(self.path.as_ref(), source)),
            None => Ok(()),
        }
    }
}

fn written(path: Option<&PathBuf>, source: io::Error) -> Failure {
    let error = match path.cloned() {
        Some(path) => DestinationError::Write { path, source },
        None => DestinationError::Standard(source),
    };
    Failure::new(Class::Output, error)
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
