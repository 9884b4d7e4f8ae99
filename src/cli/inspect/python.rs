//! The MPI library that Python loads while it runs.
//!
//! Python is not linked with MPI. The package mpi4py is found without importing it. If it has one extension
//! module, this module is linked with an MPI library. If it has several modules, mpi4py looks for an MPI
//! library beside the interpreter, and then where the system keeps libraries.

use super::image::Image;
use super::launch_line::Part;
use super::mpi::Mpi;
use super::search::Search;
use crate::cli::launcher;
use std::path::{Path, PathBuf};

/// A program that prints the directory of mpi4py and the prefix of the interpreter. To find a package of the
/// top level runs no code of the package.
const QUESTION: &str = "\
import importlib.util, sys
spec = importlib.util.find_spec('mpi4py')
if spec and spec.submodule_search_locations:
    print(list(spec.submodule_search_locations)[0])
    print(sys.exec_prefix)";

/// The MPI library that the Python at `interpreter` will load through mpi4py, and how this library is known.
pub fn loaded_mpi(interpreter: &Path, part: &Part, search: &Search) -> Option<(Mpi, String)> {
    let like = Image::read(interpreter).ok()?;
    if let Some(library) = part.variable("MPI4PY_LIBMPI").filter(|v| !v.is_empty()) {
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
    let is_module = |path: &PathBuf| {
        let name = launcher::base_name(path);
        name.starts_with("MPI.") && name.ends_with(".so")
    };
    let fitting = |path: PathBuf| Image::read(&path).ok().filter(|image| image.fits(&like));
    let files = std::fs::read_dir(&package).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let modules: Vec<Image> = files.filter(is_module).filter_map(fitting).collect();
    if let [module] = &modules[..] {
        let needed = search.closure(module.clone());
        let mpi = needed.images.iter().skip(1).find_map(Mpi::of_image)?;
        return Some((mpi, format!("mpi4py in {} is linked with it", package.display())));
    }
    // A wheel for several MPI libraries takes a library beside the interpreter, or else one of the system.
    let names = ["libmpi.so", "libmpi.so.12", "libmpi.so.40"];
    let beside = names.iter().filter_map(|name| fitting(prefix.join("lib").join(name)));
    let system = names.iter().filter_map(|name| search.open(name, &like));
    let mpi = beside.chain(system).find_map(|image| Mpi::of_image(&image))?;
    Some((mpi, format!("mpi4py in {} takes the first it finds", package.display())))
}
