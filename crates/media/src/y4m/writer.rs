//! Writes y4m, so that a clip of ours can be given to any program that reads it.
//!
//! What must stay true: [`Y4mSource`](crate::Y4mSource) reads back the frames that were written,
//! and the bytes are the same on every machine.

use std::io::{self, BufWriter, Write};

use vmafx_api::{FrameFormat, HostView, PLANE_NAMES, Samples};

use super::{FRAME, header};
use crate::error::MediaError;

/// A y4m file that is being written.
///
/// ```
/// use vmafx_api::HostFrame;
/// use vmafx_media::{SourceSpec, Y4mWriter, open};
///
/// let mut source = open(&SourceSpec::new("synth:tex,size=64x36,depth=10,frames=2"))?;
/// let mut frame = HostFrame::new(source.format());
/// let mut writer = Y4mWriter::new("tex.y4m", Vec::new(), source.format(), Some((25, 1)))?;
/// while source.read(&mut frame)? {
///     writer.write(&frame.view())?;
/// }
/// let bytes = writer.finish()?;
/// assert!(bytes.starts_with(b"YUV4MPEG2 W64 H36 F25:1 Ip C420p10\nFRAME\n"));
/// # Ok::<(), vmafx_media::MediaError>(())
/// ```
pub struct Y4mWriter<W: Write> {
    name: String,
    output: BufWriter<W>,
    format: FrameFormat,
    /// Room for a row of words in the file's byte order.
    row: Vec<u8>,
}

impl<W: Write> Y4mWriter<W> {
    /// Writes the header of a clip of progressive frames of `format`. `name` is for messages;
    /// `frame_rate` is numerator and denominator, `None` says that it is unknown.
    ///
    /// # Errors
    /// A failing write.
    pub fn new(
        name: impl Into<String>,
        output: W,
        format: FrameFormat,
        frame_rate: Option<(u32, u32)>,
    ) -> Result<Self, MediaError> {
        let mut writer = Y4mWriter {
            name: name.into(),
            output: BufWriter::with_capacity(64 << 10, output),
            format,
            row: Vec::new(),
        };
        let line = header::line(&format, frame_rate);
        match writeln!(writer.output, "{line}") {
            Ok(()) => Ok(writer),
            Err(source) => Err(writer.failure(source)),
        }
    }

    /// Writes the next frame.
    ///
    /// # Errors
    /// A failing write, or a frame of another format.
    pub fn write(&mut self, frame: &HostView<'_>) -> Result<(), MediaError> {
        if *frame.format() != self.format {
            return Err(MediaError::WrittenFormat {
                output: self.name.clone(),
                wanted: self.format,
                given: *frame.format(),
            });
        }
        let written = write_frame(&mut self.output, &mut self.row, frame);
        written.map_err(|source| self.failure(source))
    }

    /// Writes what is still held back and gives the output back. Without this call, the failure
    /// of the last writes goes unseen.
    ///
    /// # Errors
    /// A failing write.
    pub fn finish(self) -> Result<W, MediaError> {
        let Y4mWriter { name, output, .. } = self;
        let written = output.into_inner().map_err(|error| error.into_error());
        let flushed = written.and_then(|mut output| output.flush().map(|()| output));
        flushed.map_err(|source| MediaError::Write {
            output: name,
            source,
        })
    }

    fn failure(&self, source: io::Error) -> MediaError {
        MediaError::Write {
            output: self.name.clone(),
            source,
        }
    }
}

