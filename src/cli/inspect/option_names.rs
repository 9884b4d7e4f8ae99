//! The options of launchers: which of them have values in the words behind them.
//!
//! Sources: the manual pages of mpirun (Open MPI 4.1 and 5.0), the help of hydra (MPICH 4 and 5, Intel MPI), and the
//! manual pages of srun, sbatch and salloc (Slurm 22.05), with the options that Slurm 23 to 25 added.

use crate::cli::launcher::Launcher;

/// Options with one value, without their dashes.
const OPEN_MPI: &str = "n np c N npernode npersocket ppr host H hostfile machinefile default-hostfile \
    rankfile rf wd wdir path output-filename output map-by mapby bind-to bindto rank-by rankby prefix \
    app tmpdir stdin cpu-set cpu-list cpus-per-proc cpus-per-rank set-cwd-to-session-dir timeout \
    report-uri ompi-server tune am personality pset display with-ft dvm-uri runtime-options \
    report-pid report-events-uri add-host add-hostfile max-restarts preload-files preload-binary-as \
    slot-list num-procs do-not-resolve-as x show-progress-every xterm debugger";
const OPEN_MPI_TWO: &str = "mca gmca omca pmca prtemca pmixmca gomca gpmixmca gprtemca";
const HYDRA: &str = "n np f hosts host hostfile machinefile machine configfile wdir dir path arch ppn \
    perhost launcher bootstrap launcher-exec bootstrap-exec rmk bind-to binding map-by membind \
    genvlist envlist iface outfile-pattern errfile-pattern prepend-pattern usize order-nodes rankmap \
    gpus-per-proc nameserver localhost umask s tmpdir ckpoint-interval ckpoint-prefix \
    ckpoint-num ckpointlib demux topolib timeout gpath gwdir grr pmi-args \
    gpu-subdevs-per-proc exitcodes-file";

/// Options of Slurm with a value behind `=` or in the next word.
const SLURM: &str = "accel-bind account acctg-freq array autocomplete batch bb bbf bcast-exclude begin \
    burst-buffer chdir cluster cluster-constraint clusters comment constraint container container-id \
    container-image container-mount-home container-mounts container-name container-save \
    container-workdir core-spec cores-per-socket cpu-bind cpu_bind cpu-freq cpus-per-gpu cpus-per-task \
    deadline delay-boot dependency distribution epilog error exclude export export-file extra \
    extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres \
    gres-flags het-group hint input job-name jobid kill-on-invalid-dep licenses mail-type mail-user \
    max-exit-timeout mcs-label mem mem-bind mem_bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout \
    network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node \
    ntasks-per-socket ntasks-per-tres open-mode output pack-group partition power prefer priority \
    profile prolog qos relative reservation segment signal slurmd-debug sockets-per-node switches \
    task-epilog task-prolog tasks-per-node thread-spec threads threads-per-core time time-min tmp \
    tree-width treewidth tres-bind tres-freq tres-per-job tres-per-node tres-per-socket tres-per-task \
    uid umask wait-all-nodes wckey workdir wrap";
/// Options of Slurm without a value, or with one that can only be behind `=`.
const SLURM_BARE: &str = "bcast bell compress consolidate-segments contiguous debugger-test \
    disable-status exact exclusive external-launcher get-user-env help hold ignore-pbs immediate \
    interactive kill-command kill-on-bad-exit label multi-prog nice no-allocate no-bell no-kill \
    no-requeue no-shell oom-kill-step overcommit overlap oversubscribe parsable preserve-env \
    preserve-slurm-env propagate pty quiet quit-on-interrupt reboot requeue resv-ports send-libs share \
 spread-job spread-segments stepmgr test-only unbuffered usage use-min-nodes \
    verbose version whole x11";
/// Short options of Slurm with a value in the rest of the word or in the next word.
const SLURM_SHORT: &str = "ABCDFGJLMNPSTUabcdegimnopqrtwx";
/// Short options of Slurm whose value can only be in the rest of the word.
const SLURM_SHORT_REST: &str = "IKk";

/// True if `name` is a word of `list`.
pub fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// Where the value of a short option of Slurm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShortValue {
    /// It has none.
    None,
    /// In the rest of the word, if there is one.
    Rest,
    /// In the rest of the word, else in the next word.
    RestOrNext,
}

/// Where the value of this short option of srun or sbatch is.
pub(super) fn short(launcher: Launcher, letter: char) -> ShortValue {
    match letter {
        // srun waits for so many seconds, and sbatch for the end of the job.
        'W' if launcher == Launcher::Srun => ShortValue::RestOrNext,
        _ if SLURM_SHORT.contains(letter) => ShortValue::RestOrNext,
        _ if SLURM_SHORT_REST.contains(letter) => ShortValue::Rest,
        _ => ShortValue::None,
    }
}

/// How many words behind an option are its values, if the option does not hold its value itself; `None` for an
/// unknown option. `name` has no dashes. For Slurm it is a long option.
pub(super) fn values(launcher: Launcher, name: &str) -> Option<usize> {
    match launcher {
        Launcher::OpenMpi if listed(OPEN_MPI_TWO, name) => Some(2),
        Launcher::OpenMpi if listed(OPEN_MPI, name) => Some(1),
        Launcher::Hydra if matches!(name, "genv" | "env") => Some(2),
        Launcher::Hydra if listed(HYDRA, name) => Some(1),
        Launcher::Srun if name == "wait" => Some(1),
        Launcher::Sbatch if name == "wait" => Some(0),
        Launcher::Srun | Launcher::Sbatch if listed(SLURM, name) => Some(1),
        Launcher::Srun | Launcher::Sbatch if listed(SLURM_BARE, name) => Some(0),
        _ => None,
    }
}

/// The whole name of a long option. Slurm accepts the beginning of a name if only one option begins so.
pub(super) fn whole(launcher: Launcher, name: &str) -> &str {
    if !matches!(launcher, Launcher::Srun | Launcher::Sbatch) || values(launcher, name).is_some() {
        return name;
    }
    let all = SLURM.split_whitespace().chain(SLURM_BARE.split_whitespace()).chain(["wait"]);
    let mut begun = all.filter(|known| !name.is_empty() && known.starts_with(name));
    match (begun.next(), begun.next()) {
        (Some(only), None) => only,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_accepts_the_beginning_of_a_name() {
        for (begun, name) in
            [("exp", "exp"), ("distrib", "distribution"), ("wait", "wait"), ("", ""), ("zz", "zz")]
        {
            assert_eq!(whole(Launcher::Srun, begun), name);
        }
        assert_eq!(whole(Launcher::OpenMpi, "distrib"), "distrib");
    }

    #[test]
    fn options_of_slurm_are_in_one_list() {
        for name in SLURM.split_whitespace() {
            assert!(!listed(SLURM_BARE, name), "{name}");
        }
        for letter in SLURM_SHORT_REST.chars() {
            assert!(!SLURM_SHORT.contains(letter), "{letter}");
        }
    }
}
