//! What a backend says of itself, before a device is opened.

use vmafx_api::loader::Reason;
use vmafx_api::{FeatureDescription, MAX_DIMENSION};

use crate::candidate::Candidate;
use crate::check::{Check, Ending, Verdict, ensure, fail, skip};

pub(super) static CHECKS: [Check; 5] = [
    Check::required(
        "version-semantic",
        "The backend's version is a semantic version, and its name one line for people.",
        version_semantic,
    ),
    Check::required(
        "own-feature-names",
        "The features and scores that the backend describes have names of their own, none of \
         those of this program.",
        own_feature_names,
    ),
    Check::required(
        "features-documented",
        "Every described feature has a summary and a source, and every option a help text.",
        features_documented,
    ),
    Check::required(
        "smallest-sizes-possible",
        "The smallest frame of every described feature is one that can exist.",
        smallest_sizes_possible,
    ),
    Check::required(
        "manifest-agrees",
        "The manifest says of the plugin what the library says of itself.",
        manifest_agrees,
    ),
];

fn version_semantic(candidate: &Candidate) -> Verdict {
    let info = candidate.backend.info();
    if let Err(error) = semver::Version::parse(&info.version) {
        return fail(format!(
            "the version of `{}` is `{}`, which is no semantic version ({error}); write it as 1.2.3",
            info.id, info.version
        ));
    }
    one_line("the name of the backend", &info.name)
}

/// Whether a text for lists is one line that says something.
fn one_line(what: &str, text: &str) -> Verdict {
    let control = text.chars().any(char::is_control);
    ensure(!text.trim().is_empty() && !control, || {
        format!("{what} is `{text}`; it is one line that is not empty")
    })
}

/// The features that the backend describes.
///
/// # Errors
/// There are none.
pub(super) fn described(candidate: &Candidate) -> Result<&[FeatureDescription], Ending> {
    match candidate.backend.info().features.as_slice() {
        [] => skip("the backend describes no feature of its own"),
        features => Ok(features),
    }
}

fn own_feature_names(candidate: &Candidate) -> Verdict {
    let metrics = vmafx_metrics::all();
    for feature in described(candidate)? {
        if vmafx_metrics::find(&feature.name).is_some() {
            return fail(format!(
                "feature `{}` is one of this program's; serve it without describing it, or give \
                 yours another name",
                feature.name
            ));
        }
        for output in &feature.outputs {
            let taken = metrics.iter().find(|metric| {
                let definition = metric.definition();
                let mut outputs = definition.outputs.iter();
                outputs.any(|known| known.name == output || known.internal == output)
                    || definition.aggregates.contains(&output.as_str())
            });
            if let Some(metric) = taken {
                return fail(format!(
                    "score `{output}` of feature `{}` is one of `{}` of this program; give it \
                     another name",
                    feature.name,
                    metric.definition().name
                ));
            }
        }
    }
    Ok(())
}

fn features_documented(candidate: &Candidate) -> Verdict {
    for feature in described(candidate)? {
        let name = &feature.name;
        one_line(
            &format!("the summary of feature `{name}`"),
            &feature.summary,
        )?;
        one_line(&format!("the source of feature `{name}`"), &feature.source)?;
        for option in &feature.options {
            let what = format!("the help text of `{name}.{}`", option.name);
            one_line(&what, &option.help)?;
        }
    }
    Ok(())
}

fn smallest_sizes_possible(candidate: &Candidate) -> Verdict {
    for feature in described(candidate)? {
        let (width, height) = feature.min_size;
        let possible = |side| (1..=MAX_DIMENSION).contains(&side);
        ensure(possible(width) && possible(height), || {
            format!(
                "the smallest frame of feature `{}` is {width}x{height}; frames have 1 to \
                 {MAX_DIMENSION} samples each way",
                feature.name
            )
        })?;
    }
    Ok(())
}

fn manifest_agrees(candidate: &Candidate) -> Verdict {
    let Some(record) = &candidate.record else {
        return skip("no manifest led to the backend; name the manifest to check it");
    };
    ensure(record.reason != Reason::ManifestDisagrees, || {
        let hint = record.hint.as_deref();
        hint.unwrap_or(&record.line).to_owned()
    })
}
