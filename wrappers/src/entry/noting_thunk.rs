//! The target of the slot of a busy entry point: code that notes that the thread is in a call.
//!
//! As with timing ([`thunk`](crate::entry::thunk)), there is a thunk of a few bytes for each entry point, and
//! one function behind all of them. The function writes the address of its frame to the [`Presence`] of the
//! thread, makes the call, and writes back the previous address. After a call inside another call, the address
//! is therefore again that of the outer call. An address below the frame of the present call was left by
//! longjmp or by an exception, and is forgotten.
//!
//! A call inside a timed call is passed on without a note, because its time is part of the timed call's.

use crate::entry::nesting::is_nested;
use crate::entry::{next, timed};
use crate::record::block::{Block, Presence};
use crate::record::counters;
use crate::record::thread::{self, Thread};
use crate::sys::panic_barrier::guarded;
use crate::time;
use std::arch::global_asm;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// Bytes of one thunk.
const STRIDE: usize = 16;

unsafe extern "C" {
    static rankweave_noting_thunks: [u8; 0];
}

global_asm!(
    ".pushsection .text.rankweave_noting,\"ax\",@progbits",
    ".balign 16",
    ".globl rankweave_noting_thunks",
    ".hidden rankweave_noting_thunks",
    ".type rankweave_noting_thunks,@function",
    "rankweave_noting_thunks:",
    ".cfi_startproc",
    ".set rankweave_number, 0",
    ".rept {count}",
    ".balign 16",
    // mov r11d, number
    ".byte 0x41, 0xbb",
    ".long rankweave_number",
    "jmp rankweave_noting",
    ".set rankweave_number, rankweave_number + 1",
    ".endr",
    ".cfi_endproc",
    ".size rankweave_noting_thunks, . - rankweave_noting_thunks",
    ".balign 16",
    ".type rankweave_noting,@function",
    "rankweave_noting:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rax, [rip + rankweave_thread@GOTTPOFF]",
    "mov r10, fs:[rax + {block}]",
    "cmp qword ptr fs:[rax + {timed}], 0",
    "jne 4f",
    "test r10, r10",
    "jz 4f",
    "3:",
    "mov rax, [r10 + {frame}]",
    "cmp rax, rsp",
    "ja 5f",
    // There is no outer call, or the previous address was left behind.
    "xor eax, eax",
    "5:",
    "push rax",
    "push r10",
    "mov [r10 + {frame}], rsp",
    "inc qword ptr [r10 + {calls}]",
    "lea rax, [rip + {timings}]",
    "movzx eax, byte ptr [rax + r11]",
    "lea r10, [rip + {bases}]",
    "mov r11, [r10 + 8 * r11]",
    "and eax, 127",
    "dec eax",
    "jnz 6f",
    "2:",
    "call r11",
    "mov r10, [rbp - 16]",
    "mov rcx, [rbp - 8]",
    "mov [r10 + {frame}], rcx",
    ".cfi_remember_state",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_restore_state",
    // Arguments on the stack, from the last one on.
    "6:",
    "lea r10, [rax * 8 + 8]",
    "and r10, -16",
    "sub rsp, r10",
    "7:",
    "mov r10, [rbp + rax * 8 + 8]",
    "mov [rsp + rax * 8 - 8], r10",
    "dec eax",
    "jnz 7b",
    "jmp 2b",
    // The thread has no block yet, or it is in a call that is timed.
    "4:",
    "sub rsp, 64",
    "mov [rsp], rdi",
    "mov [rsp + 8], rsi",
    "mov [rsp + 16], rdx",
    "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8",
    "mov [rsp + 40], r9",
    "mov [rsp + 48], r11",
    "mov rdi, rbp",
    "call {block_of}",
    "mov r10, rax",
    "mov rdi, [rsp]",
    "mov rsi, [rsp + 8]",
    "mov rdx, [rsp + 16]",
    "mov rcx, [rsp + 24]",
    "mov r8, [rsp + 32]",
    "mov r9, [rsp + 40]",
    "mov r11, [rsp + 48]",
    "mov rsp, rbp",
    "test r10, r10",
    "jnz 3b",
    // The call is not noted. It goes where the slot would point without the thunk.
    "lea rax, [rip + {bases}]",
    "mov r11, [rax + 8 * r11]",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "jmp r11",
    ".cfi_endproc",
    ".size rankweave_noting, . - rankweave_noting",
    ".popsection",
    count = const next::COUNT,
    block = const offset_of!(Thread, block),
    timed = const offset_of!(Thread, timed),
    frame = const offset_of!(Block, presence) + offset_of!(Presence, frame),
    calls = const offset_of!(Block, presence) + offset_of!(Presence, calls),
    timings = sym timed::TIMED,
    bases = sym timed::BASE,
    block_of = sym block_of,
);

