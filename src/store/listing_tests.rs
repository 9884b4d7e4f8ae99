use super::*;
use crate::matrix::{CommMatrix, SparseMatrix};
use crate::store::{Record, Store, encode};

pub(super) fn put(directory: &Path, key: &str, recorded_at: u64) {
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
    let record = Record { recorded_at, ..Record::of_matrix(key, matrix) };
    let path = Store::open(directory).path_of(key);
    let temporary = directory.join(".new");
    fs::write(&temporary, encode(&record).unwrap()).unwrap();
    fs::rename(temporary, path).unwrap();
}

fn keys(listing: &Listing) -> Vec<(String, u64)> {
    listing.records().map(|r| (r.key.to_string(), r.recorded_at)).collect()
}

/// Makes the directory look as if it had not been changed for a while.
pub(super) fn settle(directory: &Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(directory).unwrap().set_modified(long_ago).unwrap();
}

/// A store with so many records that it has an index, and the folder of the index.
pub(super) fn large(records: u64) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (store, cache) = (dir.path().join("store"), dir.path().join("cache"));
    fs::create_dir(&store).unwrap();
    for k in 0..records {
        put(&store, &format!("app/{k}"), k);
    }
    settle(&store);
    (dir, store, cache)
}

/// The listing with the index, which has to be the one that reading all records gives.
pub(super) fn compared(store: &Path, cache: &Path) -> Listing {
    let listing = Listing::of(store, Some(cache)).unwrap();
    assert_eq!(keys(&listing), keys(&Listing::of(store, None).unwrap()));
    listing
}

pub(super) fn index_file(cache: &Path) -> PathBuf {
    let mut files = fs::read_dir(cache).unwrap().flatten();
    let file = files.next().unwrap().path();
    assert!(files.next().is_none(), "nothing is left beside the index");
    file
}

#[test]
fn an_index_gives_what_reading_all_gives() {
    let (dir, store, cache) = large(300);
    assert!(Listing::of(&dir.path().join("none"), Some(&cache)).unwrap().is_empty());
    assert_eq!(compared(&store, &cache).len(), 300);
    put(&store, "app/7", 1000);
    put(&store, "new", 5);
    fs::remove_file(Store::open(&store).path_of("app/9")).unwrap();
    let listing = compared(&store, &cache);
    assert_eq!((listing.len(), listing.record(0).key), (300, "app/7"));
    // A file that was removed and is there again.
    put(&store, "app/9", 9);
    assert_eq!(compared(&store, &cache).len(), 301);
    fs::remove_file(Store::open(&store).path_of("app/9")).unwrap();
    assert_eq!(compared(&store, &cache).len(), 300);
    // Nothing has changed: the index is the answer, and no name is read.
    settle(&store);
    compared(&store, &cache);
    let hidden = dir.path().join("hidden");
    fs::rename(&store, &hidden).unwrap();
    fs::create_dir(&store).unwrap();
    let mut index = Index::read(&index_file(&cache));
    index.state.directory = identity(&fs::metadata(&store).unwrap());
    index.state.read_at += 100;
    assert!(index.keep(&index_file(&cache), &[]) > 0);
    assert_eq!(Listing::of(&store, Some(&cache)).unwrap().len(), 300);
    // A directory that changed just before it was read is read again.
    let mut index = Index::read(&index_file(&cache));
    index.state.read_at = index.state.directory.changed.0 as u64 + 1;
    assert!(index.keep(&index_file(&cache), &[]) > 0);
    assert_eq!(Listing::of(&store, Some(&cache)).unwrap().len(), 0);
}

#[test]
fn one_change_opens_one_file_and_adds_a_few_bytes() {
    let (_dir, store, cache) = large(2000);
    let first = Listing::of(&store, Some(&cache)).unwrap().cost;
    let whole = fs::metadata(index_file(&cache)).unwrap().len() as usize;
    assert_eq!(first, Cost { names: true, asked: 0, opened: 2000, written: whole });
    assert_eq!(compared(&store, &cache).cost, Cost::default());
    for turn in 0..3 {
        put(&store, "app/7", 5000 + turn);
        settle(&store);
        let cost = compared(&store, &cache).cost;
        assert_eq!((cost.names, cost.opened), (true, 1));
        assert!((1..400).contains(&cost.written), "{cost:?}");
        assert_eq!(compared(&store, &cache).cost, Cost::default());
    }
    // What else changes in the directory opens nothing.
    fs::write(store.join("other"), "x").unwrap();
    settle(&store);
    let cost = compared(&store, &cache).cost;
    assert_eq!((cost.opened, cost.written < 200), (0, true));
}

