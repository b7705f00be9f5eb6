//! Every value of the golden files, computed through the engine as any caller would.
//!
//! A value must be as close as the [`Exactness`] of the metric or model that gives it says, and
//! on these clips every value of a feature is equal in every bit. Models are sums of many
//! exponentials and are only near.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::sync::Arc;

use vmafx_api::FrameFormat;
use vmafx_backend_cpu as _;
use vmafx_engine::{Context, FeatureSpec, ModelSpec, Outcome, Pooling, Request};
use vmafx_metrics::{Definition, Exactness, Metric};
use vmafx_models::catalog;
use vmafx_tests::data::announce;
use vmafx_tests::golden::{self, Clip, Run};

use crate::clips::{self, Pair, REAL, Samples};

#[test]
fn synthetic_clips() {
    suite("synthetic clips", |name| {
        !is_large(name) && !is_width(name) && !is_real(name)
    });
}

#[test]
fn synthetic_clips_of_1080_lines_and_more() {
    suite("large synthetic clips", is_large);
}

#[test]
fn synthetic_clips_at_sizes_where_vector_code_differs() {
    suite("width clips", is_width);
}

#[test]
fn real_clips() {
    suite("real clips", is_real);
}

fn is_large(name: &str) -> bool {
    name.contains("1080_") || name.contains("2160_")
}

fn is_width(name: &str) -> bool {
    name.starts_with('w')
}

fn is_real(name: &str) -> bool {
    REAL.iter().any(|real| real.0 == name)
}

/// Outcome of comparing values.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    features: Count,
    models: Count,
    /// Values that are farther from the reference's than their [`Exactness`] allows.
    too_far: u64,
}

/// Values compared.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    all: u64,
    equal: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.features += other.features;
        self.models += other.models;
        self.too_far += other.too_far;
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.all += other.all;
        self.equal += other.equal;
    }
}

