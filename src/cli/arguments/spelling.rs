//! Options before the launch that are nearly right.
//!
//! A command with a launch takes every word behind its options as part of the launch, also a word that begins with a
//! hyphen. A misspelt option would therefore be looked for as a program. The same holds for options of a launcher
//! whose name was forgotten, and for options behind `--`.

use crate::base::nearest::nearest;
use crate::cli::console::shell::quoted;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;

/// Options of launchers that come first, in a launch whose launcher was forgotten, and a launcher that has them.
const OF_LAUNCHERS: [(&str, &str); 8] = [
    ("-n", "mpirun"),
    ("-np", "mpirun"),
    ("-ppn", "mpirun"),
    ("--oversubscribe", "mpirun"),
    ("-N", "srun"),
    ("-c", "srun"),
    ("--ntasks", "srun"),
    ("--nodes", "srun"),
];

/// The command line with `--verbose 2` and `-v 2` as one word, as it is with `=`. The value of `--verbose` may be left
/// out, so that the parser does not take the next word for it. No program is called by a number, so any number is
/// joined, and the parser says which numbers there are. Words of the launch stay as they are, with `--` before it or
/// without.
pub(in crate::cli) fn with_joined_levels(
    command: &Command,
    words: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut k = 1;
    while k + 1 < words.len() && words[k] != "--" {
        let number = words[k + 1].as_encoded_bytes();
        let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
        let is_verbose = words[k] == "--verbose" || words[k] == "-v";
        if is_number && is_verbose && is_before_launch(command, &words[..=k]) {
            let mut joined = OsString::from("--verbose=");
            joined.push(words.remove(k + 1));
            words[k] = joined;
        }
        k += 1;
    }
    words
}

/// Whether a word behind these would be the first of the launch.
fn is_before_launch(command: &Command, words: &[OsString]) -> bool {
    let words = words.iter().cloned().chain(["launcher".into()]);
    let Ok(matches) = command.clone().try_get_matches_from(words) else { return false };
    let Some((_, given)) = matches.subcommand() else { return false };
    matches!(given.try_get_many::<String>("launch"), Ok(Some(launch)) if launch.len() == 1)
}

/// Refuses a launch that begins with a hyphen: it is an option that the command does not have, or that is not in its
/// place.
///
/// `command` is the whole command line. Errors: that of the parser for an unknown argument, with the option that is
/// most like it.
pub(in crate::cli) fn check(
    command: &mut Command,
    matches: &ArgMatches,
) -> Result<(), clap::Error> {
    let Some((name, given)) = matches.subcommand() else { return Ok(()) };
    let Ok(Some(mut launch)) = given.try_get_many::<String>("launch") else { return Ok(()) };
    let Some(first) = launch.next().filter(|word| word.len() > 1 && word.starts_with('-')) else {
        return Ok(());
    };
    let Some(command) = command.find_subcommand_mut(name) else { return Ok(()) };
    let word = first.split('=').next().unwrap_or(first);
    let options: Vec<String> =
        command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    let launch = given.get_many::<String>("launch").into_iter().flatten();
    let launch = launch.map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let misplaced =
        |what: String| clap::Error::raw(ErrorKind::UnknownArgument, what).with_cmd(command);
    // Also -n4.
    let is_like = |option: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()))
    };
    if let Some((_, launcher)) = OF_LAUNCHERS.iter().find(|(option, _)| is_like(option)) {
        return Err(misplaced(format!(
            "{word} is an option of a launcher, but no launcher is given, so nothing is launched; try: rankweave {name} -- \
             {launcher} {launch}\n"
        )));
    }
    if options.iter().any(|option| option == word) {
        return Err(misplaced(format!(
            "{word} is an option of rankweave, and behind -- it would be a part of the launch; try: write it before --, as \
             in 'rankweave {name} {word} … -- mpirun -n RANKS ./app'\n"
        )));
    }
    let mut error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    error.insert(ContextKind::InvalidArg, ContextValue::String(word.to_string()));
    if let Some(option) = nearest(word, options.iter().map(String::as_str)) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(option.to_string()));
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_joined_before_the_launch_only() {
        let command = crate::cli::command();
        let joined = |line: &str| {
            let words = with_joined_levels(&command, line.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        let changed = [
            ("rw run --verbose 2 -- a --verbose 2", "rw run --verbose=2 -- a --verbose 2"),
            ("rw run --verbose 2 mpirun", "rw run --verbose=2 mpirun"),
            ("rw run -v 2 mpirun", "rw run --verbose=2 mpirun"),
            ("rw run --verbose 30 mpirun", "rw run --verbose=30 mpirun"),
            ("rw run --seed 3 -v 2 mpirun -v 3", "rw run --seed 3 --verbose=2 mpirun -v 3"),
        ];
        for (line, wanted) in changed {
            assert_eq!(joined(line), wanted);
        }
        for same in [
            "rw run --verbose mpirun",
            "rw run --verbose=1 2",
            "rw run -v mpirun 2",
            "rw run mpirun -n 1 ./app -v 3 --verbose 100",
            "rw run env ./app -v 3",
            "rw run -- mpirun ./app --verbose 3",
            "rw run --key -v 3 mpirun",
            "rw topo -v 3",
            "rw list --verbose 3",
        ] {
            assert_eq!(joined(same), same);
        }
    }
}
