//! One run over one pair of clips: set-up, frames in, scores out.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use vmafx_api::{Backend, Frame, FrameFormat, FrameJob, FramePair, FramePool, HostFrame};

use crate::alignment::{Alignment, MAX_ALIGNMENT_RANGE};
use crate::error::{EngineError, ScoreError};
use crate::pooling::Pooling;
use crate::provenance::{FeatureRecord, ModelRecord, Provenance};
use crate::queue::{Limits, Queue, Step};
use crate::report::Outcome;
use crate::request::{Input, Request};
use crate::sequence::{FrameScores, Sequencer};
use crate::setup::{self, Setup};
use crate::store::{FeatureStore, Progress, Scores};
use crate::warning::Warning;
use crate::worker::{self, Job, Started, ValueBuffers, Work};

/// Most worker threads of a context.
const MAX_THREADS: usize = 1024;

/// What the workers share with the context.
struct Shared {
    queue: Queue<Job, Started>,
    sequencer: Mutex<Sequencer>,
    work: Work,
}

impl Shared {
    fn sequencer(&self) -> MutexGuard<'_, Sequencer> {
        self.sequencer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a worker.
    fn run(&self) {
        while let Some(step) = self.queue.next() {
            let left = || self.queue.left();
            let (frame, result) = match step {
                Step::Start(job) => {
                    let started = self.work.start(job);
                    let frame = started.frame;
                    if started.is_on_a_device() {
                        self.queue.started(Some((frame, started)));
                        continue;
                    }
                    self.queue.started(None);
                    (frame, self.work.finish(started, || ()))
                }
                Step::Finish(started) => (started.frame, self.work.finish(started, left)),
                Step::Abandon(started) => {
                    self.work.abandon(started);
                    left();
                    continue;
                }
            };
            let taken = worker::caught(frame, || self.sequencer().deliver(frame, result));
            match taken.and_then(|taken| taken) {
                Ok(frames) => self.queue.done(frames),
                Err(error) => {
                    self.fail(error);
                }
            }
        }
    }

    /// Ends the run with `error`, unless it has ended with another one, which is returned.
    fn fail(&self, error: EngineError) -> EngineError {
        let error = self.sequencer().fail(error);
        self.queue.close();
        error
    }
}

/// One run over one pair of clips.
///
/// Its memory does not depend on the length of the clips. With `T` threads and features that look
/// `H` frames back there are at most `T + 2 + H` frame pairs (`2 + H` for one thread) of twice
/// [`frame_bytes`](FrameFormat::frame_bytes), and the pairs that the caller fills, none if it
/// waits for [`ready`](Context::ready) before it fills one. A device that wants `N` frames
/// [in flight](vmafx_api::Extractor::in_flight) adds up to `N - 1` pairs. Each thread adds the
/// buffers of the features it computes, which are the backend's; a device has at most `2 N - 1`
/// frames at once.
///
/// ```no_run
/// use vmafx_api::{Chroma, FrameFormat};
/// use vmafx_engine::{Context, FeatureSpec, OutputFormat, Pooling, Precision, Request};
///
/// let format = FrameFormat::new(352, 288, Chroma::Yuv420, 8)?;
/// let mut request = Request::default();
/// request.features.push(FeatureSpec::parse("psnr")?);
/// let mut context = Context::new(format, request)?;
/// for _ in 0..48 {
///     let (mut reference, mut distorted) = (context.frame()?, context.frame()?);
///     // ... a reader fills both ...
///     # let _ = (reference.bytes_mut(), distorted.bytes_mut());
///     context.submit(reference, distorted)?;
/// }
/// let outcome = context.finish()?;
/// println!("{}", outcome.pooled("psnr_y", Pooling::Mean, ..)?);
/// outcome.write(OutputFormat::Json, Precision::default(), &mut std::io::stdout())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Context {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    scores: Scores,
    pool: FramePool,
    request: Request,
    features: Vec<FeatureRecord>,
    models: Vec<ModelRecord>,
    warnings: Vec<Warning>,
    /// The latest pairs, newest first, as many as some feature looks back.
    recent: VecDeque<FramePair>,
    history: usize,
    /// Number of the next frame.
    next: u64,
    started: Option<Instant>,
}

impl Context {
    /// Makes a context for clips of `format`, with the backends of this program.
    ///
    /// # Errors
    /// See [`with_backends`](Context::with_backends).
    pub fn new(format: FrameFormat, request: Request) -> Result<Self, EngineError> {
        let backends = Backend::builtin().map_err(|source| EngineError::Backend { source })?;
        Context::with_backends(format, request, &backends)
    }

