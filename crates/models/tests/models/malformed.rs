//! Damaged and unusual files: each is refused with its key, its value and the limit, or means
//! what libvmaf makes of it.

use vmafx_models::{MAX_BYTES, ModelSet};

fn refusal(json: &str) -> String {
    match ModelSet::from_json(json.as_bytes()) {
        Ok(set) => panic!("taken as {}", set.to_native()),
        Err(error) => error.to_string(),
    }
}

/// Changes one place of the full model and expects the message to start so.
fn refused(table: &[(&str, &str, &str)]) {
    for (from, to, message) in table {
        let json = crate::FULL.replacen(from, to, 1);
        assert_ne!(json, crate::FULL, "{from} is not in the model");
        let error = refusal(&json);
        assert!(
            error.starts_with(message),
            "{from} -> {to}\n{error}\n{message}"
        );
    }
}

#[test]
fn no_model_at_all() {
    for (json, message) in [
        (
            "",
            "not a JSON document: EOF while parsing a value at line 1 column 0",
        ),
        ("{", "not a JSON document: EOF"),
        ("{} {}", "not a JSON document: trailing characters"),
        ("\u{feff}{}", "not a JSON document: expected value"),
        ("[]", "`the document` is [], but must be an object"),
        ("3", "`the document` is 3, but must be an object"),
        ("null", "`the document` is null, but must be an object"),
        ("{}", "`model_dict` is missing"),
        ("{\"x\": 1, \"\": 2}", "`model_dict` is missing"),
        (
            "{\"model_dict\": null}",
            "`model_dict` is null, but must be an object",
        ),
        (
            "{\"model_dict\": {}}",
            "`model_dict.feature_names` is missing",
        ),
        (
            "{\"model_dict\": {}, \"model_dict\": {}}",
            "`model_dict` is there twice",
        ),
        ("{\"0\": {}}", "`0.model_dict` is missing"),
        (
            "{\"1\": {}}",
            "`key of a member` is 1, but must be 0: members are numbered",
        ),
        ("{\"00\": {}}", "`key of a member` is 00, but must be 0"),
    ] {
        let error = refusal(json);
        assert!(error.starts_with(message), "{json}\n{error}");
    }
    let bytes = b"{\"model_dict\": \"\xff\"}";
    let error = ModelSet::from_json(bytes).unwrap_err().to_string();
    assert!(
        error.starts_with("not a JSON document: invalid unicode"),
        "{error}"
    );
    let error = refusal(&" ".repeat(MAX_BYTES + 1));
    assert_eq!(
        error,
        "a model file may have 8388608 bytes, this one has more"
    );
}

#[test]
fn depth_and_length_do_no_harm() {
    let deep = "[".repeat(1_000_000);
    assert!(refusal(&deep).starts_with("not a JSON document: "));
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert!(refusal(&deep).starts_with("`the document` is [[[["));
    // Skipped values may be as deep as they like.
    let json = crate::FULL.replacen("4.0", &deep, 1);
    assert!(ModelSet::from_json(json.as_bytes()).is_ok());
    let long = format!("[{}1]", "1,".repeat(2_000_000));
    let json = crate::FULL.replacen("[0, 110.0]", &long, 1);
    assert_eq!(
        refusal(&json),
        "`model_dict.score_clip` has 2000001 entries, the limit is 2000"
    );
    let keys: String = (0..5000).map(|key| format!("\"k{key}\": 0,")).collect();
    let json = crate::FULL.replacen("\"p0\"", &format!("{keys}\"p0\""), 1);
    assert!(refusal(&json).starts_with("`model_dict.score_transform` has 5008 entries"));
    let digits = format!("0.{}", "3".repeat(100_000));
    let json = crate::FULL.replacen("110.0", &digits, 1);
    let set = ModelSet::from_json(json.as_bytes()).unwrap();
    assert!(
        set.to_native()
            .contains("score_clip 0 0.3333333333333333\n")
    );
}

