//! Agreement with the platform's functions, among the functions, and of machines with each other.

use proptest::prelude::*;

use crate::math::double_double::power_of_two;
use crate::math::{cbrt, cbrtf, exp, expf, ln, log2, log2f, log10, pow, powf};

/// How many `f64` lie from `a` to `b` of the same sign.
fn distance(a: f64, b: f64) -> u64 {
    a.to_bits().abs_diff(b.to_bits())
}

/// A linear congruential generator (Knuth, MMIX) whose upper bits are random enough here.
struct Random(u64);

impl Random {
    /// Uniform over [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 * power_of_two(-53)
    }
}

/// The bits are the definition: scores of different machines and backends are compared by them.
/// Whoever changes a digest changes published scores.
#[test]
fn bits_are_the_same_everywhere() {
    // FNV-1a over the results, word by word.
    let digest = |result: &dyn Fn(f64, f64) -> u64| {
        let mut random = Random(7);
        (0..50_000).fold(0xcbf2_9ce4_8422_2325_u64, |digest, _| {
            let (x, y) = (random.unit(), random.unit());
            (digest ^ result(x, y)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    };
    let positive = |x: f64| f64::from_bits((x * 2047.0 * power_of_two(52)) as u64);
    let single = |x: f64| f32::from_bits((x * 255.0 * power_of_two(23)) as u32);
    let digests = [
        digest(&|x, y| ln(positive(x)).to_bits() ^ ln(0.5 + y).to_bits()),
        digest(&|x, y| log2(positive(x)).to_bits() ^ log2(0.5 + y).to_bits()),
        digest(&|x, y| log10(positive(x)).to_bits() ^ log10(0.5 + y).to_bits()),
        digest(&|x, y| exp(1500.0 * (x - 0.5)).to_bits() ^ exp(-y).to_bits()),
        digest(&|x, y| pow(200.0 * x, 20.0 * (y - 0.5)).to_bits()),
        digest(&|x, y| cbrt(positive(x)).to_bits() ^ cbrt(y).to_bits()),
        digest(&|x, _| u64::from(log2f(single(x)).to_bits())),
        digest(&|x, _| u64::from(expf((200.0 * (x - 0.5)) as f32).to_bits())),
        digest(&|x, y| u64::from(powf(single(x), (4.0 * (y - 0.5)) as f32).to_bits())),
        digest(&|x, _| u64::from(cbrtf(single(x)).to_bits())),
    ];
    assert_eq!(digests, DIGESTS, "{digests:#018x?}");
}

const DIGESTS: [u64; 10] = [
    0xceed_3e79_0104_7e22,
    0xc390_6180_6989_d2d6,
    0xfa14_f2af_bdf3_0e8c,
    0xfa57_272e_8a2a_23ef,
    0x323b_d421_debb_eeab,
    0x34c4_88f3_20fe_0c03,
    0x9b90_8aac_429d_ce06,
    0xe72c_e20e_007d_9a01,
    0x02bc_865e_e554_9c17,
    0xfe1f_efeb_ef98_09f8,
];

#[test]
fn platform_is_within_one_unit() {
    let mut source = Random(1);
    let mut random = || source.unit();
    let mut worst = [0; 10];
    for _ in 0..200_000 {
        let positive = f64::from_bits(((random() * 2046.0 + 1.0) * power_of_two(52)) as u64);
        let single = f32::from_bits(((random() * 254.0 + 1.0) * power_of_two(23)) as u32);
        let exponent = 1450.0 * random() - 743.0;
        let single_exponent = (190.0 * random() - 103.0) as f32;
        let power = 1400.0 * (random() - 0.5) / positive.ln();
        let single_power = (160.0 * (random() - 0.5)) as f32 / single.ln();
        let single_distance = |a: f32, b: f32| u64::from(a.to_bits().abs_diff(b.to_bits()));
        let distances = [
            distance(ln(positive), positive.ln()),
            distance(log2(positive), positive.log2()),
            distance(log10(positive), positive.log10()),
            distance(exp(exponent), exponent.exp()),
            distance(pow(positive, power), positive.powf(power)),
            distance(cbrt(positive), positive.cbrt()),
            single_distance(log2f(single), single.log2()),
            single_distance(expf(single_exponent), single_exponent.exp()),
            single_distance(powf(single, single_power), single.powf(single_power)),
            single_distance(cbrtf(single), single.cbrt()),
        ];
        for (worst, distance) in worst.iter_mut().zip(distances) {
            *worst = distance.max(*worst);
        }
        // In `f32`, correct rounding can be had from the `f64` functions.
        assert_eq!(log2f(single), log2(f64::from(single)) as f32);
        assert_eq!(
            expf(single_exponent),
            exp(f64::from(single_exponent)) as f32
        );
        assert_eq!(cbrtf(single), cbrt(f64::from(single)) as f32);
    }
    assert!(worst.iter().all(|distance| *distance <= 1), "{worst:?}");
}

fn positive() -> impl Strategy<Value = f64> {
    (1..f64::MAX.to_bits()).prop_map(f64::from_bits)
}

proptest! {
    #[test]
    fn neighbours_stay_in_order(x in positive(), t in -745.0..709.0, y in 0.01..50.0) {
        let next = x.next_up();
        prop_assert!(ln(x) <= ln(next));
        prop_assert!(log2(x) <= log2(next));
        prop_assert!(cbrt(x) <= cbrt(next));
        prop_assert!(pow(x, y) <= pow(next, y));
        prop_assert!(exp(t) <= exp(t.next_up()));
    }

    #[test]
    fn inverse_functions_lead_back(x in positive(), t in -700.0..700.0, y in 0.5..2.0) {
        let root = cbrt(x);
        prop_assert!((root * root * root / x - 1.0).abs() < 4.0 * f64::EPSILON || x < 1e-305);
        prop_assert!((ln(exp(t)) - t).abs() <= f64::EPSILON * t.abs().max(1.0));
        prop_assert!((log2(exp(y)) / ln(exp(y)) - std::f64::consts::LOG2_E).abs() < 1e-15);
        prop_assert!((pow(pow(x, 1.0 / 64.0), 64.0) / x - 1.0).abs() < 1e-13 || x < 1e-305);
    }

    #[test]
    fn powers_agree_with_arithmetic(x in positive(), small in 1e-100..1e100_f64) {
        prop_assert_eq!(pow(x, 1.0), x);
        prop_assert!(distance(pow(x, 0.5), x.sqrt()) <= 1);
        prop_assert!(distance(pow(small, -1.0), 1.0 / small) <= 1);
        prop_assert!(distance(pow(small, 2.0), small * small) <= 1);
        prop_assert_eq!(pow(-small, 3.0), -pow(small, 3.0));
        prop_assert_eq!(cbrt(-x), -cbrt(x));
        prop_assert_eq!(powf(small as f32, 1.0), small as f32);
    }
}
