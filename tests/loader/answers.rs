//! Entries that answer and break one rule each: `bad.c` with the defect that is stated here,
//! beside what the host has to say of it.
//!
//! All of them claim to be the backend `edge-c`, and so does a sound one that comes last: one
//! that is refused takes nothing away from it.

use std::path::Path;

use vmafx_api::loader::{Loader, Reason, Stage};

use crate::rig::{self, assert_loaded, assert_refused, install, machine, record};
use crate::workshop::{C, Workshop};
use crate::{Case, Child};

pub(crate) const CASES: &[Case] = &[Case {
    name: "answers",
    set_up,
    child,
}];

/// A name, what the entry does at its end, the step and the reason of the refusal, and some of
/// its words.
type Bad = (&'static str, &'static str, (Stage, Reason), &'static str);

const NEGOTIATE: [Bad; 10] = {
    use Reason::*;
    const STEP: Stage = Stage::Negotiate;
    [
        (
            "fails",
            "return VMAFX_PLUGIN_STATUS_BUSY;",
            (STEP, EntryFailed),
            "failed: busy",
        ),
        ("odd-success", "return 3;", (STEP, EntryFailed), "status 3"),
        (
            "odd-failure",
            "return -4711;",
            (STEP, EntryFailed),
            "status -4711",
        ),
        (
            "no-revision",
            "return VMAFX_PLUGIN_STATUS_ABI;",
            (STEP, WrongRevision),
            "no revision",
        ),
        (
            "newer-revision",
            "plugin->abi_chosen = host->abi_max + 1;",
            (STEP, WrongRevision),
            "chose revision 3",
        ),
        (
            "revision-0",
            "plugin->abi_chosen = 0;",
            (STEP, WrongRevision),
            "chose revision 0",
        ),
        (
            "beyond-answer",
            "((char *)(plugin + 1))[40] = 1;",
            (STEP, WroteBeyond),
            "more than the 64 bytes",
        ),
        (
            "beyond-answer-far",
            "((char *)(plugin + 1))[1023] = 1;",
            (STEP, WroteBeyond),
            "more than the 64 bytes",
        ),
        (
            "grown-answer",
            "plugin->struct_size += 8;",
            (STEP, WroteBeyond),
            "more than the 64 bytes",
        ),
        (
            "shrunk-answer",
            "plugin->struct_size = 0;",
            (STEP, WroteBeyond),
            "more than the 64 bytes",
        ),
    ]
};

/// What the plugin says of itself and of its tables.
const TABLES: [Bad; 35] = {
    use Reason::*;
    const STEP: Stage = Stage::Layout;
    [
        (
            "no-backend",
            "plugin->backend_count = 0;",
            (STEP, NoBackend),
            "no backend",
        ),
        (
            "many-backends",
            "plugin->backend_count = 1000000;",
            (STEP, BadDescription),
            "1000000 backends",
        ),
        (
            "null-backends",
            "plugin->backends = NULL;",
            (STEP, BadPointer),
            "`vmafx_plugin.backends` is null",
        ),
        (
            "odd-backends",
            "plugin->backends = (const void *)((const char *)tables + 1);",
            (STEP, BadPointer),
            "where nothing can lie",
        ),
        (
            "null-table",
            "tables[0] = NULL;",
            (STEP, BadPointer),
            "is null",
        ),
        (
            "low-table",
            "tables[0] = (const vmafx_plugin_backend *)(uintptr_t)3;",
            (STEP, BadPointer),
            "where nothing can lie",
        ),
        (
            "no-version",
            "plugin->version.size = 0;",
            (STEP, BadText),
            "the plugin's version is ``",
        ),
        (
            "odd-version",
            "SET_TEXT(plugin->version, \"1.2\");",
            (STEP, BadText),
            "no semantic version",
        ),
        (
            "no-license",
            "plugin->license.size = 0;",
            (STEP, BadText),
            "licence is ``",
        ),
        (
            "two-line-license",
            "SET_TEXT(plugin->license, \"M\\nIT\");",
            (STEP, BadText),
            "`M\\u{a}IT`",
        ),
        (
            "garbled-license",
            "SET_TEXT(plugin->license, \"MIT\\xff\");",
            (STEP, BadText),
            "not UTF-8 from byte 3",
        ),
        (
            "null-license",
            "plugin->license.data = NULL;",
            (STEP, BadText),
            "is null",
        ),
        (
            "endless-license",
            "plugin->license.size = (size_t)1 << 40;",
            (STEP, BadText),
            "1099511627776 bytes",
        ),
        (
            "stray-quiesce",
            "STRAY(plugin->quiesce);",
            (STEP, StrayFunction),
            "`vmafx_plugin.quiesce`",
        ),
        (
            "short-table",
            "table.struct_size = 100;",
            (STEP, StructSize),
            "struct_size 100",
        ),
        (
            "one-function-short",
            "table.struct_size = offsetof(vmafx_plugin_backend, query);",
            (STEP, StructSize),
            "Backend has struct_size",
        ),
        (
            "no-size",
            "table.struct_size = 0;",
            (STEP, StructSize),
            "struct_size 0",
        ),
        (
            "huge-table",
            "table.struct_size = 65537;",
            (STEP, StructSize),
            "struct_size 65537",
        ),
        (
            "endless-table",
            "table.struct_size = UINT32_MAX;",
            (STEP, StructSize),
            "struct_size 4294967295",
        ),
        (
            "short-info",
            "info.struct_size = 8;",
            (STEP, StructSize),
            "BackendInfo has struct_size 8",
        ),
        (
            "short-import",
            "table.import = &import; import.struct_size = 16;",
            (STEP, StructSize),
            "Import has struct_size 16",
        ),
        (
            "reserved",
            "table.reserved = 5;",
            (STEP, NonzeroReserved),
            "0x5",
        ),
        (
            "null-info",
            "table.info = NULL;",
            (STEP, BadPointer),
            "`vmafx_plugin_backend.info`",
        ),
        (
            "odd-info",
            "table.info = (const void *)((const char *)&info + 1);",
            (STEP, BadPointer),
            "`vmafx_plugin_backend.info`",
        ),
        (
            "odd-import",
            "table.import = (const void *)((const char *)&import + 2);",
            (STEP, BadPointer),
            "`vmafx_plugin_backend.import`",
        ),
        (
            "stray-close",
            "STRAY(table.device_close);",
            (STEP, StrayFunction),
            "`vmafx_plugin_backend.device_close`",
        ),
        (
            "stray-query",
            "STRAY(table.query);",
            (STEP, StrayFunction),
            "`vmafx_plugin_backend.query`",
        ),
        (
            "stray-repeats",
            "STRAY(table.extractor_repeats);",
            (STEP, StrayFunction),
            "`vmafx_plugin_backend.extractor_repeats`",
        ),
        (
            "stray-import",
            "offer_import(); STRAY(import.frame_release);",
            (STEP, StrayFunction),
            "`vmafx_plugin_import.frame_release`",
        ),
        (
            "two-null-functions",
            "table.device_open = NULL; table.extractor_collect = NULL;",
            (STEP, NullFunction),
            "device_open, extractor_collect",
        ),
        (
            "same-id",
            "plugin->backend_count = 2;",
            (STEP, DuplicateId),
            "two backends `edge-c`",
        ),
        (
            "capital-id",
            "SET_TEXT(info.id, \"Edge\");",
            (STEP, BadDescription),
            "`Edge` is not 1 to 64",
        ),
        (
            "no-id",
            "info.id.size = 0;",
            (STEP, BadDescription),
            "`` is not 1 to 64",
        ),
        (
            "garbled-id",
            "SET_TEXT(info.id, \"ed\\xc3\");",
            (STEP, BadDescription),
            "not UTF-8 from byte 2",
        ),
        (
            "odd-backend-version",
            "SET_TEXT(info.version, \"two\");",
            (STEP, BadText),
            "the version of `edge-c`",
        ),
    ]
};

/// What the backend says of its feature.
const FEATURES: [Bad; 25] = {
    use Reason::*;
    const STEP: Stage = Stage::Layout;
    const WHAT: (Stage, Reason) = (STEP, BadDescription);
    [
        (
            "null-features",
            "info.features = NULL;",
            WHAT,
            "array of 1 elements",
        ),
        (
            "many-features",
            "info.feature_count = 1000000;",
            WHAT,
            "array of 1000000 elements",
        ),
        (
            "odd-features",
            "info.features = (const void *)((const char *)feature_list + 1);",
            WHAT,
            "array of 1 elements",
        ),
        (
            "null-feature",
            "feature_list[0] = NULL;",
            WHAT,
            "no FeatureInfo was given",
        ),
        (
            "odd-feature",
            "feature_list[0] = (const void *)((const char *)&feature + 1);",
            WHAT,
            "FeatureInfo",
        ),
        (
            "short-feature",
            "feature.struct_size = 4;",
            (STEP, StructSize),
            "FeatureInfo",
        ),
        (
            "huge-option",
            "option.struct_size = 1 << 20;",
            (STEP, StructSize),
            "OptionInfo",
        ),
        (
            "short-output",
            "output.struct_size = 8;",
            (STEP, StructSize),
            "OutputInfo",
        ),
        (
            "reserved-feature",
            "feature.reserved = 1;",
            (STEP, NonzeroReserved),
            "0x1",
        ),
        (
            "reserved-output",
            "output.reserved = 2;",
            (STEP, NonzeroReserved),
            "0x2",
        ),
        (
            "reserved-value",
            "option.default_value.reserved = 3;",
            (STEP, NonzeroReserved),
            "0x3",
        ),
        (
            "unknown-flag",
            "feature.flags = 6;",
            (STEP, NonzeroReserved),
            "0x6",
        ),
        (
            "same-feature",
            "info.feature_count = 2;",
            WHAT,
            "two features are named `edge`",
        ),
        (
            "odd-name",
            "SET_TEXT(feature.name, \"Edge!\");",
            WHAT,
            "feature `Edge!`",
        ),
        (
            "garbled-summary",
            "SET_TEXT(feature.summary, \"\\x80\");",
            WHAT,
            "UTF-8",
        ),
        (
            "endless-source",
            "feature.source.size = SIZE_MAX;",
            WHAT,
            "bytes",
        ),
        ("no-score", "feature.output_count = 0;", WHAT, "0 scores"),
        (
            "many-scores",
            "feature.output_count = 70000;",
            WHAT,
            "70000",
        ),
        (
            "same-score",
            "feature.output_count = 2;",
            WHAT,
            "two scores are named `edge`",
        ),
        (
            "odd-score",
            "SET_TEXT(output.name, \"a b\");",
            WHAT,
            "score `a b`",
        ),
        ("odd-planes", "feature.planes = 9;", WHAT, "plane use 9"),
        (
            "odd-default",
            "option.default_value.whole = 17;",
            WHAT,
            "17 is outside 1 to 16",
        ),
        ("no-limit", "option.max = NAN;", WHAT, "`weight`"),
        (
            "odd-kind",
            "option.default_value.kind = 77;",
            WHAT,
            "option kind 77",
        ),
        (
            "same-option",
            "feature.option_count = 2;",
            WHAT,
            "two options are named `weight`",
        ),
    ]
};

/// The functions that a table must have.
const REQUIRED: [&str; 9] = [
    "device_count",
    "device_info",
    "device_open",
    "device_close",
    "device_supports",
    "device_prepare",
    "extractor_destroy",
    "extractor_submit",
    "extractor_collect",
];

/// Plugins that look odd and are sound: a name, a defect that is none, and what the record notes.
const SOUND: [(&str, &str, &str); 6] = [
    (
        "sees-the-host",
        "if (host->abi_min != 1 || host->abi_max != VMAFX_PLUGIN_ABI_REVISION || host->reserved != 0\
         || host->struct_size < sizeof(vmafx_host) || host->version.size == 0 || host->log == NULL\
         || plugin->struct_size < sizeof(vmafx_plugin)) return VMAFX_PLUGIN_STATUS_INTERNAL;",
        "",
    ),
    // A host cannot tell a struct that is larger than it says from a newer one, and reads of
    // either what it knows.
    (
        "larger-structs",
        "table.struct_size = 4096; info.struct_size += 8; feature.struct_size = 1024;\
         option.struct_size = 65536; output.struct_size += 64;",
        "",
    ),
    ("priority-7", "info.priority = 7;", ""),
    ("no-quiesce", "plugin->quiesce = NULL;", ""),
    (
        "other-draft",
        "table.import = &import; import.draft += 1; import.struct_size = 8;",
        "backend 0 of the plugin takes in frames by draft 2, this host by draft 1: it is not used",
    ),
    (
        "some-of-import",
        "offer_import(); import.fence_export = NULL;",
        "",
    ),
];

fn all() -> Vec<(String, String, (Stage, Reason), String)> {
    let listed = NEGOTIATE.iter().chain(&TABLES).chain(&FEATURES);
    let listed = listed.map(|&(name, defect, why, words)| {
        (name.to_owned(), defect.to_owned(), why, words.to_owned())
    });
    let missing = REQUIRED.iter().map(|function| {
        let why = (Stage::Layout, Reason::NullFunction);
        let words = format!("required functions are null: {function}");
        (
            format!("null-{function}"),
            format!("table.{function} = NULL;"),
            why,
            words,
        )
    });
    listed.chain(missing).collect()
}

fn set_up(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, defect, ..) in all() {
        let library = workshop.bad(&name, &[&format!("DEFECT={defect}")]);
        install(room, &name, "edge-c", &library);
    }
    let sound = workshop.outside(C[0], "c/edge.c");
    // After all the others in the order of the names.
    install(room, "zz-sound", "edge-c", &sound);
    for (name, defect, _) in SOUND {
        let library = workshop.bad(name, &[&format!("DEFECT={defect}")]);
        install(&room.join("sound").join(name), name, "edge-c", &library);
    }
    vec![Child::new("opened here"), Child::new("tried first")]
}

