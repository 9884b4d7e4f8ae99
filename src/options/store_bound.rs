//! The bound of a store: which records are too old or too many.

use super::parse::{age, size, whole};
use crate::base::error::{Error, ErrorKind, Result};

/// Which records of a store are removed. What is not set bounds nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreBound {
    /// Records that are older, in seconds.
    pub older_than: Option<u64>,
    /// The oldest records beyond this number.
    pub most_records: Option<usize>,
    /// The oldest records beyond so many bytes, with all that goes with them.
    pub most_bytes: Option<u64>,
}

impl StoreBound {
    /// Reads a bound such as `older-than=180d,most-records=5000,most-bytes=2G`. The options of `rankweave gc` are
    /// accepted as they are typed there. `none` bounds nothing.
    ///
    /// Errors: an unknown name, a name without a value, or a wrong value.
    pub fn parse(text: &str) -> Result<Option<StoreBound>> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(None);
        }
        let separates = |c: char| c == ',' || c == '=' || c.is_ascii_whitespace();
        let words: Vec<&str> = text.split(separates).filter(|word| !word.is_empty()).collect();
        let mut bound = StoreBound::default();
        for pair in words.chunks(2) {
            let name = pair[0].trim_start_matches("--");
            let value =
                || pair.get(1).copied().ok_or_else(|| wrong(format!("'{name}' has no value")));
            match name {
                "older-than" => bound.older_than = Some(age(value()?)?),
                "most-records" => {
                    bound.most_records =
                        Some(usize::try_from(whole(value()?)?).unwrap_or(usize::MAX));
                }
                "most-bytes" => bound.most_bytes = Some(size(value()?)?),
                _ => return Err(wrong(format!("'{name}' is no bound of a store"))),
            }
        }
        match words.is_empty() {
            true => Err(wrong("the bound of the store is empty".into())),
            false => Ok(Some(bound)),
        }
    }

    /// The options of `rankweave gc` with this bound.
    pub fn words(&self) -> Vec<String> {
        let option = |name: &str, value: Option<String>| value.map(|v| format!("--{name}={v}"));
        let words = [
            option("older-than", self.older_than.map(|age| format!("{age}s"))),
            option("most-records", self.most_records.map(|number| number.to_string())),
            option("most-bytes", self.most_bytes.map(|bytes| bytes.to_string())),
        ];
        words.into_iter().flatten().collect()
    }
}

fn wrong(what: String) -> Error {
    Error::new(ErrorKind::Usage, what)
        .advise("give older-than=AGE, most-records=NUMBER, most-bytes=SIZE, or several of them with commas, or none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let all = StoreBound {
            older_than: Some(180 * 86_400),
            most_records: Some(5000),
            most_bytes: Some(2_000_000_000),
        };
        for text in [
            "older-than=180d,most-records=5000,most-bytes=2G",
            "--older-than 180d --most-records 5000 --most-bytes 2G",
            " most-bytes = 2GB, older-than=180d most-records 5000 ",
        ] {
            assert_eq!(StoreBound::parse(text).unwrap(), Some(all), "{text}");
        }
        assert_eq!(StoreBound::parse(&all.words().join(" ")).unwrap(), Some(all));
        assert_eq!(StoreBound::parse("none").unwrap(), None);
        for (text, what) in [
            ("", "empty"),
            ("older=1d", "'older' is no bound"),
            ("older-than", "'older-than' has no value"),
            ("older-than=180", "'180' is not an age"),
            ("most-bytes=2Q", "'2Q' is not a size"),
            ("most-records=-1", "'-1' is not a whole number"),
        ] {
            let error = StoreBound::parse(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }
}
