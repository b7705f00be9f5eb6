//! What runs kernels: the instructions of the code object that was loaded, or both engines,
//! compared.

use serde_json::json;
use vmafx_gcnsim::object::CodeObject;

use crate::hip::{Hip, NON_BLOCKING, TARGET, call, ok};
use crate::probe::{Args, code_object};

const ILLEGAL_ADDRESS: u32 = 700;
const LAUNCH_FAILURE: u32 = 719;
const WAVE64: &str = "gfx942";

fn with(engine: &str) -> Hip {
    let hip = Hip::new();
    hip.set("engine", engine);
    hip
}

fn args(from: usize, to: usize, count: u32, at: u32) -> Args {
    let (from, to) = (from as u64, to as u64);
    Args {
        from,
        to,
        count,
        at,
    }
}

/// Launches one block and answers what waiting for it answers.
fn wait(hip: &Hip, kernel: usize, threads: u32, args: &Args) -> u32 {
    let stream = hip.stream(NON_BLOCKING);
    hip.launch(kernel, 1, threads, args, stream);
    call!(hip, hipStreamSynchronize(stream => usize))
}

#[test]
fn the_instructions_that_were_loaded_run_and_are_counted() {
    for (target, waves) in [(TARGET, 2), (WAVE64, 1)] {
        let hip = with("gcnsim");
        hip.set("gfx", target);
        // The library for the host has no part in it.
        hip.set("kernels", "/nowhere");
        let module = hip.load(&code_object(target)).unwrap();
        let kernel = hip.function(module, "probe_add").unwrap();
        let words = hip.malloc(192 * 4);
        hip.write(words, &(0..192).collect::<Vec<u32>>());
        let stream = hip.stream(NON_BLOCKING);
        for _ in 0..2 {
            hip.launch(kernel, 3, 64, &args(words, words, 190, 0), stream);
        }
        hip.synchronize(stream);
        let expected: [u32; 192] = std::array::from_fn(|i| i as u32 + if i < 190 { 2 } else { 0 });
        assert_eq!(hip.read(words), expected, "{target}");
        let counts = hip.sim.json("gcnsim");
        let all = counts["kernels"].as_object().unwrap();
        let object = CodeObject::read(&code_object(target)).unwrap();
        assert_eq!(all.len(), object.kernels.len());
        let add = &all["probe_add"];
        assert_eq!((&add["dispatches"], &add["blocks"]), (&json!(2), &json!(6)));
        assert_eq!(add["waves"], 6 * waves, "{target}");
        let instructions = add["instructions"].as_u64().unwrap();
        assert!(
            (6 * waves * 5..6 * waves * 60).contains(&instructions),
            "{add}"
        );
        assert_eq!(all["probe_more"]["dispatches"], 0);
        assert!(counts["seconds"].as_f64().unwrap() > 0.0);
        hip.set("reset", "");
        assert_eq!(hip.sim.json("gcnsim")["kernels"], json!({}));
    }
}

#[test]
fn host_memory_that_the_runtime_knows_is_within_reach() {
    let hip = with("gcnsim");
    let kernel = hip.kernel("probe_add");
    let pinned = hip.pinned(4);
    let mut own = [41u32];
    let at = own.as_mut_ptr() as usize;
    assert_eq!(wait(&hip, kernel, 64, &args(pinned, pinned, 1, 0)), 0);
    ok!(hip, hipHostRegister(at => usize, 4 => usize, 0 => u32));
    assert_eq!(wait(&hip, kernel, 64, &args(at, at, 1, 0)), 0);
    ok!(hip, hipHostUnregister(at => usize));
    assert_eq!(own, [42]);
    assert_eq!(
        wait(&hip, kernel, 64, &args(at, at, 1, 0)),
        ILLEGAL_ADDRESS,
        "no more"
    );
}

