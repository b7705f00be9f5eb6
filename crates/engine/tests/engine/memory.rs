//! Memory: which frames a run takes, how many exist at once, and where the scores of a long clip
//! go.

use std::num::NonZeroU32;
use std::process::Command;
use std::sync::Arc;

use vmafx_api::{Chroma, Frame, FrameFormat};
use vmafx_engine::{
    Context, EngineError, ErrorKind, Input, ModelSpec, OutputFormat, Pooling, Precision, Warning,
};
use vmafx_models::catalog;

use crate::rig::*;

/// A frame that a device does not read is refused where it is submitted, and not counted.
#[test]
fn frames_of_other_devices_are_refused() {
    let list = fake(Behaviour::default());
    let request = request(&["probe", "step"], 2);
    let mut context = Context::with_backends(format(16, 16, 8), request, &list).unwrap();
    feed(&mut context, 5).unwrap();
    let elsewhere = elsewhere(*context.format());
    let reference = context.frame().unwrap();
    let error = context.submit(reference, elsewhere).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame 5 of the distorted input: fake:0 does not take it: frame: the samples are \
         in dma-buf; host memory is read and no other; the frame is of other:0 (not supported)"
    );
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert_eq!(context.submitted(), 5);
    assert!(matches!(
        context.finish().unwrap_err(),
        EngineError::Admission {
            frame: 5,
            input: Input::Distorted,
            ..
        }
    ));
}

/// The real backend refuses them, too.
#[test]
fn the_cpu_takes_host_frames() {
    let mut context = Context::new(format(32, 32, 8), request(&["psnr"], 1)).unwrap();
    let elsewhere = Frame::Device(elsewhere(*context.format()));
    let distorted = context.frame().unwrap();
    let error = context.submit(elsewhere, distorted).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame 0 of the reference input: cpu:0 does not take it: frame: the CPU reads host memory, \
         not dma-buf; the frame is of other:0 (not supported)"
    );
}

/// Frames are recycled: however long the clip, only those in flight exist.
#[test]
fn frames_do_not_pile_up() {
    let backends = fake(Behaviour {
        jitter: true,
        ..Behaviour::default()
    });
    let request = request(&["probe", "step"], 3);
    let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    let pool = vmafx_api::FramePool::new(*context.format());
    for _ in 0..300 {
        let frame = || pool.acquire().unwrap();
        context.submit(frame(), frame()).unwrap();
    }
    context.finish().unwrap();
    // Five in flight, one of history and one being filled, two frames each.
    assert!(
        pool.free() <= 2 * (5 + 2),
        "{} frames were made",
        pool.free()
    );
}

/// A caller that waits before it fills a pair adds none to those in flight.
#[test]
fn frames_are_made_when_there_is_room() {
    for (threads, in_flight) in [(1, 2), (3, 5)] {
        let backends = fake(Behaviour {
            jitter: true,
            ..Behaviour::default()
        });
        let request = request(&["probe", "step"], threads);
        let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
        let pool = vmafx_api::FramePool::new(*context.format());
        for _ in 0..300 {
            context.ready();
            let frame = || pool.acquire().unwrap();
            context.submit(frame(), frame()).unwrap();
        }
        context.finish().unwrap();
        // Those in flight and one of history, two frames each.
        let made = pool.free();
        assert!(made <= 2 * (in_flight + 1), "{made} frames were made");
    }
}

/// Luma is enough for all features but those that have scores of chroma; reports tell the format
/// of the clip.
#[test]
fn luma_is_enough_where_nothing_reads_chroma() {
    let model = catalog::find("vmaf_v0.6.1", &[]).unwrap();
    let mut by_model = request(&[], 1);
    by_model.models = vec![ModelSpec::new("vmaf", Arc::new(model))];
    assert!(!by_model.reads_chroma());
    assert!(!request(&["vif", "adm", "motion"], 1).reads_chroma());
    by_model.features = request(&["psnr"], 1).features;
    assert!(by_model.reads_chroma());

    let clip = format(48, 48, 10);
    assert_eq!(clip.chroma(), Chroma::Yuv420);
    let luma = FrameFormat::new(48, 48, Chroma::Yuv400, 10).unwrap();
    let run = |format: FrameFormat| {
        let mut request = request(&["vif", "adm", "motion"], 2);
        request.clip_format = Some(clip);
        let mut context = Context::new(format, request).unwrap();
        let pool = vmafx_api::FramePool::new(format);
        for t in 0..4_u16 {
            let filled = |seed: u16| {
                let mut frame = pool.acquire().unwrap();
                for (at, word) in (0_u16..).zip(frame.words_mut()) {
                    *word = at.wrapping_mul(seed) >> 6;
                }
                frame
            };
            context.submit(filled(77 + t), filled(78 + t)).unwrap();
        }
        let outcome = context.finish().unwrap();
        report(&outcome, OutputFormat::Json, Precision::Max)
    };
    let (whole, part) = (run(clip), run(luma));
    assert!(
        part.contains("\"format\": \"48x48 4:2:0 10-bit\""),
        "{part}"
    );
    assert_eq!(part, whole);
}

