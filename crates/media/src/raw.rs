//! Headerless planar frames: Y, then Cb, then Cr, rows without padding, samples of more than 8
//! bits as little-endian words.
//!
//! Nothing in the bytes tells their meaning, so all that can be checked is: a file's size must
//! be a whole number of frames, and its first bytes must not be those of a well-known other type.

use vmafx_api::{FrameFormat, HostFrame};

use crate::container::{self, PROBE};
use crate::error::MediaError;
use crate::frame_reader::FrameReader;
use crate::input::Input;
use crate::source::{Source, SourceInfo, SourceKind};

/// A raw clip.
pub struct RawSource {
    reader: FrameReader,
}

impl RawSource {
    /// Takes `input` as frames of `format`. Of a pipe the start of the first frame is waited for.
    ///
    /// # Errors
    /// A file without a whole number of frames, or without any; the first bytes of a well-known
    /// other type; a failing read.
    pub fn new(mut input: Input, format: FrameFormat) -> Result<Self, MediaError> {
        let frame_bytes = format.frame_bytes() as u64;
        let least = match input.size() {
            Some(_) => PROBE,
            None => format.frame_bytes().min(PROBE),
        };
        if let Some(found) = container::identify(input.peek(least, PROBE)?) {
            return Err(MediaError::Container {
                input: input.name().to_owned(),
                container: found.name,
                remedy: found.remedy,
            });
        }
        let size = input.size();
        let info = SourceInfo::new(input.name(), SourceKind::Raw, format);
        let mut reader = FrameReader::new(input, info, "it is empty");
        if let Some(size) = size {
            let (frames, rest) = (size / frame_bytes, size % frame_bytes);
            if size == 0 {
                reader.end()?;
            }
            if rest != 0 {
                return Err(MediaError::RawSize {
                    input: reader.info.name,
                    size,
                    format,
                    frame_bytes,
                    frames,
                    rest,
                });
            }
            reader.info.frames = Some(frames);
        }
        Ok(RawSource { reader })
    }
}

impl Source for RawSource {
    fn describe(&self) -> &SourceInfo {
        &self.reader.info
    }

    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError> {
        let reader = &mut self.reader;
        reader.info.check_buffer(frame)?;
        let got = reader.fill(frame)?;
        // A file that is shorter now than when it was opened has lost frames.
        let may_end = reader.info.frames.is_none_or(|all| reader.frame >= all);
        if got == 0 && may_end {
            reader.end()?;
            return Ok(false);
        }
        reader.count(got)?;
        Ok(true)
    }

    fn skip(&mut self, frames: u64) -> Result<(), MediaError> {
        let reader = &mut self.reader;
        for passed in 0..frames {
            let got = reader.pass()?;
            if got == 0 {
                reader.end()?;
                return Err(reader.ended_while_skipping(frames, passed));
            }
            reader.count(got)?;
        }
        Ok(())
    }
}
