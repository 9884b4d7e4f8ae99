//! 64-bit Arm with the procedure call standard AAPCS64. The fast path of a send is in
//! [`fast_send_aarch64`](super::fast_send_aarch64).
//!
//! Arguments are in x0 to x7, in v0 to v7, and on the stack, one in each word of eight bytes. Variadic functions get theirs
//! in the same way. x8 is the address of a large result. The registers x9 to x17 carry no argument. The linker may
//! change x16 and x17 on the way to a function, so a number that goes from one piece of code to another is in x9.
//!
//! The code does not depend on the size of a page. It has no landing pads for branch target identification: the loader
//! demands these only of objects that say that they have them. Jumps to other objects are by x16, as from a linkage
//! table, so the landing pads there permit them.

/// How many arguments go in registers. The others lie on the stack, one in each word.
pub const REGISTERS: usize = 8;

/// `R_AARCH64_ABS64`, a relocation that puts the plain address of a symbol into a word of data.
pub const R_ADDRESS: u32 = 257;
/// `R_AARCH64_GLOB_DAT` and `R_AARCH64_JUMP_SLOT`: of the tables through which code finds data and calls functions.
pub const R_GLOB_DAT: u32 = 1025;
pub const R_JUMP_SLOT: u32 = 1026;

/// `_STAT_VER`: the layout of `struct stat` that old functions of the C library are asked for.
pub const STAT_LAYOUT: libc::c_int = 0;

/// The version of glibc in which an old function is found: the first for this processor.
macro_rules! oldest {
    ($version:literal) => {
        "2.17"
    };
}

/// The body of an exported function: a jump through a slot of a table of addresses.
macro_rules! jump_through {
    ($slots:path, $index:expr) => {
        std::arch::naked_asm!(
            "adrp x16, {slots} + 8 * {index}",
            "ldr x16, [x16, :lo12:{slots} + 8 * {index}]",
            "br x16",
            slots = sym $slots,
            index = const $index,
        )
    };
}

/// The word that the jump of an exported function at `address` reads. `None` if there is other code.
///
/// # Safety
/// `address` is that of a function of this library.
pub unsafe fn slot_of(address: usize) -> Option<usize> {
    let code = address as *const u32;
    // SAFETY: every function has an instruction, and the others are read only behind the first two of an entry point.
    let (page, load, branch) = unsafe {
        // adrp x16, PAGE
        let page = code.read();
        if page & 0x9f00_001f != 0x9000_0010 {
            return None;
        }
        (page, code.add(1).read(), code.add(2).read())
    };
    // ldr x16, [x16, OFFSET]; br x16
    if load & 0xffc0_03ff != 0xf940_0210 || branch != 0xd61f_0200 {
        return None;
    }
    // The distance in pages has 21 bits with a sign: two at bit 29, and 19 at bit 5.
    let pages = (page >> 5 & 0x7_ffff) << 2 | page >> 29 & 3;
    let pages = ((pages << 11) as i32 >> 11) as isize;
    let start = (address & !0xfff).wrapping_add_signed(pages << 12);
    Some(start + (load >> 10 & 0xfff) as usize * 8)
}

/// The body of the stub of an unresolved slot: goes to the resolver with the number of the entry point.
macro_rules! unresolved {
    ($index:expr) => {
        std::arch::naked_asm!(
            "mov w9, {index}",
            "b rankweave_resolve",
            index = const $index,
        )
    };
}

/// The resolver `rankweave_resolve`: saves every register that may carry an argument, calls `resolve` with the number of
/// the entry point, restores the registers, and jumps to the address that it got.
macro_rules! resolver {
    ($($operands:tt)*) => {
        std::arch::global_asm!(
            ".pushsection .text.rankweave_resolve,\"ax\",@progbits",
            ".balign 16",
            ".globl rankweave_resolve",
            ".hidden rankweave_resolve",
            ".type rankweave_resolve,@function",
            "rankweave_resolve:",
            ".cfi_startproc",
            "stp x29, x30, [sp, #-224]!",
            ".cfi_def_cfa_offset 224",
            ".cfi_offset x29, -224",
            ".cfi_offset x30, -216",
            "mov x29, sp",
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "str x8, [sp, #80]",
            "stp q0, q1, [sp, #96]",
            "stp q2, q3, [sp, #128]",
            "stp q4, q5, [sp, #160]",
            "stp q6, q7, [sp, #192]",
            "mov w0, w9",
            "bl {resolve}",
            "mov x16, x0",
            "ldp x0, x1, [sp, #16]",
            "ldp x2, x3, [sp, #32]",
            "ldp x4, x5, [sp, #48]",
            "ldp x6, x7, [sp, #64]",
            "ldr x8, [sp, #80]",
            "ldp q0, q1, [sp, #96]",
            "ldp q2, q3, [sp, #128]",
            "ldp q4, q5, [sp, #160]",
            "ldp q6, q7, [sp, #192]",
            "ldp x29, x30, [sp], #224",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            ".size rankweave_resolve, . - rankweave_resolve",
            ".popsection",
            $($operands)*
        );
    };
}

