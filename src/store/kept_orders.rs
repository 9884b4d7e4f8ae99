//! Rank orders of earlier launches. They are kept so that the next launch of the same kind need not search
//! again.
//!
//! A kept order answers one question: a matrix on certain places with certain options. The signatures of
//! the question are in the name of the file and in the file, so a launch with another matrix,
//! other places or other options does not find it. The files are in the folder `orders` of the store,
//! which listings of records do not read. They can be removed at any time. A file that is damaged, of a
//! newer version or not readable counts as absent.
//!
//! A launch whose question has another matrix can start from the newest order of its key for the same places and
//! options. A sketch of the traffic tells it how much has changed since the last search.
//!
//! Bounds: [`MOST_ORDERS`] files for each key, the newest; 4 bytes per task and up to 10 kB each.

use super::Store;
use super::leftovers::is_stale;
use super::others::check_folder;
use super::record_format::{open_sealed, read_sealed, seal};
use super::sharing::create_folder;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file::is_own;
use crate::base::permutation::is_permutation;
use crate::base::sorting::Arrange;
use crate::matrix::TrafficSketch;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// First bytes of a file.
const MAGIC: [u8; 8] = *b"RKORDER\n";
/// Version of the format that this crate writes.
const VERSION: u32 = 1;
/// Folder in the store.
pub(super) const FOLDER: &str = "orders";

/// The name without ending of the record to which the file of an order belongs: `STEM.NUMBER.order`.
pub(super) fn stem_of(name: &str) -> Option<&str> {
    name.strip_suffix(ENDING)?.rsplit_once('.').map(|(stem, _)| stem)
}

/// Ending of the files.
const ENDING: &str = ".order";
/// Orders that are kept of one key.
pub const MOST_ORDERS: usize = 8;
/// Largest file that is read: 64 million tasks.
const LARGEST: u64 = 512 << 20;

/// A kept order, with the question that it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOrder {
    /// Signature of the matrix.
    pub matrix: u64,
    /// Signature of the places of the processes.
    pub places: u64,
    /// Signature of the options that the answer depends on.
    pub options: u64,
    /// Number of tasks.
    pub tasks: u32,
    /// Process of each task; empty if every task stays on the process of its launcher rank.
    pub process_of_task: Vec<u32>,
    /// Hop-bytes of the launcher's order.
    pub cost_before: u128,
    /// Hop-bytes of this one.
    pub cost_after: u128,
    /// The reason for the order, in one sentence.
    pub reason: String,
    /// Milliseconds after which the search was stopped by its time limit; `None` if it came to its end.
    pub cut_after: Option<u64>,
    /// When it was found, seconds since 1970-01-01 UTC.
    pub found_at: u64,
    /// The traffic that was searched for. If the order was only adapted, this is the traffic of the search before.
    /// Stored behind the other fields, where older versions do not look.
    #[serde(skip)]
    pub searched: Option<TrafficSketch>,
}

impl KeptOrder {
    /// Whether it answers the same question as another.
    fn is_like(&self, other: &KeptOrder) -> bool {
        (self.matrix, self.places, self.options, self.tasks)
            == (other.matrix, other.places, other.options, other.tasks)
    }

    /// Whether it is a permutation of its tasks, or none.
    fn is_sound(&self) -> bool {
        self.process_of_task.is_empty()
            || self.process_of_task.len() == self.tasks as usize
                && is_permutation(&self.process_of_task)
    }

    /// The part of the file's name that stands for the question.
    fn name(&self) -> String {
        let number = self.matrix ^ self.places.rotate_left(21) ^ self.options.rotate_left(42);
        format!("{number:016x}{ENDING}")
    }
}

