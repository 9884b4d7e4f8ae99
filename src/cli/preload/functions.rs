//! The functions of the MPI library of a program that loads this library by itself.
//!
//! Nothing here may fail or take long. If the MPI library of a launch is not found, the launch runs without
//! this information, and the preloaded library hides newer functions from the program.

use crate::cli::inspect::{Image, LaunchLine, Mpi, Part, Search, Started, loaded_mpi, start};
use crate::cli::launcher::{Launcher, LocatedLauncher, base_name};
use crate::options::Functions;
use std::path::Path;

/// The variable in which the user names the MPI library of programs that load it by themselves. It is needed
/// if that library does not belong to the launcher.
pub(in crate::cli) const MPI: &str = "RANKWEAVE_MPI";

/// The value of the variable [`FUNCTIONS`](crate::options::FUNCTIONS) for a launch; `None` if no program of
/// the launch loads its MPI library by itself, or if that library is not known.
pub(in crate::cli) fn for_launch(
    found: &LocatedLauncher,
    command: &[String],
    library: &Path,
) -> Option<String> {
    let launch = LaunchLine::of(found, command);
    let library = Image::read(library).ok()?;
    launch.parts.iter().find_map(|part| {
        let (search, started) = (search_of(part), start(part));
        if started.binary().is_some_and(|image| linked_mpi(image, &search).is_some()) {
            return None;
        }
        let (mpi, _) = loaded(&launch, part, &started, &search)?;
        Some(of(&library, &mpi))
    })
}

/// The value of the variable for this preloaded library and this MPI library.
fn of(library: &Image, mpi: &Mpi) -> String {
    Functions::encode(library.offered.iter().map(|name| name.as_bytes()), |name| {
        std::str::from_utf8(name).is_ok_and(|name| mpi.has(name))
    })
}

/// The search for the libraries that a part of a launch loads.
pub(in crate::cli) fn search_of(part: &Part) -> Search {
    Search::new(part.variable("LD_LIBRARY_PATH").as_deref())
}

/// The MPI library that a program is linked with, itself or through its libraries.
fn linked_mpi(program: &Image, search: &Search) -> Option<Mpi> {
    search.closure(program.clone()).images.iter().skip(1).find_map(Mpi::of_image)
}

/// The MPI library that a program will load by itself, and how this library is known. Python is asked for
/// mpi4py. Any other program is taken to use the library of the launcher.
pub(in crate::cli) fn loaded(
    launch: &LaunchLine,
    part: &Part,
    started: &Started,
    search: &Search,
) -> Option<(Mpi, String)> {
    if let Some(named) = std::env::var_os(MPI).filter(|v| !v.is_empty()) {
        return Some((Mpi::of_file(Path::new(&named))?, format!("{MPI} names it")));
    }
    if let Some(image) = started.binary() {
        let name = base_name(&image.path);
        let python = name.starts_with("python") || name.starts_with("pypy");
        if python && let Some(known) = loaded_mpi(&image.path, part, search) {
            return Some(known);
        }
    }
    match launch.launcher {
        Launcher::OpenMpi | Launcher::Hydra => {
            let path = launch.path.as_deref()?;
            let mpi = Mpi::of_launcher(path, launch.launcher, search)?;
            Some((mpi, format!("it belongs to {}", path.display())))
        }
        Launcher::Srun | Launcher::Sbatch | Launcher::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn only_what_is_known_is_said() {
        let library = Image {
            offered: ["MPI_Send", "mpi_send_", "MPI_Send_c"].map(String::from).to_vec(),
            ..Image::default()
        };
        let mpi = Mpi {
            path: "/l".into(),
            family: crate::options::Family::Mpich,
            offers: BTreeSet::from(["MPI_Send", "PMPI_Send", "MPI_Send_c"].map(String::from)),
        };
        let names = || library.offered.iter().map(|name| name.as_bytes());
        let read = Functions::decode(&of(&library, &mpi), names()).unwrap();
        assert!(read.has(0) && !read.has(1), "only the profiling name counts");

        let found = LocatedLauncher { launcher: Launcher::Other, position: 0 };
        let command = ["/bin/true".to_string()];
        assert_eq!(for_launch(&found, &command, Path::new("/bin/true")), None);
        assert_eq!(for_launch(&found, &command, Path::new("/no/library")), None);
    }
}
