//! Contrast sensitivity: how much a detail of each level and band weighs.
//!
//! Four models, chosen by `adm_csf_mode`:
//! 0. visibility of wavelet quantisation noise (Watson, Yang, Solomon, Villasenor, "Visibility
//!    of wavelet quantization noise", IEEE Trans. Image Processing 6(8), 1997, tables IV and V,
//!    luma);
//! 1. Barten's function in the form of HDR-VDP-2 (Mantiuk, Kim, Rempel, Heidrich 2011) at
//!    100 cd/m2;
//! 2. and 3. two fits between both, tabulated by display height and view distance
//!    (libvmaf's `barten_csf_tools.h`).
//!
//! Barten's weights are a hundred times the others and far beyond the fixed point of the finest
//! level. libvmaf keeps their low 16 bits there, and so does this code: in mode 1 the finest
//! level's numerator, and with it the score, means nothing but equals libvmaf's.
//!
//! What must stay true: every statement that libvmaf assigns to a `float` is rounded to single
//! precision here, and nothing else is.

use crate::math;

use super::level::LEVELS;

/// Weights of one level, bands in the order horizontal, vertical, diagonal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// The weights.
    pub factor: [f32; 3],
    /// The weights as the pixel part multiplies with them: on the first level in units of 2^-21
    /// (diagonal 2^-23), the low 16 bits; on the others in units of 2^-32, the low 32 bits.
    pub fixed: [u32; 3],
    /// Cubes of the weights.
    pub cubed: [f64; 3],
}

/// From where the picture is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Viewing {
    /// Distance in display heights.
    pub(super) distance: f64,
    /// Height of the display in pixels.
    pub(super) height: i32,
}

impl Viewing {
    /// Pixels along a line as long as the viewing distance.
    pub(super) fn pixels(self) -> f64 {
        self.distance * f64::from(self.height)
    }

    /// Pixels in a degree of visual angle.
    fn resolution(self) -> f32 {
        (self.pixels() * std::f64::consts::PI / 180.0) as f32
    }
}

/// The viewing of the paper: 3 heights of a display of 1080 lines.
pub(super) const STANDARD_PIXELS: f64 = 3240.0;

/// Weights of all levels in Watson's model.
pub(super) fn watson(viewing: Viewing) -> [Sensitivity; LEVELS] {
    let mut levels = [0, 1, 2, 3].map(|level| {
        let factor = |orientation| 1.0 / watson_step(viewing, level, orientation);
        Sensitivity::new(level, factor(0), factor(1))
    });
    // libvmaf has these three by hand; the factors above would give 36451, 36451, 49414.
    if (viewing.pixels() - STANDARD_PIXELS).abs() < 1.0e-8 {
        levels[0].fixed = [36453, 36453, 49417];
    }
    levels
}

/// Largest quantisation step that is not seen; `orientation` 0 is horizontal and vertical, 1 is
/// diagonal.
fn watson_step(viewing: Viewing, level: usize, orientation: usize) -> f32 {
    const A: f32 = 0.495;
    const K: f32 = 0.466;
    const F0: f32 = 0.401;
    const G: [f32; 2] = [1.0, 0.534];
    const AMPLITUDE: [[f32; 2]; LEVELS] = [
        [0.67234, 0.72709],
        [0.41317, 0.49428],
        [0.22727, 0.28688],
        [0.11792, 0.15214],
    ];
    let spacing = f64::from(2_u32 << level);
    let frequency_ratio =
        spacing * f64::from(F0) * f64::from(G[orientation]) / f64::from(viewing.resolution());
    let log_ratio = math::log10(frequency_ratio) as f32;
    let exponent = K * log_ratio * log_ratio;
    let threshold = 2.0 * f64::from(A) * math::pow(10.0, f64::from(exponent));
    (threshold / f64::from(AMPLITUDE[level][orientation])) as f32
}

