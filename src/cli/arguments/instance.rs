//! The input of `map` and `eval`: a matrix, a topology and the slots that may be used.

use super::selection::{self, KindArg, StoreArgs};
use crate::base::error::{Error, ErrorKind, Result};
use crate::formats::FORMATS;
use crate::mapping::Objective;
use crate::mapping::evaluation::parts_of;
use crate::matrix::SparseMatrix;
use crate::metrics::{self, Evaluation};
use crate::options::Slots;
use crate::topology::{self, Topology};
use std::path::Path;

/// Options of the instance.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct InstanceArgs {
    /// The matrix: a record (key or file), or a file of any format that 'import' reads
    #[arg(long, short, value_name = "M", long_help = help_of_matrix())]
    matrix: String,

    /// The topology, such as tree:2:16:32@1:10:100 or torus:16x16x16
    ///
    /// tree:2:16:32@1:10:100 (arity from the leaves up, distance of two slots whose lowest common
    /// level is 1, 2, 3, where 1 is the innermost; without @… 2:4:6), torus:16x16x16, mesh:32x32, hypercube:10,
    /// dragonfly:9x4x2, fattree:18:18:36, hwloc:FILE.xml, hwloc-synthetic:"pack:2 core:8 pu:1",
    /// scotch:FILE.tgt, fabric:FILE (ibnetdiscover, Slurm, topograph, cables, SimGrid), graph:FILE.graph (any network,
    /// hop distance), dist:FILE (distance matrix).
    #[arg(long, short, value_name = "T")]
    topology: String,

    /// The slots that may be used, in the order in which the launcher fills them [default: all]
    ///
    /// A file with one slot a line, or a list such as 0,1,8-11. Unlike --slots of 'run', which has the slot of each
    /// process, this is a choice among the slots of the topology.
    #[arg(long, value_name = "FILE")]
    slots: Option<String>,

    /// Which kinds of traffic: p2p, collective, onesided or all
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: KindArg,

    #[command(flatten)]
    store: StoreArgs,
}

/// The long help of `--matrix`, with every format that can be read.
fn help_of_matrix() -> String {
    let read = FORMATS.iter().filter(|format| format.reads());
    let names: Vec<String> =
        read.map(|format| format!("{}: {}", format.name, format.about)).collect();
    format!(
        "The matrix: a record (key or file), or a file of any format that 'import' reads\n\nFormats: {}. The content of \
         the file tells its format. - is standard input.",
        names.join("; ")
    )
}

/// A matrix, a topology, the slots that may be used.
pub(in crate::cli) struct Instance {
    pub(in crate::cli) matrix: SparseMatrix,
    pub(in crate::cli) topology: Box<dyn Topology>,
    /// In the order in which a launcher fills them.
    pub(in crate::cli) slots: Vec<usize>,
}

impl InstanceArgs {
    pub(in crate::cli) fn load(&self) -> Result<Instance> {
        let record = selection::record(&self.matrix, || self.store.open())?;
        let topology = topology::parse(&self.topology)?;
        let slots: Vec<usize> = match &self.slots {
            None => (0..topology.slots()).collect(),
            Some(text) => {
                // If there is a file with the name 7, the file is meant.
                let list = match Path::new(text).is_file() {
                    true => Slots::File(text.into()),
                    false => Slots::parse(text.trim()).map_err(|e| e.at("--slots"))?,
                };
                list.read()?.into_iter().map(|slot| slot as usize).collect()
            }
        };
        if let Some(slot) = slots.iter().find(|&&slot| slot >= topology.slots()) {
            return Err(Error::new(ErrorKind::Infeasible, format!("slot {slot} does not exist"))
                .at(topology.name())
                .advise(format!("use slots 0 to {}", topology.slots().saturating_sub(1))));
        }
        Ok(Instance { matrix: record.matrix.into_sum_of(self.kind.kinds()), topology, slots })
    }

    /// Another matrix, read in the same way.
    pub(in crate::cli) fn other_matrix(&self, text: &str) -> Result<SparseMatrix> {
        let record = selection::record(text, || self.store.open())?;
        Ok(record.matrix.into_sum_of(self.kind.kinds()))
    }
}

impl Instance {
    /// The launcher's order: task t is on the t-th slot. If there are more tasks than slots, each slot gets as many
    /// consecutive tasks as the largest share is, as for `map --oversubscribe`.
    pub(in crate::cli) fn identity(&self) -> Vec<usize> {
        let tasks = self.matrix.tasks();
        let share = tasks.div_ceil(self.slots.len().max(1)).max(1);
        (0..tasks).filter_map(|task| self.slots.get(task / share).copied()).collect()
    }
}

/// The value of an objective: a whole or a real number.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum ObjectiveValue {
    Whole(u128),
    Real(f64),
}

impl std::fmt::Display for ObjectiveValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObjectiveValue::Whole(n) => write!(f, "{n}"),
            ObjectiveValue::Real(x) => write!(f, "{x}"),
        }
    }
}

/// The cost of a mapping. The metrics of links are computed only if the objective needs them: off trees, they take far longer
/// than all others.
pub(in crate::cli) fn cost_of(
    objective: Objective,
    instance: &Instance,
    threads: usize,
    slot_of_task: &[usize],
) -> Result<ObjectiveValue> {
    let (matrix, topology) = (&instance.matrix, instance.topology.as_ref());
    let parts = parts_of(objective);
    let e = metrics::evaluate_parts(parts, threads, matrix, topology, slot_of_task)?;
    value_of(objective, &e).ok_or_else(|| no_links(objective, topology))
}

/// The value of an objective; `None` if the objective needs links and the topology has none.
pub(in crate::cli) fn value_of(objective: Objective, e: &Evaluation) -> Option<ObjectiveValue> {
    Some(match objective {
        Objective::HopBytes => ObjectiveValue::Whole(e.hop_bytes),
        Objective::TotalHops => ObjectiveValue::Whole(e.total_hops),
        Objective::SumCom => ObjectiveValue::Whole(e.sum_com),
        Objective::MaxCom => match e.max_com.whole() {
            Some(whole) => ObjectiveValue::Whole(whole),
            None => ObjectiveValue::Real(e.max_com.real()),
        },
        Objective::Mc => ObjectiveValue::Real(e.mc?),
        Objective::Mmc => ObjectiveValue::Whole(u128::from(e.mmc?)),
        Objective::Time => ObjectiveValue::Real(e.predicted_time?),
    })
}

/// An error for an objective that a topology cannot have.
pub(in crate::cli) fn no_links(objective: Objective, topology: &dyn Topology) -> Error {
    Error::new(
        ErrorKind::Infeasible,
        format!("{} needs links, and this topology has none", objective.name()),
    )
    .at(topology.name())
    .advise("use hop-bytes, or a topology with links such as torus:, fattree:, graph:")
}
