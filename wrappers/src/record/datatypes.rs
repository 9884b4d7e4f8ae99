//! Sizes of datatypes, by their handles.
//!
//! Predefined datatypes are never freed. A derived datatype gets an attribute whose delete callback removes its
//! size from the table, because its handle may be reused for a datatype of another size.
//!
//! To set the attribute takes longer than to ask MPI for the size several times. A size is therefore kept only
//! after [`SIZE_QUESTIONS`](Abi::SIZE_QUESTIONS) uses: programs that make a datatype for a few messages do not pay
//! for the attribute. Whatever the number of messages is, a datatype then costs at most about twice as much as with
//! the better of the two ways.
//!
//! Limits: the questions for some hundred datatypes are counted. If a program uses more datatypes by turns, MPI is
//! asked for their sizes each time. `MPI_TYPE_FREE` of Fortran does not pass through the library: a later datatype with
//! the same handle inherits the count of questions, and its size may be kept too early. This costs time only.

use crate::mpi::abi::{Abi, Handle};
use crate::mpi::attribute;
use crate::mpi::pmpi::pmpi;
use crate::record::registry::{Node, Registry, SCATTER};
use crate::record::thread::{self, Size, Thread};
use crate::sys::panic_barrier::guarded;
use libc::{c_int, c_void};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Sizes in bytes.
pub static SIZES: Registry<Size> = Registry::new();
/// Each word has the handle of a datatype (upper 56 bits) and how often its size was asked for (lower 8 bits). A hash
/// gives two possible words for each handle. The datatype that a thread asked for last is counted in the state of
/// the thread. Threads may lose each other's counts: the numbers only decide when a size is worth keeping.
static QUESTIONS: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
/// The bits of a word in [`QUESTIONS`] that count.
const NUMBER: u64 = 0xff;

/// The two words of a handle in [`QUESTIONS`], and the value of a word for this handle without a question.
#[inline(always)]
fn words(bits: u64) -> ([&'static AtomicU64; 2], u64) {
    let first = (bits.wrapping_mul(SCATTER) >> 54) as usize;
    ([&QUESTIONS[first], &QUESTIONS[first ^ 1]], bits << 8)
}

/// The word of this handle.
#[inline(always)]
fn word_of(bits: u64) -> Option<&'static AtomicU64> {
    let ([first, second], none) = words(bits);
    let is = |word: &AtomicU64| word.load(Ordering::Relaxed) & !NUMBER == none;
    if is(first) { Some(first) } else { Some(second).filter(|word| is(word)) }
}

/// Whether the size of a datatype was asked for `most` times. If not, this question is counted.
#[inline(always)]
fn is_worth_keeping(thread: &Thread, bits: u64, most: u64) -> bool {
    let last = thread.asked.load(Ordering::Relaxed);
    if last != bits {
        let questions = thread.questions.load(Ordering::Relaxed);
        if questions > 0 {
            set_questions(last, questions);
        }
        let before = word_of(bits).map_or(0, |word| word.load(Ordering::Relaxed) & NUMBER);
        thread.asked.store(bits, Ordering::Relaxed);
        thread.questions.store(before, Ordering::Relaxed);
    }
    let before = thread.questions.load(Ordering::Relaxed);
    if before < most {
        thread.questions.store(before + 1, Ordering::Relaxed);
    }
    before >= most
}

/// Notes how often the size of a datatype was asked for. Another datatype with fewer questions may be forgotten.
#[inline(always)]
fn set_questions(bits: u64, questions: u64) {
    let (words, none) = words(bits);
    let [first, second] = words.map(|word| word.load(Ordering::Relaxed) & NUMBER);
    let word = word_of(bits).unwrap_or(words[usize::from(second < first)]);
    word.store(none | questions.min(NUMBER), Ordering::Relaxed);
}

/// Forgets how often a size was asked for, because the next datatype with this handle is another one.
#[inline(always)]
pub fn forget_questions(bits: u64) {
    let thread = thread::current();
    if is_asked(thread, bits) {
        forget_asked(thread);
    }
    if let Some(word) = word_of(bits) {
        word.store(0, Ordering::Relaxed);
    }
}

/// The value of [`KEYVAL`] if no keyval could be made. No MPI library has a keyval of this value.
const NO_KEYVAL: c_int = -1;
static KEYVAL: AtomicI32 = AtomicI32::new(NO_KEYVAL);

