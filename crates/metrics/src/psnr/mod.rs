//! Peak signal-to-noise ratio (`psnr`): squared error of each plane in decibels below the peak,
//! for each frame and, with `enable_apsnr`, for the clip as a whole.
//!
//! The definition is the common one (ITU-T J.340); caps, options and names are those
//! of libvmaf's `integer_psnr.c`. Depths that libvmaf does not take follow the same formulas.
//!
//! What must stay true: squared errors are exact integers up to the one division, so that the
//! sum over a clip of any length does not depend on how it was cut.

mod clip;

use vmafx_api::{FrameFormat, PLANE_NAMES, PlaneView, Value};

use clip::Totals;

use crate::definition::{Column, Definition, Entry, Exactness, Metric, OptionInfo, Output, Planes};
use crate::math::log10;
use crate::mirror::{Pair, Plane, Sample};
use crate::{Clip, Options};

static DEFINITION: Definition = Definition {
    name: "psnr",
    version: 1,
    summary: "peak signal-to-noise ratio of each plane",
    source: "ITU-T J.340; libvmaf integer_psnr.c",
    min_size: (1, 1),
    planes: Planes::All,
    options: &[
        OptionInfo::switch("enable_chroma", true, "score Cb and Cr as well as Y"),
        OptionInfo::switch("enable_mse", false, "also report the mean squared error"),
        OptionInfo::switch(
            "enable_apsnr",
            false,
            "also report the PSNR of the squared error of all frames together",
        ),
        OptionInfo::switch(
            "reduced_hbd_peak",
            false,
            "above 8 bits take 255 scaled by a power of two as the peak, as for scaled 8-bit \
             content, not the largest sample",
        ),
        OptionInfo::number(
            "min_sse",
            (0.0, 0.0, f32::MAX as f64),
            "squared error of a plane below which psnr does not rise, rounded up to a whole \
             decibel; 0 caps psnr at 6 dB a bit plus 12 dB",
        ),
    ],
    outputs: &[PSNR[0], PSNR[1], PSNR[2], MSE[0], MSE[1], MSE[2]],
    aggregates: &APSNR,
    // Two units in the last place of `log10`.
    exactness: Exactness::Near(2.0 * f64::EPSILON),
    every_frame: true,
};

const fn output(name: &'static str) -> Output {
    Output {
        internal: name,
        name,
    }
}

const PSNR: [Output; 3] = [output("psnr_y"), output("psnr_cb"), output("psnr_cr")];
const MSE: [Output; 3] = [output("mse_y"), output("mse_cb"), output("mse_cr")];
const APSNR: [&str; 3] = ["apsnr_y", "apsnr_cb", "apsnr_cr"];
const SSE: [&str; 3] = ["sse_y", "sse_cb", "sse_cr"];

/// The metric `psnr`.
#[derive(Clone, Copy, Debug)]
pub struct Psnr;

inventory::submit!(Entry(&Psnr));

/// The options in force for clips of one format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Planes to score: 1 or 3.
    pub planes: usize,
    /// Whether the mean squared error is reported.
    pub mse: bool,
    /// Whether the squared error of the whole clip is reported.
    pub apsnr: bool,
    /// Square of the peak.
    pub peak_squared: u64,
    /// Largest score of each plane.
    pub cap: [f64; 3],
    /// Samples of each plane.
    pub area: [u64; 3],
}

impl Settings {
    /// What `options` mean for clips of `format`.
    pub fn new(options: &Options, format: &FrameFormat) -> Self {
        let depth = format.depth();
        let peak: u64 = if options.bool("reduced_hbd_peak") {
            255 << (depth - 8)
        } else {
            (1 << depth) - 1
        };
        let peak_squared = peak * peak;
        let area = [0, 1, 2].map(|plane| format.plane_size(plane).area() as u64);
        let min_sse = options.float("min_sse");
        let cap = area.map(|area| {
            if min_sse == 0.0 {
                f64::from(6 * depth + 12)
            } else {
                (10.0 * log10(peak_squared as f64 / (min_sse / area as f64))).ceil()
            }
        });
        Settings {
            planes: if options.bool("enable_chroma") {
                format.plane_count()
            } else {
                1
            },
            mse: options.bool("enable_mse"),
            apsnr: options.bool("enable_apsnr"),
            peak_squared,
            cap,
            area,
        }
    }

    /// Scores of a frame, in report order, which comes before the counts.
    fn outputs(&self) -> Vec<Output> {
        let pairs = PSNR.into_iter().zip(MSE).take(self.planes);
        let pairs = pairs.flat_map(|(psnr, mse)| [Some(psnr), self.mse.then_some(mse)]);
        pairs.flatten().collect()
    }
}

impl Metric for Psnr {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn columns(&self, format: &FrameFormat, options: &Options) -> Vec<Column> {
        let settings = Settings::new(options, format);
        let mut columns: Vec<_> = settings.outputs().into_iter().map(Column::Score).collect();
        if settings.apsnr {
            columns.extend(SSE.into_iter().take(settings.planes).map(Column::Count));
        }
        columns
    }

