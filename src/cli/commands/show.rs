//! `rankweave show`: summary and heat map of a record.

use crate::base::error::Result;
use crate::cli::arguments::selection::{KindArg, SelectArgs};
use crate::cli::console::{Exit, output};
use crate::report::Summary;
use crate::report::terminal::{self, When};
use crate::store::Launch;
use std::io::IsTerminal;

/// The width that is used if a terminal does not report its width, or reports a smaller one.
const NARROWEST: usize = 20;

const EXAMPLES: &str = "\
Examples:
  rankweave show                        the newest record
  rankweave show lulesh                 the record whose key begins so
  rankweave show --kind collective app  only collective calls
  rankweave show matrix.mtx             a file of any known format
  rankweave show --json | jq .total     figures for a script";

/// Show a summary and a heat map of a matrix
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    select: SelectArgs,

    /// Which kinds of traffic: p2p, collective, onesided or all
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: KindArg,

    /// Print the figures as JSON instead
    #[arg(long)]
    json: bool,

    /// When to use colours: auto, always or never
    ///
    /// auto: on a terminal that has colours, unless NO_COLOR is set.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", hide_possible_values = true)]
    color: When,

    /// Width of the heat map in characters [default: that of the terminal]
    #[arg(long, value_name = "N")]
    width: Option<u16>,

    /// Do not draw the heat map
    #[arg(long)]
    no_map: bool,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let record = self.select.record_in_whole_bytes()?;
        let summary = Summary::new(&record, self.kind.kinds())
            .with_checks(&self.select.verdicts(&record))
            .with_newer(self.select.newer_run(&record), &record);
        if self.json {
            output::print_json(&summary)?;
            return Ok(Exit::Done);
        }
        let mut text = summary.text();
        if !self.no_map {
            let colours = terminal::colours(self.color, std::io::stdout().is_terminal(), |name| {
                std::env::var(name).ok()
            });
            let width = self.width.map_or_else(terminal_width, usize::from);
            let matrix = record.matrix.sum_of(self.kind.kinds());
            let boundaries = boundaries(&record.launch, matrix.tasks());
            text.push('\n');
            text.push_str(&terminal::heat_map(&matrix, &boundaries, width, colours));
        }
        output::print(&text)?;
        Ok(Exit::Done)
    }
}

/// The tasks that begin a node; empty if the tasks of some node are not consecutive.
pub(super) fn boundaries(launch: &Launch, tasks: usize) -> Vec<usize> {
    let begins: Vec<usize> =
        (1..tasks).filter(|&t| launch.node_of(t) != launch.node_of(t - 1)).collect();
    if begins.len() + 1 == launch.placement.node_names.len() { begins } else { Vec::new() }
}

/// The width of the heat map in characters: `COLUMNS`, or else the width of the terminal. A file gets 80.
fn terminal_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let of_terminal = || match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((width, _)) => usize::from(width.0).max(NARROWEST),
        None if std::io::stdout().is_terminal() => NARROWEST,
        None => 80,
    };
    columns.filter(|&c| c > 0).unwrap_or_else(of_terminal)
}
