//! The fast path of a send on 64-bit Arm, see [`fast_send`](crate::entry::fast_send).
//!
//! It uses only registers that carry no argument, x9 to x16. All along, x9 is the address of the thread's state, x10 is
//! that of a node or a digest, w12 is the task, and x14 is the communicator to use. Another processor may see stores in
//! another order than they were made, so each key is loaded with `ldar`. What is loaded from an address that was loaded
//! itself is in order.

/// The body of the fast path, for calls whose count is an `int` or an `MPI_Count`, in ABIs whose handles are integers
/// (`narrow`) or pointers (`wide`).
macro_rules! fast_send {
    // The upper half of a register that holds an `int` is undefined, so this code may set it to zero.
    (int, narrow, $($operands:tt)*) => {
        $crate::arch::fast_send!(
            @code "tbnz w1, #31, 2f", "mov w1, w1", "mov w5, w5", "mov w2, w2", $($operands)*
        )
    };
    (int, wide, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "tbnz w1, #31, 2f", "mov w1, w1", "", "", $($operands)*)
    };
    (MPI_Count, narrow, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "tbnz x1, #63, 2f", "", "mov w5, w5", "mov w2, w2", $($operands)*)
    };
    (MPI_Count, wide, $($operands:tt)*) => {
        $crate::arch::fast_send!(@code "tbnz x1, #63, 2f", "", "", "", $($operands)*)
    };
    (@code $sign:literal, $count:literal, $comm:literal, $datatype:literal, $($operands:tt)*) => {
        // buf x0, count x1, datatype x2, dest w3, tag w4, comm x5, request x6.
        std::arch::naked_asm!(
            "adrp x9, :gottprel:rankweave_thread",
            "mrs x10, tpidr_el0",
            "ldr x9, [x9, :gottprel_lo12:rankweave_thread]",
            "add x9, x9, x10",
            $comm,
            "ldr x10, [x9, #{comm}]",
            "cbz x10, 2f",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x5",
            "b.ne 30f",
            // The communicator's node is in x10. MPI_PROC_NULL is a large number here.
            "5:",
            "ldr x14, [x10, #{effective}]",
            "ldr w11, [x10, #{size}]",
            "cmp w3, w11",
            "b.hs 26f",
            "ldr x11, [x10, #{tasks}]",
            "ldr w12, [x11, w3, uxtw #2]",
            // The task is in w12, and the communicator to use in x14.
            "23:",
            "mov w11, {outside}",
            "cmp w12, w11",
            "b.hs 2f",
            $datatype,
            "ldr x10, [x9, #{datatype}]",
            "cbz x10, 2f",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x2",
            "b.ne 31f",
            "7:",
            "ldr x10, [x10, #{value}]",
            // The size is in x10.
            "25:",
            $sign,
            $count,
            "mul x10, x10, x1",
            "ldr x11, [x9, #{cells}]",
            "add x11, x11, w12, uxtw #4",
            "ldp x12, x13, [x11]",
            "add x12, x12, x10",
            "add x13, x13, #1",
            "stp x12, x13, [x11]",
            // The communicator is overwritten only if the world is replaced. Otherwise the next function does not depend
            // on the value that was read.
            "26:",
            "cmp x5, x14",
            "b.ne 29f",
            "27:",
            "adrp x16, {next} + 8 * {index}",
            "ldr x16, [x16, :lo12:{next} + 8 * {index}]",
            "br x16",
            "29:",
            "mov x5, x14",
            "b 27b",
            // Not the communicator that the thread used last. Its digest is mostly at its first place.
            "30:",
            "movz x15, #({multiplier} & 0xffff)",
            "movk x15, #(({multiplier} >> 16) & 0xffff), lsl #16",
            "movk x15, #(({multiplier} >> 32) & 0xffff), lsl #32",
            "mul x13, x15, x5",
            "lsr x10, x13, #(32 - {digest_shift})",
            "and x10, x10, #({places_mask} << {digest_shift})",
            "adrp x11, {communicators} + {digests}",
            "ldr x11, [x11, :lo12:{communicators} + {digests}]",
            "add x10, x10, x11",
            "ldar x11, [x10]",
            "cmp x11, x5",
            "b.ne 32f",
            "20:",
            "ldr x11, [x10, #{word}]",
            "cbz x11, 34f",
            "mov x14, x5",
            "and w12, w11, #((1 << {size_bits}) - 1)",
            "cmp w3, w12",
            "b.hs 27b",
            "tbnz x11, #63, 28f",
            "lsr x12, x11, #{size_bits}",
            "cmp x12, #{identity}",
            "b.eq 22f",
            "b.hi 24f",
            // The one rank is that of all such communicators.
            "adrp x12, {process}",
            "ldr w12, [x12, :lo12:{process}]",
            "b 23b",
            // The task is the rank.
            "22:",
            "mov w12, w3",
            "b 23b",
            // The tasks are a progression: its first task, and the difference of two tasks.
            "24:",
            "lsr x13, x12, #{step_bits}",
            "and w12, w12, #((1 << {step_bits}) - 1)",
            "madd w12, w12, w3, w13",
            "b 23b",
            // The word has the address of the tasks.
            "28:",
            "ubfx x12, x11, #{size_bits}, #(63 - {size_bits})",
            "ldr w12, [x12, w3, uxtw #2]",
            "b 23b",
            // Its digest is at another place of the line.
            "32:",
            "eor x10, x10, #{digest}",
            "ldar x11, [x10]",
            "cmp x11, x5",
            "b.eq 20b",
            "eor x10, x10, #({digest} ^ (2 * {digest}))",
            "ldar x11, [x10]",
            "cmp x11, x5",
            "b.eq 20b",
            "eor x10, x10, #{digest}",
            "ldar x11, [x10]",
            "cmp x11, x5",
            "b.eq 20b",
            // It has no digest: its node is its home, or in a chain.
            "34:",
            "lsr x10, x13, #(32 - {comm_shift})",
            "and x10, x10, #({homes_mask} << {comm_shift})",
            "adrp x11, {communicators} + {homes}",
            "ldr x11, [x11, :lo12:{communicators} + {homes}]",
            "add x10, x10, x11",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x5",
            "b.ne 4f",
            "ldr x11, [x10, #{link}]",
            "cbz x11, 2f",
            "3:",
            "str x10, [x9, #{comm}]",
            "b 5b",
            // The communicator is not at home: look for it in its chain.
            "4:",
            "adrp x11, {communicators} + {chains}",
            "ldr x11, [x11, :lo12:{communicators} + {chains}]",
            "ldr x10, [x11], #8",
            "and x10, x10, x13, lsr #32",
            "ldr x10, [x11, x10, lsl #3]",
            "8:",
            "cbz x10, 2f",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x5",
            "b.eq 3b",
            "ldr x10, [x10, #{link}]",
            "b 8b",
            // Not the datatype that the thread used last. Its digest is mostly at its first place.
            "31:",
            "movz x15, #({multiplier} & 0xffff)",
            "movk x15, #(({multiplier} >> 16) & 0xffff), lsl #16",
            "movk x15, #(({multiplier} >> 32) & 0xffff), lsl #32",
            "mul x13, x15, x2",
            "lsr x10, x13, #(32 - {digest_shift})",
            "and x10, x10, #({places_mask} << {digest_shift})",
            "adrp x11, {sizes} + {digests}",
            "ldr x11, [x11, :lo12:{sizes} + {digests}]",
            "add x10, x10, x11",
            "ldar x11, [x10]",
            "cmp x11, x2",
            "b.ne 33f",
            "21:",
            "ldr x10, [x10, #{word}]",
            "subs x10, x10, #1",
            "b.pl 25b",
            "b 35f",
            "33:",
            "eor x10, x10, #{digest}",
            "ldar x11, [x10]",
            "cmp x11, x2",
            "b.eq 21b",
            "eor x10, x10, #({digest} ^ (2 * {digest}))",
            "ldar x11, [x10]",
            "cmp x11, x2",
            "b.eq 21b",
            "eor x10, x10, #{digest}",
            "ldar x11, [x10]",
            "cmp x11, x2",
            "b.eq 21b",
            // It has no digest. MPI may have to be asked for its size again.
            "35:",
            "ldr x11, [x9, #{asked}]",
            "cmp x11, x2",
            "b.eq 2f",
            // Its node is its home, or in a chain.
            "lsr x10, x13, #(32 - {datatype_shift})",
            "and x10, x10, #({homes_mask} << {datatype_shift})",
            "adrp x11, {sizes} + {homes}",
            "ldr x11, [x11, :lo12:{sizes} + {homes}]",
            "add x10, x10, x11",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x2",
            "b.ne 6f",
            "ldr x11, [x10, #{link}]",
            "cbz x11, 2f",
            "9:",
            "str x10, [x9, #{datatype}]",
            "b 7b",
            // The datatype is not at home.
            "6:",
            "adrp x11, {sizes} + {chains}",
            "ldr x11, [x11, :lo12:{sizes} + {chains}]",
            "ldr x10, [x11], #8",
            "and x10, x10, x13, lsr #32",
            "ldr x10, [x11, x10, lsl #3]",
            "36:",
            "cbz x10, 2f",
            "add x11, x10, #{key}",
            "ldar x11, [x11]",
            "cmp x11, x2",
            "b.eq 9b",
            "ldr x10, [x10, #{link}]",
            "b 36b",
            "2:",
            "b {slow}",
            $($operands)*
        )
    };
}
pub(crate) use fast_send;
