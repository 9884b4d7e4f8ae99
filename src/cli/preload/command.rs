//! The command line that passes the library and the settings on to the MPI processes.

use super::settings::{self, Variables};
use super::{app_file, functions, library, sanitizer, slurm};
use crate::base::error::Result;
use crate::cli::arguments::settings::SettingsArgs;
use crate::cli::console::shell::quoted;
use crate::cli::inspect::{Image, OptionWords, parts};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use crate::options::{FUNCTIONS, is_c_function};
use std::path::{Path, PathBuf};

const PRELOAD: &str = "LD_PRELOAD";

/// The command that is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCommand {
    /// The command with its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub environment: Vec<(String, String)>,
}

impl LaunchCommand {
    /// The plan as a line for a shell.
    pub fn shell_line(&self) -> String {
        let variables = self.environment.iter().map(|(n, v)| format!("{n}={}", quoted(v)));
        let words = self.command.iter().map(|word| quoted(word));
        let mut line = variables.chain(words).collect::<Vec<_>>().join(" ");
        line.push('\n');
        line
    }
}

/// Plans a launch. `variables` are the settings to pass on. `environment` looks up a variable of this
/// process. Libraries that are preloaded already stay preloaded.
pub fn launch_command(
    found: &LocatedLauncher,
    command: &[String],
    library: &Path,
    variables: &[(String, String)],
    environment: impl Fn(&str) -> Option<String>,
) -> Result<LaunchCommand> {
    let library = library.to_string_lossy().into_owned();
    let inherited = environment(PRELOAD).filter(|v| !v.trim().is_empty());
    let passed = Passed { found, start: found.position + 1, library, inherited, variables };
    let mut plan = LaunchCommand { command: command.to_vec(), environment: Vec::new() };
    match found.launcher {
        Launcher::OpenMpi => open_mpi(&mut plan, passed, environment),
        Launcher::Hydra => hydra(&mut plan, passed),
        Launcher::Srun | Launcher::Sbatch => {
            let names: Vec<&str> = variables.iter().map(|v| v.0.as_str()).collect();
            let exporting =
                slurm::Exporting { found, names: &names, preload: &|own| passed.preload(own) };
            exporting.change(&mut plan.command, environment)?;
            // The list cannot hold a value with a comma, so it only names the settings.
            plan.environment = variables.to_vec();
        }
        Launcher::Other => {
            plan.environment = variables.to_vec();
            plan.environment.push((PRELOAD.into(), passed.preload(None)));
        }
    }
    Ok(plan)
}

/// The input of the functions for the launchers.
struct Passed<'a> {
    found: &'a LocatedLauncher,
    /// Position of the first option of the launcher.
    start: usize,
    library: String,
    /// LD_PRELOAD in the environment of this process.
    inherited: Option<String>,
    /// The settings to pass on.
    variables: &'a [(String, String)],
}

impl Passed<'_> {
    /// LD_PRELOAD with the library. `own` is the LD_PRELOAD of the command line; it replaces the inherited one.
    fn preload(&self, own: Option<String>) -> String {
        joined(own.or_else(|| self.inherited.clone()), &self.library)
    }
}

/// The launcher of a command, the library, and the settings to pass on.
#[derive(Debug)]
pub(in crate::cli) struct Prepared {
    launcher: LocatedLauncher,
    library: PathBuf,
    pub(in crate::cli) variables: Variables,
}

impl Prepared {
    /// Errors: a variable that cannot be understood, no library, no such launcher.
    pub(in crate::cli) fn new(command: &[String], given: &SettingsArgs) -> Result<Prepared> {
        let variables = settings::variables(given)?;
        let library = library::find()?;
        Ok(Prepared { launcher: Launcher::of_command(command)?, library, variables })
    }

    /// Adds what the programs of the launch need: the variable that names the functions of an MPI library
    /// which they load by themselves, and an option of AddressSanitizer.
    pub(in crate::cli) fn with_what_programs_need(mut self, command: &[String]) -> Prepared {
        let names = functions::for_launch(&self.launcher, command, &self.library);
        self.variables.extend(names.map(|names| (FUNCTIONS.to_string(), names)));
        self.variables.extend(sanitizer::variable(&self.launcher, command));
        self
    }

