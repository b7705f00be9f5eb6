//! Sides of different age: plugins built against the header of every revision that was ever
//! released, and against one that is not there yet; hosts that know less and hosts that know
//! more.
//!
//! The frozen headers are `abi/headers/rN/plugin.h`. A struct that a host of another age provides
//! lies at the very end of a page with nothing behind it, so that a plugin that reads or writes
//! one byte more than the host has does not live to answer.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use vmafx_api::loader::{Loader, Machine};
use vmafx_api::{FrameJob, OpenRequest, PlanRequest, Status, Value, wire};
use vmafx_tests::data::workspace_root;

use crate::rig::{edge, format, pair};
use crate::workshop::{C, CPP, Workshop, header, run};
use crate::{Case, Checked, Child, checked};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "plugins of other headers",
        set_up: plugins,
        child: plugins_child,
    },
    Case {
        name: "hosts of other sizes",
        set_up: hosts,
        child: hosts_child,
    },
];

/// Frozen headers by the name of their revision, the oldest first.
pub(crate) fn frozen() -> Vec<(String, String)> {
    let Ok(folder) = fs::read_dir(workspace_root().join("abi/headers")) else {
        return Vec::new();
    };
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u32> = names
        .filter_map(|name| name.strip_prefix('r')?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let text = |number| {
        let path = workspace_root().join(format!("abi/headers/r{number}/plugin.h"));
        (format!("r{number}"), fs::read_to_string(path).unwrap())
    };
    numbers.into_iter().map(text).collect()
}

fn today() -> String {
    fs::read_to_string(header().join("vmafx/plugin.h")).unwrap()
}

/// Names of the structs that grow.
fn extensible(header: &str) -> Vec<&str> {
    let structs = header.split("typedef struct ").skip(1);
    let growing = structs.filter(|text| {
        let body = text
            .split_once('{')
            .map(|(_, body)| body)
            .unwrap_or_default();
        let first = body.lines().map(str::trim).find(|line| line.ends_with(';'));
        first == Some("uint32_t struct_size;")
    });
    growing
        .map(|text| text.split_whitespace().next().unwrap())
        .collect()
}

/// A header of the next revision: every struct that grows has grown.
fn future(header: &str) -> String {
    let revision = |number: u32| format!("#define VMAFX_PLUGIN_ABI_REVISION {number}\n");
    let mut text = header.replacen(
        &revision(wire::ABI_REVISION),
        &revision(wire::ABI_REVISION + 1),
        1,
    );
    assert_ne!(text, header);
    for name in extensible(header) {
        let end = format!("\n}} {name};\n");
        assert_eq!(text.matches(&end).count(), 1, "{name}");
        text = text.replacen(&end, &format!("\n    void *future[3];{end}"), 1);
    }
    text
}

/// A folder to include from, with `header` as its `vmafx/plugin.h` and today's `plugin.hpp`.
fn include(folder: PathBuf, text: &str) -> PathBuf {
    fs::create_dir_all(folder.join("vmafx")).unwrap();
    fs::write(folder.join("vmafx/plugin.h"), text).unwrap();
    fs::copy(
        header().join("vmafx/plugin.hpp"),
        folder.join("vmafx/plugin.hpp"),
    )
    .unwrap();
    folder
}

/// Has a plugin say that it computed three frames again, if its header has a way to say so.
const REPEATS: &str = "-DEDGE_REPEATS=3";

fn plugins(workshop: &Workshop, room: &Path) -> Vec<Child> {
    let mut children = Vec::new();
    let mut add = |name: String, library: PathBuf| {
        fs::copy(library, room.join(format!("{name}.so"))).unwrap();
        children.push(Child::new(name));
    };
    for (revision, text) in frozen() {
        let include = include(room.join(&revision), &text);
        for compiler in C {
            let name = format!("edge-c of {revision} by {}", compiler[0]);
            add(
                name.clone(),
                workshop.library(&name, compiler, "c/edge.c", &include, &[REPEATS]),
            );
        }
    }
    let include = include(room.join("future"), &future(&today()));
    for (compiler, source) in [
        (C[0], "c/edge.c"),
        (C[1], "c/edge.c"),
        (CPP[0], "cpp/edge.cpp"),
    ] {
        let name = format!("edge of tomorrow by {}", compiler[0]);
        add(
            name.clone(),
            workshop.library(&name, compiler, source, &include, &[REPEATS]),
        );
    }
    // The newest header there is may not be released yet, and is the first of its kind.
    let name = "edge-c of today".to_owned();
    add(
        name.clone(),
        workshop.library(&name, C[0], "c/edge.c", &header(), &[REPEATS]),
    );
    children
}

fn plugins_child(room: &Path, name: &str) {
    let path = room.join(format!("{name}.so"));
    let loaded = Loader::new(Machine::at("/")).load_library(&path);
    let loaded = loaded.unwrap_or_else(|record| panic!("{record}"));
    let known = name
        .split(" of r")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let known = known.map_or(wire::ABI_REVISION, |number| number.parse().unwrap());
    assert_eq!(loaded[0].abi_chosen, known.min(wire::ABI_REVISION));
    let device = loaded[0].backend.open(&OpenRequest::new(0)).unwrap();
    assert_eq!(device.info().name, "The thread that asks");
    let format = format(20, 10, 8);
    device.supports(&edge(1), &format).unwrap();
    let extractor = device
        .prepare(&PlanRequest::new(format, &[edge(1), edge(5)]))
        .unwrap();
    let ticket = extractor
        .submit(&FrameJob::new(0, pair(format, 0), Vec::new()))
        .unwrap();
    let mut values = [Value::default(); 2];
    extractor.collect(ticket, &mut values).unwrap();
    assert!(values[0].as_score() > 0.0);
    assert!((values[1].as_score() - 5.0 * values[0].as_score()).abs() < 1e-9);
    // Came with revision 2: a table that ends before it counts nothing.
    let repeats = if known >= 2 { 3 } else { 0 };
    assert_eq!(extractor.repeats(), repeats, "{name}");
    let what = match name {
        name if name.contains(" of r") => Checked::OldHeader,
        name if name.contains(" of tomorrow") => Checked::NewHeader,
        _ => Checked::Scored,
    };
    checked(what, name);
}

const PLUGINS: [&str; 3] = ["edge-c", "edge-cpp", "edge-rust"];

fn hosts(workshop: &Workshop, room: &Path) -> Vec<Child> {
    for (name, library) in [
        ("edge-c", workshop.outside(C[0], "c/edge.c")),
        ("edge-cpp", workshop.outside(CPP[0], "cpp/edge.cpp")),
        ("edge-rust", workshop.rust("edge_rust")),
    ] {
        fs::copy(library, room.join(format!("{name}.so"))).unwrap();
    }
    let mut ages = vec![("today".to_owned(), sizes(room, "today", &today()))];
    for (revision, text) in frozen() {
        ages.push((revision.clone(), sizes(room, &revision, &text)));
    }
    ages.push((
        "tomorrow".to_owned(),
        sizes(room, "tomorrow", &future(&today())),
    ));
    let mut children = Vec::new();
    for (age, sizes) in ages {
        fs::write(room.join(format!("{age}.sizes")), sizes).unwrap();
        children.extend(PLUGINS.map(|plugin| Child::new(format!("{plugin}/{age}"))));
    }
    children.extend(PLUGINS.map(|plugin| Child::new(format!("{plugin}/no agreement"))));
    children
}

/// The sizes of the structs that grow, as a header has them: `revision N`, then `name size` lines.
fn sizes(room: &Path, age: &str, text: &str) -> String {
    let folder = include(room.join(format!("sizes of {age}")), text);
    let mut program =
        "#include <vmafx/plugin.h>\n#include <stdio.h>\nint main(void) {\n".to_owned();
    program.push_str("printf(\"revision %d\\n\", VMAFX_PLUGIN_ABI_REVISION);\n");
    for name in extensible(text) {
        writeln!(program, "printf(\"{name} %zu\\n\", sizeof({name}));").unwrap();
    }
    program.push_str("return 0;\n}\n");
    let (source, binary) = (folder.join("sizes.c"), folder.join("sizes"));
    fs::write(&source, program).unwrap();
    let mut command = Command::new(C[0][0]);
    run(command
        .arg(&source)
        .arg("-I")
        .arg(&folder)
        .arg("-o")
        .arg(&binary));
    String::from_utf8(Command::new(binary).output().unwrap().stdout).unwrap()
}

/// A host of another age.
struct Age {
    revision: u32,
    sizes: Vec<(String, usize)>,
}

impl Age {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut sizes = text.lines().map(|line| {
            let (name, size) = line.split_once(' ').unwrap();
            (name.to_owned(), size.parse().unwrap())
        });
        let (_, revision) = sizes.next().unwrap();
        Age {
            revision: revision as u32,
            sizes: sizes.collect(),
        }
    }

    fn size(&self, name: &str) -> usize {
        self.sizes
            .iter()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
    }

    /// A struct as large as this host has it and not a byte larger, with what is known of `own`;
    /// what a newer host has at its end is no zeros.
    fn provide<T: Copy>(&self, name: &str, own: T) -> *mut T {
        let size = self.size(name);
        let place = at_the_end_of_a_page(size);
        let known = size.min(size_of::<T>());
        // SAFETY: `size` bytes are writable at `place` and `known` are readable of `own`; every
        // struct of this table starts with its size.
        unsafe {
            place.write_bytes(0xa5, size);
            place.copy_from_nonoverlapping((&raw const own).cast(), known);
            place.cast::<u32>().write(size as u32);
        }
        place.cast()
    }
}

