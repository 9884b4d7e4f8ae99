//! Entry points and the slot table behind them.
//!
//! Every exported `MPI_X` is one instruction: a jump through its slot. A slot first points to a
//! resolver, which finds the MPI library, decides what this call needs, stores the answer and jumps
//! on: to the real function where nothing has to be done (cost: one jump), else to our wrapper.
//! Both are tables of atomics, so a slot can be pointed elsewhere while other threads call through it.
//! While calls are timed ([`thunk`]) the slots of some hold a thunk instead, which jumps on to what the
//! slot would hold else.
//!
//! Limits: x86-64 with the System V calling convention.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("librankweave.so has entry points for x86-64 Linux only so far");

use crate::entry::hooks;
use crate::entry::thunk;
use crate::job::hooks::Level;
use crate::mpi::library;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

/// What an entry point needs beyond the real function.
#[derive(Debug, Clone, Copy)]
pub enum Wrapper {
    /// Only needed while MPI_COMM_WORLD is replaced.
    Translates(*const ()),
    /// Needed whenever anything is recorded.
    Records(*const ()),
    /// Never needed: the real function calls another entry point.
    Through,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Record as u8);
static LOCK: Mutex<()> = Mutex::new(());

type Slot = AtomicPtr<()>;

/// Declares the entry points: for each a slot, a resolver stub, the exported names that jump through
/// the slot, and the real function's name in Open MPI and in MPICH.
macro_rules! entry_points {
    ($($index:literal [$($name:ident)*] $open_mpi:literal $mpich:literal)*) => {
        /// Number of entry points.
        pub const COUNT: usize = [$($index),*].len();

        /// Names of the real functions, two for each entry point: in Open MPI and the MPI-5 ABI, and
        /// in MPICH. One text, so that the loader has no pointers to relocate.
        const NAMES: &str = concat!($($open_mpi, "\0", $mpich, "\0"),*);

        mod exported {
            $($crate::entry::slots::entry_point!($index [$($name)*]);)*
        }

        /// Where each entry point jumps to.
        static SLOTS: [Slot; COUNT] =
            [$(AtomicPtr::new(unresolved::<$index> as *const () as *mut ())),*];
        /// What each slot holds while its calls are not timed; null until that was found.
        static BASE: [Slot; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];
        /// The real function behind each entry point, once it was looked up.
        pub static NEXT: [Slot; COUNT] = [const { AtomicPtr::new(std::ptr::null_mut()) }; COUNT];
    };
}

/// One entry point under all its names.
macro_rules! entry_point {
    ($index:literal [$($name:ident)*]) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub(super) unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "jmp qword ptr [rip + {slots} + 8 * {index}]",
                    slots = sym super::SLOTS,
                    index = const $index,
                )
            }
        )*
    };
}
pub(crate) use entry_point;

/// What slot `INDEX` points to at first.
#[unsafe(naked)]
unsafe extern "C" fn unresolved<const INDEX: usize>() {
    std::arch::naked_asm!(
        "mov r11d, {index}",
        "jmp {resolve}",
        index = const INDEX,
        resolve = sym resolve_and_jump,
    )
}

/// Where each name starts in [`NAMES`].
static OFFSETS: [u32; 2 * COUNT + 1] = offsets();

const fn offsets() -> [u32; 2 * COUNT + 1] {
    let bytes = NAMES.as_bytes();
    let mut offsets = [0; 2 * COUNT + 1];
    let (mut i, mut name) = (0, 1);
    while i < bytes.len() {
        if bytes[i] == 0 {
            offsets[name] = i as u32 + 1;
            name += 1;
        }
        i += 1;
    }
    offsets
}

/// Name of the real function behind an entry point.
fn real_name(index: usize, mpich: bool) -> &'static std::ffi::CStr {
    let name = 2 * index + usize::from(mpich);
    let range = OFFSETS[name] as usize..OFFSETS[name + 1] as usize;
    NAMES
        .as_bytes()
        .get(range)
        .and_then(|bytes| std::ffi::CStr::from_bytes_with_nul(bytes).ok())
        .unwrap_or_default()
}

