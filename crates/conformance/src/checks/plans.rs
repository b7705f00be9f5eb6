//! Plans: their figures, and that they do not disturb one another.

use vmafx_api::wire::MAX_HISTORY;

use crate::candidate::Candidate;
use crate::check::{Check, Verdict, ensure, fail};
use crate::clip::Clip;
use crate::feature::{Bench, Origin};
use crate::scoring::{collect, prepare, prepare_alone, same, same_frame, score, score_clip};

/// Frames of a plan that a host keeps alive at once without being asked why.
const MOST_IN_FLIGHT: usize = 256;

pub(super) static CHECKS: [Check; 2] = [
    Check::required(
        "plan-figures",
        "A plan has the columns of its features, and asks for no more earlier frames, jobs in \
         flight and memory than there can be.",
        plan_figures,
    ),
    Check::required(
        "plans-apart",
        "Two plans of one device do not disturb one another, and one outlives the other.",
        plans_apart,
    ),
];

fn plan_figures(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let mut requests = vec![case.feature.request()];
        requests.extend(case.feature.variations());
        for request in requests {
            if bench.device.supports(&request, &case.format).is_err() {
                continue;
            }
            let Some(columns) = case.feature.columns(&case.format, &request) else {
                // `definition-limits-kept` tells of a request that the definition refuses.
                continue;
            };
            let extractor = prepare(&bench.device, case, std::slice::from_ref(&request))?;
            let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
            ensure(extractor.columns() == columns.len(), || {
                format!(
                    "{case} has {} values a frame, its definition {} ({}), with {:?}",
                    extractor.columns(),
                    columns.len(),
                    names.join(", "),
                    request.options
                )
            })?;
            ensure(extractor.history() <= MAX_HISTORY as usize, || {
                format!(
                    "{case} asks for {} earlier frames; the most are {MAX_HISTORY}",
                    extractor.history()
                )
            })?;
            ensure(extractor.in_flight() <= MOST_IN_FLIGHT, || {
                format!(
                    "{case} asks for {} jobs in flight, whose frames the host keeps; at most \
                     {MOST_IN_FLIGHT} keep any device busy",
                    extractor.in_flight()
                )
            })?;
            let (needs, has) = (extractor.memory_bytes(), bench.device.info().total_memory);
            ensure(has == 0 || needs <= has, || {
                format!("{case} holds {needs} bytes of a device that has {has}; count them again")
            })?;
            if let Origin::Program(metric) = &case.feature.origin {
                let options = vmafx_metrics::Options::from_request(metric.definition(), &request);
                let needed = options.map(|options| metric.history(&options)).unwrap_or(0);
                ensure(extractor.history() >= needed, || {
                    format!(
                        "{case} asks for {} earlier frames; its definition reads {needed}",
                        extractor.history()
                    )
                })?;
            }
        }
        Ok(())
    })
}

fn plans_apart(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let request = case.feature.request();
        let clip = Clip::new(case.format);
        let expected = score_clip(&prepare_alone(&bench.device, case)?, &clip)?;
        let (first, second) = (
            prepare_alone(&bench.device, case)?,
            prepare_alone(&bench.device, case)?,
        );
        let how = "beside another plan of the device";
        for at in 0..clip.len() {
            // The other plan is at another frame, and has its job under way.
            let other = clip.len() - 1 - at;
            let under_way = second.submit(&clip.job(other, second.history()))?;
            let values = score(&first, &clip.job(at, first.history()))?;
            same_frame(case, &request, (&clip, at), [&expected[at], &values], how)?;
            let values = collect(&second, under_way)?;
            same_frame(
                case,
                &request,
                (&clip, other),
                [&expected[other], &values],
                how,
            )?;
        }
        drop(first);
        let values = match score_clip(&second, &clip) {
            Ok(values) => values,
            Err(error) => {
                return fail(format!(
                    "{case}: a plan fails after another plan of its device was dropped: {error}"
                ));
            }
        };
        let how = "after another plan of the device was dropped";
        same(case, &request, &clip, [&expected, &values], how)?;
        Ok(())
    })
}
