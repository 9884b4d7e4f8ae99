//! Reads the fields of a plain text from its bytes, for quick parsers ([`super::pieces`]).
//!
//! Everything here reads the same value as the careful functions of [`Line`](super::source::Line), or gives up with
//! `None`: signs, white space other than spaces and tabs, characters outside ASCII, quotes, numbers with more than
//! 19 digits.

use super::source::{Amount, amount};

/// A position in a text that ends at the end of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// The byte between two fields, if it is no white space.
    separator: u8,
    /// A byte that counts as white space beside the space: the tab, if it does not separate fields.
    blank: u8,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text whose fields are separated by white space.
    pub(super) fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0, separator: b' ', blank: b'\t' }
    }

    /// At the beginning of a text whose fields are separated by this byte.
    pub(super) fn separated(text: &'a [u8], separator: u8) -> Self {
        let blank = if separator == b'\t' { b' ' } else { b'\t' };
        Cursor { text, at: 0, separator, blank }
    }

    /// True at the end of the text.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|b| b == b' ' || b == self.blank) {
            self.at += 1;
        }
    }

    /// Skips white space and then the end of a line; `false` if something else follows.
    #[inline]
    pub(super) fn line_end(&mut self) -> bool {
        self.skip_blanks();
        let length = match &self.text[self.at.min(self.text.len())..] {
            [] | [b'\r'] => self.text.len() - self.at,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return false,
        };
        self.at += length;
        true
    }

    /// True if the next byte that is no white space is this one.
    #[inline]
    pub(super) fn meets(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        self.peek() == Some(byte)
    }

    /// Skips white space and the separator of fields.
    #[inline]
    pub(super) fn separator(&mut self) -> Option<()> {
        let found = self.meets(self.separator);
        self.at += usize::from(found);
        found.then_some(())
    }

    /// Skips the rest of a line, which must be ASCII.
    pub(super) fn skip_line(&mut self) -> Option<()> {
        self.skip_until(|b| b == b'\n')?;
        self.at = (self.at + 1).min(self.text.len());
        Some(())
    }

    /// Skips the rest of a field, which must be ASCII.
    pub(super) fn skip_field(&mut self) -> Option<()> {
        let separator = self.separator;
        self.skip_until(|b| b == b'\n' || b == separator)
    }

    fn skip_until(&mut self, ends: impl Fn(u8) -> bool) -> Option<()> {
        let rest = &self.text[self.at.min(self.text.len())..];
        let length = rest.iter().position(|&b| ends(b)).unwrap_or(rest.len());
        self.at += length;
        rest[..length].is_ascii().then_some(())
    }

    /// True if a field can end before the next byte.
    #[inline]
    fn is_field_end(&self) -> bool {
        self.peek().is_none_or(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t') || b == self.separator)
    }

    /// A whole number in decimal digits.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        self.skip_blanks();
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.peek().map(|b| b.wrapping_sub(b'0')).filter(|&d| d < 10) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        // Ten to the nineteenth is less than two to the sixty-fourth.
        (1..=19).contains(&(self.at - start)).then_some(())?;
        self.is_field_end().then_some(value)
    }

    /// A number of bytes: whole or real, and not negative.
    #[inline]
    pub(super) fn amount(&mut self) -> Option<Amount> {
        self.skip_blanks();
        let start = self.at;
        if let Some(whole) = self.number() {
            return Some(Amount { whole, half: false });
        }
        while !self.is_field_end() {
            self.at += 1;
        }
        amount(std::str::from_utf8(&self.text[start..self.at]).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Source;
    use proptest::prelude::*;

    #[test]
    fn fields_of_a_line() {
        let mut cursor = Cursor::new(b" 12\t3.5 7 \r\n\n% x\n9");
        assert_eq!(cursor.number(), Some(12));
        assert_eq!(cursor.amount(), Some(Amount { whole: 3, half: true }));
        assert!(!cursor.line_end());
        assert_eq!(cursor.amount(), Some(Amount { whole: 7, half: false }));
        assert!(cursor.line_end() && cursor.line_end() && cursor.meets(b'%'));
        assert_eq!(cursor.skip_line(), Some(()));
        assert_eq!(cursor.number(), Some(9));
        assert!(cursor.line_end() && cursor.is_done());
        let mut cursor = Cursor::separated(b"x;1 ; 2", b';');
        assert_eq!((cursor.skip_field(), cursor.separator()), (Some(()), Some(())));
        assert_eq!((cursor.number(), cursor.separator()), (Some(1), Some(())));
        assert_eq!((cursor.number(), cursor.separator()), (Some(2), None));
        for odd in ["", "+1", "-1", "1x", "99999999999999999999", "\u{a0}1", "\u{c}1"] {
            assert_eq!(Cursor::new(odd.as_bytes()).number(), None, "{odd}");
        }
    }

    proptest! {
        /// A cursor never reads another value than the careful functions.
        #[test]
        fn fields_have_the_values_that_lines_give(field in "[0-9+.e\\-]{1,21}|[0-9]{1,21}") {
            let source = Source::new("f", field.as_bytes());
            let line = source.lines().next().unwrap();
            if let Some(number) = Cursor::new(field.as_bytes()).number() {
                prop_assert_eq!(line.number::<u64>(&field, "a", "b"), Ok(number));
            }
            prop_assert_eq!(Cursor::new(field.as_bytes()).amount(), line.amount(&field, "x").ok());
        }
    }
}