/// Makes the keyval whose delete callback MPI calls when a datatype is freed.
pub fn start<A: Abi>() {
    let keyval = attribute::keyval::<A::Datatype>(deleted::<A>, |copy, delete, keyval| {
        // SAFETY: MPI is initialised; both callbacks have the standard's prototypes.
        unsafe { pmpi::<A>().type_create_keyval(copy, delete, keyval, std::ptr::null_mut()) }
    });
    if let Some(keyval) = keyval {
        KEYVAL.store(keyval, Ordering::Release);
    }
}

unsafe extern "C" fn deleted<A: Abi>(
    datatype: A::Datatype,
    _keyval: c_int,
    _value: *mut c_void,
    _extra: *mut c_void,
) -> c_int {
    guarded(|| {
        forget(datatype.bits());
        Some(())
    });
    0
}

/// Forgets the datatype of this handle, because it is being freed.
fn forget(bits: u64) {
    let gone = |size: &Size| {
        size.bytes.store(0, Ordering::Relaxed);
        Some(size.in_collective.load(Ordering::Relaxed))
    };
    if SIZES.remove(bits, gone) == Some(true) {
        thread::freed();
    }
    forget_questions(bits);
}

/// Forgets all sizes, so that MPI is asked for them again.
pub fn forget_all() {
    SIZES.clear(|_| ());
}

/// Size of `datatype` in bytes; 0 if it is invalid.
#[inline(always)]
pub fn size<A: Abi>(thread: &Thread, datatype: A::Datatype) -> u64 {
    known(thread, datatype.bits()).unwrap_or_else(|| ask::<A>(thread, datatype))
}

/// Size of `datatype` in bytes for a collective call, and whether the call may be identified by the handle
/// until the datatype is freed.
#[inline(always)]
pub fn size_in_collective<A: Abi>(thread: &Thread, datatype: A::Datatype) -> (u64, bool) {
    let size = size::<A>(thread, datatype);
    // SAFETY: nodes are never given back.
    let node = unsafe { thread.datatype.load(Ordering::Relaxed).as_ref() };
    let Some(node) = node.filter(|node| node.is(datatype.bits())) else { return (size, false) };
    if !node.value.in_collective.load(Ordering::Relaxed) {
        node.value.in_collective.store(true, Ordering::Relaxed);
    }
    (size, true)
}

/// Size of the datatype of this handle, if the size is kept.
#[inline(always)]
pub fn known(thread: &Thread, bits: u64) -> Option<u64> {
    // SAFETY: nodes are never given back.
    let last = unsafe { thread.datatype.load(Ordering::Relaxed).as_ref() };
    let node = match last {
        Some(last) if last.is(bits) => last,
        _ => {
            let found = SIZES.get(bits)?;
            keep(thread, found);
            found
        }
    };
    Some(node.value.bytes.load(Ordering::Relaxed))
}

/// Gives the datatype of this handle a digest if the thread used it before, and then another one. The word of the
/// digest is the size plus one.
#[inline(always)]
pub fn digest(thread: &Thread, bits: u64) {
    // SAFETY: nodes are never given back.
    let last = unsafe { thread.datatype.load(Ordering::Relaxed).as_ref() };
    if last.is_some_and(|last| !last.is(bits)) {
        SIZES.digest(bits, |size| size.bytes.load(Ordering::Relaxed).checked_add(1));
    }
}

/// Makes a datatype the one that the thread used last.
#[inline(always)]
fn keep(thread: &Thread, node: &'static Node<Size>) {
    thread.datatype.store(std::ptr::from_ref(node).cast_mut(), Ordering::Relaxed);
}

/// Forgets that the thread asked for this size, if another thread has kept the size since. Otherwise the thread would
/// ask again for ever.
#[inline(always)]
pub fn stop_asking(thread: &Thread, bits: u64) {
    if is_asked(thread, bits) && known(thread, bits).is_some() {
        forget_asked(thread);
    }
}

#[cold]
#[inline(never)]
fn forget_asked(thread: &Thread) {
    thread.asked.store(0, Ordering::Relaxed);
    thread.questions.store(0, Ordering::Relaxed);
}

/// Whether the size of this datatype was the last one that the thread asked for, and did not keep.
#[inline(always)]
pub fn is_asked(thread: &Thread, bits: u64) -> bool {
    thread.asked.load(Ordering::Relaxed) == bits
}

