//! Tests of the model crate through its public face, one module a topic.

// Helper functions of tests are tests too, which clippy cannot see.
#![allow(clippy::unwrap_used)]

mod arbitrary;
mod binding;
mod by_name;
mod golden;
mod malformed;

/// A model with every key that the readers know.
const FULL: &str = r#"{
    "param_dict": {"C": 4.0, "anything": [null, {"model_dict": 1}]},
    "model_dict": {
        "model_type": "LIBSVMNUSVR",
        "norm_type": "linear_rescale",
        "score_clip": [0, 110.0],
        "feature_names": ["VMAF_integer_feature_adm3_score", "x_speed_chroma_uv"],
        "feature_opts_dicts": [
            {"adm_dlm_weight": 0.7, "adm_csf_mode": 2, "adm_skip_scale0": true},
            {"method": "bilinear", "empty": ""}
        ],
        "slopes": [0.012020766332648465, 2.5, 1e-3],
        "intercepts": [-0.3, 1, -1.25],
        "chroma_correction_parameter": 120,
        "score_transform": {
            "p0": 1.5, "p1": null, "p2": -0.25, "enabled": true,
            "knots": [[0, 0], [50.5, 60], [100, 1e2]],
            "out_lte_in": "false", "out_gte_in": "true", "unknown": 3
        },
        "model": "svm_type nu_svr\nkernel_type rbf\ngamma 0.04\nnr_class 2\ntotal_sv 3\nrho -1.5\nSV\n4 1:0.5 2:0.25 \n-3.5 2:1e-300 \n0.1 1:0.5 2:0.25 \n",
        "feature_dict": {"VMAF_integer_feature": ["adm3"]}
    }
}"#;

/// `FULL` as member of a collection.
fn member(kind: &str) -> String {
    FULL.replace("LIBSVMNUSVR", kind)
}

/// A collection of three.
fn collection() -> String {
    let (zero, other) = (member("LIBSVMNUSVR"), member("BOOTSTRAP_LIBSVMNUSVR"));
    let last = other
        .replace("rho -1.5", "rho 2.5")
        .replace("0.1 1:0.5", "0.1 1:0.75");
    format!(r#"{{"0": {zero}, "note": {{}}, "1": {other}, "2": {last}}}"#)
}
