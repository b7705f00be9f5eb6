//! The presets `--aom_ctc` and `--nflx_ctc` as data: models and features of the common test
//! conditions of the Alliance for Open Media and of Netflix.
//!
//! A preset stands for its models and features at its place on the command line.
//! Inputs of different depth, which AOM CTC v6.0 and later let pass upstream, stay refused: the
//! shallower file would be read with the wrong peak.

use crate::syntax::{FeatureArgument, ModelArgument, SyntaxError};

/// One version of a preset.
#[derive(Debug)]
pub(crate) struct Preset {
    /// `aom_ctc` or `nflx_ctc`.
    pub(crate) family: &'static str,
    pub(crate) version: &'static str,
    /// Names of models, and their names in the report.
    models: &'static [(&'static str, &'static str)],
    /// Values as `--feature` takes them.
    features: &'static [&'static str],
}

const AOM_MODELS: &[(&str, &str)] = &[("vmaf_v0.6.1", "vmaf"), ("vmaf_v0.6.1neg", "vmaf_neg")];
const NFLX_MODELS: &[(&str, &str)] = &[
    ("vmaf_4k_v0.6.1", "vmaf"),
    ("vmaf_4k_v0.6.1neg", "vmaf_neg"),
];

const PSNR: &str = "psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5";
const SSIM: &str = "float_ssim=enable_db=true:clip_db=true";
const MS_SSIM: &str = "float_ms_ssim=enable_db=true:clip_db=true";

const AOM_V1: &[&str] = &[PSNR, "ciede", SSIM, MS_SSIM, "psnr_hvs"];
const AOM_V3: &[&str] = &[PSNR, "ciede", SSIM, MS_SSIM, "psnr_hvs", "cambi"];
const AOM_V7: &[&str] = &[
    PSNR,
    "ciede",
    "float_ssim=scale=1:enable_db=true:clip_db=true",
    MS_SSIM,
    "psnr_hvs",
    "cambi",
];
const NFLX_V1: &[&str] = &["psnr=enable_chroma=true:enable_apsnr=true", SSIM, "cambi"];

const fn aom(version: &'static str, features: &'static [&'static str]) -> Preset {
    Preset {
        family: "aom_ctc",
        version,
        models: AOM_MODELS,
        features,
    }
}

static PRESETS: &[Preset] = &[
    aom("v1.0", AOM_V1),
    aom("v2.0", AOM_V1),
    aom("v3.0", AOM_V3),
    aom("v4.0", AOM_V3),
    aom("v5.0", AOM_V3),
    aom("v6.0", AOM_V3),
    aom("v7.0", AOM_V7),
    Preset {
        family: "nflx_ctc",
        version: "v1.0",
        models: NFLX_MODELS,
        features: NFLX_V1,
    },
];

/// Reads a version of `--aom_ctc`.
pub(crate) fn aom_ctc(version: &str) -> Result<&'static Preset, SyntaxError> {
    let choice = match version {
        "proposed" => "`proposed` was withdrawn; the versions are v1.0 to v7.0",
        _ => "the versions are v1.0, v2.0, v3.0, v4.0, v5.0, v6.0 and v7.0",
    };
    find("aom_ctc", version).ok_or(SyntaxError::Choice(choice))
}

/// Reads a version of `--nflx_ctc`.
pub(crate) fn nflx_ctc(version: &str) -> Result<&'static Preset, SyntaxError> {
    find("nflx_ctc", version).ok_or(SyntaxError::Choice("the only version is v1.0"))
}

fn find(family: &str, version: &str) -> Option<&'static Preset> {
    PRESETS
        .iter()
        .find(|preset| preset.family == family && preset.version == version)
}

/// A preset with metrics that this build does not have.
#[derive(Debug, thiserror::Error)]
#[error("--{family} {version} needs {}, which this build does not have; `vmafx features` lists what it has", missing.join(", "))]
pub(crate) struct PresetError {
    family: &'static str,
    version: &'static str,
    missing: Vec<String>,
}

impl Preset {
    /// Its models, in order.
    pub(crate) fn models(&self) -> impl Iterator<Item = ModelArgument> {
        self.models
            .iter()
            .map(|(version, name)| ModelArgument::named(version, name))
    }

    /// Its features, in order.
    ///
    /// # Errors
    /// The features that `known` does not know, all of them.
    pub(crate) fn features(
        &self,
        known: impl Fn(&str) -> bool,
    ) -> Result<Vec<FeatureArgument>, PresetError> {
        let list: Vec<_> = self
            .features
            .iter()
            .map(|text| FeatureArgument::parse(text).expect("presets are well formed"))
            .collect();
        let missing: Vec<_> = list
            .iter()
            .filter(|feature| !known(&feature.name))
            .map(|feature| feature.name.clone())
            .collect();
        if missing.is_empty() {
            return Ok(list);
        }
        Err(PresetError {
            family: self.family,
            version: self.version,
            missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_upstreams() {
        for preset in PRESETS {
            assert!(!preset.features(|_| true).unwrap().is_empty());
            assert_eq!(preset.models().count(), 2);
        }
        let features = aom_ctc("v7.0").unwrap().features(|_| true).unwrap();
        let names: Vec<_> = features.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "psnr",
                "ciede",
                "float_ssim",
                "float_ms_ssim",
                "psnr_hvs",
                "cambi"
            ]
        );
        assert_eq!(features[2].options[0], ("scale".to_owned(), "1".to_owned()));
        assert_eq!(
            aom_ctc("v2.0").unwrap().features(|_| true).unwrap().len(),
            5
        );
        let model = nflx_ctc("v1.0").unwrap().models().nth(1).unwrap();
        assert_eq!(model, ModelArgument::named("vmaf_4k_v0.6.1neg", "vmaf_neg"));
    }

    #[test]
    fn missing_metrics_are_listed() {
        let error = aom_ctc("v3.0")
            .unwrap()
            .features(|name| name == "psnr")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "--aom_ctc v3.0 needs ciede, float_ssim, float_ms_ssim, psnr_hvs, cambi, which this \
             build does not have; `vmafx features` lists what it has"
        );
        assert!(aom_ctc("v8.0").is_err() && aom_ctc("proposed").is_err());
    }
}
