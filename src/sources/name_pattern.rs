//! Patterns of host names: `r{}c{}n{}`, `nid{}`, `x{}c{}s{}b{}n{}`.
//!
//! Each `{}` stands for a decimal number. All other characters stand for themselves. A name fits if the whole
//! name, or its part before the first dot, is made so.

use crate::base::error::{Error, ErrorKind, Result};

/// A pattern of names with numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern {
    /// The texts before, between and behind the numbers.
    texts: Vec<String>,
}

impl NamePattern {
    /// Reads a pattern.
    ///
    /// Errors: no number in it, two numbers without a text between them.
    pub(super) fn parse(text: &str) -> Result<NamePattern> {
        let texts: Vec<String> = text.split("{}").map(String::from).collect();
        let inner = texts.get(1..texts.len().saturating_sub(1)).unwrap_or_default();
        if texts.len() < 2 || inner.iter().any(String::is_empty) {
            let what = format!("'{text}' is not a pattern of host names");
            return Err(Error::new(ErrorKind::Usage, what)
                .advise("write {} for each number, with text between them, such as r{}c{}n{}"));
        }
        Ok(NamePattern { texts })
    }

    /// How many numbers are in it.
    pub(super) fn numbers(&self) -> usize {
        self.texts.len() - 1
    }

    /// The numbers in a name; `None` if the name does not fit.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u64>> {
        let short = name.split('.').next().unwrap_or(name);
        self.read_whole(name).or_else(|| self.read_whole(short))
    }

    fn read_whole(&self, name: &str) -> Option<Vec<u64>> {
        let mut rest = name.strip_prefix(self.texts[0].as_str())?;
        let mut numbers = Vec::new();
        for text in &self.texts[1..] {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            numbers.push(rest[..end].parse().ok()?);
            rest = rest[end..].strip_prefix(text.as_str())?;
        }
        rest.is_empty().then_some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let pattern = NamePattern::parse("r{}c{}-n{}").unwrap();
        assert_eq!(pattern.read("r1c02-n003"), Some(vec![1, 2, 3]));
        assert_eq!(pattern.read("r1c2-n3.site.org"), Some(vec![1, 2, 3]));
        for other in ["", "r1c2-n", "r1c2-n3x", "xr1c2-n3", "r1c2", "r99999999999999999999c1-n1"] {
            assert_eq!(pattern.read(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "node", "n{}{}"] {
            let error = NamePattern::parse(text).unwrap_err().to_string();
            assert!(error.contains("try:"), "{error}");
        }
    }
}