/// The thunks `rankweave_thunks` of `count` entry points, [`STRIDE`](super::STRIDE) bytes each, and the function that
/// works for all. It calls `begins` with the number of the entry point and the address of a `Call` in its frame. If the
/// answer is 1, it makes the call with a copy of the arguments on the stack, and then calls `ends`.
macro_rules! thunks {
    ($($operands:tt)*) => {
        std::arch::global_asm!(
            ".pushsection .text.rankweave_timed,\"ax\",@progbits",
            ".balign 16",
            ".globl rankweave_thunks",
            ".hidden rankweave_thunks",
            ".type rankweave_thunks,@function",
            "rankweave_thunks:",
            ".cfi_startproc",
            ".set rankweave_number, 0",
            ".rept {count}",
            ".balign 16",
            // mov w9, number
            ".inst 0x52800009 + 32 * rankweave_number",
            "b rankweave_timed",
            ".set rankweave_number, rankweave_number + 1",
            ".endr",
            ".cfi_endproc",
            ".size rankweave_thunks, . - rankweave_thunks",
            ".balign 16",
            ".type rankweave_timed,@function",
            "rankweave_timed:",
            ".cfi_startproc",
            "stp x29, x30, [sp, #-128]!",
            ".cfi_def_cfa_offset 128",
            ".cfi_offset x29, -128",
            ".cfi_offset x30, -120",
            "mov x29, sp",
            ".cfi_def_cfa_register x29",
            "stp x0, x1, [x29, #16]",
            "stp x2, x3, [x29, #32]",
            "stp x4, x5, [x29, #48]",
            "stp x6, x7, [x29, #64]",
            "str x8, [x29, #80]",
            "mov w0, w9",
            "add x1, x29, #96",
            "bl {begins}",
            "ldr x16, [x29, #96]",
            "cbz w0, 3f",
            // Arguments on the stack, from the last one on.
            "ldr x9, [x29, #104]",
            "lsl x10, x9, #3",
            "add x10, x10, #8",
            "and x10, x10, #-16",
            "sub x10, x29, x10",
            "mov sp, x10",
            "add x11, x29, #128",
            "2:",
            "cbz x9, 2f",
            "sub x9, x9, #1",
            "ldr x12, [x11, x9, lsl #3]",
            "str x12, [x10, x9, lsl #3]",
            "b 2b",
            "2:",
            "ldp x0, x1, [x29, #16]",
            "ldp x2, x3, [x29, #32]",
            "ldp x4, x5, [x29, #48]",
            "ldp x6, x7, [x29, #64]",
            "ldr x8, [x29, #80]",
            "blr x16",
            "stp x0, x1, [x29, #16]",
            "add x0, x29, #96",
            "bl {ends}",
            "ldp x0, x1, [x29, #16]",
            "mov sp, x29",
            ".cfi_remember_state",
            ".cfi_def_cfa sp, 128",
            "ldp x29, x30, [sp], #128",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            ".cfi_restore_state",
            // Not timed: the call goes where the slot would point without the thunk.
            "3:",
            "ldp x0, x1, [x29, #16]",
            "ldp x2, x3, [x29, #32]",
            "ldp x4, x5, [x29, #48]",
            "ldp x6, x7, [x29, #64]",
            "ldr x8, [x29, #80]",
            ".cfi_def_cfa sp, 128",
            "ldp x29, x30, [sp], #128",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            ".size rankweave_timed, . - rankweave_timed",
            ".popsection",
            $($operands)*
        );
    };
}