    /// The command that is executed, in the environment of this process.
    pub(in crate::cli) fn command(
        &self,
        command: &[String],
        variables: &[(String, String)],
    ) -> Result<LaunchCommand> {
        let environment = |name: &str| std::env::var(name).ok();
        launch_command(&self.launcher, command, &self.library, variables, environment)
    }
}

/// The libraries that are preloaded already, together with this library. This library comes before other tools
/// that wrap MPI calls, because such a tool calls `PMPI_X`, and no library behind it sees the call. Without
/// such a tool it comes last, because some libraries have to be the first (sanitizers).
fn joined(before: Option<String>, library: &str) -> String {
    let Some(before) = before else { return library.to_string() };
    let mut entries: Vec<&str> =
        before.split([':', ' ']).filter(|entry| !entry.is_empty() && *entry != library).collect();
    let place = entries.iter().position(|entry| wraps_mpi(entry)).unwrap_or(entries.len());
    entries.insert(place, library);
    entries.join(":")
}

/// True for a library that defines MPI functions.
fn wraps_mpi(entry: &str) -> bool {
    Image::read(Path::new(entry))
        .is_ok_and(|image| image.offered.iter().any(|name| is_c_function(name.as_bytes())))
}

/// Removes options of the launcher from `command`. `matches` recognises an option and returns its value, if it has
/// one. Returns the last value. Words behind the name of a program belong to the program.
fn taken(
    command: &mut Vec<String>,
    found: &LocatedLauncher,
    matches: impl Fn(&OptionWords) -> Option<Option<String>>,
) -> Option<String> {
    let options = parts(found, command).into_iter().flat_map(|part| part.options);
    let own: Vec<_> =
        options.filter_map(|option| Some((matches(&option)?, option.words))).collect();
    for (_, words) in own.iter().rev() {
        command.drain(words.clone());
    }
    own.into_iter().rev().find_map(|(value, _)| value)
}

/// The value of `LD_PRELOAD=VALUE`.
fn preload_in(text: Option<&str>) -> Option<String> {
    Some(text?.strip_prefix(PRELOAD)?.strip_prefix('=')?.to_string())
}

/// Adds `-x NAME=VALUE` behind the launcher, and behind every `:` that begins another program.
fn open_mpi(
    plan: &mut LaunchCommand,
    passed: Passed<'_>,
    environment: impl Fn(&str) -> Option<String>,
) {
    let start = passed.start;
    // The LD_PRELOAD of the user is merged. With two options -x LD_PRELOAD, some versions of Open MPI end with
    // an error, and others use only one of them.
    let own = taken(&mut plan.command, passed.found, |option| match option.value.as_deref() {
        _ if option.name != "x" => None,
        Some(PRELOAD) => Some(None),
        value => preload_in(value).map(Some),
    });
    let preload = (PRELOAD.to_string(), passed.preload(own));
    let variables = [&[preload], passed.variables].concat();
    plan.environment.extend(app_file::variable(&plan.command, start, &variables, environment));
    let option = |(name, value): &(String, String)| ["-x".to_string(), format!("{name}={value}")];
    let words: Vec<String> = variables.iter().flat_map(option).collect();
    let colons = (start..plan.command.len()).filter(|&k| plan.command[k] == ":");
    let places: Vec<usize> = std::iter::once(start).chain(colons.map(|k| k + 1)).collect();
    for place in places.into_iter().rev() {
        plan.command.splice(place..place, words.iter().cloned());
    }
}

