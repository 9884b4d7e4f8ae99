//! Communicators in use: which task stands behind each of their ranks.
//!
//! An entry is made when a communicator is first recorded on, and goes when the communicator does:
//! an attribute with a delete callback tells, whichever language or path it is freed by. Ranks are
//! translated when first addressed, because some MPIs take time quadratic in the group's size to
//! translate all of them.

use crate::comm::world;
use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::counters::{self, Block};
use crate::record::epoch_sums::Moves;
use crate::record::thread::{self, Thread};
use crate::spill::{self, Region};
use libc::{c_int, c_void};
use parking_lot::{Mutex, RwLock};
use rw::matrix::Kind;
use rw::store::spill::layout::{self, Head};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// In a table of tasks: this rank was not translated yet.
pub const UNKNOWN: u32 = u32::MAX;
/// In a table of tasks: this rank is no task of the job's own world.
pub const OUTSIDE: u32 = u32::MAX - 1;
/// Groups up to this size are translated at once.
const TRANSLATE_ALL: usize = 512;

/// A communicator that traffic was recorded on.
#[derive(Debug)]
pub struct Communicator {
    /// Unique in this process; handles are reused, numbers are not.
    pub number: u64,
    /// Handle to use in calls.
    effective: u64,
    /// The calling process's rank in its own group.
    pub rank: u32,
    /// Size of its own group.
    pub local_size: u32,
    /// True for an intercommunicator.
    pub inter: bool,
    /// Task of each rank that can be addressed: the group, or the remote group.
    tasks: Box<[AtomicU32]>,
    /// Ranks that neighbourhood collectives send to, asked for once.
    neighbours: OnceLock<Vec<c_int>>,
    /// Rank r is task r: no table is needed to tell the tasks.
    identity: bool,
    /// The same table in the spill memory, from the first collective call on.
    spilled: OnceLock<Option<Region>>,
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if let Some(Some(region)) = self.spilled.take() {
            spill::release(region);
        }
    }
}

/// Pointers to entries live in thread caches; they are dropped only by [`forget`].
struct Entry(*mut Communicator);
// SAFETY: the entry is only read through shared references; its fields are Sync.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

static TABLE: RwLock<Option<HashMap<u64, Entry>>> = RwLock::new(None);
static KEYVAL: AtomicI32 = AtomicI32::new(-1);
static NUMBER: AtomicU64 = AtomicU64::new(1);
/// Counts that move from communicators into the rows of the matrix.
pub static MOVES: Moves = Moves::new();

