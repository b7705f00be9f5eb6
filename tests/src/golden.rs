//! The golden files under `tests/golden`: values of Netflix libvmaf's scalar path.
//!
//! One text file a clip. A file is a list of *runs* (one call of the scorer), each with the
//! features and models it asks for and the values it must give:
//!
//! ```text
//! clip tex64_8_shift 48            name, frames in the clip (0 = all of the files')
//! md5 54fabf44f1ca17b7 9f0fc2f0    of all samples of the reference and of the distorted clip
//! run base 48                      label, frames scored
//! feature adm=debug=true           as on the command line
//! model vmaf_neg version=vmaf_v0.6.1neg
//! score integer_adm2 1 0.99 -      one value a frame; `-` is NaN or infinite
//! pooled integer_adm2 0.9 1 0.95 0.94   min, max, mean, harmonic mean
//! aggregate apsnr_y 26.4
//! ```
//!
//! Numbers are the shortest decimals that give the same `f64`. `cargo xtask bless golden`
//! writes these files from the JSON of the reference run.

use std::path::PathBuf;

use crate::data::workspace_root;

/// The values of one clip pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clip {
    /// Name of the pair.
    pub name: String,
    /// Frames in it; 0 if all of the file's.
    pub frames: u64,
    /// MD5 of all samples, planes and frames one after another: reference, distorted.
    pub md5: [String; 2],
    /// Calls of the scorer.
    pub runs: Vec<Run>,
}

/// One call of the scorer and what it must give.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// A label for people.
    pub label: String,
    /// Frames scored.
    pub frames: u64,
    /// Features, as on the command line.
    pub features: Vec<String>,
    /// Report name and `key=value` text of each model.
    pub models: Vec<(String, String)>,
    /// Per-frame values by score name; `None` is NaN or infinite.
    pub scores: Vec<(String, Vec<Option<f64>>)>,
    /// Minimum, maximum, mean and harmonic mean by score name.
    pub pooled: Vec<(String, [Option<f64>; 4])>,
    /// Values over the whole clip.
    pub aggregates: Vec<(String, Option<f64>)>,
}

/// The folder of golden files.
pub fn folder() -> PathBuf {
    workspace_root().join("tests/golden")
}

impl Clip {
    /// Writes the file's text.
    pub fn to_text(&self) -> String {
        let number = |value: &Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:?}"));
        let row = |values: &[Option<f64>]| values.iter().map(number).collect::<Vec<_>>().join(" ");
        let mut text = format!("clip {} {}\n", self.name, self.frames);
        text += &format!("md5 {} {}\n", self.md5[0], self.md5[1]);
        for run in &self.runs {
            text += &format!("run {} {}\n", run.label, run.frames);
            for feature in &run.features {
                text += &format!("feature {feature}\n");
            }
            for (name, options) in &run.models {
                text += &format!("model {name} {options}\n");
            }
            for (name, values) in &run.scores {
                text += &format!("score {name} {}\n", row(values));
            }
            for (name, values) in &run.pooled {
                text += &format!("pooled {name} {}\n", row(values));
            }
            for (name, value) in &run.aggregates {
                text += &format!("aggregate {name} {}\n", number(value));
            }
        }
        text
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// The number of the first line that is not of the format.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let mut clip = Clip::default();
        for (at, line) in text.lines().enumerate() {
            clip.read_line(line)
                .ok_or_else(|| format!("line {}: not a golden line: {line:.60}", at + 1))?;
        }
        Ok(clip)
    }

    fn read_line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let (name, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        let row = || tail.split(' ').map(number).collect::<Option<Vec<_>>>();
        match word {
            "clip" => {
                self.name = name.to_owned();
                self.frames = tail.parse().ok()?;
                return Some(());
            }
            "md5" => {
                self.md5 = [name.to_owned(), tail.to_owned()];
                return Some(());
            }
            "run" => {
                self.runs.push(Run {
                    label: name.to_owned(),
                    frames: tail.parse().ok()?,
                    ..Run::default()
                });
                return Some(());
            }
            _ => {}
        }
        let run = self.runs.last_mut()?;
        match word {
            "feature" => run.features.push(rest.to_owned()),
            "model" => run.models.push((name.to_owned(), tail.to_owned())),
            "score" => run.scores.push((name.to_owned(), row()?)),
            "pooled" => run.pooled.push((name.to_owned(), row()?.try_into().ok()?)),
            "aggregate" => run.aggregates.push((name.to_owned(), number(tail)?)),
            _ => return None,
        }
        Some(())
    }
}

fn number(text: &str) -> Option<Option<f64>> {
    match text {
        "-" => Some(None),
        _ => text.parse().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trip() {
        let clip = Clip {
            name: "x".into(),
            frames: 2,
            md5: ["0a".into(), "0b".into()],
            runs: vec![Run {
                label: "base".into(),
                frames: 2,
                features: vec!["psnr=enable_mse=true".into()],
                models: vec![("m".into(), "version=vmaf_v0.6.1".into())],
                scores: vec![("psnr_y".into(), vec![Some(1.0 / 3.0), None])],
                pooled: vec![("psnr_y".into(), [Some(0.1), Some(1e300), None, Some(-0.0)])],
                aggregates: vec![("apsnr_y".into(), Some(7.0))],
            }],
        };
        assert_eq!(Clip::from_text(&clip.to_text()).unwrap(), clip);
        assert!(Clip::from_text("clip x 2\nscore a 1\n").is_err());
    }
}