#[test]
fn values_of_the_wrong_kind() {
    refused(&[
        (
            "\"LIBSVMNUSVR\"",
            "\"RANDOMFOREST\"",
            "`model_dict.model_type` is RANDOMFOREST, but must be LIBSVMNUSVR or",
        ),
        (
            "\"LIBSVMNUSVR\"",
            "7",
            "`model_dict.model_type` is 7, but must be a string",
        ),
        (
            "\"linear_rescale\"",
            "\"clip_0to1\"",
            "`model_dict.norm_type` is clip_0to1, but must be linear_rescale or none",
        ),
        (
            "[0, 110.0]",
            "[0]",
            "`model_dict.score_clip` is [0], but must be a pair of numbers",
        ),
        (
            "[0, 110.0]",
            "[0, 1, 2]",
            "`model_dict.score_clip` is [0, 1, 2], but must be a pair of numbers",
        ),
        (
            "[0, 110.0]",
            "[0, \"x\"]",
            "`model_dict.score_clip[1]` is \"x\", but must be a finite number",
        ),
        (
            "[0, 110.0]",
            "[3, 2]",
            "`model_dict.score_clip` is [3, 2], but must be a rising pair",
        ),
        (
            "[0, 110.0]",
            "{}",
            "`model_dict.score_clip` is {}, but must be an array",
        ),
        (
            "-1.25",
            "1e999",
            "`model_dict.intercepts[2]` is 1e999, but must be a finite number",
        ),
        (
            "-1.25",
            "null",
            "`model_dict.intercepts[2]` is null, but must be a finite number",
        ),
        (
            ", -1.25",
            "",
            "`model_dict.intercepts` has 2 entries, but must have 3: one for the score",
        ),
        (
            "2.5, 1e-3",
            "2.5, 1e-3, 4",
            "`model_dict.slopes` has 4 entries, but must have 3: one for the score",
        ),
        (
            "0.012020766332648465",
            "0.0",
            "`model_dict.slopes[0]` is 0, but must be another number",
        ),
        (
            "1e-3",
            "0",
            "`model_dict.chroma_correction_parameter` is 120, but must be left out, because the slope",
        ),
        (
            " 120,",
            " 0,",
            "`model_dict.chroma_correction_parameter` is 0, but must be another number: libvmaf gives no score",
        ),
        (
            "x_speed_chroma_uv",
            "x_speed",
            "`model_dict.chroma_correction_parameter` is 120, but must be left out, because not exactly one feature has `speed_chroma`",
        ),
        (
            "\"x_speed_chroma_uv\"",
            "4",
            "`model_dict.feature_names[1]` is 4, but must be a string",
        ),
        (
            "x_speed_chroma_uv",
            "",
            "`model_dict.feature_names[1]` is , but must be 1 to 255 printable",
        ),
        (
            "x_speed_chroma_uv",
            "a b",
            "`model_dict.feature_names[1]` is a b, but must be 1 to 255 printable",
        ),
        (
            "x_speed_chroma_uv",
            "\\u001b[2J",
            "`model_dict.feature_names[1]` is \\u{1b}[2J, but must be",
        ),
        (
            "\"bilinear\"",
            "[1]",
            "`model_dict.feature_opts_dicts[1].method` is [1], but must be a number, a string, true or false",
        ),
        (
            "\"bilinear\"",
            "null",
            "`model_dict.feature_opts_dicts[1].method` is null, but must be",
        ),
        (
            "\"bilinear\"",
            "\"a b\"",
            "`model_dict.feature_opts_dicts[1]` is a b, but must be",
        ),
        (
            "\"method\"",
            "\"m=n\"",
            "`model_dict.feature_opts_dicts[1]` is m=n, but must be a name without `=`",
        ),
        (
            "\"method\"",
            "\"empty\"",
            "`model_dict.feature_opts_dicts[1].empty` is there twice",
        ),
        (
            ",\n            {\"method\": \"bilinear\", \"empty\": \"\"}",
            "",
            "`model_dict.feature_opts_dicts` has 1 entries, but must have 2, one for each feature",
        ),
        (
            "\"p0\": 1.5",
            "\"p0\": \"1.5\"",
            "`model_dict.score_transform.p0` is \"1.5\", but must be a finite number",
        ),
        (
            "\"p0\": 1.5",
            "\"p2\": 1.5",
            "`model_dict.score_transform.p2` is there twice",
        ),
        (
            "\"enabled\": true",
            "\"enabled\": \"true\"",
            "`model_dict.score_transform.enabled` is \"true\", but must be true or false",
        ),
        (
            "\"out_gte_in\": \"true\"",
            "\"out_gte_in\": true",
            "`model_dict.score_transform.out_gte_in` is true, but must be a string",
        ),
        (
            "\"out_gte_in\": \"true\"",
            "\"out_gte_in\": \"True\"",
            "`model_dict.score_transform.out_gte_in` is \"True\", but must be \"true\" or \"false\"",
        ),
        (
            "[[0, 0], [50.5, 60], [100, 1e2]]",
            "[]",
            "`model_dict.score_transform.knots` has 0 entries, but must have 2 or more",
        ),
        (
            "[50.5, 60]",
            "[50.5]",
            "`model_dict.score_transform.knots[1]` is [50.5], but must be a pair of numbers",
        ),
        (
            "[50.5, 60]",
            "[100, 60]",
            "`model_dict.score_transform.knots` is [100, 60] before [100, 100], but must be points",
        ),
        (
            "nu_svr",
            "epsilon_svr",
            "`model_dict.model line 1` is epsilon_svr, but must be `nu_svr`",
        ),
        (
            "2:1e-300",
            "3:1",
            "`model_dict.model line 9` is 3:1, but must be INDEX:NUMBER with an index from 1 to 2",
        ),
        (
            "total_sv 3",
            "total_sv 99999",
            "`model_dict.model line 5` is 99999, but must be a count from 1 to 65536",
        ),
        (
            "\"model\": \"svm_type",
            "\"model\": \"\\ud800",
            "`model_dict.model` is ",
        ),
    ]);
}