fn suite(title: &str, wanted: impl Fn(&str) -> bool) {
    let mut names: Vec<String> = std::fs::read_dir(golden::folder())
        .expect("the golden folder")
        .map(|entry| entry.expect("a readable folder").path())
        .map(|path| {
            path.file_stem()
                .expect("a file name")
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| wanted(name))
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no golden file for the {title}");
    let (mut clips, mut skipped, mut total) = (0, 0, Tally::default());
    for name in &names {
        match clip(name) {
            Ok(tally) => {
                clips += 1;
                total += tally;
            }
            Err(reason) => {
                skipped += 1;
                announce(&format!("golden: {name} skipped: {reason}"));
            }
        }
    }
    announce(&format!(
        "golden: {title}: {clips} clips, {} feature values compared, {} equal in every bit; {} \
         model values, {} equal in every bit; {} too far; {skipped} clips skipped",
        total.features.all,
        total.features.equal,
        total.models.all,
        total.models.equal,
        total.too_far
    ));
    assert_eq!(total.too_far, 0, "{title}: values differ, see above");
    // More than `Exactness` asks of ADM and PSNR: for some other input the C library may round
    // its root or logarithm otherwise; for these it does not.
    let Count { all, equal } = total.features;
    assert_eq!(
        all - equal,
        0,
        "{title}: feature values are not equal in every bit"
    );
}

fn clip(name: &str) -> Result<Tally, String> {
    let path = golden::folder().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path).expect("a readable golden file");
    let clip = Clip::from_text(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let pair = clips::pair(name)?;
    let mut total = Tally::default();
    for (run, outcome) in clip.runs.iter().zip(score(&clip, pair)?) {
        total += compare(name, run, &outcome);
    }
    Ok(total)
}

/// Scores all runs of a clip in one reading of it.
fn score(clip: &Clip, mut pair: Pair) -> Result<Vec<Outcome>, String> {
    let format = pair.sources[0].format();
    let mut contexts: Vec<_> = clip.runs.iter().map(|run| context(format, run)).collect();
    let mut sums = [Samples::default(), Samples::default()];
    let longest = clip.runs.iter().map(|run| run.frames).max().unwrap_or(0);
    let mut at = 0;
    // Real clips are read to their end for the MD5, which is over the whole file.
    loop {
        let mut frames = [&contexts[0], &contexts[0]].map(|c| c.frame().expect("memory"));
        let more: BTreeSet<bool> = (0..2)
            .map(|side| {
                pair.sources[side]
                    .read(&mut frames[side])
                    .expect("a readable clip")
            })
            .collect();
        assert_eq!(more.len(), 1, "{}: lengths differ", clip.name);
        if more.contains(&false) {
            break;
        }
        for (sum, frame) in sums.iter_mut().zip(&mut frames) {
            sum.add(frame);
        }
        for (run, context) in clip.runs.iter().zip(&mut contexts) {
            if at < run.frames {
                let [reference, distorted] = [0, 1].map(|side| {
                    let mut copy = context.frame().expect("memory");
                    copy.bytes_mut().copy_from_slice(frames[side].bytes_mut());
                    copy
                });
                context
                    .submit(reference, distorted)
                    .expect("a scored frame");
            }
        }
        at += 1;
    }
    assert!(
        at >= longest,
        "{}: {at} frames, {longest} are needed",
        clip.name
    );
    let found = sums.map(Samples::hex);
    if found != clip.md5 {
        // Scaled clips depend on the scaler's version; nothing else may differ.
        assert!(
            clip.name.contains("up_"),
            "{}: MD5 {found:?}, not {:?}",
            clip.name,
            clip.md5
        );
        return Err("the installed scaler gives other samples than the reference's".to_owned());
    }
    Ok(contexts
        .into_iter()
        .map(|context| context.finish().expect("an outcome"))
        .collect())
}

fn context(format: FrameFormat, run: &Run) -> Context {
    let mut request = Request::default();
    request.threads = 1;
    request.alignment_range = 0;
    request.features = run
        .features
        .iter()
        .map(|spec| FeatureSpec::parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}")))
        .collect();
    request.models = run
        .models
        .iter()
        .map(|(name, text)| model(name, text))
        .collect();
    Context::new(format, request).unwrap_or_else(|error| panic!("{}: {error}", run.label))
}

fn model(name: &str, text: &str) -> ModelSpec {
    let mut parts = text.split(':');
    let version = parts.next().and_then(|part| part.strip_prefix("version="));
    let set = catalog::find(version.expect("a version"), &[]).expect("a built-in model");
    let mut spec = ModelSpec::new(name, Arc::new(set));
    for part in parts {
        match part {
            "enable_transform=true" => spec.scoring.enable_transform = true,
            "disable_clip=true" => spec.scoring.disable_clip = true,
            other => panic!("{name}: unknown part {other}"),
        }
    }
    spec
}

fn compare(clip: &str, run: &Run, outcome: &Outcome) -> Tally {
    let mut tally = Tally::default();
    let mut reported = 0;
    let mut check = |name: &str, place: &str, expected: Option<f64>, found: f64| {
        let label = &run.label;
        let owner = Owner::of(name, run);
        let distance = distance(owner.exactness(), expected, found);
        let count = match owner {
            Owner::Metric(_) => &mut tally.features,
            Owner::Model => &mut tally.models,
        };
        count.all += 1;
        count.equal += u64::from(distance == Distance::Equal);
        tally.too_far += u64::from(distance == Distance::TooFar);
        let wrong = distance == Distance::TooFar
            || distance == Distance::Allowed && matches!(owner, Owner::Metric(_));
        if wrong && reported < 20 {
            reported += 1;
            announce(&format!(
                "{clip}: {label}: {name} {place}: {found:?}, not {expected:?}"
            ));
        }
    };
    for (name, values) in &run.scores {
        for (frame, &expected) in values.iter().enumerate() {
            let found = outcome.score(name, frame as u64);
            let found = found.unwrap_or_else(|error| panic!("{clip}: {name}: {error}"));
            check(name, &format!("frame {frame}"), expected, found);
        }
    }
    let poolings = [
        Pooling::Min,
        Pooling::Max,
        Pooling::Mean,
        Pooling::HarmonicMean,
    ];
    for (name, values) in &run.pooled {
        for (&pooling, &expected) in poolings.iter().zip(values) {
            let found = outcome.pooled(name, pooling, ..);
            let found = found.unwrap_or_else(|error| panic!("{clip}: {name}: {error}"));
            check(name, &format!("{pooling:?}"), expected, found);
        }
    }
    for (name, expected) in &run.aggregates {
        let found = outcome
            .aggregates()
            .iter()
            .find(|aggregate| aggregate.name == *name);
        let found = found.unwrap_or_else(|| panic!("{clip}: no aggregate {name}"));
        check(name, "aggregate", *expected, found.value);
    }
    tally
}

/// What gives a score.
enum Owner {
    Metric(&'static Definition),
    Model,
}

impl Owner {
    fn of(name: &str, run: &Run) -> Self {
        let mut metrics = vmafx_metrics::all().into_iter().map(Metric::definition);
        let of_model = |model: &str| {
            let rest = name.strip_prefix(model);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        match metrics.find(|definition| definition.gives(name)) {
            Some(definition) => Owner::Metric(definition),
            None if run.models.iter().any(|(model, _)| of_model(model)) => Owner::Model,
            None => panic!("{}: nothing gives {name}", run.label),
        }
    }

    fn exactness(&self) -> Exactness {
        match self {
            Owner::Metric(definition) => definition.exactness,
            Owner::Model => vmafx_models::EXACTNESS,
        }
    }
}

#[derive(Debug, PartialEq)]
enum Distance {
    Equal,
    Allowed,
    TooFar,
}

/// `expected` is `None` for NaN and infinities.
fn distance(exactness: Exactness, expected: Option<f64>, found: f64) -> Distance {
    match expected {
        None if !found.is_finite() => Distance::Equal,
        Some(expected) if expected.to_bits() == found.to_bits() => Distance::Equal,
        Some(expected) if exactness.allows(expected, found) => Distance::Allowed,
        _ => Distance::TooFar,
    }
}

#[test]
fn a_difference_is_seen() {
    let run = Run {
        models: vec![("vmaf_b".to_owned(), String::new())],
        ..Run::default()
    };
    let far = |name, expected, found| distance(Owner::of(name, &run).exactness(), expected, found);
    let half = Some(0.5);
    let next = 0.5f64.next_up();
    for name in ["integer_vif_scale0", "integer_motion2_mma"] {
        assert_eq!(far(name, half, 0.5), Distance::Equal);
        assert_eq!(far(name, half, next), Distance::TooFar);
    }
    for name in ["integer_adm2", "psnr_y", "apsnr_cb", "vmaf_b_ci_p95_lo"] {
        assert_eq!(far(name, half, next), Distance::Allowed);
        assert_eq!(far(name, half, 0.500_000_4), Distance::TooFar);
    }
    assert_eq!(far("psnr_y", half, 0.5 + 1e-15), Distance::TooFar);
    assert_eq!(far("integer_adm2", half, 0.5 + 1e-7), Distance::Allowed);
    assert_eq!(far("vmaf_b", half, 0.5 + 1e-12), Distance::TooFar);
    // Near, but another number in a report of six decimals.
    assert_eq!(
        far("vmaf_b", Some(1.000_000_5), 1.000_000_499_999_9),
        Distance::TooFar
    );
    assert_eq!(far("psnr_y", None, 60.0), Distance::TooFar);
    assert_eq!(far("psnr_y", None, f64::INFINITY), Distance::Equal);
    assert_eq!(far("psnr_y", half, f64::NAN), Distance::TooFar);
}
