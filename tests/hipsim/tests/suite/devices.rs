//! Devices, versions of ROCm, memory of other kinds.

use std::ffi::c_char;
use std::os::fd::AsRawFd;

use crate::hip::{D2D, D2H, H2D, Hip, NON_BLOCKING, call, ok, text_at};

#[test]
fn versions_answer_as_they_do_without_a_device() {
    let number = [
        ("5.2", 50_221_153),
        ("5.7", 50_731_921),
        ("6.4", 60_443_484),
        ("7.2", 70_253_211),
    ];
    let codes = [[101, 101], [101, 100], [100, 100], [100, 100]];
    for ((rocm, number), [init, other]) in number.into_iter().zip(codes) {
        let hip = Hip::of(rocm);
        hip.set("devices", "0");
        assert_eq!(call!(hip, hipInit(0 => u32)), init, "{rocm}");
        let mut count = 9;
        assert_eq!(call!(hip, hipGetDeviceCount(&mut count => *mut i32)), 100);
        assert_eq!(count, 0);
        let mut version = 0;
        ok!(hip, hipRuntimeGetVersion(&mut version => *mut i32));
        assert_eq!(version, number);
        assert_eq!(call!(hip, hipSetDevice(0 => i32)), other);
        let mut at = 0usize;
        assert_eq!(
            call!(hip, hipMalloc(&mut at => *mut usize, 4 => usize)),
            other
        );
        let new = !rocm.starts_with('5');
        assert_eq!(hip.has("hipGetDevicePropertiesR0600"), new, "{rocm}");
        assert_eq!(hip.has("hipGetProcAddress"), new, "{rocm}");
        assert!(hip.has("hipGetDeviceProperties"));
        assert!(!hip.has("hipExternalMemoryGetMappedMipmappedArray"));
    }
}

#[test]
fn both_layouts_of_the_properties() {
    let hip = Hip::new();
    hip.set("gfx", "gfx942:sramecc+:xnack-");
    hip.set("name", "A card");
    hip.set("memory", "123456789");
    hip.set("pci", "0001:c3:00.0");
    let mut new = [0xcc_u8; 2000];
    ok!(hip, hipGetDevicePropertiesR0600(new.as_mut_ptr() => *mut u8, 0 => i32));
    assert_eq!(text_at(&new, 0), "A card");
    assert_eq!(text_at(&new, 1160), "gfx942:sramecc+:xnack-");
    assert_eq!(
        u64::from_ne_bytes(new[288..296].try_into().unwrap()),
        123_456_789
    );
    assert_eq!(i32::from_ne_bytes(new[308..312].try_into().unwrap()), 64);
    assert_eq!(i32::from_ne_bytes(new[584..588].try_into().unwrap()), 0xc3);
    assert_eq!(new[1472..], [0xcc; 528]);
    let mut old = [0xcc_u8; 2000];
    ok!(hip, hipGetDeviceProperties(old.as_mut_ptr() => *mut u8, 0 => i32));
    assert_eq!(text_at(&old, 396), "gfx942:sramecc+:xnack-");
    assert_eq!(i32::from_ne_bytes(old[276..280].try_into().unwrap()), 64);
    assert_eq!(old[792..], [0xcc; 1208]);
    let attribute = |which: u32| {
        let mut value = -1;
        ok!(hip, hipDeviceGetAttribute(&mut value => *mut i32, which => u32, 0 => i32));
        value
    };
    assert_eq!(
        [attribute(87), attribute(67), attribute(69), attribute(63)],
        [64, 0xc3, 1, 48]
    );
    let mut pci = [0 as c_char; 16];
    ok!(hip, hipDeviceGetPCIBusId(pci.as_mut_ptr() => *mut c_char, 16 => i32, 0 => i32));
    let pci = pci.map(|c| c as u8);
    assert_eq!(text_at(&pci, 0), "0001:c3:00.0");
    assert_eq!(
        call!(hip, hipDeviceGetAttribute(pci.as_ptr() => *const u8, 87 => u32, 1 => i32)),
        101
    );
}

