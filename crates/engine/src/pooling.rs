//! From the scores of frames to one number.
//!
//! Minimum, maximum, mean and harmonic mean are libvmaf's (`vmaf_feature_score_pooled`), in
//! `f64` and in frame order; the order statistics are ours. What must stay true: there is one
//! implementation, so a pooled score asked for in mid-run has the bits of the report's.

use std::fmt;
use std::str::FromStr;

/// A way to make one number of the scores of several frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// The smallest score. As in libvmaf a NaN counts only if it is the first score.
    Min,
    /// The largest score. As in libvmaf a NaN counts only if it is the first score.
    Max,
    /// Sum over count.
    Mean,
    /// `n / sum(1 / (s + 1)) - 1`.
    HarmonicMean,
    /// The 50th percentile.
    Median,
    /// The 1st percentile: the quality that 99 % of the frames reach.
    P1,
    /// The 5th percentile.
    P5,
    /// The 10th percentile.
    P10,
    /// The 20th percentile.
    P20,
}

impl Pooling {
    /// The poolings of libvmaf's reports, in their order.
    pub const UPSTREAM: [Pooling; 4] = [
        Pooling::Min,
        Pooling::Max,
        Pooling::Mean,
        Pooling::HarmonicMean,
    ];

    /// All poolings.
    pub const ALL: [Pooling; 9] = [
        Pooling::Min,
        Pooling::Max,
        Pooling::Mean,
        Pooling::HarmonicMean,
        Pooling::Median,
        Pooling::P1,
        Pooling::P5,
        Pooling::P10,
        Pooling::P20,
    ];

    /// The key in reports and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Pooling::Min => "min",
            Pooling::Max => "max",
            Pooling::Mean => "mean",
            Pooling::HarmonicMean => "harmonic_mean",
            Pooling::Median => "median",
            Pooling::P1 => "p1",
            Pooling::P5 => "p5",
            Pooling::P10 => "p10",
            Pooling::P20 => "p20",
        }
    }

    /// Pools `scores`, which are in frame order. `None` if there are none.
    pub(crate) fn pool(self, scores: impl Iterator<Item = f64>) -> Option<f64> {
        match self {
            Pooling::Min => scores.reduce(|min, s| if s < min { s } else { min }),
            Pooling::Max => scores.reduce(|max, s| if s > max { s } else { max }),
            Pooling::Mean => {
                let (count, sum) = scores.fold((0u64, 0.0), |(n, sum), s| (n + 1, sum + s));
                (count > 0).then(|| sum / count as f64)
            }
            Pooling::HarmonicMean => {
                let (count, sum) =
                    scores.fold((0u64, 0.0), |(n, sum), s| (n + 1, sum + 1.0 / (s + 1.0)));
                (count > 0).then(|| count as f64 / sum - 1.0)
            }
            Pooling::Median => percentile(50.0, scores.collect()),
            Pooling::P1 => percentile(1.0, scores.collect()),
            Pooling::P5 => percentile(5.0, scores.collect()),
            Pooling::P10 => percentile(10.0, scores.collect()),
            Pooling::P20 => percentile(20.0, scores.collect()),
        }
    }
}

/// The `p`-th [`percentile`](vmafx_models::percentile) of scores in any order; NaN if any score
/// is NaN.
fn percentile(p: f64, mut scores: Vec<f64>) -> Option<f64> {
    if scores.iter().any(|s| s.is_nan()) {
        return Some(f64::NAN);
    }
    scores.sort_unstable_by(f64::total_cmp);
    vmafx_models::percentile(p, &scores)
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no pooling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no pooling `{0}`; the poolings are: min, max, mean, harmonic_mean, median, p1, p5, \
     p10, p20"
)]
pub struct ParsePoolingError(pub String);

impl FromStr for Pooling {
    type Err = ParsePoolingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Pooling::ALL
            .into_iter()
            .find(|pooling| pooling.name() == text)
            .ok_or_else(|| ParsePoolingError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(pooling: Pooling, scores: &[f64]) -> f64 {
        pooling.pool(scores.iter().copied()).unwrap()
    }

    #[test]
    fn hand_values() {
        let scores = [3.0, 1.0, 9.0, 7.0, 5.0];
        for (pooling, value) in [
            (Pooling::Min, 1.0),
            (Pooling::Max, 9.0),
            (Pooling::Mean, 5.0),
            // 5 / (1/4 + 1/2 + 1/10 + 1/8 + 1/6) - 1
            (Pooling::HarmonicMean, 5.0 / (137.0 / 120.0) - 1.0),
            (Pooling::Median, 5.0),
            (Pooling::P1, 1.0 * 0.96 + 3.0 * 0.04),
            (Pooling::P5, 1.0 * 0.8 + 3.0 * 0.2),
            (Pooling::P10, 1.0 * 0.6 + 3.0 * 0.4),
            (Pooling::P20, 1.0 * 0.2 + 3.0 * 0.8),
        ] {
            let got = pool(pooling, &scores);
            assert!(
                (got - value).abs() < 1e-12,
                "{pooling}: {got} is not {value}"
            );
        }
        assert_eq!(pool(Pooling::Median, &[1.0, 2.0]), 1.5);
        assert_eq!(pool(Pooling::P20, &[4.25]), 4.25);
        // Twenty-one scores: every fifth percentile is an order statistic.
        let ramp: Vec<_> = (0..21).rev().map(f64::from).collect();
        assert_eq!(pool(Pooling::P5, &ramp), 1.0);
        assert_eq!(pool(Pooling::P20, &ramp), 4.0);
    }

    #[test]
    fn sums_run_in_frame_order() {
        // 1e16 + 1 + 1 stays 1e16; 1 + 1 + 1e16 does not.
        assert_eq!(pool(Pooling::Mean, &[1e16, 1.0, 1.0]), 1e16 / 3.0);
        assert_eq!(pool(Pooling::Mean, &[1.0, 1.0, 1e16]), (1e16 + 2.0) / 3.0);
    }

    #[test]
    fn nan_and_infinity_as_upstream() {
        let nan = f64::NAN;
        assert!(pool(Pooling::Min, &[nan, 1.0]).is_nan());
        assert_eq!(pool(Pooling::Min, &[2.0, nan, 1.0]), 1.0);
        assert_eq!(pool(Pooling::Max, &[2.0, nan, 1.0]), 2.0);
        for pooling in [
            Pooling::Mean,
            Pooling::HarmonicMean,
            Pooling::Median,
            Pooling::P1,
        ] {
            assert!(pool(pooling, &[2.0, nan, 1.0]).is_nan(), "{pooling}");
        }
        let infinity = f64::INFINITY;
        assert_eq!(pool(Pooling::Mean, &[1.0, infinity]), infinity);
        assert_eq!(pool(Pooling::HarmonicMean, &[1.0, infinity]), 3.0);
        assert_eq!(pool(Pooling::Median, &[infinity, infinity]), infinity);
        assert_eq!(pool(Pooling::P10, &[1.0, infinity]), infinity);
    }

    #[test]
    fn nothing_pools_to_nothing() {
        for pooling in Pooling::ALL {
            assert_eq!(pooling.pool(std::iter::empty()), None);
            assert_eq!(pooling.name().parse(), Ok(pooling));
        }
        assert!(
            "p50"
                .parse::<Pooling>()
                .unwrap_err()
                .to_string()
                .contains("`p50`")
        );
    }
}