/// Memory that ends where a page ends behind which nothing can be read or written.
fn at_the_end_of_a_page(size: usize) -> *mut u8 {
    const ROOM: usize = 1 << 16;
    assert!(size <= ROOM && size.is_multiple_of(8));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new memory, of which nobody else knows; the second half loses its access again.
    unsafe {
        let start = libc::mmap(null_mut(), 2 * ROOM, access, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        assert_eq!(
            libc::mprotect(start.byte_add(ROOM), ROOM, libc::PROT_NONE),
            0
        );
        start.byte_add(ROOM - size).cast()
    }
}

fn hosts_child(room: &Path, argument: &str) {
    let (plugin, age) = argument.split_once('/').unwrap();
    let path = room.join(format!("{plugin}.so"));
    // SAFETY: the plugin keeps the rules; the library stays open below.
    let library =
        unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE) };
    let library = library.unwrap();
    // SAFETY: the symbol is the wire's.
    let entry = *unsafe { library.get::<wire::PluginEntry>(wire::ENTRY_SYMBOL) }.unwrap();
    if age == "no agreement" {
        let today = Age::read(&room.join("today.sizes"));
        for (min, max) in [(wire::ABI_REVISION + 1, wire::ABI_REVISION + 2), (0, 0)] {
            let host = wire::Host {
                abi_min: min,
                abi_max: max,
                ..wire::Host::empty()
            };
            let (host, answer) = (today.provide("vmafx_host", host), zeroed(&today));
            // SAFETY: both structs keep the contract of the entry.
            let status = unsafe { entry(host, answer) };
            assert_eq!(status, Status::ABI, "{min} to {max}");
            // SAFETY: as `zeroed` made it.
            assert_eq!(unsafe { (*answer).backend_count }, 0);
        }
        return;
    }
    let age = Age::read(&room.join(format!("{age}.sizes")));
    let host = wire::Host {
        abi_min: 1,
        abi_max: age.revision,
        ..wire::Host::empty()
    };
    let (host, answer) = (age.provide("vmafx_host", host), zeroed(&age));
    // SAFETY: both structs keep the contract of the entry, `log` is null.
    let status = unsafe { entry(host, answer) };
    assert_eq!(status, Status::OK);
    // SAFETY: the answer's first fields are those of revision 1, whatever the age.
    let answer = unsafe { answer.read_unaligned() };
    assert_eq!(answer.abi_chosen, age.revision.min(wire::ABI_REVISION));
    assert_eq!(answer.struct_size as usize, age.size("vmafx_plugin"));
    assert_eq!(answer.backend_count, 1);
    // SAFETY: a sound plugin's table, of its own size.
    let table = unsafe { &**answer.backends };
    // SAFETY: what the host provides is as this age has it, objects are the plugin's own.
    unsafe { ask(table, &age) };
}

