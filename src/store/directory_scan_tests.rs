//! Directories that give names in the orders of several file systems. Counted is how many names are searched for.

use super::*;
use crate::store::list_row::NewRow;
use proptest::prelude::*;
use std::path::PathBuf;

/// Records of a directory at the beginning.
const MANY: usize = 2000;

/// A directory without files, whose index is kept in a file.
struct Model {
    dir: tempfile::TempDir,
    /// The names without ending and the numbers of the files, in the order in which the directory gives them.
    names: Vec<(String, u64)>,
    /// How many files were made.
    made: u64,
}

/// What a list had to do.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    /// The names that were read anew, ascending.
    fresh: Vec<String>,
    elsewhere: usize,
    has_table: bool,
}

impl Model {
    fn new(count: usize) -> Model {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model { dir, names: Vec::new(), made: 0 };
        (0..count).for_each(|k| model.put(k, &format!("n{k}")));
        assert_eq!(model.list().fresh.len(), count);
        model
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// Gives another file this name, which then stands at this place.
    fn put(&mut self, place: usize, name: &str) {
        self.names.retain(|(other, _)| other != name);
        self.made += 1;
        self.names.insert(place.min(self.names.len()), (name.to_string(), self.made));
    }

    /// The entries as the system gives them.
    fn entries(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, number) in &self.names {
            let length = (BEFORE_NAME + name.len() + ENDING.len() + 1).next_multiple_of(8);
            let begin = bytes.len();
            bytes.extend_from_slice(&number.to_ne_bytes());
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&(length as u16).to_ne_bytes());
            bytes.push(libc::DT_REG);
            bytes.extend_from_slice(format!("{name}{ENDING}").as_bytes());
            bytes.resize(begin + length, 0);
        }
        bytes
    }

    /// Does what a list does, and compares the index with the directory.
    fn list(&self) -> Work {
        let mut index = Index::read(&self.file());
        let asked = Asked::InSlots(vec![false; super::super::change_marks::SLOTS]);
        let mut walk = Walk::new(&index, &asked);
        walk.compare(&self.entries());
        walk.find_missed();
        // No file is there, so that those with other numbers are others.
        walk.ask(&File::open(self.dir.path()).unwrap());
        let has_table = walk.table.is_some();
        let found = walk.found;
        let gone = found.same.iter().enumerate().filter(|(_, same)| !**same);
        gone.for_each(|(row, _)| index.remove(row as u32));
        index.positions = found.positions;
        index.state.read_at += 1;
        let mut rows = Vec::new();
        // The heads are not read in the order of the directory.
        for file in found.fresh.iter().rev() {
            let identity = FileIdentity { inode: file.number, ..FileIdentity::default() };
            let (stem, position) = (file.stem.as_str(), file.position);
            let row = NewRow {
                stem,
                key: stem,
                program: "p",
                identity,
                tasks: 1,
                recorded_at: 1,
                position,
            };
            row.put(&mut rows);
        }
        index.add(rows);
        assert!(index.keep(&self.file(), &index.newest_first()) > 0);
        let kept = Index::read(&self.file());
        let mut listed: Vec<(String, u64)> = kept
            .newest_first()
            .into_iter()
            .map(|row| (kept.row(row).stem().to_string(), kept.row(row).identity().inode))
            .collect();
        let mut names = self.names.clone();
        listed.sort();
        names.sort();
        assert_eq!(listed, names);
        let mut fresh: Vec<String> = found.fresh.into_iter().map(|file| file.stem).collect();
        fresh.sort();
        Work { fresh, elsewhere: found.elsewhere, has_table }
    }
}

/// On `tmpfs`, new names stand in front of all others. Each of them was the first one when it was added. After 16 changes, each
/// list searched for all names.
#[test]
fn regression_many_changes_with_the_newest_name_first() {
    for (what, place) in [("first", 0), ("last", usize::MAX), ("between", MANY / 2)] {
        let mut model = Model::new(MANY);
        for turn in 0..64 {
            let name = format!("new{turn}");
            model.put(place, &name);
            let expected = Work { fresh: vec![name], elsewhere: 0, has_table: false };
            assert_eq!(model.list(), expected, "added {what}, {turn}");
        }
        for turn in 0..64 {
            let name = format!("n{}", turn * 13);
            model.put(place, &name);
            let expected = Work { fresh: vec![name], elsewhere: 1, has_table: false };
            assert_eq!(model.list(), expected, "replaced {what}, {turn}");
        }
        assert_eq!(model.list(), Work { fresh: Vec::new(), elsewhere: 0, has_table: false });
    }
}

