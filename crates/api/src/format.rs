//! Size, chroma layout and bit depth of a frame.

use std::fmt;

/// Largest width and height of a luma plane, in samples.
pub const MAX_DIMENSION: u32 = 32768;

/// Names of the planes of a Y'CbCr frame, in storage order.
pub const PLANE_NAMES: [&str; 3] = ["Y", "Cb", "Cr"];

/// Chroma layout. The numbers are the wire's; 1 to 4 equal libvmaf's pixel formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Chroma {
    /// 4:2:0, chroma halved in both directions.
    Yuv420 = 1,
    /// 4:2:2, chroma halved horizontally.
    Yuv422 = 2,
    /// 4:4:4, chroma at full size.
    Yuv444 = 3,
    /// 4:0:0, luma only.
    Yuv400 = 4,
}

impl Chroma {
    /// Number of planes.
    pub const fn plane_count(self) -> usize {
        match self {
            Chroma::Yuv400 => 1,
            _ => 3,
        }
    }

    /// Base-two logarithms of the horizontal and vertical chroma subsampling.
    pub const fn subsampling(self) -> (u32, u32) {
        match self {
            Chroma::Yuv420 => (1, 1),
            Chroma::Yuv422 => (1, 0),
            Chroma::Yuv444 | Chroma::Yuv400 => (0, 0),
        }
    }

    /// The number users write: 400, 420, 422 or 444.
    pub const fn code(self) -> u32 {
        match self {
            Chroma::Yuv400 => 400,
            Chroma::Yuv420 => 420,
            Chroma::Yuv422 => 422,
            Chroma::Yuv444 => 444,
        }
    }
}

impl fmt::Display for Chroma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Chroma::Yuv400 => "4:0:0",
            Chroma::Yuv420 => "4:2:0",
            Chroma::Yuv422 => "4:2:2",
            Chroma::Yuv444 => "4:4:4",
        })
    }
}

/// Width and height of a plane, in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Size {
    /// Samples in the plane; `usize::MAX` if there are more.
    pub const fn area(self) -> usize {
        self.width.saturating_mul(self.height)
    }
}

/// Why four numbers are not a frame format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Width or height outside the range.
    #[error("{name} {value} is outside 1 to {MAX_DIMENSION}")]
    Dimension {
        /// `width` or `height`.
        name: &'static str,
        /// What was given.
        value: u32,
    },
    /// Bit depth outside the range.
    #[error("bit depth {0} is outside 8 to 16")]
    Depth(u32),
}

/// The shape of a planar Y'CbCr frame. Samples of 8 bits are bytes; deeper samples are 16-bit
/// words with the value in the low bits. Chroma planes are ceil-sized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameFormat {
    width: u32,
    height: u32,
    chroma: Chroma,
    depth: u32,
}

impl FrameFormat {
    /// Checks the four numbers and makes a format of them.
    ///
    /// # Errors
    /// A width or height outside 1 to [`MAX_DIMENSION`], a depth outside 8 to 16.
    pub const fn new(
        width: u32,
        height: u32,
        chroma: Chroma,
        depth: u32,
    ) -> Result<Self, FormatError> {
        if width < 1 || width > MAX_DIMENSION {
            return Err(FormatError::Dimension {
                name: "width",
                value: width,
            });
        }
        if height < 1 || height > MAX_DIMENSION {
            return Err(FormatError::Dimension {
                name: "height",
                value: height,
            });
        }
        if depth < 8 || depth > 16 {
            return Err(FormatError::Depth(depth));
        }
        Ok(FrameFormat {
            width,
            height,
            chroma,
            depth,
        })
    }

    /// Luma width in samples.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Luma height in rows.
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Chroma layout.
    pub const fn chroma(&self) -> Chroma {
        self.chroma
    }

    /// Bits of a sample, 8 to 16.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Largest value a sample may have.
    pub const fn peak(&self) -> u32 {
        (1 << self.depth) - 1
    }

    /// Number of planes, 1 or 3.
    pub const fn plane_count(&self) -> usize {
        self.chroma.plane_count()
    }

    /// Bytes of one sample, 1 or 2.
    pub const fn sample_bytes(&self) -> usize {
        if self.depth > 8 { 2 } else { 1 }
    }

    /// Size of plane `plane` (0 = Y, 1 = Cb, 2 = Cr); chroma sizes round up.
    pub const fn plane_size(&self, plane: usize) -> Size {
        let (sx, sy) = if plane == 0 {
            (0, 0)
        } else {
            self.chroma.subsampling()
        };
        Size {
            width: ((self.width + (1 << sx) - 1) >> sx) as usize,
            height: ((self.height + (1 << sy) - 1) >> sy) as usize,
        }
    }

    /// Samples of all planes together.
    pub const fn frame_samples(&self) -> usize {
        let mut sum = 0;
        let mut plane = 0;
        while plane < self.plane_count() {
            sum = usize::saturating_add(sum, self.plane_size(plane).area());
            plane += 1;
        }
        sum
    }

    /// Bytes of one frame in a raw file, planes one after another without padding;
    /// `usize::MAX`, which no buffer has, where the machine's addresses do not reach as far.
    pub const fn frame_bytes(&self) -> usize {
        self.frame_samples().saturating_mul(self.sample_bytes())
    }
}

impl fmt::Display for FrameFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}x{} {} {}-bit",
            self.width, self.height, self.chroma, self.depth
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_chroma_rounds_up() {
        let f = FrameFormat::new(19, 17, Chroma::Yuv420, 8).unwrap();
        assert_eq!(
            f.plane_size(1),
            Size {
                width: 10,
                height: 9
            }
        );
        assert_eq!(f.frame_bytes(), 19 * 17 + 2 * 90);
        let f = FrameFormat::new(19, 17, Chroma::Yuv422, 10).unwrap();
        assert_eq!(
            f.plane_size(2),
            Size {
                width: 10,
                height: 17
            }
        );
        assert_eq!(f.frame_bytes(), 2 * (19 * 17 + 2 * 170));
        let f = FrameFormat::new(19, 17, Chroma::Yuv400, 16).unwrap();
        assert_eq!((f.plane_count(), f.frame_bytes()), (1, 2 * 19 * 17));
        assert_eq!(f.to_string(), "19x17 4:0:0 16-bit");
    }

    #[test]
    fn limits_are_named() {
        let text = |w, h, d| {
            FrameFormat::new(w, h, Chroma::Yuv420, d)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(text(0, 1, 8), "width 0 is outside 1 to 32768");
        assert_eq!(text(1, 32769, 8), "height 32769 is outside 1 to 32768");
        assert_eq!(text(1, 1, 17), "bit depth 17 is outside 8 to 16");
        assert!(FrameFormat::new(32768, 32768, Chroma::Yuv444, 16).is_ok());
    }
}
