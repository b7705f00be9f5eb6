//! Values: finite numbers that depend on the frames of the job and on nothing else.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use vmafx_api::wire::MAX_HISTORY;
use vmafx_api::{ApiError, Extractor, FeatureRequest, Value};

use crate::candidate::Candidate;
use crate::check::{Check, Verdict, skip};
use crate::clip::Clip;
use crate::feature::{Bench, Case, Feature, grid, takes};
use crate::scoring::{
    collect, each_clip, finite, parts, prepare, prepare_alone, same, same_frame, score, score_as,
    score_clip, shuffled,
};

pub(super) static CHECKS: [Check; 10] = [
    Check::required(
        "values-finite",
        "Every score is written and a finite number, for scenes, noise, and frames of the \
         smallest and largest samples.",
        values_finite,
    ),
    Check::required(
        "values-repeat",
        "The same job gives the same values: again, on another plan, and on another open device.",
        values_repeat,
    ),
    Check::required(
        "frame-order-free",
        "Values do not depend on the order in which frames are submitted.",
        frame_order_free,
    ),
    Check::required(
        "frame-numbers-free",
        "Values do not depend on the frame's number where as many earlier frames are given.",
        frame_numbers_free,
    ),
    Check::required(
        "spare-history-ignored",
        "Earlier frames beyond those that the plan asks for change nothing.",
        spare_history_ignored,
    ),
    Check::required(
        "plan-neighbours-free",
        "Values do not depend on the other features of the plan, nor on their order.",
        plan_neighbours_free,
    ),
    Check::required(
        "threads-free",
        "Values do not depend on how many threads submit jobs, nor on which thread collects them.",
        threads_free,
    ),
    Check::required(
        "same-frame-twice",
        "One frame as both reference and distorted gives the values of two equal frames.",
        same_frame_twice,
    ),
    Check::required(
        "chroma-not-read",
        "A feature that reads luma only has the same values whatever the chroma is.",
        chroma_not_read,
    ),
    Check::required(
        "sizes-and-formats",
        "At every size from the smallest, depth and layout that are supported, scores are finite \
         and repeat.",
        sizes_and_formats,
    ),
];

fn values_finite(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |_, case, clip, values| {
        finite(case, &case.feature.request(), clip, values)
    })
}

fn values_repeat(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let compare = |values: Vec<Vec<Value>>, how: &str| {
            same(case, &request, clip, [expected, &values], how)
        };
        let extractor = prepare_alone(device, case)?;
        compare(score_clip(&extractor, clip)?, "on another plan")?;
        compare(score_clip(&extractor, clip)?, "the second time on one plan")?;
        let mut twice = Vec::new();
        for at in 0..clip.len() {
            let job = clip.job(at, extractor.history());
            score(&extractor, &job)?;
            twice.push(score(&extractor, &job)?);
        }
        compare(twice, "when the same job is submitted twice in a row")?;
        let other = candidate.open()?;
        let values = score_clip(&prepare_alone(&other, case)?, clip)?;
        compare(values, "on another open device")
    })
}

fn frame_order_free(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let backwards: Vec<_> = (0..clip.len()).rev().collect();
        for (order, how) in [
            (backwards, "when the frames are submitted backwards"),
            (
                shuffled(clip.len()),
                "when the frames are submitted in another order",
            ),
        ] {
            let values = score_as(&prepare_alone(device, case)?, clip, &order)?;
            same(case, &request, clip, [expected, &values], how)?;
        }
        Ok(())
    })
}

fn frame_numbers_free(candidate: &Candidate) -> Verdict {
    const FAR: u64 = 1 << 33;
    each_clip(candidate, |device, case, clip, _| {
        let request = case.feature.request();
        let extractor = prepare_alone(device, case)?;
        for at in 0..clip.len() {
            let mut job = clip.job_within(at, extractor.history());
            let near = score(&extractor, &job)?;
            job.index += FAR;
            let far = score(&extractor, &job)?;
            let how = format!("as number {} of its clip", job.index);
            same_frame(case, &request, (clip, at), [&near, &far], &how)?;
        }
        Ok(())
    })
}

fn spare_history_ignored(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let extractor = prepare_alone(device, case)?;
        for (at, expected) in expected.iter().enumerate() {
            let job = clip.job(at, MAX_HISTORY as usize);
            let values = score(&extractor, &job)?;
            let how = format!(
                "with {} earlier frames, of which the plan asks for {}",
                job.earlier.len(),
                extractor.history()
            );
            same_frame(case, &request, (clip, at), [expected, &values], &how)?;
        }
        Ok(())
    })
}

