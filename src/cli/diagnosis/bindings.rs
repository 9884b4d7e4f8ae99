//! Which of MPI's bindings a program uses. The names of the functions that it takes from libraries tell
//! this.
//!
//! `mpif.h` and `use mpi` call the same names and cannot be told apart. `use mpi_f08` has names of its own.
//! The C++ bindings, which MPI-3.0 removed, call the C functions.

use crate::cli::inspect::{Closure, Image, Mpi};
use crate::cli::launcher::base_name;
use crate::options::is_c_function;
use serde::Serialize;
use std::collections::BTreeSet;

/// Names of MPI functions that a program and its libraries use.
#[derive(Debug, Clone, Default, Serialize)]
pub(in crate::cli) struct Bindings {
    /// C.
    pub c: BTreeSet<String>,
    /// `mpif.h` or `use mpi`.
    pub fortran: BTreeSet<String>,
    /// `use mpi_f08`.
    pub fortran_2008: BTreeSet<String>,
    /// The C++ bindings of MPI-2.
    pub cxx: BTreeSet<String>,
    /// Libraries of the program that call MPI.
    pub libraries: Vec<String>,
}

impl Bindings {
    /// The bindings that a program and its libraries use, apart from the libraries of MPI itself.
    pub(in crate::cli) fn of(closure: &Closure) -> Bindings {
        let mut all = Bindings::default();
        for (index, image) in closure.images.iter().enumerate() {
            if index > 0 && belongs_to_mpi(image) {
                continue;
            }
            let calls = image.undefined.iter().filter(|symbol| all.add(&symbol.name)).count();
            if index > 0 && calls > 0 {
                all.libraries.push(base_name(&image.path));
            }
        }
        all
    }

    /// Adds a name; `false` if it is not the name of an MPI function.
    fn add(&mut self, name: &str) -> bool {
        // Names of Open MPI's common blocks begin like functions.
        let is_fortran =
            name.starts_with("mpi_") && name.ends_with('_') && !name.starts_with("mpi_fortran_");
        let set = if is_c_function(name.as_bytes()) {
            &mut self.c
        } else if name.starts_with("_ZN3MPI") {
            &mut self.cxx
        } else if is_fortran && (name.ends_with("_f08_") || name.ends_with("_f08ts_")) {
            &mut self.fortran_2008
        } else if is_fortran {
            &mut self.fortran
        } else {
            return false;
        };
        set.insert(name.to_string());
        true
    }

    /// The number of names of all bindings.
    pub(in crate::cli) fn count(&self) -> usize {
        self.c.len() + self.fortran.len() + self.fortran_2008.len() + self.cxx.len()
    }

    /// All names with an entry point of C or Fortran.
    pub(in crate::cli) fn names(&self) -> impl Iterator<Item = &String> {
        self.c.iter().chain(&self.fortran).chain(&self.fortran_2008)
    }
}

fn belongs_to_mpi(image: &Image) -> bool {
    let name = base_name(&image.path);
    let own = ["libmpi.", "libmpi_", "libmpich", "libmpicxx", "libmpifort", "libmpl.", "libopa."];
    own.iter().any(|start| name.starts_with(start)) || Mpi::of_image(image).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::inspect::Symbol;

    fn image(path: &str, undefined: &[&str]) -> Image {
        Image {
            path: path.into(),
            undefined: undefined
                .iter()
                .map(|name| Symbol { name: (*name).into(), weak: false })
                .collect(),
            ..Image::default()
        }
    }

    #[test]
    fn names_tell_the_binding() {
        let closure = Closure {
            images: vec![
                image("app", &["MPI_Send", "mpi_init_", "mpi_send_f08_", "mpi_fortran_bottom_"]),
                image("libpetsc.so", &["MPI_Bcast", "MPI_Send", "malloc"]),
                image("libmpi_mpifh.so.40", &["MPI_Abort"]),
                image("libm.so.6", &["MPIR_x", "mpi", "MPI_SEND"]),
            ],
            missing: vec![],
        };
        let found = Bindings::of(&closure);
        assert_eq!(found.c, BTreeSet::from(["MPI_Bcast".into(), "MPI_Send".into()]));
        assert_eq!(found.fortran, BTreeSet::from(["mpi_init_".into()]));
        assert_eq!(found.fortran_2008, BTreeSet::from(["mpi_send_f08_".into()]));
        assert_eq!(found.libraries, ["libpetsc.so"]);
        assert_eq!(found.count(), 4);
    }
}
