//! What is stored about the program of a launch, before the launch: the key that the library will choose, and the
//! record that it will use.
//!
//! The library chooses a record by the arguments of the program and by the text with which the MPI library describes
//! itself. Before the launch this text is not known. It is taken from the records of the program: from the one with
//! the same arguments that is the newest.

use super::Refusal;
use crate::base::raw_words::shown;
use crate::cli::inspect::{LaunchLine, start};
use crate::launch::{Known, Processes, Program, Storage};
use crate::options::Settings;
use crate::store::{self, Record, Standing, Store};
use std::path::PathBuf;

/// What is stored about the program of a launch with so many tasks.
///
/// Errors: the launch starts several programs, or one that cannot be found before the launch; no directory of the
/// store is known.
pub(super) fn known(
    launch: &LaunchLine,
    settings: &Settings,
    tasks: usize,
) -> Result<Known, Refusal> {
    let part = match launch.parts.as_slice() {
        [part] => part,
        _ => {
            return Err(Refusal::new(
                "the launch starts several programs, or programs from a file",
                "launch one program",
            ));
        }
    };
    let started = start(part);
    let executable = started.binary().and_then(|image| image.path.canonicalize().ok());
    if executable.is_none() && settings.key.is_none() {
        return Err(Refusal::new(
            "the program of the launch cannot be known before it (a script or a container starts it)",
            "use --key KEY, with the key of its record ('rankweave list')",
        ));
    }
    let store = Storage::open(settings).map_err(Refusal::unreadable)?;
    let executable: PathBuf = executable.unwrap_or_default();
    // The library reads the words of its process in the same way, and the digest of both has to be the same.
    let words: Vec<String> = started.words.iter().map(|word| shown(word)).collect();
    let program = Program::new(&executable, words.clone(), "");
    let key = program.key(settings, tasks);
    let mpi = mpi_of(&store, &key, &words);
    let program = Program::new(&executable, words, &mpi);
    let processes = Processes { complete: true, one_program: true, spawned: false };
    Ok(Known::read(settings, program, Ok(store), tasks, processes, None))
}

/// How the MPI library describes itself in the newest record of a key with these arguments, else in the record in
/// use.
fn mpi_of(store: &Store, key: &str, command: &[String]) -> String {
    let in_use = store.load(key).ok().flatten();
    let is_alike =
        |record: &Record| Standing::of(record).kind == store::work_of(command, &record.mpi);
    let mut runs = store.runs(key);
    runs.sort_by_key(|run| std::cmp::Reverse(run.standing.recorded_at));
    let others = || runs.iter().filter_map(|run| store::read_file(&run.path).ok());
    let mut alike: Vec<Record> = in_use.iter().filter(|r| is_alike(r)).cloned().collect();
    alike.extend(others().find(|record| is_alike(record)));
    alike.sort_by_key(|record| std::cmp::Reverse(record.recorded_at));
    let chosen = alike.into_iter().next().or(in_use);
    chosen.map(|record| record.mpi).unwrap_or_default()
}
