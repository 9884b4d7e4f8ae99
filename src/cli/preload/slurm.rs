//! `--export` of srun and sbatch: the variables that a step or a batch job gets.
//!
//! Slurm starts each task with the variables of this list: all of the caller (`ALL`, the default), none of
//! them (`NONE`), or those that the list names. Without the list, the variables SLURM_EXPORT_ENV (srun) and
//! SBATCH_EXPORT (sbatch) count, and for sbatch the lines `#SBATCH` of the script come last. sbatch hands the
//! list on to the launches of its script: it sets SLURM_EXPORT_ENV there.
//!
//! Limits: a script that sbatch reads from its standard input is taken to have no list. In a heterogeneous job only
//! the last component is known to have the list of the script.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::cli::inspect::{PartWords, parts};
use crate::cli::launcher::{Launcher, LocatedLauncher};
use std::path::Path;

const PRELOAD: &str = "LD_PRELOAD";
/// The largest script that is searched for lines `#SBATCH`, in bytes.
const LONGEST: u64 = 1 << 20;

/// What a command line of Slurm passes on.
pub(super) struct Exporting<'a> {
    /// The launcher, srun or sbatch, and its place in the command.
    pub found: &'a LocatedLauncher,
    /// The names of the settings. Their values are in the environment of the command.
    pub names: &'a [&'a str],
    /// LD_PRELOAD with the library; the argument is the LD_PRELOAD of the user's list.
    pub preload: &'a dyn Fn(Option<String>) -> String,
}

/// Changes `--export` so that the tasks get these variables of the command's environment. A list that holds all
/// variables stays as it is.
pub(in crate::cli) fn export(
    found: &LocatedLauncher,
    command: &mut Vec<String>,
    names: &[&str],
    environment: impl Fn(&str) -> Option<String>,
) {
    for part in parts_backwards(found, command) {
        let list = exported(found, command, &part, &environment);
        let Some(mut entries) = list.as_deref().map(entries) else { continue };
        if has_all(&entries) {
            continue;
        }
        add(&mut entries, names);
        replace(command, &part, &entries.join(","));
    }
}

/// The words of each component of a heterogeneous job or step, the last one first, so that a change of one moves no
/// word of the others.
fn parts_backwards(found: &LocatedLauncher, command: &[String]) -> Vec<PartWords> {
    let mut parts = parts(found, command);
    if parts.is_empty() {
        let end = command.len();
        parts.push(PartWords { options: Vec::new(), start: end, program: end..end });
    }
    parts.reverse();
    parts
}

/// The list that counts for a component; `None` if there is none.
fn exported(
    found: &LocatedLauncher,
    command: &[String],
    part: &PartWords,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let is_batch = found.launcher == Launcher::Sbatch;
    let variable = if is_batch { "SBATCH_EXPORT" } else { "SLURM_EXPORT_ENV" };
    let script = command.get(part.program.start).filter(|_| is_batch && !part.program.is_empty());
    let own = part.options.iter().rev().find(|option| option.name == "export");
    own.and_then(|option| option.value.clone())
        .or_else(|| environment(variable).filter(|list| !list.is_empty()))
        .or_else(|| script.and_then(|path| export_of_script(Path::new(path))))
}

/// Gives a component another list.
fn replace(command: &mut Vec<String>, part: &PartWords, list: &str) {
    for option in part.options.iter().rev().filter(|option| option.name == "export") {
        command.drain(option.words.clone());
    }
    command.insert(part.start, format!("--export={list}"));
}

/// The entries of a list, without words that mean nothing.
fn entries(list: &str) -> Vec<String> {
    let is_entry =
        |entry: &String| !matches!(entry.to_ascii_uppercase().as_str(), "" | "NONE" | "NIL");
    list.split(',').map(|entry| entry.trim().to_string()).filter(is_entry).collect()
}

fn has_all(entries: &[String]) -> bool {
    entries.iter().any(|entry| entry.eq_ignore_ascii_case("ALL"))
}

/// Adds the names that a list does not have.
fn add(entries: &mut Vec<String>, names: &[&str]) {
    for name in names {
        if !entries.iter().any(|entry| entry.split('=').next() == Some(name)) {
            entries.push((*name).to_string());
        }
    }
}

impl Exporting<'_> {
    /// Puts `--export` behind the command's name, and behind every `:` that begins another component of a
    /// heterogeneous job or step. `environment` looks up a variable of this process.
    ///
    /// Errors: the path of the library has a comma, which the list cannot hold.
    pub fn change(
        &self,
        command: &mut Vec<String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<()> {
        for part in parts_backwards(self.found, command) {
            let list = exported(self.found, command, &part, &environment);
            replace(command, &part, &self.list(list.as_deref())?);
        }
        Ok(())
    }

    /// The list of the user (`None`: everything) with the library and the settings.
    fn list(&self, given: Option<&str>) -> Result<String> {
        let mut entries = entries(given.unwrap_or("ALL"));
        let of_entry = |entry: &String| entry.strip_prefix("LD_PRELOAD=").map(str::to_string);
        let preload = (self.preload)(entries.iter().rev().find_map(of_entry));
        entries.retain(|entry| entry.split('=').next() != Some(PRELOAD));
        if preload.contains(',') {
            let text = "Slurm cannot pass a path with a comma on";
            return Err(Error::new(ErrorKind::Usage, text)
                .at(preload)
                .advise("use a path without commas for the preloaded libraries"));
        }
        entries.push(format!("{PRELOAD}={preload}"));
        if !has_all(&entries) {
            add(&mut entries, self.names);
        }
        Ok(entries.join(","))
    }
}