/// Weights of all levels in Barten's model, scaled by `scale`, diagonal by `diagonal_scale`.
pub(super) fn barten(viewing: Viewing, scale: f64, diagonal_scale: f64) -> [Sensitivity; LEVELS] {
    [0, 1, 2, 3].map(|level| {
        let sensitivity = f64::from(barten_sensitivity(viewing, level));
        let factor = |scale| (sensitivity * scale) as f32;
        Sensitivity::new(level, factor(scale), factor(diagonal_scale))
    })
}

fn barten_sensitivity(viewing: Viewing, level: usize) -> f32 {
    const LUMINANCE: f32 = 100.0;
    // Parameters of the neural part as fitted at 20 and 150 cd/m2, the neighbours of 100.
    const ANCHORS: [f32; 2] = [20.0, 150.0];
    const NEURAL: [[f32; 2]; 4] = [
        [0.334278, 0.394533],
        [3.79542, 2.7755],
        [1.07327, 1.16577],
        [6.4635, 7.45665],
    ];
    // Optics of the eye: a sum of exponentials.
    const OPTICS: [(f32, f32); 4] = [
        (0.424_838_6, 0.028),
        (0.572_435_1, 0.37),
        (0.000_167_576_23, 37.0),
        (0.002_558_723_6, 360.0),
    ];
    // Loss of sensitivity in the dark.
    const PEAK: f32 = 30.162;
    const DROP: f32 = 4.0627;
    const SLOPE: f32 = 1.6596;
    const LOW_SLOPE: f32 = 0.2712;

    let frequency = viewing.resolution() / (2_u32 << level) as f32;
    let log = |luminance: f32| math::log10(f64::from(luminance)) as f32;
    let (from, to) = (log(ANCHORS[0]), log(ANCHORS[1]));
    let [p0, p1, p2, p3] =
        NEURAL.map(|[low, high]| low + (high - low) / (to - from) * (log(LUMINANCE) - from));

    let rise = (1.0 + math::pow(f64::from(p0 * frequency), f64::from(p1))) as f32;
    let low_frequency = f64::from(frequency / 7.0);
    let lateral = 1.0 - math::exp(-(low_frequency * low_frequency));
    let fall = (1.0 / math::pow(lateral, f64::from(p2))) as f32;
    let neural = (f64::from(p3) / f64::from(rise * fall).sqrt()) as f32;
    let optical = OPTICS.iter().fold(0.0_f32, |sum, &(a, b)| {
        (f64::from(sum) + f64::from(a) * math::exp(f64::from(-b * frequency))) as f32
    });
    let drop = math::pow(f64::from(DROP / LUMINANCE), f64::from(SLOPE)) + 1.0;
    let retinal = (f64::from(PEAK) * math::pow(drop, f64::from(-LOW_SLOPE))) as f32;
    neural * optical * retinal
}

/// Weights of both fits for one viewing: horizontal and vertical, then diagonal.
struct Fit {
    viewing: Viewing,
    blend: [[f32; LEVELS]; 2],
    blend_mae: [[f32; LEVELS]; 2],
}

