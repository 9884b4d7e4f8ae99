//! Which nodes see a file: the type of the file system that it is on.
//!
//! Limit: the type says only how a file system is usually used. A local disk that a node exports to the others is
//! taken for local on that node.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The nodes that see a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSystem {
    /// All nodes.
    Shared,
    /// This node only; with the name of its type.
    Local(&'static str),
    /// It is not known; with the number of its type in hexadecimal digits.
    Unknown(String),
}

/// The types of file systems that all nodes see, by linux/magic.h and the headers of the file systems.
const SHARED: [i64; 11] = [
    0x6969, 0x0bd00bd0, 0x47504653, 0x19830326, 0x00c36400, 0x5346414f, 0xff534d42, 0x65735546,
    0xaad7aaea, 0x20030528, 0x01021997,
];
/// The types of file systems that only one node sees, by linux/magic.h.
const LOCAL: [(i64, &str); 6] = [
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlay"),
    (0x9123_683e, "btrfs"),
];

impl FileSystem {
    /// The file system of a path, or of the nearest folder above it that exists. If there is none, it is taken for
    /// shared.
    pub fn of(path: &Path) -> FileSystem {
        path.ancestors().find_map(kind_of).map_or(FileSystem::Shared, FileSystem::of_kind)
    }

    fn of_kind(kind: i64) -> FileSystem {
        if SHARED.contains(&kind) {
            return FileSystem::Shared;
        }
        match LOCAL.iter().find(|local| local.0 == kind) {
            Some((_, name)) => FileSystem::Local(name),
            None => FileSystem::Unknown(format!("{kind:#x}")),
        }
    }
}

/// `f_type` of statfs; `None` if the path does not exist or cannot be reached.
fn kind_of(path: &Path) -> Option<i64> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: a C string and a struct of the right type, zeroed, for which all zeros are a valid value.
    let (code, data) = unsafe {
        let mut data: libc::statfs = std::mem::zeroed();
        (libc::statfs(name.as_ptr(), &raw mut data), data)
    };
    (code == 0).then_some(data.f_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_file_systems() {
        for (kind, wanted) in [
            (0x6969, FileSystem::Shared),
            (0x0bd0_0bd0, FileSystem::Shared),
            (0xef53, FileSystem::Local("ext4")),
            (0x0102_1994, FileSystem::Local("tmpfs")),
            (0x77, FileSystem::Unknown("0x77".into())),
        ] {
            assert_eq!(FileSystem::of_kind(kind), wanted);
        }
        let here = tempfile::tempdir().unwrap();
        let inside = here.path().join("not/yet/there");
        assert_eq!(FileSystem::of(&inside), FileSystem::of(here.path()));
        assert_eq!(FileSystem::of(Path::new("")), FileSystem::Shared);
    }
}
