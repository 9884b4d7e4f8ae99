//! Notes of launches of which it is not known yet whether anything is recorded.
//!
//! `rankweave run` becomes the launcher, so nothing of it is left that could tell the user after the launch that nothing
//! was recorded. It therefore leaves a note in the store, and the variable [`NOTE`] tells the processes of the launch where.
//! Rank 0 of the first job that starts with the library removes it. A note whose launcher has ended is one of a launch
//! that recorded nothing: its programs lost the library, or it started no MPI program with several ranks. The next
//! command of the user takes the note and tells what is in it.
//!
//! A note is a hint and no more: where it cannot be written or read, nothing is said. Only notes of this user count.
//!
//! Limits: if one of several jobs of a launch starts with the library, nothing is said about the others. Whether a
//! launcher has ended is known on its own host only (and in its own container). Notes of other hosts count after a day.

use super::Store;
use super::leftovers::{is_stale, sweep};
use super::others::check_folder;
use super::record_format::{open_sealed, read_sealed, seal};
use super::sharing::create_folder;
use super::unique_names::unique_name;
use crate::base::clock::since_1970;
use crate::base::file::{self, is_own};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The variable that tells the processes of a launch the file of its note.
pub const NOTE: &str = "RANKWEAVE_NOTE";

/// First bytes of a note.
const MAGIC: [u8; 8] = *b"RKNOTE\n\0";
/// Version of the format.
const VERSION: u32 = 1;
/// Folder of the notes in the store.
const FOLDER: &str = "launches";
/// Ending of their names.
const ENDING: &str = ".launch";
/// With so many notes in the folder, no more are left.
const MOST: usize = 256;
/// The most files of the folder that are looked at.
const MOST_LOOKED_AT: usize = 4 * MOST;
/// The largest note.
const LARGEST: u64 = 64 << 10;
/// After so many seconds, a note of another host is taken for one of a launch that has ended.
const LONG: u64 = 86_400;
/// After so many seconds, a launch is not worth a message any more.
const TOO_LONG: u64 = 30 * 86_400;

/// A launch of which nothing is recorded yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchNote {
    /// The command that was launched, without `rankweave run` and its options.
    pub command: Vec<String>,
    /// The working directory.
    pub folder: String,
    /// Seconds since 1970-01-01 UTC.
    pub started_at: u64,
    process: Process,
}

/// A process, among all that ever ran. With an empty `boot` it is not known which.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    /// The number of the start of its host.
    boot: String,
    /// The namespace of its number.
    namespace: String,
    pid: u32,
    /// When it started, in ticks since the start of the host.
    started: u64,
}

/// What is known of the launcher of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    Unknown,
}

impl LaunchNote {
    /// The note of a launch whose launcher this process becomes.
    pub fn of_this_process(command: &[String]) -> LaunchNote {
        let folder = std::env::current_dir().unwrap_or_default();
        LaunchNote {
            command: command.to_vec(),
            folder: folder.to_string_lossy().into_owned(),
            started_at: since_1970().as_secs(),
            process: Process::this().unwrap_or_default(),
        }
    }

    fn read(path: &Path) -> Option<LaunchNote> {
        let bytes = read_sealed(path, MAGIC, LARGEST).ok()?;
        let (_, body) = open_sealed(&bytes, MAGIC, VERSION, "note").ok()?;
        postcard::from_bytes(body).ok()
    }
}

impl Process {
    fn this() -> Option<Process> {
        let pid = std::process::id();
        let text = |path: &str| {
            Some(
                String::from_utf8_lossy(&file::read(Path::new(path), 4096).ok()?)
                    .trim()
                    .to_string(),
            )
        };
        Some(Process {
            boot: text("/proc/sys/kernel/random/boot_id")?,
            namespace: fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned(),
            pid,
            started: start_of(pid)?,
        })
    }

    /// Whether it runs. `here` is this process.
    fn state(&self, here: Option<&Process>) -> State {
        let sees_it = |here: &&Process| {
            !self.boot.is_empty() && (&here.boot, &here.namespace) == (&self.boot, &self.namespace)
        };
        if here.filter(sees_it).is_none() {
            return State::Unknown;
        }
        match start_of(self.pid) {
            Some(started) if started == self.started => State::Running,
            Some(_) => State::Ended,
            // It may also be hidden from this user, who may have become another one.
            None if Path::new(&format!("/proc/{}", self.pid)).exists() => State::Unknown,
            None => State::Ended,
        }
    }
}