/// All fits that can be met: libvmaf has more, for viewings below [`STANDARD_PIXELS`].
static FITS: [Fit; 6] = [
    Fit {
        viewing: Viewing {
            height: 720,
            distance: 5.0,
        },
        blend: [
            [0.010144, 0.022561, 0.040309, 0.05672],
            [0.003463, 0.010282, 0.021839, 0.034641],
        ],
        blend_mae: [
            [0.009689, 0.020577, 0.034162, 0.044523],
            [0.003302, 0.009579, 0.019661, 0.030318],
        ],
    },
    STANDARD_FIT,
    Fit {
        viewing: Viewing {
            height: 1080,
            distance: 5.0,
        },
        blend: [
            [0.004212, 0.014809, 0.029642, 0.047464],
            [0.000984, 0.005852, 0.0146, 0.027574],
        ],
        blend_mae: [
            [0.004052, 0.013939, 0.026298, 0.038833],
            [0.000927, 0.005544, 0.013415, 0.024515],
        ],
    },
    // As many pixels in a degree as the standard viewing.
    Fit {
        viewing: Viewing {
            height: 2160,
            distance: 1.5,
        },
        ..STANDARD_FIT
    },
    Fit {
        viewing: Viewing {
            height: 2160,
            distance: 3.0,
        },
        blend: [
            [0.00226, 0.01183, 0.025026, 0.04295],
            [0.000479, 0.004302, 0.011778, 0.023918],
        ],
        blend_mae: [
            [0.002166, 0.011249, 0.022606, 0.03593],
            [0.000447, 0.004097, 0.010921, 0.02143],
        ],
    },
    Fit {
        viewing: Viewing {
            height: 2160,
            distance: 5.0,
        },
        blend: [
            [0.000092, 0.004212, 0.014809, 0.029642],
            [0.00005, 0.000984, 0.005852, 0.0146],
        ],
        blend_mae: [
            [0.000077, 0.004052, 0.013939, 0.026298],
            [0.000045, 0.000927, 0.005544, 0.013415],
        ],
    },
];

const STANDARD_FIT: Fit = Fit {
    viewing: Viewing {
        height: 1080,
        distance: 3.0,
    },
    blend: [
        [0.01183, 0.025026, 0.04295, 0.058621],
        [0.004302, 0.011778, 0.023918, 0.035901],
    ],
    blend_mae: [
        [0.011249, 0.022606, 0.03593, 0.045673],
        [0.004097, 0.010921, 0.02143, 0.031313],
    ],
};

/// Weights of all levels in one of the fits, if there is one for this viewing.
pub(super) fn fitted(viewing: Viewing, mae: bool) -> Option<[Sensitivity; LEVELS]> {
    let fit = FITS.iter().find(|fit| fit.viewing == viewing)?;
    let [factor, diagonal] = if mae { fit.blend_mae } else { fit.blend };
    Some([0, 1, 2, 3].map(|level| Sensitivity::new(level, factor[level], diagonal[level])))
}

/// The viewings that [`fitted`] knows, as `height@distance`.
pub(super) fn fitted_viewings() -> String {
    let viewings = FITS.iter().map(|fit| {
        let Viewing { height, distance } = fit.viewing;
        format!("{height}@{distance}")
    });
    viewings.collect::<Vec<_>>().join(", ")
}

