//! Tests of the place where records wait.

use super::*;
use crate::store::record::tests::sample;
use std::os::unix::fs::PermissionsExt;

fn user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

fn record(key: &str, recorded_at: u64) -> Record {
    Record { recorded_at, ..sample(key, 2) }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A directory that others cannot write to, whatever the umask; the place in it; a store.
fn place() -> (tempfile::TempDir, RefusedRecords, Store) {
    let dir = tempfile::tempdir().unwrap();
    mode(dir.path(), 0o755);
    let place = RefusedRecords::of(dir.path(), user());
    (dir, place, Store::open("/nowhere/store"))
}

/// Keys and times of the records that wait. There must be no errors.
fn seen(place: &RefusedRecords) -> Vec<(String, u64)> {
    let (held, errors) = place.list();
    assert_eq!(errors, []);
    held.into_iter().map(|h| (h.entry.key, h.entry.recorded_at)).collect()
}

#[test]
fn one_record_for_each_key_waits_the_oldest_first() {
    let (dir, place, store) = place();
    assert_eq!(seen(&place), []);
    for (key, time) in [("a", 1), ("a", 4), ("b", 3)] {
        place.keep(&record(key, time), &store).unwrap();
    }
    assert_eq!(seen(&place), [("b".into(), 3), ("a".into(), 4)]);
    let (held, _) = place.list();
    for directory in [place.directory.as_path(), held[0].folder()] {
        assert_eq!(fs::metadata(directory).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert_eq!(held[0].read().unwrap().0, record("b", 3));
    let inside = |path: &Path| held[0].waits_in(&Store::open(path));
    assert!(inside(&place.directory) && inside(held[1].folder()) && !inside(dir.path()));
    held.iter().for_each(|held| assert!(held.remove(None).unwrap()));
    assert!(!place.directory.exists());
}

#[test]
fn records_of_several_places_are_put_in_order() {
    let places = [place(), place()];
    let times = [[5, 9], [2, 7]];
    let mut all = Vec::new();
    for ((_dir, place, store), times) in places.iter().zip(times) {
        for time in times {
            place.keep(&record(&format!("k{time}"), time), store).unwrap();
        }
        all.extend(place.list().0);
    }
    in_order(&mut all);
    assert_eq!(all.iter().map(|h| h.entry.recorded_at).collect::<Vec<_>>(), [2, 5, 7, 9]);
    // Of the same second, the one that was kept later comes later.
    all.iter_mut().for_each(|h| h.entry.recorded_at = 1);
    in_order(&mut all);
    assert!(all.is_sorted_by_key(|h| h.kept_at));
}

#[test]
fn each_store_has_its_own() {
    use std::os::unix::ffi::OsStrExt;
    let (_dir, place, _) = place();
    let odd = std::ffi::OsStr::from_bytes(b"/s/\xff\n");
    let stores = [Store::open("/s/one"), Store::open("/s/two"), Store::open(Path::new(odd))];
    for (time, store) in stores.iter().enumerate() {
        place.keep(&record("a", time as u64), store).unwrap();
    }
    let (held, _) = place.list();
    let named: Vec<_> = held.iter().map(|h| h.store().unwrap()).collect();
    assert_eq!(named, stores);
    assert_eq!(name_of(Path::new("/s/one")), *"10e66c3e84366cd4");
    // A relative one is named by its whole path.
    place.keep(&record("b", 9), &Store::open("here")).unwrap();
    let whole = std::env::current_dir().unwrap().join("here");
    assert_eq!(place.list().0.pop().unwrap().store().unwrap(), Store::open(whole));
    for spoilt in [Some("/s/three"), Some(""), None] {
        let path = held[0].folder().join(STORE);
        match spoilt {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        assert!(held[0].store().unwrap_err().to_string().contains("--store"), "{spoilt:?}");
    }
}

#[test]
fn a_record_that_a_launch_keeps_during_a_removal_stays() {
    let (_dir, place, store) = place();
    place.keep(&record("a", 1), &store).unwrap();
    let held = place.list().0.pop().unwrap();
    let (_, file) = held.read().unwrap();
    place.keep(&record("a", 2), &store).unwrap();
    assert!(!held.remove(Some(&file)).unwrap() && !held.remove(None).unwrap());
    assert_eq!(seen(&place), [("a".into(), 2)]);
    let held = place.list().0.pop().unwrap();
    let (_, file) = held.read().unwrap();
    assert!(held.remove(Some(&file)).unwrap() && !place.directory.exists());
    // Somebody else was faster.
    assert!(held.remove(Some(&file)).unwrap());
}

#[test]
fn a_place_that_others_can_write_to_is_not_used() {
    let (dir, place, store) = place();
    place.keep(&record("a", 1), &store).unwrap();
    for open in [0o777, 0o720] {
        mode(&place.directory, open);
        assert!(place.keep(&record("a", 2), &store).is_err());
        let (held, errors) = place.list();
        assert!(held.is_empty(), "what others may have put there");
        let said = errors[0].to_string();
        assert!(errors.len() == 1 && said.contains("try: run 'chmod go-w /"), "{said}");
    }
    mode(&place.directory, 0o700);
    assert_eq!(seen(&place), [("a".into(), 1)]);
    let other = RefusedRecords { user: user() + 1, ..place.clone() };
    let refused = other.keep(&record("a", 2), &store).unwrap_err().to_string();
    assert!(refused.contains("another user") && seen(&other).is_empty(), "{refused}");
    let link = dir.path().join("link");
    fs::create_dir(&link).unwrap();
    mode(&link, 0o755);
    let linked = RefusedRecords::of(&link, user());
    std::os::unix::fs::symlink(dir.path(), &linked.directory).unwrap();
    assert!(linked.keep(&record("a", 2), &store).is_err() && linked.list().1.len() == 1);
    assert!(RefusedRecords::of(Path::new("/proc"), user()).keep(&record("a", 2), &store).is_err());
}

#[test]
fn a_place_that_others_can_replace_is_not_used() {
    let (dir, place, store) = place();
    for (around, used) in [(0o777, false), (0o775, false), (0o1777, true), (0o755, true)] {
        mode(dir.path(), around);
        let kept = place.keep(&record("a", 1), &store);
        assert_eq!(kept.is_ok(), used, "{around:o}: {kept:?}");
        assert_eq!(place.list().0.len(), usize::from(used));
    }
    mode(dir.path(), 0o777);
    let (held, errors) = place.list();
    assert!(held.is_empty() && errors[0].to_string().contains("sticky bit"), "{errors:?}");
    mode(dir.path(), 0o755);
}

#[test]
fn too_little_space_leaves_nothing() {
    let (_dir, place, store) = place();
    let too_little = |key: &str| {
        let error = place.keep_in(&record(key, 1), &store, |_| 256 * 10).unwrap_err();
        assert!(error.to_string().contains("too little space"), "{error}");
    };
    too_little("a");
    assert!(!place.directory.exists());
    // Also what a launch before has left.
    fs::DirBuilder::new().mode(0o700).create(&place.directory).unwrap();
    too_little("a");
    assert!(!place.directory.exists());
    // A record that waits already stays.
    place.keep(&record("a", 1), &store).unwrap();
    too_little("b");
    assert_eq!(seen(&place), [("a".into(), 1)]);
    assert!(place.list().0[0].store().is_ok());
}

#[test]
fn a_pipe_or_damage_is_a_problem_with_advice() {
    let (_dir, place, store) = place();
    let path = place.keep(&record("a", 1), &store).unwrap();
    let pipe = CString::new(path.with_file_name("pipe.rkw").as_os_str().as_bytes()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let (held, errors) = place.list();
    assert!(errors.is_empty() && held.iter().all(|h| h.entry.problem.is_some()));
    let mut said: Vec<_> = held.iter().map(|h| h.read().unwrap_err().to_string()).collect();
    said.sort();
    assert!(said[0].contains("cut short") && said[0].contains("recover --discard"), "{said:?}");
    assert!(said[1].contains("not a regular file"), "{said:?}");
    held.iter().for_each(|held| assert!(held.remove(None).unwrap()));
    assert!(!place.directory.exists());
}
