//! adm: one kernel a level, then one that rounds the sums of all rows.
//!
//! A level reads no more of the one before than its own share needs: a tenth of every band at
//! each side is not scored, so the outer tenth of the picture is hardly read at all.
//!
//! What must stay true: what a low band holds outside of the columns and rows that were asked
//! for is unspecified, and no result depends on it.

use std::ops::Range;

use vmafx_api::{ApiError, FrameFormat, Status, Value};
use vmafx_metrics::Options;
use vmafx_metrics::adm::steps::{
    Coarser, Finest, HIGH, LOW, Precision, Rounding, Shifts, half, row_shift,
};
use vmafx_metrics::adm::{self, LEVELS, Level, LevelSums, Settings, Sums, levels};

use super::{Accumulators, Arena, KernelCall, Layout, Region, Twin, Words, by_sample};
use crate::args;

/// Threads of a block and the rows that it takes, as in `kernels/adm.cpp`.
const THREADS: u32 = 64;
const ROWS: usize = 62;
/// Threads of a block of the kernel for rows.
const ROW_THREADS: u32 = 128;
/// What columns of blocks are multiples of, and rows of low bands padded to.
const COLUMNS: usize = 16;
/// Blocks of a level that are wanted: several frames are under way at a time.
const BLOCKS: usize = 256;
/// Sums of a level.
const SUMS: usize = 9;

pub(super) struct Adm {
    settings: Settings,
    format: FrameFormat,
    parts: [Part; LEVELS],
    blocks: usize,
    sums: Words,
}

/// One level.
struct Part {
    level: Level,
    /// Columns of bands that this level or the next one reads.
    columns: Range<usize>,
    /// Rows likewise.
    rows: Range<usize>,
    accumulators: Accumulators,
    /// The low bands of both pictures, column -1 first.
    low: [Region; 2],
}

impl Part {
    /// Bytes of a coefficient of the low bands.
    fn low_bytes(index: usize) -> usize {
        if index == 0 { 2 } else { 4 }
    }

    fn low_pitch(&self, index: usize) -> usize {
        (self.level.size.width + 1).next_multiple_of(COLUMNS) * Self::low_bytes(index)
    }

    /// The grid and the columns of a block, for about `blocks` blocks: the more columns, the
    /// smaller the part of what a block does in front of them.
    fn grid(&self, blocks: usize) -> ([usize; 3], usize) {
        let first = (self.columns.start + 1) / COLUMNS * COLUMNS;
        let columns = self.columns.end + 1 - first;
        let rows = self.rows.len().div_ceil(ROWS);
        let strip = (columns * rows).div_ceil(blocks);
        let strip = strip.next_multiple_of(COLUMNS).min(4 * COLUMNS);
        ([columns.div_ceil(strip), rows, 1], strip)
    }
}

/// The part of a signal of `n` samples that outputs `range` of the wavelet are made of.
fn inputs(range: &Range<usize>, n: usize) -> Range<usize> {
    (2 * range.start).saturating_sub(1)..(2 * range.end + 1).min(n)
}

fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.min(b.start)..a.end.max(b.end)
}

fn ends(range: &Range<usize>) -> [u32; 2] {
    [range.start as u32, range.end as u32]
}

impl Adm {
    pub(super) fn new(options: &Options, format: &FrameFormat) -> Result<Self, ApiError> {
        let settings = Settings::new(options)
            .map_err(|refusal| ApiError::new(Status::INVALID, "adm", refusal.to_string()))?;
        let mut parts = levels(format).map(|level| Part {
            columns: level.wide_columns(),
            rows: level.wide_rows(),
            level,
            accumulators: Accumulators::default(),
            low: [Region::default(); 2],
        });
        for index in (0..LEVELS - 1).rev() {
            let (finer, coarser) = parts.split_at_mut(index + 1);
            let (part, next) = (&mut finer[index], &coarser[0]);
            let size = part.level.size;
            part.columns = union(&part.columns, &inputs(&next.columns, size.width));
            part.rows = union(&part.rows, &inputs(&next.rows, size.height));
        }
        Ok(Adm {
            settings,
            format: *format,
            parts,
            blocks: BLOCKS,
            sums: Words::default(),
        })
    }

