//! Where the files of `/sys` come from: the folder itself, or a listing of it in one text.
//!
//! A listing has one line for each file or symbolic link, so that a machine fits into a small file of text:
//!
//! ```text
//! # a comment
//! devices/system/cpu/online=0-3
//! devices/system/cpu/cpu[0-1]/topology/core_cpus_list=0-1
//! bus/pci/devices/0000:01:00.0 -> ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
//! ```
//!
//! Numbers in brackets stand for one file each with the same content. `scripts/gather-machine` writes listings.

use super::cpuset::CpuSet;
use crate::base::file;
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The largest file of `/sys` that is read, in bytes.
const LARGEST: u64 = 64 << 10;

/// The most files in a listing; a machine of 2048 CPUs has about thirty thousand.
const MOST_ENTRIES: usize = 1 << 16;

/// Files, folders and symbolic links below a root. Paths are relative to the root, with `/` between names.
pub(super) trait SysTree {
    /// The text of a file; `None` if it cannot be read, because most files of `/sys` are optional.
    fn read(&self, path: &str) -> Option<String>;

    /// The names in a folder.
    ///
    /// Errors: it cannot be listed.
    fn list(&self, path: &str) -> Result<Vec<String>>;

    /// Where a symbolic link leads, as a path from the root; `None` if it is no link.
    fn link(&self, path: &str) -> Option<String>;

    /// The path in words for messages.
    fn place(&self, path: &str) -> String;
}

/// A folder: `/sys`, or a copy of it.
pub(super) struct Folder<'a>(pub &'a Path);

impl SysTree for Folder<'_> {
    fn read(&self, path: &str) -> Option<String> {
        String::from_utf8(file::read(&self.0.join(path), LARGEST).ok()?).ok()
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let folder = self.0.join(path);
        let entries =
            fs::read_dir(&folder).map_err(|e| Error::io("cannot list the folder", &folder, &e))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }

    fn link(&self, path: &str) -> Option<String> {
        Some(resolved(path, fs::read_link(self.0.join(path)).ok()?.to_str()?))
    }

    fn place(&self, path: &str) -> String {
        let place: PathBuf = self.0.join(path);
        place.display().to_string()
    }
}

/// The content of a file in a listing, or where a link in it leads.
#[derive(Clone)]
enum Entry {
    File(String),
    Link(String),
}

/// A listing.
pub(super) struct Listing(BTreeMap<String, Entry>);

impl Listing {
    /// Reads a listing.
    ///
    /// Errors: a line that is none of a listing, too many files.
    pub fn parse(text: &str) -> Result<Listing> {
        let wrong = |line: usize, what: &str| {
            Error::new(ErrorKind::Format, what).at(format!("line {}", line + 1)).advise(
                "give a line such as devices/system/cpu/online=0-3, or use scripts/gather-machine",
            )
        };
        let mut entries = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // Paths of /sys have neither '=' nor spaces; contents may have both.
            let (path, entry) = match (line.split_once(" -> "), line.split_once('=')) {
                (Some((path, target)), _) if !path.contains('=') => {
                    (path, Entry::Link(target.trim().into()))
                }
                (_, Some((path, content))) => (path, Entry::File(content.into())),
                _ => return Err(wrong(number, "this line of a listing has neither = nor ->")),
            };
            for path in expanded(path.trim()).ok_or_else(|| wrong(number, "unreadable path"))? {
                if entries.len() >= MOST_ENTRIES {
                    return Err(wrong(number, "the listing has more files than a machine"));
                }
                entries.insert(path, entry.clone());
            }
        }
        Ok(Listing(entries))
    }
}

impl Listing {
    /// The path behind the links on the way to it, as the system would follow them.
    fn followed(&self, path: &str) -> String {
        /// Links that lead to links; more of them are a circle.
        const MOST_LINKS: usize = 8;
        let mut path = path.to_string();
        for _ in 0..MOST_LINKS {
            let ends = path.match_indices('/').map(|(at, _)| at);
            let link = ends.filter_map(|end| Some((end, self.link(&path[..end])?))).next();
            let Some((end, target)) = link else { break };
            path = target + &path[end..];
        }
        path
    }
}

