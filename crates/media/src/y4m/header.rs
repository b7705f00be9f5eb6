//! The first line of a y4m file: `YUV4MPEG2` and tags, each a letter and its value, with spaces
//! between them.
//!
//! The tags are those of mjpegtools' yuv4mpeg(5) and of ffmpeg's writer, which adds depths
//! (`C420p10`) and X tags. What must stay true: a tag that changes the meaning of the samples is
//! either understood or refused, and a tag that does not is kept and never gets in the way.

use vmafx_api::{Chroma, FrameFormat};

use crate::error::{Interlace, MediaError, excerpt};
use crate::source::{ColourRange, SourceInfo, SourceKind};

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
    let mut tags = Tags {
        input: name,
        known: [None; 6],
        subsampling: None,
        range: None,
    };
    let mut others = Vec::new();
    for tag in line[MAGIC.len()..].split(|&b| b == b' ') {
        if !tag.is_empty() && !tags.take(tag)? {
            others.push(String::from_utf8_lossy(tag).into_owned());
        }
    }

    let (width, height) = (
        tags.dimension('W', "width")?,
        tags.dimension('H', "height")?,
    );
    let mut assumptions = Vec::new();
    let (chroma, depth) = tags.chroma(&mut assumptions)?;
    let format =
        FrameFormat::new(width, height, chroma, depth).map_err(|source| MediaError::Format {
            input: name.to_owned(),
            source,
        })?;
    let interlace = tags.interlace(interlaced_as_frames, &mut assumptions)?;
    let frame_rate = tags.frame_rate()?;
    let colour_range = tags
        .range
        .and_then(|tag| match &tag[b"XCOLORRANGE=".len()..] {
            b"LIMITED" => Some(ColourRange::Limited),
            b"FULL" => Some(ColourRange::Full),
            _ => None,
        });

    let mut info = SourceInfo::new(name, SourceKind::Y4m, format);
    info.assumptions = assumptions;
    info.chroma_tag = tags
        .value('C')
        .map(|v| String::from_utf8_lossy(v).into_owned());
    info.colour_range = colour_range;
    info.interlace = interlace;
    info.frame_rate = frame_rate;
    info.tags = others;
    Ok(info)
}

/// Letters of the tags that are read, in the order of [`Tags::known`].
const LETTERS: [char; 6] = ['W', 'H', 'C', 'I', 'F', 'A'];

struct Tags<'a> {
    input: &'a str,
    /// Whole tags with their letters.
    known: [Option<&'a [u8]>; 6],
    /// The `XYSCSS=` tag.
    subsampling: Option<&'a [u8]>,
    /// The `XCOLORRANGE=` tag.
    range: Option<&'a [u8]>,
}

impl<'a> Tags<'a> {
    /// Keeps a tag; `false` if no score depends on it.
    fn take(&mut self, tag: &'a [u8]) -> Result<bool, MediaError> {
        let letter = LETTERS.iter().position(|&l| tag[0] == l as u8);
        let slot = if let Some(index) = letter {
            &mut self.known[index]
        } else if tag.starts_with(b"XYSCSS=") {
            &mut self.subsampling
        } else if tag.starts_with(b"XCOLORRANGE=") {
            &mut self.range
        } else {
            return Ok(false);
        };
        match slot.replace(tag) {
            Some(earlier) if earlier != tag => Err(MediaError::TagConflict {
                input: self.input.to_owned(),
                first: excerpt(earlier),
                second: excerpt(tag),
            }),
            _ => Ok(letter.is_some_and(|index| LETTERS[index] != 'A')),
        }
    }

    fn tag(&self, letter: char) -> Option<&'a [u8]> {
        self.known[LETTERS.iter().position(|&l| l == letter)?]
    }

    fn value(&self, letter: char) -> Option<&'a [u8]> {
        self.tag(letter).map(|tag| &tag[1..])
    }

    fn wrong(&self, tag: &[u8], wanted: &'static str) -> MediaError {
        MediaError::Tag {
            input: self.input.to_owned(),
            tag: excerpt(tag),
            wanted,
        }
    }

    fn dimension(&self, letter: char, what: &'static str) -> Result<u32, MediaError> {
        let Some(tag) = self.tag(letter) else {
            return Err(MediaError::MissingTag {
                input: self.input.to_owned(),
                tag: letter,
                what,
            });
        };
        number(&tag[1..])
            .ok_or_else(|| self.wrong(tag, "its letter and a whole number from 1 to 32768"))
    }

    fn chroma(&self, assumptions: &mut Vec<String>) -> Result<(Chroma, u32), MediaError> {
        let other = self
            .subsampling
            .map(|tag| (tag, layout(&tag[b"XYSCSS=".len()..])));
        let Some(tag) = self.tag('C') else {
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
            Some((other, Layout::Planar(c, d))) if c != chroma || d.is_some_and(|d| d != depth) => {
                Err(MediaError::TagConflict {
                    input: self.input.to_owned(),
                    first: excerpt(tag),
                    second: excerpt(other),
                })
            }
            _ => Ok((chroma, depth)),
        }
    }

    fn supported(&self, tag: &[u8], found: Layout) -> Result<(Chroma, Option<u32>), MediaError> {
        match found {
            Layout::Planar(chroma, depth) => Ok((chroma, depth)),
            Layout::Unsupported => Err(MediaError::Chroma {
                input: self.input.to_owned(),
                tag: excerpt(tag),
            }),
            Layout::Unknown => Err(self.wrong(
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
        let Some(tag) = self.tag('I') else {
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

    fn frame_rate(&self) -> Result<Option<(u32, u32)>, MediaError> {
        let Some(tag) = self.tag('F') else {
            return Ok(None);
        };
        let mut parts = tag[1..].splitn(2, |&b| b == b':').map(number);
        match (parts.next().flatten(), parts.next().flatten()) {
            // yuv4mpeg(5): 0:0 stands for an unknown rate.
            (Some(0), Some(0)) => Ok(None),
            (Some(numerator), Some(denominator)) => Ok(Some((numerator, denominator))),
            _ => Err(self.wrong(tag, "a rate of two whole numbers, such as F30000:1001")),
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

enum Layout {
    /// Depth `None` where the text does not tell it.
    Planar(Chroma, Option<u32>),
    /// Known, but never scored.
    Unsupported,
    Unknown,
}

/// Understands the text of a C or XYSCSS tag.
fn layout(text: &[u8]) -> Layout {
    let text = text.to_ascii_lowercase();
    match text.as_slice() {
        b"420" | b"420jpeg" | b"420mpeg2" | b"420paldv" => {
            return Layout::Planar(Chroma::Yuv420, None);
        }
        b"422" => return Layout::Planar(Chroma::Yuv422, None),
        b"444" => return Layout::Planar(Chroma::Yuv444, None),
        b"mono" | b"400" => return Layout::Planar(Chroma::Yuv400, None),
        _ => {}
    }
    if text.starts_with(b"411") || text.starts_with(b"410") || text.starts_with(b"440") {
        return Layout::Unsupported;
    }
    if text.starts_with(b"444alpha") {
        return Layout::Unsupported;
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
            return Layout::Planar(chroma, Some(depth));
        }
    }
    Layout::Unknown
}
