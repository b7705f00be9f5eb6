//! psnr: one kernel a plane.

use vmafx_api::{FrameFormat, Value};
use vmafx_metrics::{Options, psnr};

use super::{Arena, KernelCall, Layout, Twin, Words, by_sample};
use crate::args;

/// Threads of a block and samples that each takes, as in `kernels/psnr.cpp`.
const THREADS: usize = 256;
const RUN: usize = 8;

pub(super) struct Psnr {
    settings: psnr::Settings,
    format: FrameFormat,
    sums: Words,
}

impl Psnr {
    pub(super) fn new(options: &Options, format: &FrameFormat) -> Self {
        Psnr {
            settings: psnr::Settings::new(options, format),
            format: *format,
            sums: Words::default(),
        }
    }
}

impl Twin for Psnr {
    fn planes(&self) -> usize {
        self.settings.planes
    }

    fn lay_out(&mut self, layout: &mut Layout) {
        self.sums = layout.words(self.settings.planes);
    }

    fn launches(&self, _arena: &Arena<'_>) -> Vec<KernelCall> {
        let kernel = by_sample(&self.format, ["vx_psnr_u8", "vx_psnr_u16"]);
        let planes = 0..self.settings.planes as u32;
        let call = |plane: u32| {
            let size = self.format.plane_size(plane as usize);
            let arguments = args::Psnr {
                frame: args::Frame::default(),
                width: size.width as u32,
                height: size.height as u32,
                plane,
                sum: self.sums.first + plane,
            };
            let grid = [size.width.div_ceil(THREADS * RUN), size.height, 1];
            KernelCall::new(kernel, grid, THREADS as u32, arguments)
        };
        planes.map(call).collect()
    }

    fn finish(&self, words: &[u64], _compared: bool, values: &mut [Value]) {
        let mut sums = psnr::Sums::default();
        let read = self.sums.of(words);
        sums.sse[..read.len()].copy_from_slice(read);
        psnr::finish(&sums, &self.settings, values);
    }
}
