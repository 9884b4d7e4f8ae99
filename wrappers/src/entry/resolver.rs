//! Resolves a slot at the first call through it.

use crate::entry::real_functions::{further, real};
use crate::entry::{hooks, levels, slots};
use crate::mpi::library;
use crate::sys::unwinder;
use std::arch::global_asm;

// The stubs of all slots jump here, with the number of the entry point in r11d. This code saves every register
// that may carry an argument, calls [`resolve`], restores the registers, and jumps to the address that it got.
global_asm!(
    ".pushsection .text.rankweave_resolve,\"ax\",@progbits",
    ".balign 16",
    ".globl rankweave_resolve",
    ".hidden rankweave_resolve",
    ".type rankweave_resolve,@function",
    "rankweave_resolve:",
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "sub rsp, 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movups [rsp + 64], xmm0",
        "movups [rsp + 80], xmm1",
        "movups [rsp + 96], xmm2",
        "movups [rsp + 112], xmm3",
        "movups [rsp + 128], xmm4",
        "movups [rsp + 144], xmm5",
        "movups [rsp + 160], xmm6",
        "movups [rsp + 176], xmm7",
        "mov edi, r11d",
        "call {resolve}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movups xmm0, [rsp + 64]",
        "movups xmm1, [rsp + 80]",
        "movups xmm2, [rsp + 96]",
        "movups xmm3, [rsp + 112]",
        "movups xmm4, [rsp + 128]",
        "movups xmm5, [rsp + 144]",
        "movups xmm6, [rsp + 160]",
        "movups xmm7, [rsp + 176]",
        "mov rsp, rbp",
        "pop rbp",
        "jmp r11",
    ".size rankweave_resolve, . - rankweave_resolve",
    ".popsection",
    resolve = sym resolve,
);

/// Finds the address for entry point `index`, and points its slot there.
extern "C" fn resolve(index: u32) -> *const () {
    let index = index as usize;
    match std::panic::catch_unwind(|| target(index)) {
        Ok(Some(target)) => target,
        // There is no MPI library, or it does not have this function. A later object may still define the name,
        // for example a sequential replacement of MPI without PMPI names. The slot is not changed.
        _ => further(index).unwrap_or(missing as *const ()),
    }
}

/// Stands in for a function that the MPI library does not have.
extern "C" fn missing() -> libc::c_int {
    crate::sys::message::once(
        "the program called an MPI function that its MPI library does not have; try: start it \
         with `rankweave run`, which shows a program only the functions of its own MPI",
    );
    16
}

/// Points the slot to the address that the level asks for, and returns the address for this call.
fn target(index: usize) -> Option<*const ()> {
    let library = library::get()?;
    let next = real(index)?;
    hooks::register();
    unwinder::prepare();
    let target = levels::place(index, library.family, next);
    let Some(thunk) = slots::thunk_now(index) else { return Some(target) };
    // Another thread may point the slot back at this moment. The slot then keeps the thunk until it is pointed
    // again, and the thunk passes calls on.
    slots::exchange(index, target, thunk);
    Some(thunk)
}
