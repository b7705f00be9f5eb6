//! Models meet metrics.

use vmafx_models::{ModelError, ModelSet, Override, catalog};

fn score_names(name: &str, overrides: &[&str]) -> Result<Vec<String>, ModelError> {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    let bound = catalog::find(name, &[])?.bind(&overrides)?;
    Ok(bound
        .into_iter()
        .map(|feature| feature.score_name)
        .collect())
}

#[test]
fn built_in_models_read_adm_motion_and_vif() {
    let names = score_names("vmaf_4k_v0.6.1neg", &[]).unwrap();
    assert_eq!(
        names,
        [
            "integer_adm2_egl_1",
            "integer_motion2",
            "integer_vif_scale0_egl_1",
            "integer_vif_scale1_egl_1",
            "integer_vif_scale2_egl_1",
            "integer_vif_scale3_egl_1",
        ]
    );
    let plain = [
        "adm2",
        "motion2",
        "vif_scale0",
        "vif_scale1",
        "vif_scale2",
        "vif_scale3",
    ];
    for name in ["vmaf_v0.6.1", "vmaf_4k_v0.6.1", "vmaf_b_v0.6.3"] {
        let expected = plain.map(|name| format!("integer_{name}"));
        assert_eq!(score_names(name, &[]).unwrap(), expected);
    }
}

#[test]
fn overrides_go_over_the_file() {
    let names = score_names(
        "vmaf_v0.6.1neg",
        &["adm.adm_enhn_gain_limit=1.2", "vif.egl=100"],
    );
    let names = names.unwrap();
    assert_eq!(
        names[..3],
        [
            "integer_adm2_egl_1.2",
            "integer_motion2",
            "integer_vif_scale0"
        ]
    );
    let set = catalog::find("vmaf_v0.6.1", &[]).unwrap();
    let bound = set
        .bind(&[Override::parse("vif.debug=true").unwrap()])
        .unwrap();
    assert!(bound[2].options.bool("debug"));
    assert_eq!(bound[2].metric.definition().name, "vif");
    assert_eq!(bound[2].score_name, "integer_vif_scale0");
    assert!(!bound[0].options.bool("debug"));
}

#[test]
fn wrong_overrides_are_named() {
    for text in ["", "vif", "vif.x", "x=1", ".x=1", "vif.=1"] {
        let error = Override::parse(text).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("`{text}` is not METRIC.OPTION=VALUE, such as vif.vif_enhn_gain_limit=1")
        );
    }
    let error = score_names("vmaf_v0.6.1", &["psnr.min_sse=1"])
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "`psnr.min_sse=1`: model vmaf_v0.6.1 reads nothing of that metric, only of adm, motion, vif"
    );
    let error = score_names("vmaf_v0.6.1", &["vif.nonsense=1"])
        .unwrap_err()
        .to_string();
    let start = "model vmaf_v0.6.1, feature VMAF_integer_feature_vif_scale0_score: \
                 vif has no option `nonsense`";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn features_without_a_metric_are_listed() {
    let json = crate::FULL.replace("VMAF_integer_feature_adm3_score", "no_adm3");
    let error = ModelSet::from_json(json.as_bytes())
        .unwrap()
        .bind(&[])
        .unwrap_err()
        .to_string();
    let start = "model model reads no_adm3, x_speed_chroma_uv, which no metric of this program \
                 gives; its metrics are adm, motion, motion_v2, psnr, vif";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn options_of_a_file_are_kept_as_text() {
    let set = ModelSet::from_json(crate::FULL.as_bytes()).unwrap();
    let options = |place: usize| -> Vec<String> {
        let options = set.features()[place].options.iter();
        options
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    };
    assert_eq!(
        options(0),
        [
            "adm_dlm_weight=0.7",
            "adm_csf_mode=2",
            "adm_skip_scale0=true"
        ]
    );
    assert_eq!(options(1), ["method=bilinear", "empty="]);
}
