//! Lists of stores whose changes are marked, or are not.

use super::tests::{compared, index_file, large, put, settle};
use super::*;
use crate::matrix::{CommMatrix, SparseMatrix};
use crate::store::Record;
use crate::store::list_row::NewRow;

fn record(key: &str, recorded_at: u64) -> Record {
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
    Record { recorded_at, ..Record::of_matrix(key, matrix) }
}

/// Changes rows of the index.
fn change_rows(cache: &Path, is_one: impl Fn(&str) -> bool, change: impl Fn(usize, &mut NewRow)) {
    let mut index = Index::read(&index_file(cache));
    let rows: Vec<u32> = index.by_position();
    let of_stem = rows.into_iter().filter(|&row| is_one(index.row(row).stem()));
    let (changed, mut bytes): (Vec<u32>, _) = (of_stem.collect(), Vec::new());
    for (k, &row) in changed.iter().enumerate() {
        let old = index.row(row);
        let mut new = NewRow {
            stem: old.stem(),
            key: old.key(),
            program: old.program(),
            identity: old.identity(),
            tasks: old.tasks(),
            recorded_at: old.recorded_at(),
            position: 0,
        };
        change(k, &mut new);
        new.put(&mut bytes);
    }
    changed.iter().for_each(|&row| index.remove(row));
    index.add(bytes);
    let order = index.newest_first();
    assert!(index.keep(&index_file(cache), &order) > 0);
}

/// Changes what the index says of the number of a file.
fn renumber(cache: &Path, stem: &str, number: u64) {
    change_rows(cache, |name| name == stem, |_, row| row.identity.inode = number);
}

/// The number of the file of a record.
fn number(store: &Path, key: &str) -> u64 {
    identity(&fs::metadata(Store::open(store).path_of(key)).unwrap()).inode
}

/// A store with marks that has been listed, and was not changed since.
fn listed() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let (dir, store, cache) = large(FEWEST as u64);
    Store::open(&store).save(&record("marked", 1)).unwrap();
    settle(&store);
    assert_eq!(compared(&store, &cache).cost.asked, 0);
    (dir, store, cache)
}

#[test]
fn a_record_with_the_number_of_an_earlier_file_is_read_again() {
    let (_dir, store, cache) = listed();
    let before = number(&store, "app/7");
    for turn in 0..4 {
        // Twice, so that most file systems give the first number again.
        for half in 0..2 {
            Store::open(&store).save(&record("app/7", 2 * turn + half + 1000)).unwrap();
        }
        // Where they do not, the index is told that they did.
        if number(&store, "app/7") != before {
            renumber(&cache, "app%2F7", number(&store, "app/7"));
        }
        let listing = compared(&store, &cache);
        assert_eq!(listing.record(0).recorded_at, 2 * turn + 1001);
        assert!((1..20).contains(&listing.cost.asked), "{:?}", listing.cost);
        settle(&store);
        compared(&store, &cache);
    }
}

#[test]
fn after_a_change_few_files_are_asked() {
    let (_dir, store, cache) = listed();
    // Each way in which a record gets its place.
    let open = Store::open(&store);
    open.save(&record("app/3", 1000)).unwrap();
    open.save_soon(&record("app/4", 1001)).unwrap();
    open.save_soon(&record("new", 1002)).unwrap();
    open.save_unless(&record("app/5", 1003), |_| false).unwrap();
    open.remove("app/6").unwrap();
    settle(&store);
    let listing = compared(&store, &cache);
    assert_eq!((listing.len(), listing.record(0).recorded_at), (FEWEST + 1, 1003));
    assert!((3..30).contains(&listing.cost.asked), "{:?}", listing.cost);
    assert_eq!(listing.cost.opened, 4);
}

#[test]
fn without_marks_all_files_are_asked() {
    let (_dir, store, cache) = listed();
    let table = store.join(format!(".marks-{}", user()));
    let whole = FEWEST + 1;
    let asked = |what: &str| {
        put(&store, "app/9", 5000);
        settle(&store);
        // What changed shortly before is asked once more.
        let mut index = Index::read(&index_file(&cache));
        index.state.recent.clear();
        index.state.read_at += 1;
        index.keep(&index_file(&cache), &[]);
        let listing = compared(&store, &cache);
        assert_eq!(listing.record(0).recorded_at, 5000, "{what}");
        listing.cost.asked
    };
    assert!(asked("a change that was not marked shows by its number") < 4);
    let good = fs::read(&table).unwrap();
    fs::remove_file(&table).unwrap();
    assert_eq!(asked("no table"), whole);
    fs::write(&table, "other text").unwrap();
    assert_eq!(asked("no sound table"), whole);
    fs::write(&table, &good).unwrap();
    asked("it is there again");
    assert!(asked("and is used") < 4);
    let mut index = Index::read(&index_file(&cache));
    index.state.all_asked_at -= ALL_AGAIN;
    index.state.read_at += 1;
    index.keep(&index_file(&cache), &[]);
    assert_eq!(asked("an hour later"), whole);
    assert!(asked("not again") < 4);
}

