//! Frames to score: a short clip that holds every kind of picture that trips a kernel.
//!
//! What must stay true: the same format gives the same samples, so that a clip can be made again
//! and compared with one that a plugin has read.

use std::sync::Arc;

use vmafx_api::{ApiError, Frame, FrameFormat, FrameJob, FramePair, HostFrame, Samples};

use crate::check::{Verdict, fail};

/// What the frame pairs of a clip show.
const KINDS: [(&str, Picture, Picture); 8] = [
    (
        "a scene and its coarse copy",
        Picture::Scene(0),
        Picture::Coarse(0),
    ),
    (
        "a moved scene and its coarse copy",
        Picture::Scene(3),
        Picture::Coarse(3),
    ),
    (
        "noise and other noise",
        Picture::Noise(1),
        Picture::Noise(2),
    ),
    (
        "all 0 and all peak",
        Picture::Flat(false),
        Picture::Flat(true),
    ),
    (
        "all peak and all 0",
        Picture::Flat(true),
        Picture::Flat(false),
    ),
    (
        "a checkerboard of 0 and peak and its inverse",
        Picture::Checks(0),
        Picture::Checks(1),
    ),
    (
        "a scene and the same frame",
        Picture::Scene(6),
        Picture::Scene(6),
    ),
    ("noise and all 0", Picture::Noise(3), Picture::Flat(false)),
];

#[derive(Clone, Copy, PartialEq)]
enum Picture {
    /// Blocks with edges over a slope with fine texture, moved by so many samples.
    Scene(u32),
    /// The scene with fewer levels and a little noise.
    Coarse(u32),
    /// Noise over the full range.
    Noise(u32),
    /// Every sample 0, or every sample the largest.
    Flat(bool),
    /// 0 and the largest sample by turns.
    Checks(u32),
}

impl Picture {
    fn sample(self, peak: u32, plane: u32, x: u32, y: u32) -> u32 {
        match self {
            Picture::Scene(shift) => {
                let x = x + shift;
                let blocks = (x / 9 + y / 7 + plane) % 3 * peak / 8;
                let slope = (x * 3 + y * 2 + plane * 40) % 256 * peak / 512;
                let texture = hash(x, y, plane) % (peak / 16 + 1);
                blocks + slope + texture
            }
            Picture::Coarse(shift) => {
                let step = peak / 24 + 1;
                let scene = Picture::Scene(shift).sample(peak, plane, x, y);
                let noise = hash(x, y, plane + 77) % (peak / 32 + 1);
                (scene / step * step + noise).min(peak)
            }
            Picture::Noise(seed) => hash(x, y, plane + 1000 * seed) & peak,
            Picture::Flat(bright) => u32::from(bright) * peak,
            Picture::Checks(odd) => ((x + y + odd) % 2) * peak,
        }
    }

    fn frame(self, format: FrameFormat) -> Arc<Frame> {
        let mut samples = Vec::with_capacity(format.frame_samples());
        for plane in 0..format.plane_count() {
            let size = format.plane_size(plane);
            for y in 0..size.height as u32 {
                let row = 0..size.width as u32;
                samples.extend(row.map(|x| self.sample(format.peak(), plane as u32, x, y)));
            }
        }
        frame_of(format, &samples)
    }
}

/// A frame of the samples given, all planes one after another.
fn frame_of(format: FrameFormat, samples: &[u32]) -> Arc<Frame> {
    let mut frame = HostFrame::new(format);
    match format.depth() {
        8 => {
            for (to, &sample) in frame.bytes_mut().iter_mut().zip(samples) {
                *to = sample as u8;
            }
        }
        _ => {
            for (to, &sample) in frame.words_mut().iter_mut().zip(samples) {
                *to = sample as u16;
            }
        }
    }
    Arc::new(frame.into())
}

/// Mixes a place into 32 bits without pattern (the finaliser of splitmix64).
fn hash(x: u32, y: u32, z: u32) -> u32 {
    let mut state = (u64::from(x) << 32 | u64::from(y)) ^ u64::from(z) << 17;
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ state >> 31) as u32
}

