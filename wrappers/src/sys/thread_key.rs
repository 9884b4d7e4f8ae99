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
    "jmp {create}",
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

/// Makes the C library call `ended` with `value` when the calling thread ends, without a key. `false` if this
/// is not possible.
pub fn at_thread_end(ended: Destructor, value: *mut c_void) -> bool {
    // SAFETY: looks a function of the C library up.
    let register = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_thread_atexit_impl".as_ptr()) };
    if register.is_null() {
        return false;
    }
    // SAFETY: the function of this name has this type (C++ ABI). The last argument lies in this object,
    // which stays loaded until the call.
    unsafe {
        let register = std::mem::transmute::<*mut c_void, AtThreadEnd>(register);
        register(ended, value, (&raw const HERE).cast_mut().cast()) == 0
    }
}

/// An address in this object.
static HERE: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    #[test]
    fn the_end_of_a_thread_is_seen_without_a_key() {
        unsafe extern "C" fn ended(value: *mut c_void) {
            // SAFETY: the atomic below, which outlives the thread.
            unsafe { (*value.cast::<AtomicUsize>()).fetch_add(1, Ordering::Relaxed) };
        }
        let seen = AtomicUsize::new(0);
        let address = &raw const seen as usize;
        std::thread::spawn(move || assert!(at_thread_end(ended, address as *mut c_void)))
            .join()
            .unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), 1);
    }
}
