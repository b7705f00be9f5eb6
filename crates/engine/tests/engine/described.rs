//! Features that a backend brings along: how they are found, run, named and checked.

use vmafx_api::{FeatureDescription, MemoryKind, OptionDescription, OptionValue};
use vmafx_engine::{
    Context, EngineError, ErrorKind, FeatureCatalog, OutputFormat, Precision, Request,
};

use crate::rig::*;

fn described(name: &str) -> FeatureDescription {
    let mut feature = FeatureDescription::new(name, "Difference of the first samples", "this file");
    let mut option = OptionDescription::new("scale", OptionValue::Int(1), (0.0, 4.0), "A factor.");
    option.alias = "s".to_owned();
    option.in_names = true;
    feature.options.push(option);
    feature
}

fn brings(names: &[&str]) -> Behaviour {
    Behaviour {
        describes: names.iter().map(|name| described(name)).collect(),
        ..Behaviour::default()
    }
}

/// A request for one feature of the catalog of `backends`.
fn asking(backends: &[vmafx_api::Backend], name: &str, options: &[(&str, &str)]) -> Request {
    let (catalog, _) = FeatureCatalog::new(backends);
    let mut request = request(&[], 2);
    request
        .features
        .push(catalog.feature(name, options.iter().copied()).unwrap());
    request
}

#[test]
fn a_described_feature_is_scored_by_its_backend() {
    // The CPU comes first and is not asked: the feature is none of its.
    let mut backends = vmafx_api::Backend::builtin().unwrap();
    let behaviour = Behaviour {
        priority: -1,
        ..brings(&["sharp"])
    };
    backends.push(Fake::named("other", behaviour));
    let request = asking(&backends, "sharp", &[("s", "3")]);
    let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    assert_eq!(context.features()[0].backend, "other");
    assert_eq!(context.features()[0].scores, ["sharp_s_3"]);
    feed_samples(&mut context, &[(9, 2), (5, 7)]).unwrap();
    let outcome = context.finish().unwrap();
    assert!(outcome.warnings().is_empty(), "nobody was passed over");
    let text = report(&outcome, OutputFormat::Json, Precision::Digits(6));
    assert!(text.contains("\"sharp_s_3\": 7.000000"), "{text}");
    assert!(text.contains("\"sharp_s_3\": -2.000000"), "{text}");
}

#[test]
fn values_that_are_no_finite_numbers_end_the_run() {
    for (value, text) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let behaviour = Behaviour {
            values: vec![(3, value)],
            ..brings(&["sharp"])
        };
        let backends = fake(behaviour);
        let request = asking(&backends, "sharp", &[]);
        let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
        let _ = feed(&mut context, 8);
        let error = context.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("frame 3: fake:0 gave {text} as score `sharp`, which is no finite number")
        );
        assert_eq!(error.kind(), ErrorKind::Backend);
    }
}

#[test]
fn names_are_not_taken_twice() {
    let mut other = brings(&["sharp"]);
    other.describes[0].summary.push_str(", otherwise");
    let backends = [
        Fake::named("one", brings(&["sharp", "soft"])),
        Fake::named("same", brings(&["soft"])),
        Fake::named("other", other),
        Fake::named("bold", brings(&["probe"])),
    ];
    let (catalog, warnings) = FeatureCatalog::new(&backends);
    let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the feature sharp of backend other is not used: another feature has that name",
            "the feature probe of backend bold is not used: another feature has that name",
        ]
    );
    assert_eq!(warnings[0].code(), "feature-taken");
    assert_eq!(
        catalog.find("probe").unwrap().definition().source,
        "this file"
    );
    assert_eq!(catalog.find("probe").unwrap().definition().outputs.len(), 2);
    // Who describes the same serves it, too; who describes another does not.
    for (wanted, served) in [("one", true), ("same", false), ("other", false)] {
        let mut request = asking(&backends, "sharp", &[]);
        request.device = Some(wanted.to_owned());
        let context = Context::with_backends(format(16, 16, 8), request, &backends);
        assert_eq!(context.is_ok(), served, "{wanted}");
    }
    let mut request = asking(&backends, "soft", &[]);
    request.device = Some("same".to_owned());
    Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
}

