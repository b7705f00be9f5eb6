//! What a backend answers when it cannot do a thing: a status, a subject and one sentence.

use std::fmt;

/// Class of a failure. The numbers are the wire's and the C API's and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum Status {
    /// An argument is wrong: a bad value, an unknown name, a missing handle.
    Invalid = -1,
    /// Host or device memory ran out.
    NoMemory = -2,
    /// The thing is well formed but not offered here.
    NotSupported = -3,
    /// No such device, feature or model.
    NotFound = -4,
    /// Not now: the same call may succeed later.
    Busy = -5,
    /// A device or its driver failed.
    Device = -6,
    /// Reading or writing failed.
    Io = -7,
    /// A number lies outside its range.
    Range = -8,
    /// A broken invariant inside this library or a backend.
    Internal = -9,
    /// A bounded wait ran out.
    Timeout = -10,
    /// The two sides of the boundary disagree about a layout.
    Abi = -11,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Invalid => "invalid",
            Status::NoMemory => "out of memory",
            Status::NotSupported => "not supported",
            Status::NotFound => "not found",
            Status::Busy => "busy",
            Status::Device => "device failure",
            Status::Io => "i/o failure",
            Status::Range => "out of range",
            Status::Internal => "internal error",
            Status::Timeout => "timed out",
            Status::Abi => "interface mismatch",
        })
    }
}

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
