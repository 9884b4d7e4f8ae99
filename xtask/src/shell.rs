//! Runs commands in the repository and shows them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top folder of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A command that runs in the repository.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository());
    // Set for this program by `cargo run`; cargo must not take it for a wish of the user.
    command.env_remove("CARGO_MANIFEST_DIR");
    command
}

/// Shows a command and runs it. Errors: it cannot be started, or does not end with 0.
pub fn run(mut command: Command) -> Result<(), String> {
    let mut shown = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            shown += &format!("{}={} ", name.display(), value.display());
        }
    }
    shown += &command.get_program().to_string_lossy();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        shown +=
            &if argument.contains(' ') { format!(" '{argument}'") } else { format!(" {argument}") };
    }
    eprintln!("+ {shown}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` could not be started: {error}")),
    }
}

/// `cargo ARGUMENTS`.
pub fn cargo(arguments: &[&str]) -> Command {
    command("cargo", arguments)
}
