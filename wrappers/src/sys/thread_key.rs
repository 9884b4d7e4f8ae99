//! A `pthread_key_create` that never fails, for Rust's standard library.
//!
//! The standard library takes one key when it first needs to know the current thread (a thread starts, or waits
//! for another one). If the program has taken all keys (PTHREAD_KEYS_MAX), the standard library ends the
//! process. Therefore all calls of `pthread_key_create` in this shared object come here. The symbol is hidden,
//! so that nothing outside sees it. If there is no free key, the caller gets [`NONE`], a number that is no key.
//! To set its value fails, and the standard library ignores that. Its data about the thread are then leaked
//! when the thread ends. Destructors of thread-local values run all the same, because the C library keeps these
//! without a key.

use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number that is no key in any process.
pub const NONE: libc::pthread_key_t = libc::pthread_key_t::MAX;

type Destructor = unsafe extern "C" fn(*mut c_void);
type Create = unsafe extern "C" fn(*mut libc::pthread_key_t, Option<Destructor>) -> c_int;

global_asm!(
    ".text",
    ".globl pthread_key_create",
    ".hidden pthread_key_create",
    ".type pthread_key_create,@function",
    "pthread_key_create:",
    crate::arch::jump!("{create}"),
    ".size pthread_key_create, . - pthread_key_create",
    create = sym create,
);

/// `pthread_key_create` of this shared object; always 0.
unsafe extern "C" fn create(
    key: *mut libc::pthread_key_t,
    destructor: Option<Destructor>,
) -> c_int {
    // SAFETY: finds the function of the C library, or of a tool in front of it: the one here is hidden.
    let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"pthread_key_create".as_ptr()) };
    // SAFETY: the function of this name has this type, if it is there; the caller's own arguments.
    let created = !real.is_null()
        && unsafe { std::mem::transmute::<*mut c_void, Create>(real)(key, destructor) } == 0;
    if !created {
        // SAFETY: the caller's place for a key.
        unsafe { *key = NONE };
    }
    0
}

type AtThreadEnd = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;

/// The C library's function that registers the end of a thread. glibc 2.17 lacks it.
fn register() -> Option<AtThreadEnd> {
    /// The address; 0 before it is known, 1 if there is none.
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let mut found = FOUND.load(Ordering::Relaxed);
    if found == 0 {
        // SAFETY: looks a function of the C library up: the one here is hidden.
        found = unsafe {
            libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_thread_atexit_impl".as_ptr()) as usize
        }
        .max(1);
        FOUND.store(found, Ordering::Relaxed);
    }
    // SAFETY: the function of this name has this type (C++ ABI).
    (found != 1).then(|| unsafe { std::mem::transmute::<usize, AtThreadEnd>(found) })
}

/// Makes the C library call `ended` with `value` when the calling thread ends, without a key. `false` if this
/// is not possible.
pub fn at_thread_end(ended: Destructor, value: *mut c_void) -> bool {
    // SAFETY: the last argument lies in this object, which stays loaded until the call.
    register().is_some_and(|register| unsafe {
        register(ended, value, (&raw const HERE).cast_mut().cast()) == 0
    })
}

/// `__cxa_thread_atexit_impl` of this shared object, with which Rust's standard library frees the thread-local
/// values of a thread; always 0. If the C library has no such function, a key of the thread does the same. Without
/// a free key, the values are leaked.
pub unsafe extern "C" fn at_exit(
    ended: Destructor,
    value: *mut c_void,
    object: *mut c_void,
) -> c_int {
    if let Some(register) = register() {
        // SAFETY: the caller's own arguments.
        return unsafe { register(ended, value, object) };
    }
    keep(ended, value);
    0
}

/// What is called at the end of a thread, the last registered first.
type Kept = Vec<(Destructor, *mut c_void)>;

/// The key of the threads' lists, one more than its number; 0 before it was created.
static KEY: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn run_kept(list: *mut c_void) {
    // SAFETY: the list that `keep` made; the key holds null while this runs.
    let list = unsafe { Box::from_raw(list.cast::<Kept>()) };
    for (ended, value) in list.into_iter().rev() {
        // SAFETY: as it was registered for the end of this thread.
        unsafe { ended(value) };
    }
}

/// Registers a destructor with the key of the thread.
fn keep(ended: Destructor, value: *mut c_void) {
    let (get, create) = (c"pthread_getspecific", c"pthread_key_create");
    // SAFETY: looks functions of the C library up, which have these types if they are there. The key's values are
    // null or lists made here.
    unsafe {
        let get = libc::dlsym(libc::RTLD_DEFAULT, get.as_ptr());
        let make = libc::dlsym(libc::RTLD_DEFAULT, create.as_ptr());
        if get.is_null() || make.is_null() {
            return;
        }
        let get = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(libc::pthread_key_t) -> *mut c_void,
        >(get);
        if KEY.load(Ordering::Acquire) == 0 {
            let mut key = 0;
            if std::mem::transmute::<*mut c_void, Create>(make)(&raw mut key, Some(run_kept)) != 0 {
                return;
            }
            let new = key as usize + 1;
            if KEY.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
                libc::pthread_key_delete(key);
            }
        }
        let key = (KEY.load(Ordering::Acquire) - 1) as libc::pthread_key_t;
        let list = get(key).cast::<Kept>();
        if !list.is_null() {
            (*list).push((ended, value));
            return;
        }
        let list = Box::into_raw(Box::new(vec![(ended, value)]));
        if libc::pthread_setspecific(key, list.cast()) != 0 {
            drop(Box::from_raw(list));
        }
    }
}

/// An address in this object.
static HERE: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_free_key_there_is_none_and_threads_start() {
        let mut taken = Vec::new();
        let last = loop {
            let mut key = 0;
            // SAFETY: a place for a key.
            assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, None) }, 0);
            if key == NONE || taken.len() > 100_000 {
                break key;
            }
            taken.push(key);
        };
        assert_eq!(last, NONE, "the hidden function is not in use");
        // SAFETY: fails for what is no key.
        assert_ne!(unsafe { libc::pthread_setspecific(NONE, (&raw const HERE).cast()) }, 0);
        let answer = std::thread::spawn(|| std::thread::current().id()).join();
        // SAFETY: keys that were made above.
        taken.into_iter().for_each(|key| unsafe {
            libc::pthread_key_delete(key);
        });
        assert!(answer.is_ok());
    }

    unsafe extern "C" fn ended(value: *mut c_void) {
        // SAFETY: an atomic of the tests below, which outlives the thread.
        unsafe { (*value.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed) };
    }

    #[test]
    fn a_key_stands_in_for_what_glibc_2_17_lacks() {
        let seen = AtomicUsize::new(0);
        let address = &raw const seen as usize;
        let twice = move || (0..2).for_each(|_| keep(ended, address as *mut c_void));
        std::thread::spawn(twice).join().unwrap();
        std::thread::spawn(twice).join().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn the_end_of_a_thread_is_seen_without_a_key() {
        let seen = AtomicUsize::new(0);
        let address = &raw const seen as usize;
        std::thread::spawn(move || assert!(at_thread_end(ended, address as *mut c_void)))
            .join()
            .unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    }
}
