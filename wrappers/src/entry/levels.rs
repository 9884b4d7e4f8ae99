//! Decides where the slots point: to the wrappers or to the next functions, depending on the level.

use crate::entry::generated::{Wrapper, wrapper};
use crate::entry::next::NEXT;
use crate::entry::slots;
use crate::job::hooks::Level;
use crate::mpi::library::{self, Family};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

static LEVEL: AtomicU8 = AtomicU8::new(Level::Record as u8);
static LOCK: Mutex<()> = Mutex::new(());

/// Points a slot to its wrapper or to `next`, its next function, and returns the address that it chose.
pub fn place(index: usize, family: Family, next: *const ()) -> *const () {
    let _held = LOCK.lock();
    let target = choose(wrapper(family, index), level(), next);
    slots::point(index, target);
    target
}

fn choose(wrapper: Wrapper, level: Level, next: *const ()) -> *const () {
    match wrapper {
        Wrapper::Records(function) if level >= Level::Record => function,
        Wrapper::Translates(function) if level >= Level::Reorder => function,
        _ => next,
    }
}

fn level() -> Level {
    match LEVEL.load(Ordering::Acquire) {
        0 => Level::Off,
        1 => Level::Record,
        _ => Level::Reorder,
    }
}

/// Changes the level, and points every slot that was resolved before to the function that the level asks for.
pub fn set_level(new: Level) {
    let _held = LOCK.lock();
    LEVEL.store(new as u8, Ordering::Release);
    let Some(library) = library::get() else { return };
    for (index, next) in NEXT.iter().enumerate() {
        let next = next.load(Ordering::Acquire);
        if !next.is_null() {
            slots::point(index, choose(wrapper(library.family, index), new, next));
        }
    }
    slots::changed();
}
