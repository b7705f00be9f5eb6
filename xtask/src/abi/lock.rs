//! The text of `abi/plugin.lock`: one line an item.
//!
//! ```text
//! field Frame planes #3 offset=24 size=72 [Plane; 3] r1
//! ^^^^^ ^^^^^ ^^^^^^ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ ^^
//! group       name   detail                          revision in which it came, or `draft`
//! ```
//! What must stay true: a line that is in the lock keeps its revision; the lock is the only
//! place that knows it.

use std::fmt;
use std::fmt::Write;

const HEAD: &str = "\
# Every item of the plugin interface: what a library built against it relies on.
# Written by `cargo xtask abi --bless`, which only appends. The last word of a line is the
# revision in which the item came; `draft` is outside the promise.
";

/// The numbers at the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Another major has another entry symbol.
    pub(crate) major: u32,
    /// Newest revision.
    pub(crate) revision: u32,
    /// Number of the draft parts.
    pub(crate) draft: u32,
    /// Newest revision whose header is frozen; 0 before the first.
    pub(crate) released: u32,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// What it is and to what it belongs, such as `field Frame`.
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) detail: String,
    /// The revision in which it came; `None` for a draft.
    pub(crate) revision: Option<u32>,
}

/// A whole lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) numbers: Numbers,
    pub(crate) lines: Vec<Line>,
    /// Lines that are none.
    pub(crate) broken: Vec<String>,
}

/// Groups whose items belong to another: their second word is its name.
const OWNED: [&str; 4] = ["field", "method", "size", "value"];

impl Line {
    /// `field` of `field Frame`.
    pub(crate) fn kind(&self) -> &str {
        self.group.split(' ').next().unwrap_or_default()
    }

    /// `Frame` of `field Frame`; empty if it belongs to nothing.
    pub(crate) fn owner(&self) -> &str {
        self.group.split_once(' ').map_or("", |(_, owner)| owner)
    }

    /// The number behind `key=` in the detail.
    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        let mut words = self.detail.split(' ');
        let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
        value.parse().ok()
    }

    fn parse(line: &str) -> Option<Line> {
        let (kind, rest) = line.split_once(' ')?;
        let (group, rest) = match OWNED.contains(&kind) {
            true => {
                let (owner, rest) = rest.split_once(' ')?;
                (format!("{kind} {owner}"), rest)
            }
            false => (kind.to_owned(), rest),
        };
        let (rest, mark) = rest.rsplit_once(' ')?;
        let (name, detail) = rest.split_once(' ').unwrap_or((rest, ""));
        let revision = match mark {
            "draft" => None,
            mark => Some(mark.strip_prefix('r')?.parse().ok()?),
        };
        Some(Line {
            group,
            name: name.to_owned(),
            detail: detail.to_owned(),
            revision,
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.group, self.name)?;
        if !self.detail.is_empty() {
            write!(f, " {}", self.detail)?;
        }
        match self.revision {
            Some(revision) => write!(f, " r{revision}"),
            None => f.write_str(" draft"),
        }
    }
}

impl Lock {
    /// Reads a lock; what is no line of one is kept as broken.
    pub(crate) fn parse(text: &str) -> Lock {
        let mut lock = Lock::default();
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = line.split_once(' ').and_then(|(key, value)| {
                let place = match key {
                    "major" => &mut lock.numbers.major,
                    "revision" => &mut lock.numbers.revision,
                    "draft" => &mut lock.numbers.draft,
                    "released" => &mut lock.numbers.released,
                    _ => return None,
                };
                *place = value.parse().ok()?;
                Some(())
            });
            if number.is_some() {
                continue;
            }
            match Line::parse(line) {
                Some(line) => lock.lines.push(line),
                None => lock.broken.push(line.to_owned()),
            }
        }
        lock
    }

    /// The item of that group and name.
    pub(crate) fn find(&self, group: &str, name: &str) -> Option<&Line> {
        let mut lines = self.lines.iter();
        lines.find(|line| line.group == group && line.name == name)
    }

    /// Gives what this lock already lists its revision, and keeps the sizes that a struct had:
    /// `now` is the lock of the interface as it is, each item of its newest revision.
    pub(crate) fn carry_over(&self, mut now: Lock) -> Lock {
        for line in &mut now.lines {
            let known = self.find(&line.group, &line.name);
            let same = known.filter(|k| k.detail == line.detail && k.revision.is_some());
            if let (Some(known), Some(_)) = (same, line.revision) {
                line.revision = known.revision;
            }
        }
        let mut lines = Vec::with_capacity(now.lines.len());
        for line in now.lines {
            if line.kind() == "size" && line.revision.is_some() {
                let earlier = self.lines.iter();
                lines.extend(
                    earlier
                        .filter(|old| old.group == line.group && old.name != line.name)
                        .cloned(),
                );
            }
            lines.push(line);
        }
        now.lines = lines;
        now
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        let Numbers {
            major,
            revision,
            draft,
            released,
        } = self.numbers;
        writeln!(f, "\nmajor {major}\nrevision {revision}\ndraft {draft}")?;
        writeln!(f, "released {released}")?;
        let mut before = "";
        for line in &self.lines {
            let starts = match line.kind() {
                "struct" | "number" | "set" | "trait" => true,
                "field" | "value" | "size" | "method" => false,
                kind => kind != before,
            };
            if starts {
                f.write_char('\n')?;
            }
            before = line.kind();
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let text = "major 1\nrevision 2\ndraft 3\nreleased 1\n\
            symbol entry fn(a: *const Host) -> Status r1\n\
            opaque Thing r2\nsize Frame 128 r1\n\
            field Frame planes #3 offset=24 size=72 [Plane; 3] draft\n";
        let lock = Lock::parse(text);
        assert_eq!(lock.broken, Vec::<String>::new());
        assert_eq!(lock.numbers.released, 1);
        assert_eq!(lock.lines[2].owner(), "Frame");
        assert_eq!(lock.lines[3].number("offset"), Some(24));
        assert_eq!(lock.lines[3].revision, None);
        assert_eq!(Lock::parse(&lock.to_string()), lock);
        assert_eq!(Lock::parse("nonsense\n").broken, ["nonsense"]);
    }

    #[test]
    fn known_items_keep_their_revision_and_structs_their_sizes() {
        let old = "revision 1\nstruct A extensible align=4 r1\nsize A 4 r1\n\
            field A struct_size #0 offset=0 size=4 u32 r1\n";
        let now = "revision 2\nstruct A extensible align=4 r2\nsize A 8 r2\n\
            field A struct_size #0 offset=0 size=4 u32 r2\n\
            field A more #1 offset=4 size=4 u32 r2\n";
        let merged = Lock::parse(old).carry_over(Lock::parse(now));
        let lines: Vec<_> = merged.lines.iter().map(Line::to_string).collect();
        assert_eq!(
            lines,
            [
                "struct A extensible align=4 r1",
                "size A 4 r1",
                "size A 8 r2",
                "field A struct_size #0 offset=0 size=4 u32 r1",
                "field A more #1 offset=4 size=4 u32 r2",
            ]
        );
    }
}
