//! The rules of growth: what may differ between the interface as it was and as it is.
//!
//! A pure function from two texts to findings, so that every rule is tested with a planted
//! defect. What must stay true: a library that was built against any revision of the lock works
//! with everything that these rules let pass.

use std::fmt;

use super::lock::{Line, Lock};

/// One breach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    rule: Rule,
    /// The item, such as `field Frame memory`.
    item: String,
    /// What is wrong with it, old and new included.
    what: String,
}

/// The rules. The number is what people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// An item that exists never changes and never goes.
    Stays = 1,
    /// A new item comes after the last.
    Last = 2,
    /// A struct that may grow, and every table of functions, starts with `struct_size`.
    SizeFirst = 3,
    /// A struct without `struct_size` never changes.
    Plain = 4,
    /// A number has one name, for ever.
    Reuse = 5,
    /// Only types whose size and meaning no compiler decides.
    Types = 6,
    /// Objects of every age have the methods before the mark; the later have a default body.
    Prefix = 7,
    /// A change has a revision of its own and an entry in the changelog.
    Revision = 8,
    /// No bytes between fields or after the last, which a writer would leave unset.
    Padding = 9,
}

impl Rule {
    fn text(self) -> &'static str {
        match self {
            Rule::Stays => "what exists never changes",
            Rule::Last => "new items come last",
            Rule::SizeFirst => "`struct_size` comes first",
            Rule::Plain => "a plain struct never changes",
            Rule::Reuse => "a number has one name for ever",
            Rule::Types => "allowed types only",
            Rule::Prefix => "later methods have a default body",
            Rule::Revision => "a change has its own revision and a changelog entry",
            Rule::Padding => "no padding",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, item, what } = self;
        write!(f, "{item}: {what} (rule {}: {})", *rule as u32, rule.text())
    }
}

/// Compares two locks. `old` may be empty; `changelog` is the text of CHANGELOG.md.
pub(crate) fn findings(old: &str, new: &str, changelog: &str) -> Vec<Finding> {
    let (old, new) = (Lock::parse(old), Lock::parse(new));
    let mut found = Findings(Vec::new());
    for line in &old.broken {
        found.add(Rule::Stays, line, "no line of a lock".to_owned());
    }
    existing_stay(&old, &new, &mut found);
    for line in &new.lines {
        if line.revision.is_some() && old.find(&line.group, &line.name).is_none() {
            newcomer(line, &old, &new, &mut found);
        }
    }
    for line in &new.lines {
        match line.kind() {
            "struct" => structure(line, &new, &mut found),
            "field" => types(line, &new, &mut found),
            _ => {}
        }
    }
    revisions(&old, &new, changelog, &mut found);
    found.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, rule: Rule, item: &str, what: String) {
        self.0.push(Finding {
            rule,
            item: item.to_owned(),
            what,
        });
    }

    fn line(&mut self, rule: Rule, line: &Line, what: String) {
        self.add(rule, &format!("{} {}", line.group, line.name), what);
    }
}

/// Rule 1, and rule 4 for what is laid out otherwise.
fn existing_stay(old: &Lock, new: &Lock, found: &mut Findings) {
    for was in old.lines.iter().filter(|line| line.revision.is_some()) {
        // Whoever is gone takes what belongs to him along; that is one finding.
        let parents: &[&str] = match was.kind() {
            "field" | "size" => &["struct"],
            "method" => &["trait"],
            _ => &["number", "set"],
        };
        let has_parent = |lock: &Lock| parents.iter().any(|p| lock.find(p, was.owner()).is_some());
        if has_parent(old) && !has_parent(new) {
            continue;
        }
        let Some(is) = new.find(&was.group, &was.name) else {
            if was.kind() != "size" {
                let what = format!("it was `{}` and is gone", shown(&was.detail));
                found.line(Rule::Stays, was, what);
            }
            continue;
        };
        let (before, after) = (shown(&was.detail), shown(&is.detail));
        if is.revision.is_none() {
            let what = format!("it was promised as `{before}` and is a draft now");
            found.line(Rule::Stays, was, what);
        } else if is.detail != was.detail {
            let what = match (was.number("offset"), is.number("offset")) {
                (Some(from), Some(to)) if from != to => {
                    format!("moved from offset {from} to {to}: was `{before}`, is `{after}`")
                }
                _ => format!("was `{before}`, is `{after}`"),
            };
            found.line(Rule::Stays, was, what);
        }
    }
}

