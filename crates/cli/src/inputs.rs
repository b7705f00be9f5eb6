//! The two videos: opened, compared, cut to what is to be scored.
//!
//! What must stay true: nothing is read before both are known to be of one shape; a skipped
//! frame leaves no trace in the scores, as if the file had been cut.

use std::ffi::OsStr;

use vmafx_api::{FrameFormat, HostFrame};
use vmafx_engine::{Input, InputInfo};
use vmafx_media::{PairWarning, Source, SourceInfo, SourceSpec, check_pair, open_pair};

use crate::args::ScoreArgs;
use crate::failure::{Class, Classify, Failure};

/// Reference and distorted video, ready for their first frames.
pub(crate) struct Pair {
    reference: Box<dyn Source>,
    distorted: Box<dyn Source>,
    skipped: [u64; 2],
    /// What a user should know of the videos.
    pub(crate) notes: Vec<String>,
}

/// A reading of both videos.
pub(crate) enum Reading {
    /// A frame of each.
    Frames,
    /// The end of both.
    End,
    /// This one has ended, the other has not.
    OneEnded(Input),
}

impl Pair {
    /// Opens both videos and passes over what is to be skipped.
    ///
    /// # Errors
    /// Half a description of raw video; a video that cannot be read; all differences in shape
    /// at once.
    pub(crate) fn open(args: &ScoreArgs, videos: [&OsStr; 2]) -> Result<Self, Failure> {
        let raw = raw_format(args)?;
        let spec = |video: &OsStr| {
            let mut spec = SourceSpec::new(video);
            spec.raw = raw;
            spec.interlaced_as_frames = args.interlaced_as_frames;
            spec
        };
        let opened = open_pair(&spec(videos[0]), &spec(videos[1]));
        let (mut reference, mut distorted) = opened.class(Class::Input)?;
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
        reference.skip(skipped[0]).class(Class::Input)?;
        distorted.skip(skipped[1]).class(Class::Input)?;
        Ok(Pair {
            reference,
            distorted,
            skipped,
            notes,
        })
    }

    /// Shape of all frames.
    pub(crate) fn format(&self) -> FrameFormat {
        self.reference.format()
    }

    /// What each video says of itself, reference first.
    pub(crate) fn describe(&self) -> [&SourceInfo; 2] {
        [self.reference.describe(), self.distorted.describe()]
    }

    /// What the report says of each video.
    pub(crate) fn records(&self) -> [InputInfo; 2] {
        let record = |(info, skipped): (&SourceInfo, u64)| InputInfo {
            name: info.name.clone(),
            format: info.assumed(),
            skipped,
        };
        let [reference, distorted] = self.describe();
        [
            record((reference, self.skipped[0])),
            record((distorted, self.skipped[1])),
        ]
    }

    /// Frames left in each video, where that is known.
    fn left(&self) -> [Option<u64>; 2] {
        let left = |info: &SourceInfo, skipped| Some(info.frames?.saturating_sub(skipped));
        let [reference, distorted] = self.describe();
        [
            left(reference, self.skipped[0]),
            left(distorted, self.skipped[1]),
        ]
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

    /// Reads the next frame of each.
    ///
    /// # Errors
    /// A damaged video.
    pub(crate) fn read(
        &mut self,
        reference: &mut HostFrame,
        distorted: &mut HostFrame,
    ) -> Result<Reading, Failure> {
        let first = self.reference.read(reference).class(Class::Input)?;
        let second = self.distorted.read(distorted).class(Class::Input)?;
        Ok(match (first, second) {
            (true, true) => Reading::Frames,
            (false, false) => Reading::End,
            (false, true) => Reading::OneEnded(Input::Reference),
            (true, false) => Reading::OneEnded(Input::Distorted),
        })
    }
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
