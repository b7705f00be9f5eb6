//! Models in files: every model file of upstream, and its predictions from libvmaf's own feature
//! values against libvmaf's own scores, for the models that no metric here can feed yet too.
//! Needs the data folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use vmafx_models::{EXACTNESS, ModelSet, NOTICE, Scoring, catalog};
use vmafx_tests::data::{self, announce};

/// A folder of the test data, or nothing and a line that says why.
fn folder(path: &str) -> Option<PathBuf> {
    data::find(path)
        .map_err(|reason| announce(&format!("models by path skipped: {reason}")))
        .ok()
}

fn json_files(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            json_files(&path, list);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            list.push(path);
        }
    }
    list.sort();
}

#[test]
fn every_upstream_file_is_read() {
    let Some(folder) = folder("models") else {
        return;
    };
    let mut files = Vec::new();
    json_files(&folder, &mut files);
    assert!(!files.is_empty());
    for path in &files {
        let set = catalog::load(path).unwrap();
        let again = ModelSet::from_native(set.to_native().as_bytes()).unwrap();
        assert_eq!(
            again.figures_sha256(),
            set.figures_sha256(),
            "{}",
            path.display()
        );
        let name = set.name();
        assert!(
            name.starts_with("nflx") || catalog::viewing(name, false).is_some(),
            "{name}"
        );
        // Where upstream has the file of a built-in model, the figures are the same.
        if catalog::builtin_names().any(|builtin| builtin == name) {
            let builtin = catalog::find(name, &[]).unwrap();
            assert_eq!(builtin.figures_sha256(), set.figures_sha256(), "{name}");
        }
    }
    announce(&format!("models by path: {} files read", files.len()));
}

#[test]
fn a_later_model_says_its_options() {
    let Some(folder) = folder("models") else {
        return;
    };
    let set = catalog::find("vmaf_v1.0.16_hfr_5d0h", &[folder]).unwrap();
    let features: Vec<String> = set
        .features()
        .iter()
        .map(|feature| {
            let options = feature
                .options
                .iter()
                .map(|(name, value)| format!(" {name}={value}"));
            format!("{}{}", feature.name, options.collect::<String>())
        })
        .collect();
    assert_eq!(
        features,
        [
            "Cambi_feature_cambi_score cambi_high_res_speedup=1080 cambi_vis_lum_threshold=0.06 \
             cambi_max_val=17.0",
            "Speed_chroma_feature_speed_chroma_uv_score speed_nn_floor=0.1 speed_sigma_nn=0.19 \
             speed_weight_var_mode=5 speed_prescale=0.6 speed_prescale_method=bilinear \
             speed_max_val=45.0",
            "VMAF_integer_feature_adm3_score adm_dlm_weight=0.7 adm_enhn_gain_limit=1.0 \
             adm_noise_weight=0.02 adm_norm_view_dist=5.0 adm_ref_display_height=1080 \
             adm_min_val=0.5 adm_csf_mode=2",
            "VMAF_integer_feature_motion3_score motion_max_val=18.0 \
             motion_five_frame_window=true motion_moving_average=true",
        ]
    );
    if let Err(error) = set.bind(&[]) {
        let error = error.to_string();
        assert!(
            error.starts_with("model vmaf_v1.0.16_hfr_5d0h reads "),
            "{error}"
        );
    }
}

/// A score of the golden files: its name, the model, what is asked for, its features there.
struct Case {
    name: &'static str,
    set: ModelSet,
    scoring: Scoring,
    features: Vec<String>,
}

