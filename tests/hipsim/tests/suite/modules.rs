//! Modules and launches: what the loader takes, what it refuses, and how arguments get there.

use std::ffi::c_void;

use crate::hip::{Hip, NON_BLOCKING, TARGET, call, ok};
use crate::probe::{Args, code_object, smallest_object};

const INVALID_IMAGE: u32 = 200;
const NO_BINARY: u32 = 209;

#[test]
fn a_module_must_be_for_the_device() {
    let hip = Hip::new();
    let (own, other) = (code_object(TARGET), code_object("gfx942"));
    hip.load(&own).unwrap();
    assert_eq!(hip.load(&other), Err(NO_BINARY));
    // Features of the device change nothing: the objects are for any setting of them.
    hip.set("gfx", "gfx942:sramecc+:xnack-");
    hip.load(&other).unwrap();
    assert_eq!(hip.load(&own), Err(NO_BINARY));
    assert_eq!(hip.counts()["modules"], 2);
    let log = hip.sim.query("log");
    assert!(
        log.contains("module for gfx1036, ") && log.contains("module for gfx942, "),
        "{log}"
    );
}

#[test]
fn every_target_is_known_by_its_own_object() {
    let hip = Hip::new();
    let generic = [
        ("gfx9-4-generic", "gfx942 gfx950"),
        ("gfx10-1-generic", "gfx1010 gfx1011 gfx1012"),
        (
            "gfx10-3-generic",
            "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036",
        ),
        (
            "gfx11-generic",
            "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153",
        ),
        ("gfx12-generic", "gfx1200 gfx1201"),
        ("gfx9-generic", ""),
    ];
    let covered = generic.map(|(name, all)| (smallest_object(name), all));
    let all = "gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1011 gfx1012 gfx1030 gfx1031 gfx1032 gfx1033 \
               gfx1034 gfx1035 gfx1036 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 \
               gfx1153 gfx1200 gfx1201 gfx1250";
    let objects: Vec<_> = all.split(' ').map(|t| (t, smallest_object(t))).collect();
    assert_eq!(objects.len(), 25);
    for (device, _) in &objects {
        hip.set("gfx", device);
        for (target, object) in &objects {
            let expected = if target == device {
                None
            } else {
                Some(NO_BINARY)
            };
            assert_eq!(hip.load(object).err(), expected, "{target} on {device}");
        }
        for (object, targets) in &covered {
            let covers = targets.split(' ').any(|t| t == *device);
            assert_eq!(hip.load(object).is_ok(), covers, "{targets} on {device}");
        }
    }
}

#[test]
fn a_generic_object_needs_a_target_it_covers_and_a_new_rocm() {
    let hip = Hip::new();
    let generic = code_object("gfx10-3-generic");
    hip.load(&generic).unwrap();
    hip.set("gfx", "gfx1100");
    assert_eq!(hip.load(&generic), Err(NO_BINARY));
    hip.set("gfx", TARGET);
    hip.set("rocm", "6.2");
    assert_eq!(hip.load(&generic), Err(INVALID_IMAGE));
    hip.set("rocm", "6.4");
    hip.load(&generic).unwrap();
}

#[test]
fn what_is_no_code_object_is_refused() {
    let hip = Hip::new();
    let good = code_object(TARGET);
    for broken in [
        b"not an ELF file at all".to_vec(),
        good[..64].to_vec(),
        std::fs::read(crate::probe::folder().join("libvmafx_kernels_host.so")).unwrap(),
        {
            // The machine of another maker.
            let mut object = good.clone();
            object[18] = 62;
            object
        },
        {
            // A code object of version 3.
            let mut object = good.clone();
            object[8] = 1;
            object
        },
        {
            // Notes that are no metadata.
            let mut object = good.clone();
            let at = object
                .windows(14)
                .position(|w| w == b"amdhsa.kernels")
                .unwrap();
            object[at] = b'x';
            object
        },
    ] {
        assert_eq!(hip.load(&broken), Err(INVALID_IMAGE));
    }
    // A header that names more than is mapped.
    let page = hip.pinned(64);
    // SAFETY: 64 bytes that end where nothing is mapped.
    unsafe { (page as *mut u8).copy_from_nonoverlapping(good.as_ptr(), 64) };
    let mut module = 0usize;
    let code = call!(hip, hipModuleLoadData(&mut module => *mut usize, page => usize));
    assert_eq!(code, INVALID_IMAGE);
}

#[test]
fn kernels_by_name_and_what_they_say_of_themselves() {
    let hip = Hip::new();
    let module = hip.load(&code_object(TARGET)).unwrap();
    assert_eq!(hip.function(module, "probe_none"), Err(500));
    let function = hip.function(module, "probe_sum").unwrap();
    assert_eq!(hip.function(module, "probe_sum"), Ok(function));
    let attribute = |which: u32| {
        let mut value = -1;
        ok!(hip, hipFuncGetAttribute(&mut value => *mut i32, which => u32, function => usize));
        value
    };
    assert_eq!(attribute(0), 256, "threads");
    assert_eq!(attribute(1), 1024, "bytes of shared memory");
    assert_eq!(attribute(3), 0, "bytes of scratch");
    assert!(attribute(4) > 0, "registers");
    ok!(hip, hipModuleUnload(module => usize));
    let args = Args::default();
    assert_eq!(
        hip.try_launch(function, 1, 256, &args, 0),
        400,
        "its module is gone"
    );
    assert_eq!(hip.sim.json("objects")["functions"], 0);
}