/// A clip of one pair of each kind.
#[derive(Debug)]
pub(crate) struct Clip {
    format: FrameFormat,
    pairs: Vec<FramePair>,
}

impl Clip {
    pub(crate) fn new(format: FrameFormat) -> Self {
        let pairs = KINDS.iter().map(|(_, reference, distorted)| {
            let first = reference.frame(format);
            let second = match reference == distorted {
                true => first.clone(),
                false => distorted.frame(format),
            };
            FramePair {
                reference: first,
                distorted: second,
            }
        });
        Clip {
            format,
            pairs: pairs.collect(),
        }
    }

    /// The same luma with chroma of another clip.
    pub(crate) fn with_other_chroma(&self) -> Self {
        let other = |frame: &Arc<Frame>, seed| {
            let luma = samples(frame)
                .into_iter()
                .take(self.format.plane_size(0).area());
            let peak = self.format.peak();
            let rest = luma.len()..self.format.frame_samples();
            let rest = rest.map(|at| hash(at as u32, seed, 5) & peak);
            let all: Vec<_> = luma.chain(rest).collect();
            frame_of(self.format, &all)
        };
        let pairs = self.pairs.iter().map(|pair| FramePair {
            reference: other(&pair.reference, 1),
            distorted: other(&pair.distorted, 2),
        });
        Clip {
            format: self.format,
            pairs: pairs.collect(),
        }
    }

    /// Where the two frames of a pair are one, two equal ones.
    pub(crate) fn with_separate_frames(&self) -> Self {
        let pairs = self.pairs.iter().map(|pair| FramePair {
            reference: pair.reference.clone(),
            distorted: frame_of(self.format, &samples(&pair.distorted)),
        });
        Clip {
            format: self.format,
            pairs: pairs.collect(),
        }
    }

