//! The memory of the counters: regions of a spill file, or of private memory where there is no file.
//!
//! A region is a row of counters, the table of a communicator, or a list of collective calls.
//! [`rw::store::spill::layout`] describes the layout. Regions never move, and their addresses stay
//! valid until the process ends. Nothing here is called per message.
//!
//! In a child of fork the mapping is the parent's file. A child must not call MPI, and nothing here
//! writes from a child.

pub mod calls;
pub mod file;

use crate::spill::file::{Extent, SpillFile, page};
use crate::sys::message;
use parking_lot::Mutex;
use rw::store::spill::layout::{self, HEAD, Head, word};
use rw::store::spill::{About, candidates};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes that are mapped at a time, at least.
const CHUNK: usize = 16 << 10;

/// Address of the header of the spill file; 0 = there is none.
static HEADER: AtomicUsize = AtomicUsize::new(0);
/// Number of the process that has the file.
static OWNER: AtomicU32 = AtomicU32::new(0);
static ARENA: Mutex<Arena> = Mutex::new(Arena::new());

#[derive(Debug)]
struct Arena {
    file: Option<SpillFile>,
    next: usize,
    left: usize,
    /// Regions that were given back. Each entry has a length and the addresses of the regions of this length. There
    /// are few lengths.
    free: Vec<(usize, Vec<usize>)>,
}

impl Arena {
    const fn new() -> Self {
        Arena { file: None, next: 0, left: 0, free: Vec::new() }
    }

    /// Zero bytes for a region, at a multiple of the alignment.
    fn take(&mut self, length: usize) -> Option<usize> {
        if let Some(address) = self.free.iter_mut().find(|f| f.0 == length).and_then(|f| f.1.pop())
        {
            // SAFETY: a region of this length, given back by its user. Its head tells its length until
            // it has a new one.
            unsafe { std::ptr::write_bytes((address + HEAD) as *mut u8, 0, length - HEAD) };
            return Some(address);
        }
        if length > self.left {
            let extent = self.extent(length.max(CHUNK))?;
            if extent.length - length <= self.left {
                // More is left of the extent in use than would be left of the new one: that stays in use.
                return Some(extent.address);
            }
            (self.next, self.left) = (extent.address, extent.length);
        }
        let address = self.next;
        self.next += length;
        self.left -= length;
        Some(address)
    }

    /// Takes back a region of this length.
    fn give_back(&mut self, length: usize, address: usize) {
        match self.free.iter_mut().find(|f| f.0 == length) {
            Some((_, addresses)) => addresses.push(address),
            None => self.free.push((length, vec![address])),
        }
    }

    fn extent(&mut self, length: usize) -> Option<Extent> {
        if let Some(file) = &mut self.file {
            if let Ok(extent) = file.grow(length) {
                return Some(extent);
            }
            count(word::UNRESERVED);
        }
        private(length)
    }
}

/// Anonymous zero pages, taken from the system when they are touched.
fn private(length: usize) -> Option<Extent> {
    let length = length.next_multiple_of(page());
    // SAFETY: a fresh private mapping, checked before use.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (address != libc::MAP_FAILED).then_some(Extent { address: address as usize, length })
}

/// A region in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Address of its head.
    address: usize,
    length: usize,
}

impl Region {
    /// Address of its first element.
    pub fn body(self) -> usize {
        self.address + HEAD
    }
}

/// A region of `count` elements of `size` bytes: zero, then filled by `fill`, which gets the address
/// of the first element, then valid. `None` if memory is out.
pub fn allocate(
    mut head: Head,
    count: usize,
    size: usize,
    fill: impl FnOnce(usize),
) -> Option<Region> {
    let length = (HEAD + count.checked_mul(size)?).next_multiple_of(layout::ALIGN);
    let address = ARENA.lock().take(length)?;
    (head.length, head.count) = (length as u64, count as u64);
    fill(address + HEAD);
    let bytes = head.to_bytes();
    // SAFETY: the head of a region whose address no other thread has yet. The state, which makes it valid,
    // comes last.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().add(4), (address + 4) as *mut u8, HEAD - 4);
        (*(address as *const AtomicU32)).store(layout::IN_USE, Ordering::Release);
    }
    Some(Region { address, length })
}

/// Gives a region back that is no longer in use.
pub fn release(region: Region) {
    // SAFETY: the state of a region.
    let state = unsafe { &*(region.address as *const AtomicU32) };
    state.store(layout::GIVEN_BACK, Ordering::Release);
    ARENA.lock().give_back(region.length, region.address);
}

