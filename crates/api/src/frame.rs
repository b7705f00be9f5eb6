//! Frames: wherever they are ([`Frame`]), in host memory ([`HostFrame`]), borrowed from there
//! ([`HostView`]), and the views of single planes that metrics read ([`PlaneView`]).
//!
//! An owned frame is stored as a raw file stores it (planes one after another, no padding), so
//! a reader fills it with one read. Buffers go back to their [`FramePool`] when the last user
//! drops the frame: memory does not grow with the number of frames.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::format::{FrameFormat, PLANE_NAMES, Size};
use crate::import::DeviceFrame;
use crate::kinds::MemoryKind;
use crate::wire;

/// Samples of one plane.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// Depth 8.
    U8(&'a [u8]),
    /// Depths 9 to 16, value in the low bits.
    U16(&'a [u16]),
}

impl Samples<'_> {
    fn len(&self) -> usize {
        match self {
            Samples::U8(s) => s.len(),
            Samples::U16(s) => s.len(),
        }
    }
}

/// A read-only plane in host memory. Row `y` starts at sample `y * stride`.
#[derive(Clone, Copy, Debug)]
pub struct PlaneView<'a> {
    samples: Samples<'a>,
    size: Size,
    stride: usize,
}

/// Why a buffer cannot hold a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaneError {
    /// Rows would overlap.
    #[error("stride {stride} is smaller than the row of {width} samples")]
    Stride {
        /// Given stride in samples.
        stride: usize,
        /// Samples of a row.
        width: usize,
    },
    /// The last row would end past the buffer.
    #[error("buffer of {have} samples is smaller than the {need} that the plane spans")]
    Short {
        /// Samples in the buffer.
        have: usize,
        /// Samples from the first of the plane to its last; `usize::MAX` if there are more.
        need: usize,
    },
}

impl<'a> PlaneView<'a> {
    /// Checks that `samples` holds a plane of `size` with rows `stride` samples apart.
    ///
    /// # Errors
    /// A stride below the width, a buffer that ends before the last row does.
    pub fn new(samples: Samples<'a>, size: Size, stride: usize) -> Result<Self, PlaneError> {
        if stride < size.width {
            return Err(PlaneError::Stride {
                stride,
                width: size.width,
            });
        }
        let need = match size.height {
            0 => 0,
            h => (h - 1)
                .checked_mul(stride)
                .and_then(|before| before.checked_add(size.width))
                .unwrap_or(usize::MAX),
        };
        if samples.len() < need {
            return Err(PlaneError::Short {
                have: samples.len(),
                need,
            });
        }
        Ok(PlaneView {
            samples,
            size,
            stride,
        })
    }

    /// All samples, row 0 first, `stride` apart.
    pub fn samples(&self) -> Samples<'a> {
        self.samples
    }

    /// Width and height in samples.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Distance between rows in samples.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The plane as it crosses the boundary; it borrows from this one.
    pub(crate) fn lend(&self) -> wire::Plane {
        let (data, sample) = match self.samples {
            Samples::U8(samples) => (samples.as_ptr().cast(), 1),
            Samples::U16(samples) => (samples.as_ptr().cast(), 2),
        };
        wire::Plane {
            data,
            stride_bytes: self.stride as u64 * sample,
            width: self.size.width as u32,
            height: self.size.height as u32,
        }
    }
}

/// A frame in host memory, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    format: FrameFormat,
    planes: [Option<PlaneView<'a>>; 3],
}

impl<'a> HostView<'a> {
    /// Makes a view of `planes`, of which the format's count is used.
    ///
    /// Returns `None` when a plane is missing, has another size than the format gives it, or
    /// holds samples of another width than the depth asks for.
    pub fn new(format: FrameFormat, planes: &[PlaneView<'a>]) -> Option<Self> {
        let mut all = [None; 3];
        for (slot, plane) in all.iter_mut().zip(planes) {
            *slot = Some(*plane);
        }
        HostView::from_planes(format, all)
    }

    /// As [`new`](HostView::new).
    pub(crate) fn from_planes(
        format: FrameFormat,
        mut planes: [Option<PlaneView<'a>>; 3],
    ) -> Option<Self> {
        for (index, plane) in planes.iter_mut().enumerate() {
            if index >= format.plane_count() {
                *plane = None;
                continue;
            }
            let plane = plane.as_ref()?;
            let wide = matches!(plane.samples(), Samples::U16(_));
            if plane.size() != format.plane_size(index) || wide != (format.depth() > 8) {
                return None;
            }
        }
        Some(HostView { format, planes })
    }

    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// Plane `index` (0 = Y, 1 = Cb, 2 = Cr), `None` where the format has no such plane.
    pub fn plane(&self, index: usize) -> Option<&PlaneView<'a>> {
        self.planes.get(index)?.as_ref()
    }

    /// The luma plane, which every format has.
    pub fn luma(&self) -> &PlaneView<'a> {
        self.planes[0]
            .as_ref()
            .expect("every format has a luma plane")
    }
}

