//! x86-64 with the System V calling convention. The fast path of a send is in
//! [`fast_send_x86_64`](super::fast_send_x86_64).
//!
//! Arguments are in rdi, rsi, rdx, rcx, r8, r9 and on the stack. The registers rax, r10 and r11 carry none, except that
//! al has the number of vector registers in use where the callee is variadic.

/// How many arguments go in registers. The others lie on the stack, one in each word.
pub const REGISTERS: usize = 6;

/// A relocation that puts the plain address of a symbol into a word of data (psABI, table 4.9).
pub const R_ADDRESS: u32 = 1;
/// Relocations of the tables through which code finds data and calls functions.
pub const R_GLOB_DAT: u32 = 6;
pub const R_JUMP_SLOT: u32 = 7;

/// `_STAT_VER`: the layout of `struct stat` that old functions of the C library are asked for.
pub const STAT_LAYOUT: libc::c_int = 1;

/// The version of glibc in which an old function is found: on this processor, that which is given.
macro_rules! oldest {
    ($version:literal) => {
        $version
    };
}

/// The body of an exported function: a jump through a slot of a table of addresses.
macro_rules! jump_through {
    ($slots:path, $index:expr) => {
        std::arch::naked_asm!(
            "jmp qword ptr [rip + {slots} + 8 * {index}]",
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
    // SAFETY: every function has at least the six bytes of an entry point (functions are aligned).
    unsafe {
        let code = address as *const u8;
        // jmp qword ptr [rip + displacement]
        if *code != 0xff || *code.add(1) != 0x25 {
            return None;
        }
        let displacement = code.add(2).cast::<i32>().read_unaligned() as isize;
        Some((address + 6).wrapping_add_signed(displacement))
    }
}

/// The body of the stub of an unresolved slot: goes to the resolver with the number of the entry point.
macro_rules! unresolved {
    ($index:expr) => {
        std::arch::naked_asm!(
            "mov r11d, {index}",
            "jmp rankweave_resolve",
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
            $($operands)*
        );
    };
}

/// The thunks `rankweave_thunks` of `count` entry points, [`STRIDE`](super::STRIDE) bytes each, and the function that works for all. It
/// calls `begins` with the number of the entry point and the address of a `Call` in its frame. If the answer is 1, it
/// makes the call with a copy of the arguments on the stack, and then calls `ends`.
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
            // mov r11d, number
            ".byte 0x41, 0xbb",
            ".long rankweave_number",
            "jmp rankweave_timed",
            ".set rankweave_number, rankweave_number + 1",
            ".endr",
            ".cfi_endproc",
            ".size rankweave_thunks, . - rankweave_thunks",
            ".balign 16",
            ".type rankweave_timed,@function",
            "rankweave_timed:",
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "sub rsp, 112",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "mov [rsp + 48], rax",
            "mov edi, r11d",
            "lea rsi, [rsp + 64]",
            "call {begins}",
            "mov r11, [rsp + 64]",
            "test eax, eax",
            "jz 3f",
            // Arguments on the stack, from the last one on.
            "mov rcx, [rsp + 72]",
            "lea rax, [rcx * 8 + 8]",
            "and rax, -16",
            "sub rsp, rax",
            "2:",
            "test rcx, rcx",
            "jz 2f",
            "mov rdx, [rbp + rcx * 8 + 8]",
            "mov [rsp + rcx * 8 - 8], rdx",
            "dec rcx",
            "jmp 2b",
            "2:",
            "mov rdi, [rbp - 112]",
            "mov rsi, [rbp - 104]",
            "mov rdx, [rbp - 96]",
            "mov rcx, [rbp - 88]",
            "mov r8, [rbp - 80]",
            "mov r9, [rbp - 72]",
            "mov rax, [rbp - 64]",
            "call r11",
            "mov [rbp - 112], rax",
            "mov [rbp - 104], rdx",
            "lea rdi, [rbp - 48]",
            "call {ends}",
            "mov rax, [rbp - 112]",
            "mov rdx, [rbp - 104]",
            ".cfi_remember_state",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_restore_state",
            // Not timed: the call goes where the slot would point without the thunk.
            "3:",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "mov rax, [rsp + 48]",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "jmp r11",
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
            $($operands)*
        );
    };
}

