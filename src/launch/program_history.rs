//! The earlier launches of this program, and what follows from their times for this one.

use super::Message;
use crate::decide::{Judgement, LaunchTimes, kept};
use crate::store::{self, Launch, LaunchMode, Past, Record};

/// The earlier launches of a program, for comparison with this one.
#[derive(Debug, Clone, Default)]
pub struct ProgramHistory {
    /// The launches in the history, the oldest first.
    launches: Vec<Past>,
    /// Hash of the arguments and the MPI library of this launch.
    work: u32,
    /// Whether earlier launches may decide about the ranks of this one.
    counts: bool,
    /// The start of this launch was seen, so that its time can be compared.
    timed: bool,
}

impl ProgramHistory {
    /// The history of a program with this hash of its arguments and MPI library. It `counts` if the user
    /// leaves the rank order to rankweave.
    pub fn new(launches: Vec<Past>, work: u32, counts: bool) -> Self {
        ProgramHistory { launches, work, counts, timed: true }
    }

    /// Notes that the start of this launch was not seen.
    pub fn started_unseen(&mut self) {
        self.timed = false;
    }

    /// Why a launch on places with this hash keeps the launcher's order: earlier launches were slower
    /// when reordered. Returns a sentence for the record and a message; `None` if they were not.
    pub fn objection(&self, places: u32) -> Option<(String, Message)> {
        if !self.counts {
            return None;
        }
        let measured = LaunchTimes::of(&self.launches, self.work, places);
        let (why, meaning) = match measured.judgement() {
            Judgement::Slower => {
                ("reordered launches were slower", "this launch keeps the launcher's order")
            }
            Judgement::Doubtful => (
                "reordered launches look slower, but the launcher's order was timed only once",
                "this launch keeps the launcher's order and times it again",
            ),
            Judgement::TooFew | Judgement::Faster | Judgement::Same => return None,
        };
        let message = Message::new(format!("{why}: {}", measured.words()))
            .meaning(meaning)
            .advice("use --mode reorder to reorder in spite of this");
        Some((kept(why), message))
    }

    /// Copies the earlier launches into a record.
    pub fn copy_to(&self, record: &mut Record) {
        record.history.clone_from(&self.launches);
    }

    /// Adds the launch of a record to its history. `id` is the random number of the launch, `now` its end.
    /// A shuffled launch, or one whose start was not seen, is not added.
    pub fn add_to(&self, record: &mut Record, id: u64, now: u64) {
        self.copy_to(record);
        let launch = &record.launch;
        if !self.timed || launch.mode == LaunchMode::Shuffle {
            return;
        }
        let past = Past {
            id,
            ended_at: now,
            reordered: launch.is_reordered(),
            work: self.work,
            places: places_of(launch),
            wall_seconds: launch.wall_seconds,
            internode_bytes: launch.internode_bytes,
            total_bytes: launch.total_bytes,
            predicted: launch.predicted,
            in_mpi: launch.in_mpi,
        };
        record.history = store::joined(&self.launches, &[past]);
    }

    /// The measured effect of reordering, in words for the summary of a reordered launch; empty for
    /// other launches.
    pub fn effect(&self, record: &Record) -> String {
        let launch = &record.launch;
        if !launch.is_reordered() || launch.mode == LaunchMode::Shuffle {
            return String::new();
        }
        let measured = LaunchTimes::of(&record.history, self.work, places_of(launch));
        let mut text = measured.words();
        if let (Some(given), Some(reordered)) = measured.internode_bytes
            && given > 0
        {
            let percent = 100.0 * (reordered as f64 / given as f64 - 1.0);
            text = format!("measured bytes between nodes {percent:+.1} %, {text}");
        }
        if self.counts {
            match measured.judgement() {
                Judgement::Slower => text.push_str("; the next launch keeps the launcher's order"),
                Judgement::Doubtful => {
                    text.push_str("; the next launch times the launcher's order again");
                }
                Judgement::TooFew | Judgement::Faster | Judgement::Same => {}
            }
        }
        text
    }
}

