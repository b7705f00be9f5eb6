//! Frames that are lent: read, not written, and given back.

use crate::candidate::Candidate;
use crate::check::{Check, Verdict, ensure};
use crate::clip::Clip;
use crate::feature::Bench;
use crate::scoring::{prepare_alone, score_clip};

pub(super) static CHECKS: [Check; 2] = [
    Check::required(
        "frames-unchanged",
        "No sample of a frame is changed.",
        frames_unchanged,
    ),
    Check::required(
        "frames-given-back",
        "Once a plan is dropped nobody holds its frames, whether its jobs were collected or not.",
        frames_given_back,
    ),
];

fn frames_unchanged(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let clip = Clip::new(case.format);
        let extractor = prepare_alone(&bench.device, case)?;
        score_clip(&extractor, &clip)?;
        drop(extractor);
        clip.unchanged()?;
        Ok(())
    })
}

fn frames_given_back(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        for collected in [true, false] {
            let clip = Clip::new(case.format);
            let extractor = prepare_alone(&bench.device, case)?;
            if collected {
                score_clip(&extractor, &clip)?;
            } else {
                for at in 0..clip.len() {
                    extractor.submit(&clip.job(at, extractor.history()))?;
                }
            }
            drop(extractor);
            let held = clip.still_held();
            ensure(held.is_none(), || {
                let (at, times) = held.unwrap_or_default();
                let jobs = if collected {
                    "collected"
                } else {
                    "left uncollected"
                };
                format!(
                    "{case}: a frame of pair {at} is still held {times} times after the plan was \
                     dropped, whose jobs were {jobs}; call `release` once for every `retain`"
                )
            })?;
        }
        Ok(())
    })
}
