//! What happens to a prediction behind the support vectors: score transform, then clip.
//!
//! The order of operations is that of `transform` and `clip` in libvmaf's `predict.c`.

use crate::{MAX_KNOTS, ModelError};

/// What the user may change about the way from prediction to score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scoring {
    /// Applies a score transform that the file offers but does not switch on; with
    /// `vmaf_v0.6.1` that is the score for phone screens. A model without a transform is
    /// unmoved: see [`ModelSet::has_transform`](crate::ModelSet::has_transform).
    pub enable_transform: bool,
    /// Lets scores leave the range that the file gives.
    pub disable_clip: bool,
}

/// The score transform of a model file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Transform {
    /// Whether it applies unasked.
    pub(crate) enabled: bool,
    /// Coefficients of the polynomial, from the constant up.
    pub(crate) p: [Option<f64>; 3],
    /// Points of the piecewise linear map; empty = no map.
    pub(crate) knots: Vec<[f64; 2]>,
    /// The transformed score is at most the plain one.
    pub(crate) out_lte_in: bool,
    /// The transformed score is at least the plain one.
    pub(crate) out_gte_in: bool,
}

impl Transform {
    /// Whether the points can make a map: at least two, x rising, y not falling.
    pub(crate) fn check(&self, key: &str) -> Result<(), ModelError> {
        let key = format!("{key}.knots");
        match self.knots.len() {
            1 => {
                return Err(ModelError::Count {
                    key,
                    count: 1,
                    wanted: "2 or more points".into(),
                });
            }
            count if count > MAX_KNOTS => {
                return Err(ModelError::TooMany {
                    key,
                    count,
                    limit: MAX_KNOTS,
                });
            }
            _ => {}
        }
        for pair in self.knots.windows(2) {
            let [[x1, y1], [x2, y2]] = [pair[0], pair[1]];
            if !(x1 < x2 && y1 <= y2) {
                return Err(ModelError::value(
                    &key,
                    &format!("[{x1}, {y1}] before [{x2}, {y2}]"),
                    "points with rising x and with y that does not fall",
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn apply(&self, plain: f64) -> f64 {
        let mut y = plain;
        if self.p.iter().any(Option::is_some) {
            y = 0.0;
            if let Some(p0) = self.p[0] {
                y += p0;
            }
            if let Some(p1) = self.p[1] {
                y += p1 * plain;
            }
            if let Some(p2) = self.p[2] {
                y += p2 * plain * plain;
            }
        }
        if !self.knots.is_empty() {
            y = piecewise(&self.knots, y);
        }
        if self.out_lte_in && y > plain {
            y = plain;
        }
        if self.out_gte_in && y < plain {
            y = plain;
        }
        y
    }
}

/// The value at `x` of the line through the knots; the outer segments go on for ever. At a knot
/// the segment behind it decides, which may differ in the last bit.
fn piecewise(knots: &[[f64; 2]], x: f64) -> f64 {
    let last = knots.len() - 2;
    // Every number is in some segment; a NaN is in none and stays what it is.
    let mut y = x;
    for (at, pair) in knots.windows(2).enumerate() {
        let [[x1, y1], [x2, y2]] = [pair[0], pair[1]];
        let inside = x1 <= x && x <= x2;
        let below = at == 0 && x < x1;
        let above = at == last && x > x2;
        if inside || below || above {
            y = segment([x1, y1], [x2, y2], x);
        }
    }
    y
}

fn segment([x1, y1]: [f64; 2], [x2, y2]: [f64; 2], x: f64) -> f64 {
    if y1 == y2 {
        return y1;
    }
    let (slope, offset) = if x1 == 0.0 {
        ((y2 - y1) / x2, y1)
    } else {
        let slope = (y2 - y1) / (x2 - x1);
        (slope, y1 - x1 * slope)
    };
    slope * x + offset
}

/// `value` within `[low, high]`; a NaN passes.
pub(crate) fn clip([low, high]: [f64; 2], value: f64) -> f64 {
    let value = if value < low { low } else { value };
    if value > high { high } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_polynomial_uses_the_terms_given() {
        let map = |p, plain| {
            Transform {
                p,
                ..Transform::default()
            }
            .apply(plain)
        };
        assert_eq!(map([None; 3], 7.5), 7.5);
        assert_eq!(map([Some(2.0), None, None], 7.5), 2.0);
        assert_eq!(map([None, None, Some(0.5)], 3.0), 4.5);
        assert_eq!(map([Some(1.0), Some(2.0), Some(-0.5)], 3.0), 2.5);
        // The phone transform of v0.6.1; the order of the additions matters in the last bit.
        let phone = [Some(1.70674692), Some(1.72643844), Some(-0.00705305)];
        let plain = 73.25;
        assert_eq!(
            map(phone, plain),
            (1.70674692 + 1.72643844 * plain) + (-0.00705305 * plain) * plain
        );
    }

    #[test]
    fn knots_make_a_line() {
        // By hand: (0, 10) to (50, 60) is x + 10; then flat at 60; then 2x - 100 from (80, 60).
        let knots = vec![[0.0, 10.0], [50.0, 60.0], [80.0, 60.0], [100.0, 100.0]];
        let map = |x| {
            Transform {
                knots: knots.clone(),
                ..Transform::default()
            }
            .apply(x)
        };
        for (x, y) in [
            (0.0, 10.0),
            (25.0, 35.0),
            (50.0, 60.0),
            (65.0, 60.0),
            (80.0, 60.0),
            (90.0, 80.0),
            (100.0, 100.0),
            (-10.0, 0.0),
            (110.0, 120.0),
        ] {
            assert_eq!(map(x), y, "at {x}");
        }
        assert!(map(f64::NAN).is_nan());
        // A flat outer segment stays flat, on both sides.
        let knots = vec![[10.0, 5.0], [20.0, 5.0], [30.0, 8.0], [40.0, 8.0]];
        let map = |x| {
            Transform {
                knots: knots.clone(),
                ..Transform::default()
            }
            .apply(x)
        };
        assert_eq!([map(0.0), map(25.0), map(99.0)], [5.0, 6.5, 8.0]);
    }

    #[test]
    fn the_result_can_be_bounded_by_the_plain_score() {
        let transform = Transform {
            p: [Some(10.0), Some(0.5), None],
            ..Transform::default()
        };
        let lower = Transform {
            out_lte_in: true,
            ..transform.clone()
        };
        let higher = Transform {
            out_gte_in: true,
            ..transform.clone()
        };
        assert_eq!([transform.apply(10.0), transform.apply(40.0)], [15.0, 30.0]);
        assert_eq!([lower.apply(10.0), lower.apply(40.0)], [10.0, 30.0]);
        assert_eq!([higher.apply(10.0), higher.apply(40.0)], [15.0, 40.0]);
    }

    #[test]
    fn knots_that_make_no_line_are_refused() {
        let check = |knots: &[[f64; 2]]| {
            let transform = Transform {
                knots: knots.to_vec(),
                ..Transform::default()
            };
            transform
                .check("score_transform")
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[[0.0, 0.0], [1.0, 0.0]]), Ok(()));
        let error = check(&[[0.0, 0.0]]).unwrap_err();
        assert_eq!(
            error,
            "`score_transform.knots` has 1 entries, but must have 2 or more points"
        );
        let error = check(&[[0.0, 0.0], [0.0, 1.0]]).unwrap_err();
        assert!(error.contains("[0, 0] before [0, 1]"), "{error}");
        let error = check(&[[0.0, 0.0], [1.0, 3.0], [2.0, 2.5]]).unwrap_err();
        assert!(error.contains("[1, 3] before [2, 2.5]"), "{error}");
        let many: Vec<_> = (0..11).map(|i| [f64::from(i), 0.0]).collect();
        let error = check(&many).unwrap_err();
        assert_eq!(
            error,
            "`score_transform.knots` has 11 entries, the limit is 10"
        );
    }

    #[test]
    fn clipping_keeps_nan() {
        assert_eq!(
            [-1.0, 0.0, 50.0, 110.0].map(|v| clip([0.0, 100.0], v)),
            [0.0, 0.0, 50.0, 100.0]
        );
        assert!(clip([0.0, 100.0], f64::NAN).is_nan());
    }
}
