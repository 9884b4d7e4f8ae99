//! libFuzzer calls the check that has the name of this program. The checks are in `fuzz/src`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rankweave_fuzz::check(env!("CARGO_BIN_NAME"), bytes);
});