/// Rules 2, 4, 5, 7 and 8 for an item that the old lock does not have.
fn newcomer(line: &Line, old: &Lock, new: &Lock, found: &mut Findings) {
    let detail = shown(&line.detail);
    if line.revision.is_some_and(|r| r <= new.numbers.released) {
        let what = format!(
            "new, but its revision r{} is released: raise ABI_REVISION to {}",
            line.revision.unwrap_or_default(),
            new.numbers.released + 1
        );
        found.line(Rule::Revision, line, what);
    }
    let siblings = old.lines.iter().filter(|other| other.group == line.group);
    let siblings: Vec<&Line> = siblings.filter(|other| other.revision.is_some()).collect();
    if siblings.is_empty() {
        return;
    }
    let parent = old.find("struct", line.owner());
    let plain = ["field", "size"].contains(&line.kind())
        && parent.is_some_and(|parent| parent.detail.starts_with("plain"));
    if line.kind() == "size" {
        let last = siblings.iter().filter_map(|l| l.name.parse().ok()).max();
        let (from, to) = (last.unwrap_or(0usize), line.name.parse().unwrap_or(0usize));
        match (plain, to < from) {
            (true, _) => found.line(Rule::Plain, line, format!("was {from} bytes, is {to}")),
            (false, true) => found.line(Rule::Stays, line, format!("shrank from {from} to {to}")),
            (false, false) => {}
        }
        return;
    }
    if plain {
        let what = format!("`{detail}` is new in a struct that cannot grow");
        found.line(Rule::Plain, line, what);
        return;
    }
    let place = |item: &Line| {
        new.lines
            .iter()
            .position(|other| other.name == item.name && other.group == item.group)
    };
    let last = siblings.iter().filter_map(|other| place(other)).max();
    let here = place(line);
    if let Some(last) = last.filter(|last| here.is_some_and(|here| here < *last)) {
        let what = format!(
            "`{detail}` is new and comes before `{}`",
            new.lines[last].name
        );
        found.line(Rule::Last, line, what);
    }
    match line.kind() {
        "value" => {
            let mut taken = old.lines.iter().chain(&new.lines).filter(|other| {
                other.group == line.group && other.name != line.name && other.detail == line.detail
            });
            if let Some(other) = taken.next() {
                let what = format!("{detail} is the number of `{}`", other.name);
                found.line(Rule::Reuse, line, what);
            }
        }
        "method" if !line.detail.contains(" default ") => {
            let what = format!("`{detail}` is new and old objects do not have it");
            found.line(Rule::Prefix, line, what);
        }
        "field" => {
            let sizes = old.lines.iter().filter(|other| other.kind() == "size");
            let sizes = sizes.filter(|other| other.owner() == line.owner());
            let end = sizes.filter_map(|l| l.name.parse::<usize>().ok()).max();
            let offset = line.number("offset").unwrap_or_default();
            if let Some(end) = end.filter(|&end| offset < end) {
                let what = format!(
                    "new at offset {offset}, within the {end} bytes that old libraries write"
                );
                found.line(Rule::Last, line, what);
            }
        }
        _ => {}
    }
}

/// Rules 3 and 9 for one struct.
fn structure(line: &Line, lock: &Lock, found: &mut Findings) {
    let group = format!("field {}", line.name);
    let fields: Vec<&Line> = lock.lines.iter().filter(|l| l.group == group).collect();
    let extensible = line.detail.starts_with("extensible");
    let size_first = fields.first().is_some_and(|first| {
        first.name == "struct_size" && first.detail == "#0 offset=0 size=4 u32"
    });
    let is_table = fields.iter().any(|field| field.detail.contains(" fn("));
    let has_size = fields.iter().any(|field| field.name == "struct_size");
    if (extensible || is_table || has_size) && !size_first {
        let first = fields.first().map_or("nothing", |first| &first.name);
        let what = format!("its first field is `{first}`, not `struct_size: u32`");
        found.line(Rule::SizeFirst, line, what);
    }
    let mut end = 0;
    for field in &fields {
        let offset = field.number("offset").unwrap_or_default();
        if offset > end {
            let what = format!(
                "{} unnamed bytes before it; name them `reserved`",
                offset - end
            );
            found.line(Rule::Padding, field, what);
        }
        end = offset + field.number("size").unwrap_or_default();
    }
    let mut sizes = lock
        .lines
        .iter()
        .filter(|l| l.kind() == "size" && l.owner() == line.name);
    let size = sizes.next_back().and_then(|l| l.name.parse().ok());
    let size: usize = size.unwrap_or(end);
    if size > end {
        let what = format!(
            "{} unnamed bytes at its end; name them `reserved`",
            size - end
        );
        found.line(Rule::Padding, line, what);
    }
}