/// The thunks `rankweave_noting_thunks`, and the function that works for all. It keeps the address of its frame in the
/// thread's block during the call. Without a block, or in a timed call, it asks `block_of`.
macro_rules! noting_thunks {
    ($($operands:tt)*) => {
        std::arch::global_asm!(
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
            // mov w9, number
            ".inst 0x52800009 + 32 * rankweave_number",
            "b rankweave_noting",
            ".set rankweave_number, rankweave_number + 1",
            ".endr",
            ".cfi_endproc",
            ".size rankweave_noting_thunks, . - rankweave_noting_thunks",
            ".balign 16",
            ".type rankweave_noting,@function",
            "rankweave_noting:",
            ".cfi_startproc",
            "stp x29, x30, [sp, #-32]!",
            ".cfi_def_cfa_offset 32",
            ".cfi_offset x29, -32",
            ".cfi_offset x30, -24",
            "mov x29, sp",
            ".cfi_def_cfa_register x29",
            "adrp x10, :gottprel:rankweave_thread",
            "ldr x10, [x10, :gottprel_lo12:rankweave_thread]",
            "mrs x11, tpidr_el0",
            "add x10, x10, x11",
            "ldr x11, [x10, #{timed}]",
            "ldr x12, [x10, #{block}]",
            "cbnz x11, 4f",
            "cbz x12, 4f",
            "3:",
            // The address of the outer call's frame, or 0 if there is none or it was left behind.
            "ldr x11, [x12, #{frame}]",
            "cmp x11, x29",
            "csel x11, x11, xzr, hi",
            "stp x12, x11, [x29, #16]",
            "mov x13, x29",
            "str x13, [x12, #{frame}]",
            "ldr x11, [x12, #{calls}]",
            "add x11, x11, #1",
            "str x11, [x12, #{calls}]",
            "adrp x11, {timings}",
            "add x11, x11, :lo12:{timings}",
            "ldrb w11, [x11, x9]",
            "adrp x13, {bases}",
            "add x13, x13, :lo12:{bases}",
            "ldr x16, [x13, x9, lsl #3]",
            "and w11, w11, #127",
            "subs w11, w11, #1",
            "b.ne 6f",
            "2:",
            "blr x16",
            "ldp x12, x11, [x29, #16]",
            "str x11, [x12, #{frame}]",
            "mov sp, x29",
            ".cfi_remember_state",
            ".cfi_def_cfa sp, 32",
            "ldp x29, x30, [sp], #32",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            ".cfi_restore_state",
            // Arguments on the stack, from the last one on.
            "6:",
            "lsl x10, x11, #3",
            "add x10, x10, #8",
            "and x10, x10, #-16",
            "sub x10, x29, x10",
            "mov sp, x10",
            "add x12, x29, #32",
            "7:",
            "sub x11, x11, #1",
            "ldr x13, [x12, x11, lsl #3]",
            "str x13, [x10, x11, lsl #3]",
            "cbnz x11, 7b",
            "b 2b",
            // The thread has no block yet, or it is in a call that is timed.
            "4:",
            "sub sp, sp, #80",
            "stp x0, x1, [sp]",
            "stp x2, x3, [sp, #16]",
            "stp x4, x5, [sp, #32]",
            "stp x6, x7, [sp, #48]",
            "stp x8, x9, [sp, #64]",
            "mov x0, x29",
            "bl {block_of}",
            "mov x12, x0",
            "ldp x0, x1, [sp]",
            "ldp x2, x3, [sp, #16]",
            "ldp x4, x5, [sp, #32]",
            "ldp x6, x7, [sp, #48]",
            "ldp x8, x9, [sp, #64]",
            "mov sp, x29",
            "cbnz x12, 3b",
            // The call is not noted. It goes where the slot would point without the thunk.
            "adrp x13, {bases}",
            "add x13, x13, :lo12:{bases}",
            "ldr x16, [x13, x9, lsl #3]",
            ".cfi_def_cfa sp, 32",
            "ldp x29, x30, [sp], #32",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            ".size rankweave_noting, . - rankweave_noting",
            ".popsection",
            $($operands)*
        );
    };
}

