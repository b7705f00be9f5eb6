//! Feeds the fuzzer's inputs to `fuzz_bodies::manifest`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    vmafx_tests::fuzz_bodies::manifest(data);
});
