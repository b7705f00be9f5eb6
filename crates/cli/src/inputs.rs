//! The two videos: opened, compared, cut to what is to be scored, and read.
//!
//! Each video has a thread that reads a few frames ahead, so that a program that feeds both
//! (`tee`, or a decoder that writes to two FIFOs) is never kept from writing to one because the
//! frame awaited is that of the other. This works for a program that writes the two in turn, in
//! whatever order, as long as one is not further ahead than the frames read ahead
//! ([`LOOK_AHEAD`]) and what the pipe itself holds; frames that are skipped in only one of the
//! videos add to that distance. One that writes a whole video before it starts the other still
//! waits for ever, and so does the command: no bound on memory would do for it, a file would.
//!
//! What must stay true: nothing is read before both are known to be of one shape; a skipped
//! frame leaves no trace in the scores, as if the file had been cut; frames, the end and errors
//! come in the order of the video; the memory for frames read ahead is bounded; the end of the
//! program waits for no reader, for a pipe may be silent for ever.

use std::any::Any;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;

use vmafx_api::{FrameFormat, FramePool, HostFrame, panic_text};
use vmafx_engine::{EngineError, Input, InputInfo};
use vmafx_media::{PairWarning, Source, SourceInfo, SourceSpec, check_pair, luma, open_pair};

use crate::args::ScoreArgs;
use crate::failure::{Class, Classify, Failure};
use crate::plan;

/// Most frames of a video that are read or being read and wait to be taken.
const LOOK_AHEAD: usize = 4;

/// Fewest of them in a stream, however large they are. Of a file it is one.
const LEAST_AHEAD: usize = 2;

/// Bytes of a video, for each thread, that are not exceeded by frames that wait, but for the
/// fewest.
const BYTES_AHEAD: usize = 16 << 20;

/// Reference and distorted video, their first frames on the way.
pub(crate) struct Pair {
    /// Shape of the frames that are read.
    format: FrameFormat,
    /// Reference, distorted.
    videos: [Video; 2],
    /// What the readers tell, from both in the order in which it happened: number of the video
    /// and what was read.
    told: Receiver<(usize, Item)>,
    /// What a user should know of the videos.
    pub(crate) notes: Vec<String>,
}

/// One of the two.
struct Video {
    info: SourceInfo,
    skipped: u64,
    /// What was read and waits, in order. Nothing follows an end or a failure.
    ahead: VecDeque<Item>,
    /// A place for each frame that was read or is being read; the reader waits for a free one.
    places: Receiver<()>,
    /// Whether the place of the frame taken last is to be freed.
    taken: bool,
}

/// A frame, the end, or why there is neither.
type Item = Result<Option<HostFrame>, Failure>;

/// A reading of both videos.
pub(crate) enum Reading {
    /// A frame of each, reference first.
    Frames(HostFrame, HostFrame),
    /// The end of both.
    End,
    /// This one has ended, the other has not.
    OneEnded(Input),
}

impl Pair {
    /// Opens both videos, passes over what is to be skipped and starts to read, of files no more
    /// than `most` frames, and of frames only the luma unless `chroma` is set.
    ///
    /// # Errors
    /// Half a description of raw video; a video that cannot be read; all differences in shape
    /// at once; a system without threads.
    pub(crate) fn open(
        args: &ScoreArgs,
        videos: [&OsStr; 2],
        most: Option<u64>,
        chroma: bool,
    ) -> Result<Self, Failure> {
        let raw = raw_format(args)?;
        let spec = |video: &OsStr| {
            let mut spec = SourceSpec::new(video);
            spec.raw = raw;
            spec.interlaced_as_frames = args.interlaced_as_frames;
            spec
        };
        let opened = open_pair(&spec(videos[0]), &spec(videos[1]));
        let (reference, distorted) = opened.class(Class::Input)?;
        let differing = check_pair(reference.describe(), distorted.describe());
        let differing = differing.class(Class::Input)?;
        let skipped = [args.frame_skip_ref.into(), args.frame_skip_dist.into()];
        // Lengths are told with what is left to score in mind, see `Pair::uneven`.
        let mut notes: Vec<String> = differing
            .iter()
            .filter(|warning| !matches!(warning, PairWarning::Length { .. }))
            .map(ToString::to_string)
            .collect();
        for info in [reference.describe(), distorted.describe()] {
            notes.extend(high_dynamic_range(info));
        }
        let clip = reference.format();
        let format = if chroma { clip } else { luma(&clip) };
        let pool = FramePool::new(format);
        let threads = match args.threads {
            None | Some(0) => thread::available_parallelism().map_or(1, usize::from),
            Some(threads) => threads as usize,
        };
        let bytes = BYTES_AHEAD.saturating_mul(threads);
        let (tell, told) = mpsc::channel();
        let start = |number: usize, mut source: Box<dyn Source>| {
            let info = source.describe().clone();
            let (skip, most) = if info.frames.is_some() {
                // A file does not wait for anyone, and its error should come before any work.
                source.skip(skipped[number]).class(Class::Input)?;
                (0, most)
            } else {
                (skipped[number], None)
            };
            let least = if info.frames.is_some() {
                1
            } else {
                LEAST_AHEAD
            };
            let ahead = (bytes / format.frame_bytes()).clamp(least, LOOK_AHEAD);
            let (place, places) = mpsc::sync_channel(ahead);
            let reader = Reader {
                number,
                source,
                skip,
                most,
                pool: pool.clone(),
                place,
                tell: tell.clone(),
            };
            reader.start()?;
            Ok(Video {
                info,
                skipped: skipped[number],
                ahead: VecDeque::with_capacity(ahead),
                places,
                taken: false,
            })
        };
        let videos = [start(0, reference)?, start(1, distorted)?];
        Ok(Pair {
            format,
            videos,
            told,
            notes,
        })
    }

