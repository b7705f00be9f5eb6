//! What a device says it can compute, and what it must say no to.

use vmafx_api::{
    FeatureRequest, FrameFormat, MemoryKind, OptionSetting, OptionValue, PlanRequest, Status,
};

use super::description::described;
use crate::candidate::Candidate;
use crate::check::{Check, Ending, Verdict, ensure, fail, refusal, refusal_as, skip};
use crate::clip::Clip;
use crate::feature::{Bench, Case, Feature, grid, takes};
use crate::scoring::prepare;

pub(super) static CHECKS: [Check; 7] = [
    Check::required(
        "own-features-known",
        "The device knows every feature that the backend describes.",
        own_features_known,
    ),
    Check::required(
        "unknown-feature-refused",
        "A feature that nobody has is refused as not found.",
        unknown_feature_refused,
    ),
    Check::required(
        "unknown-option-refused",
        "An option that the feature does not have is refused.",
        unknown_option_refused,
    ),
    Check::required(
        "option-range-refused",
        "An option outside its range, or of another kind, is refused.",
        option_range_refused,
    ),
    Check::required(
        "small-frames-refused",
        "Frames smaller than the feature's smallest are refused.",
        small_frames_refused,
    ),
    Check::required(
        "support-holds",
        "What is supported is made ready, and host frames are admitted where host memory is \
         among the kinds.",
        support_holds,
    ),
    Check::required(
        "prepare-refuses-alike",
        "A plan with a feature that is not supported is refused.",
        prepare_refuses_alike,
    ),
];

fn own_features_known(candidate: &Candidate) -> Verdict {
    let described = described(candidate)?;
    let device = candidate.open()?;
    for description in described {
        let feature = Feature::described(description);
        let mut last = None;
        let known = grid(&feature).any(|format| {
            let answer = device.supports(&feature.request(), &format);
            let known = answer
                .as_ref()
                .err()
                .is_none_or(|error| error.status != Status::NOT_FOUND);
            last = answer.err().or(last.take());
            known
        });
        ensure(known, || {
            format!(
                "the backend describes `{}`, and its device does not know it at any format: {}; \
                 compute it or do not describe it",
                feature.name,
                last.map(|error| error.to_string()).unwrap_or_default()
            )
        })?;
    }
    Ok(())
}

fn format_of(width: u32, height: u32, like: &FrameFormat) -> Option<FrameFormat> {
    FrameFormat::new(width, height, like.chroma(), like.depth()).ok()
}

fn unknown_feature_refused(candidate: &Candidate) -> Verdict {
    let device = candidate.open()?;
    let format = FrameFormat::new(640, 360, vmafx_api::Chroma::Yuv420, 8);
    let format = format.or_else(|error| fail(error.to_string()))?;
    for name in ["no_such_feature", ""] {
        let request = FeatureRequest {
            feature: name.to_owned(),
            options: Vec::new(),
            definition: 0,
        };
        let what = format!("feature `{name}`");
        refusal_as(Status::NOT_FOUND, &what, device.supports(&request, &format))?;
    }
    Ok(())
}

/// Requests that name an option that the feature does not have, by case.
fn with_unknown_option(case: &Case) -> FeatureRequest {
    let mut request = case.feature.request();
    let setting = OptionSetting::new("no_such_option", OptionValue::Bool(true));
    request.options.push(setting);
    request
}

fn unknown_option_refused(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let what = format!("{case}: option `no_such_option`");
        let answer = bench
            .device
            .supports(&with_unknown_option(case), &case.format);
        refusal(&what, answer)?;
        Ok(())
    })
}

fn option_range_refused(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    if bench
        .cases
        .iter()
        .all(|case| case.feature.options.is_empty())
    {
        return skip("no feature of the backend has options");
    }
    bench.each(|case| {
        for option in &case.feature.options {
            for (value, wrong) in option.impossible() {
                let request = case.feature.request_with(&option.name, value);
                let what = format!("{case}: option `{}`, where {wrong},", option.name);
                refusal(&what, bench.device.supports(&request, &case.format))?;
            }
        }
        Ok(())
    })
}

/// Formats that are one sample too small, if a frame can be.
fn too_small(case: &Case) -> Vec<FrameFormat> {
    let (width, height) = case.feature.min_size;
    let sizes = [
        (width.saturating_sub(1), height),
        (width, height.saturating_sub(1)),
    ];
    let formats = sizes.into_iter();
    formats
        .filter_map(|(width, height)| format_of(width, height, &case.format))
        .collect()
}

fn small_frames_refused(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    if bench.cases.iter().all(|case| too_small(case).is_empty()) {
        return skip("every feature of the backend takes frames of any size");
    }
    bench.each(|case| {
        let (width, height) = case.feature.min_size;
        for format in too_small(case) {
            let what = format!(
                "`{}` at {format}, which is smaller than its {width}x{height},",
                case.feature.name
            );
            let answer = bench.device.supports(&case.feature.request(), &format);
            refusal(&what, answer)?;
        }
        Ok(())
    })
}

fn support_holds(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let request = case.feature.request();
        for format in grid(&case.feature) {
            let case = Case {
                format,
                ..case.clone()
            };
            let Ok(support) = bench.device.supports(&request, &format) else {
                continue;
            };
            let (kinds, of_device) = (support.memory_kinds, bench.device.info().memory_kinds);
            ensure(kinds.0 != 0 && of_device.includes(kinds), || {
                format!(
                    "{case} is read in {kinds}, of a device that reads {of_device}; a feature \
                     reads some of what its device does"
                )
            })?;
            let extractor = prepare(&bench.device, &case, std::slice::from_ref(&request))?;
            if !kinds.contains(MemoryKind::HOST) {
                continue;
            }
            let pair = Clip::new(format).job(0, 0).pair;
            if let Err(error) = extractor.admits(&pair.reference) {
                return fail(format!(
                    "{case} reads host memory, and does not admit a frame there: {error}"
                ));
            }
        }
        for request in case.feature.variations() {
            // Options that exclude one another may be refused; what is not, has to be made ready.
            if takes(&bench.device, &request, &case.format) {
                prepare(&bench.device, case, &[request])?;
            }
        }
        Ok(())
    })
}

fn prepare_refuses_alike(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    let refused = |what: &str, format: FrameFormat, requests: &[FeatureRequest]| {
        let answer = bench.device.prepare(&PlanRequest::new(format, requests));
        refusal(what, answer)?;
        Ok::<_, Ending>(())
    };
    bench.each(|case| {
        let good = case.feature.request();
        let unknown = FeatureRequest {
            feature: "no_such_feature".to_owned(),
            options: Vec::new(),
            definition: 0,
        };
        let plan = [good.clone(), unknown];
        let what = format!("a plan of {case} and of `no_such_feature`");
        refused(&what, case.format, &plan)?;
        let plan = [good.clone(), with_unknown_option(case)];
        let what = format!("a plan of {case} with option `no_such_option`");
        refused(&what, case.format, &plan)?;
        for format in too_small(case) {
            let what = format!("a plan of `{}` at {format}", case.feature.name);
            refused(&what, format, std::slice::from_ref(&good))?;
        }
        let Some(option) = case.feature.options.first() else {
            return Ok(());
        };
        for (value, wrong) in option.impossible() {
            let request = case.feature.request_with(&option.name, value);
            let what = format!("a plan of {case} with `{}`, where {wrong},", option.name);
            refused(&what, case.format, &[request])?;
        }
        Ok(())
    })
}
