//! The metric as a whole: pinned scores, refusals, names, and that no picture makes it fail.

use proptest::prelude::*;
use vmafx_api::{Chroma, FrameFormat, PlaneView, Samples, Size, Value};

use super::*;
use crate::{Column, Metric};

fn options(texts: &[(&str, &str)]) -> Options {
    let mut options = Options::defaults(Adm.definition());
    for (name, text) in texts {
        options.set_text(name, text).unwrap();
    }
    options
}

fn format(width: usize, height: usize, depth: u32) -> FrameFormat {
    FrameFormat::new(width as u32, height as u32, Chroma::Yuv400, depth).unwrap()
}

/// Both planes, made by `sample(distorted, x, y)`, to sums. Rows have three samples of padding.
fn sums(
    (width, height, depth): (usize, usize, u32),
    settings: &Settings,
    mut sample: impl FnMut(bool, usize, usize) -> u16,
) -> Sums {
    let size = Size { width, height };
    let stride = width + 3;
    let [first, second] = [false, true].map(|distorted| {
        let mut plane = vec![u16::MAX; stride * height];
        for (y, row) in plane.chunks_mut(stride).enumerate() {
            for (x, out) in row[..width].iter_mut().enumerate() {
                *out = sample(distorted, x, y);
            }
        }
        plane
    });
    let mut scratch = Scratch::new(&format(width, height, depth));
    let mut run = |first: Samples<'_>, second: Samples<'_>| {
        let view = |samples| PlaneView::new(samples, size, stride).unwrap();
        reference(&view(first), &view(second), depth, settings, &mut scratch)
    };
    if depth > 8 {
        return run(Samples::U16(&first), Samples::U16(&second));
    }
    let [first, second] =
        [first, second].map(|plane| plane.iter().map(|&s| s as u8).collect::<Vec<_>>());
    // Nothing of one frame may show in the next.
    let sums = run(Samples::U8(&first), Samples::U8(&second));
    run(Samples::U8(&second), Samples::U8(&first));
    assert_eq!(run(Samples::U8(&first), Samples::U8(&second)), sums);
    sums
}

fn scores(size: (usize, usize, u32), options: &Options, sums: &Sums) -> Vec<f64> {
    let format = format(size.0, size.1, size.2);
    let mut values = vec![Value::default(); Adm.columns(&format, options).len()];
    finish(sums, &Settings::new(options).unwrap(), &format, &mut values);
    values.into_iter().map(Value::as_score).collect()
}

fn hash(x: usize, y: usize, seed: u32) -> u32 {
    let mut v = (x as u32)
        .wrapping_mul(0x9E37_79B1)
        .wrapping_add((y as u32).wrapping_mul(0x85EB_CA77))
        .wrapping_add(seed.wrapping_mul(0xC2B2_AE3D));
    v ^= v >> 15;
    v = v.wrapping_mul(0x2C1B_3C6D);
    v ^ v >> 12
}

/// Ramps with edges and noise; distorted: three quarters of the contrast, other noise.
fn ramps(depth: u32) -> impl FnMut(bool, usize, usize) -> u16 {
    move |distorted, x, y| {
        let base = (x * 3 + y * 5) as u32 % 97 * 2;
        let sample = match distorted {
            true => (3 * base + 40) / 4 + (hash(x, y, 2) >> 28),
            false => base + (hash(x, y, 1) >> 27),
        };
        let extra = depth - 8;
        let low = if extra > 0 {
            hash(x, y, 3) >> (32 - extra)
        } else {
            0
        };
        (sample << extra | low) as u16
    }
}

#[test]
fn scores_equal_libvmaf() {
    // 61x47, from libvmaf 3.2.0 with --cpumask -1 and 17 digits: adm2, aim, then numerator and
    // denominator of each level.
    let far_neg: &[_] = &[("egl", "1"), ("nvd", "5")];
    let fitted: &[_] = &[("csf", "3"), ("nw", "0"), ("nvd", "5"), ("rdh", "720")];
    let cases: [(u32, &[_], [f64; 2], [f64; 8]); 4] = [
        (
            8,
            &[],
            [0.7619816267913508, 0.005639493693373007],
            [
                16.889577865600586,
                20.526840209960938,
                24.516416549682617,
                31.61128807067871,
                48.38904571533203,
                65.14912414550781,
                72.26850128173828,
                95.39968872070312,
            ],
        ),
        (
            10,
            &[],
            [0.7619638331788336, 0.005640830951671706],
            [
                16.8854923248291,
                20.520904541015625,
                24.520427703857422,
                31.617595672607422,
                48.39176940917969,
                65.1509017944336,
                72.23885345458984,
                95.36707305908203,
            ],
        ),
        (
            8,
            far_neg,
            [0.7803969928340665, 0.003958943349152953],
            [
                11.398445129394531,
                12.808677673339844,
                13.79555892944336,
                16.95245933532715,
                26.48223304748535,
                35.07236862182617,
                43.29610824584961,
                56.86397171020508,
            ],
        ),
        (
            10,
            fitted,
            [0.7409570278934441, 0.004163117182651949],
            [
                4.988462448120117,
                7.016743183135986,
                12.508323669433594,
                17.106037139892578,
                35.55636215209961,
                48.81224060058594,
                68.19690704345703,
                90.70477294921875,
            ],
        ),
    ];
    for (depth, texts, usual, terms) in cases {
        let size = (61, 47, depth);
        let mut options = options(texts);
        options.set_text("debug", "true").unwrap();
        let sums = sums(size, &Settings::new(&options).unwrap(), ramps(depth));
        let got = scores(size, &options, &sums);
        for (got, want) in got[..2]
            .iter()
            .chain(&got[10..])
            .zip(usual.iter().chain(&terms))
        {
            assert_eq!(got, want, "{texts:?} {depth} bits");
        }
    }
}

