//! A model file as a whole: one model, or a collection with its confidence interval.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::model::{Feature, Kind, Model};
use crate::svm::{KernelValues, VectorBuilder, Vectors};
use crate::transform::Scoring;
use crate::{ModelError, json, native};

/// Where the figures of a model come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This program.
    BuiltIn,
    /// A file.
    File(PathBuf),
    /// Bytes that a caller had.
    Bytes,
}

/// The models of one file: a single model, or member 0 and the bootstrap members behind it, all
/// of which read the same features.
#[derive(Clone, Debug)]
pub struct ModelSet {
    name: String,
    origin: Origin,
    sha256: String,
    features: Vec<Feature>,
    vectors: Vectors,
    members: Vec<Model>,
}

/// What a reader finds in a file.
pub(crate) struct Figures {
    pub(crate) features: Vec<Feature>,
    pub(crate) vectors: VectorBuilder,
    pub(crate) members: Vec<Model>,
}

impl Figures {
    /// No members yet.
    pub(crate) fn of(features: Vec<Feature>) -> Self {
        let vectors = VectorBuilder::new(features.len());
        Figures {
            features,
            vectors,
            members: Vec::new(),
        }
    }
}

/// A prediction on its way to the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// As the support vectors give it.
    pub raw: f64,
    /// Behind the score transform, if that is on.
    pub transformed: f64,
    /// Behind the clip, if that is on: the score of reports.
    pub value: f64,
}

/// What a collection says beside the plain score.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// Members 1 and up.
    pub members: Vec<Score>,
    /// Mean of the raw predictions, behind transform and clip.
    pub bagging: f64,
    /// Population deviation of the raw predictions, times the slope of transform and clip at
    /// the mean.
    pub stddev: f64,
    /// Lower end of the 95 % interval of the raw predictions, behind transform and clip.
    pub ci_p95_lo: f64,
    /// Upper end of it.
    pub ci_p95_hi: f64,
}

/// All that a model set says about one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The model's score; in a collection that of member 0.
    pub score: Score,
    /// Only from a collection.
    pub bootstrap: Option<Bootstrap>,
}

impl Prediction {
    /// The values of a report, in the order of [`ModelSet::score_names`].
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let bootstrap = self.bootstrap.iter().flat_map(|bootstrap| {
            let members = bootstrap.members.iter().map(|score| score.value);
            members.chain([
                bootstrap.bagging,
                bootstrap.stddev,
                bootstrap.ci_p95_lo,
                bootstrap.ci_p95_hi,
            ])
        });
        std::iter::once(self.score.value).chain(bootstrap)
    }
}

impl ModelSet {
    /// Reads a model file of either format: upstream's JSON or our own.
    ///
    /// # Errors
    /// What is wrong with the file: the key or line, the value and the limit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        if bytes.starts_with(native::MAGIC.as_bytes()) {
            return Self::from_native(bytes);
        }
        Self::from_json(bytes)
    }

    /// Reads a JSON model file of libvmaf, single or collection.
    ///
    /// # Errors
    /// What is wrong with the file: the key, the value and the limit.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ModelError> {
        Self::new(bytes, json::read(bytes)?)
    }

    /// Reads the format of [`ModelSet::to_native`].
    ///
    /// # Errors
    /// What is wrong with the file: the line, the value and the limit.
    pub fn from_native(bytes: &[u8]) -> Result<Self, ModelError> {
        Self::new(bytes, native::read(bytes)?)
    }

    fn new(bytes: &[u8], figures: Figures) -> Result<Self, ModelError> {
        let Figures {
            features,
            vectors,
            members,
        } = figures;
        // A single model is one member. A collection has two or more; all behind member 0 must
        // be of one kind that can be bagged.
        if let Some(first) = members.get(1) {
            for (place, member) in members.iter().enumerate().skip(1) {
                if member.kind != first.kind || member.kind == Kind::Plain {
                    let wanted = "the same kind in all members behind 0, and a bootstrap kind";
                    let key = format!("model_type of member {place}");
                    return Err(ModelError::value(&key, member.kind.name(), wanted));
                }
            }
        }
        Ok(ModelSet {
            name: "model".to_owned(),
            origin: Origin::Bytes,
            sha256: hex(bytes),
            features,
            vectors: vectors.finish(),
            members,
        })
    }

    /// The same set under another name and origin.
    pub(crate) fn found(self, name: &str, origin: Origin) -> Self {
        ModelSet {
            name: name.to_owned(),
            origin,
            ..self
        }
    }

    /// Name of a built-in model, or the file's name without folder and extension.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// SHA-256 of the bytes it was read from, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// SHA-256 of the figures, in hexadecimal: of [`ModelSet::to_native`]. It is the same
    /// whatever the format, the spacing and the line ends of the file, so it tells whether a
    /// JSON file and a built-in model are one and the same.
    pub fn figures_sha256(&self) -> String {
        hex(self.to_native().as_bytes())
    }

    /// The features it reads, in the order that [`ModelSet::predict`] takes their values.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// How many models it holds: 1, or more for a collection.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether [`Scoring::enable_transform`] can have an effect.
    pub fn has_transform(&self) -> bool {
        self.members.iter().any(|member| member.transform.is_some())
    }

    /// This set in our own format: exact, and one text for the same figures.
    pub fn to_native(&self) -> String {
        native::write(&self.features, &self.vectors, &self.members)
    }

    /// Names of the scores for a model reported as `name`: `name` itself; for a collection also
    /// `name_0001` and so on, `name_bagging`, `name_stddev`, `name_ci_p95_lo`, `name_ci_p95_hi`.
    pub fn score_names(&self, name: &str) -> Vec<String> {
        let mut names = vec![name.to_owned()];
        if self.members.len() > 1 {
            names.extend((1..self.members.len()).map(|member| format!("{name}_{member:04}")));
            names.extend(
                ["bagging", "stddev", "ci_p95_lo", "ci_p95_hi"].map(|end| format!("{name}_{end}")),
            );
        }
        names
    }

    /// The scores of one frame from its feature values, in the order of
    /// [`ModelSet::features`].
    ///
    /// # Errors
    /// Only if the number of values is not that of the features.
    pub fn predict(&self, values: &[f64], scoring: Scoring) -> Result<Prediction, ModelError> {
        if values.len() != self.features.len() {
            return Err(ModelError::FeatureCount {
                model: self.name.clone(),
                count: values.len(),
                wanted: self.features.len(),
            });
        }
        // Members of one set mostly normalise alike, and then have the same kernel values.
        let mut shared: Option<KernelValues> = None;
        let mut scores = self.members.iter().map(|member| {
            let (gamma, x) = (member.machine.gamma, member.inputs(values));
            shared = shared.take().filter(|kernel| kernel.are_of(gamma, &x));
            let kernel = shared.get_or_insert_with(|| KernelValues::new(&self.vectors, gamma, x));
            let raw = member.raw(kernel);
            let transformed = member.transformed(raw, scoring);
            Score {
                raw,
                transformed,
                value: member.clipped(transformed, scoring),
            }
        });
        let score = scores
            .next()
            .expect("both readers give one member at least");
        let members: Vec<Score> = scores.collect();
        let bootstrap = self
            .members
            .get(1)
            .map(|first| bag(members, first, scoring));
        Ok(Prediction { score, bootstrap })
    }
}

