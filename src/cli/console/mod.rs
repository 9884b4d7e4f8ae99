//! What the command writes: standard output, files, progress, exit codes, words for a shell.

pub(in crate::cli) mod output;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod shell;

/// How a command ended, other than by an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked for.
    Done,
    /// Nothing was found, or nothing is to be gained.
    Nothing,
}