#[test]
fn an_identical_picture_keeps_everything() {
    for depth in [8, 10, 16] {
        for gain in ["100", "1"] {
            let options = options(&[("egl", gain)]);
            let mut picture = ramps(depth);
            let size = (96, 80, depth);
            let sums = sums(size, &Settings::new(&options).unwrap(), |_, x, y| {
                picture(false, x, y)
            });
            let got = scores(size, &options, &sums);
            assert_eq!(got[1], 0.0, "aim");
            for score in [got[0], got[2]].iter().chain(&got[3..]) {
                assert!((score - 1.0).abs() < 3e-5, "{got:?}");
            }
        }
    }
}

#[test]
fn depth_alone_changes_nothing() {
    let settings = Settings::new(&options(&[])).unwrap();
    let want = sums((50, 41, 8), &settings, ramps(8));
    for depth in 9..=16 {
        let mut picture = ramps(8);
        let got = sums((50, 41, depth), &settings, |d, x, y| {
            picture(d, x, y) << (depth - 8)
        });
        assert_eq!(got, want, "{depth} bits");
    }
}

#[test]
fn skipped_parts_are_zero_and_the_rest_stays() {
    let size = (70, 64, 8);
    let run = |texts| sums(size, &Settings::new(&options(texts)).unwrap(), ramps(8));
    let all = run(&[]);
    let no_aim = run(&[("adm_skip_aim", "true")]);
    let no_scale0 = run(&[("ssz", "true")]);
    assert!(all.levels.iter().any(|level| level.impairment != [0; 3]));
    for index in 0..LEVELS {
        let want = LevelSums {
            impairment: [0; 3],
            ..all.levels[index]
        };
        assert_eq!(no_aim.levels[index], want);
        let want = if index > 0 {
            all.levels[index]
        } else {
            LevelSums::default()
        };
        assert_eq!(no_scale0.levels[index], want);
    }
    let without = scores(size, &options(&[("adm_skip_aim", "true")]), &no_aim);
    assert_eq!((without[1], without[2]), (0.0, without[0] * 0.5 + 0.5));
}

#[test]
fn refusals_name_the_limit() {
    let refusal = |(width, height), texts: &[_]| {
        let format = format(width, height, 8);
        Adm.check(&format, &options(texts))
            .map_err(|refusal| refusal.to_string())
    };
    assert_eq!(refusal((33, 33), &[]), Ok(()));
    let small = |size: &str| {
        Err(format!(
            "adm needs frames of at least 33x33, these are {size}"
        ))
    };
    assert_eq!(refusal((32, 33), &[]), small("32x33"));
    assert_eq!(refusal((33, 32), &[]), small("33x32"));
    assert_eq!(
        refusal((33, 33), &[("nvd", "1.5"), ("rdh", "2160")]),
        Ok(())
    );
    assert_eq!(
        refusal((33, 33), &[("nvd", "2.5")]),
        Err(
            "adm: adm_norm_view_dist 2.5 times adm_ref_display_height 1080 is 2700, the 16-bit \
             arithmetic needs at least 3240; raise one of them"
                .to_owned()
        )
    );
    for mode in ["2", "3"] {
        assert_eq!(refusal((33, 33), &[("csf", mode), ("nvd", "5")]), Ok(()));
        assert_eq!(
            refusal((33, 33), &[("csf", mode), ("nvd", "4")]),
            Err(format!(
                "adm: adm_csf_mode {mode} has no values for adm_ref_display_height 1080 at \
                 adm_norm_view_dist 4; it has them for height@distance 720@5, 1080@3, 1080@5, \
                 2160@1.5, 2160@3, 2160@5"
            ))
        );
    }
}

