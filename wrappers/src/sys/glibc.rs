//! Functions of the C library under the names and versions that glibc 2.17 knows.
//!
//! A library that was linked on a new system needs the newest version of each function. The loader of an older
//! system then refuses the library, or ends the program (`docs/decisions/0085`). Therefore all calls from this
//! shared object, also those of Rust's standard library and of the unwinder, come to the functions here. The
//! symbols are hidden, so that nothing outside sees them. There are two kinds:
//!
//! * Functions that older systems keep in libpthread, libdl or librt go on to the oldest version. The reference
//!   is weak: a process without these libraries starts, and the call fails as the table says. The library does not
//!   depend on libpthread, libdl or librt, because on new systems every process would load them for nothing.
//! * Functions that glibc 2.17 lacks are made here from system calls and older functions.
//!
//! Limits: the C functions that the library uses otherwise must be in libc.so.6 of glibc 2.17;
//! `scripts/packaging/symbols.py` reads the finished file.

use crate::arch::{self, STAT_LAYOUT};
use std::arch::global_asm;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Sends calls of each function on to the version named beside it, which is that of x86-64. Without this function in the
/// process, they return the last value.
macro_rules! older {
    ($($name:literal $version:literal $missing:literal)*) => {$(
        arch::older!($name arch::oldest!($version), $missing);
    )*};
}

// The values are NULL, or the error number ENOSYS, or -1 for an error.
older! {
    "dladdr" "2.2.5" "0"
    "dlclose" "2.2.5" "-1"
    "dlopen" "2.2.5" "0"
    "dlsym" "2.2.5" "0"
    "__pthread_key_create" "2.2.5" "38"
    "pthread_attr_setstacksize" "2.2.5" "38"
    "pthread_create" "2.2.5" "38"
    "pthread_detach" "2.2.5" "38"
    "pthread_join" "2.2.5" "38"
    "pthread_key_delete" "2.2.5" "38"
    "pthread_once" "2.2.5" "38"
    "pthread_setname_np" "2.12" "38"
    "pthread_setspecific" "2.2.5" "38"
    "timer_create" "2.3.3" "-1"
    "timer_delete" "2.3.3" "-1"
    "timer_settime" "2.3.3" "-1"
}

/// Makes each function of this file the one that this shared object calls by the name of the C library. The symbols
/// are weak, because the standard library declares some of them so, and both have to agree in one object file.
macro_rules! instead_of {
    ($($name:literal $here:path)*) => {$(
        global_asm!(
            ".text",
            concat!(".weak ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            ".cfi_startproc",
            arch::jump!("{here}"),
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            here = sym $here,
        );
    )*};
}

instead_of! {
    "fstat" fstat
    "fstat64" fstat
    "fstatat64" fstatat
    "lstat64" lstat
    "stat64" stat
    "gettid" gettid
    "getrandom" getrandom
    "statx" statx
    "pthread_sigmask" pthread_sigmask
    "_dl_find_object" find_object
    "__cxa_thread_atexit_impl" super::thread_key::at_exit
}

unsafe extern "C" {
    fn __fxstat64(layout: c_int, file: c_int, stat: *mut c_void) -> c_int;
    fn __xstat64(layout: c_int, path: *const c_char, stat: *mut c_void) -> c_int;
    fn __lxstat64(layout: c_int, path: *const c_char, stat: *mut c_void) -> c_int;
    fn __fxstatat64(
        layout: c_int,
        folder: c_int,
        path: *const c_char,
        stat: *mut c_void,
        flags: c_int,
    ) -> c_int;
}

unsafe extern "C" fn fstat(file: c_int, stat: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { __fxstat64(STAT_LAYOUT, file, stat) }
}

unsafe extern "C" fn stat(path: *const c_char, stat: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { __xstat64(STAT_LAYOUT, path, stat) }
}

unsafe extern "C" fn lstat(path: *const c_char, stat: *mut c_void) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { __lxstat64(STAT_LAYOUT, path, stat) }
}

unsafe extern "C" fn fstatat(
    folder: c_int,
    path: *const c_char,
    stat: *mut c_void,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { __fxstatat64(STAT_LAYOUT, folder, path, stat, flags) }
}

