//! `cargo xtask math`: how far `vmafx_metrics::math` is from the platform's library and from the
//! true values.
//!
//! Every function gets the same number of pseudo-random inputs, spread evenly over a few ranges:
//! all exponents an argument can have, and the values that metrics feed it. Each result is
//! compared with the platform's (what Rust's `std` calls); one in a hundred is also compared with
//! an evaluation in 192 bits, and so is every result that differs from the platform's, to see
//! which of the two is off.
//!
//! What must stay true: the inputs follow from the count alone, so a figure in
//! `docs/measurements/math.md` can be had again; the run fails where a bound is exceeded.

use astro_float_num::{BigFloat, Consts, RoundingMode};
use vmafx_metrics::math;

use crate::Failure;

/// Compares `count` inputs for each function and prints a table of the differences.
///
/// Fails where one differs from the platform's or from the true value by more than the function's
/// stated bounds.
pub(crate) fn run(count: u64) -> Result<(), Failure> {
    let mut constants = Consts::new().map_err(|error| format!("192-bit constants: {error:?}"))?;
    let mut broken = Vec::new();
    println!(
        "| {} |\n{}|",
        COLUMNS.join(" | "),
        "|---".repeat(COLUMNS.len())
    );
    for subject in subjects() {
        for (index, range) in subject.ranges.iter().enumerate() {
            let inputs = count / subject.ranges.len() as u64;
            let mut random = Random(index as u64);
            let mut tally = Tally::default();
            for number in 0..inputs {
                let (x, y) = (range.draw)(&mut random);
                let ours = (subject.ours)(x, y);
                let platform = (subject.platform)(x, y);
                let distance = subject.format.distance(ours, platform);
                tally.count(distance, (x, y));
                if (distance == 0 && number % 100 != 0) || !ours.is_finite() {
                    continue;
                }
                let exact = (subject.exact)(x, y, &mut constants);
                let error = subject.format.error_in_ulp(ours, &exact);
                tally.max_error = tally.max_error.max(error);
                if distance != 0 && platform.is_finite() {
                    let theirs = subject.format.error_in_ulp(platform, &exact);
                    tally.ours_nearer += u64::from(error < theirs);
                    tally.platform_nearer += u64::from(theirs < error);
                }
            }
            tally.print(&subject, range.name, inputs);
            if tally.max_distance > subject.platform_bound {
                broken.push(format!(
                    "{} over {}: {} ULP from the platform's at {:?}, the bound is {}",
                    subject.name,
                    range.name,
                    tally.max_distance,
                    tally.worst,
                    subject.platform_bound
                ));
            }
            if tally.max_error > subject.bound {
                broken.push(format!(
                    "{} over {}: {:.5} ULP from the true value, the bound is {}",
                    subject.name, range.name, tally.max_error, subject.bound
                ));
            }
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(broken.join("\n").into())
    }
}

const COLUMNS: [&str; 11] = [
    "function",
    "inputs",
    "count",
    "equal",
    "1 ULP",
    "2 ULP",
    "more",
    "worst input",
    "nearer: ours",
    "nearer: platform",
    "max error (ULP)",
];

/// One function under test. `f32` arguments and results are passed as the `f64` of their value;
/// functions of one argument leave the second alone.
struct Subject {
    name: &'static str,
    format: Format,
    /// The error that the function's documentation promises, in ULP.
    bound: f64,
    /// How far the platform's result may be, in ULP: 1 where both are nearly correctly rounded.
    platform_bound: u64,
    ours: fn(f64, f64) -> f64,
    platform: fn(f64, f64) -> f64,
    exact: fn(f64, f64, &mut Consts) -> BigFloat,
    ranges: &'static [Range],
}

struct Range {
    name: &'static str,
    draw: fn(&mut Random) -> (f64, f64),
}

fn subjects() -> Vec<Subject> {
    const LOGARITHM: &[Range] = &[
        Range {
            name: "all positive numbers",
            draw: |r| (r.positive(), 0.0),
        },
        Range {
            name: "[1/2, 2)",
            draw: |r| (0.5 + 1.5 * r.unit(), 0.0),
        },
        Range {
            name: "1 + 10^-16..0",
            draw: |r| (1.0 + r.logarithmic(-16.0, 0.0), 0.0),
        },
    ];
    const LOG10: &[Range] = &[
        Range {
            name: "all positive numbers",
            draw: |r| (r.positive(), 0.0),
        },
        Range {
            name: "[1/2, 2)",
            draw: |r| (0.5 + 1.5 * r.unit(), 0.0),
        },
        Range {
            name: "peak^2 / mean squared error",
            draw: |r| (r.peak_to_noise(), 0.0),
        },
    ];
    const EXPONENT: &[Range] = &[
        Range {
            name: "[-746, 710)",
            draw: |r| (1456.0 * r.unit() - 746.0, 0.0),
        },
        Range {
            name: "-(10^-6..2)",
            draw: |r| (-r.logarithmic(-6.0, 2.0), 0.0),
        },
        Range {
            name: "[-745.2, -708)",
            draw: |r| (-708.0 - 37.2 * r.unit(), 0.0),
        },
    ];
    const POWER: &[Range] = &[
        Range {
            name: "x^y within 10^+-324",
            draw: |r| {
                let x = r.positive();
                (x, 1492.0 * (r.unit() - 0.5) / x.ln())
            },
        },
        Range {
            name: "(0, 200)^[-8, 8)",
            draw: |r| (200.0 * r.unit(), 16.0 * r.unit() - 8.0),
        },
        Range {
            name: "(0, 1)^2.4",
            draw: |r| (r.unit(), 2.4),
        },
        Range {
            name: "10^[-5, 5)",
            draw: |r| (10.0, 10.0 * r.unit() - 5.0),
        },
    ];
    const ROOT: &[Range] = &[
        Range {
            name: "all positive numbers",
            draw: |r| (r.positive(), 0.0),
        },
        Range {
            name: "-(0, 8)",
            draw: |r| (-8.0 * r.unit(), 0.0),
        },
    ];
    const SINGLE_LOGARITHM: &[Range] = &[
        Range {
            name: "all positive numbers",
            draw: |r| (r.single(), 0.0),
        },
        Range {
            name: "1 + 10^-7..6",
            draw: |r| (narrow(1.0 + r.logarithmic(-7.0, 6.0)), 0.0),
        },
        Range {
            name: "[1/2, 2)",
            draw: |r| (narrow(0.5 + 1.5 * r.unit()), 0.0),
        },
    ];
    const SINGLE_EXPONENT: &[Range] = &[
        Range {
            name: "[-104, 89)",
            draw: |r| (narrow(193.0 * r.unit() - 104.0), 0.0),
        },
        Range {
            name: "-(10^-6..1)",
            draw: |r| (narrow(-r.logarithmic(-6.0, 1.0)), 0.0),
        },
    ];
    const SINGLE_POWER: &[Range] = &[
        Range {
            name: "all positive numbers^(1/3)",
            draw: |r| (r.single(), narrow(1.0 / 3.0)),
        },
        Range {
            name: "x^y within 10^+-45",
            draw: |r| {
                let x = r.single();
                (x, narrow(207.0 * (r.unit() - 0.5) / x.ln()))
            },
        },
        Range {
            name: "(0, 200)^7",
            draw: |r| (narrow(200.0 * r.unit()), 7.0),
        },
    ];
    const SINGLE_ROOT: &[Range] = &[Range {
        name: "all positive numbers",
        draw: |r| (r.single(), 0.0),
    }];

    vec![
        Subject {
            name: "ln",
            format: Format::Double,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| math::ln(x),
            platform: |x, _| x.ln(),
            exact: |x, _, c| big(x).ln(BITS, ROUNDING, c),
            ranges: LOGARITHM,
        },
        Subject {
            name: "log2",
            format: Format::Double,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| math::log2(x),
            platform: |x, _| x.log2(),
            exact: |x, _, c| logarithm(x, 2.0, c),
            ranges: LOGARITHM,
        },
        Subject {
            name: "log10",
            format: Format::Double,
            bound: 2.0,
            // One unit of the logarithm inside is up to two of the result.
            platform_bound: 2,
            ours: |x, _| math::log10(x),
            platform: |x, _| x.log10(),
            exact: |x, _, c| logarithm(x, 10.0, c),
            ranges: LOG10,
        },
        Subject {
            name: "exp",
            format: Format::Double,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| math::exp(x),
            platform: |x, _| x.exp(),
            exact: |x, _, c| big(x).exp(BITS, ROUNDING, c),
            ranges: EXPONENT,
        },
        Subject {
            name: "pow",
            format: Format::Double,
            bound: 0.504,
            platform_bound: 1,
            ours: math::pow,
            platform: f64::powf,
            exact: power,
            ranges: POWER,
        },
        Subject {
            name: "cbrt",
            format: Format::Double,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| math::cbrt(x),
            platform: |x, _| x.cbrt(),
            exact: |x, _, _| big(x).cbrt(BITS, ROUNDING),
            ranges: ROOT,
        },
        Subject {
            name: "log2f",
            format: Format::Single,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| f64::from(math::log2f(x as f32)),
            platform: |x, _| f64::from((x as f32).log2()),
            exact: |x, _, c| logarithm(x, 2.0, c),
            ranges: SINGLE_LOGARITHM,
        },
        Subject {
            name: "expf",
            format: Format::Single,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| f64::from(math::expf(x as f32)),
            platform: |x, _| f64::from((x as f32).exp()),
            exact: |x, _, c| big(x).exp(BITS, ROUNDING, c),
            ranges: SINGLE_EXPONENT,
        },
        Subject {
            name: "powf",
            format: Format::Single,
            bound: 0.84,
            platform_bound: 1,
            ours: |x, y| f64::from(math::powf(x as f32, y as f32)),
            platform: |x, y| f64::from((x as f32).powf(y as f32)),
            exact: power,
            ranges: SINGLE_POWER,
        },
        Subject {
            name: "cbrtf",
            format: Format::Single,
            bound: 0.5001,
            platform_bound: 1,
            ours: |x, _| f64::from(math::cbrtf(x as f32)),
            platform: |x, _| f64::from((x as f32).cbrt()),
            exact: |x, _, _| big(x).cbrt(BITS, ROUNDING),
            ranges: SINGLE_ROOT,
        },
    ]
}

/// Precision of the evaluation that stands for the true value.
const BITS: usize = 192;
const ROUNDING: RoundingMode = RoundingMode::ToEven;

fn big(x: f64) -> BigFloat {
    // The conversion takes normal numbers only.
    let factor = 2f64.powi(if x.abs() < f64::MIN_POSITIVE { 64 } else { 0 });
    BigFloat::from_f64(x * factor, BITS).div(&BigFloat::from_f64(factor, BITS), BITS, ROUNDING)
}

// The library refines its own log2, log10 and pow until they can be rounded, which never ends where
// the result is exact. These forms end, and err by less than 2^-170.

fn logarithm(x: f64, base: f64, constants: &mut Consts) -> BigFloat {
    let ln = big(x).ln(BITS, ROUNDING, constants);
    ln.div(&big(base).ln(BITS, ROUNDING, constants), BITS, ROUNDING)
}

fn power(x: f64, y: f64, constants: &mut Consts) -> BigFloat {
    let ln = big(x).ln(BITS, ROUNDING, constants);
    ln.mul(&big(y), BITS, ROUNDING)
        .exp(BITS, ROUNDING, constants)
}

/// The value of the nearest `f32`.
fn narrow(x: f64) -> f64 {
    f64::from(x as f32)
}

#[derive(Clone, Copy)]
enum Format {
    Double,
    Single,
}

impl Format {
    /// How many numbers of the format lie from `a` to `b`, 0 where both are NaN.
    fn distance(self, a: f64, b: f64) -> u64 {
        if a.is_nan() || b.is_nan() {
            return if a.is_nan() && b.is_nan() {
                0
            } else {
                u64::MAX
            };
        }
        let rank = |x: f64| -> i64 {
            let bits = match self {
                Self::Double => x.abs().to_bits() as i64,
                Self::Single => i64::from((x.abs() as f32).to_bits()),
            };
            if x.is_sign_negative() { -bits } else { bits }
        };
        rank(a).abs_diff(rank(b))
    }

    /// The distance from a finite `value` to `exact` in units of the value's last place.
    fn error_in_ulp(self, value: f64, exact: &BigFloat) -> f64 {
        let difference = big(value).sub(exact, BITS, ROUNDING);
        let Some((words, _, _, exponent, _)) = difference.as_raw_parts() else {
            return f64::INFINITY;
        };
        // The value is 0.w * 2^exponent with w the highest word last.
        let leading = words
            .last()
            .map_or(0.0, |word| *word as f64 / (word_max() + 1.0));
        let (digits, least) = match self {
            Self::Double => (53, -1074),
            Self::Single => (24, -149),
        };
        let binade = (value.abs().to_bits() >> 52) as i32 - 1022;
        leading * 2f64.powi(exponent - (binade - digits).max(least))
    }
}

fn word_max() -> f64 {
    astro_float_num::WORD_MAX as f64
}

#[derive(Default)]
struct Tally {
    by_distance: [u64; 4],
    max_distance: u64,
    worst: (f64, f64),
    ours_nearer: u64,
    platform_nearer: u64,
    max_error: f64,
}

impl Tally {
    fn count(&mut self, distance: u64, input: (f64, f64)) {
        self.by_distance[distance.min(3) as usize] += 1;
        if distance > self.max_distance {
            self.max_distance = distance;
            self.worst = input;
        }
    }

    fn print(&self, subject: &Subject, range: &str, inputs: u64) {
        let [equal, one, two, more] = self.by_distance;
        let worst = match (self.max_distance, self.worst) {
            (0, _) => String::from("-"),
            (_, (x, 0.0)) => format!("{x:e}"),
            (_, (x, y)) => format!("{x:e}, {y:e}"),
        };
        println!(
            "| {} | {range} | {inputs} | {equal} | {one} | {two} | {more} | {worst} | {} | {} \
             | {:.6} |",
            subject.name, self.ours_nearer, self.platform_nearer, self.max_error
        );
    }
}

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform over (0, 1).
    fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / 2f64.powi(52)
    }

    /// 10^(low..high), the exponent uniform.
    fn logarithmic(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(low + (high - low) * self.unit())
    }

    /// A positive finite `f64`, exponent and mantissa uniform.
    fn positive(&mut self) -> f64 {
        f64::from_bits(1 + self.next() % (f64::INFINITY.to_bits() - 1))
    }

    /// The same of `f32`.
    fn single(&mut self) -> f64 {
        f64::from(f32::from_bits(
            1 + (self.next() % u64::from(f32::INFINITY.to_bits() - 1)) as u32,
        ))
    }

    /// peak^2 / (sum / count), what PSNR takes the logarithm of.
    fn peak_to_noise(&mut self) -> f64 {
        let peak = [255.0, 1023.0, 4095.0, 65535.0][(self.next() % 4) as usize];
        let samples = (1 + self.next() % 4096) as f64 * (1 + self.next() % 2304) as f64;
        let sum = (self.logarithmic(0.0, 5.0) * samples).floor().max(1.0);
        peak * peak / (sum / samples)
    }
}
