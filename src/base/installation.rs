//! Where this program or library is installed.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file that contains this code: the command, or the preloaded library.
fn own_file() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let address = own_file as *const () as *const libc::c_void;
    // SAFETY: the address of a function of this file, and a buffer for the answer. If dladdr succeeds, the name
    // is a C string that lives as long as the file is mapped.
    let name = unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        (!name.is_null()).then(|| CStr::from_ptr(name).to_bytes().to_vec())
    }?;
    Path::new(OsStr::from_bytes(&name)).canonicalize().ok()
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
