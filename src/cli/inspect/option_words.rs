//! The options of a launcher one by one, with the words that they take in the command line, so that single options
//! can be read and taken out.
//!
//! Launchers have hundreds of options and no common grammar. [`option_names`](super::option_names) lists the options
//! that take a value. A word behind an unknown option is the program if it is the name of a program.

use super::option_names::{ShortValue, short, values, whole};
use crate::cli::launcher::{Launcher, LocatedLauncher, in_path};
use std::ops::Range;
use std::path::Path;

/// An option of a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionWords {
    /// Its name without dashes, and without a value that is part of the word. Of an option with two values, the
    /// first value belongs to the name (`mca NAME`).
    pub name: String,
    /// Its value: the next word, or the text behind `=`. For short options of Slurm also the rest of the word
    /// (`-n4`).
    pub value: Option<String>,
    /// Its words, as indices of the command. Short options of Slurm can share a word (`-ln4`).
    pub words: Range<usize>,
}

/// The words of one program of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartWords {
    /// The options of the launcher, in their order.
    pub options: Vec<OptionWords>,
    /// Where the options begin, as an index of the command.
    pub start: usize,
    /// The program and its arguments; an empty range if there is none.
    pub program: Range<usize>,
}

/// The words of each program of a launch. A word `:` is between two of them.
pub fn parts(found: &LocatedLauncher, command: &[String]) -> Vec<PartWords> {
    let mut parts = Vec::new();
    let mut at = found.position + 1;
    while at < command.len() {
        let colon = command[at..].iter().position(|word| word == ":");
        let mut end = colon.map_or(command.len(), |k| at + k);
        let (options, program) = options(found.launcher, &command[..end], at);
        if found.launcher == Launcher::Sbatch && program < end {
            // A colon behind the script is an argument of the script.
            end = command.len();
        }
        parts.push(PartWords { options, start: at, program: program..end });
        at = end + 1;
    }
    parts
}

/// The options that begin at `at`, and the index of the first word behind them.
fn options(launcher: Launcher, command: &[String], mut at: usize) -> (Vec<OptionWords>, usize) {
    let is_slurm = matches!(launcher, Launcher::Srun | Launcher::Sbatch);
    let mut options = Vec::new();
    while let Some(word) = command.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with('-') || word == "-" {
            break;
        }
        if is_slurm && !word.starts_with("--") {
            at = short_options(launcher, command, at, &mut options);
            continue;
        }
        let plain = word.trim_start_matches('-');
        let (name, inline) = match plain.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (plain, None),
        };
        let name = whole(launcher, name);
        let count = match (&inline, values(launcher, name)) {
            (Some(_), _) => 0,
            // NAME=VALUE is one word, NAME VALUE two.
            (None, Some(2)) if launcher == Launcher::Hydra => {
                2 - usize::from(command.get(at + 1).is_some_and(|next| next.contains('=')))
            }
            (None, Some(count)) => count,
            (None, None) => usize::from(!is_program_behind(launcher, command, at)),
        };
        let count = count.min(command.len() - at - 1);
        let value = inline.or_else(|| (count > 0).then(|| command[at + count].clone()));
        let name = match count {
            2 => format!("{name} {}", command[at + 1]),
            _ => name.to_string(),
        };
        options.push(OptionWords { name, value, words: at..at + 1 + count });
        at += 1 + count;
    }
    (options, at)
}

/// Whether the word behind an unknown option is the program, another option, or the last word, and not its value.
fn is_program_behind(launcher: Launcher, command: &[String], at: usize) -> bool {
    let Some(next) = command.get(at + 1) else { return true };
    let is_script = match launcher {
        Launcher::Srun => next.contains('/'),
        Launcher::Sbatch => next.contains('/') || Path::new(next).is_file(),
        _ => false,
    };
    next.starts_with('-') || is_script || in_path(next).is_some() || command.len() == at + 2
}

