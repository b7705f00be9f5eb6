//! The text of a synthetic source: words, ranges, defaults. [`SynthSpec`] documents them.
//!
//! What must stay true: every number is checked here, so that the formulas cannot overflow or
//! divide by zero; and no character needs quoting in a shell.

use std::fmt;
use std::str::FromStr;

use vmafx_api::{Chroma, FrameFormat};

use crate::clips;
use crate::error::MediaError;

/// What a scene shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SceneKind {
    Texture,
    Gradient,
    Black,
    Flat,
    Checker,
    Random,
}

const SCENES: [(&str, SceneKind); 6] = [
    ("tex", SceneKind::Texture),
    ("grad", SceneKind::Gradient),
    ("black", SceneKind::Black),
    ("flat", SceneKind::Flat),
    ("checker", SceneKind::Checker),
    ("rand", SceneKind::Random),
];

/// A scene and its parameters, each within its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scene {
    pub(super) kind: SceneKind,
    pub(super) seed: i64,
    pub(super) hold: i64,
    pub(super) cut: i64,
    pub(super) px: i64,
    pub(super) py: i64,
    pub(super) grain: i64,
    pub(super) gx: i64,
    pub(super) gy: i64,
    pub(super) k: i64,
    pub(super) level: i64,
}

const MAX_FRAMES: i64 = 1_000_000_000;

/// Name, smallest and largest value of a scene's parameters, and the scenes that have them.
const PARAMETERS: [(&str, i64, i64, &[SceneKind]); 10] = {
    use SceneKind::{Black, Checker, Flat, Gradient, Random, Texture};
    [
        (
            "seed",
            0,
            u32::MAX as i64,
            &[Texture, Gradient, Black, Flat, Checker, Random],
        ),
        ("hold", 1, MAX_FRAMES, &[Texture, Gradient, Random]),
        ("cut", 0, MAX_FRAMES, &[Texture, Random]),
        ("px", -4096, 4096, &[Texture]),
        ("py", -4096, 4096, &[Texture]),
        ("grain", 0, 256, &[Texture]),
        ("gx", 0, 1_000_000, &[Gradient]),
        ("gy", 0, 1_000_000, &[Gradient]),
        ("k", 1, 65536, &[Checker]),
        ("level", 0, 65535, &[Flat]),
    ]
};

impl Scene {
    fn new(kind: SceneKind) -> Self {
        Scene {
            kind,
            seed: 1,
            hold: 1,
            cut: 0,
            px: 2,
            py: 1,
            grain: 4,
            gx: 9000,
            gy: 5000,
            k: 8,
            level: 32768,
        }
    }

    fn parameter(&mut self, name: &str) -> Option<&mut i64> {
        Some(match name {
            "seed" => &mut self.seed,
            "hold" => &mut self.hold,
            "cut" => &mut self.cut,
            "px" => &mut self.px,
            "py" => &mut self.py,
            "grain" => &mut self.grain,
            "gx" => &mut self.gx,
            "gy" => &mut self.gy,
            "k" => &mut self.k,
            "level" => &mut self.level,
            _ => return None,
        })
    }

    /// Parameters of this scene whose values are not those of `other`.
    fn differences(&self, other: &Scene) -> Vec<(&'static str, i64)> {
        let (mut a, mut b) = (self.clone(), other.clone());
        let value = |scene: &mut Scene, name| scene.parameter(name).copied();
        PARAMETERS
            .iter()
            .filter(|(.., kinds)| kinds.contains(&self.kind))
            .filter_map(|&(name, ..)| {
                let mine = value(&mut a, name)?;
                (value(&mut b, name)? != mine).then_some((name, mine))
            })
            .collect()
    }
}

/// A step from the reference picture to the distorted one, on samples of the clip's depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distortion {
    /// 3x3 binomial blur, so many times.
    Blur(i64),
    /// Laplacian sharpening, in sixteenths.
    Sharp(i64),
    /// Noise of so many 8-bit levels.
    Noise(i64),
    /// Means of blocks of a side, and deviations in steps of so many 8-bit levels.
    Block(i64, i64),
    /// Moves the picture right and down.
    Shift(i64, i64),
    /// Drops so many bits more than the depth has over 8.
    Band(i64),
    /// Adds so many 8-bit levels.
    Add(i64),
    /// Contrast about the middle, in sixteenths.
    Gain(i64),
}

