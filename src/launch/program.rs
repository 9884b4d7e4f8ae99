//! The program of this process, as the operating system and the MPI library describe it.

use crate::base::hash::fnv1a;
use crate::options::Settings;
use crate::store;
use std::path::{Path, PathBuf};

/// A program with its command line.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Path of the executable.
    pub executable: String,
    /// Its arguments, the program's own name first.
    pub command: Vec<String>,
    /// The version text of the MPI library.
    pub mpi: String,
    /// Name and hash of the program, without its arguments; empty if the executable cannot be read.
    pub identity: String,
    /// The name in the identity; empty without one.
    pub name: String,
    /// Hash of the work that it has to do: its arguments and the MPI library.
    pub work: u32,
}

impl Program {
    /// The program in an executable.
    pub fn new(executable: &Path, command: Vec<String>, mpi: &str) -> Program {
        let identity = store::identity(executable, &command).ok();
        Program {
            executable: executable.to_string_lossy().into_owned(),
            mpi: mpi.to_string(),
            identity: identity.as_ref().map(store::program_id).unwrap_or_default(),
            name: identity.map(|identity| identity.name).unwrap_or_default(),
            work: store::work_of(&command, mpi),
            command,
        }
    }

    /// The program of this process; `mpi` is the MPI library's own description.
    pub fn of_this_process(mpi: &str) -> Program {
        let arguments = command_line();
        let arguments = arguments.split(|&byte| byte == 0).filter(|a| !a.is_empty());
        let command = arguments.map(|a| String::from_utf8_lossy(a).into_owned()).collect();
        Program::new(&executable(), command, mpi)
    }

    /// Whether the user or the site wants the program of this process to be left alone.
    pub fn is_left_alone(settings: &Settings) -> bool {
        if settings.skip.is_empty() && settings.only.is_empty() {
            return false;
        }
        let program = Program::of_this_process("");
        settings.left_alone(&program.executable, &program.name).is_some()
    }

    /// The key of its records with so many tasks, unless the user chose one.
    pub fn key(&self, settings: &Settings, tasks: usize) -> String {
        let identity = if self.identity.is_empty() { "unknown" } else { &self.identity };
        settings.key.clone().unwrap_or_else(|| format!("{identity}-n{tasks}"))
    }

    /// The name by which a user allows or denies it.
    pub fn list_name(&self) -> &str {
        self.identity.rsplit_once('-').map_or("NAME", |(name, _)| name)
    }

    /// A number for this process's program and its arguments: processes with different
    /// numbers cannot take over each other's tasks.
    pub fn number_of_this_process() -> u64 {
        let executable = executable();
        let arguments = command_line();
        let bytes = executable.as_os_str().as_encoded_bytes().iter().chain(&[0]).chain(&arguments);
        fnv1a(bytes)
    }
}

fn executable() -> PathBuf {
    std::fs::read_link("/proc/self/exe").unwrap_or_default()
}

/// The arguments of this process, each with a zero byte at its end.
fn command_line() -> Vec<u8> {
    std::fs::read("/proc/self/cmdline").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Names;

    #[test]
    fn this_process_has_a_program() {
        let program = Program::of_this_process("Some MPI 1.0");
        assert!(!program.command.is_empty());
        assert!(program.identity.starts_with(&program.name));
        assert!(!program.name.is_empty());
        let number = Program::number_of_this_process();
        assert_eq!(number, Program::number_of_this_process());
    }

    #[test]
    fn programs_that_are_left_alone() {
        let settings = |skip: &str, only: &str| Settings {
            skip: Names::parse(skip),
            only: Names::parse(only),
            ..Settings::default()
        };
        let own = Program::of_this_process("").name;
        assert!(!Program::is_left_alone(&settings("none", "none")));
        assert!(Program::is_left_alone(&settings(&own, "none")));
        assert!(Program::is_left_alone(&settings(&own, &own)));
        assert!(!Program::is_left_alone(&settings("other", &own)));
        assert!(Program::is_left_alone(&settings("none", "other")));
    }

    #[test]
    fn the_key_is_the_identity_with_the_tasks_or_the_users_own() {
        let directory = tempfile::tempdir().unwrap();
        let executable = directory.path().join("app");
        std::fs::write(&executable, "a program").unwrap();
        let program = Program::new(&executable, vec!["./app".into()], "");
        let mut settings = Settings::default();
        assert_eq!(program.key(&settings, 4), format!("{}-n4", program.identity));
        assert_eq!(program.list_name(), "app");
        let unknown = Program::new(&directory.path().join("gone"), Vec::new(), "");
        assert_eq!(
            (unknown.key(&settings, 4).as_str(), unknown.list_name()),
            ("unknown-n4", "NAME")
        );
        settings.key = Some("mine".into());
        assert_eq!(program.key(&settings, 4), "mine");
    }
}
