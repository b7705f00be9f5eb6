//! The two functions through which a test steers the simulator inside a plugin's process.
//!
//! `vmafx_hipsim_control(name, value)` changes a setting ([`settings::NAMES`](crate::settings)) or
//! does one of these, and answers 0, or 1 where it cannot:
//! - `reset`: settings of the environment, an empty log, counts of 0, no failure; handles and
//!   memory stay;
//! - `clear_log`: an empty log, counts of launches from 0;
//! - `lose_device`: from now on every call answers the code in `value`, 719 if that is empty;
//! - `repair`: no failure and no lost device.
//!
//! `vmafx_hipsim_query(name, buffer, bytes)` writes a C string of at most that many bytes and
//! answers how many bytes the whole has, its end included; 0 for a name that it does not know. It
//! knows the settings and:
//! - `log`: what the device did, one line each; `log_json`: the same as an array of objects;
//! - `counts`: copies by direction and stream, launches by kernel, what ran on the default stream,
//!   modules, troubles;
//! - `memory`: live allocations, bytes now and at most, by kind;
//! - `objects`: live streams, events, modules, graphs and the like;
//! - `gcnsim`: what code objects executed: by kernel (those of loaded modules that never ran are
//!   there too) `dispatches`, `instructions`, `waves` and `blocks`; `seconds` of processor
//!   time, without that of further workers;
//! - `failure`: the code that every call answers, or 0; `calls`: calls so far.
//!
//! A Rust test uses [`Simulator`](crate::install::Simulator).

use std::ffi::{CStr, c_char, c_int};

use serde_json::json;

use crate::api::{Out, set_text};
use crate::sim::sim;

/// See the head of this module.
///
/// # Safety
/// Both are C strings or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmafx_hipsim_control(name: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let (name, value) = unsafe { (text(name), text(value)) };
    let done = match name.as_str() {
        "reset" => {
            sim().reset();
            Ok(())
        }
        "clear_log" => {
            sim().log.clear();
            Ok(())
        }
        "lose_device" => {
            let code = if value.is_empty() { "719" } else { &value };
            sim().set("lost_after", &format!("0:{code}"))
        }
        "repair" => sim().repair(),
        _ => sim().set(&name, &value),
    };
    match done {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("hipsim: {error}");
            1
        }
    }
}

/// See the head of this module.
///
/// # Safety
/// `name` is a C string or null; `buffer` has room for that many bytes, or is null and `bytes` 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vmafx_hipsim_query(
    name: *const c_char,
    buffer: *mut c_char,
    bytes: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) };
    let answer = match name.as_str() {
        "log" => sim().log.text(),
        "log_json" => sim().log.json().to_string(),
        "counts" => sim().log.counts().to_string(),
        "memory" => sim().memory.json().to_string(),
        "objects" => objects(),
        "gcnsim" => sim().executed.json().to_string(),
        "failure" => sim().failure().map_or(0, |code| code.0).to_string(),
        "calls" => sim().calls().to_string(),
        _ => match sim().settings().get(&name) {
            Some(text) => text.to_owned(),
            None => return 0,
        },
    };
    if bytes > 0 {
        let room = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // A null buffer gets nothing.
        let _ = set_text(Out(buffer), room, &answer);
    }
    answer.len() + 1
}

fn objects() -> String {
    let sim = sim();
    let all = json!({
        "streams": sim.streams.len(),
        "events": sim.events.len(),
        "modules": sim.modules.len(),
        "functions": sim.functions.len(),
        "graphs": sim.graphs.len(),
        "execs": sim.execs.len(),
        "arrays": sim.arrays.len(),
        "externals": sim.externals.len(),
    });
    all.to_string()
}

/// # Safety
/// A C string or null.
unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(from) }
        .to_string_lossy()
        .into_owned()
}
