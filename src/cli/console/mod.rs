//! The output of the command: standard output, files, progress, exit codes, and words for a shell. Also the
//! name of this host.

pub(in crate::cli) mod output;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod shell;

/// How a command ended, other than by an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command did its work.
    Done,
    /// The command found nothing, or its answer is negative.
    Nothing,
}

/// The name of this host; empty if it is not known.
pub(in crate::cli) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_string()
}