const SCALARS: [&str; 13] = [
    "c_char", "c_void", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f64", "usize", "",
];

/// Rule 6 for one field: every word of its type is a scalar, a pointer or a type of the lock.
fn types(line: &Line, lock: &Lock, found: &mut Findings) {
    let words: Vec<&str> = line.detail.splitn(4, ' ').collect();
    let Some(type_) = words.get(3) else { return };
    let known = |word: &str| {
        let number = word.parse::<u64>().is_ok();
        let kinds = ["struct", "number", "set", "opaque"];
        number || SCALARS.contains(&word) || kinds.iter().any(|k| lock.find(k, word).is_some())
    };
    // Names of parameters say nothing of the type.
    let mut foreign: Vec<&str> = Vec::new();
    let mut rest = *type_;
    while !rest.is_empty() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_parameter = after.starts_with(": ");
        if !["const", "mut", "fn"].contains(&word) && !is_parameter && !known(word) {
            foreign.push(word);
        }
        rest = after.trim_start_matches(|c| !is_part(c));
    }
    for word in foreign {
        let what = format!("`{type_}` has `{word}`, which does not cross the boundary");
        found.line(Rule::Types, line, what);
    }
    for sign in ['&', '<'] {
        if type_.contains(sign) {
            let what = format!("`{type_}` has `{sign}`, which does not cross the boundary");
            found.line(Rule::Types, line, what);
        }
    }
}

/// Rule 8 for the whole lock.
fn revisions(old: &Lock, new: &Lock, changelog: &str, found: &mut Findings) {
    let (before, now) = (old.numbers, new.numbers);
    let first = old.lines.is_empty();
    if !first {
        let numbers = [
            ("ABI_MAJOR", before.major, now.major),
            ("ABI_REVISION", before.revision, now.revision),
            ("DRAFT", before.draft, now.draft),
            ("released", before.released, now.released),
        ];
        for (name, from, to) in numbers {
            if to < from {
                let what = format!("went back from {from} to {to}");
                found.add(Rule::Revision, name, what);
            }
        }
        if before.major != now.major {
            let what = "another major is another entry symbol, and another lock".to_owned();
            found.add(Rule::Stays, "ABI_MAJOR", what);
        }
    }
    if now.revision > now.released + 1 {
        let what = format!(
            "is {}, but the newest released revision is {}: it is raised once a release",
            now.revision, now.released
        );
        found.add(Rule::Revision, "ABI_REVISION", what);
    }
    let drafts = |lock: &Lock| -> Vec<Line> {
        let lines = lock.lines.iter().filter(|line| line.revision.is_none());
        lines.cloned().collect()
    };
    if !first && drafts(old) != drafts(new) && before.draft == now.draft {
        let what = format!(
            "a draft item changed, and the number is still {}",
            now.draft
        );
        found.add(Rule::Revision, "DRAFT", what);
    }
    let words = format!("plugin ABI revision {}", now.revision);
    let told = changelog.match_indices(&words).any(|(at, _)| {
        let after = changelog[at + words.len()..].chars().next();
        !after.is_some_and(|c| c.is_ascii_digit())
    });
    if old.lines != new.lines && !told {
        let what = format!("no entry says \"{words}\"");
        found.add(Rule::Revision, "CHANGELOG.md", what);
    }
}

/// A detail without its place in the lock.
fn shown(detail: &str) -> &str {
    match detail.strip_prefix('#') {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
        None => detail,
    }
}

#[cfg(test)]
mod tests;
