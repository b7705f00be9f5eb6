//! Why a run ends without success: the class, which is the exit code, and one line of text.
//!
//! Scripts read both, so neither changes: `vmafx: error[CLASS]: TEXT` on standard error, with
//! the exit code of [`Class::code`]. The table of classes is printed by `vmafx help exit-codes`
//! and in the manual page from [`CLASSES`].

use std::error::Error;
use std::fmt;

/// Class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Usage,
    Input,
    Model,
    Output,
    Backend,
    Internal,
}

/// Every class with its exit code, its word in messages and what it stands for.
pub(crate) const CLASSES: [(Class, u8, &str, &str); 6] = [
    (
        Class::Usage,
        1,
        "usage",
        "the command line is wrong: an unknown option, a bad value, options that exclude one another",
    ),
    (
        Class::Input,
        2,
        "input",
        "an input cannot be read or the two do not belong together: missing, damaged, empty, of \
         different size, chroma, depth or length",
    ),
    (
        Class::Model,
        3,
        "model",
        "a model, feature or preset is unknown, damaged, or not defined for these frames",
    ),
    (
        Class::Output,
        4,
        "output",
        "a report, stream, chart or standard output cannot be written",
    ),
    (
        Class::Backend,
        5,
        "backend",
        "a backend or device is missing, refuses the work or failed at it",
    ),
    (Class::Internal, 70, "internal", "a defect of vmafx itself"),
];

impl Class {
    /// Exit code of the class.
    pub(crate) fn code(self) -> u8 {
        self.row().1
    }

    /// Word of the class in messages.
    pub(crate) fn word(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (Class, u8, &'static str, &'static str) {
        let row = CLASSES.iter().find(|row| row.0 == self);
        row.expect("every class has its row")
    }
}

/// A run's end: class and cause.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Class of the failure.
    pub(crate) class: Class,
    cause: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// A failure of `class` for `cause`, which is an error or a sentence.
    pub(crate) fn new(class: Class, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        Failure { class, cause }
    }

    /// A failure of class usage.
    pub(crate) fn usage(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Failure::new(Class::Usage, cause)
    }
}

/// The line for standard error: the cause and the causes behind it, without line breaks.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.cause.to_string();
        let mut source = self.cause.source();
        while let Some(error) = source {
            let next = error.to_string();
            // Many errors already quote the one behind them.
            if !text.contains(&next) {
                text.push_str(": ");
                text.push_str(&next);
            }
            source = error.source();
        }
        write!(
            f,
            "vmafx: error[{}]: {}",
            self.class.word(),
            one_line(&text)
        )
    }
}

/// Gives an error its class.
pub(crate) trait Classify<T> {
    /// Turns the error into a failure of `class`.
    fn class(self, class: Class) -> Result<T, Failure>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Classify<T> for Result<T, E> {
    fn class(self, class: Class) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(class, error))
    }
}

/// `text` with control characters escaped, so that a file name cannot break the line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn message_is_one_line_with_its_causes() {
        let inner = "x".parse::<u32>().unwrap_err();
        let failure = Failure::new(Class::Input, Outer(inner));
        assert_eq!(
            failure.to_string(),
            "vmafx: error[input]: outer: invalid digit found in string"
        );
        let failure = Failure::usage("no file `a\nb`");
        assert_eq!(failure.to_string(), "vmafx: error[usage]: no file `a\\nb`");
    }

    #[test]
    fn codes_are_the_documented_ones() {
        let codes = CLASSES.map(|(class, ..)| (class.word(), class.code()));
        assert_eq!(
            codes,
            [
                ("usage", 1),
                ("input", 2),
                ("model", 3),
                ("output", 4),
                ("backend", 5),
                ("internal", 70)
            ]
        );
    }
}
