//! Jobs and their tickets.

use vmafx_api::Ticket;

use crate::candidate::Candidate;
use crate::check::{Check, Verdict, ensure, fail, refusal};
use crate::scoring::{collect, each_clip, prepare_alone, same, same_frame, score_clip, shuffled};

pub(super) static CHECKS: [Check; 5] = [
    Check::required(
        "many-in-flight",
        "More jobs than the plan asks for can be under way before the first is collected, each \
         with a ticket of its own.",
        many_in_flight,
    ),
    Check::required(
        "collect-order-free",
        "Jobs can be collected in any order.",
        collect_order_free,
    ),
    Check::required(
        "collected-once",
        "A ticket that was collected is refused.",
        collected_once,
    ),
    Check::required(
        "unknown-ticket-refused",
        "A ticket of no job is refused.",
        unknown_ticket_refused,
    ),
    Check::required(
        "dropped-uncollected",
        "A plan can be dropped with jobs that nobody collected, and the device works on.",
        dropped_uncollected,
    ),
];

fn many_in_flight(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let extractor = prepare_alone(device, case)?;
        let count = (2 * extractor.in_flight()).clamp(8, 64);
        let mut tickets: Vec<Ticket> = Vec::new();
        for job in 0..count {
            let at = job % clip.len();
            match extractor.submit(&clip.job(at, extractor.history())) {
                Ok(ticket) if tickets.contains(&ticket) => {
                    return fail(format!(
                        "{case}: job {job} has the ticket {} of a job that is under way; a ticket \
                         names one job",
                        ticket.0
                    ));
                }
                Ok(ticket) => tickets.push(ticket),
                Err(error) => {
                    return fail(format!(
                        "{case}: job {job} is refused while {} are under way: {error}; take as \
                         many as the host has memory for, at least {count}",
                        tickets.len()
                    ));
                }
            }
        }
        let request = case.feature.request();
        let how = format!("with {count} jobs under way");
        for (job, ticket) in tickets.into_iter().enumerate() {
            let at = job % clip.len();
            let values = collect(&extractor, ticket)?;
            same_frame(case, &request, (clip, at), [&expected[at], &values], &how)?;
        }
        Ok(())
    })
}

fn collect_order_free(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let request = case.feature.request();
        let backwards: Vec<_> = (0..clip.len()).rev().collect();
        for (order, how) in [
            (backwards, "when jobs are collected backwards"),
            (
                shuffled(clip.len()),
                "when jobs are collected in another order",
            ),
        ] {
            let extractor = prepare_alone(device, case)?;
            let submit = |at| extractor.submit(&clip.job(at, extractor.history()));
            let tickets = (0..clip.len()).map(submit).collect::<Result<Vec<_>, _>>()?;
            let mut values = vec![Vec::new(); clip.len()];
            for at in order {
                values[at] = collect(&extractor, tickets[at])?;
            }
            same(case, &request, clip, [expected, &values], how)?;
        }
        Ok(())
    })
}

fn collected_once(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let extractor = prepare_alone(device, case)?;
        let ticket = extractor.submit(&clip.job(0, extractor.history()))?;
        collect(&extractor, ticket)?;
        let what = format!("{case}: ticket {}, which was collected before,", ticket.0);
        refusal(&what, collect(&extractor, ticket))?;
        let values = score_clip(&extractor, clip)?;
        let how = "after a ticket was collected twice";
        same(
            case,
            &case.feature.request(),
            clip,
            [expected, &values],
            how,
        )
    })
}

fn unknown_ticket_refused(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        let extractor = prepare_alone(device, case)?;
        let ticket = extractor.submit(&clip.job(0, extractor.history()))?;
        for unknown in [!ticket.0, ticket.0 ^ 1 << 31] {
            let what = format!("{case}: ticket {unknown}, which is of no job,");
            refusal(&what, collect(&extractor, Ticket(unknown)))?;
        }
        let values = collect(&extractor, ticket)?;
        ensure(values == expected[0], || {
            format!("{case}: a job has other values after an unknown ticket was refused")
        })
    })
}

fn dropped_uncollected(candidate: &Candidate) -> Verdict {
    each_clip(candidate, |device, case, clip, expected| {
        for _ in 0..3 {
            let extractor = prepare_alone(device, case)?;
            for at in 0..clip.len() {
                extractor.submit(&clip.job(at, extractor.history()))?;
            }
        }
        let values = score_clip(&prepare_alone(device, case)?, clip)?;
        let how = "after plans were dropped with jobs under way";
        same(
            case,
            &case.feature.request(),
            clip,
            [expected, &values],
            how,
        )
    })
}
