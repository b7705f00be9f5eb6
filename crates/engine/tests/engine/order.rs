//! Results do not depend on threads; subsampling; what is known when.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use vmafx_engine::{
    Context, EngineError, ErrorKind, FrameScores, OutputFormat, Pooling, Precision, ScoreError,
    Warning,
};
use vmafx_metrics::{Column, find};

use crate::rig::*;

#[test]
fn reports_do_not_depend_on_threads() {
    let run = |threads| {
        let features = [
            "vif",
            "adm",
            "motion",
            "psnr=enable_apsnr=true",
            "vif=vif_enhn_gain_limit=1",
        ];
        let mut context = Context::new(format(64, 48, 8), request(&features, threads)).unwrap();
        assert_eq!(context.threads(), threads);
        feed(&mut context, 12).unwrap();
        let outcome = context.finish().unwrap();
        OutputFormat::ALL.map(|format| report(&outcome, format, Precision::Max))
    };
    let serial = run(1);
    assert!(serial[1].contains("\"integer_motion2\": ") && serial[1].contains("\"apsnr_cb\": "));
    for threads in [2, 3, 16] {
        assert_eq!(run(threads), serial, "{threads} threads");
    }
}

#[test]
fn results_are_put_in_order() {
    let run = |threads| {
        let behaviour = Behaviour {
            jitter: true,
            ..Behaviour::default()
        };
        let request = request(&["probe", "step", "probe=g=2"], threads);
        let mut context =
            Context::with_backends(format(16, 16, 8), request, &fake(behaviour)).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = told.clone();
        let observed = context.on_frame(move |scores: &FrameScores<'_>| {
            let next = scores.get("probe_next_g_2").unwrap();
            listener
                .lock()
                .unwrap()
                .push((scores.frame(), scores.get("step").unwrap(), next));
        });
        observed.unwrap();
        feed(&mut context, 60).unwrap();
        let outcome = context.finish().unwrap();
        let told = told.lock().unwrap().clone();
        (report(&outcome, OutputFormat::Csv, Precision::Max), told)
    };
    let (csv, told) = run(1);
    assert!(csv.starts_with("Frame,probe,step,probe_g_2,probe_next,probe_next_g_2,\n0,"));
    let frames: Vec<_> = told.iter().map(|(frame, ..)| *frame).collect();
    assert_eq!(frames, (0..60).collect::<Vec<_>>());
    for threads in [2, 5, 16] {
        assert_eq!(
            run(threads),
            (csv.clone(), told.clone()),
            "{threads} threads"
        );
    }
}

/// Every listed score equals that of a full run, motion's neighbours included; aggregates of
/// features that see every frame are those of the full run.
#[test]
fn subsampling_only_leaves_out() {
    let run = |step| {
        let features = ["vif", "motion", "psnr=enable_apsnr=true"];
        let mut request = request(&features, 3);
        request.subsample = NonZeroU32::new(step).unwrap();
        let mut context = Context::new(format(64, 48, 10), request).unwrap();
        feed(&mut context, 11).unwrap();
        context.finish().unwrap()
    };
    let full = run(1);
    assert!(full.warnings().is_empty());
    for step in [2, 3, 11, 20] {
        let some = run(step);
        let listed: Vec<_> = (0..11)
            .filter(|frame| frame % u64::from(step) == 0)
            .collect();
        assert_eq!(some.frames().collect::<Vec<_>>(), listed);
        assert_eq!(some.names(), full.names());
        let counts = some.provenance().frames;
        assert_eq!((counts.read, counts.scored), (11, listed.len() as u64));
        assert_eq!(counts.skipped + counts.scored, 11);
        for name in full.names() {
            let mut sum = 0.0;
            for &frame in &listed {
                let score = some.score(&name, frame).unwrap();
                assert_eq!(
                    score,
                    full.score(&name, frame).unwrap(),
                    "{name} of frame {frame}"
                );
                sum += score;
            }
            let mean = some.pooled(&name, Pooling::Mean, ..).unwrap();
            assert_eq!(mean, sum / listed.len() as f64, "{name}");
        }
        assert!(matches!(
            some.score("psnr_y", 1),
            Err(ScoreError::Skipped { frame: 1, .. })
        ));
        assert_eq!(some.aggregates(), full.aggregates());
        assert_eq!(some.warnings().len(), usize::from(step % 2 == 0));
        let csv = report(&some, OutputFormat::Csv, Precision::default());
        assert_eq!(csv.lines().count(), 1 + listed.len());
    }
    let even = run(2);
    assert!(matches!(
        even.warnings(),
        [Warning::EvenSubsample { subsample: 2 }]
    ));
}

/// A device never sees the frames that its features skip.
#[test]
fn skipped_frames_cost_nothing() {
    let run = |features: &[&str]| {
        let behaviour = Behaviour {
            fails: vec![1, 2, 4],
            ..Behaviour::default()
        };
        let mut request = request(features, 2);
        request.subsample = NonZeroU32::new(3).unwrap();
        let list = fake(behaviour);
        let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
        let _ = feed(&mut context, 6);
        context.finish().map(|outcome| outcome.frames().count())
    };
    assert_eq!(run(&["probe"]).unwrap(), 2);
    assert!(run(&["probe", "step"]).is_err(), "step sees every frame");
}

