//! `rankweave report`: everything about a record as one HTML file.

use crate::base::error::Result;
use crate::cli::arguments::selection::{KindArg, SelectArgs};
use crate::cli::console::{Exit, output};
use crate::report::html;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  rankweave report --html app.html                 the newest record
  rankweave report lulesh --html lulesh.html       the record whose key begins so
  rankweave report --kind p2p --html p2p.html      point-to-point traffic only";

/// Write a report of a record as one self-contained HTML file
///
/// The report contains heat maps (before and after, if the ranks were reordered), the traffic of the
/// nodes, the heaviest pairs, the topology, and how the order was decided. The file needs no network
/// and no script.
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    select: SelectArgs,

    /// The file to write; - is standard output
    #[arg(long, value_name = "OUT", required = true)]
    html: PathBuf,

    /// Which kinds of traffic: p2p, collective, onesided or all
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: KindArg,
}

impl Args {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let record = self.select.record_in_whole_bytes()?;
        let page = html::page(&record, self.kind.kinds())?;
        output::write_to(Some(&self.html), |out| {
            out.write_all(page.as_bytes()).map_err(crate::formats::write_error)
        })?;
        Ok(Exit::Done)
    }
}