/// The scores of a long clip leave memory and come back, in reports and in queries.
#[test]
fn long_clips_keep_every_score() {
    let mut request = request(&["probe", "step"], 3);
    request.subsample = NonZeroU32::new(3).unwrap();
    request.alignment_range = 0;
    let backends = fake(Behaviour::default());
    let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    let sample = |t: u32| (t.wrapping_mul(2_654_435_761) >> 24) as u8;
    let samples: Vec<_> = (0..9000).map(|t| (sample(t), sample(t + 77))).collect();
    feed_samples(&mut context, &samples[..6000]).unwrap();
    context.settle().unwrap();
    let probe = |t: usize| f64::from(samples[t].0) - f64::from(samples[t].1);
    assert_eq!(context.score("probe", 3).unwrap(), probe(3));
    assert_eq!(context.score("probe_next", 3).unwrap(), probe(6));
    feed_samples(&mut context, &samples[6000..]).unwrap();
    let outcome = context.finish().unwrap();
    assert!(outcome.warnings().is_empty(), "{:?}", outcome.warnings());
    let csv = report(&outcome, OutputFormat::Csv, Precision::Digits(0));
    let mut lines = csv.lines().skip(1);
    for t in (0..9000).step_by(3) {
        let moved = match t {
            0 => 0.0,
            _ => (f64::from(samples[t].0) - f64::from(samples[t - 1].0)).abs(),
        };
        let next = probe((t + 3).min(8997));
        assert_eq!(
            lines.next().unwrap(),
            format!("{t},{},{moved},{next},", probe(t))
        );
    }
    assert_eq!(lines.next(), None);
    let listed: Vec<_> = (0..9000).step_by(3).map(probe).collect();
    let mean = listed.iter().fold(0.0, |sum, probe| sum + probe) / 3000.0;
    assert_eq!(outcome.pooled("probe", Pooling::Mean, ..).unwrap(), mean);
    let smallest = listed[100..2000]
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert_eq!(
        outcome.pooled("probe", Pooling::Min, 300..6000).unwrap(),
        smallest
    );
}

/// A run that has no place for its temporary file keeps its scores and says so.
#[test]
fn without_a_temporary_file_scores_stay_in_memory() {
    const CHILD: &str = "VMAFX_TEST_WITHOUT_TEMPORARY_FILES";
    if std::env::var_os(CHILD).is_none() {
        // Where temporary files lie is a matter of the whole process, so this is one of its own.
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "memory::without_a_temporary_file_scores_stay_in_memory",
        ]);
        for name in ["TMPDIR", "TMP", "TEMP"] {
            child.env(name, "there/is/no/such/folder");
        }
        let output = child.env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let backends = fake(Behaviour::default());
    let request = request(&["probe"], 2);
    let mut context = Context::with_backends(format(16, 16, 8), request, &backends).unwrap();
    let samples: Vec<_> = (0..2000u32).map(|t| ((t % 251) as u8, 0)).collect();
    feed_samples(&mut context, &samples).unwrap();
    let outcome = context.finish().unwrap();
    let [warning @ Warning::ScoresInMemory { .. }] = outcome.warnings() else {
        panic!("{:?}", outcome.warnings())
    };
    assert!(
        warning
            .to_string()
            .starts_with("there is no temporary file for scores"),
        "{warning}"
    );
    for frame in [0, 255, 256, 1300, 1999] {
        assert_eq!(outcome.score("probe", frame).unwrap(), (frame % 251) as f64);
    }
}
