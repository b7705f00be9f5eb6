//! One model: features to a number, and the number to a score.

use crate::svm::{KernelValues, Machine};
use crate::transform::{Scoring, Transform, clip};
use crate::{MAX_FEATURES, ModelError};

/// A feature that a model reads, as its file says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Feature {
    /// The internal name, such as `VMAF_integer_feature_adm2_score`.
    pub name: String,
    /// Options that the metric must run with: name and value, both as text.
    pub options: Vec<(String, String)>,
}

/// `slope * value + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
}

impl Line {
    fn map(self, value: f64) -> f64 {
        self.slope * value + self.intercept
    }

    fn invert(self, value: f64) -> f64 {
        (value - self.intercept) / self.slope
    }
}

/// How features become inputs of the machine, and its output a score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rescale {
    pub(crate) score: Line,
    pub(crate) features: Vec<Line>,
}

impl Rescale {
    /// From the two lists of a file, whose first entries belong to the score.
    fn new(
        key: &str,
        slopes: &[f64],
        intercepts: &[f64],
        features: usize,
    ) -> Result<Self, ModelError> {
        for (name, list) in [("slopes", slopes), ("intercepts", intercepts)] {
            if list.len() != features + 1 {
                return Err(ModelError::Count {
                    key: format!("{key}.{name}"),
                    count: list.len(),
                    wanted: format!("{}: one for the score, one for each feature", features + 1),
                });
            }
        }
        let mut lines = slopes
            .iter()
            .zip(intercepts)
            .map(|(&slope, &intercept)| Line { slope, intercept });
        let score = lines.next().ok_or_else(|| ModelError::Missing {
            key: key.to_owned(),
        })?;
        if score.slope == 0.0 {
            let wanted = "another number: scores are divided by it";
            return Err(ModelError::value(&format!("{key}.slopes[0]"), "0", wanted));
        }
        Ok(Rescale {
            score,
            features: lines.collect(),
        })
    }
}

/// Replaces a chroma feature that is exactly 0 (nothing to compare, or too small a plane) by
/// `parameter * (1 - guide)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChromaCorrection {
    pub(crate) parameter: f64,
    guide: usize,
    guided: usize,
}

impl ChromaCorrection {
    /// Finds the two features by the parts of their names that libvmaf looks for.
    fn new(
        key: &str,
        parameter: f64,
        features: &[Feature],
        rescale: Option<&Rescale>,
    ) -> Result<Self, ModelError> {
        let key = format!("{key}.chroma_correction_parameter");
        if parameter == 0.0 {
            let wanted = "another number: libvmaf gives no score with 0; leave the key out";
            return Err(ModelError::value(&key, "0", wanted));
        }
        let find = |part: &str| {
            let mut places = (0..features.len()).filter(|i| features[*i].name.contains(part));
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                _ => Err(ModelError::value(
                    &key,
                    &parameter.to_string(),
                    &format!("left out, because not exactly one feature has `{part}` in its name"),
                )),
            }
        };
        let correction = ChromaCorrection {
            parameter,
            guide: find("adm3")?,
            guided: find("speed_chroma")?,
        };
        for place in [correction.guide, correction.guided] {
            if rescale.is_some_and(|rescale| rescale.features[place].slope == 0.0) {
                let wanted = "left out, because the slope of one of its features is 0";
                return Err(ModelError::value(&key, &parameter.to_string(), wanted));
            }
        }
        Ok(correction)
    }

    /// Acts on normalised features.
    fn apply(&self, rescale: Option<&Rescale>, x: &mut [f64]) {
        let line = |place: usize| rescale.map(|rescale| rescale.features[place]);
        let plain = |place: usize, value| line(place).map_or(value, |line| line.invert(value));
        if plain(self.guided, x[self.guided]) != 0.0 {
            return;
        }
        let guide = plain(self.guide, x[self.guide]);
        let corrected = (-self.parameter * guide) + self.parameter;
        x[self.guided] = line(self.guided).map_or(corrected, |line| line.map(corrected));
    }
}

/// What kind of model a file says it is. Prediction is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Bootstrap,
    ResidueBootstrap,
}

impl Kind {
    pub(crate) fn parse(key: &str, text: &str) -> Result<Self, ModelError> {
        let kinds = [Kind::Plain, Kind::Bootstrap, Kind::ResidueBootstrap];
        kinds
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| {
                let wanted = kinds.map(Kind::name).join(" or ");
                ModelError::value(key, text, &wanted)
            })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Plain => "LIBSVMNUSVR",
            Kind::Bootstrap => "BOOTSTRAP_LIBSVMNUSVR",
            Kind::ResidueBootstrap => "RESIDUEBOOTSTRAP_LIBSVMNUSVR",
        }
    }
}

