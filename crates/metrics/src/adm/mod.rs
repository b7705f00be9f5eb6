//! ADM, the additive distortion metric: how much of the original's detail is left (DLM, score
//! `adm2`) and how much was added (AIM), each as far as it is seen.
//!
//! Source: S. Li, F. Zhang, L. Ma, K. N. Ngan, "Image quality assessment by separately
//! evaluating detail losses and additive impairments", IEEE Trans. Multimedia 13(5), 2011, in
//! the fixed-point form of libvmaf's `integer_adm.c`. The steps, a file each:
//!
//! ```text
//! both luma planes -> wavelet (four levels) -> decouple -> masking, for both parts -> finish
//!                                        \-> energy (original only) ------------------^
//! ```
//!
//! What must stay true: [`reference()`] is exact integer arithmetic, so any order of work gives
//! the same [`Sums`]; the sensitivities in [`Settings`] and [`finish`] are floating point in
//! the order written.

mod csf;
mod decouple;
mod definition;
mod energy;
mod finish;
mod level;
mod masking;
mod wavelet;

use vmafx_api::{FrameFormat, PlaneView, Samples};

use crate::{Options, Refusal};

pub use csf::Sensitivity;
pub use definition::Adm;
pub use finish::finish;
pub use level::{LEVELS, Level, MIN_SIZE, levels};

/// The steps of the pixel part and their constants, for backends with loops of their own.
pub mod steps {
    pub use super::decouple::{COS_1_DEGREE_SQUARED, keeps_direction, restored};
    pub use super::energy::Shifts;
    pub use super::level::{half, neighbours, round_shift};
    pub use super::masking::{
        Coarser, FIRST_NEIGHBOUR_SHARE, FIRST_OWN_SHARE, Finest, NEIGHBOUR_SHARE, OWN_SHARE,
        Precision, row_shift,
    };
    pub use super::wavelet::{HIGH, LOW, Rounding, taps};
}

use csf::Viewing;
use masking::{Buffers, Coarser, Finest};
use wavelet::{Bands, Rounding, Source};

/// Options in the types that the code uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Weights of the details, the finest level first.
    pub sensitivity: [Sensitivity; LEVELS],
    /// How often an enhanced detail counts at most.
    pub gain_limit: f64,
    /// Noise that is added to the contrast of each place.
    pub noise_weight: f64,
    /// Share of `adm2` in `adm3`; the rest is that of `aim`.
    pub dlm_weight: f64,
    /// Smallest `adm3`.
    pub min_val: f64,
    /// Whether `aim` is left at 0.
    pub skip_aim: bool,
    /// Whether the first level is left out.
    pub skip_scale0: bool,
}

impl Settings {
    /// Reads `options` and computes the sensitivities.
    ///
    /// # Errors
    /// A viewing with fewer pixels than the fixed point allows, or one for which the chosen
    /// sensitivity function has no values.
    pub fn new(options: &Options) -> Result<Self, Refusal> {
        let viewing = Viewing {
            distance: options.float("adm_norm_view_dist"),
            height: options.int("adm_ref_display_height"),
        };
        let refuse = |reason| Refusal::Settings {
            feature: definition::NAME,
            reason,
        };
        let pixels = viewing.pixels();
        if pixels < csf::STANDARD_PIXELS {
            return Err(refuse(format!(
                "adm_norm_view_dist {} times adm_ref_display_height {} is {pixels}, the 16-bit \
                 arithmetic needs at least {}; raise one of them",
                viewing.distance,
                viewing.height,
                csf::STANDARD_PIXELS,
            )));
        }
        let mode = options.int("adm_csf_mode");
        let sensitivity = match mode {
            0 => csf::watson(viewing),
            1 => csf::barten(
                viewing,
                options.float("adm_csf_scale"),
                options.float("adm_csf_diag_scale"),
            ),
            _ => csf::fitted(viewing, mode == 3).ok_or_else(|| {
                refuse(format!(
                    "adm_csf_mode {mode} has no values for adm_ref_display_height {} at \
                     adm_norm_view_dist {}; it has them for height@distance {}",
                    viewing.height,
                    viewing.distance,
                    csf::fitted_viewings(),
                ))
            })?,
        };
        Ok(Settings {
            sensitivity,
            gain_limit: options.float("adm_enhn_gain_limit"),
            noise_weight: options.float("adm_noise_weight"),
            dlm_weight: options.float("adm_dlm_weight"),
            min_val: options.float("adm_min_val"),
            skip_aim: options.bool("adm_skip_aim"),
            skip_scale0: options.bool("adm_skip_scale0"),
        })
    }
}

