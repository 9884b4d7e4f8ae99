//! The time of day.

use std::time::{Duration, SystemTime};

/// The time since 1970-01-01 UTC; 0 if the clock of the system is set to an earlier time.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