    /// The clip with other frames of the same samples. Where the two frames of a pair are one, so
    /// they are then.
    pub(crate) fn with_frames(
        &self,
        make: impl Fn(&Frame) -> Result<Arc<Frame>, ApiError>,
    ) -> Result<Self, ApiError> {
        let pairs = self.pairs.iter().map(|pair| {
            let reference = make(&pair.reference)?;
            let distorted = match Arc::ptr_eq(&pair.reference, &pair.distorted) {
                true => reference.clone(),
                false => make(&pair.distorted)?,
            };
            Ok(FramePair {
                reference,
                distorted,
            })
        });
        Ok(Clip {
            format: self.format,
            pairs: pairs.collect::<Result<_, ApiError>>()?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// What pair `at` shows.
    pub(crate) fn kind(&self, at: usize) -> &'static str {
        KINDS[at % KINDS.len()].0
    }

    pub(crate) fn pair(&self, at: usize) -> &FramePair {
        &self.pairs[at]
    }

    /// Frame `at` with up to `history` frames before it.
    pub(crate) fn job(&self, at: usize, history: usize) -> FrameJob {
        let earlier = self.pairs[..at].iter().rev().take(history);
        FrameJob::new(
            at as u64,
            self.pairs[at].clone(),
            earlier.cloned().collect(),
        )
    }

    /// Frame `at` as one in the middle of a clip that is this one over and over: with `history`
    /// frames before it, however many that is.
    pub(crate) fn job_within(&self, at: usize, history: usize) -> FrameJob {
        let whole = self.pairs[..at].iter().rev();
        let earlier = whole.chain(self.pairs.iter().rev().cycle()).take(history);
        let index = (history + at) as u64;
        FrameJob::new(index, self.pairs[at].clone(), earlier.cloned().collect())
    }

    /// Whether every sample is what it was made as.
    pub(crate) fn unchanged(&self) -> Verdict {
        for (at, (pair, (kind, first, second))) in self.pairs.iter().zip(KINDS).enumerate() {
            let sides = [
                ("reference", &pair.reference, first),
                ("distorted", &pair.distorted, second),
            ];
            for (side, frame, picture) in sides {
                let (now, made) = (samples(frame), samples(&picture.frame(self.format)));
                if let Some(place) = now.iter().zip(&made).position(|(now, made)| now != made) {
                    return fail(format!(
                        "sample {place} of the {side} frame {at} ({kind}, {}) was {}, is {}; \
                         frames are lent to be read only",
                        self.format, made[place], now[place]
                    ));
                }
            }
        }
        Ok(())
    }

    /// The first frame that somebody else still holds, and how many do.
    pub(crate) fn still_held(&self) -> Option<(usize, usize)> {
        self.pairs.iter().enumerate().find_map(|(at, pair)| {
            let own = match Arc::ptr_eq(&pair.reference, &pair.distorted) {
                true => 2,
                false => 1,
            };
            let frames = [&pair.reference, &pair.distorted];
            let held = frames.map(|frame| Arc::strong_count(frame).saturating_sub(own));
            let most = held[0].max(held[1]);
            (most > 0).then_some((at, most))
        })
    }
}

/// All samples of a frame in host memory, plane after plane.
fn samples(frame: &Frame) -> Vec<u32> {
    let Some(view) = frame.host() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for plane in (0..3).filter_map(|plane| view.plane(plane)) {
        match plane.samples() {
            Samples::U8(samples) => all.extend(samples.iter().map(|&sample| u32::from(sample))),
            Samples::U16(samples) => all.extend(samples.iter().map(|&sample| u32::from(sample))),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmafx_api::Chroma;

    #[test]
    fn samples_fit_their_depth_and_reach_both_ends() {
        for depth in [8, 10, 12, 16] {
            let format = FrameFormat::new(33, 17, Chroma::Yuv422, depth).unwrap();
            let clip = Clip::new(format);
            let mut all = Vec::new();
            for pair in &clip.pairs {
                for frame in [&pair.reference, &pair.distorted] {
                    let samples = samples(frame);
                    assert_eq!(samples.len(), format.frame_samples());
                    all.extend(samples);
                }
            }
            assert_eq!(all.iter().max(), Some(&format.peak()));
            assert_eq!(all.iter().min(), Some(&0));
            let scene = samples(&clip.pairs[0].reference);
            let levels: std::collections::BTreeSet<_> = scene.iter().collect();
            assert!(levels.len() > 100, "a scene of {} levels", levels.len());
        }
    }

    #[test]
    fn a_clip_that_was_written_to_is_known() {
        let format = FrameFormat::new(16, 8, Chroma::Yuv420, 10).unwrap();
        let mut clip = Clip::new(format);
        assert_eq!(clip.unchanged(), Ok(()));
        assert_eq!(clip.still_held(), None);
        let held = clip.pairs[6].distorted.clone();
        assert_eq!(clip.still_held(), Some((6, 1)));
        drop(held);
        let mut samples = samples(&clip.pairs[2].distorted);
        samples[9] ^= 1;
        clip.pairs[2].distorted = frame_of(format, &samples);
        let text = format!("{:?}", clip.unchanged().unwrap_err());
        assert!(text.contains("sample 9 of the distorted frame 2"), "{text}");
    }

    #[test]
    fn a_clip_goes_round_for_those_who_look_far_back() {
        let clip = Clip::new(FrameFormat::new(16, 8, Chroma::Yuv420, 8).unwrap());
        let job = clip.job_within(1, 16);
        assert_eq!((job.index, job.earlier.len()), (17, 16));
        for (back, place) in [(0, 0), (1, 7), (8, 0), (15, 1)] {
            let (earlier, pair) = (&job.earlier[back], &clip.pairs[place]);
            assert!(Arc::ptr_eq(&earlier.reference, &pair.reference), "{back}");
        }
    }

    #[test]
    fn only_chroma_changes_where_it_should() {
        let format = FrameFormat::new(16, 8, Chroma::Yuv420, 8).unwrap();
        let clip = Clip::new(format);
        let other = clip.with_other_chroma();
        let (was, is) = (
            samples(&clip.pairs[0].reference),
            samples(&other.pairs[0].reference),
        );
        assert_eq!(was[..128], is[..128]);
        assert_ne!(was[128..], is[128..]);
        let separate = clip.with_separate_frames();
        assert!(!Arc::ptr_eq(
            &separate.pairs[6].reference,
            &separate.pairs[6].distorted
        ));
        assert_eq!(separate.unchanged(), Ok(()));
    }
}
