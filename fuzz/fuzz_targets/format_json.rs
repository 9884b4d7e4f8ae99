//! The reader of json files survives any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::formats::{Source, by_name};

fuzz_target!(|bytes: &[u8]| {
    let format = by_name("json").expect("a known format");
    let source = Source::new("fuzz", bytes);
    let _ = format.detects(&source);
    if let Ok(matrix) = format.read(&source) {
        assert!(matrix.is_valid());
    }
});
