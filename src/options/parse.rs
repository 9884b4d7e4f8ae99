//! Parsers of option values. Each error says what was expected; the caller adds the place of the value.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nearest::one_of;
use std::time::Duration;

/// The largest number of entries in a list, which is the largest number of tasks in a file. A range such as
/// `0-4000000000` is taken for a mistake.
const LONGEST_LIST: usize = 1 << 22;

fn wrong(what: String, advice: &str) -> Error {
    Error::new(ErrorKind::Usage, what).advise(advice)
}

/// The index of a text in `choices`. Upper and lower case are the same.
pub(super) fn choice(text: &str, choices: &[&str]) -> Result<usize> {
    choices
        .iter()
        .position(|c| c.eq_ignore_ascii_case(text))
        .ok_or_else(|| wrong(format!("'{text}' is not a known value"), &one_of(text, choices)))
}

/// A whole number from 0.
pub(super) fn whole(text: &str) -> Result<u64> {
    text.parse().map_err(|_| {
        wrong(
            format!("'{text}' is not a whole number"),
            "give a number from 0 without sign, such as 1",
        )
    })
}

/// Directories separated by colons; `none` is the empty list.
pub(super) fn directories(text: &str) -> Vec<std::path::PathBuf> {
    let parts = text.split(':').map(str::trim);
    parts.filter(|p| !p.is_empty() && !p.eq_ignore_ascii_case("none")).map(Into::into).collect()
}

/// A percentage from 0 to 100, with or without the sign.
pub(super) fn percent(text: &str) -> Result<f64> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(p) if (0.0..=100.0).contains(&p) => Ok(p),
        _ => Err(wrong(
            format!("'{text}' is not a percentage"),
            "give a number from 0 to 100, such as 3",
        )),
    }
}

/// A time: seconds, or a number with `ms`, `s`, `m` or `h`. More than 0, at most 30 days.
pub fn seconds(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => Some(1.0),
        "ms" => Some(1e-3),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let value = factor.and_then(|f| digits.trim().parse::<f64>().ok().map(|v| v * f));
    match value {
        Some(v) if v > 0.0 && v <= 30.0 * 86400.0 => Ok(Duration::from_secs_f64(v)),
        _ => Err(wrong(
            format!("'{text}' is not a time"),
            "give seconds above 0, such as 10 or 500ms",
        )),
    }
}

/// The seconds of an age such as `36h`, `7d` or `8w`.
pub fn age(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        "w" => Some(7 * 86_400),
        _ => None,
    };
    let seconds = unit.and_then(|unit| digits.parse::<u64>().ok()?.checked_mul(unit));
    seconds.ok_or_else(|| {
        wrong(format!("'{text}' is not an age"), "give a number with a unit, such as 36h, 7d or 8w")
    })
}

/// A number of bytes with a unit of 1000, such as `500M`.
pub fn size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().trim_end_matches('B') {
        "" => Some(1),
        "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        "T" => Some(1_000_000_000_000u64),
        _ => None,
    };
    let size = unit.and_then(|unit| digits.trim().parse::<u64>().ok()?.checked_mul(unit));
    size.ok_or_else(|| {
        wrong(format!("'{text}' is not a size"), "give a number of bytes, such as 500M, 20G or 1T")
    })
}

/// A list of whole numbers such as `0,3,8-11`. Separators are commas and blanks. Ranges include both ends.
/// Order and repetitions are kept. A list has at most 2^22 entries.
pub fn number_list(text: &str) -> Result<Vec<u32>> {
    let advice = "give numbers and ranges, such as 0,3,8-11";
    let mut list = Vec::new();
    for part in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|p| !p.is_empty()) {
        let bounds = match part.split_once('-') {
            None => part.parse::<u32>().ok().map(|n| (n, n)),
            Some((a, b)) => a.parse().ok().zip(b.parse().ok()),
        };
        let Some((first, last)) = bounds else {
            return Err(wrong(format!("'{part}' is not a number or a range"), advice));
        };
        if first > last {
            return Err(wrong(format!("the range '{part}' runs backwards"), advice));
        }
        if (last - first) as usize >= LONGEST_LIST - list.len() {
            return Err(wrong(
                format!("the list has more than {LONGEST_LIST} numbers with '{part}'"),
                "give one number for each process or task",
            ));
        }
        list.extend(first..=last);
    }
    if list.is_empty() {
        return Err(wrong("the list is empty".into(), advice));
    }
    // A list that grew may have twice the room that it needs.
    list.shrink_to_fit();
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        assert_eq!(number_list("0,3,8-11").unwrap(), [0, 3, 8, 9, 10, 11]);
        assert_eq!(number_list(" 5 \n4\n").unwrap(), [5, 4]);
        for bad in ["", ",", "a", "1-", "-1", "3-1", "0-4294967295", "1.5"] {
            assert!(number_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_have_at_most_four_million_numbers() {
        assert_eq!(number_list("1-4194304").unwrap().len(), LONGEST_LIST);
        let error = number_list("7 0-4194303").unwrap_err().to_string();
        assert!(error.contains("more than 4194304 numbers with '0-4194303'"), "{error}");
    }

    #[test]
    fn times() {
        assert_eq!(seconds("10").unwrap(), Duration::from_secs(10));
        assert_eq!(seconds("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(seconds("1.5m").unwrap(), Duration::from_secs(90));
        for bad in ["", "0", "-1", "nan", "inf", "1e300", "5 parsecs", "s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("3").unwrap(), 3.0);
        assert_eq!(percent("2.5%").unwrap(), 2.5);
        for bad in ["", "-1", "101", "NaN", "x"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".{0,40}") {
            let _ = (number_list(&text), seconds(&text), percent(&text), whole(&text));
        }
    }
}
