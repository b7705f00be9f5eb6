//! The interface as it is now: what the compiler and abi_stable's reflection say of it.

use std::any::type_name;
use std::ffi::c_char;
use std::path::Path;

use vmafx_api::layout::{CONSTANTS, NUMBERS, OPAQUE, SETS, STRUCTS, StructLayout};
use vmafx_api::wire::{ABI_MAJOR, ABI_REVISION, DRAFT, ENTRY_SYMBOL};

use super::lock::{Line, Lock, Numbers};
use crate::Failure;

/// Constants that are counters: they are numbers at the top of the lock.
const COUNTERS: [&str; 3] = ["ABI_MAJOR", "ABI_REVISION", "DRAFT"];

/// Lists every item, as if each came in the newest revision.
///
/// # Errors
/// `layout.rs` does not list the fields that reflection sees, or `facade.rs` cannot be read.
pub(crate) fn now(root: &Path, released: u32) -> Result<Lock, Failure> {
    let mut lock = Lock {
        numbers: Numbers {
            major: ABI_MAJOR,
            revision: ABI_REVISION,
            draft: DRAFT,
            released,
        },
        ..Lock::default()
    };
    let mut add = |group: &str, name: &str, detail: String, draft: bool| {
        lock.lines.push(Line {
            group: group.to_owned(),
            name: name.to_owned(),
            detail,
            revision: (!draft).then_some(ABI_REVISION),
        });
    };
    let entry = "fn(host: *const Host, plugin: *mut Plugin) -> Status";
    // The type of the entry is an alias, which reflection does not see; this fails to build
    // when it is another.
    let _: fn(vmafx_api::wire::PluginEntry) -> Entry = |entry| entry;
    add("symbol", ENTRY_SYMBOL, entry.to_owned(), false);
    for item in CONSTANTS.iter().filter(|c| !COUNTERS.contains(&c.name)) {
        let detail = format!("{} {}", item.type_name, item.value);
        add("const", item.name, detail, item.draft);
    }
    for (kind, items) in [("number", NUMBERS), ("set", SETS)] {
        for item in items {
            add(kind, item.name, item.repr.to_owned(), false);
            for (name, value) in (item.values)() {
                let group = format!("value {}", item.name);
                add(&group, name, value.to_string(), false);
            }
        }
    }
    for name in OPAQUE {
        add("opaque", name, String::new(), false);
    }
    for item in STRUCTS {
        let kind = match item.extensible {
            true => "extensible",
            false => "plain",
        };
        let detail = format!("{kind} align={}", item.align);
        add("struct", item.name, detail, item.draft);
        let group = format!("size {}", item.name);
        add(&group, &item.size.to_string(), String::new(), item.draft);
        let group = format!("field {}", item.name);
        for (name, detail) in fields(item)? {
            add(&group, name, detail, item.draft);
        }
    }
    for item in vmafx_codegen::facade(root)? {
        add("trait", &item.name, String::new(), item.draft);
        let group = format!("method {}", item.name);
        for (at, method) in item.methods.iter().enumerate() {
            let place = match (method.in_prefix, method.has_default) {
                (true, _) => "prefix",
                (false, true) => "default",
                (false, false) => "required",
            };
            let detail = format!("#{at} {place} {}", method.signature);
            add(&group, &method.name, detail, item.draft);
        }
    }
    Ok(lock)
}

type Entry = unsafe extern "C" fn(
    *const vmafx_api::wire::Host,
    *mut vmafx_api::wire::Plugin,
) -> vmafx_api::Status;

/// Names and details of the fields: the offset is the compiler's, the type is reflection's.
fn fields(item: &StructLayout) -> Result<Vec<(&'static str, String)>, Failure> {
    let reflected = item.reflection.get_fields();
    let reflected = reflected.map(|fields| fields.to_vec()).unwrap_or_default();
    let listed: Vec<_> = item.fields.iter().map(|&(name, _)| name).collect();
    let seen: Vec<_> = reflected.iter().map(|field| field.name()).collect();
    if listed != seen {
        return Err(format!(
            "{}: layout.rs lists {listed:?}, the struct has {seen:?}; run `cargo xtask codegen`",
            item.name
        )
        .into());
    }
    let mut fields = Vec::new();
    for (at, (field, &(name, offset))) in reflected.iter().zip(item.fields).enumerate() {
        let size = field.layout().size();
        let mut type_ = plain(&field.full_type().to_string());
        for function in field.function_range().iter() {
            let names = function.param_names.as_str().split([',', ';']);
            let names = names.filter(|name| !name.is_empty());
            let types = function.param_type_layouts.iter();
            let parameters: Vec<_> = names
                .zip(types)
                .map(|(name, layout)| {
                    format!("{name}: {}", plain(&layout().full_type().to_string()))
                })
                .collect();
            let result = match function.return_type_layout() {
                Some(layout) => format!(" -> {}", plain(&layout().full_type().to_string())),
                None => String::new(),
            };
            let signature = format!("fn({}){result}", parameters.join(", "));
            type_ = type_.replacen("AFunctionPointer", &signature, 1);
        }
        // A null function is one that is not offered: every one may be null.
        let nullable = type_.strip_prefix("Option<fn(");
        if let Some(function) = nullable.and_then(|text| text.strip_suffix('>')) {
            type_ = format!("fn({function}");
        } else if type_.starts_with("fn(") {
            type_.insert_str(0, "NonNull ");
        }
        fields.push((name, format!("#{at} offset={offset} size={size} {type_}")));
    }
    Ok(fields)
}

/// A type as the source writes it.
fn plain(type_: &str) -> String {
    let words: Vec<&str> = type_.split_whitespace().collect();
    let text = words.join(" ").replace(';', "; ");
    // Reflection sees what `c_char` is on this machine.
    let c_char = type_name::<c_char>();
    let mut plain = String::new();
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        plain.push_str(if word == c_char { "c_char" } else { word });
        plain.push_str(&part[word.len()..]);
    }
    plain
}
