//! Words of a command line that need not be UTF-8, as strings.
//!
//! A launch is read, changed and shown as a list of strings, but the words of a user may be any bytes, for example the
//! name of a file in Latin-1. [`encoded`] therefore gives each byte that is not UTF-8 a character of its own, from the
//! end of the last private area of Unicode, and [`decoded`] gives back the same bytes. These characters themselves
//! count as bytes that are not UTF-8, so that every word comes back unchanged.
//!
//! Limit: a word that is shown, hashed or stored has to go through [`shown`] first.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The character of the byte 0; only those of the bytes from 0x80 on are used.
const BASE: u32 = 0x10_ff00;

/// The byte for which a character stands.
fn byte_of(c: char) -> Option<u8> {
    u32::from(c).checked_sub(BASE).and_then(|byte| u8::try_from(byte).ok()).filter(|b| *b >= 0x80)
}

fn escaped(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    bytes.iter().filter_map(|&byte| char::from_u32(BASE + u32::from(byte)))
}

/// The word as a string.
pub fn encoded(word: &OsStr) -> String {
    let mut text = String::with_capacity(word.len());
    for chunk in word.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                None => text.push(c),
                Some(_) => text.extend(escaped(c.encode_utf8(&mut [0; 4]).as_bytes())),
            }
        }
        text.extend(escaped(chunk.invalid()));
    }
    text
}

/// The word of which [`encoded`] made a string.
pub fn decoded(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

/// A text with such words for people and for hashes. What is not UTF-8 becomes `U+FFFD`, as in the preloaded library.
pub fn shown(text: &str) -> String {
    match is_raw(text) {
        true => decoded(text).to_string_lossy().into_owned(),
        false => text.into(),
    }
}

/// Whether a word is not UTF-8.
pub fn is_raw(text: &str) -> bool {
    text.chars().any(|c| byte_of(c).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_in_latin_1_comes_back_and_is_shown_as_the_library_shows_it() {
        let word = OsStr::from_bytes(b"caf\xe9.inp");
        let text = encoded(word);
        assert!(is_raw(&text) && text.ends_with(".inp"));
        assert_eq!(decoded(&text), word);
        assert_eq!(shown(&text), String::from_utf8_lossy(b"caf\xe9.inp"));
        assert_eq!((encoded(OsStr::new("café")).as_str(), is_raw("café")), ("café", false));
        // The characters that stand for bytes.
        let own = OsStr::new("\u{10ff80}\u{10ffff}\u{10ff7f}");
        assert_eq!(decoded(&encoded(own)), own);
        assert_eq!(shown(&encoded(own)), own.to_string_lossy());
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40), text in any::<String>()) {
            for bytes in [bytes, text.into_bytes()] {
                let word = OsStr::from_bytes(&bytes);
                prop_assert_eq!(&decoded(&encoded(word)), word);
                prop_assert_eq!(shown(&encoded(word)), word.to_string_lossy());
            }
        }
    }
}
