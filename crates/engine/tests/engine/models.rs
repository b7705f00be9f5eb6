//! Models on features: names, options, order, evaluation while frames come in.

use std::sync::{Arc, Mutex};

use vmafx_engine::{
    Context, ErrorKind, FrameScores, ModelSpec, OutputFormat, Pooling, Request, ScoreError, Warning,
};
use vmafx_models::{ModelSet, Override, catalog};

use crate::rig::*;

/// `2 exp(-((probe_next - 5)^2 + step^2) / 2) + 1`, at most 2.5, for phones doubled.
const BELL: &str = r#"{"model_dict": {
    "model_type": "LIBSVMNUSVR", "norm_type": "none", "score_clip": [0, 2.5],
    "feature_names": ["test_probe_next", "test_step"],
    "feature_opts_dicts": [{"gain": 1}, {}],
    "score_transform": {"p0": null, "p1": 2.0, "p2": null, "knots": null},
    "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 1\nrho -1\nSV\n2 1:5 2:0\n"
}}"#;

fn bell() -> ModelSpec {
    ModelSpec::new(
        "bell",
        Arc::new(ModelSet::from_json(BELL.as_bytes()).unwrap()),
    )
}

fn with_models(models: Vec<ModelSpec>, features: &[&str]) -> Request {
    let mut request = request(features, 2);
    request.models = models;
    request
}

#[test]
fn a_model_is_evaluated_as_soon_as_its_features_are_final() {
    let list = fake(Behaviour::default());
    let request = with_models(vec![bell()], &[]);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    assert_eq!(
        context.scores().names(),
        ["probe", "step", "probe_next", "bell"]
    );
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = told.clone();
    let observed = context.on_frame(move |scores: &FrameScores<'_>| {
        let line: Vec<_> = scores
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        listener
            .lock()
            .unwrap()
            .push(format!("{}: {}", scores.frame(), line.join(" ")));
    });
    observed.unwrap();
    feed_samples(&mut context, &[(9, 9), (9, 4)]).unwrap();
    context.settle().unwrap();
    // Frame 0: step 0, probe_next 5, so the bell is 1, the sum 3 and the clip at 2.5.
    assert_eq!(
        *told.lock().unwrap(),
        ["0: probe=0 step=0 probe_next=5 bell=2.5"]
    );
    assert_eq!(context.score("bell", 0).unwrap(), 2.5);
    feed_samples(&mut context, &[(8, 3)]).unwrap();
    let outcome = context.finish().unwrap();
    assert_eq!(told.lock().unwrap().len(), 3);
    // Frame 2: step 1, so the bell is exp(-0.5).
    let expected = 2.0 * (-0.5f64).exp() + 1.0;
    assert!((outcome.score("bell", 2).unwrap() - expected).abs() < 1e-15);
    let record = &outcome.provenance().models[0];
    assert_eq!(
        (record.sha256.len(), &*record.source),
        (64, "bytes of the caller")
    );
}

#[test]
fn a_model_without_its_features_gives_no_score() {
    let list = fake(Behaviour {
        values: vec![(1, NONE)],
        ..Behaviour::default()
    });
    let request = with_models(vec![bell()], &[]);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    feed_samples(&mut context, &[(9, 4), (9, 4), (9, 4)]).unwrap();
    let outcome = context.finish().unwrap();
    assert_eq!(outcome.score("bell", 0).unwrap(), 2.5);
    assert!(matches!(
        outcome.score("bell", 1),
        Err(ScoreError::NotGiven { frame: 1, .. })
    ));
    assert_eq!(outcome.score("bell", 2).unwrap(), 2.5);
}