/// Sums over one level, bands in the order horizontal, vertical, diagonal. All are zero where
/// the settings skip them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelSums {
    /// Cubes of the restored part, masked by the impairment.
    pub restored: [i64; 3],
    /// Cubes of the impairment, masked by the restored part.
    pub impairment: [i64; 3],
    /// Cubes of the original.
    pub original: [u64; 3],
}

/// What the pixel part returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The levels, the finest first.
    pub levels: [LevelSums; LEVELS],
}

/// Buffers of [`reference()`] for frames of one size: about ten bytes for each luma sample.
pub struct Scratch {
    levels: [Level; LEVELS],
    original: Picture,
    distorted: Picture,
    masking: Buffers,
}

impl Scratch {
    /// Buffers for frames of `format`.
    pub fn new(format: &FrameFormat) -> Self {
        let levels = levels(format);
        let width = format.plane_size(0).width;
        Scratch {
            original: Picture::new(&levels, width),
            distorted: Picture::new(&levels, width),
            masking: Buffers::new(&levels[0]),
            levels,
        }
    }
}

/// One picture at one level.
struct Picture {
    bands: Bands,
    /// The low band of the level before.
    input: Vec<i32>,
}

impl Picture {
    fn new(levels: &[Level; LEVELS], width: usize) -> Self {
        let area = levels[0].size.area();
        // The two low bands change places before each level: the large one starts as `input`,
        // serves the levels 0 and 2, and is `input` again after the last.
        Picture {
            bands: Bands {
                low: vec![0; levels[1].size.area()],
                details: [vec![0; area], vec![0; area], vec![0; area]],
                lines: [vec![0; width], vec![0; width]],
            },
            input: vec![0; area],
        }
    }

    /// Goes on to level `index`, from `plane` or from the level before.
    fn analyse(
        &mut self,
        index: usize,
        levels: &[Level; LEVELS],
        plane: &PlaneView<'_>,
        depth: u32,
    ) {
        let Picture { bands, input } = self;
        std::mem::swap(&mut bands.low, input);
        let rounding = Rounding::of(index, depth);
        if index > 0 {
            let size = levels[index - 1].size;
            bands.analyse(Source::new(input, size, size.width, 0), rounding);
            return;
        }
        let (size, stride, middle) = (plane.size(), plane.stride(), 1 << (depth - 1));
        match plane.samples() {
            Samples::U8(samples) => {
                bands.analyse(Source::new(samples, size, stride, middle), rounding);
            }
            Samples::U16(samples) => {
                bands.analyse(Source::new(samples, size, stride, middle), rounding);
            }
        }
    }
}

/// The pixel part: both luma planes, of the size that `scratch` was made for, to sums.
pub fn reference(
    reference: &PlaneView<'_>,
    distorted: &PlaneView<'_>,
    depth: u32,
    settings: &Settings,
    scratch: &mut Scratch,
) -> Sums {
    let mut sums = Sums::default();
    let Scratch {
        levels,
        original,
        distorted: other,
        masking,
    } = scratch;
    for (index, level) in levels.iter().enumerate() {
        original.analyse(index, levels, reference, depth);
        other.analyse(index, levels, distorted, depth);
        if index == 0 && settings.skip_scale0 {
            continue;
        }
        let sensitivity = &settings.sensitivity[index];
        let masked_cubes = match index {
            0 => masking::masked_cubes::<Finest>,
            _ => masking::masked_cubes::<Coarser>,
        };
        let sums = &mut sums.levels[index];
        let (restored, impairment) = (&mut original.bands.details, &mut other.bands.details);
        sums.original = energy::cubes(restored, index, level);
        decouple::decouple(restored, impairment, level, settings.gain_limit);
        sums.restored = masked_cubes(restored, impairment, sensitivity, level, masking);
        if !settings.skip_aim {
            sums.impairment = masked_cubes(impairment, restored, sensitivity, level, masking);
        }
    }
    sums
}

#[cfg(test)]
mod tests;
