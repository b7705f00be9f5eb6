//! Whatever goes wrong becomes one error, the same for every number of threads, and no outcome.

use std::sync::{Arc, Mutex};

use vmafx_engine::{Context, EngineError, ErrorKind, FrameScores, Input, Request, ScoreError};

use crate::rig::*;

/// Feeds until an error comes, then asks for the outcome; returns both.
fn run(behaviour: Behaviour, threads: usize) -> (Option<EngineError>, EngineError) {
    let request = request(&["probe", "step"], threads);
    let mut context = Context::with_backends(format(16, 16, 8), request, &fake(behaviour)).unwrap();
    let scores = context.scores();
    let fed = feed(&mut context, 200).err();
    if let Some(error) = &fed {
        let again = feed(&mut context, 1).unwrap_err();
        assert_eq!(again.to_string(), error.to_string());
        assert_eq!(context.settle().unwrap_err().to_string(), error.to_string());
    }
    let error = context.finish().unwrap_err();
    assert!(matches!(
        scores.score("probe", 199),
        Err(ScoreError::Failed(_))
    ));
    assert!(matches!(
        scores.pooled("probe", vmafx_engine::Pooling::Mean, ..),
        Err(ScoreError::Failed(_))
    ));
    (fed, error)
}

#[test]
fn the_first_failure_in_frame_order_counts() {
    for threads in [1, 2, 3, 16] {
        let fails = vec![40, 37, 39, 38];
        let (fed, error) = run(
            Behaviour {
                fails,
                jitter: true,
                ..Behaviour::default()
            },
            threads,
        );
        assert_eq!(
            error.to_string(),
            "frame 37: fake:0 failed: launch: the device was lost (device failure)"
        );
        assert_eq!(error.kind(), ErrorKind::Backend);
        assert_eq!(fed.unwrap().to_string(), error.to_string());
    }
}

/// Nothing behind the failure is told, whatever was under way.
#[test]
fn no_frame_behind_a_failure_is_told() {
    for (threads, fails) in [(1, 20)]
        .into_iter()
        .chain((14..26).map(|fails| (8, fails)))
    {
        let behaviour = Behaviour {
            fails: vec![fails],
            jitter: true,
            ..Behaviour::default()
        };
        let request = request(&["probe", "step"], threads);
        let list = fake(behaviour);
        let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = told.clone();
        context
            .on_frame(move |scores| listener.lock().unwrap().push(scores.frame()))
            .unwrap();
        let _ = feed(&mut context, 60);
        context.finish().unwrap_err();
        // The frame before waits for the next one's probe.
        assert_eq!(*told.lock().unwrap(), (0..fails - 1).collect::<Vec<_>>());
    }
}

#[test]
fn a_failure_on_the_last_frame_is_not_lost() {
    let (fed, error) = run(
        Behaviour {
            fails: vec![199],
            ..Behaviour::default()
        },
        4,
    );
    assert!(fed.is_none());
    assert!(matches!(error, EngineError::Device { frame: 199, .. }));
}

#[test]
fn a_panic_becomes_an_error() {
    for threads in [1, 4] {
        let behaviour = Behaviour {
            panics: Some(21),
            ..Behaviour::default()
        };
        let (_, error) = run(behaviour, threads);
        assert!(
            matches!(error, EngineError::Panic { frame: 21, .. }),
            "{error}"
        );
        assert!(
            error.to_string().contains("the backend's own bug"),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
    let mut context = Context::with_backends(
        format(16, 16, 8),
        request(&["step"], 2),
        &fake(Behaviour::default()),
    )
    .unwrap();
    context
        .on_frame(|scores: &FrameScores<'_>| assert!(scores.frame() < 5, "observer's bug"))
        .unwrap();
    let _ = feed(&mut context, 30);
    let error = context.finish().unwrap_err();
    assert!(error.to_string().contains("observer's bug"), "{error}");
}

#[test]
fn samples_above_the_depth_are_named() {
    for threads in [1, 3] {
        let mut context =
            Context::new(format(32, 32, 10), request(&["vif", "motion"], threads)).unwrap();
        let error = (0..40).find_map(|t| {
            let (mut x, mut y) = (context.frame().unwrap(), context.frame().unwrap());
            x.words_mut().fill(0);
            y.words_mut().fill(0);
            if t >= 7 {
                y.words_mut()[32 * 32 + 16 * 16 + 5] = 1024;
            }
            context.submit(x, y).err()
        });
        let finished = context.finish().unwrap_err();
        assert_eq!(
            error.map(|error| error.to_string()),
            Some(finished.to_string())
        );
        assert!(matches!(
            finished,
            EngineError::Sample {
                frame: 7,
                input: Input::Distorted,
                ..
            }
        ));
        assert_eq!(
            finished.to_string(),
            "frame 7 of the distorted input, plane Cr, column 5, row 0: sample 1024 is above 1023, the \
             largest 10-bit value; check the bit depth"
        );
        assert_eq!(finished.kind(), ErrorKind::Input);
    }
}

#[test]
fn frames_of_another_shape_are_refused() {
    let mut context = Context::new(format(32, 32, 8), request(&["psnr"], 2)).unwrap();
    feed(&mut context, 3).unwrap();
    let other = vmafx_api::HostFrame::new(format(32, 30, 8));
    let error = context.submit(context.frame().unwrap(), other).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame 3 of the distorted input is 32x30 4:2:0 8-bit, the context scores 32x32 4:2:0 8-bit"
    );
    assert!(matches!(
        context.finish(),
        Err(EngineError::Format { frame: 3, .. })
    ));
}

#[test]
fn a_clip_without_frames_has_no_outcome() {
    let context = Context::new(format(32, 32, 8), request(&["psnr"], 2)).unwrap();
    assert!(matches!(context.finish(), Err(EngineError::NoFrames)));
}

#[test]
fn a_dropped_context_ends_its_readers() {
    let backends = fake(Behaviour {
        jitter: true,
        ..Behaviour::default()
    });
    let mut context =
        Context::with_backends(format(16, 16, 8), request(&["probe"], 2), &backends).unwrap();
    let scores = context.scores();
    feed(&mut context, 20).unwrap();
    drop(context);
    let error = scores.score("probe_next", 19).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run failed: the run was stopped before its end"
    );
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut context = Context::new(format(32, 32, 8), request(&["psnr"], 1)).unwrap();
    feed(&mut context, 2).unwrap();
    let outcome = context.finish().unwrap();
    for format in vmafx_engine::OutputFormat::ALL {
        let error = outcome
            .write(format, Default::default(), &mut Full)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Output);
    }
}

#[test]
fn numbers_of_the_request_have_limits() {
    let text = |change: fn(&mut Request)| {
        let mut request = request(&["psnr"], 1);
        change(&mut request);
        let error = Context::new(format(32, 32, 8), request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.to_string()
    };
    assert_eq!(
        text(|r| r.threads = 1025),
        "threads 1025 is outside 0 to 1024"
    );
    assert_eq!(
        text(|r| r.alignment_range = 61),
        "alignment range 61 is outside 0 to 60"
    );
    assert_eq!(
        text(|r| r.features.clear()),
        "nothing to score: no feature and no model is asked for"
    );
}