/// The thunk of an entry point.
pub fn of(index: usize) -> *const () {
    // SAFETY: the address of the code above, of which nothing is read; index is one of COUNT.
    unsafe { (&raw const rankweave_noting_thunks).cast::<u8>().add(STRIDE * index).cast() }
}

/// The block of the calling thread for a call whose frame is at `here`; null if the call is not to be noted.
extern "C" fn block_of(here: u64) -> *const Block {
    let thread = thread::current();
    let (outer, since) = (&thread.timed, &thread.timed_since);
    if is_nested(outer.load(Ordering::Relaxed), since.load(Ordering::Relaxed), here, time::now) {
        return std::ptr::null();
    }
    outer.store(0, Ordering::Relaxed);
    if counters::tasks() == 0 {
        return std::ptr::null();
    }
    guarded(counters::mine).map_or(std::ptr::null(), std::ptr::from_ref)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::thunk::testing::{Ten, sum};

    fn thunk() -> Ten {
        let index = crate::entry::names::number("MPI_Ineighbor_alltoallw", "", 0);
        timed::set_base(index, looks as *const ());
        // SAFETY: the thunk passes on to a function of this type.
        unsafe { std::mem::transmute(of(index)) }
    }

    fn presence() -> (u64, u64) {
        // SAFETY: the block that the test gave to its thread.
        let presence = unsafe { &(*thread::current().block.load(Ordering::Relaxed)).presence };
        (presence.frame.load(Ordering::Relaxed), presence.calls.load(Ordering::Relaxed))
    }

    /// Checks that the call is noted, and passes it on.
    #[allow(clippy::too_many_arguments)]
    extern "C-unwind" fn looks(
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
        f: u64,
        g: u64,
        h: u64,
        i: u64,
        j: u64,
    ) -> u64 {
        let outside = presence().0;
        assert!(outside > &raw const outside as u64, "noted by the frame of the thunk");
        assert_eq!(i, 10);
        let inner = if j == 1 { thunk()(1, 1, 1, 1, 1, 1, 1, 1, 10, 0) } else { 0 };
        assert_eq!(presence().0, outside, "an inner call leaves the outer one in place");
        assert_ne!(j, 2, "on purpose");
        sum(&[a, b, c, d, e, f, g, h]) + inner
    }

    #[test]
    fn calls_pass_and_are_noted() {
        let block: &'static Block = Box::leak(Box::new(Block::new(1).unwrap()));
        let thread = thread::current();
        let eight = 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64;
        let once = |last| thunk()(1, 2, 3, 4, 5, 6, 7, 8, 10, last);
        thread.block.store(std::ptr::from_ref(block).cast_mut(), Ordering::Relaxed);
        assert_eq!((once(0), presence()), (eight, (0, 1)));
        assert_eq!((once(1), presence()), (eight + 36, (0, 3)));
        assert!(std::panic::catch_unwind(|| once(2)).is_err());
        assert_ne!(presence().0, 0, "the call was left");
        let shallow = presence().0;
        block.presence.frame.store(1, Ordering::Relaxed);
        assert_eq!((once(0), presence().0), (eight, 0), "a frame further down is gone");
        assert!(shallow > 1);
        thread.block.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
}
