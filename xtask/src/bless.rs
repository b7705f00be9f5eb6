//! `cargo xtask bless golden`: turns the JSON of the reference run into the compact golden
//! files of `tests/golden`.

use std::path::Path;

use serde_json::{Map, Value};
use vmafx_tests::data;
use vmafx_tests::golden::{self, Clip, Run};

use crate::Failure;

/// Features whose values are part of the suite, with the options of the reference run.
const FEATURES: [&str; 4] = [
    "adm=debug=true",
    "vif=debug=true",
    "motion=debug=true",
    "psnr=enable_mse=true:enable_apsnr=true",
];

/// Features as the models of the v1 line run them: the suffix of their score names, the
/// feature. A suffix that ends another comes after it.
const VARIANTS: [(&str, &str); 6] = [
    (
        "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02",
        "adm=adm_csf_mode=2:adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_min_val=0.5:\
         adm_noise_weight=0.02",
    ),
    (
        "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_nvd_5",
        "adm=adm_csf_mode=2:adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_min_val=0.5:\
         adm_noise_weight=0.02:adm_norm_view_dist=5",
    ),
    (
        "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_nvd_1.5_rdh_2160",
        "adm=adm_csf_mode=2:adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_min_val=0.5:\
         adm_noise_weight=0.02:adm_norm_view_dist=1.5:adm_ref_display_height=2160",
    ),
    (
        "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02_rdh_2160",
        "adm=adm_csf_mode=2:adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_min_val=0.5:\
         adm_noise_weight=0.02:adm_ref_display_height=2160",
    ),
    (
        "_mffw_mmxv_18_mma",
        "motion=motion_five_frame_window=true:motion_max_val=18:motion_moving_average=true",
    ),
    ("_mmxv_18", "motion=motion_max_val=18"),
];

/// Models by the names the reference run gave them.
const MODELS: [(&str, &str); 7] = [
    ("vmaf", "version=vmaf_v0.6.1"),
    ("vmaf_neg", "version=vmaf_v0.6.1neg"),
    ("vmaf_4k", "version=vmaf_4k_v0.6.1"),
    ("vmaf_4k_neg", "version=vmaf_4k_v0.6.1neg"),
    ("vmaf_phone", "version=vmaf_v0.6.1:enable_transform=true"),
    ("vmaf_noclip", "version=vmaf_v0.6.1:disable_clip=true"),
    ("vmaf_b", "version=vmaf_b_v0.6.3"),
];

/// Rewrites every golden file from the JSON in the test data.
///
/// # Errors
/// Missing test data, JSON of another shape, an unwritable folder.
pub(crate) fn golden() -> Result<(), Failure> {
    let source = data::find("golden")?;
    let target = golden::folder();
    std::fs::create_dir_all(&target)?;
    let mut clips = 0;
    for folder in [source.clone(), source.join("widths")] {
        let mut paths: Vec<_> = std::fs::read_dir(folder)?
            .map(|entry| entry.map(|e| e.path()))
            .collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let Some(stem) = name.strip_suffix(".json") else {
                continue;
            };
            if stem == "widths" || stem.ends_with(".opts") {
                continue;
            }
            let clip = convert(&path)?;
            std::fs::write(target.join(format!("{stem}.txt")), clip.to_text())?;
            clips += 1;
        }
    }
    println!("{clips} golden files written to {}", target.display());
    Ok(())
}

