//! A pause before the library's first message, where it could reach a process that cannot receive yet.
//!
//! Open MPI ends MPI_Init with a fence of PMIx, so that no process sends before all can receive. With the plugin of
//! Slurm for PMIx, processes come through this fence while others still wait at an earlier one, before they have
//! registered what handles messages. A message that arrives then ends the receiver with a segmentation fault in MPI_Init
//! (seen with Slurm 22.05, PMIx 4.2 and Open MPI 4.1.4; issue 12495 of Open MPI reports it for Slurm 23.11 and Open MPI 5).
//! Programs that communicate at once have this risk without the library, too. The library's first message would bring
//! it to all other programs. So the library waits until the last process has most likely left MPI_Init
//! ([decision 102](../../../docs/decisions/0102-pause-before-the-first-message.md)).
//!
//! Limit: a process that is late by more than the pause can still be met by a message.

use crate::mpi::library::{self, Family};
use crate::sys::environment;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The shortest and the longest pause.
const PAUSES: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(300)];

/// The pause is this part of the time that MPI_Init took: on a busy machine, both this call and late processes take longer.
const PART: u32 = 10;

/// When MPI_Init began.
static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Begins the names that Slurm's plugin gives to the process groups of PMIx.
const NAMES_OF_SLURM: &str = "slurm.pmix.";

/// To be called before MPI_Init.
pub fn init_begins() {
    BEGAN.get_or_init(Instant::now);
}

/// To be called after MPI_Init, before the first message.
pub fn wait() {
    let text = |name: &str| environment::text(name);
    let family = library::get().map_or(Family::Unknown, |library| library.family);
    if could_be_early(
        family,
        text("PMIX_NAMESPACE").as_deref(),
        text("SLURM_STEP_NUM_NODES").as_deref(),
    ) {
        std::thread::sleep(pause(BEGAN.get().map(Instant::elapsed).unwrap_or_default()));
    }
}

/// How long to wait after an MPI_Init that took `init`.
fn pause(init: Duration) -> Duration {
    (init / PART).clamp(PAUSES[0], PAUSES[1])
}

/// Whether a message right after MPI_Init could reach a process that is still in it; `namespace` is the process's group
/// in PMIx, `nodes` the number of nodes of the job step. On one node, all processes share one server of PMIx.
fn could_be_early(family: Family, namespace: Option<&str>, nodes: Option<&str>) -> bool {
    family == Family::OpenMpi
        && namespace.is_some_and(|name| name.starts_with(NAMES_OF_SLURM))
        && nodes.is_none_or(|nodes| nodes.trim() != "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_a_tenth_of_mpi_init_within_limits() {
        let ms = Duration::from_millis;
        assert_eq!([50, 800, 60_000].map(|init| pause(ms(init))), [ms(30), ms(80), ms(300)]);
    }

    #[test]
    fn only_open_mpi_on_several_nodes_of_slurm_waits() {
        let slurm = Some("slurm.pmix.7.0");
        assert!(could_be_early(Family::OpenMpi, slurm, Some("4")));
        assert!(could_be_early(Family::OpenMpi, slurm, None));
        assert!(!could_be_early(Family::OpenMpi, slurm, Some("1")));
        assert!(!could_be_early(Family::OpenMpi, Some("prterun-host-7@1"), Some("4")));
        assert!(!could_be_early(Family::OpenMpi, None, Some("4")));
        assert!(!could_be_early(Family::Mpich, slurm, Some("4")));
    }
}
