//! The fast path of a send whose communicator, peer and datatype are known: some thirty instructions.
//!
//! Programs make millions of calls of `MPI_Send` and of functions with the same arguments (MPI_Isend, MPI_Ssend and
//! others). Each call takes about 70 ns, so the library may add very little. A compiled wrapper would save
//! registers for its slow path and copy the argument on the stack. This code uses only the three registers that
//! carry no argument. It then jumps to the next function or, with all arguments unchanged, to the slow path. It
//! counts the same as [`super::send`].
//!
//! The communicator and the datatype are first compared with those that the thread used last. Others are looked
//! up in their tables ([`Registry`](crate::record::registry::Registry)): first among the
//! [digests](crate::record::digest), which take the fewest lines of the cache, then at their homes, then in their
//! chains. An object that is at home without a digest takes the slow path, which gives it one. A digest does not
//! change what the thread used last.
//!
//! A thread that has used no communicator or no datatype yet takes the slow path, because its recording may be
//! paused. In other threads, both tables have had an object, so their arrays exist.
//!
//! Limits: x86-64 with the System V calling convention, as all entry points.

/// Defines two functions for one call, for ABIs whose handles are integers (`narrow`) or pointers (`wide`).
macro_rules! fast_send {
    ($narrow:ident, $wide:ident, $slow:ident, $index:literal, int) => {
        fast_send!(@narrow $narrow, $slow, $index, "mov esi, esi", "test esi, esi");
        fast_send!(@wide $wide, $slow, $index, "mov esi, esi", "test esi, esi");
    };
    ($narrow:ident, $wide:ident, $slow:ident, $index:literal, MPI_Count) => {
        fast_send!(@narrow $narrow, $slow, $index, "", "test rsi, rsi");
        fast_send!(@wide $wide, $slow, $index, "", "test rsi, rsi");
    };
    // The upper half of a register that holds an `int` is undefined, so this code may set it to zero.
    (@narrow $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal) => {
        fast_send!(
            @code $name, $slow, $index, $count, $sign, "mov r9d, r9d", "mov edx, edx",
        );
    };
    (@wide $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal) => {
        fast_send!(@code $name, $slow, $index, $count, $sign, "", "",);
    };
    (@code $name:ident, $slow:ident, $index:literal, $count:literal, $sign:literal,
     $comm:literal, $datatype:literal,) => {
        // buf rdi, count rsi, datatype rdx, dest ecx, tag r8d, comm r9, request on the stack.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name<A: Abi>() {
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
                comm = const std::mem::offset_of!($crate::record::thread::Thread, comm),
                cells = const std::mem::offset_of!($crate::record::thread::Thread, cells),
                datatype = const std::mem::offset_of!($crate::record::thread::Thread, datatype),
                asked = const std::mem::offset_of!($crate::record::thread::Thread, asked),
                key = const $crate::entry::fast_send::KEY,
                link = const $crate::entry::fast_send::LINK,
                value = const $crate::entry::fast_send::VALUE,
                effective = const $crate::entry::fast_send::EFFECTIVE,
                size = const $crate::entry::fast_send::SIZE,
                tasks = const $crate::entry::fast_send::TASKS,
                chains = const $crate::entry::fast_send::CHAINS,
                homes = const $crate::entry::fast_send::HOMES,
                digests = const $crate::entry::fast_send::DIGESTS,
                digest = const $crate::entry::fast_send::DIGEST,
                word = const $crate::entry::fast_send::WORD,
                digest_shift = const $crate::entry::fast_send::DIGEST_SHIFT,
                places_mask = const $crate::record::digest::PLACES as i32 - 1,
                homes_mask = const $crate::record::registry::HOMES as i32 - 1,
                comm_shift = const $crate::entry::fast_send::COMM_SHIFT,
                datatype_shift = const $crate::entry::fast_send::DATATYPE_SHIFT,
                multiplier = const $crate::record::registry::MULTIPLIER as i64,
                communicators = sym $crate::record::communicators::COMMUNICATORS,
                sizes = sym $crate::record::datatypes::SIZES,
                size_bits = const $crate::record::digest_word::SIZE_BITS,
                step_bits = const $crate::record::digest_word::STEP_BITS,
                identity = const $crate::record::digest_word::IDENTITY as i32,
                process = sym $crate::record::digest_word::PROCESS,
                outside = const $crate::record::communicator::OUTSIDE as i32,
                next = sym $crate::entry::next::NEXT,
                index = const $index,
                slow = sym $slow::<A>,
            )
        }
    };
}
pub(crate) use fast_send;

use crate::record::digest::{Digest, IN_LINE};
use crate::record::digest_word::SIZE_BITS;
use crate::record::registry::{Node, Registry};
use crate::record::slot::Slot;
use crate::record::thread::Size;
use std::mem::offset_of;

/// The offsets of the fields of nodes and of their values.
pub const KEY: usize = offset_of!(Node<Slot>, key);
pub const LINK: usize = offset_of!(Node<Slot>, next);
pub const VALUE: usize = offset_of!(Node<Size>, value) + offset_of!(Size, bytes);
pub const EFFECTIVE: usize = offset_of!(Node<Slot>, value) + offset_of!(Slot, effective);
pub const SIZE: usize = offset_of!(Node<Slot>, value) + offset_of!(Slot, size);
pub const TASKS: usize = offset_of!(Node<Slot>, value) + offset_of!(Slot, tasks);
pub const CHAINS: usize = offset_of!(Registry<Slot>, chains);
pub const HOMES: usize = offset_of!(Registry<Slot>, homes);
pub const DIGESTS: usize = offset_of!(Registry<Slot>, digests);
/// The size of a digest, also as a power of two, and the offset of its word.
pub const DIGEST: usize = size_of::<Digest>();
pub const DIGEST_SHIFT: u32 = DIGEST.trailing_zeros();
pub const WORD: usize = offset_of!(Digest, word);
/// The sizes of nodes as powers of two.
pub const COMM_SHIFT: u32 = size_of::<Node<Slot>>().trailing_zeros();
pub const DATATYPE_SHIFT: u32 = size_of::<Node<Size>>().trailing_zeros();

const _: () = {
    assert!(offset_of!(Node<Size>, key) == KEY && offset_of!(Node<Size>, next) == LINK);
    assert!(offset_of!(Registry<Size>, chains) == CHAINS);
    assert!(offset_of!(Registry<Size>, homes) == HOMES);
    assert!(offset_of!(Registry<Size>, digests) == DIGESTS && offset_of!(Digest, key) == 0);
    assert!(SIZE_BITS == 16, "`r11w` above");
    assert!(IN_LINE == 4 && DIGEST.is_power_of_two(), "the comparisons above");
    assert!(size_of::<Node<Slot>>() == 64, "a line of the cache");
    assert!(size_of::<Node<Size>>().is_power_of_two());
};

const _: () = {
    assert!(size_of::<crate::record::cell::Cell>() == 16, "`shl r11, 4` above");
    assert!(std::mem::offset_of!(crate::record::cell::Cell, bytes) == 0);
    assert!(std::mem::offset_of!(crate::record::cell::Cell, messages) == 8);
};