#[test]
fn keys_that_must_be_there() {
    for (key, name) in [
        ("\"model_type\":", "model_type"),
        ("\"norm_type\":", "norm_type"),
        ("\"feature_names\":", "feature_names"),
        ("\"slopes\":", "slopes"),
        ("\"intercepts\":", "intercepts"),
        ("\"model\":", "model"),
    ] {
        let json = crate::FULL.replacen(key, "\"other\":", 1);
        assert_eq!(refusal(&json), format!("`model_dict.{name}` is missing"));
    }
}

#[test]
fn keys_that_may_be_absent() {
    let mut json = crate::FULL.to_owned();
    for key in [
        "score_clip",
        "feature_opts_dicts",
        "chroma_correction_parameter",
        "score_transform",
    ] {
        json = json.replacen(&format!("\"{key}\":"), &format!("\"no_{key}\":"), 1);
    }
    let set = ModelSet::from_json(json.as_bytes()).unwrap();
    assert!(!set.has_transform());
    assert!(
        set.features()
            .iter()
            .all(|feature| feature.options.is_empty())
    );
    let none = json
        .replacen("linear_rescale", "none", 1)
        .replacen("\"slopes\"", "\"s\"", 1);
    let set = ModelSet::from_json(none.as_bytes()).unwrap();
    assert!(!set.to_native().contains("slopes"));
}

#[test]
fn limits_of_a_file() {
    let names = |count: usize| {
        let names: Vec<_> = (0..count).map(|place| format!("\"f{place}\"")).collect();
        let numbers = vec!["1"; count + 1].join(",");
        format!(
            r#"{{"model_dict": {{"model_type": "LIBSVMNUSVR", "norm_type": "linear_rescale",
            "feature_names": [{}], "slopes": [{numbers}], "intercepts": [{numbers}], "model":
            "svm_type nu_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1\n"}}}}"#,
            names.join(",")
        )
    };
    assert_eq!(
        ModelSet::from_json(names(64).as_bytes())
            .unwrap()
            .features()
            .len(),
        64
    );
    let error = refusal(&names(65));
    assert_eq!(
        error,
        "`model_dict.feature_names` has 65 entries, the limit is 64"
    );
    let error = refusal(&names(0));
    assert_eq!(
        error,
        "`model_dict.feature_names` has 0 entries, but must have 1 to 64 features"
    );
    let knots: Vec<_> = (0..11).map(|x| format!("[{x}, {x}]")).collect();
    let json = crate::FULL.replacen("[0, 0], [50.5, 60], [100, 1e2]", &knots.join(","), 1);
    let error = refusal(&json);
    assert_eq!(
        error,
        "`model_dict.score_transform.knots` has 11 entries, the limit is 10"
    );
    let members: Vec<_> = (0..1001)
        .map(|m| format!("\"{m}\": {}", names(1)))
        .collect();
    let error = refusal(&format!("{{{}}}", members.join(",")));
    assert_eq!(error, "`collection` has 1001 entries, the limit is 1000");
}

#[test]
fn collections() {
    let set = ModelSet::from_json(crate::collection().as_bytes()).unwrap();
    assert_eq!(set.members(), 3);
    assert_eq!(set.score_names("v").len(), 7);
    let change = |from: &str, to: &str| refusal(&crate::collection().replacen(from, to, 1));
    let error = change("\"1\":", "\"2\":");
    assert_eq!(error, "`2` is there twice, which of the two is meant?");
    let error = change("\"1\":", "\"7\":");
    let start = "`key of a member` is 7, but must be 1: members are numbered 0, 1, 2 in order";
    assert_eq!(error, start);
    let error = change("\"1\":", "\"one\":");
    assert!(
        error.starts_with("`key of a member` is 2, but must be 1"),
        "{error}"
    );
    // Other keys are no members, as for libvmaf.
    let json = crate::collection().replacen("\"2\":", "\"two\":", 1);
    assert_eq!(ModelSet::from_json(json.as_bytes()).unwrap().members(), 2);
}

