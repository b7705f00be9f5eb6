//! Predictions from libvmaf's own feature values against libvmaf's own scores.

use vmafx_models::{EXACTNESS, ModelSet, Scoring, catalog};

const ROWS: &str = include_str!("golden.txt");

const PLAIN: Scoring = Scoring {
    enable_transform: false,
    disable_clip: false,
};
const PHONE: Scoring = Scoring {
    enable_transform: true,
    ..PLAIN
};
const OPEN: Scoring = Scoring {
    disable_clip: true,
    ..PLAIN
};

fn model(name: &str) -> ModelSet {
    catalog::find(name, &[]).unwrap()
}

fn assert_near(what: &str, ours: f64, theirs: f64) {
    assert!(
        EXACTNESS.allows(theirs, ours),
        "{what}: {ours:?}, libvmaf {theirs:?}, distance {:e}",
        (ours - theirs).abs() / theirs.abs()
    );
}

#[test]
fn single_models_and_the_bootstrap_set() {
    let [plain, neg, uhd, uhd_neg, boot] = [
        "vmaf_v0.6.1",
        "vmaf_v0.6.1neg",
        "vmaf_4k_v0.6.1",
        "vmaf_4k_v0.6.1neg",
        "vmaf_b_v0.6.3",
    ]
    .map(model);
    let names = boot.score_names("vmaf_b");
    assert_eq!(names.len(), 25);
    let mut compared = 0;
    for row in ROWS.lines().filter(|row| !row.starts_with('#')) {
        let (clip, rest) = row.split_once(' ').unwrap();
        let numbers: Vec<f64> = rest.split(' ').map(|word| word.parse().unwrap()).collect();
        let at = format!("{clip} frame {}", numbers[0]);
        let features = &numbers[1..7];
        let limited = [&numbers[7..8], &features[1..2], &numbers[8..12]].concat();
        let scores = &numbers[12..18];
        for (place, (name, model, features, scoring)) in [
            ("vmaf", &plain, features, PLAIN),
            ("vmaf_neg", &neg, &limited[..], PLAIN),
            ("vmaf_4k", &uhd, features, PLAIN),
            ("vmaf_4k_neg", &uhd_neg, &limited[..], PLAIN),
            ("vmaf_phone", &plain, features, PHONE),
            ("vmaf_noclip", &plain, features, OPEN),
        ]
        .into_iter()
        .enumerate()
        {
            let score = model.predict(features, scoring).unwrap().score;
            assert_near(&format!("{at} {name}"), score.value, scores[place]);
            compared += 1;
        }
        let prediction = boot.predict(features, PLAIN).unwrap();
        for ((name, ours), theirs) in names.iter().zip(prediction.values()).zip(&numbers[18..]) {
            assert_near(&format!("{at} {name}"), ours, *theirs);
            compared += 1;
        }
    }
    assert_eq!(compared, 13 * 31);
}

#[test]
fn a_score_is_told_at_every_stage() {
    let features = [1.05, 9.78, 0.38, 1.02, 1.04, 1.05];
    let score = model("vmaf_v0.6.1")
        .predict(&features, PHONE)
        .unwrap()
        .score;
    assert!(score.raw > 100.0, "{score:?}");
    assert!(score.transformed >= score.raw, "{score:?}");
    assert_eq!(score.value, 100.0);
}

#[test]
fn what_is_not_a_number_stays_so() {
    let boot = model("vmaf_b_v0.6.3");
    let prediction = boot
        .predict(&[f64::NAN, 1.0, 1.0, 1.0, 1.0, 1.0], PHONE)
        .unwrap();
    assert!(prediction.values().all(f64::is_nan));
}