/// A program that knows nothing of marks puts another file with the same number there. The list asks all files.
fn a_change_that_nothing_shows_is_found(store: &Path, cache: &Path) {
    put(store, "app/8", 7000);
    renumber(cache, "app%2F8", number(store, "app/8"));
    let listing = compared(store, cache);
    assert_eq!((listing.record(0).recorded_at, listing.cost.asked), (7000, FEWEST + 1));
}

#[test]
fn a_change_that_nothing_shows_makes_the_list_ask_all() {
    let (_dir, store, cache) = listed();
    let mut index = Index::read(&index_file(&cache));
    index.state.recent.clear();
    index.state.read_at += 1;
    index.keep(&index_file(&cache), &[]);
    a_change_that_nothing_shows_is_found(&store, &cache);
}

/// Records that were marked lately are asked, too. They are no reason for the change of the directory if they are the same.
#[test]
fn regression_a_change_that_nothing_shows_soon_after_a_mark() {
    let (_dir, store, cache) = listed();
    Store::open(&store).save(&record("app/3", 6000)).unwrap();
    settle(&store);
    assert!((1..30).contains(&compared(&store, &cache).cost.asked));
    a_change_that_nothing_shows_is_found(&store, &cache);
}

/// A file that cannot be read is found at each list. It is no reason for the change of the directory.
#[test]
fn regression_a_change_that_nothing_shows_beside_a_damaged_record() {
    let (_dir, store, cache) = listed();
    fs::write(store.join("damaged.rkw"), "no record").unwrap();
    settle(&store);
    compared(&store, &cache);
    a_change_that_nothing_shows_is_found(&store, &cache);
}

#[test]
fn a_second_user_is_found_and_counts() {
    let (_dir, store, cache) = listed();
    let table = |user: u32| store.join(format!(".marks-{user}"));
    fs::copy(table(user()), table(user() + 1)).unwrap();
    settle(&store);
    // The file is not of the user in its name: nothing is known.
    assert_eq!(compared(&store, &cache).cost.asked, FEWEST + 1);
    put(&store, "app/1", 10);
    settle(&store);
    assert_eq!(compared(&store, &cache).cost.asked, FEWEST + 1);
    // Only root can give a file away.
    if std::os::unix::fs::chown(table(user() + 1), Some(user() + 1), None).is_ok() {
        put(&store, "app/1", 11);
        settle(&store);
        compared(&store, &cache);
        put(&store, "app/1", 12);
        settle(&store);
        assert!(compared(&store, &cache).cost.asked < 10);
    }
}

/// Directories give names in any order. The index remembers it only to be quick.
#[test]
fn names_in_another_order_are_found() {
    let (_dir, store, cache) = listed();
    let numbers: Vec<u32> = (0..=FEWEST as u32).map(|k| k * 101 % 257).collect();
    change_rows(&cache, |_| true, |k, row| row.position = numbers[k]);
    put(&store, "app/2", 9000);
    settle(&store);
    let listing = compared(&store, &cache);
    assert_eq!(listing.cost.opened, 1);
    assert!(listing.cost.asked < 4 && listing.cost.written < 1000, "{:?}", listing.cost);
    // Once an hour, the index is written anew in the order of now.
    let mut index = Index::read(&index_file(&cache));
    index.state.all_asked_at -= ALL_AGAIN;
    index.state.read_at += 1;
    index.keep(&index_file(&cache), &[]);
    for (time, is_whole) in [(9001, true), (9002, false)] {
        put(&store, "app/2", time);
        settle(&store);
        let cost = compared(&store, &cache).cost;
        assert_eq!((cost.opened, cost.written > 10_000), (1, is_whole), "{cost:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Whatever is saved and removed: each list is that of a store without index.
    #[test]
    fn any_changes_are_seen(steps in proptest::collection::vec((0u8..6, 0u64..12), 1..40)) {
        let (_dir, store, cache) = listed();
        let open = Store::open(&store);
        for (turn, (what, k)) in steps.into_iter().enumerate() {
            let (key, time) = (format!("app/{k}"), 1000 + turn as u64);
            match what {
                0 => drop(open.save(&record(&key, time))),
                1 => drop(open.save_soon(&record(&key, time))),
                2 => drop(open.remove(&key)),
                3 => drop(fs::remove_file(open.path_of(&key))),
                4 => settle(&store),
                _ => drop(compared(&store, &cache)),
            }
        }
        compared(&store, &cache);
    }
}