impl SysTree for Listing {
    fn read(&self, path: &str) -> Option<String> {
        let path = self.followed(path);
        match self.0.get(&path)? {
            Entry::File(content) => Some(content.clone()),
            Entry::Link(_) => None,
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        let prefix = format!("{}/", self.followed(path));
        let below = self.0.range(prefix.clone()..).take_while(|(at, _)| at.starts_with(&prefix));
        let name = |at: &String| at[prefix.len()..].split('/').next().unwrap_or("").to_string();
        let names: BTreeSet<String> = below.map(|(at, _)| name(at)).collect();
        match names.is_empty() {
            true => Err(Error::new(ErrorKind::NotFound, "the listing has no such folder")
                .at(self.place(path))
                .advise("give a listing of /sys made by scripts/gather-machine")),
            false => Ok(names.into_iter().collect()),
        }
    }

    fn link(&self, path: &str) -> Option<String> {
        match self.0.get(path)? {
            Entry::Link(target) => Some(resolved(path, target)),
            Entry::File(_) => None,
        }
    }

    fn place(&self, path: &str) -> String {
        path.to_string()
    }
}

/// The paths that a path with numbers in brackets stands for: `cpu[0-1,4]/x`. `None` if it is empty, leads out
/// of the root, or has no numbers in its brackets.
fn expanded(path: &str) -> Option<Vec<String>> {
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return None;
    }
    let Some((before, rest)) = path.split_once('[') else {
        return Some(vec![path.into()]);
    };
    let (list, after) = rest.split_once(']')?;
    let numbers = CpuSet::from_list(list).filter(|numbers| numbers.len() <= MOST_ENTRIES)?;
    Some(numbers.iter().map(|number| format!("{before}{number}{after}")).collect())
}

/// The path from the root of what a link at `path` leads to.
fn resolved(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# two CPUs\n\na/cpu[0-1]/x=1 = one -> 2\na/cpu[0,3]/y=\nb/link -> ../a/./cpu3\n";

    /// The files of a listing as a folder.
    fn unpacked(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, entry) in Listing::parse(text).unwrap().0 {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match entry {
                Entry::File(content) => fs::write(path, content + "\n").unwrap(),
                Entry::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            }
        }
        folder
    }

    #[test]
    fn a_listing_is_like_the_folder() {
        let listing = Listing::parse(TEXT).unwrap();
        let folder = unpacked(TEXT);
        for tree in [&listing as &dyn SysTree, &Folder(folder.path())] {
            let text = |path| tree.read(path).map(|text| text.trim_end().to_string());
            assert_eq!(text("a/cpu1/x").as_deref(), Some("1 = one -> 2"));
            assert_eq!(text("a/cpu3/y").as_deref(), Some(""));
            assert_eq!((text("a/cpu3/x"), text("a/cpu0"), text("b/link")), (None, None, None));
            let mut names = tree.list("a").unwrap();
            names.sort();
            assert_eq!(names, ["cpu0", "cpu1", "cpu3"]);
            assert!(tree.list("nothing").is_err() && tree.place("a").ends_with('a'));
            assert_eq!(tree.link("b/link").as_deref(), Some("a/cpu3"));
            assert_eq!(tree.link("a/cpu0/x"), None);
        }
    }

    #[test]
    fn machines_of_a_listing_and_of_its_folder_are_equal() {
        use crate::topology::Machine;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines");
        let mut listings = 0;
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.path().extension().is_some_and(|end| end == "sys") {
                let text = fs::read_to_string(entry.path()).unwrap();
                let unpacked = unpacked(&text);
                let machine = Machine::from_sysfs(unpacked.path()).unwrap();
                assert_eq!(machine, Machine::from_sys_listing(&text).unwrap());
                listings += 1;
            }
        }
        assert!(listings > 5);
    }

    #[test]
    fn links_do_not_lead_out_of_the_root() {
        assert_eq!(resolved("a/b", "../../../../etc/x"), "etc/x");
        for text in ["../x=1", "/x=1", "a/../../x=1", "=1", "x", "a[=1", "a[x]=1", "a[0-99999]=1"] {
            assert!(Listing::parse(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "[a-c/\\[\\]0-9=> \n.-]{0,80}") {
            if let Ok(listing) = Listing::parse(&text) {
                let _ = listing.list("a");
            }
        }
    }
}