/// The statistics of a collection, in the order of operations of libvmaf's `predict.c`; `first`
/// is the first bootstrap member, whose transform and clip count for all.
fn bag(members: Vec<Score>, first: &Model, scoring: Scoring) -> Bootstrap {
    let count = members.len() as f64;
    let mut sum = 0.0;
    for score in &members {
        sum += score.raw;
    }
    let mean = sum / count;
    let mut squares = 0.0;
    for score in &members {
        let d = score.raw - mean;
        squares += d * d;
    }
    let deviation = (squares / count).sqrt();
    let mut sorted: Vec<f64> = members.iter().map(|score| score.raw).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |p| percentile(p, &sorted).expect("a collection has a bootstrap member");

    let map = |raw| first.score(raw, scoring);
    const DELTA: f64 = 0.01;
    let slope = (map(mean + DELTA) - map(mean - DELTA)) / (2.0 * DELTA);
    Bootstrap {
        bagging: map(mean),
        stddev: deviation * slope,
        ci_p95_lo: map(at(2.5)),
        ci_p95_hi: map(at(97.5)),
        members,
    }
}

/// The `p`-th percentile of the rising values `sorted`, `None` if there are none: with places
/// counted from 0, the value at place `q = p * (n - 1) / 100`, linear between its neighbours, in
/// the order of operations of libvmaf's `predict.c`. `p` is 0 to 100.
///
/// Between equal neighbours the value is theirs, which the formula alone could miss by a bit; a
/// clip of equal scores has that score as every percentile.
///
/// ```
/// assert_eq!(vmafx_models::percentile(25.0, &[1.0, 3.0, 7.0]), Some(2.0));
/// ```
pub fn percentile(p: f64, sorted: &[f64]) -> Option<f64> {
    let place = p * sorted.len().checked_sub(1)? as f64 / 100.0;
    let (left, right) = (place.floor(), place.ceil());
    let (low, high) = (*sorted.get(left as usize)?, *sorted.get(right as usize)?);
    Some(if low == high {
        low
    } else {
        low * (right - place) + high * (place - left)
    })
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svm::Machine;
    use crate::transform::Transform;

    /// A model that answers `floor` whatever it is given.
    fn constant(kind: Kind, floor: f64) -> Model {
        Model {
            kind,
            rescale: None,
            chroma: None,
            machine: Machine {
                gamma: 1.0,
                rho: -floor,
                terms: vec![(0.0, 0)],
            },
            transform: Some(Transform {
                p: [Some(1.0), Some(2.0), None],
                ..Transform::default()
            }),
            clip: Some([0.0, 100.0]),
        }
    }

    fn set(floors: &[f64]) -> ModelSet {
        let features = vec![Feature {
            name: "f".to_owned(),
            options: Vec::new(),
        }];
        let members = floors
            .iter()
            .map(|floor| constant(Kind::Bootstrap, *floor))
            .collect();
        ModelSet::new(
            b"abc",
            Figures {
                features,
                vectors: vectors(),
                members,
            },
        )
        .unwrap()
    }

    fn vectors() -> VectorBuilder {
        let mut vectors = VectorBuilder::new(1);
        vectors.place(&[0.0]);
        vectors
    }

    #[test]
    fn a_collection_is_bagged_without_member_0() {
        let set = set(&[99.0, 30.0, 20.0, 10.0]);
        let prediction = set.predict(&[0.0], Scoring::default()).unwrap();
        assert_eq!(prediction.score.value, 99.0);
        let bootstrap = prediction.bootstrap.clone().unwrap();
        assert_eq!(bootstrap.bagging, 20.0);
        assert!((bootstrap.stddev - (200.0f64 / 3.0).sqrt()).abs() < 1e-9);
        // Places 0.05 and 1.95 of 10, 20, 30.
        assert_eq!(bootstrap.ci_p95_lo, 10.0 * 0.95 + 20.0 * 0.05);
        assert!((bootstrap.ci_p95_hi - 29.5).abs() < 1e-12);
        let values: Vec<f64> = prediction.values().collect();
        assert_eq!(values[..5], [99.0, 30.0, 20.0, 10.0, 20.0]);
        let names = set.score_names("v");
        assert_eq!(names.len(), values.len());
        assert_eq!(names[..2], ["v", "v_0001"]);
        assert_eq!(
            names[4..],
            ["v_bagging", "v_stddev", "v_ci_p95_lo", "v_ci_p95_hi"]
        );
    }

    #[test]
    fn transform_and_clip_act_on_the_statistics() {
        let set = set(&[0.0, 30.0, 60.0]);
        let scoring = Scoring {
            enable_transform: true,
            ..Scoring::default()
        };
        let bootstrap = set.predict(&[0.0], scoring).unwrap().bootstrap.unwrap();
        // 2x + 1: the mean 45 becomes 91 and the deviation 15 doubles; 59.25 is clipped.
        assert_eq!(bootstrap.bagging, 91.0);
        assert!((bootstrap.stddev - 30.0).abs() < 1e-9);
        assert_eq!([bootstrap.ci_p95_lo, bootstrap.ci_p95_hi], [62.5, 100.0]);
        let open = Scoring {
            disable_clip: true,
            ..scoring
        };
        let bootstrap = set.predict(&[0.0], open).unwrap().bootstrap.unwrap();
        assert_eq!(bootstrap.ci_p95_hi, 119.5);
    }

    #[test]
    fn percentiles() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!(percentile(0.0, &values), Some(1.0));
        assert_eq!(percentile(50.0, &values), Some(4.0));
        assert_eq!(percentile(100.0, &values), Some(16.0));
        // Place 3.5.
        assert_eq!(percentile(87.5, &values), Some(12.0));
        assert_eq!(percentile(2.5, &[]), None);
        // 0.1 * 0.3 + 0.1 * 0.7 is below 0.1.
        assert_eq!(percentile(70.0, &[0.1, 0.1]), Some(0.1));
    }

    #[test]
    fn one_bootstrap_member_is_its_own_interval() {
        let bootstrap = set(&[0.0, 30.0])
            .predict(&[0.0], Scoring::default())
            .unwrap()
            .bootstrap;
        let bootstrap = bootstrap.unwrap();
        assert_eq!(
            [bootstrap.ci_p95_lo, bootstrap.ci_p95_hi, bootstrap.stddev],
            [30.0, 30.0, 0.0]
        );
    }

    #[test]
    fn a_collection_has_one_bootstrap_kind() {
        let kinds = |kinds: &[Kind]| {
            let members = kinds.iter().map(|kind| constant(*kind, 0.0)).collect();
            let figures = Figures {
                features: Vec::new(),
                vectors: vectors(),
                members,
            };
            ModelSet::new(b"", figures)
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(kinds(&[Kind::Plain]), Ok(()));
        assert_eq!(
            kinds(&[Kind::Plain, Kind::Bootstrap, Kind::Bootstrap]),
            Ok(())
        );
        let error = kinds(&[Kind::Bootstrap, Kind::Bootstrap, Kind::ResidueBootstrap]);
        assert!(
            error
                .unwrap_err()
                .starts_with("`model_type of member 2` is RESIDUEBOOTSTRAP")
        );
        let error = kinds(&[Kind::Plain, Kind::Plain]).unwrap_err();
        assert!(
            error.starts_with("`model_type of member 1` is LIBSVMNUSVR"),
            "{error}"
        );
    }

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(set(&[0.0]).sha256(), sha256);
    }

    #[test]
    fn the_number_of_values_is_checked() {
        let error = set(&[0.0])
            .predict(&[], Scoring::default())
            .unwrap_err()
            .to_string();
        assert_eq!(error, "model model reads 1 feature values, 0 were given");
    }
}
