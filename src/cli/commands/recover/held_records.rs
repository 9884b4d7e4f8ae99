//! Records that their store refused at the end of a program, and that wait in a directory of the node.

use super::{Action, Settled};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::report::units;
use crate::store::{Held, Record, Store};
use serde_json::json;
use std::cell::Cell;

/// Stores or removes a record that its store had refused. It is not stored if the store has a newer record,
/// or a record with another number of tasks, unless the user forces this.
///
/// Errors: the record cannot be read, stored or removed, or it already waits in the directory of the store.
pub(super) fn settle(held: &Held, asked: Option<&Store>, action: Action) -> Result<Settled> {
    let entry = &held.entry;
    let key = units::printable(&entry.key);
    let meanwhile = || {
        eprintln!("rankweave: a newer record of {key} arrived in the meantime; it was not removed")
    };
    let choice = match action {
        Action::Recover(choice) => choice,
        Action::Discard => {
            let removed = held.remove(None)?;
            match removed {
                true => eprintln!("rankweave: removed {}", entry.path.display()),
                false => meanwhile(),
            }
            let result = json!({ "key": entry.key, "discarded": removed });
            return Ok(Settled { result, left: None });
        }
    };
    let (record, file) = held.read()?;
    let store = asked.map_or_else(|| held.store(), |store| Ok(store.clone()))?;
    if held.waits_in(&store) {
        let what = format!("the record {key} already waits in the directory that --store names");
        return Err(Error::new(ErrorKind::Usage, what)
            .at(entry.path.display())
            .advise("use --store with another directory"));
    }
    let why = Cell::new("");
    let stays = |before: &Record| {
        why.set(if before.matrix.tasks() != record.matrix.tasks() {
            "a record with another number of tasks"
        } else if before.recorded_at > record.recorded_at {
            "a newer record"
        } else {
            return false;
        });
        true
    };
    let saved = match choice.force {
        true => Some(store.save(&record)?),
        false => store.save_unless(&record, stays)?,
    };
    let sent = units::bytes(record.launch.total_bytes);
    let of = format!("{key} ({}, {sent} sent)", counted(record.matrix.tasks(), "task"));
    match &saved {
        Some(path) => {
            eprintln!("rankweave: stored {of}, which its store had refused, in {}", path.display())
        }
        None => eprintln!(
            "rankweave: not stored: {of}; the store has {}, which was not replaced; try: use --force",
            why.get()
        ),
    }
    let mut left = None;
    if saved.is_some() && !choice.keep {
        match held.remove(Some(&file)) {
            Ok(true) => {}
            Ok(false) => meanwhile(),
            Err(error) => left = Some(error),
        }
    }
    let result = json!({
        "key": record.key,
        "tasks": record.matrix.tasks(),
        "found": record.matrix.tasks(),
        "saved": saved.map(|p| p.display().to_string()),
    });
    Ok(Settled { result, left })
}

/// The reason why a record that waits cannot be stored in its own store: it is damaged, or it names no store.
pub(super) fn problem(held: &Held) -> Option<Error> {
    held.read().err().or_else(|| held.store().err())
}
