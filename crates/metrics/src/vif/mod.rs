//! Visual information fidelity (`vif`): how much of the reference's information about the scene
//! is still in the distorted image, in four scales.
//!
//! H. R. Sheikh and A. C. Bovik, "Image information and visual quality", IEEE Transactions on
//! Image Processing 15(2), 2006, in its pixel-domain form with fixed-point windows and
//! logarithms as in libvmaf's `integer_vif.c`; the limit on enhancement gain is that of
//! VMAF NEG (Z. Li et al., "Toward a better quality metric for the video community",
//! Netflix Technology Blog, 2020).
//!
//! Scored from luma alone. What must stay true: every value equals libvmaf's scalar code bit
//! for bit.

mod information;
mod pixels;

use vmafx_api::{FrameFormat, Value};

pub use information::{LOG2_ONE, NOISE, ScaleSums, log2_table};
pub use pixels::{Scratch, Sums, TAPS, reference};

use crate::definition::{Column, Definition, Entry, Exactness, Metric, OptionInfo, Output, Planes};
use crate::{Clip, Options, PassThrough};

/// Smallest width and height: at scale 3 the window of three samples needs two to reflect.
pub const MIN_SIZE: u32 = 16;

static DEFINITION: Definition = Definition {
    name: "vif",
    version: 1,
    summary: "visual information fidelity in four scales, integer arithmetic",
    source: "Sheikh and Bovik, Image information and visual quality, IEEE TIP 15(2), 2006; \
             libvmaf integer_vif.c",
    min_size: (MIN_SIZE, MIN_SIZE),
    planes: Planes::Luma,
    options: &[
        OptionInfo::switch(
            "debug",
            false,
            "also report numerator and denominator of each scale and of all",
        ),
        OptionInfo::number(
            "vif_enhn_gain_limit",
            (100.0, 1.0, 100.0),
            "largest gain over the reference that counts as information; 1 gives no credit to \
             enhancement",
        )
        .in_names("egl"),
        OptionInfo::switch(
            "vif_skip_scale0",
            false,
            "leave out the full-size scale, whose score becomes 0",
        )
        .in_names("ssclz"),
    ],
    outputs: &OUTPUTS,
    aggregates: &[],
    exactness: Exactness::Equal,
    every_frame: false,
};

const fn output(internal: &'static str, name: &'static str) -> Output {
    Output { internal, name }
}

const fn debug(name: &'static str) -> Output {
    output(name, name)
}

/// The first four always, the others with `debug`.
const OUTPUTS: [Output; 15] = [
    output(
        "VMAF_integer_feature_vif_scale0_score",
        "integer_vif_scale0",
    ),
    output(
        "VMAF_integer_feature_vif_scale1_score",
        "integer_vif_scale1",
    ),
    output(
        "VMAF_integer_feature_vif_scale2_score",
        "integer_vif_scale2",
    ),
    output(
        "VMAF_integer_feature_vif_scale3_score",
        "integer_vif_scale3",
    ),
    debug("integer_vif"),
    debug("integer_vif_num"),
    debug("integer_vif_den"),
    debug("integer_vif_num_scale0"),
    debug("integer_vif_den_scale0"),
    debug("integer_vif_num_scale1"),
    debug("integer_vif_den_scale1"),
    debug("integer_vif_num_scale2"),
    debug("integer_vif_den_scale2"),
    debug("integer_vif_num_scale3"),
    debug("integer_vif_den_scale3"),
];

/// The metric `vif`.
#[derive(Clone, Copy, Debug)]
pub struct Vif;

inventory::submit!(Entry(&Vif));

/// The options in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether numerators and denominators are reported.
    pub debug: bool,
    /// Largest gain that counts as information.
    pub gain_limit: f64,
    /// Whether the full-size scale is left out.
    pub skip_scale0: bool,
}

impl From<&Options> for Settings {
    fn from(options: &Options) -> Self {
        Settings {
            debug: options.bool("debug"),
            gain_limit: options.float("vif_enhn_gain_limit"),
            skip_scale0: options.bool("vif_skip_scale0"),
        }
    }
}

impl Settings {
    fn outputs(&self) -> &'static [Output] {
        if self.debug { &OUTPUTS } else { &OUTPUTS[..4] }
    }
}

impl Metric for Vif {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn columns(&self, _format: &FrameFormat, options: &Options) -> Vec<Column> {
        let outputs = Settings::from(options).outputs();
        outputs
            .iter()
            .map(|&output| Column::Score(output))
            .collect()
    }

    fn clip(&self, _format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        let outputs = Settings::from(options).outputs();
        let names = outputs.iter().map(|output| options.score_name(output));
        Box::new(PassThrough::new(names.collect()))
    }
}