impl Store {
    /// The kept order for the same question as `question`, which has the signatures and the number of tasks. An
    /// order whose search was stopped counts only if it was stopped after at least `limit` milliseconds.
    ///
    /// Errors say why an existing file cannot be used. They are for messages only; callers treat them like
    /// `None`.
    pub fn order(&self, key: &str, question: &KeptOrder, limit: u64) -> Result<Option<KeptOrder>> {
        check_folder(&self.orders())?;
        let path = self.order_path(key, question);
        let bytes = match read_sealed(&path, MAGIC, LARGEST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| Error::io("cannot read the order", &path, &e))?,
        };
        let order = decode(&bytes).map_err(|e| e.at(path.display()))?;
        let cut = order.cut_after.is_some_and(|after| after < limit);
        Ok((order.is_like(question) && !cut).then_some(order))
    }

    /// The newest order for another matrix, but the same places, options and number of tasks as `question`, whose
    /// search came to its end and of which the traffic is known. What cannot be read does not count.
    pub fn earlier_order(&self, key: &str, question: &KeptOrder) -> Option<KeptOrder> {
        let folder = self.orders();
        check_folder(&folder).ok()?;
        let prefix = prefix(&self.path_of(key));
        let orders = fs::read_dir(&folder).ok()?.flatten().filter_map(|file| {
            let name = file.file_name();
            number_in(name.to_str()?, &prefix)?;
            let bytes = read_sealed(&file.path(), MAGIC, LARGEST).ok()?;
            let order = decode(&bytes).ok()?;
            let wanted = KeptOrder { matrix: order.matrix, ..question.clone() };
            let usable = order.is_like(&wanted) && order.cut_after.is_none();
            (usable && order.searched.is_some()).then_some(order)
        });
        orders.max_by_key(|order| (order.found_at, order.matrix))
    }

    /// Keeps an order, in place of one for the same question; removes the oldest of this key beyond
    /// [`MOST_ORDERS`]. Does not wait for the disk.
    ///
    /// Errors: I/O errors; a file of a newer version in place, which is not changed.
    pub fn keep_order(&self, key: &str, order: &KeptOrder) -> Result<PathBuf> {
        let path = self.order_path(key, order);
        let folder = self.orders();
        check_folder(&folder)?;
        create_folder(&folder)
            .map_err(|e| Error::io("cannot create the folder of orders", &folder, &e))?;
        if let Ok(bytes) = read_sealed(&path, MAGIC, LARGEST)
            && let Err(error) = decode(&bytes)
            && error.kind() == ErrorKind::NewerVersion
        {
            return Err(error.at(path.display()));
        }
        self.write(&path, &seal(MAGIC, VERSION, &encode(order)?), false, &|| false)?;
        self.remove_oldest(&prefix(&self.path_of(key)), MOST_ORDERS);
        Ok(path)
    }

    /// Removes all orders of the record at `path`.
    pub(super) fn forget_orders(&self, path: &Path) {
        self.remove_oldest(&prefix(path), 0);
    }

    fn orders(&self) -> PathBuf {
        self.directory().join(FOLDER)
    }

    fn order_path(&self, key: &str, question: &KeptOrder) -> PathBuf {
        self.orders().join(prefix(&self.path_of(key)) + &question.name())
    }

    /// Removes all but the newest `kept` files whose names are `prefix` and a number, and leftovers of
    /// saves that were interrupted long ago. What cannot be removed stays.
    fn remove_oldest(&self, prefix: &str, kept: usize) {
        let folder = self.orders();
        let files = check_folder(&folder).ok().and_then(|()| fs::read_dir(&folder).ok());
        let Some(files) = files else { return };
        let mut ours: Vec<(SystemTime, PathBuf)> = Vec::new();
        for file in files.flatten() {
            let name = file.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.starts_with('.')
                && name.ends_with(".tmp")
                && is_stale(&file)
                && is_own(&file.path())
            {
                let _ = fs::remove_file(file.path());
            }
            if number_in(name, prefix).is_some() {
                let changed = file.metadata().and_then(|m| m.modified());
                ours.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), file.path()));
            }
        }
        ours.arrange();
        let excess = ours.len().saturating_sub(kept);
        for (_, path) in &ours[..excess] {
            let _ = fs::remove_file(path);
        }
    }
}

/// What the names of the orders of a record's file begin with.
fn prefix(record: &Path) -> String {
    let stem = record.file_stem().unwrap_or_default();
    format!("{}.", stem.to_string_lossy())
}

/// The number in the name of a file, if it is the name of an order.
fn number_in<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let number = name.strip_prefix(prefix)?.strip_suffix(ENDING)?;
    (number.len() == 16 && number.bytes().all(|b| b.is_ascii_hexdigit())).then_some(number)
}

fn encode(order: &KeptOrder) -> Result<Vec<u8>> {
    let parts =
        [Some(postcard::to_allocvec(order)), order.searched.as_ref().map(postcard::to_allocvec)];
    let mut body = Vec::new();
    for part in parts.into_iter().flatten() {
        body.extend(
            part.map_err(|e| {
                Error::new(ErrorKind::Format, format!("cannot encode the order: {e}"))
            })?,
        );
    }
    Ok(body)
}

