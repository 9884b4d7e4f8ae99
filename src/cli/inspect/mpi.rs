//! The family, the version and the functions of an MPI library, and the MPI library of a launcher.
//!
//! Everything is read from the file. The file has no table with the version. The version is taken from the
//! texts of the library: it is the version number that most often is a text of its own. This is right for
//! Open MPI, MPICH and Intel MPI as of 2026. Limits: for other MPI libraries it is a guess.

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
    /// Its handle family.
    pub family: Family,
    /// The names of all functions and objects that it offers.
    pub offers: BTreeSet<String>,
}

impl Mpi {
    /// The MPI library in this file. `None` if the file is no MPI library.
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

    /// True if it defines a function under the profiling name, which wrappers call.
    pub fn has(&self, function: &str) -> bool {
        self.offers.contains(&format!("P{function}"))
    }

    /// The MPI library of a launcher: the first library of the launcher's family. It is looked for in
    /// directories near the launcher, beside the libraries that the launcher needs, and where the system keeps
    /// libraries.
    pub fn of_launcher(program: &Path, launcher: Launcher, search: &Search) -> Option<Mpi> {
        let (wanted, names) = match launcher {
            Launcher::OpenMpi => (Family::OpenMpi, "libmpi.so.40 libmpi.so.80 libmpi.so"),
            Launcher::Hydra => (Family::Mpich, "libmpi.so.12 libmpich.so.12 libmpi.so libmpich.so"),
            Launcher::Srun | Launcher::Sbatch | Launcher::Other => return None,
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
        // If the launcher is a script, the library has to fit the architecture of this program.
        let like = image.or_else(|| Image::read(&std::env::current_exe().ok()?).ok())?;
        let near = places.iter().flat_map(|place| names.iter().map(|name| place.join(name)));
        near.filter_map(|path| Image::read(&path).ok().filter(|image| image.fits(&like)))
            .chain(names.iter().filter_map(|name| search.open(name, &like)))
            .filter_map(|image| Mpi::of_image(&image))
            .find(|mpi| mpi.family == wanted)
    }
}

impl Image {
    /// True for a program, which may have MPI linked in but is not a library.
    fn linked_in_program(&self) -> bool {
        self.interpreter.is_some() && self.soname.is_none()
    }
}

/// The product and the version, from the texts in a file.
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
    // This is the most frequent version, and the newest one of equally frequent versions.
    let version = counts.into_iter().max_by_key(|(version, n)| (*n, version.clone()));
    let version = version
        .map(|(numbers, _)| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join("."));
    (product, version)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The version in a text that is a version of three numbers and nothing else.
fn version(text: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(text).ok()?;
    if text.len() > 12 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let numbers: Option<Vec<u32>> = text.split('.').map(|n| n.parse().ok()).collect();
    // Parts of the library often have the version 1.0.0. No MPI library in use has a major version below 2.
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
