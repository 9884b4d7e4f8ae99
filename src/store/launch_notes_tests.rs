use super::*;
use std::time::{Duration, SystemTime};

fn note(word: &str) -> LaunchNote {
    LaunchNote::of_this_process(&[word.to_string()])
}

/// A note of a launch whose launcher has ended.
fn ended(word: &str) -> LaunchNote {
    let mut note = note(word);
    note.process.started += 1;
    note
}

fn taken(store: &Store) -> Vec<String> {
    store.take_notes().into_iter().map(|note| note.command.concat()).collect()
}

fn files(store: &Store) -> usize {
    fs::read_dir(store.directory().join(FOLDER)).map_or(0, Iterator::count)
}

#[test]
fn a_launch_that_ended_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("not/there/yet"));
    assert!(store.take_notes().is_empty() && !store.directory().exists());
    store.leave_note(&LaunchNote { started_at: 8, ..ended("too old") }).unwrap();
    let later = LaunchNote { started_at: note("").started_at + 5, ..ended("second") };
    for note in [&later, &ended("first"), &note("runs")] {
        assert!(store.leave_note(note).unwrap().is_absolute());
    }
    assert_eq!(taken(&store), ["first", "second"]);
    assert!(taken(&store).is_empty());
    assert_eq!(files(&store), 1, "the launcher of this one runs");
}

#[test]
fn a_recorded_launch_is_not_mentioned() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    let path = store.leave_note(&ended("recorded")).unwrap();
    remove_note(&path);
    // Another job of the same launch.
    remove_note(&path);
    assert!(taken(&store).is_empty());
    let other = dir.path().join("precious");
    fs::write(&other, "x").unwrap();
    remove_note(&other);
    assert!(other.exists(), "only notes are removed");
}

#[test]
fn notes_of_other_hosts_count_after_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    let now = since_1970().as_secs();
    for (word, age) in [("old", LONG + 60), ("new", LONG - 60)] {
        let mut note = LaunchNote { started_at: now - age, ..note(word) };
        note.process.boot = "another host".into();
        store.leave_note(&note).unwrap();
    }
    assert_eq!(taken(&store), ["old"]);
    assert_eq!(files(&store), 1);
}

#[test]
fn there_are_never_many_notes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    for _ in 0..MOST {
        assert!(store.leave_note(&ended("one of many")).is_some());
    }
    assert_eq!(store.leave_note(&note("one too many")), None);
    assert_eq!(taken(&store).len(), MOST);
    assert!(store.leave_note(&note("the next")).is_some());
    assert_eq!(store.leave_note(&note(&"long".repeat(LARGEST as usize))), None);
}

#[test]
fn damaged_notes_are_passed_over_and_removed_when_they_are_old() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path());
    let path = store.leave_note(&ended("damaged")).unwrap();
    let good = fs::read(&path).unwrap();
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        assert!(taken(&store).is_empty(), "{length} bytes");
    }
    assert!(path.exists());
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 86_400);
    fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    assert!(taken(&store).is_empty() && !path.exists());
}

#[test]
fn a_store_that_cannot_be_written_has_no_notes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "no store").unwrap();
    let store = Store::open(&file);
    assert_eq!(store.leave_note(&note("app")), None);
    assert!(store.take_notes().is_empty());
}

#[test]
fn a_process_is_known_by_its_start() {
    let here = Process::this().unwrap();
    assert_eq!(here.state(Some(&here)), State::Running);
    assert_eq!(here.state(None), State::Unknown);
    let earlier = Process { started: here.started + 1, ..here.clone() };
    assert_eq!(earlier.state(Some(&here)), State::Ended);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let of_child = Process { pid: child.id(), ..here.clone() };
    child.wait().unwrap();
    assert_eq!(of_child.state(Some(&here)), State::Ended);
    assert_eq!(Process::default().state(Some(&here)), State::Unknown);
    assert_eq!(Process::default().state(Some(&Process::default())), State::Unknown);
}

/// The variable may have any value. A file that is no note of a store stays.
#[test]
fn only_files_with_names_of_notes_are_removed() {
    let folder = std::env::temp_dir().join(format!("rankweave-names-{}", unique_name()));
    let notes = folder.join(FOLDER);
    fs::create_dir_all(&notes).unwrap();
    let name = format!("{}{ENDING}", unique_name());
    let [note, robot, elsewhere] =
        [notes.join(&name), notes.join("robot.launch"), folder.join(&name)];
    for file in [&note, &robot, &elsewhere] {
        fs::write(file, "x").unwrap();
        remove_note(file);
    }
    assert_eq!([note.exists(), robot.exists(), elsewhere.exists()], [false, true, true]);
    remove_note(Path::new("launches/1-2-3.launch"));
    fs::remove_dir_all(&folder).unwrap();
}