/// Puts the counters of this process into a file; `asked` is the only directory to try, if given.
/// The size that will be needed follows from `tasks`. To be called before anything is counted.
///
/// On failure everything stays in private memory; gives the reason.
pub fn start(asked: Option<&Path>, about: &About) -> Result<(), String> {
    let text = about.encode();
    let row = HEAD + (about.job.tasks as usize + 1) * layout::CELL;
    let start = (layout::HEADER + text.len()).next_multiple_of(layout::ALIGN);
    // SAFETY: no preconditions.
    let user = unsafe { libc::geteuid() };
    let name = layout::file_name(user, about.job.id, about.process, about.pid);
    let mut problems = Vec::new();
    for directory in candidates(asked) {
        match SpillFile::create(&directory, &name, start + (2 * row).max(CHUNK - start.min(CHUNK)))
        {
            Ok((file, extent)) => {
                write_header(extent.address, &text);
                let mut arena = ARENA.lock();
                *arena = Arena {
                    file: Some(file),
                    next: extent.address + start,
                    left: extent.length - start,
                    free: Vec::new(),
                };
                OWNER.store(about.pid, Ordering::Relaxed);
                HEADER.store(extent.address, Ordering::Release);
                return Ok(());
            }
            Err(error) => problems.push(format!("{}: {error}", directory.display())),
        }
    }
    Err(problems.join("; "))
}

fn write_header(address: usize, about: &[u8]) {
    let bytes = layout::header(about);
    // SAFETY: the first extent has room for it, and no other thread has the address yet. The magic,
    // which makes it valid, comes last.
    unsafe {
        std::ptr::copy_nonoverlapping(
            bytes.as_ptr().add(8),
            (address + 8) as *mut u8,
            bytes.len() - 8,
        );
        let magic = u64::from_ne_bytes(layout::MAGIC);
        (*(address as *const AtomicU64)).store(magic, Ordering::Release);
    }
}

/// True in the process whose counters are in a file; not in a child that it forked.
pub fn is_owner() -> bool {
    // SAFETY: no preconditions.
    has_file() && unsafe { libc::getpid() } as u32 == OWNER.load(Ordering::Relaxed)
}

/// The word of the header at `offset`, where there is a file of this very process.
fn header_word(offset: usize) -> Option<&'static AtomicU64> {
    let header = HEADER.load(Ordering::Acquire);
    if header == 0 || !is_owner() {
        return None;
    }
    // SAFETY: the header is mapped until the process ends; the words are aligned and only used as
    // atomics.
    Some(unsafe { &*((header + offset) as *const AtomicU64) })
}

/// True if what is counted is in a file.
pub fn has_file() -> bool {
    HEADER.load(Ordering::Relaxed) != 0
}

fn count(offset: usize) {
    if let Some(word) = header_word(offset) {
        word.fetch_add(1, Ordering::Relaxed);
    }
}

/// Moves the calls of a communicator into a row; the file says so meanwhile.
pub fn folding(number: u64, fold: impl FnOnce()) {
    // Unlike for the other words, the number of the process is not asked for, which is a system call: a child that
    // calls MPI, although it must not, counts in the rows of the file anyway.
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: as in `header_word`.
    let word = (header != 0).then(|| unsafe { &*((header + word::FOLDING) as *const AtomicU64) });
    if let Some(word) = word {
        word.store(number, Ordering::Release);
    }
    fold();
    if let Some(word) = word {
        word.store(0, Ordering::Release);
    }
}

/// Writes into the file that the process ends by exit or a return from main; `false` if there is no file.
/// Takes no lock and allocates nothing, because the program may end at any point.
pub fn ending() -> bool {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a struct to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if let Some(word) = header_word(word::ENDED_AT) {
        word.store(now.tv_sec as u64, Ordering::Relaxed);
    }
    let Some(word) = header_word(word::ENDED) else { return false };
    word.store(1, Ordering::Release);
    true
}

/// Directory of the spill file, if there is one.
pub fn directory() -> Option<std::path::PathBuf> {
    let arena = ARENA.lock();
    Some(Path::new(arena.file.as_ref()?.path()).parent()?.to_path_buf())
}

/// Removes the file, because the matrix is in the store. The mapping stays.
pub fn finish() {
    let file = ARENA.lock().file.take();
    HEADER.store(0, Ordering::Release);
    if let Some(file) = file {
        file.remove();
    }
}

/// Tells the user that there is no spill file although one was asked for.
pub fn complain(problem: &str) {
    message::once(&format!(
        "no spill file can be kept ({problem}); if this program does not reach MPI_Finalize, its matrix is \
         lost; try: set RANKWEAVE_SPILL to another directory of the node, or to off to go without the file"
    ));
}
