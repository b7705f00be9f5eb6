//! Any bytes give a model or an error, and a model survives its own format.

use proptest::prelude::*;
use vmafx_models::{ModelSet, Scoring};

/// Reads, and if there is a model, takes it through everything that can be done with it.
fn exercise(bytes: &[u8]) {
    for set in [ModelSet::from_json(bytes), ModelSet::from_native(bytes)] {
        let set = match set {
            Ok(set) => set,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let again = ModelSet::from_native(set.to_native().as_bytes()).unwrap();
        assert_eq!(again.figures_sha256(), set.figures_sha256());
        let values = vec![0.5; set.features().len()];
        let scoring = Scoring {
            enable_transform: true,
            disable_clip: false,
        };
        let bits = |set: &ModelSet| -> Vec<u64> {
            let prediction = set.predict(&values, scoring).unwrap();
            prediction.values().map(f64::to_bits).collect()
        };
        assert_eq!(bits(&again), bits(&set));
        assert_eq!(bits(&set).len(), set.score_names("v").len());
        // Whatever the metrics say, they say it without a crash.
        let _ = set.bind(&[]);
    }
}

#[test]
fn both_formats_say_the_same() {
    for json in [crate::FULL.to_owned(), crate::collection()] {
        exercise(json.as_bytes());
        let set = ModelSet::from_json(json.as_bytes()).unwrap();
        let windows = ModelSet::from_json(json.replace('\n', "\r\n").as_bytes()).unwrap();
        assert_ne!(set.sha256(), windows.sha256());
        assert_eq!(set.figures_sha256(), windows.figures_sha256());
    }
}

#[test]
fn a_cut_file_is_an_error() {
    for text in [
        crate::collection(),
        ModelSet::from_json(crate::collection().as_bytes())
            .unwrap()
            .to_native(),
    ] {
        for end in 0..text.trim_end().len() {
            let error = ModelSet::from_bytes(&text.as_bytes()[..end]);
            assert!(error.is_err(), "cut at {end}");
        }
    }
}

/// Replaces, inserts or removes some bytes.
fn mutate(text: &str, edits: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (place, kind, byte) in edits {
        let place = place % bytes.len().max(1);
        match kind % 4 {
            0 if place < bytes.len() => bytes[place] = *byte,
            1 => bytes.insert(place, *byte),
            2 if place < bytes.len() => drop(bytes.remove(place)),
            _ => {
                let end = (place + usize::from(*byte)).min(bytes.len());
                let copy = bytes[place.min(end)..end].to_vec();
                bytes.splice(place..place, copy);
            }
        }
    }
    bytes
}

fn edits() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    let byte = prop_oneof![
        any::<u8>(),
        proptest::sample::select(b"0123456789-.eE\"{}[],: \n".to_vec())
    ];
    proptest::collection::vec((any::<usize>(), any::<u8>(), byte), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
    }

    #[test]
    fn damaged_json(edits in edits()) {
        exercise(&mutate(crate::FULL, &edits));
    }

    #[test]
    fn damaged_collection(edits in edits()) {
        exercise(&mutate(&crate::collection(), &edits));
    }

    #[test]
    fn damaged_native(edits in edits()) {
        let text = ModelSet::from_json(crate::collection().as_bytes()).unwrap().to_native();
        exercise(&mutate(&text, &edits));
    }

    #[test]
    fn numbers_survive_exactly(slope in any::<f64>(), rho in any::<f64>(), vector in any::<f64>()) {
        prop_assume!(slope.is_finite() && slope != 0.0 && rho.is_finite() && vector.is_finite());
        // The vector first: `1e-300` may end another number put in.
        let json = crate::FULL
            .replace("1e-300", &format!("{vector:e}"))
            .replace("rho -1.5", &format!("rho {rho}"))
            .replace("0.012020766332648465", &format!("{slope:e}"));
        let set = ModelSet::from_json(json.as_bytes()).unwrap();
        let text = set.to_native();
        let words: Vec<u64> =
            text.split([' ', '\n']).filter_map(|word| word.parse::<f64>().ok()).map(f64::to_bits).collect();
        for value in [slope, rho, vector] {
            prop_assert!(words.contains(&value.to_bits()), "{value:e} is not in\n{text}");
        }
        prop_assert_eq!(ModelSet::from_native(text.as_bytes()).unwrap().to_native(), text);
    }
}
