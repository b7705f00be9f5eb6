//! The first line of a y4m file, read and written: `YUV4MPEG2` and tags, each a letter and its
//! value, with spaces between them.
//!
//! The tags are those of mjpegtools' yuv4mpeg(5) and of ffmpeg's writer, which adds depths
//! (`C420p10`) and X tags. What must stay true: a tag that changes the meaning of the samples is
//! either understood or refused, and a tag that does not never gets in the way: where it cannot be
//! understood, that is noted among the assumptions.

use vmafx_api::{Chroma, FrameFormat};

use crate::error::{MediaError, excerpt};
use crate::source::{ColourRange, Interlace, SourceInfo, SourceKind};

/// First word of a y4m file.
pub(crate) const MAGIC: &[u8] = b"YUV4MPEG2";

/// Reads the header line, given without its newline; `name` is for messages.
///
/// Interlaced material is refused unless `interlaced_as_frames`.
pub(super) fn parse(
    line: &[u8],
    name: &str,
    interlaced_as_frames: bool,
) -> Result<SourceInfo, MediaError> {
    let tags = Tags {
        input: name,
        all: line[MAGIC.len()..]
            .split(|&b| b == b' ')
            .filter(|tag| !tag.is_empty())
            .collect(),
    };
    let width = tags.dimension(b"W", "width")?;
    let height = tags.dimension(b"H", "height")?;
    let mut assumptions = Vec::new();
    let (chroma, depth) = tags.chroma(&mut assumptions)?;
    let format =
        FrameFormat::new(width, height, chroma, depth).map_err(|source| MediaError::Format {
            input: name.to_owned(),
            source,
        })?;

    let mut info = SourceInfo::new(name, SourceKind::Y4m, format);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    info.chroma_tag = tags.only(b"C")?.map(|tag| text(&tag[1..]));
    info.interlace = tags.interlace(interlaced_as_frames, &mut assumptions)?;
    info.frame_rate = tags.frame_rate(&mut assumptions);
    info.colour_range = tags.colour_range(&mut assumptions);
    tags.note("A", "pixel aspect", &mut assumptions);
    info.assumptions = assumptions;
    info.tags = tags
        .all
        .iter()
        .filter(|tag| !b"WHCIF".contains(&tag[0]))
        .map(|tag| text(tag))
        .collect();
    Ok(info)
}

/// The header line, without its newline, of progressive frames of `format`.
pub(super) fn line(format: &FrameFormat, frame_rate: Option<(u32, u32)>) -> String {
    let (width, height) = (format.width(), format.height());
    // yuv4mpeg(5): 0:0 stands for an unknown rate. Other readers insist on the tag.
    let (numerator, denominator) = frame_rate.unwrap_or((0, 0));
    let chroma = match (format.chroma(), format.depth()) {
        (Chroma::Yuv400, 8) => "mono".to_owned(),
        (Chroma::Yuv400, depth) => format!("mono{depth}"),
        (chroma, 8) => chroma.code().to_string(),
        (chroma, depth) => format!("{}p{depth}", chroma.code()),
    };
    format!("YUV4MPEG2 W{width} H{height} F{numerator}:{denominator} Ip C{chroma}")
}

struct Tags<'a> {
    input: &'a str,
    /// Whole tags with their letters, none empty.
    all: Vec<&'a [u8]>,
}

impl<'a> Tags<'a> {
    /// The first tag that starts with `start`, and the first that does and says something else.
    fn first_and_other(&self, start: &[u8]) -> (Option<&'a [u8]>, Option<&'a [u8]>) {
        let mut tags = self.all.iter().copied().filter(|t| t.starts_with(start));
        let first = tags.next();
        (first, tags.find(|tag| Some(*tag) != first))
    }

