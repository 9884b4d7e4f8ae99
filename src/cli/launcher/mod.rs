//! Which launcher a command line uses.
//!
//! Most launchers are known by their names. Several launchers have the names `mpirun` and `mpiexec`. On many
//! systems these are links to a launcher with a name of its own. Otherwise the launcher is asked for its
//! version.

mod executable;
mod question;

pub(in crate::cli) use executable::{base_name, in_path};
pub(in crate::cli) use question::answer;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::base::nearest::nearest;
use crate::base::raw_words::decoded;
use crate::cli::console::shell::quoted;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Families of launchers, by how they pass variables on to the processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI and PRRTE: `-x NAME=VALUE`.
    OpenMpi,
    /// MPICH and Intel MPI: `-genv NAME VALUE`.
    Hydra,
    /// Slurm: `--export=ALL,NAME=VALUE`.
    Srun,
    /// Slurm's batch jobs, as [`Launcher::Srun`]. The script and all that it starts get the variables.
    Sbatch,
    /// Anything else, also a program without a launcher: through the environment.
    #[default]
    Other,
}

/// Programs that start another program and pass the environment on to it.
pub(in crate::cli) const HANDING_ON: &str = "env nice time timeout nohup stdbuf numactl taskset ionice setsid chrt \
    salloc gdb valgrind strace ltrace perf nsys ncu xterm hwloc-bind likwid-pin likwid-perfctr tau_exec catchsegv \
    unshare prlimit cgexec heaptrack hpcrun vtune amplxe-cl advisor aps map ddt perf-report rocprof exec command ibrun";

/// The names of launchers that a misspelt name is compared with.
const NAMES: [&str; 11] = [
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "mpiexec.hydra",
    "mpirun.openmpi",
    "mpirun.mpich",
    "mpiexec.openmpi",
    "mpiexec.mpich",
    "srun",
    "salloc",
];

/// How many arguments of such a program are searched for a launcher.
const LOOKED_THROUGH: usize = 24;

impl Launcher {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "Open MPI",
            Launcher::Hydra => "MPICH or Intel MPI (hydra)",
            Launcher::Srun => "Slurm srun",
            Launcher::Sbatch => "Slurm sbatch",
            Launcher::Other => "unknown; variables go through its environment",
        }
    }

    /// The launcher of a command line: its first word, or a later word behind a program such as `env`.
    ///
    /// Errors: the command is empty, or its first word is not a program that can be found.
    pub fn of_command(command: &[String]) -> Result<LocatedLauncher> {
        let Some(first) = command.first() else {
            return Err(Error::new(ErrorKind::Usage, "there is nothing to run"));
        };
        let Some(path) = in_path(first) else {
            return Err(not_found(first));
        };
        let name = base_name(&path);
        let found = LocatedLauncher { launcher: Launcher::of_program(&path), position: 0 };
        let hands_on = HANDING_ON.split_whitespace().any(|known| known == name);
        if found.launcher != Launcher::Other || !hands_on {
            return Ok(found);
        }
        for (position, word) in command.iter().enumerate().skip(1).take(LOOKED_THROUGH) {
            if by_name(&base_name(Path::new(word))) != NameHint::Foreign
                && let Some(path) = in_path(word)
            {
                let launcher = Launcher::of_program(&path);
                if launcher != Launcher::Other {
                    return Ok(LocatedLauncher { launcher, position });
                }
            }
        }
        Ok(found)
    }

    /// The launcher that a program is.
    pub fn of_program(path: &Path) -> Launcher {
        let mut link = path.to_path_buf();
        let mut ambiguous = false;
        // Each name in the chain of links may identify the launcher: /usr/bin/mpirun → mpirun.openmpi → orterun.
        for _ in 0..16 {
            match by_name(&base_name(&link)) {
                NameHint::Known(launcher) => return launcher,
                NameHint::Ambiguous => ambiguous = true,
                NameHint::Foreign => {}
            }
            match std::fs::read_link(&link) {
                Ok(next) => link = link.parent().unwrap_or(Path::new("/")).join(next),
                Err(_) => break,
            }
        }
        match ambiguous.then(|| answer(path, &["--version"])).flatten() {
            Some(text) => by_version(&text),
            None => Launcher::Other,
        }
    }
}

/// The error that a word is no program, with what it is.
fn not_found(word: &str) -> Error {
    let error = |what: String| Error::new(ErrorKind::Usage, what);
    let first = word.split_whitespace().next().unwrap_or_default();
    if first != word && in_path(first).is_some() {
        return error(format!("the launch is one word with blanks: '{word}'"))
            .advise(format!("leave the quotes out: rankweave run -- {word}"));
    }
    if word.contains('/') {
        let path = PathBuf::from(decoded(word));
        let advice = "check the path, or give the name of a launcher that is in PATH".to_string();
        let (what, advice) = match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => (
                format!("'{word}' is a directory, not a program"),
                "give the launcher first: rankweave run -- mpirun -n RANKS ./app".into(),
            ),
            Ok(_) if is_program(&path) => {
                (format!("'{word}' may not be executed"), format!("chmod +x {}", quoted(word)))
            }
            Ok(_) => (format!("'{word}' is no program"), advice),
            Err(found) if found.kind() == std::io::ErrorKind::NotFound => {
                (format!("there is no program '{word}'"), advice)
            }
            Err(found) => (format!("'{word}' cannot be looked at: {found}"), advice),
        };
        return error(what).advise(advice);
    }
    let here = NAMES.into_iter().filter(|name| in_path(name).is_some());
    error(format!("there is no program '{word}'")).at("PATH").advise(match nearest(word, here) {
        Some(name) => format!("write '{name}', which is there"),
        None => "load the module of the MPI first, or give the full path of the launcher".into(),
    })
}

