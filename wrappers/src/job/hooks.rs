//! Functions of the entry points that a job calls. The entry points lie above this folder, so they register
//! these functions here.

use crate::sys::hook::Hook;

/// How much of the wrappers is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Every call goes straight to the MPI library.
    Off = 0,
    /// Wrappers that record.
    Record = 1,
    /// All wrappers: the world is replaced.
    Reorder = 2,
}

/// The functions of the entry points.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    /// Changes how much is wrapped.
    pub set_level: fn(Level),
    /// Points the MPI library's own references to MPI functions past this library.
    pub redirect: fn(),
    /// The name of an MPI function that the program sees although its MPI library lacks it.
    pub excess: fn() -> Option<String>,
    /// The file of another tool that receives calls before this library.
    pub overtaken: fn() -> Option<&'static str>,
    /// The file of a library that calls MPI functions under their profiling names.
    pub direct_caller: fn() -> Option<String>,
    /// Whether this library sees all calls of the program.
    pub complete: fn() -> bool,
}

/// Registered before any wrapper calls a function of this folder.
pub static ENTRIES: Hook<Entries> = Hook::new();

/// See [`Entries::set_level`].
pub fn set_level(level: Level) {
    if let Some(entries) = ENTRIES.get() {
        (entries.set_level)(level);
    }
}

/// See [`Entries::redirect`].
pub fn redirect() {
    if let Some(entries) = ENTRIES.get() {
        (entries.redirect)();
    }
}

/// See [`Entries::excess`].
pub fn excess() -> Option<String> {
    ENTRIES.get().and_then(|entries| (entries.excess)())
}

/// See [`Entries::overtaken`].
pub fn overtaken() -> Option<&'static str> {
    ENTRIES.get().and_then(|entries| (entries.overtaken)())
}

/// See [`Entries::direct_caller`].
pub fn direct_caller() -> Option<String> {
    ENTRIES.get().and_then(|entries| (entries.direct_caller)())
}

/// See [`Entries::complete`].
pub fn complete() -> bool {
    ENTRIES.get().is_none_or(|entries| (entries.complete)())
}
