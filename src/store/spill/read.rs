//! Reads a spill file: rows are added up, collective calls are expanded.

use super::description::About;
use super::layout::{self, Entry, Head, tag, u32_at, u64_at, word};
use super::part::{Gaps, Part};
use crate::base::error::{Error, ErrorKind, Result};
use crate::matrix::collectives::{self, Call, InterRoot, Model, Operation};
use crate::matrix::{Kind, Traffic};
use std::collections::{BTreeMap, HashMap};

/// A communicator as the file has it.
struct Communicator<'b> {
    rank: u32,
    local_size: u32,
    /// Ranks that can be addressed.
    size: u32,
    inter: bool,
    /// The task of each rank, 4 bytes each. `None` if rank r is task r.
    tasks: Option<&'b [u8]>,
}

/// Rows by task.
type Rows = [BTreeMap<u32, Traffic>; layout::ROWS];

/// The content of a spill file. Without an error the description is right. Other data that is missing or
/// damaged is reported in [`Part::gaps`].
///
/// Errors (without a place, which the caller adds): not a spill file, one of another version or byte
/// order, damaged in its description.
pub fn read(bytes: &[u8]) -> Result<Part> {
    let (about, start) = read_header(bytes)?;
    let mut gaps = Gaps {
        unreserved: u64_at(bytes, word::UNRESERVED),
        folding: u64_at(bytes, word::FOLDING) != 0,
        ..Gaps::default()
    };
    let mut rows = Rows::default();
    let mut communicators = HashMap::new();
    let mut entries = Vec::new();
    let mut at = start;
    while at + layout::HEAD <= bytes.len() {
        let rest = &bytes[at..];
        at += layout::ALIGN;
        if u32_at(rest, 0) == 0 {
            continue;
        }
        let Some((head, body)) = region(rest) else {
            gaps.damaged += 1;
            continue;
        };
        at += head.length as usize - layout::ALIGN;
        if u32_at(rest, 0) == layout::GIVEN_BACK {
            continue;
        }
        match head.tag {
            tag::ROW => add_row(&mut rows, &head, body, about.job.tasks),
            tag::COMMUNICATOR => match communicator(&head, body, &about, bytes.len()) {
                Some(found) => drop(communicators.insert(head.number, found)),
                None => gaps.damaged += 1,
            },
            _ => {
                for entry in body.chunks_exact(layout::ENTRY).take(head.count as usize) {
                    if u64_at(entry, 0) != 0 {
                        match Entry::from_bytes(entry) {
                            Some(entry) => entries.push(entry),
                            None => gaps.damaged += 1,
                        }
                    }
                }
            }
        }
    }
    let model = Model::ALL.into_iter().find(|m| m.name() == about.job.model);
    for (entry, calls) in entries.into_iter().filter(|e| e.1 > 0) {
        let expanded = model.zip(communicators.get(&entry.communicator)).is_some_and(
            |(model, communicator)| expand(model, communicator, &entry, calls, &about, &mut rows),
        );
        if !expanded {
            gaps.unexpanded = gaps.unexpanded.saturating_add(calls);
        }
    }
    let [p2p, collective, onesided, fetched] =
        rows.map(|row| row.into_iter().filter(|(_, t)| !t.is_zero()).collect::<Vec<_>>());
    Ok(Part {
        about,
        sent: [p2p, collective, onesided],
        fetched,
        gaps,
        said_end: u64_at(bytes, word::ENDED) != 0,
        ended_at: u64_at(bytes, word::ENDED_AT),
    })
}

/// The description, and where the regions begin.
fn read_header(bytes: &[u8]) -> Result<(About, usize)> {
    let wrong = |what: String| Err(Error::new(ErrorKind::Format, what));
    if bytes.len() < layout::HEADER || !bytes.starts_with(&layout::MAGIC) {
        return wrong(
            "this is not a spill file, or its process ended before it wrote the header".into(),
        );
    }
    if u32_at(bytes, 12) != layout::ORDER_MARK {
        return wrong("the spill file is from a machine with another byte order".into());
    }
    let version = u32_at(bytes, 8);
    if version > layout::VERSION {
        let what = format!(
            "the spill file has version {version}; this rankweave reads up to {}",
            layout::VERSION
        );
        return Err(Error::new(ErrorKind::NewerVersion, what).advise("use a newer rankweave"));
    }
    let length = u32_at(bytes, 16) as usize;
    let about = match bytes.get(layout::HEADER..layout::HEADER.saturating_add(length)) {
        Some(about) if length <= layout::LONGEST_ABOUT => about,
        _ => return wrong("the spill file is cut short".into()),
    };
    if version == 0 || layout::header_check(&bytes[8..20], about) != u32_at(bytes, 20) {
        return wrong("the description in the spill file is damaged".into());
    }
    let Ok((decoded, [])) = postcard::take_from_bytes::<About>(about) else {
        return wrong("the description in the spill file cannot be decoded".into());
    };
    let job = &decoded.job;
    if job.tasks == 0
        || job.tasks > layout::MOST_TASKS
        || decoded.task >= job.tasks
        || decoded.process >= job.tasks
    {
        return wrong(
            "the description in the spill file names a task or process that its job does \
                      not have"
                .into(),
        );
    }
    Ok((decoded, (layout::HEADER + length).next_multiple_of(layout::ALIGN)))
}

