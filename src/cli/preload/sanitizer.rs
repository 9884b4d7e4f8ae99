//! For programs that were built with AddressSanitizer and have options of their own for it: the option
//! that lets its runtime come behind the preloaded library.

use crate::cli::inspect::sanitizer::{OPTIONS, needs_option, with_option};
use crate::cli::inspect::{LaunchLine, Part, Program, start};
use crate::cli::launcher::LocatedLauncher;

/// ASAN_OPTIONS for a launch, with what the user set; `None` if no program needs it, or if the command line
/// sets the variable itself (the launcher then has the last word, and `doctor` tells what to add).
pub(super) fn variable(found: &LocatedLauncher, command: &[String]) -> Option<(String, String)> {
    let launch = LaunchLine::of(found, command);
    let is_set = |part: &Part| part.variables.iter().any(|v| v.0 == OPTIONS);
    let needs = |program: &Program| match program {
        Program::Binary(image) => needs_option(image),
        _ => false,
    };
    if launch.parts.iter().any(is_set)
        || !launch.parts.iter().any(|part| needs(&start(part).program))
    {
        return None;
    }
    let given = std::env::var(OPTIONS).ok();
    Some((OPTIONS.to_string(), with_option(given.as_deref())?))
}
