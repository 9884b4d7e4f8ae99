//! What the command writes: standard output, files, progress, exit codes, words for a shell. Also the
//! time and the name of the host, which records name.

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

/// The name of this host; empty if it is not known.
pub(in crate::cli) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_string()
}
