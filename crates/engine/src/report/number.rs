//! Numbers as `printf` writes them in the C locale, whatever the locale is.

use vmafx_metrics::format_g;

use super::Precision;

/// A score. Infinities are `inf` and `-inf`; what is not a number is `-nan`, which is how an
/// x86-64 processor's NaN is printed, so that the text does not depend on the processor.
pub(super) fn score(value: f64, precision: Precision) -> String {
    if value.is_nan() {
        return "-nan".to_owned();
    }
    match precision {
        Precision::Max => format_g(value, 17),
        Precision::Digits(digits) => {
            let digits = usize::from(digits);
            let decimals = match digits >= 6 && zeros(value) > digits {
                true => digits.max(16),
                false => digits,
            };
            format!("{value:.decimals$}")
        }
    }
}

/// A score in JSON, which has no infinities.
pub(super) fn json_score(value: f64, precision: Precision) -> String {
    match value.is_finite() {
        true => score(value, precision),
        false => "null".to_owned(),
    }
}

/// The place of the first digit behind the point that is not zero; 0 if there is none. As in
/// `output.c`, numbers that a C `int` cannot hold have none.
fn zeros(value: f64) -> usize {
    let size = value.abs();
    let mut fraction = match size < 2_147_483_648.0 {
        true => size - size.trunc(),
        false => return 0,
    };
    let mut places = 0;
    while fraction < 1.0 && fraction != 0.0 {
        fraction *= 10.0;
        places += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_upstream() {
        // Right-hand sides: printf("%.6f") or, by the rule of output.c, printf("%.16f").
        for (value, text) in [
            (0.0, "0.000000"),
            (-0.0, "-0.000000"),
            (60.0, "60.000000"),
            (76.668904824838, "76.668905"),
            (0.5, "0.500000"),
            (1e-6, "0.000001"),
            (9.99e-7, "0.0000009990000000"),
            (-2.5e-9, "-0.0000000025000000"),
            (f64::from(1e-10f32), "0.0000000001000000"),
            (12.0000001, "12.0000000999999994"),
            (1e-300, "0.0000000000000000"),
            (3e9 + 1e-7, "3000000000.000000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "-nan"),
            (-f64::NAN, "-nan"),
            // Ties go to the even digit, as in glibc.
            (1.0000005, "1.0000005000000001"),
            (0.0000019073486328125, "0.000002"),
            (0.00000095367431640625, "0.0000009536743164"),
        ] {
            assert_eq!(score(value, Precision::default()), text, "{value:e}");
        }
    }

    #[test]
    fn other_precisions() {
        let pi = std::f64::consts::PI;
        assert_eq!(score(pi, Precision::Digits(0)), "3");
        assert_eq!(score(pi, Precision::Digits(2)), "3.14");
        assert_eq!(score(0.004, Precision::Digits(2)), "0.00");
        assert_eq!(score(3e-8, Precision::Digits(8)), "0.00000003");
        assert_eq!(score(3e-9, Precision::Digits(8)), "0.0000000030000000");
        assert_eq!(score(0.5, Precision::Digits(0)), "0");
        assert_eq!(score(2.5, Precision::Digits(0)), "2");
        assert_eq!(score(0.25, Precision::Digits(1)), "0.2");
        assert_eq!(score(0.125, Precision::Digits(2)), "0.12");
        assert_eq!(score(0.375, Precision::Digits(2)), "0.38");
        assert_eq!(score(pi, Precision::Digits(17)), "3.14159265358979312");
        assert_eq!(score(pi, Precision::Max), "3.1415926535897931");
        assert_eq!(score(1e-10, Precision::Max), "1e-10");
        assert_eq!(json_score(f64::NAN, Precision::Max), "null");
        assert_eq!(json_score(f64::NEG_INFINITY, Precision::default()), "null");
    }

    #[test]
    fn maximum_precision_can_be_read_back() {
        let mut bits = 0x3ff5_a7c1_9d3b_2e4f_u64;
        for _ in 0..10_000 {
            bits = bits
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let text = score(value, Precision::Max);
                assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{text}");
            }
        }
    }
}
