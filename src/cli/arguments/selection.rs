//! The record that a command works on: one of the store, or a matrix file of any known format.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::file;
use crate::formats;
use crate::matrix::{CommMatrix, Kind};
use crate::store::{self, Launch, LaunchMode, Record, Run, Store, Verdict};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Options of commands that read the store.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct StoreArgs {
    /// Directory where matrices are kept between launches
    ///
    /// [default: $XDG_DATA_HOME/rankweave, else ~/.local/share/rankweave] [env: RANKWEAVE_STORE]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

impl StoreArgs {
    pub(in crate::cli) fn open(&self) -> Result<Store> {
        self.given().map_or_else(|| Store::default_dir().map(Store::open), Ok)
    }

    /// The store that the option names, or else `RANKWEAVE_STORE`.
    pub(in crate::cli) fn given(&self) -> Option<Store> {
        let variable = || std::env::var_os("RANKWEAVE_STORE").filter(|name| !name.is_empty());
        self.typed().or_else(|| variable().map(|name| Store::open(Path::new(&name))))
    }

    /// The store that the option names.
    pub(in crate::cli) fn typed(&self) -> Option<Store> {
        self.store.as_ref().map(Store::open)
    }
}

/// The record that a command works on.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct SelectArgs {
    /// A key of 'rankweave list' or its beginning, or a file [default: the newest record]
    ///
    /// A file is a record, or a matrix of any format that 'rankweave import' reads. - is standard
    /// input.
    #[arg(value_name = "SELECTOR")]
    selector: Option<String>,

    #[command(flatten)]
    store: StoreArgs,
}

impl SelectArgs {
    pub(in crate::cli) fn record(&self) -> Result<Record> {
        match &self.selector {
            Some(text) => record(text, || self.store.open()),
            None => self.store.open()?.find(None),
        }
    }

    /// The record with a matrix of whole bytes, for pictures and summaries.
    pub(in crate::cli) fn record_in_whole_bytes(&self) -> Result<Record> {
        let record = self.record()?;
        Ok(Record { matrix: record.matrix.in_whole_bytes(), ..record })
    }

    /// A newer run of a record in use, with the selector that means it. `None` for files, and for records that are not
    /// in use.
    pub(in crate::cli) fn newer_run(&self, record: &Record) -> Option<(String, Run)> {
        let store = self.store.open().ok()?;
        let is_asked = self.selector.as_deref().is_none_or(|text| record.key.starts_with(text));
        let in_use = || store.path_of(&record.key).exists();
        (is_asked && in_use()).then(|| store.newer_run(record)).flatten()
    }

    /// The verdicts on the program of a record; empty if the program is not known.
    pub(in crate::cli) fn verdicts(&self, record: &Record) -> Vec<Verdict> {
        let found = record.program_id().and_then(|program| {
            let store = self.store.open().ok()?;
            store.verdicts(program).map_err(|error| eprintln!("rankweave: {error}")).ok()
        });
        found.unwrap_or_default()
    }
}

/// The record of a selector.
pub(in crate::cli) fn record(
    selector: &str,
    open: impl FnOnce() -> Result<Store>,
) -> Result<Record> {
    if selector == "-" {
        return matrix_file(Path::new("-"));
    }
    let path = Path::new(selector);
    if selector.contains('/') && path.is_file() {
        return matrix_file(path);
    }
    matrix_file(&open()?.find_path(Some(selector))?)
}

/// A record from a file of any known format.
pub(in crate::cli) fn matrix_file(path: &Path) -> Result<Record> {
    let name = path.display().to_string();
    if path.as_os_str() != "-" && store::is_record(path) {
        return store::read_file(path);
    }
    let bytes = read(path)?;
    if bytes.starts_with(&store::MAGIC) {
        return store::decode(&bytes).map_err(|e| e.at(name));
    }
    let matrix = formats::read(&name, &bytes)?;
    let key = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(record_of(matrix, &key, &name))
}

/// A record of a matrix that another tool wrote.
pub(in crate::cli) fn record_of(matrix: CommMatrix, key: &str, origin: &str) -> Record {
    Record {
        program: origin.to_string(),
        launch: Launch { mode: LaunchMode::Import, ..Launch::default() },
        ..Record::of_matrix(key, matrix)
    }
}

/// The largest file of another tool that is read.
const LARGEST: u64 = 32 << 30;

/// Reads a file, or standard input for `-`.
pub(in crate::cli) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let result = match path.as_os_str() == "-" {
        true => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        false => file::read_given(path, LARGEST, |start| !start.starts_with(&store::MAGIC)),
    };
    result.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "there is no such file")
            .at(path.display())
            .advise("give the path of a file, or - for standard input"),
        _ => Error::io("cannot read", path, &e),
    })
}

/// Which kinds of traffic count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum KindArg {
    /// Sends of every form
    P2p,
    /// Collective calls
    Collective,
    /// Put, get and accumulate calls
    Onesided,
    /// All of them added up
    #[default]
    All,
}

impl KindArg {
    pub(in crate::cli) fn kinds(self) -> &'static [Kind] {
        match self {
            KindArg::P2p => &[Kind::PointToPoint],
            KindArg::Collective => &[Kind::Collective],
            KindArg::Onesided => &[Kind::OneSided],
            KindArg::All => &Kind::ALL,
        }
    }
}