/// Name and range of each argument of the operations.
const OPERATIONS: [(&str, &[(i64, i64)]); 8] = [
    ("blur", &[(0, 64)]),
    ("sharp", &[(-256, 256)]),
    ("noise", &[(0, 255)]),
    ("block", &[(1, 65536), (1, 255)]),
    ("shift", &[(-32768, 32768), (-32768, 32768)]),
    ("band", &[(0, 8)]),
    ("add", &[(-255, 255)]),
    ("gain", &[(-256, 256)]),
];

/// Longest list of operations.
const MAX_OPERATIONS: usize = 16;

impl Distortion {
    /// `arguments` are as many as the operation takes, each in its range.
    fn new(name: &str, arguments: &[i64]) -> Option<Self> {
        Some(match (name, arguments) {
            ("blur", &[a]) => Distortion::Blur(a),
            ("sharp", &[a]) => Distortion::Sharp(a),
            ("noise", &[a]) => Distortion::Noise(a),
            ("block", &[a, b]) => Distortion::Block(a, b),
            ("shift", &[a, b]) => Distortion::Shift(a, b),
            ("band", &[a]) => Distortion::Band(a),
            ("add", &[a]) => Distortion::Add(a),
            ("gain", &[a]) => Distortion::Gain(a),
            _ => return None,
        })
    }
}

impl fmt::Display for Distortion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distortion::Blur(a) => write!(f, "blur:{a}"),
            Distortion::Sharp(a) => write!(f, "sharp:{a}"),
            Distortion::Noise(a) => write!(f, "noise:{a}"),
            Distortion::Block(a, b) => write!(f, "block:{a}:{b}"),
            Distortion::Shift(a, b) => write!(f, "shift:{a}:{b}"),
            Distortion::Band(a) => write!(f, "band:{a}"),
            Distortion::Add(a) => write!(f, "add:{a}"),
            Distortion::Gain(a) => write!(f, "gain:{a}"),
        }
    }
}

/// A clip made by formula, described by a text; `Display` writes the text in full.
///
/// ```text
/// synth:SCENE[,KEY=VALUE]...            a clip by formula
/// synth:CLIP/ref[,KEY=VALUE]...         the reference of a golden clip
/// synth:CLIP/dis[,KEY=VALUE]...         its distorted twin
/// ```
///
/// | key | value | default | of scene |
/// | --- | --- | --- | --- |
/// | `size` | `WIDTHxHEIGHT`, luma samples | 352x288 | all |
/// | `depth` | bits, 8 to 16 | 8 | all |
/// | `chroma` | 400, 420, 422, 444 | 420 | all |
/// | `frames` | 1 to 1000000000 | 48 | all |
/// | `seed` | 0 to 4294967295 | 1 | all (noise uses it too) |
/// | `hold` | frames that one picture lasts | 1 | tex, grad, rand |
/// | `cut` | frame of a scene cut, 0 for none | 0 | tex, rand |
/// | `px`, `py` | motion in samples a frame | 2, 1 | tex |
/// | `grain` | 0 to 256 | 4 | tex |
/// | `gx`, `gy` | rise over the width, the height | 9000, 5000 | grad |
/// | `k` | side of a square in samples | 8 | checker |
/// | `level` | luma, 0 to 65535 at any depth | 32768 | flat |
/// | `alt.KEY` | the same for the distorted picture alone | that of KEY | as KEY |
/// | `dist` | operations, joined by `+` | none | all |
///
/// Operations of `dist`, in the order given, with the arguments after colons:
/// `blur:TIMES`, `sharp:AMOUNT`, `noise:AMOUNT`, `block:SIDE:STEP`, `shift:RIGHT:DOWN`,
/// `band:BITS`, `add:LEVELS`, `gain:SIXTEENTHS`. Example:
/// `synth:tex,size=576x324,frames=48,dist=blur:1+block:8:12+noise:3`.
///
/// The formulas are those of the golden clips, which [`clips`] lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynthSpec {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) chroma: Chroma,
    pub(super) depth: u32,
    pub(super) frames: u64,
    pub(super) scene: Scene,
    /// The scene that the operations start from, where it is not `scene`.
    pub(super) alternative: Option<Scene>,
    pub(super) operations: Vec<Distortion>,
}

