//! Reads and writes y4m: a header line, then for each frame a line that starts with `FRAME` and
//! the samples as a raw file has them.
//!
//! What must stay true: the samples equal those of the raw file of the same clip for every
//! layout, depth and size; frames line up however long the lines are; and a frame that does not
//! start where it must ends the reading.

mod header;
#[cfg(test)]
mod tests;
mod writer;

use vmafx_api::HostFrame;

use crate::error::{MediaError, excerpt};
use crate::frame_reader::FrameReader;
use crate::input::{Input, LineEnd};
use crate::source::{Source, SourceInfo};

pub(crate) use header::MAGIC;
pub use writer::Y4mWriter;

/// Longest header or FRAME line that is read, in bytes.
pub const MAX_LINE: u64 = 64 << 10;

const FRAME: &[u8] = b"FRAME";

/// A y4m clip.
pub struct Y4mSource {
    reader: FrameReader,
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
        let info = header::parse(&line, &name, interlaced_as_frames)?;

        // A header may promise gigabytes: where the size is known, a first frame that cannot be
        // there is refused before anyone makes room for it.
        let frame_bytes = info.format.frame_bytes() as u64;
        let offset = input.offset();
        let rest = input.size().map(|size| size.saturating_sub(offset));
        let mut reader = FrameReader::new(input, info, "it ends after its y4m header");
        if let Some(rest) = rest {
            let line_bytes = FRAME.len() as u64 + 1;
            let with_line = frame_bytes + line_bytes;
            if rest == 0 {
                reader.end()?;
            }
            if rest < with_line {
                return Err(MediaError::TruncatedFrame {
                    input: name,
                    frame: 0,
                    offset: offset + line_bytes,
                    wanted: frame_bytes,
                    got: rest.saturating_sub(line_bytes),
                });
            }
            // With parameters on the FRAME lines the size does not tell the count.
            let plain = reader.input.peek(FRAME.len() + 1, FRAME.len() + 1)? == b"FRAME\n";
            if plain && rest.is_multiple_of(with_line) {
                reader.info.frames = Some(rest / with_line);
            }
        }
        Ok(Y4mSource { reader, line })
    }

    /// Reads the line before a frame; `false` at the end of the clip.
    fn frame_line(&mut self) -> Result<bool, MediaError> {
        let reader = &mut self.reader;
        let offset = reader.input.offset();
        let mut word = [0; FRAME.len() + 1];
        let got = reader.input.fill(&mut word)?;
        if got == 0 {
            reader.end()?;
            return Ok(false);
        }
        let input = || reader.info.name.clone();
        let frame = reader.frame;
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
        match reader.input.line(&mut self.line, MAX_LINE)? {
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
}

impl Source for Y4mSource {
    fn describe(&self) -> &SourceInfo {
        &self.reader.info
    }

    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError> {
        self.reader.info.check_buffer(frame)?;
        if !self.frame_line()? {
            return Ok(false);
        }
        let got = self.reader.fill(frame)?;
        self.reader.count(got)?;
        Ok(true)
    }

    fn skip(&mut self, frames: u64) -> Result<(), MediaError> {
        for passed in 0..frames {
            if !self.frame_line()? {
                return Err(self.reader.ended_while_skipping(frames, passed));
            }
            let got = self.reader.pass()?;
            self.reader.count(got)?;
        }
        Ok(())
    }
}