#[test]
fn members_must_agree() {
    let json = crate::collection().replacen("adm3_score", "adm3_other", 1);
    let error = refusal(&json);
    assert!(
        error.starts_with("`1.model_dict.feature_names or .feature_opts_dicts` is another list")
    );
    let json = crate::collection().replacen("\"BOOTSTRAP", "\"RESIDUEBOOTSTRAP", 1);
    let error = refusal(&json);
    assert!(
        error.starts_with("`model_type of member 2` is BOOTSTRAP_LIBSVMNUSVR"),
        "{error}"
    );
    let json = crate::collection().replace("\"BOOTSTRAP_", "\"");
    let error = refusal(&json);
    assert!(
        error.starts_with("`model_type of member 1` is LIBSVMNUSVR"),
        "{error}"
    );
    let one = format!(r#"{{"0": {}}}"#, crate::FULL);
    assert_eq!(
        refusal(&one),
        "`collection` has 1 entries, but must have 2 or more: members 0 and 1 at least"
    );
}

#[test]
fn our_own_format() {
    let text = ModelSet::from_json(crate::collection().as_bytes())
        .unwrap()
        .to_native();
    for (from, to, message) in [
        (
            "vmafx-model 1",
            "vmafx-model 2",
            "`line 1` is vmafx-model 2, but must be version 1",
        ),
        (
            "vmafx-model 1",
            "vmafx",
            "`line 1` is vmafx, but must be a line that starts with `vmafx-model`",
        ),
        (
            "feature VMAF_integer_feature_adm3_score",
            "feature",
            "`features.feature_names[0]` is adm_dlm_weight=0.7, but must be a name without `=`",
        ),
        ("adm_csf_mode=2", "adm_csf_mode", "`line 2` is feature VMAF"),
        (
            "adm_csf_mode=2",
            "adm_dlm_weight=2",
            "`line 2: adm_dlm_weight` is there twice",
        ),
        (
            "vectors 3",
            "vectors 0",
            "`line 4` is vectors 0, but must be a count from 1 to 65536",
        ),
        (
            "vectors 3",
            "vectors 2",
            "`line 7` is 0.75 0.25, but must be a line that starts with `member`",
        ),
        (
            "0.75 0.25",
            "0.75 0.25 1",
            "`line 7` is 0.75 0.25 1, but must be a line of 2 finite numbers",
        ),
        (
            "0.75 0.25",
            "0.75 inf",
            "`line 7` is 0.75 inf, but must be a line of 2 finite numbers",
        ),
        (
            "member LIBSVMNUSVR",
            "member X",
            "`line 8` is X, but must be LIBSVMNUSVR or",
        ),
        (
            "gamma",
            "gama",
            "`line 14` is gama 0.04, but must be a line that starts with `gamma`",
        ),
        (
            "knot=50.5,60",
            "knot=0,60",
            "`member of line 8.score_transform.knots` is [0, 0] before [0, 60], but must be points",
        ),
        (
            "score_clip 0 110",
            "score_clip 111 110",
            "`member of line 8.score_clip` is [111, 110], but must be a rising pair",
        ),
        ("p2=-0.25", "p2=x", "`line 13` is score_transform"),
        ("p2=-0.25", "p3=1", "`line 13` is score_transform"),
        ("p2=-0.25", "p0=1", "`line 13: p0` is there twice"),
        ("knot=0,0", "knot=0", "`line 13` is score_transform"),
        (
            "terms 3",
            "terms 4",
            "`line 20` is member BOOTSTRAP_LIBSVMNUSVR, but must be a coefficient",
        ),
        (
            "\n4 0",
            "\n4 3",
            "`line 17` is 4 3, but must be a coefficient and the number of a vector below 3",
        ),
        (
            "\n4 0",
            "\n4 0 0",
            "`line 17` is 4 0 0, but must be a coefficient",
        ),
        (
            "end",
            "end\nend",
            "`line 45` is end, but must be nothing behind `end`",
        ),
        ("end\n", "", "`member` is missing"),
        ("slopes 0.012", "slopes 0 0.012", "`line 9` is slopes 0"),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text, "{from} is not in\n{text}");
        let error = ModelSet::from_native(damaged.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(message),
            "{from} -> {to}\n{error}\n{message}"
        );
    }
    let commented = text.replace('\n', "\n# a note\n");
    let set = ModelSet::from_bytes(commented.as_bytes()).unwrap();
    assert_eq!(set.to_native(), text);
}