fn decode(bytes: &[u8]) -> Result<KeptOrder> {
    let (_, body) = open_sealed(bytes, MAGIC, VERSION, "order")?;
    let (mut order, rest): (KeptOrder, &[u8]) =
        postcard::take_from_bytes(body).map_err(|e| damaged(&format!("cannot be decoded: {e}")))?;
    // Without it, the order still answers its own question.
    order.searched = postcard::from_bytes(rest).ok();
    if order.is_sound() { Ok(order) } else { Err(damaged("is no permutation")) }
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Format, format!("the kept order {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Graph;
    use crate::store::record::tests::sample;

    fn order(matrix: u64) -> KeptOrder {
        KeptOrder {
            matrix,
            places: 5,
            options: 6,
            tasks: 4,
            process_of_task: vec![0, 2, 1, 3],
            cost_before: 9,
            cost_after: 3,
            reason: "predicted".into(),
            cut_after: None,
            found_at: 7,
            searched: None,
        }
    }

    #[test]
    fn found_again_by_the_same_question_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("s"));
        assert_eq!(store.order("k", &order(1), 0).unwrap(), None);
        store.keep_order("k", &order(1)).unwrap();
        let question = KeptOrder { process_of_task: vec![], reason: String::new(), ..order(1) };
        assert_eq!(store.order("k", &question, 0).unwrap(), Some(order(1)));
        assert_eq!(store.order("other", &question, 0).unwrap(), None);
        for other in [
            KeptOrder { matrix: 2, ..question.clone() },
            KeptOrder { places: 2, ..question.clone() },
            KeptOrder { options: 2, ..question.clone() },
            KeptOrder { tasks: 5, ..question.clone() },
        ] {
            assert_eq!(store.order("k", &other, 0).unwrap(), None);
        }
        // Different questions whose names happen to be the same.
        let alike = KeptOrder { matrix: 1 ^ 8, places: 5 ^ 8u64.rotate_right(21), ..question };
        assert_eq!(store.order_path("k", &alike), store.order_path("k", &order(1)));
        assert_eq!(store.order("k", &alike, 0).unwrap(), None);
    }

    #[test]
    fn an_earlier_order_has_other_traffic_only() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let sketch = |weight| TrafficSketch::new(&Graph::from_edges(4, &[(0, 1, weight)]));
        let at = |matrix, found_at| KeptOrder {
            searched: Some(sketch(u64::MAX - matrix)),
            found_at,
            ..order(matrix)
        };
        assert_eq!(store.earlier_order("k", &order(9)), None);
        store.keep_order("k", &order(1)).unwrap();
        assert_eq!(store.earlier_order("k", &order(9)), None, "without a sketch");
        for other in [
            KeptOrder { places: 2, ..at(2, 99) },
            KeptOrder { options: 2, ..at(3, 99) },
            KeptOrder { cut_after: Some(9), ..at(4, 99) },
            at(5, 8),
            at(6, 7),
        ] {
            store.keep_order("k", &other).unwrap();
        }
        assert_eq!(store.earlier_order("k", &order(9)), Some(at(5, 8)));
        assert_eq!(store.earlier_order("j", &order(9)), None);
        assert_eq!(store.order("k", &order(5), 0).unwrap(), Some(at(5, 8)));
    }

    /// A version that does not know the sketch reads the fields before it.
    #[test]
    fn the_sketch_is_behind_the_other_fields() {
        let sketch = TrafficSketch::new(&Graph::from_edges(4, &[(0, 1, 5)]));
        let with = KeptOrder { searched: Some(sketch), ..order(1) };
        let body = encode(&with).unwrap();
        assert_eq!(postcard::from_bytes::<KeptOrder>(&body).unwrap(), order(1));
        assert!(body.starts_with(&encode(&order(1)).unwrap()));
    }

    #[test]
    fn cut_searches_answer_no_longer_limits() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let cut = KeptOrder { cut_after: Some(500), ..order(1) };
        store.keep_order("k", &cut).unwrap();
        for (limit, used) in [(100, true), (500, true), (501, false)] {
            assert_eq!(store.order("k", &cut, limit).unwrap().is_some(), used, "{limit}");
        }
    }

    #[test]
    fn bounded_and_gone_with_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let record = sample("k", 4);
        store.save(&record).unwrap();
        store.keep_order("k.2", &order(0)).unwrap();
        for matrix in 0..20 {
            store.keep_order("k", &order(matrix)).unwrap();
            // Times of files may be coarse.
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let count = || fs::read_dir(dir.path().join("orders")).unwrap().count();
        assert_eq!(count(), MOST_ORDERS + 1);
        assert!(store.order("k", &order(19), 0).unwrap().is_some());
        assert!(store.order("k", &order(0), 0).unwrap().is_none());
        assert_eq!(store.list().unwrap().len(), 1, "orders are no records");
        store.remove("k").unwrap();
        assert_eq!(count(), 1, "those of another key stay");
        assert!(store.order("k.2", &order(0), 0).unwrap().is_some());
    }

    #[test]
    fn whatever_is_wrong_with_a_file_it_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path());
        let path = store.keep_order("k", &order(1)).unwrap();
        let good = fs::read(&path).unwrap();
        let mut flipped = good.clone();
        flipped[30] ^= 4;
        let mut twice = order(1);
        twice.process_of_task = vec![0, 2, 2, 3];
        let twice = seal(MAGIC, VERSION, &postcard::to_allocvec(&twice).unwrap());
        let mut long = good.clone();
        long.push(0);
        for bad in [&good[..0], &good[..20], &good[..good.len() - 1], &long, &flipped, &twice] {
            fs::write(&path, bad).unwrap();
            assert!(store.order("k", &order(1), 0).is_err());
            store.keep_order("k", &order(1)).unwrap();
            assert!(store.order("k", &order(1), 0).unwrap().is_some());
        }
        let mut newer = good;
        newer[8] = 99;
        fs::write(&path, &newer).unwrap();
        assert!(store.order("k", &order(1), 0).is_err());
        assert!(store.keep_order("k", &order(1)).is_err());
        assert_eq!(fs::read(&path).unwrap(), newer, "that of a newer version stays");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(store.order("k", &order(1), 0).is_err());
        assert!(store.keep_order("k", &order(1)).is_err());
    }
}
