//! What can be wrong with an input or an output. Every sentence names it, the value at fault, the
//! limit and, where there is one, the way out.

use std::fmt;
use std::io;

use vmafx_api::{FormatError, FrameFormat};

use crate::source::Interlace;

/// Why frames cannot be had from an input, or not be written to an output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The operating system does not open it.
    #[error("cannot open {input}: {source}")]
    Open {
        /// Input as the user named it.
        input: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The operating system fails to read it.
    #[error("cannot read {input} at byte {offset}: {source}")]
    Read {
        /// Input as the user named it.
        input: String,
        /// Bytes read so far.
        offset: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A directory instead of a file.
    #[error("no frames in {input}: it is a directory; name a y4m or raw video file")]
    Directory {
        /// Input as the user named it.
        input: String,
    },
    /// Well formed as far as it goes, but without a frame.
    #[error("no frames in {input}: {what}")]
    NoFrames {
        /// Input as the user named it.
        input: String,
        /// What is there instead.
        what: &'static str,
    },
    /// Not y4m, and nothing says how to read it as raw.
    #[error(
        "{input} is not a y4m file (it starts with {found}); for raw video give width, height, \
         pixel format and bit depth"
    )]
    Unrecognised {
        /// Input as the user named it.
        input: String,
        /// First bytes.
        found: String,
    },
    /// A compressed or otherwise packed file where plain frames are wanted.
    #[error("{input} is {container}, not plain frames; {remedy}")]
    Container {
        /// Input as the user named it.
        input: String,
        /// What it is, with its article.
        container: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A raw file whose size does not fit the format.
    #[error(
        "{input} has {size} bytes, which is not a whole number of {format} frames of {frame_bytes} \
         bytes ({frames} frames and {rest} bytes over); check width, height, pixel format and bit \
         depth"
    )]
    RawSize {
        /// Input as the user named it.
        input: String,
        /// Bytes in the file.
        size: u64,
        /// Format that was given.
        format: FrameFormat,
        /// Bytes of one frame.
        frame_bytes: u64,
        /// Whole frames in the file.
        frames: u64,
        /// Bytes after the last whole frame.
        rest: u64,
    },
    /// The input ends within a frame.
    #[error(
        "{input} ends within frame {frame}: its samples start at byte {offset} and take {wanted} \
         bytes, {got} are there"
    )]
    TruncatedFrame {
        /// Input as the user named it.
        input: String,
        /// Number of the frame, from 0.
        frame: u64,
        /// Where its samples start.
        offset: u64,
        /// Bytes of a frame.
        wanted: u64,
        /// Bytes that are there.
        got: u64,
    },
    /// The input ends within the line before a frame.
    #[error("{input} ends within the FRAME line of frame {frame}, which starts at byte {offset}")]
    TruncatedFrameLine {
        /// Input as the user named it.
        input: String,
        /// Number of the frame, from 0.
        frame: u64,
        /// Where the line starts.
        offset: u64,
    },
    /// Something else where a frame must start.
    #[error(
        "{input} lost its framing: frame {frame} should start with FRAME at byte {offset}, found \
         {found}; the header's size, chroma tag or depth does not fit the samples, or the file is \
         damaged"
    )]
    LostFrame {
        /// Input as the user named it.
        input: String,
        /// Number of the frame, from 0.
        frame: u64,
        /// Where it should start.
        offset: u64,
        /// What is there.
        found: String,
    },
    /// A y4m line that does not end.
    #[error("{input}: the {line} line at byte {offset} is longer than {limit} bytes")]
    LineLength {
        /// Input as the user named it.
        input: String,
        /// `header` or `FRAME`.
        line: &'static str,
        /// Where the line starts.
        offset: u64,
        /// Longest line read.
        limit: u64,
    },
    /// The input ends before the header does.
    #[error("{input} ends within its y4m header, after {got} bytes")]
    TruncatedHeader {
        /// Input as the user named it.
        input: String,
        /// Bytes that are there.
        got: u64,
    },
    /// A y4m header without a size.
    #[error("{input}: the y4m header has no {tag} tag, so the {what} is unknown")]
    MissingTag {
        /// Input as the user named it.
        input: String,
        /// Letter of the tag.
        tag: char,
        /// What the tag tells.
        what: &'static str,
    },
    /// A y4m tag with a value that the format does not have.
    #[error("{input}: y4m tag {tag} is not {wanted}")]
    Tag {
        /// Input as the user named it.
        input: String,
        /// The tag as written.
        tag: String,
        /// What the tag must hold.
        wanted: &'static str,
    },
    /// A y4m tag that is there twice with two values.
    #[error("{input}: the y4m header has both {first} and {second}")]
    TagConflict {
        /// Input as the user named it.
        input: String,
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// A chroma layout that is not scored.
    #[error(
        "{input}: chroma layout {tag} is not supported; supported are 4:0:0 (mono), 4:2:0, 4:2:2 \
         and 4:4:4 of 8 to 16 bits, convert it to one of these"
    )]
    Chroma {
        /// Input as the user named it.
        input: String,
        /// The tag as written.
        tag: String,
    },
    /// Interlaced material, unless asked for.
    #[error(
        "{input}: interlaced y4m is not supported ({tag}, {order}); deinterlace it, or ask to read \
         interlaced frames as they are"
    )]
    Interlaced {
        /// Input as the user named it.
        input: String,
        /// The tag as written.
        tag: String,
        /// Order of the fields.
        order: Interlace,
    },
    /// Size or depth outside the limits.
    #[error("{input}: {source}")]
    Format {
        /// Input as the user named it.
        input: String,
        /// Which number, and its limits.
        source: FormatError,
    },
    /// Fewer frames than are to be skipped.
    #[error("cannot skip {skip} frames of {input}: it has {frames}")]
    SkipPastEnd {
        /// Input as the user named it.
        input: String,
        /// Frames to skip.
        skip: u64,
        /// Frames that were left.
        frames: u64,
    },
    /// A buffer of another shape than the input's frames.
    #[error("frames of {input} are {wanted}, the buffer to read into is {given}")]
    Buffer {
        /// Input as the user named it.
        input: String,
        /// Format of the input.
        wanted: FrameFormat,
        /// Format of the buffer.
        given: FrameFormat,
    },
    /// The operating system fails to write a y4m file.
    #[error("cannot write {output}: {source}")]
    Write {
        /// Name of the output.
        output: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A frame of another shape than those of the y4m file that it is written to.
    #[error("frames of {output} are {wanted}, the frame to write is {given}")]
    WrittenFormat {
        /// Name of the output.
        output: String,
        /// Format of the output.
        wanted: FrameFormat,
        /// Format of the frame.
        given: FrameFormat,
    },
    /// Both inputs are standard input.
    #[error(
        "reference {reference} and distorted {distorted} are both standard input; only one can be"
    )]
    TwoStdin {
        /// Name of the reference.
        reference: String,
        /// Name of the distorted input.
        distorted: String,
    },
    /// Both inputs are one pipe.
    #[error(
        "reference {reference} and distorted {distorted} are one and the same pipe; each needs its \
         own"
    )]
    SamePipe {
        /// Name of the reference.
        reference: String,
        /// Name of the distorted input.
        distorted: String,
    },
    /// Two inputs whose frames cannot be compared.
    #[error("reference {reference} and distorted {distorted} do not match: {differences}")]
    Mismatch {
        /// Name of the reference.
        reference: String,
        /// Name of the distorted input.
        distorted: String,
        /// All that differs.
        differences: Differences,
    },
    /// A raw format together with an input that has its own.
    #[error(
        "{input} is {own} by itself; the raw format {given} that was given is not for it: leave \
         width, height, pixel format and bit depth out"
    )]
    RawFormat {
        /// Input as the user named it.
        input: String,
        /// What the input is.
        own: String,
        /// Format that was given.
        given: FrameFormat,
    },
    /// A word in a synthetic source that has no meaning there.
    #[error("{input}: unknown {what} `{word}`; known are {known}")]
    SynthWord {
        /// Input as the user named it.
        input: String,
        /// Kind of word.
        what: &'static str,
        /// The word.
        word: String,
        /// All words of that kind.
        known: String,
    },
    /// A value in a synthetic source outside its range.
    #[error("{input}: {what} `{value}` is not {wanted}")]
    SynthValue {
        /// Input as the user named it.
        input: String,
        /// Parameter or distortion.
        what: String,
        /// What was given.
        value: String,
        /// What it takes.
        wanted: String,
    },
}

/// What differs between two formats, in words: `size 64x64 and 32x32, depth 8 and 10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Differences {
    /// Format of the reference.
    pub reference: FrameFormat,
    /// Format of the distorted input.
    pub distorted: FrameFormat,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (r, d) = (&self.reference, &self.distorted);
        let mut separator = "";
        if (r.width(), r.height()) != (d.width(), d.height()) {
            let (rw, rh, dw, dh) = (r.width(), r.height(), d.width(), d.height());
            write!(f, "size {rw}x{rh} and {dw}x{dh}")?;
            separator = ", ";
        }
        if r.chroma() != d.chroma() {
            write!(f, "{separator}chroma {} and {}", r.chroma(), d.chroma())?;
            separator = ", ";
        }
        if r.depth() != d.depth() {
            write!(f, "{separator}depth {} and {} bits", r.depth(), d.depth())?;
        }
        Ok(())
    }
}

/// Bytes from an input as text fit for a message: printable, at most 64 bytes of them.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 64;
    let text = bytes[..bytes.len().min(SHOWN)].escape_ascii();
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{text}{dots}`")
}