#[test]
fn scores_are_named_as_in_libvmaf() {
    let format = format(64, 64, 8);
    let names = |texts: &[_]| {
        let options = options(texts);
        let clip = Adm.clip(&format, &options);
        let names: Vec<_> = clip
            .scores()
            .iter()
            .map(|score| score.name.clone())
            .collect();
        assert_eq!(names.len(), Adm.columns(&format, &options).len());
        names
    };
    assert_eq!(
        names(&[]),
        [
            "integer_adm2",
            "integer_aim",
            "integer_adm3",
            "integer_adm_scale0",
            "integer_adm_scale1",
            "integer_adm_scale2",
            "integer_adm_scale3",
        ]
    );
    let debug = names(&[("debug", "true"), ("ssz", "true"), ("adm_skip_aim", "true")]);
    assert_eq!(debug.len(), 18);
    assert_eq!(
        [&debug[7], &debug[9], &debug[10], &debug[17]],
        [
            "integer_adm_ssz",
            "integer_adm_den_ssz",
            "integer_adm_num_scale0_ssz",
            "integer_adm_den_scale3_ssz",
        ]
    );
    let v1 = [
        ("csf", "2"),
        ("dlmw", "0.7"),
        ("egl", "1"),
        ("min", "0.5"),
        ("nw", "0.02"),
    ];
    assert_eq!(
        names(&v1)[2],
        "integer_adm3_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02"
    );
    let (metric, output) = crate::providing("VMAF_integer_feature_adm2_score").unwrap();
    assert_eq!(
        (metric.definition().name, output.name),
        ("adm", "integer_adm2")
    );
    assert!(matches!(Adm.columns(&format, &options(&[]))[0], Column::Score(o) if o == output));
}

/// Contents that reach the ends of the arithmetic.
fn extreme(kind: usize, depth: u32, seed: u32) -> impl FnMut(bool, usize, usize) -> u16 {
    let peak = (1_u32 << depth) - 1;
    move |distorted, x, y| {
        let noise = hash(x, y, seed + u32::from(distorted)) >> (32 - depth);
        let on = |lit: bool| if lit { peak } else { 0 };
        let sample = match kind {
            0 => noise,
            1 => on(hash(x, y, seed + u32::from(distorted)) >> 31 == 1),
            2 => on((x + usize::from(distorted)) % 2 == 0),
            3 => on((y / 2 + usize::from(distorted)) % 2 == 0),
            4 => on((x / 4 + y / 4) % 2 == usize::from(distorted)),
            5 => on(distorted),
            6 => on(true),
            _ => on((x * x + y * y) / 64 % 2 == usize::from(distorted)),
        };
        sample as u16
    }
}

#[test]
fn every_size_and_depth_has_a_score() {
    let usual = options(&[("debug", "true")]);
    let settings = Settings::new(&usual).unwrap();
    for size in 33..61 {
        for (depth, kind) in (8..=16).zip((0..8).cycle().skip(size)) {
            for (width, height) in [(size, size), (size, 33), (33, size), (60, size)] {
                let size = (width, height, depth);
                let sums = sums(size, &settings, extreme(kind, depth, 5));
                for (at, score) in scores(size, &usual, &sums).iter().enumerate() {
                    assert!(
                        (0.0..1e5).contains(score),
                        "{size:?} kind {kind} score {at}: {score}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_options_and_no_samples_make_it_fail(
        width in 33_usize..90,
        height in 33_usize..90,
        depth in 8_u32..=16,
        kind in 0_usize..8,
        seed in 0_u32..1000,
        mode in 0_i32..4,
        viewing in 0_usize..6,
        scale in 0.0..50.0_f64,
        gain in 1.0..100.0_f64,
        noise_weight in 0.0..1500.0_f64,
        above_peak: bool,
    ) {
        let (height_option, distance) =
            [(720, 5.0), (1080, 3.0), (1080, 5.0), (2160, 1.5), (2160, 3.0), (2160, 5.0)][viewing];
        let mut options = options(&[]);
        for (name, text) in [
            ("csf", mode.to_string()),
            ("rdh", height_option.to_string()),
            ("nvd", distance.to_string()),
            ("scf", scale.to_string()),
            ("scfd", (50.0 - scale).to_string()),
            ("egl", gain.to_string()),
            ("nw", noise_weight.to_string()),
        ] {
            options.set_text(name, &text).unwrap();
        }
        prop_assert_eq!(Adm.check(&format(width, height, depth), &options), Ok(()));
        let size = (width, height, depth);
        let content_depth = if above_peak && depth > 8 { 16 } else { depth };
        let settings = Settings::new(&options).unwrap();
        let sums = sums(size, &settings, extreme(kind, content_depth, seed));
        let got = scores(size, &options, &sums);
        prop_assert!(got.iter().all(|score| score.is_nan() || *score >= 0.0), "{:?}", got);
    }
}
