//! Tests of the store directory.

use super::*;
use crate::store::leftovers::STALE;
use crate::store::record::tests::sample;
use proptest::prelude::*;
use std::time::SystemTime;

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("deep/store"));
    (dir, store)
}

/// The files of a store but the marks.
fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(store.directory())
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with(".marks-"))
        .collect();
    names.sort();
    names
}

#[test]
fn saves_loads_and_leaves_nothing_else() {
    let (_dir, store) = store();
    assert_eq!(store.load("a").unwrap(), None);
    assert!(store.list().unwrap().is_empty());
    let mut record = sample("a", 4);
    let path = store.save(&record).unwrap();
    assert_eq!(store.load("a").unwrap().as_ref(), Some(&record));
    for save in [Store::save, Store::save_soon] {
        record.recorded_at += 1;
        assert_eq!(save(&store, &record).unwrap(), path);
        assert_eq!(store.load("a").unwrap().as_ref(), Some(&record));
    }
    assert_eq!(names(&store), ["a.rkw", "a.runs"]);
}

#[test]
fn default_directory() {
    let dir = |vars: &[(&str, &str)]| {
        Store::dir_from(|n| vars.iter().find(|v| v.0 == n).map(|v| PathBuf::from(v.1)))
    };
    let all = [("RANKWEAVE_STORE", "/s"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
    assert_eq!(dir(&all).unwrap(), Path::new("/s"));
    assert_eq!(dir(&all[1..]).unwrap(), Path::new("/x/rankweave"));
    assert_eq!(dir(&all[2..]).unwrap(), Path::new("/h/.local/share/rankweave"));
    assert_eq!(dir(&[("XDG_DATA_HOME", ""), ("HOME", "/h")]).unwrap().iter().count(), 5);
    assert!(dir(&[]).unwrap_err().to_string().contains("--store"));
}

#[test]
fn a_damaged_file_is_moved_aside_never_deleted() {
    let (_dir, store) = store();
    let path = store.save(&sample("a", 4)).unwrap();
    let whole = fs::read(&path).unwrap();
    for round in 0..2 {
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(store.load("a").unwrap_err().kind(), ErrorKind::Format);
        store.save(&sample("a", 4)).unwrap();
        assert!(store.load("a").unwrap().is_some());
        assert_eq!(names(&store).len(), 2 + round);
    }
    assert_eq!(names(&store), ["a.rkw", "a.rkw.corrupt", "a.rkw.corrupt.1"]);
    assert_eq!(fs::read(path.with_extension("rkw.corrupt")).unwrap(), whole[..whole.len() / 2]);
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn a_newer_file_is_left_alone() {
    let (_dir, store) = store();
    let path = store.save(&sample("a", 4)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 77;
    fs::write(&path, &bytes).unwrap();
    let error = store.save(&sample("a", 4)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerVersion);
    assert!(error.to_string().contains("not saved"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(names(&store), ["a.rkw"]);
}

#[test]
fn a_failed_save_keeps_the_old_record() {
    let (_dir, store) = store();
    store.save(&sample("a", 4)).unwrap();
    // A directory in the way of another record's file: neither readable as a record nor replaced.
    let blocked = store.path_of("b");
    fs::create_dir(&blocked).unwrap();
    fs::write(blocked.join("x"), "").unwrap();
    assert!(store.save(&sample("b", 4)).is_err());
    assert!(store.load("a").unwrap().is_some());
    assert_eq!(names(&store), ["a.rkw", "b.rkw"]);
    let file = store.directory().join("plain");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file).save(&sample("a", 2)).unwrap_err();
    assert!(error.to_string().contains("plain"), "{error}");
}

#[test]
fn two_jobs_at_once_leave_one_whole_record() {
    let (_dir, store) = store();
    std::thread::scope(|scope| {
        for job in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..10 {
                    let mut record = sample("a", 6);
                    record.recorded_at = job;
                    store.save(&record).unwrap();
                    let seen = store.load("a").unwrap().unwrap();
                    assert!(seen.recorded_at < 4);
                }
            });
        }
    });
    assert_eq!(names(&store), ["a.rkw"]);
}

#[test]
fn leftovers_of_long_ago_are_swept() {
    let (_dir, store) = store();
    store.save(&sample("a", 2)).unwrap();
    let fresh = store.directory().join(".a.rkw.1.tmp");
    let stale = store.directory().join(".a.rkw.2.tmp");
    for path in [&fresh, &stale] {
        fs::write(path, "part").unwrap();
    }
    let old = SystemTime::now() - 2 * STALE;
    File::options().write(true).open(&stale).unwrap().set_modified(old).unwrap();
    store.save(&sample("a", 2)).unwrap();
    assert_eq!(names(&store), [".a.rkw.1.tmp", "a.rkw"]);
}

#[test]
fn selectors() {
    let (dir, store) = store();
    assert_eq!(store.find(None).unwrap_err().kind(), ErrorKind::NotFound);
    for (key, at) in [("cg-1-n4", 5), ("cg-1-n8", 9), ("ft-1-n4", 7)] {
        let mut record = sample(key, 4);
        record.recorded_at = at;
        store.save(&record).unwrap();
    }
    let key = |s: Option<&str>| store.find(s).map(|r| r.key);
    assert_eq!(key(None).unwrap(), "cg-1-n8");
    assert_eq!(key(Some("")).unwrap(), "cg-1-n8");
    assert_eq!(key(Some("ft")).unwrap(), "ft-1-n4");
    assert_eq!(key(Some("cg-1-n4")).unwrap(), "cg-1-n4");
    let ambiguous = key(Some("cg")).unwrap_err();
    assert_eq!(ambiguous.kind(), ErrorKind::Usage);
    let text = ambiguous.to_string();
    assert!(text.contains("cg-1-n4") && text.contains("cg-1-n8") && !text.contains("ft"), "{text}");
    assert_eq!(key(Some("lu")).unwrap_err().kind(), ErrorKind::NotFound);
    let copy = dir.path().join("copy");
    fs::copy(store.path_of("ft-1-n4"), &copy).unwrap();
    assert_eq!(key(copy.to_str()).unwrap(), "ft-1-n4");
    assert!(key(Some("/no/such/file")).unwrap_err().to_string().contains("/no/such/file"));
}

#[test]
fn removes_only_what_is_in_the_store() {
    let (dir, store) = store();
    store.save(&sample("a", 2)).unwrap();
    let copy = dir.path().join("copy");
    fs::copy(store.path_of("a"), &copy).unwrap();
    assert!(store.remove(copy.to_str().unwrap()).is_err());
    assert!(copy.exists());
    assert!(store.remove("").is_err());
    store.remove("a").unwrap();
    assert_eq!(store.load("a").unwrap(), None);
}

#[test]
fn listing_shows_problems() {
    let (_dir, store) = store();
    store.save(&sample("good", 3)).unwrap();
    fs::write(store.path_of("bad"), "nonsense").unwrap();
    fs::write(store.directory().join("notes.txt"), "x").unwrap();
    let list = store.list().unwrap();
    let short: Vec<_> = list.iter().map(|e| (e.key.as_str(), e.tasks)).collect();
    assert_eq!(short, [("good", 3), ("bad", 0)]);
    assert!(list[1].problem.as_ref().unwrap().to_string().contains("bad.rkw"));
}

proptest! {
    #[test]
    fn file_names_stay_in_the_directory(key in any::<String>()) {
        let name = file_name(&key);
        prop_assert!(!name.contains('/') && !name.starts_with('.') && name.len() < 200);
        prop_assert!(name.is_ascii());
    }

    #[test]
    fn keys_have_files_of_their_own(a in "[./%~a-c]{0,5}", b in "[./%~a-c]{0,5}") {
        prop_assert_eq!(a == b, file_name(&a) == file_name(&b));
    }
}

#[test]
fn a_record_that_was_stored_during_a_save_stays() {
    let (_dir, store) = store();
    let (mut late, mut own) = (sample("a", 4), sample("a", 4));
    late.recorded_at = 1;
    own.recorded_at = 2;
    // Another one stores while this one is about to.
    let saved = store.save_unless(&late, |before| before.recorded_at > 1).unwrap();
    assert!(saved.is_some(), "nothing was there");
    let asked = std::cell::Cell::new(0);
    let saved = store
        .save_unless(&late, |before| {
            asked.set(asked.get() + 1);
            store.save(&own).unwrap();
            assert_eq!(before.recorded_at, 1);
            true
        })
        .unwrap();
    assert_eq!((saved, asked.get()), (None, 1));
    assert_eq!(store.load("a").unwrap().unwrap().recorded_at, 2);
    assert_eq!(names(&store), ["a.rkw"]);
}

#[test]
fn a_pipe_is_not_waited_for() {
    let (_dir, store) = store();
    store.save(&sample("a", 4)).unwrap();
    let pipe = store.path_of("p");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let entries = store.list().unwrap();
    let problem = entries[1].problem.as_ref().unwrap().to_string();
    assert!(problem.contains("not a regular file"), "{problem}");
    assert_eq!(store.load("p").unwrap_err().kind(), ErrorKind::Io);
    assert!(store.save(&sample("p", 4)).is_err());
    assert_eq!(names(&store), ["a.rkw", "p.rkw"]);
}