impl SynthSpec {
    /// Shape of the clip's frames.
    pub fn format(&self) -> FrameFormat {
        FrameFormat::new(self.width, self.height, self.chroma, self.depth)
            .expect("size and depth were checked when the text was read")
    }

    /// Frames of the clip.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

impl fmt::Display for SynthSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.scene.kind;
        let name = SCENES
            .iter()
            .find(|(_, k)| *k == kind)
            .map_or("", |(name, _)| name);
        write!(f, "synth:{name},size={}x{}", self.width, self.height)?;
        write!(f, ",depth={},chroma={}", self.depth, self.chroma.code())?;
        write!(f, ",frames={},seed={}", self.frames, self.scene.seed)?;
        let mut default = Scene::new(kind);
        default.seed = self.scene.seed;
        for (name, value) in self.scene.differences(&default) {
            write!(f, ",{name}={value}")?;
        }
        for (name, value) in self
            .alternative
            .iter()
            .flat_map(|a| a.differences(&self.scene))
        {
            write!(f, ",alt.{name}={value}")?;
        }
        for (index, operation) in self.operations.iter().enumerate() {
            let lead = if index == 0 { ",dist=" } else { "+" };
            write!(f, "{lead}{operation}")?;
        }
        Ok(())
    }
}

impl FromStr for SynthSpec {
    type Err = MediaError;

    fn from_str(text: &str) -> Result<Self, MediaError> {
        let parser = SpecParser { text };
        let body = text.strip_prefix("synth:").unwrap_or(text);
        let (head, rest) = body
            .split_once(',')
            .map_or((body, None), |(h, r)| (h, Some(r)));
        let mut spec = match head.split_once('/') {
            Some((clip, side)) => parser.golden(clip, side)?,
            None => parser.scene(head)?,
        };
        // The alternative starts from the scene as it is after all other keys.
        let mut later = Vec::new();
        let mut seen = Vec::new();
        for pair in rest.into_iter().flat_map(|r| r.split(',')) {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(parser.value("part", pair, "KEY=VALUE"));
            };
            if seen.contains(&key) {
                return Err(parser.value(key, value, "the only value: the key is there twice"));
            }
            seen.push(key);
            match key.strip_prefix("alt.") {
                Some(key) => later.push((key, value)),
                None => parser.set(&mut spec, key, value)?,
            }
        }
        if let Some(alternative) = &mut spec.alternative {
            // A golden clip whose scene was changed: what it alters is the seed.
            *alternative = Scene {
                seed: alternative.seed,
                ..spec.scene.clone()
            };
        }
        for (key, value) in later {
            let mut alternative = spec
                .alternative
                .take()
                .unwrap_or_else(|| spec.scene.clone());
            parser.parameter(&mut alternative, key, value)?;
            spec.alternative = Some(alternative);
        }
        spec.alternative = spec.alternative.filter(|a| *a != spec.scene);
        Ok(spec)
    }
}

/// Reads the parts of `text`, which its errors name.
struct SpecParser<'a> {
    text: &'a str,
}

