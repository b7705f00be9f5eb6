//! Entries that keep the rules, and entries that break one each. They are functions of this
//! program, called as those of a library are; `tests/plugins` has libraries.

use std::cell::RefCell;
use std::ptr::{null, null_mut};

use super::*;
use crate::wire::{self, Backend as Table, BackendInfo, DRAFT, Host, Import, Text};

/// What the entry does after the answer was prepared.
type Defect = fn(&mut Parts) -> Status;

/// A plugin's answer and what it leads to.
struct Parts {
    plugin: Plugin,
    tables: &'static mut [*const Table; 2],
    table: &'static mut Table,
    info: &'static mut BackendInfo,
    import: &'static mut Import,
    /// The host's struct.
    out: *mut Plugin,
}

thread_local! {
    static DEFECT: RefCell<Option<Defect>> = const { RefCell::new(None) };
}

macro_rules! stub {
    ($name:ident($($type:ty),* $(,)?) $(-> $answer:ident)?) => {
        unsafe extern "C" fn $name($(_: $type),*) $(-> $answer)? {
            $($answer::NOT_SUPPORTED)?
        }
    };
}

stub!(device_count(*mut wire::BackendObject, *mut u32, *mut wire::Error) -> Status);
stub!(
    device_info(*mut wire::BackendObject, u32, *mut wire::DeviceInfo, *mut wire::Error) -> Status
);
stub!(
    device_open(
        *mut wire::BackendObject,
        *const wire::DeviceDescriptor,
        *mut *mut wire::DeviceObject,
        *mut wire::DeviceInfo,
        *mut wire::Error,
    ) -> Status
);
stub!(device_close(*mut wire::DeviceObject));
stub!(
    device_supports(
        *mut wire::DeviceObject,
        *const wire::FeatureRequest,
        *const wire::Format,
        *mut wire::Support,
        *mut wire::Error,
    ) -> Status
);
stub!(
    device_prepare(
        *mut wire::DeviceObject,
        *const wire::PlanRequest,
        *mut *mut wire::ExtractorObject,
        *mut wire::ExtractorInfo,
        *mut wire::Error,
    ) -> Status
);
stub!(extractor_destroy(*mut wire::ExtractorObject));
stub!(
    extractor_submit(
        *mut wire::ExtractorObject,
        *const wire::Job,
        *mut u64,
        *mut wire::Error,
    ) -> Status
);
stub!(
    extractor_collect(*mut wire::ExtractorObject, u64, *mut u64, usize, *mut wire::Error) -> Status
);
stub!(quiesce());

fn leak<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

unsafe extern "C" fn entry(host: *const Host, out: *mut Plugin) -> Status {
    // SAFETY: `negotiate` passes structs that live through the call.
    let (host, size) = unsafe { (&*host, (*out).struct_size) };
    assert_eq!(
        (host.abi_min, host.abi_max, host.reserved),
        (1, ABI_REVISION, 0)
    );
    assert_eq!(size as usize, size_of::<Plugin>());
    let info = leak(BackendInfo {
        priority: 7,
        id: Text::new("example"),
        name: Text::new("Example"),
        version: Text::new("2.0.0"),
        ..BackendInfo::empty()
    });
    let import = leak(Import::empty());
    import.draft = DRAFT;
    let table = leak(Table {
        object: null_mut(),
        info: &raw const *info,
        import: &raw const *import,
        device_count: Some(device_count),
        device_info: Some(device_info),
        device_open: Some(device_open),
        device_close: Some(device_close),
        device_supports: Some(device_supports),
        device_prepare: Some(device_prepare),
        extractor_destroy: Some(extractor_destroy),
        extractor_submit: Some(extractor_submit),
        extractor_collect: Some(extractor_collect),
        ..Table::empty()
    });
    let tables = leak([&raw const *table, &raw const *table]);
    let mut parts = Parts {
        plugin: Plugin {
            abi_chosen: 1,
            version: Text::new("1.2.3"),
            license: Text::new("MIT"),
            backends: tables.as_ptr(),
            backend_count: 1,
            quiesce: Some(quiesce),
            ..Plugin::empty()
        },
        tables,
        table,
        info,
        import,
        out,
    };
    let defect = DEFECT.take().expect("a test says what the entry does");
    let status = defect(&mut parts);
    // SAFETY: the host's struct is as large as this one.
    unsafe { *out = parts.plugin };
    status
}

