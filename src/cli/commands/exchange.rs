//! `rankweave import` and `rankweave export`: matrices and rank orders in the formats of other tools.

use crate::base::clock::since_1970;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::nouns::counted;
use crate::base::permutation::is_permutation;
use crate::cli::arguments::number_file;
use crate::cli::arguments::selection::{self, KindArg, SelectArgs, StoreArgs};
use crate::cli::console::{Exit, output};
use crate::decide;
use crate::formats::{self, Export, FORMATS};
use crate::matrix::{CommMatrix, Kind};
use crate::store::{LaunchMode, Record};
use crate::topology::WithRails;
use std::path::{Path, PathBuf};

fn names(wanted: fn(&formats::Format) -> bool) -> clap::builder::PossibleValuesParser {
    let values = FORMATS
        .iter()
        .filter(|f| wanted(f))
        .map(|f| clap::builder::PossibleValue::new(f.name).help(f.about));
    clap::builder::PossibleValuesParser::new(values.collect::<Vec<_>>())
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  rankweave import matrix.mtx                    keep it under the key 'matrix'
  rankweave import --key app-n64 mon.*.prof      profiles of Open MPI's monitoring
  zcat big.csv.gz | rankweave import --key big -";

/// Put a matrix of another tool into the store
///
/// The format of the file is recognised by its content.
#[derive(Debug, clap::Args)]
#[command(before_long_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// The file; - is standard input. Several are added up, such as mon.*.prof
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Key to keep it under [default: the first file's name without its ending]
    ///
    /// Launches of a program use the matrix if it has their key: give that key here, or set
    /// RANKWEAVE_KEY for these launches.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// The format of the file, if it cannot be recognised by its content
    #[arg(long, value_name = "FORMAT", value_parser = names(|f| f.reads()))]
    from: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

impl ImportArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let mut record = self.read(&self.files[0])?;
        for file in &self.files[1..] {
            record.matrix = added(&record.matrix, &self.read(file)?.matrix);
        }
        if let Some(key) = self.key {
            let mut settings = crate::options::Settings::default();
            settings.set("key", &key).map_err(|e| e.at("--key"))?;
            record.key = settings.key.unwrap_or(key);
        }
        if record.recorded_at == 0 {
            record.recorded_at = since_1970().as_secs();
        }
        let store = self.store.open()?;
        let path = store.save(&record)?;
        store.choose_imported(&record)?;
        let (key, tasks, pairs) = (&record.key, record.matrix.tasks(), record.matrix.sum().pairs());
        eprintln!(
            "rankweave: {}, {} kept as '{key}' in {}",
            counted(tasks, "task"),
            counted(pairs, "pair"),
            path.display()
        );
        eprintln!(
            "rankweave: all launches of {key} with {} use it; 'rankweave use {key}' lets each launch \
             choose",
            counted(tasks, "rank")
        );
        Ok(Exit::Done)
    }

    fn read(&self, file: &Path) -> Result<Record> {
        let record = self.read_exactly(file)?;
        if record.matrix.counts_halves() {
            eprintln!(
                "rankweave: {}: some pairs of tasks have an odd weight. The store keeps whole bytes, so the odd byte of \
                 such a pair goes from the lower task to the higher task. 'rankweave map' and 'rankweave eval' count \
                 half a byte in each direction if they read the file itself: --matrix FILE",
                file.display()
            );
        }
        Ok(Record { matrix: record.matrix.in_whole_bytes(), ..record })
    }

    fn read_exactly(&self, file: &Path) -> Result<Record> {
        let Some(name) = &self.from else { return selection::matrix_file(file) };
        let bytes = selection::read(file)?;
        let shown = file.display().to_string();
        let matrix = formats::by_name(name)?.read(&formats::Source::new(&shown, &bytes))?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(selection::record_of(matrix, &stem, &shown))
    }
}

/// The sum of two matrices for each kind of traffic. It has as many tasks as the larger one.
fn added(a: &CommMatrix, b: &CommMatrix) -> CommMatrix {
    let tasks = a.tasks().max(b.tasks());
    let both = |kind| a.layer(kind).entries().chain(b.layer(kind).entries()).collect();
    formats::matrix_by_kind(tasks, Kind::ALL.map(both))
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  rankweave export --to csv --out app.csv            the newest record
  rankweave export lulesh --to mtx --kind p2p        point-to-point traffic for scipy, to stdout
  rankweave export --to metis --out app.graph        affinity graph for KaHIP, VieM, METIS
  rankweave export --to rankfile --out app.rf        the best order found, for Open MPI 4
  rankweave export --to cray --mapping order.txt     an order of your own, for Cray MPICH";

/// Write a matrix, or the order of ranks, for another tool
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = names(|f| f.writes()))]
    to: String,

    /// Which kinds of traffic: p2p, collective, onesided or all
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: KindArg,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// For rank orders: the process of each task, one a line [default: the best order found]
    ///
    /// The processes are those of the recorded launch, in the launcher's order. Without this
    /// option, the order is the one that a launch with rankweave would use. If the recorded launch was
    /// reordered, this is its order. Otherwise it is computed now from the matrix and the places.
    #[arg(long, value_name = "FILE", conflicts_with = "as_launched")]
    mapping: Option<PathBuf>,

    /// For rank orders: the order that the recorded launch ran in
    #[arg(long)]
    as_launched: bool,
}

impl ExportArgs {
    pub(in crate::cli) fn execute(self) -> Result<Exit> {
        let format = formats::by_name(&self.to)?;
        let record = self.select.record()?;
        let mut export = Export::new(&record, self.kind.kinds());
        if format.places_ranks && !self.as_launched {
            export.process_of_task = self.order(&record)?;
        }
        output::write_to(self.out.as_deref(), |out| format.write(&export, out))?;
        Ok(Exit::Done)
    }

    /// The process of each task.
    fn order(&self, record: &Record) -> Result<Vec<u32>> {
        if let Some(path) = &self.mapping {
            return self.given_order(path, record);
        }
        if record.launch.is_reordered()
            && matches!(record.launch.mode, LaunchMode::Reorder | LaunchMode::Place)
        {
            return Ok(record.launch.process_of_task.clone());
        }
        let rails = record.launch.placement.rails();
        let topology = WithRails::on(Box::new(formats::rank_orders::tree(record)?), rails);
        let slots: Vec<usize> = (0..record.matrix.tasks()).collect();
        let options = decide::Options::default();
        let decision = decide::decide(&record.matrix, topology.as_ref(), &slots, &options)?;
        eprintln!("rankweave: {}", decision.reason);
        Ok(decision.process_of_task)
    }

    fn given_order(&self, path: &Path, record: &Record) -> Result<Vec<u32>> {
        let tasks = record.matrix.tasks();
        let numbers = number_file::mapping(path)?;
        let order: Option<Vec<u32>> = numbers.iter().map(|&p| u32::try_from(p).ok()).collect();
        order.filter(|order| order.len() == tasks && is_permutation(order)).ok_or_else(|| {
            let mut seen = std::collections::HashSet::new();
            let several = numbers.iter().find(|&number| !seen.insert(*number));
            let (what, advice) = match several {
                Some(slot) if numbers.len() == tasks => (
                    format!("this puts several tasks on slot {slot}, but each process runs one task"),
                    "map with as many slots as tasks: give each node as many slots as it runs processes, and leave out \
                     --oversubscribe",
                ),
                _ => (
                    format!("this is not a rank order of {}", counted(tasks, "process")),
                    "write one line for each task, with every process from 0 exactly once",
                ),
            };
            Error::new(ErrorKind::Infeasible, what).at(path.display()).advise(advice)
        })
    }
}
