use super::*;
use std::os::unix::fs::symlink;

fn table(folder: &Path) -> PathBuf {
    table_of(folder, user())
}

fn read(folder: &Path) -> Marks {
    Marks::read(folder, &[user()])
}

/// Marks a name, and returns the slots that are different then.
fn marked(folder: &Path, name: &str) -> Vec<u16> {
    let before = read(folder);
    mark(&folder.join(name));
    read(folder).differences(&before)
}

#[test]
fn a_mark_changes_the_slot_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!read(dir.path()).are_known, "no table");
    for name in ["a.rkw", "b.rkw", "a.rkw", "a.rkw"] {
        let stem = name.strip_suffix(".rkw").unwrap();
        assert_eq!(marked(dir.path(), name), [slot_of(stem.as_bytes()) as u16]);
        assert!(read(dir.path()).are_known);
    }
    assert_eq!(slot_of(b"app-00000001-n64"), 3694, "part of the format");
    // It is bounded, whatever is marked.
    (0..5000).for_each(|k| mark(&dir.path().join(format!("{k}.rkw"))));
    assert!(fs::metadata(table(dir.path())).unwrap().len() <= (MAGIC.len() + 8 * SLOTS) as u64);
}

#[test]
fn names_of_tables_are_those_of_users() {
    assert_eq!(user_of(".marks-1000"), Some(1000));
    for name in [".marks-", ".marks-01", ".marks-+1", ".marks-x", "marks-1", ".marks-99999999999"] {
        assert_eq!(user_of(name), None, "{name}");
    }
}

/// Marks of several writers at the same time are all seen.
#[test]
fn writers_at_the_same_time_lose_no_mark() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..400).map(|k| format!("app-{k}.rkw")).collect();
    let before = read(dir.path());
    std::thread::scope(|scope| {
        for part in names.chunks(100) {
            scope.spawn(|| part.iter().for_each(|name| mark(&dir.path().join(name))));
        }
    });
    let mut wanted: Vec<u16> = names
        .iter()
        .map(|name| slot_of(name.strip_suffix(".rkw").unwrap().as_bytes()) as u16)
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    assert_eq!(read(dir.path()).differences(&before), wanted);
}

#[test]
fn nothing_else_is_written_in_place_of_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let (own, path) = (dir.path().join("own"), table(dir.path()));
    // A file of this user that has another content stays as it is, also by another name.
    fs::write(&own, "my own text").unwrap();
    fs::hard_link(&own, &path).unwrap();
    mark(&dir.path().join("a.rkw"));
    assert!(!read(dir.path()).are_known);
    fs::remove_file(&path).unwrap();
    fs::write(&path, "other text").unwrap();
    mark(&dir.path().join("a.rkw"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "other text");
    assert!(!read(dir.path()).are_known);
    fs::remove_file(&path).unwrap();
    // A link makes way.
    symlink(&own, &path).unwrap();
    assert!(!read(dir.path()).are_known);
    mark(&dir.path().join("a.rkw"));
    assert!(read(dir.path()).are_known);
    assert_eq!(fs::read_to_string(&own).unwrap(), "my own text");
    // A writer was killed before it had written the first bytes.
    fs::write(&path, "").unwrap();
    assert!(!read(dir.path()).are_known);
    mark(&dir.path().join("a.rkw"));
    assert!(read(dir.path()).are_known);
}

#[test]
fn a_table_of_another_user_makes_way() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    mark(&dir.path().join("a.rkw"));
    // Only root can give a file away.
    if std::os::unix::fs::chown(&path, Some(user() + 1), None).is_ok() {
        assert!(!read(dir.path()).are_known);
        assert_eq!(marked(dir.path(), "a.rkw"), [slot_of(b"a") as u16]);
        assert!(read(dir.path()).are_known);
        assert_eq!(fs::metadata(&path).unwrap().uid(), user());
    }
}

#[test]
fn the_tables_of_all_users_count() {
    let dir = tempfile::tempdir().unwrap();
    mark(&dir.path().join("a.rkw"));
    let (one, other) = (read(dir.path()), table_of(dir.path(), user() + 1));
    fs::copy(table(dir.path()), &other).unwrap();
    let both = || Marks::read(dir.path(), &[user(), user() + 1]);
    assert!(!both().are_known, "the file is not of the user in its name");
    if std::os::unix::fs::chown(&other, Some(user() + 1), None).is_ok() {
        assert!(both().are_known);
        assert_eq!(both().differences(&one), [slot_of(b"a") as u16]);
    }
}