/// Hash of the places of a launch.
fn places_of(launch: &Launch) -> u32 {
    store::places_of(&launch.placement.node_of_process, &launch.placement.node_names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::CommMatrix;
    use crate::store::Placement;

    const WORK: u32 = 5;

    fn placement() -> Placement {
        Placement::of_nodes(vec![0, 0, 1, 1], vec!["a1".into(), "a2".into()])
    }

    fn places() -> u32 {
        store::places_of(&placement().node_of_process, &placement().node_names)
    }

    fn history(given: &[f64], reordered: &[f64], counts: bool) -> ProgramHistory {
        let given = given.iter().map(|&seconds| (false, seconds));
        let reordered = reordered.iter().map(|&seconds| (true, seconds));
        let launches =
            given.chain(reordered).zip(1..).map(|((reordered, wall_seconds), at)| Past {
                id: at,
                ended_at: at,
                reordered,
                work: WORK,
                places: places(),
                wall_seconds,
                internode_bytes: if reordered { 50 } else { 100 },
                ..Past::default()
            });
        ProgramHistory::new(launches.collect(), WORK, counts)
    }

    fn record(mode: LaunchMode, process_of_task: &[u32]) -> Record {
        let mut record = Record::of_matrix("app-n4", CommMatrix::empty(4));
        record.launch = Launch {
            mode,
            process_of_task: process_of_task.to_vec(),
            placement: placement(),
            wall_seconds: 20.0,
            internode_bytes: 50,
            ..Launch::default()
        };
        record
    }

    #[test]
    fn slower_launches_go_back_to_the_launchers_order() {
        let slower = history(&[10.0, 10.2], &[20.0, 20.5], true);
        let (decision, message) = slower.objection(places()).unwrap();
        assert_eq!(decision, "the launcher's order is kept: reordered launches were slower");
        assert!(message.to_string().contains("measured time 10.1 s → 20.2 s"), "{message}");
        assert_eq!(slower.objection(places() + 1), None, "elsewhere");
        let doubtful = history(&[10.0], &[20.0, 20.5], true);
        assert!(doubtful.objection(places()).unwrap().0.ends_with("timed only once"));
        for history in [
            history(&[10.0, 10.2], &[20.0, 20.5], false),
            history(&[10.0], &[20.0], true),
            history(&[10.0, 10.2], &[8.0, 8.2], true),
            history(&[], &[], true),
        ] {
            assert_eq!(history.objection(places()), None);
        }
    }

    #[test]
    fn a_launch_is_remembered_unless_its_time_says_nothing() {
        let mut history = history(&[10.0], &[], true);
        let mut reordered = record(LaunchMode::Reorder, &[0, 2, 1, 3]);
        history.add_to(&mut reordered, 9, 99);
        let last = reordered.history.last().unwrap();
        assert_eq!((reordered.history.len(), last.id, last.ended_at), (2, 9, 99));
        assert_eq!((last.reordered, last.work, last.places), (true, WORK, places()));
        let mut shuffled = record(LaunchMode::Shuffle, &[0, 2, 1, 3]);
        history.add_to(&mut shuffled, 9, 99);
        assert_eq!(shuffled.history.len(), 1);
        history.started_unseen();
        let mut late = record(LaunchMode::Record, &[]);
        history.add_to(&mut late, 9, 99);
        assert_eq!(late.history.len(), 1);
    }

    #[test]
    fn the_effect_is_that_of_reordered_launches() {
        let history = history(&[10.0, 10.2], &[20.5], true);
        let mut reordered = record(LaunchMode::Reorder, &[0, 2, 1, 3]);
        history.add_to(&mut reordered, 9, 99);
        let effect = history.effect(&reordered);
        assert!(
            effect.starts_with("measured bytes between nodes -50.0 %, measured time"),
            "{effect}"
        );
        assert!(effect.ends_with("; the next launch keeps the launcher's order"), "{effect}");
        for record in [record(LaunchMode::Shuffle, &[0, 2, 1, 3]), record(LaunchMode::Record, &[])]
        {
            assert_eq!(history.effect(&record), "");
        }
    }
}
