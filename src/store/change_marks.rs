//! Marks of changed records: with them, a list of a million records asks the file system about those that may have changed,
//! and not about all.
//!
//! The number of a file (`d_ino`) comes with its name when a directory is read, and costs nothing. It shows most changes,
//! because a record is replaced by another file. But file systems give the number of a removed file to the next one
//! that is made: a record that was replaced twice often has its first number again. So each user who writes to the store has
//! a table of marks there, `.marks-UID`: [`SLOTS`] numbers behind [`MAGIC`]. Before a file gets the name of a record, its
//! writer puts a random number into the slot of this name. A list compares the tables with those of the list before. Records
//! whose slot changed are asked for their size and time.
//!
//! Why no change is missed: a list reads the tables, and then looks at the names. Suppose a record has the number again that it
//! had at that look, and is another file. The first file had to be gone before the number could be given away, which was
//! after the look. The writer of the other file made it first, then the mark, then gave it the name ([`rename`], [`link`]). So the
//! mark is newer than the tables that were read. The next list sees it, unless the name was given later than that list looked,
//! which it then sees as another number. A writer that is killed in between leaves a mark too many, and never one too
//! few. Removing a record needs no mark.
//!
//! A table needs no lock and does not grow. Each user has one of their own, so that no permissions of the store keep a writer from its
//! table. On a file system that other nodes see, only the bytes of the mark are written, at once (`O_DSYNC`).
//! Without a table in the store, or with one that cannot be read or is not that of the user in its name, a list asks all files.
//!
//! Limits: these changes show at the latest with the next list that asks all files. That is the first one an hour later that
//! finds the directory changed. A program that is not
//! rankweave, or a version without marks, replaces a record by a file with the same number, while other records change
//! too. A file is changed in place. A mark cannot be written (no space, or another user's file of this name in a directory with a
//! sticky bit), or it was lost when the machine lost power, or when somebody removed the table. The file system makes the numbers
//! of files from their names.

use super::file_name::ENDING;
use super::sharing::share;
use super::unique_names::unique_name;
use crate::base::file::user;
use crate::base::file_system::FileSystem;
use crate::base::hash::fnv1a;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Slots of a table. In a store of a million records, each has about 250.
pub(super) const SLOTS: usize = 4096;
/// First bytes of a table. Another format needs another name of the file.
const MAGIC: [u8; 8] = *b"RKMARKS\n";
/// The name of a table, without the user.
const NAME: &str = ".marks-";
/// Flags for files that another user may have put there.
const CAREFUL: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;

/// Gives a new file of a store its name, in place of another one.
///
/// Errors: those of the renaming.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    mark(to);
    fs::rename(from, to)
}

/// Gives a file of a store another name, which no file has.
///
/// Errors: those of the link.
pub(super) fn link(from: &Path, to: &Path) -> Result<()> {
    mark(to);
    fs::hard_link(from, to)
}

/// Marks a file of a store that gets its name now. A mark that cannot be made is left out.
fn mark(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
    let name = name.to_string_lossy();
    let slot = slot_of(name.strip_suffix(ENDING).unwrap_or(&name).as_bytes());
    // No other mark has this number, of any process.
    let stamp = fnv1a(unique_name().as_bytes()) | 1;
    if let Ok(table) = open_own(folder) {
        let _ = table.write_all_at(&stamp.to_le_bytes(), place_of(slot));
    }
}

/// The table of this user, which is made if it is not there.
fn open_own(folder: &Path) -> Result<File> {
    let path = table_of(folder, user());
    // Where other nodes write too, the kernel would write the whole page.
    let at_once = match FileSystem::of(folder) {
        FileSystem::Local(_) => 0,
        _ => libc::O_DSYNC,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(CAREFUL | at_once);
    let opened = options.open(&path).and_then(|file| check_own(&file).map(|()| file));
    let error = match opened {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    // What another user put there, or a link, makes way. The content of a file of this user stays as it is.
    if error.kind() == ErrorKind::PermissionDenied || error.raw_os_error() == Some(libc::ELOOP) {
        fs::remove_file(&path)?;
    } else if error.kind() != ErrorKind::NotFound {
        return Err(error);
    }
    let file = match options.clone().create_new(true).open(&path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => options.open(&path)?,
        file => file?,
    };
    share(&file, &path);
    check_own(&file)?;
    Ok(file)
}

/// Errors: an open file is not a table of this user. A new one becomes a table.
fn check_own(file: &File) -> Result<()> {
    let meta = file.metadata()?;
    if meta.uid() != user() {
        return Err(Error::from(ErrorKind::PermissionDenied));
    }
    if !meta.is_file() || meta.nlink() != 1 {
        return Err(Error::from(ErrorKind::InvalidInput));
    }
    if meta.len() == 0 {
        return file.write_all_at(&MAGIC, 0);
    }
    let mut magic = [0; MAGIC.len()];
    file.read_exact_at(&mut magic, 0)?;
    if magic == MAGIC { Ok(()) } else { Err(Error::from(ErrorKind::InvalidData)) }
}

/// The slot of a name without ending. This is part of the format.
pub(super) fn slot_of(stem: &[u8]) -> usize {
    crc32fast::hash(stem) as usize % SLOTS
}

fn place_of(slot: usize) -> u64 {
    (MAGIC.len() + 8 * slot) as u64
}

fn table_of(folder: &Path, user: u32) -> PathBuf {
    folder.join(format!("{NAME}{user}"))
}

/// The user whose table has this name.
pub(super) fn user_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix(NAME)?;
    digits.parse().ok().filter(|user: &u32| user.to_string() == digits)
}

/// The tables of several users, as they were at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// For each slot, the sum over the tables. Empty is all zeros.
    pub sums: Vec<u64>,
    /// Whether there is a table, and each of them could be read.
    pub are_known: bool,
}

impl Marks {
    /// Reads the tables of these users.
    pub(super) fn read(folder: &Path, users: &[u32]) -> Marks {
        let mut marks = Marks { sums: vec![0; SLOTS], are_known: true };
        let mut tables = 0;
        for &user in users {
            match read_table(&table_of(folder, user), user) {
                Ok(bytes) => {
                    tables += 1;
                    for (sum, number) in marks.sums.iter_mut().zip(bytes.chunks_exact(8)) {
                        *sum = sum.wrapping_add(number.try_into().map_or(0, u64::from_le_bytes));
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => marks.are_known = false,
            }
        }
        marks.are_known &= tables > 0;
        marks
    }

    /// The slots in which others differ from these.
    pub(super) fn differences(&self, others: &Marks) -> Vec<u16> {
        let at = |marks: &Marks, slot: usize| marks.sums.get(slot).copied().unwrap_or(0);
        (0..SLOTS)
            .filter(|&slot| at(self, slot) != at(others, slot))
            .map(|slot| slot as u16)
            .collect()
    }
}

/// The numbers of a table.
///
/// Errors: it cannot be read, or is none of this user.
fn read_table(path: &Path, user: u32) -> Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(CAREFUL).open(path)?;
    let meta = file.metadata()?;
    let mut bytes = vec![0; MAGIC.len() + 8 * SLOTS];
    let mut length = 0;
    if !meta.is_file() || meta.uid() != user {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    loop {
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    // What was never written is zero.
    if length < MAGIC.len() || bytes[..MAGIC.len()] != MAGIC {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    Ok(bytes.split_off(MAGIC.len()))
}

#[cfg(test)]
#[path = "change_marks_tests.rs"]
mod tests;