    fn level(&self, index: usize, arena: &Arena<'_>) -> KernelCall {
        let part = &self.parts[index];
        let before = index.checked_sub(1).map(|before| &self.parts[before]);
        let source = before.map_or(self.format.plane_size(0), |before| before.level.size);
        let low = match index {
            3 => [0; 2],
            _ => part.low.map(|band| arena.buffer(band)),
        };
        let rounding = Rounding::of(index, self.format.depth());
        let energy = Shifts::of(index, &part.level);
        // Straight details, then diagonal ones.
        let width = part.level.size.width;
        let (square_shift, cube_shift) = match index {
            0 => (
                [0, 2].map(Finest::square_shift),
                [0, 2].map(|band| Finest::cube_shift(band, width)),
            ),
            _ => (
                [0, 2].map(Coarser::square_shift),
                [0, 2].map(|band| Coarser::cube_shift(band, width)),
            ),
        };
        let limit = self.settings.gain_limit;
        let (grid, strip) = part.grid(self.blocks);
        let arguments = args::AdmLevel {
            frame: args::Frame::default(),
            source: before.map_or([0; 2], |before| before.low.map(|band| arena.buffer(band))),
            low,
            gain_limit: limit,
            vertical_half: half(rounding.vertical) as u64,
            horizontal_half: half(rounding.horizontal) as u64,
            square_half: square_shift.map(|shift| half(shift) as u64),
            cube_half: cube_shift.map(|shift| half(shift) as u64),
            energy_cube_half: half(energy.cube) as u64,
            energy_square_unit: 1 << energy.square,
            source_pitch: before.map_or(0, |before| before.low_pitch(index - 1)) as u32,
            low_pitch: part.low_pitch(index) as u32,
            source_width: source.width as u32,
            source_height: source.height as u32,
            width: part.level.size.width as u32,
            height: part.level.size.height as u32,
            columns: ends(&part.columns),
            rows: ends(&part.rows),
            scored_columns: ends(&part.level.columns),
            scored_rows: ends(&part.level.rows),
            strip: strip as u32,
            whole_gain: if limit.fract() == 0.0 {
                limit as u32
            } else {
                0
            },
            factors: self.settings.sensitivity[index].fixed,
            horizontal_shift: rounding.horizontal,
            low_taps: LOW.map(|tap| tap as i32),
            high_taps: HIGH.map(|tap| tap as i32),
            cube_shift,
            energy_square_shift: energy.square,
            energy_cube_shift: energy.cube,
            scored: u32::from(index > 0 || !self.settings.skip_scale0),
            with_impairment: u32::from(!self.settings.skip_aim),
            reserved: 0,
            accumulators: arena.accumulators(part.accumulators),
        };
        let kernel = match index {
            0 => by_sample(&self.format, ["vx_adm_first_u8", "vx_adm_first_u16"]),
            1 => "vx_adm_second",
            _ => "vx_adm_later",
        };
        KernelCall::new(kernel, grid, THREADS, arguments)
    }

    fn rows(&self, arena: &Arena<'_>) -> KernelCall {
        let parts = self.parts.each_ref();
        let arguments = args::AdmRows {
            frame: args::Frame::default(),
            accumulators: parts.map(|part| arena.accumulators(part.accumulators)),
            rows: parts.map(|part| part.level.rows.len() as u32),
            masked_shift: parts.map(|part| row_shift(&part.level)),
            energy_shift: [0, 1, 2, 3].map(|index| Shifts::of(index, &parts[index].level).row),
            sums: self.sums.first,
            reserved: 0,
        };
        KernelCall::new("vx_adm_rows", [SUMS, LEVELS, 1], ROW_THREADS, arguments)
    }

    /// The sums of a frame.
    fn sums(&self, words: &[u64]) -> Sums {
        let mut sums = Sums::default();
        let levels = self.sums.of(words).chunks_exact(SUMS);
        for (level, words) in sums.levels.iter_mut().zip(levels) {
            *level = LevelSums {
                restored: [0, 1, 2].map(|band| words[band] as i64),
                impairment: [0, 1, 2].map(|band| words[3 + band] as i64),
                original: [0, 1, 2].map(|band| words[6 + band]),
            };
        }
        sums
    }
}

impl Twin for Adm {
    fn planes(&self) -> usize {
        1
    }

    fn lay_out(&mut self, layout: &mut Layout) {
        self.sums = layout.words(SUMS * LEVELS);
        for (index, part) in self.parts.iter_mut().enumerate() {
            part.accumulators = layout.accumulators(SUMS * part.level.rows.len());
            if index + 1 < LEVELS {
                let bytes = part.low_pitch(index) * part.level.size.height;
                part.low = [layout.buffer(bytes), layout.buffer(bytes)];
            }
        }
    }

    fn launches(&self, arena: &Arena<'_>) -> Vec<KernelCall> {
        let levels = (0..LEVELS).map(|index| self.level(index, arena));
        levels.chain([self.rows(arena)]).collect()
    }

    fn finish(&self, words: &[u64], _compared: bool, values: &mut [Value]) {
        adm::finish(&self.sums(words), &self.settings, &self.format, values);
    }
}

#[cfg(test)]
mod tests;