fn convert(path: &Path) -> Result<Clip, Failure> {
    let document = read(path)?;
    let shape = Failure::from(format!("{}: not a golden file", path.display()));
    let metrics = document["metrics"].as_object().ok_or(shape)?;
    let frames = metrics
        .values()
        .filter_map(|v| v.as_array())
        .map(Vec::len)
        .max()
        .unwrap_or(0) as u64;
    // The reference run cuts the last chroma row and column of odd sizes; its chroma values
    // there are of other planes than ours.
    let size = |key: &str| document["input"][key].as_u64().unwrap_or(0);
    let odd = size("w") % 2 == 1 && size("sub") != 444 || size("h") % 2 == 1 && size("sub") == 420;
    let bound = |name: &str| !odd || !(name.ends_with("_cb") || name.ends_with("_cr"));

    let base = run_of(&document, "base", frames, &bound);
    let variant = |name: &str| VARIANTS.iter().find(|(suffix, _)| name.ends_with(suffix));
    let is_model = |name: &str| name.starts_with("vmaf") || name.ends_with("_egl_1");
    let part = |label: &str, keep: &dyn Fn(&str) -> bool| Run {
        label: label.to_owned(),
        frames,
        scores: base.scores.iter().filter(|s| keep(&s.0)).cloned().collect(),
        pooled: base.pooled.iter().filter(|s| keep(&s.0)).cloned().collect(),
        ..Run::default()
    };
    let mut features = part("base", &|name| !is_model(name) && variant(name).is_none());
    features.features = FEATURES.map(str::to_owned).to_vec();
    features.aggregates = base.aggregates.clone();
    let mut models = part("models", &|name| is_model(name) && variant(name).is_none());
    models.models = MODELS.map(|(n, o)| (n.to_owned(), o.to_owned())).to_vec();
    let mut variants = part("variants", &|name| variant(name).is_some());
    for (suffix, feature) in VARIANTS {
        if variants
            .scores
            .iter()
            .any(|(name, _)| variant(name) == Some(&(suffix, feature)))
        {
            variants.features.push(feature.to_owned());
        }
    }

    let mut clip = Clip {
        name: document["clip"].as_str().unwrap_or_default().to_owned(),
        frames: match document["input"]["n"].as_u64() {
            Some(n) => n,
            None => document["input"]["frame_cnt"].as_u64().unwrap_or(0),
        },
        md5: [0, 1].map(|side| {
            let sums = [&document["md5"][side], &document["md5_frames"][side]];
            sums.iter()
                .find_map(|sum| sum.as_str())
                .unwrap_or("-")
                .to_owned()
        }),
        runs: vec![features, models, variants],
    };
    clip.runs.retain(|run| !run.scores.is_empty());
    let options = path.with_extension("opts.json");
    if options.exists() {
        clip.runs.extend(option_runs(&read(&options)?, &bound));
    }
    Ok(clip)
}

fn option_runs(document: &Value, bound: &dyn Fn(&str) -> bool) -> Vec<Run> {
    let empty = Map::new();
    let frames = document["frames"].as_u64().unwrap_or(0);
    let list = document["variants"].as_object().unwrap_or(&empty);
    let ours = |feature: &str| {
        let name = feature.split('=').next().unwrap_or_default();
        FEATURES.iter().any(|f| f.split('=').next() == Some(name))
    };
    let mut runs = Vec::new();
    for (label, variant) in list {
        let features: Vec<_> = variant["feature"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|f| f.as_str().map(str::to_owned))
            .collect();
        if variant.get("metrics").is_some() && features.iter().all(|f| ours(f)) {
            let mut run = run_of(variant, label, frames, bound);
            run.features = features;
            runs.push(run);
        }
    }
    runs
}

fn run_of(document: &Value, label: &str, frames: u64, bound: &dyn Fn(&str) -> bool) -> Run {
    let wanted = |name: &str| is_wanted(name) && bound(name);
    let entries = |key: &str| {
        let object = document[key].as_object().cloned().unwrap_or_default();
        object.into_iter().filter(|(name, _)| wanted(name))
    };
    let list = |value: &Value| -> Vec<Option<f64>> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::as_f64)
            .collect()
    };
    Run {
        label: label.to_owned(),
        frames,
        scores: entries("metrics").map(|(n, v)| (n, list(&v))).collect(),
        pooled: entries("pooled")
            .map(|(n, v)| {
                let pools = ["min", "max", "mean", "harmonic_mean"];
                (n, pools.map(|pool| v[pool].as_f64()))
            })
            .collect(),
        aggregates: entries("aggregate").map(|(n, v)| (n, v.as_f64())).collect(),
        ..Run::default()
    }
}

fn is_wanted(name: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    starts(&["integer_", "VMAF_integer_feature_", "mse_", "apsnr_"])
        || ["psnr_y", "psnr_cb", "psnr_cr"].contains(&name)
        || name.starts_with("vmaf") && !name.starts_with("vmaf_float")
}

fn read(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read(path)?;
    Ok(serde_json::from_slice(&text)?)
}
