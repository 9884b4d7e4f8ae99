//! For programs that load their MPI library by themselves: which functions that library has.
//!
//! Nothing here is allowed to fail or to take long: a launch whose MPI cannot be found out goes on
//! without, and newer functions are then hidden from the program by the library.

use crate::cli::inspect::{Image, LaunchLine, Mpi, Part, Program, Search, loaded_mpi, start};
use crate::cli::launcher::{Launcher, LocatedLauncher, base_name};
use crate::options::Functions;
use std::path::Path;

/// Names the MPI library of programs that load it by themselves, where it is not that of the launcher.
pub(in crate::cli) const MPI: &str = "RANKWEAVE_MPI";

/// The value of the variable for a launch, or `None` if no program of it loads its MPI library by
/// itself, or that library is not known.
pub(in crate::cli) fn for_launch(
    found: &LocatedLauncher,
    command: &[String],
    library: &Path,
) -> Option<String> {
    let launch = LaunchLine::of(found, command);
    let library = Image::read(library).ok()?;
    launch.parts.iter().find_map(|part| {
        let search = search_of(part);
        let started = start(part);
        let linked = match &started.program {
            Program::Binary(image) => linked_mpi(image, &search).is_some(),
            _ => false,
        };
        if linked {
            return None;
        }
        let (mpi, _) = loaded(&launch, part, &started.program, &search)?;
        Some(of(&library, &mpi))
    })
}

/// The variable for this preloaded library and this MPI library.
fn of(library: &Image, mpi: &Mpi) -> String {
    Functions::encode(library.offered.iter().map(|name| name.as_bytes()), |name| {
        std::str::from_utf8(name).is_ok_and(|name| mpi.has(name))
    })
}

/// How libraries of a part of a launch are found.
pub(in crate::cli) fn search_of(part: &Part) -> Search {
    let set = part.variables.iter().rev().find(|v| v.0 == "LD_LIBRARY_PATH");
    let given = set.and_then(|v| v.1.clone()).or_else(|| std::env::var("LD_LIBRARY_PATH").ok());
    Search::new(given.as_deref())
}

/// The MPI library that a program is linked with, itself or through its libraries.
fn linked_mpi(program: &Image, search: &Search) -> Option<Mpi> {
    search.closure(program.clone()).images.iter().skip(1).find_map(Mpi::of_image)
}

/// The MPI library that a program will load by itself, and how that is known.
pub(in crate::cli) fn loaded(
    launch: &LaunchLine,
    part: &Part,
    program: &Program,
    search: &Search,
) -> Option<(Mpi, String)> {
    if let Some(named) = std::env::var_os(MPI).filter(|v| !v.is_empty()) {
        return Some((Mpi::of_file(Path::new(&named))?, format!("{MPI} names it")));
    }
    if let Program::Binary(image) = program {
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
        Launcher::Srun | Launcher::Other => None,
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
