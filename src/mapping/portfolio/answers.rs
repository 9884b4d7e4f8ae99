//! The answers of the portfolio: those of the preset, and before them those of all weaker presets.
//!
//! Each preset makes its answers from the problem alone, and never from the answers of another preset. So a stronger
//! preset has all answers of the weaker ones, and the best of them is never worse.

use super::candidate::Candidate;
use super::few_loads;
use super::few_tasks::{Found, best_of_all};
use super::generators::Candidates;
use super::inside_nodes;
use super::judge::Judge;
use super::objectives::{lower_largest, lower_links, lower_times};
use super::refine::refined;
use super::{Effort, Metric, polish};
use crate::mapping::engine::{Distance, Prepared, with_distance};
use crate::mapping::papers::umpa_congestion;
use crate::mapping::refinement::{FewTasks, TABU_PLACES};
use crate::mapping::{Budget, Objective, Outcome, Preset, Problem};

/// Rounds in which each preset makes answers of the preset `fast` from other random numbers, where mappings with the same
/// predicted time are simulated.
const SIMULATED_ROUNDS: [u64; 3] = [2, 6, 16];

/// Before the number of such a round. No other search has rounds with these numbers.
const SIMULATED: u64 = 1 << 32;

/// Gives all answers for a problem to its judge.
pub(super) fn answers(problem: &Problem<'_>, budget: &Budget, best: &mut Judge<'_, '_>) {
    let mut prepared = Prepared::by(budget.threads(), problem);
    let optimal = of_presets(&prepared, best, budget);
    if optimal || problem.preset() != Preset::Strong || !budget.uses_all() {
        return;
    }
    // The user gives time, so the search goes on with other random numbers: in turn from the best answer and anew.
    for round in 1u64.. {
        if budget.expired() {
            break;
        }
        prepared.set_round(round);
        let going = match best.best().filter(|_| round % 2 == 1) {
            Some(known) => {
                let start = prepared.by_vertex(known.place_of_task.clone());
                let effort = Effort::new(Preset::Strong, problem.tasks(), Metric::of(&prepared));
                let place_of = prepared.by_task(polish(&prepared, start, &effort, budget));
                let again = Outcome::new(problem, place_of);
                let again = again.with("chosen", "refined with the time left");
                take_with_own_search(&prepared, Preset::Strong, again, best, budget);
                true
            }
            None => anew(&prepared, Preset::Strong, best, budget),
        };
        if !going {
            break;
        }
    }
}

/// More answers with the same predicted time as the best one, where a simulation may find one of them faster. A stronger preset
/// has all rounds of the weaker ones, each after the same answers.
fn more_to_simulate(
    problem: &Problem<'_>,
    preset: Preset,
    best: &mut Judge<'_, '_>,
    budget: &Budget,
) {
    let earlier: u64 = SIMULATED_ROUNDS[..preset as usize].iter().sum();
    let mut prepared = None;
    for round in 0..SIMULATED_ROUNDS[preset as usize] {
        if budget.expired() || !best.gains_by_simulation() {
            break;
        }
        let prepared = prepared.get_or_insert_with(|| Prepared::by(budget.threads(), problem));
        prepared.set_round(SIMULATED + earlier + round);
        anew(prepared, Preset::Fast, best, budget);
    }
}

/// Gives the judge an answer of this round of random numbers. False if there is none.
fn anew(
    prepared: &Prepared<'_, '_>,
    preset: Preset,
    best: &mut Judge<'_, '_>,
    budget: &Budget,
) -> bool {
    let mut candidates = Candidates::new(prepared, budget);
    let (candidates, effort) = candidates.of(preset);
    let Some((found, _)) = refined(prepared, candidates, &effort, budget) else { return false };
    let place_of = prepared.by_task(found.place_of);
    let again = Outcome::by(budget.threads(), prepared.problem, place_of);
    take_with_own_search(prepared, preset, again.with("chosen", found.name), best, budget);
    true
}

/// Gives the judge an answer, and before it what the objective's own search makes of it.
fn take_with_own_search(
    prepared: &Prepared<'_, '_>,
    preset: Preset,
    answer: Outcome,
    best: &mut Judge<'_, '_>,
    budget: &Budget,
) {
    let lowered = by_own_search(prepared, preset, &answer, budget);
    lowered.into_iter().chain([answer]).for_each(|answer| best.take(answer));
}