#[test]
fn a_fault_names_kernel_instruction_and_address_and_stays() {
    let hip = with("gcnsim");
    // Past the end of an allocation there is more that belongs to nobody.
    let words = hip.malloc(63 * 4);
    let kernel = hip.kernel("probe_add");
    let code = wait(&hip, kernel, 64, &args(words, words, 64, 0));
    assert_eq!(code, ILLEGAL_ADDRESS);
    let troubles = hip.troubles();
    let address = format!("{:#x}", words + 63 * 4);
    let [trouble] = troubles.as_slice() else {
        panic!("{troubles:?}")
    };
    for part in ["probe_add at 0x", "`global_load", "lane 31", &address] {
        assert!(trouble.contains(part), "{part}: {trouble}");
    }
    let mut at = 0usize;
    assert_eq!(
        call!(hip, hipMalloc(&mut at => *mut usize, 4 => usize)),
        ILLEGAL_ADDRESS
    );
    // What is freed is nobody's either, and memory of another device is not this one's.
    hip.set("repair", "");
    ok!(hip, hipFree(words => usize));
    let code = wait(&hip, kernel, 64, &args(words, words, 1, 0));
    assert_eq!(code, ILLEGAL_ADDRESS);
    hip.set("repair", "");
    hip.set("devices", "2");
    ok!(hip, hipSetDevice(1 => i32));
    let other = hip.malloc(4);
    ok!(hip, hipSetDevice(0 => i32));
    let code = wait(&hip, kernel, 64, &args(other, other, 1, 0));
    assert_eq!(code, ILLEGAL_ADDRESS);
}

#[test]
fn a_barrier_that_is_missing_fails_the_launch() {
    let hip = with("gcnsim");
    let (kernel, sum) = (hip.kernel("probe_sum"), hip.malloc(4));
    assert_eq!(wait(&hip, kernel, 256, &args(0, sum, 9, 0)), 0);
    assert_eq!(hip.read(sum), [(0..256).sum::<u32>()]);
    assert_eq!(wait(&hip, kernel, 256, &args(0, sum, 9, 1)), LAUNCH_FAILURE);
    let trouble = &hip.troubles()[0];
    for part in ["probe_sum at 0x", "no barrier between it and wave", "LDS"] {
        assert!(trouble.contains(part), "{part}: {trouble}");
    }
}

#[test]
fn instructions_that_are_none_are_not_taken() {
    let hip = with("gcnsim");
    let mut image = code_object(TARGET);
    let object = CodeObject::read(&image).unwrap();
    let kernel = object.kernels.iter().find(|one| one.name == "probe_more");
    let (address, bytes) = kernel.unwrap().code;
    let at = file_offset(&image, address);
    image[at..at + bytes as usize].fill(0xff);
    assert_eq!(hip.load(&image), Err(200));
    let trouble = &hip.troubles()[0];
    let place = format!("{address:#x}");
    for part in ["probe_more", "not known", &place] {
        assert!(trouble.contains(part), "{part}: {trouble}");
    }
    // The library for the host does not look at them.
    hip.set("engine", "host");
    hip.load(&image).unwrap();
}

/// Where the bytes of an address lie in an image.
fn file_offset(image: &[u8], address: u64) -> usize {
    use object::{Object as _, ObjectSegment as _};
    let file = object::File::parse(image).expect("an object");
    let segment = file
        .segments()
        .find(|s| (s.address()..s.address() + s.size()).contains(&address))
        .expect("a segment");
    (segment.file_range().0 + address - segment.address()) as usize
}

#[test]
fn estimates_are_as_exact_as_the_setting_says() {
    let of = |estimates: &str| {
        let hip = with("gcnsim");
        hip.set("estimates", estimates);
        let (kernel, words) = (hip.kernel("probe_reciprocal"), hip.malloc(64 * 4));
        assert_eq!(wait(&hip, kernel, 64, &args(0, words, 0, 0)), 0);
        hip.read::<64>(words)
    };
    let exact: [u32; 64] = std::array::from_fn(|i| (1.0 / (i as f32 + 1.0)).to_bits());
    assert_eq!(of("nearest"), exact);
    for estimates in ["ulp:1", "documented:1"] {
        let found = of(estimates);
        let off = |(a, b): (&u32, &u32)| a.abs_diff(*b);
        let most = found.iter().zip(&exact).map(off).max();
        assert_eq!(most, Some(1), "{estimates}");
        assert_eq!(of(estimates), found, "the same seed, the same numbers");
    }
    assert_ne!(of("ulp:1"), of("ulp:2"));
}

