//! The name of the file of a key: any text becomes a file name, and no two keys share one.
//!
//! Limit: of a name above [`LONGEST_NAME`] bytes, the end is replaced by a hash of 64 bits.

/// Ending of record files.
pub(super) const ENDING: &str = ".rkw";
/// Longest file name without ending; above, the name is cut and a hash added.
const LONGEST_NAME: usize = 160;

/// The file name of a key: letters, digits and `._+-` as they are, every other byte as `%XX`, so
/// that no key leaves the directory and no two share a file.
pub(super) fn file_name(key: &str) -> String {
    let mut name = String::new();
    for (k, &byte) in key.as_bytes().iter().enumerate() {
        let plain =
            byte.is_ascii_alphanumeric() || b"_+-".contains(&byte) || (byte == b'.' && k > 0);
        if plain {
            name.push(byte as char);
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.is_empty() {
        name.push('%');
    }
    if name.len() > LONGEST_NAME {
        name.truncate(LONGEST_NAME - 20);
        let low = crc32fast::hash(key.as_bytes());
        let high = crc32fast::hash(format!("{low:08x}{key}").as_bytes());
        name.push_str(&format!("~{high:08x}{low:08x}"));
    }
    name + ENDING
}
