//! `/etc/ld.so.cache`: the paths under which the dynamic linker finds libraries by name.
//!
//! The format is that of glibc 2.2 and later ("glibc-ld.so.cache1.1"). In the file, a cache of the older
//! format may come before it.

use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// Names and paths in the order of the cache.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: Vec<(String, PathBuf)>,
}

impl Cache {
    /// The cache of this system; empty if there is none.
    pub(super) fn of_system() -> Cache {
        std::fs::read("/etc/ld.so.cache").map(|bytes| Cache::parse(&bytes)).unwrap_or_default()
    }

    /// Reads the entries that can be understood.
    fn parse(bytes: &[u8]) -> Cache {
        let Some(start) = bytes.windows(MAGIC.len()).position(|w| w == MAGIC) else {
            return Cache::default();
        };
        let bytes = &bytes[start..];
        let number = |at: usize| -> Option<usize> {
            let word = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_le_bytes(word) as usize)
        };
        let text = |at: usize| -> Option<String> {
            let rest = bytes.get(at..)?;
            let end = rest.iter().position(|&b| b == 0)?;
            Some(String::from_utf8_lossy(&rest[..end]).into_owned())
        };
        let count = number(MAGIC.len()).unwrap_or(0).min(bytes.len() / ENTRY);
        let entry = |k: usize| {
            let at = HEADER + k * ENTRY;
            Some((text(number(at + 4)?)?, PathBuf::from(text(number(at + 8)?)?)))
        };
        Cache { entries: (0..count).filter_map(entry).collect() }
    }

    /// All paths under a name. Libraries of several architectures may have the same name.
    pub(super) fn find<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a PathBuf> {
        self.entries.iter().filter(move |entry| entry.0 == name).map(|entry| &entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_the_libraries_of_this_system() {
        let cache = Cache::of_system();
        if cache.entries.is_empty() {
            return; // a system without glibc
        }
        let path = cache.find("libc.so.6").next().expect("libc is in the cache");
        assert!(path.is_absolute() && path.exists());
        assert_eq!(cache.find("libnothing.so.77").count(), 0);
    }

    proptest! {
        #[test]
        fn anything_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            before in 0usize..20,
        ) {
            let mut file = vec![0; before];
            file.extend_from_slice(MAGIC);
            file.extend(bytes);
            let _ = Cache::parse(&file);
        }
    }
}
