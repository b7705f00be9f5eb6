//! The clip stage of motion: sad scores of frames in order to motion2 and motion3.
//!
//! With `d` the distance of the comparison (1, or 2 with the five-frame window), the first `d`
//! frames have no sad score of their own. motion2 of frame `i >= d` is the smaller of the sad
//! scores at `i + 1 - d` and `i + 1`, of which those before `d` do not count, and its own if
//! `i` is the last frame. The first `d` frames have a motion2 of 0, but take their motion3 from
//! the sad score of frame `d`.
//!
//! What must stay true: a frame's late scores leave as soon as the frame after it is known, and
//! the state is a few numbers, however long the clip.

use vmafx_api::Value;

use super::{Names, Settings};
use crate::{Aggregate, Clip, Emission, Options, ScoreInfo};

/// The clip stage of motion.
#[derive(Debug)]
pub(super) struct Neighbours {
    settings: Settings,
    scores: Vec<ScoreInfo>,
    /// Frames taken.
    frames: u64,
    /// Sad scores of the last frames, the newest first.
    recent: [f64; 3],
    /// The newest motion3 before averaging.
    processed: f64,
}

impl Neighbours {
    /// A stage for one clip.
    pub(super) fn new(options: &Options, names: &Names) -> Self {
        let settings = Settings::from(options);
        let debug = names.debug.filter(|_| settings.debug);
        let scores = [
            (Some(names.sad), false),
            (debug, false),
            (Some(names.motion2), true),
            (Some(names.motion3), true),
        ];
        let scores = scores
            .into_iter()
            .filter_map(|(output, late)| Some((output?, late)));
        Neighbours {
            settings,
            scores: scores
                .map(|(output, late)| ScoreInfo {
                    name: options.score_name(&output),
                    late,
                })
                .collect(),
            frames: 0,
            recent: [0.0; 3],
            processed: 0.0,
        }
    }

    /// motion3 of a motion2 score, before averaging.
    fn process(&self, motion2: f64) -> f64 {
        let Settings {
            blend_factor: factor,
            blend_offset: offset,
            max_val,
            ..
        } = self.settings;
        let blended = motion2 * factor + (1.0 - factor) * offset.min(motion2);
        blended.min(max_val)
    }

    /// Emits the late scores of the frames without a partner.
    fn emit_first(&self, count: u64, motion3: f64, emit: &mut dyn FnMut(Emission)) {
        for frame in 0..count {
            self.emit_late(frame, 0.0, motion3, emit);
        }
    }

    /// Emits the late scores of a frame with a partner.
    fn emit_next(&mut self, frame: u64, motion2: f64, emit: &mut dyn FnMut(Emission)) {
        let processed = self.process(motion2);
        let motion3 = if self.settings.moving_average {
            (processed + self.processed) / 2.0
        } else {
            processed
        };
        self.processed = processed;
        self.emit_late(frame, motion2, motion3, emit);
    }

    fn emit_late(&self, frame: u64, motion2: f64, motion3: f64, emit: &mut dyn FnMut(Emission)) {
        let first = self.scores.len() - 2;
        for (score, value) in [(first, motion2), (first + 1, motion3)] {
            emit(Emission {
                frame,
                score,
                value,
            });
        }
    }
}

impl Clip for Neighbours {
    fn scores(&self) -> &[ScoreInfo] {
        &self.scores
    }

    fn push(&mut self, frame: u64, values: &[Value], emit: &mut dyn FnMut(Emission)) {
        let sad = values[0].as_score();
        for score in 0..self.scores.len() - 2 {
            emit(Emission {
                frame,
                score,
                value: sad,
            });
        }

        self.recent = [sad, self.recent[0], self.recent[1]];
        self.frames = frame + 1;
        let distance = self.settings.distance() as u64;
        if frame == distance {
            self.processed = self.process(sad);
            self.emit_first(distance, self.processed, emit);
        } else if frame > distance {
            // The frame before this one lies between this sad score and the one `distance`
            // before it, if that one exists.
            let below = self.recent[distance as usize];
            let motion2 = if frame >= 2 * distance {
                below.min(sad)
            } else {
                sad
            };
            self.emit_next(frame - 1, motion2, emit);
        }
    }