#[test]
fn limits_and_options_of_a_description_are_kept() {
    let mut behaviour = brings(&["sharp"]);
    behaviour.describes[0].min_size = (32, 8);
    let backends = fake(behaviour);
    let request = asking(&backends, "sharp", &[]);
    let error = Context::with_backends(format(16, 16, 8), request, &backends).unwrap_err();
    assert!(error.to_string().contains("sharp"), "{error}");
    assert!(error.to_string().contains("32x8"), "{error}");
    let (catalog, _) = FeatureCatalog::new(&backends);
    for (option, value) in [("scale", "5"), ("scale", "x"), ("none", "1")] {
        let error = catalog.feature("sharp", [(option, value)]).unwrap_err();
        assert!(
            matches!(error, EngineError::Option { .. }),
            "{option}={value}"
        );
    }
    let error = catalog.feature("shrap", []).unwrap_err();
    assert!(error.to_string().contains("sharp"), "{error}");
}

/// A device that was counted and does not open, and one that reads the frames elsewhere, are told
/// of where another takes their feature.
#[test]
fn devices_that_cannot_be_used_are_told_of() {
    let gone = Behaviour {
        gone: true,
        priority: 2,
        ..Behaviour::default()
    };
    let elsewhere = Behaviour {
        reads: Some(MemoryKind::DMA_BUF),
        priority: 1,
        ..Behaviour::default()
    };
    let backends = [
        Fake::named("gone", gone),
        Fake::named("far", elsewhere),
        Fake::named("near", Behaviour::default()),
    ];
    let context =
        Context::with_backends(format(16, 16, 8), request(&["probe"], 1), &backends).unwrap();
    assert_eq!(context.features()[0].backend, "near");
    let texts: Vec<_> = context.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "feature probe runs on near:0, not on gone:0: index: it was unplugged (not found)",
            "feature probe runs on near:0, not on far:0: it reads the feature's frames in dma-buf, \
             those of the run are in host memory",
        ]
    );
    let mut elsewhere = request(&["probe"], 1);
    elsewhere.memory = MemoryKind::DMA_BUF;
    let context = Context::with_backends(format(16, 16, 8), elsewhere, &backends).unwrap();
    assert_eq!(context.features()[0].backend, "far");
}

/// What a backend describes is taken as it is written; libvmaf's rounding is for its features.
#[test]
fn numbers_of_described_options_are_exact() {
    let mut behaviour = brings(&["sharp"]);
    let number = |name: &str, default, max| {
        let mut option = OptionDescription::new(name, default, (0.0, max), "A number.");
        option.in_names = true;
        option
    };
    behaviour.describes[0].options = vec![
        number("whole", OptionValue::Int(0), 2_147_483_647.0),
        number("part", OptionValue::Float(0.0), 1e300),
    ];
    let backends = fake(behaviour);
    let (catalog, _) = FeatureCatalog::new(&backends);
    let set = |option, text| catalog.feature("sharp", [(option, text)]);
    for text in ["16777217", "2147483647"] {
        let feature = set("whole", text).unwrap();
        assert_eq!(feature.options.int("whole").to_string(), text);
    }
    assert_eq!(
        set("part", "0.1234561").unwrap().options.float("part"),
        0.123_456_1
    );
    assert_eq!(set("part", "1e299").unwrap().options.float("part"), 1e299);
    assert!(set("whole", "2147483648").is_err() && set("part", "nan").is_err());
    let mut request = request(&[], 1);
    request.features.push(set("part", "123456789.5").unwrap());
    let context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    assert_eq!(context.features()[0].scores, ["sharp_part_123456789.5"]);
}
