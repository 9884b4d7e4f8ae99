//! Words as a shell reads them, for command lines that are shown to be copied.
//!
//! Written here because the crates for this (shlex, shell-words) also quote `NAME=VALUE`, which
//! makes most words of a launch harder to read.

/// A word as a shell reads it.
pub(in crate::cli) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let words = ["a b", "it's", "", "A=1,2", "$HOME", "x;y"].map(quoted);
        assert_eq!(words, ["'a b'", r"'it'\''s'", "''", "A=1,2", "'$HOME'", "'x;y'"]);
    }
}