/// The body of a variadic function whose first argument is an `int`: goes to `ours` if the argument is one of the `count`
/// numbers from `first` on, and else to the function `index` of the table `next`, with all arguments unchanged.
macro_rules! by_level {
    ($($operands:tt)*) => {
        std::arch::naked_asm!(
            "movz w10, {first} & 0xffff",
            "movk w10, {first} >> 16, lsl #16",
            "sub w10, w0, w10",
            "cmp w10, {count}",
            "b.hs 2f",
            "b {ours}",
            "2:",
            "adrp x16, {next} + 8 * {index}",
            "ldr x16, [x16, :lo12:{next} + 8 * {index}]",
            "br x16",
            $($operands)*
        )
    };
}

/// The body of `fork_onto(top, run, argument)`: the system call `clone` with `flags` and a stack, after which the new
/// process calls `run(argument)`. Returns the answer of the call.
macro_rules! fork_onto {
    ($($operands:tt)*) => {
        std::arch::naked_asm!(
            "mov x9, x1",
            "mov x10, x2",
            "mov x1, x0",
            "mov x0, {flags}",
            "mov x2, xzr",
            "mov x3, xzr",
            "mov x4, xzr",
            "mov x8, {clone}",
            "svc #0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x30, xzr",
            "mov x0, x10",
            "blr x9",
            "brk #1",
            "2:",
            "ret",
            $($operands)*
        )
    };
}

/// Defines a function that goes on to a function of the C library in its old version. The reference is weak: without
/// the function, it returns `$missing`.
macro_rules! older {
    ($name:literal $version:expr, $missing:literal) => {
        std::arch::global_asm!(
            concat!(".weak rankweave_older_", $name),
            concat!(".symver rankweave_older_", $name, ", ", $name, "@GLIBC_", $version),
            ".text",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            ".cfi_startproc",
            concat!("adrp x16, :got:rankweave_older_", $name),
            concat!("ldr x16, [x16, :got_lo12:rankweave_older_", $name, "]"),
            "cbz x16, 2f",
            "br x16",
            "2:",
            concat!("mov x0, ", $missing),
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
        );
    };
}

/// The instruction that goes on to another function.
macro_rules! jump {
    ($to:literal) => {
        concat!("b ", $to)
    };
}

/// The address of the calling thread's state.
#[inline(always)]
pub fn thread_state() -> *const () {
    let (address, pointer): (*const (), usize);
    // SAFETY: the TLS ABI: tpidr_el0 is the thread pointer, and the linker fills the GOT entry with the offset of the
    // state, which `super` reserves.
    unsafe {
        std::arch::asm!(
            "adrp {address}, :gottprel:rankweave_thread",
            "mrs {pointer}, tpidr_el0",
            "ldr {address}, [{address}, :gottprel_lo12:rankweave_thread]",
            "add {address}, {address}, {pointer}",
            address = out(reg) address,
            pointer = out(reg) pointer,
            options(pure, nomem, nostack),
        );
    }
    let _ = pointer;
    address
}

pub(crate) use {
    by_level, fork_onto, jump, jump_through, noting_thunks, older, oldest, resolver, thunks,
    unresolved,
};

/// The floating-point environment of a thread: traps, rounding, and the flags of exceptions so far.
#[derive(Debug, Clone, Copy)]
pub struct FloatingPoint {
    fpcr: u64,
    fpsr: u64,
}

impl FloatingPoint {
    /// Gives this thread the environment of a new process, and returns the one that it had.
    #[inline]
    pub fn replace_by_default() -> Self {
        let (fpcr, fpsr): (u64, u64);
        // SAFETY: only the environment changes, to the one that Rust expects: no traps, rounding to nearest, no flags.
        unsafe {
            std::arch::asm!(
                "mrs {fpcr}, fpcr",
                "mrs {fpsr}, fpsr",
                "msr fpcr, xzr",
                "msr fpsr, xzr",
                fpcr = out(reg) fpcr,
                fpsr = out(reg) fpsr,
                options(nostack),
            );
        }
        FloatingPoint { fpcr, fpsr }
    }

    /// Gives this thread the environment, with its flags.
    #[inline]
    pub fn restore(&self) {
        // SAFETY: only the environment changes, to the one that the program had in this thread.
        unsafe {
            std::arch::asm!(
                "msr fpcr, {fpcr}",
                "msr fpsr, {fpsr}",
                fpcr = in(reg) self.fpcr,
                fpsr = in(reg) self.fpsr,
                options(nostack),
            );
        }
    }
}
