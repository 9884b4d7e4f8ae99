//! Registers the functions of the entry points that lower folders call. This happens before the first call
//! passes through an entry point.

use crate::entry::{direct_calls, internal_calls, levels, slots, visibility};
use crate::job::hooks::{ENTRIES, Entries};
use crate::job::start;
use crate::record::counters::LATE_START;
use crate::time::{SLOTS, Slots};

/// Registers all these functions.
pub fn register() {
    LATE_START.set(start::start_late);
    SLOTS.set(Slots { all: slots::changed, one: slots::point_timed });
    ENTRIES.set(Entries {
        set_level: levels::set_level,
        redirect: internal_calls::redirect,
        excess: visibility::excess,
        overtaken: visibility::overtaken,
        direct_caller,
        complete: visibility::complete,
    });
}

/// See [`direct_calls::direct_caller`].
fn direct_caller() -> Option<String> {
    let functions = visibility::c_functions();
    let names: Vec<_> = functions.iter().map(|&(name, _, _)| name).collect();
    direct_calls::direct_caller(&names)
}
