//! Takes the command line of a launcher apart: which programs it starts, how many ranks each program has,
//! and which variables the programs get.
//!
//! Launchers have hundreds of options and no common grammar. The options that take a value are listed here.
//! A word behind an unknown option is the program if it is the name of a program. Files that name programs
//! (`--app`, `-configfile`, `--multi-prog`) are not read.

use crate::cli::launcher::{Launcher, LocatedLauncher, in_path};
use std::path::PathBuf;

/// One program of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The program and its arguments; empty if none was found.
    pub words: Vec<String>,
    /// Number of ranks, if the command line says it.
    pub ranks: Option<usize>,
    /// Variables that the launcher sets for the program. The value is `None` if it is that of the launcher's own
    /// environment.
    pub variables: Vec<(String, Option<String>)>,
    /// Directory it starts in.
    pub directory: Option<PathBuf>,
}

impl Part {
    /// The value of a variable in the processes of this program: set by the launcher, or else passed on from
    /// the environment of this process.
    pub fn variable(&self, name: &str) -> Option<String> {
        let set = self.variables.iter().rev().find(|v| v.0 == name).and_then(|v| v.1.clone());
        set.or_else(|| std::env::var(name).ok())
    }
}

/// A launch.
#[derive(Debug, Clone, Default)]
pub struct LaunchLine {
    /// The launcher, if one was recognised.
    pub launcher: Launcher,
    /// Its file.
    pub path: Option<PathBuf>,
    /// The programs that it starts.
    pub parts: Vec<Part>,
    /// The command line names several hosts, or a file of hosts.
    pub hosts: bool,
    /// The container that an option of the launcher asks for.
    pub container: Option<String>,
    /// The file that names the programs, or the script of a batch job.
    pub file: Option<String>,
    /// Index in the command of each word at which a program begins.
    pub starts: Vec<usize>,
    /// Variables that the launcher sets for all programs.
    shared: Vec<(String, Option<String>)>,
}

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
    gpus-per-proc nameserver localhost umask pmi-port s tmpdir ckpoint-interval ckpoint-prefix \
    ckpoint-num ckpointlib demux topolib timeout gpath gwdir grr pmi-args skip-launch-node \
    gpu-subdevs-per-proc exitcodes-file";
const SRUN_SHORT: &str = "A B C D G J L M N S T U W a b c d e g i m n o p q r t w x";
const SRUN: &str = "account acctg-freq bb bbf begin bell chdir cluster-constraint clusters comment \
    compress constraint container core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu \
    cpus-per-task dependency distribution epilog error exclude export extra-node-info gid \
    gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres hint input job-name jobid \
    kill-on-bad-exit licenses max-exit-timeout mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus \
    mpi msg-timeout network nice nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu \
    ntasks-per-node ntasks-per-socket open-mode output partition power priority profile prolog \
    propagate qos relative reservation signal slurmd-debug sockets-per-node switches task-epilog \
    task-prolog thread-spec threads threads-per-core time time-min tmp tres-per-task uid wait wckey \
    container-image container-mounts container-name container-workdir container-save \
    array batch export-file het-group pack-group wrap gres-flags prefer";

/// The option with which srun reads the programs from a file: the word behind the options.
const MULTI_PROG: &str = "--multi-prog";

/// True if `name` is a word of `list`.
pub fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// How many words behind an option are its values; `None` for an unknown option.
pub(super) fn values(launcher: Launcher, option: &str) -> Option<usize> {
    let name = option.trim_start_matches('-');
    let double = option.starts_with("--");
    if name.contains('=') && launcher != Launcher::Hydra {
        return Some(0);
    }
    match launcher {
        Launcher::OpenMpi if listed(OPEN_MPI_TWO, name) => Some(2),
        Launcher::OpenMpi if listed(OPEN_MPI, name) => Some(1),
        Launcher::Hydra if matches!(name, "genv" | "env") => Some(2),
        Launcher::Hydra if listed(HYDRA, name) => Some(1),
        Launcher::Srun | Launcher::Sbatch if double => Some(usize::from(listed(SRUN, name))),
        // An option such as -n4 holds its value.
        Launcher::Srun | Launcher::Sbatch => {
            Some(usize::from(name.len() == 1 && listed(SRUN_SHORT, name)))
        }
        _ => None,
    }
}