/// Adds `-genv NAME VALUE` behind the launcher. It is for all programs of the launch.
fn hydra(plan: &mut LaunchCommand, passed: Passed<'_>) {
    let own = taken(&mut plan.command, passed.found, |option| match option.name.split_once(' ') {
        Some(("genv" | "env", PRELOAD)) => Some(option.value.clone()),
        None if matches!(option.name.as_str(), "genv" | "env") => {
            preload_in(option.value.as_deref()).map(Some)
        }
        _ => None,
    });
    let preload = (PRELOAD.to_string(), passed.preload(own));
    let variables = std::iter::once(&preload).chain(passed.variables).cloned();
    let words = variables.flat_map(|(name, value)| ["-genv".to_string(), name, value]);
    plan.command.splice(passed.start..passed.start, words);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(launcher: Launcher, line: &str, env: &[(&str, &str)]) -> LaunchCommand {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let position = usize::from(line.starts_with("env ")) * 2;
        let variables = [("RANKWEAVE_FIX".to_string(), "0,3".to_string())];
        launch_command(
            &LocatedLauncher { launcher, position },
            &command,
            Path::new("/l/rw.so"),
            &variables,
            |name| env.iter().find(|e| e.0 == name).map(|e| e.1.to_string()),
        )
        .unwrap()
    }

    fn line(launcher: Launcher, line: &str, env: &[(&str, &str)]) -> String {
        of(launcher, line, env).shell_line().trim_end().to_string()
    }

    #[test]
    fn open_mpi() {
        let o = Launcher::OpenMpi;
        assert_eq!(
            line(o, "mpirun -n 4 ./a", &[]),
            "mpirun -x LD_PRELOAD=/l/rw.so -x RANKWEAVE_FIX=0,3 -n 4 ./a"
        );
        assert_eq!(
            line(o, "mpirun -n 4 ./a", &[("LD_PRELOAD", "/x.so")]),
            "mpirun -x LD_PRELOAD=/x.so:/l/rw.so -x RANKWEAVE_FIX=0,3 -n 4 ./a"
        );
        assert_eq!(
            line(o, "mpirun -x LD_PRELOAD=/y.so -n 4 ./a", &[("LD_PRELOAD", "/x.so")]),
            "mpirun -x LD_PRELOAD=/y.so:/l/rw.so -x RANKWEAVE_FIX=0,3 -n 4 ./a"
        );
        assert_eq!(
            line(o, "mpirun -x LD_PRELOAD ./a", &[("LD_PRELOAD", "/x.so:/l/rw.so")]),
            "mpirun -x LD_PRELOAD=/x.so:/l/rw.so -x RANKWEAVE_FIX=0,3 ./a"
        );
        assert_eq!(
            line(
                o,
                "mpirun -x LD_PRELOAD=/y.so ./a -x LD_PRELOAD=/z.so : -x LD_PRELOAD ./b -x LD_PRELOAD",
                &[]
            ),
            "mpirun -x LD_PRELOAD=/y.so:/l/rw.so -x RANKWEAVE_FIX=0,3 ./a -x LD_PRELOAD=/z.so : \
             -x LD_PRELOAD=/y.so:/l/rw.so -x RANKWEAVE_FIX=0,3 ./b -x LD_PRELOAD",
            "words behind a program are its arguments"
        );
        assert_eq!(
            line(o, "env A=1 mpirun ./a : ./b", &[]),
            "env A=1 mpirun -x LD_PRELOAD=/l/rw.so -x RANKWEAVE_FIX=0,3 ./a : \
             -x LD_PRELOAD=/l/rw.so -x RANKWEAVE_FIX=0,3 ./b"
        );
    }

    #[test]
    fn hydra() {
        let h = Launcher::Hydra;
        assert_eq!(
            line(h, "mpiexec -n 2 ./a : -n 2 ./b", &[]),
            "mpiexec -genv LD_PRELOAD /l/rw.so -genv RANKWEAVE_FIX 0,3 -n 2 ./a : -n 2 ./b"
        );
        for given in ["-genv LD_PRELOAD /y.so", "-env LD_PRELOAD=/y.so"] {
            assert_eq!(
                line(h, &format!("mpiexec {given} ./a"), &[]),
                "mpiexec -genv LD_PRELOAD /y.so:/l/rw.so -genv RANKWEAVE_FIX 0,3 ./a"
            );
            assert_eq!(
                line(h, &format!("mpiexec -n 2 ./a {given}"), &[]),
                format!(
                    "mpiexec -genv LD_PRELOAD /l/rw.so -genv RANKWEAVE_FIX 0,3 -n 2 ./a {given}"
                ),
                "words behind a program are its arguments"
            );
        }
    }

    #[test]
    fn srun() {
        let s = Launcher::Srun;
        assert_eq!(
            line(s, "srun -n 4 ./a", &[]),
            "RANKWEAVE_FIX=0,3 srun --export=ALL,LD_PRELOAD=/l/rw.so -n 4 ./a"
        );
        for given in ["--export=NONE", "--export NONE"] {
            assert_eq!(
                line(s, &format!("srun -n 4 {given} ./a"), &[]),
                "RANKWEAVE_FIX=0,3 srun --export=LD_PRELOAD=/l/rw.so,RANKWEAVE_FIX -n 4 ./a"
            );
        }
        assert_eq!(
            line(s, "srun --export=ALL,LD_PRELOAD=/y.so,B=2 ./a --export=x", &[]),
            "RANKWEAVE_FIX=0,3 srun --export=ALL,B=2,LD_PRELOAD=/y.so:/l/rw.so ./a --export=x"
        );
        assert_eq!(
            line(s, "srun ./a", &[("SLURM_EXPORT_ENV", "PATH"), ("LD_PRELOAD", "/x.so")]),
            "RANKWEAVE_FIX=0,3 srun --export=PATH,LD_PRELOAD=/x.so:/l/rw.so,RANKWEAVE_FIX ./a"
        );
        for options in ["-n 2 --", "--kill-on-bad-exit", "-K"] {
            assert_eq!(
                line(s, &format!("srun {options} ./a --export=x.vtk"), &[]),
                format!(
                    "RANKWEAVE_FIX=0,3 srun --export=ALL,LD_PRELOAD=/l/rw.so {options} ./a --export=x.vtk"
                )
            );
        }
        // Every component of a heterogeneous step has its own variables.
        assert_eq!(
            line(s, "srun -n 2 ./a : --export=NONE -n 1 ./b", &[]),
            "RANKWEAVE_FIX=0,3 srun --export=ALL,LD_PRELOAD=/l/rw.so -n 2 ./a : \
             --export=LD_PRELOAD=/l/rw.so,RANKWEAVE_FIX -n 1 ./b"
        );
        let command = vec!["srun".to_string()];
        let found = LocatedLauncher { launcher: s, position: 0 };
        assert!(launch_command(&found, &command, Path::new("/a,b.so"), &[], |_| None).is_err());
    }

    #[test]
    fn sbatch() {
        let b = Launcher::Sbatch;
        let script = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = script.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let plain = file("plain", "#!/bin/sh\n#SBATCH -n 4\nsrun ./a\n");
        // Lines behind the first command are no options.
        let own = file(
            "own",
            "#!/bin/sh\n\n# why\n#SBATCH -n 4 --export=NONE\nsrun ./a\n#SBATCH --export=ALL\n",
        );
        let all = "RANKWEAVE_FIX=0,3 sbatch --export=ALL,LD_PRELOAD=/l/rw.so";
        let none = "RANKWEAVE_FIX=0,3 sbatch --export=LD_PRELOAD=/l/rw.so,RANKWEAVE_FIX";
        for (given, wanted) in [
            (format!("sbatch -n 4 {plain}"), format!("{all} -n 4 {plain}")),
            (format!("sbatch {own} --export=x"), format!("{none} {own} --export=x")),
            (format!("sbatch --export=ALL {own}"), format!("{all} {own}")),
            (format!("sbatch --get-user-env {own}"), format!("{none} --get-user-env {own}")),
            ("sbatch --wrap true".to_string(), format!("{all} --wrap true")),
            ("sbatch /no/such/file".to_string(), format!("{all} /no/such/file")),
        ] {
            assert_eq!(line(b, &given, &[("SLURM_EXPORT_ENV", "PATH")]), wanted, "{given}");
        }
        let set = [("SBATCH_EXPORT", "NONE")];
        assert_eq!(line(b, &format!("sbatch {plain}"), &set), format!("{none} {plain}"));
    }

    #[test]
    fn anything_else_gets_an_environment() {
        let plan = of(Launcher::Other, "flux run -n4 ./a", &[("LD_PRELOAD", "/x.so")]);
        assert_eq!(plan.command, ["flux", "run", "-n4", "./a"]);
        assert_eq!(plan.environment[1], ("LD_PRELOAD".into(), "/x.so:/l/rw.so".into()));
    }

    #[test]
    fn shell_lines_are_quoted() {
        let plan = LaunchCommand {
            command: vec!["a b".into(), "it's".into(), String::new()],
            environment: vec![],
        };
        assert_eq!(plan.shell_line(), "'a b' 'it'\\''s' ''\n");
    }
}
