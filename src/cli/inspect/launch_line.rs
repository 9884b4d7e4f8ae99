//! Takes the command line of a launcher apart: which programs it starts, how many ranks each program has,
//! and which variables the programs get.
//!
//! Files that name programs (`--app`, `-configfile`, `--multi-prog`) are not read.

use super::option_words::{OptionWords, parts};
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

/// The option with which srun reads the programs from a file: the word behind the options.
const MULTI_PROG: &str = "--multi-prog";

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
        for words in parts(found, command) {
            let mut part = Part::default();
            words.options.iter().for_each(|option| launch.option(&mut part, option));
            part.words = command[words.program.clone()].to_vec();
            launch.starts.extend((!words.program.is_empty()).then_some(words.program.start));
            launch.parts.push(part);
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

    /// Stores the value of an option that matters here.
    fn option(&mut self, part: &mut Part, option: &OptionWords) {
        let value = option.value.as_deref();
        let count = value.and_then(|v| v.parse().ok());
        let (name, first) = match option.name.split_once(' ') {
            Some((name, first)) => (name, Some(first)),
            None => (option.name.as_str(), None),
        };
        match (self.launcher, name) {
            (Launcher::OpenMpi, "n" | "np" | "c") | (Launcher::Hydra, "n" | "np") => {
                part.ranks = count;
            }
            (Launcher::Srun | Launcher::Sbatch, "n" | "ntasks") => part.ranks = count,
            (Launcher::OpenMpi, "x") => part.variables.extend(value.map(variable)),
            (Launcher::Hydra, "genv" | "env") => {
                let set = if name == "genv" { &mut self.shared } else { &mut part.variables };
                set.extend(match first {
                    Some(name) => Some((name.to_string(), value.map(str::to_string))),
                    None => value.map(variable),
                });
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
    }
}

/// A variable of an option: NAME=VALUE, or NAME for the value in the launcher's own environment.
fn variable(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name.to_string(), Some(value.to_string())),
        None => (text.to_string(), None),
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
        for bare in ["-pmi-port", "-skip-launch-node"] {
            assert_eq!(programs(h, &format!("mpiexec {bare} -n 2 ./a")), ["./a"], "{bare}");
        }
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
