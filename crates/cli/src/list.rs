//! What this program can do, for people and as JSON: features, models, backends, version.
//!
//! What must stay true: a list tells what runs here and now. A feature names the devices that
//! answered that they take it, a backend that does not work is listed with its reason, and so is
//! one that has no device here, which is no failure.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vmafx_api::loader::Outcome;
use vmafx_api::{ApiError, Backend, Chroma, FrameFormat, OpenRequest, Status};
use vmafx_engine::{FeatureCatalog, FeatureSpec};
use vmafx_metrics::{OptionInfo, OptionKind, format_g};
use vmafx_models::catalog;

use crate::backends::Backends;
use crate::destination::print;
use crate::failure::{Class, Classify, Failure, one_line};

/// Prints the features.
///
/// # Errors
/// A closed standard output.
pub(crate) fn features(json: bool) -> Result<(), Failure> {
    let Backends { all: backends, .. } = Backends::find()?;
    let (catalog, _) = FeatureCatalog::new(&backends);
    let metrics = catalog.metrics();
    if json {
        let list = metrics.iter().map(|metric| {
            let spec = FeatureSpec::new(*metric);
            let definition = metric.definition();
            json!({
                "name": definition.name,
                "summary": definition.summary,
                "source": definition.source,
                "limits": definition.limits(),
                "devices": devices(&backends, &spec),
                "scores": definition.outputs.iter().map(|output| output.name).collect::<Vec<_>>(),
                "options": definition.options.iter().map(option_json).collect::<Vec<_>>(),
            })
        });
        return print_json(&list.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for metric in metrics {
        let definition = metric.definition();
        let scores: Vec<_> = definition
            .outputs
            .iter()
            .map(|output| output.name)
            .collect();
        let devices = devices(&backends, &FeatureSpec::new(*metric));
        let runs_on = match devices.is_empty() {
            true => "no device here".to_owned(),
            false => devices.join(", "),
        };
        let _ = writeln!(text, "{}: {}", definition.name, definition.summary);
        let _ = writeln!(text, "  defined by  {}", definition.source);
        let _ = writeln!(text, "  limits      {}", definition.limits());
        let _ = writeln!(text, "  runs on     {runs_on}");
        let _ = writeln!(text, "  scores      {}", scores.join(", "));
        for option in definition.options {
            let (kind, default, range) = describe(option);
            let alias = match option.alias == option.name {
                true => String::new(),
                false => format!(" ({})", option.alias),
            };
            let range = range.map_or(String::new(), |(min, max)| format!(" {min} to {max}"));
            let name = format!("{}{alias}", option.name);
            let _ = writeln!(text, "  {name}: {kind}{range}, default {default}");
            let _ = writeln!(text, "      {}", option.help);
        }
        text.push('\n');
    }
    text.push_str("Use: --feature NAME or --feature NAME=OPTION=VALUE:OPTION=VALUE\n");
    print(&text)
}

/// Names of the devices that take `feature` for a usual clip.
fn devices(backends: &[Backend], feature: &FeatureSpec) -> Vec<String> {
    let Ok(format) = FrameFormat::new(1920, 1080, Chroma::Yuv420, 8) else {
        return Vec::new();
    };
    let request = feature.options.request();
    let mut names = Vec::new();
    for backend in backends {
        for info in backend.devices().unwrap_or_default() {
            let device = backend.open(&OpenRequest::new(info.index));
            if device.is_ok_and(|d| d.supports(&request, &format).is_ok()) {
                names.push(format!("{}:{}", info.backend, info.index));
            }
        }
    }
    names
}

/// Kind, default and range of an option, as words.
fn describe(option: &OptionInfo) -> (&'static str, String, Option<(String, String)>) {
    let g = |number: f64| format_g(number, 6);
    match option.kind {
        OptionKind::Bool { default } => ("switch", default.to_string(), None),
        OptionKind::Int { default, min, max } => (
            "whole number",
            default.to_string(),
            Some((min.to_string(), max.to_string())),
        ),
        OptionKind::Float { default, min, max } => ("number", g(default), Some((g(min), g(max)))),
        OptionKind::Text { default } => ("text", format!("`{default}`"), None),
        _ => ("value", String::new(), None),
    }
}

fn option_json(option: &OptionInfo) -> Value {
    let mut value = json!({
        "name": option.name,
        "alias": option.alias,
        "help": option.help,
        "in_score_names": option.in_name,
    });
    let (kind, default, min, max) = match option.kind {
        OptionKind::Bool { default } => ("bool", json!(default), json!(null), json!(null)),
        OptionKind::Int { default, min, max } => ("int", json!(default), json!(min), json!(max)),
        OptionKind::Float { default, min, max } => {
            ("float", json!(default), json!(min), json!(max))
        }
        OptionKind::Text { default } => ("text", json!(default), json!(null), json!(null)),
        _ => ("other", json!(null), json!(null), json!(null)),
    };
    value["kind"] = json!(kind);
    value["default"] = default;
    if !min.is_null() {
        value["min"] = min;
        value["max"] = max;
    }
    value
}

/// Prints the models that are built in, and where others are looked for.
///
/// # Errors
/// A built-in model that is damaged, a closed standard output.
pub(crate) fn models(json: bool) -> Result<(), Failure> {
    let folders = catalog::folders();
    let mut list = Vec::new();
    let mut text = String::new();
    for name in catalog::builtin_names() {
        let model = catalog::find(name, &[]).class(Class::Internal)?;
        let features: Vec<_> = model.features().iter().map(|f| f.name.as_str()).collect();
        let viewing = catalog::viewing(name, false).map(|viewing| viewing.to_string());
        let kind = match model.members() {
            1 => "one model".to_owned(),
            n => format!("bootstrap collection of {} models", n - 1),
        };
        list.push(json!({
            "name": name,
            "assumes": viewing,
            "members": model.members(),
            "has_transform": model.has_transform(),
            "sha256": model.sha256(),
            "figures_sha256": model.figures_sha256(),
            "features": features,
        }));
        let _ = writeln!(text, "{name}: {kind}");
        if let Some(viewing) = viewing {
            let _ = writeln!(text, "  assumes     {viewing}");
        }
        if model.has_transform() {
            let _ = writeln!(
                text,
                "  transform   enable_transform gives the score for phones"
            );
        }
        let _ = writeln!(text, "  features    {}", features.join(", "));
        let _ = writeln!(text, "  sha256      {}\n", model.sha256());
    }
    let folders: Vec<_> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    if json {
        return print_json(&json!({ "built_in": list, "folders": folders }));
    }
    let _ = writeln!(
        text,
        "Other names are looked for in: {}",
        folders.join(", ")
    );
    text.push_str("Use: --model version=NAME or --model path=FILE\n");
    print(&text)
}

/// Version of the form of `vmafx backends --json`: fields are added, never renamed or given
/// another meaning, without a new number.
const BACKENDS_SCHEMA: u32 = 1;

/// Prints the backends and their devices, and with `explain` what became of every candidate.
///
/// # Errors
/// A built-in backend that breaks the rules; a closed standard output.
pub(crate) fn backends(explain: bool, json: bool) -> Result<(), Failure> {
    let found = Backends::find()?;
    let records = &found.loaded.records;
    if json {
        let mut list = json!({
            "schema": BACKENDS_SCHEMA,
            "backends": backend_list(&found.all),
        });
        if explain {
            list["records"] = serde_json::to_value(records).class(Class::Internal)?;
        }
        return print_json(&list);
    }
    if !explain {
        return print(&backend_text(&found.all));
    }
    let mut text = String::new();
    for record in records {
        let _ = writeln!(text, "{record}");
        for line in &record.notes {
            let _ = writeln!(text, "  {line}");
        }
        if record.outcome == Outcome::Loaded
            && let Some(error) = silence(&found.all, record.backend.as_deref())
        {
            let _ = writeln!(text, "  {}", without_device(&error));
        }
    }
    print(&text)
}

/// Why a backend that was loaded lists no devices, if so.
fn silence(backends: &[Backend], id: Option<&str>) -> Option<ApiError> {
    let mut named = backends
        .iter()
        .filter(|backend| Some(&*backend.info().id) == id);
    named.next()?.devices().err()
}

/// That a machine has no such device is information; anything else is a failure.
fn without_device(error: &ApiError) -> String {
    match error.status {
        Status::NOT_FOUND => format!("no device: {}", error.message),
        _ => format!("cannot be used: {error}"),
    }
}

fn backend_list(backends: &[Backend]) -> Vec<Value> {
    let list = backends.iter().map(|backend| {
        let info = backend.info();
        let devices = backend.devices();
        let failure = devices.as_ref().err();
        let absent = failure.filter(|error| error.status == Status::NOT_FOUND);
        let error = failure.filter(|_| absent.is_none());
        let error = error.map(ToString::to_string);
        let absent = absent.map(|error| one_line(&error.message));
        let devices = devices.unwrap_or_default();
        let devices = devices.iter().map(|device| {
            json!({
                "name": format!("{}:{}", device.backend, device.index),
                "model": device.name,
                "isa": device.isa,
                "memory_bytes": device.total_memory,
                "reads": device.memory_kinds.to_string(),
            })
        });
        json!({
            "name": info.id,
            "title": info.name,
            "version": info.version,
            "library": info.library,
            "priority": info.priority,
            "features": info.features.iter().map(|feature| &feature.name).collect::<Vec<_>>(),
            "error": error,
            "absent": absent,
            "devices": devices.collect::<Vec<_>>(),
        })
    });
    list.collect()
}

fn backend_text(backends: &[Backend]) -> String {
    let mut text = String::new();
    for backend in backends {
        let info = backend.info();
        let place = match info.library.is_empty() {
            true => "part of this program",
            false => &info.library,
        };
        let _ = writeln!(
            text,
            "backend {} {}: {}, {place}",
            info.id, info.version, info.name
        );
        match backend.devices() {
            Err(error) => {
                let _ = writeln!(text, "  {}", without_device(&error));
            }
            Ok(devices) if devices.is_empty() => text.push_str("  no device found\n"),
            Ok(devices) => {
                for device in devices {
                    let (backend, index) = (&device.backend, device.index);
                    let (name, isa, kinds) = (&device.name, &device.isa, device.memory_kinds);
                    let _ = writeln!(text, "  {backend}:{index}  {name}, {isa}, reads {kinds}");
                }
            }
        }
        if !info.features.is_empty() {
            let names = info.features.iter().map(|feature| feature.name.as_str());
            let names: Vec<_> = names.collect();
            let _ = writeln!(text, "  brings along: {}", names.join(", "));
        }
    }
    text
}

/// Prints the version, what is built in and the backends found.
///
/// # Errors
/// A closed standard output.
pub(crate) fn version() -> Result<(), Failure> {
    let Backends { all: backends, .. } = Backends::find()?;
    let (catalog, _) = FeatureCatalog::new(&backends);
    let features: Vec<_> = catalog
        .metrics()
        .iter()
        .map(|metric| metric.definition().name)
        .collect();
    let models: Vec<_> = catalog::builtin_names().collect();
    let build = if cfg!(debug_assertions) {
        "with checks"
    } else {
        "release"
    };
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    print(&format!(
        "vmafx {}\nbuild {os} {arch}, {build}\nfeatures {}\nmodels {}\n{}",
        env!("CARGO_PKG_VERSION"),
        features.join(", "),
        models.join(", "),
        backend_text(&backends),
    ))
}

/// Prints the licences of the program and of what is in it.
///
/// # Errors
/// A closed standard output.
pub(crate) fn licences() -> Result<(), Failure> {
    print(&format!(
        "vmafx {}: {}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_LICENSE"),
        vmafx_models::NOTICE,
    ))
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).class(Class::Internal)?;
    text.push('\n');
    print(&text)
}