#[test]
fn scores_are_pending_until_final() {
    let request = request(&["probe", "step"], 2);
    let backends = fake(Behaviour::default());
    let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    let scores = context.scores();
    let pending = |result| matches!(result, Err(ScoreError::Pending { .. }));
    assert!(pending(context.score("probe", 0)));
    feed_samples(&mut context, &[(9, 4)]).unwrap();
    context.settle().unwrap();
    assert_eq!(context.score("probe", 0).unwrap(), 5.0);
    assert!(pending(context.score("probe_next", 0)));
    assert!(matches!(
        context.score("prob", 0),
        Err(ScoreError::Unknown { .. })
    ));
    feed_samples(&mut context, &[(3, 1), (8, 1)]).unwrap();
    context.settle().unwrap();
    assert_eq!(scores.score("probe_next", 0).unwrap(), 2.0);
    assert_eq!(scores.score("probe_next", 1).unwrap(), 7.0);
    assert!(pending(scores.score("probe_next", 2)));
    assert_eq!(scores.pooled("step", Pooling::Max, 0..3).unwrap(), 6.0);
    assert!(pending(scores.pooled("step", Pooling::Max, 0..4)));
    assert!(pending(scores.pooled("step", Pooling::Max, ..)));
    let outcome = context.finish().unwrap();
    assert_eq!(outcome.score("probe_next", 2).unwrap(), 7.0);
    assert_eq!(
        outcome.pooled("probe", Pooling::Mean, ..).unwrap(),
        14.0 / 3.0
    );
    assert_eq!(outcome.aggregates()[0].value, 11.0);
    assert!(matches!(
        scores.score("step", 3),
        Err(ScoreError::NoSuchFrame { frames: 3, .. })
    ));
}

/// Another thread may ask while frames come in; that changes nothing.
#[test]
fn queries_do_not_disturb_the_run() {
    let run = |ask: bool| {
        let mut context = Context::new(format(64, 48, 8), request(&["motion"], 2)).unwrap();
        let scores = context.scores();
        let asking = std::thread::spawn(move || {
            let mut seen = 0;
            while ask && seen < 40 {
                match scores.score("integer_motion2", seen) {
                    Ok(_) => seen += 1,
                    Err(ScoreError::Pending { .. }) => std::thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
                let _ = scores.pooled("integer_motion3", Pooling::P5, 0..seen);
            }
        });
        feed(&mut context, 40).unwrap();
        let outcome = context.finish().unwrap();
        asking.join().unwrap();
        report(&outcome, OutputFormat::Json, Precision::Max)
    };
    assert_eq!(run(true), run(false));
}

/// A slow reader of scores holds up the frames behind, not the work on them.
#[test]
fn pixel_work_goes_on_while_the_observer_is_busy() {
    let (told, started) = mpsc::channel();
    let backends = fake(Behaviour {
        started: Some(told),
        ..Behaviour::default()
    });
    let mut context =
        Context::with_backends(format(16, 16, 8), request(&["step"], 2), &backends).unwrap();
    let (busy, called) = mpsc::channel();
    let (seen, overlapped) = mpsc::channel();
    let observed = context.on_frame(move |scores: &FrameScores<'_>| {
        if scores.frame() == 0 {
            busy.send(()).unwrap();
            // Only a worker that waits for this observer lets the time run out.
            let limit = Duration::from_secs(20);
            let next = || started.recv_timeout(limit);
            seen.send((next(), next())).unwrap();
        }
    });
    observed.unwrap();
    feed(&mut context, 1).unwrap();
    called.recv().unwrap();
    feed(&mut context, 1).unwrap();
    assert_eq!(overlapped.recv().unwrap(), (Ok(0), Ok(1)));
    context.finish().unwrap();
}

/// An observer that comes late would miss frames.
#[test]
fn an_observer_comes_before_the_frames() {
    let backends = fake(Behaviour::default());
    let mut context =
        Context::with_backends(format(16, 16, 8), request(&["step"], 2), &backends).unwrap();
    context.on_frame(|_| panic!("it was replaced")).unwrap();
    context.on_frame(|_| ()).unwrap();
    feed(&mut context, 3).unwrap();
    let error = context.on_frame(|_| ()).unwrap_err();
    assert!(matches!(error, EngineError::LateObserver { submitted: 3 }));
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(context.finish().unwrap().frames().count(), 3);
}

#[test]
fn metrics_of_the_test_describe_themselves() {
    let probe = find("probe").unwrap();
    let options = vmafx_metrics::Options::defaults(probe.definition());
    assert!(matches!(
        probe.columns(&format(16, 16, 8), &options)[..],
        [Column::Score(_)]
    ));
}
