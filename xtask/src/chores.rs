//! The chores but the benchmarks.

use crate::shell::{cargo, command, repository, run};
use std::path::Path;
use std::process::Command;

/// With this in the environment tests write what they would compare with.
const UPDATE: &str = "RANKWEAVE_UPDATE_SNAPSHOTS";

/// The integration tests that compare a committed text with what makes it.
const DOCUMENTS: [&str; 7] = [
    "cli::documents::help_texts_are_as_committed",
    "cli::documents::committed_documents_are_fresh",
    "cli::documents::the_table_of_formats_is_fresh",
    "cli::reference::",
    "links::",
    "decisions::",
    "layers::",
];

fn no_arguments(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("takes no arguments, and got {first}")),
    }
}

fn integration(filters: &[&str]) -> Command {
    let mut arguments = vec!["test", "--quiet", "--test", "integration", "--"];
    arguments.extend(filters);
    cargo(&arguments)
}

/// What the pre-commit hook runs.
pub fn check(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    run(cargo(&["fmt", "--all", "--check"]))?;
    run(cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run(integration(&DOCUMENTS))
}

pub fn generate(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let mut tests = integration(&["cli::documents::", "cli::reference::"]);
    tests.env(UPDATE, "1");
    run(tests)
}

pub fn golden(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    // Gives the engine a new version only if an answer changed.
    let answers = "decide::pinned_answers::rewrite";
    run(cargo(&[
        "test",
        "--quiet",
        "--package",
        "rankweave",
        "--lib",
        answers,
        "--",
        "--ignored",
    ]))?;
    let decisions = "every_case_is_decided_as_the_table_says";
    for mut tests in [
        cargo(&["test", "--quiet", "--package", "rankweave-generator"]),
        cargo(&["test", "--quiet", "--workspace", "--lib", decisions]),
        integration(&["cli::documents::", "cli::reference::", "layers::"]),
    ] {
        tests.env(UPDATE, "1");
        run(tests)?;
    }
    run(command("git", &["status", "--short", "--", "tests", "wrappers", "docs", "src"]))
}

/// Builds the command and the library, and runs MPI test programs.
pub fn mpi(arguments: &[String]) -> Result<(), String> {
    run(cargo(&["build", "--release"]))?;
    run(cargo(&["build", "--package", "rankweave-preload", "--profile", "preload"]))?;
    let mut tests = command("tests/mpi/run", &[]);
    for argument in arguments {
        match argument.starts_with("--") {
            true => tests.arg(argument),
            false => tests.args(["--case", argument]),
        };
    }
    run(tests)
}

const HOOK: &str = "#!/bin/sh\n\
    # Written by `cargo xtask hook`. `git commit --no-verify` goes past it.\n\
    exec cargo xtask check\n";

pub fn hook(arguments: &[String]) -> Result<(), String> {
    no_arguments(arguments)?;
    let told = command("git", &["rev-parse", "--git-path", "hooks"]).output();
    let told = told.map_err(|error| format!("git could not be started: {error}"))?;
    let folder = String::from_utf8_lossy(&told.stdout).trim().to_string();
    if !told.status.success() || folder.is_empty() {
        return Err("this is no git repository".into());
    }
    let path = repository().join(folder).join("pre-commit");
    if std::fs::read_to_string(&path).is_ok_and(|text| text != HOOK) {
        return Err(format!("{} is there already, and another's: it stays", path.display()));
    }
    write(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} runs `cargo xtask check` before each commit", path.display());
    Ok(())
}

fn write(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, HOOK)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}