/// The last `--export` in the lines `#SBATCH` of a script. They end at the first command of the script.
fn export_of_script(path: &Path) -> Option<String> {
    let bytes = file::read(path, LONGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut last = None;
    for line in text.lines().take_while(|line| line.is_empty() || line.starts_with('#')) {
        let Some(options) = line.strip_prefix("#SBATCH") else { continue };
        let mut words = options.split_whitespace().take_while(|word| !word.starts_with('#'));
        while let Some(word) = words.next() {
            let value = match word {
                "--export" => words.next(),
                _ => word.strip_prefix("--export="),
            };
            last = value.map(|v| v.trim_matches(['"', '\'']).to_string()).or(last);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line with this list of variables. Words behind the program have to stay.
    fn exporting(launcher: Launcher, line: &str, variables: &[(&str, &str)]) -> String {
        let found = LocatedLauncher { launcher, position: 0 };
        let mut command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let preload = |_: Option<String>| "/l.so".to_string();
        let exporting = Exporting { found: &found, names: &["N"], preload: &preload };
        let value = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
        exporting.change(&mut command, value).unwrap();
        command.join(" ")
    }

    #[test]
    fn arguments_of_the_program_stay() {
        let (all, list) =
            ("srun --export=ALL,LD_PRELOAD=/l.so", "srun --export=A,LD_PRELOAD=/l.so,N");
        for (given, wanted) in [
            ("-n 2 -- ./a --export=x.vtk", format!("{all} -n 2 -- ./a --export=x.vtk")),
            (
                "--kill-on-bad-exit ./a --export=x.vtk",
                format!("{all} --kill-on-bad-exit ./a --export=x.vtk"),
            ),
            ("--unheard-of ./a --export x", format!("{all} --unheard-of ./a --export x")),
            ("-n 4 --export=A ./a --export=B", format!("{list} -n 4 ./a --export=B")),
            ("--export A -l ./a", format!("{list} -l ./a")),
            ("--export B --export=A ./a", format!("{list} ./a")),
            ("-n4 ./a --export x", format!("{all} -n4 ./a --export x")),
            ("--mpi pmix -W 3 ./a", format!("{all} --mpi pmix -W 3 ./a")),
        ] {
            assert_eq!(exporting(Launcher::Srun, &format!("srun {given}"), &[]), wanted);
        }
        assert_eq!(exporting(Launcher::Srun, "srun", &[]), all);
    }

    #[test]
    fn the_list_of_the_script_counts_behind_options_without_a_value() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("job.sh");
        std::fs::write(&path, "#!/bin/sh\n#SBATCH --export=NONE\nsrun ./a\n").unwrap();
        let path = path.display();
        for option in ["--get-user-env", "--parsable", "-W", "--wait", "--propagate", "--x11"] {
            assert_eq!(
                exporting(Launcher::Sbatch, &format!("sbatch {option} {path} : x"), &[]),
                format!("sbatch --export=LD_PRELOAD=/l.so,N {option} {path} : x")
            );
        }
    }

    #[test]
    fn variables_are_added_to_a_list_only_if_it_leaves_some_out() {
        let of = |line: &str, variables: &[(&str, &str)]| {
            let found = LocatedLauncher { launcher: Launcher::Srun, position: 0 };
            let mut command: Vec<String> = line.split(' ').map(str::to_string).collect();
            let value =
                |name: &str| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_string());
            export(&found, &mut command, &["M", "F"], value);
            command.join(" ")
        };
        assert_eq!(of("srun -n 2 ./a", &[]), "srun -n 2 ./a");
        assert_eq!(of("srun --export=ALL,A=1 ./a", &[]), "srun --export=ALL,A=1 ./a");
        assert_eq!(of("srun --export=NONE ./a", &[]), "srun --export=M,F ./a");
        assert_eq!(of("srun --export A,M=2 ./a", &[]), "srun --export=A,M=2,F ./a");
        assert_eq!(of("srun ./a", &[("SLURM_EXPORT_ENV", "NONE")]), "srun --export=M,F ./a");
    }

    #[test]
    fn scripts_that_cannot_be_read_have_no_list() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("script");
        assert_eq!(export_of_script(&path), None);
        assert_eq!(export_of_script(place.path()), None);
        std::fs::write(&path, b"#SBATCH --export \xff\n#SBATCH --export=\"A,B\" # x\n").unwrap();
        assert_eq!(export_of_script(&path).as_deref(), Some("A,B"));
        std::fs::write(&path, "#SBATCH --export\n").unwrap();
        assert_eq!(export_of_script(&path), None);
    }
}
