//! Does a program mix the ranks of a communicator with those of the one it was made from?
//!
//! A constructor of a topology that may reorder gives processes new ranks. A program that was never tested
//! with new ranks may confuse the ranks of the two communicators: it sends to the new ranks of its
//! neighbours on the old communicator, or it computes its neighbours from its old rank. As long as both
//! communicators have the same ranks, that is right. With new ranks the messages go to tasks that are
//! not neighbours, and the results are wrong.
//!
//! Each process reports to which tasks it sent messages after the constructor ([`Sets::sign`]). Two sets
//! of tasks matter: those to which only such a mistake leads (wrong), and the true neighbours to which it
//! does not lead (right). A process shows the sign of a mistake if at least a third of the wrong tasks got
//! messages (some programs send one way only), no right task did, and at least half of its partners
//! are tasks to which the mistake leads. [`Tally::verdict`] judges all processes together. It believes
//! the mistake if three quarters of the processes that can show its sign do, and if chance is an unlikely
//! explanation: the probability that as many partners, chosen at random, look the same (hypergeometric,
//! each process independent of the others) is below `CHANCE`.
//!
//! A process that sends to its true neighbours in the new communicator shows no sign. Messages to its old
//! neighbours by their old ranks are no sign either: the program goes on with the old communicator.
//!
//! Limits: collective calls are not looked at, so data gathered on the old communicator by new
//! ranks is not noticed; in jobs of fewer than about eight processes chance cannot be ruled out; messages
//! with another meaning on the same pairs hide a mistake.

use crate::base::nouns::counted;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// If a coincidence is at least as probable as this, no mistake is reported.
const CHANCE: f64 = 1e-4;

/// What is taken for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Ranks of the new communicator are used on the old one.
    NewNumbers,
    /// The rank in the old communicator is taken for that in the new one.
    OldRank,
}

impl Mistake {
    /// All of them, in the order of [`Sign::counts`].
    pub const ALL: [Mistake; 2] = [Mistake::NewNumbers, Mistake::OldRank];

    /// What the processes did, for a sentence that begins with how many.
    pub fn words(self) -> &'static str {
        match self {
            Mistake::NewNumbers => "used rank numbers of the new communicator on the old one",
            Mistake::OldRank => "used their old rank to choose neighbours in the new communicator",
        }
    }
}

/// A process in both communicators, and its neighbours.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Task of each old rank.
    pub tasks: &'a [u32],
    /// Old rank of the process with each new rank.
    pub order: &'a [u32],
    /// Old rank of this process.
    pub rank: u32,
    /// New ranks of the neighbours that it sends to.
    pub to: &'a [u32],
    /// New ranks of the neighbours that it receives from.
    pub from: &'a [u32],
    /// Neighbours, by new rank, that it would send to if its new rank were its old one.
    pub mistaken: &'a [u32],
}

/// The tasks by which right use and wrong use can be distinguished, for one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sets {
    by_mistake: [Led; 2],
}

/// Where a mistake leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Led {
    /// Tasks that it leads to.
    to: BTreeSet<u32>,
    /// Those that nothing right leads to.
    wrong: BTreeSet<u32>,
    /// True neighbours that it does not lead to.
    right: BTreeSet<u32>,
}

impl Sets {
    /// Numbers out of range are left out.
    pub fn new(view: View<'_>) -> Sets {
        let old = |rank: &u32| view.tasks.get(*rank as usize).copied();
        let new = |rank: &u32| view.order.get(*rank as usize).and_then(old);
        let mine = old(&view.rank);
        let set = |tasks: &mut dyn Iterator<Item = u32>| -> BTreeSet<u32> {
            tasks.filter(|&task| Some(task) != mine).collect()
        };
        let truth = set(&mut view.to.iter().chain(view.from).filter_map(new));
        let kept = set(&mut view.mistaken.iter().filter_map(old));
        let wrong = [
            set(&mut view.to.iter().filter_map(old)),
            set(&mut view.mistaken.iter().filter_map(new)),
        ];
        Sets {
            by_mistake: wrong.map(|to| Led {
                wrong: to.difference(&truth).copied().filter(|t| !kept.contains(t)).collect(),
                right: truth.difference(&to).copied().collect(),
                to,
            }),
        }
    }

    /// True if this process cannot show a sign of anything.
    pub fn is_empty(&self) -> bool {
        self.by_mistake.iter().all(|led| led.wrong.is_empty() || led.right.is_empty())
    }

    /// What partners say: the tasks that got messages after the constructor, of `others` that could
    /// have. `right`: the process is known to have sent to its true neighbours in another way.
    pub fn sign(&self, partners: &BTreeSet<u32>, others: u32, right: bool) -> Sign {
        let among = |set: &BTreeSet<u32>| set.intersection(partners).count() as u32;
        let counts = self.by_mistake.each_ref().map(|led| Counts {
            met: among(&led.to),
            wrong: led.wrong.len() as u32,
            wrong_met: among(&led.wrong),
            right: led.right.len() as u32,
            right_met: if right { led.right.len() as u32 } else { among(&led.right) },
        });
        Sign { partners: partners.len() as u32, others, counts }
    }
}

/// How many tasks of a kind there are, and how many of them got messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Tasks with messages that the mistake leads to.
    pub met: u32,
    /// Tasks that only the mistake leads to.
    pub wrong: u32,
    /// Of these, with messages.
    pub wrong_met: u32,
    /// True neighbours that the mistake does not lead to.
    pub right: u32,
    /// Of these, with messages.
    pub right_met: u32,
}

