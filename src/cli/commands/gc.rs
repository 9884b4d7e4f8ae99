//! `rankweave gc`: removes records by age, number and size, for a store that many launches fill.

use super::daily_collection;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::arguments::record_filter::RecordFilter;
use crate::cli::arguments::selection::StoreArgs;
use crate::cli::console::{Exit, output};
use crate::options::{age, size};
use crate::report::units;
use crate::store::{Collected, Entry, Listed, Store};
use serde_json::json;

const LONG: &str = "\
Removes records that are older than --older-than, and the oldest ones beyond --most-records and --most-bytes. \
With a record go its other records (KEY@RUN) and the rank orders that were kept for it; --most-bytes counts them, too. Verdicts of \
'rankweave check' stay.

It also removes what is of no more use: leftovers of writes that were interrupted more than a day ago, rank \
orders of keys that have no record, and counts of killed jobs that have waited for those of other nodes for 30 days. \
Without a limit, only these are removed.

A site can run this command once a day: a program whose record is removed is recorded anew at its next launch.

With --json, removed_bytes are those of the files of the records, removed_bytes_beside those of what went with \
them, and leftover_bytes those of the leftovers; freed_bytes is their sum.

Exit codes: 0 something was removed, or would be; 1 nothing; 2 an error.";

const EXAMPLES: &str = "\
Examples:
  rankweave gc --older-than 180d --dry-run     say which records would be removed
  rankweave gc --most-bytes 20G --store /project/rankweave
  rankweave gc --program 'test_*' --older-than 7d";

/// Remove old records by age, number or size
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES, long_about = LONG)]
pub struct Args {
    /// Remove records that are older, such as 36h, 90d or 26w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,

    /// Keep at most so many records, the newest
    #[arg(long, value_name = "NUMBER")]
    most_records: Option<usize>,

    /// Keep the newest records that have, with their other records and kept orders, at most so many bytes, such as 500M, 20G or 1T
    #[arg(long, value_name = "SIZE", value_parser = size)]
    most_bytes: Option<u64>,

    #[command(flatten)]
    filter: RecordFilter,

    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,

    /// Print what was removed as JSON
    #[arg(long)]
    json: bool,

    /// In the background, and not a second time today: 'rankweave run' with --store-bound
    #[arg(long, hide = true)]
    once_a_day: bool,

    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let store = self.store.open()?;
        if self.once_a_day && !daily_collection::begin(store.directory()) {
            return Ok(Exit::Nothing);
        }
        let listing = store.listing()?;
        // What goes with a record counts only for a limit of bytes.
        let beside = self.most_bytes.map(|_| store.footprints());
        let beside =
            |record: &Listed<'_>| beside.as_ref().map_or(0, |all| all.beside(&record.path()));
        // Nobody knows how old an unreadable record is. 'rankweave list --verify' names it.
        let readable = listing.records().filter(|record| record.problem.is_none());
        let removed = self.superfluous(readable.filter(self.filter.selects()), beside);
        drop(listing);
        let done = store.collect(&removed, self.dry_run)?;
        if self.json {
            let keys: Vec<&str> = removed.iter().map(|entry| entry.key.as_str()).collect();
            output::print_json(&json!({
                "schema": 1,
                "store": store.directory().display().to_string(),
                "dry_run": self.dry_run,
                "chosen": keys,
                "removed_records": done.records,
                "removed_bytes": done.bytes,
                "removed_bytes_beside": done.bytes_beside,
                "leftovers": done.leftovers,
                "leftover_bytes": done.leftover_bytes,
                "freed_bytes": done.all_bytes(),
                "errors": done.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }))?;
        } else {
            let list = if self.dry_run { listed(&removed) } else { String::new() };
            output::print(&list)?;
            eprintln!("rankweave: {}", self.summary(&store, &done));
        }
        if let Some(first) = done.errors.first() {
            let what =
                format!("{} could not be removed: {first}", counted(done.errors.len(), "record"));
            return Err(Error::new(ErrorKind::Io, what)
                .advise("let the owner of the files run this command"));
        }
        Ok(if done.records + done.leftovers == 0 { Exit::Nothing } else { Exit::Done })
    }

    /// The records that are removed. `records` are sorted, the newest first; `beside` gives the bytes of what goes with one.
    fn superfluous<'a>(
        &self,
        records: impl Iterator<Item = Listed<'a>>,
        beside: impl Fn(&Listed<'_>) -> u64,
    ) -> Vec<Entry> {
        let now = crate::base::clock::since_1970().as_secs();
        let oldest = self.older_than.map_or(0, |age| now.saturating_sub(age));
        let most_bytes = self.most_bytes.unwrap_or(u64::MAX);
        let mut kept = (0usize, 0u64);
        let is_superfluous = |record: &Listed<'a>| {
            let may_stay = record.recorded_at >= oldest
                && kept.0 < self.most_records.unwrap_or(usize::MAX)
                && kept.1 < most_bytes.max(1);
            // Nothing more is asked for a record that goes anyway.
            let more = if may_stay { record.size.saturating_add(beside(record)) } else { 0 };
            let with = kept.1.saturating_add(more);
            let stays = may_stay && with <= most_bytes;
            if stays {
                kept = (kept.0 + 1, with);
            } else if with > most_bytes {
                // No older record takes the place of a newer one that is too large.
                kept.1 = most_bytes;
            }
            !stays
        };
        records.filter(is_superfluous).map(|record| record.entry()).collect()
    }

    fn summary(&self, store: &Store, collected: &Collected) -> String {
        let done = if self.dry_run { "would remove" } else { "removed" };
        let several = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        format!(
            "{done} {} ({}) and {} in {}",
            several(collected.records, "record"),
            units::bytes(collected.bytes + collected.bytes_beside),
            several(collected.leftovers, "leftover"),
            store.directory().display()
        )
    }
}

