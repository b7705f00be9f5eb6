//! What a check is, and the list of them.

use serde::Serialize;
use vmafx_api::{ApiError, Status};

use crate::candidate::Candidate;
use crate::checks;
use crate::report::{CheckResult, Outcome, Report};

/// How much a failed check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A plugin that fails it must not be shipped.
    Required,
    /// To be put right, where the runtime below the plugin allows it; no failure of the run.
    Advised,
}

/// One check of a backend.
#[derive(Debug)]
#[non_exhaustive]
pub struct Check {
    /// Its name, which never changes.
    pub id: &'static str,
    /// What a pass proves: one sentence.
    pub proves: &'static str,
    /// How much a failure matters.
    pub severity: Severity,
    run: fn(&Candidate) -> Verdict,
}

impl Check {
    pub(crate) const fn required(
        id: &'static str,
        proves: &'static str,
        run: fn(&Candidate) -> Verdict,
    ) -> Self {
        Check {
            id,
            proves,
            severity: Severity::Required,
            run,
        }
    }

    pub(crate) const fn advised(
        id: &'static str,
        proves: &'static str,
        run: fn(&Candidate) -> Verdict,
    ) -> Self {
        Check {
            severity: Severity::Advised,
            ..Check::required(id, proves, run)
        }
    }

    /// A check that whoever watches the process has to make; [`Suite::all`] does not have it.
    pub const fn from_outside(id: &'static str, proves: &'static str) -> Self {
        const ONLY_OUTSIDE: fn(&Candidate) -> Verdict =
            |_| skip("only a watching process can tell");
        Check::required(id, proves, ONLY_OUTSIDE)
    }
}

/// How a check ends that does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Failed(String),
    Skipped(String),
}

pub(crate) type Verdict = Result<(), Ending>;

/// A call that has to succeed and did not.
impl From<ApiError> for Ending {
    fn from(error: ApiError) -> Self {
        Ending::Failed(format!("a call that must succeed failed: {error}"))
    }
}

pub(crate) fn fail<T>(reason: impl Into<String>) -> Result<T, Ending> {
    Err(Ending::Failed(reason.into()))
}

pub(crate) fn skip<T>(reason: impl Into<String>) -> Result<T, Ending> {
    Err(Ending::Skipped(reason.into()))
}

pub(crate) fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Verdict {
    match holds {
        true => Ok(()),
        false => fail(reason()),
    }
}

/// The refusal of `what`, which has to be one.
///
/// # Errors
/// The call succeeded, or ended in a way that is no refusal.
pub(crate) fn refusal<T>(what: &str, answer: Result<T, ApiError>) -> Result<ApiError, Ending> {
    match answer {
        Ok(_) => fail(format!(
            "{what} is accepted; refuse it with a negative status, a subject and a reason"
        )),
        Err(error) if matches!(error.status, Status::PANIC | Status::INTERNAL) => fail(format!(
            "{what} ends in a defect and not in a refusal: {error}"
        )),
        Err(error) => Ok(error),
    }
}

/// As [`refusal`], of class `status`.
pub(crate) fn refusal_as<T>(
    status: Status,
    what: &str,
    answer: Result<T, ApiError>,
) -> Result<ApiError, Ending> {
    let error = refusal(what, answer)?;
    ensure(error.status == status, || {
        format!(
            "{what} is refused as `{}` ({}: {}); answer `{status}`, by which the host tells a \
             missing thing from a broken one",
            error.status, error.subject, error.message
        )
    })?;
    Ok(error)
}

/// Why a suite cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// There is no check of that name.
    #[error("there is no check `{id}`; `vmafx-plugin-check --list` names them all")]
    UnknownCheck {
        /// What was given.
        id: String,
    },
}

/// Checks in the order in which they run.
#[derive(Clone, Debug)]
pub struct Suite {
    checks: Vec<&'static Check>,
}

impl Suite {
    /// Every check there is.
    pub fn all() -> Self {
        Suite {
            checks: checks::ALL.iter().copied().flatten().collect(),
        }
    }

    /// The checks named, in the order of the whole suite.
    ///
    /// # Errors
    /// A name that no check has.
    pub fn only<S: AsRef<str>>(ids: impl IntoIterator<Item = S>) -> Result<Self, ConformanceError> {
        let all = Suite::all().checks;
        let mut chosen = vec![false; all.len()];
        for id in ids {
            let id = id.as_ref();
            let place = all.iter().position(|check| check.id == id);
            let place =
                place.ok_or_else(|| ConformanceError::UnknownCheck { id: id.to_owned() })?;
            chosen[place] = true;
        }
        let checks = all.into_iter().zip(chosen);
        Ok(Suite {
            checks: checks
                .filter_map(|(check, chosen)| chosen.then_some(check))
                .collect(),
        })
    }

    /// The checks.
    pub fn checks(&self) -> &[&'static Check] {
        &self.checks
    }

    /// Runs every check.
    pub fn run(&self, candidate: &Candidate) -> Report {
        self.run_watched(candidate, |_, _| {})
    }

    /// Runs every check, and tells of each before it starts (no outcome) and when it has ended.
    pub fn run_watched(
        &self,
        candidate: &Candidate,
        mut watch: impl FnMut(&'static Check, Option<&Outcome>),
    ) -> Report {
        let mut report = Report::new(candidate.identity());
        for &check in &self.checks {
            watch(check, None);
            let outcome = match candidate.watched(check.run) {
                Ok(()) => Outcome::Passed,
                Err(Ending::Failed(reason)) => Outcome::failed(&reason),
                Err(Ending::Skipped(reason)) => Outcome::skipped(&reason),
            };
            report.cells = candidate.cells();
            watch(check, Some(&outcome));
            report.results.push(CheckResult { check, outcome });
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_case_and_unique_and_each_proves_something() {
        let suite = Suite::all();
        let mut seen = std::collections::BTreeSet::new();
        for check in suite.checks() {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(check.id.chars().all(plain), "{}", check.id);
            assert!(seen.insert(check.id), "two checks are named {}", check.id);
            assert!(check.proves.ends_with('.'), "{}", check.proves);
        }
    }

    #[test]
    fn checks_are_chosen_by_name_and_keep_their_order() {
        let all = Suite::all();
        let (first, last) = (all.checks()[0].id, all.checks()[all.checks().len() - 1].id);
        let chosen = Suite::only([last, first, last]).unwrap();
        let ids: Vec<_> = chosen.checks().iter().map(|check| check.id).collect();
        assert_eq!(ids, [first, last]);
        let error = Suite::only(["no-such"]).unwrap_err();
        assert!(error.to_string().starts_with("there is no check `no-such`"));
    }
}