/// Turns the sums of one frame into its columns.
///
/// Where the reference is flat, a pixel's part is 1 less four times the distorted variance over
/// the square of 255. Numerator and denominator of a scale are rounded to single precision and
/// divided in it, as upstream does. The denominator counts every pixel at least once and is
/// never zero.
///
/// # Panics
/// If `values` is not as long as [`Metric::columns`].
pub fn finish(sums: &Sums, settings: &Settings, values: &mut [Value]) {
    let fractions = sums.scales.map(|scale| {
        let one = LOG2_ONE as f64;
        let flat = scale.flat_pixels as f64;
        let lost = scale.flat_variance as f64 / 16384.0 / 65025.0;
        let numerator = scale.distorted_bits as f64 / one + (flat - lost);
        let denominator = scale.reference_bits as f64 / one + flat;
        (numerator as f32, denominator as f32)
    });
    let mut scores = fractions.map(|(numerator, denominator)| f64::from(numerator / denominator));
    let mut fractions = fractions.map(|(n, d)| (f64::from(n), f64::from(d)));
    let counted = usize::from(settings.skip_scale0);
    let mut total = fractions[counted];
    for (numerator, denominator) in &fractions[counted + 1..] {
        total.0 += numerator;
        total.1 += denominator;
    }
    if settings.skip_scale0 {
        scores[0] = 0.0;
        fractions[0] = (0.0, -1.0);
    }

    let (main, debug) = values.split_at_mut(4);
    for (value, score) in main.iter_mut().zip(scores) {
        *value = Value::score(score);
    }
    if settings.debug {
        let scales = fractions.iter().flat_map(|&(n, d)| [n, d]);
        let all = [total.0 / total.1, total.0, total.1]
            .into_iter()
            .chain(scales);
        assert_eq!(debug.len(), OUTPUTS.len() - 4, "one value a column");
        for (value, score) in debug.iter_mut().zip(all) {
            *value = Value::score(score);
        }
    }
}

#[cfg(test)]
mod tests {
    use vmafx_api::Chroma;

    use super::*;

    fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::defaults(&DEFINITION);
        for (name, value) in settings {
            options.set_text(name, value).unwrap();
        }
        options
    }

    fn finished(sums: &Sums, settings: &[(&str, &str)]) -> Vec<f64> {
        let options = options(settings);
        let format = FrameFormat::new(16, 16, Chroma::Yuv400, 8).unwrap();
        let mut values = vec![Value::default(); Vif.columns(&format, &options).len()];
        finish(sums, &Settings::from(&options), &mut values);
        values.into_iter().map(Value::as_score).collect()
    }

    #[test]
    fn scores_are_single_precision_quotients() {
        let scale = |distorted_bits, reference_bits, flat_variance, flat_pixels| ScaleSums {
            distorted_bits,
            reference_bits,
            flat_variance,
            flat_pixels,
        };
        let sums = Sums {
            scales: [
                scale(2048, 3 * 2048, 0, 0),
                scale(1024, 0, 16384 * 65025 * 2, 4),
                scale(0, 0, 0, 7),
                scale(0, 2048 << 25, 0, 1),
            ],
        };
        let third = f64::from(1.0f32 / 3.0);
        let far = f64::from(1.0f32 / (1 << 25) as f32);
        assert_eq!(finished(&sums, &[]), [third, 0.625, 1.0, far]);

        let big = f64::from(1 << 25);
        let expected = [
            [third, 0.625, 1.0, far].to_vec(),
            [11.5 / (big + 14.0), 11.5, big + 14.0].to_vec(),
            [1.0, 3.0, 2.5, 4.0, 7.0, 7.0, 1.0, big].to_vec(),
        ];
        assert_eq!(finished(&sums, &[("debug", "true")]), expected.concat());

        let expected = [
            [0.0, 0.625, 1.0, far].to_vec(),
            [10.5 / (big + 11.0), 10.5, big + 11.0].to_vec(),
            [0.0, -1.0, 2.5, 4.0, 7.0, 7.0, 1.0, big].to_vec(),
        ];
        let skipping = [("debug", "true"), ("vif_skip_scale0", "true")];
        assert_eq!(finished(&sums, &skipping), expected.concat());
    }

    #[test]
    fn names_carry_the_options() {
        let format = FrameFormat::new(16, 16, Chroma::Yuv400, 8).unwrap();
        let names = |settings: &[(&str, &str)]| -> Vec<String> {
            let clip = Vif.clip(&format, &options(settings));
            clip.scores()
                .iter()
                .map(|score| score.name.clone())
                .collect()
        };
        assert_eq!(names(&[]).last().unwrap(), "integer_vif_scale3");
        let all = names(&[("ssclz", "true"), ("egl", "1.1"), ("debug", "true")]);
        assert_eq!(all.len(), OUTPUTS.len());
        assert_eq!(all[4], "integer_vif_egl_1.1_ssclz");
    }

    #[test]
    fn smallest_size() {
        let check = |width, height| {
            let format = FrameFormat::new(width, height, Chroma::Yuv420, 8).unwrap();
            Vif.check(&format, &options(&[]))
        };
        assert_eq!(check(16, 16), Ok(()));
        assert_eq!(
            check(2000, 15).unwrap_err().to_string(),
            "vif needs frames of at least 16x16, these are 2000x15"
        );
        assert!(check(15, 2000).is_err());
    }
}
