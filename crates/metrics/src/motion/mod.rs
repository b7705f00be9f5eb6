//! Motion (`motion`): how much the reference changes from frame to frame, as the mean absolute
//! difference of blurred luma; three scores, of which the later ones look at neighbouring
//! frames.
//!
//! Z. Li et al., "Toward a practical perceptual video quality metric", Netflix Technology Blog,
//! 2016 (the temporal feature of VMAF), in the fixed-point form of libvmaf's
//! `integer_motion.c`.
//!
//! | score | of frame `i` |
//! | --- | --- |
//! | sad | difference to the frame before, or two before with the five-frame window |
//! | motion2 | the smaller of the sad scores on both sides, so that a cut does not count |
//! | motion3 | motion2 blended, limited, and averaged with its predecessor, as options say |
//!
//! What must stay true: the distorted clip is never read, and every frame is seen even where
//! other metrics skip some, because each is the neighbour of the next.

mod neighbours;
mod pixels;

use vmafx_api::{FrameFormat, Value};

use neighbours::Neighbours;
pub use pixels::{Scratch, Sums, TAPS, reference};

use crate::definition::{Column, Definition, Entry, Exactness, Metric, OptionInfo, Output, Planes};
use crate::{Clip, Options};

/// Smallest width and height: the window reaches two samples past the border.
pub const MIN_SIZE: u32 = 3;

static DEFINITION: Definition = Definition {
    name: "motion",
    version: 1,
    summary: "blurred frame difference of the reference, integer arithmetic",
    source: "Li et al., Toward a practical perceptual video quality metric, 2016; \
             libvmaf integer_motion.c",
    min_size: (MIN_SIZE, MIN_SIZE),
    planes: Planes::Luma,
    options: &OPTIONS,
    outputs: &[
        NAMES.sad,
        Output {
            internal: "VMAF_integer_feature_motion_score",
            name: "integer_motion",
        },
        NAMES.motion2,
        NAMES.motion3,
    ],
    aggregates: &[],
    exactness: Exactness::Equal,
    every_frame: true,
};

/// The same metric by the name that libvmaf had for it before it took the place of an older
/// motion; scores have names of their own, so that both can be asked for.
static DEFINITION_V2: Definition = Definition {
    name: "motion_v2",
    summary: "motion under the score names of libvmaf's motion_v2",
    source: "libvmaf integer_motion_v2.c, which became integer_motion.c in 2026",
    options: OPTIONS.split_at(OPTIONS.len() - 1).0,
    outputs: &[NAMES_V2.sad, NAMES_V2.motion2, NAMES_V2.motion3],
    ..DEFINITION
};

/// The last, `debug`, is of `motion` alone.
const OPTIONS: [OptionInfo; 8] = [
    OptionInfo::switch("motion_force_zero", false, "report 0 for every frame").in_names("force_0"),
    OptionInfo::number(
        "motion_blend_factor",
        (1.0, 0.0, 1.0),
        "share of a score above motion_blend_offset that counts in motion3",
    )
    .in_names("mbf"),
    OptionInfo::number(
        "motion_blend_offset",
        (40.0, 0.0, 1000.0),
        "score from which motion_blend_factor applies",
    )
    .in_names("mbo"),
    OptionInfo::number(
        "motion_fps_weight",
        (1.0, 0.0, 5.0),
        "factor on every score that makes up for the frame rate",
    )
    .in_names("mfw"),
    OptionInfo::number(
        "motion_max_val",
        (10000.0, 0.0, 10000.0),
        "largest score; larger ones are cut to it",
    )
    .in_names("mmxv"),
    OptionInfo::switch(
        "motion_five_frame_window",
        false,
        "compare with the frame two before, so that five frames make a score",
    )
    .in_names("mffw"),
    OptionInfo::switch(
        "motion_moving_average",
        false,
        "average motion3 with its predecessor, from the second compared frame on",
    )
    .in_names("mma"),
    OptionInfo::switch(
        "debug",
        false,
        "also report the sad score under the name integer_motion",
    ),
];

/// The scores of a metric of this module.
#[derive(Debug)]
struct Names {
    sad: Output,
    /// The sad score again, with `debug`.
    debug: Option<Output>,
    motion2: Output,
    motion3: Output,
}

const NAMES: Names = Names {
    sad: Output {
        internal: "VMAF_integer_feature_motion_sad_score",
        name: "VMAF_integer_feature_motion_sad_score",
    },
    debug: Some(Output {
        internal: "VMAF_integer_feature_motion_score",
        name: "integer_motion",
    }),
    motion2: Output {
        internal: "VMAF_integer_feature_motion2_score",
        name: "integer_motion2",
    },
    motion3: Output {
        internal: "VMAF_integer_feature_motion3_score",
        name: "integer_motion3",
    },
};

const NAMES_V2: Names = Names {
    sad: Output {
        internal: "VMAF_integer_feature_motion_v2_sad_score",
        name: "VMAF_integer_feature_motion_v2_sad_score",
    },
    debug: None,
    motion2: Output {
        internal: "VMAF_integer_feature_motion2_v2_score",
        name: "VMAF_integer_feature_motion2_v2_score",
    },
    motion3: Output {
        internal: "VMAF_integer_feature_motion3_v2_score",
        name: "VMAF_integer_feature_motion3_v2_score",
    },
};