#[test]
fn several_devices_have_streams_and_memory_of_their_own() {
    let hip = Hip::new();
    hip.set("devices", "2");
    let uuid = |device: i32| {
        let mut uuid = [0u8; 16];
        ok!(hip, hipDeviceGetUuid(uuid.as_mut_ptr() => *mut u8, device => i32));
        uuid
    };
    assert_ne!(uuid(0), uuid(1));
    let first = hip.stream(NON_BLOCKING);
    ok!(hip, hipSetDevice(1 => i32));
    let (second, at) = (hip.stream(NON_BLOCKING), hip.malloc(16));
    let (mut device, event) = (9, hip.event());
    ok!(hip, hipStreamGetDevice(second => usize, &mut device => *mut i32));
    assert_eq!(device, 1);
    assert_eq!(
        call!(hip, hipEventRecord(event => usize, first => usize)),
        400
    );
    let mut attributes = [0u64; 4];
    ok!(hip, hipPointerGetAttributes(attributes.as_mut_ptr() => *mut u64, at => usize));
    assert_eq!(attributes[0], 1 << 32 | 2, "device memory of device 1");
    // The current device is a thread's own.
    let other = std::thread::scope(|s| {
        let other = s.spawn(|| {
            let mut device = 9;
            ok!(hip, hipGetDevice(&mut device => *mut i32));
            device
        });
        other.join().unwrap()
    });
    assert_eq!(other, 0);
    assert_eq!(call!(hip, hipSetDevice(2 => i32)), 101);
}

#[test]
fn kinds_of_memory_by_version() {
    for (rocm, device, host, unknown) in [("5.7", 1, 0, None), ("7.2", 2, 1, Some(0))] {
        let hip = Hip::of(rocm);
        let kind = |at: usize| {
            let mut attributes = [0u32; 8];
            let code = call!(hip, hipPointerGetAttributes(
                attributes.as_mut_ptr() => *mut u32, at => usize,
            ));
            (code == 0).then_some(attributes[0])
        };
        let own = [0u8; 64];
        let at = own.as_ptr() as usize;
        assert_eq!(kind(hip.malloc(64) + 63), Some(device), "{rocm}");
        assert_eq!(kind(hip.pinned(64)), Some(host));
        assert_eq!(kind(at), unknown);
        ok!(hip, hipHostRegister(at => usize, 64 => usize, 0 => u32));
        assert_eq!(kind(at + 10), Some(host));
        assert_eq!(
            call!(hip, hipHostRegister(at + 32 => usize, 4 => usize, 0 => u32)),
            712
        );
        ok!(hip, hipHostUnregister(at => usize));
        assert_eq!(kind(at), unknown);
        assert_eq!(call!(hip, hipHostUnregister(at => usize)), 713);
    }
}

#[test]
fn copies_of_rows_and_what_they_refuse() {
    let hip = Hip::new();
    let stream = hip.stream(NON_BLOCKING);
    let source: Vec<u8> = (0..60).collect();
    let at = hip.malloc(3 * 32);
    let copy = |to: usize,
                pitch: usize,
                from: usize,
                from_pitch: usize,
                width: usize,
                rows: usize,
                kind: u32| {
        call!(hip, hipMemcpy2DAsync(
            to => usize, pitch => usize, from => usize, from_pitch => usize, width => usize,
            rows => usize, kind => u32, stream => usize,
        ))
    };
    let from = source.as_ptr() as usize;
    assert_eq!(copy(at, 32, from, 20, 17, 3, H2D), 0);
    let mut back = [0u8; 3 * 32];
    assert_eq!(copy(back.as_mut_ptr() as usize, 32, at, 32, 32, 3, D2H), 0);
    hip.synchronize(stream);
    for row in 0..3 {
        assert_eq!(
            back[row * 32..row * 32 + 17],
            source[row * 20..row * 20 + 17]
        );
        assert_eq!(
            back[row * 32 + 17..row * 32 + 32],
            [251; 15],
            "fresh memory is poisoned"
        );
    }
    assert_eq!(
        copy(at, 32, from, 16, 17, 3, H2D),
        12,
        "a pitch below the width"
    );
    assert_eq!(
        copy(at, 33, from, 20, 17, 4, H2D),
        1,
        "beyond the allocation"
    );
    assert_eq!(
        copy(at, 32, from, 20, 17, 3, D2D),
        1,
        "the host's memory is not the device's"
    );
    assert_eq!(
        copy(from, 20, at, 32, 17, 3, H2D),
        21,
        "against the direction"
    );
    assert_eq!(
        copy(at, 32, from, 20, 17, 3, 4),
        0,
        "the direction by the addresses"
    );
    hip.synchronize(stream);
    let counts = hip.counts();
    assert_eq!(counts["copies"]["H2D"]["count"], 2);
    assert_eq!(counts["copies"]["H2D"]["bytes"], 2 * 51);
    assert_eq!(counts["copies"]["D2H"]["bytes"], 96);
    assert_eq!(counts["pageable_copies"], 3);
    assert_eq!(counts["copies_by_stream"][0]["stream"], 1);
}

