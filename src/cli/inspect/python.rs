//! Which MPI library a program loads by itself, while it runs.
//!
//! Interpreters such as Python and Julia are not linked with MPI. Julia's MPI and whatever else is
//! not known here are taken to use the launcher's; the package mpi4py is asked for, without
//! importing it: either it has one extension module that needs a certain library, or several and
//! then looks beside the interpreter.

use super::image::Image;
use super::launch_line::Part;
use super::mpi::Mpi;
use super::search::Search;
use crate::cli::launcher;
use std::path::{Path, PathBuf};

/// Prints the directory of mpi4py and the prefix of the interpreter. Finding a package of the top
/// level runs no code of it.
const QUESTION: &str = "\
import importlib.util, sys
spec = importlib.util.find_spec('mpi4py')
if spec and spec.submodule_search_locations:
    print(list(spec.submodule_search_locations)[0])
    print(sys.exec_prefix)";

/// The MPI library that the Python at `interpreter` will load through mpi4py, and how that is known.
pub fn loaded_mpi(interpreter: &Path, part: &Part, search: &Search) -> Option<(Mpi, String)> {
    let like = Image::read(interpreter).ok()?;
    let given = |name: &str| {
        let set = part.variables.iter().rev().find(|v| v.0 == name).and_then(|v| v.1.clone());
        set.or_else(|| std::env::var(name).ok()).filter(|v| !v.is_empty())
    };
    if let Some(library) = given("MPI4PY_LIBMPI") {
        let library = library.split(':').next().unwrap_or_default().to_string();
        let image = match library.contains('/') {
            true => Image::read(Path::new(&library)).ok(),
            false => search.open(&library, &like),
        };
        return Some((Mpi::of_image(&image?)?, "MPI4PY_LIBMPI names it".into()));
    }
    let answer = launcher::answer(interpreter, &["-c", QUESTION])?;
    let mut lines = answer.lines();
    let package = PathBuf::from(lines.next()?);
    let prefix = PathBuf::from(lines.next()?);
    let modules: Vec<Image> = std::fs::read_dir(&package)
        .ok()?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| {
            let name = launcher::base_name(path);
            name.starts_with("MPI.") && name.ends_with(".so")
        })
        .filter_map(|path| Image::read(&path).ok())
        .filter(|image| image.fits(&like))
        .collect();
    if let [module] = &modules[..] {
        let needed = search.closure(module.clone());
        let mpi = needed.images.iter().skip(1).find_map(Mpi::of_image)?;
        return Some((mpi, format!("mpi4py in {} is linked with it", package.display())));
    }
    // A wheel for several MPIs takes what it finds beside the interpreter, else what the system has.
    let names = ["libmpi.so", "libmpi.so.12", "libmpi.so.40"];
    let beside = names.iter().filter_map(|name| {
        Image::read(&prefix.join("lib").join(name)).ok().filter(|image| image.fits(&like))
    });
    let system = names.iter().filter_map(|name| search.open(name, &like));
    let mpi = beside.chain(system).find_map(|image| Mpi::of_image(&image))?;
    Some((mpi, format!("mpi4py in {} takes the first it finds", package.display())))
}