/// The body of a variadic function whose first argument is an `int`: goes to `ours` if the argument is one of the `count`
/// numbers from `first` on, and else to the function `index` of the table `next`, with all arguments unchanged.
macro_rules! by_level {
    ($($operands:tt)*) => {
        std::arch::naked_asm!(
            // al, the number of vector registers in use, must stay as it is.
            "lea r11d, [rdi - {first}]",
            "cmp r11d, {count}",
            "jb {ours}",
            "jmp qword ptr [rip + {next} + 8 * {index}]",
            $($operands)*
        )
    };
}

/// The body of `fork_onto(top, run, argument)`: the system call `clone` with `flags` and a stack, after which the new
/// process calls `run(argument)`. Returns the answer of the call.
macro_rules! fork_onto {
    ($($operands:tt)*) => {
        std::arch::naked_asm!(
            "mov r8, rsi",
            "mov r9, rdx",
            "mov rsi, rdi",
            "mov edi, {flags}",
            "xor edx, edx",
            "xor r10d, r10d",
            "mov eax, {clone}",
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r9",
            "call r8",
            "ud2",
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
            concat!("mov r11, qword ptr [rip + rankweave_older_", $name, "@GOTPCREL]"),
            "test r11, r11",
            "jz 2f",
            "jmp r11",
            concat!("2: mov rax, ", $missing),
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
        );
    };
}

/// The instruction that goes on to another function.
macro_rules! jump {
    ($to:literal) => {
        concat!("jmp ", $to)
    };
}

/// The address of the calling thread's state.
#[inline(always)]
pub fn thread_state() -> *const () {
    let address;
    // SAFETY: the x86-64 TLS ABI: fs:0 holds the thread pointer, and the linker fills the GOT entry with the offset of
    // the state, which `super` reserves.
    unsafe {
        std::arch::asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + rankweave_thread@GOTTPOFF]",
            address = out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    address
}

pub(crate) use {
    by_level, fork_onto, jump, jump_through, noting_thunks, older, oldest, resolver, thunks,
    unresolved,
};

/// The floating-point environment of a thread: traps, rounding, and the flags of exceptions so far.
#[derive(Debug, Clone, Copy)]
pub struct FloatingPoint {
    /// What `fnstenv` stores.
    x87: [u32; 7],
    /// Control and flags of SSE.
    mxcsr: u32,
}

impl FloatingPoint {
    /// MXCSR of a new process: all exceptions masked, rounding to nearest, no flags.
    const MXCSR: u32 = 0x1f80;
    /// The control word of the x87 of a new process: the same, with the precision of `long double`.
    const X87: u16 = 0x37f;

    /// Gives this thread the environment of a new process, and returns the one that it had.
    #[inline]
    pub fn replace_by_default() -> Self {
        let mut had = FloatingPoint { x87: [0; 7], mxcsr: 0 };
        // SAFETY: stores 28 and 4 bytes into fields of this size, and reads two constants. Only the environment changes,
        // to the one that Rust expects. The stack of the x87 is left as it is.
        unsafe {
            std::arch::asm!(
                "fnstenv [{x87}]",
                "fnclex",
                "fldcw [{control}]",
                "stmxcsr [{mxcsr}]",
                "ldmxcsr [{default}]",
                x87 = in(reg) had.x87.as_mut_ptr(),
                mxcsr = in(reg) &raw mut had.mxcsr,
                control = in(reg) &Self::X87,
                default = in(reg) &Self::MXCSR,
                options(nostack),
            );
        }
        had
    }

    /// Gives this thread the environment, with its flags.
    #[inline]
    pub fn restore(&self) {
        // SAFETY: reads 28 and 4 bytes that were stored by the same thread. Only the environment changes, to the one that
        // the program had.
        unsafe {
            std::arch::asm!(
                "fldenv [{x87}]",
                "ldmxcsr [{mxcsr}]",
                x87 = in(reg) self.x87.as_ptr(),
                mxcsr = in(reg) &self.mxcsr,
                options(nostack),
            );
        }
    }
}
