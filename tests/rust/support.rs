//! Runs the command in a directory and a store of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory with an empty store; the command runs in it.
pub struct Place {
    dir: tempfile::TempDir,
}

/// The outcome of a run of the command.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Place { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and gives its path as text.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).expect("write a file");
        path.display().to_string()
    }

    /// The command, with a clean environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rankweave"));
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RANKWEAVE_") {
                command.env_remove(name);
            }
        }
        for name in [
            "NO_COLOR",
            "COLUMNS",
            "LD_PRELOAD",
            "SLURM_EXPORT_ENV",
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", self.dir.path()).env("RANKWEAVE_STORE", self.path("store"));
        command
    }

    /// Runs the command.
    pub fn run(&self, args: &[&str]) -> Run {
        of(self.command(args).output().expect("run the command"))
    }

    /// Runs the command, which must end with code 0, and gives its output.
    pub fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.out
    }
}

pub fn of(output: Output) -> Run {
    Run {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A file of the repository.
pub fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compares with a file of the repository; `RANKWEAVE_UPDATE_SNAPSHOTS=1` writes it instead.
pub fn same_as_file(name: &str, text: &str) {
    let path = repository(name);
    if std::env::var_os("RANKWEAVE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("make it");
        std::fs::write(&path, text).expect("write the snapshot");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (k, (a, b)) in expected.lines().zip(text.lines()).enumerate() {
        assert_eq!(a, b, "{name}:{} (RANKWEAVE_UPDATE_SNAPSHOTS=1 writes it anew)", k + 1);
    }
    assert_eq!(expected, text, "{name} (RANKWEAVE_UPDATE_SNAPSHOTS=1 writes it anew)");
}
