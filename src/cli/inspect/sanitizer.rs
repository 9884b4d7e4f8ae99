//! Programs that were built with AddressSanitizer (`-fsanitize=address`), and the option that they need for
//! preloading.
//!
//! Of all sanitizers, only the runtime of AddressSanitizer requires to be the first library, and only as a
//! shared library. The runtime asks a function for options. The preloaded library defines this function and
//! switches the check off. A program that defines this function itself needs the option in ASAN_OPTIONS.

use super::Image;

/// The variable with options of AddressSanitizer.
pub const OPTIONS: &str = "ASAN_OPTIONS";
/// The option that switches off the check whether the runtime is the first library.
const OPTION: &str = "verify_asan_link_order";

/// True if the runtime of AddressSanitizer is one of the libraries that a program needs.
pub fn needs_address_sanitizer(image: &Image) -> bool {
    let is_runtime =
        |name: &String| name.starts_with("libasan.so") || name.starts_with("libclang_rt.asan");
    image.needed.iter().any(is_runtime)
}

/// True if the program must be told by ASAN_OPTIONS that its runtime need not be the first library.
pub fn needs_option(image: &Image) -> bool {
    needs_address_sanitizer(image) && image.offers("__asan_default_options")
}

/// The value of ASAN_OPTIONS with this option; `None` if the value already has the option.
pub fn with_option(options: Option<&str>) -> Option<String> {
    match options.unwrap_or_default().trim() {
        "" => Some(format!("{OPTION}=0")),
        given if given.contains(OPTION) => None,
        given => Some(format!("{given}:{OPTION}=0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shared_runtime_of_programs_with_options_of_their_own() {
        let image = |needed: &str, offered: &[&str]| Image {
            needed: vec!["libmpi.so.40".into(), needed.into()],
            offered: offered.iter().map(|name| name.to_string()).collect(),
            ..Image::default()
        };
        let own = ["__asan_default_options"];
        assert!(needs_option(&image("libasan.so.8", &own)));
        assert!(needs_option(&image("libclang_rt.asan-x86_64.so", &own)));
        assert!(!needs_option(&image("libasan.so.8", &[])));
        assert!(needs_address_sanitizer(&image("libasan.so.8", &[])));
        assert!(!needs_address_sanitizer(&image("libtsan.so.2", &[])));
        assert!(!needs_option(&image("libc.so.6", &own)), "the runtime is linked in");
    }

    #[test]
    fn options_of_the_user_stay() {
        assert_eq!(with_option(None).as_deref(), Some("verify_asan_link_order=0"));
        assert_eq!(
            with_option(Some("detect_leaks=0")).as_deref(),
            Some("detect_leaks=0:verify_asan_link_order=0")
        );
        assert_eq!(with_option(Some("verify_asan_link_order=1")), None);
    }
}
