//! What depends on the processor: assembler, relocations, and a few numbers.
//!
//! The file of each processor has the same macros, functions and constants. Most of the assembler is in macros, because
//! it names functions and fields of higher layers: the caller of a macro gives these as operands. So all that a new
//! processor needs is a file here; [README.md](README.md) lists what it has to contain.
//!
//! Limits: Linux, glibc, 64 bits, little-endian, a stack that grows down.

#[cfg(target_arch = "x86_64")]
mod fast_send_x86_64;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use {fast_send_x86_64::*, x86_64::*};

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
mod fast_send_aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use {aarch64::*, fast_send_aarch64::*};

#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_os = "linux",
    target_endian = "little",
)))]
compile_error!("librankweave.so has entry points for Linux on x86-64 and aarch64 only so far");

/// Bytes of one thunk, on every processor.
pub const STRIDE: usize = 16;

/// Bytes of static thread-local storage that are reserved for the state of each thread, all zero at first.
///
/// A preloaded library is there before the program starts, so it may use the initial-exec model: the state is at a fixed
/// distance from the thread pointer, and to reach it needs two loads and no call. Stable Rust cannot ask for this model.
pub const THREAD_BYTES: usize = 128;

std::arch::global_asm!(
    ".section .tbss.rankweave_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl rankweave_thread",
    ".hidden rankweave_thread",
    ".type rankweave_thread,@object",
    ".size rankweave_thread,128",
    "rankweave_thread:",
    ".zero 128",
    ".previous",
);