#[test]
fn an_index_with_many_changes_is_written_anew() {
    let (_dir, store, cache) = large(1000);
    let whole = Listing::of(&store, Some(&cache)).unwrap().cost.written;
    let mut longest = 0;
    let mut anew = 0;
    for turn in 0..60 {
        for k in 0..50 {
            put(&store, &format!("app/{}", (turn * 17 + k) % 1000), 2000 + turn);
        }
        let cost = compared(&store, &cache).cost;
        anew += usize::from(cost.written > whole / 2);
        longest = longest.max(fs::metadata(index_file(&cache)).unwrap().len() as usize);
    }
    assert!((1..20).contains(&anew), "{anew} times");
    assert!(longest < 5 * whole / 2, "{longest} of {whole} bytes");
}

#[test]
fn a_damaged_index_is_used_as_far_as_it_is_sound() {
    let (_dir, store, cache) = large(FEWEST as u64);
    compared(&store, &cache);
    put(&store, "late", 7);
    settle(&store);
    compared(&store, &cache);
    let file = index_file(&cache);
    let good = fs::read(&file).unwrap();
    let check = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        assert_eq!(Listing::of(&store, Some(&cache)).unwrap().len(), FEWEST + 1, "{what}");
        assert_eq!(Listing::of(&store, Some(&cache)).unwrap().cost, Cost::default(), "{what}");
    };
    for at in (0..good.len()).step_by(89).chain(good.len() - 300..good.len()) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        check(&bad, &format!("byte {at}"));
    }
    for length in (0..good.len()).step_by(997).chain(good.len() - 300..good.len()) {
        check(&good[..length], &format!("{length} bytes"));
    }
    check(&[&good[..], b"RKADDED\n and more"].concat(), "more");
    // The part of another process, which did not know the last one.
    let changed = |file: &Path| {
        let mut index = Index::read(file);
        index.state.read_at += 1;
        index
    };
    fs::write(&file, &good).unwrap();
    let (mut one, mut other) = (changed(&file), changed(&file));
    other.remove(5);
    assert!(one.keep(&file, &[]) > 0 && other.keep(&file, &[]) > 0);
    assert_eq!(Index::read(&file).newest_first().len(), FEWEST + 1, "the second part is ignored");
    compared(&store, &cache);
}

#[test]
fn listings_at_the_same_time_do_not_spoil_the_index() {
    let (_dir, store, cache) = large(300);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (store, cache) = (&store, &cache);
            scope.spawn(move || {
                for turn in 0..20 {
                    let key = format!("t{thread}/{}", turn % 7);
                    let path = store.join(crate::store::file_name::file_name(&key));
                    match turn % 3 {
                        2 => drop(fs::remove_file(path)),
                        _ => {
                            fs::copy(Store::open(store).path_of("app/1"), path).unwrap();
                        }
                    }
                    assert!(Listing::of(store, Some(cache)).unwrap().len() >= 300);
                }
            });
        }
    });
    for _ in 0..2 {
        compared(&store, &cache);
        settle(&store);
    }
    assert_eq!(compared(&store, &cache).cost.opened, 0);
}