/// Reads a word of Slurm with one dash, which can hold several options. Returns the index of the word behind them.
fn short_options(
    launcher: Launcher,
    command: &[String],
    at: usize,
    options: &mut Vec<OptionWords>,
) -> usize {
    let letters = command[at].trim_start_matches('-');
    for (k, letter) in letters.char_indices() {
        let rest = Some(&letters[k + letter.len_utf8()..]).filter(|rest| !rest.is_empty());
        let rest = rest.map(str::to_string);
        let place = short(launcher, letter);
        let (value, end) = match (place, rest) {
            (ShortValue::None, _) => (None, at + 1),
            (ShortValue::RestOrNext, None) => {
                (command.get(at + 1).cloned(), (at + 2).min(command.len()))
            }
            (_, rest) => (rest, at + 1),
        };
        options.push(OptionWords { name: letter.to_string(), value, words: at..end });
        if place != ShortValue::None {
            return end;
        }
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(launcher: Launcher, line: &str) -> Vec<(String, Option<String>, Range<usize>)> {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let found = LocatedLauncher { launcher, position: 0 };
        parts(&found, &command)[0]
            .options
            .iter()
            .cloned()
            .map(|o| (o.name, o.value, o.words))
            .collect()
    }

    fn option(
        name: &str,
        value: &str,
        words: Range<usize>,
    ) -> (String, Option<String>, Range<usize>) {
        (name.into(), Some(value.into()), words)
    }

    #[test]
    fn options_with_their_words() {
        let line = "mpirun -np 4 --mca rmaps seq --oversubscribe --map-by=core -H a,b ./a -H x";
        let wanted = [
            option("np", "4", 1..3),
            option("mca rmaps", "seq", 3..6),
            ("oversubscribe".into(), None, 6..7),
            option("map-by", "core", 7..8),
            option("H", "a,b", 8..10),
        ];
        assert_eq!(of(Launcher::OpenMpi, line), wanted);
        let line = "srun -n4 -N 2 --ntasks-per-node=2 -vv -w n[0-1] ./a";
        let wanted = [
            option("n", "4", 1..2),
            option("N", "2", 2..4),
            option("ntasks-per-node", "2", 4..5),
            ("v".into(), None, 5..6),
            ("v".into(), None, 5..6),
            option("w", "n[0-1]", 6..8),
        ];
        assert_eq!(of(Launcher::Srun, line), wanted);
        assert_eq!(
            of(Launcher::Hydra, "mpiexec -hosts a:2 -n 2 ./a : -n 1 ./b"),
            [option("hosts", "a:2", 1..3), option("n", "2", 3..5)]
        );
    }

    /// The words of each program of a launch by Slurm.
    fn programs(launcher: Launcher, line: &str) -> Vec<String> {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let found = LocatedLauncher { launcher, position: 0 };
        let words = |part: &PartWords| command[part.program.clone()].join(" ");
        parts(&found, &command).iter().map(words).collect()
    }

    #[test]
    fn programs_of_slurm_begin_behind_options_without_a_value() {
        let bare = "--kill-on-bad-exit --resv-ports --bcast --compress --propagate --oom-kill-step --x11 \
            --stepmgr --debugger-test --exclusive --overlap -K -I -k -lu -vvv --nice --no-kill -- --kill-on \
            --new-and-unknown";
        for option in bare.split_whitespace() {
            assert_eq!(
                programs(Launcher::Srun, &format!("srun -n 2 {option} ./a --export=x")),
                ["./a --export=x"],
                "{option}"
            );
        }
        for option in
            ["-W 5", "-W5", "--wait 5", "-ln4", "-ln 4", "-F f", "--segment 4", "--distrib block"]
        {
            assert_eq!(programs(Launcher::Srun, &format!("srun {option} a -n 4")), ["a -n 4"]);
        }
        for option in ["--get-user-env", "-W", "--wait", "--parsable", "--kill-on-invalid-dep yes"]
        {
            assert_eq!(
                programs(Launcher::Sbatch, &format!("sbatch {option} ./job.sh x : y")),
                ["./job.sh x : y"],
                "{option}"
            );
        }
        assert_eq!(programs(Launcher::Sbatch, "sbatch -n 1 : -n 2 job a : b"), ["", "job a : b"]);
        assert_eq!(programs(Launcher::Srun, "srun -n 1 ./a : -n 2 ./b"), ["./a", "./b"]);
        assert_eq!(programs(Launcher::Srun, "srun --unheard-of value x"), ["x"]);
        assert_eq!(programs(Launcher::Srun, "srun --unheard-of true x"), ["true x"]);
    }
}
