//! The launcher's variables that say the rank of the process (`OMPI_COMM_WORLD_RANK` and others) while
//! the world is replaced. A program that reads them after MPI_Init finds its rank in the world that it
//! sees.
//!
//! Each entry of `environ` is replaced by one store, so a thread that reads the environment at the
//! same time finds the old or the new string. At the end of the job the old strings are put back,
//! because an MPI library that is initialised again must find the launcher's ranks. Variables that only
//! MPI libraries and launchers read (`PMIX_RANK`) keep their values. So does the rank on the node
//! (`OMPI_COMM_WORLD_LOCAL_RANK`), by which programs choose a GPU.
//!
//! Limit: programs that copied the environment at their start (Python's `os.environ`) see the copy.

use crate::sys::lasting;
use libc::c_char;
use parking_lot::Mutex;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The variables of Open MPI, of MPICH and Intel MPI, and of MVAPICH, Slurm, PALS, ALPS, Flux and jsrun.
const NAMES: [&str; 8] = [
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "PALS_RANKID",
    "ALPS_APP_PE",
    "FLUX_TASK_RANK",
    "JSM_NAMESPACE_RANK",
];

/// Addresses of the strings that were replaced, and of those in their places.
static REPLACED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

unsafe extern "C" {
    /// The C library's environment.
    static environ: *const AtomicPtr<c_char>;
}

/// All entries of the environment.
fn entries() -> impl Iterator<Item = &'static AtomicPtr<c_char>> {
    // SAFETY: null, or an array of pointers that ends with a null pointer; a program that replaces the
    // array in another thread meanwhile does what the C library forbids.
    let mut next = unsafe { environ };
    std::iter::from_fn(move || {
        // SAFETY: null, or an element of the array: the null pointer that ends it is not passed.
        let entry = unsafe { next.as_ref()? };
        if entry.load(Ordering::Acquire).is_null() {
            return None;
        }
        // SAFETY: this element is not the last one, which is null.
        next = unsafe { next.add(1) };
        Some(entry)
    })
}

/// Changes the variables of the process with launcher rank `old`, which is rank `new` of the world from now on.
pub fn changed(old: usize, new: usize) {
    if old == new {
        return;
    }
    let mut replaced = REPLACED.lock();
    for entry in entries() {
        let address = entry.load(Ordering::Acquire);
        // SAFETY: an entry of the environment is a C string.
        let Ok(text) = (unsafe { CStr::from_ptr(address) }).to_str() else { continue };
        let Some((name, value)) = text.split_once('=') else { continue };
        // Another number is not the rank of this job. It may belong to a launch that started this one.
        if !NAMES.contains(&name) || value.parse() != Ok(old) {
            continue;
        }
        let Ok(string) = CString::new(format!("{name}={new}")) else { continue };
        // Leaked: a program may keep what getenv gave it.
        let bytes = Box::leak(string.into_bytes_with_nul().into_boxed_slice());
        let string = lasting::kept(bytes).as_mut_ptr().cast::<c_char>();
        entry.store(string, Ordering::Release);
        replaced.push((address as usize, string as usize));
    }
}

/// Puts the launcher's values back where the program did not set its own.
pub fn restore() {
    for (old, new) in std::mem::take(&mut *REPLACED.lock()) {
        if let Some(entry) = entries().find(|e| e.load(Ordering::Acquire) as usize == new) {
            entry.store(old as *mut c_char, Ordering::Release);
        }
    }
}
