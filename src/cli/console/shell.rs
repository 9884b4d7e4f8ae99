//! Words as a shell reads them, for command lines that are shown to be copied.
//!
//! Written here because the crates for this (shlex, shell-words) also quote `NAME=VALUE`, which
//! makes most words of a launch harder to read.

use crate::base::raw_words::{decoded, is_raw};
use std::os::unix::ffi::OsStrExt;

/// A word as a shell reads it. One that is not UTF-8 is written as `$'…'`, which bash, ksh and zsh read.
pub(in crate::cli) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    if is_raw(word) {
        let printable = |byte: &u8| byte.is_ascii_graphic() && !b"\\'".contains(byte);
        let character = |byte: &u8| match printable(byte) {
            true => char::from(*byte).to_string(),
            false => format!("\\{byte:03o}"),
        };
        let text: String = decoded(word).as_bytes().iter().map(character).collect();
        return format!("$'{text}'");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::raw_words::encoded;

    #[test]
    fn words_stay_words() {
        let words = ["a b", "it's", "", "A=1,2", "$HOME", "x;y"].map(quoted);
        let raw = encoded(std::ffi::OsStr::from_bytes(b"caf\xe9 'a'"));
        assert_eq!(quoted(&raw), r"$'caf\351\040\047a\047'");
        assert_eq!(words, ["'a b'", r"'it'\''s'", "''", "A=1,2", "'$HOME'", "'x;y'"]);
    }
}
