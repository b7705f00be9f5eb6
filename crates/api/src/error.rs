//! What a backend answers when it cannot do a thing: a status, a subject and one sentence.

use crate::kinds::Status;
use crate::sized::text_of;
use crate::wire;

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
    /// The number that the device's runtime gives the failure; 0 for none.
    pub code: i64,
}

impl ApiError {
    /// Makes an error of class `status` about `subject`.
    pub fn new(status: Status, subject: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError {
            status,
            subject: subject.into(),
            message: message.into(),
            code: 0,
        }
    }

    /// The error with the number that the device's runtime gives it.
    pub fn with_code(self, code: i64) -> Self {
        ApiError { code, ..self }
    }

    /// What the other side answered: `status`, and `error` as it filled it in.
    pub(crate) fn from_wire(status: Status, error: &wire::Error) -> Self {
        let text = |field: &[std::ffi::c_char], otherwise: &str| {
            let text = text_of(field);
            if text.is_empty() {
                otherwise.to_owned()
            } else {
                text
            }
        };
        ApiError {
            status,
            subject: text(&error.subject, "backend"),
            message: text(&error.message, "the backend gave no reason"),
            code: error.code,
        }
    }
}
