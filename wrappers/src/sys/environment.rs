//! Variables of the environment, and whether this process may follow them.
//!
//! A program with the setuid or setgid bit, or with capabilities, has rights that the user who starts it does
//! not have. The environment is set by this user. What a variable asks for (a store in some directory, a
//! program to start) would happen with the rights of the program. The loader ignores `LD_PRELOAD` for such a
//! program. But the library is also in a program that was linked with it, and in every program if it is in
//! `/etc/ld.so.preload`.

use std::ffi::OsString;

/// False if the environment was set by a user with fewer rights than this process.
pub fn is_trusted() -> bool {
    // SAFETY: no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) == 0 }
}

/// A variable, if the environment may be trusted.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| is_trusted())
}

/// [`variable`], if it is text.
pub fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_has_the_rights_of_its_user() {
        assert!(super::is_trusted());
        assert_eq!(super::variable("PATH"), std::env::var_os("PATH"));
        assert_eq!(super::text("RANKWEAVE_NO_SUCH_VARIABLE"), None);
    }
}