impl LaunchLine {
    /// Takes `command` apart. `found` is its launcher.
    pub fn of(found: &LocatedLauncher, command: &[String]) -> LaunchLine {
        let path = command.get(found.position).and_then(|word| in_path(word));
        let mut launch = LaunchLine {
            launcher: found.launcher,
            path: path.filter(|_| found.launcher != Launcher::Other),
            ..LaunchLine::default()
        };
        if found.launcher == Launcher::Other {
            launch.starts.push(found.position);
            let words = command[found.position..].to_vec();
            launch.parts.push(Part { words, ..Part::default() });
            return launch;
        }
        let mut at = found.position + 1;
        while at < command.len() {
            let colon = command[at..].iter().position(|word| word == ":");
            let end = colon.map_or(command.len(), |k| at + k);
            let (part, start) = launch.part(&command[..end], at);
            launch.starts.extend(start);
            launch.parts.push(part);
            at = end + 1;
        }
        launch.without_files();
        for part in &mut launch.parts {
            part.variables.splice(0..0, launch.shared.iter().cloned());
        }
        launch
    }

    /// A word that names a file of programs or a batch script is not a program of the launch.
    fn without_files(&mut self) {
        let in_file = self.launcher == Launcher::Sbatch || self.file.as_deref() == Some(MULTI_PROG);
        if !in_file {
            return;
        }
        let words = self.parts.iter_mut().map(|part| std::mem::take(&mut part.words));
        self.file = words.filter_map(|words| words.into_iter().next()).last();
        self.starts.clear();
    }

