//! The rules of an entry's answer, before anyone calls into the plugin.
//!
//! What a table and a description must be is checked where they are read
//! ([`Backend::from_table`]). Here is what only the loader can see: who the plugin says it is,
//! that every function lies in a library that is loaded, that its backends differ.
//!
//! What must stay true: nothing of a plugin that breaks a rule is handed on. That the memory
//! behind a pointer is there, and stays, is the plugin's word (`wire`): a plugin that lies
//! about it ends the process that tries it first, which is what `probe` is for.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::record::{Reason, Stage, Verdict, one_line, shown};
use crate::error::ApiError;
use crate::handle::Backend;
use crate::sized;
use crate::wire::{self, DRAFT, Plugin, Text};

const MAX_BACKENDS: usize = 64;
/// Longest version or licence, in bytes.
const MAX_TEXT: usize = 1024;

/// A plugin that keeps the rules.
#[derive(Debug)]
pub(super) struct PluginTables {
    pub(super) version: String,
    pub(super) license: String,
    pub(super) backends: Vec<Backend>,
    pub(super) notes: Vec<String>,
}

/// Checks and reads all that a plugin said of itself.
///
/// # Safety
/// `plugin` is what the entry of the library at `path` wrote: what its pointers name is as
/// `wire` promises.
pub(super) unsafe fn check(
    plugin: &Plugin,
    path: &std::path::Path,
) -> Result<PluginTables, Verdict> {
    // SAFETY: the texts are the plugin's, by the caller's word.
    let (version, license) = unsafe {
        (
            text(plugin.version, "the plugin's version")?,
            text(plugin.license, "the plugin's licence")?,
        )
    };
    check_version(&version, "the plugin's version")?;
    if let Some(quiesce) = plugin.quiesce {
        check_function(quiesce as *const c_void, "`vmafx_plugin.quiesce`")?;
    }
    let count = plugin.backend_count;
    if count == 0 {
        return Err(fault(Reason::NoBackend, "the plugin offers no backend"));
    }
    if count > MAX_BACKENDS {
        let line = format!("the plugin offers {count} backends; at most {MAX_BACKENDS} are taken");
        return Err(fault(Reason::BadDescription, line));
    }
    check_pointer(plugin.backends, "`vmafx_plugin.backends`")?;
    // SAFETY: neither null nor misaligned, and `count` pointers lie there by the caller's word.
    let tables = unsafe { std::slice::from_raw_parts(plugin.backends, count) };

    let mut notes = Vec::new();
    let mut backends: Vec<Backend> = Vec::with_capacity(count);
    for (number, &table) in tables.iter().enumerate() {
        let what = format!("backend {number} of the plugin");
        check_pointer(table, &what)?;
        // SAFETY: one of the plugin's tables, by the caller's word.
        let backend = unsafe {
            check_table(table, &what, &mut notes)?;
            Backend::from_table(table, shown(path))
        };
        let backend = backend.map_err(|error| refused(&what, &error))?;
        let info = backend.info();
        check_version(&info.version, &format!("the version of `{}`", info.id))?;
        if backends.iter().any(|other| other.info().id == info.id) {
            let line = format!("the plugin offers two backends `{}`", info.id);
            return Err(fault(Reason::DuplicateId, line));
        }
        backends.push(backend);
    }
    Ok(PluginTables {
        version,
        license,
        backends,
        notes,
    })
}

/// Address of each function that is there, by the name of its field.
macro_rules! functions {
    ($table:ident: $($field:ident),* $(,)?) => {
        [$((stringify!($field), $table.$field.map(|function| function as *const c_void))),*]
    };
}