/// Whether a file begins as an executable or as a script does.
fn is_program(path: &Path) -> bool {
    let Ok((file, _)) = file::open(path) else { return false };
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).is_ok()
        && (start.starts_with(b"#!") || start.starts_with(b"\x7fELF"))
}

/// A launcher and the position of its name in the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedLauncher {
    /// The family.
    pub launcher: Launcher,
    /// The index of the launcher's name. It is above 0 behind a program such as `env` or `timeout`.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameHint {
    Known(Launcher),
    Ambiguous,
    Foreign,
}

fn by_name(name: &str) -> NameHint {
    match name {
        "orterun" | "prterun" | "prun" | "oshrun" | "shmemrun" => {
            NameHint::Known(Launcher::OpenMpi)
        }
        "mpiexec.hydra" | "mpirun.hydra" => NameHint::Known(Launcher::Hydra),
        "srun" => NameHint::Known(Launcher::Srun),
        "sbatch" => NameHint::Known(Launcher::Sbatch),
        _ if name.ends_with(".openmpi") => NameHint::Known(Launcher::OpenMpi),
        _ if name.ends_with(".mpich") => NameHint::Known(Launcher::Hydra),
        _ if name.starts_with("mpirun") || name.starts_with("mpiexec") => NameHint::Ambiguous,
        _ => NameHint::Foreign,
    }
}

fn by_version(text: &str) -> Launcher {
    let has = |part: &str| text.contains(part);
    if has("Open MPI") || has("OpenRTE") || has("PRRTE") || has("prterun") {
        Launcher::OpenMpi
    } else if has("HYDRA") || has("Hydra") || has("Intel(R) MPI Library") || has("MPICH") {
        Launcher::Hydra
    } else if has("slurm") {
        Launcher::Srun
    } else {
        Launcher::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn script(path: &Path, text: &str) {
        std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn names_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        script(&at("orterun"), "exit 9");
        symlink("orterun", at("mpirun.openmpi")).unwrap();
        symlink(at("mpirun.openmpi"), at("mpirun")).unwrap();
        assert_eq!(Launcher::of_program(&at("mpirun")), Launcher::OpenMpi);
        script(&at("mpiexec.hydra"), "exit 9");
        symlink("mpiexec.hydra", at("mpiexec")).unwrap();
        assert_eq!(Launcher::of_program(&at("mpiexec")), Launcher::Hydra);
        script(&at("srun"), "");
        assert_eq!(Launcher::of_program(&at("srun")), Launcher::Srun);
        script(&at("flux"), "echo Open MPI");
        assert_eq!(Launcher::of_program(&at("flux")), Launcher::Other);
        symlink(at("loop2"), at("loop1")).unwrap();
        symlink(at("loop1"), at("loop2")).unwrap();
        assert_eq!(Launcher::of_program(&at("loop1")), Launcher::Other);
    }

    #[test]
    fn versions_decide_where_names_do_not() {
        let dir = tempfile::tempdir().unwrap();
        for (k, (text, launcher)) in [
            ("mpirun (Open MPI) 5.0.3", Launcher::OpenMpi),
            ("HYDRA build details:", Launcher::Hydra),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.13", Launcher::Hydra),
            ("something else", Launcher::Other),
        ]
        .into_iter()
        .enumerate()
        {
            // Linking onto a fresh name each time: a file being written cannot be executed.
            let path = dir.path().join(format!("mpirun{k}"));
            script(&path, &format!("[ \"$1\" = --version ] && echo '{text}'"));
            assert_eq!(Launcher::of_program(&path), launcher, "{text}");
        }
    }

    #[test]
    fn behind_wrappers() {
        let dir = tempfile::tempdir().unwrap();
        let srun = dir.path().join("srun");
        script(&srun, "");
        let found = |words: &[&str]| {
            Launcher::of_command(&words.iter().map(|w| (*w).to_string()).collect::<Vec<_>>())
        };
        let srun = srun.to_str().unwrap();
        assert_eq!(
            found(&["env", "A=1", srun, "-n", "4"]).unwrap(),
            LocatedLauncher { launcher: Launcher::Srun, position: 2 }
        );
        // A tool that is watching the launcher itself.
        std::os::unix::fs::symlink("/bin/true", dir.path().join("strace")).unwrap();
        let strace = dir.path().join("strace");
        let strace = strace.to_str().unwrap();
        let traced = found(&[strace, "-f", "-o", "/dev/null", srun, "-n", "4"]).unwrap();
        assert_eq!(traced, LocatedLauncher { launcher: Launcher::Srun, position: 4 });
        assert_eq!(found(&["env", "A=1", "true"]).unwrap().launcher, Launcher::Other);
        assert_eq!(found(&["sh", srun]).unwrap().launcher, Launcher::Other);
        let error = found(&["mpirunn", "-n", "4"]).unwrap_err().to_string();
        assert!(error.contains("mpirunn"), "{error}");
        assert!(found(&[]).is_err());
    }
}
