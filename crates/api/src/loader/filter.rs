//! Filters: which backends the user wants looked at.
//!
//! `VMAFX_BACKENDS_DISABLE` and `VMAFX_BACKENDS_SELECT` are lists of patterns with commas
//! between them; `*` stands for any text. An identifier that DISABLE names is left out unless
//! SELECT names it; if SELECT is set, what it does not name is left out. So
//! `DISABLE='*' SELECT=cpu` and `SELECT=cpu` both leave the CPU alone.

use super::machine::Machine;
use super::manifest::is_id;
use super::record::{LoadRecord, Outcome, Place, Reason, Stage, Verdict, one_line};

const DISABLE: &str = "VMAFX_BACKENDS_DISABLE";
const SELECT: &str = "VMAFX_BACKENDS_SELECT";

/// Both lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    disable: Vec<String>,
    select: Option<Vec<String>>,
}

impl Filters {
    /// Reads both lists; a pattern that can match no identifier becomes a record.
    pub(super) fn from_machine(machine: &Machine, records: &mut Vec<LoadRecord>) -> Self {
        let mut list =
            |name: &str| {
                let value = machine.variable(name)?.to_string_lossy().into_owned();
                let patterns = value.split(',').map(str::trim).filter(|p| !p.is_empty());
                let patterns: Vec<String> = patterns.map(str::to_owned).collect();
                for pattern in patterns.iter().filter(|pattern| !can_match(pattern)) {
                    let pattern = one_line(pattern);
                    let line = format!("{name}: `{pattern}` can match no backend");
                    records.push(LoadRecord::new(Place::Environment).end(
                        Outcome::Refused,
                        Verdict::new(Stage::Filter, Reason::BadPattern, line).hint(
                            "identifiers are of a-z, 0-9 and hyphens; `*` stands for any text",
                        ),
                    ));
                }
                (!patterns.is_empty()).then_some(patterns)
            };
        Filters {
            disable: list(DISABLE).unwrap_or_default(),
            select: list(SELECT),
        }
    }

    /// Why `id` is left out, if it is.
    pub(super) fn verdict(&self, id: &str) -> Option<Verdict> {
        let named = |list: &[String]| list.iter().find(|pattern| matches(pattern, id)).cloned();
        match &self.select {
            Some(select) if named(select).is_some() => return None,
            Some(_) => {
                let line = format!("{SELECT} does not name it");
                return Some(Verdict::new(Stage::Filter, Reason::FilterSelect, line));
            }
            None => {}
        }
        let pattern = one_line(&named(&self.disable)?);
        let line = format!("{DISABLE} names it (`{pattern}`)");
        Some(Verdict::new(Stage::Filter, Reason::FilterDisable, line))
    }
}

fn can_match(pattern: &str) -> bool {
    let letters = pattern.replace('*', "");
    (letters.is_empty() && pattern.contains('*')) || is_id(&letters)
}

/// Whether `pattern`, in which `*` stands for any text, matches all of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    // `split` gives at least one part.
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_identifiers() {
        for (pattern, text, wanted) in [
            ("hip", "hip", true),
            ("hip", "hip2", false),
            ("hip", "ahip", false),
            ("hip*", "hip2", true),
            ("*hip", "ahip", true),
            ("*hip", "hipa", false),
            ("*hip*", "ahipb", true),
            ("*", "anything", true),
            ("**", "anything", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            // The two ends may not share letters.
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn select_has_the_last_word() {
        let left_out = |disable: &str, select: &str, id: &str| {
            let machine = Machine::at("/")
                .with_variable(DISABLE, disable)
                .with_variable(SELECT, select);
            let mut records = Vec::new();
            let filters = Filters::from_machine(&machine, &mut records);
            assert!(records.is_empty());
            filters.verdict(id).map(|verdict| verdict.reason)
        };
        assert_eq!(left_out("", "", "hip"), None);
        assert_eq!(left_out("hip, cu*", "", "hip"), Some(Reason::FilterDisable));
        assert_eq!(
            left_out("hip, cu*", "", "cuda"),
            Some(Reason::FilterDisable)
        );
        assert_eq!(left_out("hip, cu*", "", "cpu"), None);
        assert_eq!(left_out("*", "cpu", "cpu"), None);
        assert_eq!(left_out("*", "cpu", "hip"), Some(Reason::FilterSelect));
        assert_eq!(left_out("", "cpu", "hip"), Some(Reason::FilterSelect));
    }

    #[test]
    fn a_pattern_that_cannot_match_is_told() {
        let machine = Machine::at("/").with_variable(DISABLE, "HIP,,cuda,a_b*,*");
        let mut records = Vec::new();
        Filters::from_machine(&machine, &mut records);
        let lines: Vec<_> = records.iter().map(|record| record.line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "VMAFX_BACKENDS_DISABLE: `HIP` can match no backend",
                "VMAFX_BACKENDS_DISABLE: `a_b*` can match no backend",
            ]
        );
    }
}
