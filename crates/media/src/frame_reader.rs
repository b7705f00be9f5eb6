//! What the y4m and the raw reader have in common: the input, the number of the next frame, and
//! the samples of a frame, which both hold as a raw file has them.
//!
//! What must stay true: a frame counts only once all its bytes are there.

use vmafx_api::HostFrame;

use crate::error::MediaError;
use crate::input::Input;
use crate::source::SourceInfo;

/// Reads the samples of one frame after another.
pub(crate) struct FrameReader {
    pub(crate) input: Input,
    pub(crate) info: SourceInfo,
    /// Number of the next frame.
    pub(crate) frame: u64,
    /// What a clip without frames is, in words.
    empty: &'static str,
}

impl FrameReader {
    pub(crate) fn new(input: Input, info: SourceInfo, empty: &'static str) -> Self {
        FrameReader {
            input,
            info,
            frame: 0,
            empty,
        }
    }

    fn frame_bytes(&self) -> u64 {
        self.info.format.frame_bytes() as u64
    }

    /// Reads the samples of the next frame, or its luma and passes over the rest, as `frame` has
    /// it; fewer bytes than the frame has mean the end of the input.
    pub(crate) fn fill(&mut self, frame: &mut HostFrame) -> Result<u64, MediaError> {
        let samples = frame.bytes_mut();
        let mut got = self.input.fill(samples)? as u64;
        if got == samples.len() as u64 {
            got += self.input.pass(self.frame_bytes() - got)?;
        }
        if cfg!(target_endian = "big") {
            for word in frame.words_mut() {
                *word = u16::from_le(*word);
            }
        }
        Ok(got)
    }

    /// Passes over the samples of the next frame; fewer bytes than it has mean the end of the
    /// input.
    pub(crate) fn pass(&mut self) -> Result<u64, MediaError> {
        self.input.pass(self.frame_bytes())
    }

    /// Counts the frame of which `got` bytes were there.
    pub(crate) fn count(&mut self, got: u64) -> Result<(), MediaError> {
        let wanted = self.frame_bytes();
        if got < wanted {
            return Err(MediaError::TruncatedFrame {
                input: self.info.name.clone(),
                frame: self.frame,
                offset: self.input.offset() - got,
                wanted,
                got,
            });
        }
        self.frame += 1;
        Ok(())
    }

    /// Refuses a clip that ends before its first frame.
    pub(crate) fn end(&self) -> Result<(), MediaError> {
        if self.frame > 0 {
            return Ok(());
        }
        Err(MediaError::NoFrames {
            input: self.info.name.clone(),
            what: self.empty,
        })
    }

    /// The clip ended after `passed` of the `skip` frames that were to be skipped.
    pub(crate) fn ended_while_skipping(&self, skip: u64, passed: u64) -> MediaError {
        MediaError::SkipPastEnd {
            input: self.info.name.clone(),
            skip,
            frames: passed,
        }
    }
}
