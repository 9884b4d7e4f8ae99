//! The fast path of a send whose communicator, peer and datatype are known: some thirty instructions.
//!
//! Programs make millions of calls of `MPI_Send` and of functions with the same arguments (MPI_Isend, MPI_Ssend and
//! others). Each call takes about 70 ns, so the library may add very little. A compiled wrapper would save
//! registers for its slow path and copy the argument on the stack. This code uses only registers that
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
//! The instructions are those of the processor, in [`arch`](crate::arch).

/// Defines two functions for one call, for ABIs whose handles are integers (`narrow`) or pointers (`wide`).
macro_rules! fast_send {
    ($narrow:ident, $wide:ident, $slow:ident, $index:literal, $count:ident) => {
        fast_send!(@code $narrow, $slow, $index, $count, narrow);
        fast_send!(@code $wide, $slow, $index, $count, wide);
    };
    (@code $name:ident, $slow:ident, $index:literal, $count:ident, $handles:ident) => {
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name<A: Abi>() {
            $crate::arch::fast_send!(
                $count, $handles,
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
