//! Splits the distorted picture into what is left of the original and what was added.
//!
//! Source: Li et al. 2011, section III-B. A distorted coefficient `t` is taken as the original
//! `o` weakened by a factor `k` between 0 and 1, plus an additive impairment: `t = k*o + a`.
//! Where horizontal and vertical details together kept their direction (within one degree), the
//! change is one of contrast and belongs to the restored part, up to a limit of gain.
//!
//! What must stay true: the restored coefficient lies between 0 and the distorted one or
//! between 0 and the original, so neither part is wider than its inputs.

use super::level::{Level, round_shift};

/// Squared cosine of one degree.
pub const COS_1_DEGREE_SQUARED: f32 = 0.999_695_4;

/// One in the fixed point of the restored share.
const ONE: i64 = 1 << 15;

/// Replaces original details by their restored part and distorted details by the additive
/// impairment, in the scored region of `level` and around it.
pub(super) fn decouple(
    original: &mut [Vec<i32>; 3],
    distorted: &mut [Vec<i32>; 3],
    level: &Level,
    gain_limit: f64,
) {
    let columns = level.wide_columns();
    for y in level.wide_rows() {
        let start = y * level.size.width;
        let row = start + columns.start..start + columns.end;
        let original = original.each_mut().map(|band| &mut band[row.clone()]);
        let distorted = distorted.each_mut().map(|band| &mut band[row.clone()]);
        for x in 0..columns.len() {
            let same_direction = keeps_direction(
                [original[0][x], original[1][x]],
                [distorted[0][x], distorted[1][x]],
            );
            for band in 0..3 {
                let (o, t) = (original[band][x], distorted[band][x]);
                let r = restored(o, t, same_direction, gain_limit);
                original[band][x] = r;
                distorted[band][x] = t - r;
            }
        }
    }
}

/// Whether two vectors are within one degree of one another. Products are rounded to single
/// precision first, as libvmaf does; a null vector is parallel to all.
pub fn keeps_direction(o: [i32; 2], t: [i32; 2]) -> bool {
    let product = |a: [i32; 2], b: [i32; 2]| {
        let [a, b] = [a.map(i64::from), b.map(i64::from)];
        f64::from((a[0] * b[0]).wrapping_add(a[1] * b[1]) as f32)
    };
    let dot = product(o, t);
    dot >= 0.0 && dot * dot >= f64::from(COS_1_DEGREE_SQUARED) * product(o, o) * product(t, t)
}

/// The part of `o` that is still in `t`.
pub fn restored(o: i32, t: i32, same_direction: bool, gain_limit: f64) -> i32 {
    let k = share(o, t);
    let r = round_shift(k * i64::from(o), 15) as i32;
    if !same_direction || k == 0 || o == 0 {
        return r;
    }
    let enhanced = f64::from(r) * gain_limit;
    let bounded = if o > 0 {
        enhanced.min(f64::from(t))
    } else {
        enhanced.max(f64::from(t))
    };
    bounded as i32
}

/// `t / o` in units of 2^-15, clamped to 0..=1: a product with a reciprocal of 15 leading bits
/// of `o`. Nothing divided by nothing is one.
fn share(o: i32, t: i32) -> i64 {
    if o == 0 {
        return ONE;
    }
    let magnitude = o.unsigned_abs();
    let shift = 17_u32.saturating_sub(magnitude.leading_zeros());
    let leading = round_shift(i64::from(magnitude), shift);
    let reciprocal = i64::from((1 << 30) / leading as u32);
    let quotient = reciprocal * i64::from(t) * i64::from(o.signum());
    round_shift(quotient, 15 + shift).clamp(0, ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_quotients() {
        for (o, t, k) in [
            (0, 0, 32768),
            (0, -7, 32768),
            (7, 0, 0),
            (7, -3, 0),
            (-7, 3, 0),
            (-7, -7, 32768),
            (7, 8, 32768),
            (3, 1, 10923),
            (-3, -1, 10923),
            (-32768, -16384, 16384),
            (32767, 1, 1),
            (65535, 32767, 16384),
            (1 << 30, 1 << 29, 16384),
            (i32::MIN, i32::MIN, 32768),
            // The reciprocal of 3 is rounded down: 357913941 / 2^30.
            (3, 32767, 32768),
            // 46341 keeps 15 bits as 23171 * 2.
            (46341, 23171, 16384),
        ] {
            assert_eq!(share(o, t), k, "{t} / {o}");
        }
    }

    #[test]
    fn reciprocals_cover_16_bits() {
        // libvmaf's table, where a negative original takes the negated reciprocal.
        for o in (1..=32768).flat_map(|o| [o, -o]) {
            let t = 12345;
            let product = i64::from((1 << 30) / o) * t;
            let k = ((product + 16384) >> 15).clamp(0, 32768);
            assert_eq!(share(o, t as i32), k, "{o}");
        }
    }

    #[test]
    fn directions_differ_by_one_degree() {
        let at = |degrees: f64, length: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            [(cos * length) as i32, (sin * length) as i32]
        };
        for angle in [0.0, 37.0, 90.0, 181.0, 300.0] {
            for length in [3e4, 2e9] {
                let o = at(angle, length);
                for (turn, same) in [(0.0, true), (0.99, true), (-0.99, true), (1.01, false)] {
                    assert_eq!(keeps_direction(o, at(angle + turn, length / 3.0)), same);
                }
                assert!(!keeps_direction(o, at(angle + 180.0, length)));
            }
        }
        assert!(keeps_direction([0, 0], [5, -5]));
        assert!(!keeps_direction([1, 0], [0, 1]));
        // Dot products beyond 63 bits wrap instead of failing.
        keeps_direction([i32::MIN; 2], [i32::MIN; 2]);
    }

    #[test]
    fn gain_is_limited_where_the_direction_stays() {
        // Enhanced to the double: kept apart, up to a gain of 1.5, or all of it.
        assert_eq!(restored(1000, 2000, false, 100.0), 1000);
        assert_eq!(restored(1000, 2000, true, 1.0), 1000);
        assert_eq!(restored(1000, 2000, true, 1.5), 1500);
        assert_eq!(restored(1000, 2000, true, 100.0), 2000);
        assert_eq!(restored(-1000, -2000, true, 1.5), -1500);
        // The product with the gain is cut, not rounded.
        assert_eq!(restored(3, 100, true, 1.25), 3);
        // Weakened to a third: a product with a rounded share either way, exact with the gain.
        assert_eq!(restored(3000, 1000, false, 100.0), 1000);
        assert_eq!(restored(-32768, -3, true, 100.0), -3);
        // Nothing left, or nothing there.
        assert_eq!(restored(1000, -2000, true, 100.0), 0);
        assert_eq!(restored(0, 2000, true, 100.0), 0);
    }

    proptest! {
        #[test]
        fn parts_lie_within_their_inputs(
            o: i32,
            t: i32,
            shift in 0_u32..31,
            same: bool,
            gain in 1.0..100.0_f64,
        ) {
            let (o, t) = (o >> shift, t >> (shift / 2));
            let r = restored(o, t, same, gain);
            prop_assert!(i64::from(r) * i64::from(o) >= 0 && i64::from(r) * i64::from(t) >= 0);
            prop_assert!(r.unsigned_abs() <= o.unsigned_abs().max(t.unsigned_abs()));
            prop_assert_eq!(t - r + r, t);
        }

        #[test]
        fn what_did_not_change_is_all_restored(o: i32, shift in 0_u32..31) {
            let o = o >> shift;
            prop_assert_eq!(restored(o, o, true, 100.0), o);
        }
    }
}