/// A frame, wherever its samples are.
#[derive(Debug)]
#[non_exhaustive]
pub enum Frame {
    /// In host memory.
    Host(HostFrame),
    /// In memory of a device. Draft.
    Device(DeviceFrame),
}

impl Frame {
    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        match self {
            Frame::Host(frame) => frame.format(),
            Frame::Device(frame) => frame.format(),
        }
    }

    /// Where the samples are.
    pub fn memory(&self) -> MemoryKind {
        match self {
            Frame::Host(_) => MemoryKind::HOST,
            Frame::Device(frame) => frame.memory(),
        }
    }

    /// A view of the samples, if they are in host memory.
    pub fn host(&self) -> Option<HostView<'_>> {
        match self {
            Frame::Host(frame) => Some(frame.view()),
            Frame::Device(_) => None,
        }
    }
}

impl From<HostFrame> for Frame {
    fn from(frame: HostFrame) -> Self {
        Frame::Host(frame)
    }
}

impl From<DeviceFrame> for Frame {
    fn from(frame: DeviceFrame) -> Self {
        Frame::Device(frame)
    }
}

#[derive(Debug)]
enum Storage {
    U8(Vec<u8>),
    U16(Vec<u16>),
}

impl Storage {
    fn new(format: &FrameFormat) -> Result<Self, FrameMemoryError> {
        let samples = format.frame_samples();
        let made = match format.depth() {
            8 => zeros(samples).map(Storage::U8),
            _ => zeros(samples).map(Storage::U16),
        };
        made.ok_or(FrameMemoryError {
            format: *format,
            bytes: samples as u64 * format.sample_bytes() as u64,
        })
    }
}

fn zeros<T: Copy + Default>(count: usize) -> Option<Vec<T>> {
    let mut samples = Vec::new();
    samples.try_reserve_exact(count).ok()?;
    samples.resize(count, T::default());
    Some(samples)
}

/// The system does not give the memory that a frame needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no memory for a frame of {format}, which needs {bytes} bytes")]
#[non_exhaustive]
pub struct FrameMemoryError {
    /// Shape of the frame.
    pub format: FrameFormat,
    /// Bytes of its samples.
    pub bytes: u64,
}

/// A frame that owns its samples.
#[derive(Debug)]
pub struct HostFrame {
    format: FrameFormat,
    storage: Option<Storage>,
    pool: Weak<PoolState>,
}

impl HostFrame {
    /// A frame of zeros that belongs to no pool, for sizes that the caller knows to fit: as with
    /// `Vec`, running out of memory ends the program. Otherwise see
    /// [`try_new`](HostFrame::try_new).
    pub fn new(format: FrameFormat) -> Self {
        HostFrame::try_new(format).unwrap_or_else(|_| {
            let layout = std::alloc::Layout::array::<u8>(format.frame_bytes());
            std::alloc::handle_alloc_error(layout.unwrap_or(std::alloc::Layout::new::<u8>()))
        })
    }

    /// A frame of zeros that belongs to no pool.
    ///
    /// # Errors
    /// No memory, with the bytes that were wanted.
    pub fn try_new(format: FrameFormat) -> Result<Self, FrameMemoryError> {
        Ok(HostFrame {
            format,
            storage: Some(Storage::new(&format)?),
            pool: Weak::new(),
        })
    }

