//! Which launcher is this?
//!
//! Names tell most of them; `mpirun` and `mpiexec` are links to the real one on many systems, and
//! where they are not, the launcher is asked for its version.

use crate::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Families of launchers, by how they pass variables on to the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI and PRRTE: `-x NAME=VALUE`.
    OpenMpi,
    /// MPICH and Intel MPI: `-genv NAME VALUE`.
    Hydra,
    /// Slurm: `--export=ALL,NAME=VALUE`.
    Srun,
    /// Anything else, a program without launcher too: the environment.
    Other,
}

/// Programs that run another one given behind them.
const WRAPPERS: [&str; 11] = [
    "env", "nice", "time", "timeout", "nohup", "stdbuf", "numactl", "taskset", "ionice", "setsid",
    "chrt",
];

/// How many arguments of a wrapper are looked through for the launcher.
const LOOKED_THROUGH: usize = 12;

impl Launcher {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "Open MPI",
            Launcher::Hydra => "MPICH or Intel MPI (hydra)",
            Launcher::Srun => "Slurm srun",
            Launcher::Other => "unknown; variables go through its environment",
        }
    }

    /// The launcher of a command line, wherever in it the launcher stands.
    ///
    /// Errors: the command is empty or its first word is not a program that can be found.
    pub fn of_command(command: &[String]) -> Result<Found> {
        let Some(first) = command.first() else {
            return Err(Error::new(ErrorKind::Usage, "there is nothing to run"));
        };
        let Some(path) = in_path(first) else {
            return Err(Error::new(ErrorKind::Usage, format!("there is no program '{first}'"))
                .at("PATH")
                .advise("loading the module of the MPI first, or the full path of the launcher"));
        };
        let name = base_name(&path);
        let found = Found { launcher: Launcher::of_program(&path), position: 0 };
        if found.launcher != Launcher::Other || !WRAPPERS.contains(&name.as_str()) {
            return Ok(found);
        }
        for (position, word) in command.iter().enumerate().skip(1).take(LOOKED_THROUGH) {
            if by_name(&base_name(Path::new(word))) != Verdict::Foreign
                && let Some(path) = in_path(word)
            {
                let launcher = Launcher::of_program(&path);
                if launcher != Launcher::Other {
                    return Ok(Found { launcher, position });
                }
            }
        }
        Ok(found)
    }

    /// The launcher that a program is.
    pub fn of_program(path: &Path) -> Launcher {
        let mut link = path.to_path_buf();
        let mut ambiguous = false;
        // The chain of links, each step by its name: /usr/bin/mpirun → mpirun.openmpi → orterun.
        for _ in 0..16 {
            match by_name(&base_name(&link)) {
                Verdict::Known(launcher) => return launcher,
                Verdict::Ambiguous => ambiguous = true,
                Verdict::Foreign => {}
            }
            match std::fs::read_link(&link) {
                Ok(next) => link = link.parent().unwrap_or(Path::new("/")).join(next),
                Err(_) => break,
            }
        }
        match ambiguous.then(|| version_of(path)).flatten() {
            Some(text) => by_version(&text),
            None => Launcher::Other,
        }
    }
}

/// A launcher and the position of its name in the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The family.
    pub launcher: Launcher,
    /// Index of the launcher's name: above 0 behind `env`, `timeout` and the like.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Known(Launcher),
    Ambiguous,
    Foreign,
}

fn by_name(name: &str) -> Verdict {
    match name {
        "orterun" | "prterun" | "prun" | "oshrun" | "shmemrun" => Verdict::Known(Launcher::OpenMpi),
        "mpiexec.hydra" | "mpirun.hydra" => Verdict::Known(Launcher::Hydra),
        "srun" => Verdict::Known(Launcher::Srun),
        _ if name.ends_with(".openmpi") => Verdict::Known(Launcher::OpenMpi),
        _ if name.ends_with(".mpich") => Verdict::Known(Launcher::Hydra),
        _ if name.starts_with("mpirun") || name.starts_with("mpiexec") => Verdict::Ambiguous,
        _ => Verdict::Foreign,
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

/// What `PROGRAM --version` prints, if it does so within a few seconds.
fn version_of(path: &Path) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let mut child = Command::new(path)
        .arg("--version")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let start = Instant::now();
    // A version is shorter than the buffer of a pipe, so waiting before reading cannot block it.
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut bytes = Vec::new();
    let mut pipe = std::io::Read::take(child.stdout.take()?, 64 << 10);
    std::io::Read::read_to_end(&mut pipe, &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn base_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The program that a shell would start for a word.
pub(in crate::cli) fn in_path(word: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(executable);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|dir| dir.join(word)).find(executable)
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
            Found { launcher: Launcher::Srun, position: 2 }
        );
        assert_eq!(found(&["env", "A=1", "true"]).unwrap().launcher, Launcher::Other);
        assert_eq!(found(&["sh", srun]).unwrap().launcher, Launcher::Other);
        let error = found(&["mpirunn", "-n", "4"]).unwrap_err().to_string();
        assert!(error.contains("mpirunn"), "{error}");
        assert!(found(&[]).is_err());
    }
}
