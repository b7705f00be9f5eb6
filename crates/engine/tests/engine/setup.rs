//! What is decided before the first frame: who computes what, and all refusals at once.

use vmafx_engine::{
    Context, EngineError, ErrorKind, FeatureCatalog, FeatureSpec, SetupRefusal, Warning,
};

use crate::rig::*;

fn backends(list: &[(&str, Behaviour)]) -> Vec<vmafx_api::Backend> {
    list.iter()
        .map(|(id, behaviour)| Fake::named(id, behaviour.clone()))
        .collect()
}

fn refusing(feature: &'static str, reason: &'static str) -> Behaviour {
    Behaviour {
        refuses: vec![(feature, reason)],
        ..Behaviour::default()
    }
}

#[test]
fn the_first_device_that_takes_a_feature_computes_it() {
    let list = backends(&[
        ("one", refusing("step", "no history here")),
        ("two", Behaviour::default()),
    ]);
    let context =
        Context::with_backends(format(16, 16, 8), request(&["step", "probe"], 1), &list).unwrap();
    let placed: Vec<_> = context
        .features()
        .iter()
        .map(|f| (&*f.name, &*f.backend))
        .collect();
    assert_eq!(placed, [("step", "two"), ("probe", "one")]);
    let probe = &context.features()[1];
    assert_eq!(
        (&*probe.library, &*probe.isa, &*probe.backend_version),
        ("", "f1", "7.0")
    );
    assert_eq!(probe.scores, ["probe", "probe_next"]);
    assert_eq!(
        (&*probe.options[0].name, &*probe.options[0].value),
        ("gain", "1")
    );
    let [warning] = context.warnings() else {
        panic!("{:?}", context.warnings())
    };
    assert_eq!(
        warning.to_string(),
        "feature step runs on two:0, not on one:0: step: no history here (not supported)"
    );
}

/// Two devices work on one frame, and the scores are those of one device.
#[test]
fn scores_do_not_depend_on_the_device() {
    let both = backends(&[
        ("one", refusing("step", "no")),
        ("two", Behaviour::default()),
    ]);
    let run = |list: &[_]| {
        let mut context =
            Context::with_backends(format(16, 16, 8), request(&["step", "probe"], 2), list)
                .unwrap();
        feed_samples(&mut context, &[(7, 1), (9, 4), (2, 3)]).unwrap();
        let outcome = context.finish().unwrap();
        report(
            &outcome,
            vmafx_engine::OutputFormat::Csv,
            Default::default(),
        )
    };
    let text = run(&both);
    assert_eq!(text.lines().nth(2), Some("1,2.000000,5.000000,-1.000000,"));
    assert_eq!(run(&both[1..]), text);
}

#[test]
fn a_named_device_is_not_replaced() {
    let list = backends(&[
        ("one", refusing("step", "no history here")),
        ("two", Behaviour::default()),
    ]);
    let make = |device: &str| {
        let mut request = request(&["step", "probe"], 1);
        request.device = Some(device.to_owned());
        Context::with_backends(format(16, 16, 8), request, &list)
    };
    for name in ["two", "two:0"] {
        let context = make(name).unwrap();
        assert!(
            context
                .features()
                .iter()
                .all(|feature| feature.backend == "two")
        );
        assert!(context.warnings().is_empty());
    }
    let error = make("one").unwrap_err();
    assert_eq!(
        error.to_string(),
        "feature `step` does not run on `one`, which was asked for: one:0: step: no history here \
         (not supported)"
    );
    assert_eq!(error.kind(), ErrorKind::Backend);
    let error = make("three").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no device `three`; the devices are: one:0, two:0"
    );
    assert_eq!(error.kind(), ErrorKind::Backend);
    let error = make("one:1").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no device `one:1`; the devices are: one:0"
    );
    assert_eq!(error.kind(), ErrorKind::Backend);
}

