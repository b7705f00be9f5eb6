//! Names, options, limits and outputs of the metric.

use vmafx_api::FrameFormat;

use crate::{
    Clip, Column, Definition, Entry, Exactness, Metric, OptionInfo, OptionKind, Options, Output,
    PassThrough, Refusal,
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

const fn number(
    name: &'static str,
    alias: &'static str,
    (default, min, max): (f64, f64, f64),
    help: &'static str,
) -> OptionInfo {
    let kind = OptionKind::Float { default, min, max };
    OptionInfo {
        name,
        alias,
        help,
        kind,
        in_name: true,
    }
}

const fn whole(
    name: &'static str,
    alias: &'static str,
    (default, min, max): (i32, i32, i32),
    help: &'static str,
) -> OptionInfo {
    let kind = OptionKind::Int { default, min, max };
    OptionInfo {
        name,
        alias,
        help,
        kind,
        in_name: true,
    }
}

const fn switch(
    name: &'static str,
    alias: &'static str,
    in_name: bool,
    help: &'static str,
) -> OptionInfo {
    let kind = OptionKind::Bool { default: false };
    OptionInfo {
        name,
        alias,
        help,
        kind,
        in_name,
    }
}

static DEFINITION: Definition = Definition {
    name: NAME,
    summary: "Detail loss (adm2), added detail (aim) and both together (adm3), luma only",
    source: "Li, Zhang, Ma, Ngan 2011, IEEE Trans. Multimedia 13(5); libvmaf integer_adm.c",
    limits: "33x33 samples and more, 8 to 16 bits; adm_norm_view_dist times \
             adm_ref_display_height at least 3240",
    options: &[
        switch(
            "debug",
            "debug",
            false,
            "Report numerators and denominators, too",
        ),
        number(
            "adm_csf_scale",
            "scf",
            (1.0, 0.0, 50.0),
            "Scale of the sensitivity to horizontal and vertical details, in adm_csf_mode 1",
        ),
        number(
            "adm_csf_diag_scale",
            "scfd",
            (1.0, 0.0, 50.0),
            "Scale of the sensitivity to diagonal details, in adm_csf_mode 1",
        ),
        number(
            "adm_dlm_weight",
            "dlmw",
            (0.5, 0.0, 1.0),
            "Share of adm2 in adm3; 1 leaves aim out",
        ),
        number(
            "adm_enhn_gain_limit",
            "egl",
            (100.0, 1.0, 100.0),
            "Largest gain by which enhanced details count; 1 gives enhancement no reward",
        ),
        number(
            "adm_norm_view_dist",
            "nvd",
            (3.0, 0.75, 24.0),
            "Viewing distance in heights of the display",
        ),
        whole(
            "adm_ref_display_height",
            "rdh",
            (1080, 1, 4320),
            "Height of the display in pixels",
        ),
        whole(
            "adm_csf_mode",
            "csf",
            (0, 0, 3),
            "Contrast sensitivity: 0 Watson, 1 Barten (overflows on the finest level, as in \
             libvmaf), 2 and 3 fits between both",
        ),
        number(
            "adm_noise_weight",
            "nw",
            (0.03125, 0.0, 1500.0),
            "Noise that is added to the contrast of each place",
        ),
        switch(
            "adm_skip_aim",
            "adm_skip_aim",
            false,
            "Leave aim at 0 and save its time",
        ),
        switch("adm_skip_scale0", "ssz", true, "Leave out the finest level"),
        number(
            "adm_min_val",
            "min",
            (0.0, 0.0, 1.0),
            "Smallest adm3; smaller ones are raised to it",
        ),
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
    exactness: Exactness::Libm,
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
        if format.width() < MIN_SIZE || format.height() < MIN_SIZE {
            return Err(Refusal::TooSmall {
                feature: NAME,
                width: format.width(),
                height: format.height(),
                min_width: MIN_SIZE,
                min_height: MIN_SIZE,
            });
        }
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