impl Communicator {
    /// Number of ranks that can be addressed.
    pub fn size(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Task behind an addressable rank, or [`OUTSIDE`].
    pub fn task<A: Abi>(&self, rank: u32) -> u32 {
        let Some(slot) = self.tasks.get(rank as usize) else { return OUTSIDE };
        let known = slot.load(Ordering::Relaxed);
        if known != UNKNOWN {
            return known;
        }
        self.translate::<A>(&[rank as c_int]);
        match slot.load(Ordering::Relaxed) {
            UNKNOWN => OUTSIDE,
            task => task,
        }
    }

    /// The same without a call to MPI: [`OUTSIDE`] if it is not known yet.
    pub fn known_task(&self, rank: u32) -> u32 {
        match self.tasks.get(rank as usize).map(|slot| slot.load(Ordering::Relaxed)) {
            Some(task) if task != UNKNOWN => task,
            _ => OUTSIDE,
        }
    }

    /// Translates ranks to tasks and keeps the answers.
    fn translate<A: Abi>(&self, ranks: &[c_int]) {
        let comm = A::Comm::from_bits(self.effective);
        let mut group = A::Group::from_bits(0);
        let mut tasks = A::Group::from_bits(0);
        let mut answers = vec![A::UNDEFINED; ranks.len()];
        // SAFETY: the communicator is alive: the program is using it in this very call, or it is
        // being freed and its delete callback runs. Groups are freed again.
        unsafe {
            let mpi = pmpi::<A>();
            let code = if self.inter {
                mpi.comm_remote_group(comm, &raw mut group)
            } else {
                mpi.comm_group(comm, &raw mut group)
            };
            if code != 0 {
                return;
            }
            if mpi.comm_group(world::tasks::<A>(), &raw mut tasks) == 0 {
                let _ = mpi.group_translate_ranks(
                    group,
                    ranks.len() as c_int,
                    ranks.as_ptr(),
                    tasks,
                    answers.as_mut_ptr(),
                );
                let _ = mpi.group_free(&raw mut tasks);
            }
            let _ = mpi.group_free(&raw mut group);
        }
        for (&rank, &task) in ranks.iter().zip(&answers) {
            let task = if task < 0 { OUTSIDE } else { task as u32 };
            if let Some(slot) = self.tasks.get(rank as usize) {
                slot.store(task, Ordering::Relaxed);
            }
        }
    }

    /// Finds out who stands behind the ranks that `visit_ranks` names, those that a collective call
    /// sends to, and writes it into the spill file.
    pub fn reveal<A: Abi>(&self, visit_ranks: impl FnOnce(&mut dyn FnMut(u32))) {
        let table =
            if spill::has_file() { *self.spilled.get_or_init(|| self.table()) } else { None };
        if self.identity {
            return;
        }
        let mut ranks = Vec::new();
        visit_ranks(&mut |rank| ranks.push(rank));
        ranks.sort_unstable();
        ranks.dedup();
        let unknown: Vec<c_int> = ranks
            .iter()
            .filter(|&&r| {
                self.tasks.get(r as usize).is_some_and(|t| t.load(Ordering::Relaxed) == UNKNOWN)
            })
            .map(|&r| r as c_int)
            .collect();
        if !unknown.is_empty() {
            self.translate::<A>(&unknown);
        }
        let Some(table) = table else { return };
        for rank in ranks {
            if let Some(task) = self.tasks.get(rank as usize) {
                // SAFETY: the table in the region has as many elements of four bytes.
                let place = unsafe { &*(table.body() as *const AtomicU32).add(rank as usize) };
                place.store(task.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }

    /// A region that describes this communicator, with the tasks that are known.
    fn table(&self) -> Option<Region> {
        let flags = [(self.inter, layout::INTER), (self.identity, layout::IDENTITY)];
        let flags = flags.iter().filter(|f| f.0).fold(0, |all, f| all | f.1);
        let head = Head {
            tag: layout::tag::COMMUNICATOR,
            number: self.number,
            shape: [self.rank, self.local_size, self.size(), flags],
            ..Head::default()
        };
        let count = if self.identity { 0 } else { self.tasks.len() };
        spill::allocate(head, count, 4, |body| {
            for (i, task) in self.tasks.iter().take(count).enumerate() {
                // SAFETY: a new region with `count` elements of four bytes.
                unsafe { *(body as *mut u32).add(i) = task.load(Ordering::Relaxed) };
            }
        })
    }

    /// Ranks that a neighbourhood collective on this communicator sends to, in order;
    /// MPI_PROC_NULL stays.
    pub fn neighbours<A: Abi>(&self) -> &[c_int] {
        self.neighbours.get_or_init(|| {
            crate::comm::neighbours::destinations::<A>(
                A::Comm::from_bits(self.effective),
                self.rank,
            )
        })
    }
}

/// Makes the keyval whose delete callback tells that a communicator is gone.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Comm>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().comm_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
        *TABLE.write() = Some(HashMap::new());
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    _comm: A::Comm,
    _keyval: c_int,
    value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    let _ = std::panic::catch_unwind(|| forget::<A>(value as u64));
    0
}

/// Drops the entry with this number, after folding in what was recorded on it.
fn forget<A: Abi>(number: u64) {
    let bits = TABLE.read().as_ref().and_then(|table| {
        // SAFETY: entries in the table are valid until removed, and the lock is held.
        table.iter().find(|(_, e)| unsafe { (*e.0).number == number }).map(|(&bits, _)| bits)
    });
    if let Some(bits) = bits {
        forget_handle::<A>(bits);
    }
}

/// Drops the entry of a handle, after folding in what was recorded on it. No lock is held while MPI
/// is called.
fn forget_handle<A: Abi>(bits: u64) {
    let moving = MOVES.begin();
    let entry = TABLE.write().as_mut().and_then(|table| table.remove(&bits));
    let Some(entry) = entry else { return };
    counters::for_each_thread(|thread| drop_caches(thread, bits));
    // SAFETY: the pointer came from Box::into_raw in `add`, was just taken out of the table, and no
    // thread caches it any more. A thread cannot be using it: the standard forbids using a
    // communicator while it is being freed.
    let communicator = unsafe { Box::from_raw(entry.0) };
    counters::for_each_block(|block| {
        crate::record::collective::fold::<A>(block, &communicator);
    });
    drop(moving);
}

/// Handles that are being freed right now: their attribute callbacks may use them, but nothing is
/// kept about them any more.
static LEAVING: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// A communicator on its way out, from before it is freed until the call has returned.
#[derive(Debug)]
pub struct Leaving(u64);

impl Leaving {
    /// Folds in what was recorded on `comm` and keeps it from being recorded on again.
    pub fn start<A: Abi>(comm: A::Comm) -> Self {
        let bits = comm.bits();
        if comm != A::comm_world() {
            LEAVING.lock().push(bits);
            crate::sys::panic_barrier::guarded(|| {
                forget_handle::<A>(bits);
                Some(())
            });
        }
        Leaving(bits)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut leaving = LEAVING.lock();
        if let Some(at) = leaving.iter().position(|&bits| bits == self.0) {
            leaving.swap_remove(at);
        }
    }
}

fn drop_caches(thread: &Thread, bits: u64) {
    if thread.comm.load(Ordering::Relaxed) == bits {
        thread.forget_communicator();
    }
}

/// A reduction operation is being freed: the next one of this handle may not commute.
pub fn forget_reductions() {
    counters::for_each_thread(|thread| {
        thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    });
}

/// Forgets everything that threads have cached: recording stops or the world changes.
pub fn drop_all_caches() {
    counters::for_each_thread(|thread| {
        thread.forget_communicator();
        crate::record::datatypes::drop_all(thread);
        thread.win.store(0, Ordering::Relaxed);
    });
}

/// Visits every communicator in use; no lock is held meanwhile, so `visit` may call MPI.
///
/// To be called where no other thread frees communicators: at the end of the job.
pub fn for_each(mut visit: impl FnMut(&Communicator)) {
    let entries: Vec<*mut Communicator> =
        TABLE.read().as_ref().map(|t| t.values().map(|e| e.0).collect()).unwrap_or_default();
    for entry in entries {
        // SAFETY: an entry of the table; see above for why it is not dropped meanwhile.
        visit(unsafe { &*entry });
    }
}

/// The same at any time: none of them is freed meanwhile. `visit` must not call MPI.
pub fn look_at_each(mut visit: impl FnMut(&Communicator)) {
    let table = TABLE.read();
    for entry in table.iter().flat_map(HashMap::values) {
        // SAFETY: entries in the table are valid until removed, and the lock is held.
        visit(unsafe { &*entry.0 });
    }
}

/// Whether neighbourhood collectives were recorded on a communicator. No call to MPI.
pub fn has_neighbours(bits: u64) -> bool {
    let table = TABLE.read();
    let entry = table.as_ref().and_then(|table| table.get(&bits));
    // SAFETY: entries in the table are valid until removed, and the lock is held.
    entry.is_some_and(|entry| unsafe { (*entry.0).neighbours.get().is_some() })
}

/// Makes `comm` the calling thread's current communicator; `None` while nothing is recorded, or
/// when `comm` is no valid communicator.
#[cold]
#[inline(never)]
pub fn enter<A: Abi>(comm: A::Comm) -> Option<(&'static Thread, &'static Communicator)> {
    let thread = thread::current();
    if thread.comm.load(Ordering::Relaxed) == comm.bits() {
        let known = thread.communicator.load(Ordering::Relaxed);
        // SAFETY: cached pointers are cleared before their entry is dropped.
        return Some((thread, unsafe { &*known }));
    }
    let block: &Block = counters::mine()?;
    let communicator = find::<A>(comm)?;
    thread.effective.store(communicator.effective, Ordering::Relaxed);
    thread.size.store(communicator.size(), Ordering::Relaxed);
    thread.tasks.store(communicator.tasks.as_ptr().cast_mut(), Ordering::Relaxed);
    if let Some(row) = block.row(Kind::PointToPoint) {
        thread.cells.store(row.as_ptr().cast_mut(), Ordering::Relaxed);
    }
    thread.communicator.store(std::ptr::from_ref(communicator).cast_mut(), Ordering::Relaxed);
    thread.collective_calls.store(std::ptr::null_mut(), Ordering::Relaxed);
    thread.comm.store(comm.bits(), Ordering::Relaxed);
    Some((thread, communicator))
}

fn find<A: Abi>(comm: A::Comm) -> Option<&'static Communicator> {
    let bits = comm.bits();
    let known = TABLE.read().as_ref()?.get(&bits).map(|e| e.0);
    if let Some(known) = known {
        // SAFETY: see `Entry`; the program is using the communicator, so it is not being freed.
        return Some(unsafe { &*known });
    }
    add::<A>(comm)
}

fn add<A: Abi>(comm: A::Comm) -> Option<&'static Communicator> {
    if comm == A::comm_null() || comm.bits() == 0 || LEAVING.lock().contains(&comm.bits()) {
        return None;
    }
    let effective = world::effective::<A>(comm);
    let mpi = pmpi::<A>();
    let (mut rank, mut local, mut remote, mut inter) = (0, 0, 0, 0);
    // SAFETY: the handle is one that the program passes to MPI right now. An invalid one would be
    // reported by the call that follows; here the error handler of the true world could be called
    // for it, as it would be by that call.
    unsafe {
        if mpi.comm_test_inter(effective, &raw mut inter) != 0
            || mpi.comm_rank(effective, &raw mut rank) != 0
            || mpi.comm_size(effective, &raw mut local) != 0
            || (inter != 0 && mpi.comm_remote_size(effective, &raw mut remote) != 0)
        {
            return None;
        }
    }
    let size = if inter != 0 { remote } else { local } as usize;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let identity = comm == A::comm_world();
    let communicator = Box::into_raw(Box::new(Communicator {
        number,
        effective: effective.bits(),
        rank: rank as u32,
        local_size: local as u32,
        inter: inter != 0,
        tasks: (0..size)
            .map(|r| AtomicU32::new(if identity { r as u32 } else { UNKNOWN }))
            .collect(),
        neighbours: OnceLock::new(),
        identity,
        spilled: OnceLock::new(),
    }));
    // SAFETY: just made; it is dropped only by `forget`.
    let reference: &'static Communicator = unsafe { &*communicator };
    if !identity && size <= TRANSLATE_ALL {
        let ranks: Vec<c_int> = (0..size as c_int).collect();
        reference.translate::<A>(&ranks);
    }
    {
        let mut table = TABLE.write();
        let Some(table) = table.as_mut() else {
            // SAFETY: made above and not shared yet.
            drop(unsafe { Box::from_raw(communicator) });
            return None;
        };
        if let Some(other) = table.get(&comm.bits()) {
            // Another thread was faster.
            // SAFETY: made above and not shared yet.
            drop(unsafe { Box::from_raw(communicator) });
            // SAFETY: entries in the table are valid; see above.
            return Some(unsafe { &*other.0 });
        }
        table.insert(comm.bits(), Entry(communicator));
    }
    // The world lives until the end; everything else tells when it goes. MPI is not called with the
    // table locked: it may call back.
    if !identity {
        let keyval = KEYVAL.load(Ordering::Acquire);
        // SAFETY: keyval and communicator are valid; the value is a number, never dereferenced.
        let code = unsafe { mpi.comm_set_attr(effective, keyval, number as *mut c_void) };
        if code != 0 {
            forget::<A>(number);
            return None;
        }
    }
    Some(reference)
}

/// The end of recording: entries are taken out of the table (their attributes outlive it).
pub fn stop() {
    *TABLE.write() = None;
}