fn negotiated(defect: Defect) -> Result<Opened, Verdict> {
    DEFECT.set(Some(defect));
    // SAFETY: the entry keeps the contract but for what a test breaks, which is always
    // something that is looked at before it is used.
    unsafe { negotiate(Path::new("/x.so"), entry) }
}

/// A function in no library.
fn stray<T>() -> Option<unsafe extern "C" fn(*mut T)> {
    let page = Box::leak(Box::new([0u64; 8]));
    // SAFETY: the address is not null, and nobody calls it: the loader has to find it out.
    unsafe { std::mem::transmute(page.as_ptr()) }
}

#[test]
fn what_keeps_the_rules_is_taken() {
    let opened = negotiated(|_| Status::OK).unwrap();
    assert_eq!(
        (opened.version.as_str(), opened.license.as_str()),
        ("1.2.3", "MIT")
    );
    assert_eq!((opened.abi_chosen, opened.backends.len()), (1, 1));
    let info = opened.backends[0].info();
    assert_eq!((info.id.as_str(), info.priority), ("example", 7));
    assert_eq!(info.library, "/x.so");
    assert!(opened.notes.is_empty() && opened.quiesce.is_some());

    // Newer structs, of which the host knows the start.
    let newer = negotiated(|parts| {
        parts.table.struct_size = 4096;
        parts.info.struct_size += 8;
        parts.plugin.quiesce = None;
        Status::OK
    });
    assert!(newer.unwrap().quiesce.is_none());

    let other_draft = negotiated(|parts| {
        parts.import.draft = DRAFT + 1;
        parts.import.struct_size = 8;
        Status::OK
    });
    let notes = other_draft.unwrap().notes;
    assert_eq!(
        notes,
        [
            "backend 0 of the plugin takes in frames by draft 2, this host by draft 1: it is not used"
        ]
    );
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_reason() {
    use Reason::*;
    use Stage::{Layout, Negotiate};
    let cases: &[(Stage, Reason, &str, Defect)] = &[
        (Negotiate, EntryFailed, "failed: busy", |_| Status::BUSY),
        (Negotiate, EntryFailed, "status 3", |_| Status(3)),
        (Negotiate, WrongRevision, "no revision", |_| Status::ABI),
        (Negotiate, WrongRevision, "chose revision 2", |p| {
            p.plugin.abi_chosen = ABI_REVISION + 1;
            Status::OK
        }),
        (Negotiate, WrongRevision, "chose revision 0", |p| {
            p.plugin.abi_chosen = 0;
            Status::OK
        }),
        (Negotiate, WroteBeyond, "more than the", |p| {
            // SAFETY: the host has room behind its struct, for just this.
            unsafe { p.out.add(1).cast::<u8>().add(40).write(1) };
            Status::OK
        }),
        (Negotiate, WroteBeyond, "more than the", |p| {
            p.plugin.struct_size += 8;
            Status::OK
        }),
        (Layout, NoBackend, "no backend", |p| {
            p.plugin.backend_count = 0;
            Status::OK
        }),
        (Layout, BadDescription, "1000000 backends", |p| {
            p.plugin.backend_count = 1_000_000;
            Status::OK
        }),
        (Layout, BadPointer, "`vmafx_plugin.backends` is null", |p| {
            p.plugin.backends = null();
            Status::OK
        }),
        (Layout, BadPointer, "where nothing can lie", |p| {
            p.tables[0] = std::ptr::without_provenance(3);
            Status::OK
        }),
        (Layout, BadText, "the plugin's version is ``", |p| {
            p.plugin.version.size = 0;
            Status::OK
        }),
        (Layout, BadText, "no semantic version", |p| {
            p.plugin.version = Text::new("1.2");
            Status::OK
        }),
        (Layout, BadText, "`M\\u{a}IT`", |p| {
            p.plugin.license = Text::new("M\nIT");
            Status::OK
        }),
        (Layout, BadText, "not UTF-8", |p| {
            p.plugin.license.data = c"\xff\xfe".as_ptr();
            Status::OK
        }),
        (Layout, StructSize, "struct_size 100", |p| {
            p.table.struct_size = 100;
            Status::OK
        }),
        (Layout, StructSize, "struct_size 65537", |p| {
            p.table.struct_size = 65_537;
            Status::OK
        }),
        (Layout, StructSize, "BackendInfo has struct_size 8", |p| {
            p.info.struct_size = 8;
            Status::OK
        }),
        (Layout, StructSize, "Import has struct_size 16", |p| {
            p.import.struct_size = 16;
            Status::OK
        }),
        (Layout, NonzeroReserved, "0x5", |p| {
            p.table.reserved = 5;
            Status::OK
        }),
        (
            Layout,
            NullFunction,
            "device_open, extractor_collect",
            |p| {
                p.table.device_open = None;
                p.table.extractor_collect = None;
                Status::OK
            },
        ),
        (
            Layout,
            StrayFunction,
            "`vmafx_plugin_backend.device_close`",
            |p| {
                p.table.device_close = stray();
                Status::OK
            },
        ),
        (
            Layout,
            StrayFunction,
            "`vmafx_plugin_import.frame_release`",
            |p| {
                p.import.frame_release = stray();
                Status::OK
            },
        ),
        (Layout, BadPointer, "`vmafx_plugin_backend.info`", |p| {
            p.table.info = null();
            Status::OK
        }),
        (Layout, BadDescription, "`Example` is not 1 to 64", |p| {
            p.info.id = Text::new("Example");
            Status::OK
        }),
        (Layout, BadText, "the version of `example`", |p| {
            p.info.version = Text::new("two");
            Status::OK
        }),
        (Layout, DuplicateId, "two backends `example`", |p| {
            p.plugin.backend_count = 2;
            Status::OK
        }),
    ];
    for &(stage, reason, words, defect) in cases {
        let verdict = negotiated(defect)
            .err()
            .unwrap_or_else(|| panic!("{reason} is taken"));
        let line = &verdict.line;
        assert_eq!((verdict.stage, verdict.reason), (stage, reason), "{line}");
        assert!(line.contains(words), "{reason}: {line}");
        assert!(line.contains("/x.so") || stage == Layout, "{line}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn an_entry_that_changes_the_float_environment_is_refused_and_undone() {
    use std::arch::asm;

    let before = FloatEnvironment::current();
    let verdict = negotiated(|_| {
        let mut word = 0u32;
        // SAFETY: turns denormals off in this thread, which the loader must see and undo.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack));
            word |= 0x8040;
            asm!("ldmxcsr [{}]", in(reg) &word, options(nostack));
        }
        Status::OK
    });
    assert_eq!(FloatEnvironment::current(), before);
    let verdict = verdict.unwrap_err();
    assert_eq!(
        (verdict.stage, verdict.reason),
        (Stage::Negotiate, Reason::FloatEnvironment)
    );
}

#[test]
fn the_missing_library_is_found_in_the_linkers_words() {
    let needed = ["libamdhip64.so.6".to_owned(), "libc.so.6".to_owned()];
    for (said, wanted) in [
        (
            "libamdhip64.so.6: cannot open shared object file: No such file or directory",
            Some("libamdhip64.so.6"),
        ),
        (
            "libfar.so: cannot open shared object file: No such file or directory",
            Some("libfar.so"),
        ),
        (
            "Error loading shared library libfar.so.1: No such file or directory (needed by /x.so)",
            Some("libfar.so.1"),
        ),
        ("/x.so: undefined symbol: hipInit", None),
        (
            "/x.so: cannot open shared object file: Permission denied",
            None,
        ),
    ] {
        assert_eq!(missing_library(said, &needed).as_deref(), wanted, "{said}");
    }
}