/// Size of the datatype that the thread asked for last ([`is_asked`]). `None` if it is to be kept.
#[inline(always)]
pub fn ask_again<A: Abi>(thread: &Thread, datatype: A::Datatype) -> Option<u64> {
    let before = thread.questions.load(Ordering::Relaxed);
    if before == 0 || before >= A::SIZE_QUESTIONS {
        return None;
    }
    thread.questions.store(before + 1, Ordering::Relaxed);
    Some(question::<A>(datatype).unwrap_or(0))
}

/// What MPI says about the size of a datatype. `None` after an error.
#[inline(always)]
fn question<A: Abi>(datatype: A::Datatype) -> Option<u64> {
    let mut size = -1;
    // SAFETY: the handle is one that the program passes to MPI right now.
    if unsafe { pmpi::<A>().type_size(datatype, &raw mut size) } != 0 {
        return None;
    }
    u64::try_from(size).ok().or_else(|| large_size::<A>(datatype, size))
}

/// The size of a datatype for which MPI_Type_size gave a negative number.
#[cold]
#[inline(never)]
fn large_size<A: Abi>(datatype: A::Datatype, small: c_int) -> Option<u64> {
    let mut size = -1i64;
    // SAFETY: as in `question`.
    if small == A::UNDEFINED && unsafe { pmpi::<A>().type_size_x(datatype, &raw mut size) } != 0 {
        return None;
    }
    Some(size.max(0) as u64)
}

/// Asks MPI for the size of a datatype, and keeps it if this was done often.
#[cold]
#[inline(never)]
fn ask<A: Abi>(thread: &Thread, datatype: A::Datatype) -> u64 {
    if datatype.bits() == 0 || datatype == A::datatype_null() {
        return 0;
    }
    let Some(size) = question::<A>(datatype) else { return 0 };
    if is_worth_keeping(thread, datatype.bits(), A::SIZE_QUESTIONS) {
        keep_size::<A>(thread, datatype, size);
    }
    size
}

/// Keeps the size of a datatype until the datatype is freed.
#[cold]
#[inline(never)]
fn keep_size<A: Abi>(thread: &Thread, datatype: A::Datatype, size: u64) {
    let (mpi, bits) = (pmpi::<A>(), datatype.bits());
    let (mut i, mut a, mut t, mut combiner) = (0, 0, 0, A::COMBINER_NAMED);
    // SAFETY: the handle is one that the program passes to MPI right now.
    let _ = unsafe {
        mpi.type_get_envelope(datatype, &raw mut i, &raw mut a, &raw mut t, &raw mut combiner)
    };
    let fill = |value: &Size| {
        value.bytes.store(size, Ordering::Relaxed);
        value.in_collective.store(false, Ordering::Relaxed);
    };
    let keyval = KEYVAL.load(Ordering::Acquire);
    if combiner != A::COMBINER_NAMED && keyval == NO_KEYVAL {
        // MPI would raise an error for an attribute without a valid keyval, which can end the program.
        return;
    }
    let node = match SIZES.insert(bits, fill) {
        // Another thread added the datatype first, and sets the attribute.
        Err(node) => node,
        Ok(node) if combiner == A::COMBINER_NAMED => node,
        Ok(node) => {
            // SAFETY: a valid derived type and keyval; the value is never read. MPI is called with no lock
            // held: it may call back.
            if unsafe { mpi.type_set_attr(datatype, keyval, std::ptr::null_mut()) } != 0 {
                // Without the attribute, the library would not learn when the datatype is freed.
                forget(bits);
                return;
            }
            node
        }
    };
    forget_questions(bits);
    keep(thread, node);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_kept_after_several_questions_and_not_after_one() {
        let thread = thread::current();
        let handles = |k: u64| 0x7f00_1234_0000 + 352 * k;
        for most in [4, 40] {
            for by_turns in [1, 64] {
                let mut kept = 0;
                for _ in 0..=most {
                    kept = (0..by_turns)
                        .filter(|&k| is_worth_keeping(thread, handles(k), most))
                        .count();
                }
                assert!(kept as u64 > by_turns * 15 / 16, "{kept}");
                (0..by_turns).for_each(|k| forget_questions(handles(k)));
                assert!((0..by_turns).all(|k| !is_worth_keeping(thread, handles(k), most)));
                (0..by_turns).for_each(|k| forget_questions(handles(k)));
            }
            let mut kept = 0;
            for _ in 0..2 * most {
                kept =
                    (100..10_000).filter(|&k| is_worth_keeping(thread, handles(k), most)).count();
            }
            assert!(kept <= QUESTIONS.len(), "{kept}");
        }
        forget_questions(thread.asked.load(Ordering::Relaxed));
    }
}
