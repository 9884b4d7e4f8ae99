//! The options of a launcher one by one, with the words that they take in the command line, so that single options
//! can be read and taken out.

use super::launch_line::{LaunchLine, values};
use crate::cli::launcher::LocatedLauncher;
use std::ops::Range;

/// An option of a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionWords {
    /// Its name without dashes, and without a value that is part of the word.
    pub name: String,
    /// Its value: the next word, or the text behind `=`. For short options of srun also the rest of the word
    /// (`-n4`).
    pub value: Option<String>,
    /// Its words, as indices of the command.
    pub words: Range<usize>,
}

/// The options of the launcher in front of its first program, in their order. A value that is not known to belong to
/// an option is skipped.
pub fn option_words(
    found: &LocatedLauncher,
    launch: &LaunchLine,
    command: &[String],
) -> Vec<OptionWords> {
    let end = launch.starts.first().copied().unwrap_or(command.len());
    let mut options = Vec::new();
    let mut at = found.position + 1;
    while at < end {
        let word = &command[at];
        if !word.starts_with('-') || word == "--" {
            at += 1;
            continue;
        }
        let plain = word.trim_start_matches('-');
        let is_double = word.starts_with("--");
        let (name, inline) = match plain.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None if !is_double && is_packed(found, plain) => {
                let (name, rest) = plain.split_at(1);
                (name, Some(rest.to_string()))
            }
            None => (plain, None),
        };
        let count = match inline {
            Some(_) => 0,
            None => values(found.launcher, word).unwrap_or(0).min(end - at - 1),
        };
        let value = inline.or_else(|| (count > 0).then(|| command[at + count].clone()));
        // Of two values (`--mca NAME VALUE`) the first belongs to the name.
        let name = match count {
            2 => format!("{name} {}", command[at + 1]),
            _ => name.to_string(),
        };
        options.push(OptionWords { name, value, words: at..at + 1 + count });
        at += 1 + count;
    }
    options
}

/// Whether a word of srun with one dash holds the value of its option, such as `n4`.
fn is_packed(found: &LocatedLauncher, plain: &str) -> bool {
    use crate::cli::launcher::Launcher;
    let mut letters = plain.chars();
    let takes_value =
        |c: char| values(Launcher::Srun, &format!("-{c}")).is_some_and(|count| count == 1);
    found.launcher == Launcher::Srun
        && letters.next().is_some_and(takes_value)
        && letters.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::launcher::Launcher;

    fn of(launcher: Launcher, line: &str) -> Vec<(String, Option<String>, Range<usize>)> {
        let command: Vec<String> = line.split(' ').map(str::to_string).collect();
        let found = LocatedLauncher { launcher, position: 0 };
        let launch = LaunchLine::of(&found, &command);
        let options = option_words(&found, &launch, &command);
        options.into_iter().map(|o| (o.name, o.value, o.words)).collect()
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
            ("vv".into(), None, 5..6),
            option("w", "n[0-1]", 6..8),
        ];
        assert_eq!(of(Launcher::Srun, line), wanted);
        assert_eq!(
            of(Launcher::Hydra, "mpiexec -hosts a:2 -n 2 ./a : -n 1 ./b"),
            [option("hosts", "a:2", 1..3), option("n", "2", 3..5)]
        );
    }
}