/// Priority decides, then the identifier; the order of the list does not.
#[test]
fn backends_are_asked_by_priority() {
    let of = |priority| Behaviour {
        priority,
        ..Behaviour::default()
    };
    let first = |list: &[(&str, Behaviour)]| {
        let list = backends(list);
        let request = request(&["probe"], 1);
        let context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
        assert!(context.warnings().is_empty(), "nobody was passed over");
        context.features()[0].backend.clone()
    };
    assert_eq!(first(&[("a", of(0)), ("z", of(50)), ("b", of(-1))]), "z");
    assert_eq!(first(&[("z", of(50)), ("m", of(50)), ("a", of(49))]), "m");
    assert_eq!(first(&[("b", of(0)), ("a", of(0))]), "a");
    assert_eq!(first(&[("b", of(i32::MIN)), ("a", of(i32::MAX))]), "a");
    let builtin = vmafx_api::Backend::builtin().unwrap();
    let cpu = builtin.iter().find(|backend| backend.info().id == "cpu");
    assert_eq!(cpu.unwrap().info().priority, 0);
}

/// Loading a driver takes time and may fail: whoever is not wanted is left alone.
#[test]
fn only_the_wanted_backend_is_asked() {
    let asked = || std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (broken, quick) = (asked(), asked());
    let list = backends(&[
        (
            "broken",
            Behaviour {
                priority: 50,
                silent: true,
                asked: broken.clone(),
                ..Behaviour::default()
            },
        ),
        (
            "quick",
            Behaviour {
                asked: quick.clone(),
                ..Behaviour::default()
            },
        ),
    ]);
    let count =
        |asked: &std::sync::atomic::AtomicUsize| asked.load(std::sync::atomic::Ordering::SeqCst);
    for wanted in ["quick", "quick:0"] {
        let mut request = request(&["probe", "step"], 1);
        request.device = Some(wanted.to_owned());
        let context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
        assert!(context.warnings().is_empty());
        assert_eq!(count(&broken), 0, "{wanted}");
    }
    assert_eq!(count(&quick), 4, "listed and opened once for each context");
    Context::with_backends(format(16, 16, 8), request(&["probe"], 1), &list).unwrap();
    assert_eq!(count(&broken), 1);
}

#[test]
fn all_refusals_are_told_at_once() {
    let list = fake(refusing("step", "no history here"));
    let features = ["probe", "step", "probe=g=2", "psnr"];
    let error =
        Context::with_backends(format(16, 12, 8), request(&features, 1), &list).unwrap_err();
    let EngineError::Refused(refusals) = &error else {
        panic!("{error}")
    };
    assert_eq!(refusals.len(), 4);
    assert!(matches!(refusals[0], SetupRefusal::Metric(_)));
    let text = error.to_string();
    assert!(
        text.starts_with("probe needs frames of at least 16x16, these are 16x12; "),
        "{text}"
    );
    assert!(
        text.contains("feature `step` runs on no device: fake:0: step: no history here"),
        "{text}"
    );
    assert!(text.contains("feature `psnr` runs on no device"), "{text}");
    assert_eq!(error.kind(), ErrorKind::Feature);
}

/// A machine without the runtime or the hardware of a backend is an ordinary one; only whoever
/// asks for that backend is told.
#[test]
fn a_backend_without_a_device_here_is_no_failure() {
    let absent = Behaviour {
        absent: true,
        priority: 50,
        ..Behaviour::default()
    };
    let list = backends(&[("one", absent.clone()), ("two", Behaviour::default())]);
    let make = |list: &[_], wanted: Option<&str>| {
        let mut request = request(&["probe"], 1);
        request.device = wanted.map(str::to_owned);
        Context::with_backends(format(16, 16, 8), request, list)
    };
    let context = make(&list, None).unwrap();
    assert_eq!(context.warnings(), []);
    assert_eq!(context.features()[0].backend, "two");
    for wanted in ["one", "one:0"] {
        let error = make(&list, Some(wanted)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "there is no device `{wanted}` on this machine: no libfake.so.1 in \
                 the library path"
            )
        );
        assert_eq!(error.kind(), ErrorKind::Backend);
    }
    let text = make(&list[..1], None).unwrap_err().to_string();
    assert_eq!(
        text,
        "feature `probe` runs on no device: one: no libfake.so.1 in the library path"
    );
    // One that is listed and does not open is passed over, and that is told.
    let gone = Behaviour {
        gone: true,
        priority: 50,
        ..Behaviour::default()
    };
    let list = backends(&[("one", gone), ("two", Behaviour::default())]);
    let context = make(&list, None).unwrap();
    assert!(
        matches!(context.warnings(), [Warning::Fallback { from, .. }] if from == "one:0"),
        "{:?}",
        context.warnings()
    );
}

