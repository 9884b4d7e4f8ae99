//! What an MPI library is: family, version, functions; and where that of a launcher is.
//!
//! Everything is read from the file. The version is not in a table there; it is the number that
//! stands alone most often among the texts of the library, which is right for Open MPI, MPICH and
//! Intel MPI as of 2026. Limits: a guess for others, and then not given.

use super::image::Image;
use super::search::Search;
use crate::base::file;
use crate::cli::launcher::{Launcher, base_name};
use crate::options::Family;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An MPI library.
#[derive(Debug, Clone)]
pub struct Mpi {
    /// Its file, links resolved.
    pub path: PathBuf,
    /// Which handles it has.
    pub family: Family,
    /// All it offers.
    pub offers: BTreeSet<String>,
}

impl Mpi {
    /// The MPI library that a file is, or `None`.
    pub fn of_image(image: &Image) -> Option<Mpi> {
        if !image.offers("PMPI_Init") && !image.offers("MPI_Init") || image.linked_in_program() {
            return None;
        }
        let path = image.path.canonicalize().unwrap_or_else(|_| image.path.clone());
        let name = image.soname.clone().unwrap_or_else(|| path.display().to_string());
        let family = if name.contains("mpi_abi") {
            Family::Standard
        } else if image.offers("ompi_mpi_comm_world") {
            Family::OpenMpi
        } else if image.offers("MPIR_F08_MPI_STATUS_IGNORE_OBJ") {
            Family::Mpich
        } else {
            match description(&path).0 {
                None | Some("Open MPI") => Family::Unknown,
                Some(_) => Family::Mpich,
            }
        };
        Some(Mpi { path, family, offers: image.offered.iter().cloned().collect() })
    }

    /// Name and version, such as "Open MPI 4.1.4". Reads the whole file.
    pub fn version(&self) -> Option<String> {
        let (product, version) = description(&self.path);
        Some(match (product?, version) {
            (product, Some(version)) => format!("{product} {version}"),
            (product, None) => product.to_string(),
        })
    }

    /// The MPI library in a file.
    pub fn of_file(path: &Path) -> Option<Mpi> {
        Mpi::of_image(&Image::read(path).ok()?)
    }

    /// True if it defines a function under its profiling name, where wrappers call it.
    pub fn has(&self, function: &str) -> bool {
        self.offers.contains(&format!("P{function}"))
    }

    /// The MPI library of a launcher: near it, beside the libraries it needs, or where the system
    /// keeps libraries. The first that the launcher's family allows.
    pub fn of_launcher(program: &Path, launcher: Launcher, search: &Search) -> Option<Mpi> {
        let (wanted, names) = match launcher {
            Launcher::OpenMpi => (Family::OpenMpi, "libmpi.so.40 libmpi.so.80 libmpi.so"),
            Launcher::Hydra => (Family::Mpich, "libmpi.so.12 libmpich.so.12 libmpi.so libmpich.so"),
            Launcher::Srun | Launcher::Other => return None,
        };
        let names: Vec<&str> = names.split(' ').collect();
        let program = program.canonicalize().ok()?;
        let directory = program.parent()?;
        let mut places: Vec<PathBuf> = Vec::new();
        for place in ["../lib", "../lib64", "../lib/release", "../../lib", "../lib/mpich"] {
            places.extend(directory.join(place).canonicalize());
        }
        let image = Image::read(&program).ok();
        if let Some(image) = image.clone() {
            let needed = search.closure(image).images;
            let own = |i: &&Image| {
                let name = base_name(&i.path);
                ["libopen-", "libprrte", "libpmix", "libhydra"].iter().any(|n| name.starts_with(n))
            };
            places
                .extend(needed.iter().filter(own).filter_map(|i| i.path.parent()).map(Into::into));
        }
        // A launcher that is a script or linked statically does not say; this program's own
        // architecture does.
        let like = image.or_else(|| Image::read(&std::env::current_exe().ok()?).ok())?;
        let near = places.iter().flat_map(|place| names.iter().map(|name| place.join(name)));
        near.filter_map(|path| Image::read(&path).ok().filter(|image| image.fits(&like)))
            .chain(names.iter().filter_map(|name| search.open(name, &like)))
            .filter_map(|image| Mpi::of_image(&image))
            .find(|mpi| mpi.family == wanted)
    }
}

impl Image {
    /// True for a program that has MPI linked in: it is no library.
    fn linked_in_program(&self) -> bool {
        self.interpreter.is_some() && self.soname.is_none()
    }
}

/// Product and version by the texts in a file.
fn description(path: &Path) -> (Option<&'static str>, Option<String>) {
    const MARKS: [(&[u8], &str); 6] = [
        (b"Intel(R) MPI Library", "Intel MPI"),
        (b"MVAPICH Version", "MVAPICH"),
        (b"MVAPICH2 Version", "MVAPICH2"),
        (b"CRAY MPICH version", "Cray MPICH"),
        (b"MPICH Version:", "MPICH"),
        (b"Open MPI v", "Open MPI"),
    ];
    let Ok(bytes) = file::read(path, 1 << 30) else { return (None, None) };
    let mut found = [false; MARKS.len()];
    let mut counts: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for text in bytes.split(|&b| b == 0).filter(|t| (3..400).contains(&t.len())) {
        if text.is_ascii() {
            if let Some(version) = version(text) {
                *counts.entry(version).or_default() += 1;
            }
            for (mark, found) in MARKS.iter().zip(&mut found) {
                *found |= !*found && contains(text, mark.0);
            }
        }
    }
    let product = MARKS.iter().zip(found).find(|(_, found)| *found).map(|(mark, _)| mark.1);
    // The most frequent; of equally frequent ones the newest.
    let version = counts.into_iter().max_by_key(|(version, n)| (*n, version.clone()));
    let version = version
        .map(|(numbers, _)| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join("."));
    (product, version)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A text that is a version of two or three numbers and nothing else.
fn version(text: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(text).ok()?;
    if text.len() > 12 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let numbers: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
    // 1.0.0 is the usual version of parts; no MPI in use has a major version below 2.
    numbers.filter(|n| n.len() == 3 && n[0] >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_other_texts() {
        assert_eq!(version(b"4.1.4"), Some(vec![4, 1, 4]));
        assert_eq!(version(b"2021.19.0"), Some(vec![2021, 19, 0]));
        for other in ["1.0.0", "4.1", "4.1.4a", "v4.1.4", "", "1.2.3.4", "4..1"] {
            assert_eq!(version(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn texts_of_a_library() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("libmpi.so");
        std::fs::write(&path, b"\0MPICH Version:      %s\n\x005.0.2\x003.9.9\x005.0.2\0").unwrap();
        assert_eq!(description(&path), (Some("MPICH"), Some("5.0.2".into())));
        std::fs::write(&path, b"nothing").unwrap();
        assert_eq!(description(&path), (None, None));
        assert!(Mpi::of_file(&path).is_none());
        assert!(Mpi::of_file(&std::env::current_exe().unwrap()).is_none());
    }
}