#[test]
fn fills_of_every_width() {
    let hip = Hip::new();
    let (stream, at) = (hip.stream(NON_BLOCKING), hip.malloc(16));
    ok!(hip, hipMemsetD32Async(at => usize, 0x0102_0304 => i32, 4 => usize, stream => usize));
    ok!(hip, hipMemsetD16Async(at + 4 => usize, 0x0506 => u16, 2 => usize, stream => usize));
    ok!(hip, hipMemsetD8Async(at + 8 => usize, 7 => u8, 4 => usize, stream => usize));
    ok!(hip, hipMemsetAsync(at + 12 => usize, -1 => i32, 4 => usize, stream => usize));
    hip.synchronize(stream);
    assert_eq!(
        hip.read(at),
        [0x0102_0304, 0x0506_0506, 0x0707_0707, u32::MAX]
    );
    let code = call!(hip, hipMemsetAsync(at => usize, 0 => i32, 17 => usize, stream => usize));
    assert_eq!(code, 1, "beyond the allocation");
}

#[test]
fn arrays_have_rows_of_their_own() {
    let hip = Hip::new();
    let stream = hip.stream(NON_BLOCKING);
    let mut array = 0usize;
    // Two channels of 16 bits, unsigned.
    let format = [16i32, 16, 0, 0, 1];
    ok!(hip, hipMallocArray(
        &mut array => *mut usize, format.as_ptr() => *const i32, 5 => usize, 3 => usize, 0 => u32,
    ));
    let source: Vec<u8> = (0..60).collect();
    ok!(hip, hipMemcpy2DToArray(
        array => usize, 0 => usize, 0 => usize, source.as_ptr() => *const u8, 20 => usize,
        20 => usize, 3 => usize, H2D => u32,
    ));
    let mut back = [0u8; 16];
    let read = |x: usize, width: usize, back: &mut [u8; 16]| {
        call!(hip, hipMemcpy2DFromArrayAsync(
            back.as_mut_ptr() => *mut u8, 8 => usize, array => usize, x => usize, 1 => usize,
            width => usize, 2 => usize, D2H => u32, stream => usize,
        ))
    };
    assert_eq!(read(4, 8, &mut back), 0);
    hip.synchronize(stream);
    assert_eq!(back[..8], source[24..32]);
    assert_eq!(back[8..], source[44..52]);
    assert_eq!(read(16, 8, &mut back), 1, "beyond the row");
    // Width, height; format and channels.
    let mut description = [0usize; 3];
    ok!(hip, hipArrayGetDescriptor(description.as_mut_ptr() => *mut usize, array => usize));
    assert_eq!(description, [5, 3, 2 << 32 | 2]);
    ok!(hip, hipFreeArray(array => usize));
    assert_eq!(call!(hip, hipFreeArray(array => usize)), 400);
}

#[test]
fn external_memory_is_the_file_and_no_more() {
    #[repr(C)]
    struct Buffer {
        offset: u64,
        size: u64,
        flags: [u32; 18],
    }
    let hip = Hip::new();
    let file = tempfile::tempfile().unwrap();
    file.set_len(8192).unwrap();
    let import = |size: u64| {
        // Kind, descriptor at byte 8, size at byte 24.
        let mut words = [0u8; 104];
        words[0] = 1;
        words[8..12].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
        words[24..32].copy_from_slice(&size.to_ne_bytes());
        let mut memory = 0usize;
        let code = call!(hip, hipImportExternalMemory(
            &mut memory => *mut usize, words.as_ptr() => *const u8,
        ));
        (code, memory)
    };
    assert_eq!(import(8193).0, 1, "more than there is");
    let (code, memory) = import(8192);
    assert_eq!(code, 0);
    let buffer = Buffer {
        offset: 4096,
        size: 4096,
        flags: [0; 18],
    };
    let mut at = 0usize;
    ok!(hip, hipExternalMemoryGetMappedBuffer(
        &mut at => *mut usize, memory => usize, &buffer => *const Buffer,
    ));
    hip.write(at, &[1, 2, 3]);
    let mut bytes = [0u8; 12];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 4096).unwrap();
    assert_eq!(bytes, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    // The buffer outlives the import.
    ok!(hip, hipDestroyExternalMemory(memory => usize));
    assert_eq!(hip.read(at), [1, 2, 3]);
    ok!(hip, hipFree(at => usize));
    assert_eq!(hip.sim.json("memory")["external"]["live"], 0);
    // As ROCm does, on request.
    hip.set("external_size", "any");
    assert_eq!(import(4 * 8192).0, 0);
}
