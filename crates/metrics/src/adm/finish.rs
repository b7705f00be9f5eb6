//! From sums to scores.
//!
//! Source: Li et al. 2011, section III-D: cube roots of the sums, bands and levels added up,
//! restored over original. Types and order are those of libvmaf's `integer_adm.c`.
//!
//! What must stay true: a statement that libvmaf assigns to a `float` is rounded to single
//! precision; sums go horizontal, vertical, diagonal and from the finest level to the coarsest.

use vmafx_api::{FrameFormat, Value};

use crate::math;

use super::level::{LEVELS, Level, levels};
use super::masking::{Coarser, Finest};
use super::{Settings, Sums, energy, masking};

/// The exponent of every root.
const THIRD: f32 = 1.0 / 3.0;

/// Writes the columns of one frame in the order of [`Metric::columns`](crate::Metric::columns):
/// `adm2`, `aim`, `adm3`, four levels and, if there is room because `debug` is set, numerators
/// and denominators.
///
/// With no noise weight and no detail in the original there is nothing to divide by. Then
/// `adm2` is 1, as in libvmaf; `aim` is 0, where libvmaf leaves it unset; and the levels are
/// 0/0, not a number, as in libvmaf.
pub fn finish(sums: &Sums, settings: &Settings, format: &FrameFormat, values: &mut [Value]) {
    let levels = levels(format);
    let mut parts = [Parts::default(); LEVELS];
    for (index, part) in parts.iter_mut().enumerate() {
        *part = if index == 0 && settings.skip_scale0 {
            // Keeps the level's score, 0/0 otherwise, at 0.
            Parts {
                original: 1e-10,
                ..Parts::default()
            }
        } else {
            Parts::of(index, sums, settings, &levels[index])
        };
    }

    // As much as rounding leaves of nothing in a frame of that size.
    let area = f64::from(format.width()) * f64::from(format.height());
    let negligible = 1e-10 * area / (1920.0 * 1080.0);
    let total = |term: fn(&Parts) -> f32| {
        parts
            .iter()
            .fold(0.0, |sum, part| sum + f64::from(term(part)))
    };
    let noticeable = |sum| if sum < negligible { 0.0 } else { sum };
    let restored = noticeable(total(|part| part.restored));
    let original = noticeable(total(|part| part.original));
    let impairment = total(|part| part.impairment);
    let (adm2, aim) = match original == 0.0 {
        true => (1.0, 0.0),
        false => (restored / original, impairment / original),
    };
    let weight = settings.dlm_weight;
    let blend = adm2 * weight + (1.0 - aim) * (1.0 - weight);
    // Written so that not-a-number gives the minimum.
    let adm3 = if blend > settings.min_val {
        blend
    } else {
        settings.min_val
    };

    let ratios = parts.map(|part| f64::from(part.restored) / f64::from(part.original));
    let terms = parts
        .iter()
        .flat_map(|part| [part.restored, part.original].map(f64::from));
    let usual = [adm2, aim, adm3].into_iter().chain(ratios);
    let debug = [adm2, restored, original].into_iter().chain(terms);
    for (value, score) in values.iter_mut().zip(usual.chain(debug)) {
        *value = Value::score(score);
    }
}

/// Contrasts of one level.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// What is left of the original, as far as the impairment does not mask it.
    restored: f32,
    /// The original.
    original: f32,
    /// The impairment, as far as the restored part does not mask it.
    impairment: f32,
}

impl Parts {
    fn of(index: usize, sums: &Sums, settings: &Settings, level: &Level) -> Self {
        let sensitivity = &settings.sensitivity[index];
        let sums = &sums.levels[index];
        let masked = |totals: [i64; 3]| {
            [0, 1, 2].map(|band| {
                let total = totals[band];
                if index == 0 {
                    let bits = masking::fraction::<Finest>(index, band, level);
                    (total as f64 / unit(bits)) as f32
                } else {
                    let bits = masking::fraction::<Coarser>(index, band, level);
                    total as f32 / unit(bits) as f32
                }
            })
        };
        let original = [0, 1, 2].map(|band| {
            let cubes = sums.original[band] as f64 / unit(energy::fraction(index, level));
            (cubes * sensitivity.cubed[band]) as f32
        });
        let area = level.area() as f64;
        let noise = |weight: f64| math::powf((area * weight) as f32, THIRD);
        let seen = |cubes: [f32; 3], noise: f32| {
            let [h, v, d] = cubes.map(|cube| math::powf(cube, THIRD) + noise);
            h + v + d
        };
        let floor = noise(settings.noise_weight);
        Parts {
            restored: seen(masked(sums.restored), floor),
            original: seen(original, floor),
            impairment: seen(masked(sums.impairment), noise(0.0)),
        }
    }
}

