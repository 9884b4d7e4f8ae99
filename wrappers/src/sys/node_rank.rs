//! The number of this process among those of its launch on the same node, as the launcher says it.
//!
//! With it, one process of each node can do something for its node without a message. Limit: some launchers say
//! nothing. Then nobody knows which process is the first one, except that the process with rank 0 is one on its node.

use super::environment;

/// The variables of Open MPI, MPICH and Intel MPI, MVAPICH, PALS, Flux, jsrun and Slurm. Slurm's is the last one: under
/// a launcher that a batch script starts, all processes have the value of the script.
const NAMES: [&str; 7] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "JSM_NAMESPACE_LOCAL_RANK",
    "SLURM_LOCALID",
];

/// The number of this process on its node, from 0. `None` if the launcher does not say it.
pub fn node_rank() -> Option<u32> {
    of(environment::text)
}

fn of(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    NAMES.iter().find_map(|name| variable(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_counts_more_than_the_batch_script() {
        let with = |set: &[(&str, &str)]| {
            of(|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("SLURM_LOCALID", "0"), ("MPI_LOCALRANKID", "3")]), Some(3));
        assert_eq!(with(&[("SLURM_LOCALID", "2"), ("PALS_LOCAL_RANKID", "")]), Some(2));
    }
}