/// A name whose file is replaced keeps its place in other file systems.
#[test]
fn replaced_names_that_keep_their_places_are_not_searched_for() {
    let mut model = Model::new(MANY);
    for turn in 0..64 {
        let place = turn * turn * 7 % MANY;
        let name = model.names[place].0.clone();
        model.put(place, &name);
        assert_eq!(model.list(), Work { fresh: vec![name], elsewhere: 0, has_table: false });
    }
}

/// Names that were removed one behind the other hid all names behind them.
#[test]
fn regression_names_behind_removed_ones_are_found() {
    let mut model = Model::new(MANY);
    for place in [0, 100, 700] {
        model.names.drain(place..place + 300);
        let work = model.list();
        assert!(work.fresh.is_empty() && work.elsewhere <= PATIENCE + 1, "{work:?}");
        assert_eq!(model.list().elsewhere, 0);
    }
    // At the end, nothing is behind them.
    model.names.truncate(500);
    assert_eq!(model.list().elsewhere, 0);
}

/// New names in one place, and removed ones in others.
#[test]
fn many_new_names_are_found_in_the_table() {
    let mut model = Model::new(MANY);
    for turn in 0..5 {
        for k in 0..100 {
            model.put(k, &format!("new{turn}-{k}"));
        }
        model.names.drain(900..1000);
        let work = model.list();
        assert_eq!((work.fresh.len(), work.elsewhere, work.has_table), (100, 1, true));
    }
}

#[test]
fn names_in_the_opposite_order_are_found() {
    let mut model = Model::new(MANY);
    model.names.reverse();
    let work = model.list();
    assert!(work.fresh.is_empty() && work.elsewhere > MANY / 2);
}

/// A directory that changes while it is read can give a name twice. The second one counts as another file.
#[test]
fn a_name_that_comes_twice_is_read_again() {
    let model = Model::new(300);
    for (one, other) in [(5, 6), (5, 200), (200, 5)] {
        let index = Index::read(&model.file());
        let asked = Asked::InSlots(vec![false; super::super::change_marks::SLOTS]);
        for many_are_new in [false, true] {
            let mut twice =
                Model { dir: tempfile::tempdir().unwrap(), names: model.names.clone(), made: 0 };
            twice.names.insert(one, model.names[other].clone());
            if many_are_new {
                (0..100).for_each(|k| twice.put(0, &format!("new{k}")));
            }
            let mut walk = Walk::new(&index, &asked);
            walk.compare(&twice.entries());
            walk.find_missed();
            let fresh = walk.found.fresh.iter().filter(|file| !file.stem.starts_with("new"));
            let fresh: Vec<&str> = fresh.map(|file| file.stem.as_str()).collect();
            assert_eq!(fresh, [model.names[other].0.as_str()]);
            assert!(!walk.found.shows_change && walk.unsure.is_empty());
            // So the list has one record of this name.
            let is_same = |found: &Found| found.same.iter().filter(|same| **same).count();
            assert_eq!(is_same(&walk.found), 300);
            walk.found.forget_given_twice(&index);
            assert_eq!(is_same(&walk.found), 299);
            let gone = walk.found.same.iter().position(|same| !same).unwrap();
            assert_eq!(index.row(gone as u32).stem(), model.names[other].0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is put and removed, and wherever new names stand: the index is right after each list, few names are searched for,
    /// and none by the next list.
    #[test]
    fn any_directory_is_followed(
        lists in prop::collection::vec(
            prop::collection::vec((0usize..400, 0usize..400, prop::bool::ANY), 0..12), 1..12),
        run in 0usize..200,
    ) {
        let mut model = Model::new(300);
        for changes in lists {
            let before = model.names.clone();
            for (place, name, is_removed) in changes {
                match is_removed && !model.names.is_empty() {
                    true => drop(model.names.remove(place % model.names.len())),
                    false => model.put(place, &format!("n{name}")),
                }
            }
            if model.names.len() > 250 {
                model.names.drain(20..20 + run.min(50));
            }
            let changed = model.names.iter().filter(|file| !before.contains(file));
            let mut changed: Vec<String> = changed.map(|(name, _)| name.clone()).collect();
            changed.sort();
            let work = model.list();
            prop_assert_eq!(&work.fresh, &changed);
            let removed = before.iter().filter(|file| !model.names.contains(file)).count();
            // A name that has come forward hides the rows that it skips.
            let may_hide = if removed < NEAR { 0 } else { 300 };
            prop_assert!(work.elsewhere <= changed.len() * NEAR + may_hide, "{:?}", work);
            let expected = Work { fresh: Vec::new(), elsewhere: 0, has_table: false };
            prop_assert_eq!(model.list(), expected);
        }
    }
}
