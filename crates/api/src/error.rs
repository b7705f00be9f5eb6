//! What a backend answers when it cannot do a thing: a status, a subject and one sentence.

use crate::kinds::Status;

/// A failure of a backend: `subject` names the argument or object, `message` says the value,
/// the limit and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {message} ({status})")]
pub struct ApiError {
    /// Class of the failure.
    pub status: Status,
    /// The argument or object at fault, such as `vif` or `desc.plane[1].pitch`.
    pub subject: String,
    /// One sentence for people.
    pub message: String,
}

impl ApiError {
    /// Makes an error of class `status` about `subject`.
    pub fn new(status: Status, subject: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError {
            status,
            subject: subject.into(),
            message: message.into(),
        }
    }
}
