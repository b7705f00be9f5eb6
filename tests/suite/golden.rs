//! Every value of the golden files, computed through the engine as any caller would.
//!
//! Integer features must be equal in every bit. Where the reference's C library enters, ours may
//! differ by two units in the last place of its type and must be equal at six decimals.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::sync::Arc;

use vmafx_api::FrameFormat;
use vmafx_backend_cpu as _;
use vmafx_engine::{Context, FeatureSpec, ModelSpec, Outcome, Pooling, Request};
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
    equal: u64,
    close: u64,
    different: u64,
}

impl Tally {
    fn all(self) -> u64 {
        self.equal + self.close + self.different
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.equal += other.equal;
        self.close += other.close;
        self.different += other.different;
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
        "golden: {title}: {clips} clips, {} values compared: {} equal in every bit, {} equal but \
         for the C library's roots and exponentials, {} different; {skipped} clips skipped",
        total.all(),
        total.equal,
        total.close,
        total.different
    ));
    assert_eq!(total.different, 0, "{title}: values differ, see above");
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
        let mut frames = [&contexts[0], &contexts[0]].map(Context::frame);
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
                    let mut copy = context.frame();
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
    let mut check = |name: &str, place: &str, expected: Option<f64>, found: f64| {
        let label = &run.label;
        match distance(name, expected, found) {
            Distance::Equal => tally.equal += 1,
            Distance::Close => tally.close += 1,
            Distance::Different => {
                tally.different += 1;
                if tally.different <= 20 {
                    announce(&format!(
                        "{clip}: {label}: {name} {place}: {found:?}, not {expected:?}"
                    ));
                }
            }
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

#[derive(Debug, PartialEq)]
enum Distance {
    Equal,
    Close,
    Different,
}

fn distance(name: &str, expected: Option<f64>, found: f64) -> Distance {
    let Some(expected) = expected else {
        return if found.is_finite() {
            Distance::Different
        } else {
            Distance::Equal
        };
    };
    if expected.to_bits() == found.to_bits() {
        return Distance::Equal;
    }
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let tolerance = if starts(&["integer_adm", "integer_aim"]) {
        let single = expected.abs() as f32;
        2.0 * f64::from(single.next_up() - single)
    } else if name.starts_with("vmaf") {
        1e-9
    } else {
        return Distance::Different;
    };
    let printed = format!("{expected:.6}") == format!("{found:.6}");
    if printed && (expected - found).abs() <= tolerance {
        Distance::Close
    } else {
        Distance::Different
    }
}

#[test]
fn a_difference_is_seen() {
    let next = f64::from_bits(0.5f64.to_bits() + 1);
    assert_eq!(
        distance("integer_vif_scale0", Some(0.5), 0.5),
        Distance::Equal
    );
    assert_eq!(
        distance("integer_vif_scale0", Some(0.5), next),
        Distance::Different
    );
    assert_eq!(distance("integer_adm2", Some(0.5), next), Distance::Close);
    assert_eq!(
        distance("integer_adm2", Some(0.5), 0.500_001),
        Distance::Different
    );
    assert_eq!(distance("vmaf", Some(0.5), 0.5 + 1e-8), Distance::Different);
    assert_eq!(distance("psnr_y", None, 60.0), Distance::Different);
    assert_eq!(distance("psnr_y", None, f64::INFINITY), Distance::Equal);
}
