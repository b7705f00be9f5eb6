//! From feature values to scores: what a VMAF model file says, and the arithmetic it asks for.
//!
//! A [`ModelSet`] is one model or a bootstrap collection. Its life has three steps:
//!
//! 1. **Get it**: [`catalog::find`] by name (built-in models first, then search folders),
//!    [`catalog::load`] by path, or [`ModelSet::from_bytes`].
//! 2. **Bind it**: [`ModelSet::bind`] turns the feature names of the file into metrics with
//!    options, and names what this program cannot compute.
//! 3. **Predict**: [`ModelSet::predict`], once a frame, with the feature values in the order
//!    of [`ModelSet::features`].
//!
//! ```
//! let model = vmafx_models::catalog::find("vmaf_v0.6.1", &[])?;
//! let features = [0.9, 4.0, 0.5, 0.8, 0.9, 0.95]; // adm2, motion2, vif_scale0 to vif_scale3
//! let prediction = model.predict(&features, vmafx_models::Scoring::default())?;
//! assert_eq!(format!("{:.6}", prediction.score.value), "73.062298");
//! # Ok::<(), vmafx_models::ModelError>(())
//! ```
//!
//! What must stay true: prediction is `f64` in the order that libvmaf's `predict.c` and
//! `svm.cpp` use, with the exponential of [`vmafx_metrics::math`]; the readers are total (any
//! bytes give a model or an error that names the key, the value and the limit) and strict (what
//! libvmaf skips in silence and what changes a score is an error); this crate knows no frame.

#![forbid(unsafe_code)]

pub mod catalog;

mod bind;
mod error;
mod json;
mod model;
mod native;
mod set;
mod svm;
mod transform;

use vmafx_metrics::Exactness;

pub use bind::{BoundFeature, Override};
pub use error::ModelError;
pub use model::Feature;
pub use set::{Bootstrap, ModelSet, Origin, Prediction, Score, percentile};
pub use transform::Scoring;

/// Where the built-in models come from, and the licence of their figures, which must go with
/// every copy of them: the notice (Markdown), then the licence text.
pub const NOTICE: &str = concat!(
    include_str!("../data/NOTICE.md"),
    "\n",
    include_str!("../data/LICENSE-BSD-2-Clause-Patent")
);

/// How close a prediction is to libvmaf's for the same feature values: sums of hundreds of
/// exponentials, of which the C library may round one to the other neighbour.
pub const EXACTNESS: Exactness = Exactness::Near(1e-12);

/// Largest model file, in bytes. Upstream's largest has 0.5 MB.
pub const MAX_BYTES: usize = 8 << 20;
/// Most features of a model, as in libvmaf.
pub const MAX_FEATURES: usize = 64;
/// Most points of a piecewise linear score transform, as in libvmaf.
pub const MAX_KNOTS: usize = 10;
/// Most members of a collection. Upstream's have 21.
pub const MAX_MEMBERS: usize = 1000;
/// Most support vectors of a file, all members together. Upstream's largest has 4500.
pub const MAX_VECTORS: usize = 65_536;
