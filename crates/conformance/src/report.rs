//! What came of a run, for people and for programs.
//!
//! What must stay true: a reason is one line, whatever a plugin wrote into its words; the keys
//! of the JSON form only grow.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use vmafx_api::loader::one_line;

use crate::candidate::Identity;
use crate::cells::CellsReport;
use crate::check::{Check, Severity};

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "reason", rename_all = "kebab-case")]
pub enum Outcome {
    /// What it proves holds.
    Passed,
    /// It does not, and why.
    Failed(String),
    /// It could not be tried, and why.
    Skipped(String),
}

impl Outcome {
    /// A failure; the reason becomes one line.
    pub fn failed(reason: &str) -> Self {
        Outcome::Failed(one_line(reason))
    }

    /// A check that was not tried; the reason becomes one line.
    pub fn skipped(reason: &str) -> Self {
        Outcome::Skipped(one_line(reason))
    }
}

/// A check and how it ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// How it ended.
    pub outcome: Outcome,
}

impl CheckResult {
    /// The result of a check that was made elsewhere.
    pub fn new(check: &'static Check, outcome: Outcome) -> Self {
        CheckResult { check, outcome }
    }

    /// Whether the backend must not be shipped for it.
    pub fn is_failure(&self) -> bool {
        self.check.severity == Severity::Required && matches!(self.outcome, Outcome::Failed(_))
    }
}

/// One line: `FAIL  values-finite: …`.
impl fmt::Display for CheckResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.check.id;
        match &self.outcome {
            Outcome::Passed => write!(f, "pass  {id}"),
            Outcome::Skipped(reason) => write!(f, "skip  {id}: {reason}"),
            Outcome::Failed(reason) if self.is_failure() => write!(f, "FAIL  {id}: {reason}"),
            Outcome::Failed(reason) => write!(f, "warn  {id}: {reason}"),
        }
    }
}

impl Serialize for CheckResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (outcome, reason) = match &self.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(reason) => ("failed", Some(reason)),
            Outcome::Skipped(reason) => ("skipped", Some(reason)),
        };
        let mut result = serializer.serialize_struct("CheckResult", 5)?;
        result.serialize_field("id", self.check.id)?;
        result.serialize_field("proves", self.check.proves)?;
        result.serialize_field("severity", &self.check.severity)?;
        result.serialize_field("outcome", outcome)?;
        result.serialize_field("reason", &reason)?;
        result.end()
    }
}

/// How many checks ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Passed.
    pub passed: usize,
    /// Failed, of those that are required.
    pub failed: usize,
    /// Failed, of those that are advised.
    pub warned: usize,
    /// Not tried.
    pub skipped: usize,
}

/// `37 passed, 1 failed, 2 skipped`, and the warnings if there are any.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            passed,
            failed,
            warned,
            skipped,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")?;
        match warned {
            0 => Ok(()),
            1 => f.write_str(", 1 warning"),
            _ => write!(f, ", {warned} warnings"),
        }
    }
}

/// What came of the checks of one backend.
///
/// As JSON: `backend` ([`Identity`]), `checks` (each with `id`, `proves`, `severity`, `outcome`
/// and `reason`, which is null for a pass), `cells` ([`CellsReport`], or null) and `counts`
/// ([`Counts`]).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The backend.
    pub backend: Identity,
    /// Each check, in the order in which they ran.
    pub results: Vec<CheckResult>,
    /// What came of each cell, if they were compared.
    pub cells: Option<CellsReport>,
}

impl Report {
    /// A report without results.
    pub fn new(backend: Identity) -> Self {
        Report {
            backend,
            results: Vec::new(),
            cells: None,
        }
    }

    /// Whether no required check failed.
    pub fn passed(&self) -> bool {
        !self.results.iter().any(CheckResult::is_failure)
    }

    /// How many checks ended how.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for result in &self.results {
            let count = match &result.outcome {
                Outcome::Passed => &mut counts.passed,
                Outcome::Failed(_) if result.is_failure() => &mut counts.failed,
                Outcome::Failed(_) => &mut counts.warned,
                Outcome::Skipped(_) => &mut counts.skipped,
            };
            *count += 1;
        }
        counts
    }

    /// The outcome of the check `id`, if it ran.
    pub fn outcome(&self, id: &str) -> Option<&Outcome> {
        let result = self.results.iter().find(|result| result.check.id == id);
        result.map(|result| &result.outcome)
    }
}

/// The backend, a line for each check, the cells, and the counts.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.backend)?;
        for result in &self.results {
            writeln!(f, "{result}")?;
        }
        if let Some(cells) = &self.cells {
            writeln!(f, "{cells}")?;
        }
        write!(f, "{}", self.counts())
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("Report", 4)?;
        report.serialize_field("backend", &self.backend)?;
        report.serialize_field("checks", &self.results)?;
        report.serialize_field("cells", &self.cells)?;
        report.serialize_field("counts", &self.counts())?;
        report.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vmafx_api::BackendInfo;

    #[test]
    fn a_report_counts_and_prints_one_line_a_check() {
        static REQUIRED: Check = Check::from_outside("must-hold", "It holds.");
        static ADVISED: Check = Check::advised("should-hold", "It may hold.", |_| Ok(()));
        let info = BackendInfo::new("example", "An\nexample", "1.2.3");
        let mut report = Report::new(Identity::of(&info));
        for (check, outcome) in [
            (&REQUIRED, Outcome::Passed),
            (&REQUIRED, Outcome::failed("value 1\nis 2")),
            (&ADVISED, Outcome::failed("a thread is left")),
            (&ADVISED, Outcome::skipped("no device")),
        ] {
            report.results.push(CheckResult::new(check, outcome));
        }
        assert_eq!(
            report.to_string(),
            "backend `example` 1.2.3 (An\\u{a}example), linked into this program\n\
             pass  must-hold\n\
             FAIL  must-hold: value 1\\u{a}is 2\n\
             warn  should-hold: a thread is left\n\
             skip  should-hold: no device\n\
             1 passed, 1 failed, 1 skipped, 1 warning"
        );
        assert!(!report.passed());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["checks"][1]["outcome"], "failed");
        assert_eq!(json["checks"][3]["severity"], "advised");
        assert_eq!(json["counts"]["warned"], 1);
        report.results.remove(1);
        assert!(report.passed(), "advice fails nothing");
    }
}
