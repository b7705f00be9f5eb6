//! Jobs through an extractor, and what is compared afterwards.

use vmafx_api::{
    ApiError, Device, Extractor, FeatureRequest, FrameJob, PlanRequest, Ticket, Value,
};

use crate::candidate::Candidate;
use crate::check::{Ending, Verdict, fail};
use crate::clip::Clip;
use crate::feature::{Bench, Case, Feature};

/// A plan over frames of the case's format.
pub(crate) fn prepare(
    device: &Device,
    case: &Case,
    requests: &[FeatureRequest],
) -> Result<Extractor, Ending> {
    let plan = PlanRequest::new(case.format, requests);
    device.prepare(&plan).or_else(|error| {
        fail(format!(
            "{case} is supported, and then not made ready: {error}"
        ))
    })
}

/// Runs `body` for each feature with a clip and its values, one frame after another.
pub(crate) fn each_clip(
    candidate: &Candidate,
    body: impl Fn(&Device, &Case, &Clip, &[Vec<Value>]) -> Verdict,
) -> Verdict {
    let bench = Bench::open(candidate)?;
    bench.each(|case| {
        let clip = Clip::new(case.format);
        let values = score_clip(&prepare_alone(&bench.device, case)?, &clip)?;
        body(&bench.device, case, &clip, &values)
    })
}

/// The case's feature alone, every option at its default.
pub(crate) fn prepare_alone(device: &Device, case: &Case) -> Result<Extractor, Ending> {
    prepare(device, case, &[case.feature.request()])
}

pub(crate) fn collect(extractor: &Extractor, ticket: Ticket) -> Result<Vec<Value>, ApiError> {
    let mut values = vec![Value::default(); extractor.columns()];
    extractor.collect(ticket, &mut values)?;
    Ok(values)
}

pub(crate) fn score(extractor: &Extractor, job: &FrameJob) -> Result<Vec<Value>, ApiError> {
    collect(extractor, extractor.submit(job)?)
}

/// The values of the frames of `clip` that are scored in the order given; in the clip's order.
pub(crate) fn score_as(
    extractor: &Extractor,
    clip: &Clip,
    order: &[usize],
) -> Result<Vec<Vec<Value>>, ApiError> {
    let mut values = vec![Vec::new(); clip.len()];
    for &at in order {
        values[at] = score(extractor, &clip.job(at, extractor.history()))?;
    }
    Ok(values)
}

/// The values of every frame of `clip`, one after another.
pub(crate) fn score_clip(extractor: &Extractor, clip: &Clip) -> Result<Vec<Vec<Value>>, ApiError> {
    score_as(extractor, clip, &(0..clip.len()).collect::<Vec<_>>())
}

/// Numbers from 0 in an order without pattern that is always the same.
pub(crate) fn shuffled(count: usize) -> Vec<usize> {
    // Steps of a number that has no factor in common with the count go through all of them.
    let step = [5, 7, 11, 13]
        .into_iter()
        .find(|&step| !count.is_multiple_of(step));
    let step = step.unwrap_or(1);
    (0..count)
        .map(|at| (at * step + count / 2) % count)
        .collect()
}

/// Fails if two runs of one clip gave different values; `how` says what was different in the
/// second.
pub(crate) fn same(
    case: &Case,
    request: &FeatureRequest,
    clip: &Clip,
    [first, second]: [&[Vec<Value>]; 2],
    how: &str,
) -> Verdict {
    for (at, (first, second)) in first.iter().zip(second).enumerate() {
        if first.is_empty() || second.is_empty() {
            continue;
        }
        same_frame(case, request, (clip, at), [first, second], how)?;
    }
    Ok(())
}

/// As [`same`], of frame `at`.
pub(crate) fn same_frame(
    case: &Case,
    request: &FeatureRequest,
    (clip, at): (&Clip, usize),
    [first, second]: [&[Value]; 2],
    how: &str,
) -> Verdict {
    let columns = first.len().max(second.len());
    let different = (0..columns).find(|&column| first.get(column) != second.get(column));
    let Some(column) = different else {
        return Ok(());
    };
    let columns = case
        .feature
        .columns(&case.format, request)
        .unwrap_or_default();
    let (name, is_score) = columns
        .get(column)
        .cloned()
        .unwrap_or_else(|| (format!("value {column}"), true));
    let told = |values: &[Value]| {
        values
            .get(column)
            .map_or("absent".to_owned(), |value| match is_score {
                true => format!("{} ({:#018x})", value.as_score(), value.as_count()),
                false => value.as_count().to_string(),
            })
    };
    fail(format!(
        "{case}, frame {at} ({}): `{name}` is {} {how}, not {}; every bit must be equal",
        clip.kind(at),
        told(second),
        told(first)
    ))
}

/// Fails if a score is not a finite number.
pub(crate) fn finite(
    case: &Case,
    request: &FeatureRequest,
    clip: &Clip,
    frames: &[Vec<Value>],
) -> Verdict {
    let columns = case
        .feature
        .columns(&case.format, request)
        .unwrap_or_default();
    for (at, values) in frames.iter().enumerate() {
        for ((name, is_score), value) in columns.iter().zip(values) {
            if !is_score || value.as_score().is_finite() {
                continue;
            }
            // The host makes every value NaN before it asks, so this is one that nobody wrote, too.
            return fail(format!(
                "{case}, frame {at} ({}): `{name}` is {}; a score is a finite number, of any frame",
                clip.kind(at),
                value.as_score()
            ));
        }
    }
    Ok(())
}

/// A plan of several requests: the part of its values that belongs to each.
pub(crate) fn parts<'a>(
    case: &Case,
    requests: &[(&Feature, FeatureRequest)],
    values: &'a [Value],
) -> Vec<&'a [Value]> {
    let mut rest = values;
    let parts = requests.iter().map(|(feature, request)| {
        let columns = feature.columns(&case.format, request);
        let count = columns.map_or(0, |columns| columns.len()).min(rest.len());
        let (part, behind) = rest.split_at(count);
        rest = behind;
        part
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_keeps_every_number() {
        for count in 1..40 {
            let mut order = shuffled(count);
            if count > 3 {
                assert!(!order.is_sorted(), "{order:?}");
            }
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
