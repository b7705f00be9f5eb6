//! The vertical axis: round numbers around the scores.

/// A range that starts and ends at a multiple of its step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Decimals that tell two steps apart.
    pub(super) decimals: usize,
    steps: usize,
}

impl Axis {
    /// The axis around `scores`. The axis of a model does not leave 0 to 100 unless its scores
    /// do.
    pub(super) fn around(scores: impl Iterator<Item = f64>, model: bool) -> Self {
        let range = |(low, high): (f64, f64), score: f64| (low.min(score), high.max(score));
        let (mut low, mut high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), range);
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // A flat line lies in the middle; beyond this magnitude steps would not be exact.
        let least = (low.abs().max(high.abs()) * 1e-3).max(1e-6);
        let (least, most) = (if model { 4.0 } else { least }, 1e15);
        let centre = (low.clamp(-most, most) + high.clamp(-most, most)) / 2.0;
        let half = ((high.min(most) - low.max(-most)) * 0.55).max(least / 2.0);
        let step = round_step(half * 2.0 / 5.0);
        let mut first = ((centre - half) / step).floor();
        let mut last = ((centre + half) / step).ceil();
        if model || low >= 0.0 {
            first = first.max((low / step).floor().min(0.0));
        }
        if model && high <= 100.0 {
            last = last.min((100.0 / step).ceil());
        }
        if last <= first {
            last = first + 1.0;
        }
        let decimals = (0..18).find(|&digits| {
            let scaled = step * power_of_ten(digits);
            (scaled - scaled.round()).abs() < 1e-6
        });
        Axis {
            low: first * step,
            high: last * step,
            decimals: decimals.unwrap_or(18) as usize,
            steps: (last - first) as usize,
        }
    }

    /// Labels to ask for: one at each step.
    pub(super) fn labels(&self) -> usize {
        self.steps + 1
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let magnitude = power_of_ten(step.log10().floor() as i32);
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|factor| factor * magnitude)
        .into_iter()
        .find(|&round| round >= step * (1.0 - 1e-9))
        .unwrap_or(step)
}

fn power_of_ten(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scores: &[f64], model: bool) -> (f64, f64, usize) {
        let axis = Axis::around(scores.iter().copied(), model);
        (axis.low, axis.high, axis.decimals)
    }

    #[test]
    fn ends_are_round() {
        assert_eq!(axis(&[71.2, 94.8], true), (70.0, 100.0, 0));
        assert_eq!(axis(&[0.0, 3.0], true), (0.0, 4.0, 0));
        assert_eq!(axis(&[99.0, 100.0], true), (97.0, 100.0, 0));
        assert_eq!(axis(&[38.2, 39.4], false), (38.0, 39.5, 1));
        assert_eq!(axis(&[0.91, 0.98], false), (0.9, 1.0, 2));
    }

    #[test]
    fn any_scores_have_an_axis() {
        for scores in [
            &[][..],
            &[5.0],
            &[0.0, 0.0],
            &[-3.0, 120.0],
            &[1e300, -1e300],
            &[1e-300, 2e-300],
        ] {
            for model in [false, true] {
                let axis = Axis::around(scores.iter().copied(), model);
                assert!(axis.low < axis.high, "{scores:?}: {axis:?}");
                assert!(axis.steps <= 12, "{scores:?}: {axis:?}");
            }
        }
    }
}
