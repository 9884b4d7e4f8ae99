//! The option that lets the runtime of AddressSanitizer come behind the preloaded library. Programs need it
//! that were built with AddressSanitizer and have options of their own.

use crate::cli::inspect::sanitizer::{OPTIONS, needs_option, with_option};
use crate::cli::inspect::{LaunchLine, Part, start};
use crate::cli::launcher::LocatedLauncher;

/// ASAN_OPTIONS for a launch: the options of the user and this option. `None` if no program needs the option,
/// or if the command line sets the variable. The launcher's value then counts, and `doctor` shows what to add.
pub(super) fn variable(found: &LocatedLauncher, command: &[String]) -> Option<(String, String)> {
    let launch = LaunchLine::of(found, command);
    let is_set = |part: &Part| part.variables.iter().any(|v| v.0 == OPTIONS);
    let needs = |part: &Part| start(part).binary().is_some_and(needs_option);
    if launch.parts.iter().any(is_set) || !launch.parts.iter().any(needs) {
        return None;
    }
    let given = std::env::var(OPTIONS).ok();
    Some((OPTIONS.to_string(), with_option(given.as_deref())?))
}