    /// Shape of the frames that are read.
    pub(crate) fn format(&self) -> FrameFormat {
        self.format
    }

    /// Shape of the frames of the videos.
    pub(crate) fn clip_format(&self) -> FrameFormat {
        self.videos[0].info.format
    }

    /// What each video says of itself, reference first.
    pub(crate) fn describe(&self) -> [&SourceInfo; 2] {
        self.videos.each_ref().map(|video| &video.info)
    }

    /// What the report says of each video.
    pub(crate) fn records(&self) -> [InputInfo; 2] {
        self.videos.each_ref().map(|video| InputInfo {
            name: video.info.name.clone(),
            format: video.info.assumed(),
            skipped: video.skipped,
        })
    }

    /// Frames left in each video, where that is known.
    fn left(&self) -> [Option<u64>; 2] {
        let left = |video: &Video| Some(video.info.frames?.saturating_sub(video.skipped));
        self.videos.each_ref().map(left)
    }

    /// Frames that will be scored, if that is known.
    pub(crate) fn frames(&self, most: Option<u64>) -> Option<u64> {
        let [reference, distorted] = self.left();
        let shorter = match (reference, distorted) {
            (Some(reference), Some(distorted)) => Some(reference.min(distorted)),
            (either, other) => either.or(other),
        };
        match (shorter, most) {
            (Some(frames), Some(most)) => Some(frames.min(most)),
            (either, other) => either.or(other),
        }
    }

    /// Frames left in each video where it is known that one ends before the other and before
    /// `most`.
    pub(crate) fn uneven(&self, most: Option<u64>) -> Option<[u64; 2]> {
        let [Some(reference), Some(distorted)] = self.left() else {
            return None;
        };
        let differ = reference != distorted;
        let early = most.is_none_or(|most| reference.min(distorted) < most);
        (differ && early).then_some([reference, distorted])
    }

    /// The next frame of each. Before the next call no frame takes the place of these.
    ///
    /// # Errors
    /// A damaged video. Nothing can be read after it.
    pub(crate) fn read(&mut self) -> Result<Reading, Failure> {
        for video in &mut self.videos {
            video.free();
        }
        while !self.is_ready() {
            self.hear()?;
        }
        for video in &mut self.videos {
            if matches!(video.ahead.front(), Some(Err(_))) {
                video.take()?;
            }
        }
        let [reference, distorted] = &mut self.videos;
        Ok(match (reference.take()?, distorted.take()?) {
            (Some(reference), Some(distorted)) => Reading::Frames(reference, distorted),
            (None, None) => Reading::End,
            (None, Some(_)) => Reading::OneEnded(Input::Reference),
            (Some(_), None) => Reading::OneEnded(Input::Distorted),
        })
    }

    /// Whether it is known how the next reading ends.
    fn is_ready(&self) -> bool {
        let [reference, distorted] = &self.videos;
        match (reference.ahead.front(), distorted.ahead.front()) {
            (Some(_), Some(_)) => true,
            // A stream may be silent for ever; a file is waited for, so that of two failures at
            // one frame always the same is told.
            (None, Some(Err(_))) => reference.is_stream(),
            (Some(Err(_)), None) => distorted.is_stream(),
            _ => false,
        }
    }

    /// Takes in what the readers tell next.
    fn hear(&mut self) -> Result<(), Failure> {
        let (number, mut item) = self.told.recv().map_err(|_| {
            let text = "a video was read after its end; please report this";
            Failure::new(Class::Internal, text)
        })?;
        let other = 1 - number;
        let streams = self.videos.iter().all(Video::is_stream);
        let length = |number: usize| self.videos[number].ahead.len();
        let first = (length(number) + 1, number) < (length(other), other);
        let ended = !matches!(item, Ok(Some(_)));
        if let Some(failed @ Err(_)) = self.videos[other].ahead.back_mut() {
            // A stream that failed is closed, which may stop the program that feeds both. So the
            // end that comes after it, but for an earlier frame, has that failure as its cause.
            if streams && ended && first {
                mem::swap(&mut item, failed);
            }
        }
        self.videos[number].ahead.push_back(item);
        Ok(())
    }
}