/// When a process started, in ticks since the start of the host. `None` if there is no such process, or if it is a dead
/// one that its parent has not waited for.
fn start_of(pid: u32) -> Option<u64> {
    let stat = file::read(Path::new(&format!("/proc/{pid}/stat")), 4096).ok()?;
    // The name of the program, in parentheses, may have any characters.
    let behind = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let text = String::from_utf8_lossy(stat.get(behind..)?).into_owned();
    let mut fields = text.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
    // The state is the third field, and the start is the 22nd.
    fields.nth(18)?.parse().ok().filter(|_| !is_dead)
}

impl Store {
    /// Leaves a note of a launch, and returns its file. `None` if that is not possible, or if there are too many notes.
    pub fn leave_note(&self, note: &LaunchNote) -> Option<PathBuf> {
        let directory = std::path::absolute(self.directory()).ok()?;
        let folder = directory.join(FOLDER);
        check_folder(&folder).ok()?;
        create_folder(&folder).ok()?;
        sweep(&folder, |name| name.contains(ENDING));
        if fs::read_dir(&folder).ok()?.take(MOST).count() == MOST {
            return None;
        }
        let bytes = seal(MAGIC, VERSION, &postcard::to_allocvec(note).ok()?);
        if bytes.len() as u64 > LARGEST {
            return None;
        }
        let name = unique_name();
        let path = folder.join(format!("{name}{ENDING}"));
        self.write(&path, &bytes, false, &|| false).ok()?.then_some(path)
    }

    /// Removes the notes of this user's launches that have ended, and returns what is in them, the oldest first. A note
    /// that another command takes at the same time is returned to one of the two only.
    pub fn take_notes(&self) -> Vec<LaunchNote> {
        let folder = self.directory().join(FOLDER);
        let files = check_folder(&folder).ok().and_then(|()| fs::read_dir(&folder).ok());
        let (now, here) = (since_1970().as_secs(), Process::this());
        let mut taken = Vec::new();
        for file in files.into_iter().flatten().take(MOST_LOOKED_AT).flatten() {
            let path = file.path();
            let is_note = is_name(file.file_name().as_bytes());
            // Of what cannot be read, only what is old is certainly no file that is being written.
            let note = if is_note { LaunchNote::read(&path) } else { None };
            let age = note.as_ref().map(|note| now.saturating_sub(note.started_at));
            let is_over = match (&note, age) {
                (Some(note), Some(age)) => match note.process.state(here.as_ref()) {
                    State::Running => false,
                    State::Ended => true,
                    State::Unknown => age > LONG,
                },
                _ => is_note && is_stale(&file),
            };
            if is_over && is_own(&path) && fs::remove_file(&path).is_ok() {
                taken.extend(note.filter(|_| age.is_some_and(|age| age <= TOO_LONG)));
            }
        }
        taken.sort_by_key(|note| note.started_at);
        taken
    }
}

/// Whether a file has a name that [`unique_name`] gave a note: three numbers and the ending.
fn is_name(name: &[u8]) -> bool {
    let Some(numbers) = name.strip_suffix(ENDING.as_bytes()) else { return false };
    let parts = numbers.split(|&byte| byte == b'-');
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    parts.clone().count() == 3 && parts.clone().all(is_number)
}

/// Removes the note of a launch that is recorded. `path` is the value of [`NOTE`]. A file that has no name of a note, or is in
/// another folder, stays.
pub fn remove_note(path: &Path) {
    let folder = path.parent().and_then(Path::file_name);
    let is_note = path.file_name().is_some_and(|name| is_name(name.as_bytes()));
    if path.is_absolute()
        && is_note
        && folder.is_some_and(|name| name.as_bytes() == FOLDER.as_bytes())
    {
        // Another job of the launch may have removed it.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
#[path = "launch_notes_tests.rs"]
mod tests;
