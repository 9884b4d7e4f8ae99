//! An executable of any content and any command line give an identity or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::store::{build_id, identity};
use std::io::Cursor;
use std::path::Path;

fuzz_target!(|input: (Vec<u8>, Vec<String>)| {
    let (bytes, args) = input;
    let _ = build_id(&mut Cursor::new(&bytes));
    for exe in ["/bin/python3", "/bin/java", "/bin/bash"] {
        let _ = identity(Path::new(exe), &args);
    }
});