/// The region that begins here and its elements.
fn region(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let head = Head::from_bytes(bytes)?;
    let element = match head.tag {
        tag::ROW => layout::CELL,
        tag::COMMUNICATOR => 4,
        tag::COLLECTIVES => layout::ENTRY,
        _ => return None,
    };
    let length = usize::try_from(head.length).ok()?;
    let needed = usize::try_from(head.count).ok()?.checked_mul(element)?;
    let room = length.checked_sub(layout::HEAD)?;
    if length % layout::ALIGN != 0 || needed > room {
        return None;
    }
    let body = bytes.get(..length)?.get(layout::HEAD..layout::HEAD + needed)?;
    Some((head, body))
}

fn add_row(rows: &mut Rows, head: &Head, body: &[u8], tasks: u32) {
    let Some(row) = usize::try_from(head.number).ok().and_then(|kind| rows.get_mut(kind)) else {
        return;
    };
    // The last cell counts peers outside the job.
    for (task, cell) in (0..tasks).zip(body.chunks_exact(layout::CELL)) {
        let traffic = Traffic { bytes: u64_at(cell, 0), messages: u64_at(cell, 8) };
        if !traffic.is_zero() {
            row.entry(task).or_default().add(traffic);
        }
    }
}

/// A communicator. `None` if its numbers contradict each other or the job.
fn communicator<'b>(
    head: &Head,
    body: &'b [u8],
    about: &About,
    file: usize,
) -> Option<Communicator<'b>> {
    let [rank, local_size, size, flags] = head.shape;
    let identity = flags & layout::IDENTITY != 0;
    let inter = flags & layout::INTER != 0;
    let known = if identity {
        // A process with traffic has a row with a cell for each task, so the file is at least that long.
        size <= about.job.tasks && size as usize <= file / layout::CELL
    } else {
        u64::from(size) == head.count
    };
    let fits = known && rank < local_size && (inter || local_size == size);
    (fits && local_size <= layout::MOST_TASKS).then_some(Communicator {
        rank,
        local_size,
        size,
        inter,
        tasks: (!identity).then_some(body),
    })
}

/// Adds the messages of `calls` calls. `false` if the entry describes no possible call, or if one of its messages goes
/// to a rank whose task is not in the file.
fn expand(
    model: Model,
    communicator: &Communicator,
    entry: &Entry,
    calls: u64,
    about: &About,
    rows: &mut Rows,
) -> bool {
    let Some(&operation) = Operation::ALL.get(entry.operation as usize) else { return false };
    let special = entry.root >= layout::ROOT_OWN_GROUP;
    if operation.is_rooted()
        && (special && !communicator.inter || !special && entry.root >= communicator.size)
    {
        return false;
    }
    let call = Call {
        operation,
        size: communicator.local_size,
        rank: communicator.rank,
        root: entry.root,
        bytes: entry.bytes,
        element: entry.element,
        commutative: entry.flags & layout::COMMUTATIVE != 0,
        nonblocking: entry.flags & layout::NONBLOCKING != 0,
    };
    let mut complete = true;
    let row = &mut rows[Kind::Collective as usize];
    let mut visit = |rank: u32, bytes: u64, messages: u64| {
        let task = match communicator.tasks {
            _ if rank >= communicator.size => u32::MAX,
            None => rank,
            Some(tasks) => u32_at(tasks, 4 * rank as usize),
        };
        if task < about.job.tasks {
            row.entry(task).or_default().add(Traffic {
                bytes: bytes.saturating_mul(calls),
                messages: messages.saturating_mul(calls),
            });
        } else {
            // A peer outside the job is no gap.
            complete &= task == layout::NO_TASK;
        }
    };
    let own = entry.bytes;
    let equal = move |_| own;
    if communicator.inter {
        let root = match entry.root {
            _ if !operation.is_rooted() => InterRoot::None,
            layout::ROOT_MYSELF => InterRoot::Myself,
            layout::ROOT_OWN_GROUP => InterRoot::OwnGroup,
            rank => InterRoot::Remote(rank),
        };
        collectives::sends_inter(&call, root, communicator.size, &equal, &mut visit);
    } else {
        collectives::sends_blocks(model, &call, &equal, &mut visit);
    }
    complete
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
