//! A program that is started without a launcher. It runs as one process, and there is no traffic to record.
//!
//! Limit: a launcher whose options are not known here may start the program several times. The names of such launchers
//! are in a list. A process that is a rank itself may start the program with the means of its own launch.

use super::facts::Diagnosed;
use crate::cli::inspect::{Program, listed};
use crate::cli::launcher::{Launcher, base_name};

/// Launchers whose options are not known here. They pass the environment on, so their launches are recorded.
const OTHER_LAUNCHERS: &str = "flux jsrun aprun lrun ccc_mprun ibrun poe mpprun yhrun pjsub mpirun_rsh pbsdsh \
    charmrun dplace qsub bsub msub jrun addqueue torchrun accelerate deepspeed make cmake ctest nextflow snakemake";

/// Variables that the processes of a launch have: each of them may call `rankweave run`.
const OF_A_RANK: [&str; 5] =
    ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID", "SLURM_PROCID"];

/// Whether the first word of a command may be the program itself: no launcher is recognised, and this process is no
/// rank of a launch.
pub(super) fn may_be(launcher: Launcher, variable: impl Fn(&str) -> Option<String>) -> bool {
    launcher == Launcher::Other && OF_A_RANK.iter().all(|name| variable(name).is_none())
}

/// The first word of a command that is an executable file and no launcher whose name is known here.
pub(super) fn first_word(program: &Diagnosed) -> Option<&str> {
    let Program::Binary(image) = &program.started.program else { return None };
    let is_launcher = listed(OTHER_LAUNCHERS, &base_name(&image.path));
    program.started.words.first().filter(|_| !is_launcher).map(String::as_str)
}

/// What happens, in words, if the program uses MPI.
pub(super) fn what(word: &str) -> String {
    format!("'{word}' is started without a launcher, as one process: there is no traffic to record")
}

/// The launch that a user may have meant.
pub(super) fn meant(program: &Diagnosed) -> String {
    format!("mpirun -n RANKS {}", program.part.words.join(" "))
}