/// Number of the entry point whose code is at `address`: the slot that its jump goes through.
///
/// # Safety
/// `address` is that of a function exported by this library.
pub unsafe fn at(address: usize) -> Option<usize> {
    // SAFETY: every function has at least the six bytes of an entry point (functions are aligned).
    unsafe {
        let code = address as *const u8;
        // jmp qword ptr [rip + displacement]
        if *code != 0xff || *code.add(1) != 0x25 {
            return None;
        }
        let displacement = code.add(2).cast::<i32>().read_unaligned() as isize;
        let slot = (address + 6).wrapping_add_signed(displacement);
        let offset = slot.checked_sub(SLOTS.as_ptr() as usize)?;
        (offset / 8 < COUNT).then_some(offset / 8)
    }
}

/// Name of the real function behind an entry point in the MPI library of this process.
pub fn real_name_of(index: usize) -> &'static std::ffi::CStr {
    let mpich = library::get().is_some_and(|l| l.family == library::Family::Mpich);
    real_name(index, mpich)
}

/// True if a C entry point stands for the function of this profiling name, other than to time it.
pub fn wraps(profiling: &[u8]) -> bool {
    let is = |index| real_name(index, false).to_bytes() == profiling;
    (0..C_COUNT).any(|index| !is_only_timed(index) && is(index))
}

/// True if an entry point is a C function's.
pub fn is_c(index: usize) -> bool {
    index < C_COUNT
}

/// True if calls of an entry point are timed.
pub fn is_timed(index: usize) -> bool {
    TIMED[index] != 0
}

/// True if an entry point is there for that alone.
pub fn is_only_timed(index: usize) -> bool {
    TIMED[index] & 128 != 0
}

/// How many arguments of a timed call lie on the stack.
pub fn words_on_stack(index: usize) -> u64 {
    u64::from(TIMED[index] & 127).saturating_sub(1)
}

/// What the slot holds while its calls are not timed; null if it was not called through yet.
#[inline]
pub fn base(index: usize) -> *const () {
    BASE[index].load(Ordering::Acquire)
}

/// Sets that alone, for a test.
#[cfg(test)]
pub fn set_base(index: usize, target: *const ()) {
    BASE[index].store(target.cast_mut(), Ordering::Release);
}