/// Writes a FRAME line and the samples. `row` is room for one row of words.
fn write_frame(output: &mut impl Write, row: &mut Vec<u8>, frame: &HostView<'_>) -> io::Result<()> {
    output.write_all(FRAME)?;
    output.write_all(b"\n")?;
    for plane in (0..PLANE_NAMES.len()).filter_map(|index| frame.plane(index)) {
        let (size, stride) = (plane.size(), plane.stride());
        let rows = (0..size.height).map(|y| y * stride..y * stride + size.width);
        match plane.samples() {
            Samples::U8(bytes) => {
                for range in rows {
                    output.write_all(&bytes[range])?;
                }
            }
            Samples::U16(words) => {
                for range in rows {
                    row.clear();
                    row.extend(words[range].iter().flat_map(|word| word.to_le_bytes()));
                    output.write_all(row)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use vmafx_api::{Chroma, HostFrame, PlaneView, Size};

    use super::*;
    use crate::{Input, Interlace, Source, Y4mSource};

    const LAYOUTS: [(Chroma, &str); 4] = [
        (Chroma::Yuv400, "mono"),
        (Chroma::Yuv420, "420"),
        (Chroma::Yuv422, "422"),
        (Chroma::Yuv444, "444"),
    ];

    fn source(bytes: Vec<u8>) -> Y4mSource {
        Y4mSource::new(Input::from_reader("back", Cursor::new(bytes)), false).unwrap()
    }

    /// Frame `number` of distinct samples within the depth.
    fn frame(format: FrameFormat, number: usize) -> HostFrame {
        let mut frame = HostFrame::new(format);
        let value = |at: usize| (at * 811 + number * 97) as u32 & format.peak();
        if format.depth() == 8 {
            let places = frame.bytes_mut().iter_mut().enumerate();
            places.for_each(|(at, byte)| *byte = value(at) as u8);
        } else {
            let places = frame.words_mut().iter_mut().enumerate();
            places.for_each(|(at, word)| *word = value(at) as u16);
        }
        frame
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut compared = 0;
        for (chroma, tag) in LAYOUTS {
            for depth in 8..=16 {
                for (width, height) in [(1, 1), (2, 3), (5, 4), (67, 31)] {
                    let format = FrameFormat::new(width, height, chroma, depth).unwrap();
                    let mut frames: Vec<_> = (0..3).map(|n| frame(format, n)).collect();
                    let mut writer =
                        Y4mWriter::new("out", Vec::new(), format, Some((30000, 1001))).unwrap();
                    for frame in &frames {
                        writer.write(&frame.view()).unwrap();
                    }
                    let bytes = writer.finish().unwrap();

                    let mut back = source(bytes);
                    let info = back.describe();
                    assert_eq!(info.format, format);
                    assert_eq!(info.frame_rate, Some((30000, 1001)));
                    assert_eq!(info.interlace, Interlace::Progressive);
                    assert!(info.assumptions.is_empty(), "{}", info.assumed());
                    assert!(info.chroma_tag.as_ref().unwrap().starts_with(tag));
                    let mut read = HostFrame::new(format);
                    for frame in &mut frames {
                        assert!(back.read(&mut read).unwrap());
                        assert_eq!(read.bytes_mut(), frame.bytes_mut(), "{format}");
                        compared += 1;
                    }
                    assert!(!back.read(&mut read).unwrap());
                }
            }
        }
        assert_eq!(compared, 4 * 9 * 4 * 3);
    }

    /// Written out here, not read back by the reader under the same roof.
    #[test]
    fn bytes_are_those_of_the_format() {
        let format = FrameFormat::new(2, 1, Chroma::Yuv420, 10).unwrap();
        let mut frame = HostFrame::new(format);
        frame.words_mut().copy_from_slice(&[0x0102, 3, 4, 0x03ff]);
        let mut writer = Y4mWriter::new("out", Vec::new(), format, None).unwrap();
        writer.write(&frame.view()).unwrap();
        assert_eq!(
            writer.finish().unwrap(),
            b"YUV4MPEG2 W2 H1 F0:0 Ip C420p10\nFRAME\n\x02\x01\x03\0\x04\0\xff\x03"
        );
    }

    #[test]
    fn padding_between_rows_is_left_out() {
        let format = FrameFormat::new(2, 2, Chroma::Yuv400, 8).unwrap();
        let size = Size {
            width: 2,
            height: 2,
        };
        let plane = PlaneView::new(Samples::U8(b"ab--cd"), size, 4).unwrap();
        let view = HostView::new(format, &[plane]).unwrap();
        let mut writer = Y4mWriter::new("out", Vec::new(), format, Some((25, 1))).unwrap();
        writer.write(&view).unwrap();
        let bytes = writer.finish().unwrap();
        assert_eq!(bytes, b"YUV4MPEG2 W2 H2 F25:1 Ip Cmono\nFRAME\nabcd");
    }

    #[test]
    fn another_format_is_refused() {
        let format = FrameFormat::new(2, 2, Chroma::Yuv400, 8).unwrap();
        let deeper = FrameFormat::new(2, 2, Chroma::Yuv400, 9).unwrap();
        let mut writer = Y4mWriter::new("out", Vec::new(), format, None).unwrap();
        let error = writer
            .write(&HostFrame::new(deeper).view())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "frames of out are 2x2 4:0:0 8-bit, the frame to write is 2x2 4:0:0 9-bit"
        );
        let bytes = writer.finish().unwrap();
        assert!(bytes.ends_with(b"Cmono\n"), "nothing of it was written");
    }

    /// A full disk is noticed at the latest by `finish`.
    #[test]
    fn failing_output_is_told() {
        let format = FrameFormat::new(2, 2, Chroma::Yuv400, 8).unwrap();
        // A byte less than header and frame take.
        let mut room = [0; 39];
        let mut writer = Y4mWriter::new("out", &mut room[..], format, None).unwrap();
        writer.write(&HostFrame::new(format).view()).unwrap();
        let error = writer.finish().err().unwrap().to_string();
        assert!(error.starts_with("cannot write out: "), "{error}");
    }
}