unsafe extern "C" fn gettid() -> libc::pid_t {
    // SAFETY: no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_getrandom, buffer, length, flags) as isize }
}

/// Kernels without this call give ENOSYS, and the standard library then uses `stat`.
unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    answer: *mut c_void,
) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { libc::syscall(libc::SYS_statx, folder, path, flags, mask, answer) as c_int }
}

/// On Linux, `sigprocmask` changes the mask of the calling thread only. It is in libc.so.6 of all systems.
unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    before: *mut libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's own arguments.
    if unsafe { libc::sigprocmask(how, set, before) } == 0 {
        return 0;
    }
    // SAFETY: the error number of this thread.
    unsafe { *libc::__errno_location() }
}

/// `struct dl_find_object` (dlfcn.h of glibc 2.35).
#[repr(C)]
struct FoundObject {
    flags: u64,
    start: usize,
    end: usize,
    link_map: *const c_void,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

/// `_dl_find_object`, with which the unwinder that is linked in here finds the frames of an address: 0 if an object
/// holds the address and has a table of its frames, else -1.
unsafe extern "C" fn find_object(address: *const c_void, found: *mut FoundObject) -> c_int {
    let mut answer = -1;
    super::elf::for_each_object(|info| {
        let range = super::elf::range_of(info);
        if !range.contains(&(address as usize)) {
            return true;
        }
        // SAFETY: an object's own headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        if let Some(table) = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME) {
            let eh_frame = (info.dlpi_addr as usize + table.p_vaddr as usize) as *const c_void;
            let (start, end) = (range.start, range.end);
            let link_map = std::ptr::null();
            let object = FoundObject { flags: 0, start, end, link_map, eh_frame, reserved: [0; 7] };
            // SAFETY: the caller's place for the answer.
            unsafe { found.write(object) };
            answer = 0;
        }
        false
    });
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_here_agree_with_those_of_the_c_library() {
        let program = std::env::current_exe().unwrap().into_os_string().into_encoded_bytes();
        let path = std::ffi::CString::new(program).unwrap();
        let to_program = c"/proc/self/exe";
        // SAFETY: paths, places for answers, and a descriptor that is closed at the end.
        unsafe {
            let mut by_name: libc::stat64 = std::mem::zeroed();
            let mut by_descriptor: libc::stat64 = std::mem::zeroed();
            let mut link: libc::stat64 = std::mem::zeroed();
            let file = libc::open(path.as_ptr(), libc::O_RDONLY);
            assert_eq!(libc::stat64(path.as_ptr(), &raw mut by_name), 0);
            assert_eq!(libc::fstat64(file, &raw mut by_descriptor), 0);
            assert_eq!(libc::lstat64(to_program.as_ptr(), &raw mut link), 0);
            libc::close(file);
            assert_eq!(by_name.st_ino, by_descriptor.st_ino);
            assert_eq!(link.st_mode & libc::S_IFMT, libc::S_IFLNK);
            assert_eq!(by_name.st_mode & libc::S_IFMT, libc::S_IFREG);
            assert_eq!(libc::gettid(), libc::syscall(libc::SYS_gettid) as libc::pid_t);
            let nothing = libc::pthread_sigmask(77, &std::mem::zeroed(), std::ptr::null_mut());
            assert_eq!(nothing, libc::EINVAL);
        }
    }

    #[test]
    fn the_unwinder_finds_frames_without_help_of_the_loader() {
        let mut found = std::mem::MaybeUninit::<FoundObject>::zeroed();
        let mut nothing = std::mem::MaybeUninit::<FoundObject>::zeroed();
        let here = the_unwinder_finds_frames_without_help_of_the_loader as *const c_void;
        // SAFETY: an address of this program, a place for the answer, and no address of any object.
        unsafe {
            assert_eq!(find_object(here, found.as_mut_ptr()), 0);
            assert!(!found.assume_init().eh_frame.is_null());
            assert_eq!(find_object(std::ptr::null(), nothing.as_mut_ptr()), -1);
        }
        assert!(std::panic::catch_unwind(|| panic!("on purpose")).is_err());
    }
}
