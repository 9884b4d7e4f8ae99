//! Options that several commands share, and what they stand for.

pub(in crate::cli) mod instance;
pub(in crate::cli) mod number_file;
pub(in crate::cli) mod selection;
pub(in crate::cli) mod settings;

use std::time::Duration;

/// A time limit: seconds, or a number with a unit such as `10m`.
pub(in crate::cli) fn time_limit(text: &str) -> Result<Duration, String> {
    crate::options::seconds(text).map_err(|e| e.to_string())
}
