//! Several contexts in one process.

use std::sync::Arc;

use vmafx_engine::{Context, ModelSpec, OutputFormat, Precision};
use vmafx_models::catalog;

use crate::rig::*;

fn run(number: u32, threads: usize) -> String {
    let models = ["vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_b_v0.6.3"];
    let model = catalog::find(models[number as usize % 3], &[]).unwrap();
    let mut request = request(&["psnr=enable_mse=true", "motion=mffw=true"], threads);
    request.models = vec![ModelSpec::new("vmaf", Arc::new(model))];
    let depth = 8 + 2 * (number % 3);
    let format = format(40 + 3 * number, 60 - number, depth);
    let mut context = Context::new(format, request).unwrap();
    feed(&mut context, 6).unwrap();
    report(
        &context.finish().unwrap(),
        OutputFormat::Json,
        Precision::Max,
    )
}

#[test]
fn sixteen_contexts_know_nothing_of_one_another() {
    let serial: Vec<_> = (0..16).map(|number| run(number, 1)).collect();
    let parallel: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| scope.spawn(move || run(number, 2)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for (number, (a, b)) in serial.iter().zip(&parallel).enumerate() {
        assert_eq!(a, b, "context {number}");
    }
}

#[test]
fn a_shift_between_the_clips_is_told() {
    let run = |late: i64, range: u32, moving: u64| {
        let mut request = request(&["psnr"], 3);
        request.alignment_range = range;
        let mut context = Context::new(format(96, 64, 8), request).unwrap();
        let pool = vmafx_api::FramePool::new(*context.format());
        for t in 0..20u64 {
            let (x, y) = (10 + t, 10u64.wrapping_add(t).wrapping_add_signed(-late));
            context
                .submit(
                    frame(&pool, x * moving, false),
                    frame(&pool, y * moving, true),
                )
                .unwrap();
        }
        let outcome = context.finish().unwrap();
        let texts = outcome.warnings().iter().map(ToString::to_string);
        texts.collect::<Vec<_>>().join("\n")
    };
    let text = run(2, 5, 7);
    assert!(
        text.contains("the distorted input seems 2 frames late"),
        "{text}"
    );
    let text = run(-1, 5, 7);
    assert!(
        text.contains("the reference input seems 1 frame late"),
        "{text}"
    );
    for (late, range, moving) in [(0, 5, 7), (2, 0, 7), (2, 5, 0), (3, 2, 7)] {
        assert_eq!(
            run(late, range, moving),
            "",
            "late by {late}, range {range}"
        );
    }
}