    /// Shape of the frame.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// All planes as the bytes of a raw frame in the machine's byte order.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self.storage_mut() {
            Storage::U8(samples) => samples,
            Storage::U16(samples) => bytemuck::cast_slice_mut(samples),
        }
    }

    /// All planes of a deep frame as words; empty at depth 8.
    pub fn words_mut(&mut self) -> &mut [u16] {
        match self.storage_mut() {
            Storage::U8(_) => &mut [],
            Storage::U16(samples) => samples,
        }
    }

    /// A view of all planes.
    pub fn view(&self) -> HostView<'_> {
        let mut planes = [None; 3];
        let mut start = 0;
        for (index, slot) in planes
            .iter_mut()
            .enumerate()
            .take(self.format.plane_count())
        {
            let size = self.format.plane_size(index);
            let end = start + size.area();
            let samples = match self.storage() {
                Storage::U8(s) => Samples::U8(&s[start..end]),
                Storage::U16(s) => Samples::U16(&s[start..end]),
            };
            *slot = Some(PlaneView {
                samples,
                size,
                stride: size.width,
            });
            start = end;
        }
        HostView {
            format: self.format,
            planes,
        }
    }

    /// Looks for a sample above the depth's largest value: a sign that the depth is wrong.
    ///
    /// # Errors
    /// The first such sample, with its plane, place and value.
    pub fn check_samples(&self) -> Result<(), SampleError> {
        let Storage::U16(samples) = self.storage() else {
            return Ok(());
        };
        let peak = self.format.peak();
        if peak >= u32::from(u16::MAX) {
            return Ok(());
        }
        let highest = samples.iter().fold(0, |high, &s| high.max(s));
        if u32::from(highest) <= peak {
            return Ok(());
        }
        let mut start = 0;
        for (plane, name) in PLANE_NAMES
            .iter()
            .enumerate()
            .take(self.format.plane_count())
        {
            let size = self.format.plane_size(plane);
            let part = &samples[start..start + size.area()];
            if let Some(at) = part.iter().position(|&s| u32::from(s) > peak) {
                return Err(SampleError {
                    plane: name,
                    x: at % size.width,
                    y: at / size.width,
                    value: part[at],
                    depth: self.format.depth(),
                    peak,
                });
            }
            start += size.area();
        }
        Ok(())
    }

    fn storage(&self) -> &Storage {
        self.storage
            .as_ref()
            .expect("a frame has its storage until it is dropped")
    }

    fn storage_mut(&mut self) -> &mut Storage {
        self.storage
            .as_mut()
            .expect("a frame has its storage until it is dropped")
    }
}

impl Drop for HostFrame {
    fn drop(&mut self) {
        if let (Some(pool), Some(storage)) = (self.pool.upgrade(), self.storage.take()) {
            pool.lock().push(storage);
        }
    }
}

/// A sample that its depth cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "plane {plane}, column {x}, row {y}: sample {value} is above {peak}, the largest {depth}-bit \
     value; check the bit depth"
)]
pub struct SampleError {
    /// Plane name.
    pub plane: &'static str,
    /// Column.
    pub x: usize,
    /// Row.
    pub y: usize,
    /// The sample.
    pub value: u16,
    /// Bits of a sample.
    pub depth: u32,
    /// Largest value of that depth.
    pub peak: u32,
}

#[derive(Debug, Default)]
struct PoolState {
    free: Mutex<Vec<Storage>>,
}

impl PoolState {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Storage>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Recycles the buffers of frames of one format.
#[derive(Clone, Debug)]
pub struct FramePool {
    format: FrameFormat,
    state: Arc<PoolState>,
}

impl FramePool {
    /// An empty pool for frames of `format`.
    pub fn new(format: FrameFormat) -> Self {
        FramePool {
            format,
            state: Arc::default(),
        }
    }

    /// Shape of the pool's frames.
    pub fn format(&self) -> &FrameFormat {
        &self.format
    }

    /// A frame with unspecified samples: a recycled buffer, or a new one if none is free.
    ///
    /// # Errors
    /// No memory for a new one, with the bytes that were wanted.
    pub fn acquire(&self) -> Result<HostFrame, FrameMemoryError> {
        let recycled = self.state.lock().pop();
        let storage = match recycled {
            Some(storage) => storage,
            None => Storage::new(&self.format)?,
        };
        Ok(HostFrame {
            format: self.format,
            storage: Some(storage),
            pool: Arc::downgrade(&self.state),
        })
    }