fn plan_neighbours_free(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let clip = Clip::new(case.format);
        // Every feature that takes the format, and one other setting of each.
        let mut plan: Vec<(&Feature, FeatureRequest)> = Vec::new();
        for other in &bench.cases {
            let requests = std::iter::once(other.feature.request());
            let taken = requests.chain(other.feature.variations());
            let taken = taken.filter(|request| {
                takes(&bench.device, request, &case.format)
                    && other.feature.columns(&case.format, request).is_some()
            });
            plan.extend(taken.take(2).map(|request| (&other.feature, request)));
        }
        if plan.len() == 1 {
            plan.push((&case.feature, case.feature.request()));
        }
        let mut alone = Vec::new();
        for (_, request) in &plan {
            let extractor = prepare(&bench.device, case, std::slice::from_ref(request))?;
            alone.push(score_clip(&extractor, &clip)?);
        }
        for _ in 0..2 {
            let requests: Vec<_> = plan.iter().map(|(_, request)| request.clone()).collect();
            let together = score_clip(&prepare(&bench.device, case, &requests)?, &clip)?;
            for (at, values) in together.iter().enumerate() {
                let parts = parts(case, &plan, values);
                for (((feature, request), part), alone) in plan.iter().zip(parts).zip(&alone) {
                    let case = Case {
                        feature: (*feature).clone(),
                        format: case.format,
                    };
                    let how = format!("in a plan of {} features", plan.len());
                    same_frame(&case, request, (&clip, at), [&alone[at], part], &how)?;
                }
            }
            plan.reverse();
            alone.reverse();
        }
        Ok(())
    })
}

const THREADS: usize = 4;
/// How often each thread goes through the clip.
const ROUNDS: usize = 3;

fn threads_free(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let extractor = prepare_alone(device, case)?;
        for (values, how) in [
            (
                on_threads(&extractor, clip)?,
                "when four threads score at once",
            ),
            (
                across_threads(&extractor, clip)?,
                "when one thread submits and another collects",
            ),
        ] {
            for (at, values) in values {
                same_frame(case, &request, (clip, at), [&expected[at], &values], how)?;
            }
        }
        Ok(())
    })
}

/// Each thread takes the next frame, scores it and goes on.
fn on_threads(extractor: &Extractor, clip: &Clip) -> Result<Vec<(usize, Vec<Value>)>, ApiError> {
    let order = shuffled(clip.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= ROUNDS * clip.len() {
                return Ok(done);
            }
            let at = order[place % clip.len()];
            done.push((at, score(extractor, &clip.job(at, extractor.history()))?));
        }
    };
    gather(|scope| (0..THREADS).map(|_| scope.spawn(work)).collect())
}

/// Half of the threads submit, the others collect.
fn across_threads(
    extractor: &Extractor,
    clip: &Clip,
) -> Result<Vec<(usize, Vec<Value>)>, ApiError> {
    let waiting = Mutex::new(Vec::new());
    let lock = || {
        waiting
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    };
    gather(|scope| {
        let submit = || {
            for at in shuffled(clip.len()) {
                let ticket = extractor.submit(&clip.job(at, extractor.history()))?;
                lock().push((at, ticket));
            }
            Ok(Vec::new())
        };
        (0..THREADS / 2).map(|_| scope.spawn(submit)).collect()
    })?;
    gather(|scope| {
        let collect = || {
            let mut done = Vec::new();
            loop {
                let Some((at, ticket)) = lock().pop() else {
                    return Ok(done);
                };
                done.push((at, self::collect(extractor, ticket)?));
            }
        };
        (0..THREADS / 2).map(|_| scope.spawn(collect)).collect()
    })
}

type Scored = Result<Vec<(usize, Vec<Value>)>, ApiError>;

/// What several threads give, together.
fn gather<'env>(
    start: impl for<'scope> FnOnce(
        &'scope std::thread::Scope<'scope, 'env>,
    ) -> Vec<std::thread::ScopedJoinHandle<'scope, Scored>>,
) -> Scored {
    std::thread::scope(|scope| {
        let mut all = Vec::new();
        for thread in start(scope) {
            let done = thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.extend(done?);
        }
        Ok(all)
    })
}

fn same_frame_twice(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let separate = clip.with_separate_frames();
        let values = score_clip(&prepare_alone(device, case)?, &separate)?;
        let how = "of two equal frames in place of one";
        same(case, &request, clip, [expected, &values], how)
    })
}

fn chroma_not_read(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    let applies = |case: &Case| case.feature.luma_only && case.format.plane_count() > 1;
    if !bench.cases.iter().any(applies) {
        return skip("no feature of the backend reads luma only");
    }
    bench.each(|case| {
        if !applies(case) {
            return Ok(());
        }
        let clip = Clip::new(case.format);
        let extractor = prepare_alone(&bench.device, case)?;
        let expected = score_clip(&extractor, &clip)?;
        let values = score_clip(&extractor, &clip.with_other_chroma())?;
        let how = "with other chroma, which it says it does not read";
        same(
            case,
            &case.feature.request(),
            &clip,
            [&expected, &values],
            how,
        )
    })
}

fn sizes_and_formats(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let request = case.feature.request();
        for format in grid(&case.feature) {
            if !takes(&bench.device, &request, &format) {
                continue;
            }
            let case = Case {
                format,
                ..case.clone()
            };
            let clip = Clip::new(format);
            let extractor = prepare_alone(&bench.device, &case)?;
            let values = score_clip(&extractor, &clip)?;
            finite(&case, &request, &clip, &values)?;
            let again = score_clip(&prepare_alone(&bench.device, &case)?, &clip)?;
            same(&case, &request, &clip, [&values, &again], "on another plan")?;
        }
        Ok(())
    })
}