/// Gives the answers of all presets up to that of the problem to the judge. True if no mapping is better in the objective
/// than the best of them.
fn of_presets(prepared: &Prepared<'_, '_>, best: &mut Judge<'_, '_>, budget: &Budget) -> bool {
    let problem = prepared.problem;
    let weighed = problem.with_objective(Objective::HopBytes);
    // The answer for hop-bytes may still be better in total hops.
    let by_bytes = (problem.objective() == Objective::TotalHops)
        .then(|| Prepared::by(budget.threads(), &weighed));
    let mut candidates = Candidates::new(prepared, budget);
    let mut others = by_bytes.as_ref().map(|other| (other, Candidates::new(other, budget)));
    let mut optimal = false;
    // No placement has a lower largest load.
    let mut least_load = false;
    for preset in problem.preset().and_cheaper() {
        if preset != Preset::Fast && budget.expired() {
            break;
        }
        best.allow(preset);
        if let Some((other, candidates)) = &mut others
            && let Some((answer, _)) = by_hops(other, candidates, preset, budget)
        {
            best.take(answer);
        }
        let Some((answer, least)) = by_hops(prepared, &mut candidates, preset, budget) else {
            continue;
        };
        let mut found = vec![answer];
        found.extend(by_own_search(prepared, preset, &found[0], budget));
        if budget.expired() {
            // Not all may be judged. What the search made of the first one is most likely better.
            found.reverse();
        }
        found.into_iter().for_each(|answer| best.take(answer));
        if !budget.expired() {
            by_paper(problem, preset, budget).into_iter().for_each(|answer| best.take(answer));
        }
        if !least_load && let Some(known) = best.value() {
            let found = few_loads::better(problem, preset, known, budget);
            least_load = found.as_ref().is_some_and(|found| found.complete);
            let place_of = found.and_then(|found| found.place_of);
            place_of.into_iter().for_each(|place_of| {
                best.take(Outcome::new(problem, place_of).with("chosen", "branch and bound"));
            });
        }
        if preset == Preset::Fast {
            from_given_order(prepared, budget).into_iter().for_each(|answer| best.take(answer));
        }
        more_to_simulate(problem, preset, best, budget);
        optimal = least;
        if optimal && is_sum(problem.objective()) {
            break;
        }
    }
    least_load || optimal && is_sum(problem.objective())
}

/// The best answer in hops, weighted as the graph of the problem is, and whether there is no better one.
fn by_hops(
    prepared: &Prepared<'_, '_>,
    candidates: &mut Candidates<'_, '_, '_>,
    preset: Preset,
    budget: &Budget,
) -> Option<(Outcome, bool)> {
    let problem = prepared.problem;
    let (candidates, effort) = candidates.of(preset);
    let (mut best, mut cost) = refined(prepared, candidates, &effort, budget)?;
    let mut optimal = prepared.tree.is_none() && cost.is_some_and(|cost| prepared.is_least(cost));
    if !optimal && super::few_tasks::are_few(prepared) {
        let known = *cost.get_or_insert_with(|| prepared.cost(&best.place_of));
        let Found { place_of, complete } = best_of_all(prepared, known, preset, budget);
        optimal = complete;
        if let Some(place_of) = place_of {
            let name = if complete { "best of all" } else { "branch and bound" };
            best = Candidate::new(name, place_of);
        }
    }
    if !optimal && let Some(place_of) = by_tabu(prepared, &best, cost, &effort, budget) {
        best = Candidate::new("tabu search", place_of);
    }
    let place_of = prepared.by_task(best.place_of);
    Some((Outcome::by(budget.threads(), problem, place_of).with("chosen", best.name), optimal))
}

/// A better placement than the best candidate by tabu search, if there are few places.
fn by_tabu(
    prepared: &Prepared<'_, '_>,
    best: &Candidate,
    cost: Option<i128>,
    effort: &Effort,
    budget: &Budget,
) -> Option<Vec<u32>> {
    let places = prepared.problem.places().len();
    if places > TABU_PLACES {
        return None;
    }
    let known = cost.unwrap_or_else(|| prepared.cost(&best.place_of));
    let is_fixed = |v| prepared.fixed_place(v).is_some();
    let few = with_distance!(&prepared.lookup, d => {
        FewTasks::new(&prepared.graph, places, |a, b| d.between(a, b), is_fixed)
    });
    let rng = &mut prepared.rng.fork(0x7ab0);
    let place_of = few.better(&best.place_of, effort.tabu_pairs, rng, budget)?;
    // The search may have rounded the weights.
    (prepared.cost(&place_of) < known).then_some(place_of)
}

/// The given order after the search for the objective, where this does not depend on the preset.
fn from_given_order(prepared: &Prepared<'_, '_>, budget: &Budget) -> Option<Outcome> {
    let problem = prepared.problem;
    if problem.objective() != Objective::MaxCom {
        return None;
    }
    let start = prepared.by_vertex(problem.identity_places());
    let place_of = prepared.by_task(lower_largest(prepared, start, budget));
    Some(Outcome::new(problem, place_of).with("chosen", "given order, largest pair lowered"))
}

/// True if the objective is a sum over all pairs of tasks.
fn is_sum(objective: Objective) -> bool {
    matches!(objective, Objective::HopBytes | Objective::SumCom | Objective::TotalHops)
}