/// Checks where the functions of a table lie.
///
/// # Safety
/// `table` is neither null nor misaligned and keeps the contract of [`wire::Backend`].
unsafe fn check_table(
    table: *const wire::Backend,
    what: &str,
    notes: &mut Vec<String>,
) -> Result<(), Verdict> {
    // SAFETY: readable, by the caller's word.
    let own = unsafe { sized::read(table) }.map_err(|error| refused(what, &error))?;
    let backend = functions!(own: device_count, device_info, device_open, device_close,
        device_supports, device_prepare, extractor_destroy, extractor_admits, extractor_submit,
        extractor_collect, query, extractor_repeats);
    for (field, address) in backend {
        if let Some(address) = address {
            check_function(
                address,
                &format!("`vmafx_plugin_backend.{field}` of {what}"),
            )?;
        }
    }
    check_pointer(own.info, &format!("`vmafx_plugin_backend.info` of {what}"))?;
    if own.import.is_null() {
        return Ok(());
    }
    check_pointer(
        own.import,
        &format!("`vmafx_plugin_backend.import` of {what}"),
    )?;
    // SAFETY: the number of a draft is the second field in every draft.
    let draft = unsafe { (&raw const (*own.import).draft).read() };
    if draft != DRAFT {
        notes.push(format!(
            "{what} takes in frames by draft {draft}, this host by draft {DRAFT}: it is not used"
        ));
        return Ok(());
    }
    // SAFETY: of this draft, so as this host knows it, by the caller's word.
    let import = unsafe { sized::read(own.import) }.map_err(|error| refused(what, &error))?;
    let import = functions!(import: frame_import, frame_release, frame_release_fence, fence_poll,
        fence_wait, fence_export, fence_destroy);
    for (field, address) in import {
        if let Some(address) = address {
            check_function(address, &format!("`vmafx_plugin_import.{field}` of {what}"))?;
        }
    }
    Ok(())
}

/// What is wrong with a plugin's answer.
fn fault(reason: Reason, line: impl Into<String>) -> Verdict {
    Verdict::new(Stage::Layout, reason, line).hint("tell the author of the plugin")
}

/// A refusal of a table or description; its subject is that of `sized`, `table` or `describe`.
fn refused(what: &str, error: &ApiError) -> Verdict {
    let reason = match error.subject.as_str() {
        "struct_size" => Reason::StructSize,
        "reserved" => Reason::NonzeroReserved,
        "table" => Reason::NullFunction,
        _ => Reason::BadDescription,
    };
    fault(
        reason,
        format!("{what}: {}: {}", error.subject, error.message),
    )
}

/// A text of a plugin that must not be empty.
///
/// # Safety
/// The bytes are readable.
unsafe fn text(from: Text, what: &str) -> Result<String, Verdict> {
    let wrong = |line: String| fault(Reason::BadText, line);
    // SAFETY: by the caller's word.
    let text = unsafe { from.read(what) }.map_err(|e| wrong(format!("{what}: {}", e.message)))?;
    let fits = !text.trim().is_empty() && text.len() <= MAX_TEXT;
    if !fits || text.contains(char::is_control) {
        let found = one_line(text);
        let line = format!("{what} is `{found}`; it must be one line of 1 to {MAX_TEXT} bytes");
        return Err(wrong(line));
    }
    Ok(text.to_owned())
}

fn check_version(version: &str, what: &str) -> Result<(), Verdict> {
    match semver::Version::parse(version) {
        Ok(_) => Ok(()),
        Err(error) => {
            let line = format!("{what} is `{version}`, which is no semantic version: {error}");
            Err(fault(Reason::BadText, line))
        }
    }
}

/// Checks that a function lies in some library that is loaded.
pub(super) fn check_function(address: *const c_void, what: &str) -> Result<(), Verdict> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: `dladdr` compares the address with those of loaded objects and reads nothing
    // behind it; `info` has room for its answer.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        let line = format!("{what} is {address:p}, which lies in no loaded library");
        return Err(fault(Reason::StrayFunction, line));
    }
    Ok(())
}

/// Checks that something can lie at an address: nothing does in the first page.
fn check_pointer<T>(pointer: *const T, what: &str) -> Result<(), Verdict> {
    const FIRST_PAGE: usize = 4096;
    if pointer.is_null() {
        return Err(fault(Reason::BadPointer, format!("{what} is null")));
    }
    if pointer.addr() < FIRST_PAGE || !pointer.is_aligned() {
        let line = format!("{what} is {pointer:p}, where nothing can lie");
        return Err(fault(Reason::BadPointer, line));
    }
    Ok(())
}