    /// Buffers that wait for their next use.
    pub fn free(&self) -> usize {
        self.state.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chroma;

    #[test]
    fn planes_follow_one_another() {
        let format = FrameFormat::new(3, 3, Chroma::Yuv420, 8).unwrap();
        let mut frame = HostFrame::new(format);
        for (i, b) in frame.bytes_mut().iter_mut().enumerate() {
            *b = i as u8;
        }
        let view = frame.view();
        let Samples::U8(cr) = view.plane(2).unwrap().samples() else {
            panic!("8-bit frame")
        };
        assert_eq!(cr, [13, 14, 15, 16]);
        assert_eq!(view.plane(2).unwrap().stride(), 2);
        assert!(view.plane(3).is_none());
    }

    #[test]
    fn pool_recycles() {
        let pool = FramePool::new(FrameFormat::new(8, 8, Chroma::Yuv400, 16).unwrap());
        let a = pool.acquire().unwrap();
        assert_eq!(pool.free(), 0);
        drop(a);
        assert_eq!(pool.free(), 1);
        let _b = pool.acquire().unwrap();
        assert_eq!(pool.free(), 0);
    }

    #[test]
    fn too_large_sample_is_located() {
        let format = FrameFormat::new(4, 2, Chroma::Yuv422, 10).unwrap();
        let mut frame = HostFrame::new(format);
        assert!(frame.check_samples().is_ok());
        frame.words_mut()[8 + 4 + 3] = 1024;
        let error = frame.check_samples().unwrap_err();
        assert_eq!((error.plane, error.x, error.y), ("Cr", 1, 1));
        assert!(error.to_string().contains("1024 is above 1023"), "{error}");
    }

    #[test]
    fn short_and_overlapping_planes_are_refused() {
        let data = [0u8; 10];
        let size = Size {
            width: 4,
            height: 3,
        };
        assert!(PlaneView::new(Samples::U8(&data), size, 3).is_err());
        assert!(PlaneView::new(Samples::U8(&data), size, 4).is_err());
        let size = Size {
            width: 2,
            height: 3,
        };
        assert!(PlaneView::new(Samples::U8(&data), size, 4).is_ok());
    }

    #[test]
    fn a_plane_beyond_all_memory_is_short() {
        let data = [0u8; 10];
        let size = |width, height| Size { width, height };
        for (size, stride) in [
            (size(4, usize::MAX), 4),
            (size(4, 3), usize::MAX),
            // Rows fit, the width of the last does not.
            (size(usize::MAX, 2), usize::MAX),
            // Wrapped, the product would be 0.
            (
                size(1, (1 << (usize::BITS / 2)) + 1),
                1 << (usize::BITS / 2),
            ),
        ] {
            assert_eq!(
                PlaneView::new(Samples::U8(&data), size, stride).unwrap_err(),
                PlaneError::Short {
                    have: 10,
                    need: usize::MAX
                },
                "{size:?}, {stride}"
            );
        }
    }

    #[test]
    fn missing_memory_is_an_error() {
        assert!(zeros::<u16>(usize::MAX / 2).is_none());
        let format = FrameFormat::new(32768, 32768, Chroma::Yuv444, 16).unwrap();
        let error = FrameMemoryError {
            format,
            bytes: 6_442_450_944,
        };
        assert_eq!(
            error.to_string(),
            "there is no memory for a frame of 32768x32768 4:4:4 16-bit, which needs 6442450944 \
             bytes"
        );
    }

    #[test]
    fn a_frame_lives_as_long_as_its_last_owner() {
        let pool = FramePool::new(FrameFormat::new(8, 8, Chroma::Yuv400, 8).unwrap());
        let mut frame = pool.acquire().unwrap();
        frame.bytes_mut()[9] = 77;
        let frame = Arc::new(Frame::from(frame));
        let kept = frame.clone();
        drop(frame);
        assert_eq!(pool.free(), 0);
        assert_eq!(kept.memory(), MemoryKind::HOST);
        let Samples::U8(samples) = kept.host().unwrap().luma().samples() else {
            panic!("8-bit frame")
        };
        assert_eq!(samples[9], 77);
        drop(kept);
        assert_eq!(pool.free(), 1);
    }
}
