//! `rankweave import` and `rankweave export`: other tools' formats, both ways.

use super::select::{self, KindArg, SelectArgs, StoreArgs};
use super::{Exit, output};
use crate::error::Result;
use crate::formats::{self, Export, FORMATS};
use std::path::PathBuf;
use std::time::SystemTime;

fn names(wanted: fn(&dyn formats::Format) -> bool) -> clap::builder::PossibleValuesParser {
    let values = FORMATS
        .iter()
        .filter(|f| wanted(**f))
        .map(|f| clap::builder::PossibleValue::new(f.name()).help(f.about()));
    clap::builder::PossibleValuesParser::new(values.collect::<Vec<_>>())
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  rankweave import matrix.mtx                    keep it under the key 'matrix'
  rankweave import --key app-n64 all.prof        Open MPI monitoring (cat mon.*.prof > all.prof)
  zcat big.csv.gz | rankweave import --key big -";

/// Keep a matrix of another tool in the store
///
/// The format is told from the content.
#[derive(Debug, clap::Args)]
#[command(before_long_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Key to keep it under [default: the file's name without its ending]
    ///
    /// To have it used for the launches of a program, give its key or set RANKWEAVE_KEY there.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// The format, if its content does not tell
    #[arg(long, value_name = "FORMAT", value_parser = names(|f| f.reads()))]
    from: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

impl ImportArgs {
    pub(super) fn execute(self) -> Result<Exit> {
        let mut record = match &self.from {
            None => select::matrix_file(&self.file)?,
            Some(name) => {
                let bytes = select::read(&self.file)?;
                let shown = self.file.display().to_string();
                let source = formats::Source::new(&shown, &bytes);
                let matrix = formats::by_name(name)?.read(&source)?;
                let stem = self.file.file_stem().unwrap_or_default().to_string_lossy();
                select::record_of(matrix, &stem, &shown)
            }
        };
        if let Some(key) = self.key {
            let mut settings = crate::options::Settings::default();
            settings.set("key", &key).map_err(|e| e.at("--key"))?;
            record.key = settings.key.unwrap_or(key);
        }
        if record.recorded_at == 0 {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            record.recorded_at = now.map_or(0, |d| d.as_secs());
        }
        let path = self.store.open()?.save(&record)?;
        eprintln!(
            "rankweave: {} tasks, {} pairs kept as '{}' in {}",
            record.matrix.tasks(),
            record.matrix.sum().pairs(),
            record.key,
            path.display()
        );
        Ok(Exit::Done)
    }
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  rankweave export --to csv --out app.csv            the newest record
  rankweave export lulesh --to mtx --kind p2p        point-to-point traffic for scipy, to stdout
  rankweave export --to metis --out app.graph        affinity graph for KaHIP, VieM, METIS";

/// Write a matrix, or the order of ranks, for another tool
#[derive(Debug, clap::Args)]
#[command(before_long_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = names(|f| f.writes()))]
    to: String,

    /// Which kinds of traffic
    #[arg(long, value_enum, default_value_t, value_name = "KIND", hide_possible_values = true)]
    kind: KindArg,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ExportArgs {
    pub(super) fn execute(self) -> Result<Exit> {
        let format = formats::by_name(&self.to)?;
        let record = self.select.record()?;
        let export = Export::new(&record, self.kind.kinds());
        output::write_to(self.out.as_deref(), |out| format.write(&export, out))?;
        Ok(Exit::Done)
    }
}