/// The answers of the objective's own searches, which start from the answer in hops. None after the time limit: to
/// begin such a search, all loads are summed up.
fn by_own_search(
    prepared: &Prepared<'_, '_>,
    preset: Preset,
    by_hops: &Outcome,
    budget: &Budget,
) -> Vec<Outcome> {
    if budget.expired() {
        return Vec::new();
    }
    let problem = prepared.problem;
    let answer = |place_of, name| vec![Outcome::new(problem, place_of).with("chosen", name)];
    let start = by_hops.place_of_task.clone();
    match problem.objective() {
        Objective::MaxCom => {
            let start = prepared.by_vertex(by_hops.place_of_task.clone());
            let place_of = prepared.by_task(lower_largest(prepared, start, budget));
            answer(place_of, "largest pair lowered")
        }
        Objective::Mc | Objective::Mmc => lower_links(prepared, preset, start, budget)
            .map_or_else(Vec::new, |place_of| answer(place_of, "most loaded link lowered")),
        Objective::Time => {
            let mut answers = Vec::new();
            let mut add = |mut place_of: Vec<u32>, name| {
                inside_nodes::settle(problem, &mut place_of, budget);
                answers.extend(answer(place_of, name));
            };
            if !choose_hop_by_hop(problem)
                && let Some(place_of) = lower_links(prepared, preset, start.clone(), budget)
            {
                add(place_of, "most loaded link lowered");
            }
            if !budget.expired() {
                let lowered = lower_times(prepared, preset, start, budget);
                lowered.into_iter().for_each(|place_of| add(place_of, "times of links lowered"));
            }
            answers
        }
        Objective::TotalHops | Objective::HopBytes | Objective::SumCom => Vec::new(),
    }
}

/// True if messages choose hop by hop. There, the loads of fixed routes say little about the time.
fn choose_hop_by_hop(problem: &Problem<'_>) -> bool {
    problem.topology().network().is_some_and(|network| network.routing().chooses())
}

/// The answer of the UMPA paper's refinement for objectives of links. Its groups depend on the preset.
fn by_paper(problem: &Problem<'_>, preset: Preset, budget: &Budget) -> Option<Outcome> {
    let problem = &problem.with_preset(preset);
    // On large machines this takes longer than all other steps together.
    if problem.tasks() > 4096 {
        return None;
    }
    let (answer, name) = match problem.objective() {
        Objective::Mmc => (umpa_congestion::by_messages(problem, budget), "umpa-mmc"),
        Objective::Time if choose_hop_by_hop(problem) => return None,
        Objective::Mc | Objective::Time => (umpa_congestion::by_bytes(problem, budget), "umpa-mc"),
        _ => return None,
    };
    answer.ok().map(|outcome| outcome.with("chosen", name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::portfolio::candidate::Origin;
    use crate::matrix::Graph;
    use crate::matrix::synthetic::pattern;
    use crate::topology::parse;

    /// Lines of 24 and 18 points that talk four times as much in pairs, with other numbers.
    fn lines_with_pairs() -> Graph {
        let mut edges = Vec::new();
        for v in 0..24 * 18u32 {
            let (row, column) = (v / 18, v % 18);
            let weight = |a: u32, b: u32| if a / 2 == b / 2 { 8 } else { 2 };
            edges.extend((0..row).map(|r| (v, r * 18 + column, weight(r, row))));
            edges.extend((0..column).map(|c| (v, row * 18 + c, weight(c, column))));
        }
        let number = |v: u32| v * 85 % 432;
        let edges: Vec<_> = edges.into_iter().map(|(a, b, w)| (number(a), number(b), w)).collect();
        Graph::from_edges(432, &edges)
    }

    /// The costs after local search: of the candidates of an origin, of all others, and of both together.
    fn costs(graph: &Graph, machine: &str, preset: Preset, origin: Origin) -> (i128, i128, i128) {
        let topology = parse(machine).unwrap();
        let problem = Problem::builder(graph, topology.as_ref()).preset(preset).build().unwrap();
        let (prepared, budget) = (Prepared::new(&problem), Budget::unlimited());
        let (all, effort) = Candidates::new(&prepared, &budget).of(preset);
        let cost = |list: Vec<Candidate>| {
            let (best, _) = refined(&prepared, list, &effort, &budget).unwrap();
            prepared.cost(&best.place_of)
        };
        let (of_origin, others) = all.iter().cloned().partition(|c| c.origin == origin);
        (cost(of_origin), cost(others), cost(all))
    }

    /// Before local search, the placements by the lines and by the stencil cost less than the one by a search, and
    /// more after it: with lines, mappings were up to 6 % worse than without.
    #[test]
    fn the_next_candidate_is_refined_where_lines_do_not_tell_all() {
        let machine = "tree:36:2:6@1:5:50";
        let (lines, others, both) =
            costs(&lines_with_pairs(), machine, Preset::Fast, Origin::UnevenLines);
        assert!(others < lines, "{others} {lines}");
        assert_eq!(both, others);
    }

    /// Clusters in blocks cost more than lines in digits before local search, and less after it: mappings were 2 %
    /// worse than without lines.
    #[test]
    fn the_next_candidate_is_refined_behind_lines_on_a_grid() {
        let graph = pattern("lines:9x4x4,shuffle=1").unwrap();
        let (lines, others, both) =
            costs(&graph, "mesh:4x3x12", Preset::Default, Origin::EvenLines);
        assert!(others < lines, "{others} {lines}");
        assert_eq!(both, others);
    }
}