    /// The tag that starts with `start` and tells how to read the samples: two that differ are
    /// refused.
    fn only(&self, start: &[u8]) -> Result<Option<&'a [u8]>, MediaError> {
        match self.first_and_other(start) {
            (Some(first), Some(second)) => Err(MediaError::TagConflict {
                input: self.input.to_owned(),
                first: excerpt(first),
                second: excerpt(second),
            }),
            (first, _) => Ok(first),
        }
    }

    /// The tag that starts with `start` and that no score depends on: of two that differ, neither
    /// counts, and `what` is noted as unknown.
    fn note(&self, start: &str, what: &str, assumptions: &mut Vec<String>) -> Option<&'a [u8]> {
        match self.first_and_other(start.as_bytes()) {
            (Some(first), Some(second)) => {
                let (first, second) = (excerpt(first), excerpt(second));
                assumptions.push(format!("both {first} and {second}: {what} unknown"));
                None
            }
            (first, _) => first,
        }
    }

    fn wrong(&self, tag: &[u8], wanted: &'static str) -> MediaError {
        MediaError::Tag {
            input: self.input.to_owned(),
            tag: excerpt(tag),
            wanted,
        }
    }

    fn dimension(&self, letter: &[u8; 1], what: &'static str) -> Result<u32, MediaError> {
        let Some(tag) = self.only(letter)? else {
            return Err(MediaError::MissingTag {
                input: self.input.to_owned(),
                tag: letter[0].into(),
                what,
            });
        };
        number(&tag[1..])
            .ok_or_else(|| self.wrong(tag, "its letter and a whole number from 1 to 32768"))
    }

    fn chroma(&self, assumptions: &mut Vec<String>) -> Result<(Chroma, u32), MediaError> {
        let other = self
            .only(b"XYSCSS=")?
            .map(|tag| (tag, layout(&tag[b"XYSCSS=".len()..])));
        let Some(tag) = self.only(b"C")? else {
            return match other {
                Some((tag, found)) => {
                    let (chroma, depth) = self.supported(tag, found)?;
                    Ok((chroma, depth.unwrap_or(8)))
                }
                None => {
                    assumptions.push("no C tag: 4:2:0 8-bit".to_owned());
                    Ok((Chroma::Yuv420, 8))
                }
            };
        };
        let (chroma, depth) = self.supported(tag, layout(&tag[1..]))?;
        let depth = depth.unwrap_or(8);
        match other {
            Some((other, ChromaLayout::Planar(c, d)))
                if c != chroma || d.is_some_and(|d| d != depth) =>
            {
                Err(MediaError::TagConflict {
                    input: self.input.to_owned(),
                    first: excerpt(tag),
                    second: excerpt(other),
                })
            }
            _ => Ok((chroma, depth)),
        }
    }

    fn supported(
        &self,
        tag: &[u8],
        found: ChromaLayout,
    ) -> Result<(Chroma, Option<u32>), MediaError> {
        match found {
            ChromaLayout::Planar(chroma, depth) => Ok((chroma, depth)),
            ChromaLayout::Unsupported => Err(MediaError::Chroma {
                input: self.input.to_owned(),
                tag: excerpt(tag),
            }),
            ChromaLayout::Unknown => Err(self.wrong(
                tag,
                "a known chroma layout: 420, 420jpeg, 420mpeg2, 420paldv, 422, 444, mono, or one \
                 of 420p, 422p, 444p, mono with a depth from 8 to 16",
            )),
        }
    }

    fn interlace(
        &self,
        interlaced_as_frames: bool,
        assumptions: &mut Vec<String>,
    ) -> Result<Interlace, MediaError> {
        let Some(tag) = self.only(b"I")? else {
            assumptions.push("no I tag: progressive".to_owned());
            return Ok(Interlace::Unknown);
        };
        let order = match &tag[1..] {
            b"p" => return Ok(Interlace::Progressive),
            b"?" => {
                assumptions.push("I?: progressive".to_owned());
                return Ok(Interlace::Unknown);
            }
            b"t" => Interlace::TopFirst,
            b"b" => Interlace::BottomFirst,
            b"m" => Interlace::Mixed,
            _ => return Err(self.wrong(tag, "one of Ip, It, Ib, Im and I?")),
        };
        let text = String::from_utf8_lossy(tag).into_owned();
        if !interlaced_as_frames {
            return Err(MediaError::Interlaced {
                input: self.input.to_owned(),
                tag: text,
                order,
            });
        }
        assumptions.push(format!("{text}: interlaced, read as whole frames"));
        Ok(order)
    }

    fn frame_rate(&self, assumptions: &mut Vec<String>) -> Option<(u32, u32)> {
        let tag = self.note("F", "frame rate", assumptions)?;
        let mut parts = tag[1..].splitn(2, |&b| b == b':').map(number);
        match (parts.next().flatten(), parts.next().flatten()) {
            // yuv4mpeg(5): 0:0 stands for an unknown rate.
            (Some(0), Some(0)) => None,
            (Some(numerator @ 1..), Some(denominator @ 1..)) => Some((numerator, denominator)),
            _ => {
                let tag = excerpt(tag);
                assumptions.push(format!("{tag} is not a rate: frame rate unknown"));
                None
            }
        }
    }

    fn colour_range(&self, assumptions: &mut Vec<String>) -> Option<ColourRange> {
        match self.note("XCOLORRANGE=", "colour range", assumptions)? {
            b"XCOLORRANGE=LIMITED" => Some(ColourRange::Limited),
            b"XCOLORRANGE=FULL" => Some(ColourRange::Full),
            tag => {
                let tag = excerpt(tag);
                assumptions.push(format!("{tag} is not a known range: colour range unknown"));
                None
            }
        }
    }
}

/// Digits only, no sign, no surroundings.
fn number(text: &[u8]) -> Option<u32> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

enum ChromaLayout {
    /// Depth `None` where the text does not tell it.
    Planar(Chroma, Option<u32>),
    /// Known, but never scored.
    Unsupported,
    Unknown,
}

/// Understands the text of a C or XYSCSS tag.
fn layout(text: &[u8]) -> ChromaLayout {
    let text = text.to_ascii_lowercase();
    match text.as_slice() {
        b"420" | b"420jpeg" | b"420mpeg2" | b"420paldv" => {
            return ChromaLayout::Planar(Chroma::Yuv420, None);
        }
        b"422" => return ChromaLayout::Planar(Chroma::Yuv422, None),
        b"444" => return ChromaLayout::Planar(Chroma::Yuv444, None),
        b"mono" | b"400" => return ChromaLayout::Planar(Chroma::Yuv400, None),
        _ => {}
    }
    if text.starts_with(b"411") || text.starts_with(b"410") || text.starts_with(b"440") {
        return ChromaLayout::Unsupported;
    }
    if text.starts_with(b"444alpha") {
        return ChromaLayout::Unsupported;
    }
    let prefixes: [(&[u8], Chroma); 4] = [
        (b"420p", Chroma::Yuv420),
        (b"422p", Chroma::Yuv422),
        (b"444p", Chroma::Yuv444),
        (b"mono", Chroma::Yuv400),
    ];
    for (prefix, chroma) in prefixes {
        let depth = text
            .strip_prefix(prefix)
            .filter(|t| t.len() <= 2)
            .and_then(number);
        if let Some(depth) = depth.filter(|d| (8..=16).contains(d)) {
            return ChromaLayout::Planar(chroma, Some(depth));
        }
    }
    ChromaLayout::Unknown
}
