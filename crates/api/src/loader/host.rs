//! What a plugin is offered: the range of revisions that this host takes, and the log.
//!
//! The log has one sink a process, set by the application; without one, lines are dropped. A
//! plugin may log from any thread and at any time, its entry included, so the sink must not
//! call into the loader.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError, RwLock};

use super::record::one_line;
use crate::guard::run_quietly;
use crate::kinds::LogLevel;
use crate::wire::{ABI_REVISION, Host, Text};

/// Takes a line of the log: its level, who wrote it (the path of a library), and the line.
pub type LogSink = dyn Fn(LogLevel, &str, &str) + Send + Sync;

static SINK: RwLock<Option<Arc<LogSink>>> = RwLock::new(None);

/// Oldest revision of the wire that this host takes.
pub const ABI_OLDEST: u32 = 1;
/// Name and version of this host, for people.
const HOST_VERSION: &str = concat!("vmafx-api ", env!("CARGO_PKG_VERSION"));
/// Longest line that is taken from a plugin, in bytes.
const MAX_LINE: usize = 64 * 1024;

/// Sets where lines of the log go; `None` drops them. Lines come from any thread, some while the
/// loader is at work: the sink must not call into it.
pub fn set_log(sink: Option<Arc<LogSink>>) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Writes a line.
pub(super) fn log(level: LogLevel, origin: &str, line: &str) {
    // The lock is not held while the sink runs: a sink may set another one.
    let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(sink) = sink {
        sink(level, origin, line);
    }
}

/// What a plugin is offered. It lives as long as the process, as the wire promises.
pub(super) fn host_for(origin: String) -> &'static Host {
    let origin: &'static mut String = Box::leak(Box::new(origin));
    Box::leak(Box::new(Host {
        struct_size: size_of::<Host>() as u32,
        abi_min: ABI_OLDEST,
        abi_max: ABI_REVISION,
        reserved: 0,
        version: Text {
            data: HOST_VERSION.as_ptr().cast(),
            size: HOST_VERSION.len(),
        },
        log_context: (&raw mut *origin).cast(),
        log: Some(take_line),
    }))
}

/// [`Host::log`] of [`host_for`].
///
/// # Safety
/// `context` is the `log_context` of a host that [`host_for`] made; the text's bytes lie behind
/// its pointer.
unsafe extern "C" fn take_line(context: *mut c_void, level: LogLevel, text: Text) {
    if context.is_null() || text.data.is_null() {
        return;
    }
    // SAFETY: `host_for` leaked this string and nobody writes to it.
    let origin = unsafe { &*context.cast::<String>() };
    let size = text.size.min(MAX_LINE);
    // SAFETY: the caller's bytes, of which no more than it states are read.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), size) };
    let line = one_line(&String::from_utf8_lossy(bytes));
    // A panic of the sink must not run into the plugin's frames.
    run_quietly(|| log(level, origin, &line));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_plugins_lines_reach_the_sink_with_its_name() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        set_log(Some(Arc::new(move |level, origin: &str, line: &str| {
            // Other tests of this program log, too.
            if origin != "/a-test.so" {
                return;
            }
            assert!(line != "panic");
            kept.lock()
                .unwrap()
                .push(format!("{level} {origin} {line}"));
        })));
        let host = host_for("/a-test.so".to_owned());
        assert_eq!((host.abi_min, host.abi_max), (1, ABI_REVISION));
        let write = |text: &[u8]| {
            let text = Text {
                data: text.as_ptr().cast(),
                size: text.len(),
            };
            // SAFETY: the host's own context and the bytes of a slice.
            unsafe { host.log.unwrap()(host.log_context, LogLevel::INFO, text) };
        };
        write(b"ready\n");
        write(b"a\nb \xff");
        write(b"panic");
        set_log(None);
        write(b"dropped");
        assert_eq!(
            *lines.lock().unwrap(),
            ["info /a-test.so ready", "info /a-test.so a\\u{a}b \u{fffd}"]
        );
    }
}