/// `2^bits`.
fn unit(bits: u32) -> f64 {
    (1_u64 << bits) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adm::Adm;
    use crate::{Metric, Options};
    use vmafx_api::Chroma;

    fn scores(sums: &Sums, option_texts: &[(&str, &str)]) -> Vec<f64> {
        let mut options = Options::defaults(Adm.definition());
        options.set_text("debug", "true").unwrap();
        for (name, text) in option_texts {
            options.set_text(name, text).unwrap();
        }
        let format = FrameFormat::new(64, 64, Chroma::Yuv420, 8).unwrap();
        let mut values = vec![Value::default(); Adm.columns(&format, &options).len()];
        let settings = Settings::new(&options).unwrap();
        finish(sums, &settings, &format, &mut values);
        values.into_iter().map(Value::as_score).collect()
    }

    /// Sums whose cubes are 8 in each band, before the original is weighed. 64x64 gives bands
    /// of 32, 16, 8 and 4, of which 28, 14, 8 and 4 are scored.
    fn eights() -> Sums {
        let mut sums = Sums::default();
        let masked = [[46, 46, 50], [37; 3], [33; 3], [32; 3]];
        for (index, (bits, original)) in masked.into_iter().zip([18, 24, 21, 19]).enumerate() {
            let level = &mut sums.levels[index];
            level.restored = bits.map(|bits| 8 << bits);
            level.impairment = bits.map(|bits| 1 << bits);
            level.original = [8 << original; 3];
        }
        sums
    }

    #[test]
    fn roots_of_each_band_add_up() {
        let got = scores(&eights(), &[("nw", "0")]);
        let [adm2, aim, adm3] = [got[0], got[1], got[2]];
        let (num, den) = (&got[10..].iter().step_by(2), &got[11..].iter().step_by(2));
        assert!(num.clone().all(|&num| num == 6.0));
        let settings = Settings::new(&Options::defaults(Adm.definition())).unwrap();
        for (&den, sensitivity) in den.clone().zip(&settings.sensitivity) {
            let want: f64 = sensitivity.factor.iter().map(|&f| 2.0 * f64::from(f)).sum();
            assert!((den / want - 1.0).abs() < 3e-7, "{den} {want}");
        }
        assert_eq!((got[8], got[9]), (24.0, den.clone().sum::<f64>()));
        assert_eq!((adm2, aim), (24.0 / got[9], 12.0 / got[9]));
        assert_eq!(adm3, adm2 * 0.5 + (1.0 - aim) * 0.5);
        assert_eq!(got[3..7], [10, 12, 14, 16].map(|at| got[at] / got[at + 1]));
        assert_eq!(got[7], adm2);
    }

    #[test]
    fn noise_is_added_to_each_root_of_numerator_and_denominator() {
        let (quiet, noisy) = (scores(&eights(), &[("nw", "0")]), scores(&eights(), &[]));
        for (level, area) in [28 * 28, 14 * 14, 64, 16].into_iter().enumerate() {
            let noise = 3.0 * (f64::from(area) * 0.03125).cbrt();
            for at in [10 + 2 * level, 11 + 2 * level] {
                assert!((noisy[at] - quiet[at] - noise).abs() < 3e-6, "{level}");
            }
        }
        // Not to the impairment.
        let impairment = |scores: &[f64]| scores[1] * scores[9];
        assert!((impairment(&noisy) - impairment(&quiet)).abs() < 1e-9);
    }

    #[test]
    fn nothing_at_all_is_perfect() {
        let got = scores(&Sums::default(), &[]);
        assert_eq!(got[..7], [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let got = scores(&Sums::default(), &[("nw", "0")]);
        assert_eq!(got[..3], [1.0, 0.0, 1.0]);
        assert!(got[3..7].iter().all(|level| level.is_nan()));
    }

    #[test]
    fn a_skipped_first_level_scores_zero() {
        let got = scores(&eights(), &[("adm_skip_scale0", "true"), ("nw", "0")]);
        let tiny = f64::from(1e-10_f32);
        assert_eq!((got[3], got[8], got[10], got[11]), (0.0, 18.0, 0.0, tiny));
        assert_eq!(got[9], tiny + got[13] + got[15] + got[17]);
    }

    #[test]
    fn adm3_has_a_weight_and_a_floor() {
        let got = scores(&eights(), &[("dlmw", "0.75")]);
        assert_eq!(got[2], got[0] * 0.75 + (1.0 - got[1]) * 0.25);
        let low = Sums {
            levels: eights().levels.map(|level| crate::adm::LevelSums {
                restored: [0; 3],
                ..level
            }),
        };
        assert_eq!(scores(&low, &[("min", "0.9375")])[2], 0.9375);
        // Wrapped sums can be negative; their root is not a number.
        let mut wrapped = eights();
        wrapped.levels[1].restored[0] = -1 << 40;
        let got = scores(&wrapped, &[("min", "0.5")]);
        assert!(got[0].is_nan() && got[4].is_nan());
        assert_eq!(got[2], 0.5);
    }
}