#[test]
fn both_engines_agree_or_the_first_byte_and_who_wrote_it_are_told() {
    let hip = with("both");
    let words = hip.malloc(64 * 4);
    hip.write(words, &[5; 64]);
    let (more, unlike) = (hip.kernel("probe_more"), hip.kernel("probe_unlike"));
    assert_eq!(wait(&hip, more, 64, &args(0, words, 3, 0)), 0);
    assert_eq!(hip.read(words), [8; 64], "once, and not twice");
    assert_eq!(
        hip.sim.json("gcnsim")["kernels"]["probe_more"]["dispatches"],
        1
    );
    assert_eq!(wait(&hip, unlike, 64, &args(0, words, 3, 99)), 0);
    let code = wait(&hip, unlike, 64, &args(0, words, 3, 17));
    assert_eq!(code, LAUNCH_FAILURE);
    let (trouble, at) = (&hip.troubles()[0], words + 17 * 4);
    let expected = format!(
        "probe_unlike: 1 bytes of the device's memory differ from those of the kernel for the host, first the one at {at:#x}, 68 into 256 bytes of device memory: 0x0e, not 0x0f; last written at 0x"
    );
    assert!(trouble.starts_with(&expected), "{trouble}");
    assert!(trouble.contains("`global_store"), "{trouble}");
    // What stays is the code object's.
    hip.set("repair", "");
    assert_eq!(hip.read(words), [14; 64]);
    let stray = hip.kernel("probe_stray");
    let code = wait(&hip, stray, 64, &args(0, words + 8, 0, 0));
    assert_eq!(code, LAUNCH_FAILURE);
    let trouble = &hip.troubles()[1];
    assert!(trouble.contains("8 into 256 bytes"), "{trouble}");
}

#[test]
fn a_kernel_of_the_host_that_fails_fails_the_launch_of_both() {
    let hip = with("both");
    let (kernel, words) = (hip.kernel("probe_stuck"), hip.malloc(64 * 4));
    // Lanes that are away give what they hold on hardware; on the host that is an error.
    let code = wait(&hip, kernel, 64, &args(0, words, 0, 5));
    assert_eq!(code, LAUNCH_FAILURE);
}

#[test]
fn launches_that_are_compared_have_the_device_to_themselves() {
    let hip = with("both");
    let kernel = hip.kernel("probe_more");
    let words: Vec<_> = (0..4)
        .map(|_| (hip.malloc(256), hip.stream(NON_BLOCKING)))
        .collect();
    for &(at, stream) in &words {
        ok!(hip, hipMemsetAsync(at => usize, 0 => i32, 256 => usize, stream => usize));
    }
    for turn in 1..=20 {
        for &(at, stream) in &words {
            hip.launch(kernel, 1, 64, &args(0, at, turn, 0), stream);
        }
    }
    for &(at, stream) in &words {
        hip.synchronize(stream);
        assert_eq!(hip.read(at), [210; 64]);
    }
    assert_eq!(hip.troubles(), Vec::<String>::new());
}

#[test]
fn a_module_runs_as_it_was_loaded() {
    let hip = Hip::new();
    let (kernel, words) = (hip.kernel("probe_more"), hip.malloc(64 * 4));
    hip.set("engine", "gcnsim");
    let code = wait(&hip, kernel, 64, &args(0, words, 3, 0));
    assert_eq!(code, LAUNCH_FAILURE);
    assert!(hip.troubles()[0].contains("load it again"));
    hip.set("repair", "");
    let kernel = hip.kernel("probe_more");
    assert_eq!(wait(&hip, kernel, 64, &args(0, words, 3, 0)), 0);
    // External memory that may have no pages would end the process.
    hip.set("external_size", "any");
    let code = wait(&hip, kernel, 64, &args(0, words, 3, 0));
    assert_eq!(code, LAUNCH_FAILURE);
}
