//! A certificate: a lower bound of an objective, with the data from which the bound can be computed again.
//!
//! [`super::check`] reads it. It is written as JSON. All numbers that a proof needs are whole, so nothing depends
//! on rounding.

use serde::{Deserialize, Serialize};

/// A lower bound with its proof.
///
/// It holds for all mappings of the matrix to the given slots that put at most `capacity` tasks on a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The version of this form.
    pub schema: u32,
    /// The name of the objective.
    pub objective: String,
    /// Number of tasks.
    pub tasks: usize,
    /// The most tasks on one slot.
    pub capacity: u32,
    /// No mapping costs less than this.
    pub bound: u64,
    /// The same as a real number, for objectives that are no whole numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_bound: Option<f64>,
    /// How the bound was found, in words.
    pub found_by: String,
    /// What the bound follows from.
    pub proof: Proof,
}

/// What a bound follows from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A sum over parts of the traffic, each of which costs at least something on any topology.
    Distances(Packing),
    /// A sum over the levels of a tree, the outermost first.
    Levels(Vec<LevelProof>),
    /// The loads of links: what the ends of messages send, and the mean load that follows from a proof of sums.
    Links(Option<Box<Proof>>),
}

/// Why so much traffic leaves the groups of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LevelProof {
    /// Every group has too few places for the partners of its tasks.
    Packing(Packing),
    /// The tasks are points of a grid, and every group has a surface.
    Grid(GridWitness),
}

/// Traffic divided into flows and cliques. They use no pair more than its traffic, times `scale`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packing {
    /// What the amounts are divided by.
    pub scale: u64,
    /// What tasks send to other tasks, along pairs with traffic.
    pub flows: Vec<Flow>,
    /// Tasks all pairs of which have at least so much traffic.
    pub cliques: Vec<Clique>,
}

/// What one task sends to others: arcs `[from, to, amount]` along pairs with traffic. What enters a task and does
/// not leave it is meant for that task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The task that sends.
    pub task: u32,
    /// `[from, to, amount]`.
    pub arcs: Vec<(u32, u32, u64)>,
}

/// Tasks each pair of which uses `amount` of its traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clique {
    /// The tasks.
    pub tasks: Vec<u32>,
    /// What each of their pairs uses.
    pub amount: u64,
}

/// A grid of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridWitness {
    /// Points in each dimension.
    pub dims: Vec<u32>,
    /// Whether each dimension is a ring.
    pub periodic: Vec<bool>,
    /// The point of every task.
    pub points: Vec<Vec<u32>>,
}
