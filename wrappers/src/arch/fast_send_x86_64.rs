//! The fast path of a send on x86-64, see [`fast_send`](crate::entry::fast_send).
//!
//! It uses only the three registers that carry no argument: rax, r10 and r11.

/// The body of the fast path, for calls whose count is an `int` or an `MPI_Count`, in ABIs whose handles are integers
/// (`narrow`) or pointers (`wide`).
macro_rules! fast_send {
    (int, narrow, $($operands:tt)*) => {
        $crate::arch::fast_send!(
            @code "mov esi, esi", "test esi, esi", "mov r9d, r9d", "mov edx, edx", $($operands)*
        )
    };
    (int, wide, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "mov esi, esi", "test esi, esi", "", "", $($operands)*)
    };
    (MPI_Count, narrow, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "", "test rsi, rsi", "mov r9d, r9d", "mov edx, edx", $($operands)*)
    };
    (MPI_Count, wide, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "", "test rsi, rsi", "", "", $($operands)*)
    };
    // The upper half of a register that holds an `int` is undefined, so this code may set it to zero.
    (@code $count:literal, $sign:literal, $comm:literal, $datatype:literal, $($operands:tt)*) => {
        // buf rdi, count rsi, datatype rdx, dest ecx, tag r8d, comm r9, request on the stack.
        std::arch::naked_asm!(
            "mov rax, qword ptr [rip + rankweave_thread@GOTTPOFF]",
            $comm,
            "mov r10, fs:[rax + {comm}]",
            "test r10, r10",
            "jz 2f",
            "cmp r9, [r10 + {key}]",
            "je 5f",
            // Not the communicator that the thread used last. Its digest is mostly at its first place.
            "movabs r10, {multiplier}",
            "imul r10, r9",
            "shr r10, 32 - {digest_shift}",
            "and r10d, {places_mask} << {digest_shift}",
            "add r10, [rip + {communicators} + {digests}]",
            "cmp r9, [r10]",
            "jne 32f",
            "20:",
            "mov r11, [r10 + {word}]",
            "test r11, r11",
            "js 27f",
            "jnz 22f",
            // It is free again, or the handle is none of MPI's: as without a digest.
            "21:",
            // It has no digest: its node is its home, or in a chain.
            "movabs r10, {multiplier}",
            "imul r10, r9",
            "shr r10, 32 - {comm_shift}",
            "and r10d, {homes_mask} << {comm_shift}",
            "add r10, [rip + {communicators} + {homes}]",
            "cmp r9, [r10 + {key}]",
            "jne 4f",
            "cmp qword ptr [r10 + {link}], 0",
            "je 2f",
            "mov fs:[rax + {comm}], r10",
            // The communicator's node is in r10. MPI_PROC_NULL is a large number here.
            "5:",
            "cmp ecx, [r10 + {size}]",
            "jae 3f",
            "mov ecx, ecx",
            "mov r11, [r10 + {tasks}]",
            "mov r11d, dword ptr [r11 + 4 * rcx]",
            "23:",
            "cmp r11d, {outside}",
            "jae 2f",
            $datatype,
            "mov r10, fs:[rax + {datatype}]",
            "test r10, r10",
            "jz 2f",
            "cmp rdx, [r10 + {key}]",
            "jne 31f",
            // The datatype's node is in r10, the task in r11.
            "7:",
            "mov r10, [r10 + {value}]",
            // The size is in r10.
            "25:",
            $sign,
            "js 2f",
            $count,
            "imul r10, rsi",
            "shl r11, 4",
            "add r11, fs:[rax + {cells}]",
            "add qword ptr [r11], r10",
            "inc qword ptr [r11 + 8]",
            // A communicator that was found by its digest keeps its handle.
            "bt rcx, 32",
            "jc 26f",
            "mov r10, fs:[rax + {comm}]",
            // The communicator is overwritten only if the world is replaced. Otherwise the next function
            // does not depend on the value that is read here.
            "3:",
            "cmp r9, [r10 + {effective}]",
            "jne 3f",
            "26:",
            "jmp qword ptr [rip + {next} + 8 * {index}]",
            "3:",
            "mov r9, [r10 + {effective}]",
            "jmp qword ptr [rip + {next} + 8 * {index}]",
            // The word of the communicator's digest is in r11. Bit 32 of rcx, which has no argument, tells later
            // that there was a digest.
            "22:",
            "mov ecx, ecx",
            "movzx r10d, r11w",
            "cmp ecx, r10d",
            "jae 26b",
            "shr r11, {size_bits}",
            "cmp r11, {identity}",
            "je 28f",
            "ja 29f",
            // The one rank is that of all such communicators.
            "bts rcx, 32",
            "mov r11d, dword ptr [rip + {process}]",
            "jmp 23b",
            // The task is the rank.
            "28:",
            "mov r11d, ecx",
            "bts rcx, 32",
            "jmp 23b",
            // The tasks are a progression: its first task, and the difference of two tasks.
            "29:",
            "mov r10, r11",
            "shr r10, {step_bits}",
            "and r11d, (1 << {step_bits}) - 1",
            "imul r11d, ecx",
            "add r11d, r10d",
            "bts rcx, 32",
            "jmp 23b",
            // The word has the address of the tasks.
            "27:",
            "mov ecx, ecx",
            "movzx r10d, r11w",
            "cmp ecx, r10d",
            "jae 26b",
            "shl r11, 1",
            "shr r11, {size_bits} + 1",
            "mov r11d, dword ptr [r11 + 4 * rcx]",
            "bts rcx, 32",
            "jmp 23b",
            // Its digest is at another place of the line.
            "32:",
            "xor r10, {digest}",
            "cmp r9, [r10]",
            "je 20b",
            "xor r10, {digest} ^ (2 * {digest})",
            "cmp r9, [r10]",
            "je 20b",
            "xor r10, {digest}",
            "cmp r9, [r10]",
            "je 20b",
            "jmp 21b",
            // Not the datatype that the thread used last. Its digest is mostly at its first place.
            "31:",
            "movabs r10, {multiplier}",
            "imul r10, rdx",
            "shr r10, 32 - {digest_shift}",
            "and r10d, {places_mask} << {digest_shift}",
            "add r10, [rip + {sizes} + {digests}]",
            "cmp rdx, [r10]",
            "jne 33f",
            "24:",
            "mov r10, [r10 + {word}]",
            "dec r10",
            "jns 25b",
            "jmp 34f",
            "33:",
            "xor r10, {digest}",
            "cmp rdx, [r10]",
            "je 24b",
            "xor r10, {digest} ^ (2 * {digest})",
            "cmp rdx, [r10]",
            "je 24b",
            "xor r10, {digest}",
            "cmp rdx, [r10]",
            "je 24b",
            "34:",
            // It has no digest. MPI may have to be asked for its size again.
            "cmp rdx, fs:[rax + {asked}]",
            "je 2f",
            // Its node is its home, or in a chain.
            "movabs r10, {multiplier}",
            "imul r10, rdx",
            "shr r10, 32 - {datatype_shift}",
            "and r10d, {homes_mask} << {datatype_shift}",
            "add r10, [rip + {sizes} + {homes}]",
            "cmp rdx, [r10 + {key}]",
            "jne 6f",
            "cmp qword ptr [r10 + {link}], 0",
            "je 2f",
            "mov fs:[rax + {datatype}], r10",
            "jmp 7b",
            // The communicator is not at home: look for it in its chain.
            "4:",
            "movabs r10, {multiplier}",
            "imul r10, r9",
            "shr r10, 32",
            "mov r11, [rip + {communicators} + {chains}]",
            "and r10, [r11]",
            "mov r10, [r11 + 8 * r10 + 8]",
            "8:",
            "test r10, r10",
            "jz 2f",
            "cmp r9, [r10 + {key}]",
            "mov fs:[rax + {comm}], r10",
            "je 5b",
            "mov r10, [r10 + {link}]",
            "jmp 8b",
            // The datatype is not at home.
            "6:",
            "movabs r10, {multiplier}",
            "imul r10, rdx",
            "shr r10, 32",
            "mov rax, [rip + {sizes} + {chains}]",
            "and r10, [rax]",
            "mov r10, [rax + 8 * r10 + 8]",
            "mov rax, qword ptr [rip + rankweave_thread@GOTTPOFF]",
            "9:",
            "test r10, r10",
            "jz 2f",
            "cmp rdx, [r10 + {key}]",
            "mov fs:[rax + {datatype}], r10",
            "je 7b",
            "mov r10, [r10 + {link}]",
            "jmp 9b",
            "2:",
            "jmp {slow}",
            $($operands)*
        )
    };
}
pub(crate) use fast_send;
