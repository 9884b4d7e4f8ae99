//! A flush: the matrix so far goes into the store while the program runs.
//!
//! The spill files of a node contain all counts at any time. A flush starts `rankweave recover --running`,
//! which reads the spill files of this job and writes the matrix into the store. The command runs in a process
//! of its own, because a signal may arrive at any instruction, and its handler may only make system calls.
//!
//! The command is started without a copy of this process, because a copy would cost memory and disturb
//! registered network buffers. The command is not a child of the program, so the program gets no SIGCHLD.
//! It does not have the program's standard streams. Until it calls execve it shares the program's memory. All
//! signals are blocked during that time, so that no handler of the program runs in it.

use crate::mpi::library;
use crate::spill;
use crate::sys::lasting;
use rw::options::Settings;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};
use std::time::Duration;

/// Bytes of a stack on which the command is started.
const STACK: usize = 32 << 10;

/// What is needed to start the command, made beforehand.
#[derive(Debug)]
struct Start {
    /// Files that may be the command.
    files: Vec<CString>,
    /// Its arguments, and pointers to them with a null pointer at the end.
    _arguments: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
    /// The ends of two stacks, one for each process that is made.
    stacks: [usize; 2],
}

static START: AtomicPtr<Start> = AtomicPtr::new(std::ptr::null_mut());
static BUSY: AtomicBool = AtomicBool::new(false);
/// The signal that starts a flush; 0 if there is none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The process that set the handler. A child that the program forks inherits the handler, but has nothing to
/// flush.
static HANDLED_BY: AtomicI32 = AtomicI32::new(0);
/// The action that this signal had before.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Prepares flushes of job `id`: at the signal of `--flush-signal`, and every `every` in the process that
/// `leads` its node.
pub fn start(
    settings: &Settings,
    id: u64,
    store: &str,
    every: Option<Duration>,
    leads: bool,
) -> Option<()> {
    let directory = spill::directory()?;
    if store.is_empty() {
        return None;
    }
    let id = format!("{id:016x}");
    let words = ["rankweave", "recover", "--running", "--job", &id, "--store", store];
    let mut arguments: Vec<CString> = words.iter().filter_map(|w| CString::new(*w).ok()).collect();
    arguments.push(CString::new(directory.as_os_str().as_bytes()).ok()?);
    let mut pointers: Vec<_> = arguments.iter().map(|a| a.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let stack = || {
        let stack = Box::leak(vec![0u128; STACK / 16].into_boxed_slice());
        lasting::kept(stack).as_ptr_range().end as usize
    };
    let start = Start {
        files: commands()
            .iter()
            .filter_map(|c| CString::new(c.as_os_str().as_bytes()).ok())
            .collect(),
        _arguments: arguments,
        pointers,
        stacks: [stack(), stack()],
    };
    START.store(lasting::keep(start), Ordering::Release);
    if let Some(signal) = settings.flush_signal {
        handle(signal);
    }
    if let (Some(every), true) = (every, leads) {
        repeat(every);
    }
    Some(())
}

/// Whether the command that writes the matrix is found.
pub fn finds_command() -> bool {
    commands().iter().any(|file| {
        let Ok(name) = CString::new(file.as_os_str().as_bytes()) else { return false };
        // SAFETY: a string that ends with a zero byte.
        unsafe { libc::access(name.as_ptr(), libc::X_OK) == 0 }
    })
}

/// The files that may be the command: those from which `rankweave run` would find this library, and those in
/// PATH.
fn commands() -> Vec<PathBuf> {
    let own = library::file_of(start as *const () as *mut libc::c_void);
    let beside = Path::new(&own).parent().map(Path::to_path_buf);
    let mut found: Vec<PathBuf> = beside
        .iter()
        .flat_map(|d| {
            ["", "../bin", "../../bin", "../release"].map(|p| d.join(p).join("rankweave"))
        })
        .collect();
    let path = crate::sys::environment::variable("PATH").unwrap_or_default();
    found.extend(
        std::env::split_paths(&path).filter(|d| d.is_absolute()).map(|d| d.join("rankweave")),
    );
    found
}

/// Starts the command. `false` if there is nothing to flush, or if another thread is starting the command.
///
/// Makes system calls only, and leaves `errno` as it was.
pub fn now() -> bool {
    let start = START.load(Ordering::Acquire);
    if start.is_null() || !spill::is_owner() || BUSY.swap(true, Ordering::AcqRel) {
        return false;
    }
    // SAFETY: leaked, never changed. The first process shares this memory and runs on a stack of its
    // own while this thread waits; it starts the second, waits until that has become the command,
    // and ends. Only it is waited for. No signal is handled in this thread meanwhile, nor in them.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mask = set_mask(u64::MAX);
        let top = (*start).stacks[0];
        let first = fork_onto(top, first_process, start.cast());
        if first > 0 {
            let mut status = 0;
            while libc::syscall(
                libc::SYS_wait4,
                first,
                &raw mut status,
                libc::__WALL,
                std::ptr::null_mut::<libc::c_void>(),
            ) < 0
                && *errno == libc::EINTR
            {}
        }
        // Before signals are let through: one of them may ask for the next flush.
        BUSY.store(false, Ordering::Release);
        set_mask(mask);
        *errno = before;
        first > 0
    }
}