/// A zeroed answer; of a host that knows more, with zeros at its end as the wire promises.
fn zeroed(age: &Age) -> *mut wire::Plugin {
    let place = age.provide("vmafx_plugin", wire::Plugin::empty());
    let size = age.size("vmafx_plugin");
    // SAFETY: `provide` made room for `size` bytes.
    unsafe { place.cast::<u8>().add(4).write_bytes(0, size - 4) };
    place
}

/// Asks everything that fills in a struct of the host's.
///
/// # Safety
/// `table` is that of a sound plugin.
unsafe fn ask(table: &wire::Backend, age: &Age) {
    let error = || age.provide("vmafx_plugin_error", wire::Error::empty());
    let info = || age.provide("vmafx_plugin_device_info", wire::DeviceInfo::empty());
    let descriptor = |index| {
        let own = wire::DeviceDescriptor {
            index,
            ..wire::DeviceDescriptor::empty()
        };
        age.provide("vmafx_plugin_device_descriptor", own)
    };
    let shape = wire::Format {
        width: 8,
        height: 4,
        pixel_format: vmafx_api::PixelFormat::YUV400P,
        depth: 8,
        reserved: [0; 4],
    };
    let named = |name: &'static str, value: i64| {
        let weight = wire::OptionSetting {
            name: wire::Text::new("weight"),
            value: wire::OptionValue {
                kind: vmafx_api::OptionKind::WHOLE,
                reserved: 0,
                whole: value,
                number: 0.0,
                text: wire::Text::new(""),
            },
        };
        wire::FeatureRequest {
            feature: wire::Text::new(name),
            options: Box::leak(Box::new(weight)),
            option_count: 1,
            definition: 0,
            reserved: 0,
        }
    };
    // SAFETY: by the caller's word for the functions; every struct is one that `age` provides.
    unsafe {
        let mut count = 0;
        assert_eq!(
            table.device_count.unwrap()(table.object, &mut count, error()),
            Status::OK
        );
        assert_eq!(count, 1);
        let told = info();
        assert_eq!(
            table.device_info.unwrap()(table.object, 0, told, error()),
            Status::OK
        );
        assert_eq!((*told).pci, [u32::MAX; 4]);
        assert_eq!(
            (*told).struct_size as usize,
            age.size("vmafx_plugin_device_info")
        );
        let said = error();
        let mut device = null_mut();
        let open = table.device_open.unwrap();
        let refused = open(table.object, descriptor(7), &mut device, info(), said);
        assert_eq!(refused, Status::NOT_FOUND);
        let subject = (*said).subject.map(|byte| byte as u8);
        assert!(subject.starts_with(c"index".to_bytes_with_nul()));
        // A caller that does not want to know is no reason to fail.
        let refused = open(table.object, descriptor(7), &mut device, info(), null_mut());
        assert_eq!(refused, Status::NOT_FOUND);
        let opened = open(table.object, descriptor(0), &mut device, info(), error());
        assert_eq!((opened, device.is_null()), (Status::OK, false));

        let support = age.provide("vmafx_plugin_support", wire::Support::empty());
        let supports = table.device_supports.unwrap();
        assert_eq!(
            supports(device, &named("edge", 3), &shape, support, error()),
            Status::OK
        );
        assert!(
            (*support)
                .memory_kinds
                .contains(vmafx_api::MemoryKind::HOST)
        );
        let unknown = supports(device, &named("vif", 3), &shape, support, error());
        assert_eq!(unknown, Status::NOT_FOUND);
        let beyond = supports(device, &named("edge", 17), &shape, support, error());
        assert_eq!(beyond, Status::RANGE);

        let feature = named("edge", 3);
        let plan = wire::PlanRequest {
            format: shape,
            features: &feature,
            feature_count: 1,
            ..wire::PlanRequest::empty()
        };
        let plan = age.provide("vmafx_plugin_plan_request", plan);
        let made = age.provide("vmafx_plugin_extractor_info", wire::ExtractorInfo::empty());
        let mut extractor = null_mut();
        let prepare = table.device_prepare.unwrap();
        assert_eq!(
            prepare(device, plan, &mut extractor, made, error()),
            Status::OK
        );
        assert_eq!(((*made).columns, (*made).history), (1, 0));

        let samples: Vec<[u8; 32]> = vec![[0; 32], std::array::from_fn(|place| place as u8 % 8)];
        let frames: Vec<_> = samples
            .iter()
            .map(|samples| {
                let mut frame = wire::Frame {
                    memory: vmafx_api::MemoryKind::HOST,
                    format: shape,
                    ..wire::Frame::empty()
                };
                frame.planes[0] = wire::Plane {
                    data: samples.as_ptr().cast(),
                    stride_bytes: 8,
                    width: 8,
                    height: 4,
                };
                age.provide("vmafx_plugin_frame", frame)
            })
            .collect();
        let job = wire::Job {
            pair: wire::FramePair {
                reference: frames[0],
                distorted: frames[1],
            },
            ..wire::Job::empty()
        };
        let job = age.provide("vmafx_plugin_job", job);
        let (mut ticket, mut values) = (0, [0u64]);
        let submit = table.extractor_submit.unwrap();
        assert_eq!(submit(extractor, job, &mut ticket, error()), Status::OK);
        let collect = table.extractor_collect.unwrap();
        assert_eq!(
            collect(extractor, ticket, values.as_mut_ptr(), 1, error()),
            Status::OK
        );
        // Every gradient of the one is 1, of the other 0.
        assert_eq!(f64::from_bits(values[0]), 3.0);
        let again = collect(extractor, ticket, values.as_mut_ptr(), 1, error());
        assert_eq!(again, Status::NOT_FOUND);
        table.extractor_destroy.unwrap()(extractor);
        table.device_close.unwrap()(device);
    }
}