/// One model without its feature list, which all members of a set share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) kind: Kind,
    /// `None` = features and score pass as they are (`norm_type` none).
    pub(crate) rescale: Option<Rescale>,
    pub(crate) chroma: Option<ChromaCorrection>,
    pub(crate) machine: Machine,
    pub(crate) transform: Option<Transform>,
    pub(crate) clip: Option<[f64; 2]>,
}

/// What a file says of one member, not yet held against the features and the limits.
pub(crate) struct Stated {
    pub(crate) kind: Kind,
    /// Slopes and intercepts, if features and score are normalised.
    pub(crate) rescale: Option<[Vec<f64>; 2]>,
    pub(crate) chroma_correction: Option<f64>,
    pub(crate) clip: Option<[f64; 2]>,
    pub(crate) transform: Option<Transform>,
    pub(crate) machine: Machine,
}

impl Model {
    /// The member that a file states, for models of `features`; `key` names it in errors.
    pub(crate) fn new(key: &str, features: &[Feature], stated: Stated) -> Result<Self, ModelError> {
        let rescale = match &stated.rescale {
            Some([slopes, intercepts]) => {
                Some(Rescale::new(key, slopes, intercepts, features.len())?)
            }
            None => None,
        };
        let chroma = match stated.chroma_correction {
            Some(parameter) => Some(ChromaCorrection::new(
                key,
                parameter,
                features,
                rescale.as_ref(),
            )?),
            None => None,
        };
        if let Some(range) = stated.clip {
            check_clip(key, range)?;
        }
        if let Some(transform) = &stated.transform {
            transform.check(&format!("{key}.score_transform"))?;
        }
        Ok(Model {
            kind: stated.kind,
            rescale,
            chroma,
            machine: stated.machine,
            transform: stated.transform,
            clip: stated.clip,
        })
    }

    /// The inputs of the machine for the feature `values`, as many as there are features.
    pub(crate) fn inputs(&self, values: &[f64]) -> Vec<f64> {
        let rescale = self.rescale.as_ref();
        let mut x: Vec<f64> = match rescale {
            Some(rescale) => rescale
                .features
                .iter()
                .zip(values)
                .map(|(line, value)| line.map(*value))
                .collect(),
            None => values.to_vec(),
        };
        if let Some(chroma) = &self.chroma {
            chroma.apply(rescale, &mut x);
        }
        x
    }

    /// The prediction without transform and clip, from the kernel values of [`Model::inputs`].
    pub(crate) fn raw(&self, kernel: &mut KernelValues) -> f64 {
        let y = self.machine.predict(kernel);
        self.rescale
            .as_ref()
            .map_or(y, |rescale| rescale.score.invert(y))
    }

    /// `raw` behind the transform.
    pub(crate) fn transformed(&self, raw: f64, scoring: Scoring) -> f64 {
        match &self.transform {
            Some(transform) if transform.enabled || scoring.enable_transform => {
                transform.apply(raw)
            }
            _ => raw,
        }
    }

    /// A transformed prediction behind the clip.
    pub(crate) fn clipped(&self, transformed: f64, scoring: Scoring) -> f64 {
        match self.clip {
            Some(range) if !scoring.disable_clip => clip(range, transformed),
            _ => transformed,
        }
    }

    /// `raw` behind transform and clip.
    pub(crate) fn score(&self, raw: f64, scoring: Scoring) -> f64 {
        self.clipped(self.transformed(raw, scoring), scoring)
    }
}

/// Checks the feature list of a file: 1 to [`MAX_FEATURES`], texts of printable ASCII.
pub(crate) fn check_features(key: &str, features: &[Feature]) -> Result<(), ModelError> {
    if features.is_empty() {
        let wanted = format!("1 to {MAX_FEATURES} features");
        return Err(ModelError::Count {
            key: format!("{key}.feature_names"),
            count: 0,
            wanted,
        });
    }
    if features.len() > MAX_FEATURES {
        return Err(ModelError::TooMany {
            key: format!("{key}.feature_names"),
            count: features.len(),
            limit: MAX_FEATURES,
        });
    }
    let check = |list: &str, place: usize, text: &str, may_be_empty: bool| {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        if printable && text.len() <= MAX_TEXT && (may_be_empty || !text.is_empty()) {
            return Ok(());
        }
        let wanted = format!("1 to {MAX_TEXT} printable ASCII characters without spaces");
        Err(ModelError::value(
            &format!("{key}.{list}[{place}]"),
            text,
            &wanted,
        ))
    };
    let name = |list: &str, place: usize, text: &str| {
        if text.contains('=') {
            let key = format!("{key}.{list}[{place}]");
            return Err(ModelError::value(&key, text, "a name without `=`"));
        }
        check(list, place, text, false)
    };
    for (place, feature) in features.iter().enumerate() {
        name("feature_names", place, &feature.name)?;
        for (option, value) in &feature.options {
            name("feature_opts_dicts", place, option)?;
            check("feature_opts_dicts", place, value, true)?;
        }
    }
    Ok(())
}

