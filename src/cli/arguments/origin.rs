//! From where the value of an option came: the command line, a file, or a variable. Messages name it, so that a user
//! finds the value.

use super::setting_files;
use crate::options::find;
use std::sync::OnceLock;

/// The options of the command line.
static GIVEN: OnceLock<Vec<&'static str>> = OnceLock::new();

/// Notes the options that the command line has. Only the first call counts.
pub(in crate::cli) fn remember(given: impl Iterator<Item = &'static str>) {
    let _ = GIVEN.set(given.collect());
}

/// Whether the command line has this option.
pub(in crate::cli) fn is_given(name: &str) -> bool {
    GIVEN.get().is_some_and(|given| given.contains(&name))
}

/// Where a user finds the value of an option: `--topology`, `RANKWEAVE_TOPOLOGY`, or its name and the file.
pub(in crate::cli) fn origin(name: &str) -> String {
    let Some(option) = find(name).filter(|_| !is_given(name)) else { return format!("--{name}") };
    match setting_files::origin(option) {
        Some(file) => format!("{name} in {}", file.display()),
        None => option.env.into(),
    }
}