/// The metrics of this module: `motion`, and the same as `motion_v2`.
#[derive(Debug)]
pub struct Motion {
    definition: &'static Definition,
    names: Names,
}

/// `motion`.
pub static MOTION: Motion = Motion {
    definition: &DEFINITION,
    names: NAMES,
};
/// `motion_v2`.
pub static MOTION_V2: Motion = Motion {
    definition: &DEFINITION_V2,
    names: NAMES_V2,
};

inventory::submit!(Entry(&MOTION));
inventory::submit!(Entry(&MOTION_V2));

/// The options in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether every score is 0 and no frame is read.
    pub force_zero: bool,
    /// Share of a score above `blend_offset` that counts in motion3.
    pub blend_factor: f64,
    /// Score from which `blend_factor` applies.
    pub blend_offset: f64,
    /// Factor on the sad score.
    pub fps_weight: f64,
    /// Largest score.
    pub max_val: f64,
    /// Whether a frame is compared with the one two before.
    pub five_frame_window: bool,
    /// Whether motion3 is averaged with its predecessor.
    pub moving_average: bool,
    /// Whether the sad score is also reported as `integer_motion`; never by `motion_v2`.
    pub debug: bool,
}

impl From<&Options> for Settings {
    fn from(options: &Options) -> Self {
        Settings {
            force_zero: options.bool("motion_force_zero"),
            blend_factor: options.float("motion_blend_factor"),
            blend_offset: options.float("motion_blend_offset"),
            fps_weight: options.float("motion_fps_weight"),
            max_val: options.float("motion_max_val"),
            five_frame_window: options.bool("motion_five_frame_window"),
            moving_average: options.bool("motion_moving_average"),
            debug: options.definition().name == DEFINITION.name && options.bool("debug"),
        }
    }
}

impl Settings {
    /// How many frames back a frame is compared; as many frames at the start of the clip have
    /// no partner.
    pub fn distance(&self) -> usize {
        if self.five_frame_window { 2 } else { 1 }
    }
}

impl Metric for Motion {
    fn definition(&self) -> &'static Definition {
        self.definition
    }

    fn columns(&self, _format: &FrameFormat, _options: &Options) -> Vec<Column> {
        vec![Column::Score(self.names.sad)]
    }

    fn history(&self, options: &Options) -> usize {
        let settings = Settings::from(options);
        if settings.force_zero {
            0
        } else {
            settings.distance()
        }
    }

    fn clip(&self, _format: &FrameFormat, options: &Options) -> Box<dyn Clip> {
        Box::new(Neighbours::new(options, &self.names))
    }
}

/// Turns the sum of one frame of `format` into its column.
///
/// # Panics
/// If `values` has not one element.
pub fn finish(sums: &Sums, settings: &Settings, format: &FrameFormat, values: &mut [Value]) {
    let area = f64::from(format.width()) * f64::from(format.height());
    let score = sums.sad as f64 / 256.0 / area * settings.fps_weight;
    write(score.min(settings.max_val), values);
}

/// Writes the column of a frame that is not compared: one at the start of the clip, or any with
/// [`Settings::force_zero`].
///
/// # Panics
/// If `values` has not one element.
pub fn finish_first(values: &mut [Value]) {
    write(0.0, values);
}

fn write(score: f64, values: &mut [Value]) {
    let [value] = values else {
        panic!("motion has one column, not {}", values.len())
    };
    *value = Value::score(score);
}

#[cfg(test)]
mod tests {
    use vmafx_api::Chroma;

    use super::*;

    fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::defaults(&DEFINITION);
        for (name, value) in settings {
            options.set_text(name, value).unwrap();
        }
        options
    }

    #[test]
    fn sad_score() {
        let format = FrameFormat::new(10, 5, Chroma::Yuv420, 8).unwrap();
        let score = |settings: &[(&str, &str)]| {
            let mut values = [Value::default()];
            let settings = Settings::from(&options(settings));
            finish(&Sums { sad: 256 * 50 * 3 }, &settings, &format, &mut values);
            values[0].as_score()
        };
        assert_eq!(score(&[]), 3.0);
        assert_eq!(score(&[("mfw", "1.5")]), 4.5);
        assert_eq!(score(&[("mfw", "1.5"), ("mmxv", "4")]), 4.0);
        let mut values = [Value::score(1.0)];
        finish_first(&mut values);
        assert_eq!(values[0].as_score(), 0.0);
    }

    #[test]
    fn earlier_frames() {
        assert_eq!(MOTION.history(&options(&[])), 1);
        assert_eq!(MOTION.history(&options(&[("mffw", "true")])), 2);
        assert_eq!(
            MOTION.history(&options(&[("mffw", "true"), ("force_0", "true")])),
            0
        );
    }

    #[test]
    fn smallest_size() {
        let check = |width, height| {
            let format = FrameFormat::new(width, height, Chroma::Yuv420, 8).unwrap();
            MOTION.check(&format, &options(&[]))
        };
        assert_eq!(check(3, 3), Ok(()));
        assert_eq!(
            check(2, 9).unwrap_err().to_string(),
            "motion needs frames of at least 3x3, these are 2x9"
        );
        assert!(check(9, 2).is_err());
    }
}
