//! The fast path of a send whose communicator, peer and datatype are cached: twenty instructions.
//!
//! Programs make millions of calls with the arguments of `MPI_Send` (MPI_Isend, MPI_Ssend and others).
//! Each takes about 70 ns, so that the library may add very little. A compiled wrapper saves registers
//! for its slow path and rebuilds the argument on the stack. This one uses the three registers that
//! carry no argument. It then jumps to the real function or, with all arguments untouched, to the slow
//! path. It does what [`super::send`] does.
//!
//! Limits: x86-64 with the System V calling convention, as all entry points.

/// Two functions for one call, for ABIs whose handles are integers (`narrow`) or pointers (`wide`).
macro_rules! fast_send {
    ($narrow:ident, $wide:ident, $slow:ident, $index:literal, int) => {
        fast_send!(@narrow $narrow, $slow, $index, "mov r11d, esi", "test esi, esi");
        fast_send!(@wide $wide, $slow, $index, "mov r11d, esi", "test esi, esi");
    };
    ($narrow:ident, $wide:ident, $slow:ident, $index:literal, MPI_Count) => {
        fast_send!(@narrow $narrow, $slow, $index, "mov r11, rsi", "test rsi, rsi");
        fast_send!(@wide $wide, $slow, $index, "mov r11, rsi", "test rsi, rsi");
    };
    (@narrow $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal) => {
        fast_send!(
            @code $name, $slow, $index, $count, $sign,
            // The upper half of a register that holds an `int` is undefined.
            "mov r10d, r9d", "cmp r10, fs:[rax + {comm}]",
            "mov r11d, edx", "cmp r11, fs:[rax + {datatype}]",
        );
    };
    (@wide $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal) => {
        fast_send!(
            @code $name, $slow, $index, $count, $sign,
            "", "cmp r9, fs:[rax + {comm}]",
            "", "cmp rdx, fs:[rax + {datatype}]",
        );
    };
    (@code $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal,
     $comm:literal, $same_comm:literal, $datatype:literal, $same_datatype:literal,) => {
        // buf rdi, count rsi, datatype rdx, dest ecx, tag r8d, comm r9, request on the stack.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name<A: Abi>() {
            std::arch::naked_asm!(
                "mov rax, qword ptr [rip + rankweave_thread@GOTTPOFF]",
                $comm,
                $same_comm,
                "jne 2f",
                // MPI_PROC_NULL is a large number here.
                "cmp ecx, fs:[rax + {size}]",
                "jae 3f",
                "mov r10, fs:[rax + {tasks}]",
                "mov r11d, ecx",
                "mov r10d, dword ptr [r10 + 4 * r11]",
                "cmp r10d, {outside}",
                "jae 2f",
                $datatype,
                $same_datatype,
                "jne 2f",
                $count,
                $sign,
                "js 2f",
                "imul r11, fs:[rax + {datatype_size}]",
                "shl r10, 4",
                "add r10, fs:[rax + {cells}]",
                "add qword ptr [r10], r11",
                "inc qword ptr [r10 + 8]",
                "3:",
                "mov r9, fs:[rax + {effective}]",
                "jmp qword ptr [rip + {next} + 8 * {index}]",
                "2:",
                "jmp {slow}",
                comm = const std::mem::offset_of!($crate::record::thread::Thread, comm),
                effective = const std::mem::offset_of!($crate::record::thread::Thread, effective),
                size = const std::mem::offset_of!($crate::record::thread::Thread, size),
                tasks = const std::mem::offset_of!($crate::record::thread::Thread, tasks),
                cells = const std::mem::offset_of!($crate::record::thread::Thread, cells),
                datatype = const std::mem::offset_of!($crate::record::thread::Thread, datatype),
                datatype_size = const std::mem::offset_of!($crate::record::thread::Thread, datatype_size),
                outside = const $crate::record::communicator::OUTSIDE as i32,
                next = sym $crate::entry::next::NEXT,
                index = const $index,
                slow = sym $slow::<A>,
            )
        }
    };
}
pub(crate) use fast_send;

const _: () = {
    assert!(size_of::<crate::record::block::Cell>() == 16, "`shl r10, 4` above");
    assert!(std::mem::offset_of!(crate::record::block::Cell, bytes) == 0);
    assert!(std::mem::offset_of!(crate::record::block::Cell, messages) == 8);
};