/// Longest name or option value, in bytes.
const MAX_TEXT: usize = 255;

/// Checks the range of a clip.
fn check_clip(key: &str, [low, high]: [f64; 2]) -> Result<(), ModelError> {
    if low > high {
        let key = format!("{key}.score_clip");
        return Err(ModelError::value(
            &key,
            &format!("[{low}, {high}]"),
            "a rising pair",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svm::VectorBuilder;

    fn feature(name: &str) -> Feature {
        Feature {
            name: name.to_owned(),
            options: Vec::new(),
        }
    }

    fn line(slope: f64, intercept: f64) -> Line {
        Line { slope, intercept }
    }

    /// One vector with coefficient 2, and an offset of 3.
    fn machine() -> Machine {
        Machine {
            gamma: 1.0,
            rho: -3.0,
            terms: vec![(2.0, 0)],
        }
    }

    fn raw(model: &Model, values: &[f64]) -> f64 {
        let mut vectors = VectorBuilder::new(2);
        vectors.place(&[0.5, 0.25]);
        model.raw(&mut KernelValues::new(
            &vectors.finish(),
            model.machine.gamma,
            model.inputs(values),
        ))
    }

    #[test]
    fn features_and_score_are_rescaled() {
        let mut model = Model {
            kind: Kind::Plain,
            rescale: Some(Rescale {
                score: line(0.5, 1.0),
                features: vec![line(2.0, -0.5), line(0.5, 0.25)],
            }),
            chroma: None,
            machine: machine(),
            transform: None,
            clip: Some([0.0, 5.0]),
        };
        // Both inputs meet the vector: 0.5 * 2 - 0.5 and 0 * 0.5 + 0.25, so the kernel is 1.
        assert_eq!(raw(&model, &[0.5, 0.0]), (2.0 + 3.0 - 1.0) / 0.5);
        assert_eq!(model.score(8.0, Scoring::default()), 5.0);
        let open = Scoring {
            disable_clip: true,
            ..Scoring::default()
        };
        assert_eq!(model.score(8.0, open), 8.0);
        model.rescale = None;
        assert_eq!(raw(&model, &[0.5, 0.25]), 5.0);
    }

    #[test]
    fn a_transform_waits_for_its_switch() {
        let mut model = Model {
            kind: Kind::Plain,
            rescale: None,
            chroma: None,
            machine: machine(),
            transform: Some(Transform {
                p: [Some(1.0), Some(2.0), None],
                ..Transform::default()
            }),
            clip: Some([0.0, 20.0]),
        };
        let forced = Scoring {
            enable_transform: true,
            ..Scoring::default()
        };
        assert_eq!(model.score(15.0, Scoring::default()), 15.0);
        assert_eq!(model.transformed(15.0, forced), 31.0);
        assert_eq!(model.score(15.0, forced), 20.0);
        model.transform.as_mut().unwrap().enabled = true;
        assert_eq!(model.score(4.0, Scoring::default()), 9.0);
    }

    #[test]
    fn chroma_is_replaced_only_where_it_is_zero() {
        let features = [feature("x_speed_chroma_uv"), feature("x_adm3_score")];
        let rescale = Rescale {
            score: line(1.0, 0.0),
            features: vec![line(0.25, 0.125), line(2.0, -1.0)],
        };
        let chroma = ChromaCorrection::new("m", 120.0, &features, Some(&rescale)).unwrap();
        // adm3 0.75 is 0.5 here: 120 * (1 - 0.75) = 30, normalised 7.625.
        let mut x = [0.125, 0.5];
        chroma.apply(Some(&rescale), &mut x);
        assert_eq!(x, [7.625, 0.5]);
        let mut x = [0.126, 0.5];
        chroma.apply(Some(&rescale), &mut x);
        assert_eq!(x, [0.126, 0.5]);
        let mut x = [0.0, 0.75];
        chroma.apply(None, &mut x);
        assert_eq!(x, [30.0, 0.75]);
    }

    #[test]
    fn chroma_correction_needs_its_two_features() {
        let refuse = |names: &[&str], parameter| {
            let features: Vec<_> = names.iter().map(|name| feature(name)).collect();
            ChromaCorrection::new("m", parameter, &features, None)
                .unwrap_err()
                .to_string()
        };
        let both = ["adm3", "speed_chroma"];
        assert!(refuse(&both, 0.0).contains("libvmaf gives no score with 0"));
        assert!(refuse(&both[..1], 1.0).contains("exactly one feature has `speed_chroma`"));
        assert!(refuse(&["adm3", "adm3", "speed_chroma"], 1.0).contains("feature has `adm3`"));
        let features = both.map(feature);
        let flat = Rescale {
            score: line(1.0, 0.0),
            features: vec![line(0.0, 1.0); 2],
        };
        let error = ChromaCorrection::new("m", 1.0, &features, Some(&flat)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("slope of one of its features is 0"),
            "{error}"
        );
    }
}
