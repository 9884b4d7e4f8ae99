use super::*;
use crate::matrix::{CommMatrix, SparseMatrix};
use crate::store::{Record, Store, encode};

fn put(directory: &Path, key: &str, recorded_at: u64) {
    let matrix = CommMatrix::from_point_to_point(SparseMatrix::from_entries(2, &[]));
    let record = Record { recorded_at, ..Record::of_matrix(key, matrix) };
    let path = Store::open(directory).path_of(key);
    let temporary = directory.join(".new");
    fs::write(&temporary, encode(&record).unwrap()).unwrap();
    fs::rename(temporary, path).unwrap();
}

fn keys(listing: &Listing) -> Vec<(String, u64)> {
    listing.entries.iter().map(|e| (e.key.clone(), e.recorded_at)).collect()
}

/// Makes the directory look as if it had not been changed for a while.
fn settle(directory: &Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(directory).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn a_kept_list_gives_what_reading_all_gives() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cache) = (dir.path().join("store"), dir.path().join("cache"));
    fs::create_dir(&store).unwrap();
    assert!(Listing::of(&dir.path().join("none"), Some(&cache)).unwrap().entries.is_empty());
    for k in 0..300 {
        put(&store, &format!("app/{k}"), k);
    }
    let compare = || {
        let listing = Listing::of(&store, Some(&cache)).unwrap();
        let anew = Listing::of(&store, None).unwrap();
        assert_eq!(keys(&listing), keys(&anew));
        listing
    };
    assert_eq!(compare().entries.len(), 300);
    let kept = || fs::read_dir(&cache).unwrap().flatten().next().unwrap().path();
    put(&store, "app/7", 1000);
    put(&store, "new", 5);
    fs::remove_file(Store::open(&store).path_of("app/9")).unwrap();
    let listing = compare();
    assert_eq!((listing.entries.len(), listing.entries[0].key.as_str()), (300, "app/7"));
    // Nothing has changed: the kept list is the answer, and no record is opened.
    settle(&store);
    compare();
    let hidden = dir.path().join("hidden");
    fs::rename(&store, &hidden).unwrap();
    fs::create_dir(&store).unwrap();
    let read = |file: &Path| read_kept(file).unwrap();
    let mut other = read(&kept());
    other.directory = identity(&fs::metadata(&store).unwrap());
    other.read_at += 100;
    keep(&kept(), &other);
    assert_eq!(Listing::of(&store, Some(&cache)).unwrap().entries.len(), 300);
    // A directory that changed just before it was read is read again.
    other.read_at = other.directory.changed.0 as u64 + 1;
    keep(&kept(), &other);
    assert_eq!(Listing::of(&store, Some(&cache)).unwrap().entries.len(), 0);
}

#[test]
fn a_damaged_list_counts_as_absent() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cache) = (dir.path().join("store"), dir.path().join("cache"));
    fs::create_dir(&store).unwrap();
    for k in 0..FEWEST as u64 {
        put(&store, &format!("app{k}"), k);
    }
    settle(&store);
    Listing::of(&store, Some(&cache)).unwrap();
    let file = fs::read_dir(&cache).unwrap().flatten().next().unwrap().path();
    let good = fs::read(&file).unwrap();
    for at in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&file, &bad).unwrap();
        assert_eq!(Listing::of(&store, Some(&cache)).unwrap().entries.len(), FEWEST, "byte {at}");
    }
}

#[test]
fn unreadable_files_are_last_and_read_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let (store, cache) = (dir.path().join("store"), dir.path().join("cache"));
    fs::create_dir(&store).unwrap();
    for k in 0..FEWEST as u64 {
        put(&store, &format!("app{k}"), k);
    }
    fs::write(store.join("bad.rkw"), b"RKWEAVE\n").unwrap();
    settle(&store);
    for _ in 0..2 {
        let listing = Listing::of(&store, Some(&cache)).unwrap();
        assert_eq!(listing.entries.len(), FEWEST + 1);
        assert!(listing.entries.last().unwrap().problem.is_some());
    }
    // Without another change of the directory, because the file itself was changed.
    let good = fs::read(Store::open(&store).path_of("app0")).unwrap();
    fs::write(store.join("bad.rkw"), good).unwrap();
    let listing = Listing::of(&store, Some(&cache)).unwrap();
    assert!(listing.entries.iter().all(|entry| entry.problem.is_none()));
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
