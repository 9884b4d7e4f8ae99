//! `--export` of srun and sbatch: the variables that a step or a batch job gets.
//!
//! Slurm starts each task with the variables of this list: all of the caller (`ALL`, the default), none of
//! them (`NONE`), or those that the list names. Without the list, the variables SLURM_EXPORT_ENV (srun) and
//! SBATCH_EXPORT (sbatch) count, and for sbatch the lines `#SBATCH` of the script come last. sbatch hands the
//! list on to the launches of its script: it sets SLURM_EXPORT_ENV there.
//!
//! Limits: a script that sbatch reads from its standard input is taken to have no list.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::cli::inspect::listed;
use std::path::Path;

const PRELOAD: &str = "LD_PRELOAD";
/// The largest script that is searched for lines `#SBATCH`, in bytes.
const LONGEST: u64 = 1 << 20;

/// What a command line of Slurm passes on.
pub(super) struct Exporting<'a> {
    /// The command is sbatch, and not srun.
    pub batch: bool,
    /// The names of the settings. Their values are in the environment of the command.
    pub names: &'a [&'a str],
    /// LD_PRELOAD with the library; the argument is the LD_PRELOAD of the user's list.
    pub preload: &'a dyn Fn(Option<String>) -> String,
}

impl Exporting<'_> {
    /// Puts `--export` behind the command's name, and behind every `:` that begins another component of a
    /// heterogeneous job or step. The options begin at `start`. `environment` looks up a variable of this process.
    ///
    /// Errors: the path of the library has a comma, which the list cannot hold.
    pub fn change(
        &self,
        command: &mut Vec<String>,
        start: usize,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<()> {
        let variable = if self.batch { "SBATCH_EXPORT" } else { "SLURM_EXPORT_ENV" };
        let inherited = environment(variable).filter(|v| !v.is_empty());
        let mut end = command.len();
        loop {
            let colon = (start..end).rev().find(|&k| command[k] == ":");
            let first = colon.map_or(start, |k| k + 1);
            let mut component: Vec<String> = command[first..end].to_vec();
            let (own, program) = take_export(&mut component);
            let script = component.get(program).filter(|_| self.batch);
            let list = own
                .or_else(|| inherited.clone())
                .or_else(|| script.and_then(|path| export_of_script(Path::new(path))));
            component.insert(0, format!("--export={}", self.list(list.as_deref())?));
            command.splice(first..end, component);
            match colon {
                Some(k) => end = k,
                None => return Ok(()),
            }
        }
    }

    /// The list of the user (`None`: everything) with the library and the settings.
    fn list(&self, given: Option<&str>) -> Result<String> {
        let mut entries: Vec<String> = given
            .unwrap_or("ALL")
            .split(',')
            .map(|entry| entry.trim().to_string())
            .filter(|entry| !matches!(entry.to_ascii_uppercase().as_str(), "" | "NONE" | "NIL"))
            .collect();
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
        if !entries.iter().any(|entry| entry.eq_ignore_ascii_case("ALL")) {
            let named = |name: &str| entries.iter().any(|e| e.split('=').next() == Some(name));
            let missing: Vec<String> =
                self.names.iter().filter(|n| !named(n)).map(|n| (*n).to_string()).collect();
            entries.extend(missing);
        }
        Ok(entries.join(","))
    }
}

/// Removes `--export` from the options of a component. Returns its last value, and the index of the program.
fn take_export(words: &mut Vec<String>) -> (Option<String>, usize) {
    let mut list = None;
    let mut k = 0;
    while k < words.len() {
        if let Some(value) = words[k].strip_prefix("--export=") {
            list = Some(value.to_string());
            words.remove(k);
        } else if words[k] == "--export" && k + 1 < words.len() {
            list = Some(words[k + 1].clone());
            words.drain(k..k + 2);
        } else if !words[k].starts_with('-') && is_program(words, k) {
            break;
        } else {
            k += 1;
        }
    }
    (list, k)
}

/// True if the word at `k` is the program, and not the value of an option. The value of an option of Slurm is
/// the next word if the option is short or written without `=`. So a word is the program only if the word
/// before it is not such an option.
fn is_program(words: &[String], k: usize) -> bool {
    /// Options of srun and sbatch without a value.
    const BARE: &str = "-E -H -I -K -O -Q -W -X -Z -h -k -l -s -u -v -vv -vvv --contiguous \
        --disable-status --exact --exclusive --external-launcher --hold --ignore-pbs --immediate --interactive \
        --kill-on-invalid-dep --label --multi-prog --no-allocate --no-kill --no-requeue --nice --overcommit \
        --overlap --oversubscribe --parsable --pty --quiet --reboot --requeue --segment --send-libs \
        --spread-job --test-only --unbuffered --use-min-nodes --verbose --wait-all-nodes --wait --whole";
    let Some(before) = k.checked_sub(1).map(|k| words[k].as_str()) else { return true };
    let short_with_value = before.starts_with('-') && !before.starts_with("--") && before.len() > 2;
    !before.starts_with('-') || before.contains('=') || short_with_value || listed(BARE, before)
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

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn the_program_ends_the_options() {
        for (given, left, at) in [
            ("-n 4 --export=A ./a --export=B", "-n 4 ./a --export=B", 2),
            ("--export A -l ./a", "-l ./a", 1),
            ("-n4 ./a --export x", "-n4 ./a --export x", 1),
            ("--mpi pmix -W ./a", "--mpi pmix -W ./a", 3),
        ] {
            let mut command = words(given);
            let (_, program) = take_export(&mut command);
            assert_eq!((command, program), (words(left), at), "{given}");
        }
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