impl Video {
    /// Whether the video comes from another program, as far as is known.
    fn is_stream(&self) -> bool {
        self.info.frames.is_none()
    }

    /// Lets the reader have the place of the frame taken last.
    fn free(&mut self) {
        if mem::take(&mut self.taken) {
            // It is there: the reader took the place before the frame.
            let _ = self.places.try_recv();
        }
    }

    /// The first of what waits. The end stays.
    fn take(&mut self) -> Item {
        let item = self.ahead.pop_front().unwrap_or(Ok(None));
        match item {
            Ok(Some(_)) => self.taken = true,
            Ok(None) => self.ahead.push_front(Ok(None)),
            Err(_) => {}
        }
        item
    }
}

/// Reads one video on its own thread.
struct Reader {
    /// Number of the video.
    number: usize,
    source: Box<dyn Source>,
    /// Frames to pass over first.
    skip: u64,
    /// Frames after which the video counts as ended.
    most: Option<u64>,
    pool: FramePool,
    place: SyncSender<()>,
    tell: Sender<(usize, Item)>,
}

impl Reader {
    /// Starts the thread. Nobody waits for it: it ends with the video, with its [`Pair`] or, in
    /// a read that nothing comes for, with the program.
    fn start(self) -> Result<(), Failure> {
        let video = self.source.describe().name.clone();
        let (number, tell) = (self.number, self.tell.clone());
        let read = move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run())) {
                let _ = tell.send((number, Err(panicked(panic))));
            }
        };
        let builder = thread::Builder::new().name(format!("vmafx-video-{number}"));
        let started = builder.spawn(read).map(drop);
        let text = |error| format!("cannot start the thread that reads {video}: {error}");
        started.map_err(text).class(Class::Internal)
    }

    fn run(mut self) {
        // Whatever fails to be told concerns nobody any more. The source is closed only after
        // its failure has been told, see `Pair::hear`.
        if let Err(failure) = self.source.skip(self.skip).class(Class::Input) {
            let _ = self.tell.send((self.number, Err(failure)));
            return;
        }
        while self.place.send(()).is_ok() {
            let item = self.next();
            let ended = !matches!(item, Ok(Some(_)));
            if self.tell.send((self.number, item)).is_err() || ended {
                return;
            }
        }
    }

    fn next(&mut self) -> Item {
        if let Some(most) = &mut self.most {
            if *most == 0 {
                return Ok(None);
            }
            *most -= 1;
        }
        let frame = self.pool.acquire();
        let mut frame = frame.map_err(|error| plan::engine(EngineError::FrameMemory(error)))?;
        let read = self.source.read(&mut frame).class(Class::Input)?;
        Ok(read.then_some(frame))
    }
}

/// The failure of a reader that panicked.
fn panicked(panic: Box<dyn Any + Send>) -> Failure {
    let text = panic_text(panic);
    let text = format!("a video could not be read: {text}; please report this");
    Failure::new(Class::Internal, text)
}

/// The raw format that the options describe, if they do.
fn raw_format(args: &ScoreArgs) -> Result<Option<FrameFormat>, Failure> {
    match (args.width, args.height, args.pixel_format, args.bitdepth) {
        (None, None, None, None) => Ok(None),
        (Some(width), Some(height), Some(chroma), Some(depth)) => {
            FrameFormat::new(width, height, chroma, depth)
                .map(Some)
                .class(Class::Usage)
        }
        (width, height, chroma, depth) => {
            let given = [
                ("--width", width.is_some()),
                ("--height", height.is_some()),
                ("--pixel_format", chroma.is_some()),
                ("--bitdepth", depth.is_some()),
            ];
            let missing = given.iter().filter(|(_, given)| !given);
            let missing: Vec<_> = missing.map(|(option, _)| *option).collect();
            Err(Failure::usage(format!(
                "raw video also needs {}",
                missing.join(", ")
            )))
        }
    }
}

/// A note where a tag says that the transfer function is PQ or HLG.
fn high_dynamic_range(info: &SourceInfo) -> Option<String> {
    const WORDS: [&str; 6] = ["pq", "hlg", "st2084", "smpte2084", "hdr10", "arib-std-b67"];
    let tag = info.tags.iter().find(|tag| {
        let tag = tag.to_lowercase();
        let mut words = tag.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        words.any(|word| WORDS.contains(&word))
    })?;
    Some(format!(
        "{} is tagged {tag}: the models know only standard dynamic range, their scores of such \
         video mean little",
        info.name
    ))
}