#[test]
fn scoring_and_overrides_act_and_are_recorded() {
    let mut phone = bell();
    phone.name = "phone".to_owned();
    phone.scoring.enable_transform = true;
    phone.scoring.disable_clip = true;
    let mut loud = bell();
    loud.name = "loud".to_owned();
    loud.overrides = vec![Override::parse("probe.gain=2").unwrap()];
    let list = fake(Behaviour::default());
    let request = with_models(vec![bell(), phone, loud], &["probe=g=3"]);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    assert_eq!(
        context.scores().names(),
        [
            "probe",
            "step",
            "probe_g_2",
            "probe_g_3",
            "probe_next",
            "probe_next_g_2",
            "probe_next_g_3",
            "bell",
            "phone",
            "loud"
        ]
    );
    feed_samples(&mut context, &[(9, 4), (9, 4)]).unwrap();
    let outcome = context.finish().unwrap();
    let score = |name| outcome.score(name, 0).unwrap();
    assert_eq!((score("bell"), score("phone")), (2.5, 6.0));
    // probe_next is 10 here: the bell is exp(-12.5).
    assert!((score("loud") - (2.0 * (-12.5f64).exp() + 1.0)).abs() < 1e-15);
    let models = &outcome.provenance().models;
    let options = |i: usize| {
        let options = models[i]
            .options
            .iter()
            .map(|o| format!("{}={}", o.name, o.value));
        options.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(options(0), "");
    assert_eq!(options(1), "enable_transform=true disable_clip=true");
    assert_eq!(options(2), "probe.gain=2");
}

#[test]
fn names_that_a_report_cannot_carry_are_refused() {
    let list = fake(Behaviour::default());
    let make = |names: [&str; 2]| {
        let models = names.map(|name| ModelSpec {
            name: name.to_owned(),
            ..bell()
        });
        let request = with_models(models.to_vec(), &[]);
        let error = Context::with_backends(format(16, 16, 8), request, &list).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.to_string()
    };
    for name in [
        "", "a b", "a,b", "a|b", "a:b", "1a", "a\"", "frameNum", "é", "<",
    ] {
        assert!(make(["ok", name]).starts_with(&format!("`{name}` cannot be a score name")));
    }
    assert_eq!(
        make(["twin", "twin"]),
        "model twin and model twin both give a score `twin`; give one of them another name"
    );
    assert_eq!(
        make(["step", "b"]),
        "feature step and model step both give a score `step`; give one of them another name"
    );
}

#[test]
fn a_model_that_cannot_run_is_refused_with_the_rest() {
    let json = BELL.replace("test_step", "VMAF_feature_unheard_of_score");
    let other = ModelSpec::new(
        "other",
        Arc::new(ModelSet::from_json(json.as_bytes()).unwrap()),
    );
    let request = with_models(vec![other], &["probe"]);
    let error = Context::new(format(8, 8, 8), request).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("VMAF_feature_unheard_of_score"), "{text}");
    assert!(
        text.contains("probe needs frames of at least 16x16"),
        "{text}"
    );
    assert_eq!(error.kind(), ErrorKind::Model);
}

#[test]
fn collections_come_behind_all_models() {
    let member = |rho: i32| {
        let member = BELL.replace("rho -1", &format!("rho {rho}"));
        member
            .replace("\"LIBSVMNUSVR\"", "\"BOOTSTRAP_LIBSVMNUSVR\"")
            .replace("2.5]", "250]")
    };
    let json = format!(
        "{{\"0\": {}, \"1\": {}, \"2\": {}}}",
        member(0),
        member(-4),
        member(-6)
    );
    let set = ModelSpec::new(
        "set",
        Arc::new(ModelSet::from_json(json.as_bytes()).unwrap()),
    );
    let list = fake(Behaviour::default());
    let request = with_models(vec![set, bell()], &[]);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    assert_eq!(
        context.scores().names()[3..],
        [
            "set",
            "bell",
            "set_0001",
            "set_0002",
            "set_bagging",
            "set_stddev",
            "set_ci_p95_lo",
            "set_ci_p95_hi"
        ]
    );
    feed_samples(&mut context, &[(9, 4), (9, 4)]).unwrap();
    let outcome = context.finish().unwrap();
    let score = |name| outcome.score(name, 1).unwrap();
    assert_eq!(
        ["set", "set_0001", "set_0002", "set_bagging"].map(score),
        [2.0, 6.0, 8.0, 7.0]
    );
    assert!((score("set_stddev") - 1.0).abs() < 1e-9);
}

#[test]
fn vmaf_warns_of_frames_it_was_not_made_for() {
    let vmaf = || {
        let model = catalog::find("vmaf_v0.6.1", &[]).unwrap();
        ModelSpec::new("vmaf", Arc::new(model))
    };
    let context = Context::new(format(64, 48, 8), with_models(vec![vmaf()], &[])).unwrap();
    let [warning @ Warning::ModelSize { .. }] = context.warnings() else {
        panic!("{:?}", context.warnings())
    };
    let text = warning.to_string();
    assert!(text.starts_with("model vmaf assumes 1920x1080"), "{text}");
    assert!(
        text.ends_with("the frames are 64x48; nothing is scaled"),
        "{text}"
    );
    let context = Context::new(format(1920, 1080, 8), with_models(vec![vmaf()], &[])).unwrap();
    assert!(context.warnings().is_empty());
}

/// The keys of libvmaf's reports for its default model and psnr, in its order.
#[test]
fn the_order_of_scores_is_upstreams() {
    let model = catalog::find("vmaf_v0.6.1", &[]).unwrap();
    let models = vec![ModelSpec::new("vmaf", Arc::new(model))];
    let mut context = Context::new(format(64, 48, 8), with_models(models, &["psnr"])).unwrap();
    feed(&mut context, 3).unwrap();
    let outcome = context.finish().unwrap();
    let csv = report(&outcome, OutputFormat::Csv, Default::default());
    assert_eq!(
        csv.lines().next().unwrap(),
        "Frame,integer_adm2,integer_aim,integer_adm3,integer_adm_scale0,integer_adm_scale1,\
         integer_adm_scale2,integer_adm_scale3,VMAF_integer_feature_motion_sad_score,\
         integer_vif_scale0,integer_vif_scale1,integer_vif_scale2,integer_vif_scale3,\
         psnr_y,psnr_cb,psnr_cr,integer_motion2,integer_motion3,vmaf,"
    );
    let vmaf = outcome.pooled("vmaf", Pooling::Mean, ..).unwrap();
    assert!(vmaf > 0.0 && vmaf < 100.0, "{vmaf}");
}
