//! Which records of the store a command is about: by program, number of tasks and age.

use crate::base::clock::since_1970;
use crate::base::error::{Error, ErrorKind, Result};
use crate::options::Names;
use crate::options::age;
use crate::store::Listed;

/// Options that select records of a listing.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::cli) struct RecordFilter {
    /// Only records of these programs
    ///
    /// Names or patterns, separated by commas: * stands for any characters, ? for one. A pattern with a slash is
    /// compared with the path of the executable, any other with its name and with the key of the record.
    #[arg(long, value_name = "NAMES")]
    program: Option<String>,

    /// Only records with so many tasks: a number, or a range such as 64-512
    #[arg(long, value_name = "TASKS", value_parser = range)]
    tasks: Option<(u64, u64)>,

    /// Only records that are not older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<u64>,

    /// Only records that are older: a date such as 2026-11-25 (UTC), or an age such as 36h, 7d or 8w
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    before: Option<u64>,
}

impl RecordFilter {
    /// Whether a record is meant. Records that cannot be read have neither tasks nor a time.
    pub(in crate::cli) fn selects(&self) -> impl Fn(&Listed<'_>) -> bool {
        let names = self.program.as_deref().map(Names::parse);
        let is_named = move |record: &Listed<'_>| {
            names.as_ref().is_none_or(|names| names.matching(record.program, record.key).is_some())
        };
        let has_tasks =
            |tasks: u64| self.tasks.is_none_or(|(from, to)| (from..=to).contains(&tasks));
        let is_timely = |at: u64| {
            self.since.is_none_or(|since| at >= since)
                && self.before.is_none_or(|before| at < before)
        };
        move |record| has_tasks(record.tasks) && is_timely(record.recorded_at) && is_named(record)
    }
}

/// A number, or a range of numbers.
fn range(text: &str) -> Result<(u64, u64)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match number(from).zip(number(to)) {
        Some((from, to)) if from <= to => Ok((from, to)),
        _ => Err(Error::new(ErrorKind::Usage, format!("'{text}' is not a number of tasks"))
            .advise("give a number or a range, such as 64 or 64-512")),
    }
}

/// Seconds since 1970-01-01 UTC of a date or of an age.
fn moment(text: &str) -> Result<u64> {
    if let Some(seconds) = date(text) {
        return Ok(seconds);
    }
    age(text).map(|age| since_1970().as_secs().saturating_sub(age))
}

/// Midnight at the beginning of a day such as `2026-11-25`.
fn date(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1970..10_000).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let before = 365 * (year - 1970) + leaps(year - 1) - leaps(1969);
    let days = before + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Some(days * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::units;

    #[test]
    fn dates_and_ages() {
        assert_eq!(date("1970-01-01"), Some(0));
        for text in ["2000-02-29", "2026-11-25", "2100-03-01", "1999-12-31"] {
            assert_eq!(units::time(date(text).unwrap()), format!("{text} 00:00 UTC"));
        }
        for bad in
            ["2026-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-01-32", "7d", "1-1"]
        {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!((age("36h").unwrap(), age("2w").unwrap()), (129_600, 1_209_600));
        for bad in ["", "7", "d", "-3d", "3y", "99999999999999999999d", "18446744073709551615w"] {
            assert!(age(bad).is_err() && moment(bad).is_err(), "{bad}");
        }
        assert_eq!((range("64").unwrap(), range("8-64").unwrap()), ((64, 64), (8, 64)));
        assert!(range("64-8").is_err() && range("many").is_err());
    }

    #[test]
    fn records_are_selected() {
        use crate::store::Entry;
        let entry = |key: &str, tasks, recorded_at| Entry {
            key: key.into(),
            program: format!("/opt/{key}"),
            tasks,
            recorded_at,
            ..Entry::default()
        };
        let all = [entry("lmp-1", 8, 100), entry("vasp-2", 64, 200), entry("lmp-3", 64, 300)];
        let kept = |filter: RecordFilter| {
            let selects = filter.selects();
            let records = all.iter().map(Listed::from).filter(selects);
            records.map(|record| record.key.to_string()).collect::<Vec<_>>()
        };
        let none = RecordFilter::default;
        assert_eq!(kept(none()).len(), 3);
        assert_eq!(
            kept(RecordFilter { program: Some("lmp*".into()), ..none() }),
            ["lmp-1", "lmp-3"]
        );
        assert_eq!(kept(RecordFilter { program: Some("/opt/v*".into()), ..none() }), ["vasp-2"]);
        assert_eq!(kept(RecordFilter { tasks: Some((9, 64)), ..none() }), ["vasp-2", "lmp-3"]);
        assert_eq!(
            kept(RecordFilter { since: Some(200), before: Some(300), ..none() }),
            ["vasp-2"]
        );
    }
}
