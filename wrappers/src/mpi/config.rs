//! Configuration of this process: the environment, read once at the first MPI call.

use crate::mpi::library::Family;
use crate::sys::environment;
use rw::Error;
use rw::launch::Program;
use rw::matrix::collectives::Model;
use rw::options::{Collectives, Mode, Settings};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

static SETTINGS: OnceLock<(Settings, Vec<Error>)> = OnceLock::new();
static CHAIN: OnceLock<Option<bool>> = OnceLock::new();
static MODEL: AtomicU8 = AtomicU8::new(0);

/// The settings in the environment, and an error for each that could not be understood. A process that has
/// more rights than its user has the mode `off`, whatever the environment says. So has a program that is left alone.
pub fn settings() -> &'static (Settings, Vec<Error>) {
    SETTINGS.get_or_init(|| {
        if !environment::is_trusted() {
            return (Settings { mode: Mode::Off, ..Settings::default() }, Vec::new());
        }
        let (settings, errors) = Settings::from_process_env();
        let mode = if Program::is_left_alone(&settings) { Mode::Off } else { settings.mode };
        (Settings { mode, ..settings }, errors)
    })
}

/// Whether calls go on to the next `MPI_X` (true) or to the library's `PMPI_X` (false); not set, to
/// the next `MPI_X` where another tool defines it.
pub fn chain() -> Option<bool> {
    *CHAIN.get_or_init(|| match environment::text("RANKWEAVE_CHAIN").as_deref() {
        Some("1") => Some(true),
        Some("0") => Some(false),
        _ => None,
    })
}

/// Fixes the model of collectives for this job.
pub fn set_model(family: Family, collectives: Collectives) {
    let model = match (collectives, family) {
        (Collectives::Logical, _) => Model::Logical,
        (Collectives::Model, Family::OpenMpi) => Model::OpenMpi,
        (Collectives::Model, _) => Model::Mpich,
    };
    let index = Model::ALL.iter().position(|&m| m == model).unwrap_or(0);
    MODEL.store(index as u8, Ordering::Relaxed);
}

/// The model that expands collectives.
pub fn model() -> Model {
    let index = usize::from(MODEL.load(Ordering::Relaxed));
    Model::ALL.get(index).copied().unwrap_or(Model::Logical)
}
