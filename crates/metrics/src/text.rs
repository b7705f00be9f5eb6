//! Numbers as C's `%g` writes them, which score names and option values need.

/// `value` as `printf("%.{precision}g")` writes it in the C locale.
///
/// ```
/// assert_eq!(vmafx_metrics::format_g(0.666_666_7, 6), "0.666667");
/// assert_eq!(vmafx_metrics::format_g(1e-5, 6), "1e-05");
/// ```
pub fn format_g(value: f64, precision: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        }
        .to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let precision = precision.max(1);
    let scientific = format!("{:.*e}", precision - 1, value);
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("`e` formatting always writes an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a small integer");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    let decimals = (precision as i32 - 1 - exponent) as usize;
    trim(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::format_g;

    #[test]
    fn equals_printf() {
        // Right-hand sides printed by glibc's printf.
        for (value, precision, text) in [
            (0.0, 6, "0"),
            (-0.0, 6, "-0"),
            (1080.0, 6, "1080"),
            (100000.0, 6, "100000"),
            (1000000.0, 6, "1e+06"),
            (999999.5, 6, "1e+06"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (3.7113402, 6, "3.71134"),
            (0.02, 17, "0.02"),
            (0.1, 17, "0.10000000000000001"),
            (1.0 / 3.0, 17, "0.33333333333333331"),
            (97.42804264261031, 17, "97.428042642610308"),
            (1e300, 17, "1.0000000000000001e+300"),
            (f64::INFINITY, 6, "inf"),
            (f64::NEG_INFINITY, 6, "-inf"),
            (f64::NAN, 6, "nan"),
        ] {
            assert_eq!(format_g(value, precision), text, "{value:e} at {precision}");
        }
    }
}