#[test]
fn a_backend_that_does_not_answer_is_named() {
    let silent = Behaviour {
        silent: true,
        ..Behaviour::default()
    };
    let list = backends(&[("one", silent.clone()), ("two", Behaviour::default())]);
    let make = |list: &[_]| Context::with_backends(format(16, 16, 8), request(&["probe"], 1), list);
    let context = make(&list).unwrap();
    assert!(matches!(
        context.warnings(),
        [Warning::BackendUnavailable { .. }]
    ));
    let text = make(&list[..1]).unwrap_err().to_string();
    assert_eq!(
        text,
        "feature `probe` runs on no device: one: runtime: no driver is loaded (device failure)"
    );
    assert!(
        make(&[])
            .unwrap_err()
            .to_string()
            .contains("there is no device")
    );
}

#[test]
fn a_plan_that_breaks_its_word_is_refused() {
    let list = fake(Behaviour {
        lies: Some(3),
        ..Behaviour::default()
    });
    let error =
        Context::with_backends(format(16, 16, 8), request(&["probe"], 1), &list).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("answers with 3 values a frame, its features have 1"),
        "{error}"
    );
}

/// As upstream: what has the same score names is one feature, and the first request stays.
#[test]
fn the_same_feature_twice_is_one() {
    let features = ["probe", "step", "probe=gain=1", "probe=g=2", "probe=q=true"];
    let list = fake(Behaviour::default());
    let context = Context::with_backends(format(16, 16, 8), request(&features, 1), &list).unwrap();
    assert_eq!(
        context.scores().names(),
        ["probe", "step", "probe_g_2", "probe_next", "probe_next_g_2"]
    );
    let [warning] = context.warnings() else {
        panic!("{:?}", context.warnings())
    };
    assert_eq!(
        warning.to_string(),
        "feature probe is asked for twice under the same score names; quiet=false stays in force, \
         quiet=true has no effect"
    );
}

#[test]
fn feature_texts_are_read_strictly() {
    let text = |spec| FeatureSpec::parse(spec).unwrap_err().to_string();
    assert!(text("prob").starts_with("there is no feature `prob`; the features are: "));
    assert_eq!(
        text("probe=gain"),
        "feature `probe=gain`: `gain` is not option=value"
    );
    assert_eq!(
        text("probe=gain=11:quiet=true"),
        "feature `probe`: probe.gain: 11 is outside 0 to 10"
    );
    let spec = FeatureSpec::parse("probe=gain=3:quiet=true:g=4").unwrap();
    assert_eq!(
        (spec.options.float("gain"), spec.options.bool("quiet")),
        (4.0, true)
    );
    for (spec, part) in [
        ("probe=", ""),
        ("probe=gain=2:", ""),
        ("probe=gain=2::quiet=true", ""),
        ("probe=gain=", "gain="),
        ("probe==2", "=2"),
    ] {
        assert_eq!(
            text(spec),
            format!("feature `{spec}`: `{part}` is not option=value")
        );
    }
    let spec = FeatureCatalog::builtin()
        .feature("probe", [("g", "2"), ("quiet", "true")])
        .unwrap();
    assert_eq!(
        (spec.options.float("gain"), spec.options.bool("quiet")),
        (2.0, true)
    );
}
