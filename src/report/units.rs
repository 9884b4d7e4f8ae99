//! Numbers, sizes and times as people read them.

pub use crate::base::quantity::{bytes, seconds, whole_percent};
use std::borrow::Cow;

/// A whole number with groups of three digits: `1 234 567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A part of a whole in percent: `12.3 %`.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".into();
    }
    match 100.0 * part as f64 / whole as f64 {
        small if part > 0 && small < 0.05 => "< 0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// `2026-11-21 12:06 UTC`, from seconds since 1970-01-01; `unknown` for 0.
pub fn time(seconds: u64) -> String {
    if seconds == 0 {
        return "unknown".into();
    }
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // From days to a date. The years begin in March here, so that the leap day is the last day.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

/// A text of foreign origin for a terminal. Control characters become `?`.
pub fn printable(text: &str) -> String {
    shown_text(text).into_owned()
}

/// [`printable`] without a copy where nothing has to be replaced.
pub fn shown_text(text: &str) -> Cow<'_, str> {
    // All control characters have a byte below the space, or one of these two.
    let is_plain = |&byte: &u8| byte >= b' ' && byte != 0x7f && byte != 0xc2;
    if text.as_bytes().iter().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => '?',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Ascending numbers as ranges, such as `0-3, 8`: at most `most` ranges, and `…` for the rest.
pub fn ranges(numbers: impl IntoIterator<Item = usize>, most: usize) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let mut words: Vec<String> = runs
        .iter()
        .take(most)
        .map(|&(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    if runs.len() > most {
        words.push("…".into());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_parts() {
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(123), "123");
        assert_eq!((percent(1, 8), percent(0, 0)), ("12.5 %".into(), "0 %".into()));
        assert_eq!((percent(1, 9999), percent(0, 9)), ("< 0.1 %".into(), "0.0 %".into()));
    }

    #[test]
    fn lists_as_ranges() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8], 8), "0-2, 5, 7-8");
        assert_eq!(ranges([], 8), "");
        assert!(ranges((0..40).map(|n| 2 * n), 8).ends_with("14, …"));
    }

    #[test]
    fn times() {
        for (seconds, text) in [
            (0, "unknown"),
            (1, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_700_000_000, "2023-11-14 22:13 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(time(seconds), text);
        }
        time(u64::MAX);
        assert_eq!(printable("a\x1b[31mb\n"), "a?[31mb?");
        assert_eq!(printable("ä\t\u{85}\x7f©"), "ä ??©");
        assert!(matches!(shown_text("zwölf"), Cow::Borrowed("zwölf")));
    }
}
