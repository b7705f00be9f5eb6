//! vif: one kernel a scale, which also makes the images of the next one.
//!
//! What must stay true: tiles and paddings are those of `kernels/vif.cpp`; chords give the
//! metric's logarithms in every bit.

use std::sync::LazyLock;

use vmafx_api::{FrameFormat, Value};
use vmafx_metrics::vif::{self, ScaleSums};
use vmafx_metrics::{Options, vif::log2_table};

use super::{Arena, KernelCall, Layout, Region, Table, Twin, Words};
use crate::args;

/// Threads of a block, and rows and columns of its tile.
const THREADS: u32 = 256;
const ROWS: usize = 16;
const COLUMNS: [usize; 4] = [112, 120, 120, 120];
const SCALES: usize = 4;
/// Words of the results for a scale.
const SUMS: usize = 4;

pub(super) struct Vif {
    settings: vif::Settings,
    format: FrameFormat,
    words: Words,
    chords: Table,
    /// Both images of scales 1 to 3.
    images: [[Region; 2]; SCALES - 1],
}

impl Vif {
    pub(super) fn new(options: &Options, format: &FrameFormat) -> Self {
        Vif {
            settings: vif::Settings::from(options),
            format: *format,
            words: Words::default(),
            chords: Table::default(),
            images: Default::default(),
        }
    }

    /// Columns and rows of a scale.
    fn size(&self, scale: usize) -> [usize; 2] {
        [self.format.width(), self.format.height()].map(|n| n as usize >> scale)
    }

    /// Bytes from row to row of a made image: kernels write four samples at a time.
    fn pitch(&self, scale: usize) -> usize {
        self.size(scale)[0].next_multiple_of(4) * size_of::<u16>()
    }

    /// What the kernels added up.
    fn sums(&self, words: &[u64]) -> vif::Sums {
        let mut sums = vif::Sums::default();
        let read = self.words.of(words).chunks_exact(SUMS);
        for (scale, read) in sums.scales.iter_mut().zip(read) {
            *scale = ScaleSums {
                distorted_bits: read[0] as i64,
                reference_bits: read[1] as i64,
                flat_variance: read[2] as i64,
                flat_pixels: read[3] as i64,
            };
        }
        sums
    }

    /// Both images of a scale. Those of scale 0 are in the job, those of scale 4 are not made.
    fn planes(&self, scale: usize, arena: &Arena<'_>) -> [args::Plane; 2] {
        let images = scale.checked_sub(1).and_then(|made| self.images.get(made));
        images.map_or_else(Default::default, |images| {
            images.map(|image| args::Plane {
                address: arena.buffer(image),
                pitch: self.pitch(scale) as u64,
            })
        })
    }
}

impl Twin for Vif {
    fn planes(&self) -> usize {
        1
    }

    fn lay_out(&mut self, layout: &mut Layout) {
        self.words = layout.words(SCALES * SUMS);
        self.chords = layout.table(&CHORDS);
        self.images = [1, 2, 3].map(|scale| {
            let bytes = self.pitch(scale) * self.size(scale)[1];
            [layout.buffer(bytes), layout.buffer(bytes)]
        });
    }

    fn launches(&self, arena: &Arena<'_>) -> Vec<KernelCall> {
        let first = match self.format.depth() {
            8 => "vx_vif_scale0_u8",
            ..=12 => "vx_vif_scale0_u12",
            _ => "vx_vif_scale0_u16",
        };
        let kernels = [first, "vx_vif_scale1", "vx_vif_scale2", "vx_vif_scale3"];
        let call = |(scale, kernel): (usize, &'static str)| {
            let [width, height] = self.size(scale);
            let arguments = args::Vif {
                frame: args::Frame::default(),
                image: self.planes(scale, arena),
                next: self.planes(scale + 1, arena),
                chords: arena.table(self.chords),
                gain_limit: self.settings.gain_limit,
                width: width as u32,
                height: height as u32,
                sums: self.words.first + (scale * SUMS) as u32,
                score: u32::from(scale > 0 || !self.settings.skip_scale0),
            };
            let grid = [width.div_ceil(COLUMNS[scale]), height.div_ceil(ROWS), 1];
            KernelCall::new(kernel, grid, THREADS, arguments)
        };
        kernels.into_iter().enumerate().map(call).collect()
    }

    fn finish(&self, words: &[u64], _compared: bool, values: &mut [Value]) {
        vif::finish(&self.sums(words), &self.settings, values);
    }
}

/// Entries of the metric's table of logarithms that a chord stands for.
const CHORD: usize = 128;

/// Chords of the metric's logarithms of 32768..65536, which are steps: a chord whose value,
/// rounded down, is each of its entries. A 64th of the table that it stands for, so that it fits
/// a block's memory.
///
/// A chord is its value at the left end in 1/2^20, and in its low 12 bits, which are part of that
/// value, also its slope in 1/2^15.
static CHORDS: LazyLock<Box<[u32]>> = LazyLock::new(|| {
    let chords = log2_table().chunks_exact(CHORD).enumerate();
    chords
        .map(|(number, entries)| {
            let middle = 32768.0 + (number as f64 + 0.5) * CHORD as f64;
            let tangent = (f64::from(2048 << 15) * std::f64::consts::LOG2_E / middle) as u32;
            let nearest = (0..8).flat_map(|off| [tangent + off, tangent - off]);
            let chord = nearest.into_iter().find_map(|slope| chord(entries, slope));
            chord.expect("every part of the table has a chord")
        })
        .collect()
});

/// The chord of some entries with this slope, if there is one.
fn chord(entries: &[u16], slope: u32) -> Option<u32> {
    // Where the left end may lie.
    let (mut lowest, mut highest) = (0, u32::MAX);
    for (i, &entry) in (0..).zip(entries) {
        let entry = u32::from(entry - (15 << 11));
        let rise = i * (slope << 5);
        lowest = lowest.max((entry << 20).saturating_sub(rise));
        highest = highest.min((((entry + 1) << 20) - 1).saturating_sub(rise));
    }
    let chord = (lowest & !0xfff) | slope;
    let chord = if chord < lowest {
        chord + 0x1000
    } else {
        chord
    };
    (slope < 0x1000 && chord <= highest).then_some(chord)
}

#[cfg(test)]
mod tests;