impl Sensitivity {
    /// Weights stay below 2^11 (Barten's at the standard viewing with a scale of 50), so the
    /// steps fit 64 bits; of the high ones the fixed point drops what libvmaf drops.
    fn new(level: usize, factor: f32, diagonal: f32) -> Self {
        let factor = [factor, factor, diagonal];
        let fixed = |band: usize| {
            let unit_bits = if level > 0 { 32 } else { [21, 21, 23][band] };
            let steps = (f64::from(factor[band]) * (1_u64 << unit_bits) as f64) as i64;
            if level > 0 {
                steps as u32
            } else {
                u32::from(steps as u16)
            }
        };
        Sensitivity {
            factor,
            fixed: [0, 1, 2].map(fixed),
            cubed: factor.map(|f| f64::from(f) * f64::from(f) * f64::from(f)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(levels: [Sensitivity; LEVELS]) -> [[f32; 2]; LEVELS] {
        levels.map(|level| {
            assert_eq!(level.factor[0], level.factor[1]);
            [level.factor[0], level.factor[2]]
        })
    }

    const STANDARD: Viewing = Viewing {
        distance: 3.0,
        height: 1080,
    };

    // Right-hand sides computed from the published formulas with single-precision rounding after
    // each statement, by a separate program.

    #[test]
    fn watson_weights() {
        assert_eq!(
            factors(watson(STANDARD)),
            [
                [0.017381538, 0.005890687],
                [0.03198483, 0.014299068],
                [0.04337266, 0.024396908],
                [0.04567341, 0.031312738],
            ]
        );
        let far = Viewing {
            distance: 5.0,
            ..STANDARD
        };
        assert_eq!(
            factors(watson(far)),
            [
                [0.0068391743, 0.002035856],
                [0.014524501, 0.005703358],
                [0.022730842, 0.011230516],
                [0.027625151, 0.016635193],
            ]
        );
        let fixed = watson(far).map(|level| level.fixed);
        assert_eq!(fixed[0], [14342, 14342, 17077]);
        assert_eq!(fixed[3], [118_649_120, 118_649_120, 71_447_608]);
    }

    #[test]
    fn the_standard_viewing_has_weights_by_hand() {
        let same_resolution = Viewing {
            distance: 1.5,
            height: 2160,
        };
        let nearly = Viewing {
            distance: 3.000001,
            ..STANDARD
        };
        assert_eq!(watson(STANDARD)[0].fixed, [36453, 36453, 49417]);
        assert_eq!(watson(same_resolution)[0].fixed, [36453, 36453, 49417]);
        assert_eq!(watson(nearly)[0].fixed, [36451, 36451, 49414]);
        assert_eq!(
            watson(STANDARD)[1].fixed,
            [137_373_792, 137_373_792, 61_414_028]
        );
    }

    #[test]
    fn barten_weights() {
        assert_eq!(
            factors(barten(STANDARD, 1.3, 0.8)),
            [
                [1.5736455, 0.96839726],
                [6.554889, 4.033778],
                [19.015184, 11.701652],
                [35.068645, 21.580706],
            ]
        );
        let far = Viewing {
            distance: 5.0,
            height: 2160,
        };
        assert_eq!(
            factors(barten(far, 1.0, 50.0)),
            [
                [0.03173693, 1.5868465],
                [0.33359158, 16.679579],
                [1.8125598, 90.62799],
                [6.9673715, 348.36856],
            ]
        );
        // Weights that the fixed point cannot hold lose their high bits.
        let fixed = barten(STANDARD, 1.0, 50.0).map(|level| level.fixed);
        assert_eq!(fixed[0][2], 507_719_040 % 65536);
        assert_eq!(
            fixed[3][2],
            (1_348.794_1_f32 as f64 * 4_294_967_296.0) as u64 as u32
        );
        assert_eq!(
            fixed[1][0],
            (5.042_222_5_f32 as f64 * 4_294_967_296.0) as u64 as u32
        );
    }

    #[test]
    fn fits_are_found_by_their_exact_viewing() {
        let close = Viewing {
            distance: 1.5,
            height: 2160,
        };
        for mae in [false, true] {
            assert_eq!(fitted(STANDARD, mae), fitted(close, mae));
            assert!(
                FITS.iter()
                    .all(|fit| fit.viewing.pixels() >= STANDARD_PIXELS)
            );
            let levels = FITS
                .iter()
                .filter_map(|fit| fitted(fit.viewing, mae))
                .flatten();
            assert_eq!(levels.clone().count(), 24);
            assert!(
                levels
                    .clone()
                    .all(|level| level.factor[0] > level.factor[2])
            );
        }
        let blend = fitted(STANDARD, false).unwrap();
        assert_eq!(factors(blend)[0], [0.01183, 0.004302]);
        assert_eq!(blend[0].fixed, [24809, 24809, 36087]);
        assert_eq!(
            factors(fitted(STANDARD, true).unwrap())[3],
            [0.045673, 0.031313]
        );
        let unknown = Viewing {
            distance: 4.0,
            ..STANDARD
        };
        assert_eq!(fitted(unknown, false), None);
        assert_eq!(
            fitted_viewings(),
            "720@5, 1080@3, 1080@5, 2160@1.5, 2160@3, 2160@5"
        );
    }
}
