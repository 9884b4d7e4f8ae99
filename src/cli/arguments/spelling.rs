//! Options before the launch that are nearly right.
//!
//! A command with a launch takes every word behind its options as part of the launch, also a word that begins
//! with a hyphen. A misspelt option would therefore be looked for as a program. The same holds for options of a launcher
//! whose name was forgotten, and for options behind `--`.

use crate::base::nearest::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;

/// Options of launchers that come first, in a launch whose launcher was forgotten.
const OF_LAUNCHERS: [&str; 8] =
    ["-n", "-np", "-N", "-c", "-ppn", "--ntasks", "--nodes", "--oversubscribe"];

/// The command line with `--verbose 2` and `-v 2` as one word, as it is with `=`. The value of `--verbose` may be left
/// out, so that the parser does not take the next word for it. No program is called by a number, so any number is joined,
/// and the parser says which numbers there are.
pub(in crate::cli) fn with_joined_levels(
    words: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_before_launch = true;
    for word in words {
        is_before_launch &= word != "--";
        let is_number = word.as_encoded_bytes().iter().all(u8::is_ascii_digit) && !word.is_empty();
        match joined.last_mut() {
            Some(last)
                if is_before_launch && is_number && (last == "--verbose" || last == "-v") =>
            {
                *last = OsString::from("--verbose=");
                last.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
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
    let launch: Vec<&str> =
        given.get_many::<String>("launch").into_iter().flatten().map(String::as_str).collect();
    let misplaced =
        |what: String| clap::Error::raw(ErrorKind::UnknownArgument, what).with_cmd(command);
    if OF_LAUNCHERS.contains(&word) {
        let launch = launch.join(" ");
        return Err(misplaced(format!(
            "{word} is an option of a launcher, but no launcher is given, so nothing is launched; try: rankweave {name} -- \
             mpirun {launch}\n"
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
        let joined = |line: &str| {
            let words = with_joined_levels(line.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(joined("run --verbose 2 -- a --verbose 2"), "run --verbose=2 -- a --verbose 2");
        assert_eq!(joined("run --verbose 2 mpirun"), "run --verbose=2 mpirun");
        assert_eq!(joined("run --verbose mpirun"), "run --verbose mpirun");
        assert_eq!(joined("run --verbose=1 2"), "run --verbose=1 2");
        assert_eq!(joined("run -v 2 mpirun"), "run --verbose=2 mpirun");
        assert_eq!(joined("run --verbose 30 mpirun"), "run --verbose=30 mpirun");
        assert_eq!(joined("run -v mpirun 2"), "run -v mpirun 2");
    }
}
