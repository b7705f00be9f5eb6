//! What a source of frames is and what it says of itself.

use std::fmt;

use vmafx_api::{Chroma, FrameFormat, HostFrame};

use crate::error::MediaError;

/// A clip, frame after frame.
///
/// After an error a source has no defined position; drop it.
pub trait Source: Send {
    /// What the source is.
    fn describe(&self) -> &SourceInfo;

    /// Shape of every frame.
    fn format(&self) -> FrameFormat {
        self.describe().format
    }

    /// Reads the next frame into `frame`, all samples of it; `false` at the end of the clip,
    /// with `frame` left in an unspecified state. A frame of the [`luma`] of the source's format
    /// takes the luma; the chroma is passed over.
    ///
    /// Samples come as the input has them. Whoever computes with them looks for those above the
    /// depth's largest value, with [`HostFrame::check_samples`].
    ///
    /// # Errors
    /// A clip without any frame, one that ends within a frame or lost its framing, a failing
    /// read, or a buffer of another format.
    fn read(&mut self, frame: &mut HostFrame) -> Result<bool, MediaError>;

    /// Passes over `frames` frames: afterwards the source reads as one from which they had been
    /// cut. Files are skipped by seeking.
    ///
    /// # Errors
    /// As [`read`](Source::read), and a clip with fewer frames left.
    fn skip(&mut self, frames: u64) -> Result<(), MediaError>;
}

/// The format of the luma planes of frames of `format`: 4:0:0, the same size and depth.
pub fn luma(format: &FrameFormat) -> FrameFormat {
    let (width, height) = (format.width(), format.height());
    FrameFormat::new(width, height, Chroma::Yuv400, format.depth())
        .expect("limits do not depend on the layout")
}

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A y4m file or stream.
    Y4m,
    /// Headerless planar frames.
    Raw,
    /// Made by formula.
    Synth,
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceKind::Y4m => "y4m",
            SourceKind::Raw => "raw",
            SourceKind::Synth => "synth",
        })
    }
}

/// Range of the sample values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourRange {
    /// 16 to 235 for luma, 16 to 240 for chroma, at 8 bits.
    Limited,
    /// All values.
    Full,
}

impl fmt::Display for ColourRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColourRange::Limited => "limited",
            ColourRange::Full => "full",
        })
    }
}

/// Order of the fields, as a y4m header tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interlace {
    /// Whole frames.
    #[default]
    Progressive,
    /// Not told by the header; read as whole frames.
    Unknown,
    /// Two fields, the top one first.
    TopFirst,
    /// Two fields, the bottom one first.
    BottomFirst,
    /// Changes from frame to frame.
    Mixed,
}

impl fmt::Display for Interlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Interlace::Progressive => "progressive",
            Interlace::Unknown => "unknown field order",
            Interlace::TopFirst => "top field first",
            Interlace::BottomFirst => "bottom field first",
            Interlace::Mixed => "mixed field order",
        })
    }
}

/// What a source says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// The input as the user named it.
    pub name: String,
    /// Kind of the source.
    pub kind: SourceKind,
    /// Shape of its frames.
    pub format: FrameFormat,
    /// Frames from its start to its end, as the size of the file tells; `None` for streams and
    /// where the size leaves it open.
    pub frames: Option<u64>,
    /// What was taken for granted because the input does not tell it.
    pub assumptions: Vec<String>,
    /// Chroma tag as written, such as `420mpeg2`; it tells the siting, which no score uses.
    pub chroma_tag: Option<String>,
    /// Range of the sample values, where told.
    pub colour_range: Option<ColourRange>,
    /// Order of the fields.
    pub interlace: Interlace,
    /// Frames per second as numerator and denominator, where told.
    pub frame_rate: Option<(u32, u32)>,
    /// Tags that no score depends on, in the order of the header.
    pub tags: Vec<String>,
}

impl SourceInfo {
    /// A source of whole frames that tells nothing but its format.
    pub(crate) fn new(name: &str, kind: SourceKind, format: FrameFormat) -> Self {
        SourceInfo {
            name: name.to_owned(),
            kind,
            format,
            frames: None,
            assumptions: Vec::new(),
            chroma_tag: None,
            colour_range: None,
            interlace: Interlace::Progressive,
            frame_rate: None,
            tags: Vec::new(),
        }
    }

    /// The format that the frames are read in, in one line for reports:
    /// `y4m 176x144 4:2:0 8-bit (no C tag: 4:2:0 8-bit)`.
    pub fn assumed(&self) -> String {
        let mut text = format!("{} {}", self.kind, self.format);
        if !self.assumptions.is_empty() {
            text += &format!(" ({})", self.assumptions.join("; "));
        }
        text
    }

    /// Refuses a buffer that is neither of the source's format nor of its luma.
    pub(crate) fn check_buffer(&self, frame: &HostFrame) -> Result<(), MediaError> {
        if [self.format, luma(&self.format)].contains(frame.format()) {
            return Ok(());
        }
        Err(MediaError::Buffer {
            input: self.name.clone(),
            wanted: self.format,
            given: *frame.format(),
        })
    }
}
