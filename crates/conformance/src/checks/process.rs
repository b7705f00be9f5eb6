//! The process: what a plugin must leave as it found it.

use std::time::Duration;

use vmafx_api::FloatEnvironment;

use crate::candidate::Candidate;
use crate::check::{Check, Ending, Verdict, ensure, fail, skip};
use crate::clip::Clip;
use crate::feature::Bench;
use crate::process::ProcessState;
use crate::scoring::{prepare_alone, score_clip};

pub(super) static CHECKS: [Check; 3] = [
    Check::required(
        "float-environment",
        "No function changes the floating-point environment of the thread that calls it.",
        float_environment,
    ),
    Check::required(
        "process-untouched",
        "Locale, working directory, environment, file mode mask and signals are as before the \
         plugin was opened.",
        process_untouched,
    ),
    Check::advised(
        "threads-ended",
        "After `quiesce`, called twice, no thread of the plugin is left.",
        threads_ended,
    ),
];

/// Makes a call, and fails if it changes the floating-point environment.
fn watch<T>(function: &str, call: impl FnOnce() -> Result<T, Ending>) -> Result<T, Ending> {
    let before = FloatEnvironment::current();
    let answer = call();
    let after = FloatEnvironment::current();
    if after != before {
        before.restore();
        return fail(format!(
            "`{function}` changes the floating-point environment of the thread that calls it, \
             from {before:?} to {after:?}; restore it before returning"
        ));
    }
    // Of a loaded library the host's side of the table sees it first.
    let seen = |ending: &Ending| matches!(ending, Ending::Failed(text) if text.contains("floating-point environment"));
    match answer {
        Err(ending) if seen(&ending) => fail(format!(
            "`{function}` changes the floating-point environment of the thread that calls it; \
             restore it before returning"
        )),
        answer => answer,
    }
}

fn float_environment(candidate: &Candidate) -> Verdict {
    watch("device_count` or `device_info", || candidate.devices())?;
    let device = watch("device_open", || candidate.open())?;
    watch("device_close", || {
        drop(device);
        Ok(())
    })?;
    let bench = watch("device_supports", || Bench::open(candidate))?;
    bench.each(|case| {
        let clip = Clip::new(case.format);
        let extractor = watch("device_prepare", || prepare_alone(&bench.device, case))?;
        watch("extractor_admits", || {
            Ok(extractor.admits(&clip.pair(0).reference)?)
        })?;
        for at in 0..clip.len() {
            let job = clip.job(at, extractor.history());
            let ticket = watch("extractor_submit", || Ok(extractor.submit(&job)?))?;
            watch("extractor_collect", || {
                Ok(crate::scoring::collect(&extractor, ticket)?)
            })?;
        }
        watch("extractor_destroy", || {
            drop(extractor);
            Ok(())
        })?;
        Ok(())
    })
}

fn process_untouched(candidate: &Candidate) -> Verdict {
    match Bench::open(candidate) {
        Ok(bench) => {
            for case in &bench.cases {
                let extractor = prepare_alone(&bench.device, case)?;
                score_clip(&extractor, &Clip::new(case.format))?;
            }
        }
        // Without a device there is still what opening the library and listing did.
        Err(Ending::Skipped(_)) => {}
        Err(failed) => return Err(failed),
    }
    let changes = candidate.before.changes(&ProcessState::current());
    ensure(changes.is_empty(), || {
        format!(
            "{}; a plugin leaves the process as it finds it",
            changes.join("; ")
        )
    })
}

/// How long a thread may take to be gone after it was joined: the kernel counts it a moment
/// longer.
const GONE_WITHIN: Duration = Duration::from_millis(500);

fn threads_ended(candidate: &Candidate) -> Verdict {
    let Some(quiesce) = &candidate.quiesce else {
        return skip("a backend that is linked in is told by its program when the process ends");
    };
    let Some(before) = candidate.before.threads() else {
        return skip("the system does not tell how many threads there are");
    };
    quiesce();
    quiesce();
    const PAUSE: Duration = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        let now = ProcessState::current().threads().unwrap_or(before);
        if now <= before {
            return Ok(());
        }
        if waited >= GONE_WITHIN {
            return fail(format!(
                "the process had {before} threads before the plugin was opened, and has {now} \
                 after `quiesce`; join every thread there"
            ));
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
