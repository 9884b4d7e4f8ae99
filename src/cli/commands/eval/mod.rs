//! `rankweave eval`: all metrics of a mapping.

mod noise;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::cli::arguments::bound::{BoundArgs, in_words, lower_bound};
use crate::cli::arguments::instance::{InstanceArgs, ObjectiveValue, cost_of, no_links, value_of};
use crate::cli::arguments::number_file;
use crate::cli::console::{Exit, output};
use crate::mapping::Objective;
use crate::metrics::{self, Evaluation};
use crate::report::units;
use noise::NoiseArgs;
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rankweave eval --matrix app.graph --topology tree:16:4:8@1:10:100
  rankweave eval --matrix app.graph --topology torus:8x8x8 --mapping order.txt
  rankweave eval --matrix lulesh --topology torus:8x8x8 --mapping order.txt --json
  rankweave eval --matrix m.csv --topology mesh:4x4 --objective hop-bytes
  rankweave eval --matrix m.csv --topology tree:4:4 --noise all --noise-levels 0.1,0.5,1,2";

/// Compute all metrics of a mapping
///
/// Without --mapping, these are the metrics of the launcher's order: task i on the i-th slot. With more tasks than slots,
/// every slot gets ⌈tasks/slots⌉ consecutive tasks.
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    instance: InstanceArgs,

    /// The mapping: line i (from 0) is the slot of task i
    #[arg(long, value_name = "FILE", conflicts_with = "noise")]
    mapping: Option<PathBuf>,

    /// Print this metric only: hop-bytes, total-hops, sum-com, max-com, mc, mmc or time
    #[arg(long, value_name = "OBJECTIVE")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Objective::ALL.map(Objective::name)))]
    #[arg(hide_possible_values = true)]
    objective: Option<String>,

    #[command(flatten)]
    lower: BoundArgs,

    #[command(flatten)]
    study: NoiseArgs,

    /// Print the metrics as JSON; those of links are null where the topology has no links
    #[arg(long)]
    json: bool,
}

/// The metrics as JSON.
#[derive(Serialize)]
struct MetricsSummary<'a> {
    schema: u32,
    #[serde(flatten)]
    metrics: &'a Evaluation,
    /// No mapping costs less in the objective, by default hop-bytes; left out if no bound was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bound: Option<ObjectiveValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_found_by: Option<&'a str>,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let objective: Objective = self.objective.as_deref().unwrap_or("hop-bytes").parse()?;
        let wants_bound = self.lower.wanted(objective)?;
        if wants_bound && self.study.wanted() {
            let what = "--noise studies many matrices, and a lower bound is about one";
            return Err(Error::new(ErrorKind::Usage, what)
                .advise("leave out --noise, or --bound and --certificate"));
        }
        let instance = self.instance.load()?;
        let mapping = match &self.mapping {
            Some(path) => number_file::mapping(path)?,
            None => instance.identity(),
        };
        let topology = instance.topology.as_ref();
        if self.study.wanted() {
            return self.study.execute(&instance, objective, self.json);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if self.objective.is_some() && !self.json && !wants_bound {
            output::print(&format!("{}\n", cost_of(objective, &instance, threads, &mapping)?))?;
            return Ok(Exit::Done);
        }
        let evaluation = metrics::evaluate_by(threads, &instance.matrix, topology, &mapping)?;
        let certificate = self.lower.find(&instance, &mapping, objective)?;
        if self.json {
            output::print_json(&MetricsSummary {
                schema: 1,
                metrics: &evaluation,
                lower_bound: certificate.as_ref().map(lower_bound),
                bound_found_by: certificate.as_ref().map(|c| c.found_by.as_str()),
            })?;
        } else if self.objective.is_some() {
            let value =
                value_of(objective, &evaluation).ok_or_else(|| no_links(objective, topology))?;
            output::print(&format!("{value}\n"))?;
        } else {
            let cost =
                value_of(objective, &evaluation).ok_or_else(|| no_links(objective, topology))?;
            let words = in_words(certificate.as_ref(), cost);
            output::print(&(text(&evaluation) + &words))?;
        }
        Ok(Exit::Done)
    }
}

fn text(e: &Evaluation) -> String {
    let real = |x: f64| format!("{x:.3}");
    let none = || "-".to_string();
    let rows = [
        ("hop_bytes", e.hop_bytes.to_string(), "bytes times distance, all pairs"),
        ("total_hops", e.total_hops.to_string(), "distance, all pairs with traffic"),
        ("avg_hops", real(e.avg_hops), "mean distance of a pair"),
        ("hops_per_byte", real(e.hops_per_byte), "mean distance of a byte"),
        ("max_dilation", e.max_dilation.to_string(), "largest distance of a pair"),
        ("sum_com", e.sum_com.to_string(), "cost, all pairs"),
        ("max_com", e.max_com.to_string(), "cost of the most expensive pair"),
        ("mc", e.mc.map_or_else(none, real), "most bytes over bandwidth on a link"),
        ("mmc", e.mmc.map_or_else(none, |n| n.to_string()), "most pairs on a link"),
        ("ac", e.ac.map_or_else(none, real), "mean bytes over bandwidth of the links in use"),
        ("amc", e.amc.map_or_else(none, real), "mean pairs of the links in use"),
        ("icv", e.icv.to_string(), "bytes between nodes"),
        ("icm", e.icm.to_string(), "pairs between nodes"),
        ("mnrv", e.mnrv.to_string(), "most bytes that a node receives"),
        ("mnrm", e.mnrm.to_string(), "most pairs in which a node receives"),
        ("time", e.predicted_time.map_or_else(none, real), "all traffic at once, in bytes"),
    ];
    let row =
        |(name, value, what): &(&str, String, &str)| format!("{name:<14}{value:>20}  {what}\n");
    rows.iter().map(row).collect::<String>() + &rails(e)
}

/// The rows about rails; nothing if the topology has none.
fn rails(e: &Evaluation) -> String {
    /// The most rails that are listed; the JSON has all.
    const MOST: usize = 16;
    let Some(rails) = &e.rails else { return String::new() };
    let rows = [
        ("rail_busiest", rails.busiest.to_string(), "bytes of the busiest rail in one direction"),
        ("rail_balance", format!("{:.3}", rails.imbalance), "busiest rails over even ones"),
        ("rail_cost", rails.uneven_cost.to_string(), "what uneven rails cost, in hop-bytes"),
    ];
    let row =
        |(name, value, what): &(&str, String, &str)| format!("{name:<14}{value:>20}  {what}\n");
    let mut text: String = rows.iter().map(row).collect();
    for load in rails.loads.iter().take(MOST) {
        let name = units::printable(&format!("{} {}", load.node, load.rail));
        text += &format!(
            "{name:<14}{:>20}  bytes out, {} in, {}\n",
            load.sent,
            load.received,
            counted(load.tasks, "task")
        );
    }
    if rails.loads.len() > MOST {
        text += &format!("… and {}\n", counted(rails.loads.len() - MOST, "more rail"));
    }
    text
}
