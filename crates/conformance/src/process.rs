//! What a plugin finds in the process and must leave as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use vmafx_api::loader::{locale, one_line, signal_handlers, signal_name};

/// The state of the process and of the calling thread that a plugin must not change: locale,
/// working directory, environment, file mode mask, signals. The floating-point environment is
/// looked at around every call instead.
#[derive(Clone, Debug)]
pub struct ProcessState {
    locale: String,
    directory: Option<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
    handlers: BTreeMap<i32, usize>,
    /// What the kernel tells of the calling thread; empty where it does not.
    status: BTreeMap<String, String>,
}

impl ProcessState {
    /// That of this process and thread.
    pub fn current() -> Self {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let fields = status.lines().filter_map(|line| line.split_once(':'));
        ProcessState {
            locale: locale(),
            directory: std::env::current_dir().ok(),
            environment: std::env::vars_os().collect(),
            handlers: signal_handlers(),
            status: fields
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        }
    }

    /// Threads of the process, if the kernel tells.
    pub fn threads(&self) -> Option<usize> {
        self.status.get("Threads")?.parse().ok()
    }

    /// What is otherwise in `after`: a line each.
    pub fn changes(&self, after: &ProcessState) -> Vec<String> {
        let mut changes = Vec::new();
        let mut compare = |what: &str, before: &str, after: &str| {
            if before != after {
                changes.push(one_line(&format!("{what} was `{before}`, is `{after}`")));
            }
        };
        compare("the locale", &self.locale, &after.locale);
        let shown = |path: &Option<PathBuf>| {
            let path = path.as_deref();
            path.map_or("gone".to_owned(), |path| {
                path.to_string_lossy().into_owned()
            })
        };
        let directories = (shown(&self.directory), shown(&after.directory));
        compare("the working directory", &directories.0, &directories.1);
        let names = self.environment.keys().chain(after.environment.keys());
        for name in names.collect::<BTreeSet<_>>() {
            let value = |state: &ProcessState| {
                let value = state.environment.get(name);
                value.map_or("not set".to_owned(), |value| {
                    value.to_string_lossy().into_owned()
                })
            };
            let what = format!("the environment's {}", name.to_string_lossy());
            compare(&what, &value(self), &value(after));
        }
        let field =
            |state: &ProcessState, name: &str| state.status.get(name).cloned().unwrap_or_default();
        let masks = (field(self, "Umask"), field(after, "Umask"));
        compare("the file mode mask", &masks.0, &masks.1);
        let signals = self.handlers.keys().chain(after.handlers.keys());
        for &signal in signals.collect::<BTreeSet<_>>() {
            let does = |state: &ProcessState| match state.handlers.get(&signal) {
                None => "the system's answer".to_owned(),
                Some(1) => "ignored".to_owned(),
                Some(handler) => format!("a handler at {handler:#x}"),
            };
            let what = format!("{}'s handling", signal_name(signal));
            compare(&what, &does(self), &does(after));
        }
        let masks = (field(self, "SigBlk"), field(after, "SigBlk"));
        compare("the set of blocked signals", &masks.0, &masks.1);
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_by_name() {
        let before = ProcessState::current();
        assert_eq!(before.changes(&before), [""; 0]);
        assert!(before.threads().unwrap() >= 1);
        let mut after = before.clone();
        after.locale = "de_DE.UTF-8".to_owned();
        after.directory = Some(PathBuf::from("/elsewhere"));
        after.environment.insert("X".into(), "1".into());
        after.status.insert("Umask".into(), "0777".into());
        after.handlers.insert(6, 4096);
        after.handlers.insert(13, 4096);
        let changes = before.changes(&after).join("; ");
        for part in [
            "the locale was `C`, is `de_DE.UTF-8`",
            "is `/elsewhere`",
            "the environment's X was `not set`, is `1`",
            "is `0777`",
            "SIGABRT's handling was `the system's answer`, is `a handler at 0x1000`",
            "signal 13's handling was `ignored`",
        ] {
            assert!(changes.contains(part), "{changes}");
        }
    }
}
