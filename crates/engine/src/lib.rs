//! The engine: from frame pairs and a list of features and models to a report.
//!
//! ```text
//! Request ─> Context::new ──> registration: each feature to the first device that takes it
//!            Context::submit ─> bounded queue ─> workers ─> Extractor (pixel part, finish)
//!                                                  │
//!                      results in frame order <────┘
//!                      ─> Clip stages ─> FeatureStore ─> models ─> Context::on_frame
//!            Context::finish ─> Outcome ─> pooled scores, provenance, Outcome::write
//! ```
//!
//! What must stay true:
//! - results do not depend on the number of threads, on timing or on the locale;
//! - whatever cannot be scored is refused in [`Context::new`], with all reasons at once;
//! - the first failure in frame order ends the run and is the answer of every later call: no
//!   report is made of a part of a clip;
//! - memory is flat ([`Context`] states the bound): frames are recycled as soon as nobody reads
//!   them, and the scores of long clips go to a temporary file;
//! - no vendor is known here: a device is what its [`DeviceInfo`](vmafx_api::DeviceInfo) says.
//!
//! | object | threads |
//! | --- | --- |
//! | [`Context`] | one owner; [`Context::scores`] hands out readers for any thread |
//! | [`Scores`] | any thread, any number, during and after the run |
//! | [`Outcome`] | one owner, read-only |
//!
//! Several contexts in one process know nothing of one another.

#![forbid(unsafe_code)]

mod alignment;
mod context;
mod described;
mod error;
mod pooling;
mod prediction;
mod provenance;
mod queue;
mod registration;
mod report;
mod request;
mod sequence;
mod setup;
mod store;
mod table;
mod warning;
mod worker;

pub use alignment::MAX_ALIGNMENT_RANGE;
pub use context::Context;
pub use described::FeatureCatalog;
pub use error::{EngineError, ErrorKind, ScoreError, SetupRefusal};
pub use pooling::{ParsePoolingError, Pooling};
pub use prediction::ModelSpec;
pub use provenance::{
    FeatureRecord, FrameCounts, InputRecord, ModelRecord, OptionRecord, Provenance, RepeatRecord,
    SCHEMA_VERSION, WarningRecord,
};
pub use report::{Outcome, OutputFormat, ParsePrecisionError, Precision};
pub use request::{BackendOption, FeatureSpec, Input, InputInfo, Request};
pub use sequence::FrameScores;
pub use store::Scores;
pub use warning::Warning;
