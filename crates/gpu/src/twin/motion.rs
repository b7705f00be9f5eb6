//! motion: one kernel over the reference's luma and that of an earlier frame.

use vmafx_api::{FrameFormat, Value};
use vmafx_metrics::{Options, motion};

use super::{Arena, KernelCall, Layout, Twin, Words, by_sample};
use crate::args;

/// Threads of a block, and the columns and rows that it sums, as in `kernels/motion.cpp`.
const THREADS: u32 = 256;
const COLUMNS: usize = 252;
const ROWS: usize = 32;

pub(super) struct Motion {
    settings: motion::Settings,
    format: FrameFormat,
    sad: Words,
}

impl Motion {
    pub(super) fn new(options: &Options, format: &FrameFormat) -> Self {
        Motion {
            settings: motion::Settings::from(options),
            format: *format,
            sad: Words::default(),
        }
    }
}

impl Twin for Motion {
    fn planes(&self) -> usize {
        1
    }

    fn history(&self) -> usize {
        match self.settings.force_zero {
            true => 0,
            false => self.settings.distance(),
        }
    }

    fn lay_out(&mut self, layout: &mut Layout) {
        self.sad = layout.words(1);
    }

    fn launches(&self, _arena: &Arena<'_>) -> Vec<KernelCall> {
        let Some(earlier) = self.history().checked_sub(1) else {
            return Vec::new();
        };
        let kernel = by_sample(&self.format, ["vx_motion_u8", "vx_motion_u16"]);
        let size = self.format.plane_size(0);
        let arguments = args::Motion {
            frame: args::Frame::default(),
            width: size.width as u32,
            height: size.height as u32,
            earlier: earlier as u32,
            sad: self.sad.first,
        };
        let grid = [size.width.div_ceil(COLUMNS), size.height.div_ceil(ROWS), 1];
        vec![KernelCall::new(kernel, grid, THREADS, arguments)]
    }

    fn finish(&self, words: &[u64], compared: bool, values: &mut [Value]) {
        if self.settings.force_zero || !compared {
            return motion::finish_first(values);
        }
        let sums = motion::Sums {
            sad: self.sad.of(words)[0],
        };
        motion::finish(&sums, &self.settings, &self.format, values);
    }
}
