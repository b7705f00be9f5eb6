//! Reads y4m: a header line, then for each frame a line that starts with `FRAME` and the samples
//! as a raw file has them.
//!
//! What must stay true: the samples equal those of the raw file of the same clip for every
//! layout, depth and size; frames line up however long the lines are; and a frame that does not
//! start where it must ends the reading.

mod header;
#[cfg(test)]
mod tests;

use vmafx_api::HostFrame;

use crate::error::{MediaError, excerpt};
use crate::input::{Input, LineEnd};
use crate::raw::{check_samples, fill_frame};
use crate::source::{Source, SourceInfo};

pub(crate) use header::MAGIC;

/// Longest header or FRAME line that is read, in bytes.
pub const MAX_LINE: u64 = 64 << 10;

const FRAME: &[u8] = b"FRAME";

/// A y4m clip.
pub struct Y4mSource {
    input: Input,
    info: SourceInfo,
    frame: u64,
    line: Vec<u8>,
}

impl Y4mSource {
    /// Reads the header. Interlaced material is refused unless `interlaced_as_frames`.
    ///
    /// # Errors
    /// A header that is damaged, too long or asks for what is not supported; a file without a
    /// frame; a failing read.
    pub fn new(mut input: Input, interlaced_as_frames: bool) -> Result<Self, MediaError> {
        let name = input.name().to_owned();
        let start = input.peek(MAGIC.len() + 1, MAGIC.len() + 1)?;
        if !start.starts_with(MAGIC) || !matches!(start.get(MAGIC.len()), Some(b' ' | b'\n') | None)
        {
            return Err(MediaError::Unrecognised {
                input: name,
                found: excerpt(start),
            });
        }
        let mut line = Vec::new();
        match input.line(&mut line, MAX_LINE)? {
            LineEnd::Newline => {}
            LineEnd::EndOfInput => {
                return Err(MediaError::TruncatedHeader {
                    input: name,
                    got: line.len() as u64,
                });
            }
            LineEnd::TooLong => {
                return Err(MediaError::LineLength {
                    input: name,
                    line: "header",
                    offset: 0,
                    limit: MAX_LINE,
                });
            }
        }
        let mut info = header::parse(&line, &name, interlaced_as_frames)?;

        // A header may promise gigabytes: where the size is known, a first frame that cannot be
        // there is refused before anyone makes room for it.
        let frame_bytes = info.format.frame_bytes() as u64;
        if let Some(rest) = input.size().map(|size| size.saturating_sub(input.offset())) {
            let with_line = frame_bytes + FRAME.len() as u64 + 1;
            if rest == 0 {
                return Err(no_frames(name));
            }
            if rest < with_line {
                return Err(MediaError::TruncatedFrame {
                    input: name,
                    frame: 0,
                    offset: input.offset() + FRAME.len() as u64 + 1,
                    wanted: frame_bytes,
                    got: rest.saturating_sub(FRAME.len() as u64 + 1),
                });
            }
            if rest.is_multiple_of(with_line) {
                info.frames = Some(rest / with_line);
            }
        }
        Ok(Y4mSource {
            input,
            info,
            frame: 0,
            line,
        })
    }

    /// Reads the line before a frame; `false` at the end of the clip.
    fn frame_line(&mut self) -> Result<bool, MediaError> {
        let offset = self.input.offset();
        let mut word = [0; FRAME.len() + 1];
        let got = self.input.fill(&mut word)?;
        let input = || self.info.name.clone();
        let frame = self.frame;
        if got == 0 {
            return if frame == 0 {
                Err(no_frames(input()))
            } else {
                Ok(false)
            };
        }
        if got <= FRAME.len() && FRAME.starts_with(&word[..got]) {
            return Err(MediaError::TruncatedFrameLine {
                input: input(),
                frame,
                offset,
            });
        }
        if !word.starts_with(FRAME) || !matches!(word[FRAME.len()], b' ' | b'\n') {
            return Err(MediaError::LostFrame {
                input: input(),
                frame,
                offset,
                found: excerpt(&word[..got]),
            });
        }
        if word[FRAME.len()] == b'\n' {
            return Ok(true);
        }
        match self.input.line(&mut self.line, MAX_LINE)? {
            LineEnd::Newline => Ok(true),
            LineEnd::EndOfInput => Err(MediaError::TruncatedFrameLine {
                input: input(),
                frame,
                offset,
            }),
            LineEnd::TooLong => Err(MediaError::LineLength {
                input: input(),
                line: "FRAME",
                offset,
                limit: MAX_LINE,
            }),
        }
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

fn no_frames(input: String) -> MediaError {
    MediaError::NoFrames {
        input,
        what: "it ends after its y4m header",
    }
}

impl Source for Y4mSource {
    fn describe(&self) -> &SourceInfo {
        &self.info
    }

    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError> {
        self.info.check_buffer(frame)?;
        if !self.frame_line()? {
            return Ok(false);
        }
        let got = fill_frame(&mut self.input, frame)?;
        if got < frame.bytes_mut().len() {
            return Err(self.truncated(got as u64));
        }
        check_samples(frame, &self.info.name, self.frame)?;
        self.frame += 1;
        Ok(true)
    }

    fn skip(&mut self, frames: u64) -> Result<(), MediaError> {
        let frame_bytes = self.info.format.frame_bytes() as u64;
        for done in 0..frames {
            if !self.frame_line()? {
                return Err(MediaError::SkipPastEnd {
                    input: self.info.name.clone(),
                    skip: frames,
                    frames: done,
                });
            }
            let got = self.input.pass(frame_bytes)?;
            if got < frame_bytes {
                return Err(self.truncated(got));
            }
            self.frame += 1;
        }
        Ok(())
    }
}
