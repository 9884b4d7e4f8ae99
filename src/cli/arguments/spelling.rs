//! Options before the launch that are nearly right.
//!
//! A command with a launch takes every word behind its options as part of the launch, also a word that begins
//! with a hyphen. A misspelt option would therefore be looked for as a program.

use crate::base::nearest::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;

/// The command line with `--verbose 2` as one word, as it is with `=`. The value of `--verbose` may be left out,
/// so that the parser does not take the next word for it.
pub(in crate::cli) fn with_joined_levels(
    words: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_before_launch = true;
    for word in words {
        is_before_launch &= word != "--";
        let is_level = ["0", "1", "2"].iter().any(|level| word == *level);
        match joined.last_mut() {
            Some(last) if is_before_launch && is_level && last == "--verbose" => {
                last.push("=");
                last.push(word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Refuses a launch that begins with a hyphen: it is an option that the command does not have.
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
    }
}