    fn clip(&self, format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        let settings = Settings::new(options, format);
        let outputs = settings.outputs().into_iter();
        let names = outputs.map(|output| options.score_name(&output));
        Box::new(Totals::new(names.collect(), settings))
    }
}

/// Squared errors of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// One sum a plane, in the order of [`PLANE_NAMES`].
    pub sse: [u64; PLANE_NAMES.len()],
}

/// The sum of squared errors of one plane.
///
/// # Panics
/// If the planes differ in size or sample type.
pub fn reference(reference: &PlaneView<'_>, distorted: &PlaneView<'_>) -> u64 {
    fn squared_error<T: Sample>(a: Plane<'_, T>, b: Plane<'_, T>) -> u64 {
        let rows = (0..a.height() as isize).map(|y| {
            let samples = a.row(y).iter().zip(b.row(y));
            let errors = samples.map(|(&a, &b)| {
                let error = a.into().abs_diff(b.into());
                u64::from(error * error)
            });
            errors.sum::<u64>()
        });
        rows.sum()
    }
    match Pair::new(reference, distorted) {
        Pair::U8(a, b) => squared_error(a, b),
        Pair::U16(a, b) => squared_error(a, b),
    }
}

/// Turns the sums of one frame into its columns.
///
/// # Panics
/// If `values` is not as long as [`Metric::columns`].
pub fn finish(sums: &Sums, settings: &Settings, values: &mut [Value]) {
    let scores_a_plane = if settings.mse { 2 } else { 1 };
    let (scores, counts) = values.split_at_mut(settings.planes * scores_a_plane);
    for (plane, scores) in scores.chunks_exact_mut(scores_a_plane).enumerate() {
        let mse = sums.sse[plane] as f64 / settings.area[plane] as f64;
        let ratio = settings.peak_squared as f64 / mse.max(1e-16);
        scores[0] = Value::score((10.0 * log10(ratio)).min(settings.cap[plane]));
        if settings.mse {
            scores[1] = Value::score(mse);
        }
    }
    let kept = if settings.apsnr { settings.planes } else { 0 };
    assert_eq!(counts.len(), kept, "one value a column");
    for (count, &sse) in counts.iter_mut().zip(&sums.sse) {
        *count = Value::count(sse);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use vmafx_api::{Chroma, HostFrame};

    use super::*;

    pub(crate) fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::defaults(&DEFINITION);
        for (name, value) in settings {
            options.set_text(name, value).unwrap();
        }
        options
    }

    pub(crate) fn format(chroma: Chroma, depth: u32) -> FrameFormat {
        FrameFormat::new(5, 3, chroma, depth).unwrap()
    }

    /// A frame whose samples are `sample(plane)`.
    fn frame(format: FrameFormat, sample: impl Fn(usize) -> u16) -> HostFrame {
        let mut frame = HostFrame::new(format);
        let sizes = (0..format.plane_count()).map(|plane| format.plane_size(plane).area());
        let samples: Vec<u16> = sizes
            .enumerate()
            .flat_map(|(plane, area)| vec![sample(plane); area])
            .collect();
        if format.depth() == 8 {
            let bytes: Vec<u8> = samples.iter().map(|&s| s as u8).collect();
            frame.bytes_mut().copy_from_slice(&bytes);
        } else {
            frame.words_mut().copy_from_slice(&samples);
        }
        frame
    }

    /// Column names and values of one pair.
    fn score(reference_frame: &HostFrame, distorted: &HostFrame, options: &Options) -> Vec<f64> {
        let format = reference_frame.format();
        let settings = Settings::new(options, format);
        let mut sums = Sums::default();
        for plane in 0..settings.planes {
            let (a, b) = (reference_frame.view(), distorted.view());
            sums.sse[plane] = reference(a.plane(plane).unwrap(), b.plane(plane).unwrap());
        }
        let columns = Psnr.columns(format, options);
        let mut values = vec![Value::default(); columns.len()];
        finish(&sums, &settings, &mut values);
        let number = |(column, value): (&Column, &Value)| match column {
            Column::Score(_) => value.as_score(),
            Column::Count(_) => value.as_count() as f64,
        };
        columns.iter().zip(&values).map(number).collect()
    }

    #[test]
    fn errors_of_ceil_sized_planes() {
        // 5x3 in 4:2:0 has 15 luma and 3 * 2 chroma samples.
        let format = format(Chroma::Yuv420, 8);
        let (a, b) = (
            frame(format, |_| 255),
            frame(format, |plane| 255 - plane as u16 * 10),
        );
        let set = options(&[("enable_mse", "true"), ("enable_apsnr", "true")]);
        // 10 log10(65025 / 100) and 10 log10(65025 / 400).
        let expected = [
            60.0,
            0.0,
            28.130_803_608_679_1,
            100.0,
            22.110_203_695_399_48,
            400.0,
            0.0,
            6.0 * 100.0,
            6.0 * 400.0,
        ];
        let scores = score(&a, &b, &set);
        assert_eq!(scores.len(), expected.len());
        for (score, expected) in scores.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-13, "{scores:?}");
        }
    }

    #[test]
    fn one_error_of_one_sample() {
        for (depth, last, expected) in [(8, 254, 59.891), (9, 510, 65.929), (16, 65534, 108.0)] {
            let format = format(Chroma::Yuv400, depth);
            let (a, mut b) = (frame(format, |_| last + 1), frame(format, |_| last + 1));
            match depth {
                8 => b.bytes_mut()[14] = last as u8,
                _ => b.words_mut()[14] = last,
            }
            let psnr = score(&a, &b, &options(&[]));
            assert_eq!(psnr.len(), 1);
            assert!(
                (psnr[0] - expected).abs() < 1e-3,
                "{psnr:?} at {depth} bits"
            );
        }
    }

    #[test]
    fn zero_error_is_not_infinite() {
        // 10 log10(65025 / 1e-16), as the cap is far above it.
        let format = format(Chroma::Yuv400, 8);
        let same = frame(format, |_| 7);
        let psnr = score(&same, &same, &options(&[("min_sse", "1e-20")]));
        assert!((psnr[0] - 208.130_803_608_679_1).abs() < 1e-12, "{psnr:?}");
    }

    #[test]
    fn peaks_and_caps() {
        for depth in 8..=16 {
            let format = format(Chroma::Yuv444, depth);
            let set = |pairs: &[(&str, &str)]| Settings::new(&options(pairs), &format);
            let plain = set(&[]);
            assert_eq!(plain.cap, [f64::from(6 * depth + 12); 3]);
            assert_eq!(plain.peak_squared, u64::from(format.peak()).pow(2));
            let reduced = set(&[("reduced_hbd_peak", "true")]);
            assert_eq!(
                reduced.peak_squared,
                (255 << (depth - 8)) * (255 << (depth - 8))
            );
        }
        // As libvmaf gives for 576x324.
        let format = FrameFormat::new(576, 324, Chroma::Yuv420, 8).unwrap();
        let cap = |min_sse| Settings::new(&options(&[("min_sse", min_sse)]), &format).cap;
        assert_eq!(cap("0.5"), [104.0, 98.0, 98.0]);
        assert_eq!(cap("0.001"), [131.0, 125.0, 125.0]);
        assert_eq!(cap("1e-44")[0].classify(), std::num::FpCategory::Normal);
    }

    #[test]
    fn options_choose_the_columns() {
        let names = |chroma, pairs: &[(&str, &str)]| -> Vec<&str> {
            let columns = Psnr.columns(&format(chroma, 8), &options(pairs));
            let name = |column: &Column| match column {
                Column::Score(output) => output.name,
                Column::Count(name) => name,
            };
            columns.iter().map(name).collect()
        };
        assert_eq!(names(Chroma::Yuv422, &[]), ["psnr_y", "psnr_cb", "psnr_cr"]);
        assert_eq!(
            names(Chroma::Yuv400, &[("enable_apsnr", "true")]),
            ["psnr_y", "sse_y"]
        );
        let luma = [("enable_chroma", "false"), ("enable_mse", "true")];
        assert_eq!(names(Chroma::Yuv420, &luma), ["psnr_y", "mse_y"]);
        assert_eq!(
            names(Chroma::Yuv444, &[("enable_mse", "true")]),
            ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr"]
        );
    }

    proptest! {
        #[test]
        fn every_size_and_layout(
            width in 1u32..41,
            height in 1u32..41,
            chroma in prop_oneof![
                Just(Chroma::Yuv400), Just(Chroma::Yuv420), Just(Chroma::Yuv422), Just(Chroma::Yuv444)
            ],
            depth in 8u32..=16,
            noise in proptest::collection::vec(any::<u16>(), 99),
            extreme in any::<bool>(),
        ) {
            let format = FrameFormat::new(width, height, chroma, depth).unwrap();
            let sample = |i: usize, step: usize| {
                let noise = noise[i * step % 99];
                if extreme { (noise & 1) * format.peak() as u16 } else { noise >> (16 - depth) }
            };
            let fill = |step| {
                let mut frame = HostFrame::new(format);
                let bytes = frame.bytes_mut().iter_mut().enumerate();
                bytes.for_each(|(i, s)| *s = sample(i, step) as u8);
                let words = frame.words_mut().iter_mut().enumerate();
                words.for_each(|(i, s)| *s = sample(i, step));
                frame
            };
            let set = options(&[("enable_apsnr", "true")]);
            let columns = score(&fill(1), &fill(2), &set);
            let mut start = 0;
            for plane in 0..format.plane_count() {
                let samples = start..start + format.plane_size(plane).area();
                start = samples.end;
                let squares = samples.map(|i| (f64::from(sample(i, 1)) - f64::from(sample(i, 2))).powi(2));
                prop_assert_eq!(columns[format.plane_count() + plane], squares.sum::<f64>());
                prop_assert!(columns[plane] >= 0.0 && columns[plane] <= f64::from(6 * depth + 12));
            }
        }
    }
}
