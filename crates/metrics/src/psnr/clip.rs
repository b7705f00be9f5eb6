//! The clip stage of psnr: scores pass through, squared errors add up to the PSNR of the clip.
//!
//! What must stay true: sums are exact for a clip of any length. libvmaf's 64 bits for the
//! product of squared peak and samples wrap after a thousand 16-bit frames of 1920x1080; sums
//! here are wider.

use vmafx_api::Value;

use super::{APSNR, Settings};
use crate::math::log10;
use crate::{Aggregate, Clip, Emission, PassThrough, ScoreInfo};

/// The clip stage of psnr: squared errors of all frames so far.
#[derive(Debug)]
pub(super) struct Totals {
    settings: Settings,
    scores: PassThrough,
    sse: [u128; 3],
    frames: u64,
}

impl Totals {
    /// A stage for one clip, whose scores have these names.
    pub(super) fn new(names: Vec<String>, settings: Settings) -> Self {
        Totals {
            settings,
            scores: PassThrough::new(names),
            sse: [0; 3],
            frames: 0,
        }
    }
}

impl Clip for Totals {
    fn scores(&self) -> &[ScoreInfo] {
        self.scores.scores()
    }

    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission)) {
        let (scores, counts) = values.split_at(self.scores().len());
        self.scores.push(frame, scores, emit);
        for (sum, count) in self.sse.iter_mut().zip(counts) {
            *sum += u128::from(count.as_count());
        }
        self.frames += 1;
    }

    fn finish(&mut self, _emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate> {
        if !self.settings.apsnr || self.frames == 0 {
            return Vec::new();
        }
        let aggregates = APSNR.iter().enumerate().map(|(plane, name)| Aggregate {
            name: (*name).to_owned(),
            value: if plane < self.settings.planes {
                aggregate(&self.settings, plane, self.sse[plane], self.frames)
            } else {
                // The logarithm of no samples, as libvmaf reports it.
                f64::NEG_INFINITY
            },
        });
        aggregates.collect()
    }
}

/// The PSNR of `sse` summed over `frames` frames of plane `plane`.
///
/// Without any error it is capped at half a unit of squared error in all frames together,
/// rounded up to a whole decibel.
fn aggregate(settings: &Settings, plane: usize, sse: u128, frames: u64) -> f64 {
    let samples = u128::from(settings.area[plane]) * u128::from(frames);
    let peak_squared = u128::from(settings.peak_squared);
    let cap = (10.0 * log10((peak_squared * samples * 2) as f64)).ceil();
    if sse == 0 {
        return cap;
    }
    let logs = log10(peak_squared as f64) + log10(samples as f64) - log10(sse as f64);
    (10.0 * logs).min(cap)
}

#[cfg(test)]
mod tests {
    use vmafx_api::Chroma;

    use super::*;
    use crate::psnr::tests::{format, options};
    use crate::psnr::{Psnr, Sums, finish};
    use crate::{Metric, Options};

    /// Aggregates of a clip whose frames have these squared errors in each plane.
    fn aggregates(set: &Options, depth: u32, sse: &[u64]) -> Vec<Aggregate> {
        let format = format(Chroma::Yuv444, depth);
        let settings = Settings::new(set, &format);
        let mut clip = Psnr.clip(&format, set);
        let mut emitted = 0;
        for (frame, &sse) in sse.iter().enumerate() {
            let sums = Sums { sse: [sse; 3] };
            let mut values = vec![Value::default(); Psnr.columns(&format, set).len()];
            finish(&sums, &settings, &mut values);
            clip.push(frame as u64, &values, &mut |_| emitted += 1);
        }
        assert_eq!(emitted, clip.scores().len() * sse.len());
        clip.finish(&mut |_| emitted += 1)
    }

    #[test]
    fn clip_error() {
        let set = options(&[("enable_apsnr", "true")]);
        let all = aggregates(&set, 8, &[100, 0, 200]);
        let names: Vec<_> = all.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["apsnr_y", "apsnr_cb", "apsnr_cr"]);
        // 10 log10(65025 * 45 / 300).
        assert!(
            (all[0].value - 39.891_716_199_235_915).abs() < 1e-13,
            "{all:?}"
        );
        // Without error: 10 log10(65025 * 45 * 2) rounded up.
        assert_eq!(aggregates(&set, 8, &[0, 0, 0])[2].value, 68.0);

        let luma = options(&[("enable_apsnr", "true"), ("enable_chroma", "false")]);
        let luma = aggregates(&luma, 8, &[100, 0, 200]);
        assert_eq!(luma[0], all[0]);
        assert_eq!(
            luma[1..],
            ["apsnr_cb", "apsnr_cr"].map(|name| Aggregate {
                name: name.to_owned(),
                value: f64::NEG_INFINITY,
            })
        );
        assert!(aggregates(&options(&[]), 8, &[1]).is_empty());
        assert!(aggregates(&set, 8, &[]).is_empty());
    }

    #[test]
    fn long_clips_do_not_wrap() {
        let set = options(&[("enable_apsnr", "true")]);
        let sse = 15 * 65535 * 65535;
        let one = aggregates(&set, 16, &[sse])[0].value;
        assert!(one.abs() < 1e-12, "{one}");
        let format = format(Chroma::Yuv444, 16);
        let frames = 1 << 32;
        let settings = Settings::new(&set, &format);
        let long = aggregate(&settings, 0, u128::from(sse) * u128::from(frames), frames);
        assert!(long.abs() < 1e-12, "{long}");
        assert_eq!(aggregate(&settings, 0, 0, frames), 208.0);
    }
}