impl Counts {
    /// Whether the process can show a sign.
    fn tells(&self) -> bool {
        self.wrong > 0 && self.right > 0
    }

    /// Whether it does, with so many partners.
    fn is_sign(&self, partners: u32) -> bool {
        let most = 2 * u64::from(self.met) >= u64::from(partners);
        let enough = 3 * u64::from(self.wrong_met) >= u64::from(self.wrong);
        self.tells() && most && enough && self.right_met == 0
    }
}

/// What one process says about one constructor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    /// Tasks that got messages since.
    pub partners: u32,
    /// Tasks that could have.
    pub others: u32,
    /// By [`Mistake::ALL`].
    pub counts: [Counts; 2],
}

/// What the processes say about one constructor, together.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// For each mistake `(able, signs, nats)`. `able` is the number of processes that can show the sign. `signs` is the
    /// number of processes that show it. `nats` is minus the logarithm of the probability that unrelated partners
    /// look the same.
    by_mistake: [(u32, u32, f64); 2],
}

/// A mistake that is believed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixed {
    /// The mistake.
    pub mistake: Mistake,
    /// The number of processes that show it.
    pub signs: u32,
    /// The number of processes that could show it.
    pub able: u32,
}

impl Tally {
    /// Adds a process.
    pub fn add(&mut self, sign: &Sign) {
        for ((able, signs, nats), counts) in self.by_mistake.iter_mut().zip(&sign.counts) {
            *able += u32::from(counts.tells());
            if counts.is_sign(sign.partners) {
                *signs += 1;
                *nats -= coincidence(sign.others, sign.partners, counts);
            }
        }
    }

    /// The mistake that is believed, if any.
    pub fn verdict(&self) -> Option<Mixed> {
        let believed = |(mistake, &(able, signs, nats)): (Mistake, &(u32, u32, f64))| {
            // Chance has as many ways to make this evidence as there are ways to choose the processes that show it.
            let surprise = nats - ln_choose(able.into(), signs.into());
            let many = signs > 0 && 4 * u64::from(signs) >= 3 * u64::from(able);
            (many && surprise >= -libm::log(CHANCE))
                .then_some((surprise, Mixed { mistake, signs, able }))
        };
        let both = Mistake::ALL.into_iter().zip(&self.by_mistake).filter_map(believed);
        both.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, mixed)| mixed)
    }
}

/// Logarithm of the probability of what a process shows, if its partners were chosen at random. `partners` tasks
/// are drawn from `others` tasks. The probability is that none of them is a right neighbour, and that at least
/// `counts.wrong_met` of them are wrong neighbours.
fn coincidence(others: u32, partners: u32, counts: &Counts) -> f64 {
    let (others, partners) = (u64::from(others), u64::from(partners));
    let (wrong, right) = (u64::from(counts.wrong), u64::from(counts.right));
    let rest = others.saturating_sub(wrong + right);
    let all = ln_choose(others, partners);
    let mut sum = 0.0;
    for met in u64::from(counts.wrong_met)..=wrong.min(partners) {
        if partners - met <= rest {
            sum += libm::exp(ln_choose(wrong, met) + ln_choose(rest, partners - met) - all);
        }
    }
    // The sum is empty only for numbers that contradict each other: no evidence.
    if sum > 0.0 { libm::log(sum).min(0.0) } else { 0.0 }
}

/// Logarithm of the number of ways to choose `k` of `n` elements, with `k` at most `n`.
fn ln_choose(n: u64, k: u64) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n.saturating_sub(k))
}

fn ln_factorial(n: u64) -> f64 {
    if n < 16 {
        return (2..=n).map(|i| libm::log(i as f64)).sum();
    }
    // Stirling's series; the next term is below 1e-9.
    let x = n as f64;
    let tail = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3));
    x * libm::log(x) - x + 0.5 * libm::log(2.0 * std::f64::consts::PI * x) + tail
}

/// The statements of all processes of a job. The key is `id` and `ordinal` of the statements about one call. The
/// value is the name of the MPI function, and the tally of these statements.
#[derive(Debug, Clone, Default)]
pub struct Tallies(BTreeMap<(u64, u32), (String, Tally)>);

/// The statement of one process about one call of a constructor. `id` and `ordinal` are the same in all processes
/// that made the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// A number for the processes and their order.
    pub id: u64,
    /// The number of earlier calls with this `id`.
    pub ordinal: u32,
    /// Name of the MPI function.
    pub what: String,
    /// What the counters of the process show.
    pub sign: Sign,
}

impl Tallies {
    /// Adds the statements of a process.
    pub fn add(&mut self, statements: &[Statement]) {
        for said in statements {
            let entry = self.0.entry((said.id, said.ordinal)).or_default();
            entry.0.clone_from(&said.what);
            entry.1.add(&said.sign);
        }
    }

    /// The first mistake that is believed, in a sentence without an end.
    pub fn verdict(&self) -> Option<String> {
        self.0.values().find_map(|(what, tally)| {
            let Mixed { mistake, signs, able } = tally.verdict()?;
            let words = mistake.words();
            Some({
                let able = counted(able, "process");
                format!("after {what} gave new ranks, {signs} of {able} {words}")
            })
        })
    }
}

#[cfg(test)]
#[path = "mixed_ranks_tests.rs"]
mod tests;
