//! Headerless planar frames: Y, then Cb, then Cr, rows without padding, samples of more than 8
//! bits as little-endian words.
//!
//! Nothing in the bytes tells their meaning, so all that can be checked is: a file's size must
//! be a whole number of frames, its first bytes must not be those of a well-known other type,
//! and no sample may exceed the depth.

use vmafx_api::{FrameFormat, HostFrame};

use crate::container::{self, PROBE};
use crate::error::MediaError;
use crate::input::Input;
use crate::source::{Source, SourceInfo, SourceKind};

/// A raw clip.
pub struct RawSource {
    input: Input,
    info: SourceInfo,
    frame: u64,
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
        let mut info = SourceInfo::new(input.name(), SourceKind::Raw, format);
        if let Some(size) = input.size() {
            let (frames, rest) = (size / frame_bytes, size % frame_bytes);
            if size == 0 {
                return Err(no_frames(&info.name));
            }
            if rest != 0 {
                return Err(MediaError::RawSize {
                    input: info.name,
                    size,
                    format,
                    frame_bytes,
                    frames,
                    rest,
                });
            }
            info.frames = Some(frames);
        }
        Ok(RawSource {
            input,
            info,
            frame: 0,
        })
    }

    fn truncated(&self, got: u64) -> MediaError {
        MediaError::TruncatedFrame {
            input: self.info.name.clone(),
            frame: self.frame,
            offset: self.input.offset() - got,
            wanted: self.info.format.frame_bytes() as u64,
            got,
        }
    }
}

fn no_frames(name: &str) -> MediaError {
    MediaError::NoFrames {
        input: name.to_owned(),
        what: "it is empty",
    }
}

impl Source for RawSource {
    fn describe(&self) -> &SourceInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError> {
        self.info.check_buffer(frame)?;
        let got = fill_frame(&mut self.input, frame)?;
        // A file that is shorter now than when it was opened has lost frames.
        let at_end = self.info.frames.is_none_or(|frames| self.frame >= frames);
        match got {
            0 if at_end && self.frame == 0 => Err(no_frames(&self.info.name)),
            0 if at_end => Ok(false),
            _ if got < frame.bytes_mut().len() => Err(self.truncated(got as u64)),
            _ => {
                check_samples(frame, &self.info.name, self.frame)?;
                self.frame += 1;
                Ok(true)
            }
        }
    }

    fn skip(&mut self, frames: u64) -> Result<(), MediaError> {
        let frame_bytes = self.info.format.frame_bytes() as u64;
        for done in 0..frames {
            match self.input.pass(frame_bytes)? {
                0 if self.frame == 0 => return Err(no_frames(&self.info.name)),
                0 => {
                    return Err(MediaError::SkipPastEnd {
                        input: self.info.name.clone(),
                        skip: frames,
                        frames: done,
                    });
                }
                got if got < frame_bytes => return Err(self.truncated(got)),
                _ => self.frame += 1,
            }
        }
        Ok(())
    }
}

/// Reads the samples of a frame; fewer bytes than the frame has mean the end of the input.
pub(crate) fn fill_frame(input: &mut Input, frame: &mut HostFrame) -> Result<usize, MediaError> {
    let got = input.fill(frame.bytes_mut())?;
    if cfg!(target_endian = "big") {
        for word in frame.words_mut() {
            *word = u16::from_le(*word);
        }
    }
    Ok(got)
}

/// Refuses a frame with a sample that its depth cannot hold.
pub(crate) fn check_samples(frame: &HostFrame, input: &str, number: u64) -> Result<(), MediaError> {
    frame.check_samples().map_err(|source| MediaError::Sample {
        input: input.to_owned(),
        frame: number,
        source,
    })
}