#[test]
fn rows_are_sorted_by_time_and_by_position() {
    let mut index = Index::default();
    let mut rows = Vec::new();
    for k in 0..1000u64 {
        let stem = format!("s{}", k * 7919 % 1000);
        let identity = crate::base::file::FileIdentity::default();
        let row = crate::store::list_row::NewRow {
            stem: &stem,
            key: &stem,
            program: "p",
            identity,
            tasks: k,
            recorded_at: k / 10,
            position: (k * 7 % 1000) as u32,
        };
        row.put(&mut rows);
    }
    index.add(rows);
    index.remove(3);
    let order = index.newest_first();
    let order: Vec<_> = order.iter().map(|&row| index.row(row)).collect();
    assert!(
        order.is_sorted_by(|a, b| { (b.recorded_at(), a.stem()) <= (a.recorded_at(), b.stem()) })
    );
    let order = index.by_position();
    assert_eq!(order.len(), 999);
    assert!(order.is_sorted_by_key(|row| row * 7 % 1000));
}

#[test]
fn a_store_that_cannot_have_an_index_is_listed() {
    let (dir, store, _) = large(FEWEST as u64);
    let file = dir.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let listing = compared(&store, &file);
    assert_eq!((listing.len(), listing.cost.written), (FEWEST, 0));
}

#[test]
fn unreadable_files_are_last_and_read_each_time() {
    let (_dir, store, cache) = large(FEWEST as u64);
    fs::write(store.join("bad.rkw"), b"RKWEAVE\n").unwrap();
    settle(&store);
    for turn in 0..2 {
        let listing = Listing::of(&store, Some(&cache)).unwrap();
        assert_eq!(listing.len(), FEWEST + 1);
        assert!(listing.record(FEWEST).problem.is_some());
        if turn > 0 {
            assert_eq!(listing.cost, Cost { opened: 1, ..Cost::default() });
        }
    }
    // Without another change of the directory, because the file itself was changed.
    let good = fs::read(Store::open(&store).path_of("app/0")).unwrap();
    fs::write(store.join("bad.rkw"), good).unwrap();
    let listing = Listing::of(&store, Some(&cache)).unwrap();
    assert_eq!(listing.len(), FEWEST + 1);
    assert!(listing.records().all(|record| record.problem.is_none()));
    compared(&store, &cache);
}

/// The reader of many heads says the same of odd files as the reader of one.
#[test]
fn odd_files_are_listed_as_others_read_them() {
    use crate::matrix::{CommMatrix, SparseMatrix};
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    put(dir.path(), "plain", 1);
    std::os::unix::fs::symlink(store.path_of("plain"), dir.path().join("link.rkw")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("dangling.rkw")).unwrap();
    fs::create_dir(dir.path().join("folder.rkw")).unwrap();
    fs::write(dir.path().join("empty.rkw"), "").unwrap();
    fs::write(dir.path().join(".hidden.rkw"), "").unwrap();
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
    let long = Record { command: vec!["x".repeat(40_000)], ..Record::of_matrix("long", matrix) };
    store.save(&long).unwrap();
    let few = {
        let mut few = store.few().unwrap();
        few.sort_by(|a, b| a.path.cmp(&b.path));
        few
    };
    let mut all =
        Listing::of(dir.path(), None).unwrap().records().map(|r| r.entry()).collect::<Vec<_>>();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(all, few);
    assert_eq!(all.len(), 6);
}

#[test]
fn programs_with_verdicts_are_known() {
    use crate::store::Verdict;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    let verdict = Verdict {
        program: "/opt/app".into(),
        launch: Vec::new(),
        tasks: 4,
        checked_at: 1,
        seeds: Vec::new(),
        finding: crate::store::Finding::Safe,
        reason: String::new(),
        compared: None,
    };
    store.keep_verdict("app-0badcafe", &verdict).unwrap();
    let listing = store.listing().unwrap();
    assert!(store.may_have_verdicts(&listing, "app-0badcafe"));
    assert!(!store.may_have_verdicts(&listing, "app-0badcaff"));
}

#[test]
fn a_copied_record_is_listed_by_the_name_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    put(dir.path(), "app:1", 7);
    fs::copy(store.path_of("app:1"), dir.path().join("copy.rkw")).unwrap();
    let mut listed = keys(&Listing::of(dir.path(), None).unwrap());
    listed.sort();
    assert_eq!(listed, [("app:1".to_string(), 7), ("copy".to_string(), 7)]);
    for (key, _) in listed {
        assert_eq!(store.find(Some(&key)).unwrap().recorded_at, 7);
    }
}