    fn finish(&mut self, emit: &mut dyn FnMut(Emission)) -> Vec<Aggregate> {
        let distance = self.settings.distance() as u64;
        if self.frames > distance {
            self.emit_next(self.frames - 1, self.recent[0], emit);
        } else {
            self.emit_first(self.frames, 0.0, emit);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Metric,
        motion::{MOTION, MOTION_V2, NAMES, NAMES_V2},
    };

    /// Scores of a clip with the sad scores given: sad, motion2 and motion3 a frame.
    fn clip(options: &[(&str, &str)], sads: &[f64]) -> Vec<[f64; 3]> {
        let mut set = Options::defaults(MOTION.definition());
        for (name, value) in options {
            set.set_text(name, value).unwrap();
        }
        let mut stage = Neighbours::new(&set, &NAMES);
        let mut scores = vec![[f64::NAN; 3]; sads.len()];
        let mut late = Vec::new();
        let mut emit = |e: Emission| {
            let place = &mut scores[e.frame as usize][e.score];
            assert!(
                place.is_nan(),
                "frame {} has score {} twice",
                e.frame,
                e.score
            );
            *place = e.value;
            if e.score > 0 {
                late.push((e.frame, e.score));
            }
        };
        for (frame, &sad) in sads.iter().enumerate() {
            stage.push(frame as u64, &[Value::score(sad)], &mut emit);
        }
        assert!(stage.finish(&mut emit).is_empty());
        assert!(late.is_sorted(), "late scores leave in order");
        scores
    }

    fn column(scores: &[[f64; 3]], index: usize) -> Vec<f64> {
        scores.iter().map(|frame| frame[index]).collect()
    }

    #[test]
    fn cut_and_hold() {
        let sads = [0.0, 4.0, 90.0, 6.0, 0.0, 8.0];
        let scores = clip(&[], &sads);
        assert_eq!(column(&scores, 0), sads);
        assert_eq!(column(&scores, 1), [0.0, 4.0, 6.0, 0.0, 0.0, 8.0]);
        assert_eq!(column(&scores, 2), [4.0, 4.0, 6.0, 0.0, 0.0, 8.0]);
    }

    #[test]
    fn five_frame_window() {
        // Frame 2 has no sad score at 1 to compare with, so it takes that of frame 3.
        let sads = [0.0, 0.0, 5.0, 9.0, 2.0, 7.0, 3.0];
        let scores = clip(&[("mffw", "true")], &sads);
        assert_eq!(column(&scores, 1), [0.0, 0.0, 9.0, 2.0, 7.0, 2.0, 3.0]);
        assert_eq!(column(&scores, 2), [5.0, 5.0, 9.0, 2.0, 7.0, 2.0, 3.0]);
    }

    #[test]
    fn blend_limit_and_average() {
        let sads = [0.0, 4.0, 10.0, 14.0];
        let options = [("mbf", "0.5"), ("mbo", "6"), ("mmxv", "9"), ("mma", "true")];
        let scores = clip(&options, &sads);
        assert_eq!(column(&scores, 1), [0.0, 4.0, 10.0, 14.0]);
        // Before averaging: 4, 4, 8, 10 of which 9 is left.
        assert_eq!(column(&scores, 2), [4.0, 4.0, 6.0, 8.5]);
    }

    #[test]
    fn short_clips() {
        assert!(clip(&[], &[]).is_empty());
        assert_eq!(clip(&[], &[0.0]), [[0.0; 3]]);
        assert_eq!(clip(&[], &[0.0, 7.0]), [[0.0, 0.0, 7.0], [7.0; 3]]);
        let five = [("mffw", "true")];
        assert_eq!(clip(&five, &[0.0, 0.0]), [[0.0; 3]; 2]);
        let three = [[0.0, 0.0, 7.0], [0.0, 0.0, 7.0], [7.0; 3]];
        assert_eq!(clip(&five, &[0.0, 0.0, 7.0]), three);
    }

    #[test]
    fn late_scores_leave_with_the_next_frame() {
        let mut set = Options::defaults(MOTION.definition());
        set.set_text("debug", "true").unwrap();
        set.set_text("mfw", "1.5").unwrap();
        let mut stage = Neighbours::new(&set, &NAMES);
        let names: Vec<_> = stage
            .scores()
            .iter()
            .map(|s| (s.name.as_str(), s.late))
            .collect();
        assert_eq!(
            names,
            [
                ("VMAF_integer_feature_motion_sad_score_mfw_1.5", false),
                ("integer_motion_mfw_1.5", false),
                ("integer_motion2_mfw_1.5", true),
                ("integer_motion3_mfw_1.5", true),
            ]
        );
        let mut push = |frame, sad| {
            let mut seen = Vec::new();
            let values = [Value::score(sad)];
            stage.push(frame, &values, &mut |e| {
                seen.push((e.frame, e.score, e.value))
            });
            seen
        };
        assert_eq!(push(0, 0.0), [(0, 0, 0.0), (0, 1, 0.0)]);
        let second = [(1, 0, 3.0), (1, 1, 3.0), (0, 2, 0.0), (0, 3, 3.0)];
        assert_eq!(push(1, 3.0), second);
        let third = [(2, 0, 2.0), (2, 1, 2.0), (1, 2, 2.0), (1, 3, 2.0)];
        assert_eq!(push(2, 2.0), third);
    }

    #[test]
    fn the_other_name_gives_the_same_scores_under_its_own() {
        let mut set = Options::defaults(MOTION_V2.definition());
        set.set_text("mfw", "1.5").unwrap();
        assert!(set.set_text("debug", "true").is_err());
        let mut stage = Neighbours::new(&set, &NAMES_V2);
        let names: Vec<_> = stage.scores().iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "VMAF_integer_feature_motion_v2_sad_score_mfw_1.5",
                "VMAF_integer_feature_motion2_v2_score_mfw_1.5",
                "VMAF_integer_feature_motion3_v2_score_mfw_1.5",
            ]
        );
        let mut seen = Vec::new();
        for (frame, sad) in [0.0, 3.0, 2.0].into_iter().enumerate() {
            let values = [Value::score(sad)];
            stage.push(frame as u64, &values, &mut |e| {
                seen.push((e.frame, e.score, e.value))
            });
        }
        assert_eq!(
            seen[3..],
            [(0, 2, 3.0), (2, 0, 2.0), (1, 1, 2.0), (1, 2, 2.0)]
        );
    }
}