/// Sets the blocked signals of this thread, those that the C library uses itself included. Returns the signals
/// that were blocked before.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: two sets of the kernel's size.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            size_of::<u64>(),
        )
    };
    before
}

/// A signal's action as the kernel has it.
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Sets every signal with a handler to its default action. Signals that are pending for a handler are
/// dropped. Ignored signals stay ignored. To be called while all signals are blocked.
fn forget_handlers() {
    for signal in 1..=64 {
        let set = |new: *const Action, old: *mut Action| {
            // SAFETY: structs as the kernel has them, or null.
            unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size_of::<u64>()) }
        };
        let mut action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
        let known = set(std::ptr::null(), &raw mut action) == 0;
        if known && action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN {
            for handler in [libc::SIG_IGN, libc::SIG_DFL] {
                let action = Action { handler, flags: 0, restorer: 0, mask: 0 };
                set(&raw const action, std::ptr::null_mut());
            }
        }
    }
}

extern "C" fn first_process(start: *mut libc::c_void) -> ! {
    // SAFETY: what `now` passed; system calls only.
    unsafe {
        let top = (*start.cast::<Start>()).stacks[1];
        fork_onto(top, second_process, start);
        exit_now()
    }
}

extern "C" fn second_process(start: *mut libc::c_void) -> ! {
    // SAFETY: what `now` passed; system calls only. Descriptors are this process's own copies, and
    // the signal mask and the table of handlers as well.
    unsafe {
        let start = &*start.cast::<Start>();
        // First leave the process group of the program, then remove the handlers, and only then let signals
        // through.
        libc::syscall(libc::SYS_setsid);
        forget_handlers();
        set_mask(0);
        // Newer processors have no system calls `open` and `dup2`. If the descriptor is one of the three, `dup3` fails and
        // leaves it as it is.
        let here = libc::AT_FDCWD;
        let null = libc::syscall(libc::SYS_openat, here, c"/dev/null".as_ptr(), libc::O_RDWR, 0);
        for standard in 0..3 {
            libc::syscall(libc::SYS_dup3, null, standard, 0);
        }
        let mut environment: [*const libc::c_char; 1] = [std::ptr::null()];
        for file in &start.files {
            libc::syscall(
                libc::SYS_execve,
                file.as_ptr(),
                start.pointers.as_ptr(),
                environment.as_mut_ptr(),
            );
        }
        exit_now()
    }
}

fn exit_now() -> ! {
    loop {
        // SAFETY: ends this process, without what exit does in the memory it shares.
        unsafe { libc::syscall(libc::SYS_exit, 127) };
    }
}

/// Makes a process that shares this memory and calls `run(argument)` on the stack that ends at `top`. This
/// thread waits until the process ends or becomes another program. The end of the process raises no signal.
/// Returns its number, or a negative error.
///
/// # Safety
/// `top` is the aligned end of a stack that no other thread uses; `run` makes system calls only and does
/// not return.
#[unsafe(naked)]
unsafe extern "C" fn fork_onto(
    top: usize,
    run: extern "C" fn(*mut libc::c_void) -> !,
    argument: *mut libc::c_void,
) -> i64 {
    crate::arch::fork_onto!(
        flags = const libc::CLONE_VM | libc::CLONE_VFORK,
        clone = const libc::SYS_clone,
    )
}

