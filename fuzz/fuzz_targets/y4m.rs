//! Feeds the fuzzer's inputs to `fuzz_bodies::y4m`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    vmafx_tests::fuzz_bodies::y4m(data);
});
