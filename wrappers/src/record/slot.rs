//! The data of a communicator in the table of communicators in use: the fields that the fast paths read, and
//! how communicators are added and removed.
//!
//! For messages on a communicator of up to [`IN_SLOT`] ranks, the fields of the slot are enough. Such a communicator
//! gets an entry only when a call needs more, such as a collective call. Programs that make very many
//! communicators make small ones, and each access to memory counts there.

use crate::record::communicator::Communicator;
use crate::record::registry::{Node, Registry};
use crate::sys::sync::{Arc, AtomicPtr, AtomicU32, AtomicU64};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// Up to this many ranks have their tasks in the slot itself.
pub const IN_SLOT: usize = 3;

/// What the fast paths need of a communicator. They read it by the offsets of its fields.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Slot {
    /// Handle to use in calls (differs for a replaced world).
    pub effective: AtomicU64,
    /// Number of the communicator.
    pub number: AtomicU64,
    /// Task of each rank that can be addressed, or [`OUTSIDE`](crate::record::communicator::OUTSIDE) or
    /// [`UNKNOWN`](crate::record::communicator::UNKNOWN).
    pub tasks: AtomicPtr<AtomicU32>,
    /// Number of ranks that can be addressed.
    pub size: AtomicU32,
    /// The tasks of a small communicator. `tasks` then points here, because this cache line is read anyway.
    few: [AtomicU32; IN_SLOT],
    /// The communicator, owned by the table; null until it is needed.
    pub entry: AtomicPtr<Communicator>,
}

impl Slot {
    /// Describes a communicator, which the table owns from now on.
    #[inline(always)]
    pub fn fill(&self, communicator: Arc<Communicator>) {
        self.effective.store(communicator.effective(), Ordering::Relaxed);
        self.number.store(communicator.number, Ordering::Relaxed);
        // All ranks of a small communicator are translated when it is made, so that its tasks do not change any
        // more.
        let few = communicator.tasks().len() <= IN_SLOT;
        for (slot, task) in self.few.iter().zip(communicator.tasks().iter()) {
            slot.store(task.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let tasks = if few { self.few.as_ptr() } else { communicator.tasks().as_ptr() };
        self.tasks.store(tasks.cast_mut(), Ordering::Relaxed);
        self.size.store(communicator.size(), Ordering::Relaxed);
        self.entry.store(Arc::into_raw(communicator).cast_mut(), Ordering::Release);
    }

    /// Describes a communicator without an entry, whose ranks are these tasks, at most [`IN_SLOT`].
    pub fn fill_few(&self, number: u64, effective: u64, tasks: &[u32]) {
        self.effective.store(effective, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        for (slot, task) in self.few.iter().zip(tasks) {
            slot.store(*task, Ordering::Relaxed);
        }
        self.tasks.store(self.few.as_ptr().cast_mut(), Ordering::Relaxed);
        self.size.store(tasks.len().min(IN_SLOT) as u32, Ordering::Relaxed);
        self.entry.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Takes the entry out; `None` if the slot has none. The slot gets a size of 0, so that the fast
    /// paths find no rank in it.
    pub fn empty(&self) -> Option<Arc<Communicator>> {
        self.effective.store(u64::MAX, Ordering::Relaxed);
        self.size.store(0, Ordering::Relaxed);
        let entry = self.entry.swap(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the address came from `Arc::into_raw` in `fill` and is taken once.
        (!entry.is_null()).then(|| unsafe { Arc::from_raw(entry) })
    }

    /// Whether collective calls were counted on the communicator that are expanded later. Only to be called
    /// while the communicator is being freed, by the thread that frees it.
    pub fn has_collectives(&self) -> bool {
        // SAFETY: the entry is dropped only when its communicator is freed, which only the caller may do now.
        unsafe { self.entry.load(Ordering::Acquire).as_ref() }
            .is_some_and(|entry| entry.has_collectives())
    }

    /// The communicator, as a shared reference. To be called under the lock of the table.
    pub fn shared(&self) -> Option<Arc<Communicator>> {
        let entry = self.entry.load(Ordering::Acquire).cast_const();
        // SAFETY: as in `empty`; the caller holds the lock under which it is given back.
        (!entry.is_null()).then(|| unsafe {
            Arc::increment_strong_count(entry);
            Arc::from_raw(entry)
        })
    }
}

impl Registry<Slot> {
    /// Adds a communicator, unless another thread added it first. `tell` makes MPI report when the communicator
    /// is freed, and returns whether this succeeded. No lock is held during `tell`. `None` if `tell` failed:
    /// the caller then removes the communicator.
    pub fn enter(
        &self,
        bits: u64,
        made: Communicator,
        tell: impl FnOnce() -> bool,
    ) -> Option<&'static Node<Slot>> {
        let made = Arc::new(made);
        self.enter_as(bits, |slot| slot.fill(made), tell)
    }

    /// Adds a communicator as [`enter`](Self::enter) does. `fill` describes it.
    pub fn enter_as(
        &self,
        bits: u64,
        fill: impl FnOnce(&Slot),
        tell: impl FnOnce() -> bool,
    ) -> Option<&'static Node<Slot>> {
        let node = match self.insert(bits, fill) {
            Ok(node) => node,
            // Another thread added the communicator first, and calls its own `tell`.
            Err(other) => return Some(other),
        };
        if tell() {
            return Some(node);
        }
        // The entry stays in memory, because another thread may be using it.
        std::mem::forget(self.look(bits, Slot::shared));
        None
    }

    /// Gives a communicator an entry, unless another thread did so first: the entry. `None` if the table does not
    /// have the communicator.
    pub fn complete(&self, bits: u64, made: Communicator) -> Option<NonNull<Communicator>> {
        let made = Arc::new(made);
        self.look(bits, |slot| {
            let known = NonNull::new(slot.entry.load(Ordering::Relaxed));
            known.or_else(|| {
                let entry = Arc::into_raw(made).cast_mut();
                slot.entry.store(entry, Ordering::Release);
                NonNull::new(entry)
            })
        })
    }

    /// Removes a communicator that is being freed: its entry, if it has one. If a number is given, it is removed only
    /// if it has this number.
    pub fn leave(&self, bits: u64, number: Option<u64>) -> Option<Arc<Communicator>> {
        let meant = |slot: &Slot| number.is_none_or(|n| n == slot.number.load(Ordering::Relaxed));
        self.remove(bits, |slot| meant(slot).then(|| slot.empty())).flatten()
    }
}
