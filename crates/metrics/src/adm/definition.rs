//! Names, options, limits and outputs of the metric.

use vmafx_api::FrameFormat;

use crate::{
    Clip, Column, Definition, Entry, Exactness, Metric, OptionInfo, Options, Output, PassThrough,
    Planes, Refusal,
};

use super::{MIN_SIZE, Settings};

pub(super) const NAME: &str = "adm";

/// Scores without `debug`; the others follow.
const USUAL_OUTPUTS: usize = 7;

const fn output(internal: &'static str, name: &'static str) -> Output {
    Output { internal, name }
}

/// A score with one name for models and reports.
const fn plain(name: &'static str) -> Output {
    Output {
        internal: name,
        name,
    }
}

static DEFINITION: Definition = Definition {
    name: NAME,
    version: 1,
    summary: "Detail loss (adm2), added detail (aim) and both together (adm3), luma only",
    source: "Li, Zhang, Ma, Ngan 2011, IEEE Trans. Multimedia 13(5); libvmaf integer_adm.c",
    min_size: (MIN_SIZE, MIN_SIZE),
    planes: Planes::Luma,
    options: &[
        OptionInfo::switch("debug", false, "Report numerators and denominators, too"),
        OptionInfo::number(
            "adm_csf_scale",
            (1.0, 0.0, 50.0),
            "Scale of the sensitivity to horizontal and vertical details, in adm_csf_mode 1",
        )
        .in_names("scf"),
        OptionInfo::number(
            "adm_csf_diag_scale",
            (1.0, 0.0, 50.0),
            "Scale of the sensitivity to diagonal details, in adm_csf_mode 1",
        )
        .in_names("scfd"),
        OptionInfo::number(
            "adm_dlm_weight",
            (0.5, 0.0, 1.0),
            "Share of adm2 in adm3; 1 leaves aim out",
        )
        .in_names("dlmw"),
        OptionInfo::number(
            "adm_enhn_gain_limit",
            (100.0, 1.0, 100.0),
            "Largest gain by which enhanced details count; 1 gives enhancement no reward",
        )
        .in_names("egl"),
        OptionInfo::number(
            "adm_norm_view_dist",
            (3.0, 0.75, 24.0),
            "Viewing distance in heights of the display; times adm_ref_display_height it is at \
             least 3240",
        )
        .in_names("nvd"),
        OptionInfo::whole(
            "adm_ref_display_height",
            (1080, 1, 4320),
            "Height of the display in pixels",
        )
        .in_names("rdh"),
        OptionInfo::whole(
            "adm_csf_mode",
            (0, 0, 3),
            "Contrast sensitivity: 0 Watson, 1 Barten (overflows on the finest level, as in \
             libvmaf), 2 and 3 fits between both",
        )
        .in_names("csf"),
        OptionInfo::number(
            "adm_noise_weight",
            (0.03125, 0.0, 1500.0),
            "Noise that is added to the contrast of each place",
        )
        .in_names("nw"),
        OptionInfo::switch("adm_skip_aim", false, "Leave aim at 0 and save its time"),
        OptionInfo::switch("adm_skip_scale0", false, "Leave out the finest level").in_names("ssz"),
        OptionInfo::number(
            "adm_min_val",
            (0.0, 0.0, 1.0),
            "Smallest adm3; smaller ones are raised to it",
        )
        .in_names("min"),
    ],
    outputs: &[
        output("VMAF_integer_feature_adm2_score", "integer_adm2"),
        output("VMAF_integer_feature_aim_score", "integer_aim"),
        output("VMAF_integer_feature_adm3_score", "integer_adm3"),
        plain("integer_adm_scale0"),
        plain("integer_adm_scale1"),
        plain("integer_adm_scale2"),
        plain("integer_adm_scale3"),
        plain("integer_adm"),
        plain("integer_adm_num"),
        plain("integer_adm_den"),
        plain("integer_adm_num_scale0"),
        plain("integer_adm_den_scale0"),
        plain("integer_adm_num_scale1"),
        plain("integer_adm_den_scale1"),
        plain("integer_adm_num_scale2"),
        plain("integer_adm_den_scale2"),
        plain("integer_adm_num_scale3"),
        plain("integer_adm_den_scale3"),
    ],
    aggregates: &[],
    // Two units in the last place of single precision, in which `powf` takes the roots.
    exactness: Exactness::Near(2.0 * f32::EPSILON as f64),
    every_frame: false,
};

/// The metric `adm`.
pub struct Adm;

inventory::submit!(Entry(&Adm));

fn outputs(options: &Options) -> &'static [Output] {
    match options.bool("debug") {
        true => DEFINITION.outputs,
        false => &DEFINITION.outputs[..USUAL_OUTPUTS],
    }
}

impl Metric for Adm {
    fn definition(&self) -> &'static Definition {
        &DEFINITION
    }

    fn check(&self, format: &FrameFormat, options: &Options) -> Result<(), Refusal> {
        DEFINITION.check_size(format)?;
        Settings::new(options).map(drop)
    }

    fn columns(&self, _format: &FrameFormat, options: &Options) -> Vec<Column> {
        outputs(options)
            .iter()
            .copied()
            .map(Column::Score)
            .collect()
    }

    fn clip(&self, _format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        let names = outputs(options)
            .iter()
            .map(|output| options.score_name(output));
        Box::new(PassThrough::new(names.collect()))
    }
}