/// Points a slot that was called through, and holds `from`, elsewhere. Changes of the level win: they
/// set both words, and the slot then does not hold `from` any more.
pub fn exchange(index: usize, from: *const (), to: *const ()) {
    if !from.is_null() && !to.is_null() {
        let (from, to) = (from.cast_mut(), to.cast_mut());
        let _ = SLOTS[index].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Points a slot to `target`, untimed.
fn point(index: usize, target: *const ()) {
    BASE[index].store(target.cast_mut(), Ordering::Release);
    SLOTS[index].store(target.cast_mut(), Ordering::Release);
}

/// True if MPI-3.1 has the function of an entry point.
pub fn in_mpi_3_1(index: usize) -> bool {
    if index < C_COUNT {
        return NEWER.binary_search(&(index as u16)).is_err();
    }
    if index >= fortran_large(0, 0) {
        return false;
    }
    let number = (index - C_COUNT) % FORTRAN_COUNT;
    NEWER_IN_FORTRAN.binary_search(&(number as u16)).is_err()
}

/// Number of the entry point whose real function is `P` + `wanted` + `suffix`, from `first` on.
// Evaluated by the compiler only: a wrong name does not build.
#[allow(clippy::panic)]
pub const fn number(wanted: &str, suffix: &str, first: usize) -> usize {
    let (names, wanted, suffix) = (NAMES.as_bytes(), wanted.as_bytes(), suffix.as_bytes());
    let offsets = offsets();
    let mut index = first;
    while index < COUNT {
        let start = offsets[2 * index] as usize + 1;
        let length = offsets[2 * index + 1] as usize - start - 1;
        if length == wanted.len() + suffix.len() {
            let mut i = 0;
            while i < length {
                let letter = if i < wanted.len() { wanted[i] } else { suffix[i - wanted.len()] };
                if names[start + i] != letter {
                    break;
                }
                i += 1;
            }
            if i == length {
                return index;
            }
        }
        index += 1;
    }
    panic!("no entry point of this name in calls.tbl")
}

/// Number of the entry point of Fortran call `number` in a binding.
#[inline(always)]
pub const fn fortran(binding: usize, number: usize) -> usize {
    C_COUNT + binding * FORTRAN_COUNT + number
}

/// Number of the entry point of large-count Fortran call `number` in a binding: 0 with choice
/// buffers as addresses, 1 as descriptors.
#[inline(always)]
pub const fn fortran_large(binding: usize, number: usize) -> usize {
    C_COUNT + 3 * FORTRAN_COUNT + binding * FORTRAN_LARGE_COUNT + number
}

pub(crate) use entry_points;

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Saves every register that may carry an argument, asks [`resolve`], restores them, jumps on.
#[unsafe(naked)]
unsafe extern "C" fn resolve_and_jump() {
    std::arch::naked_asm!(
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
        resolve = sym resolve,
    )
}

/// Finds where entry `index` has to go and points its slot there.
extern "C" fn resolve(index: u32) -> *const () {
    let index = index as usize;
    match std::panic::catch_unwind(|| target(index)) {
        Ok(Some(target)) => target,
        // No MPI library here, or one without this function. The name may still be defined further
        // down: by a sequential stand-in for MPI that has no PMPI names. Nothing is stored.
        _ => further(index).unwrap_or(missing as *const ()),
    }
}

/// The next definition of an entry point's own name after this library.
fn further(index: usize) -> Option<*const ()> {
    // Without their P the real names read `MPI_X`, `mpi_x_` and `mpi_x_f08_`.
    let name = real_name(index, false).to_str().ok()?.get(1..)?;
    let bare = name.strip_suffix('_').filter(|_| (C_COUNT..fortran(1, 0)).contains(&index));
    let mut names = vec![name.to_string()];
    if let Some(bare) = bare {
        names.extend([bare.to_string(), format!("{bare}__"), bare.to_ascii_uppercase()]);
    }
    names.into_iter().find_map(|name| {
        let address = library::next_symbol(&std::ffi::CString::new(name).ok()?);
        (address != 0).then_some(address as *const ())
    })
}

/// Stands in for a function that the MPI library does not have.
extern "C" fn missing() -> libc::c_int {
    crate::sys::message::once(
        "the program called an MPI function that its MPI library does not have; try: start it \
         with `rankweave run`, which shows a program only the functions of its own MPI",
    );
    16
}

fn target(index: usize) -> Option<*const ()> {
    let library = library::get()?;
    let next = real(index)?;
    hooks::register();
    let _held = LOCK.lock();
    let target = choose(wrapper(library.family, index), level(), next);
    point(index, target);
    let Some(thunk) = thunk::now(index) else { return Some(target) };
    // It may be pointed back in this moment, and stay with the thunk until the next window: that
    // passes calls on then.
    exchange(index, target, thunk);
    Some(thunk)
}

/// One of the names that [`older_name`] tells: without it there are none.
const OLDER: &std::ffi::CStr = c"pmpir_send_f08ts_large_";

/// The other name that a real function may have.
fn older_name(index: usize) -> Option<std::ffi::CString> {
    if index < fortran_large(0, 0)
        || library::get().is_none_or(|l| l.family != library::Family::Mpich)
    {
        return None;
    }
    // MPICH 4 has `pmpir_send_f08ts_large_` where later ones have `pmpir_send_c_f08ts_`.
    let (base, rest) = real_name_of(index).to_str().ok()?.split_once("_c_f08")?;
    std::ffi::CString::new(format!("{base}_f08{rest}large_")).ok()
}

/// Address of the real function of an entry point in the MPI library; 0 if it has none.
pub fn real_address(index: usize) -> usize {
    match library::symbol(real_name_of(index)) {
        0 => older_name(index).map_or(0, |name| library::symbol(&name)),
        address => address,
    }
}

/// Which entry points have a real function in some mapped object, by number: a faster answer than
/// [`real_address`] for all of them.
pub fn all_real() -> Vec<bool> {
    let mpich = library::get().is_some_and(|l| l.family == library::Family::Mpich);
    let names: Vec<&std::ffi::CStr> = (0..COUNT).map(|index| real_name(index, mpich)).collect();
    let mut real = crate::sys::elf::defined(&names, None);
    if !mpich || !crate::sys::elf::defined(&[OLDER], None).contains(&true) {
        return real;
    }
    let older: Vec<_> = (0..COUNT).filter_map(|index| Some((index, older_name(index)?))).collect();
    let names: Vec<&std::ffi::CStr> = older.iter().map(|(_, name)| name.as_c_str()).collect();
    for ((index, _), found) in older.iter().zip(crate::sys::elf::defined(&names, None)) {
        real[*index] |= found;
    }
    real
}

/// The real function of an entry point, looked up once; `None` if the MPI library has none.
pub fn real(index: usize) -> Option<*const ()> {
    let known = NEXT[index].load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    let name = real_name_of(index);
    let mut address = 0;
    let real = real_address(index);
    if index < C_COUNT && crate::mpi::config::chain() != Some(false) {
        // The name without its P: the next tool's wrapper or the library's own MPI_X.
        let plain = std::ffi::CString::new(&name.to_bytes()[1..]).ok()?;
        let next = library::next_symbol(&plain);
        // Another object's MPI_X is another tool's, which must not be cut off.
        if crate::mpi::config::chain() == Some(true)
            || real != 0 && !library::same_object(next, real)
        {
            address = next;
        }
    }
    if address == 0 {
        address = real;
    }
    if address == 0 {
        return None;
    }
    NEXT[index].store(address as *mut (), Ordering::Release);
    Some(address as *const ())
}

fn choose(wrapper: Wrapper, level: Level, next: *const ()) -> *const () {
    match wrapper {
        Wrapper::Records(function) if level >= Level::Record => function,
        Wrapper::Translates(function) if level >= Level::Reorder => function,
        _ => next,
    }
}

fn wrapper(family: library::Family, index: usize) -> Wrapper {
    use crate::entry::generated::wrappers;
    use crate::mpi::abi;
    match family {
        library::Family::OpenMpi => wrappers::table::<abi::OpenMpi>()[index],
        library::Family::Mpich => wrappers::table::<abi::Mpich>()[index],
        library::Family::Standard => wrappers::table::<abi::Standard>()[index],
        library::Family::Unknown => Wrapper::Through,
    }
}

fn level() -> Level {
    match LEVEL.load(Ordering::Acquire) {
        0 => Level::Off,
        1 => Level::Record,
        _ => Level::Reorder,
    }
}

/// Changes how much is wrapped and points every slot that was resolved before to the right place.
pub fn set_level(new: Level) {
    let _held = LOCK.lock();
    LEVEL.store(new as u8, Ordering::Release);
    let Some(library) = library::get() else { return };
    for (index, next) in NEXT.iter().enumerate() {
        let next = next.load(Ordering::Acquire);
        if !next.is_null() {
            point(index, choose(wrapper(library.family, index), new, next));
        }
    }
    thunk::slots_changed();
}

/// The function behind entry `index`, as the C prototype `F`.
///
/// # Safety
/// `F` must be the function-pointer type of this entry's C prototype, and the caller must be its
/// wrapper: the slot was resolved, so the real function is known.
#[inline(always)]
pub unsafe fn next<F: Copy>(index: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    let pointer = NEXT[index].load(Ordering::Relaxed);
    // SAFETY: by contract F is a function pointer of the right prototype and the pointer is set.
    unsafe { std::mem::transmute_copy(&pointer) }
}

/// Number within its Fortran block of the call whose mpif.h name is `name`.
pub const fn fortran_number(name: &str) -> usize {
    number(name, "_", C_COUNT) - C_COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_names_follow_the_bindings() {
        assert_eq!(real_name(number("MPI_Send", "", 0), false), c"PMPI_Send");
        let send = fortran_number("mpi_send");
        assert_eq!(real_name(fortran(0, send), true), c"pmpi_send_");
        assert_eq!(real_name(fortran(1, send), false), c"pmpi_send_f08_");
        assert_eq!(real_name(fortran(1, send), true), c"pmpir_send_f08_");
        assert_eq!(real_name(fortran(2, send), true), c"pmpir_send_f08ts_");
    }

    #[test]
    fn functions_after_mpi_3_1_are_known() {
        assert!(in_mpi_3_1(number("MPI_Send", "", 0)));
        assert!(!in_mpi_3_1(number("MPI_Send_c", "", 0)));
        assert!(!in_mpi_3_1(number("MPI_Psend_init", "", 0)));
        assert!(!in_mpi_3_1(fortran(0, fortran_number("mpi_psend_init"))));
    }

    #[test]
    fn an_entry_point_is_known_by_its_code() {
        for index in [0, number("MPI_Send", "", 0), COUNT - 1] {
            let stub = SLOTS[index].load(Ordering::Relaxed) as usize;
            // SAFETY: a slot that was not called through yet holds a resolver, a function.
            let entry = unsafe { at(stub) };
            assert_eq!(entry, None, "a resolver is no entry point");
        }
        let entry = exported::MPI_Send as *const () as usize;
        // SAFETY: a function exported by this library.
        assert_eq!(unsafe { at(entry) }, Some(number("MPI_Send", "", 0)));
    }
}
