//! `vmafx score`: from two videos to a report.

use std::ffi::OsStr;
use std::path::Path;

use vmafx_engine::{Context, Input, Warning};
use vmafx_models::{Origin, catalog};

use crate::args::ScoreArgs;
use crate::destination::{RunInput, note};
use crate::failure::{Class, Failure, one_line};
use crate::inputs::{Pair, Reading};
use crate::plan::{self, Plan};
use crate::progress::Progress;
use crate::report::Results;
use crate::stream::Stream;

/// The files that the run reads.
fn inputs<'a>(videos: [&'a OsStr; 2], plan: &'a Plan) -> Vec<RunInput<'a>> {
    let [reference, distorted] = videos.map(Path::new);
    let mut inputs = vec![
        RunInput {
            path: reference,
            what: "the reference video",
        },
        RunInput {
            path: distorted,
            what: "the distorted video",
        },
    ];
    for spec in &plan.request.models {
        if let Origin::File(path) = spec.model.origin() {
            inputs.push(RunInput {
                path,
                what: "a model of this run",
            });
        }
    }
    inputs
}

/// Scores one video against the other.
///
/// # Errors
/// Whatever keeps the whole of the videos from being scored; see [`crate::failure::Class`].
pub(crate) fn score(args: &ScoreArgs) -> Result<(), Failure> {
    let videos = args.videos()?;
    let mut plan = Plan::new(args)?;
    let results = Results::open(args, &inputs(videos, &plan))?;
    let most = args.frame_cnt.filter(|&frames| frames > 0).map(u64::from);
    let mut pair = Pair::open(args, videos, most, plan.request.reads_chroma())?;

    plan.request.inputs = pair.records();
    plan.request.clip_format = Some(pair.clip_format());
    let context = Context::with_backends(pair.format(), plan.request.clone(), &plan.backends);
    let mut context = context.map_err(plan::engine)?;
    for text in args.note.iter().chain(&plan.notes).chain(&pair.notes) {
        context.warn(Warning::Note(text.clone()));
    }
    for warning in std::mem::take(&mut plan.warnings) {
        context.warn(warning);
    }
    if !args.quiet {
        note(&opening(args, &plan, &pair, &context, most));
    }
    let told = context.warnings().len();

    let stream = results.stream()?;
    let progress = Progress::new(pair.frames(most), args.quiet);
    let (lines, bar) = (stream.clone(), progress.clone());
    let observed = context.on_frame(move |scores| {
        if let Some(lines) = &lines {
            lines.send(scores);
        }
        bar.scored(scores.frame() + 1);
    });
    observed.map_err(plan::engine)?;
    let ended = feed(&mut context, &mut pair, most, stream.as_ref());
    // The bar goes before any message comes.
    progress.end();
    let ended = match ended {
        Ok(ended) => ended,
        Err(failure) => return Err(first_failure(&context, stream.as_ref(), failure)),
    };
    if context.submitted() == 0 {
        return Err(nothing_left(args, &pair, ended));
    }
    if let Some(input) = ended {
        context.ended_early(input);
    }
    let outcome = context.finish();
    if let Some(stream) = &stream {
        stream.check()?;
    }
    let outcome = outcome.map_err(plan::engine)?;
    if !args.quiet {
        for warning in &outcome.warnings()[told..] {
            note(&warning_line(warning));
        }
    }
    results.deliver(&outcome, &plan, args)?;
    match ended {
        Some(input) if !args.allow_unequal => {
            Err(unequal(&pair, input, outcome.provenance().frames.read))
        }
        _ => Ok(()),
    }
}

/// Reads and submits frames until the end or until `most`. Answers which video ended alone.
fn feed(
    context: &mut Context,
    pair: &mut Pair,
    most: Option<u64>,
    stream: Option<&Stream>,
) -> Result<Option<Input>, Failure> {
    while most.is_none_or(|most| context.submitted() < most) {
        // A frame is read only when there is room for it.
        context.ready();
        match pair.read()? {
            Reading::Frames(reference, distorted) => {
                context.submit(reference, distorted).map_err(plan::engine)?;
            }
            Reading::End => return Ok(None),
            Reading::OneEnded(input) => return Ok(Some(input)),
        }
        if let Some(stream) = stream {
            stream.check()?;
        }
    }
    Ok(None)
}

/// Which failure to tell when `failure` ended the feeding. Frames submitted before are still in
/// work: what fails there comes first, however fast the reader was. The stream stops where the
/// engine fails, so a line that could not be written comes before that.
fn first_failure(context: &Context, stream: Option<&Stream>, failure: Failure) -> Failure {
    let settled = context.settle().map_err(plan::engine);
    let written = stream.map_or(Ok(()), Stream::check);
    written.and(settled).err().unwrap_or(failure)
}

/// What a user should see before the work starts: what the videos were taken for, what the
/// models assume, and what looks wrong.
fn opening(
    args: &ScoreArgs,
    plan: &Plan,
    pair: &Pair,
    context: &Context,
    most: Option<u64>,
) -> String {
    let mut text = String::new();
    let mut line = |parts: String| {
        text.push_str(&one_line(&parts));
        text.push('\n');
    };
    for (role, info) in ["reference", "distorted"].into_iter().zip(pair.describe()) {
        let frames = match info.frames {
            Some(frames) => format!(", {frames} frames"),
            None => String::new(),
        };
        line(format!("{role}: {}: {}{frames}", info.name, info.assumed()));
    }
    for (model, record) in plan.request.models.iter().zip(context.models()) {
        let viewing = catalog::viewing(&record.model, model.scoring.enable_transform);
        let assumes = viewing.map_or(String::new(), |viewing| format!(", made for {viewing}"));
        line(format!(
            "model {}: {} ({}){assumes}",
            record.name, record.model, record.source
        ));
    }
    if let Some([reference, distorted]) = pair.uneven(most) {
        let frames = reference.min(distorted);
        let consequence = match args.allow_unequal {
            true => "",
            false => ", and the run will count as failed without --allow-unequal",
        };
        line(format!(
            "vmafx: warning[length]: {reference} frames of the reference meet {distorted} of the \
             distorted video: {frames} will be scored{consequence}"
        ));
    }
    for warning in context.warnings() {
        text.push_str(&warning_line(warning));
    }
    text
}

fn warning_line(warning: &Warning) -> String {
    format!(
        "vmafx: warning[{}]: {}\n",
        warning.code(),
        one_line(&warning.to_string())
    )
}

/// The failure of a run over videos of different length.
fn unequal(pair: &Pair, ended: Input, frames: u64) -> Failure {
    let [reference, distorted] = pair.describe();
    let (short, long) = match ended {
        Input::Reference => (reference, distorted),
        Input::Distorted => (distorted, reference),
    };
    let scored = if frames == 1 {
        "1 frame was"
    } else {
        &format!("{frames} frames were")
    };
    Failure::new(
        Class::Input,
        format!(
            "\"{}\" ended before \"{}\": {scored} scored, which is not the whole; \
             --allow-unequal or --frame_cnt {frames} accepts that",
            short.name, long.name
        ),
    )
}

/// The failure of a run in which skipping left no frame.
fn nothing_left(args: &ScoreArgs, pair: &Pair, ended: Option<Input>) -> Failure {
    let [reference, distorted] = pair.describe();
    let (video, skipped) = match ended {
        Some(Input::Distorted) => (distorted, args.frame_skip_dist),
        _ => (reference, args.frame_skip_ref),
    };
    let text = format!(
        "no frames in {} behind the {skipped} that were skipped",
        video.name
    );
    Failure::new(Class::Input, text)
}