    /// One program of `command` whose options begin at `at`, and where the program begins.
    fn part(&mut self, command: &[String], mut at: usize) -> (Part, Option<usize>) {
        let mut part = Part::default();
        while let Some(word) = command.get(at) {
            if word == "--" {
                at += 1;
                break;
            }
            if !word.starts_with('-') {
                break;
            }
            let count = values(self.launcher, word);
            let value = command.get(at + 1).map(String::as_str);
            let (name, inline) = match word.trim_start_matches('-').split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.trim_start_matches('-'), None),
            };
            let second = command.get(at + 2).map(String::as_str);
            let took = self.option(&mut part, name, inline.or(value), second);
            at += 1 + match (took, count) {
                (Some(_), _) if inline.is_some() => 0,
                (Some(took), _) => took,
                (None, Some(count)) => count,
                // An unknown option: a word that is a program is the program.
                (None, None) => match value {
                    Some(v) if !v.starts_with('-') && v != ":" && in_path(v).is_none() => {
                        usize::from(command.get(at + 2).is_some())
                    }
                    _ => 0,
                },
            };
        }
        let start = (at < command.len()).then_some(at);
        part.words = command.get(at..).unwrap_or_default().to_vec();
        (part, start)
    }

    /// Stores the value of an option that matters here. Returns the number of words that are its values, if
    /// it differs from that of the table.
    fn option(
        &mut self,
        part: &mut Part,
        name: &str,
        value: Option<&str>,
        second: Option<&str>,
    ) -> Option<usize> {
        let count = value.and_then(|v| v.parse().ok());
        let variable = |text: &str| match text.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (text.to_string(), None),
        };
        match (self.launcher, name) {
            (Launcher::OpenMpi, "n" | "np" | "c") | (Launcher::Hydra, "n" | "np") => {
                part.ranks = count;
            }
            (Launcher::Srun | Launcher::Sbatch, "n" | "ntasks") => part.ranks = count,
            (Launcher::Srun | Launcher::Sbatch, short)
                if short.len() > 1 && short.starts_with('n') =>
            {
                part.ranks = short[1..].parse().ok().or(part.ranks);
            }
            (Launcher::OpenMpi, "x") => part.variables.push(variable(value?)),
            (Launcher::Hydra, "genv" | "env") => {
                let is_shared = name == "genv";
                let value = value?;
                // NAME=VALUE is one word, NAME VALUE two.
                let ((variable_name, value), words) = match value.contains('=') {
                    true => (variable(value), 1),
                    false => ((value.to_string(), second.map(str::to_string)), 2),
                };
                let set = if is_shared { &mut self.shared } else { &mut part.variables };
                set.push((variable_name, value));
                return Some(words);
            }
            (_, "wd" | "wdir" | "dir" | "gwdir")
            | (Launcher::Srun | Launcher::Sbatch, "D" | "chdir") => {
                part.directory = value.map(PathBuf::from);
            }
            (
                _,
                "H" | "host" | "hosts" | "hostfile" | "machinefile" | "machine" | "f" | "rankfile"
                | "rf" | "w" | "nodelist",
            ) => self.hosts = true,
            (Launcher::Srun | Launcher::Sbatch, "N" | "nodes") if value != Some("1") => {
                self.hosts = true
            }
            (Launcher::Srun, "container" | "container-image") => {
                self.container = value.map(str::to_string);
            }
            (_, "app" | "configfile") => self.file = value.map(str::to_string),
            (Launcher::Srun, "multi-prog") => self.file = Some(MULTI_PROG.into()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(launcher: Launcher, line: &str) -> LaunchLine {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        LaunchLine::of(&LocatedLauncher { launcher, position: 0 }, &command)
    }

    fn programs(launcher: Launcher, line: &str) -> Vec<String> {
        of(launcher, line).parts.iter().map(|p| p.words.join(" ")).collect()
    }

    #[test]
    fn open_mpi() {
        let o = Launcher::OpenMpi;
        assert_eq!(
            programs(o, "mpirun -np 4 --mca pml ob1 --bind-to none -x A=1 ./a -n 3"),
            ["./a -n 3"]
        );
        let launch =
            of(o, "mpirun --oversubscribe -n 2 -x LD_PRELOAD=/t.so -H a,b ./a : -n 3 ./b x");
        assert_eq!(launch.parts.len(), 2);
        assert_eq!((launch.parts[0].ranks, launch.parts[1].ranks), (Some(2), Some(3)));
        assert_eq!(launch.parts[0].variables, [("LD_PRELOAD".into(), Some("/t.so".into()))]);
        assert_eq!(launch.parts[1].words, ["./b", "x"]);
        assert_eq!(launch.starts, [8, 12]);
        assert!(launch.hosts);
        assert_eq!(programs(o, "mpirun --map-by=core -- ./a"), ["./a"]);
        assert_eq!(programs(o, "mpirun --unheard-of value ./a"), ["./a"]);
        assert_eq!(programs(o, "mpirun --unheard-of true x"), ["true x"]);
        assert_eq!(of(o, "mpirun --app file").file.as_deref(), Some("file"));
        assert_eq!(programs(o, "mpirun -n 4"), [""]);
    }

    #[test]
    fn hydra() {
        let h = Launcher::Hydra;
        let launch = of(h, "mpiexec -genv A 1 -n 2 -env B=2 ./a : -n 1 -ppn 3 ./b");
        assert_eq!(launch.parts[0].words, ["./a"]);
        assert_eq!(launch.parts[1].words, ["./b"]);
        let pair = |n: &str, v: &str| (n.to_string(), Some(v.to_string()));
        assert_eq!(launch.parts[0].variables, [pair("A", "1"), pair("B", "2")]);
        assert_eq!(launch.parts[1].variables, [pair("A", "1")]);
        assert_eq!(launch.parts[1].ranks, Some(1));
        assert!(!launch.hosts);
        assert_eq!(programs(h, "mpiexec -prepend-rank -bind-to core:2 -f hosts ./a 1"), ["./a 1"]);
    }

    #[test]
    fn srun() {
        let s = Launcher::Srun;
        let launch = of(s, "srun -n4 -N 2 --mpi=pmix --cpu-bind cores -l ./a -n 9");
        assert_eq!(launch.parts[0].words, ["./a", "-n", "9"]);
        assert_eq!(launch.parts[0].ranks, Some(4));
        assert!(launch.hosts);
        let launch = of(s, "srun --ntasks=8 --container-image=img ./a");
        assert_eq!((launch.parts[0].ranks, launch.container.as_deref()), (Some(8), Some("img")));
        let launch = of(s, "srun -n 4 --multi-prog file");
        assert_eq!((launch.file.as_deref(), launch.parts[0].words.len()), (Some("file"), 0));
        assert_eq!(programs(s, "srun -n 2 ./a x : -n 1 ./b"), ["./a x", "./b"]);
        let launch = of(Launcher::Sbatch, "sbatch -a 1-4 -n 4 job.sh x");
        assert_eq!(launch.file.as_deref(), Some("job.sh"));
        assert_eq!((launch.parts[0].words.len(), launch.parts[0].ranks), (0, Some(4)));
    }

    #[test]
    fn without_a_launcher_the_command_is_the_program() {
        assert_eq!(programs(Launcher::Other, "./a -n 4"), ["./a -n 4"]);
    }
}