#[test]
fn arguments_by_either_way() {
    let hip = Hip::new();
    let (kernel, stream) = (hip.kernel("probe_add"), hip.stream(NON_BLOCKING));
    let words = hip.malloc(64 * 4);
    hip.write(words, &[7; 64]);
    let args = Args {
        from: words as u64,
        to: words as u64,
        count: 64,
        at: 0,
    };
    hip.launch(kernel, 1, 64, &args, stream);
    let extra = |bytes: usize| {
        let mut bytes = bytes;
        let mut extra = [
            1,
            (&raw const args) as usize,
            2,
            (&raw mut bytes) as usize,
            3,
        ];
        call!(hip, hipModuleLaunchKernel(
            kernel => usize, 1 => u32, 1 => u32, 1 => u32, 64 => u32, 1 => u32, 1 => u32, 0 => u32,
            stream => usize, 0 => usize, extra.as_mut_ptr() => *mut usize,
        ))
    };
    assert_eq!(extra(size_of::<Args>()), 0);
    assert_eq!(extra(size_of::<Args>() - 8), 1, "too few bytes");
    hip.synchronize(stream);
    assert_eq!(hip.read(words), [9; 64]);
}

#[test]
fn launches_that_cannot_be() {
    let hip = Hip::new();
    let (kernel, args) = (hip.kernel("probe_add"), Args::default());
    let launch = |grid: [u32; 3], threads: u32, shared: u32| {
        let mut params = [&raw const args];
        call!(hip, hipModuleLaunchKernel(
            kernel => usize, grid[0] => u32, grid[1] => u32, grid[2] => u32,
            threads => u32, 1 => u32, 1 => u32, shared => u32, 0 => usize,
            params.as_mut_ptr() => *mut *const Args, 0 => usize,
        ))
    };
    assert_eq!(
        launch([1, 1, 1], 32, 0),
        1,
        "threads other than it was made for"
    );
    assert_eq!(launch([0, 1, 1], 64, 0), 1);
    assert_eq!(launch([1, 65_536, 1], 64, 0), 1);
    assert_eq!(launch([1 << 26, 1, 1], 64, 0), 1, "2^32 threads in a row");
    assert_eq!(launch([1, 1, 1], 64, 1 << 20), 701);
    assert_eq!(launch([1, 1, 1], 64, 0), 0);
    hip.synchronize(0);
    assert_eq!(hip.counts()["all_launches"], 1);
}

#[test]
fn a_kernel_that_leaves_its_memory_is_told() {
    let hip = Hip::new();
    hip.set("alignment", "4");
    let (kernel, stream) = (hip.kernel("probe_add"), hip.stream(NON_BLOCKING));
    let words = hip.malloc(63 * 4);
    // One word too many.
    let args = Args {
        from: words as u64,
        to: words as u64,
        count: 64,
        at: 0,
    };
    hip.launch(kernel, 1, 64, &args, stream);
    assert_eq!(call!(hip, hipStreamSynchronize(stream => usize)), 700);
    let mut at = 0usize;
    assert_eq!(
        call!(hip, hipMalloc(&mut at => *mut usize, 4 => usize)),
        700,
        "it stays"
    );
    assert_eq!(call!(hip, hipGetLastError()), 700);
    let troubles = hip.troubles();
    let address = words + 63 * 4;
    let expected = format!(
        "probe_add, block [0, 0, 0], thread 63: memory access fault at address {address:#x}"
    );
    assert_eq!(troubles, [expected]);
    // And freed memory is nobody's.
    hip.set("repair", "");
    let args = Args { count: 1, ..args };
    ok!(hip, hipFree(words => usize));
    hip.launch(kernel, 1, 64, &args, stream);
    assert_eq!(call!(hip, hipStreamSynchronize(stream => usize)), 700);
}

#[test]
fn a_write_beside_an_allocation_is_seen_when_it_is_freed() {
    let hip = Hip::new();
    let words = hip.malloc(100);
    // SAFETY: the allocation is padded to 256 bytes.
    unsafe { *((words + 100) as *mut u8) = 1 };
    ok!(hip, hipFree(words => usize));
    assert_eq!(
        hip.troubles(),
        ["byte 100 of an allocation of 100 bytes was written"]
    );
}

#[test]
fn functions_by_name() {
    let hip = Hip::new();
    let (mut found, mut status) = (std::ptr::null_mut::<c_void>(), 9u32);
    let get = |name: &std::ffi::CStr, found: &mut *mut c_void, status: &mut u32| {
        call!(hip, hipGetProcAddress(
            name.as_ptr() => *const std::ffi::c_char, found => *mut *mut c_void, 0 => i32, 0 => u64,
            status => *mut u32,
        ))
    };
    assert_eq!(get(c"hipMalloc", &mut found, &mut status), 0);
    // SAFETY: only looked at.
    let own = unsafe { *hip.sim.library().get::<*mut c_void>("hipMalloc").unwrap() };
    assert_eq!((found, status), (own, 0));
    assert_eq!(get(c"hipNone", &mut found, &mut status), 1);
    assert!(found.is_null() && status == 1);
}
