//! Everything that can be wrong with a model, its file or its use.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use vmafx_metrics::OptionError;

/// Why there is no model, or no score from it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file that cannot be read.
    #[error("cannot read the model file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// A file with something wrong inside.
    #[error("model file {}: {source}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<ModelError>,
    },
    /// A file of the time before JSON.
    #[error(
        "{name} is a pickle model, a format that libvmaf gave up too; use the .json file of the same name"
    )]
    Pickle {
        /// Name or path.
        name: String,
    },
    /// A name that no built-in model and no file in a search folder has.
    #[error(
        "there is no model `{name}`; built in are {builtin}; no {name}.json and no {name}.model lies in {folders}"
    )]
    NotFound {
        /// What was asked for.
        name: String,
        /// The built-in models.
        builtin: String,
        /// Every folder looked in.
        folders: String,
    },
    /// A name that is really a path.
    #[error("`{name}` is a path, not the name of a model; load it by path (path={name})")]
    NotAName {
        /// What was asked for.
        name: String,
    },
    /// More bytes than a model file may have.
    #[error("a model file may have {limit} bytes, this one has more")]
    TooLarge {
        /// The most bytes.
        limit: usize,
    },
    /// Bytes that are not JSON.
    #[error("not a JSON document: {source}")]
    Json {
        /// What and where.
        source: Arc<serde_json::Error>,
    },
    /// A required key that is absent.
    #[error("`{key}` is missing")]
    Missing {
        /// Path of the key, such as `model_dict.norm_type`.
        key: String,
    },
    /// A key that occurs twice in one object.
    #[error("`{key}` is there twice, which of the two is meant?")]
    Twice {
        /// Path of the key.
        key: String,
    },
    /// A value of the wrong kind or outside its limits.
    #[error("`{key}` is {value}, but must be {wanted}")]
    Value {
        /// Path of the key, or the line.
        key: String,
        /// What is there, cut if long.
        value: String,
        /// What may be there.
        wanted: String,
    },
    /// A list of the wrong length.
    #[error("`{key}` has {count} entries, but must have {wanted}")]
    Count {
        /// Path of the list.
        key: String,
        /// How many there are.
        count: usize,
        /// How many there must be, and why.
        wanted: String,
    },
    /// A list that is too long.
    #[error("`{key}` has {count} entries, the limit is {limit}")]
    TooMany {
        /// Path of the list.
        key: String,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Features that no linked metric gives.
    #[error(
        "model {model} reads {features}, which no metric of this program gives; its metrics are {metrics}"
    )]
    NoMetric {
        /// Name of the model.
        model: String,
        /// The features, by the names in the file.
        features: String,
        /// The metrics there are.
        metrics: String,
    },
    /// An option that the metric of a feature refuses.
    #[error("model {model}, feature {feature}: {source}")]
    Option {
        /// Name of the model.
        model: String,
        /// The feature, by its name in the file.
        feature: String,
        /// Which option and why.
        source: Box<OptionError>,
    },
    /// Text that is not `METRIC.OPTION=VALUE`.
    #[error("`{text}` is not METRIC.OPTION=VALUE, such as vif.vif_enhn_gain_limit=1")]
    OverrideSyntax {
        /// What was given.
        text: String,
    },
    /// An override for a metric that the model does not read.
    #[error("`{text}`: model {model} reads nothing of that metric, only of {metrics}")]
    OverrideUnused {
        /// What was given.
        text: String,
        /// Name of the model.
        model: String,
        /// The metrics that the model reads.
        metrics: String,
    },
    /// A prediction from the wrong number of feature values.
    #[error("model {model} reads {wanted} feature values, {count} were given")]
    FeatureCount {
        /// Name of the model.
        model: String,
        /// How many were given.
        count: usize,
        /// How many it reads.
        wanted: usize,
    },
}

impl ModelError {
    /// A value that may not be; the text of it is cut after 60 characters.
    pub(crate) fn value(key: &str, value: &str, wanted: &str) -> Self {
        let mut shown: String = value.chars().take(60).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        ModelError::Value {
            key: key.to_owned(),
            // Control characters of a damaged file must not reach a terminal.
            value: shown.escape_debug().to_string().replace("\\\"", "\""),
            wanted: wanted.to_owned(),
        }
    }
}