fn cases() -> Vec<Case> {
    let six = |adm: &str, vif: &str| -> Vec<String> {
        let mut names = vec![format!("integer_adm2{adm}"), "integer_motion2".to_owned()];
        names.extend((0..4).map(|scale| format!("integer_vif_scale{scale}{vif}")));
        names
    };
    let builtin = |name, model, limited: bool, enable_transform, disable_clip| Case {
        name,
        set: catalog::find(model, &[]).expect("a built-in model"),
        scoring: Scoring {
            enable_transform,
            disable_clip,
        },
        features: if limited {
            six("_egl_1", "_egl_1")
        } else {
            six("", "")
        },
    };
    let mut cases = vec![
        builtin("vmaf", "vmaf_v0.6.1", false, false, false),
        builtin("vmaf_neg", "vmaf_v0.6.1neg", true, false, false),
        builtin("vmaf_4k", "vmaf_4k_v0.6.1", false, false, false),
        builtin("vmaf_4k_neg", "vmaf_4k_v0.6.1neg", true, false, false),
        builtin("vmaf_phone", "vmaf_v0.6.1", false, true, false),
        builtin("vmaf_noclip", "vmaf_v0.6.1", false, false, true),
        builtin("vmaf_b", "vmaf_b_v0.6.3", false, false, false),
    ];
    let Some(folder) = folder("models") else {
        return cases;
    };
    let later = [
        ("v1_3d0h", "", "", "_mmxv_18"),
        ("v1_5d0h", "_nvd_5", "_ps_0.6_psm_bilinear", "_mmxv_18"),
        (
            "v1_3d0h_2160",
            "_rdh_2160",
            "_ps_0.5_psm_bilinear",
            "_mmxv_18",
        ),
        ("v1_1d5h_2160", "_nvd_1.5_rdh_2160", "", "_mmxv_18"),
        ("v1hfr_3d0h", "", "", "_mffw_mmxv_18_mma"),
        (
            "v1hfr_1d5h_2160",
            "_nvd_1.5_rdh_2160",
            "",
            "_mffw_mmxv_18_mma",
        ),
    ];
    for (name, adm, speed, motion) in later {
        let model = name
            .replace("v1hfr_", "vmaf_v1.0.16_hfr_")
            .replace("v1_", "vmaf_v1.0.16_");
        cases.push(Case {
            name,
            set: catalog::find(&model, std::slice::from_ref(&folder)).expect("a model of the data"),
            scoring: Scoring::default(),
            features: vec![
                "cambi_hrs_1080_cmxv_17_vlt_0.06".to_owned(),
                format!("speed_chroma_uv_mxv_45_nnf_0.1{speed}_snn_0.19_wvm_5"),
                format!("integer_adm3_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02{adm}"),
                format!("integer_motion3{motion}"),
            ],
        });
    }
    cases
}

#[test]
fn golden_features_give_golden_scores() {
    let Some(folder) = folder("golden") else {
        return;
    };
    let cases = cases();
    let mut files = Vec::new();
    json_files(&folder, &mut files);
    let mut compared: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut largest = 0.0f64;
    for path in &files {
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let Some(metrics) = document.get("metrics").and_then(Value::as_object) else {
            continue;
        };
        let column = |name: &str| metrics.get(name).and_then(Value::as_array);
        for case in &cases {
            let columns: Option<Vec<_>> = case.features.iter().map(|name| column(name)).collect();
            let (Some(columns), Some(scores)) = (columns, column(case.name)) else {
                continue;
            };
            for frame in 0..scores.len() {
                let values: Option<Vec<f64>> = columns
                    .iter()
                    .map(|column| column[frame].as_f64())
                    .collect();
                let Some(values) = values else { continue };
                let prediction = case.set.predict(&values, case.scoring).unwrap();
                let names = case.set.score_names(case.name);
                for (name, ours) in names.iter().zip(prediction.values()) {
                    let Some(theirs) = column(name).and_then(|column| column[frame].as_f64())
                    else {
                        continue;
                    };
                    let what = format!("{} frame {frame} {name}", path.display());
                    let distance = (ours - theirs).abs() / theirs.abs();
                    assert!(
                        EXACTNESS.allows(theirs, ours),
                        "{what}: {ours:?}, libvmaf {theirs:?}, distance {distance:e}"
                    );
                    if ours != theirs {
                        largest = largest.max(distance);
                    }
                    let (count, equal) = compared.entry(case.name).or_default();
                    *count += 1;
                    *equal += usize::from(ours == theirs);
                }
            }
        }
    }
    for case in &cases {
        assert!(
            compared.contains_key(case.name),
            "no golden value of {}",
            case.name
        );
    }
    announce(&format!(
        "models by path: values compared, equal in every bit: {compared:?}; largest relative \
         distance {largest:e}"
    ));
}

#[test]
fn the_notice_holds_the_licence_of_the_repository() {
    let path = data::workspace_root().join("LICENSES/BSD-2-Clause-Patent.txt");
    let licence = std::fs::read_to_string(path).unwrap();
    assert!(NOTICE.ends_with(&licence));
    for name in catalog::builtin_names() {
        assert!(NOTICE.contains(&format!("`{name}.model`")), "{name}");
    }
}
