//! A record file of any content is survived, with and without a correct header around it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rankweave::store::{MAGIC, VERSION, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    let mut sealed = MAGIC.to_vec();
    sealed.extend(VERSION.to_le_bytes());
    sealed.extend((bytes.len() as u64).to_le_bytes());
    sealed.extend(crc32fast::hash(bytes).to_le_bytes());
    sealed.extend(bytes);
    if let Ok(record) = decode(&sealed) {
        assert_eq!(record.inconsistency(), None);
        // Floating point numbers that equal nothing are the only records that differ from themselves.
        let again = decode(&encode(&record).expect("encodes")).expect("decodes");
        assert_eq!(again.matrix, record.matrix);
    }
});
