//! What rank 0 does alone at the start and at the end of a launch: it reads the facts, follows the policy, and
//! keeps the record. The decisions are made in [`rw::launch`]. This file adds the clock, the signals, and the
//! messages.

use crate::job::hooks;
use crate::job::places::Locations;
use crate::mpi::abi::Abi;
use crate::mpi::config;
use crate::mpi::version::version;
use crate::sys::environment;
use crate::sys::message;
use crate::sys::signal::without_signal;
use rw::base::clock::since_1970;
use rw::launch::{
    Instructions, Known, LaunchEnd, LaunchRecorder, Message, PlacedRanks, Policy, Processes,
    Program, Storage, missing_site_file,
};
use rw::options::{Mode, Settings};
use rw::store::{NOTE, remove_note};
use std::path::Path;

/// Removes the note that `rankweave run` left for the case that no process of the launch would have the library. Where
/// processes lack the library, the user was told just before. Where the user left the program out, nothing has to be said.
pub fn has_started() {
    if let Some(note) = environment::variable(NOTE) {
        remove_note(Path::new(&note));
    }
}

/// Decides what a launch of so many tasks does.
pub fn decide<A: Abi>(
    settings: &Settings,
    tasks: usize,
    processes: Processes,
) -> (Instructions, LaunchRecorder) {
    if let Some(name) = hooks::excess() {
        message::line(&format!(
            "the program loaded another MPI library than 'rankweave run' expected, so it finds {name}, which \
             the MPI library does not have; try: set RANKWEAVE_MPI to the path of the MPI library (libmpi.so) \
             that the program loads"
        ));
    }
    let (policy, recorder) = reason::<A>(settings, tasks, processes);
    let mut instructions = Instructions::of(&policy, settings, tasks);
    instructions.job = recorder.job(random_number(), tasks, policy.action, now());
    (instructions, recorder)
}

/// The recorder of a job whose start was not seen. To be called at its end.
pub fn late_recorder<A: Abi>(tasks: usize) -> LaunchRecorder {
    has_started();
    let settings = Settings { mode: Mode::Record, ..config::settings().0.clone() };
    let unknown = Processes { complete: false, one_program: false, spawned: false };
    let (_, mut recorder) = reason::<A>(&settings, tasks, unknown);
    recorder.started_unseen();
    recorder
}

/// Keeps the record of a launch.
///
/// Returns true if the record is stored or waits to be stored. The spill files are then not needed any more.
pub fn keep(recorder: LaunchRecorder, end: LaunchEnd<'_>) -> bool {
    // SAFETY: no preconditions.
    let user = unsafe { libc::geteuid() };
    // Without this, a file beyond the limit of the file size would end the program by a signal. With it, the
    // write returns an error.
    let (said, is_kept) = without_signal(libc::SIGXFSZ, || recorder.keep(end, user));
    say(said);
    is_kept
}

/// Checks whether the launcher placed the ranks as it was told.
pub fn check_places(recorder: &mut LaunchRecorder, locations: &Locations) {
    if recorder.is_placed() {
        say(recorder.check_places(&locations.places()));
    }
}

/// Prints messages.
pub fn say(messages: impl IntoIterator<Item = Message>) {
    messages.into_iter().for_each(|text| message::line(&text.to_string()));
}

/// Seconds since 1970-01-01 UTC.
pub fn now() -> u64 {
    since_1970().as_secs()
}

/// Reads the facts and prints the messages about them. Returns the policy that follows from the facts, and the
/// recorder of this launch.
fn reason<A: Abi>(
    settings: &Settings,
    tasks: usize,
    processes: Processes,
) -> (Policy, LaunchRecorder) {
    let errors = &config::settings().1;
    say(errors
        .iter()
        .map(|error| Message::from(error).meaning("the default of this option is used")));
    say(missing_site_file(settings).map(|error| {
        Message::from(&error.at("RANKWEAVE_SITE"))
            .meaning("this launch does without a description by the site")
    }));
    let program = Program::of_this_process(&version::<A>());
    let (store, overtaken_by) = (Storage::open(settings), hooks::overtaken());
    let placed = match PlacedRanks::of_this_process() {
        Some(Ok(placed)) => Some(placed),
        Some(Err(error)) => {
            let meaning = "the places that the launcher gave to the ranks are not checked";
            say([Message::from(&error).meaning(meaning)]);
            None
        }
        None => None,
    };
    let known = Known::read(settings, program, store, tasks, processes, overtaken_by);
    let mut known = known.with_placed(placed, tasks).with_direct_caller(hooks::direct_caller);
    say(known.message.take());
    let policy = Policy::of(&known.facts);
    say(policy.messages());
    let recorder = LaunchRecorder::new(known, &policy, settings);
    (policy, recorder)
}

/// A random number for a job.
fn random_number() -> u64 {
    let mut number = since_1970().as_nanos() as u64 ^ u64::from(std::process::id()) << 40;
    // SAFETY: a buffer of this length; what is not filled stays the time.
    unsafe { libc::getrandom((&raw mut number).cast(), size_of::<u64>(), libc::GRND_NONBLOCK) };
    number
}