impl SpecParser<'_> {
    fn word(&self, what: &'static str, word: &str, known: impl Into<String>) -> MediaError {
        MediaError::SynthWord {
            input: self.text.to_owned(),
            what,
            word: word.to_owned(),
            known: known.into(),
        }
    }

    fn value(&self, what: &str, value: &str, wanted: impl Into<String>) -> MediaError {
        MediaError::SynthValue {
            input: self.text.to_owned(),
            what: what.to_owned(),
            value: value.to_owned(),
            wanted: wanted.into(),
        }
    }

    fn golden(&self, name: &str, side: &str) -> Result<SynthSpec, MediaError> {
        let Some(clip) = clips::find(name) else {
            return Err(self.word("clip", name, "those of the golden clip table"));
        };
        match side {
            "ref" => clip.reference().parse(),
            "dis" => clip.distorted().parse(),
            _ => Err(self.word("side of a clip", side, "ref, dis")),
        }
    }

    fn scene(&self, name: &str) -> Result<SynthSpec, MediaError> {
        let Some((_, kind)) = SCENES.iter().find(|(known, _)| *known == name) else {
            let known = match clips::find(name) {
                Some(_) => format!("{name}/ref, {name}/dis"),
                None => format!(
                    "{}, and CLIP/ref, CLIP/dis",
                    names(SCENES.iter().map(|s| s.0))
                ),
            };
            return Err(self.word("scene", name, known));
        };
        Ok(SynthSpec {
            width: 352,
            height: 288,
            chroma: Chroma::Yuv420,
            depth: 8,
            frames: 48,
            scene: Scene::new(*kind),
            alternative: None,
            operations: Vec::new(),
        })
    }

    fn set(&self, spec: &mut SynthSpec, key: &str, value: &str) -> Result<(), MediaError> {
        match key {
            "size" => {
                let (w, h) = value
                    .split_once('x')
                    .ok_or_else(|| self.value(key, value, "WIDTHxHEIGHT, such as 576x324"))?;
                let most = i64::from(vmafx_api::MAX_DIMENSION);
                spec.width = self.integer("width", w, 1, most)? as u32;
                spec.height = self.integer("height", h, 1, most)? as u32;
            }
            "depth" => spec.depth = self.integer(key, value, 8, 16)? as u32,
            "frames" => spec.frames = self.integer(key, value, 1, MAX_FRAMES)? as u64,
            "chroma" => {
                spec.chroma = match value {
                    "400" => Chroma::Yuv400,
                    "420" => Chroma::Yuv420,
                    "422" => Chroma::Yuv422,
                    "444" => Chroma::Yuv444,
                    _ => return Err(self.value(key, value, "one of 400, 420, 422, 444")),
                }
            }
            "dist" => spec.operations = self.operations(value)?,
            _ => self.parameter(&mut spec.scene, key, value)?,
        }
        Ok(())
    }

    fn parameter(&self, scene: &mut Scene, key: &str, value: &str) -> Result<(), MediaError> {
        let kind = scene.kind;
        let own = || {
            PARAMETERS
                .iter()
                .filter(|(.., kinds)| kinds.contains(&kind))
        };
        if let Some(&(_, least, most, _)) = own().find(|(name, ..)| *name == key) {
            let value = self.integer(key, value, least, most)?;
            if let Some(slot) = scene.parameter(key) {
                *slot = value;
                return Ok(());
            }
        }
        let common = ["size", "depth", "chroma", "frames", "dist"];
        let known = names(common.into_iter().chain(own().map(|p| p.0)));
        Err(self.word("key", key, format!("{known}, and alt.KEY")))
    }

    fn operations(&self, text: &str) -> Result<Vec<Distortion>, MediaError> {
        if text == "none" {
            return Ok(Vec::new());
        }
        let mut operations = Vec::new();
        for part in text.split('+') {
            let mut words = part.split(':');
            let name = words.next().unwrap_or_default();
            let Some((_, ranges)) = OPERATIONS.iter().find(|(known, _)| *known == name) else {
                let shape = |(name, ranges): &(&str, &[(i64, i64)])| {
                    format!("{name}{}", ":N".repeat(ranges.len()))
                };
                let known: Vec<_> = OPERATIONS.iter().map(shape).collect();
                return Err(self.word("operation", name, known.join(", ")));
            };
            let mut arguments = Vec::new();
            for &(least, most) in *ranges {
                let word = words.next().unwrap_or_default();
                arguments.push(self.integer(name, word, least, most)?);
            }
            let operation = Distortion::new(name, &arguments).filter(|_| words.next().is_none());
            let Some(operation) = operation else {
                let wanted = format!("an operation with {} arguments", ranges.len());
                return Err(self.value("dist", part, wanted));
            };
            if operations.len() == MAX_OPERATIONS {
                let wanted = format!("a list of at most {MAX_OPERATIONS} operations");
                return Err(self.value("dist", text, wanted));
            }
            operations.push(operation);
        }
        Ok(operations)
    }

    fn integer(&self, what: &str, text: &str, least: i64, most: i64) -> Result<i64, MediaError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let value = text
            .parse()
            .ok()
            .filter(|v| plain && (least..=most).contains(v));
        value
            .ok_or_else(|| self.value(what, text, format!("a whole number from {least} to {most}")))
    }
}

fn names<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
