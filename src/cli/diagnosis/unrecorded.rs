//! The note that `rankweave run` leaves until the launch is recorded, and the line about earlier launches that were not.
//!
//! `run` becomes the launcher, so what a launch did not record can be said only later: by the next `rankweave run` or
//! `rankweave list` of the user with the same store. Nothing is said twice: a launch that the line before it was about
//! ([`forecast`](super::forecast())) leaves no note, and neither does one whose job starts at another time.

use crate::base::raw_words::shown;
use crate::cli::console::shell::quoted;
use crate::cli::inspect::listed;
use crate::cli::launcher::{Launcher, LocatedLauncher, base_name};
use crate::launch::Storage;
use crate::options::{Mode, Place, Settings};
use crate::report::units;
use crate::store::{LaunchNote, NOTE, Store, remove_note};
use std::path::{Path, PathBuf};

/// Commands that return before the job has begun which they send to a batch system.
const SUBMITTERS: &str = "bsub condor_submit flux jrun llsubmit msub oarsub pjsub qsub sbatch";
/// The longest command of which a message shows all words, in characters.
const LONGEST: usize = 300;

/// Leaves a note of this launch in the store, and returns its file. The variable [`NOTE`] has to tell the launch about
/// it. `is_told` says that the user knows already that nothing will be recorded.
///
/// If this process belongs to a launch with a note, its own launch is the one whose record counts: the older note goes,
/// or serves this launch if there can be no new one.
pub(in crate::cli) fn leave_note(
    found: &LocatedLauncher,
    command: &[String],
    settings: &Settings,
    is_told: bool,
) -> Option<PathBuf> {
    let above = std::env::var_os(NOTE).map(PathBuf::from);
    let note = if is_told || !is_expected(found, command, settings) {
        None
    } else {
        let store = Storage::open(settings).ok();
        let note = store.and_then(|store| store.leave_note(&LaunchNote::of_this_process(command)));
        // The variable of another launcher may not have every byte.
        match note.filter(|note| note.to_str().is_some()) {
            None => return above,
            note => note,
        }
    };
    above.iter().for_each(|above| remove_note(above));
    note
}

/// Whether something should be recorded before this command ends.
fn is_expected(found: &LocatedLauncher, command: &[String], settings: &Settings) -> bool {
    let first = command.get(found.position).map(|word| base_name(Path::new(word)));
    let is_submitter = first.is_some_and(|name| listed(SUBMITTERS, &name));
    settings.mode != Mode::Off
        && settings.place != Place::LauncherOnly
        && found.launcher != Launcher::Sbatch
        && !is_submitter
}

/// The message about launches of this user that ended and recorded nothing, without the name of the command at its
/// beginning; `None` if there are none. They are not mentioned again.
pub(in crate::cli) fn unrecorded(store: &Store) -> Option<String> {
    let here = std::env::current_dir().unwrap_or_default();
    sentence(&store.take_notes(), &here)
}

/// `here` is the working directory.
fn sentence(notes: &[LaunchNote], here: &Path) -> Option<String> {
    let last = notes.last()?;
    let words: Vec<String> = last.command.iter().map(|word| quoted(word)).collect();
    let all = shown(&words.join(" "));
    let (command, is_whole) = match all.char_indices().nth(LONGEST) {
        Some((end, _)) => (format!("{}…", &all[..end]), false),
        None => (all, true),
    };
    let when = units::time(last.started_at);
    let folder = match Path::new(&last.folder) == here {
        true => String::new(),
        false => format!(" in {}", last.folder),
    };
    let which = match notes.len() {
        1 => format!("nothing was recorded of the launch of {when}{folder}: {command}"),
        n => format!(
            "nothing was recorded of {n} earlier launches; the last of them, of {when}{folder}, was: {command}"
        ),
    };
    let advice = match is_whole {
        true => format!("rankweave doctor -- {command}"),
        false => "rankweave doctor with this command".into(),
    };
    Some(format!(
        "{which}: no MPI program with several ranks reported that it started with the library; try: {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(words: &[&str], started_at: u64) -> LaunchNote {
        let command: Vec<String> = words.iter().map(ToString::to_string).collect();
        let mut note = LaunchNote::of_this_process(&command);
        note.folder = "/home/ann".into();
        note.started_at = started_at;
        note
    }

    #[test]
    fn the_last_launch_is_named_with_what_to_type() {
        let home = Path::new("/home/ann");
        assert_eq!(sentence(&[], home), None);
        let one = sentence(&[note(&["./job.sh", "a b"], 60)], home).unwrap();
        assert!(
            one.starts_with(
                "nothing was recorded of the launch of 1970-01-01 00:01 UTC: ./job.sh 'a b': "
            ),
            "{one}"
        );
        assert!(one.ends_with("; try: rankweave doctor -- ./job.sh 'a b'"), "{one}");
        let two = sentence(&[note(&["a"], 0), note(&["b"], 86_400)], Path::new("/")).unwrap();
        let wanted = "of 2 earlier launches; the last of them, of 1970-01-02 00:00 UTC in /home/ann, was: b: ";
        assert!(two.contains(wanted), "{two}");
        let long = sentence(&[note(&["é"; 400], 0)], home).unwrap();
        assert!(long.contains("…: no") && long.ends_with("with this command"), "{long}");
    }

    #[test]
    fn no_note_where_nothing_can_be_said_after_the_command() {
        let expected = |launcher, words: &[&str], settings: Settings| {
            let command: Vec<String> = words.iter().map(ToString::to_string).collect();
            is_expected(&LocatedLauncher { launcher, position: 0 }, &command, &settings)
        };
        let usual = Settings::default;
        assert!(expected(Launcher::Other, &["./job.sh"], usual()));
        assert!(expected(Launcher::OpenMpi, &["mpirun", "./a"], usual()));
        assert!(!expected(Launcher::Sbatch, &["sbatch", "job.sh"], usual()));
        assert!(!expected(Launcher::Other, &["/usr/bin/qsub", "job.sh"], usual()));
        let off = Settings { mode: Mode::Off, ..usual() };
        assert!(!expected(Launcher::OpenMpi, &["mpirun", "./a"], off));
        let alone = Settings { place: Place::LauncherOnly, ..usual() };
        assert!(!expected(Launcher::OpenMpi, &["mpirun", "./a"], alone));
    }
}
