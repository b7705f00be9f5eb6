//! What a host asks of a backend, in the types of this crate: one way for every backend.
//!
//! What must stay true: a backend that was built with another definition of a metric refuses it
//! instead of scoring it differently.

use vmafx_api::{ApiError, FeatureRequest, FrameFormat, Status};

use crate::{Metric, Options, find};

/// The metric and options of `feature` for frames of `format`, asked of the backend called
/// `backend`, which has the metrics that `has` says.
///
/// # Errors
/// [`Status::NOT_FOUND`] for a metric that it has not, [`Status::NOT_SUPPORTED`] for another
/// definition or a limit that is not met, [`Status::INVALID`] for options that are none.
pub fn requested(
    feature: &FeatureRequest,
    format: &FrameFormat,
    backend: &str,
    has: impl Fn(&str) -> bool,
) -> Result<(&'static dyn Metric, Options), ApiError> {
    let name = &feature.feature;
    let metric = find(name).filter(|metric| has(metric.definition().name));
    let metric = metric.ok_or_else(|| {
        let message = format!("the {backend} backend has no such feature");
        ApiError::new(Status::NOT_FOUND, name, message)
    })?;
    let version = metric.definition().version;
    if feature.definition != version {
        let message = format!(
            "definition {} is asked for, the {backend} backend has {version}; install versions \
             that go together",
            feature.definition
        );
        return Err(ApiError::new(Status::NOT_SUPPORTED, name, message));
    }
    let invalid = |message| ApiError::new(Status::INVALID, name, message);
    let options = Options::from_request(metric.definition(), feature)
        .map_err(|error| invalid(error.to_string()))?;
    metric
        .check(format, &options)
        .map_err(|refusal| ApiError::new(Status::NOT_SUPPORTED, name, refusal.to_string()))?;
    Ok((metric, options))
}
