//! Where this program or library is installed.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file that contains this code: the command, or the preloaded library.
fn own_file() -> Option<PathBuf> {
    let own = mapped_at(own_file as *const () as *const libc::c_void)?;
    // SAFETY: getauxval only reads what the kernel gave to this process.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) };
    let program = mapped_at(headers as *const libc::c_void);
    if program.is_some_and(|program| program.dli_fbase == own.dli_fbase) {
        // Its name is the first word of the command line, which is no path if the shell found it in PATH.
        return std::env::current_exe().ok()?.canonicalize().ok();
    }
    if own.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a C string that lives as long as the file is mapped, and this code is in it.
    let name = unsafe { CStr::from_ptr(own.dli_fname) };
    Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()
}

/// What the loader knows of the file that is mapped at an address.
fn mapped_at(address: *const libc::c_void) -> Option<libc::Dl_info> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr looks the address up and does not read there. It fills the buffer if it succeeds.
    unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

/// The directories that may be the prefix of the installation: two directories above the file of this code
/// (`PREFIX/bin`, `PREFIX/lib`), and three above (`PREFIX/lib/rankweave`). Without `/`, and never `/usr`, whose
/// configuration is in `/etc`.
pub fn prefixes() -> Vec<PathBuf> {
    let Some(file) = own_file() else { return Vec::new() };
    let above = file.ancestors().skip(2).take(2);
    above
        .filter(|path| path.parent().is_some() && *path != Path::new("/usr"))
        .map(Path::to_path_buf)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_above_this_program() {
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(own_file(), Some(program.clone()));
        assert!(prefixes().iter().all(|prefix| program.starts_with(prefix)));
    }
}
