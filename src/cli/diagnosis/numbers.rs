//! Slots and fixed ranks that the launch does not have.
//!
//! The library finds them too, but only when the processes run, and a first launch does not need them: it would say
//! nothing. `rankweave run` compares the numbers with the topology and with the ranks on the command line.
//!
//! Limits: where the command line does not say how many ranks there are, nothing is compared. Slots are compared only
//! if the topology can be read here.

use crate::base::nouns::counted;
use crate::cli::arguments::origin::origin;
use crate::cli::inspect::LaunchLine;
use crate::cli::launcher::LocatedLauncher;
use crate::options::{Mode, Settings, Slots};
use crate::topology;

/// A sentence about each setting with a number that is too large, or with too few numbers.
pub(in crate::cli) fn wrong_numbers(
    found: &LocatedLauncher,
    command: &[String],
    settings: &Settings,
) -> Vec<String> {
    if !matches!(settings.mode, Mode::Auto | Mode::Reorder) {
        return Vec::new();
    }
    let has_numbers = settings.slots.is_some() || settings.fix.iter().any(|&rank| rank > 0);
    if !has_numbers {
        return Vec::new();
    }
    let parts = LaunchLine::of(found, command).parts;
    let ranks = parts.iter().map(|part| part.ranks).sum::<Option<usize>>();
    let Some(ranks) = ranks else { return Vec::new() };
    let mut sentences = Vec::new();
    if let Some(Slots::List(list)) = &settings.slots
        && let Some(topology) =
            settings.topology.as_deref().and_then(|text| topology::parse(text).ok())
    {
        sentences.extend(wrong_slots(list, topology.slots(), ranks));
    }
    sentences.extend(wrong_ranks(&settings.fix, ranks));
    sentences
}

/// About a list of slots, for a topology with `slots` of them and a launch with so many ranks. Slots behind those of
/// the last rank are not used.
fn wrong_slots(list: &[u32], slots: usize, ranks: usize) -> Option<String> {
    let kept = "the ranks keep the launcher's order";
    if let Some(slot) = list.iter().take(ranks).find(|&&slot| slot as usize >= slots) {
        let last = slots.saturating_sub(1);
        return Some(format!(
            "{} names slot {slot}, but the topology has the slots 0 to {last}: {kept}; try: use slots 0 to {last}",
            origin("slots")
        ));
    }
    (list.len() < ranks).then(|| {
        format!(
            "{} names {}, and the launch has {ranks} ranks: {kept}; try: name one slot for each rank",
            origin("slots"),
            counted(list.len(), "slot")
        )
    })
}

/// About ranks that are to stay where they are. Rank 0 is in every launch.
fn wrong_ranks(fixed: &[u32], ranks: usize) -> Option<String> {
    let rank = fixed.iter().find(|&&rank| rank > 0 && rank as usize >= ranks)?;
    let last = ranks.saturating_sub(1);
    Some(format!(
        "{} names rank {rank}, but the launch has the ranks 0 to {last}: the ranks keep the launcher's order; try: name \
         ranks from 0 to {last}",
        origin("fix")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::launcher::Launcher;

    fn sentences(command: &str, settings: &Settings) -> Vec<String> {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        let found = LocatedLauncher { launcher: Launcher::OpenMpi, position: 0 };
        wrong_numbers(&found, &words, settings)
    }

    #[test]
    fn numbers_are_compared_with_the_topology_and_the_ranks() {
        let settings = |slots: &str, fix: &[u32]| Settings {
            topology: Some("tree:2:2".into()),
            slots: Some(Slots::parse(slots).unwrap()),
            fix: fix.to_vec(),
            ..Settings::default()
        };
        let launch = "mpirun -n 2 ./app";
        assert!(sentences(launch, &settings("0-3", &[0, 1])).is_empty());
        // The third slot is not used.
        assert!(sentences(launch, &settings("0,3,99", &[0])).is_empty());
        let found = sentences(launch, &settings("0,4", &[0]));
        assert!(found.len() == 1 && found[0].contains("slot 4") && found[0].contains("0 to 3"));
        let found = sentences(launch, &settings("3", &[0, 2]));
        assert!(found[0].contains("names 1 slot, and the launch has 2 ranks"), "{found:?}");
        assert!(found[1].contains("rank 2") && found[1].contains("0 to 1"), "{found:?}");
        // Two programs have three ranks together.
        assert!(sentences("mpirun -n 2 ./app : -n 1 ./b", &settings("0-2", &[2])).is_empty());
    }

    #[test]
    fn what_is_not_known_or_not_used_is_not_compared() {
        let mut settings = Settings { fix: vec![9], ..Settings::default() };
        assert!(sentences("mpirun ./app", &settings).is_empty());
        for mode in [Mode::Record, Mode::Shuffle, Mode::Off] {
            settings.mode = mode;
            assert!(sentences("mpirun -n 2 ./app", &settings).is_empty());
        }
        settings = Settings { slots: Some(Slots::List(vec![99])), ..Settings::default() };
        assert!(sentences("mpirun -n 2 ./app", &settings).is_empty());
        settings.topology = Some("file:/does/not/exist.xml".into());
        assert!(sentences("mpirun -n 2 ./app", &settings).is_empty());
    }
}