/// Handles a signal that the program leaves to its default, or to its MPI library (MPICH has a handler
/// of SIGUSR1, which is then called as well). A handler that the program sets later takes the place
/// of this one.
fn handle(signal: libc::c_int) {
    // SAFETY: structs are filled or zero before they are read; the handler has the right type.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0
            || before.sa_sigaction != libc::SIG_DFL && !library::owns(before.sa_sigaction)
        {
            return;
        }
        PREVIOUS.store(lasting::keep(before), Ordering::Release);
        let mut own: libc::sigaction = std::mem::zeroed();
        own.sa_sigaction = signalled as *const () as usize;
        own.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        own.sa_mask = before.sa_mask;
        HANDLED_BY.store(libc::getpid(), Ordering::Release);
        if libc::sigaction(signal, &raw const own, std::ptr::null_mut()) == 0 {
            SIGNAL.store(signal, Ordering::Release);
        }
    }
}

extern "C" fn signalled(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    now();
    let previous = PREVIOUS.load(Ordering::Acquire);
    if previous.is_null() {
        return;
    }
    // SAFETY: leaked, never changed; a handler, unless it is one of the two constants, of the type
    // that its flags say.
    unsafe {
        let (handler, flags) = ((*previous).sa_sigaction, (*previous).sa_flags);
        if handler == libc::SIG_DFL && libc::getpid() != HANDLED_BY.load(Ordering::Acquire) {
            by_default(signal);
        }
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            return;
        }
        if flags & libc::SA_SIGINFO != 0 {
            let call: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(handler);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
            call(signal);
        }
    }
}

/// Makes the signal have its default effect in a child of the program: the signal is sent again, and arrives
/// when the handler returns. System calls only.
fn by_default(signal: libc::c_int) {
    // SAFETY: `errno` and an action as the kernel has it.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let action = Action { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            &raw const action,
            std::ptr::null_mut::<Action>(),
            size_of::<u64>(),
        );
        let process = libc::syscall(libc::SYS_getpid);
        let thread = libc::syscall(libc::SYS_gettid);
        libc::syscall(libc::SYS_tgkill, process, thread, signal);
        *errno = before;
    }
}

/// Flushes at regular intervals, from a thread that gets no signals.
fn repeat(every: Duration) {
    // SAFETY: sets are filled before they are used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        // Without the thread there are no regular flushes, and nothing else is lost.
        let _ = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            loop {
                std::thread::sleep(every);
                if !spill::is_owner() {
                    return;
                }
                now();
            }
        });
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}

/// Ends the flushes. The signal gets back its previous action, unless the program has set another handler.
pub fn stop() {
    START.store(std::ptr::null_mut(), Ordering::Release);
    let signal = SIGNAL.swap(0, Ordering::AcqRel);
    if signal == 0 {
        return;
    }
    // SAFETY: a struct that the first call fills before it is read; the previous action is leaked, so
    // that its address stays valid.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut current) == 0
            && current.sa_sigaction == signalled as *const () as usize
        {
            let previous = PREVIOUS.load(Ordering::Acquire);
            if !previous.is_null() {
                libc::sigaction(signal, previous, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs on the given stack and leaves a trace in the shared memory.
    extern "C" fn leaves_trace(place: *mut libc::c_void) -> ! {
        // SAFETY: the caller's atomic, in shared memory.
        unsafe { (*place.cast::<AtomicI32>()).store(42, Ordering::Release) };
        exit_now()
    }

    #[test]
    fn a_process_on_another_stack_shares_memory_and_raises_no_signal() {
        let stack = vec![0u128; STACK / 16];
        let trace = AtomicI32::new(0);
        // SAFETY: a stack of its own; the function makes one store and a system call.
        unsafe {
            let top = stack.as_ptr_range().end as usize;
            let child = fork_onto(top, leaves_trace, (&raw const trace).cast_mut().cast());
            assert!(child > 0, "{child}");
            assert_eq!(trace.load(Ordering::Acquire), 42);
            // An ordinary wait does not see it.
            assert_eq!(libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG), -1);
            assert_eq!(
                i64::from(libc::waitpid(child as i32, std::ptr::null_mut(), libc::__WALL)),
                child
            );
        }
    }

    #[test]
    fn without_a_job_there_is_nothing_to_flush() {
        assert!(!now());
    }
}