fn listed(entries: &[Entry]) -> String {
    let line =
        |e: &Entry| format!("{}  {}\n", units::time(e.recorded_at), units::printable(&e.key));
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn removed(words: &[&str], entries: &[(u64, u64)]) -> Vec<u64> {
        let now = crate::base::clock::since_1970().as_secs();
        let line = Line::parse_from([&["gc"], words].concat());
        let entry =
            |&(age, size): &(u64, u64)| Entry { size, recorded_at: now - age, ..Entry::default() };
        let entries: Vec<Entry> = entries.iter().map(entry).collect();
        let gone = line.args.superfluous(entries.iter().map(Listed::from), |_| 0);
        gone.iter().map(|entry| now - entry.recorded_at).collect()
    }

    #[test]
    fn the_oldest_are_removed() {
        let entries = [(10, 100), (20, 300), (30, 100), (86_400 * 8, 1)];
        assert_eq!(removed(&[], &entries), [] as [u64; 0]);
        assert_eq!(removed(&["--older-than", "7d"], &entries), [86_400 * 8]);
        assert_eq!(removed(&["--most-records", "2"], &entries), [30, 86_400 * 8]);
        assert_eq!(removed(&["--most-records", "0"], &entries).len(), 4);
        assert_eq!(removed(&["--most-bytes", "399"], &entries), [20, 30, 86_400 * 8]);
        assert_eq!(removed(&["--most-bytes", "400"], &entries), [30, 86_400 * 8]);
    }

    #[test]
    fn what_goes_with_a_record_counts() {
        let line = Line::parse_from(["gc", "--most-bytes", "400"]);
        let entries: Vec<Entry> = (1..5)
            .map(|k| Entry { size: 10, recorded_at: 100 - k, tasks: k, ..Entry::default() })
            .collect();
        let asked = std::cell::RefCell::new(Vec::new());
        let beside = |record: &Listed<'_>| {
            asked.borrow_mut().push(record.tasks);
            if record.tasks == 2 { 500 } else { 90 }
        };
        let gone = line.args.superfluous(entries.iter().map(Listed::from), beside);
        assert_eq!(gone.iter().map(|entry| entry.tasks).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(*asked.borrow(), [1, 2], "older ones are not asked");
    }

    #[test]
    fn sizes() {
        assert_eq!((size("20G").unwrap(), size("500mb").unwrap()), (20_000_000_000, 500_000_000));
        assert_eq!(size("12").unwrap(), 12);
        for bad in ["", "G", "-1", "1X", "99999999999T"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