fn child(room: &Path, argument: &str) {
    let loader = match argument {
        "tried first" => Loader::new(machine(room)).with_probe(rig::probe()),
        _ => Loader::new(machine(room)),
    };
    let loaded = loader.load();
    let all = all();
    assert_eq!(loaded.records.len(), all.len() + 1);
    for (name, _, why, words) in &all {
        assert_refused(&loaded.records, name, *why, words);
    }
    assert_loaded(&loaded.records, "zz-sound");
    assert_eq!(loaded.backends.len(), 1);
    assert_eq!(loaded.why_not("edge-c").count(), all.len());

    for (name, _, note) in SOUND {
        let loaded = Loader::new(machine(&room.join("sound").join(name))).load();
        assert_loaded(&loaded.records, name);
        let notes = &record(&loaded.records, name).notes;
        assert_eq!(notes.join(""), note, "{name}");
        let backend = &loaded.backends[0];
        let told = (backend.plugin_version.as_str(), backend.license.as_str());
        assert_eq!(told, ("1.2.0", "Apache-2.0 OR MIT"));
        assert_eq!(backend.priority, if name == "priority-7" { 7 } else { 0 });
        let library = &backend.backend.info().library;
        assert!(library.ends_with(&format!("/{name}.so")), "{library}");
    }
}