    /// Makes a context for clips of `format`. A feature goes to the first device that takes it;
    /// backends are asked by [priority](vmafx_api::BackendInfo::priority), whatever their order
    /// here.
    ///
    /// # Errors
    /// [`EngineError::Refused`] with *all* reasons why these clips cannot be scored; a request
    /// that contradicts itself; a backend that broke its word.
    pub fn with_backends(
        format: FrameFormat,
        request: Request,
        backends: &[Backend],
    ) -> Result<Self, EngineError> {
        let range = |name, value, max| match value <= max {
            true => Ok(()),
            false => Err(EngineError::Range {
                name,
                value,
                min: 0,
                max,
            }),
        };
        range("threads", request.threads as u64, MAX_THREADS as u64)?;
        let shift = request.alignment_range;
        range("alignment range", shift.into(), MAX_ALIGNMENT_RANGE.into())?;
        let setup = setup::set_up(format, &request, backends)?;
        let Setup {
            registration,
            stages,
            predictors,
            names,
            features,
            models,
            warnings,
        } = setup;
        let scores = Scores::new(FeatureStore::new(names, request.subsample.get()));
        let threads = match request.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)),
            threads => threads,
        };
        let alignment = (shift > 0).then(|| Alignment::new(shift));
        let buffers = Arc::new(ValueBuffers::new(registration.values));
        let work = Work::new(registration.plans, shift > 0, buffers.clone());
        let threads = work.workers(threads);
        let shared = Arc::new(Shared {
            queue: Queue::new(Limits::new(threads, work.ahead())),
            sequencer: Mutex::new(Sequencer::new(
                stages,
                predictors,
                scores.clone(),
                alignment,
                buffers,
            )),
            work,
        });
        let mut context = Context {
            shared,
            workers: Vec::with_capacity(threads),
            scores,
            pool: FramePool::new(format),
            request,
            features,
            models,
            warnings,
            recent: VecDeque::with_capacity(registration.history + 1),
            history: registration.history,
            next: 0,
            started: None,
        };
        for number in 0..threads {
            let shared = context.shared.clone();
            let worker = std::thread::Builder::new()
                .name(format!("vmafx-{number}"))
                .spawn(move || shared.run());
            context
                .workers
                .push(worker.map_err(|source| EngineError::Thread {
                    number,
                    wanted: threads,
                    source: Arc::new(source),
                })?);
        }
        Ok(context)
    }

    /// Shape of the frames.
    pub fn format(&self) -> &FrameFormat {
        self.pool.format()
    }

    /// A frame to fill and submit: a recycled buffer with unspecified samples, or a new one.
    ///
    /// # Errors
    /// No memory for a new one, with the bytes that were wanted.
    pub fn frame(&self) -> Result<HostFrame, EngineError> {
        self.pool.acquire().map_err(EngineError::FrameMemory)
    }

    /// The features with the devices that compute them, in report order.
    pub fn features(&self) -> &[FeatureRecord] {
        &self.features
    }

    /// The models, in report order.
    pub fn models(&self) -> &[ModelRecord] {
        &self.models
    }

    /// What is known so far that a user should know. Complete in [`Outcome::warnings`].
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Worker threads: those that were asked for, or as many as the devices want frames in flight
    /// where that is less and they compute everything.
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// Frame pairs submitted so far, which is the number of the next one.
    pub fn submitted(&self) -> u64 {
        self.next
    }

    /// Adds a warning to the report.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Notes that `input` ended while the other one has more frames.
    pub fn ended_early(&mut self, input: Input) {
        let frames = self.next;
        self.warn(Warning::EndedEarly { input, frames });
    }

    /// Has `observer` called with the scores of each listed frame, in frame order, as soon as
    /// the last of them is final. It runs on a worker thread and holds up the run while it does;
    /// it may use [`Scores`]. A panic in it ends the run with an error. A second observer takes
    /// the place of the first.
    ///
    /// # Errors
    /// A call after the first frame was submitted, as the observer might miss frames.
    pub fn on_frame(
        &mut self,
        observer: impl FnMut(&FrameScores<'_>) + Send + 'static,
    ) -> Result<(), EngineError> {
        if self.next > 0 {
            return Err(EngineError::LateObserver {
                submitted: self.next,
            });
        }
        self.shared.sequencer().observer = Some(Box::new(observer));
        Ok(())
    }

    /// Submits the next frame pair. Waits while as many frames are in work as the context
    /// holds, which bounds its memory.
    ///
    /// # Errors
    /// A frame of another shape, or in memory that a device in use does not read; the failure of
    /// the run, which may be that of an earlier frame. After an error there is no outcome.
    pub fn submit(
        &mut self,
        reference: impl Into<Frame>,
        distorted: impl Into<Frame>,
    ) -> Result<(), EngineError> {
        if let Progress::Failed(error) = &self.scores.read().progress {
            return Err(error.clone());
        }
        let frame = self.next;
        let pair = FramePair {
            reference: Arc::new(reference.into()),
            distorted: Arc::new(distorted.into()),
        };
        if let Err(error) = self.admit(&pair) {
            // Failures of earlier frames come first.
            self.shared.queue.settle();
            return Err(self.shared.fail(error));
        }
        self.started.get_or_insert_with(Instant::now);
        let earlier = self.recent.iter().cloned().collect();
        let job = Job {
            frame: FrameJob::new(frame, pair.clone(), earlier),
            listed: frame.is_multiple_of(self.request.subsample.get().into()),
        };
        self.recent.truncate(self.history.saturating_sub(1));
        if self.history > 0 {
            self.recent.push_front(pair);
        }
        self.next += 1;
        match self.shared.queue.push(job) {
            true => Ok(()),
            false => Err(self.failure()),
        }
    }

    /// Waits until [`submit`](Context::submit) would not wait: a caller that fills its frames only
    /// then holds none that waits. Returns at once if the run has failed.
    pub fn ready(&self) {
        self.shared.queue.wait_for_room();
    }

    /// Whether the next frame pair is of this context and every device in use reads it.
    fn admit(&self, pair: &FramePair) -> Result<(), EngineError> {
        let (frame, expected) = (self.next, *self.pool.format());
        for (input, side) in [
            (Input::Reference, &pair.reference),
            (Input::Distorted, &pair.distorted),
        ] {
            let found = *side.format();
            if found != expected {
                return Err(EngineError::Format {
                    frame,
                    input,
                    found,
                    expected,
                });
            }
            for plan in self.shared.work.plans() {
                let admitted = worker::caught(frame, || plan.extractor.admits(side))?;
                admitted.map_err(|source| EngineError::Admission {
                    frame,
                    input,
                    device: plan.device.clone(),
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// Waits until everything submitted so far has been scored. Scores that depend on later
    /// frames stay pending.
    ///
    /// # Errors
    /// The failure of the run.
    pub fn settle(&self) -> Result<(), EngineError> {
        self.shared.queue.settle();
        match &self.scores.read().progress {
            Progress::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// A reader of the scores for any thread.
    pub fn scores(&self) -> Scores {
        self.scores.clone()
    }

    /// See [`Scores::score`].
    ///
    /// # Errors
    /// [`ScoreError::Pending`] while the score is not final; see [`Scores::score`].
    pub fn score(&self, name: &str, frame: u64) -> Result<f64, ScoreError> {
        self.scores.score(name, frame)
    }

    /// See [`Scores::pooled`].
    ///
    /// # Errors
    /// [`ScoreError::Pending`] while a score of the range is not final; see [`Scores::pooled`].
    pub fn pooled(
        &self,
        name: &str,
        pooling: Pooling,
        range: impl RangeBounds<u64>,
    ) -> Result<f64, ScoreError> {
        self.scores.pooled(name, pooling, range)
    }

    /// Ends the clip and waits for its last scores.
    ///
    /// # Errors
    /// The failure of the run; a clip without frames.
    pub fn finish(mut self) -> Result<Outcome, EngineError> {
        self.shared.queue.settle();
        self.stop();
        if let Progress::Failed(error) = &self.scores.read().progress {
            return Err(error.clone());
        }
        if self.next == 0 {
            return Err(self.shared.fail(EngineError::NoFrames));
        }
        let last = self.next - 1;
        let ending = worker::caught(last, || self.shared.sequencer().finish());
        let ending = match ending.and_then(|ending| ending) {
            Ok(ending) => ending,
            Err(error) => return Err(self.shared.fail(error)),
        };
        let seconds = self
            .started
            .map_or(0.0, |start| start.elapsed().as_secs_f64());
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.extend(ending.misaligned);
        if let Some(reason) = self.scores.read().table().spill_failure() {
            let reason = reason.to_string();
            warnings.push(Warning::ScoresInMemory { reason });
        }
        let repeats = self.shared.work.repeats();
        warnings.extend(repeats.iter().map(|repeat| Warning::Repeated {
            device: repeat.device.clone(),
            frames: repeat.frames,
        }));
        let format = self.request.clip_format.unwrap_or(*self.pool.format());
        Ok(Outcome {
            format,
            scores: self.scores.clone(),
            aggregates: ending.aggregates,
            provenance: Provenance::new(
                &self.request,
                &format,
                ending.frames,
                std::mem::take(&mut self.models),
                std::mem::take(&mut self.features),
                repeats,
                &warnings,
            ),
            warnings,
            extra_pooling: std::mem::take(&mut self.request.extra_pooling),
            seconds,
        })
    }

    fn failure(&self) -> EngineError {
        match &self.scores.read().progress {
            Progress::Failed(error) => error.clone(),
            _ => EngineError::Stopped,
        }
    }

    /// Sends the workers home. Frames that wait are dropped, frames in work are finished.
    fn stop(&mut self) {
        self.shared.queue.close();
        for worker in self.workers.drain(..) {
            if worker.join().is_err() {
                let message = "a worker thread died".to_owned();
                let frame = self.next.saturating_sub(1);
                self.shared.fail(EngineError::Panic { frame, message });
            }
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("format", self.pool.format())
            .field("features", &self.features.len())
            .field("models", &self.models.len())
            .field("threads", &self.workers.len())
            .field("submitted", &self.next)
            .finish_non_exhaustive()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.stop();
        let mut store = self.scores.write();
        if matches!(store.progress, Progress::Running) {
            store.progress = Progress::Failed(EngineError::Stopped);
        }
    }
}
